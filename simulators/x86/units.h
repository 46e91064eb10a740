/* SPDX-License-Identifier: Apache-2.0 */
/*
 * x86: the execution units of one core as a reservation calendar: for each cycle of a window that moves with time, which
 * units are busy.  An instruction takes the first cycle at or after its operands are ready in which all that it needs is
 * free; one that comes later in program order finds the cycles that earlier ones have left.  Threads of a core share it.
 *
 * The window is a ring of words of 64 cycles, each with the number of the word that it stands for.  A word of another
 * time than asked for is an empty one if it is older; if it is younger, the time asked for is so long past that nothing
 * is known of it, and all is free.
 */
#ifndef PEET_X86_UNITS_H
#define PEET_X86_UNITS_H

#include <stdint.h>
#include <string.h>

enum { X86_UNITS = 48, X86_USES = 12, X86_CALENDAR_WORDS = 128 };

struct x86_calendar_word {
    uint64_t number;
    uint64_t busy[X86_UNITS]; /* a bit for each cycle */
};

struct x86_units {
    struct x86_calendar_word words[X86_CALENDAR_WORDS];
    uint32_t used[X86_UNITS]; /* stamp of the last use: the one that rested longest is taken */
    uint32_t stamp;
    uint64_t busy_cycles[X86_UNITS];
};

/** One of these units, for these cycles after issue. */
struct x86_use {
    uint64_t units;
    uint16_t first, cycles;
};

static inline struct x86_calendar_word *x86_units_word(struct x86_units *u, uint64_t number)
{
    struct x86_calendar_word *w = &u->words[number % X86_CALENDAR_WORDS];

    if (__builtin_expect(w->number < number, 0)) {
        memset(w->busy, 0, sizeof w->busy);
        w->number = number;
    }
    return w;
}

/** Cycles from `at` on in which unit is free, as many bits as there are up to the end of the word. */
static inline uint64_t x86_units_free_bits(struct x86_units *u, unsigned unit, uint64_t at)
{
    struct x86_calendar_word *w = x86_units_word(u, at / 64);

    return w->number == at / 64 ? ~w->busy[unit] >> at % 64 : ~0ull >> at % 64;
}

/** The first of `cycles` cycles in a row, at or after `at`, in which the unit is free. */
static inline uint64_t x86_units_gap(struct x86_units *u, unsigned unit, uint64_t at, unsigned cycles)
{
    uint64_t start = at, have = 0;

    while (have < cycles) {
        uint64_t now = start + have, bits = x86_units_free_bits(u, unit, now);
        unsigned room = 64 - now % 64, run = ~bits ? (unsigned)__builtin_ctzll(~bits) : 64;

        if (run > room)
            run = room;
        have += run;
        if (run < room && have < cycles) { /* busy at start + have: go on behind that */
            start += have;
            have = 0;
            bits = x86_units_free_bits(u, unit, start);
            start += bits ? (unsigned)__builtin_ctzll(bits) : 64 - start % 64;
        }
    }
    return start;
}

/** The first cycle at or after `at` in which one of the units is free for so long; which one. */
static inline uint64_t x86_units_find(struct x86_units *u, const struct x86_use *use, uint64_t at, unsigned *out_unit)
{
    uint64_t best = UINT64_MAX;

    if (__builtin_expect(use->cycles == 1, 1)) {
        for (;; at = (at / 64 + 1) * 64) {
            uint64_t any = 0;
            uint32_t age = 0;

            for (uint64_t m = use->units; m; m &= m - 1)
                any |= x86_units_free_bits(u, (unsigned)__builtin_ctzll(m), at);
            if (!any)
                continue;
            at += (unsigned)__builtin_ctzll(any);
            for (uint64_t m = use->units; m; m &= m - 1) {
                unsigned unit = (unsigned)__builtin_ctzll(m);

                if ((x86_units_free_bits(u, unit, at) & 1) && u->stamp - u->used[unit] >= age) {
                    age = u->stamp - u->used[unit];
                    *out_unit = unit;
                }
            }
            return at;
        }
    }
    for (uint64_t m = use->units; m; m &= m - 1) {
        unsigned unit = (unsigned)__builtin_ctzll(m);
        uint64_t start = x86_units_gap(u, unit, at, use->cycles);

        if (start < best || (start == best && u->stamp - u->used[unit] > u->stamp - u->used[*out_unit])) {
            best = start;
            *out_unit = unit;
        }
    }
    return best;
}

static inline void x86_units_take(struct x86_units *u, unsigned unit, uint64_t at, unsigned cycles)
{
    u->used[unit] = ++u->stamp;
    u->busy_cycles[unit] += cycles;
    while (cycles) {
        struct x86_calendar_word *w = x86_units_word(u, at / 64);
        unsigned room = 64 - at % 64, n = cycles < room ? cycles : room;

        if (w->number == at / 64)
            w->busy[unit] |= (n == 64 ? ~0ull : (1ull << n) - 1) << at % 64;
        at += n;
        cycles -= n;
    }
}

/**
 * x86_units_issue() - take all uses of an instruction
 * Returns: the cycle in which it is issued, >= ready
 */
static inline uint64_t x86_units_issue(struct x86_units *u, const struct x86_use *uses, unsigned n, uint64_t ready)
{
    unsigned unit[X86_USES];
    uint64_t at = ready, taken = 0;

    for (unsigned i = 0; i < n;) {
        struct x86_use use = uses[i];
        uint64_t start;

        if (use.units & ~taken) /* two uses of one instruction are two units, if there are two */
            use.units &= ~taken;
        start = x86_units_find(u, &use, at + use.first, &unit[i]);
        taken |= 1ull << unit[i];
        if (start != at + use.first && i) { /* later: all over again from there */
            at = start - use.first;
            taken = 0;
            i = 0;
        } else {
            at = start - use.first;
            i++;
        }
    }
    for (unsigned i = 0; i < n; i++)
        x86_units_take(u, unit[i], at + uses[i].first, uses[i].cycles);
    return at;
}

#endif
