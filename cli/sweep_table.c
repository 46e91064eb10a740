/* SPDX-License-Identifier: Apache-2.0 */
/* What a sweep has found: a table, CSV, JSON, a picture; see sweep.h. */
#include "base/files.h"
#include "base/stats.h"
#include "common.h"
#include "figures.h"
#include "module_tables.h"
#include "picture.h"
#include "report_table.h"
#include "sweep.h"
#include "text.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 900, HEIGHT = 450, NAMED = 20, LABEL = 110 };

/* A run's own figures, and those of its cache levels. */
static json_t *figures_of(const char *folder, const char *key)
{
    char path[PATH_MAX];
    json_error_t where;
    json_t *all = json_object(), *one, *value;
    const char *name, *measure;
    snprintf(path, sizeof(path), "%s/runs/%s/stats.json", folder, key);
    json_t *stats = json_load_file(path, 0, &where), *figures = stats ? peet_cli_figures(stats) : NULL;
    json_object_foreach(json_object_get(json_object_get(figures, "run"), "all"), measure, value)
        json_object_set(all, measure, value);
    static const char *const groups[] = {"level", "memory", "graph"};
    for (size_t g = 0; g < sizeof(groups) / sizeof(groups[0]); g++)
        json_object_foreach(json_object_get(figures, groups[g]), name, one) json_object_foreach(one, measure, value)
        {
            char column_name[160];
            snprintf(column_name, sizeof(column_name), "%.60s_%.90s", strcmp(name, "all") == 0 ? groups[g] : name,
                measure);
            json_object_set(all, column_name, value);
        }
    json_decref(figures);
    json_decref(stats);
    return all;
}

static json_t *collect(const char *folder, const json_t *plan)
{
    json_t *rows = json_array();
    const json_t *one;
    size_t i;
    json_array_foreach(json_object_get(plan, "runs"), i, one)
    {
        const char *key = text(one, "key");
        enum peet_cli_sweep_state state = peet_cli_sweep_state(folder, key);
        json_array_append_new(rows,
            json_pack("{s:I, s:s, s:s, s:O, s:o}", "run", (json_int_t)i + 1, "key", key, "state",
                state == PEET_CLI_SWEEP_DONE         ? "done"
                    : state == PEET_CLI_SWEEP_FAILED ? "failed"
                                                     : "to do",
                "settings", json_object_get(one, "settings"), "figures",
                state == PEET_CLI_SWEEP_DONE ? figures_of(folder, key) : json_object()));
    }
    return rows;
}

static void field(FILE *out, const char *value)
{
    fputs(*value && strchr("=+-@", *value) && value[1] && (value[1] < '0' || value[1] > '9') ? ",\"'" : ",\"", out);
    for (; *value; value++)
        fprintf(out, *value == '"' ? "\"\"" : "%c", (unsigned char)*value < ' ' || *value == 0x7f ? '?' : *value);
    fputc('"', out);
}

static int write_csv(const char *folder, const json_t *plan, const json_t *rows, struct peet_error *error)
{
    char path[PATH_MAX];
    json_t *columns = json_object(), *row, *value, *name;
    const char *key;
    size_t i, k;
    snprintf(path, sizeof(path), "%s/table.csv", folder);
    struct peet_file file;
    FILE *out = peet_file_create(path, &file, error) ? NULL : file.stream;
    if (!out) {
        json_decref(columns);
        return PEET_EIO;
    }
    json_array_foreach((json_t *)rows, i, row) json_object_foreach(json_object_get(row, "figures"), key, value)
        json_object_set_new(columns, key, json_true());
    fputs("run,key,state", out);
    json_array_foreach(json_object_get(plan, "varying"), k, name) field(out, json_string_value(name));
    json_object_foreach(columns, key, value) field(out, key);
    fputc('\n', out);
    json_array_foreach((json_t *)rows, i, row)
    {
        fprintf(out, "%.0f,%s,%s", number(row, "run"), text(row, "key"), text(row, "state"));
        json_array_foreach(json_object_get(plan, "varying"), k, name)
            field(out, text(json_object_get(row, "settings"), json_string_value(name)));
        json_object_foreach(columns, key, value)
        {
            const json_t *figure = json_object_get(json_object_get(row, "figures"), key);
            if (figure)
                fprintf(out, ",%.17g", json_number_value(figure));
            else
                fputc(',', out);
        }
        fputc('\n', out);
    }
    json_decref(columns);
    return peet_file_commit(&file, error);
}

static void print_rows(const json_t *plan, const json_t *rows)
{
    static const char *const figures[][2] = {{"cycles", "cycles"}, {"instructions", "instructions"},
        {"instructions_per_cycle", "for a cycle"}, {"busy_share", "busy"}};
    json_t *tables = json_array(), *table = table_new(tables, "the sweep"), *row, *name;
    size_t i, k;
    column(table, "run");
    json_array_foreach(json_object_get(plan, "varying"), k, name) column(table, json_string_value(name));
    for (k = 0; k < sizeof(figures) / sizeof(figures[0]); k++)
        column(table, figures[k][1]);
    json_array_foreach((json_t *)rows, i, row)
    {
        json_t *cells = row_new(table);
        char label[40];
        const char *state = text(row, "state");
        snprintf(label, sizeof(label), "%.0f%s%.30s", number(row, "run"), strcmp(state, "done") == 0 ? "" : " ",
            strcmp(state, "done") == 0 ? "" : state);
        cell(cells, label);
        json_array_foreach(json_object_get(plan, "varying"), k, name)
            cell(cells, text(json_object_get(row, "settings"), json_string_value(name)));
        for (k = 0; k < sizeof(figures) / sizeof(figures[0]); k++) {
            json_t *value = json_object_get(json_object_get(row, "figures"), figures[k][0]);
            if (value)
                json_array_append(cells, value);
            else
                cell(cells, "-");
        }
    }
    peet_cli_module_table(stdout, table, peet_cli_terminal_columns(stdout));
    json_decref(tables);
}

/* The first setting that is a number in each run.  Returns: NULL: none */
static const char *first_number(const json_t *plan, const json_t *rows)
{
    const json_t *name, *row;
    size_t i, k;
    json_array_foreach(json_object_get(plan, "varying"), k, name)
    {
        int numbers = 1;
        json_array_foreach((json_t *)rows, i, row)
        {
            char *end;
            const char *value = text(json_object_get(row, "settings"), json_string_value(name));
            numbers &= isfinite(strtod(value, &end)) && end != value && !*end;
        }
        if (numbers)
            return json_string_value(name);
    }
    return NULL;
}

int peet_cli_sweep_plot_check(const json_t *plan, const char *path, struct peet_error *error)
{
    int err = peet_cli_picture_check(path, error);
    if (!err && !first_number(plan, json_object_get(plan, "runs")))
        err = peet_error_set(error, PEET_EINVALID, "--plot: no setting of this sweep is a number in each run");
    return err;
}

struct curves {
    const char *x;
    json_t *points; /* by the other settings, in words: rows of the table */
};

static int find_curves(struct curves *curves, const json_t *plan, const json_t *rows)
{
    const json_t *name;
    json_t *row;
    size_t i, k;
    json_array_foreach((json_t *)rows, i, row)
    {
        if (!json_object_get(json_object_get(row, "figures"), "cycles"))
            continue; /* failed, or not yet done */
        char *label = strdup("");
        json_array_foreach(json_object_get(plan, "varying"), k, name)
        {
            const char *value = text(json_object_get(row, "settings"), json_string_value(name));
            char *more = NULL;
            if (strcmp(json_string_value(name), curves->x) == 0)
                continue;
            if (!label || asprintf(&more, "%s%s%s", label, *label ? ", " : "", value) < 0)
                more = NULL;
            free(label);
            label = more;
        }
        if (!label)
            return -1;
        const char *key = *label ? label : "cycles";
        if (!json_object_get(curves->points, key))
            json_object_set_new_nocheck(curves->points, key, json_array());
        int bad = json_array_append(json_object_get(curves->points, key), row);
        free(label);
        if (bad)
            return -1;
    }
    return 0;
}

static void script(FILE *out, const char *ending, const char *path, const void *arg)
{
    const struct curves *curves = arg;
    const char *key;
    json_t *points, *row;
    size_t i;
    int n = 0;
    json_object_foreach(curves->points, key, points)
    {
        fprintf(out, "$c%d << END\n", n++);
        json_array_foreach(points, i, row)
            fprintf(out, "%.15g %.0f\n", strtod(text(json_object_get(row, "settings"), curves->x), NULL),
                number(json_object_get(row, "figures"), "cycles"));
        fputs("END\n", out);
    }
    peet_cli_picture_begin(out, ending, path, WIDTH, HEIGHT + NAMED * n);
    fputs("set xlabel \"", out);
    peet_cli_picture_name(out, curves->x, LABEL);
    fprintf(out,
        "\"\nset ylabel \"cycles\"\nset yrange [0:*]\nset format y \"%%.1s%%c\"\nset grid\n"
        "set key below left Left reverse vertical maxrows %d\n",
        n);
    n = 0;
    json_object_foreach(curves->points, key, points)
    {
        fprintf(out, "%s $c%d using 1:2 smooth unique with linespoints title \"", n ? "," : "plot", n);
        peet_cli_picture_name(out, key, LABEL);
        fputc('"', out);
        n++;
    }
    fputs("\nset output\n", out);
}

/* Cycles against the first setting that is a number in each run; a curve for each combination of the others. */
static int draw(const char *path, const json_t *plan, const json_t *rows, struct peet_error *error)
{
    struct curves curves = {first_number(plan, rows), json_object()};
    int err;
    if (!curves.points || find_curves(&curves, plan, rows))
        err = peet_error_set(error, PEET_ENOMEM, "out of memory");
    else if (json_object_size(curves.points) == 0)
        err = peet_error_set(error, PEET_EINVALID, "--plot: there is nothing to draw: no run has ended");
    else
        err = peet_cli_gnuplot(path, script, &curves, error);
    json_decref(curves.points);
    return err;
}

int peet_cli_sweep_table(const char *folder, const json_t *plan, const char *plot, int json, struct peet_error *error)
{
    char path[PATH_MAX];
    json_t *rows = collect(folder, plan);
    snprintf(path, sizeof(path), "%s/table.json", folder);
    int err = peet_stats_write(rows, path, error);
    if (!err)
        err = write_csv(folder, plan, rows, error);
    if (!err && json) {
        json_dumpf(rows, stdout, JSON_INDENT(1) | JSON_PRESERVE_ORDER);
        putchar('\n');
    } else if (!err) {
        print_rows(plan, rows);
    }
    if (!err && plot)
        err = draw(plot, plan, rows, error);
    json_decref(rows);
    return err;
}
