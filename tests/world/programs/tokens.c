// SPDX-License-Identifier: Apache-2.0
// One byte, one connection, one count for many threads that read, accept or take: each goes to one, and the others wait on.
// A pseudo-terminal between two threads: who writes more than it holds waits for the reader.
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <termios.h>
#include <unistd.h>

enum { THREADS = 6, ROUNDS = 40, LINES = 300 };
static int token[2], event, listener, terminal, counter;
static pthread_t threads[THREADS];

static void all(void *(*fn)(void *))
{
    for (long i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, fn, (void *)i);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}

/* A lock made of a pipe that holds one byte. */
static void *pass_byte(void *arg)
{
    char c;
    for (int i = 0; i < ROUNDS; i++) {
        if (read(token[0], &c, 1) != 1)
            abort();
        counter++;
        usleep((long)arg * 7);
        if (write(token[1], &c, 1) != 1)
            abort();
    }
    return NULL;
}

static void *pass_count(void *unused)
{
    uint64_t one = 1;
    for (int i = 0; i < ROUNDS; i++) {
        if (read(event, &one, sizeof one) != sizeof one || one != 1)
            abort();
        counter++;
        if (write(event, &one, sizeof one) != sizeof one)
            abort();
    }
    return NULL;
}

static void *serve(void *unused)
{
    for (;;) {
        char c = 0;
        int fd = accept(listener, NULL, NULL);
        if (fd < 0 || read(fd, &c, 1) != 1)
            abort();
        if (c != '.') /* the others may have theirs at the same time */
            __atomic_fetch_add(&counter, 1, __ATOMIC_RELAXED);
        close(fd);
        if (c == '.')
            return NULL;
    }
}

static void *ask(void *arg)
{
    struct sockaddr_in *address = arg;
    for (int i = 0; i < ROUNDS + THREADS; i++) {
        int fd = socket(AF_INET, SOCK_STREAM, 0);
        if (connect(fd, (struct sockaddr *)address, sizeof *address) != 0 || write(fd, i < ROUNDS ? "x" : ".", 1) != 1)
            abort();
        close(fd);
    }
    return NULL;
}

static void *feed(void *arg)
{
    const char *name = arg;
    int fd = open(name, O_RDWR | O_NOCTTY);
    FILE *f = fdopen(fd, "w");
    char line[200];
    memset(line, 'a', sizeof line);
    for (int i = 0; i < LINES; i++)
        if (write(fd, line, sizeof line) != sizeof line)
            abort();
    for (int i = 0; i < LINES; i++)
        fprintf(f, "%199d\n", i);
    fclose(f);
    return NULL;
}

int main(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    struct termios raw;
    char buffer[1000];
    long got = 0, n;

    if (pipe(token) != 0 || write(token[1], "t", 1) != 1)
        return 1;
    all(pass_byte);
    printf("bytes %d\n", counter);
    counter = 0;
    event = eventfd(1, 0);
    all(pass_count);
    printf("counts %d\n", counter);
    counter = 0;
    listener = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(listener, (struct sockaddr *)&address, size) != 0 || listen(listener, 50) != 0 ||
        getsockname(listener, (struct sockaddr *)&address, &size) != 0)
        return 1;
    pthread_t asker;
    pthread_create(&asker, NULL, ask, &address);
    all(serve);
    pthread_join(asker, NULL);
    printf("connections %d\n", counter);

    terminal = posix_openpt(O_RDWR | O_NOCTTY);
    if (terminal < 0 || grantpt(terminal) != 0 || unlockpt(terminal) != 0)
        return 1;
    int other = open(ptsname(terminal), O_RDWR | O_NOCTTY);
    tcgetattr(other, &raw);
    cfmakeraw(&raw);
    tcsetattr(other, TCSANOW, &raw);
    pthread_create(&asker, NULL, feed, ptsname(terminal));
    while (got < 2L * LINES * 200 && (n = read(terminal, buffer, sizeof buffer)) > 0)
        got += n;
    pthread_join(asker, NULL);
    printf("terminal %ld\n", got);
    return 0;
}
