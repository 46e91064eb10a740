/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Turns of loops.  As long as all addresses stay where the hints say, any number of turns is as good as one: the first
 * and the last turn are looked at.  Where they do not, as many turns as stay there are taken together, and the one
 * after them by itself.
 */
#include "dtrack.h"

#include <stdlib.h>
#include <string.h>

uint64_t dtrack__crossings(const struct dtrack *self, uint64_t address, int64_t stride, uint64_t n, uint32_t size_bytes)
{
    const uint64_t mask = self->line_bytes - 1;
    uint64_t period, sum = 0, rest = 0;
    uint32_t shift;

    if (!self->line_bytes || !n)
        return 0;
    if (!(size_bytes & (size_bytes - 1)) && size_bytes <= self->line_bytes) {
        if (!((address | (uint64_t)stride) & (size_bytes - 1)))
            return 0;
        if (stride == size_bytes) /* one wherever a line ends */
            return ((address + n * size_bytes - 1) >> self->line_shift) - (address >> self->line_shift);
    }
    /* offsets in the line come round */
    shift = stride & (int64_t)mask ? self->line_shift - (uint32_t)__builtin_ctzll((uint64_t)stride) : 0;
    period = 1ull << shift;
    for (uint64_t i = 0; i < period && i < n; i++) {
        uint64_t more = (((address + (uint64_t)stride * i) & mask) + size_bytes - 1) >> self->line_shift;

        sum += more;
        rest += i < (n & (period - 1)) ? more : 0;
    }
    return n <= period ? sum : sum * (n >> shift) + rest;
}

/** How many turns, from these values on, does the cell stay where it is?  At least one, which is known to. */
static uint64_t stays(const struct dtrack_cold *cold, uint64_t value, int64_t stride, uint64_t turns)
{
    const int64_t far = INT64_MAX / 2; /* so that nothing wraps round */
    uint64_t room;
    int64_t way;

    if (!stride || turns == 1)
        return turns;
    if (!__builtin_mul_overflow(stride, turns - 1, &way) && way > -far && way < far &&
        value + (uint64_t)way - cold->lo < cold->hi - cold->lo)
        return turns; /* nearly always, and divisions are slow */
    if (stride > 0)
        room = (cold->hi - 1 - value) / (uint64_t)stride;
    else
        room = (value - cold->lo) / -(uint64_t)stride;
    return room + 1 < turns ? room + 1 : turns;
}

/** Of so many turns, the first of which has no mark: how many are there before one may have?  At least one. */
static uint64_t unmarked(const struct peet_direct_guard *cell, uint64_t value, int64_t stride, uint64_t turns)
{
    enum { FAR = 1 << 10 };
    const uint64_t from = value - cell->marks_base, at = from >> cell->marks_shift,
                   to = (from + (uint64_t)stride * (turns - 1)) >> cell->marks_shift;
    uint64_t k = at, n;

    if (!cell->marks || to == at)
        return turns;
    if (stride > 0) {
        while (k < to && k - at < FAR && !cell->marks[k + 1])
            k++;
        n = (((k + 1) << cell->marks_shift) - 1 - from) / (uint64_t)stride + 1; /* lines up to k */
    } else {
        while (k > to && at - k < FAR && !cell->marks[k - 1])
            k--;
        n = (from - (k << cell->marks_shift)) / -(uint64_t)stride + 1;
    }
    return n < turns ? n : turns;
}

/** So many turns in which nothing changes but alignment. */
static void take(struct dtrack *self, struct dtrack_plan *plan, const struct peet_block_event *event,
    const uint64_t *values, uint64_t turns)
{
    for (uint32_t c = 0; c < plan->ncells; c++) {
        const struct peet_direct_guard *cell = &plan->watch->guards[c];
        const struct dtrack_cold *cold = &plan->cold[c];
        uint64_t reads = 0, writes = 0;

        for (unsigned i = cold->first; i < cold->first + cold->n; i++) {
            const struct dtrack_member *m = &plan->members[i];
            uint64_t more = dtrack__crossings(self, values[cell->value] + (uint64_t)m->offset,
                event->strides[cell->value], turns, m->size_bytes);

            reads += more * m->reads;
            writes += more * m->writes;
        }
        if (reads + writes) {
            struct dtrack_tally *t = dtrack__tally(self, cold->data);

            t->reads += reads;
            t->writes += writes;
            t->misaligned += reads + writes;
        }
    }
    dtrack__sample_turns(self, plan, event, values, turns);
    plan->executions += turns;
}

static void advance(const struct peet_block *block, uint64_t *values, const int64_t *strides, uint64_t turns)
{
    for (uint32_t i = 0; i < block->nvalues; i++)
        values[i] += (uint64_t)strides[i] * turns;
}

void dtrack__loop(struct dtrack *self, unsigned hw, const struct peet_block_event *event)
{
    const struct peet_block *block = event->block;
    struct dtrack_plan *plan = dtrack__plan(self, block->id);
    uint64_t few[32], *values = few, turns = event->turns;
    struct peet_block_event one = {block, NULL, event->context, 1, NULL};

    if (!plan || self->failed)
        return;
    if (!block->nrefs) {
        plan->executions += turns;
        return;
    }
    dtrack__catch_up(plan);
    if (block->nvalues > 32)
        values = malloc(block->nvalues * sizeof *values);
    if (!values) {
        dtrack__no_memory(self);
        return;
    }
    memcpy(values, event->values, block->nvalues * sizeof *values);
    one.values = values;
    while (turns && !self->failed) {
        uint64_t n = turns;

        if (plan->made == self->fixed_epoch && !plan->nodd)
            for (uint32_t c = 0; c < plan->ncells && n; c++) {
                const struct dtrack_cold *cold = &plan->cold[c];
                const struct peet_direct_guard *cell = &plan->watch->guards[c];
                const uint64_t value = values[cell->value];
                const int64_t stride = event->strides[cell->value];

                n = value - cold->lo >= cold->hi - cold->lo || dtrack__is_marked(cell, values)
                    ? 0
                    : unmarked(cell, value, stride, stays(cold, value, stride, n));
            }
        else
            n = 0;
        if (n > 1) {
            take(self, plan, event, values, n);
        } else {
            dtrack__slow(self, plan, hw, &one);
            n = 1;
        }
        turns -= n;
        if (turns)
            advance(block, values, event->strides, n);
    }
    dtrack__arm(self, plan);
    if (values != few)
        free(values);
}
