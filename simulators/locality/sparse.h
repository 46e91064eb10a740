/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Spatially sampled LRU stacks, for far reuse distances alone (Waldspurger and others, "Efficient MRC Construction with
 * SHARDS", FAST 2015).  Of each width only the references to some lines are followed: those whose number a hash has
 * chosen.  A line is chosen or not for good, and so is a distance of the stream of chosen lines, times the lines for
 * each chosen one, an estimate of the distance in the whole stream.
 *
 * The hash is the remainder of the line's number by a primitive polynomial of degree n over two elements, where one of
 * 2^n lines is chosen.  Any n successive bits of the number are independent in it, so of 2^n lines that are neighbours,
 * or apart by any power of two, exactly one is chosen: an array has the right share of chosen lines, and a scan the
 * right distances.  All eight widths are hashed at once, a byte for each.
 *
 * Distances of less than a few chosen lines are not told: bursts that see all references know them better.
 */
#ifndef PEET_LOCALITY_SPARSE_H
#define PEET_LOCALITY_SPARSE_H

#include "locality.h"

struct locality_sparse;

/** NULL: no memory */
struct locality_sparse *locality__sparse_new(void);
void locality__sparse_free(struct locality_sparse *s);
/** Nothing was ever referenced.  @s: may be NULL */
void locality__sparse_forget(struct locality_sparse *s);
/** Lines of each width that were referenced, about, where that is more than @lines says.  @s: may be NULL */
void locality__sparse_lines(const struct locality_sparse *s, double lines[PEET_SIM_WIDTHS]);

/** From this bucket on distances of a width are told. */
unsigned locality__sparse_from(unsigned width);

/** Those references that are far, or first ones: */
struct locality_sparse_found {
    uint32_t widths, others;          /* a bit for each width; and where it is the other half of the line */
    uint8_t meeting[PEET_SIM_WIDTHS]; /* a bucket, or PEET_SIM_UNSEEN + the binary digits of how many came before */
};
/** By byte of an address, from 4 bytes on, and its value: for each width a byte, the share in the hash. */
extern uint64_t locality__sparse_hashes[4][256];
/** Fills the table, once. */
void locality__sparse_init(void);
/** Which widths have chosen the line of an address: for each a byte, 0x80 if it has; else 0. */
static inline uint64_t locality__sparse_chosen(uint64_t address)
{
    const uint64_t ones = 0x0101010101010101ull, high = ones << 7;
    const uint64_t hash = locality__sparse_hashes[0][address >> 2 & 255] ^
        locality__sparse_hashes[1][address >> 10 & 255] ^ locality__sparse_hashes[2][address >> 18 & 255] ^
        locality__sparse_hashes[3][address >> 26 & 255];

    return (((hash | high) - ones) & high) ^ high; /* bytes are below 128 */
}
/** A reference at widths that have chosen its line.  Returns: 0: @out_found is right, or -1: no memory */
int locality__sparse_reference(struct locality_sparse *s, uint64_t chosen, uint64_t address,
    struct locality_sparse_found *out_found);
/** Such a reference comes soon. */
void locality__sparse_prefetch(const struct locality_sparse *s, uint64_t chosen, uint64_t address);
/** It is added to what is known, as so many references. */
void locality__sparse_count(struct locality_estimate *e, const struct locality_sparse_found *found, double weight);

#endif
