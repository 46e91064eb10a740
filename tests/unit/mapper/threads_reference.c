/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads and synchronisation by brute force: the rules of docs/ARCHITECTURE.md and of module.h, event by
 * event, with lists that are searched.  Objects have the addresses 0 to OBJECTS - 1.  First come, first served.
 */
#include "threads_script.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { HW = 16, MAX = 256, OBJECTS = 16 };
#define NEVER UINT64_MAX

struct list {
    struct ctx *of[MAX];
    unsigned n;
};

struct ctx {
    uint32_t number;
    const struct threads_program *program;
    unsigned at;
    int starting, pending, granting, exited, over, blocked, detached, joined;
    struct threads_op op;
    uint64_t since, result, deadline, deadline_order, relocks;
    struct list *in; /* where it waits */
    int relocking, interrupted;
    struct threads_op again; /* to be asked when a handler is over; type 0: nothing */
    int handles;             /* a handler comes next */
};

static struct {
    const struct threads_script *script;
    struct threads_result *out;
    unsigned ncores;
    struct {
        uint64_t clock;
        struct ctx *ctx;
        int idle;
    } cores[HW];
    struct ctx contexts[MAX];
    unsigned n;
    struct {
        uint64_t time, order;
        struct ctx *ctx;
    } arrivals[MAX];
    unsigned narrivals;
    uint64_t orders, timer_orders;
    uint32_t numbers;
    struct list ready, joiners;
    struct {
        struct ctx *owner;
        uint64_t count;
        struct list waiters;
    } mutexes[OBJECTS];
    struct {
        struct ctx *writer;
        unsigned holds[MAX], readers;
        uint64_t kind;
        struct list waiting_readers, waiting_writers;
    } rwlocks[OBJECTS];
    struct list conds[OBJECTS];
    struct {
        uint64_t value;
        struct list waiters;
    } sems[OBJECTS];
    struct list barriers[OBJECTS];
    struct {
        uint64_t round, arrived; /* of those that run handlers */
    } away[OBJECTS];
    uint64_t rounds;
} w;

static void put(struct list *l, struct ctx *c)
{
    l->of[l->n++] = c;
}

static struct ctx *take(struct list *l, unsigned i)
{
    struct ctx *c = l->of[i];

    memmove(&l->of[i], &l->of[i + 1], (l->n - i - 1) * sizeof *l->of);
    l->n--;
    return c;
}

static void take_out(struct list *l, const struct ctx *c)
{
    for (unsigned i = 0; i < l->n; i++)
        if (l->of[i] == c) {
            take(l, i);
            return;
        }
}

static void arrive(struct ctx *c, uint64_t time)
{
    w.arrivals[w.narrivals].time = time;
    w.arrivals[w.narrivals].order = w.orders++;
    w.arrivals[w.narrivals++].ctx = c;
    c->blocked = 0;
}

static void grant(struct ctx *c, uint64_t time, uint64_t result)
{
    if (c->in)
        take_out(c->in, c);
    c->in = NULL;
    c->deadline = NEVER;
    c->result = result;
    c->granting = 1;
    arrive(c, time);
}

static void answer(struct ctx *c, uint64_t value)
{
    threads_answer(w.out, c->number, value);
    c->handles = threads_interrupted(&c->op, value, &c->again);
}

/** Returns: 1 waits */
static int wait(unsigned hw, struct list *l, uint64_t deadline)
{
    struct ctx *c = w.cores[hw].ctx;

    if (deadline <= w.cores[hw].clock) {
        answer(c, ETIMEDOUT);
        return 0;
    }
    c->blocked = 1;
    c->in = l;
    if (l)
        put(l, c);
    c->since = w.cores[hw].clock;
    c->deadline = deadline;
    c->deadline_order = w.timer_orders++;
    w.cores[hw].ctx = NULL;
    return 1;
}

static void mutex_next(uint64_t m, uint64_t time)
{
    struct ctx *c;

    w.mutexes[m].owner = NULL;
    if (!w.mutexes[m].waiters.n)
        return;
    c = take(&w.mutexes[m].waiters, 0);
    c->in = NULL;
    w.mutexes[m].owner = c;
    w.mutexes[m].count = c->relocking ? c->relocks : 1;
    grant(c, time, c->relocking ? c->result : 0);
    c->relocking = 0;
}

/** A condition wait is over but for its mutex. */
static void relock(struct ctx *c, uint64_t time, uint64_t result)
{
    uint64_t m = c->op.args[1];

    if (c->in)
        take_out(c->in, c);
    c->in = NULL;
    c->deadline = NEVER;
    c->result = result;
    c->relocking = 1;
    if (w.mutexes[m].owner) {
        c->in = &w.mutexes[m].waiters;
        put(c->in, c);
        return;
    }
    c->relocking = 0;
    w.mutexes[m].owner = c;
    w.mutexes[m].count = c->relocks;
    grant(c, time, result);
}

static void rw_next(uint64_t o, uint64_t time)
{
    struct ctx *c;

    if (!w.rwlocks[o].writer && !(w.rwlocks[o].kind == PEET_RWLOCK_PREFER_WRITER && w.rwlocks[o].waiting_writers.n))
        while (w.rwlocks[o].waiting_readers.n) {
            c = w.rwlocks[o].waiting_readers.of[0];
            w.rwlocks[o].readers++;
            w.rwlocks[o].holds[c->number]++;
            grant(c, time, 0);
        }
    if (!w.rwlocks[o].writer && !w.rwlocks[o].readers && w.rwlocks[o].waiting_writers.n) {
        c = w.rwlocks[o].waiting_writers.of[0];
        w.rwlocks[o].writer = c;
        grant(c, time, 0);
    }
}

static void give_up(struct ctx *c, uint64_t time, uint64_t why)
{
    uint64_t o = c->op.args[0];
    struct list *in = c->in;

    if (c->op.type == PEET_ABSTRACT_COND_WAIT && c->relocking) {
        c->relocking = 0;
        grant(c, time, PEET_COND_UNLOCKED(c->result, c->relocks));
        return;
    }
    if (c->op.type == PEET_ABSTRACT_COND_WAIT) {
        relock(c, time, why);
        return;
    }
    if (in)
        take_out(in, c);
    c->in = NULL;
    if (c->op.type == PEET_ABSTRACT_RWLOCK_READ || c->op.type == PEET_ABSTRACT_RWLOCK_WRITE)
        rw_next(o, time);
    if (c->op.type == PEET_ABSTRACT_SLEEP && why == ETIMEDOUT)
        why = 0;
    if (c->op.type == PEET_ABSTRACT_BARRIER_WAIT) {
        if (!w.away[o].round)
            w.away[o].round = ++w.rounds;
        w.away[o].arrived++;
        why |= w.away[o].round << 32;
    }
    grant(c, time, why);
}

static struct ctx *of_number(uint64_t number)
{
    for (unsigned i = 0; i < w.n; i++)
        if (w.contexts[i].number == number && !w.contexts[i].joined)
            return &w.contexts[i];
    return NULL;
}

static struct ctx *joiner_of(const struct ctx *t)
{
    for (unsigned i = 0; i < w.n; i++)
        if (w.contexts[i].blocked && w.contexts[i].op.type == PEET_ABSTRACT_THREAD_JOIN &&
            w.contexts[i].op.args[0] == t->number)
            return &w.contexts[i];
    return NULL;
}

static unsigned alive(void)
{
    unsigned n = 0;

    for (unsigned i = 0; i < w.n; i++)
        n += !w.contexts[i].over;
    return n;
}

static void join(unsigned hw, struct ctx *c, const uint64_t *a)
{
    struct ctx *t;

    if (a[0] == NEVER) {
        if (alive() == 1)
            answer(c, 0);
        else
            wait(hw, &w.joiners, a[1]);
        return;
    }
    t = of_number(a[0]);
    if (!t)
        answer(c, ESRCH);
    else if (t == c || (!t->over && joiner_of(c) == t))
        answer(c, EDEADLK);
    else if (t->detached || joiner_of(t))
        answer(c, EINVAL);
    else if (t->over) {
        t->joined = 1;
        answer(c, 0);
    } else
        wait(hw, NULL, a[1]);
}

static void lock(unsigned hw, struct ctx *c, uint64_t m, uint64_t kind, uint64_t deadline, int trying)
{
    if (!w.mutexes[m].owner) {
        w.mutexes[m].owner = c;
        w.mutexes[m].count = 1;
        answer(c, 0);
    } else if (w.mutexes[m].owner == c && kind == PEET_MUTEX_RECURSIVE) {
        w.mutexes[m].count++;
        answer(c, 0);
    } else if (trying) {
        answer(c, EBUSY);
    } else if (w.mutexes[m].owner == c && kind == PEET_MUTEX_ERRORCHECK) {
        answer(c, EDEADLK);
    } else {
        wait(hw, &w.mutexes[m].waiters, deadline);
    }
}

static void unlock(unsigned hw, struct ctx *c, uint64_t m, uint64_t kind)
{
    const int checked = kind == PEET_MUTEX_RECURSIVE || kind == PEET_MUTEX_ERRORCHECK;

    if (checked && w.mutexes[m].owner != c) {
        answer(c, EPERM);
        return;
    }
    answer(c, 0);
    if (!w.mutexes[m].owner || (kind == PEET_MUTEX_RECURSIVE && --w.mutexes[m].count))
        return;
    mutex_next(m, w.cores[hw].clock);
}

static void rwlock(unsigned hw, struct ctx *c, const uint64_t *a, int writing, int trying)
{
    const uint64_t o = a[0];

    w.rwlocks[o].kind = a[1];
    if (w.rwlocks[o].writer == c && !trying) {
        answer(c, EDEADLK);
    } else if (!writing && !w.rwlocks[o].writer &&
        !(a[1] == PEET_RWLOCK_PREFER_WRITER && w.rwlocks[o].waiting_writers.n)) {
        w.rwlocks[o].readers++;
        w.rwlocks[o].holds[c->number]++;
        answer(c, 0);
    } else if (writing && !w.rwlocks[o].writer && !w.rwlocks[o].readers) {
        w.rwlocks[o].writer = c;
        answer(c, 0);
    } else if (trying) {
        answer(c, EBUSY);
    } else {
        wait(hw, writing ? &w.rwlocks[o].waiting_writers : &w.rwlocks[o].waiting_readers, a[2]);
    }
}

static void rwunlock(unsigned hw, struct ctx *c, const uint64_t *a)
{
    const uint64_t o = a[0];

    answer(c, 0);
    if (w.rwlocks[o].writer) {
        w.rwlocks[o].writer = NULL;
    } else if (w.rwlocks[o].readers) { /* whose it is does not matter here: scripts unlock what they have locked */
        w.rwlocks[o].readers--;
    } else {
        return;
    }
    w.rwlocks[o].kind = a[1];
    rw_next(o, w.cores[hw].clock);
}

static void cond_wait(unsigned hw, struct ctx *c, const uint64_t *a)
{
    const uint64_t now = w.cores[hw].clock;

    if (w.mutexes[a[1]].owner != c) {
        answer(c, EPERM);
        return;
    }
    if (a[3] <= now && !w.mutexes[a[1]].waiters.n) {
        answer(c, ETIMEDOUT);
        return;
    }
    c->relocks = w.mutexes[a[1]].count;
    if (a[3] <= now) {
        c->blocked = 1;
        c->since = now;
        w.cores[hw].ctx = NULL;
        mutex_next(a[1], now);
        relock(c, now, ETIMEDOUT);
        return;
    }
    wait(hw, &w.conds[a[0]], a[3]);
    mutex_next(a[1], now);
}

static int interruptible(const struct ctx *c)
{
    switch (c->op.type) {
    case PEET_ABSTRACT_THREAD_JOIN:
    case PEET_ABSTRACT_SEM_WAIT:
    case PEET_ABSTRACT_SLEEP:
    case PEET_ABSTRACT_COND_WAIT:
    case PEET_ABSTRACT_MUTEX_LOCK:
    case PEET_ABSTRACT_RWLOCK_READ:
    case PEET_ABSTRACT_RWLOCK_WRITE:
    case PEET_ABSTRACT_BARRIER_WAIT:
        return 1;
    }
    return 0;
}

static void perform(unsigned hw, struct ctx *c)
{
    const uint64_t *a = c->op.args, now = w.cores[hw].clock;
    struct ctx *t;

    switch (c->op.type) {
    case PEET_ABSTRACT_THREAD_CREATE:
        t = &w.contexts[w.n++];
        *t = (struct ctx){.number = (uint32_t)a[5],
            .program = &w.script->programs[a[0]],
            .starting = 1,
            .detached = a[4] != 0,
            .deadline = NEVER};
        answer(c, a[5]);
        arrive(t, now);
        break;
    case PEET_ABSTRACT_THREAD_JOIN:
        join(hw, c, a);
        break;
    case PEET_ABSTRACT_THREAD_DETACH:
        t = of_number(a[0]);
        answer(c, !t ? ESRCH : t->detached || joiner_of(t) ? EINVAL : 0);
        if (t && !t->detached && !joiner_of(t)) {
            t->detached = 1;
            t->joined = t->over;
        }
        break;
    case PEET_ABSTRACT_MUTEX_LOCK:
    case PEET_ABSTRACT_MUTEX_TRYLOCK:
        lock(hw, c, a[0], a[1], a[2], c->op.type == PEET_ABSTRACT_MUTEX_TRYLOCK);
        break;
    case PEET_ABSTRACT_MUTEX_UNLOCK:
        unlock(hw, c, a[0], a[1]);
        break;
    case PEET_ABSTRACT_RWLOCK_READ:
    case PEET_ABSTRACT_RWLOCK_TRYREAD:
        rwlock(hw, c, a, 0, c->op.type == PEET_ABSTRACT_RWLOCK_TRYREAD);
        break;
    case PEET_ABSTRACT_RWLOCK_WRITE:
    case PEET_ABSTRACT_RWLOCK_TRYWRITE:
        rwlock(hw, c, a, 1, c->op.type == PEET_ABSTRACT_RWLOCK_TRYWRITE);
        break;
    case PEET_ABSTRACT_RWLOCK_UNLOCK:
        rwunlock(hw, c, a);
        break;
    case PEET_ABSTRACT_COND_WAIT:
        cond_wait(hw, c, a);
        break;
    case PEET_ABSTRACT_COND_SIGNAL:
    case PEET_ABSTRACT_COND_BROADCAST:
        answer(c, 0);
        while (w.conds[a[0]].n) {
            relock(w.conds[a[0]].of[0], now, 0);
            if (c->op.type == PEET_ABSTRACT_COND_SIGNAL)
                break;
        }
        break;
    case PEET_ABSTRACT_BARRIER_WAIT:
        if (a[1] >> 32 && a[1] >> 32 != w.away[a[0]].round) {
            answer(c, 0);
            break;
        }
        w.away[a[0]].arrived -= a[1] >> 32 != 0;
        if (w.barriers[a[0]].n + w.away[a[0]].arrived + 1 < (uint32_t)a[1]) {
            wait(hw, &w.barriers[a[0]], NEVER);
            break;
        }
        answer(c, 1);
        w.away[a[0]].round = w.away[a[0]].arrived = 0;
        while (w.barriers[a[0]].n)
            grant(w.barriers[a[0]].of[0], now, 0);
        break;
    case PEET_ABSTRACT_SEM_WAIT:
    case PEET_ABSTRACT_SEM_TRYWAIT:
        if (w.sems[a[0]].value) {
            w.sems[a[0]].value--;
            answer(c, 0);
        } else if (c->op.type == PEET_ABSTRACT_SEM_TRYWAIT) {
            answer(c, EAGAIN);
        } else {
            wait(hw, &w.sems[a[0]].waiters, a[1]);
        }
        break;
    case PEET_ABSTRACT_SEM_POST:
        answer(c, 0);
        for (uint64_t i = 0; i < a[1]; i++)
            if (w.sems[a[0]].waiters.n)
                grant(w.sems[a[0]].waiters.of[0], now, 0);
            else
                w.sems[a[0]].value++;
        break;
    case PEET_ABSTRACT_SEM_VALUE:
        answer(c, w.sems[a[0]].value);
        break;
    case PEET_ABSTRACT_SLEEP:
        if (a[0] <= now)
            answer(c, 0);
        else
            wait(hw, NULL, a[0]);
        break;
    case PEET_ABSTRACT_CLOCK:
        answer(c, now);
        break;
    case PEET_ABSTRACT_INTERRUPT:
        t = of_number(a[0]);
        if (!t || !t->blocked || !interruptible(t)) {
            answer(c, 0);
            if (t && !t->over)
                t->interrupted = 1; /* its next wait of that kind is over at once */
            break;
        }
        answer(c, 1);
        give_up(t, now, EINTR);
        break;
    }
}

static void effect(unsigned hw, struct ctx *c)
{
    const uint64_t now = w.cores[hw].clock;

    perform(hw, c);
    if (c->interrupted && c->blocked && interruptible(c)) {
        c->interrupted = 0;
        give_up(c, now, EINTR);
    }
}

static void log_event(unsigned hw, const struct ctx *c, uint32_t type, unsigned nargs, const uint64_t *args)
{
    struct threads_record one = {w.cores[hw].clock, hw, c->number, type, {0}, nargs};

    if (nargs)
        memcpy(one.args, args, nargs * sizeof *args);
    threads_log(w.out, one);
}

static void step(unsigned hw)
{
    struct ctx *c = w.cores[hw].ctx, *j;

    if (!c) {
        if (!w.ready.n)
            w.cores[hw].idle = 1;
        else
            w.cores[hw].ctx = take(&w.ready, 0);
        return;
    }
    if (c->starting) {
        c->starting = 0;
        log_event(hw, c, PEET_ABSTRACT_CONTEXT_START, 0, NULL);
    } else if (c->pending) {
        c->pending = 0;
        effect(hw, c);
    } else if (c->granting) {
        uint64_t args[4] = {
            c->op.type == PEET_ABSTRACT_SLEEP ? 0 : c->op.args[0], c->op.type, w.cores[hw].clock - c->since, c->result};

        c->granting = 0;
        log_event(hw, c, PEET_ABSTRACT_SYNC_GRANT, 4, args);
        answer(c, c->result);
        w.cores[hw].clock += threads_cost(PEET_ABSTRACT_SYNC_GRANT);
    } else if (c->handles) {
        c->handles = 0;
        w.cores[hw].clock += THREADS_HANDLER;
    } else if (c->at == c->program->n && !c->again.type && !c->exited) {
        c->exited = 1;
        log_event(hw, c, PEET_ABSTRACT_CONTEXT_EXIT, 1, (uint64_t[1]){0});
    } else if (c->at == c->program->n && !c->again.type) {
        w.cores[hw].ctx = NULL;
        j = joiner_of(c);
        c->over = 1;
        c->joined = c->detached;
        if (j) {
            c->joined = 1;
            grant(j, w.cores[hw].clock, 0);
        }
        if (alive() <= 1)
            while (w.joiners.n)
                grant(w.joiners.of[0], w.cores[hw].clock, 0);
    } else {
        c->op = c->again.type ? c->again : c->program->ops[c->at++];
        c->again.type = 0;
        if (c->op.type == THREADS_OP_BLOCK) {
            w.cores[hw].clock += c->op.args[0];
            return;
        }
        if (c->op.type == PEET_ABSTRACT_THREAD_CREATE) {
            c->op.args[5] = ++w.numbers;
        }
        log_event(hw, c, c->op.type, 6, c->op.args);
        w.cores[hw].clock += threads_cost(c->op.type);
        if (threads_cost(c->op.type) && c->op.type != PEET_ABSTRACT_CLOCK)
            c->pending = 1;
        else
            effect(hw, c);
    }
}

/** The earliest deadline or arrival; a deadline goes first.  Returns: 1 something was done */
static int let_in(uint64_t until)
{
    struct ctx *timer = NULL;
    unsigned first = 0;

    for (unsigned i = 0; i < w.n; i++) {
        struct ctx *c = &w.contexts[i];

        if (c->blocked && c->deadline != NEVER &&
            (!timer || c->deadline < timer->deadline ||
                (c->deadline == timer->deadline && c->deadline_order < timer->deadline_order)))
            timer = c;
    }
    for (unsigned i = 1; i < w.narrivals; i++)
        if (w.arrivals[i].time < w.arrivals[first].time ||
            (w.arrivals[i].time == w.arrivals[first].time && w.arrivals[i].order < w.arrivals[first].order))
            first = i;
    if (timer && timer->deadline <= until && (!w.narrivals || timer->deadline <= w.arrivals[first].time)) {
        give_up(timer, timer->deadline, ETIMEDOUT);
        return 1;
    }
    if (!w.narrivals || w.arrivals[first].time > until)
        return 0;
    put(&w.ready, w.arrivals[first].ctx);
    for (unsigned i = 0; i < w.ncores; i++)
        if (w.cores[i].idle) {
            w.cores[i].idle = 0;
            if (w.cores[i].clock < w.arrivals[first].time)
                w.cores[i].clock = w.arrivals[first].time;
            break;
        }
    w.arrivals[first] = w.arrivals[--w.narrivals];
    return 1;
}

/** Nothing goes on, and all that wait are detached, or wait for the end of all others: these need not. */
static int only_parked(void)
{
    uint64_t now = 0;

    for (unsigned i = 0; i < w.n; i++)
        if (w.contexts[i].blocked && w.contexts[i].in != &w.joiners && !w.contexts[i].detached)
            return 0;
    if (!w.joiners.n)
        return 0;
    for (unsigned i = 0; i < w.ncores; i++)
        now = w.cores[i].clock > now ? w.cores[i].clock : now;
    while (w.joiners.n)
        grant(w.joiners.of[0], now, 0);
    return 1;
}

void threads_reference(const struct threads_script *script, const struct peet_map_config *config,
    struct threads_result *out)
{
    memset(&w, 0, sizeof w);
    *out = (struct threads_result){0};
    w.script = script;
    w.out = out;
    w.ncores = config->cores;
    w.contexts[0] = (struct ctx){.program = &script->programs[0], .starting = 1, .deadline = NEVER};
    w.n = 1;
    for (unsigned i = 0; i < w.ncores; i++)
        w.cores[i].idle = 1;
    arrive(&w.contexts[0], 0);
    for (;;) {
        unsigned hw = w.ncores;

        for (unsigned i = 0; i < w.ncores; i++)
            if (!w.cores[i].idle && (hw == w.ncores || w.cores[i].clock < w.cores[hw].clock))
                hw = i;
        if (let_in(hw < w.ncores ? w.cores[hw].clock : NEVER - 1))
            continue;
        if (hw == w.ncores && !only_parked())
            break;
        if (hw == w.ncores)
            continue;
        step(hw);
    }
    for (unsigned i = 0; i < w.ncores; i++)
        if (w.cores[i].clock > out->end)
            out->end = w.cores[i].clock;
    for (unsigned i = 0; i < w.n; i++)
        out->blocked += w.contexts[i].blocked != 0;
    out->err = out->blocked ? PEET_EDEADLOCK : 0;
}
