/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Synchronisation: what all kinds of objects and waits share.  The table of objects, waits and their grants, deadlines,
 * the choice among waiters, misuse, and the table that leads from a request to the file of its kind.  sync.h has the
 * rules.
 */
#include "base/splitmix.h"
#include "sync/sync.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const peet__sync_kind_names[PEET_SYNC_KINDS] = {
    [PEET_SYNC_MUTEX] = "mutex",
    [PEET_SYNC_RWLOCK] = "rwlock",
    [PEET_SYNC_COND] = "condition",
    [PEET_SYNC_BARRIER] = "barrier",
    [PEET_SYNC_SEMAPHORE] = "semaphore",
    [PEET_SYNC_ONCE] = "once",
    [PEET_SYNC_DOACROSS] = "doacross",
    [PEET_SYNC_LOOP] = "loop",
    [PEET_SYNC_JOIN] = "join",
    [PEET_SYNC_SLEEP] = "sleep",
    [PEET_SYNC_IO] = "io",
};

unsigned peet__sync_kind(uint32_t type)
{
    switch (type) {
    case PEET_ABSTRACT_MUTEX_LOCK ... PEET_ABSTRACT_MUTEX_UNLOCK:
        return PEET_SYNC_MUTEX;
    case PEET_ABSTRACT_RWLOCK_READ ... PEET_ABSTRACT_RWLOCK_UNLOCK:
        return PEET_SYNC_RWLOCK;
    case PEET_ABSTRACT_COND_WAIT ... PEET_ABSTRACT_COND_BROADCAST:
        return PEET_SYNC_COND;
    case PEET_ABSTRACT_BARRIER_WAIT:
        return PEET_SYNC_BARRIER;
    case PEET_ABSTRACT_SEM_WAIT ... PEET_ABSTRACT_SEM_VALUE:
        return PEET_SYNC_SEMAPHORE;
    case PEET_ABSTRACT_ONCE_BEGIN ... PEET_ABSTRACT_ONCE_END:
        return PEET_SYNC_ONCE;
    case PEET_ABSTRACT_POST ... PEET_ABSTRACT_WAIT:
        return PEET_SYNC_DOACROSS;
    case PEET_ABSTRACT_LOOP_INIT ... PEET_ABSTRACT_LOOP_NEXT:
        return PEET_SYNC_LOOP;
    case PEET_ABSTRACT_THREAD_JOIN:
        return PEET_SYNC_JOIN;
    case PEET_ABSTRACT_SLEEP:
        return PEET_SYNC_SLEEP;
    case PEET_ABSTRACT_IO_WAIT:
        return PEET_SYNC_IO;
    }
    return PEET_SYNC_KINDS;
}

/* ---------------------------------------------------------------------------------------- objects */

static struct peet_map_object **known(struct peet_map *map, uint64_t address, unsigned type)
{
    return &map->sync->known[(address + type) * 0x9e3779b97f4a7c15u >> (64 - PEET_SYNC_KNOWN_BITS)];
}

static int is_idle(const struct peet_map_object *o)
{
    return !o->held && !o->valued && !o->left_cycles && !o->waiters.n && !o->readers.n &&
        (o->key.type == PEET_SYNC_BARRIER ? !o->barrier.away : !o->count);
}

/** It is found without the table from now on, unless that would be the end of an idle one, which somebody may look at. */
static void get_known(struct peet_map *map, struct peet_map_object *o)
{
    struct peet_map_object **place = known(map, o->key.address, o->key.type);

    if (!*place || !is_idle(*place))
        *place = o;
}

static void forget(struct peet_map *map, const struct peet_map_object *o)
{
    struct peet_map_object **place = known(map, o->key.address, o->key.type);

    if (*place == o)
        *place = NULL;
}

struct peet_map_object *peet__sync_find(struct peet_map *map, uint64_t address, unsigned type)
{
    struct peet_map_key key = {address, type, 0};
    struct peet_map_object *o = *known(map, address, type);

    if (o && o->key.address == address && o->key.type == type)
        return o;
    HASH_FIND(hh, map->sync->objects, &key, sizeof key, o);
    if (o)
        get_known(map, o);
    return o;
}

struct peet_map_object *peet__sync_get(struct peet_map *map, uint64_t address, unsigned type)
{
    struct peet_map_sync *s = map->sync;
    struct peet_map_object *o = peet__sync_find(map, address, type);
    struct peet_map_heap waiters = {0}, readers = {0};

    if (o)
        return o;
    o = s->free_objects;
    if (o) {
        s->free_objects = o->next_free;
        waiters = o->waiters;
        readers = o->readers;
    } else if (!(o = malloc(sizeof *o))) {
        peet__map_fail(map, PEET_ENOMEM, "mapper: out of memory for a synchronisation object");
        return NULL;
    }
    *o = (struct peet_map_object){.key = {address, type, 0}, .waiters = waiters, .readers = readers};
    HASH_ADD(hh, s->objects, key, sizeof o->key, o);
    if (!o->hh.tbl) {
        o->next_free = s->free_objects;
        s->free_objects = o;
        peet__map_fail(map, PEET_ENOMEM, "mapper: out of memory for a synchronisation object");
        return NULL;
    }
    get_known(map, o);
    return o;
}

static void clear(struct peet_map_object *o)
{
    peet__heap_clear(&o->waiters);
    peet__heap_clear(&o->readers);
    if (o->key.type == PEET_SYNC_DOACROSS)
        peet__doacross_clear(o);
    else if (o->key.type == PEET_SYNC_LOOP)
        peet__loop_clear(o);
}

void peet__sync_drop(struct peet_map *map, struct peet_map_object *o)
{
    forget(map, o);
    clear(o);
    HASH_DEL(map->sync->objects, o);
    o->next_free = map->sync->free_objects;
    map->sync->free_objects = o;
}

void peet__sync_drop_idle(struct peet_map *map, struct peet_map_object *o)
{
    struct peet_map_object **place = known(map, o->key.address, o->key.type), *last = *place;

    if (!is_idle(o))
        return;
    if (o->key.lost || /* its address is something else's */
        (o->key.type != PEET_SYNC_MUTEX && o->key.type != PEET_SYNC_RWLOCK && o->key.type != PEET_SYNC_SEMAPHORE)) {
        peet__sync_drop(map, o);
        return;
    }
    if (last && last != o && is_idle(last))
        peet__sync_drop(map, last);
    *place = o;
}

/* ------------------------------------------------------------------------------------------ waits */

void peet__sync_queue(struct peet_map *map, struct peet_map_heap *heap, struct peet_map_context *c)
{
    struct peet_map_sync *s = map->sync;
    uint64_t order = s->orders++, key = order;

    if (map->config.winner == PEET_WINNER_LIFO)
        key = ~order;
    else if (map->config.winner == PEET_WINNER_RANDOM)
        key = peet__splitmix64(&s->random);
    peet__heap_push(map, heap, c, key, order);
}

int peet__sync_wait(struct peet_map *map, struct peet_map_core *core, struct peet_map_object *o,
    struct peet_map_heap *heap, uint64_t deadline)
{
    struct peet_map_context *c = core->context;

    if (deadline <= core->clock) {
        map->sync->timeouts[peet__sync_kind(c->request.type)]++;
        peet__sync_answer(map, c, ETIMEDOUT);
        return 0;
    }
    c->state = PEET_MAP_BLOCKED;
    c->waiting = o;
    c->wait_since = c->asked_cycles = core->clock;
    if (__builtin_expect(map->supposed != NULL, 0))
        peet__suppose_wait(map, core, o);
    if (heap)
        peet__sync_queue(map, heap, c);
    if (deadline != PEET_NEVER) {
        peet__heap_push(map, &map->sync->timers, c, deadline, map->sync->orders++);
        if (deadline < peet__map_key(map, 0))
            peet__map_rekey(map, 0, deadline);
    }
    peet__map_release(core);
    return 1;
}

static int by_order(const void *a, const void *b)
{
    const struct peet_map_entry *x = a, *y = b;

    return (x->order > y->order) - (x->order < y->order);
}

/** Let a module choose; it sees the waiters in the order in which they came. */
static struct peet_map_context *module_winner(struct peet_map *map, struct peet_map_heap *heap)
{
    const struct peet_module *m = map->judge->module;
    struct peet_map_entry *list = malloc(heap->n * sizeof *list);
    uint32_t *numbers = malloc(heap->n * sizeof *numbers);
    struct peet_map_context *c = NULL;
    unsigned index;

    if (!list || !numbers) {
        peet__map_fail(map, PEET_ENOMEM, "mapper: out of memory for the list of %u waiting contexts", heap->n);
    } else {
        memcpy(list, heap->entries, heap->n * sizeof *list);
        qsort(list, heap->n, sizeof *list, by_order);
        for (uint32_t i = 0; i < heap->n; i++)
            numbers[i] = list[i].context->number;
        index = m->pick_winner(map->judge->self, numbers, heap->n, map->now);
        if (index < heap->n) {
            c = list[index].context;
            peet__heap_remove(heap, c);
        } else {
            peet__map_fail(map, PEET_EMODULE, "%s: pick_winner() chose entry %u of %u", m->name, index, heap->n);
        }
    }
    free(list);
    free(numbers);
    return c;
}

struct peet_map_context *peet__sync_winner(struct peet_map *map, struct peet_map_heap *heap)
{
    if (heap->n > 1 && map->judge)
        return module_winner(map, heap);
    return peet__heap_pop(heap);
}

void peet__sync_grant(struct peet_map *map, struct peet_map_context *c, uint64_t cycles, uint64_t result)
{
    peet__heap_remove(&map->sync->timers, c);
    if (c->queue)
        peet__heap_remove(c->queue, c);
    if (__builtin_expect(map->supposed != NULL, 0))
        cycles = peet__suppose_grant(map, c, c->waiting, cycles);
    c->waiting = NULL;
    c->wait_result = result;
    c->next_step = PEET_STEP_GRANT;
    peet__map_arrive(map, c, NULL, cycles);
}

void peet__sync_give_up(struct peet_map *map, struct peet_map_context *c, uint64_t cycles, int why)
{
    struct peet_map_sync *s = map->sync;
    struct peet_map_object *o = c->waiting;
    unsigned kind = peet__sync_kind(c->request.type);
    uint64_t result = (uint64_t)why;

    peet__heap_remove(&s->timers, c);
    if (peet__try_again(map, c, cycles))
        return;
    if (c->queue)
        peet__heap_remove(c->queue, c);
    (why == EINTR ? s->interrupts : s->timeouts)[kind]++;
    switch (c->request.type) {
    case PEET_ABSTRACT_COND_WAIT:
        if (o->key.type == PEET_SYNC_MUTEX) { /* it had been woken, and wanted its mutex back */
            result = peet__cond_unlocked(c);
            break;
        }
        c->waiting = NULL;
        peet__sync_drop_idle(map, o);
        peet__mutex_reacquire(map, c, cycles, result);
        return;
    case PEET_ABSTRACT_RWLOCK_READ:
    case PEET_ABSTRACT_RWLOCK_WRITE:
        peet__rwlock_admit(map, o, cycles);
        break;
    case PEET_ABSTRACT_THREAD_JOIN:
        peet__thread_unjoin(map, c);
        break;
    case PEET_ABSTRACT_IO_WAIT:
        peet__io_forget(map, c);
        result = why == EINTR ? PEET_FAILED | EINTR : 0;
        break;
    case PEET_ABSTRACT_SLEEP:
        if (why == ETIMEDOUT) {
            s->timeouts[kind]--; /* what it is for */
            result = 0;
        }
        break;
    case PEET_ABSTRACT_BARRIER_WAIT:
        result = peet__barrier_leave(map, o);
        break;
    default:
        peet__sync_drop_idle(map, o);
    }
    peet__sync_grant(map, c, cycles, result);
}

void peet__sync_granted(struct peet_map *map, struct peet_map_context *c, const uint64_t *args)
{
    struct peet_map_sync *s = map->sync;
    unsigned kind = peet__sync_kind((uint32_t)args[1]);
    uint64_t waited = args[2];

    peet__sync_answer(map, c, args[3]);
    s->waits[kind]++;
    s->waited_cycles[kind] += waited;
    if (kind < PEET_SYNC_OBJECT_TYPES) {
        struct peet_map_key key = {args[0], kind, 0};
        struct peet_map_contended *one;

        HASH_FIND(hh, s->contended, &key, sizeof key, one);
        if (!one && (HASH_COUNT(s->contended) >= PEET_SYNC_CONTENDED_MAX || !(one = calloc(1, sizeof *one)))) {
            s->contended_left_out++;
            return;
        }
        if (!one->waits) {
            one->key = key;
            HASH_ADD(hh, s->contended, key, sizeof one->key, one);
            if (!one->hh.tbl) {
                free(one);
                s->contended_left_out++;
                return;
            }
        }
        one->waits++;
        one->waited_cycles += waited;
        if (waited > one->longest_cycles)
            one->longest_cycles = waited;
    }
}

/* ----------------------------------------------------------------------------------------- timers */

uint64_t peet__sync_next(const struct peet_map *map)
{
    const struct peet_map_sync *s = map->sync;
    uint64_t timer = s->timers.n ? s->timers.entries[0].key : PEET_MAP_NEVER;

    return timer < s->io_tick ? timer : s->io_tick;
}

void peet__sync_due(struct peet_map *map)
{
    struct peet_map_sync *s = map->sync;
    uint64_t timer = s->timers.n ? s->timers.entries[0].key : PEET_MAP_NEVER;

    if (s->io_tick <= timer && s->io_tick <= map->now)
        peet__io_look(map);
    else if (timer <= map->now)
        peet__sync_give_up(map, s->timers.entries[0].context, timer, ETIMEDOUT);
}

/* ----------------------------------------------------------------------------- initialise, destroy */

/**
 * Something else is where an object was that contexts wait for: they go on waiting for what was there, as those do that
 * sleep in the kernel while the C library begins anew, and nobody who uses the new object meets them.
 */
static void lose(struct peet_map *map, struct peet_map_object *o)
{
    forget(map, o);
    HASH_DEL(map->sync->objects, o);
    o->key.lost = ++map->sync->lost;
    HASH_ADD(hh, map->sync->objects, key, sizeof o->key, o);
    if (!o->hh.tbl)
        peet__map_fail(map, PEET_ENOMEM, "mapper: out of memory for a synchronisation object");
}

static void init(struct peet_map *map, struct peet_map_core *core, struct peet_map_context *c, const uint64_t *args)
{
    unsigned type = (unsigned)args[1];
    struct peet_map_object *o;

    if (type >= PEET_SYNC_TYPES || (type == PEET_SYNC_BARRIER && !args[2])) {
        peet__sync_answer(map, c, EINVAL);
        return;
    }
    o = peet__sync_find(map, args[0], type);
    if (o && (o->waiters.n || o->readers.n || (type == PEET_SYNC_DOACROSS && o->doacross.turns))) {
        peet__sync_misuse(map, c, core->clock, "initialises %s %s while others wait for it",
            peet__sync_kind_names[type], PEET_SYNC_NAME(map, args[0]));
        if (type == PEET_SYNC_DOACROSS || (type == PEET_SYNC_MUTEX && peet__lock_modelled(map))) {
            peet__sync_answer(map, c, EBUSY); /* these are found by their address each time that somebody looks */
            return;
        }
        lose(map, o);
        o = NULL;
    }
    if (o && type <= PEET_SYNC_RWLOCK && (o->held || o->count))
        peet__sync_misuse(map, c, core->clock, "initialises %s %s, which is locked", peet__sync_kind_names[type],
            PEET_SYNC_NAME(map, args[0]));
    if (o)
        peet__sync_drop(map, o);
    switch (type) {
    case PEET_SYNC_BARRIER:
    case PEET_SYNC_DOACROSS:
    case PEET_SYNC_SEMAPHORE:
        if (type == PEET_SYNC_SEMAPHORE && !args[2])
            break;
        o = peet__sync_get(map, args[0], type);
        if (!o)
            return;
        o->valued = type != PEET_SYNC_SEMAPHORE;
        if (type == PEET_SYNC_DOACROSS)
            peet__doacross_init(map, o, (int64_t)args[2]);
        else
            o->count = args[2];
        break;
    }
    peet__sync_answer(map, c, 0);
}

/** In use or not, the C library does not look.  Who waits may be let go later; who had it may unlock it. */
static int destroyed_anyway(const struct peet_map_object *o)
{
    return o->key.type == PEET_SYNC_RWLOCK || o->key.type == PEET_SYNC_SEMAPHORE ||
        (o->key.type == PEET_SYNC_MUTEX && o->kind == PEET_MUTEX_SPIN);
}

static void destroy(struct peet_map *map, struct peet_map_core *core, struct peet_map_context *c, const uint64_t *args)
{
    unsigned type = (unsigned)args[1];
    struct peet_map_object *o;
    const char *how = NULL;

    if (type >= PEET_SYNC_TYPES) {
        peet__sync_answer(map, c, EINVAL);
        return;
    }
    o = peet__sync_find(map, args[0], type);
    if (o &&
        (o->waiters.n || o->readers.n || (type == PEET_SYNC_DOACROSS && o->doacross.turns) ||
            (type == PEET_SYNC_BARRIER && o->barrier.away)))
        how = "while others wait for it";
    else if (o && (o->held || (type == PEET_SYNC_RWLOCK && o->count)))
        how = type == PEET_SYNC_ONCE ? "while it is run" : "while it is locked";
    if (how)
        peet__sync_misuse(map, c, core->clock, "destroys %s %s %s", peet__sync_kind_names[type],
            PEET_SYNC_NAME(map, args[0]), how);
    if (how && !destroyed_anyway(o)) {
        peet__sync_answer(map, c, EBUSY);
        return;
    }
    if (o && !o->waiters.n && !o->readers.n) {
        if (type == PEET_SYNC_RWLOCK && how)
            peet__rwlock_forget(map, o, c);
        else if (o->held && o->owner == c->number)
            peet__lock_left(c);
        peet__sync_drop(map, o);
    }
    peet__sync_answer(map, c, 0);
}

static void sleep_until(struct peet_map *map, struct peet_map_core *core, struct peet_map_context *c,
    const uint64_t *args)
{
    if (args[0] <= core->clock)
        peet__sync_answer(map, c, 0);
    else
        peet__sync_wait(map, core, NULL, NULL, args[0]);
}

/** Cycles that a context, or all of them, have been on hardware contexts. */
static uint64_t ran(const struct peet_map *map, const struct peet_map_context *only)
{
    uint64_t cycles = only ? only->ran_cycles : 0;

    for (unsigned i = 0; i < map->ncores; i++) {
        const struct peet_map_core *core = &map->cores[i];

        if (!only)
            cycles += core->ran_cycles;
        if (core->context && (!only || core->context == only))
            cycles += core->clock - core->dispatched;
    }
    return cycles;
}

static uint64_t clock_read(struct peet_map *map, const struct peet_map_core *core, uint64_t which)
{
    if (which == 2)
        peet__map_settle_ahead(map);
    return which == 1 ? ran(map, core->context) : which == 2 ? ran(map, NULL) : core->clock;
}

static void grant(struct peet_map *map, struct peet_map_core *core, struct peet_map_context *c, const uint64_t *args)
{
    if (c->relocking)
        peet__mutex_relock(map, core, c, args);
    else
        peet__sync_granted(map, c, args);
}

/* --------------------------------------------------------------------------------------- dispatch */

static void (*const effects[PEET_ABSTRACT_TYPES])(struct peet_map *, struct peet_map_core *, struct peet_map_context *,
    const uint64_t *) = {
    [PEET_ABSTRACT_THREAD_CREATE] = peet__thread_create,
    [PEET_ABSTRACT_THREAD_JOIN] = peet__thread_join,
    [PEET_ABSTRACT_THREAD_DETACH] = peet__thread_detach,
    [PEET_ABSTRACT_SYNC_INIT] = init,
    [PEET_ABSTRACT_SYNC_DESTROY] = destroy,
    [PEET_ABSTRACT_MUTEX_LOCK] = peet__mutex_lock,
    [PEET_ABSTRACT_MUTEX_TRYLOCK] = peet__mutex_trylock,
    [PEET_ABSTRACT_MUTEX_UNLOCK] = peet__mutex_unlock,
    [PEET_ABSTRACT_RWLOCK_READ] = peet__rwlock_read,
    [PEET_ABSTRACT_RWLOCK_WRITE] = peet__rwlock_write,
    [PEET_ABSTRACT_RWLOCK_TRYREAD] = peet__rwlock_tryread,
    [PEET_ABSTRACT_RWLOCK_TRYWRITE] = peet__rwlock_trywrite,
    [PEET_ABSTRACT_RWLOCK_UNLOCK] = peet__rwlock_unlock,
    [PEET_ABSTRACT_COND_WAIT] = peet__cond_wait,
    [PEET_ABSTRACT_COND_SIGNAL] = peet__cond_signal,
    [PEET_ABSTRACT_COND_BROADCAST] = peet__cond_broadcast,
    [PEET_ABSTRACT_BARRIER_WAIT] = peet__barrier_wait,
    [PEET_ABSTRACT_SEM_WAIT] = peet__sem_wait,
    [PEET_ABSTRACT_SEM_TRYWAIT] = peet__sem_trywait,
    [PEET_ABSTRACT_SEM_POST] = peet__sem_post,
    [PEET_ABSTRACT_SEM_VALUE] = peet__sem_value,
    [PEET_ABSTRACT_ONCE_BEGIN] = peet__once_begin,
    [PEET_ABSTRACT_ONCE_END] = peet__once_end,
    [PEET_ABSTRACT_POST] = peet__post,
    [PEET_ABSTRACT_WAIT] = peet__wait,
    [PEET_ABSTRACT_ATOMIC] = peet__spin_atomic,
    [PEET_ABSTRACT_SLEEP] = sleep_until,
    [PEET_ABSTRACT_CLOCK] = grant, /* see peet__sync_effect() */
    [PEET_ABSTRACT_IO_WAIT] = peet__io_wait,
    [PEET_ABSTRACT_LOOP_INIT] = peet__loop_init,
    [PEET_ABSTRACT_LOOP_NEXT] = peet__loop_next,
    [PEET_ABSTRACT_INTERRUPT] = peet__interrupt,
    [PEET_ABSTRACT_SYNC_GRANT] = grant,
};

/** Requests that do not wait, with which contexts wait all the same: by asking again. */
static int polling(const struct peet_abstract_event *event)
{
    switch (event->type) {
    case PEET_ABSTRACT_MUTEX_LOCK:
    case PEET_ABSTRACT_RWLOCK_READ:
    case PEET_ABSTRACT_RWLOCK_WRITE:
    case PEET_ABSTRACT_COND_WAIT:
    case PEET_ABSTRACT_SEM_WAIT:
        return event->args[event->nargs - 1] != PEET_NEVER; /* the deadline, which may be past */
    case PEET_ABSTRACT_MUTEX_TRYLOCK:
    case PEET_ABSTRACT_MUTEX_UNLOCK:
    case PEET_ABSTRACT_RWLOCK_TRYREAD:
    case PEET_ABSTRACT_RWLOCK_TRYWRITE:
    case PEET_ABSTRACT_RWLOCK_UNLOCK:
    case PEET_ABSTRACT_SEM_TRYWAIT:
    case PEET_ABSTRACT_SEM_VALUE:
    case PEET_ABSTRACT_THREAD_JOIN:
    case PEET_ABSTRACT_SLEEP:
    case PEET_ABSTRACT_IO_WAIT:
        return 1;
    }
    return 0;
}

/** Requests by which a context wakes others: it may make them until those have done something. */
static int waking(uint32_t type)
{
    return type == PEET_ABSTRACT_COND_SIGNAL || type == PEET_ABSTRACT_COND_BROADCAST || type == PEET_ABSTRACT_SEM_POST;
}

enum { POLLS = 64 }; /* so many of them, and a context is taken to be spinning */

int peet__sync_deferred(uint32_t type)
{
    return type < PEET_ABSTRACT_TYPES && effects[type] && type != PEET_ABSTRACT_CLOCK &&
        type != PEET_ABSTRACT_SYNC_GRANT && type != PEET_ABSTRACT_ATOMIC;
}

void peet__sync_effect(struct peet_map *map, struct peet_map_core *core, const struct peet_abstract_event *event)
{
    struct peet_map_context *c = core->context;
    unsigned kind;

    if (!effects[event->type])
        return;
    kind = peet__sync_kind(event->type);
    if (kind < PEET_SYNC_KINDS)
        map->sync->operations[kind]++;
    if (event->type == PEET_ABSTRACT_CLOCK) { /* the one request whose argument may be left out */
        peet__sync_answer(map, c, clock_read(map, core, event->nargs ? event->args[0] : 0));
        peet__spin_give_way(map, core, POLLS);
        return;
    }
    effects[event->type](map, core, c, event->args);
    if (__builtin_expect(c->interrupted, 0))
        peet__interrupt_late(map, core, c);
    if (core->context && (polling(event) || waking(event->type)))
        peet__spin_give_way(map, core, POLLS);
}

uint64_t peet__sync_cost(struct peet_map *map, const struct peet_map_core *core,
    const struct peet_abstract_event *event)
{
    struct peet_map_context *c = core->context;

    if (event->type == PEET_ABSTRACT_SYSCALL)
        return map->config.syscall_cycles + (uint64_t)((double)event->args[1] * map->config.io_cycles_per_byte);
    if (event->type != PEET_ABSTRACT_CLOCK && event->type != PEET_ABSTRACT_YIELD && !polling(event))
        return 0;
    if (c->looked != core->clock) {
        c->looked = core->clock;
        c->looks = 0;
    }
    if (++c->looks < POLLS)
        return 0;
    c->looks = 0;
    return map->config.poll_cycles;
}

/* ----------------------------------------------------------------------------------------- misuse */

void peet__sync_misuse(struct peet_map *map, struct peet_map_context *c, uint64_t cycles, const char *format, ...)
{
    struct peet_map_sync *s = map->sync;
    struct peet_map_misuse one = {.cycles = cycles, .context = c->number};
    char text[sizeof one.text + 80];
    va_list ap;

    va_start(ap, format);
    vsnprintf(one.text, sizeof one.text, format, ap);
    va_end(ap);
    if (map->config.middle) /* the other half may lie outside the piece */
        return;
    if (s->nmisuses++ >= PEET_SYNC_MISUSES)
        return;
    if (!s->misuses && !(s->misuses = calloc(PEET_SYNC_MISUSES, sizeof *s->misuses)))
        return;
    s->misuses[s->nmisuses - 1] = one;
    snprintf(text, sizeof text, "cycle %llu: context %u %s", (unsigned long long)cycles, c->number, one.text);
    if (map->config.report)
        map->config.report(map->config.report_arg, c->source, text);
}

/* ----------------------------------------------------------------------------------- life and death */

int peet__sync_new(struct peet_map *map, struct peet_error *error)
{
    map->sync = calloc(1, sizeof *map->sync);
    if (!map->sync)
        return peet_error_set(error, PEET_ENOMEM, "mapper: out of memory");
    map->sync->timers.timers = 1;
    map->sync->io_tick = PEET_MAP_NEVER;
    map->sync->random = map->config.seed;
    return 0;
}

void peet__sync_free(struct peet_map *map)
{
    struct peet_map_sync *s = map->sync;
    struct peet_map_object *o, *more;
    struct peet_map_hold *hold, *next_hold;
    struct peet_map_contended *one, *next_one;
    struct peet_map_thread *t, *next_thread;

    if (!s)
        return;
    HASH_ITER(hh, s->objects, o, more)
    peet__sync_drop(map, o);
    while ((o = s->free_objects) != NULL) {
        s->free_objects = o->next_free;
        free(o->waiters.entries);
        free(o->readers.entries);
        free(o);
    }
    HASH_ITER(hh, s->holds, hold, next_hold)
    {
        HASH_DEL(s->holds, hold);
        free(hold);
    }
    HASH_ITER(hh, s->contended, one, next_one)
    {
        HASH_DEL(s->contended, one);
        free(one);
    }
    HASH_ITER(hh, s->threads, t, next_thread)
    {
        HASH_DEL(s->threads, t);
        free(t);
    }
    free(s->timers.entries);
    free(s->joiners.entries);
    free(s->io_descriptors);
    free(s->io_events);
    free(s->misuses);
    free(s);
    map->sync = NULL;
}
