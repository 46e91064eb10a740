/* SPDX-License-Identifier: Apache-2.0 */
/* Handlers of faults that wait for one another, each on a stack of its own, or of its thread, and return or jump out. */
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { THREADS = 4, ROUNDS = 24, BYTES = 1 << 15 };
static pthread_barrier_t barrier;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static char *page[THREADS];
static __thread int me, round;
static __thread char *own;
static __thread sigjmp_buf out;
static int wrong, returned, jumped, nested;

static void count(int *what)
{
    pthread_mutex_lock(&mutex);
    ++*what;
    pthread_mutex_unlock(&mutex);
}

static void handler(int signal, siginfo_t *info, void *context)
{
    const ucontext_t *uc = context;
    volatile char here[600];
    for (unsigned i = 0; i < sizeof here; i++)
        here[i] = (char)(me * 50 + round);
    const int there = own && (char *)here >= own && (char *)here < own + BYTES;
    if (there != (own != NULL) || (own && uc->uc_stack.ss_sp != own))
        count(&wrong);
    pthread_barrier_wait(&barrier);
    if (signal == SIGUSR1) {
        count(&nested);
        return;
    }
    if (round % 3 == 0)
        raise(SIGUSR1);
    else
        pthread_barrier_wait(&barrier);
    for (unsigned i = 0; i < sizeof here; i++)
        if (here[i] != (char)(me * 50 + round)) {
            count(&wrong);
            break;
        }
    if (round % 2) {
        count(&jumped);
        siglongjmp(out, 1);
    }
    mprotect(page[me], 4096, PROT_READ | PROT_WRITE);
    count(&returned);
    (void)info;
}

static void *run(void *arg)
{
    me = (int)(long)arg;
    if (me != 2) { /* this one has none */
        own = malloc(BYTES);
        const stack_t stack = {.ss_sp = own, .ss_size = BYTES};
        if (sigaltstack(&stack, NULL) != 0)
            count(&wrong);
    }
    for (round = 0; round < ROUNDS; round++) {
        mprotect(page[me], 4096, PROT_NONE);
        if (sigsetjmp(out, 1) == 0)
            *(volatile char *)page[me] = 1;
    }
    stack_t none = {.ss_flags = SS_DISABLE}, old;
    sigaltstack(&none, &old);
    if (own && (old.ss_sp != own || old.ss_flags != 0))
        count(&wrong);
    free(own);
    return NULL;
}

int main(void)
{
    struct sigaction action = {.sa_flags = SA_SIGINFO | SA_ONSTACK};
    pthread_t threads[THREADS];
    action.sa_sigaction = handler;
    sigaction(SIGSEGV, &action, NULL);
    sigaction(SIGUSR1, &action, NULL);
    pthread_barrier_init(&barrier, NULL, THREADS);
    for (long i = 0; i < THREADS; i++) {
        page[i] = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        pthread_create(&threads[i], NULL, run, (void *)i);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    printf("%d wrong, %d returned, %d jumped out, %d nested\n", wrong, returned, jumped, nested);
    return 0;
}
