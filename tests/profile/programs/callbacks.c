/* SPDX-License-Identifier: Apache-2.0 */
/* Functions that the C library calls: comparisons that sort in turn, searches, handlers at the end. */
#include <stdio.h>
#include <stdlib.h>
#define NOINLINE __attribute__((noinline))
static long calls;
static NOINLINE int inner(const void *a, const void *b)
{
    calls++;
    return *(const int *)a - *(const int *)b;
}
static NOINLINE int key(int x)
{
    int t[5];
    for (int i = 0; i < 5; i++)
        t[i] = x * (i + 3) % 17;
    qsort(t, 5, sizeof *t, inner);
    return t[2];
}
static NOINLINE int outer(const void *a, const void *b)
{
    return key(*(const int *)a) - key(*(const int *)b);
}
static NOINLINE long find(int *v, int n)
{
    long found = 0;
    for (int i = 0; i < 30; i++)
        found += bsearch(&i, v, (size_t)n, sizeof *v, inner) != 0;
    return found;
}
static void bye(void)
{
    calls = key(3);
}
int main(void)
{
    int v[40];
    atexit(bye);
    for (int i = 0; i < 40; i++)
        v[i] = i * 37 % 41;
    qsort(v, 40, sizeof *v, outer);
    long sum = v[3];
    qsort(v, 40, sizeof *v, inner);
    printf("%ld %ld\n", sum + find(v, 40), calls);
    return 0;
}
