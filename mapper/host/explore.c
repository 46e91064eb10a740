/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Explorations in the host: the simulation is forked at its first choice as often as executions are wanted; each
 * execution's output and end are an outcome, with the token of the first execution that had it.  See
 * host/consistency.h.
 */
#include "arch/x86_64/syscall.h"
#include "views/domain.h"
#include "consistency/explore.h"
#include "host/consistency.h"
#include "host/data.h"
#include "host/explain.h"
#include "host/gaps.h"
#include "host/outcomes.h"
#include "host/report.h"
#include "host/token.h"
#include "host/unseen.h"
#include "consistency/search.h"
#include "base/stats.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define MISFIT "--replay-token: its choices do not fit this run: the program depends on something outside"

enum { LOOK_MS = 200, FRAMES_BYTES = 1 << 18 };

/** What an execution leaves, in memory that both processes see. */
struct ending {
    int end; /* enum peet_explore_end */
    int deadlock;
    uint32_t gaps; /* enum peet_explore_gap */
    char unseen[PEET_UNSEEN_NAME_BYTES];
};

/** What all executions know: to read debug information for a backtrace can take longer than all the rest of one. */
struct known {
    struct ending ending;
    _Alignas(8) char frames[FRAMES_BYTES];
};

static struct {
    const struct peet_config *config;
    struct peet_map *map;
    struct peet_program *program;
    const struct peet_source *source;
    struct peet_search *search;
    struct peet_map_chooser first; /* forks at the first choice */
    struct ending *ending;
    int output, report, report_fd, reported; /* reported: where reports go outside of executions */
    char *before;                            /* what the program wrote before the first choice */
    size_t before_bytes;
    int execution, forked, exploring;
    uint64_t executions, abandoned, most_choices, given_up, crowded;
    int exhausted, failed, interrupted, stopped;
    uint32_t gaps;
    char unseen[PEET_UNSEEN_NAME_BYTES]; /* a function that was called and is not seen */
    char mark[PEET_TOKEN_MARK_BYTES];
    /* of two tokens: their choices, and what the executions have come to */
    const char *tokens[2];
    char *choices[2];
    json_t *compared[2];
    int comparing, steps; /* steps: the file of what an execution explains */
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
    peet_rt_keep_interrupts(0);
    if (here.report_fd != STDERR_FILENO)
        dup2(here.report, here.report_fd);
    dup2(here.report, STDERR_FILENO);
    here.execution = 1;
}

static char *token_of(void)
{
    char *choices = peet_search_get_token(here.search), *token = NULL;

    if (choices && asprintf(&token, "%s%s", choices, here.mark) < 0)
        token = NULL;
    free(choices);
    return token;
}

/** One of two executions that are compared.  Returns: 0, or -1: out of memory */
static int compare_note(struct peet_outcome_note *one)
{
    size_t bytes;
    char *lines = take_file(here.steps, &bytes);
    json_t *end = peet_outcomes_end_json(one);

    if (!lines || !end || here.executions > 2 || !here.executions ||
        json_object_set_new(end, "steps", peet_explain_parse(lines))) {
        free(lines);
        json_decref(end);
        return -1;
    }
    free(lines);
    here.compared[here.executions - 1] = end;
    return 0;
}

/** What an execution, or the program before the first choice, has come to.  Returns: as peet_outcomes_note() */
static int note(int status)
{
    size_t bytes = 0, said = 0;
    char *output = take_file(here.output, &bytes), *report = take_file(here.report, &said);
    struct peet_outcome_note one = {.how = {(enum peet_explore_end)here.ending->end, here.ending->deadlock, status},
        .before = here.before ? here.before : "",
        .before_bytes = here.before_bytes,
        .output = output ? output : "",
        .output_bytes = bytes,
        .report = report ? report : "",
        .execution = here.executions,
        .choices = peet_search_choices(here.search),
        .token = output && report && !here.comparing ? token_of() : NULL};
    int result;

    if (here.comparing)
        one.token = (char *)(uintptr_t)here.tokens[here.executions - 1];
    result = here.comparing ? compare_note(&one) : peet_outcomes_note(&one);

    free(output);
    free(report);
    return result;
}

/** Wait for an execution; a signal from outside ends it, and the search.  Returns: 0, or -1: interrupted */
static int wait_for(pid_t child, int *out_status)
{
    int fd = pidfd_open(child, 0);
    struct pollfd end = {.fd = fd, .events = POLLIN};
    int ready = fd < 0;

    while (!ready && !peet_rt_interrupted())
        ready = poll(&end, 1, LOOK_MS) > 0;
    if (fd >= 0)
        close(fd);
    if (!ready)
        kill(child, SIGKILL);
    while (waitpid(child, out_status, 0) < 0 && errno == EINTR)
        ;
    here.interrupted = peet_rt_interrupted();
    return here.interrupted ? -1 : 0;
}

/** About the execution that is over.  Returns: -2: it cannot be gone on, else 1 */
static int take_stock(int status)
{
    int result = 0;

    if (peet_search_mismatch(here.search) && here.comparing)
        return -2; /* replay_two() says it */
    if (peet_search_mismatch(here.search)) {
        peet_host_report(
            "--explore: an execution did not follow the choices that it was given: the program depends on something outside");
        return -2;
    }
    here.executions++;
    peet_host_progress(here.executions, here.config->explore == PEET_EXPLORE_ALL ? 0 : here.config->explore);
    here.gaps |= here.ending->gaps;
    if (!*here.unseen)
        memcpy(here.unseen, here.ending->unseen, sizeof here.unseen);
    if (peet_search_choices(here.search) > here.most_choices)
        here.most_choices = peet_search_choices(here.search);
    here.crowded += (uint64_t)peet_search_crowded(here.search);
    if (peet_search_abandoned(here.search)) {
        here.abandoned++;
        empty_file(here.output);
        empty_file(here.report);
    } else {
        result = note(status);
    }
    if (result < 0) {
        peet_host_report("--explore: out of memory");
        return -2;
    }
    here.given_up += here.ending->end == PEET_EXPLORE_STEPS;
    here.stopped = result > 0 && here.config->explore_until_failure;
    return 1;
}

/** The token of the execution that comes next has been checked.  Returns: 0, or not 0: out of memory */
static int set_choices(const char *choices)
{
    struct peet_error error = {0, ""};

    return peet_search_set_token(here.search, choices, &error);
}

/** One execution.  Returns: 1 there is another one to make, 0 no more, -1 this is the execution's process, -2 it cannot
 * be done */
static int execute(void)
{
    int64_t child;
    int status, more;

    if ((here.interrupted = peet_rt_interrupted()) != 0)
        return 0;
    if (here.comparing && (here.executions == 2 || set_choices(here.choices[here.executions])))
        return 0;
    peet_search_begin(here.search);
    memset(here.ending, 0, sizeof *here.ending);
    child = peet_domains_fork(fork_it);
    if (child == 0) {
        separate();
        return -1;
    }
    if (child < 0) {
        peet_host_report("--explore: cannot fork: %s", strerror((int)-child));
        return -2;
    }
    if (wait_for((pid_t)child, &status))
        return 0;
    if (take_stock(status) < 0)
        return -2;
    more = peet_search_end(here.search);
    if (here.comparing)
        return here.executions < 2;
    if (here.config->explore != PEET_EXPLORE_ALL)
        return !here.stopped && here.executions < here.config->explore;
    here.exhausted = !more;
    return more && !here.stopped && here.executions < here.config->explore_limit;
}

/** What peet says goes to the user again; what it has said before the first choice does now. */
static void report_again(void)
{
    size_t bytes = 0;
    char *said;

    if (here.reported < 0)
        return;
    dup2(here.reported, here.report_fd);
    close(here.reported);
    here.reported = -1;
    said = take_file(here.report, &bytes);
    for (char *line = said, *end; line && (end = strchr(line, '\n')) != NULL; line = end + 1)
        peet_host_report("%.*s", (int)(end - line), line);
    free(said);
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
    here.before = take_file(here.output, &here.before_bytes);
    report_again();
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
    here.ending->gaps |= peet_map_explore_gaps(here.map); /* the execution may crash in its next step */
    chooser->done(chooser->arg, footprint);
}

/* -------------------------------------------------------------------------------------------------------- results */

/** What the executions could not do, because of the program or the way it is run. */
static void gaps_of_program(json_t *list)
{
    json_t *gaps = peet_host_gaps_json(here.program, here.map, 0, 0),
           *library = json_object_get(gaps, "atomic_library_functions");
    const long long statements = (long long)json_integer_value(json_object_get(gaps, "asm_statements")),
                    opaque = (long long)json_integer_value(json_object_get(gaps, "opaque_functions"));

    if (peet_program_granularity(here.program) < 2)
        peet_outcomes_gap(list, "plain_references",
            "nobody acts between plain references, only at atomic and volatile ones, synchronisations and system "
            "calls: compile all of it with -fpeet-granularity=ref");
    if (statements)
        peet_outcomes_gap(list, "assembly",
            "nobody acts inside inline assembly, and what it references is not seen: %lld statement%s", statements,
            statements == 1 ? "" : "s");
    if (opaque)
        peet_outcomes_gap(list, "opaque_functions",
            "%lld function%s cannot be recorded: what they reference is not seen", opaque, opaque == 1 ? "" : "s");
    if (json_array_size(library))
        peet_outcomes_gap(list, "atomic_library_functions",
            "what libatomic's functions reference is not seen: %zu of them are called", json_array_size(library));
    if (here.config->consistency.module && here.config->consistency_sync)
        peet_outcomes_gap(list, "synchronisations_only",
            "--consistency-sync sync: stores between synchronisations are seen together");
    json_decref(gaps);
}

/** Is the model one under which more is possible than under sequential consistency? */
static int weaker_than_sc(const struct peet_config *config)
{
    const struct peet_config_module *m = &config->consistency;

    for (size_t i = 0; m->module && i < m->nparams; i++)
        if (!strcmp(m->params[i].name, "model") && !strcmp(m->params[i].text, "sc"))
            return 0;
    return m->module != NULL;
}

static void gaps_of_executions(json_t *list)
{
    if (here.gaps & PEET_GAP_WHOLE)
        peet_outcomes_gap(list, "read_modify_writes",
            "an instruction that reads and writes memory without a lock was one step: %s",
            peet_program_granularity(here.program) < 2 ? "-fpeet-granularity=ref splits it"
                                                       : "one that could not be split");
    if (here.gaps & PEET_GAP_PROCESSORS)
        peet_outcomes_gap(list, "processors",
            "threads waited for a processor: more --cores than %u let them all interleave", here.config->cores);
    if (here.gaps & PEET_GAP_TIME)
        peet_outcomes_gap(list, "time",
            "clocks, sleeps and deadlines follow the simulated time alone: time passes when nothing else can happen");
    if (here.gaps & PEET_GAP_UNSEEN)
        peet_outcomes_gap(list, "unseen_code",
            "code that peetcc has not compiled ran beside other threads, and what it references is not seen: %s",
            here.unseen);
    if (peet_search_library(here.search))
        peet_outcomes_gap(list, "library_functions",
            "threads share what a function of the C library references (memcpy(), printf() ...), all of it in one step");
    if (peet_search_emptied(here.search) && weaker_than_sc(here.config))
        peet_outcomes_gap(list, "library_fences",
            "a call of a library is a fence here, and threads share what is stored before it and referenced after "
            "it");
    if (peet_search_unmodelled(here.search) && weaker_than_sc(here.config))
        peet_outcomes_gap(list, "stacks",
            "threads share variables on a stack, and stacks do not go through the model, as globals and the heap do");
    if (here.gaps & PEET_GAP_LOOPS)
        peet_outcomes_gap(list, "loops",
            "a loop that waits and counts, or looks at a clock, was made to wait after %d looks", PEET_EXPLORE_LOOKS);
}

/** What was not done, in the order of importance. */
static json_t *not_explored(void)
{
    const struct peet_config *c = here.config;
    json_t *list = json_array();

    if (here.interrupted)
        peet_outcomes_gap(list, "interrupted", "a signal came from outside: %s", strsignal(here.interrupted));
    else if (here.stopped)
        peet_outcomes_gap(list, "stopped", "--until=failure: an execution has failed");
    else if (c->explore != PEET_EXPLORE_ALL)
        peet_outcomes_gap(list, "random_walks", "random walks make some executions; --explore all makes all");
    else if (here.forked && !here.exhausted)
        peet_outcomes_gap(list, "limit", "the limit of %llu executions came first: --explore-limit N moves it",
            (unsigned long long)c->explore_limit);
    if (here.given_up)
        peet_outcomes_gap(list, "steps",
            "%llu execution%s given up after %llu steps: --explore-steps N moves this limit",
            (unsigned long long)here.given_up, here.given_up == 1 ? " was" : "s were",
            (unsigned long long)c->explore_steps);
    if (here.crowded)
        peet_outcomes_gap(list, "choices",
            "%llu execution%s more than %d choices, of which those behind were made in one way only, or more than %d "
            "at once, of which some were left out: a smaller input has fewer, and random walks, --explore N, have no "
            "such limit",
            (unsigned long long)here.crowded, here.crowded == 1 ? " had" : "s had", PEET_SEARCH_CHOICES_MOST,
            PEET_OPTIONS_MOST - 1);
    gaps_of_executions(list);
    gaps_of_program(list);
    return list;
}

static json_t *results(void)
{
    json_t *gaps = not_explored(), *list;
    const uint64_t failures = peet_outcomes_failures();
    const int complete = !json_array_size(gaps),
              status = here.interrupted ? PEET_EXPLORE_INTERRUPTED
        : failures                      ? PEET_EXPLORE_FOUND
                                        : 0;
    uint64_t outcomes;

    list = peet_outcomes_json(&outcomes);
    return json_pack("{s:o,s:o,s:o,s:o,s:b,s:b,s:o,s:i,s:i,s:o,s:o}", "executions", peet_stats_u64(here.executions),
        "redundant_executions", peet_stats_u64(here.abandoned), "outcomes", peet_stats_u64(outcomes), "most_choices",
        peet_stats_u64(here.most_choices), "complete", complete, "exhausted", here.exhausted, "failed_executions",
        peet_stats_u64(failures), "status", status, "interrupted", here.interrupted, "not_explored", gaps, "list",
        list);
}

/** Of two executions: where they part, and what each of them did. */
static json_t *comparison(void)
{
    json_t **both = here.compared;

    if (!both[1]) /* there was nothing to choose */
        both[1] = json_incref(both[0]);
    return json_pack("{s:i,s:o,s:[O,O]}", "status", here.interrupted ? PEET_EXPLORE_INTERRUPTED : 0, "common_steps",
        peet_stats_u64(peet_explain_common(json_object_get(both[0], "steps"), json_object_get(both[1], "steps"))),
        "executions", both[0], both[1]);
}

int peet_host_explore_unseen(const struct peet_block *caller, int called)
{
    char name[PEET_UNSEEN_NAME_BYTES];

    if (!here.ending || !peet_host_unseen_shares(here.program, caller, called, name))
        return 0;
    if (!*here.ending->unseen)
        memcpy(here.ending->unseen, name, sizeof name);
    return 1;
}

int peet_host_execution(void)
{
    return here.execution;
}

json_t *peet_host_explore_crashed(int signal)
{
    if (!here.exploring || here.execution || here.forked)
        return NULL;
    here.forked = here.exhausted = 1;
    here.executions = 1;
    if (note(signal) < 0)
        return NULL;
    report_again();
    return here.comparing ? comparison() : results();
}

/** The file of what executions write takes the place of standard output; what peet says is kept until the first choice.
 */
static int prepare(struct peet_error *error)
{
    struct known *known = mmap(NULL, sizeof *known, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    here.ending = known == MAP_FAILED ? NULL : &known->ending;
    here.output = memfd_create("peet-output", MFD_CLOEXEC);
    here.report = memfd_create("peet-report", MFD_CLOEXEC);
    here.reported = fcntl(here.report_fd, F_DUPFD_CLOEXEC, 3);
    if (!here.ending || here.output < 0 || here.report < 0 || here.reported < 0 ||
        dup2(here.output, STDOUT_FILENO) < 0 || dup2(here.report, here.report_fd) < 0)
        return peet_error_set(error, PEET_EIO, "--explore: cannot make the files for outcomes: %s", strerror(errno));
    peet_token_mark(here.config, here.mark);
    peet_host_share_frames(known->frames, sizeof known->frames);
    here.exploring = 1;
    return 0;
}

static int replay(struct peet_error *error)
{
    char *choices = NULL;
    int err = peet_token_check(here.config, here.config->replay_token, &choices, error);

    if (!err)
        err = peet_search_set_token(here.search, choices, error);
    free(choices);
    if (err)
        return err;
    here.first = *peet_search_chooser(here.search);
    if (here.config->explain) {
        peet_explain_begin(here.map, here.program, here.source, peet_host_data(), -1);
        here.first.stands = peet_explain_stands;
        here.first.explain = peet_explain_step;
    }
    peet_map_set_chooser(here.map, &here.first);
    err = peet_map_run(here.map, error);
    if (peet_search_mismatch(here.search)) {
        error->code = 0;
        return peet_error_set(error, PEET_EINVALID, MISFIT);
    }
    return err;
}

/** Two tokens: each is an execution of its own, that explains itself.  Returns: 0 or a peet_err */
static int prepare_comparison(struct peet_error *error)
{
    const char *text = here.config->replay_token;
    const size_t first = strcspn(text, ",");
    int err = 0;

    here.comparing = 1;
    here.tokens[0] = strndup(text, first);
    here.tokens[1] = strdup(text + first + 1);
    here.steps = memfd_create("peet-steps", MFD_CLOEXEC);
    if (!here.tokens[0] || !here.tokens[1] || here.steps < 0)
        err = peet_error_set(error, PEET_ENOMEM, "out of memory");
    for (int i = 0; i < 2 && !err; i++) {
        err = peet_token_check(here.config, here.tokens[i], &here.choices[i], error);
        if (!err)
            err = peet_search_set_token(here.search, here.choices[i], error);
    }
    if (!err)
        peet_explain_begin(here.map, here.program, here.source, peet_host_data(), here.steps);
    return err;
}

int peet_host_explore(const struct peet_config *config, struct peet_map *map, struct peet_program *program,
    const struct peet_source *source, json_t **out_found, int *out_execution, struct peet_error *error)
{
    const char *setting = peet_rt_setting("PEET_REPORT_FD");
    int err;

    *out_found = NULL;
    *out_execution = 0;
    here.config = config;
    here.map = map;
    here.program = program;
    here.source = source;
    here.report_fd = setting ? atoi(setting) : STDERR_FILENO;
    here.search = peet_search_new(config->replay_token ? PEET_SEARCH_TOKEN
            : config->explore == PEET_EXPLORE_ALL      ? PEET_SEARCH_ALL
                                                       : PEET_SEARCH_RANDOM,
        config->seed, config->explore_steps);
    if (!here.search)
        return peet_error_set(error, PEET_ENOMEM, "--explore: out of memory");
    if (config->replay_token && !strchr(config->replay_token, ','))
        return replay(error);
    err = config->replay_token ? prepare_comparison(error) : 0;
    if (!err)
        err = prepare(error);
    if (err)
        return err;
    here.first =
        (struct peet_map_chooser){.choose = first_choice, .done = step_done, .steps_most = config->explore_steps};
    if (here.comparing) {
        here.first.stands = peet_explain_stands;
        here.first.explain = peet_explain_step;
    }
    peet_map_set_chooser(map, &here.first);
    peet_rt_keep_interrupts(1);
    err = peet_map_run(map, error);
    here.ending->end = (int)peet_map_explore_end(map);
    here.ending->deadlock = err == PEET_EDEADLOCK;
    here.ending->gaps = peet_map_explore_gaps(map);
    if (here.execution) {
        *out_execution = 1;
        return err;
    }
    if (here.comparing && (here.failed || (here.forked && !here.compared[1]))) {
        error->code = 0;
        return here.interrupted ? peet_error_set(error, PEET_EIO, "interrupted")
                                : peet_error_set(error, PEET_EINVALID, MISFIT);
    }
    if (here.forked) /* our own execution was abandoned so that others could be made */
        *error = (struct peet_error){0, ""};
    if (here.failed)
        return peet_error_set(error, PEET_EIO, "the exploration is not complete");
    if (!here.forked) { /* it came to an end before there was anything to choose */
        if (err && err != PEET_EDEADLOCK) {
            report_again();
            return err;
        }
        if (err)
            peet_host_report("%s", error->message);
        *error = (struct peet_error){0, ""};
        here.exhausted = 1;
        if (take_stock((err ? 3 : peet_map_exit_status(map) & 0xff) << 8) < 0)
            return peet_error_set(error, PEET_ENOMEM, "out of memory");
        report_again();
    }
    *out_found = here.comparing ? comparison() : results();
    return 0;
}
