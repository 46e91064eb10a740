/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A table of costs small enough to be written by hand, as schema/costs_format.h says: opcodes ADD, ADDX and XOR;
 * processors "big" (two ports and a group of them) and "small" (one port, in order).  For the unit test and the fuzzer.
 */
#ifndef PEET_TEST_SMALL_COSTS_H
#define PEET_TEST_SMALL_COSTS_H

#include <stdint.h>
#include <string.h>

enum { SMALL_COSTS_ROOM = 512 };

struct small {
    uint8_t bytes[SMALL_COSTS_ROOM];
    size_t n;
};

/** Numbers below 128 are their own bytes; larger ones, and negative ones, are spelt out where they stand. */
static void small_put(struct small *s, const char *text, const uint8_t *numbers, size_t n)
{
    if (text) {
        s->bytes[s->n++] = (uint8_t)strlen(text);
        memcpy(s->bytes + s->n, text, strlen(text));
        s->n += strlen(text);
    }
    memcpy(s->bytes + s->n, numbers, n);
    s->n += n;
}
#define SMALL(s, text, ...) small_put((s), (text), (const uint8_t[]){__VA_ARGS__}, sizeof(const uint8_t[]){__VA_ARGS__})

static inline size_t small_costs(uint8_t out[SMALL_COSTS_ROOM])
{
    struct small big = {.n = 0}, little = {.n = 0}, all = {.n = 0};

    SMALL(&big, NULL, 6, 0xc8, 1, 5, 14, 8, 72, 64, 0, 0); /* a window of 200 */
    SMALL(&big, NULL, 3);
    SMALL(&big, "P0", 1, 1, 0); /* buffer -1 */
    SMALL(&big, "P1", 1, 0, 0);
    SMALL(&big, "P01", 2, 120, 2, 0, 1); /* buffer 60 */
    SMALL(&big, NULL, 3);
    SMALL(&big, NULL, 1, 1, 0, 0xf4, 3, 1, 2, 0, 1, 2, 1, 2, 0, 0); /* a cycle of either port; throughput 500 */
    /* P0 from cycle 1 to 3 and all of P01; writes after 4 and 1; data may come 5 later, must come 1 earlier */
    SMALL(&big, NULL, 2, 6, 4, 0xe8, 7, 2, 0, 1, 2, 2, 2, 0, 3, 5, 1, 2, 2, 4, 1, 2, 10, 1);
    SMALL(&big, NULL, 1, 0, 1, 42, 0, 0, 0, 0); /* waits for nothing */
    SMALL(&big, NULL, 1, 2, 1);                 /* own costs: ADD, ADDX, XOR */
    SMALL(&big, NULL, 1, 2, 1, 0x80, 2, 3);     /* XOR's variant 256: the third */
    SMALL(&little, NULL, 2, 0, 3, 10, 0, 0, 0, 0, 1);
    SMALL(&little, NULL, 1);
    SMALL(&little, "A", 1, 0, 0);
    SMALL(&little, NULL, 1);
    SMALL(&little, NULL, 1, 1, 0, 0xe8, 7, 1, 0, 0, 1, 2, 0, 0, 0);
    SMALL(&little, NULL, 1, 0, 0); /* ADDX and XOR are not known */
    SMALL(&little, NULL, 0);

    SMALL(&all, "22.1", 3);
    SMALL(&all, NULL, 0);
    SMALL(&all, "ADD", 3);
    SMALL(&all, "X", 0);
    SMALL(&all, "XOR", 2, 2);
    SMALL(&all, "big", 0);
    SMALL(&all, "small", 1, (uint8_t)big.n);
    memcpy(all.bytes + all.n, big.bytes, big.n);
    all.n += big.n;
    SMALL(&all, NULL, (uint8_t)little.n);
    memcpy(all.bytes + all.n, little.bytes, little.n);
    all.n += little.n;
    memcpy(out, "PEETCOST\1\0\0", 12);
    for (unsigned i = 0; i < 4; i++)
        out[12 + i] = (uint8_t)(all.n >> 8 * i);
    memcpy(out + 16, all.bytes, all.n);
    return 16 + all.n;
}

#endif
