/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Waiting for descriptors.  The world outside knows no simulated time: who waits for it is looked after
 * every poll_cycles, all in one look, while others run.  When no context can run ever, the process waits in
 * real time for who is at the other end; when none can until a deadline, it waits a little, and as long as the deadline
 * is away if children of the subject may be at the other end.
 */
#include "sync/sync.h"

#include <errno.h>
#include <stdlib.h>

enum { PATIENCE_NS = 10000000 };

static void list(struct peet_map_sync *s, struct peet_map_context *c)
{
    c->io_prev = s->io_last;
    c->io_next = NULL;
    *(s->io_last ? &s->io_last->io_next : &s->io_first) = c;
    s->io_last = c;
    s->nio++;
}

void peet__io_forget(struct peet_map *map, struct peet_map_context *c)
{
    struct peet_map_sync *s = map->sync;

    *(c->io_prev ? &c->io_prev->io_next : &s->io_first) = c->io_next;
    *(c->io_next ? &c->io_next->io_prev : &s->io_last) = c->io_prev;
    c->io_prev = c->io_next = NULL;
    if (!--s->nio)
        s->io_tick = PEET_MAP_NEVER;
}

/** The first poll time after another. */
static uint64_t tick_after(const struct peet_map *map, uint64_t cycles)
{
    return (cycles / map->config.poll_cycles + 1) * map->config.poll_cycles;
}

/** Does anything in the subject go on before a time to come, the context of this core (or NULL) left aside? */
static int others_go_on(const struct peet_map *map, const struct peet_map_core *but)
{
    if (map->narrivals || map->nready)
        return 1;
    for (unsigned i = 0; i < map->ncores; i++)
        if (!map->cores[i].is_idle && &map->cores[i] != but)
            return 1;
    return 0;
}

/** If nothing but this descriptor can let the subject go on, waiting for it takes no simulated time, however long it
 * takes. Returns: as io_wait() of struct peet_source_ops; 0 also if others can go on */
static int wait_here(struct peet_map *map, struct peet_map_core *core, const uint64_t *args, unsigned *out_events)
{
    int descriptor = (int)args[0];

    if (descriptor < 0 || core->context->interrupted || !map->ops->io_wait || args[2] != PEET_NEVER ||
        map->sync->timers.n || map->sync->nio || others_go_on(map, core))
        return 0;
    *out_events = (unsigned)args[1];
    return map->ops->io_wait(map->source, 1, &descriptor, out_events, -1);
}

void peet__io_wait(struct peet_map *map, struct peet_map_core *core, struct peet_map_context *c, const uint64_t *args)
{
    struct peet_map_sync *s = map->sync;
    unsigned ready = (unsigned)args[1];
    int waited = 0;

    if (map->ops->io_ready)
        ready = (int)args[0] < 0 ? 0 : map->ops->io_ready(map->source, (int)args[0], (unsigned)args[1], 0);
    if (!ready)
        waited = wait_here(map, core, args, &ready);
    if (waited || ready || args[2] <= core->clock) {
        peet__sync_answer(map, c, waited < 0 ? PEET_FAILED | EINTR : ready);
        return;
    }
    peet__sync_wait(map, core, NULL, NULL, args[2]);
    list(s, c);
    if (s->io_tick == PEET_MAP_NEVER) {
        s->io_tick = tick_after(map, core->clock);
        if (s->io_tick < peet__map_key(map, 0))
            peet__map_rekey(map, 0, s->io_tick);
    }
}

/** How long to wait for descriptors, in nanoseconds; -1: for ever */
static int64_t patience(const struct peet_map *map)
{
    const struct peet_map_sync *s = map->sync;
    double ns, most;

    if (others_go_on(map, NULL))
        return 0;
    if (!s->timers.n)
        return -1;
    ns = (double)(s->timers.entries[0].key - map->now) * 1e9 / (double)map->config.frequency_hz;
    most = map->ops->outside && map->ops->outside(map->source) ? 1e18 : PATIENCE_NS;
    return ns < most ? (int64_t)ns : (int64_t)most;
}

static int room(struct peet_map *map)
{
    struct peet_map_sync *s = map->sync;
    int *descriptors;
    unsigned *events;

    if (s->nio <= s->io_room)
        return 0;
    descriptors = realloc(s->io_descriptors, 2 * s->nio * sizeof *descriptors);
    if (descriptors)
        s->io_descriptors = descriptors;
    events = realloc(s->io_events, 2 * s->nio * sizeof *events);
    if (events)
        s->io_events = events;
    if (!descriptors || !events)
        return peet__map_fail(map, PEET_ENOMEM, "mapper: out of memory for %llu waiting contexts",
            (unsigned long long)s->nio);
    s->io_room = 2 * s->nio;
    return 0;
}

void peet__io_look(struct peet_map *map)
{
    struct peet_map_sync *s = map->sync;
    struct peet_map_context *c, *next;
    int64_t wait_ns = patience(map);
    unsigned n = 0, i = 0;
    int ready = 0;

    if (room(map))
        return;
    for (c = s->io_first; c; c = c->io_next, n++) {
        s->io_descriptors[n] = (int)c->request.args[0];
        s->io_events[n] = (unsigned)c->request.args[1];
    }
    if (map->ops->io_wait)
        ready = map->ops->io_wait(map->source, n, s->io_descriptors, s->io_events, wait_ns);
    else
        for (i = 0; i < n; i++)
            ready += (s->io_events[i] = map->ops->io_ready(map->source, s->io_descriptors[i], s->io_events[i],
                          n == 1 ? wait_ns : 0)) != 0;
    s->io_tick = tick_after(map, map->now);
    if (ready < 0) { /* a signal for the subject: it is handled by whom it wakes */
        peet__sync_give_up(map, s->io_first, map->now, EINTR);
        return;
    }
    for (c = s->io_first, i = 0; c && ready; c = next, i++) {
        next = c->io_next;
        if (s->io_events[i]) {
            peet__io_forget(map, c);
            peet__sync_grant(map, c, map->now, s->io_events[i]);
        }
    }
    if (!ready && wait_ns > 0 && s->nio && s->timers.entries[0].key > s->io_tick)
        s->io_tick = tick_after(map, s->timers.entries[0].key - 1); /* nothing will have changed before */
}

int peet__io_outside(struct peet_map *map)
{
    enum { STEP_NS = 20000000 };
    struct peet_map_context *c, *first = NULL;

    if (!map->ops->outside || !map->ops->io_wait)
        return 0;
    for (uint32_t i = 0; i < map->nsources; i++) {
        c = map->contexts[i];
        if (c && c->state == PEET_MAP_BLOCKED && peet__interruptible(c) && (!first || c->number < first->number))
            first = c;
    }
    while (first && map->ops->outside(map->source))
        if (map->ops->io_wait(map->source, 0, NULL, NULL, STEP_NS) < 0) {
            peet__sync_give_up(map, first, peet_map_cycles(map), EINTR);
            return 1;
        }
    return 0;
}
