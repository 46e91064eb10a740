/* SPDX-License-Identifier: Apache-2.0 */
/* Strings, memory, numbers as text, sorting with a callback, streams in memory that is already there. */
#include "regions.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char a[4096] __attribute__((aligned(4096))), b[4096] __attribute__((aligned(4096)));
static int numbers[1000];
static unsigned long sum;

static int compare(const void *x, const void *y)
{
    return *(const int *)x - *(const int *)y;
}

static int least_last_digit(const void *key, const void *item)
{
    return *(const int *)key - *(const int *)item;
}

static void work(int rounds)
{
    for (int k = 0; k < 2 * rounds; k++) {
        int n = snprintf(a, sizeof a, "%d %s %08x %.3f %g %c %ld", k, "some text", k * 77, k / 7.0, k * 1e10, 'a' + k % 26, k * 1000000007l);
        memset(b, '.', sizeof b / 4);
        memcpy(b, a, (size_t)n + 1);
        memmove(b + 3, b, (size_t)n + 1);
        sum += strlen(b) + (unsigned long)strcmp(a, b) + strspn(a, "0123456789") + (unsigned long)(strstr(a, "text") - a);
        sum += (unsigned long)(strchr(a, 'x') - a) + strtoul(a, NULL, 10) + (unsigned long)strtod(a + n - 10, NULL) + (unsigned long)toupper(a[3]);
        char *rest, *word = strtok_r(b, " ", &rest);
        for (; word; word = strtok_r(NULL, " ", &rest))
            sum += (unsigned char)word[0];
    }
    for (int k = 0; k < 10 * rounds; k++)
        numbers[k] = k * 7919 % 1009;
    qsort(numbers, (size_t)rounds * 5, sizeof *numbers, compare);
    for (int k = 0; k < 2 * rounds; k++)
        sum += bsearch(&k, numbers, (size_t)rounds * 5, sizeof *numbers, least_last_digit) != NULL;
    sum += (unsigned long)numbers[3];
}

void measured(int rounds)
{
    work(rounds);
}

int main(int argc, char **argv)
{
    MEASURE(argc, argv);
    printf("%lu\n", sum);
    return 0;
}
