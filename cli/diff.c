/* SPDX-License-Identifier: Apache-2.0 */
/*
 * peet diff: what is different between two runs, the largest first, by function, line, structure, lock, level.  A run
 * repeats exactly, so each difference has a cause.  The exit status says whether there are any beyond a threshold, for
 * scripts.
 */
#include "arguments.h"
#include "common.h"
#include "figures.h"
#include "module_tables.h"
#include "picture.h"
#include "report_table.h"
#include "table.h"
#include "text.h"

#include <argp.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { KEY_JSON = 0x100, KEY_WORSE, DEFAULT_TOP = 10, DIFFERENT = 1, TROUBLE = 2, MOST_GROUPS = 32 };

struct asked {
    const char *folders[2], **groups, **measures, *plot;
    size_t nfolders, ngroups, nmeasures;
    double threshold_percent;
    int top, json, worse;
};

/** One figure that differs.  weight: the difference as a share of what there is of that measure in the group */
struct difference {
    const char *group, *item, *measure;
    double a, b, weight;
    int in_a, in_b;
};
struct differences {
    struct difference *list;
    size_t n, room;
};

static const struct argp_option options[] = {
    {"threshold", 't', "PERCENT", 0,
        "Ignore what differs by no more than so many hundredths of the first run's figure; default 0", 0},
    {"group", 'g', "NAME", 0,
        "Only this group: run, processor, level, memory, function, line, lock, structure, ...; may be given several times",
        0},
    {"measure", 'm', "NAME", 0, "Only this measure: cycles, misses, instructions, ...; may be given several times", 0},
    {"worse", KEY_WORSE, NULL, 0, "Only what has grown counts for the exit status", 0},
    {"top", 'k', "N", 0, "Show so many of each group; default 10", 0},
    {"plot", 'p', "FILE", 0, "Also draw what is shown, group by group, into FILE: .svg, .png or .pdf", 0},
    {"json", KEY_JSON, NULL, 0, "Print all differences as JSON", 0},
    {0},
};

static error_t read_option(int key, char *text, struct argp_state *state)
{
    struct asked *asked = state->input;
    char *end;
    switch (key) {
    case 't':
        asked->threshold_percent = strtod(text, &end);
        if (*end || end == text || !(asked->threshold_percent >= 0) || isinf(asked->threshold_percent))
            argp_error(state, "--threshold: '%s' is not a number from 0 on", text);
        return 0;
    case 'k':
        asked->top = (int)peet_cli_count(state, "--top", text, 1, INT_MAX);
        return 0;
    case 'g':
        asked->groups[asked->ngroups++] = text;
        return 0;
    case 'm':
        asked->measures[asked->nmeasures++] = text;
        return 0;
    case 'p':
        asked->plot = text;
        return 0;
    case KEY_WORSE:
        asked->worse = 1;
        return 0;
    case KEY_JSON:
        asked->json = 1;
        return 0;
    case ARGP_KEY_ARG:
        if (asked->nfolders == 2)
            argp_error(state, "two folders are compared; \"peet report DIR...\" shows more of them side by side");
        asked->folders[asked->nfolders++] = text;
        return 0;
    case ARGP_KEY_END:
        if (asked->nfolders != 2)
            argp_error(state, "give the folders of two runs");
        if (asked->top && asked->json && !asked->plot)
            argp_error(state, "--top: --json has all differences");
        if (!asked->top)
            asked->top = DEFAULT_TOP;
        return 0;
    }
    return ARGP_ERR_UNKNOWN;
}

static const struct argp parser = {
    .options = options,
    .parser = read_option,
    .args_doc = "DIR DIR",
    .doc =
        "What is different between two runs, the largest first.\v"
        "DIR is the folder of a run's results.  Runs repeat exactly, so each difference has a cause.  Exit status: 0 no difference beyond the "
        "threshold, 1 differences, 2 it could not be found out.",
};

static int wanted(const char **list, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(list[i], name) == 0)
            return 1;
    return n == 0;
}

/* ---------------------------------------------------------------------------------------------- finding */

static double sum_of(const json_t *items, const char *measure)
{
    const char *item;
    json_t *one;
    double sum = 0;
    json_object_foreach((json_t *)items, item, one) sum += fabs(json_number_value(json_object_get(one, measure)));
    return sum;
}

static int add(struct differences *d, struct difference one)
{
    if (d->n == d->room) {
        size_t room = d->room ? 2 * d->room : 256;
        struct difference *more = realloc(d->list, room * sizeof(*more));
        if (!more)
            return -1;
        d->list = more;
        d->room = room;
    }
    d->list[d->n++] = one;
    return 0;
}

static int beyond(const struct asked *asked, double a, double b)
{
    return fabs(b - a) * 100 > asked->threshold_percent * fabs(a);
}

/* Whether a run has the group (or, @measures, the measure of any group that is wanted). */
static int has(const struct asked *asked, const json_t *figures, int measures, const char *name)
{
    const char *group, *item;
    json_t *items, *one;
    if (!measures)
        return json_object_get(figures, name) != NULL;
    json_object_foreach((json_t *)figures, group, items)
    {
        if (!wanted(asked->groups, asked->ngroups, group))
            continue;
        json_object_foreach(items, item, one) if (json_object_get(one, name)) return 1;
    }
    return 0;
}

/* A name that neither run has is a mistake: "no difference" would hide it from scripts. */
static int names_known(const struct asked *asked, json_t *const figures[2])
{
    for (int m = 0; m < 2; m++) {
        const char **list = m ? asked->measures : asked->groups;
        for (size_t i = 0; i < (m ? asked->nmeasures : asked->ngroups); i++)
            if (!has(asked, figures[0], m, list[i]) && !has(asked, figures[1], m, list[i])) {
                peet_cli_complain("--%s: neither run has a %s '%s'; \"peet report --csv FILE\" lists what there is",
                    m ? "measure" : "group", m ? "measure" : "group", list[i]);
                return 0;
            }
    }
    return 1;
}

/* Figures of @here whose counterpart in @there differs; @second: only those that the other run does not have at all. */
static int walk(const struct asked *asked, const json_t *here, const json_t *there, int second, struct differences *out)
{
    const char *group, *item, *measure;
    json_t *items, *one, *value, *sums = json_object();
    int bad = !sums;
    json_object_foreach((json_t *)here, group, items)
    {
        if (!wanted(asked->groups, asked->ngroups, group))
            continue;
        json_object_clear(sums);
        json_object_foreach(items, item, one) json_object_foreach(one, measure, value)
        {
            const json_t *other = json_object_get(json_object_get(json_object_get(there, group), item), measure);
            double x = json_number_value(value), y = json_number_value(other), a = second ? y : x, b = second ? x : y;
            if (!wanted(asked->measures, asked->nmeasures, measure) || (second && other) || x == y ||
                !beyond(asked, a, b))
                continue;
            if (!json_object_get(sums, measure)) {
                double p = sum_of(items, measure), q = sum_of(json_object_get(there, group), measure);
                bad |= json_object_set_new(sums, measure, json_real(p > q ? p : q));
            }
            double all = json_number_value(json_object_get(sums, measure));
            bad |= add(out,
                (struct difference){
                    group, item, measure, a, b, all > 0 ? fabs(x - y) / all : 0, !second || other, second || other});
        }
    }
    json_decref(sums);
    return bad ? -1 : 0;
}

static int by_weight(const void *p, const void *q)
{
    const struct difference *x = p, *y = q;
    int groups = strcmp(x->group, y->group);
    if (groups)
        return groups;
    if (x->weight != y->weight)
        return x->weight > y->weight ? -1 : 1;
    int items = strcmp(x->item, y->item);
    return items ? items : strcmp(x->measure, y->measure);
}

/* ---------------------------------------------------------------------------------------------- showing */

static void put_number(json_t *row, double value, int there)
{
    char out[40];
    if (!there) {
        cell(row, "-");
    } else if (value == floor(value) && fabs(value) < 9e15) {
        json_array_append_new(row, json_integer((json_int_t)value));
    } else {
        snprintf(out, sizeof(out), "%.4f", value);
        cell(row, out);
    }
}

static void put_change(char *out, size_t bytes, const struct difference *one)
{
    if (one->a == 0)
        snprintf(out, bytes, "new");
    else
        snprintf(out, bytes, "%+.2f %%", (one->b - one->a) * 100 / fabs(one->a));
}

static json_t *group_table(const struct differences *d, size_t from, size_t to, size_t top)
{
    json_t *tables = json_array(), *table, *result;
    char title[120];
    snprintf(title, sizeof(title), to - from > top ? "%.60s: %zu differences, the first %zu" : "%.60s",
        d->list[from].group, to - from, top);
    table = table_new(tables, title);
    column(table, d->list[from].group);
    column(table, "figure");
    column(table, "first");
    column(table, "second");
    column(table, "change");
    for (size_t i = from; i < to && i < from + top; i++) {
        const struct difference *one = &d->list[i];
        json_t *row = row_new(table);
        char change[40], figure[40];
        snprintf(figure, sizeof(figure), "%.38s", one->measure);
        for (char *c = figure; *c; c++)
            *c = *c == '_' ? ' ' : *c;
        cell(row, one->item);
        cell(row, figure);
        put_number(row, one->a, one->in_a);
        put_number(row, one->b, one->in_b);
        put_change(change, sizeof(change), one);
        cell(row, change);
    }
    result = json_incref(table);
    json_decref(tables);
    return result;
}

/* Groups in the order in which they are shown: each with its first difference and the one after its last. */
struct group {
    size_t from, to;
};

static size_t list_groups(const struct differences *d, struct group groups[MOST_GROUPS])
{
    static const char *const order[] = {"run", "level", "memory", "cycles", "synchronisation", "lock", "structure",
        "function", "line", "graph", "processor"};
    const size_t known = sizeof(order) / sizeof(order[0]);
    size_t n = 0;
    for (size_t pass = 0; pass <= known; pass++)
        for (size_t from = 0, to; from < d->n; from = to) {
            size_t rank = 0;
            for (to = from; to < d->n && strcmp(d->list[to].group, d->list[from].group) == 0; to++)
                ;
            while (rank < known && strcmp(order[rank], d->list[from].group) != 0)
                rank++;
            if (rank == pass && n < MOST_GROUPS)
                groups[n++] = (struct group){from, to};
        }
    return n;
}

static const char *no_difference(const struct asked *asked)
{
    return asked->threshold_percent > 0 ? "no difference beyond the threshold" : "no difference";
}

static void print_text(const struct asked *asked, const struct differences *d)
{
    struct group groups[MOST_GROUPS];
    const size_t n = list_groups(d, groups);
    const int columns = peet_cli_terminal_columns(stdout);
    for (size_t i = 0; i < n; i++) {
        json_t *table = group_table(d, groups[i].from, groups[i].to, (size_t)asked->top);
        if (i)
            putchar('\n');
        peet_cli_module_table(stdout, table, columns);
        json_decref(table);
    }
    if (d->n == 0)
        printf("  %s\n", no_difference(asked));
}

/* What is shown, as bars: how much of what there is of the measure in the group, to the right if it has grown. */
static int draw(const struct asked *asked, const struct differences *d, struct peet_error *error)
{
    struct group groups[MOST_GROUPS];
    struct peet_cli_bars pictures[MOST_GROUPS];
    const size_t n = list_groups(d, groups);
    struct peet_cli_bar *bars = calloc(d->n + 1, sizeof(*bars)), *next = bars;
    if (!bars)
        return peet_error_set(error, PEET_ENOMEM, "out of memory");
    for (size_t i = 0; i < n; i++) {
        struct peet_cli_bars *picture = &pictures[i];
        *picture = (struct peet_cli_bars){.bars = next};
        snprintf(picture->title, sizeof(picture->title), "%.60s", d->list[groups[i].from].group);
        if (i + 1 == n)
            snprintf(picture->unit, sizeof(picture->unit), "change, as per cent of all there is of the measure");
        for (size_t k = groups[i].from; k < groups[i].to && picture->n < (size_t)asked->top;
            k++, picture->n++, next++) {
            const struct difference *one = &d->list[k];
            char item[28];
            peet_cli_text_clean(item, sizeof(item), one->item, 22);
            snprintf(next->name, sizeof(next->name), "%s: %.38s", item, one->measure);
            for (char *c = next->name + strlen(item); *c; c++)
                *c = *c == '_' ? ' ' : *c;
            put_change(next->note, sizeof(next->note), one);
            next->value = one->weight * (one->b > one->a ? 100 : -100);
        }
    }
    if (n == 0) {
        pictures[0] = (struct peet_cli_bars){.bars = bars};
        snprintf(pictures[0].title, sizeof(pictures[0].title), "%s", no_difference(asked));
    }
    const int err = peet_cli_bars_plot(asked->plot, pictures, n ? n : 1, error);
    free(bars);
    return err;
}

static void print_json(const struct differences *d)
{
    json_t *all = json_array();
    for (size_t i = 0; i < d->n; i++) {
        const struct difference *one = &d->list[i];
        json_array_append_new(all,
            json_pack("{s:s, s:s, s:s, s:o, s:o, s:f}", "group", one->group, "item", one->item, "measure", one->measure,
                "first", one->in_a ? json_real(one->a) : json_null(), "second",
                one->in_b ? json_real(one->b) : json_null(), "weight", one->weight));
    }
    json_dumpf(all, stdout, JSON_INDENT(2) | JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(15));
    putchar('\n');
    json_decref(all);
}

static int compare(const struct asked *asked)
{
    json_t *stats[2] = {NULL}, *figures[2] = {NULL};
    struct differences d = {0};
    struct peet_error error = {0};
    int status = TROUBLE, counted = 0;
    if (asked->plot && peet_cli_picture_check(asked->plot, &error)) {
        peet_cli_complain("%s", error.message);
        return TROUBLE;
    }
    for (int i = 0; i < 2; i++) {
        stats[i] = peet_cli_stats_load(asked->folders[i]);
        figures[i] = stats[i] ? peet_cli_figures(stats[i]) : NULL;
    }
    if (figures[0] && figures[1] && names_known(asked, figures)) {
        if (walk(asked, figures[0], figures[1], 0, &d) || walk(asked, figures[1], figures[0], 1, &d)) {
            peet_cli_complain("out of memory");
        } else {
            if (d.n)
                qsort(d.list, d.n, sizeof(*d.list), by_weight);
            for (size_t i = 0; i < d.n; i++)
                counted |= !asked->worse || d.list[i].b > d.list[i].a;
            for (int i = 0; i < 2 && !asked->json; i++)
                peet_cli_say_end(stdout, asked->folders[i], stats[i]);
            if (asked->json)
                print_json(&d);
            else
                print_text(asked, &d);
            status = counted ? DIFFERENT : PEET_CLI_OK;
            if (asked->plot && draw(asked, &d, &error)) {
                peet_cli_complain("%s", error.message);
                status = TROUBLE;
            }
        }
    }
    for (int i = 0; i < 2; i++) {
        json_decref(stats[i]);
        json_decref(figures[i]);
    }
    free(d.list);
    return status;
}

int peet_cli_diff(int argc, char **argv)
{
    struct asked asked = {0};
    int status = TROUBLE;
    asked.groups = calloc((size_t)argc + 1, sizeof(*asked.groups));
    asked.measures = calloc((size_t)argc + 1, sizeof(*asked.measures));
    if (!asked.groups || !asked.measures)
        peet_cli_complain("out of memory");
    else if (argp_parse(&parser, argc, argv, 0, NULL, &asked) == 0)
        status = compare(&asked);
    free(asked.groups);
    free(asked.measures);
    return peet_cli_finish_stdout(TROUBLE) == TROUBLE ? status : TROUBLE;
}
