/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Host time of an access to x86's memory system: hits through memory_fast.h, hits the long way, misses.  Run by hand.
 */
#include <time.h>
#include "memrig.h"

enum { WINDOW = 32 };

static double seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/** Loads, and a store in four, of random lines among so many; nanoseconds each. */
static double cost(struct memrig *rig, uint64_t lines, int fast, uint64_t n)
{
    static uint64_t addresses[1 << 16];
    uint64_t seed = 3, now = 0, window[WINDOW] = {0};
    double best = 1e9;

    for (unsigned i = 0; i < 1 << 16; i++)
        addresses[i] = 0x100000 + memrig_random(&seed, lines) * 64;
    for (int try = 0; try < 5; try++) {
        double begin = seconds(), ns;

        for (uint64_t i = 0; i < n; i++) {
            enum x86_access_kind kind = i % 4 ? X86_LOAD : X86_STORE;
            uint64_t done;

            /* no more under way than a core would have */
            now = window[i % WINDOW] > now ? window[i % WINDOW] : now + i % 2;
            if (!fast || !x86_memory_hit_at(rig->memory, 0, 0, addresses[i & 0xffff], 8, kind, now, &done))
                done = memrig_access(rig, 0, addresses[i & 0xffff], 8, kind, now).done_cycles;
            window[i % WINDOW] = done;
        }
        ns = (seconds() - begin) * 1e9 / (double)n;
        best = ns < best ? ns : best;
    }
    return best;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *what;
        uint64_t lines;
        int fast;
    } cases[] = {{"hits in L1D, inline", 256, 1}, {"hits in L1D, the long way", 256, 0}, {"mostly hits in L2", 8192, 1},
        {"mostly hits in L3", 30000, 1}, {"mostly DRAM", 60000, 1}};

    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct memrig rig;

        if (argc > 1 && (unsigned)atoi(argv[1]) != i)
            continue;
        memrig_init(&rig);
        memrig_set(&rig, "l2_prefetch=none");
        if (memrig_open(&rig, 1))
            return 1;
        printf("%-28s %7.1f ns an access\n", cases[i].what,
            cost(&rig, cases[i].lines, cases[i].fast, i < 2 ? 20000000 : 1000000));
        memrig_close(&rig);
    }
    return 0;
}
