/* SPDX-License-Identifier: Apache-2.0 */
/* Function pointers: sorting with a callback, dispatch tables, pointers in structures, indirect tail calls. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef SMALL
#define SHARE 4 /* Valgrind is slow */
#else
#define SHARE 1
#endif

struct shape {
    double (*area)(const struct shape *);
    const char *(*name)(void);
    double a, b;
};

static double square_area(const struct shape *s) { return s->a * s->a; }
static double box_area(const struct shape *s) { return s->a * s->b; }
static double ring_area(const struct shape *s) { return 3.14159 * (s->a * s->a - s->b * s->b); }
static const char *square_name(void) { return "square"; }
static const char *box_name(void) { return "box"; }
static const char *ring_name(void) { return "ring"; }

static int compared;
static int ascending(const void *a, const void *b)
{
    int x = *(const int *)a, y = *(const int *)b;
    compared++;
    return (x > y) - (x < y);
}
static int by_last_digit(const void *a, const void *b)
{
    int x = *(const int *)a % 10, y = *(const int *)b % 10;
    return x != y ? x - y : ascending(a, b);
}

static unsigned plus(unsigned a, unsigned b) { return a + b; }
static unsigned minus(unsigned a, unsigned b) { return a - b; }
static unsigned times(unsigned a, unsigned b) { return a * b + 1; }
static unsigned mix(unsigned a, unsigned b) { return (a << 5 | a >> 27) ^ b; }
static unsigned (*volatile const operations[4])(unsigned, unsigned) = {plus, minus, times, mix};

__attribute__((noinline)) static unsigned apply(unsigned (*f)(unsigned, unsigned), unsigned a, unsigned b)
{
    return f(b, a); /* an indirect tail call */
}

int main(void)
{
    static int values[1500];
    struct shape shapes[3] = {{square_area, square_name, 3, 0}, {box_area, box_name, 2, 5}, {ring_area, ring_name, 4, 1}};
    double area = 0;
    size_t letters = 0;
    unsigned u = 1, seed = 42;
    for (int i = 0; i < 1500 / SHARE; i++) {
        seed = seed * 1103515245u + 12345u;
        values[i] = (int)(seed >> 8 & 0xffff);
    }
    qsort(values, 1500, sizeof *values, ascending);
    int key = values[700], *found = bsearch(&key, values, 1500, sizeof *values, ascending);
    qsort(values, 1500, sizeof *values, by_last_digit);
    for (int i = 0; i < 9000 / SHARE; i++) {
        area += shapes[i % 3].area(&shapes[i % 3]);
        letters += strlen(shapes[i % 3].name());
        u = apply(operations[(unsigned)i * 7 >> 2 & 3], u, (unsigned)i);
    }
    printf("%d %d %d %g %zu %u\n", compared, values[3], found != NULL, area, letters, u);
    return 0;
}
