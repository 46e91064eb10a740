/* SPDX-License-Identifier: Apache-2.0 */
/* The figures of a run; see figures.h. */
#include "figures.h"

#include "common.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

double peet_cli_number_of(const json_t *value)
{
    return json_is_string(value) ? strtod(json_string_value(value), NULL) : json_number_value(value);
}

static double number(const json_t *node, const char *key)
{
    return peet_cli_number_of(json_object_get(node, key));
}

static const char *text(const json_t *node, const char *key)
{
    const char *value = json_string_value(json_object_get(node, key));
    return value ? value : "";
}

/* ------------------------------------------------------------------------------------------- building */

static json_t *child(json_t *node, const char *key)
{
    json_t *one = json_object_get(node, key);
    if (!one && json_object_set_new(node, key, json_object()) == 0)
        one = json_object_get(node, key);
    return one;
}

/* Two items of one name (a function of two files) add up, but for shares. */
static void put(json_t *figures, const char *group, const char *item, const char *measure, double value)
{
    json_t *at = child(child(figures, group), *item ? item : "(no name)");
    double before = json_number_value(json_object_get(at, measure));
    value += before;
    if (value == (double)(json_int_t)value && value > -9e15 && value < 9e15)
        json_object_set_new(at, measure, json_integer((json_int_t)value));
    else
        json_object_set_new(at, measure, json_real(value));
}

static void put_share(json_t *figures, const char *group, const char *item, const char *measure, double part,
    double whole)
{
    json_t *at = child(child(figures, group), item);
    json_object_set_new(at, measure, json_real(whole > 0 ? part / whole : 0));
}

/* All plain numbers of an object, but for those named. */
static void put_all(json_t *figures, const char *group, const char *item, const json_t *node,
    const char *const *without)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)node, key, value)
    {
        int wanted = json_is_number(value);
        for (size_t i = 0; wanted && without && without[i]; i++)
            wanted = strcmp(key, without[i]) != 0;
        if (wanted)
            put(figures, group, item, key, json_number_value(value));
    }
}

/* ------------------------------------------------------------------------------- the run, its processors */

static void put_run(json_t *figures, const json_t *stats)
{
    const json_t *totals = json_object_get(stats, "totals"), *hw = json_object_get(stats, "hw"), *one;
    double cycles = number(json_object_get(stats, "time"), "cycles"), instructions = number(totals, "instructions");
    double busy = 0, stalled = 0, idle = 0, switches = 0;
    size_t i;
    put(figures, "run", "all", "cycles", cycles);
    put(figures, "run", "all", "instructions", instructions);
    if (cycles > 0)
        put_share(figures, "run", "all", "instructions_per_cycle", instructions, cycles);
    put(figures, "run", "all", "blocks", number(totals, "blocks"));
    put(figures, "run", "all", "reads", number(totals, "reads"));
    put(figures, "run", "all", "writes", number(totals, "writes"));
    put(figures, "run", "all", "contexts", number(totals, "contexts"));
    json_array_foreach((json_t *)hw, i, one)
    {
        char name[24];
        double b = number(one, "busy_cycles"), s = number(one, "stalled_cycles"), d = number(one, "idle_cycles"),
               all = b + s + d;
        if (!json_is_object(one))
            continue;
        snprintf(name, sizeof(name), "%zu", i);
        put(figures, "processor", name, "instructions", number(one, "instructions"));
        put_share(figures, "processor", name, "instructions_per_cycle", number(one, "instructions"), all);
        put(figures, "processor", name, "busy_cycles", b);
        put(figures, "processor", name, "stalled_cycles", s);
        put(figures, "processor", name, "idle_cycles", d);
        put(figures, "processor", name, "switches", number(one, "switches"));
        busy += b, stalled += s, idle += d, switches += number(one, "switches");
    }
    if (busy + stalled + idle > 0) {
        double all = busy + stalled + idle;
        put(figures, "run", "all", "switches", switches);
        put_share(figures, "run", "all", "busy_share", busy, all);
        put_share(figures, "run", "all", "stalled_share", stalled, all);
        put_share(figures, "run", "all", "idle_share", idle, all);
        if (instructions > 0)
            put_share(figures, "run", "all", "cycles_per_instruction", busy + stalled, instructions);
    }
}

/* -------------------------------------------------------------------------------------- what machines leave */

const json_t *peet_cli_machine_node(const json_t *stats)
{
    const json_t *machine = json_object_get(json_object_get(stats, "config"), "machine");
    const char *module = json_string_value(json_object_get(machine, "module")),
               *base = module ? strrchr(module, '/') : NULL, *key;
    json_t *value;
    if (!module)
        return NULL;
    if (!base)
        return json_object_get(stats, module);
    json_object_foreach((json_t *)stats, key, value)
    { /* given by its file: NAME.so */
        size_t length = strlen(key);
        if (strncmp(base + 1, key, length) == 0 && strcmp(base + 1 + length, ".so") == 0)
            return value;
    }
    return NULL;
}

static void put_level(json_t *figures, const char *name, const json_t *node, double instructions)
{
    double fetches = number(node, "fetches"), accesses = number(node, "reads") + number(node, "writes") + fetches;
    const json_t *misses_there = json_object_get(node, "misses"), *kinds = json_object_get(node, "misses_by_kind"),
                 *value;
    double misses =
        misses_there ? peet_cli_number_of(misses_there) : number(node, "read_misses") + number(node, "write_misses");
    const char *key;
    if (!kinds)
        kinds = json_object_get(node, "misses_by_cause");
    put(figures, "level", name, "lookups", accesses);
    put(figures, "level", name, "misses", misses);
    put_share(figures, "level", name, "misses_for_1000_instructions", misses * 1000, instructions);
    put_share(figures, "level", name, "misses_per_lookup", misses, accesses);
    json_object_foreach((json_t *)kinds, key, value)
    {
        char measure[80];
        snprintf(measure, sizeof(measure), "%.60s_misses", key);
        put(figures, "level", name, measure, peet_cli_number_of(value));
    }
    const json_t *all = kinds ? NULL : node; /* or the kinds stand beside the sum */
    json_object_foreach((json_t *)all, key, value)
    {
        size_t length = strlen(key);
        if (json_is_number(value) && length > 7 && strcmp(key + length - 7, "_misses") == 0 &&
            strcmp(key, "read_misses") != 0 && strcmp(key, "write_misses") != 0 && strcmp(key, "fetch_misses") != 0 &&
            strcmp(key, "walk_misses") != 0)
            put(figures, "level", name, key, json_number_value(value));
    }
    static const char *const more[] = {"upgrades", "write_hits_on_bus", "invalidations", "invalidations_received_lines",
        "write_backs", "write_backs_lines", "prefetches", "prefetches_used"};
    for (size_t i = 0; i < sizeof(more) / sizeof(more[0]); i++)
        if (json_object_get(node, more[i]))
            put(figures, "level", name, more[i], number(node, more[i]));
}

/*
 * Cache levels have one of two shapes: "totals" with "misses" or "read_misses" (one level), or objects of "memory" that
 * have "read_misses". A bus is an object "bus" with "utilisation"; waiting for it are "totals"."bus_wait_cycles".
 */
static void levels_of(json_t *figures, const json_t *node, double instructions, double all_cycles)
{
    const json_t *totals = json_object_get(node, "totals"), *memory = json_object_get(node, "memory"),
                 *bus = json_object_get(node, "bus");
    const char *key;
    json_t *value, *stack = json_object_get(node, "stack_cycles");
    if (json_object_get(totals, "misses") || json_object_get(totals, "read_misses"))
        put_level(figures, "cache", totals, instructions);
    if (json_is_object(json_object_get(node, "network")))
        put_all(figures, "memory", "network", json_object_get(node, "network"), NULL);
    json_object_foreach((json_t *)memory, key, value) if (json_object_get(value, "read_misses"))
        put_level(figures, key, value, instructions);
    if (json_object_get(bus, "utilisation")) {
        put(figures, "memory", "bus", "utilisation", number(bus, "utilisation"));
        put(figures, "memory", "bus", "transactions", number(json_object_get(bus, "transactions"), "total"));
        put(figures, "memory", "bus", "wait_cycles", number(totals, "bus_wait_cycles"));
        put_share(figures, "memory", "bus", "wait_share", number(totals, "bus_wait_cycles"), all_cycles);
        put(figures, "memory", "bus", "miss_stall_cycles", number(totals, "stall_cycles"));
    }
    json_object_foreach((json_t *)memory, key, value) if (json_is_object(value) &&
        !json_object_get(value, "read_misses")) put_all(figures, "memory", key, value, NULL);
    if (memory)
        put_all(figures, "memory", "memory", memory, (const char *const[]){"window_cycles", NULL});
    json_object_foreach(stack, key, value) put(figures, "cycles", key, "cycles", peet_cli_number_of(value));
}

/* ------------------------------------------------------------------------------------------ program places */

static void place(char *out, size_t bytes, const char *file, double line)
{
    const char *base = strrchr(file, '/');
    snprintf(out, bytes, "%s:%.0f", base ? base + 1 : file, line);
}

/* Is there a line in the list?  Without debug information there is none, and functions say as much. */
static int has_lines(const json_t *list)
{
    const json_t *one;
    size_t i;
    json_array_foreach((json_t *)list, i, one) if (number(one, "line") != 0) return 1;
    return 0;
}

/* Functions and lines from a list of objects; a name that stands twice gets its file. */
static void put_places(json_t *figures, const json_t *list, const char *name_key, int lines, const char *const *without)
{
    const char *group = lines ? "line" : "function";
    if (lines && !has_lines(list))
        return;
    json_t *seen = json_object();
    const json_t *one;
    size_t i;
    json_array_foreach((json_t *)list, i, one)
    {
        const char *name = text(one, name_key), *file = text(one, "file");
        char *item = NULL, spot[PATH_MAX];
        if (!json_is_object(one))
            continue;
        place(spot, sizeof(spot), file, number(one, "line"));
        if (lines && number(one, "line") == 0)
            snprintf(spot, sizeof(spot), "%s", *name ? name : "(no line)");
        if (!lines && json_object_get(seen, name) && *file) {
            if (asprintf(&item, "%s (%s)", name, spot) < 0)
                item = NULL;
        } else {
            item = strdup(lines ? spot : name);
        }
        if (!item)
            break;
        json_object_set_new(seen, name, json_true());
        put_all(figures, group, item, one, without);
        const char *key;
        json_t *value;
        json_object_foreach(json_object_get(one, "stack_cycles"), key, value)
        {
            char measure[80];
            snprintf(measure, sizeof(measure), "%.60s_cycles", key);
            put(figures, group, item, measure, peet_cli_number_of(value));
        }
        free(item);
    }
    json_decref(seen);
}

static void put_program(json_t *figures, const json_t *stats, const json_t *machine)
{
    static const char *const without[] = {"line", "id", NULL};
    const json_t *profile = json_object_get(stats, "profile"), *counts = json_object_get(stats, "counts"),
                 *hot = json_object_get(stats, "hot");
    if (json_is_array(json_object_get(profile, "functions"))) {
        put_places(figures, json_object_get(profile, "functions"), "name", 0, without);
        put_places(figures, json_object_get(profile, "lines"), "function", 1, without);
    } else if (json_is_array(json_object_get(machine, "functions"))) {
        put_places(figures, json_object_get(machine, "functions"), "name", 0, without);
        put_places(figures, json_object_get(machine, "lines"), "name", 1, without);
    } else if (json_is_array(json_object_get(counts, "functions"))) {
        put_places(figures, json_object_get(counts, "functions"), "name", 0, without);
        put_places(figures, json_object_get(hot, "lines"), "function", 1, without);
    } else {
        put_places(figures, json_object_get(hot, "functions"), "function", 0, without);
        put_places(figures, json_object_get(hot, "lines"), "function", 1, without);
    }
}

/* ------------------------------------------------------------------------------------- locks, structures */

static void put_sync(json_t *figures, const json_t *sync)
{
    const char *kind;
    json_t *value;
    size_t i;
    json_object_foreach((json_t *)sync, kind, value) if (json_object_get(value, "waits") &&
        number(value, "operations") > 0) put_all(figures, "synchronisation", kind, value, NULL);
    json_array_foreach(json_object_get(sync, "contended"), i, value)
    {
        char *name = NULL;
        if (asprintf(&name, "%s %s", text(value, "kind"),
                *text(value, "name") ? text(value, "name") : text(value, "address")) < 0)
            return;
        put_all(figures, "lock", name, value, NULL);
        free(name);
    }
}

static void put_structures(json_t *figures, const json_t *dtrack)
{
    const json_t *levels = json_object_get(dtrack, "levels");
    json_t *one, *level;
    size_t i, l;
    json_array_foreach(json_object_get(dtrack, "structures"), i, one)
    {
        const char *name = text(one, "name");
        put(figures, "structure", name, "reads", number(one, "reads"));
        put(figures, "structure", name, "writes", number(one, "writes"));
        json_array_foreach(json_object_get(one, "levels"), l, level)
        {
            char measure[80];
            const char *of = text(json_array_get(levels, l), "name");
            snprintf(measure, sizeof(measure), "%.40s_misses", *of ? of : text(level, "name"));
            put(figures, "structure", name, measure, number(level, "misses"));
        }
        put(figures, "structure", name, "stall_cycles", number(one, "stall_cycles"));
        put(figures, "structure", name, "false_sharing_misses",
            number(json_object_get(one, "sharing"), "false_sharing_misses"));
        put(figures, "structure", name, "true_sharing_misses",
            number(json_object_get(one, "sharing"), "true_sharing_misses"));
    }
}

json_t *peet_cli_figures(const json_t *stats)
{
    json_t *figures = json_object();
    const json_t *machine = peet_cli_machine_node(stats), *hw = json_object_get(stats, "hw"),
                 *graph = json_object_get(stats, "graph");
    double all_cycles = number(json_object_get(stats, "time"), "cycles") * (double)json_array_size(hw);
    if (!figures)
        return NULL;
    put_run(figures, stats);
    if (machine)
        levels_of(figures, machine, number(json_object_get(stats, "totals"), "instructions"), all_cycles);
    put_sync(figures, json_object_get(stats, "sync"));
    put_structures(figures, json_object_get(stats, "dtrack"));
    put_program(figures, stats, machine);
    if (json_is_object(graph))
        put_all(figures, "graph", "all", graph, NULL);
    return figures;
}

/* ------------------------------------------------------------------------------------------------ reading */

double peet_cli_figure(const json_t *figures, const char *group, const char *item, const char *measure,
    double otherwise)
{
    const json_t *value = json_object_get(json_object_get(json_object_get(figures, group), item), measure);
    return json_is_number(value) ? json_number_value(value) : otherwise;
}

static int by_value(const void *a, const void *b)
{
    const json_t *x = *(json_t *const *)a, *y = *(json_t *const *)b;
    double p = json_number_value(json_object_get(x, "value")), q = json_number_value(json_object_get(y, "value"));
    return p != q ? (p > q ? -1 : 1) : strcmp(text(x, "name"), text(y, "name"));
}

json_t *peet_cli_rank(const json_t *figures, const char *group, const char *measure)
{
    const json_t *items = json_object_get(figures, group);
    json_t **list = calloc(json_object_size(items) + 1, sizeof(*list)), *sorted = json_array(), *one;
    const char *name;
    size_t n = 0;
    json_object_foreach((json_t *)items, name, one)
    {
        double value = json_number_value(json_object_get(one, measure));
        if (list && value > 0)
            list[n++] = json_pack("{s:s, s:f}", "name", name, "value", value);
    }
    if (n)
        qsort(list, n, sizeof(*list), by_value);
    for (size_t i = 0; i < n; i++)
        json_array_append_new(sorted, list[i]);
    free(list);
    return sorted;
}

json_t *peet_cli_stats_load(const char *folder)
{
    char path[PATH_MAX];
    struct stat what;
    json_error_t where;
    int is_folder = stat(folder, &what) != 0 || S_ISDIR(what.st_mode);
    if ((size_t)snprintf(path, sizeof(path), is_folder ? "%s/stats.json" : "%s", folder) >= sizeof(path)) {
        peet_cli_complain("%s: the name is too long", folder);
        return NULL;
    }
    errno = 0;
    json_t *stats = json_load_file(path, 0, &where);
    const char *why = where.line < 0 && errno ? strerror(errno) : where.text;
    if (!stats && !is_folder)
        peet_cli_complain("%s: %s; this is no stats.json of peet run, nor a folder with one", path, why);
    else if (!stats)
        peet_cli_complain(
            "%s: %s; \"peet run -d %s -- PROG\" makes it, \"peet run --observe dtrack ...\" with data structures", path,
            why, folder);
    else if (!json_is_object(json_object_get(stats, "time")) && !json_is_object(json_object_get(stats, "totals"))) {
        peet_cli_complain("%s: this is not a results folder of peet run: neither \"time\" nor \"totals\" are there",
            path);
        json_decref(stats);
        stats = NULL;
    }
    return stats;
}

void peet_cli_run_name(const json_t *stats, char *out, size_t bytes)
{
    const json_t *config = json_object_get(stats, "config");
    const char *program = text(config, "program"), *machine = text(json_object_get(config, "machine"), "module");
    const char *base = strrchr(program, '/'), *machine_base = strrchr(machine, '/');
    json_int_t cores = json_integer_value(json_object_get(config, "cores"));
    program = base ? base + 1 : program;
    machine = machine_base ? machine_base + 1 : machine;
    snprintf(out, bytes, "%.36s on %lld processor%s of %.30s", *program ? program : "the program", (long long)cores,
        cores == 1 ? "" : "s", *machine ? machine : "the machine");
}
