/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Explorations in the host: the simulation is forked at its first choice as often as executions are wanted; each execution's output and
 * end are an outcome, with the token of the first execution that had it.  See host/consistency.h.
 */
#include "arch/x86_64/syscall.h"
#include "domain.h"
#include "consistency/explore.h"
#include "host/consistency.h"
#include "host/report.h"
#include "consistency/search.h"
#include "modules/stats.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <uthash.h>

enum { OUTPUT_SHOWN = 4096, OUTCOMES_LISTED = 1000, REPORT_BYTES = 400 };

/** One outcome: what the program wrote, how it ended. */
struct outcome {
    UT_hash_handle hh;
    uint64_t times, first, choices;
    char *token;
    int status; /* of waitpid() */
    enum peet_explore_end end;
    char report[REPORT_BYTES];
    size_t bytes;
    char output[]; /* the key: end and status, then what it wrote */
};

static struct {
    const struct peet_config *config;
    struct peet_map *map;
    struct peet_search *search;
    struct peet_map_chooser first; /* forks at the first choice */
    int *end;                      /* shared: enum peet_explore_end of the execution */
    int output, report, report_fd;
    int execution, forked;
    uint64_t executions, abandoned, complete, exhausted, most_choices;
    int failed, cut;               /* cut: an execution was given up */
    struct outcome *outcomes;
} here;

/* ----------------------------------------------------------------------------------------------------- executions */

static int64_t fork_it(void)
{
    return peet__raw_syscall(SYS_fork, 0, 0, 0, 0, 0, 0);
}

static void empty_file(int fd)
{
    if (ftruncate(fd, 0) || lseek(fd, 0, SEEK_SET))
        here.failed = 1;
}

static char *take_file(int fd, size_t *out_bytes)
{
    off_t end = lseek(fd, 0, SEEK_END);
    char *text = malloc((size_t)end + 1);
    ssize_t got = text ? pread(fd, text, (size_t)end, 0) : -1;

    if (got < 0) {
        free(text);
        return NULL;
    }
    text[got] = 0;
    *out_bytes = (size_t)got;
    empty_file(fd);
    return text;
}

/** In the execution's own process: what it writes is kept apart. */
static void separate(void)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    dup2(here.output, STDOUT_FILENO);
    if (here.report_fd != STDERR_FILENO)
        dup2(here.report, here.report_fd);
    dup2(here.report, STDERR_FILENO);
    here.execution = 1;
}

/** Returns: 0, or -1 out of memory */
static int note(int status)
{
    size_t bytes = 0, said = 0;
    char *output = take_file(here.output, &bytes), *report = take_file(here.report, &said), head[64];
    int length = snprintf(head, sizeof head, "%d %d\n", *here.end, status);
    struct outcome *o = NULL, *found = NULL;

    if (output && report)
        o = calloc(1, sizeof *o + (size_t)length + bytes + 1);
    if (o) {
        memcpy(o->output, head, (size_t)length);
        memcpy(o->output + length, output, bytes);
        o->bytes = (size_t)length + bytes;
        HASH_FIND(hh, here.outcomes, o->output, o->bytes, found);
        if (!found) {
            o->status = status;
            o->end = (enum peet_explore_end)*here.end;
            o->first = here.executions;
            o->choices = peet_search_choices(here.search);
            o->token = peet_search_get_token(here.search);
            snprintf(o->report, sizeof o->report, "%s", report);
            HASH_ADD(hh, here.outcomes, output, o->bytes, o);
            found = o;
        } else {
            free(o);
        }
        found->times++;
    }
    free(output);
    free(report);
    return found && found->token ? 0 : -1;
}

/** One execution.  Returns: 1 there is another one to make, 0 no more, -1 this is the execution's process, -2 it cannot be done */
static int execute(void)
{
    int64_t child;
    int status, more;

    peet_search_begin(here.search);
    *here.end = PEET_EXPLORE_ENDED;
    child = peet_domains_fork(fork_it);
    if (child == 0) {
        separate();
        return -1;
    }
    if (child < 0) {
        peet_host_report("--explore: cannot fork: %s", strerror((int)-child));
        return -2;
    }
    while (waitpid((pid_t)child, &status, 0) < 0 && errno == EINTR)
        ;
    if (peet_search_mismatch(here.search)) {
        peet_host_report("--explore: an execution did not follow the choices that it was given: the program depends on something outside");
        return -2;
    }
    here.executions++;
    if (peet_search_choices(here.search) > here.most_choices)
        here.most_choices = peet_search_choices(here.search);
    if (peet_search_abandoned(here.search)) {
        here.abandoned++;
        empty_file(here.output);
        empty_file(here.report);
    } else if (note(status)) {
        peet_host_report("--explore: out of memory");
        return -2;
    }
    here.cut |= *here.end == PEET_EXPLORE_STEPS;
    more = peet_search_end(here.search);
    if (here.config->explore != PEET_EXPLORE_ALL)
        return here.executions < here.config->explore;
    here.exhausted = !more;
    here.complete = !more && !here.cut && !peet_search_crowded(here.search);
    return more && here.executions < here.config->explore_limit;
}

/** The first choice of all: from here on each execution has a process of its own. */
static int first_choice(void *arg, const struct peet_option *options, unsigned n)
{
    const struct peet_map_chooser *chooser = peet_search_chooser(here.search);
    int more;

    (void)arg;
    if (here.execution)
        return chooser->choose(chooser->arg, options, n);
    fflush(NULL); /* the host's own streams */
    here.forked = 1;
    while ((more = execute()) > 0)
        ;
    if (more == -1)
        return chooser->choose(chooser->arg, options, n);
    here.failed = more == -2;
    return PEET_CHOICE_ABANDON;
}

static void step_done(void *arg, const struct peet_footprint *footprint)
{
    const struct peet_map_chooser *chooser = peet_search_chooser(here.search);

    (void)arg;
    chooser->done(chooser->arg, footprint);
}

/* -------------------------------------------------------------------------------------------------------- results */

static const char *end_text(const struct outcome *o)
{
    static const char *const texts[] = { "exit", "abandoned", "steps", "livelock" };

    if (o->end != PEET_EXPLORE_ENDED)
        return texts[o->end];
    if (WIFSIGNALED(o->status))
        return "signal";
    return WEXITSTATUS(o->status) == 3 && o->report[0] ? "deadlock" : "exit";
}

static int by_times(struct outcome *a, struct outcome *b)
{
    return a->times < b->times ? 1 : a->times > b->times ? -1 : (a->first > b->first) - (a->first < b->first);
}

static json_t *results(void)
{
    json_t *list = json_array();
    struct outcome *o, *next;
    unsigned n = 0;

    HASH_SORT(here.outcomes, by_times);
    HASH_ITER (hh, here.outcomes, o, next) {
        const char *text = strchr(o->output, '\n') + 1;
        char shown[OUTPUT_SHOWN + 1];

        snprintf(shown, sizeof shown, "%s", text);
        if (n++ < OUTCOMES_LISTED)
            json_array_append_new(list, json_pack("{s:o,s:s,s:i,s:o,s:o,s:o,s:o,s:o}", "times", peet_stats_u64(o->times), "end", end_text(o),
                "status", WIFSIGNALED(o->status) ? 128 + WTERMSIG(o->status) : WEXITSTATUS(o->status), "token", peet_stats_text(o->token),
                "output", peet_stats_text(shown), "output_bytes", peet_stats_u64(o->bytes - (size_t)(text - o->output)), "report",
                peet_stats_text(o->report), "first_execution", peet_stats_u64(o->first)));
        HASH_DEL(here.outcomes, o);
        free(o->token);
        free(o);
    }
    return json_pack("{s:o,s:o,s:o,s:o,s:b,s:b,s:o}", "executions", peet_stats_u64(here.executions), "redundant_executions",
        peet_stats_u64(here.abandoned), "outcomes", peet_stats_u64(n), "most_choices", peet_stats_u64(here.most_choices), "complete",
        (int)here.complete, "exhausted", (int)here.exhausted, "list", list);
}

int peet_host_execution(void)
{
    return here.execution;
}

/* Nothing that the program had written before the first choice comes out of this process as well. */
static void be_silent(void)
{
    int null = memfd_create("peet-silence", MFD_CLOEXEC);

    if (null >= 0)
        dup2(null, STDOUT_FILENO);
}

int peet_host_explore(const struct peet_config *config, struct peet_map *map, json_t **out_found, int *out_execution, struct peet_error *error)
{
    const char *setting = peet_rt_setting("PEET_REPORT_FD");
    int err;

    *out_found = NULL;
    *out_execution = 0;
    here.config = config;
    here.map = map;
    here.report_fd = setting ? atoi(setting) : STDERR_FILENO;
    here.search = peet_search_new(config->replay_token ? PEET_SEARCH_TOKEN : config->explore == PEET_EXPLORE_ALL ? PEET_SEARCH_ALL : PEET_SEARCH_RANDOM,
        config->seed, config->explore_steps);
    if (!here.search)
        return peet_error_set(error, PEET_ENOMEM, "--explore: out of memory");
    if (config->replay_token) {
        err = peet_search_set_token(here.search, config->replay_token, error);
        if (err)
            return err;
        peet_map_set_chooser(map, peet_search_chooser(here.search));
        err = peet_map_run(map, error);
        if (peet_search_mismatch(here.search)) {
            error->code = 0;
            return peet_error_set(error, PEET_EINVALID,
                "--replay-token: its choices do not fit this run: program, arguments, --cores and --consistency must be those of the exploration");
        }
        return err;
    }
    here.end = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    here.output = memfd_create("peet-output", MFD_CLOEXEC);
    here.report = memfd_create("peet-report", MFD_CLOEXEC);
    if (here.end == MAP_FAILED || here.output < 0 || here.report < 0)
        return peet_error_set(error, PEET_EIO, "--explore: cannot make the files for outcomes: %s", strerror(errno));
    here.first = (struct peet_map_chooser){ first_choice, step_done, config->explore_steps, NULL };
    peet_map_set_chooser(map, &here.first);
    err = peet_map_run(map, error);
    if (here.execution) {
        *here.end = peet_map_explore_end(map);
        *out_execution = 1;
        return err;
    }
    if (!here.forked) { /* no two things ever happened at once: it has run */
        if (!err)
            *out_found = json_pack("{s:i,s:i,s:i,s:i,s:b,s:[]}", "executions", 1, "redundant_executions", 0, "outcomes", 1, "most_choices", 0,
                "complete", 1, "list");
        return err;
    }
    if (here.failed)
        return peet_error_set(error, PEET_EIO, "the exploration is not complete");
    be_silent();
    *out_found = results();
    return 0;
}
