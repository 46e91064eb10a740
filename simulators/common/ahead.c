/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blocks as groups of references that lie together, their hits, and what happens in a processor's turn.  Invariants:
 *
 *   1. A block that begins at run.until or later is executed only if each of its lines is there with the right that
 *      is needed, and then it changes nothing but run.log, run.stamp, run.time and the run's counts.  Any other block
 *      waits until it is due.
 *   2. used[slot] is later than its run's checkpoint.stamp if and only if the slot was used since the checkpoint.
 *   3. An execution advances the stamp by the block's references, and by one for each line more that they lie in.  So
 *      lines are in the order of their last use, whichever way a block is taken.
 */
#include "ahead.h"
#include "iterations.h"
#include <stdlib.h>
#include <string.h>

enum {
    REFS_MOST = 255,
    LOG = 4096,
    LOG_ROOM = 4 * REFS_MOST + PEET_DIRECT_LOOKS,
    CAUTIOUS_EVENTS = 32,
    LOOP_TIME = 1 << 24 /* that a loop may go on beyond a run's `stop` */
};

/* A reference: so far after the beginning of its group. */
struct ref {
    uint16_t offset, bytes;
    uint8_t group, number; /* of the block's */
    uint8_t either;        /* PEET_SIM_MAY_WRITE: it only reads */
    uint8_t before;        /* so many references of the block come before it */
};
/* References that lie together: one look for all. */
struct group {
    uint16_t value, before, span; /* as in struct peet_direct_look */
    uint8_t last, either, name;
};
struct peet_sim_ahead_block {
    const struct peet_block *block;
    uint64_t time;
    uint32_t reads, writes;
    uint16_t nrefs, ngroups;
    struct group groups[PEET_DIRECT_LOOKS];
    struct ref refs[];
};

static struct peet_sim_ahead_context *context_of(const struct peet_direct_run *run)
{
    return (struct peet_sim_ahead_context *)((uintptr_t)run - offsetof(struct peet_sim_ahead_context, run));
}

static unsigned number_of(const struct peet_sim_ahead_context *c)
{
    return (unsigned)(c - c->ahead->contexts);
}

static struct peet_sim_ahead *ahead_of(void *self)
{
    return *(struct peet_sim_ahead **)self;
}

static unsigned shift_of(const struct peet_sim_ahead_context *c)
{
    return c->ahead->machine.clock_shift;
}

/* The end of a block, as a time of the run. */
static uint64_t limit_of(const struct peet_sim_ahead_context *c, uint64_t now, uint64_t until)
{
    if (until <= now)
        return 0;
    return until - now < 1ull << 40 ? (until - now) << shift_of(c) : UINT64_MAX;
}

/* The clock at a time of the run. */
static uint64_t clock_of(const struct peet_sim_ahead_context *c, uint64_t time)
{
    return c->run.now + (time >> shift_of(c));
}

/* ------------------------------------------------------------------------------------------ life and death */

static int other(struct peet_direct_run *run, uint32_t id);
static int loop(struct peet_direct_run *run, uint32_t id, uint64_t iterations, const int64_t *strides);
static uint64_t iterations_of(struct peet_direct_run *run, const struct peet_block *block, const uint64_t *values,
    const int64_t *strides, uint64_t iterations);

struct peet_sim_ahead *peet_sim_ahead_new(const struct peet_sim_ahead_machine *machine, uint32_t ncontexts,
    const struct peet_sim_view *views, struct peet_direct_table *out_table)
{
    struct peet_sim_ahead *const a = calloc(1, sizeof *a);
    if (!a || !(a->contexts = calloc(ncontexts, sizeof *a->contexts))) {
        free(a);
        return NULL;
    }
    a->machine = *machine;
    a->ncontexts = ncontexts;
    for (uint32_t i = 0; i < ncontexts; i++) {
        struct peet_sim_ahead_context *const c = &a->contexts[i];
        if (!(c->run.log_begin = malloc((LOG + LOG_ROOM) * sizeof *c->run.log_begin))) {
            peet_sim_ahead_free(a);
            return NULL;
        }
        c->run.log = c->run.log_begin;
        c->run.log_end = c->run.log_begin + LOG;
        c->run.machine = a;
        c->run.hints = views[i].hints;
        c->run.keys = views[i].keys;
        c->run.used = views[i].used;
        c->clock = views[i].clock;
        c->ahead = a;
    }
    /* A single processor is never rolled back, and needs no log. */
    *out_table = (struct peet_direct_table){.whole_cycles = machine->clock_shift == 0,
        .clock_shift = machine->clock_shift,
        .hint_mask = machine->hints_mask,
        .line_shift = machine->line_shift,
        .other = other,
        .loop = loop,
        .iterations = iterations_of,
        .unreported = machine->unreported,
        .paths = machine->paths,
        .logged = ncontexts > 1};
    return a;
}

void peet_sim_ahead_free(struct peet_sim_ahead *a)
{
    if (!a)
        return;
    for (uint32_t i = 0; i < a->ncontexts; i++)
        free(a->contexts[i].run.log_begin);
    for (uint32_t id = 0; id < a->nblocks; id++)
        free(a->blocks[id]);
    free(a->blocks);
    free(a->contexts);
    free(a);
}

void peet_sim_ahead_stop(struct peet_sim_ahead *a)
{
    if (a)
        a->over = 1;
}

/* ------------------------------------------------------------------------------------------ blocks */

/* Does the reference join the group?  References whose distance never changes may. */
static int joins(const struct peet_block *block, uint32_t i, struct group *g, const uint64_t *values,
    int64_t line_bytes)
{
    const struct peet_ref *const ref = &block->refs[i];
    const int64_t from = (int64_t)(values[ref->value] - (values[g->value] - g->before)), low = from < 0 ? from : 0;
    int64_t high = from + ref->size_bytes;
    if (!ref->group || ref->group != g->name || from < -line_bytes || from > line_bytes)
        return 0;
    high = high > g->span ? high : g->span;
    if (high - low > line_bytes / 2)
        return 0;
    g->before = (uint16_t)(g->before - low);
    g->span = (uint16_t)(high - low);
    g->last = (uint8_t)(i + 1);
    if (ref->kind != PEET_REF_LOAD)
        g->either = 0;
    return 1;
}

/* In the order of last use: the code gives their stamps in this order. */
static void sort_groups(struct peet_sim_ahead_block *k)
{
    uint8_t place_of[PEET_DIRECT_LOOKS], names[PEET_DIRECT_LOOKS];
    for (uint32_t g = 0; g < k->ngroups; g++)
        names[g] = (uint8_t)g;
    for (uint32_t g = 1; g < k->ngroups; g++)
        for (uint32_t j = g; j > 0 && k->groups[j].last < k->groups[j - 1].last; j--) {
            const struct group one = k->groups[j];
            const uint8_t name = names[j];
            k->groups[j] = k->groups[j - 1], k->groups[j - 1] = one;
            names[j] = names[j - 1], names[j - 1] = name;
        }
    for (uint32_t g = 0; g < k->ngroups; g++)
        place_of[names[g]] = (uint8_t)g;
    for (uint32_t i = 0; i < k->nrefs; i++)
        k->refs[i].group = place_of[k->refs[i].group];
}

/* Its groups, and which reference is in which.  Returns: 0, or -1: there are too many, or one has no size */
static int find_groups(struct peet_sim_ahead_block *k, const uint64_t *values, int64_t line_bytes)
{
    const struct peet_block *const block = k->block;
    for (uint32_t i = 0; i < block->nrefs; i++) {
        const struct peet_ref *const ref = &block->refs[i];
        uint32_t g = 0;
        if (ref->kind == PEET_REF_PREFETCH)
            continue;
        if (!ref->size_bytes || ref->size_bytes > line_bytes)
            return -1;
        while (g < k->ngroups && !joins(block, i, &k->groups[g], values, line_bytes))
            g++;
        if (g == PEET_DIRECT_LOOKS)
            return -1;
        if (g == k->ngroups)
            k->groups[k->ngroups++] = (struct group){.value = ref->value,
                .span = ref->size_bytes,
                .last = (uint8_t)(i + 1),
                .either = ref->kind == PEET_REF_LOAD ? PEET_SIM_MAY_WRITE : 0,
                .name = ref->group};
        k->refs[k->nrefs] = (struct ref){.bytes = (uint16_t)ref->size_bytes,
            .group = (uint8_t)g,
            .number = (uint8_t)i,
            .either = ref->kind == PEET_REF_LOAD ? PEET_SIM_MAY_WRITE : 0,
            .before = (uint8_t)k->nrefs};
        k->nrefs++;
    }
    for (uint32_t i = 0; i < k->nrefs; i++) { /* groups have their beginnings now */
        const struct group *const g = &k->groups[k->refs[i].group];
        k->refs[i].offset = (uint16_t)(values[block->refs[k->refs[i].number].value] - (values[g->value] - g->before));
    }
    return 0;
}

static int room_for(struct peet_sim_ahead *a, uint32_t id)
{
    struct peet_sim_ahead_block **blocks;
    uint32_t n = a->nblocks ? a->nblocks : 256;
    if (id < a->nblocks)
        return 0;
    while (n <= id)
        n *= 2;
    if (!(blocks = realloc(a->blocks, n * sizeof(*blocks))))
        return -1;
    memset(blocks + a->nblocks, 0, (n - a->nblocks) * sizeof(*blocks));
    a->blocks = blocks;
    a->nblocks = n;
    return 0;
}

static uint64_t cost_of(const struct peet_sim_ahead *a, const struct peet_sim_ahead_block *k)
{
    return a->machine.cost(a->machine.self, k->block) + (k->nrefs * a->machine.hit_cycles << a->machine.clock_shift);
}

/* What is known of the block; made when it is first asked for.  NULL: it does not go this way, or no memory */
static const struct peet_sim_ahead_block *block_of(struct peet_sim_ahead *a, const struct peet_block *block,
    const uint64_t *values)
{
    struct peet_sim_ahead_block *k;
    if (block->id < a->nblocks && a->blocks[block->id])
        return a->blocks[block->id];
    if (!(block->flags & PEET_BLOCK_SIMPLE) || block->nrefs > REFS_MOST || room_for(a, block->id) ||
        !(k = calloc(1, sizeof *k + block->nrefs * sizeof k->refs[0])))
        return NULL;
    k->block = block;
    k->reads = block->reads + block->modifies;
    k->writes = block->writes + block->modifies;
    if (find_groups(k, values, (int64_t)1 << a->machine.line_shift)) {
        free(k);
        return NULL;
    }
    sort_groups(k);
    k->time = cost_of(a, k);
    return a->blocks[block->id] = k;
}

int peet_sim_ahead_block(void *self, const struct peet_block *block, const uint64_t *values,
    struct peet_direct_block *out_block)
{
    const struct peet_sim_ahead_block *const k = block_of(ahead_of(self), block, values);
    if (!k)
        return -1;
    *out_block = (struct peet_direct_block){.time = k->time,
        .varies = ahead_of(self)->machine.varies ? &k->time : NULL,
        .stamps = block->nrefs,
        .nlooks = k->ngroups,
        .whole = 1,
        .reads = k->reads,
        .writes = k->writes};
    for (uint32_t g = 0; g < k->ngroups; g++)
        out_block->looks[g] = (struct peet_direct_look){.value = k->groups[g].value,
            .before = k->groups[g].before,
            .span = k->groups[g].span,
            .last = k->groups[g].last,
            .either = k->groups[g].either};
    return 0;
}

/* ------------------------------------------------------------------------------------------ hits */

/* Is the line there with the right?  Returns: its slot, or PEET_SIM_NO_VIEW_SLOT */
static inline uint32_t slot_of(const struct peet_direct_run *run, uint64_t line, uint64_t either)
{
    const struct peet_sim_ahead_machine *const m = &context_of(run)->ahead->machine;
    const uint64_t want = line << PEET_SIM_KEY_SHIFT | PEET_SIM_MAY;
    uint32_t slot = run->hints[line & m->hints_mask];
    if (__builtin_expect((run->keys[slot] | either) == want, 1))
        return slot;
    if (run->keys[slot] >> PEET_SIM_KEY_SHIFT != line || !(run->keys[slot] & PEET_SIM_MAY))
        slot = m->find(m->self, number_of(context_of(run)), line);
    return slot != PEET_SIM_NO_VIEW_SLOT && (run->keys[slot] | either) == want ? slot : PEET_SIM_NO_VIEW_SLOT;
}

static inline void use(struct peet_direct_run *run, uint32_t slot, uint64_t stamp)
{
    *run->log++ = (struct peet_direct_use){slot, run->used[slot]};
    run->used[slot] = stamp;
}

/* All lines are there with their rights, and some references may lie in two. */
static __attribute__((noinline)) void hit_straddling(struct peet_direct_run *run, const struct peet_sim_ahead_block *k,
    const uint64_t *begins, uint32_t (*slots)[2])
{
    const uint64_t line_bytes = 1ull << context_of(run)->ahead->machine.line_shift;
    for (const struct ref *r = k->refs, *end = r + k->nrefs; r != end; r++) {
        const uint64_t offset = (begins[r->group] & (line_bytes - 1)) + r->offset;
        use(run, slots[r->group][offset >= line_bytes], run->stamp + r->number + 1);
        if (offset < line_bytes && offset + r->bytes > line_bytes)
            use(run, slots[r->group][1], ++run->stamp + r->number + 1);
    }
}

/* One execution, if all of it hits.  @begins: of the groups.  Its own time, stamps and counts are left to the caller.
 * Returns: whether it has happened */
static int hit_once(struct peet_direct_run *run, const struct peet_sim_ahead_block *k, const uint64_t *begins)
{
    const unsigned shift = context_of(run)->ahead->machine.line_shift;
    const uint64_t line_bytes = 1ull << shift;
    uint32_t slots[PEET_DIRECT_LOOKS][2];
    int straddles = 0;
    for (uint32_t g = 0; g < k->ngroups; g++) {
        const uint64_t line = begins[g] >> shift;
        if ((slots[g][0] = slot_of(run, line, k->groups[g].either)) == PEET_SIM_NO_VIEW_SLOT)
            return 0;
        if ((begins[g] & (line_bytes - 1)) + k->groups[g].span <= line_bytes)
            continue;
        straddles = 1;
        if ((slots[g][1] = slot_of(run, line + 1, k->groups[g].either)) == PEET_SIM_NO_VIEW_SLOT)
            return 0;
    }
    if (straddles)
        hit_straddling(run, k, begins, slots);
    else
        for (uint32_t g = 0; g < k->ngroups; g++)
            use(run, slots[g][0], run->stamp + k->groups[g].last);
    return 1;
}

static void take_back(struct peet_direct_run *run, const struct peet_direct_use *to)
{
    while (run->log != to) {
        run->log--;
        run->used[run->log->frame] = run->log->used;
    }
}

/* -------------------------------------------------------------------------------------- what happens in its turn */

/* After a block that may have waited; @stalled: before it. */
static void goes_on(struct peet_direct_run *run, uint64_t stalled)
{
    struct peet_sim_ahead_context *const c = context_of(run);
    if (c->ahead->over || c->ahead->went_back) /* somebody else may be due before */
        run->limit = 0;
    if (c->cautious && c->stalled != stalled) { /* others are likely to take lines before it goes on */
        c->cautious--;
        run->limit = 0;
    }
}

static void begins_in_turn(struct peet_direct_run *run)
{
    struct peet_sim_ahead_context *const c = context_of(run);
    c->ahead->went_back = 0;
    c->ahead->began = clock_of(c, run->time);
}

/* One execution in its turn, whatever it takes.  @begins: of the groups.  Its own time, stamps and counts are left to
 * the caller. */
static void happen(struct peet_direct_run *run, const struct peet_sim_ahead_block *k, const uint64_t *begins)
{
    struct peet_sim_ahead_context *const c = context_of(run);
    const struct peet_sim_ahead_machine *const m = &c->ahead->machine;
    const uint64_t line_bytes = 1ull << m->line_shift, before = c->stalled;
    uint64_t stalled = 0;
    begins_in_turn(run);
    for (const struct ref *r = k->refs, *end = r + k->nrefs; r != end; r++) {
        const uint64_t address = begins[r->group] + r->offset, last = (address + r->bytes - 1) >> m->line_shift;
        uint64_t line = address >> m->line_shift;
        const uint32_t slot = run->hints[line & m->hints_mask];
        if (__builtin_expect((run->keys[slot] | r->either) == (line << PEET_SIM_KEY_SHIFT | PEET_SIM_MAY) &&
                    (address & (line_bytes - 1)) + r->bytes <= line_bytes,
                1)) {
            run->used[slot] = run->stamp + r->number + 1;
            continue;
        }
        for (uint64_t from = address, end_of;; from = end_of) {
            end_of = (line + 1) << m->line_shift;
            *c->clock = run->stamp + r->number;
            if (m->at)
                m->at(m->self, k->block, r->number, from, r->bytes);
            stalled += m->refer(m->self, number_of(c), line, r->either == 0,
                c->ahead->began + r->before * m->hit_cycles + stalled);
            if (*c->clock > run->stamp + r->number + 1) /* other lines came with it, and are later */
                run->stamp = *c->clock - r->number - 1;
            if (line == last || c->ahead->over)
                break;
            line++;
            run->stamp++;
        }
    }
    run->time += stalled << shift_of(c);
    c->stalled += stalled;
    goes_on(run, before);
}

static int other(struct peet_direct_run *run, uint32_t id)
{
    struct peet_sim_ahead *const a = context_of(run)->ahead;
    const struct peet_sim_ahead_block *const k = a->blocks[id];
    if (!a->runs_ahead)
        run->log = run->log_begin; /* nothing will be undone */
    if (run->time >= run->until || a->over) {
        if (!a->over && run->log < run->log_end && hit_once(run, k, run->addresses))
            return 0;
        run->limit = 0; /* its turn comes */
        run->waits = !a->over;
        return -1;
    }
    happen(run, k, run->addresses);
    if (run->table->done)
        run->table->done(run, k->time, k->block->nrefs, k->reads, k->writes);
    return 0;
}

/* ------------------------------------------------------------------------------------------ loops */

/* Iterations as long as they hit and begin before the limit.  @begins: of the groups in the first one; @done: so many
 * have happened.  Returns: how many have then */
static uint64_t iterations_hit(struct peet_direct_run *run, const struct peet_sim_ahead_block *k,
    const uint64_t *begins, const int64_t *strides, uint64_t done, uint64_t iterations)
{
    const unsigned shift = context_of(run)->ahead->machine.line_shift;
    while (done < iterations && run->time < run->limit && run->log < run->log_end) {
        uint64_t at[PEET_DIRECT_LOOKS], n = iterations - done;
        uint32_t slots[PEET_DIRECT_LOOKS];
        int straddles = 0;
        for (uint32_t g = 0; g < k->ngroups; g++) {
            const struct group *const group = &k->groups[g];
            const int64_t stride = strides[group->value];
            at[g] = begins[g] + (uint64_t)stride * done;
            if ((slots[g] = slot_of(run, at[g] >> shift, group->either)) == PEET_SIM_NO_VIEW_SLOT)
                return done;
            const int64_t within = peet_sim_iterations_within(1ull << shift, group->span, at[g], stride, n);
            straddles |= within == PEET_SIM_STRADDLES;
            n = within == PEET_SIM_STRADDLES ? n : (uint64_t)within;
        }
        if (straddles && !hit_once(run, k, at))
            return done;
        n = straddles ? 1 : peet_sim_iterations_before(run->limit, run->time, k->time, n);
        for (uint32_t g = 0; g < k->ngroups && !straddles; g++)
            use(run, slots[g], run->stamp + (n - 1) * k->block->nrefs + k->groups[g].last);
        run->stamp += n * k->block->nrefs;
        run->time += n * k->time;
        run->reads += n * k->reads;
        run->writes += n * k->writes;
        done += n;
    }
    return done;
}

/* Iterations that begin before another processor is due, whatever they take.  Returns: how many */
static uint64_t iterations_in_order(struct peet_direct_run *run, const struct peet_sim_ahead_block *k,
    const uint64_t *begins, const int64_t *strides, uint64_t iterations)
{
    struct peet_sim_ahead_context *const c = context_of(run);
    const uint64_t limit = run->limit;
    uint64_t done = 0, at[PEET_DIRECT_LOOKS];
    unsigned waits = c->waits;
    c->waits = 0;
    run->limit = run->until < limit ? run->until : limit;
    while (!c->ahead->over) {
        run->log = run->log_begin; /* nothing of it will be undone */
        if (!waits)                /* else it is known that the first one is no hit */
            done = iterations_hit(run, k, begins, strides, done, iterations);
        if (done == iterations || run->time >= run->limit)
            break;
        if (!waits && run->log >= run->log_end)
            continue;
        waits = 0;
        for (uint32_t g = 0; g < k->ngroups; g++)
            at[g] = begins[g] + (uint64_t)strides[k->groups[g].value] * done;
        happen(run, k, at);
        done++;
        run->stamp += k->block->nrefs;
        run->time += k->time;
        run->reads += k->reads;
        run->writes += k->writes;
    }
    if (run->limit)
        run->limit = limit;
    run->final = 1;
    return done;
}

static int loop(struct peet_direct_run *run, uint32_t id, uint64_t iterations, const int64_t *strides)
{
    struct peet_sim_ahead *const a = context_of(run)->ahead;
    const uint64_t time = run->time, stamp = run->stamp, reads = run->reads, writes = run->writes;
    if (a->ncontexts == 1) { /* nothing will be undone */
        const uint64_t limit = run->limit, until = run->until;
        if (limit != UINT64_MAX && (!run->stop || iterations > LOOP_TIME / (a->blocks[id]->time + 1)))
            return -1;
        run->limit = run->until = UINT64_MAX; /* a time at which the machine is asked again need not be kept exactly */
        iterations_in_order(run, a->blocks[id], run->addresses, strides, iterations);
        run->until = until;
        if (run->limit)
            run->limit = limit;
        run->reads = reads, run->writes = writes; /* peet_sim_ahead_executed() */
        return 0;
    }
    const struct peet_direct_use *const log = run->log;
    if (iterations_hit(run, a->blocks[id], run->addresses, strides, 0, iterations) == iterations)
        return 0;
    take_back(run, log);
    run->time = time, run->stamp = stamp, run->reads = reads, run->writes = writes;
    return -1; /* it comes to iterations_of() */
}

static uint64_t iterations_of(struct peet_direct_run *run, const struct peet_block *block, const uint64_t *values,
    const int64_t *strides, uint64_t iterations)
{
    struct peet_sim_ahead_context *const c = context_of(run);
    const struct peet_sim_ahead_block *const k = block_of(c->ahead, block, values);
    uint64_t begins[PEET_DIRECT_LOOKS];
    if (!k)
        return 0;
    for (uint32_t g = 0; g < k->ngroups; g++)
        begins[g] = values[k->groups[g].value] - k->groups[g].before;
    if (run->time < run->until)
        return iterations_in_order(run, k, begins, strides, iterations);
    const uint64_t done = iterations_hit(run, k, begins, strides, 0, iterations);
    if (done < iterations && run->time < run->limit) {
        run->limit = 0; /* its turn comes */
        c->waits = 1;
    }
    return done;
}

/* ------------------------------------------------------------------------------------------ what peet calls */

static struct peet_direct_run *begin(struct peet_sim_ahead *a, unsigned hw, uint64_t now, uint64_t until,
    uint64_t limit)
{
    struct peet_sim_ahead_context *const c = &a->contexts[hw];
    c->run.now = now;
    c->stalled = 0;
    c->run.time = c->rest;
    c->run.until = a->over ? 0 : limit_of(c, now, until);
    c->run.limit = a->over ? 0 : limit_of(c, now, limit);
    c->run.stamp = *c->clock;
    c->run.reads = c->run.writes = 0;
    if (!a->runs_ahead)
        c->run.log = c->run.log_begin;
    return &c->run;
}

struct peet_direct_run *peet_sim_ahead_begin(void *self, unsigned hw, uint64_t now, uint64_t until)
{
    return begin(ahead_of(self), hw, now, until, until);
}

struct peet_direct_run *peet_sim_ahead_ahead(void *self, unsigned hw, uint64_t now, uint64_t until, uint64_t limit)
{
    ahead_of(self)->runs_ahead = 1;
    return begin(ahead_of(self), hw, now, until, limit);
}

void peet_sim_ahead_event(void *self, unsigned hw, struct peet_direct_run *run, const struct peet_block_event *event)
{
    struct peet_sim_ahead *const a = ahead_of(self);
    struct peet_sim_ahead_context *const c = &a->contexts[hw];
    const uint64_t before = c->stalled;
    begins_in_turn(run);
    *c->clock = run->stamp;
    run->time += (a->machine.block(a->machine.self, hw, event, a->began, &c->stalled) - a->began) << shift_of(c);
    run->stamp = *c->clock;
    peet_sim_ahead_report(self); /* before observers see the block */
    goes_on(run, before);
}

void peet_sim_ahead_pause(void *self, unsigned hw)
{
    const struct peet_sim_ahead_context *const c = &ahead_of(self)->contexts[hw];
    *c->clock = c->run.stamp;
}

uint64_t peet_sim_ahead_end(void *self, unsigned hw)
{
    struct peet_sim_ahead *const a = ahead_of(self);
    struct peet_sim_ahead_context *const c = &a->contexts[hw];
    const struct peet_sim_ahead_machine *const m = &a->machine;
    const uint64_t cycles = c->run.time >> m->clock_shift;
    *c->clock = c->run.stamp;
    c->rest = c->run.time & ((1ull << m->clock_shift) - 1);
    m->counted(m->self, hw, c->run.reads, c->run.writes);
    if (!m->stalled || !c->stalled)
        return cycles;
    m->stalled(m->self, hw, c->stalled);
    m->env->not_ready_until(m->env, hw, c->run.now + cycles);
    return cycles - c->stalled;
}

uint64_t peet_sim_ahead_undo(void *self, unsigned hw, uint64_t instructions)
{
    struct peet_sim_ahead *const a = ahead_of(self);
    struct peet_sim_ahead_context *const c = &a->contexts[hw];
    struct peet_direct_run *const run = &c->run;
    (void)instructions;
    take_back(run, run->log_begin);
    a->machine.counted(a->machine.self, hw, run->checkpoint.reads - run->reads, run->checkpoint.writes - run->writes);
    run->time = run->checkpoint.time;
    run->stamp = *c->clock = run->checkpoint.stamp;
    run->reads = run->checkpoint.reads;
    run->writes = run->checkpoint.writes;
    c->rest = run->time & ((1ull << a->machine.clock_shift) - 1);
    if (clock_of(c, run->time) >= a->began) /* nothing was right of what it did after its transaction */
        c->cautious = CAUTIOUS_EVENTS;
    return clock_of(c, run->time);
}

void peet_sim_ahead_costs(struct peet_sim_ahead *a, unsigned by)
{
    for (unsigned hw = 0; hw < a->ncontexts; hw++)
        if (hw != by)
            peet_sim_ahead_go_back(a, by, hw);
    for (uint32_t id = 0; id < a->nblocks; id++)
        if (a->blocks[id])
            a->blocks[id]->time = cost_of(a, a->blocks[id]);
}

void peet_sim_ahead_executed(void *self, const struct peet_block *block, uint64_t times)
{
    const struct peet_sim_ahead *const a = ahead_of(self);
    if (a->ncontexts == 1) /* else each execution is counted by its processor */
        a->machine.counted(a->machine.self, 0, (block->reads + block->modifies) * times,
            (block->writes + block->modifies) * times);
}

void peet_sim_ahead_report(void *self)
{
    const struct peet_sim_ahead_machine *const m = &ahead_of(self)->machine;
    if (m->report && *m->unreported != 0)
        m->report(m->self);
}

void peet_sim_ahead_go_back(struct peet_sim_ahead *a, unsigned by, unsigned hw)
{
    const struct peet_direct_table *const table = a->contexts[hw].run.table;
    if (!table || !table->go_back || a->contexts[hw].run.final) /* final: nothing was done ahead */
        return;
    a->went_back |= table->go_back(table->host, hw, a->began + (hw < by));
}
