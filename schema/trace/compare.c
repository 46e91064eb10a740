/* SPDX-License-Identifier: Apache-2.0 */
/* See compare.h. */
#include "trace/compare_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    LONG = 1 << 21, /* symbols of both */
    LONG_WINDOW = 1 << 19,
    LONG_WORK = 1 << 28, /* symbols of both times differences, for which such sequences are compared exactly */
    MANY = 1 << 14       /* symbols of both: the bound is by strings */
};

/* ---------------------------------------------------------------------------------- edit distance */

struct edit {
    const uint64_t *a, *b;
    /* furthest x on each diagonal, from both corners; index 0 is the middle of the arrays */
    ptrdiff_t *forward, *backward;
    size_t effort;
    peet_match *match;
    void *arg;
    struct peet_distance *out;
};

static void matched(struct edit *e, size_t a, size_t b, size_t n)
{
    if (!n)
        return;
    e->out->matched += n;
    if (e->match)
        e->match(e->arg, a, b, n);
}

struct middle {
    ptrdiff_t x, y; /* the path goes through here */
};

/** The rectangle whose corners a path connects. */
struct part {
    ptrdiff_t a0, a1, b0, b1;
};

/** No path has come to this diagonal inside the rectangle. */
#define NOWHERE PTRDIFF_MIN

/**
 * One more difference from one corner: on each diagonal k (x - y = k) the furthest x, in the direction `step` (1: from
 * the first corner, -1: from the last).
 * @at: furthest x by diagonal; @lo, @hi: diagonals that have been come to with one difference less, then with this one
 * @out_best: the point that is furthest along
 */
static void extend(const struct edit *e, const struct part *p, ptrdiff_t *at, ptrdiff_t *lo, ptrdiff_t *hi, int step,
    struct middle *out_best)
{
    const ptrdiff_t least = p->a0 - p->b1, most = p->a1 - p->b0, from = *lo - 1 < least ? *lo + 1 : *lo - 1,
                    to = *hi + 1 > most ? *hi - 1 : *hi + 1;
    ptrdiff_t along = NOWHERE;

    for (ptrdiff_t k = from; k <= to; k += 2) {
        /* one symbol of a, from the diagonal before it, or one of b, from the one after it, in the direction of the
         * step */
        const ptrdiff_t ka = k - step, kb = k + step;
        ptrdiff_t x = NOWHERE, y;

        if (ka >= *lo && ka <= *hi && at[ka] != NOWHERE && at[ka] != (step > 0 ? p->a1 : p->a0))
            x = at[ka] + step;
        if (kb >= *lo && kb <= *hi && at[kb] != NOWHERE && at[kb] - kb != (step > 0 ? p->b1 : p->b0) &&
            (x == NOWHERE || (at[kb] - x) * step > 0))
            x = at[kb];
        at[k] = x;
        if (x == NOWHERE)
            continue;
        y = x - k;
        if (step > 0)
            while (x < p->a1 && y < p->b1 && e->a[x] == e->b[y])
                x++, y++;
        else
            while (x > p->a0 && y > p->b0 && e->a[x - 1] == e->b[y - 1])
                x--, y--;
        at[k] = x;
        if (along == NOWHERE || (x + y) * step > along) {
            along = (x + y) * step;
            *out_best = (struct middle){x, y};
        }
    }
    *lo = from;
    *hi = to;
}

/**
 * A point on a shortest path between the corners, where the paths from both meet (Myers, section 4b).  When the effort
 * is spent, the point that is furthest along from the first corner: the path through it exists, but may not be the
 * shortest.  The corners' first symbols differ, and so do the last.
 */
static struct middle find_middle(struct edit *e, const struct part *p)
{
    ptrdiff_t *f = e->forward, *g = e->backward, flo = p->a0 - p->b0, fhi = flo, glo = p->a1 - p->b1, ghi = glo;
    const int odd = (flo - glo) & 1;
    struct middle best = {p->a0, p->b0}, ignored;

    f[flo] = p->a0;
    g[glo] = p->a1;
    for (size_t d = 1;; d++) {
        extend(e, p, f, &flo, &fhi, 1, &best);
        for (ptrdiff_t k = flo; odd && k <= fhi; k += 2)
            if (k >= glo && k <= ghi && f[k] != NOWHERE && g[k] != NOWHERE && f[k] >= g[k])
                return (struct middle){f[k], f[k] - k};
        if (e->effort && d > e->effort)
            return best;
        extend(e, p, g, &glo, &ghi, -1, &ignored);
        for (ptrdiff_t k = glo; !odd && k <= ghi; k += 2)
            if (k >= flo && k <= fhi && f[k] != NOWHERE && g[k] != NOWHERE && f[k] >= g[k])
                return (struct middle){g[k], g[k] - k};
    }
}

/** The shorter half first would bound the stack; with the middle on a shortest path the depth is logarithmic in the
 * differences. */
static void divide(struct edit *e, ptrdiff_t a0, ptrdiff_t a1, ptrdiff_t b0, ptrdiff_t b1)
{
    for (;;) {
        ptrdiff_t n = 0, tail = 0;
        struct middle m;

        while (a0 + n < a1 && b0 + n < b1 && e->a[a0 + n] == e->b[b0 + n])
            n++;
        matched(e, (size_t)a0, (size_t)b0, (size_t)n);
        a0 += n;
        b0 += n;
        while (a0 < a1 && b0 < b1 && e->a[a1 - 1] == e->b[b1 - 1])
            a1--, b1--, tail++;
        if (a0 == a1 || b0 == b1) {
            e->out->edits += (uint64_t)(a1 - a0) + (uint64_t)(b1 - b0);
            matched(e, (size_t)a1, (size_t)b1, (size_t)tail);
            return;
        }
        m = find_middle(e, &(struct part){a0, a1, b0, b1});
        if ((m.x == a0 && m.y == b0) || (m.x == a1 && m.y == b1)) { /* cannot be halved: one symbol is left out */
            if (a1 - a0 > b1 - b0)
                m = (struct middle){a0 + 1, b0};
            else
                m = (struct middle){a0, b0 + 1};
        }
        divide(e, a0, m.x, b0, m.y);
        if (tail) {
            divide(e, m.x, a1, m.y, b1);
            matched(e, (size_t)a1, (size_t)b1, (size_t)tail);
            return;
        }
        a0 = m.x;
        b0 = m.y;
    }
}

static int by_value(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return x < y ? -1 : x > y;
}

/** The bound by strings of symbols, 1 to 16. */
static int least_of_many(const uint64_t *a, size_t n, const uint64_t *b, size_t m, uint64_t *out_least)
{
    struct peet__bound *bound;
    int err = peet__bound_new(&bound);

    if (err)
        return err;
    peet__bound_begin(bound, 0);
    for (size_t i = 0; i < n; i++)
        peet__bound_add(bound, a[i]);
    peet__bound_begin(bound, 1);
    for (size_t i = 0; i < m; i++)
        peet__bound_add(bound, b[i]);
    *out_least = peet__bound_least(bound);
    peet__bound_free(bound);
    return 0;
}

/** Symbols that one has more often than the other must be inserted or deleted: a bound from below. */
static int least(const uint64_t *a, size_t n, const uint64_t *b, size_t m, uint64_t *out_least)
{
    uint64_t *x = malloc((n + m + 1) * sizeof *x), *y = x ? x + n : NULL;
    size_t i = 0, k = 0;

    *out_least = 0;
    if (!x)
        return PEET_ENOMEM;
    if (n)
        memcpy(x, a, n * sizeof *a);
    if (m)
        memcpy(y, b, m * sizeof *b);
    qsort(x, n, sizeof *x, by_value);
    qsort(y, m, sizeof *y, by_value);
    while (i < n || k < m) {
        if (i < n && k < m && x[i] == y[k]) {
            i++;
            k++;
        } else {
            *out_least += 1;
            if (k == m || (i < n && x[i] < y[k]))
                i++;
            else
                k++;
        }
    }
    free(x);
    return 0;
}

int peet_edit_script(const uint64_t *a, size_t n, const uint64_t *b, size_t m, size_t effort, peet_match *match,
    void *arg, struct peet_distance *out_distance)
{
    const size_t diagonals = n + m + 4;
    ptrdiff_t *all = malloc(2 * (diagonals + 2) * sizeof *all);
    struct edit e = {a, b, NULL, NULL, effort, match, arg, out_distance};
    size_t same = 0;

    *out_distance = (struct peet_distance){0};
    if (!all)
        return PEET_ENOMEM;
    e.forward = all + m + 2; /* diagonals go from -m - 1 to n + 1 */
    e.backward = all + diagonals + 2 + m + 2;
    while (same < n && same < m && a[same] == b[same])
        same++;
    divide(&e, 0, (ptrdiff_t)n, 0, (ptrdiff_t)m);
    free(all);
    out_distance->first_a = same == n && same == m ? n : same;
    out_distance->first_b = same == n && same == m ? m : same;
    return 0;
}

/** A sequence in memory that is read piece by piece. */
struct feed {
    const uint64_t *all;
    size_t n, at;
};

static long read_feed(void *arg, uint64_t *out, size_t n)
{
    struct feed *f = arg;

    n = n < f->n - f->at ? n : f->n - f->at;
    if (n)
        memcpy(out, f->all + f->at, n * sizeof *out);
    f->at += n;
    return (long)n;
}

static int rewind_feed(void *arg)
{
    ((struct feed *)arg)->at = 0;
    return 0;
}

/** Of sequences that Myers' search would take too long for, if they differ much. */
static int long_distance(const uint64_t *a, size_t n, const uint64_t *b, size_t m, size_t effort, peet_match *match,
    void *arg, struct peet_distance *out)
{
    struct feed fa = {a, n, 0}, fb = {b, m, 0};
    const struct peet_symbols from = {read_feed, rewind_feed, &fa}, to = {read_feed, rewind_feed, &fb};
    int err = peet_edit_distance_long(&from, &to, LONG_WINDOW, effort, NULL, NULL, out);

    if (!err && out->edits <= effort && out->edits <= LONG_WORK / (n + m)) {
        err = peet_edit_script(a, n, b, m, 0, match, arg, out);
        out->least = out->edits;
    } else if (!err && match) {
        err = peet_edit_distance_long(&from, &to, LONG_WINDOW, effort, match, arg, out);
    }
    return err;
}

int peet_edit_limited(const uint64_t *a, size_t n, const uint64_t *b, size_t m, size_t effort, peet_match *match,
    void *arg, struct peet_distance *out_distance)
{
    struct peet_distance anchored = {.edits = UINT64_MAX}, ignored;
    uint64_t credit = PEET__CREDIT;
    int err = peet_edit_script(a, n, b, m, effort, effort ? NULL : match, arg, out_distance);

    if (err || !effort)
        return err;
    if (out_distance->edits > effort)
        err = peet__edit_anchored(a, n, b, m, effort, 0, &credit, NULL, NULL, &anchored);
    if (!err && anchored.edits < out_distance->edits) {
        out_distance->edits = anchored.edits;
        out_distance->matched = anchored.matched;
        credit = PEET__CREDIT;
        return match ? peet__edit_anchored(a, n, b, m, effort, 0, &credit, match, arg, &ignored) : 0;
    }
    return !err && match ? peet_edit_script(a, n, b, m, effort, match, arg, &ignored) : err;
}

int peet_edit_distance(const uint64_t *a, size_t n, const uint64_t *b, size_t m, size_t effort, peet_match *match,
    void *arg, struct peet_distance *out_distance)
{
    if (effort && n + m > LONG)
        return long_distance(a, n, b, m, effort, match, arg, out_distance);
    const int err = peet_edit_limited(a, n, b, m, effort, match, arg, out_distance);

    out_distance->least = out_distance->edits;
    if (err || !effort || out_distance->edits <= effort)
        return err;
    return (n + m > MANY ? least_of_many : least)(a, n, b, m, &out_distance->least);
}

double peet_similarity(const struct peet_distance *distance, size_t n, size_t m)
{
    return n + m ? 200.0 * (double)distance->matched / (double)(n + m) : 100;
}

/* -------------------------------------------------------------------------------------- assignment */

/** Shortest augmenting paths with potentials; columns and rows count from 1, 0 is the row that is being added. */
int peet_assignment(const double *cost, size_t n, size_t m, size_t *out_column)
{
    double *u = calloc(n + 1 + 2 * (m + 1), sizeof *u), *v = u ? u + n + 1 : NULL, *shortest = v ? v + m + 1 : NULL;
    size_t *row = calloc(2 * (m + 1), sizeof *row), *way = row ? row + m + 1 : NULL;
    unsigned char *used = calloc(m + 1, 1);

    if (!u || !row || !used) {
        free(u);
        free(row);
        free(used);
        return PEET_ENOMEM;
    }
    for (size_t i = 1; i <= n; i++) {
        size_t at = 0, next = 0;

        row[0] = i;
        for (size_t k = 0; k <= m; k++)
            shortest[k] = INFINITY;
        memset(used, 0, m + 1);
        do {
            double delta = INFINITY;

            used[at] = 1;
            for (size_t k = 1; k <= m; k++) {
                const double c = cost[(row[at] - 1) * m + k - 1] - u[row[at]] - v[k];

                if (used[k])
                    continue;
                if (c < shortest[k])
                    shortest[k] = c, way[k] = at;
                if (shortest[k] < delta)
                    delta = shortest[k], next = k;
            }
            for (size_t k = 0; k <= m; k++) {
                if (used[k])
                    u[row[k]] += delta, v[k] -= delta;
                else
                    shortest[k] -= delta;
            }
            at = next;
        } while (row[at]);
        for (; at; at = way[at])
            row[at] = row[way[at]];
    }
    for (size_t k = 1; k <= m; k++)
        if (row[k])
            out_column[row[k] - 1] = k - 1;
    free(u);
    free(row);
    free(used);
    return 0;
}
