/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What becomes of a run whose module crashes, aborts or never comes back: the run ends there, the module is not called
 * again, and what the others have measured is written.  Whose fault it is, is read from the stack: the module whose
 * code is on it.  Nothing is paid for that while modules do what they should.
 */
#ifndef PEET_HOST_GUARD_H
#define PEET_HOST_GUARD_H

#include "mapper.h"

#include <stdint.h>

/** peet_host_guard() - of which mapper the modules are */
void peet_host_guard(struct peet_map *map);

/**
 * peet_host_guarded() - call something that calls modules
 * Returns: 0 it has come back; 1 a module has failed in it and is marked (peet_map_module_broke()): what it was about
 * is left where it was
 */
int peet_host_guarded(void (*call)(void *), void *arg);

/**
 * peet_host_guard_start() - call what makes an instance of a module, before the mapper has it
 * Returns: NULL it has come back; else why the module has failed in it, until the next failure.  Then the mapper is no
 * longer to be used.
 */
const char *peet_host_guard_start(const struct peet_module *module, void (*call)(void *), void *arg);

/** peet_host_hung() - the signal that a module which did not come back has kept waiting; 0: none */
int peet_host_hung(void);

/** The hook of runtime.h: a signal in the host's world.  Comes back if no module is to blame. */
void peet_host_failed(int signal, uint64_t address, void *uc, int hangs);

#endif
