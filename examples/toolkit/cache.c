/* SPDX-License-Identifier: Apache-2.0 */
/* An observer: how often would one cache for everybody have missed, under each replacement policy at once?
 *   cc -shared -fPIC -O2 -I$PREFIX/include -o cache.so cache.c -L$PREFIX/lib -lpeet-toolkit
 *   peet run --observe ./cache.so,size=32KiB,ways=8 -- ./shallow */
#include <stdlib.h>
#include <peet/module.h>
#include <peet/toolkit/tags.h>

enum { POLICIES = 5 };
struct cache { struct peet_sim_tags tags[POLICIES]; uint64_t references, misses[POLICIES]; };

static const struct peet_param params[] = {
    {"size", PEET_PARAM_SIZE, "bytes", "32KiB", "64..", "size of the cache"},
    {"ways", PEET_PARAM_U64, "", "8", "1..64", "its ways"}, {0}};

static void *create(const struct peet_env *env, const union peet_value *v)
{
    struct cache *c = calloc(1, sizeof *c);
    for (int p = 0; c && p < POLICIES; p++)
        if (v[0].u64 / 64 < v[1].u64 || peet_sim_tags_init(&c->tags[p], v[0].u64 / 64 / v[1].u64, (uint32_t)v[1].u64, p, 1)) {
            env->fail(env, "size: less than a set of %u lines, or out of memory", (unsigned)v[1].u64);
            return NULL;
        }
    return c;
}

static uint64_t block(void *self, unsigned hw, const struct peet_block_event *event, uint64_t now)
{
    struct cache *c = self;
    (void)hw, (void)now;
    for (uint32_t i = 0; i < event->block->nrefs; i++)
        for (struct peet_ref_iter it = peet_ref_begin(&event->block->refs[i], event->values); it.count; it.count--, it.address += (uint64_t)it.step) {
            c->references++;
            for (int p = 0; p < POLICIES; p++) {
                uint64_t line = it.address / 64, slot = peet_sim_tags_find(&c->tags[p], line);
                if (slot != PEET_SIM_NO_SLOT) {
                    peet_sim_tags_touch(&c->tags[p], slot);
                } else {
                    peet_sim_tags_fill(&c->tags[p], peet_sim_tags_victim(&c->tags[p], line), line, 1);
                    c->misses[p]++;
                }
            }
        }
    return 0;
}

static void stats(void *self, const struct peet_env *env, struct peet_stats *node)
{
    static const char *const names[POLICIES] = {"lru_misses", "fifo_misses", "random_misses", "plru_misses", "rrip_misses"};
    struct cache *c = self;
    env->stats_u64(env, node, "references", c->references);
    for (int p = 0; p < POLICIES; p++)
        env->stats_u64(env, node, names[p], c->misses[p]);
}

const struct peet_module peet_module = {
    .abi = PEET_MODULE_ABI, .struct_size = sizeof peet_module, .name = "cache", .kind = PEET_OBSERVER,
    .summary = "misses of one cache under five replacement policies", .needs = PEET_NEEDS_BLOCKS | PEET_NEEDS_ADDRESSES,
    .params = params, .create = create, .destroy = free, .block = block, .stats = stats};
