/* SPDX-License-Identifier: Apache-2.0 */
/* peet report: what runs have left in their folders, for people; tables and pictures by data structure. */
#include "common.h"
#include "report.h"
#include "module_tables.h"

#include <argp.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum { KEY_JSON = 0x100, DEFAULT_TOP = 3, WIDE = 4096 };

struct asked {
    const char **folders;
    size_t nfolders;
    const char *plot;
    int top, json;
};

static const struct argp_option options[] = {
    { "top", 't', "K", 0, "Name the K structures with most misses, 1 to 10; default 3", 0 },
    { "plot", 'p', "FILE", 0, "Draw stacked bars into FILE: .svg, .png or .pdf", 0 },
    { "json", KEY_JSON, NULL, 0, "Print the tables as JSON", 0 },
    { 0 },
};

static error_t read_option(int key, char *text, struct argp_state *state)
{
    struct asked *asked = state->input;
    char *end;
    long top;
    switch (key) {
    case 't':
        top = strtol(text, &end, 10);
        if (*end || end == text || top < 1 || top > PEET_CLI_REPORT_TOP)
            argp_error(state, "--top: '%s' is no number from 1 to %d", text, PEET_CLI_REPORT_TOP);
        asked->top = (int)top;
        return 0;
    case 'p':
        asked->plot = text;
        return 0;
    case KEY_JSON:
        asked->json = 1;
        return 0;
    case ARGP_KEY_ARG:
        asked->folders[asked->nfolders++] = text;
        return 0;
    }
    return ARGP_ERR_UNKNOWN;
}

static const struct argp parser = {
    .options = options,
    .parser = read_option,
    .args_doc = "[DIR...]",
    .doc = "Data profiles of runs that were observed by dtrack: accesses, misses, stalls and premature evictions by data "
           "structure, what the structures are, who shares them.\v"
           "DIR is the folder of a run's results, default peet.out; several of them stand side by side.",
};

static json_t *load(const char *folder)
{
    char path[PATH_MAX];
    json_error_t where;
    if ((size_t)snprintf(path, sizeof(path), "%s/stats.json", folder) >= sizeof(path)) {
        peet_cli_complain("%s: the name is too long", folder);
        return NULL;
    }
    json_t *stats = json_load_file(path, 0, &where);
    if (!stats)
        peet_cli_complain("%s: %s; \"peet run --observe dtrack -d %s -- PROG\" makes it", path, where.text, folder);
    return stats;
}

static int show(const struct asked *asked, const struct peet_cli_profile *profiles, size_t n)
{
    struct peet_error error = {0};
    json_t *tables = peet_cli_profile_tables(profiles, n), *table;
    size_t i;
    if (!tables) {
        peet_cli_complain("out of memory");
        return PEET_CLI_FAILED;
    }
    if (asked->json) {
        json_dumpf(tables, stdout, JSON_INDENT(2) | JSON_PRESERVE_ORDER);
        putchar('\n');
    } else {
        json_array_foreach(tables, i, table) {
            if (i)
                putchar('\n');
            peet_cli_module_table(stdout, table, WIDE);
        }
    }
    json_decref(tables);
    if (asked->plot && peet_cli_profile_plot(profiles, n, asked->plot, &error))
        return peet_cli_fail(&error);
    return PEET_CLI_OK;
}

int peet_cli_report(int argc, char **argv)
{
    struct asked asked = {.top = DEFAULT_TOP};
    struct peet_error error = {0};
    int status = PEET_CLI_OK;
    size_t n = 0;
    asked.folders = calloc((size_t)argc + 1, sizeof(*asked.folders));
    struct peet_cli_profile *profiles = calloc((size_t)argc + 1, sizeof(*profiles));
    json_t **stats = calloc((size_t)argc + 1, sizeof(*stats));
    if (!asked.folders || !profiles || !stats) {
        peet_cli_complain("out of memory");
        status = PEET_CLI_FAILED;
    } else if (argp_parse(&parser, argc, argv, 0, NULL, &asked) != 0) {
        status = PEET_CLI_USAGE;
    }
    if (status == PEET_CLI_OK && asked.nfolders == 0)
        asked.folders[asked.nfolders++] = "peet.out";
    for (; status == PEET_CLI_OK && n < asked.nfolders; n++) {
        stats[n] = load(asked.folders[n]);
        if (!stats[n])
            status = PEET_CLI_USAGE;
        else if (peet_cli_profile(stats[n], asked.top, &profiles[n], &error)) {
            peet_cli_complain("%s: %s", asked.folders[n], error.message);
            status = PEET_CLI_USAGE;
        }
    }
    if (status == PEET_CLI_OK)
        status = show(&asked, profiles, n);
    for (size_t i = 0; stats && i < (size_t)argc; i++)
        json_decref(stats[i]);
    free(stats);
    free(profiles);
    free(asked.folders);
    return peet_cli_finish_stdout(status);
}
