/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Foreign blocks become blocks of the program path by path, as they are met.  To the decoder a path is a function of
 * which the first block has a record, and each of the others is the sure tail of the one before it: so what it and the
 * makers of machine code know of blocks without a record holds.  Its blocks belong to the functions that they are of,
 * which have none in their own lists.
 */
#include "program/foreign_block.h"
#include "program/parts.h"

#include <stdlib.h>
#include <string.h>

static void form_of(const struct peet_foreign_value *v, struct peet__form *out, uint8_t *out_op)
{
    const int one = v->slot[0] != PEET_FOREIGN_NO_SLOT, two = v->slot[1] != PEET_FOREIGN_NO_SLOT;
    out->disp = v->disp;
    out->a = (uint16_t)(one ? PEET__SLOT + v->slot[0] : v->fs ? PEET__FS : PEET__ZERO);
    out->b = (uint16_t)(two ? PEET__SLOT + v->slot[1] : v->fs && one ? PEET__FS : PEET__ZERO);
    out->mb = two ? v->multiplier : out->b == PEET__FS;
    out->c = PEET__FS;
    out->mc = v->fs && one && two;
    *out_op = out->mc != 0 ? PEET__SUM3 : out->mb != 0 ? PEET__SUM2 : PEET__SUM1;
    if (*out_op == PEET__SUM1)
        out->b = PEET__ZERO;
}

/* The term for machine code of the block: behind the first one the record has been passed. */
static uint16_t term_of(uint16_t term, uint32_t index, uint32_t words)
{
    return (uint16_t)(term >= PEET__SLOT && index != 0 ? PEET__PAST + words - (term - PEET__SLOT) : term);
}

/* @words: of the path's record */
static int fill_values(struct peet__function *f, uint32_t index, const struct peet_foreign_block *from, uint32_t words)
{
    struct peet__block *c = &f->code[index];
    struct peet__value *values = peet__own(f, from->nvalues, sizeof *values);
    struct peet__form *addresses = peet__own(f, from->nvalues, sizeof *addresses);
    if (!values || !addresses)
        return PEET_ENOMEM;
    for (uint32_t k = 0; k < from->nvalues; k++) {
        form_of(&from->values[k], &values[k].form, &values[k].op);
        addresses[k] = values[k].form;
        addresses[k].a = term_of(addresses[k].a, index, words);
        addresses[k].b = term_of(addresses[k].b, index, words);
        addresses[k].c = term_of(addresses[k].c, index, words);
    }
    c->values = values;
    c->addresses = addresses;
    c->nvalues = from->nvalues;
    return 0;
}

/* Does it begin a function, or one of the stubs by which an object calls others? */
static int is_entered(const struct peet_foreign_block *from)
{
    const uint64_t behind = from->pc - from->function->pc;
    return behind == 0 || (!strcmp(from->function->name, PEET_FOREIGN_STUBS) && behind % 16 == 0) ||
        (!strcmp(from->function->name, PEET_FOREIGN_SHORT_STUBS) && behind % 8 == 0);
}

static void fill_block(struct peet__function *f, uint32_t index, const struct peet_foreign_block *from, uint32_t words)
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
    b->flags = (index == 0 ? PEET_BLOCK_SYNC : 0) | (is_entered(from) ? PEET_BLOCK_ENTRY : 0);
    peet__summarise(b);
    c->recorded = c->sync = index == 0;
    c->past = index != 0;
    c->slot_words = words;
    c->plain = index == 0 && (b->flags & PEET_BLOCK_SIMPLE) != 0;
    c->tail = c->pad = c->pad_after = c->tail_taken = c->next[0] = c->next[1] = -1;
    if (index + 1 < f->nsegments) {
        c->tail = (int32_t)index + 1;
        c->sure = 1;
    }
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

/* A function without blocks of its own. */
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

int peet_program_add_foreign(struct peet_program *p, uint64_t word, const struct peet_foreign_block *from, uint32_t n,
    struct peet_error *error)
{
    struct peet__function *f = calloc(1, sizeof *f);
    const uint32_t words = from[n - 1].nslots;
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
        f->path_word = word;
        if ((err = fill_values(f, k, &from[k], words)) != 0)
            break;
        fill_block(f, k, &from[k], words);
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
    if ((err = peet__program_add_part(p, f, word, error)) != 0)
        peet__function_free(f);
    return err;
}
