/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The scripted source and the logging machine.
 */
#include "script.h"
#include "worker.h"

#include <stdlib.h>
#include <string.h>

void script_log_add(struct script_log *log, struct script_record record)
{
    if (log->n == log->room) {
        log->room = log->room ? 2 * log->room : 1024;
        log->records = realloc(log->records, log->room * sizeof record);
        if (!log->records)
            abort();
    }
    log->records[log->n++] = record;
}

void script_log_free(struct script_log *log)
{
    free(log->records);
    *log = (struct script_log){0};
}

/* ---- blocks: one per cost */

static struct peet_function function = {.name = "f", .file = "f.c", .image = ""};
static struct peet_block blocks[SCRIPT_COSTS];

static void make_blocks(void)
{
    for (unsigned i = 0; i < SCRIPT_COSTS; i++)
        blocks[i] = (struct peet_block){
            .function = &function, .id = i, .index = i, .flags = PEET_BLOCK_SIMPLE, .ninsns = i + 1, .cost_cycles = i};
}

/* ---- source */

struct context {
    int used, worker, marked, running; /* worker: runs iterations; running: inside one */
    const struct script_body *body;
    const struct script_loop *loop;
    unsigned at;
    int joining; /* a marked loop is to be joined */
    uint64_t result, args[6];
    struct peet_block_event *batch; /* of its own: the array of contexts moves */
};

struct source {
    const struct script *script;
    struct context *contexts;
    uint32_t n;
};

static struct context *context_of(struct source *s, uint32_t i)
{
    if (i >= s->n) {
        s->contexts = realloc(s->contexts, (i + 1) * sizeof *s->contexts);
        memset(s->contexts + s->n, 0, (i + 1 - s->n) * sizeof *s->contexts);
        for (uint32_t k = s->n; k <= i; k++)
            s->contexts[k].batch = calloc(5, sizeof *s->contexts[k].batch);
        s->n = i + 1;
    }
    return &s->contexts[i];
}

static int say(struct context *c, struct peet_event *out, uint32_t type, uint32_t nargs)
{
    out->abstract = (struct peet_abstract_event){.type = type, .context = 77, .nargs = nargs, .args = c->args};
    return PEET_EVENT_ABSTRACT;
}

static struct peet_block_event block_event(unsigned cost)
{
    return (struct peet_block_event){.block = &blocks[cost], .context = 77, .turns = 1};
}

static int next(void *self, uint32_t i, struct peet_event *out, struct peet_error *error)
{
    struct source *s = self;
    struct context *c = context_of(s, i);
    const struct script_op *op;
    const struct script_loop *loop;

    if (!c->used)
        abort();
    if (c->worker && !c->running) {
        c->running = 1;
        c->body = NULL;
        c->args[0] = 12345; /* the previous iteration: nobody's business */
        c->result = PEET__NO_ITERATION;
        return say(c, out, PEET_ABSTRACT_DOALL_START, 1);
    }
    if (c->worker && !c->body) {
        if (c->result == PEET__NO_ITERATION)
            return 0;
        c->body = &s->script->bodies[c->loop->first_body + (uint64_t)((int64_t)c->result - c->loop->lo)];
        c->at = 0;
    }
    if (c->joining) {
        c->joining = 0;
        return say(c, out, PEET_ABSTRACT_MARK_JOIN, 0);
    }
    if (c->at == c->body->n) {
        if (!c->worker)
            return 0;
        c->running = 0;
        return say(c, out, PEET_ABSTRACT_DOALL_FINISH, 1);
    }
    op = &c->body->ops[c->at++];
    switch (op->kind) {
    case SCRIPT_BLOCK:
        out->block = block_event(op->value);
        return PEET_EVENT_BLOCK;
    case SCRIPT_FORK:
        loop = &s->script->loops[op->value];
        c->args[0] = (uint64_t)loop->lo;
        c->args[1] = (uint64_t)loop->hi;
        c->args[2] = loop->schedule;
        c->args[3] = loop->chunk;
        c->args[4] = op->value;
        c->args[5] = 99;
        c->joining = loop->marked;
        c->loop = c->worker ? c->loop : loop;
        return say(c, out, loop->marked ? PEET_ABSTRACT_MARK_FORK : PEET_ABSTRACT_DOALL_FORK, loop->marked ? 4 : 6);
    case SCRIPT_YIELD:
        return say(c, out, PEET_ABSTRACT_YIELD, 0);
    case SCRIPT_EXIT:
        c->args[0] = op->value;
        return say(c, out, PEET_ABSTRACT_PROGRAM_EXIT, 1);
    case SCRIPT_HANG:
        break;
    }
    return peet_error_set(error, PEET_ESTREAM, "scripted failure");
}

/** The blocks that come next, up to five, or loops of equal ones, from arrays that change with every call for a
 * context. */
static unsigned next_blocks(void *self, uint32_t i, unsigned most, struct peet_block_event **out_events)
{
    struct source *s = self;
    struct context *c = context_of(s, i);
    unsigned n = 0;

    if (!c->used || (c->worker && (!c->running || !c->body)) || c->joining)
        return 0;
    for (; n < 5 && n < most && c->at < c->body->n && c->body->ops[c->at].kind == SCRIPT_BLOCK; c->at++) {
        unsigned cost = c->body->ops[c->at].value;

        if (s->script->batches > 1 && n && c->batch[n - 1].block == &blocks[cost])
            c->batch[n - 1].turns++;
        else
            c->batch[n++] = block_event(cost);
    }
    *out_events = c->batch;
    return n;
}

static void result(void *self, uint32_t i, uint64_t value)
{
    context_of(self, i)->result = value;
}

static int spawn_iterations(void *self, uint32_t i, uint32_t carrier, uint64_t fn, uint64_t arg,
    struct peet_error *error)
{
    struct source *s = self;
    struct context *c = context_of(s, i);

    if (c->used || arg != 99)
        return peet_error_set(error, PEET_ESTREAM, "source number %u is in use", i);
    *c = (struct context){.used = 1, .worker = 1, .loop = &s->script->loops[fn], .batch = c->batch};
    return 0;
}

static int spawn(void *self, uint32_t i, uint64_t fn, uint64_t a, uint64_t b, struct peet_error *error)
{
    return peet_error_set(error, PEET_EUNSUPPORTED, "not in scripts");
}

static int marked(void *self, uint32_t i, uint32_t carrier, uint64_t iteration, struct peet_error *error)
{
    struct source *s = self;
    struct context *c = context_of(s, i);
    const struct script_loop *loop = s->contexts[carrier].loop;

    if (c->used)
        return peet_error_set(error, PEET_ESTREAM, "source number %u is in use", i);
    if ((int64_t)iteration >= loop->hi - (int64_t)loop->missing)
        return PEET_ENOTFOUND;
    *c = (struct context){.used = 1,
        .marked = 1,
        .batch = c->batch,
        .body = &s->script->bodies[loop->first_body + (uint64_t)((int64_t)iteration - loop->lo)]};
    return 0;
}

static void retire(void *self, uint32_t i)
{
    context_of(self, i)->used = 0;
}

const struct peet_source_ops script_ops = {
    .next = next,
    .result = result,
    .spawn = spawn,
    .marked = marked,
    .retire = retire,
    .spawn_iterations = spawn_iterations,
};

/* ---- the logging machine */

static struct script_log *the_log;
static const struct peet_env *the_env;

static void *create(const struct peet_env *env, const union peet_value *values)
{
    the_env = env;
    return &the_log;
}

static void destroy(void *self)
{
    (void)self;
}

static uint64_t block(void *self, unsigned hw, const struct peet_block_event *event, uint64_t now)
{
    unsigned cost = event->block->cost_cycles;

    script_log_add(the_log, (struct script_record){hw, event->context, 1000 + cost, now});
    if (script_stall(cost))
        the_env->not_ready_until(the_env, hw, now + cost + script_stall(cost));
    return cost;
}

/** Turn by turn, up to the time that is given, or to one after which the machine wants to wait. */
static uint64_t loop(void *self, unsigned hw, const struct peet_block_event *event, uint64_t now, uint64_t until,
    uint64_t *out_turns)
{
    uint64_t cost = 0;

    *out_turns = 0;
    do {
        cost += block(self, hw, event, now + cost);
        ++*out_turns;
    } while (*out_turns < event->turns && now + cost < until && !script_stall(event->block->cost_cycles));
    return cost;
}

static uint64_t abstract(void *self, unsigned hw, const struct peet_abstract_event *event, uint64_t now)
{
    script_log_add(the_log, (struct script_record){hw, event->context, event->type, now});
    return script_cost(event->type);
}

/** The pull form: least clock first, ties by index. */
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
            return 0; /* the mapper knows why */
        now = env->clock(env, hw);
        if (event.kind == PEET_PULL_END)
            return 0;
        if (event.kind == PEET_PULL_BLOCK)
            env->charge(env, hw, block(self, hw, &event.block, now));
        else if (event.kind == PEET_PULL_ABSTRACT)
            env->charge(env, hw, abstract(self, hw, &event.abstract, now));
    }
}

struct peet_module script_machine = {
    .abi = PEET_MODULE_ABI,
    .struct_size = sizeof(struct peet_module),
    .name = "script",
    .summary = "logs",
    .kind = PEET_MACHINE,
    .needs = PEET_NEEDS_BLOCKS | PEET_NEEDS_ABSTRACT,
    .create = create,
    .destroy = destroy,
    .block = block,
    .abstract = abstract,
};
struct peet_module script_pull_machine = {
    .abi = PEET_MODULE_ABI,
    .struct_size = sizeof(struct peet_module),
    .name = "script",
    .summary = "logs",
    .kind = PEET_MACHINE,
    .create = create,
    .destroy = destroy,
    .main = pull_main,
};

void script_run(const struct script *script, const struct peet_map_config *config, int pull, struct script_log *log,
    struct script_result *out)
{
    struct source source = {.script = script};
    struct peet_source_ops ops = script_ops;
    struct context *main_context;
    struct peet_module push = script_machine;
    struct peet_map *map;

    make_blocks();
    *out = (struct script_result){0};
    log->n = 0;
    the_log = log;
    main_context = context_of(&source, 0);
    main_context->used = 1;
    main_context->body = &script->main;
    if (script->batches && !(pull && script->batches > 1))
        ops.blocks = next_blocks;
    if (script->batches > 1)
        push.loop = loop;
    out->err = peet_map_new(config, &ops, &source, &map, &out->error);
    if (!out->err)
        out->err = peet_map_set_machine(map, pull ? &script_pull_machine : &push, NULL, &out->error);
    if (!out->err)
        out->err = peet_map_run(map, &out->error);
    if (map) {
        out->end = peet_map_cycles(map);
        out->nhw = peet_map_nhw(map);
        out->status = peet_map_exit_status(map);
        for (unsigned i = 0; i < out->nhw && i < 64; i++)
            peet_map_hw(map, i, peet_map_cycles(map), &out->hw[i]);
        peet_map_totals(map, &out->totals);
    }
    for (uint32_t i = 0; i < source.n; i++)
        out->live_sources += source.contexts[i].used != 0;
    peet_map_free(map);
    for (uint32_t i = 0; i < source.n; i++)
        free(source.contexts[i].batch);
    free(source.contexts);
}
