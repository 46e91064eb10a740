/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Streams.  The C library enters the kernel from inside, where nobody else can run; so with other contexts alive, a
 * stream's descriptor is waited for before its buffer is filled, and full buffers of pipes and sockets are written out
 * from here.  Each call takes its turn.  What is copied from and to the subject's memory is noted as ranges; the
 * streams' own buffers are the library's business.
 *
 * flockfile() is a mutex of the mapper's, which the other functions take from the first flockfile() on: the library's own
 * lock would stop the process.  They take it also while no stream is held, since what they do to the stream comes before
 * what is done under the next flockfile(), as observers see it.
 */
#include "world/world.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <wchar.h>
#include <peet/module.h>
#include "program/program.h"
#include "world/world_stdio.h"

size_t __fread_chk(void *, size_t, size_t, size_t, FILE *);
size_t __fread_unlocked_chk(void *, size_t, size_t, size_t, FILE *);
char *__fgets_chk(char *, size_t, int, FILE *);
char *__fgets_unlocked_chk(char *, size_t, int, FILE *);
ssize_t __getdelim(char **, size_t *, int, FILE *);
int __underflow(FILE *);
int _IO_getc(FILE *);
int _IO_putc(int, FILE *);
void _IO_flockfile(FILE *);
void _IO_funlockfile(FILE *);
int _IO_ftrylockfile(FILE *);
void __chk_fail(void) __attribute__((noreturn));

/* Bits of _flags. */
enum { UNBUFFERED = 0x2, FAILED = 0x20, LINE_BUFFERED = 0x200 };

/* ------------------------------------------------------------------------------------------- turns, locks */

static int locks; /* the program locks streams */

static int lock(FILE *f)
{
    uint64_t args[] = {(uint64_t)f, PEET_MUTEX_RECURSIVE, PEET_NEVER};
    return (int)peet_rt_event(PEET_ABSTRACT_MUTEX_LOCK, 3, args);
}

static void unlock(FILE *f)
{
    uint64_t args[] = {(uint64_t)f, PEET_MUTEX_RECURSIVE};
    peet_rt_event(PEET_ABSTRACT_MUTEX_UNLOCK, 2, args);
}

int peet__stream_enter(FILE *f)
{
    peet__progress_yield(fileno_unlocked(f));
    if (!peet__world_concurrent())
        return 0;
    peet_rt_order();
    return locks && lock(f) == 0;
}

void peet__stream_leave(FILE *f, int locked)
{
    if (locked) {
        int saved_errno = errno;
        unlock(f);
        errno = saved_errno;
    }
}

SIM(void, flockfile, FILE *f)
{
    if (!SUBJECT) {
        REAL(flockfile)(f);
    } else {
        locks = 1;
        lock(f);
    }
}

SIM(int, ftrylockfile, FILE *f)
{
    uint64_t args[] = {(uint64_t)f, PEET_MUTEX_RECURSIVE};
    if (!SUBJECT)
        return REAL(ftrylockfile)(f);
    int error = (int)peet_rt_event(PEET_ABSTRACT_MUTEX_TRYLOCK, 2, args);
    locks = 1;
    return error;
}

SIM(void, funlockfile, FILE *f)
{
    if (!SUBJECT) {
        REAL(funlockfile)(f);
    } else {
        unlock(f);
    }
}

SIM(void, _IO_flockfile, FILE *f)
{
    peet__sim_flockfile(f);
}

SIM(int, _IO_ftrylockfile, FILE *f)
{
    return peet__sim_ftrylockfile(f);
}

SIM(void, _IO_funlockfile, FILE *f)
{
    peet__sim_funlockfile(f);
}

/* ------------------------------------------------------------------------------------------------ input */

static size_t available(const FILE *f)
{
    return (size_t)(f->_IO_read_end - f->_IO_read_ptr);
}

int peet__stream_fill(FILE *f)
{
    if (!peet__world_concurrent() || available(f))
        return 0;
    int fd = fileno_unlocked(f);
    int error = fd < 0 ? 0 : peet__fd_wait(fd, POLLIN, PEET_NEVER);
    if (error) {
        f->_flags |= FAILED;
        errno = error;
        return EOF;
    }
    return 0;
}

/* At least a byte in the buffer.  Returns: 0 or EOF */
static int refill(FILE *f)
{
    if (available(f))
        return 0;
    if (peet__stream_fill(f) != 0 || REAL(__underflow)(f) == EOF)
        return EOF;
    peet__syscall_note(SYS_read, available(f));
    return 0;
}

/* If the library may be left to itself: what it reads from the kernel is noted afterwards. */
static void note_input(FILE *f, size_t before, size_t taken)
{
    if (taken > before && fileno_unlocked(f) >= 0)
        peet__syscall_note(SYS_read, taken - before + available(f));
}

static size_t read_bytes(char *to, size_t n, FILE *f)
{
    size_t done = 0;
    if (!peet__world_concurrent()) {
        size_t before = available(f);
        done = REAL(fread)(to, 1, n, f);
        note_input(f, before, done);
        return done;
    }
    while (done < n && refill(f) == 0) {
        size_t piece = available(f) < n - done ? available(f) : n - done;
        done += REAL(fread_unlocked)(to + done, 1, piece, f);
    }
    return done;
}

static size_t read_items(void *to, size_t size, size_t n, FILE *f)
{
    int locked = peet__stream_enter(f);
    size_t got = size && n ? read_bytes(to, size * n, f) : 0;
    while (got < size * n && feof_unlocked(f) && peet__world_random_more(fileno_unlocked(f))) {
        clearerr_unlocked(f);
        got += read_bytes((char *)to + got, size * n - got, f);
    }
    if (got)
        peet__range(PEET_SYNTHETIC_STDIO_READ, to, NULL, got);
    peet__stream_leave(f, locked);
    return size ? got / size : 0;
}

SIM(size_t, fread, void *to, size_t size, size_t n, FILE *f)
{
    return SUBJECT ? read_items(to, size, n, f) : REAL(fread)(to, size, n, f);
}

SIM(size_t, fread_unlocked, void *to, size_t size, size_t n, FILE *f)
{
    return SUBJECT ? read_items(to, size, n, f) : REAL(fread_unlocked)(to, size, n, f);
}

SIM(size_t, __fread_chk, void *to, size_t room, size_t size, size_t n, FILE *f)
{
    if (!SUBJECT || (size && n > room / size))
        return REAL(__fread_chk)(to, room, size, n, f);
    return read_items(to, size, n, f);
}

SIM(size_t, __fread_unlocked_chk, void *to, size_t room, size_t size, size_t n, FILE *f)
{
    if (!SUBJECT || (size && n > room / size))
        return REAL(__fread_unlocked_chk)(to, room, size, n, f);
    return read_items(to, size, n, f);
}

/* Up to n bytes, and not beyond the first delimiter.  Returns: how many */
static size_t read_until(char *to, size_t n, int delimiter, FILE *f, int *out_found)
{
    size_t done = 0;
    *out_found = 0;
    while (done < n && !*out_found && refill(f) == 0) {
        size_t piece = available(f) < n - done ? available(f) : n - done;
        char *end = memchr(f->_IO_read_ptr, delimiter, piece);
        if (end) {
            piece = (size_t)(end + 1 - f->_IO_read_ptr);
            *out_found = 1;
        }
        done += REAL(fread_unlocked)(to + done, 1, piece, f);
    }
    return done;
}

static char *read_line(char *to, int room, FILE *f, char *(*real)(char *, int, FILE *))
{
    int locked = peet__stream_enter(f), found;
    char *result;
    if (!peet__world_concurrent() || room <= 1) {
        size_t before = available(f);
        result = real(to, room, f);
        note_input(f, before, result ? strlen(to) : 0);
    } else {
        /* An error that was there before does not count, as in the library. */
        int error = ferror_unlocked(f);
        f->_flags &= ~FAILED;
        size_t got = read_until(to, (size_t)room - 1, '\n', f, &found);
        result = got == 0 || (ferror_unlocked(f) && errno != EAGAIN) ? NULL : to;
        if (result)
            to[got] = 0;
        f->_flags |= error ? FAILED : 0;
    }
    if (result)
        peet__range(PEET_SYNTHETIC_STDIO_READ, to, NULL, strlen(to) + 1);
    peet__stream_leave(f, locked);
    return result;
}

SIM(char *, fgets, char *to, int room, FILE *f)
{
    return SUBJECT ? read_line(to, room, f, REAL(fgets)) : REAL(fgets)(to, room, f);
}

SIM(char *, fgets_unlocked, char *to, int room, FILE *f)
{
    return SUBJECT ? read_line(to, room, f, REAL(fgets_unlocked)) : REAL(fgets_unlocked)(to, room, f);
}

SIM(char *, __fgets_chk, char *to, size_t size, int room, FILE *f)
{
    if (!SUBJECT || room < 0 || (size_t)room > size)
        return REAL(__fgets_chk)(to, size, room, f);
    return read_line(to, room, f, REAL(fgets));
}

SIM(char *, __fgets_unlocked_chk, char *to, size_t size, int room, FILE *f)
{
    if (!SUBJECT || room < 0 || (size_t)room > size)
        return REAL(__fgets_unlocked_chk)(to, size, room, f);
    return read_line(to, room, f, REAL(fgets_unlocked));
}

/* A line into memory of the subject's own that grows. */
static ssize_t read_delimited(char **line, size_t *room, int delimiter, FILE *f)
{
    size_t done = 0;
    int found = 0;
    if (!line || !room) {
        errno = EINVAL;
        return -1;
    }
    while (!found) {
        if (!*line || *room < done + 2) {
            size_t more = *line && *room ? 2 * *room + 2 : 120;
            char *grown = realloc(*line, more);
            if (!grown)
                return -1;
            *line = grown;
            *room = more;
        }
        size_t got = read_until(*line + done, *room - done - 1, delimiter, f, &found);
        done += got;
        if (done + 1 < *room && !found)
            break; /* the end, or an error */
    }
    if (done == 0)
        return -1;
    (*line)[done] = 0;
    return (ssize_t)done;
}

static ssize_t get_delimited(char **line, size_t *room, int delimiter, FILE *f)
{
    int locked = peet__stream_enter(f);
    ssize_t got;
    if (peet__world_concurrent()) {
        got = read_delimited(line, room, delimiter, f);
    } else {
        size_t before = available(f);
        got = REAL(getdelim)(line, room, delimiter, f);
        note_input(f, before, got > 0 ? (size_t)got : 0);
    }
    if (got > 0)
        peet__range(PEET_SYNTHETIC_STDIO_READ, *line, NULL, (size_t)got + 1);
    peet__stream_leave(f, locked);
    return got;
}

SIM(ssize_t, getdelim, char **line, size_t *room, int delimiter, FILE *f)
{
    return SUBJECT ? get_delimited(line, room, delimiter, f) : REAL(getdelim)(line, room, delimiter, f);
}

SIM(ssize_t, __getdelim, char **line, size_t *room, int delimiter, FILE *f)
{
    return SUBJECT ? get_delimited(line, room, delimiter, f) : REAL(__getdelim)(line, room, delimiter, f);
}

SIM(ssize_t, getline, char **line, size_t *room, FILE *f)
{
    return SUBJECT ? get_delimited(line, room, '\n', f) : REAL(getline)(line, room, f);
}

/* One character, and what is done if the buffer is empty. */
#define GET(name, parameters, arguments, f) \
    SIM(int, name, REMOVE parameters) \
    { \
        if (!SUBJECT) \
            return REAL(name) arguments; \
        int locked = peet__stream_enter(f), c; \
        size_t before = available(f); \
        c = peet__stream_fill(f) == 0 ? REAL(name) arguments : EOF; \
        if (!before && c != EOF) \
            note_input(f, 0, 1); \
        peet__stream_leave(f, locked); \
        return c; \
    }
GET(fgetc, (FILE * f), (f), f)
GET(getc, (FILE * f), (f), f)
GET(_IO_getc, (FILE * f), (f), f)
GET(getchar, (void), (), stdin)
GET(fgetc_unlocked, (FILE * f), (f), f)
GET(getc_unlocked, (FILE * f), (f), f)
GET(getchar_unlocked, (void), (), stdin)
GET(__uflow, (FILE * f), (f), f)
GET(__underflow, (FILE * f), (f), f)

/* ----------------------------------------------------------------------------------------------- output */

static size_t pending(const FILE *f)
{
    return f->_IO_write_ptr > f->_IO_write_base ? (size_t)(f->_IO_write_ptr - f->_IO_write_base) : 0;
}

int peet__stream_waits(FILE *f)
{
    if (!peet__world_concurrent())
        return 0;
    int fd = fileno_unlocked(f);
    enum peet__fd_kind kind = fd < 0 ? PEET__FD_FILE : peet__fd_kind(fd);
    return kind == PEET__FD_PIPE || kind == PEET__FD_SOCKET || kind == PEET__FD_TERMINAL;
}

/* Write all of it, waiting for room.  Returns: 0 or EOF */
static int write_out(FILE *f, const char *bytes, size_t n)
{
    int fd = fileno_unlocked(f);
    while (n) {
        ssize_t wrote = peet__fd_write(fd, bytes, n);
        if (wrote < 0) {
            f->_flags |= FAILED;
            return EOF;
        }
        peet__syscall_note(SYS_write, (size_t)wrote);
        bytes += wrote;
        n -= (size_t)wrote;
    }
    return 0;
}

int peet__stream_drain(FILE *f)
{
    size_t n = pending(f);
    int result = n && peet__stream_waits(f) ? write_out(f, f->_IO_write_base, n) : 0;
    if (n && result == 0 && peet__stream_waits(f))
        f->_IO_write_ptr = f->_IO_write_base;
    return result;
}

/* What stays in the buffer makes no system call. */
static int fits(const FILE *f, const char *bytes, size_t n)
{
    return f->_IO_buf_base && !(f->_flags & UNBUFFERED) &&
        pending(f) + n < (size_t)(f->_IO_buf_end - f->_IO_buf_base) &&
        !(f->_flags & LINE_BUFFERED && memchr(bytes, '\n', n));
}

size_t peet__stream_put(FILE *f, const char *bytes, size_t n)
{
    size_t before, done;
    if (peet__stream_waits(f) && !fits(f, bytes, n)) {
        int error = 0;
        if (peet__stream_drain(f) != 0)
            return 0;
        if (!f->_IO_buf_base && n <= PIPE_BUF) /* its first use: the library sees to a buffer */
            error = peet__fd_wait(fileno_unlocked(f), POLLOUT, PEET_NEVER);
        else if (!fits(f, bytes, n))
            return write_out(f, bytes, n) == 0 ? n : 0;
        if (error) {
            errno = error;
            return 0;
        }
    }
    before = pending(f);
    done = REAL(fwrite)(bytes, 1, n, f);
    if (before + done > pending(f) && fileno_unlocked(f) >= 0)
        peet__syscall_note(SYS_write, before + done - pending(f));
    return done;
}

static size_t write_items(const void *from, size_t size, size_t n, FILE *f)
{
    if (!size || !n)
        return 0;
    int locked = peet__stream_enter(f);
    size_t wrote = peet__stream_put(f, from, size * n);
    peet__range(PEET_SYNTHETIC_STDIO_WRITE, NULL, from, size * n);
    peet__stream_leave(f, locked);
    return wrote == size * n ? n : wrote / size;
}

SIM(size_t, fwrite, const void *from, size_t size, size_t n, FILE *f)
{
    return SUBJECT ? write_items(from, size, n, f) : REAL(fwrite)(from, size, n, f);
}

SIM(size_t, fwrite_unlocked, const void *from, size_t size, size_t n, FILE *f)
{
    return SUBJECT ? write_items(from, size, n, f) : REAL(fwrite_unlocked)(from, size, n, f);
}

/* Recorded on the computer's own processors: the C library has written it. */
static int noted_text(int result, const char *text)
{
    if (peet__real_on())
        peet__range(PEET_SYNTHETIC_STDIO_WRITE, NULL, text, REAL(strlen)(text) + 1);
    return result;
}

static int write_text(const char *text, FILE *f, int newline)
{
    int locked = peet__stream_enter(f);
    size_t n = strlen(text);
    int result = peet__stream_put(f, text, n) == n && (!newline || peet__stream_put(f, "\n", 1) == 1) ? 1 : EOF;
    peet__range(PEET_SYNTHETIC_STDIO_WRITE, NULL, text, n + 1);
    peet__stream_leave(f, locked);
    return result;
}

SIM(int, fputs, const char *text, FILE *f)
{
    return SUBJECT ? write_text(text, f, 0) : noted_text(REAL(fputs)(text, f), text);
}

SIM(int, fputs_unlocked, const char *text, FILE *f)
{
    return SUBJECT ? write_text(text, f, 0) : noted_text(REAL(fputs_unlocked)(text, f), text);
}

SIM(int, puts, const char *text)
{
    if (!SUBJECT)
        return noted_text(REAL(puts)(text), text);
    return write_text(text, stdout, 1) == EOF ? EOF : (int)REAL(strlen)(text) + 1;
}

static int write_character(int c, FILE *f)
{
    unsigned char byte = (unsigned char)c;
    int locked = peet__stream_enter(f);
    int result = peet__stream_put(f, (const char *)&byte, 1) == 1 ? byte : EOF;
    peet__stream_leave(f, locked);
    return result;
}

#define PUT(name) \
    SIM(int, name, int c, FILE *f) \
    { \
        return SUBJECT ? write_character(c, f) : REAL(name)(c, f); \
    }
PUT(fputc)
PUT(putc)
PUT(_IO_putc)
PUT(fputc_unlocked)
PUT(putc_unlocked)

SIM(int, putchar, int c)
{
    return SUBJECT ? write_character(c, stdout) : REAL(putchar)(c);
}

SIM(int, putchar_unlocked, int c)
{
    return SUBJECT ? write_character(c, stdout) : REAL(putchar_unlocked)(c);
}

/* The buffer is full: what putc_unlocked() comes to where it was expanded inline. */
SIM(int, __overflow, FILE *f, int c)
{
    if (!SUBJECT)
        return REAL(__overflow)(f, c);
    int locked = peet__stream_enter(f);
    size_t before = pending(f);
    int result = peet__stream_drain(f) == 0 ? REAL(__overflow)(f, c) : EOF;
    if (before > pending(f) && !peet__stream_waits(f) && fileno_unlocked(f) >= 0)
        peet__syscall_note(SYS_write, before - pending(f));
    peet__stream_leave(f, locked);
    return result;
}

/* ---------------------------------------------------------------------------------------- whole streams */

/* What open() gives instead of some files, and how it waits for a FIFO's other end. */
static FILE *open_stream(const char *path, const char *mode, FILE *(*real)(const char *, const char *))
{
    struct stat st;
    FILE *f;
    peet__world_order();
    if (peet__world_is_own(path) || (peet__world_concurrent() && REAL(stat)(path, &st) == 0 && S_ISFIFO(st.st_mode))) {
        int both = strchr(mode, '+') != NULL,
            fd = peet__fd_open(path,
                both                 ? O_RDWR
                    : mode[0] == 'r' ? O_RDONLY
                                     : O_WRONLY);
        f = fd < 0 ? NULL : fdopen(fd, mode);
    } else {
        f = real(path, mode);
    }
    int saved_errno = errno;
    if (f)
        peet__fd_closed(fileno_unlocked(f));
    peet__syscall_note(SYS_openat, 0);
    errno = saved_errno;
    return f;
}

SIM(FILE *, fopen, const char *path, const char *mode)
{
    return SUBJECT ? open_stream(path, mode, REAL(fopen)) : REAL(fopen)(path, mode);
}

SIM(FILE *, fopen64, const char *path, const char *mode)
{
    return SUBJECT ? open_stream(path, mode, REAL(fopen64)) : REAL(fopen64)(path, mode);
}

SIM(int, fflush, FILE *f)
{
    if (!SUBJECT)
        return REAL(fflush)(f);
    if (!f) {
        peet__world_order();
        return REAL(fflush)(f);
    }
    int locked = peet__stream_enter(f);
    size_t before = pending(f);
    int waits = peet__stream_waits(f), result = peet__stream_drain(f) == 0 ? REAL(fflush)(f) : EOF;
    if (before && !waits && fileno_unlocked(f) >= 0)
        peet__syscall_note(SYS_write, before);
    peet__stream_leave(f, locked);
    return result;
}

SIM(int, fclose, FILE *f)
{
    if (!SUBJECT)
        return REAL(fclose)(f);
    int locked = peet__stream_enter(f), fd = fileno_unlocked(f);
    size_t before = pending(f);
    int drained = peet__stream_drain(f), waits = peet__stream_waits(f);
    peet__stream_leave(f, locked);
    if (before && !waits && fd >= 0)
        peet__syscall_note(SYS_write, before);
    if (fd >= 0) {
        peet__fd_closed(fd);
        peet__syscall_note(SYS_close, 0);
    }
    int result = REAL(fclose)(f);
    return drained ? EOF : result;
}

SIM(void, perror, const char *text)
{
    if (SUBJECT) {
        int saved_errno = errno;
        peet__world_order();
        if (text)
            peet__range(PEET_SYNTHETIC_STDIO_WRITE, NULL, text, strlen(text) + 1);
        errno = saved_errno;
    }
    REAL(perror)(text);
}
