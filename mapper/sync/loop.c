/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loops of a team of threads: iterations are given out in chunks, in simulated order, to whoever asks.
 * Every thread of the team begins the loop, the first one makes it; it goes when each has been told that there is no
 * more.
 */
#include "sync/sync.h"

#include <errno.h>
#include <stdlib.h>

void peet__loop_clear(struct peet_map_object *o)
{
    free(o->loop.own);
    o->loop.own = NULL;
}

void peet__loop_init(struct peet_map *map, struct peet_map_core *core, struct peet_map_context *c, const uint64_t *args)
{
    struct peet_map_object *o = peet__sync_find(map, args[0], PEET_SYNC_LOOP);
    uint64_t schedule = (uint32_t)args[3], chunk = args[4], threads = args[5] ? args[5] : 1;

    (void)core;
    peet__sync_answer(map, c, 0);
    if (o)
        return;
    o = peet__sync_get(map, args[0], PEET_SYNC_LOOP);
    if (!o)
        return;
    o->valued = 1;
    o->loop.lo = (int64_t)args[1];
    /* from 0 on all 64 bits count */
    o->loop.n = !args[1] || (int64_t)args[2] > (int64_t)args[1] ? args[2] - args[1] : 0;
    o->loop.threads = threads;
    o->loop.next = o->loop.finished = 0;
    peet__map_resolve_schedule(map, &schedule, &chunk);
    o->loop.schedule = (uint32_t)schedule;
    if (!chunk)
        chunk = o->loop.schedule == PEET_SCHEDULE_STATIC ? o->loop.n / threads + (o->loop.n % threads != 0) : 1;
    o->loop.chunk = chunk ? chunk : 1;
    o->loop.own = NULL;
    if (o->loop.schedule == PEET_SCHEDULE_STATIC && !(o->loop.own = calloc(threads, sizeof *o->loop.own)))
        peet__map_fail(map, PEET_ENOMEM, "mapper: out of memory for a loop of %llu threads",
            (unsigned long long)threads);
}

/** The next chunk for a thread.  Returns: how many iterations from *out_first on, 0: no more */
static uint64_t next(struct peet_map_object *o, uint64_t thread, uint64_t *out_first)
{
    uint64_t size = o->loop.chunk, n = o->loop.n, left;

    if (o->loop.own) {
        if (thread >= o->loop.threads)
            return 0;
        left = o->loop.own[thread] * o->loop.threads + thread; /* the number of its next chunk */
        if (left >= n / size + (n % size != 0))
            return 0;
        o->loop.own[thread]++;
        *out_first = left * size;
        return size < n - *out_first ? size : n - *out_first;
    }
    left = n - o->loop.next;
    if (o->loop.schedule == PEET_SCHEDULE_GUIDED && left / o->loop.threads > size)
        size = left / o->loop.threads;
    if (size > left)
        size = left;
    *out_first = o->loop.next;
    o->loop.next += size;
    return size;
}

void peet__loop_next(struct peet_map *map, struct peet_map_core *core, struct peet_map_context *c, const uint64_t *args)
{
    struct peet_map_object *o = peet__sync_find(map, args[0], PEET_SYNC_LOOP);
    uint64_t first, n = o ? next(o, args[1], &first) : 0;
    int64_t *chunk = (int64_t *)args[2];

    (void)core;
    peet__sync_answer(map, c, n != 0);
    if (n && !map->config.replayed) {
        chunk[0] = o->loop.lo + (int64_t)first;
        chunk[1] = chunk[0] + (int64_t)n;
    } else if (!n && o && ++o->loop.finished >= o->loop.threads) {
        peet__sync_drop(map, o);
    }
}
