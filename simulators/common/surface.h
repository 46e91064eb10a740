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
 * HOW.  References are numbered, but for those to the same word as the one before: a reference has a *slot*.  A slot is
 * *live* at a width as long as the line of its reference has not been referenced again.  The reuse distance of a line is
 * the number of live slots after its own (Bennett and Kruskal, IBM J. Res. Dev. 19(4), 1975).  Slots are the same for all
 * widths, and a bitmap for each width says which are live.  A *group* is 32 slots: 8 words of 32 bits, one vector, are the
 * bitmaps of all widths.
 *
 * A line whose slot is in the newest two groups is *near*.  The distances of all eight widths are then population counts
 * of one vector of 8 words of 64 bits, found at once and without a branch.
 *
 * Of farther lines only the power of two is asked for.  Each group has a code for each width, of its *zone*:
 *
 *     oldest                                                                newest
 *     2k + 2                | 2k + 1                  | 2k              | ... | 0
 *     2^(8 + k) or more     ^ unsure: count         ^ less            |     ^ count all after it
 *                         from[k]                to[k]
 *
 * A zone says it for all slots of the group, but where a group is near 2^(8 + k) or in the newest 256 lines: there live
 * slots are counted.  Lines that come from beyond to[k] make what is after it more, by one each.  When that becomes too
 * many, to[k] moves on over some groups (Kim, Hill and Wood, SIGMETRICS 1991, keep one mark for each power of two
 * in lists, and exactly); from[k] moves on when a line was counted that is farther, or when to[k + 1] comes.  How many
 * came from which zone is what is counted anyway.  Of the newest zone, groups of groups have sums of live slots.
 *
 * The widths at which a word's lines have the same slot are looked up together: a reference has rarely more than two
 * far slots.  Codes of all widths are one word of 64 bits for each group.
 *
 * A program often loads two words and then stores to both.  Two references to the words of the two before them, in the
 * same order, leave all lists as they are.  Their distances are 1, or 0 where the words have the same line.  They are
 * counted at once and get no slots.
 *
 * Which half of a line was referenced last needs no memory: it is the half that has the line's own slot.
 *
 * Counting: 8 buckets and 7 halves are 8 bytes, a *finding*.  Programs repeat the same few, so a tally counts findings in a
 * small table, and distributes them when it is asked, or when another one needs the place.
 *
 * INVARIANTS
 *  1. The last slot of a node of a record is 0 (never referenced), 1 (beyond the stack) or its live slot.  Slots of the
 *     first groups are nobody's.
 *  2. word_of[slot] of a slot that is live at some width is the word: its record's index << 7 | its place in the record.
 *  3. after[k][w] + what came since from zones 2k + 1 and more is the number of live slots in groups to[k][w] and later;
 *     at most 2^(8 + k), and 32 less at the beginning of a group.
 *  4. All slots of groups before from[k][w] have 2^(8 + k) live ones after them, or more.
 *  5. When the slots are used up, those that are live among the newest 2^16 lines of some width move to the beginning,
 *     in their order.  Lines that are nowhere else are beyond the stack.
 */
#ifndef PEET_SIM_SURFACE_H
#define PEET_SIM_SURFACE_H

#include <stddef.h>
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
    PEET_SIM_HALVINGS = 7,      /* halving h: from width h to width h + 1 */
    PEET_SIM_STRIDED_WIDTH = 3, /* lines of 64 bytes: see peet_sim_tally.strided */
    PEET_SIM_SLOTS = 1 << 22,
    PEET_SIM_MARKS = 9,   /* of 2^8 to 2^16 lines */
    PEET_SIM_ZONES = 20,  /* the last one: group 0, the lines that are nowhere */
    PEET_SIM_BATCH = 32,  /* references that are taken together */
    PEET_SIM_NOTES = 512, /* of a tally: findings that are counted apart */
};

struct peet__sim_note {
    uint64_t finding, times;
};

/**
 * What is counted.  reuse[w][k]: references whose line is within the newest 2^k of width w, but not 2^(k-1).
 * same[h][k]: of reuse[h][k], those that are in the same half of their line as the line's last reference was.
 * strided[k]: of reuse[3][k], those that peet_sim_surface_strided() was told of.
 */
struct peet_sim_tally {
    uint64_t references;
    uint64_t reuse[PEET_SIM_WIDTHS][PEET_SIM_BUCKETS];
    uint64_t same[PEET_SIM_HALVINGS][PEET_SIM_BUCKETS - 1];
    uint64_t strided[PEET_SIM_MEETINGS]; /* settled: of PEET_SIM_BUCKETS */
    /* What peet_sim_tally_settle() distributes: references to the same word again; the others, with [1] those in the
     * other half; and findings: for each width a byte, its bucket + 64 for the other half;
     * that of lines of 64 bytes + 128 for a strided reference */
    uint64_t again, met[PEET_SIM_WIDTHS][PEET_SIM_MEETINGS][2];
    struct peet__sim_note notes[PEET_SIM_NOTES];
    uint64_t noted; /* 0: all notes are empty.  No finding is 0 */
};

/** A finding whose place in the notes another one had. */
void peet__sim_tally_replace(struct peet_sim_tally *tally, struct peet__sim_note *note, uint64_t finding);
static inline void peet__sim_tally_note(struct peet_sim_tally *tally, uint64_t finding)
{
    struct peet__sim_note *note = &tally->notes[(finding * 0x9e3779b97f4a7c15ull) >> 55];

    if (__builtin_expect(note->finding != finding, 0))
        peet__sim_tally_replace(tally, note, finding);
    note->times++;
}
/** peet_sim_tally_collect() - what `notes` count becomes part of `met`; they are 0 then */
void peet_sim_tally_collect(struct peet_sim_tally *tally);
/** peet_sim_tally_settle() - what `again`, `met` and `notes` count becomes part of reuse and same; they are 0 then */
void peet_sim_tally_settle(struct peet_sim_tally *tally);
/** peet_sim_tally_add() - @from, times 1 or -1, is added to @to */
void peet_sim_tally_add(struct peet_sim_tally *to, const struct peet_sim_tally *from, int sign);

enum { PEET_SIM_RECORD_ROWS = 17, PEET_SIM_ROW = 16, PEET_SIM_RECENT = 64, PEET_SIM_SUM = 8 };
/**
 * A line of 512 bytes and all that it is made of, as trees of four widths, one cache line each: the first row has the
 * lines of 512 to 64 bytes, and each of the others one line of 32 bytes with those in it.  In a row, node 1 is the
 * widest, nodes 2n and 2n + 1 are the halves of node n, and place 0 has other things: in the first row the record's
 * index, from 1 on; in the others a bit for each node that is beyond the stack, which half was referenced last (in the
 * second row, the upper 16 bits are those of the first one).
 */
struct peet__sim_record {
    uint32_t last[PEET_SIM_RECORD_ROWS][PEET_SIM_ROW];
} __attribute__((aligned(64)));

/** A power of two: live slots in groups [from, to) are counted; after `slot` they were `counted`. */
struct peet__sim_mark {
    uint32_t from, to, slot, counted;
};

struct peet__sim_batch;
struct peet_sim_surface {
    uint32_t (*live)[PEET_SIM_WIDTHS]; /* by group */
    uint32_t (*sums)[PEET_SIM_WIDTHS]; /* by PEET_SIM_SUM groups: live slots, of the groups before `summed` */
    void *sums_room;
    uint64_t *zone;     /* by group: a code for each width, that of width 0 the lowest byte */
    void *live_room;    /* what `live` is a part of */
    uint32_t *word_of;  /* by slot */
    uint32_t summed;    /* groups */
    uint32_t next, end; /* slots: the next to be taken; the first that is not to be */
    uint64_t came[PEET_SIM_WIDTHS] __attribute__((aligned(64))); /* what passed marks since the group began */
    struct peet__sim_mark marks[PEET_SIM_WIDTHS][PEET_SIM_MARKS];
    uint32_t after[PEET_SIM_MARKS][PEET_SIM_WIDTHS]
        __attribute__((aligned(64)));                             /* lines after marks' `to`, when the group began */
    uint32_t lines[PEET_SIM_WIDTHS] __attribute__((aligned(32))); /* different ones so far */
    uint64_t last;                                                /* address of the latest reference */
    int begun, failed; /* failed: there was no memory; counts are not right */
    int bursts;        /* see peet_sim_surface_forget() */
    uint32_t epoch;
    uint64_t blocks; /* of 512 bytes, that were ever referenced, whatever was forgotten */
    int (*take)(struct peet_sim_surface *, struct peet__sim_batch *);
    void (*renumber)(struct peet_sim_surface *);
    /* References that wait, and how many may */
    uint32_t waiting, most;
    uint32_t strided; /* a bit for each: it is */
    uint64_t addresses[PEET_SIM_BATCH];
    struct peet_sim_tally *tallies[PEET_SIM_BATCH];
    uint32_t nrecords;
    /* What is not copied: records in slabs, by index; the newest of them by line; the surface's epoch << 32 | the index
     * by line, where another epoch means that nothing of it is true any more */
    uint32_t nslabs;
    struct peet__sim_record **slabs;
    struct {
        uint64_t line;
        struct peet__sim_record *record;
    } recent[PEET_SIM_RECENT];
    struct peet_sim_linemap records;
};

/** peet_sim_surface_new() - an empty one, of some 100 KiB at first; twice as large as what the stream references later.
 *  Returns: NULL without memory */
struct peet_sim_surface *peet_sim_surface_new(void);
void peet_sim_surface_free(struct peet_sim_surface *s);
enum peet__sim_vectors { PEET__SIM_PLAIN, PEET__SIM_AVX2, PEET__SIM_AVX512 };
/** peet__sim_surface_vectors() - as on a processor that has no others, for tests.  Returns: those that this one has, and
 * that will be used */
enum peet__sim_vectors peet__sim_surface_vectors(struct peet_sim_surface *s, enum peet__sim_vectors most);
/** peet_sim_surface_copy() - one that goes on from where @s is, which has been flushed.  Returns: NULL without memory */
struct peet_sim_surface *peet_sim_surface_copy(const struct peet_sim_surface *s);

/** Where a reference found its lines: a bucket of the tally for each width. */
struct peet_sim_found {
    uint8_t bucket[PEET_SIM_WIDTHS];
    uint8_t same[PEET_SIM_HALVINGS]; /* 1: it is in the half that was referenced last */
};
/** peet_sim_surface_find() - a reference, after all that wait, counted in @tally, and where it found its lines.  Returns: 0, or -1 without
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

/** peet_sim_surface_flush() - all references are counted in their tallies.  Returns: 0, or -1: no memory, as s->failed
 * says from then on */
int peet_sim_surface_flush(struct peet_sim_surface *s);

/** The latest four references that wait are to two words by turns: the last two are counted, and wait no longer. */
void peet__sim_surface_turns(struct peet_sim_surface *s);
static inline int peet__sim_same_word(uint64_t a, uint64_t b)
{
    return !((a ^ b) >> 2);
}

/**
 * peet_sim_surface_strided() - a reference, counted in @tally when the surface is flushed, or before
 * @strided: 1: it is in another line of 64 bytes than the last one by its instruction, and as far from it as that was from the
 * one before; else 0
 * Returns: 0, or -1: no memory, as s->failed says from then on
 */
static inline int peet_sim_surface_strided(struct peet_sim_surface *s, uint64_t address, struct peet_sim_tally *tally,
    uint32_t strided)
{
    const uint32_t n = s->waiting;

    if (peet__sim_same_word(address, s->last) && s->begun) {
        tally->again++;
        return 0;
    }
    s->last = address;
    s->begun = 1;
    s->addresses[n] = address;
    s->tallies[n] = tally;
    s->strided |= strided << n;
    s->waiting = n + 1;
    if (n >= 3 && peet__sim_same_word(address, s->addresses[n - 2]) &&
        peet__sim_same_word(s->addresses[n - 1], s->addresses[n - 3])) {
        peet__sim_surface_turns(s);
        return 0;
    }
    return n + 1 < s->most ? 0 : peet_sim_surface_flush(s);
}
/** peet_sim_surface_reference() - the same for a reference that nothing more is known of */
static inline int peet_sim_surface_reference(struct peet_sim_surface *s, uint64_t address, struct peet_sim_tally *tally)
{
    return peet_sim_surface_strided(s, address, tally, 0);
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
