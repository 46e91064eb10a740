/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blocks that the machine leaves to peet (direct.h) and that observers need not see. The decoder executes them in
 * machine code, and the engine gets no events. The code counts how often each block was executed; the counts are
 * fetched when statistics are asked for.
 *
 * A run that has come to its limit, as what comes next is not due yet, stays *open*: the machine and observers are
 * told that it is over when its sums are asked for, when it is undone, or when it ends for another reason.  Until then
 * the core's clock is right, and its counts and waiting time are those of when the run began.
 */
#include "state/map.h"
#include "consistency/consistency.h"
#include "sync/sync.h"

/** Do all who want to see blocks say which of them they need not see? */
static int observed(const struct peet_map *map)
{
    for (unsigned i = 0; i < map->nblock_observers; i++) {
        const struct peet_map_module *m = map->block_observers[i];
        const struct peet_direct_observer *o = m->module->observed;

        if (!o || !m->module->loop || (o->configured && o->configured(m->self)))
            return 0;
    }
    return 1;
}

int peet_map_direct(const struct peet_map *map)
{
    const struct peet_module *machine = map->machine ? map->machine->module : NULL;

    return machine && machine->direct && !machine->main && observed(map) && !map->consistency && !map->config.remap &&
        !map->config.nscaled && map->config.policy != PEET_POLICY_RR && map->ops->direct;
}

/** The clock at a time of the run. */
static uint64_t clock_at(const struct peet_direct_run *run, uint64_t time)
{
    return run->now + (time >> run->table->clock_shift);
}

/** The clock as a time of the run. */
static uint64_t time_at(const struct peet_direct_run *run, uint64_t clock)
{
    if (clock <= run->now)
        return 0;
    return clock - run->now < 1ull << 40 ? (clock - run->now) << run->table->clock_shift : UINT64_MAX;
}

/** Requests that a context which is alone need not wait for (threadlib/sole.c). */
static int quiet(uint32_t type, uint32_t nargs)
{
    switch (type) {
    case PEET_ABSTRACT_MUTEX_LOCK:
    case PEET_ABSTRACT_RWLOCK_READ:
    case PEET_ABSTRACT_RWLOCK_WRITE:
        return nargs == 3;
    case PEET_ABSTRACT_MUTEX_TRYLOCK:
    case PEET_ABSTRACT_MUTEX_UNLOCK:
    case PEET_ABSTRACT_RWLOCK_TRYREAD:
    case PEET_ABSTRACT_RWLOCK_TRYWRITE:
    case PEET_ABSTRACT_RWLOCK_UNLOCK:
    case PEET_ABSTRACT_BARRIER_WAIT:
    case PEET_ABSTRACT_SEM_WAIT:
    case PEET_ABSTRACT_SEM_POST:
        return nargs == 2;
    case PEET_ABSTRACT_COND_SIGNAL:
    case PEET_ABSTRACT_COND_BROADCAST:
    case PEET_ABSTRACT_SEM_TRYWAIT:
        return nargs == 1;
    }
    return 0;
}

/** A note among blocks that are taken.  It takes no time, and there is nobody who could act before it. */
static int noted(void *host, const struct peet_direct_run *run, uint32_t type, uint32_t nargs, const uint64_t *args)
{
    struct peet_map *map = host;
    struct peet_map_core *core = &map->cores[map->current];
    struct peet_map_context *c = core->context;
    const struct peet_abstract_event event = {.type = type, .context = c->number, .nargs = nargs, .args = args};
    const uint64_t began = core->clock;

    if (map->live != 1 || c->interrupted || !quiet(type, nargs))
        return 0;
    core->clock = clock_at(run, run->time);
    peet__map_observe_abstract(map, map->current, &event);
    peet__map_take_effect(map, core, &event, core->clock);
    core->clock = began;
    return 1;
}

/** Are notes free? */
static int notes_free(const struct peet_map *map)
{
    return !(map->machine->module->needs & PEET_NEEDS_ABSTRACT) && !map->supposed &&
        map->config.lock_model == PEET_LOCK_NONE;
}

/** Does nobody look at what tasks do?  It changes nothing, and is noted for observers. */
static int tasks_unwanted(const struct peet_map *map)
{
    if (map->machine->module->needs & PEET_NEEDS_ABSTRACT || map->nfollowers || map->supposed || map->chooser ||
        peet__consistency_on(map))
        return 0;
    for (unsigned i = 0; i < map->nobservers; i++)
        if (map->observers[i]->module->needs & PEET_NEEDS_ABSTRACT)
            return 0;
    return 1;
}

int peet_map_set_direct(struct peet_map *map, struct peet_program *program)
{
    const struct peet_module *machine = map->machine->module;
    int err = peet_program_set_direct(program, machine->direct, map->machine->self);

    for (unsigned i = 0; !err && i < map->nblock_observers; i++)
        err = peet_program_add_observer(program, map->block_observers[i]->module->observed,
            map->block_observers[i]->self);
    if (!err)
        err = peet_program_direct_contexts(program, map->ncores, map->config.memory_reports);
    if (!err) {
        map->direct = machine->direct;
        map->program = program;
        if (notes_free(map))
            peet_program_direct_notes(program, noted, map);
        if (tasks_unwanted(map))
            peet_program_direct_unwanted(program, PEET_ABSTRACT_TASK);
        peet__map_ahead_init(map, program);
    }
    return err;
}

static void one(void *arg, struct peet_direct_run *run, const struct peet_block_event *event)
{
    struct peet_map *map = arg;
    struct peet_block_event shown = *event;
    const uint64_t began = run->time;

    shown.context = map->cores[map->current].context->number;
    map->direct->event(map->machine->self, map->current, run, &shown);
    peet__map_observe_block(map, map->current, &shown, map->nblock_observers ? clock_at(run, began) : 0);
}

/** What the machine has taken already, as a rule iterations of a loop or a range operation: observers see it, the code counts
 * it for us. */
static void shown(void *arg, const struct peet_direct_run *run, const struct peet_block_event *event,
    uint32_t observers)
{
    struct peet_map *map = arg;
    const uint64_t now = clock_at(run, run->began);
    uint64_t all;

    for (unsigned i = 0; i < map->nblock_observers; i++) {
        struct peet_map_module *m = map->block_observers[i];

        if (!(observers >> i & 1))
            continue;
        if (event->strides)
            m->module->loop(m->self, run->hw, event, now, UINT64_MAX, &all);
        else
            m->module->block(m->self, run->hw, event, now);
    }
}

/** The run has been left.  Returns: whether it has done anything: @any */
static int left(struct peet_map *map, struct peet_map_core *core, struct peet_direct_run *run, int any)
{
    enum { OPEN_CYCLES = 1 << 30 }; /* times of the run stay far below 2^64 */

    if (!any || run->final)
        core->ahead = 0; /* nothing has been done ahead, or what comes next comes another way */
    core->open = run;
    core->waits = any && run->waits;
    if (any && run->time >= run->limit && map->runs_ahead && map->direct->pause &&
        run->time >> run->table->clock_shift < OPEN_CYCLES) {
        core->waits = 1;
        core->clock = clock_at(run, run->time);
        map->direct->pause(map->machine->self, map->current);
        return 1;
    }
    peet__map_close_direct(map, core);
    return any;
}

void peet__map_close_direct(struct peet_map *map, struct peet_map_core *core)
{
    struct peet_direct_run *run = core->open;
    const unsigned current = map->current;

    if (!run)
        return;
    core->open = NULL;
    if (map->runs_ahead)
        peet_program_direct_close(map->program, run->hw, !core->ahead);
    core->clock = core->opened;
    map->direct_instructions = run->instructions;
    core->instructions += run->instructions;
    map->current = (unsigned)(core - map->cores);
    peet__map_charge(map, core, map->direct->end(map->machine->self, map->current), "direct.end");
    map->current = current;
}

int peet__map_take_direct(struct peet_map *map, struct peet_map_core *core, struct peet_direct_run *run)
{
    core->declined = run->limit == 0;
    if (core->declined) {
        core->ahead = 0;
        return 0;
    }
    run->instructions = 0;
    run->context = core->context->number;
    run->runs_ahead = map->runs_ahead;
    run->repeats = map->going_back;
    run->hw = map->current;
    run->waits = 0;
    core->opened = core->clock;
    return left(map, core, run, map->ops->direct(map->source, core->context->source, run, one, shown, map));
}

/** A core takes blocks, ahead of others.  Returns: whether it has taken any */
static int run_ahead(struct peet_map *map, struct peet_map_core *core)
{
    const uint64_t limit = peet__map_window(map, core);

    return peet__map_take_direct(map, core,
        map->direct->ahead(map->machine->self, map->current, core->clock, map->until, limit));
}

int peet__map_goes_on(struct peet_map *map, struct peet_map_core *core)
{
    struct peet_direct_run *run = core->open;

    if (!core->waits)
        return 0;
    core->waits = 0;
    if (map->roi.hidden)
        peet__map_close_direct(map, core);
    else if (!run)
        return run_ahead(map, core);
    else {
        run->limit = time_at(run, peet__map_window(map, core));
        if (run->stop && run->limit > run->stop)
            run->limit = run->stop;
        run->until = time_at(run, map->until);
        run->repeats = 0;
        map->direct_instructions = 0;
        return left(map, core, run, peet_decode_goes_on(run));
    }
    return 0;
}

int peet__map_run_direct(struct peet_map *map, struct peet_map_core *core)
{
    struct peet_map_context *c = core->context;
    int ahead, any;

    if (map->roi.hidden || map->chooser)
        return 0;
    if (__builtin_expect(c->spin.matches != 0, 0))
        peet__spin_gives(map, core);
    if (c->spin.watched && !c->spin.given)
        return 0;
    ahead = map->ops->words(map->source, c->source);
    if (map->attention) /* somebody who looks has gone back, and may be due before `until` now */
        return PEET_MAP_AGAIN;
    if (ahead != PEET_AHEAD_BLOCKS)
        return ahead == PEET_AHEAD_EVENT ? PEET_EVENT_ABSTRACT : 0;
    any = map->runs_ahead ? run_ahead(map, core)
                          : peet__map_take_direct(map, core,
                                map->direct->begin(map->machine->self, map->current, core->clock, map->until));
    return any ? PEET_MAP_DIRECT : 0;
}

static void executed(void *arg, const struct peet_block *block, uint64_t times, uint64_t reads, uint64_t writes)
{
    struct peet_map *map = arg;

    map->varying.reads += reads;
    map->varying.writes += writes;
    peet__map_count_times(map, block, times);
    if (map->direct->executed && !map->machine->failed)
        map->direct->executed(map->machine->self, block, times);
}

void peet__map_settle_direct(struct peet_map *map)
{
    for (unsigned hw = 0; map->runs_ahead && hw < map->ncores; hw++) {
        peet__map_close_direct(map, &map->cores[hw]);
        peet_program_direct_commit(map->program, hw);
    }
    if (map->direct)
        map->ops->executed(map->source, executed, map);
}
