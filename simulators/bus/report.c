/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory reports to observers, and structures whose memory the user wants to be perfect. Both need to know which
 * reference is under way; nothing else does. If the bus is `watched`, fast.c sets b->site, and calls
 * peet__bus_touch_watched() instead of the engine. miss.c reports most misses itself, and leaves the others to
 * peet__bus_go_watched(). Hits are not reported. Reports are buffered, and go out before the machine returns to the
 * engine.
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

static int wanted(const struct bus *b, enum peet_memory_type type)
{
    return b->env->reports >> type & 1;
}

/* A fill in words that everybody knows.  Returns: how many */
static uint32_t in_single_reports(const struct bus *b, const struct peet_memory_event *fill,
    struct peet_memory_event *out)
{
    enum { OF_LINES = PEET_MEMORY_DIRTY | PEET_MEMORY_FILL_GONE };
    struct peet_memory_event e = *fill;
    uint32_t n = 0;
    if (fill->flags & PEET_MEMORY_FILL_GONE && wanted(b, PEET_MEMORY_EVICT)) {
        out[n++] = (struct peet_memory_event){.type = PEET_MEMORY_EVICT,
            .level = fill->level,
            .flags = fill->flags & ~PEET_MEMORY_FILL_GONE,
            .hw = fill->hw,
            .other = fill->other,
            .size_bytes = b->line_bytes,
            .address = fill->by,
            .by = fill->address,
            .now = fill->now,
            .block = fill->block,
            .ref = fill->ref};
    }
    e.type = PEET_MEMORY_MISS;
    e.flags &= (uint8_t)~OF_LINES;
    e.by = 0;
    if (wanted(b, PEET_MEMORY_MISS))
        out[n++] = e;
    e.type = PEET_MEMORY_STALL;
    e.level++;
    e.cause = PEET_MISS_UNKNOWN;
    if (e.cycles && wanted(b, PEET_MEMORY_STALL))
        out[n++] = e;
    return n;
}

void peet__bus_report_now(struct bus *b)
{
    enum { MOST = 3 };
    struct peet_memory_event single[BUS_EVENT_BUFFER];
    const uint32_t nbuffered = b->nbuffered;
    uint32_t n = 0;
    b->nbuffered = 0;
    if (wanted(b, PEET_MEMORY_FILL)) {
        b->env->report(b->env, b->event_buffer, nbuffered);
        return;
    }
    for (uint32_t i = 0; i < nbuffered; i++) {
        if (b->event_buffer[i].type == PEET_MEMORY_FILL)
            n += in_single_reports(b, &b->event_buffer[i], &single[n]);
        else
            single[n++] = b->event_buffer[i];
        if (n > BUS_EVENT_BUFFER - MOST || i + 1 == nbuffered) {
            b->env->report(b->env, single, n);
            n = 0;
        }
    }
}

static void report_event(struct bus *b, const struct peet_memory_event *event)
{
    if (wanted(b, event->type))
        *peet__bus_next_report(b) = *event;
}

static enum peet_memory_flags flags_of(enum touch touch)
{
    return touch == TOUCH_WRITE ? PEET_MEMORY_STORE : touch == TOUCH_FETCH ? PEET_MEMORY_INSTRUCTION : 0;
}

int peet__bus_at_perfect(const struct bus *b)
{
    return (b->env->data_of(b->env, b->site.address, NULL)->flags & PEET_DATA_PERFECT) != 0;
}

void peet__bus_report_removed(struct bus *b, const struct cache *c, uint64_t line, const struct cache *by, int dirty,
    uint64_t now)
{
    report_event(b,
        &(struct peet_memory_event){.type = c == by ? PEET_MEMORY_EVICT : PEET_MEMORY_INVALIDATE,
            .level = 1,
            .flags = (uint8_t)((dirty ? PEET_MEMORY_DIRTY : 0) | flags_of(b->site.touch)),
            .hw = c->hw,
            .other = c == by ? PEET_MEMORY_NOBODY : by->hw,
            .size_bytes = b->line_bytes,
            .address = line << b->line_shift,
            .by = b->site.address,
            .now = now,
            .block = b->site.block,
            .ref = b->site.ref});
}

static struct peet_memory_event stall_event(unsigned hw, const struct site *s, uint64_t cycles, uint64_t now)
{
    return (struct peet_memory_event){.type = PEET_MEMORY_STALL,
        .level = s->served,
        .flags = (uint8_t)flags_of(s->touch),
        .hw = hw,
        .other = PEET_MEMORY_NOBODY,
        .size_bytes = s->bytes,
        .address = s->address,
        .cycles = cycles,
        .now = now,
        .block = s->block,
        .ref = s->ref};
}

void peet__bus_report_lost(struct bus *b, unsigned hw, uint64_t cycles, uint64_t now)
{
    const struct peet_memory_event event = stall_event(hw, &b->hw[hw].latest, cycles, now);
    report_event(b, &event);
}

/* Counters that tell a miss, and its kind. */
struct counters {
    uint64_t upgrades, misses, kinds[MISS_KINDS];
};

static inline struct counters see(const struct bus *b, const struct cache_stats *s)
{
    struct counters counters = {.upgrades = s->upgrades, .misses = s->read_misses + s->write_misses + s->fetch_misses};
    if (b->classify)
        memcpy(counters.kinds, s->kinds, sizeof counters.kinds);
    return counters;
}

const uint8_t peet__bus_causes[] = {[MISS_COLD] = PEET_MISS_COLD,
    [MISS_CAPACITY] = PEET_MISS_CAPACITY,
    [MISS_CONFLICT] = PEET_MISS_CONFLICT,
    [MISS_TRUE_SHARING] = PEET_MISS_TRUE_SHARING,
    [MISS_FALSE_SHARING] = PEET_MISS_FALSE_SHARING,
    [MISS_KINDS] = PEET_MISS_UNKNOWN};

/* What the reference has added to its cache's misses, if anything.  Returns: enum peet_memory_cause; PEET_MISS_CAUSES:
 * it hit */
static unsigned cause_of(const struct bus *b, const struct counters *before, const struct cache_stats *after)
{
    if (after->upgrades != before->upgrades)
        return PEET_MISS_UPGRADE;
    if (after->read_misses + after->write_misses + after->fetch_misses == before->misses)
        return PEET_MISS_CAUSES;
    for (unsigned kind = 0; b->classify && kind < MISS_KINDS; kind++)
        if (after->kinds[kind] != before->kinds[kind])
            return peet__bus_causes[kind];
    return PEET_MISS_UNKNOWN;
}

/* A miss of a processor alone, for which it has waited for memory if at all.  An eviction that is told but not followed
 * by its miss is this one's. */
static void report_miss(struct bus *b, const struct site *s, unsigned cause, uint64_t cycles, uint64_t now)
{
    struct peet_memory_event *e = b->nbuffered != 0 && b->event_buffer[b->nbuffered - 1].type == PEET_MEMORY_EVICT
        ? &b->event_buffer[b->nbuffered - 1]
        : NULL;
    uint8_t flags = (uint8_t)flags_of(s->touch);
    uint64_t gone = 0;
    if (e) {
        flags |= PEET_MEMORY_FILL_GONE | (e->flags & PEET_MEMORY_DIRTY);
        gone = e->address;
    } else {
        e = peet__bus_next_report(b);
    }
    *e = (struct peet_memory_event){.type = PEET_MEMORY_FILL,
        .level = 1,
        .cause = (uint8_t)cause,
        .flags = flags,
        .other = PEET_MEMORY_NOBODY,
        .size_bytes = s->bytes,
        .address = s->address,
        .by = gone,
        .cycles = cycles,
        .now = now,
        .block = s->block,
        .ref = s->ref};
}

uint64_t peet__bus_touch_watched(struct bus *b, struct cache *c, uint64_t line, uint64_t sectors, unsigned bytes,
    enum touch touch, uint64_t time)
{
    const struct counters before = see(b, &c->stats);
    const uint64_t from_memory = b->memory_line_reads + b->memory_word_writes;
    struct site *s = &b->site;
    s->touch = (uint8_t)touch;
    b->supplier = PEET_MEMORY_NOBODY;
    b->at_once = b->perfect && touch != TOUCH_FETCH && peet__bus_at_perfect(b);
    const uint64_t stall = b->uniprocessor ? peet__bus_touch_uniprocessor(b, c, line, bytes, touch, time)
                                           : b->touch(b, c, line, sectors, bytes, touch, time);
    b->at_once = 0;
    if (b->dead)
        return stall;
    const unsigned cause = cause_of(b, &before, &c->stats);
    s->served = b->supplier != PEET_MEMORY_NOBODY                     ? 1
        : b->memory_line_reads + b->memory_word_writes != from_memory ? 2
                                                                      : 0;
    if (stall && !b->uniprocessor) /* nobody else delays it later */
        b->hw[c->hw].latest = *s;
    if (b->uniprocessor && cause != PEET_MISS_CAUSES && cause != PEET_MISS_UPGRADE && touch != TOUCH_FETCH &&
        (!stall || s->served == 2) && wanted(b, PEET_MEMORY_FILL)) {
        report_miss(b, s, cause, stall, time);
        return stall;
    }
    if (cause != PEET_MISS_CAUSES && wanted(b, PEET_MEMORY_MISS))
        *peet__bus_next_report(b) = (struct peet_memory_event){.type = PEET_MEMORY_MISS,
            .level = 1,
            .cause = (uint8_t)cause,
            .flags = (uint8_t)flags_of(touch),
            .hw = c->hw,
            .other = b->supplier,
            .size_bytes = s->bytes,
            .address = s->address,
            .cycles = stall,
            .now = time,
            .block = s->block,
            .ref = s->ref};
    if (stall && wanted(b, PEET_MEMORY_STALL))
        *peet__bus_next_report(b) = stall_event(c->hw, s, stall, time);
    return stall;
}

uint32_t peet__bus_go_watched(struct bus *b, struct execution *t, uint64_t begin, uint64_t line,
    const struct line_access *w)
{
    struct cache *const c = t->c;
    const uint64_t want = KEY_OF(line) | PERMISSION, at = peet__bus_request_time(t, w);
    const uint32_t first = peet__bus_set_of(b, line) * b->ways;
    uint64_t before = 0; /* perhaps of another group of this block in the same line, whose last reference comes later */
    uint32_t i;
    for (i = first; i < first + b->ways; i++) {
        if ((c->keys[i] | w->permission_mask) == want) {
            c->predictor[line & b->predictor_mask] = i;
            return i;
        }
        before = KEY_LINE(c->keys[i]) == line ? c->used[i] : before; /* 0 in frames that are invalid */
    }
    b->site.block = t->block;
    peet__bus_at(b, w->ref, begin + w->offset, w->bytes);
    c->stamp = t->stamp + w->first;
    t->stalled += peet__bus_touch_watched(b, c, line, 0, w->bytes, w->writes ? TOUCH_WRITE : TOUCH_READ, at);
    if (b->dead)
        return 0;
    i = c->predictor[line & b->predictor_mask];
    if (w->writes_after && !(c->keys[i] & PERMISSION_WRITE)) {
        c->stamp = t->stamp + w->first;
        peet__bus_touch_uniprocessor(b, c, line, w->bytes, TOUCH_WRITE, at); /* nothing that could be told of */
    }
    c->used[i] = before > c->used[i] ? before : c->used[i];
    return i;
}
