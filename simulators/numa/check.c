/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The checker (check=on): each write gives its line a new version, which travels with the data as the protocol says.
 * After each reference it looks at all copies of the line: at most one owner, alone if it is in E or M; the home's
 * state and sharers fit the copies; no copy is stale; memory is up to date unless a copy is in M or O.
 */
#include "numa.h"
#include <stdlib.h>

/* Of a line: the latest version, and memory's. */
static uint64_t *versions_of(struct numa *n, uint64_t line)
{
    static uint64_t nowhere[2]; /* only after memory ran out; the run is ending */
    uint64_t *v = peet_sim_linemap_get(&n->versions, line);
    if (!v && !n->dead) {
        n->env->fail(n->env, "out of memory for the checker; try check=off");
        n->dead = 1;
    }
    return v ? v : nowhere;
}

static uint64_t *copy_of(const struct numa *n, const struct numa_processor *p, uint64_t slot)
{
    return &n->copies[(uint64_t)p->number * p->cache.sets * p->cache.ways + slot];
}

int peet__numa_check_init(struct numa *n)
{
    peet_sim_linemap_init(&n->versions, 2 * sizeof(uint64_t));
    n->copies = calloc((size_t)n->nhw * n->processors[0].cache.sets * n->processors[0].cache.ways, sizeof *n->copies);
    return n->copies ? 0 : -1;
}

void peet__numa_check_fini(struct numa *n)
{
    if (!n->copies)
        return;
    free(n->copies);
    peet_sim_linemap_fini(&n->versions);
}

void peet__numa_violated(struct numa *n, uint64_t line, const char *what)
{
    if (!n->dead)
        n->env->fail(n->env, "protocol %s violates an invariant at address 0x%llx: %s (please report this)",
            n->protocol->name, (unsigned long long)line << n->line_shift, what);
    n->dead = 1;
}

void peet__numa_check_fill(struct numa *n, const struct numa_processor *p, uint64_t slot, uint64_t line,
    const struct numa_processor *from, uint64_t from_slot)
{
    *copy_of(n, p, slot) = from ? *copy_of(n, from, from_slot) : versions_of(n, line)[1];
}

void peet__numa_check_memory_takes(struct numa *n, const struct numa_processor *p, uint64_t slot, uint64_t line)
{
    versions_of(n, line)[1] = *copy_of(n, p, slot);
}

void peet__numa_check_reference(struct numa *n, const struct numa_processor *p, uint64_t line, int write)
{
    struct numa_line *l = peet__numa_line(n, line);
    uint64_t *versions = versions_of(n, line), slot = peet_sim_tags_find(&p->cache, line);
    uint32_t copies = 0, owners = 0, exclusive = 0, dirty = 0, shared = 0;
    if (n->dead)
        return;
    if (slot == PEET_SIM_NO_SLOT) {
        peet__numa_violated(n, line, "a reference left no copy");
        return;
    }
    if (*copy_of(n, p, slot) != versions[0])
        peet__numa_violated(n, line, "a processor saw a stale copy");
    if (write) {
        if (p->cache.states[slot] != PEET_SIM_COPY_M)
            peet__numa_violated(n, line, "a write without the right to it");
        *copy_of(n, p, slot) = versions[0] = ++n->version;
    }
    for (uint32_t i = 0; i < n->nhw; i++) {
        const struct numa_processor *q = &n->processors[i];
        const uint64_t at = peet_sim_tags_find(&q->cache, line);
        if (at == PEET_SIM_NO_SLOT)
            continue;
        const uint8_t state = q->cache.states[at];
        copies++;
        shared += state == PEET_SIM_COPY_S;
        owners += state != PEET_SIM_COPY_S;
        exclusive += state == PEET_SIM_COPY_E || state == PEET_SIM_COPY_M;
        dirty += state == PEET_SIM_COPY_M || state == PEET_SIM_COPY_O;
        if (*copy_of(n, q, at) != versions[0])
            peet__numa_violated(n, line, "a copy is stale");
        if (state == PEET_SIM_COPY_S ? !peet_sim_sharers_has(&n->directory, peet__numa_sharers(l), i) : l->owner != i)
            peet__numa_violated(n, line, "the home does not know of a copy");
    }
    if (owners > 1 || (exclusive && copies > 1))
        peet__numa_violated(n, line, "two caches answer for the line, or one has it alone and is not alone");
    const uint8_t wanted = exclusive ? PEET_SIM_HOME_EXCLUSIVE
        : owners                     ? PEET_SIM_HOME_OWNED
        : shared                     ? PEET_SIM_HOME_SHARED
                                     : PEET_SIM_HOME_INVALID;
    if (l->state != wanted)
        peet__numa_violated(n, line, "the home's state does not fit the copies");
    if (!dirty && versions[1] != versions[0])
        peet__numa_violated(n, line, "nobody is dirty, but memory is stale");
}
