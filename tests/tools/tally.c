/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An observer for tests: per function, what peet counts (instructions, reads, writes: each as the
 * processor performs it) and, apart from it, the terms by which callgrind's definition of the same
 * count differs.  exact_compare adds the terms, so that a comparison with callgrind converts and never
 * approximates.  Each term is derived and demonstrated in tests/exact/CONVENTIONS.md.
 */
#include <peet/module.h>
#include <stdlib.h>
#include <string.h>

struct sums {
    int64_t instructions, reads, writes; /* peet's */
    int64_t ir, dr, dw;                  /* callgrind's minus peet's */
};

/* A block's contribution, when it is the same at every execution. */
struct cached {
    struct sums once;
    int state; /* 0 unknown, 1 constant, 2 to be summed at every execution */
};

struct tally {
    const struct peet_function **functions; /* by id */
    struct sums *sums;
    unsigned nfunctions;
    struct cached *blocks;
    unsigned nblocks;
    int out_of_memory;
};

static int starts(const char *s, const char *prefix)
{
    return strncmp(s, prefix, strlen(prefix)) == 0;
}

/* How many loads VEX makes of one packed memory operand, where it is not one. */
static int split_loads(const char *opcode, unsigned bytes)
{
    if (starts(opcode, "VFM") || starts(opcode, "VFNM")) {
        if (strstr(opcode, "PDm") || strstr(opcode, "PDYm"))
            return (int)bytes / 8;
        if (strstr(opcode, "PSm") || strstr(opcode, "PSYm"))
            return (int)bytes / 4;
    }
    if (strstr(opcode, "CVTPS2PDYrm"))
        return 4;
    if (strstr(opcode, "CVTPS2PDrm"))
        return 2;
    if (strcmp(opcode, "VMOVDDUPYrm") == 0 || starts(opcode, "VPERM2F128") || starts(opcode, "VPERM2I128"))
        return 2;
    return 1;
}

static void add_ref(struct sums *s, const struct peet_insn *insn, const struct peet_ref *ref, int64_t n, int64_t skipped)
{
    const char *op = insn->opcode->name;
    int load = ref->kind == PEET_REF_LOAD, store = ref->kind == PEET_REF_STORE;
    if (ref->kind == PEET_REF_PREFETCH)
        return;
    if (load || ref->kind == PEET_REF_MODIFY)
        s->reads += n;
    if (store || ref->kind == PEET_REF_MODIFY)
        s->writes += n;
    if (ref->kind == PEET_REF_MODIFY && !starts(op, "LOCK_") && !starts(op, "LXADD") && !starts(op, "XCHG") && !strstr(op, "Locked"))
        s->dr -= n; /* a modify is one write; lock add and xchg are a read and a write */
    if (strstr(op, "MASKMOVDQU")) {
        s->dw += skipped; /* stored in any case, partly what was there */
    } else if (strstr(op, "MASKMOV")) {
        s->ir += n; /* a lane that happens is counted as an instruction, and as no reference */
        *(load ? &s->dr : &s->dw) -= n;
    } else if (strstr(op, "GATHER")) {
        s->dr += skipped; /* a lane switched off is read from the stack pointer's address */
    } else if (load && n == 1) {
        s->dr += split_loads(op, ref->size_bytes) - 1;
    }
}

static void add_block(struct sums *s, const struct peet_block *block, const uint64_t *values)
{
    s->instructions += block->ninsns;
    for (uint32_t i = 0; i < block->ninsns; i++) {
        const struct peet_insn *insn = &block->insns[i];
        const char *op = insn->opcode->name;
        int rep = 0;
        if (strncmp(op, "BT", 2) == 0 && strstr(op, "rr")) { /* VEX tests a register's bit in memory of its own */
            s->dr += 1;
            s->dw += strchr("SRC", op[2]) == NULL ? 1 : 2;
        }
        for (uint32_t r = insn->first_ref; r < (uint32_t)insn->first_ref + insn->nrefs; r++) {
            const struct peet_ref *ref = &block->refs[r];
            int64_t n = 1, skipped = 0;
            if (ref->flags & PEET_REF_CONDITIONAL) {
                n = values[ref->value + 1] != 0;
                skipped = !n;
            } else if (ref->flags & PEET_REF_RANGE) {
                n = (int64_t)values[ref->value + 1];
                if (!rep && insn->flags & PEET_INSN_REP)
                    s->ir += n; /* each element is an instruction, and so is finding that none is left */
                rep = 1;
            }
            add_ref(s, insn, ref, n, skipped);
        }
    }
}

static int grow(void **array, unsigned *n, size_t size, unsigned index)
{
    if (index < *n)
        return 1;
    unsigned more = index + index / 2 + 64;
    char *p = realloc(*array, more * size);
    if (!p)
        return 0;
    memset(p + *n * size, 0, (more - *n) * size);
    *array = p;
    *n = more;
    return 1;
}

static void add(struct sums *to, const struct sums *s)
{
    to->instructions += s->instructions;
    to->reads += s->reads;
    to->writes += s->writes;
    to->ir += s->ir;
    to->dr += s->dr;
    to->dw += s->dw;
}

static uint64_t tally_block(void *self, unsigned hw, const struct peet_block_event *event, uint64_t now)
{
    struct tally *t = self;
    const struct peet_block *block = event->block;
    unsigned f = block->function->id, nsums = t->nfunctions;
    if (!grow((void **)&t->functions, &t->nfunctions, sizeof *t->functions, f) ||
        (t->nfunctions != nsums && !grow((void **)&t->sums, &nsums, sizeof *t->sums, f)) ||
        !grow((void **)&t->blocks, &t->nblocks, sizeof *t->blocks, block->id)) {
        t->out_of_memory = 1;
        return 0;
    }
    t->functions[f] = block->function;
    struct cached *c = &t->blocks[block->id];
    if (c->state == 0) {
        c->state = 1;
        for (uint32_t r = 0; r < block->nrefs; r++)
            if (block->refs[r].flags & (PEET_REF_RANGE | PEET_REF_CONDITIONAL))
                c->state = 2;
        if (c->state == 1)
            add_block(&c->once, block, NULL);
    }
    if (c->state == 1)
        add(&t->sums[f], &c->once);
    else
        add_block(&t->sums[f], block, event->values);
    return 0;
}

static void *tally_create(const struct peet_env *env, const union peet_value *values)
{
    struct tally *t = calloc(1, sizeof *t);
    if (!t)
        env->fail(env, "tally: out of memory");
    return t;
}

static void tally_destroy(void *self)
{
    struct tally *t = self;
    free(t->functions);
    free(t->sums);
    free(t->blocks);
    free(t);
}

/* Negative terms are written as two's complement. */
static void tally_stats(void *self, const struct peet_env *env, struct peet_stats *node)
{
    struct tally *t = self;
    if (t->out_of_memory)
        env->fail(env, "tally: out of memory");
    struct peet_stats *array = env->stats_array(env, node, "functions");
    for (unsigned f = 0; f < t->nfunctions; f++) {
        if (!t->functions[f])
            continue;
        const struct sums *s = &t->sums[f];
        struct peet_stats *o = env->stats_object(env, array, NULL);
        env->stats_string(env, o, "name", t->functions[f]->name);
        env->stats_string(env, o, "image", t->functions[f]->image);
        env->stats_u64(env, o, "code_bytes", t->functions[f]->code_bytes);
        env->stats_u64(env, o, "instructions", (uint64_t)s->instructions);
        env->stats_u64(env, o, "reads", (uint64_t)s->reads);
        env->stats_u64(env, o, "writes", (uint64_t)s->writes);
        env->stats_u64(env, o, "callgrind_instructions", (uint64_t)(s->instructions + s->ir));
        env->stats_u64(env, o, "callgrind_reads", (uint64_t)(s->reads + s->dr));
        env->stats_u64(env, o, "callgrind_writes", (uint64_t)(s->writes + s->dw));
    }
}

const struct peet_module peet_module = {
    .abi = PEET_MODULE_ABI,
    .struct_size = sizeof(struct peet_module),
    .name = "tally",
    .summary = "per-function counts in peet's and in callgrind's definition (for tests)",
    .kind = PEET_OBSERVER,
    .needs = PEET_NEEDS_BLOCKS | PEET_NEEDS_ADDRESSES,
    .create = tally_create,
    .destroy = tally_destroy,
    .block = tally_block,
    .stats = tally_stats,
};
