/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The result table; see table.h.  What a module wants in it stands in the object "summary" of its
 * statistics: a key and a number or text each; whole tables in the array "tables" (module_tables.h).
 */
#include "table.h"

#include "module_tables.h"
#include "number.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    LABEL_COLUMNS = 36,
    VALUE_COLUMNS = 20,
    HW_LISTED = 32,   /* more processors than this are shown as least, mean and greatest */
    HW_PER_LINE = 8,
    SUMMARY_LINES = 16,
    COLUMNS = 100,
};

/* Counts above 63 bits stand as decimal text. */
static double number_of(const json_t *value)
{
    return json_is_string(value) ? strtod(json_string_value(value), NULL) : json_number_value(value);
}

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

static void print_title(FILE *out, const json_t *config)
{
    const char *program = json_string_value(json_object_get(config, "program"));
    const char *machine = json_string_value(json_object_get(json_object_get(config, "machine"), "module"));
    json_int_t cores = json_integer_value(json_object_get(config, "cores"));
    const char *base = program ? strrchr(program, '/') : NULL;
    const char *machine_base = machine ? strrchr(machine, '/') : NULL;
    fprintf(out, "peet: %.36s on %lld processor%s of %.30s\n", base ? base + 1 : program ? program : "the program",
        (long long)cores, cores == 1 ? "" : "s", machine_base ? machine_base + 1 : machine ? machine : "the machine");
}

static void print_totals(FILE *out, const json_t *stats, double seconds)
{
    const json_t *totals = json_object_get(stats, "totals");
    const json_t *cycles = json_object_get(json_object_get(stats, "time"), "cycles");
    double instructions = number_of(json_object_get(totals, "instructions"));
    double references = number_of(json_object_get(totals, "reads")) + number_of(json_object_get(totals, "writes"));
    char more[64] = "";

    row_count(out, "time (cycles)", cycles, "");
    if (number_of(cycles) > 0)
        snprintf(more, sizeof(more), "  %.3f per cycle", instructions / number_of(cycles));
    row_count(out, "instructions", json_object_get(totals, "instructions"), more);
    row_count(out, "blocks", json_object_get(totals, "blocks"), "");
    row_count(out, "reads", json_object_get(totals, "reads"), "");
    row_count(out, "writes", json_object_get(totals, "writes"), "");
    if (instructions > 0)
        row_real(out, "references per instruction", references / instructions, "");
    more[0] = '\0';
    char rate[PEET_CLI_NUMBER_BYTES];
    if (seconds > 0)
        snprintf(more, sizeof(more), "  %s instructions a second", peet_cli_short(rate, instructions / seconds));
    row_real(out, "this run took (seconds)", seconds, more);
}

/* The share of its time that a hardware context was at work, 0..1; negative if unknown. */
static double utilisation(const json_t *hw)
{
    static const char *const busy_names[] = { "busy_cycles", "busy" };
    static const char *const other_names[] = { "stalled_cycles", "stalled", "idle_cycles", "idle" };
    const json_t *busy = NULL;
    for (size_t i = 0; !busy && i < sizeof(busy_names) / sizeof(busy_names[0]); i++)
        busy = json_object_get(hw, busy_names[i]);
    if (!busy)
        return -1;
    double sum = number_of(busy);
    for (size_t i = 0; i < sizeof(other_names) / sizeof(other_names[0]); i++)
        sum += number_of(json_object_get(hw, other_names[i]));
    return sum > 0 ? number_of(busy) / sum : 0;
}

static void print_hardware(FILE *out, const json_t *hw)
{
    size_t count = json_array_size(hw), known = 0;
    double least = 2, greatest = -1, sum = 0;
    for (size_t i = 0; i < count; i++) {
        double share = utilisation(json_array_get(hw, i));
        if (share < 0)
            continue;
        known++;
        sum += share;
        least = share < least ? share : least;
        greatest = share > greatest ? share : greatest;
    }
    if (known == 0)
        return;
    if (known == 1 && count == 1) {
        fprintf(out, "  processor busy: %.1f %%\n", greatest * 100);
        return;
    }
    fprintf(out, "  processors busy: least %.1f %%, mean %.1f %%, greatest %.1f %%\n", least * 100, sum * 100 / (double)known, greatest * 100);
    if (count < 2 || count > HW_LISTED)
        return;
    for (size_t i = 0; i < count; i++) {
        if (i % HW_PER_LINE == 0)
            fprintf(out, "   ");
        fprintf(out, " %3zu: %3.0f %%", i, utilisation(json_array_get(hw, i)) * 100);
        if (i % HW_PER_LINE == HW_PER_LINE - 1 || i + 1 == count)
            fputc('\n', out);
    }
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
    json_object_foreach((json_t *)summary, key, value) {
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
    json_object_foreach((json_t *)node, group, object) {
        if (!json_is_object(object))
            continue;
        json_object_foreach(object, key, value) {
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

/* The machine's name in stats.json: its module's, or the file's if it was given by path. */
static int is_machine(const char *key, const json_t *stats)
{
    const json_t *machine = json_object_get(json_object_get(stats, "config"), "machine");
    const char *module = json_string_value(json_object_get(machine, "module"));
    const char *base = module ? strrchr(module, '/') : NULL;
    size_t length = strlen(key);
    if (!module)
        return 0;
    if (!base)
        return strcmp(module, key) == 0;
    return strncmp(base + 1, key, length) == 0 && strcmp(base + 1 + length, ".so") == 0;
}

enum { ATOMICS_SHOWN = 2 };

/* What makes the figures less than the whole truth. */
static void print_reservations(FILE *out, const json_t *stats)
{
    const char *reason = json_string_value(json_object_get(json_object_get(stats, "end"), "reason"));
    const json_t *gaps = json_object_get(stats, "gaps");
    json_t *atomics = json_object_get(gaps, "atomic_library_functions"), *one;
    size_t i;
    char statements[PEET_CLI_NUMBER_BYTES], functions[PEET_CLI_NUMBER_BYTES];
    json_int_t nstatements = json_integer_value(json_object_get(gaps, "asm_statements"));
    json_int_t nfunctions = json_integer_value(json_object_get(gaps, "opaque_functions"));
    json_int_t nblocks = json_integer_value(json_object_get(gaps, "extraneous_blocks"));

    if (reason && strcmp(reason, "exit") != 0)
        fprintf(out, "  the program did not end by itself (%.40s): these are the figures up to then\n", reason);
    if (nstatements > 0 || nfunctions > 0)
        fprintf(out, "  not observable in the program: %s inline assembly statements, %s functions\n",
            peet_cli_grouped(statements, (uint64_t)nstatements), peet_cli_grouped(functions, (uint64_t)nfunctions));
    if (json_array_size(atomics)) {
        fputs("  not observable in libatomic: ", out);
        json_array_foreach(atomics, i, one)
            if (i < ATOMICS_SHOWN)
                fprintf(out, "%s%s", i ? ", " : "", json_string_value(one));
        fputs(json_array_size(atomics) > ATOMICS_SHOWN ? ", ...\n" : "\n", out);
    }
    if (nblocks > 0)
        fprintf(out, "  left out: %s blocks between marked iterations\n", peet_cli_grouped(statements, (uint64_t)nblocks));
    if (json_is_false(json_object_get(json_object_get(stats, "totals"), "exact")))
        fputs("  rep-prefixed instructions count as one, without references: no module asked for addresses\n", out);
}

void peet_cli_table_print(FILE *out, const json_t *stats, double seconds, const char *folder)
{
    const char *key;
    json_t *value;
    print_title(out, json_object_get(stats, "config"));
    print_totals(out, stats, seconds);
    print_hardware(out, json_object_get(stats, "hw"));
    json_object_foreach((json_t *)stats, key, value) {
        const json_t *summary = json_object_get(value, "summary");
        if (json_is_object(summary) && json_object_size(summary) > 0)
            print_summary(out, key, summary);
        else if (json_is_object(value) && is_machine(key, stats))
            print_machine(out, key, value);
        peet_cli_module_tables(out, value, COLUMNS);
    }
    print_reservations(out, stats);
    json_object_foreach((json_t *)stats, key, value)
        if (json_is_object(json_object_get(value, "stack_categories")))
            fprintf(out, "  \"peet report --plot FILE.svg %s\" draws where the cycles went\n", folder);
    fprintf(out, "  results in %s\n", folder);
}
