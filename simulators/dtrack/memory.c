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
    if (address != self->known_address || self->epoch != self->known_epoch) { /* mostly asked for several times in a row */
        self->known_data = dtrack__find(self, address)->data;
        self->known_address = address;
        self->known_epoch = self->epoch;
    }
    return self->known_data;
}

static uint64_t line_of(const struct dtrack *self, unsigned level, uint64_t address)
{
    uint32_t bytes = self->levels[level].line_bytes;

    return bytes ? address & -(uint64_t)bytes : address;
}

static void missed(struct dtrack *self, const struct peet_memory_event *e, unsigned level)
{
    const uint32_t data = owner(self, e, e->address);
    struct dtrack_level *l = &dtrack__tally(self, data)->levels[level];
    uint32_t evictor;

    if (e->flags & PEET_MEMORY_PREFETCH) { /* it may bring back what was evicted, but nobody has missed it */
        l->prefetches++;
        dtrack__back_again(self, level, e->hw, line_of(self, level, e->address));
        return;
    }
    l->miss_cycles += e->cycles;
    l->causes[e->cause < PEET_MISS_CAUSES ? e->cause : PEET_MISS_UNKNOWN]++;
    if (e->cause == PEET_MISS_UPGRADE) {
        l->upgrades++;
    } else {
        if (e->flags & PEET_MEMORY_STORE)
            l->write_misses++;
        else
            l->read_misses++;
        if (!elsewhere(self, e, level) && dtrack__came_back(self, level, e->hw, line_of(self, level, e->address), data, &evictor)) {
            if (evictor == data)
                l->premature_same++;
            else
                l->premature_other++;
        }
    }
    if (self->sharing && level == 0 && !(e->flags & (PEET_MEMORY_INSTRUCTION | PEET_MEMORY_WALK)))
        dtrack__sharing_missed(self, e->hw, e->address, data);
}

static void left(struct dtrack *self, const struct peet_memory_event *e, unsigned level, uint64_t line, uint32_t by)
{
    dtrack__tally(self, by)->levels[level].evictions++;
    if (!elsewhere(self, e, level))
        dtrack__evicted(self, level, e->hw, line, by);
}

static void stalled(struct dtrack *self, const struct peet_memory_event *e, unsigned served)
{
    struct dtrack_tally *t = dtrack__tally(self, owner(self, e, e->address));

    t->stalls++;
    t->stall_cycles += e->cycles;
    t->stall_served_cycles[served < DTRACK_SERVED ? served : DTRACK_SERVED - 1] += e->cycles;
}

void dtrack__memory(struct dtrack *self, const struct peet_memory_event *events, size_t n)
{
    enum { AHEAD = 9 };
    const struct peet_memory_event *const end = events + n;

    for (const struct peet_memory_event *e = events; e != end && !self->failed; e++) {
        const unsigned level = e->level - 1u;
        uint32_t data;

        if (end - e > AHEAD)
            dtrack__evict_prefetch(self, e + AHEAD);
        if (e->type == PEET_MEMORY_STALL) {
            stalled(self, e, e->level);
            continue;
        }
        if (level >= self->nlevels)
            continue;
        switch (e->type) {
        case PEET_MEMORY_FILL:
            if (e->flags & PEET_MEMORY_FILL_GONE)
                left(self, e, level, e->by, owner(self, e, e->address));
            missed(self, e, level);
            if (e->cycles)
                stalled(self, e, e->level + 1u);
            break;
        case PEET_MEMORY_MISS:
            missed(self, e, level);
            break;
        case PEET_MEMORY_EVICT:
            left(self, e, level, e->address, owner(self, e, e->by));
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
}
