/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The events that OpenMP waits with, and the two ways to speak to people.  Nothing else here calls
 * peet_rt_event() for waiting.
 */
#include "openmp.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void peet__omp_order(const void *datum, uint64_t state)
{
    uint64_t args[] = {(uint64_t)datum, state};
    peet_rt_event(PEET_ABSTRACT_ATOMIC, 2, args);
}

void peet__omp_barrier_event(const void *object, int count)
{
    uint64_t args[] = {(uint64_t)object, (uint64_t)count};
    peet_rt_event(PEET_ABSTRACT_BARRIER_WAIT, 2, args);
}

void peet__omp_wait(const void *semaphore)
{
    uint64_t args[] = {(uint64_t)semaphore, PEET_NEVER};
    while (peet_rt_event(PEET_ABSTRACT_SEM_WAIT, 2, args) == EINTR) {
    }
}

void peet__omp_post(const void *semaphore, int count)
{
    uint64_t args[] = {(uint64_t)semaphore, (uint64_t)count};
    peet_rt_event(PEET_ABSTRACT_SEM_POST, 2, args);
}

void peet__omp_warn(const char *format, ...)
{
    char line[600];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    fprintf(stderr, "peet: OpenMP: %s\n", line);
}

void peet__omp_die(const char *format, ...)
{
    char line[600];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    fprintf(stderr, "peet: OpenMP: %s\n", line);
    abort();
}
