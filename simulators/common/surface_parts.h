/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of a surface have in common: slots, groups, zones and batches.  See surface.h for how. */
#ifndef PEET_SIM_SURFACE_PARTS_H
#define PEET_SIM_SURFACE_PARTS_H

#include "surface.h"

#include <string.h>

#ifdef __x86_64__
#include <immintrin.h>
/** Where the processor can do it: 8 widths are one vector. */
#define V3 __attribute__((target("popcnt,bmi,bmi2,lzcnt,avx2")))
#endif
#define INLINE inline __attribute__((always_inline))
#define RARELY(x) __builtin_expect(!!(x), 0)

enum {
    WIDTHS = PEET_SIM_WIDTHS,
    MARKS = PEET_SIM_MARKS,
    GROUP = 32,
    FIRST_GROUP = 2,
    FIRST = FIRST_GROUP * GROUP,
    NEVER = 0,
    BEYOND = 1,
    NOWHERE = PEET_SIM_ZONES - 1, /* the zone of both */
    NEAREST = 8,                  /* of the first mark: 2^8 lines */
    DEEPEST = 1 << (PEET_SIM_DEPTHS - 1),
    FEWEST_SLOTS = 1 << 13,
    SPARE = 12, /* times as many slots as are live after renumbering */
    OTHER = 64,
    CACHE_LINE = 64,
    /* Groups of a width, and so many that widths are not in the same sets of a cache */
    ROW = PEET_SIM_SLOTS / GROUP + 3 * CACHE_LINE / 4,
};

/** A line of a word: which node of the word's record it is */
static INLINE unsigned node_of(unsigned width, unsigned leaf)
{
    return (1u << width) + (leaf >> (PEET_SIM_HALVINGS - width));
}

/** So many binary digits. */
static INLINE unsigned bits(uint32_t n)
{
    return n ? 32 - (unsigned)__builtin_clz(n) : 0;
}

/** So many lines a mark moves on at least; no two marks' stretches where slots are counted have a group in common. */
static INLINE uint32_t slack(unsigned mark)
{
    return mark < 2 ? 64 : 128;
}

static INLINE uint32_t lines_of(unsigned mark)
{
    return 1u << (mark + NEAREST);
}

/** What passes marks is counted in a field for each mark; a line from a zone passes those after it. */
enum { FIELD = 6 };
#define FIELDS(n) (((1ull << FIELD * (n)) - 1) / 63) /* 1 in each of the first n */
static const uint64_t passes[PEET_SIM_ZONES] = {0, FIELDS(1), FIELDS(1), FIELDS(2), FIELDS(2), FIELDS(3), FIELDS(3),
    FIELDS(4), FIELDS(4), FIELDS(5), FIELDS(5), FIELDS(6), FIELDS(6), FIELDS(7), FIELDS(7), FIELDS(8), FIELDS(8),
    FIELDS(9), FIELDS(9), FIELDS(9)};

static INLINE uint32_t passed(uint64_t came, unsigned mark)
{
    return (uint32_t)(came >> FIELD * mark) & 63;
}

static INLINE uint32_t *live_of(const struct peet_sim_surface *s, unsigned w)
{
    return s->live + w * ROW;
}

static INLINE uint8_t *zone_of(const struct peet_sim_surface *s, unsigned w)
{
    return s->zone + w * ROW;
}

static INLINE uint32_t ones(uint32_t word)
{
    return (uint32_t)__builtin_popcount(word);
}

/** Ones in these words. */
static INLINE uint32_t ones_in(const uint32_t *word, const uint32_t *end)
{
    uint32_t n = 0;

    for (uint64_t two; word + 1 < end; word += 2) {
        memcpy(&two, word, sizeof two);
        n += (uint32_t)__builtin_popcountll(two);
    }
    return word < end ? n + ones(*word) : n;
}

/** Live slots after this one, before another group. */
static INLINE uint32_t between(const uint32_t *live, uint32_t slot, uint32_t group)
{
    return ones(live[slot / GROUP] & ~1u << slot % GROUP) + ones_in(live + slot / GROUP + 1, live + group);
}

/** References that are taken together: their slots are in one group. */
struct peet__sim_batch {
    uint8_t finding[GROUP][WIDTHS];
    uint32_t was[GROUP][WIDTHS]; /* their lines' slots */
    uint32_t live[2][WIDTHS];    /* of the group before, and of this one */
    uint8_t far[GROUP];          /* a bit for each width at which the line is not near */
    uint8_t leaf[GROUP];
    struct peet__sim_record *record[GROUP];
    uint32_t n, slot; /* slot: the first one's */
} __attribute__((aligned(CACHE_LINE)));

/* ---- slots.c */
/** No slot is taken. */
void peet__sim_slots_begin(struct peet_sim_surface *s);
/** Slots are used up: invariant 5 */
void peet__sim_slots_renumber(struct peet_sim_surface *s);

/* ---- near.c.  All references of a batch get their slots, and findings of the widths at which they are near.
 * b->live: of the group before the batch, and of its own */
void peet__sim_near_plain(struct peet__sim_batch *b);
void peet__sim_near_v3(struct peet__sim_batch *b);

/* ---- far.c */
/** A group begins: marks that came too near move on. */
void peet__sim_far_begin_plain(struct peet_sim_surface *s);
void peet__sim_far_begin_v3(struct peet_sim_surface *s);
/** All that is not near.  @newest: for each width, live slots in the newest two groups before the batch */
void peet__sim_far_plain(struct peet_sim_surface *s, struct peet__sim_batch *b, const uint32_t *newest);
void peet__sim_far_v3(struct peet_sim_surface *s, struct peet__sim_batch *b, const uint32_t *newest);

#endif
