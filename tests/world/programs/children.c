/* SPDX-License-Identifier: Apache-2.0 */
/* Children run beside the simulation; waiting for them does not stop other threads. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/file.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/wait.h>
#include <unistd.h>

static int gate[2];

static void *open_gate(void *arg)
{
    (void)arg;
    usleep(1000);
    write(gate[1], "go", 2);
    return NULL;
}

/* The child waits for another thread of its parent. */
static void depends(void)
{
    pthread_t t;
    int status = 0;
    pipe(gate);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        char c[2];
        _exit(read(gate[0], c, 2) == 2 && c[0] == 'g' ? 7 : 8);
    }
    pthread_create(&t, NULL, open_gate, NULL);
    pid_t got = waitpid(child, &status, 0);
    pthread_join(t, NULL);
    printf("child %d %d\n", got == child, WEXITSTATUS(status));
    printf("no more %d %s\n", (int)wait(&status), strerror(errno));
}

static void *wait_too(void *arg)
{
    int status;
    *(int *)arg = wait(&status) > 0 ? WEXITSTATUS(status) : -1;
    return NULL;
}

static void several(void)
{
    pthread_t t[3];
    int status[3];
    for (int k = 0; k < 3; k++)
        if (fork() == 0) {
            usleep(20000 * (useconds_t)k);
            _exit(10 + k);
        }
    for (int k = 0; k < 3; k++)
        pthread_create(&t[k], NULL, wait_too, &status[k]);
    for (int k = 0; k < 3; k++)
        pthread_join(t[k], NULL);
    printf("children %d\n", status[0] + status[1] + status[2]);
}

static void commands(void)
{
    char line[100] = "";
    printf("system %d\n", WEXITSTATUS(system("exit 3")));
    FILE *f = popen("echo from a child; sleep 0.05; echo and more", "r");
    while (fgets(line, sizeof line, f))
        printf("popen: %s", line);
    printf("pclose %d\n", pclose(f));
    fflush(stdout);
    f = popen("cat", "w");
    fprintf(f, "through cat\n");
    printf("pclose %d\n", pclose(f));
}

static int queue, semaphores, lock;

static void *other_side(void *arg)
{
    struct { long type; char text[16]; } m = {2, "message"};
    struct sembuf up = {0, 3, 0};
    (void)arg;
    usleep(500);
    msgsnd(queue, &m, sizeof m.text, 0);
    usleep(500);
    semop(semaphores, &up, 1);
    int fd = open("/dev/null", 0);
    close(fd);
    usleep(500);
    flock(lock, LOCK_UN);
    return NULL;
}

static void *others(void *arg)
{
    usleep(1000000);
    return arg;
}

static void system_v(void)
{
    pthread_t t, u;
    struct { long type; char text[16]; } m;
    struct sembuf down = {0, -3, 0};
    char path[] = "lock.XXXXXX";
    queue = msgget(IPC_PRIVATE, 0600);
    semaphores = semget(IPC_PRIVATE, 1, 0600);
    lock = mkstemp(path);
    int again = open(path, 2);
    flock(lock, LOCK_EX);
    pthread_create(&t, NULL, other_side, NULL);
    pthread_create(&u, NULL, others, NULL);
    printf("msgrcv %d %s\n", (int)msgrcv(queue, &m, sizeof m.text, 2, 0), m.text);
    printf("semop %d %d\n", semop(semaphores, &down, 1), semctl(semaphores, 0, GETVAL));
    printf("flock %d\n", flock(again, LOCK_EX));
    pthread_join(t, NULL);
    pthread_join(u, NULL);
    msgctl(queue, IPC_RMID, NULL);
    semctl(semaphores, 0, IPC_RMID);
    unlink(path);
}

static void handler(int signal)
{
    (void)signal;
}

/* Actions of signals are what the parent has set, and a signal that comes at once finds nothing else either. */
static void signals(void)
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_NOCLDSTOP}, there;
    sigaddset(&action.sa_mask, SIGUSR2);
    sigaction(SIGUSR1, &action, NULL);
    int status, killed = 0;
    pid_t child = fork();
    if (child == 0) {
        sigaction(SIGUSR1, NULL, &there);
        _exit((there.sa_handler == handler) + 2 * !(there.sa_flags & SA_SIGINFO) + 4 * sigismember(&there.sa_mask, SIGUSR2));
    }
    waitpid(child, &status, 0);
    printf("signals: %d\n", WEXITSTATUS(status));
    for (int k = 0; k < 50; k++) {
        child = fork();
        if (child == 0)
            for (;;)
                pause();
        kill(child, SIGUSR2);
        waitpid(child, &status, 0);
        killed += WIFSIGNALED(status) && WTERMSIG(status) == SIGUSR2;
    }
    printf("killed: %d\n", killed);
}

int main(void)
{
    signals();
    depends();
    several();
    commands();
    system_v();
    return 0;
}
