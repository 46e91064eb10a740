/* SPDX-License-Identifier: Apache-2.0 */
/* Jumps and calls by name, register and memory. Printed: how many calls came to each of the functions. */
#include <stdio.h>

enum { ROUNDS = 3000 };
typedef unsigned (*operation)(unsigned);
static unsigned came[3];

__attribute__((noinline)) static unsigned add(unsigned x)
{
    came[0]++;
    return x + 1;
}

__attribute__((noinline)) static unsigned twice(unsigned x)
{
    came[1]++;
    return 2 * x;
}

__attribute__((noinline)) static unsigned flip(unsigned x)
{
    came[2]++;
    return ~x;
}

static const operation table[] = {add, twice, flip};
static operation volatile chosen = twice;

__attribute__((noinline)) static unsigned by_memory(unsigned x)
{
    return table[x % 3](x) + 1; /* a call of what lies in a table */
}

__attribute__((noinline)) static unsigned by_register(unsigned x, operation f)
{
    return f(f(x)) + 1;
}

__attribute__((noinline)) static unsigned by_jump(unsigned x)
{
    return table[x % 3](x); /* the last call: a jump */
}

__attribute__((noinline)) static unsigned by_switch(unsigned x)
{
    switch (x % 7) {
    case 0:
        return add(x) * 3;
    case 1:
        return x ^ 5;
    case 2:
        return twice(x) - 9;
    case 3:
        return x << 3;
    case 4:
        return flip(x) + 11;
    case 5:
        return x >> 2;
    }
    return x;
}

int main(void)
{
    unsigned x = 1;

    for (int i = 0; i < ROUNDS; i++) {
        x = by_memory(x) * 2654435761u;
        x = by_register(x, i & 1 ? add : flip);
        x = by_jump(x) * 2654435761u;
        x = by_switch(x);
        x = chosen(x) + (unsigned)i;
    }
    printf("%u %u %u %u\n", came[0], came[1], came[2], x);
    return 0;
}
