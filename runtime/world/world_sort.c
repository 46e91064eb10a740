/* SPDX-License-Identifier: Apache-2.0 */
/*
 * qsort().  Under simulation it is a merge sort of our own, because the moves of elements between two calls of the
 * comparison are to be noted where they happen.  It is stable and compares in the order in which a top-down merge sort
 * does, which is what glibc's has been for decades: where elements compare equal, the result is the plain run's.
 */
#include "world/world.h"

#include <stdlib.h>
#include <string.h>
#include "program/program.h"

struct sort {
    size_t size;
    int (*compare)(const void *, const void *, void *);
    void *arg;
    char *scratch;
    unsigned more; /* of the first range: 0, then PEET_SYNTHETIC_MORE */
};

static inline void copy(char *to, const char *from, size_t size)
{
    if (__builtin_expect(size == sizeof(uint64_t), 1))
        __builtin_memcpy(to, from, sizeof(uint64_t));
    else
        memcpy(to, from, size);
}

/* An element goes where it belongs: it is read, then written. */
static inline void move(struct sort *s, char *to, const char *from, size_t size)
{
    const unsigned what = PEET_SYNTHETIC_QSORT | s->more;
    copy(to, from, size);
    s->more = PEET_SYNTHETIC_MORE;
    if (peet__range_plainly(2, size)) {
        peet__range_write(what, 0, (uint64_t)from, size);
        peet__range_write(PEET_SYNTHETIC_LIBRARY_WRITE | PEET_SYNTHETIC_MORE, (uint64_t)to, 0, size);
    } else {
        peet__range(what, NULL, from, size);
        peet__range_more(PEET_SYNTHETIC_LIBRARY_WRITE, to, NULL, size);
    }
}

/* Sorted halves of n1 and n2 elements become one.  Which of two comes first nobody can foresee: without a jump. */
static void merge(struct sort *s, char *base, size_t n1, size_t n2)
{
    const size_t size = s->size;
    char *a = base, *b = base + n1 * size, *to = s->scratch;
    size_t all = n1 + n2;
    while (n1 && n2) {
        uint64_t first = -(uint64_t)(s->compare(a, b, s->arg) <= 0); /* all bits, or none */
        __asm__("" : "+r"(first));
        move(s, to, b - ((uint64_t)(b - a) & first), size);
        n1 += first;
        n2 -= first + 1;
        a += size & first;
        b += size & ~first;
        to += size;
    }
    if (n1) { /* what is left of the second half is in its place */
        memcpy(to, a, n1 * size);
        peet__range_more(PEET_SYNTHETIC_MEMCPY, to, a, n1 * size);
    }
    memcpy(base, s->scratch, (all - n2) * size);
    peet__range_more(PEET_SYNTHETIC_MEMCPY, base, s->scratch, (all - n2) * size);
}

static void sort(struct sort *s, char *base, size_t n)
{
    if (n <= 1)
        return;
    size_t half = n / 2;
    sort(s, base, half);
    sort(s, base + half * s->size, n - half);
    merge(s, base, half, n - half);
}

static int compare_plain(const void *a, const void *b, void *compare)
{
    return ((int (*)(const void *, const void *))compare)(a, b);
}

static int subject_sort(void *base, size_t n, size_t size, int (*compare)(const void *, const void *, void *),
    void *arg)
{
    struct sort s = {size, compare, arg, malloc(n * size), 0};
    if (!s.scratch)
        return -1;
    sort(&s, base, n);
    free(s.scratch);
    return 0;
}

SIM(void, qsort_r, void *base, size_t n, size_t size, int (*compare)(const void *, const void *, void *), void *arg)
{
    if (!WATCHED || !peet__ranges_noted() || size == 0 || n <= 1 || subject_sort(base, n, size, compare, arg) != 0)
        REAL(qsort_r)(base, n, size, compare, arg);
}

SIM(void, qsort, void *base, size_t n, size_t size, int (*compare)(const void *, const void *))
{
    if (WATCHED && peet__ranges_noted() && size != 0 && n > 1 &&
        subject_sort(base, n, size, compare_plain, (void *)compare) == 0)
        return;
    if (!WATCHED && peet__real_on()) {
        const int paused = peet__real_pauses(0);
        REAL(qsort)(base, n, size, compare);
        peet__real_goes_on(paused);
        return;
    }
    REAL(qsort)(base, n, size, compare); /* a jump: the comparison's frames lie where they do without peet */
}
