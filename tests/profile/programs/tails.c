/* SPDX-License-Identifier: Apache-2.0 */
/* Tail calls: in a chain, in a circle, from inside a recursion, through a pointer. */
#include <stdio.h>
#define NOINLINE __attribute__((noinline))
#define TAIL __attribute__((musttail)) return
static NOINLINE long last(long n) { return n * 3 + 1; }
static NOINLINE long second(long n) { if (n & 1) TAIL last(n + 1); return n; }
static NOINLINE long first(long n) { if (n > 5) TAIL second(n - 1); return -n; }
static NOINLINE long ping(long n);
static NOINLINE long pong(long n) { if (n <= 0) return 7; TAIL ping(n - 1); }
static NOINLINE long ping(long n) { if (n <= 0) return 5; TAIL pong(n - 2); }
static long (*volatile pointer)(long) = last;
static NOINLINE long through(long n) { long (*f)(long) = pointer; TAIL f(n); }
static NOINLINE long tree(long n) { if (n < 3) TAIL first(n + 6); return tree(n - 1) + tree(n - 3) + ping(n); }
int main(void)
{
    long sum = 0;
    for (long i = 0; i < 20; i++)
        sum += first(i) + ping(i) + through(i);
    sum += tree(9);
    printf("%ld\n", sum);
    return 0;
}
