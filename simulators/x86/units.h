/* SPDX-License-Identifier: Apache-2.0 */
/*
 * x86: the execution units of one core as a reservation calendar: for each cycle of a window that moves with time,
 * which units are busy.  An instruction takes the first cycle at or after its operands are ready in which all that it
 * needs is free; one that comes later in program order finds the cycles that earlier ones have left.  Threads of a core
 * share it.
 *
 * The window is a ring of cycles, each with the time that it stands for.  One of an older time than asked for is an
 * empty one; if it is younger, the time asked for is so long past that nothing is known of it, and all is free.
 *
 * What has been taken is never given back.  So a stretch of cycles in which a set of units was found busy stays so, and
 * is stepped over at once when the same set is asked for again: a unit that everybody waits for costs no search.
 */
#ifndef PEET_X86_UNITS_H
#define PEET_X86_UNITS_H

#include <stdint.h>

enum { X86_UNITS = 48, X86_USES = 12, X86_CALENDAR = 4096, X86_STRETCHES = 64 };

/** One of these units, for these cycles after issue. */
struct x86_use {
    uint64_t units;
    uint16_t first, cycles;
    uint8_t stretch; /* of the set: its number; X86_STRETCHES: none */
    uint8_t spare;   /* in order: 1 + the unit that the next instruction needs; 0: none that is known */
};

struct x86_units {
    struct {
        uint64_t cycle, busy;
    } calendar[X86_CALENDAR];
    struct {
        uint64_t from, to;
    } stretches[X86_STRETCHES]; /* of a set: all busy in [from, to) */
    uint64_t horizon;           /* nothing is taken from this cycle on */
    uint64_t recent;            /* units whose turn it was: the others come first */
};

/** The units that are free in a cycle. */
static inline uint64_t x86_units_free(const struct x86_units *u, uint64_t cycle)
{
    return u->calendar[cycle % X86_CALENDAR].cycle == cycle ? ~u->calendar[cycle % X86_CALENDAR].busy : ~0ull;
}

static inline void x86_units_take(struct x86_units *u, uint64_t units, uint64_t cycle)
{
    if (u->calendar[cycle % X86_CALENDAR].cycle == cycle) {
        u->calendar[cycle % X86_CALENDAR].busy |= units;
    } else if (u->calendar[cycle % X86_CALENDAR].cycle < cycle) {
        u->calendar[cycle % X86_CALENDAR].cycle = cycle;
        u->calendar[cycle % X86_CALENDAR].busy = units;
    }
}

/** One of those that fit: in turn. */
static inline unsigned x86_units_choose(struct x86_units *u, uint64_t fit, uint64_t all)
{
    uint64_t turn = fit & ~u->recent;
    unsigned unit;

    unit = (unsigned)__builtin_ctzll(turn ? turn : fit);
    u->recent |= 1ull << unit;
    if (!(all & ~u->recent))
        u->recent &= ~all | 1ull << unit;
    return unit;
}

/**
 * So many cycles of a unit, from one on in which it is free. Cycles that older instructions have booked in between are passed
 * over: what is ready first begins first, and the older one would be the one that waits (dividers).
 */
static inline void x86_units_book(struct x86_units *u, unsigned unit, uint64_t at, unsigned cycles)
{
    for (; cycles; at++)
        if (x86_units_free(u, at) >> unit & 1) {
            x86_units_take(u, 1ull << unit, at);
            cycles--;
        }
    u->horizon = at > u->horizon ? at : u->horizon;
}

/** The first cycle at or after `at` in which one unit of the set is free. */
static inline uint64_t x86_units_next(struct x86_units *u, const struct x86_use *use, uint64_t at)
{
    const unsigned s = use->stretch;
    uint64_t begin = at;

    if (s < X86_STRETCHES && at >= u->stretches[s].from && at < u->stretches[s].to) {
        begin = u->stretches[s].from;
        at = u->stretches[s].to;
    }
    while (!(use->units & x86_units_free(u, at)))
        at++;
    if (s < X86_STRETCHES) {
        u->stretches[s].from = begin;
        u->stretches[s].to = at;
    }
    return at;
}

/** One use, of the cycle of issue.  @spared: not one of these units, if there is another */
static inline uint64_t x86_units_issue_sparing(struct x86_units *u, const struct x86_use *use, uint64_t at,
    uint64_t spared)
{
    const uint64_t units = use->units;
    uint64_t fit = units & x86_units_free(u, at), turn, recent, bit;

    if (__builtin_expect(!fit, 0)) {
        at = x86_units_next(u, use, at);
        fit = units & x86_units_free(u, at);
    }
    fit = fit & ~spared ? fit & ~spared : fit;
    turn = fit & ~u->recent;
    bit = turn ? turn & -turn : fit & -fit;
    recent = u->recent | bit;
    u->recent = units & ~recent ? recent : recent & (~units | bit);
    x86_units_take(u, bit, at);
    return at;
}

static inline uint64_t x86_units_issue_one(struct x86_units *u, const struct x86_use *use, uint64_t at)
{
    return x86_units_issue_sparing(u, use, at, 0);
}

/** All uses are of the cycle of issue alone. */
static inline uint64_t x86_units_issue_short(struct x86_units *u, const struct x86_use *uses, unsigned n, uint64_t at)
{
    for (;;) {
        uint64_t free = x86_units_free(u, at), recent = u->recent, taken = 0;
        unsigned i;

        for (i = 0; i < n; i++) {
            uint64_t fit = uses[i].units & free, turn, bit;

            if (__builtin_expect(!fit, 0))
                break;
            if (fit & ~taken) /* two uses of one instruction are two units, if there are two */
                fit &= ~taken;
            turn = fit & ~recent;
            bit = turn ? turn & -turn : fit & -fit;
            recent |= bit;
            recent &= uses[i].units & ~recent ? ~0ull : ~uses[i].units | bit;
            taken |= bit;
        }
        if (__builtin_expect(i == n, 1)) {
            u->recent = recent;
            x86_units_take(u, taken, at);
            return at;
        }
        at = x86_units_next(u, &uses[i], at);
    }
}

/** Several uses, or one of several cycles. */
static __attribute__((noinline, unused)) uint64_t x86_units_issue_all(struct x86_units *u, const struct x86_use *uses,
    unsigned n, uint64_t at)
{
    unsigned unit[X86_USES], i;

    for (;; at++) {
        uint64_t taken = 0;

        while (!(uses->units & x86_units_free(u, at + uses->first)))
            at++;
        for (i = 0; i < n; i++) {
            uint64_t fit = uses[i].units & x86_units_free(u, at + uses[i].first);

            if (!fit)
                break;
            if (fit & ~taken)
                fit &= ~taken;
            unit[i] = x86_units_choose(u, fit, uses[i].units);
            taken |= 1ull << unit[i];
        }
        if (i == n)
            break;
    }
    for (i = 0; i < n; i++)
        x86_units_book(u, unit[i], at + uses[i].first, uses[i].cycles);
    return at;
}

/** This unit, for the cycle of issue. */
static inline uint64_t x86_units_issue_bound(struct x86_units *u, uint64_t unit, uint64_t at)
{
    while (!(unit & x86_units_free(u, at)))
        at++;
    x86_units_take(u, unit, at);
    return at;
}

/** The next of these units behind `last`, one of their group; 0: there is none */
static inline uint64_t x86_units_behind(uint64_t units, uint64_t last)
{
    const uint64_t behind = units & -(2 * last), from = behind ? behind : units;

    return from & -from;
}

/** The next of these units behind the one of their group that was chosen last. */
static inline uint64_t x86_units_turn(struct x86_units *u, uint64_t units, uint64_t group)
{
    const uint64_t bit = x86_units_behind(units, u->recent & group);

    u->recent = (u->recent & ~group) | bit;
    return bit;
}

/** Is a unit free within a few cycles? Schedulers that fill up are passed over. */
static inline int x86_units_soon(const struct x86_units *u, uint64_t unit, uint64_t at)
{
    enum { SOON = 4 };

    for (uint64_t end = at + SOON; at < end; at++)
        if (x86_units_free(u, at) & unit)
            return 1;
    return 0;
}

/**
 * Units that are chosen at dispatch, in turn, though others may be free, unless it would take long: schedulers that belong to
 * units. The other uses of the instruction are of any unit that is free.
 * @turns: the units that are chosen so; @groups: of each unit, those that anything could take instead
 * @bound: of the use @queued, the units of the scheduler that has the instruction already; 0: of none
 */
static __attribute__((noinline, unused)) uint64_t x86_units_issue_turn(struct x86_units *u, uint64_t turns,
    const uint64_t *groups, const struct x86_use *uses, unsigned n, uint64_t at, unsigned queued, uint64_t bound)
{
    struct x86_use own[X86_USES];
    uint64_t taken = 0, recent;
    unsigned longer = 0;

    for (unsigned i = 0; i < n; i++) {
        const uint64_t units = uses[i].units & ~taken ? uses[i].units & ~taken : uses[i].units;

        own[i] = uses[i];
        longer |= uses[i].first != 0 || uses[i].cycles != 1;
        if (!(uses[i].units & turns))
            continue;
        own[i].units = bound && i == queued ? bound : x86_units_turn(u, units, groups[__builtin_ctzll(units)]);
        if (!(bound && i == queued) && !x86_units_soon(u, own[i].units, at + uses[i].first)) {
            own[i].units = units;
            continue;
        }
        own[i].stretch = X86_STRETCHES;
        taken |= own[i].units;
    }
    recent = u->recent;
    at = longer  ? x86_units_issue_all(u, own, n, at)
        : n == 1 ? x86_units_issue_one(u, own, at)
                 : x86_units_issue_short(u, own, n, at);
    u->recent = (u->recent & ~turns) | (recent & turns); /* the turn goes on from there */
    return at;
}

#endif
