/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The decoder: raw words and schema in, events out.  decode.h has its rules.  next_block() decodes one block;
 * peet_decode_batch() enters machine code that decodes (jit/native.c), and calls next_block() for blocks that have
 * none. direct.c enters machine code that also does the simulated machine's work.
 */
#include "decode/state.h"
#include "jit/native.h"
#include "program/strides.h"

#include <peet/raw.h>

#include <stdlib.h>
#include <string.h>

int peet__decode_make_room(struct peet_decode_state *s, struct peet_error *error)
{
    uint32_t slots = s->program->slots_capacity;
    uint64_t *regs = realloc(s->regs, (PEET__SLOT + slots + 1) * sizeof *regs);
    if (!regs)
        return peet_error_set(error, PEET_ENOMEM, "out of memory");
    if (!s->regs)
        memset(regs, 0, PEET__SLOT * sizeof *regs);
    s->regs = regs;
    s->slots = slots;
    return 0;
}

int peet_decode_state_new(struct peet_program *program, uint32_t context, uint64_t fs_base,
    struct peet_decode_state **out_state)
{
    struct peet_decode_state *s = calloc(1, sizeof *s);
    if (!s)
        return PEET_ENOMEM;
    s->program = program;
    if (peet__decode_make_room(s, NULL) != 0) {
        free(s);
        return PEET_ENOMEM;
    }
    peet_decode_state_reset(s, context, fs_base);
    *out_state = s;
    return 0;
}

void peet_decode_state_free(struct peet_decode_state *s)
{
    if (s) {
        free(s->frames);
        free(s->regs);
    }
    free(s);
}

void peet_decode_state_reset(struct peet_decode_state *s, uint32_t context, uint64_t fs_base)
{
    s->context = context;
    s->regs[PEET__FS] = fs_base;
    s->regs[PEET__ZERO] = 0;
    s->function = NULL;
    s->last = s->tail = -1;
    s->loop_left = 0;
    s->nframes = 0;
    s->waiting = NULL;
}

static inline uint64_t evaluate(const struct peet__form *f, unsigned op, const uint64_t *regs)
{
    uint64_t v = f->disp + regs[f->a];
    if (op != PEET__SUM1)
        v += regs[f->b] * (uint64_t)(int64_t)f->mb;
    if (op == PEET__SUM3)
        v += regs[f->c] * (uint64_t)(int64_t)f->mc;
    return v;
}

static uint64_t lane_value(const struct peet__value *v, const uint64_t *regs)
{
    const uint64_t *slots = regs + PEET__SLOT;
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
    return evaluate(&v->form, PEET__SUM2, regs) + (uint64_t)index * (uint64_t)(int64_t)v->scale;
}

static __attribute__((noinline)) void compute_any(const uint64_t *regs, const struct peet__block *c, uint64_t *out)
{
    for (const struct peet__value *v = c->values, *end = v + c->nvalues; v != end; v++)
        *out++ = v->op <= PEET__SUM3 ? evaluate(&v->form, v->op, regs) : lane_value(v, regs);
}

static __attribute__((noinline)) void update_any(uint64_t *regs, const struct peet__block *c)
{
    uint64_t next[16];
    uint32_t n = c->nupdates;
    for (uint32_t k = 0; k < n; k++)
        next[k & 15] = evaluate(&c->updates[k].form, c->updates[k].op, regs);
    for (uint32_t k = 0; k < n; k++)
        regs[c->updates[k].reg] = next[k & 15];
}

static inline void compute(const uint64_t *regs, const struct peet__block *c, uint64_t *out)
{
    if (!c->addresses || c->past) {
        compute_any(regs, c, out);
        return;
    }
    for (const struct peet__form *f = c->addresses, *end = f + c->nvalues; f != end; f++)
        *out++ = peet__form_value(f, regs);
}

void peet__decode_values(const struct peet_decode_state *s, const struct peet__block *block, uint64_t *out)
{
    compute(s->regs, block, out);
}

static inline void update(uint64_t *regs, const struct peet__block *c)
{
    if (c->nupdates == 1 && c->steps) /* the common case: one induction variable */
        regs[c->updates[0].reg] = peet__form_value(c->steps, regs);
    else if (c->nupdates != 0)
        update_any(regs, c);
}

/* Brings the record's words after the registers, so that forms index one array. */
static inline void take_slots(uint64_t *regs, const uint64_t *slots, uint32_t n)
{
    /* Nearly always none to three: unrolling and vectors cost more than they bring. */
#pragma clang loop vectorize(disable) unroll(disable)
    for (uint32_t k = 0; k < n; k++)
        regs[PEET__SLOT + k] = slots[k];
}

static int deliver(struct peet_decode_state *s, uint32_t index, const uint64_t *slots, int want, uint64_t *values,
    struct peet_block_event *out)
{
    struct peet__function *f = s->function;
    const struct peet__block *c = &f->code[index];
    if (slots)
        take_slots(s->regs, slots, c->slot_words);
    out->block = &f->blocks[index];
    out->context = s->context;
    out->turns = 1;
    out->strides = NULL;
    out->values = NULL;
    if (!values) /* the single form; looked up here because the array moves when images are added */
        values = s->program->values;
    if (want || !(out->block->flags & PEET_BLOCK_SIMPLE)) { /* what varies is counted whoever listens */
        out->values = values;
        compute(s->regs, c, values);
    }
    update(s->regs, c);
    s->last = (int32_t)index;
    s->tail = c->tail;
    return PEET_EVENT_BLOCK;
}

int peet__program_place(const struct peet_program *p, uint64_t pc, struct peet__function **out_function,
    uint32_t *out_segment)
{
    if (!p->pc_key)
        return 0;
    for (uint64_t at = peet__pc_slot(p, pc); p->pc_key[at] != 0; at = (at + 1) & p->pc_mask)
        if (p->pc_key[at] == pc) {
            *out_function = p->functions[p->pc_value[at] >> 32];
            *out_segment = (uint32_t)p->pc_value[at];
            return 1;
        }
    return 0;
}

int peet__decode_lookup_sync(struct peet_decode_state *s, uint64_t pc)
{
    if (pc == s->sync_pc && s->sync_function && s->replaced == s->program->replaced)
        return 1;
    if (!peet__program_place(s->program, pc, &s->sync_function, &s->sync_segment))
        return 0;
    s->sync_pc = pc;
    s->replaced = s->program->replaced;
    return 1;
}

static int push_frame(struct peet_decode_state *s, struct peet_error *error)
{
    if (s->nframes == s->cframes) {
        unsigned n = s->cframes != 0 ? 2 * s->cframes : 4;
        struct frame *f = realloc(s->frames, n * sizeof *f);
        if (!f)
            return peet_error_set(error, PEET_ENOMEM, "out of memory");
        s->frames = f;
        s->cframes = n;
    }
    struct frame *f = &s->frames[s->nframes++];
    f->function = s->function, f->last = s->last, f->tail = s->tail, f->loop_left = s->loop_left;
    memcpy(f->regs, s->regs, sizeof f->regs);
    s->function = NULL;
    s->last = s->tail = -1;
    s->loop_left = 0;
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
        s->function = f->function, s->last = f->last, s->tail = f->tail, s->loop_left = f->loop_left;
        memcpy(s->regs, f->regs, sizeof f->regs);
    }
    return PEET_EVENT_ABSTRACT;
}

/* One iteration of a loop that wrote nothing: its registers are followed, its jump out comes after the last. */
static int loop_iteration(struct peet_decode_state *s, int want, uint64_t *values, struct peet_block_event *out)
{
    const int32_t index = s->last;
    deliver(s, (uint32_t)index, NULL, want, values, out);
    if (--s->loop_left != 0)
        s->tail = -1;
    return PEET_EVENT_BLOCK;
}

static int begin_loop(struct peet_decode_state *s, uint32_t index, uint64_t end_value, struct peet_error *error)
{
    const struct peet__block *c = &s->function->code[index];
    int64_t distance = (int64_t)(end_value - s->regs[c->loop_reg]), iterations;
    const uint64_t step = (uint64_t)c->loop_step;
    if ((step & (step - 1)) == 0 && distance > 0 && c->loop_step > 0) /* nearly always; a division takes long */
        iterations = ((uint64_t)distance & (step - 1)) != 0 ? 0 : distance >> __builtin_ctzll(step);
    else
        iterations = distance % c->loop_step != 0 || (distance < 0) != (c->loop_step < 0) ? 0 : distance / c->loop_step;
    if (iterations == 0)
        return peet_error_set(error, PEET_ESTREAM, "context %u: block %u of %s cannot have turned %lld bytes by %lld",
            s->context, index, s->function->pub.name, (long long)distance, (long long)c->loop_step);
    s->loop_left = (uint64_t)iterations;
    s->last = (int32_t)index;
    return 0;
}

/* A block without a record that was executed on the way from the last one to this one of the same function; -1: none.
 */
static inline int32_t before(struct peet_decode_state *s, uint32_t index)
{
    const struct peet__function *f = s->function;
    if (s->tail >= 0) {
        int32_t tail = s->tail;
        s->tail = -1;
        if ((int32_t)index != f->code[s->last].tail_taken)
            return tail;
    }
    const struct peet__block *c = &f->code[index];
    return c->pad >= 0 && s->last == c->pad_after ? c->pad : -1;
}

/* The next block of a stream, or 0 at its end and before an abstract event (*out_abstract says which). */
static inline int next_block(struct peet_decode_state *s, const uint64_t **cursor, const uint64_t *end, int want,
    int may_rescan, uint64_t *values, struct peet_block_event *out, int *out_abstract, struct peet_error *error)
{
    const uint64_t *at = *cursor;
    if (s->loop_left != 0)
        return loop_iteration(s, want, values, out);
    if (peet__decode_sure(s)) {
        const uint32_t words = s->function->code[s->tail].slot_words;
        return deliver(s, (uint32_t)s->tail, at - words, want, values, out);
    }
    if (at == end)
        return 0;
    uint64_t word = *at;
    uint32_t index;
    int32_t unsaid;
    if (__builtin_expect(PEET_RAW_IS_PLAIN(word), 1)) {
        struct peet__function *f = s->function;
        index = PEET_RAW_INDEX(word);
        if (!f || index >= f->nsegments || !f->code[index].recorded)
            return peet_error_set(error, PEET_ESTREAM, "context %u: block %u of %s does not exist", s->context, index,
                f ? f->pub.name : "an unknown function");
        if ((unsaid = before(s, index)) >= 0)
            return deliver(s, (uint32_t)unsaid, NULL, want, values, out);
    } else if (PEET_RAW_IS_ABSTRACT(word)) {
        /* The block that an access begins is said by the wait before it: what it says of the way there is due now. */
        if (PEET_RAW_TYPE(word) == PEET_ABSTRACT_ATOMIC && at + 1 < end && s->function &&
            peet__decode_lookup_sync(s, at[1]) && s->sync_function == s->function &&
            (unsaid = before(s, s->sync_segment)) >= 0)
            return deliver(s, (uint32_t)unsaid, NULL, want, values, out);
        *out_abstract = 1;
        return 0;
    } else {
        struct peet_program *p = s->program;
        if (!peet__decode_lookup_sync(s, word)) {
            if (!may_rescan)
                return 0;
            const int got = p->rescan ? p->rescan(p->rescan_arg, p, word) : 0;
            if (got == PEET_ENOTFOUND)
                return 0;
            if (got <= 0 || !peet__decode_lookup_sync(s, word))
                return peet_error_set(error, PEET_ESTREAM, "context %u: no schema knows the code at %#llx", s->context,
                    (unsigned long long)word);
        }
        s->function = s->sync_function;
        index = s->sync_segment;
    }
    const struct peet__block *c = &s->function->code[index];
    if (s->slots < c->slot_words && peet__decode_make_room(s, error) != 0)
        return PEET_ENOMEM;
    if (c->slot_words > (uint64_t)(end - at - 1))
        return peet_error_set(error, PEET_ESTREAM, "context %u: a record of %s is cut off", s->context,
            s->function->pub.name);
    if (c->loop) {
        int err = begin_loop(s, index, at[1], error);
        if (err != 0)
            return err;
        *cursor = at + 2;
        return loop_iteration(s, want, values, out);
    }
    *cursor = at + 1 + c->slot_words;
    return deliver(s, index, at + 1, want, values, out);
}

int peet__decode_block(struct peet_decode_state *s, const uint64_t **cursor, const uint64_t *end, int want,
    int may_rescan, uint64_t *values, struct peet_block_event *out, int *out_abstract, struct peet_error *error)
{
    return next_block(s, cursor, end, want, may_rescan, values, out, out_abstract, error);
}

int peet_decode_next(struct peet_decode_state *s, const uint64_t **cursor, const uint64_t *end, int want,
    struct peet_event *out, struct peet_error *error)
{
    int is_abstract = 0;
    s->waiting = NULL;
    int kind = next_block(s, cursor, end, want, 1, NULL, &out->block, &is_abstract, error);
    return is_abstract ? abstract(s, cursor, end, out, error) : kind;
}

/* Iterations of a silent loop, as many as there is room for; one by one, the last one comes by loop_iteration(), which
 * knows what follows. */
static unsigned iterations(struct peet_decode_state *s, struct peet_block_event *events, unsigned room, int want,
    uint64_t **inout_values, const uint64_t *stop)
{
    const struct peet__block *const c = &s->function->code[s->last];
    const struct peet_block *const block = &s->function->blocks[s->last];
    uint64_t *values = *inout_values;
    uint64_t *const regs = s->regs;
    unsigned n = 0;
    if (want & PEET_DECODE_LOOPS && (c->strides || c->moving) && s->loop_left > 1) {
        /* All iterations in one event; registers go forward as far. */
        const int64_t *strides = c->strides;
        const uint64_t *const first = want & PEET_DECODE_ADDRESSES ? values : NULL;
        if (want & PEET_DECODE_ADDRESSES)
            for (const struct peet__form *form = c->addresses, *last = form + c->nvalues; form != last; form++)
                *values++ = peet__form_value(form, regs);
        if (c->moving) {
            strides = (int64_t *)values;
            peet__strides_of(c, regs, (int64_t *)values);
            values += c->nvalues;
        }
        events[0] = (struct peet_block_event){block, first, s->context, s->loop_left, strides};
        peet__go_round(c, regs, s->loop_left);
        s->loop_left = 0;
        s->tail = c->tail;
        *inout_values = values;
        return 1;
    }
    if (c->addresses && block->flags & PEET_BLOCK_SIMPLE)
        for (; n < room && s->loop_left > 1 && values <= stop; n++, s->loop_left--) {
            events[n] =
                (struct peet_block_event){block, want & PEET_DECODE_ADDRESSES ? values : NULL, s->context, 1, NULL};
            if (want & PEET_DECODE_ADDRESSES)
                for (const struct peet__form *form = c->addresses, *last = form + c->nvalues; form != last; form++)
                    *values++ = peet__form_value(form, regs);
            update(regs, c);
        }
    if (n < room && values <= stop) {
        loop_iteration(s, want & PEET_DECODE_ADDRESSES, values, &events[n]);
        values += c->nvalues;
        n++;
    }
    *inout_values = values;
    return n;
}

/* The machine code of a function, if it is met often. */
static const struct peet__native *native_of(struct peet_program *p, struct peet__function *f, int want_addresses)
{
    enum { OFTEN = 100 };
    if (!f->native[want_addresses] && f->native_hotness[want_addresses] < OFTEN &&
        ++f->native_hotness[want_addresses] == OFTEN)
        f->native[want_addresses] = peet__native_make(p, f, want_addresses);
    return f->native[want_addresses];
}

/* As far as machine code comes.  The block before is events[-1].  Returns: how many blocks */
#ifdef __clang__
__attribute__((no_sanitize("function"))) /* made code carries no type */
#endif
static unsigned run_native(struct peet_decode_state *s, const uint64_t **inout_at, const uint64_t *end,
    int want_addresses, struct peet_block_event *events, unsigned room, uint64_t **inout_values,
    const uint64_t *values_end)
{
    const uint64_t word = **inout_at, index = ~word;
    struct peet__function *f = s->function;
    const struct peet__native *n;
    const void *to;
    if (index < f->nsegments) {
        if (!(n = native_of(s->program, f, want_addresses)))
            return 0;
        to = n->blocks[index];
    } else {
        if (PEET_RAW_IS_ABSTRACT(word) || !peet__decode_lookup_sync(s, word) ||
            !(n = native_of(s->program, s->sync_function, want_addresses)))
            return 0;
        f = s->sync_function;
        to = n->sync[s->sync_segment];
    }
    if (to == n->leave || room < n->events || (size_t)(end - *inout_at) <= n->slots ||
        (size_t)(values_end - *inout_values) < n->values)
        return 0;
    struct peet__native_run run = {.at = *inout_at,
        .values = *inout_values,
        .events = events,
        .safe = end - n->slots,
        .values_stop = *inout_values + ((values_end - *inout_values) - n->values),
        .events_stop = events + (room - n->events),
        .tail = -1,
        .context = s->context,
        .turns = 1};
    n->enter(&run, s->regs, n->blocks, to);
    s->function = f;
    s->last = (int32_t)run.events[-1].block->index;
    s->tail = (int32_t)run.tail;
    *inout_at = run.at;
    *inout_values = run.values;
    return (unsigned)(run.events - events);
}

int peet__decode_starts_loop(struct peet_decode_state *s, const uint64_t *at, const uint64_t *end)
{
    const struct peet__function *f = s->function;
    const uint64_t index = ~*at;
    if (!f || index >= f->nsegments || s->tail >= 0 || end - at < 2)
        return 0;
    const struct peet__block *c = &f->code[index];
    return c->recorded && c->loop && (c->pad < 0 || s->last != c->pad_after) &&
        begin_loop(s, (uint32_t)index, at[1], NULL) == 0;
}

unsigned peet_decode_batch(struct peet_decode_state *s, const uint64_t **cursor, const uint64_t *end, int want,
    struct peet_block_event *events, unsigned nevents, uint64_t *values, size_t nvalues)
{
    const uint64_t *const values_end = values + nvalues;
    const uint64_t *const stop = values + (nvalues - s->program->values_capacity); /* room for any block up to here */
    if (s->slots < s->program->slots_capacity && peet__decode_make_room(s, NULL) != 0)
        return 0; /* peet_decode_next() says so */
    const uint64_t *at = *cursor;
    unsigned n = 0;
    s->waiting = NULL;
    while (n < nevents && values <= stop && (at != end || peet_decode_busy(s))) {
        if (s->loop_left != 0) {
            n += iterations(s, &events[n], nevents - n, want, &values, stop);
            continue;
        }
        if (n != 0 && s->tail < 0) { /* nothing pending, and what was the last block is in the events */
            unsigned more =
                run_native(s, &at, end, want & PEET_DECODE_ADDRESSES, &events[n], nevents - n, &values, values_end);
            if (more != 0) {
                n += more;
                continue;
            }
        }
        if (peet__decode_starts_loop(s, at, end)) {
            at += 2;
            continue;
        }
        int is_abstract = 0;
        *cursor = at;
        int kind = next_block(s, cursor, end, want & PEET_DECODE_ADDRESSES, 0, values, &events[n], &is_abstract, NULL);
        at = *cursor;
        if (kind <= 0)
            break; /* whatever it is, peet_decode_next() says */
        values += events[n].block->nvalues;
        n++;
    }
    *cursor = at;
    return n;
}

int peet_decode_busy(const struct peet_decode_state *s)
{
    return s->loop_left != 0 || peet__decode_sure(s);
}

enum peet_decode_ahead peet_decode_ahead(const struct peet_decode_state *s, const uint64_t *cursor, const uint64_t *end)
{
    if (peet_decode_busy(s))
        return PEET_AHEAD_BLOCKS;
    if (cursor == end)
        return PEET_AHEAD_NOTHING;
    return PEET_RAW_IS_ABSTRACT(*cursor) && PEET_RAW_TYPE(*cursor) != PEET_ABSTRACT_RANGE && s->tail < 0
        ? PEET_AHEAD_EVENT
        : PEET_AHEAD_BLOCKS;
}

int peet_decode_in_path(const struct peet_decode_state *s)
{
    return peet__decode_sure(s) && s->function->path_word;
}
