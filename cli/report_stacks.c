/* SPDX-License-Identifier: Apache-2.0 */
/* Where the cycles went: accounts of runs, their tables and their data as text; see report_stacks.h. */
#include "report_stacks.h"

#include "base/files.h"
#include "export.h"
#include "names.h"
#include "number.h"
#include "report_table.h"

#include <string.h>

enum { COLUMNS = 80, CONTEXTS = 64, NAME = 20, LEAST = 8, GAP = 2, INDENT = 4, CELL = 6 };

double peet_cli_stack_sum(const struct peet_cli_account *a, const struct peet_cli_stack *stack)
{
    double sum = 0;
    for (int i = 0; i < a->ncategories; i++)
        sum += stack->cycles[i];
    return sum;
}

static void add(const struct peet_cli_account *a, struct peet_cli_stack *stack, const json_t *node)
{
    const json_t *cycles = json_object_get(node, "stack_cycles");
    for (int i = 0; i < a->ncategories; i++)
        stack->cycles[i] += number(cycles, a->categories[i]);
}

/* Hardware contexts: a lot of them are shown by their sum only. */
static int contexts(struct peet_cli_account *a, const json_t *list)
{
    const json_t *one;
    size_t i, n = json_array_size(list);
    if (n > CONTEXTS)
        return 0;
    a->contexts = calloc(n + 1, sizeof(*a->contexts));
    if (!a->contexts)
        return -1;
    json_array_foreach((json_t *)list, i, one)
    {
        snprintf(a->contexts[i].name, PEET_CLI_STACK_NAME, "%zu", i);
        add(a, &a->contexts[i], one);
    }
    a->ncontexts = (int)n;
    return 0;
}

/* Functions, those with most cycles first. */
static int functions(struct peet_cli_account *a, const json_t *list, int top)
{
    const json_t *one;
    size_t i, n = json_array_size(list);
    a->functions = calloc((size_t)top + 1, sizeof(*a->functions));
    if (!a->functions)
        return -1;
    json_array_foreach((json_t *)list, i, one)
    {
        int at = (int)i < top ? (int)i : top;
        char name[PEET_CLI_NAME];
        snprintf(a->functions[at].name, PEET_CLI_STACK_NAME, "%s",
            (int)i < top ? peet_cli_name(text(one, "name"), name, sizeof(name)) : "the rest");
        add(a, &a->functions[at], one);
    }
    a->nfunctions = (int)n < top ? (int)n : top + (n > (size_t)top);
    return 0;
}

int peet_cli_account(const json_t *stats, int top, struct peet_cli_account *out_account, struct peet_error *error)
{
    struct peet_cli_account *a = out_account;
    const char *program = text(json_object_get(stats, "config"), "program"), *base = strrchr(program, '/'), *key;
    const json_t *node = NULL, *value;
    *a = (struct peet_cli_account){0};
    json_object_foreach((json_t *)stats, key, value) if (json_is_object(json_object_get(value, "stack_categories")) &&
        json_is_array(json_object_get(value, "hw")))
    {
        node = value;
        snprintf(a->machine, sizeof(a->machine), "%s", key);
    }
    if (!node)
        return peet_error_set(error, PEET_ENOTFOUND,
            "the machine keeps no account of its cycles (\"--machine x86\" does)");
    snprintf(a->program, sizeof(a->program), "%s", base ? base + 1 : program);
    a->instructions = number(json_object_get(stats, "totals"), "instructions");
    json_object_foreach(json_object_get(node, "stack_categories"), key, value) if (a->ncategories < PEET_CLI_CATEGORIES)
        a->categories[a->ncategories++] = key;
    add(a, &a->all, node);
    a->levels = json_object_get(node, "memory");
    a->windows = json_object_get(a->levels, "windows");
    a->window_cycles = number(a->levels, "window_cycles");
    if (!json_is_array(a->windows) || a->window_cycles <= 0)
        a->windows = NULL;
    if (contexts(a, json_object_get(node, "hw")) || functions(a, json_object_get(node, "functions"), top)) {
        peet_cli_account_fini(a);
        return peet_error_set(error, PEET_ENOMEM, "out of memory");
    }
    return 0;
}

void peet_cli_account_fini(struct peet_cli_account *a)
{
    free(a->contexts);
    free(a->functions);
    a->contexts = a->functions = NULL;
}

/* ---------------------------------------------------------------------------------------------- tables */

/** The categories that have a column of their own, in their order: those with most cycles in any row, as many as fit.
 */
struct columns {
    int shown[PEET_CLI_CATEGORIES], other, without_idle;
};

int peet_cli_is_idle(const char *category)
{
    return strcmp(category, "idle") == 0;
}

/* @stacks: the table's rows; @a: the first run, all have the same categories. */
static void choose(const struct peet_cli_account *a, const struct peet_cli_stack *stacks, size_t n, int without_idle,
    struct columns *out)
{
    double most[PEET_CLI_CATEGORIES] = {0}, all = 0;
    int name = LEAST, width;
    char cycles[PEET_CLI_NUMBER_BYTES];
    *out = (struct columns){.without_idle = without_idle};
    for (size_t k = 0; k < n; k++) {
        double sum = peet_cli_stack_sum(a, &stacks[k]);
        int length = (int)strlen(stacks[k].name);
        name = length > name ? length : name;
        all = sum > all ? sum : all;
        for (int i = 0; i < a->ncategories; i++)
            if (stacks[k].cycles[i] > most[i] && !(without_idle && peet_cli_is_idle(a->categories[i])))
                most[i] = stacks[k].cycles[i];
    }
    width = (int)strlen(peet_cli_grouped(cycles, (uint64_t)all));
    width = INDENT + (name < NAME ? name : NAME) + GAP + (width > CELL ? width : CELL) + GAP +
        CELL; /* the last is "other" */
    for (;;) {
        int best = -1, wide;
        for (int i = 0; i < a->ncategories; i++)
            if (!out->shown[i] && most[i] >= all * 0.0005 && (best < 0 || most[i] > most[best]))
                best = i;
        if (best < 0)
            break;
        wide = (int)strlen(a->categories[best]);
        width += GAP + (wide > CELL ? wide : CELL);
        if (width > COLUMNS)
            break;
        out->shown[best] = 1;
    }
    for (int i = 0; i < a->ncategories; i++)
        out->other |= !out->shown[i] && most[i] > 0;
}

static json_t *begin(json_t *tables, const struct peet_cli_account *a, const struct columns *c, const char *title,
    const char *what, const char *unit)
{
    json_t *table = table_new(tables, title);
    column(table, what);
    column(table, unit);
    for (int i = 0; i < a->ncategories; i++)
        if (c->shown[i])
            column(table, a->categories[i]);
    if (c->other)
        column(table, "other");
    return table;
}

/* A row of parts: of cycles for an instruction if there are so many instructions, else percent. */
static void put_row(json_t *table, const struct peet_cli_account *a, const struct columns *c,
    const struct peet_cli_stack *stack, double instructions)
{
    json_t *row = row_new(table);
    double sum = 0, other = 0;
    char value[PEET_CLI_STACK_NAME];
    for (int i = 0; i < a->ncategories; i++)
        sum += c->without_idle && peet_cli_is_idle(a->categories[i]) ? 0 : stack->cycles[i];
    snprintf(value, sizeof(value), "%.*s", NAME, stack->name);
    cell(row, value);
    if (instructions > 0) {
        snprintf(value, sizeof(value), "%.3f", sum / instructions);
        cell(row, value);
    } else {
        json_array_append_new(row, json_integer((json_int_t)sum));
    }
    for (int i = 0; i < a->ncategories + c->other; i++) {
        double part = i == a->ncategories                           ? other
            : c->without_idle && peet_cli_is_idle(a->categories[i]) ? 0
                                                                    : stack->cycles[i];
        if (i < a->ncategories && !c->shown[i]) {
            other += part;
            continue;
        }
        if (instructions > 0)
            snprintf(value, sizeof(value), "%.3f", part / instructions);
        else
            snprintf(value, sizeof(value), sum > 0 ? "%.1f%%" : "-", sum > 0 ? part * 100 / sum : 0);
        cell(row, value);
    }
}

static void put_table(json_t *tables, const struct peet_cli_account *a, const struct peet_cli_stack *stacks, size_t n,
    const char *title, const char *what)
{
    struct columns c;
    choose(a, stacks, n, 0, &c);
    json_t *table = begin(tables, a, &c, title, what, "cycles");
    for (size_t k = 0; k < n; k++)
        put_row(table, a, &c, &stacks[k], 0);
}

static void per_instruction(json_t *tables, const struct peet_cli_account *accounts,
    const struct peet_cli_stack *stacks, size_t n)
{
    struct columns c;
    choose(accounts, stacks, n, 1, &c);
    json_t *table =
        begin(tables, accounts, &c, "cycles for each instruction, of processors that are not idle", "program", "CPI");
    for (size_t k = 0; k < n; k++)
        if (accounts[k].instructions > 0)
            put_row(table, &accounts[k], &c, &stacks[k], accounts[k].instructions);
}

static void levels(json_t *tables, const struct peet_cli_account *accounts, size_t n)
{
    static const char *const keys[] = {"l1i", "l1d", "l2", "l3"}, *const names[] = {"L1I", "L1D", "L2", "L3"};
    static const char *const heads[] = {
        "program", "level", "lookups", "misses", "of lookups", "for 1000 instructions", "prefetched"};
    json_t *table = table_new(tables, "demand lookups and misses by level");
    for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++)
        column(table, heads[i]);
    for (size_t k = 0; k < n; k++)
        for (size_t l = 0; l < sizeof(keys) / sizeof(keys[0]); l++) {
            const json_t *level = json_object_get(accounts[k].levels, keys[l]);
            double accesses = number(level, "reads") + number(level, "writes"),
                   misses = number(level, "read_misses") + number(level, "write_misses");
            char value[40];
            json_t *row;
            if (!level)
                continue;
            row = row_new(table);
            cell(row, accounts[k].program);
            cell(row, names[l]);
            json_array_append_new(row, json_integer((json_int_t)accesses));
            json_array_append_new(row, json_integer((json_int_t)misses));
            percent(row, misses, accesses);
            snprintf(value, sizeof(value), accounts[k].instructions > 0 ? "%.3f" : "-",
                accounts[k].instructions > 0 ? misses * 1000 / accounts[k].instructions : 0);
            cell(row, value);
            json_array_append_new(row, json_integer((json_int_t)number(level, "prefetches")));
        }
}

static void causes(json_t *tables, const struct peet_cli_account *accounts, size_t n)
{
    static const char *const keys[] = {"l1i", "l1d", "l2", "l3"}, *const names[] = {"L1I", "L1D", "L2", "L3"};
    json_t *table = NULL;
    for (size_t k = 0; k < n; k++)
        for (size_t l = 0; l < sizeof(keys) / sizeof(keys[0]); l++) {
            const json_t *list = json_object_get(json_object_get(accounts[k].levels, keys[l]), "misses_by_cause"),
                         *value;
            const char *cause;
            double sum = 0;
            json_t *row;
            if (!json_is_object(list))
                continue;
            if (!table) {
                table = table_new(tables, "misses by cause");
                column(table, "program");
                column(table, "level");
                json_object_foreach((json_t *)list, cause, value) column(table, cause);
            }
            json_object_foreach((json_t *)list, cause, value) sum += json_number_value(value);
            row = row_new(table);
            cell(row, accounts[k].program);
            cell(row, names[l]);
            json_object_foreach((json_t *)list, cause, value) percent(row, json_number_value(value), sum);
        }
}

int peet_cli_account_tables(json_t *tables, const struct peet_cli_account *accounts, size_t n)
{
    const struct peet_cli_account *a = accounts;
    size_t rows = n > 1 ? n : (size_t)a->ncontexts + 1;
    struct peet_cli_stack *stacks = calloc(rows, sizeof(*stacks));
    if (!stacks)
        return -1;
    for (size_t k = 0; k < n; k++) {
        stacks[k] = accounts[k].all;
        snprintf(stacks[k].name, sizeof(stacks[k].name), "%s", accounts[k].program);
    }
    per_instruction(tables, accounts, stacks, n);
    if (n > 1) {
        put_table(tables, a, stacks, n, "where the cycles went", "program");
    } else {
        for (int i = 0; i < a->ncontexts; i++)
            stacks[i] = a->contexts[i];
        stacks[a->ncontexts] = a->all;
        snprintf(stacks[a->ncontexts].name, sizeof(stacks->name), "all");
        put_table(tables, a, stacks, a->ncontexts == 1 ? 1 : rows, "where the cycles went, by hardware context",
            "context");
        put_table(tables, a, a->functions, (size_t)a->nfunctions, "where the cycles went, by function", "function");
    }
    free(stacks);
    if (a->levels)
        levels(tables, accounts, n);
    causes(tables, accounts, n);
    return 0;
}

/* ---------------------------------------------------------------------------------------------- text */

/* A field in quotes (RFC 4180).  Names come from programs: control characters go, and what a spreadsheet would take for
 * a formula is made text. */
static void put_text(FILE *out, const char *name)
{
    fputs(*name && strchr("=+-@", *name) ? "\"'" : "\"", out);
    for (; *name; name++)
        fprintf(out, *name == '"' ? "\"\"" : "%c", (unsigned char)*name < ' ' || *name == 0x7f ? '?' : *name);
    fputs("\",", out);
}

static void put_stack(FILE *out, const struct peet_cli_account *a, size_t run, const char *kind,
    const struct peet_cli_stack *stack)
{
    for (int i = 0; i < a->ncategories; i++) {
        fprintf(out, "%zu,", run);
        put_text(out, a->program);
        fprintf(out, "%s,", kind);
        put_text(out, stack->name);
        fprintf(out, "%s,%.0f\n", a->categories[i], stack->cycles[i]);
    }
}

static void put_account(FILE *out, const struct peet_cli_account *a, size_t run)
{
    const json_t *window, *value;
    const char *key;
    size_t i;
    put_stack(out, a, run, "run", &a->all);
    for (int c = 0; c < a->ncontexts; c++)
        put_stack(out, a, run, "context", &a->contexts[c]);
    for (int f = 0; f < a->nfunctions; f++)
        put_stack(out, a, run, "function", &a->functions[f]);
    json_array_foreach((json_t *)a->windows, i, window)
        json_object_foreach((json_t *)window, key, value) if (strcmp(key, "cycle") != 0)
    {
        fprintf(out, "%zu,", run);
        put_text(out, a->program);
        fprintf(out, "window,%.0f,%s,%.0f\n", number(window, "cycle"), key, json_number_value(value));
    }
}

static void put_figures(FILE *out, const json_t *figures, const char *run_name, size_t run)
{
    const char *group, *item, *measure;
    json_t *items, *one, *value;
    json_object_foreach((json_t *)figures, group, items) json_object_foreach(items, item, one)
        json_object_foreach(one, measure, value)
    {
        fprintf(out, "%zu,", run);
        put_text(out, run_name);
        fprintf(out, "figure %s,", group);
        put_text(out, item);
        put_text(out, measure);
        fprintf(out, "%.17g\n", json_number_value(value));
    }
}

/* References in space and time: the row's address is the name, the window's begin and what was done the category. */
static void put_references(FILE *out, const json_t *references, const char *run_name, size_t run)
{
    static const char *const kinds[] = {"reads", "writes"};
    const json_t *row, *value;
    size_t i, k;
    json_array_foreach(json_object_get(references, "rows"), i, row) for (int w = 0; w < 2; w++)
        json_array_foreach(json_object_get(row, kinds[w]), k, value) if (json_number_value(value) > 0)
    {
        fprintf(out, "%zu,", run);
        put_text(out, run_name);
        fprintf(out, "references,0x%llx,%s %.0f,%.0f\n", (unsigned long long)number(row, "address"), kinds[w],
            (double)k * number(references, "window_cycles"), json_number_value(value));
    }
}

int peet_cli_csv(const struct peet_cli_account *accounts, json_t *const *stats, json_t *const *figures,
    const char *const *names, size_t n, const char *path, struct peet_error *error)
{
    struct peet_file file;
    int err = peet_file_create(path, &file, error);
    if (err)
        return err;
    FILE *out = file.stream;
    fputs("run,program,kind,name,category,value\n", out);
    for (size_t k = 0; k < n; k++) {
        if (accounts)
            put_account(out, &accounts[k], k);
        put_figures(out, figures[k], names[k], k);
        put_references(out, json_object_get(stats[k], "references"), names[k], k);
    }
    return peet_file_commit(&file, error);
}
