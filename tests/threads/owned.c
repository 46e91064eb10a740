/* SPDX-License-Identifier: Apache-2.0 */
/* Futexes whose word is their owner's number (FUTEX_LOCK_PI): only who has to wait calls the kernel.  And wakes that are
 * for some of the waiters. */
#include "harness.h"
#include <linux/futex.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/syscall.h>

static _Atomic uint32_t word;
static int counter;

static long call(int operation, const struct timespec *until)
{
    return syscall(SYS_futex, &word, operation | FUTEX_PRIVATE_FLAG, 0, until, NULL, 0) == 0 ? 0 : errno;
}

static uint32_t self(void)
{
    return (uint32_t)syscall(SYS_gettid);
}

static void lock(void)
{
    uint32_t none = 0;
    if (!atomic_compare_exchange_strong(&word, &none, self()))
        OK(call(FUTEX_LOCK_PI, NULL));
    EQUAL(word & FUTEX_TID_MASK, self());
}

static void unlock(void)
{
    uint32_t alone = self();
    if (!atomic_compare_exchange_strong(&word, &alone, 0))
        OK(call(FUTEX_UNLOCK_PI, NULL));
}

static void *count(void *arg)
{
    for (int i = 0; i < 200; i++) {
        lock();
        int before = counter;
        if (i % 50 == 0)
            pause_ms(1);
        counter = before + 1;
        unlock();
    }
    return arg;
}

CASE(exclusion)
{
    pthread_t t[4];
    for (int i = 0; i < 4; i++)
        t[i] = start(count, NULL);
    for (int i = 0; i < 4; i++)
        finish(t[i]);
    EQUAL(counter, 800);
    EQUAL(word, 0);
}

static void *late(void *arg)
{
    struct timespec until;
    EQUAL(call(FUTEX_TRYLOCK_PI, NULL), EAGAIN);
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += (until.tv_nsec + 20000000) / 1000000000;
    until.tv_nsec = (until.tv_nsec + 20000000) % 1000000000;
    EQUAL(call(FUTEX_LOCK_PI, &until), ETIMEDOUT);
    EQUAL(call(FUTEX_UNLOCK_PI, NULL), EPERM);
    return arg;
}

CASE(refusals)
{
    lock();
    EQUAL(call(FUTEX_LOCK_PI, NULL), EDEADLK);
    finish(start(late, NULL));
    unlock();
    EQUAL(word & FUTEX_TID_MASK, 0);
    OK(call(FUTEX_TRYLOCK_PI, NULL));
    EQUAL(word & FUTEX_TID_MASK, self());
    unlock();
    EQUAL(word, 0);
}

static _Atomic uint32_t closed = 1, open_to, waiting;

static void *wait_for_bit(void *arg)
{
    waiting++;
    while (!(open_to & (uint32_t)(uintptr_t)arg))
        syscall(SYS_futex, &closed, FUTEX_WAIT_BITSET, 1, NULL, NULL, (uint32_t)(uintptr_t)arg);
    return arg;
}

CASE(some_of_the_waiters)
{
    pthread_t t[4];
    for (uintptr_t i = 0; i < 4; i++)
        t[i] = start(wait_for_bit, (void *)((uintptr_t)1 << i));
    while (waiting < 4)
        sched_yield();
    pause_ms(20);
    for (int i = 3; i >= 0; i--) {
        open_to |= 1u << i;
        syscall(SYS_futex, &closed, FUTEX_WAKE_BITSET, 1, NULL, NULL, 1u << i);
        EQUAL((long)finish(t[i]), 1 << i);
    }
}
