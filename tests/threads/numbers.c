/* SPDX-License-Identifier: Apache-2.0 */
/* What calls say and do of a thread by its number, gettid(). */
#define _GNU_SOURCE
#include "harness.h"

#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static void *processors(void *arg)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    pthread_getaffinity_np(pthread_self(), sizeof set, &set);
    return (void *)(long)CPU_COUNT(&set);
}

static volatile pid_t number;
static volatile int go_on;

static void *numbered(void *arg)
{
    struct sched_param param;
    const pid_t self = gettid();
    EQUAL(sched_getscheduler(self), SCHED_OTHER);
    OK(sched_getparam(self, &param));
    OK(sched_setscheduler(self, SCHED_OTHER, &param));
    errno = 0;
    const int priority = getpriority(PRIO_PROCESS, (id_t)self);
    OK(errno);
    OK(setpriority(PRIO_PROCESS, (id_t)self, priority));
    EQUAL(syscall(SYS_getpriority, PRIO_PROCESS, self), 20 - priority);
    number = self;
    while (!go_on)
        sched_yield();
    return processors(arg);
}

CASE(scheduling_by_the_number_of_a_thread)
{
    cpu_set_t set, one;
    number = go_on = 0;
    pthread_t t = start(numbered, NULL);
    int cpu = 0;
    while (!number)
        sched_yield();
    OK(sched_getaffinity(number, sizeof set, &set));
    while (!CPU_ISSET(cpu, &set))
        cpu++;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    OK(sched_setaffinity(number, sizeof one, &one));
    go_on = 1;
    EQUAL(finish(t), 1);
}

static void *raise_own(void *arg)
{
    return (void *)(long)setpriority(PRIO_PROCESS, (id_t)gettid(), getpriority(PRIO_PROCESS, 0) + 1);
}

/* A number of a thread's may be another process's. */
CASE(priorities_of_others_stay)
{
    enum { CHILDREN = 4 };
    pid_t children[CHILDREN];
    int pipes[2], before[CHILDREN];
    OK(pipe(pipes));
    for (int i = 0; i < CHILDREN; i++) {
        children[i] = fork();
        if (!children[i]) {
            char byte;
            close(pipes[1]);
            _exit(read(pipes[0], &byte, 1) != 0);
        }
        before[i] = getpriority(PRIO_PROCESS, (id_t)children[i]);
    }
    for (int i = 0; i < 8; i++)
        finish(start(raise_own, NULL));
    for (int i = 0; i < CHILDREN; i++)
        EQUAL(getpriority(PRIO_PROCESS, (id_t)children[i]), before[i]);
    close(pipes[1]);
    close(pipes[0]);
    for (int i = 0; i < CHILDREN; i++)
        EQUAL(waitpid(children[i], NULL, 0), children[i]);
}
