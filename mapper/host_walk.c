/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Up a context's stack from an allocation to the program's own code (peet_rt_walker of runtime.h), with libunwind.  It
 * runs on the context's own stack, as a visit to the host's world.
 */
#define UNW_LOCAL_ONLY
#include "host_data.h"
#include "runtime.h"

#include <libunwind.h>
#include <uthash.h>
#include <stdlib.h>

enum { FRAMES_MAX = 256 };

/** What is known of a return address. */
struct known {
    UT_hash_handle hh;
    uint64_t pc;
    int own;
};

static struct peet_datamap *data;
static struct known *all;

static int is_own(uint64_t pc)
{
    struct known *k = NULL;

    HASH_FIND(hh, all, &pc, sizeof pc, k);
    if (k)
        return k->own;
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
        for (n = 0; at < got && n < depth; at++)
            if (is_own((uint64_t)(uintptr_t)frames[at]))
                path[n++] = (uint64_t)(uintptr_t)frames[at];
        if (n == depth || got < room || room == FRAMES_MAX)
            return n;
    }
}

void peet_host_data_walk(struct peet_datamap *map, unsigned depth)
{
    data = map;
    peet_rt_set_walker(walk, depth);
}
