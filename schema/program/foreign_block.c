/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Foreign blocks become blocks of the program one by one, as they are met.  A part is one block: its arrays are exact, so that machine
 * code can be made for it at once.  Blocks of one function point to the function of the first part that was met.
 */
#include "program/foreign_block.h"
#include "program/parts.h"

#include <stdlib.h>

static void form_of(const struct peet_foreign_value *v, struct peet__form *out, uint8_t *out_op)
{
    const int two = v->slot[1] >= 0;
    out->disp = v->disp;
    out->a = v->slot[0] >= 0 ? (uint16_t)(PEET__SLOT + v->slot[0]) : v->fs ? PEET__FS : PEET__ZERO;
    out->b = two ? (uint16_t)(PEET__SLOT + v->slot[1]) : v->fs && v->slot[0] >= 0 ? PEET__FS : PEET__ZERO;
    out->mb = two ? v->multiplier : out->b == PEET__FS;
    out->c = PEET__FS;
    out->mc = v->fs && v->slot[0] >= 0 && two;
    *out_op = out->mc != 0 ? PEET__SUM3 : out->mb != 0 ? PEET__SUM2 : PEET__SUM1;
    if (*out_op == PEET__SUM1)
        out->b = PEET__ZERO;
}

static int fill_values(struct peet__function *f, const struct peet_foreign_block *from)
{
    struct peet__block *c = f->code;
    struct peet__value *values = peet__own(f, from->nvalues, sizeof *values);
    struct peet__address *addresses = peet__own(f, from->nvalues, sizeof *addresses);
    int all_short = 1;
    if (values == NULL || addresses == NULL)
        return PEET_ENOMEM;
    for (uint32_t k = 0; k < from->nvalues; k++) {
        form_of(&from->values[k], &values[k].form, &values[k].op);
        all_short &= values[k].op != PEET__SUM3;
        addresses[k] = (struct peet__address){values[k].form.disp, values[k].form.a, values[k].form.b, values[k].form.mb};
    }
    c->values = values;
    c->addresses = all_short ? addresses : NULL;
    c->nvalues = from->nvalues;
    return 0;
}

/* What can be said of the block once and for all. */
static void fill_block(struct peet__function *f, const struct peet_foreign_block *from)
{
    struct peet_block *b = f->blocks;
    uint64_t cost = 0;
    int simple = 1;
    b->pc = from->pc;
    b->insns = from->insns;
    b->ninsns = from->ninsns;
    b->refs = from->refs;
    b->nrefs = from->nrefs;
    b->nvalues = from->nvalues;
    b->code_bytes = from->code_bytes;
    for (uint32_t k = 0; k < b->ninsns; k++)
        cost += b->insns[k].opcode->rthroughput_millicycles;
    for (uint32_t k = 0; k < b->nrefs; k++) {
        const struct peet_ref *ref = &b->refs[k];
        if (ref->flags & (PEET_REF_RANGE | PEET_REF_CONDITIONAL)) {
            simple = 0;
            continue;
        }
        b->reads += ref->kind == PEET_REF_LOAD;
        b->writes += ref->kind == PEET_REF_STORE;
        b->modifies += ref->kind == PEET_REF_MODIFY;
    }
    b->cost_cycles = (uint32_t)((cost + 999) / 1000);
    b->flags = PEET_BLOCK_SYNC | (simple ? PEET_BLOCK_SIMPLE : 0) | (from->pc == from->function->pc ? PEET_BLOCK_ENTRY : 0) |
        (from->turn ? PEET_BLOCK_TURN : 0);
    f->code->recorded = f->code->sync = 1;
    f->code->slot_words = from->nslots;
    f->code->plain = simple && f->code->addresses != NULL;
    f->code->tail = f->code->pad = f->code->pad_after = f->code->tail_taken = f->code->next[0] = f->code->next[1] = -1;
}

int peet_program_add_foreign(struct peet_program *p, const struct peet_foreign_block *from, struct peet_error *error)
{
    struct peet__function *f = calloc(1, sizeof *f), *first;
    if (f == NULL)
        return peet_error_set(error, PEET_ENOMEM, "out of memory");
    f->blocks = peet__own(f, 1, sizeof *f->blocks);
    f->code = peet__own(f, 1, sizeof *f->code);
    f->sync_offset = peet__own(f, 1, sizeof *f->sync_offset);
    f->turn_offset = peet__own(f, 1, sizeof *f->turn_offset);
    if (f->blocks == NULL || f->code == NULL || f->sync_offset == NULL || f->turn_offset == NULL || fill_values(f, from) != 0) {
        peet__function_free(f);
        return peet_error_set(error, PEET_ENOMEM, "out of memory");
    }
    fill_block(f, from);
    f->turn_offset[0] = UINT32_MAX;
    f->nsegments = f->nall = f->pub.nblocks = 1;
    f->start = from->pc;
    f->granularity = 2;
    f->pub.name = from->function->name;
    f->pub.file = "";
    f->pub.image = from->function->image;
    f->pub.pc = f->pub.runtime_pc = from->function->pc;
    f->pub.code_bytes = from->function->bytes;
    f->pub.blocks = f->blocks;
    const int err = peet__program_add_part(p, f, from->word, error);
    if (err != 0) {
        peet__function_free(f);
        return err;
    }
    first = from->function->known;
    if (first == NULL)
        from->function->known = first = f;
    f->blocks->function = &first->pub;
    return 0;
}
