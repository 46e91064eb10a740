/* SPDX-License-Identifier: Apache-2.0 */
/* Sockets between threads of one program: local pairs, streams over the loopback, datagrams, time limits, what the
 * kernel holds back, SIGPIPE. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum { BYTES = 3000000 };
static int pair[2];

static unsigned char byte(size_t k)
{
    return (unsigned char)((k * 2654435761u) >> 13);
}

static void *sender(void *arg)
{
    unsigned char *bytes = malloc(BYTES);
    int fd = *(int *)arg;
    for (size_t k = 0; k < BYTES; k++)
        bytes[k] = byte(k);
    ssize_t n = send(fd, bytes, BYTES, 0);
    if (n != BYTES)
        printf("sent %zd: %s\n", n, strerror(errno));
    shutdown(fd, SHUT_WR);
    free(bytes);
    return NULL;
}

/* All of it, in the right order; @all: MSG_WAITALL for a known number */
static void receive(const char *what, int fd, size_t all)
{
    static unsigned char bytes[BYTES];
    size_t done = 0, bad = 0;
    if (all) {
        ssize_t n = recv(fd, bytes, all, MSG_WAITALL);
        if (n != (ssize_t)all)
            printf("%s: %zd at once\n", what, n);
        done = n > 0 ? (size_t)n : 0;
    }
    for (ssize_t n; (n = recv(fd, bytes + done, 50000 < BYTES - done ? 50000 : BYTES - done, 0)) > 0;)
        done += (size_t)n;
    for (size_t k = 0; k < done; k++)
        bad += bytes[k] != byte(k);
    printf("%s: %zu bytes, %zu wrong\n", what, done, bad);
}

static void local(void)
{
    pthread_t t;
    for (int k = 0; k < 2; k++) {
        socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
        pthread_create(&t, NULL, sender, &pair[0]);
        receive(k ? "pair, whole" : "pair", pair[1], k ? 1000000 : 0);
        pthread_join(t, NULL);
        close(pair[0]), close(pair[1]);
    }
}

/* --- a server with a thread for each client */

static struct sockaddr_in address;
static int listener;

static void *client(void *arg)
{
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    char line[64];
    unsigned sum = 0;
    if (connect(fd, (struct sockaddr *)&address, sizeof address) != 0) {
        printf("connect: %s\n", strerror(errno));
        return NULL;
    }
    for (int k = 0; k < 20; k++) {
        int n = snprintf(line, sizeof line, "%d %d", (int)(intptr_t)arg, k);
        if (write(fd, line, (size_t)n) != n)
            printf("client: short write\n");
        ssize_t got = read(fd, line, sizeof line - 1);
        line[got > 0 ? got : 0] = 0;
        sum = sum * 31 + (unsigned)atoi(line);
    }
    close(fd);
    return (void *)(intptr_t)sum;
}

static void *serve(void *arg)
{
    int fd = (int)(intptr_t)arg, a, b;
    char line[64];
    for (ssize_t n; (n = recv(fd, line, sizeof line - 1, 0)) > 0;) {
        line[n] = 0;
        sscanf(line, "%d %d", &a, &b);
        n = snprintf(line, sizeof line, "%d", a * 1000 + b);
        send(fd, line, (size_t)n, 0);
    }
    close(fd);
    return NULL;
}

static void server(void)
{
    enum { CLIENTS = 5 };
    pthread_t clients[CLIENTS], servants[CLIENTS];
    struct sockaddr_in from;
    socklen_t length = sizeof address;
    listener = socket(AF_INET, SOCK_STREAM, 0);
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (bind(listener, (struct sockaddr *)&address, sizeof address) != 0 || listen(listener, 2) != 0) {
        printf("no loopback\n");
        exit(77);
    }
    getsockname(listener, (struct sockaddr *)&address, &length);
    for (int k = 0; k < CLIENTS; k++)
        pthread_create(&clients[k], NULL, client, (void *)(intptr_t)k);
    for (int k = 0; k < CLIENTS; k++) {
        length = sizeof from;
        int fd =
            k & 1 ? accept4(listener, NULL, NULL, SOCK_CLOEXEC) : accept(listener, (struct sockaddr *)&from, &length);
        if (fd < 0)
            printf("accept: %s\n", strerror(errno));
        if (!(k & 1) && from.sin_addr.s_addr != htonl(INADDR_LOOPBACK))
            printf("from elsewhere\n");
        pthread_create(&servants[k], NULL, serve, (void *)(intptr_t)fd);
    }
    for (int k = 0; k < CLIENTS; k++) {
        void *sum;
        pthread_join(clients[k], &sum);
        printf("client %d: %u\n", k, (unsigned)(intptr_t)sum);
    }
    for (int k = 0; k < CLIENTS; k++)
        pthread_join(servants[k], NULL);
    close(listener);
}

/* --- datagrams with names and vectors */

static void *datagrams(void *arg)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_DGRAM, 0);
    memcpy(to.sun_path, "\0peet-test", 10);
    snprintf(to.sun_path + 10, 40, "%d", *(int *)arg);
    socklen_t length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 10 + strlen(to.sun_path + 10));
    for (int k = 0; k < 100; k++) {
        char text[4000];
        memset(text, 'A' + k % 26, sizeof text);
        if (sendto(fd, text, (size_t)(1 + 39 * k), 0, (struct sockaddr *)&to, length) != 1 + 39 * k)
            printf("sendto: %s\n", strerror(errno));
    }
    close(fd);
    return NULL;
}

static void messages(void)
{
    struct sockaddr_un me = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_DGRAM, 0), number = (int)getpid(), bad = 0;
    pthread_t t;
    memcpy(me.sun_path, "\0peet-test", 10);
    snprintf(me.sun_path + 10, 40, "%d", number);
    bind(fd, (struct sockaddr *)&me,
        (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 10 + strlen(me.sun_path + 10)));
    pthread_create(&t, NULL, datagrams, &number);
    for (int k = 0; k < 100; k++) {
        char head[100], rest[5000];
        struct iovec v[] = {{head, sizeof head}, {rest, sizeof rest}};
        struct msghdr m = {.msg_iov = v, .msg_iovlen = 2};
        ssize_t n = recvmsg(fd, &m, 0);
        bad += n != 1 + 39 * k || head[0] != 'A' + k % 26 || (n > 100 && rest[n - 101] != head[0]);
    }
    pthread_join(t, NULL);
    close(fd);
    printf("datagrams, %d wrong\n", bad);
}

static void *idle(void *arg)
{
    usleep(1000000);
    return arg;
}

/* A socket has room for more than it calls itself ready for. */
static void half_full(void)
{
    int size = 0;
    struct timeval limit = {0, 20000};
    pthread_t other;
    socketpair(AF_UNIX, SOCK_DGRAM, 0, pair);
    getsockopt(pair[0], SOL_SOCKET, SO_SNDBUF, &size, &(socklen_t){sizeof size});
    setsockopt(pair[0], SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    char *bytes = calloc(1, (size_t)size);
    pthread_create(&other, NULL, idle, NULL);
    for (int k = 0; k < 4; k++)
        printf("sent %d of half\n", send(pair[0], bytes, (size_t)size / 2, 0) == size / 2);
    pthread_join(other, NULL);
    free(bytes);
    close(pair[0]);
    close(pair[1]);
}

/* --- time limits of a socket */

static void limits(void)
{
    struct timeval limit = {0, 50000};
    struct timespec t, u;
    pthread_t other;
    char c;
    socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
    setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    for (int k = 0; k < 2; k++) {
        if (k)
            pthread_create(&other, NULL, idle, NULL);
        clock_gettime(CLOCK_MONOTONIC, &t);
        ssize_t n = recv(pair[0], &c, 1, 0);
        int error = errno;
        clock_gettime(CLOCK_MONOTONIC, &u);
        int64_t ns = (u.tv_sec - t.tv_sec) * 1000000000LL + u.tv_nsec - t.tv_nsec;
        printf("limit: %zd %s %s\n", n, strerror(error), ns >= 49000000 && ns < 900000000 ? "in time" : "not in time");
    }
    pthread_join(other, NULL);
    printf("not now: %zd %d\n", recv(pair[1], &c, 1, MSG_DONTWAIT), errno == EAGAIN);
    close(pair[0]);
    printf("end: %zd\n", recv(pair[1], &c, 1, 0));
    printf("broken: %zd %d\n", send(pair[1], "x", 1, MSG_NOSIGNAL), errno == EPIPE);
    close(pair[1]);
}

static int comes(int fd)
{
    struct pollfd one = {.fd = fd, .events = POLLIN};
    char c;
    return poll(&one, 1, 2000) == 1 && read(fd, &c, 1) == 1;
}

/* The kernel keeps a small segment until the one before it is acknowledged, up to 40 ms, and what is corked 200 ms: that is
 * no time in which a limit of two seconds passes. */
static void held_back(void)
{
    const int on = 1;
    int out = socket(AF_INET, SOCK_STREAM, 0), in, value = -1, came = 0;
    socklen_t length = sizeof address;
    listener = socket(AF_INET, SOCK_STREAM, 0);
    address.sin_port = 0;
    if (bind(listener, (struct sockaddr *)&address, sizeof address) != 0 || listen(listener, 2) != 0 ||
        getsockname(listener, (struct sockaddr *)&address, &length) != 0 ||
        connect(out, (struct sockaddr *)&address, sizeof address) != 0 || (in = accept(listener, NULL, NULL)) < 0) {
        printf("no loopback\n");
        exit(77);
    }
    for (int k = 0; k < 8; k++) {
        if (write(out, "a", 1) == 1 && (k & 1 ? write(out, "b", 1) : send(out, "b", 1, MSG_DONTWAIT)) == 1)
            came += comes(in) + comes(in);
        if (write(in, "c", 1) == 1)
            came += comes(out);
    }
    length = sizeof value;
    getsockopt(out, IPPROTO_TCP, TCP_NODELAY, &value, &length);
    printf("two writes and an answer: %d, no delay %d\n", came, value);
    setsockopt(out, IPPROTO_TCP, TCP_CORK, &on, sizeof on);
    came = write(out, "d", 1) == 1 && comes(in);
    came += send(out, "e", 1, MSG_MORE) == 1 && comes(in);
    printf("corked: %d\n", came);
    close(out);
    close(in);
    close(listener);
}

static void *asks(void *arg)
{
    struct pollfd one = {.fd = socket(AF_INET, SOCK_STREAM, 0), .events = POLLOUT};
    char c = 0;
    fcntl(one.fd, F_SETFL, O_NONBLOCK);
    if ((connect(one.fd, (struct sockaddr *)&address, sizeof address) != 0 && errno != EINPROGRESS) ||
        poll(&one, 1, 8000) != 1 || write(one.fd, "x", 1) != 1)
        printf("not connected\n");
    one.events = POLLIN;
    if (poll(&one, 1, 8000) != 1 || read(one.fd, &c, 1) != 1)
        printf("no answer\n");
    close(one.fd);
    return arg;
}

/* Who finds a listener's queue full comes again after a second of the host's. */
static void full_queue(void)
{
    enum { CLIENTS = 6 };
    pthread_t clients[CLIENTS];
    socklen_t length = sizeof address;
    char c = 0;
    listener = socket(AF_INET, SOCK_STREAM, 0);
    address.sin_port = 0;
    if (bind(listener, (struct sockaddr *)&address, sizeof address) != 0 || listen(listener, 1) != 0 ||
        getsockname(listener, (struct sockaddr *)&address, &length) != 0)
        exit(77);
    for (int k = 0; k < CLIENTS; k++)
        pthread_create(&clients[k], NULL, asks, NULL);
    for (int k = 0; k < CLIENTS; k++) {
        int fd = accept(listener, NULL, NULL);
        if (read(fd, &c, 1) != 1 || write(fd, "y", 1) != 1)
            printf("no question\n");
        close(fd);
    }
    for (int k = 0; k < CLIENTS; k++)
        pthread_join(clients[k], NULL);
    printf("all answered\n");
    close(listener);
}

/* SIGPIPE is for the thread that writes; if it blocks it, others that do not live on. */
static void *breaks(void *arg)
{
    int s[2], p[2];
    sigset_t all, own, waits;
    const struct timespec none = {0, 0};
    sigfillset(&all);
    sigemptyset(&own);
    sigaddset(&own, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &all, NULL);
    socketpair(AF_UNIX, SOCK_STREAM, 0, s);
    close(s[1]);
    printf("broken: %zd %d", send(s[0], "x", 1, 0), errno == EPIPE);
    usleep(1000);
    sigpending(&waits);
    printf(", waits %d", sigismember(&waits, SIGPIPE));
    printf(", %d %d\n", sigtimedwait(&own, NULL, &none) == SIGPIPE, sigtimedwait(&own, NULL, &none));
    if (pipe(p) != 0)
        return arg;
    close(p[0]);
    printf("broken: %zd %d\n", write(p[1], "x", 1), errno == EPIPE);
    close(p[1]);
    close(s[0]);
    return arg;
}

static void broken(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, breaks, NULL);
    usleep(500);
    usleep(1000);
    pthread_join(thread, NULL);
    usleep(1000);
    printf("alive\n");
}

/* What cannot be read is an error, not a fault. */
static void bad_addresses(void)
{
    int s[2];
    void *const bad = (void *)16;
    struct msghdr m = {.msg_iov = bad, .msg_iovlen = 1};
    socketpair(AF_UNIX, SOCK_STREAM, 0, s);
#define SAY(call) printf("%ld %d, ", (long)(call), errno == EFAULT), errno = 0
    SAY(sendmsg(s[0], bad, 0));
    SAY(recvmsg(s[1], bad, 0));
    SAY(sendmsg(s[0], &m, 0));
    SAY(recvmsg(s[1], &m, 0));
    SAY(writev(s[0], bad, 2));
    SAY(open(bad, O_RDONLY));
    SAY(nanosleep(bad, NULL));
    printf("%d\n", clock_nanosleep(CLOCK_MONOTONIC, 0, bad, NULL) == EFAULT);
    close(s[0]);
    close(s[1]);
}

int main(void)
{
    bad_addresses();
    local();
    server();
    messages();
    limits();
    half_full();
    held_back();
    full_queue();
    broken();
    return 0;
}
