/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The invariant checker (check=on).  Every write gives the sectors that it touches a new version number; the
 * numbers travel with the data as the protocol says they do.  After each reference, for its line:
 *
 *   - a state that excludes other copies has none beside it; at most one cache answers for the line (is dirty)
 *   - every copy has the latest version of every sector: there is no stale copy
 *   - memory has the latest versions if no cache is dirty
 *   - a read sees the latest versions
 *   - a row of the table that is marked "never" was not used
 *
 * The engine calls; a violation ends the run with a message.
 */
#include "check.h"
#include <stdlib.h>
#include <string.h>

int peet__bus_check_init(struct bus *b)
{
    struct checker *k = b->checker = calloc(1, sizeof *k);
    if (!k)
        return -1;
    k->sectors = b->line_bytes >> b->sector_shift;
    peet_sim_linemap_init(&k->data, 2 * k->sectors * sizeof(uint64_t));
    k->copies = calloc((size_t)b->ncaches * b->lines * k->sectors, sizeof *k->copies);
    return k->copies ? 0 : -1;
}

void peet__bus_check_fini(struct bus *b)
{
    if (!b->checker)
        return;
    peet_sim_linemap_fini(&b->checker->data);
    free(b->checker->copies);
    free(b->checker);
}

static void violated(struct bus *b, uint64_t line, const char *what)
{
    b->checker->violations++;
    if (!b->dead)
        b->env->fail(b->env, "protocol %s violates an invariant at address 0x%llx: %s (please report this)",
            b->protocol->name, (unsigned long long)line << b->line_shift, what);
    b->dead = 1;
}

static uint64_t *latest_of(struct bus *b, uint64_t line)
{
    static uint64_t nowhere[2 * 64]; /* only after memory ran out; the run is ending */
    uint64_t *data = peet_sim_linemap_get(&b->checker->data, line);
    if (!data) {
        if (!b->dead)
            b->env->fail(b->env, "out of memory for the invariant checker; try check=off");
        b->dead = 1;
        return nowhere;
    }
    return data;
}

static uint64_t *memory_of(struct bus *b, uint64_t line)
{
    return latest_of(b, line) + b->checker->sectors;
}

static uint64_t *copy_of(struct bus *b, const struct frame *f)
{
    return b->checker->copies + (size_t)(f - b->frames) * b->checker->sectors;
}

void peet__bus_check_fill(struct bus *b, struct frame *to, uint64_t line, const struct frame *from)
{
    memcpy(copy_of(b, to), from ? copy_of(b, from) : memory_of(b, line), b->checker->sectors * sizeof(uint64_t));
}

void peet__bus_check_memory_takes(struct bus *b, uint64_t line, const struct frame *from)
{
    memcpy(memory_of(b, line), copy_of(b, from), b->checker->sectors * sizeof(uint64_t));
}

/* Copy the latest versions of some sectors: they are what is on the bus. */
static void take(struct bus *b, uint64_t *to, uint64_t line, uint64_t sectors)
{
    const uint64_t *latest = latest_of(b, line);
    for (unsigned g = 0; g < b->checker->sectors; g++)
        if (sectors >> g & 1)
            to[g] = latest[g];
}

void peet__bus_check_memory_takes_sectors(struct bus *b, uint64_t line, uint64_t sectors)
{
    take(b, memory_of(b, line), line, sectors);
}

void peet__bus_check_take(struct bus *b, struct frame *f, uint64_t line, uint64_t sectors)
{
    take(b, copy_of(b, f), line, sectors);
}

void peet__bus_check_write(struct bus *b, struct frame *f, uint64_t line, uint64_t sectors)
{
    uint64_t *latest = latest_of(b, line), version = ++b->checker->version;
    for (unsigned g = 0; g < b->checker->sectors; g++)
        if (sectors >> g & 1)
            latest[g] = version;
    if (f)
        take(b, copy_of(b, f), line, sectors);
}

void peet__bus_check_read(struct bus *b, struct cache *c, struct frame *f, uint64_t line, uint64_t sectors)
{
    const uint64_t *latest = latest_of(b, line), *copy = f ? copy_of(b, f) : latest;
    if (!f)
        violated(b, line, "a read left no copy");
    for (unsigned g = 0; g < b->checker->sectors; g++)
        if (sectors >> g & 1 && copy[g] != latest[g])
            violated(b, line, "a read does not see the latest write");
}

void peet__bus_check_processor_row(struct bus *b, unsigned state, int write)
{
    b->checker->processor_used[state][write] = 1;
}

void peet__bus_check_snoop_row(struct bus *b, struct cache *c, uint64_t line, unsigned state, enum bus_op op)
{
    b->checker->snoop_used[state][op] = 1;
    if (b->protocol->snoop[state][op].flags & BUS_NEVER)
        violated(b, line, "a copy sees a transaction that its state excludes");
}

void peet__bus_check_line(struct bus *b, uint64_t line)
{
    struct line_record *record = peet_sim_linemap_get(&b->lines_map, line);
    const uint64_t *latest = latest_of(b, line);
    size_t bytes = b->checker->sectors * sizeof *latest;
    unsigned copies = 0, only = 0, dirty = 0;
    b->checker->checks++;
    for (struct frame *f = peet__bus_copies(b, record); f; f = peet__bus_next_copy(b, f)) {
        unsigned flags = b->protocol->states[f->state].flags;
        copies++;
        only += (flags & BUS_ONLY) != 0;
        dirty += (flags & BUS_DIRTY) != 0;
        if (f->state == BUS_INVALID || peet__bus_line_in(b, f) != line)
            violated(b, line, "the list of copies holds a foreign frame");
        if (peet__bus_find(b, peet__bus_cache_of(b, f), line, record) != f)
            violated(b, line, "a cache holds a line twice, or in the wrong set");
        if (memcmp(copy_of(b, f), latest, bytes))
            violated(b, line, "a copy is stale");
    }
    if (only && copies > 1)
        violated(b, line, "an exclusive copy is not the only one");
    if (dirty > 1)
        violated(b, line, "two caches own the line");
    if (!dirty && memcmp(memory_of(b, line), latest, bytes))
        violated(b, line, "memory is stale, and no cache owns the line");
}
