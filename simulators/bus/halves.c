/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blocks with groups that lie in two lines; otherwise as groups.c.
 *
 * Such a group is two probes, one for each line.  A reference that itself lies in both lines goes to the first and then
 * to the second.  What follows from the place where a group is cut (which references go where, in which order, with
 * which stamps) is worked out when the group is first cut there, and kept.  Called by groups.c, turns.c and direct.c.
 */
#include "groups.h"
#include "halves.h"
#include "miss.h"
#include <stdlib.h>

#define ALWAYS static inline __attribute__((always_inline))
#define UNLIKELY(x) __builtin_expect(!!(x), 0)
#define LIKELY(x) __builtin_expect(!!(x), 1)

/* What a reference in two lines takes more than one in one of them, in CPI_ONE, if both are there. */
static uint64_t twice(const struct bus *b, const struct peet_block *block, uint32_t ref)
{
    return (block->refs[ref].kind == PEET_REF_MODIFY ? 2 : 1) * b->hit_cycles * CPI_ONE;
}

/* What becomes of a group's references if the line ends so many bytes behind the group's beginning. */
static struct group_split split(const struct bus *b, const struct peet_block *block, const struct group_way *w,
    uint32_t room)
{
    const struct group_member *const members = b->group_members + w->members;
    struct group_member halves[2][PLAN_REFS];
    uint32_t counts[2] = {0, 0};
    struct group_split s = {.known = 2};
    for (uint32_t i = 0; i < w->nmembers; i++) {
        const struct group_member m = members[i];
        const uint32_t end = m.offset + block->refs[m.ref].size_bytes;
        if (m.offset < room)
            halves[0][counts[0]++] = m;
        if (end > room)
            halves[1][counts[1]++] = (struct group_member){m.offset > room ? m.offset : (uint16_t)room, m.ref};
        if (m.offset < room && end > room) {
            if (s.nboth == SPLIT_BOTH)
                return s;
            s.both[s.nboth++] = m.ref;
        }
    }
    s.known = 1;
    for (uint32_t half = 0; half < 2 && s.known == 1; half++) { /* both have some, else the group were smaller */
        struct group_way *const h = &s.halves[half];
        const struct peet_ref *const ref = &block->refs[halves[half][0].ref];
        const uint32_t offset = halves[half][0].offset;
        *h = peet__bus_way_of(b, block, halves[half], counts[half]);
        if (half && s.nboth && s.both[0] == h->first) { /* its part in the first line came before */
            h->at += twice(b, block, s.both[0]);
            for (uint32_t i = 0; i < w->nmembers; i++)
                h->bytes =
                    members[i].ref == h->first ? (uint16_t)(members[i].offset + ref->size_bytes - room) : h->bytes;
        } else if (!half && offset + ref->size_bytes > room) {
            h->bytes = (uint16_t)(room - offset);
        }
        if (!peet__bus_way_goes(b, h))
            s.known = 2;
    }
    return s;
}

/* The halves of a group in two lines, made once for each place where it can be cut.  NULL: too much of it lies in both
 * (or there is no memory to do better) */
const struct group_split *peet__bus_cut(struct bus *b, const struct peet_block *block, struct group_way *w,
    uint32_t span, uint32_t room)
{
    if (span > b->line_bytes) /* perhaps in three */
        return NULL;
    if (!w->splits && !(w->splits = calloc(span, sizeof *w->splits)))
        return NULL;
    struct group_split *const s = &w->splits[room];
    if (!s->known)
        *s = split(b, block, w, room);
    return s->known == 1 ? s : NULL;
}

/* A block some of whose groups are cut in some way: what goes to which line, all that is known in advance. */
struct part {
    struct group_way way;
    uint8_t look;   /* of this way of the block, */
    uint8_t second; /* 1: in the line behind the one where the group begins */
};

struct cut {
    struct cut *next; /* of the same block, in the same bucket */
    uint64_t name, more_time;
    uint32_t more_stamps, reads, writes; /* references in two lines, which are counted once more, */
    uint64_t taken;                      /* so often by machine code, not counted so far */
    uint32_t wanted;                     /* how much it should be */
    /* in the order of their first references; of one reference, the first line comes before the second.  0: not to be
     * had */
    uint32_t nparts;
    struct part parts[];
};

/* All cuts of a block so far.  Each place where a group can be cut gets a name when it first is, some bits in a word of
 * all groups. */
enum { CUT_BUCKETS = 256, CUTS_MOST = 4096 };
#define CUT_UNNAMED UINT64_MAX
struct cuts {
    struct cut *buckets[CUT_BUCKETS];
    uint32_t n, hits;
    uint8_t (*lasts[WAYS_MAX])[2]; /* by way: for its look, if it is cut often */
    uint8_t bits, nnames[WAYS_MAX];
    uint64_t names[]; /* by way and offset in the line: 0: the group is not cut; CUT_UNNAMED */
};

ALWAYS uint32_t bucket_of(uint64_t name)
{
    return (uint32_t)(name * 0x9e3779b97f4a7c15u >> 56);
}
_Static_assert(CUT_BUCKETS == 1 << 8, "eight bits of a product");

static uint32_t span_of(const struct bus *b, const struct plan *p, uint32_t k)
{
    return peet__bus_groups_of(b, p)[b->group_ways[p->ways - 1 + k].group].span;
}

/* The block's first time.  Returns: NULL without memory */
static __attribute__((noinline)) struct cuts *cuts_begin(struct bus *b, const struct plan *p, uint32_t id)
{
    const uint32_t n = p->ngroups, line = b->line_bytes;
    struct cuts *const s = peet__bus_room_for((void **)&b->cuts, &b->cuts_size, b->ncuts, 1, sizeof *b->cuts)
        ? NULL
        : calloc(1, sizeof *s + (size_t)n * line * sizeof *s->names);
    uint32_t nlong = 0;
    if (!s)
        return NULL;
    for (uint32_t k = 0; k < n; k++) {
        const uint32_t span = span_of(b, p, k);
        nlong += span > 1;
        for (uint32_t offset = span > line ? 0 : line - span + 1; offset < line; offset++)
            s->names[k * line + offset] = CUT_UNNAMED;
    }
    s->bits = (uint8_t)(nlong > 8 ? 64 / nlong : 8);
    b->cuts[b->ncuts++] = s;
    b->plans[id].cuts = b->ncuts;
    return s;
}

/* A place where a group was never cut.  Returns: its name, or CUT_UNNAMED: there is none left */
static uint64_t give_name(const struct bus *b, const struct plan *p, struct cuts *s, uint32_t k)
{
    uint32_t nlong = 0;
    if (s->nnames[k] + 1 >= 1 << s->bits)
        return CUT_UNNAMED;
    for (uint32_t i = 0; i < k; i++)
        nlong += span_of(b, p, i) > 1;
    return (uint64_t)++s->nnames[k] << nlong * s->bits;
}

/* References in two lines, in no order. */
struct both {
    uint32_t n;
    uint8_t refs[2 * WAYS_MAX];
};

/* So many of them come before reference @ref, or before its second part. */
static uint32_t before(const struct both *s, uint32_t ref, int second)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->n; i++)
        n += s->refs[i] < ref || (second && s->refs[i] == ref);
    return n;
}

/* Each of them is one more reference, and what follows comes later by that. */
static void count_both(const struct bus *b, const struct peet_block *block, struct cut *c, const struct both *both)
{
    for (uint32_t i = 0; i < both->n; i++) {
        const unsigned kind = block->refs[both->refs[i]].kind;
        c->reads += kind != PEET_REF_STORE;
        c->writes += kind != PEET_REF_LOAD;
        c->more_time += twice(b, block, both->refs[i]);
    }
    c->more_stamps = both->n;
    for (uint32_t k = 0; k < c->nparts; k++) {
        struct group_way *const w = &c->parts[k].way;
        for (uint32_t i = 0; i < both->n; i++)
            w->at += both->refs[i] < w->ref ? twice(b, block, both->refs[i]) : 0;
        w->last = (uint8_t)(w->last + before(both, w->last - 1u, c->parts[k].second));
        w->first = (uint8_t)(w->first + before(both, w->ref, c->parts[k].second));
    }
}

/* A part comes behind those whose first references are not later; groups come in that order. */
static void add_part(struct cut *c, const struct group_way *way, uint32_t look, uint8_t second)
{
    uint32_t j = c->nparts++;
    for (; j > 0 && c->parts[j - 1].way.first > way->first; j--)
        c->parts[j] = c->parts[j - 1];
    c->parts[j] = (struct part){.way = *way, .look = (uint8_t)look, .second = second};
}

/* Fills in the parts.  Returns: 0, or -1: they are not to be had */
static int take_apart(struct bus *b, const struct plan *p, const struct peet_block *block, const uint64_t *begins,
    struct cut *c)
{
    struct group_way *const ways = b->group_ways + p->ways - 1;
    struct both both = {0};
    for (uint32_t k = 0; k < p->ngroups; k++) {
        const uint32_t room = b->line_bytes - (uint32_t)(begins[k] & (b->line_bytes - 1)), span = span_of(b, p, k);
        if (span <= room) {
            add_part(c, &ways[k], k, 0);
            continue;
        }
        const struct group_split *const split = peet__bus_split(b, block, &ways[k], span, room);
        if (!split || both.n + split->nboth > sizeof both.refs)
            return -1;
        add_part(c, &split->halves[0], k, 0);
        add_part(c, &split->halves[1], k, 1);
        for (uint32_t i = 0; i < split->nboth; i++)
            both.refs[both.n++] = split->both[i];
    }
    if (p->nrefs + both.n > UINT8_MAX)
        return -1;
    count_both(b, block, c, &both);
    return 0;
}

/* The block was never cut like this.  Returns: NULL: not to be had */
static __attribute__((noinline)) struct cut *cut_make(struct bus *b, const struct plan *p,
    const struct peet_block *block, const uint64_t *begins)
{
    struct cuts *const s = p->cuts ? b->cuts[p->cuts - 1] : cuts_begin(b, p, block->id);
    uint64_t name = 0;
    for (uint32_t k = 0; s && k < p->ngroups; k++) {
        uint64_t *const at = &s->names[k * b->line_bytes + (begins[k] & (b->line_bytes - 1))];
        if (*at == CUT_UNNAMED)
            *at = give_name(b, p, s, k);
        name |= *at;
    }
    if (!s || name == CUT_UNNAMED || s->n == CUTS_MOST)
        return NULL;
    struct cut *const c = calloc(1, sizeof *c + 2ul * p->ngroups * sizeof *c->parts);
    if (!c)
        return NULL;
    if (take_apart(b, p, block, begins, c))
        c->nparts = 0;
    c->name = name;
    c->next = s->buckets[bucket_of(name)];
    s->buckets[bucket_of(name)] = c;
    s->n++;
    return c;
}

/* How the block is cut if its groups begin there.  Returns: NULL: not to be had */
ALWAYS struct cut *cut_of(struct bus *b, const struct plan *p, const struct peet_block *block, const uint64_t *begins)
{
    if (LIKELY(p->cuts)) {
        const struct cuts *const s = b->cuts[p->cuts - 1];
        const uint64_t *names = s->names;
        uint64_t name = 0;
        for (uint32_t k = 0; k < p->ngroups; k++, names += b->line_bytes)
            name |= names[begins[k] & (b->line_bytes - 1)];
        for (struct cut *c = s->buckets[bucket_of(name)]; c; c = c->next)
            if (c->name == name)
                return c;
    }
    return cut_make(b, p, block, begins);
}

ALWAYS uint64_t line_of(const struct bus *b, const struct part *part, const uint64_t *begins)
{
    return (begins[part->look] >> b->line_shift) + part->second;
}

/* Might more lines come to a set than it has frames?  The two of a group are in different ones. */
ALWAYS int parts_many(const struct bus *b, const struct plan *p, const struct cut *cut)
{
    return cut->nparts > b->ways && (p->ngroups > b->ways || b->sets == 1);
}

/* May one part's line make room for another's, since not all are there and they may not all fit? */
static __attribute__((noinline)) int parts_crowded(const struct bus *b, const struct cache *c, const struct cut *cut,
    const uint64_t *begins)
{
    uint64_t lines[2 * WAYS_MAX], odd = 0;
    for (uint32_t i = 0; i < cut->nparts; i++) {
        lines[i] = line_of(b, &cut->parts[i], begins);
        odd |= (c->keys[c->hints[lines[i] & b->hint_mask]] | cut->parts[i].way.either) ^ (KEY_OF(lines[i]) | QUICK);
    }
    return odd && peet__bus_crowded(b, lines, cut->nparts);
}

int peet__bus_halves_go(struct bus *b, struct turn *t, const struct plan *p, const struct peet_block *block,
    const uint64_t *begins)
{
    struct cut *const cut = cut_of(b, p, block, begins);
    struct cache *const c = t->c;
    if (UNLIKELY(!cut || !cut->nparts) || (UNLIKELY(parts_many(b, p, cut)) && parts_crowded(b, c, cut, begins)))
        return -1;
    for (uint32_t i = 0; i < cut->nparts; i++) {
        const struct part *const part = &cut->parts[i];
        const uint64_t line = line_of(b, part, begins), stamp = t->stamp + part->way.last;
        uint32_t frame = c->hints[line & b->hint_mask];
        if ((c->keys[frame] | part->way.either) != (KEY_OF(line) | QUICK))
            frame = b->go_slowly(b, t, begins[part->look], line, &part->way);
        if (stamp > c->used[frame])
            c->used[frame] = stamp;
    }
    t->cut = cut;
    t->more_time = cut->more_time;
    t->more_stamps = cut->more_stamps;
    if (UNLIKELY(cut->more_stamps)) {
        c->stats.reads += cut->reads;
        c->stats.writes += cut->writes;
    }
    return 0;
}

int peet__bus_cut_again(struct bus *b, const struct plan *p, const struct turn *t)
{
    /* a block that only hits is better looked for at once, however it is cut */
    enum { A_FEW = 64, HIT = 1, MISS = 8, MANY = 256 };
    const int hit = !t->stalled && !t->more_stamps;
    const uint32_t n = hit ? ++b->cuts[p->cuts - 1]->hits : 0;
    if (n >= A_FEW && (n & (n - 1)) == 0)
        return (int)(n & INT32_MAX);
    if ((t->cut->wanted += hit ? HIT : MISS) < MANY)
        return 0;
    t->cut->wanted = 0;
    return PEET_DIRECT_CUT;
}

int peet__bus_cut_tell(struct bus *b, const struct plan *p, const struct turn *t, struct peet_direct_cut *out)
{
    struct cut *const cut = t->cut;
    uint8_t latest = 0;
    /* else one line might make room for another */
    if (parts_many(b, p, cut) || cut->nparts > sizeof out->lines / sizeof *out->lines ||
        peet__bus_room_for((void **)&b->group_ways, &b->group_ways_size, b->ngroup_ways, cut->nparts,
            sizeof *b->group_ways))
        return -1;
    *out = (struct peet_direct_cut){.names = b->cuts[p->cuts - 1]->names,
        .name = cut->name,
        .time = cut->more_time,
        .stamps = cut->more_stamps,
        .nlines = cut->nparts,
        .taken = cut->more_stamps ? &cut->taken : NULL};
    for (uint32_t i = 0; i < cut->nparts; i++) {
        const struct part *const part = &cut->parts[i];
        const struct group_way *const w = &part->way;
        struct group_way *const mine = &b->group_ways[b->ngroup_ways++]; /* of the site */
        *mine = *w;
        mine->splits = NULL;
        mine->loop = NULL;
        out->lines[i] = (struct peet_direct_line){.look = part->look,
            .second = part->second,
            .either = w->either,
            .later = latest > w->last,
            .last = w->last,
            .site = peet__bus_site_of(b, t->block, b->ngroup_ways - 1, part->look)};
        if (out->lines[i].site == UINT32_MAX)
            return -1;
        latest = w->last > latest ? w->last : latest;
    }
    return 0;
}

void peet__bus_cuts_count(struct bus *b)
{
    struct cache_stats *const s = &b->caches[0].stats;
    for (uint32_t i = 0; i < b->ncuts; i++)
        for (uint32_t k = 0; k < CUT_BUCKETS; k++)
            for (struct cut *c = b->cuts[i]->buckets[k]; c; c = c->next) {
                s->reads += c->taken * c->reads;
                s->writes += c->taken * c->writes;
                c->taken = 0;
            }
}

/* The last uses of both lines by where the group begins; 0: not so easy */
static uint8_t (*lasts_of(struct bus *b, const struct peet_block *block, struct group_way *w, uint32_t span))[2]
{
    uint8_t (*const lasts)[2] = calloc(b->line_bytes, sizeof *lasts);
    for (uint32_t offset = 0; lasts && offset < b->line_bytes; offset++) {
        const uint32_t room = b->line_bytes - offset;
        const struct group_split *const s = span > room ? peet__bus_split(b, block, w, span, room) : NULL;
        if (span <= room)
            lasts[offset][0] = lasts[offset][1] = w->last;
        else if (s && !s->nboth)
            lasts[offset][0] = s->halves[0].last, lasts[offset][1] = s->halves[1].last;
    }
    return lasts;
}

int peet__bus_cut_often(struct bus *b, const struct peet_block *block)
{
    const struct plan *const p = &b->plans[block->id];
    struct cuts *const s = p->cuts ? b->cuts[p->cuts - 1] : NULL;
    int any = 0;
    for (uint32_t k = 0; s && k < p->ngroups; k++) {
        if (s->nnames[k] && !s->lasts[k] && span_of(b, p, k) <= b->line_bytes)
            s->lasts[k] = lasts_of(b, block, &b->group_ways[p->ways - 1 + k], span_of(b, p, k));
        any |= s->lasts[k] != NULL;
    }
    return any ? 0 : -1;
}

void peet__bus_cut_looks(const struct bus *b, const struct plan *p, struct peet_direct_block *inout)
{
    for (uint32_t k = 0; p->cuts && k < p->ngroups; k++) {
        inout->looks[k].cuts = (const uint8_t (*)[2])b->cuts[p->cuts - 1]->lasts[k];
        inout->whole |= inout->looks[k].cuts != NULL;
    }
}

void peet__bus_cuts_fini(struct bus *b)
{
    for (uint32_t i = 0; i < b->ncuts; i++) {
        for (uint32_t k = 0; k < WAYS_MAX; k++)
            free(b->cuts[i]->lasts[k]);
        for (uint32_t k = 0; k < CUT_BUCKETS; k++)
            for (struct cut *c = b->cuts[i]->buckets[k], *next; c; c = next) {
                next = c->next;
                free(c);
            }
        free(b->cuts[i]);
    }
    free(b->cuts);
}
