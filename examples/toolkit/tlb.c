/* SPDX-License-Identifier: Apache-2.0 */
/* An observer: how much translation would cost with pages of 4 KiB and of 2 MiB, side by side.
 *   peet run --observe ./tlb.so,walk_read_cycles=30 -- ./shallow */
#include <stdlib.h>
#include <peet/module.h>
#include <peet/toolkit/tlb.h>

struct pages { struct peet_sim_tlb small, large; uint64_t read_cycles, cycles[2]; };

static const struct peet_param params[] = {
    {"walk_read_cycles", PEET_PARAM_U64, "cycles", "30", "0..1000", "one read of a page table"}, {0}};

static uint64_t walk_read(void *self, uint64_t address, uint64_t now)
{
    (void)address;
    return now + ((struct pages *)self)->read_cycles;
}

static void *create(const struct peet_env *env, const union peet_value *v)
{
    struct peet_sim_tlb_config config = {.l1_entries = 64, .l1_ways = 4, .l2_entries = 1536, .l2_ways = 12, .l2_cycles = 7,
        .upper_entries = 32, .page_bits = 12};
    struct pages *p = calloc(1, sizeof *p);
    if (!p || peet_sim_tlb_init(&p->small, &config) || (config.page_bits = 21, peet_sim_tlb_init(&p->large, &config))) {
        env->fail(env, "out of memory");
        return NULL;
    }
    p->read_cycles = v[0].u64;
    return p;
}

static uint64_t block(void *self, unsigned hw, const struct peet_block_event *event, uint64_t now)
{
    struct pages *p = self;
    (void)hw;
    for (uint32_t i = 0; i < event->block->nrefs; i++)
        for (struct peet_ref_iter it = peet_ref_begin(&event->block->refs[i], event->values); it.count; it.count--, it.address += (uint64_t)it.step) {
            p->cycles[0] += peet_sim_tlb_translate(&p->small, it.address, now, walk_read, p) - now;
            p->cycles[1] += peet_sim_tlb_translate(&p->large, it.address, now, walk_read, p) - now;
        }
    return 0;
}

static void stats(void *self, const struct peet_env *env, struct peet_stats *node)
{
    struct pages *p = self;
    env->stats_u64(env, node, "accesses", p->small.accesses);
    env->stats_u64(env, node, "walks_4k", p->small.walks);
    env->stats_u64(env, node, "walks_2m", p->large.walks);
    env->stats_u64(env, node, "cycles_4k", p->cycles[0]);
    env->stats_u64(env, node, "cycles_2m", p->cycles[1]);
}

const struct peet_module peet_module = {
    .abi = PEET_MODULE_ABI, .struct_size = sizeof peet_module, .name = "tlb", .kind = PEET_OBSERVER,
    .summary = "translation with small and with large pages", .needs = PEET_NEEDS_BLOCKS | PEET_NEEDS_ADDRESSES,
    .params = params, .create = create, .destroy = free, .block = block, .stats = stats};
