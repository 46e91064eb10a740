/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What runtime and mapper both know of waits that a signal may interrupt.
 */
#ifndef PEET_WAITS_H
#define PEET_WAITS_H

#include <peet/module.h>

/** begins_again() - a wait that goes on after a handler as if nothing had been: who is interrupted in one asks again */
static inline int peet__begins_again(unsigned type)
{
    switch (type) {
    case PEET_ABSTRACT_MUTEX_LOCK:
    case PEET_ABSTRACT_RWLOCK_READ:
    case PEET_ABSTRACT_RWLOCK_WRITE:
    case PEET_ABSTRACT_BARRIER_WAIT:
    case PEET_ABSTRACT_ONCE_BEGIN:
        return 1;
    }
    return 0;
}

#endif
