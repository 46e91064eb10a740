/* SPDX-License-Identifier: Apache-2.0 */
/*
 * C++'s static local variables that are initialised when control first comes to them: the C++ ABI's guards (Itanium C++
 * ABI, 3.3.3).  Where threads run beside each other, the initialisation is an event like pthread_once()'s, so that who
 * comes meanwhile waits in simulated time.  The first byte of a guard, which compiled code reads by itself, says that
 * all is done; the fourth one, which neither libstdc++ nor libc++ uses, is ours.
 */
#include "real.h"

#include <peet/module.h>
#include "world/world.h"

enum { DONE = 0, OURS = 3 };             /* bytes of a guard */
enum { NOT_OURS, INITIALISING, ENDING }; /* what the latter says */

int __cxa_guard_acquire(uint64_t *guard);
void __cxa_guard_release(uint64_t *guard);
void __cxa_guard_abort(uint64_t *guard);

PUBLIC int __cxa_guard_acquire(uint64_t *guard)
{
    volatile uint8_t *const bytes = (volatile uint8_t *)guard;
    if (!peet__simulating() || !peet__world_concurrent())
        return PEET__REAL(__cxa_guard_acquire)(guard);
    if (bytes[DONE] || peet__event1(PEET_ABSTRACT_ONCE_BEGIN, (uint64_t)guard) != 1)
        return 0;
    if (!bytes[DONE] && bytes[OURS] != ENDING) {
        bytes[OURS] = INITIALISING;
        return 1;
    }
    /* The mapper knows it only while an initialiser runs: somebody has been through meanwhile. */
    peet__event2(PEET_ABSTRACT_ONCE_END, (uint64_t)guard, 1);
    return 0;
}

PUBLIC void __cxa_guard_release(uint64_t *guard)
{
    volatile uint8_t *const bytes = (volatile uint8_t *)guard;
    if (!peet__simulating() || bytes[OURS] != INITIALISING) {
        PEET__REAL(__cxa_guard_release)(guard);
        return;
    }
    bytes[OURS] = ENDING;
    peet__domain_changed(guard, sizeof *guard);
    peet__event2(PEET_ABSTRACT_ONCE_END, (uint64_t)guard, 1);
    bytes[DONE] = 1; /* from now on nobody needs to ask */
    peet__domain_changed(guard, sizeof *guard);
}

PUBLIC void __cxa_guard_abort(uint64_t *guard)
{
    volatile uint8_t *const bytes = (volatile uint8_t *)guard;
    if (!peet__simulating() || bytes[OURS] != INITIALISING) {
        PEET__REAL(__cxa_guard_abort)(guard);
        return;
    }
    bytes[OURS] = NOT_OURS;
    peet__domain_changed(guard, sizeof *guard);
    peet__event2(PEET_ABSTRACT_ONCE_END, (uint64_t)guard, 0);
}
