/* SPDX-License-Identifier: Apache-2.0 */
/* When bursts begin and end, how many references there were meanwhile, and what bursts tell of the run.  See sampled.h.
 */
#include "sampled.h"
#include "sparse.h"

#include <peet/direct.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum {
    SHORT = 1 << 12,
    MIDDLE = 1 << 14,
    FIRST_BURST = 1 << 16,
    MIDDLE_EVERY = 4, /* bursts */
    MEAN = 7168,      /* references of a burst, for pauses */
    SPARSE = 3 << 14,
    SPARSE_EVERY = 3, /* bursts; and longer ones: */
    SPARSE_LEAST = 1 << 18,
    SPARSE_MOST = 1 << 20,
    SPARSE_SHARE = 16, /* of the references so far, as long as that is less */
    SPARSE_REST = 128, /* lengths until the next one begins */
    MATTERS = 128,     /* a block with this part of all references */
    RARE = 8,          /* times as rarely seen as the others: a burst begins when it is executed */
    QUEUE = 16,
    ENOUGH = 32, /* references that sparse bursts must have seen to be believed */
    SHARES = 16, /* a block is asked again when it has made this part of a pause */
};
static const double GROWTH = 1.03; /* of pauses, so that short runs have bursts, too */

struct locality_sampler {
    uint64_t one_of, bursts, observed, sparsely, random;
    int in_burst;
    uint64_t next_sparse; /* when the run has had so many references */
    double sparse_since;  /* references of the run before those for which this sparse burst stands */
    double sparse_weight;
    uint64_t left;          /* of the burst: references */
    uint64_t pause, passed; /* of the pause: its length and what has gone by */
    double growth;          /* pauses are so many times as long as bursts, in the mean */
    double stood_for;       /* references, by all bursts */
    uint64_t since;         /* references of the run before those for which this burst stands */
    struct waiting {
        struct locality_sparse *stacks;
        struct locality_estimate *estimate;
        uint64_t address, chosen;
    } queue[QUEUE];
    uint32_t waiting;
    uint32_t *armed; /* blocks whose executions are taken, by id */
    size_t narmed, room;
};

int locality__sampled_init(struct locality *self, uint64_t one_of)
{
    struct locality_sampler *s = calloc(1, sizeof *s);

    if (!s)
        return -1;
    locality__sparse_init();
    s->one_of = one_of;
    s->random = self->env->seed | 1;
    s->growth = 1;
    s->in_burst = 1;
    s->left = one_of == 1 ? UINT64_MAX : FIRST_BURST;
    s->next_sparse = 4 * SPARSE_LEAST;
    s->bursts = 1;
    self->sampler = s;
    self->shared_estimate = calloc(1, sizeof *self->shared_estimate);
    self->window_estimates = self->want_windows ? calloc(LOCALITY_WINDOWS, sizeof *self->window_estimates) : NULL;
    return self->shared_estimate && (self->window_estimates || !self->want_windows) ? 0 : -1;
}

void locality__sampled_fini(struct locality *self)
{
    for (uint32_t i = 0; i < self->nplans; i++)
        free(self->plans[i].watch);
    if (self->sampler)
        free(self->sampler->armed);
    free(self->sampler);
    free(self->shared_estimate);
    free(self->window_estimates);
}

/* ------------------------------------------------------------------------------------------------- estimates */

/** Of a tally that has been collected and not settled. */
static uint64_t references_of(const struct peet_sim_tally *t)
{
    uint64_t n = t->again;

    for (unsigned k = 0; k < PEET_SIM_MEETINGS; k++)
        n += t->met[0][k][0] + t->met[0][k][1];
    return n;
}

static void add_weighted(struct locality_estimate *e, const struct peet_sim_tally *t, double weight)
{
    const double again = weight * (double)t->again;
    struct locality_found *f = &e->near;

    e->references += weight * (double)references_of(t);
    for (unsigned w = 0; w < PEET_SIM_WIDTHS; w++) {
        f->reuse[w][0] += again;
        if (w < PEET_SIM_HALVINGS)
            f->same[w][0] += again;
        for (unsigned k = 0; k < PEET_SIM_BUCKETS; k++) {
            f->reuse[w][k] += weight * (double)(t->met[w][k][0] + t->met[w][k][1]);
            if (w < PEET_SIM_HALVINGS)
                f->same[w][k] += weight * (double)t->met[w][k][0];
        }
        for (unsigned k = PEET_SIM_UNSEEN; k < PEET_SIM_MEETINGS; k++)
            f->unseen[w][k - PEET_SIM_UNSEEN] += weight * (double)(t->met[w][k][0] + t->met[w][k][1]);
    }
    for (unsigned k = 0; k < PEET_SIM_BUCKETS; k++)
        e->strided[k] += weight * (double)t->strided[k];
    for (unsigned k = PEET_SIM_UNSEEN; k < PEET_SIM_MEETINGS; k++)
        e->strided_unseen += weight * (double)t->strided[k];
}

static void add_found(struct locality_found *to, const struct locality_found *from, double weight)
{
    for (unsigned w = 0; w < PEET_SIM_WIDTHS; w++) {
        for (unsigned k = 0; k < PEET_SIM_BUCKETS; k++) {
            to->reuse[w][k] += weight * from->reuse[w][k];
            if (w < PEET_SIM_HALVINGS)
                to->same[w][k] += weight * from->same[w][k];
        }
        for (unsigned k = 0; k < PEET_SIM_MEETINGS - PEET_SIM_UNSEEN; k++)
            to->unseen[w][k] += weight * from->unseen[w][k];
    }
}

void locality__sampled_add(struct locality_estimate *to, const struct locality_estimate *from, double weight,
    double far_weight)
{
    to->references += weight * from->references;
    add_found(&to->near, &from->near, weight);
    add_found(&to->far, &from->far, far_weight);
    for (unsigned w = 0; w < PEET_SIM_WIDTHS; w++)
        to->samples[w] += from->samples[w];
    for (unsigned k = 0; k < PEET_SIM_BUCKETS; k++)
        to->strided[k] += weight * from->strided[k];
    to->strided_unseen += weight * from->strided_unseen;
}

/** Lines of each width that a stream has referenced, about. */
static void see_footprint(const struct peet_sim_surface *surface, const struct locality_density *d,
    double lines[PEET_SIM_WIDTHS])
{
    for (unsigned w = 0; surface && w < PEET_SIM_WIDTHS; w++)
        if (d->lines[w] * (double)surface->blocks > lines[w])
            lines[w] = d->lines[w] * (double)surface->blocks;
}

/** Of a context or LOCALITY_NOBODY, the largest. */
static void footprint(const struct locality *self, uint32_t context, double lines[PEET_SIM_WIDTHS])
{
    memset(lines, 0, PEET_SIM_WIDTHS * sizeof *lines);
    for (uint32_t i = 0; i < self->ncontexts; i++)
        if (context == LOCALITY_NOBODY || context == i) {
            see_footprint(self->contexts[i].surface, &self->contexts[i].density, lines);
            locality__sparse_lines(self->contexts[i].sparse, lines);
        }
}

static void see_density(const struct peet_sim_surface *s, struct locality_density *d)
{
    if (s->nrecords <= d->blocks)
        return;
    d->blocks = s->nrecords;
    for (unsigned w = 0; w < PEET_SIM_WIDTHS; w++)
        d->lines[w] = (double)s->lines[w] / s->nrecords;
}

static unsigned bucket_of(double lines)
{
    unsigned k = 0;

    while (k < PEET_SIM_BEYOND && lines > (double)(1u << k))
        k++;
    return k;
}

/** References of one width that go at least as far as the bucket @from, as far as is known. */
static double known_as_far(const struct locality_found *f, unsigned w, unsigned from)
{
    double n = 0;

    for (unsigned k = from; k < PEET_SIM_BUCKETS; k++)
        n += f->reuse[w][k];
    for (unsigned k = from; k < PEET_SIM_MEETINGS - PEET_SIM_UNSEEN; k++)
        n += f->unseen[w][k];
    return n;
}

/** Shares of the buckets of one width.  @lines: that there are */
static void distribution(const struct locality_estimate *e, unsigned w, double lines, double *reuse, double *same)
{
    const struct locality_found *f = &e->near;
    unsigned deepest = 0;
    double farther = 1, cold = e->references > 0 ? f->reuse[w][PEET_SIM_COLD] / e->references : 0,
           risk = known_as_far(f, w, 0);

    for (unsigned k = 0; k < PEET_SIM_COLD; k++) {
        double known, found;

        if (k == locality__sparse_from(w) && e->samples[w] >= ENOUGH) {
            f = &e->far;
            risk = known_as_far(f, w, k);
        }
        found = f->reuse[w][k];
        risk -= f->unseen[w][k] / 2; /* somewhere among these distances they are lost sight of */
        known = risk > 0 && found > 0 ? found / risk : 0;
        known = known > 1 ? 1 : known;
        deepest = found > 0 ? k : deepest;
        reuse[k] = farther * known;
        same[k] = found > 0 && w < PEET_SIM_HALVINGS ? reuse[k] * f->same[w][k] / found : 0;
        farther -= reuse[k];
        risk -= f->unseen[w][k] / 2 + found;
    }
    farther = farther > 0 ? farther : 0;
    reuse[PEET_SIM_COLD] = cold < farther ? cold : farther;
    deepest = deepest > bucket_of(lines) ? deepest : bucket_of(lines);
    reuse[deepest] += farther - reuse[PEET_SIM_COLD];
}

/** Of each bucket the share that was strided where bursts saw it; of what they lost sight of, as of that. */
static void strided_of(const struct locality_estimate *e, struct peet_sim_tally *out)
{
    const unsigned w = PEET_SIM_STRIDED_WIDTH;
    double unseen = 0;

    for (unsigned k = 0; k < PEET_SIM_MEETINGS - PEET_SIM_UNSEEN; k++)
        unseen += e->near.unseen[w][k];
    for (unsigned k = 0; k < PEET_SIM_BUCKETS; k++) {
        const double found = e->near.reuse[w][k], all = found > 0 ? found : unseen,
                     share = all > 0 ? (found > 0 ? e->strided[k] : e->strided_unseen) / all : 0;

        out->strided[k] = (uint64_t)((share < 1 ? share : 1) * (double)out->reuse[w][k]);
    }
}

/** Sums are rounded, so that all add up; a narrow width never hits more often than a wider one. */
static void tally_of(const struct locality_estimate *e, uint64_t references, const double *lines,
    struct peet_sim_tally *out)
{
    uint64_t above[PEET_SIM_BUCKETS];

    *out = (struct peet_sim_tally){.references = references};
    for (unsigned w = 0; w < PEET_SIM_WIDTHS; w++) {
        double reuse[PEET_SIM_BUCKETS], same[PEET_SIM_BUCKETS], sum = 0;
        uint64_t hits, before = 0;

        distribution(e, w, lines[w], reuse, same);
        for (unsigned k = 0; k < PEET_SIM_BUCKETS; k++) {
            sum += reuse[k];
            hits = k == PEET_SIM_COLD ? references : (uint64_t)(sum * (double)references + 0.5);
            hits = hits > references ? references : hits;
            hits = w && hits > above[k] ? above[k] : hits < before ? before : hits;
            out->reuse[w][k] = hits - before;
            above[k] = before = hits;
            if (w < PEET_SIM_HALVINGS && k < PEET_SIM_COLD) {
                uint64_t n = (uint64_t)(same[k] * (double)references + 0.5);

                out->same[w][k] = n < out->reuse[w][k] ? n : out->reuse[w][k];
            }
        }
    }
    strided_of(e, out);
}

struct summing {
    struct locality *self;
    struct locality_key key;
    struct locality_estimate *sum;
    double all;
};

static void sum_block(void *arg, const struct locality_part *part)
{
    struct summing *s = arg;

    s->self->plans[part->key.block].estimated += part->estimate->references;
}

/** It is known how many references each block has made. */
static void sum_part(void *arg, const struct locality_part *part)
{
    struct summing *s = arg;
    const struct locality_plan *plan = &s->self->plans[part->key.block];
    const double scale = plan->estimated > 0 ? (double)plan->all / plan->estimated : 0;

    s->all += scale * part->estimate->references;
    if (locality__matches(s->key, part->key))
        locality__sampled_add(s->sum, part->estimate, scale, plan->sparse > 0 ? (double)plan->all / plan->sparse : 0);
}

static void sum_parts(struct locality *self, struct summing *s)
{
    for (uint32_t i = 0; i < self->nplans; i++)
        self->plans[i].estimated = 0;
    locality__each_part(self, sum_block, s);
    locality__each_part(self, sum_part, s);
}

static uint64_t share(const struct locality *self, double of, double all)
{
    return all > 0 ? of == all ? self->references : (uint64_t)(of / all * (double)self->references + 0.5) : 0;
}

void locality__sampled_sum(struct locality *self, struct locality_key key, struct peet_sim_tally *out_sum)
{
    struct locality_estimate sum = {0};
    struct summing summing = {self, key, &sum, 0};
    double lines[PEET_SIM_WIDTHS];

    sum_parts(self, &summing);
    footprint(self, key.context, lines);
    tally_of(&sum, share(self, sum.references, summing.all), lines, out_sum);
}

void locality__sampled_tally(const struct locality *self, const struct locality_estimate *e, int shared,
    struct peet_sim_tally *out)
{
    double lines[PEET_SIM_WIDTHS];

    footprint(self, LOCALITY_NOBODY, lines);
    if (shared)
        see_footprint(self->merged, &self->shared_density, lines);
    tally_of(e, share(self, e->references, self->sampler->stood_for), lines, out);
}

uint64_t locality__sampled_bursts(const struct locality *self, uint64_t *out_observed, uint64_t *out_sparsely)
{
    *out_observed = self->sampler->observed;
    *out_sparsely = self->sampler->sparsely;
    return self->sampler->bursts;
}

/* --------------------------------------------------------------------------------------------- bursts, pauses */

/** References to chosen lines that wait. */
static void follow_all(struct locality *self)
{
    struct locality_sampler *s = self->sampler;
    struct locality_estimate *window = self->window_estimates ? &self->window_estimates[self->nwindows] : NULL;
    struct locality_sparse_found found;

    for (uint32_t i = 0; i < s->waiting; i++) {
        const struct waiting *w = &s->queue[i];

        if (locality__sparse_reference(w->stacks, w->chosen, w->address, &found)) {
            locality__no_memory(self);
            break;
        }
        if (!found.widths)
            continue;
        locality__sparse_count(w->estimate, &found, s->sparse_weight);
        if (window && w->estimate != self->shared_estimate)
            locality__sparse_count(window, &found, s->sparse_weight);
    }
    s->waiting = 0;
}

/** A reference waits, so that what it needs of tables can be fetched meanwhile. */
static inline void wait(struct locality *self, struct locality_sparse *stacks, struct locality_estimate *estimate,
    uint64_t address, uint64_t chosen)
{
    struct locality_sampler *s = self->sampler;

    locality__sparse_prefetch(stacks, chosen, address);
    s->queue[s->waiting++] = (struct waiting){stacks, estimate, address, chosen};
    if (s->waiting == QUEUE)
        follow_all(self);
}

/** A reference to a line that some widths have chosen. */
static void follow(struct locality *self, struct locality_context *c, struct locality_ref *ref,
    const struct peet_block_event *event, uint64_t address, uint64_t chosen)
{
    struct peet_sim_tally *tally =
        ref->context == event->context && ref->epoch == self->epoch && address - ref->lo < ref->span
        ? ref->tally
        : locality__attribute(self, ref, event->block, event->context, address);

    if (self->merged)
        wait(self, self->shared_sparse, self->shared_estimate, address, chosen);
    if (tally != &self->seen) /* there was memory */
        wait(self, c->sparse,
            ((struct locality_part *)(void *)((char *)tally - offsetof(struct locality_part, tally)))->estimate,
            address, chosen);
}

struct ending {
    double weight;
    struct locality_estimate *window;
};

static void end_part(void *arg, const struct locality_part *const_part)
{
    struct locality_part *part = (struct locality_part *)(uintptr_t)const_part; /* ours */
    struct ending *e = arg;

    if (!references_of(&part->tally))
        return;
    add_weighted(part->estimate, &part->tally, e->weight);
    if (e->window)
        add_weighted(e->window, &part->tally, e->weight);
    memset(&part->tally, 0, sizeof part->tally);
}

static void count_part(void *arg, const struct locality_part *const_part)
{
    struct locality_part *part = (struct locality_part *)(uintptr_t)const_part; /* ours */

    peet_sim_tally_collect(&part->tally);
    *(uint64_t *)arg += references_of(&part->tally);
}

/** The burst stands for all references since the last one.  What it has counted becomes part of the estimates. */
static void end_burst(struct locality *self)
{
    struct locality_sampler *s = self->sampler;
    uint64_t n = 0;
    struct ending e = {0, self->window_estimates ? &self->window_estimates[self->nwindows] : NULL};

    if (self->sparse_burst) {
        follow_all(self);
        self->sparse_burst = 0;
        locality__see_window(self);
        return;
    }
    locality__flush(self);
    locality__each_part(self, count_part, &n);
    if (!n)
        return;
    e.weight = (double)(self->references - s->since) / (double)n;
    s->observed += n;
    s->stood_for += (double)(self->references - s->since);
    s->since = self->references;
    locality__each_part(self, end_part, &e);
    for (uint32_t i = 0; i < self->ncontexts; i++)
        if (self->contexts[i].surface && self->contexts[i].burst == s->bursts)
            see_density(self->contexts[i].surface, &self->contexts[i].density);
    if (self->merged) {
        see_density(self->merged, &self->shared_density);
        peet_sim_tally_collect(&self->shared);
        add_weighted(self->shared_estimate, &self->shared, e.weight);
        memset(&self->shared, 0, sizeof self->shared);
    }
    locality__see_window(self);
}

static uint64_t next_random(struct locality_sampler *s)
{
    s->random ^= s->random << 13;
    s->random ^= s->random >> 7;
    s->random ^= s->random << 17;
    return s->random >> 12;
}

/** Nothing of what comes is observed. */
static void begin_pause(struct locality *self)
{
    struct locality_sampler *s = self->sampler;
    const double most = (double)(s->one_of - 1);

    s->in_burst = 0;
    s->passed = 0;
    s->pause = (uint64_t)(MEAN * s->growth * (0.75 + (double)(next_random(s) & 1023) / 2048)) + 1;
    s->growth = s->growth * GROWTH < most ? s->growth * GROWTH : most;
}

/** What was taken of a block since it was last counted. */
static void catch_up(struct locality *self, struct locality_plan *plan)
{
    const uint64_t taken = *plan->watch->taken, references = (taken - plan->told) * plan->references;

    plan->told = taken;
    plan->all += references;
    self->references += references;
    self->sampler->passed += references;
}

static void disarm(struct locality *self)
{
    struct locality_sampler *s = self->sampler;

    while (s->narmed) {
        struct locality_plan *plan = &self->plans[s->armed[--s->narmed]];

        catch_up(self, plan);
        plan->watch->until = 0;
        plan->armed = 0;
    }
}

/** The next burst is sparse. */
static void begin_sparse(struct locality *self)
{
    struct locality_sampler *s = self->sampler;
    uint64_t length = self->references / SPARSE_SHARE;

    length = length < SPARSE_LEAST ? SPARSE_LEAST : length < SPARSE_MOST ? length : SPARSE_MOST;
    if (self->references < s->next_sparse)
        length = SPARSE;
    else
        s->next_sparse =
            self->references + (self->references < SPARSE_REST * length ? self->references : SPARSE_REST * length);
    s->left = length;
    s->sparse_weight = ((double)(self->references + length) - s->sparse_since) / (double)length;
    s->sparse_since = (double)(self->references + length);
}

static void begin_burst(struct locality *self)
{
    struct locality_sampler *s = self->sampler;

    disarm(self);
    s->in_burst = 1;
    s->left = s->bursts % MIDDLE_EVERY ? SHORT : MIDDLE;
    self->sparse_burst = self->references >= s->next_sparse || s->bursts % SPARSE_EVERY == 0;
    if (self->sparse_burst)
        begin_sparse(self);
    s->bursts++;
    if (self->merged) {
        self->merged->bursts = 1;
        peet_sim_surface_forget(self->merged);
        locality__sparse_forget(self->shared_sparse);
    }
}

/** A block that matters and that bursts have hardly seen. */
static int missed(const struct locality *self, const struct locality_plan *plan)
{
    const struct locality_sampler *s = self->sampler;

    return plan->all > self->references / MATTERS &&
        (double)plan->all * (double)(s->observed + 1) > RARE * (double)self->references * (double)plan->seen;
}

int locality__sampled_sees(struct locality *self, uint64_t references)
{
    struct locality_sampler *s = self->sampler;

    if (s->in_burst)
        return 1;
    self->references += references;
    s->passed += references;
    if (s->passed >= s->pause)
        begin_burst(self);
    return 0;
}

uint64_t locality__sampled_pass(struct locality *self, struct locality_plan *plan, uint64_t turns)
{
    struct locality_sampler *s = self->sampler;
    uint64_t n = turns;

    if (s->in_burst)
        return 0;
    if (missed(self, plan)) {
        n = next_random(s) % turns;
        s->pause = s->passed + n * plan->references;
    }
    if (s->passed + n * plan->references >= s->pause)
        n = s->passed < s->pause ? (s->pause - s->passed - 1) / plan->references + 1 : 0;
    n = n < turns ? n : turns;
    plan->all += n * plan->references;
    locality__sampled_sees(self, n * plan->references);
    return n;
}

static void count_sparse(struct locality *self, struct locality_plan *plan, uint64_t references)
{
    plan->sparse += self->sampler->sparse_weight * (double)references;
    self->sampler->sparsely += references;
    self->references += references;
}

/** An execution of a simple block in a sparse burst. */
static inline __attribute__((always_inline)) void sparse_simple(struct locality *self, struct locality_context *c,
    struct locality_plan *plan, const struct peet_block_event *event)
{
    uint64_t chosen;

    count_sparse(self, plan, plan->references);
    for (uint32_t r = 0; r < plan->nrefs; r++) {
        const uint64_t address = event->values[plan->value[r]];

        if (LOCALITY_UNLIKELY(chosen = locality__sparse_chosen(address)))
            follow(self, c, &plan->refs[r], event, address, chosen);
    }
}

void locality__sampled_sparse(struct locality *self, struct locality_context *c, struct locality_plan *plan,
    const struct peet_block_event *event)
{
    const struct peet_block *block = event->block;
    uint64_t chosen;
    uint32_t n = 0;

    if (block->flags & PEET_BLOCK_SIMPLE) {
        sparse_simple(self, c, plan, event);
        return;
    }
    count_sparse(self, plan, locality__references(plan, block, event->values));
    for (uint32_t i = 0; i < block->nrefs; i++) {
        if (block->refs[i].kind == PEET_REF_PREFETCH)
            continue;
        for (struct peet_ref_iter it = peet_ref_begin(&block->refs[i], event->values); it.count;
            it.count--, it.address += (uint64_t)it.step)
            if ((chosen = locality__sparse_chosen(it.address)))
                follow(self, c, &plan->refs[n], event, it.address, chosen);
        n++;
    }
}

uint64_t locality__sampled_sparse_turns(struct locality *self, const struct peet_block_event *event,
    const uint64_t *values, uint64_t turns)
{
    enum { REFS = 16 };
    struct locality_sampler *s = self->sampler;
    struct locality_plan *plan = locality__plan(self, event->block);
    struct locality_context *c = event->context < self->ncontexts ? &self->contexts[event->context] : NULL;
    uint64_t address[REFS], stride[REFS], chosen, n;

    if (!self->sparse_burst || !plan || plan->nrefs > REFS || !plan->nrefs || !c || !c->sparse)
        return 0;
    locality__sampled_context(self, c);
    n = s->left / plan->references + 1;
    n = n < turns ? n : turns;
    for (uint32_t r = 0; r < plan->nrefs; r++) {
        address[r] = values[plan->refs[r].value];
        stride[r] = (uint64_t)event->strides[plan->refs[r].value];
    }
    for (uint64_t turn = 0; turn < n; turn++)
        for (uint32_t r = 0; r < plan->nrefs; r++) {
            if ((chosen = locality__sparse_chosen(address[r])))
                follow(self, c, &plan->refs[r], event, address[r], chosen);
            address[r] += stride[r];
        }
    count_sparse(self, plan, n * plan->references);
    plan->all += n * plan->references;
    locality__sampled_seen(self, n * plan->references);
    return n;
}

void locality__sampled_seen(struct locality *self, uint64_t references)
{
    struct locality_sampler *s = self->sampler;

    if (s->left > references) {
        s->left -= references;
        return;
    }
    end_burst(self);
    begin_pause(self);
}

void locality__sampled_context(struct locality *self, struct locality_context *c)
{
    if (c->burst == self->sampler->bursts)
        return;
    c->burst = self->sampler->bursts;
    c->surface->bursts = c->burst > 1;
    peet_sim_surface_forget(c->surface);
    locality__sparse_forget(c->sparse);
}

static void add_estimate(void *arg, const struct locality_part *part)
{
    locality__sampled_add(arg, part->estimate, 1, 1);
}

static void add_tally(void *arg, const struct locality_part *part)
{
    peet_sim_tally_add(arg, &part->tally, 1);
}

void locality__sampled_shared(struct locality *self)
{
    locality__each_part(self, add_estimate, self->shared_estimate);
    locality__each_part(self, add_tally, &self->shared);
}

void locality__sampled_finish(struct locality *self)
{
    disarm(self);
    end_burst(self); /* if it has just begun, it stands for all the same */
}

/* ---------------------------------------------------------------------------------------------------- watches */

int locality__sampled_watch(void *self, const struct peet_block *block, const uint64_t *values,
    struct peet_direct_watch **out_watch)
{
    (void)values;
    struct locality_plan *plan;

    *out_watch = NULL;
    if (!block->nrefs)
        return 0;
    if (!(block->flags & PEET_BLOCK_SIMPLE))
        return -1;
    plan = locality__plan(self, block);
    if (!plan)
        return -1;
    if (!plan->watch) {
        plan->watch = calloc(1, sizeof *plan->watch); /* due at once, always: no guards */
        if (!plan->watch) {
            locality__no_memory(self);
            return -1;
        }
        plan->watch->turns = 1;
    }
    *out_watch = plan->watch;
    return 0;
}

/** Executions of the block may be taken, up to a part of the pause. */
static int arm(struct locality *self, struct locality_plan *plan, uint32_t id)
{
    struct locality_sampler *s = self->sampler;
    const uint64_t some = s->pause / SHARES / (plan->references ? plan->references : 1);

    if (!plan->armed) {
        if (s->narmed == s->room) {
            size_t room = s->room ? 2 * s->room : 256;
            uint32_t *more = realloc(s->armed, room * sizeof *more);

            if (!more) {
                locality__no_memory(self);
                return -1;
            }
            s->armed = more;
            s->room = room;
        }
        s->armed[s->narmed++] = id;
        plan->armed = 1;
    }
    plan->watch->until = *plan->watch->taken + some + 1;
    return 0;
}

void locality__sampled_turned(struct locality *self, const struct peet_block *block)
{
    struct locality_plan *plan = &self->plans[block->id];

    if (self->sampler->in_burst || self->failed || !plan->watch || !plan->watch->taken)
        return;
    catch_up(self, plan);
    if (self->sampler->passed >= self->sampler->pause)
        begin_burst(self);
    else
        arm(self, plan, block->id);
}

int locality__sampled_due(void *arg, const struct peet_block_event *event, struct peet_direct_watch *which)
{
    struct locality *self = arg;
    struct locality_sampler *s = self->sampler;
    struct locality_plan *plan = &self->plans[event->block->id];

    (void)which;
    if (self->failed)
        return -1;
    if (plan->told > *plan->watch->taken)
        return 0; /* it has been seen */
    if (!s->in_burst) {
        catch_up(self, plan);
        if (s->passed < s->pause && !missed(self, plan))
            return arm(self, plan, event->block->id);
        begin_burst(self);
    }
    if (self->sparse_burst && event->context < self->ncontexts &&
        self->contexts[event->context].burst == s->bursts) { /* what locality__execute() would do */
        plan->all += plan->references;
        sparse_simple(self, &self->contexts[event->context], plan, event);
        locality__sampled_seen(self, plan->references);
    } else {
        locality__execute(self, event);
    }
    plan->told++; /* it will be taken, or block() gets it all the same */
    return 0;
}

int locality__sampled_range(void *arg, const struct peet_block *block, uint64_t references)
{
    struct locality *self = arg;
    struct locality_plan *plan = self->sampler->in_burst ? NULL : locality__plan(self, block);

    if (!plan)
        return -1;
    plan->all += references;
    locality__sampled_sees(self, references);
    return 0;
}
