/* SPDX-License-Identifier: Apache-2.0 */
/* Indirect functions whose resolvers run before any constructor, and function versions by processor. */
#include <stdio.h>

static int plain_add(int a, int b) { return a + b; }
static int other_add(int a, int b) { return a + b + 1000; }

static int wanted(void)
{
    int sum = 0;
    for (volatile int i = 0; i < 10; i++)
        sum += i;
    return sum == 45;
}

int (*resolve_add(void))(int, int);
int (*resolve_add(void))(int, int)
{
    return wanted() ? plain_add : other_add;
}
int add(int a, int b) __attribute__((ifunc("resolve_add")));

__attribute__((target_clones("avx2", "default"))) int sum(const int *v, int n)
{
    int s = 0;
    for (int i = 0; i < n; i++)
        s += v[i] * 3;
    return s;
}

__attribute__((target("default"))) static int which(void) { return 1; }
__attribute__((target("sse4.2"))) static int which_special(int x) { return __builtin_popcount((unsigned)x); }

int main(void)
{
    int values[200], total = 0;
    for (int i = 0; i < 200; i++)
        values[i] = i;
    for (int i = 0; i < 100; i++)
        total = add(total, sum(values, i));
    printf("%d %d %d\n", total, which(), which_special(255));
    return 0;
}
