/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime.h"

#define PUBLIC __attribute__((visibility("default")))

PUBLIC int peet_rt_simulated(void)
{
    return 0;
}

PUBLIC uint64_t peet_rt_event(unsigned type, unsigned nargs, const uint64_t *args)
{
    return 0;
}

PUBLIC void peet_rt_note(unsigned type, unsigned nargs, const uint64_t *args)
{
}
