/* SPDX-License-Identifier: Apache-2.0 */
/*
 * POSIX semaphores.  Unnamed ones count in the mapper.  Named ones exist within the run only: nothing of
 * them is seen by other programs, nor theirs by the subject.
 */
#include "real.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <semaphore.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <peet/module.h>

/* Recorded on the computer's own processors: a wait of the C library's that has succeeded. */
#define REAL_WAITS(call) \
    __extension__({ \
        const uint64_t args_[] = {(uint64_t)sem, PEET_NEVER}; \
        peet_rt_real_asks(); \
        const int failed_ = (call); \
        if (!failed_) \
            peet_rt_real_granted(PEET_ABSTRACT_SEM_WAIT, 2, args_); \
        failed_; \
    })

static int fail(uint64_t err)
{
    if (!err)
        return 0;
    errno = (int)err;
    return -1;
}

/** The mapper hears of a semaphore's value. */
static void tell(sem_t *sem, uint64_t value)
{
    peet_rt_make_room(3);
    peet__sem_known((uint64_t)sem, value); /* before a handler can use it */
    if (peet__event3(PEET_ABSTRACT_SYNC_INIT, (uint64_t)sem, PEET_SYNC_SEMAPHORE, value))
        peet__sem_known((uint64_t)sem, UINT64_MAX);
}

/* Semaphores that constructors initialise before the simulation begins: the mapper hears of them with the
 * first operation on any. */
#define EARLY_MAX 256
static sem_t *early[EARLY_MAX];
static unsigned nearly;

static void __attribute__((noinline)) tell_early(void)
{
    while (nearly) {
        sem_t *sem = early[--nearly];
        tell(sem, *(const uint32_t *)sem); /* where glibc has it */
    }
}

static int simulating(void)
{
    if (!peet__simulating())
        return 0;
    if (__builtin_expect(nearly, 0))
        tell_early();
    return 1;
}

PUBLIC int sem_init(sem_t *sem, int shared, unsigned value)
{
    int err = PEET__REAL(sem_init)(sem, shared, value);
    if (err == 0 && simulating())
        tell(sem, value);
    else if (err == 0 && PEET__REAL_WATCHED)
        PEET__REAL_MADE(sem, PEET_SYNC_SEMAPHORE, value);
    else if (err == 0 && peet__rt.capturing && peet__is_subject() && nearly < EARLY_MAX)
        early[nearly++] = sem;
    return err;
}

PUBLIC int sem_destroy(sem_t *sem)
{
    if (!simulating())
        return PEET__REAL_GONE(PEET__REAL(sem_destroy)(sem), sem, PEET_SYNC_SEMAPHORE);
    peet__sem_known((uint64_t)sem, UINT64_MAX);
    return fail(peet__event2(PEET_ABSTRACT_SYNC_DESTROY, (uint64_t)sem, PEET_SYNC_SEMAPHORE));
}

static int wait_until(sem_t *sem, uint64_t deadline)
{
    uint64_t err;
    do {
        peet__cancellation_point();
        err = peet__sem_request(PEET_ABSTRACT_SEM_WAIT, 2, (const uint64_t[]){(uint64_t)sem, deadline});
    } while (err == EINTR && (peet__cancellation_due() || peet_rt_interrupted_restarts()));
    return fail(err);
}

PUBLIC int sem_wait(sem_t *sem)
{
    if (!simulating())
        return PEET__REAL_WATCHED ? REAL_WAITS(PEET__REAL(sem_wait)(sem)) : PEET__REAL(sem_wait)(sem);
    return wait_until(sem, PEET_NEVER);
}

PUBLIC int sem_clockwait(sem_t *sem, clockid_t clock, const struct timespec *until)
{
    if (!simulating())
        return PEET__REAL_WATCHED ? REAL_WAITS(PEET__REAL(sem_clockwait)(sem, clock, until))
                                  : PEET__REAL(sem_clockwait)(sem, clock, until);
    if (!peet__deadline_clock(clock) || !peet__deadline_valid(until))
        return fail(EINVAL);
    return wait_until(sem, peet_rt_cycles_until(clock, until));
}

PUBLIC int sem_timedwait(sem_t *sem, const struct timespec *until)
{
    if (!simulating())
        return PEET__REAL_WATCHED ? REAL_WAITS(PEET__REAL(sem_timedwait)(sem, until))
                                  : PEET__REAL(sem_timedwait)(sem, until);
    return sem_clockwait(sem, CLOCK_REALTIME, until);
}

PUBLIC int sem_trywait(sem_t *sem)
{
    if (!simulating())
        return PEET__REAL_WATCHED ? REAL_WAITS(PEET__REAL(sem_trywait)(sem)) : PEET__REAL(sem_trywait)(sem);
    uint64_t err = peet__sem_request(PEET_ABSTRACT_SEM_TRYWAIT, 1, (const uint64_t[]){(uint64_t)sem});
    return fail(err == EBUSY ? EAGAIN : err);
}

PUBLIC int sem_post(sem_t *sem)
{
    if (!simulating())
        return PEET__REAL_WATCHED
            ? PEET__REAL_TELLS(peet_rt_real_lets, PEET__REAL(sem_post)(sem), PEET_ABSTRACT_SEM_POST, (uint64_t)sem, 1)
            : PEET__REAL(sem_post)(sem);
    return fail(peet__sem_request(PEET_ABSTRACT_SEM_POST, 2, (const uint64_t[]){(uint64_t)sem, 1}));
}

PUBLIC int sem_getvalue(sem_t *restrict sem, int *restrict out_value)
{
    if (!simulating())
        return PEET__REAL(sem_getvalue)(sem, out_value);
    *out_value = (int)peet__event1(PEET_ABSTRACT_SEM_VALUE, (uint64_t)sem);
    return 0;
}

/* -------------------------------------------------------------------------------------- named semaphores */

struct named {
    sem_t sem; /* first: the program's handle */
    struct named *next;
    unsigned opens;
    int unlinked;
    char name[NAME_MAX + 1];
};
static struct named *all;

static struct named *find(const char *name)
{
    struct named *n = all;
    while (n && (n->unlinked || strcmp(n->name, name) != 0))
        n = n->next;
    return n;
}

/* As glibc: leading slashes do not count.  NULL: not a name. */
static const char *bare(const char *name)
{
    while (*name == '/')
        name++;
    if (!*name || strlen(name) > NAME_MAX || strchr(name, '/')) {
        errno = EINVAL;
        return NULL;
    }
    if (strlen(name) > NAME_MAX - 4) {
        errno = ENAMETOOLONG;
        return NULL;
    }
    return name;
}

static void drop(struct named *n)
{
    if (n->opens || !n->unlinked)
        return;
    struct named **link = &all;
    while (*link != n)
        link = &(*link)->next;
    *link = n->next;
    peet__sem_known((uint64_t)&n->sem, UINT64_MAX);
    peet__event2(PEET_ABSTRACT_SYNC_DESTROY, (uint64_t)&n->sem, PEET_SYNC_SEMAPHORE);
    free(n);
}

static sem_t *open_named(const char *name, int flags, unsigned value)
{
    const char *b = bare(name);
    struct named *n = b ? find(b) : NULL;
    if (!b)
        return SEM_FAILED;
    if (n && (flags & O_CREAT) && (flags & O_EXCL)) {
        errno = EEXIST;
        return SEM_FAILED;
    }
    if (!n && !(flags & O_CREAT)) {
        errno = ENOENT;
        return SEM_FAILED;
    }
    if (!n && value > SEM_VALUE_MAX) {
        errno = EINVAL;
        return SEM_FAILED;
    }
    if (!n) {
        n = calloc(1, sizeof *n);
        if (!n) {
            errno = ENOMEM;
            return SEM_FAILED;
        }
        strcpy(n->name, b);
        n->next = all;
        all = n;
        sem_init(&n->sem, 0, value);
    }
    n->opens++;
    return &n->sem;
}

PUBLIC sem_t *sem_open(const char *name, int flags, ...)
{
    mode_t mode = 0;
    unsigned value = 0;
    if (flags & O_CREAT) {
        va_list args;
        va_start(args, flags);
        mode = va_arg(args, mode_t);
        value = va_arg(args, unsigned);
        va_end(args);
    }
    if (!simulating()) {
        sem_t *opened = PEET__REAL(sem_open)(name, flags, mode, value);
        if (opened != SEM_FAILED && peet__real_on())
            PEET__REAL_MADE(opened, PEET_SYNC_SEMAPHORE, *(const uint32_t *)opened);
        return opened;
    }
    return open_named(name, flags, value);
}

PUBLIC int sem_close(sem_t *sem)
{
    if (!simulating())
        return PEET__REAL(sem_close)(sem);
    struct named *n = all;
    while (n && &n->sem != sem)
        n = n->next;
    if (!n || !n->opens)
        return fail(EINVAL);
    n->opens--;
    drop(n);
    return 0;
}

PUBLIC int sem_unlink(const char *name)
{
    if (!simulating())
        return PEET__REAL(sem_unlink)(name);
    const char *b = bare(name);
    struct named *n = b ? find(b) : NULL;
    if (!b)
        return errno == EINVAL ? fail(ENOENT) : -1;
    if (!n)
        return fail(ENOENT);
    n->unlinked = 1;
    drop(n);
    return 0;
}
