/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Synchronisation in the mapper: the objects that contexts wait for, the waits themselves, threads and
 * timers.  One implementation for all front ends.  sync.c dispatches and does what all kinds share; one
 * file per kind has its rules.  Nobody outside the mapper includes this.
 *
 * OBJECTS are known by the address that the subject gave them, and by their type, so that memory that
 * was a mutex may become a semaphore.  An object's record exists only while it says something: while it is held or
 * waited for, or was given a value.  Whatever has no record is as good as new; so statically
 * initialised objects, and such as nobody destroys, need no care.
 *
 * A WAIT begins when a request's cost has been paid and cannot be met, and ends by a grant (the object is the
 * waiter's from that moment on), by its deadline, or by an interrupt.  Then the context becomes
 * ready; the first thing that it does when it gets a hardware context is SYNC_GRANT.
 *
 * ORDER.  Requests take effect in the order of the clocks of their hardware contexts, ties by index;
 * among waiters, peet__sync_winner() chooses.
 */
#ifndef PEET_SYNC_H
#define PEET_SYNC_H

#define HASH_NONFATAL_OOM 1
#include "state/map.h"
#include <uthash.h>

/** Types of objects beyond enum peet_sync_type. */
enum { PEET_SYNC_LOOP = PEET_SYNC_TYPES, PEET_SYNC_OBJECT_TYPES, PEET_SYNC_ORDER = 64 /* no kind of waits */ };

/** Kinds of waits, as the statistics list them: the types of objects, then what is no object. */
enum {
    PEET_SYNC_JOIN = PEET_SYNC_OBJECT_TYPES,
    PEET_SYNC_SLEEP,
    PEET_SYNC_IO,
    PEET_SYNC_KINDS,
};

enum {
    PEET_SYNC_CONTENDED_MAX = 1 << 16, /* objects whose waits are counted one by one */
    PEET_SYNC_MISUSES = 100,           /* misuses that are told in full */
    PEET_SYNC_KNOWN_BITS = 8,          /* of objects that are found without the table */
    PEET_SYNC_KNOWN = 1 << PEET_SYNC_KNOWN_BITS,
};

/* ---- heaps of contexts (sync/heap.c): waiters by the order in which they win, timers by time */

struct peet_map_entry {
    uint64_t key, order;
    struct peet_map_context *context;
};

/** A context is in at most one heap of waiters and in at most one of timers; it knows its place in both. */
struct peet_map_heap {
    struct peet_map_entry *entries;
    uint32_t n, room;
    uint8_t timers; /* which of the two it is */
};

/** Least key first, ties by @order.  Returns: 0 or a peet_err (recorded in map->error) */
int peet__heap_push(struct peet_map *map, struct peet_map_heap *heap, struct peet_map_context *c, uint64_t key,
    uint64_t order);
void peet__heap_remove(struct peet_map_heap *heap, struct peet_map_context *c);
/** The first one, removed; NULL: empty. */
struct peet_map_context *peet__heap_pop(struct peet_map_heap *heap);
/** Empty it; memory of more than a few entries goes back. */
void peet__heap_clear(struct peet_map_heap *heap);

/* ---- objects */

/** Do waits for an object take no time (engine/suppose.c)? */
enum peet_supposed { PEET_SUPPOSED_UNKNOWN, PEET_SUPPOSED_KNOWN /* they do */, PEET_SUPPOSED_FREE };

struct peet_map_key {
    uint64_t address;
    uint32_t type;
    uint32_t lost; /* 0, or the number of a record whose address something else has now */
};

struct peet_map_object {
    struct peet_map_key key;
    UT_hash_handle hh;
    struct peet_map_object *next_free;
    struct peet_map_heap waiters; /* of a rwlock: the writers */
    struct peet_map_heap readers; /* of a rwlock: those that wait */
    uint32_t owner;               /* context that holds it, if held */
    uint8_t held;                 /* mutex, rwlock (by a writer), once: by owner */
    uint8_t kind;                 /* enum peet_mutex_kind, peet_rwlock_kind */
    uint8_t valued;               /* SYNC_INIT gave it a value that must be kept */
    uint8_t supposed;             /* enum peet_supposed */
    uint64_t left_cycles;         /* mutex, rwlock, where something is supposed: when it was last given back */
    uint64_t count;               /* mutex: times locked; rwlock: readers; barrier: how many; semaphore: its value */
    union {
        struct {
            struct peet_map_pages *pages; /* what has been posted, beyond low */
            struct peet_map_turn *turns;  /* who waits for which iteration */
            int64_t low;                  /* all iterations before it count as posted */
        } doacross;
        struct {
            uint64_t owner_node, tail_node; /* lock model mcs */
        } mutex;
        struct {
            uint32_t round; /* of those that wait now; no other has this number */
            uint32_t away;  /* have arrived, and run handlers of signals */
        } barrier;
        struct {
            int64_t lo;
            uint64_t n, next, chunk, finished, threads;
            uint64_t *own; /* static: per thread, its next chunk's number */
            uint32_t schedule;
        } loop;
    };
};

/** A reader of a rwlock, for reports and for unlocking by those who do not hold it. */
struct peet_map_hold {
    struct {
        uint64_t address, context;
    } key;
    UT_hash_handle hh;
    uint64_t count;
};

/** Waits for one object over the whole run. */
struct peet_map_contended {
    struct peet_map_key key;
    UT_hash_handle hh;
    uint64_t waits, waited_cycles, longest_cycles;
};

/** A thread, from its creation until it is over and joined or detached.  Its context may be gone before. */
struct peet_map_thread {
    uint32_t number;
    uint8_t detached;
    uint64_t created_cycle, over_cycle;
    UT_hash_handle hh;
    struct peet_map_context *context; /* NULL: it is over */
    struct peet_map_context *joiner;
};

struct peet_map_misuse {
    uint64_t cycles;
    uint32_t context;
    char text[220];
};

struct peet_map_sync {
    struct peet_map_object *objects, *free_objects;
    /* by a hash of address and type: an object that was used last, or NULL.  Locks and semaphores that fall idle keep
     * their records as long as they stand here: most often they are used again. */
    struct peet_map_object *known[PEET_SYNC_KNOWN];
    struct peet_map_hold *holds, *idle_hold; /* of a reader that has gone: kept for a while, or NULL */
    struct peet_map_contended *contended;
    uint64_t contended_left_out;
    struct peet_map_heap timers;
    uint64_t orders, random;
    uint32_t lost;
    uint32_t rounds; /* of all barriers */

    struct peet_map_thread *threads;
    struct peet_map_heap joiners; /* of all others */
    uint64_t live_threads;        /* not over, the main one included */

    struct peet_map_context *io_first, *io_last;
    uint64_t nio, io_tick; /* next look at the descriptors; PEET_MAP_NEVER: nobody waits */
    int *io_descriptors;   /* scratch for peet_source_ops.io_wait */
    unsigned *io_events;
    uint64_t io_room;

    uint64_t values[8]; /* of the synthetic block under way */
    uint64_t operations[PEET_SYNC_KINDS], waits[PEET_SYNC_KINDS], waited_cycles[PEET_SYNC_KINDS],
        timeouts[PEET_SYNC_KINDS], interrupts[PEET_SYNC_KINDS];
    uint64_t threads_created, most_threads;
    uint64_t forced; /* waits that were ended because nobody was left to do it (engine/middle.c) */
    struct peet_map_misuse *misuses;
    uint64_t nmisuses;
    uint64_t spin_epoch;            /* changes among the contexts that only spin */
    uint32_t listed, listed_source; /* peet_map_blocked(): the last one that was asked for */
};

/** The record of an object, or NULL. */
struct peet_map_object *peet__sync_find(struct peet_map *map, uint64_t address, unsigned type);
/** The record of an object, made if need be; NULL: out of memory (recorded in map->error). */
struct peet_map_object *peet__sync_get(struct peet_map *map, uint64_t address, unsigned type);
/** Drop a record that says nothing any more. */
void peet__sync_drop(struct peet_map *map, struct peet_map_object *o);
/** Drop it if nobody holds or awaits it, and nothing gave it a value. */
void peet__sync_drop_idle(struct peet_map *map, struct peet_map_object *o);

/* ---- waits */

/** The request's result, without a wait. */
static inline void peet__sync_answer(struct peet_map *map, struct peet_map_context *c, uint64_t result)
{
    map->ops->result(map->source, c->source, result);
}

/** The core's context stops here until it is granted what it asked for.  @o: or NULL; @heap: where it queues, or NULL
 *  @deadline: PEET_NEVER for none.  Returns: 1, or 0 if the deadline is past (ETIMEDOUT is then the request's answer)
 */
int peet__sync_wait(struct peet_map *map, struct peet_map_core *core, struct peet_map_object *o,
    struct peet_map_heap *heap, uint64_t deadline);
/** Queue a context that has stopped already, by the run's policy. */
void peet__sync_queue(struct peet_map *map, struct peet_map_heap *heap, struct peet_map_context *c);
/** Who of those that wait goes on: the machine's choice, or that of the policy.  Removed from the heap; NULL: nobody
 * waits. */
struct peet_map_context *peet__sync_winner(struct peet_map *map, struct peet_map_heap *heap);
/** A wait is over at this time. */
void peet__sync_grant(struct peet_map *map, struct peet_map_context *c, uint64_t cycles, uint64_t result);
/** A wait is given up: @why is ETIMEDOUT or EINTR. */
void peet__sync_give_up(struct peet_map *map, struct peet_map_context *c, uint64_t cycles, int why);
/** SYNC_GRANT was performed. */
void peet__sync_granted(struct peet_map *map, struct peet_map_context *c, const uint64_t *args);
/** Does this request let time pass before it takes effect, so that its effect must wait for its turn? */
int peet__sync_deferred(uint32_t type);
/** What a request does, at the core's clock. */
void peet__sync_effect(struct peet_map *map, struct peet_map_core *core, const struct peet_abstract_event *event);
/**
 * What an event costs in the run itself: a system call; and a request that comes again and again while the clock stands
 * still, from code that is not seen and so takes no time: without a cost it would poll for ever.
 */
uint64_t peet__sync_cost(struct peet_map *map, const struct peet_map_core *core,
    const struct peet_abstract_event *event);
/** The kind of wait or operation that a request is. */
unsigned peet__sync_kind(uint32_t type);
extern const char *const peet__sync_kind_names[PEET_SYNC_KINDS];

/** The next time at which a wait may end by itself. */
uint64_t peet__sync_next(const struct peet_map *map);
/** What is due at map->now: deadlines, looks at descriptors. */
void peet__sync_due(struct peet_map *map);

/** The subject did what it must not: counted, told, and kept for the statistics. */
void peet__sync_misuse(struct peet_map *map, struct peet_map_context *c, uint64_t cycles, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

int peet__sync_new(struct peet_map *map, struct peet_error *error);
void peet__sync_free(struct peet_map *map);

/* ---- the kinds: requests of the core's context, args as in PEET_ABSTRACTS */

#define PEET_SYNC_REQUEST(name) \
    void peet__##name(struct peet_map *map, struct peet_map_core *core, struct peet_map_context *c, \
        const uint64_t *args)
PEET_SYNC_REQUEST(mutex_lock);
PEET_SYNC_REQUEST(mutex_trylock);
PEET_SYNC_REQUEST(mutex_unlock);
PEET_SYNC_REQUEST(rwlock_read);
PEET_SYNC_REQUEST(rwlock_write);
PEET_SYNC_REQUEST(rwlock_tryread);
PEET_SYNC_REQUEST(rwlock_trywrite);
PEET_SYNC_REQUEST(rwlock_unlock);
PEET_SYNC_REQUEST(cond_wait);
PEET_SYNC_REQUEST(cond_signal);
PEET_SYNC_REQUEST(cond_broadcast);
PEET_SYNC_REQUEST(barrier_wait);
PEET_SYNC_REQUEST(sem_wait);
PEET_SYNC_REQUEST(sem_trywait);
PEET_SYNC_REQUEST(sem_post);
PEET_SYNC_REQUEST(sem_value);
PEET_SYNC_REQUEST(once_begin);
PEET_SYNC_REQUEST(once_end);
PEET_SYNC_REQUEST(post);
PEET_SYNC_REQUEST(wait);
PEET_SYNC_REQUEST(loop_init);
PEET_SYNC_REQUEST(loop_next);
PEET_SYNC_REQUEST(thread_create);
PEET_SYNC_REQUEST(thread_join);
PEET_SYNC_REQUEST(thread_detach);
PEET_SYNC_REQUEST(interrupt);
PEET_SYNC_REQUEST(io_wait);

/** The mutex is free: the context's from now on. */
void peet__mutex_take(struct peet_map_object *o, struct peet_map_context *c, unsigned kind);
/** A context has given up a lock that counts as held. */
static inline void peet__lock_left(struct peet_map_context *c)
{
    c->holding -= c->holding > 0;
}
/** Nobody holds the mutex any more: it goes to the next, or its record goes. */
void peet__mutex_release(struct peet_map *map, struct peet_map_object *o, uint64_t cycles);
/** SYNC_GRANT of a context that was woken, and asks for its condition's mutex itself (explorations); args: of SYNC_GRANT
 */
void peet__mutex_relock(struct peet_map *map, struct peet_map_core *core, struct peet_map_context *c,
    const uint64_t *args);
/** Who waits for a condition, in order of their numbers.  Returns: how many; the first @room of them are written */
unsigned peet__cond_waiters(struct peet_map *map, uint64_t address, uint32_t *out_numbers, unsigned room);
/** A context that waited for something else wants its mutex back before it goes on, with this result. */
void peet__mutex_reacquire(struct peet_map *map, struct peet_map_context *c, uint64_t cycles, uint64_t result);
/** It is destroyed by a context although it is held: nobody holds it any more. */
void peet__rwlock_forget(struct peet_map *map, const struct peet_map_object *o, struct peet_map_context *c);
/** A waiter has left: others may be let in. */
void peet__rwlock_admit(struct peet_map *map, struct peet_map_object *o, uint64_t cycles);
/** The answer to a condition wait that is interrupted while it wants its mutex back: see PEET_COND_UNLOCKED(). */
static inline uint64_t peet__cond_unlocked(const struct peet_map_context *c)
{
    return PEET_COND_UNLOCKED(c->wait_result, c->relocks);
}
/** A waiter leaves to run a handler.  Returns: its answer, with which it will ask again */
uint64_t peet__barrier_leave(struct peet_map *map, struct peet_map_object *o);
/** Iterations before this one count as posted. */
void peet__doacross_init(struct peet_map *map, struct peet_map_object *o, int64_t low);
void peet__doacross_clear(struct peet_map_object *o);
void peet__loop_clear(struct peet_map_object *o);

/** peet__order() - ORDER of the core's context.  Returns: 0; PEET_MAP_AGAIN: it waits; or a peet_err (in map->error) */
int peet__order(struct peet_map *map, struct peet_map_core *core, const uint64_t *args);

/* ---- sync/backoff.c: tries for locks */
/** A try has taken its lock. */
void peet__try_succeeds(struct peet_map_context *c);
/** A try of the core's context would fail: shall it be decided later?  Returns: 1 yes, and the context has stopped */
int peet__try_put_off(struct peet_map *map, struct peet_map_core *core, struct peet_map_context *c);
/** A timer has ended: was it such a try's?  Returns: 1 yes, and it is on its way */
int peet__try_again(struct peet_map *map, struct peet_map_context *c, uint64_t cycles);

/* ---- sync/lock.c: lock models */

static inline int peet__lock_modelled(const struct peet_map *map)
{
    return map->config.lock_model != PEET_LOCK_NONE && map->ops->synthetic;
}
/** The run has a lock model, and its traffic for this request is still to come: it begins.  Returns: 1 begun */
int peet__lock_acquire(struct peet_map *map, struct peet_map_context *c);
int peet__lock_release(struct peet_map *map, struct peet_map_context *c);
/** A context that has stopped wants its mutex back, with traffic. */
void peet__lock_reacquire(struct peet_map *map, struct peet_map_context *c, uint64_t cycles);
/** The next step of the core's context: produces a block, or is done.  Returns: as peet__map_produce() */
int peet__lock_step(struct peet_map *map, struct peet_map_core *core, struct peet_event *out_event);
/** Between two looks at a lock, where others may come on. */
int peet__lock_between(const struct peet_map_context *c);
/** Without help from others it finds the lock taken for ever. */
int peet__lock_waits(const struct peet_map *map, const struct peet_map_context *c);

/* ---- sync/spin.c: contexts that spin */

/** A context is about to go on that has looked in vain: its next rounds may come without the program (spin.c). */
void peet__spin_gives(struct peet_map *map, struct peet_map_core *core);
/** Such rounds, if there were some, are over: an event of the context's has come.  They count as if it had gone them. */
void peet__spin_taken(struct peet_map *map, struct peet_map_context *c);
/** Such rounds of all contexts that begin at the present time or later are taken back, and come to nothing. */
void peet__spin_cut_all(struct peet_map *map);
/** A request with which a context may spin: should it make room for others?  If so, it does.  Returns: 1 it did */
int peet__spin_give_way(struct peet_map *map, struct peet_map_core *core, unsigned least_polls);
/** A round of spinning is over; it has taken a cycle at least. */
void peet__spin_takes_time(struct peet_map_core *core, struct peet_map_context *c);
/** A context yields, and nobody takes its place. */
void peet__spin_yields(struct peet_map *map, struct peet_map_core *core, struct peet_map_context *c);
/** ATOMIC was performed. */
void peet__spin_atomic(struct peet_map *map, struct peet_map_core *core, struct peet_map_context *c,
    const uint64_t *args);
/** It did something else than looking. */
void peet__spin_reset(struct peet_map *map, struct peet_map_context *c);
/** Blocks of a watched context. */
void peet__spin_watch(struct peet_map_context *c, const struct peet_block_event *events, unsigned n);
/** Is there nobody left who could change anything?  Then the run ends. */
void peet__spin_check(struct peet_map *map);

/* ---- threads.c */
int peet__thread_add(struct peet_map *map, struct peet_map_context *c, int detached, uint64_t cycles);
/** Its context is over. */
void peet__thread_over(struct peet_map *map, struct peet_map_context *c, uint64_t cycles);
struct peet_map_thread *peet__thread_find(struct peet_map *map, uint64_t number);
/** Is the context in a wait that an interrupt ends? */
int peet__interruptible(const struct peet_map_context *c);
/** After the effect of a request: an interrupt has come before it. */
void peet__interrupt_late(struct peet_map *map, struct peet_map_core *core, struct peet_map_context *c);
/** Nothing can go on: all that is left are detached threads that wait, and those that wait for the end of all others,
 * which need not wait any longer.  Returns: 1 if a context has been woken */
int peet__thread_last(struct peet_map *map);
/** The threads that a context waits for have come to their end or not: a joiner gives up. */
void peet__thread_unjoin(struct peet_map *map, struct peet_map_context *c);

/* ---- sync/io.c */
void peet__io_forget(struct peet_map *map, struct peet_map_context *c);
/** Look at the descriptors, at map->now. */
void peet__io_look(struct peet_map *map);
/** Nothing can go on: wait for those outside, if there are any.  Returns: 1 if a context has been woken */
int peet__io_outside(struct peet_map *map);

/* ---- sync/report.c */
/** An object's name and address, for messages; @buffer: 100 bytes.  Returns: @buffer */
const char *peet__sync_name(const struct peet_map *map, uint64_t address, char *buffer, size_t bytes);
#define PEET_SYNC_NAME(map, address) peet__sync_name(map, address, (char[100]){""}, 100)
int peet__sync_stats(struct peet_map *map, json_t *root);

#endif
