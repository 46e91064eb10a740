/* SPDX-License-Identifier: Apache-2.0 */
/* The smallest useful machine: a processor that runs every instruction in `cpi` cycles.
 *   cc -shared -fPIC -O2 -I$PREFIX/include -o minimal.so minimal.c
 *   peet run --machine ./minimal.so,cpi=2 --cores 4 -- ./shallow */
#include <stdlib.h>
#include <peet/module.h>

struct minimal { uint64_t cpi, instructions; };

static const struct peet_param params[] = {
    {"cpi", PEET_PARAM_U64, "cycles", "1", "1..1000", "cycles for an instruction"}, {0}};

static void *create(const struct peet_env *env, const union peet_value *values)
{
    struct minimal *m = calloc(1, sizeof *m);
    if (m)
        m->cpi = values[0].u64;
    else
        env->fail(env, "out of memory");
    return m;
}

static uint64_t block(void *self, unsigned hw, const struct peet_block_event *event, uint64_t now)
{
    struct minimal *m = self;
    (void)hw, (void)now;
    m->instructions += event->block->ninsns;
    return event->block->ninsns * m->cpi;
}

static void stats(void *self, const struct peet_env *env, struct peet_stats *node)
{
    env->stats_u64(env, node, "instructions", ((struct minimal *)self)->instructions);
}

const struct peet_module peet_module = {
    .abi = PEET_MODULE_ABI, .struct_size = sizeof peet_module, .name = "minimal", .kind = PEET_MACHINE,
    .summary = "every instruction takes cpi cycles", .needs = PEET_NEEDS_BLOCKS, .params = params,
    .create = create, .destroy = free, .block = block, .stats = stats};
