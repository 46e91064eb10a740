/* SPDX-License-Identifier: Apache-2.0 */
/* Observer of a test: every instruction of libraries, in order, as the place in its file and the file's name. */
#define _GNU_SOURCE
#include <peet/module.h>

#include <dlfcn.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct order {
    FILE *to;
};

static const struct peet_param params[] = {{"to", PEET_PARAM_STRING, "", "order", "", "file"}, {0}};

static void *create(const struct peet_env *env, const union peet_value *values)
{
    struct order *self = calloc(1, sizeof *self);
    if (!self || !(self->to = fopen(values[0].string, "w")))
        env->fail(env, "cannot write %s", values[0].string);
    return self;
}

static void destroy(void *arg)
{
    struct order *self = arg;
    if (self->to)
        fclose(self->to);
    free(self);
}

static uint64_t block(void *arg, unsigned hw, const struct peet_block_event *event, uint64_t now)
{
    struct order *self = arg;
    const struct peet_block *b = event->block;
    Dl_info info;
    (void)hw, (void)now;
    if (!strstr(b->function->image, ".so") || !dladdr((void *)b->pc, &info))
        return 0;
    for (uint32_t k = 0; k < b->ninsns; k++)
        fprintf(self->to, "%" PRIx64 " %s\n", b->insns[k].pc - (uint64_t)info.dli_fbase, b->function->image);
    return 0;
}

const struct peet_module peet_module = {.abi = PEET_MODULE_ABI,
    .struct_size = sizeof(struct peet_module),
    .name = "order",
    .summary = "every instruction of libraries",
    .kind = PEET_OBSERVER,
    .needs = PEET_NEEDS_BLOCKS,
    .params = params,
    .create = create,
    .destroy = destroy,
    .block = block};
