/* SPDX-License-Identifier: Apache-2.0 */
/* setjmp and longjmp: out of nested calls, back into a loop, sigsetjmp without the mask. */
#include <setjmp.h>
#include <stdio.h>

static jmp_buf top, inner;
static long depth_sum;

__attribute__((noinline)) static void dive(int depth, int value)
{
    volatile int here[8] = {depth};
    depth_sum += here[depth & 7] + depth;
    if (depth == 0)
        longjmp(top, value);
    dive(depth - 1, value);
    depth_sum += 1000000;
}

__attribute__((noinline)) static int retry(int n)
{
    volatile int tries = 0;
    int r = _setjmp(inner);
    tries++;
    if (r < n)
        _longjmp(inner, r + 1);
    return tries;
}

__attribute__((noinline)) static int parse(const char *s)
{
    int sum = 0;
    for (; *s; s++) {
        if (*s < '0' || *s > '9')
            longjmp(inner, *s);
        sum = sum * 10 + *s - '0';
    }
    return sum;
}

int main(void)
{
    static const char *const inputs[] = {"123", "45x", "9", "?", "77777"};
    volatile long total = 0, errors = 0;
    for (volatile int i = 0; i < 400; i++) {
        int r = setjmp(top);
        if (r == 0)
            dive(i % 20, i + 1);
        total += r;
        total += retry(i % 7);
        r = sigsetjmp(inner, 0);
        if (r == 0)
            total += parse(inputs[i % 5]);
        else
            errors += r;
    }
    printf("%ld %ld %ld\n", total, errors, depth_sum);
    return 0;
}
