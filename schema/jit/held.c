/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Observers whose guards machine code compares (watch.c), while hardware contexts run ahead of each other: what they are
 * to be told stands in a list until it is final (docs/ENGINE.md, "Observers with guards").  Executions for which all
 * guards hold are counted at once, and subtracted if they are undone.
 *
 *   1. A hardware context's list has, in its order, what it has done since its last checkpoint: executions with marked
 *      values, iterations of loops, and executions that could not come as an event.  A rollback drops them.
 *   2. Before a block that is due changes what others can see, the list is told.  When it has happened, the machine's
 *      reports of it go out, and then it is told, before the marks of another block are looked at.
 *   3. So an observer hears of two hardware contexts' executions on one line in the order of time if one of them writes: the machine
 *      rolls the other one back before it takes the line.
 *   4. What happens again after a rollback had been taken before, and must be taken again.  If an observer refuses it
 *      now, because its guards have changed meanwhile, it is shown the execution at the commit.
 *   5. Others act between a block's guards and its end, if it waits until it is due, or makes them go back: its guards are compared again afterwards.
 */
#include "jit/emitter.h"

#include <stdlib.h>
#include <string.h>

enum kind { MARKED, EVENT, LOOP };

struct entry {
    const struct peet_block *block;
    const int64_t *strides; /* LOOP; NULL: they are behind the values */
    uint64_t iterations, began;
    uint32_t context, observers; /* by index: a bit each */
    uint32_t kind, nvalues;
};
enum { ENTRY_WORDS = sizeof(struct entry) / sizeof(uint64_t) };

/* A hardware context's. */
struct peet__direct_held {
    uint64_t *words; /* entries, each with its values, and strides that are no constants, after it */
    size_t n, final, room;
    struct peet_direct_run *run;
    const struct peet_block *refused; /* when that many had been taken; NULL: none */
    uint64_t refused_taken;
    uint64_t values[PEET__DIRECT_VALUES];
};

int peet__direct_hold_init(struct peet__direct *d, unsigned n)
{
    d->held = calloc(n, sizeof *d->held);
    return d->held ? 0 : PEET_ENOMEM;
}

void peet__direct_hold_free(struct peet__direct *d)
{
    for (unsigned hw = 0; hw < d->nhws && d->held; hw++)
        free(d->held[hw].words);
    free(d->held);
}

void peet__direct_hold_begin(struct peet__direct *d, struct peet_direct_run *run)
{
    if (!d->held) { /* nobody has said how many hardware contexts there are */
        run->values = d->values;
        return;
    }
    struct peet__direct_held *const h = &d->held[run->hw];
    run->values = h->values;
    h->run = run;
    h->refused = NULL;
    if (d->holds)
        peet__direct_tell_held(d, run, 1);
}

/* ------------------------------------------------------------------------------------------ the list */

static size_t values_of(const struct entry *e)
{
    return e->kind == LOOP && !e->strides ? e->nvalues / 2 : e->nvalues;
}

/* @strides: those that go behind the values */
static void hold(struct peet__direct *d, const struct peet_direct_run *run, const struct entry *e,
    const uint64_t *values, const int64_t *strides, int is_final)
{
    struct peet__direct_held *const h = &d->held[run->hw];
    const size_t nvalues = values_of(e), need = ENTRY_WORDS + e->nvalues;
    if (h->n + need > h->room) {
        const size_t room = 2 * h->room + need + 4096;
        uint64_t *const grown = realloc(h->words, room * sizeof *grown);
        if (!grown)
            abort(); /* observers would be told something else */
        h->words = grown;
        h->room = room;
    }
    memcpy(h->words + h->n, e, sizeof *e);
    memcpy(h->words + h->n + ENTRY_WORDS, values, nvalues * sizeof *values);
    if (nvalues != e->nvalues)
        memcpy(h->words + h->n + ENTRY_WORDS + nvalues, strides, nvalues * sizeof *strides);
    h->n += need;
    if (is_final)
        h->final = h->n;
}

static void tell(struct peet__direct *d, struct peet_direct_run *run, const struct entry *e, const uint64_t *values)
{
    if (e->kind != MARKED) {
        const int64_t *const strides =
            e->kind == LOOP && !e->strides ? (const int64_t *)(values + values_of(e)) : e->strides;
        const struct peet_block_event event = {e->block, values, e->context, e->iterations, strides};
        const uint64_t began = run->began;
        run->began = e->began;
        d->shown(d->shown_arg, run, &event, e->observers);
        run->began = began;
        return;
    }
    for (uint32_t o = 0; o < d->nobservers; o++)
        if ((e->observers >> o & 1) != 0 && d->observers[o].ops->marked)
            d->observers[o].ops->marked(d->observers[o].self, run->hw, e->block, values);
}

void peet__direct_tell_held(struct peet__direct *d, struct peet_direct_run *run, int all)
{
    struct peet__direct_held *const h = &d->held[run->hw];
    const size_t end = all ? h->n : h->final;
    if (end == 0)
        return;
    peet__direct_report(run); /* of what is told now, and of older blocks */
    for (size_t at = 0; at < end;) {
        struct entry e;
        memcpy(&e, h->words + at, sizeof e);
        tell(d, run, &e, h->words + at + ENTRY_WORDS);
        at += ENTRY_WORDS + e.nvalues;
    }
    memmove(h->words, h->words + end, (h->n - end) * sizeof *h->words);
    h->n -= end;
    h->final = 0;
}

void peet__direct_commit_held(struct peet__direct *d, unsigned hw)
{
    if (d->held[hw].run)
        peet__direct_tell_held(d, d->held[hw].run, 1);
}

void peet__direct_drop_held(struct peet__direct *d, unsigned hw)
{
    d->held[hw].n = d->held[hw].final;
}

void peet__direct_hold_loop(struct peet_direct_run *run, const struct peet_block *block, const uint64_t *values,
    const int64_t *strides, uint64_t iterations, uint64_t began, uint32_t observers)
{
    struct peet__direct *const d = peet__direct_of(run);
    const int64_t *const constant = ((const struct peet__function *)block->function)->code[block->index].strides;
    hold(d, run,
        &(struct entry){.block = block,
            .strides = constant,
            .iterations = iterations,
            .began = began,
            .context = run->context,
            .observers = observers,
            .kind = LOOP,
            .nvalues = block->nvalues << !constant},
        values, strides, run->final != 0);
}

/* ------------------------------------------------------------------------------------------ executions */

static struct peet_direct_watch *const *watches_of(const struct peet__direct *d, const struct peet__function *f,
    uint32_t index)
{
    return &f->direct->watches[(size_t)index * d->nobservers];
}

static int is_watched(const struct peet_direct_watch *w)
{
    return w && !w->counted;
}

static int holds(const struct peet_direct_guard *g, const uint64_t *values)
{
    const uint64_t x = values[g->value] - g->base;
    return (x >> g->shift | x << (-g->shift & 63)) < g->span;
}

static int is_marked(const struct peet_direct_watch *w, const uint64_t *values)
{
    for (uint32_t g = 0; w->marked && g < w->nguards; g++)
        if (w->guards[g].marks &&
            w->guards[g].marks[(values[w->guards[g].value] - w->guards[g].marks_base) >> w->guards[g].marks_shift] != 0)
            return 1;
    return 0;
}

/* The guards of one observer, or what it says of them now. */
static int passes(const struct peet__direct *d, uint32_t o, struct peet_direct_watch *w, const struct peet_block *block,
    const uint64_t *values, uint32_t context)
{
    const struct peet_direct_observer *const ops = d->observers[o].ops;
    void *const self = d->observers[o].self;
    for (uint32_t g = 0; g < w->nguards; g++)
        if (!holds(&w->guards[g], values) &&
            (!ops->moved || ops->moved(self, block, w, g, values[w->guards[g].value]) != 0))
            return 0;
    if (*w->taken < w->until)
        return 1;
    const struct peet_block_event event = {block, values, context, 1, NULL};
    return ops->due && ops->due(self, &event, w) == 0;
}

static int all_pass(const struct peet_direct_run *run, const struct peet__function *f, uint32_t index,
    const uint64_t *values)
{
    const struct peet__direct *const d = peet__direct_of(run);
    for (uint32_t o = 0; o < d->nobservers; o++) {
        struct peet_direct_watch *const w = watches_of(d, f, index)[o];
        if (is_watched(w) && !passes(d, o, w, &f->blocks[index], values, run->context))
            return 0;
    }
    return 1;
}

/* An execution is, or will be, among those that the code counts, though observers are shown it. */
static void shown_instead(struct peet__direct *d, struct peet_direct_run *run, const struct peet__function *f,
    uint32_t index, const uint64_t *values, int is_final)
{
    hold(d, run,
        &(struct entry){.block = &f->blocks[index],
            .iterations = 1,
            .began = run->began,
            .context = run->context,
            .observers = peet__direct_watchers_of(d, f->direct, index),
            .kind = EVENT,
            .nvalues = f->blocks[index].nvalues},
        values, NULL, is_final);
    --*peet__direct_taken(f->direct, index);
    --f->direct->told[index];
    for (uint32_t o = 0; o < d->nobservers; o++) {
        const struct peet_direct_watch *const w = watches_of(d, f, index)[o];
        for (uint32_t g = 0; is_watched(w) && g < w->nguards; g++)
            if (w->guards[g].tally)
                w->guards[g].tally[values[w->guards[g].value] & w->guards[g].tally_mask]--;
    }
}

int peet__direct_passes(struct peet_direct_run *run, struct peet__function *f, uint32_t index, const uint64_t *values)
{
    struct peet__direct *const d = peet__direct_of(run);
    if (!d->holds || all_pass(run, f, index, values))
        return 1;
    if (!run->repeats)
        return 0;
    shown_instead(d, run, f, index, values, 0);
    return PEET__DIRECT_SHOWN;
}

/* Would the observer learn nothing from this execution?  Reports of these lines come only after what is in the list has been told. */
static int knows(const struct peet_direct_observer *ops, void *self, const struct peet_direct_run *run,
    const struct peet_block *block, const uint64_t *values)
{
    return ops->known && ops->known(self, run->hw, block, values);
}

static void hold_marked(struct peet__direct *d, const struct peet_direct_run *run, const struct peet__function *f,
    uint32_t index, const uint64_t *values, int is_final)
{
    uint32_t observers = 0;
    for (uint32_t o = 0; o < d->nobservers; o++) {
        const struct peet_direct_watch *const w = watches_of(d, f, index)[o];
        observers |= is_watched(w) && w->marked &&
                (is_final ||
                    (is_marked(w, values) &&
                        !knows(d->observers[o].ops, d->observers[o].self, run, &f->blocks[index], values)))
            ? 1u << o
            : 0;
    }
    if (observers != 0)
        hold(d, run,
            &(struct entry){.block = &f->blocks[index],
                .observers = observers,
                .kind = MARKED,
                .nvalues = f->blocks[index].nvalues},
            values, NULL, is_final);
}

void peet__direct_passed(struct peet_direct_run *run, const struct peet__function *f, uint32_t index,
    const uint64_t *values, int how)
{
    struct peet__direct *const d = peet__direct_of(run);
    if (!d->holds)
        return;
    for (uint32_t o = 0; o < d->nobservers; o++) {
        const struct peet_direct_watch *const w = watches_of(d, f, index)[o];
        for (uint32_t g = 0; is_watched(w) && g < w->nguards; g++)
            if (w->guards[g].tally)
                w->guards[g].tally[values[w->guards[g].value] & w->guards[g].tally_mask]++;
    }
    if (how != PEET__DIRECT_SHOWN)
        hold_marked(d, run, f, index, values, 0);
}

int peet__direct_refused(struct peet_direct_run *run, const struct peet_block *block)
{
    struct peet__direct *const d = peet__direct_of(run);
    struct peet__direct_held *const h = &d->held[run->hw];
    const struct peet__function *const f = peet__direct_function_of(run->blocks);
    if (d->table.iterations) /* it is taken without code, and peet__direct_passes() sees to it */
        return -1;
    if (h->refused == block && h->refused_taken == *peet__direct_taken(f->direct, block->index))
        return 0; /* another guard of the same execution */
    run->began = run->time;
    shown_instead(d, run, f, block->index, run->values, 0);
    h->refused = block;
    h->refused_taken = *peet__direct_taken(f->direct, block->index);
    return 0;
}

/* One execution with run->values. */
static void mark(struct peet_direct_run *run, const struct peet__direct_site *site)
{
    struct peet__direct *const d = peet__direct_of(run);
    if (!d->holds || !run->runs_ahead) {
        site->ops->marked(site->self, run->hw, site->block, run->values);
        return;
    }
    if (knows(site->ops, site->self, run, site->block, run->values))
        return;
    uint32_t observer = 0;
    while (d->observers[observer].self != site->self)
        observer++;
    hold(d, run,
        &(struct entry){
            .block = site->block, .observers = 1u << observer, .kind = MARKED, .nvalues = site->block->nvalues},
        run->values, NULL, 0);
}

void peet__direct_mark(struct peet_direct_run *run, const struct peet__direct_site *site)
{
    mark(run, site);
    for (uint64_t left = site->strides ? run->turns - 1 : 0; left > 0; left--) {
        for (uint32_t k = 0; k < site->block->nvalues; k++)
            run->values[k] += (uint64_t)site->strides[k];
        mark(run, site);
    }
}

/* Whatever its marks are now. */
static void tell_marked(const struct peet__direct *d, const struct peet_direct_run *run,
    struct peet_direct_watch *const *watches, const struct peet_block *block, const uint64_t *values)
{
    for (uint32_t o = 0; o < d->nobservers; o++)
        if (is_watched(watches[o]) && watches[o]->marked && d->observers[o].ops->marked)
            d->observers[o].ops->marked(d->observers[o].self, run->hw, block, values);
}

/* other() of the table. */
static int other_and_hold(struct peet_direct_run *run, uint32_t id)
{
    struct peet__direct *const d = peet__direct_of(run);
    const struct peet__function *const f = peet__direct_function_of(run->blocks);
    const uint32_t index = id - f->blocks[0].id;
    const int is_due = run->time < run->until;
    if (peet__direct_watchers_of(d, f->direct, index) == 0)
        return d->held_other(run, id);
    if (is_due)
        peet__direct_tell_held(d, run, 1);
    const int status = d->held_other(run, id);
    if (status < 0)
        return status;
    if (!is_due) {
        hold_marked(d, run, f, index, run->values, 0);
        return status;
    }
    if (!all_pass(run, f, index, run->values)) {
        shown_instead(d, run, f, index, run->values, 1);
    } else if (!d->tells) {
        peet__direct_report(run);
        tell_marked(d, run, watches_of(d, f, index), &f->blocks[index], run->values);
        return status;
    } else {
        hold_marked(d, run, f, index, run->values, 1);
    }
    if (!d->tells)
        peet__direct_tell_held(d, run, 1);
    else if (d->table.unreported && *d->table.unreported != 0)
        run->limit = 0; /* another observer sees the block before its reports, which may mark what comes next */
    return status;
}

void peet__direct_hold_wrap(struct peet__direct *d)
{
    d->held_other = d->table.other;
    if (d->held_other)
        d->table.other = other_and_hold;
}
