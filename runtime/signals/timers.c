/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Timers that send signals: alarm(), ualarm(), setitimer(), timer_create(); and those that make a descriptor readable:
 * timerfd_create().  They run in simulated time: a context of the runtime's own, a detached thread to the mapper, sleeps
 * until the next one is due and sends its signal.  The kernel's own timer behind a descriptor is never armed.
 * The clocks of processor time (ITIMER_VIRTUAL, ITIMER_PROF, CLOCK_*_CPUTIME_ID) are the simulated clock as well.
 * With the setting PEET_TIMERS=host they stay the kernel's, in the host's time.
 */
#include "signals/signals.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>
#include <peet/module.h>

extern void *__libc_calloc(size_t, size_t);
extern void __libc_free(void *);

#define NS_PER_S 1000000000ull
#define FIXED 3 /* the three of setitimer() */
#define SERVICE_STACK_BYTES (256ul << 10)
#define SET_TICKS _IOW('T', 0, uint64_t) /* TFD_IOC_SET_TICKS, whose header is not for programs */
#define NOTIFY_DESCRIPTOR (-1)           /* beside the SIGEV_* */

struct timer {
    int used;
    uint64_t deadline;                /* in cycles; 0: not armed */
    uint64_t interval_ns;             /* 0: once */
    uint64_t overruns, overruns_told; /* of a descriptor: how often it has run out and nobody has read it */
    int notify, signal, descriptor;
    int waits; /* its signal has been sent, and nobody has taken it yet */
    union sigval value;
    struct peet_ctx *target; /* SIGEV_THREAD_ID */
    void (*function)(union sigval);
    int clock;
};

static struct timer **timers;
static unsigned ntimers, room;
static int running;             /* the service context exists */
static uint64_t timers_of_peet; /* what it waits at; reports show its name */

static int simulated(void)
{
    static int host = -1;
    if (!peet__signals_simulated())
        return 0;
    if (host < 0) {
        const char *how = peet_rt_setting("PEET_TIMERS");
        host = how && strcmp(how, "host") == 0;
    }
    return !host;
}

/* ------------------------------------------------------------------------------------------------- time */

static uint64_t cycles_of(uint64_t s, uint64_t ns)
{
    __uint128_t cycles = ((__uint128_t)s * NS_PER_S + ns) * peet_rt_frequency_hz() / NS_PER_S;
    return cycles >= PEET_NEVER / 2 ? PEET_NEVER / 2 : (uint64_t)cycles;
}

static uint64_t ns_of(uint64_t cycles)
{
    __uint128_t ns = (__uint128_t)cycles * NS_PER_S / peet_rt_frequency_hz();
    return ns > UINT64_MAX ? UINT64_MAX : (uint64_t)ns;
}

uint64_t peet__timer_deadline(uint64_t s, uint64_t ns)
{
    if (s == 0 && ns == 0)
        return 0;
    uint64_t wait = cycles_of(s, ns);
    return peet_rt_now() + (wait ? wait : 1);
}

/* ---------------------------------------------------------------------------------------- the service */

static void *call_function(void *arg)
{
    struct timer *t = arg;
    t->function(t->value);
    return NULL;
}

/* Somebody hears of it now: so often has it run out before, unheard. */
static void tell_overruns(struct timer *t)
{
    t->overruns_told = t->overruns;
    t->overruns = 0;
}

static void send(unsigned index)
{
    struct timer *t = timers[index];
    siginfo_t info;
    memset(&info, 0, sizeof info);
    info.si_signo = t->signal;
    info.si_code = index < FIXED ? SI_KERNEL : SI_TIMER;
    if (index >= FIXED) {
        info.si_timerid = (int)index;
        info.si_value = t->value;
    }
    t->waits = index >= FIXED;
    if (t->notify == SIGEV_SIGNAL) {
        peet__signal_to_process(t->signal, &info);
    } else if (t->notify == SIGEV_THREAD_ID) {
        if (t->target->counted)
            peet__signal_to_context(t->target, t->signal, &info);
    } else if (t->notify == SIGEV_THREAD) {
        tell_overruns(t);
        pthread_t thread;
        pthread_attr_t attr;
        pthread_attr_init(&attr);
        pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
        pthread_create(&thread, &attr, call_function, t);
        pthread_attr_destroy(&attr);
    }
}

/* Its last signal has not been taken.  A signalfd of the subject's takes without telling: look whether it still waits. */
static int still_waits(const struct timer *t)
{
    uint64_t bit = peet__signal_bit(t->signal), kernel = 0;
    if (!t->waits || (t->notify != SIGEV_SIGNAL && t->notify != SIGEV_THREAD_ID))
        return 0;
    for (const struct peet_ctx *c = peet__ctx_list; c; c = c->next)
        if (c->counted && peet__signals_waiting(c) & bit)
            return 1;
    peet__raw_syscall(SYS_rt_sigpending, (long)&kernel, sizeof kernel, 0, 0, 0, 0);
    return ((peet__signals_waiting(&peet__rt.main_ctx) | kernel) & bit) != 0;
}

void peet__timer_taken(siginfo_t *info)
{
    uint64_t index = (uint64_t)(unsigned)info->si_timerid;
    if (info->si_code != SI_TIMER || index < FIXED || index >= ntimers || !timers[index]->waits)
        return;
    struct timer *t = timers[index];
    t->waits = 0;
    tell_overruns(t);
    info->si_overrun = (int)t->overruns_told;
}

/* It has run out so often, says the descriptor from now on, and as often as nobody has read yet. */
static void make_readable(struct timer *t, uint64_t times)
{
    struct pollfd unread = {.fd = t->descriptor, .events = POLLIN};
    if (peet__raw_syscall(SYS_poll, (long)&unread, 1, 0, 0, 0, 0) == 0)
        t->overruns = 0;
    t->overruns += times;
    if (peet__raw_syscall(SYS_ioctl, t->descriptor, SET_TICKS, (long)&t->overruns, 0, 0, 0) != -ENOTTY)
        return;
    /* A kernel without that: once, as soon as it can. */
    const struct itimerspec past = {{0, 0}, {0, 1}};
    if (peet__raw_syscall(SYS_timerfd_settime, t->descriptor, TFD_TIMER_ABSTIME, (long)&past, 0, 0, 0) == 0)
        peet__raw_syscall(SYS_poll, (long)&unread, 1, -1, 0, 0, 0);
}

/* Arm it for the next time; turns that a late service has missed are overruns, and those of a signal that still waits. */
static void expire(unsigned index, uint64_t now)
{
    struct timer *t = timers[index];
    uint64_t interval = cycles_of(t->interval_ns / NS_PER_S, t->interval_ns % NS_PER_S), missed = 0;
    if (t->interval_ns == 0) {
        t->deadline = 0;
    } else {
        if (interval == 0)
            interval = 1;
        missed = (now - t->deadline) / interval;
        t->deadline += (missed + 1) * interval;
    }
    if (t->notify == NOTIFY_DESCRIPTOR) {
        make_readable(t, missed + 1);
        return;
    }
    t->overruns += missed;
    if (still_waits(t))
        t->overruns++;
    else
        send(index);
}

static uint64_t next_deadline(void)
{
    uint64_t first = PEET_NEVER;
    for (unsigned i = 0; i < ntimers; i++)
        if (timers[i]->deadline && timers[i]->deadline < first)
            first = timers[i]->deadline;
    return first;
}

static void expire_due(void)
{
    uint64_t now = peet_rt_now();
    for (unsigned i = 0; i < ntimers; i++)
        if (timers[i]->deadline && timers[i]->deadline <= now)
            expire(i, now);
}

static void service(uint64_t tp, uint64_t unused)
{
    peet__mask_set(peet__rt.current, ~(uint64_t)0, 1);
    for (;;) {
        uint64_t args[] = {(uint64_t)&timers_of_peet, next_deadline()};
        peet_rt_event(PEET_ABSTRACT_SEM_WAIT, 2, args);
        expire_due();
    }
}

/* A timer has been set: the service shall look again. */
static int tell_service(void)
{
    if (running) {
        uint64_t args[] = {(uint64_t)&timers_of_peet, 1};
        peet_rt_event(PEET_ABSTRACT_SEM_POST, 2, args);
        return 0;
    }
    uint64_t tp;
    if (peet_rt_thread_new(0, SERVICE_STACK_BYTES, 0, &tp) != 0)
        return EAGAIN;
    uint64_t args[] = {(uint64_t)service, tp, 0, SERVICE_STACK_BYTES, 1, 0};
    running = 1;
    uint64_t number = peet_rt_event(PEET_ABSTRACT_THREAD_CREATE, 6, args);
    if (number & PEET_FAILED) {
        running = 0;
        peet_rt_thread_free(tp);
        return EAGAIN;
    }
    peet_rt_thread_free(tp); /* nobody names it */
    return 0;
}

/* --------------------------------------------------------------------------------------------- timers */

static struct timer *new_timer(unsigned *out_index)
{
    struct peet__visit visit = peet__visit_begin();
    struct timer *t = NULL;
    unsigned index = FIXED;
    while (index < ntimers && timers[index]->used)
        index++;
    if (index < ntimers) {
        t = timers[index];
        memset(t, 0, sizeof *t);
    } else {
        if (ntimers == room) {
            struct timer **more = __libc_calloc(2 * room + 16, sizeof *more);
            if (more) {
                if (ntimers)
                    memcpy(more, timers, ntimers * sizeof *more);
                __libc_free(timers);
                timers = more;
                room = 2 * room + 16;
            }
        }
        if (ntimers < room && (t = __libc_calloc(1, sizeof *t)))
            timers[index = ntimers++] = t;
    }
    peet__visit_end(visit);
    if (t)
        t->used = 1;
    *out_index = index;
    return t;
}

/* The three of setitimer() come first. */
static int make_fixed(void)
{
    static const int signals[FIXED] = {SIGALRM, SIGVTALRM, SIGPROF};
    while (ntimers < FIXED) {
        unsigned index = ntimers;
        struct peet__visit visit = peet__visit_begin();
        if (!timers && (timers = __libc_calloc(16, sizeof *timers)))
            room = 16;
        struct timer *t = timers ? __libc_calloc(1, sizeof *t) : NULL;
        peet__visit_end(visit);
        if (!t)
            return ENOMEM;
        *t = (struct timer){.used = 1, .notify = SIGEV_SIGNAL, .signal = signals[index]};
        timers[ntimers++] = t;
    }
    return 0;
}

/* What is left of it, and its interval. */
static void remaining(const struct timer *t, uint64_t *out_ns, uint64_t *out_interval_ns)
{
    uint64_t now = t->deadline ? peet_rt_now() : 0;
    *out_ns = t->deadline > now ? ns_of(t->deadline - now) : t->deadline ? 1 : 0;
    *out_interval_ns = t->interval_ns;
}

static int arm(struct timer *t, uint64_t deadline, uint64_t interval_ns)
{
    t->interval_ns = interval_ns;
    t->overruns = t->overruns_told = 0;
    t->deadline = deadline;
    return deadline ? tell_service() : 0; /* one that is disarmed too early to be noticed is harmless */
}

/* --------------------------------------------------------------------------------- alarm(), setitimer() */

static struct timeval timeval_of(uint64_t ns)
{
    uint64_t us = (ns + 999) / 1000;
    return (struct timeval){(time_t)(us / 1000000), (suseconds_t)(us % 1000000)};
}

PUBLIC int getitimer(__itimer_which_t which, struct itimerval *old)
{
    uint64_t ns, interval_ns;
    if (!simulated())
        return ((int (*)(__itimer_which_t, struct itimerval *))peet__next("getitimer"))(which, old);
    if ((unsigned)which >= FIXED || make_fixed() != 0) {
        errno = EINVAL;
        return -1;
    }
    remaining(timers[which], &ns, &interval_ns);
    old->it_value = timeval_of(ns);
    old->it_interval = timeval_of(interval_ns);
    return 0;
}

static int bad(const struct timeval *t)
{
    return t->tv_sec < 0 || t->tv_usec < 0 || t->tv_usec >= 1000000;
}

PUBLIC int setitimer(__itimer_which_t which, const struct itimerval *new, struct itimerval *old)
{
    if (!simulated())
        return ((int (*)(__itimer_which_t, const struct itimerval *, struct itimerval *))peet__next("setitimer"))(which,
            new, old);
    if ((unsigned)which >= FIXED || make_fixed() != 0 || (new && (bad(&new->it_value) || bad(&new->it_interval)))) {
        errno = EINVAL;
        return -1;
    }
    struct timer *t = timers[which];
    struct itimerval before;
    if (getitimer(which, &before) != 0)
        return -1;
    uint64_t deadline = 0, interval_ns = 0;
    if (new) {
        deadline = peet__timer_deadline((uint64_t)new->it_value.tv_sec, (uint64_t)new->it_value.tv_usec * 1000);
        interval_ns = (uint64_t)new->it_interval.tv_sec * NS_PER_S + (uint64_t)new->it_interval.tv_usec * 1000;
    }
    int err = arm(t, deadline, interval_ns);
    if (err) {
        errno = err;
        return -1;
    }
    if (old)
        *old = before;
    return 0;
}

PUBLIC unsigned alarm(unsigned seconds)
{
    if (!simulated())
        return ((unsigned (*)(unsigned))peet__next("alarm"))(seconds);
    struct itimerval new = {{0, 0}, {seconds, 0}}, old;
    if (setitimer(ITIMER_REAL, &new, &old) != 0)
        return 0;
    /* rounded, but never to 0 if there was one */
    unsigned left = (unsigned)old.it_value.tv_sec + (old.it_value.tv_usec >= 500000);
    return left == 0 && old.it_value.tv_usec ? 1 : left;
}

PUBLIC useconds_t ualarm(useconds_t value, useconds_t interval)
{
    if (!simulated())
        return ((useconds_t (*)(useconds_t, useconds_t))peet__next("ualarm"))(value, interval);
    struct itimerval old;
    struct itimerval new = {{interval / 1000000, interval % 1000000}, {value / 1000000, value % 1000000}};
    if (setitimer(ITIMER_REAL, &new, &old) != 0)
        return (useconds_t)-1;
    return (useconds_t)(old.it_value.tv_sec * 1000000 + old.it_value.tv_usec);
}

/* ------------------------------------------------------------------------------------- timer_create() */

/* timer_t: the index. */
static struct timer *of_id(timer_t id)
{
    uint64_t index = (uint64_t)id;
    struct timer *t = index >= FIXED && index < ntimers ? timers[index] : NULL;
    if (t && t->used)
        return t;
    errno = EINVAL;
    return NULL;
}

PUBLIC int timer_create(clockid_t clock, struct sigevent *restrict event, timer_t *restrict out_id)
{
    unsigned index;
    if (!simulated())
        return ((int (*)(clockid_t, struct sigevent *, timer_t *))peet__next("timer_create"))(clock, event, out_id);
    struct timespec probe;
    if (clock_getres(clock, &probe) != 0)
        return -1;
    int notify = event ? event->sigev_notify : SIGEV_SIGNAL, signal = event ? event->sigev_signo : SIGALRM;
    int sends = notify == SIGEV_SIGNAL || notify == SIGEV_THREAD_ID;
    if ((!sends && notify != SIGEV_NONE && notify != SIGEV_THREAD) || (sends && (signal <= 0 || signal >= NSIG))) {
        errno = EINVAL;
        return -1;
    }
    struct timer *t = make_fixed() == 0 ? new_timer(&index) : NULL;
    if (!t) {
        errno = EAGAIN;
        return -1;
    }
    t->notify = notify;
    t->signal = signal;
    t->clock = clock;
    t->target = peet__rt.current;
    if (event) {
        t->value = event->sigev_value;
        t->function = notify == SIGEV_THREAD ? event->sigev_notify_function : NULL;
    } else {
        t->value.sival_int = (int)index;
    }
    *out_id = (timer_t)(uint64_t)index;
    return 0;
}

PUBLIC int timer_delete(timer_t id)
{
    if (!simulated())
        return ((int (*)(timer_t))peet__next("timer_delete"))(id);
    struct timer *t = of_id(id);
    if (!t)
        return -1;
    t->used = 0;
    t->deadline = 0;
    return 0;
}

static struct itimerspec spec_of(const struct timer *t)
{
    uint64_t ns, interval_ns;
    remaining(t, &ns, &interval_ns);
    return (struct itimerspec){{(time_t)(interval_ns / NS_PER_S), (long)(interval_ns % NS_PER_S)},
        {(time_t)(ns / NS_PER_S), (long)(ns % NS_PER_S)}};
}

static int bad_spec(const struct timespec *t)
{
    return t->tv_sec < 0 || t->tv_nsec < 0 || t->tv_nsec >= (long)NS_PER_S;
}

static int set(struct timer *t, int flags, const struct itimerspec *new, struct itimerspec *old)
{
    if (bad_spec(&new->it_value) || bad_spec(&new->it_interval)) {
        errno = EINVAL;
        return -1;
    }
    if (old)
        *old = spec_of(t);
    uint64_t deadline = 0;
    if (new->it_value.tv_sec || new->it_value.tv_nsec) {
        if (flags & TIMER_ABSTIME) {
            deadline = peet_rt_cycles_until(t->clock, &new->it_value);
            deadline = deadline ? deadline : 1; /* past: at once */
        } else {
            deadline = peet__timer_deadline((uint64_t)new->it_value.tv_sec, (uint64_t)new->it_value.tv_nsec);
        }
    }
    int err = arm(t, deadline, (uint64_t)new->it_interval.tv_sec * NS_PER_S + (uint64_t)new->it_interval.tv_nsec);
    if (err == 0)
        return 0;
    errno = err;
    return -1;
}

PUBLIC int timer_settime(timer_t id, int flags, const struct itimerspec *restrict new, struct itimerspec *restrict old)
{
    if (!simulated())
        return ((int (*)(timer_t, int, const struct itimerspec *, struct itimerspec *))peet__next("timer_settime"))(id,
            flags, new, old);
    struct timer *t = of_id(id);
    return t ? set(t, flags, new, old) : -1;
}

PUBLIC int timer_gettime(timer_t id, struct itimerspec *out)
{
    if (!simulated())
        return ((int (*)(timer_t, struct itimerspec *))peet__next("timer_gettime"))(id, out);
    struct timer *t = of_id(id);
    if (!t)
        return -1;
    *out = spec_of(t);
    return 0;
}

PUBLIC int timer_getoverrun(timer_t id)
{
    if (!simulated())
        return ((int (*)(timer_t))peet__next("timer_getoverrun"))(id);
    struct timer *t = of_id(id);
    if (!t)
        return -1;
    if (t->waits && !still_waits(t)) { /* a signal that is ignored goes without being taken */
        t->waits = 0;
        tell_overruns(t);
    }
    return (int)t->overruns_told;
}

/* ----------------------------------------------------------------------------------- timerfd_create() */

/* Known by its number: a duplicate that another number names is the kernel's, which has never been armed. */
static struct timer *of_descriptor(int fd)
{
    for (unsigned i = FIXED; simulated() && i < ntimers; i++)
        if (timers[i]->used && timers[i]->notify == NOTIFY_DESCRIPTOR && timers[i]->descriptor == fd)
            return timers[i];
    return NULL;
}

static void forget(struct timer *t)
{
    t->used = 0;
    t->deadline = 0;
}

void peet__timer_closed(int fd)
{
    struct timer *t = of_descriptor(fd);
    if (t)
        forget(t);
}

PUBLIC int timerfd_create(int clock, int flags)
{
    unsigned index;
    int fd = ((int (*)(int, int))peet__next("timerfd_create"))(clock, flags);
    if (fd < 0 || !simulated())
        return fd;
    peet__timer_closed(fd); /* by a call that does not tell */
    struct timer *t = make_fixed() == 0 ? new_timer(&index) : NULL;
    if (!t) {
        close(fd);
        errno = ENOMEM;
        return -1;
    }
    t->notify = NOTIFY_DESCRIPTOR;
    t->descriptor = fd;
    t->clock = clock == CLOCK_REALTIME_ALARM ? CLOCK_REALTIME : clock == CLOCK_BOOTTIME_ALARM ? CLOCK_BOOTTIME : clock;
    return fd;
}

PUBLIC int timerfd_settime(int fd, int flags, const struct itimerspec *new, struct itimerspec *old)
{
    static const struct itimerspec never;
    struct timer *t = of_descriptor(fd);
    /* The kernel's says what is wrong, and forgets what nobody has read. */
    int result = ((int (*)(int, int, const struct itimerspec *, struct itimerspec *))peet__next("timerfd_settime"))(fd,
        flags, t && !bad_spec(&new->it_value) && !bad_spec(&new->it_interval) ? &never : new, t ? NULL : old);
    if (!t || result != 0)
        return result;
    result = set(t, flags & TFD_TIMER_ABSTIME ? TIMER_ABSTIME : 0, new, old);
    expire_due(); /* a time that is past is readable when this returns */
    return result;
}

PUBLIC int timerfd_gettime(int fd, struct itimerspec *out)
{
    struct timer *t = of_descriptor(fd);
    int result = ((int (*)(int, struct itimerspec *))peet__next("timerfd_gettime"))(fd, out);
    if (t && result == 0)
        *out = spec_of(t);
    return result;
}
