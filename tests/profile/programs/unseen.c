/* SPDX-License-Identifier: Apache-2.0 */
/* Tail calls into the C library, which returns to the caller's caller, calls back, or both; in a recursion, too. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#define NOINLINE __attribute__((noinline))
static NOINLINE int leaf(int x)
{
    return x * 3;
}
static NOINLINE void *get(size_t n)
{
    return malloc(n + 8);
}
static NOINLINE void put(void *p)
{
    free(p);
}
static NOINLINE int ask(int x)
{
    return x & 1 ? getppid() : leaf(x);
}
static NOINLINE int middle(int x)
{
    int *p = get((size_t)x), r;
    *p = x;
    r = *p + (ask(x) != 0);
    put(p);
    return r + leaf(r);
}
static NOINLINE int again(int n)
{
    return n ? again(n - 1) + middle(n) : getppid();
}
static NOINLINE int compare(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}
static NOINLINE void sort(int *v, size_t n)
{
    qsort(v, n, sizeof *v, compare);
}
static NOINLINE void sort_more(int *v, size_t n)
{
    v[0] = -v[0];
    sort(v, n);
    v[1]++;
}
static NOINLINE void sort_last(int *v, size_t n)
{
    v[0] ^= 5;
    sort(v, n);
}
int main(void)
{
    int sum = 0, v[40];
    for (int k = 0; k < 5; k++) {
        for (int i = 0; i < 40; i++)
            v[i] = (i * 37 + k) % 41;
        sort_more(v, 40);
        sort_last(v, 30);
    }
    for (int i = 0; i < 40; i++)
        sum += middle(i) + (again(i % 5) > 0);
    printf("%d\n", (sum > 5) + v[9]);
    return 0;
}
