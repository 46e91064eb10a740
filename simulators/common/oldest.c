/* SPDX-License-Identifier: Apache-2.0 */
/* Sorting by time stamp for oldest.h.  Stamps differ, and most often they are not far from each other: then each has a
 * bit of its own, and its place is the number of bits before that.  Otherwise it is a least-digit-first radix sort, as
 * many digits as the stamps differ in. */
#include "oldest.h"

enum { RANGE_PER_SLOT = 32, RANGE_MOST = 1 << 18 };

int peet_sim_oldest_scratch_init(struct peet_sim_oldest_scratch *s, uint32_t n)
{
    s->range = (uint64_t)n * RANGE_PER_SLOT < RANGE_MOST ? ((uint64_t)n * RANGE_PER_SLOT + 63) / 64 * 64 : RANGE_MOST;
    s->stamps = malloc(n * sizeof *s->stamps);
    s->a = malloc(n * sizeof *s->a);
    s->b = malloc(n * sizeof *s->b);
    s->before = malloc(s->range / 64 * sizeof *s->before);
    s->is_there = malloc(s->range / 64 * sizeof *s->is_there);
    return s->stamps && s->a && s->b && s->before && s->is_there ? 0 : -1;
}

void peet_sim_oldest_scratch_fini(struct peet_sim_oldest_scratch *s)
{
    free(s->stamps);
    free(s->a);
    free(s->b);
    free(s->before);
    free(s->is_there);
    memset(s, 0, sizeof *s);
}

static inline __attribute__((always_inline)) void mark(struct peet_sim_oldest_scratch *s, uint64_t least, uint32_t slot)
{
    const uint64_t at = s->stamps[slot] - least;
    s->is_there[at / 64] |= 1ull << (at & 63);
}

/* All stamps lie in [least, least + range).  Returns: 0, or -1: some are equal */
static inline __attribute__((always_inline)) int sort_near(struct peet_sim_oldest_scratch *s, uint32_t n,
    uint64_t least, uint64_t range, uint32_t *out_order)
{
    const uint64_t words = range / 64 + 1;
    const uint32_t quarter = n / 4;
    uint64_t *const is_there = s->is_there;
    uint32_t *const before = s->before, all = 0;
    memset(is_there, 0, words * sizeof *is_there);
    for (uint32_t i = 0; i < quarter; i++) /* neighbours are often in one word, and would wait for each other */
        for (uint32_t k = 0; k < 4; k++)
            mark(s, least, i + k * quarter);
    for (uint32_t i = 4 * quarter; i < n; i++)
        mark(s, least, i);
    for (uint64_t w = 0; w < words; w++) {
        before[w] = all;
        all += (uint32_t)__builtin_popcountll(is_there[w]);
    }
    if (all != n)
        return -1;
    for (uint32_t i = 0; i < n; i++) {
        const uint64_t at = s->stamps[i] - least, bit = 1ull << (at & 63);
        out_order[before[at / 64] + (uint32_t)__builtin_popcountll(is_there[at / 64] & (bit - 1))] = i;
    }
    return 0;
}

static int sort_near_plain(struct peet_sim_oldest_scratch *s, uint32_t n, uint64_t least, uint64_t range,
    uint32_t *out_order)
{
    return sort_near(s, n, least, range, out_order);
}

#ifdef __x86_64__
__attribute__((target("popcnt,bmi,bmi2"))) static int sort_near_popcnt(struct peet_sim_oldest_scratch *s, uint32_t n,
    uint64_t least, uint64_t range, uint32_t *out_order)
{
    return sort_near(s, n, least, range, out_order);
}

static int has_popcnt(void)
{
    return __builtin_cpu_supports("popcnt") && __builtin_cpu_supports("bmi2");
}
#else
#define sort_near_popcnt sort_near_plain
static int has_popcnt(void)
{
    return 0;
}
#endif

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

void peet__sim_oldest_sort(struct peet_sim_oldest_scratch *scratch, uint32_t n, uint64_t least, uint64_t most,
    uint32_t *out_order)
{
    if (most - least >= scratch->range ||
        (has_popcnt() ? sort_near_popcnt : sort_near_plain)(scratch, n, least, most - least, out_order))
        sort_far(scratch, n, least, most, out_order);
}
