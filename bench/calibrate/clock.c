/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Preloaded into a program: what processor time it takes from main() to its end, in nanoseconds, to the file that
 * CALIBRATE_CLOCK names.  Pages are brought in beforehand, as far as they can be, so that the kernel's part, which
 * no model of a processor has, stays small; where the processor lets itself be counted, only cycles in user mode are.
 * Two more fields are what a cycle took before and afterwards, in nanoseconds, by a chain of dependent multiplications.
 *
 *   CALIBRATE_CLOCK=FILE LD_PRELOAD=./clock.so PROGRAM ARGS...     "ns 12345678 0.2726 0.2727" or "cycles 12345678 ..."
 *
 * CALIBRATE_WALL: time on the wall, for programs with several threads.  No large pages are used, as no preset has them.
 */
#define _GNU_SOURCE
#include <linux/perf_event.h>
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

static int counter = -1;
static clockid_t which = CLOCK_PROCESS_CPUTIME_ID;
static uint64_t begin;
static double before_ns;

static uint64_t now_ns(clockid_t of)
{
    struct timespec t;

    clock_gettime(of, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint64_t now(void)
{
    uint64_t cycles;

    if (counter >= 0 && read(counter, &cycles, sizeof cycles) == sizeof cycles)
        return cycles;
    return now_ns(which);
}

/** What a cycle takes now: three are a multiplication that waits for the one before, on every processor of the presets. */
static double cycle_ns(void)
{
    enum { ROUNDS = 2000, EACH = 8, TRIES = 20 };
    double best = 1e30;

    for (int i = 0; i < TRIES; i++) {
        uint64_t x = 3, at = now_ns(CLOCK_MONOTONIC);
        double ns;

        for (int n = 0; n < ROUNDS; n++)
            __asm__ volatile("imul %0, %0\n imul %0, %0\n imul %0, %0\n imul %0, %0\n"
                             "imul %0, %0\n imul %0, %0\n imul %0, %0\n imul %0, %0"
                : "+r"(x));
        ns = (double)(now_ns(CLOCK_MONOTONIC) - at) / (3.0 * ROUNDS * EACH);
        best = ns < best ? ns : best;
    }
    return best;
}

static void populate(void)
{
    char line[500], mode[8];
    unsigned long from, to;
    void *room;
    FILE *maps;

    mallopt(M_MMAP_MAX, 0); /* the heap grows in one place, and stays */
    mallopt(M_TRIM_THRESHOLD, 1 << 30);
    mallopt(M_TOP_PAD, 64 << 20);
    room = malloc(48 << 20);
    free(room);
    maps = fopen("/proc/self/maps", "r");
    while (maps && fgets(line, sizeof line, maps))
        if (sscanf(line, "%lx-%lx %7s", &from, &to, mode) == 3 && mode[0] == 'r' && mode[1] == 'w' &&
            to - from < 1ul << 30)
            madvise((void *)from, to - from, MADV_POPULATE_WRITE);
    if (maps)
        fclose(maps);
}

__attribute__((constructor)) static void start(void)
{
    struct perf_event_attr attr = {.type = PERF_TYPE_HARDWARE,
        .size = sizeof attr,
        .config = PERF_COUNT_HW_CPU_CYCLES,
        .exclude_kernel = 1,
        .exclude_hv = 1};

    if (!getenv("CALIBRATE_CLOCK"))
        return;
    prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
    populate();
    if (getenv("CALIBRATE_WALL"))
        which = CLOCK_MONOTONIC;
    before_ns = cycle_ns();
    counter = which == CLOCK_MONOTONIC ? -1 : (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
    begin = now();
}

__attribute__((destructor)) static void stop(void)
{
    const char *path = getenv("CALIBRATE_CLOCK");
    uint64_t end = now();
    FILE *f = path ? fopen(path, "w") : NULL;

    if (!f)
        return;
    fprintf(f, "%s %llu %.5f %.5f\n", counter >= 0 ? "cycles" : "ns", (unsigned long long)(end - begin), before_ns,
        cycle_ns());
    fclose(f);
}
