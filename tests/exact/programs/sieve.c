/* SPDX-License-Identifier: Apache-2.0 */
/* Integer loops: a sieve, Collatz lengths, a linear congruential shuffle. */
#include <stdio.h>

#ifdef SMALL
#define N 8000
#else
#define N 200000
#endif

static unsigned char composite[N + 1];
static unsigned order[4096];

__attribute__((noinline)) static unsigned sieve(void)
{
    unsigned count = 0;
    for (unsigned i = 2; i <= N; i++) {
        if (composite[i])
            continue;
        count++;
        for (unsigned long j = (unsigned long)i * i; j <= N; j += i)
            composite[j] = 1;
    }
    return count;
}

__attribute__((noinline)) static unsigned collatz(unsigned limit, unsigned *where)
{
    unsigned best = 0;
    for (unsigned i = 1; i < limit; i++) {
        unsigned steps = 0;
        for (unsigned long n = i; n != 1; steps++)
            n = n & 1 ? 3 * n + 1 : n / 2;
        if (steps > best) {
            best = steps;
            *where = i;
        }
    }
    return best;
}

__attribute__((noinline)) static unsigned long shuffle(unsigned n)
{
    unsigned long state = 12345, sum = 0;
    for (unsigned i = 0; i < n; i++)
        order[i] = i;
    for (unsigned i = n - 1; i > 0; i--) {
        state = state * 6364136223846793005ul + 1442695040888963407ul;
        unsigned j = (unsigned)(state >> 33) % (i + 1), t = order[i];
        order[i] = order[j];
        order[j] = t;
    }
    for (unsigned i = 0; i < n; i++)
        sum = sum * 31 + order[i];
    return sum;
}

int main(void)
{
    unsigned where = 0, steps, primes = sieve();
    steps = collatz(N / 20, &where);
    printf("%u %u %u %lx\n", primes, where, steps, shuffle(4096));
    return 0;
}
