/* SPDX-License-Identifier: Apache-2.0 */
/* What the kernel's files say of threads: their numbers, names and states, how many there are. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static sem_t named, end;
static pid_t number;

static void *run(void *name)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    if (name) {
        pthread_setname_np(pthread_self(), name);
        pthread_sigmask(SIG_BLOCK, &set, NULL);
    }
    number = gettid();
    sem_post(&named);
    sem_wait(&end);
    return NULL;
}

/* As libdispatch reads it. */
static void show_stat(const char *format)
{
    char path[100], text[1024] = "", name[40], state;
    int pid, threads;
    snprintf(path, sizeof path, format, (int)number);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || read(fd, text, sizeof text - 1) <= 0)
        printf("%s: %s\n", format, strerror(errno));
    close(fd);
    if (sscanf(text, "%d (%39[^)]) %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %d ", &pid, name,
            &state, &threads) != 4)
        printf("%s: '%s'\n", format, text);
    printf("%s: %d %s %c %d\n", format, pid == number, strstr(name, "tasks") ? "its own" : name, state, threads);
}

static void show_status(void)
{
    char path[100], line[200];
    snprintf(path, sizeof path, "/proc/%d/task/%d/status", (int)getpid(), (int)number);
    FILE *f = fopen(path, "r");
    while (f && fgets(line, sizeof line, f)) {
        if (strncmp(line, "Name:", 5) == 0)
            fputs(strstr(line, "tasks") ? "Name: its own\n" : line, stdout);
        if (strncmp(line, "State:", 6) == 0 || strncmp(line, "Threads:", 8) == 0 || strncmp(line, "SigBlk:", 7) == 0)
            fputs(line, stdout);
        if (strncmp(line, "Pid:", 4) == 0)
            printf("Pid: %d\n", atoi(line + 4) == number);
        if (strncmp(line, "Tgid:", 5) == 0)
            printf("Tgid: %d\n", atoi(line + 5) == getpid());
    }
    if (f)
        fclose(f);
}

int main(void)
{
    static char *const names[] = {"a worker", NULL, "an other one"};
    pthread_t threads[3];
    char line[100], path[100];
    FILE *f;
    for (int i = 0; i < 3; i++) {
        pthread_create(&threads[i], NULL, run, names[i]);
        sem_wait(&named);
        usleep(100000);
        if (i < 2)
            show_stat("/proc/self/task/%d/stat");
        show_stat("/proc/%d/stat");
        show_status();
        snprintf(path, sizeof path, "/proc/self/task/%d/comm", (int)number);
        if ((f = fopen(path, "r")) && fgets(line, sizeof line, f))
            fputs(strstr(line, "tasks") ? "its own\n" : line, stdout);
        if (f)
            fclose(f);
    }
    for (int i = 0; i < 3; i++)
        sem_post(&end);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    snprintf(path, sizeof path, "/proc/self/task/%d/stat", (int)number);
    printf("over: %d\n", open(path, O_RDONLY) < 0 && errno == ENOENT);
    return 0;
}
