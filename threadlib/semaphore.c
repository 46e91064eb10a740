/* SPDX-License-Identifier: Apache-2.0 */
/*
 * POSIX semaphores.  They count in the mapper; those that processes share count in the C library's way, too, and that is
 * what holds: while other processes may post, waits look after it.
 */
#include "real.h"
#include "shared.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <semaphore.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <peet/module.h>
#include "world/world.h"

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
    if (!peet__sem_shared(sem))
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
    else if (err == 0 && peet__constructing() && nearly < EARLY_MAX)
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

/* The mapper counts only what is done here.  Returns: 0, ETIMEDOUT, EINTR */
static uint64_t wait_shared(sem_t *sem, uint64_t deadline)
{
    enum { FIRST_NS = 1000, LAST_NS = 1000000 };
    for (uint64_t ns = FIRST_NS;; ns = ns < LAST_NS ? 2 * ns : ns) {
        const uint64_t soon = peet__others() ? peet__world_deadline_ns(ns) : PEET_NEVER;
        uint64_t err = peet__event2(PEET_ABSTRACT_SEM_WAIT, (uint64_t)sem, soon < deadline ? soon : deadline);
        if (err != EINTR && PEET__REAL(sem_trywait)(sem) == 0)
            return 0;
        if (err == ETIMEDOUT && peet_rt_now() >= deadline)
            return ETIMEDOUT;
        if (err == ETIMEDOUT)
            err = (uint64_t)peet__shared_pause(ns, deadline);
        if (err == EINTR)
            return EINTR;
    }
}

static int wait_until(sem_t *sem, uint64_t deadline)
{
    uint64_t err;
    do {
        peet__cancellation_point();
        err = peet__sem_shared(sem)
            ? wait_shared(sem, deadline)
            : peet__sem_request(PEET_ABSTRACT_SEM_WAIT, 2, (const uint64_t[]){(uint64_t)sem, deadline});
    } while (err == EINTR && (peet__cancellation_due() || peet_rt_interrupted_restarts()));
    return fail(err);
}

PUBLIC int sem_wait(sem_t *sem)
{
    peet__early_waits();
    if (!simulating())
        return PEET__REAL_WATCHED ? REAL_WAITS(PEET__REAL(sem_wait)(sem)) : PEET__REAL(sem_wait)(sem);
    return wait_until(sem, PEET_NEVER);
}

PUBLIC int sem_clockwait(sem_t *sem, clockid_t clock, const struct timespec *until)
{
    peet__early_waits();
    if (!simulating())
        return PEET__REAL_WATCHED ? REAL_WAITS(PEET__REAL(sem_clockwait)(sem, clock, until))
                                  : PEET__REAL(sem_clockwait)(sem, clock, until);
    if (!peet__deadline_clock(clock) || !peet__deadline_valid(until))
        return fail(EINVAL);
    return wait_until(sem, peet_rt_cycles_until(clock, until));
}

PUBLIC int sem_timedwait(sem_t *sem, const struct timespec *until)
{
    peet__early_waits();
    if (!simulating())
        return PEET__REAL_WATCHED ? REAL_WAITS(PEET__REAL(sem_timedwait)(sem, until))
                                  : PEET__REAL(sem_timedwait)(sem, until);
    return sem_clockwait(sem, CLOCK_REALTIME, until);
}

PUBLIC int sem_trywait(sem_t *sem)
{
    if (!simulating())
        return PEET__REAL_WATCHED ? REAL_WAITS(PEET__REAL(sem_trywait)(sem)) : PEET__REAL(sem_trywait)(sem);
    if (peet__sem_shared(sem)) {
        peet__event1(PEET_ABSTRACT_SEM_TRYWAIT, (uint64_t)sem);
        return PEET__REAL(sem_trywait)(sem);
    }
    uint64_t err = peet__sem_request(PEET_ABSTRACT_SEM_TRYWAIT, 1, (const uint64_t[]){(uint64_t)sem});
    return fail(err == EBUSY ? EAGAIN : err);
}

PUBLIC int sem_post(sem_t *sem)
{
    if (!simulating())
        return PEET__REAL_WATCHED
            ? PEET__REAL_TELLS(peet_rt_real_lets, PEET__REAL(sem_post)(sem), PEET_ABSTRACT_SEM_POST, (uint64_t)sem, 1)
            : PEET__REAL(sem_post)(sem);
    if (!peet__sem_shared(sem))
        return fail(peet__sem_request(PEET_ABSTRACT_SEM_POST, 2, (const uint64_t[]){(uint64_t)sem, 1}));
    peet__world_order();
    int err = PEET__REAL(sem_post)(sem);
    if (err == 0)
        peet__event2(PEET_ABSTRACT_SEM_POST, (uint64_t)sem, 1);
    return err;
}

PUBLIC int sem_getvalue(sem_t *restrict sem, int *restrict out_value)
{
    if (!simulating())
        return PEET__REAL(sem_getvalue)(sem, out_value);
    int value = (int)peet__event1(PEET_ABSTRACT_SEM_VALUE, (uint64_t)sem);
    if (peet__sem_shared(sem))
        return PEET__REAL(sem_getvalue)(sem, out_value);
    *out_value = value;
    return 0;
}

/* -------------------------------------------------------------------------------------- named semaphores */

/* They are files, as the C library's are, and of its format.  They are mapped here, so that their places do not depend on
 * what else the process has mapped. */
struct named {
    sem_t *sem; /* the program's handle */
    struct named *next;
    unsigned opens;
    dev_t device;
    ino_t file;
};
static struct named *all;

/* Where it is; NULL and errno: not a name.  As glibc: leading slashes do not count. */
static const char *path_of(const char *name, char *path)
{
    while (*name == '/')
        name++;
    if (!*name || strlen(name) > NAME_MAX || strchr(name, '/'))
        errno = EINVAL;
    else if (strlen(name) > NAME_MAX - 4)
        errno = ENAMETOOLONG;
    else
        return strcat(strcpy(path, "/dev/shm/sem."), name);
    return NULL;
}
#define PATH_BYTES (NAME_MAX + 32)

/* What the file holds, mapped once however often it is opened. */
static sem_t *map(int fd, int others)
{
    struct stat st;
    struct named *n = all;
    if (fstat(fd, &st) != 0)
        return SEM_FAILED;
    while (n && (n->file != st.st_ino || n->device != st.st_dev))
        n = n->next;
    if (!n) {
        sem_t *sem = mmap(NULL, sizeof *sem, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        n = sem != MAP_FAILED ? peet__own_calloc(1, sizeof *n) : NULL;
        if (!n)
            return SEM_FAILED;
        *n = (struct named){sem, all, 0, st.st_dev, st.st_ino};
        all = n;
        peet__rt.others |= others;
        tell(sem, *(const uint32_t *)sem);
    }
    n->opens++;
    return n->sem;
}

static void put_number(char *at, unsigned n)
{
    for (int i = 0; i < 8; i++, n <<= 4)
        at[i] = (char)('a' + (n >> 28));
}

/* A file with the new semaphore under a name of ours, which then gets the right one if that is still free.  Ours has the
 * process's number: written here, since what the C library does for it is recorded where libraries are, and the run
 * shall not depend on it. */
static int create(const char *path, mode_t mode, unsigned value)
{
    enum { PROCESS = 14, NUMBER = 23 };
    static unsigned made;
    char own[] = "/dev/shm/peet.--------.--------";
    sem_t sem;
    memset(&sem, 0, sizeof sem);
    if (PEET__REAL(sem_init)(&sem, 1, value) != 0)
        return -1;
    put_number(own + PROCESS, (unsigned)getpid());
    put_number(own + NUMBER, made++);
    int fd = open(own, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
    if (fd < 0)
        return -1;
    if (write(fd, &sem, sizeof sem) != sizeof sem || link(own, path) != 0) {
        int err = errno;
        close(fd);
        fd = -1;
        unlink(own);
        errno = err;
    } else {
        unlink(own);
    }
    return fd;
}

static sem_t *open_named(const char *name, int flags, mode_t mode, unsigned value)
{
    char path[PATH_BYTES];
    int fd = -1, made = 0;
    if (!path_of(name, path))
        return SEM_FAILED;
    do {
        if ((flags & (O_CREAT | O_EXCL)) != (O_CREAT | O_EXCL))
            fd = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
        else
            errno = ENOENT;
        if (fd < 0 && errno == ENOENT && (flags & O_CREAT))
            made = (fd = create(path, mode, value)) >= 0;
    } while (fd < 0 && errno == EEXIST && !(flags & O_EXCL)); /* somebody else was faster */
    if (fd < 0)
        return SEM_FAILED;
    sem_t *sem = map(fd, !made);
    int err = errno;
    close(fd);
    errno = err;
    return sem;
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
    return open_named(name, flags, mode, value);
}

PUBLIC int sem_close(sem_t *sem)
{
    struct named **link = &all, *n;
    while ((n = *link) && n->sem != sem)
        link = &n->next;
    if (!n && !simulating())
        return PEET__REAL(sem_close)(sem);
    if (!n)
        return fail(EINVAL);
    if (--n->opens)
        return 0;
    *link = n->next;
    if (simulating()) {
        peet__sem_known((uint64_t)sem, UINT64_MAX);
        peet__event2(PEET_ABSTRACT_SYNC_DESTROY, (uint64_t)sem, PEET_SYNC_SEMAPHORE);
    }
    peet__own_free(n);
    return munmap(sem, sizeof *sem);
}

PUBLIC int sem_unlink(const char *name)
{
    char path[PATH_BYTES];
    if (!simulating())
        return PEET__REAL(sem_unlink)(name);
    if (!path_of(name, path))
        return errno == EINVAL ? fail(ENOENT) : -1;
    int err = unlink(path);
    return err != 0 && errno == EPERM ? fail(EACCES) : err;
}
