/* SPDX-License-Identifier: Apache-2.0 */
/*
 * peet record: the program runs on the computer's own processors, its threads side by side, and leaves a trace.  This
 * process starts it and writes what it records; the program shares memory with it and nothing else.
 */
#include "arguments.h"
#include "common.h"
#include "config/config.h"
#include "number.h"
#include "program.h"
#include "record_writer.h"
#include "result_folder.h"
#include "plain/shared.h"
#include "supervise.h"

#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WAIT_MS = 50, STARVE_S = 5, MIB_LEAST = 1, DEFAULT_MIB = 64 };

struct options {
    const char *output;
    uint64_t mib; /* of memory for words that wait to be written */
    int level, quiet;
    char **program;
};

static const struct argp_option options_table[] = {
    {"output", 'd', "DIR", 0, "the folder that gets trace.peet; default: results", 0},
    {"buffer", 'b', "MIB", 0, "memory for what waits to be written; default: 64", 0},
    {"level", 'l', "N", 0, "how hard zstd tries, 0 to 19; default: 0, hardly", 0},
    {"quiet", 'q', NULL, 0, "say nothing but what is wrong", 0},
    {0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct options *o = state->input;

    switch (key) {
    case 'd':
        o->output = arg;
        return 0;
    case 'b':
        o->mib = peet_cli_count(state, "--buffer", arg, MIB_LEAST, 1u << 22);
        return 0;
    case 'l':
        o->level = (int)peet_cli_count(state, "--level", arg, 0, 19);
        return 0;
    case 'q':
        o->quiet = 1;
        return 0;
    case ARGP_KEY_ARGS:
        o->program = state->argv + state->next;
        return 0;
    case ARGP_KEY_NO_ARGS:
        argp_error(state, "name a program");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static volatile sig_atomic_t child;

static void forward(int signal)
{
    if (child > 0)
        kill(child, signal);
}

static void forward_signals(void)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};

    for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++) {
        struct sigaction action = {.sa_handler = forward, .sa_flags = SA_RESTART}, old;

        sigaction(signals[i], NULL, &old);
        if (old.sa_handler != SIG_IGN)
            sigaction(signals[i], &action, NULL);
    }
}

/** The program's process: never returns. */
__attribute__((noreturn)) static void become(const char *path, char **argv, int fd, int failed, pid_t parent)
{
    const char *before = getenv("LD_LIBRARY_PATH");
    struct peet_error error = {0};
    char lib[PATH_MAX], text[3 * PATH_MAX];
    int why;

    peet_cli_file_limit_as_before();
    snprintf(text, sizeof(text), "%d", fd);
    if (prctl(PR_SET_PDEATHSIG, 0) == 0 && getppid() == parent && fcntl(fd, F_SETFD, 0) == 0 &&
        personality(ADDR_NO_RANDOMIZE) != -1 && setenv(PEET__REAL_SETTING, text, 1) == 0 &&
        peet_cli_lib_dir(lib, sizeof(lib), &error) == 0) {
        snprintf(text, sizeof(text), "%s%s%s", before ? before : "", before && *before ? ":" : "", lib);
        if (setenv("LD_LIBRARY_PATH", text, 1) == 0)
            execv(path, argv);
    }
    why = errno;
    if (write(failed, &why, sizeof(why)) < 0)
        why = 0;
    _exit(127);
}

static int start(const char *path, char **argv, int fd, struct peet_error *error)
{
    const pid_t parent = getpid();
    int failed[2], why = 0;
    pid_t pid;

    if (pipe2(failed, O_CLOEXEC) != 0)
        return peet_error_set(error, PEET_EIO, "cannot make a pipe: %s", strerror(errno));
    fflush(NULL);
    pid = fork();
    if (pid == 0)
        become(path, argv, fd, failed[1], parent);
    close(failed[1]);
    if (pid < 0)
        return peet_error_set(error, PEET_EIO, "cannot start %s: %s", path, strerror(errno));
    child = pid;
    if (read(failed[0], &why, sizeof(why)) == sizeof(why)) {
        waitpid(pid, NULL, 0);
        close(failed[0]);
        return peet_error_set(error, PEET_EINVALID, "cannot run %s: %s", path, strerror(why));
    }
    close(failed[0]);
    return 0;
}

/** That the program is over ends a wait for its words. */
static void awake(int signal)
{
    (void)signal;
}

/** Write until the program is gone.  A failure does not stop it: its threads are let go on. */
static int follow(struct peet_cli_record_writer *w, int *out_status, struct rusage *out_usage, struct peet_error *error)
{
    const struct sigaction over = {.sa_handler = awake, .sa_flags = SA_NOCLDSTOP};
    const struct sched_param none = {0};
    int err = 0;

    sigaction(SIGCHLD, &over, NULL);
    sched_setscheduler(0, SCHED_BATCH, &none); /* it runs long and seldom */
    while (wait4(child, out_status, err ? 0 : WNOHANG, out_usage) == 0) {
        const int n = peet_cli_record_step(w, WAIT_MS, error);
        if (n < 0)
            err = n;
        else if (peet_cli_record_starves(w) >= STARVE_S)
            err = peet_error_set(error, PEET_ENOMEM,
                "threads keep all memory to record into, and others have waited for it for %d seconds: the trace ends "
                "here; say a larger --buffer (each thread keeps 0.2 to 0.4 MiB)",
                STARVE_S);
        if (err)
            peet_cli_record_abandon(w);
    }
    child = 0;
    return err;
}

static void say(const struct options *o, const struct peet_cli_recorded *r)
{
    if (r->unrecorded_threads)
        peet_cli_complain("%llu threads were too many to be recorded", (unsigned long long)r->unrecorded_threads);
    if (r->handlers && !o->quiet)
        peet_cli_complain("handlers of signals ran %llu times; they are not in the trace",
            (unsigned long long)r->handlers);
    if (o->quiet)
        return;
    fprintf(stderr, "peet: ran %.3f s: %llu threads, %.1f million words in %.1f MB: %s/trace.peet\n", r->ran_s,
        (unsigned long long)r->threads, (double)r->words * 1e-6, (double)r->bytes * 1e-6, o->output);
    if (r->waited_s > 0.001)
        fprintf(stderr,
            "peet: threads waited %.3f s for the writer, which is not in their times; --buffer gives more room\n",
            r->waited_s);
}

/** Nothing has run: the folder is as it was. */
static int refuse(struct peet_cli_folder *folder, struct peet_error *error)
{
    struct peet_error ignored = {0};

    unlinkat(folder->lock, "trace.peet", 0);
    peet_cli_folder_refused(folder, &ignored);
    return peet_cli_fail(error);
}

static int record(const struct options *o, const char *path, struct peet_cli_folder *folder, struct peet_error *error)
{
    struct peet_cli_record_writer *w;
    struct peet_cli_recorded recorded;
    struct peet_error failure = {0};
    struct rusage usage = {0};
    int fd, status = 0, err = peet_cli_record_open((o->mib) << 20, &w, &fd, error);

    if (err)
        return refuse(folder, error);
    err = peet_cli_record_begin(w, o->output, o->program, o->level, error);
    if (err)
        return refuse(folder, error);
    forward_signals();
    if (start(path, o->program, fd, error))
        return refuse(folder, error);
    close(fd);
    if (peet_cli_folder_begun(folder, &failure))
        peet_cli_complain("%s", failure.message);
    failure.code = 0;
    err = follow(w, &status, &usage, &failure);
    if (peet_cli_record_end(w, status, &usage, &recorded, error) && !err)
        failure = *error, err = error->code;
    if (!recorded.attached)
        err = peet_error_set(&failure, PEET_EINVALID, "%s did not begin to record: is it linked with peetcc?", path);
    if (err)
        return peet_cli_fail(&failure);
    say(o, &recorded);
    if (WIFSIGNALED(status))
        peet_cli_complain("the program was killed by signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
    return peet_cli_end_like(status);
}

int peet_cli_record(int argc, char **argv)
{
    const struct argp argp = {options_table, parse, "-- PROGRAM [ARGUMENT...]",
        "Run a program that peetcc has built on the computer's own processors, and keep what its threads do as a trace "
        "for peet run --from, peet trace and peet compare.",
        NULL, NULL, NULL};
    struct options o = {.output = "results", .level = 0, .mib = DEFAULT_MIB};
    struct peet_config config;
    struct peet_cli_folder folder;
    struct peet_error error = {0};
    char *path = NULL;
    int err;

    argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &o);
    err = peet_cli_program_find(o.program[0], &path, &error);
    if (!err) {
        memset(&config, 0, sizeof(config));
        err = peet_cli_program_check(path, &config, NULL, &error);
    }
    if (!err)
        err = peet_cli_folder_open(o.output, &folder, &error);
    if (err) {
        free(path);
        return peet_cli_fail(&error);
    }
    err = record(&o, path, &folder, &error);
    peet_cli_folder_close(&folder);
    free(path);
    return err;
}
