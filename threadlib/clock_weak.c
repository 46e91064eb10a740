/* SPDX-License-Identifier: Apache-2.0 */
/* Stands in until runtime/ defines the simulated clock; goes then. */
#include "thread.h"
#include <time.h>
#include <peet/module.h>
__attribute__((weak)) uint64_t peet_rt_frequency_hz(void) { return 1000000000; }
__attribute__((weak)) uint64_t peet_rt_now(void) { return peet_rt_event(PEET_ABSTRACT_CLOCK, 0, NULL); }
__attribute__((weak)) uint64_t peet_rt_epoch_ns(void) { return 0; }
__attribute__((weak)) uint64_t peet_rt_cycles_until(int clock, const struct timespec *t)
{
    return t->tv_sec < 0 ? 0 : (uint64_t)t->tv_sec * 1000000000u + (uint64_t)t->tv_nsec;
}
