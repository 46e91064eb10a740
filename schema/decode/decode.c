/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The decoder: raw words and schema in, events out.  decode.h has its rules.  next_block() decodes one block;
 * peet_decode_batch() and peet_decode_direct() enter machine code as far as there is some, and call next_block() for
 * the rest.
 */
#include "decode/decode.h"
#include "jit/direct.h"
#include "jit/native.h"
#include "program/parts.h"

#include <peet/raw.h>

#include <stdlib.h>
#include <string.h>

struct frame { /* what a signal handler interrupts */
    struct peet__function *function;
    int32_t last, tail;
    uint64_t loop_left;
    uint64_t regs[PEET__FS];
};

/* A place between two blocks. */
struct place {
    const uint64_t *at;
    struct peet__function *function;
    int32_t last, tail;
    uint64_t loop_left;
};

struct peet_decode_state {
    /* registers, thread pointer, zero, then the words of the record being decoded */
    uint64_t *regs;
    uint32_t slots;                  /* room for so many words */
    struct peet__function *function; /* of the last record; NULL before the first */
    int32_t last;                    /* block last delivered in this activation; -1 */
    int32_t tail;                    /* block that is executed next unless the next record says otherwise; -1 */
    uint32_t context;
    uint64_t loop_left; /* turns of the loop `last` that are still to be delivered */
    struct peet_program *program;
    uint64_t sync_pc; /* one-entry cache of the pc table */
    struct peet__function *sync_function;
    uint32_t sync_segment;
    struct frame *frames;
    unsigned nframes, cframes;
    struct place mark;              /* where peet_decode_undo() goes back to, */
    uint64_t mark_regs[PEET__SLOT]; /* and the registers there; */
    int mark_behind;                /* behind the block that comes there */
};

/* Room for the longest record of the program, which grows when images are added. */
static int make_room(struct peet_decode_state *s, struct peet_error *error)
{
    uint32_t slots = s->program->slots_capacity;
    uint64_t *regs = realloc(s->regs, (PEET__SLOT + slots + 1) * sizeof *regs);
    if (regs == NULL)
        return peet_error_set(error, PEET_ENOMEM, "out of memory");
    if (s->regs == NULL)
        memset(regs, 0, PEET__SLOT * sizeof *regs);
    s->regs = regs;
    s->slots = slots;
    return 0;
}

int peet_decode_state_new(struct peet_program *program, uint32_t context, uint64_t fs_base,
    struct peet_decode_state **out_state)
{
    struct peet_decode_state *s = calloc(1, sizeof *s);
    if (s == NULL)
        return PEET_ENOMEM;
    s->program = program;
    if (make_room(s, NULL) != 0) {
        free(s);
        return PEET_ENOMEM;
    }
    peet_decode_state_reset(s, context, fs_base);
    *out_state = s;
    return 0;
}

void peet_decode_state_free(struct peet_decode_state *s)
{
    if (s != NULL) {
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

static inline uint64_t short_value(const struct peet__address *f, const uint64_t *regs)
{
    return f->disp + regs[f->a] + regs[f->b] * (uint64_t)(int64_t)f->mb;
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
    if (c->addresses == NULL) {
        compute_any(regs, c, out);
        return;
    }
    for (const struct peet__address *f = c->addresses, *end = f + c->nvalues; f != end; f++)
        *out++ = short_value(f, regs);
}

static inline void update(uint64_t *regs, const struct peet__block *c)
{
    if (c->nupdates == 1 && c->steps != NULL) /* the common case: one induction variable */
        regs[c->updates[0].reg] = short_value(c->steps, regs);
    else if (c->nupdates != 0)
        update_any(regs, c);
}

/* Brings the record's words behind the registers, so that forms index one array. */
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
    if (slots != NULL)
        take_slots(s->regs, slots, c->slot_words);
    out->block = &f->blocks[index];
    out->context = s->context;
    out->turns = 1;
    out->strides = NULL;
    out->values = NULL;
    if (values == NULL) /* the single form; looked up here because the array moves when images are added */
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
    if (p->pc_key == NULL)
        return 0;
    for (uint64_t at = peet__pc_slot(p, pc); p->pc_key[at] != 0; at = (at + 1) & p->pc_mask)
        if (p->pc_key[at] == pc) {
            *out_function = p->functions[p->pc_value[at] >> 32];
            *out_segment = (uint32_t)p->pc_value[at];
            return 1;
        }
    return 0;
}

/* The same for a context.  Returns: 1 found, 0 not */
static int lookup_sync(struct peet_decode_state *s, uint64_t pc)
{
    if (pc == s->sync_pc && s->sync_function != NULL)
        return 1;
    if (!peet__program_place(s->program, pc, &s->sync_function, &s->sync_segment))
        return 0;
    s->sync_pc = pc;
    return 1;
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

/* One turn of a loop that wrote nothing: its registers are followed, its jump out comes behind the last. */
static int turn(struct peet_decode_state *s, int want, uint64_t *values, struct peet_block_event *out)
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
    int64_t distance = (int64_t)(end_value - s->regs[c->loop_reg]), turns;
    const uint64_t step = (uint64_t)c->loop_step;
    if ((step & (step - 1)) == 0 && distance > 0 && c->loop_step > 0) /* nearly always; a division takes long */
        turns = ((uint64_t)distance & (step - 1)) != 0 ? 0 : distance >> __builtin_ctzll(step);
    else
        turns = distance % c->loop_step != 0 || (distance < 0) != (c->loop_step < 0) ? 0 : distance / c->loop_step;
    if (turns == 0)
        return peet_error_set(error, PEET_ESTREAM, "context %u: block %u of %s cannot have turned %lld bytes by %lld",
            s->context, index, s->function->pub.name, (long long)distance, (long long)c->loop_step);
    s->loop_left = (uint64_t)turns;
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
        return turn(s, want, values, out);
    if (at == end)
        return 0;
    uint64_t word = *at;
    uint32_t index;
    int32_t unsaid;
    if (__builtin_expect(PEET_RAW_IS_PLAIN(word), 1)) {
        struct peet__function *f = s->function;
        index = PEET_RAW_INDEX(word);
        if (f == NULL || index >= f->nsegments || !f->code[index].recorded)
            return peet_error_set(error, PEET_ESTREAM, "context %u: block %u of %s does not exist", s->context, index,
                f != NULL ? f->pub.name : "an unknown function");
        if ((unsaid = before(s, index)) >= 0)
            return deliver(s, (uint32_t)unsaid, NULL, want, values, out);
    } else if (PEET_RAW_IS_ABSTRACT(word)) {
        /* The block that an access begins is said by the wait before it: what it says of the way there is due now. */
        if (PEET_RAW_TYPE(word) == PEET_ABSTRACT_ATOMIC && at + 1 < end && s->function != NULL &&
            lookup_sync(s, at[1]) && s->sync_function == s->function && (unsaid = before(s, s->sync_segment)) >= 0)
            return deliver(s, (uint32_t)unsaid, NULL, want, values, out);
        *out_abstract = 1;
        return 0;
    } else {
        struct peet_program *p = s->program;
        if (!lookup_sync(s, word)) {
            if (!may_rescan)
                return 0;
            if (p->rescan == NULL || p->rescan(p->rescan_arg, p, word) <= 0 || !lookup_sync(s, word))
                return peet_error_set(error, PEET_ESTREAM, "context %u: no schema knows the code at %#llx", s->context,
                    (unsigned long long)word);
        }
        s->function = s->sync_function;
        index = s->sync_segment;
    }
    const struct peet__block *c = &s->function->code[index];
    if (s->slots < c->slot_words && make_room(s, error) != 0)
        return PEET_ENOMEM;
    if (c->slot_words > (uint64_t)(end - at - 1))
        return peet_error_set(error, PEET_ESTREAM, "context %u: a record of %s is cut off", s->context,
            s->function->pub.name);
    if (c->loop) {
        int err = begin_loop(s, index, at[1], error);
        if (err != 0)
            return err;
        *cursor = at + 2;
        return turn(s, want, values, out);
    }
    *cursor = at + 1 + c->slot_words;
    return deliver(s, index, at + 1, want, values, out);
}

int peet_decode_next(struct peet_decode_state *s, const uint64_t **cursor, const uint64_t *end, int want,
    struct peet_event *out, struct peet_error *error)
{
    int is_abstract = 0;
    int kind = next_block(s, cursor, end, want, 1, NULL, &out->block, &is_abstract, error);
    return is_abstract ? abstract(s, cursor, end, out, error) : kind;
}

/* Turns of a silent loop, as many as there is room for; one by one, the last one comes by turn(), which knows what
 * follows. */
static unsigned turns(struct peet_decode_state *s, struct peet_block_event *events, unsigned room, int want,
    uint64_t **inout_values, const uint64_t *stop)
{
    const struct peet__block *const c = &s->function->code[s->last];
    const struct peet_block *const block = &s->function->blocks[s->last];
    uint64_t *values = *inout_values;
    uint64_t *const regs = s->regs;
    unsigned n = 0;
    if (want & PEET_DECODE_LOOPS && c->strides != NULL && s->loop_left > 1) {
        /* All turns in one event; registers go forward as far. */
        const uint64_t turns = s->loop_left;
        events[0] = (struct peet_block_event){
            block, want & PEET_DECODE_ADDRESSES ? values : NULL, s->context, turns, c->strides};
        if (want & PEET_DECODE_ADDRESSES)
            for (const struct peet__address *form = c->addresses, *last = form + c->nvalues; form != last; form++)
                *values++ = short_value(form, regs);
        for (uint32_t k = 0; k < c->nupdates; k++)
            regs[c->updates[k].reg] += c->steps[k].disp * turns;
        s->loop_left = 0;
        s->tail = c->tail;
        *inout_values = values;
        return 1;
    }
    if (c->addresses != NULL && block->flags & PEET_BLOCK_SIMPLE)
        for (; n < room && s->loop_left > 1 && values <= stop; n++, s->loop_left--) {
            events[n] =
                (struct peet_block_event){block, want & PEET_DECODE_ADDRESSES ? values : NULL, s->context, 1, NULL};
            if (want & PEET_DECODE_ADDRESSES)
                for (const struct peet__address *form = c->addresses, *last = form + c->nvalues; form != last; form++)
                    *values++ = short_value(form, regs);
            update(regs, c);
        }
    if (n < room && values <= stop) {
        turn(s, want & PEET_DECODE_ADDRESSES, values, &events[n]);
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
    if (f->native[want_addresses] == NULL && f->native_heat[want_addresses] < OFTEN &&
        ++f->native_heat[want_addresses] == OFTEN)
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
        if ((n = native_of(s->program, f, want_addresses)) == NULL)
            return 0;
        to = n->blocks[index];
    } else {
        if (PEET_RAW_IS_ABSTRACT(word) || !lookup_sync(s, word) ||
            (n = native_of(s->program, s->sync_function, want_addresses)) == NULL)
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

/* A loop's record with nothing before it?  Then its turns are what comes next. */
static int starts_loop(struct peet_decode_state *s, const uint64_t *at, const uint64_t *end)
{
    const struct peet__function *f = s->function;
    const uint64_t index = ~*at;
    if (f == NULL || index >= f->nsegments || s->tail >= 0 || end - at < 2)
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
    if (s->slots < s->program->slots_capacity && make_room(s, NULL) != 0)
        return 0; /* peet_decode_next() says so */
    const uint64_t *at = *cursor;
    unsigned n = 0;
    while (n < nevents && values <= stop && (at != end || s->loop_left != 0)) {
        if (s->loop_left != 0) {
            n += turns(s, &events[n], nevents - n, want, &values, stop);
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
        if (starts_loop(s, at, end)) {
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

/* The code of a function, if it is met often. */
static struct peet__direct_function *direct_of(struct peet_program *p, struct peet__function *f)
{
    enum { OFTEN = 30 };
    if (f->direct == NULL && f->direct_heat < OFTEN && ++f->direct_heat == OFTEN)
        f->direct = peet__direct_make(p->direct, f);
    return f->direct;
}

/* As far as machine code comes.  Returns: whether it did anything */
#ifdef __clang__
__attribute__((no_sanitize("function"))) /* made code carries no type */
#endif
static int run_direct(struct peet_decode_state *s, const uint64_t **inout_at, const uint64_t *end,
    struct peet_direct_run *run)
{
    struct peet_program *const p = s->program;
    const uint64_t *const at = *inout_at;
    const uint64_t word = *at, index = ~word, before = run->instructions, kept = *end;
    uint64_t *const stop = (uint64_t *)(uintptr_t)end; /* no record is cut: the code comes there */
    struct peet__direct_function *d;
    const void *to;
    if (s->function != NULL && index < s->function->nsegments) {
        if ((d = direct_of(p, s->function)) == NULL)
            return 0;
        to = *peet__direct_entry(d, (uint32_t)index);
    } else {
        if (PEET_RAW_IS_ABSTRACT(word) || !lookup_sync(s, word) || (d = direct_of(p, s->sync_function)) == NULL)
            return 0;
        to = d->sync[s->sync_segment];
        if (to != d->leave)
            p->direct->sync[peet__direct_sync_index(word)] = (struct peet__direct_sync){word, to};
    }
    if (to == d->leave)
        return 0;
    if (p->direct->rest != 0)
        p->direct->rest--;
    else if (!p->direct->table.logged)
        peet__direct_sample(p, s->function, at, end);
    run->at = at;
    run->end = end;
    run->regs = s->regs;
    run->blocks = d->table;
    run->sync = p->direct->sync;
    run->table = &p->direct->table;
    run->last = s->last;
    run->tail = -1;
    run->decoder = s;
    *stop = PEET__DIRECT_STOP;
    d->enter(run, to);
    *stop = kept;
    run->instructions += before;
    if (run->at == at && run->last == s->last && run->tail < 0)
        return 0;
    *inout_at = run->at;
    s->function = peet__direct_function_of(run->blocks);
    s->last = (int32_t)run->last;
    s->tail = (int32_t)run->tail;
    return 1;
}

/* A block comes as an event. */
static void give(struct peet_decode_state *s, struct peet_direct_run *run, peet_decode_sink *sink, void *arg,
    const struct peet_block_event *event)
{
    peet__direct_ends(s->program->direct, run, run->time);
    sink(arg, run, event);
    peet__direct_begins(s->program->direct, run);
}

/* A range operation, as the block that makes its references.  Returns: whether it is one */
static int range(struct peet_decode_state *s, const uint64_t **inout_at, const uint64_t *end,
    struct peet_direct_run *run, peet_decode_sink *sink, void *arg)
{
    enum { ARGS = PEET__RANGE_ARGS };
    const uint64_t *const at = *inout_at, *const args = at + 1;
    uint64_t values[8];
    if (*at != PEET__RANGE_RECORD || end - at <= ARGS)
        return 0;
    const struct peet_block *block = args[3] != 0 ? peet_program_synthetic(s->program, (unsigned)args[0]) : NULL;
    if (args[3] != 0 && block == NULL)
        return 0;
    *inout_at = at + 1 + ARGS;
    if (block != NULL) {
        peet_synthetic_values((unsigned)args[0], args[1], args[2], args[3], values);
        peet__direct_range_known(s->program->direct, (unsigned)args[0], block);
        give(s, run, sink, arg, &(struct peet_block_event){block, values, s->context, 1, NULL});
    }
    return 1;
}

static struct place place_of(const struct peet_decode_state *s, const uint64_t *at)
{
    return (struct place){at, s->function, s->last, s->tail, s->loop_left};
}

static void set_place(struct peet_decode_state *s, const struct place *place)
{
    s->function = place->function, s->last = place->last, s->tail = place->tail, s->loop_left = place->loop_left;
    peet__copy_regs(s->regs, s->mark_regs);
}

/* What a run ahead has done up to here will not be undone. */
static inline void mark(struct peet_decode_state *s, const uint64_t *at, struct peet_direct_run *run)
{
    s->mark = place_of(s, at);
    s->mark_behind = 0;
    peet__copy_regs(s->mark_regs, s->regs);
    run->mark.time = run->time, run->mark.stamp = run->stamp, run->mark.reads = run->reads,
    run->mark.writes = run->writes;
    run->log = run->log_begin;
    run->final = 0;
}

/* The block before which the machine was asked is over, in code that goes on behind it. */
void peet__decode_done(struct peet_direct_run *run, uint64_t block_time, uint64_t block_stamps, uint64_t block_reads,
    uint64_t block_writes)
{
    struct peet_decode_state *const s = run->decoder;
    s->mark =
        (struct place){run->at, peet__direct_function_of(run->blocks), (int32_t)run->last, (int32_t)run->tail_here, 0};
    s->mark_behind = 1;
    peet__copy_regs(s->mark_regs, s->regs);
    run->mark.time = run->time + block_time, run->mark.stamp = run->stamp + block_stamps;
    run->mark.reads = run->reads + block_reads, run->mark.writes = run->writes + block_writes;
    run->log = run->log_begin;
    run->final = run->limit == 0; /* the code is left at once */
}

/* Is a tail still to come, for all that the next word says?  A record that says where it is says that none was
 * executed. */
static int32_t tail_at(const struct place *p, const uint64_t *end)
{
    if (p->tail < 0 || p->at == end || PEET_RAW_IS_ABSTRACT(*p->at))
        return p->tail;
    return PEET_RAW_IS_PLAIN(*p->at) && (int32_t)PEET_RAW_INDEX(*p->at) != p->function->code[p->last].tail_taken
        ? p->tail
        : -1;
}

void peet_decode_undo(struct peet_decode_state *s, const uint64_t **cursor, const uint64_t *end, peet_decode_undone *fn,
    void *arg)
{
    const struct place stop = place_of(s, *cursor);
    const int32_t stop_tail = tail_at(&stop, end);
    /* Code that is left before the first block of a function has gone to the function already. */
    const int says_where = stop.at != end && !PEET_RAW_IS_PLAIN(*stop.at) && !PEET_RAW_IS_ABSTRACT(*stop.at);
    const uint64_t *at = s->mark.at;
    struct peet_block_event event;
    int is_abstract = 0;
    set_place(s, &s->mark);
    if (s->mark_behind && next_block(s, &at, end, 0, 0, NULL, &event, &is_abstract, NULL) > 0) {
        s->mark = place_of(s, at);
        peet__copy_regs(s->mark_regs, s->regs);
    }
    s->mark_behind = 0;
    for (;;) {
        const struct place p = place_of(s, at);
        if (p.at == stop.at && (p.function == stop.function || says_where) && p.last == stop.last &&
            p.loop_left == stop.loop_left && tail_at(&p, end) == stop_tail)
            break;
        if (p.at > stop.at)
            break; /* never */
        if (at != end && s->loop_left == 0 && *at == PEET__RANGE_RECORD) {
            const uint64_t *const args = at + 1;
            const struct peet_block *const block =
                args[3] != 0 ? peet_program_synthetic(s->program, (unsigned)args[0]) : NULL;
            uint64_t values[8];
            at += 1 + PEET__RANGE_ARGS;
            if (block != NULL) {
                peet_synthetic_values((unsigned)args[0], args[1], args[2], args[3], values);
                fn(arg, block, values, 1);
            }
            continue;
        }
        s->tail = tail_at(&p, end);
        if (at != end && s->loop_left == 0 && starts_loop(s, at, end)) { /* as peet_decode_direct() does */
            at += 2;
            continue;
        }
        if (next_block(s, &at, end, 0, 0, NULL, &event, &is_abstract, NULL) <= 0)
            break; /* never */
        fn(arg, event.block, event.values, 1);
    }
    set_place(s, &s->mark);
    *cursor = s->mark.at;
}

/* Is a loop's record at hand?  Its turns are better taken together. */
static int at_loop(struct peet_decode_state *s, uint64_t word)
{
    const uint64_t index = ~word;
    if (s->function != NULL && index < s->function->nsegments)
        return s->function->code[index].loop;
    return lookup_sync(s, word) && s->sync_function->code[s->sync_segment].loop;
}

enum { TURN_VALUES = 256 }; /* no block with machine code has more */

/* Turns of the loop that has begun, as many as the machine takes.  Returns: how many */
static uint64_t take_turns(struct peet_decode_state *s, struct peet_direct_run *run)
{
    const struct peet__block *const c = &s->function->code[s->last];
    const struct peet_block *const block = &s->function->blocks[s->last];
    uint64_t values[TURN_VALUES], n;
    if (run->table->turns == NULL || c->strides == NULL || c->nvalues > TURN_VALUES ||
        !(block->flags & PEET_BLOCK_SIMPLE) || direct_of(s->program, s->function) == NULL)
        return 0;
    compute(s->regs, c, values);
    n = run->table->turns(run, block, values, c->strides, s->loop_left);
    for (uint32_t k = 0; k < c->nupdates; k++)
        s->regs[c->updates[k].reg] += c->steps[k].disp * n;
    s->loop_left -= n;
    s->tail = s->loop_left == 0 ? c->tail : -1;
    run->instructions += block->ninsns * n;
    *peet__direct_taken(s->function->direct, (uint32_t)s->last) += n;
    return n;
}

/* A block without machine code, as a loop of one turn.  Returns: whether the machine has taken it */
static int take_ahead(struct peet_decode_state *s, const uint64_t **cursor, const uint64_t *end,
    struct peet_direct_run *run)
{
    static const int64_t strides[TURN_VALUES];
    const struct place begin = place_of(s, *cursor);
    uint64_t regs[PEET__SLOT];
    struct peet_block_event event;
    int is_abstract = 0;
    if (run->table->turns == NULL || s->function == NULL)
        return 0;
    peet__copy_regs(regs, s->regs);
    if (next_block(s, cursor, end, 1, 0, NULL, &event, &is_abstract, NULL) > 0 && s->function->direct != NULL &&
        event.block->flags & PEET_BLOCK_SIMPLE && event.block->nvalues <= TURN_VALUES &&
        run->table->turns(run, event.block, event.values, strides, 1) != 0) {
        run->instructions += event.block->ninsns;
        ++*peet__direct_taken(s->function->direct, event.block->index);
        return 1;
    }
    s->function = begin.function, s->last = begin.last, s->tail = begin.tail, s->loop_left = begin.loop_left;
    peet__copy_regs(s->regs, regs);
    *cursor = begin.at;
    return 0;
}

int peet_decode_busy(const struct peet_decode_state *s)
{
    return s->loop_left != 0;
}

int peet_decode_direct(struct peet_decode_state *s, const uint64_t **cursor, const uint64_t *end,
    struct peet_direct_run *run, peet_decode_sink *sink, peet_decode_shown *shown, void *arg)
{
    const int ahead = run->runs_ahead != 0;
    int any = 0;
    run->final = 0;
    if (s->slots < s->program->slots_capacity)
        return 0;
    if (s->program->direct != NULL) {
        s->program->direct->shown = shown;
        s->program->direct->shown_arg = arg;
        run->table = &s->program->direct->table;
        peet__direct_begins(s->program->direct, run);
    }
    while ((*cursor != end || s->loop_left != 0) && run->time < run->limit) {
        struct peet_block_event event;
        int is_abstract = 0;
        const int in_order = !ahead || run->time < run->until; /* whatever comes next may happen now */
        /* the first time in any case: a run that repeats what was undone begins where it was */
        if (ahead && (in_order || !any || run->final))
            mark(s, *cursor, run);
        if (s->loop_left != 0) {
            if (!ahead || !take_turns(s, run))
                break;
            any = 1;
            continue;
        }
        if (s->tail >= 0 && PEET_RAW_IS_PLAIN(**cursor) &&
            (int32_t)PEET_RAW_INDEX(**cursor) == s->function->code[s->last].tail_taken)
            s->tail = -1; /* the record says otherwise */
        if (s->tail < 0 && run_direct(s, cursor, end, run)) {
            any = 1;
            continue;
        }
        if (PEET_RAW_IS_ABSTRACT(**cursor)) {
            if (PEET_RAW_TYPE(**cursor) == PEET_ABSTRACT_RANGE && in_order && range(s, cursor, end, run, sink, arg)) {
                any = 1;
                run->final = 1;
                continue;
            }
            if (s->tail < 0)
                break;
        } else if (at_loop(s, **cursor)) {
            if (!ahead || run->table->turns == NULL)
                break;
            if (starts_loop(s, *cursor, end)) {
                *cursor += 2;
                any = 1;
                continue;
            }
        }
        if (!in_order && take_ahead(s, cursor, end, run)) {
            any = 1;
            continue;
        }
        if (!in_order || next_block(s, cursor, end, 1, 0, NULL, &event, &is_abstract, NULL) <= 0)
            break;
        give(s, run, sink, arg, &event);
        peet__direct_came(s->program, s->function, event.block->index);
        any = 1;
        run->final = 1;
    }
    if (s->program->direct != NULL)
        peet__direct_ends(s->program->direct, run, run->time);
    if (ahead && run->final) { /* nothing has been done ahead of others */
        mark(s, *cursor, run);
        run->final = 1;
    }
    return any;
}
