/* SPDX-License-Identifier: Apache-2.0 */
/* Observer of a test: every instruction of libraries, in order, as the place in its file, the file's name, and the sum of the
 * addresses that it references, of each what is the same in every process; "-" for those whose number varies. */
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

/* The place in a page; nothing for thread-local variables: how many a process has differs. */
static uint64_t place_of(uint64_t address)
{
    const uint64_t fs = (uint64_t)__builtin_thread_pointer(), from = address - fs;
    return from + 0x1000 < 0x2000 ? 0 : address & 0xfff;
}

static void write_addresses(FILE *to, const struct peet_block *b, const struct peet_insn *insn, const uint64_t *values)
{
    uint64_t sum = 0;
    for (unsigned k = 0; k < insn->nrefs; k++) {
        const struct peet_ref *r = &b->refs[insn->first_ref + k];
        if (r->flags & (PEET_REF_RANGE | PEET_REF_CONDITIONAL)) {
            fputs(" -\n", to);
            return;
        }
        sum += place_of(values[r->value]);
    }
    fprintf(to, " %" PRIx64 "\n", sum);
}

static uint64_t block(void *arg, unsigned hw, const struct peet_block_event *event, uint64_t now)
{
    struct order *self = arg;
    const struct peet_block *b = event->block;
    Dl_info info;
    (void)hw, (void)now;
    if (!strstr(b->function->image, ".so") || !dladdr((void *)b->pc, &info))
        return 0;
    for (uint32_t k = 0; k < b->ninsns; k++) {
        fprintf(self->to, "%" PRIx64 " %s", b->insns[k].pc - (uint64_t)info.dli_fbase, b->function->image);
        write_addresses(self->to, b, &b->insns[k], event->values);
    }
    return 0;
}

const struct peet_module peet_module = {.abi = PEET_MODULE_ABI,
    .struct_size = sizeof(struct peet_module),
    .name = "order",
    .summary = "every instruction of libraries",
    .kind = PEET_OBSERVER,
    .needs = PEET_NEEDS_BLOCKS | PEET_NEEDS_ADDRESSES,
    .params = params,
    .create = create,
    .destroy = destroy,
    .block = block};
