/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blocks with groups that lie in two lines; otherwise as groups.c.
 *
 * Such a group is two probes, one for each line.  A reference that itself lies in both lines goes to the first and then
 * to the second.  What follows from the place where a group is split (which references go where, in which order, with
 * which stamps) is worked out when the group is first cut there, and kept.  Called by groups.c, loops.c and direct.c.
 */
#include "groups.h"
#include "straddle.h"
#include "miss.h"
#include <stdlib.h>

#define ALWAYS static inline __attribute__((always_inline))
#define UNLIKELY(x) __builtin_expect(!!(x), 0)
#define LIKELY(x) __builtin_expect(!!(x), 1)

/* The additional time of a reference that straddles two lines, in CPI_ONE, if both hit. */
static uint64_t twice(const struct bus *b, const struct peet_block *block, uint32_t ref)
{
    return (block->refs[ref].kind == PEET_REF_MODIFY ? 2 : 1) * b->hit_cycles * CPI_ONE;
}

/* What becomes of a group's references if the line ends so many bytes after the group's beginning. */
static struct group_split split(const struct bus *b, const struct peet_block *block, const struct line_access *w,
    uint32_t room)
{
    const struct group_member *const members = b->group_members + w->members;
    struct group_member lines[2][TEMPLATE_REFS];
    uint32_t counts[2] = {0, 0};
    struct group_split s = {.known = 2};
    for (uint32_t i = 0; i < w->nmembers; i++) {
        const struct group_member m = members[i];
        const uint32_t end = m.offset + block->refs[m.ref].size_bytes;
        if (m.offset < room)
            lines[0][counts[0]++] = m;
        if (end > room)
            lines[1][counts[1]++] = (struct group_member){m.offset > room ? m.offset : (uint16_t)room, m.ref};
        if (m.offset < room && end > room) {
            if (s.nstraddling == SPLIT_STRADDLING)
                return s;
            s.straddling[s.nstraddling++] = m.ref;
        }
    }
    s.known = 1;
    for (uint32_t line = 0; line < 2 && s.known == 1; line++) { /* both have some, else the group were smaller */
        struct line_access *const h = &s.lines[line];
        const struct peet_ref *const ref = &block->refs[lines[line][0].ref];
        const uint32_t offset = lines[line][0].offset;
        *h = peet__bus_access_of(b, block, lines[line], counts[line]);
        if (line && s.nstraddling && s.straddling[0] == h->first) { /* its part in the first line came before */
            h->at += twice(b, block, s.straddling[0]);
            for (uint32_t i = 0; i < w->nmembers; i++)
                h->bytes =
                    members[i].ref == h->first ? (uint16_t)(members[i].offset + ref->size_bytes - room) : h->bytes;
        } else if (!line && offset + ref->size_bytes > room) {
            h->bytes = (uint16_t)(room - offset);
        }
        if (!peet__bus_access_is_one(b, h))
            s.known = 2;
    }
    return s;
}

/* The lines of a group in two lines, made once for each place where it can be split.  NULL: too much of it lies in both
 * (or there is no memory to do better) */
const struct group_split *peet__bus_split_anew(struct bus *b, const struct peet_block *block, struct line_access *w,
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

/* An execution of a block whose groups are split in a given way: which references go to which line, as far as it is
 * known in advance. */
struct piece {
    struct line_access access;
    uint8_t probe;  /* of this probe of the block, */
    uint8_t second; /* 1: in the line after the one where the group begins */
};

struct straddle {
    struct straddle *next; /* of the same block, in the same bucket */
    uint64_t name, more_time;
    uint32_t more_stamps, reads, writes; /* references in two lines, which are counted once more */
    /* in the order of their first references; of one reference, the first line comes before the second.  0: not to be
     * had */
    uint32_t npieces;
    struct piece pieces[];
};

/* All splits of a block so far.  Each place where a group can be split gets a name when it first is, some bits in a
 * word of all groups. */
enum { STRADDLE_BUCKETS = 256, STRADDLES_MOST = 4096 };
#define STRADDLE_UNNAMED UINT64_MAX
struct straddles {
    struct straddle *buckets[STRADDLE_BUCKETS];
    uint32_t n, hits;
    uint8_t (*lasts[ACCESSES_MAX])[2]; /* by access: for its probe, if it is split often */
    uint8_t bits, nnames[ACCESSES_MAX];
    uint64_t names[]; /* by access and offset in the line: 0: the group is not split; STRADDLE_UNNAMED */
};

ALWAYS uint32_t bucket_of(uint64_t name)
{
    return (uint32_t)(name * 0x9e3779b97f4a7c15u >> 56);
}
_Static_assert(STRADDLE_BUCKETS == 1 << 8, "eight bits of a product");

static uint32_t span_of(const struct bus *b, const struct block_template *p, uint32_t k)
{
    return peet__bus_groups_of(b, p)[b->line_accesses[p->accesses - 1 + k].group].span;
}

/* The block's first time.  Returns: NULL without memory */
static __attribute__((noinline)) struct straddles *straddles_begin(struct bus *b, const struct block_template *p,
    uint32_t id)
{
    const uint32_t n = p->ngroups, line = b->line_bytes;
    struct straddles *const s =
        peet__bus_room_for((void **)&b->straddles, &b->straddles_size, b->nstraddles, 1, sizeof *b->straddles)
        ? NULL
        : calloc(1, sizeof *s + (size_t)n * line * sizeof *s->names);
    uint32_t nlong = 0;
    if (!s)
        return NULL;
    for (uint32_t k = 0; k < n; k++) {
        const uint32_t span = span_of(b, p, k);
        nlong += span > 1;
        for (uint32_t offset = span > line ? 0 : line - span + 1; offset < line; offset++)
            s->names[k * line + offset] = STRADDLE_UNNAMED;
    }
    s->bits = (uint8_t)(nlong > 8 ? 64 / nlong : 8);
    b->straddles[b->nstraddles++] = s;
    b->templates[id].straddles = b->nstraddles;
    return s;
}

/* A place where a group was never split.  Returns: its name, or STRADDLE_UNNAMED: there is none left */
static uint64_t give_name(const struct bus *b, const struct block_template *p, struct straddles *s, uint32_t k)
{
    uint32_t nlong = 0;
    if (s->nnames[k] + 1 >= 1 << s->bits)
        return STRADDLE_UNNAMED;
    for (uint32_t i = 0; i < k; i++)
        nlong += span_of(b, p, i) > 1;
    return (uint64_t)++s->nnames[k] << nlong * s->bits;
}

/* References in two lines, in no order. */
struct straddling {
    uint32_t n;
    uint8_t refs[2 * ACCESSES_MAX];
};

/* So many of them come before reference @ref, or before its second part. */
static uint32_t before(const struct straddling *s, uint32_t ref, int second)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->n; i++)
        n += s->refs[i] < ref || (second && s->refs[i] == ref);
    return n;
}

/* Each of them is one more reference, and what follows comes later by that. */
static void count_straddling(const struct bus *b, const struct peet_block *block, struct straddle *c,
    const struct straddling *straddling)
{
    for (uint32_t i = 0; i < straddling->n; i++) {
        const unsigned kind = block->refs[straddling->refs[i]].kind;
        c->reads += kind != PEET_REF_STORE;
        c->writes += kind != PEET_REF_LOAD;
        c->more_time += twice(b, block, straddling->refs[i]);
    }
    c->more_stamps = straddling->n;
    for (uint32_t k = 0; k < c->npieces; k++) {
        struct line_access *const w = &c->pieces[k].access;
        for (uint32_t i = 0; i < straddling->n; i++)
            w->at += straddling->refs[i] < w->ref ? twice(b, block, straddling->refs[i]) : 0;
        w->last = (uint8_t)(w->last + before(straddling, w->last - 1u, c->pieces[k].second));
        w->first = (uint8_t)(w->first + before(straddling, w->ref, c->pieces[k].second));
    }
}

/* Pieces are in the order of their first references; groups are added in that order. */
static void add_piece(struct straddle *c, const struct line_access *access, uint32_t probe, uint8_t second)
{
    uint32_t j = c->npieces++;
    for (; j > 0 && c->pieces[j - 1].access.first > access->first; j--)
        c->pieces[j] = c->pieces[j - 1];
    c->pieces[j] = (struct piece){.access = *access, .probe = (uint8_t)probe, .second = second};
}

/* Fills in the parts.  Returns: 0, or -1: they are not to be had */
static int take_apart(struct bus *b, const struct block_template *p, const struct peet_block *block,
    const uint64_t *begins, struct straddle *c)
{
    struct line_access *const accesses = b->line_accesses + p->accesses - 1;
    struct straddling straddling = {0};
    for (uint32_t k = 0; k < p->ngroups; k++) {
        const uint32_t room = b->line_bytes - (uint32_t)(begins[k] & (b->line_bytes - 1)), span = span_of(b, p, k);
        if (span <= room) {
            add_piece(c, &accesses[k], k, 0);
            continue;
        }
        const struct group_split *const split = peet__bus_split(b, block, &accesses[k], span, room);
        if (!split || straddling.n + split->nstraddling > sizeof straddling.refs)
            return -1;
        add_piece(c, &split->lines[0], k, 0);
        add_piece(c, &split->lines[1], k, 1);
        for (uint32_t i = 0; i < split->nstraddling; i++)
            straddling.refs[straddling.n++] = split->straddling[i];
    }
    if (p->nrefs + straddling.n > UINT8_MAX)
        return -1;
    count_straddling(b, block, c, &straddling);
    return 0;
}

/* The block was never split like this.  Returns: NULL: not to be had */
static __attribute__((noinline)) struct straddle *straddle_make(struct bus *b, const struct block_template *p,
    const struct peet_block *block, const uint64_t *begins)
{
    struct straddles *const s = p->straddles ? b->straddles[p->straddles - 1] : straddles_begin(b, p, block->id);
    uint64_t name = 0;
    for (uint32_t k = 0; s && k < p->ngroups; k++) {
        uint64_t *const at = &s->names[k * b->line_bytes + (begins[k] & (b->line_bytes - 1))];
        if (*at == STRADDLE_UNNAMED)
            *at = give_name(b, p, s, k);
        name |= *at;
    }
    if (!s || name == STRADDLE_UNNAMED || s->n == STRADDLES_MOST)
        return NULL;
    struct straddle *const c = calloc(1, sizeof *c + 2ul * p->ngroups * sizeof *c->pieces);
    if (!c)
        return NULL;
    if (take_apart(b, p, block, begins, c))
        c->npieces = 0;
    c->name = name;
    c->next = s->buckets[bucket_of(name)];
    s->buckets[bucket_of(name)] = c;
    s->n++;
    return c;
}

/* How the block is split if its groups begin there.  Returns: NULL: not to be had */
ALWAYS struct straddle *straddle_of(struct bus *b, const struct block_template *p, const struct peet_block *block,
    const uint64_t *begins)
{
    if (LIKELY(p->straddles)) {
        const struct straddles *const s = b->straddles[p->straddles - 1];
        const uint64_t *names = s->names;
        uint64_t name = 0;
        for (uint32_t k = 0; k < p->ngroups; k++, names += b->line_bytes)
            name |= names[begins[k] & (b->line_bytes - 1)];
        for (struct straddle *c = s->buckets[bucket_of(name)]; c; c = c->next)
            if (c->name == name)
                return c;
    }
    return straddle_make(b, p, block, begins);
}

ALWAYS uint64_t line_of(const struct bus *b, const struct piece *piece, const uint64_t *begins)
{
    return (begins[piece->probe] >> b->line_shift) + piece->second;
}

/* Might more lines come to a set than it has frames?  The two of a group are in different ones. */
ALWAYS int pieces_many(const struct bus *b, const struct block_template *p, const struct straddle *straddle)
{
    return straddle->npieces > b->ways && (p->ngroups > b->ways || b->sets == 1);
}

/* May a miss of one piece evict the line of another, because not all lines are there and they may not all fit? */
static __attribute__((noinline)) int pieces_crowded(const struct bus *b, const struct cache *c,
    const struct straddle *straddle, const uint64_t *begins)
{
    uint64_t lines[2 * ACCESSES_MAX], missing = 0;
    for (uint32_t i = 0; i < straddle->npieces; i++) {
        lines[i] = line_of(b, &straddle->pieces[i], begins);
        missing |= (c->keys[c->predictor[lines[i] & b->predictor_mask]] | straddle->pieces[i].access.permission_mask) ^
            (KEY_OF(lines[i]) | PERMISSION);
    }
    return missing && peet__bus_crowded(b, lines, straddle->npieces);
}

int peet__bus_take_straddling(struct bus *b, struct execution *t, const struct block_template *p,
    const struct peet_block *block, const uint64_t *begins)
{
    struct straddle *const straddle = straddle_of(b, p, block, begins);
    struct cache *const c = t->c;
    if (UNLIKELY(!straddle || !straddle->npieces) ||
        (UNLIKELY(pieces_many(b, p, straddle)) && pieces_crowded(b, c, straddle, begins)))
        return -1;
    for (uint32_t i = 0; i < straddle->npieces; i++) {
        const struct piece *const piece = &straddle->pieces[i];
        const uint64_t line = line_of(b, piece, begins), stamp = t->stamp + piece->access.last;
        uint32_t frame = c->predictor[line & b->predictor_mask];
        if ((c->keys[frame] | piece->access.permission_mask) != (KEY_OF(line) | PERMISSION))
            frame = b->go_slowly(b, t, begins[piece->probe], line, &piece->access);
        if (stamp > c->used[frame])
            c->used[frame] = stamp;
    }
    t->more_time = straddle->more_time;
    t->more_stamps = straddle->more_stamps;
    if (UNLIKELY(straddle->more_stamps)) {
        c->stats.reads += straddle->reads;
        c->stats.writes += straddle->writes;
    }
    return 0;
}

int peet__bus_straddle_again(struct bus *b, const struct block_template *p, const struct execution *t)
{
    /* a block that only hits is better looked for at once, however it is split */
    enum { A_FEW = 64 };
    const int hit = !t->stalled && !t->more_stamps;
    const uint32_t n = hit ? ++b->straddles[p->straddles - 1]->hits : 0;
    return n >= A_FEW && (n & (n - 1)) == 0 ? (int)(n & INT32_MAX) : 0;
}

/* The last uses of both lines, by the offset at which the group begins; 0: a reference straddles them */
static uint8_t (*lasts_of(struct bus *b, const struct peet_block *block, struct line_access *w, uint32_t span))[2]
{
    uint8_t (*const lasts)[2] = calloc(b->line_bytes, sizeof *lasts);
    for (uint32_t offset = 0; lasts && offset < b->line_bytes; offset++) {
        const uint32_t room = b->line_bytes - offset;
        const struct group_split *const s = span > room ? peet__bus_split(b, block, w, span, room) : NULL;
        if (span <= room)
            lasts[offset][0] = lasts[offset][1] = w->last;
        else if (s && !s->nstraddling)
            lasts[offset][0] = s->lines[0].last, lasts[offset][1] = s->lines[1].last;
    }
    return lasts;
}

int peet__bus_straddle_often(struct bus *b, const struct peet_block *block)
{
    const struct block_template *const p = &b->templates[block->id];
    struct straddles *const s = p->straddles ? b->straddles[p->straddles - 1] : NULL;
    int any = 0;
    for (uint32_t k = 0; s && k < p->ngroups; k++) {
        if (s->nnames[k] && !s->lasts[k] && span_of(b, p, k) <= b->line_bytes)
            s->lasts[k] = lasts_of(b, block, &b->line_accesses[p->accesses - 1 + k], span_of(b, p, k));
        any |= s->lasts[k] != NULL;
    }
    return any ? 0 : -1;
}

void peet__bus_straddle_probes(const struct bus *b, const struct block_template *p, struct peet_direct_block *inout)
{
    for (uint32_t k = 0; p->straddles && k < p->ngroups; k++) {
        inout->looks[k].cuts = (const uint8_t (*)[2])b->straddles[p->straddles - 1]->lasts[k];
        inout->whole |= inout->looks[k].cuts != NULL;
    }
}

void peet__bus_straddles_fini(struct bus *b)
{
    for (uint32_t i = 0; i < b->nstraddles; i++) {
        for (uint32_t k = 0; k < ACCESSES_MAX; k++)
            free(b->straddles[i]->lasts[k]);
        for (uint32_t k = 0; k < STRADDLE_BUCKETS; k++)
            for (struct straddle *c = b->straddles[i]->buckets[k], *next; c; c = next) {
                next = c->next;
                free(c);
            }
        free(b->straddles[i]);
    }
    free(b->straddles);
}
