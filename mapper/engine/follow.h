/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Followers by the tags of their caches.  What is inline here happens at each block of each follower.
 */
#ifndef PEET_ENGINE_FOLLOW_H
#define PEET_ENGINE_FOLLOW_H

#include "state/map.h"

#include <peet/direct.h>

/** One execution of a block. */
struct follow_block {
    uint64_t time;
    uint32_t stamps, reads, writes;
    uint16_t nlooks;
    uint8_t as_event; /* the machine gets it in any case */
    struct follow_look {
        uint64_t units;
        uint16_t value, before, span, last;
        uint8_t either, later;
    } looks[];
};

struct peet_follow {
    const struct peet_direct *ops;
    void *machine;
    struct peet_direct_table table;
    struct follow_block **blocks; /* by id; NULL: not asked for yet */
    uint32_t nblocks;
    unsigned nhw;
    struct peet_direct_run **runs; /* that are open; NULL */
    uint8_t *running;              /* ... and have had blocks since they were paused */
};

/** peet__follow_new() - Returns: NULL: the machine gets its blocks as events */
struct peet_follow *peet__follow_new(const struct peet_module *module, void *machine, unsigned nhw);
void peet__follow_free(struct peet_follow *follow);

/** The slow half of peet__follow_block_of(). */
const struct follow_block *peet__follow_ask(struct peet_follow *f, const struct peet_block_event *event);
/** The slow half of peet__follow_go_on(). */
struct peet_direct_run *peet__follow_begin(struct peet_map_module *m, unsigned hw, uint64_t now);
/** The slow half of peet__follow_block(). */
void peet__follow_miss(struct peet_map_module *m, struct peet_direct_run *run, const struct follow_block *k,
    const struct peet_block_event *event);
/** peet__follow_loop() - all iterations.  Returns: 0: nothing has happened, the machine's loop() is to be called */
int peet__follow_loop(struct peet_map_module *m, struct peet_direct_run *run, const struct peet_block_event *event);
/** peet__follow_close() - the machine is told that all runs are over: its sums are right */
void peet__follow_close(struct peet_map_module *m);

/** What the machine says of a block.  NULL: out of memory */
static inline const struct follow_block *peet__follow_block_of(struct peet_follow *f,
    const struct peet_block_event *event)
{
    const uint32_t id = event->block->id;

    return __builtin_expect(id < f->nblocks && f->blocks[id], 1) ? f->blocks[id] : peet__follow_ask(f, event);
}

/** When all that the run has is done. */
static inline uint64_t peet__follow_clock(const struct peet_direct_run *run)
{
    return run->now + (run->time >> run->table->clock_shift);
}

/** A hardware context's next block begins at @now, or when it has done what came before.  Returns: its run */
static inline struct peet_direct_run *peet__follow_go_on(struct peet_map_module *m, unsigned hw, uint64_t now)
{
    struct peet_direct_run *run = m->follow->runs[hw];
    uint64_t clock;

    if (__builtin_expect(!run, 0))
        run = peet__follow_begin(m, hw, now);
    clock = peet__follow_clock(run);
    m->follow->running[hw] = 1;
    if (now > clock)
        run->now += now - clock;
    return run;
}

/** May units of the line in the frame be written where the key does not say so? */
static inline int peet__follow_writable(const struct peet_direct_run *run, const struct peet_direct_table *t,
    const struct follow_look *look, uint64_t begin, uint64_t key, uint32_t frame)
{
    const uint64_t offset = begin & ((1ull << t->line_shift) - 1), unit = offset >> t->unit_shift;
    const uint64_t units = look->units << unit;

    return look->units && t->units && (key & 3) == 2 && !(offset & ((1ull << t->unit_shift) - 1)) &&
        (run->writable[frame] & units) == units;
}

/** One execution.  Returns: whether all of its lines were there, and so it has happened */
static inline int peet__follow_hit(struct peet_direct_run *run, const struct peet_direct_table *t,
    const struct follow_block *k, const uint64_t *values)
{
    const uint64_t last_byte = (1ull << t->line_shift) - 1;
    uint32_t frames[PEET_DIRECT_LOOKS];

    for (unsigned i = 0; i < k->nlooks; i++) {
        const struct follow_look *look = &k->looks[i];
        const uint64_t begin = values[look->value] - look->before, line = begin >> t->line_shift;
        const uint32_t frame = run->hints[peet_direct_hint(t, line)];
        const uint64_t key = run->keys[frame];

        if (__builtin_expect((begin & last_byte) + look->span > last_byte + 1, 0))
            return 0;
        if (__builtin_expect((key | look->either) != (line << 2 | 3), 0) &&
            (key >> 2 != line || !peet__follow_writable(run, t, look, begin, key, frame)))
            return 0;
        frames[i] = frame;
    }
    for (unsigned i = 0; i < k->nlooks; i++) {
        const uint64_t used = run->stamp + k->looks[i].last;

        if (!k->looks[i].later || used > run->used[frames[i]])
            run->used[frames[i]] = used;
    }
    run->time += k->time;
    run->stamp += k->stamps;
    run->reads += k->reads;
    run->writes += k->writes;
    return 1;
}

static inline void peet__follow_block(struct peet_map_module *m, struct peet_direct_run *run,
    const struct peet_block_event *event)
{
    const struct follow_block *k = peet__follow_block_of(m->follow, event);

    if (__builtin_expect(!k || k->as_event, 0) || !peet__follow_hit(run, &m->follow->table, k, event->values))
        peet__follow_miss(m, run, k, event);
}

#endif
