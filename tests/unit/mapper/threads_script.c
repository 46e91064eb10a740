/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scripted threads as a source of the mapper, and the machine that charges and logs their requests.
 */
#include "threads_script.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int threads_costly;
struct threads_hooks threads_hooks;

void threads_add(struct threads_script *s, unsigned program, uint32_t type, unsigned nargs, ...)
{
    struct threads_program *p;
    va_list ap;

    if (program >= s->n) {
        s->programs = realloc(s->programs, (program + 1) * sizeof *s->programs);
        memset(s->programs + s->n, 0, (program + 1 - s->n) * sizeof *s->programs);
        s->n = program + 1;
    }
    p = &s->programs[program];
    if (p->n == p->room) {
        p->room = p->room ? 2 * p->room : 8;
        p->ops = realloc(p->ops, p->room * sizeof *p->ops);
    }
    p->ops[p->n] = (struct threads_op){.type = type};
    va_start(ap, nargs);
    for (unsigned i = 0; i < nargs; i++)
        p->ops[p->n].args[i] = va_arg(ap, uint64_t);
    va_end(ap);
    p->n++;
}

void threads_clear(struct threads_script *s)
{
    for (unsigned i = 0; i < s->n; i++)
        free(s->programs[i].ops);
    free(s->programs);
    *s = (struct threads_script){0};
}

void threads_result_free(struct threads_result *r)
{
    for (unsigned i = 0; i < r->nanswers; i++)
        free(r->answers[i].values);
    free(r->answers);
    free(r->log);
    *r = (struct threads_result){0};
}

void threads_log(struct threads_result *r, struct threads_record one)
{
    if (r->nlog == r->log_room) {
        r->log_room = r->log_room ? 2 * r->log_room : 256;
        r->log = realloc(r->log, r->log_room * sizeof one);
    }
    r->log[r->nlog++] = one;
}

void threads_answer(struct threads_result *r, uint32_t context, uint64_t value)
{
    if (context >= r->nanswers) {
        unsigned n = r->nanswers ? r->nanswers : 16;

        while (n <= context)
            n *= 2;
        r->answers = realloc(r->answers, n * sizeof *r->answers);
        memset(r->answers + r->nanswers, 0, (n - r->nanswers) * sizeof *r->answers);
        r->nanswers = n;
    }
    if (r->answers[context].n == r->answers[context].room) {
        r->answers[context].room = r->answers[context].room ? 2 * r->answers[context].room : 8;
        r->answers[context].values = realloc(r->answers[context].values, r->answers[context].room * sizeof value);
    }
    r->answers[context].values[r->answers[context].n++] = value;
}

int threads_interrupted(const struct threads_op *op, uint64_t answer, struct threads_op *out_again)
{
    if (op->type != PEET_ABSTRACT_BARRIER_WAIT || (uint32_t)answer != EINTR)
        return 0;
    *out_again = *op;
    out_again->args[1] = PEET_BARRIER_AGAIN(op->args[1], answer);
    return 1;
}

static struct peet_function function = {.name = "f", .file = "f.c", .image = ""};
static struct peet_opcode opcode = {.name = "op", .mnemonic = "mov"};
static struct peet_insn insn = {.opcode = &opcode};
static struct peet_block blocks[THREADS_COSTS];
static struct peet_ref references[3];
static struct peet_block synthetics[3];

static void make_blocks(void)
{
    static const uint8_t kinds[3] = {PEET_REF_MODIFY, PEET_REF_LOAD, PEET_REF_STORE};

    for (unsigned i = 0; i < THREADS_COSTS; i++)
        blocks[i] = (struct peet_block){
            .function = &function, .id = i, .flags = PEET_BLOCK_SIMPLE, .ninsns = 1, .cost_cycles = i, .insns = &insn};
    for (unsigned i = 0; i < 3; i++) {
        references[i] = (struct peet_ref){.size_bytes = 8, .kind = kinds[i]};
        synthetics[i] = (struct peet_block){.function = &function,
            .id = THREADS_COSTS + i,
            .flags = PEET_BLOCK_SIMPLE,
            .ninsns = 1,
            .nrefs = 1,
            .nvalues = 1,
            .refs = &references[i],
            .insns = &insn};
    }
}

struct context {
    const struct threads_program *program;
    unsigned at;
    int awaits; /* the answer of its last request is to be kept */
    uint64_t result;
    struct threads_op again; /* a wait at a barrier that goes on after a handler; type 0: none */
    struct threads_op asked; /* ... and was asked for */
};

struct source {
    const struct threads_script *script;
    struct threads_result *result;
    struct peet_map *map;
    struct context *contexts;
    uint32_t n;
};

static struct context *context_of(struct source *s, uint32_t i)
{
    if (i >= s->n) {
        uint32_t n = s->n ? s->n : 16;

        while (n <= i)
            n *= 2;
        s->contexts = realloc(s->contexts, n * sizeof *s->contexts);
        memset(s->contexts + s->n, 0, (n - s->n) * sizeof *s->contexts);
        s->n = n;
    }
    return &s->contexts[i];
}

static int next(void *self, uint32_t i, struct peet_event *out, struct peet_error *error)
{
    struct source *s = self;
    struct context *c = context_of(s, i);
    const struct threads_op *op;

    (void)error;
    if (c->awaits) {
        c->awaits = 0;
        threads_answer(s->result, peet_map_number(s->map, i), c->result);
        if (c->at && threads_interrupted(&c->program->ops[c->at - 1], c->result, &c->again)) {
            c->result = 0;
            out->block = (struct peet_block_event){.block = &blocks[THREADS_HANDLER], .turns = 1};
            return PEET_EVENT_BLOCK;
        }
        c->result = 0;
    }
    if (c->again.type) {
        c->awaits = 1;
        c->asked = c->again;
        c->again.type = 0;
        out->abstract = (struct peet_abstract_event){.type = c->asked.type, .nargs = 6, .args = c->asked.args};
        return PEET_EVENT_ABSTRACT;
    }
    if (c->at == c->program->n)
        return 0;
    op = &c->program->ops[c->at++];
    if (op->type == THREADS_OP_BLOCK) {
        out->block = (struct peet_block_event){.block = &blocks[op->args[0]], .turns = 1};
        return PEET_EVENT_BLOCK;
    }
    c->awaits = 1;
    out->abstract = (struct peet_abstract_event){.type = op->type, .nargs = 6, .args = op->args};
    return PEET_EVENT_ABSTRACT;
}

static void result(void *self, uint32_t i, uint64_t value)
{
    context_of(self, i)->result = value;
}

static int spawn(void *self, uint32_t i, uint64_t fn, uint64_t a, uint64_t b, struct peet_error *error)
{
    struct source *s = self;

    (void)a;
    (void)b;
    if (fn >= s->script->n)
        return peet_error_set(error, PEET_ENOMEM, "there is no such program");
    *context_of(s, i) = (struct context){.program = &s->script->programs[fn]};
    return 0;
}

static int spawn_thread(void *self, uint32_t i, const struct peet_source_thread *thread, struct peet_error *error)
{
    return spawn(self, i, thread->fn, thread->arg, 0, error);
}

static void retire(void *self, uint32_t i)
{
    context_of(self, i)->program = NULL;
}

static const struct peet_block *synthetic(void *self, unsigned what)
{
    (void)self;
    return what < 3 && threads_hooks.modify_cycles ? &synthetics[what] : NULL;
}

/* ---- the machine */

static struct threads_result *the_result;
static const struct peet_env *the_env;

static void *create(const struct peet_env *env, const union peet_value *values)
{
    (void)values;
    the_env = env;
    return &the_result;
}
static void destroy(void *self)
{
    (void)self;
}
static uint64_t block(void *self, unsigned hw, const struct peet_block_event *event, uint64_t now)
{
    const uint64_t cycles[3] = {threads_hooks.modify_cycles, threads_hooks.load_cycles, threads_hooks.store_cycles};
    uint32_t id = event->block->id;

    (void)self;
    (void)hw;
    (void)now;
    if (id < THREADS_COSTS)
        return id;
    threads_hooks.references[id - THREADS_COSTS]++;
    return cycles[id - THREADS_COSTS];
}
static uint64_t abstract(void *self, unsigned hw, const struct peet_abstract_event *event, uint64_t now)
{
    struct threads_record one = {now, hw, event->context, event->type, {0}, event->nargs};

    (void)self;
    memcpy(one.args, event->args, event->nargs * sizeof *event->args);
    threads_log(the_result, one);
    return threads_cost(event->type);
}
static int pull_main(void *self)
{
    const struct peet_env *env = the_env;

    for (;;) {
        unsigned hw = 0;
        uint64_t now;
        struct peet_pull event;

        for (unsigned i = 1; i < env->hw_contexts; i++)
            if (env->clock(env, i) < env->clock(env, hw))
                hw = i;
        if (env->pull(env, hw, &event) < 0)
            return 0;
        now = env->clock(env, hw);
        if (event.kind == PEET_PULL_END)
            return 0;
        if (event.kind == PEET_PULL_BLOCK)
            env->charge(env, hw, block(self, hw, &event.block, now));
        else if (event.kind == PEET_PULL_ABSTRACT)
            env->charge(env, hw, abstract(self, hw, &event.abstract, now));
    }
}

static void report(void *arg, uint32_t source, const char *text)
{
    struct threads_result *r = arg;

    (void)source;
    if (!r->reports++)
        snprintf(r->first_report, sizeof r->first_report, "%s", text);
}

void threads_run(const struct threads_script *script, const struct peet_map_config *config, int pull,
    struct threads_result *out)
{
    struct source s = {.script = script, .result = out};
    struct peet_source_ops ops = {.next = next,
        .result = result,
        .spawn = spawn,
        .spawn_thread = spawn_thread,
        .retire = retire,
        .synthetic = synthetic,
        .io_ready = threads_hooks.io_ready,
        .state = threads_hooks.state};
    struct peet_module machine = {.abi = PEET_MODULE_ABI,
        .struct_size = sizeof machine,
        .name = "threads",
        .summary = "logs",
        .kind = PEET_MACHINE,
        .needs = PEET_NEEDS_BLOCKS | PEET_NEEDS_ABSTRACT,
        .create = create,
        .destroy = destroy,
        .block = block,
        .abstract = abstract,
        .pick_winner = threads_hooks.winner,
        .main = pull ? pull_main : NULL};
    struct peet_map_config mine = *config;
    struct peet_map_blocked one;

    *out = (struct threads_result){0};
    make_blocks();
    memset(threads_hooks.references, 0, sizeof threads_hooks.references);
    the_result = out;
    mine.report = report;
    mine.report_arg = out;
    context_of(&s, 0)->program = &script->programs[0];
    out->err = peet_map_new(&mine, &ops, &s, &s.map, &out->error);
    if (!out->err)
        out->err = peet_map_set_machine(s.map, &machine, NULL, &out->error);
    if (!out->err)
        out->err = peet_map_run(s.map, &out->error);
    if (s.map) {
        json_t *stats = json_object();
        struct peet_error error = {0, ""};

        out->end = peet_map_cycles(s.map);
        for (; !peet_map_blocked(s.map, out->blocked, &one); out->blocked++)
            if (!out->blocked)
                memcpy(out->first_wait, one.waits_for, sizeof one.waits_for);
        out->ncircle = peet_map_cycle(s.map, out->circle, 8);
        out->livelock = peet_map_livelock(s.map);
        if (peet_map_stats(s.map, stats, &error))
            out->err = error.code;
        json_decref(stats);
    }
    for (uint32_t i = 0; i < s.n; i++)
        out->live += s.contexts[i].program != NULL;
    peet_map_free(s.map);
    free(s.contexts);
}
