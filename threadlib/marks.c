/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Phase marks and the region of interest (peet/doall.h, peet/roi.h): notes in the stream that nobody
 * waits for.
 */
#include <peet/doall.h>
#include <peet/module.h>
#include <peet/roi.h>
#include "runtime.h"

#define PUBLIC __attribute__((visibility("default")))

PUBLIC void peet_phase(long n)
{
    uint64_t arg = (uint64_t)n;
    peet_rt_note(PEET_ABSTRACT_PHASE, 1, &arg);
}

PUBLIC void peet_roi_begin(void)
{
    peet_rt_note(PEET_ABSTRACT_ROI_BEGIN, 0, NULL);
}

PUBLIC void peet_roi_end(void)
{
    peet_rt_note(PEET_ABSTRACT_ROI_END, 0, NULL);
}
