/* SPDX-License-Identifier: Apache-2.0 */
/*
 * printf() and scanf(): the C library does the formatting; what it reads and writes of the subject's memory is found by
 * going through the format: the format itself, strings that are printed, results that are stored.  Formats with
 * numbered arguments (%1$d) are read by the library alone, and only the format is noted.
 */
#include "world/world.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wchar.h>
#include "program/program.h"
#include "world/world_stdio.h"

int __printf_chk(int, const char *, ...);
int __fprintf_chk(FILE *, int, const char *, ...);
int __vprintf_chk(int, const char *, va_list);
int __vfprintf_chk(FILE *, int, const char *, va_list);
int __dprintf_chk(int, int, const char *, ...);
int __vdprintf_chk(int, int, const char *, va_list);
int __sprintf_chk(char *, int, size_t, const char *, ...);
int __snprintf_chk(char *, size_t, int, size_t, const char *, ...);
int __vsprintf_chk(char *, int, size_t, const char *, va_list);
int __vsnprintf_chk(char *, size_t, int, size_t, const char *, va_list);
int __asprintf_chk(char **, int, const char *, ...);
int __vasprintf_chk(char **, int, const char *, va_list);
int __isoc99_scanf(const char *, ...);
int __isoc99_fscanf(FILE *, const char *, ...);
int __isoc99_sscanf(const char *, const char *, ...);
int __isoc99_vscanf(const char *, va_list);
int __isoc99_vfscanf(FILE *, const char *, va_list);
int __isoc99_vsscanf(const char *, const char *, va_list);

/* ---------------------------------------------------------------------------------------------- formats */

/* One conversion, between % and its letter. */
struct conversion {
    int stars;            /* arguments that width and precision take */
    int width, precision; /* -1: none, -2: an argument's */
    int suppressed, allocates;
    int length;                /* 'h', 'H' (hh), 'l', 'L', 0 */
    char letter;               /* 0: the format ends, or has numbered arguments */
    const char *set, *set_end; /* %[...] */
};

static const char *number(const char *p, int *out)
{
    int n = 0;
    while (*p >= '0' && *p <= '9' && n < INT_MAX / 10 - 1)
        n = n * 10 + (*p++ - '0');
    *out = n;
    return p;
}

/* @p: behind the %.  Returns: behind the letter */
static const char *parse(const char *p, int scanning, struct conversion *out)
{
    *out = (struct conversion){.width = -1, .precision = -1};
    if (scanning && *p == '*') {
        out->suppressed = 1;
        p++;
    }
    while (*p && strchr(scanning ? "'I" : "-+ #0'I", *p))
        p++;
    if (*p == '*') {
        out->width = -2;
        p++;
    } else if (*p >= '0' && *p <= '9') {
        p = number(p, &out->width);
    }
    if (*p == '$')
        return p;
    if (!scanning && *p == '.') {
        p++;
        if (*p == '*') {
            out->precision = -2;
            p++;
        } else {
            p = number(p, &out->precision);
        }
    }
    for (;; p++) {
        if (*p == 'h')
            out->length = out->length == 'h' ? 'H' : 'h';
        else if (*p == 'l' || *p == 'j' || *p == 'z' || *p == 't' || *p == 'q' || *p == 'Z')
            out->length = out->length == 'l' ? 'q' : 'l';
        else if (*p == 'L')
            out->length = 'L';
        else if (scanning && *p == 'm')
            out->allocates = 1;
        else
            break;
    }
    if (scanning && *p == '[') {
        const char *end = p + 1 + (p[1] == '^');
        end = *end ? strchr(end + 1, ']') : NULL;
        out->letter = end ? '[' : 0;
        return end ? end + 1 : p;
    }
    out->letter = *p;
    return *p ? p + 1 : p;
}

static void note_string(const char *s, int precision)
{
    size_t n = precision < 0 ? strlen(s) : strnlen(s, (size_t)precision);
    peet__range_more(PEET_SYNTHETIC_LIBRARY_READ, NULL, s, precision >= 0 && n == (size_t)precision ? n : n + 1);
}

/* The strings that are printed, and what %n stores. */
static void note_arguments(const char *format, va_list args)
{
    struct conversion c;
    for (const char *p = format; (p = strchr(p, '%')) != NULL;) {
        p = parse(p + 1, 0, &c);
        if (c.width == -2)
            (void)va_arg(args, int);
        if (c.precision == -2)
            c.precision = va_arg(args, int);
        switch (c.letter) {
        case 'd':
        case 'i':
        case 'o':
        case 'u':
        case 'x':
        case 'X':
        case 'c':
        case 'b':
        case 'B':
            if (c.length == 'l' || c.length == 'q' || c.length == 'L')
                (void)va_arg(args, long);
            else
                (void)va_arg(args, int);
            break;
        case 'e':
        case 'E':
        case 'f':
        case 'F':
        case 'g':
        case 'G':
        case 'a':
        case 'A':
            if (c.length == 'L')
                (void)va_arg(args, long double);
            else
                (void)va_arg(args, double);
            break;
        case 's': {
            const char *s = va_arg(args, const char *);
            if (s && c.length != 'l')
                note_string(s, c.precision);
            else if (s && c.precision < 0)
                peet__range_more(PEET_SYNTHETIC_LIBRARY_READ, NULL, s,
                    (wcslen((const wchar_t *)s) + 1) * sizeof(wchar_t));
            break;
        }
        case 'S':
        case 'p':
            (void)va_arg(args, void *);
            break;
        case 'C':
            (void)va_arg(args, int);
            break;
        case 'n':
            peet__range_more(PEET_SYNTHETIC_LIBRARY_WRITE, va_arg(args, void *), NULL,
                c.length == 'l' || c.length == 'q' ? 8
                    : c.length == 'h'              ? 2
                    : c.length == 'H'              ? 1
                                                   : 4);
            break;
        case '%':
        case 'm':
            break;
        default:
            return;
        }
    }
}

/* How many bytes a conversion of scanf() has stored at its argument. */
static size_t stored(const struct conversion *c, const void *at)
{
    size_t wide = c->length == 'l' ? sizeof(wchar_t) : 1;
    if (c->allocates)
        return sizeof(void *);
    switch (c->letter) {
    case 'd':
    case 'i':
    case 'o':
    case 'u':
    case 'x':
    case 'X':
    case 'n':
        return c->length == 'l' || c->length == 'q' || c->length == 'L' ? 8
            : c->length == 'h'                                          ? 2
            : c->length == 'H'                                          ? 1
                                                                        : 4;
    case 'e':
    case 'E':
    case 'f':
    case 'F':
    case 'g':
    case 'G':
    case 'a':
    case 'A':
        return c->length == 'L' ? sizeof(long double) : c->length == 'l' ? sizeof(double) : sizeof(float);
    case 's':
    case '[':
        return wide == 1 ? strlen(at) + 1 : (wcslen(at) + 1) * wide;
    case 'c':
        return (c->width > 0 ? (size_t)c->width : 1) * wide;
    case 'p':
        return sizeof(void *);
    default:
        return 0;
    }
}

/* What the first `count` conversions have stored. */
static void note_results(const char *format, int count, va_list args)
{
    struct conversion c;
    for (const char *p = format; (p = strchr(p, '%')) != NULL;) {
        p = parse(p + 1, 1, &c);
        if (!c.letter)
            return;
        if (c.letter == '%' || c.suppressed)
            continue;
        if (count == 0 && c.letter != 'n')
            return;
        void *at = va_arg(args, void *);
        peet__range_more(PEET_SYNTHETIC_LIBRARY_WRITE, at, NULL, stored(&c, at));
        count -= c.letter != 'n';
    }
}

/* ------------------------------------------------------------------------------------------------ printf */

/* @flag: of the checking forms; < 0: plain.  Both keep args for others. */
static int to_stream(FILE *f, int flag, const char *format, va_list args)
{
    va_list again;
    int result, locked = peet__stream_enter(f);
    va_copy(again, args);
    if (peet__stream_waits(f)) {
        char *text;
        result = flag < 0 ? REAL(vasprintf)(&text, format, args) : REAL(__vasprintf_chk)(&text, flag, format, args);
        if (result >= 0) {
            if (peet__stream_put(f, text, (size_t)result) != (size_t)result)
                result = -1;
            free(text);
        }
    } else {
        size_t before = f->_IO_write_ptr > f->_IO_write_base ? (size_t)(f->_IO_write_ptr - f->_IO_write_base) : 0;
        result = flag < 0 ? REAL(vfprintf)(f, format, args) : REAL(__vfprintf_chk)(f, flag, format, args);
        size_t after = f->_IO_write_ptr > f->_IO_write_base ? (size_t)(f->_IO_write_ptr - f->_IO_write_base) : 0;
        if (result > 0 && before + (size_t)result > after && fileno_unlocked(f) >= 0)
            peet__syscall_note(1, before + (size_t)result - after);
    }
    int saved_errno = errno;
    peet__range(PEET_SYNTHETIC_STDIO_WRITE, NULL, format, strlen(format) + 1);
    note_arguments(format, again);
    va_end(again);
    errno = saved_errno;
    peet__stream_leave(f, locked);
    return result;
}

/* In a recording on the computer's own processors the C library writes, and what it reads is noted. */
static int note_output(int result, const char *format, va_list args)
{
    int saved_errno = errno;
    peet__range(PEET_SYNTHETIC_STDIO_WRITE, NULL, format, strlen(format) + 1);
    note_arguments(format, args);
    errno = saved_errno;
    return result;
}
#define PLAINLY(call) \
    __extension__({ \
        va_list again_; \
        va_copy(again_, args); \
        int result_ = (call); \
        if (peet__real_watches(__builtin_return_address(0))) \
            note_output(result_, format, again_); \
        va_end(again_); \
        result_; \
    })

/* To a descriptor: all in one piece. */
static int to_descriptor(int fd, int flag, const char *format, va_list args)
{
    char *text;
    va_list again;
    va_copy(again, args);
    int result = flag < 0 ? REAL(vasprintf)(&text, format, args) : REAL(__vasprintf_chk)(&text, flag, format, args);
    if (result >= 0) {
        ssize_t wrote = peet__fd_write(fd, text, (size_t)result);
        peet__syscall_note(1, wrote > 0 ? (size_t)wrote : 0);
        peet__range(PEET_SYNTHETIC_STDIO_WRITE, NULL, format, strlen(format) + 1);
        note_arguments(format, again);
        if (wrote < 0)
            result = -1;
        free(text);
    }
    va_end(again);
    return result;
}

/* Into memory: how much of it has been written follows from the length and the room. */
static int note_text(const char *to, size_t room, int length, const char *format, va_list args)
{
    int saved_errno = errno;
    if (length >= 0) {
        size_t n = (size_t)length + 1;
        peet__range(PEET_SYNTHETIC_LIBRARY_READ, NULL, format, strlen(format) + 1);
        note_arguments(format, args);
        if (to && room)
            peet__range_more(PEET_SYNTHETIC_LIBRARY_WRITE, to, NULL, n < room ? n : room);
    }
    errno = saved_errno;
    return length;
}

/* A function over a va_list, and the one that takes its arguments. */
#define VARIADIC(name, of_list, parameters, last, arguments) \
    SIM(int, name, REMOVE parameters, ...) \
    { \
        va_list args; \
        va_start(args, last); \
        int result = peet__sim_##of_list arguments; \
        va_end(args); \
        return result; \
    }

SIM(int, vfprintf, FILE *f, const char *format, va_list args)
{
    return SUBJECT ? to_stream(f, -1, format, args) : PLAINLY(REAL(vfprintf)(f, format, args));
}
SIM(int, vprintf, const char *format, va_list args)
{
    return SUBJECT ? to_stream(stdout, -1, format, args) : PLAINLY(REAL(vprintf)(format, args));
}
SIM(int, vdprintf, int fd, const char *format, va_list args)
{
    return SUBJECT ? to_descriptor(fd, -1, format, args) : PLAINLY(REAL(vdprintf)(fd, format, args));
}
SIM(int, __vfprintf_chk, FILE *f, int flag, const char *format, va_list args)
{
    return SUBJECT ? to_stream(f, flag, format, args) : PLAINLY(REAL(__vfprintf_chk)(f, flag, format, args));
}
SIM(int, __vprintf_chk, int flag, const char *format, va_list args)
{
    return SUBJECT ? to_stream(stdout, flag, format, args) : PLAINLY(REAL(__vprintf_chk)(flag, format, args));
}
SIM(int, __vdprintf_chk, int fd, int flag, const char *format, va_list args)
{
    return SUBJECT ? to_descriptor(fd, flag, format, args) : PLAINLY(REAL(__vdprintf_chk)(fd, flag, format, args));
}

#define INTO_MEMORY(name, call, room) \
    { \
        if (!WATCHED) \
            return REAL(name) call; \
        va_list again; \
        va_copy(again, args); \
        int length = REAL(name) call; \
        note_text(to, room, length, format, again); \
        va_end(again); \
        return length; \
    }
/* clang-format off */
SIM(int, vsprintf, char *to, const char *format, va_list args) INTO_MEMORY(vsprintf, (to, format, args), SIZE_MAX)
SIM(int, vsnprintf, char *to, size_t n, const char *format, va_list args) INTO_MEMORY(vsnprintf, (to, n, format, args), n)
    /* clang-format on */
    SIM(int, __vsprintf_chk, char *to, int flag, size_t room, const char *format, va_list args)
        INTO_MEMORY(__vsprintf_chk, (to, flag, room, format, args), SIZE_MAX)
            SIM(int, __vsnprintf_chk, char *to, size_t n, int flag, size_t room, const char *format, va_list args)
                INTO_MEMORY(__vsnprintf_chk, (to, n, flag, room, format, args), n)

#define INTO_NEW(name, call) \
    { \
        if (!WATCHED) \
            return REAL(name) call; \
        va_list again; \
        va_copy(again, args); \
        int length = REAL(name) call; \
        note_text(length >= 0 ? *to : NULL, SIZE_MAX, length, format, again); \
        va_end(again); \
        return length; \
    }
    /* clang-format off */
SIM(int, vasprintf, char **to, const char *format, va_list args) INTO_NEW(vasprintf, (to, format, args))
SIM(int, __vasprintf_chk, char **to, int flag, const char *format, va_list args) INTO_NEW(__vasprintf_chk, (to, flag, format, args))
    /* clang-format on */

    VARIADIC(printf, vprintf, (const char *format), format, (format, args)) VARIADIC(fprintf, vfprintf,
        (FILE * f, const char *format), format,
        (f, format, args)) VARIADIC(dprintf, vdprintf, (int fd, const char *format), format, (fd, format, args))
        VARIADIC(sprintf, vsprintf, (char *to, const char *format), format, (to, format, args)) VARIADIC(snprintf,
            vsnprintf, (char *to, size_t n, const char *format), format, (to, n, format, args))
            VARIADIC(asprintf, vasprintf, (char **to, const char *format), format, (to, format, args))
                VARIADIC(__printf_chk, __vprintf_chk, (int flag, const char *format), format, (flag, format, args))
                    VARIADIC(__fprintf_chk, __vfprintf_chk, (FILE * f, int flag, const char *format), format,
                        (f, flag, format, args)) VARIADIC(__dprintf_chk, __vdprintf_chk,
                        (int fd, int flag, const char *format), format, (fd, flag, format, args))
                        VARIADIC(__sprintf_chk, __vsprintf_chk, (char *to, int flag, size_t room, const char *format),
                            format, (to, flag, room, format, args)) VARIADIC(__snprintf_chk, __vsnprintf_chk,
                            (char *to, size_t n, int flag, size_t room, const char *format), format,
                            (to, n, flag, room, format, args)) VARIADIC(__asprintf_chk, __vasprintf_chk,
                            (char **to, int flag, const char *format), format, (to, flag, format, args))

    /* ------------------------------------------------------------------------------------------------- scanf */

    typedef int stream_scanner(FILE *, const char *, va_list);

/* The first look at an empty buffer waits in simulated time; what a conversion still lacks then is waited for inside
 * the library. */
static int from_stream(stream_scanner *real, FILE *f, const char *format, va_list args)
{
    va_list again;
    int locked = peet__stream_enter(f), count = EOF;
    va_copy(again, args);
    if (peet__stream_fill(f) == 0)
        count = real(f, format, args);
    int saved_errno = errno;
    peet__range(PEET_SYNTHETIC_LIBRARY_READ, NULL, format, strlen(format) + 1);
    note_results(format, count < 0 ? 0 : count, again);
    va_end(again);
    errno = saved_errno;
    peet__stream_leave(f, locked);
    return count;
}

/* The library looks for the end of the text first. */
static int from_text(int (*real)(const char *, const char *, va_list), const char *text, const char *format,
    va_list args)
{
    va_list again;
    va_copy(again, args);
    int count = real(text, format, args), saved_errno = errno;
    peet__range(PEET_SYNTHETIC_LIBRARY_READ, NULL, text, strlen(text) + 1);
    peet__range_more(PEET_SYNTHETIC_LIBRARY_READ, NULL, format, strlen(format) + 1);
    note_results(format, count < 0 ? 0 : count, again);
    va_end(again);
    errno = saved_errno;
    return count;
}

#define SCANNERS(prefix) \
    SIM(int, prefix##vfscanf, FILE *f, const char *format, va_list args) \
    { \
        return SUBJECT ? from_stream(REAL(prefix##vfscanf), f, format, args) : REAL(prefix##vfscanf)(f, format, args); \
    } \
    SIM(int, prefix##vscanf, const char *format, va_list args) \
    { \
        return SUBJECT ? from_stream(REAL(prefix##vfscanf), stdin, format, args) : REAL(prefix##vscanf)(format, args); \
    } \
    SIM(int, prefix##vsscanf, const char *text, const char *format, va_list args) \
    { \
        return SUBJECT ? from_text(REAL(prefix##vsscanf), text, format, args) \
                       : REAL(prefix##vsscanf)(text, format, args); \
    } \
    VARIADIC(prefix##scanf, prefix##vscanf, (const char *format), format, (format, args)) \
    VARIADIC(prefix##fscanf, prefix##vfscanf, (FILE * f, const char *format), format, (f, format, args)) \
    VARIADIC(prefix##sscanf, prefix##vsscanf, (const char *text, const char *format), format, (text, format, args))
SCANNERS()
SCANNERS(__isoc99_)
