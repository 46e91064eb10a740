/* SPDX-License-Identifier: Apache-2.0 */
/* What is compared lies in one function, measured(): a region of interest for peet, something to collect in for callgrind.  Its work has been done
 * once before, so that names are bound, and what is filled once is full.  The argument says how much work: for single steps a little. */
#ifndef REGIONS_H
#define REGIONS_H

#include <stdlib.h>

#ifdef PLAIN
#define BEGIN()
#define END()
#else
#include <peet/roi.h>
#define BEGIN() peet_roi_begin()
#define END() peet_roi_end()
#endif

#ifdef __cplusplus
extern "C"
#endif
__attribute__((noinline)) void measured(int rounds);

#define MEASURE(argc, argv)                            \
    do {                                               \
        const int rounds = argc > 1 ? atoi(argv[1]) : 1; \
        work(rounds);                                  \
        BEGIN();                                       \
        measured(rounds);                              \
        END();                                         \
    } while (0)

#endif
