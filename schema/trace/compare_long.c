/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Comparing sequences that do not fit into memory; see peet_edit_distance_long().
 *
 *   1. An anchor is a pair of places whose ANCHOR symbols are equal, and occur sampled once in either sequence.  Anchors of
 *      the chain follow each other in both.
 *   2. What lies before the next anchor is compared window by window, at most AT_ONCE symbols at a time.  Of a window's script the part up to a run in its third quarter is
 *      taken, since its end does not see what comes behind.
 *   3. Runs that are given to @match follow each other; so what they leave out is a script.
 */
#include "trace/compare.h"

#include <stdlib.h>
#include <string.h>
#include <uthash.h>

enum {
    ANCHOR = 64,
    SAMPLES_MAX = 1 << 20,
    SYMBOLS_MAX = 1 << 22,
    RUN_MIN = 16,
    PIECE = 4096,
    LATELY = 4096,
    AT_ONCE = 1 << 20
};

/* ---------------------------------------------------------------------------------------- anchors */

struct sample {
    UT_hash_handle hh;
    uint64_t hash, at[2];
    uint32_t times[2];
};

struct count {
    UT_hash_handle hh;
    uint64_t symbol;
    int64_t more; /* in a than in b */
};

struct pair {
    uint64_t a, b;
};

struct longer {
    struct sample *samples;
    uint64_t mask;                         /* those hashes are sampled that are 0 in these bits */
    struct count *counts, *lately[LATELY]; /* those of symbols that came lately */
    size_t ncounts;
    struct pair *chain;
    size_t nchain;
    uint64_t length[2];
};

static void thin_out(struct longer *l)
{
    struct sample *s, *next;

    l->mask = l->mask << 1 | 1;
    HASH_ITER(hh, l->samples, s, next)
    if (s->hash & l->mask) {
        HASH_DEL(l->samples, s);
        free(s);
    }
}

static int sample(struct longer *l, uint64_t hash, uint64_t at, int side)
{
    struct sample *s;

    HASH_FIND(hh, l->samples, &hash, sizeof hash, s);
    if (!s) {
        if (HASH_COUNT(l->samples) >= SAMPLES_MAX)
            thin_out(l);
        if (hash & l->mask)
            return 0;
        if (!(s = calloc(1, sizeof *s)))
            return PEET_ENOMEM;
        s->hash = hash;
        HASH_ADD(hh, l->samples, hash, sizeof s->hash, s);
    }
    s->at[side] = at;
    s->times[side]++;
    return 0;
}

static int tally(struct longer *l, uint64_t symbol, int side)
{
    struct count **lately = &l->lately[symbol * 0x9e3779b97f4a7c15u >> 52], *c = *lately;

    if (!c || c->symbol != symbol)
        HASH_FIND(hh, l->counts, &symbol, sizeof symbol, c);
    if (!c) {
        if (l->ncounts == SYMBOLS_MAX)
            return 0;
        if (!(c = calloc(1, sizeof *c)))
            return PEET_ENOMEM;
        c->symbol = symbol;
        HASH_ADD(hh, l->counts, symbol, sizeof c->symbol, c);
        l->ncounts++;
    }
    *lately = c;
    c->more += side ? -1 : 1;
    return 0;
}

static uint64_t mix(uint64_t x)
{
    x ^= x >> 31;
    x *= 0x9e3779b97f4a7c15u;
    return x ^ x >> 29;
}

/** Symbols of a sequence are counted, and places sampled. */
static int survey(struct longer *l, const struct peet_symbols *from, int side)
{
    static const uint64_t factor = 0xd6e8feb86659fd93u;
    uint64_t piece[PIECE], last[ANCHOR] = {0}, hash = 0, power = 1, at = 0;
    long n;
    int err = from->rewind(from->arg);

    for (int i = 0; i < ANCHOR; i++)
        power *= factor;
    while (!err && (n = from->read(from->arg, piece, PIECE)) != 0) {
        if (n < 0)
            return (int)n;
        for (long i = 0; i < n && !err; i++, at++) {
            const uint64_t in = mix(piece[i]);

            hash = hash * factor + in - last[at % ANCHOR] * power;
            last[at % ANCHOR] = in;
            err = tally(l, piece[i], side);
            if (!err && at + 1 >= ANCHOR && !(mix(hash) & l->mask))
                err = sample(l, mix(hash), at + 1 - ANCHOR, side);
        }
    }
    l->length[side] = at;
    return err;
}

static int by_a(const void *a, const void *b)
{
    const struct pair *x = a, *y = b;

    return x->a < y->a ? -1 : x->a > y->a;
}

/** The longest chain of pairs that rise in both: patience sorting. */
static int choose_chain(struct longer *l)
{
    const size_t room = HASH_COUNT(l->samples) + 1u;
    struct pair *all = calloc(room, sizeof *all);
    size_t *ends = calloc(room, sizeof *ends), *before = calloc(room, sizeof *before), n = 0, longest = 0;
    int err = all && ends && before ? 0 : PEET_ENOMEM;

    for (struct sample *s = err ? NULL : l->samples; s; s = s->hh.next)
        if (s->times[0] == 1 && s->times[1] == 1)
            all[n++] = (struct pair){s->at[0], s->at[1]};
    if (n)
        qsort(all, n, sizeof *all, by_a);
    for (size_t i = 0; i < n; i++) {
        size_t lo = 0, hi = longest;

        while (lo < hi) {
            const size_t mid = lo + (hi - lo) / 2;

            if (all[ends[mid]].b < all[i].b)
                lo = mid + 1;
            else
                hi = mid;
        }
        before[i] = lo ? ends[lo - 1] : SIZE_MAX;
        ends[lo] = i;
        longest += lo == longest;
    }
    if (!err && longest && !(l->chain = calloc(longest, sizeof *l->chain)))
        err = PEET_ENOMEM;
    for (size_t i = !err && longest ? ends[longest - 1] : SIZE_MAX, k = longest; i != SIZE_MAX; i = before[i])
        l->chain[--k] = all[i];
    l->nchain = err ? 0 : longest;
    free(all);
    free(ends);
    free(before);
    return err;
}

/* ---------------------------------------------------------------------------------------- windows */

struct run {
    size_t a, b, n;
};

struct window {
    const struct peet_symbols *from;
    uint64_t *symbols, first; /* the number of the first of them */
    size_t at, n, room;       /* they begin at symbols[at] */
    int ended;
};

struct script {
    struct run *runs;
    size_t n, room;
    int err;
    peet_match *match;
    void *arg;
    uint64_t at_a, at_b; /* behind the last run that was given */
    struct peet_distance d;
    int differs;
};

static void collect(void *arg, size_t a, size_t b, size_t n)
{
    struct script *s = arg;
    struct run *more;

    if (s->n == s->room) {
        more = realloc(s->runs, (s->room ? 2 * s->room : 256) * sizeof *more);
        if (!more) {
            s->err = PEET_ENOMEM;
            return;
        }
        s->runs = more;
        s->room = s->room ? 2 * s->room : 256;
    }
    s->runs[s->n++] = (struct run){a, b, n};
}

static void give(struct script *s, uint64_t a, uint64_t b, uint64_t n)
{
    if (!n)
        return;
    s->d.matched += n;
    s->at_a = a + n;
    s->at_b = b + n;
    if (s->match)
        s->match(s->arg, a, b, n);
}

/** A window is filled again when half of it is used up. */
static int fill(struct window *w)
{
    if (w->ended || w->n > w->room / 2)
        return 0;
    if (w->n)
        memmove(w->symbols, w->symbols + w->at, w->n * sizeof *w->symbols);
    w->at = 0;
    while (!w->ended && w->n < w->room) {
        const long got = w->from->read(w->from->arg, w->symbols + w->n, w->room - w->n);

        if (got < 0)
            return (int)got;
        w->ended = !got;
        w->n += (size_t)got;
    }
    return 0;
}

static void drop(struct window *w, size_t n)
{
    w->n -= n;
    w->at += n;
    w->first += n;
}

static size_t share(const struct window *w, uint64_t until, int *out_whole)
{
    const uint64_t left = until - w->first;
    const size_t most = w->n < AT_ONCE ? w->n : AT_ONCE;

    *out_whole = left <= most;
    return left <= most ? (size_t)left : most;
}

/** One window of what lies before @to (places of the next anchor). */
static int compare_window(struct script *s, struct window *a, struct window *b, struct pair to, size_t effort)
{
    struct peet_distance d;
    struct run last = {0, 0, 0};
    const uint64_t *from = a->symbols + a->at, *with = b->symbols + b->at;
    int whole_a, whole_b, err;
    size_t na, nb, common = 0;

    if (!s->differs) /* the first difference is where it is, whatever the anchors say */
        to = (struct pair){UINT64_MAX, UINT64_MAX};
    na = share(a, to.a, &whole_a);
    nb = share(b, to.b, &whole_b);

    while (common < na && common < nb && from[common] == with[common])
        common++;
    give(s, a->first, b->first, common);
    if (common) {
        drop(a, common);
        drop(b, common);
        return 0;
    }
    if (!s->differs) {
        s->differs = 1;
        s->d.first_a = a->first;
        s->d.first_b = b->first;
        return 0;
    }
    s->n = 0;
    err = peet_edit_script(from, na, with, nb, effort, collect, s, &d);
    if (err || s->err)
        return err ? err : s->err;
    for (size_t i = 0; i < s->n; i++) { /* the last one that is not near the end, a long one if there is */
        const struct run r = s->runs[i];

        if ((whole_a && whole_b) || (r.a <= na - na / 4 && r.b <= nb - nb / 4 && (r.n >= RUN_MIN || last.n < RUN_MIN)))
            last = r;
    }
    for (size_t i = 0; i < s->n && s->runs[i].a <= last.a && last.n; i++)
        give(s, a->first + s->runs[i].a, b->first + s->runs[i].b, s->runs[i].n);
    if (whole_a && whole_b) {
        drop(a, na);
        drop(b, nb);
    } else if (last.n) {
        drop(a, last.a + last.n);
        drop(b, last.b + last.n);
    } else { /* nothing in common: the one that has more left is ahead */
        drop(a, whole_a && nb ? 0 : na / 2 + (na == 1));
        drop(b, whole_b && na ? 0 : nb / 2 + (nb == 1));
    }
    return 0;
}

static int compare_all(const struct longer *l, struct script *s, struct window *a, struct window *b, size_t effort)
{
    int err = 0;

    for (size_t i = 0; i <= l->nchain && !err; i++) {
        const struct pair to = i < l->nchain ? l->chain[i] : (struct pair){l->length[0], l->length[1]};

        if (to.a < a->first || to.b < b->first)
            continue; /* runs have gone beyond it */
        while (!err && (a->first < to.a || b->first < to.b)) {
            err = fill(a);
            if (!err)
                err = fill(b);
            if (!err && !a->n && !b->n) /* shorter than when it was surveyed */
                return PEET_EFORMAT;
            if (!err)
                err = compare_window(s, a, b, to, effort);
        }
    }
    return err;
}

static uint64_t least(const struct longer *l)
{
    uint64_t sum = 0;
    const uint64_t n = l->length[0], m = l->length[1];

    for (const struct count *c = l->counts; c; c = c->hh.next)
        sum += (uint64_t)(c->more < 0 ? -c->more : c->more);
    return sum > (n > m ? n - m : m - n) ? sum : n > m ? n - m : m - n;
}

static void longer_free(struct longer *l)
{
    struct sample *s, *next_sample;
    struct count *c, *next_count;

    HASH_ITER(hh, l->samples, s, next_sample)
    {
        HASH_DEL(l->samples, s);
        free(s);
    }
    HASH_ITER(hh, l->counts, c, next_count)
    {
        HASH_DEL(l->counts, c);
        free(c);
    }
    free(l->chain);
}

int peet_edit_distance_long(const struct peet_symbols *a, const struct peet_symbols *b, size_t window, size_t effort,
    peet_match *match, void *arg, struct peet_distance *out_distance)
{
    struct longer l = {.mask = 63};
    struct script s = {.match = match, .arg = arg};
    struct window wa = {.from = a, .room = window}, wb = {.from = b, .room = window};
    int err = survey(&l, a, 0);

    if (!err)
        err = survey(&l, b, 1);
    if (!err && (l.length[0] > window || l.length[1] > window))
        err = choose_chain(&l);
    wa.symbols = malloc(window * sizeof *wa.symbols);
    wb.symbols = malloc(window * sizeof *wb.symbols);
    if (!err && (!wa.symbols || !wb.symbols))
        err = PEET_ENOMEM;
    if (!err)
        err = a->rewind(a->arg);
    if (!err)
        err = b->rewind(b->arg);
    if (!err)
        err = compare_all(&l, &s, &wa, &wb, effort);
    s.d.edits = l.length[0] + l.length[1] - 2 * s.d.matched;
    s.d.least = least(&l);
    if (!s.differs) {
        s.d.first_a = s.at_a;
        s.d.first_b = s.at_b;
    }
    *out_distance = s.d;
    free(s.runs);
    free(wa.symbols);
    free(wb.symbols);
    longer_free(&l);
    return err;
}
