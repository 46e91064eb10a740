/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blocks that do not only hit, taken group by group (plan.c): for a processor alone with LRU, where a miss is one
 * transaction and what follows it in the line is a hit.  All references of a group count as its first one's, which misses if
 * any does; no line that the block has touched is replaced before the block is over, because a set has more frames than the
 * block has groups.  So the first references alone have to keep their order.  sole.c holds the general form of what is
 * here for lines that are not there at all.  Called by blocks.c.
 */
#include "groups.h"
#include <stdlib.h>
#ifdef __x86_64__
#include <immintrin.h>
#endif

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

struct group_way peet__bus_way_of(const struct bus *b, const struct peet_block *block, const struct group_member *members, uint32_t n)
{
    const struct peet_ref *ref = &block->refs[members[0].ref];
    struct group_way w = {.at = b->cpi * ref->insn + touches_up_to(block, members[0].ref) * b->hit_cycles * CPI_ONE, .bytes = ref->size_bytes,
        .first = members[0].ref, .offset = members[0].offset, .last = (uint8_t)(members[n - 1].ref + 1), .either = QUICK_WRITE, .writes = (uint8_t)writes_first(ref)};
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

int peet__bus_group_ways(struct bus *b, struct plan *p, const struct peet_block *block, const struct group *groups, const uint64_t *values,
    const uint8_t *group_of)
{
    uint32_t at = b->ngroup_members;
    const uint32_t n = p->ngroups;
    if (!b->groupwise || !n || n > WAYS_MAX)
        return 0;
    if (peet__bus_room_for((void **)&b->group_ways, &b->group_ways_size, b->ngroup_ways, n, sizeof *b->group_ways) ||
        peet__bus_room_for((void **)&b->group_members, &b->group_members_size, at, block->nrefs, sizeof *b->group_members))
        return -1;
    struct group_way *const ways = b->group_ways + b->ngroup_ways;
    for (uint32_t k = 0; k < n; k++) {
        const uint32_t from = at;
        for (uint32_t i = 0; i < block->nrefs; i++)
            if (group_of[i] == k)
                b->group_members[at++] = (struct group_member){(uint16_t)(values[i] - (values[groups[k].value] - groups[k].before)), (uint8_t)i};
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

/* When the first reference of the way asks for its line. */
static inline uint64_t asked_at(const struct turn *t, const struct group_way *w)
{
    return t->start + (t->rest + w->at) / CPI_ONE + t->stalled;
}

/* A fill has the bus.  @behind: for how long a write-back follows at once */
ALWAYS void transfer(struct bus *b, struct turn *t, uint64_t asked, uint64_t cycles, uint64_t behind)
{
    struct calendar *const cal = &b->calendar;
    uint64_t start = cal->final_until;
    if (LIKELY(asked > start)) {
        peet_sim_windows_add(&cal->windows, cal->open_from, start);
        cal->open_from = start = asked;
    }
    b->filled.waited += start - asked;
    t->stalled += start + cycles - asked;
    cal->final_until = start + cycles + behind;
}

/* The line comes into frame @i, which is the set's oldest.  What follows from there having been a fill is counted later. */
ALWAYS void fill(struct bus *b, struct turn *t, uint64_t line, uint32_t i, const struct group_way *w)
{
    struct cache *const c = t->c;
    struct frame *const f = &c->frames[i];
    const struct fill *const fill = &b->fill[w->fill];
    const uint64_t stamp = t->stamp + w->first + 1;
    transfer(b, t, asked_at(t, w), fill->cycles, b->write_back_cycles[f->state]);
    b->filled.fills[w->fill]++;
    b->filled.over[f->state]++;
    if (LIKELY(b->classify)) {
        void *record = peet_sim_linemap_word_near(&b->lines_map, line, b->record_shift);
        const uint32_t old = f->place;
        if (UNLIKELY(!record) && !(record = peet__sim_linemap_find(&b->lines_map, line))) {
            peet__bus_no_memory(b);
            return;
        }
        c->shadow[old].where = b->lines + old; /* of the line that goes; place 0 stands for none */
        c->used[b->lines + old] = c->used[i];
        const uint32_t was = peet__bus_record(b, record);
        uint32_t place = peet__bus_record_place(b, was);
        if (c->shadow[place].line == line) {
            c->stats.kinds[MISS_CONFLICT]++;
        } else {
            c->stats.kinds[was ? MISS_CAPACITY : MISS_COLD]++;
            place = peet__bus_shadow_new(b, c, line, stamp);
            peet__bus_record_set(b, record, place);
        }
        c->shadow[place].where = i;
        f->place = place;
    }
    f->state = fill->state;
    c->keys[i] = KEY_OF(line) | fill->quick;
    c->used[i] = stamp;
    c->hints[line & b->hint_mask] = i;
}

void peet__bus_groups_count(struct bus *b)
{
    const struct filled *const n = &b->filled;
    const uint64_t all = n->fills[FILL_READ] + n->fills[FILL_WRITE] + n->fills[FILL_SILENTLY];
    uint64_t write_backs = 0;
    if (!b->groupwise)
        return;
    struct cache_stats *const s = &b->caches[0].stats;
    s->read_misses += n->fills[FILL_READ] + n->fills[FILL_SILENTLY];
    s->write_misses += n->fills[FILL_WRITE];
    for (unsigned state = 0; state < BUS_STATES_MAX; state++)
        write_backs += b->dirty[state] ? n->over[state] : 0;
    s->evictions += all - n->over[BUS_INVALID];
    s->write_backs += write_backs;
    b->memory_line_reads += all;
    b->memory_line_writes += write_backs;
    b->transactions[OP_WRITE_BACK] += write_backs;
    b->calendar.transactions += all + write_backs;
    b->calendar.busy_cycles += write_backs * (b->address_cycles + b->line_cycles);
    for (unsigned kind = 0; kind < FILL_KINDS; kind++) {
        b->transactions[b->fill[kind].op] += n->fills[kind];
        b->calendar.busy_cycles += n->fills[kind] * b->fill[kind].cycles;
    }
    b->hw[0].wait_cycles += n->waited;
    b->filled = (struct filled){0};
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

/* A use of a line that is there, but that is no plain hit. */
ALWAYS void use_odd(struct bus *b, struct turn *t, uint64_t line, uint32_t i, const struct group_way *w, int write, uint64_t at)
{
    struct cache *const c = t->c;
    struct frame *const f = &c->frames[i];
    const struct bus_processor_row *const row = &b->protocol->processor[f->state][write];
    c->stamp = t->stamp + w->first; /* no other reference's */
    if (row->op == OP_NONE && (f->place || !b->classify)) {
        f->state = row->alone;
        c->keys[i] = KEY_OF(line) | b->quick[row->alone];
        c->used[i] = c->stamp + 1;
    } else {
        t->stalled += peet__bus_touch_sole(b, c, line, w->bytes, write ? TOUCH_WRITE : TOUCH_READ, at);
    }
}

/* The line is in frame @i, which is not where it was last, or not to be used in this way without more ado. */
static __attribute__((noinline)) uint32_t found(struct bus *b, struct turn *t, uint64_t line, const struct group_way *w, uint32_t i)
{
    struct cache *const c = t->c;
    c->hints[line & b->hint_mask] = i;
    if ((c->keys[i] | w->either) == (KEY_OF(line) | QUICK))
        return i;
    const uint64_t at = asked_at(t, w);
    use_odd(b, t, line, i, w, w->writes, at);
    if (w->writes_later && !(c->keys[i] & QUICK_WRITE))
        use_odd(b, t, line, i, w, 1, at);
    return i;
}

/* Nearly always a line that is there is where it was last: it need not be searched. */
ALWAYS uint32_t hinted(const struct bus *b, const struct cache *c, uint64_t line)
{
    const uint32_t i = c->hints[line & b->hint_mask];
    return (c->keys[i] | QUICK) == (KEY_OF(line) | QUICK) && c->used[i] ? i : NO_FRAME;
}

static __attribute__((noinline)) uint32_t go_slowly_any(struct bus *b, struct turn *t, uint64_t begin, uint64_t line, const struct group_way *w)
{
    const uint32_t first = peet__bus_set_of(b, line) * b->ways;
    uint32_t victim, i = hinted(b, t->c, line);
    (void)begin;
    if (i != NO_FRAME)
        return found(b, t, line, w, i);
    i = search_any(t->c->keys + first, t->c->used + first, b->ways, KEY_OF(line) | QUICK, &victim);
    if (i != NO_FRAME)
        return found(b, t, line, w, first + i);
    fill(b, t, line, first + victim, w);
    return first + victim;
}

#ifdef __x86_64__
static __attribute__((noinline, target("avx512f"))) uint32_t go_slowly_8(struct bus *b, struct turn *t, uint64_t begin, uint64_t line, const struct group_way *w)
{
    const uint32_t first = peet__bus_set_of(b, line) * 8;
    uint32_t victim, i = hinted(b, t->c, line);
    (void)begin;
    if (i != NO_FRAME)
        return found(b, t, line, w, i);
    i = search_8(t->c->keys + first, t->c->used + first, KEY_OF(line) | QUICK, &victim);
    if (UNLIKELY(i != NO_FRAME))
        return found(b, t, line, w, first + i);
    fill(b, t, line, first + victim, w);
    return first + victim;
}
#endif

/* The same if somebody wants to know which reference it is. */
static __attribute__((noinline)) uint32_t go_watched(struct bus *b, struct turn *t, uint64_t begin, uint64_t line, const struct group_way *w)
{
    struct cache *const c = t->c;
    const uint64_t want = KEY_OF(line) | QUICK, at = asked_at(t, w);
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

/* May a set be the place of more lines than it has frames?  Then a victim could be a line that the block has touched. */
int peet__bus_crowded(const struct bus *b, const uint64_t *lines, uint32_t n)
{
    uint8_t counts[256] = {0};
    for (uint32_t k = 0; k < n; k++)
        if (++counts[peet__bus_set_of(b, lines[k]) & 255] > b->ways)
            return 1;
    return 0;
}

int peet__bus_groups_exactly(struct bus *b, unsigned hw, const struct plan *p, const struct peet_block *block, const uint64_t *addresses,
    uint64_t now, uint64_t time, uint64_t *out_stalled, uint64_t *out_more_time)
{
    struct turn t = {.c = &b->caches[hw], .start = now + time / CPI_ONE, .rest = time % CPI_ONE, .block = block, .stamp = b->caches[hw].stamp};
    const struct group *const groups = p->known - 1 == PLAN_MANY ? b->groups + p->more : p->first;
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
        for (unsigned s = 0; s < BUS_STATES_MAX; s++)
            b->write_back_cycles[s] = b->dirty[s] ? b->address_cycles + b->line_cycles : 0;
        b->go_slowly = b->watched ? go_watched : go_slowly_any;
#ifdef __x86_64__
        if (b->ways == 8 && !b->watched && __builtin_cpu_supports("avx512f"))
            b->go_slowly = go_slowly_8;
#endif
    }
}
