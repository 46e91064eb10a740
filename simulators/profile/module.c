/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The observer `profile`: events become costs of the context that runs.  See profile.h.
 *
 * Cycles.  An observer learns at which clock a block begins.  What has passed on the processor since the last event
 * there belongs to that event's block, as long as its context cannot have left the processor.  A request for a lock and
 * the like may end with a wait; SYNC_GRANT then tells how long that was, and what is left of the time is the request's
 * own.
 */
#include "profile.h"

#include <stdlib.h>
#include <string.h>

static const struct peet_param params[] = {
    {"convention", PEET_PARAM_ENUM, "", "callgrind", "callgrind|plain",
        "what is one instruction, read, write: as Valgrind's callgrind has it, or as the processor does it"},
    {"contexts", PEET_PARAM_U64, "", "64", "0..100000",
        "so many software contexts have their functions listed apart, the others together"},
    {"paths", PEET_PARAM_BOOL, "", "on", "", "list the call paths"},
    {0},
};

enum { MATRIX = 256, LIBRARY_VALUES = 8 };

struct instance {
    struct profile profile;
    int paths;
};

static void *create(const struct peet_env *env, const union peet_value *values)
{
    struct instance *self = calloc(1, sizeof *self);
    struct profile *p = &self->profile;
    size_t nlevels = 0;

    if (!self) {
        env->fail(env, "out of memory");
        return NULL;
    }
    p->env = env;
    p->convention = (enum peet_convention)values[0].u64;
    p->ngroups = (uint32_t)values[1].u64 + 1;
    self->paths = values[2].u64 != 0;
    p->levels = env->memory(env, &nlevels);
    p->nlevels = nlevels < PROFILE_LEVELS ? (uint32_t)nlevels : PROFILE_LEVELS;
    p->measures = FIRST_MISS + p->nlevels * PROFILE_CAUSES;
    p->hw = calloc(env->hw_contexts + 1, sizeof *p->hw);
    if (env->hw_contexts <= MATRIX)
        p->transfers = calloc((size_t)env->hw_contexts * env->hw_contexts + 1, sizeof *p->transfers);
    p->groups = calloc(p->ngroups, sizeof *p->groups);
    if (!p->hw || !p->groups || profile_grow(p, &p->edges, &p->edges_room, 1, sizeof(*p->edges))) {
        env->fail(env, "out of memory");
        profile_free(p);
        return NULL;
    }
    p->edges[p->nedges++] = (struct edge){.from = NOTHING}; /* none */
    for (uint32_t i = 0; i < p->ngroups; i++)
        p->groups[i].root = NOTHING;
    return self;
}

static void destroy(void *self)
{
    profile_free(self);
}

/** A processor's cycles are a block's; without one, nobody's. */
static inline void add_cycles(struct profile *p, struct place *place, uint64_t cycles)
{
    if (__builtin_expect(place != NULL, 1))
        place->cycles += cycles;
    else
        p->nowhere.of[CYCLES] += cycles;
}

/** Time passes on a processor up to an event of @c.  @waited: so much of it the context was waiting; UINT64_MAX: all of
 * it */
static void pass(struct profile *p, struct hardware *h, struct thread *c, uint64_t now, uint64_t waited)
{
    if (h->thread == c && h->open && c->hw == h && !waited) {
        c->sum.of[CYCLES] += now - h->last;
        add_cycles(p, h->place, now - h->last);
    } else {
        uint64_t gone = c->waits ? now - c->asked : 0;

        /* it was made to leave */
        if (h->thread && h->thread != c && h->open && h->thread->hw == h && !h->thread->waits) {
            h->thread->sum.of[CYCLES] += now - h->last;
            add_cycles(p, h->place, now - h->last);
        }
        if (waited > gone)
            waited = gone;
        if (waited) {
            struct place *place = c->last;

            c->sum.of[WAITED] += waited;
            c->sum.version++;
            c->sum.of[CYCLES] += waited == gone ? 0 : gone - waited;
            add_cycles(p, place, gone - waited);
            *(place ? &place->waited : &p->nowhere.of[WAITED]) += waited;
        }
        h->thread = c;
        h->place = c->last;
    }
    h->open = 1;
    h->last = now;
    c->asked = now;
    c->hw = h;
    c->waits = 0;
}

/** What the memory system has reported of a processor belongs to the context there. */
static __attribute__((noinline)) void settle(struct profile *p, struct hardware *h, struct thread *c)
{
    for (uint32_t i = STALLED; i < p->measures; i++)
        c->sum.of[i] += h->misses.of[i];
    c->sum.version++;
    memset(&h->misses, 0, sizeof h->misses);
    h->missed = 0;
}

/** All reports are of blocks that have been counted already. */
static __attribute__((noinline)) void settle_all(struct profile *p)
{
    p->sums.unsettled = 0;
    for (unsigned i = 0; i < p->env->hw_contexts; i++) {
        if (p->hw[i].missed && p->hw[i].thread)
            settle(p, &p->hw[i], p->hw[i].thread);
        p->sums.unsettled |= p->hw[i].missed;
    }
}

/** The context's next block begins. */
static inline void arrive(struct profile *p, struct hardware *h, struct thread *c, uint64_t now)
{
    if (__builtin_expect(h->thread == c && h->open && c->hw == h, 1)) {
        c->sum.of[CYCLES] += now - h->last;
        add_cycles(p, h->place, now - h->last);
        h->last = c->asked = now;
        c->waits = 0;
    } else {
        pass(p, h, c, now, 0);
    }
}

/** It is this one; what it costs is added after that. */
static inline void enter(struct profile *p, struct thread *c, struct place *place, uint64_t turns)
{
    const struct place *last = c->last;
    const int entry = (place->block->flags & PEET_BLOCK_ENTRY) != 0;

    if (__builtin_expect(!last || !c->nframes || c->signal || last->jumps || last->tails, 0)) {
        if (!last || entry || place->routine != last->routine || last->leaves || !c->nframes)
            profile_move(p, c, place);
    } else if (entry && !last->returns) {
        profile_call(p, c, place);
    } else if (last->returns || place->routine != last->routine) {
        if (entry || !last->returns || !profile_return(p, c, place))
            profile_move(p, c, place);
    }
    if (__builtin_expect(place->first, 0))
        profile_back(p, c, place, c->last, turns);
    c->last = place;
}

static inline struct thread *context_of(struct profile *p, struct hardware *h, uint32_t number)
{
    return h->thread && h->thread->number == number ? h->thread : profile_thread(p, number);
}

static void take(struct profile *p, unsigned hw, const struct peet_block_event *event, uint64_t now, uint64_t turns)
{
    struct hardware *h = &p->hw[hw];
    const struct peet_block *block = event->block;
    struct place *place = profile_place(p, block);
    struct thread *c = context_of(p, h, event->context);

    if (!place || !c || p->failed)
        return;
    arrive(p, h, c, now);
    enter(p, c, place, turns);
    h->place = place;
    c->sum.of[INSTRUCTIONS] += place->each.instructions * turns;
    c->sum.of[READS] += place->each.reads * turns;
    c->sum.of[WRITES] += place->each.writes * turns;
    place->executions += turns;
    if (__builtin_expect(!(block->flags & PEET_BLOCK_SIMPLE), 0) && event->values) {
        struct peet_counts counts = {0, 0, 0};

        peet_count_dynamic(block, event->values, p->convention, &counts);
        c->sum.of[INSTRUCTIONS] += counts.instructions;
        c->sum.of[READS] += counts.reads;
        c->sum.of[WRITES] += counts.writes;
        place->varying.instructions += counts.instructions;
        place->varying.reads += counts.reads;
        place->varying.writes += counts.writes;
    }
    if (__builtin_expect(p->sums.unsettled != 0, 0))
        settle_all(p);
}

static uint64_t block(void *self, unsigned hw, const struct peet_block_event *event, uint64_t now)
{
    take(self, hw, event, now, 1);
    return 0;
}

static uint64_t loop(void *self, unsigned hw, const struct peet_block_event *event, uint64_t now, uint64_t until,
    uint64_t *out_turns)
{
    (void)until;
    *out_turns = event->turns;
    take(self, hw, event, now, event->turns);
    return 0;
}

/* ---- blocks that code takes: invariant 5 */

/** What a library's operation on ranges of one element counts, beyond the static part. */
static void count_element(const struct peet_block *block, enum peet_convention how, struct peet_counts *counts)
{
    uint64_t values[LIBRARY_VALUES] = {0};

    for (uint32_t i = 0; i < block->nrefs && block->nvalues <= LIBRARY_VALUES; i++)
        values[block->refs[i].value + 1] = block->refs[i].insn == 0;
    peet_count_dynamic(block, values, how, counts);
}

static int watch(void *self, const struct peet_block *block, const uint64_t *values,
    struct peet_direct_watch **out_watch)
{
    struct profile *p = self;
    struct place *place = profile_place(p, block);
    const struct peet_counts *each = place ? &place->each : NULL;

    (void)values;
    if (!each || each->instructions > INT32_MAX || each->reads > INT32_MAX || each->writes > INT32_MAX)
        return -1;
    place->counted.sums = &p->sums;
    place->counted.adds[INSTRUCTIONS] = (uint32_t)each->instructions;
    place->counted.adds[READS] = (uint32_t)each->reads;
    place->counted.adds[WRITES] = (uint32_t)each->writes;
    if (place->library) {
        struct peet_counts element = {0, 0, 0};

        count_element(block, p->convention, &element);
        place->counted.element_adds[READS] = (uint32_t)element.reads;
        place->counted.element_adds[WRITES] = (uint32_t)element.writes;
    }
    place->watch.counted = &place->counted;
    *out_watch = &place->watch;
    return 0;
}

/** What code has counted is the context's. */
static inline void drain(const struct hardware *h, struct thread *c, uint64_t now, const uint64_t *sums)
{
    for (uint32_t i = 0; i < PEET_DIRECT_SUMS; i++)
        c->sum.of[i] = h->base[i] + sums[i];
    c->sum.of[CYCLES] = h->base[CYCLES] + now;
}

static void begins(void *self, unsigned hw)
{
    struct profile *p = self;

    p->hw[hw].running = p->running = NULL;
}

/** The first one since code began to take blocks of a context. */
static __attribute__((noinline)) struct thread *shown_first(struct profile *p, unsigned hw, uint32_t number,
    uint64_t now)
{
    struct hardware *h = &p->hw[hw];
    struct thread *c = context_of(p, h, number);

    if (!c)
        return NULL;
    arrive(p, h, c, now);
    h->place = NULL; /* places have their cycles from the code */
    for (uint32_t i = 0; i < PEET_DIRECT_SUMS; i++)
        h->base[i] = c->sum.of[i];
    h->base[CYCLES] = c->sum.of[CYCLES] - now;
    memcpy(p->base, h->base, sizeof p->base);
    return h->running = p->running = c;
}

static __attribute__((noinline)) void shown_slowly(struct profile *p, unsigned hw, const struct peet_block_event *event,
    const struct peet_block *previous, uint64_t now, const uint64_t *sums)
{
    const struct hardware *h = &p->hw[hw];
    struct thread *c = h->running;

    if (!c) {
        if (p->failed || !(c = shown_first(p, hw, event->context, now)))
            return;
    } else if (previous) {
        c->last = p->places[previous->id];
    }
    drain(h, c, now, sums);
    enter(p, c, p->places[event->block->id], event->turns);
}

static void shown(void *self, unsigned hw, const struct peet_block_event *event, const struct peet_block *previous,
    uint64_t now, const uint64_t sums[PEET_DIRECT_SUMS])
{
    struct profile *p = self;
    const struct hardware *h = &p->hw[hw];
    const uint64_t all[RARE] = {sums[INSTRUCTIONS], sums[READS], sums[WRITES], now};

    /* watch() has seen all these blocks */
    if (__builtin_expect(!previous || !h->running ||
                !profile_step(p, h->running, p->places[previous->id], p->places[event->block->id], h->base, all),
            0))
        shown_slowly(p, hw, event, previous, now, sums);
}

__attribute__((noinline)) void profile_shown_otherwise(void *self, const struct peet_direct_counted *counted,
    const struct peet_block *previous, const struct peet_block_event *event, unsigned hw)
{
    const struct peet_direct_sums *sums = &((struct profile *)self)->sums;

    (void)counted;
    shown(self, hw, event, previous, sums->now, sums->of);
}

static void settled(void *self, unsigned hw)
{
    (void)hw;
    settle_all(self);
}

static void ends(void *self, unsigned hw, const struct peet_block *previous, uint64_t now,
    const uint64_t sums[PEET_DIRECT_SUMS])
{
    struct profile *p = self;
    struct hardware *h = &p->hw[hw];
    struct thread *c = h->running;

    h->running = p->running = NULL;
    if (!previous || !c || p->failed)
        return;
    h->place = c->last = profile_place(p, previous);
    drain(h, c, now, sums);
    h->last = c->asked = now;
}

static void executed(void *self, const struct peet_block *block, uint64_t times)
{
    struct profile *p = self;
    struct place *place = profile_place(p, block);

    if (place) {
        place->executions += times;
        place->cycles += place->counted.cycles;
        place->varying.reads += place->counted.elements * place->counted.element_adds[READS];
        place->varying.writes += place->counted.elements * place->counted.element_adds[WRITES];
        place->counted.cycles = place->counted.elements = 0;
    }
}

static void undone(void *self, const struct peet_block *block, const uint64_t *values, uint64_t times)
{
    struct profile *p = self;
    struct place *place = profile_place(p, block);

    if (place) {
        place->executions -= times;
        place->cycles -= times * place->counted.each;
    }
    if (place && place->library) {
        struct peet_counts counts = {0, 0, 0};

        peet_count_dynamic(block, values, p->convention, &counts);
        place->varying.reads -= counts.reads;
        place->varying.writes -= counts.writes;
    }
}

static const struct peet_direct_observer observed = {
    .abi = PEET_DIRECT_ABI,
    .struct_size = sizeof observed,
    .watch = watch,
    .executed = executed,
    .begins = begins,
    .shown = shown,
    .settled = settled,
    .ends = ends,
    .undone = undone,
    .at_commit = 1,
    .shown_alone = profile_shown_alone,
};
_Static_assert(offsetof(struct peet_direct_sums, now) == CYCLES * sizeof(uint64_t),
    "sums of a context's usual measures");
_Static_assert(INSTRUCTIONS == 0 && READS == 1 && WRITES == 2 && PEET_DIRECT_SUMS == 3,
    "sums are a cost's first measures");

/** After these a context may be off its processor. */
static int may_leave(uint32_t type)
{
    switch (type) {
    case PEET_ABSTRACT_DOALL_FORK:
    case PEET_ABSTRACT_DOALL_FINISH:
    case PEET_ABSTRACT_CONTEXT_EXIT:
    case PEET_ABSTRACT_PROGRAM_EXIT:
    case PEET_ABSTRACT_MUTEX_LOCK:
    case PEET_ABSTRACT_MUTEX_TRYLOCK:
    case PEET_ABSTRACT_RWLOCK_READ:
    case PEET_ABSTRACT_RWLOCK_WRITE:
    case PEET_ABSTRACT_COND_WAIT:
    case PEET_ABSTRACT_BARRIER_WAIT:
    case PEET_ABSTRACT_SEM_WAIT:
    case PEET_ABSTRACT_ONCE_BEGIN:
    case PEET_ABSTRACT_WAIT:
    case PEET_ABSTRACT_LOOP_NEXT:
    case PEET_ABSTRACT_THREAD_JOIN:
    case PEET_ABSTRACT_SLEEP:
    case PEET_ABSTRACT_IO_WAIT:
        return 1;
    }
    return 0;
}

static uint64_t abstract(void *self, unsigned hw, const struct peet_abstract_event *event, uint64_t now)
{
    struct profile *p = self;
    struct hardware *h = &p->hw[hw];
    struct thread *c = profile_thread(p, event->context);

    if (!c || p->failed)
        return 0;
    switch (event->type) {
    case PEET_ABSTRACT_SYNC_GRANT:
        pass(p, h, c, now, event->args[2] ? event->args[2] : 0);
        break;
    case PEET_ABSTRACT_DOALL_JOIN:
        pass(p, h, c, now, c->waits ? UINT64_MAX : 0);
        break;
    default:
        pass(p, h, c, now, 0);
    }
    if (p->sums.unsettled)
        settle_all(p);
    c->waits = (uint8_t)may_leave(event->type);
    if (event->type == PEET_ABSTRACT_SIGNAL_ENTER)
        c->signal = 1;
    if (event->type == PEET_ABSTRACT_CONTEXT_EXIT || event->type == PEET_ABSTRACT_DOALL_FINISH)
        profile_thread_over(p, c);
    return 0;
}

static void memory(void *self, const struct peet_memory_event *events, size_t n)
{
    struct profile *p = self;

    for (const struct peet_memory_event *e = events; e != events + n; e++) {
        struct hardware *h = &p->hw[e->hw];
        struct place *place = e->block ? profile_place(p, e->block) : NULL;
        uint32_t measure, insn = place && e->ref < e->block->nrefs ? e->block->refs[e->ref].insn : 0;
        struct cost *at;
        uint64_t value = 1;

        if (e->flags & PEET_MEMORY_PREFETCH)
            continue;
        if (e->type == PEET_MEMORY_STALL) {
            measure = STALLED;
            value = e->cycles;
        } else if ((e->type == PEET_MEMORY_MISS || e->type == PEET_MEMORY_FILL) && e->level >= 1 &&
            e->level <= p->nlevels && !(e->flags & PEET_MEMORY_WALK)) {
            uint32_t cause = e->flags & PEET_MEMORY_INSTRUCTION ? PEET_MISS_CAUSES
                : e->cause < PEET_MISS_CAUSES                   ? e->cause
                                                                : 0;

            measure = FIRST_MISS + (e->level - 1u) * PROFILE_CAUSES + cause;
        } else {
            continue;
        }
        if (e->type == PEET_MEMORY_MISS && e->other < p->env->hw_contexts && e->other != e->hw && p->transfers)
            p->transfers[(size_t)e->other * p->env->hw_contexts + e->hw]++;
        h->misses.of[measure] += value;
        h->missed = p->sums.unsettled = 1;
        at = place ? profile_insn(p, place, insn) : &p->nowhere;
        if (at)
            at->of[measure] += value;
        if (e->type == PEET_MEMORY_FILL) {
            h->misses.of[STALLED] += e->cycles;
            if (at)
                at->of[STALLED] += e->cycles;
        }
    }
}

static void finish(void *self, uint64_t end_cycles)
{
    struct profile *p = self;

    for (unsigned i = 0; i < p->env->hw_contexts; i++) {
        struct hardware *h = &p->hw[i];

        if (h->thread && h->open && h->thread->hw == h && !h->thread->waits && end_cycles > h->last && h->place) {
            uint64_t left = p->env->clock(p->env, i) > h->last ? p->env->clock(p->env, i) - h->last : 0;

            h->thread->sum.of[CYCLES] += left;
            h->place->cycles += left;
        }
        if (h->missed && h->thread)
            settle(p, h, h->thread);
    }
    for (uint32_t i = 0; i < p->nthreads; i++)
        if (p->threads[i])
            profile_unwind(p, p->threads[i]);
}

static void stats(void *arg, const struct peet_env *env, struct peet_stats *node)
{
    struct instance *self = arg;

    for (uint32_t i = 0; i < self->profile.nthreads; i++) /* the run may have ended in the middle */
        if (self->profile.threads[i])
            profile_unwind(&self->profile, self->profile.threads[i]);
    profile_stats(&self->profile, env, node, self->paths);
}

__attribute__((visibility("default"))) const struct peet_module peet_module = {
    .abi = PEET_MODULE_ABI,
    .struct_size = sizeof(struct peet_module),
    .name = "profile",
    .summary = "costs by function, line, call site, call path and context",
    .kind = PEET_OBSERVER,
    .needs = PEET_NEEDS_BLOCKS | PEET_NEEDS_ABSTRACT | PEET_NEEDS_NO_LOOKS | PEET_NEEDS_MEMORY | PEET_NEEDS_FILLS |
        PEET_NEEDS_NO_LOSSES,
    .params = params,
    .create = create,
    .destroy = destroy,
    .block = block,
    .loop = loop,
    .abstract = abstract,
    .memory = memory,
    .finish = finish,
    .stats = stats,
    .observed = &observed,
};
