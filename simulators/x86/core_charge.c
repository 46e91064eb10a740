/* SPDX-License-Identifier: Apache-2.0 */
/* What core_charge.h describes.  core.c calls it once for each instruction that moves the frontier. */
#include "core_charge.h"

struct stalled x86_core_charge(struct x86_thread *t, const struct x86_op *op, const struct wait *w, uint64_t retire)
{
    struct x86_place *place = &t->cpu->x->stacks.places[op->place];
    uint64_t rest = retire - t->frontier, before = rest;
    struct stalled stalled = {0, 0};

    if (w->dispatch == t->front.from && w->dispatch > t->frontier) {
        x86_core_put(t, place, t->front.category, &rest, w->dispatch - t->frontier);
        if (t->front.category == CPI_L2 || t->front.category == CPI_L3 || t->front.category == CPI_DRAM ||
            t->front.category == CPI_COHERENCE)
            stalled.store = before - rest;
    }
    x86_core_put(t, place, CPI_BASE, &rest, t->base);
    x86_core_put(t, place, CPI_FETCH, &rest, t->starved);
    if (op->kind != OP_PLAIN) {
        before = rest;
        x86_core_put(t, place, CPI_TLB, &rest, w->tlb);
        x86_core_put(t, place, CPI_COHERENCE, &rest, w->coherence);
        x86_core_put(t, place, w->served, &rest, w->level);
        stalled.own = before - rest;
        x86_core_put(t, place, CPI_FENCE, &rest, w->fence);
    }
    x86_core_put(t, place, CPI_UNITS, &rest, w->issue - w->ready);
    if (op->kind != OP_PLAIN)
        x86_core_put(t, place, CPI_L1, &rest, w->hit);
    x86_core_put(t, place, CPI_DEPENDENCE, &rest, rest);
    t->base = t->starved = 0;
    t->frontier = retire;
    return stalled;
}

static uint8_t level_of(const struct peet_env *env, uint8_t served)
{
    size_t nlevels = 0;

    env->memory(env, &nlevels);
    return (uint8_t)(served == CPI_L2 ? 2 : served == CPI_L3 ? 3 : served == CPI_DRAM ? nlevels + 1 : 0);
}

void x86_core_report_stall(struct x86_thread *t, const struct peet_block *block, const uint64_t *values, uint32_t ref,
    const struct wait *w, struct stalled stalled)
{
    const struct peet_env *env = t->cpu->x->env;
    const struct x86_access *store = &t->store_access;

    if (stalled.store)
        env->report(env,
            &(struct peet_memory_event){.type = PEET_MEMORY_STALL,
                .level = level_of(env, t->front.category),
                .flags = PEET_MEMORY_STORE,
                .hw = t->hw,
                .other = PEET_MEMORY_NOBODY,
                .size_bytes = store->size_bytes,
                .address = store->address,
                .cycles = stalled.store,
                .now = t->frontier,
                .block = store->block,
                .ref = store->ref},
            1);
    if (stalled.own)
        env->report(env,
            &(struct peet_memory_event){.type = PEET_MEMORY_STALL,
                .level = w->level ? level_of(env, w->served) : 0,
                .flags = block->refs[ref].kind == PEET_REF_LOAD ? 0 : PEET_MEMORY_STORE,
                .hw = t->hw,
                .other = PEET_MEMORY_NOBODY,
                .size_bytes = block->refs[ref].size_bytes,
                .address = values[block->refs[ref].value],
                .cycles = stalled.own,
                .now = t->frontier,
                .block = block,
                .ref = ref},
            1);
}
