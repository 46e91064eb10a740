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
 *
 * CALIBRATE_LAPS=FILE: another thread of the core, which on a virtual computer may be a stranger's, takes up to half of what a
 * program could execute, now and again or nearly always.  So programs say where they are (bench_lap() of
 * bench/programs/common.h), and are timed in parts.  Each begins when additions go as fast as they can, which is waited for; it
 * was undisturbed if they still do at its end; and if the part before it was, too, the caches are the program's own.  FILE has
 * a line for each part: the least cycles of all runs, and 0: disturbed, 1: not, 2: nor was the part before.  The best of these
 * counts.  Its first line says how many calls of bench_lap() make a part of 30 us or more, which the first run finds out, what the
 * parts add up to, and which share of them has got to 2.
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

/** Parts of a program: each has so many calls of calibrate_lap(). */
static struct {
    uint64_t every, calls;
    size_t n, room, known;
    double *least;          /* cycles, of former runs */
    unsigned *grade;        /* ... 0 to 2, as said above */
    uint64_t *took;         /* in this one: nanoseconds or cycles */
    unsigned char *quiet;   /* ... its grade */
    uint64_t begin, asking; /* what asking for the time takes */
    unsigned char before;   /* it was quiet when the part began, and in all of the one before */
    double patience_ns;
} laps;

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

/** Has this thread the core for itself? Then four chains of additions take four a cycle, on every processor of the presets but a small one. */
static int quiet(void)
{
    enum { ROUNDS = 60, EACH = 40 };
    uint64_t w = 0, x = 0, y = 0, z = 0, at = now_ns(CLOCK_MONOTONIC);

    for (int n = 0; n < ROUNDS; n++)
        __asm__ volatile(".rept 10\n add $1, %0\n add $1, %1\n add $1, %2\n add $1, %3\n .endr"
            : "+r"(w), "+r"(x), "+r"(y), "+r"(z));
    return (double)(now_ns(CLOCK_MONOTONIC) - at) < before_ns * (ROUNDS * EACH / 4 * 1.06 + 100);
}

/** Until it is quiet for ten microseconds, or patience ends: who waits for memory looks quiet for one. */
static void await_quiet(void)
{
    const uint64_t since = now_ns(CLOCK_MONOTONIC);

    if (laps.patience_ns <= 0)
        return;
    for (int n = 0; n < 40;) {
        if (quiet())
            n++;
        else
            n = laps.before = 0;
        if ((double)(now_ns(CLOCK_MONOTONIC) - since) > laps.patience_ns)
            break;
    }
    laps.patience_ns -= (double)(now_ns(CLOCK_MONOTONIC) - since);
}

static void end_part(void)
{
    const uint64_t took = now() - laps.begin;

    if (laps.n >= laps.room)
        return;
    laps.took[laps.n] = took > laps.asking ? took - laps.asking : 0;
    laps.quiet[laps.n] = (unsigned char)(1 + laps.before);
    for (int n = 0; n < 10 && laps.quiet[laps.n]; n++)
        if (!quiet())
            laps.quiet[laps.n] = 0;
    laps.before = laps.quiet[laps.n++] != 0;
}

/** Called by the program between two of its rounds: the end of a part. */
void calibrate_lap(void);
void calibrate_lap(void)
{
    laps.calls++;
    if (!laps.every || laps.calls % laps.every)
        return;
    end_part();
    await_quiet();
    laps.begin = now();
}

static void laps_start(const char *path)
{
    enum { MOST = 1 << 16 };
    FILE *f = fopen(path, "r");
    unsigned long long every;

    laps.took = calloc(MOST, sizeof *laps.took);
    laps.least = calloc(MOST, sizeof *laps.least);
    laps.grade = calloc(MOST, sizeof *laps.grade);
    laps.quiet = calloc(MOST, sizeof *laps.quiet);
    laps.room = laps.took && laps.least && laps.grade && laps.quiet ? MOST : 0;
    laps.patience_ns = 1e9;
    if (f && fscanf(f, "%llu %*f %*f", &every) == 1) {
        laps.every = every;
        while (laps.known < laps.room && fscanf(f, "%lf %u", &laps.least[laps.known], &laps.grade[laps.known]) == 2)
            laps.known++;
    }
    if (f)
        fclose(f);
}

/** Each part of this run against the former ones, whose cycles took @p ns each; 0: cycles were counted. */
static void laps_merge(double ns)
{
    for (size_t i = 0; i < laps.n; i++) {
        const double cycles = (double)laps.took[i] / (ns > 0 ? ns : 1);

        if (i >= laps.known || laps.quiet[i] > laps.grade[i] ||
            (cycles < laps.least[i] && laps.quiet[i] == laps.grade[i]))
            laps.least[i] = cycles;
        laps.grade[i] = laps.quiet[i] > laps.grade[i] ? laps.quiet[i] : laps.grade[i];
    }
}

/** A run that took so much is at its end. */
static void laps_stop(const char *path, double ns, uint64_t whole)
{
    double sum = 0, clean = 0;
    FILE *f;

    if (!laps.every) { /* the first run */
        const double each = (double)whole / (laps.calls ? (double)laps.calls : 1), part = ns > 0 ? 30e3 : 90e3;

        laps.every = each >= part ? 1 : (uint64_t)(part / each) + 1;
        laps.n = 0;
    }
    laps_merge(ns);
    for (size_t i = 0; i < laps.n; i++) {
        sum += laps.least[i];
        clean += laps.grade[i] == 2;
    }
    f = fopen(path, "w");
    if (!f)
        return;
    fprintf(f, "%llu %.0f %.3f\n", (unsigned long long)laps.every, sum, laps.n ? clean / (double)laps.n : 0);
    for (size_t i = 0; i < laps.n; i++)
        fprintf(f, "%.0f %u\n", laps.least[i], laps.grade[i]);
    fclose(f);
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
    if (getenv("CALIBRATE_LAPS"))
        laps_start(getenv("CALIBRATE_LAPS"));
    before_ns = cycle_ns();
    counter = getenv("CALIBRATE_WALL") ? -1 : (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
    laps.before = 1;
    laps.asking = UINT64_MAX;
    for (int n = 0; n < 20; n++) {
        const uint64_t at = now(), asking = now() - at;

        laps.asking = asking < laps.asking ? asking : laps.asking;
    }
    if (laps.every)
        await_quiet();
    laps.before = 1; /* what it finds in the caches is nobody's */
    laps.begin = begin = now();
}

__attribute__((destructor)) static void stop(void)
{
    const char *path = getenv("CALIBRATE_CLOCK");
    uint64_t end = now();
    double after_ns;
    FILE *f;

    if (laps.every)
        end_part();
    f = path ? fopen(path, "w") : NULL;

    if (!f)
        return;
    after_ns = cycle_ns();
    fprintf(f, "%s %llu %.5f %.5f\n", counter >= 0 ? "cycles" : "ns", (unsigned long long)(end - begin), before_ns,
        after_ns);
    fclose(f);
    if (getenv("CALIBRATE_LAPS"))
        laps_stop(getenv("CALIBRATE_LAPS"),
            counter >= 0               ? 0
                : before_ns < after_ns ? before_ns
                                       : after_ns,
            end - begin);
}
