/* SPDX-License-Identifier: Apache-2.0 */
/* poll(), select(), epoll: what is ready, timeouts in simulated time, and waiting for what another thread will do. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <time.h>
#include <unistd.h>

static int64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

/* Timeouts are exact in simulated time; a plain run may be late, and says the same. */
static const char *took(int64_t start, int64_t ns)
{
    int64_t t = now() - start;
    return t < ns ? "too early" : t - ns > 2000000000 ? "much too late" : "in time";
}

static int a[2], b[2];

static useconds_t delay_us = 20000;

static void *later(void *arg)
{
    usleep(delay_us);
    write(arg ? b[1] : a[1], "x", 1);
    return NULL;
}

static pthread_t start_later(int which)
{
    pthread_t t;
    pthread_create(&t, NULL, later, which ? &t : NULL);
    return t;
}

static void drain(void)
{
    char c;
    struct pollfd p = {a[0], POLLIN, 0};
    if (poll(&p, 1, 0) == 1)
        read(a[0], &c, 1);
    p.fd = b[0];
    if (poll(&p, 1, 0) == 1)
        read(b[0], &c, 1);
}

static void by_poll(void)
{
    struct pollfd p[] = {{a[0], POLLIN, 0}, {-1, POLLIN, 0}, {b[0], POLLIN, 0}, {a[1], 0, 0}, {b[0], POLLPRI, 0}};
    int64_t start = now();
    printf("poll none: %d %s\n", poll(p, 5, 10), took(start, 10000000));
    start = now();
    printf("poll nothing: %d %s\n", poll(NULL, 0, 15), took(start, 15000000));
    printf("poll at once: %d\n", poll(p, 5, 0));
    pthread_t t = start_later(1);
    start = now();
    int n = poll(p, 5, -1);
    printf("poll: %d %d%d%d%d %s\n", n, p[0].revents, p[1].revents, p[2].revents, p[4].revents, took(start, 20000000));
    pthread_join(t, NULL);
    drain();
    t = start_later(0);
    struct timespec limit = {5, 0};
    start = now();
    n = ppoll(p, 3, &limit, NULL);
    printf("ppoll: %d %d %d %s\n", n, p[0].revents, p[2].revents, took(start, 20000000));
    pthread_join(t, NULL);
    drain();
    p[0].events = 0;
    p[1] = (struct pollfd){a[1], POLLOUT, 0};
    printf("poll out: %d %d\n", poll(p, 2, 1000), p[1].revents);
    p[0] = (struct pollfd){999, POLLIN, 0};
    n = poll(p, 1, 1000);
    printf("poll bad: %d %d\n", n, p[0].revents == POLLNVAL);
    limit.tv_nsec = -1;
    n = ppoll(p, 1, &limit, NULL);
    printf("ppoll bad: %d %s\n", n, strerror(errno));
}

static void by_select(void)
{
    fd_set in, out;
    struct timeval limit = {0, 30000};
    FD_ZERO(&in);
    FD_SET(a[0], &in);
    int64_t start = now();
    int n = select(a[0] + 1, &in, NULL, NULL, &limit);
    printf("select none: %d %d %s, left %d\n", n, FD_ISSET(a[0], &in) != 0, took(start, 30000000), (int)limit.tv_sec + (int)limit.tv_usec);
    limit = (struct timeval){10, 0};
    FD_SET(a[0], &in);
    FD_SET(b[0], &in);
    FD_ZERO(&out);
    pthread_t t = start_later(1);
    start = now();
    n = select((a[0] > b[0] ? a[0] : b[0]) + 1, &in, &out, NULL, &limit);
    printf("select: %d %d %d %s, left %d\n", n, FD_ISSET(a[0], &in) != 0, FD_ISSET(b[0], &in) != 0, took(start, 20000000),
        limit.tv_sec == 9 && limit.tv_usec > 0);
    pthread_join(t, NULL);
    drain();
    FD_ZERO(&out);
    FD_SET(a[1], &out);
    printf("select out: %d\n", select(a[1] + 1, NULL, &out, NULL, NULL));
    struct timespec precise = {0, 40000000};
    start = now();
    printf("pselect: %d %s\n", pselect(0, NULL, NULL, NULL, &precise, NULL), took(start, 40000000));
    FD_ZERO(&in);
    FD_SET(a[0], &in);
    t = start_later(0);
    printf("pselect: %d\n", pselect(a[0] + 1, &in, NULL, NULL, NULL, NULL));
    pthread_join(t, NULL);
    drain();
}

static void by_epoll(void)
{
    struct epoll_event e = {.events = EPOLLIN, .data.u32 = 7}, got[4];
    int ep = epoll_create1(0);
    epoll_ctl(ep, EPOLL_CTL_ADD, a[0], &e);
    e.data.u32 = 8;
    epoll_ctl(ep, EPOLL_CTL_ADD, b[0], &e);
    int64_t start = now();
    printf("epoll none: %d %s\n", epoll_wait(ep, got, 4, 25), took(start, 25000000));
    pthread_t t = start_later(1);
    start = now();
    int n = epoll_wait(ep, got, 4, -1);
    printf("epoll: %d %d %s\n", n, (int)got[0].data.u32, took(start, 20000000));
    pthread_join(t, NULL);
    drain();
    t = start_later(0);
    struct timespec limit = {3, 0};
    n = epoll_pwait2(ep, got, 4, &limit, NULL);
    if (n < 0 && errno == ENOSYS)
        n = epoll_wait(ep, got, 4, 3000);
    printf("epoll: %d %d\n", n, (int)got[0].data.u32);
    pthread_join(t, NULL);
    drain();
    close(ep);
}

/* A thread that polls without waiting sees it come. */
static void spinning(void)
{
    struct pollfd p = {a[0], POLLIN, 0};
    pthread_t t;
    unsigned turns = 0;
    delay_us = 1000; /* each microsecond is many turns */
    t = start_later(0);
    while (poll(&p, 1, 0) == 0)
        turns++;
    pthread_join(t, NULL);
    delay_us = 20000;
    printf("spun %d\n", turns > 0);
    drain();
}

/* The lowest free descriptor is still what a new one gets. */
static void numbers(void)
{
    pthread_t t = start_later(0);
    int before = dup(0);
    close(before);
    struct pollfd p[2] = {{a[0], POLLIN, 0}, {b[0], POLLIN, 0}};
    poll(p, 2, -1);
    int after = dup(0);
    close(after);
    pthread_join(t, NULL);
    drain();
    printf("descriptor %d\n", before - after);
}

int main(void)
{
    pipe(a);
    pipe(b);
    by_poll();
    by_select();
    by_epoll();
    spinning();
    numbers();
    return 0;
}
