/* SPDX-License-Identifier: Apache-2.0 */
/* A preset's corrections of instructions; see corrections.h. */
#include "corrections.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

int x86_resource_named(const struct peet_processor *p, const char *name)
{
    for (uint32_t r = 0; r < p->nresources; r++)
        if (!strcmp(p->resources[r].name, name))
            return (int)r;
    return -1;
}

/** The units of the model's resources of these names, blanks between.  Returns: 0, or -1 after env->fail() */
int x86_corrections_check(struct x86 *x)
{
    const struct peet_processor *const p = x->processor;

    for (uint32_t i = 0; i < x->config.ncorrections; i++)
        if (*x->config.corrections[i].units && x86_resource_named(p, x->config.corrections[i].units) < 0) {
            x->env->fail(x->env, "mcpu=%s: a correction has the units \"%s\", and the model has none of that name",
                p->name, x->config.corrections[i].units);
            return -1;
        }
    return 0;
}

/* The correction for an opcode, the last one that fits, by the parts of an address that lea computes; or NULL. */
struct x86_fitting {
    UT_hash_handle hh;
    const struct x86_correction *of_parts[4];
    char name[];
};

static int fits(const char *patterns, const char *name)
{
    char one[64];
    int n;

    for (; sscanf(patterns, " %63s%n", one, &n) == 1; patterns += n)
        if (!fnmatch(one, name, 0))
            return 1;
    return 0;
}

/** Of how many parts lea computes an address: base, index, displacement. 0: it is no lea */
static int address_parts(const struct peet_insn *insn)
{
    const unsigned shape = insn->opcode->variant;

    return !strncmp(insn->opcode->name, "LEA", 3) ? ((shape & PEET_VARIANT_BASE) != 0) +
            ((shape & PEET_VARIANT_INDEX) != 0) + (shape >> PEET_VARIANT_DISP_SHIFT != 0)
                                                  : 0;
}

/** What corrections there are for an opcode, found when it first comes.  Returns: NULL after env->fail() */
static const struct x86_fitting *fitting(struct x86 *x, const char *name)
{
    const size_t length = strlen(name);
    struct x86_fitting *f;

    HASH_FIND(hh, x->fitting, name, length, f);
    if (f)
        return f;
    if (!(f = calloc(1, sizeof *f + length + 1))) {
        x->env->fail(x->env, "x86: out of memory");
        return NULL;
    }
    memcpy(f->name, name, length);
    for (uint32_t i = 0; i < x->config.ncorrections; i++) {
        const struct x86_correction *c = &x->config.corrections[i];

        for (int parts = 0; fits(c->opcodes, name) && parts < 4; parts++)
            if (c->parts < 0 || c->parts == parts)
                f->of_parts[parts] = c;
    }
    HASH_ADD(hh, x->fitting, name, length, f);
    return f;
}

const struct peet_cost *x86_correct(struct x86 *x, const struct peet_insn *insn, const struct peet_cost *cost,
    struct x86_corrected *out)
{
    const struct x86_fitting *f = fitting(x, insn->opcode->name);
    const struct x86_correction *c = f ? f->of_parts[address_parts(insn)] : NULL;
    int several = 0;

    if (!c || cost->nuses > X86_USES || cost->nwrites > sizeof out->writes / sizeof *out->writes)
        return cost;
    out->cost = *cost;
    if (c->uops >= 0)
        out->cost.uops = (uint16_t)c->uops;
    if (c->latency >= 0) {
        const int more = c->latency - (int)cost->latency_cycles;

        out->cost.latency_cycles = (uint16_t)c->latency;
        for (unsigned i = 0; i < cost->nwrites; i++)
            out->writes[i] = (uint16_t)((int)cost->writes[i] + more > 0 ? (int)cost->writes[i] + more : 0);
        out->cost.writes = out->writes;
    }
    for (unsigned i = 0; i < cost->nuses; i++) {
        out->uses[i] = cost->uses[i];
        several |= cost->uses[i].end_cycle - cost->uses[i].first_cycle > 1;
    }
    if (*c->units) {
        out->uses[0] = (struct peet_resource_use){(uint16_t)x86_resource_named(x->processor, c->units), 0, 1, 1, 0};
        out->cost.nuses = 1;
        several = 0;
    }
    for (unsigned i = 0; c->busy >= 0 && i < out->cost.nuses; i++)
        if (!several || out->uses[i].end_cycle - out->uses[i].first_cycle > 1)
            out->uses[i].end_cycle = (uint16_t)(out->uses[i].first_cycle + c->busy);
    out->cost.uses = out->uses;
    return &out->cost;
}

void x86_corrections_fini(struct x86 *x)
{
    struct x86_fitting *f, *next;

    HASH_ITER(hh, x->fitting, f, next)
    {
        HASH_DEL(x->fitting, f);
        free(f);
    }
}
