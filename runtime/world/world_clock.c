/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The subject's clocks and sleeps, in simulated time.  Cycle 0 is 2026-01-01 00:00:00 UTC, and on monotonic clocks an
 * hour after the computer's start: programs take a time of 0 for none.  The processor clocks count the cycles for which
 * contexts have been busy, as far as the mapper tells.  Reading a clock is an event: it happens in simulated-time
 * order.
 */
#include "world/world.h"

#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/times.h>
#include <sys/wait.h>
#include <threads.h>
#include <unistd.h>
#include <peet/module.h>

#define NS_PER_S 1000000000ull
#define EPOCH_NS (1767225600ull * NS_PER_S)
#define UP_NS (3600ull * NS_PER_S)

/* The argument of CLOCK. */
enum which { WALL, THREAD_BUSY, PROCESS_BUSY };

static uint64_t frequency_hz = NS_PER_S;

PUBLIC void peet_rt_set_frequency_hz(uint64_t hz)
{
    frequency_hz = hz ? hz : NS_PER_S;
}

PUBLIC uint64_t peet_rt_frequency_hz(void)
{
    return frequency_hz;
}

PUBLIC uint64_t peet_rt_epoch_ns(void)
{
    return EPOCH_NS;
}

/* In a marked loop, whose iterations are recorded before they are simulated, time stands at the last reading. */
static uint64_t cycles_of(enum which which)
{
    static uint64_t last[3];
    uint64_t arg = which;
    if (peet__rt.current && peet__rt.current->mark_depth > 0)
        return last[which];
    return last[which] = peet_rt_event(PEET_ABSTRACT_CLOCK, 1, &arg);
}

PUBLIC uint64_t peet_rt_now(void)
{
    return cycles_of(WALL);
}

PUBLIC void peet_rt_order(void)
{
    const uint64_t args[] = {WALL, 1};
    if (!peet__rt.current || !peet__rt.current->mark_depth)
        peet_rt_event(PEET_ABSTRACT_CLOCK, 2, args);
}

static uint64_t ns_of(uint64_t cycles)
{
    return (uint64_t)((unsigned __int128)cycles * NS_PER_S / frequency_hz);
}

/* The first cycle at which the clock shows so many nanoseconds. */
static uint64_t cycles_for(uint64_t ns)
{
    unsigned __int128 cycles = ((unsigned __int128)ns * frequency_hz + NS_PER_S - 1) / NS_PER_S;
    return cycles >= PEET_NEVER ? PEET_NEVER : (uint64_t)cycles;
}

static struct timespec timespec_of(uint64_t ns)
{
    return (struct timespec){.tv_sec = (time_t)(ns / NS_PER_S), .tv_nsec = (long)(ns % NS_PER_S)};
}

static struct timeval timeval_of(uint64_t ns)
{
    return (struct timeval){.tv_sec = (time_t)(ns / NS_PER_S), .tv_usec = (suseconds_t)(ns % NS_PER_S / 1000)};
}

/* Nanoseconds; beyond 2^64 the end of time. */
static int ns_from(const struct timespec *t, uint64_t *out_ns)
{
    unsigned __int128 ns = (unsigned __int128)(uint64_t)t->tv_sec * NS_PER_S + (uint64_t)t->tv_nsec;
    if (t->tv_nsec < 0 || t->tv_nsec >= (long)NS_PER_S)
        return EINVAL;
    *out_ns = t->tv_sec < 0 ? 0 : ns > UINT64_MAX ? UINT64_MAX : (uint64_t)ns;
    return 0;
}

uint64_t peet__world_deadline_ns(uint64_t ns)
{
    uint64_t now = peet_rt_now(), wait = cycles_for(ns);
    return wait >= PEET_NEVER - now ? PEET_NEVER : now + wait;
}

int peet__world_deadline(const struct timespec *relative, uint64_t *out_cycles)
{
    uint64_t ns;
    if (relative->tv_sec < 0 || ns_from(relative, &ns) != 0)
        return EINVAL;
    *out_cycles = ns == UINT64_MAX ? PEET_NEVER : peet__world_deadline_ns(ns);
    return 0;
}

void peet__world_timespec(uint64_t cycles, struct timespec *out)
{
    *out = timespec_of(ns_of(cycles));
}

/* ------------------------------------------------------------------------------------------- reading */

/* Before the host is there (constructors of libraries), time stands at cycle 0. */
static int before_time(void)
{
    return peet__rt.capturing;
}

/* Whether there is what a negative clock names: a process of the kernel's, or a thread, by its context's number, which
 * may be still to begin. */
static int is_busy_clock(clockid_t clock)
{
    if ((clock & 3) == 3)
        return 0;
    return clock & 4 || peet__raw_syscall(SYS_clock_getres, clock, 0, 0, 0, 0, 0) == 0;
}

/* What a clock counts, and from when.  Returns: 0 or EINVAL */
static int clock_kind(clockid_t clock, enum which *out_which, uint64_t *out_epoch_ns)
{
    *out_which = WALL;
    *out_epoch_ns = 0;
    switch (clock) {
    case CLOCK_REALTIME:
    case CLOCK_REALTIME_COARSE:
    case CLOCK_REALTIME_ALARM:
    case CLOCK_TAI:
        *out_epoch_ns = EPOCH_NS;
        return 0;
    case CLOCK_MONOTONIC:
    case CLOCK_MONOTONIC_RAW:
    case CLOCK_MONOTONIC_COARSE:
    case CLOCK_BOOTTIME:
    case CLOCK_BOOTTIME_ALARM:
        *out_epoch_ns = UP_NS;
        return 0;
    case CLOCK_PROCESS_CPUTIME_ID:
        *out_which = PROCESS_BUSY;
        return 0;
    case CLOCK_THREAD_CPUTIME_ID:
        *out_which = THREAD_BUSY;
        return 0;
    default: /* clock_getcpuclockid(), pthread_getcpuclockid(): negative; the kernel's bit 2 says "of a thread" */
        *out_which = clock & 4 ? THREAD_BUSY : PROCESS_BUSY;
        return clock < 0 && is_busy_clock(clock) ? 0 : EINVAL;
    }
}

PUBLIC uint64_t peet_rt_cycles_until(int clock, const struct timespec *absolute)
{
    enum which which;
    uint64_t ns, epoch;
    if (clock_kind(clock, &which, &epoch) != 0)
        epoch = 0;
    if (ns_from(absolute, &ns) != 0 || ns <= epoch)
        return 0;
    return ns == UINT64_MAX ? PEET_NEVER : cycles_for(ns - epoch);
}

/* Nanoseconds that a clock shows.  Returns: 0 or EINVAL */
static int read_clock(clockid_t clock, uint64_t *out_ns)
{
    enum which which;
    uint64_t epoch;
    if (clock_kind(clock, &which, &epoch) != 0)
        return EINVAL;
    *out_ns = epoch + (before_time() ? 0 : ns_of(cycles_of(which)));
    return 0;
}

SIM(int, clock_gettime, clockid_t clock, struct timespec *out)
{
    uint64_t ns;
    if (!SUBJECT)
        return REAL(clock_gettime)(clock, out);
    if (read_clock(clock, &ns) != 0) {
        errno = EINVAL;
        return -1;
    }
    *out = timespec_of(ns);
    return 0;
}

SIM(int, clock_getres, clockid_t clock, struct timespec *out)
{
    enum which which;
    uint64_t epoch;
    if (!SUBJECT)
        return REAL(clock_getres)(clock, out);
    if (clock_kind(clock, &which, &epoch) != 0) {
        errno = EINVAL;
        return -1;
    }
    if (out)
        *out = timespec_of(frequency_hz >= NS_PER_S ? 1 : NS_PER_S / frequency_hz);
    return 0;
}

SIM(int, clock_settime, clockid_t clock, const struct timespec *time)
{
    if (!SUBJECT)
        return REAL(clock_settime)(clock, time);
    if (!peet__world_readable(time, sizeof *time))
        errno = EFAULT;
    else
        errno = clock != CLOCK_REALTIME || time->tv_sec < 0 || time->tv_nsec < 0 || time->tv_nsec >= (long)NS_PER_S
            ? EINVAL
            : EPERM;
    return -1;
}

SIM(int, gettimeofday, struct timeval *out, void *zone)
{
    uint64_t ns;
    if (!SUBJECT)
        return REAL(gettimeofday)(out, zone);
    if (zone)
        *(struct timezone *)zone = (struct timezone){0, 0};
    if (out) {
        read_clock(CLOCK_REALTIME, &ns);
        *out = timeval_of(ns);
    }
    return 0;
}

SIM(time_t, time, time_t *out)
{
    uint64_t ns;
    if (!SUBJECT)
        return REAL(time)(out);
    read_clock(CLOCK_REALTIME, &ns);
    if (out)
        *out = (time_t)(ns / NS_PER_S);
    return (time_t)(ns / NS_PER_S);
}

SIM(int, timespec_get, struct timespec *out, int base)
{
    uint64_t ns;
    if (!SUBJECT)
        return REAL(timespec_get)(out, base);
    if (base != TIME_UTC)
        return 0;
    read_clock(CLOCK_REALTIME, &ns);
    *out = timespec_of(ns);
    return base;
}

SIM(clock_t, clock, void)
{
    uint64_t ns;
    if (!SUBJECT)
        return REAL(clock)();
    read_clock(CLOCK_PROCESS_CPUTIME_ID, &ns);
    return (clock_t)(ns / (NS_PER_S / CLOCKS_PER_SEC));
}

SIM(clock_t, times, struct tms *out)
{
    uint64_t busy, now, tick = NS_PER_S / (uint64_t)sysconf(_SC_CLK_TCK);
    struct tms real;
    if (!SUBJECT)
        return REAL(times)(out);
    REAL(times)(&real); /* children are not simulated */
    read_clock(CLOCK_PROCESS_CPUTIME_ID, &busy);
    read_clock(CLOCK_MONOTONIC, &now);
    if (out)
        *out = (struct tms){
            .tms_utime = (clock_t)(busy / tick), .tms_cutime = real.tms_cutime, .tms_cstime = real.tms_cstime};
    return (clock_t)(now / tick);
}

/* Times are simulated; the other numbers are the kernel's for the whole process and change from run to run, so
 * they are left 0, but for children. */
SIM(int, getrusage, __rusage_who_t who, struct rusage *out)
{
    uint64_t ns;
    if (!SUBJECT || who == RUSAGE_CHILDREN)
        return REAL(getrusage)(who, out);
    if (who != RUSAGE_SELF && who != RUSAGE_THREAD) {
        errno = EINVAL;
        return -1;
    }
    *out = (struct rusage){0};
    read_clock(who == RUSAGE_SELF ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_THREAD_CPUTIME_ID, &ns);
    out->ru_utime = timeval_of(ns);
    return 0;
}

/* ------------------------------------------------------------------------------------------- sleeping */

int peet__world_sleep_until(uint64_t cycles)
{
    if (before_time()) {
        peet__early_waits();
        return 0;
    }
    return (int)peet_rt_event(PEET_ABSTRACT_SLEEP, 1, &cycles);
}

/* What was left when a sleep was interrupted. */
static uint64_t left_ns(uint64_t deadline)
{
    uint64_t now = peet_rt_now();
    return deadline > now ? ns_of(deadline - now) : 0;
}

void peet__world_children_run(uint64_t ns)
{
    enum { PATIENCE_NS = 200000000 };
    siginfo_t ended = {.si_pid = 0};
    const int saved_errno = errno;
    if (!peet__world_concurrent() && waitid(P_ALL, 0, &ended, WEXITED | WNOHANG | WNOWAIT) == 0 && ended.si_pid == 0) {
        const struct timespec host = {0, (long)(ns < PATIENCE_NS ? ns : PATIENCE_NS)};
        peet__sample_pause();
        syscall(SYS_nanosleep, &host, NULL);
    }
    errno = saved_errno;
}

/* Returns: 0, or an errno value with what is left */
static int sleep_ns(uint64_t ns, uint64_t *out_left_ns)
{
    uint64_t deadline = before_time() ? 0 : peet__world_deadline_ns(ns);
    peet__world_cancellation_point();
    if (!before_time())
        peet__world_children_run(ns);
    int error = peet__world_sleep_until(deadline);
    peet__world_cancellation_point();
    *out_left_ns = error ? left_ns(deadline) : 0;
    return error;
}

/* clock_nanosleep() returns the error, and is what C++ and C11 sleeps come down to. */
SIM(int, clock_nanosleep, clockid_t clock, int flags, const struct timespec *time, struct timespec *rest)
{
    uint64_t ns, left;
    if (!SUBJECT)
        return REAL(clock_nanosleep)(clock, flags, time, rest);
    enum which which;
    if (!peet__world_readable(time, sizeof *time))
        return EFAULT;
    if (clock == CLOCK_THREAD_CPUTIME_ID || clock_kind(clock, &which, &ns) != 0 || time->tv_sec < 0 ||
        ns_from(time, &ns) != 0)
        return EINVAL;
    if (flags & TIMER_ABSTIME) {
        peet__world_cancellation_point();
        int error = peet__world_sleep_until(peet_rt_cycles_until(clock, time));
        peet__world_cancellation_point();
        return error;
    }
    int error = sleep_ns(ns, &left);
    if (error && rest)
        *rest = timespec_of(left);
    return error;
}

SIM(int, nanosleep, const struct timespec *time, struct timespec *rest)
{
    if (!SUBJECT)
        return REAL(nanosleep)(time, rest);
    int error = peet__sim_clock_nanosleep(CLOCK_MONOTONIC, 0, time, rest);
    if (!error)
        return 0;
    errno = error;
    return -1;
}

SIM(int, usleep, useconds_t us)
{
    uint64_t left;
    if (!SUBJECT)
        return REAL(usleep)(us);
    int error = sleep_ns((uint64_t)us * 1000, &left);
    if (!error)
        return 0;
    errno = error;
    return -1;
}

SIM(unsigned, sleep, unsigned seconds)
{
    uint64_t left;
    if (!SUBJECT)
        return REAL(sleep)(seconds);
    sleep_ns(seconds * NS_PER_S, &left);
    return (unsigned)((left + NS_PER_S / 2) / NS_PER_S);
}

SIM(int, thrd_sleep, const struct timespec *time, struct timespec *rest)
{
    if (!SUBJECT)
        return REAL(thrd_sleep)(time, rest);
    int error = peet__sim_clock_nanosleep(CLOCK_REALTIME, 0, time, rest);
    return !error ? 0 : error == EINTR ? -1 : -2;
}
