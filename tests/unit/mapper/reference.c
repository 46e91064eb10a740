/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The mapper's rules by brute force: time goes cycle by cycle, everything is an array, every free
 * hardware context looks at all the work there is each time.  Slow, and as close to the words of the
 * rules as can be.
 */
#include "script.h"

#include <stdlib.h>
#include <string.h>

enum { MAX = 4000, HW = 64 };

struct loop;

struct ctx {
    uint32_t number;
    const struct script_body *body;
    unsigned at;
    struct loop *in; /* iteration of */
    int starting, joining, finishing, over;
    int last_hw;
};

struct loop {
    const struct script_loop *script;
    struct ctx *carrier;
    int64_t n, done;
    uint32_t base;
    uint64_t chunk, order, end;
    char *begun; /* per iteration */
    int *owner;  /* per iteration: hardware context that has claimed it, -1 */
    int nested;
};

struct arrival {
    uint64_t time, order;
    struct ctx *ctx;
    struct loop *loop;
    int gone;
};

static struct world {
    const struct script *script;
    const struct peet_map_config *config;
    struct script_log *log;
    unsigned nhw;
    uint64_t t;
    uint64_t clock[HW], busy[HW], stalled[HW], idle[HW], dispatched[HW];
    uint32_t last[HW];
    int ran[HW];
    struct ctx *on[HW];
    struct arrival arrivals[MAX];
    unsigned narrivals;
    uint64_t orders;
    struct {
        struct ctx *ctx;
        uint64_t order;
    } ready[MAX];
    unsigned nready;
    struct loop *loops[MAX];
    unsigned nloops;
    uint32_t numbers;
    int ended, status;
} w;

/** Memory that lasts until the end of the run. */
static void **kept;
static size_t nkept;

static void *keep(size_t bytes)
{
    void *p = calloc(1, bytes ? bytes : 1);

    kept = realloc(kept, (nkept + 1) * sizeof *kept);
    return kept[nkept++] = p;
}

static void arrive(struct ctx *ctx, struct loop *loop, uint64_t time)
{
    w.arrivals[w.narrivals++] = (struct arrival){time, w.orders++, ctx, loop, 0};
    if (w.narrivals == MAX)
        abort();
}

static void let_in(void)
{
    for (;;) {
        struct arrival *best = NULL;

        for (unsigned i = 0; i < w.narrivals; i++) {
            struct arrival *a = &w.arrivals[i];

            if (!a->gone && a->time <= w.t &&
                (!best || a->time < best->time || (a->time == best->time && a->order < best->order)))
                best = a;
        }
        if (!best)
            return;
        best->gone = 1;
        if (best->ctx) {
            w.ready[w.nready].ctx = best->ctx;
            w.ready[w.nready++].order = best->order;
            continue;
        }
        best->loop->order = best->order;
        if (best->loop->nested) {
            memmove(&w.loops[1], &w.loops[0], w.nloops * sizeof w.loops[0]);
            w.loops[0] = best->loop;
        } else {
            w.loops[w.nloops] = best->loop;
        }
        w.nloops++;
    }
}

static void drop_empty_arrivals(void)
{
    unsigned n = 0;

    for (unsigned i = 0; i < w.narrivals; i++)
        if (!w.arrivals[i].gone)
            w.arrivals[n++] = w.arrivals[i];
    w.narrivals = n;
}

/** The iteration that this hardware context would begin; -1: none. */
static int64_t iteration_for(struct loop *l, int hw)
{
    int64_t unclaimed = 0;

    for (int64_t i = 0; i < l->n; i++)
        if (!l->begun[i] && l->owner[i] == hw)
            return i;
    for (int64_t i = 0; i < l->n; i++)
        unclaimed += l->owner[i] < 0;
    return unclaimed ? l->n - unclaimed : -1; /* not claimed by anybody: the first of the rest */
}

static void claim(struct loop *l, int hw, int64_t i)
{
    enum peet_schedule schedule =
        l->script->schedule == PEET_SCHEDULE_DEFAULT ? w.config->schedule : l->script->schedule;
    uint64_t size = l->chunk ? l->chunk : 1, rest = (uint64_t)(l->n - i);

    if (l->owner[i] == hw)
        return;
    if (schedule == PEET_SCHEDULE_GUIDED && rest / w.nhw > size)
        size = rest / w.nhw;
    for (uint64_t k = 0; k < size && i + (int64_t)k < l->n; k++)
        l->owner[i + (int64_t)k] = hw;
}

static struct loop *loop_for(int hw)
{
    for (unsigned i = 0; i < w.nloops; i++)
        if (iteration_for(w.loops[i], hw) >= 0)
            return w.loops[i];
    return NULL;
}

static void put_on(int hw, struct ctx *ctx)
{
    if (w.t > w.clock[hw]) {
        w.idle[hw] += w.t - w.clock[hw];
        w.clock[hw] = w.t;
    }
    if (w.ran[hw] && w.last[hw] != ctx->number) {
        w.clock[hw] += w.config->switch_cycles;
        w.stalled[hw] += w.config->switch_cycles;
    }
    w.ran[hw] = 1;
    w.last[hw] = ctx->number;
    w.dispatched[hw] = w.clock[hw];
    w.on[hw] = ctx;
    ctx->last_hw = hw;
}

/** May this hardware context take the ready context? */
static int suits(const struct ctx *ctx, int hw)
{
    if (w.config->policy != PEET_POLICY_AFFINITY || ctx->last_hw < 0 || ctx->last_hw == hw)
        return 1;
    return w.on[ctx->last_hw] || w.clock[ctx->last_hw] > w.t; /* its own is not free now */
}

static int pick(int hw)
{
    int best = -1;
    struct loop *l = loop_for(hw);

    for (unsigned i = 0; i < w.nready && w.config->policy == PEET_POLICY_AFFINITY && best < 0; i++)
        if (w.ready[i].ctx->last_hw == hw)
            best = (int)i;
    for (unsigned i = 0; i < w.nready && best < 0; i++)
        if (suits(w.ready[i].ctx, hw))
            best = (int)i;
    if (best >= 0 && (!l || w.ready[best].ctx->in || w.ready[best].order < l->order)) {
        struct ctx *ctx = w.ready[best].ctx;

        memmove(&w.ready[best], &w.ready[best + 1], (w.nready - (unsigned)best - 1) * sizeof w.ready[0]);
        w.nready--;
        put_on(hw, ctx);
        return 1;
    }
    while (l) {
        int64_t i = iteration_for(l, hw);
        struct ctx *ctx;

        claim(l, hw, i);
        l->begun[i] = 1;
        if (l->script->marked && i >= l->n - l->script->missing) { /* does not exist */
            if (w.t > l->end)
                l->end = w.t;
            if (++l->done == l->n)
                arrive(l->carrier, NULL, l->end);
            l = loop_for(hw);
            continue;
        }
        ctx = keep(sizeof *ctx);
        ctx->number = l->base + (uint32_t)i;
        ctx->body = &w.script->bodies[l->script->first_body + i];
        ctx->in = l;
        ctx->starting = 1;
        ctx->last_hw = -1;
        put_on(hw, ctx);
        return 1;
    }
    return 0;
}

static void spend(int hw, uint32_t type, uint64_t cycles, uint64_t stall)
{
    script_log_add(w.log, (struct script_record){(unsigned)hw, w.on[hw]->number, type, w.clock[hw]});
    w.clock[hw] += cycles + stall;
    w.busy[hw] += cycles;
    w.stalled[hw] += stall;
}

static void fork_loop(int hw, struct ctx *ctx, const struct script_loop *script)
{
    struct loop *l = keep(sizeof *l);
    enum peet_schedule schedule = script->schedule == PEET_SCHEDULE_DEFAULT ? w.config->schedule : script->schedule;

    spend(hw, PEET_ABSTRACT_DOALL_FORK, script_cost(PEET_ABSTRACT_DOALL_FORK), 0);
    ctx->joining = 1;
    l->script = script;
    l->carrier = ctx;
    l->n = script->hi > script->lo ? script->hi - script->lo : 0;
    if (!l->n)
        return;
    l->nested = ctx->in != NULL;
    l->base = w.numbers;
    w.numbers += (uint32_t)l->n;
    l->chunk = script->chunk;
    if (script->schedule == PEET_SCHEDULE_DEFAULT && !l->chunk)
        l->chunk = w.config->chunk;
    l->begun = keep((size_t)l->n);
    l->owner = keep((size_t)l->n * sizeof *l->owner);
    for (int64_t i = 0; i < l->n; i++) {
        uint64_t chunk = l->chunk ? l->chunk : ((uint64_t)l->n + w.nhw - 1) / w.nhw;

        l->owner[i] = schedule == PEET_SCHEDULE_STATIC ? (int)((uint64_t)i / chunk % w.nhw) : -1;
    }
    w.on[hw] = NULL;
    arrive(NULL, l, w.clock[hw]);
}

static void event(int hw)
{
    struct ctx *ctx = w.on[hw];
    const struct script_op *op;

    if (ctx->starting) {
        ctx->starting = 0;
        spend(hw, ctx->in ? PEET_ABSTRACT_DOALL_START : PEET_ABSTRACT_CONTEXT_START,
            script_cost(ctx->in ? PEET_ABSTRACT_DOALL_START : 1), 0);
    } else if (ctx->joining) {
        ctx->joining = 0;
        spend(hw, PEET_ABSTRACT_DOALL_JOIN, 0, 0);
    } else if (ctx->at == ctx->body->n) {
        if (ctx->in) {
            struct loop *l = ctx->in;

            spend(hw, PEET_ABSTRACT_DOALL_FINISH, script_cost(PEET_ABSTRACT_DOALL_FINISH), 0);
            if (w.clock[hw] > l->end)
                l->end = w.clock[hw];
            if (++l->done == l->n)
                arrive(l->carrier, NULL, l->end);
        } else {
            spend(hw, PEET_ABSTRACT_CONTEXT_EXIT, 0, 0);
            w.ended = 1;
        }
        w.on[hw] = NULL;
    } else {
        op = &ctx->body->ops[ctx->at++];
        switch (op->kind) {
        case SCRIPT_BLOCK:
            spend(hw, 1000 + op->value, op->value, script_stall(op->value));
            break;
        case SCRIPT_FORK:
            fork_loop(hw, ctx, &w.script->loops[op->value]);
            break;
        case SCRIPT_YIELD:
            spend(hw, PEET_ABSTRACT_YIELD, 0, 0);
            if (w.nready || (!ctx->in && loop_for(hw))) {
                w.on[hw] = NULL;
                ctx->last_hw = -1; /* behind all others */
                arrive(ctx, NULL, w.clock[hw]);
            }
            break;
        case SCRIPT_EXIT:
            spend(hw, PEET_ABSTRACT_PROGRAM_EXIT, 0, 0);
            w.ended = 1;
            w.status = (int)op->value;
            break;
        case SCRIPT_HANG:
            abort();
        }
    }
}

/** One thing happens at the present time.  Returns: 0 if nothing can */
static int step(void)
{
    let_in();
    for (int hw = 0; hw < (int)w.nhw; hw++) {
        if (w.clock[hw] > w.t)
            continue;
        if (w.on[hw]) {
            struct ctx *ctx = w.on[hw];

            if (w.config->policy == PEET_POLICY_RR && !ctx->starting &&
                w.clock[hw] - w.dispatched[hw] >= w.config->quantum_cycles &&
                (w.nready || (!ctx->in && loop_for(hw)))) {
                w.on[hw] = NULL;
                arrive(ctx, NULL, w.clock[hw]);
            } else {
                event(hw);
            }
            return 1;
        }
        if (pick(hw))
            return 1;
    }
    for (unsigned i = 0; i < w.narrivals; i++) /* a search for work may have ended a loop */
        if (!w.arrivals[i].gone && w.arrivals[i].time <= w.t)
            return 1;
    return 0;
}

void reference_run(const struct script *script, const struct peet_map_config *config, struct script_log *log,
    struct script_result *out)
{
    struct ctx *first = keep(sizeof *first);

    memset(&w, 0, sizeof w);
    log->n = 0;
    w.script = script;
    w.config = config;
    w.log = log;
    w.nhw = config->cores;
    first->body = &script->main;
    first->starting = 1;
    first->last_hw = -1;
    w.numbers = 1;
    arrive(first, NULL, 0);
    for (w.t = 0; !w.ended && w.t < 10000000; w.t++) {
        while (!w.ended && step())
            ;
        drop_empty_arrivals();
    }
    *out = (struct script_result){.nhw = w.nhw, .status = w.status};
    for (unsigned i = 0; i < w.nhw; i++)
        if (w.clock[i] > out->end)
            out->end = w.clock[i];
    for (unsigned i = 0; i < w.nhw; i++)
        out->hw[i] = (struct peet_map_hw){
            .busy_cycles = w.busy[i], .stalled_cycles = w.stalled[i], .idle_cycles = w.idle[i] + out->end - w.clock[i]};
    while (nkept)
        free(kept[--nkept]);
    free(kept);
    kept = NULL;
}
