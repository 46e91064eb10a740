/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls that block, made in every way: by the C library's functions, by syscall(), and by the bare instruction.  Nobody sends a signal, so
 * that none may be cut short, and all of them last as long as they are to.  A child feeds the pipe, slowly.  Prints what was wrong.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

static int wrong;
static volatile double sink;

/* As the C library has it: the number is a constant before the instruction. */
#define bare(n, a, b, c, d, e, f)                                                                                                                  \
    ({                                                                                                                                             \
        register long r10 __asm__("r10") = (long)(d), r8 __asm__("r8") = (long)(e), r9 __asm__("r9") = (long)(f);                                  \
        long result;                                                                                                                               \
        __asm__ volatile("movl %[number], %%eax\n\tsyscall"                                                                                        \
                         : "=&a"(result)                                                                                                           \
                         : [number] "i"(n), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)                                                     \
                         : "rcx", "r11", "memory");                                                                                                \
        result;                                                                                                                                    \
    })

/* The host's own clock, whoever simulates another. */
static double now_ms(void)
{
    struct timespec t;
    bare(SYS_clock_gettime, CLOCK_MONOTONIC, (long)&t, 0, 0, 0, 0);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static void check(const char *what, int ok, long got)
{
    if (!ok && wrong++ < 20)
        printf("%s: %ld, errno %d\n", what, got, errno);
}

static void work(int n)
{
    for (int i = 0; i < n; i++)
        sink += (double)i * 0.5;
}

/* So long by the host's clock at least, and without an error. */
#define LASTS(what, ms, call)                                                  \
    do {                                                                       \
        work(20000);                                                           \
        errno = 0;                                                             \
        const double begin = now_ms();                                         \
        const long got = (long)(call);                                         \
        check(what, got == 0 && now_ms() - begin >= (ms) - 0.01, got);         \
    } while (0)

static void feed(int to, int rounds)
{
    char bytes[64] = { 0 };
    for (int i = 0; i < rounds; i++) {
        usleep(1500);
        if (write(to, bytes, sizeof bytes) != sizeof bytes)
            _exit(1);
    }
    _exit(0);
}

static void drain(int from, size_t all)
{
    char bytes[1000];
    for (size_t n = 0; n < all;) {
        usleep(300);
        ssize_t got = read(from, bytes, sizeof bytes);
        if (got <= 0)
            _exit(1);
        n += (size_t)got;
    }
    _exit(0);
}

int main(int argc, char **argv)
{
    const int rounds = argc > 1 ? atoi(argv[1]) : 20;
    const struct timespec two = { 0, 2000000 };
    int pipe_in[2], pipe_out[2], empty[2], pair[2], epoll, status;
    sem_t sem;
    if (pipe(pipe_in) || pipe(pipe_out) || pipe(empty) || socketpair(AF_UNIX, SOCK_STREAM, 0, pair) || sem_init(&sem, 0, 0))
        return 2;
    epoll = epoll_create1(0);
    epoll_ctl(epoll, EPOLL_CTL_ADD, empty[0], &(struct epoll_event){ .events = EPOLLIN });
    struct timeval limit = { 0, 2000 };
    setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    const pid_t feeder = fork();
    if (feeder == 0)
        feed(pipe_in[1], 3 * rounds);
    const size_t all = (size_t)rounds * 70000;
    const pid_t drainer = fork();
    if (drainer == 0)
        drain(pipe_out[0], all);
    char bytes[64], *large = malloc(70000);
    memset(large, 1, 70000);
    for (int i = 0; i < rounds; i++) {
        struct pollfd one = { .fd = empty[0], .events = POLLIN };
        struct epoll_event event;
        struct timeval tv = { 0, 2000 };
        fd_set set;
        struct timespec rest = two;
        /* the bare instruction: nobody stands between */
        LASTS("bare nanosleep", 2, bare(SYS_nanosleep, (long)&two, (long)&rest, 0, 0, 0, 0));
        LASTS("bare clock_nanosleep", 2, bare(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, (long)&two, 0, 0, 0));
        LASTS("bare poll", 2, bare(SYS_poll, (long)&one, 1, 2, 0, 0, 0));
        rest = two; /* nanosleep() may have written there */
        LASTS("bare ppoll", 2, bare(SYS_ppoll, (long)&one, 1, (long)&rest, 0, 8, 0));
        LASTS("bare epoll_wait", 2, bare(SYS_epoll_wait, epoll, (long)&event, 1, 2, 0, 0));
        FD_ZERO(&set); FD_SET(empty[0], &set);
        LASTS("bare select", 2, bare(SYS_select, empty[0] + 1, (long)&set, 0, 0, (long)&tv, 0));
        long got = bare(SYS_recvfrom, pair[0], (long)bytes, 1, 0, 0, 0);
        check("bare recv with a time limit", got == -EAGAIN, got);
        sigset_t usr;
        sigemptyset(&usr), sigaddset(&usr, SIGUSR1);
        got = bare(SYS_rt_sigtimedwait, (long)&usr, 0, (long)&two, 8, 0, 0);
        check("bare sigtimedwait", got == -EAGAIN, got);
        got = bare(SYS_read, pipe_in[0], (long)bytes, sizeof bytes, 0, 0, 0);
        check("bare read", got == sizeof bytes, got);
        /* the C library's functions; their time may be simulated */
        work(20000);
        errno = 0;
        check("nanosleep", nanosleep(&two, &rest) == 0, -1);
        check("usleep", usleep(2000) == 0, -1);
        check("poll", poll(&one, 1, 2) == 0, -1);
        FD_ZERO(&set); FD_SET(empty[0], &set); tv = (struct timeval){ 0, 2000 };
        check("select", select(empty[0] + 1, &set, 0, 0, &tv) == 0, -1);
        check("epoll_wait", epoll_wait(epoll, &event, 1, 2) == 0, -1);
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += 2000000, until.tv_sec += until.tv_nsec / 1000000000, until.tv_nsec %= 1000000000;
        check("sem_timedwait", sem_timedwait(&sem, &until) == -1 && errno == ETIMEDOUT, -1);
        errno = 0;
        got = read(pipe_in[0], bytes, sizeof bytes);
        check("read", got == sizeof bytes, got);
        got = syscall(SYS_read, pipe_in[0], bytes, sizeof bytes);
        check("syscall(read)", got == sizeof bytes, got);
        got = write(pipe_out[1], large, 70000); /* more than a pipe holds */
        check("write", got == 70000, got);
        check("recv", recv(pair[0], bytes, 1, 0) == -1 && errno == EAGAIN, -1);
    }
    check("waitpid", waitpid(feeder, &status, 0) == feeder && status == 0, status);
    check("bare wait4", bare(SYS_wait4, drainer, (long)&status, 0, 0, 0, 0) == drainer && status == 0, status);
    printf("%s\n", wrong ? "cut short" : "all in peace");
    return wrong != 0;
}
