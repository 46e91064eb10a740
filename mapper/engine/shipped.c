/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blocks that came into being after a process of the crew was made: those of libraries that are loaded late, of foreign
 * code, of operations of the C library.  They go over as words: the structs, then what they point to.
 */
#include "engine/queue.h"

#include <stdlib.h>
#include <string.h>

/** Where to write; words NULL: only count. */
struct out {
    uint64_t *words;
    size_t n;
};

static void put(struct out *o, const void *bytes, size_t n)
{
    const size_t words = (n + 7) / 8;

    if (o->words && n) {
        o->words[o->n + words - 1] = 0;
        memcpy(o->words + o->n, bytes, n);
    }
    o->n += words;
}

static void put_text(struct out *o, const char *text)
{
    const uint64_t n = text ? strlen(text) + 1 : 0;

    put(o, &n, sizeof n);
    put(o, text, n);
}

static void put_insn(struct out *o, const struct peet_insn *insn)
{
    put(o, insn, sizeof *insn);
    put(o, insn->opcode, sizeof *insn->opcode);
    put_text(o, insn->opcode->name);
    put_text(o, insn->opcode->mnemonic);
    put(o, insn->regs, (size_t)insn->nreads + insn->nwrites);
}

size_t peet__ship_block(const struct peet_block *block, uint64_t *out)
{
    const struct peet_function *f = block->function;
    struct out o = {out, 0};

    put(&o, block, sizeof *block);
    put(&o, f, sizeof *f);
    put(&o, &(block - block->index)->pc, sizeof block->pc);
    put_text(&o, f->name);
    put_text(&o, f->file);
    put_text(&o, f->image);
    put(&o, block->refs, block->nrefs * sizeof *block->refs);
    for (uint32_t i = 0; i < block->ninsns; i++)
        put_insn(&o, &block->insns[i]);
    return o.n;
}

static const void *get(const uint64_t **at, size_t n)
{
    const void *bytes = *at;

    *at += (n + 7) / 8;
    return bytes;
}

/** A copy that stays.  NULL: out of memory, or nothing */
static void *keep(const uint64_t **at, size_t n)
{
    const void *bytes = get(at, n);
    void *copy = n ? malloc(n) : NULL;

    return copy ? memcpy(copy, bytes, n) : NULL;
}

static const char *keep_text(const uint64_t **at)
{
    const uint64_t n = *(*at)++;

    return keep(at, n);
}

static int keep_insn(const uint64_t **at, struct peet_insn *out)
{
    struct peet_opcode *opcode;

    memcpy(out, get(at, sizeof *out), sizeof *out);
    if (!(opcode = keep(at, sizeof *opcode)))
        return -1;
    opcode->name = keep_text(at);
    opcode->mnemonic = keep_text(at);
    out->opcode = opcode;
    out->regs = keep(at, (size_t)out->nreads + out->nwrites);
    return 0;
}

/* The process ends with the run; nothing of that is freed before. */
struct peet_block *peet__unship_block(const uint64_t *words)
{
    const uint64_t *at = words;
    const struct peet_block *block = get(&at, sizeof *block);
    struct peet_function *f = keep(&at, sizeof *f);
    struct peet_block *all = calloc(block->index + 1, sizeof *all), *out;
    struct peet_insn *insns = calloc(block->ninsns + 1, sizeof *insns);

    if (!f || !all || !insns)
        return NULL;
    all[0].pc = *at++;
    f->blocks = all;
    f->name = keep_text(&at);
    f->file = keep_text(&at);
    f->image = keep_text(&at);
    out = &all[block->index];
    *out = *block;
    out->function = f;
    out->refs = keep(&at, block->nrefs * sizeof *block->refs);
    out->insns = insns;
    for (uint32_t i = 0; i < block->ninsns; i++)
        if (keep_insn(&at, &insns[i]))
            return NULL;
    return out;
}
