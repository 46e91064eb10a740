/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A follower whose machine shows the tags of its caches (<peet/direct.h>) need not be called for each block.  A block is a
 * few probes: if each of them finds its line with the permission that it needs, the lines are stamped, and time passes.
 * Only then does the machine get a block, or the iterations of a loop.
 *
 *   1. The leader decides in which order blocks come, and nothing is ever undone.  So the machine is told that all is due:
 *      it executes each block when it is given it.
 *   2. The run of a hardware context stays open from its first block to the end.  Its clock is that of the follower:
 *      run->now and run->time.  All other runs are paused before the machine is called for one of them.
 *
 * Called by queue.c.
 */
#include "engine/follow.h"

#include <stdlib.h>

static void done(struct peet_direct_run *run, uint64_t time, uint64_t stamps, uint64_t reads, uint64_t writes)
{
    (void)run, (void)time, (void)stamps, (void)reads, (void)writes;
}

struct peet_follow *peet__follow_new(const struct peet_module *module, void *machine, unsigned nhw)
{
    const struct peet_direct *ops = module->direct;
    struct peet_follow *f;

    if (!ops || ops->abi != PEET_DIRECT_ABI || !ops->table || !ops->pause || !(f = calloc(1, sizeof *f)))
        return NULL;
    if (ops->table(machine, &f->table) || !f->table.logged || !f->table.other || !f->table.iterations) {
        free(f);
        return NULL;
    }
    f->ops = ops;
    f->machine = machine;
    f->nhw = nhw;
    f->runs = calloc(nhw, sizeof *f->runs);
    f->running = calloc(nhw, sizeof *f->running);
    if (!f->runs || !f->running) {
        peet__follow_free(f);
        return NULL;
    }
    f->table.done = done;
    return f;
}

void peet__follow_free(struct peet_follow *f)
{
    if (!f)
        return;
    for (uint32_t id = 0; id < f->nblocks; id++)
        free(f->blocks[id]);
    free(f->blocks);
    free(f->runs);
    free(f->running);
    free(f);
}

/** What the machine says of a block.  NULL: out of memory */
static struct follow_block *describe(const struct peet_follow *f, const struct peet_block_event *event)
{
    struct peet_direct_block d;
    const int known = event->block->flags & PEET_BLOCK_SIMPLE && event->values &&
        !f->ops->block(f->machine, event->block, event->values, &d);
    struct follow_block *k = calloc(1, sizeof *k + (known ? d.nlooks : 0) * sizeof k->looks[0]);

    if (!k)
        return NULL;
    k->as_event = !known;
    if (!known)
        return k;
    k->time = d.time;
    k->stamps = d.stamps;
    k->reads = d.reads;
    k->writes = d.writes;
    k->nlooks = d.nlooks;
    for (unsigned i = 0; i < d.nlooks; i++)
        k->looks[i] = (struct follow_look){d.looks[i].units, d.looks[i].value, d.looks[i].before, d.looks[i].span,
            d.looks[i].last, d.looks[i].either, d.looks[i].later};
    return k;
}

const struct follow_block *peet__follow_ask(struct peet_follow *f, const struct peet_block_event *event)
{
    const uint32_t id = event->block->id;
    uint32_t n = f->nblocks ? f->nblocks : 1024;

    while (n <= id)
        n *= 2;
    if (n != f->nblocks) {
        struct follow_block **blocks = realloc(f->blocks, n * sizeof *blocks);

        if (!blocks)
            return NULL;
        for (uint32_t i = f->nblocks; i < n; i++)
            blocks[i] = NULL;
        f->blocks = blocks;
        f->nblocks = n;
    }
    if (!f->blocks[id])
        f->blocks[id] = describe(f, event);
    return f->blocks[id];
}

/** What others may look at is right: those that have had blocks since are paused, and the follower's clocks are theirs. */
static void settle(struct peet_map_module *m)
{
    struct peet_follow *f = m->follow;

    for (unsigned hw = 0; hw < f->nhw; hw++)
        if (f->running[hw]) {
            const uint64_t clock = peet__follow_clock(f->runs[hw]), before = m->clocks[hw];

            if (clock > before)
                m->clocks[hw] = before + peet__map_take_time(m, hw, before, clock - before, "direct");
            f->ops->pause(f->machine, hw);
            f->running[hw] = 0;
        }
}

void peet__follow_miss(struct peet_map_module *m, struct peet_direct_run *run, const struct follow_block *k,
    const struct peet_block_event *event)
{
    struct peet_follow *f = m->follow;

    settle(m);
    m->map->current = run->hw;
    f->running[run->hw] = 1;
    if (!run->limit) /* it has failed */
        return;
    if (k && !k->as_event) {
        for (unsigned i = 0; i < k->nlooks; i++)
            run->addresses[i] = event->values[k->looks[i].value] - k->looks[i].before;
        if (f->table.other(run, event->block->id) >= 0) {
            run->time += k->time;
            run->stamp += k->stamps;
            run->reads += k->reads;
            run->writes += k->writes;
            return;
        }
        if (!run->limit)
            return;
    }
    f->ops->event(f->machine, run->hw, run, event);
}

enum { LOOP_VALUES = 256 };

/** A look's frame for so many iterations from here, as far as it finds its line.  Returns: how many of them, 0: none */
static uint64_t look_ahead(const struct peet_direct_run *run, const struct follow_look *look, uint64_t begin,
    int64_t stride, uint64_t n, uint32_t *out_frame)
{
    const struct peet_direct_table *t = run->table;
    const uint64_t bytes = 1ull << t->line_shift, offset = begin & (bytes - 1), line = begin >> t->line_shift;
    const uint32_t frame = run->hints[peet_direct_hint(t, line)];
    const uint64_t key = run->keys[frame];

    if (offset + look->span > bytes)
        return 0;
    if (stride && n > 1) {
        const uint64_t room = stride > 0 ? bytes - look->span - offset : offset,
                       step = stride > 0 ? (uint64_t)stride : -(uint64_t)stride,
                       most = (step & (step - 1) ? room / step : room >> __builtin_ctzll(step)) + 1;

        n = most < n ? most : n;
    }
    *out_frame = frame;
    if ((key | look->either) == (line << 2 | 3))
        return n;
    if (key >> 2 != line)
        return 0;
    for (uint64_t i = 0; i < n; i++, begin += (uint64_t)stride)
        if (!peet__follow_writable(run, t, look, begin, key, frame))
            return i;
    return n;
}

/** Iterations from the beginning of a loop that only hit.  Returns: how many */
static uint64_t strips(struct peet_direct_run *run, const struct follow_block *k, const struct peet_block_event *event)
{
    uint64_t done = 0;

    while (done < event->turns) {
        uint32_t frames[PEET_DIRECT_LOOKS];
        uint64_t n = event->turns - done, stamp;

        for (unsigned i = 0; i < k->nlooks; i++) {
            const struct follow_look *look = &k->looks[i];
            const int64_t stride = event->strides[look->value];
            const uint64_t begin = event->values[look->value] - look->before + (uint64_t)stride * done;

            if (!(n = look_ahead(run, look, begin, stride, n, &frames[i])))
                return done;
        }
        stamp = run->stamp + (n - 1) * k->stamps;
        for (unsigned i = 0; i < k->nlooks; i++)
            if (!k->looks[i].later || stamp + k->looks[i].last > run->used[frames[i]])
                run->used[frames[i]] = stamp + k->looks[i].last;
        run->time += n * k->time;
        run->stamp += n * k->stamps;
        run->reads += n * k->reads;
        run->writes += n * k->writes;
        done += n;
    }
    return done;
}

int peet__follow_loop(struct peet_map_module *m, struct peet_direct_run *run, const struct peet_block_event *event)
{
    struct peet_follow *f = m->follow;
    const struct follow_block *k = peet__follow_block_of(f, event);
    const uint32_t nvalues = event->block->nvalues;
    uint64_t values[LOOP_VALUES], done;

    if (!k || k->as_event || nvalues > LOOP_VALUES || !run->limit)
        return 0;
    done = event->turns > 1 ? strips(run, k, event) : (uint64_t)peet__follow_hit(run, &f->table, k, event->values);
    if (done == event->turns)
        return 1;
    settle(m);
    m->map->current = run->hw;
    f->running[run->hw] = 1;
    for (uint32_t i = 0; i < nvalues; i++)
        values[i] = event->values[i] + (uint64_t)event->strides[i] * done;
    return f->table.iterations(run, event->block, values, event->strides, event->turns - done) != 0 || done != 0;
}

struct peet_direct_run *peet__follow_begin(struct peet_map_module *m, unsigned hw, uint64_t now)
{
    struct peet_follow *f = m->follow;
    struct peet_direct_run *run;

    settle(m);
    m->map->current = hw;
    run = f->runs[hw] = f->ops->begin(f->machine, hw, peet__map_begin(m, hw, now), UINT64_MAX);
    run->table = &f->table;
    run->hw = hw;
    run->checkpoint.stamp = UINT64_MAX; /* nothing was done ahead of anybody */
    return run;
}

void peet__follow_close(struct peet_map_module *m)
{
    struct peet_follow *f = m->follow;

    settle(m);
    for (unsigned hw = 0; hw < f->nhw; hw++) {
        m->map->current = hw;
        if (f->runs[hw])
            f->ops->end(f->machine, hw);
        f->runs[hw] = NULL;
    }
}
