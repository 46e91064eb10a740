/* SPDX-License-Identifier: Apache-2.0 */
/* The page of runs; see html.h. */
#include "html.h"

#include "base/files.h"
#include "export.h"
#include "figures.h"
#include "names.h"
#include "page.h"
#include "report.h"
#include "report_stacks.h"
#include "report_table.h"

#include <limits.h>
#include <string.h>

enum { PATHS = 20000, ITEMS = 20000, SOURCES = 40, SOURCE_LINES = 20000, SOURCE_COLUMNS = 400, TOP = 25 };

extern const char peet_html_d3[], peet_html_d3_end[], peet_html_script[], peet_html_script_end[], peet_html_style[],
    peet_html_style_end[];

/* The first entries of a list; a page cannot hold any number of them. */
static json_t *first(const json_t *list, size_t most)
{
    json_t *out = json_array(), *one;
    size_t i;
    json_array_foreach((json_t *)list, i, one) if (i < most) json_array_append(out, one);
    return out;
}

static json_t *profile_of(const json_t *stats)
{
    const json_t *profile = json_object_get(stats, "profile");
    if (!json_is_array(json_object_get(profile, "functions")))
        return NULL;
    return json_pack("{s:O, s:o, s:o, s:o, s:o}", "totals", json_object_get(profile, "totals"), "functions",
        first(json_object_get(profile, "functions"), ITEMS), "lines", first(json_object_get(profile, "lines"), ITEMS),
        "paths", first(json_object_get(profile, "paths"), PATHS), "transfers",
        first(json_object_get(profile, "transfers"), ITEMS));
}

/* What of a machine's statistics stands over time. */
static json_t *machine_of(const json_t *stats)
{
    const json_t *node = peet_cli_machine_node(stats);
    static const char *const below[] = {"bus", "memory"};
    json_t *out = json_object();
    json_object_set(out, "windows", json_object_get(node, "windows"));
    for (size_t i = 0; i < sizeof(below) / sizeof(below[0]); i++)
        if (json_is_array(json_object_get(json_object_get(node, below[i]), "windows")))
            json_object_set_new(out, below[i],
                json_pack("{s:O}", "windows", json_object_get(json_object_get(node, below[i]), "windows")));
    return out;
}

/* Are they whole?  The page draws each cell. */
static int are_references(const json_t *references)
{
    size_t windows = (size_t)json_integer_value(json_object_get(references, "windows")), i;
    const json_t *rows = json_object_get(references, "rows"), *row;
    int good =
        windows > 0 && json_is_array(rows) && json_integer_value(json_object_get(references, "window_cycles")) > 0;
    json_array_foreach((json_t *)rows, i, row) good = good &&
        json_array_size(json_object_get(row, "reads")) == windows &&
        json_array_size(json_object_get(row, "writes")) == windows &&
        json_is_array(json_object_get(row, "structures")) && json_is_integer(json_object_get(row, "address"));
    return good;
}

static json_t *stats_of(const json_t *stats)
{
    const json_t *dtrack = json_object_get(stats, "dtrack"), *graph = json_object_get(stats, "graph");
    json_t *out = json_pack("{s:I, s:o}", "hw", (json_int_t)json_array_size(json_object_get(stats, "hw")), "machine",
               machine_of(stats)),
           *one = profile_of(stats);
    if (one)
        json_object_set_new(out, "profile", one);
    if (json_is_array(json_object_get(dtrack, "structures"))) {
        json_object_set_new(out, "structures", first(json_object_get(dtrack, "structures"), ITEMS));
        json_object_set_new(out, "collisions", first(json_object_get(dtrack, "falsely_shared_lines"), ITEMS));
        json_object_set(out, "levels", json_object_get(dtrack, "levels"));
    }
    if (are_references(json_object_get(stats, "references")))
        json_object_set(out, "references", json_object_get(stats, "references"));
    if (json_is_array(json_object_get(graph, "parallelism_over_time")) &&
        json_is_array(json_object_get(graph, "critical_functions")))
        json_object_set_new(out, "graph",
            json_pack("{s:O?, s:O?, s:O?, s:O?, s:O, s:O}", "work_cycles", json_object_get(graph, "work_cycles"),
                "span_cycles", json_object_get(graph, "span_cycles"), "parallelism",
                json_object_get(graph, "parallelism"), "window_cycles", json_object_get(graph, "window_cycles"),
                "parallelism_over_time", json_object_get(graph, "parallelism_over_time"), "critical_functions",
                json_object_get(graph, "critical_functions")));
    if (json_is_array(json_object_get(graph, "task_data")))
        json_object_set_new(json_object_get(out, "graph"), "task_data",
            first(json_object_get(graph, "task_data"), ITEMS));
    return out;
}

/* --------------------------------------------------------------------------------------------------- source */

/* The lines of a text file; what is no UTF-8 there becomes '?'.  NULL: it cannot be read, or is no source */
static json_t *lines_of(const char *name)
{
    char line[SOURCE_COLUMNS];
    FILE *in = fopen(name, "re");
    json_t *lines = json_array();
    int more = 0; /* of a line that was cut */
    while (in && json_array_size(lines) < SOURCE_LINES && fgets(line, sizeof(line), in)) {
        size_t length = strcspn(line, "\n");
        int whole = line[length] == '\n';
        line[length] = '\0';
        if (!more)
            cell(lines, line);
        more = !whole;
    }
    if (in)
        fclose(in);
    if (json_array_size(lines) > 0)
        return lines;
    json_decref(lines);
    return NULL;
}

/* Only what is called like source is read: the names come from the results. */
static int is_source(const char *name)
{
    static const char *const endings[] = {".c", ".h", ".cc", ".cpp", ".cxx", ".C", ".hh", ".hpp", ".hxx", ".inl",
        ".inc", ".ipp", ".tcc", ".f", ".F", ".f90", ".F90"};
    const char *dot = strrchr(name, '.');
    for (size_t i = 0; dot && i < sizeof(endings) / sizeof(endings[0]); i++)
        if (strcmp(dot, endings[i]) == 0)
            return 1;
    return 0;
}

/* A name that is not absolute is looked for here, then beside the program. */
static json_t *source_of(const json_t *stats, const char *name)
{
    const char *program = text(json_object_get(stats, "config"), "program"), *slash = strrchr(program, '/');
    char beside[PATH_MAX];
    json_t *lines = is_source(name) ? lines_of(name) : NULL;
    if (lines || !is_source(name) || *name == '/' || !slash ||
        (size_t)snprintf(beside, sizeof(beside), "%.*s/%s", (int)(slash - program), program, name) >= sizeof(beside))
        return lines;
    return lines_of(beside);
}

static json_t *sources_of(const json_t *stats)
{
    json_t *files = json_object(), *tried = json_object();
    const json_t *one;
    size_t i;
    json_array_foreach(json_object_get(json_object_get(stats, "profile"), "lines"), i, one)
    {
        const char *name = text(one, "file");
        if (!*name || json_object_get(tried, name) || json_object_size(files) >= SOURCES)
            continue;
        json_object_set_new(tried, name, json_true());
        json_t *lines = source_of(stats, name);
        if (lines)
            json_object_set_new(files, name, lines);
    }
    json_decref(tried);
    return files;
}

/* ----------------------------------------------------------------------------------------------------- data */

static json_t *tables_of(const json_t *stats, const json_t *figures)
{
    json_t *tables = peet_cli_page(figures), *more, *module;
    struct peet_cli_profile profile;
    struct peet_cli_account account;
    struct peet_error none = {0};
    const char *key;
    if (peet_cli_profile(stats, PEET_CLI_REPORT_TOP, &profile, &none) == 0 &&
        (more = peet_cli_profile_tables(&profile, 1))) {
        json_array_extend(tables, more);
        json_decref(more);
    }
    none = (struct peet_error){0};
    if (peet_cli_account(stats, TOP, &account, &none) == 0) {
        peet_cli_account_tables(tables, &account, 1);
        peet_cli_account_fini(&account);
    }
    json_object_foreach((json_t *)stats, key, module)
    {
        json_t *table;
        size_t i;
        json_array_foreach(json_object_get(module, "tables"), i,
            table) if (json_is_array(json_object_get(table, "columns")) &&
            json_is_array(json_object_get(table, "rows"))) json_array_append(tables, table);
    }
    return tables;
}

static json_t *run_of(const json_t *stats, json_t *figures, const char *folder)
{
    char title[160];
    json_t *names = peet_cli_object_names(stats), *timeline = peet_cli_html_timeline(folder, stats, names),
           *label = json_array();
    peet_cli_run_name(stats, title, sizeof(title));
    cell(label, title); /* no name is too odd for JSON */
    cell(label, folder);
    json_t *run = json_pack("{s:O, s:O, s:o, s:O, s:o, s:o}", "title", json_array_get(label, 0), "folder",
        json_array_get(label, 1), "stats", stats_of(stats), "figures", figures, "tables", tables_of(stats, figures),
        "source", sources_of(stats));
    if (timeline)
        json_object_set_new(run, "timeline", timeline);
    json_decref(names);
    json_decref(label);
    return run;
}

/* -------------------------------------------------------------------------------------------------- writing */

/* JSON inside a script element: '<' only stands in texts there, where its escape means the same. */
static int put_json(const char *buffer, size_t bytes, void *arg)
{
    FILE *out = arg;
    for (size_t i = 0; i < bytes; i++)
        if (buffer[i] == '<')
            fputs("\\u003c", out);
        else
            fputc(buffer[i], out);
    return ferror(out) ? -1 : 0;
}

int peet_cli_html(json_t *const *stats, json_t *const *figures, const char *const *folders, size_t n, const char *path,
    struct peet_error *error)
{
    json_t *data = json_pack("{s:i, s:[]}", "version", 1, "runs");
    for (size_t i = 0; i < n; i++)
        json_array_append_new(json_object_get(data, "runs"), run_of(stats[i], figures[i], folders[i]));
    if (n > 1)
        json_object_set_new(data, "compare", peet_cli_side_by_side(figures, folders, n, TOP));
    json_t *shared = data;
    data = json_deep_copy(shared); /* the results keep their names */
    json_decref(shared);
    peet_cli_name_all(data);
    struct peet_file file;
    FILE *out = peet_file_create(path, &file, error) ? NULL : file.stream;
    if (!out) {
        json_decref(data);
        return PEET_EIO;
    }
    fputs(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'\">\n"
        "<meta name=\"viewport\" content=\"width=device-width\"><title>peet</title>\n<style>\n",
        out);
    fwrite(peet_html_style, 1, (size_t)(peet_html_style_end - peet_html_style), out);
    fputs(
        "</style></head><body><header><h1>peet</h1></header><nav></nav><main></main>\n<script id=\"data\" type=\"application/json\">",
        out);
    int bad = json_dump_callback(data, put_json, out, JSON_COMPACT | JSON_ENSURE_ASCII | JSON_REAL_PRECISION(6)) != 0;
    fputs("</script>\n<script>\n", out);
    fwrite(peet_html_d3, 1, (size_t)(peet_html_d3_end - peet_html_d3), out);
    fputs("\n</script>\n<script>\n", out);
    fwrite(peet_html_script, 1, (size_t)(peet_html_script_end - peet_html_script), out);
    fputs("</script>\n</body></html>\n", out);
    json_decref(data);
    if (bad && !ferror(out)) /* else the file has failed, which closing it says */
        peet_error_set(error, PEET_ENOMEM, "out of memory for the page");
    return peet_file_end(&file, !bad || ferror(out), error);
}
