/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A bound of the edit distance from below, from how often each string of q symbols occurs (Ukkonen, "Approximate
 * string-matching with q-grams and maximal matches", 1992).  An insertion or deletion changes at most 2q - 1 of these
 * numbers by one.  So the sum of their differences, over 2q - 1, is at most the distance.  Strings share counters by
 * their hash, which can only make the sum smaller.
 */
#include "trace/compare_parts.h"

#include <stdlib.h>
#include <string.h>

enum { LENGTHS = 4, LONGEST = 16, COUNTERS_BITS = 20 };

static const unsigned lengths[LENGTHS] = {1, 2, 5, LONGEST};

struct peet__bound {
    struct peet__rolling rolling[LENGTHS];
    uint64_t last[LONGEST], at;
    int64_t one;
    int32_t counts[LENGTHS][1 << COUNTERS_BITS];
};

int peet__bound_new(struct peet__bound **out_bound)
{
    *out_bound = calloc(1, sizeof **out_bound);
    return *out_bound ? 0 : PEET_ENOMEM;
}

void peet__bound_free(struct peet__bound *bound)
{
    free(bound);
}

void peet__bound_begin(struct peet__bound *b, int side)
{
    for (int i = 0; i < LENGTHS; i++)
        b->rolling[i] = peet__rolling_new(lengths[i]);
    memset(b->last, 0, sizeof b->last);
    b->at = 0;
    b->one = side ? -1 : 1;
}

void peet__bound_add(struct peet__bound *b, uint64_t symbol)
{
    const uint64_t in = peet__hash_symbol(symbol);

    for (int i = 0; i < LENGTHS; i++) {
        const uint64_t hash = peet__roll(&b->rolling[i], in, b->last[(b->at - lengths[i]) % LONGEST]);

        if (b->at + 1 >= lengths[i])
            b->counts[i][peet__hash_symbol(hash) >> (64 - COUNTERS_BITS)] += (int32_t)b->one;
    }
    b->last[b->at++ % LONGEST] = in;
}

uint64_t peet__bound_least(const struct peet__bound *b)
{
    uint64_t least = 0;

    for (int i = 0; i < LENGTHS; i++) {
        const uint64_t changed = 2 * lengths[i] - 1;
        uint64_t sum = 0;

        for (size_t k = 0; k < (size_t)1 << COUNTERS_BITS; k++)
            sum += (uint64_t)llabs(b->counts[i][k]);
        sum = (sum + changed - 1) / changed;
        least = sum > least ? sum : least;
    }
    return least;
}
