/* SPDX-License-Identifier: Apache-2.0 */
/* The options of `peet run`; see run_options.h. */
#include "run_options.h"
#include "result_folder.h"

#include "base/files.h"
#include "base/text.h"
#include "common.h"
#include "modules/modhost.h"
#include "replay.h"

#include <argp.h>
#include <errno.h>
#include <jansson.h>
#include <limits.h>
#include <stdlib.h>

enum {
    KEY_QUANTUM = 0x100,
    KEY_SWITCH,
    KEY_SCHEDULE,
    KEY_CHUNK,
    KEY_JSON,
    KEY_WINNER,
    KEY_LOCK_MODEL,
    KEY_SPIN_QUANTUM,
    KEY_FREQUENCY,
    KEY_RANGES,
    KEY_CONSISTENCY,
    KEY_CONSISTENCY_SYNC,
    KEY_EXPLORE,
    KEY_EXPLORE_LIMIT,
    KEY_EXPLORE_STEPS,
    KEY_REPLAY_TOKEN,
    KEY_UNTIL,
    KEY_EXPLAIN,
    KEY_ROI,
    KEY_PERFECT,
    KEY_REMAP,
    KEY_ALLOCATOR,
    KEY_DATA_DEPTH,
    KEY_STACK,
    KEY_FOREIGN,
    KEY_FOLLOW,
    KEY_FROM,
    KEY_FREE,
    KEY_SCALE,
    KEY_EXPECT
};

static const struct argp_option options[] = {
    {"config", 'c', "FILE", 0, "Read settings from FILE (libconfig); the command line overrides them", 1},
    {"machine", 'm', "NAME[,KEY=VALUE...]", 0,
        "The simulated machine: a module's name (see peet sims) or a path; default ideal", 1},
    {"cores", 'n', "N", 0, "Number of processors; default 1", 1},
    {"observe", 'o', "NAME[,KEY=VALUE...]", 0, "Add an observer; may be given several times", 1},
    {"follow", KEY_FOLLOW, "NAME[,KEY=VALUE...]", 0,
        "Add a machine that watches the same run and does not steer it; may be given several times", 1},
    {"granularity", 'g', "G", 0,
        "How far a program runs ahead of the machine: sync (default), a number of blocks, block or ref", 2},
    {"seed", 's', "N", 0, "Seed of everything random; default 1", 2},
    {"policy", 'p', "NAME", 0,
        "Which software context runs next: fcfs (default), rr, affinity, or a module's path, ./pick.so[,KEY=VALUE...]",
        2},
    {"quantum", KEY_QUANTUM, "CYCLES", 0, "Time slice of the policy rr", 2},
    {"switch", KEY_SWITCH, "CYCLES", 0, "Cost of switching a processor to another software context; default 0", 2},
    {"schedule", KEY_SCHEDULE, "NAME", 0,
        "Schedule of parallel loops that do not name one: static (default), dynamic or guided", 2},
    {"chunk", KEY_CHUNK, "N", 0, "Chunk of those loops; default 0, the schedule's own choice", 2},
    {"lock-model", KEY_LOCK_MODEL, "NAME", 0,
        "What mutexes do to the machine's memory: none (default), tas, ttas, ticket or mcs", 2},
    {"winner", KEY_WINNER, "NAME", 0,
        "Which waiter gets a lock, a semaphore, a signal: fcfs (default), lifo, random, or a module's path, ./pick.so[,KEY=VALUE...]",
        2},
    {"spin-quantum", KEY_SPIN_QUANTUM, "CYCLES", 0,
        "A spinning context gives way after so long if others wait for a processor; default 10000", 2},
    {"frequency", KEY_FREQUENCY, "HZ", 0,
        "Cycles per second of the program's clocks: 2G, 800M; default: the machine's own, else 1G", 2},
    {"stack", KEY_STACK, "SIZE", 0, "Stack of the main thread: 64M, 2G, unlimited; default: what ulimit -s says", 2},
    {"ranges", KEY_RANGES, "on|off", 0, "Whether library calls such as memcpy make references; default on", 2},
    {"foreign", KEY_FOREIGN, "record|ranges|off|auto", 0,
        "Code that peetcc has not compiled: recorded, seen by the references of known functions, not seen, or recorded where that can be had, else by references (auto, the default)",
        2},
    {"roi", KEY_ROI, "all|only", 0, "Whether modules see the whole run (default) or its regions of interest only", 2},
    {"consistency", KEY_CONSISTENCY, "NAME[,KEY=VALUE...]", 0,
        "What processors see of each other's stores, and when: a model (see peet sims); the program compiled with -fpeet-domains",
        2},
    {"consistency-sync", KEY_CONSISTENCY_SYNC, "ref|sync", 0,
        "Ask the model at each shared reference (default) or only at synchronisations", 2},
    {"explore", KEY_EXPLORE, "N|all", 0,
        "Execute the program N times in different interleavings, or in all that make a difference, and list the outcomes",
        2},
    {"explore-limit", KEY_EXPLORE_LIMIT, "N", 0, "The most executions of --explore all; default 100000", 2},
    {"explore-steps", KEY_EXPLORE_STEPS, "N", 0, "Give up an execution of more steps; default 100000", 2},
    {"until", KEY_UNTIL, "failure", 0,
        "--explore ends with the first execution that fails: a signal, a deadlock, an exit status other than 0", 2},
    {"explain", KEY_EXPLAIN, NULL, 0, "With --replay-token: list what the execution did, step by step", 2},
    {"replay-token", KEY_REPLAY_TOKEN, "TOKEN", 0,
        "Repeat one of an exploration's executions; given twice: explain both, side by side from where they part", 2},
    {"perfect", KEY_PERFECT, "NAME", 0,
        "Give a data structure single-cycle memory, while its data still moves through the caches; may be given several times",
        2},
    {"remap", KEY_REMAP, "RULE", 0,
        "Try another layout of a data structure: pad=NAME:64, align=NAME:64, base=NAME:ADDRESS, stride=NAME:ELEMENT:STRIDE; may be given several times",
        2},
    {"free", KEY_FREE, "NAME", 0,
        "Suppose that nobody waits for a lock or at a barrier: its name, \"locks\" or \"barriers\"; may be given several times",
        2},
    {"scale", KEY_SCALE, "FUNCTION:FACTOR", 0,
        "Suppose that a function itself takes so much of its time: 0.5 is half; may be given several times", 2},
    {"allocator", KEY_ALLOCATOR, "NAME", 0,
        "A function that stands for its callers, as malloc does: what it allocates is named after them; may be given several times",
        2},
    {"data-depth", KEY_DATA_DEPTH, "K", 0, "How many calls tell allocation sites apart; default 1, the place itself",
        2},
    {"from", KEY_FROM, "DIR", 0,
        "Take the run from the trace in DIR (see --observe trace) in place of a program; settings are the trace's where none are given",
        1},
    {"output", 'd', "DIR", 0, "Folder for the results; default peet.out", 3},
    {"quiet", 'q', NULL, 0, "No progress line and no table", 3},
    {"expect", KEY_EXPECT, "N|DIR", 0,
        "The run executes about N instructions (12M, 3G), or as many as the run whose results are in DIR: the progress line says what share is done",
        3},
    {"json", KEY_JSON, "FILE", OPTION_ARG_OPTIONAL,
        "Print stats.json on standard error in place of the table; with =FILE: write it to FILE, and leave the table",
        3},
    {0},
};

/* The options that set one thing from text. */
static const struct setting {
    int key;
    const char *where;
    int (*set)(struct peet_config *config, const char *where, const char *text, struct peet_error *error);
} settings[] = {
    {'m', "--machine", peet_config_set_machine},
    {'n', "--cores", peet_config_set_cores},
    {'o', "--observe", peet_config_add_observer},
    {KEY_FOLLOW, "--follow", peet_config_add_follower},
    {'g', "--granularity", peet_config_set_granularity},
    {'s', "--seed", peet_config_set_seed},
    {'p', "--policy", peet_config_set_policy},
    {KEY_QUANTUM, "--quantum", peet_config_set_quantum},
    {KEY_SWITCH, "--switch", peet_config_set_switch},
    {KEY_SCHEDULE, "--schedule", peet_config_set_schedule},
    {KEY_CHUNK, "--chunk", peet_config_set_chunk},
    {KEY_LOCK_MODEL, "--lock-model", peet_config_set_lock_model},
    {KEY_WINNER, "--winner", peet_config_set_winner},
    {KEY_SPIN_QUANTUM, "--spin-quantum", peet_config_set_spin_quantum},
    {KEY_RANGES, "--ranges", peet_config_set_ranges},
    {KEY_FOREIGN, "--foreign", peet_config_set_foreign},
    {KEY_CONSISTENCY, "--consistency", peet_config_set_consistency},
    {KEY_CONSISTENCY_SYNC, "--consistency-sync", peet_config_set_consistency_sync},
    {KEY_EXPLORE, "--explore", peet_config_set_explore},
    {KEY_EXPLORE_LIMIT, "--explore-limit", peet_config_set_explore_limit},
    {KEY_EXPLORE_STEPS, "--explore-steps", peet_config_set_explore_steps},
    {KEY_UNTIL, "--until", peet_config_set_until},
    {KEY_EXPLAIN, "--explain", peet_config_set_explain},
    {KEY_REPLAY_TOKEN, "--replay-token", peet_config_set_replay_token},
    {KEY_ROI, "--roi", peet_config_set_roi},
    {KEY_PERFECT, "--perfect", peet_config_add_perfect},
    {KEY_FREE, "--free", peet_config_add_free},
    {KEY_SCALE, "--scale", peet_config_add_scale},
    {KEY_REMAP, "--remap", peet_config_add_remap},
    {KEY_ALLOCATOR, "--allocator", peet_config_add_allocator},
    {KEY_DATA_DEPTH, "--data-depth", peet_config_set_data_depth},
    {KEY_STACK, "--stack", peet_config_set_stack},
    {KEY_FREQUENCY, "--frequency", peet_config_set_frequency},
};

/* Options in the order of the command line, kept until the files have been read. */
struct given {
    const struct setting *setting;
    const char *text;
};

struct reading {
    struct peet_cli_run_options *out;
    char *tokens; /* two, joined; or NULL */
    struct given *given;
    size_t ngiven;
    const char **files;
    size_t nfiles;
    const char *output;
    const char *from;
    const char *expect;
    char **program; /* PROG ARGS... */
    int nprogram;
};

/* The second token joins the first one; of more the setting says that they are too many.  Returns: 1 it has joined, 0 it
 * is the first, -1 out of memory */
static int join_token(struct reading *reading, const char *text)
{
    struct given *first = reading->given, *end = first + reading->ngiven;
    char *joined;
    while (first < end && first->setting->key != KEY_REPLAY_TOKEN)
        first++;
    if (first == end)
        return 0;
    if (asprintf(&joined, "%s,%s", first->text, text) < 0)
        return -1;
    free(reading->tokens);
    first->text = reading->tokens = joined;
    return 1;
}

static error_t read_option(int key, char *text, struct argp_state *state)
{
    struct reading *reading = state->input;
    switch (key) {
    case 'c':
        reading->files[reading->nfiles++] = text;
        return 0;
    case 'd':
        reading->output = text;
        return 0;
    case KEY_FROM:
        reading->from = text;
        return 0;
    case KEY_EXPECT:
        reading->expect = text;
        return 0;
    case 'q':
        reading->out->quiet = 1;
        return 0;
    case KEY_JSON:
        if (text)
            reading->out->json_file = text;
        else
            reading->out->json = 1;
        return 0;
    case ARGP_KEY_ARGS:
        reading->program = state->argv + state->next;
        reading->nprogram = state->argc - state->next;
        return 0;
    }
    for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++)
        if (settings[i].key == key) {
            const int joined = key == KEY_REPLAY_TOKEN ? join_token(reading, text) : 0;
            if (joined)
                return joined < 0 ? ENOMEM : 0;
            reading->given[reading->ngiven++] = (struct given){&settings[i], text};
            return 0;
        }
    return ARGP_ERR_UNKNOWN;
}

static const struct argp parser = {
    .options = options,
    .parser = read_option,
    .args_doc = "-- PROG [ARG...]",
    .doc = "Run PROG, which peetcc has compiled, on a simulated multiprocessor.\v"
           "PROG's output and exit status are passed on; what peet has to say goes to standard error, the "
           "results to DIR/stats.json.  peet's own exit statuses: 1 peet itself failed, 2 wrong options, "
           "configuration, module or program, 3 PROG deadlocked.",
};

static error_t skip_option(int key, char *text, struct argp_state *state)
{
    (void)text, (void)state;
    switch (key) {
    case ARGP_KEY_INIT:
    case ARGP_KEY_SUCCESS:
    case ARGP_KEY_ERROR:
    case ARGP_KEY_FINI:
    case ARGP_KEY_NO_ARGS:
    case ARGP_KEY_END:
    case ARGP_KEY_ARG:
        return ARGP_ERR_UNKNOWN;
    }
    return 0; /* an option, or the program and its arguments, all at once */
}

const struct argp *peet_cli_run_skipped(void)
{
    static struct argp_option hidden[sizeof(options) / sizeof(options[0])];
    static const struct argp skipped = {.options = hidden, .parser = skip_option};
    for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
        hidden[i] = options[i];
        if (options[i].name)
            hidden[i].flags |= OPTION_HIDDEN;
    }
    return &skipped;
}

/* What nobody has said, the environment may say; but only what is asked for by an option is refused where it cannot be had. */
static int foreign_by_default(struct peet_config *config, struct peet_error *error)
{
    const char *text = getenv("PEET_FOREIGN");
    if (!text || !*text || config->foreign_chosen || config->from)
        return 0;
    int err = peet_config_set_foreign(config, "PEET_FOREIGN", text, error);
    if (!err && config->foreign == PEET_CONFIG_FOREIGN_RECORD)
        config->foreign = PEET_CONFIG_FOREIGN_AUTO;
    return err;
}

/* How long the run is, by the number or by the results of another one. */
static int read_expected(const char *text, uint64_t *out_instructions, struct peet_error *error)
{
    char *path;
    if (peet_text_count(text, out_instructions) == 0)
        return *out_instructions ? 0 : peet_error_set(error, PEET_EINVALID, "--expect: no run has 0 instructions");
    if (asprintf(&path, "%s/stats.json", text) < 0)
        return peet_error_set(error, PEET_ENOMEM, "out of memory");
    json_t *stats = json_load_file(path, 0, NULL);
    *out_instructions = peet_cli_instructions_of(stats);
    json_decref(stats);
    free(path);
    if (!*out_instructions)
        return peet_error_set(error, PEET_EINVALID,
            "--expect: '%s' is neither a number of instructions nor a folder with the results of a run", text);
    return 0;
}

static int is_given(const struct reading *reading, int key)
{
    for (size_t i = 0; i < reading->ngiven; i++)
        if (reading->given[i].setting->key == key)
            return 1;
    return 0;
}

static int explores_all(const struct peet_config *config)
{
    return config->explore == PEET_EXPLORE_ALL;
}

static int explores(const struct peet_config *config)
{
    return config->explore || config->replay_token;
}

static int has_model(const struct peet_config *config)
{
    return config->consistency.module != NULL;
}

static int has_slices(const struct peet_config *config)
{
    return config->policy == PEET_POLICY_RR || config->picker.spec;
}

/* Options that have no effect unless another one is there, which may stand in a file.  Who names that other one, whatever its
 * value, knows of it: scripts give the same options to each policy. */
static int check_alone(const struct reading *reading, const struct peet_config *config, struct peet_error *error)
{
    static const struct {
        int key, beside;
        int (*has_effect)(const struct peet_config *config);
        const char *text;
    } options_beside[] = {
        {KEY_EXPLORE_LIMIT, 0, explores_all, "--explore-limit: it is of --explore all only"},
        {KEY_EXPLORE_STEPS, 0, explores, "--explore-steps: it is of --explore and --replay-token only"},
        {KEY_CONSISTENCY_SYNC, 0, has_model, "--consistency-sync: of which model? --consistency names it"},
        {KEY_QUANTUM, 'p', has_slices,
            "--quantum: it is of the policy rr only; slice_cycles in a configuration file is of the others"},
    };
    for (size_t i = 0; i < sizeof(options_beside) / sizeof(options_beside[0]); i++)
        if (is_given(reading, options_beside[i].key) && !options_beside[i].has_effect(config) &&
            !(options_beside[i].beside && is_given(reading, options_beside[i].beside)))
            return peet_error_set(error, PEET_EINVALID, "%s", options_beside[i].text);
    return 0;
}

/* An exploration or one of its executions: the command line's word for one is a word against the file's for the other. */
static void overrule(const struct reading *reading, struct peet_config *config)
{
    const int explore = is_given(reading, KEY_EXPLORE), repeat = is_given(reading, KEY_REPLAY_TOKEN);
    if (repeat && !explore)
        config->explore = config->explore_until_failure = 0;
    if (explore && !repeat) {
        free(config->replay_token);
        config->replay_token = NULL;
        config->explain = 0;
    }
}

/* What a trace has of call paths its run has written. */
static void tell_paths_are_fixed(const struct peet_config *config, size_t allocators, unsigned data_depth)
{
    static const char text[] =
        "--from: %s is without effect: the trace has the call paths that its own run was asked for";
    if (config->allocators.n != allocators)
        peet_cli_complain(text, "--allocator");
    if (config->data_depth != data_depth)
        peet_cli_complain(text, "--data-depth");
}

static int apply(const struct reading *reading, struct peet_config *config, struct peet_error *error)
{
    int err = 0;
    if (reading->from) {
        if (reading->nprogram > 0)
            return peet_error_set(error, PEET_EINVALID, "--from: the program is the trace's; leave out %s",
                reading->program[0]);
        err = peet_config_set_from(config, "--from", reading->from, error);
        if (!err)
            err = peet_cli_replay_config(config, error);
    }
    for (size_t i = 0; i < reading->nfiles && !err; i++)
        err = peet_config_read(config, reading->files[i], error);
    const size_t allocators = config->allocators.n;
    const unsigned data_depth = config->data_depth;
    if (!err)
        overrule(reading, config);
    for (size_t i = 0; i < reading->ngiven && !err; i++)
        err = reading->given[i].setting->set(config, reading->given[i].setting->where, reading->given[i].text, error);
    if (!err)
        err = check_alone(reading, config, error);
    if (!err && reading->from)
        tell_paths_are_fixed(config, allocators, data_depth);
    if (!err && reading->nprogram > 0)
        err = peet_config_set_program(config, reading->program[0], (size_t)reading->nprogram - 1, reading->program + 1,
            error);
    if (!err && (reading->output || !config->output))
        err = peet_config_set_output(config, reading->output ? reading->output : "peet.out", error);
    if (!err && !config->program)
        err = peet_error_set(error, PEET_EINVALID, "no program to run; usage: %s [OPTION...] -- PROG [ARG...]",
            program_invocation_name);
    if (!err && reading->out->json_file && !*reading->out->json_file)
        err = peet_error_set(error, PEET_EINVALID, "--json=: the name of the file is empty");
    if (!err && reading->out->json_file)
        err = peet_file_check(reading->out->json_file, "--json", error);
    if (!err && config->output[0] == '\0')
        err = peet_error_set(error, PEET_EINVALID, "--output: the name of the results folder is empty");
    if (!err && reading->expect)
        err = read_expected(reading->expect, &reading->out->expected_instructions, error);
    if (!err)
        err = foreign_by_default(config, error);
    if (!err && config->from)
        err = peet_cli_replay_check(config, error);
    return err;
}

int peet_cli_run_options_read(int argc, char **argv, struct peet_cli_run_options *out_options, struct peet_error *error)
{
    *out_options = (struct peet_cli_run_options){0};
    struct reading reading = {.out = out_options};
    reading.given = calloc((size_t)argc, sizeof(*reading.given));
    reading.files = calloc((size_t)argc, sizeof(*reading.files));
    int err = 0;
    if (!reading.given || !reading.files)
        err = peet_error_set(error, PEET_ENOMEM, "out of memory");
    /* In order: what follows PROG is PROG's, even if it looks like an option of ours. */
    if (!err && argp_parse(&parser, argc, argv, ARGP_IN_ORDER, NULL, &reading) != 0)
        err = peet_error_set(error, PEET_EINVALID, "cannot read the command line");
    if (!err)
        err = peet_config_init(&out_options->config, error);
    if (!err) {
        char modules[PATH_MAX];
        err = apply(&reading, &out_options->config, error);
        if (!err)
            err = peet_modhost_dir(modules, sizeof(modules), error);
        if (!err)
            err = peet_config_resolve(&out_options->config, modules, error);
        if (err)
            peet_config_fini(&out_options->config);
    }
    free(reading.tokens);
    free(reading.given);
    free(reading.files);
    return err;
}
