/* SPDX-License-Identifier: Apache-2.0 */
/*
 * x86: sampled timing far from windows (sampling.h, sample_near): the machine's half of <peet/direct.h>, by
 * ../common/ahead.h.  L1D is the view; a line that it does not have, or not with the right, goes the way that every
 * access goes.
 *
 *   1. While a run is open, the thread's frontier is where it began.  What the run has waited for misses is booked at
 *      once, since transactions are never undone; the rest when it ends, and taken back when it is undone.
 *   2. What a block takes is the same for all cores, and changes when a window closes: peet_sim_ahead_costs().
 *   3. Branch predictors see each execution once.  They follow the path of a run when it ends; what is undone after that is
 *      executed again, by the same path, and they see it no more (x86_far.again).
 */
#include "core_refs.h"
#include "sampling.h"
#include "../common/ahead.h"

#include <stdlib.h>

enum {
    CLOCK_SHIFT = 8,       /* blocks take fractions of cycles, ... */
    LEAST = 8,             /* but not less than so many, ... */
    MOST_CYCLES = 1 << 14, /* and a run this at most, so that its path has room: */
    PATH = (MOST_CYCLES << CLOCK_SHIFT) / LEAST * 2 + 64,
    SAME_MOST = 512 /* branches in a row that go the same way teach a predictor nothing after so many */
};

static uint64_t cost(void *self, const struct peet_block *block)
{
    struct x86 *x = self;
    const uint64_t time = (uint64_t)(x86_sampling_cost(x, block) * (1 << CLOCK_SHIFT));

    return time > LEAST ? time : LEAST;
}

static uint32_t find(void *self, unsigned hw, uint64_t line)
{
    const struct x86 *x = self;
    const uint64_t slot = peet_sim_tags_find(&x->memory->cores[hw].l1d.tags, line);

    return slot == PEET_SIM_NO_SLOT ? PEET_SIM_NO_VIEW_SLOT : (uint32_t)slot;
}

/** What came before the run is booked: a software context may have come or gone, and time may have passed otherwise. */
static void enter(struct x86 *x, struct x86_thread *t)
{
    struct x86_sampling *s = t->sampling;

    if (s->far.entered)
        return;
    s->far.entered = 1;
    x86_core_begin(t, x->ahead->contexts[t->hw].run.context, s->far.begun);
}

/** The thread's run has come to this time. */
static void book(struct x86_thread *t, uint64_t now)
{
    struct x86_sampling *s = t->sampling;
    const uint64_t cycles = now - t->frontier - s->far.waited;

    t->cycles[CPI_ESTIMATED] += cycles;
    s->estimated_cycles += cycles;
    s->far.cycles += cycles;
    s->far.took += (double)(now - t->frontier);
    s->far.waited = 0;
    t->frontier = now;
}

/** Branch predictors follow what the run has executed so far, but what they have seen before a rollback. */
static void follow(struct x86 *x, struct x86_thread *t)
{
    struct x86_sampling *s = t->sampling;
    struct peet_direct_run *run = &x->ahead->contexts[t->hw].run;

    for (const uint32_t *at = s->far.path; at < run->path; at++) {
        const struct x86_code *code = &x->codes[*at & ~PEET_DIRECT_TIMES];
        struct x86_estimate *e = &x->codes[*at & ~PEET_DIRECT_TIMES].estimate;
        const uint32_t insns = code->block->ninsns;
        uint64_t times = *at & PEET_DIRECT_TIMES ? *++at : 1;

        if (!insns)
            continue;
        if (__builtin_expect(!code->estimate.known, 0))
            x86_sampling_unknown(t, &x->codes[code->block->id]);
        if (__builtin_expect(s->far.again != 0, 0)) {
            const uint64_t again = less(times, s->far.again / insns);

            s->far.again -= again * insns;
            times -= again;
        }
        x->far_uops += code->uops * times;
        if (times > SAME_MOST) {
            t->predictor.stats.conditional += times - SAME_MOST;
            times = SAME_MOST;
        }
        for (; times; times--) {
            const uint64_t before = t->mispredicts;

            x86_core_follow(t, code);
            x86_mean_add(&e->wrong, (double)(t->mispredicts - before));
        }
    }
    s->latency[X86_PRICED_BRANCH] = t->mispredicts;
    run->path = s->far.path;
}

static void at(void *self, const struct peet_block *block, uint32_t ref, uint64_t address, uint32_t size_bytes)
{
    ((struct x86 *)self)->far_access =
        (struct x86_access){.address = address, .size_bytes = size_bytes, .ref = ref, .block = block};
}

static uint64_t refer(void *self, unsigned hw, uint64_t line, int write, uint64_t now)
{
    struct x86 *x = self;
    struct x86_thread *t = &x->threads[hw];
    struct x86_core *c = &x->memory->cores[hw];
    struct x86_access *a = &x->far_access;
    const uint64_t end = (line + 1) << x->memory->line_shift;
    const struct peet_ref *ref = &a->block->refs[a->ref];
    uint64_t waits = 0;

    enter(x, t);
    a->core = hw;
    a->hw = hw;
    a->size_bytes = (uint32_t)less(a->size_bytes, end - a->address);
    a->locked = ref->kind == PEET_REF_MODIFY && ref->flags & PEET_REF_ATOMIC;
    a->kind = a->locked ? X86_MODIFY : X86_LOAD;
    if (!write || ref->kind == PEET_REF_MODIFY)
        waits += x86_sampling_access(t, a, now);
    if (write && !a->locked) {
        a->kind = X86_STORE;
        waits += x86_sampling_access(t, a, now);
    }
    /* counted() counts each reference; the cache has counted this one already */
    c->l1d.stats.reads -= !a->locked && (!write || ref->kind == PEET_REF_MODIFY);
    c->l1d.stats.writes -= write != 0;
    t->sampling->far.waited += waits;
    return waits;
}

/** A block with ranges, or with references that do not always happen. */
static uint64_t block(void *self, unsigned hw, const struct peet_block_event *event, uint64_t now,
    uint64_t *inout_stalled)
{
    struct x86 *x = self;
    struct x86_thread *t = &x->threads[hw];
    const struct x86_code *code = x86_core_code(x, event->block);

    (void)inout_stalled;
    enter(x, t);
    follow(x, t);
    book(t, now);
    if (code)
        x86_sampling_block(t, code, event->values);
    if (t->sampling->phase != SAMPLING_FAR) { /* the run is over, and does not go on */
        x->ahead->contexts[hw].run.limit = 0;
        x->ahead->contexts[hw].run.stop = 1;
    }
    return t->frontier;
}

static void counted(void *self, unsigned hw, uint64_t reads, uint64_t writes)
{
    struct x86 *x = self;
    struct x86_core *c = &x->memory->cores[hw];

    x->threads[hw].loads_n += reads;
    x->threads[hw].stores_n += writes;
    c->l1d.stats.reads += reads;
    c->l1d.stats.writes += writes;
}

/* ------------------------------------------------------------------------------------------ what peet calls */

static int table(void *self, struct peet_direct_table *out)
{
    struct x86 *x = self;
    struct x86_memory *m = x->memory;
    struct peet_sim_view *views;

    if (!x->config.sample_period || !x->config.sample_near || !m || !m->fast || !m->lru || !m->has_l2 || m->causes ||
        m->timeless || x->env->times_apart || !(views = calloc(x->nthreads, sizeof *views)))
        return -1;
    for (unsigned i = 0; i < x->nthreads; i++) {
        struct x86_core *c = &m->cores[i];

        c->l1d.keys = calloc(c->l1d.tags.sets * c->l1d.tags.ways, sizeof *c->l1d.keys);
        views[i] = (struct peet_sim_view){c->l1d.keys, c->l1d.tags.stamps, &c->l1d.tags.clock, c->hints};
        if (x->config.sample_branches == BRANCHES_ALL)
            x->threads[i].sampling->far.path = malloc(PATH * sizeof(uint32_t));
        if (!c->l1d.keys || (x->config.sample_branches == BRANCHES_ALL && !x->threads[i].sampling->far.path))
            goto failed;
    }
    x->ahead = m->ahead = peet_sim_ahead_new(&(const struct peet_sim_ahead_machine){.env = x->env,
                                                 .self = x,
                                                 .line_shift = m->line_shift,
                                                 .hints_mask = m->hint_mask,
                                                 .clock_shift = CLOCK_SHIFT,
                                                 .varies = 1,
                                                 .paths = x->config.sample_branches == BRANCHES_ALL,
                                                 .cost = cost,
                                                 .find = find,
                                                 .refer = refer,
                                                 .block = block,
                                                 .counted = counted,
                                                 .at = at},
        x->nthreads, views, out);
    x->far_iterations = out->iterations;
failed:
    free(views);
    return x->ahead ? 0 : -1;
}

/** So many instructions have been executed, or undone. */
static void done(struct x86_thread *t, int64_t instructions)
{
    struct x86_sampling *s = t->sampling;

    t->instructions += (uint64_t)instructions;
    s->estimated_instructions += (uint64_t)instructions;
    s->far.instructions += (uint64_t)instructions;
    s->far.left -= instructions;
    s->far.did += (double)instructions;
    s->gap += (double)instructions;
}

/** A run may begin now, until half of the instructions are done that are left, if they take as long as those before; the core is
 * asked again then.  Near the next window it is declined. */
static struct peet_direct_run *begin(struct x86 *x, unsigned hw, struct peet_direct_run *run, uint64_t now)
{
    struct x86_thread *t = &x->threads[hw];
    struct x86_sampling *s = t->sampling;
    const uint64_t since = now > t->frontier ? now - t->frontier : 0; /* it did not run then */

    if (s->phase != SAMPLING_FAR || s->far.left <= s->far.least) {
        run->limit = run->until = 0;
        return run;
    }
    if (now >= s->far.until + since)
        s->far.until = now - since + 1 + (uint64_t)((double)s->far.left / 2 * s->far.took / s->far.did);
    run->stop = less(s->far.until + since - now, MOST_CYCLES) << CLOCK_SHIFT;
    run->limit = less(run->limit, run->stop);
    run->path = s->far.path;
    s->far.begun = now;
    s->far.waited = 0;
    s->far.entered = 0;
    return run;
}

static struct peet_direct_run *direct_begin(void *self, unsigned hw, uint64_t now, uint64_t until)
{
    return begin(self, hw, peet_sim_ahead_begin(self, hw, now, until), now);
}

static struct peet_direct_run *direct_ahead(void *self, unsigned hw, uint64_t now, uint64_t until, uint64_t limit)
{
    return begin(self, hw, peet_sim_ahead_ahead(self, hw, now, until, limit), now);
}

static uint64_t direct_end(void *self, unsigned hw)
{
    struct x86 *x = self;
    struct x86_thread *t = &x->threads[hw];
    const uint64_t cycles = peet_sim_ahead_end(self, hw);

    enter(x, t);
    follow(x, t);
    done(t, (int64_t)x->ahead->contexts[hw].run.instructions);
    book(t, t->sampling->far.begun + cycles);
    return cycles;
}

static uint64_t direct_undo(void *self, unsigned hw, uint64_t instructions)
{
    struct x86_thread *t = &((struct x86 *)self)->threads[hw];
    const uint64_t clock = peet_sim_ahead_undo(self, hw, instructions), cycles = t->frontier - clock;

    done(t, -(int64_t)instructions);
    t->sampling->far.again += t->sampling->far.path ? instructions : 0;
    t->sampling->estimated_cycles -= cycles;
    t->sampling->far.cycles -= cycles;
    t->sampling->far.took -= (double)cycles;
    t->cycles[CPI_ESTIMATED] -= cycles;
    t->frontier = clock;
    return clock;
}

/** @times: with those that were undone */
static void direct_executed(void *self, const struct peet_block *block, uint64_t times)
{
    struct x86 *x = self;

    peet_sim_ahead_executed(self, block, times);
    if (x86_core_code(x, block))
        x->codes[block->id].estimate.far_times += times;
}

const struct peet_direct peet__x86_direct = {PEET_DIRECT_ABI, sizeof(struct peet_direct), table, peet_sim_ahead_block,
    NULL, direct_begin, peet_sim_ahead_event, direct_end, direct_executed, direct_ahead, peet_sim_ahead_pause,
    direct_undo, NULL};

uint64_t x86_sampling_loop(struct x86_thread *t, const struct peet_block_event *event, uint64_t now, uint64_t until,
    uint64_t *out_turns)
{
    struct x86 *x = t->cpu->x;
    struct peet_direct_run *run = &x->ahead->contexts[t->hw].run;
    uint64_t turns;

    *out_turns = 0;
    if (t->sampling->phase != SAMPLING_FAR || !event->strides || x->nthreads > 1 ||
        !direct_begin(x, t->hw, now, until)->limit)
        return 0;
    run->context = event->context;
    turns = x->far_iterations(run, event->block, event->values, event->strides, event->turns);
    if (t->sampling->far.path)
        peet_direct_went(run, event->block->id, turns);
    run->instructions = turns * event->block->ninsns;
    x->codes[event->block->id].estimate.far_times += turns;
    *out_turns = turns;
    return direct_end(x, t->hw);
}

void x86_sampling_far_finish(struct x86 *x)
{
    uint64_t cycles = 0, instructions = 0, booked = 0;
    double sum = 0, uops = 0, insns = 0, so_far = 0;

    for (unsigned i = 0; i < x->nthreads; i++) {
        cycles += x->threads[i].sampling->far.cycles;
        instructions += x->threads[i].sampling->far.instructions;
    }
    for (uint32_t id = 0; id < x->ncodes; id++) {
        const struct x86_code *code = &x->codes[id];
        const double times = (double)code->estimate.far_times;

        if (!code->estimate.far_times)
            continue;
        sum += times * x86_sampling_cost(x, code->block);
        uops += times * code->uops;
        insns += times * code->block->ninsns;
    }
    if (!x->threads->sampling->far.path && insns > 0) /* no path has told them: of several cores, in proportion */
        x->far_uops = (uint64_t)(uops * ((double)instructions / insns) + 0.5);
    for (uint32_t id = 0; id < x->ncodes && sum > 0; id++) {
        const struct x86_code *code = &x->codes[id];
        uint64_t upto;

        if (!code->estimate.far_times)
            continue;
        so_far += (double)code->estimate.far_times * x86_sampling_cost(x, code->block);
        upto = less((uint64_t)((double)cycles * (so_far / sum)), cycles);
        x->stacks.places[code->first_place].cycles[CPI_ESTIMATED] += upto - booked;
        booked = upto;
    }
    x->stacks.places[0].cycles[CPI_ESTIMATED] += cycles - booked;
}
