/* SPDX-License-Identifier: Apache-2.0 */
/* Sorting by time stamp for oldest.h.  Stamps differ, and most often they are not far from each other: then each has a bit of its own,
 * and the bits are read in their order.  Otherwise it is a least-digit-first radix sort, as many digits as the stamps differ in. */
#include "oldest.h"

enum { RANGE_PER_SLOT = 32, RANGE_MOST = 1 << 18 };

int peet_sim_oldest_scratch_init(struct peet_sim_oldest_scratch *s, uint32_t n)
{
    s->range = (uint64_t)n * RANGE_PER_SLOT < RANGE_MOST ? ((uint64_t)n * RANGE_PER_SLOT + 63) / 64 * 64 : RANGE_MOST;
    s->stamps = malloc(n * sizeof *s->stamps);
    s->a = malloc(n * sizeof *s->a);
    s->b = malloc(n * sizeof *s->b);
    s->slot_of = malloc(s->range * sizeof *s->slot_of);
    s->is_there = malloc(s->range / 64 * sizeof *s->is_there);
    return s->stamps && s->a && s->b && s->slot_of && s->is_there ? 0 : -1;
}

void peet_sim_oldest_scratch_fini(struct peet_sim_oldest_scratch *s)
{
    free(s->stamps);
    free(s->a);
    free(s->b);
    free(s->slot_of);
    free(s->is_there);
    memset(s, 0, sizeof *s);
}

/* All stamps lie in [least, least + range).  Returns: 0, or -1: some are equal */
static int sort_near(struct peet_sim_oldest_scratch *s, uint32_t n, uint64_t least, uint64_t range, uint32_t *out_order)
{
    const uint64_t words = range / 64 + 1;
    uint64_t twice = 0;
    memset(s->is_there, 0, words * sizeof *s->is_there);
    for (uint32_t i = 0; i < n; i++) {
        const uint64_t at = s->stamps[i] - least, bit = 1ull << (at & 63);
        twice |= s->is_there[at / 64] & bit;
        s->is_there[at / 64] |= bit;
        s->slot_of[at] = i;
    }
    if (twice)
        return -1;
    for (uint64_t w = 0; w < words; w++)
        for (uint64_t bits = s->is_there[w]; bits; bits &= bits - 1)
            *out_order++ = s->slot_of[64 * w + (uint64_t)__builtin_ctzll(bits)];
    return 0;
}

static void sort_far(struct peet_sim_oldest_scratch *s, uint32_t n, uint64_t least, uint64_t most, uint32_t *out_order)
{
    struct peet_sim_oldest_key *a = s->a, *b = s->b, *t;
    const unsigned bits = n < 2048 ? 8 : 11; /* longer where there are enough keys to pay for the table */
    const uint32_t digits = 1u << bits, mask = digits - 1;
    for (uint32_t i = 0; i < n; i++)
        a[i] = (struct peet_sim_oldest_key){s->stamps[i], i};
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
    for (uint32_t i = 0; i < n; i++)
        out_order[i] = a[i].slot;
}

void peet__sim_oldest_sort(struct peet_sim_oldest_scratch *scratch, uint32_t n, uint32_t *out_order)
{
    uint64_t least = UINT64_MAX, most = 0;
    for (uint32_t i = 0; i < n; i++) {
        least = scratch->stamps[i] < least ? scratch->stamps[i] : least;
        most = scratch->stamps[i] > most ? scratch->stamps[i] : most;
    }
    if (most - least >= scratch->range || sort_near(scratch, n, least, most - least, out_order))
        sort_far(scratch, n, least, most, out_order);
}
