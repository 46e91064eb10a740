/* SPDX-License-Identifier: Apache-2.0 */
/* Pipes between threads of one program: whatever blocks must let the others go on. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

static int there[2], back[2];

static uint64_t mixed(uint64_t sum, const unsigned char *bytes, size_t n)
{
    for (size_t k = 0; k < n; k++)
        sum = sum * 1099511628211u + bytes[k];
    return sum;
}

static void fill(unsigned char *bytes, size_t n, unsigned seed)
{
    for (size_t k = 0; k < n; k++) {
        seed = seed * 1103515245u + 12345u;
        bytes[k] = (unsigned char)(seed >> 16);
    }
}

static void *in_thread(void *(*fn)(void *), void *arg)
{
    pthread_t *t = malloc(sizeof *t);
    if (pthread_create(t, NULL, fn, arg) != 0)
        abort();
    return t;
}

static void joined(void *t)
{
    pthread_join(*(pthread_t *)t, NULL);
    free(t);
}

/* --- much more than a pipe holds, in blocks of many sizes */

static const size_t sizes[] = {1, 4095, 4096, 4097, 65536, 65537, 200001, 3};

static void *big_writer(void *arg)
{
    unsigned char *bytes = malloc(200001);
    (void)arg;
    for (unsigned k = 0; k < 16; k++) {
        fill(bytes, sizes[k % 8], k);
        ssize_t n = write(there[1], bytes, sizes[k % 8]);
        if (n != (ssize_t)sizes[k % 8])
            printf("wrote %zd of %zu\n", n, sizes[k % 8]);
    }
    close(there[1]);
    free(bytes);
    return NULL;
}

static void big(void)
{
    unsigned char bytes[10000];
    uint64_t sum = 0, all = 0;
    ssize_t n;
    pipe(there);
    void *t = in_thread(big_writer, NULL);
    while ((n = read(there[0], bytes, sizeof bytes)) > 0) {
        sum = mixed(sum, bytes, (size_t)n);
        all += (uint64_t)n;
    }
    joined(t);
    close(there[0]);
    printf("big %llu %llx end %zd\n", (unsigned long long)all, (unsigned long long)sum, n);
}

/* --- a ball that goes to and fro */

static void *echo(void *arg)
{
    int ball;
    (void)arg;
    while (read(there[0], &ball, sizeof ball) == sizeof ball) {
        ball = 3 * ball + 1;
        write(back[1], &ball, sizeof ball);
    }
    return NULL;
}

static void ping_pong(void)
{
    unsigned ball = 1;
    pipe(there);
    pipe(back);
    void *t = in_thread(echo, NULL);
    for (int k = 0; k < 500; k++) {
        write(there[1], &ball, sizeof ball);
        read(back[0], &ball, sizeof ball);
    }
    close(there[1]);
    joined(t);
    close(there[0]), close(back[0]), close(back[1]);
    printf("ball %u\n", ball);
}

/* --- descriptors that do not block: partial writes, EAGAIN, and nothing lost */

static void *drainer(void *arg)
{
    unsigned char bytes[3000];
    uint64_t *sum = arg;
    ssize_t n;
    while ((n = read(there[0], bytes, sizeof bytes)) > 0)
        *sum = mixed(*sum, bytes, (size_t)n);
    return NULL;
}

static void nonblocking(void)
{
    static unsigned char bytes[300000];
    uint64_t sum = 0;
    size_t done = 0;
    int again = 0;
    char c;
    fill(bytes, sizeof bytes, 99);
    pipe2(there, O_NONBLOCK);
    printf("empty %zd %s\n", read(there[0], &c, 1), strerror(errno));
    size_t first = 0;
    for (ssize_t n; (n = write(there[1], bytes + first, sizeof bytes - first)) > 0;)
        first += (size_t)n;
    printf("holds %zu, then %s\n", first, strerror(errno));
    done = first;
    fcntl(there[0], F_SETFL, fcntl(there[0], F_GETFL) & ~O_NONBLOCK);
    void *t = in_thread(drainer, &sum);
    while (done < sizeof bytes) {
        ssize_t n = write(there[1], bytes + done, sizeof bytes - done);
        if (n < 0 && errno == EAGAIN) {
            struct pollfd p = {there[1], POLLOUT, 0};
            again = 1;
            poll(&p, 1, -1);
        } else if (n > 0) {
            done += (size_t)n;
        }
    }
    close(there[1]);
    joined(t);
    close(there[0]);
    printf("again %d, %s\n", again, sum == mixed(0, bytes, sizeof bytes) ? "all of it" : "something else");
}

/* --- vectors */

static void *vector_writer(void *arg)
{
    static unsigned char a[10], b[70000], c[5000];
    struct iovec v[] = {{a, sizeof a}, {b, sizeof b}, {NULL, 0}, {c, sizeof c}};
    (void)arg;
    fill(a, sizeof a, 1), fill(b, sizeof b, 2), fill(c, sizeof c, 3);
    ssize_t n = writev(there[1], v, 4);
    if (n != 75010)
        printf("writev %zd\n", n);
    close(there[1]);
    return NULL;
}

static void vectors(void)
{
    unsigned char x[7], y[1000];
    struct iovec v[] = {{x, sizeof x}, {y, sizeof y}};
    uint64_t sum = 0, all = 0;
    pipe(there);
    void *t = in_thread(vector_writer, NULL);
    for (ssize_t n; (n = readv(there[0], v, 2)) > 0; all += (uint64_t)n) {
        size_t first = (size_t)n < sizeof x ? (size_t)n : sizeof x;
        sum = mixed(mixed(sum, x, first), y, (size_t)n - first);
    }
    joined(t);
    close(there[0]);
    printf("vectors %llu %llx\n", (unsigned long long)all, (unsigned long long)sum);
}

/* --- many writers: short messages stay whole */

struct message {
    int from, number;
    char text[56];
};

static void *talker(void *arg)
{
    struct message m = {.from = (int)(intptr_t)arg};
    for (m.number = 0; m.number < 200; m.number++) {
        memset(m.text, 'a' + m.from, sizeof m.text);
        if (write(there[1], &m, sizeof m) != sizeof m)
            printf("short message\n");
    }
    return NULL;
}

static void many(void)
{
    int next[6] = {0}, bad = 0;
    void *threads[6];
    struct message m;
    pipe(there);
    for (int k = 0; k < 6; k++)
        threads[k] = in_thread(talker, (void *)(intptr_t)k);
    for (int k = 0; k < 6 * 200; k++) {
        size_t done = 0;
        while (done < sizeof m)
            done += (size_t)read(there[0], (char *)&m + done, sizeof m - done);
        bad += m.from < 0 || m.from >= 6 || m.number != next[m.from]++ || m.text[0] != 'a' + m.from || m.text[55] != m.text[0];
    }
    for (int k = 0; k < 6; k++)
        joined(threads[k]);
    close(there[0]), close(there[1]);
    printf("messages, %d out of order\n", bad);
}

/* --- a FIFO that both open, an eventfd */

static char fifo[64];

static void *opener(void *arg)
{
    int fd = open(fifo, O_WRONLY);
    (void)arg;
    write(fd, "through the fifo", 16);
    close(fd);
    return NULL;
}

static void named(void)
{
    char text[32] = "";
    snprintf(fifo, sizeof fifo, "./fifo.%d", (int)getpid());
    mkfifo(fifo, 0600);
    void *t = in_thread(opener, NULL);
    int fd = open(fifo, O_RDONLY);
    size_t done = 0;
    for (ssize_t n; (n = read(fd, text + done, sizeof text - done)) > 0;)
        done += (size_t)n;
    joined(t);
    close(fd);
    unlink(fifo);
    printf("%s\n", text);
}

static int event;

static void *waker(void *arg)
{
    (void)arg;
    for (int k = 0; k < 10; k++)
        eventfd_write(event, 5);
    return NULL;
}

static void events(void)
{
    eventfd_t value, sum = 0;
    event = eventfd(0, 0);
    void *t = in_thread(waker, NULL);
    while (sum < 50 && eventfd_read(event, &value) == 0)
        sum += value;
    joined(t);
    close(event);
    printf("events %llu\n", (unsigned long long)sum);
}

int main(void)
{
    big();
    ping_pong();
    nonblocking();
    vectors();
    many();
    named();
    events();
    /* the reading end is gone */
    pipe(there);
    close(there[0]);
    fcntl(there[1], F_SETFL, 0);
    printf("bad descriptor %zd %d\n", read(1000, there, 1), errno == EBADF);
    return 0;
}
