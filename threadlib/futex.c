/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Futexes between threads of the subject: what C++20's atomics, latches and semaphores wait with, and the locks of
 * libdispatch, whose words hold their owners (PI: no priorities are inherited here).  The
 * word is compared and the wait begun under a lock of the mapper's, so that a wake between the two cannot be
 * lost; the lock and the queue are keyed by the word's address and the ones beside it.
 */
#include "thread.h"

#include <errno.h>
#include <linux/futex.h>
#include <unistd.h>
#include <peet/module.h>

/* Words that are waited for, and by how many: a wake has to say how many it woke.  Who is moved to another word is woken,
 * and goes there; it counts there already, and a wake that comes before it is owed to it. */
struct queue {
    struct queue *next;
    uint64_t word;
    unsigned waiting;
    unsigned sleeping; /* of these, waits that nobody has ended */
    unsigned moved;    /* woken to go to another queue, and not yet gone */
    unsigned owed;     /* wakes for those that are on their way here */
    struct queue *to;
    unsigned users; /* in wait or wake, or on their way here, so the queue must stay */
};
#define BUCKETS 256
static struct queue *queues[BUCKETS];

static struct queue **bucket(uint64_t word)
{
    return &queues[(word >> 2) * 0x9e3779b97f4a7c15u >> 56];
}

static struct queue *take(uint64_t word)
{
    struct queue *q = *bucket(word);
    while (q && q->word != word)
        q = q->next;
    if (!q) {
        q = peet__own_calloc(1, sizeof *q);
        if (!q)
            return NULL;
        q->word = word;
        q->next = *bucket(word);
        *bucket(word) = q;
    }
    q->users++;
    return q;
}

static void give_back(struct queue *q)
{
    if (--q->users)
        return;
    struct queue **link = bucket(q->word);
    while (*link != q)
        link = &(*link)->next;
    *link = q->next;
    peet__own_free(q);
}

/* No object of the subject's begins there. */
#define LOCK(word) ((word) + 1)
#define QUEUE(word) ((word) + 2)

static void lock(uint64_t word)
{
    peet__event3(PEET_ABSTRACT_MUTEX_LOCK, LOCK(word), PEET_MUTEX_NORMAL, PEET_NEVER);
}

static void unlock(uint64_t word)
{
    peet__event2(PEET_ABSTRACT_MUTEX_UNLOCK, LOCK(word), PEET_MUTEX_NORMAL);
}

/* Holding the lock: it is given up meanwhile.  Returns: 0 or what has ended the wait; the queue is the one where that was */
static uint64_t wait_in(struct queue **inout_queue, uint64_t deadline)
{
    struct queue *q = *inout_queue;
    q->waiting++;
    for (;;) {
        q->sleeping++;
        uint64_t err =
            peet__event4(PEET_ABSTRACT_COND_WAIT, QUEUE(q->word), LOCK(q->word), PEET_MUTEX_NORMAL, deadline);
        /* Nobody left to count down: a wake has counted this one, just when its time ran out. */
        if (err && q->sleeping) {
            q->sleeping--;
            q->waiting--;
            return err;
        }
        if (!q->moved)
            return 0;
        q->moved--;
        struct queue *const to = q->to;
        unlock(q->word);
        give_back(q);
        lock(to->word);
        *inout_queue = q = to;
        if (q->owed) {
            q->owed--;
            return 0;
        }
    }
}

/* Holding the lock.  Returns: how many it has woken */
static long wake_in(struct queue *q, uint32_t most)
{
    long woken = 0;
    while (q->waiting && (uint64_t)woken < most) {
        q->waiting--;
        woken++;
        if (q->sleeping) {
            q->sleeping--;
            peet__event1(PEET_ABSTRACT_COND_SIGNAL, QUEUE(q->word));
        } else {
            q->owed++;
        }
    }
    return woken;
}

static long wait(const volatile uint32_t *word, uint32_t value, uint64_t deadline)
{
    uint64_t at = (uint64_t)word, err = EAGAIN;
    struct queue *q = take(at);
    if (!q)
        return -ENOMEM;
    lock(at);
    if (*word == value)
        err = wait_in(&q, deadline);
    unlock(q->word);
    give_back(q);
    return -(long)err;
}

static long wake(uint64_t at, uint32_t most)
{
    struct queue *q = take(at);
    if (!q)
        return -ENOMEM;
    lock(at);
    const long woken = wake_in(q, most);
    unlock(at);
    give_back(q);
    return woken;
}

/* Holding the lock: who sleeps goes to the other queue.  Returns: how many do */
static long move(struct queue *q, struct queue *to, uint32_t most)
{
    long moved = 0;
    if (to == q)
        return q->sleeping < most ? q->sleeping : most;
    if (q->moved && q->to != to) /* some are still to go elsewhere: these look again, as after any other wake */
        return wake_in(q, most);
    while (q->sleeping && (uint64_t)moved < most) {
        q->sleeping--;
        q->waiting--;
        q->moved++;
        q->to = to;
        to->waiting++;
        to->users++;
        moved++;
        peet__event1(PEET_ABSTRACT_COND_SIGNAL, QUEUE(q->word));
    }
    return moved;
}

/* @compares: only if the word holds @expected */
static long requeue(const volatile uint32_t *word, uint32_t most, uint64_t to_word, uint32_t most_moved, int compares,
    uint32_t expected)
{
    struct queue *q = take((uint64_t)word), *to = take(to_word);
    long result = -EAGAIN;
    if (q && to) {
        lock(q->word);
        if (!compares || *word == expected) {
            result = wake_in(q, most);
            result += move(q, to, most_moved);
        }
        unlock(q->word);
    } else {
        result = -ENOMEM;
    }
    if (q)
        give_back(q);
    if (to)
        give_back(to);
    return result;
}

/* FUTEX_WAKE_OP: what is done with the other word, and whether those that wait there are woken, in one number (futex(2)).
 * Returns: 0: it knows no such operation, or no such comparison with what is changed then; else 1 */
static int change(volatile uint32_t *word, uint32_t how, int *out_wakes)
{
    const int32_t arg = (int32_t)(how << 8) >> 20, compared = (int32_t)(how << 20) >> 20;
    const uint32_t operand = how >> 28 & FUTEX_OP_OPARG_SHIFT ? 1u << (arg & 31) : (uint32_t)arg;
    const int32_t before = (int32_t)*word;
    switch (how >> 28 & 7) {
    case FUTEX_OP_SET:
        *word = operand;
        break;
    case FUTEX_OP_ADD:
        *word = (uint32_t)before + operand;
        break;
    case FUTEX_OP_OR:
        *word = (uint32_t)before | operand;
        break;
    case FUTEX_OP_ANDN:
        *word = (uint32_t)before & ~operand;
        break;
    case FUTEX_OP_XOR:
        *word = (uint32_t)before ^ operand;
        break;
    default:
        return 0;
    }
    switch (how >> 24 & 15) {
    case FUTEX_OP_CMP_EQ:
        *out_wakes = before == compared;
        break;
    case FUTEX_OP_CMP_NE:
        *out_wakes = before != compared;
        break;
    case FUTEX_OP_CMP_LT:
        *out_wakes = before < compared;
        break;
    case FUTEX_OP_CMP_LE:
        *out_wakes = before <= compared;
        break;
    case FUTEX_OP_CMP_GT:
        *out_wakes = before > compared;
        break;
    case FUTEX_OP_CMP_GE:
        *out_wakes = before >= compared;
        break;
    default:
        return 0;
    }
    return 1;
}

static long wake_and_change(uint64_t word, uint32_t most, volatile uint32_t *other, uint32_t most_of_other,
    uint32_t how)
{
    int wakes = 0;
    if (!change(other, how, &wakes))
        return -ENOSYS;
    const long woken = wake(word, most), more = wakes && woken >= 0 ? wake((uint64_t)other, most_of_other) : 0;
    return woken < 0 ? woken : more < 0 ? more : woken + more;
}

/* A lock whose word is its owner's number, or 0; a waiter that has been woken is not yet the owner. */
static long lock_owned(volatile uint32_t *word, int try, uint64_t deadline)
{
    const uint32_t self = (uint32_t)gettid();
    uint64_t err = 0;
    struct queue *q = take((uint64_t)word);
    if (!q)
        return -ENOMEM;
    lock(q->word);
    while (!err && *word & FUTEX_TID_MASK) {
        if ((*word & FUTEX_TID_MASK) == self) {
            err = EDEADLK;
        } else if (try) {
            err = EAGAIN;
        } else {
            *word |= FUTEX_WAITERS;
            err = wait_in(&q, deadline);
        }
    }
    if (!err)
        *word = self | (*word & FUTEX_OWNER_DIED) | (q->waiting ? FUTEX_WAITERS : 0);
    unlock(q->word);
    give_back(q);
    return -(long)err;
}

static long unlock_owned(volatile uint32_t *word)
{
    struct queue *q = take((uint64_t)word);
    if (!q)
        return -ENOMEM;
    lock(q->word);
    const int owned = (*word & FUTEX_TID_MASK) == (uint32_t)gettid();
    if (owned) {
        *word = q->waiting ? FUTEX_WAITERS : 0; /* not 0 while one is on its way: the next one has to ask here, too */
        wake_in(q, 1);
    }
    unlock(q->word);
    give_back(q);
    return owned ? 0 : -EPERM;
}

static uint64_t deadline(int op, const struct timespec *wants)
{
    clockid_t clock =
        op & FUTEX_CLOCK_REALTIME || (op & FUTEX_CMD_MASK) == FUTEX_LOCK_PI ? CLOCK_REALTIME : CLOCK_MONOTONIC;
    if (!wants)
        return PEET_NEVER;
    if ((op & FUTEX_CMD_MASK) != FUTEX_WAIT)
        return peet_rt_cycles_until(clock, wants);
    unsigned __int128 cycles = ((unsigned __int128)wants->tv_sec * 1000000000u + (uint64_t)wants->tv_nsec) *
        peet_rt_frequency_hz() / 1000000000u;
    cycles += peet_rt_now();
    return cycles < PEET_NEVER ? (uint64_t)cycles : PEET_NEVER;
}

long peet__futex(uint32_t *word, int op, uint32_t value, const struct timespec *wants, uint32_t *other, uint32_t bits)
{
    const uint32_t of_other = (uint32_t)(uint64_t)wants; /* for operations on two words */
    const int command = op & FUTEX_CMD_MASK;
    const int waits =
        command == FUTEX_WAIT || command == FUTEX_WAIT_BITSET || command == FUTEX_LOCK_PI || command == FUTEX_LOCK_PI2;
    if ((uint64_t)word & 3 || (waits && wants && (wants->tv_sec < 0 || !peet__deadline_valid(wants))))
        return -EINVAL;
    if (command == FUTEX_REQUEUE || command == FUTEX_CMP_REQUEUE || command == FUTEX_WAKE_OP) {
        if ((uint64_t)other & 3 || (command != FUTEX_WAKE_OP && (int32_t)(value | of_other) < 0))
            return -EINVAL;
        return command == FUTEX_WAKE_OP
            ? wake_and_change((uint64_t)word, value, other, of_other, bits)
            : requeue(word, value, (uint64_t)other, of_other, command == FUTEX_CMP_REQUEUE, bits);
    }
    if (command != FUTEX_WAIT_BITSET && command != FUTEX_WAKE_BITSET)
        bits = FUTEX_BITSET_MATCH_ANY;
    else if (!bits)
        return -EINVAL;
    switch (command) {
    case FUTEX_WAIT:
    case FUTEX_WAIT_BITSET:
        return wait(word, value, deadline(op, wants));
    case FUTEX_LOCK_PI:
    case FUTEX_LOCK_PI2:
        return lock_owned(word, 0, deadline(op, wants));
    case FUTEX_TRYLOCK_PI:
        return lock_owned(word, 1, PEET_NEVER);
    case FUTEX_UNLOCK_PI:
        return unlock_owned(word);
    case FUTEX_WAKE:
    case FUTEX_WAKE_BITSET:
        return wake((uint64_t)word, bits == FUTEX_BITSET_MATCH_ANY ? value : UINT32_MAX);
    default:
        return -ENOSYS;
    }
}
