/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The machine "x86": cores of several threads with private caches, a shared cache, a directory and DRAM.  This file is
 * what peet sees: parameters and presets, and the operations of the module.  docs/X86.md describes the model.
 */
#include "../common/ahead.h"
#include "core_replay.h"
#include "memory_config.h"
#include "simple.h"

#include <stdlib.h>
#include <string.h>

enum param {
    PARAM_PRESET,
    PARAM_MCPU,
#define X(name, unit, least, most, def, help) PARAM_##name,
    X86_CORE_NUMBERS(X)
#undef X
#define X(name, choices, def, help) PARAM_##name,
        X86_CORE_CHOICES(X)
#undef X
            PARAM_MEMORY_FIRST
};

static const struct peet_param params[] = {
    [PARAM_PRESET] = {"preset", PEET_PARAM_STRING, "", "skylake", "",
        "the machine that all other parameters change: a file of share/peet/presets, a path with a slash, or none"},
    [PARAM_MCPU] = {"mcpu", PEET_PARAM_STRING, "", "preset", "",
        "whose costs of instructions, as LLVM names processors (clang -mcpu=help)"},
#define X(name, unit, least, most, def, help) \
    [PARAM_##name] = {#name, PEET_PARAM_U64, unit, (least) ? "0" : #def, "0.." #most, help},
    X86_CORE_NUMBERS(X)
#undef X
#define X(name, choices, def, help) [PARAM_##name] = {#name, PEET_PARAM_ENUM, "", "preset", choices, help},
        X86_CORE_CHOICES(X)
#undef X
            X86_MEMORY_PARAM_TABLE{0},
};

static void x86_destroy(void *self)
{
    struct x86 *x = self;

    x86_replay_fini(x);
    peet_sim_ahead_free(x->ahead);
    x86_sampling_fini(x);
    x86_cores_fini(x);
    x86_digest_fini(x);
    x86_stacks_fini(&x->stacks);
    if (x->memory)
        x86_memory_free(x->memory);
    free(x->memory_config);
    free(x->values);
    free(x);
}

/** A preset, and what the user has set over it.  Returns: 0, or -1 after env->fail() */
static int configure(struct x86 *x, const struct peet_env *env, const union peet_value *v)
{
    struct x86_config *c = &x->config;

    x86_config_default(c);
    x86_memory_config_default(x->memory_config);
    if (strcmp(v[PARAM_PRESET].string, "none") && x86_config_preset(env, v[PARAM_PRESET].string, c, x->memory_config))
        return -1;
    if (strcmp(v[PARAM_MCPU].string, "preset")) {
        if (!*v[PARAM_MCPU].string || strlen(v[PARAM_MCPU].string) >= sizeof c->mcpu) {
            env->fail(env, "mcpu=%s: not the name of a processor", v[PARAM_MCPU].string);
            return -1;
        }
        if (strcmp(c->mcpu, v[PARAM_MCPU].string))
            c->turn_units[0] = 0;
        c->ncorrections = 0; /* they are of the preset's processor */
        strcpy(c->mcpu, v[PARAM_MCPU].string);
    }
#define X(name, unit, least, most, def, help) \
    if (v[PARAM_##name].u64 || !(least)) { \
        if (v[PARAM_##name].u64 < (least)) { \
            env->fail(env, #name "=%llu: less than " #least, (unsigned long long)v[PARAM_##name].u64); \
            return -1; \
        } \
        c->name = (uint32_t)v[PARAM_##name].u64; \
    }
    X86_CORE_NUMBERS(X)
#undef X
#define X(name, choices, def, help) \
    if (v[PARAM_##name].u64) \
        c->name = (uint32_t)v[PARAM_##name].u64;
    X86_CORE_CHOICES(X)
#undef X
    if (c->branch != BRANCH_TAGE && !v[PARAM_override_cycles].u64)
        c->override_cycles = 0; /* a preset's predictor that corrects itself is not the one that was asked for */
    x86_memory_config_params(x->memory_config, &v[PARAM_MEMORY_FIRST]);
    return 0;
}

/** What the configuration leaves to the model of the processor.  Returns: 0, or -1 after env->fail() */
static int ask_model(struct x86 *x, const struct peet_env *env)
{
    struct x86_config *c = &x->config;
    const struct peet_processor *p;

    if (!*c->mcpu)
        strcpy(c->mcpu, "x86-64");
    p = x->processor = env->processor ? env->processor(env, c->mcpu) : NULL;
    if (env->processor && !p) {
        const char *why = env->processor_error ? env->processor_error(env) : NULL;

        env->fail(env, "mcpu=%s: %s", c->mcpu, why ? why : "no such processor");
        return -1;
    }
    if (!c->dispatch_uops)
        c->dispatch_uops = p && p->dispatch_uops ? p->dispatch_uops : 4;
    if (!c->retire_uops && p)
        c->retire_uops = p->retire_uops;
    if (!c->window_uops)
        c->window_uops = p && p->window_uops ? p->window_uops : 224;
    if (!c->load_queue)
        c->load_queue = p && p->load_queue ? p->load_queue : c->window_uops;
    if (!c->store_queue)
        c->store_queue = p && p->store_queue ? p->store_queue : c->window_uops;
    if (c->store_queue > 400)
        c->store_queue = 400;
    if (!c->mispredict_cycles)
        c->mispredict_cycles = p && p->mispredict_cycles ? p->mispredict_cycles : 15;
    if (c->frequency_mhz && env->set_frequency)
        env->set_frequency(env, (uint64_t)c->frequency_mhz * 1000000);
    if (c->stores_line < c->stores_cycle)
        c->stores_line = c->stores_cycle;
    x->renaming = c->memory_renaming == RENAMING_ON;
    if (!c->core)
        c->core = p && p->in_order ? CORE_INORDER : CORE_OOO;
    x->model_load_cycles = p && p->load_cycles ? p->load_cycles : 4;
    x->load_cycles = c->l1_load_cycles ? c->l1_load_cycles : x->model_load_cycles;
    x->line_bytes = 64;
    return 0;
}

static int refuse(const struct x86 *x, const struct peet_env *env)
{
    const struct x86_config *c = &x->config;

    if (c->btb_entries / 4 & (c->btb_entries / 4 - 1)) {
        env->fail(env, "btb_entries=%u: not 4 times a power of two", c->btb_entries);
        return -1;
    }
    if (c->window_uops < c->threads * c->dispatch_uops) {
        env->fail(env, "window_uops=%u: not enough to dispatch %u micro-ops (dispatch_uops) for each of threads=%u",
            c->window_uops, c->dispatch_uops, c->threads);
        return -1;
    }
    if (c->fetch_uops > c->fetch_queue_uops) {
        env->fail(env, "fetch_queue_uops=%u: no room for what comes in a cycle (fetch_uops=%u)", c->fetch_queue_uops,
            c->fetch_uops);
        return -1;
    }
    if (c->fetch_past_taken == X86_OFF && !c->fetch_uops) {
        env->fail(env,
            "fetch_past_taken=off: the front end has no width whose rest could be lost; give it one with fetch_uops");
        return -1;
    }
    if (c->fetch_past_line == X86_OFF && !c->fetch_uops) {
        env->fail(env,
            "fetch_past_line=off: the front end has no width whose rest could be lost; give it one with fetch_uops");
        return -1;
    }
    if (c->override_cycles &&
        (!c->fetch_uops || c->branch != BRANCH_TAGE || c->override_entries & (c->override_entries - 1))) {
        env->fail(env,
            "override_cycles: of branch=tage and a front end with a width (fetch_uops), and override_entries is a power of two");
        return -1;
    }
    if (c->store_queue < c->threads || c->load_queue < c->threads) {
        env->fail(env, "load_queue=%u, store_queue=%u: fewer entries than threads=%u", c->load_queue, c->store_queue,
            c->threads);
        return -1;
    }
    if (c->core == CORE_INORDER && c->threads > 1 && c->smt == SMT_SHARED) {
        env->fail(env, "smt=shared: a core that issues in order has no window to share; use smt=partitioned");
        return -1;
    }
    if (c->sample_period && (c->threads > 1 || c->core == CORE_SIMPLE)) {
        env->fail(env, "sample_period: only for core=ooo and core=inorder, with threads=1");
        return -1;
    }
    if (c->sample_near && !c->sample_period) {
        env->fail(env, "sample_near=%u: before which windows? Say how often they come with sample_period",
            c->sample_near);
        return -1;
    }
    if (c->sample_period && c->sample_period < c->sample_warm + c->sample_measure) {
        env->fail(env, "sample_period=%u: less than a window of sample_warm=%u and sample_measure=%u instructions",
            c->sample_period, c->sample_warm, c->sample_measure);
        return -1;
    }
    if (c->memory == MEMORY_HIERARCHY && env->cores > X86_MOST_CORES) {
        env->fail(env, "cores=%u: the directory knows up to %d; memory=flat has none", env->cores, X86_MOST_CORES);
        return -1;
    }
    if ((uint64_t)env->cores * c->threads > 65536) {
        env->fail(env, "threads=%u: %u cores of so many are more than 65536 hardware contexts", c->threads, env->cores);
        return -1;
    }
    return 0;
}

static void *x86_create(const struct peet_env *env, const union peet_value *v)
{
    struct x86 *x = calloc(1, sizeof *x);

    if (x)
        x->memory_config = calloc(1, sizeof *x->memory_config);
    if (!x || !x->memory_config || x86_stacks_init(&x->stacks)) {
        env->fail(env, "out of memory");
        if (x)
            free(x->memory_config);
        free(x);
        return NULL;
    }
    x->env = env;
    x->ncores = env->cores ? env->cores : 1;
    if (configure(x, env, v) || ask_model(x, env) || refuse(x, env) || x86_digest_processor(x) || x86_cores_init(x))
        goto refused;
    x->memory_config->threads = x->config.threads;
    x->memory_config->seed = env->seed;
    if (x->config.memory == MEMORY_HIERARCHY) {
        if (x86_memory_config_refuse(x->memory_config, env, x->ncores) ||
            !(x->memory = x86_memory_new(env, x->memory_config, x->ncores)))
            goto refused;
        x->load_cycles = x86_memory_l1_cycles(x->memory);
        x->line_bytes = (uint32_t)x->memory_config->line_bytes;
    }
    /* LLVM's only model of that kind is Bonnell's */
    if (x->config.core == CORE_INORDER && x->processor && x->processor->in_order) {
        x->loads_before = 1;
        x->address_lead = x->load_cycles - 1;
        x->model_operands = x->config.folded_loads == FOLDED_MODEL;
    }
    if (!x->config.forward_cycles)
        x->config.forward_cycles = x->load_cycles;
    if (x->config.replay == X86_ON && x->config.threads == 1 && x->config.core != CORE_SIMPLE && x86_replay_init(x))
        goto refused;
    if (x->config.sample_period && x86_sampling_init(x))
        goto refused;
    return x;
refused:
    x86_destroy(x);
    return NULL;
}

static unsigned x86_hw_contexts(void *self, unsigned cores)
{
    return cores * ((struct x86 *)self)->config.threads;
}

/* ------------------------------------------------------------------------------------------ blocks */

static inline void run(struct x86_thread *t, const struct x86_code *code, const uint64_t *values)
{
    if (__builtin_expect(t->sampling != NULL, 0))
        x86_sampling_block(t, code, values);
    else if (__builtin_expect(t->cpu->x->config.core == CORE_SIMPLE, 0))
        x86_simple_block(t, code, values);
    else
        x86_core_block(t, code, values);
}

/** The thread's own time at the run's time @now: without what is supposed to have passed more, or less, than it took
 * here. */
static inline uint64_t own_time(const struct x86 *x, const struct x86_thread *t, uint64_t now)
{
    return __builtin_expect(!x->env->times_apart, 1) || now == UINT64_MAX
        ? now
        : now - (uint64_t)x->env->supposed(x->env, t->hw);
}

/** Sampled timing, between windows: so far a core goes on beyond the time at which the next one is due, whose times are estimated as well. */
enum { SKEW_CYCLES = 20 };

static uint64_t x86_blocks(void *self, unsigned hw, const struct peet_block_event *events, size_t n, uint64_t now,
    uint64_t until, size_t *out_done)
{
    struct x86 *x = self;
    struct x86_thread *t = &x->threads[hw];
    size_t i = 0;

    now = own_time(x, t, now);
    until = own_time(x, t, until);
    x86_core_begin(t, events->context, now);
    if (t->sampling && t->sampling->phase <= SAMPLING_FAR)
        until += SKEW_CYCLES;
    do {
        const struct x86_code *code = x86_core_code(x, events[i].block);

        if (!code)
            break;
        peet_sim_ahead_begins(x->ahead, t->frontier);
        run(t, code, events[i].values);
    } while (++i < n && t->frontier < until && !peet_sim_ahead_went_back(x->ahead));
    *out_done = i ? i : 1;
    return t->frontier - now;
}

static uint64_t x86_block(void *self, unsigned hw, const struct peet_block_event *event, uint64_t now)
{
    size_t done;

    return x86_blocks(self, hw, event, 1, now, UINT64_MAX, &done);
}

static uint64_t x86_loop(void *self, unsigned hw, const struct peet_block_event *event, uint64_t now, uint64_t until,
    uint64_t *out_turns)
{
    struct x86 *x = self;
    struct x86_thread *t = &x->threads[hw];
    const struct x86_code *code = x86_core_code(x, event->block);
    uint32_t nvalues = event->block->nvalues;
    uint64_t turns = 0;

    if (x->ahead) {
        const uint64_t cycles = x86_sampling_loop(t, event, now, until, out_turns);

        if (*out_turns)
            return cycles;
    }
    *out_turns = 1;
    if (nvalues > x->values_room) {
        free(x->values);
        x->values_room = 0;
        x->values = malloc(nvalues * sizeof *x->values);
        if (!x->values) {
            x->env->fail(x->env, "out of memory for %u addresses", nvalues);
            return 0;
        }
        x->values_room = nvalues;
    }
    if (!code)
        return 0;
    if (nvalues)
        memcpy(x->values, event->values, nvalues * sizeof *x->values);
    now = own_time(x, t, now);
    until = own_time(x, t, until);
    x86_core_begin(t, event->context, now);
    for (;;) {
        peet_sim_ahead_begins(x->ahead, t->frontier);
        run(t, code, x->values);
        if (++turns == event->turns || t->frontier >= until || peet_sim_ahead_went_back(x->ahead))
            break;
        for (uint32_t i = 0; event->strides && i < nvalues; i++)
            x->values[i] += (uint64_t)event->strides[i];
    }
    *out_turns = turns;
    return t->frontier - now;
}

/* ------------------------------------------------------------------------------------------ other events */

/** What a context waited for that asked for this. */
static enum x86_category wait_category(uint64_t operation)
{
    switch (operation) {
    case PEET_ABSTRACT_MUTEX_LOCK:
    case PEET_ABSTRACT_RWLOCK_READ:
    case PEET_ABSTRACT_RWLOCK_WRITE:
        return CPI_LOCK;
    case PEET_ABSTRACT_BARRIER_WAIT:
    case PEET_ABSTRACT_THREAD_JOIN:
    case PEET_ABSTRACT_DOALL_JOIN:
        return CPI_BARRIER;
    case PEET_ABSTRACT_SLEEP:
    case PEET_ABSTRACT_IO_WAIT:
        return CPI_SLEEP;
    }
    return CPI_SIGNAL;
}

/** Calls of a thread library, which cost something besides the instructions that are recorded. */
static int is_call(uint32_t type)
{
    switch (type) {
    case PEET_ABSTRACT_DOALL_FORK:
    case PEET_ABSTRACT_THREAD_CREATE:
    case PEET_ABSTRACT_THREAD_JOIN:
    case PEET_ABSTRACT_MUTEX_LOCK:
    case PEET_ABSTRACT_MUTEX_TRYLOCK:
    case PEET_ABSTRACT_MUTEX_UNLOCK:
    case PEET_ABSTRACT_RWLOCK_READ:
    case PEET_ABSTRACT_RWLOCK_WRITE:
    case PEET_ABSTRACT_RWLOCK_TRYREAD:
    case PEET_ABSTRACT_RWLOCK_TRYWRITE:
    case PEET_ABSTRACT_RWLOCK_UNLOCK:
    case PEET_ABSTRACT_COND_WAIT:
    case PEET_ABSTRACT_COND_SIGNAL:
    case PEET_ABSTRACT_COND_BROADCAST:
    case PEET_ABSTRACT_BARRIER_WAIT:
    case PEET_ABSTRACT_SEM_WAIT:
    case PEET_ABSTRACT_SEM_TRYWAIT:
    case PEET_ABSTRACT_SEM_POST:
    case PEET_ABSTRACT_POST:
    case PEET_ABSTRACT_WAIT:
    case PEET_ABSTRACT_LOOP_NEXT:
        return 1;
    }
    return 0;
}

static uint64_t x86_abstract(void *self, unsigned hw, const struct peet_abstract_event *event, uint64_t now)
{
    struct x86 *x = self;
    struct x86_thread *t = &x->threads[hw];
    struct x86_software *s = x86_stacks_software(&x->stacks, event->context);
    uint64_t cycles = 0, waited = 0;

    if (!s) {
        x->env->fail(x->env, "out of memory for %u contexts", event->context);
        return 0;
    }
    now = own_time(x, t, now);
    switch (event->type) {
    case PEET_ABSTRACT_CONTEXT_START:
    case PEET_ABSTRACT_DOALL_START:
        s->start = now;
        s->known = 1;
        break;
    case PEET_ABSTRACT_DOALL_FORK:
        s->fork_cycles = now;
        break;
    case PEET_ABSTRACT_SYNC_GRANT:
        t->gap = (uint8_t)wait_category(event->args[1]);
        waited = event->args[2];
        break;
    case PEET_ABSTRACT_DOALL_JOIN:
        t->gap = CPI_BARRIER;
        waited = now - s->fork_cycles;
        break;
    }
    if (waited) {
        const struct x86_thread *on = &x->threads[s->hw];
        uint64_t since = on->context == event->context ? on->frontier : s->last;

        /* With a lock model, part of the wait was running. */
        if (event->context < X86_LISTED)
            waited = now - since < waited ? now - since : waited;
        s->wait[t->gap] += waited;
        t->gap_most = waited;
    }
    x86_core_begin(t, event->context, now);
    s = x86_stacks_software(&x->stacks, event->context); /* the list may have grown */
    if (!s)
        return 0;
    if (is_call(event->type) && x->config.core != CORE_SIMPLE) { /* there, only instructions take time */
        cycles = x->config.sync_cycles;
        x86_core_spend(t, CPI_SYNC, cycles);
        if (event->type == PEET_ABSTRACT_DOALL_FORK)
            s->fork_cycles = t->frontier;
    }
    if (event->type == PEET_ABSTRACT_CONTEXT_EXIT || event->type == PEET_ABSTRACT_DOALL_FINISH) {
        s->end = t->frontier;
        x86_core_leave(t);
    }
    return cycles;
}

/* ------------------------------------------------------------------------------------------ the end */

static void x86_finish(void *self, uint64_t end_cycles)
{
    struct x86 *x = self;

    for (unsigned i = 0; x->env->times_apart && i < x->nthreads; i++)
        end_cycles = x->threads[i].frontier > end_cycles ? x->threads[i].frontier : end_cycles;
    x->end_cycles = end_cycles;
    for (unsigned i = 0; i < x->nthreads; i++) {
        struct x86_thread *t = &x->threads[i];
        struct x86_software *s;

        if (t->context != UINT32_MAX && (s = x86_stacks_software(&x->stacks, t->context)) != NULL && !s->end)
            s->end = t->frontier;
        x86_core_leave(t);
        if (t->frontier < end_cycles) {
            t->cycles[CPI_IDLE] += end_cycles - t->frontier;
            t->frontier = end_cycles;
        }
    }
    if (x->ahead)
        x86_sampling_far_finish(x);
    if (x86_stack_check(x) && (!x->memory || x86_memory_check(x->memory)))
        x86_stack_files(x);
}

static void x86_stats(void *self, const struct peet_env *env, struct peet_stats *node)
{
    struct x86 *x = self;

    x86_core_stats(x, env, node);
    x86_stack_stats(x, env, node);
    if (x->config.sample_period)
        x86_sampling_stats(x, env, node);
    if (x->memory)
        x86_memory_stats(x->memory, env, env->stats_object(env, node, "memory"));
}

__attribute__((visibility("default"))) const struct peet_module peet_module = {
    .abi = PEET_MODULE_ABI,
    .struct_size = sizeof(struct peet_module),
    .name = "x86",
    .summary = "x86 multicore: out-of-order cores, caches, directory, DRAM",
    .kind = PEET_MACHINE,
    .needs = PEET_NEEDS_BLOCKS | PEET_NEEDS_ADDRESSES | PEET_NEEDS_ABSTRACT,
    .params = params,
    .create = x86_create,
    .destroy = x86_destroy,
    .hw_contexts = x86_hw_contexts,
    .block = x86_block,
    .loop = x86_loop,
    .blocks = x86_blocks,
    .direct = &peet__x86_direct,
    .abstract = x86_abstract,
    .finish = x86_finish,
    .stats = x86_stats,
};
