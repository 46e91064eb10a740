/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prefetches: when a level has been asked, its prefetcher says which lines it would have, and they are brought
 * as if the core had asked, but only while miss registers are free: a prefetch never waits for one.
 */
#include "memory_fast.h"

static void bring_line(struct x86_memory *m, struct x86_level *level, const struct x86_request *r, uint64_t line,
    uint64_t now)
{
    struct x86_core *c = &m->cores[r->core];
    struct x86_access access = *r->access;
    struct x86_request p = {.access = &access,
        .line = line,
        .now = now,
        .core = r->core,
        .fetch = r->fetch,
        .prefetch = level == &c->l2 ? 2 : 1,
        .other = PEET_MEMORY_NOBODY};
    uint64_t done;
    uint8_t state;

    access.address = line << m->line_shift;
    access.size_bytes = (uint32_t)m->config.line_bytes;
    access.kind = X86_PREFETCH;
    level->stats.prefetches++;
    done = level == &c->l2 ? peet__x86_outer(m, &p, now, 0, &state)
        : p.fetch          ? peet__x86_fetch(m, &p, now)
                           : peet__x86_data(m, &p, now);
    peet__x86_report_misses(m, &p, done);
}

void peet__x86_prefetch(struct x86_memory *m, struct x86_level *level, const struct x86_request *r, int miss,
    uint64_t now)
{
    struct x86_core *c = &m->cores[r->core];
    uint64_t lines[PEET_SIM_PREFETCH_MAX], address = r->access->address;
    uint32_t n;

    if (level->prefetcher.kind == PEET_SIM_PREFETCH_NONE)
        return;
    n = peet_sim_prefetcher_see(&level->prefetcher, x86_memory_pc(r->access->block, r->access->ref), address, miss,
        lines);
    for (uint32_t i = 0; i < n; i++) {
        uint64_t slot = peet_sim_tags_find(&level->tags, lines[i]);

        if (slot != PEET_SIM_NO_SLOT) {
            if (level == &c->l1d)
                peet__x86_hint(m, c, lines[i], slot);
            continue;
        }
        if (!m->timeless && peet_sim_slots_full(&level->mshrs, now)) {
            level->stats.prefetches_dropped++;
            continue;
        }
        bring_line(m, level, r, lines[i], now);
    }
}
