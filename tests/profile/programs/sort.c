/* SPDX-License-Identifier: Apache-2.0 */
/* Quicksort and a heap of its own, with a comparison through a pointer. */
#include <stdio.h>
#define NOINLINE __attribute__((noinline))
static long a[300], h[300];
typedef long compare(const long *, const long *);
static NOINLINE long up(const long *x, const long *y) { return *x < *y; }
static NOINLINE long down(const long *x, const long *y) { return *x > *y; }
static NOINLINE void swap(long *x, long *y) { long t = *x; *x = *y; *y = t; }
static NOINLINE void quick(long *v, long n, compare *less)
{
    long last = 0;
    if (n < 2)
        return;
    swap(&v[0], &v[n / 2]);
    for (long i = 1; i < n; i++)
        if (less(&v[i], &v[0]))
            swap(&v[++last], &v[i]);
    swap(&v[0], &v[last]);
    quick(v, last, less);
    quick(v + last + 1, n - last - 1, less);
}
static NOINLINE void sift(long i, long n)
{
    long c = 2 * i + 1;
    if (c >= n)
        return;
    if (c + 1 < n && down(&h[c + 1], &h[c]))
        c++;
    if (down(&h[c], &h[i])) {
        swap(&h[c], &h[i]);
        sift(c, n);
    }
}
static NOINLINE void heap(long n)
{
    for (long i = n; i-- > 0;)
        sift(i, n);
    for (long i = n; i-- > 1;) {
        swap(&h[0], &h[i]);
        sift(0, i);
    }
}
int main(void)
{
    long sum = 0;
    for (long i = 0; i < 300; i++)
        a[i] = h[i] = i * 7919 % 1009;
    quick(a, 300, up);
    heap(300);
    for (long i = 0; i < 300; i++)
        sum += a[i] == h[i];
    quick(a, 300, down);
    printf("%ld %ld\n", sum, a[0]);
    return 0;
}
