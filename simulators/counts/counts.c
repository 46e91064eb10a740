/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counting: per function calls, instructions, reads and writes, and on request executions per block.
 * A block costs one increment while the program runs; blocks whose references vary (string
 * instructions, lane masks) are counted as they come.  The arithmetic is done once, in stats().
 */
#include <peet/counting.h>
#include <peet/direct.h>
#include <peet/module.h>

#include <stdlib.h>
#include <string.h>

struct line {
    const struct peet_block *block; /* NULL: never executed */
    uint64_t executions;
    struct peet_counts varying;
};

struct counts {
    const struct peet_env *env;
    enum peet_convention convention;
    int list_blocks;
    struct line *lines; /* by block id */
    uint32_t nlines;
    int failed;
};

static const struct peet_param params[] = {
    {"blocks", PEET_PARAM_BOOL, "", "off", "", "list every block with its executions"},
    {"convention", PEET_PARAM_ENUM, "", "callgrind", "callgrind|plain",
        "what is one instruction, read, write: as Valgrind's callgrind has it, or as the processor does it"},
    {0},
};

static void *create(const struct peet_env *env, const union peet_value *values)
{
    struct counts *self = calloc(1, sizeof *self);

    if (!self) {
        env->fail(env, "out of memory");
        return NULL;
    }
    self->env = env;
    self->list_blocks = values[0].u64 != 0;
    self->convention = (enum peet_convention)values[1].u64;
    return self;
}

static void destroy(void *arg)
{
    struct counts *self = arg;

    free(self->lines);
    free(self);
}

static __attribute__((noinline)) int grow(struct counts *self, uint32_t id)
{
    uint32_t n = self->nlines ? self->nlines : 1024;
    struct line *more;

    while (n <= id)
        n *= 2;
    more = self->failed ? NULL : realloc(self->lines, n * sizeof *more);
    if (!more) {
        if (!self->failed)
            self->env->fail(self->env, "out of memory for %u blocks", n);
        self->failed = 1;
        return -1;
    }
    memset(more + self->nlines, 0, (n - self->nlines) * sizeof *more);
    self->lines = more;
    self->nlines = n;
    return 0;
}

static uint64_t block(void *arg, unsigned hw, const struct peet_block_event *event, uint64_t now)
{
    struct counts *self = arg;
    uint32_t id = event->block->id;

    (void)hw;
    (void)now;
    if (id >= self->nlines && grow(self, id))
        return 0;
    self->lines[id].executions++;
    self->lines[id].block = event->block;
    if (!(event->block->flags & PEET_BLOCK_SIMPLE))
        peet_count_dynamic(event->block, event->values, self->convention, &self->lines[id].varying);
    return 0;
}

static uint64_t blocks(void *arg, unsigned hw, const struct peet_block_event *events, size_t n, uint64_t now,
    uint64_t until, size_t *out_done)
{
    (void)until;
    for (size_t i = 0; i < n; i++)
        block(arg, hw, &events[i], now);
    *out_done = n;
    return 0;
}

/** Loops have neither ranges nor conditional references: nothing varies. */
static uint64_t loop(void *arg, unsigned hw, const struct peet_block_event *event, uint64_t now, uint64_t until,
    uint64_t *out_turns)
{
    struct counts *self = arg;
    uint32_t id = event->block->id;

    (void)hw;
    (void)now;
    (void)until;
    *out_turns = event->turns;
    if (id >= self->nlines && grow(self, id))
        return 0;
    self->lines[id].executions += event->turns;
    self->lines[id].block = event->block;
    return 0;
}

static int watch(void *arg, const struct peet_block *block, const uint64_t *values,
    struct peet_direct_watch **out_watch)
{
    (void)arg;
    (void)values;
    *out_watch = NULL;
    return block->flags & PEET_BLOCK_SIMPLE ? 0 : -1;
}

static void executed(void *arg, const struct peet_block *block, uint64_t times)
{
    struct counts *self = arg;

    if (block->id >= self->nlines && grow(self, block->id))
        return;
    self->lines[block->id].executions += times;
    self->lines[block->id].block = block;
}

/** The executions may not have been told yet: they are fewer than none until then. */
static void undone(void *arg, const struct peet_block *block, const uint64_t *values, uint64_t times)
{
    struct counts *self = arg;
    struct peet_counts counts = {0, 0, 0}, *varying;

    if (block->id >= self->nlines && grow(self, block->id))
        return;
    self->lines[block->id].executions -= times;
    self->lines[block->id].block = block;
    if (block->flags & PEET_BLOCK_SIMPLE || !values)
        return;
    peet_count_dynamic(block, values, self->convention, &counts);
    varying = &self->lines[block->id].varying;
    varying->instructions -= counts.instructions * times;
    varying->reads -= counts.reads * times;
    varying->writes -= counts.writes * times;
}

static const struct peet_direct_observer observed = {
    .abi = PEET_DIRECT_ABI, .struct_size = sizeof observed, .watch = watch, .executed = executed, .undone = undone};

/** Blocks of one function stand together, functions in the order of their addresses. */
static int by_function(const void *a, const void *b)
{
    const struct peet_block *x = (*(const struct line *const *)a)->block, *y = (*(const struct line *const *)b)->block;

    if (x->function != y->function)
        return x->function->runtime_pc != y->function->runtime_pc
            ? (x->function->runtime_pc < y->function->runtime_pc ? -1 : 1)
            : (x->function->id < y->function->id ? -1 : 1);
    return x->index < y->index ? -1 : x->index > y->index;
}

static void put(const struct peet_env *env, struct peet_stats *node, const struct peet_counts *counts)
{
    env->stats_u64(env, node, "instructions", counts->instructions);
    env->stats_u64(env, node, "reads", counts->reads);
    env->stats_u64(env, node, "writes", counts->writes);
}

/** The functions, from lines sorted by function; the sum over all goes to @total. */
static void put_functions(const struct counts *self, const struct peet_env *env, struct peet_stats *node,
    struct line **lines, size_t n, struct peet_counts *total)
{
    struct peet_stats *list = env->stats_array(env, node, "functions");

    for (size_t i = 0; i < n;) {
        const struct peet_function *f = lines[i]->block->function;
        struct peet_stats *one = env->stats_object(env, list, NULL);
        struct peet_counts sum = {0, 0, 0};
        uint64_t calls = 0;

        for (; i < n && lines[i]->block->function == f; i++) {
            struct peet_counts each = {0, 0, 0};
            uint64_t times = lines[i]->executions;

            peet_count_static(lines[i]->block, self->convention, &each);
            sum.instructions += each.instructions * times + lines[i]->varying.instructions;
            sum.reads += each.reads * times + lines[i]->varying.reads;
            sum.writes += each.writes * times + lines[i]->varying.writes;
            if (lines[i]->block->flags & PEET_BLOCK_ENTRY)
                calls += times;
        }
        env->stats_string(env, one, "name", f->name);
        env->stats_string(env, one, "file", f->file);
        env->stats_u64(env, one, "line", f->line);
        env->stats_string(env, one, "image", f->image ? f->image : "");
        env->stats_u64(env, one, "calls", calls);
        put(env, one, &sum);
        total->instructions += sum.instructions;
        total->reads += sum.reads;
        total->writes += sum.writes;
    }
}

static void stats(void *arg, const struct peet_env *env, struct peet_stats *node)
{
    const struct counts *self = arg;
    struct line **lines = malloc((self->nlines + 1) * sizeof *lines);
    struct peet_counts total = {0, 0, 0};
    struct peet_stats *list;
    size_t n = 0;

    if (!lines) {
        env->fail(env, "out of memory");
        return;
    }
    for (uint32_t i = 0; i < self->nlines; i++)
        if (self->lines[i].block && self->lines[i].executions) /* some may have been undone */
            lines[n++] = &self->lines[i];
    qsort(lines, n, sizeof *lines, by_function);
    env->stats_string(env, node, "convention", self->convention == PEET_COUNT_PLAIN ? "plain" : "callgrind");
    put_functions(self, env, node, lines, n, &total);
    put(env, node, &total);
    list = self->list_blocks ? env->stats_array(env, node, "blocks") : NULL;
    for (size_t i = 0; list && i < n; i++) {
        struct peet_stats *one = env->stats_object(env, list, NULL);

        env->stats_string(env, one, "function", lines[i]->block->function->name);
        env->stats_u64(env, one, "index", lines[i]->block->index);
        env->stats_u64(env, one, "line", lines[i]->block->line);
        env->stats_u64(env, one, "executions", lines[i]->executions);
    }
    free(lines);
}

const struct peet_module peet_module = {
    .abi = PEET_MODULE_ABI,
    .struct_size = sizeof(struct peet_module),
    .name = "counts",
    .summary = "instructions, reads and writes per function, executions per block",
    .kind = PEET_OBSERVER,
    .needs = PEET_NEEDS_BLOCKS, /* what varies comes with blocks that are not simple */
    .params = params,
    .create = create,
    .destroy = destroy,
    .block = block,
    .loop = loop,
    .blocks = blocks,
    .observed = &observed,
    .stats = stats,
};
