/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Signals and threads: sent to one, to the process, waited for, masked in each thread; timers.  What POSIX says must
 * hold; the sleeps make sure, in any kind of time, that a thread is waiting before it is sent something.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define REQUIRE(c)                                                              \
    do {                                                                        \
        if (!(c)) {                                                             \
            printf("FAILED line %d: %s (errno %d)\n", __LINE__, #c, errno);     \
            exit(9);                                                            \
        }                                                                       \
    } while (0)

static volatile sig_atomic_t got[65];
static volatile pthread_t who[65];
static pthread_barrier_t barrier;
static sem_t semaphore;

static void count(int signal)
{
    got[signal]++;
    who[signal] = pthread_self();
    errno = 99;
}

static void add(int signal, siginfo_t *info, void *context)
{
    got[signal] += info->si_value.sival_int;
    who[signal] = pthread_self();
}

static void settle(void)
{
    usleep(20000);
}

static sigset_t set_of(int a, int b)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, a);
    if (b)
        sigaddset(&set, b);
    return set;
}

static void *spin(void *unused)
{
    while (!got[SIGUSR1])
        ;
    return (void *)(long)pthread_equal(who[SIGUSR1], pthread_self());
}

static void *take_semaphore(void *unused)
{
    errno = 0;
    return (void *)(long)(sem_wait(&semaphore) == -1 ? errno : 0);
}

static void *wait_for_two(void *unused)
{
    sigset_t set = set_of(SIGUSR2, SIGTERM);
    int signal, err = sigwait(&set, &signal);
    return (void *)(long)(err ? -err : signal);
}

static void *sleep_long(void *unused)
{
    struct timespec ten = { 10, 0 }, rest;
    int result = nanosleep(&ten, &rest);
    return (void *)(long)(result == -1 && errno == EINTR && rest.tv_sec > 5);
}

static void *own_mask(void *unused)
{
    sigset_t set;
    pthread_sigmask(SIG_BLOCK, NULL, &set);
    long inherited = sigismember(&set, SIGHUP) * 2 + sigismember(&set, SIGUSR1);
    sigaddset(&set, SIGQUIT);
    pthread_sigmask(SIG_SETMASK, &set, NULL);
    pthread_barrier_wait(&barrier);
    pthread_sigmask(SIG_BLOCK, NULL, &set);
    REQUIRE(sigismember(&set, SIGQUIT));
    pthread_barrier_wait(&barrier);
    return (void *)inherited;
}

static void *wait_for_any(void *unused)
{
    return (void *)(long)(pause() == -1 && errno == EINTR);
}

static sigjmp_buf jump;
static void jump_out(int signal)
{
    siglongjmp(jump, 1);
}

static void to_threads(void)
{
    struct sigaction act = { .sa_handler = count };
    pthread_t t;
    void *r;
    sigaction(SIGUSR1, &act, NULL);
    sigaction(SIGUSR2, &act, NULL);
    sigaction(SIGALRM, &act, NULL);
    errno = 0;
    REQUIRE(raise(SIGUSR1) == 0 && got[SIGUSR1] == 1 && errno == 0);
    got[SIGUSR1] = 0;
    pthread_create(&t, NULL, spin, NULL);
    REQUIRE(pthread_kill(t, SIGUSR1) == 0);
    pthread_join(t, &r);
    REQUIRE(r == (void *)1);
    pthread_create(&t, NULL, take_semaphore, NULL);
    settle();
    REQUIRE(pthread_kill(t, SIGUSR1) == 0);
    pthread_join(t, &r);
    REQUIRE(r == (void *)EINTR);
    act.sa_flags = SA_RESTART; /* the wait goes on */
    sigaction(SIGUSR1, &act, NULL);
    got[SIGUSR1] = 0;
    pthread_create(&t, NULL, take_semaphore, NULL);
    settle();
    REQUIRE(pthread_kill(t, SIGUSR1) == 0);
    settle();
    REQUIRE(got[SIGUSR1] == 1);
    sem_post(&semaphore);
    pthread_join(t, &r);
    REQUIRE(r == NULL);
    pthread_create(&t, NULL, sleep_long, NULL);
    settle();
    pthread_kill(t, SIGUSR1);
    pthread_join(t, &r);
    REQUIRE(r == (void *)1);
    REQUIRE(pthread_kill(pthread_self(), 0) == 0 && pthread_kill(pthread_self(), 1000) == EINVAL);
}

static void masks(void)
{
    sigset_t set = set_of(SIGHUP, 0), old;
    pthread_t t;
    void *r;
    pthread_sigmask(SIG_BLOCK, &set, &old);
    REQUIRE(!sigismember(&old, SIGHUP));
    pthread_create(&t, NULL, own_mask, NULL);
    pthread_barrier_wait(&barrier);
    pthread_sigmask(SIG_SETMASK, NULL, &set);
    REQUIRE(!sigismember(&set, SIGQUIT) && sigismember(&set, SIGHUP));
    pthread_barrier_wait(&barrier);
    pthread_join(t, &r);
    REQUIRE(r == (void *)2);
}

/* What the kernel blocks for the calling thread. */
static unsigned long long blocked(void)
{
    char line[200];
    unsigned long long bits = ~0ull;
    FILE *f = fopen("/proc/thread-self/status", "r");
    REQUIRE(f);
    while (fgets(line, sizeof line, f))
        sscanf(line, "SigBlk: %llx", &bits);
    fclose(f);
    return bits;
}

static void *none_come(void *unused)
{
    return (void *)(long)(blocked() >> (SIGSEGV - 1) & 1);
}

/* Threads that no signal is to reach are created so, by many libraries.  It ends with them. */
static void all_blocked(void)
{
    unsigned long long before = blocked();
    sigset_t all, old;
    pthread_t t;
    void *r;
    sigfillset(&all);
    for (int i = 0; i < 3; i++) {
        pthread_sigmask(SIG_BLOCK, &all, &old);
        REQUIRE(pthread_create(&t, NULL, none_come, NULL) == 0);
        pthread_sigmask(SIG_SETMASK, &old, NULL);
        pthread_join(t, &r);
        REQUIRE(r == (void *)1);
        REQUIRE(blocked() == before);
    }
}

static void waits(void)
{
    sigset_t set = set_of(SIGUSR2, SIGTERM);
    struct timespec timeout = { 0, 0 };
    siginfo_t info;
    pthread_t t;
    void *r;
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    pthread_create(&t, NULL, wait_for_two, NULL);
    settle();
    kill(getpid(), SIGUSR2);
    pthread_join(t, &r);
    REQUIRE(r == (void *)SIGUSR2);
    for (int late = 0; late < 2; late++) { /* it may wait already, or still be on its way */
        pthread_create(&t, NULL, wait_for_two, NULL);
        if (late)
            settle();
        pthread_kill(t, SIGTERM);
        pthread_join(t, &r);
        REQUIRE(r == (void *)SIGTERM);
    }
    kill(getpid(), SIGUSR2);
    raise(SIGTERM);
    sigpending(&set);
    REQUIRE(sigismember(&set, SIGUSR2) && sigismember(&set, SIGTERM));
    set = set_of(SIGUSR2, SIGTERM);
    int first = sigtimedwait(&set, &info, &timeout), second = sigwaitinfo(&set, &info);
    REQUIRE(first != second && first + second == SIGTERM + SIGUSR2);
    REQUIRE(sigtimedwait(&set, &info, &timeout) == -1 && errno == EAGAIN);
    timeout.tv_nsec = 50000000;
    REQUIRE(sigtimedwait(&set, &info, &timeout) == -1 && errno == EAGAIN);
    sigpending(&set);
    REQUIRE(!sigismember(&set, SIGTERM) && !sigismember(&set, SIGUSR2));
    /* to the process: whoever does not block it takes it, though it waits */
    got[SIGUSR1] = 0;
    pthread_create(&t, NULL, wait_for_any, NULL);
    settle();
    set = set_of(SIGUSR1, 0);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    kill(getpid(), SIGUSR1);
    pthread_join(t, &r);
    REQUIRE(r == (void *)1 && got[SIGUSR1] == 1 && pthread_equal(who[SIGUSR1], t));
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}

static void queued(void)
{
    struct sigaction act = { .sa_sigaction = add, .sa_flags = SA_SIGINFO };
    union sigval seven = { .sival_int = 7 };
    sigset_t set = set_of(SIGRTMIN, 0);
    sigaction(SIGRTMIN, &act, NULL);
    sigaction(SIGRTMIN + 1, &act, NULL);
    REQUIRE(sigqueue(getpid(), SIGRTMIN, seven) == 0 && got[SIGRTMIN] == 7);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    for (int i = 0; i < 5; i++)
        pthread_sigqueue(pthread_self(), SIGRTMIN, seven);
    REQUIRE(got[SIGRTMIN] == 7);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
    REQUIRE(got[SIGRTMIN] == 42);
}

static void timers(void)
{
    struct timespec before, after;
    clock_gettime(CLOCK_MONOTONIC, &before);
    alarm(5);
    REQUIRE(alarm(1) == 5);
    pause();
    clock_gettime(CLOCK_MONOTONIC, &after);
    double took = (double)(after.tv_sec - before.tv_sec) + 1e-9 * (double)(after.tv_nsec - before.tv_nsec);
    REQUIRE(got[SIGALRM] == 1 && took >= 0.99 && took < 3);
    struct itimerval every = { { 0, 200 }, { 0, 200 } }, old;
    setitimer(ITIMER_REAL, &every, NULL);
    while (got[SIGALRM] < 11)
        ;
    every.it_value.tv_usec = 0;
    setitimer(ITIMER_REAL, &every, &old);
    REQUIRE(old.it_interval.tv_usec == 200);
    settle();
    int n = got[SIGALRM];
    settle();
    REQUIRE(got[SIGALRM] == n);

    timer_t id;
    struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN + 1, .sigev_value.sival_int = 3 };
    struct itimerspec spec = { { 0, 200000 }, { 0, 100000 } };
    REQUIRE(timer_create(CLOCK_MONOTONIC, &event, &id) == 0 && timer_settime(id, 0, &spec, NULL) == 0);
    while (got[SIGRTMIN + 1] < 30)
        ;
    REQUIRE(timer_gettime(id, &spec) == 0 && spec.it_interval.tv_nsec == 200000 && spec.it_value.tv_nsec <= 200000);
    REQUIRE(timer_delete(id) == 0 && timer_gettime(id, &spec) == -1 && errno == EINVAL);
}

static void *wait_for_child(void *child)
{
    int status = 0;
    sigset_t set = set_of(SIGURG, 0);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
    REQUIRE(waitpid((pid_t)(long)child, &status, 0) == (long)child);
    return (void *)(long)WEXITSTATUS(status);
}

/* A call that goes on after handlers that were installed so. */
static void restarted(void)
{
    struct sigaction action = {.sa_handler = count, .sa_flags = SA_RESTART};
    int in[2], before = got[SIGURG];
    void *result;
    pthread_t t;
    char c;
    REQUIRE(sigaction(SIGURG, &action, NULL) == 0 && pipe(in) == 0);
    pid_t child = fork();
    if (child == 0) {
        close(in[1]);
        _exit(read(in[0], &c, 1) == 1 ? 6 : 7);
    }
    pthread_create(&t, NULL, wait_for_child, (void *)(long)child);
    settle();
    REQUIRE(pthread_kill(t, SIGURG) == 0);
    settle();
    REQUIRE(got[SIGURG] == before + 1 && write(in[1], "x", 1) == 1);
    pthread_join(t, &result);
    REQUIRE(result == (void *)6);
    close(in[0]);
    close(in[1]);
}

/* ---- what a handler sends to its own thread */

static volatile sig_atomic_t times;

static void again(int signal)
{
    if (times++ < 3)
        pthread_kill(pthread_self(), signal);
}

static void *send_itself(void *arg)
{
    times = 0;
    REQUIRE(!pthread_kill(pthread_self(), SIGUSR1));
    REQUIRE(times == 4); /* each comes when the handler has returned */
    return arg;
}

static void die(int number)
{
    signal(number, SIG_DFL);
    raise(number);
}

static void from_handlers(void)
{
    pthread_t t;
    int status;
    signal(SIGUSR1, again);
    send_itself(NULL);
    REQUIRE(!pthread_create(&t, NULL, send_itself, NULL) && !pthread_join(t, NULL));
    fflush(stdout);
    pid_t child = fork();
    if (!child) {
        sigset_t none;
        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, NULL);
        signal(SIGTERM, die);
        raise(SIGTERM);
        _exit(0);
    }
    REQUIRE(waitpid(child, &status, 0) == child && WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
}

/* ---- cancelling who waits for a signal; a timer whose signal waits */

static void *wait_for_ever(void *arg)
{
    sigset_t set = set_of(SIGUSR2, 0);
    int signal;
    sigwait(&set, &signal);
    return arg;
}

static void cancel_wait(void)
{
    pthread_t t;
    void *result;
    REQUIRE(!pthread_create(&t, NULL, wait_for_ever, NULL));
    settle();
    REQUIRE(!pthread_cancel(t) && !pthread_join(t, &result) && result == PTHREAD_CANCELED);
}

static void overruns(void)
{
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN};
    struct itimerspec each = {{0, 500000}, {0, 500000}};
    sigset_t set = set_of(SIGRTMIN, 0);
    timer_t timer;
    signal(SIGRTMIN, count);
    got[SIGRTMIN] = 0;
    REQUIRE(!sigprocmask(SIG_BLOCK, &set, NULL));
    REQUIRE(!timer_create(CLOCK_MONOTONIC, &event, &timer) && !timer_settime(timer, 0, &each, NULL));
    settle();
    REQUIRE(!got[SIGRTMIN] && !sigprocmask(SIG_UNBLOCK, &set, NULL));
    REQUIRE(got[SIGRTMIN] >= 1 && got[SIGRTMIN] < 10 && timer_getoverrun(timer) >= (got[SIGRTMIN] == 1 ? 10 : 0));
    REQUIRE(!timer_delete(timer));
}

/* A signal that nobody has a handler for is not taken, it goes. */
static void overruns_ignored(void)
{
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGCONT};
    struct itimerspec each = {{0, 500000}, {0, 500000}};
    sigset_t set = set_of(SIGCONT, 0);
    timer_t timer;
    REQUIRE(!sigprocmask(SIG_BLOCK, &set, NULL));
    REQUIRE(!timer_create(CLOCK_MONOTONIC, &event, &timer) && !timer_settime(timer, 0, &each, NULL));
    settle();
    REQUIRE(!sigprocmask(SIG_UNBLOCK, &set, NULL));
    REQUIRE(timer_getoverrun(timer) >= 10);
    REQUIRE(!timer_delete(timer));
}

static volatile int is_child;

static void divide(int signal)
{
    is_child = fork() == 0;
}

/* A child that comes out of a handler blocks what it did before, and has none of the signals that wait for its parent's thread. */
static void *fork_in_handler(void *arg)
{
    sigset_t set = set_of(SIGUSR2, 0), now;
    int status = 0;
    got[SIGUSR2] = 0;
    signal(SIGUSR2, count);
    signal(SIGUSR1, divide);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    pthread_kill(pthread_self(), SIGUSR2);
    raise(SIGUSR1);
    if (is_child) {
        sigprocmask(SIG_BLOCK, NULL, &now);
        if (sigismember(&now, SIGUSR1))
            _exit(1);
        sigprocmask(SIG_UNBLOCK, &set, NULL);
        if (got[SIGUSR2])
            _exit(2);
        raise(SIGUSR2);
        _exit(got[SIGUSR2] == 1 ? 0 : 3);
    }
    REQUIRE(wait(&status) > 0 && status == 0);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
    REQUIRE(got[SIGUSR2] == 1);
    return NULL;
}

int main(void)
{
    pthread_barrier_init(&barrier, NULL, 2);
    sem_init(&semaphore, 0, 0);
    to_threads();
    masks();
    all_blocked();
    waits();
    queued();
    timers();
    restarted();
    signal(SIGUSR1, jump_out);
    volatile int rounds = 0;
    if (sigsetjmp(jump, 1) < 2 && rounds++ < 5)
        raise(SIGUSR1);
    REQUIRE(rounds == 6);
    REQUIRE(syscall(SYS_gettid) == gettid());
    from_handlers();
    cancel_wait();
    overruns();
    overruns_ignored();
    pthread_t forker;
    REQUIRE(pthread_create(&forker, NULL, fork_in_handler, NULL) == 0 && pthread_join(forker, NULL) == 0);
    puts("signals and threads agree");
    return 0;
}
