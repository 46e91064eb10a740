/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the C library's functions do to memory, of every alignment and length, between calls of compiled code: copies that run into the
 * next line, strings, sorting with a comparison of the program's, formatted output.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BYTES = 9000, KEYS = 400 };

static uint64_t seed = 1;

static unsigned number(unsigned n)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(seed >> 33) % n;
}

static int compare(const void *a, const void *b)
{
    return strcmp(a, b);
}

static int compare_words(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
    const int rounds = argc > 1 ? atoi(argv[1]) : 3;
    static char a[BYTES + 200], b[BYTES + 200], keys[KEYS][12];
    static uint64_t words[KEYS];
    unsigned long sum = 0;
    for (int r = 0; r < rounds; r++) {
        for (unsigned i = 0; i < 300; i++) {
            const unsigned from = number(BYTES / 2), to = number(BYTES / 2), n = number(3) ? number(70) : number(BYTES / 2);
            memset(a + from, 'a' + (int)(i % 26), n);
            a[from + n] = 0;
            sum += strlen(a + from);
            memcpy(b + to, a + from, n + 1);
            memmove(b + to + 3, b + to, n);
            sum += (unsigned)(memcmp(a + from, b + to, n) != 0) + (unsigned)(strchr(a + from, 'z') != NULL);
            strncpy(b + to, a + from, number(40) + 1);
        }
        for (unsigned i = 0; i < KEYS; i++) {
            snprintf(keys[i], sizeof keys[i], "k%u.%u", number(1000), i);
            words[i] = (uint64_t)number(1000000) << 20;
        }
        qsort(keys, KEYS, sizeof keys[0], compare);
        qsort(words, KEYS, sizeof words[0], compare_words);
        for (unsigned i = 0; i < KEYS; i++)
            sum = sum * 31 + (unsigned char)keys[i][2] + (unsigned long)(words[i] >> 20);
    }
    printf("%lu\n", sum);
    return 0;
}
