/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that wait for nobody: who looks late sees what another thread has done early, and who looks early does not see what is done late. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define REQUIRE(x) ((x) ? (void)0 : (printf("%s:%d: %s: %s\n", __FILE__, __LINE__, #x, strerror(errno)), exit(1)))

static int semaphores, messages, memory, ends[2], file;
static mqd_t queue;
static struct stat st;

static void make(const char *name)
{
    const int fd = open(name, O_CREAT | O_EXCL | O_WRONLY, 0600);
    REQUIRE(fd >= 0 && !close(fd));
}

static void *early(void *arg)
{
    usleep(1000);
    REQUIRE(access("late", F_OK) == -1 && stat("late", &st) == -1 && semctl(semaphores, 1, GETVAL) == 0);
    REQUIRE(syscall(SYS_access, "late", F_OK) == -1);
    for (int i = 0; i < 10; i++) {
        char name[8] = {'a' + i};
        make(name);
    }
    REQUIRE(!mkdir("folder", 0700) && !semctl(semaphores, 0, SETVAL, 5) && !ftruncate(file, 1234));
    REQUIRE(!msgsnd(messages, &(struct {
        long type;
        char text[8];
    }){1, "hello"},
        8, IPC_NOWAIT));
    REQUIRE(!shmctl(memory, IPC_RMID, NULL));
    REQUIRE(write(ends[1], "bytes", 5) == 5);
    REQUIRE(queue == (mqd_t)-1 || !mq_send(queue, "hello", 6, 1));
    return arg;
}

static int entries(void)
{
    DIR *folder = opendir(".");
    int n = 0;
    while (readdir(folder))
        n++;
    closedir(folder);
    return n;
}

static void look(long which)
{
    struct msqid_ds about;
    struct shmid_ds shared;
    struct mq_attr attributes = {.mq_curmsgs = 1};
    int n = 0;
    switch (which) {
    case 0:
        REQUIRE(!access("a", F_OK) && !faccessat(AT_FDCWD, "a", F_OK, 0) && !syscall(SYS_access, "a", F_OK));
        break;
    case 1:
        REQUIRE(!stat("a", &st) && !lstat("a", &st) && !fstatat(AT_FDCWD, "a", &st, 0));
        break;
    case 2:
        REQUIRE(!unlink("b") && unlink("b") == -1 && !unlinkat(AT_FDCWD, "c", 0) && !remove("d"));
        break;
    case 3:
        REQUIRE(!rename("e", "e2") && !renameat(AT_FDCWD, "e2", AT_FDCWD, "e"));
        break;
    case 4:
        REQUIRE(mkdir("folder", 0700) == -1 && errno == EEXIST && !rmdir("folder"));
        break;
    case 5:
        REQUIRE(!link("f", "f2") && symlink("f", "g") == -1 && errno == EEXIST &&
            open("h", O_CREAT | O_EXCL, 0600) == -1);
        break;
    case 6:
        REQUIRE(semctl(semaphores, 0, GETVAL) == 5 && !msgctl(messages, IPC_STAT, &about) && about.msg_qnum == 1);
        REQUIRE(shmctl(memory, IPC_STAT, &shared) == -1);
        break;
    case 7:
        REQUIRE(!fstat(file, &st) && st.st_size == 1234 && !chmod("i", 0400) && entries() > 4);
        break;
    case 8:
        REQUIRE(!ioctl(ends[0], FIONREAD, &n) && n == 5);
        REQUIRE(queue == (mqd_t)-1 || (!mq_getattr(queue, &attributes) && attributes.mq_curmsgs == 1));
        break;
    }
}

static void *late(void *arg)
{
    volatile long x = 0;
    for (long i = 0; i < 3000000; i++) /* more than the millisecond of the other, on the machine's processors */
        x = x + i;
    look((long)arg);
    if (!arg) {
        make("late");
        REQUIRE(!semctl(semaphores, 1, SETVAL, 1));
    }
    return arg;
}

int main(int argc, char **argv)
{
    enum { LATE = 9 };
    pthread_t t[LATE + 1];
    char folder[] = "late.XXXXXX", name[64];
    struct mq_attr attributes = {.mq_maxmsg = 4, .mq_msgsize = 16};
    (void)argv;
    REQUIRE(mkdtemp(folder) && !chdir(folder));
    snprintf(name, sizeof name, "/peet-late-%ld", (long)getpid());
    semaphores = semget(IPC_PRIVATE, 2, 0600 | IPC_CREAT);
    messages = msgget(IPC_PRIVATE, 0600 | IPC_CREAT);
    memory = shmget(IPC_PRIVATE, 4096, 0600 | IPC_CREAT);
    queue = mq_open(name, O_CREAT | O_RDWR, 0600, &attributes); /* there may be none here */
    file = open("file", O_CREAT | O_RDWR, 0600);
    REQUIRE(semaphores >= 0 && messages >= 0 && memory >= 0 && file >= 0 && !pipe(ends));
    mq_unlink(name);
    for (long i = 0; i < LATE && argc > 1; i++)
        REQUIRE(!pthread_create(&t[i], NULL, late, (void *)i));
    REQUIRE(!pthread_create(&t[LATE], NULL, early, NULL));
    for (int i = argc > 1 ? 0 : LATE; i <= LATE; i++)
        REQUIRE(!pthread_join(t[i], NULL));
    REQUIRE(!semctl(semaphores, 0, IPC_RMID) && !msgctl(messages, IPC_RMID, NULL) && !chdir(".."));
    puts("late is late");
    return 0;
}
