/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Premature evictions: a line that was driven out of a cache and is missed on again before so many further lines have
 * been.  Each cache has a word for each line that it ever lost: which eviction of the cache's it was, and who came in
 * its place.  Called by memory.c for each eviction and each miss, so that it must cost next to nothing.
 */
#include "dtrack.h"

#include <stdlib.h>
#include <string.h>
#include <uthash.h>

/** A word: number of the eviction, from 1, above the evictor; 0: not, or no longer. */
enum { EVICTOR_BITS = 24 };
#define EVICTOR_MASK ((1ull << EVICTOR_BITS) - 1)

/** One cache. */
struct dtrack_cache {
    struct peet_sim_linemap lines;
    uint64_t evictions, window;
    uint32_t line_shift;
};

struct key {
    uint32_t level, victim, evictor;
};
struct pair {
    struct key key;
    uint64_t count;
    UT_hash_handle hh;
};

struct dtrack_evict {
    struct dtrack_cache *caches[DTRACK_LEVELS];
    uint32_t ncaches[DTRACK_LEVELS];
    struct pair *pairs, *memo[1 << DTRACK_PAIR_BITS];
};

static void cache_init(const struct dtrack *self, struct dtrack_cache *r, const struct peet_memory_level *l)
{
    peet_sim_linemap_init(&r->lines, sizeof(uint64_t));
    r->line_shift = l->line_bytes ? (uint32_t)__builtin_ctz(l->line_bytes) : 0;
    r->window = self->window_evictions ? self->window_evictions : l->line_bytes ? l->size_bytes / l->line_bytes : 1;
}

struct dtrack_evict *dtrack__evict_new(struct dtrack *self)
{
    struct dtrack_evict *e = calloc(1, sizeof *e);

    for (uint32_t l = 0; e && l < self->nlevels; l++) {
        uint32_t by = self->levels[l].shared_by ? self->levels[l].shared_by : 1;

        e->ncaches[l] = (self->env->hw_contexts + by - 1) / by;
        e->caches[l] = calloc(e->ncaches[l], sizeof *e->caches[l]);
        if (!e->caches[l]) {
            dtrack__evict_free(e);
            e = NULL;
            break;
        }
        for (uint32_t i = 0; i < e->ncaches[l]; i++)
            cache_init(self, &e->caches[l][i], &self->levels[l]);
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
        for (uint32_t i = 0; e->caches[l] && i < e->ncaches[l]; i++)
            peet_sim_linemap_fini(&e->caches[l][i].lines);
        free(e->caches[l]);
    }
    HASH_ITER(hh, e->pairs, p, next)
    {
        HASH_DEL(e->pairs, p);
        free(p);
    }
    free(e);
}

struct dtrack_cache *dtrack__cache(struct dtrack *self, unsigned level, unsigned hw)
{
    const uint32_t by = self->levels[level].shared_by;
    const uint32_t cache = by <= 1 ? hw : hw / by; /* mostly one, and divisions are slow */

    return cache < self->evict->ncaches[level] ? &self->evict->caches[level][cache] : NULL;
}

struct dtrack_gone dtrack__gone(struct dtrack *self, struct dtrack_cache *c, uint64_t address)
{
    uint64_t *word = c ? peet_sim_linemap_long(&c->lines, address >> c->line_shift) : NULL;

    if (DTRACK_UNLIKELY(c && !word))
        dtrack__no_memory(self);
    return (struct dtrack_gone){c, word};
}

void dtrack__back_again(struct dtrack_gone line)
{
    if (line.word)
        *line.word = 0;
}

void dtrack__evicted(struct dtrack_gone line, uint32_t evictor)
{
    if (line.word)
        *line.word = ++line.cache->evictions << EVICTOR_BITS | (evictor & EVICTOR_MASK);
}

static __attribute__((noinline)) struct pair *pair_of(struct dtrack *self, const struct key *key)
{
    struct pair *pair;

    HASH_FIND(hh, self->evict->pairs, key, sizeof *key, pair);
    if (pair)
        return pair;
    pair = calloc(1, sizeof *pair);
    if (!pair) {
        dtrack__no_memory(self);
        return NULL;
    }
    pair->key = *key;
    HASH_ADD(hh, self->evict->pairs, key, sizeof *key, pair);
    return pair;
}

static void count(struct dtrack *self, const struct key *key)
{
    struct pair **memo =
        &self->evict->memo[(key->level ^ key->victim * 3 ^ key->evictor * 29) & ((1u << DTRACK_PAIR_BITS) - 1)];

    if (!*memo || (*memo)->key.victim != key->victim || (*memo)->key.evictor != key->evictor ||
        (*memo)->key.level != key->level)
        *memo = pair_of(self, key);
    if (*memo)
        (*memo)->count++;
}

int dtrack__came_back(struct dtrack *self, unsigned level, struct dtrack_gone line, uint32_t victim,
    uint32_t *out_evictor)
{
    const uint64_t was = line.word ? *line.word : 0;

    if (!was)
        return 0;
    *line.word = 0;
    if (line.cache->evictions - (was >> EVICTOR_BITS) >= line.cache->window)
        return 0;
    *out_evictor = (uint32_t)(was & EVICTOR_MASK);
    if (*out_evictor >= (DTRACK_WALKS & EVICTOR_MASK))
        *out_evictor |= ~(uint32_t)EVICTOR_MASK; /* no structure's id */
    count(self, &(struct key){level, victim, *out_evictor});
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
        (*out_pairs)[n++] = (struct dtrack_pair){p->key.level, p->key.victim, p->key.evictor, p->count};
    qsort(*out_pairs, n, sizeof **out_pairs, by_count);
    return n;
}
