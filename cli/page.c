/* SPDX-License-Identifier: Apache-2.0 */
/* The terminal page of a run, and several runs side by side; see page.h. */
#include "page.h"

#include "figures.h"
#include "number.h"
#include "report_table.h"

#include <math.h>
#include <string.h>

enum { WORST = 3, PROCESSORS = 32, CATEGORIES = 8 };

static void share(json_t *row, double value)
{
    char out[40];
    snprintf(out, sizeof(out), "%.1f %%", value * 100);
    cell(row, out);
}

static void real(json_t *row, double value)
{
    char out[40];
    snprintf(out, sizeof(out), fabs(value) >= 1e6 ? "%.0f" : "%.3f", value);
    cell(row, out);
}

static void whole(json_t *row, double value)
{
    json_array_append_new(row, json_integer((json_int_t)value));
}

/* Underscores become blanks, and "_share" goes: what it is a share of is in the title. */
static void words(char *out, size_t bytes, const char *key)
{
    snprintf(out, bytes, "%s", key);
    for (char *c = out; *c; c++)
        if (*c == '_')
            *c = ' ';
}

/* -------------------------------------------------------------------------------------------- one run */

static void processors(json_t *tables, const json_t *figures)
{
    const json_t *list = json_object_get(figures, "processor"), *one;
    const char *name;
    size_t n = json_object_size(list);
    if (n < 1)
        return;
    json_t *table = table_new(tables, "processors");
    static const char *const heads[] = {
        "processor", "instructions", "for a cycle", "busy", "stalled", "idle", "switches"};
    for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++)
        column(table, heads[i]);
    json_object_foreach((json_t *)list, name, one)
    {
        double busy = number(one, "busy_cycles"), stalled = number(one, "stalled_cycles"),
               idle = number(one, "idle_cycles");
        double all = busy + stalled + idle;
        if (n > PROCESSORS)
            break;
        json_t *row = row_new(table);
        cell(row, name);
        whole(row, number(one, "instructions"));
        real(row, number(one, "instructions_per_cycle"));
        percent(row, busy, all);
        percent(row, stalled, all);
        percent(row, idle, all);
        whole(row, number(one, "switches"));
    }
    if (n > 1) {
        json_t *row = row_new(table);
        cell(row, "all");
        whole(row, peet_cli_figure(figures, "run", "all", "instructions", 0));
        real(row, peet_cli_figure(figures, "run", "all", "instructions_per_cycle", 0));
        share(row, peet_cli_figure(figures, "run", "all", "busy_share", 0));
        share(row, peet_cli_figure(figures, "run", "all", "stalled_share", 0));
        share(row, peet_cli_figure(figures, "run", "all", "idle_share", 0));
        whole(row, peet_cli_figure(figures, "run", "all", "switches", 0));
    }
}

/* Measures that end so are kinds of misses; those that no level has get no column. */
static int is_kind(const char *measure)
{
    size_t length = strlen(measure);
    return length > 7 && strcmp(measure + length - 7, "_misses") == 0;
}

static void levels(json_t *tables, const json_t *figures)
{
    const json_t *list = json_object_get(figures, "level"), *one;
    const char *name, *measure;
    json_t *kinds = json_array(), *kind;
    const json_t *value;
    size_t i;
    json_object_foreach((json_t *)list, name, one) json_object_foreach((json_t *)one, measure, value)
    {
        int known = !is_kind(measure) || json_number_value(value) == 0;
        json_array_foreach(kinds, i, kind) known |= strcmp(json_string_value(kind), measure) == 0;
        if (!known)
            json_array_append_new(kinds, json_string(measure));
    }
    if (json_object_size(list) > 0) {
        json_t *table = table_new(tables, "misses of lines, and for 1000 instructions in all and by kind");
        column(table, "level");
        column(table, "lookups");
        column(table, "misses");
        column(table, "of lookups");
        column(table, "for 1000");
        json_array_foreach(kinds, i, kind)
        {
            char head[80];
            words(head, sizeof(head), json_string_value(kind));
            head[strlen(head) - 7] = '\0';
            column(table,
                strcmp(head, "true sharing") == 0        ? "true sh."
                    : strcmp(head, "false sharing") == 0 ? "false sh."
                                                         : head);
        }
        double instructions = peet_cli_figure(figures, "run", "all", "instructions", 0);
        json_object_foreach((json_t *)list, name, one)
        {
            json_t *row = row_new(table);
            cell(row, name);
            whole(row, number(one, "lookups"));
            whole(row, number(one, "misses"));
            share(row, number(one, "misses_per_lookup"));
            real(row, number(one, "misses_for_1000_instructions"));
            json_array_foreach(kinds, i, kind)
            {
                if (json_object_get(one, json_string_value(kind)))
                    real(row, instructions > 0 ? number(one, json_string_value(kind)) * 1000 / instructions : 0);
                else
                    cell(row, "");
            }
        }
    }
    json_decref(kinds);
}

static void bus(json_t *tables, const json_t *figures)
{
    const json_t *one = json_object_get(json_object_get(figures, "memory"), "bus");
    if (!one)
        return;
    json_t *table = table_new(tables, "bus"), *row;
    static const char *const heads[] = {"", "utilisation", "transactions", "miss stalls", "bus waits", "of all time"};
    for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++)
        column(table, heads[i]);
    row = row_new(table);
    cell(row, "bus");
    share(row, number(one, "utilisation"));
    whole(row, number(one, "transactions"));
    whole(row, number(one, "miss_stall_cycles"));
    whole(row, number(one, "wait_cycles"));
    share(row, number(one, "wait_share"));
}

/* What a machine that keeps account of its cycles says; idle ones are not the program's. */
static void cycles(json_t *tables, const json_t *figures)
{
    json_t *list = peet_cli_rank(figures, "cycles", "cycles"), *one;
    double all = 0, instructions = peet_cli_figure(figures, "run", "all", "instructions", 0);
    size_t i, shown = 0;
    json_array_foreach(list, i, one) if (strcmp(text(one, "name"), "idle") != 0) all += number(one, "value");
    if (all > 0) {
        json_t *table = table_new(tables, "cycles by category, without those that had no work");
        column(table, "category");
        column(table, "cycles");
        column(table, "share");
        column(table, "for each instruction");
        json_array_foreach(list, i, one)
        {
            if (strcmp(text(one, "name"), "idle") == 0 || shown++ == CATEGORIES)
                continue;
            json_t *row = row_new(table);
            char name[80];
            words(name, sizeof(name), text(one, "name"));
            cell(row, name);
            whole(row, number(one, "value"));
            percent(row, number(one, "value"), all);
            real(row, instructions > 0 ? number(one, "value") / instructions : 0);
        }
    }
    json_decref(list);
}

static void synchronisation(json_t *tables, const json_t *figures)
{
    const json_t *list = json_object_get(figures, "synchronisation"), *one;
    const char *name;
    size_t i;
    if (json_object_size(list) > 0) {
        json_t *table = table_new(tables, "synchronisation");
        double time = peet_cli_figure(figures, "run", "all", "cycles", 0);
        static const char *const heads[] = {"kind", "operations", "waits", "cycles waited", "contexts waiting, mean"};
        for (i = 0; i < sizeof(heads) / sizeof(heads[0]); i++)
            column(table, heads[i]);
        json_object_foreach((json_t *)list, name, one)
        {
            json_t *row = row_new(table);
            cell(row, name);
            whole(row, number(one, "operations"));
            whole(row, number(one, "waits"));
            whole(row, number(one, "waited_cycles"));
            real(row, time > 0 ? number(one, "waited_cycles") / time : 0);
        }
    }
    json_t *locks = peet_cli_rank(figures, "lock", "waited_cycles"), *lock;
    if (json_array_size(locks) > 0) {
        json_t *table = table_new(tables, "waited for longest");
        column(table, "object");
        column(table, "waits");
        column(table, "cycles waited");
        column(table, "longest");
        json_array_foreach(locks, i, lock)
        {
            const char *item = text(lock, "name");
            if (i == WORST)
                break;
            json_t *row = row_new(table);
            cell(row, item);
            whole(row, peet_cli_figure(figures, "lock", item, "waits", 0));
            whole(row, number(lock, "value"));
            whole(row, peet_cli_figure(figures, "lock", item, "longest_cycles", 0));
        }
    }
    json_decref(locks);
}

/* Where there are cycles, they decide who is worst; else instructions do. */
static void worst(json_t *tables, const json_t *figures, const char *group, const char *title)
{
    json_t *list = peet_cli_rank(figures, group, "cycles"), *one;
    const char *measure = "cycles";
    double all = 0;
    size_t i;
    if (json_array_size(list) == 0) {
        json_decref(list);
        list = peet_cli_rank(figures, group, measure = "instructions");
    }
    all = strcmp(measure, "instructions") == 0 ? peet_cli_figure(figures, "run", "all", "instructions", 0) : 0;
    json_array_foreach(list, i, one) if (strcmp(measure, "cycles") == 0 && *text(one, "name") != '(') all +=
        number(one, "value");
    json_t *table = json_array_size(list) > 0 ? table_new(tables, title) : NULL;
    if (table) {
        column(table, group);
        column(table, measure);
        column(table, "share");
    }
    size_t shown = 0;
    json_array_foreach(list, i, one)
    {
        if (*text(one, "name") == '(')
            continue; /* before the first instruction, and the like */
        if (shown++ == WORST)
            break;
        json_t *row = row_new(table);
        cell(row, text(one, "name"));
        whole(row, number(one, "value"));
        percent(row, number(one, "value"), all);
    }
    json_decref(list);
}

json_t *peet_cli_page(const json_t *figures)
{
    json_t *tables = json_array();
    if (!tables)
        return NULL;
    processors(tables, figures);
    levels(tables, figures);
    bus(tables, figures);
    cycles(tables, figures);
    synchronisation(tables, figures);
    worst(tables, figures, "function", "worst functions");
    worst(tables, figures, "line", "worst lines");
    return tables;
}

/* ----------------------------------------------------------------------------------------- side by side */

static void put_number(json_t *row, double value)
{
    if (value == floor(value) && fabs(value) < 9e15)
        whole(row, value);
    else
        real(row, value);
}

static void put_difference(json_t *row, double first, double value)
{
    char out[40];
    if (first == value)
        snprintf(out, sizeof(out), "=");
    else if (first == 0)
        snprintf(out, sizeof(out), "new");
    else
        snprintf(out, sizeof(out), "%+.1f %%", (value - first) * 100 / fabs(first));
    cell(row, out);
}

static json_t *compared(json_t *tables, const char *title, const char *what, const char *const *names, size_t n)
{
    json_t *table = table_new(tables, title);
    column(table, what);
    for (size_t k = 0; k < n; k++) {
        char head[20]; /* the end of a folder's name tells more than its beginning */
        size_t length = strlen(names[k]);
        snprintf(head, sizeof(head), "%s", names[k] + (length > 15 ? length - 15 : 0));
        json_t *columns = json_object_get(table, "columns");
        cell(columns, head);
        if (k)
            column(table, "change");
    }
    return table;
}

static void compare_row(json_t *table, const char *label, json_t *const *figures, size_t n, const char *group,
    const char *item, const char *measure)
{
    json_t *row = row_new(table);
    cell(row, label);
    double first = peet_cli_figure(figures[0], group, item, measure, NAN);
    for (size_t k = 0; k < n; k++) {
        double value = peet_cli_figure(figures[k], group, item, measure, NAN);
        if (isnan(value))
            cell(row, "-"); /* there is no such thing in that run */
        else
            put_number(row, value);
        if (k && !isnan(value) && !isnan(first))
            put_difference(row, first, value);
        else if (k)
            cell(row, "");
    }
}

/* All measures of all items of a group: the union over the runs. */
static void compare_group(json_t *tables, const char *title, const char *group, json_t *const *figures,
    const char *const *names, size_t n)
{
    json_t *done = json_object(), *table = NULL;
    for (size_t k = 0; k < n; k++) {
        const char *item, *measure;
        json_t *one, *value;
        json_object_foreach(json_object_get(figures[k], group), item, one) json_object_foreach(one, measure, value)
        {
            char key[400], label[200], said[100];
            int any = 0;
            snprintf(key, sizeof(key), "%.190s\n%.190s", item, measure);
            if (json_object_get(done, key))
                continue;
            json_object_set_new(done, key, json_true());
            for (size_t j = 0; j < n; j++)
                any |= peet_cli_figure(figures[j], group, item, measure, 0) != 0;
            if (!any)
                continue;
            if (!table)
                table = compared(tables, title, "figure", names, n);
            words(said, sizeof(said), measure);
            snprintf(label, sizeof(label), "%.60s%s%.90s", strcmp(item, "all") == 0 ? "" : item,
                strcmp(item, "all") == 0 ? "" : " ", said);
            compare_row(table, label, figures, n, group, item, measure);
        }
    }
    json_decref(done);
}

/* The items that are worst in any run, by one measure. */
static void compare_worst(json_t *tables, const char *group, const char *measure, int top, json_t *const *figures,
    const char *const *names, size_t n)
{
    json_t *best = json_object(), *wrapped = json_object(), *list;
    char title[120];
    size_t i;
    json_t *one, *table = NULL;
    for (size_t k = 0; k < n; k++) {
        const char *item;
        json_object_foreach(json_object_get(figures[k], group), item, one)
        {
            double value = number(one, measure);
            if (value > number(json_object_get(best, item), measure))
                json_object_set_new(best, item, json_pack("{s:f}", measure, value));
        }
    }
    json_object_set_new(wrapped, group, best);
    list = peet_cli_rank(wrapped, group, measure);
    words(title, sizeof(title), measure);
    snprintf(title + strlen(title), sizeof(title) - strlen(title), " by %s", group);
    json_array_foreach(list, i, one)
    {
        if ((int)i == top)
            break;
        if (!table)
            table = compared(tables, title, group, names, n);
        compare_row(table, text(one, "name"), figures, n, group, text(one, "name"), measure);
    }
    json_decref(list);
    json_decref(wrapped);
}

json_t *peet_cli_side_by_side(json_t *const *figures, const char *const *names, size_t n, int top)
{
    json_t *tables = json_array();
    if (!tables)
        return NULL;
    compare_group(tables, "the runs", "run", figures, names, n);
    compare_group(tables, "levels", "level", figures, names, n);
    compare_group(tables, "bus and memory", "memory", figures, names, n);
    compare_group(tables, "cycles by category", "cycles", figures, names, n);
    compare_group(tables, "synchronisation", "synchronisation", figures, names, n);
    compare_group(tables, "parallelism", "graph", figures, names, n);
    compare_worst(tables, "function", "cycles", top, figures, names, n);
    compare_worst(tables, "function", "instructions", top, figures, names, n);
    compare_worst(tables, "line", "cycles", top, figures, names, n);
    compare_worst(tables, "line", "instructions", top, figures, names, n);
    compare_worst(tables, "lock", "waited_cycles", top, figures, names, n);
    compare_worst(tables, "structure", "stall_cycles", top, figures, names, n);
    compare_worst(tables, "structure", "false_sharing_misses", top, figures, names, n);
    return tables;
}
