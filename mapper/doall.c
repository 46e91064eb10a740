/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loops whose iterations are software contexts: which hardware context gets which iteration, and when
 * the loop is joined.  In the function form one worker context of the source carries iteration after
 * iteration and is parked in between; in the marker form every iteration is a context of the source.
 */
#include "map.h"
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
    *loop = (struct peet_map_loop){ .shares = shares };
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
        carrier->joining = !carrier->marked_fork;
        return;
    }
    if (n > UINT32_MAX - map->next_number) {
        peet__map_fail(map, PEET_ELIMIT, "doall: more than %u software contexts in one run (a loop of %llu iterations)", UINT32_MAX,
            (unsigned long long)n);
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
    map->next_number += (uint32_t)n;
    if (!loop->chunk)
        loop->chunk = loop->schedule == PEET_SCHEDULE_STATIC ? (n + map->ncores - 1) / map->ncores : 1;
    for (unsigned i = 0; i < map->ncores; i++)
        loop->shares[i] = (struct peet_map_share){ 0, 0, i };
    carrier->state = PEET_MAP_BLOCKED;
    carrier->forked = loop;
    peet__map_release(core);
    peet__map_arrive(map, NULL, loop, core->clock);
}

static int has_work(const struct peet_map_loop *loop, unsigned hw)
{
    const struct peet_map_share *share = &loop->shares[hw];

    if (share->next < share->end)
        return 1;
    if (loop->schedule == PEET_SCHEDULE_STATIC)
        return share->chunk_number * loop->chunk < loop->n;
    return loop->next < loop->n;
}

struct peet_map_loop *peet__map_loop_for(struct peet_map *map, unsigned hw)
{
    struct peet_map_loop *loop = map->loops;

    while (loop && !has_work(loop, hw))
        loop = loop->after;
    return loop;
}

/** The next iteration for a core; there is one. */
static uint64_t next_iteration(struct peet_map *map, struct peet_map_loop *loop, unsigned hw)
{
    struct peet_map_share *share = &loop->shares[hw];
    uint64_t size = loop->chunk, left = loop->n - loop->next;

    if (share->next == share->end) {
        if (loop->schedule == PEET_SCHEDULE_STATIC) {
            share->next = share->chunk_number * size;
            share->chunk_number += map->ncores;
        } else {
            if (loop->schedule == PEET_SCHEDULE_GUIDED && left / map->ncores > size)
                size = left / map->ncores;
            share->next = loop->next;
        }
        share->end = size < loop->n - share->next ? share->next + size : loop->n;
        if (loop->schedule != PEET_SCHEDULE_STATIC)
            loop->next = share->end;
    }
    return share->next++;
}

static void unlist(struct peet_map *map, struct peet_map_loop *loop)
{
    if (!loop->listed)
        return;
    loop->listed = 0;
    *(loop->prev ? &loop->prev->after : &map->loops) = loop->after;
    *(loop->after ? &loop->after->prev : &map->loops_tail) = loop->prev;
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
        peet__map_fail(map, PEET_ESTREAM, "context %u: something other than an iteration after its last iteration", worker->number);
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
    carrier->joining = !loop->marked;
    peet__map_arrive(map, carrier, NULL, loop->end_cycles);
    peet__map_loop_free(map, loop);
}

int peet__map_iterate(struct peet_map *map, struct peet_map_loop *loop, unsigned hw)
{
    uint64_t i = next_iteration(map, loop, hw);
    struct peet_map_core *core = &map->cores[hw];
    struct peet_map_context *c = loop->parked;
    int err = 0;

    if (++loop->started == loop->n)
        unlist(map, loop);
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
            err = map->ops->spawn_iterations(map->source, c->source, loop->fn, loop->arg, &map->error);
        else
            err = map->ops->spawn(map->source, c->source, loop->fn, loop->fn, loop->arg, &map->error);
    }
    if (err) {
        peet__map_context_free(map, c);
        if (err != PEET_ENOTFOUND || !loop->marked)
            return peet__map_fail(map, err, "doall: cannot begin iteration %lld: %s", (long long)(loop->lo + i), peet_err_text(err));
        /* the loop was left before this iteration */
        map->error = (struct peet_error){ 0 };
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
    c->starting = 1;
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
