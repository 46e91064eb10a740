/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Foreign blocks become blocks of the program trace by trace, as they are met.  To the decoder a trace is a function,
 * so that what it and the makers of machine code know of blocks that follow each other holds.  Its blocks belong to the
 * functions that they are of, which have none in their own lists.
 */
#include "program/foreign_block.h"
#include "program/parts.h"

#include <stdlib.h>

/* What is kept takes the place of a register that the decoder follows: it follows none through foreign code, and knows
 * none where that returns to recorded code, which is a sync block. */
static uint16_t term_of(int slot)
{
    return (uint16_t)(slot >= 0 ? PEET__SLOT + slot : PEET_FOREIGN_KEPT(0) - slot);
}

static void form_of(const struct peet_foreign_value *v, struct peet__form *out, uint8_t *out_op)
{
    const int one = v->slot[0] != PEET_FOREIGN_NO_SLOT, two = v->slot[1] != PEET_FOREIGN_NO_SLOT;
    out->disp = v->disp;
    out->a = one ? term_of(v->slot[0]) : v->fs ? PEET__FS : PEET__ZERO;
    out->b = two ? term_of(v->slot[1]) : v->fs && one ? PEET__FS : PEET__ZERO;
    out->mb = two ? v->multiplier : out->b == PEET__FS;
    out->c = PEET__FS;
    out->mc = v->fs && one && two;
    *out_op = out->mc != 0 ? PEET__SUM3 : out->mb != 0 ? PEET__SUM2 : PEET__SUM1;
    if (*out_op == PEET__SUM1)
        out->b = PEET__ZERO;
}

static int fill_updates(struct peet__function *f, uint32_t index, const struct peet_foreign_block *from)
{
    struct peet__block *c = &f->code[index];
    struct peet__update *updates = peet__own(f, from->nkeeps, sizeof *updates);
    struct peet__address *steps = peet__own(f, from->nkeeps, sizeof *steps);
    if (!updates || !steps)
        return PEET_ENOMEM;
    for (uint32_t k = 0; k < from->nkeeps; k++) {
        steps[k] = (struct peet__address){.a = term_of(from->keeps[k].slot), .b = PEET__ZERO};
        updates[k] = (struct peet__update){
            .form = {.a = steps[k].a, .b = PEET__ZERO}, .reg = from->keeps[k].number, .op = PEET__SUM1};
    }
    c->updates = updates;
    c->steps = steps;
    c->nupdates = from->nkeeps;
    return 0;
}

static int fill_values(struct peet__function *f, uint32_t index, const struct peet_foreign_block *from)
{
    struct peet__block *c = &f->code[index];
    struct peet__value *values = peet__own(f, from->nvalues, sizeof *values);
    struct peet__address *addresses = peet__own(f, from->nvalues, sizeof *addresses);
    int all_short = 1;
    if (!values || !addresses)
        return PEET_ENOMEM;
    for (uint32_t k = 0; k < from->nvalues; k++) {
        form_of(&from->values[k], &values[k].form, &values[k].op);
        all_short &= values[k].op != PEET__SUM3;
        addresses[k] =
            (struct peet__address){values[k].form.disp, values[k].form.a, values[k].form.b, values[k].form.mb};
    }
    c->values = values;
    c->addresses = all_short ? addresses : NULL;
    c->nvalues = from->nvalues;
    return 0;
}

static void fill_block(struct peet__function *f, uint32_t index, const struct peet_foreign_block *from)
{
    struct peet_block *b = &f->blocks[index];
    struct peet__block *c = &f->code[index];
    b->pc = from->pc;
    b->index = index;
    b->insns = from->insns;
    b->ninsns = from->ninsns;
    b->refs = from->refs;
    b->nrefs = from->nrefs;
    b->nvalues = from->nvalues;
    b->code_bytes = from->code_bytes;
    b->flags = (index == 0 ? PEET_BLOCK_SYNC : 0) | (from->pc == from->function->pc ? PEET_BLOCK_ENTRY : 0) |
        (from->turn ? PEET_BLOCK_TURN : 0);
    peet__summarise(b);
    c->recorded = 1;
    c->sync = index == 0;
    c->slot_words = from->nslots;
    c->plain = b->flags & PEET_BLOCK_SIMPLE && c->addresses;
    c->tail = c->pad = c->pad_after = c->tail_taken = c->next[0] = c->next[1] = -1;
    if (index + 1 < f->nsegments)
        c->next[0] = (int32_t)index + 1;
}

static void fill_function(struct peet__function *f, const struct peet_foreign_function *from, uint64_t start)
{
    f->start = start;
    f->granularity = 2;
    f->pub.name = from->name;
    f->pub.file = "";
    f->pub.image = from->image;
    f->pub.pc = f->pub.runtime_pc = from->pc;
    f->pub.code_bytes = from->bytes;
    f->pub.blocks = f->blocks;
}

/* A function without blocks of its own, for those of it that traces of others come through first. */
static int make_owner(struct peet_program *p, struct peet_foreign_function *of, struct peet_error *error)
{
    struct peet__function *f = calloc(1, sizeof *f);
    if (!f)
        return peet_error_set(error, PEET_ENOMEM, "out of memory");
    fill_function(f, of, of->pc);
    const int err = peet__program_add_part(p, f, 0, error);
    if (err != 0)
        peet__function_free(f);
    else
        of->known = f;
    return err;
}

int peet_program_add_foreign(struct peet_program *p, const struct peet_foreign_block *from, struct peet_error *error)
{
    struct peet__function *f = calloc(1, sizeof *f);
    const uint32_t n = from->ntrace;
    int err = !f ? PEET_ENOMEM : 0;
    for (uint32_t k = 0; err == 0 && k < n; k++)
        if (!from[k].function->known && (err = make_owner(p, from[k].function, error)) != 0) {
            peet__function_free(f);
            return err;
        }
    if (err == 0 &&
        (!(f->blocks = peet__own(f, n, sizeof *f->blocks)) || !(f->code = peet__own(f, n, sizeof *f->code)) ||
            !(f->sync_offset = peet__own(f, n, sizeof *f->sync_offset)) ||
            !(f->turn_offset = peet__own(f, n, sizeof *f->turn_offset))))
        err = PEET_ENOMEM;
    for (uint32_t k = 0; err == 0 && k < n; k++) {
        f->nsegments = f->nall = f->pub.nblocks = n;
        f->trace = 1;
        err = fill_values(f, k, &from[k]);
        if (err == 0)
            err = fill_updates(f, k, &from[k]);
        if (err != 0)
            break;
        fill_block(f, k, &from[k]);
        f->turn_offset[k] = UINT32_MAX;
        f->sync_offset[k] = k == 0 ? 0 : UINT32_MAX;
        f->blocks[k].function = &((struct peet__function *)from[k].function->known)->pub;
    }
    if (err != 0) {
        if (f)
            peet__function_free(f);
        return peet_error_set(error, PEET_ENOMEM, "out of memory");
    }
    fill_function(f, from->function, from->pc);
    if ((err = peet__program_add_part(p, f, from->word, error)) != 0)
        peet__function_free(f);
    return err;
}
