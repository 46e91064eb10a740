/* SPDX-License-Identifier: Apache-2.0 */
/* An observer: sizes of blocks as a histogram, and instructions over time as a series that never grows too long.
 *   peet run --observe ./histogram.so -- ./shallow */
#include <stdlib.h>
#include <peet/module.h>
#include <peet/toolkit/histogram.h>
#include <peet/toolkit/windows.h>

struct shape { struct peet_sim_histogram sizes; struct peet_sim_windows series; uint64_t at; };

static void *create(const struct peet_env *env, const union peet_value *v)
{
    struct shape *s = calloc(1, sizeof *s);
    (void)v;
    if (s)
        peet_sim_windows_init(&s->series, 1000);
    else
        env->fail(env, "out of memory");
    return s;
}

static uint64_t block(void *self, unsigned hw, const struct peet_block_event *event, uint64_t now)
{
    struct shape *s = self;
    (void)hw;
    peet_sim_histogram_add(&s->sizes, event->block->ninsns, 1);
    peet_sim_windows_add(&s->series, now, now + event->block->ninsns);
    return 0;
}

static void stats(void *self, const struct peet_env *env, struct peet_stats *node)
{
    struct shape *s = self;
    struct peet_stats *series = env->stats_array(env, node, "instructions_in_window");
    env->stats_u64(env, node, "blocks", s->sizes.count);
    env->stats_u64(env, node, "instructions", s->sizes.sum);
    env->stats_u64(env, node, "median_instructions", peet_sim_histogram_quantile(&s->sizes, 0.5));
    env->stats_u64(env, node, "p99_instructions", peet_sim_histogram_quantile(&s->sizes, 0.99));
    env->stats_u64(env, node, "window_cycles", s->series.width_cycles);
    for (uint32_t i = 0; i < s->series.used; i++)
        env->stats_u64(env, series, NULL, s->series.busy_cycles[i]);
}

const struct peet_module peet_module = {
    .abi = PEET_MODULE_ABI, .struct_size = sizeof peet_module, .name = "histogram", .kind = PEET_OBSERVER,
    .summary = "sizes of blocks, and instructions over time", .needs = PEET_NEEDS_BLOCKS,
    .create = create, .destroy = free, .block = block, .stats = stats};
