/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads: software contexts that the subject makes, joins and detaches.  A thread that is over and not joined
 * keeps its record and nothing else.
 */
#include "sync/sync.h"
#include "waits.h"

#include <errno.h>
#include <stdlib.h>

struct peet_map_thread *peet__thread_find(struct peet_map *map, uint64_t number)
{
    struct peet_map_thread *t = NULL;
    uint32_t key = (uint32_t)number;

    if (number <= UINT32_MAX)
        HASH_FIND(hh, map->sync->threads, &key, sizeof key, t);
    return t;
}

int peet__thread_add(struct peet_map *map, struct peet_map_context *c, int detached, uint64_t cycles)
{
    struct peet_map_sync *s = map->sync;
    struct peet_map_thread *t = calloc(1, sizeof *t);

    if (t) {
        *t = (struct peet_map_thread){
            .number = c->number, .detached = detached != 0, .created_cycle = cycles, .context = c};
        HASH_ADD(hh, s->threads, number, sizeof t->number, t);
    }
    if (!t || !t->hh.tbl) {
        free(t);
        return peet__map_fail(map, PEET_ENOMEM, "mapper: out of memory for a thread");
    }
    c->thread = t;
    s->live_threads++;
    if (s->live_threads > s->most_threads)
        s->most_threads = s->live_threads;
    return 0;
}

static void forget(struct peet_map *map, struct peet_map_thread *t)
{
    if (t->context)
        t->context->thread = NULL;
    HASH_DEL(map->sync->threads, t);
    free(t);
}

void peet__thread_create(struct peet_map *map, struct peet_map_core *core, struct peet_map_context *c,
    const uint64_t *args)
{
    struct peet_source_thread wanted = {args[0], args[1], args[2], args[3], c->source};
    struct peet_error error = {0, ""};
    struct peet_map_context *made;
    int err;

    if (args[5] == UINT32_MAX) { /* no numbers are left */
        peet__sync_answer(map, c, PEET_FAILED | EAGAIN);
        return;
    }
    if (peet__map_context_new(map, &made))
        return;
    made->number = (uint32_t)args[5];
    if (map->ops->spawn_thread)
        err = map->ops->spawn_thread(map->source, made->source, &wanted, &error);
    else
        err = map->ops->spawn(map->source, made->source, wanted.fn, wanted.arg, 0, &error);
    if (!err && peet__thread_add(map, made, args[4] != 0, core->clock)) {
        map->ops->retire(map->source, made->source);
        return;
    }
    if (err == PEET_ENOTFOUND && map->config.middle) { /* it is there already */
        peet__map_context_free(map, made);
        peet__sync_answer(map, c, made->number);
        return;
    }
    if (err) {
        char text[200];

        snprintf(text, sizeof text, "cycle %llu: context %u cannot make a thread: %.120s",
            (unsigned long long)core->clock, c->number, error.message);
        if (map->config.report)
            map->config.report(map->config.report_arg, c->source, text);
        peet__map_context_free(map, made);
        peet__sync_answer(map, c, PEET_FAILED | EAGAIN);
        return;
    }
    map->sync->threads_created++;
    map->live++;
    made->next_step = PEET_STEP_BEGIN;
    peet__sync_answer(map, c, made->number);
    peet__map_arrive(map, made, NULL, core->clock);
}

/** The caller asks for the end of all others. */
static void join_all(struct peet_map *map, struct peet_map_core *core, struct peet_map_context *c, uint64_t deadline)
{
    if (map->sync->live_threads <= (c->thread ? 1u : 0u))
        peet__sync_answer(map, c, 0);
    else
        peet__sync_wait(map, core, NULL, &map->sync->joiners, deadline);
}

void peet__thread_join(struct peet_map *map, struct peet_map_core *core, struct peet_map_context *c,
    const uint64_t *args)
{
    struct peet_map_thread *t;

    if (args[0] == PEET_NEVER) {
        join_all(map, core, c, args[1]);
        return;
    }
    t = peet__thread_find(map, args[0]);
    if (!t) {
        peet__sync_answer(map, c, ESRCH);
    } else if (t->context == c || (t->context && c->thread && c->thread->joiner == t->context)) {
        peet__sync_answer(map, c, EDEADLK); /* itself, or each other */
    } else if (t->detached || t->joiner) {
        peet__sync_answer(map, c, EINVAL);
    } else if (!t->context) {
        const uint64_t over = t->over_cycle;

        forget(map, t);
        if (map->supposed && peet__suppose_after(map, core, NULL, over))
            peet__sync_grant(map, c, over, 0);
        else
            peet__sync_answer(map, c, 0);
    } else if (peet__sync_wait(map, core, NULL, NULL, args[1])) {
        t->joiner = c;
    }
}

void peet__thread_unjoin(struct peet_map *map, struct peet_map_context *c)
{
    struct peet_map_thread *t = c->request.args[0] != PEET_NEVER ? peet__thread_find(map, c->request.args[0]) : NULL;

    if (t && t->joiner == c)
        t->joiner = NULL;
}

void peet__thread_detach(struct peet_map *map, struct peet_map_core *core, struct peet_map_context *c,
    const uint64_t *args)
{
    struct peet_map_thread *t = peet__thread_find(map, args[0]);

    (void)core;
    if (!t) {
        peet__sync_answer(map, c, ESRCH);
        return;
    }
    if (t->detached || t->joiner) {
        peet__sync_answer(map, c, EINVAL);
        return;
    }
    if (t->context)
        t->detached = 1;
    else
        forget(map, t);
    peet__sync_answer(map, c, 0);
}

void peet__thread_over(struct peet_map *map, struct peet_map_context *c, uint64_t cycles)
{
    struct peet_map_sync *s = map->sync;
    struct peet_map_thread *t = c->thread;
    struct peet_map_context *joiner;

    if (!t)
        return;
    c->thread = NULL;
    t->context = NULL;
    t->over_cycle = cycles;
    s->live_threads--;
    joiner = t->joiner;
    if (joiner || t->detached)
        forget(map, t);
    if (joiner)
        peet__sync_grant(map, joiner, cycles, 0);
    if (s->live_threads <= 1)
        while ((joiner = peet__heap_pop(&s->joiners)) != NULL)
            peet__sync_grant(map, joiner, cycles, 0);
}

int peet__interruptible(const struct peet_map_context *c)
{
    if (c->state != PEET_MAP_BLOCKED || c->forked)
        return 0;
    switch (c->request.type) {
    case PEET_ABSTRACT_THREAD_JOIN:
    case PEET_ABSTRACT_SEM_WAIT:
    case PEET_ABSTRACT_SLEEP:
    case PEET_ABSTRACT_IO_WAIT:
    case PEET_ABSTRACT_COND_WAIT: /* also when it wants its mutex back */
        return 1;
    }
    return peet__begins_again((unsigned)c->request.type);
}

void peet__interrupt(struct peet_map *map, struct peet_map_core *core, struct peet_map_context *c, const uint64_t *args)
{
    struct peet_map_thread *t = peet__thread_find(map, args[0]);
    struct peet_map_context *target = t ? t->context : NULL;
    int waiting = target && peet__interruptible(target);

    peet__sync_answer(map, c, (uint64_t)waiting);
    if (waiting)
        peet__sync_give_up(map, target, core->clock, EINTR);
    else if (target)
        target->interrupted = 1; /* it may have asked already, and is still to come to it */
}

void peet__interrupt_late(struct peet_map *map, struct peet_map_core *core, struct peet_map_context *c)
{
    if (!peet__interruptible(c))
        return;
    c->interrupted = 0;
    peet__sync_give_up(map, c, core->clock, EINTR);
}

int peet__thread_last(struct peet_map *map)
{
    struct peet_map_heap *joiners = &map->sync->joiners;
    struct peet_map_context *c;

    if (!joiners->n)
        return 0;
    for (uint32_t i = 0; i < map->nsources; i++) {
        c = map->contexts[i];
        if (c && c->state == PEET_MAP_BLOCKED && c->queue != joiners && !(c->thread && c->thread->detached))
            return 0;
    }
    while ((c = peet__heap_pop(joiners)) != NULL)
        peet__sync_grant(map, c, peet_map_cycles(map), 0);
    return 1;
}
