/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What belongs to a thread stays with it, whatever thread ran before and whatever happens to SIGSEGV, by which a thread
 * may come to its own (runtime/contexts/pointer.c): errno, objects of its own, what the C library keeps for it, stack
 * guards.  Each round ends in a lock that another thread has, so that processors change threads.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define REQUIRE(c) \
    do { \
        if (!(c)) { \
            printf("FAILED line %d: %s (errno %d)\n", __LINE__, #c, errno); \
            exit(9); \
        } \
    } while (0)

enum { THREADS = 4, ROUNDS = 60 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t barrier;
static __thread int own, own_faults;
static __thread sigjmp_buf back;
static volatile long shared;
static volatile sig_atomic_t ticks;

static void change(void)
{
    for (int i = 0; i < 5; i++) {
        pthread_mutex_lock(&lock);
        shared++;
        pthread_mutex_unlock(&lock);
    }
}

__attribute__((noinline)) static int guarded(int n)
{
    volatile char text[64];
    for (int i = 0; i < n; i++)
        text[i % 64] = (char)i;
    return text[3];
}

/* One round of thread @me. */
static void use(int me, int round)
{
    const int error = 1 + (me * 7 + round) % 30;
    char text[64], wanted[64];
    errno = error;
    own += me;
    change();
    REQUIRE(errno == error && own == me * (round + 1));
    if (round % 3 == me % 3) {
        REQUIRE(strtol("99999999999999999999", NULL, 10) == 0x7fffffffffffffff && errno == ERANGE);
        change();
        REQUIRE(errno == ERANGE && guarded(70) == 67);
        snprintf(wanted, sizeof wanted, "Unknown error %d", 1000 + me);
        snprintf(text, sizeof text, "%s", strerror(1000 + me));
        REQUIRE(strcmp(text, wanted) == 0);
    }
    if (round % 5 == me) {
        char *const block = malloc((size_t)(24 + me * 8));
        change();
        free(block);
    }
}

static void fault(int signal)
{
    own_faults++;
    siglongjmp(back, signal);
}

static void tick(int signal)
{
    const int before = errno;
    (void)signal;
    ticks++;
    errno = EDOM;
    errno = before;
}

static void meet(void)
{
    pthread_barrier_wait(&barrier);
}

static void *work(void *arg)
{
    const int me = (int)(long)arg;
    sigset_t set;
    int round = 0;
    struct sigaction action;

    for (; round < ROUNDS; round++)
        use(me, round);

    meet(); /* one thread blocks SIGSEGV, another all signals, and the others go on */
    sigfillset(&set);
    if (me == 1)
        sigemptyset(&set), sigaddset(&set, SIGSEGV);
    if (me == 1 || me == 2)
        pthread_sigmask(SIG_BLOCK, &set, NULL);
    for (; round < 2 * ROUNDS; round++)
        use(me, round);
    if (me == 1 || me == 2)
        pthread_sigmask(SIG_UNBLOCK, &set, NULL);

    meet(); /* the program handles SIGSEGV itself, on a stack of its own in one thread */
    memset(&action, 0, sizeof action);
    action.sa_handler = fault;
    action.sa_flags = SA_ONSTACK;
    static char stack[65536];
    const stack_t alternative = {.ss_sp = stack, .ss_size = sizeof stack}, none = {.ss_flags = SS_DISABLE};
    if (me == 3)
        sigaltstack(&alternative, NULL);
    if (me == 0)
        sigaction(SIGSEGV, &action, NULL);
    meet();
    for (; round < 3 * ROUNDS; round++) {
        use(me, round);
        if (round % 30 == me && sigsetjmp(back, 1) == 0)
            *(volatile int *)(long)(16 + me) = 1;
    }
    REQUIRE(own_faults == ROUNDS / 30);
    meet();
    if (me == 3)
        sigaltstack(&none, NULL);
    action.sa_handler = SIG_DFL;
    if (me == 0)
        sigaction(SIGSEGV, &action, NULL);

    meet(); /* handlers come at any time, with everything blocked */
    const struct itimerval often = {{0, 50}, {0, 50}}, never = {{0, 0}, {0, 0}};
    action.sa_handler = tick;
    action.sa_flags = SA_RESTART;
    sigfillset(&action.sa_mask);
    if (me == 0) {
        sigaction(SIGALRM, &action, NULL);
        setitimer(ITIMER_REAL, &often, NULL);
    }
    for (; round < 4 * ROUNDS || ticks < 10; round++)
        use(me, round);
    meet();
    if (me == 0)
        setitimer(ITIMER_REAL, &never, NULL);
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];
    int status;

    pthread_barrier_init(&barrier, NULL, THREADS);
    for (long t = 1; t < THREADS; t++)
        pthread_create(&threads[t], NULL, work, (void *)t);
    work(NULL);
    for (int t = 1; t < THREADS; t++)
        pthread_join(threads[t], NULL);
    const pid_t child = fork();
    if (child == 0)
        _exit(own == 0 ? 7 : 8);
    REQUIRE(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 7);
    REQUIRE(system("exit 3") == 3 << 8);
    puts("everything stayed with its thread");
    if (argc > 1)
        *(volatile int *)(long)strtol(argv[1], NULL, 0) = 1;
    return 0;
}
