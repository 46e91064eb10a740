/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The peet command: finds the verb and hands over.  Each verb is a file of its own and reads its own
 * options with argp.
 */
#include "common.h"
#include "whole.h"

#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Read by argp in the C library, hence visible. */
__attribute__((visibility("default"))) const char *argp_program_version = "peet " PEET_VERSION;

static const struct verb {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *summary;
} verbs[] = {
    {"run", peet_cli_run, "run a program on a simulated multiprocessor"},
    {"record", peet_cli_record, "run a program on the computer's own processors and keep it as a trace"},
    {"sims", peet_cli_sims, "list the simulators and their parameters"},
    {"schema", peet_cli_schema, "show what a program's schema says"},
    {"costs", peet_cli_costs, "what instructions cost on a processor of choice"},
    {"report", peet_cli_report, "results of runs: the page, side by side, tables and pictures"},
    {"trace", peet_cli_trace, "what a recorded run holds, and the trace formats of others"},
    {"compare", peet_cli_compare, "how far two recorded runs are apart"},
    {"locality", peet_cli_locality, "signatures of memory behaviour; traces and programs that have them"},
    {"diff", peet_cli_diff, "what is different between two runs, the largest first"},
    {"sweep", peet_cli_sweep, "many runs: a grid of settings, side by side, to be continued"},
    {"whatif", peet_cli_whatif, "what would help most: memory, layouts, processors, locks, schedules"},
};
enum { VERBS = sizeof(verbs) / sizeof(verbs[0]) };

static const struct verb *find_verb(const char *name)
{
    for (int i = 0; i < VERBS; i++)
        if (strcmp(name, verbs[i].name) == 0)
            return &verbs[i];
    return NULL;
}

static void print_help(FILE *out)
{
    fputs("usage: peet VERB [OPTION...] [ARGUMENT...]\n\n", out);
    for (int i = 0; i < VERBS; i++)
        fprintf(out, "  %-8s %s\n", verbs[i].name, verbs[i].summary);
    fputs("  help     this text; \"peet help VERB\" for a verb's options\n\n"
          "  --version, --help\n\n"
          "A program is compiled with peetcc or peetcc++ and run with \"peet run\".\n",
        out);
}

/* argp ends the program itself after a help text. */
static void help_is_written(void)
{
    if (peet_cli_finish_stdout(PEET_CLI_OK) != PEET_CLI_OK)
        _exit(PEET_CLI_FAILED);
}

/* argp names the program in its messages by program_invocation_name: "peet run". */
static int call_verb(const struct verb *verb, int argc, char **argv)
{
    static char name[32];
    snprintf(name, sizeof(name), "peet %s", verb->name);
    program_invocation_name = program_invocation_short_name = argv[0] = name;
    if (atexit(help_is_written) != 0)
        return PEET_CLI_FAILED;
    return verb->run(argc, argv);
}

/* A standard descriptor that we were started without must not become that of a file of ours, into
 * which messages would then go.  Neither reading nor writing succeeds on it, and the subject does not
 * get it. */
static void occupy_standard_descriptors(void)
{
    for (int fd = 0; fd < 3; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", (fd == 0 ? O_WRONLY : O_RDONLY) | O_CLOEXEC) != fd)
            exit(PEET_CLI_FAILED);
}

int main(int argc, char **argv)
{
    occupy_standard_descriptors();
    peet_cli_file_limit_is_error();
    peet_whole_guard();
    argp_err_exit_status = PEET_CLI_USAGE;
    if (argc < 2) {
        print_help(stderr);
        return PEET_CLI_USAGE;
    }
    const char *word = argv[1];
    if (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0) {
        puts(argp_program_version);
        return peet_cli_finish_stdout(PEET_CLI_OK);
    }
    if (strcmp(word, "help") == 0 || strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 ||
        strcmp(word, "-?") == 0) {
        const struct verb *verb = argc > 2 ? find_verb(argv[2]) : NULL;
        if (verb) {
            char *arguments[] = {argv[0], (char *)"--help", NULL};
            return call_verb(verb, 2, arguments);
        }
        if (argc > 2) {
            peet_cli_complain("help: there is no verb '%s'; \"peet help\" lists them", argv[2]);
            return PEET_CLI_USAGE;
        }
        print_help(stdout);
        return peet_cli_finish_stdout(PEET_CLI_OK);
    }
    const struct verb *verb = find_verb(word);
    if (!verb) {
        peet_cli_complain("there is no verb '%s'; \"peet help\" lists them", word);
        return PEET_CLI_USAGE;
    }
    return call_verb(verb, argc - 1, argv + 1);
}
