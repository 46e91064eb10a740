/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A recorded program that runs plainly: each thread but the first has a control page and a ring of its own, as soon as it has
 * recorded enough.  Prints what it finds.  own_rings THREADS ROUNDS
 */
#include <asm/prctl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { MOST = 64 };
static unsigned long bases[MOST];
static pthread_barrier_t ready;

static unsigned long base(void)
{
    unsigned long gs = 0;
    syscall(SYS_arch_prctl, ARCH_GET_GS, &gs);
    return gs;
}

static int collatz(unsigned long n)
{
    int steps = 0;
    for (; n != 1; steps++)
        n = n & 1 ? 3 * n + 1 : n / 2;
    return steps;
}

static void *work(void *arg)
{
    long sum = 0;
    for (unsigned long i = 1; i < 20000; i++)
        sum += collatz(i);
    bases[(long)arg] = base();
    pthread_barrier_wait(&ready);
    return (void *)sum;
}

static int maps(void)
{
    int lines = 0, c;
    FILE *f = fopen("/proc/self/maps", "r");
    while ((c = getc(f)) != EOF)
        lines += c == '\n';
    fclose(f);
    return lines;
}

int main(int argc, char **argv)
{
    const int n = atoi(argv[1]), rounds = atoi(argv[2]);
    int own = 0, equal = 0, before = 0;
    for (int r = 0; r < rounds; r++) {
        pthread_t threads[MOST];
        void *sum, *first = NULL;
        pthread_barrier_init(&ready, NULL, (unsigned)n);
        for (long i = 0; i < n; i++)
            pthread_create(&threads[i], NULL, work, (void *)i);
        for (int i = 0; i < n; i++) {
            pthread_join(threads[i], &sum);
            first = first ? first : sum;
            if (sum != first)
                abort();
        }
        for (int i = 0; i < n; i++) {
            own += bases[i] != 0;
            for (int j = 0; j < i; j++)
                equal += bases[i] && bases[i] == bases[j];
        }
        if (r == 0)
            before = maps();
    }
    printf("own %d equal %d main %lx more %d\n", own, equal, base(), maps() - before > 3 * n);
}
