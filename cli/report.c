/* SPDX-License-Identifier: Apache-2.0 */
/* peet report: what runs have left in their folders, for people: the page of any run, several side by side, tables and
 * pictures by data structure, and of where the cycles went. */
#include "arguments.h"
#include "common.h"
#include "export.h"
#include "figures.h"
#include "html.h"
#include "page.h"
#include "report.h"
#include "report_stacks.h"
#include "module_tables.h"
#include "table.h"
#include "text.h"

#include <argp.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum {
    KEY_JSON = 0x100,
    KEY_CSV,
    KEY_CALLGRIND,
    KEY_COLLAPSED,
    KEY_MEASURE,
    KEY_TRACE,
    KEY_DOT,
    KEY_PNML,
    KEY_HTML,
    DEFAULT_TOP = 3,
    FUNCTIONS = 10
};

struct asked {
    const char **folders;
    size_t nfolders;
    const char *plot, *csv, *callgrind, *collapsed, *measure, *trace, *dot, *pnml, *html;
    int top, json;
};

/** The runs, and what there is of all of them. */
struct runs {
    size_t n;
    json_t **stats, **figures;
    struct peet_cli_profile *profiles;
    struct peet_cli_account *accounts;
    int have_profiles, have_accounts;
    size_t naccounts; /* to be given back */
};

static const struct argp_option options[] = {
    {"top", 't', "K", 0, "Name the K structures with most misses, 1 to 10; default 3", 0},
    {"plot", 'p', "FILE", 0, "Draw all that into FILE: .svg, .png or .pdf", 0},
    {"csv", KEY_CSV, "FILE", 0,
        "Write all figures of the runs, and the counts over time, into FILE, as comma-separated text", 0},
    {"callgrind", KEY_CALLGRIND, "FILE", 0,
        "Write the profile of a run (--observe profile) into FILE as callgrind does, for KCachegrind", 0},
    {"collapsed", KEY_COLLAPSED, "FILE", 0, "Write its call paths into FILE as collapsed stacks, for flame graphs", 0},
    {"measure", KEY_MEASURE, "NAME", 0,
        "What --collapsed counts: cycles (default), instructions, reads, l1d_misses, ...", 0},
    {"trace", KEY_TRACE, "FILE", 0,
        "Write the time line of a run (--observe timeline) into FILE as trace events, for Perfetto", 0},
    {"dot", KEY_DOT, "FILE", 0, "Write the precedence graph of a run (--observe graph) into FILE, for GraphViz", 0},
    {"pnml", KEY_PNML, "FILE", 0, "Write it as a Petri net (PNML, ISO/IEC 15909-2)", 0},
    {"html", KEY_HTML, "FILE", 0,
        "Write one page with everything that the runs have left, for a browser; it needs no network", 0},
    {"json", KEY_JSON, NULL, 0, "Print the tables as JSON", 0},
    {0},
};

/* Returns: whether files were asked for, and no tables */
static int only_files(const struct asked *asked)
{
    return !asked->json &&
        (asked->plot || asked->csv || asked->callgrind || asked->collapsed || asked->trace || asked->dot ||
            asked->pnml || asked->html);
}

static const char standard_output[] = "/dev/stdout";

/* What "-" stands for, as in other commands. */
static const char *file_of(const char *text)
{
    return strcmp(text, "-") == 0 ? standard_output : text;
}

static error_t read_option(int key, char *text, struct argp_state *state)
{
    struct asked *asked = state->input;

    switch (key) {
    case 't':
        asked->top = (int)peet_cli_count(state, "--top", text, 1, PEET_CLI_REPORT_TOP);
        return 0;
    case 'p':
        asked->plot = text;
        return 0;
    case KEY_CSV:
        asked->csv = file_of(text);
        return 0;
    case KEY_CALLGRIND:
        asked->callgrind = file_of(text);
        return 0;
    case KEY_COLLAPSED:
        asked->collapsed = file_of(text);
        return 0;
    case KEY_MEASURE:
        asked->measure = text;
        return 0;
    case KEY_TRACE:
        asked->trace = file_of(text);
        return 0;
    case KEY_DOT:
        asked->dot = file_of(text);
        return 0;
    case KEY_PNML:
        asked->pnml = file_of(text);
        return 0;
    case KEY_HTML:
        asked->html = file_of(text);
        return 0;
    case KEY_JSON:
        asked->json = 1;
        return 0;
    case ARGP_KEY_ARG:
        asked->folders[asked->nfolders++] = text;
        return 0;
    case ARGP_KEY_END:
        if (asked->measure && !asked->collapsed)
            argp_error(state, "--measure: it says what --collapsed counts");
        if (asked->top && only_files(asked) && !asked->plot)
            argp_error(state, "--top: it is of tables and --plot; nothing that is asked for has it");
        if (!asked->top)
            asked->top = DEFAULT_TOP;
        return 0;
    }
    return ARGP_ERR_UNKNOWN;
}

static const struct argp parser = {
    .options = options,
    .parser = read_option,
    .args_doc = "[DIR...]",
    .doc =
        "What runs have left, as tables and pictures.  Of any run the page that it ended with; several runs side by side, with differences, "
        "functions, lines, locks and data structures by name.  Of runs that were observed by dtrack, on any machine, their data profiles: "
        "accesses, misses, stalls and premature evictions by data structure, what the structures are, who shares them.  Of runs on a "
        "machine that keeps account of its cycles (x86), where those went: by hardware context, by function, for each instruction; misses "
        "by level, and over time.\v"
        "DIR is the folder of a run's results, default peet.out; several of them stand side by side.  Where files are asked for, no tables are printed.",
};

/* Returns: whether two runs can stand side by side. */
static int same_categories(const struct peet_cli_account *a, const struct peet_cli_account *b)
{
    int same = a->ncategories == b->ncategories;
    for (int i = 0; same && i < a->ncategories; i++)
        same = strcmp(a->categories[i], b->categories[i]) == 0;
    return same;
}

/* Runs of the same program are called by their folders. */
static void name_apart(const struct asked *asked, struct runs *runs)
{
    int same = 0;
    for (size_t i = 1; i < runs->n; i++)
        for (size_t k = 0; k < i && !same; k++)
            same = strcmp(runs->accounts[i].program, runs->accounts[k].program) == 0;
    for (size_t i = 0; i < runs->n && same; i++) {
        size_t length = strlen(asked->folders[i]), most = sizeof(runs->accounts[i].program) - 1;
        snprintf(runs->accounts[i].program, most + 1, "%s", asked->folders[i] + (length > most ? length - most : 0));
    }
}

static int read_runs(const struct asked *asked, struct runs *runs)
{
    size_t profiles = 0, accounts = 0;
    for (size_t i = 0; i < asked->nfolders; i++) {
        struct peet_error no_profile = {0}, no_account = {0};
        runs->stats[i] = peet_cli_stats_load(asked->folders[i]);
        if (!runs->stats[i])
            return PEET_CLI_USAGE;
        runs->n++;
        runs->figures[i] = peet_cli_figures(runs->stats[i]);
        if (!runs->figures[i])
            return PEET_CLI_FAILED;
        int profile = peet_cli_profile(runs->stats[i], asked->top, &runs->profiles[i], &no_profile) == 0;
        int account = peet_cli_account(runs->stats[i], FUNCTIONS, &runs->accounts[i], &no_account) == 0;
        runs->naccounts++;
        if (account && accounts && !same_categories(&runs->accounts[0], &runs->accounts[i]))
            account = 0; /* the figures are compared all the same */
        profiles += (size_t)profile;
        accounts += (size_t)account;
    }
    name_apart(asked, runs);
    runs->have_profiles = profiles == runs->n;
    runs->have_accounts = accounts == runs->n;
    return PEET_CLI_OK;
}

/* Nothing is said where the file itself goes. */
static int is_told(const char *file)
{
    return file && strcmp(file, standard_output) != 0;
}

/* Says what it has written, where, and what it has not: nobody has to look into the picture for that. */
static void say_what(const struct asked *asked, const struct runs *runs)
{
    if (asked->plot)
        printf("%s: drawn are%s%s%s\n", asked->plot, runs->have_profiles ? " the shares of data structures" : "",
            runs->have_profiles && runs->have_accounts ? ", and" : "",
            !runs->have_accounts ? ""
                : runs->n > 1    ? " cycles for each instruction, and in all"
                : json_array_size(runs->accounts->windows) > 1
                ? " where the cycles went, by hardware context and function, and misses over time"
                : " where the cycles went, by hardware context and function");
    if (is_told(asked->csv))
        printf("%s: all figures of the runs, and counts over time\n", asked->csv);
    if (is_told(asked->callgrind))
        printf("%s: the profile, for KCachegrind and callgrind_annotate\n", asked->callgrind);
    if (is_told(asked->collapsed))
        printf("%s: call paths, for flame graphs (speedscope, flamegraph.pl)\n", asked->collapsed);
    if (is_told(asked->trace))
        printf("%s: the time line, for ui.perfetto.dev or chrome://tracing\n", asked->trace);
    if (is_told(asked->dot))
        printf("%s: the precedence graph, for GraphViz (dot -Tsvg)\n", asked->dot);
    if (is_told(asked->pnml))
        printf("%s: the precedence graph as a Petri net\n", asked->pnml);
    if (is_told(asked->html))
        printf("%s: a page for the browser\n", asked->html);
    if (!only_files(asked) && (runs->have_profiles || runs->have_accounts)) {
        char folder[160] = "DIR...";
        if (asked->nfolders == 1)
            peet_cli_text_clean(folder, sizeof(folder), asked->folders[0], 30);
        printf("\n\"peet report --plot FILE.svg %s\" draws that\n", folder);
    }
}

/* What the tables say, of one run or of several. */
static json_t *tables_of(const struct asked *asked, const struct runs *runs)
{
    json_t *tables = runs->n == 1 ? peet_cli_page(runs->figures[0])
                                  : peet_cli_side_by_side(runs->figures, asked->folders, runs->n,
                                        asked->top < PEET_CLI_REPORT_TOP ? PEET_CLI_REPORT_TOP : asked->top);
    json_t *more = runs->have_profiles ? peet_cli_profile_tables(runs->profiles, runs->n) : json_array();
    int bad = !tables || !more || json_array_extend(tables, more) ||
        (runs->have_accounts && peet_cli_account_tables(tables, runs->accounts, runs->n));
    json_decref(more);
    if (!bad)
        return tables;
    json_decref(tables);
    return NULL;
}

static void print_tables(const struct asked *asked, const struct runs *runs, const json_t *tables)
{
    const json_t *table;
    int columns = peet_cli_terminal_columns(stdout);
    size_t i, from = 0;
    if (runs->n == 1) {
        json_t *page = peet_cli_page(runs->figures[0]);
        peet_cli_table_page(stdout, runs->stats[0], 0, columns);
        from = json_array_size(page);
        json_decref(page);
    }
    for (size_t k = 0; k < runs->n && runs->n > 1; k++)
        peet_cli_say_end(stdout, asked->folders[k], runs->stats[k]);
    json_array_foreach((json_t *)tables, i, table)
    {
        if (i < from)
            continue;
        if (i)
            putchar('\n');
        peet_cli_module_table(stdout, table, columns);
    }
}

/* Pictures and files that were asked for. */
static int write_files(const struct asked *asked, const struct runs *runs)
{
    struct peet_error error = {0};
    const struct peet_cli_profile *profiles = runs->have_profiles ? runs->profiles : NULL;
    const struct peet_cli_account *accounts = runs->have_accounts ? runs->accounts : NULL;
    if (asked->plot && !profiles && !accounts) {
        peet_cli_complain(
            "--plot: there is nothing to draw: runs observed by dtrack (\"--observe dtrack\"), and machines that keep account of their "
            "cycles (x86), have pictures");
        return PEET_CLI_USAGE;
    }
    if (asked->plot && peet_cli_report_plot(profiles, accounts, runs->n, asked->plot, &error))
        return peet_cli_fail(&error);
    if (asked->csv && peet_cli_csv(accounts, runs->stats, runs->figures, asked->folders, runs->n, asked->csv, &error))
        return peet_cli_fail(&error);
    if ((asked->callgrind || asked->collapsed || asked->trace || asked->dot || asked->pnml) && runs->n != 1) {
        peet_cli_complain("--callgrind, --collapsed, --trace, --dot and --pnml write one run each: give one folder");
        return PEET_CLI_USAGE;
    }
    if (asked->callgrind && peet_cli_export_callgrind(runs->stats[0], asked->callgrind, &error))
        return peet_cli_fail(&error);
    if (asked->collapsed && peet_cli_export_collapsed(runs->stats[0], asked->measure, asked->collapsed, &error))
        return peet_cli_fail(&error);
    if (asked->trace && peet_cli_export_trace(runs->stats[0], asked->folders[0], asked->trace, &error))
        return peet_cli_fail(&error);
    if (asked->dot && peet_cli_export_dot(runs->stats[0], asked->dot, &error))
        return peet_cli_fail(&error);
    if (asked->pnml && peet_cli_export_pnml(runs->stats[0], asked->pnml, &error))
        return peet_cli_fail(&error);
    if (asked->html && peet_cli_html(runs->stats, runs->figures, asked->folders, runs->n, asked->html, &error))
        return peet_cli_fail(&error);
    return PEET_CLI_OK;
}

/* Tables; none where files were asked for: what they hold need not be printed as well. */
static int print(const struct asked *asked, const struct runs *runs)
{
    if (only_files(asked))
        return PEET_CLI_OK;
    json_t *tables = tables_of(asked, runs);
    if (!tables) {
        peet_cli_complain("out of memory");
        return PEET_CLI_FAILED;
    }
    if (asked->json) {
        json_dumpf(tables, stdout, JSON_INDENT(2) | JSON_PRESERVE_ORDER);
        putchar('\n');
    } else {
        print_tables(asked, runs, tables);
    }
    json_decref(tables);
    return PEET_CLI_OK;
}

static int show(const struct asked *asked, const struct runs *runs)
{
    int status = print(asked, runs);
    if (status == PEET_CLI_OK)
        status = write_files(asked, runs);
    if (status == PEET_CLI_OK && !asked->json)
        say_what(asked, runs);
    return status;
}

int peet_cli_report(int argc, char **argv)
{
    struct asked asked = {0};
    size_t room = (size_t)argc + 1;
    struct runs runs = {.stats = calloc(room, sizeof(*runs.stats)),
        .profiles = calloc(room, sizeof(*runs.profiles)),
        .accounts = calloc(room, sizeof(*runs.accounts)),
        .figures = calloc(room, sizeof(*runs.figures))};
    int status = PEET_CLI_OK;
    asked.folders = calloc(room, sizeof(*asked.folders));
    if (!asked.folders || !runs.stats || !runs.profiles || !runs.accounts || !runs.figures) {
        peet_cli_complain("out of memory");
        status = PEET_CLI_FAILED;
    } else if (argp_parse(&parser, argc, argv, 0, NULL, &asked) != 0) {
        status = PEET_CLI_USAGE;
    }
    if (status == PEET_CLI_OK && asked.nfolders == 0)
        asked.folders[asked.nfolders++] = "peet.out";
    if (status == PEET_CLI_OK)
        status = read_runs(&asked, &runs);
    if (status == PEET_CLI_OK)
        status = show(&asked, &runs);
    for (size_t i = 0; i < runs.naccounts; i++)
        peet_cli_account_fini(&runs.accounts[i]);
    for (size_t i = 0; runs.stats && runs.figures && i < room; i++) {
        json_decref(runs.stats[i]);
        json_decref(runs.figures[i]);
    }
    free(runs.stats);
    free(runs.figures);
    free(runs.profiles);
    free(runs.accounts);
    free(asked.folders);
    return peet_cli_finish_stdout(status);
}
