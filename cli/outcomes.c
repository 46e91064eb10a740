/* SPDX-License-Identifier: Apache-2.0 */
/* See outcomes.h. */
#include "outcomes.h"

#include <string.h>

enum { SHOWN = 50, LINES_SHOWN = 8, REPORT_LINES_SHOWN = 24, COLUMNS = 80, TOKEN_SHOWN = 200 };

static long long number_of(const json_t *object, const char *key)
{
    return (long long)json_integer_value(json_object_get(object, key));
}

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));

    return text ? text : "";
}

/* The program's lines, indented; of long ones the beginning. */
static void print_lines(FILE *out, const char *text, const char *before, int most)
{
    for (int n = 0; *text; n++) {
        size_t length = strcspn(text, "\n");

        if (n == most) {
            fprintf(out, "%s...\n", before);
            return;
        }
        fprintf(out, "%s%.*s\n", before, (int)(length < 160 ? length : 160), text);
        text += length + (text[length] == '\n');
    }
}

static void print_outcome(FILE *out, const json_t *one)
{
    const char *end = text_of(one, "end"), *token = text_of(one, "token");

    fprintf(out, "%8lld x  ", number_of(one, "times"));
    if (!strcmp(end, "exit"))
        fprintf(out, "exit status %lld", number_of(one, "status"));
    else if (!strcmp(end, "signal"))
        fprintf(out, "killed by signal %lld (%s)", number_of(one, "status") - 128,
            strsignal((int)number_of(one, "status") - 128));
    else
        fprintf(out, "%s", !strcmp(end, "steps") ? "given up: too many steps" : end);
    if (strlen(token) <= TOKEN_SHOWN)
        fprintf(out, ", token %s\n", token);
    else
        fprintf(out, ", its token has %zu characters: see stats.json\n", strlen(token));
    print_lines(out, text_of(one, "output"), "            ", LINES_SHOWN);
    if (strcmp(end, "exit"))
        print_lines(out, text_of(one, "report"), "            > ", REPORT_LINES_SHOWN);
}

/* A sentence over lines of 80 columns. */
static void print_wrapped(FILE *out, const char *text)
{
    int column = fprintf(out, "  -");

    while (*text) {
        const int length = (int)strcspn(text, " ");

        if (column + 1 + length > COLUMNS)
            column = fprintf(out, "\n   ") - 1;
        column += fprintf(out, " %.*s", length, text);
        text += length;
        text += strspn(text, " ");
    }
    fprintf(out, "\n");
}

void peet_cli_outcomes_print(FILE *out, const json_t *exploration, const char *file)
{
    const json_t *list = json_object_get(exploration, "list"), *gaps = json_object_get(exploration, "not_explored"),
                 *one;
    const long long outcomes = number_of(exploration, "outcomes"), executions = number_of(exploration, "executions"),
                    redundant = number_of(exploration, "redundant_executions"),
                    failed = number_of(exploration, "failed_executions");
    size_t i;

    fprintf(out, "%lld outcome%s of %lld execution%s", outcomes, outcomes == 1 ? "" : "s", executions - redundant,
        executions - redundant == 1 ? "" : "s");
    fprintf(out, "%s\n",
        json_is_true(json_object_get(exploration, "complete"))
            ? ": all that differ in more than the order of independent steps"
            : ", not all that can be:");
    json_array_foreach(gaps, i, one) print_wrapped(out, text_of(one, "text"));
    if (failed)
        fprintf(out, "%lld execution%s failed\n", failed, failed == 1 ? "" : "s");
    json_array_foreach(list, i, one)
    {
        if (i == SHOWN) {
            fprintf(out, "and %zu more: see %s\n", json_array_size(list) - i, file);
            break;
        }
        print_outcome(out, one);
    }
}
