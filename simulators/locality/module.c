/* SPDX-License-Identifier: Apache-2.0 */
/* The module locality: its descriptor, and the way of a reference through stacks and lines. */
#include "sampled.h"
#include "sparse.h"

#include <peet/direct.h>
#include <stdlib.h>
#include <string.h>

static const struct peet_param params[] = {
    {"functions", PEET_PARAM_BOOL, "", "off", "", "a surface for each function"},
    {"structures", PEET_PARAM_BOOL, "", "off", "", "a surface for each data structure"},
    {"merged", PEET_PARAM_BOOL, "", "on", "", "where there are several contexts: the surface of their merged stream"},
    {"windows", PEET_PARAM_BOOL, "", "on", "", "surfaces of windows of time: up to 64 of equal length"},
    {"lines", PEET_PARAM_BOOL, "", "on", "", "reuse times, working set and sharing of lines of the width `line`"},
    {"line", PEET_PARAM_SIZE, "bytes", "64", "4..4096", "a power of two"},
    {"top", PEET_PARAM_U64, "", "50", "1..100000",
        "so many functions and structures, those with most references, are written"},
    {"mode", PEET_PARAM_ENUM, "", "exact", "exact|sampled", "sampled: estimates, at little cost, and no `lines`"},
    {"one_of", PEET_PARAM_U64, "references", "128", "1..65536",
        "sampled: of so many in a long run one is observed; 1: all"},
    {0},
};
enum { FUNCTIONS, STRUCTURES, MERGED, WINDOWS, LINES, LINE, TOP, MODE, ONE_OF };
enum { FIRST_WINDOW = 1 << 18 };

void locality__no_memory(struct locality *self)
{
    if (!self->failed)
        self->env->fail(self->env, "out of memory");
    self->failed = 1;
}

void locality__flush(struct locality *self)
{
    int status = 0;

    for (uint32_t i = 0; i < self->ncontexts; i++)
        if (self->contexts[i].surface)
            status |= peet_sim_surface_flush(self->contexts[i].surface);
    if (self->merged)
        status |= peet_sim_surface_flush(self->merged);
    if (status)
        locality__no_memory(self);
}

static void destroy(void *arg)
{
    struct locality *self = arg;

    for (uint32_t i = 0; i < self->ncontexts; i++) {
        peet_sim_surface_free(self->contexts[i].surface);
        locality__sparse_free(self->contexts[i].sparse);
    }
    locality__sampled_fini(self);
    for (uint32_t i = 0; i < self->nplans; i++) {
        free(self->plans[i].refs);
        free(self->plans[i].latest);
        free(self->plans[i].value);
    }
    peet_sim_surface_free(self->merged);
    locality__sparse_free(self->shared_sparse);
    locality__lines_free(self->lines);
    locality__parts_free(self);
    free(self->windows);
    free(self->contexts);
    free(self->plans);
    free(self);
}

static void *create(const struct peet_env *env, const union peet_value *values)
{
    struct locality *self = calloc(1, sizeof *self);
    uint64_t line = values[LINE].u64;

    if (!self) {
        env->fail(env, "out of memory");
        return NULL;
    }
    self->env = env;
    self->functions = values[FUNCTIONS].u64 != 0;
    self->structures = values[STRUCTURES].u64 != 0;
    self->want_merged = values[MERGED].u64 != 0;
    self->want_windows = values[WINDOWS].u64 != 0;
    self->top = values[TOP].u64;
    self->line_shift = (unsigned)__builtin_ctzll(line);
    self->epoch = 1;
    self->window = self->due = FIRST_WINDOW;
    if (line & (line - 1)) {
        env->fail(env, "line=%llu: lines have a power of two of bytes", (unsigned long long)line);
    } else if (self->structures && (!env->data_of || !env->data)) {
        env->fail(env, "this host does not keep track of data structures");
    } else if (values[MODE].u64) {
        if (!locality__sampled_init(self, values[ONE_OF].u64))
            return self;
        env->fail(env, "out of memory");
    } else {
        if (self->want_windows)
            self->windows = calloc(LOCALITY_WINDOWS, sizeof *self->windows);
        if (values[LINES].u64)
            self->lines = locality__lines_new();
        if ((!self->want_windows || self->windows) && (self->lines || !values[LINES].u64))
            return self;
        env->fail(env, "out of memory");
    }
    destroy(self);
    return NULL;
}

/** Two windows become one, and all are twice as long from now on. */
static void fold_windows(struct locality *self)
{
    for (uint32_t i = 0; self->sampler && i < LOCALITY_WINDOWS; i++) {
        if (i % 2)
            locality__sampled_add(&self->window_estimates[i / 2], &self->window_estimates[i], 1, 1);
        else
            self->window_estimates[i / 2] = self->window_estimates[i];
    }
    for (uint32_t i = 0; !self->sampler && i < LOCALITY_WINDOWS / 2; i++) {
        self->windows[i] = self->windows[2 * i];
        peet_sim_tally_add(&self->windows[i], &self->windows[2 * i + 1], 1);
    }
    self->nwindows = LOCALITY_WINDOWS / 2;
    self->window *= 2;
}

static __attribute__((noinline)) void end_window(struct locality *self)
{
    static const struct locality_key all = {LOCALITY_NOBODY, LOCALITY_NOBODY, LOCALITY_NOBODY, LOCALITY_NOBODY};
    struct peet_sim_tally now, *window;

    if (self->nwindows == LOCALITY_WINDOWS)
        fold_windows(self);
    locality__flush(self);
    locality__sum(self, all, &now);
    window = &self->windows[self->nwindows++];
    *window = now;
    peet_sim_tally_add(window, &self->seen, -1);
    self->seen = now;
    self->due = now.references + self->window;
    if (self->nwindows == LOCALITY_WINDOWS)
        self->due = now.references + 2 * self->window; /* it begins a longer one */
}

/** Sampled windows end with a burst. */
void locality__see_window(struct locality *self)
{
    if (!self->window_estimates || self->references < self->due)
        return;
    if (++self->nwindows == LOCALITY_WINDOWS) {
        fold_windows(self);
        memset(&self->window_estimates[LOCALITY_WINDOWS / 2], 0, LOCALITY_WINDOWS / 2 * sizeof *self->window_estimates);
    }
    self->due = self->references + self->window;
}

/* -------------------------------------------------------------------------------------------------- plans */

static __attribute__((noinline)) struct locality_plan *make_plan(struct locality *self, const struct peet_block *block)
{
    struct locality_plan *plan;

    if (block->id >= self->nplans) {
        uint32_t n = self->nplans ? self->nplans : 1024;
        struct locality_plan *more;

        while (n <= block->id)
            n *= 2;
        more = self->failed ? NULL : realloc(self->plans, n * sizeof *more);
        if (!more) {
            locality__no_memory(self);
            return NULL;
        }
        memset(more + self->nplans, 0, (n - self->nplans) * sizeof *more);
        self->plans = more;
        self->nplans = n;
    }
    plan = &self->plans[block->id];
    plan->refs = calloc(block->nrefs + 1, sizeof *plan->refs);
    plan->latest = calloc(LOCALITY_STRIDES * block->nrefs + 1, sizeof *plan->latest);
    plan->value = calloc(block->nrefs + 1, sizeof *plan->value);
    if (!plan->refs || !plan->latest || !plan->value) {
        locality__no_memory(self);
        return NULL;
    }
    for (uint32_t i = 0; i < block->nrefs; i++) {
        const struct peet_ref *ref = &block->refs[i];
        struct locality_ref *mine = &plan->refs[plan->nrefs];

        if (ref->kind == PEET_REF_PREFETCH)
            continue;
        mine->value = plan->value[plan->nrefs] = ref->value;
        mine->store = ref->kind != PEET_REF_LOAD;
        mine->modify = ref->kind == PEET_REF_MODIFY;
        plan->references += 1u + mine->modify;
        plan->modifies += mine->modify;
        plan->nrefs++;
    }
    for (uint32_t i = 0; i < plan->nrefs; i++)
        plan->refs[i].latest = &plan->latest[i];
    plan->made = 1;
    return plan;
}

struct locality_plan *locality__plan(struct locality *self, const struct peet_block *block)
{
    return block->id < self->nplans && self->plans[block->id].made ? &self->plans[block->id] : make_plan(self, block);
}

uint64_t locality__references(const struct locality_plan *plan, const struct peet_block *block, const uint64_t *values)
{
    uint64_t n = 0;

    if (block->flags & PEET_BLOCK_SIMPLE)
        return plan->references;
    for (uint32_t i = 0; i < block->nrefs; i++)
        if (block->refs[i].kind != PEET_REF_PREFETCH)
            n += peet_ref_begin(&block->refs[i], values).count * (block->refs[i].kind == PEET_REF_MODIFY ? 2 : 1);
    return n;
}

static __attribute__((noinline)) struct locality_context *make_context(struct locality *self, uint32_t context)
{
    struct locality_key key = {context, LOCALITY_NOBODY, LOCALITY_NOBODY, LOCALITY_NOBODY};
    struct locality_context *c;

    if (context >= self->ncontexts) {
        uint32_t n = context + 16;
        struct locality_context *more = self->failed ? NULL : realloc(self->contexts, n * sizeof *more);

        if (!more) {
            locality__no_memory(self);
            return NULL;
        }
        memset(more + self->ncontexts, 0, (n - self->ncontexts) * sizeof *more);
        self->contexts = more;
        self->ncontexts = n;
    }
    c = &self->contexts[context];
    if (c->surface)
        return c;
    if (self->used == 1 && self->want_merged && !self->merged) { /* until now the first context was the merged stream */
        locality__flush(self);
        for (uint32_t i = 0; i < self->ncontexts && !self->merged; i++)
            if (self->contexts[i].surface) {
                if (self->sampler)
                    locality__sampled_context(self, &self->contexts[i]);
                self->merged = peet_sim_surface_copy(self->contexts[i].surface);
            }
        if (self->sampler)
            locality__sampled_shared(self);
        else
            locality__sum(self,
                (struct locality_key){LOCALITY_NOBODY, LOCALITY_NOBODY, LOCALITY_NOBODY, LOCALITY_NOBODY},
                &self->shared);
        if (self->sampler)
            self->shared_sparse = locality__sparse_new();
        if (!self->merged || (self->sampler && !self->shared_sparse)) {
            locality__no_memory(self);
            return NULL;
        }
    }
    c->surface = peet_sim_surface_new();
    if (self->sampler)
        c->sparse = locality__sparse_new();
    if (!self->functions && !self->structures && !self->sampler)
        c->part = locality__part(self, key, NULL);
    if (!c->surface || (self->sampler && !c->sparse) ||
        (!c->part && !self->functions && !self->structures && !self->sampler)) {
        locality__no_memory(self);
        return NULL;
    }
    self->used++;
    return c;
}

/* --------------------------------------------------------------------------------------------- references */

/** An execution's address of a reference.  Returns: 1 if it goes on by the same stride to another line, else 0 */
static inline __attribute__((always_inline)) uint32_t stride_on(struct locality_latest *latest, uint64_t address)
{
    const uint64_t before = latest->address, stride = address - before;
    const int same = stride == latest->stride;

    latest->address = address;
    latest->stride = stride;
    return same & ((address ^ before) >= LOCALITY_STRIDED_LINE);
}

static inline __attribute__((always_inline)) void reference(struct locality *self, struct locality_context *c,
    struct locality_plan *plan, struct locality_ref *ref, const struct peet_block *block, uint32_t context,
    uint64_t address)
{
    const uint32_t strided = stride_on(&ref->latest[context % LOCALITY_STRIDES * plan->nrefs], address);
    struct peet_sim_tally *tally;

    if (c->part)
        tally = &c->part->tally;
    else if (ref->context == context && ref->epoch == self->epoch && address - ref->lo < ref->span)
        tally = ref->tally;
    else
        tally = locality__attribute(self, ref, block, context, address);
    if (LOCALITY_UNLIKELY(peet_sim_surface_strided(c->surface, address, tally, strided) < 0))
        locality__no_memory(self);
    tally->again += ref->modify;
    if (self->merged) {
        if (LOCALITY_UNLIKELY(peet_sim_surface_strided(self->merged, address, &self->shared, strided) < 0))
            locality__no_memory(self);
        self->shared.again += ref->modify;
    }
    if (self->lines) {
        if (LOCALITY_UNLIKELY(locality__line(self->lines, address >> self->line_shift, context, ref->store)))
            locality__no_memory(self);
        if (ref->modify)
            locality__line(self->lines, address >> self->line_shift, context, 1);
    }
}

/** Ranges and conditional references. */
static __attribute__((noinline)) void irregular(struct locality *self, struct locality_context *c,
    struct locality_plan *plan, const struct peet_block_event *event)
{
    const struct peet_block *block = event->block;
    uint32_t n = 0;

    for (uint32_t i = 0; i < block->nrefs; i++) {
        if (block->refs[i].kind == PEET_REF_PREFETCH)
            continue;
        for (struct peet_ref_iter it = peet_ref_begin(&block->refs[i], event->values); it.count;
            it.count--, it.address += (uint64_t)it.step) {
            reference(self, c, plan, &plan->refs[n], block, event->context, it.address);
            self->references += 1u + plan->refs[n].modify;
        }
        n++;
    }
}

/** A simple block, where nothing but the surface of the context is asked for. */
static inline __attribute__((always_inline)) void simple(struct locality *self, struct locality_context *c,
    struct locality_plan *plan, uint32_t context, const uint64_t *values)
{
    struct locality_latest *latest = plan->latest + (size_t)(context % LOCALITY_STRIDES) * plan->nrefs;
    struct peet_sim_tally *tally = &c->part->tally;
    int status = 0;

    for (uint32_t r = 0; r < plan->nrefs; r++) {
        const uint64_t address = values[plan->value[r]];

        status |= peet_sim_surface_strided(c->surface, address, tally, stride_on(&latest[r], address));
    }
    tally->again += plan->modifies;
    self->references += plan->references;
    if (LOCALITY_UNLIKELY(status))
        locality__no_memory(self);
}

static inline __attribute__((always_inline)) void execute(struct locality *self, const struct peet_block_event *event)
{
    const struct peet_block *block = event->block;
    struct locality_plan *plan;
    struct locality_context *c;
    uint64_t before = self->references;

    if (!block->nrefs)
        return;
    plan = block->id < self->nplans ? &self->plans[block->id] : NULL;
    if (LOCALITY_UNLIKELY(!plan || !plan->made) && !(plan = make_plan(self, block)))
        return;
    if (self->sampler) {
        uint64_t references;

        if (LOCALITY_UNLIKELY(plan->watch && plan->watch->taken && plan->told > *plan->watch->taken)) {
            plan->told--; /* due() has seen it, but the machine needs it as an event */
            return;
        }
        references = locality__references(plan, block, event->values);

        plan->all += references;
        if (!locality__sampled_sees(self, references))
            return;
    }
    c = event->context < self->ncontexts ? &self->contexts[event->context] : NULL;
    if (LOCALITY_UNLIKELY(!c || !c->surface) && !(c = make_context(self, event->context)))
        return;
    if (self->sampler) {
        locality__sampled_context(self, c);
        plan->seen += self->sparse_burst ? 0 : locality__references(plan, block, event->values);
    }
    if (c->part && !self->merged && !self->lines && block->flags & PEET_BLOCK_SIMPLE) {
        simple(self, c, plan, event->context, event->values);
    } else if (LOCALITY_UNLIKELY(self->sparse_burst)) {
        locality__sampled_sparse(self, c, plan, event);
    } else if (LOCALITY_UNLIKELY(!(block->flags & PEET_BLOCK_SIMPLE))) {
        irregular(self, c, plan, event);
    } else {
        for (struct locality_ref *r = plan->refs, *end = r + plan->nrefs; r != end; r++)
            reference(self, c, plan, r, block, event->context, event->values[r->value]);
        self->references += plan->references;
    }
    if (LOCALITY_UNLIKELY(self->references >= self->due) && self->windows)
        end_window(self);
    if (self->sampler)
        locality__sampled_seen(self, self->references - before);
}

void locality__execute(struct locality *self, const struct peet_block_event *event)
{
    execute(self, event);
}

/** Turns that are not observed.  Returns: how many */
static uint64_t pass_turns(struct locality *self, const struct peet_block *block, uint64_t turns)
{
    struct locality_plan *plan = self->sampler ? locality__plan(self, block) : NULL;

    return plan && plan->references ? locality__sampled_pass(self, plan, turns) : 0;
}

static uint64_t block(void *arg, unsigned hw, const struct peet_block_event *event, uint64_t now)
{
    (void)hw;
    (void)now;
    execute(arg, event);
    return 0;
}

static uint64_t blocks(void *arg, unsigned hw, const struct peet_block_event *events, size_t n, uint64_t now,
    uint64_t until, size_t *out_done)
{
    (void)hw;
    (void)now;
    (void)until;
    for (size_t i = 0; i < n; i++)
        execute(arg, &events[i]);
    *out_done = n;
    return 0;
}

/**
 * Turns of a simple block in a loop, where nothing but the surface of the context is asked for.  The first two are none
 * of them: from then on the stride of each reference is what it was before.
 * Returns: how many; 0: they come one by one
 */
static uint64_t exact_turns(struct locality *self, const struct peet_block_event *event, const uint64_t *values,
    uint64_t turn)
{
    enum { REFS = 32 };
    const struct locality_plan *plan = &self->plans[event->block->id];
    const uint32_t nrefs = plan->nrefs, latest = event->context % LOCALITY_STRIDES;
    struct locality_context *c = &self->contexts[event->context];
    uint64_t address[REFS], stride[REFS], again[REFS], n = event->turns - turn;

    if (turn < 2 || !nrefs || self->sampler || self->merged || self->lines || self->failed || !c->part ||
        nrefs > REFS || !(event->block->flags & PEET_BLOCK_SIMPLE))
        return 0;
    if (self->windows && n > (self->due - self->references - 1) / plan->references)
        n = (self->due - self->references - 1) / plan->references;
    for (uint32_t r = 0; r < nrefs; r++) {
        address[r] = values[plan->refs[r].value];
        stride[r] = (uint64_t)event->strides[plan->refs[r].value];
        again[r] = plan->refs[r].modify;
    }
    for (uint64_t left = n; left; left--)
        for (uint32_t r = 0; r < nrefs; r++) {
            const uint64_t now = address[r], line = (now ^ (now - stride[r])) / LOCALITY_STRIDED_LINE;

            address[r] = now + stride[r];
            c->part->tally.again += again[r];
            if (LOCALITY_UNLIKELY(peet_sim_surface_strided(c->surface, now, &c->part->tally, line != 0) < 0))
                locality__no_memory(self);
        }
    for (uint32_t r = 0; n && r < nrefs; r++)
        plan->latest[latest * nrefs + r].address = address[r] - stride[r];
    self->references += n * plan->references;
    return n;
}

static uint64_t loop(void *arg, unsigned hw, const struct peet_block_event *event, uint64_t now, uint64_t until,
    uint64_t *out_turns)
{
    enum { ROOM = 256 };
    uint64_t room[ROOM],
        *values = event->block->nvalues <= ROOM ? room : malloc(event->block->nvalues * sizeof *values);
    struct peet_block_event one = *event;

    (void)hw;
    (void)now;
    (void)until;
    *out_turns = event->turns;
    if (!event->block->nrefs)
        return 0;
    if (!values) {
        locality__no_memory(arg);
        return 0;
    }
    memcpy(values, event->values, event->block->nvalues * sizeof *values);
    one.values = values;
    one.turns = 1;
    one.strides = NULL;
    for (uint64_t turn = 0, n; turn < event->turns; turn += n) {
        n = pass_turns(arg, event->block, event->turns - turn);
        if (!n)
            n = turn ? exact_turns(arg, event, values, turn) : 0;
        if (!n)
            n = locality__sampled_sparse_turns(arg, event, values, event->turns - turn);
        if (!n) {
            execute(arg, &one);
            n = 1;
        }
        for (uint32_t i = 0; i < event->block->nvalues; i++)
            values[i] += (uint64_t)event->strides[i] * n;
    }
    if (values != room)
        free(values);
    if (((struct locality *)arg)->sampler)
        locality__sampled_turned(arg, event->block);
    return 0;
}

/** Objects come and go: what is known of a reference's structure may be wrong. */
static uint64_t abstract(void *arg, unsigned hw, const struct peet_abstract_event *event, uint64_t now)
{
    struct locality *self = arg;

    (void)hw;
    (void)now;
    if (self->structures &&
        (event->type == PEET_ABSTRACT_ALLOC || event->type == PEET_ABSTRACT_FREE ||
            event->type == PEET_ABSTRACT_CONTEXT_START || event->type == PEET_ABSTRACT_CONTEXT_EXIT))
        self->epoch++;
    return 0;
}

static void finish(void *arg, uint64_t end_cycles)
{
    struct locality *self = arg;

    (void)end_cycles;
    locality__flush(self);
    if (self->sampler)
        locality__sampled_finish(self);
    else if (self->windows)
        end_window(self);
}

static void stats(void *arg, const struct peet_env *env, struct peet_stats *node)
{
    locality__stats(arg, env, node);
}

static int configured(void *arg)
{
    const struct locality *self = arg;

    return self->sampler ? 0 : -1;
}

static const struct peet_direct_observer observed = {
    .abi = PEET_DIRECT_ABI,
    .struct_size = sizeof observed,
    .watch = locality__sampled_watch,
    .due = locality__sampled_due,
    .range = locality__sampled_range,
    .configured = configured,
};

__attribute__((visibility("default"))) const struct peet_module peet_module = {
    .abi = PEET_MODULE_ABI,
    .struct_size = sizeof(struct peet_module),
    .name = "locality",
    .summary = "hit rates of 136 caches at once, signatures, reuse and sharing",
    .kind = PEET_OBSERVER,
    .needs = PEET_NEEDS_BLOCKS | PEET_NEEDS_ADDRESSES | PEET_NEEDS_ABSTRACT | PEET_NEEDS_DATA,
    .params = params,
    .create = create,
    .destroy = destroy,
    .block = block,
    .abstract = abstract,
    .finish = finish,
    .stats = stats,
    .loop = loop,
    .blocks = blocks,
    .observed = &observed,
};
