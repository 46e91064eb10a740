/* SPDX-License-Identifier: Apache-2.0 */
/* The observer `races`: blocks and events come here.  See races.h. */
#include "races.h"

#include <stdlib.h>

static const struct peet_param params[] = {
    {"limit", PEET_PARAM_U64, "", "1000", "1..1000000", "pairs of places that are kept; more are counted"},
    {"volatile", PEET_PARAM_ENUM, "", "plain", "plain|atomic",
        "what accesses to volatile variables are: C's, or ordered like atomic ones, as older programs mean them"},
    {0},
};

static void destroy(void *self)
{
    struct races *const r = self;
    races_tasks_free(r);
    for (uint32_t i = 0; i < r->ncontexts; i++)
        races_strand_drop(r, r->contexts[i].base);
    for (uint32_t i = 0; i < r->nthreads; i++)
        races_strand_drop(r, r->threads[i]);
    for (uint32_t i = 0; i < r->nloops; i++) {
        races_clocks_free(&r->loops[i].begin);
        races_clocks_free(&r->loops[i].end);
    }
    races_objects_free(r);
    races_blocks_free(r);
    races_races_free(r);
    races_sites_free(r);
    races_clocks_free(&r->input);
    races_clocks_free(&r->signals);
    peet_sim_linemap_fini(&r->words);
    free(r->names);
    free(r->free_slots);
    free(r->slot_clocks);
    free(r->contexts);
    free(r->loops);
    free(r->threads);
    free(r->cells);
    free(r);
}

static void *create(const struct peet_env *env, const union peet_value *values)
{
    struct races *const r = calloc(1, sizeof *r);
    if (!r) {
        env->fail(env, "out of memory");
        return NULL;
    }
    r->env = env;
    r->limit = values[0].u64;
    r->volatile_is_atomic = values[1].u64 != 0;
    peet_sim_linemap_init(&r->words, sizeof(uint32_t));
    if (races_grow(r, &r->cells, &r->cells_room, 1, sizeof *r->cells)) {
        destroy(r);
        return NULL;
    }
    return r;
}

static void widen(struct races_range *range, uint64_t address, uint64_t bytes)
{
    range->low = address < range->low ? address : range->low;
    range->high = address + bytes > range->high ? address + bytes : range->high;
}

/* A stack that a program has made itself lies anywhere: it is no part of the one that the frames are on. */
static int is_far(const struct races_range *range, uint64_t address)
{
    enum { FAR = 64 << 20 };
    return range->low < range->high &&
        (range->low > address ? range->low - address > FAR : address > range->high && address - range->high > FAR);
}

/* A task or an iteration has a frame there.  Where it has had none yet, others had theirs before. */
static void push(struct races *r, struct races_range *range, uint64_t address, uint64_t bytes)
{
    const struct races_range before = *range;
    if (is_far(range, address))
        return;
    widen(range, address, bytes);
    if (before.low > before.high)
        races_forget(r, address, bytes);
    else if (range->low < before.low)
        races_forget(r, range->low, before.low - range->low);
    else if (range->high > before.high)
        races_forget(r, before.high, range->high - before.high);
}

enum { VECTOR_BYTES = 16 };

/* One location.  @bytes: of all elements */
static void refer(struct races *r, struct races_context *c, const struct peet_block *block, uint32_t ref,
    uint64_t address, uint64_t bytes)
{
    const struct peet_ref *const reference = &block->refs[ref];
    const int writes = reference->kind != PEET_REF_LOAD;
    const int atomic =
        reference->flags & PEET_REF_ATOMIC || (reference->flags & PEET_REF_VOLATILE && r->volatile_is_atomic);
    const uint8_t how = (uint8_t)((writes ? RACES_WRITE : 0) | (atomic ? RACES_ATOMIC : 0));
    /* of libraries and assembly it is what the processor does */
    const uint8_t order =
        reference->order && reference->flags & PEET_REF_ATOMIC ? reference->order : PEET_ORDER_SEQ_CST;
    if (reference->flags & PEET_REF_STACK && c->now->kind >= RACES_TASK)
        push(r, &c->now->stack, address, bytes);
    if (atomic && reference->kind != PEET_REF_STORE)
        races_reads_atom(r, c->now, address, order);
    const uint32_t site = races_site(r, c, block, ref, how);
    if (site && !(!how && reference->size_bytes >= VECTOR_BYTES && r->sites[site]->reaches))
        races_access(r, c->now, address, bytes, how, site);
    if (atomic && writes)
        races_writes_atom(r, c->now, address, reference->kind == PEET_REF_STORE, order);
}

static int fences(const struct peet_block *block)
{
    for (uint32_t i = 0; i < block->ninsns; i++)
        if (block->insns[i].opcode->klass == PEET_INSN_FENCE && strcmp(block->insns[i].opcode->name, "MFENCE") == 0)
            return 1;
    return 0;
}

static uint64_t block(void *self, unsigned hw, const struct peet_block_event *event, uint64_t now)
{
    struct races *const r = self;
    const struct peet_block *const b = event->block;
    struct races_context *c;
    (void)hw;
    r->now = now;
    if (r->failed || !(c = races_context(r, event->context)))
        return 0;
    if (c->wait != PEET_ABSTRACT_NONE)
        races_resume(r, c, NULL);
    races_executes(c, b);
    if (b->flags & PEET_BLOCK_TURN && fences(b))
        races_fence(r, c->now);
    for (uint32_t i = 0; i < b->nrefs && !r->failed; i++) {
        const struct peet_ref *const ref = &b->refs[i];
        const struct peet_ref_iter it = peet_ref_begin(ref, event->values);
        const int64_t step = it.step < 0 ? -it.step : it.step;
        if (ref->kind == PEET_REF_PREFETCH || !it.count)
            continue;
        const uint64_t bytes = it.count > 1 ? it.count * (uint64_t)step : ref->size_bytes;
        const uint64_t address = it.step < 0 ? it.address - (it.count - 1) * (uint64_t)step : it.address;
        if (ref->flags & PEET_REF_TLS)
            widen(&c->thread_local_data, address, bytes);
        else
            refer(r, c, b, i, address, bytes);
    }
    return 0;
}

static uint64_t abstract(void *self, unsigned hw, const struct peet_abstract_event *event, uint64_t now)
{
    struct races *const r = self;
    (void)hw;
    r->now = now;
    if (!r->failed)
        races_abstract(r, event);
    return 0;
}

static void stats(void *self, const struct peet_env *env, struct peet_stats *node)
{
    races_stats(self, env, node);
}

__attribute__((visibility("default"))) const struct peet_module peet_module = {
    .abi = PEET_MODULE_ABI,
    .struct_size = sizeof(struct peet_module),
    .name = "races",
    .summary = "data races: accesses that no synchronisation orders",
    .kind = PEET_OBSERVER,
    .needs = PEET_NEEDS_BLOCKS | PEET_NEEDS_ADDRESSES | PEET_NEEDS_ABSTRACT | PEET_NEEDS_DATA | PEET_NEEDS_NO_LOOKS |
        PEET_NEEDS_ORDER,
    .params = params,
    .create = create,
    .destroy = destroy,
    .block = block,
    .abstract = abstract,
    .stats = stats,
};
