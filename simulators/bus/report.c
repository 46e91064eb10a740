/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What observers hear of the caches (memory reports), and structures whose memory the user wants to be perfect.  Both
 * ask which reference it is that is under way, which nothing else needs to know: fast.c says it here if the bus is
 * `watched`, and then asks peet__bus_touch_watched() in place of the engine.  Hits are never watched.
 */
#include "bus.h"
#include <string.h>

void peet__bus_watch_init(struct bus *b)
{
    const struct peet_env *env = b->env;
    const struct peet_memory_level level = {b->fetch == FETCH_UNIFIED ? "L1" : "L1D", b->cache_bytes, b->line_bytes, 1};
    if (env->describe_memory)
        env->describe_memory(env, &level, 1);
    b->perfect = env->perfect && env->data_of;
    b->perfect_hits = b->perfect && b->hit_cycles > 1;
    b->watched = env->reports || b->perfect;
}

static void tell(struct bus *b, const struct peet_memory_event *event)
{
    if (b->env->reports >> event->type & 1)
        b->env->report(b->env, event, 1);
}

static enum peet_memory_flags flags_of(enum touch touch)
{
    return touch == TOUCH_WRITE ? PEET_MEMORY_STORE : touch == TOUCH_FETCH ? PEET_MEMORY_INSTRUCTION : 0;
}

int peet__bus_at_perfect(const struct bus *b)
{
    return (b->env->data_of(b->env, b->site.address, NULL)->flags & PEET_DATA_PERFECT) != 0;
}

void peet__bus_report_gone(struct bus *b, const struct cache *c, uint64_t line, const struct cache *by, int dirty, uint64_t now)
{
    tell(b, &(struct peet_memory_event){.type = c == by ? PEET_MEMORY_EVICT : PEET_MEMORY_INVALIDATE, .level = 1,
        .flags = (uint8_t)((dirty ? PEET_MEMORY_DIRTY : 0) | flags_of(b->site.touch)), .hw = c->hw,
        .other = c == by ? PEET_MEMORY_NOBODY : by->hw, .size_bytes = b->line_bytes, .address = line << b->line_shift,
        .by = b->site.address, .now = now, .block = b->site.block, .ref = b->site.ref});
}

static struct peet_memory_event stall_event(unsigned hw, const struct site *s, uint64_t cycles, uint64_t now)
{
    return (struct peet_memory_event){.type = PEET_MEMORY_STALL, .level = s->served, .flags = (uint8_t)flags_of(s->touch), .hw = hw,
        .other = PEET_MEMORY_NOBODY, .size_bytes = s->bytes, .address = s->address, .cycles = cycles, .now = now, .block = s->block,
        .ref = s->ref};
}

void peet__bus_report_lost(struct bus *b, unsigned hw, uint64_t cycles, uint64_t now)
{
    const struct peet_memory_event event = stall_event(hw, &b->hw[hw].latest, cycles, now);
    tell(b, &event);
}

/* What tells a miss, and its kind. */
struct seen { uint64_t upgrades, misses, kinds[MISS_KINDS]; };

static inline struct seen see(const struct bus *b, const struct cache_stats *s)
{
    struct seen seen = {.upgrades = s->upgrades, .misses = s->read_misses + s->write_misses + s->fetch_misses};
    if (b->classify)
        memcpy(seen.kinds, s->kinds, sizeof seen.kinds);
    return seen;
}

/* What the reference has added to its cache's misses, if anything.  Returns: enum peet_memory_cause; PEET_MISS_CAUSES: it hit */
static unsigned cause_of(const struct bus *b, const struct seen *before, const struct cache_stats *after)
{
    static const uint8_t causes[MISS_KINDS] = {[MISS_COLD] = PEET_MISS_COLD, [MISS_CAPACITY] = PEET_MISS_CAPACITY,
        [MISS_CONFLICT] = PEET_MISS_CONFLICT, [MISS_TRUE_SHARING] = PEET_MISS_TRUE_SHARING,
        [MISS_FALSE_SHARING] = PEET_MISS_FALSE_SHARING};
    if (after->upgrades != before->upgrades)
        return PEET_MISS_UPGRADE;
    if (after->read_misses + after->write_misses + after->fetch_misses == before->misses)
        return PEET_MISS_CAUSES;
    for (unsigned kind = 0; b->classify && kind < MISS_KINDS; kind++)
        if (after->kinds[kind] != before->kinds[kind])
            return causes[kind];
    return PEET_MISS_UNKNOWN;
}

uint64_t peet__bus_touch_watched(struct bus *b, struct cache *c, uint64_t line, uint64_t grains, unsigned bytes, enum touch touch,
    uint64_t time)
{
    const struct seen before = see(b, &c->stats);
    const uint64_t from_memory = b->memory_line_reads + b->memory_word_writes;
    struct site *s = &b->site;
    s->touch = (uint8_t)touch;
    b->supplier = PEET_MEMORY_NOBODY;
    b->at_once = b->perfect && touch != TOUCH_FETCH && peet__bus_at_perfect(b);
    const uint64_t stall = b->sole ? peet__bus_touch_sole(b, c, line, bytes, touch, time)
        : peet__bus_touch(b, c, line, grains, bytes, touch, time);
    b->at_once = 0;
    if (b->dead)
        return stall;
    const unsigned cause = cause_of(b, &before, &c->stats);
    s->served = b->supplier != PEET_MEMORY_NOBODY ? 1 : b->memory_line_reads + b->memory_word_writes != from_memory ? 2 : 0;
    struct peet_memory_event events[2]; /* in one call */
    size_t n = 0;
    if (cause != PEET_MISS_CAUSES && b->env->reports >> PEET_MEMORY_MISS & 1)
        events[n++] = (struct peet_memory_event){.type = PEET_MEMORY_MISS, .level = 1, .cause = (uint8_t)cause,
            .flags = (uint8_t)flags_of(touch), .hw = c->hw, .other = b->supplier, .size_bytes = s->bytes, .address = s->address,
            .cycles = stall, .now = time, .block = s->block, .ref = s->ref};
    if (stall) {
        b->hw[c->hw].latest = *s;
        if (b->env->reports >> PEET_MEMORY_STALL & 1)
            events[n++] = stall_event(c->hw, s, stall, time);
    }
    if (n)
        b->env->report(b->env, events, n);
    return stall;
}
