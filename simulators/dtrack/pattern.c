/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Access patterns.  For each reference (or group of them that move together) and structure: the distribution of strides
 * between one execution and the next.  Not all executions are looked at: the first ones of a block, then a few in a row
 * after pauses of pseudo-random length, each standing for those that were left out; of turns of loops those that would be
 * if they came one by one.  A reference is regular if the entropy of its strides is low; a structure's pattern is what
 * most of its accesses are.
 */
#include "dtrack.h"

#include "../common/log2.h"
#include "../common/random.h"

#include <stdlib.h>

struct dtrack_strides *dtrack__strides(struct dtrack *self, struct dtrack_cold *cold)
{
    struct dtrack_strides *s = cold->strides, *before = NULL;

    if (s && s->data == cold->data)
        return s;
    for (; s && s->data != cold->data; s = s->next)
        before = s;
    if (s) {
        before->next = s->next;
    } else {
        s = calloc(1, sizeof *s);
        if (!s) {
            dtrack__no_memory(self);
            return NULL;
        }
        s->data = cold->data;
    }
    s->next = cold->strides; /* the latest comes first */
    cold->strides = s;
    return s;
}

/** A stride that stands for @weight of them.  Strides that come often stay in the table. */
static void add(struct dtrack_strides *s, int64_t stride, uint64_t weight)
{
    uint32_t least = 0;

    s->weight += weight;
    s->samples++;
    for (uint32_t i = 0; i < s->used; i++) {
        if (s->strides[i] == stride) {
            s->weights[i] += weight;
            return;
        }
        if (s->weights[i] < s->weights[least])
            least = i;
    }
    if (s->used < DTRACK_STRIDES) {
        least = s->used++;
    } else {
        s->others++;
        s->other_weight += s->weights[least];
    }
    s->strides[least] = stride;
    s->weights[least] = weight;
}

/** Which executions are looked at must not follow the program's own rhythm, nor depend on what other blocks do: a hash of
 * the seed, the block and the execution. */
static uint64_t random_number(const struct dtrack *self, const struct dtrack_plan *plan)
{
    uint64_t state = self->seed ^ plan->block->pc * 0x9e3779b97f4a7c15u ^ plan->next;

    return peet_sim_random(&state);
}

/** When to look next, after this execution. */
static void set_next_look(const struct dtrack *self, struct dtrack_plan *plan, uint64_t execution)
{
    plan->next = execution + 1;
    if (plan->next < DTRACK_ALWAYS || plan->next % DTRACK_WINDOW)
        return;
    plan->next += (DTRACK_PAUSE / 2 + random_number(self, plan) % DTRACK_PAUSE) / DTRACK_WINDOW * DTRACK_WINDOW;
    plan->unbroken = plan->next;
}

/** The context's execution before this one, if it was looked at and nothing has happened to the block in between that
 * was not. */
static struct dtrack_last *last_of(const struct dtrack_plan *plan, struct dtrack_cold *cold, uint32_t context,
    uint64_t execution, int *out_known)
{
    struct dtrack_last *last = &cold->last[context % DTRACK_CONTEXTS];

    *out_known = last->execution && (last->execution > plan->unbroken || last->execution == execution) &&
        last->context == context && last->data == cold->data;
    return last;
}

/** An execution with these values, so many turns of @strides later. */
static inline __attribute__((always_inline)) void look(struct dtrack *self, struct dtrack_plan *plan, uint32_t context,
    uint64_t execution, const uint64_t *values, const int64_t *strides, uint64_t turns)
{
    const uint64_t weight = execution < DTRACK_ALWAYS ? 1 : DTRACK_PAUSE / DTRACK_WINDOW;

    for (uint32_t c = 0; c < plan->ncells; c++) {
        struct dtrack_cold *cold = &plan->cold[c];
        const uint32_t v = plan->watch->guards[c].value;
        const uint64_t value = values[v] + (strides ? (uint64_t)strides[v] * turns : 0);
        int known;
        struct dtrack_last *last = last_of(plan, cold, context, execution, &known);

        if (known) {
            struct dtrack_strides *s = dtrack__strides(self, cold);

            if (s)
                add(s, (int64_t)(value - last->value), weight);
        }
        *last = (struct dtrack_last){value, execution + 1, cold->data, context};
    }
    set_next_look(self, plan, execution);
}

void dtrack__sample(struct dtrack *self, struct dtrack_plan *plan, const struct peet_block_event *event)
{
    look(self, plan, event->context, plan->executions, event->values, NULL, 0);
}

void dtrack__sample_turns(struct dtrack *self, struct dtrack_plan *plan, const struct peet_block_event *event,
    const uint64_t *values, uint64_t turns)
{
    for (const uint64_t first = plan->executions; plan->next < first + turns;)
        look(self, plan, event->context, plan->next, values, event->strides, plan->next - first);
}

/* ------------------------------------------------------------------------------------------- what it is */

double dtrack__entropy(const struct dtrack_strides *s)
{
    const double all = (double)s->weight;
    double bits = 0;

    for (uint32_t i = 0; i < s->used; i++)
        if (s->weights[i]) {
            double p = (double)s->weights[i] / all;

            bits -= p * peet_sim_log2(p);
        }
    if (s->others) { /* taken for as many different ones */
        double p = (double)s->other_weight / all;

        bits -= p * peet_sim_log2(p / s->others);
    }
    return bits > 0 ? bits : 0;
}

struct dtrack_pattern *dtrack__patterns(const struct dtrack *self)
{
    struct dtrack_pattern *patterns = calloc(self->ntallies + 1, sizeof *patterns);

    if (!patterns)
        return NULL;
    for (uint32_t id = 0; id < self->nplans; id++)
        for (uint32_t c = 0; c < self->plans[id].ncells; c++)
            for (const struct dtrack_strides *s = self->plans[id].cold[c].strides; s; s = s->next) {
                struct dtrack_pattern *p = &patterns[s->data];
                double bits;

                if (!s->weight || s->data >= self->ntallies)
                    continue;
                bits = dtrack__entropy(s);
                p->references++;
                p->accesses += (double)s->accesses;
                p->bits += bits * (double)s->accesses;
                if (bits <= self->regular_bits)
                    p->regular_accesses += (double)s->accesses;
            }
    for (uint32_t id = 0; id < self->ntallies; id++)
        if (patterns[id].accesses > 0)
            patterns[id].bits /= patterns[id].accesses;
    return patterns;
}
