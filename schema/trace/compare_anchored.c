/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Comparing long sequences in memory; see peet__edit_anchored().  A program's loops repeat what they did, so that
 * Myers' search, which goes along all diagonals at once, finds long runs on wrong ones, and its time is the product of
 * length and distance.  Here it is asked only about what lies between anchors.
 *
 * An anchor is a string of symbols that occurs once in either sequence, among the strings that are sampled (by their
 * hash, so that the same are sampled in both).  Of all anchors the longest chain is kept that rises in both.  Strings
 * are long at first, and unique for good reason; between two anchors shorter ones are unique, too.
 */
#include "trace/compare_parts.h"

#include <stdlib.h>
#include <string.h>

enum {
    LEVELS = 3,
    SMALL = 2048,      /* symbols of both: Myers' search at once */
    SAMPLES_BITS = 15, /* about so many strings are sampled, */
    TABLE_BITS = 17,   /* in a table with four times the room */
    EFFORT_MIN = 64,
    CREDIT = 16 /* of work that each symbol of a search adds */
};
static const size_t string_lengths[LEVELS] = {1024, 128, 32};

/** A string that was sampled. */
struct string {
    uint64_t hash; /* 0: none */
    uint64_t at[2];
    uint32_t times[2];
};

struct anchored {
    const uint64_t *symbols[2];
    size_t effort;
    peet_match *match;
    void *arg;
    struct peet_distance *out;
    struct string *table;
    unsigned table_bits; /* that are in use */
    size_t base[2];      /* of the search under way */
    size_t whole;        /* symbols of both */
    int open;            /* the sequences go on */
    uint64_t *credit;
    int err;
};

/** From and up to these places in both. */
struct range {
    size_t from[2], to[2];
};

static int by_a(const void *a, const void *b)
{
    const struct peet__pair *x = a, *y = b;

    return x->a < y->a ? -1 : x->a > y->a;
}

/** Patience sorting. */
int peet__longest_chain(struct peet__pair *pairs, size_t n, size_t *out_n)
{
    size_t *ends = malloc((2 * n + 1) * sizeof *ends), *before = ends ? ends + n : NULL, longest = 0;
    struct peet__pair *chain = malloc((n + 1) * sizeof *chain);

    *out_n = 0;
    if (!ends || !chain) {
        free(ends);
        free(chain);
        return PEET_ENOMEM;
    }
    if (n)
        qsort(pairs, n, sizeof *pairs, by_a);
    for (size_t i = 0; i < n; i++) {
        size_t lo = 0, hi = longest;

        while (lo < hi) {
            const size_t mid = lo + (hi - lo) / 2;

            if (pairs[ends[mid]].b < pairs[i].b)
                lo = mid + 1;
            else
                hi = mid;
        }
        before[i] = lo ? ends[lo - 1] : SIZE_MAX;
        ends[lo] = i;
        longest += lo == longest;
    }
    for (size_t i = longest ? ends[longest - 1] : SIZE_MAX, k = longest; i != SIZE_MAX; i = before[i])
        chain[--k] = pairs[i];
    if (longest)
        memcpy(pairs, chain, longest * sizeof *pairs);
    *out_n = longest;
    free(ends);
    free(chain);
    return 0;
}

static size_t length(const struct range *r)
{
    return r->to[0] - r->from[0] + r->to[1] - r->from[1];
}

static void matched(struct anchored *x, size_t a, size_t b, size_t n)
{
    if (!n)
        return;
    x->out->matched += n;
    if (x->match)
        x->match(x->arg, a, b, n);
}

static void matched_in_search(void *arg, size_t a, size_t b, size_t n)
{
    struct anchored *x = arg;

    matched(x, x->base[0] + a, x->base[1] + b, n);
}

/** Myers' search.  What it may look at is earned by symbols that needed no search for many differences, so that the work
 * is proportional to the length in the end. */
static void search(struct anchored *x, const struct range *r)
{
    size_t effort = x->effort;
    struct peet_distance d;
    uint64_t work;

    *x->credit += CREDIT * (uint64_t)length(r);
    if (effort > *x->credit / length(r)) /* there may be as many differences as symbols */
        effort = (size_t)(*x->credit / length(r));
    if (effort < EFFORT_MIN)
        effort = EFFORT_MIN < x->effort ? EFFORT_MIN : x->effort;

    x->base[0] = r->from[0];
    x->base[1] = r->from[1];
    x->err = peet_edit_script(x->symbols[0] + r->from[0], r->to[0] - r->from[0], x->symbols[1] + r->from[1],
        r->to[1] - r->from[1], effort, matched_in_search, x, &d);
    work = 2 * d.edits * (d.edits < effort ? d.edits : effort);
    *x->credit -= work < *x->credit ? work : *x->credit;
}

/** Strings of one sequence's part of the range. */
static void sample(struct anchored *x, const struct range *r, int side, size_t string, uint64_t mask, size_t *inout_n)
{
    struct peet__rolling rolling = peet__rolling_new(string);
    const uint64_t *symbols = x->symbols[side];

    for (size_t i = r->from[side]; i < r->to[side]; i++) {
        const int whole = i - r->from[side] >= string;
        const uint64_t hash = peet__hash_symbol(peet__roll(&rolling, peet__hash_symbol(symbols[i]),
                                  whole ? peet__hash_symbol(symbols[i - string]) : 0)) |
            1;
        size_t slot = hash >> (64 - x->table_bits);

        if ((hash >> 1 & mask) || i + 1 - r->from[side] < string)
            continue;
        while (x->table[slot].hash && x->table[slot].hash != hash)
            slot = (slot + 1) % ((size_t)1 << x->table_bits);
        if (!x->table[slot].hash) {
            if (*inout_n == (size_t)3 << (x->table_bits - 2))
                continue;
            ++*inout_n;
            x->table[slot].hash = hash;
        }
        x->table[slot].at[side] = i + 1 - string;
        x->table[slot].times[side]++;
    }
}

static uint64_t apart(const struct peet__pair *p, const struct peet__pair *q)
{
    return (uint64_t)llabs((int64_t)(p->a - p->b) - (int64_t)(q->a - q->b));
}

/**
 * Strings may be unique because the places that they belong to were changed.  Such anchors lead away from a diagonal
 * and back: anchors in a row are left out if the way there and back costs more than all that may match beside them.
 * Returns: how many are left
 */
static size_t without_detours(struct peet__pair *pairs, size_t n, size_t string)
{
    size_t kept = 0;

    for (size_t i = 0, next; i < n; i = next) {
        for (next = i + 1; next < n && apart(&pairs[next], &pairs[next - 1]) <= string / 4; next++)
            ;
        if (kept && next < n) {
            const uint64_t there = apart(&pairs[kept - 1], &pairs[i]), back = apart(&pairs[next - 1], &pairs[next]);

            if (there + back > apart(&pairs[kept - 1], &pairs[next]) + pairs[next - 1].a - pairs[i].a + string)
                continue;
        }
        memmove(&pairs[kept], &pairs[i], (next - i) * sizeof *pairs);
        kept += next - i;
    }
    return kept;
}

/** The chain of anchors in a range.  @out_pairs: malloc()ed */
static size_t find_anchors(struct anchored *x, const struct range *r, int level, struct peet__pair **out_pairs)
{
    const size_t string = string_lengths[level];
    struct peet__pair *pairs;
    size_t strings = 0, n = 0;
    uint64_t mask = 0;

    *out_pairs = NULL;
    if (r->to[0] - r->from[0] < string || r->to[1] - r->from[1] < string)
        return 0;
    while (length(r) >> SAMPLES_BITS > mask)
        mask = mask << 1 | 1;
    for (x->table_bits = 2; x->table_bits < TABLE_BITS && (size_t)1 << (x->table_bits - 2) < length(r);)
        x->table_bits++;
    memset(x->table, 0, sizeof *x->table << x->table_bits);
    sample(x, r, 0, string, mask, &strings);
    sample(x, r, 1, string, mask, &strings);
    for (size_t i = 0; i < (size_t)1 << x->table_bits; i++)
        n += x->table[i].times[0] == 1 && x->table[i].times[1] == 1;
    if (!n)
        return 0;
    *out_pairs = pairs = malloc(n * sizeof *pairs);
    if (!pairs) {
        x->err = PEET_ENOMEM;
        return 0;
    }
    n = 0;
    for (size_t i = 0; i < (size_t)1 << x->table_bits; i++)
        if (x->table[i].times[0] == 1 && x->table[i].times[1] == 1)
            pairs[n++] = (struct peet__pair){x->table[i].at[0], x->table[i].at[1]};
    x->err = peet__longest_chain(pairs, n, &n);
    return x->err ? 0 : without_detours(pairs, n, string);
}

static void take_beginning(struct anchored *x, struct range *r)
{
    size_t n = 0;

    while (r->from[0] + n < r->to[0] && r->from[1] + n < r->to[1] &&
        x->symbols[0][r->from[0] + n] == x->symbols[1][r->from[1] + n])
        n++;
    matched(x, r->from[0], r->from[1], n);
    r->from[0] += n;
    r->from[1] += n;
}

/** The depth is at most LEVELS and the logarithm of the length. */
static void compare_range(struct anchored *x, struct range r, int level)
{
    struct peet__pair *pairs = NULL;
    const size_t whole = length(&r);
    size_t tail = 0, n = 0;

    take_beginning(x, &r);
    while (r.from[0] < r.to[0] && r.from[1] < r.to[1] && x->symbols[0][r.to[0] - 1] == x->symbols[1][r.to[1] - 1]) {
        r.to[0]--;
        r.to[1]--;
        tail++;
    }
    if (length(&r) > SMALL)
        for (; !n && level < LEVELS && !x->err; level += !n) {
            free(pairs);
            n = find_anchors(x, &r, level, &pairs);
        }
    for (size_t i = 0; i <= n && n && !x->err; i++) {
        struct range before = r;

        if (i < n && (pairs[i].a < r.from[0] || pairs[i].b < r.from[1]))
            continue; /* runs have gone beyond it */
        if (i < n) {
            before.to[0] = pairs[i].a;
            before.to[1] = pairs[i].b;
        } else if (x->open && whole == x->whole && length(&r) < whole / 8) {
            break;
        }
        /* shorter strings, unless there is so much less that other long ones are unique there */
        compare_range(x, before, level + (length(&before) > whole / 2));
        r.from[0] = before.to[0];
        r.from[1] = before.to[1];
        take_beginning(x, &r);
    }
    free(pairs);
    if (!n && r.from[0] < r.to[0] && r.from[1] < r.to[1] && !x->err)
        search(x, &r);
    matched(x, r.to[0], r.to[1], tail);
}

int peet__edit_anchored(const uint64_t *a, size_t n, const uint64_t *b, size_t m, size_t effort, int open,
    uint64_t *credit, peet_match *match, void *arg, struct peet_distance *out_distance)
{
    struct anchored x = {.symbols = {a, b},
        .effort = effort,
        .match = match,
        .arg = arg,
        .out = out_distance,
        .open = open,
        .credit = credit,
        .whole = n + m};

    *out_distance = (struct peet_distance){0};
    x.table = malloc(sizeof *x.table << TABLE_BITS);
    if (!x.table)
        return PEET_ENOMEM;
    compare_range(&x, (struct range){{0, 0}, {n, m}}, 0);
    free(x.table);
    out_distance->edits = n + m - 2 * out_distance->matched;
    return x.err;
}
