/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the block of a range operation looks like: synthetic.c makes it, ranges.c takes its records without it as long
 * as it can.
 */
#ifndef PEET_RANGES_H
#define PEET_RANGES_H

#include <stdint.h>

/** peet__range_values() - the values of a block of ranges: words, then bytes; of the first range, and, if there are
 * @two, of the second one.  Returns: how many */
static inline unsigned peet__range_values(uint64_t first, int two, uint64_t second, uint64_t bytes, uint64_t out[8])
{
    const uint64_t words = bytes / 8, tail = words * 8;
    unsigned n = 0;
    out[n++] = first;
    out[n++] = words;
    if (two) {
        out[n++] = second;
        out[n++] = words;
    }
    out[n++] = first + tail;
    out[n++] = bytes % 8;
    if (two) {
        out[n++] = second + tail;
        out[n++] = bytes % 8;
    }
    return n;
}

#endif
