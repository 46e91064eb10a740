/* SPDX-License-Identifier: Apache-2.0 */
/* What the ways of comparing sequences share: compare.c, compare_anchored.c, compare_long.c, compare_bound.c. */
#ifndef PEET_TRACE_COMPARE_PARTS_H
#define PEET_TRACE_COMPARE_PARTS_H

#include "trace/compare.h"

/** Places that belong together. */
struct peet__pair {
    uint64_t a, b;
};

/** peet__longest_chain() - leaves of n pairs the longest chain in which both places rise; sorts them
 * Returns: 0 or PEET_ENOMEM */
int peet__longest_chain(struct peet__pair *pairs, size_t n, size_t *out_n);

/** peet__hash_symbol() - a symbol's share of a rolling hash */
static inline uint64_t peet__hash_symbol(uint64_t x)
{
    x ^= x >> 31;
    x *= 0x9e3779b97f4a7c15u;
    return x ^ x >> 29;
}

/** A hash of the last `length` symbols, updated symbol by symbol. */
struct peet__rolling {
    uint64_t hash, power; /* power: of the factor, to the length */
};
#define PEET__ROLLING_FACTOR UINT64_C(0xd6e8feb86659fd93)

static inline struct peet__rolling peet__rolling_new(size_t length)
{
    struct peet__rolling r = {0, 1};

    while (length--)
        r.power *= PEET__ROLLING_FACTOR;
    return r;
}

/** peet__roll() - @in, @out: peet__hash_symbol() of the symbol that comes and of the one that leaves; 0 for none */
static inline uint64_t peet__roll(struct peet__rolling *r, uint64_t in, uint64_t out)
{
    r->hash = r->hash * PEET__ROLLING_FACTOR + in - out * r->power;
    return r->hash;
}

/** What work without anchors may cost at first: some tenths of a second. */
#define PEET__CREDIT (UINT64_C(1) << 28)

/**
 * peet__edit_anchored() - an edit script in time O((n + m) log (n + m)) or so: strings of symbols that occur once in
 *   either are taken for the same places, long strings first; what lies between is searched with a limited effort
 * @open: the sequences go on; so what is left behind the last anchor may be left alone if it is little
 * @credit: work that may be done where there are no anchors, kept from one call to the next; PEET__CREDIT at first
 * @out_distance: edits and matched alone
 * Returns: 0 or PEET_ENOMEM
 */
int peet__edit_anchored(const uint64_t *a, size_t n, const uint64_t *b, size_t m, size_t effort, int open,
    uint64_t *credit, peet_match *match, void *arg, struct peet_distance *out_distance);

/** How often strings of few symbols occur in one sequence and how often in the other: a bound of their distance. */
struct peet__bound;
int peet__bound_new(struct peet__bound **out_bound);
void peet__bound_free(struct peet__bound *bound);
/** peet__bound_begin() - the symbols that follow are the first (0) or the second (1) sequence's, from its beginning */
void peet__bound_begin(struct peet__bound *bound, int side);
void peet__bound_add(struct peet__bound *bound, uint64_t symbol);
/** peet__bound_least() - no script has fewer insertions and deletions */
uint64_t peet__bound_least(const struct peet__bound *bound);

#endif
