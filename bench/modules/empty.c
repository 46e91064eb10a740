/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The empty observer: what it adds to a run is what handing events to a module costs.  NEEDS, given when it is
 * compiled, is the mask of events that it asks for (enum peet_needs).
 *
 *   cc -shared -fPIC -O2 -DNEEDS=3 -I$PREFIX/include -o empty.so empty.c
 */
#include <stdlib.h>
#include <peet/module.h>

#ifndef NEEDS
#define NEEDS 0
#endif

static void *create(const struct peet_env *env, const union peet_value *values)
{
    (void)values;
    void *self = malloc(1);
    if (!self)
        env->fail(env, "out of memory");
    return self;
}

static uint64_t block(void *self, unsigned hw, const struct peet_block_event *event, uint64_t now)
{
    (void)self, (void)hw, (void)event, (void)now;
    return 0;
}

static uint64_t abstract(void *self, unsigned hw, const struct peet_abstract_event *event, uint64_t now)
{
    (void)self, (void)hw, (void)event, (void)now;
    return 0;
}

const struct peet_module peet_module = {
    .abi = PEET_MODULE_ABI,
    .struct_size = sizeof peet_module,
    .name = "empty",
    .summary = "does nothing; asks for a given set of events",
    .kind = PEET_OBSERVER,
    .needs = NEEDS,
    .create = create,
    .destroy = free,
    .block = block,
    .abstract = abstract,
};
