/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ranges of memory: memcpy() and its family.  The C library does the work; then what it has referenced is noted, to the
 * byte: a search up to and with what it found, a comparison up to and with the first difference.
 */
#include "world/world.h"

#include <string.h>
#include <strings.h>
#include <wchar.h>
#include "program/program.h"

void *__memcpy_chk(void *, const void *, size_t, size_t);
void *__memmove_chk(void *, const void *, size_t, size_t);
void *__mempcpy_chk(void *, const void *, size_t, size_t);
void *__memset_chk(void *, int, size_t, size_t);
void __explicit_bzero_chk(void *, size_t, size_t);

/* The body of a function whose result is the C library's, and whose references are known beforehand. */
#define NOTED(name, call, what, destination, source, bytes) \
    { \
        __typeof__(REAL(name) call) result = REAL(name) call; \
        if (WATCHED) \
            peet__range(what, destination, source, bytes); \
        return result; \
    }

/* clang-format off */
SIM(void *, memcpy, void *to, const void *from, size_t n) NOTED(memcpy, (to, from, n), PEET_SYNTHETIC_MEMCPY, to, from, n)
SIM(void *, memmove, void *to, const void *from, size_t n) NOTED(memmove, (to, from, n), PEET_SYNTHETIC_MEMMOVE, to, from, n)
SIM(void *, mempcpy, void *to, const void *from, size_t n) NOTED(mempcpy, (to, from, n), PEET_SYNTHETIC_MEMCPY, to, from, n)
SIM(void *, __mempcpy, void *to, const void *from, size_t n) NOTED(__mempcpy, (to, from, n), PEET_SYNTHETIC_MEMCPY, to, from, n)
SIM(void *, memset, void *to, int c, size_t n) NOTED(memset, (to, c, n), PEET_SYNTHETIC_MEMSET, to, NULL, n)
    /* clang-format on */
    SIM(void *, __memcpy_chk, void *to, const void *from, size_t n, size_t room)
        NOTED(__memcpy_chk, (to, from, n, room), PEET_SYNTHETIC_MEMCPY, to, from, n)
            SIM(void *, __memmove_chk, void *to, const void *from, size_t n, size_t room)
                NOTED(__memmove_chk, (to, from, n, room), PEET_SYNTHETIC_MEMMOVE, to, from, n)
                    SIM(void *, __mempcpy_chk, void *to, const void *from, size_t n, size_t room)
                        NOTED(__mempcpy_chk, (to, from, n, room), PEET_SYNTHETIC_MEMCPY, to, from, n)
    /* clang-format off */
SIM(void *, __memset_chk, void *to, int c, size_t n, size_t room) NOTED(__memset_chk, (to, c, n, room), PEET_SYNTHETIC_MEMSET, to, NULL, n)
    /* clang-format on */

    SIM(wchar_t *, wmemcpy, wchar_t *to, const wchar_t *from, size_t n)
        NOTED(wmemcpy, (to, from, n), PEET_SYNTHETIC_MEMCPY, to, from, n * sizeof *to)
            SIM(wchar_t *, wmemmove, wchar_t *to, const wchar_t *from, size_t n)
                NOTED(wmemmove, (to, from, n), PEET_SYNTHETIC_MEMMOVE, to, from, n * sizeof *to)
                    SIM(wchar_t *, wmempcpy, wchar_t *to, const wchar_t *from, size_t n)
                        NOTED(wmempcpy, (to, from, n), PEET_SYNTHETIC_MEMCPY, to, from, n * sizeof *to)
    /* clang-format off */
SIM(wchar_t *, wmemset, wchar_t *to, wchar_t c, size_t n) NOTED(wmemset, (to, c, n), PEET_SYNTHETIC_MEMSET, to, NULL, n * sizeof *to)
    /* clang-format on */

    SIM(void, bzero, void *to, size_t n)
{
    REAL(bzero)(to, n);
    if (WATCHED)
        peet__range(PEET_SYNTHETIC_MEMSET, to, NULL, n);
}

SIM(void, explicit_bzero, void *to, size_t n)
{
    REAL(explicit_bzero)(to, n);
    if (WATCHED)
        peet__range(PEET_SYNTHETIC_MEMSET, to, NULL, n);
}

SIM(void, __explicit_bzero_chk, void *to, size_t n, size_t room)
{
    REAL(__explicit_bzero_chk)(to, n, room);
    if (WATCHED)
        peet__range(PEET_SYNTHETIC_MEMSET, to, NULL, n);
}

SIM(void, bcopy, const void *from, void *to, size_t n)
{
    REAL(bcopy)(from, to, n);
    if (WATCHED)
        peet__range(PEET_SYNTHETIC_MEMMOVE, to, from, n);
}

SIM(void *, memccpy, void *to, const void *from, int c, size_t n)
{
    char *end = REAL(memccpy)(to, from, c, n);
    if (WATCHED)
        peet__range(PEET_SYNTHETIC_MEMCPY, to, from, end ? (size_t)(end - (char *)to) : n);
    return end;
}

/* ------------------------------------------------------------------------------------- comparisons, searches */

/* How many bytes a comparison looks at that has found a difference, or none. */
static size_t compared(const void *a, const void *b, size_t n, int result)
{
    const unsigned char *x = a, *y = b;
    size_t k = 0;
    if (result == 0)
        return n;
    for (uint64_t p, q; k + 8 <= n; k += 8) {
        __builtin_memcpy(&p, x + k, 8);
        __builtin_memcpy(&q, y + k, 8);
        if (p != q)
            break;
    }
    while (k < n && x[k] == y[k])
        k++;
    return k < n ? k + 1 : n;
}

SIM(int, memcmp, const void *a, const void *b, size_t n)
{
    int result = REAL(memcmp)(a, b, n);
    if (WATCHED)
        peet__range(PEET_SYNTHETIC_MEMCMP, a, b, compared(a, b, n, result));
    return result;
}

SIM(int, bcmp, const void *a, const void *b, size_t n)
{
    int result = REAL(bcmp)(a, b, n);
    if (WATCHED)
        peet__range(PEET_SYNTHETIC_MEMCMP, a, b, compared(a, b, n, result));
    return result;
}

SIM(int, wmemcmp, const wchar_t *a, const wchar_t *b, size_t n)
{
    int result = REAL(wmemcmp)(a, b, n);
    if (WATCHED) {
        size_t bytes = compared(a, b, n * sizeof *a, result);
        peet__range(PEET_SYNTHETIC_MEMCMP, a, b, (bytes + sizeof *a - 1) / sizeof *a * sizeof *a);
    }
    return result;
}

SIM(void *, memchr, const void *s, int c, size_t n)
{
    char *found = REAL(memchr)(s, c, n);
    if (WATCHED)
        peet__range(PEET_SYNTHETIC_MEMCHR, NULL, s, found ? (size_t)(found + 1 - (const char *)s) : n);
    return found;
}

/* From the end down. */
SIM(void *, memrchr, const void *s, int c, size_t n)
{
    char *found = REAL(memrchr)(s, c, n);
    if (WATCHED)
        peet__range(PEET_SYNTHETIC_MEMCHR, NULL, found ? found : s, found ? (size_t)((const char *)s + n - found) : n);
    return found;
}

SIM(void *, rawmemchr, const void *s, int c)
{
    char *found = REAL(rawmemchr)(s, c);
    if (WATCHED)
        peet__range(PEET_SYNTHETIC_MEMCHR, NULL, s, (size_t)(found + 1 - (const char *)s));
    return found;
}

SIM(wchar_t *, wmemchr, const wchar_t *s, wchar_t c, size_t n)
{
    wchar_t *found = REAL(wmemchr)(s, c, n);
    if (WATCHED)
        peet__range(PEET_SYNTHETIC_MEMCHR, NULL, s, (found ? (size_t)(found + 1 - s) : n) * sizeof *s);
    return found;
}

SIM(void *, memmem, const void *s, size_t n, const void *what, size_t m)
{
    char *found = REAL(memmem)(s, n, what, m);
    if (WATCHED) {
        peet__range(PEET_SYNTHETIC_STRSTR, NULL, s, found ? (size_t)(found - (const char *)s) + m : n);
        peet__range_more(PEET_SYNTHETIC_STRSTR, NULL, what, m);
    }
    return found;
}
