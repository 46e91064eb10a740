/* SPDX-License-Identifier: Apache-2.0 */
/* Time lines as levels of detail; see html.h. */
#include "html.h"

#include "common.h"
#include "timeline.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum {
    ROWS = 128,
    COARSE = 1024,
    FINE = 16384,
    CELLS = 2 << 20,
    SLICES = 30000,
    WINDOWS = 400,
    DIGITS = PEET_TIMELINE_STATES + 1
};

/** Time of each state in each bin of each row. */
struct bins {
    uint32_t rows, n;
    float *time;
    uint64_t end;
};

/* Which row a slice is in, as a processor's or a context's.  ROWS or more: none */
static uint32_t row_of(const struct peet_timeline_slice *s, int contexts)
{
    return contexts ? s->context : s->state == PEET_TIMELINE_RUNS ? s->hw : UINT32_MAX;
}

static void add(struct bins *b, uint32_t row, const struct peet_timeline_slice *s)
{
    double width = (double)b->end / b->n;
    uint32_t from = (uint32_t)((double)s->begin / width), to = (uint32_t)((double)s->end / width);
    for (uint32_t i = from; i <= to && i < b->n; i++) {
        double left = i * width > (double)s->begin ? i * width : (double)s->begin;
        double right = (i + 1) * width < (double)s->end ? (i + 1) * width : (double)s->end;
        if (right > left)
            b->time[((size_t)row * b->n + i) * DIGITS + s->state + 1u] += (float)(right - left);
    }
}

/* The state that took most of a bin, if anything took a tenth of it. */
static json_t *digits(const struct bins *b, uint32_t row)
{
    char *text = malloc(b->n + 1u);
    double width = (double)b->end / b->n;
    for (uint32_t i = 0; text && i < b->n; i++) {
        const float *t = &b->time[((size_t)row * b->n + i) * DIGITS];
        unsigned best = 0;
        for (unsigned s = 1; s < DIGITS; s++)
            if (t[s] > t[best])
                best = s;
        text[i] = (char)('0' + (t[best] >= 0.1 * width ? best : 0));
    }
    json_t *value = text ? json_stringn(text, b->n) : NULL;
    free(text);
    return value;
}

static int level(json_t *rows, const struct peet_cli_timeline *t, int contexts, uint32_t nrows, uint32_t n)
{
    struct bins b = {
        .rows = nrows, .n = n, .end = t->header.end_cycles, .time = calloc((size_t)nrows * n * DIGITS, sizeof(float))};
    if (!b.time)
        return -1;
    for (uint64_t i = 0; i < t->header.slices; i++)
        if (row_of(&t->slices[i], contexts) < nrows)
            add(&b, row_of(&t->slices[i], contexts), &t->slices[i]);
    for (uint32_t r = 0; r < nrows; r++)
        json_array_append_new(json_object_get(json_array_get(rows, r), "levels"), digits(&b, r));
    free(b.time);
    return 0;
}

static json_t *slice(const struct peet_timeline_slice *s, const json_t *names)
{
    char address[24];
    snprintf(address, sizeof(address), "0x%llx", (unsigned long long)s->object);
    const char *name = json_string_value(json_object_get(names, address));
    return json_pack("[I, I, i, I, s]", (json_int_t)s->begin, (json_int_t)s->end, s->state + 1, (json_int_t)s->context,
        name            ? name
            : s->object ? address
                        : "");
}

static json_t *rows_of(const struct peet_cli_timeline *t, int contexts, const json_t *names)
{
    uint32_t n = 0;
    json_t *rows = json_array();
    for (uint64_t i = 0; i < t->header.slices; i++) {
        uint32_t row = row_of(&t->slices[i], contexts);
        if (row < ROWS && row >= n)
            n = row + 1;
    }
    if (!contexts)
        n = t->header.hw_contexts < ROWS ? t->header.hw_contexts : ROWS;
    for (uint32_t r = 0; r < n; r++)
        json_array_append_new(rows, json_pack("{s:I, s:[]}", "number", (json_int_t)r, "levels"));
    if (n == 0 || level(rows, t, contexts, n, COARSE))
        return rows;
    if (t->header.slices <= SLICES) {
        for (uint32_t r = 0; r < n; r++)
            json_object_set_new(json_array_get(rows, r), "slices", json_array());
        for (uint64_t i = 0; i < t->header.slices; i++) {
            uint32_t row = row_of(&t->slices[i], contexts);
            if (row < n)
                json_array_append_new(json_object_get(json_array_get(rows, row), "slices"),
                    slice(&t->slices[i], names));
        }
    } else {
        level(rows, t, contexts, n, CELLS / n < FINE ? CELLS / n : FINE);
    }
    return rows;
}

/* How many contexts are in each state, as means over windows. */
static json_t *utilisation(const struct peet_cli_timeline *t)
{
    json_t *all = json_array();
    struct bins b = {
        .rows = 1, .n = WINDOWS, .end = t->header.end_cycles, .time = calloc((size_t)WINDOWS * DIGITS, sizeof(float))};
    for (uint64_t i = 0; b.time && i < t->header.slices; i++)
        add(&b, 0, &t->slices[i]);
    for (unsigned s = 1; b.time && s < DIGITS; s++) {
        json_t *one = json_array();
        for (uint32_t i = 0; i < WINDOWS; i++)
            json_array_append_new(one, json_real(b.time[(size_t)i * DIGITS + s] * WINDOWS / (double)b.end));
        json_array_append_new(all, one);
    }
    free(b.time);
    return all;
}

json_t *peet_cli_html_timeline(const char *folder, const json_t *stats, const json_t *names)
{
    char path[PATH_MAX];
    struct peet_cli_timeline t;
    struct peet_error error = {0};
    if (!json_object_get(stats, "timeline") ||
        (size_t)snprintf(path, sizeof(path), "%s/%s", folder, PEET_TIMELINE_FILE) >= sizeof(path))
        return NULL;
    if (peet_cli_timeline_read(path, &t, &error)) {
        peet_cli_complain("the page has no time line of %s: %s", folder, error.message);
        return NULL;
    }
    json_t *out = t.header.end_cycles == 0
        ? NULL
        : json_pack("{s:I, s:I, s:o, s:o, s:o}", "end", (json_int_t)t.header.end_cycles, "omitted",
              (json_int_t)t.header.omitted, "processors", rows_of(&t, 0, names), "contexts", rows_of(&t, 1, names),
              "utilisation", utilisation(&t));
    peet_cli_timeline_fini(&t);
    return out;
}
