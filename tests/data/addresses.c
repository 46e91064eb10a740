/* SPDX-License-Identifier: Apache-2.0 */
/* An observer for tests that wants nothing but addresses: their hash, context by context, in addresses.txt. */
#include <peet/module.h>

#include <stdio.h>
#include <stdlib.h>

enum { CONTEXTS = 1000 };

struct self {
    const struct peet_env *env;
    uint64_t hash[CONTEXTS], references;
};

static void *create(const struct peet_env *env, const union peet_value *values)
{
    struct self *s = calloc(1, sizeof *s);

    (void)values;
    s->env = env;
    return s;
}

static uint64_t block(void *self, unsigned hw, const struct peet_block_event *event, uint64_t now)
{
    struct self *s = self;
    uint64_t *hash = &s->hash[event->context % CONTEXTS];

    (void)hw;
    for (uint32_t i = 0; i < event->block->nvalues; i++, s->references++)
        *hash = (*hash ^ event->values[i] ^ now << 48) * 0x100000001b3u;
    return 0;
}

static void finish(void *self, uint64_t cycles)
{
    struct self *s = self;
    char path[4096];
    FILE *out;

    snprintf(path, sizeof path, "%s/addresses.txt", s->env->output_dir);
    out = fopen(path, "w");
    for (unsigned i = 0; out && i < CONTEXTS; i++)
        if (s->hash[i])
            fprintf(out, "%u %016llx\n", i, (unsigned long long)s->hash[i]);
    if (!out || fprintf(out, "%llu in %llu cycles\n", (unsigned long long)s->references, (unsigned long long)cycles) < 0 || fclose(out))
        s->env->fail(s->env, "%s: cannot write", path);
}

const struct peet_module peet_module = {
    .abi = PEET_MODULE_ABI,
    .struct_size = sizeof peet_module,
    .name = "addresses",
    .summary = "hash of addresses",
    .kind = PEET_OBSERVER,
    .needs = PEET_NEEDS_BLOCKS | PEET_NEEDS_ADDRESSES,
    .create = create,
    .destroy = free,
    .block = block,
    .finish = finish,
};
