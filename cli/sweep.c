/* SPDX-License-Identifier: Apache-2.0 */
/* peet sweep: a grid or list of settings and programs, each a run; goes on after an interruption.  See sweep.h. */
#include "sweep.h"

#include "arguments.h"
#include "base/stats.h"
#include "common.h"

#include <argp.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { KEY_ONE = 0x100, KEY_JSON, KEY_PLOT, KEY_PARALLEL, KEY_SLURM, KEY_RETRY, KEY_SHARE, JOBS_MOST = 4096 };

struct asked {
    const char *output, *plan, *plot, *words;
    char **program;
    size_t one;
    unsigned jobs;
    enum peet_cli_sweep_way way;
    int json, retry, share;
};

static const struct argp_option options[] = {
    {"output", 'd', "DIR", 0, "Folder of the sweep; default peet.sweep.  A sweep that was interrupted goes on there",
        0},
    {"jobs", 'j', "N", 0, "So many runs side by side; default: one for each processor of this computer", 0},
    {"parallel", KEY_PARALLEL, "OPTIONS", OPTION_ARG_OPTIONAL,
        "Start the runs by GNU parallel with these options, for example over ssh: --parallel=\"--sshlogin a,b\"", 0},
    {"slurm", KEY_SLURM, "OPTIONS", OPTION_ARG_OPTIONAL, "Start them as a Slurm job array with these options of sbatch",
        0},
    {"retry", KEY_RETRY, NULL, 0, "Run again what failed", 0},
    {"share", KEY_SHARE, NULL, 0,
        "Record each program once, and replay it for runs that differ in the machine only, where that gives the same results",
        0},
    {"plot", KEY_PLOT, "FILE", 0, "Draw cycles against the first setting that is a number: .svg, .png or .pdf", 0},
    {"json", KEY_JSON, NULL, 0, "Print the table as JSON", 0},
    {"run-one", KEY_ONE, "N", OPTION_HIDDEN, NULL, 0},
    {0},
};

static error_t read_option(int key, char *text, struct argp_state *state)
{
    struct asked *asked = state->input;
    switch (key) {
    case 'd':
        asked->output = text;
        return 0;
    case 'j':
        asked->jobs = (unsigned)peet_cli_count(state, "--jobs", text, 1, JOBS_MOST);
        return 0;
    case KEY_PARALLEL:
    case KEY_SLURM:
        if (asked->way != PEET_CLI_SWEEP_LOCAL)
            argp_error(state, "--parallel or --slurm, once: one of them starts the runs");
        asked->way = key == KEY_SLURM ? PEET_CLI_SWEEP_SLURM : PEET_CLI_SWEEP_PARALLEL;
        asked->words = text;
        return 0;
    case KEY_RETRY:
        asked->retry = 1;
        return 0;
    case KEY_SHARE:
        asked->share = 1;
        return 0;
    case KEY_PLOT:
        asked->plot = text;
        return 0;
    case KEY_JSON:
        asked->json = 1;
        return 0;
    case KEY_ONE:
        asked->one = peet_cli_count(state, "--run-one", text, 1, PEET_CLI_SWEEP_RUNS);
        return 0;
    case ARGP_KEY_ARG:
        if (asked->plan)
            return ARGP_ERR_UNKNOWN;
        asked->plan = text;
        asked->program = state->argv + state->next;
        if (*asked->program && strcmp(*asked->program, "--") == 0)
            asked->program++;
        state->next = state->argc;
        return 0;
    case ARGP_KEY_END:
        if (asked->jobs && asked->way == PEET_CLI_SWEEP_SLURM)
            argp_error(state, "--jobs: Slurm decides how many runs there are side by side");
        return 0;
    }
    return ARGP_ERR_UNKNOWN;
}

static const struct argp parser = {
    .options = options,
    .parser = read_option,
    .args_doc = "PLAN [-- PROG [ARG...]]",
    .doc =
        "Many runs: each combination of the settings in PLAN.\v"
        "PLAN is a file in libconfig's syntax:\n\n"
        "  grid = { machine = (\"ideal\", \"bus,cache=16KiB\"); cores = (1, 2, 4); };\n"
        "  list = ( { machine = \"x86\"; cores = 8; arguments = \"1000\"; } );\n\n"
        "Names are the long options of peet run; \"program\" and \"arguments\" stand for the program and its arguments.  DIR gets runs/KEY for each run, failed/KEY "
        "for those that failed, table.csv and table.json.  Exit status: 0 all runs are done, 1 some failed, 2 the plan or an option is wrong.",
};

static int write_plan(const char *folder, const json_t *plan, struct peet_error *error)
{
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s/plan.json", folder);
    return peet_stats_write(plan, path, error);
}

static int make(const char *folder, struct peet_error *error)
{
    static const char *const below[] = {"", "/runs", "/failed"};
    for (size_t i = 0; i < sizeof(below) / sizeof(below[0]); i++) {
        char path[PATH_MAX];
        snprintf(path, sizeof(path), "%s%s", folder, below[i]);
        if (mkdir(path, 0777) != 0 && errno != EEXIST)
            return peet_error_set(error, PEET_EIO, "cannot make the folder %s: %s", path, strerror(errno));
    }
    return 0;
}

/* Is the program, if it is named by a path, newer than the results of the run? */
static int is_outdated(const char *folder, const json_t *run)
{
    const json_t *words = json_object_get(run, "command"), *word;
    char path[PATH_MAX];
    struct stat program, results;
    size_t i = 0;
    while ((word = json_array_get(words, i++)) != NULL && strcmp(json_string_value(word), "--") != 0)
        ;
    const char *name = json_string_value(json_array_get(words, i));
    snprintf(path, sizeof(path), "%.2000s/runs/%s/stats.json", folder, json_string_value(json_object_get(run, "key")));
    return name && strchr(name, '/') && stat(name, &program) == 0 && stat(path, &results) == 0 &&
        (program.st_mtim.tv_sec > results.st_mtim.tv_sec ||
            (program.st_mtim.tv_sec == results.st_mtim.tv_sec && program.st_mtim.tv_nsec > results.st_mtim.tv_nsec));
}

static int carry_out(const struct asked *asked, const char *folder, const json_t *plan, struct peet_error *error)
{
    const json_t *runs = json_object_get(plan, "runs"), *one;
    size_t *numbers = calloc(json_array_size(runs) + 1, sizeof(*numbers)), n = 0, failed = 0, open = 0, outdated = 0, i;
    if (!numbers)
        return peet_cli_fail((peet_error_set(error, PEET_ENOMEM, "out of memory"), error));
    json_array_foreach((json_t *)runs, i, one)
    {
        enum peet_cli_sweep_state state = peet_cli_sweep_state(folder, json_string_value(json_object_get(one, "key")));
        if (state == PEET_CLI_SWEEP_TODO || (state == PEET_CLI_SWEEP_FAILED && asked->retry))
            numbers[n++] = i + 1;
        outdated += state == PEET_CLI_SWEEP_DONE && is_outdated(folder, one);
    }
    size_t leads = 0; /* those that leave traces come first */
    for (i = 0; i < n; i++)
        if (peet_cli_sweep_part(plan, numbers[i]) == PEET_CLI_SWEEP_LEADS) {
            size_t one_of_them = numbers[i];
            memmove(numbers + leads + 1, numbers + leads, (i - leads) * sizeof(*numbers));
            numbers[leads++] = one_of_them;
        }
    int err = peet_cli_sweep_runs(folder, plan, numbers, leads, asked->way, asked->jobs, asked->words, error);
    if (!err)
        err =
            peet_cli_sweep_runs(folder, plan, numbers + leads, n - leads, asked->way, asked->jobs, asked->words, error);
    free(numbers);
    if (!err)
        err = peet_cli_sweep_table(folder, plan, asked->plot, asked->json, error);
    if (err)
        return peet_cli_fail(error);
    json_array_foreach((json_t *)runs, i, one)
    {
        enum peet_cli_sweep_state state = peet_cli_sweep_state(folder, json_string_value(json_object_get(one, "key")));
        failed += state == PEET_CLI_SWEEP_FAILED;
        open += state == PEET_CLI_SWEEP_TODO;
    }
    if (outdated)
        peet_cli_complain(
            "%zu of %zu runs are older than the program, and were not made again; without %s/runs they are", outdated,
            json_array_size(runs), asked->output);
    if (failed)
        peet_cli_complain("%zu of %zu runs failed; %s/failed says why, --retry runs them again", failed,
            json_array_size(runs), asked->output);
    if (!open)
        peet_cli_sweep_forget(folder);
    if (open)
        peet_cli_complain("%zu of %zu runs are not done; the same command goes on", open, json_array_size(runs));
    return failed || open ? PEET_CLI_FAILED : PEET_CLI_OK;
}

static int sweep(const struct asked *asked)
{
    struct peet_error error = {0};
    json_t *plan = peet_cli_sweep_plan(asked->plan, asked->program, &error);
    if (!plan)
        return peet_cli_fail(&error);
    if (asked->plot && peet_cli_sweep_plot_check(plan, asked->plot, &error)) {
        json_decref(plan);
        return peet_cli_fail(&error);
    }
    if (asked->share)
        json_object_set_new(plan, "share", json_true());
    int status = make(asked->output, &error) ? peet_cli_fail(&error) : PEET_CLI_OK, lock = -1;
    char *folder = status == PEET_CLI_OK ? realpath(asked->output, NULL) : NULL;
    if (folder &&
        ((lock = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0 || flock(lock, LOCK_EX | LOCK_NB) != 0)) {
        peet_cli_complain("another sweep is under way in %s; give this one its own with -d", asked->output);
        status = PEET_CLI_USAGE;
    } else if (folder) {
        status = write_plan(folder, plan, &error) ? peet_cli_fail(&error) : carry_out(asked, folder, plan, &error);
    }
    if (lock >= 0)
        close(lock);
    free(folder);
    json_decref(plan);
    return peet_cli_finish_stdout(status);
}

int peet_cli_sweep(int argc, char **argv)
{
    struct asked asked = {.output = "peet.sweep"};
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    if (argp_parse(&parser, argc, argv, ARGP_IN_ORDER, NULL, &asked) != 0)
        return PEET_CLI_USAGE;
    if (!asked.jobs)
        asked.jobs = processors > 0 ? (unsigned)processors : 1;
    if (asked.one)
        return peet_cli_sweep_one(asked.output, asked.one);
    if (!asked.plan) {
        peet_cli_complain("sweep: give a plan; \"peet help sweep\" shows what is in it");
        return PEET_CLI_USAGE;
    }
    return sweep(&asked);
}
