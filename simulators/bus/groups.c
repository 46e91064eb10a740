/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blocks that do not only hit, taken group by group (template.c).  Only for one processor with LRU.
 *
 *   1. A miss is one transaction, and after it all references of the group to that line hit.  So all of them count as
 *      the first one, which misses if any does.
 *   2. No line that the block has touched is replaced before the block ends, because a set has at least as many frames
 *      as the block has groups.  (Otherwise peet__bus_crowded() says so, and the block goes reference by reference.)
 *   3. From 1 and 2: only the first references of the groups must keep their order.
 *
 * uniprocessor.c has the general form for lines that are not in the cache.  Called by blocks.c.
 */
#include "groups.h"
#include "straddle.h"
#include "miss.h"
#include <stdlib.h>

#define ALWAYS static inline __attribute__((always_inline))
#define UNLIKELY(x) __builtin_expect(!!(x), 0)
#define LIKELY(x) __builtin_expect(!!(x), 1)

/* What filling a line takes and leaves after, by the protocol's table; whether that is all. */
static int fill_of(struct bus *b, int write)
{
    const struct bus_processor_row *row = &b->protocol->processor[BUS_INVALID][write];
    struct fill *fill = &b->fill[write];
    if (row->op != OP_READ && row->op != OP_READX)
        return 0;
    fill->op = row->op;
    fill->cycles = b->address_cycles + b->memory_latency_cycles + b->line_cycles;
    while (row->again) {
        row = &b->protocol->processor[row->alone][write];
        if (row->op != OP_NONE)
            return 0;
    }
    fill->state = row->alone;
    fill->permission = b->permission[row->alone];
    /* What comes after it is no transaction: reads after a read, anything after a write. */
    return fill->permission & PERMISSION_READ && (!write || fill->permission & PERMISSION_WRITE);
}

/* The state after such references to a line in this state; BUS_INVALID: they need the bus, or more than one probe */
static uint8_t silently(const struct bus *b, enum fill_kind kind, uint8_t state)
{
    const struct bus_processor_row *const rows = b->protocol->processor[state];
    if (state == BUS_INVALID || state >= b->protocol->nstates || rows[kind == FILL_WRITE].op != OP_NONE)
        return BUS_INVALID;
    const uint8_t next = rows[kind == FILL_WRITE].alone;
    if (kind == FILL_READ || b->permission[next] & PERMISSION_WRITE)
        return next;
    return kind == FILL_SILENTLY && b->protocol->processor[next][1].op == OP_NONE
        ? b->protocol->processor[next][1].alone
        : BUS_INVALID;
}

static uint32_t touches_up_to(const struct peet_block *block, uint32_t ref)
{
    uint32_t n = ref + 1;
    for (uint32_t i = 0; i < ref; i++)
        n = n + (block->refs[i].kind == PEET_REF_MODIFY) - (block->refs[i].kind == PEET_REF_PREFETCH);
    return n;
}

static int writes_first(const struct peet_ref *ref)
{
    return ref->kind == PEET_REF_STORE || (ref->kind == PEET_REF_MODIFY && ref->flags & PEET_REF_ATOMIC);
}

struct line_access peet__bus_access_of(const struct bus *b, const struct peet_block *block,
    const struct group_member *members, uint32_t n)
{
    const struct peet_ref *ref = &block->refs[members[0].ref];
    struct line_access w = {.at = b->cpi * ref->insn + touches_up_to(block, members[0].ref) * b->hit_cycles * CPI_ONE,
        .bytes = ref->size_bytes,
        .first = members[0].ref,
        .ref = members[0].ref,
        .offset = members[0].offset,
        .last = (uint8_t)(members[n - 1].ref + 1),
        .permission_mask = PERMISSION_WRITE,
        .writes = (uint8_t)writes_first(ref)};
    for (uint32_t i = 0; i < n; i++) {
        const int loads = block->refs[members[i].ref].kind == PEET_REF_LOAD;
        w.permission_mask = loads ? w.permission_mask : 0;
        w.writes_after |= (i || !w.writes) && !loads;
    }
    w.fill = w.writes ? FILL_WRITE : w.writes_after ? FILL_SILENTLY : FILL_READ;
    return w;
}

static void sort_accesses(struct line_access *accesses, uint32_t n)
{
    for (uint32_t k = 1; k < n; k++)
        for (uint32_t j = k; j > 0 && accesses[j].first < accesses[j - 1].first; j--) {
            struct line_access w = accesses[j];
            accesses[j] = accesses[j - 1];
            accesses[j - 1] = w;
        }
}

int peet__bus_line_accesses(struct bus *b, struct block_template *p, const struct peet_block *block,
    const struct group *groups, const uint64_t *values, const uint8_t *group_of)
{
    uint32_t at = b->ngroup_members;
    const uint32_t n = p->ngroups;
    if (!b->groupwise || !n || n > ACCESSES_MAX)
        return 0;
    if (peet__bus_room_for((void **)&b->line_accesses, &b->line_accesses_size, b->nline_accesses, n,
            sizeof *b->line_accesses) ||
        peet__bus_room_for((void **)&b->group_members, &b->group_members_size, at, block->nrefs,
            sizeof *b->group_members))
        return -1;
    struct line_access *const accesses = b->line_accesses + b->nline_accesses;
    for (uint32_t k = 0; k < n; k++) {
        const uint32_t from = at;
        for (uint32_t i = 0; i < block->nrefs; i++)
            if (group_of[i] == k)
                b->group_members[at++] = (struct group_member){
                    (uint16_t)(values[i] - (values[groups[k].value] - groups[k].before)), (uint8_t)i};
        accesses[k] = peet__bus_access_of(b, block, b->group_members + from, at - from);
        accesses[k].group = (uint8_t)k;
        accesses[k].members = from;
        accesses[k].nmembers = (uint8_t)(at - from);
        if (!peet__bus_access_is_one(b, &accesses[k]))
            return 0;
    }
    sort_accesses(accesses, n);
    p->accesses = b->nline_accesses + 1;
    b->nline_accesses += n;
    b->ngroup_members = at;
    return 0;
}

void peet__bus_groups_count(struct bus *b)
{
    const struct filled *const n = &b->filled;
    struct cache_stats *const s = &b->caches[0].stats;
    uint64_t all = 0, write_backs = 0;
    if (!b->groupwise)
        return;
    for (unsigned kind = 0; kind < FILL_KINDS; kind++) {
        uint64_t fills = 0;
        for (unsigned state = 0; state < BUS_STATES_MAX; state++) {
            fills += n->fills[kind][state];
            s->evictions += state == BUS_INVALID ? 0 : n->fills[kind][state];
            write_backs += b->dirty[state] ? n->fills[kind][state] : 0;
        }
        *(kind == FILL_WRITE ? &s->write_misses : &s->read_misses) += fills;
        b->transactions[b->fill[kind].op] += fills;
        b->calendar.busy_cycles += fills * b->fill[kind].cycles;
        all += fills;
    }
    for (unsigned kind = 0; b->classify && kind < MISS_KINDS; kind++) {
        s->kinds[kind] += n->kinds[kind];
        s->kinds[MISS_CAPACITY] -= n->kinds[kind]; /* those are all others */
    }
    s->kinds[MISS_CAPACITY] += b->classify ? all : 0;
    s->write_backs += write_backs;
    b->memory_line_reads += all;
    b->memory_line_writes += write_backs;
    b->transactions[OP_WRITE_BACK] += write_backs;
    b->calendar.transactions += all + write_backs;
    b->calendar.busy_cycles += write_backs * (b->address_cycles + b->line_cycles);
    b->hw[0].wait_cycles += n->waited;
    b->filled = (struct filled){0};
}

/* May a set be the place of more lines than it has frames?  Then a victim could be a line that the block has touched.
 */
int peet__bus_crowded(const struct bus *b, const uint64_t *lines, uint32_t n)
{
    uint8_t counts[256] = {0};
    for (uint32_t k = 0; k < n; k++)
        if (++counts[peet__bus_set_of(b, lines[k]) & 255] > b->ways)
            return 1;
    return 0;
}

int peet__bus_groups_exactly(struct bus *b, unsigned hw, const struct block_template *p, const struct peet_block *block,
    const uint64_t *addresses, uint64_t now, uint64_t time, uint64_t *out_stalled, uint64_t *out_more_time)
{
    struct execution t = {.c = &b->caches[hw],
        .start = now + time / CPI_ONE,
        .rest = time % CPI_ONE,
        .block = block,
        .stamp = b->caches[hw].stamp};
    const struct group *const groups = peet__bus_groups_of(b, p);
    const struct line_access *const accesses = b->line_accesses + p->accesses - 1;
    const uint32_t n = p->ngroups;
    uint64_t begins[ACCESSES_MAX];
    int straddling = 0;
    for (uint32_t k = 0; k < n; k++) {
        const struct group *const g = &groups[accesses[k].group];
        begins[k] = addresses[accesses[k].group] - g->before;
        straddling |= (begins[k] & (b->line_bytes - 1)) + g->span > b->line_bytes;
    }
    if (UNLIKELY(straddling)) {
        if (peet__bus_take_straddling(b, &t, p, block, begins))
            return -1;
    } else {
        if (UNLIKELY(n > b->ways)) {
            uint64_t lines[ACCESSES_MAX];
            for (uint32_t k = 0; k < n; k++)
                lines[k] = begins[k] >> b->line_shift;
            if (peet__bus_crowded(b, lines, n))
                return -1;
        }
        for (uint32_t k = 0; k < n; k++)
            peet__bus_take_access(b, &t, begins[k], begins[k] >> b->line_shift, &accesses[k]);
    }
    t.c->stamp = t.stamp + p->nrefs + t.more_stamps;
    *out_stalled = t.stalled;
    *out_more_time = t.more_time;
    return 0;
}

void peet__bus_groups_init(struct bus *b)
{
    b->groupwise = b->uniprocessor && b->replacement == REPLACE_LRU && fill_of(b, 0) && fill_of(b, 1);
    if (b->groupwise) {
        const unsigned state = b->fill[0].state;
        b->silent_write = b->protocol->processor[state][1].op == OP_NONE;
        b->fill[FILL_SILENTLY] = b->fill[FILL_READ];
        if (b->silent_write) {
            b->fill[FILL_SILENTLY].state = b->protocol->processor[state][1].alone;
            b->fill[FILL_SILENTLY].permission = b->permission[b->fill[FILL_SILENTLY].state];
        }
        for (unsigned kind = 0; kind < FILL_KINDS; kind++)
            for (uint8_t state = 0; state < BUS_STATES_MAX; state++)
                b->silent[kind][state] = silently(b, (enum fill_kind)kind, state);
        for (unsigned s = 0; s < BUS_STATES_MAX; s++)
            b->write_back_cycles[s] = b->dirty[s] ? b->address_cycles + b->line_cycles : 0;
        b->go_slowly = peet__bus_slowly_for(b);
    }
}
