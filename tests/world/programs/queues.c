/* SPDX-License-Identifier: Apache-2.0 */
/* Message queues between threads: who receives waits in simulated time, a full queue makes senders wait, timeouts expire. */
#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
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

/* What cannot be done is refused at once, by whatever call. */
static void refused(const char *name)
{
    char text[ROOM + 1] = {0};
    struct timespec before, now, until;
    clock_gettime(CLOCK_REALTIME, &before);
    until = (struct timespec){before.tv_sec + 100, 0};
    REQUIRE(mq_timedreceive(-1, text, ROOM, NULL, &until) == -1 && errno == EBADF);
    REQUIRE(mq_timedsend(-1, text, 8, 0, &until) == -1 && errno == EBADF);
    REQUIRE(mq_timedreceive(1, text, ROOM, NULL, &until) == -1 && errno == EBADF);
    REQUIRE(mq_timedreceive(queue, text, ROOM - 1, NULL, &until) == -1 && errno == EMSGSIZE);
    REQUIRE(mq_timedsend(queue, text, ROOM + 1, 0, &until) == -1 && errno == EMSGSIZE);
    REQUIRE(mq_timedsend(queue, text, 8, 1u << 20, &until) == -1 && errno == EINVAL);
    mqd_t one_way = mq_open(name, O_WRONLY);
    REQUIRE(one_way != (mqd_t)-1 && mq_timedreceive(one_way, text, ROOM, NULL, &until) == -1 && errno == EBADF);
    mq_close(one_way);
    one_way = mq_open(name, O_RDONLY);
    REQUIRE(one_way != (mqd_t)-1 && mq_timedsend(one_way, text, 8, 0, &until) == -1 && errno == EBADF);
    mq_close(one_way);
    clock_gettime(CLOCK_REALTIME, &now);
    REQUIRE(now.tv_sec < before.tv_sec + 50);
}

/* Calls that do not wait take their turn, too: who looks late sees what another thread has done early. */
static int semaphores, messages;

static void *early(void *arg)
{
    struct sembuf post = {0, 1, IPC_NOWAIT};
    struct {
        long type;
        char text[8];
    } message = {1, "hello"};
    usleep(1000);
    REQUIRE(!semop(semaphores, &post, 1));
    REQUIRE(!msgsnd(messages, &message, sizeof message.text, IPC_NOWAIT));
    REQUIRE(!mq_send(queue, "hello", 6, 1));
    return arg;
}

static void *late(void *arg)
{
    struct sembuf take = {0, -1, IPC_NOWAIT};
    struct {
        long type;
        char text[8];
    } message;
    char text[ROOM];
    int which = *(int *)arg;
    volatile long x = 0;
    for (long i = 0; i < 3000000; i++) /* more than the millisecond of the other, on the machine's processors */
        x = x + i;
    if (which == 0)
        REQUIRE(!semop(semaphores, &take, 1));
    else if (which == 1)
        REQUIRE(msgrcv(messages, &message, sizeof message.text, 0, IPC_NOWAIT) == sizeof message.text);
    else
        REQUIRE(mq_receive(queue, text, ROOM, NULL) == 6);
    return arg;
}

static void turns(void)
{
    pthread_t t[4];
    int which[3] = {0, 1, 2};
    semaphores = semget(IPC_PRIVATE, 1, 0600 | IPC_CREAT);
    messages = msgget(IPC_PRIVATE, 0600 | IPC_CREAT);
    if (semaphores < 0 || messages < 0)
        return;
    for (int i = 0; i < 3; i++)
        REQUIRE(!pthread_create(&t[i], NULL, late, &which[i]));
    REQUIRE(!pthread_create(&t[3], NULL, early, NULL));
    for (int i = 0; i < 4; i++)
        REQUIRE(!pthread_join(t[i], NULL));
    REQUIRE(!semctl(semaphores, 0, IPC_RMID) && !msgctl(messages, IPC_RMID, NULL));
}

int main(int argc, char **argv)
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
    refused(name);
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
    if (argc > 1 && argv[1])
        turns();
    puts("queues agree");
    return 0;
}
