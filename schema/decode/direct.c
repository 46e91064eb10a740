/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The decoder's part of running the machine code that jit/direct.c makes: entering and leaving the code, blocks without
 * code, loops, and range operations. For processors that run ahead of others, it keeps the checkpoint and returns to it
 * (docs/ENGINE.md).
 */
#include "decode/state.h"
#include "program/strides.h"

#include <peet/raw.h>

/* The code of a function, if it is met often. */
static struct peet__direct_function *direct_of(struct peet_program *p, struct peet__function *f)
{
    enum { OFTEN = 30 };
    if (!f->direct && f->direct_hotness < OFTEN && ++f->direct_hotness == OFTEN)
        f->direct = peet__direct_make(p->direct, f);
    return f->direct;
}

/* Into machine code. */
#ifdef __clang__
__attribute__((no_sanitize("function"))) /* made code carries no type */
#endif
static void enter(struct peet_decode_state *s, struct peet_direct_run *run, const struct peet__direct_function *d,
    const void *to)
{
    uint64_t *const stop = (uint64_t *)(uintptr_t)run->end; /* no record is cut: the code comes there */
    const uint64_t kept = *stop, before = run->instructions;
    struct peet__direct *const direct = s->program->direct;
    if (__builtin_expect(direct->entered++ == direct->learns_at, 0))
        peet__direct_learn_again(direct);
    run->tail = -1;
    run->waits = 0;
    *stop = PEET__DIRECT_STOP;
    d->enter(run, to);
    *stop = kept;
    run->instructions += before;
    s->waiting = run->waits ? run : NULL;
}

/* The decoder is where machine code has come to. */
static void leave(struct peet_decode_state *s, const uint64_t **out_at, const struct peet_direct_run *run)
{
    *out_at = run->at;
    s->function = peet__direct_function_of(run->blocks);
    s->last = (int32_t)run->last;
    s->tail = (int32_t)run->tail;
    s->loop_left = run->rest;
}

/* What code needs that begins here. */
static void prepare(struct peet_decode_state *s, struct peet_direct_run *run, const struct peet__direct_function *d)
{
    struct peet_program *const p = s->program;
    run->at = *s->cursor;
    run->end = s->end;
    run->regs = s->regs;
    run->blocks = d->table;
    run->sync = p->direct->sync;
    run->table = &p->direct->table;
    run->last = s->last;
    run->rest = s->loop_left;
}

/* As far as machine code comes.  Returns: whether it did anything */
static int run_direct(struct peet_decode_state *s, struct peet_direct_run *run)
{
    struct peet_program *const p = s->program;
    const uint64_t *const at = *s->cursor;
    const uint64_t word = *at, index = ~word;
    struct peet__direct_function *d;
    const void *to;
    if (s->function && index < s->function->nsegments) {
        if (!(d = direct_of(p, s->function)))
            return 0;
        to = *peet__direct_entry(d, (uint32_t)index);
    } else {
        if (PEET_RAW_IS_ABSTRACT(word) || !peet__decode_lookup_sync(s, word) || !(d = direct_of(p, s->sync_function)))
            return 0;
        to = d->sync[s->sync_segment];
        if (to != d->leave)
            p->direct->sync[peet__direct_sync_index(word)] = (struct peet__direct_sync){word, to};
    }
    if (to == d->leave)
        return 0;
    prepare(s, run, d);
    enter(s, run, d, to);
    if (run->at == at && run->last == s->last && run->tail < 0 && !run->waits)
        return 0;
    leave(s, s->cursor, run);
    return 1;
}

/* On behind a block whose tail is sure, as far as machine code comes.  Returns: whether it did anything */
static int run_sure(struct peet_decode_state *s, struct peet_direct_run *run)
{
    const struct peet__direct_function *const d = s->function->direct;
    const int32_t last = s->last;
    if (!d || !d->behind[last] || !s->end)
        return 0;
    prepare(s, run, d);
    enter(s, run, d, d->behind[last]);
    if (run->at == *s->cursor && run->last == last && !run->waits)
        return 0;
    leave(s, s->cursor, run);
    return 1;
}

/* On with the iterations of a loop that are left, as far as machine code comes.  Returns: whether it did anything */
static int run_strips(struct peet_decode_state *s, struct peet_direct_run *run)
{
    const struct peet__direct_function *const d = s->function->direct;
    if (!d || !d->strips[s->last] || !s->end) /* a part of a trace may begin in a loop, with no words yet */
        return 0;
    prepare(s, run, d);
    enter(s, run, d, d->strips[s->last]);
    if (run->rest == s->loop_left && run->at == *s->cursor && !run->waits)
        return 0;
    leave(s, s->cursor, run);
    return 1;
}

/* A note that nobody wants, if it comes next: no block comes before it.  Returns: whether it has been passed over */
static inline int passes_over(const struct peet_decode_state *s, const uint64_t **inout_at, const uint64_t *end)
{
    if (*inout_at == end || peet_decode_busy(s) || s->tail >= 0 ||
        !peet__direct_unwanted(s->program->direct, **inout_at))
        return 0;
    *inout_at += 1 + PEET_RAW_NARGS(**inout_at);
    return 1;
}

void peet_decode_pass_over(const struct peet_decode_state *s, const uint64_t **cursor, const uint64_t *end)
{
    while (s->program->direct && passes_over(s, cursor, end))
        ;
}

/* The code was left before a block that was not due, and the context was not rolled back since: the block, and on after it.
 * Returns: whether it has happened */
static int go_on_waiting(struct peet_decode_state *s, struct peet_direct_run *run)
{
    run->began = run->time;
    if (s->waiting != run || run->decoder != s || run->end != s->end || run->time >= run->until ||
        run->table->other(run, (uint32_t)run->other) != 0)
        return 0;
    enter(s, run, s->function->direct, run->again);
    leave(s, s->cursor, run);
    return 1;
}

/* A block comes as an event. */
static void give(struct peet_decode_state *s, struct peet_direct_run *run, peet_decode_sink *sink, void *arg,
    const struct peet_block_event *event)
{
    peet__direct_ends(s->program->direct, run, run->time, 1);
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
    if (args[3] != 0 && !block)
        return 0;
    *inout_at = at + 1 + ARGS;
    if (block) {
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
    peet__copy_regs(s->regs, s->checkpoint_regs);
}

/* What a run ahead has done up to here will not be undone. */
static inline void set_checkpoint(struct peet_decode_state *s, const uint64_t *at, struct peet_direct_run *run)
{
    s->checkpoint = place_of(s, at);
    s->checkpoint_behind = 0;
    peet__copy_regs(s->checkpoint_regs, s->regs);
    run->checkpoint.time = run->time, run->checkpoint.stamp = run->stamp, run->checkpoint.reads = run->reads,
    run->checkpoint.writes = run->writes;
    run->log = run->log_begin;
    run->final = 0;
    if (s->counted)
        peet__direct_checkpoint(s->program->direct, run, NULL, 0);
}

/* The block before which the machine was asked is over, in code that goes on after it. */
void peet__decode_done(struct peet_direct_run *run, uint64_t block_time, uint64_t block_stamps, uint64_t block_reads,
    uint64_t block_writes)
{
    struct peet_decode_state *const s = run->decoder;
    run->final = run->limit == 0; /* the code is left at once: take() sets the checkpoint */
    if (run->final && __builtin_expect(!s->counted, 1))
        return;
    s->checkpoint = (struct place){
        run->at, peet__direct_function_of(run->blocks), (int32_t)run->last, (int32_t)run->tail_here, run->rest};
    s->checkpoint_behind = 1;
    peet__copy_regs(s->checkpoint_regs, s->regs);
    run->checkpoint.time = run->time + block_time, run->checkpoint.stamp = run->stamp + block_stamps;
    run->checkpoint.reads = run->reads + block_reads, run->checkpoint.writes = run->writes + block_writes;
    run->log = run->log_begin;
    if (s->counted) {
        const struct peet__function *const f = s->checkpoint.function;
        peet__direct_checkpoint(s->program->direct, run, f, (uint32_t)run->other - f->blocks[0].id);
    }
}

/* Is a tail still to come, for all that the next word says?  A record that says where it is says that none was
 * executed. */
static int32_t tail_at(const struct place *p, const uint64_t *end)
{
    if (p->tail < 0 || p->function->code[p->last].sure || p->at == end || PEET_RAW_IS_ABSTRACT(*p->at))
        return p->tail;
    return PEET_RAW_IS_PLAIN(*p->at) && (int32_t)PEET_RAW_INDEX(*p->at) != p->function->code[p->last].tail_taken
        ? p->tail
        : -1;
}

/* Room for a block's values that is not that of the event whose machine makes this context roll back just now. */
static uint64_t *other_values(const struct peet_decode_state *s)
{
    return s->program->values + s->program->values_capacity + 1;
}

/* Are iterations of the loop that has begun executions like others, for observers with guards? */
static int counts_iterations(const struct peet_decode_state *s, uint32_t index)
{
    const struct peet__direct_function *const d = s->function->direct;
    return d && d->counts[index] == PEET__ITERATIONS_COUNTED &&
        peet__direct_watchers_of(s->program->direct, d, index) != 0;
}

void peet_decode_undo(struct peet_decode_state *s, const uint64_t **cursor, const uint64_t *end, peet_decode_undone *fn,
    void *arg)
{
    const struct place stop = place_of(s, *cursor);
    const int32_t stop_tail = tail_at(&stop, end);
    /* Code that is left before the first block of a function has gone to the function already. */
    const int want = s->program->direct->holds;
    const int says_where = stop.at != end && !PEET_RAW_IS_PLAIN(*stop.at) && !PEET_RAW_IS_ABSTRACT(*stop.at);
    const uint64_t *at = s->checkpoint.at;
    struct peet_block_event event;
    int is_abstract = 0;
    s->waiting = NULL;
    set_place(s, &s->checkpoint);
    if (s->checkpoint_behind && peet__decode_block(s, &at, end, 0, 0, NULL, &event, &is_abstract, NULL) > 0) {
        s->checkpoint = place_of(s, at);
        peet__copy_regs(s->checkpoint_regs, s->regs);
    }
    s->checkpoint_behind = 0;
    for (;;) {
        const struct place p = place_of(s, at);
        if (p.at == stop.at && (p.function == stop.function || says_where) && p.last == stop.last &&
            p.loop_left == stop.loop_left && tail_at(&p, end) == stop_tail)
            break;
        if (p.at > stop.at)
            break; /* never */
        if (at != end && !peet_decode_busy(s) && *at == PEET__RANGE_RECORD) {
            const uint64_t *const args = at + 1;
            const struct peet_block *const block =
                args[3] != 0 ? peet_program_synthetic(s->program, (unsigned)args[0]) : NULL;
            uint64_t values[8];
            at += 1 + PEET__RANGE_ARGS;
            if (block) {
                peet_synthetic_values((unsigned)args[0], args[1], args[2], args[3], values);
                fn(arg, block, values, 1);
            }
            continue;
        }
        s->tail = tail_at(&p, end);
        if (at != end && s->loop_left == 0 && peet__decode_starts_loop(s, at, end)) { /* as peet_decode_direct() does */
            at += 2;
            continue;
        }
        if (passes_over(s, &at, end))
            continue;
        const int is_shown = s->loop_left != 0 && !counts_iterations(s, (uint32_t)s->last);
        if (peet__decode_block(s, &at, end, want, 0, other_values(s), &event, &is_abstract, NULL) <= 0)
            break; /* never */
        fn(arg, event.block, is_shown ? NULL : event.values, 1);
    }
    set_place(s, &s->checkpoint);
    *cursor = s->checkpoint.at;
    if (s->counted)
        peet__direct_undone(s->program->direct, s->counted);
}

/* Is a loop's record at hand?  Its iterations are better taken together. */
static int at_loop(struct peet_decode_state *s, uint64_t word)
{
    const uint64_t index = ~word;
    if (s->function && index < s->function->nsegments)
        return s->function->code[index].loop;
    return peet__decode_lookup_sync(s, word) && s->sync_function->code[s->sync_segment].loop;
}

enum { ITERATION_VALUES = 256 }; /* no block with machine code has more */

/* Iterations of the loop that has begun, as many as the machine takes.  Returns: how many */
static uint64_t take_iterations(struct peet_decode_state *s, struct peet_direct_run *run)
{
    const struct peet__block *const c = &s->function->code[s->last];
    const struct peet_block *const block = &s->function->blocks[s->last];
    struct peet__direct *const direct = s->program->direct;
    uint64_t values[ITERATION_VALUES], n, began;
    int64_t moving[ITERATION_VALUES];
    const int64_t *const strides = c->moving ? moving : c->strides;
    uint32_t watchers;
    if (!run->table->iterations || !strides || c->nvalues > ITERATION_VALUES || !(block->flags & PEET_BLOCK_SIMPLE) ||
        !direct_of(s->program, s->function))
        return 0;
    peet__decode_values(s, c, values);
    if (c->moving)
        peet__strides_of(c, s->regs, moving);
    if (!peet__direct_counts_ahead(run, s->function, (uint32_t)s->last, values))
        return 0;
    began = run->time;
    n = run->table->iterations(run, block, values, strides, s->loop_left);
    peet__direct_count_ahead(run, s->function, (uint32_t)s->last, began, n);
    watchers = peet__direct_watchers_of(direct, s->function->direct, (uint32_t)s->last);
    peet__go_round(c, s->regs, n);
    s->loop_left -= n;
    s->tail = s->loop_left == 0 ? c->tail : -1;
    run->instructions += block->ninsns * n;
    if (run->table->paths)
        peet_direct_went(run, block->id, n);
    if (watchers != 0 && n != 0) { /* such iterations are not among those that `taken` of a watch says */
        peet__direct_hold_loop(run, block, values, strides, n, began, watchers);
        s->function->direct->told[s->last] -= n;
    } else {
        *peet__direct_taken(s->function->direct, (uint32_t)s->last) += n;
    }
    return n;
}

/* A block without machine code, as a loop of one iteration.  Returns: whether the machine has taken it */
static int take_ahead(struct peet_decode_state *s, const uint64_t **cursor, const uint64_t *end,
    struct peet_direct_run *run)
{
    static const int64_t strides[ITERATION_VALUES];
    const struct place begin = place_of(s, *cursor);
    uint64_t regs[PEET__SLOT];
    const uint64_t began = run->time;
    struct peet_block_event event;
    int is_abstract = 0, how;
    if (!run->table->iterations || !s->function)
        return 0;
    run->began = began;
    peet__copy_regs(regs, s->regs);
    if (peet__decode_block(s, cursor, end, 1, 0, other_values(s), &event, &is_abstract, NULL) > 0 &&
        s->function->direct && event.block->flags & PEET_BLOCK_SIMPLE && event.block->nvalues <= ITERATION_VALUES &&
        peet__direct_counts_ahead(run, s->function, event.block->index, event.values) &&
        (how = peet__direct_passes(run, s->function, event.block->index, event.values)) != 0 &&
        run->table->iterations(run, event.block, event.values, strides, 1) != 0) {
        peet__direct_count_ahead(run, s->function, event.block->index, began, 1);
        peet__direct_passed(run, s->function, event.block->index, event.values, how);
        run->instructions += event.block->ninsns;
        if (run->table->paths)
            peet_direct_went(run, event.block->id, 1);
        ++*peet__direct_taken(s->function->direct, event.block->index);
        return 1;
    }
    s->function = begin.function, s->last = begin.last, s->tail = begin.tail, s->loop_left = begin.loop_left;
    peet__copy_regs(s->regs, regs);
    *cursor = begin.at;
    return 0;
}

/* On from the cursor; @any: something has been taken already.  Returns: whether something has been taken */
static int take(struct peet_decode_state *s, struct peet_direct_run *run, int any)
{
    const uint64_t **const cursor = s->cursor, *const end = s->end;
    const int ahead = run->runs_ahead != 0;
    int there = s->at_checkpoint;
    s->at_checkpoint = 0;
    while ((*cursor != end || peet_decode_busy(s)) && run->time < run->limit) {
        struct peet_block_event event;
        int is_abstract = 0;
        const int in_order = !ahead || run->time < run->until; /* whatever comes next may happen now */
        /* the first time in any case: a run that repeats what was undone begins where it was */
        if (ahead && !there && (in_order || !any || run->final))
            set_checkpoint(s, *cursor, run);
        there = 0;
        if (s->loop_left != 0) {
            const int counts = counts_iterations(s, (uint32_t)s->last);
            if (!run_strips(s, run) &&
                (!ahead || !(counts ? !in_order && take_ahead(s, cursor, end, run) : take_iterations(s, run) != 0))) {
                if (counts) /* it comes as an event */
                    peet__direct_came(s->program, s->function, (uint32_t)s->last);
                break;
            }
            any = 1;
            continue;
        }
        const int sure = peet__decode_sure(s);
        if (!sure && s->tail >= 0 && PEET_RAW_IS_PLAIN(**cursor) &&
            (int32_t)PEET_RAW_INDEX(**cursor) == s->function->code[s->last].tail_taken)
            s->tail = -1; /* the record says otherwise */
        if (sure ? run_sure(s, run) : s->tail < 0 && run_direct(s, run)) {
            any = 1;
            continue;
        }
        if (sure) {
            /* it comes without machine code */
        } else if (PEET_RAW_IS_ABSTRACT(**cursor)) {
            if (PEET_RAW_TYPE(**cursor) == PEET_ABSTRACT_RANGE && in_order &&
                range(s, cursor, end, run, s->sink, s->arg)) {
                any = 1;
                run->final = 1;
                continue;
            }
            if (passes_over(s, cursor, end))
                continue;
            if (s->tail < 0)
                break;
        } else if (at_loop(s, **cursor)) {
            if (!ahead || !run->table->iterations)
                break;
            if (peet__decode_starts_loop(s, *cursor, end)) {
                *cursor += 2;
                any = 1;
                continue;
            }
        }
        if (!in_order && take_ahead(s, cursor, end, run)) {
            any = 1;
            continue;
        }
        if (!in_order || peet__decode_block(s, cursor, end, 1, 0, NULL, &event, &is_abstract, NULL) <= 0)
            break;
        give(s, run, s->sink, s->arg, &event);
        peet__direct_came(s->program, s->function, event.block->index);
        any = 1;
        run->final = 1;
    }
    if (ahead && run->final) { /* nothing has been done ahead of others */
        set_checkpoint(s, *cursor, run);
        run->final = 1;
        s->at_checkpoint = !s->counted;
    }
    return any;
}

int peet_decode_direct(struct peet_decode_state *s, const uint64_t **cursor, const uint64_t *end,
    struct peet_direct_run *run, peet_decode_sink *sink, peet_decode_shown *shown, void *arg)
{
    const int ahead = run->runs_ahead != 0;
    int any = 0;
    run->final = 0;
    /* It has grown meanwhile; what is done again after a rollback must be done. */
    if (s->slots < s->program->slots_capacity) {
        if (peet__decode_make_room(s, NULL) != 0)
            return 0;
        run->regs = s->regs;
    }
    s->cursor = cursor, s->end = end, s->sink = sink, s->arg = arg;
    if (s->program->direct) {
        s->program->direct->shown = shown;
        s->program->direct->shown_arg = arg;
        run->table = &s->program->direct->table;
        peet__direct_begins(s->program->direct, run);
        s->counted = ahead ? peet__direct_hw_of(s->program->direct, run) : NULL;
    }
    if (ahead && s->waiting)
        any = go_on_waiting(s, run);
    s->waiting = any ? s->waiting : NULL;
    run->decoder = s;
    s->at_checkpoint = 0;
    any = take(s, run, any);
    if (s->program->direct)
        peet__direct_pauses(s->program->direct, run, run->final != 0);
    return any;
}

int peet_decode_goes_on(struct peet_direct_run *run)
{
    struct peet_decode_state *const s = run->decoder;
    struct peet__direct *const direct = s->program->direct;
    int any = 0;
    run->regs = s->regs; /* they may have moved */
    run->final = run->waits = 0;
    peet__direct_goes_on(direct, run);
    if (s->waiting) {
        any = go_on_waiting(s, run);
        s->at_checkpoint = 0;
        s->waiting = any ? s->waiting : NULL;
    }
    if (!any || !run->waits)
        any = take(s, run, any);
    peet__direct_pauses(direct, run, run->final != 0);
    return any;
}
