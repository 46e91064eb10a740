/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loops whose iterations are software contexts: which hardware context gets which iteration, and when the loop is
 * joined.  In the function form, one worker context of the source executes one iteration after another, and is parked
 * between them. In the marker form, every iteration is a context of the source.
 */
#include "state/map.h"
#include "worker.h"

#include <stdlib.h>

static struct peet_map_loop *loop_new(struct peet_map *map)
{
    struct peet_map_loop *loop = map->free_loops;
    struct peet_map_share *shares;

    if (loop) {
        map->free_loops = loop->after;
        shares = loop->shares;
    } else {
        loop = malloc(sizeof *loop);
        shares = malloc(map->ncores * sizeof *shares);
        if (!loop || !shares) {
            free(loop);
            free(shares);
            return NULL;
        }
    }
    *loop = (struct peet_map_loop){.shares = shares};
    return loop;
}

void peet__map_loop_free(struct peet_map *map, struct peet_map_loop *loop)
{
    loop->after = map->free_loops;
    map->free_loops = loop;
}

void peet__map_fork(struct peet_map *map, struct peet_map_core *core, const uint64_t *args)
{
    struct peet_map_context *carrier = core->context;
    uint64_t n = (int64_t)args[1] > (int64_t)args[0] ? args[1] - args[0] : 0;
    struct peet_map_loop *loop;

    map->totals.loops++;
    if (!n) { /* nothing to do: joined at once; in the marker form the join is recorded */
        carrier->next_step = carrier->marked_fork ? PEET_STEP_STREAM : PEET_STEP_JOIN;
        return;
    }
    if (n > UINT32_MAX - map->next_number) {
        peet__map_fail(map, PEET_ELIMIT, "doall: more than %u software contexts in one run (a loop of %llu iterations)",
            UINT32_MAX, (unsigned long long)n);
        return;
    }
    if (args[0] == PEET__NO_ITERATION) {
        peet__map_fail(map, PEET_ELIMIT, "doall: a loop cannot begin at %lld", (long long)args[0]);
        return;
    }
    loop = loop_new(map);
    if (!loop) {
        peet__map_fail(map, PEET_ENOMEM, "mapper: out of memory for a loop");
        return;
    }
    loop->lo = args[0];
    loop->n = n;
    loop->schedule = (enum peet_schedule)args[2];
    loop->chunk = args[3] > n ? n : args[3];
    loop->fn = args[4];
    loop->arg = args[5];
    loop->marked = carrier->marked_fork;
    loop->base = map->next_number;
    loop->carrier = carrier;
    loop->nested = carrier->loop != NULL;
    map->next_number += (uint32_t)n;
    if (!loop->chunk)
        loop->chunk = loop->schedule == PEET_SCHEDULE_STATIC ? (n + map->ncores - 1) / map->ncores : 1;
    for (unsigned i = 0; i < map->ncores; i++)
        loop->shares[i] = (struct peet_map_share){.chunk_number = i, .loop = loop};
    carrier->state = PEET_MAP_BLOCKED;
    carrier->forked = loop;
    peet__map_release(core);
    peet__map_arrive(map, NULL, loop, core->clock);
}

/* ---- offers: who may begin what, in O(1) however many loops are open */

/** What is begun is finished before more is begun: inner loops first, the newest first; then the others by age. */
static int ahead(const struct peet_map_loop *a, const struct peet_map_loop *b)
{
    if (a->nested != b->nested)
        return a->nested;
    return a->nested ? a->arrival > b->arrival : a->arrival < b->arrival;
}

static void list_loop(struct peet_map *map, struct peet_map_loop *loop)
{
    struct peet_map_loop *after = loop->nested ? map->loops : NULL; /* the newest of its kind */

    loop->listed = 1;
    loop->after = after;
    loop->before = after ? after->before : map->loops_tail;
    *(loop->before ? &loop->before->after : &map->loops) = loop;
    *(after ? &after->before : &map->loops_tail) = loop;
}

static void unlist_loop(struct peet_map *map, struct peet_map_loop *loop)
{
    if (!loop->listed)
        return;
    loop->listed = 0;
    *(loop->before ? &loop->before->after : &map->loops) = loop->after;
    *(loop->after ? &loop->after->before : &map->loops_tail) = loop->before;
}

/** Inner loops are near the head of a list, outer ones near its tail. */
static void list_share(struct peet_map_core *core, struct peet_map_share *share)
{
    struct peet_map_share *after = core->shares, *before = core->shares_tail;

    if (share->listed)
        return;
    if (share->loop->nested) {
        while (after && ahead(after->loop, share->loop))
            after = after->after;
        before = after ? after->before : core->shares_tail;
    } else {
        while (before && ahead(share->loop, before->loop))
            before = before->before;
        after = before ? before->after : core->shares;
    }
    share->listed = 1;
    share->before = before;
    share->after = after;
    *(before ? &before->after : &core->shares) = share;
    *(after ? &after->before : &core->shares_tail) = share;
}

static void unlist_share(struct peet_map_core *core, struct peet_map_share *share)
{
    if (!share->listed)
        return;
    share->listed = 0;
    *(share->before ? &share->before->after : &core->shares) = share->after;
    *(share->after ? &share->after->before : &core->shares_tail) = share->before;
}

void peet__map_offer(struct peet_map *map, struct peet_map_loop *loop)
{
    if (loop->schedule != PEET_SCHEDULE_STATIC) {
        list_loop(map, loop);
        return;
    }
    for (unsigned i = 0; i < map->ncores && i * loop->chunk < loop->n; i++)
        list_share(&map->cores[i], &loop->shares[i]);
}

struct peet_map_loop *peet__map_loop_for(struct peet_map *map, unsigned hw)
{
    struct peet_map_loop *own = map->cores[hw].shares ? map->cores[hw].shares->loop : NULL;

    if (!own || !map->loops)
        return own ? own : map->loops;
    return ahead(map->loops, own) ? map->loops : own;
}

/** The next iteration for a core; there is one. */
static uint64_t next_iteration(struct peet_map *map, struct peet_map_loop *loop, unsigned hw)
{
    struct peet_map_share *share = &loop->shares[hw];
    const int fixed = loop->schedule == PEET_SCHEDULE_STATIC;
    uint64_t size = loop->chunk, left = loop->n - loop->next, i;

    if (share->next == share->end) {
        if (fixed) {
            share->next = share->chunk_number * size;
            share->chunk_number += map->ncores;
        } else {
            if (loop->schedule == PEET_SCHEDULE_GUIDED && left / map->ncores > size)
                size = left / map->ncores;
            share->next = loop->next;
        }
        share->end = size < loop->n - share->next ? share->next + size : loop->n;
        if (!fixed && (loop->next = share->end) == loop->n)
            unlist_loop(map, loop);
    }
    i = share->next++;
    if (share->next < share->end || (fixed && share->chunk_number * loop->chunk < loop->n))
        list_share(&map->cores[hw], share);
    else
        unlist_share(&map->cores[hw], share);
    return i;
}

/** A worker learns that there is no more for it, and ends. */
static void dismiss(struct peet_map *map, struct peet_map_context *worker)
{
    struct peet_event event;
    int kind = map->ops->next(map->source, worker->source, &event, &map->error);

    if (kind == PEET_EVENT_ABSTRACT && event.abstract.type == PEET_ABSTRACT_DOALL_START) {
        map->ops->result(map->source, worker->source, PEET__NO_ITERATION);
        while ((kind = map->ops->next(map->source, worker->source, &event, &map->error)) > 0)
            ; /* what the front end does on its way out is not the program's */
    } else if (kind > 0) {
        peet__map_fail(map, PEET_ESTREAM, "context %u: something other than an iteration after its last iteration",
            worker->number);
    }
    if (kind < 0)
        peet__map_fail(map, kind, "context %u: %s", worker->number, peet_err_text(kind));
    map->ops->retire(map->source, worker->source);
    peet__map_context_free(map, worker);
}

/** All iterations are done: the carrier goes on. */
static void join(struct peet_map *map, struct peet_map_loop *loop)
{
    struct peet_map_context *worker, *carrier = loop->carrier;

    while ((worker = loop->parked) != NULL) {
        loop->parked = worker->next;
        dismiss(map, worker);
    }
    carrier->forked = NULL;
    carrier->next_step = loop->marked ? PEET_STEP_STREAM : PEET_STEP_JOIN;
    peet__map_arrive(map, carrier, NULL, loop->end_cycles);
    peet__map_loop_free(map, loop);
}

int peet__map_iterate(struct peet_map *map, struct peet_map_loop *loop, unsigned hw)
{
    uint64_t i = next_iteration(map, loop, hw);
    struct peet_map_core *core = &map->cores[hw];
    struct peet_map_context *c = loop->parked;
    int err = 0;

    loop->started++;
    if (c) {
        loop->parked = c->next;
        c->next = NULL;
    } else {
        err = peet__map_context_new(map, &c);
        if (err)
            return err;
        if (loop->marked)
            err = map->ops->marked(map->source, c->source, loop->carrier->source, loop->lo + i, &map->error);
        else if (map->ops->spawn_iterations)
            err = map->ops->spawn_iterations(map->source, c->source, loop->carrier->source, loop->fn, loop->arg,
                &map->error);
        else
            err = map->ops->spawn(map->source, c->source, loop->fn, loop->fn, loop->arg, &map->error);
    }
    if (err) {
        peet__map_context_free(map, c);
        if (err != PEET_ENOTFOUND || !loop->marked)
            return peet__map_fail(map, err, "doall: cannot begin iteration %lld: %s", (long long)(loop->lo + i),
                peet_err_text(err));
        /* the loop was left before this iteration */
        map->error = (struct peet_error){0};
        map->totals.skipped_iterations++;
        if (loop->end_cycles < core->clock)
            loop->end_cycles = core->clock;
        if (++loop->finished == loop->n)
            join(map, loop);
        return 0;
    }
    map->totals.iterations++;
    c->number = loop->base + (uint32_t)i;
    c->loop = loop;
    c->iteration = loop->lo + i;
    c->marked = loop->marked;
    c->next_step = PEET_STEP_BEGIN;
    c->last_hw = hw;
    c->instructions = 0;
    c->first_cycle = core->clock;
    map->live++;
    peet__map_dispatch(map, hw, c);
    return 1;
}

void peet__map_finish(struct peet_map *map, struct peet_map_core *core)
{
    struct peet_map_context *c = core->context;
    struct peet_map_loop *loop = c->loop;

    peet__map_release(core);
    peet__map_record(map, c, "iteration", core->clock);
    map->live--;
    if (loop->end_cycles < core->clock)
        loop->end_cycles = core->clock;
    if (loop->marked) {
        map->ops->retire(map->source, c->source);
        peet__map_context_free(map, c);
    } else {
        c->state = PEET_MAP_PARKED;
        c->next = loop->parked;
        loop->parked = c;
    }
    if (++loop->finished == loop->n)
        join(map, loop);
}
