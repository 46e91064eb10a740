/* SPDX-License-Identifier: Apache-2.0 */
/* longjmp() over several frames, again and again. */
#include <setjmp.h>
#include <stdio.h>
#define NOINLINE __attribute__((noinline))
static jmp_buf place;
static NOINLINE long leaf(long n) { if (n % 3 == 0) longjmp(place, 1); return n; }
static NOINLINE long middle(long n) { return leaf(n) + leaf(n + 1) + 1; }
static NOINLINE long outer(long n) { return middle(n) * 2; }
static NOINLINE long after(long n) { return n + 5; }
static NOINLINE long guarded(long n)
{
    volatile long result = 0;
    if (setjmp(place) == 0)
        result = outer(n);
    else
        result = after(n);
    return result;
}
int main(void)
{
    long sum = 0;
    for (long i = 0; i < 12; i++)
        sum += guarded(i) + after(i);
    printf("%ld\n", sum);
    return 0;
}
