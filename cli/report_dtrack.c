/* SPDX-License-Identifier: Apache-2.0 */
/* Data profiles and their tables; see report.h.  Whatever is missing in a stats.json counts as nothing. */
#include "report.h"

#include "number.h"
#include "report_table.h"

#include <stdlib.h>
#include <string.h>

enum { DETAILS = 12, PAIRS = 10, SITES = 12 };

static const json_t *level_of(const json_t *node, int level)
{
    return json_array_get(json_object_get(node, "levels"), (size_t)level);
}

double peet_cli_sum(const double *parts, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += parts[i];
    return sum;
}

const char *peet_cli_part_name(const struct peet_cli_profile *profile, int part, char out_name[static 8])
{
    if (part >= profile->top)
        return part == profile->top ? "stack" : "rest";
    snprintf(out_name, 8, "DS%d", part + 1);
    return out_name;
}

static void book(struct peet_cli_profile *p, const json_t *node, int part)
{
    p->accesses[part] += number(node, "reads") + number(node, "writes");
    p->stalls[part] += number(node, "stall_cycles");
    for (int l = 0; l < p->nlevels; l++) {
        const json_t *level = level_of(node, l);
        p->misses[l][part] += number(level, "misses");
        p->same[l] += number(level, "premature_evictions_by_same");
        p->other[l] += number(level, "premature_evictions_by_other");
    }
}

int peet_cli_profile(const json_t *stats, int top, struct peet_cli_profile *out_profile, struct peet_error *error)
{
    const char *program = text(json_object_get(stats, "config"), "program"), *base = strrchr(program, '/');
    struct peet_cli_profile *p = out_profile;
    const json_t *structure;
    size_t i;
    int named = 0;
    *p = (struct peet_cli_profile){.top = top, .parts = top + 2, .dtrack = json_object_get(stats, "dtrack")};
    if (!json_is_object(p->dtrack))
        return peet_error_set(error, PEET_ENOTFOUND,
            "the run was not observed by dtrack: \"peet run --observe dtrack\"");
    snprintf(p->program, sizeof(p->program), "%s", base ? base + 1 : program);
    p->nlevels = (int)json_array_size(json_object_get(p->dtrack, "levels"));
    if (p->nlevels > PEET_CLI_REPORT_LEVELS)
        p->nlevels = PEET_CLI_REPORT_LEVELS;
    for (int l = 0; l < p->nlevels; l++)
        p->levels[l] = text(level_of(p->dtrack, l), "name");
    json_array_foreach(json_object_get(p->dtrack, "structures"), i, structure)
    { /* most misses first */
        const char *kind = text(structure, "kind");
        if (strcmp(kind, "stack") == 0) {
            book(p, structure, top);
        } else if (named == top || strcmp(kind, "rest") == 0) {
            book(p, structure, top + 1);
        } else {
            p->structures[named] = structure;
            book(p, structure, named++);
        }
    }
    return 0; /* instruction fetches and page walks are no data */
}

/* ---------------------------------------------------------------------------------------------- tables */

static void part_columns(json_t *table, const struct peet_cli_profile *p)
{
    char name[8];
    column(table, "program");
    for (int i = 0; i < p->parts; i++)
        column(table, peet_cli_part_name(p, i, name));
}

/* How a sum is made up. */
static void shares(json_t *tables, const struct peet_cli_profile *profiles, size_t n, const char *title,
    const double *(*of)(const struct peet_cli_profile *, int), int level)
{
    json_t *table = table_new(tables, title);
    part_columns(table, profiles);
    for (size_t k = 0; k < n; k++) {
        const double *parts = of(&profiles[k], level);
        json_t *row = row_new(table);
        cell(row, profiles[k].program);
        for (int i = 0; i < profiles[k].parts; i++)
            percent(row, parts[i], peet_cli_sum(parts, profiles[k].parts));
    }
}

const double *peet_cli_accesses_of(const struct peet_cli_profile *p, int level)
{
    return level ? p->misses[level - 1] : p->accesses;
}

const double *peet_cli_misses_of(const struct peet_cli_profile *p, int level)
{
    return p->misses[level];
}

const double *peet_cli_stalls_of(const struct peet_cli_profile *p, int level)
{
    (void)level;
    return p->stalls;
}

static void rates(json_t *tables, const struct peet_cli_profile *profiles, size_t n, const char *title, int level)
{
    json_t *table = table_new(tables, title);
    part_columns(table, profiles);
    column(table, "all");
    for (size_t k = 0; k < n; k++) {
        const double *accesses = peet_cli_accesses_of(&profiles[k], level), *misses = profiles[k].misses[level];
        json_t *row = row_new(table);
        cell(row, profiles[k].program);
        for (int i = 0; i < profiles[k].parts; i++)
            percent(row, misses[i], accesses[i]);
        percent(row, peet_cli_sum(misses, profiles[k].parts), peet_cli_sum(accesses, profiles[k].parts));
    }
}

static void premature(json_t *tables, const struct peet_cli_profile *profiles, size_t n)
{
    json_t *table = table_new(tables, "premature evictions: of all misses, and by whom");
    column(table, "program");
    for (int l = 0; l < profiles->nlevels; l++) {
        char name[60];
        snprintf(name, sizeof(name), "%.20s misses", profiles->levels[l]);
        column(table, name);
        column(table, "by the same");
        column(table, "by another");
    }
    for (size_t k = 0; k < n; k++) {
        const struct peet_cli_profile *p = &profiles[k];
        json_t *row = row_new(table);
        cell(row, p->program);
        for (int l = 0; l < p->nlevels; l++) {
            percent(row, p->same[l] + p->other[l], peet_cli_sum(p->misses[l], p->parts));
            percent(row, p->same[l], p->same[l] + p->other[l]);
            percent(row, p->other[l], p->same[l] + p->other[l]);
        }
    }
}

/* "array of double, regular; 859KiB in 8-byte objects" */
static void describe(const json_t *s, char out[TEXT])
{
    char size[PEET_CLI_NUMBER_BYTES];
    const char *type = text(s, "type"), *pattern = text(s, "pattern");
    double peak = number(s, "bytes_peak"), objects = number(s, "objects"), element = number(s, "element_bytes");
    if (peak == 0)
        peak = number(s, "bytes");
    if (element == 0 && objects > 0)
        element = number(s, "bytes") / objects;
    if (peak >= 10240)
        snprintf(size, sizeof(size), "%.0f KB", peak / 1024);
    else
        snprintf(size, sizeof(size), "%.0f bytes", peak);
    snprintf(out, TEXT, "%s%s%.60s%s%s; %s in %.0f-byte objects", text(s, "container"), *type ? " of " : "", type,
        *pattern ? ", " : "", pattern, size, element);
}

static void descriptions(json_t *tables, const struct peet_cli_profile *profiles, size_t n)
{
    json_t *table = table_new(tables, "the structures");
    static const char *const heads[] = {"program", "", "name", "where", "objects", "what it is"};
    for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++)
        column(table, heads[i]);
    for (size_t k = 0; k < n; k++)
        for (int i = 0; i < profiles[k].top && profiles[k].structures[i]; i++) {
            const json_t *s = profiles[k].structures[i];
            const char *file = text(s, "file"), *base = strrchr(file, '/');
            char what[TEXT], name[8];
            json_t *row = row_new(table);
            cell(row, i ? "" : profiles[k].program);
            cell(row, peet_cli_part_name(&profiles[k], i, name));
            cell(row, text(s, "name"));
            snprintf(what, sizeof(what), "%.60s:%.0f", base ? base + 1 : file, number(s, "line"));
            cell(row, number(s, "line") > 0 ? what : base ? base + 1 : file);
            json_array_append_new(row, json_integer((json_int_t)number(s, "objects")));
            describe(s, what);
            cell(row, what);
        }
}

/* ---------------------------------------------------------------------------------------- one run alone */

static void pairs(json_t *tables, const struct peet_cli_profile *p)
{
    const json_t *list = json_object_get(p->dtrack, "premature_evictions"), *one;
    size_t i;
    if (json_array_size(list) == 0)
        return;
    json_t *table = table_new(tables, "who drives out whom too early");
    static const char *const heads[] = {"victim", "evictor", "level", "misses"};
    for (size_t k = 0; k < sizeof(heads) / sizeof(heads[0]); k++)
        column(table, heads[k]);
    size_t shown[PEET_CLI_REPORT_LEVELS] = {0};
    json_array_foreach((json_t *)list, i, one)
    {
        int level = 0;
        while (level < p->nlevels - 1 && strcmp(p->levels[level], text(one, "level")) != 0)
            level++;
        if (shown[level]++ >= PAIRS)
            continue;
        json_t *row = row_new(table);
        cell(row, text(one, "victim"));
        cell(row, text(one, "evictor"));
        cell(row, text(one, "level"));
        json_array_append_new(row, json_integer((json_int_t)number(one, "count")));
    }
}

static void sharing(json_t *tables, const struct peet_cli_profile *p)
{
    static const char *const classes[] = {
        "private", "read-shared", "producer-consumer", "migratory", "false-shared", "mixed"};
    const json_t *list = json_object_get(p->dtrack, "structures"), *one;
    json_t *table = NULL;
    size_t i, shown = 0;
    json_array_foreach((json_t *)list, i, one)
    {
        const json_t *s = json_object_get(one, "sharing"), *lines = json_object_get(s, "lines");
        if (!s || shown++ >= DETAILS)
            continue;
        if (!table) {
            table = table_new(tables, "sharing: lines of each kind, coherence misses");
            column(table, "structure");
            column(table, "mostly");
            for (size_t c = 0; c < sizeof(classes) / sizeof(classes[0]); c++)
                column(table, classes[c]);
            column(table, "true-sharing misses");
            column(table, "false-sharing misses");
        }
        json_t *row = row_new(table);
        cell(row, text(one, "name"));
        cell(row, text(s, "class"));
        for (size_t c = 0; c < sizeof(classes) / sizeof(classes[0]); c++)
            json_array_append_new(row, json_integer((json_int_t)number(lines, classes[c])));
        json_array_append_new(row, json_integer((json_int_t)number(s, "true_sharing_misses")));
        json_array_append_new(row, json_integer((json_int_t)number(s, "false_sharing_misses")));
    }
}

static void false_sharing(json_t *tables, const struct peet_cli_profile *p)
{
    const json_t *line, *site;
    size_t i, k;
    json_array_foreach(json_object_get(p->dtrack, "falsely_shared_lines"), i, line)
    {
        char title[2 * TEXT];
        static const char *const heads[] = {"field", "processor", "access", "by", "times"};
        snprintf(title, sizeof(title), "falsely shared line %.20s of %.80s: %.0f false-sharing misses, %.0f true",
            text(line, "address"), text(line, "structure"), number(line, "false_sharing_misses"),
            number(line, "true_sharing_misses"));
        json_t *table = table_new(tables, title);
        for (size_t h = 0; h < sizeof(heads) / sizeof(heads[0]); h++)
            column(table, heads[h]);
        json_array_foreach(json_object_get(line, "accesses"), k, site)
        {
            const char *file = text(site, "file"), *base = strrchr(file, '/');
            char out[TEXT];
            if (k == SITES)
                break;
            json_t *row = row_new(table);
            snprintf(out, sizeof(out), "%.60s%s%.60s", text(site, "structure"),
                *text(site, "field") && *text(site, "field") != '[' ? "." : "", text(site, "field"));
            cell(row, out);
            json_array_append_new(row, json_integer((json_int_t)number(site, "processor")));
            cell(row, text(site, "access"));
            snprintf(out, sizeof(out), "%.60s, %.60s:%.0f", text(site, "function"), base ? base + 1 : file,
                number(site, "line"));
            cell(row, number(site, "line") > 0 ? out : text(site, "function"));
            json_array_append_new(row, json_integer((json_int_t)number(site, "times")));
        }
    }
}

json_t *peet_cli_profile_tables(const struct peet_cli_profile *profiles, size_t n)
{
    json_t *tables = json_array();
    char title[TEXT];
    double stalls = 0;
    int level_count = profiles->nlevels;
    if (!tables)
        return NULL;
    for (size_t k = 0; k < n; k++) {
        stalls += peet_cli_sum(profiles[k].stalls, profiles[k].parts);
        level_count = profiles[k].nlevels < level_count ? profiles[k].nlevels : level_count;
    }
    shares(tables, profiles, n, "accesses by data structure", peet_cli_accesses_of, 0);
    for (int l = 0; l < level_count; l++) {
        snprintf(title, sizeof(title), "%.20s misses by data structure", profiles->levels[l]);
        shares(tables, profiles, n, title, peet_cli_misses_of, l);
        snprintf(title, sizeof(title), "%.20s misses of %.20s%s", profiles->levels[l],
            l ? profiles->levels[l - 1] : "accesses", l ? " misses" : "");
        rates(tables, profiles, n, title, l);
    }
    if (stalls > 0)
        shares(tables, profiles, n, "stall cycles by data structure", peet_cli_stalls_of, 0);
    if (level_count)
        premature(tables, profiles, n);
    descriptions(tables, profiles, n);
    if (n == 1) {
        pairs(tables, profiles);
        sharing(tables, profiles);
        false_sharing(tables, profiles);
    }
    return tables;
}
