/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Descriptors: read(), write() and what else enters the kernel for files and pipes.  Each call takes its turn,
 * waits in simulated time where it would block, and is noted as a system call; bytes of the subject that the kernel has
 * read or written are noted as ranges.
 */
#include "world/world.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>
#include <peet/module.h>
#include "program/program.h"

ssize_t __read_chk(int, void *, size_t, size_t);
ssize_t __pread_chk(int, void *, size_t, off_t, size_t);
ssize_t __pread64_chk(int, void *, size_t, off64_t, size_t);
int __open_2(const char *, int);
int __open64_2(const char *, int);
int __openat_2(int, const char *, int);
int __openat64_2(int, const char *, int);
void __chk_fail(void) __attribute__((noreturn));

/* ------------------------------------------------------------------------------------------- reading */

ssize_t peet__fd_read(int fd, void *bytes, size_t n)
{
    int error = peet__fd_wait(fd, POLLIN, PEET_NEVER);
    if (error)
        return peet__fd_failed(error);
    ssize_t got = REAL(read)(fd, bytes, n), more;
    while (got >= 0 && (size_t)got < n && peet__world_random_more(fd)) {
        more = REAL(read)(fd, (char *)bytes + got, n - (size_t)got);
        got = more > 0 ? got + more : got;
    }
    return got;
}

/* Note a call that has moved so many bytes, or (-1) failed, and where it has written or read the subject's memory. */
static ssize_t moved(long number, unsigned operation, const void *written, const void *read_from, ssize_t n)
{
    int saved_errno = errno;
    peet__syscall_note(number, n > 0 ? (size_t)n : 0);
    if (n > 0)
        peet__range(operation, written, read_from, (size_t)n);
    peet__world_cancellation_point();
    errno = saved_errno;
    return n;
}

static ssize_t has_read(long number, const void *bytes, ssize_t n)
{
    return moved(number, PEET_SYNTHETIC_READ, bytes, NULL, n);
}

static ssize_t has_written(long number, const void *bytes, ssize_t n)
{
    return moved(number, PEET_SYNTHETIC_WRITE, NULL, bytes, n);
}

SIM(ssize_t, read, int fd, void *bytes, size_t n)
{
    if (!SUBJECT)
        return REAL(read)(fd, bytes, n);
    peet__world_cancellation_point();
    return has_read(SYS_read, bytes, peet__fd_read(fd, bytes, n));
}

SIM(ssize_t, __read_chk, int fd, void *bytes, size_t n, size_t room)
{
    if (n > room)
        __chk_fail();
    return peet__sim_read(fd, bytes, n);
}

/* At a position: of files, which are always ready. */
#define READ_AT(name, type) \
    SIM(ssize_t, name, int fd, void *bytes, size_t n, type at) \
    { \
        if (!SUBJECT) \
            return REAL(name)(fd, bytes, n, at); \
        peet__world_cancellation_point(); \
        peet__world_order(); \
        return has_read(SYS_pread64, bytes, REAL(name)(fd, bytes, n, at)); \
    }
READ_AT(pread, off_t)
READ_AT(pread64, off64_t)

SIM(ssize_t, __pread_chk, int fd, void *bytes, size_t n, off_t at, size_t room)
{
    if (n > room)
        __chk_fail();
    return peet__sim_pread(fd, bytes, n, at);
}

SIM(ssize_t, __pread64_chk, int fd, void *bytes, size_t n, off64_t at, size_t room)
{
    if (n > room)
        __chk_fail();
    return peet__sim_pread64(fd, bytes, n, at);
}

/* The pieces that n bytes have gone to or come from. */
static ssize_t note_vector(long number, unsigned what, const struct iovec *v, int count, ssize_t n)
{
    int saved_errno = errno;
    size_t left = n > 0 ? (size_t)n : 0;
    peet__syscall_note(number, left);
    for (int k = 0; k < count && left; k++) {
        size_t bytes = v[k].iov_len < left ? v[k].iov_len : left;
        peet__range(k ? what | PEET_SYNTHETIC_MORE : what, v[k].iov_base, v[k].iov_base, bytes);
        left -= bytes;
    }
    peet__world_cancellation_point();
    errno = saved_errno;
    return n;
}

SIM(ssize_t, readv, int fd, const struct iovec *v, int count)
{
    if (!SUBJECT)
        return REAL(readv)(fd, v, count);
    peet__world_cancellation_point();
    int error = peet__fd_wait(fd, POLLIN, PEET_NEVER);
    return note_vector(SYS_readv, PEET_SYNTHETIC_READ, v, count,
        error ? peet__fd_failed(error) : REAL(readv)(fd, v, count));
}

#define VECTOR_AT(name, type, number, what) \
    SIM(ssize_t, name, int fd, const struct iovec *v, int count, type at) \
    { \
        if (!SUBJECT) \
            return REAL(name)(fd, v, count, at); \
        peet__world_cancellation_point(); \
        peet__world_order(); \
        return note_vector(number, what, v, count, REAL(name)(fd, v, count, at)); \
    }
VECTOR_AT(preadv, off_t, SYS_preadv, PEET_SYNTHETIC_READ)
VECTOR_AT(preadv64, off64_t, SYS_preadv, PEET_SYNTHETIC_READ)
VECTOR_AT(pwritev, off_t, SYS_pwritev, PEET_SYNTHETIC_WRITE)
VECTOR_AT(pwritev64, off64_t, SYS_pwritev, PEET_SYNTHETIC_WRITE)

/* ------------------------------------------------------------------------------------------- writing */

ssize_t peet__fd_write(int fd, const void *bytes, size_t n)
{
    peet__progress_yield(fd);
    peet__world_in_parts(n);
    if (!peet__world_concurrent())
        return peet__fd_sent(fd, 0, REAL(write)(fd, bytes, n));
    switch (peet__fd_kind(fd)) {
    case PEET__FD_PIPE:
    case PEET__FD_TERMINAL:
        if (!peet__fd_nonblocking(fd))
            return peet__pipe_write(fd, bytes, n);
        break;
    case PEET__FD_SOCKET: {
        struct iovec one = {(void *)bytes, n};
        struct msghdr message = {.msg_iov = &one, .msg_iovlen = 1};
        return peet__socket_send(fd, &message, 0);
    }
    default:
        break;
    }
    int error = peet__fd_wait(fd, POLLOUT, PEET_NEVER);
    return error ? peet__fd_failed(error) : peet__fd_sent(fd, 0, REAL(write)(fd, bytes, n));
}

SIM(ssize_t, write, int fd, const void *bytes, size_t n)
{
    if (!SUBJECT)
        return REAL(write)(fd, bytes, n);
    peet__world_cancellation_point();
    return has_written(SYS_write, bytes, peet__fd_write(fd, bytes, n));
}

#define WRITE_AT(name, type) \
    SIM(ssize_t, name, int fd, const void *bytes, size_t n, type at) \
    { \
        if (!SUBJECT) \
            return REAL(name)(fd, bytes, n, at); \
        peet__world_cancellation_point(); \
        peet__world_order(); \
        return has_written(SYS_pwrite64, bytes, REAL(name)(fd, bytes, n, at)); \
    }
WRITE_AT(pwrite, off_t)
WRITE_AT(pwrite64, off64_t)

/* More than fits into a pipe for sure: piece by piece. */
static ssize_t write_vector(int fd, const struct iovec *v, int count)
{
    size_t all = 0, done = 0;
    peet__progress_yield(fd);
    for (int k = 0; k < count; k++)
        all += v[k].iov_len;
    peet__world_in_parts(all);
    enum peet__fd_kind kind = peet__world_concurrent() ? peet__fd_kind(fd) : PEET__FD_FILE;
    if (kind == PEET__FD_SOCKET) {
        struct msghdr message = {.msg_iov = (struct iovec *)v, .msg_iovlen = (size_t)count};
        return peet__socket_send(fd, &message, 0);
    }
    if ((kind != PEET__FD_TERMINAL && (kind != PEET__FD_PIPE || all <= PIPE_BUF)) || peet__fd_nonblocking(fd)) {
        int error = peet__fd_wait(fd, POLLOUT, PEET_NEVER);
        return error ? peet__fd_failed(error) : peet__fd_sent(fd, 0, REAL(writev)(fd, v, count));
    }
    for (int k = 0; k < count; k++) {
        ssize_t wrote = v[k].iov_len ? peet__pipe_write(fd, v[k].iov_base, v[k].iov_len) : 0;
        if (wrote < 0)
            return done ? (ssize_t)done : -1;
        done += (size_t)wrote;
        if ((size_t)wrote < v[k].iov_len)
            break;
    }
    return (ssize_t)done;
}

SIM(ssize_t, writev, int fd, const struct iovec *v, int count)
{
    if (!SUBJECT || (count > 0 && count <= IOV_MAX && !peet__world_readable(v, (size_t)count * sizeof *v)))
        return REAL(writev)(fd, v, count);
    peet__world_cancellation_point();
    return note_vector(SYS_writev, PEET_SYNTHETIC_WRITE, v, count, write_vector(fd, v, count));
}

/* ---------------------------------------------------------------------------------- opening and closing */

/* Note a call that has moved nothing. */
static long called(long number, long result)
{
    int saved_errno = errno;
    peet__syscall_note(number, 0);
    peet__world_cancellation_point();
    errno = saved_errno;
    return result;
}

/* Opening a FIFO waits for the other end, which another context may open: a reader goes on at once and finds nothing to
 * read until a writer is there; a writer waits for a reader. */
static int open_fifo(int folder, const char *path, int flags)
{
    uint64_t wait = 0;
    for (;;) {
        int fd = REAL(openat)(folder, path, flags | O_NONBLOCK, 0);
        if (fd >= 0) {
            fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK);
            return fd;
        }
        if (errno != ENXIO || (flags & O_ACCMODE) != O_WRONLY)
            return -1;
        int error = peet__world_back_off_restarting(&wait);
        if (error)
            return (int)peet__fd_failed(error);
        peet__world_cancellation_point();
    }
}

static int open_any(int folder, const char *path, int flags, mode_t mode)
{
    struct stat st;
    peet__world_cancellation_point();
    peet__world_order();
    int fd;
    if (peet__world_is_own(path))
        fd = peet__world_own_file(path);
    else if (peet__world_concurrent() && !(flags & (O_NONBLOCK | O_PATH)) && REAL(fstatat)(folder, path, &st, 0) == 0 &&
        S_ISFIFO(st.st_mode))
        fd = open_fifo(folder, path, flags);
    else
        fd = REAL(openat)(folder, path, flags, mode);
    peet__fd_closed(fd);
    return (int)called(SYS_openat, fd);
}

int peet__fd_create(const char *path, int flags)
{
    peet__world_order();
    const int fd = REAL(openat)(AT_FDCWD, path, flags, S_IRUSR | S_IWUSR), saved_errno = errno;
    peet__fd_closed(fd);
    peet__syscall_note(SYS_openat, 0);
    errno = saved_errno;
    return fd;
}

int peet__fd_open(const char *path, int flags)
{
    return open_any(AT_FDCWD, path, flags, 0);
}

static int has_mode(int flags)
{
    return flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE;
}

#define MODE(flags) \
    mode_t mode = 0; \
    if (has_mode(flags)) { \
        va_list args; \
        va_start(args, flags); \
        mode = va_arg(args, mode_t); \
        va_end(args); \
    }

SIM(int, open, const char *path, int flags, ...)
{
    MODE(flags)
    return SUBJECT ? open_any(AT_FDCWD, path, flags, mode) : REAL(open)(path, flags, mode);
}

SIM(int, open64, const char *path, int flags, ...)
{
    MODE(flags)
    return SUBJECT ? open_any(AT_FDCWD, path, flags, mode) : REAL(open64)(path, flags, mode);
}

SIM(int, openat, int folder, const char *path, int flags, ...)
{
    MODE(flags)
    return SUBJECT ? open_any(folder, path, flags, mode) : REAL(openat)(folder, path, flags, mode);
}

SIM(int, openat64, int folder, const char *path, int flags, ...)
{
    MODE(flags)
    return SUBJECT ? open_any(folder, path, flags, mode) : REAL(openat64)(folder, path, flags, mode);
}

/* What fortified code calls when there is no mode. */
SIM(int, __open_2, const char *path, int flags)
{
    return SUBJECT && !has_mode(flags) ? open_any(AT_FDCWD, path, flags, 0) : REAL(__open_2)(path, flags);
}

SIM(int, __open64_2, const char *path, int flags)
{
    return SUBJECT && !has_mode(flags) ? open_any(AT_FDCWD, path, flags, 0) : REAL(__open64_2)(path, flags);
}

SIM(int, __openat_2, int folder, const char *path, int flags)
{
    return SUBJECT && !has_mode(flags) ? open_any(folder, path, flags, 0) : REAL(__openat_2)(folder, path, flags);
}

SIM(int, __openat64_2, int folder, const char *path, int flags)
{
    return SUBJECT && !has_mode(flags) ? open_any(folder, path, flags, 0) : REAL(__openat64_2)(folder, path, flags);
}

SIM(int, creat, const char *path, mode_t mode)
{
    return SUBJECT ? open_any(AT_FDCWD, path, O_CREAT | O_WRONLY | O_TRUNC, mode) : REAL(creat)(path, mode);
}

SIM(int, creat64, const char *path, mode_t mode)
{
    return SUBJECT ? open_any(AT_FDCWD, path, O_CREAT | O_WRONLY | O_TRUNC, mode) : REAL(creat64)(path, mode);
}

SIM(int, close, int fd)
{
    if (!SUBJECT)
        return REAL(close)(fd);
    peet__world_cancellation_point();
    peet__world_order();
    peet__fd_closed(fd);
    return (int)called(SYS_close, REAL(close)(fd));
}

/* Calls that take their turn and are the C library's otherwise. */
#define TURN(type, name, number, parameters, arguments) \
    SIM(type, name, REMOVE parameters) \
    { \
        if (!SUBJECT) \
            return REAL(name) arguments; \
        peet__world_order(); \
        return (type)called(number, REAL(name) arguments); \
    }
TURN(int, fsync, SYS_fsync, (int fd), (fd))
TURN(int, fdatasync, SYS_fdatasync, (int fd), (fd))
TURN(off_t, lseek, SYS_lseek, (int fd, off_t at, int whence), (fd, at, whence))
TURN(off64_t, lseek64, SYS_lseek, (int fd, off64_t at, int whence), (fd, at, whence))
TURN(int, pipe, SYS_pipe, (int fds[2]), (fds))
TURN(int, pipe2, SYS_pipe2, (int fds[2], int flags), (fds, flags))
TURN(int, socketpair, SYS_socketpair, (int domain, int type, int protocol, int fds[2]), (domain, type, protocol, fds))

/* ------------------------------------------------------------------------------------- from one to another */

/* Both ends ready, and no more than a pipe takes then. */
static size_t both_ready(int out, int in, size_t n, int *out_error)
{
    *out_error = peet__fd_wait(in, POLLIN, PEET_NEVER);
    if (!*out_error)
        *out_error = peet__fd_wait(out, POLLOUT, PEET_NEVER);
    peet__world_in_parts(n);
    int piecewise =
        peet__world_concurrent() && (peet__fd_kind(out) != PEET__FD_FILE || peet__fd_kind(in) != PEET__FD_FILE);
    return piecewise && n > PIPE_BUF ? PIPE_BUF : n;
}

#define SENDFILE(name, type) \
    SIM(ssize_t, name, int out, int in, type *at, size_t n) \
    { \
        int error; \
        if (!SUBJECT) \
            return REAL(name)(out, in, at, n); \
        n = both_ready(out, in, n, &error); \
        ssize_t moved = error ? peet__fd_failed(error) : peet__fd_sent(out, 0, REAL(name)(out, in, at, n)); \
        int saved_errno = errno; \
        peet__syscall_note(SYS_sendfile, moved > 0 ? (size_t)moved : 0); \
        errno = saved_errno; \
        return moved; \
    }
SENDFILE(sendfile, off_t)
SENDFILE(sendfile64, off64_t)

SIM(ssize_t, splice, int in, off64_t *in_at, int out, off64_t *out_at, size_t n, unsigned flags)
{
    int error;
    if (!SUBJECT)
        return REAL(splice)(in, in_at, out, out_at, n, flags);
    peet__world_cancellation_point();
    n = both_ready(out, in, n, &error);
    ssize_t moved =
        error ? peet__fd_failed(error) : peet__fd_sent(out, 0, REAL(splice)(in, in_at, out, out_at, n, flags));
    int saved_errno = errno;
    peet__syscall_note(SYS_splice, moved > 0 ? (size_t)moved : 0);
    errno = saved_errno;
    return moved;
}

SIM(ssize_t, copy_file_range, int in, off64_t *in_at, int out, off64_t *out_at, size_t n, unsigned flags)
{
    if (!SUBJECT)
        return REAL(copy_file_range)(in, in_at, out, out_at, n, flags);
    peet__world_cancellation_point();
    peet__world_order();
    peet__world_in_parts(n);
    ssize_t moved = REAL(copy_file_range)(in, in_at, out, out_at, n, flags);
    int saved_errno = errno;
    peet__syscall_note(SYS_copy_file_range, moved > 0 ? (size_t)moved : 0);
    errno = saved_errno;
    return moved;
}

SIM(int, eventfd_read, int fd, eventfd_t *value)
{
    if (!SUBJECT)
        return REAL(eventfd_read)(fd, value);
    return peet__sim_read(fd, value, sizeof *value) == sizeof *value ? 0 : -1;
}

SIM(int, eventfd_write, int fd, eventfd_t value)
{
    if (!SUBJECT)
        return REAL(eventfd_write)(fd, value);
    return peet__sim_write(fd, &value, sizeof value) == sizeof value ? 0 : -1;
}

/* --------------------------------------------------------------------------------------------- locks */

SIM(int, flock, int fd, int operation)
{
    uint64_t wait = 0;
    if (!SUBJECT)
        return REAL(flock)(fd, operation);
    peet__world_order();
    int result;
    while ((result = REAL(flock)(fd, peet__world_concurrent() ? operation | LOCK_NB : operation)) != 0 &&
        errno == EWOULDBLOCK && !(operation & LOCK_NB))
        if (peet__world_back_off_restarting(&wait) != 0) {
            errno = EINTR;
            break;
        }
    return (int)called(SYS_flock, result);
}

/* A request to wait for a lock is tried again and again. */
static int lock_region(int (*control)(int, int, ...), int fd, int command, void *arg)
{
    int now = command == F_SETLKW ? F_SETLK : command == F_OFD_SETLKW ? F_OFD_SETLK : command, result;
    uint64_t wait = 0;
    if (now == command || !peet__world_concurrent())
        return control(fd, command, arg);
    peet__world_cancellation_point();
    while ((result = control(fd, now, arg)) != 0 && (errno == EAGAIN || errno == EACCES)) {
        if (peet__world_back_off_restarting(&wait) != 0) {
            errno = EINTR;
            return -1;
        }
        peet__world_cancellation_point();
    }
    return result;
}

#define CONTROL(name) \
    SIM(int, name, int fd, int command, ...) \
    { \
        va_list args; \
        va_start(args, command); \
        void *arg = va_arg(args, void *); \
        va_end(args); \
        if (!SUBJECT) \
            return REAL(name)(fd, command, arg); \
        peet__world_order(); \
        return (int)called(SYS_fcntl, lock_region(REAL(name), fd, command, arg)); \
    }
CONTROL(fcntl)
CONTROL(fcntl64)

#define LOCKF(name, type) \
    SIM(int, name, int fd, int command, type bytes) \
    { \
        uint64_t wait = 0; \
        int result; \
        if (!SUBJECT) \
            return REAL(name)(fd, command, bytes); \
        peet__world_order(); \
        int now = command == F_LOCK && peet__world_concurrent() ? F_TLOCK : command; \
        while ((result = REAL(name)(fd, now, bytes)) != 0 && now != command && (errno == EAGAIN || errno == EACCES)) \
            if (peet__world_back_off_restarting(&wait) != 0) { \
                errno = EINTR; \
                break; \
            } \
        return (int)called(SYS_fcntl, result); \
    }
LOCKF(lockf, off_t)
LOCKF(lockf64, off64_t)
