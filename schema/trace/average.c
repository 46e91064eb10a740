/* SPDX-License-Identifier: Apache-2.0 */
/* Series in time: warping two onto each other, and the average of several.  See compare.h. */
#include "trace/compare.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum move { BOTH, FIRST, SECOND }; /* which of them goes on to come to a place */

/** The part of a row of the table that lies within the band. */
struct span {
    size_t lo, hi; /* hi: included */
};

static struct span span_of(size_t i, size_t n, size_t m, size_t band)
{
    const double share = n > 1 ? (double)i * (double)(m - 1) / (double)(n - 1) : 0;
    struct span s = {0, m - 1};

    if (!band)
        return s;
    if (share > (double)band)
        s.lo = (size_t)ceil(share - (double)band);
    if (share + (double)band < (double)(m - 1))
        s.hi = (size_t)floor(share + (double)band);
    return s;
}

/** The table, row by row; n >= m, so that the spans of two rows overlap.  @moves: @width bytes for each row, from the span's lo on; NULL: nobody wants the path */
static int fill(const double *a, size_t n, const double *b, size_t m, size_t band, unsigned char *moves, size_t width,
    double *out_distance)
{
    double *rows = malloc(2 * (m + 1) * sizeof *rows), *before = rows, *now = rows ? rows + m + 1 : NULL;

    if (!rows)
        return PEET_ENOMEM;
    for (size_t k = 0; k < 2 * (m + 1); k++)
        rows[k] = INFINITY;
    for (size_t i = 0; i < n; i++) {
        const struct span s = span_of(i, n, m, band);

        if (s.lo)
            now[s.lo - 1] = INFINITY; /* what was there is of an earlier row */
        for (size_t k = s.lo; k <= s.hi; k++) {
            const double d = fabs(a[i] - b[k]);
            double best = i || k ? INFINITY : d;
            enum move move = BOTH;

            if (i && k && before[k - 1] + d < best)
                best = before[k - 1] + d;
            if (i && before[k] + d / 2 < best)
                best = before[k] + d / 2, move = FIRST;
            if (k && now[k - 1] + d / 2 < best)
                best = now[k - 1] + d / 2, move = SECOND;
            now[k] = best;
            if (moves)
                moves[i * width + (k - s.lo)] = (unsigned char)move;
        }
        before = now;
        now = before == rows ? rows + m + 1 : rows;
    }
    *out_distance = before[m - 1];
    free(rows);
    return 0;
}

int peet_time_warp(const double *a, size_t n, const double *b, size_t m, size_t band, double *out_distance)
{
    *out_distance = 0;
    if (!n || !m)
        return 0;
    return n < m ? fill(b, m, a, n, band, NULL, 0, out_distance) : fill(a, n, b, m, band, NULL, 0, out_distance);
}

struct turned {
    peet_link *link;
    void *arg;
};

static void turn_round(void *arg, size_t i, size_t k, double weight)
{
    const struct turned *t = arg;

    t->link(t->arg, k, i, weight);
}

int peet_time_links(const double *a, size_t n, const double *b, size_t m, size_t band, peet_link *link, void *arg,
    double *out_distance)
{
    const size_t most = (size_t)1 << 30, width = band && band < m / 2 ? 2 * band + 1 : m;
    unsigned char *moves;
    size_t i = n, k = m;
    int err;

    *out_distance = 0;
    if (!n || !m)
        return 0;
    if (n < m)
        return peet_time_links(b, m, a, n, band, turn_round, &(struct turned){link, arg}, out_distance);
    if (width > most / n)
        return PEET_ELIMIT;
    moves = malloc(n * width);
    if (!moves)
        return PEET_ENOMEM;
    err = fill(a, n, b, m, band, moves, width, out_distance);
    i--, k--;
    while (!err) {
        const enum move move = (enum move)moves[i * width + (k - span_of(i, n, m, band).lo)];

        link(arg, i, k, move == BOTH ? 1 : 0.5);
        if (!i && !k)
            break;
        i -= move != SECOND;
        k -= move != FIRST;
    }
    free(moves);
    return err;
}

/* ------------------------------------------------------------------------------------------ averages */

struct linked {
    size_t place; /* of the average */
    double value, weight;
};

struct links {
    const double *series;
    struct linked *all;
    size_t n, room;
    int failed;
};

static void add(void *arg, size_t i, size_t k, double weight)
{
    struct links *l = arg;

    if (l->n == l->room) {
        const size_t room = l->room ? 2 * l->room : 1024;
        struct linked *more = l->failed ? NULL : realloc(l->all, room * sizeof *more);

        if (!more) {
            l->failed = 1;
            return;
        }
        l->all = more;
        l->room = room;
    }
    l->all[l->n++] = (struct linked){i, l->series[k], weight};
}

static int by_place(const void *x, const void *y)
{
    const struct linked *a = x, *b = y;

    if (a->place != b->place)
        return a->place < b->place ? -1 : 1;
    return a->value < b->value ? -1 : a->value > b->value;
}

/** Of values in ascending order; where half of the weight lies on either side, the middle between both. */
static double median(const struct linked *all, size_t n, double weight)
{
    double below = 0;

    for (size_t i = 0; i < n; i++) {
        below += all[i].weight;
        if (below > weight / 2)
            return all[i].value;
        if (below == weight / 2 && i + 1 < n)
            return (all[i].value + all[i + 1].value) / 2;
    }
    return all[n - 1].value;
}

/** @values: become the medians of what is linked, if @move; @deviation: of the values as they are then */
static void centre(struct links *l, double *values, double *deviation, int move)
{
    qsort(l->all, l->n, sizeof *l->all, by_place);
    for (size_t i = 0, end; i < l->n; i = end) {
        const size_t place = l->all[i].place;
        double weight = 0, sum = 0;

        for (end = i; end < l->n && l->all[end].place == place; end++)
            weight += l->all[end].weight;
        if (move)
            values[place] = median(&l->all[i], end - i, weight);
        for (size_t k = i; k < end; k++)
            sum += l->all[k].weight * fabs(l->all[k].value - values[place]);
        deviation[place] = sum / weight;
    }
}

static int choose_medoid(const double *const *series, const size_t *lengths, size_t count, size_t band, size_t *out)
{
    double *sums = calloc(count, sizeof *sums);
    int err = sums ? 0 : PEET_ENOMEM;

    for (size_t i = 0; !err && i < count; i++)
        for (size_t k = i + 1; !err && k < count; k++) {
            double d;

            err = peet_time_warp(series[i], lengths[i], series[k], lengths[k], band, &d);
            sums[i] += d;
            sums[k] += d;
        }
    *out = 0;
    for (size_t i = 1; !err && i < count; i++)
        if (sums[i] < sums[*out])
            *out = i;
    free(sums);
    return err;
}

/** All links of the series with the average.  @out_sum: of the distances */
static int link_all(const double *const *series, const size_t *lengths, size_t count, size_t band,
    struct peet_average *average, struct links *l, double *out_sum)
{
    int err = 0;

    l->n = 0;
    *out_sum = 0;
    for (size_t i = 0; !err && i < count; i++) {
        l->series = series[i];
        err = peet_time_links(average->values, average->n, series[i], lengths[i], band, add, l, &average->distances[i]);
        *out_sum += average->distances[i];
    }
    return err ? err : l->failed ? PEET_ENOMEM : 0;
}

int peet_time_average(const double *const *series, const size_t *lengths, size_t count, size_t band,
    struct peet_average *out)
{
    enum { ROUNDS = 50 };
    struct links l = {0};
    double sum, last = INFINITY;
    int err;

    memset(out, 0, sizeof *out);
    err = choose_medoid(series, lengths, count, band, &out->medoid);
    if (err)
        return err;
    out->n = lengths[out->medoid];
    out->values = malloc(out->n * sizeof *out->values);
    out->deviation = calloc(out->n, sizeof *out->deviation);
    out->distances = calloc(count, sizeof *out->distances);
    if (!out->values || !out->deviation || !out->distances)
        err = PEET_ENOMEM;
    else
        memcpy(out->values, series[out->medoid], out->n * sizeof *out->values);
    for (int round = 0; !err; round++) {
        err = link_all(series, lengths, count, band, out, &l, &sum);
        if (err)
            break;
        centre(&l, out->values, out->deviation, sum < last && round < ROUNDS);
        if (sum >= last || round >= ROUNDS)
            break;
        last = sum;
    }
    free(l.all);
    if (err)
        peet_average_free(out);
    return err;
}

void peet_average_free(struct peet_average *average)
{
    free(average->values);
    free(average->deviation);
    free(average->distances);
    memset(average, 0, sizeof *average);
}
