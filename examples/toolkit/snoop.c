/* SPDX-License-Identifier: Apache-2.0 */
/* A machine with one bus: stores go over it, all others see and drop their copies; loads that find none go over it too.
 * The bus is a server: who comes while it is taken gets the next gap.
 *   peet run -n 4 --machine ./snoop.so,bus_cycles=6 -- ./shallow */
#include <stdlib.h>
#include <peet/module.h>
#include <peet/toolkit/server.h>
#include <peet/toolkit/tags.h>

struct snoop { struct peet_sim_server bus; struct peet_sim_tags *caches; unsigned n; uint64_t cycles, invalidations; };

static const struct peet_param params[] = {
    {"bus_cycles", PEET_PARAM_U64, "cycles", "6", "1..1000", "a transaction"}, {0}};

static void *create(const struct peet_env *env, const union peet_value *v)
{
    struct snoop *s = calloc(1, sizeof *s);
    if (s && (s->caches = calloc(env->hw_contexts, sizeof *s->caches)) != NULL)
        for (s->n = 0; s->n < env->hw_contexts; s->n++)
            if (peet_sim_tags_init(&s->caches[s->n], 128, 4, PEET_SIM_PLRU, s->n))
                break;
    if (s && s->caches && s->n == env->hw_contexts) {
        s->cycles = v[0].u64;
        return s;
    }
    env->fail(env, "out of memory");
    return NULL;
}

static uint64_t reference(struct snoop *s, unsigned hw, uint64_t line, int write, uint64_t now)
{
    struct peet_sim_tags *t = &s->caches[hw];
    uint64_t slot = peet_sim_tags_find(t, line), start;
    if (slot != PEET_SIM_NO_SLOT)
        peet_sim_tags_touch(t, slot);
    if (slot != PEET_SIM_NO_SLOT && !write)
        return now;
    if (slot == PEET_SIM_NO_SLOT)
        peet_sim_tags_fill(t, peet_sim_tags_victim(t, line), line, 1);
    start = peet_sim_server_request(&s->bus, now, s->cycles);
    for (unsigned c = 0; write && c < s->n; c++)
        if (c != hw && (slot = peet_sim_tags_find(&s->caches[c], line)) != PEET_SIM_NO_SLOT) {
            peet_sim_tags_drop(&s->caches[c], slot);
            s->invalidations++;
        }
    return start + s->cycles;
}

static uint64_t block(void *self, unsigned hw, const struct peet_block_event *event, uint64_t now)
{
    uint64_t at = now;
    for (uint32_t i = 0; i < event->block->nrefs; i++)
        for (struct peet_ref_iter it = peet_ref_begin(&event->block->refs[i], event->values); it.count; it.count--, it.address += (uint64_t)it.step)
            at = reference(self, hw, it.address / 64, event->block->refs[i].kind == PEET_REF_STORE || event->block->refs[i].kind == PEET_REF_MODIFY, at);
    return at - now + event->block->ninsns;
}

static void stats(void *self, const struct peet_env *env, struct peet_stats *node)
{
    struct snoop *s = self;
    env->stats_u64(env, node, "transactions", s->bus.requests), env->stats_u64(env, node, "busy_cycles", s->bus.busy_cycles);
    env->stats_u64(env, node, "waited_cycles", s->bus.waited_cycles), env->stats_u64(env, node, "invalidations", s->invalidations);
}

const struct peet_module peet_module = {
    .abi = PEET_MODULE_ABI, .struct_size = sizeof peet_module, .name = "snoop", .kind = PEET_MACHINE, .params = params,
    .summary = "write-through caches on a bus", .needs = PEET_NEEDS_BLOCKS | PEET_NEEDS_ADDRESSES, .create = create,
    .destroy = free, .block = block, .stats = stats};
