/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Contexts that spin.  A context that has looked long enough gives way to others.  When only spinning contexts are
 * left, and contexts that wait for them, the run ends with a report.  A context that has long done the same comes later by
 * a random time now and then, so that contexts in step with each other do not keep one of them away from a lock for ever.
 *
 * LIVELOCK.  A context *only looks* if three things hold.  Its atomic accesses come round and round, with the same
 * places and registers.  Between them it stores nothing outside its own stack (except by accesses that leave what they
 * find, or put what they put before).  In the end its stack is the same.
 *
 *   1. As long as memory stays as it is, a context that only looks does the same for ever.
 *   2. If every context only looks, or waits without a deadline for one that does, memory stays as it is.
 *   3. Each of them must have seen memory as it is now.  So each must have looked for long after the last context that
 *      did more than look has come or gone.
 *
 * The work is done at ATOMIC events only, and the work on blocks only for contexts that are suspected.
 *
 * ROUNDS THAT ARE GIVEN.  Where nobody has to see ATOMIC and YIELD events, the program does not go each round of a
 * context that looks in vain: the source gives words for many, up to the next round with which something happens here
 * (mapper.h, repeat()).  The context runs ahead in them like any other.  All is as if it had gone them:
 *
 *   4. What it looks at can change only when the program runs somewhere, and so a signal comes; contexts that have no
 *      processor come by arrivals.  Then the context goes back to that moment, and what has not begun is cut.
 *   5. Its counts go on by the events that have not come when the next one does.  Rounds without them take the same time,
 *      since times are whole cycles.
 */
#include "base/splitmix.h"
#include "sync/sync.h"

#include <limits.h>
#include <string.h>

static const uint64_t YIELDS = 2; /* as an access: others have odd keys */

enum {
    SUSPECT = 1000, /* equal rounds after which a context is watched, and for which it is watched then */
    LONGEST = 64,   /* accesses of a round at most */
    POLLS_MOST = 1 << 16,
    DISTURBED = 256, /* equal rounds, or yields, before the first that is disturbed, and every so many from then on: */
    DISTURBED_EACH = 16,
    LATER_CYCLES = 256,
    GIVEN_FROM = 12, /* equal rounds before the first that is given */
    GIVEN_LEAST = 3,
};

static uint64_t mix(uint64_t x)
{
    x ^= x >> 32;
    x *= 0xd6e8feb86659fd93u;
    x ^= x >> 32;
    x *= 0xd6e8feb86659fd93u;
    return x ^ x >> 32;
}

int peet__spin_give_way(struct peet_map *map, struct peet_map_core *core, unsigned least_polls)
{
    struct peet_map_context *c = core->context;
    const unsigned hw = (unsigned)(core - map->cores);

    if (++c->polls < least_polls ||
        (core->clock - core->dispatched < map->config.spin_quantum_cycles && c->polls < POLLS_MOST) ||
        !peet__map_others_wait(map, hw))
        return 0;
    peet__map_release(core);
    c->last_hw = UINT_MAX; /* it comes after all others, under each policy */
    peet__map_arrive(map, c, NULL, core->clock);
    return 1;
}

void peet__spin_takes_time(struct peet_map_core *core, struct peet_map_context *c)
{
    if (c->spin.clock == core->clock + 1) {
        core->clock++;
        core->stalled++;
    }
    c->spin.clock = core->clock + 1;
}

void peet__spin_reset(struct peet_map *map, struct peet_map_context *c)
{
    if (c->spin.stationary)
        map->sync->spin_epoch++;
    map->ngiven -= c->spin.given != 0;
    c->spin = (struct peet_map_spin){.clock = c->spin.clock};
}

/** Does an instruction that changes memory leave it as it was if it is executed again with the same registers? */
static int idempotent(const struct peet_insn *insn)
{
    static const char *const same[] = {"xchg", "cmpxchg", "xadd", "and", "or", "bts", "btr", "mov", NULL};
    const char *name = insn->opcode->mnemonic;

    if (!strncmp(name, "lock", 4) && (name[4] == ' ' || name[4] == '\t'))
        name += 5;
    for (unsigned i = 0; same[i]; i++)
        if (!strncmp(name, same[i], strlen(same[i])))
            return 1;
    return 0;
}

static int changes(const struct peet_block *block)
{
    if (block->flags & PEET_BLOCK_OPAQUE)
        return 1;
    for (uint32_t i = 0; i < block->nrefs; i++) {
        const struct peet_ref *ref = &block->refs[i];

        if (ref->kind == PEET_REF_LOAD || ref->kind == PEET_REF_PREFETCH || ref->flags & PEET_REF_STACK)
            continue;
        if (!(ref->flags & (PEET_REF_ATOMIC | PEET_REF_VOLATILE)) ||
            (ref->kind == PEET_REF_MODIFY && !idempotent(&block->insns[ref->insn])))
            return 1;
    }
    return 0;
}

void peet__spin_watch(struct peet_map_context *c, const struct peet_block_event *events, unsigned n)
{
    for (unsigned i = 0; i < n && !c->spin.dirty; i++)
        if (!(i && events[i].block == events[i - 1].block))
            c->spin.dirty = (uint8_t)changes(events[i].block);
}

static uint64_t state_of(const struct peet_map *map, const struct peet_map_context *c)
{
    return map->ops->state ? map->ops->state(map->source, c->source) : 0;
}

/** An access, or a yield, belongs to the round, and is not its first. */
static void note(struct peet_map_spin *s, unsigned is_yield)
{
    s->since++;
    s->yielded += is_yield;
    if (s->since < PEET_REPEATS_SLICES) {
        s->rounds[s->since] = s->round;
        s->yielding |= is_yield << s->since;
    }
}

/* A context that tries again and again may for ever come when another, in step with it, has just been there.  On real
 * processors some disturbance ends that soon; here it comes later by a random time now and then.  @tries: so far */
static void disturb(struct peet_map *map, struct peet_map_core *core, uint64_t tries)
{
    if (tries >= DISTURBED && tries % DISTURBED_EACH == 0) {
        const uint64_t cycles = peet__splitmix64(&map->sync->random) % LATER_CYCLES;

        core->clock += cycles;
        core->stalled += cycles;
    }
}

void peet__spin_yields(struct peet_map *map, struct peet_map_core *core, struct peet_map_context *c)
{
    disturb(map, core, ++c->yields);
    if (c->spin.first) {
        c->spin.round = mix(c->spin.round ^ YIELDS);
        note(&c->spin, 1);
    }
}

/** One more round like the ones before. */
static void matched(struct peet_map *map, struct peet_map_core *core, struct peet_map_context *c)
{
    struct peet_map_spin *s = &c->spin;

    s->timed = core->clock >= s->clock;
    peet__spin_takes_time(core, c);
    s->matches++;
    disturb(map, core, s->matches);
    if (s->dirty) {
        peet__spin_reset(map, c);
    } else if (s->matches == SUSPECT) {
        s->watched = 1;
        s->state = state_of(map, c);
    } else if (s->matches == 2 * SUSPECT && state_of(map, c) != s->state) {
        peet__spin_reset(map, c);
    } else if (s->matches == 2 * SUSPECT) {
        s->stationary = 1;
        map->sync->spin_epoch++;
    } else if (s->stationary && s->matches % SUSPECT == 0) {
        peet__spin_check(map);
    }
}

void peet__spin_atomic(struct peet_map *map, struct peet_map_core *core, struct peet_map_context *c,
    const uint64_t *args)
{
    struct peet_map_spin *s = &c->spin;
    uint64_t key = mix(args[0] + mix(args[1])) | 1;

    s->round = mix(s->round ^ key);
    if (key == s->first) {
        if (s->round == s->before) {
            matched(map, core, c);
            if (!s->first) /* it was not, after all */
                return;
        } else {
            if (s->matches)
                peet__spin_reset(map, c);
            s->first = key;
            s->before = s->round;
        }
        s->length = s->since + 1;
        s->yields = s->yielding;
        s->round = 0;
        s->since = s->yielded = s->yielding = 0;
        return;
    }
    note(s, 0);
    if (s->since - s->yielded > LONGEST || !s->first) {
        peet__spin_reset(map, c);
        s->first = key;
    }
}

/** The next round, after so many equal ones, with which more happens than that it is counted. */
static uint64_t next_of_note(uint64_t matches)
{
    const uint64_t suspect = (matches / SUSPECT + 1) * SUSPECT;
    const uint64_t disturbed = matches < DISTURBED ? DISTURBED : (matches / DISTURBED_EACH + 1) * DISTURBED_EACH;

    return suspect < disturbed ? suspect : disturbed;
}

/** How many of the round's accesses and yields, but for the first, up to the @n-th, are yields? */
static uint32_t yields_in(uint32_t yields, uint32_t n)
{
    return (uint32_t)__builtin_popcount(yields & ((2u << n) - 1));
}

void peet__spin_gives(struct peet_map *map, struct peet_map_core *core)
{
    struct peet_map_context *c = core->context;
    struct peet_map_spin *s = &c->spin;
    uint64_t rounds, yields;
    unsigned given;

    if (!map->gives_rounds || s->given || s->changes || s->matches < GIVEN_FROM || !s->timed ||
        s->length > PEET_REPEATS_SLICES || s->since != 0 || s->dirty ||
        peet__map_others_wait(map, (unsigned)(core - map->cores)))
        return;
    rounds = next_of_note(s->matches) - s->matches;
    yields = next_of_note(c->yields) - c->yields - 1;
    if (s->yields && rounds > yields / yields_in(s->yields, PEET_REPEATS_SLICES))
        rounds = yields / yields_in(s->yields, PEET_REPEATS_SLICES);
    if (rounds > s->matches) /* who has not looked for long will perhaps not do so for long, and has it all undone */
        rounds = s->matches;
    if (rounds < GIVEN_LEAST)
        return;
    given = map->ops->repeat(map->source, c->source, s->length, (unsigned)rounds);
    s->changes = given == PEET_REPEATS_NEVER;
    s->given = s->changes ? 0 : given;
    map->ngiven += s->given != 0;
}

void peet__spin_taken(struct peet_map *map, struct peet_map_context *c)
{
    struct peet_map_spin *s = &c->spin;
    uint32_t passed, rest, yields;

    if (__builtin_expect(!s->given, 1))
        return;
    passed = s->given - 1;
    rest = passed % s->length;
    yields = passed / s->length * yields_in(s->yields, PEET_REPEATS_SLICES) + yields_in(s->yields, rest);
    c->yields += yields;
    c->polls += passed - yields;
    s->matches += passed / s->length;
    if (rest) { /* it is in the middle of a round */
        s->since = rest;
        s->round = s->rounds[rest];
        s->yielding = s->yields & ((2u << rest) - 1);
        s->yielded = yields_in(s->yields, rest);
    }
    s->given = 0;
    map->ngiven--;
}

/** Rounds that begin at @until or later are taken back, and come to nothing. */
static void cut(struct peet_map *map, struct peet_map_context *c, uint64_t until)
{
    struct peet_map_core *core;

    if (!c->spin.given)
        return;
    core = &map->cores[c->last_hw];
    peet__map_go_back(map, c->last_hw, until);
    peet__map_close_direct(map, core);
    core->waits = 0;
    c->spin.given = map->ops->cut(map->source, c->source);
    map->ngiven -= !c->spin.given;
}

void peet__spin_cut_all(struct peet_map *map)
{
    for (unsigned hw = 0; map->ngiven && hw < map->ncores; hw++)
        if (map->cores[hw].context)
            cut(map, map->cores[hw].context, map->now);
}

void peet_map_looks_again(struct peet_map *map, uint32_t source)
{
    struct peet_map_context *c = map->contexts[source];

    cut(map, c, map->acting + (c->last_hw < map->current));
}

/** Nothing that this context does by itself will change anything, and nobody else wakes it. */
static int idle_for_ever(const struct peet_map *map, struct peet_map_context *c, uint64_t epoch, int *out_settled)
{
    struct peet_map_spin *s = &c->spin;

    if (c->state == PEET_MAP_PARKED)
        return 1;
    if (c->state == PEET_MAP_BLOCKED)
        return !c->timer_place && (c->forked || c->request.type != PEET_ABSTRACT_IO_WAIT);
    if (peet__lock_waits(map, c))
        return 1;
    if (!s->stationary)
        return 0;
    if (s->epoch != epoch) {
        s->epoch = epoch;
        s->epoch_matches = s->matches;
    }
    if (s->matches - s->epoch_matches < SUSPECT)
        *out_settled = 0;
    return 1;
}

void peet__spin_check(struct peet_map *map)
{
    int settled = 1, spinning = 0;
    unsigned n = 0;
    uint64_t epoch = map->sync->spin_epoch;

    for (unsigned i = 0; i < map->ncores; i++)
        epoch += map->cores[i].stirs;
    if (map->sync->timers.n || map->sync->nio)
        return;
    for (uint32_t i = 0; i < map->nsources; i++) {
        struct peet_map_context *c = map->contexts[i];

        if (!c)
            continue;
        if (!idle_for_ever(map, c, epoch, &settled))
            return;
        n += c->state != PEET_MAP_PARKED;
        spinning += c->state != PEET_MAP_BLOCKED && c->spin.stationary;
    }
    if (!settled || (map->ops->outside && map->ops->outside(map->source)))
        return;
    if (spinning && map->perform_pending && map->perform_pending(map)) {
        map->sync->spin_epoch++;
        return;
    }
    map->livelock = spinning ? 2 : 1;
    if (spinning)
        peet__map_fail(map, PEET_EDEADLOCK,
            "livelock: every context only spins: %d of %u do, the others wait; since before cycle %llu", spinning, n,
            (unsigned long long)map->cores[map->current].clock);
    else
        peet__map_fail(map, PEET_EDEADLOCK, "deadlock: %u context%s for locks and none can go on", n,
            n == 1 ? " waits" : "s wait");
    map->ended = 1;
}
