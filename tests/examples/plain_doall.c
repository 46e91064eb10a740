/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Doall loops as plain sequential loops: what an example is linked with when it is built without peet, to
 * have something to compare with.
 */
#include <peet/doall.h>

void peet_doall(long lo, long hi, enum peet_doall_schedule schedule, long chunk, void (*body)(long, void *), void *arg)
{
    for (long i = lo; i < hi; i++)
        body(i, arg);
}

void peet_mark_fork(long lo, long hi, enum peet_doall_schedule schedule, long chunk) {}
void peet_mark_start(long i) {}
void peet_mark_finish(long i) {}
void peet_mark_join(void) {}
