/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a reference costs in the bus machine, by kind of stream, with and without classification of misses.  Not a
 * test: prints a table.  Blocks of eight references, four processors, least clock first.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>
#include "rig.h"

enum { REFS = 8, BLOCKS = 1 << 16, HWS = 4 };

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static struct peet_insn insns[REFS + 4];
static struct peet_ref refs[REFS];
static struct peet_block block = {.insns = insns,
    .ninsns = REFS + 4,
    .refs = refs,
    .nrefs = REFS,
    .nvalues = REFS,
    .reads = 5,
    .writes = 3,
    .flags = PEET_BLOCK_SIMPLE,
    .code_bytes = 40};
static uint64_t values[HWS][BLOCKS][REFS];

static void measure(const char *what, const char *ways, const char *classify, const char *replacement, const char *line)
{
    struct rig rig;
    if (rig_open(&rig, HWS, 1, "protocol", "berkeley", "cache", "128KiB", "line", line, "ways", ways, "classify",
            classify, "replacement", replacement, NULL)) {
        fprintf(stderr, "%s\n", rig.failure);
        exit(1);
    }
    unsigned at[HWS] = {0}, rounds = 6, total = rounds * BLOCKS * HWS;
    double start = 0;
    for (unsigned i = 0; i < total; i++) {
        if (i == total / rounds) /* warm */
            start = seconds();
        unsigned hw = 0;
        for (unsigned h = 1; h < HWS; h++)
            hw = rig.clock[h] < rig.clock[hw] ? h : hw;
        struct peet_block_event event = {&block, values[hw][at[hw]++ % BLOCKS], hw, 1, NULL};
        rig_event(&rig, hw, &event);
    }
    double ns = (seconds() - start) * 1e9 / ((double)(total - total / rounds) * REFS);
    rig_finish(&rig);
    double ratio = rig_f64(&rig, "totals.miss_ratio");
    printf("%-22s line=%-3s ways=%-2s %-6s classify=%-3s  miss ratio %.4f  %6.2f ns/reference\n", what, line, ways,
        replacement, classify, ratio, ns);
    rig_close(&rig);
}

static void fill(unsigned kind, uint64_t seed)
{
    for (unsigned hw = 0; hw < HWS; hw++)
        for (unsigned i = 0; i < BLOCKS; i++)
            for (unsigned j = 0; j < REFS; j++) {
                uint64_t base = 0x10000000ull * (hw + 1), n = (uint64_t)i * REFS + j, a;
                switch (kind) {
                case 0: /* a small working set */
                    a = base + 8 * rig_random(&seed, 1024);
                    break;
                case 1: /* three arrays in turn, doubles, beyond the cache */
                    a = base + (j % 3) * 0x1000080 + 8 * (n / 3);
                    break;
                case 2: /* random over four caches' worth */
                    a = base + 8 * rig_random(&seed, 65536);
                    break;
                case 3: /* three quarters of the cache */
                    a = base + 8 * rig_random(&seed, 12288);
                    break;
                default: /* one in ten shared, written by all */
                    a = rig_random(&seed, 10) ? base + 8 * rig_random(&seed, 1024) : 8 * rig_random(&seed, 512);
                }
                values[hw][i][j] = a;
            }
}

int main(int argc, char **argv)
{
    static const char *const names[] = {
        "small working set", "streams", "random, 4 x cache", "random, 3/4 of cache", "shared writes"};
    for (unsigned j = 0; j < REFS; j++)
        refs[j] = (struct peet_ref){.insn = j,
            .size_bytes = 8,
            .value = (uint16_t)j,
            .kind = j % 3 == 2 || j == 7 ? PEET_REF_STORE : PEET_REF_LOAD};
    block.writes = 0;
    for (unsigned j = 0; j < REFS; j++)
        block.writes += refs[j].kind == PEET_REF_STORE;
    block.reads = REFS - block.writes;
    for (unsigned kind = 0; kind < 5; kind++) {
        if (argc > 1 && kind != (unsigned)atoi(argv[1])) /* one kind of stream only */
            continue;
        fill(kind, 12345);
        for (int classify = 0; classify < 2; classify++) {
            const char *c = classify ? "on" : "off";
            measure(names[kind], "1", c, "lru", "32");
            measure(names[kind], "2", c, "lru", "32");
            measure(names[kind], "2", c, "lru", "8");
            measure(names[kind], "4", c, "lru", "32");
            measure(names[kind], "4", c, "plru", "32");
            measure(names[kind], "0", c, "lru", "32");
        }
    }
    return 0;
}
