/* SPDX-License-Identifier: Apache-2.0 */
/* All caches of a surface at once.  See surface.h for how; surface_*.c are its parts. */
#include "surface_parts.h"

#include <stdlib.h>

/** The first reference to a record.  Returns: 0, or -1 without memory */
static __attribute__((noinline)) int new_record(struct peet_sim_surface *s, struct peet__sim_record *r)
{
    enum { MOST = 1 << (32 - PEET_SIM_HALVINGS) };

    if (s->nrecords + 1 >= s->room) {
        uint32_t room = s->room ? 2 * s->room : 256;
        struct peet__sim_record **more = room <= MOST ? realloc(s->records_of, room * sizeof *more) : NULL;

        if (!more)
            return -1;
        s->records_of = more;
        s->room = room;
    }
    s->blocks += !r->epoch;
    memset(r, 0, sizeof *r);
    s->records_of[++s->nrecords] = r;
    r->last[0] = s->nrecords;
    r->epoch = s->epoch;
    return 0;
}

/** Finds the records of a batch.  Returns: 0, or -1 without memory */
static INLINE int pass_records(struct peet_sim_surface *s, struct peet__sim_batch *b)
{
    struct peet__sim_record *r = NULL, *other = NULL; /* of the latest line of 512 bytes, and of the one before it */
    uint64_t line = 0, other_line = 0;

    for (uint32_t i = 0; i < b->n; i++) {
        const uint64_t address = s->addresses[i], next = address >> PEET_SIM_WIDEST_SHIFT;
        const unsigned leaf = address >> 2 & 127;

        if (!r || next != line) {
            struct peet__sim_record *found = other;

            if (!other || next != other_line) {
                found = peet_sim_linemap_get(&s->records, next);
                if (RARELY(!found) || (RARELY(found->epoch != s->epoch) && new_record(s, found)))
                    return -1;
            }
            other = r;
            other_line = line;
            r = found;
            line = next;
        }
        for (unsigned w = 6; w < WIDTHS; w++) /* a record has many cache lines */
            __builtin_prefetch(&r->last[node_of(w, leaf)], 1);
        b->record[i] = r;
        b->leaf[i] = (uint8_t)leaf;
        s->word_of[b->slot + i] = r->last[0] << PEET_SIM_HALVINGS | leaf;
    }
    return 0;
}

/** A batch goes through all passes.  Returns: 0, or -1 without memory */
static INLINE int pass_all(struct peet_sim_surface *s, struct peet__sim_batch *b,
    void (*far_begin)(struct peet_sim_surface *), void (*pass_near)(struct peet__sim_batch *),
    void (*pass_far)(struct peet_sim_surface *, struct peet__sim_batch *, const uint32_t *))
{
    const uint32_t group = b->slot / GROUP;
    uint32_t newest[WIDTHS];

    if (b->slot % GROUP == 0)
        far_begin(s);
    if (pass_records(s, b))
        return -1;
    for (unsigned w = 0; w < WIDTHS; w++) {
        b->live[0][w] = live_of(s, w)[group - 1];
        b->live[1][w] = live_of(s, w)[group];
        newest[w] = ones(b->live[0][w]) + ones(b->live[1][w]);
    }
    pass_near(b);
    for (unsigned w = 0; w < WIDTHS; w++) {
        live_of(s, w)[group - 1] = b->live[0][w];
        live_of(s, w)[group] = b->live[1][w];
    }
    pass_far(s, b, newest);
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
#endif

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
        peet__sim_slots_renumber(s);
    s->most = GROUP - s->next % GROUP;
    for (uint32_t i = 0; i < b->n; i++) {
        uint64_t finding;

        memcpy(&finding, b->finding[i], sizeof finding);
        finding |= (uint64_t)(s->strided >> i & 1) << (8 * PEET_SIM_STRIDED_WIDTH + 7);
        peet__sim_tally_note(s->tallies[i], finding);
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
static unsigned bucket_of(const struct peet_sim_surface *s, unsigned w, uint32_t slot)
{
    const unsigned zone = zone_of(s, w)[slot / GROUP];
    const struct peet__sim_mark *m = &s->marks[w][zone / 2];

    if (!zone)
        return bits(between(live_of(s, w), slot, s->next / GROUP + 1));
    if (zone % 2)
        return bits(between(live_of(s, w), slot, m->to) + m->lines + passed(s->came[w], zone / 2));
    return NEAREST + zone / 2;
}

void peet_sim_surface_where(struct peet_sim_surface *s, uint64_t address, unsigned last_width,
    uint8_t out[PEET_SIM_NODES])
{
    const struct peet__sim_record *r;
    int known;

    peet_sim_surface_flush(s);
    r = peet_sim_linemap_get(&s->records, address >> PEET_SIM_WIDEST_SHIFT);
    known = r && r->epoch == s->epoch;
    for (unsigned node = 1; node < 2u << last_width; node++) {
        const uint32_t last = known ? r->last[node] : NEVER;
        const unsigned width = 31 - (unsigned)__builtin_clz(node);

        out[node] = (uint8_t)(last == NEVER ? PEET_SIM_COLD
                : last == BEYOND            ? PEET_SIM_BEYOND
                                            : bucket_of(s, width, last));
    }
}

int peet_sim_surface_half(struct peet_sim_surface *s, uint64_t address, unsigned node)
{
    const struct peet__sim_record *r;

    peet_sim_surface_flush(s);
    r = peet_sim_linemap_get(&s->records, address >> PEET_SIM_WIDEST_SHIFT);
    if (!r || r->epoch != s->epoch || r->last[node] == NEVER)
        return -1;
    if (r->last[node] == BEYOND)
        return (int)(r->half[node / 32] >> node % 32 & 1);
    return r->last[2 * node + 1] == r->last[node];
}

/* ------------------------------------------------------------------------------------------------- surfaces */

void peet_sim_surface_forget(struct peet_sim_surface *s)
{
    peet_sim_surface_flush(s);
    peet__sim_slots_begin(s);
    s->nrecords = 0;
    s->begun = 0;
    s->epoch++;
}

void peet__sim_surface_plain(struct peet_sim_surface *s)
{
    s->take = take_plain;
}

struct peet_sim_surface *peet_sim_surface_new(void)
{
    struct peet_sim_surface *s = calloc(1, sizeof *s);

    if (!s)
        return NULL;
    peet_sim_linemap_init(&s->records, sizeof(struct peet__sim_record));
    s->live = calloc(WIDTHS * ROW, sizeof *s->live);
    s->zone = calloc(WIDTHS * ROW, sizeof *s->zone);
    s->word_of = malloc(PEET_SIM_SLOTS * sizeof *s->word_of);
    if (!s->live || !s->zone || !s->word_of) {
        peet_sim_surface_free(s);
        return NULL;
    }
    s->take = take_plain;
    s->epoch = 1;
#ifdef __x86_64__
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2"))
        s->take = take_v3;
#endif
    peet__sim_slots_begin(s);
    return s;
}

void peet_sim_surface_free(struct peet_sim_surface *s)
{
    if (!s)
        return;
    free(s->live);
    free(s->zone);
    free(s->word_of);
    peet_sim_linemap_fini(&s->records);
    free(s->records_of);
    free(s);
}

static int copy_record(void *arg, uint64_t line, void *record)
{
    struct peet_sim_surface *to = arg;
    const struct peet__sim_record *r = record;
    struct peet__sim_record *mine;

    if (r->epoch != to->epoch)
        return 0;
    mine = peet_sim_linemap_get(&to->records, line);
    if (!mine)
        return -1;
    *mine = *r;
    to->records_of[r->last[0]] = mine;
    return 0;
}

struct peet_sim_surface *peet_sim_surface_copy(const struct peet_sim_surface *s)
{
    const uint32_t groups = s->next / GROUP + 1;
    struct peet_sim_surface *to = peet_sim_surface_new(), mine;

    if (!to)
        return NULL;
    mine = *to;
    memcpy(to, s, offsetof(struct peet_sim_surface, records));
    to->live = mine.live;
    to->zone = mine.zone;
    for (unsigned w = 0; w < WIDTHS; w++) {
        memcpy(live_of(to, w), live_of(s, w), groups * sizeof *s->live);
        memcpy(zone_of(to, w), zone_of(s, w), groups);
    }
    to->word_of = memcpy(mine.word_of, s->word_of, s->next * sizeof *s->word_of);
    to->records_of = calloc(s->room + 1, sizeof *to->records_of);
    if (!to->records_of || peet_sim_linemap_each(&s->records, copy_record, to)) {
        peet_sim_surface_free(to);
        return NULL;
    }
    return to;
}
