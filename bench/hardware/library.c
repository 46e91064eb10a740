/* SPDX-License-Identifier: Apache-2.0 */
/* The C library: strings, numbers as text, sorting, allocation. */
#include "kernels.h"

static uint64_t copies(void)
{
    static char from[4096], to[4096];
    uint64_t sum = 0;
    memset(from, 'x', sizeof from);
    for (size_t n = 1; n < sizeof from; n += 1 + n / 8) {
        memcpy(to, from, n);
        memmove(to + 1, to, n - 1);
        sum += (unsigned char)to[n / 2];
    }
    return sum;
}

static uint64_t text(void)
{
    static char line[400];
    uint64_t sum = 0;
    for (int i = 0; i < 40; i++) {
        line[0] = 0;
        for (int k = 0; k < 12; k++)
            strcat(line, k & 1 ? "hello\n" : "and more of it ");
        sum += strlen(line) + (size_t)(strchr(line, 'h') - line) + (size_t)(strstr(line, "lo\nand") - line);
        sum += strcmp(line, "and more of it hello") > 0;
    }
    return sum;
}

static uint64_t tokens(void)
{
    char line[] = "the quick brown fox jumps over the lazy dog; 12 boxes, 3.5 dozen jugs";
    uint64_t sum = 0;
    for (char *word = strtok(line, " ;,"); word; word = strtok(NULL, " ;,"))
        sum += strlen(word) + (uint64_t)strtod(word, NULL);
    return sum;
}

static uint64_t prints(void)
{
    char out[200];
    uint64_t sum = 0;
    for (int i = 0; i < 20; i++) {
        snprintf(out, sizeof out, "%d %s %5.3f %08x %ld", i, "name", i * 1.5, i * 77, i * 1234567L);
        sum += strlen(out) + (unsigned char)out[i % 8];
    }
    return sum;
}

static int by_value(const void *x, const void *y)
{
    const int a = *(const int *)x, b = *(const int *)y;
    return (a > b) - (a < b);
}

static uint64_t sorting(void)
{
    static int values[1000];
    uint64_t seed = 21;
    for (int i = 0; i < 1000; i++)
        values[i] = (int)(bench_random(&seed) >> 40);
    qsort(values, 1000, sizeof *values, by_value);
    return (uint64_t)(unsigned)values[500];
}

static uint64_t blocks(void)
{
    static void *kept[256];
    uint64_t seed = 22, sum = 0;
    for (int i = 0; i < 3000; i++) {
        const uint64_t r = bench_random(&seed);
        void **at = &kept[r >> 20 & 255];
        free(*at);
        *at = malloc(16 + (r >> 32 & 511));
        *(uint64_t *)*at = r;
        sum += *(uint64_t *)*at & 7;
    }
    for (int i = 0; i < 256; i++) {
        free(kept[i]);
        kept[i] = NULL;
    }
    return sum;
}

static uint64_t growing(void)
{
    uint64_t sum = 0;
    for (int round = 0; round < 20; round++) {
        uint32_t *v = NULL;
        size_t room = 0;
        for (size_t n = 0; n < 1000; n++) {
            if (n == room) {
                room = room ? 2 * room : 4;
                v = realloc(v, room * sizeof *v);
            }
            v[n] = (uint32_t)n;
        }
        sum += v[999];
        free(v);
    }
    return sum;
}

KERNELS({"copies", copies}, {"text", text}, {"tokens", tokens}, {"prints", prints}, {"sorting", sorting},
    {"blocks", blocks}, {"growing", growing})
