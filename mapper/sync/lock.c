/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lock models: what a processor does to lock and unlock a mutex, as references to the machine's memory.
 *
 *     tas     MODIFY lock until it was free                        unlock: STORE lock
 *     ttas    LOAD lock until it is free, then MODIFY as tas       unlock: STORE lock
 *     ticket  MODIFY lock (draw), LOAD lock until served           unlock: STORE lock
 *     mcs     STORE own node, MODIFY lock; if taken: STORE the     unlock: LOAD own node; MODIFY lock if nobody
 *             predecessor's node, LOAD own node until it is set            follows, else STORE the successor's node
 *
 * tas and ttas: Rudolph and Segall, ISCA 1984.  ticket and mcs: Mellor-Crummey and Scott, ACM TOCS 9(1), 1991.
 *
 *   1. Each step is a block of one reference, which the machine charges.  The step takes effect when its cost has been
 *      paid.  So the order in which references end decides who gets the lock.
 *   2. A waiter stays on its hardware context, and repeats its LOAD or MODIFY.
 *   3. A node of mcs is a line at PEET__LOCK_NODES, where the subject has no memory.  Nodes are PEET__LOCK_NODE_BYTES
 *      apart.  A context has PEET__LOCK_NODES_EACH of them, one for each lock that it holds or waits for.
 */
#include "sync/sync.h"

#include <errno.h>

#define PEET__LOCK_NODES 0x600000000000u
#define PEET__LOCK_NODE_BYTES 256u
#define PEET__LOCK_NODES_EACH 16u

/** PEET_STEP_LOCK: what has just been done, or (AGAIN) is to be done next. */
enum step {
    BEGIN,        /* nothing yet */
    LOOKED,       /* ttas, and try of ticket and mcs: the lock was read */
    SET,          /* tas, ttas: test-and-set is through; try of ticket and mcs */
    DRAWN,        /* ticket: in the queue */
    NODE_READY,   /* mcs: own node is written */
    SWAPPED,      /* mcs: the lock's tail is ours */
    LINKED,       /* mcs: the predecessor knows */
    WAITED,       /* ticket, mcs: looked whether it is our turn */
    AGAIN,        /* between two looks */
    FREE_BEGIN,   /* unlock: nothing yet */
    NODE_READ,    /* mcs: looked for a successor */
    TAIL_SWAPPED, /* mcs: there was none */
    FREED,        /* the lock is given back */
};

static void begin_with(struct peet_map_context *c, enum step step)
{
    c->next_step = PEET_STEP_LOCK;
    c->lock_step = (uint8_t)step;
}

/** Nothing more is to be done for the lock. */
static void leave(struct peet_map_context *c)
{
    if (c->next_step == PEET_STEP_LOCK)
        c->next_step = PEET_STEP_STREAM;
}

static int reference(struct peet_map *map, struct peet_map_context *c, struct peet_event *out, unsigned what,
    uint64_t address, enum step next)
{
    const struct peet_block *block = map->ops->synthetic(map->source, what);

    if (!block)
        return peet__map_fail(map, PEET_ENOMEM, "mapper: out of memory for the lock model");
    c->lock_step = (uint8_t)next;
    map->sync->values[0] = address;
    out->block =
        (struct peet_block_event){.block = block, .values = map->sync->values, .context = c->number, .turns = 1};
    return PEET_EVENT_BLOCK;
}

static uint64_t address_of(const struct peet_map_context *c)
{
    return c->request.type == PEET_ABSTRACT_COND_WAIT ? c->request.args[1] : c->request.args[0];
}

static unsigned kind_of(const struct peet_map_context *c)
{
    return (unsigned)(c->request.type == PEET_ABSTRACT_COND_WAIT ? c->request.args[2] : c->request.args[1]);
}

static uint64_t deadline_of(const struct peet_map_context *c)
{
    return c->request.type == PEET_ABSTRACT_MUTEX_LOCK ? c->request.args[2] : PEET_NEVER;
}

int peet__lock_acquire(struct peet_map *map, struct peet_map_context *c)
{
    if (!peet__lock_modelled(map))
        return 0;
    begin_with(c, BEGIN);
    c->spun = 0;
    c->spins = 0;
    return 1;
}

int peet__lock_release(struct peet_map *map, struct peet_map_context *c)
{
    if (!peet__lock_modelled(map))
        return 0;
    if (c->traffic) {
        c->traffic = 0;
        return 0;
    }
    begin_with(c, FREE_BEGIN);
    return 1;
}

void peet__lock_reacquire(struct peet_map *map, struct peet_map_context *c, uint64_t cycles)
{
    c->waiting = NULL;
    begin_with(c, BEGIN);
    c->spun = 0;
    c->spins = 0;
    peet__map_arrive(map, c, NULL, cycles);
}

int peet__lock_between(const struct peet_map_context *c)
{
    return c->lock_step == AGAIN || c->lock_step == BEGIN || c->lock_step == FREE_BEGIN;
}

int peet__lock_waits(const struct peet_map *map, const struct peet_map_context *c)
{
    const struct peet_map_object *o;

    if (c->next_step != PEET_STEP_LOCK || c->lock_step >= FREE_BEGIN || !c->spun || deadline_of(c) != PEET_NEVER)
        return 0;
    o = peet__sync_find((struct peet_map *)map, address_of(c), PEET_SYNC_MUTEX);
    return o && o->held && (c->queue || map->config.lock_model <= PEET_LOCK_TTAS);
}

/* ---- ends */

/** The lock is the context's, or it has given up. */
static int acquired(struct peet_map *map, struct peet_map_core *core, struct peet_map_context *c, int result)
{
    leave(c);
    core->stirs++;
    if (!result)
        c->locks++;
    if (c->request.type == PEET_ABSTRACT_COND_WAIT) {
        struct peet_map_object *o = peet__sync_find(map, address_of(c), PEET_SYNC_MUTEX);

        if (o && c->relocks)
            o->count = c->relocks;
        c->next_step = PEET_STEP_GRANT;
    } else if (c->spun) {
        c->wait_result = (uint64_t)result;
        c->next_step = PEET_STEP_GRANT;
    } else {
        peet__sync_answer(map, c, (uint64_t)result);
    }
    if (result == ETIMEDOUT)
        map->sync->timeouts[PEET_SYNC_MUTEX]++;
    return PEET_MAP_AGAIN;
}

static int try_fails(struct peet_map *map, struct peet_map_core *core, struct peet_map_context *c)
{
    if (!peet__try_put_off(map, core, c))
        return acquired(map, core, c, EBUSY);
    leave(c);
    return map->error.code ? map->error.code : PEET_MAP_AGAIN;
}

static int take(struct peet_map *map, struct peet_map_core *core, struct peet_map_context *c, struct peet_map_object *o)
{
    if (c->request.type == PEET_ABSTRACT_MUTEX_TRYLOCK)
        peet__try_succeeds(c);
    peet__mutex_take(o, c, kind_of(c));
    o->mutex.owner_node = c->node;
    return acquired(map, core, c, 0);
}

/** A signal or a cancellation: the wait is over without the lock, and the subject asks again if it likes. */
static int interrupted(struct peet_map *map, struct peet_map_core *core, struct peet_map_context *c)
{
    c->interrupted = 0;
    leave(c);
    core->stirs++;
    if (c->queue)
        peet__heap_remove(c->queue, c);
    c->wait_result = c->request.type == PEET_ABSTRACT_COND_WAIT ? peet__cond_unlocked(c) : EINTR;
    c->next_step = PEET_STEP_GRANT;
    map->sync->interrupts[PEET_SYNC_MUTEX]++;
    return PEET_MAP_AGAIN;
}

/** It is taken: look again, unless that is all that was wanted. */
static int taken(struct peet_map *map, struct peet_map_core *core, struct peet_map_context *c)
{
    enum { LOOK_ROUND = 1024 };

    if (c->request.type == PEET_ABSTRACT_MUTEX_TRYLOCK)
        return try_fails(map, core, c);
    if (!c->spun) {
        c->spun = 1;
        if (c->request.type != PEET_ABSTRACT_COND_WAIT)
            c->wait_since = core->clock;
    }
    if (c->interrupted)
        return interrupted(map, core, c);
    if (deadline_of(c) <= core->clock) {
        if (c->queue)
            peet__heap_remove(c->queue, c);
        return acquired(map, core, c, ETIMEDOUT);
    }
    peet__spin_takes_time(core, c);
    c->lock_step = AGAIN;
    if (++c->spins % LOOK_ROUND == 0)
        peet__spin_check(map);
    if (!map->error.code)
        peet__spin_give_way(map, core, 0);
    return map->error.code ? map->error.code : PEET_MAP_AGAIN;
}

/** Behind those that wait already; its turn will come. */
static void queue(struct peet_map *map, struct peet_map_object *o, struct peet_map_context *c)
{
    peet__heap_push(map, &o->waiters, c, 0, map->sync->orders++);
    o->mutex.tail_node = c->node;
}

/* ---- the models */

static uint64_t node_of(const struct peet_map_context *c, uint32_t index)
{
    return PEET__LOCK_NODES +
        ((uint64_t)c->number * PEET__LOCK_NODES_EACH + index % PEET__LOCK_NODES_EACH) * PEET__LOCK_NODE_BYTES;
}

static int begin(struct peet_map *map, struct peet_map_context *c, struct peet_event *out)
{
    const int trying = c->request.type == PEET_ABSTRACT_MUTEX_TRYLOCK;
    const uint64_t lock = address_of(c);

    c->node = node_of(c, c->locks);
    switch (map->config.lock_model) {
    case PEET_LOCK_TAS:
        return reference(map, c, out, PEET_SYNTHETIC_LOCK_MODIFY, lock, SET);
    case PEET_LOCK_TICKET:
        if (trying)
            return reference(map, c, out, PEET_SYNTHETIC_LOCK_LOAD, lock, LOOKED);
        return reference(map, c, out, PEET_SYNTHETIC_LOCK_MODIFY, lock, DRAWN);
    case PEET_LOCK_MCS:
        return reference(map, c, out, PEET_SYNTHETIC_LOCK_STORE, c->node, NODE_READY);
    default:
        return reference(map, c, out, PEET_SYNTHETIC_LOCK_LOAD, lock, LOOKED);
    }
}

static int again(struct peet_map *map, struct peet_map_context *c, struct peet_event *out)
{
    const uint64_t lock = address_of(c);

    switch (map->config.lock_model) {
    case PEET_LOCK_TAS:
        return reference(map, c, out, PEET_SYNTHETIC_LOCK_MODIFY, lock, SET);
    case PEET_LOCK_MCS:
        return reference(map, c, out, PEET_SYNTHETIC_LOCK_LOAD, c->node, WAITED);
    case PEET_LOCK_TICKET:
        return reference(map, c, out, PEET_SYNTHETIC_LOCK_LOAD, lock, WAITED);
    default:
        return reference(map, c, out, PEET_SYNTHETIC_LOCK_LOAD, lock, LOOKED);
    }
}

/** The traffic of the release is through: now the request itself. */
static int freed(struct peet_map *map, struct peet_map_core *core, struct peet_map_context *c)
{
    uint64_t args[PEET_MAP_ARGS];

    leave(c);
    c->traffic = 1;
    if (c->locks)
        c->locks--;
    for (unsigned i = 0; i < PEET_MAP_ARGS; i++)
        args[i] = c->request.args[i];
    if (c->request.type == PEET_ABSTRACT_COND_WAIT)
        peet__cond_wait(map, core, c, args);
    else
        peet__mutex_unlock(map, core, c, args);
    c->traffic = 0;
    return map->error.code ? map->error.code : PEET_MAP_AGAIN;
}

static int first_in_queue(const struct peet_map_object *o, uint64_t *out_node)
{
    if (!o || !o->waiters.n)
        return 0;
    *out_node = o->waiters.entries[0].context->node;
    return 1;
}

int peet__lock_step(struct peet_map *map, struct peet_map_core *core, struct peet_event *out)
{
    struct peet_map_context *c = core->context;
    const uint64_t lock = address_of(c);
    struct peet_map_object *o;
    uint64_t node;

    switch ((enum step)c->lock_step) {
    case BEGIN:
        return begin(map, c, out);
    case AGAIN:
        return again(map, c, out);
    case FREE_BEGIN:
        o = peet__sync_find(map, lock, PEET_SYNC_MUTEX);
        if (map->config.lock_model == PEET_LOCK_MCS)
            return reference(map, c, out, PEET_SYNTHETIC_LOCK_LOAD, o && o->held ? o->mutex.owner_node : node_of(c, 0),
                NODE_READ);
        return reference(map, c, out, PEET_SYNTHETIC_LOCK_STORE, lock, FREED);
    case NODE_READ:
    case TAIL_SWAPPED:
        if (first_in_queue(peet__sync_find(map, lock, PEET_SYNC_MUTEX), &node))
            return reference(map, c, out, PEET_SYNTHETIC_LOCK_STORE, node, FREED);
        if (c->lock_step == NODE_READ)
            return reference(map, c, out, PEET_SYNTHETIC_LOCK_MODIFY, lock, TAIL_SWAPPED);
        return freed(map, core, c);
    case FREED:
        return freed(map, core, c);
    case NODE_READY:
        return reference(map, c, out, PEET_SYNTHETIC_LOCK_MODIFY, lock, SWAPPED);
    default:
        break;
    }
    o = peet__sync_get(map, lock, PEET_SYNC_MUTEX);
    if (!o)
        return map->error.code;
    switch ((enum step)c->lock_step) {
    case LOOKED:
        if (!o->held)
            return reference(map, c, out, PEET_SYNTHETIC_LOCK_MODIFY, lock, SET);
        return taken(map, core, c);
    case SET:
        return o->held ? taken(map, core, c) : take(map, core, c, o);
    case DRAWN:
        if (!o->held)
            return take(map, core, c, o);
        queue(map, o, c);
        return taken(map, core, c);
    case SWAPPED:
        if (!o->held) {
            o->mutex.tail_node = c->node;
            return take(map, core, c, o);
        }
        if (c->request.type == PEET_ABSTRACT_MUTEX_TRYLOCK)
            return try_fails(map, core, c);
        node = o->mutex.tail_node;
        queue(map, o, c);
        return reference(map, c, out, PEET_SYNTHETIC_LOCK_STORE, node, LINKED);
    case LINKED:
    case WAITED:
        return !c->queue ? acquired(map, core, c, 0) : taken(map, core, c);
    default:
        return peet__map_fail(map, PEET_ESTREAM, "context %u: its lock is in an impossible state", c->number);
    }
}
