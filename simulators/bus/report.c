/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What observers hear of the caches (memory reports), and structures whose memory the user wants to be perfect.  Both
 * ask which reference it is that is under way, which nothing else needs to know: fast.c says it here if the bus is
 * `watched`, and then asks peet__bus_touch_watched() in place of the engine; where miss.c would be asked, it is
 * peet__bus_go_watched().  Hits are never watched.  Reports are gathered, and go out before the machine's turn is over.
 */
#include "miss.h"
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

void peet__bus_report_now(struct bus *b)
{
    const uint32_t n = b->ntold;
    b->ntold = 0;
    b->env->report(b->env, b->told, n);
}

/* Where the next report is to be written, which is there then. */
static inline struct peet_memory_event *next_report(struct bus *b)
{
    if (__builtin_expect(b->ntold == BUS_TOLD, 0))
        peet__bus_report_now(b);
    return &b->told[b->ntold++];
}

static int wanted(const struct bus *b, enum peet_memory_type type)
{
    return b->env->reports >> type & 1;
}

static void tell(struct bus *b, const struct peet_memory_event *event)
{
    if (wanted(b, event->type))
        *next_report(b) = *event;
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

static const uint8_t causes[MISS_KINDS + 1] = {[MISS_COLD] = PEET_MISS_COLD, [MISS_CAPACITY] = PEET_MISS_CAPACITY,
    [MISS_CONFLICT] = PEET_MISS_CONFLICT, [MISS_TRUE_SHARING] = PEET_MISS_TRUE_SHARING,
    [MISS_FALSE_SHARING] = PEET_MISS_FALSE_SHARING, [MISS_KINDS] = PEET_MISS_UNKNOWN};

/* What the reference has added to its cache's misses, if anything.  Returns: enum peet_memory_cause; PEET_MISS_CAUSES: it hit */
static unsigned cause_of(const struct bus *b, const struct seen *before, const struct cache_stats *after)
{
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
    if (cause != PEET_MISS_CAUSES && wanted(b, PEET_MEMORY_MISS))
        *next_report(b) = (struct peet_memory_event){.type = PEET_MEMORY_MISS, .level = 1, .cause = (uint8_t)cause,
            .flags = (uint8_t)flags_of(touch), .hw = c->hw, .other = b->supplier, .size_bytes = s->bytes, .address = s->address,
            .cycles = stall, .now = time, .block = s->block, .ref = s->ref};
    if (stall) {
        b->hw[c->hw].latest = *s;
        if (wanted(b, PEET_MEMORY_STALL))
            *next_report(b) = stall_event(c->hw, s, stall, time);
    }
    return stall;
}

/* The line is there, but this is no plain hit, or its memory is perfect. */
static __attribute__((noinline)) uint32_t use_watched(struct bus *b, struct turn *t, uint64_t begin, uint64_t line, const struct group_way *w, uint64_t at)
{
    struct cache *const c = t->c;
    const uint64_t want = KEY_OF(line) | QUICK;
    const uint32_t first = peet__bus_set_of(b, line) * b->ways;
    uint32_t i;
    for (i = first; i < first + b->ways; i++)
        if ((c->keys[i] | w->either) == want) {
            c->hints[line & b->hint_mask] = i;
            return i;
        }
    b->site.block = t->block;
    peet__bus_at(b, w->first, begin + w->offset, w->bytes);
    c->stamp = t->stamp + w->first;
    t->stalled += peet__bus_touch_watched(b, c, line, 0, w->bytes, w->writes ? TOUCH_WRITE : TOUCH_READ, at);
    if (b->dead)
        return 0;
    i = c->hints[line & b->hint_mask];
    if (w->writes_later && !(c->keys[i] & QUICK_WRITE)) {
        c->stamp = t->stamp + w->first;
        peet__bus_touch_sole(b, c, line, w->bytes, TOUCH_WRITE, at); /* nothing that could be told of */
    }
    return i;
}

uint32_t peet__bus_go_watched(struct bus *b, struct turn *t, uint64_t begin, uint64_t line, const struct group_way *w)
{
    enum { OF_MEMORY = 2 };
    const uint64_t at = peet__bus_asked_at(t, w), address = begin + w->offset;
    const uint8_t flags = w->writes ? PEET_MEMORY_STORE : 0;
    struct looked l;
    if (b->perfect)
        return use_watched(b, t, begin, line, w, at);
    l = b->bring(b, line, w, at, t->stamp);
    if (__builtin_expect(!l.filled, 0))
        return use_watched(b, t, begin, line, w, at);
    if (l.state != BUS_INVALID && wanted(b, PEET_MEMORY_EVICT))
        *next_report(b) = (struct peet_memory_event){.type = PEET_MEMORY_EVICT, .level = 1,
            .flags = (uint8_t)(flags | (b->dirty[l.state] ? PEET_MEMORY_DIRTY : 0)), .other = PEET_MEMORY_NOBODY, .size_bytes = b->line_bytes,
            .address = l.gone << b->line_shift, .by = address, .now = at, .block = t->block, .ref = w->first};
    if (wanted(b, PEET_MEMORY_MISS))
        *next_report(b) = (struct peet_memory_event){.type = PEET_MEMORY_MISS, .level = 1, .cause = causes[l.kind], .flags = flags,
            .other = PEET_MEMORY_NOBODY, .size_bytes = w->bytes, .address = address, .cycles = l.taken.stalled, .now = at, .block = t->block,
            .ref = w->first};
    if (l.taken.stalled && wanted(b, PEET_MEMORY_STALL))
        *next_report(b) = (struct peet_memory_event){.type = PEET_MEMORY_STALL, .level = OF_MEMORY, .flags = flags, .other = PEET_MEMORY_NOBODY,
            .size_bytes = w->bytes, .address = address, .cycles = l.taken.stalled, .now = at, .block = t->block, .ref = w->first};
    t->stalled += l.taken.stalled;
    return l.taken.frame;
}
