/* SPDX-License-Identifier: Apache-2.0 */
/* Results in the formats of other tools; see export.h. */
#include "export.h"

#include "base/files.h"
#include "debuginfo/data.h"
#include "figures.h"
#include "report_table.h"
#include "timeline.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

enum { NAME = 4096 };

/* A C++ name in a line of text: control characters, and those that the format gives a meaning, become '?'. */
static void put_name(FILE *out, const char *symbol, const char *special)
{
    char whole[NAME];
    const char *name = peet_demangle(symbol, whole, sizeof(whole));
    if (!*name)
        fputs("???", out);
    for (; *name; name++)
        fputc((unsigned char)*name < ' ' || *name == 0x7f || strchr(special, *name) ? '?' : *name, out);
}

static const json_t *profile_of(const json_t *stats, struct peet_error *error)
{
    const json_t *profile = json_object_get(stats, "profile");
    if (json_is_array(json_object_get(profile, "functions")))
        return profile;
    peet_error_set(error, PEET_ENOTFOUND,
        "these results have no profile; \"peet run --observe profile ...\" makes one");
    return NULL;
}

/* -------------------------------------------------------------------------------------------- callgrind */

enum { EVENTS = 80 };

/** The measures of a profile, and what callgrind's file calls them. */
struct events {
    int n;
    const char *key[EVENTS];
    char name[EVENTS][64], inclusive[EVENTS][80];
};

static void list_events(const json_t *profile, struct events *e)
{
    const char *key;
    const json_t *value;
    e->n = 0;
    json_object_foreach(json_object_get(profile, "totals"), key, value)
    {
        if (e->n == EVENTS || !json_is_number(value))
            continue;
        const char *known = strcmp(key, "instructions") == 0 ? "Ir"
            : strcmp(key, "reads") == 0                      ? "Dr"
            : strcmp(key, "writes") == 0                     ? "Dw"
                                                             : NULL;
        snprintf(e->name[e->n], sizeof(e->name[0]), "%.60s", known ? known : key);
        for (char *c = e->name[e->n]; *c; c++)
            *c = isalnum((unsigned char)*c) ? *c : '_';
        snprintf(e->inclusive[e->n], sizeof(e->inclusive[0]), "inclusive_%.60s", key);
        e->key[e->n++] = key;
    }
}

static void put_costs(FILE *out, const struct events *e, const json_t *node, int inclusive)
{
    for (int i = 0; i < e->n; i++)
        fprintf(out, " %.0f", number(node, inclusive ? e->inclusive[i] : e->key[i]));
    fputc('\n', out);
}

/* A function by its number: the name stands there the first time. */
static void put_function(FILE *out, const char *tag, const json_t *f)
{
    json_int_t id = json_integer_value(json_object_get(f, "id")) + 1;
    fprintf(out, "%sfn=(%lld) ", tag, (long long)id);
    put_name(out, text(f, "name"), "");
    fputc('\n', out);
}

static void put_file(FILE *out, const char *tag, const json_t *f)
{
    fprintf(out, "%s=", tag);
    put_name(out, text(f, "file"), "");
    fputc('\n', out);
}

/* Objects by a number that they hold, so that nothing is searched for. */
static const json_t **index_by(const json_t *list, const char *key, size_t *out_n)
{
    const json_t *one, **index;
    size_t i, n = 0;
    json_array_foreach((json_t *)list, i, one)
    {
        json_int_t id = json_integer_value(json_object_get(one, key));
        if (id >= 0 && id < 100000000 && (size_t)id >= n)
            n = (size_t)id + 1;
    }
    index = calloc(n + 1, sizeof(*index));
    json_array_foreach((json_t *)list, i, one)
    {
        json_int_t id = json_integer_value(json_object_get(one, key));
        if (index && id >= 0 && (size_t)id < n)
            index[id] = one;
    }
    *out_n = index ? n : 0;
    return index;
}

/* For each function the entries of a list that have its number, as chains: first[id], then next[i].  -1: none */
struct chains {
    long *first, *next;
};

static int chain(const json_t *list, const char *key, size_t nids, struct chains *out)
{
    size_t n = json_array_size(list);
    out->first = malloc((nids + 1) * sizeof(long));
    out->next = malloc((n + 1) * sizeof(long));
    if (!out->first || !out->next)
        return -1;
    for (size_t i = 0; i <= nids; i++)
        out->first[i] = -1;
    for (size_t i = n; i-- > 0;) {
        const json_t *id_there = json_object_get(json_array_get(list, i), key);
        json_int_t id = json_integer_value(id_there);
        out->next[i] = -1;
        if (!json_is_integer(id_there) || id < 0 || (size_t)id >= nids)
            continue;
        out->next[i] = out->first[id];
        out->first[id] = (long)i;
    }
    return 0;
}

static void put_profile(FILE *out, const json_t *profile, const struct events *e, const json_t **functions, size_t n,
    const struct chains *own, const struct chains *called)
{
    const json_t *lines = json_object_get(profile, "lines"), *calls = json_object_get(profile, "calls");
    for (size_t f = 0; f < n; f++) {
        if (!functions[f])
            continue;
        fputs("\nob=", out);
        put_name(out, text(functions[f], "image"), "");
        fputc('\n', out);
        put_file(out, "fl", functions[f]);
        put_function(out, "", functions[f]);
        for (long i = own->first[f]; i >= 0; i = own->next[i]) {
            const json_t *line = json_array_get(lines, (size_t)i);
            fprintf(out, "%.0f", number(line, "line"));
            put_costs(out, e, line, 0);
        }
        for (long i = called->first[f]; i >= 0; i = called->next[i]) {
            const json_t *call = json_array_get(calls, (size_t)i);
            json_int_t to = json_integer_value(json_object_get(call, "callee_id"));
            if (to < 0 || (size_t)to >= n || !functions[to])
                continue;
            fputs("cob=", out);
            put_name(out, text(functions[to], "image"), "");
            fputc('\n', out);
            put_file(out, "cfi", functions[to]);
            put_function(out, "c", functions[to]);
            fprintf(out, "calls=%.0f %.0f\n%.0f", number(call, "calls"), number(functions[to], "line"),
                number(call, "line"));
            put_costs(out, e, call, 1);
        }
    }
}

int peet_cli_export_callgrind(const json_t *stats, const char *path, struct peet_error *error)
{
    const json_t *profile = profile_of(stats, error), **functions = NULL;
    struct events *e = malloc(sizeof(*e));
    struct chains own = {0}, called = {0};
    size_t n = 0;
    int err = profile ? 0 : PEET_ENOTFOUND;
    struct peet_file file;
    if (!err) {
        functions = index_by(json_object_get(profile, "functions"), "id", &n);
        if (!e || !functions || chain(json_object_get(profile, "lines"), "function_id", n, &own) ||
            chain(json_object_get(profile, "calls"), "caller_id", n, &called))
            err = peet_error_set(error, PEET_ENOMEM, "out of memory");
    }
    if (!err)
        err = peet_file_create(path, &file, error);
    if (!err) {
        FILE *out = file.stream;
        char name[120];
        list_events(profile, e);
        peet_cli_run_name(stats, name, sizeof(name));
        fputs("# callgrind format\nversion: 1\ncreator: peet\ncmd: ", out);
        put_name(out, name, "");
        fputs("\npositions: line\nevents:", out);
        for (int i = 0; i < e->n; i++)
            fprintf(out, " %s", e->name[i]);
        fputs("\nsummary:", out);
        put_costs(out, e, json_object_get(profile, "totals"), 0);
        put_profile(out, profile, e, functions, n, &own, &called);
        err = peet_file_commit(&file, error);
    }
    free(functions);
    free(own.first);
    free(own.next);
    free(called.first);
    free(called.next);
    free(e);
    return err;
}

/* ------------------------------------------------------------------------------------- collapsed stacks */

int peet_cli_export_collapsed(const json_t *stats, const char *measure, const char *path, struct peet_error *error)
{
    const json_t *profile = profile_of(stats, error), *paths = json_object_get(profile, "paths"), *one;
    size_t i, n = json_array_size(paths);
    if (!profile)
        return PEET_ENOTFOUND;
    if (n == 0)
        return peet_error_set(error, PEET_ENOTFOUND, "the profile has no call paths: they were turned off (paths=off)");
    if (!measure)
        measure = number(json_object_get(profile, "totals"), "cycles") > 0 ? "cycles" : "instructions";
    if (!json_object_get(json_object_get(profile, "totals"), measure))
        return peet_error_set(error, PEET_EINVALID,
            "--measure: the profile has no '%s'; .profile.totals of stats.json has those that there are", measure);
    struct peet_file file;
    FILE *out = peet_file_create(path, &file, error) ? NULL : file.stream;
    long *way = malloc((n + 1) * sizeof(*way));
    if (!out || !way) {
        free(way);
        if (out)
            peet_file_discard(&file);
        return out ? peet_error_set(error, PEET_ENOMEM, "out of memory") : PEET_EIO;
    }
    json_array_foreach((json_t *)paths, i, one)
    {
        size_t depth = 0;
        double value = number(one, measure);
        if (value <= 0)
            continue;
        for (size_t at = i; at != 0 && depth < n;) { /* parents stand before their children */
            json_int_t parent = json_integer_value(json_object_get(json_array_get(paths, at), "parent"));
            way[depth++] = (long)at;
            if (parent < 0 || (size_t)parent >= at)
                break;
            at = (size_t)parent;
        }
        if (depth == 0)
            fputs("(outside functions)", out);
        while (depth-- > 0) {
            put_name(out, text(json_array_get(paths, (size_t)way[depth]), "function"), ";");
            if (depth)
                fputc(';', out);
        }
        fprintf(out, " %.0f\n", value);
    }
    free(way);
    return peet_file_commit(&file, error);
}

/* ----------------------------------------------------------------------------------------- trace events */

struct trace {
    FILE *out;
    double per_cycle_us;
    int n, bad;
};

static void event(struct trace *t, json_t *one)
{
    fputs(t->n++ ? ",\n" : "\n", t->out);
    t->bad |= !one || json_dumpf(one, t->out, JSON_COMPACT | JSON_PRESERVE_ORDER) != 0;
    json_decref(one);
}

static const char *const state_names[PEET_TIMELINE_STATES] = {"runs", "lock", "barrier", "signal", "outside"};

static void names(struct trace *t, const char *kind, int pid, json_int_t tid, const char *name)
{
    event(t,
        json_pack("{s:s, s:s, s:i, s:I, s:{s:s}}", "ph", "M", "name", kind, "pid", pid, "tid", tid, "args", "name",
            name));
}

json_t *peet_cli_object_names(const json_t *stats)
{
    json_t *all = json_object();
    const json_t *one;
    size_t i;
    json_array_foreach(json_object_get(json_object_get(stats, "sync"), "contended"), i, one) if (*text(one, "name"))
        json_object_set(all, text(one, "address"), json_object_get(one, "name"));
    return all;
}

static void put_slice(struct trace *t, const struct peet_timeline_slice *s, const json_t *objects)
{
    char name[64], address[24];
    double at = (double)s->begin * t->per_cycle_us, length = (double)(s->end - s->begin) * t->per_cycle_us;
    if (s->state == PEET_TIMELINE_RUNS) {
        snprintf(name, sizeof(name), "context %u", s->context);
        event(t,
            json_pack("{s:s, s:s, s:s, s:f, s:f, s:i, s:i, s:{s:I, s:I}}", "ph", "X", "name", name, "cat", "runs", "ts",
                at, "dur", length, "pid", 1, "tid", (int)s->hw, "args", "context", (json_int_t)s->context, "cycles",
                (json_int_t)(s->end - s->begin)));
        snprintf(name, sizeof(name), "runs on %u", s->hw);
    } else {
        snprintf(name, sizeof(name), "%s", state_names[s->state]);
    }
    snprintf(address, sizeof(address), "0x%llx", (unsigned long long)s->object);
    const char *object = json_string_value(json_object_get(objects, address));
    event(t,
        json_pack("{s:s, s:s, s:s, s:f, s:f, s:i, s:I, s:{s:s, s:I}}", "ph", "X", "name", name, "cat",
            state_names[s->state], "ts", at, "dur", length, "pid", 2, "tid", (json_int_t)s->context, "args", "object",
            object          ? object
                : s->object ? address
                            : "",
            "cycles", (json_int_t)(s->end - s->begin)));
}

/* Windows of the machine: any array "windows" of objects with "cycle" and numbers. */
static void put_windows(struct trace *t, const json_t *node)
{
    const json_t *window, *value;
    const char *key;
    size_t i;
    json_array_foreach(json_object_get(node, "windows"), i, window) json_object_foreach((json_t *)window, key,
        value) if (strcmp(key, "cycle") != 0 && json_is_number(value)) event(t,
        json_pack("{s:s, s:s, s:f, s:i, s:{s:f}}", "ph", "C", "name", key, "ts",
            number(window, "cycle") * t->per_cycle_us, "pid", 1, "args", "value", json_number_value(value)));
}

int peet_cli_export_trace(const json_t *stats, const char *folder, const char *path, struct peet_error *error)
{
    char slices[PATH_MAX], name[120];
    struct peet_cli_timeline timeline;
    struct peet_file file;
    const json_t *machine = peet_cli_machine_node(stats);
    double hz = number(json_object_get(stats, "config"), "frequency_hz");
    snprintf(slices, sizeof(slices), "%s/%s", folder, PEET_TIMELINE_FILE);
    int err = peet_cli_timeline_read(slices, &timeline, error);
    if (err)
        return err;
    err = peet_file_create(path, &file, error);
    if (err) {
        peet_cli_timeline_fini(&timeline);
        return err;
    }
    struct trace t = {.out = file.stream, .per_cycle_us = 1e6 / (hz > 0 ? hz : 1e9)};
    json_t *objects = peet_cli_object_names(stats);
    fputs("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[", t.out);
    peet_cli_run_name(stats, name, sizeof(name));
    names(&t, "process_name", 1, 0, "processors");
    names(&t, "process_name", 2, 0, "contexts");
    for (uint32_t i = 0; i < timeline.header.hw_contexts; i++) {
        snprintf(name, sizeof(name), "processor %u", i);
        names(&t, "thread_name", 1, i, name);
    }
    for (uint64_t i = 0; i < timeline.header.slices && !t.bad; i++)
        put_slice(&t, &timeline.slices[i], objects);
    put_windows(&t, machine);
    put_windows(&t, json_object_get(machine, "bus"));
    put_windows(&t, json_object_get(machine, "memory"));
    fputs("\n]}\n", t.out);
    json_decref(objects);
    peet_cli_timeline_fini(&timeline);
    if (t.bad && !ferror(t.out)) /* what could not be written is said below */
        peet_error_set(error, PEET_ENOMEM, "out of memory");
    return peet_file_end(&file, !t.bad || ferror(t.out), error);
}
