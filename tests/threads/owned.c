/* SPDX-License-Identifier: Apache-2.0 */
/* Futexes whose word is their owner's number (FUTEX_LOCK_PI): only who has to wait calls the kernel.  Wakes that are
 * for some of the waiters, waiters that move to another word, wakes with a change of another word. */
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

static _Atomic uint32_t first_word, second_word, asleep, woken;

static void *sleep_on_first(void *arg)
{
    asleep++;
    if (syscall(SYS_futex, &first_word, FUTEX_WAIT_PRIVATE, 0, arg, NULL, 0) == 0)
        woken++;
    else
        EQUAL(errno, ETIMEDOUT);
    return arg;
}

static long move(uint32_t wakes, uintptr_t moves, uint32_t expected)
{
    return syscall(SYS_futex, &first_word, FUTEX_CMP_REQUEUE_PRIVATE, wakes, moves, &second_word, expected);
}

static long wake(_Atomic uint32_t *at, uint32_t most)
{
    return syscall(SYS_futex, at, FUTEX_WAKE_PRIVATE, most, NULL, NULL, 0);
}

/* Waiters move to another word, where they are woken, or their time runs out. */
CASE(moved_waiters)
{
    struct timespec soon = {1, 0}; /* later than all of this, where there is much else to do, too */
    pthread_t t[7];
    for (int i = 0; i < 7; i++) { /* one after the other: the one that does not wait for ever comes last */
        t[i] = start(sleep_on_first, i == 6 ? &soon : NULL);
        while (asleep <= i)
            sched_yield();
        pause_ms(20);
    }
    EQUAL(move(1, 2, 1), -1);
    EQUAL(errno, EAGAIN);
    EQUAL(move((uint32_t)-1, 2, 0), -1);
    EQUAL(errno, EINVAL);
    EQUAL(move(1, 2, 0), 3);
    EQUAL(wake(&second_word, 1), 1); /* at once: it may be on its way */
    pause_ms(20);
    EQUAL(woken, 2);
    EQUAL(wake(&second_word, 9), 1);
    EQUAL(wake(&second_word, 9), 0);
    EQUAL(syscall(SYS_futex, &first_word, FUTEX_REQUEUE_PRIVATE, 0, (uintptr_t)9, &second_word, 0), 4);
    EQUAL(wake(&first_word, 9), 0);
    finish(t[6]);
    EQUAL(woken, 3);
    EQUAL(wake(&second_word, 9), 3);
    for (int i = 0; i < 6; i++)
        finish(t[i]);
    EQUAL(woken, 6);
}

static long change(uint32_t operation, uint32_t operand, uint32_t comparison, uint32_t with)
{
    return syscall(SYS_futex, &first_word, FUTEX_WAKE_OP_PRIVATE, 1, (uintptr_t)1, &second_word,
        FUTEX_OP(operation, operand, comparison, with));
}

CASE(wake_and_change)
{
    pthread_t t[2];
    first_word = second_word = asleep = woken = 0;
    t[0] = start(sleep_on_first, NULL);
    t[1] = start(sleep_on_first, NULL);
    while (asleep < 2)
        sched_yield();
    pause_ms(20);
    EQUAL(move(0, 1, 0), 1);
    EQUAL(change(FUTEX_OP_ADD, 5, FUTEX_OP_CMP_NE, 0), 1); /* one of the first, none of the second: it was 0 */
    EQUAL(second_word, 5);
    EQUAL(change(FUTEX_OP_ANDN, 1, FUTEX_OP_CMP_GT, 0xfff), 1); /* -1 */
    EQUAL(second_word, 4);
    EQUAL(change(FUTEX_OP_SET, 0xffe, FUTEX_OP_CMP_EQ, 4), 0);
    EQUAL(second_word, (uint32_t)-2);
    EQUAL(change(FUTEX_OP_XOR, 0xfff, FUTEX_OP_CMP_LT, 0), 0);
    EQUAL(second_word, 1);
    EQUAL(change(FUTEX_OP_OR | FUTEX_OP_OPARG_SHIFT, 4, FUTEX_OP_CMP_LE, 1), 0);
    EQUAL(second_word, 17);
    EQUAL(change(FUTEX_OP_ADD, 1, 9, 0), -1);
    EQUAL(errno, ENOSYS);
    EQUAL(second_word, 18);
    finish(t[0]);
    finish(t[1]);
    EQUAL(woken, 2);
}
