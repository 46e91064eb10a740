/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads that live in libraries: sorting with a comparison of the program's, allocation, formatted output and numbers read
 * back.  What comes after what changes from phase to phase, and they meet at locks of which each phase has others.
 *
 *     paths SEED THREADS ROUNDS
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 64, LOCKS = 4, KEYS = 48, PHASES = 5 };

static int threads, rounds;
static uint64_t seed, sums[LOCKS];
static pthread_mutex_t locks[LOCKS];
static pthread_barrier_t all;

struct own {
    pthread_t thread;
    uint64_t state;
};

static unsigned number(struct own *o, unsigned n)
{
    o->state = o->state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(o->state >> 33) % n;
}

static int up(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static int down(const void *a, const void *b)
{
    return up(b, a);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static uint64_t sort(struct own *o, unsigned phase)
{
    uint32_t keys[KEYS];
    const unsigned n = 2 + number(o, KEYS - 2);
    for (unsigned k = 0; k < n; k++)
        keys[k] = number(o, 1000);
    qsort(keys, n, sizeof keys[0], phase & 1 ? up : down);
    return keys[0] + 3 * (uint64_t)keys[n - 1];
}

static uint64_t names(struct own *o, unsigned phase)
{
    char *names[KEYS];
    const unsigned n = 1 + number(o, 12);
    uint64_t sum = 0;
    for (unsigned k = 0; k < n; k++) {
        const size_t size = 16 + number(o, phase == 2 ? 3000 : 60);
        names[k] = malloc(size);
        snprintf(names[k], size, phase & 1 ? "%u.%03x" : "%5.2f", number(o, 900), number(o, 4000));
    }
    qsort(names, n, sizeof names[0], by_name);
    for (unsigned k = 0; k < n; k++) {
        sum = sum * 31 + (uint64_t)(strtod(names[k], NULL) * 8) + strlen(names[k]);
        free(names[k]);
    }
    return sum;
}

static void *work(void *arg)
{
    struct own *const o = arg;
    for (unsigned phase = 0; phase < PHASES; phase++) {
        for (int r = 0; r < rounds; r++) {
            const uint64_t sum = number(o, PHASES) < phase ? sort(o, phase) : names(o, phase);
            const unsigned at = (number(o, 2) + phase) % LOCKS;
            pthread_mutex_lock(&locks[at]);
            sums[at] = sums[at] * 17 + sum;
            pthread_mutex_unlock(&locks[at]);
        }
        pthread_barrier_wait(&all);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    static struct own own[THREADS];
    if (argc != 4)
        return 2;
    seed = strtoul(argv[1], NULL, 10), threads = atoi(argv[2]), rounds = atoi(argv[3]);
    if (threads < 1 || threads > THREADS)
        return 2;
    pthread_barrier_init(&all, NULL, (unsigned)threads);
    for (int k = 0; k < LOCKS; k++)
        pthread_mutex_init(&locks[k], NULL);
    for (int k = 0; k < threads; k++) {
        own[k].state = seed * 977 + (uint64_t)k;
        if (pthread_create(&own[k].thread, NULL, work, &own[k]) != 0)
            return 2;
    }
    for (int k = 0; k < threads; k++)
        pthread_join(own[k].thread, NULL);
    for (int k = 0; k < LOCKS; k++)
        printf("%016llx\n", (unsigned long long)sums[k]);
    return 0;
}
