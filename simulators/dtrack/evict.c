/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Premature evictions: a line that was driven out of a cache and is missed on again before so many further lines have
 * been.  Each cache remembers its latest evictions in a ring, found by line through short chains.  Called by memory.c.
 */
#include "dtrack.h"

#include <stdlib.h>
#include <string.h>
#include <uthash.h>

enum { NONE = 0xffffffff };

struct slot { uint64_t line; uint32_t evictor, next; uint8_t used; };

/** The latest evictions of one cache. */
struct ring {
    struct slot *slots;
    uint32_t *heads;
    uint64_t evictions;
    uint32_t size, mask;
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
            free(e->rings[l][i].slots);
            free(e->rings[l][i].heads);
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
    uint32_t by = self->levels[level].shared_by ? self->levels[level].shared_by : 1;

    return hw / by < self->evict->nrings[level] ? &self->evict->rings[level][hw / by] : NULL;
}

static int make(struct dtrack *self, struct ring *r, unsigned level)
{
    const struct peet_memory_level *l = &self->levels[level];
    uint64_t n = self->window_evictions ? self->window_evictions : l->line_bytes ? l->size_bytes / l->line_bytes : 1;

    r->size = n < 1 ? 1 : n > 1u << 26 ? 1u << 26 : (uint32_t)n;
    r->mask = 1;
    while (r->mask < r->size)
        r->mask *= 2;
    r->slots = calloc(r->size, sizeof *r->slots);
    r->heads = malloc(r->mask * sizeof *r->heads);
    if (!r->slots || !r->heads) {
        dtrack__no_memory(self);
        return -1;
    }
    memset(r->heads, 0xff, r->mask * sizeof *r->heads);
    r->mask--;
    return 0;
}

static uint32_t *head_of(struct ring *r, uint64_t line)
{
    return &r->heads[(line ^ line >> 17) * 0x9e3779b97f4a7c15u >> 32 & r->mask];
}

/** Out of its chain. */
static void take_out(struct ring *r, uint32_t i)
{
    uint32_t *at = head_of(r, r->slots[i].line);

    while (*at != NONE && *at != i)
        at = &r->slots[*at].next;
    if (*at == i)
        *at = r->slots[i].next;
    r->slots[i].used = 0;
}

/** Returns: the latest eviction of the line, or NONE */
static uint32_t find(struct ring *r, uint64_t line)
{
    uint32_t i = NONE;

    if (r && r->slots)
        for (i = *head_of(r, line); i != NONE && r->slots[i].line != line; i = r->slots[i].next)
            ;
    return i;
}

void dtrack__back_again(struct dtrack *self, unsigned level, unsigned hw, uint64_t line)
{
    struct ring *r = ring_of(self, level, hw);
    uint32_t i = find(r, line);

    if (i != NONE)
        take_out(r, i);
}

void dtrack__evicted(struct dtrack *self, unsigned level, unsigned hw, uint64_t line, uint32_t evictor)
{
    struct ring *r = ring_of(self, level, hw);
    uint32_t i, *head;

    if (!r || (!r->slots && make(self, r, level)))
        return;
    dtrack__back_again(self, level, hw, line); /* unnoticed: the new eviction is the one that counts */
    i = (uint32_t)(r->evictions++ % r->size);
    if (r->slots[i].used)
        take_out(r, i);
    head = head_of(r, line);
    r->slots[i] = (struct slot){ line, evictor, *head, 1 };
    *head = i;
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
    uint32_t i = find(r, line);

    if (i == NONE)
        return 0;
    *out_evictor = r->slots[i].evictor;
    take_out(r, i);
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
