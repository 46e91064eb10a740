/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Descriptors of the subject, seen by the host: which of the poll(2) events that a context waits for are there.
 * The engine asks when a context's IO_WAIT is performed and while any context waits; how often, and
 * when the whole process may sleep for it, is the engine's business.
 */
#include "host/source_parts.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>

unsigned peet__source_io_ready(void *self, int descriptor, unsigned events, int64_t wait_ns)
{
    struct pollfd one = { .fd = descriptor, .events = (short)events };
    struct timespec wait = { .tv_sec = wait_ns / 1000000000, .tv_nsec = wait_ns % 1000000000 };
    int n = ppoll(&one, 1, wait_ns < 0 ? NULL : &wait, NULL);

    (void)self;
    if (n > 0)
        return (unsigned short)one.revents; /* POLLNVAL too: the call that follows fails, as it would have */
    return n < 0 && errno != EINTR ? POLLERR : 0;
}

int peet__source_io_wait(void *self, unsigned n, const int *descriptors, unsigned *events, int64_t wait_ns)
{
    struct pollfd *all = calloc(n + 1, sizeof *all);
    struct timespec wait = { .tv_sec = wait_ns / 1000000000, .tv_nsec = wait_ns % 1000000000 };
    int ready;

    if (!all) { /* one by one, then, without a wait */
        ready = 0;
        for (unsigned i = 0; i < n; i++)
            ready += (events[i] = peet__source_io_ready(self, descriptors[i], events[i], 0)) != 0;
        return ready;
    }
    for (unsigned i = 0; i < n; i++)
        all[i] = (struct pollfd){ .fd = descriptors[i], .events = (short)events[i] };
    ready = ppoll(all, n, wait_ns < 0 ? NULL : &wait, NULL);
    if (ready < 0 && errno != EINTR) { /* whoever is concerned learns it from the call that follows */
        ready = (int)n;
        for (unsigned i = 0; i < n; i++)
            all[i].revents = POLLERR;
    }
    for (unsigned i = 0; i < n; i++)
        events[i] = ready > 0 ? (unsigned short)all[i].revents : 0;
    free(all);
    return ready;
}

/** Children may send signals, and write to memory that they share. */
int peet__source_outside(void *self)
{
    siginfo_t info;

    (void)self;
    return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}
