/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether the thread pointer can be written without a system call.
 */
#include "internal.h"

#include <string.h>
#include <sys/auxv.h>

/* Bit of AT_HWCAP2: user programs may execute rdfsbase and wrfsbase. */
#define HWCAP2_FSGSBASE 2

int peet__fsgsbase;

void peet__fsgsbase_probe(void)
{
    const char *how = peet_rt_setting("PEET_FSGSBASE"); /* "off", "set": as on older kernels, for tests */
    peet__fsgsbase = (getauxval(AT_HWCAP2) & HWCAP2_FSGSBASE) && !(how && (!strcmp(how, "off") || !strcmp(how, "set")));
}
