/* SPDX-License-Identifier: Apache-2.0 */
/*
 * peet whatif: what would be gained if a data structure had perfect memory or another layout, if there were more
 * processors, another lock, faster memory, locks and barriers for which nobody waits, faster functions?  A first run,
 * observed by dtrack, says what costs most; then each change is tried.
 */
#include "arguments.h"
#include "base/stats.h"
#include "common.h"
#include "figures.h"
#include "module_tables.h"
#include "picture.h"
#include "run_options.h"
#include "text.h"
#include "whatif.h"

#include <argp.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { DEFAULT_TOP = 3, TOP_MAX = 50, NAME = 60 };
enum { KEY_TOP = 0x1000, KEY_TRY, KEY_WIDE, KEY_PLOT, KEY_JSON }; /* beyond those of peet run */

struct asked {
    int json;
    const char *plot;
    struct peet_cli_whatif_wanted wanted;
    struct peet_cli_whatif whatif;
    struct peet_cli_run_options run;
};

static double number(const json_t *node, const char *key)
{
    return peet_cli_number_of(json_object_get(node, key));
}

/* --------------------------------------------------------------------------------------------- options */

static int is_change(const char *word)
{
    static const char *const names[] = {"perfect", "pad", "align", "stride", "base", "cores", "lock-model", "winner",
        "schedule", "chunk", "policy", "quantum", "switch", "frequency", "free", "scale"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strncmp(word, names[i], strlen(names[i])) == 0 && word[strlen(names[i])] == '=')
            return 1;
    return strncmp(word, "machine.", 8) == 0 && strcspn(word, "=") < strcspn(word, "+") && word[8] != '=';
}

/* Changes of the same kind that add up, as each names something of its own. */
static int adds_up(const char *word)
{
    static const char *const names[] = {"perfect=", "pad=", "align=", "stride=", "base=", "free="};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strncmp(word, names[i], strlen(names[i])) == 0)
            return 1;
    return 0;
}

/* What a change sets: to before its value.  Functions' names, which scale= has there, may have colons themselves. */
static size_t set_by(const char *word)
{
    size_t n = strcspn(word, "+");
    while (n && word[n] != (strncmp(word, "scale=", 6) == 0 ? ':' : '='))
        n--;
    return n;
}

/* Is it set by a change before it? */
static int is_set_before(const char *value, const char *word)
{
    const size_t n = set_by(word) + 1;
    for (const char *before = value; before != word; before = strchr(before, '+') + 1)
        if (strncmp(before, word, n) == 0)
            return 1;
    return 0;
}

static char *read_try(char *value, struct argp_state *state)
{
    const char *equals = strchr(value, '=');
    if (!equals || !equals[1] || equals == value)
        argp_error(state, "--try: '%s' is not a change; perfect=NAME, pad=NAME:BYTES, cores=N, machine.KEY=VALUE are",
            value);
    for (const char *word = value; word; word = strchr(word, '+') ? strchr(word, '+') + 1 : NULL)
        if (!is_change(word))
            argp_error(state,
                "--try: '%.*s' cannot be tried; perfect, pad, align, stride, base, cores, lock-model, winner, schedule, "
                "chunk, policy, quantum, switch, frequency, free, scale and machine.KEY can",
                (int)strcspn(word, "+"), word);
        else if (!adds_up(word) && is_set_before(value, word))
            argp_error(state, "--try: '%s' sets %.*s twice", value, (int)set_by(word), word);
    return value;
}

static char *read_plot(char *value, struct argp_state *state)
{
    struct peet_error error = {0};
    if (peet_cli_picture_check(value, &error))
        argp_error(state, "%s", error.message);
    return value;
}

/* The word that argp has just read is ours, and its value if that stands by itself: `run` is not to see them. */
static void take_out(struct argp_state *state, const char *value)
{
    if (value && value == state->argv[state->next - 1])
        state->argv[state->next - 2] = NULL;
    state->argv[state->next - 1] = NULL;
}

static error_t read_option(int key, char *value, struct argp_state *state)
{
    struct asked *asked = state->input;
    switch (key) {
    case KEY_TOP:
        asked->wanted.top = peet_cli_count(state, "--top", value, 1, TOP_MAX);
        break;
    case KEY_TRY:
        asked->wanted.tries[asked->wanted.ntries++] = read_try(value, state);
        break;
    case KEY_WIDE:
        asked->wanted.wide = 1;
        break;
    case KEY_PLOT:
        asked->plot = read_plot(value, state);
        break;
    case KEY_JSON:
        asked->json = 1;
        break;
    case ARGP_KEY_END:
        if (asked->wanted.top && asked->wanted.ntries && !asked->wanted.wide)
            argp_error(state, "--top: what --try says is tried in place of the structures that cost most");
        if (!asked->wanted.top)
            asked->wanted.top = DEFAULT_TOP;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
    take_out(state, value);
    return 0;
}

static const struct argp_option options[] = {
    {"top", KEY_TOP, "K", 0,
        "Try the K structures that cost most, each by itself and the first 2..K together; default 3", 0},
    {"try", KEY_TRY, "CHANGE", 0,
        "Try this in place of them: perfect=NAME, pad=NAME:BYTES, align=NAME:BYTES or another remapping of peet run; "
        "cores=N, lock-model=NAME, schedule=NAME and other options of peet run with one value; machine.KEY=VALUE, a "
        "parameter of the machine; free=NAME, a lock or barrier for which nobody waits (free=locks, free=barriers: "
        "all); scale=FUNCTION:FACTOR, so much of its own time.  Several joined by '+' are tried at once; may be given "
        "several times",
        0},
    {"wide", KEY_WIDE, NULL, 0,
        "Try, too: twice the processors, half the memory's latency, the lock models, locks and barriers for which "
        "nobody waits, each of the K longest functions in half its time",
        0},
    {"plot", KEY_PLOT, "FILE", 0, "Also draw the gains, the greatest first: .svg, .png or .pdf", 0},
    {"json", KEY_JSON, NULL, 0, "Print JSON on standard output; the program's own output goes to DIR/0.txt", 0},
    {0},
};

static const struct argp parser = {
    .options = options,
    .parser = read_option,
    .args_doc = "[OPTION of peet run...] -- PROG [ARG...]",
    .doc = "Run PROG, then again with one thing changed at a time, and compare the simulated times.\v"
           "Structures that were falsely shared are also padded to the length of a line.  The folder of --output gets "
           "a folder for each run: 0, with nothing changed, 1, 2, ...; and whatif.json.",
};

/* Ours are taken out; what is left is a command line of `run`.  Returns: its length, or -1 */
static int read_own(struct asked *asked, int argc, char **argv)
{
    const struct argp_child children[] = {{peet_cli_run_skipped(), 0, NULL, 0}, {0}};
    struct argp both = parser;
    int left = 0;
    both.children = children;
    if (argp_parse(&both, argc, argv, ARGP_IN_ORDER, NULL, asked) != 0)
        return -1;
    for (int i = 0; i < argc; i++)
        if (argv[i])
            argv[left++] = argv[i];
    argv[left] = NULL;
    return left;
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
    if (!err && (config->explore || config->replay_token))
        err = peet_error_set(error, PEET_EINVALID,
            "whatif: an exploration has no time that could be compared: leave out %s",
            config->explore ? "--explore" : "--replay-token");
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
            json_pack("{s:i, s:s, s:o, s:I, s:I, s:I, s:f, s:b}", "run", (int)i, "what", label_of(&trials[i]),
                "changes", changes_json(&trials[i]), "cycles", (json_int_t)trials[i].cycles, "instructions",
                (json_int_t)trials[i].instructions, "saved_cycles",
                trials[i].run.stats ? (json_int_t)(trials[0].cycles - trials[i].cycles) : 0, "speedup",
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

/* A gain says what a change is worth for what the program does; here it does something else as well. */
static void tell_other_work(FILE *out, const struct peet_cli_whatif_trial *first, const struct peet_cli_whatif_trial *t)
{
    static const double least = 1; /* per cent */
    const double more = first->instructions > 0 ? 100 * (t->instructions / first->instructions - 1) : 0;
    if (t->run.stats && !t->differs && fabs(more) >= least)
        fprintf(out,
            "  run %u executes %.1f %% %s instructions than run 0: its gain is also that of other work, such as "
            "spinning, or what goes by time, addresses or the number of processors\n",
            t->run.number, fabs(more), more > 0 ? "more" : "fewer");
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
            json_pack("[s, o, s, s, s]", label_of(t),
                t->run.stats ? json_integer((json_int_t)t->cycles) : json_string("-"), i ? gain : "", i ? speed : "",
                run));
    }
    table = json_pack("{s:s, s:[s, s, s, s, s], s:o}", "title", "what if", "columns", "change", "cycles", "gain",
        "speed-up", "run", "rows", rows);
    peet_cli_module_table(out, table, peet_cli_terminal_columns(out));
    for (size_t i = 1; i < n; i++)
        tell_other_work(out, order[0], order[i]);
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
    char path[PATH_MAX];
    if ((size_t)snprintf(path, sizeof(path), "%s/whatif.json", folder) >= sizeof(path))
        return peet_error_set(error, PEET_ELIMIT, "%s: the name is too long", folder);
    return peet_stats_write(all, path, error);
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
        error->code = 0; /* told: the next one is another */
        t->differs = 1;
        return 0;
    }
    if (err)
        return err;
    t->cycles = number(json_object_get(t->run.stats, "time"), "cycles");
    t->instructions = number(json_object_get(t->run.stats, "totals"), "instructions");
    t->differs = first && t->run.status != first->run.status;
    const json_t *why = json_object_get(json_object_get(t->run.stats, "end"), "message");
    if (t->differs && json_is_string(why))
        peet_cli_complain("the run with %s failed: %s", t->run.changes[0], json_string_value(why));
    else if (t->differs)
        peet_cli_complain(
            "the run with %s ended with another status: the program depends on its addresses or on time, so "
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
    for (size_t i = 1; i < n && asked->wanted.ntries && !asked->wanted.wide && status == 0; i++)
        if (!trials[i].run.stats) /* what was asked for could not be tried */
            status = 2;
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
    struct asked asked = {0};
    struct peet_error error = {0};
    int status;
    asked.wanted.tries = calloc((size_t)argc + 1, sizeof(*asked.wanted.tries));
    if (!asked.wanted.tries) {
        peet_cli_complain("out of memory");
        return PEET_CLI_FAILED;
    }
    argc = read_own(&asked, argc, argv);
    status = PEET_CLI_USAGE;
    if (argc > 0) {
        int err = read_run(&asked, argc, argv, &error);
        status = err ? peet_cli_fail(&error) : whatif(&asked, &error);
        if (!err)
            peet_config_fini(&asked.run.config);
    }
    free(asked.wanted.tries);
    return peet_cli_finish_stdout(status);
}
