/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blocks that do not only hit, taken group by group (plan.c): for a processor alone with LRU, where a miss is one
 * transaction and what follows it in the line is a hit.  All references of a group count as its first one's, which misses if
 * any does; no line that the block has touched is replaced before the block is over, because a set has more frames than the
 * block has groups.  So the first references alone have to keep their order.  sole.c holds the general form of what is
 * here for lines that are not there at all.  Called by blocks.c.
 */
#include "bus.h"
#ifdef __x86_64__
#include <immintrin.h>
#endif

#define ALWAYS static inline __attribute__((always_inline))
#define UNLIKELY(x) __builtin_expect(!!(x), 0)

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

static uint32_t touches_up_to(const struct peet_block *block, uint32_t ref)
{
    uint32_t n = ref + 1;
    for (uint32_t i = 0; block->modifies && i < ref; i++)
        n += block->refs[i].kind == PEET_REF_MODIFY;
    return n;
}

static int writes_first(const struct peet_ref *ref)
{
    return ref->kind == PEET_REF_STORE || (ref->kind == PEET_REF_MODIFY && ref->flags & PEET_REF_ATOMIC);
}

/* What happens to a line if these references of the block go there, in their order. */
static struct group_way way_of(const struct peet_block *block, const struct group_member *members, uint32_t n)
{
    const struct peet_ref *ref = &block->refs[members[0].ref];
    struct group_way w = {.insn = ref->insn, .bytes = ref->size_bytes, .touches = (uint16_t)touches_up_to(block, members[0].ref),
        .first = members[0].ref, .offset = members[0].offset, .last = (uint8_t)(members[n - 1].ref + 1), .either = QUICK_WRITE, .writes = (uint8_t)writes_first(ref)};
    for (uint32_t i = 0; i < n; i++) {
        const int loads = block->refs[members[i].ref].kind == PEET_REF_LOAD;
        w.either = loads ? w.either : 0;
        w.writes_later |= (i || !w.writes) && !loads;
    }
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

static int goes(const struct bus *b, const struct group_way *w)
{
    return w->writes || !w->writes_later || b->silent_write;
}

int peet__bus_group_ways(const struct bus *b, const struct peet_block *block, const struct group *groups, uint32_t n, const uint64_t *values,
    const uint8_t *group_of, struct group_way *ways, struct group_member *members)
{
    uint32_t at = 0;
    if (!b->groupwise || n > WAYS_MAX)
        return 0;
    for (uint32_t k = 0; k < n; k++) {
        const uint32_t from = at;
        for (uint32_t i = 0; i < block->nrefs; i++)
            if (group_of[i] == k)
                members[at++] = (struct group_member){(uint16_t)(values[i] - (values[groups[k].value] - groups[k].before)), (uint8_t)i};
        ways[k] = way_of(block, members + from, at - from);
        ways[k].group = (uint8_t)k;
        ways[k].members = (uint16_t)from;
        ways[k].nmembers = (uint8_t)(at - from);
        if (!goes(b, &ways[k]))
            return 0;
    }
    sort_ways(ways, n);
    return 1;
}

ALWAYS uint64_t bus_from(struct bus *b, enum bus_op op, uint64_t time, uint64_t cycles)
{
    b->transactions[op]++;
    return peet__bus_calendar_request_sole(&b->calendar, time, cycles);
}

/* The line comes into frame @i, which is the set's oldest.  Returns: cycles that the processor waits */
ALWAYS uint64_t fill(struct bus *b, struct cache *c, uint64_t line, uint32_t *record, uint32_t i, int write, uint64_t time)
{
    struct frame *const f = &c->frames[i];
    const struct fill *const fill = &b->fill[write];
    const uint64_t stamp = ++c->stamp;
    uint64_t start;
    int dirty = 0;
    if (write)
        c->stats.write_misses++;
    else
        c->stats.read_misses++;
    if (f->state != BUS_INVALID) {
        dirty = (b->protocol->states[f->state].flags & BUS_DIRTY) != 0;
        c->stats.evictions++;
        if (f->in_shadow) {
            struct shadow_node *n = &c->shadow[f->next - 1];
            n->used = c->used[i];
            n->frame = 0;
        }
    }
    if (record)
        peet__bus_shadow_miss(b, c, line, record, f);
    f->state = fill->state;
    c->keys[i] = KEY_OF(line) | fill->quick;
    c->used[i] = stamp;
    c->hints[line & b->hint_mask] = i;
    b->memory_line_reads++;
    start = bus_from(b, (enum bus_op)fill->op, time, fill->cycles);
    b->hw[c->hw].wait_cycles += start - time;
    if (dirty) {
        c->stats.write_backs++;
        b->memory_line_writes++;
        bus_from(b, OP_WRITE_BACK, start + fill->cycles, b->address_cycles + b->line_cycles);
    }
    return start + fill->cycles - time;
}

/* The frame that holds the line, NO_FRAME; and the one that it would go into.  Invalid ones were never used, and their keys are 0;
 * line 0, whose key looks like that, is asked about its stamp. */
ALWAYS uint32_t search_any(const uint64_t *keys, const uint64_t *used, uint32_t ways, uint64_t want, uint32_t *out_victim)
{
    uint32_t found = NO_FRAME, victim = 0;
    uint64_t least = UINT64_MAX;
    for (uint32_t way = 0; way < ways; way++) {
        const uint64_t u = used[way];
        found = (keys[way] | QUICK) == want && u ? way : found;
        victim = u < least ? way : victim;
        least = u < least ? u : least;
    }
    *out_victim = victim;
    return found;
}

#ifdef __x86_64__
/* The same for eight ways, with vectors as long as a set. */
static inline __attribute__((always_inline, target("avx512f"))) uint32_t search_8(const uint64_t *keys, const uint64_t *used, uint64_t want,
    uint32_t *out_victim)
{
    const __m512i k = _mm512_or_si512(_mm512_loadu_si512(keys), _mm512_set1_epi64(QUICK)), u = _mm512_loadu_si512(used);
    const uint32_t found = _mm512_mask_cmpeq_epi64_mask(_mm512_test_epi64_mask(u, u), k, _mm512_set1_epi64((long long)want));
    __m512i least = _mm512_min_epu64(u, _mm512_shuffle_i64x2(u, u, 0x4e));
    least = _mm512_min_epu64(least, _mm512_shuffle_i64x2(least, least, 0xb1));
    least = _mm512_min_epu64(least, _mm512_shuffle_epi32(least, _MM_PERM_BADC));
    *out_victim = (uint32_t)__builtin_ctz(_mm512_cmpeq_epi64_mask(u, least));
    return found ? (uint32_t)__builtin_ctz(found) : NO_FRAME;
}
#endif

/* What is the same for all lines of one execution. */
struct turn {
    struct cache *c;
    uint64_t start, rest; /* when it begins, and the fraction of a cycle, in CPI_ONE */
    uint64_t stamp;       /* before it */
    uint64_t stalled;
    const struct peet_block *block;
};

/* A use of a line that is there, but that is no plain hit. */
ALWAYS void use_odd(struct bus *b, struct turn *t, uint64_t line, uint32_t i, const struct group_way *w, int write, uint64_t at)
{
    struct cache *const c = t->c;
    struct frame *const f = &c->frames[i];
    const struct bus_processor_row *const row = &b->protocol->processor[f->state][write];
    c->stamp = t->stamp + w->first; /* no other reference's */
    if (row->op == OP_NONE && (f->in_shadow || !b->classify)) {
        f->state = row->alone;
        c->keys[i] = KEY_OF(line) | b->quick[row->alone];
        c->used[i] = c->stamp + 1;
    } else {
        t->stalled += peet__bus_touch_sole(b, c, line, w->bytes, write ? TOUCH_WRITE : TOUCH_READ, at);
    }
}

/* The line is not where it was last, or not to be used in this way without more ado.  It is in frame @i of its set, which begins
 * at @first, or goes into @victim.  Returns: its frame in the cache */
ALWAYS uint32_t go_slowly(struct bus *b, struct turn *t, uint64_t line, const struct group_way *w, uint32_t first, uint32_t i, uint32_t victim)
{
    struct cache *const c = t->c;
    const int miss = i == NO_FRAME;
    i = first + (miss ? victim : i);
    if (!miss && (c->keys[i] | w->either) == (KEY_OF(line) | QUICK)) {
        c->hints[line & b->hint_mask] = i;
        return i;
    }
    const uint64_t at = t->start + (t->rest + b->cpi * w->insn) / CPI_ONE + w->touches * b->hit_cycles + t->stalled;
    if (miss) {
        uint32_t *record = NULL;
        if (b->classify && UNLIKELY(!(record = peet_sim_linemap_get(&b->lines_map, line)))) {
            peet__bus_no_memory(b);
            return 0;
        }
        c->stamp = t->stamp + w->first;
        t->stalled += fill(b, c, line, record, i, w->writes, at);
    } else {
        c->hints[line & b->hint_mask] = i;
        use_odd(b, t, line, i, w, w->writes, at);
    }
    if (w->writes_later && !(c->keys[i] & QUICK_WRITE))
        use_odd(b, t, line, i, w, 1, at);
    return i;
}

static __attribute__((noinline)) uint32_t go_slowly_any(struct bus *b, struct turn *t, uint64_t begin, uint64_t line, const struct group_way *w)
{
    const uint32_t first = peet__bus_set_of(b, line) * b->ways;
    uint32_t victim;
    const uint32_t i = search_any(t->c->keys + first, t->c->used + first, b->ways, KEY_OF(line) | QUICK, &victim);
    (void)begin;
    return go_slowly(b, t, line, w, first, i, victim);
}

#ifdef __x86_64__
static __attribute__((noinline, target("avx512f"))) uint32_t go_slowly_8(struct bus *b, struct turn *t, uint64_t begin, uint64_t line, const struct group_way *w)
{
    const uint32_t first = peet__bus_set_of(b, line) * 8;
    uint32_t victim;
    const uint32_t i = search_8(t->c->keys + first, t->c->used + first, KEY_OF(line) | QUICK, &victim);
    (void)begin;
    return go_slowly(b, t, line, w, first, i, victim);
}
#endif

/* The same if somebody wants to know which reference it is. */
static __attribute__((noinline)) uint32_t go_watched(struct bus *b, struct turn *t, uint64_t begin, uint64_t line, const struct group_way *w)
{
    struct cache *const c = t->c;
    const uint64_t want = KEY_OF(line) | QUICK, at = t->start + (t->rest + b->cpi * w->insn) / CPI_ONE + w->touches * b->hit_cycles + t->stalled;
    const uint32_t first = peet__bus_set_of(b, line) * b->ways;
    uint32_t victim, i = search_any(c->keys + first, c->used + first, b->ways, want, &victim);
    if (i != NO_FRAME && (c->keys[first + i] | w->either) == want) {
        c->hints[line & b->hint_mask] = first + i;
        return first + i;
    }
    b->site.block = t->block;
    peet__bus_at(b, w->first, begin + w->offset, w->bytes);
    c->stamp = t->stamp + w->first;
    t->stalled += peet__bus_touch_watched(b, c, line, 0, w->bytes, w->writes ? TOUCH_WRITE : TOUCH_READ, at);
    if (UNLIKELY(b->dead))
        return 0;
    i = c->hints[line & b->hint_mask];
    if (w->writes_later && !(c->keys[i] & QUICK_WRITE)) {
        c->stamp = t->stamp + w->first;
        peet__bus_touch_sole(b, c, line, w->bytes, TOUCH_WRITE, at); /* nothing that could be told of */
    }
    return i;
}

/* All references of the way go to the line. */
ALWAYS void go(struct bus *b, struct turn *t, uint64_t begin, uint64_t line, const struct group_way *w)
{
    uint32_t i = t->c->hints[line & b->hint_mask];
    if ((t->c->keys[i] | w->either) != (KEY_OF(line) | QUICK))
        i = b->go_slowly(b, t, begin, line, w);
    if (t->stamp + w->last > t->c->used[i])
        t->c->used[i] = t->stamp + w->last;
}

/* May a set be the place of more lines than it has frames?  Then a victim could be a line that the block has touched. */
static int crowded(const struct bus *b, const uint64_t *lines, uint32_t n)
{
    uint8_t counts[256] = {0};
    for (uint32_t k = 0; k < n; k++)
        if (++counts[peet__bus_set_of(b, lines[k]) & 255] > b->ways)
            return 1;
    return 0;
}

/* What becomes of a group's references if the line ends so many bytes behind the group's beginning: nearly always, that is as it
 * was the last time.  Returns: 0, or -1: one of them lies in both lines */
static __attribute__((noinline)) int split(struct bus *b, const struct plan *p, const struct peet_block *block, const struct group_way *w,
    uint32_t room, struct group_split *s)
{
    const struct group_member *const members = b->group_members + p->members + w->members;
    struct group_member halves[2][PLAN_REFS];
    uint32_t counts[2] = {0, 0};
    for (uint32_t i = 0; i < w->nmembers; i++) {
        const int second = members[i].offset >= room;
        if (!second && members[i].offset + block->refs[members[i].ref].size_bytes > room)
            return -1;
        halves[second][counts[second]++] = members[i];
    }
    s->room = room;
    for (uint32_t half = 0; half < 2; half++)
        s->halves[half] = way_of(block, halves[half], counts[half]); /* both have some, else the group were smaller */
    return 0;
}

struct part { const struct group_way *way; uint64_t begin, line; };

/* In the order of first references. */
static inline uint32_t add_part(struct part *parts, uint32_t n, const struct group_way *way, uint64_t begin, uint64_t line)
{
    uint32_t j = n;
    for (; j > 0 && parts[j - 1].way->first > way->first; j--)
        parts[j] = parts[j - 1];
    parts[j] = (struct part){way, begin, line};
    return n + 1;
}

/* Some groups lie in two lines: each half goes its own way. */
static __attribute__((noinline)) int by_halves(struct bus *b, struct turn *t, const struct plan *p, const struct peet_block *block,
    const uint64_t *addresses)
{
    const struct group *const groups = p->known - 1 == PLAN_MANY ? b->groups + p->more : p->first;
    const struct group_way *const ways = b->group_ways + p->ways - 1;
    struct part parts[2 * WAYS_MAX];
    uint32_t n = 0;
    for (uint32_t k = 0; k < p->ngroups; k++) {
        const struct group *const g = &groups[ways[k].group];
        const uint64_t address = addresses[ways[k].group] - g->before, line = address >> b->line_shift;
        const uint32_t room = b->line_bytes - (uint32_t)(address & (b->line_bytes - 1));
        struct group_split *const s = &b->group_splits[SPLITS * (p->ways - 1 + k) + (room >> 4) % SPLITS];
        if (g->span <= room) {
            n = add_part(parts, n, &ways[k], address, line);
            continue;
        }
        if (UNLIKELY(s->room != room)) {
            if (s->tried != room) { /* not worth while for once */
                s->tried = room;
                return -1;
            }
            if (split(b, p, block, &ways[k], room, s))
                return -1;
        }
        n = add_part(parts, n, &s->halves[0], address, line);
        n = add_part(parts, n, &s->halves[1], address, line + 1);
    }
    if (n > b->ways) {
        uint64_t lines[2 * WAYS_MAX];
        for (uint32_t k = 0; k < n; k++)
            lines[k] = parts[k].line;
        if (crowded(b, lines, n))
            return -1;
    }
    for (uint32_t k = 0; k < n; k++)
        go(b, t, parts[k].begin, parts[k].line, parts[k].way);
    return 0;
}

int peet__bus_groups_exactly(struct bus *b, unsigned hw, const struct plan *p, const struct peet_block *block, const uint64_t *addresses,
    uint64_t now, uint64_t time, uint64_t *out_stalled)
{
    struct turn t = {.c = &b->caches[hw], .start = now + time / CPI_ONE, .rest = time % CPI_ONE, .block = block, .stamp = b->caches[hw].stamp};
    const struct group *const groups = p->known - 1 == PLAN_MANY ? b->groups + p->more : p->first;
    const struct group_way *const ways = b->group_ways + p->ways - 1;
    const uint32_t n = p->ngroups;
    uint64_t lines[WAYS_MAX];
    int halves = 0;
    for (uint32_t k = 0; k < n; k++) {
        const uint64_t address = addresses[k] - groups[k].before;
        if (b->classify && n > 1 && (t.c->keys[t.c->hints[address >> b->line_shift & b->hint_mask]] | QUICK) != (KEY_OF(address >> b->line_shift) | QUICK))
            peet_sim_linemap_prefetch(&b->lines_map, address >> b->line_shift); /* nearly always a miss */
        halves |= (address & (b->line_bytes - 1)) + groups[k].span > b->line_bytes;
        lines[k] = address >> b->line_shift;
    }
    if (UNLIKELY(halves)) {
        if (by_halves(b, &t, p, block, addresses))
            return -1;
    } else {
        if (UNLIKELY(n > b->ways) && crowded(b, lines, n))
            return -1;
        for (const struct group_way *w = ways; w != ways + n; w++)
            go(b, &t, addresses[w->group] - groups[w->group].before, lines[w->group], w);
    }
    t.c->stamp = t.stamp + p->nrefs;
    *out_stalled = t.stalled;
    return 0;
}

void peet__bus_groups_init(struct bus *b)
{
    b->groupwise = b->sole && b->replacement == REPLACE_LRU && fill_of(b, 0) && fill_of(b, 1);
    if (b->groupwise) {
        const unsigned state = b->fill[0].state;
        b->silent_write = b->protocol->processor[state][1].op == OP_NONE;
        b->go_slowly = b->watched ? go_watched : go_slowly_any;
#ifdef __x86_64__
        if (b->ways == 8 && !b->watched && __builtin_cpu_supports("avx512f"))
            b->go_slowly = go_slowly_8;
#endif
    }
}
