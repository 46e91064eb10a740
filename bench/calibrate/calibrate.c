/* SPDX-License-Identifier: Apache-2.0 */
/*
 * calibrate: measure the processor that this runs on and write a preset for the x86 machine.
 *
 *   calibrate BASE OUT
 *   calibrate --clock            only how many cycles a nanosecond has
 *
 * BASE is the preset of the nearest processor (share/peet/presets): what is not measured stays as it has it.  OUT
 * gets the measured numbers laid over it.  The table of measurements goes to standard output.
 */
#include <libconfig.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "measure.h"

struct machine {
    double ghz;
    long l1_bytes, l2_bytes, l3_bytes, l1_ways, l2_ways, line_bytes;
    double l1_ns, l2_ns, l3_ns, dram_ns;
    double one_gbs, all_gbs;
    unsigned threads;
    double parallel; /* misses under way at a time */
    double branch_ns;
    long dtlb_entries, stlb_entries;
    double stlb_ns, walk_ns;
};

static void set_int(config_t *config, const char *key, long value)
{
    config_setting_t *root = config_root_setting(config);

    config_setting_remove(root, key);
    config_setting_set_int(config_setting_add(root, key, CONFIG_TYPE_INT), (int)value);
}

static void set_text(config_t *config, const char *key, const char *value)
{
    config_setting_t *root = config_root_setting(config);

    config_setting_remove(root, key);
    config_setting_set_string(config_setting_add(root, key, CONFIG_TYPE_STRING), value);
}

static long get_int(const config_t *config, const char *key, long otherwise)
{
    int value;

    return config_lookup_int(config, key, &value) ? value : otherwise;
}

static long rounded(double x, long least)
{
    return lround(x) < least ? least : lround(x);
}

/* ------------------------------------------------------------------------------------------- caches */

/** A number of /sys/devices/system/cpu/cpu0/cache/index<n>, which the kernel corrects where cpuid lies; 0: not there */
static long system_cache(int index, const char *what)
{
    char path[100], suffix = 0;
    long value = 0;
    FILE *f;

    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/%s", index, what);
    f = fopen(path, "r");
    if (!f)
        return 0;
    if (fscanf(f, "%ld%c", &value, &suffix) < 1)
        value = 0;
    fclose(f);
    return suffix == 'K' ? value << 10 : suffix == 'M' ? value << 20 : value;
}

/** The size of a level as the system has it, unless the chase says otherwise: beyond it, steps take longer. */
static long size_of(const char *name, int index, int key, long otherwise, double ghz)
{
    long bytes = system_cache(index, "size");
    double within, beyond;

    if (bytes <= 0)
        bytes = sysconf(key);

    if (bytes <= 0) {
        printf("%-28s not known to the system; the base preset's %ld KiB\n", name, otherwise >> 10);
        return otherwise;
    }
    within = measure_chase_ns((size_t)bytes / 2 / 64, 64, 0, 1);
    beyond = measure_chase_ns((size_t)bytes * 3 / 64, 64, 0, 1);
    printf("%-28s %8ld KiB   %.1f cycles in half of it, %.1f in three times as much%s\n", name, bytes >> 10,
        within * ghz, beyond * ghz, beyond > within * 1.3 ? "" : "  (no step to be seen)");
    return bytes;
}

static void caches(struct machine *m, const config_t *base)
{
    size_t far;

    m->l1_bytes = size_of("L1D", 0, _SC_LEVEL1_DCACHE_SIZE, get_int(base, "l1d_bytes", 32 << 10), m->ghz);
    m->l2_bytes = size_of("L2", 2, _SC_LEVEL2_CACHE_SIZE, get_int(base, "l2_bytes", 1 << 20), m->ghz);
    m->l3_bytes = size_of("L3", 3, _SC_LEVEL3_CACHE_SIZE, get_int(base, "l3_slice_bytes", 2 << 20), m->ghz);
    m->l1_ways = system_cache(0, "ways_of_associativity");
    m->l2_ways = system_cache(2, "ways_of_associativity");
    far = (size_t)m->l3_bytes * 8 > (128u << 20) ? (size_t)m->l3_bytes * 8 : 128u << 20;
    far = far > (512u << 20) ? 512u << 20 : far;
    m->l1_ns = measure_chase_ns((size_t)m->l1_bytes / 2 / 64, 64, 0, 1);
    m->l2_ns = measure_chase_ns((size_t)(4 * m->l1_bytes < m->l2_bytes / 2 ? 4 * m->l1_bytes : m->l2_bytes / 2) / 64,
        64, 0, 1);
    m->l3_ns = measure_chase_ns((size_t)(m->l2_bytes * 4 < m->l3_bytes / 2 ? m->l2_bytes * 4 : m->l3_bytes / 2) / 64,
        64, 0, 1);
    m->dram_ns = measure_chase_ns(far / 256, 256, 64, 1);
    printf("%-28s %8.1f %8.1f %8.1f %8.1f cycles\n", "latency L1 L2 L3 DRAM", m->l1_ns * m->ghz, m->l2_ns * m->ghz,
        m->l3_ns * m->ghz, m->dram_ns * m->ghz);
    m->line_bytes = (long)measure_line_bytes(64u << 20);
    printf("%-28s %8ld bytes", "line", m->line_bytes);
    if (sysconf(_SC_LEVEL1_DCACHE_LINESIZE) > 0 && m->line_bytes != sysconf(_SC_LEVEL1_DCACHE_LINESIZE)) {
        /* a prefetcher that brings lines in pairs is not a longer line */
        m->line_bytes = sysconf(_SC_LEVEL1_DCACHE_LINESIZE);
        printf(" come together; the system says that a line has %ld", m->line_bytes);
    }
    printf("\n");
    for (unsigned chains = 1; chains <= 32; chains *= 2) {
        double ns = measure_chains_ns(chains, far, 256);

        if (ns > 0 && m->dram_ns / ns > m->parallel)
            m->parallel = m->dram_ns / ns;
        printf("%-25s %2u %8.1f cycles a step\n", chains == 1 ? "chases at a time" : "", chains, ns * m->ghz);
    }
}

static void bandwidth(struct machine *m)
{
    long threads = sysconf(_SC_NPROCESSORS_ONLN);

    m->threads = threads > 8 ? 8 : threads < 1 ? 1 : (unsigned)threads;
    m->one_gbs = measure_read_gbs(1, 128u << 20);
    m->all_gbs = m->threads > 1 ? measure_read_gbs(m->threads, 128u << 20) : m->one_gbs;
    printf("%-28s %8.1f GB/s with one core, %.1f with %u\n", "reading", m->one_gbs, m->all_gbs, m->threads);
}

/* -------------------------------------------------------------------------------------- translation */

static void translation(struct machine *m, const config_t *base)
{
    static const unsigned pages[] = {16, 24, 32, 40, 48, 56, 64, 72, 80, 96, 112, 128, 192, 256, 384, 512, 768, 1024,
        1536, 2048, 3072, 4096, 6144, 8192};
    enum { N = sizeof pages / sizeof *pages };
    double extra[N], plateau = 0;
    unsigned first = 0, second = 0;

    for (unsigned i = 0; i < N; i++) {
        extra[i] = (measure_chase_ns(pages[i], 4096, 64, 0) - measure_chase_ns(pages[i], 64, 0, 1)) * m->ghz;
        printf("%-18s %9u %8.1f cycles more than without\n", i ? "" : "pages in a chase", pages[i], extra[i]);
    }
    for (unsigned i = 0; i < N && extra[i] < 2; i++)
        first = i;
    for (unsigned i = first + 2; i < N && (!plateau || extra[i] < plateau); i++)
        if (pages[i] >= 2 * pages[first] && extra[i] >= 2)
            plateau = extra[i];
    for (unsigned i = first + 1; i < N && extra[i] < 2 * plateau + 4; i++)
        second = i;
    m->dtlb_entries = pages[first];
    m->stlb_entries = second ? (long)pages[second] : get_int(base, "stlb_entries", 1536);
    m->stlb_ns = plateau / m->ghz;
    m->walk_ns = extra[N - 1] / m->ghz;
    printf("%-28s %8ld and %ld pages; a hit in the second %.1f cycles\n", "translation reaches", m->dtlb_entries,
        m->stlb_entries, plateau);
}

/* ------------------------------------------------------------------------------------------- preset */

/** Ways for so many entries: as many as there may be. */
static long ways_for(long entries, long wanted)
{
    if (wanted > 0 && entries % wanted == 0)
        return wanted;
    for (long ways = 64; ways > 1; ways--)
        if (entries % ways == 0)
            return ways;
    return 1;
}

static void lay(config_t *config, const struct machine *m)
{
    long line = m->line_bytes >= 16 && m->line_bytes <= 256 ? m->line_bytes : 64;
    long l2 = rounded(m->l2_ns * m->ghz, 1), l3 = rounded(m->l3_ns * m->ghz, l2), row = rounded(14 * m->ghz, 1);
    long l3_ways = get_int(config, "l3_ways", 16), channels = 4;
    double bytes_cycle = m->all_gbs / m->ghz, one_cycle = m->one_gbs / m->ghz;
    long burst = rounded((double)(channels * line) / bytes_cycle, 1), dram = rounded(m->dram_ns * m->ghz, 1);
    long overhead = dram - l3 - 3 * row - burst, flight;

    set_int(config, "line_bytes", line);
    set_int(config, "l1d_bytes", m->l1_bytes);
    set_int(config, "l1d_ways", m->l1_ways > 0 ? m->l1_ways : get_int(config, "l1d_ways", 8));
    set_int(config, "l1d_cycles", rounded(m->l1_ns * m->ghz, 1));
    set_int(config, "l1d_mshrs", rounded(m->parallel, 1) > 128 ? 128 : rounded(m->parallel, 1));
    set_int(config, "l2_bytes", m->l2_bytes);
    set_int(config, "l2_ways", m->l2_ways > 0 ? m->l2_ways : get_int(config, "l2_ways", 8));
    set_int(config, "l2_cycles", l2);
    /* Little's law: what one core streams is what it has under way. */
    flight = rounded(one_cycle * (double)dram / (double)line, 1);
    set_int(config, "l2_mshrs",
        flight < rounded(m->parallel, 1) ? rounded(m->parallel, 1)
            : flight > 128               ? 128
                                         : flight);
    set_int(config, "l3_slices", 1);
    set_int(config, "l3_ways", l3_ways);
    set_int(config, "l3_slice_bytes", m->l3_bytes / (l3_ways * line) * l3_ways * line);
    set_int(config, "l3_cycles", l3);
    set_text(config, "topology", "ideal"); /* the distances are in the measured latency */
    set_int(config, "dtlb_entries", m->dtlb_entries);
    set_int(config, "dtlb_ways", ways_for(m->dtlb_entries, get_int(config, "dtlb_ways", 4)));
    set_int(config, "stlb_entries", m->stlb_entries);
    set_int(config, "stlb_ways", ways_for(m->stlb_entries, get_int(config, "stlb_ways", 8)));
    set_int(config, "stlb_cycles", rounded(m->stlb_ns * m->ghz, 1));
    set_int(config, "dram_channels", channels);
    set_int(config, "dram_burst_cycles", burst);
    set_int(config, "dram_cas_cycles", row);
    set_int(config, "dram_activate_cycles", row);
    set_int(config, "dram_precharge_cycles", row);
    set_int(config, "dram_row_active_cycles", rounded(32 * m->ghz, 1));
    set_int(config, "dram_overhead_cycles", overhead > 1 ? overhead : 1);
    set_int(config, "dram_refresh_every_cycles", rounded(7800 * m->ghz, 1));
    set_int(config, "dram_refresh_cycles", rounded(350 * m->ghz, 1));
    set_int(config, "mispredict_cycles", rounded(m->branch_ns * m->ghz, 1));
}

static int write_preset(const char *path, config_t *config, const struct machine *m, const char *base)
{
    FILE *f = fopen(path, "w");

    if (!f) {
        perror(path);
        return 1;
    }
    set_text(config, "about", "measured by calibrate on this machine, over the base preset");
    fprintf(f,
        "# Measured by calibrate over %s: caches, latencies, bandwidth, translation, branches; the clock was %.2f GHz.\n"
        "# DRAM timings (tCL, tRCD, tRP, tRAS, refresh): JEDEC's, in this clock; the rest of the measured latency is overhead.\n",
        base, m->ghz);
    config_write(config, f);
    if (fclose(f)) {
        perror(path);
        return 1;
    }
    return 0;
}

int main(int argc, char **argv)
{
    struct machine m = {0};
    config_t config;
    const char *slash;

    if (argc == 2 && !strcmp(argv[1], "--clock")) {
        printf("%.3f\n", measure_ghz());
        return 0;
    }
    if (argc != 3) {
        fprintf(stderr, "usage: calibrate BASE-PRESET OUT-PRESET\n       calibrate --clock\n");
        return 2;
    }
    config_init(&config);
    if (config_read_file(&config, argv[1]) != CONFIG_TRUE) {
        fprintf(stderr, "calibrate: %s:%d: %s\n", argv[1], config_error_line(&config), config_error_text(&config));
        return 1;
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
    m.ghz = measure_ghz();
    printf("%-28s %8.2f GHz\n", "clock", m.ghz);
    caches(&m, &config);
    bandwidth(&m);
    m.branch_ns = measure_branch_ns();
    printf("%-28s %8.1f cycles\n", "a mispredicted branch", m.branch_ns * m.ghz);
    translation(&m, &config);
    lay(&config, &m);
    slash = strrchr(argv[1], '/');
    if (write_preset(argv[2], &config, &m, slash ? slash + 1 : argv[1]))
        return 1;
    config_destroy(&config);
    return 0;
}
