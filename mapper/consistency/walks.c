/* SPDX-License-Identifier: Apache-2.0 */
/* See walks.h. */
#include "consistency/walks.h"
#include "base/splitmix.h"

enum { LENGTH = 64 /* if nobody knows */ };

#define NOBODY UINT64_MAX

static uint64_t draw(struct peet_walk *w, uint64_t n)
{
    return peet__splitmix64(&w->random) % n;
}

void peet__walk_begin(struct peet_walk *w, uint64_t seed, uint64_t number, uint64_t length)
{
    static const uint8_t stays[] = {0, 8, 14, 15}, moves[] = {1, 4, 8, 14}, lags[] = {0, 1, 3, 6};

    w->seed = seed;
    w->number = number;
    w->length = length;
    w->random = seed * 0x9e3779b97f4a7c15u + number;
    w->how = (enum peet_walk_how)(number % PEET_WALK_HOWS);
    w->stay = stays[draw(w, 4)];
    w->moves = moves[draw(w, 4)];
    w->lag = lags[draw(w, 4)];
    w->last = w->step = 0;
    w->first = (int)draw(w, 2);
    w->nwaiting = 0;
    w->nchanges = (uint32_t)draw(w, PEET_WALK_CHANGES + 1);
    for (uint32_t i = 0; i < w->nchanges; i++) {
        const uint64_t step = 1 + draw(w, length ? length : LENGTH);
        uint32_t at = i;

        for (; at > 0 && w->changes[at - 1] > step; at--)
            w->changes[at] = w->changes[at - 1];
        w->changes[at] = step;
        w->lowered[i] = NOBODY;
    }
}

static unsigned stays(struct peet_walk *w, const struct peet_option *options, unsigned n)
{
    unsigned goes = 0, moves;

    while (goes < n && !options[goes].is_move)
        goes++;
    moves = n - goes;
    if (goes && draw(w, 16) < w->stay)
        for (unsigned i = 0; i < goes; i++)
            if (options[i].id == w->last)
                return i;
    if (moves && (!goes || draw(w, 16) < w->moves))
        return goes + (unsigned)draw(w, moves);
    return (unsigned)draw(w, goes);
}

/** Both lists are nearly in the same order. */
static const struct peet_waiting *waits(const struct peet_walk *w, uint64_t id, unsigned near)
{
    for (unsigned k = 0; k < w->nwaiting; k++) {
        const struct peet_waiting *one = &w->waiting[(near + k) % w->nwaiting];

        if (one->id == id)
            return one;
    }
    return NULL;
}

static unsigned orders(struct peet_walk *w, const struct peet_option *options, unsigned n)
{
    uint64_t priorities[PEET_OPTIONS_ROOM];
    unsigned best = 0, kept = 0;

    for (unsigned i = 0; i < n; i++) {
        const struct peet_waiting *one = waits(w, options[i].id, i);

        priorities[i] = one ? one->priority : peet__splitmix64(&w->random) >> (options[i].is_move ? w->lag : 0);
        best = priorities[i] > priorities[best] ? i : best;
    }
    for (unsigned i = 0; i < n; i++)
        if (i != best)
            w->waiting[kept++] = (struct peet_waiting){options[i].id, priorities[i]};
    w->nwaiting = kept;
    return best;
}

/** Whose priority an option has: its context's, or that of all moves of one kind of a processor. */
static uint64_t whose(const struct peet_option *option)
{
    return option->is_move ? 1ull << 63 | (uint64_t)option->move.kind << 32 | option->hw
                           : peet_option_owner(option->id);
}

/** Who was made the lowest is below all others, and the later, the lower. */
static uint64_t priority(const struct peet_walk *w, uint64_t who)
{
    uint64_t state = w->seed * 0x9e3779b97f4a7c15u + w->number + who * 0xd1342543de82ef95u;

    for (uint32_t i = w->nchanges; i-- > 0;)
        if (w->lowered[i] == who)
            return w->nchanges - i;
    return peet__splitmix64(&state) | 1ull << 63;
}

/** Of several that one context can do, any. */
static unsigned highest(struct peet_walk *w, const struct peet_option *options, unsigned n)
{
    uint64_t most = 0;
    unsigned best = 0, equal = 0;

    for (unsigned i = 0; i < n; i++) {
        const uint64_t its = priority(w, whose(&options[i]));

        if (its > most) {
            most = its;
            best = i;
            equal = 1;
        } else if (its == most && draw(w, ++equal) == 0) {
            best = i;
        }
    }
    return best;
}

static unsigned priorities(struct peet_walk *w, const struct peet_option *options, unsigned n)
{
    unsigned best = highest(w, options, n);

    for (uint32_t i = 0; i < w->nchanges; i++)
        if (w->changes[i] == w->step) {
            w->lowered[i] = whose(&options[best]);
            best = highest(w, options, n);
        }
    return best;
}

/** main, as long as it can go on: all threads that it makes are there before one of them has gone far.  Returns: its
 * option, or n */
static unsigned main_first(struct peet_walk *w, const struct peet_option *options, unsigned n)
{
    unsigned i = 0;

    while (i < n && (options[i].is_move || peet_option_owner(options[i].id) != 0))
        i++;
    w->first = i < n;
    return i;
}

unsigned peet__walk_choose(struct peet_walk *w, const struct peet_option *options, unsigned n)
{
    unsigned chosen;

    w->step++;
    if (w->first && (chosen = main_first(w, options, n)) < n)
        return chosen;
    switch (w->how) {
    case PEET_WALK_ORDERS:
        chosen = orders(w, options, n);
        break;
    case PEET_WALK_PRIORITIES:
        chosen = priorities(w, options, n);
        break;
    default:
        chosen = stays(w, options, n);
    }
    w->last = options[chosen].id;
    return chosen;
}
