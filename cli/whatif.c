/* SPDX-License-Identifier: Apache-2.0 */
/*
 * peet whatif: what would be gained if a data structure had perfect memory or another layout, if there were more
 * processors, another lock, faster memory, locks and barriers for which nobody waits, faster functions?  A first run,
 * observed by dtrack, says what costs most; then each change is tried.
 */
#include "common.h"
#include "module_tables.h"
#include "picture.h"
#include "run_options.h"
#include "text.h"
#include "whatif.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { DEFAULT_TOP = 3, TOP_MAX = 50, NAME = 60 };

struct asked {
    int json;
    const char *plot;
    struct peet_cli_whatif_wanted wanted;
    struct peet_cli_whatif whatif;
    struct peet_cli_run_options run;
};

static void print_help(FILE *out)
{
    fputs(
        "Usage: peet whatif [--top=K] [--try=CHANGE]... [--wide] [--plot=FILE] [--json] [OPTION of peet run...] -- PROG [ARG...]\n"
        "Run PROG, then again with one thing changed at a time, and compare the simulated times.\n\n"
        "      --top=K       Try the K structures that cost most, each by itself and the first 2..K together; "
        "default 3\n"
        "      --try=CHANGE  Try this in place of them: perfect=NAME, pad=NAME:BYTES, align=NAME:BYTES or another\n"
        "                    remapping of peet run; several joined by '+' are tried at once; may be given several "
        "times\n"
        "                    Besides: cores=N, lock-model=NAME, schedule=NAME and other options of peet run with one "
        "value,\n"
        "                    machine.KEY=VALUE, a parameter of the machine; free=NAME, a lock or barrier for which "
        "nobody\n"
        "                    waits (free=locks, free=barriers: all); scale=FUNCTION:FACTOR, so much of its own time\n"
        "      --wide        Try, too: twice the processors, half the memory's latency, the lock models, locks and\n"
        "                    barriers for which nobody waits, each of the K longest functions in half its time\n"
        "      --plot=FILE   Also draw the gains, the greatest first: .svg, .png or .pdf\n"
        "      --json        Print JSON on standard output; the program's own output goes to DIR/0.txt\n\n"
        "Structures that were falsely shared are also padded to the length of a line.\n"
        "The folder of --output gets a folder for each run: 0, with nothing changed, 1, 2, ...; and whatif.json.\n",
        out);
}

static double number(const json_t *node, const char *key)
{
    const json_t *value = json_object_get(node, key);
    return json_is_string(value) ? strtod(json_string_value(value), NULL) : json_number_value(value);
}

/* --------------------------------------------------------------------------------------------- options */

/* "--top=3" or "--top 3".  By hand: the options of peet whatif stand among those of peet run, which are passed on, and
 * argp would refuse what it does not know.  Returns: the value; NULL: it is not that option; "" and *at beyond the end:
 * it is that option, without a value */
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
    asked->wanted.top = (size_t)top;
    return -1;
}

static int is_change(const char *word)
{
    static const char *const names[] = {"perfect", "pad", "align", "stride", "base", "cores", "lock-model", "winner",
        "schedule", "chunk", "policy", "quantum", "switch", "frequency", "free", "scale"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strncmp(word, names[i], strlen(names[i])) == 0 && word[strlen(names[i])] == '=')
            return 1;
    return strncmp(word, "machine.", 8) == 0 && strcspn(word, "=") < strcspn(word, "+") && word[8] != '=';
}

static int read_try(struct asked *asked, const char *value)
{
    const char *equals = strchr(value, '=');
    if (!equals || !equals[1] || equals == value) {
        peet_cli_complain("--try: '%s' is no change; perfect=NAME, pad=NAME:BYTES, cores=N, machine.KEY=VALUE are",
            value);
        return PEET_CLI_USAGE;
    }
    for (const char *word = value; word; word = strchr(word, '+') ? strchr(word, '+') + 1 : NULL)
        if (!is_change(word)) {
            peet_cli_complain("--try: '%.*s' cannot be tried; perfect, pad, align, stride, base, cores, lock-model, "
                              "winner, schedule, chunk, policy, "
                              "quantum, switch, frequency, free, scale and machine.KEY can",
                (int)strcspn(word, "+"), word);
            return PEET_CLI_USAGE;
        }
    asked->wanted.tries[asked->wanted.ntries++] = (char *)value;
    return -1;
}

static int check_plot(const char *value)
{
    struct peet_error error = {0};
    return peet_cli_picture_check(value, &error) ? peet_cli_fail(&error) : -1;
}

/* Ours are taken out; what is left is a command line of `run`.  They stand before "--"; without one, before all options
 * of `run`. Returns: -1 go on, else the exit status */
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
            asked->wanted.wide = 1;
        } else if ((value = value_of("--top", argc, argv, &i))) {
            status = i < argc ? read_top(asked, value) : PEET_CLI_USAGE;
        } else if ((value = value_of("--try", argc, argv, &i))) {
            status = i < argc ? read_try(asked, value) : PEET_CLI_USAGE;
        } else if ((value = value_of("--plot", argc, argv, &i))) {
            asked->plot = value;
            status = i < argc ? check_plot(value) : PEET_CLI_USAGE;
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

/* Is a wait or the time of a function supposed to be what it is not? */
static int supposes(const struct peet_cli_whatif_wanted *wanted)
{
    int any = wanted->wide;
    for (size_t i = 0; i < wanted->ntries; i++)
        for (const char *word = wanted->tries[i]; word; word = strchr(word, '+') ? strchr(word, '+') + 1 : NULL)
            any |= strncmp(word, "free=", 5) == 0 || strncmp(word, "scale=", 6) == 0;
    return any;
}

/* The options of `run` are checked here, once, by its own reader; the program and its arguments are the last ones of
 * argv. */
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
    asked->whatif.affine = config->policy == PEET_POLICY_FCFS && supposes(&asked->wanted);
    for (size_t i = 0; i < config->nobservers; i++)
        asked->whatif.observed |= strcmp(config->observers[i].module, "dtrack") == 0;
    return 0;
}

/* --------------------------------------------------------------------------------------------- results */

static int by_gain(const void *a, const void *b)
{
    const struct peet_cli_whatif_trial *x = *(const struct peet_cli_whatif_trial *const *)a,
                                       *y = *(const struct peet_cli_whatif_trial *const *)b;
    if (x->differs != y->differs)
        return x->differs ? 1 : -1;
    if (x->cycles != y->cycles)
        return x->cycles < y->cycles ? -1 : 1;
    return x->run.number < y->run.number ? -1 : x->run.number > y->run.number;
}

static json_t *changes_json(const struct peet_cli_whatif_trial *t)
{
    json_t *list = json_array();
    for (size_t i = 0; i < t->run.nchanges; i++)
        json_array_append_new(list, json_string(t->run.changes[i]));
    return list;
}

static const char *label_of(const struct peet_cli_whatif_trial *t)
{
    return t->label ? t->label : "as it is";
}

static json_t *results(const struct peet_cli_whatif_trial *trials, size_t n)
{
    json_t *all = json_array();
    for (size_t i = 0; i < n; i++)
        json_array_append_new(all,
            json_pack("{s:i, s:s, s:o, s:I, s:I, s:f, s:b}", "run", (int)i, "what", label_of(&trials[i]), "changes",
                changes_json(&trials[i]), "cycles", (json_int_t)trials[i].cycles, "saved_cycles",
                (json_int_t)(trials[0].cycles - trials[i].cycles), "speedup",
                trials[i].cycles > 0 ? trials[0].cycles / trials[i].cycles : 0.0, "ended_otherwise",
                trials[i].differs));
    return json_pack("{s:i, s:o}", "version", 1, "runs", all);
}

/* As it is, then what helps most first, then what cannot be compared.  Returns: NULL: out of memory */
static const struct peet_cli_whatif_trial **ordered(const struct peet_cli_whatif_trial *trials, size_t n)
{
    const struct peet_cli_whatif_trial **order = calloc(n + 1, sizeof(*order));
    for (size_t i = 0; order && i < n; i++)
        order[i] = &trials[i];
    if (order && n > 2)
        qsort(order + 1, n - 1, sizeof(*order), by_gain);
    return order;
}

static double gain_percent(const struct peet_cli_whatif_trial *first, const struct peet_cli_whatif_trial *t)
{
    return first->cycles > 0 ? (first->cycles - t->cycles) * 100 / first->cycles : 0;
}

static double speedup(const struct peet_cli_whatif_trial *first, const struct peet_cli_whatif_trial *t)
{
    return t->cycles > 0 ? first->cycles / t->cycles : 0;
}

static void print_table(FILE *out, const struct peet_cli_whatif_trial **order, size_t n, const char *folder)
{
    json_t *rows = json_array(), *table;
    for (size_t i = 0; i < n; i++) {
        const struct peet_cli_whatif_trial *t = order[i];
        char gain[40], speed[40], run[24];
        snprintf(run, sizeof(run), "%u", t->run.number);
        snprintf(gain, sizeof(gain), t->differs ? "-" : "%.1f %%", gain_percent(order[0], t));
        snprintf(speed, sizeof(speed), t->differs ? "-" : "%.3f", speedup(order[0], t));
        json_array_append_new(rows,
            json_pack("[s, I, s, s, s]", label_of(t), (json_int_t)t->cycles, i ? gain : "", i ? speed : "", run));
    }
    table = json_pack("{s:s, s:[s, s, s, s, s], s:o}", "title", "what if", "columns", "change", "cycles", "gain",
        "speed-up", "run", "rows", rows);
    peet_cli_module_table(out, table, peet_cli_terminal_columns(out));
    fprintf(out, "  results in %s\n", folder);
    json_decref(table);
}

/* The gains as bars, to the left if it takes longer. */
static int draw(const char *path, const struct peet_cli_whatif_trial **order, size_t n, struct peet_error *error)
{
    struct peet_cli_bar *bars = calloc(n + 1, sizeof(*bars));
    if (!bars)
        return peet_error_set(error, PEET_ENOMEM, "out of memory");
    while (n > 1 && order[n - 1]->differs)
        n--;
    for (size_t i = 1; i < n; i++) {
        struct peet_cli_bar *bar = &bars[i - 1];
        peet_cli_text_clean(bar->name, sizeof(bar->name), label_of(order[i]), NAME);
        bar->value = gain_percent(order[0], order[i]);
        snprintf(bar->note, sizeof(bar->note), "%.1f %%, speed-up %.3f", bar->value, speedup(order[0], order[i]));
    }
    struct peet_cli_bars picture = {.bars = bars, .n = n - 1};
    snprintf(picture.title, sizeof(picture.title), "%.0f cycles as it is", order[0]->cycles);
    snprintf(picture.unit, sizeof(picture.unit), "gain, as per cent of the cycles");
    int err = peet_cli_bars_plot(path, &picture, 1, error);
    free(bars);
    return err;
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

static int go(const struct asked *asked, struct peet_cli_whatif_trial *t, const struct peet_cli_whatif_trial *first,
    struct peet_error *error)
{
    if (isatty(STDERR_FILENO) && t->run.number)
        fprintf(stderr, "peet: run %u: %s%s\n", t->run.number, t->run.changes[0],
            t->run.nchanges > 1 ? " and others" : "");
    int err = peet_cli_whatif_go(&asked->whatif, &t->run, error);
    if (err == PEET_ENOTFOUND) { /* such as a lock for which nobody waits; the others are tried all the same */
        peet_cli_complain("%s", error->message);
        t->differs = 1;
        return 0;
    }
    if (err)
        return err;
    t->cycles = number(json_object_get(t->run.stats, "time"), "cycles");
    t->differs = first && t->run.status != first->run.status;
    const json_t *why = json_object_get(json_object_get(t->run.stats, "end"), "message");
    if (t->differs && json_is_string(why))
        peet_cli_complain("the run with %s failed: %s", t->run.changes[0], json_string_value(why));
    else if (t->differs)
        peet_cli_complain("the run with %s ended with another status: the program goes by its addresses or by time, so "
                          "that its cycles are those of another computation",
            t->run.changes[0]);
    return 0;
}

static int all_runs(const struct asked *asked, struct peet_cli_whatif_trial **inout_trials, size_t *n,
    struct peet_error *error)
{
    if (mkdir(asked->whatif.output, 0777) != 0 && errno != EEXIST)
        return peet_error_set(error, PEET_EIO, "cannot make the folder %s: %s", asked->whatif.output, strerror(errno));
    int err = go(asked, &(*inout_trials)[0], NULL, error);
    *n = 1;
    if (!err && peet_cli_whatif_plan((*inout_trials)[0].run.stats, &asked->wanted, inout_trials, n))
        err = peet_error_set(error, PEET_ENOMEM, "out of memory");
    for (size_t i = 1; i < *n && !err; i++)
        err = go(asked, &(*inout_trials)[i], &(*inout_trials)[0], error);
    return err;
}

/* whatif.json, the table, the picture. */
static int show(const struct asked *asked, const struct peet_cli_whatif_trial *trials, size_t n,
    struct peet_error *error)
{
    const struct peet_cli_whatif_trial **order = ordered(trials, n);
    json_t *all = results(trials, n);
    int err = order && all ? write_results(asked->whatif.output, all, error)
                           : peet_error_set(error, PEET_ENOMEM, "out of memory");
    if (!err && asked->json) {
        json_dumpf(all, stdout, JSON_INDENT(2) | JSON_PRESERVE_ORDER);
        putchar('\n');
    } else if (!err) {
        print_table(stderr, order, n, asked->whatif.output);
        if (asked->whatif.affine)
            fprintf(stderr, "  in all runs contexts go back to the processor that they ran on (--policy affinity)\n");
    }
    if (!err && asked->plot)
        err = draw(asked->plot, order, n, error);
    json_decref(all);
    free(order);
    return err;
}

static int whatif(struct asked *asked, struct peet_error *error)
{
    struct peet_cli_whatif_trial *trials = calloc(1, sizeof(*trials));
    size_t n = 0;
    int status;
    if (!trials)
        return peet_error_set(error, PEET_ENOMEM, "out of memory"), peet_cli_fail(error);
    int err = all_runs(asked, &trials, &n, error);
    if (!err)
        err = show(asked, trials, n, error);
    if (err)
        status = peet_cli_fail(error);
    else
        status =
            WIFEXITED(trials[0].run.status) ? WEXITSTATUS(trials[0].run.status) : 128 + WTERMSIG(trials[0].run.status);
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
    struct asked asked = {.wanted.top = DEFAULT_TOP};
    struct peet_error error = {0};
    int status;
    asked.wanted.tries = calloc((size_t)argc + 1, sizeof(*asked.wanted.tries));
    if (!asked.wanted.tries) {
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
    free(asked.wanted.tries);
    return peet_cli_finish_stdout(status);
}
