/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Miss status holding registers (Kroft, ISCA 1981): the misses that a cache has under way, one register
 * for each line.  A second miss of a line joins the first; when all registers are taken, a miss waits for
 * the first to become free.  This is what bounds memory-level parallelism.
 */
#ifndef PEET_SIM_MSHR_H
#define PEET_SIM_MSHR_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { PEET_SIM_MSHRS_MAX = 64 };

struct peet_sim_mshrs {
    uint32_t n; /* 1..PEET_SIM_MSHRS_MAX */
    struct {
        uint64_t line, free_from;
    } registers[PEET_SIM_MSHRS_MAX];
    uint64_t merged, full_cycles;
};

/** peet_sim_mshrs_find() - when the line comes that is under way at this time; 0: it is not under way */
static inline uint64_t peet_sim_mshrs_find(struct peet_sim_mshrs *m, uint64_t line, uint64_t now)
{
    for (uint32_t i = 0; i < m->n; i++)
        if (m->registers[i].line == line && m->registers[i].free_from > now) {
            m->merged++;
            return m->registers[i].free_from;
        }
    return 0;
}

/**
 * peet_sim_mshrs_take() - a register for a line that is not under way
 * @out_start: when there is one, >= now: the miss begins then
 * Returns: its number, for peet_sim_mshrs_set()
 */
static inline uint32_t peet_sim_mshrs_take(struct peet_sim_mshrs *m, uint64_t line, uint64_t now, uint64_t *out_start)
{
    uint32_t first = 0;

    for (uint32_t i = 0; i < m->n; i++) {
        if (m->registers[i].free_from <= now) {
            first = i;
            break;
        }
        if (m->registers[i].free_from < m->registers[first].free_from)
            first = i;
    }
    *out_start = m->registers[first].free_from > now ? m->registers[first].free_from : now;
    m->full_cycles += *out_start - now;
    m->registers[first].line = line;
    m->registers[first].free_from = UINT64_MAX;
    return first;
}

/** peet_sim_mshrs_set() - the miss will be over then */
static inline void peet_sim_mshrs_set(struct peet_sim_mshrs *m, uint32_t number, uint64_t over)
{
    m->registers[number].free_from = over;
}

/** peet_sim_mshrs_busy() - registers in use at a time */
static inline uint32_t peet_sim_mshrs_busy(const struct peet_sim_mshrs *m, uint64_t now)
{
    uint32_t busy = 0;

    for (uint32_t i = 0; i < m->n; i++)
        busy += m->registers[i].free_from > now;
    return busy;
}

#ifdef __cplusplus
}
#endif
#endif
