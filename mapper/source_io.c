/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Descriptors of the subject, seen by the host: which of the poll(2) events that a context waits for are there.
 * The engine asks when a context's IO_WAIT is performed and while any context waits; how often, and
 * when the whole process may sleep for it, is the engine's business.
 */
#include "source_parts.h"

#include <errno.h>
#include <poll.h>
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
