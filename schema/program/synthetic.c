/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Synthetic blocks: what stands for memory traffic that no compiled code of the subject makes itself.
 * The mapper asks for them when a lock model or a library call has references to show; modules see
 * functions of the image "peet" like any other.  They are made when first asked for and belong to the
 * program: ids go on where those of the images have got to, and where images added later go on.
 */
#include "program/parts.h"
#include "program/ranges.h"

#include <stdlib.h>
#include <string.h>

/* Below the lowest address that a process may map. */
#define FIRST_PC 0x1000
#define PC_STEP 64

enum shape { MODIFY, LOAD, STORE, READ, WRITE, COPY, COMPARE };

static const char *const names[] = {
#define PEET_X(name, text, shape) text,
    PEET_SYNTHETICS(PEET_X)
#undef PEET_X
};

static const uint8_t shapes[] = {
#define PEET_X(name, text, shape) shape,
    PEET_SYNTHETICS(PEET_X)
#undef PEET_X
};

/* The instructions that do by themselves what the block does: one for a single reference, and two for ranges, of words
 * and of bytes.  They are no rep instructions (PEET_INSN_REP), whose rounds would count as instructions. */
static const struct peet_opcode opcodes[][2] = {
    [MODIFY] = {{"XCHG64rm", "xchg", 1, 1000, 1, 0, PEET_INSN_ATOMIC, 0}},
    [LOAD] = {{"MOV64rm", "mov", 1, 1000, 1, 0, PEET_INSN_MOVE, 0}},
    [STORE] = {{"MOV64mr", "mov", 1, 1000, 1, 0, PEET_INSN_MOVE, 0}},
    [READ] = {{"REPNE_SCASQ", "scas", 1, 1000, 1, 0, PEET_INSN_STRING, 0},
        {"REPNE_SCASB", "scas", 1, 1000, 1, 0, PEET_INSN_STRING, 0}},
    [WRITE] = {{"REP_STOSQ_64", "stos", 1, 1000, 1, 0, PEET_INSN_STRING, 0},
        {"REP_STOSB_64", "stos", 1, 1000, 1, 0, PEET_INSN_STRING, 0}},
    [COPY] = {{"REP_MOVSQ_64", "movs", 1, 1000, 1, 0, PEET_INSN_STRING, 0},
        {"REP_MOVSB_64", "movs", 1, 1000, 1, 0, PEET_INSN_STRING, 0}},
    [COMPARE] = {{"REPE_CMPSQ", "cmps", 1, 1000, 1, 0, PEET_INSN_STRING, 0},
        {"REPE_CMPSB", "cmps", 1, 1000, 1, 0, PEET_INSN_STRING, 0}},
};

/* Registers read, then written: rsi, rdi, rcx of the string instructions; the address and the value of the others. */
static const uint8_t string_regs[] = {6, 7, 1, 6, 7, 1}, single_regs[] = {7, 0, 0};

static int is_range(unsigned shape)
{
    return shape >= READ;
}

/* The kinds of the references of one instruction.  Returns: how many */
static unsigned kinds_of(unsigned shape, uint8_t out[2])
{
    switch (shape) {
    case MODIFY:
        out[0] = PEET_REF_MODIFY;
        return 1;
    case STORE:
    case WRITE:
        out[0] = PEET_REF_STORE;
        return 1;
    case COPY: /* source, destination */
        out[0] = PEET_REF_LOAD;
        out[1] = PEET_REF_STORE;
        return 2;
    case COMPARE:
        out[0] = out[1] = PEET_REF_LOAD;
        return 2;
    default:
        out[0] = PEET_REF_LOAD;
        return 1;
    }
}

static void fill(struct peet__function *f, struct peet_block *b, unsigned shape, uint64_t pc, struct peet_insn *insns,
    struct peet_ref *refs)
{
    uint8_t kinds[2];
    unsigned each = kinds_of(shape, kinds), range = is_range(shape);

    b->function = &f->pub;
    b->pc = pc;
    b->flags = range ? 0 : PEET_BLOCK_SIMPLE;
    b->ninsns = range ? 2 : 1;
    b->nrefs = b->ninsns * each;
    b->nvalues = range ? 2 * b->nrefs : b->nrefs;
    b->insns = insns;
    b->refs = refs;
    for (unsigned n = 0; n < b->ninsns; n++) {
        struct peet_insn *insn = &insns[n];

        insn->opcode = &opcodes[shape][n];
        insn->length_bytes = 3;
        insn->pc = pc + b->code_bytes;
        b->code_bytes += insn->length_bytes;
        insn->first_ref = n * each;
        insn->nrefs = each;
        insn->regs = range ? string_regs : single_regs;
        insn->nreads = range ? 3 : 1 + (shape != LOAD);
        insn->nwrites = range ? 3 : shape != STORE;
        for (unsigned k = 0; k < each; k++) {
            struct peet_ref *ref = &refs[n * each + k];

            ref->insn = n;
            ref->size_bytes = n == 0 ? 8 : 1;
            ref->flags = (range ? PEET_REF_RANGE : 0) | (shape == MODIFY ? PEET_REF_ATOMIC : 0);
            ref->value = (n * each + k) * (range ? 2 : 1);
            ref->kind = kinds[k];
            if (!range) {
                b->reads += kinds[k] == PEET_REF_LOAD;
                b->writes += kinds[k] == PEET_REF_STORE;
                b->modifies += kinds[k] == PEET_REF_MODIFY;
            }
        }
        b->cost_cycles += insn->opcode->rthroughput_millicycles / 1000;
    }
}

/* Two blocks: a call, and another piece of the same call. */
static struct peet__function *make(struct peet_program *p, unsigned what)
{
    struct peet__function *f = calloc(1, sizeof *f), **functions;
    struct peet_insn *insns;
    struct peet_ref *refs;

    if (!f)
        return NULL;
    f->blocks = peet__own(f, 2, sizeof *f->blocks);
    f->code = peet__own(f, 2, sizeof *f->code);
    insns = peet__own(f, 4, sizeof *insns);
    refs = peet__own(f, 8, sizeof *refs);
    functions = realloc(p->functions, (p->nfunctions + 1) * sizeof *functions);
    if (functions)
        p->functions = functions, p->functions_room = p->nfunctions + 1;
    if (!f->blocks || !f->code || !insns || !refs || !functions) {
        peet__function_free(f);
        return NULL;
    }
    f->nall = f->pub.nblocks = is_range(shapes[what]) ? 2 : 1;
    f->pub.name = names[what];
    f->pub.file = "";
    f->pub.image = "peet";
    f->pub.pc = f->pub.runtime_pc = f->start = FIRST_PC + PC_STEP * what;
    f->pub.blocks = f->blocks;
    f->granularity = 2;
    f->first_id = p->nblocks;
    for (unsigned k = 0; k < f->nall; k++) {
        fill(f, &f->blocks[k], shapes[what], f->pub.pc + f->pub.code_bytes, insns + 2 * k, refs + 4 * k);
        f->blocks[k].index = k;
        f->blocks[k].id = p->nblocks++;
        f->pub.code_bytes += f->blocks[k].code_bytes;
        f->code[k].tail = f->code[k].pad = f->code[k].pad_after = f->code[k].tail_taken = f->code[k].next[0] =
            f->code[k].next[1] = -1;
    }
    f->blocks[0].flags |= PEET_BLOCK_ENTRY;
    f->pub.id = p->nfunctions;
    p->functions[p->nfunctions++] = f;
    return f;
}

const struct peet_block *peet_program_synthetic(struct peet_program *p, unsigned what)
{
    unsigned more = (what & PEET_SYNTHETIC_MORE) != 0;
    what &= ~(unsigned)PEET_SYNTHETIC_MORE;
    if (what >= PEET_SYNTHETIC_COUNT || (more && !is_range(shapes[what])))
        return NULL;
    if (!p->synthetics && !(p->synthetics = calloc(PEET_SYNTHETIC_COUNT, sizeof *p->synthetics)))
        return NULL;
    if (!p->synthetics[what])
        p->synthetics[what] = make(p, what);
    return p->synthetics[what] ? &p->synthetics[what]->blocks[more] : NULL;
}

unsigned peet_synthetic_values(unsigned what, uint64_t destination, uint64_t source, uint64_t bytes, uint64_t out[8])
{
    what &= ~(unsigned)PEET_SYNTHETIC_MORE;
    if (what >= PEET_SYNTHETIC_COUNT)
        return 0;
    switch (shapes[what]) {
    case MODIFY:
    case LOAD:
    case STORE:
        out[0] = destination;
        return 1;
    case READ:
        return peet__range_values(source, 0, 0, bytes, out);
    case WRITE:
        return peet__range_values(destination, 0, 0, bytes, out);
    case COPY:
        return peet__range_values(source, 1, destination, bytes, out);
    default:
        return peet__range_values(destination, 1, source, bytes, out);
    }
}
