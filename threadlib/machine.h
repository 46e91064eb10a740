/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the subject is told about the processors that it runs on: those of the simulated machine.
 */
#ifndef PEET_MACHINE_H
#define PEET_MACHINE_H

#include <sched.h>
#include "thread.h"

/** How many processors there are. */
unsigned peet__processors(void);

/** The processors that a thread has asked for, of those that there are.  Returns: 0, EINVAL: too few bytes */
int peet__affinity_get(const struct peet__thread *thread, size_t bytes, cpu_set_t *out_set);
/** Returns: 0, EINVAL: none of them exists */
int peet__affinity_set(struct peet__thread *thread, size_t bytes, const cpu_set_t *set);

#endif
