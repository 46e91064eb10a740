/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What kind of miss it was.
 *
 *   cold      the cache never referenced the line before
 *   sharing   the line was in the cache and another's write took it away; *true* if a sector that the missing
 *             reference touches was written by others since, else *false* (Torrellas, Lam, Hennessy, "False Sharing and
 *             Spatial Locality in Multiprocessor Caches", IEEE ToC 43(6), 1994; cf. Dubois et al., "The Detection and
 *             Elimination of Useless Misses in Multiprocessors", ISCA 1993)
 *   conflict  replaced, but a fully associative LRU cache of the same size would have it (Hill and Smith, "Evaluating
 *             Associativity in CPU Caches", IEEE ToC 38(12), 1989)
 *   capacity  replaced, and that cache would not have it either
 *
 * That other cache, the *shadow*, sees every reference of its processor and no invalidations.  It must cost hits
 * nothing but their time stamp.  stackdist.h says how, if every miss brings its line in.  Else a line that is both in a
 * frame and in the shadow keeps its stamp in the frame, and the oldest line is found with the help of oldest.h.
 *
 * A writer that owns its line writes without the bus.  What it wrote is collected in its frame and told to the line's
 * loss records at the next transaction on the line, before anybody can ask.  Where nobody has lost the line, nobody
 * will ever ask what was written until then: such writes are hits like any other.
 */
#include "bus.h"
#include <stdlib.h>

int peet__bus_classify_init(struct bus *b)
{
    for (unsigned i = 0; b->recent && i < b->ncaches; i++) {
        struct cache *c = &b->caches[i];
        c->words = b->uniprocessor ? &b->lines_map : malloc(sizeof *c->words);
        if (!c->words)
            return -1;
        if (!b->uniprocessor)
            peet_sim_linemap_init(c->words, sizeof(uint32_t));
        if (peet__bus_stackdist_init(b, c))
            return -1;
    }
    if (b->uniprocessor)
        return 0;
    b->written = calloc((size_t)b->ncaches * b->lines, sizeof *b->written);
    if (b->recent)
        return b->written ? 0 : -1;
    b->shadows = calloc((size_t)b->ncaches * (b->lines + 1), sizeof *b->shadows);
    for (unsigned i = 0; b->shadows && i < b->ncaches; i++) {
        struct cache *c = &b->caches[i];
        c->shadow = b->shadows + (size_t)i * (b->lines + 1);
        for (uint32_t j = 0; j <= b->lines; j++)
            c->shadow[j] = (struct shadow_node){.line = UINT64_MAX, .where = b->lines};
        if (peet_sim_oldest_init(&c->shadow_oldest, b->lines))
            return -1;
    }
    return b->shadows && b->written ? 0 : -1;
}

void peet__bus_classify_fini(struct bus *b)
{
    for (unsigned i = 0; b->caches && i < b->ncaches; i++) {
        peet_sim_oldest_fini(&b->caches[i].shadow_oldest);
        peet__bus_stackdist_fini(&b->caches[i]);
        if (b->caches[i].words && b->caches[i].words != &b->lines_map) {
            peet_sim_linemap_fini(b->caches[i].words);
            free(b->caches[i].words);
        }
    }
    free(b->shadows);
    free(b->written);
    free(b->invalidations);
}

/* ------------------------------------------------------------------------------------------ invalidations */

int peet__bus_classify_reserve(struct bus *b)
{
    if (b->invalidations_used + b->ncaches <= b->invalidations_size)
        return 0;
    uint64_t size = 2 * (uint64_t)b->invalidations_size + b->ncaches + 1024;
    struct invalidation *invalidations =
        size < UINT32_MAX ? realloc(b->invalidations, size * sizeof *invalidations) : NULL;
    if (!invalidations)
        return -1;
    b->invalidations = invalidations;
    b->invalidations_size = (uint32_t)size;
    return 0;
}

void peet__bus_classify_wrote(struct bus *b, struct line_record *record, uint32_t cache, uint64_t sectors)
{
    for (uint32_t i = record->invalidations; i; i = b->invalidations[i - 1].next)
        if (b->invalidations[i - 1].cache != cache)
            b->invalidations[i - 1].written |= sectors;
}

void peet__bus_classify_settle(struct bus *b, struct line_record *record)
{
    if (!record->invalidations) /* nobody wants to know; peet__bus_classify_lost() forgets it */
        return;
    for (struct frame *f = peet__bus_copies(b, record); f; f = peet__bus_next_copy(b, f)) {
        const uint64_t written = b->written[f - b->frames];
        if (written)
            peet__bus_classify_wrote(b, record, f->cache, written);
        peet__bus_unwrite(b, (uint32_t)(f - b->frames));
    }
}

void peet__bus_classify_lost(struct bus *b, struct line_record *record, uint32_t cache)
{
    uint32_t i = b->invalidations_free;
    for (struct frame *f = record->invalidations ? NULL : peet__bus_copies(b, record); f; f = peet__bus_next_copy(b, f))
        peet__bus_unwrite(b, (uint32_t)(f - b->frames));
    if (i)
        b->invalidations_free = b->invalidations[i - 1].next;
    else
        i = ++b->invalidations_used; /* reserved */
    b->invalidations[i - 1] = (struct invalidation){0, cache, record->invalidations};
    record->invalidations = i;
}

/* Returns: whether this cache had lost the line; the record is used up. */
static int take_invalidation(struct bus *b, struct line_record *record, uint32_t cache, uint64_t *out_written)
{
    for (uint32_t *link = &record->invalidations; *link; link = &b->invalidations[*link - 1].next) {
        uint32_t i = *link;
        struct invalidation *l = &b->invalidations[i - 1];
        if (l->cache != cache)
            continue;
        *out_written = l->written;
        *link = l->next;
        l->next = b->invalidations_free;
        b->invalidations_free = i;
        return 1;
    }
    return 0;
}

/* ------------------------------------------------------------------------------------------ shadow */

static struct shadow_node *shadow_find(struct bus *b, struct cache *c, struct line_record *record)
{
    const uint32_t base = (uint32_t)(c->shadow - b->shadows);
    for (uint32_t i = record->shadows; i; i = b->shadows[i].next)
        if (i - base <= b->lines)
            return &b->shadows[i];
    return NULL;
}

static uint64_t shadow_used(const void *owner, uint32_t slot)
{
    const struct cache *c = owner;
    return c->used[c->shadow[slot + 1].where];
}

/* The oldest lines come up one after the other, but lie anywhere in memory: have the next ones ready. */
static void shadow_prefetch(struct bus *b, struct cache *c)
{
    const struct peet_sim_oldest *q = &c->shadow_oldest;
    if (q->next + 4 >= q->n)
        return;
    const struct shadow_node *soon = &c->shadow[q->order[q->next + 1] + 1];
    __builtin_prefetch(&c->shadow[q->order[q->next + 4] + 1], 1);
    __builtin_prefetch(&c->used[soon->where], 1);
    peet_sim_linemap_prefetch(&b->lines_map, soon->line);
}

/* A place in the shadow for a new line: a free one, or that of the line used longest ago.  Returns: its index in
 * c->shadow */
static uint32_t shadow_place(struct bus *b, struct cache *c)
{
    if (c->shadow_used < b->lines)
        return ++c->shadow_used;
    const uint32_t slot = peet_sim_oldest_take(&c->shadow_oldest, &b->scratch, shadow_used, c, c->stamp - 1);
    shadow_prefetch(b, c);
    return slot + 1;
}

/* The same, and the line that it held forgets it. */
static struct shadow_node *shadow_fresh(struct bus *b, struct cache *c)
{
    const int fresh = c->shadow_used < b->lines;
    struct shadow_node *n = &c->shadow[shadow_place(b, c)];
    if (fresh)
        return n;
    struct line_record *record = peet_sim_linemap_get(&b->lines_map, n->line); /* there: it was referenced */
    uint32_t self = (uint32_t)(n - b->shadows), *link = &record->shadows;
    while (*link != self)
        link = &b->shadows[*link].next;
    *link = n->next;
    if (n->where < b->lines) {
        struct frame *f = &c->frames[n->where];
        f->place = 0;
        peet__bus_set(b, f, n->line, f->state);
    }
    return n;
}

void peet__bus_shadow_use(struct bus *b, struct cache *c, uint64_t line, struct line_record *record, struct frame *f,
    int insert)
{
    struct shadow_node *n = shadow_find(b, c, record);
    if (!n) {
        if (!insert)
            return;
        n = shadow_fresh(b, c);
        n->line = line;
        n->next = record->shadows;
        record->shadows = (uint32_t)(n - b->shadows);
    }
    if (f) {
        n->where = (uint32_t)(f - c->frames);
        f->place = (uint32_t)(n - c->shadow);
        peet__bus_set(b, f, line, f->state);
    } else {
        n->where = b->lines + (uint32_t)(n - c->shadow);
        c->used[n->where] = c->stamp;
    }
}

void peet__bus_shadow_leave(struct bus *b, struct cache *c, struct frame *f)
{
    c->shadow[f->place].where = b->lines + f->place; /* place 0 stands for none */
    c->used[b->lines + f->place] = c->used[f - c->frames];
}

/* ------------------------------------------------------------------------------------------- kinds */

/* The same, by a record for each line and cache. */
static enum bus_miss kind_touched(struct bus *b, struct cache *c, struct line_record *record)
{
    uint32_t *touched = &record->touched[c->number / 32], bit = 1u << c->number % 32;
    const enum bus_miss kind = !(*touched & bit) ? MISS_COLD
        : shadow_find(b, c, record)              ? MISS_CONFLICT
                                                 : MISS_CAPACITY;
    *touched |= bit;
    return kind;
}

void peet__bus_classify_miss(struct bus *b, struct cache *c, struct line_record *record, const uint32_t *word,
    uint64_t sectors)
{
    uint64_t written = 0;
    enum bus_miss kind;
    peet__bus_classify_settle(b, record);
    if (!word) {
        kind = kind_touched(b, c, record);
    } else {
        if (c->stamp >= c->stackdist.until)
            peet__bus_stackdist_rebase(b, c, c->stamp - 1);
        kind = peet__bus_kind_uniprocessor(b, c, *word, c->stamp - 1);
    }
    if (kind != MISS_COLD && record->invalidations && take_invalidation(b, record, c->number, &written))
        kind = written & sectors ? MISS_TRUE_SHARING : MISS_FALSE_SHARING;
    c->stats.kinds[kind]++;
}
