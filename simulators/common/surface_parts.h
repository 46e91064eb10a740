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
#define V4 \
    __attribute__((target("popcnt,bmi,bmi2,lzcnt,avx2,avx512f,avx512vl,avx512bw,avx512dq,avx512cd,avx512vpopcntdq"), \
        min_vector_width(512)))
#endif
#define INLINE inline __attribute__((always_inline))
#define RARELY(x) __builtin_expect(!!(x), 0)

enum {
    WIDTHS = PEET_SIM_WIDTHS,
    MARKS = PEET_SIM_MARKS,
    GROUP = 32,
    FIRST_GROUP = PEET_SIM_SUM,
    FIRST = FIRST_GROUP * GROUP,
    NEVER = 0,
    BEYOND = 1,
    NEAREST = 8, /* of the first mark: 2^8 lines */
    DEEPEST = 1 << (PEET_SIM_DEPTHS - 1),
    FEWEST_SLOTS = 1 << 13,
    SPARE = 12, /* times as many slots as are live after renumbering */
    OTHER = 64,
    CACHE_LINE = 64,
    TOP = 4, /* widths in the first row of a record, and in each of the others */
    SLAB = 64,
    GROUPS = PEET_SIM_SLOTS / GROUP,
    /* Codes of zones: marks that a line from there passes, and whether it must be counted */
    UNSURE = 0x80,
    NOWHERE = UNSURE | MARKS,
};
static const uint64_t bytes = 0x0101010101010101ull; /* a 1 in each */

/** The code of a zone. */
static INLINE uint8_t code_of(unsigned zone)
{
    return (uint8_t)((zone + 1) / 2 | (zone % 2 || !zone ? UNSURE : 0));
}

/** A line of a word: which node of the word's record it is, and its last slot */
static INLINE unsigned node_of(unsigned width, unsigned leaf)
{
    if (width < TOP)
        return (1u << width) + (leaf >> (PEET_SIM_HALVINGS - width));
    return (leaf / 8 + 1) * PEET_SIM_ROW + (1u << (width - TOP)) + (leaf % 8 >> (PEET_SIM_HALVINGS - width));
}
static INLINE uint32_t *last_of(struct peet__sim_record *r, unsigned width, unsigned leaf)
{
    const unsigned node = node_of(width, leaf);
    return &r->last[node / PEET_SIM_ROW][node % PEET_SIM_ROW];
}

static INLINE uint32_t index_of(const struct peet__sim_record *r)
{
    return r->last[0][0];
}
static INLINE struct peet__sim_record *record_of(const struct peet_sim_surface *s, uint32_t index)
{
    return &s->slabs[index / SLAB][index % SLAB];
}

/** Of a node that is beyond the stack: where it says which half was referenced last.  *out_bit: which bit says it */
static INLINE uint32_t *half_of(struct peet__sim_record *r, unsigned node, unsigned *out_bit)
{
    *out_bit = node < PEET_SIM_ROW ? PEET_SIM_ROW + node : node % PEET_SIM_ROW;
    return r->last[node < PEET_SIM_ROW ? 1 : node / PEET_SIM_ROW];
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
enum { FIELD = 6, FIELDS = FIELD * MARKS };
static const uint64_t each_field = ((1ull << FIELDS) - 1) / 63; /* 1 in each */

static INLINE uint64_t passes(unsigned code)
{
    return each_field & ((1ull << FIELD * (code & (unsigned)~UNSURE)) - 1);
}

static INLINE uint32_t passed(uint64_t came, unsigned mark)
{
    return (uint32_t)(came >> FIELD * mark) & 63;
}

static INLINE uint8_t *zone_of(const struct peet_sim_surface *s, unsigned w, uint32_t group)
{
    return (uint8_t *)(s->zone + group) + w; /* the lowest byte is the first one on x86-64 */
}

static INLINE uint32_t ones(uint32_t word)
{
    return (uint32_t)__builtin_popcount(word);
}

/** Live slots of a width after this one, before another group. */
static INLINE uint32_t between(uint32_t (*live)[WIDTHS], unsigned w, uint32_t slot, uint32_t group)
{
    uint32_t n = ones(live[slot / GROUP][w] & ~1u << slot % GROUP);

    for (uint32_t g = slot / GROUP + 1; g < group; g++)
        n += ones(live[g][w]);
    return n;
}

/** The group now is this one: those before the newest two are summed up. */
static INLINE void sum_groups(struct peet_sim_surface *s, uint32_t group)
{
    for (; s->summed + 1 < group; s->summed++) {
        uint32_t *sum = s->sums[s->summed / PEET_SIM_SUM];

        for (unsigned w = 0; w < WIDTHS; w++)
            sum[w] = (s->summed % PEET_SIM_SUM ? sum[w] : 0) + ones(s->live[s->summed][w]);
    }
}

#ifdef __x86_64__
/** Population counts of bytes. */
V3 static INLINE __m256i counts(__m256i x)
{
    const __m256i nibble = _mm256_set1_epi8(15),
                  of = _mm256_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4, 0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2,
                      3, 2, 3, 3, 4);

    return _mm256_add_epi8(_mm256_shuffle_epi8(of, _mm256_and_si256(x, nibble)),
        _mm256_shuffle_epi8(of, _mm256_and_si256(_mm256_srli_epi16(x, 4), nibble)));
}

/** Of each field of 32 bits, the sum of its bytes, of which any two neighbours have no more than 2^15 - 1 in all. */
V3 static INLINE __m256i sum_of_bytes(__m256i x)
{
    return _mm256_madd_epi16(_mm256_maddubs_epi16(x, _mm256_set1_epi8(1)), _mm256_set1_epi16(1));
}
#endif

/** References that are taken together: their slots are in one group. */
struct peet__sim_batch {
    uint8_t finding[GROUP][WIDTHS];
    uint32_t was[GROUP][WIDTHS]; /* their lines' slots */
    uint32_t newest[WIDTHS];     /* live slots in the newest two groups before the batch */
    uint8_t far[GROUP];          /* a bit for each width at which the line is not near */
    uint8_t others[GROUP]; /* a bit for each width, but the narrowest, at which the line's slot is not its half's */
    uint8_t leaf[GROUP];
    struct peet__sim_record *record[GROUP];
    uint32_t n, slot; /* slot: the first one's */
} __attribute__((aligned(CACHE_LINE)));

/* ---- slots.c */
/** No slot is taken. */
void peet__sim_slots_begin(struct peet_sim_surface *s);
/** Slots are used up: invariant 5 */
void peet__sim_slots_renumber_plain(struct peet_sim_surface *s);
void peet__sim_slots_renumber_v3(struct peet_sim_surface *s);

/* ---- near.c.  All references of a batch get their slots, and findings of the widths at which they are near. */
void peet__sim_near_plain(struct peet_sim_surface *s, struct peet__sim_batch *b);
void peet__sim_near_v3(struct peet_sim_surface *s, struct peet__sim_batch *b);
void peet__sim_near_v4(struct peet_sim_surface *s, struct peet__sim_batch *b);

/* ---- far.c.  A group begins: marks that came too near move on. */
void peet__sim_far_begin_plain(struct peet_sim_surface *s, uint32_t group);
void peet__sim_far_begin_v3(struct peet_sim_surface *s, uint32_t group);
/** All that is not near. */
void peet__sim_far_plain(struct peet_sim_surface *s, struct peet__sim_batch *b);
void peet__sim_far_v3(struct peet_sim_surface *s, struct peet__sim_batch *b);
void peet__sim_far_v4(struct peet_sim_surface *s, struct peet__sim_batch *b);

#endif
