/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two replayed executions side by side, see explanation.h: what both do stands in one row, found as diff(1) finds lines
 * that are common; each column has its own order.
 */
#include "explanation.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGNED_MOST = 4000, LEAST_WIDTH = 66, BEFORE_SHOWN = 3, OUTPUT_LINES = 8, STEP_WIDTH = 5 };

/* One row: a step of each, or of one of them. */
struct row {
    const json_t *steps[2]; /* NULL: none */
};

static long long number_of(const json_t *object, const char *key)
{
    return (long long)json_integer_value(json_object_get(object, key));
}

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));

    return text ? text : "";
}

static int same_key(const json_t *a, const json_t *b, const char *key)
{
    const json_t *one = json_object_get(a, key), *other = json_object_get(b, key);

    return one == other || (one && other && json_equal(one, other));
}

/* Does the same context do the same, with whatever value? */
static int alike(const json_t *a, const json_t *b)
{
    return same_key(a, b, "what") && same_key(a, b, "context") && same_key(a, b, "address") && same_key(a, b, "line") &&
        same_key(a, b, "function");
}

static int other_value(const struct row *row)
{
    return row->steps[0] && row->steps[1] && !same_key(row->steps[0], row->steps[1], "value");
}

/*
 * The longest sequence that is common to the rest of both: length[i][k] of it from the i-th and the k-th step on.
 * Returns: how many rows, -1 out of memory
 */
static long align(const json_t *first, const json_t *second, size_t from, struct row *rows)
{
    const size_t n = json_array_size(first) - from, m = json_array_size(second) - from, width = m + 1;
    const int found = n <= ALIGNED_MOST && m <= ALIGNED_MOST;
    uint16_t *length = found ? calloc((n + 1) * width, sizeof *length) : NULL;
    size_t i = 0, k = 0;
    long at = 0;

    if (found && !length)
        return -1;
    for (i = n; found && i-- > 0;)
        for (k = m; k-- > 0;)
            length[i * width + k] = alike(json_array_get(first, from + i), json_array_get(second, from + k))
                ? (uint16_t)(length[(i + 1) * width + k + 1] + 1)
                : length[(i + 1) * width + k] > length[i * width + k + 1] ? length[(i + 1) * width + k]
                                                                          : length[i * width + k + 1];
    for (i = k = 0; i < n || k < m;) {
        const json_t *a = json_array_get(first, from + i), *b = json_array_get(second, from + k);
        const int both = i < n && k < m && (!found || alike(a, b));
        const int left = both || k == m || (i < n && length[(i + 1) * width + k] >= length[i * width + k + 1]);

        rows[at++] = (struct row){{left ? a : NULL, both || !left ? b : NULL}};
        i += left;
        k += both || !left;
    }
    free(length);
    return at;
}

/* ------------------------------------------------------------------------------------------------------ printing */

/* A cell's text; the caller frees it. */
static char *cell(const json_t *step)
{
    char *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);

    if (!out)
        return NULL;
    if (step) {
        fprintf(out, "%*lld  ", STEP_WIDTH, number_of(step, "step"));
        peet_cli_explanation_who(out, step);
        fprintf(out, "  ");
        if (*text_of(step, "function")) {
            peet_cli_explanation_place(out, step);
            fprintf(out, "  ");
        }
        peet_cli_explanation_what(out, step);
    }
    fclose(out);
    return text;
}

/* The part of a text that goes into a line of so many columns, at a blank if there is one. */
static int piece(const char *text, int width)
{
    int n = (int)strlen(text), at;

    if (n <= width)
        return n;
    for (at = width; at > width / 2 && text[at] != ' '; at--)
        ;
    return text[at] == ' ' ? at : width;
}

/* Two cells, wrapped. */
static void print_pair(FILE *out, const char *left, const char *sign, const char *right, int width)
{
    const int indent = STEP_WIDTH + 5;

    for (int line = 0; *left || *right || !line; line++) {
        const int before = line ? indent : 0, n = piece(left, width - (*left ? before : 0)),
                  m = piece(right, width - (*right ? before : 0));
        const int spaces = *left ? before : 0;

        fprintf(out, "%*s%-*.*s %s %*s%.*s\n", spaces, "", width - spaces, n, left, line ? "|" : sign,
            *right ? before : 0, "", m, right);
        left += n + (left[n] == ' ');
        right += m + (right[m] == ' ');
    }
}

static void print_row(FILE *out, const struct row *row, int width)
{
    char *left = cell(row->steps[0]), *right = cell(row->steps[1]);

    if (left && right)
        print_pair(out, left, other_value(row) ? "*" : "|", right, width);
    free(left);
    free(right);
}

static char *ending(const json_t *one)
{
    const char *end = text_of(one, "end");
    char *text = NULL;

    if (!strcmp(end, "exit") ? asprintf(&text, "      exit status %lld", number_of(one, "status")) < 0
            : !strcmp(end, "signal")
            ? asprintf(&text, "      killed by signal %lld", number_of(one, "status") - 128) < 0
            : asprintf(&text, "      %s", end) < 0)
        return NULL;
    return text;
}

/* One line of a text, and what comes after it. */
static const char *line_of(const char *text, char *out_line, size_t room)
{
    const size_t n = strcspn(text, "\n");

    snprintf(out_line, room, "%s%.*s", n || text[n] ? "      " : "", (int)(n < 200 ? n : 200), text);
    return text + n + (text[n] == '\n');
}

static void print_ends(FILE *out, const json_t *both, int width)
{
    const json_t *first = json_array_get(both, 0), *second = json_array_get(both, 1);
    const char *left = text_of(first, "output"), *right = text_of(second, "output");
    char *ends[2] = {ending(first), ending(second)};

    if (ends[0] && ends[1])
        print_pair(out, ends[0], "|", ends[1], width);
    free(ends[0]);
    free(ends[1]);
    for (int i = 0; i < OUTPUT_LINES && (*left || *right); i++) {
        char line[2][240];

        left = line_of(left, line[0], sizeof line[0]);
        right = line_of(right, line[1], sizeof line[1]);
        print_pair(out, line[0], "|", line[1], width);
    }
}

void peet_cli_comparison_print(FILE *out, const json_t *comparison, int columns)
{
    const json_t *both = json_object_get(comparison, "executions");
    const json_t *first = json_object_get(json_array_get(both, 0), "steps"),
                 *second = json_object_get(json_array_get(both, 1), "steps");
    const size_t common = (size_t)number_of(comparison, "common_steps");
    const size_t from = common > BEFORE_SHOWN ? common - BEFORE_SHOWN : 0;
    struct row *rows = calloc(json_array_size(first) + json_array_size(second) + 1, sizeof *rows);
    const int width = columns / 2 - 2 > LEAST_WIDTH ? columns / 2 - 2 : LEAST_WIDTH;
    const long n = rows ? align(first, second, from, rows) : -1;

    if (n >= 0 && common == json_array_size(first) && common == json_array_size(second))
        fprintf(out, "the two executions are the same\n");
    else if (n >= 0)
        fprintf(out, "the two executions are the same up to step %lld; * marks the same access with another value\n",
            common ? number_of(json_array_get(first, common - 1), "step") : 0);
    print_pair(out, " step  context  place  what", "|", " step  context  place  what", width);
    for (long i = 0; i < n; i++)
        print_row(out, &rows[i], width);
    print_ends(out, both, width);
    free(rows);
}
