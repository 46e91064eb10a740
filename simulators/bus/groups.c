/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blocks that do not only hit, taken group by group (plan.c).  Only for one processor with LRU.
 *
 *   1. A miss is one transaction, and after it all references of the group to that line hit.  So all of them count as
 *      the first one, which misses if any does.
 *   2. No line that the block has touched is replaced before the block ends, because a set has at least as many frames
 *      as the block has groups.  (Otherwise peet__bus_crowded() says so, and the block goes reference by reference.)
 *   3. From 1 and 2: only the first references of the groups must keep their order.
 *
 * sole.c has the general form for lines that are not in the cache.  Called by blocks.c.
 */
#include "groups.h"
#include "halves.h"
#include "miss.h"
#include <stdlib.h>

#define ALWAYS static inline __attribute__((always_inline))
#define UNLIKELY(x) __builtin_expect(!!(x), 0)
#define LIKELY(x) __builtin_expect(!!(x), 1)

/* What filling a line takes and leaves behind, by the protocol's table; whether that is all. */
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
    fill->quick = b->quick[row->alone];
    /* What comes behind it is no transaction: reads behind a read, anything behind a write. */
    return fill->quick & QUICK_READ && (!write || fill->quick & QUICK_WRITE);
}

/* The state after such references to a line in this state; BUS_INVALID: they need the bus, or more than one look */
static uint8_t silently(const struct bus *b, enum fill_kind kind, uint8_t state)
{
    const struct bus_processor_row *const rows = b->protocol->processor[state];
    if (state == BUS_INVALID || state >= b->protocol->nstates || rows[kind == FILL_WRITE].op != OP_NONE)
        return BUS_INVALID;
    const uint8_t next = rows[kind == FILL_WRITE].alone;
    if (kind == FILL_READ || b->quick[next] & QUICK_WRITE)
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

struct group_way peet__bus_way_of(const struct bus *b, const struct peet_block *block,
    const struct group_member *members, uint32_t n)
{
    const struct peet_ref *ref = &block->refs[members[0].ref];
    struct group_way w = {.at = b->cpi * ref->insn + touches_up_to(block, members[0].ref) * b->hit_cycles * CPI_ONE,
        .bytes = ref->size_bytes,
        .first = members[0].ref,
        .ref = members[0].ref,
        .offset = members[0].offset,
        .last = (uint8_t)(members[n - 1].ref + 1),
        .either = QUICK_WRITE,
        .writes = (uint8_t)writes_first(ref)};
    for (uint32_t i = 0; i < n; i++) {
        const int loads = block->refs[members[i].ref].kind == PEET_REF_LOAD;
        w.either = loads ? w.either : 0;
        w.writes_later |= (i || !w.writes) && !loads;
    }
    w.fill = w.writes ? FILL_WRITE : w.writes_later ? FILL_SILENTLY : FILL_READ;
    return w;
}

static void sort_ways(struct group_way *ways, uint32_t n)
{
    for (uint32_t k = 1; k < n; k++)
        for (uint32_t j = k; j > 0 && ways[j].first < ways[j - 1].first; j--) {
            struct group_way w = ways[j];
            ways[j] = ways[j - 1];
            ways[j - 1] = w;
        }
}

int peet__bus_group_ways(struct bus *b, struct plan *p, const struct peet_block *block, const struct group *groups,
    const uint64_t *values, const uint8_t *group_of)
{
    uint32_t at = b->ngroup_members;
    const uint32_t n = p->ngroups;
    if (!b->groupwise || !n || n > WAYS_MAX)
        return 0;
    if (peet__bus_room_for((void **)&b->group_ways, &b->group_ways_size, b->ngroup_ways, n, sizeof *b->group_ways) ||
        peet__bus_room_for((void **)&b->group_members, &b->group_members_size, at, block->nrefs,
            sizeof *b->group_members))
        return -1;
    struct group_way *const ways = b->group_ways + b->ngroup_ways;
    for (uint32_t k = 0; k < n; k++) {
        const uint32_t from = at;
        for (uint32_t i = 0; i < block->nrefs; i++)
            if (group_of[i] == k)
                b->group_members[at++] = (struct group_member){
                    (uint16_t)(values[i] - (values[groups[k].value] - groups[k].before)), (uint8_t)i};
        ways[k] = peet__bus_way_of(b, block, b->group_members + from, at - from);
        ways[k].group = (uint8_t)k;
        ways[k].members = from;
        ways[k].nmembers = (uint8_t)(at - from);
        if (!peet__bus_way_goes(b, &ways[k]))
            return 0;
    }
    sort_ways(ways, n);
    p->ways = b->ngroup_ways + 1;
    b->ngroup_ways += n;
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
    peet__bus_cuts_count(b);
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

int peet__bus_groups_exactly(struct bus *b, unsigned hw, const struct plan *p, const struct peet_block *block,
    const uint64_t *addresses, uint64_t now, uint64_t time, uint64_t *out_stalled, uint64_t *out_more_time)
{
    struct turn t = {.c = &b->caches[hw],
        .start = now + time / CPI_ONE,
        .rest = time % CPI_ONE,
        .block = block,
        .stamp = b->caches[hw].stamp};
    const struct group *const groups = peet__bus_groups_of(b, p);
    const struct group_way *const ways = b->group_ways + p->ways - 1;
    const uint32_t n = p->ngroups;
    uint64_t begins[WAYS_MAX];
    int halves = 0;
    for (uint32_t k = 0; k < n; k++) {
        const struct group *const g = &groups[ways[k].group];
        begins[k] = addresses[ways[k].group] - g->before;
        halves |= (begins[k] & (b->line_bytes - 1)) + g->span > b->line_bytes;
    }
    if (UNLIKELY(halves)) {
        if (peet__bus_halves_go(b, &t, p, block, begins))
            return -1;
    } else {
        if (UNLIKELY(n > b->ways)) {
            uint64_t lines[WAYS_MAX];
            for (uint32_t k = 0; k < n; k++)
                lines[k] = begins[k] >> b->line_shift;
            if (peet__bus_crowded(b, lines, n))
                return -1;
        }
        for (uint32_t k = 0; k < n; k++)
            peet__bus_way_go(b, &t, begins[k], begins[k] >> b->line_shift, &ways[k]);
    }
    t.c->stamp = t.stamp + p->nrefs + t.more_stamps;
    *out_stalled = t.stalled;
    *out_more_time = t.more_time;
    return 0;
}

void peet__bus_groups_init(struct bus *b)
{
    b->groupwise = b->sole && b->replacement == REPLACE_LRU && fill_of(b, 0) && fill_of(b, 1);
    if (b->groupwise) {
        const unsigned state = b->fill[0].state;
        b->silent_write = b->protocol->processor[state][1].op == OP_NONE;
        b->fill[FILL_SILENTLY] = b->fill[FILL_READ];
        if (b->silent_write) {
            b->fill[FILL_SILENTLY].state = b->protocol->processor[state][1].alone;
            b->fill[FILL_SILENTLY].quick = b->quick[b->fill[FILL_SILENTLY].state];
        }
        for (unsigned kind = 0; kind < FILL_KINDS; kind++)
            for (uint8_t state = 0; state < BUS_STATES_MAX; state++)
                b->silent[kind][state] = silently(b, (enum fill_kind)kind, state);
        for (unsigned s = 0; s < BUS_STATES_MAX; s++)
            b->write_back_cycles[s] = b->dirty[s] ? b->address_cycles + b->line_cycles : 0;
        b->go_slowly = peet__bus_slowly_for(b);
    }
}
