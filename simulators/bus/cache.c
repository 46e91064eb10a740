/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The frames of the caches: finding a line, choosing a victim, and the list of each line's copies.  Knows nothing of
 * protocols and time.  Called by engine.c.
 */
#include "bus.h"
#include "../common/random.h"
#include <stdlib.h>

/* More ways than this are not searched one after the other: the line's list of copies is. */
enum { SEARCHED_WAYS = 16 };
/* Lines whose distance is 1 << n places of the predictor are at least 1 << FOLD_BITS places apart. */
enum { FOLD_BITS = 3 };

/* Tree PLRU: node i has children 2i and 2i+1, the root is 1, bit i says on which side the victim lies.  A use of a way
 * makes every node on its path point away from it; both masks are known in advance. */
static void plru_init(struct bus *b)
{
    for (uint32_t way = 0; way < b->ways; way++) {
        uint64_t path = 0, away = 0;
        for (uint32_t node = 1, half = b->ways / 2; half; half /= 2) {
            uint32_t side = way / half & 1;
            path |= 1ull << node;
            away |= (uint64_t)!side << node;
            node = 2 * node + side;
        }
        b->plru_keep[way] = ~path;
        b->plru_set[way] = away;
    }
}

static uint32_t plru_victim(const struct bus *b, uint64_t tree)
{
    uint32_t node = 1;
    while (node < b->ways)
        node = 2 * node + (tree >> node & 1);
    return node - b->ways;
}

static int cache_init(struct bus *b, struct cache *c)
{
    for (uint32_t i = 0; i < b->lines; i++)
        c->frames[i].cache = (uint16_t)c->number;
    if (b->replacement == REPLACE_PLRU && !(c->plru = calloc(b->sets, sizeof *c->plru)))
        return -1;
    if (b->replacement == REPLACE_FIFO && !(c->filled = calloc(b->lines, sizeof *c->filled)))
        return -1;
    if (!(c->predictor = calloc(b->predictor_mask + 1, sizeof *c->predictor)))
        return -1;
    if (!b->wide)
        return 0;
    if (!(c->free = calloc(b->sets, sizeof *c->free)))
        return -1;
    for (uint32_t i = b->lines; i-- > 0;) { /* the lowest first */
        c->frames[i].next = c->free[i / b->ways];
        c->free[i / b->ways] = i + 1;
    }
    if (b->replacement == REPLACE_RANDOM)
        return 0;
    if (!(c->oldest = calloc(b->sets, sizeof *c->oldest)))
        return -1;
    for (uint32_t set = 0; set < b->sets; set++)
        if (peet_sim_oldest_init(&c->oldest[set], b->ways))
            return -1;
    return 0;
}

int peet__bus_caches_init(struct bus *b)
{
    b->wide = b->ways > SEARCHED_WAYS && b->replacement != REPLACE_PLRU;
    /* what is in the shadow says a stamp only if every reference brings its line in (stackdist.h) */
    b->uniprocessor = b->ncaches == 1 && !b->wide && !b->check &&
        !(b->classify && b->protocol->processor[BUS_INVALID][1].op == OP_WRITE);
    b->recent = b->classify && b->protocol->processor[BUS_INVALID][1].op != OP_WRITE;
    peet_sim_linemap_init(&b->lines_map,
        b->uniprocessor
            ? sizeof(uint32_t)
            : sizeof(struct line_record) + (b->classify && !b->recent ? (b->ncaches + 31) / 32 * sizeof(uint32_t) : 0));
    if (b->replacement == REPLACE_PLRU)
        plru_init(b);
    b->caches = calloc(b->ncaches, sizeof *b->caches);
    for (b->predictor_mask = 255; b->predictor_mask < 8 * b->lines && b->predictor_mask < 0xffff;
        b->predictor_mask = 2 * b->predictor_mask + 1)
        ;
    const uint32_t bits = (uint32_t)__builtin_popcount(b->predictor_mask); /* 16 at most */
    b->hint_shift = 32 - bits;
    b->hint_factor = (1u << b->hint_shift) + (b->nhw > 1 ? 1u << (b->hint_shift - bits + FOLD_BITS) : 0);
    /* aligned, so that a set lies in as few lines of the host's cache as it can */
    const size_t lines = (size_t)b->ncaches * b->lines + 8,
                 stamps = b->classify && !b->recent ? (2 * (size_t)b->lines + 8) / 8 * 8 : b->lines;
    void *raw = calloc(1, lines * (sizeof *b->keys + sizeof *b->frames) + b->ncaches * stamps * sizeof(uint64_t) + 64);
    b->frames_raw = raw;
    b->records = b->uniprocessor ? NULL : calloc(lines, sizeof(struct line_record *));
    if (!b->caches || !raw || (!b->uniprocessor && !b->records) ||
        (!b->recent && peet_sim_oldest_scratch_init(&b->scratch, b->lines)))
        return -1;
    b->keys = (uint64_t *)(((uintptr_t)raw + 63) & ~(uintptr_t)63);
    uint64_t *const used = b->keys + lines;
    b->frames = (struct frame *)(used + b->ncaches * stamps);
    for (unsigned i = 0; i < b->ncaches; i++) {
        struct cache *c = &b->caches[i];
        c->number = i;
        c->hw = i % b->nhw;
        c->kind = b->fetch == FETCH_OFF ? "data"
            : b->fetch == FETCH_UNIFIED ? "unified"
            : i < b->nhw                ? "data"
                                        : "instruction";
        c->frames = b->frames + (size_t)i * b->lines;
        c->keys = b->keys + (size_t)i * b->lines;
        c->used = used + i * stamps;
        if (cache_init(b, c))
            return -1;
    }
    return 0;
}

void peet__bus_caches_fini(struct bus *b)
{
    for (unsigned i = 0; b->caches && i < b->ncaches; i++) {
        struct cache *c = &b->caches[i];
        for (uint32_t set = 0; c->oldest && set < b->sets; set++)
            peet_sim_oldest_fini(&c->oldest[set]);
        free(c->oldest);
        free(c->free);
        free(c->predictor);
        free(c->filled);
        free(c->plru);
    }
    peet_sim_oldest_scratch_fini(&b->scratch);
    free(b->caches);
    free(b->frames_raw);
    free(b->records);
}

struct frame *peet__bus_find(struct bus *b, struct cache *c, uint64_t line, const struct line_record *record)
{
    if (b->wide) {
        for (struct frame *f = peet__bus_copies(b, record); f; f = peet__bus_next_copy(b, f))
            if (peet__bus_cache_of(b, f) == c)
                return f;
        return NULL;
    }
    const uint64_t want = KEY_OF(line) | PERMISSION;
    const uint32_t predicted = c->predictor[peet__bus_hint(b, line)], first = peet__bus_set_of(b, line) * b->ways;
    uint32_t found = NO_FRAME;
    if ((c->keys[predicted] | PERMISSION) == want && c->frames[predicted].state != BUS_INVALID)
        return &c->frames[predicted];
    /* without surprises: mostly it is not there; the key of an invalid */
    for (uint32_t i = first, end = first + b->ways; i < end; i++)
        found =
            (c->keys[i] | PERMISSION) == want && c->used[i] ? i : found; /* frame is line 0's, but it was never used */
    return found == NO_FRAME ? NULL : &c->frames[found];
}

static uint64_t stamp_in(const void *stamps, uint32_t slot)
{
    return ((const uint64_t *)stamps)[slot];
}

static struct frame *victim_wide(struct bus *b, struct cache *c, uint32_t set)
{
    struct frame *frames = c->frames + (size_t)set * b->ways;
    if (c->free[set]) {
        struct frame *f = &c->frames[c->free[set] - 1];
        c->free[set] = f->next;
        f->next = 0;
        return f;
    }
    /* The present reference has a stamp already, but nothing carries it yet. */
    switch (b->replacement) {
    case REPLACE_RANDOM:
        return &frames[peet_sim_random_below(&b->random, b->ways)];
    case REPLACE_FIFO:
        return &frames[peet_sim_oldest_take(&c->oldest[set], &b->scratch, stamp_in, c->filled + (size_t)set * b->ways,
            c->stamp - 1)];
    default:
        return &frames[peet_sim_oldest_take(&c->oldest[set], &b->scratch, stamp_in, c->used + (size_t)set * b->ways,
            c->stamp - 1)];
    }
}

struct frame *peet__bus_victim(struct bus *b, struct cache *c, uint64_t line)
{
    uint32_t set = peet__bus_set_of(b, line), best = 0;
    if (b->wide)
        return victim_wide(b, c, set);
    struct frame *frames = c->frames + (size_t)set * b->ways;
    if (b->replacement == REPLACE_LRU)
        return &c->frames[peet__bus_oldest(b, c, line, &(uint64_t){0})];
    for (uint32_t way = 0; way < b->ways; way++)
        if (frames[way].state == BUS_INVALID)
            return &frames[way];
    switch (b->replacement) {
    case REPLACE_RANDOM:
        best = (uint32_t)peet_sim_random_below(&b->random, b->ways);
        break;
    case REPLACE_PLRU:
        best = plru_victim(b, c->plru[set]);
        break;
    case REPLACE_FIFO: {
        const uint64_t *filled = c->filled + (size_t)set * b->ways;
        for (uint32_t way = 1; way < b->ways; way++)
            best = filled[way] < filled[best] ? way : best;
        break;
    }
    case REPLACE_LRU:
        break;
    }
    return &frames[best];
}

void peet__bus_used(struct bus *b, struct cache *c, struct frame *f, int fill)
{
    uint32_t i = (uint32_t)(f - c->frames);
    c->used[i] = c->stamp;
    if (fill && c->filled)
        c->filled[i] = c->stamp;
    if (c->plru)
        peet__bus_plru_used(b, c, i);
}

void peet__bus_link(struct bus *b, struct line_record *record, struct frame *f)
{
    b->records[f - b->frames] = record;
    f->next = record->copies;
    record->copies = (uint32_t)(f - b->frames) + 1;
}

void peet__bus_drop(struct bus *b, struct cache *c, struct frame *f)
{
    const uint32_t self = (uint32_t)(f - b->frames), i = (uint32_t)(f - c->frames);
    peet__bus_unlink(b, b->records[self], f);
    *f = (struct frame){.cache = f->cache};
    if (b->written)
        peet__bus_unwrite(b, self);
    c->keys[i] = c->used[i] = 0;
    if (b->wide) {
        f->next = c->free[i / b->ways];
        c->free[i / b->ways] = i + 1;
    }
}
