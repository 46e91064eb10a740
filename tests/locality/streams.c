/* SPDX-License-Identifier: Apache-2.0 */
/* streams KIND ROUNDS: references of a known nature, for comparisons of estimates with exact counts. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { WORDS = 1 << 19, KINDS = 8 };
static volatile uint64_t words[WORDS] __attribute__((aligned(4096)));
static volatile uint32_t next_of[WORDS / 4];
static uint64_t state = 88172645463325252ull;

static uint64_t number(uint64_t below)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state % below;
}

static void uniform(void)
{
    for (int i = 0; i < 1000000; i++)
        words[number(300001)];
}
/** Small numbers are likelier, as in many tables. */
static void skewed(void)
{
    for (int i = 0; i < 1000000; i++)
        words[4 * number(1 + number(1 + number(100003)))]++;
}
static void scans(void)
{
    for (int i = 0; i < 70001; i++)
        words[i];
    for (int k = 0; k < 5; k++)
        for (int i = 100000; i < 113001; i++)
            words[i] += words[i + 130000];
}
static void search(void)
{
    for (int i = 0; i < 60000; i++) {
        uint64_t low = 0, high = WORDS, wanted = number(WORDS);

        while (high - low > 1) {
            uint64_t middle = (low + high) / 2;

            words[middle];
            *(middle <= wanted ? &low : &high) = middle;
        }
    }
}
static void phases(void)
{
    for (int k = 0; k < 40; k++)
        for (int i = 0; i < 20000; i++)
            words[i % 777]++;
    for (int i = 0; i < 400000; i++)
        words[i]++;
}
static void columns(void)
{
    for (int column = 0; column < 520; column++)
        for (int row = 0; row < 1000; row++)
            words[520 * row + column]++;
}
static void list(void)
{
    uint32_t at = 0;

    for (int i = 0; i < 500000; i++)
        at = next_of[at];
}
/** Neighbourhoods that move slowly. */
static void drift(void)
{
    for (int i = 0; i < 1000000; i++)
        words[(uint64_t)i / 8 + number(9000)];
}

int main(int argc, char **argv)
{
    static void (*const kinds[KINDS])(void) = {uniform, skewed, scans, search, phases, columns, list, drift};
    const int kind = argc > 1 ? atoi(argv[1]) : 0, rounds = argc > 2 ? atoi(argv[2]) : 1;

    for (uint32_t i = 0; i < WORDS / 4; i++)
        next_of[i] = i;
    for (uint32_t i = WORDS / 4 - 1; i > 0; i--) { /* one cycle (Sattolo) */
        uint32_t j = (uint32_t)number(i), was = next_of[i];

        next_of[i] = next_of[j];
        next_of[j] = was;
    }
    for (int round = 0; round < rounds && kind >= 0 && kind < KINDS; round++)
        kinds[kind]();
    return 0;
}
