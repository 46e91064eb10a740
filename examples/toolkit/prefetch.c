/* SPDX-License-Identifier: Apache-2.0 */
/* An observer: a cache with a prefetcher; how many misses does it save, and how much of what it fetches is used?
 *   peet run --observe ./prefetch.so,kind=stride,lines=2 -- ./shallow */
#include <stdlib.h>
#include <peet/module.h>
#include <peet/toolkit/prefetch.h>
#include <peet/toolkit/tags.h>

enum { DEMANDED = 1, FETCHED };
struct fetcher { struct peet_sim_tags tags; struct peet_sim_prefetcher ahead; uint64_t references, misses, fetched, used; };

static const struct peet_param params[] = {
    {"kind", PEET_PARAM_ENUM, "", "stream", PEET_SIM_PREFETCHERS, "which prefetcher"},
    {"lines", PEET_PARAM_U64, "lines", "4", "1..16", "fetched ahead"}, {0}};

static void *create(const struct peet_env *env, const union peet_value *v)
{
    struct fetcher *f = calloc(1, sizeof *f);
    if (!f || peet_sim_tags_init(&f->tags, 64, 8, PEET_SIM_LRU, 1)) {
        env->fail(env, "out of memory");
        return NULL;
    }
    peet_sim_prefetcher_init(&f->ahead, (enum peet_sim_prefetch_kind)v[0].u64, (uint32_t)v[1].u64, 6, 12);
    return f;
}

static void see(struct fetcher *f, uint64_t pc, uint64_t address)
{
    uint64_t lines[PEET_SIM_PREFETCH_MAX], line = address / 64, slot = peet_sim_tags_find(&f->tags, line);
    int miss = slot == PEET_SIM_NO_SLOT, first = !miss && f->tags.states[slot] == FETCHED;
    f->references++;
    f->misses += (uint64_t)miss;
    f->used += (uint64_t)first;
    if (miss)
        peet_sim_tags_fill(&f->tags, slot = peet_sim_tags_victim(&f->tags, line), line, DEMANDED);
    peet_sim_tags_touch(&f->tags, slot);
    f->tags.states[slot] = DEMANDED;
    for (uint32_t i = 0, n = peet_sim_prefetcher_see(&f->ahead, pc, address, miss || first, lines); i < n; i++)
        if (peet_sim_tags_find(&f->tags, lines[i]) == PEET_SIM_NO_SLOT) {
            peet_sim_tags_fill(&f->tags, peet_sim_tags_victim(&f->tags, lines[i]), lines[i], FETCHED);
            f->fetched++;
        }
}

static uint64_t block(void *self, unsigned hw, const struct peet_block_event *event, uint64_t now)
{
    (void)hw, (void)now;
    for (uint32_t i = 0; i < event->block->nrefs; i++)
        for (struct peet_ref_iter it = peet_ref_begin(&event->block->refs[i], event->values); it.count; it.count--, it.address += (uint64_t)it.step)
            see(self, event->block->insns[event->block->refs[i].insn].pc, it.address);
    return 0;
}

static void stats(void *self, const struct peet_env *env, struct peet_stats *node)
{
    struct fetcher *f = self;
    env->stats_u64(env, node, "references", f->references), env->stats_u64(env, node, "misses", f->misses);
    env->stats_u64(env, node, "fetched_lines", f->fetched), env->stats_u64(env, node, "used_lines", f->used);
}

const struct peet_module peet_module = {
    .abi = PEET_MODULE_ABI, .struct_size = sizeof peet_module, .name = "prefetch", .kind = PEET_OBSERVER, .params = params,
    .summary = "what a prefetcher saves", .needs = PEET_NEEDS_BLOCKS | PEET_NEEDS_ADDRESSES, .create = create, .destroy = free,
    .block = block, .stats = stats};
