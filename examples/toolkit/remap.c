/* SPDX-License-Identifier: Apache-2.0 */
/* An observer: misses of a direct-mapped cache as the program is, and with a range of its memory laid out otherwise:
 * elements of `element` bytes from `from` on, `stride` bytes apart.  (peet run --remap does that for any machine, by name.)
 *   peet run --observe ./remap.so,from=0x404000,bytes=4096,element=8,stride=64 -- ./shallow */
#include <stdlib.h>
#include <peet/module.h>
#include <peet/toolkit/remap.h>
#include <peet/toolkit/tags.h>

struct layouts { struct peet_sim_remap remap; struct peet_sim_tags plain, other; uint64_t plain_misses, other_misses, moved; };

static const struct peet_param params[] = {
    {"from", PEET_PARAM_U64, "", "0", "", "first byte of the range"}, {"bytes", PEET_PARAM_SIZE, "bytes", "4096", "1..", "its size"},
    {"element", PEET_PARAM_SIZE, "bytes", "8", "1..", "of an element"}, {"stride", PEET_PARAM_SIZE, "bytes", "64", "1..", "from one to the next"}, {0}};

static void *create(const struct peet_env *env, const union peet_value *v)
{
    struct peet_sim_rule rule = {.from = v[0].u64, .bytes = v[1].u64, .to = 0x700000000000, .element_bytes = v[2].u64, .stride_bytes = v[3].u64};
    struct layouts *l = calloc(1, sizeof *l);
    if (!l || peet_sim_tags_init(&l->plain, 512, 1, PEET_SIM_LRU, 1) || peet_sim_tags_init(&l->other, 512, 1, PEET_SIM_LRU, 1)) {
        env->fail(env, "out of memory");
        return NULL;
    }
    peet_sim_remap_init(&l->remap);
    if (peet_sim_remap_add(&l->remap, &rule) == PEET_SIM_REMAP_OK)
        return l;
    env->fail(env, "stride: less than element, so that elements would lie on one another");
    return NULL;
}

static int miss(struct peet_sim_tags *t, uint64_t line)
{
    if (peet_sim_tags_find(t, line) != PEET_SIM_NO_SLOT)
        return 0;
    peet_sim_tags_fill(t, peet_sim_tags_victim(t, line), line, 1);
    return 1;
}

static uint64_t block(void *self, unsigned hw, const struct peet_block_event *event, uint64_t now)
{
    struct layouts *l = self;
    (void)hw, (void)now;
    for (uint32_t i = 0; i < event->block->nrefs; i++)
        for (struct peet_ref_iter it = peet_ref_begin(&event->block->refs[i], event->values); it.count; it.count--, it.address += (uint64_t)it.step) {
            uint64_t other = peet_sim_remap_address(&l->remap, it.address);
            l->moved += other != it.address;
            l->plain_misses += (uint64_t)miss(&l->plain, it.address / 64);
            l->other_misses += (uint64_t)miss(&l->other, other / 64);
        }
    return 0;
}

static void stats(void *self, const struct peet_env *env, struct peet_stats *node)
{
    env->stats_u64(env, node, "moved", ((struct layouts *)self)->moved);
    env->stats_u64(env, node, "plain_misses", ((struct layouts *)self)->plain_misses);
    env->stats_u64(env, node, "other_misses", ((struct layouts *)self)->other_misses);
}

const struct peet_module peet_module = {
    .abi = PEET_MODULE_ABI, .struct_size = sizeof peet_module, .name = "remap", .kind = PEET_OBSERVER, .params = params,
    .summary = "misses with another layout", .needs = PEET_NEEDS_BLOCKS | PEET_NEEDS_ADDRESSES, .create = create,
    .destroy = free, .block = block, .stats = stats};
