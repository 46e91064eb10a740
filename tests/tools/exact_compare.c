/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compares per-function counts with callgrind's, to the last unit.
 *
 *   exact_compare --table EXPECTED CALLGRIND_OUT
 *       EXPECTED: lines "function instructions reads writes"
 *   exact_compare PLAIN_ELF CALLGRIND_OUT STATS_JSON [IMAGE...]
 *       STATS_JSON: with the observers counts and tally.  For each function that the schema knows and
 *       that ran, counts must equal tally's figures in the same convention, and in callgrind's
 *       convention callgrind's.  Library code, recorded or as functions of the image "peet", is only in the totals
 *       (recorded code is held against callgrind's by foreign_compare).
 *       IMAGE: base names of further objects (shared libraries) whose functions are compared too.
 *
 * CALLGRIND_OUT: written with --compress-strings=no --compress-pos=no --demangle=no --skip-plt=no.
 * Exit status: 0 equal, 1 different, 2 bad input.
 */
#include "elfsyms.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct cost {
    int64_t ir, dr, dw;
};

struct row {
    char *name;
    struct cost callgrind, counts, peet, converted;
    int in_callgrind, in_counts, in_tally;
};

static struct row *rows;
static unsigned nrows;

static int counts_as_callgrind; /* the convention that counts was asked for */

static struct row *row(const char *name)
{
    for (unsigned i = 0; i < nrows; i++)
        if (strcmp(rows[i].name, name) == 0)
            return &rows[i];
    rows = realloc(rows, (nrows + 1) * sizeof *rows);
    if (!rows)
        die("out of memory");
    memset(&rows[nrows], 0, sizeof *rows);
    rows[nrows].name = strdup(name);
    return &rows[nrows++];
}

/* The row of an entry of a list of functions. */
static struct row *row_of(const json_t *o, const struct elf_file *elf)
{
    return row(elf_canonical(elf, json_string_value(json_object_get(o, "name"))));
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* Self cost of every function of the wanted objects.  Lines after "calls=" are inclusive: skipped. */
static void read_callgrind(const char *path, const char *const *objects, const struct elf_file *elf)
{
    FILE *file = fopen(path, "r");
    if (!file)
        die("cannot read %s", path);
    char *line = NULL, object[4096] = "", function[65536] = "";
    size_t bytes = 0;
    int skip = 0, wanted = 0, first = 1, lines = 0;
    for (ssize_t n; (n = getline(&line, &bytes, file)) >= 0; lines++) {
        if (n && line[n - 1] == '\n')
            line[n - 1] = 0;
        if (first && strncmp(line, "# callgrind format", 18) != 0)
            die("%s: not a callgrind profile", path);
        first = 0;
        if (strncmp(line, "events: ", 8) == 0 && strncmp(line, "events: Ir Dr Dw", 16) != 0)
            die("%s: events are '%s', wanted Ir Dr Dw first (--cache-sim=yes)", path, line + 8);
        if (strncmp(line, "ob=", 3) == 0) {
            snprintf(object, sizeof object, "%s", base_name(line + 3));
            wanted = 0;
            for (int i = 0; objects[i]; i++)
                wanted |= strcmp(object, objects[i]) == 0;
        } else if (strncmp(line, "fn=", 3) == 0) {
            snprintf(function, sizeof function, "%s", line + 3);
            char *level = strrchr(function, '\''); /* recursion levels are apart: f, f'2 */
            if (level && level[1] && level[1 + strspn(level + 1, "0123456789")] == 0)
                *level = 0;
        } else if (strncmp(line, "calls=", 6) == 0) {
            skip = 1;
        } else if (line[0] >= '0' && line[0] <= '9') {
            struct cost c = {0, 0, 0};
            if (!skip && wanted && sscanf(line, "%*s %" SCNd64 " %" SCNd64 " %" SCNd64, &c.ir, &c.dr, &c.dw) >= 1) {
                struct row *r = row(elf ? elf_canonical(elf, function) : function);
                r->in_callgrind = 1;
                r->callgrind.ir += c.ir;
                r->callgrind.dr += c.dr;
                r->callgrind.dw += c.dw;
            }
            skip = 0;
        }
    }
    free(line);
    fclose(file);
    if (lines < 10)
        die("%s: empty profile", path);
}

static int64_t number(const json_t *object, const char *key, const char *path)
{
    const json_t *v = json_object_get(object, key);
    if (!json_is_integer(v))
        die("%s: a function without integer '%s'", path, key);
    return json_integer_value(v);
}

/* What stands for library calls (image "peet"), and libraries' recorded code (images without a path), is in no schema. */
static int in_no_schema(const json_t *function)
{
    const char *image = json_string_value(json_object_get(function, "image"));
    return image && !strchr(image, '/');
}

static void read_stats(const char *path, const struct elf_file *elf)
{
    json_error_t error;
    json_t *root = json_load_file(path, 0, &error), *o;
    if (!root)
        die("%s:%d: %s", path, error.line, error.text);
    json_t *counts = json_object_get(json_object_get(root, "counts"), "functions");
    json_t *tally = json_object_get(json_object_get(root, "tally"), "functions");
    const char *convention = json_string_value(json_object_get(json_object_get(root, "counts"), "convention"));
    counts_as_callgrind = !convention || strcmp(convention, "callgrind") == 0;
    if (!json_is_array(counts) || !json_is_array(tally))
        die("%s: no .counts.functions or no .tally.functions", path);
    struct cost sum = {0, 0, 0};
    size_t i;
    json_array_foreach(counts, i, o)
    {
        sum.ir += number(o, "instructions", path);
        sum.dr += number(o, "reads", path);
        sum.dw += number(o, "writes", path);
        if (in_no_schema(o))
            continue;
        struct row *r = row_of(o, elf);
        r->in_counts = 1;
        r->counts.ir += number(o, "instructions", path);
        r->counts.dr += number(o, "reads", path);
        r->counts.dw += number(o, "writes", path);
    }
    json_array_foreach(tally, i, o)
    {
        if (in_no_schema(o))
            continue;
        struct row *r = row_of(o, elf);
        r->in_tally = 1;
        r->peet.ir += number(o, "instructions", path);
        r->peet.dr += number(o, "reads", path);
        r->peet.dw += number(o, "writes", path);
        r->converted.ir += number(o, "callgrind_instructions", path);
        r->converted.dr += number(o, "callgrind_reads", path);
        r->converted.dw += number(o, "callgrind_writes", path);
    }
    const json_t *totals = json_object_get(root, "totals");
    if (number(totals, "instructions", path) != sum.ir || number(totals, "reads", path) != sum.dr || number(totals, "writes", path) != sum.dw)
        die("%s: .totals (%lld %lld %lld) is not the sum over .counts.functions (%lld %lld %lld)", path,
            (long long)number(totals, "instructions", path), (long long)number(totals, "reads", path),
            (long long)number(totals, "writes", path), (long long)sum.ir, (long long)sum.dr, (long long)sum.dw);
    json_decref(root);
}

static int same(struct cost a, struct cost b)
{
    return a.ir == b.ir && a.dr == b.dr && a.dw == b.dw;
}

static void show(const char *what, const struct row *r, const char *left, struct cost a, const char *right, struct cost b)
{
    static int titled;
    if (!titled++)
        printf("%-32s %-22s %14s %14s %14s\n", "function", "", "instructions", "reads", "writes");
    printf("%-32s %-22s %14" PRId64 " %14" PRId64 " %14" PRId64 "\n", r->name, left, a.ir, a.dr, a.dw);
    printf("%-32s %-22s %14" PRId64 " %14" PRId64 " %14" PRId64 "\n", what, right, b.ir, b.dr, b.dw);
    printf("%-32s %-22s %+14" PRId64 " %+14" PRId64 " %+14" PRId64 "\n", "", "difference", a.ir - b.ir, a.dr - b.dr, a.dw - b.dw);
}

static int compare_table(const char *expected, const char *callgrind)
{
    /* the object is whatever has a function of the table: objects are not named there */
    FILE *file = fopen(expected, "r");
    if (!file)
        die("cannot read %s", expected);
    char name[256], object[256];
    struct cost c;
    int bad = 0, n = 0;
    if (fscanf(file, "object %255s", object) != 1)
        die("%s: no line 'object NAME'", expected);
    read_callgrind(callgrind, (const char *const[]){object, NULL}, NULL);
    for (; fscanf(file, "%255s %" SCNd64 " %" SCNd64 " %" SCNd64, name, &c.ir, &c.dr, &c.dw) == 4; n++) {
        struct row *r = row(name);
        if (!same(r->callgrind, c)) {
            show("", r, "callgrind", r->callgrind, "expected", c);
            bad++;
        }
    }
    fclose(file);
    printf("%d functions, %d different\n", n, bad);
    return n == 0 ? 2 : bad != 0;
}

int main(int argc, char **argv)
{
    if (argc == 4 && strcmp(argv[1], "--table") == 0)
        return compare_table(argv[2], argv[3]);
    if (argc < 4)
        die("usage: exact_compare PLAIN_ELF CALLGRIND_OUT STATS_JSON [IMAGE...]");
    struct elf_file *elf = elf_file_open(argv[1]);
    const char **objects = calloc((size_t)argc, sizeof *objects);
    objects[0] = base_name(argv[1]);
    for (int i = 4; i < argc; i++)
        objects[i - 3] = argv[i];
    read_callgrind(argv[2], objects, elf);
    read_stats(argv[3], elf);
    int bad = 0, n = 0;
    struct cost zero = {0, 0, 0}, total = zero;
    for (unsigned i = 0; i < nrows; i++) {
        struct row *r = &rows[i];
        if (!r->in_counts && !r->in_tally)
            continue; /* start-up code and the like: not compiled by peetcc */
        if (!r->in_callgrind && same(r->counts, zero) && same(r->peet, zero))
            continue;
        n++;
        struct cost tally = counts_as_callgrind ? r->converted : r->peet;
        int wrong = 0;
        if (!same(r->converted, r->callgrind))
            wrong = 1, show("", r, "tally", r->converted, "callgrind", r->callgrind);
        if (counts_as_callgrind && !same(r->counts, r->callgrind))
            wrong = 1, show("", r, "counts", r->counts, "callgrind", r->callgrind);
        else if (!same(r->counts, tally))
            wrong = 1, show("", r, "counts", r->counts, "tally", tally);
        bad += wrong;
        total.ir += r->callgrind.ir;
        total.dr += r->callgrind.dr;
        total.dw += r->callgrind.dw;
    }
    printf("%d functions, %d different; callgrind: %" PRId64 " instructions, %" PRId64 " reads, %" PRId64 " writes\n", n, bad,
        total.ir, total.dr, total.dw);
    if (n == 0) {
        printf("nothing to compare: no function of the schema ran\n");
        return 2;
    }
    return bad != 0;
}
