/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Groups in two lines: what groups.c does for a block, if some of its groups are cut by the end of a line.  The two parts of such a group go
 * their ways by themselves; references that lie in both lines go to one and then to the other.  Called by groups.c, turns.c and direct.c.
 */
#include "groups.h"
#include <stdlib.h>

#define ALWAYS static inline __attribute__((always_inline))
#define UNLIKELY(x) __builtin_expect(!!(x), 0)
#define LIKELY(x) __builtin_expect(!!(x), 1)

/* What becomes of a group's references if the line ends so many bytes behind the group's beginning. */
static struct group_split split(const struct bus *b, const struct peet_block *block, const struct group_way *w, uint32_t room)
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
            h->at += (ref->kind == PEET_REF_MODIFY ? 2 : 1) * b->hit_cycles * CPI_ONE;
            for (uint32_t i = 0; i < w->nmembers; i++)
                h->bytes = members[i].ref == h->first ? (uint16_t)(members[i].offset + ref->size_bytes - room) : h->bytes;
        } else if (!half && offset + ref->size_bytes > room) {
            h->bytes = (uint16_t)(room - offset);
        }
        if (!peet__bus_way_goes(b, h))
            s.known = 2;
    }
    return s;
}

/* The halves of a group in two lines, made once for each place where it can be cut.  NULL: too much of it lies in both (or there is no
 * memory to do better) */
static __attribute__((noinline)) const struct group_split *cut(struct bus *b, const struct peet_block *block, struct group_way *w, uint32_t span,
    uint32_t room)
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

/* What is the same for all parts of a turn with groups in two lines. */
struct parting {
    uint8_t both[BOTH_MAX]; /* references that lie in two lines */
    uint32_t nboth, npending;
    struct part { const struct group_way *way; uint64_t begin, line; int second; } pending[WAYS_MAX]; /* behind others, in their order */
};

/* So many references in two lines come before reference @ref, or before its second part. */
static uint32_t before(const struct parting *s, uint32_t ref, int second)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->nboth; i++)
        n += s->both[i] < ref || (second && s->both[i] == ref);
    return n;
}

static uint64_t twice(const struct bus *b, const struct peet_block *block, uint32_t ref)
{
    return (block->refs[ref].kind == PEET_REF_MODIFY ? 2 : 1) * b->hit_cycles * CPI_ONE;
}

/* Some references lie in two lines: each is one more, and all that follows comes later by it, in stamps and in time. */
static __attribute__((noinline)) void go_later(struct bus *b, struct turn *t, const struct peet_block *block, const struct part *part,
    const struct parting *s)
{
    const struct group_way *const w = part->way;
    const uint64_t stamp = t->stamp, rest = t->rest, used = stamp + before(s, w->last - 1u, part->second) + w->last;
    struct cache *const c = t->c;
    uint32_t i = c->hints[part->line & b->hint_mask];
    t->stamp += before(s, w->first, part->second);
    for (uint32_t j = 0; j < s->nboth; j++)
        t->rest += s->both[j] < w->first ? twice(b, block, s->both[j]) : 0;
    if ((c->keys[i] | w->either) != (KEY_OF(part->line) | QUICK))
        i = b->go_slowly(b, t, part->begin, part->line, w);
    c->used[i] = used > c->used[i] ? used : c->used[i];
    t->stamp = stamp;
    t->rest = rest;
}

ALWAYS void go_part(struct bus *b, struct turn *t, const struct peet_block *block, const struct part *part, const struct parting *s)
{
    if (UNLIKELY(s->nboth))
        go_later(b, t, block, part, s);
    else
        peet__bus_way_go(b, t, part->begin, part->line, part->way);
}

ALWAYS void go_pending(struct bus *b, struct turn *t, const struct peet_block *block, struct parting *s, uint32_t until)
{
    uint32_t n = 0;
    while (n < s->npending && s->pending[n].way->first < until)
        go_part(b, t, block, &s->pending[n++], s);
    s->npending -= n;
    for (uint32_t i = 0; UNLIKELY(n) && i < s->npending; i++)
        s->pending[i] = s->pending[i + n];
}

static void put_off(struct parting *s, struct part part)
{
    uint32_t i = s->npending++;
    for (; i > 0 && s->pending[i - 1].way->first > part.way->first; i--)
        s->pending[i] = s->pending[i - 1];
    s->pending[i] = part;
}

/* May the lines of all parts not fit? */
static __attribute__((noinline)) int parts_crowded(const struct bus *b, const uint64_t *begins, uint32_t n, const struct group_split *const *splits)
{
    uint64_t lines[2 * WAYS_MAX];
    uint32_t nlines = 0;
    for (uint32_t k = 0; k < n; k++) {
        lines[nlines++] = begins[k] >> b->line_shift;
        if (splits[k])
            lines[nlines++] = (begins[k] >> b->line_shift) + 1;
    }
    return peet__bus_crowded(b, lines, nlines);
}

int peet__bus_halves_go(struct bus *b, struct turn *t, const struct plan *p, const struct peet_block *block, const uint64_t *begins)
{
    const struct group *const groups = p->known - 1 == PLAN_MANY ? b->groups + p->more : p->first;
    struct group_way *const ways = b->group_ways + p->ways - 1;
    const struct group_split *splits[WAYS_MAX];
    const uint32_t n = p->ngroups;
    uint32_t nparts = n;
    struct parting s;
    s.nboth = s.npending = 0;
    t->more_time = t->more_stamps = 0;
    for (uint32_t k = 0; k < n; k++) {
        const uint32_t room = b->line_bytes - (uint32_t)(begins[k] & (b->line_bytes - 1)), span = groups[ways[k].group].span;
        splits[k] = NULL;
        if (LIKELY(span <= room))
            continue;
        splits[k] = ways[k].splits && span <= b->line_bytes && ways[k].splits[room].known == 1 ? &ways[k].splits[room]
            : cut(b, block, &ways[k], span, room);
        if (!splits[k] || s.nboth + splits[k]->nboth > BOTH_MAX)
            return -1;
        for (uint32_t i = 0; i < splits[k]->nboth; i++)
            s.both[s.nboth++] = splits[k]->both[i];
        nparts++;
    }
    if (UNLIKELY(nparts > b->ways) && parts_crowded(b, begins, n, splits))
        return -1;
    for (uint32_t k = 0; k < n; k++) { /* ways are in the order of their first references; so are parts */
        const uint64_t line = begins[k] >> b->line_shift;
        if (UNLIKELY(s.npending))
            go_pending(b, t, block, &s, ways[k].first);
        if (LIKELY(!splits[k])) {
            go_part(b, t, block, &(struct part){&ways[k], begins[k], line, 0}, &s);
        } else {
            const struct group_way *const halves = splits[k]->halves;
            const int second = halves[1].first < halves[0].first;
            go_part(b, t, block, &(struct part){&halves[second], begins[k], line + (uint64_t)second, second}, &s);
            put_off(&s, (struct part){&halves[!second], begins[k], line + (uint64_t)!second, !second});
        }
    }
    go_pending(b, t, block, &s, UINT32_MAX);
    t->more_stamps = s.nboth;
    for (uint32_t i = 0; i < s.nboth; i++) {
        const unsigned kind = block->refs[s.both[i]].kind;
        t->c->stats.reads += kind != PEET_REF_STORE;
        t->c->stats.writes += kind != PEET_REF_LOAD;
        t->more_time += twice(b, block, s.both[i]);
    }
    return 0;
}
