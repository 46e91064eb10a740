/* SPDX-License-Identifier: Apache-2.0 */
/* Sorting by time stamp for oldest.h: a least-digit-first radix sort, as many digits as the stamps differ in.  Digits are
 * longer where there are enough keys to pay for the table. */
#include "oldest.h"

void peet__sim_oldest_sort(struct peet_sim_oldest_scratch *scratch, uint32_t n)
{
    struct peet_sim_oldest_key *a = scratch->a, *b = scratch->b, *t;
    uint64_t least = UINT64_MAX, most = 0;
    for (uint32_t i = 0; i < n; i++) {
        least = a[i].stamp < least ? a[i].stamp : least;
        most = a[i].stamp > most ? a[i].stamp : most;
    }
    const unsigned bits = n < 2048 ? 8 : 11;
    const uint32_t digits = 1u << bits, mask = digits - 1;
    for (unsigned shift = 0; shift < 64 && (most - least) >> shift; shift += bits) {
        uint32_t at[1 << 11];
        memset(at, 0, digits * sizeof *at);
        for (uint32_t i = 0; i < n; i++)
            at[(a[i].stamp - least) >> shift & mask]++;
        for (uint32_t d = 0, sum = 0; d < digits; d++) {
            uint32_t c = at[d];
            at[d] = sum;
            sum += c;
        }
        for (uint32_t i = 0; i < n; i++)
            b[at[(a[i].stamp - least) >> shift & mask]++] = a[i];
        t = a;
        a = b;
        b = t;
    }
    scratch->a = a;
    scratch->b = b;
}
