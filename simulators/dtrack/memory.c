/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the machine reports of its memory system, booked to the structures: misses, evictions, invalidations, stalls.
 */
#include "dtrack.h"

/** Is it about an instruction cache that stands beside the level's own? */
static int elsewhere(const struct dtrack *self, const struct peet_memory_event *e, unsigned level)
{
    return self->split[level] && e->flags & PEET_MEMORY_INSTRUCTION;
}

/** Whose reference is it? */
static uint32_t owner(struct dtrack *self, const struct peet_memory_event *e, uint64_t address)
{
    if (e->flags & PEET_MEMORY_INSTRUCTION)
        return DTRACK_CODE;
    if (e->flags & PEET_MEMORY_WALK)
        return DTRACK_WALKS;
    /* mostly asked for several times in a row */
    if (address != self->known_address || self->epoch != self->known_epoch) {
        self->known_data = dtrack__find(self, address)->data;
        self->known_address = address;
        self->known_epoch = self->epoch;
    }
    return self->known_data;
}

static inline void count_miss(struct dtrack *self, const struct peet_memory_event *e, unsigned level, uint32_t data,
    struct dtrack_level *l, struct dtrack_gone line)
{
    uint32_t evictor;

    if (e->flags & PEET_MEMORY_STORE)
        l->write_misses++;
    else
        l->read_misses++;
    if (dtrack__came_back(self, level, line, data, &evictor)) {
        if (evictor == data)
            l->premature_same++;
        else
            l->premature_other++;
    }
}

static inline void count_stall(struct dtrack_tally *t, uint64_t cycles, unsigned served)
{
    t->stalls++;
    t->stall_cycles += cycles;
    t->stall_served_cycles[served < DTRACK_SERVED ? served : DTRACK_SERVED - 1] += cycles;
}

/** The line that a report is about; none if its cache is not among those. */
static struct dtrack_gone line_of(struct dtrack *self, const struct peet_memory_event *e, unsigned level)
{
    return elsewhere(self, e, level) ? (struct dtrack_gone){0}
                                     : dtrack__gone(self, dtrack__cache(self, level, e->hw), e->address);
}

static void missed(struct dtrack *self, const struct peet_memory_event *e, unsigned level)
{
    const uint32_t data = owner(self, e, e->address);
    struct dtrack_level *l = &dtrack__tally(self, data)->levels[level];

    if (e->flags & PEET_MEMORY_PREFETCH) { /* it may bring back what was evicted, but nobody has missed it */
        l->prefetches++;
        dtrack__back_again(dtrack__gone(self, dtrack__cache(self, level, e->hw), e->address));
        return;
    }
    l->miss_cycles += e->cycles;
    l->causes[e->cause < PEET_MISS_CAUSES ? e->cause : PEET_MISS_UNKNOWN]++;
    if (e->cause == PEET_MISS_UPGRADE)
        l->upgrades++;
    else
        count_miss(self, e, level, data, l, line_of(self, e, level));
    if (self->sharing && level == 0 && !(e->flags & (PEET_MEMORY_INSTRUCTION | PEET_MEMORY_WALK)))
        dtrack__sharing_missed(self, e->hw, e->address, data);
}

static __attribute__((noinline)) void one(struct dtrack *self, const struct peet_memory_event *e)
{
    const unsigned level = e->level - 1u;
    uint32_t data;

    if (e->type == PEET_MEMORY_STALL) {
        count_stall(dtrack__tally(self, owner(self, e, e->address)), e->cycles, e->level);
        return;
    }
    if (level >= self->nlevels)
        return;
    switch (e->type) {
    case PEET_MEMORY_MISS:
        missed(self, e, level);
        break;
    case PEET_MEMORY_EVICT:
        data = owner(self, e, e->by);
        dtrack__tally(self, data)->levels[level].evictions++;
        dtrack__evicted(line_of(self, e, level), data);
        break;
    case PEET_MEMORY_INVALIDATE:
        data = owner(self, e, e->by);
        dtrack__tally(self, data)->levels[level].invalidations++;
        if (self->sharing && !(e->flags & PEET_MEMORY_INSTRUCTION))
            dtrack__sharing_invalidated(self, e->hw, e->other, e->address, e->by, data);
        break;
    default:
        break;
    }
}

/** What came and what went. */
struct fill {
    struct dtrack_gone in, out;
};

static inline int is_fill(const struct dtrack *self, const struct peet_memory_event *e)
{
    return e->type == PEET_MEMORY_FILL && e->level - 1u < self->nlevels;
}

/** The records of both lines are on their way. */
static inline void look_up(struct dtrack *self, const struct peet_memory_event *e, struct dtrack_cache *cache,
    struct fill *out)
{
    out->in = dtrack__gone(self, cache, e->address);
    __builtin_prefetch(out->in.word, 1);
    if (e->flags & PEET_MEMORY_FILL_GONE) {
        out->out = dtrack__gone(self, cache, e->by);
        __builtin_prefetch(out->out.word, 1);
    }
}

static inline void filled(struct dtrack *self, const struct peet_memory_event *e, const struct fill *f)
{
    const unsigned level = e->level - 1u;
    const uint32_t data = dtrack__find(self, e->address)->data;
    struct dtrack_tally *t = dtrack__tally(self, data);
    struct dtrack_level *l = &t->levels[level];

    l->miss_cycles += e->cycles;
    l->causes[e->cause < PEET_MISS_CAUSES ? e->cause : PEET_MISS_UNKNOWN]++;
    if (e->flags & PEET_MEMORY_FILL_GONE) {
        l->evictions++;
        dtrack__evicted(f->out, data);
    }
    count_miss(self, e, level, data, l, f->in);
    if (e->cycles)
        count_stall(t, e->cycles, e->level + 1u);
    if (self->sharing && level == 0)
        dtrack__sharing_missed(self, e->hw, e->address, data);
}

void dtrack__memory(struct dtrack *self, const struct peet_memory_event *events, size_t n)
{
    enum { TOGETHER = 32 };
    struct fill fills[TOGETHER];
    struct dtrack_cache *cache = NULL;
    uint32_t hw = 0, level = 0; /* whose it is */

    for (size_t some; n && !self->failed; events += some, n -= some) {
        some = n < TOGETHER ? n : TOGETHER;
        for (size_t i = 0; i < some; i++) {
            if (!is_fill(self, &events[i]))
                continue;
            if (events[i].level != level || events[i].hw != hw) {
                level = events[i].level;
                hw = events[i].hw;
                cache = dtrack__cache(self, level - 1, hw);
            }
            look_up(self, &events[i], cache, &fills[i]);
        }
        for (size_t i = 0; i < some && !self->failed; i++) {
            if (is_fill(self, &events[i]))
                filled(self, &events[i], &fills[i]);
            else
                one(self, &events[i]);
        }
    }
}
