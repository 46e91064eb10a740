/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Children, System V messages and semaphores, POSIX message queues, random numbers, and lists of processors.
 * Children are not simulated: they run in host time.
 * Random numbers come from a generator with the run's seed, a sequence of its own for each context.
 */
#include "world/world.h"

#include <grp.h>
#include <mqueue.h>
#include <poll.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <peet/module.h>

/* -------------------------------------------------------------------------------------------- children */

/* Most children end by themselves; the process waits for them so long that it hardly ever matters how long they take.
 * Then others get their turn, for whom the child may wait. */
enum { PATIENCE_TRIES = 400, TRY_NS = 500000 };

static int noted(long number, int result)
{
    int saved_errno = errno;
    peet__syscall_note(number, 0);
    peet__world_cancellation_point();
    errno = saved_errno;
    return result;
}

struct waiting {
    int tries;
    uint64_t ns;
};

/* Between two looks.  Returns: 0 or EINTR */
static int not_yet(struct waiting *w)
{
    struct timespec host = {0, TRY_NS};
    if (w->tries < PATIENCE_TRIES) {
        w->tries++;
        syscall(SYS_nanosleep, &host, NULL);
        return 0;
    }
    int error = peet__world_back_off_restarting(&w->ns);
    peet__world_cancellation_point();
    return error;
}

/* For the end of one child there is a descriptor, so that it is waited for like input.  Returns: 0, or an errno value
 */
static int until_end(pid_t pid, int options)
{
    siginfo_t info = {0};
    int fd, error;
    if (pid <= 0 || (options & ~__WALL) || REAL(waitid)(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0)
        return 0;
    fd = (int)syscall(SYS_pidfd_open, pid, 0);
    if (fd < 0)
        return 0;
    error = peet__fd_wait(fd, POLLIN, PEET_NEVER);
    syscall(SYS_close, fd);
    return error;
}

SIM(pid_t, wait4, pid_t pid, int *status, int options, struct rusage *usage)
{
    struct waiting w = {0, 0};
    pid_t got;
    if (!SUBJECT)
        return REAL(wait4)(pid, status, options, usage);
    peet__world_cancellation_point();
    peet__world_order();
    if (peet__world_alone())
        return noted(SYS_wait4, REAL(wait4)(pid, status, options, usage));
    if (until_end(pid, options) != 0) {
        errno = EINTR;
        return -1;
    }
    while ((got = REAL(wait4)(pid, status, options | WNOHANG, usage)) == 0 && !(options & WNOHANG))
        if (not_yet(&w) != 0) {
            errno = EINTR;
            return -1;
        }
    return noted(SYS_wait4, got);
}

SIM(pid_t, waitpid, pid_t pid, int *status, int options)
{
    return SUBJECT ? peet__sim_wait4(pid, status, options, NULL) : REAL(waitpid)(pid, status, options);
}

SIM(pid_t, wait, int *status)
{
    return SUBJECT ? peet__sim_wait4(-1, status, 0, NULL) : REAL(wait)(status);
}

SIM(pid_t, wait3, int *status, int options, struct rusage *usage)
{
    return SUBJECT ? peet__sim_wait4(-1, status, options, usage) : REAL(wait3)(status, options, usage);
}

SIM(int, waitid, idtype_t type, id_t id, siginfo_t *info, int options)
{
    struct waiting w = {0, 0};
    int result;
    if (!SUBJECT)
        return REAL(waitid)(type, id, info, options);
    peet__world_cancellation_point();
    peet__world_order();
    if (peet__world_alone() || options & WNOHANG || !info)
        return noted(SYS_waitid, REAL(waitid)(type, id, info, options));
    info->si_pid = 0;
    while ((result = REAL(waitid)(type, id, info, options | WNOHANG)) == 0 && info->si_pid == 0)
        if (not_yet(&w) != 0) {
            errno = EINTR;
            return -1;
        }
    return noted(SYS_waitid, result);
}

/* ------------------------------------------------------------------------------------------ credentials */

/* The kernel keeps them for each of its threads, so the C library tells all others by a signal.  There is only the one that
 * executes all contexts; as that one, it has nobody to tell. */

/* A function of its own: where errno is was asked for as another thread. */
static __attribute__((noinline)) int answered(long number, int result, int error)
{
    if (result != 0)
        errno = error;
    return noted(number, result);
}

#define CREDENTIALS(name, parameters, arguments) \
    SIM(int, name, parameters) \
    { \
        if (!SUBJECT) \
            return REAL(name) arguments; \
        const struct peet__visit visit = peet__visit_begin(); \
        const int result = REAL(name) arguments, error = errno; \
        peet__visit_end(visit); \
        return answered(SYS_##name, result, error); \
    }
#define PARAMETERS(...) __VA_ARGS__
#define SYS_seteuid SYS_setresuid
#define SYS_setegid SYS_setresgid
#define SYS_initgroups SYS_setgroups

CREDENTIALS(setuid, PARAMETERS(uid_t id), (id))
CREDENTIALS(setgid, PARAMETERS(gid_t id), (id))
CREDENTIALS(seteuid, PARAMETERS(uid_t id), (id))
CREDENTIALS(setegid, PARAMETERS(gid_t id), (id))
CREDENTIALS(setreuid, PARAMETERS(uid_t real, uid_t effective), (real, effective))
CREDENTIALS(setregid, PARAMETERS(gid_t real, gid_t effective), (real, effective))
CREDENTIALS(setresuid, PARAMETERS(uid_t real, uid_t effective, uid_t saved), (real, effective, saved))
CREDENTIALS(setresgid, PARAMETERS(gid_t real, gid_t effective, gid_t saved), (real, effective, saved))
CREDENTIALS(setgroups, PARAMETERS(size_t n, const gid_t *list), (n, list))
CREDENTIALS(initgroups, PARAMETERS(const char *user, gid_t group), (user, group))

/* ------------------------------------------------------------------------------------- System V objects */

/* Try again and again, in simulated time, what must not wait. */
#define RETRIED(number, attempt, would_block, deadline) \
    uint64_t wait = 0; \
    __typeof__(attempt) result; \
    peet__world_cancellation_point(); \
    peet__world_order(); \
    while ((result = (attempt)) == -1 && errno == (would_block)) { \
        if (peet_rt_now() >= (deadline)) { \
            errno = EAGAIN; \
            break; \
        } \
        if (peet__world_back_off(&wait) != 0) { \
            errno = EINTR; \
            break; \
        } \
        peet__world_cancellation_point(); \
    } \
    return noted(number, (int)result)

static int nowait(const struct sembuf *operations, size_t n)
{
    for (size_t k = 0; k < n; k++)
        if (operations[k].sem_flg & IPC_NOWAIT)
            return 1;
    return 0;
}

SIM(int, semtimedop, int id, struct sembuf *operations, size_t n, const struct timespec *timeout)
{
    uint64_t deadline = UINT64_MAX;
    if (!SUBJECT)
        return REAL(semtimedop)(id, operations, n, timeout);
    if (n == 0 || n > 500 || nowait(operations, n) || (!timeout && peet__world_alone())) {
        peet__world_order();
        return noted(SYS_semtimedop, REAL(semtimedop)(id, operations, n, timeout));
    }
    if (timeout && peet__world_deadline(timeout, &deadline) != 0) {
        errno = EINVAL;
        return -1;
    }
    struct sembuf now[n];
    for (size_t k = 0; k < n; k++) {
        now[k] = operations[k];
        now[k].sem_flg |= IPC_NOWAIT;
    }
    RETRIED(SYS_semop, REAL(semop)(id, now, n), EAGAIN, deadline);
}

SIM(int, semop, int id, struct sembuf *operations, size_t n)
{
    return SUBJECT ? peet__sim_semtimedop(id, operations, n, NULL) : REAL(semop)(id, operations, n);
}

SIM(int, msgsnd, int id, const void *message, size_t bytes, int flags)
{
    if (!SUBJECT)
        return REAL(msgsnd)(id, message, bytes, flags);
    if (flags & IPC_NOWAIT || peet__world_alone()) {
        peet__world_order();
        return noted(SYS_msgsnd, REAL(msgsnd)(id, message, bytes, flags));
    }
    RETRIED(SYS_msgsnd, REAL(msgsnd)(id, message, bytes, flags | IPC_NOWAIT), EAGAIN, UINT64_MAX);
}

SIM(ssize_t, msgrcv, int id, void *message, size_t bytes, long type, int flags)
{
    if (!SUBJECT)
        return REAL(msgrcv)(id, message, bytes, type, flags);
    if (flags & IPC_NOWAIT || peet__world_alone()) {
        peet__world_order();
        return noted(SYS_msgrcv, (int)REAL(msgrcv)(id, message, bytes, type, flags));
    }
    RETRIED(SYS_msgrcv, REAL(msgrcv)(id, message, bytes, type, flags | IPC_NOWAIT), ENOMSG, UINT64_MAX);
}

/* ------------------------------------------------------------------------------------ message queues */

/* A queue is a descriptor like others: when it is ready, what is asked of it is done, or not at all: the timeout of the call
 * itself is over. */
#define QUEUED(number, queue, events, until, attempt) \
    static const struct timespec over; \
    const uint64_t deadline = until ? peet_rt_cycles_until(CLOCK_REALTIME, until) : PEET_NEVER; \
    ssize_t result = -1; \
    int error; \
    do { \
        if ((error = peet__fd_wait(queue, events, deadline)) != 0) { \
            errno = error; \
            break; \
        } \
        result = (attempt); \
    } while (result == -1 && errno == ETIMEDOUT); \
    return noted(number, (int)result)

/*
 * Does the kernel answer at once?  It waits for nobody here, or refuses the queue, the time, the length or the priority, which
 * it would do only after the wait if there was one.
 */
static int queue_is_simple(mqd_t queue, int mode, const struct timespec *until, int (*fits)(size_t, size_t),
    size_t bytes)
{
    struct mq_attr attributes;
    long flags = syscall(SYS_fcntl, queue, F_GETFL);
    return flags < 0 || flags & O_NONBLOCK || ((flags & O_ACCMODE) != O_RDWR && (flags & O_ACCMODE) != mode) ||
        REAL(mq_getattr)(queue, &attributes) != 0 || !fits(bytes, (size_t)attributes.mq_msgsize) ||
        (!until && peet__world_alone()) ||
        (until && (until->tv_sec < 0 || until->tv_nsec < 0 || until->tv_nsec >= 1000000000));
}

enum { PRIORITIES = 32768 }; /* the kernel's, which limits.h has not in all modes */

static int is_short(size_t bytes, size_t most)
{
    return bytes <= most;
}

static int has_room(size_t room, size_t least)
{
    return room >= least;
}

SIM(int, mq_timedsend, mqd_t queue, const char *message, size_t bytes, unsigned priority, const struct timespec *until)
{
    if (!SUBJECT)
        return REAL(mq_timedsend)(queue, message, bytes, priority, until);
    if (priority >= PRIORITIES || queue_is_simple(queue, O_WRONLY, until, is_short, bytes)) {
        peet__world_order();
        return noted(SYS_mq_timedsend, REAL(mq_timedsend)(queue, message, bytes, priority, until));
    }
    QUEUED(SYS_mq_timedsend, queue, POLLOUT, until, REAL(mq_timedsend)(queue, message, bytes, priority, &over));
}

SIM(int, mq_send, mqd_t queue, const char *message, size_t bytes, unsigned priority)
{
    return peet__sim_mq_timedsend(queue, message, bytes, priority, NULL);
}

SIM(ssize_t, mq_timedreceive, mqd_t queue, char *message, size_t room, unsigned *priority, const struct timespec *until)
{
    if (!SUBJECT)
        return REAL(mq_timedreceive)(queue, message, room, priority, until);
    if (queue_is_simple(queue, O_RDONLY, until, has_room, room)) {
        peet__world_order();
        return noted(SYS_mq_timedreceive, (int)REAL(mq_timedreceive)(queue, message, room, priority, until));
    }
    QUEUED(SYS_mq_timedreceive, queue, POLLIN, until, REAL(mq_timedreceive)(queue, message, room, priority, &over));
}

SIM(ssize_t, mq_receive, mqd_t queue, char *message, size_t room, unsigned *priority)
{
    return peet__sim_mq_timedreceive(queue, message, room, priority, NULL);
}

/* -------------------------------------------------------------------------------------- random numbers */

static uint64_t seed = 1;
static __thread uint64_t sequence; /* 0: not begun */

PUBLIC void peet_rt_set_seed(uint64_t value)
{
    seed = value;
}

static uint64_t mixed(uint64_t z)
{
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static uint64_t next_random(void)
{
    if (!sequence)
        sequence = mixed(mixed(seed) + (peet__rt.current ? peet__rt.current->number : 0)) | 1;
    sequence += 0x9e3779b97f4a7c15u;
    return mixed(sequence);
}

void peet__world_random(void *bytes, size_t n)
{
    char *to = bytes;
    for (size_t k = 0; k < n; k += 8) {
        uint64_t word = next_random();
        memcpy(to + k, &word, n - k < 8 ? n - k : 8);
    }
}

static int is_random(const char *path)
{
    return strcmp(path, "/dev/urandom") == 0 || strcmp(path, "/dev/random") == 0;
}

/* As much as programs take for seeds and keys; a file, so that it can be read by whatever means.  Who reads on at its end
 * finds others. */
enum { RANDOM_BYTES = 1 << 20 };
static const char random_name[] = "peet random numbers";
static int random_files;

static int fill_random(int fd)
{
    char *bytes = (char *)syscall(SYS_mmap, NULL, RANDOM_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (bytes == MAP_FAILED)
        return -1;
    peet__world_random(bytes, RANDOM_BYTES);
    syscall(SYS_munmap, bytes, RANDOM_BYTES);
    return 0;
}

static int random_file(void)
{
    int fd = memfd_create(random_name, MFD_CLOEXEC);
    if (fd >= 0 && (REAL(ftruncate)(fd, RANDOM_BYTES) != 0 || fill_random(fd) != 0)) {
        REAL(close)(fd);
        return -1;
    }
    random_files = 1;
    return fd;
}

/* Lists of processors, as the kernel has them: "0-3", or "0". */
static int is_processors(const char *path)
{
    static const char folder[] = "/sys/devices/system/cpu/";
    const char *name = path + sizeof folder - 1;
    return strncmp(path, folder, sizeof folder - 1) == 0 &&
        (strcmp(name, "online") == 0 || strcmp(name, "possible") == 0 || strcmp(name, "present") == 0);
}

static int processors_file(void)
{
    const unsigned n = peet_rt_processors();
    char text[32];
    int length = snprintf(text, sizeof text, n > 1 ? "0-%u\n" : "0\n", n - 1),
        fd = memfd_create("peet processors", MFD_CLOEXEC);
    if (fd >= 0 && syscall(SYS_pwrite64, fd, text, length, 0L) != length) {
        REAL(close)(fd);
        return -1;
    }
    return fd;
}

int peet__world_is_own(const char *path)
{
    return path && peet__world_readable(path, 1) &&
        (is_random(path) || is_processors(path) || peet__world_is_task(path));
}

int peet__world_own_file(const char *path)
{
    return is_random(path) ? random_file() : is_processors(path) ? processors_file() : peet__world_task_file(path);
}

int peet__world_random_more(int fd)
{
    char link[32], name[64];
    if (!random_files || syscall(SYS_lseek, fd, 0, SEEK_CUR) != RANDOM_BYTES)
        return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = REAL(readlink)(link, name, sizeof name);
    const size_t own = sizeof random_name - 1;
    return n > 7 && (size_t)n - 7 >= own && memcmp(name + 7, random_name, own) == 0 && fill_random(fd) == 0 &&
        syscall(SYS_lseek, fd, 0, SEEK_SET) == 0;
}

SIM(ssize_t, getrandom, void *bytes, size_t n, unsigned flags)
{
    if (!SUBJECT)
        return REAL(getrandom)(bytes, n, flags);
    peet__world_random(bytes, n);
    return (ssize_t)n;
}

SIM(int, getentropy, void *bytes, size_t n)
{
    if (!SUBJECT)
        return REAL(getentropy)(bytes, n);
    if (n > 256) {
        errno = EIO;
        return -1;
    }
    peet__world_random(bytes, n);
    return 0;
}

SIM(uint32_t, arc4random, void)
{
    return SUBJECT ? (uint32_t)next_random() : REAL(arc4random)();
}

SIM(void, arc4random_buf, void *bytes, size_t n)
{
    if (SUBJECT)
        peet__world_random(bytes, n);
    else
        REAL(arc4random_buf)(bytes, n);
}

SIM(uint32_t, arc4random_uniform, uint32_t bound)
{
    if (!SUBJECT)
        return REAL(arc4random_uniform)(bound);
    return bound < 2 ? 0 : (uint32_t)((unsigned __int128)next_random() * bound >> 64);
}

void peet__world_settle_canary(void)
{
    uint64_t words[2] = {mixed(1), mixed(2)}, *random = (uint64_t *)getauxval(AT_RANDOM);
    if (random)
        memcpy(random, words, sizeof words);
    words[0] &= ~(uint64_t)0xff; /* as the C library has it: no string runs over it */
    peet__set_stack_guard(words[0]);
}

/* std::random_device of GNU's and LLVM's library takes the processor's own numbers. */
unsigned _ZNSt13random_device9_M_getvalEv(void *);
unsigned _ZNSt3__113random_deviceclEv(void *);

/* The library may be one that was loaded where dlsym() does not look. */
static unsigned from_kernel(void)
{
    unsigned value = 0;
    syscall(SYS_getrandom, &value, sizeof value, 0);
    return value;
}

#define DEVICE(name) \
    SIM(unsigned, name, void *device) \
    { \
        return SUBJECT ? (unsigned)next_random() : REAL(name) ? REAL(name)(device) : from_kernel(); \
    }
DEVICE(_ZNSt13random_device9_M_getvalEv)
DEVICE(_ZNSt3__113random_deviceclEv)
