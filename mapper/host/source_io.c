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
    struct pollfd one = {.fd = descriptor, .events = (short)events};
    struct timespec wait = {.tv_sec = wait_ns / 1000000000, .tv_nsec = wait_ns % 1000000000};
    struct peet_source *s = self;
    unsigned ready;
    int n;

    if (wait_ns)
        peet_rt_waits_outside();
    do
        n = ppoll(&one, 1, wait_ns < 0 ? NULL : &wait, NULL);
    while (n < 0 && errno == EINTR && !wait_ns); /* just looking: no signal changes what is there */
    ready = n < 0 && errno != EINTR ? POLLERR : 0;

    if (n > 0)
        ready = (unsigned short)one.revents; /* POLLNVAL too: the call that follows fails, as it would have */
    if (s->record && descriptor >= 0)
        peet__record_answer(s->record, PEET_TAPE_IO, (uint64_t)descriptor, events, ready);
    return ready;
}

/** What a context has sent and the kernel has not delivered comes in host time, up to a fifth of a second later, and
 * connections a second and more: no deadline passes before. */
static int wait_longer(struct pollfd *all, unsigned n)
{
    enum { STEP_NS = 10000000 };
    const struct timespec step = {.tv_nsec = STEP_NS};
    int ready = 0;

    while (!ready && peet_rt_held_back())
        ready = ppoll(all, n, &step, NULL);
    return ready;
}

int peet__source_io_wait(void *self, unsigned n, const int *descriptors, unsigned *events, int64_t wait_ns)
{
    struct pollfd *all = calloc(n + 1, sizeof *all);
    struct timespec wait = {.tv_sec = wait_ns / 1000000000, .tv_nsec = wait_ns % 1000000000};
    struct peet_source *s = self;
    int ready;

    if (!all) { /* one by one, then, without a wait */
        ready = 0;
        for (unsigned i = 0; i < n; i++)
            ready += (events[i] = peet__source_io_ready(self, descriptors[i], events[i], 0)) != 0;
        return ready;
    }
    for (unsigned i = 0; i < n; i++)
        all[i] = (struct pollfd){.fd = descriptors[i], .events = (short)events[i]};
    if (wait_ns)
        peet_rt_waits_outside();
    ready = ppoll(all, n, wait_ns < 0 ? NULL : &wait, NULL);
    if (ready == 0 && wait_ns > 0)
        ready = wait_longer(all, n);
    if (ready < 0 && errno != EINTR) { /* whoever is concerned learns it from the call that follows */
        ready = (int)n;
        for (unsigned i = 0; i < n; i++)
            all[i].revents = POLLERR;
    }
    for (unsigned i = 0; i < n; i++) {
        const unsigned asked = events[i];

        events[i] = ready > 0 ? (unsigned short)all[i].revents : 0;
        if (s->record)
            peet__record_answer(s->record, PEET_TAPE_IO, (uint64_t)descriptors[i], asked, events[i]);
    }
    free(all);
    return ready;
}

/** Children may send signals, and write to memory that they share. */
int peet__source_outside(void *self)
{
    struct peet_source *s = self;
    siginfo_t info;
    const int children = waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0;

    if (s->record)
        peet__record_answer(s->record, PEET_TAPE_OUTSIDE, 0, 0, (uint64_t)children);
    return children;
}

/* ---- of a recording: what was seen then, in the same order; and what nobody looked at then is ready */

unsigned peet__source_io_replayed(void *self, int descriptor, unsigned events, int64_t wait_ns)
{
    struct peet_source *s = self;

    (void)wait_ns;
    return descriptor < 0
        ? 0
        : (unsigned)peet__replay_answer(s->replay, PEET_TAPE_IO, (uint64_t)descriptor, events, events);
}

int peet__source_io_waits_replayed(void *self, unsigned n, const int *descriptors, unsigned *events, int64_t wait_ns)
{
    int ready = 0;

    for (unsigned i = 0; i < n; i++)
        ready += (events[i] = peet__source_io_replayed(self, descriptors[i], events[i], wait_ns)) != 0;
    return ready;
}

int peet__source_outside_replayed(void *self)
{
    return (int)peet__replay_answer(((struct peet_source *)self)->replay, PEET_TAPE_OUTSIDE, 0, 0, 0);
}
