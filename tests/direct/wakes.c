/* SPDX-License-Identifier: Apache-2.0 */
/* wakes.c SEED THREADS ROUNDS: threads that wake each other at the very times at which others begin something: two locks, a barrier, words that share
 * lines; copies and fields that lie in two lines, which machines take without machine code. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 16, WORDS = 64, BYTES = 4096, RECORDS = 200 };

static uint32_t words[WORDS];
static unsigned char bytes[BYTES];
static double numbers[1024];
static struct { char c[56]; long l; } __attribute__((packed)) records[RECORDS];
static pthread_mutex_t locks[2] = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER };
static pthread_barrier_t barrier;
static unsigned rounds, seed;

__attribute__((noinline)) static uint32_t guarded(uint32_t x, uint32_t me)
{
    pthread_mutex_lock(&locks[x % 2]);
    for (unsigned i = 0; i < 48; i++)
        words[i] ^= x;
    pthread_mutex_unlock(&locks[x % 2]);
    for (unsigned i = 0; i < 17; i++) {
        words[me % WORDS]++;
        words[(me + 1) % WORDS]++;
    }
    return x * 2654435761u + me;
}

__attribute__((noinline)) static uint32_t copies(uint32_t x, uint32_t me)
{
    memcpy(bytes + x % 1024, bytes + x % 2048, 19 + x % 50);
    memset(bytes + x * 3 % 1024, (int)x, 21);
    records[(x + me) % RECORDS].l += x;
    x += (uint32_t)records[x % RECORDS].c[0];
    for (unsigned i = 0; i < 47; i++)
        numbers[(me * 64 + i) % 1024] = numbers[i] * 0.5 + x;
    for (unsigned i = 0; i < 23; i++)
        x += words[(x + i * 7) % WORDS];
    return x * 2654435761u + me;
}

static void *work(void *number)
{
    const uint32_t me = (uint32_t)(uintptr_t)number;
    uint32_t x = me * 77 + seed;

    for (unsigned r = 0; r < rounds; r++) {
        x = guarded(x, me);
        x = r % 4 == seed % 4 ? copies(x, me) : guarded(x, me);
        if (r % 3 == 0)
            pthread_barrier_wait(&barrier);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];
    const unsigned n = argc > 2 ? (unsigned)atoi(argv[2]) : 5;
    uint32_t sum = 0;

    seed = argc > 1 ? (unsigned)atoi(argv[1]) : 0;
    rounds = argc > 3 ? (unsigned)atoi(argv[3]) : 25;
    if (n > THREADS)
        return 2;
    pthread_barrier_init(&barrier, NULL, n);
    for (unsigned i = 0; i < n; i++)
        pthread_create(&threads[i], NULL, work, (void *)(uintptr_t)i);
    for (unsigned i = 0; i < n; i++)
        pthread_join(threads[i], NULL);
    for (unsigned i = 0; i < WORDS; i++)
        sum = sum * 31 + words[i];
    printf("%u\n", sum);
    return 0;
}
