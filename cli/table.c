/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The result table; see table.h.  What a module wants in it stands in the object "summary" of its
 * statistics: a key and a number or text each; whole tables in the array "tables" (module_tables.h).
 */
#include "table.h"

#include "figures.h"
#include "module_tables.h"
#include "number.h"
#include "page.h"
#include "text.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    LABEL_COLUMNS = 36,
    VALUE_COLUMNS = 20,
    SUMMARY_LINES = 16,
    COLUMNS = 80,
};

static void row(FILE *out, const char *label, const char *value, const char *more)
{
    fprintf(out, "  %-*.*s %*.40s%s\n", LABEL_COLUMNS, LABEL_COLUMNS, label, VALUE_COLUMNS, value, more);
}

static void row_count(FILE *out, const char *label, const json_t *value, const char *more)
{
    char text[PEET_CLI_NUMBER_BYTES];
    if (json_is_integer(value))
        row(out, label, peet_cli_grouped(text, (uint64_t)json_integer_value(value)), more);
    else if (json_is_string(value))
        row(out, label, json_string_value(value), more);
}

static void row_real(FILE *out, const char *label, double value, const char *more)
{
    char text[64];
    if (value == 0 || (fabs(value) >= 0.001 && fabs(value) < 1e9))
        snprintf(text, sizeof(text), "%.3f", value);
    else
        snprintf(text, sizeof(text), "%.4g", value);
    row(out, label, text, more);
}

/* How much of it is libraries', if any is worth a word. */
static void print_images(FILE *out, const json_t *stats)
{
    enum { IMAGES_SHOWN = 3 };
    const json_t *list = json_object_get(json_object_get(stats, "hot"), "images"), *one;
    double all = 0;
    size_t i, shown = 0;
    json_array_foreach((json_t *)list, i, one) all += peet_cli_number_of(json_object_get(one, "instructions"));
    json_array_foreach((json_t *)list, i, one)
    {
        const char *image = json_string_value(json_object_get(one, "image"));
        const double share = 100 * peet_cli_number_of(json_object_get(one, "instructions")) / all;
        char name[64];
        if (json_array_size(list) < 2 || shown == IMAGES_SHOWN || share < 0.05)
            break;
        peet_cli_text_clean(name, sizeof(name), image ? image : "", 16);
        fprintf(out, "%s%s %.1f %%", shown++ ? ", " : "    in ", name, share);
    }
    fputs(shown ? "\n" : "", out);
}

static void print_totals(FILE *out, const json_t *stats, double seconds)
{
    const json_t *totals = json_object_get(stats, "totals");
    const json_t *cycles = json_object_get(json_object_get(stats, "time"), "cycles");
    double instructions = peet_cli_number_of(json_object_get(totals, "instructions"));
    double references =
        peet_cli_number_of(json_object_get(totals, "reads")) + peet_cli_number_of(json_object_get(totals, "writes"));
    char more[64] = "";

    row_count(out, "time (cycles)", cycles, "");
    if (peet_cli_number_of(cycles) > 0)
        snprintf(more, sizeof(more), "  %.3f per cycle", instructions / peet_cli_number_of(cycles));
    row_count(out, "instructions", json_object_get(totals, "instructions"), more);
    print_images(out, stats);
    row_count(out, "blocks", json_object_get(totals, "blocks"), "");
    row_count(out, "reads", json_object_get(totals, "reads"), "");
    row_count(out, "writes", json_object_get(totals, "writes"), "");
    if (instructions > 0)
        row_real(out, "references per instruction", references / instructions, "");
    more[0] = '\0';
    char rate[PEET_CLI_NUMBER_BYTES];
    if (seconds <= 0)
        return; /* not known any more */
    snprintf(more, sizeof(more), "  %s instr./s", peet_cli_short(rate, instructions / seconds));
    row_real(out, "this run took (seconds)", seconds, more);
}

/* Many processors: only how far they are apart. */
static void print_busy(FILE *out, const json_t *figures)
{
    const json_t *list = json_object_get(figures, "processor"), *one;
    const char *name;
    double least = 2, greatest = -1, sum = 0;
    size_t n = json_object_size(list);
    json_object_foreach((json_t *)list, name, one)
    {
        double busy = json_number_value(json_object_get(one, "busy_cycles"));
        double all = busy + json_number_value(json_object_get(one, "stalled_cycles")) +
            json_number_value(json_object_get(one, "idle_cycles"));
        double share = all > 0 ? busy / all : 0;
        sum += share;
        least = share < least ? share : least;
        greatest = share > greatest ? share : greatest;
    }
    if (n > 1)
        fprintf(out, "  processors busy: least %.1f %%, mean %.1f %%, greatest %.1f %%\n", least * 100,
            sum * 100 / (double)n, greatest * 100);
}

/* Underscores become blanks.  Returns: whether something was printed */
static int print_figure(FILE *out, const char *group, const char *key, const json_t *value)
{
    char label[LABEL_COLUMNS + 1];
    snprintf(label, sizeof(label), "  %s%s%s", group, *group ? " " : "", key);
    for (char *c = label; *c; c++)
        if (*c == '_')
            *c = ' ';
    if (json_is_real(value))
        row_real(out, label, json_real_value(value), "");
    else if (json_is_integer(value) || (json_is_string(value) && !*group))
        row_count(out, label, value, "");
    else
        return 0;
    return 1;
}

static void print_summary(FILE *out, const char *module, const json_t *summary)
{
    const char *key;
    json_t *value;
    int lines = 0;
    fprintf(out, "  %.60s:\n", module);
    json_object_foreach((json_t *)summary, key, value)
    {
        if (lines == SUMMARY_LINES)
            break;
        lines += print_figure(out, "", key, value);
    }
}

/* A machine that does not say what matters: the figures one level down that are not zero. */
static void print_machine(FILE *out, const char *module, const json_t *node)
{
    const char *group, *key;
    json_t *object, *value;
    int lines = 0;
    json_object_foreach((json_t *)node, group, object)
    {
        if (!json_is_object(object) || strcmp(group, "config") == 0)
            continue; /* settings are no results */
        json_object_foreach(object, key, value)
        {
            if (lines == SUMMARY_LINES)
                return;
            if (!json_is_number(value) || json_number_value(value) == 0)
                continue;
            if (lines == 0)
                fprintf(out, "  %.60s:\n", module);
            lines += print_figure(out, group, key, value);
        }
    }
}

enum { ATOMICS_SHOWN = 2, UNSEEN_SHOWN = 4, NAME = 30, REASON = 20 };

/* How it ended, if not by itself; else NULL. */
static const char *ended(const json_t *stats)
{
    const char *reason = json_string_value(json_object_get(json_object_get(stats, "end"), "reason"));
    return reason && strcmp(reason, "exit") != 0 ? reason : NULL;
}

void peet_cli_say_end(FILE *out, const char *folder, const json_t *stats)
{
    char name[160], reason[160];
    if (!ended(stats))
        return;
    peet_cli_text_clean(name, sizeof(name), folder, NAME);
    peet_cli_text_clean(reason, sizeof(reason), ended(stats), REASON);
    fprintf(out, "  %s: did not end by itself (%s)\n", name, reason);
}

/* What makes the figures less than the whole truth. */
static void print_reservations(FILE *out, const json_t *stats)
{
    const char *reason = ended(stats);
    const json_t *gaps = json_object_get(stats, "gaps");
    json_t *atomics = json_object_get(gaps, "atomic_library_functions"), *one;
    size_t i;
    char statements[PEET_CLI_NUMBER_BYTES], functions[PEET_CLI_NUMBER_BYTES];
    json_int_t nstatements = json_integer_value(json_object_get(gaps, "asm_statements"));
    json_int_t nfunctions = json_integer_value(json_object_get(gaps, "opaque_functions"));
    json_int_t nblocks = json_integer_value(json_object_get(gaps, "extraneous_blocks"));

    if (reason)
        fprintf(out, "  the program did not end by itself (%.40s): these are the figures up to then\n", reason);
    if (nstatements > 0 || nfunctions > 0)
        fprintf(out, "  not observable: %s inline assembly statements or the like, %s functions\n",
            peet_cli_grouped(statements, (uint64_t)nstatements), peet_cli_grouped(functions, (uint64_t)nfunctions));
    if (json_array_size(atomics)) {
        fputs("  not observable in libatomic: ", out);
        json_array_foreach(atomics, i, one) if (i < ATOMICS_SHOWN)
            fprintf(out, "%s%s", i ? ", " : "", json_string_value(one));
        fputs(json_array_size(atomics) > ATOMICS_SHOWN ? ", ...\n" : "\n", out);
    }
    if (nblocks > 0)
        fprintf(out, "  left out: %s blocks between marked iterations\n",
            peet_cli_grouped(statements, (uint64_t)nblocks));
    if (json_is_false(json_object_get(json_object_get(stats, "totals"), "exact")))
        fputs("  rep-prefixed instructions count as one, without references:\n  no module asked for addresses\n", out);
}

/* What modules want shown.  A machine whose figures the page knows is on it; the tables of one that keeps account of
 * its cycles are for `peet report`. */
static void print_modules(FILE *out, const json_t *stats, const json_t *figures, int columns)
{
    const json_t *machine = peet_cli_machine_node(stats);
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)stats, key, value)
    {
        const json_t *summary = json_object_get(value, "summary");
        if (json_is_object(summary) && json_object_size(summary) > 0)
            print_summary(out, key, summary);
        else if (value == machine && !json_object_get(figures, "level"))
            print_machine(out, key, value);
        if (!json_is_object(json_object_get(value, "stack_categories")))
            peet_cli_module_tables(out, value, columns);
    }
}

void peet_cli_table_page(FILE *out, const json_t *stats, double seconds, int columns)
{
    json_t *figures = peet_cli_figures(stats), *tables = figures ? peet_cli_page(figures) : NULL, *table;
    char name[120], clean[160];
    size_t i;
    peet_cli_run_name(stats, name, sizeof(name));
    peet_cli_text_clean(clean, sizeof(clean), name, COLUMNS - 10);
    fprintf(out, "peet: %s\n", clean);
    print_totals(out, stats, seconds);
    print_busy(out, figures);
    json_array_foreach(tables, i, table) peet_cli_module_table(out, table, columns);
    print_modules(out, stats, figures, columns);
    print_reservations(out, stats);
    json_decref(tables);
    json_decref(figures);
}

/* The program's own time in code without a schema, if that is worth a word: the results folder's unseen.json. */
static void print_unseen(FILE *out, const json_t *stats, const char *folder)
{
    char path[PATH_MAX];
    json_t *unseen = (size_t)snprintf(path, sizeof(path), "%s/unseen.json", folder) < sizeof(path)
        ? json_load_file(path, 0, NULL)
        : NULL,
           *one;
    const double share = json_number_value(json_object_get(unseen, "share"));
    const char *why = json_string_value(json_object_get(stats, "not_recorded"));
    char object[40], symbol[80], reason[240];
    size_t i;

    if (share > 0.01) {
        fprintf(out, "  %.0f %% of the program's own time was spent in code that peet does not see:\n", 100 * share);
        json_array_foreach(json_object_get(unseen, "list"), i, one)
        {
            if (i >= UNSEEN_SHOWN || json_number_value(json_object_get(one, "share")) < 0.005)
                continue;
            peet_cli_text_clean(object, sizeof(object), json_string_value(json_object_get(one, "object")), 20);
            peet_cli_text_clean(symbol, sizeof(symbol), json_string_value(json_object_get(one, "symbol")), 40);
            fprintf(out, "    %-20s  %-40s %5.0f %%\n", object, symbol,
                100 * json_number_value(json_object_get(one, "share")));
        }
        if (why) {
            peet_cli_text_clean(reason, sizeof(reason), why, 160);
            fprintf(out, "    libraries are not recorded: %s\n", reason);
        }
    }
    json_decref(unseen);
}

void peet_cli_table_print(FILE *out, const json_t *stats, double seconds, const char *folder)
{
    char clean[240];
    peet_cli_table_page(out, stats, seconds, peet_cli_terminal_columns(out));
    print_unseen(out, stats, folder);
    const char *key;
    json_t *value;
    peet_cli_text_clean(clean, sizeof(clean), folder, COLUMNS - 22);
    json_object_foreach((json_t *)stats, key, value) if (json_is_object(json_object_get(value, "stack_categories")))
        fprintf(out, "  \"peet report --plot FILE.svg %s\" draws where the cycles went\n", clean);
    fprintf(out, "  results in %s\n", clean);
}
