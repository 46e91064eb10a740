/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A cache surface: how many references of a stream hit in fully associative LRU caches of 2^0 to 2^16 lines of 2^2 to
 * 2^9 bytes, all 136 of them at once, and exactly (Weinberg and Snavely, "Chameleon", section 2.4).  The observer
 * locality and the command `peet locality` use it.
 *
 * A reference belongs to the lines that hold its first byte.  Its reuse distance at a width is the number of other
 * lines of that width that were referenced since the line's last reference (Mattson and others, IBM Systems Journal
 * 9(2), 1970).
 *
 * HOW.  The newest 8 lines of each width are its *front*: a list that is searched with one comparison of vectors, and
 * put into its new order with one permutation.  Most references end there.  A line that leaves the front takes the next
 * *slot* of its width; a slot is *live* until the line comes back, and a bitmap says which are.  The reuse distance of
 * such a line is 8 and the number of live slots after its own (Bennett and Kruskal, IBM J. Res. Dev. 19(4), 1975).
 *
 * Only the power of two is asked for.  For each power there are two *marks*, slots between which the line of just this
 * distance must be:
 *
 *     oldest                                   newest           front
 *     . . . . . . . | near_k . . . . . sure_k | . . . . . . . . [8]
 *       2^k or more |  count live slots       |  less than 2^k
 *
 * A slot is compared with all marks at once; only between the two of one power, a narrow stretch, live slots are
 * counted.  A reference to an older line makes what is in front of a mark one more.  When that happened so often that
 * the line could be outside, the marks move on (Kim, Hill and Wood, SIGMETRICS 1991, keep such marks in lists, and
 * exactly).
 *
 * INVARIANTS
 *  1. peet__sim_record.last[node] is 0 (never referenced), 1 (beyond the stack), 2 (in the front) or its live slot + 3.
 *  2. line[slot] of a live slot is the line's number: its record's index << width | its place in the record.
 *  3. If a reference finds its line on top at one width, it does at all wider ones: `top` widths, from the widest, need
 * no look.
 *  4. The front is full as long as there are live slots.
 *  5. Live slots from sure[k] on are as many as make 2^k with the front, less left[k], which is above 0.  If near[k] is
 * not 0, those from there on make 2^k at least.
 *  6. When the slots are used up, as many of the newest lines as make 2^16 with the front move to the beginning, in
 * their order.  All others are beyond the stack.
 */
#ifndef PEET_SIM_SURFACE_H
#define PEET_SIM_SURFACE_H

#include <stdint.h>
#include "linemap.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    PEET_SIM_WIDTHS = 8, /* width w: lines of 512 >> w bytes */
    PEET_SIM_WIDEST_SHIFT = 9,
    PEET_SIM_DEPTHS = 17, /* depth k: 2^k lines */
    PEET_SIM_BEYOND = 17, /* bucket: reused, but beyond 2^16 lines */
    PEET_SIM_COLD = 18,   /* bucket: never referenced before */
    PEET_SIM_BUCKETS = 19,
    PEET_SIM_UNSEEN = PEET_SIM_BUCKETS,
    PEET_SIM_MEETINGS = PEET_SIM_UNSEEN + 33,
    PEET_SIM_HALVINGS = 7, /* halving h: from width h to width h + 1 */
    PEET_SIM_SLOTS = 1 << 19,
    PEET_SIM_FRONT = 8,  /* the newest lines of a width */
    PEET_SIM_MARKS = 16, /* of 2^4 to 2^16 lines, and to fill vectors */
};

/**
 * What is counted.  reuse[w][k]: references whose line is within the newest 2^k of width w, but not 2^(k-1).
 * same[h][k]: of reuse[h][k], those that are in the same half of their line as the line's last reference was.
 */
struct peet_sim_tally {
    uint64_t references;
    uint64_t reuse[PEET_SIM_WIDTHS][PEET_SIM_BUCKETS];
    uint64_t same[PEET_SIM_HALVINGS][PEET_SIM_BUCKETS - 1];
    /* What peet_sim_tally_settle() distributes: references that were on top at so many widths; those that were not,
     * with [1] those in the other half */
    uint64_t top[PEET_SIM_WIDTHS + 1], met[PEET_SIM_WIDTHS][PEET_SIM_MEETINGS][2];
};

/** peet_sim_tally_settle() - what `top` and `met` count becomes part of reuse and same; they are 0 then */
void peet_sim_tally_settle(struct peet_sim_tally *tally);
/** peet_sim_tally_add() - @from, times 1 or -1, is added to @to */
void peet_sim_tally_add(struct peet_sim_tally *to, const struct peet_sim_tally *from, int sign);

/** A line of 512 bytes and all that it is made of: node 1 is the line, nodes 2n and 2n+1 the halves of node n. */
struct peet__sim_record {
    uint32_t last[1 << PEET_SIM_WIDTHS]; /* last[0]: the record's index, from 1 on */
    uint64_t half[2];                    /* bit n: which half of node n, of 1..127, was referenced last */
    uint32_t epoch;                      /* the surface's; another one: nothing of this is true any more */
};

struct peet__sim_stack {
    uint32_t front[PEET_SIM_FRONT] __attribute__((aligned(64))); /* lines' numbers, the newest first; 0: none */
    uint64_t *live;
    uint32_t *line;
    uint32_t next, end; /* slots: the next to be taken; the first that is not to be */
    uint32_t lines;     /* different ones so far */
    int32_t near[PEET_SIM_MARKS] __attribute__((aligned(64))); /* of 2^(4 + i) lines */
    int32_t sure[PEET_SIM_MARKS], left[PEET_SIM_MARKS];
};

struct peet_sim_surface {
    struct peet__sim_stack stacks[PEET_SIM_WIDTHS];
    uint64_t last;     /* address of the latest reference */
    int begun, failed; /* failed: there was no memory; counts are not right */
    int bursts;        /* see peet_sim_surface_forget() */
    uint32_t epoch;
    uint64_t blocks; /* of 512 bytes, that were ever referenced, whatever was forgotten */
    struct peet__sim_record *record;
    int (*touch)(struct peet_sim_surface *, uint64_t address, struct peet_sim_tally *);
    struct peet__sim_record **records_of; /* by index */
    uint32_t nrecords, room;
    struct peet_sim_linemap records;
};

/** peet_sim_surface_new() - an empty one, of some 100 KiB at first; twice as large as what the stream references later.
 *  Returns: NULL without memory */
struct peet_sim_surface *peet_sim_surface_new(void);
void peet_sim_surface_free(struct peet_sim_surface *s);
/** peet_sim_surface_copy() - one that goes on from where @s is.  Returns: NULL without memory */
struct peet_sim_surface *peet_sim_surface_copy(const struct peet_sim_surface *s);

/** Where a reference found its lines: a bucket of the tally for each width. */
struct peet_sim_found {
    uint8_t bucket[PEET_SIM_WIDTHS];
    uint8_t same[PEET_SIM_HALVINGS]; /* 1: it is in the half that was referenced last */
};
/** peet_sim_surface_find() - a reference, counted in @tally, and where it found its lines.  Returns: 0, or -1 without
 * memory */
int peet_sim_surface_find(struct peet_sim_surface *s, uint64_t address, struct peet_sim_tally *tally,
    struct peet_sim_found *out_found);
/**
 * peet_sim_surface_forget() - nothing was ever referenced
 * If @s->bursts is set, a line that comes for the first time since then counts as met in PEET_SIM_UNSEEN + the number
 * of binary digits of how many others came before, not in PEET_SIM_COLD; peet_sim_tally_settle() drops that.
 */
void peet_sim_surface_forget(struct peet_sim_surface *s);
enum { PEET_SIM_NODES = 1 << PEET_SIM_WIDTHS };
/** peet_sim_surface_where() - of the 512 bytes round an address: the bucket in which a reference would find each node
 * now (1: the whole, 2n and 2n+1: halves of n), down to @last_width */
void peet_sim_surface_where(struct peet_sim_surface *s, uint64_t address, unsigned last_width,
    uint8_t out_buckets[PEET_SIM_NODES]);
/** peet_sim_surface_half() - which half of a node (1: the whole, 2n and 2n+1: halves of n, up to 127) of a line of 512
 * bytes was referenced last; -1: neither */
int peet_sim_surface_half(struct peet_sim_surface *s, uint64_t address, unsigned node);

/**
 * peet_sim_surface_reference() - a reference, counted in @tally
 * Returns: at how many widths, from the widest, it found its line on top; -1: no memory, as s->failed says from then on
 */
static inline int peet_sim_surface_reference(struct peet_sim_surface *s, uint64_t address, struct peet_sim_tally *tally)
{
    if (!((address ^ s->last) >> 2) && s->begun) {
        tally->top[PEET_SIM_WIDTHS]++;
        return PEET_SIM_WIDTHS;
    }
    return s->touch(s, address, tally);
}

/** peet_sim_bytes_of_width(), peet_sim_hits() - lines of so many bytes; of a settled tally, references that hit in
 * 2^depth of them */
static inline unsigned peet_sim_bytes_of_width(unsigned width)
{
    return (1u << PEET_SIM_WIDEST_SHIFT) >> width;
}
static inline uint64_t peet_sim_hits(const struct peet_sim_tally *t, unsigned width, unsigned depth)
{
    uint64_t hits = 0;

    for (unsigned k = 0; k <= depth && k < PEET_SIM_DEPTHS; k++)
        hits += t->reuse[width][k];
    return hits;
}

#ifdef __cplusplus
}
#endif
#endif
