/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Access patterns.  For each reference (or group of them that move together) and structure: the distribution of strides
 * between one execution and the next.  Not all executions are looked at: the first ones of a block, then a few in a row
 * after pauses of pseudo-random length, each standing for those that were left out; turns of loops are counted by
 * arithmetic.  A reference is regular if the entropy of its strides is low; a structure's pattern is what most of
 * its accesses are.
 */
#include "dtrack.h"

#include <math.h>
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

/** xorshift64: which executions are looked at must not follow the program's own rhythm. */
static uint64_t random_number(struct dtrack *self)
{
    self->random ^= self->random << 13;
    self->random ^= self->random >> 7;
    self->random ^= self->random << 17;
    return self->random;
}

/** When to look next, after this execution. */
static void set_next_look(struct dtrack *self, struct dtrack_plan *plan)
{
    plan->next = plan->executions + 1;
    if (plan->next < DTRACK_ALWAYS || plan->next % DTRACK_WINDOW)
        return;
    plan->next += (DTRACK_PAUSE / 2 + random_number(self) % DTRACK_PAUSE) / DTRACK_WINDOW * DTRACK_WINDOW;
    plan->unbroken = plan->next;
}

/** The context's execution before this one, if it was looked at and nothing has happened to the block in between that
 * was not. */
static struct dtrack_last *last_of(const struct dtrack_plan *plan, struct dtrack_cold *cold, uint32_t context,
    int *out_known)
{
    struct dtrack_last *last = &cold->last[context % DTRACK_CONTEXTS];

    *out_known = last->execution && (last->execution > plan->unbroken || last->execution == plan->executions) &&
        last->context == context && last->data == cold->data;
    return last;
}

void dtrack__sample(struct dtrack *self, struct dtrack_plan *plan, const struct peet_block_event *event)
{
    const uint64_t weight = plan->executions < DTRACK_ALWAYS ? 1 : DTRACK_PAUSE / DTRACK_WINDOW;

    for (uint32_t c = 0; c < plan->ncells; c++) {
        struct dtrack_cold *cold = &plan->cold[c];
        uint64_t value = event->values[plan->watch->guards[c].value];
        int known;
        struct dtrack_last *last = last_of(plan, cold, event->context, &known);

        if (known) {
            struct dtrack_strides *s = dtrack__strides(self, cold);

            if (s)
                add(s, (int64_t)(value - last->value), weight);
        }
        *last = (struct dtrack_last){value, plan->executions + 1, cold->data, event->context};
    }
    set_next_look(self, plan);
}

void dtrack__sample_turns(struct dtrack *self, struct dtrack_plan *plan, const struct peet_block_event *event,
    const uint64_t *values, uint64_t turns)
{
    for (uint32_t c = 0; c < plan->ncells; c++) {
        struct dtrack_cold *cold = &plan->cold[c];
        struct dtrack_strides *s = dtrack__strides(self, cold);
        uint64_t value = values[plan->watch->guards[c].value];
        int64_t stride = event->strides[plan->watch->guards[c].value];
        int known;
        struct dtrack_last *last = last_of(plan, cold, event->context, &known);

        if (!s)
            return;
        if (known)
            add(s, (int64_t)(value - last->value), 1);
        add(s, stride, turns - 1);
        *last = (struct dtrack_last){
            value + (uint64_t)stride * (turns - 1), plan->executions + turns, cold->data, event->context};
    }
}

/* ------------------------------------------------------------------------------------------- what it is */

double dtrack__entropy(const struct dtrack_strides *s)
{
    const double all = (double)s->weight;
    double bits = 0;

    for (uint32_t i = 0; i < s->used; i++)
        if (s->weights[i]) {
            double p = (double)s->weights[i] / all;

            bits -= p * log2(p);
        }
    if (s->others) { /* taken for as many different ones */
        double p = (double)s->other_weight / all;

        bits -= p * log2(p / s->others);
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
