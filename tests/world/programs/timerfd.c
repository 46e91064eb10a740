/* SPDX-License-Identifier: Apache-2.0 */
/* Timers that make a descriptor readable: what the kernel says of them, at times of the program's own clocks. */
#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

enum { MS = 1000000 };

static int64_t now(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static void set(int fd, int flags, int64_t first_ns, int64_t interval_ns)
{
    struct itimerspec new = {
        {interval_ns / 1000000000, interval_ns % 1000000000}, {first_ns / 1000000000, first_ns % 1000000000}};
    if (timerfd_settime(fd, flags, &new, NULL) != 0)
        printf("settime: %s\n", strerror(errno));
}

static long times(int fd)
{
    uint64_t n;
    return read(fd, &n, sizeof n) == sizeof n ? (long)n : -errno;
}

static int readable(int fd, int timeout_ms)
{
    struct pollfd p = {fd, POLLIN, 0};
    return poll(&p, 1, timeout_ms);
}

static const char *took(int64_t start, int64_t ns)
{
    int64_t t = now(CLOCK_MONOTONIC) - start;
    return t < ns ? "too early" : t - ns > 2000000000 ? "much too late" : "in time";
}

static void once(int fd)
{
    int64_t start = now(CLOCK_MONOTONIC);
    set(fd, 0, 50 * MS, 0);
    printf("once: %d", readable(fd, 0));
    printf(" %ld", times(fd));
    printf(" %d %s", readable(fd, -1), took(start, 50 * MS));
    printf(" %ld", times(fd));
    printf(" %d\n", readable(fd, 100));
}

static void absolute(int fd, clockid_t clock)
{
    int64_t start = now(CLOCK_MONOTONIC);
    set(fd, TFD_TIMER_ABSTIME, now(clock) + 50 * MS, 0);
    printf("absolute: %d %s", readable(fd, -1), took(start, 49 * MS));
    printf(" %ld", times(fd));
    set(fd, TFD_TIMER_ABSTIME, 5, 0);
    printf(", past: %d", readable(fd, 0));
    set(fd, 0, 0, 0);
    printf(", off: %d\n", readable(fd, 0));
}

static void periodic(int fd)
{
    struct itimerspec left;
    struct timespec pause = {0, 350 * MS};
    int64_t start = now(CLOCK_MONOTONIC);
    set(fd, 0, 100 * MS, 200 * MS);
    nanosleep(&pause, NULL);
    printf("periodic: %ld", times(fd));
    timerfd_gettime(fd, &left);
    printf(" %s", left.it_value.tv_sec == 0 && left.it_interval.tv_nsec == 200 * MS ? "left" : "wrong");
    readable(fd, -1);
    printf(" %s", took(start, 500 * MS));
    printf(" %ld\n", times(fd));
    set(fd, 0, 0, 0);
}

static void watched(int fd)
{
    struct epoll_event event = {.events = EPOLLIN | EPOLLONESHOT, .data.u32 = 7};
    int all = epoll_create1(0);
    epoll_ctl(all, EPOLL_CTL_ADD, fd, &event);
    for (int i = 0; i < 3; i++) {
        set(fd, TFD_TIMER_ABSTIME, now(CLOCK_MONOTONIC) + 20 * MS, 0);
        epoll_ctl(all, EPOLL_CTL_MOD, fd, &event);
        memset(&event, 0, sizeof event);
        printf("watched: %d", epoll_wait(all, &event, 1, -1));
        printf(" %u\n", event.data.u32);
        event.events = EPOLLIN | EPOLLONESHOT;
    }
    close(all);
}

int main(void)
{
    struct itimerspec bad = {{0, 0}, {0, 1000000000}};
    int fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK), wall = (int)syscall(SYS_timerfd_create, CLOCK_REALTIME, 0);
    once(fd);
    absolute(fd, CLOCK_MONOTONIC);
    absolute(wall, CLOCK_REALTIME);
    periodic(fd);
    watched(fd);
    set(wall, 0, 100 * MS, 0); /* a read that waits */
    printf("blocking: %ld\n", times(wall));
    printf("bad: %d", timerfd_settime(fd, 0, &bad, NULL));
    printf(" %d", timerfd_settime(fd, 64, &(struct itimerspec){{0, 0}, {0, 0}}, NULL));
    close(fd);
    printf(" %d %d\n", timerfd_gettime(fd, &bad), errno == EBADF);
    return 0;
}
