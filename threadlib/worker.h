/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The trampoline on which a hardware context runs the iterations of a function-form doall.  Called by
 * the mapper's host, which finds it by name in libpeet-rt.so and starts an execution context on it.
 */
#ifndef PEET_WORKER_H
#define PEET_WORKER_H

#include <stdint.h>

/** Answer to DOALL_START that sends a worker home; argument of its first DOALL_START.  LONG_MIN: no loop
 *  reaches it, whereas -1 is an iteration like any other. */
#define PEET__NO_ITERATION ((uint64_t)1 << 63)

/**
 * peet__doall_worker() - run iterations until there are no more
 * @fn, @arg: body and argument of peet_doall(), as its DOALL_FORK event carries them
 *
 * Asks for each iteration with DOALL_START{previous iteration}, whose result is the iteration's number,
 * and reports it with DOALL_FINISH{iteration}.
 */
void peet__doall_worker(uint64_t fn, uint64_t arg);

#endif
