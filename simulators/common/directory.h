/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who has copies of a line: the sharer sets of a directory.  FULL: a bit for each core (Censier, Feautrier: IEEE
 * ToC 1978).  LIMITED: a few pointers; when they do not suffice, either everybody is taken for a sharer
 * (BROADCAST, Dir_i B) or an earlier sharer must give its copy up (EVICT, Dir_i NB) (Agarwal, Simoni, Hennessy,
 * Horowitz: ISCA 1988).  The set is in storage of the caller's, peet_sim_directory_bytes() for each line, all
 * zero at first; it knows nothing of states.
 */
#ifndef PEET_SIM_DIRECTORY_H
#define PEET_SIM_DIRECTORY_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

enum peet_sim_directory_kind { PEET_SIM_DIRECTORY_FULL, PEET_SIM_DIRECTORY_BROADCAST, PEET_SIM_DIRECTORY_EVICT };
#define PEET_SIM_DIRECTORIES "full|broadcast|evict"

enum { PEET_SIM_POINTERS_MAX = 14, PEET_SIM_NOBODY = -1 };

struct peet_sim_directory {
    enum peet_sim_directory_kind kind;
    uint32_t cores;    /* up to 65534 */
    uint32_t pointers; /* LIMITED: 1..PEET_SIM_POINTERS_MAX */
};

/** One line's set: bits, or pointers (core + 1) after a head. */
union peet_sim_sharers {
    uint64_t bits[1];
    struct {
        uint16_t used, all, core[PEET_SIM_POINTERS_MAX];
    } limited;
};

static inline size_t peet_sim_directory_bytes(const struct peet_sim_directory *d)
{
    if (d->kind == PEET_SIM_DIRECTORY_FULL)
        return (d->cores + 63) / 64 * sizeof(uint64_t);
    return (4 + 2 * d->pointers + 7) / 8 * 8;
}

/** peet_sim_sharers_has() - may the core have a copy? */
static inline int peet_sim_sharers_has(const struct peet_sim_directory *d, const union peet_sim_sharers *s,
    uint32_t core)
{
    if (d->kind == PEET_SIM_DIRECTORY_FULL)
        return s->bits[core / 64] >> core % 64 & 1;
    for (uint32_t i = 0; i < s->limited.used; i++)
        if (s->limited.core[i] == core)
            return 1;
    return s->limited.all != 0;
}

/** peet_sim_sharers_add() - Returns: the core that must give up its copy for it (EVICT: the earliest), or
 * PEET_SIM_NOBODY */
static inline int peet_sim_sharers_add(const struct peet_sim_directory *d, union peet_sim_sharers *s, uint32_t core)
{
    int out;

    if (d->kind == PEET_SIM_DIRECTORY_FULL) {
        s->bits[core / 64] |= 1ull << core % 64;
        return PEET_SIM_NOBODY;
    }
    if (peet_sim_sharers_has(d, s, core))
        return PEET_SIM_NOBODY;
    if (s->limited.used < d->pointers) {
        s->limited.core[s->limited.used++] = (uint16_t)core;
        return PEET_SIM_NOBODY;
    }
    if (d->kind == PEET_SIM_DIRECTORY_BROADCAST) {
        s->limited.all = 1;
        return PEET_SIM_NOBODY;
    }
    out = s->limited.core[0];
    memmove(&s->limited.core[0], &s->limited.core[1], (d->pointers - 1) * sizeof *s->limited.core);
    s->limited.core[d->pointers - 1] = (uint16_t)core;
    return out;
}

/** peet_sim_sharers_remove() - the core has no copy any more (no effect on a set that has become everybody) */
static inline void peet_sim_sharers_remove(const struct peet_sim_directory *d, union peet_sim_sharers *s, uint32_t core)
{
    if (d->kind == PEET_SIM_DIRECTORY_FULL) {
        s->bits[core / 64] &= ~(1ull << core % 64);
        return;
    }
    if (s->limited.all)
        return;
    for (uint32_t i = 0; i < s->limited.used; i++)
        if (s->limited.core[i] == core) {
            memmove(&s->limited.core[i], &s->limited.core[i + 1], (--s->limited.used - i) * sizeof *s->limited.core);
            return;
        }
}

static inline void peet_sim_sharers_clear(const struct peet_sim_directory *d, union peet_sim_sharers *s)
{
    memset(s, 0, peet_sim_directory_bytes(d));
}

/** peet_sim_sharers_next() - the least core >= from that may have a copy, or PEET_SIM_NOBODY */
static inline int peet_sim_sharers_next(const struct peet_sim_directory *d, const union peet_sim_sharers *s,
    uint32_t from)
{
    int least = PEET_SIM_NOBODY;

    if (d->kind == PEET_SIM_DIRECTORY_FULL) {
        for (uint32_t word = from / 64; word < (d->cores + 63) / 64; word++) {
            uint64_t bits = s->bits[word];

            if (word == from / 64)
                bits &= ~0ull << from % 64;
            if (bits)
                return (int)(64 * word + (uint32_t)__builtin_ctzll(bits));
        }
        return PEET_SIM_NOBODY;
    }
    if (s->limited.all)
        return from < d->cores ? (int)from : PEET_SIM_NOBODY;
    for (uint32_t i = 0; i < s->limited.used; i++)
        if (s->limited.core[i] >= from && (least < 0 || s->limited.core[i] < least))
            least = s->limited.core[i];
    return least;
}

#ifdef __cplusplus
}
#endif
#endif
