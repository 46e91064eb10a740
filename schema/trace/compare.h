/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Comparing sequences: how far apart two are, where they differ, which of several belong together.  Sequences are
 * arrays of symbols (64-bit numbers that are equal or not) or of values in time.  Nothing here knows what a symbol
 * means.
 */
#ifndef PEET_TRACE_COMPARE_H
#define PEET_TRACE_COMPARE_H

#include <stddef.h>
#include <stdint.h>
#include <peet/error.h>

/**
 * What an edit script says: runs of symbols that match, in order; between them a's symbols are deleted and b's
 * inserted.
 * @a, @b: where the run begins in each; @n: how long it is
 */
typedef void peet_match(void *arg, size_t a, size_t b, size_t n);

struct peet_distance {
    uint64_t edits;          /* insertions and deletions of the script that was found */
    uint64_t least;          /* no script has fewer */
    uint64_t matched;        /* symbols */
    size_t first_a, first_b; /* the first difference; n and m if there is none */
};

/**
 * peet_edit_distance() - insertions and deletions that slice a into b (Myers, "An O(ND) difference algorithm and its
 *   variations", 1986; linear space)
 * @effort: differences that are looked at in one subproblem before the furthest-reaching path is taken as it is; 0:
 *   no limit.  Without a limit `edits` is the distance.  With one it is at least the distance, and `least` is at most
 *   the distance.  Time O((n + m) * min(effort, edits)); with a limit, sequences of more than 2^21 symbols in all are
 *   compared between strings that occur once in either, in O((n + m) log (n + m)) or so
 * @match: called for each run, or NULL
 * Returns: 0 or PEET_ENOMEM
 */
int peet_edit_distance(const uint64_t *a, size_t n, const uint64_t *b, size_t m, size_t effort, peet_match *match,
    void *arg, struct peet_distance *out_distance);

/** peet_edit_script() - the same without a bound from below: `least` is 0 */
int peet_edit_script(const uint64_t *a, size_t n, const uint64_t *b, size_t m, size_t effort, peet_match *match,
    void *arg, struct peet_distance *out_distance);

/** peet_edit_limited() - as peet_edit_script(), or, where its effort is spent, between strings that occur once in either if
 *   that makes fewer edits: `least` is 0 */
int peet_edit_limited(const uint64_t *a, size_t n, const uint64_t *b, size_t m, size_t effort, peet_match *match,
    void *arg, struct peet_distance *out_distance);

/** A sequence that is read piece by piece, as often as need be. */
struct peet_symbols {
    /** read() - the next ones.  Returns: how many, at most @n; 0 at the end; or a peet_err */
    long (*read)(void *arg, uint64_t *out, size_t n);
    /** rewind() - from the beginning again.  Returns: 0 or a peet_err */
    int (*rewind)(void *arg);
    void *arg;
};

/**
 * peet_edit_distance_long() - the same for sequences that do not fit into memory
 * Sequences are read twice.  First places are sought that occur once in each (64 or 2048 symbols in a row; a sample of
 * them): the longest chain of such anchors is kept.  Then what lies between anchors is compared in windows of so many
 * symbols; with a limited effort, between shorter strings that occur once in either window.
 * What is found is a script: `edits` is at least the distance.  `least` is at most the distance: a bound by how often
 * strings of 1, 2, 5 and 16 symbols occur in either.  So the error is at most edits - least.
 * Memory: 32 bytes for each symbol of a window, 100 MB for anchors, 16 MB for the bound.
 * @window: symbols, at least 1024
 * Returns: 0, PEET_ENOMEM, or what read() and rewind() return
 */
int peet_edit_distance_long(const struct peet_symbols *a, const struct peet_symbols *b, size_t window, size_t effort,
    peet_match *match, void *arg, struct peet_distance *out_distance);

/** peet_similarity() - 100 * matched symbols of both / symbols of both; 100 for two empty sequences */
double peet_similarity(const struct peet_distance *distance, size_t n, size_t m);

/**
 * peet_time_warp() - distance of two series in time after the best monotone stretching of both (Kruskal and Liberman,
 * 1983, symmetric: a step of both weighs 1, a step of one weighs one half; each is multiplied by the absolute
 * difference of the values)
 * @band: how far place i of the longer may lie from its share of the shorter; 0: no limit
 * Returns: 0 or PEET_ENOMEM; the distance is that of the best path within the band
 */
int peet_time_warp(const double *a, size_t n, const double *b, size_t m, size_t band, double *out_distance);

/** A link of two series: place @i of the first with place @k of the second; @weight: 1, or 0.5 if one of both stands still */
typedef void peet_link(void *arg, size_t i, size_t k, double weight);
/**
 * peet_time_links() - the links of the best path, from the end to the beginning, and the distance of peet_time_warp()
 * Returns: 0, PEET_ENOMEM, or PEET_ELIMIT: the table of the paths has more than 2^30 places, a narrower band is needed
 */
int peet_time_links(const double *a, size_t n, const double *b, size_t m, size_t band, peet_link *link, void *arg,
    double *out_distance);

/** Several series in one; peet_average_free() frees what it points to. */
struct peet_average {
    size_t n;          /* of the series that it began with: */
    size_t medoid;     /* the one whose distances from the others have the least sum */
    double *values;    /* n */
    double *deviation; /* n: the mean absolute difference of the values that are linked to it */
    double *distances; /* of each series from it */
};
/**
 * peet_time_average() - a series whose warped distances from all have a small sum.  It begins with the medoid.  Then each
 *   value becomes the weighted median of those that are linked to it (of two: the mean, as Kruskal and Liberman average
 *   two), and links are found anew, until the sum does not fall any more.  That is barycenter averaging (Petitjean,
 *   Ketterlin and Gancarski, Pattern Recognition 44, 2011) for a distance of absolute differences
 * @series, @lengths: @count of them, at least 1, none of them empty
 * Returns: 0, or as peet_time_links()
 */
int peet_time_average(const double *const *series, const size_t *lengths, size_t count, size_t band,
    struct peet_average *out);
void peet_average_free(struct peet_average *average);

/**
 * peet_assignment() - the cheapest way to give each of n rows a column of its own (Kuhn and Munkres)
 * @cost: n * m, row by row; n <= m
 * @out_column: n of them
 * Returns: 0 or PEET_ENOMEM
 */
int peet_assignment(const double *cost, size_t n, size_t m, size_t *out_column);

#endif
