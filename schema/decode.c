/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The decoder: raw words and schema in, events out.  Invariant: after each record the tracked registers
 * hold what the compiler planned as known at that block's exit, so that the next block's forms find
 * what they refer to.  Blocks without a record (a last jump, alignment padding) are told from what
 * comes next.
 */
#include "program.h"

#include <peet/raw.h>

#include <stdlib.h>
#include <string.h>

struct frame { /* what a signal handler interrupts */
    struct peet__function *function;
    int32_t last, tail;
    uint64_t regs[16];
};

struct peet_decode_state {
    uint64_t regs[PEET__REGS];
    struct peet__function *function; /* of the last record; NULL before the first */
    int32_t last;                    /* block last delivered in this activation; -1 */
    int32_t tail;                    /* block that is executed next unless the next record says otherwise; -1 */
    uint32_t context;
    struct peet_program *program;
    uint64_t sync_pc;                /* one-entry cache of the pc table */
    struct peet__function *sync_function;
    uint32_t sync_segment;
    struct frame *frames;
    unsigned nframes, cframes;
};

int peet_decode_state_new(struct peet_program *program, uint32_t context, uint64_t fs_base, struct peet_decode_state **out_state)
{
    struct peet_decode_state *s = calloc(1, sizeof *s);
    if (s == NULL)
        return PEET_ENOMEM;
    s->program = program;
    peet_decode_state_reset(s, context, fs_base);
    *out_state = s;
    return 0;
}

void peet_decode_state_free(struct peet_decode_state *s)
{
    if (s != NULL)
        free(s->frames);
    free(s);
}

void peet_decode_state_reset(struct peet_decode_state *s, uint32_t context, uint64_t fs_base)
{
    s->context = context;
    s->regs[PEET__FS] = fs_base;
    s->regs[PEET__ZERO] = 0;
    s->function = NULL;
    s->last = s->tail = -1;
    s->nframes = 0;
}

static inline uint64_t term(const uint64_t *const from[2], uint16_t source)
{
    return from[source >> 15][source & 0x7fff];
}

static inline uint64_t evaluate(const struct peet__form *f, unsigned op, const uint64_t *const from[2])
{
    uint64_t v = f->disp + term(from, f->a);
    if (op != PEET__SUM1)
        v += term(from, f->b) * (uint64_t)(int64_t)f->mb;
    if (op == PEET__SUM3)
        v += term(from, f->c) * (uint64_t)(int64_t)f->mc;
    return v;
}

static uint64_t lane_value(const struct peet__value *v, const uint64_t *const from[2])
{
    const uint64_t *slots = from[1];
    if (v->op == PEET__MASK) {
        uint64_t mask = slots[v->slot];
        if (v->lane != 255)
            return mask >> v->lane & 1;
        return v->lanes < 64 ? mask & ((1ull << v->lanes) - 1) : mask;
    }
    int64_t index = v->lane;
    if (v->index_bytes == 4)
        index = ((const int32_t *)(slots + v->slot))[v->lane];
    else if (v->index_bytes == 8)
        index = ((const int64_t *)(slots + v->slot))[v->lane];
    return evaluate(&v->form, PEET__SUM2, from) + (uint64_t)index * (uint64_t)(int64_t)v->scale;
}

static void compute(struct peet_decode_state *s, const struct peet__block *c, const uint64_t *slots)
{
    const uint64_t *const from[2] = {s->regs, slots};
    uint64_t *out = s->program->values;
    for (const struct peet__value *v = c->values, *end = v + c->nvalues; v != end; v++)
        *out++ = v->op <= PEET__SUM3 ? evaluate(&v->form, v->op, from) : lane_value(v, from);
}

static void update(struct peet_decode_state *s, const struct peet__block *c, const uint64_t *slots)
{
    const uint64_t *const from[2] = {s->regs, slots};
    uint64_t next[16];
    uint32_t n = c->nupdates;
    if (n == 1) { /* the common case: one induction variable */
        s->regs[c->updates[0].reg] = evaluate(&c->updates[0].form, c->updates[0].op, from);
        return;
    }
    for (uint32_t k = 0; k < n; k++)
        next[k & 15] = evaluate(&c->updates[k].form, c->updates[k].op, from);
    for (uint32_t k = 0; k < n; k++)
        s->regs[c->updates[k].reg] = next[k & 15];
}

static int deliver(struct peet_decode_state *s, uint32_t index, const uint64_t *slots, int want, struct peet_event *out)
{
    struct peet__function *f = s->function;
    const struct peet__block *c = &f->code[index];
    out->block.block = &f->blocks[index];
    out->block.context = s->context;
    out->block.values = NULL;
    if (want) {
        out->block.values = s->program->values;
        compute(s, c, slots);
    }
    if (c->nupdates != 0)
        update(s, c, slots);
    s->last = (int32_t)index;
    s->tail = c->tail;
    return PEET_EVENT_BLOCK;
}

static int find_sync(struct peet_decode_state *s, uint64_t pc, struct peet_error *error)
{
    struct peet_program *p = s->program;
    for (int round = 0;; round++) {
        if (p->pc_key != NULL) {
            uint64_t at = (pc * 0x9e3779b97f4a7c15u >> 20) & p->pc_mask;
            while (p->pc_key[at] != 0) {
                if (p->pc_key[at] == pc) {
                    s->sync_pc = pc;
                    s->sync_function = p->functions[p->pc_value[at] >> 32];
                    s->sync_segment = (uint32_t)p->pc_value[at];
                    return 0;
                }
                at = (at + 1) & p->pc_mask;
            }
        }
        if (round != 0 || p->rescan == NULL || p->rescan(p->rescan_arg, p, pc) <= 0)
            return peet_error_set(error, PEET_ESTREAM, "context %u: no schema knows the code at %#llx", s->context,
                (unsigned long long)pc);
    }
}

static int push_frame(struct peet_decode_state *s, struct peet_error *error)
{
    if (s->nframes == s->cframes) {
        unsigned n = s->cframes != 0 ? 2 * s->cframes : 4;
        struct frame *f = realloc(s->frames, n * sizeof *f);
        if (f == NULL)
            return peet_error_set(error, PEET_ENOMEM, "out of memory");
        s->frames = f;
        s->cframes = n;
    }
    struct frame *f = &s->frames[s->nframes++];
    f->function = s->function, f->last = s->last, f->tail = s->tail;
    memcpy(f->regs, s->regs, sizeof f->regs);
    s->function = NULL;
    s->last = s->tail = -1;
    return 0;
}

static int abstract(struct peet_decode_state *s, const uint64_t **cursor, const uint64_t *end, struct peet_event *out,
    struct peet_error *error)
{
    const uint64_t *at = *cursor;
    unsigned nargs = PEET_RAW_NARGS(*at), type = PEET_RAW_TYPE(*at);
    if (nargs > (uint64_t)(end - at - 1))
        return peet_error_set(error, PEET_ESTREAM, "context %u: abstract event %u is cut off", s->context, type);
    if (type == 0 || type >= PEET_ABSTRACT_TYPES)
        return peet_error_set(error, PEET_ESTREAM, "context %u: unknown abstract event %u", s->context, type);
    out->abstract.type = type;
    out->abstract.context = s->context;
    out->abstract.nargs = nargs;
    out->abstract.args = at + 1;
    *cursor = at + 1 + nargs;
    if (type == PEET_ABSTRACT_SIGNAL_ENTER) {
        int err = push_frame(s, error);
        if (err != 0)
            return err;
    } else if (type == PEET_ABSTRACT_SIGNAL_LEAVE && s->nframes != 0) {
        struct frame *f = &s->frames[--s->nframes];
        s->function = f->function, s->last = f->last, s->tail = f->tail;
        memcpy(s->regs, f->regs, sizeof f->regs);
    }
    return PEET_EVENT_ABSTRACT;
}

int peet_decode_next(struct peet_decode_state *s, const uint64_t **cursor, const uint64_t *end, int want, struct peet_event *out,
    struct peet_error *error)
{
    const uint64_t *at = *cursor;
    if (at == end)
        return PEET_EVENT_NEED_WORDS;
    uint64_t word = *at;
    uint32_t index;
    if (PEET_RAW_IS_PLAIN(word)) {
        struct peet__function *f = s->function;
        index = PEET_RAW_INDEX(word);
        if (f == NULL || index >= f->nsegments || !f->code[index].recorded)
            return peet_error_set(error, PEET_ESTREAM, "context %u: block %u of %s does not exist", s->context, index,
                f != NULL ? f->pub.name : "an unknown function");
        if (s->tail >= 0) {
            int32_t tail = s->tail;
            s->tail = -1;
            if ((int32_t)index != f->code[s->last].tail_taken)
                return deliver(s, (uint32_t)tail, at, want, out);
        }
        const struct peet__block *c = &f->code[index];
        if (c->pad >= 0 && s->last == c->pad_after) {
            int kind = deliver(s, (uint32_t)c->pad, at, want, out);
            return kind;
        }
    } else if (PEET_RAW_IS_ABSTRACT(word)) {
        return abstract(s, cursor, end, out, error);
    } else {
        if (word != s->sync_pc || s->sync_function == NULL) {
            int err = find_sync(s, word, error);
            if (err != 0)
                return err;
        }
        s->function = s->sync_function;
        index = s->sync_segment;
    }
    const struct peet__block *c = &s->function->code[index];
    if (c->slot_words > (uint64_t)(end - at - 1))
        return peet_error_set(error, PEET_ESTREAM, "context %u: a record of %s is cut off", s->context, s->function->pub.name);
    *cursor = at + 1 + c->slot_words;
    return deliver(s, index, at + 1, want, out);
}
