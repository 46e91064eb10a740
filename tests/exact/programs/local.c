/* SPDX-License-Identifier: Apache-2.0 */
/* Thread-local variables of several models, through pointers and in arrays. */
#include <stdio.h>

#ifdef SMALL
#define SHARE 4 /* Valgrind is slow */
#else
#define SHARE 1
#endif

_Thread_local int counter = 5;
_Thread_local long history[64];
static _Thread_local struct { int a; double b; char name[16]; } state = {1, 2.5, "local"};
static __thread unsigned long seed = 7;
__thread int exact __attribute__((tls_model("initial-exec"))) = 3;

__attribute__((noinline)) static unsigned long next(void)
{
    seed = seed * 6364136223846793005ul + 1;
    return seed >> 40;
}

__attribute__((noinline)) int bump(int by)
{
    counter += by;
    exact ^= counter;
    history[counter & 63] += by;
    return counter;
}

__attribute__((noinline)) int *where(void)
{
    return &counter;
}

int main(void)
{
    long sum = 0;
    for (int i = 0; i < 20000 / SHARE; i++) {
        sum += bump((int)(next() & 15));
        state.a += i;
        state.b *= 1.0001;
        state.name[i & 15] ^= 1;
        if (i % 100 == 0)
            *where() = i;
    }
    for (int i = 0; i < 64; i++)
        sum += history[i];
    printf("%ld %d %.6g %d %d\n", sum, state.a, state.b, state.name[3], exact);
    return 0;
}
