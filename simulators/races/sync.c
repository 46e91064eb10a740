/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What orders strands.  Who asks for something that others give learns what they have done by then; if it has to wait,
 * once more when SYNC_GRANT says that it goes on.
 */
#include "races.h"

#include <errno.h>
#include <sys/syscall.h>

struct races_context *races_context(struct races *r, uint32_t number)
{
    struct races_context *c;
    if (races_grow(r, &r->contexts, &r->ncontexts, (uint64_t)number + 1, sizeof *r->contexts))
        return NULL;
    c = &r->contexts[number];
    if (c->base)
        return c;
    *c = (struct races_context){.loop = RACES_NONE, .thread_local_data = {UINT64_MAX, 0}};
    if (number < r->nthreads && r->threads[number] && !r->threads[number]->over) {
        c->base = r->threads[number];
        races_strand_hold(c->base);
    } else {
        c->base = races_strand_new(r, number ? RACES_THREAD : RACES_MAIN, number, NULL, NULL);
    }
    c->now = c->base;
    return c->base ? c : NULL;
}

/* ------------------------------------------------------------------------------------------ locks, waits */

static void acquire(struct races *r, struct races_context *c, uint64_t address, uint8_t kind, uint64_t more)
{
    const struct races_object *const o = races_object(r, address, kind, more, 0);
    if (o)
        races_acquire(r, c->now, &o->released);
}

static struct races_object *release(struct races *r, struct races_context *c, uint64_t address, uint8_t kind,
    uint64_t more)
{
    struct races_object *const o = races_object(r, address, kind, more, 1);
    if (o)
        races_release(r, c->now, &o->released);
    return o;
}

static void locked(struct races *r, struct races_context *c, const struct races_object *o, uint32_t type)
{
    races_acquire(r, c->now, &o->released);
    if (!peet_sim_lock_reads(type))
        races_acquire(r, c->now, &o->readers);
}

static void lock(struct races *r, struct races_context *c, const struct peet_abstract_event *event)
{
    struct races_object *const o = races_object(r, peet_sim_lock_of(event), RACES_LOCK, 0, 1);
    if (o && peet_sim_lock_asked(&o->lock, event, &c->lock))
        locked(r, c, o, event->type);
}

static void unlock(struct races *r, struct races_context *c, const struct peet_abstract_event *event)
{
    struct races_object *const o = races_object(r, peet_sim_lock_of(event), RACES_LOCK, 0, 1);
    if (!o)
        return;
    switch (peet_sim_lock_left(&o->lock, event, &c->lock)) {
    case PEET_SIM_LOCK_KEPT:
        break;
    case PEET_SIM_LOCK_READER:
        races_release(r, c->now, &o->readers);
        break;
    case PEET_SIM_LOCK_OWNER:
        races_release(r, c->now, &o->released);
        break;
    }
}

/* The wait for a lock is over. */
static void granted(struct races *r, struct races_context *c, const struct peet_abstract_event *grant, uint32_t type,
    uint64_t address)
{
    struct races_object *const o = races_object(r, address, RACES_LOCK, 0, 1);
    if (o && peet_sim_lock_granted(&o->lock, grant, type, &c->lock))
        locked(r, c, o, type);
}

static void arrive(struct races *r, struct races_context *c, uint64_t address)
{
    struct races_object *const barrier = races_object(r, address, RACES_BARRIER, 0, 1), *round;
    if (!barrier)
        return;
    c->argument = barrier->round;
    if (!(round = release(r, c, address, RACES_ROUND, c->argument)))
        return;
    races_join(r, &round->released, &c->now->ended); /* no task is left behind a barrier */
    round->round++;
}

/* A barrier's round is over when somebody goes on. */
static void pass(struct races *r, struct races_context *c)
{
    struct races_object *const barrier = races_object(r, c->object, RACES_BARRIER, 0, 0);
    struct races_object *const round = races_object(r, c->object, RACES_ROUND, c->argument, 0);
    if (barrier && barrier->round == c->argument)
        barrier->round++;
    if (!round)
        return;
    races_acquire(r, c->now, &round->released);
    races_tasks_waited(r, c->now);
    if (--round->round == 0)
        races_object_free(r, round);
}

static void join_threads(struct races *r, struct races_context *c, uint64_t number)
{
    const uint64_t first = number == PEET_NEVER ? 0 : number, last = number == PEET_NEVER ? r->nthreads : number + 1;
    for (uint64_t i = first; i < last && i < r->nthreads; i++)
        if (r->threads[i] && r->threads[i]->over)
            races_acquire(r, c->now, &r->threads[i]->clocks);
}

/* What the context is given, or would be if it had not to wait. */
static void take(struct races *r, struct races_context *c, uint32_t type, uint64_t object, uint64_t more)
{
    switch (type) {
    case PEET_ABSTRACT_THREAD_JOIN:
        join_threads(r, c, object);
        break;
    case PEET_ABSTRACT_SEM_WAIT:
        acquire(r, c, object, RACES_SEMAPHORE, 0);
        break;
    case PEET_ABSTRACT_ONCE_BEGIN:
        acquire(r, c, object, RACES_ONCE, 0);
        break;
    case PEET_ABSTRACT_WAIT:
        acquire(r, c, object, RACES_POST, more);
        break;
    }
}

void races_resume(struct races *r, struct races_context *c, const struct peet_abstract_event *grant)
{
    const uint32_t wait = c->wait;
    const int granted_now = grant && grant->type == PEET_ABSTRACT_SYNC_GRANT;
    c->wait = PEET_ABSTRACT_NONE;
    if (wait == PEET_ABSTRACT_BARRIER_WAIT && !(granted_now && (uint32_t)grant->args[3] == EINTR))
        pass(r, c);
    else if (wait == PEET_ABSTRACT_IO_WAIT || wait == PEET_ABSTRACT_SYSCALL)
        races_acquire(r, c->now, &r->input);
    if (!granted_now)
        return;
    if (wait == PEET_ABSTRACT_COND_WAIT) {
        if (grant->args[3] == 0)
            acquire(r, c, c->object, RACES_CONDITION, 0);
        granted(r, c, grant, wait, c->argument);
    } else if (peet_sim_lock_asks(wait)) {
        granted(r, c, grant, wait, c->object);
    } else if (grant->args[3] != ETIMEDOUT && grant->args[3] != EINTR) {
        take(r, c, wait, c->object, c->argument);
    }
}

/* ------------------------------------------------------------------------------------- threads, loops */

enum { STACK_BYTES = 8 << 20, THREAD_BYTES = 4096 };

static void create(struct races *r, struct races_context *c, const uint64_t *args)
{
    const uint64_t number = args[5];
    if (number >= UINT32_MAX || races_grow(r, &r->threads, &r->nthreads, number + 1, sizeof(struct races_strand *)))
        return;
    /* an earlier thread may have had the stack; its last part is the thread's own data */
    const uint64_t bytes = args[3] ? args[3] : STACK_BYTES;
    races_forget(r, args[2] ? args[2] : args[1] - bytes, bytes);
    races_forget(r, args[1], THREAD_BYTES);
    races_strand_drop(r, r->threads[number]);
    r->threads[number] = races_strand_new(r, RACES_THREAD, number, c->now, NULL);
}

/* Its number may be another one's later. */
static void leave(struct races *r, struct races_context *c)
{
    races_tasks_waited(r, c->base);
    races_strand_over(r, c->base);
    races_strand_drop(r, c->base);
    c->base = c->now = NULL;
}

static void exits(struct races *r, struct races_context *c, uint32_t number)
{
    struct races_range own = c->thread_local_data;
    enum { AROUND = 4096 };
    if (number >= r->nthreads || !r->threads[number]) {
        if (races_grow(r, &r->threads, &r->nthreads, (uint64_t)number + 1, sizeof(struct races_strand *)))
            return;
        r->threads[number] = c->base;
        races_strand_hold(c->base);
    }
    if (own.low < own.high) { /* what has an address but no mark of being thread-local is near */
        own.low = own.low & ~(uint64_t)(AROUND - 1);
        own.high = (own.high | (AROUND - 1)) + 1;
    }
    races_forget_range(r, &own);
    leave(r, c);
}

static void fork_loop(struct races *r, struct races_context *c, const uint64_t *args)
{
    if (races_grow(r, &r->loops, &r->loops_room, (uint64_t)r->nloops + 1, sizeof *r->loops))
        return;
    struct races_loop *const l = &r->loops[r->nloops++];
    *l = (struct races_loop){.lo = (int64_t)args[0], .hi = (int64_t)args[1], .parent = c->now};
    races_release(r, c->now, &l->begin);
}

/* An iteration does not say of which loop it is: the latest one that still lacks so many, and has this number. */
static uint32_t loop_of(const struct races *r, int64_t iteration)
{
    for (uint32_t i = r->nloops; i-- > 0;) {
        const struct races_loop *const l = &r->loops[i];
        if (l->parent && iteration >= l->lo && iteration < l->hi && l->started < (uint64_t)(l->hi - l->lo))
            return i;
    }
    return RACES_NONE;
}

static void start_iteration(struct races *r, uint32_t number, int64_t iteration)
{
    const uint32_t loop = loop_of(r, iteration);
    if (loop == RACES_NONE || races_grow(r, &r->contexts, &r->ncontexts, (uint64_t)number + 1, sizeof *r->contexts))
        return;
    struct races_context *const c = &r->contexts[number];
    struct races_loop *const l = &r->loops[loop];
    l->started++;
    if (c->base)
        leave(r, c);
    *c = (struct races_context){.thread_local_data = {UINT64_MAX, 0}};
    c->base = c->now = races_strand_new(r, RACES_ITERATION, (uint64_t)iteration, l->parent, &l->begin);
    c->loop = loop;
}

static void finish_iteration(struct races *r, struct races_context *c)
{
    if (c->loop < r->nloops)
        races_join(r, &r->loops[c->loop].end, &c->base->clocks);
    races_forget_range(r, &c->base->stack);
    leave(r, c);
}

static void join_loop(struct races *r, struct races_context *c)
{
    for (uint32_t i = r->nloops; i-- > 0;) {
        struct races_loop *const l = &r->loops[i];
        if (l->parent != c->now)
            continue;
        races_acquire(r, c->now, &l->end);
        races_clocks_free(&l->begin);
        races_clocks_free(&l->end);
        l->parent = NULL;
        while (r->nloops && !r->loops[r->nloops - 1].parent)
            r->nloops--;
        return;
    }
}

/* ------------------------------------------------------------------------------------- atomic accesses */

static int acquires(uint8_t order)
{
    return order == PEET_ORDER_ACQUIRE || order == PEET_ORDER_ACQ_REL || order == PEET_ORDER_SEQ_CST;
}

static int releases(uint8_t order)
{
    return order == PEET_ORDER_RELEASE || order == PEET_ORDER_ACQ_REL || order == PEET_ORDER_SEQ_CST;
}

void races_reads_atom(struct races *r, struct races_strand *s, uint64_t address, uint8_t order)
{
    const struct races_object *const o = races_object(r, address, RACES_ATOM, 0, 0);
    if (!o)
        return;
    if (acquires(order))
        races_acquire(r, s, &o->released);
    else
        races_join(r, &s->looked, &o->released);
}

void races_writes_atom(struct races *r, struct races_strand *s, uint64_t address, int replaces, uint8_t order)
{
    struct races_object *const o = races_object(r, address, RACES_ATOM, 0, 1);
    if (!o)
        return;
    if (replaces) /* whoever reads it reads this; a modification goes on with what it found */
        o->released.n = 0;
    if (releases(order))
        races_release(r, s, &o->released);
    else
        races_join(r, &o->released, &s->fence);
}

void races_fence(struct races *r, struct races_strand *s)
{
    races_acquire(r, s, &s->looked);
    s->fence.n = 0;
    races_release(r, s, &s->fence);
}

/* -------------------------------------------------------------------------------------------- events */

static void system_call(struct races *r, struct races_context *c, uint64_t number)
{
    switch (number) {
    case SYS_write:
    case SYS_pwrite64:
    case SYS_writev:
    case SYS_sendto:
    case SYS_sendmsg:
    case SYS_sendmmsg:
        races_release(r, c->now, &r->input);
        break;
    case SYS_read:
    case SYS_pread64:
    case SYS_readv:
    case SYS_recvfrom:
    case SYS_recvmsg:
    case SYS_accept:
    case SYS_accept4:
    case SYS_poll:
    case SYS_ppoll:
    case SYS_select:
    case SYS_pselect6:
    case SYS_epoll_wait:
    case SYS_epoll_pwait:
        c->wait = PEET_ABSTRACT_SYSCALL;
        break;
    case SYS_kill:
    case SYS_tgkill:
    case SYS_tkill:
        races_release(r, c->now, &r->signals);
        break;
    }
}

static void wait_for(struct races_context *c, const struct peet_abstract_event *event, uint64_t argument)
{
    c->wait = event->type;
    c->object = event->args[0];
    c->argument = argument;
}

/* A semaphore that only wakes threads for tasks: what orders them, tasks say. */
static int wakes(struct races_context *c, uint64_t semaphore)
{
    const int same = c->wakes == semaphore;
    c->wakes = 0;
    return same;
}

void races_abstract(struct races *r, const struct peet_abstract_event *event)
{
    const uint64_t *const args = event->args;
    struct races_context *c;
    if (event->type == PEET_ABSTRACT_DOALL_START) {
        start_iteration(r, event->context, (int64_t)args[0]);
        return;
    }
    if (!(c = races_context(r, event->context)))
        return;
    if (c->wait != PEET_ABSTRACT_NONE)
        races_resume(r, c, event);
    switch (event->type) {
    case PEET_ABSTRACT_DOALL_FORK:
        fork_loop(r, c, args);
        break;
    case PEET_ABSTRACT_DOALL_FINISH:
        finish_iteration(r, c);
        break;
    case PEET_ABSTRACT_DOALL_JOIN:
        join_loop(r, c);
        break;
    case PEET_ABSTRACT_THREAD_CREATE:
        create(r, c, args);
        break;
    case PEET_ABSTRACT_CONTEXT_EXIT:
        exits(r, c, event->context);
        break;
    case PEET_ABSTRACT_ALLOC:
        races_alloc(r, event);
        break;
    case PEET_ABSTRACT_FREE:
        races_free(r, event);
        break;
    case PEET_ABSTRACT_MUTEX_LOCK:
    case PEET_ABSTRACT_MUTEX_TRYLOCK:
    case PEET_ABSTRACT_RWLOCK_READ:
    case PEET_ABSTRACT_RWLOCK_WRITE:
    case PEET_ABSTRACT_RWLOCK_TRYREAD:
    case PEET_ABSTRACT_RWLOCK_TRYWRITE:
        lock(r, c, event);
        wait_for(c, event, 0);
        break;
    case PEET_ABSTRACT_SEM_WAIT:
        if (wakes(c, args[0]))
            break;
        /* fall through */
    case PEET_ABSTRACT_THREAD_JOIN:
    case PEET_ABSTRACT_ONCE_BEGIN:
    case PEET_ABSTRACT_WAIT:
        take(r, c, event->type, args[0], event->nargs > 1 ? args[1] : 0);
        wait_for(c, event, event->nargs > 1 ? args[1] : 0);
        break;
    case PEET_ABSTRACT_IO_WAIT:
        wait_for(c, event, 0);
        break;
    case PEET_ABSTRACT_MUTEX_UNLOCK:
    case PEET_ABSTRACT_RWLOCK_UNLOCK:
        unlock(r, c, event);
        break;
    case PEET_ABSTRACT_COND_WAIT:
        unlock(r, c, event);
        wait_for(c, event, args[1]);
        break;
    case PEET_ABSTRACT_COND_SIGNAL:
    case PEET_ABSTRACT_COND_BROADCAST:
        release(r, c, args[0], RACES_CONDITION, 0);
        break;
    case PEET_ABSTRACT_BARRIER_WAIT:
        arrive(r, c, args[0]);
        wait_for(c, event, c->argument);
        break;
    case PEET_ABSTRACT_SEM_TRYWAIT:
        acquire(r, c, args[0], RACES_SEMAPHORE, 0);
        break;
    case PEET_ABSTRACT_SEM_POST:
        if (!wakes(c, args[0]))
            release(r, c, args[0], RACES_SEMAPHORE, 0);
        break;
    case PEET_ABSTRACT_ONCE_END:
        release(r, c, args[0], RACES_ONCE, 0);
        release(r, c, args[0], RACES_ATOM, 0); /* a guard of C++, which compiled code reads by itself */
        break;
    case PEET_ABSTRACT_POST:
        release(r, c, args[0], RACES_POST, args[1]);
        break;
    case PEET_ABSTRACT_INTERRUPT:
        races_release(r, c->now, &r->signals);
        break;
    case PEET_ABSTRACT_SIGNAL_ENTER:
        races_acquire(r, c->now, &r->signals);
        break;
    case PEET_ABSTRACT_SYSCALL:
        system_call(r, c, args[0]);
        break;
    case PEET_ABSTRACT_TASK:
        races_task(r, c, args);
        break;
    }
}
