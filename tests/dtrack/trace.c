/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An observer for these tests: every reference in order, one line of text each, "L|S|M hw address bytes", and allocations:
 * "A address bytes", "F address".  Built outside the tree.
 */
#include <peet/module.h>
#include <stdio.h>
#include <stdlib.h>

static const struct peet_param params[] = {{"file", PEET_PARAM_STRING, "", "trace.txt", "", "where it goes"}, {0}};

static void *create(const struct peet_env *env, const union peet_value *values)
{
    FILE *out = fopen(values[0].string, "w");
    if (!out)
        env->fail(env, "cannot write %s", values[0].string);
    return out;
}

static void destroy(void *self)
{
    fclose(self);
}

static uint64_t block(void *self, unsigned hw, const struct peet_block_event *event, uint64_t now)
{
    static const char kinds[] = "LSMP";
    (void)now;
    for (uint32_t i = 0; i < event->block->nrefs; i++) {
        const struct peet_ref *ref = &event->block->refs[i];
        for (struct peet_ref_iter it = peet_ref_begin(ref, event->values); it.count; it.count--, it.address += (uint64_t)it.step)
            fprintf(self, "%c %u %llx %u\n", kinds[ref->kind], hw, (unsigned long long)it.address, ref->size_bytes ? ref->size_bytes : 1u);
    }
    return 0;
}

static uint64_t abstract(void *self, unsigned hw, const struct peet_abstract_event *event, uint64_t now)
{
    (void)hw;
    (void)now;
    if (event->type == PEET_ABSTRACT_ALLOC)
        fprintf(self, "A %llx %llu\n", (unsigned long long)event->args[0], (unsigned long long)event->args[1]);
    else if (event->type == PEET_ABSTRACT_FREE)
        fprintf(self, "F %llx\n", (unsigned long long)event->args[0]);
    return 0;
}

const struct peet_module peet_module = {
    .abi = PEET_MODULE_ABI, .struct_size = sizeof(struct peet_module), .name = "trace", .summary = "every reference as text",
    .kind = PEET_OBSERVER, .needs = PEET_NEEDS_BLOCKS | PEET_NEEDS_ADDRESSES | PEET_NEEDS_ABSTRACT, .params = params,
    .create = create, .destroy = destroy, .block = block, .abstract = abstract,
};
