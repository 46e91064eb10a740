/* SPDX-License-Identifier: Apache-2.0 */
/* All caches of a surface at once.  See surface.h for how; surface_*.c are its parts. */
#include "surface_parts.h"

#include <stdlib.h>

/** Room for one more slab.  Returns: 0, or -1 without memory */
static int new_slab(struct peet_sim_surface *s)
{
    struct peet__sim_record **more = s->slabs;

    if (s->nslabs >= (1u << (32 - PEET_SIM_HALVINGS)) / SLAB)
        return -1;
    if (!(s->nslabs & (s->nslabs - 1))) /* as many as there are, or one */
        more = realloc(s->slabs, (s->nslabs ? 2 * (size_t)s->nslabs : 1) * sizeof *more);
    if (!more)
        return -1;
    s->slabs = more;
    s->slabs[s->nslabs] = aligned_alloc(CACHE_LINE, SLAB * sizeof **more);
    if (!s->slabs[s->nslabs])
        return -1;
    s->nslabs++;
    return 0;
}

/** Which of the recent lines one is, if it is one of them. */
static INLINE unsigned recent_of(uint64_t line)
{
    return (unsigned)(line ^ line >> 6) % PEET_SIM_RECENT;
}

/** The record of a line that is not among the recent ones.  Returns: NULL without memory */
static __attribute__((noinline)) struct peet__sim_record *find_record(struct peet_sim_surface *s, uint64_t line)
{
    uint64_t *known = peet_sim_linemap_long(&s->records, line);
    struct peet__sim_record *r;

    if (RARELY(!known))
        return NULL;
    if (RARELY(*known >> 32 != s->epoch)) {
        if ((s->nrecords + 1) / SLAB >= s->nslabs && new_slab(s))
            return NULL;
        s->blocks += !*known;
        r = record_of(s, ++s->nrecords);
        memset(r, 0, sizeof *r);
        r->last[0][0] = s->nrecords;
        *known = (uint64_t)s->epoch << 32 | s->nrecords;
    } else {
        r = record_of(s, (uint32_t)*known);
    }
    s->recent[recent_of(line)].line = line;
    s->recent[recent_of(line)].record = r;
    return r;
}

/** Finds the records of a batch.  Returns: 0, or -1 without memory */
static INLINE int pass_records(struct peet_sim_surface *s, struct peet__sim_batch *b)
{
    uint32_t *word_of = s->word_of + b->slot;

    for (uint32_t i = 0; i < b->n; i++) {
        const uint64_t line = s->addresses[i] >> PEET_SIM_WIDEST_SHIFT;
        const unsigned leaf = s->addresses[i] >> 2 & 127, recent = recent_of(line);
        struct peet__sim_record *r = s->recent[recent].record;

        if (RARELY(s->recent[recent].line != line) && !(r = find_record(s, line)))
            return -1;
        __builtin_prefetch(r->last[0], 1);
        __builtin_prefetch(r->last[1 + leaf / 8], 1);
        b->record[i] = r;
        b->leaf[i] = (uint8_t)leaf;
        word_of[i] = index_of(r) << PEET_SIM_HALVINGS | leaf;
    }
    return 0;
}

/** A batch goes through all passes.  Returns: 0, or -1 without memory */
static INLINE int pass_all(struct peet_sim_surface *s, struct peet__sim_batch *b,
    void (*far_begin)(struct peet_sim_surface *, uint32_t),
    void (*pass_near)(struct peet_sim_surface *, struct peet__sim_batch *),
    void (*pass_far)(struct peet_sim_surface *, struct peet__sim_batch *))
{
    if (b->slot % GROUP == 0)
        far_begin(s, b->slot / GROUP);
    if (pass_records(s, b))
        return -1;
    pass_near(s, b);
    pass_far(s, b);
    return 0;
}

static int take_plain(struct peet_sim_surface *s, struct peet__sim_batch *b)
{
    return pass_all(s, b, peet__sim_far_begin_plain, peet__sim_near_plain, peet__sim_far_plain);
}

#ifdef __x86_64__
V3 static int take_v3(struct peet_sim_surface *s, struct peet__sim_batch *b)
{
    return pass_all(s, b, peet__sim_far_begin_v3, peet__sim_near_v3, peet__sim_far_v3);
}

V4 static int take_v4(struct peet_sim_surface *s, struct peet__sim_batch *b)
{
    return pass_all(s, b, peet__sim_far_begin_v3, peet__sim_near_v4, peet__sim_far_v4);
}
#endif

static INLINE void note(struct peet_sim_surface *s, unsigned i, uint64_t finding)
{
    peet__sim_tally_note(s->tallies[i], finding | (uint64_t)(s->strided >> i & 1) << (8 * PEET_SIM_STRIDED_WIDTH + 7));
}

void peet__sim_surface_turns(struct peet_sim_surface *s)
{
    const uint32_t n = s->waiting - 2; /* from width `apart` on they have different lines */
    const uint64_t other = (s->addresses[n] ^ s->addresses[n + 1]) >> 2;
    const unsigned apart = other >> PEET_SIM_HALVINGS ? 0 : (unsigned)__builtin_clzll(other) - (64 - WIDTHS);
    const uint64_t finding = bytes << 8 * apart | (apart ? (uint64_t)OTHER << 8 * (apart - 1) : 0);

    note(s, n, finding);
    note(s, n + 1, finding);
    s->strided &= (1u << n) - 1;
    s->waiting = n;
}

/** All that wait are taken.  Returns: 0, or -1 without memory */
static int take(struct peet_sim_surface *s, struct peet__sim_batch *b)
{
    b->n = s->waiting;
    b->slot = s->next;
    s->next += s->waiting;
    s->waiting = 0;
    if (s->failed || s->take(s, b)) {
        s->failed = 1;
        return -1;
    }
    if (RARELY(s->next == s->end))
        s->renumber(s);
    s->most = GROUP - s->next % GROUP;
    for (uint32_t i = 0; i < b->n; i++) {
        uint64_t finding;

        memcpy(&finding, b->finding[i], sizeof finding);
        note(s, i, finding);
    }
    s->strided = 0;
    return 0;
}

__attribute__((noinline)) int peet_sim_surface_flush(struct peet_sim_surface *s)
{
    struct peet__sim_batch b;

    return s->waiting ? take(s, &b) : s->failed ? -1 : 0;
}

int peet_sim_surface_find(struct peet_sim_surface *s, uint64_t address, struct peet_sim_tally *tally,
    struct peet_sim_found *out_found)
{
    struct peet__sim_batch b;

    memset(b.finding[0], 0, sizeof b.finding[0]); /* of the same word again */
    if (peet_sim_surface_flush(s))
        return -1;
    s->most = 2; /* it waits */
    if (peet_sim_surface_reference(s, address, tally) || (s->waiting && take(s, &b)))
        return -1;
    s->most = GROUP - s->next % GROUP;
    for (unsigned w = 0; w < WIDTHS; w++) {
        out_found->bucket[w] = b.finding[0][w] & (OTHER - 1);
        if (w < PEET_SIM_HALVINGS)
            out_found->same[w] = !(b.finding[0][w] & OTHER);
    }
    return 0;
}

/** A line that has a slot: without any change. */
static INLINE unsigned bucket_of(const struct peet_sim_surface *s, unsigned w, uint32_t slot)
{
    const unsigned code = *zone_of(s, w, slot / GROUP), mark = (code & (unsigned)~UNSURE) - 1;

    if (code == UNSURE)
        return bits(between(s->live, w, slot, s->next / GROUP + 1));
    if (code & UNSURE)
        return NEAREST + mark +
            (between(s->live, w, slot, s->marks[w][mark].to) + s->after[mark][w] + passed(s->came[w], mark) >=
                lines_of(mark));
    return NEAREST + code;
}

/** The record of an address; NULL: it has none, or is not known any more */
static struct peet__sim_record *known_record(struct peet_sim_surface *s, uint64_t address)
{
    const uint64_t *known;

    peet_sim_surface_flush(s);
    known = peet_sim_linemap_long(&s->records, address >> PEET_SIM_WIDEST_SHIFT);
    return known && *known >> 32 == s->epoch ? record_of(s, (uint32_t)*known) : NULL;
}

/** Of 512 bytes that are a tree. */
static INLINE unsigned width_of(unsigned node)
{
    return 31 - (unsigned)__builtin_clz(node);
}
static INLINE unsigned leaf_in(unsigned width, unsigned node)
{
    return (node - (1u << width)) << (PEET_SIM_HALVINGS - width);
}
static unsigned leaf_of(unsigned node)
{
    return leaf_in(width_of(node), node);
}

/** The buckets of a record's nodes. */
static INLINE void where(const struct peet_sim_surface *s, struct peet__sim_record *r, unsigned last_width,
    uint8_t out[PEET_SIM_NODES])
{
    out[0] = 0;
    for (unsigned width = 0; width <= last_width; width++)
        for (unsigned node = 1u << width; node < 2u << width; node++) {
            const uint32_t last = out[node / 2] == PEET_SIM_COLD ? NEVER : *last_of(r, width, leaf_in(width, node));

            out[node] = (uint8_t)(last == NEVER ? PEET_SIM_COLD
                    : last == BEYOND            ? PEET_SIM_BEYOND
                                                : bucket_of(s, width, last));
        }
}

#ifdef __x86_64__
V3 static void where_v3(const struct peet_sim_surface *s, struct peet__sim_record *r, unsigned last_width,
    uint8_t out[PEET_SIM_NODES])
{
    where(s, r, last_width, out);
}
#endif

void peet_sim_surface_where(struct peet_sim_surface *s, uint64_t address, unsigned last_width,
    uint8_t out[PEET_SIM_NODES])
{
    struct peet__sim_record *r = known_record(s, address);

    if (!r)
        memset(out, PEET_SIM_COLD, 2u << last_width);
#ifdef __x86_64__
    else if (s->take != take_plain)
        where_v3(s, r, last_width, out);
#endif
    else
        where(s, r, last_width, out);
}

int peet_sim_surface_half(struct peet_sim_surface *s, uint64_t address, unsigned node)
{
    const unsigned width = width_of(node);
    struct peet__sim_record *r = known_record(s, address);
    uint32_t last = r ? *last_of(r, width, leaf_of(node)) : NEVER;
    unsigned bit;

    if (last == NEVER)
        return -1;
    if (last == BEYOND)
        return (int)(*half_of(r, node_of(width, leaf_of(node)), &bit) >> bit & 1);
    return *last_of(r, width + 1, leaf_of(2 * node + 1)) == last;
}

/* ------------------------------------------------------------------------------------------------- surfaces */

static void begin(struct peet_sim_surface *s)
{
    peet__sim_slots_begin(s);
    s->nrecords = 0;
    s->begun = 0;
    s->epoch++;
    for (unsigned i = 0; i < PEET_SIM_RECENT; i++)
        s->recent[i].line = UINT64_MAX;
}

void peet_sim_surface_forget(struct peet_sim_surface *s)
{
    peet_sim_surface_flush(s);
    begin(s);
}

enum peet__sim_vectors peet__sim_surface_vectors(struct peet_sim_surface *s, enum peet__sim_vectors most)
{
    s->take = take_plain;
    s->renumber = peet__sim_slots_renumber_plain;
#ifdef __x86_64__
    __builtin_cpu_init();
    if (most >= PEET__SIM_AVX2 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2"))
        s->renumber = peet__sim_slots_renumber_v3;
    if (most >= PEET__SIM_AVX512 && __builtin_cpu_supports("avx512vpopcntdq") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("bmi2")) {
        s->take = take_v4;
        return PEET__SIM_AVX512;
    }
    if (most >= PEET__SIM_AVX2 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2")) {
        s->take = take_v3;
        return PEET__SIM_AVX2;
    }
#endif
    return PEET__SIM_PLAIN;
}

typedef uint32_t by_width[WIDTHS];
/** Where a cache line begins, in room for two vectors more. */
static by_width *aligned(void *room)
{
    return (by_width *)(((uintptr_t)room + CACHE_LINE - 1) & -(uintptr_t)CACHE_LINE);
}

struct peet_sim_surface *peet_sim_surface_new(void)
{
    struct peet_sim_surface *s = aligned_alloc(CACHE_LINE, sizeof *s);

    if (!s)
        return NULL;
    memset(s, 0, sizeof *s);
    peet_sim_linemap_init(&s->records, sizeof(uint64_t));
    s->live_room = calloc(GROUPS + 2, sizeof *s->live);
    s->sums_room = calloc(GROUPS / PEET_SIM_SUM + 2, sizeof *s->sums);
    s->zone = calloc(GROUPS, sizeof *s->zone);
    s->word_of = malloc(PEET_SIM_SLOTS * sizeof *s->word_of);
    if (!s->live_room || !s->sums_room || !s->zone || !s->word_of) {
        peet_sim_surface_free(s);
        return NULL;
    }
    s->live = aligned(s->live_room);
    s->sums = aligned(s->sums_room);
    peet__sim_surface_vectors(s, PEET__SIM_AVX512);
    begin(s);
    return s;
}

void peet_sim_surface_free(struct peet_sim_surface *s)
{
    if (!s)
        return;
    free(s->live_room);
    free(s->sums_room);
    free(s->zone);
    free(s->word_of);
    peet_sim_linemap_fini(&s->records);
    for (uint32_t i = 0; i < s->nslabs; i++)
        free(s->slabs[i]);
    free(s->slabs);
    free(s);
}

static int copy_record(void *arg, uint64_t line, void *record)
{
    struct peet_sim_surface *to = arg;
    uint64_t *mine;

    if (*(uint64_t *)record >> 32 != to->epoch)
        return 0;
    mine = peet_sim_linemap_long(&to->records, line);
    if (!mine)
        return -1;
    *mine = *(uint64_t *)record;
    return 0;
}

struct peet_sim_surface *peet_sim_surface_copy(const struct peet_sim_surface *s)
{
    const uint32_t groups = s->next / GROUP + 1;
    struct peet_sim_surface *to = peet_sim_surface_new(), mine;

    if (!to)
        return NULL;
    mine = *to;
    memcpy(to, s, offsetof(struct peet_sim_surface, nslabs));
    to->live_room = mine.live_room;
    to->sums_room = mine.sums_room;
    to->live = memcpy(mine.live, s->live, groups * sizeof *s->live);
    to->sums = memcpy(mine.sums, s->sums, (groups / PEET_SIM_SUM + 1) * sizeof *s->sums);
    to->zone = memcpy(mine.zone, s->zone, groups * sizeof *s->zone);
    to->word_of = memcpy(mine.word_of, s->word_of, s->next * sizeof *s->word_of);
    for (uint32_t i = 0; s->nrecords && i <= s->nrecords / SLAB; i++) {
        if (new_slab(to)) {
            peet_sim_surface_free(to);
            return NULL;
        }
        memcpy(to->slabs[i], s->slabs[i], SLAB * sizeof **s->slabs);
    }
    if (peet_sim_linemap_each(&s->records, copy_record, to)) {
        peet_sim_surface_free(to);
        return NULL;
    }
    return to;
}
