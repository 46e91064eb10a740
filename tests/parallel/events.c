/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An observer that writes every abstract event down, in the order of simulated time: the tests of parallel
 * programs work out by themselves when what must happen.  One line each:
 *
 *     TIME HW CONTEXT WORK NAME ARGUMENT...
 *
 * WORK is what the context's own blocks have cost so far by the schema, which is what machine `ideal` charges.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <peet/module.h>

struct events {
    const struct peet_env *env;
    FILE *file;
    uint64_t *work; /* per context */
    size_t room;
};

static const char *const names[] = {
#define PEET_X(name, value, nargs, text, args) [value] = #name,
    PEET_ABSTRACTS(PEET_X)
#undef PEET_X
};

static const struct peet_param params[] = {{"file", PEET_PARAM_STRING, "", "events.txt", "", "name in the results folder"}, {0}};

static void *create(const struct peet_env *env, const union peet_value *values)
{
    struct events *self = calloc(1, sizeof *self);
    char path[4096];

    snprintf(path, sizeof path, "%s/%s", env->output_dir, values[0].string);
    if (!self || !(self->file = fopen(path, "w"))) {
        env->fail(env, "cannot write %s", path);
        free(self);
        return NULL;
    }
    self->env = env;
    return self;
}

static void destroy(void *arg)
{
    struct events *self = arg;

    if (self->file)
        fclose(self->file);
    free(self->work);
    free(self);
}

static uint64_t *work_of(struct events *self, uint32_t context)
{
    if (context >= self->room) {
        size_t room = 2 * (size_t)context + 64;
        uint64_t *work = realloc(self->work, room * sizeof *work);

        if (!work)
            abort();
        for (size_t i = self->room; i < room; i++)
            work[i] = 0;
        self->work = work;
        self->room = room;
    }
    return &self->work[context];
}

static uint64_t block(void *arg, unsigned hw, const struct peet_block_event *event, uint64_t now)
{
    (void)hw, (void)now;
    *work_of(arg, event->context) += event->block->cost_cycles;
    return 0;
}

static uint64_t loop(void *arg, unsigned hw, const struct peet_block_event *event, uint64_t now, uint64_t until, uint64_t *out_turns)
{
    (void)hw, (void)now, (void)until;
    *work_of(arg, event->context) += event->turns * event->block->cost_cycles;
    *out_turns = event->turns;
    return 0;
}

static uint64_t abstract(void *arg, unsigned hw, const struct peet_abstract_event *event, uint64_t now)
{
    struct events *self = arg;

    fprintf(self->file, "%" PRIu64 " %u %u %" PRIu64 " %s", now, hw, event->context, *work_of(self, event->context),
        event->type < PEET_ABSTRACT_TYPES && names[event->type] ? names[event->type] : "?");
    for (uint32_t i = 0; i < event->nargs; i++)
        fprintf(self->file, " %" PRId64, (int64_t)event->args[i]);
    fputc('\n', self->file);
    return 0;
}

static void finish(void *arg, uint64_t end_cycles)
{
    struct events *self = arg;
    int bad = fprintf(self->file, "%" PRIu64 " END\n", end_cycles) < 0;

    if (fclose(self->file) || bad)
        self->env->fail(self->env, "the events could not be written");
    self->file = NULL;
}

const struct peet_module peet_module = {
    .abi = PEET_MODULE_ABI, .struct_size = sizeof peet_module, .name = "events", .kind = PEET_OBSERVER,
    .summary = "writes every abstract event down", .needs = PEET_NEEDS_BLOCKS | PEET_NEEDS_ABSTRACT, .params = params,
    .create = create, .destroy = destroy, .block = block, .abstract = abstract, .finish = finish, .loop = loop};
