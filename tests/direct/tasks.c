/* SPDX-License-Identifier: Apache-2.0 */
/* tasks.c SEED THREADS ROUNDS: OpenMP tasks of all kinds, and initialisation that is over: what observers are told of in notes, which nobody
 * wants to know where nobody looks. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { WORDS = 64, CHAINS = 8 };

static unsigned words[WORDS], chains[CHAINS];
static unsigned long sum;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void begin(void)
{
    words[0] = 1;
}

static unsigned next(unsigned long *seed)
{
    *seed = *seed * 6364136223846793005ul + 1442695040888963407ul;
    return (unsigned)(*seed >> 33);
}

__attribute__((noinline)) static void work(unsigned n)
{
    unsigned x = 0;
    pthread_once(&once, begin);
    for (unsigned i = 0; i < n; i++) {
        x = x * 31 + i;
        words[(x + n) % WORDS] = x ^ n; /* a race, whose outcome is in no result */
    }
    pthread_once(&once, begin);
    __atomic_fetch_add(&sum, x, __ATOMIC_RELAXED);
}

static void tree(int depth, unsigned long seed)
{
    if (!depth) {
        work(next(&seed) % 150);
        return;
    }
    for (int i = 0; i < 3; i++) {
        unsigned long own = seed + (unsigned long)i * 77;
        const unsigned deferred = next(&own) % 4;
#pragma omp task firstprivate(own) if (deferred)
        tree(depth - 1, own);
    }
    if (next(&seed) % 2) {
#pragma omp taskwait
    } else {
#pragma omp taskgroup
        {
#pragma omp task untied firstprivate(seed)
            work(next(&seed) % 100);
        }
    }
}

int main(int argc, char **argv)
{
    unsigned long seed = argc > 1 ? strtoul(argv[1], NULL, 10) : 1;
    const int threads = argc > 2 ? atoi(argv[2]) : 4, rounds = argc > 3 ? atoi(argv[3]) : 40;
#pragma omp parallel num_threads(threads)
    {
#pragma omp single
        {
            tree(3, seed);
            for (int i = 0; i < rounds; i++) {
                const unsigned chain = next(&seed) % CHAINS, n = next(&seed) % 200;
#pragma omp task depend(inout : chains[chain]) firstprivate(chain, n)
                {
                    chains[chain]++;
                    work(n);
                }
            }
#pragma omp taskloop grainsize(3)
            for (int i = 0; i < rounds; i++)
                work((unsigned)i);
        }
#pragma omp for schedule(dynamic)
        for (int i = 0; i < rounds; i++) {
#pragma omp task priority(i & 3)
            work((unsigned)i);
        }
    }
    for (int i = 0; i < CHAINS; i++)
        sum += chains[i];
    printf("%lu\n", sum);
    return 0;
}
