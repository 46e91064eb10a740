/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Strings: what the C library's functions reference is noted to the byte, terminators included.  The characters up
 * to which a function looks follow from its result, or are looked up afterwards in what it has just read.
 */
#include "world/world.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <wchar.h>
#include "program/program.h"

char *__strdup(const char *);
char *__strndup(const char *, size_t);
char *__strcpy_chk(char *, const char *, size_t);
char *__stpcpy_chk(char *, const char *, size_t);
char *__strncpy_chk(char *, const char *, size_t, size_t);
char *__stpncpy_chk(char *, const char *, size_t, size_t);
char *__strcat_chk(char *, const char *, size_t);
char *__strncat_chk(char *, const char *, size_t, size_t);

/* C++'s headers are not in the way here: these are plain functions. */
static size_t whole(const char *s)
{
    return REAL(strlen)(s) + 1;
}

/* Bytes of s that are looked at when at most n may be. */
static size_t bounded(const char *s, size_t n)
{
    size_t length = REAL(strnlen)(s, n);
    return length < n ? length + 1 : n;
}

SIM(size_t, strlen, const char *s)
{
    size_t length = REAL(strlen)(s);
    if (WATCHED)
        peet__range(PEET_SYNTHETIC_STRLEN, NULL, s, length + 1);
    return length;
}

SIM(size_t, strnlen, const char *s, size_t n)
{
    size_t length = REAL(strnlen)(s, n);
    if (WATCHED)
        peet__range(PEET_SYNTHETIC_STRLEN, NULL, s, length < n ? length + 1 : n);
    return length;
}

SIM(size_t, wcslen, const wchar_t *s)
{
    size_t length = REAL(wcslen)(s);
    if (WATCHED)
        peet__range(PEET_SYNTHETIC_STRLEN, NULL, s, (length + 1) * sizeof *s);
    return length;
}

/* -------------------------------------------------------------------------------------------- copies */

#define COPIED(name, call) \
    { \
        char *result = REAL(name) call; \
        if (WATCHED) \
            peet__range(PEET_SYNTHETIC_STRCPY, to, from, whole(to)); \
        return result; \
    }
/* clang-format off */
SIM(char *, strcpy, char *to, const char *from) COPIED(strcpy, (to, from))
SIM(char *, stpcpy, char *to, const char *from) COPIED(stpcpy, (to, from))
SIM(char *, __stpcpy, char *to, const char *from) COPIED(__stpcpy, (to, from))
SIM(char *, __strcpy_chk, char *to, const char *from, size_t room) COPIED(__strcpy_chk, (to, from, room))
SIM(char *, __stpcpy_chk, char *to, const char *from, size_t room) COPIED(__stpcpy_chk, (to, from, room))
    /* clang-format on */

    /* What is left of n is filled with zeros. */
    static void note_padded(const char *to, const char *from, size_t n)
{
    size_t bytes = bounded(to, n);
    peet__range(PEET_SYNTHETIC_STRCPY, to, from, bytes);
    if (bytes < n)
        peet__range_more(PEET_SYNTHETIC_MEMSET, to + bytes, NULL, n - bytes);
}

#define PADDED(name, call) \
    { \
        char *result = REAL(name) call; \
        if (WATCHED) \
            note_padded(to, from, n); \
        return result; \
    }
/* clang-format off */
SIM(char *, strncpy, char *to, const char *from, size_t n) PADDED(strncpy, (to, from, n))
SIM(char *, stpncpy, char *to, const char *from, size_t n) PADDED(stpncpy, (to, from, n))
SIM(char *, __strncpy_chk, char *to, const char *from, size_t n, size_t room) PADDED(__strncpy_chk, (to, from, n, room))
SIM(char *, __stpncpy_chk, char *to, const char *from, size_t n, size_t room) PADDED(__stpncpy_chk, (to, from, n, room))
    /* clang-format on */

    /* How long the first string was must be found out beforehand.  @limit: the most characters that are appended; then
     * comes the terminator all the same. */
    static void note_appended(const char *to, size_t before, const char *from, size_t limit)
{
    size_t added = REAL(strlen)(to + before);
    peet__range_more(PEET_SYNTHETIC_STRLEN, NULL, to, before + 1);
    peet__range(PEET_SYNTHETIC_STRCAT, to + before, from, added < limit ? added + 1 : added);
    if (added >= limit)
        peet__range_more(PEET_SYNTHETIC_LIBRARY_WRITE, to + before + added, NULL, 1);
}

#define APPENDED(name, call, limit) \
    { \
        size_t before = WATCHED ? REAL(strlen)(to) : 0; \
        char *result = REAL(name) call; \
        if (WATCHED) \
            note_appended(to, before, from, limit); \
        return result; \
    }
/* clang-format off */
SIM(char *, strcat, char *to, const char *from) APPENDED(strcat, (to, from), SIZE_MAX)
SIM(char *, __strcat_chk, char *to, const char *from, size_t room) APPENDED(__strcat_chk, (to, from, room), SIZE_MAX)
SIM(char *, strncat, char *to, const char *from, size_t n) APPENDED(strncat, (to, from, n), n)
SIM(char *, __strncat_chk, char *to, const char *from, size_t n, size_t room) APPENDED(__strncat_chk, (to, from, n, room), n)
/* clang-format on */

/* They allocate, as their definition says, by malloc(): the subject's. */
#define DUPLICATED(name, call, read) \
    { \
        char *copy = REAL(name) call; \
        if (WATCHED && copy) { \
            peet__range(PEET_SYNTHETIC_STRLEN, NULL, s, read); \
            peet__range(PEET_SYNTHETIC_MEMCPY, copy, s, whole(copy) - 1); \
            peet__range_more(PEET_SYNTHETIC_LIBRARY_WRITE, copy + whole(copy) - 1, NULL, 1); \
        } \
        return copy; \
    }
    /* clang-format off */
SIM(char *, strdup, const char *s) DUPLICATED(strdup, (s), whole(copy))
SIM(char *, __strdup, const char *s) DUPLICATED(__strdup, (s), whole(copy))
SIM(char *, strndup, const char *s, size_t n) DUPLICATED(strndup, (s, n), bounded(s, n))
SIM(char *, __strndup, const char *s, size_t n) DUPLICATED(__strndup, (s, n), bounded(s, n))
    /* clang-format on */

    SIM(wchar_t *, wcscpy, wchar_t *to, const wchar_t *from)
{
    wchar_t *result = REAL(wcscpy)(to, from);
    if (WATCHED)
        peet__range(PEET_SYNTHETIC_STRCPY, to, from, (REAL(wcslen)(to) + 1) * sizeof *to);
    return result;
}

SIM(wchar_t *, wcsncpy, wchar_t *to, const wchar_t *from, size_t n)
{
    wchar_t *result = REAL(wcsncpy)(to, from, n);
    if (WATCHED) {
        size_t k = 0;
        while (k < n && to[k++])
            ;
        peet__range(PEET_SYNTHETIC_STRCPY, to, from, k * sizeof *to);
        if (k < n)
            peet__range_more(PEET_SYNTHETIC_MEMSET, to + k, NULL, (n - k) * sizeof *to);
    }
    return result;
}

/* --------------------------------------------------------------------------------------- comparisons */

/* A word of eight characters that lie in one page: those behind a string's end may be read, too. */
static inline int word_at(const char *s, uint64_t *out)
{
    enum { PAGE = 4096 };
    if (__builtin_expect(((uintptr_t)s & (PAGE - 1)) > PAGE - sizeof *out, 0))
        return 0;
    __builtin_memcpy(out, s, sizeof *out);
    return 1;
}

/* Bytes that a comparison of strings looks at in each: up to the first difference or the end, with it. */
__attribute__((no_sanitize("address"))) static size_t compared(const char *a, const char *b, size_t n, int fold)
{
    const uint64_t ones = 0x0101010101010101;
    size_t k = 0;
    for (uint64_t x, y; !fold && n - k >= sizeof x && word_at(a + k, &x) && word_at(b + k, &y); k += sizeof x) {
        /* the lowest byte with a bit is the first that stops it */
        const uint64_t end = (x - ones) & ~x & ones << 7, stop = end | (x ^ y);
        if (stop)
            return k + (size_t)__builtin_ctzll(stop) / 8 + 1;
    }
    while (k < n) {
        unsigned char x = (unsigned char)a[k], y = (unsigned char)b[k];
        k++;
        if (!x || (fold ? tolower(x) != tolower(y) : x != y))
            break;
    }
    return k;
}

#define COMPARED(name, call, n, fold) \
    { \
        int result = REAL(name) call; \
        if (WATCHED) \
            peet__range(PEET_SYNTHETIC_STRCMP, a, b, compared(a, b, n, fold)); \
        return result; \
    }
/* clang-format off */
SIM(int, strcmp, const char *a, const char *b) COMPARED(strcmp, (a, b), SIZE_MAX, 0)
SIM(int, strncmp, const char *a, const char *b, size_t n) COMPARED(strncmp, (a, b, n), n, 0)
SIM(int, strcasecmp, const char *a, const char *b) COMPARED(strcasecmp, (a, b), SIZE_MAX, 1)
SIM(int, strncasecmp, const char *a, const char *b, size_t n) COMPARED(strncasecmp, (a, b, n), n, 1)
    /* clang-format on */

    SIM(int, wcscmp, const wchar_t *a, const wchar_t *b)
{
    int result = REAL(wcscmp)(a, b);
    if (WATCHED) {
        size_t k = 0;
        while (a[k] && a[k] == b[k])
            k++;
        peet__range(PEET_SYNTHETIC_STRCMP, a, b, (k + 1) * sizeof *a);
    }
    return result;
}

/* ------------------------------------------------------------------------------------------ searches */

#define SEARCHED(name, call) \
    { \
        char *found = REAL(name) call; \
        if (WATCHED) \
            peet__range(PEET_SYNTHETIC_STRCHR, NULL, s, found ? (size_t)(found + 1 - s) : whole(s)); \
        return found; \
    }
/* clang-format off */
SIM(char *, strchr, const char *s, int c) SEARCHED(strchr, (s, c))
SIM(char *, index, const char *s, int c) SEARCHED(index, (s, c))
SIM(char *, strchrnul, const char *s, int c) SEARCHED(strchrnul, (s, c))
/* clang-format on */

/* Always to the end. */
#define TO_END(name, call) \
    { \
        char *found = REAL(name) call; \
        if (WATCHED) \
            peet__range(PEET_SYNTHETIC_STRCHR, NULL, s, whole(s)); \
        return found; \
    }
    /* clang-format off */
SIM(char *, strrchr, const char *s, int c) TO_END(strrchr, (s, c))
SIM(char *, rindex, const char *s, int c) TO_END(rindex, (s, c))
    /* clang-format on */

    SIM(wchar_t *, wcschr, const wchar_t *s, wchar_t c)
{
    wchar_t *found = REAL(wcschr)(s, c);
    if (WATCHED)
        peet__range(PEET_SYNTHETIC_STRCHR, NULL, s,
            (found ? (size_t)(found + 1 - s) : REAL(wcslen)(s) + 1) * sizeof *s);
    return found;
}

/* Haystack up to the end of what was found, and the needle. */
#define FOUND(name) \
    { \
        char *found = REAL(name)(s, what); \
        if (WATCHED) { \
            peet__range(PEET_SYNTHETIC_STRSTR, NULL, s, found ? (size_t)(found - s) + whole(what) - 1 : whole(s)); \
            peet__range_more(PEET_SYNTHETIC_STRSTR, NULL, what, whole(what)); \
        } \
        return found; \
    }
/* clang-format off */
SIM(char *, strstr, const char *s, const char *what) FOUND(strstr)
SIM(char *, strcasestr, const char *s, const char *what) FOUND(strcasestr)
    /* clang-format on */

    static void note_span(const char *s, size_t span, const char *set)
{
    peet__range(PEET_SYNTHETIC_STRCHR, NULL, s, span + 1);
    peet__range_more(PEET_SYNTHETIC_STRCHR, NULL, set, whole(set));
}

#define SPANNED(name) \
    { \
        size_t span = REAL(name)(s, set); \
        if (WATCHED) \
            note_span(s, span, set); \
        return span; \
    }
/* clang-format off */
SIM(size_t, strspn, const char *s, const char *set) SPANNED(strspn)
SIM(size_t, strcspn, const char *s, const char *set) SPANNED(strcspn)
    /* clang-format on */

    SIM(char *, strpbrk, const char *s, const char *set)
{
    char *found = REAL(strpbrk)(s, set);
    if (WATCHED)
        note_span(s, found ? (size_t)(found - s) : whole(s) - 1, set);
    return found;
}

/* ------------------------------------------------------------------------------------------- tokens */

/* A token and the delimiters before it have been read; the delimiter behind it is a terminator now. */
static void note_token(const char *from, const char *token, const char *delimiters, int ended)
{
    size_t bytes = token ? (size_t)(token - from) + whole(token) : whole(from);
    peet__range(PEET_SYNTHETIC_STRCHR, NULL, from, bytes);
    peet__range_more(PEET_SYNTHETIC_STRCHR, NULL, delimiters, whole(delimiters));
    if (ended)
        peet__range_more(PEET_SYNTHETIC_LIBRARY_WRITE, from + bytes - 1, NULL, 1);
}

/* @place holds where the next token begins: at the terminator itself if there was no delimiter */
#define TOKEN(name) \
    { \
        char *from = s ? s : *place, *token = REAL(name)(s, delimiters, place); \
        if (WATCHED && from) \
            note_token(from, token, delimiters, token && *place > token + whole(token) - 1); \
        return token; \
    }
/* clang-format off */
SIM(char *, strtok_r, char *s, const char *delimiters, char **place) TOKEN(strtok_r)
SIM(char *, __strtok_r, char *s, const char *delimiters, char **place) TOKEN(__strtok_r)
    /* clang-format on */

    /* With a place of our own, one for all contexts as the C library has it. */
    SIM(char *, strtok, char *s, const char *delimiters)
{
    static char *place;
    return WATCHED ? peet__sim_strtok_r(s, delimiters, &place) : REAL(strtok)(s, delimiters);
}

SIM(char *, strsep, char **place, const char *delimiters)
{
    char *from = *place, *token = REAL(strsep)(place, delimiters);
    if (WATCHED && from)
        note_token(from, token, delimiters, *place != NULL);
    return token;
}

/* ------------------------------------------------------------------------------------------ numbers */

/* The character behind the number has been looked at too. */
#define NUMBER(type, name, real, call) \
    { \
        char *after = (char *)s; \
        type number = REAL(real) call; \
        if (end) \
            *end = after; \
        if (WATCHED) \
            peet__range(PEET_SYNTHETIC_LIBRARY_READ, NULL, s, (size_t)(after + 1 - s)); \
        return number; \
    }
/* clang-format off */
SIM(long, strtol, const char *s, char **end, int base) NUMBER(long, strtol, strtol, (s, &after, base))
SIM(unsigned long, strtoul, const char *s, char **end, int base) NUMBER(unsigned long, strtoul, strtoul, (s, &after, base))
SIM(long long, strtoll, const char *s, char **end, int base) NUMBER(long long, strtoll, strtoll, (s, &after, base))
SIM(unsigned long long, strtoull, const char *s, char **end, int base) NUMBER(unsigned long long, strtoull, strtoull, (s, &after, base))
SIM(double, strtod, const char *s, char **end) NUMBER(double, strtod, strtod, (s, &after))
SIM(float, strtof, const char *s, char **end) NUMBER(float, strtof, strtof, (s, &after))
SIM(long double, strtold, const char *s, char **end) NUMBER(long double, strtold, strtold, (s, &after))
    /* clang-format on */

    SIM(int, atoi, const char *s)
{
    return (int)peet__sim_strtol(s, NULL, 10);
}

SIM(long, atol, const char *s)
{
    return peet__sim_strtol(s, NULL, 10);
}

SIM(long long, atoll, const char *s)
{
    return peet__sim_strtoll(s, NULL, 10);
}

SIM(double, atof, const char *s)
{
    return peet__sim_strtod(s, NULL);
}
