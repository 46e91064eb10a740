/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Limits that the subject sets on its own memory (RLIMIT_AS, RLIMIT_DATA).  The kernel counts the whole process, in
 * which the simulator has reserved and needs more than any program asks for; results would be lost.  So the subject's
 * limit is kept here: its heap and its mappings go by it (peet__space_lacks()), it reads what it has set, and what it
 * executes gets it.  The kernel is told nothing before.  A limit that the process was started with (ulimit -v) holds
 * for both worlds as ever.
 */
#include "heap/heap.h"
#include "internal.h"

#include <errno.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

/* What a program has before it allocates anything: itself, the C library, a stack. */
enum { NATIVE_BYTES = 4 << 20 };

static struct kept {
    struct rlimit limit;
    int set;
} kept_space, kept_data;

static struct kept *kept_of(int resource)
{
    if (!peet__rt.simulated || !peet__is_subject())
        return NULL;
    return resource == RLIMIT_AS ? &kept_space : resource == RLIMIT_DATA ? &kept_data : NULL;
}

static int raw(int resource, const struct rlimit *new, struct rlimit *old)
{
    return (int)syscall(SYS_prlimit64, 0, resource, new, old);
}

static int get(int resource, struct rlimit *out)
{
    const struct kept *kept = kept_of(resource);
    if (!kept || !kept->set)
        return raw(resource, NULL, out);
    *out = kept->limit;
    return 0;
}

/* The lower of the two limits. */
static void settle(void)
{
    rlim_t most = RLIM_INFINITY;
    if (kept_space.set && kept_space.limit.rlim_cur < most)
        most = kept_space.limit.rlim_cur;
    if (kept_data.set && kept_data.limit.rlim_cur < most)
        most = kept_data.limit.rlim_cur;
    peet__space_most = most == RLIM_INFINITY ? UINT64_MAX : most > NATIVE_BYTES ? most - NATIVE_BYTES : 0;
    peet__map_count();
}

static int set(int resource, const struct rlimit *limit)
{
    struct kept *kept = kept_of(resource);
    struct rlimit now;
    if (!kept)
        return raw(resource, limit, NULL);
    if (get(resource, &now) != 0)
        return -1;
    if (limit->rlim_cur > limit->rlim_max) {
        errno = EINVAL;
        return -1;
    }
    if (limit->rlim_max > now.rlim_max && geteuid() != 0) {
        errno = EPERM;
        return -1;
    }
    *kept = (struct kept){*limit, 1};
    settle();
    return 0;
}

void peet__rlimit_exec(void)
{
    if (kept_space.set)
        raw(RLIMIT_AS, &kept_space.limit, NULL);
    if (kept_data.set)
        raw(RLIMIT_DATA, &kept_data.limit, NULL);
}

PUBLIC int getrlimit(__rlimit_resource_t resource, struct rlimit *out)
{
    return get((int)resource, out);
}

PUBLIC int setrlimit(__rlimit_resource_t resource, const struct rlimit *limit)
{
    return set((int)resource, limit);
}

PUBLIC int prlimit(pid_t pid, enum __rlimit_resource resource, const struct rlimit *new, struct rlimit *old)
{
    struct rlimit before;
    if ((pid != 0 && pid != getpid()) || !kept_of((int)resource))
        return (int)syscall(SYS_prlimit64, pid, resource, new, old);
    if (get((int)resource, &before) != 0 || (new && set((int)resource, new) != 0))
        return -1;
    if (old)
        *old = before;
    return 0;
}

PUBLIC int getrlimit64(__rlimit_resource_t resource, struct rlimit64 *out) __attribute__((alias("getrlimit")));
PUBLIC int setrlimit64(__rlimit_resource_t resource, const struct rlimit64 *limit) __attribute__((alias("setrlimit")));
PUBLIC int prlimit64(pid_t pid, enum __rlimit_resource resource, const struct rlimit64 *new, struct rlimit64 *old)
    __attribute__((alias("prlimit")));
