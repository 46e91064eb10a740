/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An observer for tests: writes the decoded stream as text, one line an instruction and one a
 * reference, to OUTDIR/stream.txt.  lackey_compare reads it.
 *
 *   F id code_bytes runtime_pc plain_pc name image     a function, before its first use
 *   X id offset length flags opcode                    an instruction; flags: R rep, O opaque, N nop, -
 *   L|S|M|P address size [T]                           a reference; P prefetch; T thread-local
 *   l|s address size                                   a lane or conditional reference that did not happen
 */
#include <inttypes.h>
#include <peet/module.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct dump {
    const struct peet_env *env;
    FILE *file;
    char path[4096];
    char *known; /* by function id */
    unsigned nknown;
};

static void *dump_create(const struct peet_env *env, const union peet_value *values)
{
    struct dump *d = calloc(1, sizeof *d);
    if (!d) {
        env->fail(env, "streamdump: out of memory");
        return NULL;
    }
    d->env = env;
    return d;
}

static void dump_destroy(void *self)
{
    struct dump *d = self;
    if (d->file)
        fclose(d->file);
    free(d->known);
    free(d);
}

/* Opened on first use: a checker of parameters creates modules without running them. */
static int ready(struct dump *d, unsigned function)
{
    if (!d->file) {
        snprintf(d->path, sizeof d->path, "%s/stream.txt", d->env->output_dir);
        d->file = fopen(d->path, "w");
        if (!d->file) {
            d->env->fail(d->env, "streamdump: cannot write %s", d->path);
            return 0;
        }
        setvbuf(d->file, NULL, _IOFBF, 1 << 20);
    }
    if (function >= d->nknown) {
        unsigned n = function + 64;
        char *p = realloc(d->known, n);
        if (!p) {
            d->env->fail(d->env, "streamdump: out of memory");
            return 0;
        }
        memset(p + d->nknown, 0, n - d->nknown);
        d->known = p;
        d->nknown = n;
    }
    return 1;
}

static uint64_t dump_block(void *self, unsigned hw, const struct peet_block_event *event, uint64_t now)
{
    struct dump *d = self;
    const struct peet_block *block = event->block;
    const struct peet_function *f = block->function;
    if (strcmp(f->image, "peet") == 0 || !ready(d, f->id)) /* what stands for library calls has no code */
        return 0;
    if (!d->known[f->id]) {
        d->known[f->id] = 1;
        fprintf(d->file, "F %u %u %" PRIx64 " %" PRIx64 " %s %s\n", f->id, f->code_bytes, f->runtime_pc, f->pc, f->name, f->image);
    }
    for (uint32_t i = 0; i < block->ninsns; i++) {
        const struct peet_insn *insn = &block->insns[i];
        fprintf(d->file, "X %u %" PRIx64 " %u %c %s\n", f->id, insn->pc - f->pc, insn->length_bytes,
                insn->flags & PEET_INSN_REP ? 'R' : insn->flags & PEET_INSN_OPAQUE ? 'O' : insn->opcode->klass == PEET_INSN_NOP ? 'N' : '-',
                insn->opcode->name);
        for (uint32_t r = insn->first_ref; r < (uint32_t)insn->first_ref + insn->nrefs; r++) {
            const struct peet_ref *ref = &block->refs[r];
            const char *tls = ref->flags & PEET_REF_TLS ? " T" : "";
            if ((ref->flags & PEET_REF_CONDITIONAL) && event->values[ref->value + 1] == 0) {
                fprintf(d->file, "%c %" PRIx64 " %u%s\n", "lsmp"[ref->kind], event->values[ref->value], ref->size_bytes, tls);
                continue;
            }
            for (struct peet_ref_iter it = peet_ref_begin(ref, event->values); it.count; it.count--, it.address += (uint64_t)it.step)
                fprintf(d->file, "%c %" PRIx64 " %u%s\n", "LSMP"[ref->kind], it.address, ref->size_bytes, tls);
        }
    }
    return 0;
}

static void dump_finish(void *self, uint64_t end_cycles)
{
    struct dump *d = self;
    if (!d->file)
        return;
    int bad = ferror(d->file);
    if (fclose(d->file) || bad)
        d->env->fail(d->env, "streamdump: error while writing %s", d->path);
    d->file = NULL;
}

static void dump_stats(void *self, const struct peet_env *env, struct peet_stats *node)
{
    env->stats_string(env, node, "file", "stream.txt");
}

const struct peet_module peet_module = {
    .abi = PEET_MODULE_ABI,
    .struct_size = sizeof(struct peet_module),
    .name = "streamdump",
    .summary = "the decoded stream as text, for tests",
    .kind = PEET_OBSERVER,
    .needs = PEET_NEEDS_BLOCKS | PEET_NEEDS_ADDRESSES,
    .create = dump_create,
    .destroy = dump_destroy,
    .block = dump_block,
    .finish = dump_finish,
    .stats = dump_stats,
};
