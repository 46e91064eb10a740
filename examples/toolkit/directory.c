/* SPDX-License-Identifier: Apache-2.0 */
/* An observer: invalidations that infinite caches would send, with a full directory and with a few pointers each.
 *   peet run -n 8 --observe ./directory.so,pointers=2 -- ./shallow */
#include <stdlib.h>
#include <peet/module.h>
#include <peet/toolkit/directory.h>
#include <peet/toolkit/linemap.h>

enum { KINDS = 3 }; /* full, broadcast, evict */
struct home { struct peet_sim_directory kinds[KINDS]; struct peet_sim_linemap lines[KINDS]; uint64_t sent[KINDS]; };

static const struct peet_param params[] = {
    {"pointers", PEET_PARAM_U64, "", "2", "1..14", "of the limited directories"}, {0}};

static void *create(const struct peet_env *env, const union peet_value *v)
{
    struct home *h = calloc(1, sizeof *h);
    for (int k = 0; h && k < KINDS; k++) {
        h->kinds[k] = (struct peet_sim_directory){.kind = (enum peet_sim_directory_kind)k, .cores = env->hw_contexts, .pointers = (uint32_t)v[0].u64};
        peet_sim_linemap_init(&h->lines[k], (peet_sim_directory_bytes(&h->kinds[k]) + 7) / 8 * 8);
    }
    return h;
}

static void see(struct home *h, unsigned hw, uint64_t address, int write)
{
    for (int k = 0; k < KINDS; k++) {
        const struct peet_sim_directory *d = &h->kinds[k];
        union peet_sim_sharers *s = peet_sim_linemap_get(&h->lines[k], address / 64);
        if (!s)
            return;
        if (write) {
            for (int c = -1; (c = peet_sim_sharers_next(d, s, (uint32_t)(c + 1))) != PEET_SIM_NOBODY;)
                h->sent[k] += (unsigned)c != hw;
            peet_sim_sharers_clear(d, s);
        }
        h->sent[k] += peet_sim_sharers_add(d, s, hw) != PEET_SIM_NOBODY; /* somebody has to make room */
    }
}

static uint64_t block(void *self, unsigned hw, const struct peet_block_event *event, uint64_t now)
{
    (void)now;
    for (uint32_t i = 0; i < event->block->nrefs; i++)
        for (struct peet_ref_iter it = peet_ref_begin(&event->block->refs[i], event->values); it.count; it.count--, it.address += (uint64_t)it.step)
            see(self, hw, it.address, event->block->refs[i].kind == PEET_REF_STORE || event->block->refs[i].kind == PEET_REF_MODIFY);
    return 0;
}

static void stats(void *self, const struct peet_env *env, struct peet_stats *node)
{
    struct home *h = self;
    env->stats_u64(env, node, "full_invalidations", h->sent[0]);
    env->stats_u64(env, node, "broadcast_invalidations", h->sent[1]), env->stats_u64(env, node, "evict_invalidations", h->sent[2]);
}

const struct peet_module peet_module = {
    .abi = PEET_MODULE_ABI, .struct_size = sizeof peet_module, .name = "directory", .kind = PEET_OBSERVER, .params = params,
    .summary = "invalidations by kind of directory", .needs = PEET_NEEDS_BLOCKS | PEET_NEEDS_ADDRESSES, .create = create,
    .destroy = free, .block = block, .stats = stats};
