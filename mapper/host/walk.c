/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Up a context's stack from an allocation to the program's own code (peet_rt_walker of runtime.h), with libunwind.  It
 * runs on the context's own stack, as a visit to the host's world.
 */
#define UNW_LOCAL_ONLY
#include "host/data.h"
#include "runtime.h"

#include <fcntl.h>
#include <libunwind.h>
#include <unistd.h>
#include <uthash.h>
#include <stdlib.h>
#include <sys/resource.h>

enum { FRAMES_MAX = 256 };

/** What is known of a return address. */
struct known {
    UT_hash_handle hh;
    uint64_t pc;
    int own;
};

static struct peet_datamap *data;
static struct known *all;
static int (*find)(uint64_t pc);

static int is_own(uint64_t pc)
{
    struct known *k = NULL;

    HASH_FIND(hh, all, &pc, sizeof pc, k);
    if (k)
        return k->own;
    /* perhaps of a library that has just been loaded, of which nothing has been decoded yet */
    if (!peet_datamap_knows(data, pc))
        find(pc);
    k = malloc(sizeof *k);
    if (!k)
        return peet_datamap_is_own(data, pc);
    k->pc = pc;
    k->own = peet_datamap_is_own(data, pc);
    HASH_ADD(hh, all, pc, sizeof k->pc, k);
    return k->own;
}

static unsigned walk(uint64_t caller, uint64_t *path, unsigned depth)
{
    void *frames[FRAMES_MAX];
    unsigned n = 0;
    int got = 0, room = 24 + (int)depth, at;

    if (!path)
        return (unsigned)is_own(caller);
    if (depth > PEET_RT_PATH_MAX)
        depth = PEET_RT_PATH_MAX;
    for (;; room = FRAMES_MAX) {
        got = unw_backtrace(frames, room);
        for (at = 0; at < got && (uint64_t)(uintptr_t)frames[at] != caller; at++)
            ;
        path[PEET_RT_PATH_MAX] = 0;
        for (n = 0; at < got && n < depth; at++) {
            const uint64_t pc = (uint64_t)(uintptr_t)frames[at];

            if (is_own(pc))
                path[n++] = pc;
            else if (!n && !path[PEET_RT_PATH_MAX] && peet_datamap_knows(data, pc))
                path[PEET_RT_PATH_MAX] = pc;
        }
        if (n == depth || got < room || room == FRAMES_MAX)
            return n;
    }
}

/* Descriptors that are low, and free, are the subject's: what is opened while these are taken has a high number.
 * Returns: how many are */
static unsigned take_descriptors(int *taken, unsigned room)
{
    enum { LEFT = 64 }; /* below the limit */
    struct rlimit limit;
    const int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    unsigned n = 0;
    if (null < 0 || getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return 0;
    const int end = limit.rlim_cur > room + LEFT ? (int)room : (int)limit.rlim_cur - LEFT;
    taken[n++] = null;
    while (n < room && taken[n - 1] < end && (taken[n] = fcntl(null, F_DUPFD_CLOEXEC, 0)) >= 0)
        n++;
    return n;
}

/* libunwind takes a key for values of threads and a pipe when it walks for the first time: now, before the subject has
 * any (peet_rt_give_keys()). */
static void walk_once(void)
{
    enum { LOW = 900 };
    int taken[LOW];
    void *frame;
    const unsigned n = take_descriptors(taken, LOW);

    (void)unw_backtrace(&frame, 1);
    for (unsigned i = 0; i < n; i++)
        close(taken[i]);
}

void peet_host_data_walk(struct peet_datamap *map, unsigned depth, int (*find_image)(uint64_t pc))
{
    data = map;
    find = find_image;
    walk_once();
    peet_rt_set_walker(walk, depth);
}
