/* SPDX-License-Identifier: Apache-2.0 */
/* What a thread has from its creator. */
#define _GNU_SOURCE
#include "harness.h"

#include <fenv.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>

/* ------------------------------------------------------------------------------------------- floating point */

static unsigned control(void)
{
    unsigned mxcsr = 0;
#ifdef __x86_64__
    __asm__ volatile("stmxcsr %0" : "=m"(mxcsr));
#endif
    return mxcsr & ~0x3fu;
}

static void set_control(unsigned mxcsr)
{
#ifdef __x86_64__
    __asm__ volatile("ldmxcsr %0" : : "m"(mxcsr));
#endif
}

static void *compute(void *arg)
{
    *(unsigned *)arg = control();
    return (void *)(long)fegetround();
}

CASE(a_thread_computes_as_its_creator)
{
    const unsigned before = control();
    unsigned seen = 0;
    fesetround(FE_UPWARD);
    set_control(control() | 0x8000); /* flush to zero */
    EQUAL(finish(start(compute, &seen)), FE_UPWARD);
    EQUAL(seen, control());
    set_control(before);
    fesetround(FE_TONEAREST);
    EQUAL(finish(start(compute, &seen)), FE_TONEAREST);
    EQUAL(seen, before);
}

static volatile int rounding;

static void handler(int signal)
{
    rounding = fegetround();
    fesetround(FE_TOWARDZERO);
}

CASE(a_handler_computes_afresh)
{
    signal(SIGUSR1, handler);
    fesetround(FE_UPWARD);
    for (int i = 0; i < 2; i++) {
        rounding = -1;
        raise(SIGUSR1);
        EQUAL(rounding, FE_TONEAREST);
        EQUAL(fegetround(), FE_UPWARD);
    }
    fesetround(FE_TONEAREST);
    signal(SIGUSR1, SIG_DFL);
}

/* ------------------------------------------------------------------------------------------------ attributes */

static volatile int levels = 8000;

static long deep(int n)
{
    volatile char block[4096];
    memset((void *)block, n, sizeof block);
    return n ? block[7] + deep(n - 1) * block[9] : 0;
}

static void *descend(void *arg)
{
    deep(levels);
    return arg;
}

CASE(default_attributes_hold)
{
    pthread_attr_t attr, before;
    pthread_t t;
    size_t bytes = 0;
    OK(pthread_getattr_default_np(&before));
    OK(pthread_attr_init(&attr));
    OK(pthread_attr_setstacksize(&attr, 64 << 20));
    OK(pthread_setattr_default_np(&attr));
    OK(pthread_create(&t, NULL, descend, (void *)5L));
    EQUAL(finish(t), 5);
    OK(pthread_attr_destroy(&attr));
    OK(pthread_attr_init(&attr));
    OK(pthread_attr_getstacksize(&attr, &bytes));
    EQUAL(bytes, 64 << 20);
    OK(pthread_setattr_default_np(&before));
}

static void *processors(void *arg)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    pthread_getaffinity_np(pthread_self(), sizeof set, &set);
    return (void *)(long)CPU_COUNT(&set);
}

CASE(processors_are_inherited_if_attributes_name_none)
{
    cpu_set_t before, one;
    pthread_attr_t attr;
    pthread_t t;
    int cpu = 0;
    OK(pthread_getaffinity_np(pthread_self(), sizeof before, &before));
    while (!CPU_ISSET(cpu, &before))
        cpu++;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    OK(pthread_setaffinity_np(pthread_self(), sizeof one, &one));
    OK(pthread_attr_init(&attr));
    OK(pthread_attr_setstacksize(&attr, 1 << 20));
    OK(pthread_create(&t, &attr, processors, NULL));
    EQUAL(finish(t), 1);
    OK(pthread_setaffinity_np(pthread_self(), sizeof before, &before));
}

/* ------------------------------------------------------------------------------------------------------ names */

static void *named(void *arg)
{
    char name[16], *const out = arg;
    OK(pthread_getname_np(pthread_self(), out, 16));
    OK(prctl(PR_GET_NAME, name));
    OK(strcmp(name, out));
    OK(prctl(PR_SET_NAME, "longer than fifteen"));
    OK(pthread_getname_np(pthread_self(), name, sizeof name));
    OK(strcmp(name, "longer than fif"));
    return NULL;
}

static void *parent(void *arg)
{
    char name[16];
    OK(pthread_setname_np(pthread_self(), "parent"));
    finish(start(named, arg));
    OK(prctl(PR_GET_NAME, name));
    OK(strcmp(name, "parent"));
    return NULL;
}

CASE(names_are_inherited_and_one)
{
    char name[16];
    finish(start(parent, name));
    OK(strcmp(name, "parent"));
}

/* ------------------------------------------------------------------------------- what has happened, x87 too */

static void *divide(void *arg)
{
    volatile long double one = 1, zero = 0;
    fedisableexcept(FE_ALL_EXCEPT);
    one = one / zero;
    return fetestexcept(FE_DIVBYZERO) ? arg : NULL;
}

CASE(x87_flags_are_each_threads_own)
{
    volatile long double x = 1, y = 3;
    fenv_t before;
    feholdexcept(&before);
    feenableexcept(FE_DIVBYZERO);
    EQUAL(finish(start(divide, (void *)1)), 1);
    x = x / y; /* no SIGFPE of the thread's */
    EQUAL(fetestexcept(FE_DIVBYZERO), 0);
    fesetenv(&before);
}

/* ------------------------------------------------------------------------------------------- the mask of signals */

static void *is_blocked(void *signal)
{
    sigset_t now;
    pthread_sigmask(SIG_SETMASK, NULL, &now);
    return (void *)(long)sigismember(&now, (int)(long)signal);
}

CASE(mask_of_the_default_attributes)
{
    pthread_attr_t attr, before, plain;
    sigset_t hangup;
    pthread_t t;
    OK(pthread_getattr_default_np(&before));
    OK(pthread_getattr_default_np(&attr));
    sigemptyset(&hangup);
    sigaddset(&hangup, SIGHUP);
    OK(pthread_attr_setsigmask_np(&attr, &hangup));
    OK(pthread_setattr_default_np(&attr));
    EQUAL(finish(start(is_blocked, (void *)SIGHUP)), 1);
    OK(pthread_attr_init(&plain)); /* without a mask it is the creator's */
    OK(pthread_create(&t, &plain, is_blocked, (void *)SIGHUP));
    EQUAL(finish(t), 0);
    OK(pthread_setattr_default_np(&before));
    EQUAL(finish(start(is_blocked, (void *)SIGHUP)), 0);
}

/* ------------------------------------------------------------------------------------------- joins in a circle */

static void *join_it(void *thread)
{
    pthread_join(*(pthread_t *)thread, NULL);
    return NULL;
}

CASE(join_of_one_that_joins_and_is_cancelled)
{
    pthread_t self = pthread_self(), t = start(join_it, &self);
    void *result;
    pause_ms(20);
    OK(pthread_cancel(t));
    OK(pthread_join(t, &result));
    CHECK(result == PTHREAD_CANCELED);
}
