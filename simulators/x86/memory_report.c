/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What observers are told of the memory system, and why a core misses a line: it never had it; another's write took
 * it, and the words that are asked for were written since (true sharing) or not (false sharing); or it was replaced:
 * capacity, or conflict if it is followed what a fully associative cache would have kept (classify=on).  Level 3 is
 * cold if no core ever had the line.
 */
#include "memory_state.h"

static uint64_t *cells(const struct x86_memory *m, struct x86_line *record)
{
    return (uint64_t *)((char *)record + m->cells_offset);
}

void peet__x86_wrote(struct x86_memory *m, uint32_t core, uint64_t line, uint64_t sectors)
{
    struct x86_line *record = peet__x86_line(m, line);

    for (uint32_t i = 0; record && i < m->ncores; i++)
        if (i != core && cells(m, record)[i] & X86_CELL_LOST)
            cells(m, record)[i] |= sectors << X86_CELL_SECTORS;
}

void peet__x86_lost_to(struct x86_memory *m, uint32_t core, uint64_t line)
{
    struct x86_line *record = peet__x86_line(m, line);

    if (record)
        cells(m, record)[core] = X86_CELL_HAD | X86_CELL_LOST;
}

static void report(struct x86_memory *m, const struct peet_memory_event *event)
{
    if (m->reports >> event->type & 1)
        m->env->report(m->env, event, 1);
}

static uint8_t flags_of(const struct x86_request *r)
{
    return (uint8_t)((r->write ? PEET_MEMORY_STORE : 0) | (r->fetch ? PEET_MEMORY_INSTRUCTION : 0) |
        (r->prefetch ? PEET_MEMORY_PREFETCH : 0) | (r->walk ? PEET_MEMORY_WALK : 0));
}

/** Counted as the level counts its misses: L3 those of prefetches, too. */
static void classified(struct x86_memory *m, const struct x86_request *r, uint8_t level, enum peet_memory_cause cause)
{
    struct x86_core *c = &m->cores[r->core];
    int shared = m->has_l3 && level == m->nlevels;
    struct x86_level *of = shared ? &m->slices[peet__x86_slice(m, r->line)].l3
        : level == 2              ? &c->l2
        : r->fetch                ? &c->l1i
                                  : &c->l1d;

    if (!r->walk && (shared || !r->prefetch))
        of->stats.causes[cause]++;
}

void peet__x86_report_misses(struct x86_memory *m, const struct x86_request *r, uint64_t done)
{
    struct x86_line *record;
    enum peet_memory_cause cause = PEET_MISS_CAPACITY;
    uint64_t sectors, *cell;
    int first = 1;

    if (!m->causes || !r->missed || !(record = peet__x86_line(m, r->line)))
        return;
    cell = &cells(m, record)[r->core];
    sectors = peet__x86_sectors(m, r->access->address, r->access->size_bytes) << X86_CELL_SECTORS;
    if (!*cell)
        cause = PEET_MISS_COLD;
    else if (*cell & X86_CELL_LOST)
        cause = *cell & sectors ? PEET_MISS_TRUE_SHARING : PEET_MISS_FALSE_SHARING;
    for (uint32_t i = 0; i < m->ncores && first; i++)
        first = i == r->core || !cells(m, record)[i];
    *cell = X86_CELL_HAD;
    for (uint8_t level = 1; level <= m->nlevels; level++) {
        struct peet_memory_event event = {.type = PEET_MEMORY_MISS,
            .level = level,
            .cause = (uint8_t)cause,
            .flags = flags_of(r),
            .hw = r->access->hw,
            .other = r->other,
            .size_bytes = r->access->size_bytes,
            .address = r->access->address,
            .by = r->access->address,
            .cycles = done - r->now,
            .now = r->now,
            .block = r->access->block,
            .ref = r->access->ref};

        if (!(r->missed >> level & 1))
            continue;
        if (m->has_l3 && level == m->nlevels && (cause != PEET_MISS_COLD || !first))
            event.cause = PEET_MISS_CAPACITY; /* the shared level loses nothing to writes */
        if (event.cause == PEET_MISS_CAPACITY && r->shadowed >> level & 1)
            event.cause = PEET_MISS_CONFLICT;
        if (r->upgrades >> level & 1)
            event.cause = PEET_MISS_UPGRADE;
        else if (m->classify)
            classified(m, r, level, (enum peet_memory_cause)event.cause);
        report(m, &event);
    }
}

void peet__x86_report_loss(struct x86_memory *m, const struct x86_level *level, uint32_t core, uint64_t line,
    enum peet_memory_type type, int dirty, const struct x86_request *by)
{
    struct peet_memory_event event = {.type = (uint8_t)type,
        .level = level->number,
        .flags = dirty ? PEET_MEMORY_DIRTY : 0,
        .hw = core == by->core ? by->access->hw : peet__x86_hw(m, core),
        .other = core == by->core ? PEET_MEMORY_NOBODY : by->access->hw,
        .size_bytes = (uint32_t)m->config.line_bytes,
        .address = line << m->line_shift,
        .by = by->access->address,
        .now = by->now,
        .block = by->access->block,
        .ref = by->access->ref};

    if (level == &m->cores[core].l1i)
        event.flags |= PEET_MEMORY_INSTRUCTION;
    report(m, &event);
}
