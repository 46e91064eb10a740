/* SPDX-License-Identifier: Apache-2.0 */
/* Write-back caches with the states M and S, and memory that always takes as long.  Hits are peet's: it takes them in machine code, and
 * lets each processor run ahead of the others as long as it hits.  What the machine does for that: keys, hints, and before().
 *   peet run -n 4 --machine ./ahead.so,memory_cycles=60 -- ./shallow */
#include <stdlib.h>
#include <peet/toolkit/ahead.h>
#include <peet/toolkit/tags.h>

enum { SETS = 128, WAYS = 4, HINTS = 4096, SHIFT = 6, S = 1, M = 2 };
struct cache { struct peet_sim_tags tags; uint64_t keys[SETS * WAYS], reads, writes, misses, stalled; uint32_t hints[HINTS]; };
struct msi { struct peet_sim_ahead *ahead; const struct peet_env *env; struct cache *caches; unsigned n; uint64_t memory_cycles; };

static const struct peet_param params[] = {{"memory_cycles", PEET_PARAM_U64, "cycles", "60", "1..1000", "a miss, or the right to write"}, {0}};

static void destroy(void *self)
{
    struct msi *m = self;
    for (unsigned i = 0; m->caches && i < m->n; i++)
        peet_sim_tags_fini(&m->caches[i].tags);
    peet_sim_ahead_free(m->ahead), free(m->caches), free(m);
}

static void *create(const struct peet_env *env, const union peet_value *v)
{
    struct msi *m = calloc(1, sizeof *m);
    if (m && (m->caches = calloc(env->hw_contexts, sizeof *m->caches)) != NULL)
        for (m->env = env, m->memory_cycles = v[0].u64; m->n < env->hw_contexts; m->n++)
            if (peet_sim_tags_init(&m->caches[m->n].tags, SETS, WAYS, PEET_SIM_LRU, 0))
                break;
    if (m && m->caches && m->n == env->hw_contexts)
        return m;
    env->fail(env, "out of memory");
    return NULL;
}

static void set(struct cache *c, uint64_t slot, uint8_t state) /* peet's view follows the state */
{
    c->tags.states[slot] = state;
    c->keys[slot] = state ? c->tags.numbers[slot] << PEET_SIM_KEY_SHIFT | PEET_SIM_MAY_READ | (state == M ? PEET_SIM_MAY_WRITE : 0) : 0;
}

static uint64_t refer(void *self, unsigned hw, uint64_t line, int write, uint64_t now)
{
    struct msi *m = self;
    struct cache *c = &m->caches[hw];
    uint64_t slot = peet_sim_tags_find(&c->tags, line), other;
    const uint64_t cycles = slot != PEET_SIM_NO_SLOT && (!write || c->tags.states[slot] == M) ? 0 : m->memory_cycles;
    (void)now;
    for (unsigned i = 0; cycles && i < m->n; i++)
        if (i != hw && (other = peet_sim_tags_find(&m->caches[i].tags, line)) != PEET_SIM_NO_SLOT) {
            peet_sim_ahead_before(m->ahead, hw, i, other, write ? 0 : PEET_SIM_MAY_READ);
            set(&m->caches[i], other, write ? 0 : S);
        }
    c->misses += slot == PEET_SIM_NO_SLOT;
    if (slot == PEET_SIM_NO_SLOT)
        peet_sim_tags_fill(&c->tags, slot = peet_sim_tags_victim(&c->tags, line), line, S);
    else
        peet_sim_tags_touch(&c->tags, slot);
    set(c, slot, write || c->tags.states[slot] == M ? M : S);
    c->hints[line % HINTS] = (uint32_t)slot;
    return cycles;
}

static void counted(void *self, unsigned hw, uint64_t reads, uint64_t writes)
{
    struct cache *c = &((struct msi *)self)->caches[hw];
    c->reads += reads, c->writes += writes;
}

static uint64_t execute(void *self, unsigned hw, const struct peet_block_event *event, uint64_t now, uint64_t *stalled)
{
    uint64_t waited = 0;
    for (uint32_t i = 0; i < event->block->nrefs; i++) {
        const struct peet_ref *ref = &event->block->refs[i];
        for (struct peet_ref_iter it = peet_ref_begin(ref, event->values); it.count && ref->kind != PEET_REF_PREFETCH; it.count--, it.address += (uint64_t)it.step) {
            counted(self, hw, ref->kind != PEET_REF_STORE, ref->kind != PEET_REF_LOAD);
            for (uint64_t line = it.address >> SHIFT; line <= (it.address + (ref->size_bytes ? ref->size_bytes - 1 : 0)) >> SHIFT; line++)
                waited += refer(self, hw, line, ref->kind != PEET_REF_LOAD, now + waited);
        }
    }
    *stalled += waited;
    return now + waited + event->block->ninsns;
}

static void stalled(void *self, unsigned hw, uint64_t cycles) { ((struct msi *)self)->caches[hw].stalled += cycles; }

static uint64_t block(void *self, unsigned hw, const struct peet_block_event *event, uint64_t now)
{
    uint64_t waited = 0, end = execute(self, hw, event, now, &waited);
    stalled(self, hw, waited);
    return end - now;
}

static uint64_t cost(void *self, const struct peet_block *b) { return (void)self, b->ninsns; }

static uint32_t find(void *self, unsigned hw, uint64_t line)
{
    const uint64_t slot = peet_sim_tags_find(&((struct msi *)self)->caches[hw].tags, line);
    return slot == PEET_SIM_NO_SLOT ? PEET_SIM_NO_VIEW_SLOT : (uint32_t)slot;
}

static int table(void *self, struct peet_direct_table *out)
{
    struct msi *m = self;
    const struct peet_sim_ahead_machine machine = {.env = m->env, .self = m, .line_shift = SHIFT, .hints_mask = HINTS - 1, .cost = cost, .find = find,
        .refer = refer, .block = execute, .counted = counted, .stalled = stalled};
    struct peet_sim_view views[m->n];
    for (unsigned i = 0; i < m->n; i++)
        views[i] = (struct peet_sim_view){m->caches[i].keys, m->caches[i].tags.stamps, &m->caches[i].tags.clock, m->caches[i].hints};
    return (m->ahead = peet_sim_ahead_new(&machine, m->n, views, out)) != NULL ? 0 : -1;
}
static const struct peet_direct direct = PEET_SIM_AHEAD_DIRECT(table);

static void stats(void *self, const struct peet_env *env, struct peet_stats *node)
{
    struct msi *m = self;
    struct cache all = {.reads = 0};
    for (unsigned i = 0; i < m->n; i++)
        all.reads += m->caches[i].reads, all.writes += m->caches[i].writes, all.misses += m->caches[i].misses, all.stalled += m->caches[i].stalled;
    env->stats_u64(env, node, "reads", all.reads), env->stats_u64(env, node, "writes", all.writes);
    env->stats_u64(env, node, "misses", all.misses), env->stats_u64(env, node, "stall_cycles", all.stalled);
}

const struct peet_module peet_module = {
    .abi = PEET_MODULE_ABI, .struct_size = sizeof peet_module, .name = "ahead", .kind = PEET_MACHINE, .params = params,
    .summary = "write-back caches, MSI, whose hits peet takes", .needs = PEET_NEEDS_BLOCKS | PEET_NEEDS_ADDRESSES, .create = create,
    .destroy = destroy, .block = block, .stats = stats, .direct = &direct};
