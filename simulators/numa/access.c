/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A processor's references.  Processors are in order and wait for each reference (sequential consistency): a block
 * takes its cost, hit_cycles for each reference, and the time until each miss is served.
 *
 * Loops: after an iteration without a transaction all its lines are there with the rights that it needs, and nothing
 * but this processor's references touches them until it gives up its turn.  So the iterations that stay in the same
 * lines, and whose references lie at the same lines in the same order, change nothing but counters: LRU's order is that
 * of the last iteration's references, and the other policies' marks are already as a hit leaves them.  They are counted
 * in one step.
 */
#include "numa.h"
#include <stdlib.h>

static uint64_t cost_of(const struct numa *n, const struct peet_block *block)
{
    if (n->cost == COST_SCHEMA)
        return block->cost_cycles;
    return n->cost == COST_UNIT ? 1 : block->ninsns;
}

/* One line.  Returns: cycles until it is served, 0 for a hit */
static inline uint64_t touch(struct numa *n, struct numa_processor *p, uint64_t line, enum peet_sim_dir_op op,
    uint64_t now)
{
    struct peet_sim_tags *t = &p->cache;
    uint64_t slot = p->hints[line & n->hints_mask], stall = 0;
    if (t->numbers[slot] != line || !t->states[slot]) {
        slot = peet_sim_tags_find(t, line);
        if (slot != PEET_SIM_NO_SLOT)
            p->hints[line & n->hints_mask] = (uint32_t)slot;
    }
    const struct peet_sim_cache_row *row = slot == PEET_SIM_NO_SLOT ? NULL : &n->protocol->cache[t->states[slot]][op];
    if (row && row->request == PEET_SIM_NO_REQUEST) {
        if (n->check)
            n->used.cache[t->states[slot]][op]++;
        if (row->next != t->states[slot])
            peet__numa_set(n, p, slot, row->next);
        peet_sim_tags_touch(t, slot);
    } else {
        stall = peet__numa_miss(n, p, line, op, slot, now) - now;
    }
    if (n->check && !n->dead)
        peet__numa_check_reference(n, p, line, op == PEET_SIM_STORE);
    return stall;
}

/* Bytes in a row, line by line.  Returns: cycles lost */
static uint64_t touch_bytes(struct numa *n, struct numa_processor *p, uint64_t address, uint64_t bytes,
    enum peet_sim_dir_op op, uint64_t now)
{
    const uint64_t last = (address + bytes - 1) >> n->line_shift;
    uint64_t line = address >> n->line_shift, stalled = touch(n, p, line, op, now);
    while (__builtin_expect(line != last && !n->dead, 0)) {
        n->site.address = ++line << n->line_shift;
        stalled += touch(n, p, line, op, now + stalled);
    }
    return stalled;
}

/* One reference, of whatever shape.  Returns: cycles lost; adds hit_cycles for each location to *time */
static inline uint64_t refer(struct numa *n, struct numa_processor *p, const struct peet_block *block, uint32_t i,
    const uint64_t *values, uint64_t *time)
{
    const struct peet_ref *ref = &block->refs[i];
    const enum peet_sim_dir_op op = ref->kind == PEET_REF_LOAD ? PEET_SIM_LOAD : PEET_SIM_STORE;
    uint64_t address = values[ref->value], count = 1, stalled;
    if (ref->kind == PEET_REF_PREFETCH)
        return 0;
    if (ref->flags & (PEET_REF_RANGE | PEET_REF_CONDITIONAL)) {
        count = values[ref->value + 1];
        if (ref->flags & PEET_REF_CONDITIONAL)
            count = count != 0;
        if (!count)
            return 0;
    }
    p->stats.reads += ref->kind == PEET_REF_STORE ? 0 : count;
    p->stats.writes += ref->kind == PEET_REF_LOAD ? 0 : count;
    if (n->watched) {
        n->site.block = block;
        n->site.ref = i;
        n->site.address = address;
        n->site.bytes = ref->size_bytes;
    }
    stalled = touch_bytes(n, p, address, count * ref->size_bytes, op, *time);
    *time += stalled + count * n->hit_cycles;
    return stalled;
}

/* A block at a time.  Returns: when it is over; adds what it lost to *stalled */
static inline uint64_t run(struct numa *n, struct numa_processor *p, const struct peet_block *block,
    const uint64_t *values, uint64_t now, uint64_t *stalled)
{
    uint64_t time = now;
    for (uint32_t i = 0; i < block->nrefs && !n->dead; i++)
        *stalled += refer(n, p, block, i, values, &time);
    return time + cost_of(n, block);
}

/* What a callback gives back: its cycles, with the end for the mapper if it waited. */
static uint64_t account(struct numa *n, unsigned hw, uint64_t now, uint64_t end, uint64_t stalled)
{
    peet__numa_report(n);
    if (stalled) {
        n->processors[hw].stats.stall_cycles += stalled;
        n->env->not_ready_until(n->env, hw, end);
    }
    return end - now - stalled;
}

uint64_t peet__numa_block(void *self, unsigned hw, const struct peet_block_event *event, uint64_t now)
{
    struct numa *n = self;
    uint64_t stalled = 0, end;
    peet_sim_ahead_begins(n->ahead, now);
    end = run(n, &n->processors[hw], event->block, event->values, now, &stalled);
    return account(n, hw, now, end, stalled);
}

uint64_t peet__numa_blocks(void *self, unsigned hw, const struct peet_block_event *events, size_t count, uint64_t now,
    uint64_t until, size_t *out_done)
{
    struct numa *n = self;
    uint64_t stalled = 0, time = now;
    size_t i = 0;
    do {
        peet_sim_ahead_begins(n->ahead, time);
        time = run(n, &n->processors[hw], events[i].block, events[i].values, time, &stalled);
    } while (++i < count && time < until && !peet_sim_ahead_went_back(n->ahead));
    *out_done = i;
    return account(n, hw, now, time, stalled);
}

/* How many more iterations of a simple block stay in the lines in which this one lies; at most @most. */
static uint64_t iterations_in_lines(const struct numa *n, const struct peet_block *block, const uint64_t *values,
    const int64_t *strides, uint64_t most)
{
    for (uint32_t i = 0; i < block->nrefs && most; i++) {
        const struct peet_ref *ref = &block->refs[i];
        const int64_t stride = strides[ref->value];
        uint64_t offset = values[ref->value] & (n->line_bytes - 1), stay;
        if (ref->kind == PEET_REF_PREFETCH || !stride)
            continue;
        if (offset + ref->size_bytes > n->line_bytes)
            return 0;
        stay = stride > 0 ? (n->line_bytes - ref->size_bytes - offset) / (uint64_t)stride
                          : offset / (0 - (uint64_t)stride);
        most = stay < most ? stay : most;
    }
    return most;
}

uint64_t peet__numa_loop(void *self, unsigned hw, const struct peet_block_event *event, uint64_t now, uint64_t until,
    uint64_t *out_turns)
{
    struct numa *n = self;
    struct numa_processor *p = &n->processors[hw];
    const struct peet_block *block = event->block;
    uint64_t values[64], stalled = 0, time = now, done = 0, each;
    if (block->nvalues > sizeof values / sizeof *values) { /* one iteration; the others come again */
        *out_turns = 1;
        return peet__numa_block(self, hw, event, now);
    }
    for (uint32_t v = 0; v < block->nvalues; v++)
        values[v] = event->values[v];
    do {
        const uint64_t reads = p->stats.reads, writes = p->stats.writes, before = stalled,
                       misses = p->stats.read_misses + p->stats.write_misses;
        const uint64_t began = time;
        uint64_t more = 0;
        peet_sim_ahead_begins(n->ahead, time);
        time = run(n, p, block, values, time, &stalled);
        done++;
        each = time - began;
        /* the same again, as long as it is */
        if (stalled == before && p->stats.read_misses + p->stats.write_misses == misses &&
            block->flags & PEET_BLOCK_SIMPLE && time < until && !n->check) {
            more = event->turns - done;
            if (each && (until - time - 1) / each + 1 < more)
                more = (until - time - 1) / each + 1;
            more = iterations_in_lines(n, block, values, event->strides, more);
            p->stats.reads += more * (p->stats.reads - reads);
            p->stats.writes += more * (p->stats.writes - writes);
            time += more * each;
            done += more;
        }
        for (uint32_t v = 0; v < block->nvalues; v++)
            values[v] += (uint64_t)event->strides[v] * (more + 1);
    } while (done < event->turns && time < until && !n->dead && !peet_sim_ahead_went_back(n->ahead));
    *out_turns = done;
    return account(n, hw, now, time, stalled);
}

/* ------------------------------------------------------------------------------------------ hits that peet takes */

static uint64_t cost(void *self, const struct peet_block *block)
{
    return cost_of(self, block);
}

static uint32_t find(void *self, unsigned hw, uint64_t line)
{
    struct numa *n = self;
    struct numa_processor *p = &n->processors[hw];
    const uint64_t slot = peet_sim_tags_find(&p->cache, line);
    if (slot == PEET_SIM_NO_SLOT)
        return PEET_SIM_NO_VIEW_SLOT;
    return p->hints[line & n->hints_mask] = (uint32_t)slot;
}

static uint64_t reference(void *self, unsigned hw, uint64_t line, int write, uint64_t now)
{
    struct numa *n = self;
    const uint64_t stall = touch(n, &n->processors[hw], line, write ? PEET_SIM_STORE : PEET_SIM_LOAD, now);
    if (n->dead)
        peet_sim_ahead_stop(n->ahead);
    return stall;
}

static uint64_t whole_block(void *self, unsigned hw, const struct peet_block_event *event, uint64_t now,
    uint64_t *inout_stalled)
{
    struct numa *n = self;
    const uint64_t end = run(n, &n->processors[hw], event->block, event->values, now, inout_stalled);
    if (n->dead)
        peet_sim_ahead_stop(n->ahead);
    return end;
}

static void counted(void *self, unsigned hw, uint64_t reads, uint64_t writes)
{
    struct numa *n = self;
    n->processors[hw].stats.reads += reads;
    n->processors[hw].stats.writes += writes;
}

static void has_stalled(void *self, unsigned hw, uint64_t cycles)
{
    ((struct numa *)self)->processors[hw].stats.stall_cycles += cycles;
}

static void at(void *self, const struct peet_block *block, uint32_t ref, uint64_t address, uint32_t size_bytes)
{
    ((struct numa *)self)->site = (struct numa_site){block, address, ref, size_bytes};
}

static void report(void *self)
{
    peet__numa_report(self);
}

/* Not where somebody asks about each reference or wants to hear of lines that are lost, which is told in the order of all
 * blocks; nor where hits change more than a stamp: the marks of PLRU and RRIP. */
static int direct_table(void *self, struct peet_direct_table *out)
{
    struct numa *n = self;
    struct peet_sim_view *views;
    const struct peet_sim_ahead_machine machine = {.env = n->env,
        .self = n,
        .line_shift = n->line_shift,
        .hints_mask = n->hints_mask,
        .hit_cycles = n->hit_cycles,
        .cost = cost,
        .find = find,
        .refer = reference,
        .block = whole_block,
        .counted = counted,
        .stalled = has_stalled,
        .at = n->watched ? at : NULL,
        .unreported = n->watched ? &n->nreports : NULL,
        .report = n->watched ? report : NULL};
    const uint32_t losses = 1u << PEET_MEMORY_EVICT | 1u << PEET_MEMORY_INVALIDATE;
    if (n->check || n->perfect || n->env->reports & losses || n->processors[0].cache.policy != PEET_SIM_LRU ||
        !(views = calloc(n->nhw, sizeof *views)))
        return -1;
    for (uint32_t i = 0; i < n->nhw; i++) {
        struct numa_processor *p = &n->processors[i];
        views[i] = (struct peet_sim_view){p->keys, p->cache.stamps, &p->cache.clock, p->hints};
    }
    n->ahead = peet_sim_ahead_new(&machine, n->nhw, views, out);
    free(views);
    return n->ahead ? 0 : -1;
}

const struct peet_direct peet__numa_direct = PEET_SIM_AHEAD_DIRECT(direct_table);
