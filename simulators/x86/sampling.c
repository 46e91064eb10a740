/* SPDX-License-Identifier: Apache-2.0 */
/* What sampling.h describes. */
#include "sampling.h"
#include "../common/ahead.h"
#include "../common/random.h"
#include "core_refs.h"
#include "core_replay.h"
#include "simple.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const uint8_t priced[X86_PRICED] = {CPI_L2, CPI_L3, CPI_DRAM, CPI_COHERENCE, CPI_TLB, CPI_BRANCH};
/* by enum x86_served; hits cost nothing beside the block's own cycles, and have none of these */
static const uint8_t price_of[X86_SERVED] = {
    [X86_L1] = 0, [X86_L2] = 0, [X86_L3] = 1, [X86_REMOTE] = 3, [X86_DRAM] = 2};
enum { PRICE_SECOND = 0, PRICE_COHERENCE = 3, PRICE_TLB = 4, OWN = X86_PRICED };

/* Windows count less by these factors with each one that comes after them. */
static const double block_keeps = 15.0 / 16, price_keeps = 15.0 / 16;
static const double least_shared_percent = 0.1; /* less is not worth a line: making and joining threads */
enum {
    PRICE_PRIOR = 500,    /* a share is as that of all levels until so many cycles of latency were met */
    MISPREDICT_MOST = 64, /* cycles charged after a mispredicted branch that are taken to be its */
    ASKED_MOST = 3,       /* windows that begin because of one block */
    DENSE = 8,            /* the n-th gap has the instructions of n windows, and near them, / DENSE at most */
    SAME_MOST = 4, /* times the price of a cycle's latency in windows, between them; what is missing, each miss has */
    LEAST_MISSES = 50, /* from so many on, their mean counts */
    LEAST_WINDOWS = 30 /* fewer say nothing of the error */
};

int x86_sampling_init(struct x86 *x)
{
    for (unsigned i = 0; i < x->nthreads; i++) {
        struct x86_sampling *s = x->threads[i].sampling = calloc(1, sizeof *s);

        if (!s || !(s->touched = calloc(x->config.sample_measure + 1, sizeof *s->touched))) {
            x->env->fail(x->env, "out of memory for the samples of %u cores", x->ncores);
            return -1;
        }
        s->random = x->env->seed + i;
    }
    for (unsigned i = 0; i < X86_PRICED; i++)
        x->prices.of[i] = x->prices.between[i] = i == X86_PRICED_BRANCH ? x->config.mispredict_cycles : 0.5;
    return 0;
}

void x86_sampling_fini(struct x86 *x)
{
    for (unsigned i = 0; x->threads && i < x->nthreads; i++) {
        if (x->threads[i].sampling) {
            free(x->threads[i].sampling->touched);
            free(x->threads[i].sampling->far.path);
        }
        free(x->threads[i].sampling);
    }
}

/* ------------------------------------------------------------------------------------------ the model */

void x86_sampling_missed(struct x86_thread *t, const struct x86_access *a, const struct x86_outcome *out, uint64_t now,
    uint64_t frontier)
{
    struct x86_sampling *s = t->sampling;
    struct x86_estimate *e = a->block ? &t->cpu->x->codes[a->block->id].estimate : NULL;
    uint64_t from, rest, part;

    if (!out->missed || (a->kind != X86_LOAD && a->kind != X86_MODIFY))
        return;
    if (e && out->coherence_cycles)
        e->shares = 1;
    if (e && s->phase == SAMPLING_MEASURE) {
        e->window_leads += (double)(int64_t)(frontier - now);
        e->window_misses++;
    }
    s->met[price_of[out->served]]++;
    s->met[PRICE_TLB] += out->tlb_cycles != 0;
    s->met[PRICE_COHERENCE] += out->coherence_cycles != 0;
    from = later(frontier, s->until);
    if (out->done_cycles <= from)
        return;
    rest = out->done_cycles - from;
    s->until = out->done_cycles;
    part = less(out->tlb_cycles, rest);
    s->latency[PRICE_TLB] += part;
    rest -= part;
    part = less(out->coherence_cycles, rest);
    s->latency[PRICE_COHERENCE] += part;
    s->latency[price_of[out->served]] += rest - part;
}

/** What the misses and mispredictions cost that came since then. */
static double price(const struct x86_thread *t, const uint64_t before[X86_PRICED])
{
    double sum = 0;

    for (unsigned i = 0; i < X86_PRICED; i++)
        sum += (double)(t->sampling->latency[i] - before[i]) * t->cpu->x->prices.of[i];
    return sum;
}

/** A block's own cycles. */
static double own(const struct x86 *x, const struct x86_code *code)
{
    const struct x86_prices *p = &x->prices;

    if (code->estimate.known)
        return code->estimate.each;
    return code->nops * (p->instructions > 0 ? p->cycles / p->instructions : 1);
}

/** Cycles of the longest range that a block's execution goes through: strings have any length. */
static double strings(const struct x86_thread *t, const struct peet_block *block, const uint64_t *values)
{
    uint64_t most = 0;

    if (block->flags & PEET_BLOCK_SIMPLE)
        return 0;
    for (uint32_t i = 0; i < block->nrefs; i++)
        if (block->refs[i].flags & PEET_REF_RANGE)
            most = later(most,
                values[block->refs[i].value + 1] * (block->refs[i].size_bytes ? block->refs[i].size_bytes : 1));
    return (double)(most / t->cpu->x->config.string_bytes_cycle);
}

static double mean_of(const struct x86_mean *mean)
{
    return mean->times > 0 ? mean->sum / mean->times : 0;
}

double x86_sampling_cost(struct x86 *x, const struct peet_block *block)
{
    const struct x86_code *code = x86_core_code(x, block);
    const struct x86_estimate *e;

    if (!code)
        return 0;
    e = &code->estimate;
    return own(x, code) + x->prices.between[X86_PRICED_BRANCH] * mean_of(&e->wrong) +
        (e->shares ? 0 : mean_of(&e->second));
}

void x86_mean_add(struct x86_mean *mean, double value)
{
    enum { MOST = 1 << 12 }; /* from then on older ones count less */

    mean->sum += value;
    if (++mean->times > MOST) {
        mean->sum /= 2;
        mean->times /= 2;
    }
}

/** The shares learn from a window. */
static void learn_prices(struct x86 *x, struct x86_sampling *s)
{
    struct x86_prices *p = &x->prices;
    double charged = 0, latency = 0, share;

    for (unsigned i = 0; i < X86_PRICED; i++) {
        p->charged[i] = p->charged[i] * price_keeps + s->charged[i];
        p->latency[i] = p->latency[i] * price_keeps + s->waited[i];
        p->met[i] = p->met[i] * price_keeps + s->missed[i];
        p->between_latency[i] = p->between_latency[i] * price_keeps + s->gap_latency[i];
        p->between_met[i] = p->between_met[i] * price_keeps + s->gap_met[i];
        s->charged[i] = s->waited[i] = s->missed[i] = s->gap_latency[i] = s->gap_met[i] = s->gap_charged[i] = 0;
        if (i != X86_PRICED_BRANCH) {
            charged += p->charged[i];
            latency += p->latency[i];
        }
    }
    share = latency > 0 ? charged / latency : 0.5;
    for (unsigned i = 0; i < X86_PRICED_BRANCH; i++) {
        double times = 1;

        p->of[i] = (p->charged[i] + PRICE_PRIOR * share) / (p->latency[i] + PRICE_PRIOR);
        p->each[i] = 0;
        if (p->met[i] > LEAST_MISSES && p->between_met[i] > LEAST_MISSES) {
            const double mean = p->charged[i] / p->met[i], latency = p->between_latency[i] / p->between_met[i];

            times = latency > 0 && p->of[i] > 0 ? fmin(mean / (latency * p->of[i]), SAME_MOST) : 0;
            p->each[i] = mean - times * p->of[i] * latency;
        }
        p->between[i] = times * p->of[i];
    }
    if (p->latency[X86_PRICED_BRANCH] > 0)
        p->between[X86_PRICED_BRANCH] = p->of[X86_PRICED_BRANCH] =
            p->charged[X86_PRICED_BRANCH] / p->latency[X86_PRICED_BRANCH];
}

static void learn_blocks(struct x86 *x, struct x86_sampling *s)
{
    struct x86_prices *p = &x->prices;

    for (uint32_t i = 0; i < s->ntouched; i++) {
        struct x86_estimate *e = &x->codes[s->touched[i]].estimate;

        e->cycles = e->cycles * block_keeps + e->window_cycles;
        e->times = e->times * block_keeps + e->window_times;
        e->each = e->cycles / e->times;
        e->known = 1;
        e->window_cycles = e->window_times = 0;
        if (!e->window_misses)
            continue;
        e->leads = e->leads * block_keeps + e->window_leads;
        e->misses = e->misses * block_keeps + e->window_misses;
        e->lead = e->leads / e->misses;
        p->leads = p->leads * price_keeps + e->window_leads;
        p->misses = p->misses * price_keeps + e->window_misses;
        p->lead = p->leads / p->misses;
        e->window_leads = e->window_misses = 0;
    }
    s->ntouched = 0;
}

/* ------------------------------------------------------------------------------------------ windows */

/** By how many cycles the misses of the gap before a window would have cost more at the window's prices. */
static double mispriced(const struct x86_sampling *s)
{
    double sum = 0;

    for (unsigned i = 0; i < X86_PRICED_BRANCH; i++)
        if (s->missed[i] > 0)
            sum += s->gap_met[i] * s->charged[i] / s->missed[i] - s->gap_charged[i];
    return sum;
}

/** The model has been held against a window, and learns from it. */
static void close_window(struct x86_thread *t)
{
    struct x86_sampling *s = t->sampling;

    s->windows++;
    s->measured_instructions += (uint64_t)s->instructions;
    s->measured_cycles += (uint64_t)s->measured;
    if (s->unasked) {
        const double gg = s->gap * s->gap,
                     r = (s->measured - s->foreseen) / s->instructions + (s->gap > 0 ? mispriced(s) / s->gap : 0);

        s->gg += gg;
        s->ggr += gg * r;
        s->ggrr += gg * r * r;
        s->gr += s->gap * r;
        s->gap = 0;
    }
    t->cpu->x->prices.cycles = t->cpu->x->prices.cycles * price_keeps + s->measured;
    t->cpu->x->prices.instructions = t->cpu->x->prices.instructions * price_keeps + s->instructions;
    learn_prices(t->cpu->x, s);
    learn_blocks(t->cpu->x, s);
    if (t->cpu->x->ahead)
        peet_sim_ahead_costs(t->cpu->x->ahead, t->hw);
    s->measured = s->foreseen = s->instructions = 0;
}

/** How many instructions there are to the next window: a period less the window, a quarter more or less. */
static int64_t to_next(const struct x86 *x, struct x86_sampling *s)
{
    const struct x86_config *c = &x->config;
    const uint64_t window = c->sample_warm + c->sample_measure, most = c->sample_period - window;
    const uint64_t gap = less(most, s->windows * (window + c->sample_near) / DENSE);

    return (int64_t)(gap - gap / 4 + peet_sim_random_below(&s->random, gap / 2 + 1));
}

/**
 * What is far from the next window: so many instructions, whatever time they take.  Were it so much time, windows would fall
 * where it goes slowly.  The rest is left, a random number: far from windows loops go round as one, so that what is far ends
 * at the ends of loops.
 */
static void go_far(struct x86_thread *t)
{
    enum { PRIOR = 16, LEAST = 64 }; /* parts of it: how much what was before counts; what is not worth a stretch */
    struct x86_sampling *s = t->sampling;
    const uint64_t least = t->cpu->x->config.sample_near;
    uint64_t busy = 0;
    int64_t near;

    if (!t->cpu->x->ahead || !least)
        return;
    near = (int64_t)(least + peet_sim_random_below(&s->random, least / 2 + 1));
    if (s->left < 2 * near)
        return;
    for (unsigned i = 0; i < CPI_LOCK; i++)
        busy += t->cycles[i];
    s->phase = SAMPLING_FAR;
    s->far.left = s->left - near;
    s->far.least = s->far.left / LEAST;
    s->far.until = 0;
    s->far.did = (double)s->far.left / PRIOR;
    s->far.took = s->far.did * (double)busy / (double)t->instructions;
    s->left = near;
    if (!s->far.path) { /* predictors do not follow */
        t->last.op = NULL;
        t->unseen = 0;
    }
}

static void open_window(struct x86_thread *t)
{
    const struct x86_config *c = &t->cpu->x->config;
    struct x86_sampling *s = t->sampling;

    s->unasked = !s->asked;
    s->asked = 0;
    s->phase = c->sample_warm ? SAMPLING_WARM : SAMPLING_MEASURE;
    s->left = c->sample_warm ? c->sample_warm : c->sample_measure;
}

static void next_phase(struct x86_thread *t)
{
    const struct x86_config *c = &t->cpu->x->config;
    struct x86_sampling *s = t->sampling;

    switch (s->phase) {
    case SAMPLING_FAR:
        s->phase = SAMPLING_BETWEEN;
        break;
    case SAMPLING_BETWEEN: /* nothing of what was before is in the pipeline */
        for (unsigned i = 0; i < X86_PRICED_BRANCH; i++) {
            s->gap_latency[i] += (double)(s->latency[i] - s->latency_then[i]);
            s->gap_met[i] += (double)(s->met[i] - s->met_then[i]);
        }
        x86_core_restart(t, t->frontier);
        open_window(t);
        break;
    case SAMPLING_WARM:
        s->phase = SAMPLING_MEASURE;
        s->left += c->sample_measure;
        break;
    case SAMPLING_MEASURE:
        close_window(t);
        s->left = to_next(t->cpu->x, s);
        if (s->left <= 0) {
            open_window(t);
            break;
        }
        s->phase = SAMPLING_BETWEEN;
        memcpy(s->latency_then, s->latency, sizeof s->latency_then);
        memcpy(s->met_then, s->met, sizeof s->met_then);
        if (t->replay)
            x86_replay_leave(t);
        go_far(t);
        break;
    }
}

/* ------------------------------------------------------------------------------------------ blocks */

/** Whole cycles that are owed pass, and are charged to this category.  Returns: how many */
static inline uint64_t pass(struct x86_thread *t, struct x86_place *place, double *owed, enum x86_category category)
{
    uint64_t cycles;

    if (*owed < 1)
        return 0;
    cycles = (uint64_t)*owed;
    *owed -= (double)cycles;
    t->cycles[category] += cycles;
    place->cycles[category] += cycles;
    t->sampling->estimated_cycles += cycles;
    return cycles;
}

/** By how much loads of the block are ahead of the frontier. */
static int64_t lead_of(const struct x86 *x, const struct x86_code *code, uint64_t frontier)
{
    const int64_t lead = (int64_t)(code->estimate.misses > 0 ? code->estimate.lead : x->prices.lead);

    return lead > (int64_t)frontier ? (int64_t)frontier : lead;
}

/** What of this kind costs that came since then. */
static double price_since(const struct x86_thread *t, unsigned kind, const uint64_t latency[X86_PRICED],
    const uint64_t met[X86_PRICED])
{
    const struct x86_prices *p = &t->cpu->x->prices;

    return (double)(t->sampling->latency[kind] - latency[kind]) * p->between[kind] +
        (double)(t->sampling->met[kind] - met[kind]) * p->each[kind];
}

/** What misses and mispredictions cost that came since then, for a block at this place.  Returns: cycles that pass now */
static uint64_t pay(struct x86_thread *t, struct x86_place *place, const uint64_t latency[X86_PRICED],
    const uint64_t met[X86_PRICED])
{
    struct x86_sampling *s = t->sampling;
    uint64_t sum = 0;

    for (unsigned i = 0; i < X86_PRICED; i++)
        if (s->latency[i] != latency[i] || s->met[i] != met[i]) {
            const double price = price_since(t, i, latency, met);

            s->owed[i] += price;
            s->gap_charged[i] += price;
            sum += pass(t, place, &s->owed[i], priced[i]);
        }
    return sum;
}

/** Far from windows, what L2 serves is in the block's cost, as it was near them: L1D's prefetcher does not see the hits by which
 * it goes.  Where cores take lines from each other, the prefetcher matters least, and what L2 serves costs what it costs. */
static void pass_over_second(struct x86_sampling *s, const struct x86_estimate *e, uint64_t latency[X86_PRICED],
    uint64_t met[X86_PRICED])
{
    if (e->shares)
        return;
    s->latency_then[PRICE_SECOND] += s->latency[PRICE_SECOND] - latency[PRICE_SECOND];
    s->met_then[PRICE_SECOND] += s->met[PRICE_SECOND] - met[PRICE_SECOND];
    latency[PRICE_SECOND] = s->latency[PRICE_SECOND];
    met[PRICE_SECOND] = s->met[PRICE_SECOND];
}

uint64_t x86_sampling_access(struct x86_thread *t, const struct x86_access *access, uint64_t now)
{
    struct x86 *x = t->cpu->x;
    struct x86_sampling *s = t->sampling;
    const struct x86_code *code = &x->codes[access->block->id];
    struct x86_outcome out;
    uint64_t latency[X86_PRICED], met[X86_PRICED];

    memcpy(latency, s->latency, sizeof latency);
    memcpy(met, s->met, sizeof met);
    s->lead = lead_of(x, code, now);
    x86_memory_access(x->memory, access, now - (uint64_t)s->lead, &out);
    x86_sampling_missed(t, access, &out, now - (uint64_t)s->lead, now);
    pass_over_second(s, &code->estimate, latency, met);
    return pay(t, &x->stacks.places[code->first_place], latency, met);
}

static void between(struct x86_thread *t, const struct x86_code *code, const uint64_t *values)
{
    struct x86 *x = t->cpu->x;
    struct x86_sampling *s = t->sampling;
    struct x86_place *place = &x->stacks.places[code->first_place];
    struct x86_estimate *e = &x->codes[code->block->id].estimate;
    const int far = s->phase == SAMPLING_FAR, again = s->far.again >= code->block->ninsns;
    const int branches = !again && (!far || s->far.path);
    uint64_t latency[X86_PRICED], met[X86_PRICED];

    memcpy(latency, s->latency, sizeof latency);
    memcpy(met, s->met, sizeof met);
    s->lead = lead_of(x, code, t->frontier);
    x86_simple_warm(t, code, values, branches);
    if (again) { /* predictors have followed it before it was undone */
        s->far.again -= code->block->ninsns;
        x->far_uops -= code->uops;
    }
    if (branches)
        x86_mean_add(&e->wrong, (double)(t->mispredicts - s->latency[X86_PRICED_BRANCH]));
    s->latency[X86_PRICED_BRANCH] = t->mispredicts;
    if (far) {
        latency[X86_PRICED_BRANCH] = t->mispredicts;
        pass_over_second(s, e, latency, met);
    } else {
        x86_mean_add(&e->second, price_since(t, PRICE_SECOND, latency, met));
    }
    s->owed[OWN] += (far ? x86_sampling_cost(x, code->block) : own(x, code)) + strings(t, code->block, values);
    t->frontier += pass(t, place, &s->owed[OWN], CPI_ESTIMATED);
    t->frontier += pay(t, place, latency, met);
    s->estimated_instructions += code->nops;
    s->gap += code->nops;
}

static void in_detail(struct x86_thread *t, struct x86_code *code, const uint64_t *values)
{
    struct x86_sampling *s = t->sampling;
    struct x86_estimate *e = &code->estimate;
    const uint64_t begun = t->frontier;
    const int measured = s->phase == SAMPLING_MEASURE;
    uint64_t before[X86_PRICED], met[X86_PRICED], cycles[X86_PRICED];
    double rest, second = 0;

    memcpy(before, s->latency, sizeof before);
    memcpy(met, s->met, sizeof met);
    for (unsigned i = 0; i < X86_PRICED; i++)
        cycles[i] = t->cycles[priced[i]];
    x86_core_block(t, code, values);
    s->latency[X86_PRICED_BRANCH] = t->mispredicts;
    s->detailed_instructions += code->nops;
    rest = (double)(t->frontier - begun) - strings(t, code->block, values);
    for (unsigned i = 0; i < X86_PRICED; i++) {
        const double waited = (double)(s->latency[i] - before[i]);
        const double most = i == X86_PRICED_BRANCH ? waited * MISPREDICT_MOST : waited;
        const double charged = fmin((double)(t->cycles[priced[i]] - cycles[i]), most);

        rest -= charged;
        second += i == PRICE_SECOND ? charged : 0;
        if (measured) {
            s->charged[i] += charged;
            s->waited[i] += waited;
            s->missed[i] += (double)(s->met[i] - met[i]);
        }
    }
    x86_mean_add(&e->wrong, (double)(t->mispredicts - before[X86_PRICED_BRANCH]));
    x86_mean_add(&e->second, second);
    if (measured) {
        s->measured += (double)(t->frontier - begun);
        s->foreseen += own(t->cpu->x, code) + strings(t, code->block, values) + price(t, before);
        s->instructions += code->nops;
        if (!e->window_times++)
            s->touched[s->ntouched++] = code->block->id;
        e->window_cycles += rest;
    } else if (!e->known) { /* better than nothing, until it is measured */
        e->each = fmax(0, fmin(rest, 4.0 * code->nops));
        e->times = 1.0 / 64;
        e->cycles = e->each * e->times;
        e->known = 1;
    }
}

void x86_sampling_unknown(struct x86_thread *t, struct x86_code *code)
{
    struct x86_sampling *s = t->sampling;

    if (code->estimate.known || code->estimate.asked >= ASKED_MOST)
        return;
    code->estimate.asked++;
    s->asked = 1;
    s->left = s->far.left = 0;
}

void x86_sampling_block(struct x86_thread *t, const struct x86_code *code, const uint64_t *values)
{
    struct x86_sampling *s = t->sampling;
    struct x86_code *mine = &t->cpu->x->codes[code->block->id];

    if (!code->nops)
        return;
    if (s->phase <= SAMPLING_FAR && __builtin_expect(!code->estimate.known, 0))
        x86_sampling_unknown(t, mine);
    if (s->phase == SAMPLING_FAR && s->far.left <= s->far.least)
        next_phase(t);
    if (s->phase != SAMPLING_FAR && __builtin_expect(s->left <= 0, 0))
        next_phase(t);
    *(s->phase == SAMPLING_FAR ? &s->far.left : &s->left) -= code->nops;
    if (s->phase <= SAMPLING_FAR)
        between(t, code, values);
    else
        in_detail(t, mine, values);
}

/* ------------------------------------------------------------------------------------------ results */

/**
 * How far the time of a core may be off, in cycles: of 95 of 100 such samples, no more.  Each window stands for the gap
 * before it.  What was foreseen wrongly on the average counts whole, and what differs from window to window by the normal
 * distribution.
 */
static double error_of(const struct x86_sampling *s)
{
    double mean = s->gg > 0 ? s->ggr / s->gg : 0, variance = s->ggrr - 2 * mean * s->ggr + mean * mean * s->gg;

    return fabs(s->gr) + 1.96 * sqrt(fmax(variance, 0));
}

/**
 * Per cent of the cores' cycles that go by who is first, of those that share lines or locks.  No window tells what another
 * order of threads would take.
 */
static double shared_percent(const struct x86 *x)
{
    uint64_t shared = 0, all = 0;

    for (unsigned i = 0; i < x->nthreads; i++) {
        const uint64_t *cycles = x->threads[i].cycles;

        shared += cycles[CPI_COHERENCE] + cycles[CPI_LOCK];
        for (unsigned k = 0; k < CPI_IDLE; k++)
            all += cycles[k];
    }
    return all ? 100 * (double)shared / (double)all : 0;
}

void x86_sampling_stats(const struct x86 *x, const struct peet_env *env, struct peet_stats *node)
{
    struct peet_stats *o = env->stats_object(env, node, "sampling");
    struct x86_sampling sum = {0};
    double error = 0, all, shared = shared_percent(x);
    char text[60];

    for (unsigned i = 0; i < x->nthreads; i++) {
        const struct x86_sampling *s = x->threads[i].sampling;

        sum.windows += s->windows;
        sum.detailed_instructions += s->detailed_instructions;
        sum.measured_instructions += s->measured_instructions;
        sum.measured_cycles += s->measured_cycles;
        sum.estimated_instructions += s->estimated_instructions;
        sum.estimated_cycles += s->estimated_cycles;
        sum.far.instructions += s->far.instructions;
        error = fmax(error, error_of(s));
    }
    all = (double)(sum.detailed_instructions + sum.estimated_instructions);
    env->stats_u64(env, o, "windows", sum.windows);
    env->stats_u64(env, o, "detailed_instructions", sum.detailed_instructions);
    env->stats_u64(env, o, "measured_instructions", sum.measured_instructions);
    env->stats_u64(env, o, "measured_cycles", sum.measured_cycles);
    env->stats_u64(env, o, "estimated_instructions", sum.estimated_instructions);
    env->stats_u64(env, o, "estimated_cycles", sum.estimated_cycles);
    env->stats_u64(env, o, "far_instructions", sum.far.instructions);
    error = x->end_cycles ? 100 * error / (double)x->end_cycles : 0;
    if (sum.windows >= LEAST_WINDOWS)
        env->stats_f64(env, o, "error_percent", error);
    env->stats_f64(env, o, "shared_percent", shared);
    snprintf(text, sizeof text, "%.1f %%", all > 0 ? 100 * (double)sum.detailed_instructions / all : 0);
    o = env->stats_object(env, node, "summary");
    env->stats_string(env, o, "instructions_simulated_in_detail", text);
    snprintf(text, sizeof text, "%.1f %%", error);
    env->stats_string(env, o, "error_of_sampling_(19_in_20)", sum.windows >= LEAST_WINDOWS ? text : "too few windows");
    if (shared >= least_shared_percent) {
        snprintf(text, sizeof text, "another order of threads (they share: %.1f %%)", shared);
        env->stats_string(env, o, "not_in_that_error", text);
    }
}
