/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Groups in two lines: what groups.c does for a block, if some of its groups are cut by the end of a line.  The two parts of such a group go
 * their ways by themselves; references that lie in both lines go to one and then to the other.  Called by groups.c, turns.c and direct.c.
 */
#include "groups.h"
#include "halves.h"
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
const struct group_split *peet__bus_cut(struct bus *b, const struct peet_block *block, struct group_way *w, uint32_t span, uint32_t room)
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

/* What goes to one line: a group, or a part of one. */
struct part {
    const struct group_way *way;
    uint64_t begin; /* of the group */
    uint32_t frame; /* where its line was last */
    uint8_t second; /* it is the line behind the one where the group begins */
};

struct parting {
    uint32_t n, nboth;
    uint8_t both[BOTH_MAX];       /* references that lie in two lines */
    struct part parts[2 * WAYS_MAX];
};

ALWAYS uint64_t line_of(const struct bus *b, const struct part *part)
{
    return (part->begin >> b->line_shift) + part->second;
}

/* So many references in two lines come before reference @ref, or before its second part. */
static uint32_t before(const struct parting *s, uint32_t ref, int second)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->nboth; i++)
        n += s->both[i] < ref || (second && s->both[i] == ref);
    return n;
}

/* The line is where it was last?  Then the part is a plain hit, and 0 is returned. */
ALWAYS uint64_t look_for(const struct bus *b, const struct cache *c, struct parting *s, const struct group_way *w, uint64_t begin, uint8_t second)
{
    struct part *const part = &s->parts[s->n++];
    *part = (struct part){.way = w, .begin = begin, .second = second};
    const uint64_t line = line_of(b, part);
    part->frame = c->hints[line & b->hint_mask];
    return (c->keys[part->frame] | w->either) ^ (KEY_OF(line) | QUICK);
}

/* All references of the part were hits, or are now. */
ALWAYS void use_part(struct cache *c, const struct parting *s, const struct part *part, uint64_t stamp)
{
    const uint32_t last = part->way->last;
    uint64_t *const used = &c->used[part->frame];
    stamp += last;
    if (UNLIKELY(s->nboth))
        stamp += before(s, last - 1, part->second);
    *used = stamp > *used ? stamp : *used;
}

static uint64_t twice(const struct bus *b, const struct peet_block *block, uint32_t ref)
{
    return (block->refs[ref].kind == PEET_REF_MODIFY ? 2 : 1) * b->hit_cycles * CPI_ONE;
}

/* Each reference that lies in two lines is one more. */
static __attribute__((noinline)) void count_both(const struct bus *b, struct turn *t, const struct peet_block *block, const struct parting *s)
{
    t->more_stamps = s->nboth;
    for (uint32_t i = 0; i < s->nboth; i++) {
        const unsigned kind = block->refs[s->both[i]].kind;
        t->c->stats.reads += kind != PEET_REF_STORE;
        t->c->stats.writes += kind != PEET_REF_LOAD;
        t->more_time += twice(b, block, s->both[i]);
    }
}

/* A part is no plain hit.  What follows a reference in two lines comes later by it, in stamps and in time. */
static void go_part(struct bus *b, struct turn *t, const struct peet_block *block, const struct parting *s, struct part *part)
{
    const struct group_way *const w = part->way;
    const uint64_t stamp = t->stamp, rest = t->rest;
    for (uint32_t i = 0; i < s->nboth; i++)
        t->rest += s->both[i] < w->first ? twice(b, block, s->both[i]) : 0;
    t->stamp += before(s, w->first, part->second);
    part->frame = b->go_slowly(b, t, part->begin, line_of(b, part), w);
    t->stamp = stamp;
    t->rest = rest;
}

/* The parts, in the order of their first references; of one reference, the first line comes before the second.  Groups are in that order. */
static void sort_parts(struct parting *s)
{
    for (uint32_t i = 1; i < s->n; i++) {
        const struct part part = s->parts[i];
        uint32_t j = i;
        for (; j > 0 && s->parts[j - 1].way->first > part.way->first; j--)
            s->parts[j] = s->parts[j - 1];
        s->parts[j] = part;
    }
}

/* May the lines of all parts not fit? */
static __attribute__((noinline)) int parts_crowded(const struct bus *b, const struct parting *s)
{
    uint64_t lines[2 * WAYS_MAX];
    for (uint32_t i = 0; i < s->n; i++)
        lines[i] = line_of(b, &s->parts[i]);
    return peet__bus_crowded(b, lines, s->n);
}

/* The turn does not only hit. */
static int go_parts(struct bus *b, struct turn *t, const struct peet_block *block, struct parting *s)
{
    const struct cache *const c = t->c;
    if (UNLIKELY(s->n > b->ways) && parts_crowded(b, s))
        return -1;
    sort_parts(s);
    for (uint32_t i = 0; i < s->n; i++) {
        struct part *const part = &s->parts[i];
        if ((c->keys[part->frame] | part->way->either) != (KEY_OF(line_of(b, part)) | QUICK))
            go_part(b, t, block, s, part);
        use_part(t->c, s, part, t->stamp);
    }
    return 0;
}

int peet__bus_halves_go(struct bus *b, struct turn *t, const struct plan *p, const struct peet_block *block, const uint64_t *begins)
{
    const struct group *const groups = p->known - 1 == PLAN_MANY ? b->groups + p->more : p->first;
    struct group_way *const ways = b->group_ways + p->ways - 1;
    struct cache *const c = t->c;
    uint64_t odd = 0;
    struct parting s;
    s.n = s.nboth = 0;
    t->more_time = t->more_stamps = 0;
    for (uint32_t k = 0; k < p->ngroups; k++) {
        struct group_way *const w = &ways[k];
        const uint32_t room = b->line_bytes - (uint32_t)(begins[k] & (b->line_bytes - 1)), span = groups[w->group].span;
        if (LIKELY(span <= room)) {
            odd |= look_for(b, c, &s, w, begins[k], 0);
            continue;
        }
        const struct group_split *const split = peet__bus_split(b, block, w, span, room);
        if (UNLIKELY(!split) || UNLIKELY(s.nboth + split->nboth > BOTH_MAX))
            return -1;
        odd |= look_for(b, c, &s, &split->halves[0], begins[k], 0);
        odd |= look_for(b, c, &s, &split->halves[1], begins[k], 1);
        for (uint32_t i = 0; i < split->nboth; i++)
            s.both[s.nboth++] = split->both[i];
    }
    if (odd) {
        if (go_parts(b, t, block, &s))
            return -1;
    } else {
        for (uint32_t i = 0; i < s.n; i++)
            use_part(c, &s, &s.parts[i], t->stamp);
    }
    if (UNLIKELY(s.nboth))
        count_both(b, t, block, &s);
    return 0;
}
