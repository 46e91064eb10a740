/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes a function's blocks of what the reader found: exact-size arrays, the plain layout with its
 * padding, and the short forms that the decoder's inner loop wants.
 */
#include "program/reader.h"
#include "program/strides.h"

#include <string.h>

/* Can control fall from the end of this segment into what follows in layout? */
static int falls_through(const struct reader *r, const struct segment *s)
{
    if (s->ninsns == 0)
        return 1;
    uint8_t klass = r->insns[s->insn + s->ninsns - 1].opcode->klass;
    return klass != PEET_INSN_JUMP && klass != PEET_INSN_RETURN;
}

/* Most blocks need nothing but addresses: those are laid out densely for the decoder's inner loop. */
static void make_dense(struct peet__block *c, struct peet__form *addresses, struct peet__form *steps)
{
    int all = 1;
    for (uint32_t n = 0; n < c->nvalues; n++) {
        all &= c->values[n].op <= PEET__SUM3;
        addresses[n] = c->values[n].form;
    }
    c->addresses = all ? addresses : NULL;
    for (uint32_t n = 0; n < c->nupdates; n++)
        steps[n] = c->updates[n].form;
    c->steps = steps;
    c->plain = all && c->recorded && !c->loop;
}

static int same_terms(const struct peet__form *x, const struct peet__form *y)
{
    return x->a == y->a && x->mb == y->mb && (x->mb == 0 || x->b == y->b) && x->mc == y->mc &&
        (x->mc == 0 || x->c == y->c);
}

/* References whose addresses are made of the same terms are always as far apart. */
static void make_groups(const struct peet__block *c, struct peet_ref *refs, uint32_t nrefs)
{
    uint32_t names = 0;
    for (uint32_t i = 0; c->addresses && i < nrefs && names < UINT8_MAX; i++) {
        const struct peet__form *a = &c->addresses[refs[i].value];
        for (uint32_t k = i + 1; k < nrefs && k < i + 64; k++) {
            const struct peet__form *f = &c->addresses[refs[k].value];
            if (refs[k].group != 0 || !same_terms(f, a))
                continue;
            if (refs[i].group == 0)
                refs[i].group = (uint8_t)++names;
            refs[k].group = refs[i].group;
        }
    }
}

static int is_updated(const struct peet__block *c, uint16_t reg)
{
    for (uint32_t n = 0; n < c->nupdates; n++)
        if (c->updates[n].reg == reg)
            return 1;
    return 0;
}

enum move { BY_CONSTANT, BY_REGISTER, ANYHOW };

/* How an iteration moves the register of an update. */
static enum move how_moved(const struct peet__block *c, uint32_t n)
{
    const struct peet__form *const f = &c->steps[n];
    const uint16_t reg = c->updates[n].reg;
    const struct {
        uint16_t term;
        int32_t times;
    } terms[] = {{f->a, 1}, {f->b, f->mb}, {f->c, f->mc}};
    unsigned kept = 0, others = 0;
    for (unsigned k = 0; k < sizeof terms / sizeof *terms; k++) {
        if (terms[k].times == 0 || terms[k].term == PEET__ZERO)
            continue;
        if (terms[k].term >= PEET__SLOT)
            return ANYHOW;
        if (terms[k].term == reg && terms[k].times == 1 && kept == 0)
            kept = 1;
        else if (is_updated(c, terms[k].term))
            return ANYHOW;
        else
            others++;
    }
    return !kept ? ANYHOW : others == 0 ? BY_CONSTANT : BY_REGISTER;
}

/* A loop whose registers all move by the same in each iteration, and so its addresses. */
static void make_strides(struct peet__block *c, int64_t *strides)
{
    static const uint64_t regs[PEET__SLOT];
    enum move how = BY_CONSTANT;
    if (!c->loop || !c->addresses)
        return;
    for (uint32_t n = 0; n < c->nupdates; n++) {
        const enum move its = how_moved(c, n);
        how = its > how ? its : how;
    }
    for (uint32_t n = 0; n < c->nvalues; n++)
        if (c->addresses[n].a >= PEET__SLOT || c->addresses[n].b >= PEET__SLOT || c->addresses[n].c >= PEET__SLOT)
            return;
    if (how == BY_CONSTANT) {
        peet__strides_of(c, regs, strides);
        c->strides = strides;
    }
    c->moving = how == BY_REGISTER;
}

static const struct peet_opcode nop_opcode = {"NOOP", "nop", 1, 250, 1, 0, PEET_INSN_NOP, 0};

/* The block of nops that aligns a layout block. */
static void make_padding(struct peet__function *f, uint32_t index, const struct peet__layout_block *at, uint32_t line,
    struct peet_insn *insns)
{
    struct peet_block *p = &f->blocks[index];
    p->function = &f->pub;
    p->index = index;
    p->pc = at->offset - at->padding;
    p->line = line;
    p->flags = PEET_BLOCK_SIMPLE;
    p->code_bytes = at->padding;
    p->insns = insns;
    p->refs = f->blocks[0].refs;
    f->code[index].tail = f->code[index].pad = f->code[index].pad_after = -1;
    for (uint32_t left = p->code_bytes; left != 0;) {
        uint32_t n = left < f->longest_nop ? left : f->longest_nop;
        struct peet_insn *insn = &insns[p->ninsns++];
        insn->pc = p->pc + (p->code_bytes - left);
        insn->length_bytes = n;
        insn->opcode = &nop_opcode;
        insn->line = line;
        left -= n;
    }
    p->cost_cycles = (p->ninsns * nop_opcode.rthroughput_millicycles + 999) / 1000;
}

/* What can be said of a block once and for all. */
void peet__summarise(struct peet_block *b)
{
    uint64_t cost = 0;
    int simple = 1;
    for (uint32_t n = 0; n < b->ninsns; n++)
        cost += b->insns[n].opcode->rthroughput_millicycles;
    for (uint32_t n = 0; n < b->nrefs; n++) {
        const struct peet_ref *ref = &b->refs[n];
        if (ref->flags & (PEET_REF_RANGE | PEET_REF_CONDITIONAL)) {
            simple = 0;
            continue;
        }
        b->reads += ref->kind == PEET_REF_LOAD;
        b->writes += ref->kind == PEET_REF_STORE;
        b->modifies += ref->kind == PEET_REF_MODIFY;
    }
    cost = (cost + 999) / 1000;
    b->cost_cycles = cost > UINT32_MAX ? UINT32_MAX : (uint32_t)cost;
    b->flags |= simple ? PEET_BLOCK_SIMPLE : 0;
}

/** What blocks of a function point to, of all blocks in one piece each. */
struct parts {
    struct peet_insn *insns;
    struct peet_ref *refs;
    struct peet__value *values;
    struct peet__update *updates;
    struct peet__form *addresses, *steps;
    int64_t *strides;
    uint8_t *regs;
};

/** Room for all parts, with what the reader has.  @npad_insns: instructions of padding.  Returns: 0: out of memory */
static int own_parts(struct reader *r, uint32_t npad_insns, struct parts *out)
{
    struct peet__function *f = r->f;
    out->insns = peet__own(f, (size_t)r->ninsns + npad_insns, sizeof *out->insns);
    out->refs = peet__own(f, r->nrefs, sizeof *out->refs);
    out->values = peet__own(f, r->nvalues, sizeof *out->values);
    out->updates = peet__own(f, r->nupdates, sizeof *out->updates);
    out->addresses = peet__own(f, r->nvalues, sizeof *out->addresses);
    out->steps = peet__own(f, r->nupdates, sizeof *out->steps);
    out->strides = peet__own(f, r->nvalues, sizeof *out->strides);
    out->regs = peet__own(f, r->nregs, 1);
    f->blocks = peet__own(f, f->nall, sizeof *f->blocks);
    f->code = peet__own(f, f->nall, sizeof *f->code);
    if (!out->addresses || !out->steps || !out->strides || !out->insns || !out->refs || !out->values || !out->updates ||
        !out->regs || !f->blocks || !f->code)
        return 0;
#define COPY(to, from, n) \
    if ((n) != 0) \
    memcpy((to), (from), (n) * sizeof *(to))
    COPY(out->insns, r->insns, r->ninsns);
    COPY(out->refs, r->refs, r->nrefs);
    COPY(out->values, r->values, r->nvalues);
    COPY(out->updates, r->updates, r->nupdates);
    COPY(out->regs, r->regs, r->nregs);
#undef COPY
    for (uint32_t n = 0; n < npad_insns; n++)
        out->insns[r->ninsns + n].regs = out->regs;
    return 1;
}

/** The block of a segment, as it lies in the plain layout. */
static void build_segment(struct reader *r, const struct segment *s, const struct parts *parts, uint32_t offset,
    struct peet_block *b, struct peet__block *c)
{
    b->pc = offset;
    b->ninsns = s->ninsns;
    b->nrefs = s->nrefs;
    b->nvalues = s->nvalues;
    b->insns = parts->insns + s->insn;
    b->refs = parts->refs + s->ref;
    c->values = parts->values + s->value;
    c->updates = parts->updates + s->update;
    c->nvalues = s->nvalues;
    c->nupdates = s->nupdates;
    c->pad = c->pad_after = -1;
    make_dense(c, parts->addresses + s->value, parts->steps + s->update);
    make_strides(c, parts->strides + s->value);
    for (uint32_t n = s->insn; n < s->insn + s->ninsns; n++) {
        const struct peet__layout_insn *li = &r->layout[n];
        uint32_t ref_end = n + 1 < r->ninsns ? r->ref_at[n + 1] : r->nrefs;
        parts->insns[n].pc = li->offset;
        parts->insns[n].length_bytes = li->length > 255 ? 255 : li->length;
        parts->insns[n].first_ref = r->ref_at[n] - s->ref;
        parts->insns[n].nrefs = ref_end - r->ref_at[n];
        parts->insns[n].regs = parts->regs + r->reg_at[n];
        b->code_bytes += li->length;
    }
    if (s->ninsns != 0) {
        b->pc = parts->insns[s->insn].pc;
        b->line = parts->insns[s->insn].line;
    }
    peet__summarise(b);
    if (b->flags & PEET_BLOCK_SIMPLE)
        make_groups(c, parts->refs + s->ref, s->nrefs);
    if (!(b->flags & PEET_BLOCK_SIMPLE)) {
        c->strides = NULL; /* counts and masks are not addresses that advance */
        c->moving = 0;
        c->plain = 0; /* and are given even to those who want no addresses */
    }
}

/* Copies the parsed arrays into the function and lays the plain program out. */
void peet__build(struct reader *r, const struct segment *segs, const struct peet__block *code,
    struct peet__layout_block *blocks, uint32_t nblocks)
{
    struct peet__function *f = r->f;
    uint32_t align = 1u << f->align_log2;
    f->plain_offset = (uint32_t)((r->image->section_at + align - 1) & -(uint64_t)align);
    f->pub.code_bytes = peet__layout(blocks, nblocks, r->layout, f->plain_offset);
    r->image->section_at = (uint64_t)f->plain_offset + f->pub.code_bytes;
    uint32_t npads = 0, npad_insns = 0;
    f->most_align = align;
    for (uint32_t b = 0; b < nblocks; b++)
        f->most_align = blocks[b].align > f->most_align ? blocks[b].align : f->most_align;
    for (uint32_t b = 0; b < nblocks; b++)
        if (blocks[b].padding != 0) {
            npads++;
            npad_insns += (blocks[b].padding + f->longest_nop - 1) / f->longest_nop;
        }
    f->nall = f->nsegments + npads;
    struct parts parts;
    if (!own_parts(r, npad_insns, &parts)) {
        peet__reader_fail(r, "out of memory");
        return;
    }
    f->pub.nblocks = f->nall;
    f->pub.blocks = f->blocks;
    int32_t before = -1; /* last segment with code or a record, in layout order */
    uint32_t block = UINT32_MAX, pad = f->nsegments, pad_insn = r->ninsns;
    for (uint32_t k = 0; k < f->nsegments; k++) {
        const struct segment *s = &segs[k];
        struct peet_block *b = &f->blocks[k];
        struct peet__block *c = &f->code[k];
        *c = code[k];
        b->function = &f->pub;
        b->index = k;
        build_segment(r, s, &parts, blocks[s->layout_block].offset, b, c);
        if (s->layout_block != block) {
            block = s->layout_block;
            if (blocks[block].padding != 0) {
                make_padding(f, pad, &blocks[block], b->line, parts.insns + pad_insn);
                pad_insn += f->blocks[pad].ninsns;
                if (before >= 0 && falls_through(r, &segs[before])) {
                    c->pad = pad;
                    c->pad_after = before;
                }
                pad++;
            }
        }
        if (s->ninsns != 0 || c->recorded)
            before = k;
    }
}
