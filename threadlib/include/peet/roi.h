/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The region of interest: what a study measures, as opposed to setting up and printing.  Calls outside
 * `peet run` do nothing.  Works in C and C++; the functions live in libpeet-rt.so, which peetcc links.
 */
#ifndef PEET_ROI_H
#define PEET_ROI_H

#ifdef __cplusplus
extern "C" {
#endif

/** Begin and end of the region of interest.  Regions do not nest; there may be several. */
void peet_roi_begin(void);
void peet_roi_end(void);

#define PEET_ROI_BEGIN() peet_roi_begin()
#define PEET_ROI_END() peet_roi_end()

#ifdef __cplusplus
}
#endif
#endif
