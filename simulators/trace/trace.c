/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The observer that asks for a trace.  What it keeps are the words that the program itself writes, before anybody
 * decodes them; so the host writes the file (mapper/host/record.c), and this module only says that it shall, how, and
 * that allocations and data structures are to be noted for whoever replays the trace.
 */
#include <peet/module.h>

#include <stdlib.h>

static const struct peet_param params[] = {
    {"level", PEET_PARAM_U64, "", "0", "0..19", "how hard zstd tries; 0: hardly"},
    {NULL, PEET_PARAM_U64, NULL, NULL, NULL, NULL},
};

static void *create(const struct peet_env *env, const union peet_value *values)
{
    void *self = malloc(1);

    (void)values;
    if (!self)
        env->fail(env, "out of memory");
    return self;
}

static void destroy(void *self)
{
    free(self);
}

static uint64_t abstract(void *self, unsigned hw, const struct peet_abstract_event *event, uint64_t now)
{
    (void)self;
    (void)hw;
    (void)event;
    (void)now;
    return 0;
}

const struct peet_module peet_module = {
    .abi = PEET_MODULE_ABI,
    .struct_size = sizeof(struct peet_module),
    .name = "trace",
    .summary = "keep the run in trace.peet, to be replayed with --from, converted and compared",
    .kind = PEET_OBSERVER,
    .needs = PEET_NEEDS_ABSTRACT | PEET_NEEDS_DATA,
    .params = params,
    .create = create,
    .destroy = destroy,
    .abstract = abstract,
};
