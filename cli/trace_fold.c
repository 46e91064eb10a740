/* SPDX-License-Identifier: Apache-2.0 */
/* See trace_fold.h.  Events come in the order of time; who unlocks what another one holds has been given it since. */
#include "trace_fold.h"

#include <peet/raw.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

enum class { LOCK, WRITER, READER, ONCE, VALUE, POSTED, PLACE, BLOCK, THREAD };

/** Something that is known of an address: whose it is, and how much. */
struct fact {
    UT_hash_handle hh;
    struct {
        uint64_t address;
        uint32_t class, context; /* enum class; READER: the reader, POSTED: 0 */
        uint64_t place;          /* POSTED: the iteration */
    } key;
    uint32_t owner;
    uint64_t kind, count; /* the lock's kind, how often; VALUE: type and value; BLOCK: bytes, caller */
};

struct peet_fold {
    struct fact *facts;
    uint32_t next;
    int in_region; /* of interest */
};

int peet_fold_new(struct peet_fold **out_fold)
{
    *out_fold = calloc(1, sizeof **out_fold);
    if (!*out_fold)
        return PEET_ENOMEM;
    (*out_fold)->next = 1;
    return 0;
}

void peet_fold_free(struct peet_fold *fold)
{
    struct fact *f, *next;

    if (!fold)
        return;
    HASH_ITER(hh, fold->facts, f, next)
    {
        HASH_DEL(fold->facts, f);
        free(f);
    }
    free(fold);
}

/** @make: or NULL if there is none; NULL then: out of memory */
static struct fact *fact_of(const struct peet_fold *fold, uint64_t address, enum class class, uint32_t context,
    uint64_t place)
{
    struct fact like, *f;

    memset(&like, 0, sizeof like);
    like.key.address = address;
    like.key.class = class;
    like.key.context = context;
    like.key.place = place;
    HASH_FIND(hh, fold->facts, &like.key, sizeof like.key, f);
    return f;
}

static struct fact *make(struct peet_fold *fold, uint64_t address, enum class class, uint32_t context, uint64_t place)
{
    struct fact *f = fact_of(fold, address, class, context, place);

    if (f || !(f = calloc(1, sizeof *f)))
        return f;
    f->key.address = address;
    f->key.class = class;
    f->key.context = context;
    f->key.place = place;
    HASH_ADD(hh, fold->facts, key, sizeof f->key, f);
    return f;
}

static void drop(struct peet_fold *fold, struct fact *f)
{
    if (!f)
        return;
    HASH_DEL(fold->facts, f);
    free(f);
}

static int lock(struct peet_fold *fold, uint32_t context, uint64_t address, enum class class, uint64_t kind)
{
    struct fact *f = make(fold, address, class, class == READER ? context : 0, 0);

    if (!f)
        return PEET_ENOMEM;
    if (f->owner != context)
        f->count = 0;
    f->owner = context;
    f->kind = kind;
    f->count++;
    return 0;
}

/** @all: however often it was locked */
static void unlock(struct peet_fold *fold, uint32_t context, uint64_t address, enum class class, int all)
{
    struct fact *f = fact_of(fold, address, class, class == READER ? context : 0, 0);

    if (f && f->owner == context && (all || f->kind != PEET_MUTEX_RECURSIVE || class != LOCK || !--f->count)) {
        if (class == READER && f->count > 1)
            f->count--;
        else
            drop(fold, f);
    }
}

static int init(struct peet_fold *fold, const uint64_t *a)
{
    struct fact *f, *next;

    HASH_ITER(hh, fold->facts, f, next)
    if (f->key.address == a[0] && f->key.class <= POSTED &&
        (a[1] == PEET_SYNC_MUTEX           ? f->key.class == LOCK
                : a[1] == PEET_SYNC_RWLOCK ? f->key.class == WRITER || f->key.class == READER
                : a[1] == PEET_SYNC_ONCE   ? f->key.class == ONCE
                                           : (f->key.class == VALUE && f->kind == a[1]) || f->key.class == POSTED))
        drop(fold, f);
    return 0;
}

static int value(struct peet_fold *fold, uint64_t address, unsigned type, uint64_t by, int set)
{
    struct fact *f = make(fold, address, VALUE, type, 0);

    if (!f)
        return PEET_ENOMEM;
    f->kind = type;
    f->count = set ? by : f->count + by;
    return 0;
}

/** An iteration of a doacross loop has posted. */
static int post(struct peet_fold *fold, uint64_t address, uint64_t iteration)
{
    struct fact *f = fact_of(fold, address, VALUE, PEET_SYNC_DOACROSS, 0), *next;

    if (!f && value(fold, address, PEET_SYNC_DOACROSS, (uint64_t)INT64_MIN, 1))
        return PEET_ENOMEM;
    f = fact_of(fold, address, VALUE, PEET_SYNC_DOACROSS, 0);
    if ((int64_t)iteration < (int64_t)f->count)
        return 0;
    if (iteration != f->count)
        return make(fold, address, POSTED, 0, iteration) ? 0 : PEET_ENOMEM;
    for (f->count++; (next = fact_of(fold, address, POSTED, 0, f->count)) != NULL; f->count++)
        drop(fold, next);
    return 0;
}

static int thread(struct peet_fold *fold, uint64_t number, uint64_t what)
{
    struct fact *f = make(fold, number, THREAD, 0, 0);

    if (!f)
        return PEET_ENOMEM;
    f->kind |= what;
    return 0;
}

static int block(struct peet_fold *fold, const uint64_t *a)
{
    struct fact *f = make(fold, a[0], BLOCK, 0, 0);

    if (!f)
        return PEET_ENOMEM;
    f->kind = a[1];
    f->count = a[2];
    return 0;
}

static void fork_of(struct peet_fold *fold, const uint64_t *a)
{
    fold->next += (int64_t)a[1] > (int64_t)a[0] ? (uint32_t)(a[1] - a[0]) : 0;
}

/** A condition wait gives its mutex up and has it again, unless it was interrupted in between. */
static void cond(struct peet_fold *fold, uint32_t context, const uint64_t *a, uint64_t result)
{
    if (result & PEET_FAILED)
        unlock(fold, context, a[1], LOCK, 1);
}

static uint32_t least_args(uint32_t type)
{
    static const uint32_t least[PEET_ABSTRACT_TYPES] = {
#define PEET_X(name, value, nargs, text, args) [value] = nargs,
        PEET_ABSTRACTS(PEET_X)
#undef PEET_X
    };

    return type < PEET_ABSTRACT_TYPES ? least[type] : UINT32_MAX;
}

int peet_fold_event(struct peet_fold *fold, uint32_t context, const struct peet_abstract_event *event, uint64_t result)
{
    const uint64_t *a = event->args;
    struct fact *f;

    if (event->nargs < least_args(event->type))
        return 0;
    switch (event->type) {
    case PEET_ABSTRACT_THREAD_CREATE:
        fold->next++;
        return a[4] ? thread(fold, result, 2) : 0;
    case PEET_ABSTRACT_THREAD_JOIN:
        return result ? 0 : thread(fold, a[0], 1);
    case PEET_ABSTRACT_THREAD_DETACH:
        return result ? 0 : thread(fold, a[0], 2);
    case PEET_ABSTRACT_DOALL_FORK:
    case PEET_ABSTRACT_MARK_FORK:
        fork_of(fold, a);
        return 0;
    case PEET_ABSTRACT_ALLOC:
        return block(fold, a);
    case PEET_ABSTRACT_FREE:
        drop(fold, fact_of(fold, a[0], BLOCK, 0, 0));
        return 0;
    case PEET_ABSTRACT_SYNC_INIT:
    case PEET_ABSTRACT_SYNC_DESTROY:
        if (result)
            return 0;
        init(fold, a);
        return event->type == PEET_ABSTRACT_SYNC_INIT && a[1] >= PEET_SYNC_BARRIER && a[1] != PEET_SYNC_ONCE
            ? value(fold, a[0], (unsigned)a[1], a[2], 1)
            : 0;
    case PEET_ABSTRACT_MUTEX_LOCK:
    case PEET_ABSTRACT_MUTEX_TRYLOCK:
        return result ? 0 : lock(fold, context, a[0], LOCK, a[1]);
    case PEET_ABSTRACT_MUTEX_UNLOCK:
        unlock(fold, context, a[0], LOCK, 0);
        return 0;
    case PEET_ABSTRACT_RWLOCK_READ:
    case PEET_ABSTRACT_RWLOCK_TRYREAD:
        return result ? 0 : lock(fold, context, a[0], READER, a[1]);
    case PEET_ABSTRACT_RWLOCK_WRITE:
    case PEET_ABSTRACT_RWLOCK_TRYWRITE:
        return result ? 0 : lock(fold, context, a[0], WRITER, a[1]);
    case PEET_ABSTRACT_RWLOCK_UNLOCK:
        f = fact_of(fold, a[0], WRITER, 0, 0);
        unlock(fold, context, a[0], f && f->owner == context ? WRITER : READER, 0);
        return 0;
    case PEET_ABSTRACT_COND_WAIT:
        cond(fold, context, a, result);
        return 0;
    case PEET_ABSTRACT_SEM_POST:
        return result ? 0 : value(fold, a[0], PEET_SYNC_SEMAPHORE, a[1], 0);
    case PEET_ABSTRACT_SEM_WAIT:
    case PEET_ABSTRACT_SEM_TRYWAIT:
        return result ? 0 : value(fold, a[0], PEET_SYNC_SEMAPHORE, UINT64_MAX, 0);
    case PEET_ABSTRACT_ONCE_BEGIN:
        return result == 1 ? lock(fold, context, a[0], ONCE, 0) : 0;
    case PEET_ABSTRACT_ONCE_END:
        drop(fold, fact_of(fold, a[0], ONCE, 0, 0));
        return 0;
    case PEET_ABSTRACT_POST:
        return post(fold, a[0], a[1]);
    case PEET_ABSTRACT_ROI_BEGIN:
    case PEET_ABSTRACT_ROI_END:
        fold->in_region = event->type == PEET_ABSTRACT_ROI_BEGIN;
        return 0;
    case PEET_ABSTRACT_ORDER:
        f = a[2] == PEET_ORDER_END ? make(fold, a[0], PLACE, 0, 0) : NULL;
        if (f && (!f->owner || a[1] > f->count))
            f->owner = 1, f->count = a[1];
        return f || a[2] != PEET_ORDER_END ? 0 : PEET_ENOMEM;
    }
    return 0;
}

/* --------------------------------------------------------------------------------------- what is known */

/** A request of up to five arguments. */
static void add(json_t *list, unsigned type, size_t n, const uint64_t *args)
{
    json_t *one = json_array();

    json_array_append_new(one, json_integer(type));
    for (size_t i = 0; i < n; i++)
        json_array_append_new(one, json_integer((json_int_t)args[i]));
    json_array_append_new(list, one);
}

json_t *peet_fold_held(struct peet_fold *fold, uint32_t context)
{
    static const unsigned requests[] = {[LOCK] = PEET_ABSTRACT_MUTEX_LOCK,
        [WRITER] = PEET_ABSTRACT_RWLOCK_WRITE,
        [READER] = PEET_ABSTRACT_RWLOCK_READ,
        [ONCE] = PEET_ABSTRACT_ONCE_BEGIN};
    json_t *list = json_array();
    struct fact *f, *next;

    HASH_ITER(hh, fold->facts, f, next)
    if (f->key.class <= ONCE && f->owner == context)
        for (uint64_t i = 0; i < (f->key.class == ONCE ? 1 : f->count); i++)
            add(list, requests[f->key.class], f->key.class == ONCE ? 1 : 3,
                (const uint64_t[]){f->key.address, f->kind, PEET_NEVER});
    return list;
}

json_t *peet_fold_shared(struct peet_fold *fold)
{
    json_t *list = json_array();
    struct fact *f, *next;

    HASH_ITER(hh, fold->facts, f, next)
    if (f->key.class == VALUE && !(f->kind == PEET_SYNC_SEMAPHORE && (int64_t)f->count <= 0))
        add(list, PEET_ABSTRACT_SYNC_INIT, 3, (const uint64_t[]){f->key.address, f->kind, f->count});
    else if (f->key.class == PLACE)
        add(list, PEET_ABSTRACT_ORDER, 5, (const uint64_t[]){f->key.address, f->count, PEET_ORDER_END, 0, 0});
    HASH_ITER(hh, fold->facts, f, next)
    if (f->key.class == POSTED)
        add(list, PEET_ABSTRACT_POST, 2, (const uint64_t[]){f->key.address, f->key.place});
    if (fold->in_region)
        add(list, PEET_ABSTRACT_ROI_BEGIN, 0, NULL);
    return list;
}

uint32_t peet_fold_next(const struct peet_fold *fold)
{
    return fold->next;
}

void peet_fold_set_next(struct peet_fold *fold, uint32_t next)
{
    fold->next = next;
}

int peet_fold_joined(const struct peet_fold *fold, uint32_t number)
{
    const struct fact *f = fact_of(fold, number, THREAD, 0, 0);

    return f && f->kind != 0;
}

int peet_fold_detached(const struct peet_fold *fold, uint32_t number)
{
    const struct fact *f = fact_of(fold, number, THREAD, 0, 0);

    return f && (f->kind & 2);
}

int peet_fold_blocks(const struct peet_fold *fold, struct peet_recorder *to)
{
    int err = 0;

    for (const struct fact *f = fold->facts; f && !err; f = f->hh.next)
        if (f->key.class == BLOCK)
            err = peet_recorder_early(to,
                (const uint64_t[]){0, PEET_RAW_ABSTRACT(PEET_ABSTRACT_ALLOC, 3), f->key.address, f->kind, f->count}, 5);
    return err;
}
