/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Premature evictions: a line that was driven out of a cache and is missed on again before so many further lines have
 * been.  Each cache remembers its latest evictions in a hash table.  Called by memory.c.
 */
#include "dtrack.h"

#include <stdlib.h>
#include <string.h>
#include <uthash.h>

/** An eviction; it counts as long as `when` is not longer ago than the window. */
struct entry { uint64_t line; /* | 1; 0: never used */ uint32_t when, evictor; };

/** The latest evictions of one cache: open addressing, never full; what is old is left behind when it is made anew. */
struct ring {
    struct entry *entries, *spare; /* both of this size */
    uint32_t size, used, evictions, window; /* size: a power of two */
    uint32_t line_shift;
};

struct key { uint32_t level, victim, evictor; };
struct pair { struct key key; uint64_t count; UT_hash_handle hh; };

struct dtrack_evict {
    struct ring *rings[DTRACK_LEVELS];
    uint32_t nrings[DTRACK_LEVELS];
    struct pair *pairs, *latest;
};

struct dtrack_evict *dtrack__evict_new(struct dtrack *self)
{
    struct dtrack_evict *e = calloc(1, sizeof *e);

    for (uint32_t l = 0; e && l < self->nlevels; l++) {
        uint32_t by = self->levels[l].shared_by ? self->levels[l].shared_by : 1;

        e->nrings[l] = (self->env->hw_contexts + by - 1) / by;
        e->rings[l] = calloc(e->nrings[l], sizeof *e->rings[l]);
        if (!e->rings[l]) {
            dtrack__evict_free(e);
            e = NULL;
        }
    }
    if (!e)
        dtrack__no_memory(self);
    return e;
}

void dtrack__evict_free(struct dtrack_evict *e)
{
    struct pair *p, *next;

    if (!e)
        return;
    for (unsigned l = 0; l < DTRACK_LEVELS; l++) {
        for (uint32_t i = 0; e->rings[l] && i < e->nrings[l]; i++) {
            free(e->rings[l][i].entries);
            free(e->rings[l][i].spare);
        }
        free(e->rings[l]);
    }
    HASH_ITER(hh, e->pairs, p, next) {
        HASH_DEL(e->pairs, p);
        free(p);
    }
    free(e);
}

static struct ring *ring_of(struct dtrack *self, unsigned level, unsigned hw)
{
    const uint32_t by = self->levels[level].shared_by;
    const uint32_t cache = by <= 1 ? hw : hw / by; /* mostly one, and divisions are slow */

    return cache < self->evict->nrings[level] ? &self->evict->rings[level][cache] : NULL;
}

static int is_old(const struct ring *r, const struct entry *e)
{
    return r->evictions - e->when > r->window;
}

/** Neighbouring lines are neighbours here: misses mostly go along. */
static uint32_t place_of(const struct ring *r, uint64_t line)
{
    const uint64_t n = line >> r->line_shift, group = n >> 3;

    return (uint32_t)((group ^ group >> 17) * 0x9e3779b97f4a7c15u >> 32 << 3 | (n & 7)) & (r->size - 1);
}

/** Returns: the line's entry, or the free one where it would be */
static struct entry *entry_of(const struct ring *r, uint64_t line)
{
    uint32_t i = place_of(r, line);

    while (r->entries[i].line && r->entries[i].line != (line | 1))
        i = (i + 1) & (r->size - 1);
    return &r->entries[i];
}

/** A table of its own for those that are not old.  Times begin anew, so that they never wrap round. */
static __attribute__((noinline)) int renew(struct dtrack *self, struct ring *r, unsigned level)
{
    const struct peet_memory_level *l = &self->levels[level];
    struct ring old = *r;

    if (!r->window) {
        uint64_t n = self->window_evictions ? self->window_evictions : l->line_bytes ? l->size_bytes / l->line_bytes : 1;

        r->line_shift = l->line_bytes ? (uint32_t)__builtin_ctz(l->line_bytes) : 0;
        r->window = n < 1 ? 1 : n > 1u << 26 ? 1u << 26 : (uint32_t)n;
        for (r->size = 64; r->size < 8 * r->window && r->size < 1u << 13;)
            r->size *= 2;
    }
    r->used = 0;
    for (uint32_t i = 0; old.entries && i < old.size; i++)
        r->used += old.entries[i].line && !is_old(&old, &old.entries[i]);
    while (r->used * 4 > r->size)
        r->size *= 2;
    r->entries = old.spare;
    if (r->size != old.size || !r->entries) {
        free(old.spare);
        r->entries = malloc(r->size * sizeof *r->entries);
        old.spare = NULL;
    }
    if (!r->entries) {
        *r = old;
        dtrack__no_memory(self);
        return -1;
    }
    memset(r->entries, 0, r->size * sizeof *r->entries);
    r->spare = old.entries;
    r->evictions = r->window + 1;
    for (uint32_t i = 0; old.entries && i < old.size; i++) {
        const struct entry *e = &old.entries[i];

        if (e->line && !is_old(&old, e))
            *entry_of(r, e->line & ~1ull) = (struct entry){ e->line, r->evictions - (old.evictions - e->when), e->evictor };
    }
    if (r->size != old.size) {
        free(r->spare);
        r->spare = NULL;
    }
    return 0;
}

void dtrack__back_again(struct dtrack *self, unsigned level, unsigned hw, uint64_t line)
{
    struct ring *r = ring_of(self, level, hw);

    if (r && r->entries) {
        struct entry *e = entry_of(r, line);

        e->when = r->evictions - r->window - 1; /* old, or still free */
    }
}

void dtrack__evicted(struct dtrack *self, unsigned level, unsigned hw, uint64_t line, uint32_t evictor)
{
    struct ring *r = ring_of(self, level, hw);
    struct entry *e, *free_one = NULL;
    uint32_t i;

    if (!r || ((r->used * 2 >= r->size || r->evictions > 1u << 31) && renew(self, r, level)))
        return;
    for (i = place_of(r, line); r->entries[i].line && r->entries[i].line != (line | 1); i = (i + 1) & (r->size - 1))
        if (!free_one && is_old(r, &r->entries[i]))
            free_one = &r->entries[i];
    e = r->entries[i].line || !free_one ? &r->entries[i] : free_one;
    r->used += !e->line;
    *e = (struct entry){ line | 1, r->evictions++, evictor };
}

static void count(struct dtrack *self, const struct key *key)
{
    struct dtrack_evict *e = self->evict;

    if (!e->latest || memcmp(&e->latest->key, key, sizeof *key)) {
        HASH_FIND(hh, e->pairs, key, sizeof *key, e->latest);
        if (!e->latest) {
            e->latest = calloc(1, sizeof *e->latest);
            if (!e->latest) {
                dtrack__no_memory(self);
                return;
            }
            e->latest->key = *key;
            HASH_ADD(hh, e->pairs, key, sizeof *key, e->latest);
        }
    }
    e->latest->count++;
}

int dtrack__came_back(struct dtrack *self, unsigned level, unsigned hw, uint64_t line, uint32_t victim, uint32_t *out_evictor)
{
    struct ring *r = ring_of(self, level, hw);
    struct entry *e = r && r->entries ? entry_of(r, line) : NULL;

    if (!e || !e->line || is_old(r, e))
        return 0;
    *out_evictor = e->evictor;
    e->when = r->evictions - r->window - 1; /* no longer */
    count(self, &(struct key){ level, victim, *out_evictor });
    return 1;
}

static int by_count(const void *a, const void *b)
{
    const struct dtrack_pair *x = a, *y = b;

    if (x->level != y->level)
        return x->level < y->level ? -1 : 1;
    if (x->count != y->count)
        return x->count > y->count ? -1 : 1;
    if (x->victim != y->victim)
        return x->victim < y->victim ? -1 : 1;
    return x->evictor < y->evictor ? -1 : x->evictor > y->evictor;
}

size_t dtrack__pairs(const struct dtrack_evict *e, struct dtrack_pair **out_pairs)
{
    size_t n = 0;

    *out_pairs = e && e->pairs ? malloc(HASH_COUNT(e->pairs) * sizeof **out_pairs) : NULL;
    if (!*out_pairs)
        return 0;
    for (const struct pair *p = e->pairs; p; p = p->hh.next)
        (*out_pairs)[n++] = (struct dtrack_pair){ p->key.level, p->key.victim, p->key.evictor, p->count };
    qsort(*out_pairs, n, sizeof **out_pairs, by_count);
    return n;
}
