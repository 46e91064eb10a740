/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Objects that processes share.  Among the program's own threads the mapper says who gets them, as ever.  What the
 * C library has in the object is kept in step, so that other processes, which are not simulated, see it, and a thread
 * that the mapper has let through must then get it from them, too: it tries again and again in simulated time.
 */
#include "shared.h"

#include <errno.h>
#include "world/world.h"

/* The object does not say so of a spin lock. */
enum { SPINS_MAX = 256 };
static const volatile void *spins[SPINS_MAX];
static unsigned nspins;

int peet__spin_shared(const volatile void *lock)
{
    unsigned i = nspins;
    while (i > 0 && spins[i - 1] != lock)
        i--;
    return (int)i;
}

void peet__spin_made(const volatile void *lock, int shared)
{
    const int at = peet__spin_shared(lock);
    if (at && !shared)
        spins[at - 1] = spins[--nspins];
    else if (!at && shared && nspins < SPINS_MAX)
        spins[nspins++] = lock;
}

int peet__shared_pause(uint64_t ns, uint64_t deadline)
{
    const uint64_t until = peet__world_deadline_ns(ns);
    return peet__fd_wait_event(-1, 0, until < deadline ? until : deadline) == EINTR ? EINTR : 0;
}

int peet__shared_take(int (*attempt)(void *), void *object, uint64_t deadline)
{
    enum { FIRST_NS = 1000, LAST_NS = 1000000 };
    uint64_t ns = FIRST_NS;
    int err;
    while ((err = attempt(object)) == EBUSY && deadline) {
        if (peet_rt_now() >= deadline)
            return ETIMEDOUT;
        peet__shared_pause(ns, deadline);
        ns = ns < LAST_NS ? 2 * ns : ns;
    }
    return err;
}

int peet__shared_lock(int (*attempt)(void *), void *object, int tries, uint64_t deadline, unsigned unlock,
    const uint64_t *args)
{
    const int err = peet__shared_take(attempt, object, deadline);
    if (err)
        peet__unlock_request(unlock, args);
    return err == EBUSY && !tries ? ETIMEDOUT : err;
}
