/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Comparing sequences that do not fit into memory; see peet_edit_distance_long().
 *
 *   1. An anchor is a pair of places whose 64 or 2048 symbols are equal, and occur sampled once in either sequence.
 *      Anchors of the chain follow each other in both.
 *   2. What lies before the next anchor is compared window by window, at most AT_ONCE symbols at a time.  Of a window's script the part up to a run in its third quarter is
 *      taken, since its end does not see what comes behind.
 *   3. Runs that are given to @match follow each other; so what they leave out is a script.
 */
#include "trace/compare_parts.h"

#include <stdlib.h>
#include <string.h>
#include <uthash.h>

enum { LENGTHS = 2, LONGEST = 2048, SAMPLES_MAX = 1 << 20, RUN_MIN = 16, PIECE = 4096, AT_ONCE = 1 << 18 };

/* ---------------------------------------------------------------------------------------- anchors */

/** So many symbols are an anchor: few, that there may be one between two differences; many, where few symbols in a row
 * come again and again. */
static const size_t anchor_lengths[LENGTHS] = {64, LONGEST};

struct sample {
    UT_hash_handle hh;
    uint64_t hash, at[2];
    uint32_t times[2];
};

struct longer {
    struct sample *samples;
    uint64_t mask; /* those hashes are sampled that are 0 in these bits */
    struct peet__bound *bound;
    struct peet__pair *chain;
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

/** Strings of a sequence's symbols are counted, and places sampled. */
static int survey(struct longer *l, const struct peet_symbols *from, int side)
{
    uint64_t piece[PIECE], *last = calloc(LONGEST, sizeof *last), at = 0;
    struct peet__rolling rolling[LENGTHS];
    long n = 0;
    int err = last ? from->rewind(from->arg) : PEET_ENOMEM;

    for (int k = 0; k < LENGTHS; k++)
        rolling[k] = peet__rolling_new(anchor_lengths[k]);
    peet__bound_begin(l->bound, side);
    while (!err && (n = from->read(from->arg, piece, PIECE)) > 0)
        for (long i = 0; i < n && !err; i++, at++) {
            const uint64_t in = peet__hash_symbol(piece[i]);

            peet__bound_add(l->bound, piece[i]);
            for (int k = 0; k < LENGTHS && !err; k++) {
                const size_t length = anchor_lengths[k];
                const uint64_t hash =
                    peet__hash_symbol(peet__roll(&rolling[k], in, last[(at - length) % LONGEST]) + length);

                if (at + 1 >= length && !(hash & l->mask))
                    err = sample(l, hash, at + 1 - length, side);
            }
            last[at % LONGEST] = in;
        }
    free(last);
    l->length[side] = at;
    return err ? err : n < 0 ? (int)n : 0;
}

static int choose_chain(struct longer *l)
{
    struct peet__pair *all = malloc((HASH_COUNT(l->samples) + 1u) * sizeof *all);
    size_t n = 0;

    for (struct sample *s = all ? l->samples : NULL; s; s = s->hh.next)
        if (s->times[0] == 1 && s->times[1] == 1)
            all[n++] = (struct peet__pair){s->at[0], s->at[1]};
    l->chain = all;
    return all ? peet__longest_chain(all, n, &l->nchain) : PEET_ENOMEM;
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
    uint64_t credit;
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
static int compare_window(struct script *s, struct window *a, struct window *b, struct peet__pair to, size_t effort)
{
    struct peet_distance d;
    struct run last = {0, 0, 0};
    const uint64_t *from = a->symbols + a->at, *with = b->symbols + b->at;
    int whole_a, whole_b, err;
    size_t na, nb, common = 0;

    if (!s->differs) /* the first difference is where it is, whatever the anchors say */
        to = (struct peet__pair){UINT64_MAX, UINT64_MAX};
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
    err = effort ? peet__edit_anchored(from, na, with, nb, effort, !whole_a || !whole_b, &s->credit, collect, s, &d)
                 : peet_edit_script(from, na, with, nb, 0, collect, s, &d);
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
        const struct peet__pair to = i < l->nchain ? l->chain[i] : (struct peet__pair){l->length[0], l->length[1]};

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

static void longer_free(struct longer *l)
{
    struct sample *s, *next_sample;

    HASH_ITER(hh, l->samples, s, next_sample)
    {
        HASH_DEL(l->samples, s);
        free(s);
    }
    free(l->chain);
    peet__bound_free(l->bound);
}

int peet_edit_distance_long(const struct peet_symbols *a, const struct peet_symbols *b, size_t window, size_t effort,
    peet_match *match, void *arg, struct peet_distance *out_distance)
{
    struct longer l = {.mask = 63};
    struct script s = {.credit = PEET__CREDIT, .match = match, .arg = arg};
    struct window wa = {.from = a, .room = window}, wb = {.from = b, .room = window};
    int err = peet__bound_new(&l.bound);

    if (!err)
        err = survey(&l, a, 0);
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
    s.d.least = err ? 0 : peet__bound_least(l.bound);
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
