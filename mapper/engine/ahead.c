/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hardware contexts that run ahead of each other (docs/ENGINE.md).  Between two global events, nothing that a
 * hardware context does can be seen by others. So it runs up to its next global event at once, without regard to the
 * clocks of the others. The engine performs that event when it is due.  Invariants:
 *
 *   1. A hardware context's key in the winner tree is the time of its next block or event.  Whatever it has done before
 *      that time is final, unless it has run `ahead` of the present moment.
 *   2. A hardware context that runs ahead executes hits in its own caches only, of blocks whose words have been
 *      recorded already. The words stay until the next global event, so that decoder, machine and counts can return to
 *      the checkpoint: the place from which the context ran ahead.
 *   3. Before an event changes state that others can see, go_back() is called for each hardware context that may
 *      already have used the old state at a later time. After that, the context has done exactly the blocks that begin
 *      before the present moment (Jefferson, Virtual Time, TOPLAS 1985).
 */
#include "state/map.h"

/* A window grows only after so many runs without a rollback, and slowly: a processor that has been wrong is likely to
 * be wrong again.  And not without end, for to undo something costs several times what it is to do it: fft 10 12 on
 * `bus` takes 427 million instructions of the host without an end and 359 with this one, on `numa` 398 and 286. */
enum { WINDOW_LEAST_CYCLES = 64, WINDOW_RUNS = 32, WINDOW_GROWTH = 32, WINDOW_MOST_CYCLES = 8192 };

/** Ties go to the lower index. */
static uint64_t moment(const struct peet_map *map, unsigned hw, uint64_t cycles)
{
    return cycles + (hw < map->current);
}

static void undone(void *arg, const struct peet_block *block, const uint64_t *values, uint64_t times)
{
    struct peet_map *map = ((void **)arg)[0];
    struct peet_map_core *core = ((void **)arg)[1];

    peet__map_count_block(map, core, block, -times);
    for (unsigned i = 0; i < map->nblock_observers; i++)
        map->block_observers[i]->module->observed->undone(map->block_observers[i]->self, block, values, times);
    if (!(block->flags & PEET_BLOCK_SIMPLE) && values) {
        struct peet_counts counts = {0, 0, 0};

        peet_count_dynamic(block, values, PEET_COUNT_CALLGRIND, &counts);
        core->instructions -= counts.instructions;
        map->varying.reads -= counts.reads;
        map->varying.writes -= counts.writes;
    }
}

/* Where an event of a higher hardware context has woken the present one at this very time, what begins at this time has
 * come before, too. */
int peet__map_go_back(struct peet_map *map, unsigned hw, uint64_t until)
{
    struct peet_map_core *core = &map->cores[hw];
    const unsigned current = map->current;
    void *counts[] = {map, core};
    uint64_t instructions;

    until += until == map->event_cycles && hw < map->event_hw;
    if (!core->ahead || core->clock < until)
        return 0;
    peet__map_close_direct(map, core);
    instructions = core->instructions;
    map->ops->undo(map->source, core->context->source, undone, counts);
    core->clock = map->direct->undo(map->machine->self, hw, instructions - core->instructions);
    core->waits = 0;
    core->not_ready = 0; /* it has been waited for */
    /* the window is the distance that has turned out right */
    core->window_cycles = until > core->clock + WINDOW_LEAST_CYCLES ? until - core->clock : WINDOW_LEAST_CYCLES;
    core->window_runs = WINDOW_RUNS;
    if (core->clock < until) { /* hits, as before */
        map->current = hw;
        map->going_back = 1;
        peet__map_take_direct(map, core, map->direct->ahead(map->machine->self, hw, core->clock, 0, until));
        map->going_back = 0;
        map->current = current;
    }
    core->ahead = 0; /* all that it has done is final */
    peet_program_direct_commit(map->program, hw);
    peet__map_rekey(map, hw + 1, core->clock);
    return 1;
}

static int machine_goes_back(void *host, unsigned hw, uint64_t until)
{
    return peet__map_go_back(host, hw, until);
}

void peet__map_settle_ahead(struct peet_map *map)
{
    for (unsigned hw = 0; map->runs_ahead && hw < map->ncores; hw++)
        if (hw != map->current) {
            peet__map_go_back(map, hw, moment(map, hw, map->acting));
            peet_program_direct_commit(map->program, hw);
        }
}

uint64_t peet__map_window(struct peet_map *map, struct peet_map_core *core)
{
    const uint64_t limit = core->clock + core->window_cycles;

    if (core->window_runs)
        core->window_runs--;
    else if (core->window_cycles < WINDOW_MOST_CYCLES)
        core->window_cycles += core->window_cycles / WINDOW_GROWTH;
    core->ahead = 1;
    return limit > core->clock && limit < map->until ? map->until : limit;
}

/** Can all who see blocks take them back? */
static int all_take_back(const struct peet_map *map)
{
    for (unsigned i = 0; i < map->nblock_observers; i++)
        if (!map->block_observers[i]->module->observed->undone)
            return 0;
    return 1;
}

void peet__map_changes_data(struct peet_map *map)
{
    if (map->settles_data)
        peet__map_settle_ahead(map);
}

/** Does the module ask for ATOMIC and YIELD events? */
static int sees_looks(const struct peet_map_module *m)
{
    return (m->module->needs & (PEET_NEEDS_ABSTRACT | PEET_NEEDS_NO_LOOKS)) == PEET_NEEDS_ABSTRACT;
}

/** Does nobody ask for these, and do times add up however blocks are put together?  Then rounds of contexts that only look may
 * come without the program's (sync/spin.c). */
static int may_give_rounds(const struct peet_map *map, const struct peet_program *program)
{
    for (unsigned i = 0; i < map->nobservers; i++)
        if (sees_looks(map->observers[i]))
            return 0;
    return map->ops->repeat && !sees_looks(map->machine) && peet_program_direct_whole(program);
}

void peet__map_ahead_init(struct peet_map *map, struct peet_program *program)
{
    if (map->ncores < 2 || !all_take_back(map) || map->supposed || !map->direct->ahead || !map->ops->undo ||
        !peet_program_direct_commits(program))
        return;
    map->runs_ahead = 1;
    map->gives_rounds = (uint8_t)may_give_rounds(map, program);
    for (unsigned i = 0; i < map->nblock_observers; i++)
        map->settles_data |= (map->block_observers[i]->module->needs & PEET_NEEDS_DATA) != 0;
    for (unsigned hw = 0; hw < map->ncores; hw++)
        map->cores[hw].window_cycles = 1ull << 40;
    peet_program_direct_host(program, machine_goes_back, map);
}
