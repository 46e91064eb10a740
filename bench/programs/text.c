/* SPDX-License-Identifier: Apache-2.0 */
/*
 * text WORDS ROUNDS: builds a text, splits it, counts its words in a chained table, formats the most frequent ones.
 * Strings: much of the work is in the C library's functions, which are not instrumented.
 */
#include <ctype.h>
#include "common.h"

struct word {
    struct word *next;
    unsigned long count;
    char text[16];
};

static struct word *buckets[4096];

static unsigned hash_of(const char *text)
{
    unsigned h = 5381;
    for (; *text; text++)
        h = h * 33 + (unsigned char)*text;
    return h % 4096;
}

static void count_word(const char *text)
{
    struct word **link = &buckets[hash_of(text)];
    for (; *link; link = &(*link)->next)
        if (strcmp((*link)->text, text) == 0) {
            (*link)->count++;
            return;
        }
    *link = bench_alloc(1, sizeof **link);
    (*link)->count = 1;
    strncpy((*link)->text, text, sizeof(*link)->text - 1);
}

static unsigned long split(char *text)
{
    unsigned long words = 0;
    for (char *p = text; *p;) {
        while (*p && !isalpha((unsigned char)*p))
            p++;
        char *start = p;
        for (; isalpha((unsigned char)*p); p++)
            *p = (char)tolower((unsigned char)*p);
        if (p == start)
            break;
        char end = *p;
        *p = 0;
        count_word(start);
        words++;
        *p = end;
    }
    return words;
}

int main(int argc, char **argv)
{
    long n = bench_arg(argc, argv, 1, 200000, 1, 50000000), rounds = bench_arg(argc, argv, 2, 25, 1, 100000);
    char *text = bench_alloc((size_t)n * 12 + 1, 1), *copy = bench_alloc((size_t)n * 12 + 1, 1);
    uint64_t random = 13, hash = 0;
    char *end = text;
    for (long i = 0; i < n; i++) {
        unsigned kind = (unsigned)((bench_random(&random) >> 52) * (bench_random(&random) >> 52) >> 14);
        char letters[8] = {0};
        for (unsigned k = 0, v = kind * 2654435761u; k < 3 + kind % 5; k++, v = v * 69069 + 1)
            letters[k] = (char)((k ? 'a' : 'A') + (v >> 16) % 26);
        end += sprintf(end, "%s%s", letters, kind % 7 ? " " : ", ");
    }
    unsigned long words = 0;
    bench_lap();
    for (long r = 0; r < rounds; r++) {
        bench_lap();
        strcpy(copy, text);
        words += split(copy);
    }
    if (words != (unsigned long)(n * rounds))
        bench_wrong("number of words");
    unsigned long total = 0;
    bench_lap();
    for (int b = 0; b < 4096; b++)
        for (struct word *word = buckets[b], *next; word; word = next) {
            char line[64];
            next = word->next;
            total += word->count;
            for (int k = snprintf(line, sizeof line, "%-16s%8lu", word->text, word->count); k-- > 0;)
                hash = bench_mix(hash, (unsigned char)line[k]);
            free(word);
        }
    if (total != words)
        bench_wrong("sum of the counts");
    bench_print("text", hash);
    free(text), free(copy);
    return 0;
}
