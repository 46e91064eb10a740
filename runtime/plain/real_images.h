/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The executable and libraries of a program that is recorded on the computer's own processors.
 */
#ifndef PEET_PLAIN_REAL_IMAGES_H
#define PEET_PLAIN_REAL_IMAGES_H

#include "plain/shared.h"

#include <stdint.h>

/** peet__real_images() - those that are there and that the writer does not know yet
 *  @static_tls: bytes of thread-local variables below the thread pointer; @late: the program has loaded them */
void peet__real_images(struct peet__real_shared *shared, uint64_t static_tls, int late);

#endif
