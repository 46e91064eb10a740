/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Observers at the commit: what machine code counts for observers (counted.c) while hardware contexts run ahead of each
 * other (docs/ENGINE.md), and what of it these are told.
 *
 *   1. Each hardware context has a list of what its observers are to be told: where blocks began to be counted, which
 *      blocks are shown, where counting ended.  All of it came after the context's checkpoint, so it may be undone.  What is
 *      final has been told.
 *   2. Sums are those of the run that is going on.  One that is interrupted, because its machine lets another context go
 *      back, has its sums put aside; so has one that waits.
 *   3. A block's cycles are its executions' times, which the code counts anyway, and what is in `cycles` beyond that: what it waited.  Where that
 *      may be undone, it is in the context's list of waits, too.
 */
#include "jit/emitter.h"

#include <stdlib.h>
#include <string.h>

enum { ENTRIES = 4096, ENTRIES_ROOM = 64, BEGIN = 0, SHOWN = 1, END = 2 };

/* What observers are to be told. */
struct said {
    const struct peet_block *block, *previous;
    struct peet_direct_watch *const *watches; /* SHOWN: the block's */
    const int64_t *strides;
    uint64_t iterations, now;
    uint32_t context, kind;
};

struct entry {
    struct said said;
    uint64_t sums[PEET__DIRECT_OBSERVERS * PEET_DIRECT_SUMS]; /* in the list only those of observers that there are */
};

struct wait {
    struct peet_direct_counted *counted;
    uint64_t cycles;
};

/* What is counted of a hardware context, and what observers do not know yet. */
struct peet__direct_hw {
    struct peet_direct_run *run;
    struct peet__direct_hw *outer; /* the run that this one interrupts; NULL: none */
    uint64_t aside[PEET__DIRECT_OBSERVERS][PEET_DIRECT_SUMS], stops[PEET__DIRECT_OBSERVERS];
    uint64_t clock;  /* at the run's time 0, in cycles */
    uint8_t ahead;   /* this run may be undone */
    uint8_t open;    /* observers know that it has begun, and not that it has ended */
    uint8_t paused;  /* this run waits until its context is due, and may go on; its sums are put aside */
    uint8_t at_once; /* the block whose transaction is performed is shown at once, for it is final */
    uint8_t performed;
    uint32_t hw, nentries;
    unsigned char *entries;
    struct wait *waits;
    uint32_t nwaits, waits_size;
    /* at the checkpoint: the last one that was counted in this run, and the sums */
    const struct peet_block *checkpoint;
    uint64_t checkpoint_sums[PEET__DIRECT_OBSERVERS][PEET_DIRECT_SUMS];
};

static size_t entry_bytes(const struct peet__direct *d)
{
    return offsetof(struct entry, sums) + d->nobservers * PEET_DIRECT_SUMS * sizeof(uint64_t);
}

void peet__direct_commit_free(struct peet__direct *d)
{
    for (unsigned hw = 0; hw < d->nhws; hw++) {
        free(d->hws[hw].entries);
        free(d->hws[hw].waits);
    }
    free(d->hws);
}

static struct peet_direct_sums *sums_of(const struct peet__direct *d, uint32_t observer)
{
    return d->observers[observer].sums;
}

static void copy_sums(uint64_t *to, const uint64_t *from)
{
    memcpy(to, from, PEET_DIRECT_SUMS * sizeof *to);
}

/* What is counted of a block for an observer, or NULL. */
static struct peet_direct_counted *counted_by(const struct peet__direct *d, const struct peet__function *f,
    uint32_t index, uint32_t observer)
{
    return f->direct ? peet__direct_counted_of(f->direct->watches[(size_t)index * d->nobservers + observer]) : NULL;
}

/* Whose code the block is in; blocks of a function have ids in a row, and later functions have higher ones. */
static const struct peet__function *owner_of(const struct peet_program *p, const struct peet_block *block)
{
    unsigned low = 0, high = p->nfunctions;
    while (high - low > 1) {
        const unsigned middle = low + (high - low) / 2;
        *(p->functions[middle]->first_id <= block->id ? &low : &high) = middle;
    }
    return p->functions[low];
}

/* ------------------------------------------------------------------------------------------ telling */

/* @all: sums of all observers; NULL: those of now */
static void tell(const struct peet__direct *d, struct peet__direct_hw *h, const struct said *e, const uint64_t *all)
{
    static const uint64_t none[PEET_DIRECT_SUMS];
    const struct peet_block_event event = {
        .block = e->block, .context = e->context, .turns = e->iterations, .strides = e->strides};
    for (uint32_t o = 0; o < d->nobservers; o++) {
        const struct peet_direct_observer *const ops = d->observers[o].ops;
        const uint64_t *const sums = all ? &all[(size_t)o * PEET_DIRECT_SUMS]
            : sums_of(d, o)              ? sums_of(d, o)->of
                                         : none;
        if (e->kind == BEGIN && ops->begins)
            ops->begins(d->observers[o].self, h->hw);
        else if (e->kind == SHOWN && ops->shown && peet__direct_counted_of(e->watches[o]))
            ops->shown(d->observers[o].self, h->hw, &event, e->previous, e->now, sums);
        else if (e->kind == END && ops->ends)
            ops->ends(d->observers[o].self, h->hw, e->previous, e->now, sums);
    }
    h->open = e->kind != END;
}

static struct entry *entry_at(const struct peet__direct *d, const struct peet__direct_hw *h, uint32_t i)
{
    return (struct entry *)(void *)(h->entries + i * entry_bytes(d));
}

/* @all: as of tell() */
static void say(struct peet__direct *d, struct peet__direct_hw *h, const struct said *what, const uint64_t *all,
    int later)
{
    if (!later) {
        tell(d, h, what, all);
        return;
    }
    struct entry *const e = entry_at(d, h, h->nentries++);
    e->said = *what;
    memset(e->sums, 0, d->nobservers * PEET_DIRECT_SUMS * sizeof e->sums[0]);
    for (uint32_t o = 0; o < d->nobservers; o++)
        if (sums_of(d, o))
            copy_sums(&e->sums[(size_t)o * PEET_DIRECT_SUMS],
                all ? &all[(size_t)o * PEET_DIRECT_SUMS] : sums_of(d, o)->of);
}

/* All that is in the list is final. */
static void commit(const struct peet__direct *d, struct peet__direct_hw *h)
{
    if (h->nentries == 0 && h->nwaits == 0)
        return;
    for (uint32_t i = 0; i < h->nentries; i++)
        tell(d, h, &entry_at(d, h, i)->said, entry_at(d, h, i)->sums);
    h->nentries = 0;
    h->nwaits = 0;
}

void peet_program_direct_commit(struct peet_program *p, unsigned hw)
{
    struct peet__direct *const d = p->direct;
    if (d->nhws == 0)
        return;
    if (d->holds)
        peet__direct_commit_held(d, hw);
    commit(d, &d->hws[hw]);
}

void peet_program_direct_later(struct peet_program *p, unsigned hw, uint64_t cycles)
{
    struct peet__direct *const d = p->direct;
    struct peet__direct_hw *const h = d->nhws != 0 ? &d->hws[hw] : NULL;
    if (!h)
        return;
    for (uint32_t i = 0; i < h->nentries; i++)
        entry_at(d, h, i)->said.now += cycles;
    h->clock += cycles;
    if (!h->open || !h->checkpoint)
        return;
    const struct peet__function *const f = owner_of(p, h->checkpoint);
    for (uint32_t o = 0; o < d->nobservers; o++) {
        struct peet_direct_counted *const c = counted_by(d, f, h->checkpoint->id - f->blocks[0].id, o);
        if (c) /* it was this one that waited */
            c->cycles += cycles;
    }
}

/* ------------------------------------------------------------------------------------------ a run */

/* The sums of a run that does not go on, or not now. */
static void put_aside(const struct peet__direct *d, struct peet__direct_hw *h)
{
    for (uint32_t o = 0; o < d->nobservers; o++)
        if (sums_of(d, o)) {
            copy_sums(h->aside[o], sums_of(d, o)->of);
            h->stops[o] = sums_of(d, o)->stop;
        }
}

static void take_up(const struct peet__direct *d, const struct peet__direct_hw *h)
{
    for (uint32_t o = 0; o < d->nobservers; o++)
        if (sums_of(d, o)) {
            copy_sums(sums_of(d, o)->of, h->aside[o]);
            sums_of(d, o)->stop = h->stops[o];
        }
}

/* All before it is final.  Another run is interrupted, perhaps. */
static void make_live(struct peet__direct *d, struct peet__direct_hw *h)
{
    commit(d, h);
    if ((h->outer = d->live) != NULL)
        put_aside(d, h->outer);
    d->live = h;
}

void peet__direct_begin_counting(struct peet__direct *d, struct peet_direct_run *run)
{
    struct peet__direct_hw *const h = &d->hws[run->hw];
    peet__direct_hold_begin(d, run);
    if (!d->tells)
        return;
    make_live(d, h);
    h->run = run;
    run->previous = NULL;
    h->clock = run->now;
    h->ahead = run->runs_ahead && d->commits;
    run->alone = d->nobservers == 1 && !h->ahead ? sums_of(d, 0) : NULL;
    h->at_once = 0;
    h->checkpoint = NULL;
    for (uint32_t o = 0; o < d->nobservers; o++)
        if (sums_of(d, o)) {
            memset(sums_of(d, o)->of, 0, sizeof sums_of(d, o)->of);
            sums_of(d, o)->stop = 1;
        }
    if (h->ahead)
        memset(h->checkpoint_sums, 0, sizeof h->checkpoint_sums);
    say(d, h, &(struct said){.kind = BEGIN}, NULL, h->ahead);
}

/* @all: as of tell() */
static void say_end(struct peet__direct *d, struct peet__direct_hw *h, uint64_t time, const uint64_t *all, int later)
{
    const uint64_t now = h->clock + (time >> d->table.clock_shift);
    say(d, h, &(struct said){.kind = END, .previous = h->run->previous, .now = now}, all, later);
}

/* @pauses: it may go on */
static void stop_counting(struct peet__direct *d, struct peet_direct_run *run, uint64_t time, int is_final, int pauses)
{
    struct peet__direct_hw *const h = &d->hws[run->hw];
    peet__direct_report(run);
    if (d->holds)
        peet__direct_tell_held(d, run, is_final);
    if (!d->tells)
        return;
    if (is_final)
        commit(d, h);
    h->paused = pauses && h->ahead;
    if (h->paused)
        put_aside(d, h);
    else
        say_end(d, h, time, NULL, h->ahead && !is_final);
    if ((d->live = h->outer) != NULL)
        take_up(d, h->outer);
    h->outer = NULL;
}

void peet__direct_end_counting(struct peet__direct *d, struct peet_direct_run *run, uint64_t time, int is_final)
{
    stop_counting(d, run, time, is_final, 0);
}

void peet__direct_pause_counting(struct peet__direct *d, struct peet_direct_run *run, int is_final)
{
    stop_counting(d, run, run->time, is_final, 1);
}

void peet__direct_go_on_counting(struct peet__direct *d, struct peet_direct_run *run)
{
    struct peet__direct_hw *const h = &d->hws[run->hw];
    if (!h->paused) {
        peet__direct_begin_counting(d, run);
        return;
    }
    peet__direct_hold_begin(d, run);
    make_live(d, h);
    take_up(d, h);
    h->paused = 0;
}

void peet_program_direct_close(struct peet_program *p, unsigned hw, int is_final)
{
    struct peet__direct *const d = p->direct;
    struct peet__direct_hw *const h = d->nhws != 0 ? &d->hws[hw] : NULL;
    if (!h || !h->paused)
        return;
    h->paused = 0;
    if (is_final)
        commit(d, h);
    say_end(d, h, h->run->time, h->aside[0], !is_final);
}

void peet__direct_checkpoint(struct peet__direct *d, struct peet_direct_run *run, const struct peet__function *f,
    uint32_t index)
{
    struct peet__direct_hw *const h = &d->hws[run->hw];
    if (d->holds && !f) /* else other() sees to it */
        peet__direct_tell_held(d, run, 1);
    if (!h->ahead)
        return;
    commit(d, h);
    h->checkpoint = f ? &f->blocks[index] : run->previous;
    h->at_once = 0;
    h->performed = f != NULL;
    for (uint32_t o = 0; o < d->nobservers; o++) {
        const struct peet_direct_counted *const c = f ? counted_by(d, f, index, o) : NULL;
        if (sums_of(d, o))
            copy_sums(h->checkpoint_sums[o], sums_of(d, o)->of);
        for (uint32_t k = 0; c && k < PEET_DIRECT_SUMS; k++)
            h->checkpoint_sums[o][k] += c->adds[k];
        h->at_once |= c && (c->always || c->sums->stop != 0);
    }
}

void peet__direct_undone(struct peet__direct *d, struct peet__direct_hw *h)
{
    if (d->holds)
        peet__direct_drop_held(d, h->hw);
    if (!h->ahead)
        return;
    while (h->nwaits != 0) {
        h->nwaits--;
        h->waits[h->nwaits].counted->cycles -= h->waits[h->nwaits].cycles;
    }
    h->nentries = 0;
    h->paused = 0;
    if (!h->open)
        return;
    tell(d, h,
        &(struct said){.kind = END,
            .previous = h->checkpoint,
            .now = h->clock + (h->run->checkpoint.time >> d->table.clock_shift)},
        h->checkpoint_sums[0]);
}

struct peet__direct_hw *peet__direct_hw_of(const struct peet__direct *d, const struct peet_direct_run *run)
{
    return d->nhws != 0 ? &d->hws[run->hw] : NULL;
}

int peet__direct_defers(const struct peet_direct_run *run)
{
    const struct peet__direct *const d = peet__direct_of(run);
    return d->nhws != 0 && (d->hws[run->hw].ahead || (d->holds && run->runs_ahead));
}

/* ------------------------------------------------------------------------------------------ showing */

void peet__direct_report(struct peet_direct_run *run)
{
    const struct peet__direct *const d = peet__direct_of(run);
    if (run->repeats) /* in the middle of what another one does */
        return;
    if (d->table.unreported && *d->table.unreported != 0)
        d->ops->report(d->self);
    for (uint32_t o = 0; o < d->nobservers; o++)
        if (d->observers[o].ops->settled)
            d->observers[o].ops->settled(d->observers[o].self, run->hw);
}

/* Does the machine have something to report, or an observer wait for that? */
static int is_unsettled(const struct peet__direct *d, struct peet_direct_watch *const *watches)
{
    uint64_t unsettled = d->table.unreported && *d->table.unreported != 0;
    for (uint32_t o = 0; o < d->nobservers; o++) {
        const struct peet_direct_counted *const c = peet__direct_counted_of(watches[o]);
        unsettled |= !c || c->sums->unsettled != 0; /* what others wait for is not known here */
    }
    return unsettled != 0;
}

/* The list may have an entry more. */
static void end_if_full(struct peet_direct_run *run, const struct peet__direct_hw *h)
{
    if (h->nentries >= ENTRIES)
        run->limit = 0;
}

/* Observers are shown something, for whom these are the block's watches.  @final: it will not be undone */
static void show_and_report(struct peet_direct_run *run, struct peet__direct *d,
    struct peet_direct_watch *const *watches, const struct said *e, int is_final)
{
    struct peet__direct_hw *const h = &d->hws[run->hw];
    say(d, h, e, NULL, !is_final);
    for (uint32_t o = 0; o < d->nobservers; o++)
        if (peet__direct_counted_of(watches[o]))
            peet__direct_counted_of(watches[o])->sums->stop = 0;
    if (is_unsettled(d, watches))
        peet__direct_report(run);
    end_if_full(run, h);
}

/* Several look on, or it may be undone, or something is to be reported after that. */
static __attribute__((noinline)) void show_slowly(struct peet_direct_run *run,
    const struct peet__direct_counted_site *site, uint64_t iterations)
{
    struct peet__direct *const d = peet__direct_of(run);
    struct peet__direct_hw *const h = d->live;
    const int at_once = h->at_once;
    h->at_once = 0;
    show_and_report(run, d, site->watches,
        &(struct said){.kind = SHOWN,
            .block = site->event.block,
            .watches = site->watches,
            .previous = run->previous,
            .strides = site->event.strides,
            .iterations = iterations,
            .now = h->clock + (run->began >> d->table.clock_shift),
            .context = run->context},
        !h->ahead || at_once);
}

void peet__direct_show(struct peet_direct_run *run, struct peet__direct_counted_site *site, uint64_t iterations)
{
    struct peet__direct *const d = peet__direct_of(run);
    const struct peet__direct_hw *const h = d->live;
    const uint32_t *const unreported = d->table.unreported;
    struct peet_direct_counted *const only = site->only;
    if (__builtin_expect(!only || h->ahead || (unreported && *unreported != 0) || only->sums->unsettled != 0, 0)) {
        show_slowly(run, site, iterations);
        return;
    }
    site->event.context = run->context;
    site->event.turns = iterations;
    only->sums->stop = 0;
    d->observers[0].ops->shown(d->observers[0].self, run->hw, &site->event, run->previous,
        h->clock + (run->began >> d->table.clock_shift), only->sums->of);
}

/* ------------------------------------------------------------------------------------------ what blocks wait */

/* Each of these executions has taken its time already, but for what was waited. */
static void waited(const struct peet__direct *d, struct peet__direct_hw *h, struct peet_direct_watch *const *watches,
    uint64_t cycles, uint64_t executions, int is_final)
{
    for (uint32_t o = 0; o < d->nobservers; o++) {
        struct peet_direct_counted *const c = peet__direct_counted_of(watches[o]);
        const uint64_t more = c ? cycles - executions * c->each : 0;
        if (more == 0)
            continue;
        c->cycles += more;
        if (!h->ahead || is_final)
            continue;
        if (h->nwaits == h->waits_size) {
            const uint32_t n = h->waits_size != 0 ? 2 * h->waits_size : 256;
            struct wait *const grown = realloc(h->waits, n * sizeof *grown);
            if (!grown)
                abort(); /* nothing could be taken back then */
            h->waits = grown;
            h->waits_size = n;
        }
        h->waits[h->nwaits++] = (struct wait){c, more};
    }
}

/* Of a block of the function whose code runs. */
static struct peet_direct_watch *const *watches_of(const struct peet__direct *d, const struct peet_direct_run *run,
    uint32_t id)
{
    const struct peet__function *const f = peet__direct_function_of(run->blocks);
    return &f->direct->watches[(size_t)(id - f->blocks[0].id) * d->nobservers];
}

/* other() of the table. */
static int other_and_count(struct peet_direct_run *run, uint32_t id)
{
    struct peet__direct *const d = peet__direct_of(run);
    struct peet__direct_hw *const h = &d->hws[run->hw];
    const uint64_t before = run->time;
    h->performed = 0;
    const int status = d->machine.other(run, id);
    if (status >= 0 && run->time != before)
        waited(d, h, watches_of(d, run, id), (run->time - before) >> d->table.clock_shift, 0, h->performed);
    return status;
}

/* miss() of the table, for one hardware context. */
static struct peet_direct_miss miss_and_count(struct peet_direct_run *run, uint32_t site, uint64_t line)
{
    struct peet__direct *const d = peet__direct_of(run);
    struct peet_direct_watch *const *const watches = run->missing;
    const struct peet_direct_miss miss = d->machine.miss(run, site, line);
    if (miss.waited != 0 && miss.waited != UINT64_MAX)
        waited(d, &d->hws[run->hw], watches, miss.waited >> d->table.clock_shift, 0, 1);
    return miss;
}

/* loop() of the table; not for loops that observers see by themselves. */
static int loop_and_count(struct peet_direct_run *run, uint32_t id, uint64_t iterations, const int64_t *strides)
{
    struct peet__direct *const d = peet__direct_of(run);
    const uint64_t before = run->time;
    const int status = d->machine.loop(run, id, iterations, strides);
    if (status == 0)
        waited(d, &d->hws[run->hw], watches_of(d, run, id), (run->time - before) >> d->table.clock_shift, iterations,
            0);
    return status;
}

int peet__direct_counts_ahead(struct peet_direct_run *run, struct peet__function *f, uint32_t index,
    const uint64_t *values)
{
    struct peet__direct *const d = peet__direct_of(run);
    struct peet_direct_block request;
    if (d->nobservers == 0)
        return 1;
    if (!f->direct->asked[index] &&
        (d->ops->block(d->self, &f->blocks[index], values, &request) != 0 ||
            peet__direct_ask_observers(d, f->direct, f, index, values, request.time) != 0))
        return 0;
    struct peet_direct_watch *const *const watches = &f->direct->watches[(size_t)index * d->nobservers];
    int counted = 0;
    for (uint32_t o = 0; o < d->nobservers; o++)
        counted |= peet__direct_counted_of(watches[o]) != NULL;
    if (counted && is_unsettled(d, watches)) /* older reports go out first */
        peet__direct_report(run);
    return 1;
}

void peet__direct_count_ahead(struct peet_direct_run *run, struct peet__function *f, uint32_t index, uint64_t began,
    uint64_t executions)
{
    struct peet__direct *const d = peet__direct_of(run);
    struct peet__direct_hw *const h = peet__direct_hw_of(d, run);
    if (!h || !d->tells || executions == 0)
        return;
    struct peet_direct_watch *const *const watches = &f->direct->watches[(size_t)index * d->nobservers];
    const struct peet_block *const block = &f->blocks[index];
    const uint32_t shift = d->table.clock_shift;
    int counted = 0, is_shown = 0;
    for (uint32_t o = 0; o < d->nobservers; o++) {
        const struct peet_direct_counted *const c = peet__direct_counted_of(watches[o]);
        counted |= c != NULL;
        is_shown |= c && (c->always || c->sums->stop != 0);
    }
    if (!counted)
        return;
    run->began = began;
    if (is_shown)
        show_and_report(run, d, watches,
            &(struct said){.kind = SHOWN,
                .block = block,
                .watches = watches,
                .previous = run->previous,
                .strides = f->code[index].strides,
                .iterations = executions,
                .now = h->clock + (began >> shift),
                .context = run->context},
            !h->ahead || run->final);
    for (uint32_t o = 0; o < d->nobservers; o++) {
        struct peet_direct_counted *const c = peet__direct_counted_of(watches[o]);
        for (uint32_t k = 0; c && k < PEET_DIRECT_SUMS; k++)
            c->sums->of[k] += executions * c->adds[k];
        if (c && c->stops)
            c->sums->stop = 1;
    }
    run->previous = block;
    waited(d, h, watches, (run->time >> shift) - (began >> shift), executions, run->final != 0);
}

void peet__direct_count_range(struct peet_direct_run *run, struct peet__direct_range *r, const uint64_t *values,
    uint64_t elements)
{
    struct peet__direct *const d = peet__direct_of(run);
    struct peet__direct_hw *const h = &d->hws[run->hw];
    const uint64_t began = run->began;
    const uint32_t shift = d->table.clock_shift;
    if (is_unsettled(d, r->watches)) /* older reports go out first */
        peet__direct_report(run);
    if (run->alone)
        d->observers[0].ops->shown(d->observers[0].self, run->hw,
            &(struct peet_block_event){.block = r->block, .context = run->context, .turns = 1}, run->previous,
            h->clock + (began >> shift), run->alone->of);
    else
        say(d, h,
            &(struct said){.kind = SHOWN,
                .block = r->block,
                .watches = r->watches,
                .previous = run->previous,
                .iterations = 1,
                .now = h->clock + (began >> shift),
                .context = run->context},
            NULL, h->ahead);
    if (values)
        d->table.range(run, r->block, values);
    end_if_full(run, h);
    for (uint32_t o = 0; o < d->nobservers; o++) {
        struct peet_direct_counted *const c = peet__direct_counted_of(r->watches[o]);
        for (uint32_t k = 0; k < PEET_DIRECT_SUMS; k++)
            c->sums->of[k] += c->adds[k] + elements * c->element_adds[k];
        c->elements += elements;
        c->sums->stop = 1;
    }
    run->previous = r->block;
    waited(d, h, r->watches, (run->time >> shift) - (began >> shift), 0, 0);
}

static void wrap(struct peet__direct *d)
{
    d->machine.other = d->table.other;
    d->machine.miss = d->table.miss;
    d->machine.loop = d->loop;
    if (d->table.other)
        d->table.other = other_and_count;
    if (d->table.miss)
        d->table.miss = miss_and_count;
    if (d->loop)
        d->loop = loop_and_count;
}

/* other() of the table where some observer looks at executions as they come, and what the machine reports of this one
 * bears on that: it comes as an event, whose reports come first. */
static int other_is_shown(struct peet_direct_run *run, uint32_t id)
{
    (void)run;
    (void)id;
    return -1;
}

int peet_program_direct_commits(const struct peet_program *p)
{
    return p->direct->table.whole_cycles || !p->direct->tells;
}

int peet_program_direct_whole(const struct peet_program *p)
{
    return p->direct->table.whole_cycles;
}

int peet_program_direct_contexts(struct peet_program *p, unsigned n, int memory_reports)
{
    struct peet__direct *const d = p->direct;
    int guards = 0, err;
    for (uint32_t o = 0; o < d->nobservers; o++) {
        const struct peet_direct_observer *const ops = d->observers[o].ops;
        d->tells |= ops->begins || ops->shown || ops->ends || ops->settled;
        d->commits |= ops->at_commit;
        d->holds |= n > 1 && ops->at_commit && ops->moved;
        guards |= !ops->undone && !ops->at_commit;
    }
    d->commits &= d->table.whole_cycles;
    if (d->tells && d->table.whole_cycles)
        wrap(d);
    if (n > 1 && guards && memory_reports && d->table.other)
        d->table.other = other_is_shown;
    if (d->nobservers == 0)
        return 0;
    if (d->holds)
        peet__direct_hold_wrap(d);
    if ((err = peet__direct_hold_init(d, n)) != 0)
        return err;
    if (!(d->hws = calloc(n, sizeof *d->hws)))
        return PEET_ENOMEM;
    d->nhws = n;
    for (unsigned hw = 0; hw < n; hw++) {
        d->hws[hw].hw = hw;
        if (n > 1 && !(d->hws[hw].entries = malloc((ENTRIES + ENTRIES_ROOM) * entry_bytes(d))))
            return PEET_ENOMEM;
    }
    return 0;
}
