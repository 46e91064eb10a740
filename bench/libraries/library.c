/* SPDX-License-Identifier: Apache-2.0 */
/* Programs that live in the C library: library WORK ROUNDS.  Prints one line, a sum of what was computed. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t allocate(long rounds)
{
    static uint64_t *kept[512];
    uint64_t r = 1, sum = 0;
    for (long i = 0; i < rounds; i++) {
        r = r * 6364136223846793005u + 1442695040888963407u;
        uint64_t **at = &kept[r >> 50 & 511];
        free(*at);
        *at = malloc(16 + (r >> 32 & 1023));
        **at = r;
        sum += **at >> 60;
    }
    return sum;
}

static uint64_t print(long rounds)
{
    char text[200];
    uint64_t sum = 0;
    for (long i = 0; i < rounds; i++)
        sum += (uint64_t)snprintf(text, sizeof text, "%ld %s %5.3f %08lx", i, "name", (double)i * 1.5, i * 77) +
            (unsigned char)text[i & 7];
    return sum;
}

static uint64_t power(long rounds)
{
    double sum = 0;
    for (long i = 1; i <= rounds; i++)
        sum += pow(1 + (double)(i & 1023) * 1e-3, 1.5 + (double)(i & 15));
    return (uint64_t)sum;
}

static uint64_t waves(long rounds)
{
    double sum = 0;
    for (long i = 1; i <= rounds; i++)
        sum += sin((double)i * 1e-3) * exp(-(double)(i & 63));
    return (uint64_t)(sum * 1e6);
}

static uint64_t strings(long rounds)
{
    static char line[400];
    uint64_t sum = 0;
    for (long i = 0; i < rounds; i++) {
        line[0] = 0;
        for (int k = 0; k < 12; k++)
            strcat(line, k & 1 ? "hello\n" : "and more of it ");
        sum += strlen(line) + (size_t)(strchr(line, 'h') - line) + (size_t)(strstr(line, "lo\nand") - line);
        sum += strcmp(line, "and more of it hello") > 0;
    }
    return sum;
}

static int by_value(const void *x, const void *y)
{
    const int a = *(const int *)x, b = *(const int *)y;
    return (a > b) - (a < b);
}

static uint64_t sort(long rounds)
{
    static int values[1000];
    uint64_t r = 21, sum = 0;
    for (long i = 0; i < rounds; i++) {
        for (int k = 0; k < 1000; k++)
            values[k] = (int)((r = r * 6364136223846793005u + 1442695040888963407u) >> 40);
        qsort(values, 1000, sizeof *values, by_value);
        sum += (unsigned)values[500];
    }
    return sum;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        uint64_t (*work)(long rounds);
    } works[] = {
        {"malloc", allocate}, {"printf", print}, {"pow", power}, {"sin", waves}, {"strings", strings}, {"qsort", sort}};
    for (size_t k = 0; argc == 3 && k < sizeof works / sizeof *works; k++)
        if (strcmp(argv[1], works[k].name) == 0) {
            printf("%s %llu\n", argv[1], (unsigned long long)works[k].work(strtol(argv[2], NULL, 10)));
            return 0;
        }
    fprintf(stderr, "usage: library malloc|printf|pow|sin|strings|qsort ROUNDS\n");
    return 2;
}
