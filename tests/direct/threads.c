/* SPDX-License-Identifier: Apache-2.0 */
/* threads.c SEED THREADS ROUNDS: threads that do a random choice of what threads do with shared memory: reading, writing, data races whose
 * outcome decides what comes next, false sharing, locks, atomics, barriers, library calls, loops of all strides.  Prints what came out. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { THREADS = 16, WORDS = 4096, COUNTERS = 64 };

static uint32_t common[WORDS];                   /* read by all, written now and then */
static volatile uint32_t racy[COUNTERS];         /* each access waits for its turn */
static uint32_t careless[COUNTERS];              /* plain data race */
static struct { uint32_t mine, pad; } near[THREADS]; /* false sharing */
static uint64_t guarded[8];
static pthread_mutex_t locks[8] = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER,
    PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER };
static _Atomic uint64_t total;
static pthread_barrier_t barrier;
static unsigned nthreads, rounds;
static uint64_t seed;

struct odd { char c; double d[3]; short s; } __attribute__((packed));

struct self {
    uint64_t random;
    unsigned number;
    uint32_t words[WORDS];
    double a[512], b[512];
    struct odd odd[64];
    char text[300], copy[300];
};

static uint32_t draw(uint64_t *random, uint32_t below)
{
    *random = *random * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((*random >> 33) % below);
}

static __attribute__((noinline)) uint32_t deep(struct self *s, uint32_t n)
{
    volatile uint32_t here = n;
    uint32_t below = n ? deep(s, n - 1) : 0;

    return below + here + s->words[n & (WORDS - 1)];
}

static __attribute__((noinline)) void walk(struct self *s, uint32_t n, uint32_t stride)
{
    uint32_t at = draw(&s->random, WORDS), sum = 0;

    for (uint32_t i = 0; i < n; i++, at += stride)
        sum += common[at & (WORDS - 1)] ^ s->words[(at * 3) & (WORDS - 1)];
    s->words[sum & (WORDS - 1)] += sum;
}

static __attribute__((noinline)) void vectors(struct self *s, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        s->a[i] = s->a[i] * 0.5 + s->b[i];
    for (uint32_t i = 1; i + 1 < n; i++)
        s->b[i] = s->a[i - 1] + s->a[i + 1];
}

static __attribute__((noinline)) void cut(struct self *s, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        struct odd *o = &s->odd[(i * 7) & 63];

        o->d[1] += o->d[0] * 0.25 + o->s;
        o->s++;
        o->c ^= (char)i;
    }
}

static __attribute__((noinline)) void spread(struct self *s, uint32_t n)
{
    const uint32_t base = draw(&s->random, WORDS);

    for (uint32_t i = 0; i < n; i++)
        common[(base + i) & (WORDS - 1)] += i;
}

static __attribute__((noinline)) void neighbours(struct self *s, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        near[s->number].mine += i ^ near[s->number].pad;
}

static __attribute__((noinline)) void races(struct self *s, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        uint32_t k = draw(&s->random, COUNTERS), seen = careless[k];

        careless[k] = seen + 1;
        if (seen & 4)
            s->words[seen & (WORDS - 1)]++;
        if ((seen & 31) == 7)
            walk(s, seen & 63, 5);
    }
}

static __attribute__((noinline)) void turns(struct self *s, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        racy[draw(&s->random, COUNTERS)]++;
}

static __attribute__((noinline)) void guard(struct self *s, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        uint32_t k = draw(&s->random, 8);

        pthread_mutex_lock(&locks[k]);
        guarded[k] += i;
        for (uint32_t j = 0; j < (k & 3) * 8; j++)
            guarded[k] ^= common[j];
        pthread_mutex_unlock(&locks[k]);
    }
}

static __attribute__((noinline)) void library(struct self *s, uint32_t n)
{
    memset(s->text, 'a' + (int)(n & 15), n & 255);
    s->text[n & 255] = 0;
    memcpy(s->copy, s->text, sizeof s->copy);
    s->words[strlen(s->copy)]++;
    memcpy(&s->words[n], common, n * sizeof common[0]);
}

static void *run(void *arg)
{
    struct self *s = arg;

    for (unsigned r = 0; r < rounds; r++) {
        const uint32_t n = 1 + draw(&s->random, 120);

        switch (draw(&s->random, 14)) {
        case 0: walk(s, n, 1); break;
        case 1: walk(s, n, 1 + draw(&s->random, 40)); break;
        case 2: vectors(s, n + 2); break;
        case 3: cut(s, n); break;
        case 4: spread(s, n); break;
        case 5: neighbours(s, n * 4); break;
        case 6: races(s, n); break;
        case 7: turns(s, n / 8); break;
        case 8: guard(s, n / 16); break;
        case 9: library(s, n); break;
        case 10: s->words[0] += deep(s, n); break;
        case 11: {
            struct timespec all;

            clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &all); /* of all processors */
            atomic_fetch_add(&total, s->words[n] + (uint64_t)all.tv_nsec);
            break;
        }
        case 12: vectors(s, 510); break;
        default: if (r % 3 == 0) sched_yield(); walk(s, n * 6, 17); break;
        }
        if ((r & 31) == 31 && seed % 3)
            pthread_barrier_wait(&barrier);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];
    struct self *selves;
    uint64_t sum = 0;

    seed = argc > 1 ? strtoull(argv[1], NULL, 0) : 1;
    nthreads = argc > 2 ? (unsigned)atoi(argv[2]) : 4;
    rounds = argc > 3 ? (unsigned)atoi(argv[3]) : 200;
    if (nthreads < 1 || nthreads > THREADS || !(selves = calloc(nthreads, sizeof *selves)))
        return 1;
    for (uint32_t i = 0; i < WORDS; i++)
        common[i] = i * 2654435761u >> 7;
    pthread_barrier_init(&barrier, NULL, nthreads);
    for (unsigned i = 0; i < nthreads; i++) {
        selves[i].random = seed * 0x9e3779b97f4a7c15u + i * 77;
        selves[i].number = i;
        if (i && pthread_create(&threads[i], NULL, run, &selves[i]))
            return 1;
    }
    run(&selves[0]);
    if (seed % 5 == 4 && seed % 3 == 0)
        exit(3); /* with the others under way */
    for (unsigned i = 1; i < nthreads; i++)
        pthread_join(threads[i], NULL);
    for (uint32_t i = 0; i < WORDS; i++)
        sum = sum * 31 + common[i] + selves[i % nthreads].words[i];
    for (uint32_t i = 0; i < COUNTERS; i++)
        sum = sum * 31 + racy[i] + careless[i];
    for (unsigned i = 0; i < THREADS; i++)
        sum = sum * 31 + near[i].mine;
    for (unsigned i = 0; i < 8; i++)
        sum = sum * 31 + guarded[i];
    printf("%llu %llu\n", (unsigned long long)sum, (unsigned long long)total);
    return 0;
}
