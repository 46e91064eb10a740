/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a context does next: peet__map_produce() is a state machine, and struct peet_map_context's next_step its state.
 *
 *   1. There is one next step.  Where none is outstanding, it is PEET_STEP_STREAM: the next words of the context's
 *      stream.
 *   2. A step is over when it is taken: the state is PEET_STEP_STREAM again before its event is delivered.  Only
 *      PEET_STEP_LOCK stays, until sync/lock.c says that the lock is taken, given back, or given up.
 *   3. Blocks that are decoded already (batch) are delivered before anything else.
 *
 *     BEGIN   a thread or an iteration comes into being: CONTEXT_START or DOALL_START
 *     STREAM  blocks; requests, which peet__map_take_effect() performs; at the end CONTEXT_EXIT or DOALL_FINISH
 *     EFFECT  a request whose time has been paid takes effect
 *     LOCK    a reference of the lock model; then GRANT if there was a wait
 *     GRANT   the wait is over: SYNC_GRANT
 *     ATOMIC  an atomic operation that has let others go first
 *     PIECES  the rest of a range operation, one block for each piece
 *     JOIN    the loop that it has forked is over: DOALL_JOIN
 */
#include "state/map.h"
#include "consistency/consistency.h"
#include "sync/sync.h"

#include <limits.h>
#include <string.h>

enum { NOTHING = -1000 }; /* no peet_err: an event that modules need not see */

const struct peet_map_form peet__map_forms[PEET_ABSTRACT_TYPES] = {
#define PEET_X(name, value, n, words, names) [value] = {words, names, n},
    PEET_ABSTRACTS(PEET_X)
#undef PEET_X
};

static int abstract(struct peet_map *map, struct peet_map_context *c, struct peet_event *out, uint32_t type,
    uint32_t nargs)
{
    out->abstract = (struct peet_abstract_event){.type = type, .context = c->number, .nargs = nargs, .args = map->args};
    return PEET_EVENT_ABSTRACT;
}

/** The iteration's number goes to its worker, which waits for it in its DOALL_START. */
static int begin_iteration(struct peet_map *map, struct peet_map_context *c, struct peet_event *out)
{
    int kind;

    if (!c->marked) {
        kind = map->ops->next(map->source, c->source, out, &map->error);
        if (kind < 0)
            return peet__map_fail(map, kind, "context %u: %s", c->number, peet_err_text(kind));
        if (kind != PEET_EVENT_ABSTRACT || out->abstract.type != PEET_ABSTRACT_DOALL_START)
            return peet__map_fail(map, PEET_ESTREAM, "context %u: its first event is not the start of an iteration",
                c->number);
    }
    map->args[0] = c->iteration;
    return abstract(map, c, out, PEET_ABSTRACT_DOALL_START, 1);
}

void peet__map_resolve_schedule(const struct peet_map *map, uint64_t *schedule, uint64_t *chunk)
{
    if (*schedule < PEET_SCHEDULE_DEFAULT)
        return;
    *schedule = map->config.schedule;
    if (!*chunk)
        *chunk = map->config.chunk;
}

/** A fork of a loop, as a call or by markers, becomes DOALL_FORK. */
static int begin_loop(struct peet_map *map, struct peet_map_context *c, struct peet_event *event)
{
    const uint64_t *raw = event->abstract.args;
    uint32_t marked = event->abstract.type == PEET_ABSTRACT_MARK_FORK;

    if (event->abstract.nargs < (marked ? 4 : 6))
        return peet__map_fail(map, PEET_ESTREAM, "context %u: a doall fork with %u arguments", c->number,
            event->abstract.nargs);
    memcpy(map->args, raw, (marked ? 4 : 6) * sizeof *raw);
    if (marked)
        map->args[4] = map->args[5] = 0;
    peet__map_resolve_schedule(map, &map->args[2], &map->args[3]);
    c->marked_fork = (uint8_t)marked;
    return abstract(map, c, event, PEET_ABSTRACT_DOALL_FORK, 6);
}

/** The arguments of a record become the mapper's own.  Returns: 0, or a peet_err if some are missing */
static int take_args(struct peet_map *map, const struct peet_map_context *c, struct peet_event *event)
{
    uint32_t type = event->abstract.type, n = peet__map_forms[type].nargs;

    if (event->abstract.nargs < n)
        return peet__map_fail(map, PEET_ESTREAM, "context %u: %s with %u arguments", c->number,
            peet__map_forms[type].text, event->abstract.nargs);
    n = event->abstract.nargs < PEET_MAP_ARGS ? event->abstract.nargs : PEET_MAP_ARGS;
    memmove(map->args, event->abstract.args, n * sizeof *map->args);
    event->abstract.args = map->args;
    event->abstract.nargs = n;
    if (__builtin_expect(map->config.middle != NULL, 0))
        peet__middle_shift(map, type, map->args, n);
    return 0;
}

/** A range operation is shown as the block that makes its references.  Returns: 1, or 0 if it makes none */
static int range_block(struct peet_map *map, struct peet_map_context *c, struct peet_event *event)
{
    const uint64_t *a = event->abstract.args;
    const struct peet_block *block;
    uint64_t piece[4];

    if (event->abstract.nargs < 4 || !a[3] || !map->ops->synthetic)
        return 0;
    if (__builtin_expect(map->config.remap != NULL, 0)) {
        memcpy(piece, a, sizeof piece);
        peet__map_remap_range(map, c, piece);
        a = piece;
    }
    block = map->ops->synthetic(map->source, (unsigned)a[0]);
    if (!block)
        return 0;
    peet_synthetic_values((unsigned)a[0], a[1], a[2], a[3], map->sync->values);
    event->block =
        (struct peet_block_event){.block = block, .values = map->sync->values, .context = c->number, .turns = 1};
    return 1;
}

static int grant(struct peet_map *map, struct peet_map_core *core, struct peet_event *out)
{
    struct peet_map_context *c = core->context;

    map->args[0] = c->request.type == PEET_ABSTRACT_SLEEP ? 0 : c->request.args[0];
    map->args[1] = c->request.type;
    map->args[2] = core->clock - c->wait_since;
    map->args[3] = c->wait_result;
    return abstract(map, c, out, PEET_ABSTRACT_SYNC_GRANT, 4);
}

/** Blocks fresh from the source: watch for spinning, tell the consistency model, remap their addresses. */
static void prepare(struct peet_map *map, struct peet_map_core *core, struct peet_block_event *blocks, unsigned n)
{
    struct peet_map_context *c = core->context;

    if (__builtin_expect(c->spin.watched, 0))
        peet__spin_watch(c, blocks, n);
    if (peet__consistency_on(map))
        peet__consistency_blocks(map, core, blocks, n);
    if (__builtin_expect(map->config.remap != NULL, 0))
        peet__map_remap(map, blocks, n);
}

/** The stream has ended.  Returns: 0 if that has been said */
static int end_of_stream(struct peet_map *map, struct peet_map_context *c, struct peet_event *out)
{
    if (c->marked) {
        map->args[0] = c->iteration;
        return abstract(map, c, out, PEET_ABSTRACT_DOALL_FINISH, 1);
    }
    if (c->loop)
        return peet__map_fail(map, PEET_ESTREAM, "context %u: ended inside iteration %lld of its loop", c->number,
            (long long)c->iteration);
    if (c->exited)
        return 0;
    c->exited = 1;
    map->args[0] = 0;
    return abstract(map, c, out, PEET_ABSTRACT_CONTEXT_EXIT, 1);
}

/**
 * request() - an event of the stream that is not a block, as modules shall see it
 * Returns: NOTHING if they shall not, or as peet__map_produce()
 */
static int request(struct peet_map *map, struct peet_map_core *core, struct peet_event *out)
{
    struct peet_map_context *c = core->context;
    int kind;

    out->abstract.context = c->number;
    peet__spin_taken(map, c);
    switch (out->abstract.type) {
    case PEET_ABSTRACT_ALLOC:
    case PEET_ABSTRACT_FREE:
        peet__map_changes_data(map);
        peet__map_data_begin(map, &out->abstract);
        return map->error.code ? map->error.code : PEET_EVENT_ABSTRACT;
    case PEET_ABSTRACT_NONE:
    case PEET_ABSTRACT_CONTEXT_START: /* said already */
    case PEET_ABSTRACT_MARK_START:    /* outside a marked loop: nothing to say */
    case PEET_ABSTRACT_MARK_FINISH:
        return NOTHING;
    case PEET_ABSTRACT_DOALL_FORK:
    case PEET_ABSTRACT_MARK_FORK:
        return begin_loop(map, c, out);
    case PEET_ABSTRACT_MARK_JOIN:
        out->abstract.type = PEET_ABSTRACT_DOALL_JOIN;
        return PEET_EVENT_ABSTRACT;
    case PEET_ABSTRACT_DOALL_FINISH:
        if (!c->loop)
            return peet__map_fail(map, PEET_ESTREAM, "context %u: an iteration ends that did not begin", c->number);
        map->args[0] = c->iteration;
        return abstract(map, c, out, PEET_ABSTRACT_DOALL_FINISH, 1);
    case PEET_ABSTRACT_CONTEXT_EXIT:
        c->exited = 1;
        return PEET_EVENT_ABSTRACT;
    case PEET_ABSTRACT_SYNC_GRANT: /* the mapper's to say */
        return NOTHING;
    case PEET_ABSTRACT_RANGE:
        if (!range_block(map, c, out))
            return NOTHING;
        if (peet__consistency_on(map))
            peet__consistency_library(map, core, &out->block);
        return PEET_EVENT_BLOCK;
    case PEET_ABSTRACT_ATOMIC:
        if (take_args(map, c, out))
            return map->error.code;
        if (!peet__spin_give_way(map, core, 0))
            return PEET_EVENT_ABSTRACT;
        c->next_step = PEET_STEP_ATOMIC;
        memcpy(c->request.args, map->args, 2 * sizeof *map->args);
        return PEET_MAP_AGAIN;
    case PEET_ABSTRACT_ORDER:
        if (take_args(map, c, out))
            return map->error.code;
        kind = peet__order(map, core, map->args);
        return kind ? kind : NOTHING;
    case PEET_ABSTRACT_AGAIN:
        return peet__middle_again(map, core, &out->abstract);
    case PEET_ABSTRACT_THREAD_CREATE: /* modules see the new context's number */
        if (take_args(map, c, out))
            return map->error.code;
        map->args[5] = map->next_number != UINT32_MAX ? map->next_number++ : UINT32_MAX;
        return PEET_EVENT_ABSTRACT;
    default:
        if (out->abstract.type >= PEET_ABSTRACT_TYPES)
            return peet__map_fail(map, PEET_ESTREAM, "context %u: unknown abstract event %u", c->number,
                out->abstract.type);
        if (out->abstract.type > PEET_ABSTRACT_THREAD_CREATE && take_args(map, c, out))
            return map->error.code;
        return PEET_EVENT_ABSTRACT;
    }
}

/** What comes next in the context's stream. */
static int from_stream(struct peet_map *map, struct peet_map_core *core, struct peet_event *out)
{
    struct peet_map_context *c = core->context;
    int kind;

    if (__builtin_expect(core->clock - core->dispatched >= map->config.slice_cycles, 0) &&
        peet__map_slice_over(map, core))
        return PEET_MAP_AGAIN;
    core->declined = !map->direct;
    kind = map->direct && map->until ? peet__map_run_direct(map, core) : 0;
    if (kind == PEET_MAP_DIRECT || kind == PEET_MAP_AGAIN)
        return kind;
    do {
        unsigned n = 0;

        if (map->ops->blocks && kind != PEET_EVENT_ABSTRACT) /* if most blocks are taken without it: one */
            n = map->ops->blocks(map->source, c->source, core->declined ? UINT_MAX : 1, &c->batch);

        c->batch_end = c->batch + n;
        c->batch_loop = c->batch;
        if (n) {
            prepare(map, core, c->batch, n);
            if (c->batch->turns != 1)
                return PEET_MAP_BATCH;
            out->block = *c->batch++;
            out->block.context = c->number;
            return PEET_EVENT_BLOCK;
        }
        kind = map->ops->next(map->source, c->source, out, &map->error);
        if (kind == PEET_EVENT_BLOCK) {
            out->block.context = c->number;
            prepare(map, core, &out->block, 1);
        } else if (kind < 0) {
            return peet__map_fail(map, kind, "context %u: %s", c->number, peet_err_text(kind));
        } else {
            kind = kind ? request(map, core, out) : end_of_stream(map, c, out);
        }
    } while (kind == NOTHING);
    return kind;
}

int peet__map_produce(struct peet_map *map, struct peet_map_core *core, struct peet_event *out)
{
    struct peet_map_context *c = core->context;
    const enum peet_map_step step = (enum peet_map_step)c->next_step;
    int kind;

    if (c->batch != c->batch_end) {
        out->block = *c->batch++;
        out->block.context = c->number;
        return PEET_EVENT_BLOCK;
    }
    if (step != PEET_STEP_LOCK)
        c->next_step = PEET_STEP_STREAM;
    switch (step) {
    case PEET_STEP_BEGIN:
        c->first_cycle = core->clock;
        return c->loop ? begin_iteration(map, c, out) : abstract(map, c, out, PEET_ABSTRACT_CONTEXT_START, 0);
    case PEET_STEP_JOIN:
        return abstract(map, c, out, PEET_ABSTRACT_DOALL_JOIN, 0);
    case PEET_STEP_EFFECT: {
        struct peet_abstract_event event = {c->request.type, c->number, c->request.nargs, c->request.args};

        peet__map_effect(map, core, &event);
        return map->error.code ? map->error.code : PEET_MAP_AGAIN;
    }
    case PEET_STEP_LOCK:
        kind = peet__lock_step(map, core, out);
        if (kind == PEET_EVENT_BLOCK && __builtin_expect(map->config.remap != NULL, 0))
            peet__map_remap(map, &out->block, 1);
        return kind;
    case PEET_STEP_ATOMIC:
        memcpy(map->args, c->request.args, 2 * sizeof *map->args);
        return abstract(map, c, out, PEET_ABSTRACT_ATOMIC, 2);
    case PEET_STEP_GRANT:
        return grant(map, core, out);
    case PEET_STEP_PIECES:
    case PEET_STEP_STREAM:
        break;
    }
    if (peet__consistency_on(map) && c->ordering)
        peet__consistency_access(map, core);
    if (step == PEET_STEP_PIECES) {
        out->abstract = (struct peet_abstract_event){
            .type = PEET_ABSTRACT_RANGE, .context = c->number, .nargs = 4, .args = c->range};
        if (range_block(map, c, out))
            return PEET_EVENT_BLOCK;
    }
    return from_stream(map, core, out);
}
