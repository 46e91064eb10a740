/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The module dtrack: descriptor, operations, and the short way of an execution that brings nothing new: one comparison
 * for each cell of the block's plan, and one count.  plan.c does the rest.  dtrack.h says which file does what.
 */
#include "dtrack.h"

#include <stdlib.h>
#include <string.h>

static const struct peet_param params[] = {
    {"top", PEET_PARAM_U64, "", "5", "1..100", "structures that the table names; the others are one line"},
    {"window", PEET_PARAM_U64, "evictions", "0", "",
        "a line is missed too early if it comes back before so many more lines have left the cache; 0: as many as the cache has"},
    {"regular", PEET_PARAM_F64, "bits", "2", "0..64",
        "a reference is regular if the entropy of its strides is at most this"},
    {"lines", PEET_PARAM_U64, "", "16", "0..100000", "falsely shared lines that are listed one by one"},
    {0},
};
enum { TOP, WINDOW, REGULAR, LINES };

static void destroy(void *arg)
{
    struct dtrack *self = arg;

    dtrack__evict_free(self->evict);
    dtrack__sharing_free(self->sharing);
    dtrack__plans_fini(self);
    free(self);
}

static void read_levels(struct dtrack *self)
{
    size_t n = 0;
    const struct peet_memory_level *levels = self->env->memory ? self->env->memory(self->env, &n) : NULL;

    for (size_t i = 0; levels && i < n && i < DTRACK_LEVELS; i++) {
        const char *name = levels[i].name ? levels[i].name : "";

        self->split[i] = *name && name[strlen(name) - 1] == 'D'; /* "L1D" */
        self->levels[self->nlevels++] = levels[i];
    }
    if (!self->nlevels || !self->levels[0].line_bytes)
        return;
    self->line_bytes = self->levels[0].line_bytes;
    self->line_shift = (uint32_t)__builtin_ctz(self->line_bytes);
}

static void *create(const struct peet_env *env, const union peet_value *values)
{
    struct dtrack *self;

    if (!env->data_of || !env->data) {
        env->fail(env, "this host does not keep track of data structures");
        return NULL;
    }
    self = calloc(1, sizeof *self);
    if (!self) {
        env->fail(env, "out of memory");
        return NULL;
    }
    self->env = env;
    self->top = values[TOP].u64;
    self->window_evictions = values[WINDOW].u64;
    self->regular_bits = values[REGULAR].f64;
    self->lines = values[LINES].u64;
    self->epoch = self->fixed_epoch = 1;
    self->seed = env->seed;
    read_levels(self);
    if (self->line_bytes & (self->line_bytes - 1)) {
        env->fail(env, "the machine's lines of %u bytes are no power of two", self->line_bytes);
        destroy(self);
        return NULL;
    }
    self->evict = dtrack__evict_new(self);
    if (self->evict && self->line_bytes && env->hw_contexts > self->levels[0].shared_by)
        self->sharing = dtrack__sharing_new(self);
    if (self->failed) {
        destroy(self);
        return NULL;
    }
    return self;
}

static inline __attribute__((always_inline)) void execute(struct dtrack *self, unsigned hw,
    const struct peet_block_event *event)
{
    struct dtrack_plan *plan;
    uint32_t n;

    if (!event->block->nrefs)
        return;
    plan = event->block->id < self->nplans ? &self->plans[event->block->id] : dtrack__plan(self, event->block->id);
    if (DTRACK_UNLIKELY(!plan))
        return;
    if (DTRACK_UNLIKELY(plan->epoch != self->fixed_epoch)) {
        dtrack__slow(self, plan, hw, event);
        return;
    }
    dtrack__catch_up(plan);
    n = plan->ncells;
    for (const struct peet_direct_guard *c = plan->watch->guards, *end = c + n; c != end; c++)
        if (DTRACK_UNLIKELY(!dtrack__hit(c, event->values) || dtrack__is_marked(c, event->values))) {
            dtrack__slow(self, plan, hw, event);
            return;
        }
    if (DTRACK_UNLIKELY(plan->executions == plan->next))
        dtrack__sample(self, plan, event);
    plan->executions++;
    if (DTRACK_UNLIKELY(plan->tallied))
        dtrack__tally_values(plan, event->values);
    if (DTRACK_UNLIKELY(plan->watch->taken != NULL))
        dtrack__arm(self, plan);
}

static uint64_t block(void *self, unsigned hw, const struct peet_block_event *event, uint64_t now)
{
    (void)now;
    execute(self, hw, event);
    return 0;
}

static uint64_t blocks(void *self, unsigned hw, const struct peet_block_event *events, size_t n, uint64_t now,
    uint64_t until, size_t *out_done)
{
    (void)now;
    (void)until;
    for (const struct peet_block_event *e = events, *end = events + n; e != end; e++)
        execute(self, hw, e);
    *out_done = n;
    return 0;
}

static uint64_t loop(void *self, unsigned hw, const struct peet_block_event *event, uint64_t now, uint64_t until,
    uint64_t *out_turns)
{
    (void)now;
    (void)until;
    dtrack__loop(self, hw, event);
    *out_turns = event->turns;
    return 0;
}

/** Allocation changes what an address is; so do stacks that come and go, and what was not shown. */
static uint64_t abstract(void *arg, unsigned hw, const struct peet_abstract_event *event, uint64_t now)
{
    struct dtrack *self = arg;

    (void)hw;
    (void)now;
    switch (event->type) {
    case PEET_ABSTRACT_ALLOC:
    case PEET_ABSTRACT_FREE:
        dtrack__new_epoch(self, 0);
        break;
    case PEET_ABSTRACT_CONTEXT_START: /* its thread-local variables are there now */
    case PEET_ABSTRACT_CONTEXT_EXIT:
    case PEET_ABSTRACT_ROI_BEGIN:
        dtrack__new_epoch(self, 1);
        break;
    default:
        break;
    }
    return 0;
}

static void memory(void *self, const struct peet_memory_event *events, size_t n)
{
    dtrack__memory(self, events, n);
}

static void finish(void *arg, uint64_t end_cycles)
{
    struct dtrack *self = arg;

    dtrack__sharing_finish(self);
    self->end_cycles = end_cycles;
}

static void stats(void *self, const struct peet_env *env, struct peet_stats *node)
{
    dtrack__settle(self);
    dtrack__stats(self, env, node);
}

static int watch_block(void *self, const struct peet_block *block, const uint64_t *values,
    struct peet_direct_watch **out_watch)
{
    return dtrack__watch(self, block, values, out_watch);
}

static int moved(void *self, const struct peet_block *block, struct peet_direct_watch *watch, uint32_t guard,
    uint64_t value)
{
    return dtrack__moved(self, block, watch, guard, value);
}

static int due(void *self, const struct peet_block_event *event, struct peet_direct_watch *watch)
{
    return dtrack__due(self, event, watch);
}

static void marked(void *self, unsigned hw, const struct peet_block *block, const uint64_t *values)
{
    dtrack__marked(self, hw, block, values);
}

static int known(void *self, unsigned hw, const struct peet_block *block, const uint64_t *values)
{
    return dtrack__known(self, hw, block, values);
}

static void undone(void *self, const struct peet_block *block, const uint64_t *values, uint64_t times)
{
    if (values) /* else loop() was not called */
        dtrack__undone(self, block, values, times);
}

static const struct peet_direct_observer observed = {.abi = PEET_DIRECT_ABI,
    .struct_size = sizeof observed,
    .watch = watch_block,
    .moved = moved,
    .due = due,
    .undone = undone,
    .at_commit = 1,
    .marked = marked,
    .known = known};

__attribute__((visibility("default"))) const struct peet_module peet_module = {
    .abi = PEET_MODULE_ABI,
    .struct_size = sizeof(struct peet_module),
    .name = "dtrack",
    .summary = "accesses, misses, stalls, evictions and sharing by data structure",
    .kind = PEET_OBSERVER,
    .needs = PEET_NEEDS_BLOCKS | PEET_NEEDS_ADDRESSES | PEET_NEEDS_ABSTRACT | PEET_NEEDS_NO_LOOKS | PEET_NEEDS_MEMORY |
        PEET_NEEDS_DATA | PEET_NEEDS_FILLS,
    .params = params,
    .create = create,
    .destroy = destroy,
    .block = block,
    .abstract = abstract,
    .finish = finish,
    .stats = stats,
    .loop = loop,
    .blocks = blocks,
    .memory = memory,
    .observed = &observed,
};
