/* SPDX-License-Identifier: Apache-2.0 */
/* aio_read() and its like: requests that wait in pipes, order on one descriptor, waiting with and without time limit,
 * notification by signal and by thread, cancellation, lists. */
#include "harness.h"
#include <aio.h>
#include <fcntl.h>
#include <semaphore.h>
#include <signal.h>

static volatile sig_atomic_t taken, value, code;

static void handler(int signal, siginfo_t *info, void *context)
{
    (void)signal;
    (void)context;
    taken++;
    value = info->si_value.sival_int;
    code = info->si_code;
}

static void install(int signal)
{
    struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
    taken = value = code = 0;
    OK(sigaction(signal, &action, NULL));
}

static int file(void)
{
    FILE *f = tmpfile();
    int fd = f ? dup(fileno(f)) : -1;
    if (f)
        fclose(f);
    CHECK(fd >= 0);
    return fd;
}

static void wait_for(const struct aiocb *a)
{
    while (aio_error(a) == EINPROGRESS)
        OK(aio_suspend(&a, 1, NULL));
}

CASE(written_and_read)
{
    char out[100], in[100] = {0};
    int fd = file();
    memset(out, 7, sizeof out);
    struct aiocb a = {.aio_fildes = fd, .aio_buf = out, .aio_nbytes = sizeof out, .aio_offset = 50},
                 b = {.aio_fildes = fd, .aio_buf = in, .aio_nbytes = sizeof in, .aio_offset = 51};
    a.aio_sigevent.sigev_notify = b.aio_sigevent.sigev_notify = SIGEV_NONE;
    OK(aio_write(&a));
    wait_for(&a);
    EQUAL(aio_error(&a), 0);
    EQUAL(aio_return(&a), 100);
    OK(aio_fsync(O_SYNC, &a));
    wait_for(&a);
    OK(aio_return(&a));
    OK(aio_read(&b));
    wait_for(&b);
    EQUAL(aio_return(&b), 99);
    OK(memcmp(out, in, 99));
    close(fd);
    OK(aio_read(&b));
    wait_for(&b);
    EQUAL(aio_error(&b), EBADF);
    EQUAL(aio_return(&b), -1);
    a.aio_reqprio = -1;
    FAILS(aio_write(&a), EINVAL);
    FAILS(aio_fsync(12345, &a), EINVAL);
    FAILS(aio_cancel(fd, NULL), EBADF);
}

CASE(pipes)
{
    int ends[2];
    char byte = 'x', got = 0;
    OK(pipe(ends));
    struct aiocb a = {.aio_fildes = ends[0], .aio_buf = &got, .aio_nbytes = 1};
    const struct aiocb *list[] = {NULL, &a};
    struct timespec wait = {0, 3000000}, until;
    install(SIGUSR1);
    a.aio_sigevent =
        (struct sigevent){.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1, .sigev_value.sival_int = 4711};
    OK(aio_read(&a));
    EQUAL(aio_error(&a), EINPROGRESS);
    until = in_ms(CLOCK_MONOTONIC, 3);
    FAILS(aio_suspend(list, 2, &wait), EAGAIN);
    CHECK(reached(CLOCK_MONOTONIC, &until));
    EQUAL(aio_error(&a), EINPROGRESS);
    EQUAL(aio_cancel(ends[0], &a), AIO_NOTCANCELED);
    EQUAL(taken, 0);
    EQUAL(write(ends[1], &byte, 1), 1);
    while (!taken)
        pause_ms(1);
    EQUAL(taken, 1);
    EQUAL(value, 4711);
    EQUAL(code, SI_ASYNCIO);
    OK(aio_suspend(list, 2, NULL));
    EQUAL(aio_error(&a), 0);
    EQUAL(aio_return(&a), 1);
    EQUAL(got, 'x');
    EQUAL(aio_cancel(ends[0], &a), AIO_ALLDONE);
    close(ends[0]);
    close(ends[1]);
}

static sem_t called;

static void notified(union sigval with)
{
    value = with.sival_int;
    sem_post(&called);
}

/* The second waits for the first, and can still be withdrawn. */
CASE(canceled)
{
    int ends[2];
    char bytes[3] = {0};
    struct aiocb a[3];
    OK(pipe(ends));
    sem_init(&called, 0, 0);
    value = 0;
    memset(a, 0, sizeof a);
    for (int i = 0; i < 3; i++) {
        a[i].aio_fildes = ends[0];
        a[i].aio_buf = bytes + i;
        a[i].aio_nbytes = 1;
        a[i].aio_sigevent.sigev_notify = SIGEV_NONE;
    }
    a[1].aio_sigevent.sigev_notify = SIGEV_THREAD;
    a[1].aio_sigevent.sigev_notify_function = notified;
    a[1].aio_sigevent.sigev_value.sival_int = 31;
    for (int i = 0; i < 3; i++)
        OK(aio_read(a + i));
    pause_ms(20);
    EQUAL(aio_cancel(ends[0], a + 1), AIO_CANCELED);
    EQUAL(aio_error(a + 1), ECANCELED);
    EQUAL(aio_return(a + 1), -1);
    OK(sem_wait(&called));
    EQUAL(value, 31);
    FAILS(aio_cancel(ends[1], a + 2), EINVAL);
    EQUAL(write(ends[1], "ab", 2), 2);
    wait_for(a);
    wait_for(a + 2);
    EQUAL(bytes[0], 'a');
    EQUAL(bytes[1], 0);
    EQUAL(bytes[2], 'b');
    close(ends[0]);
    close(ends[1]);
}

CASE(lists)
{
    enum { N = 6 };
    int fd = file();
    long out[N], in[N] = {0};
    struct aiocb a[N], *all[N + 1] = {0};
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR2, .sigev_value.sival_int = 5};
    memset(a, 0, sizeof a);
    for (int i = 0; i < N; i++) {
        out[i] = i * 3;
        a[i].aio_fildes = fd;
        a[i].aio_buf = out + i;
        a[i].aio_nbytes = sizeof *out;
        a[i].aio_offset = (off_t)(i * sizeof *out);
        a[i].aio_lio_opcode = LIO_WRITE;
        a[i].aio_sigevent.sigev_notify = SIGEV_NONE;
        all[i] = a + i;
    }
    OK(lio_listio(LIO_WAIT, all, N + 1, NULL));
    for (int i = 0; i < N; i++) {
        EQUAL(aio_error(a + i), 0);
        EQUAL(aio_return(a + i), sizeof *out);
        a[i].aio_buf = in + i;
        a[i].aio_lio_opcode = LIO_READ;
    }
    install(SIGUSR2);
    OK(lio_listio(LIO_NOWAIT, all, N, &event));
    while (!taken)
        pause_ms(1);
    EQUAL(taken, 1);
    EQUAL(value, 5);
    OK(memcmp(out, in, sizeof in));
    FAILS(lio_listio(77, all, N, NULL), EINVAL);
    a[2].aio_fildes = -1;
    FAILS(lio_listio(LIO_WAIT, all, N, NULL), EIO);
    EQUAL(aio_error(a + 2), EBADF);
    close(fd);
}

static void *writes(void *arg)
{
    pause_ms(5);
    EQUAL(write(*(int *)arg, "y", 1), 1);
    return NULL;
}

/* Which of several descriptors comes first. */
CASE(first_of_many)
{
    int ends[2][2];
    char bytes[2] = {0};
    struct aiocb a[2];
    const struct aiocb *list[] = {a, a + 1};
    memset(a, 0, sizeof a);
    for (int i = 0; i < 2; i++) {
        OK(pipe(ends[i]));
        a[i].aio_fildes = ends[i][0];
        a[i].aio_buf = bytes + i;
        a[i].aio_nbytes = 1;
        a[i].aio_sigevent.sigev_notify = SIGEV_NONE;
        OK(aio_read(a + i));
    }
    pthread_t t = start(writes, &ends[1][1]);
    OK(aio_suspend(list, 2, NULL));
    EQUAL(aio_error(a), EINPROGRESS);
    EQUAL(aio_error(a + 1), 0);
    EQUAL(bytes[1], 'y');
    finish(t);
    EQUAL(write(ends[0][1], "z", 1), 1);
    wait_for(a);
    EQUAL(bytes[0], 'z');
}
