/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engine: which hardware context acts, what its events do, and the books.
 *
 * A winner tree (Knuth, The Art of Computer Programming 3, 5.4.1) holds the time at which each hardware context acts
 * next.  engine() takes the least one; act() lets that hardware context act.  peet__map_produce() (produce.c) says what
 * its context does next.
 *
 *   1. A key in the tree is the time of the hardware context's next event.  An idle hardware context has the key
 *      PEET_MAP_NEVER.
 *   2. Leaf 0 is the heap of arrivals (policy.c): at equal times, arrivals come before hardware contexts, and lower
 *      indices before higher ones.
 *   3. While a hardware context acts, its key is out of date.  It acts until another one is due or `attention` says
 *      that keys have changed; then its key is set.  So the tree is not touched for each event.
 *   4. The machine says how long an event takes, the observers see it at the time at which it begins, the clock goes
 *      on, and then it is performed.
 */
#include "state/map.h"
#include "consistency/consistency.h"
#include "consistency/explore.h"
#include "sync/sync.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BUDGET = 1 << 16 }; /* events between two looks at the progress page */

int peet__map_fail(struct peet_map *map, int code, const char *format, ...)
{
    char text[sizeof map->error.message];
    va_list ap;

    va_start(ap, format);
    vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    peet_error_set(&map->error, code, "%s", text);
    map->attention = 1;
    return code;
}

/* ---------------------------------------------------------------------------------- the winner tree */

/** The first of what is best below node @i so far and the best below its sibling.  At equal times the lower leaf is
 * first, and all leaves of a left node are lower than those of its sibling. */
static inline struct peet_map_due first(struct peet_map_due best, struct peet_map_due sibling, uint32_t i)
{
    return sibling.key < best.key || (sibling.key == best.key && i & 1) ? sibling : best;
}

void peet__map_rekey(struct peet_map *map, unsigned leaf, uint64_t key)
{
    struct peet_map_due *due = map->due, best = {key, leaf};
    uint32_t i = map->tree_leaves + leaf;

    map->attention = 1;
    due[i] = best;
    for (; i > 1; i /= 2) {
        const struct peet_map_due before = due[i / 2];

        best = first(best, due[i ^ 1], i);
        if (best.key == before.key && best.leaf == before.leaf)
            break; /* nor does anything above change */
        due[i / 2] = best;
    }
}

/** The first of all leaves but one. */
static struct peet_map_due runner_up(const struct peet_map *map, uint32_t leaf)
{
    uint32_t i = map->tree_leaves + leaf;
    struct peet_map_due best = map->due[i ^ 1];

    for (i /= 2; i > 1; i /= 2)
        best = first(best, map->due[i ^ 1], i);
    return best;
}

/* ----------------------------------------------------------------------------------------- contexts */

int peet__map_context_new(struct peet_map *map, struct peet_map_context **out_context)
{
    struct peet_map_context *c = map->free_contexts;
    uint32_t source;

    if (c)
        map->free_contexts = c->next;
    else if (!(c = malloc(sizeof *c)))
        return peet__map_fail(map, PEET_ENOMEM, "mapper: out of memory for a context");
    if (map->nfree_sources) {
        source = map->free_sources[--map->nfree_sources];
    } else {
        if (map->nsources == map->sources_room) {
            uint32_t room = map->sources_room ? 2 * map->sources_room : 64;
            struct peet_map_context **contexts = realloc(map->contexts, room * sizeof *contexts);
            uint32_t *frees;

            if (contexts)
                map->contexts = contexts;
            frees = realloc(map->free_sources, room * sizeof *frees);
            if (frees)
                map->free_sources = frees;
            if (!contexts || !frees) {
                free(c);
                return peet__map_fail(map, PEET_ENOMEM, "mapper: out of memory for %u contexts", room);
            }
            map->sources_room = room;
        }
        source = map->nsources++;
    }
    *c = (struct peet_map_context){.source = source, .last_hw = UINT_MAX};
    map->contexts[source] = c;
    *out_context = c;
    return 0;
}

void peet__map_context_free(struct peet_map *map, struct peet_map_context *c)
{
    map->contexts[c->source] = NULL;
    map->free_sources[map->nfree_sources++] = c->source;
    c->next = map->free_contexts;
    map->free_contexts = c;
}

void peet__map_settle(struct peet_map_core *core)
{
    core->context->instructions += core->instructions - core->settled;
    core->settled = core->instructions;
}

void peet__map_record(struct peet_map *map, const struct peet_map_context *c, const char *kind, uint64_t cycles)
{
    if (c->number < PEET_MAP_LISTED)
        map->records[c->number] = (struct peet_map_record){c->first_cycle, cycles, c->instructions, kind};
}

/** Does a context that comes or goes do more than look whether something has changed? */
static inline int stirs(const struct peet_map_context *c)
{
    return !c->spin.stationary && !(c->next_step == PEET_STEP_LOCK && c->spun);
}

void peet__map_dispatch(struct peet_map *map, unsigned hw, struct peet_map_context *c)
{
    struct peet_map_core *core = &map->cores[hw];

    if (core->ran && core->last_number != c->number) {
        if (peet__consistency_on(map))
            peet__consistency_switch(map, hw);
        core->switches++;
        core->stalled += map->config.switch_cycles;
        core->clock += map->config.switch_cycles;
    }
    core->ran = 1;
    core->kept = 0;
    core->last_number = c->number;
    core->told = 0;
    core->context = c;
    core->settled = core->instructions;
    core->dispatched = core->clock;
    c->state = PEET_MAP_RUNNING;
    c->last_hw = hw;
    c->polls = 0;
    core->stirs += stirs(c);
}

void peet__map_release(struct peet_map_core *core)
{
    peet__map_settle(core);
    core->context->ran_cycles += core->clock - core->dispatched;
    core->ran_cycles += core->clock - core->dispatched;
    core->stirs += stirs(core->context);
    core->context = NULL;
}

void peet__map_wake(struct peet_map *map, unsigned hw, uint64_t cycles)
{
    struct peet_map_core *core = &map->cores[hw];

    core->is_idle = 0;
    map->idle_bits[hw / 64] &= ~(1ull << hw % 64);
    map->nidle--;
    if (cycles > core->clock) {
        core->idle += cycles - core->clock;
        core->clock = cycles;
    }
    peet__map_rekey(map, hw + 1, core->clock);
}

void peet__map_set_idle(struct peet_map *map, unsigned hw)
{
    struct peet_map_core *core = &map->cores[hw];

    if (!core->is_idle) {
        core->is_idle = 1;
        map->idle_bits[hw / 64] |= 1ull << hw % 64;
        map->nidle++;
    }
    peet__map_rekey(map, hw + 1, PEET_MAP_NEVER);
}

void peet__map_over(struct peet_map *map, struct peet_map_core *core)
{
    struct peet_map_context *c = core->context;

    peet__map_release(core);
    peet__map_record(map, c, c->number ? "thread" : "main", core->clock);
    peet__thread_over(map, c, core->clock);
    map->ops->retire(map->source, c->source);
    peet__map_context_free(map, c);
    map->live--;
}

int peet__map_preempt(struct peet_map *map, unsigned hw)
{
    struct peet_map_core *core = &map->cores[hw];
    struct peet_map_context *c = core->context;

    if (core->clock - core->dispatched < map->config.quantum_cycles || c->next_step == PEET_STEP_BEGIN ||
        c->next_step == PEET_STEP_EFFECT || (c->next_step == PEET_STEP_LOCK && !peet__lock_between(c)) ||
        !peet__map_others_wait(map, hw))
        return 0;
    peet__map_release(core);
    peet__map_arrive(map, c, NULL, core->clock);
    return 1;
}

/* A ring of words is not kept for a context that waits, nor taken back: it goes when they are used up. */
int peet__map_slice_over(struct peet_map *map, struct peet_map_core *core)
{
    struct peet_map_context *c = core->context;

    if (map->chooser || !peet__map_others_wait(map, (unsigned)(core - map->cores)) ||
        !map->ops->dry(map->source, c->source))
        return 0;
    peet__map_release(core);
    peet__map_arrive(map, c, NULL, core->clock);
    return 1;
}

/* ------------------------------------------------------------------------------------------ effects */

void peet__map_take_effect(struct peet_map *map, struct peet_map_core *core, const struct peet_abstract_event *event,
    uint64_t before)
{
    struct peet_map_context *c = core->context;

    if (!peet__sync_deferred(event->type)) {
        peet__map_effect(map, core, event);
        return;
    }
    c->request.type = event->type;
    c->request.nargs = event->nargs;
    memcpy(c->request.args, event->args, event->nargs * sizeof *event->args);
    if (core->clock != before) { /* others may act before */
        c->next_step = PEET_STEP_EFFECT;
        return;
    }
    peet__map_effect(map, core, event);
}

void peet__map_effect(struct peet_map *map, struct peet_map_core *core, const struct peet_abstract_event *event)
{
    struct peet_map_context *c = core->context;

    /* Allocations and notes of tasks are events only if somebody asks for them, who must not change anything. */
    if (__builtin_expect(c->spin.matches != 0, 0) && event->type != PEET_ABSTRACT_ATOMIC &&
        event->type != PEET_ABSTRACT_YIELD && event->type != PEET_ABSTRACT_ALLOC && event->type != PEET_ABSTRACT_FREE &&
        event->type != PEET_ABSTRACT_TASK)
        peet__spin_reset(map, c);
    switch (event->type) {
    case PEET_ABSTRACT_DOALL_START:
        if (!c->marked)
            map->ops->result(map->source, c->source, c->iteration);
        break;
    case PEET_ABSTRACT_DOALL_FORK:
        peet__map_fork(map, core, event->args);
        break;
    case PEET_ABSTRACT_DOALL_FINISH:
        peet__map_finish(map, core);
        break;
    case PEET_ABSTRACT_PROGRAM_EXIT:
        peet__map_settle_ahead(map);
        map->exit_status = event->nargs ? (int)event->args[0] : 0;
        map->exit_source = c->source;
        if (map->config.middle && map->live > 1) { /* what others did before may be still to come */
            c->request.type = PEET_ABSTRACT_PROGRAM_EXIT;
            c->state = PEET_MAP_BLOCKED;
            map->exiting = 1;
            peet__map_release(core);
            break;
        }
        map->ended = 1;
        map->attention = 1;
        break;
    case PEET_ABSTRACT_YIELD:
        if (peet__map_others_wait(map, map->current)) {
            peet__map_release(core);
            c->last_hw = UINT_MAX; /* it stands behind all others, under each policy */
            peet__map_arrive(map, c, NULL, core->clock);
        } else {
            peet__spin_yields(map, core, c);
        }
        break;
    case PEET_ABSTRACT_FREE:
        peet__map_data_end(map);
        break;
    case PEET_ABSTRACT_ROI_BEGIN:
    case PEET_ABSTRACT_ROI_END:
        peet__map_settle_ahead(map);
        if (peet__roi_mark(map, core->clock, event->type == PEET_ABSTRACT_ROI_BEGIN))
            peet__map_fail(map, PEET_ENOMEM, "out of memory");
        break;
    default:
        if (event->type >= PEET_ABSTRACT_THREAD_CREATE)
            peet__sync_effect(map, core, event);
        break;
    }
}

void peet__map_observe_abstract(struct peet_map *map, unsigned hw, const struct peet_abstract_event *event)
{
    if (event->type == PEET_ABSTRACT_CONTEXT_START || event->type == PEET_ABSTRACT_CONTEXT_EXIT ||
        event->type == PEET_ABSTRACT_ROI_BEGIN)
        peet__map_changes_data(map);
    for (unsigned i = 0; i < map->nobservers; i++) {
        struct peet_map_module *m = map->observers[i];

        if (m->module->needs & PEET_NEEDS_ABSTRACT)
            m->module->abstract(m->self, hw, event, map->cores[hw].clock);
    }
}

/* --------------------------------------------------------------------------------------- the engine */

static void progress(struct peet_map *map)
{
    uint64_t instructions = 0;

    if (!map->config.progress)
        return;
    for (unsigned i = 0; i < map->ncores; i++)
        instructions += map->cores[i].instructions;
    __atomic_store_n(&map->config.progress[0], map->now, __ATOMIC_RELAXED);
    __atomic_store_n(&map->config.progress[1], instructions, __ATOMIC_RELAXED);
    __atomic_store_n(&map->config.progress[2], map->nevents, __ATOMIC_RELAXED);
    __atomic_store_n(&map->config.progress[3], map->live, __ATOMIC_RELAXED);
}

void peet__map_perform(struct peet_map *map, unsigned hw, struct peet_map_core *core, struct peet_event *event)
{
    const struct peet_module *m = map->machine->module;
    struct peet_abstract_event one = event->abstract;
    uint64_t args[8], cost = 0, now = core->clock;

    /* args may live in the ring of a context that runs on before the effect is complete */
    if (one.nargs <= 8 && one.nargs) {
        memcpy(args, one.args, one.nargs * sizeof *args);
        one.args = args;
    }
    if (peet__consistency_on(map))
        peet__consistency_event(map, core, &one);
    if (m->needs & PEET_NEEDS_ABSTRACT)
        cost = m->abstract(map->machine->self, hw, &one, now);
    cost += peet__sync_cost(map, core, &one);
    peet__map_observe_abstract(map, hw, &one);
    peet__map_charge(map, core, cost, "abstract");
    /* Who allocates does not wait, and that it does comes only if somebody asks. */
    core->told &= one.type == PEET_ABSTRACT_ALLOC || one.type == PEET_ABSTRACT_FREE;
    peet__map_take_effect(map, core, &one, now);
}

/** One hardware context acts until another is due. */
static void act(struct peet_map *map, unsigned hw)
{
    struct peet_map_core *core = &map->cores[hw];
    const int preempting = map->config.policy == PEET_POLICY_RR;
    struct peet_map_due other;
    uint64_t limit;
    struct peet_event event;
    int kind, budget = BUDGET;

    map->current = hw;
    if (!core->context) {
        kind = peet__map_pick(map, hw);
        if (kind <= 0) {
            if (!kind)
                peet__map_set_idle(map, hw);
            return;
        }
    }
    other = runner_up(map, hw + 1);
    limit = other.key;
    if (limit != PEET_MAP_NEVER && hw + 1 < other.leaf)
        limit++;
    if (core->clock >= limit) { /* a switch took time, or somebody was woken */
        peet__map_rekey(map, hw + 1, core->clock);
        return;
    }
    map->attention = 0;
    map->until = preempting ? 0 : limit;
    do {
        if (preempting && peet__map_preempt(map, hw))
            break;
        map->acting = core->clock;
        core->ahead = 0; /* all that it has done is final now */
        if (map->runs_ahead)
            peet_program_direct_commit(map->program, hw);
        if (core->context->batch != core->context->batch_end) {
            budget -= (int)peet__map_run_batch(map, hw, core, preempting ? 0 : limit);
            continue;
        }
        kind = peet__map_goes_on(map, core) ? PEET_MAP_DIRECT : peet__map_produce(map, core, &event);
        if (kind == PEET_MAP_BATCH)
            continue;
        if (kind == PEET_MAP_DIRECT) {
            budget -= (int)(map->direct_instructions / 4 % BUDGET) + 1;
            continue;
        }
        if (kind == PEET_MAP_AGAIN) {
            core->told = 0;
            budget--;
            if (!core->context)
                break;
            continue;
        }
        if (kind != PEET_EVENT_BLOCK && (map->acting != map->event_cycles || hw > map->event_hw)) {
            map->event_cycles = map->acting;
            map->event_hw = hw;
        }
        if (kind == PEET_EVENT_BLOCK) {
            peet__map_run_block(map, hw, core, &event.block);
        } else if (kind == PEET_EVENT_ABSTRACT) {
            peet__map_perform(map, hw, core, &event);
            if (!core->context)
                break;
        } else {
            if (!kind)
                peet__map_over(map, core);
            break;
        }
        budget--;
    } while (core->clock < limit && !map->attention && budget > 0);
    map->nevents += (uint64_t)(BUDGET - budget);
    peet__map_rekey(map, hw + 1, core->clock);
}

void peet__map_stuck(struct peet_map *map)
{
    struct peet_map_blocked one;
    unsigned n = 0;

    if (peet__thread_last(map) || peet__io_outside(map) || (map->config.middle && peet__middle_force(map)))
        return;
    if (map->exiting) {
        map->ended = 1;
        return;
    }
    for (uint32_t s = 0; s < map->nsources; s++)
        n += map->contexts[s] && map->contexts[s]->state == PEET_MAP_BLOCKED;
    if (n) {
        peet_map_blocked(map, 0, &one);
        peet__map_fail(map, PEET_EDEADLOCK,
            "deadlock: %u context%s blocked and none can go on; context %u waits for %s", n, n == 1 ? " is" : "s are",
            one.context, one.waits_for);
    }
    map->ended = 1;
}

static int start(struct peet_map *map)
{
    struct peet_map_context *c;
    int err;

    if (!map->machine)
        return peet__map_fail(map, PEET_EINVALID, "mapper: no machine");
    if (map->config.middle)
        return peet__middle_start(map);
    err = peet__map_context_new(map, &c);
    if (err)
        return err;
    c->number = map->next_number++;
    c->next_step = PEET_STEP_BEGIN;
    if (peet__thread_add(map, c, 0, 0))
        return map->error.code;
    map->live = 1;
    map->started = 1;
    for (unsigned i = 0; i < map->ncores; i++)
        peet__map_set_idle(map, i);
    peet__map_arrive(map, c, NULL, 0);
    return map->error.code;
}

/** Push form: until the end, an error, or nothing more to do. */
static void engine(struct peet_map *map)
{
    uint64_t shown = 0;

    while (!map->ended && !map->error.code) {
        const struct peet_map_due due = map->due[1];

        if (due.key == PEET_MAP_NEVER) {
            peet__map_stuck(map);
            continue;
        }
        map->now = due.key;
        if (due.leaf)
            act(map, due.leaf - 1);
        else
            peet__map_arrivals(map);
        if (map->nevents - shown >= BUDGET) {
            progress(map);
            shown = map->nevents;
        }
    }
}

void peet__map_module_finish(struct peet_map_module *m)
{
    struct peet_map *map = m->map;
    const uint64_t end_cycles = peet__map_end_of(map, m);

    if (m->finished || m->failed)
        return;
    m->finished = 1;
    map->ending = m;
    map->ending_stats = 0;
    if (m->module->finish)
        m->module->finish(m->self, end_cycles);
    map->ending = NULL;
}

/** The program is over: close the books, tell the modules. */
void peet_map_conclude(struct peet_map *map)
{
    for (unsigned i = 0; i < map->ncores; i++)
        if (map->cores[i].context)
            peet__map_settle(&map->cores[i]);
    map->end_cycles = peet_map_cycles(map);
    map->now = map->end_cycles;
    progress(map);
    peet__map_settle_direct(map);
    peet__map_settle_followers(map);
    if (map->error.code && map->error.code != PEET_EDEADLOCK && map->error.code != PEET_EMODULE)
        return;
    peet__map_finish_followers(map);
    peet__map_module_finish(map->machine);
    for (unsigned i = 0; i < map->nobservers; i++)
        peet__map_module_finish(map->observers[i]);
}

int peet_map_error(const struct peet_map *map, struct peet_error *error)
{
    return map->error.code ? peet_error_set(error, map->error.code, "%s", map->error.message) : 0;
}

int peet_map_run(struct peet_map *map, struct peet_error *error)
{
    if (start(map))
        return peet_map_error(map, error);
    if (map->config.roi_only && !map->roi.is_open)
        peet__roi_hide(map, 1);
    if (map->machine->module->main) {
        map->pulling = 1;
        if (map->machine->module->main(map->machine->self) < 0)
            peet__map_fail(map, PEET_EMODULE, "%s: main() failed", map->machine->module->name);
        else if (!map->ended)
            peet__map_fail(map, PEET_EMODULE, "%s: main() returned before the end of the program",
                map->machine->module->name);
    } else if (map->chooser) {
        peet__explore_engine(map);
    } else {
        engine(map);
    }
    peet_map_conclude(map);
    return peet_map_error(map, error);
}

int peet_map_go_on(struct peet_map *map, struct peet_error *error)
{
    if (!map->started || map->pulling || map->ended || map->error.code)
        return peet_error_set(error, PEET_EINVALID, "mapper: nothing to go on with");
    if (map->cores[map->current].context) /* it was about to act again */
        peet__map_rekey(map, map->current + 1, map->cores[map->current].clock);
    engine(map);
    peet_map_conclude(map);
    return peet_map_error(map, error);
}
