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

/* The C library's string functions go one way near the end of a page and another elsewhere, and streams and printf() have their
 * strings on the stack: it goes on at the same place of a page in every process, whatever its environment. */
#define MEASURE(argc, argv)                                                                   \
    do {                                                                                      \
        const int rounds = argc > 1 ? atoi(argv[1]) : 1;                                      \
        char *volatile room = (char *)__builtin_alloca(                                       \
            ((unsigned long)__builtin_frame_address(0) + 0x100) & 0xfff);                     \
        (void)room;                                                                           \
        work(rounds);                                                                         \
        BEGIN();                                       \
        measured(rounds);                              \
        END();                                         \
    } while (0)

#endif
