/* SPDX-License-Identifier: Apache-2.0 */
/*
 * peet whatif: what would be gained if a data structure had perfect memory or another layout, if there were more processors, another lock, faster
 * memory?  A first run, observed by dtrack, says
 * which structures cost most; then each of them is tried, and the most expensive ones together.
 */
#include "common.h"
#include "module_tables.h"
#include "run_options.h"
#include "whatif.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { DEFAULT_TOP = 3, TOP_MAX = 50, NAME = 256, WIDE = 4096 };

struct asked {
    int top, json, wide;
    char **tries;            /* what the user wants tried; none: what the first run suggests */
    size_t ntries;
    struct peet_cli_whatif whatif;
    struct peet_cli_run_options run;
};

/** A structure of the first run. */
struct candidate { char name[NAME] /* for the options */, label[NAME] /* for people */; double stalls, misses, false_misses; unsigned long line_bytes; int movable; };

/** A change, or several at once, and what came of it. */
struct trial { struct peet_cli_whatif_run run; char *label; double cycles; };

static void print_help(FILE *out)
{
    fputs("Usage: peet whatif [--top=K] [--try=CHANGE]... [--json] [OPTION of peet run...] -- PROG [ARG...]\n"
          "Run PROG, then again with one thing changed at a time, and compare the simulated times.\n\n"
          "      --top=K       Try the K structures that cost most, each by itself and the first 2..K together; default 3\n"
          "      --try=CHANGE  Try this in place of them: perfect=NAME, pad=NAME:BYTES, align=NAME:BYTES or another\n"
          "                    remapping of peet run; several joined by '+' are tried at once; may be given several times\n"
          "                    Besides: cores=N, lock-model=NAME, schedule=NAME and other options of peet run with one value,\n"
          "                    and machine.KEY=VALUE, a parameter of the machine\n"
          "      --wide        Try twice the processors, half the memory's latency and the lock models, too\n"
          "      --json        Print JSON on standard output; the program's own output goes to DIR/0.txt\n\n"
          "Structures that were falsely shared are also padded to the length of a line.\n"
          "The folder of --output gets a folder for each run: 0, with nothing changed, 1, 2, ...; and whatif.json.\n", out);
}

static double number(const json_t *node, const char *key)
{
    const json_t *value = json_object_get(node, key);
    return json_is_string(value) ? strtod(json_string_value(value), NULL) : json_number_value(value);
}

static const char *text(const json_t *node, const char *key)
{
    const char *value = json_string_value(json_object_get(node, key));
    return value ? value : "";
}

/* --------------------------------------------------------------------------------------------- options */

/* "--top=3" or "--top 3".  Returns: the value, NULL: it is not that option; "" and *at beyond the end: it is, and the value is missing */
static const char *value_of(const char *name, int argc, char **argv, int *at)
{
    size_t length = strlen(name);
    if (strncmp(argv[*at], name, length) != 0)
        return NULL;
    if (argv[*at][length] == '=')
        return argv[*at] + length + 1;
    if (argv[*at][length] != '\0')
        return NULL;
    if (*at + 1 < argc && strcmp(argv[*at + 1], "--") != 0)
        return argv[++*at];
    peet_cli_complain("%s: its value is missing; \"peet whatif --help\" shows what it may be", name);
    *at = argc;
    return "";
}

static int read_top(struct asked *asked, const char *value)
{
    char *end;
    long top = strtol(value, &end, 10);
    if (*end || end == value || top < 1 || top > TOP_MAX) {
        peet_cli_complain("--top: '%s' is no number from 1 to %d", value, TOP_MAX);
        return PEET_CLI_USAGE;
    }
    asked->top = (int)top;
    return -1;
}

static int is_change(const char *word)
{
    static const char *const names[] = {"perfect", "pad", "align", "stride", "base", "cores", "lock-model", "winner", "schedule", "chunk", "policy", "quantum",
        "switch", "frequency"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strncmp(word, names[i], strlen(names[i])) == 0 && word[strlen(names[i])] == '=')
            return 1;
    return strncmp(word, "machine.", 8) == 0 && strcspn(word, "=") < strcspn(word, "+") && word[8] != '=';
}

static int read_try(struct asked *asked, const char *value)
{
    const char *equals = strchr(value, '=');
    if (!equals || !equals[1] || equals == value) {
        peet_cli_complain("--try: '%s' is no change; perfect=NAME, pad=NAME:BYTES, cores=N, machine.KEY=VALUE are", value);
        return PEET_CLI_USAGE;
    }
    for (const char *word = value; word; word = strchr(word, '+') ? strchr(word, '+') + 1 : NULL)
        if (!is_change(word)) {
            peet_cli_complain("--try: '%.*s' cannot be tried; perfect, pad, align, stride, base, cores, lock-model, winner, schedule, chunk, policy, "
                              "quantum, switch, frequency and machine.KEY can", (int)strcspn(word, "+"), word);
            return PEET_CLI_USAGE;
        }
    asked->tries[asked->ntries++] = (char *)value;
    return -1;
}

/* Ours are taken out; what is left is a command line of `run`.  They stand before "--"; without one, before all options of `run`.
 * Returns: -1 go on, else the exit status */
static int read_own(struct asked *asked, int argc, char **argv, int *out_argc)
{
    int i = 1, left = 1, end = 1, status = -1;
    while (end < argc && strcmp(argv[end], "--") != 0)
        end++;
    for (; i < argc && status < 0; i++) {
        const char *value;
        if (i >= end) {
            argv[left++] = argv[i];
        } else if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-?") == 0) {
            print_help(stdout);
            return peet_cli_finish_stdout(PEET_CLI_OK);
        } else if (strcmp(argv[i], "--json") == 0) {
            asked->json = 1;
        } else if (strcmp(argv[i], "--wide") == 0) {
            asked->wide = 1;
        } else if ((value = value_of("--top", argc, argv, &i))) {
            status = i < argc ? read_top(asked, value) : PEET_CLI_USAGE;
        } else if ((value = value_of("--try", argc, argv, &i))) {
            status = i < argc ? read_try(asked, value) : PEET_CLI_USAGE;
        } else {
            argv[left++] = argv[i];
            if (end == argc)
                end = i; /* there is no "--": the program may be next */
        }
    }
    argv[left] = NULL;
    *out_argc = left;
    return status;
}

/* The options of `run` are checked here, once, by its own reader; the program and its arguments are the last ones of argv. */
static int read_run(struct asked *asked, int argc, char **argv, struct peet_error *error)
{
    const struct peet_config *config = &asked->run.config;
    int err = peet_cli_run_options_read(argc, argv, &asked->run, error);
    if (err)
        return err;
    int last = argc - 1 - (int)config->narguments;
    asked->whatif.options = argv + 1;
    if (last >= 1 && strcmp(argv[last], config->program) == 0) {
        asked->whatif.program = argv + last;
        asked->whatif.nprogram = config->narguments + 1;
        asked->whatif.noptions = (size_t)last - 1;
        if (last > 1 && strcmp(argv[last - 1], "--") == 0)
            asked->whatif.noptions--;
    } else {
        asked->whatif.noptions = (size_t)argc - 1;
    }
    asked->whatif.output = config->output;
    asked->whatif.silent = asked->json;
    for (size_t i = 0; i < config->nobservers; i++)
        asked->whatif.observed |= strcmp(config->observers[i].module, "dtrack") == 0;
    return 0;
}

/* ------------------------------------------------------------------------------------------ candidates */

/* How --perfect and --remap know it: by its name if no other one is called so, else by its place. */
static void name_of(const json_t *list, const json_t *one, char out_name[NAME])
{
    const char *name = text(one, "name"), *file = text(one, "file"), *base = strrchr(file, '/');
    const json_t *other;
    size_t i;
    int same = 0;
    json_array_foreach((json_t *)list, i, other)
        same += strcmp(text(other, "name"), name) == 0;
    if (same > 1 && *file)
        snprintf(out_name, NAME, "%s:%.0f", base ? base + 1 : file, number(one, "line"));
    else if (same > 1 && *text(one, "function"))
        snprintf(out_name, NAME, "%s.%s", text(one, "function"), name);
    else
        snprintf(out_name, NAME, "%s", name);
}

static int by_cost(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;
    if (x->stalls != y->stalls)
        return x->stalls > y->stalls ? -1 : 1;
    if (x->misses != y->misses)
        return x->misses > y->misses ? -1 : 1;
    return strcmp(x->name, y->name);
}

/* Returns: how many, the most expensive first; the caller frees them */
static size_t candidates(const json_t *stats, struct candidate **out_list)
{
    const json_t *dtrack = json_object_get(stats, "dtrack"), *list = json_object_get(dtrack, "structures"), *one;
    unsigned long line = (unsigned long)number(json_array_get(json_object_get(dtrack, "levels"), 0), "line_bytes");
    struct candidate *c = calloc(json_array_size(list) + 1, sizeof(*c));
    size_t i, n = 0;
    *out_list = c;
    if (!c)
        return 0;
    json_array_foreach((json_t *)list, i, one) {
        if (strcmp(text(one, "kind"), "rest") == 0)
            continue;
        name_of(list, one, c[n].name);
        snprintf(c[n].label, NAME, "%s", text(one, "name"));
        c[n].stalls = number(one, "stall_cycles");
        c[n].misses = number(json_array_get(json_object_get(one, "levels"), 0), "misses");
        c[n].false_misses = number(json_object_get(one, "sharing"), "false_sharing_misses");
        c[n].line_bytes = line;
        c[n].movable = strcmp(text(one, "kind"), "stack") != 0;
        n += c[n].misses > 0 || c[n].stalls > 0;
    }
    qsort(c, n, sizeof(*c), by_cost);
    return n;
}

/* A change at the end of a trial's list; @bytes 0: none.  Returns: 0 or PEET_ENOMEM */
static int add_change(struct trial *t, const char *how, const char *name, const char *label, unsigned long bytes)
{
    char **more = realloc(t->run.changes, (t->run.nchanges + 1) * sizeof(*more)), *one, *all, size[24] = "";
    const char *before = t->label ? t->label : "";
    if (!more)
        return PEET_ENOMEM;
    t->run.changes = more;
    if (bytes)
        snprintf(size, sizeof(size), ":%lu", bytes);
    if (asprintf(&one, "%s%s%s%s", how, *how ? "=" : "", name, size) < 0)
        return PEET_ENOMEM;
    more[t->run.nchanges++] = one;
    /* the second perfect one need not say so again */
    if (asprintf(&all, "%s%s%s%s%s%s", before, *before ? " + " : "", *before ? "" : how, *before || !*how ? "" : " ", label, bytes ? size : "") < 0)
        return PEET_ENOMEM;
    free(t->label);
    t->label = all;
    return 0;
}

static int plan_own(const struct asked *asked, struct trial *trials, size_t *n)
{
    for (size_t i = 0; i < asked->ntries; i++) {
        char *copy = strdup(asked->tries[i]), *rest = copy, *word;
        int err = copy ? 0 : PEET_ENOMEM;
        while (!err && (word = strsep(&rest, "+")))
            err = add_change(&trials[*n], "", word, word, 0);
        free(copy);
        if (err)
            return err;
        trials[*n].run.number = (unsigned)*n;
        ++*n;
    }
    return 0;
}

/* Each of the most expensive ones, the first few together, padding for what is falsely shared. */
static int plan(const struct asked *asked, const struct candidate *c, size_t nc, struct trial *trials, size_t *n)
{
    size_t top = nc < (size_t)asked->top ? nc : (size_t)asked->top;
    int err = 0;
    for (size_t i = 0; i < top && !err; i++)
        err = add_change(&trials[(*n)++], "perfect", c[i].name, c[i].label, 0);
    for (size_t k = 2; k <= top && !err; k++, ++*n)
        for (size_t i = 0; i < k && !err; i++)
            err = add_change(&trials[*n], "perfect", c[i].name, c[i].label, 0);
    for (size_t i = 0; i < top && !err; i++)
        if (c[i].false_misses > 0 && c[i].movable && c[i].line_bytes)
            err = add_change(&trials[(*n)++], "pad", c[i].name, c[i].label, c[i].line_bytes);
    for (size_t i = 0; i < *n; i++)
        trials[i].run.number = (unsigned)i;
    return err;
}

/* Without structures: more processors, faster memory, another lock, as far as there is something to gain. */
static int plan_wide(const json_t *stats, struct trial *trials, size_t *n)
{
    static const char *const locks[] = {"tas", "ttas", "ticket", "mcs"};
    const json_t *config = json_object_get(stats, "config"), *parameters = json_object_get(json_object_get(config, "machine"), "parameters");
    const char *key = "memory_latency_cycles", *model = text(config, "lock_model");
    char change[120];
    int err;
    snprintf(change, sizeof(change), "cores=%.0f", 2 * number(config, "cores"));
    err = add_change(&trials[(*n)++], "", change, change, 0);
    if (!err && number(parameters, key) > 1) {
        snprintf(change, sizeof(change), "machine.%s=%.0f", key, floor(number(parameters, key) / 2));
        err = add_change(&trials[(*n)++], "", change, change, 0);
    }
    if (number(json_object_get(json_object_get(stats, "sync"), "mutex"), "waits") > 0)
        for (size_t i = 0; i < sizeof(locks) / sizeof(locks[0]) && !err; i++)
            if (strcmp(model, locks[i]) != 0) {
                snprintf(change, sizeof(change), "lock-model=%s", locks[i]);
                err = add_change(&trials[(*n)++], "", change, change, 0);
            }
    for (size_t i = 0; i < *n; i++)
        trials[i].run.number = (unsigned)i;
    return err;
}

/* --------------------------------------------------------------------------------------------- results */

static int by_gain(const void *a, const void *b)
{
    const struct trial *x = *(const struct trial *const *)a, *y = *(const struct trial *const *)b;
    if (x->cycles != y->cycles)
        return x->cycles < y->cycles ? -1 : 1;
    return x->run.number < y->run.number ? -1 : x->run.number > y->run.number;
}

static json_t *changes_json(const struct trial *t)
{
    json_t *list = json_array();
    for (size_t i = 0; i < t->run.nchanges; i++)
        json_array_append_new(list, json_string(t->run.changes[i]));
    return list;
}

static json_t *results(const struct trial *trials, size_t n)
{
    json_t *all = json_array();
    for (size_t i = 0; i < n; i++)
        json_array_append_new(all, json_pack("{s:i, s:s, s:o, s:I, s:I, s:f}", "run", (int)i, "what", trials[i].label ? trials[i].label : "as it is",
            "changes", changes_json(&trials[i]), "cycles",
            (json_int_t)trials[i].cycles, "saved_cycles", (json_int_t)(trials[0].cycles - trials[i].cycles), "speedup",
            trials[i].cycles > 0 ? trials[0].cycles / trials[i].cycles : 0.0));
    return json_pack("{s:i, s:o}", "version", 1, "runs", all);
}

/* As it is, and then what helps most first. */
static void print_table(FILE *out, const struct trial *trials, size_t n, const char *folder)
{
    json_t *rows = json_array(), *table;
    const struct trial **order = calloc(n + 1, sizeof(*order));
    for (size_t i = 0; order && i < n; i++)
        order[i] = &trials[i];
    if (order && n > 2)
        qsort(order + 1, n - 1, sizeof(*order), by_gain);
    for (size_t i = 0; order && i < n; i++) {
        const struct trial *t = order[i];
        char gain[40], speed[40], run[24];
        snprintf(run, sizeof(run), "%u", t->run.number);
        snprintf(gain, sizeof(gain), "%.1f %%", trials[0].cycles > 0 ? (trials[0].cycles - t->cycles) * 100 / trials[0].cycles : 0);
        snprintf(speed, sizeof(speed), "%.3f", t->cycles > 0 ? trials[0].cycles / t->cycles : 0);
        json_array_append_new(rows, json_pack("[s, I, s, s, s]", t->label ? t->label : "as it is", (json_int_t)t->cycles, i ? gain : "", i ? speed : "", run));
    }
    table = json_pack("{s:s, s:[s, s, s, s, s], s:o}", "title", "what if", "columns", "change", "cycles", "gain", "speed-up", "run", "rows", rows);
    peet_cli_module_table(out, table, WIDE);
    fprintf(out, "  results in %s\n", folder);
    json_decref(table);
    free(order);
}

static int write_results(const char *folder, const json_t *all, struct peet_error *error)
{
    char path[PATH_MAX], other[PATH_MAX];
    if ((size_t)snprintf(path, sizeof(path), "%s/whatif.json", folder) >= sizeof(path) ||
        (size_t)snprintf(other, sizeof(other), "%s/.whatif.json", folder) >= sizeof(other))
        return peet_error_set(error, PEET_ELIMIT, "%s: the name is too long", folder);
    if (json_dump_file(all, other, JSON_INDENT(2) | JSON_PRESERVE_ORDER) != 0 || rename(other, path) != 0)
        return peet_error_set(error, PEET_EIO, "cannot write %s: %s", path, strerror(errno));
    return 0;
}

/* ------------------------------------------------------------------------------------------------ runs */

static int go(const struct asked *asked, struct trial *t, const struct trial *first, struct peet_error *error)
{
    if (isatty(STDERR_FILENO) && t->run.number)
        fprintf(stderr, "peet: run %u: %s%s\n", t->run.number, t->run.changes[0], t->run.nchanges > 1 ? " and others" : "");
    int err = peet_cli_whatif_go(&asked->whatif, &t->run, error);
    if (err)
        return err;
    t->cycles = number(json_object_get(t->run.stats, "time"), "cycles");
    if (first && t->run.status != first->run.status)
        peet_cli_complain("the run with %s ended with another status: the program goes by its addresses or by time, so that the figures "
                          "compare different computations", t->run.changes[0]);
    return 0;
}

static int all_runs(const struct asked *asked, struct trial *trials, size_t *n, struct peet_error *error)
{
    struct candidate *c = NULL;
    size_t nc;
    if (mkdir(asked->whatif.output, 0777) != 0 && errno != EEXIST)
        return peet_error_set(error, PEET_EIO, "cannot make the folder %s: %s", asked->whatif.output, strerror(errno));
    int err = go(asked, &trials[0], NULL, error);
    *n = 1;
    if (err)
        return err;
    nc = candidates(trials[0].run.stats, &c);
    if (!c || (asked->ntries ? plan_own(asked, trials, n) : plan(asked, c, nc, trials, n)))
        err = peet_error_set(error, PEET_ENOMEM, "out of memory");
    if (!err && asked->wide && plan_wide(trials[0].run.stats, trials, n))
        err = peet_error_set(error, PEET_ENOMEM, "out of memory");
    free(c);
    for (size_t i = 1; i < *n && !err; i++)
        err = go(asked, &trials[i], &trials[0], error);
    return err;
}

static int whatif(struct asked *asked, struct peet_error *error)
{
    struct trial *trials = calloc(3 * (size_t)asked->top + asked->ntries + 10, sizeof(*trials));
    size_t n = 0;
    int status = PEET_CLI_FAILED;
    json_t *all = NULL;
    if (!trials)
        return peet_error_set(error, PEET_ENOMEM, "out of memory"), peet_cli_fail(error);
    int err = all_runs(asked, trials, &n, error);
    if (!err) {
        all = results(trials, n);
        err = all ? write_results(asked->whatif.output, all, error) : peet_error_set(error, PEET_ENOMEM, "out of memory");
    }
    if (err) {
        status = peet_cli_fail(error);
    } else {
        if (asked->json) {
            json_dumpf(all, stdout, JSON_INDENT(2) | JSON_PRESERVE_ORDER);
            putchar('\n');
        } else {
            print_table(stderr, trials, n, asked->whatif.output);
        }
        status = WIFEXITED(trials[0].run.status) ? WEXITSTATUS(trials[0].run.status) : 128 + WTERMSIG(trials[0].run.status);
    }
    json_decref(all);
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < trials[i].run.nchanges; k++)
            free(trials[i].run.changes[k]);
        free(trials[i].run.changes);
        free(trials[i].label);
        json_decref(trials[i].run.stats);
    }
    free(trials);
    return status;
}

int peet_cli_whatif(int argc, char **argv)
{
    struct asked asked = {.top = DEFAULT_TOP};
    struct peet_error error = {0};
    int status;
    asked.tries = calloc((size_t)argc + 1, sizeof(*asked.tries));
    if (!asked.tries) {
        peet_cli_complain("out of memory");
        return PEET_CLI_FAILED;
    }
    status = read_own(&asked, argc, argv, &argc);
    if (status < 0) {
        int err = read_run(&asked, argc, argv, &error);
        status = err ? peet_cli_fail(&error) : whatif(&asked, &error);
        if (!err)
            peet_config_fini(&asked.run.config);
    }
    free(asked.tries);
    return peet_cli_finish_stdout(status);
}
