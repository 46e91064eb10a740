/* SPDX-License-Identifier: Apache-2.0 */
/*
 * peet run: everything is checked before anything is made, the subject runs as a child, and what it
 * left in the results folder is summed up.  Standard output belongs to the subject alone.
 */
#include "common.h"
#include "explanation.h"
#include "base/stats.h"
#include "openmp.h"
#include "outcomes.h"
#include "program.h"
#include "replay.h"
#include "result_folder.h"
#include "run_options.h"
#include "supervise.h"
#include "table.h"
#include "text.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { DEFAULT_STACK_BYTES = 8 << 20 };

static char **subject_argv(const struct peet_config *config)
{
    char **argv = calloc(config->narguments + 2, sizeof(*argv));
    if (!argv)
        return NULL;
    argv[0] = config->program;
    for (size_t i = 0; i < config->narguments; i++)
        argv[i + 1] = config->arguments[i];
    return argv;
}

/* The host has refused the run, and said why; if there are results, the program itself has ended so. */
static int looks_refused(const struct peet_cli_ending *ending)
{
    return WIFEXITED(ending->wait_status) && WEXITSTATUS(ending->wait_status) == PEET_CLI_USAGE && ending->reports;
}

/* What is to be said when there are no results.  Returns: the exit status */
static int no_results(const struct peet_cli_ending *ending, const char *stats, const char *why)
{
    int status = ending->wait_status;
    if (WIFSIGNALED(status))
        peet_cli_complain("the program was killed by signal %d (%s); there are no results: %s %s", WTERMSIG(status),
            strsignal(WTERMSIG(status)), stats, why);
    else if (!looks_refused(ending))
        peet_cli_complain("the run ended with status %d before its results were complete: %s %s", WEXITSTATUS(status),
            stats, why);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return PEET_CLI_FAILED;
    return peet_cli_end_like(status);
}

static int show_results(const struct peet_cli_run_options *options, const struct peet_cli_folder *folder,
    const struct peet_cli_ending *ending)
{
    json_error_t where;
    if (access(folder->stats, F_OK) != 0)
        return no_results(ending, folder->stats, "was not written");
    json_t *stats = json_load_file(folder->stats, 0, &where);
    if (!stats)
        return no_results(ending, folder->stats, "cannot be read");

    int failed = 0;
    if (options->json_file) {
        struct peet_error error = {0};
        if (peet_stats_write(stats, options->json_file, &error)) {
            failed = 1;
            peet_cli_complain("--json: %s", error.message);
        }
    }
    if (options->json) {
        failed = json_dumpf(stats, stderr, JSON_INDENT(2) | JSON_PRESERVE_ORDER) != 0;
        fputc('\n', stderr);
    } else if (json_object_get(stats, "exploration")) { /* the program's own output is among it */
        peet_cli_outcomes_print(stderr, json_object_get(stats, "exploration"), folder->stats);
    } else if (json_object_get(stats, "explanation")) {
        peet_cli_explanation_print(stderr, json_object_get(stats, "explanation"));
    } else if (json_object_get(stats, "comparison")) {
        peet_cli_comparison_print(stderr, json_object_get(stats, "comparison"), peet_cli_terminal_columns(stderr));
    } else if (!options->quiet) {
        peet_cli_table_print(stderr, stats, ending->seconds, options->config.output);
    }
    const json_t *found = json_object_get(json_object_get(stats, "exploration"), "status");
    const int status = found ? (int)json_integer_value(found) : -1;
    json_decref(stats);
    fflush(stderr);
    if (!failed && status >= 0) /* however the process has ended: its executions are what counts */
        return status;
    if (failed)
        return PEET_CLI_FAILED;
    if (WIFSIGNALED(ending->wait_status) && ending->reports == 0)
        peet_cli_complain("the program was killed by signal %d (%s)", WTERMSIG(ending->wait_status),
            strsignal(WTERMSIG(ending->wait_status)));
    return peet_cli_end_like(ending->wait_status);
}

/* The main thread's stack is as large as it would be without peet.  Where there is no limit it takes an eighth of what
 * the address space may be, if that is limited. */
static void settle_stack(struct peet_config *config)
{
    struct rlimit stack, space;
    if (config->stack_bytes == 0 && getrlimit(RLIMIT_STACK, &stack) == 0)
        config->stack_bytes = stack.rlim_cur < PEET_CONFIG_STACK_LEAST ? PEET_CONFIG_STACK_LEAST
            : stack.rlim_cur < PEET_CONFIG_STACK_MOST                  ? stack.rlim_cur
                                                                       : PEET_CONFIG_STACK_MOST;
    if (config->stack_bytes == PEET_CONFIG_STACK_MOST && getrlimit(RLIMIT_AS, &space) == 0 &&
        space.rlim_cur != RLIM_INFINITY && space.rlim_cur / 8 < config->stack_bytes)
        config->stack_bytes = space.rlim_cur / 8 > DEFAULT_STACK_BYTES ? space.rlim_cur / 8 : DEFAULT_STACK_BYTES;
}

/* The effective configuration names the folder by its absolute path; the user keeps their own words. */
static int write_config(const struct peet_cli_run_options *options, const struct peet_cli_folder *folder,
    struct peet_error *error)
{
    struct peet_config effective = options->config;
    effective.output = folder->path;
    return peet_config_write(&effective, folder->config, error);
}

/* How much an earlier run in this folder has executed, if it was of the same program with the same arguments; else 0.
 */
static uint64_t expected_instructions(const json_t *earlier, const struct peet_config *config)
{
    const json_t *before = json_object_get(earlier, "config");
    json_t *now = peet_config_json(config);
    const int same = now && !config->from &&
        json_equal(json_object_get(before, "program"), json_object_get(now, "program")) &&
        json_equal(json_object_get(before, "arguments"), json_object_get(now, "arguments"));
    json_decref(now);
    return same ? peet_cli_instructions_of(earlier) : 0;
}

/* As many as the machine will have: cores, and threads of them if it has a parameter of that name. */
static uint64_t processors_of(const struct peet_config *config)
{
    const struct peet_config_param *threads = peet_config_param_of(&config->machine, "threads");
    const uint64_t each = threads ? strtoull(threads->text, NULL, 0) : 0;
    return config->cores * (each ? each : 1);
}

/* Where the C library has other functions than on processors of ten years. */
static void warn_of_processor(const struct peet_cli_subject *subject)
{
    if (subject->pin_variants && !subject->quiet &&
        !(__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("fma")))
        peet_cli_complain("this processor has no AVX2, BMI2 or FMA: the C library executes other instructions "
                          "here than on processors that have them");
}

static void begun(void *arg)
{
    struct peet_error error = {0};
    if (peet_cli_folder_begun(arg, &error))
        peet_cli_complain("%s", error.message);
}

static int run_in_folder(const struct peet_cli_run_options *options, const char *program, int is_foreign,
    struct peet_cli_folder *folder, struct peet_error *error)
{
    char lib_dir[PATH_MAX];
    struct peet_cli_ending ending;
    struct peet_cli_subject subject = {
        .path = program,
        .argv = subject_argv(&options->config),
        .config_path = folder->config,
        .output = folder->path,
        .lib_dir = lib_dir,
        .stack_bytes = options->config.stack_bytes,
        .processors = processors_of(&options->config),
        .expected_instructions = options->expected_instructions
            ? options->expected_instructions
            : expected_instructions(folder->earlier, &options->config),
        .quiet = options->quiet,
        .pin_variants = options->config.foreign == PEET_CONFIG_FOREIGN_RECORD ||
            (options->config.foreign == PEET_CONFIG_FOREIGN_AUTO && !peet_config_not_recorded(&options->config)),
        .libraries_low = options->config.consistency.module || options->config.explore || options->config.replay_token,
        .each_event =
            options->config.explain || (options->config.replay_token && strchr(options->config.replay_token, ',')),
        .is_foreign = is_foreign,
        .brings_openmp = peet_cli_openmp_borrowed(program),
        .show_progress = !options->quiet && isatty(STDERR_FILENO),
        .begun = begun,
        .begun_arg = folder,
    };
    int err = subject.argv ? 0 : peet_error_set(error, PEET_ENOMEM, "out of memory");
    if (!err)
        err = peet_cli_lib_dir(lib_dir, sizeof(lib_dir), error);
    if (!err)
        err = write_config(options, folder, error);
    if (!err) {
        warn_of_processor(&subject);
        fflush(NULL);
        err = peet_cli_supervise(&subject, &ending, error);
    }
    free(subject.argv);
    if (!err && access(folder->stats, F_OK) == 0) /* it may have ended without having executed anything: by a signal */
        begun(folder);
    const int status = err ? peet_cli_fail(error) : show_results(options, folder, &ending);
    const int refused = err || (looks_refused(&ending) && access(folder->stats, F_OK) != 0);
    if (refused && peet_cli_folder_refused(folder, error))
        peet_cli_complain("%s", error->message);
    return status;
}

int peet_cli_run(int argc, char **argv)
{
    struct peet_cli_run_options options;
    struct peet_cli_folder folder;
    struct peet_error error = {0};
    char *program = NULL;
    int status, is_foreign = 0;

    if (peet_cli_run_options_read(argc, argv, &options, &error)) {
        if (error.code == PEET_EIO) /* a configuration file that cannot be read was the wrong thing to ask for */
            error.code = PEET_EINVALID;
        return peet_cli_fail(&error);
    }
    settle_stack(&options.config);
    int err = options.config.from ? peet_cli_replay_program(&program, &error)
                                  : peet_cli_program_find(options.config.program, &program, &error);
    if (!err && !options.config.from)
        err = peet_cli_program_check(program, &options.config, &is_foreign, &error);
    if (!err && is_foreign) /* there is nothing else to see of it */
        options.config.foreign = PEET_CONFIG_FOREIGN_RECORD;
    if (!err)
        err = peet_cli_folder_open(options.config.output, &folder, &error);
    if (err) {
        status = peet_cli_fail(&error);
    } else {
        status = run_in_folder(&options, program, is_foreign, &folder, &error);
        peet_cli_folder_close(&folder);
    }
    free(program);
    peet_config_fini(&options.config);
    return status;
}
