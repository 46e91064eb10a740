/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the front ends do while the program is recorded on the computer's own processors (runtime/plain/real.h): the
 * C library's function does the work, and the event that it would be under simulation is noted with its place in the
 * order of its object.  A try that fails, and a wait that runs out of time, leaves nothing.
 */
#ifndef PEET_THREADLIB_REAL_H
#define PEET_THREADLIB_REAL_H

#include "plain/real.h"
#include "thread.h"

#include <errno.h>
#include <peet/module.h>

/** Is the call that this function serves to be recorded? */
#define PEET__REAL_WATCHED peet__real_watches(__builtin_return_address(0))

/** PEET__REAL_TAKES() - a call that takes a lock: @call is the C library's, which returns 0 or an errno value */
#define PEET__REAL_TAKES(call, type, ...) \
    __extension__({ \
        const uint64_t args_[] = {__VA_ARGS__}; \
        peet_rt_real_asks(); \
        const int err_ = (call); \
        if (err_ == 0 || err_ == EOWNERDEAD) \
            peet_rt_real_granted(type, sizeof args_ / sizeof *args_, args_); \
        err_; \
    })

/** An object has been initialised. */
#define PEET__REAL_MADE(object, type, value) \
    peet_rt_real_event(PEET_ABSTRACT_SYNC_INIT, 3, (const uint64_t[]){(uint64_t)(object), type, value})

/** It is destroyed: @call is the C library's. */
#define PEET__REAL_GONE(call, object, type) \
    __extension__({ \
        const int err_ = (call); \
        if (err_ == 0 && PEET__REAL_WATCHED) \
            peet_rt_real_event(PEET_ABSTRACT_SYNC_DESTROY, 2, (const uint64_t[]){(uint64_t)(object), type}); \
        err_; \
    })

/** An event first, then the call. */
#define PEET__REAL_TELLS(how, call, type, ...) \
    __extension__({ \
        const uint64_t args_[] = {__VA_ARGS__}; \
        how(type, sizeof args_ / sizeof *args_, args_); \
        (call); \
    })

#endif
