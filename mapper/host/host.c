/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The host inside the subject's process (libpeet-host.so): start-up calls peet_host_main() on the host
 * stack; it reads the effective configuration, loads the modules, reads the schemas of what is loaded,
 * runs the mapper over the live source and writes stats.json.  A failed run leaves no stats.json; one that
 * ends in a crash or a deadlock of the subject, or by a module (guard.h), leaves what there was, with the reason in
 * `.end`.
 */
#include "config/config.h"
#include "base/spill.h"
#include "host/consistency.h"
#include "host/data.h"
#include "host/foreign.h"
#include "host/ends.h"
#include "host/explain.h"
#include "host/gaps.h"
#include "host/guard.h"
#include "host/images.h"
#include "host/start.h"
#include "host/recording.h"
#include "host/writer.h"
#include "config/import.h"
#include "trace/code.h"
#include "host/report.h"
#include "mapper.h"
#include "modules/modhost.h"
#include "host/source.h"
#include "host/suppose.h"
#include "host/unseen.h"
#include "base/stats.h"

#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PUBLIC __attribute__((visibility("default")))

enum { STATUS_FAILED = 1, STATUS_REFUSED = 2, STATUS_DEADLOCK = 3 };

static struct {
    struct peet_config config;
    struct peet_program *program;
    struct peet_source *source;
    struct peet_map *map;
    struct peet_modhost_module *modules; /* the machine, then the observers, then the followers */
    union peet_value **values;
    char stats_path[PATH_MAX], unseen_path[PATH_MAX];
    char not_recorded[256];     /* why foreign code is seen by ranges, though it would have been recorded */
    int foreign_may_give_way;   /* nobody has asked for it by an option */
    json_t *found;              /* by an exploration */
    struct peet_record *record; /* kept, or NULL */
    struct peet_replay *replay; /* taken from a trace instead of the program, or NULL */
    int replays_libraries;      /* which were recorded when the trace was made */
} host;

/** A finer granularity than the program was compiled for is not to be had: say what happens instead. */
static void check_granularity(void)
{
    static const char *const units[] = {"loop iteration", "block", "reference"};
    int compiled = peet_program_granularity(host.program);
    int asked = host.config.granularity == PEET_GRANULARITY_REF ? 2
        : host.config.granularity == PEET_GRANULARITY_BLOCK     ? 1
                                                                : 0;

    if (compiled >= 0 && compiled < asked && compiled < 2)
        peet_host_report(
            "granularity %s: the program can only be stopped at every %s; compile it with peetcc -fpeet-granularity=%s",
            asked == 2 ? "ref" : "block", units[compiled], asked == 2 ? "ref" : "block");
}

/* --------------------------------------------------------------------------------------- misuse */

enum { MISUSES_SHOWN = 10 };

/** The subject did what it must not: say it, and where. */
static void misuse(void *arg, uint32_t source, const char *text)
{
    static unsigned told;
    const struct peet_ctx *ctx = peet_source_ctx(host.source, source);
    json_t *frames;

    (void)arg;
    if (told++ >= MISUSES_SHOWN)
        return;
    peet_host_report("%s", text);
    if (ctx && (frames = json_array()) != NULL) {
        peet_host_backtrace(host.program, ctx, frames);
        json_decref(frames);
    }
    if (told == MISUSES_SHOWN)
        peet_host_report("  more of the kind are only in %s", host.stats_path);
}

static void note(const char *text)
{
    if (!peet_host_execution())
        peet_host_report("%s", text);
}

static int name_of(void *arg, uint64_t address, char *out_name, size_t bytes)
{
    (void)arg;
    if (host.replay)
        return peet_host_recorded_name(host.replay, address, out_name, bytes);
    if (!peet_host_name_of(address, out_name, bytes))
        return 0;
    peet_host_recording_name(address, out_name);
    return 1;
}

/* --------------------------------------------------------------------------------------- set up */

static uint64_t *progress_page(void)
{
    const char *setting = peet_rt_setting("PEET_PROGRESS_FD");
    void *page;

    if (!setting)
        return NULL;
    page = mmap(NULL, PEET_PROGRESS_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, atoi(setting), 0);
    peet_host_progress_page = page == MAP_FAILED ? NULL : page; /* progress is no reason to fail */
    return page == MAP_FAILED ? NULL : page;
}

/** The memory in which results are handed over, if the program gives up the right to write them. */
static void share_results(void)
{
    const char *setting = peet_rt_setting(PEET_SPILL_SETTING);

    if (setting)
        peet_spill_share(atoi(setting));
}

/** The observer `trace` is there: begin its file. */
static int record(size_t observer, struct peet_error *error)
{
    size_t n;
    const uint64_t *notes = peet_rt_notes(&n);
    int err;

    if (host.replay || peet_host_explores(&host.config))
        return peet_error_set(error, PEET_EUNSUPPORTED, "trace: %s is not recorded",
            host.replay ? "a run from a trace, which there is already," : "an exploration, which is many runs,");
    err = peet_host_record(&host.config, host.values[observer + 1][0].u64, &host.record, error);
    if (err)
        return err;
    peet_record_attach(host.record, host.map);
    peet_record_early(host.record, notes, n);
    return peet_source_set_record(host.source, host.record) ? peet_error_set(error, PEET_ENOMEM, "out of memory") : 0;
}

static struct peet_map_config map_config(void)
{
    const struct peet_config *c = &host.config;
    return (struct peet_map_config){
        .cores = c->cores,
        .policy = c->policy,
        .quantum_cycles = c->quantum_cycles,
        .switch_cycles = c->switch_cycles,
        .schedule = c->schedule,
        .chunk = c->chunk,
        .seed = c->seed,
        .output_dir = peet_rt_setting("PEET_OUTPUT"),
        .progress = progress_page(),
        .winner = c->winner,
        .lock_model = c->lock_model,
        .slice_cycles = c->slice_cycles,
        .spin_quantum_cycles = c->spin_quantum_cycles,
        .poll_cycles = c->poll_cycles,
        .syscall_cycles = c->syscall_cycles,
        .io_cycles_per_byte = c->io_cycles_per_byte,
        .frequency_hz = c->frequency_hz,
        .roi_only = (uint8_t)c->roi_only,
        .replayed = host.replay != NULL,
        .middle = host.replay ? peet_replay_middle(host.replay) : NULL,
        .report = misuse,
        .note = note,
        .name_of = name_of,
    };
}

/* The machine, observers and followers; what they need goes into the configuration of the map.
 * @out_needs: of all of them */
static int load_modules(struct peet_map_config *config, uint32_t *out_needs, struct peet_error *error)
{
    const struct peet_config *c = &host.config;
    const size_t nmodules = 1 + c->nobservers + c->nfollowers;
    int fills = 1, no_losses = 1, err = 0;

    *out_needs = 0;
    host.modules = calloc(nmodules, sizeof *host.modules);
    host.values = calloc(nmodules, sizeof *host.values);
    if (!host.modules || !host.values)
        return peet_error_set(error, PEET_ENOMEM, "out of memory");
    for (size_t i = 0; !err && i < nmodules; i++)
        err = peet_host_load_module(c, i, &host.modules[i], &host.values[i], error);
    for (size_t i = 0; !err && i < nmodules; i++) {
        const uint32_t its = host.modules[i].module->needs;

        *out_needs |= its;
        fills &= !(its & PEET_NEEDS_MEMORY) || (its & PEET_NEEDS_FILLS);
        no_losses &= !(its & PEET_NEEDS_MEMORY) || (its & PEET_NEEDS_NO_LOSSES);
    }
    if (!err && c->roi_only && host.modules[0].module->main)
        err = peet_error_set(error, PEET_EINVALID,
            "roi only: the machine %s has a main loop of its own and sees everything", host.modules[0].module->name);
    if (!err && c->perfect.n && !(host.modules[0].module->needs & PEET_NEEDS_ADDRESSES) &&
        !host.modules[0].module->main)
        err = peet_host_data_refuse_perfect(c, error); /* others that know none are found out by the run */
    config->memory_reports = (*out_needs & PEET_NEEDS_MEMORY) != 0;
    config->memory_fills = config->memory_reports && fills;
    config->memory_no_losses = config->memory_reports && no_losses;
    return err;
}

static int start_modules(struct peet_error *error)
{
    const struct peet_config *c = &host.config;
    const size_t nmodules = 1 + c->nobservers + c->nfollowers, trace = peet_host_trace_observer(c);
    int err = 0;

    for (size_t i = 0; !err && i < nmodules; i++)
        err = peet_host_start_module(host.map, c, i, host.modules[i].module, host.values[i], error);
    for (size_t i = 0; !err && i < c->nobservers; i++) {
        if (peet_config_decides(c, &c->picker, i))
            peet_map_set_picker(host.map, (unsigned)i);
        if (peet_config_decides(c, &c->judge, i))
            peet_map_set_judge(host.map, (unsigned)i);
    }
    if (!err)
        err = peet_host_consistency(c, host.map, host.source, error);
    if (!err && trace < c->nobservers)
        err = record(trace, error);
    return err;
}

/* Foreign code can be recorded, or not: what nobody has asked for gives way to ranges, as long as nothing has been done to the
 * program.  Returns: 0 or a peet_err */
static int settle_foreign(int err, struct peet_error *error)
{
    const size_t before = sizeof PEET_HOST_FOREIGN_REFUSED - 1;

    if (err != PEET_EUNSUPPORTED || !host.foreign_may_give_way)
        return err;
    host.config.foreign = PEET_CONFIG_FOREIGN_RANGES;
    snprintf(host.not_recorded, sizeof host.not_recorded, "%s",
        error->message + (strncmp(error->message, PEET_HOST_FOREIGN_REFUSED, before) ? 0 : before));
    *error = (struct peet_error){0, ""};
    return 0;
}

/* What the runtime has to know of the run, and the source of the map. */
static int connect(const struct peet_map_config *config, uint32_t needs, struct peet_error *error)
{
    const struct peet_config *c = &host.config;

    peet_rt_set_processors(peet_map_nhw(host.map));
    host.config.frequency_hz = peet_map_frequency_hz(host.map);
    peet_rt_set_frequency_hz(host.config.frequency_hz);
    peet_rt_set_seed(c->seed);
    peet_rt_note_allocations(config->data || (needs & PEET_NEEDS_ABSTRACT));
    peet_rt_notes_clear(); /* of constructors before the host: the table has them, the stream has not */
    if (config->data && !host.replay)
        peet_host_data_walk(config->data, c->data_depth, peet_host_find_image);
    if (config->data && peet_source_set_data(host.source, config->data))
        return peet_error_set(error, PEET_ENOMEM, "out of memory for the table of data structures");
    peet_source_attach(host.source, host.map, peet_map_wants_addresses(host.map),
        peet_map_wants_loops(host.map) && !config->remap);
    if (peet_map_direct(host.map))
        (void)peet_map_set_direct(host.map, host.program); /* if it cannot, blocks come as events */
    int err = 0;
    if (c->foreign == PEET_CONFIG_FOREIGN_RECORD && !host.replay)
        err = settle_foreign(peet_host_foreign_start(host.program, error), error);
    peet_rt_note_ranges(c->ranges && c->foreign == PEET_CONFIG_FOREIGN_RANGES);
    peet_rt_crash_in_turn(peet_host_explores(c));
    peet_rt_give_keys();
    return err;
}

static int build(struct peet_error *error)
{
    const struct peet_config *c = &host.config;
    struct peet_map_config config = map_config();
    uint32_t needs = 0;
    int err = host.replay ? peet_source_new_replay(host.program, host.replay, &host.source, error)
                          : peet_source_new(host.program, c, &host.source, error);

    if (!err)
        err = peet_host_suppose(c, &config, error);
    if (!err)
        err = load_modules(&config, &needs, error);
    if (!err)
        err = peet_host_data_start(host.program, c, (needs & PEET_NEEDS_DATA) || peet_host_explains(c), &config, error);
    if (!err)
        err = peet_map_new(&config, host.replay ? &peet_replayed_ops : &peet_source_ops, host.source, &host.map, error);
    if (!err)
        err = start_modules(error);
    return err ? err : connect(&config, needs, error);
}

/* --------------------------------------------------------------------------------------- results */

/** Explorations and comparisons of executions end alike. */
static const char *what_was_found(void)
{
    return host.config.replay_token ? "comparison" : "exploration";
}

/** stats.json; takes @end.  Returns: 0 or a peet_err */
static int write_once(json_t *end, struct peet_error *error)
{
    json_t *root = json_object(), *explanation = peet_explain_json();
    int err = 0;

    if (explanation && json_object_set_new(root, "explanation", explanation))
        return peet_error_set(error, PEET_ENOMEM, "statistics: out of memory");
    if (host.found && json_object_set(root, what_was_found(), host.found))
        return peet_error_set(error, PEET_ENOMEM, "statistics: out of memory");
    if (!root || !end ||
        json_object_set_new(root, "peet", json_pack("{s:s,s:i}", "version", PEET_VERSION, "stats_version", 1)) ||
        json_object_set_new(root, "config", peet_config_json(&host.config)) || json_object_set(root, "end", end) ||
        json_object_set_new(root, "gaps",
            peet_host_gaps_json(host.program, host.map, peet_source_extraneous_blocks(host.source),
                host.replays_libraries || host.config.foreign == PEET_CONFIG_FOREIGN_RECORD)))
        err = peet_error_set(error, PEET_ENOMEM, "statistics: out of memory");
    if (!err && host.config.foreign == PEET_CONFIG_FOREIGN_RECORD && !host.replay &&
        json_object_set_new(root, "foreign", peet_host_foreign_json()))
        err = peet_error_set(error, PEET_ENOMEM, "statistics: out of memory");
    if (!err && *host.not_recorded && json_object_set_new(root, "not_recorded", peet_stats_text(host.not_recorded)))
        err = peet_error_set(error, PEET_ENOMEM, "statistics: out of memory");
    if (!err)
        err = peet_map_stats(host.map, root, error);
    if (!err && json_object_set_new(root, "files", peet_stats_files()))
        err = peet_error_set(error, PEET_ENOMEM, "statistics: out of memory");
    if (!err && peet_map_consistency_stats(host.map, root))
        err = peet_error_set(error, PEET_ENOMEM, "statistics: out of memory");
    if (!err && host.record && json_object_set_new(root, "trace", peet_record_json(host.record)))
        err = peet_error_set(error, PEET_ENOMEM, "statistics: out of memory");
    if (!err && host.replay &&
        json_object_set_new(root, "replay", peet_replay_json(host.replay, peet_map_forced(host.map))))
        err = peet_error_set(error, PEET_ENOMEM, "statistics: out of memory");
    if (!err)
        err = peet_host_unseen_write(host.unseen_path, error);
    if (!err && (err = peet_stats_write(root, host.stats_path, error)) != 0)
        unlink(host.unseen_path); /* both or none */
    json_decref(root);
    json_decref(end);
    return err;
}

struct writing {
    json_t *end;
    struct peet_error *error;
    int err;
};

static void write_call(void *arg)
{
    struct writing *w = arg;

    w->err = write_once(json_incref(w->end), w->error);
}

/** Modules that have failed have no results, and the user hears why; @said: the one that they have heard about, or
 * NULL. */
static int report_broken(const char *said)
{
    const char *why;
    int n = 0;

    for (unsigned i = 0; peet_map_module(host.map, i); i++) {
        if (!(why = peet_map_module_error(host.map, i)))
            continue;
        n++;
        if (!said || !strstr(said, why))
            peet_host_report("%s: %s", peet_map_module(host.map, i)->name, why);
    }
    if (n)
        peet_host_report("  of %s there are no results; what else was measured is in %s", n == 1 ? "it" : "them",
            host.stats_path);
    return n;
}

/** The same if modules fail meanwhile: it begins again without them.  @said: as for report_broken() */
static int write_results(json_t *end, const char *said, struct peet_error *error)
{
    struct writing w = {end, error, 0};

    while (peet_host_guarded(write_call, &w))
        ;
    json_decref(end);
    if (w.err)
        return w.err;
    return report_broken(said) ? PEET_EMODULE : 0;
}

static void write_crash(json_t *end)
{
    struct peet_error error = {0, ""};

    if (write_once(end, &error))
        peet_host_report("%s", error.message);
}

/**
 * What the context had recorded and nobody has seen yet still belongs to the results, and other
 * contexts may have to run up to the time of the crash for it.  A signal from outside ends the run where it is: modules
 * end their books, too.  Should one of them crash as well, the results as they stand now are there.
 */
static void crashed(struct peet_ctx *ctx, int signal, uint64_t pc, uint64_t address, const char *why)
{
    struct peet_error error = {0, ""};
    json_t *frames = json_array(), *end;
    const uint64_t at_cycle = host.map ? peet_map_cycles(host.map) : 0;
    const uint64_t *words_end = peet_rt_crash_end();
    uint32_t source = host.source ? peet_source_of_ctx(host.source, ctx) : UINT32_MAX;
    uint32_t number = source != UINT32_MAX ? peet_map_number(host.map, source) : 0;
    const char *file, *name = peet_host_place(host.program, pc, &file, &(unsigned){0});
    char demangled[400];

    if (pc != PEET_RT_OUTSIDE) {
        peet_host_report("%s", why);
        if (name)
            peet_host_report("  context %u, pc 0x%llx in %s", number, (unsigned long long)pc,
                peet_demangle(name, demangled, sizeof demangled));
        peet_host_backtrace(host.program, ctx, frames);
    } else {
        peet_host_report("%s, at cycle %llu; the results up to then are in %s", why, (unsigned long long)at_cycle,
            host.stats_path);
    }
    if (!host.map || peet_host_execution()) /* of an execution, how it ended is all that counts */
        return;
    host.found = peet_host_explore_crashed(signal);
    end = json_pack("{s:s,s:i,s:s,s:o,s:I,s:o,s:o,s:o,s:o}", "reason", "signal", "signal", signal, "signal_name",
        strsignal(signal), "message", peet_stats_text(why), "context", (json_int_t)number, "pc",
        peet_stats_u64(pc == PEET_RT_OUTSIDE ? 0 : pc), "address", peet_stats_u64(address), "function",
        peet_stats_text(name ? name : ""), "backtrace", frames);
    write_crash(json_incref(end));
    if (words_end && source != UINT32_MAX && !peet_host_explores(&host.config) &&
        /* an exploration's engine does not go on alone */
        !peet_source_crash(host.source, source, words_end, 128 + signal) && !peet_map_go_on(host.map, &error)) {
        write_crash(json_incref(end));
    } else if (pc == PEET_RT_OUTSIDE && !peet_host_explores(&host.config)) {
        peet_map_conclude(host.map);
        write_crash(json_incref(end));
    }
    json_decref(end);
    if (host.record)
        peet_host_record_end(host.record, "signal", 128 + signal, NULL, peet_map_cycles(host.map), &error);
}

/* ------------------------------------------------------------------------------------------ main */

/** Does the run that a recording is of have what libraries did? */
static int libraries_recorded(const struct peet_recording *recording)
{
    json_t *description = json_loads(peet_recording_description(recording), 0, NULL);
    const char *foreign = json_string_value(json_object_get(json_object_get(description, "config"), "foreign"));
    const int recorded = foreign && !strcmp(foreign, peet_config_foreign_text(PEET_CONFIG_FOREIGN_RECORD));

    json_decref(description);
    return recorded;
}

/** Events come from a trace: what it says of the time before the first one. */
static int open_replay(struct peet_error *error)
{
    const uint64_t *notes;
    size_t n;
    struct peet_import import;
    char converted[PATH_MAX];
    int err = 0, found = peet_import_find(host.config.from, NULL, &import, error);

    if (found > 0) {
        snprintf(converted, sizeof converted, "%s/trace.peet", host.config.output);
        err = peet_import_convert(host.config.from, &import, converted, error);
        if (!err && peet_stats_note_file("trace.peet"))
            err = peet_error_set(error, PEET_ENOMEM, "out of memory");
        if (!err)
            peet_host_report("%s: the format %s says %s", host.config.from, import.format,
                peet_import_lacks(import.format));
    }
    peet_import_fini(&import);
    if (found < 0 || err)
        return found < 0 ? found : err;
    err = peet_replay_open(found ? converted : host.config.from, host.config.output, &host.replay, error);
    if (!err)
        err = peet_recording_early(peet_replay_recording(host.replay), &notes, &n, error);
    if (!err) {
        host.replays_libraries = libraries_recorded(peet_replay_recording(host.replay));
        peet_host_data_replay(notes, n, host.replays_libraries);
    }
    return err;
}

/** The trace that is kept is whole, whatever became of the program. */
static int end_record(const char *reason, int status, const char *other, struct peet_error *error)
{
    struct peet_record *kept = host.record;

    host.record = NULL;
    return kept ? peet_host_record_end(kept, reason, status, other, peet_map_cycles(host.map), error) : 0;
}

struct running {
    struct peet_error *error;
    int err, execution;
};

static void run_call(void *arg)
{
    struct running *r = arg;
    struct peet_ctx *ctx;

    r->err = peet_host_explores(&host.config)
        ? peet_host_explore(&host.config, host.map, host.program, host.source, &host.found, &r->execution, r->error)
        : peet_map_run(host.map, r->error);
    ctx = r->err ? NULL : peet_source_ctx(host.source, peet_map_exit_source(host.map));
    if (ctx)
        peet_ctx_exits(ctx);
}

static void conclude_call(void *arg)
{
    (void)arg;
    peet_map_conclude(host.map);
}

__attribute__((noreturn)) static void die_by(int signal)
{
    struct sigaction action = {.sa_handler = SIG_DFL};
    sigset_t one;

    sigemptyset(&one);
    sigaddset(&one, signal);
    fflush(NULL);
    sigaction(signal, &action, NULL);
    sigprocmask(SIG_UNBLOCK, &one, NULL);
    kill(getpid(), signal);
    _exit(128 + signal);
}

/** A module has ended the run: what the others have measured is written.  Returns: the exit status */
static int module_ended(const struct peet_error *error)
{
    struct peet_error write_error = {0, ""};

    peet_host_report("%s", error->message);
    while (peet_host_guarded(conclude_call, NULL))
        ;
    if (write_results(json_pack("{s:s,s:o}", "reason", "module", "message", peet_stats_text(error->message)),
            error->message, &write_error) &&
        write_error.code)
        peet_host_report("%s", write_error.message);
    end_record("failure", STATUS_FAILED, NULL, &write_error);
    if (peet_host_hung())
        die_by(peet_host_hung());
    return STATUS_FAILED;
}

/* The configuration, the program and the map. */
static int prepare(const char *config, struct peet_error *error)
{
    int err = peet_config_init(&host.config, error);

    if (!err)
        err = peet_config_read(&host.config, config, error);
    if (!err && host.config.foreign == PEET_CONFIG_FOREIGN_AUTO) {
        host.foreign_may_give_way = 1;
        host.config.foreign = host.config.from ? PEET_CONFIG_FOREIGN_RANGES : PEET_CONFIG_FOREIGN_RECORD;
    }
    if (!err && host.config.foreign == PEET_CONFIG_FOREIGN_RECORD && !host.config.from)
        err = settle_foreign(peet_host_foreign_load(&host.config, error), error);
    if (!err && host.config.from)
        err = open_replay(error);
    if (!err)
        err = peet_host_load_program(host.config.program, host.config.foreign == PEET_CONFIG_FOREIGN_RECORD,
            host.replay, &host.program, error);
    if (!err)
        err = build(error);
    return err;
}

/* Where results go; those of an earlier run are removed. */
static int set_paths(const char *output, struct peet_error *error)
{
    if ((size_t)snprintf(host.stats_path, sizeof host.stats_path, "%s/stats.json", output) >= sizeof host.stats_path)
        return peet_error_set(error, PEET_ELIMIT, "%s: the path is too long", output);
    if ((size_t)snprintf(host.unseen_path, sizeof host.unseen_path, "%s/unseen.json", output) >=
        sizeof host.unseen_path)
        return peet_error_set(error, PEET_ELIMIT, "%s: the path is too long", output);
    if (unlink(host.unseen_path) && errno != ENOENT)
        return peet_error_set(error, PEET_EIO, "%s: cannot remove the results of an earlier run: %s", host.unseen_path,
            strerror(errno));
    if (unlink(host.stats_path) && errno != ENOENT)
        return peet_error_set(error, PEET_EIO, "%s: cannot remove the results of an earlier run: %s", host.stats_path,
            strerror(errno));
    return 0;
}

/** How the run has ended, as JSON, the caller's. */
static json_t *ended(const struct peet_host_run *ending, int status, const char *other)
{
    const int signal = host.replay ? peet_replay_signal(host.replay) : 0;

    if (host.found)
        return json_pack("{s:s}", "reason", what_was_found());
    if (host.replay && peet_replay_cut(host.replay) && peet_map_exit_source(host.map) == UINT32_MAX)
        return json_pack("{s:s,s:i}", "reason", "trace ends", "status", 0);
    if (signal) /* where, only the run itself knew */
        return json_pack("{s:s,s:i,s:s,s:i}", "reason", "signal", "signal", signal, "signal_name", strsignal(signal),
            "status", status);
    return peet_host_exited(ending, status, other);
}

/* The run has ended by itself, or at what --until asked for.  Returns: the exit status, or a peet_err */
static int finish(const struct peet_host_run *ending, struct peet_error *error)
{
    struct peet_error write_error = {0, ""};
    int status, err;

    if (peet_host_data_check(host.map, error) || peet_host_suppose_check(host.map, error)) {
        peet_host_report("%s", error->message);
        return STATUS_REFUSED;
    }
    if (host.config.roi_only && !peet_map_regions(host.map))
        peet_host_report("roi only: the program has marked no region of interest, so that no module has seen anything");
    peet_host_data_tell_unused(&host.config);
    status = host.found ? (int)json_integer_value(json_object_get(host.found, "status"))
                        : peet_map_exit_status(host.map) & 0xff;
    if (host.record)
        peet_record_flush(host.record);
    char *const then = host.replay ? peet_replay_replaced_by(host.replay) : NULL;
    const char *const other = host.replay ? then : peet_rt_replaced_by();
    err = write_results(ended(ending, status, other), NULL, error);
    if (end_record(other ? "exec" : "exit", status, other, &write_error) && !err)
        err = peet_error_set(error, write_error.code, "trace: %s", write_error.message);
    free(then);
    if (peet_host_hung())
        die_by(peet_host_hung());
    return err == PEET_EMODULE && !error->code ? STATUS_FAILED : err ? err : status;
}

/* The run was cut short.  @execution: it was one of an exploration's
 * Returns: the exit status, or a peet_err */
static int finish_early(const struct peet_host_run *ending, int err, int execution, struct peet_error *error)
{
    struct peet_error write_error = {0, ""};

    if (err == PEET_EINVALID && host.config.replay_token) {
        peet_host_report("%s", error->message);
        return STATUS_REFUSED;
    }
    if (host.replay && peet_replay_error(host.replay)->code)
        return peet_error_set(error, peet_replay_error(host.replay)->code, "%s",
            peet_replay_error(host.replay)->message);
    if (err == PEET_EDEADLOCK && host.replay && (peet_replay_cut(host.replay) || peet_replay_is_part(host.replay))) {
        err = write_results(json_pack("{s:s,s:i}", "reason", "trace ends", "status", 0), NULL, &write_error);
        return err ? peet_error_set(error, err, "%s", write_error.message) : 0;
    }
    if (err == PEET_EMODULE && !execution)
        return module_ended(error);
    if (err == PEET_EDEADLOCK) {
        if (write_results(peet_host_deadlock(ending, error), NULL, &write_error) && write_error.code)
            peet_host_report("%s", write_error.message);
        if (end_record("deadlock", STATUS_DEADLOCK, NULL, &write_error))
            peet_host_report("trace: %s", write_error.message);
        return STATUS_DEADLOCK;
    }
    end_record("failure", STATUS_FAILED, NULL, &write_error);
    return err;
}

/** Followers run beside the program, if this computer has a processor for them. */
static void start_crew(void)
{
    cpu_set_t processors;

    if (host.config.nfollowers && !sched_getaffinity(0, sizeof processors, &processors) && CPU_COUNT(&processors) > 1)
        peet_map_start_crew(host.map, peet_program_nblocks(host.program), peet_host_fork_apart);
}

static int run(struct peet_error *error)
{
    const char *config = peet_rt_setting("PEET_CONFIG"), *output = peet_rt_setting("PEET_OUTPUT");
    struct running running = {error, 0, 0};
    int err, execution;

    if (!config || !output)
        return peet_error_set(error, PEET_EINVALID,
            "the settings PEET_CONFIG and PEET_OUTPUT are missing: start programs with `peet run`");
    err = set_paths(output, error);
    if (err)
        return err;
    err = prepare(config, error);
    if (err) {
        peet_host_report("%s", error->message);
        if (peet_host_hung())
            die_by(peet_host_hung());
        return err == PEET_ENOMEM || err == PEET_EIO || peet_host_start_failed() ? STATUS_FAILED : STATUS_REFUSED;
    }
    check_granularity();
    share_results();
    if (!host.replay) /* which library a name belongs to is known while the program runs */
        peet_host_unseen_begin(host.program, !peet_host_explores(&host.config));
    start_crew();
    peet_host_guard(host.map);
    if (peet_host_guarded(run_call, &running))
        running.err = peet_map_error(host.map, error);
    err = running.err;
    execution = running.execution || peet_host_execution();
    const struct peet_host_run ending = {host.program, host.source, host.map};
    if (execution && (!err || err == PEET_EDEADLOCK)) { /* one of many: its end is its result */
        if (err)
            json_decref(peet_host_deadlock(&ending, error));
        return err ? STATUS_DEADLOCK : peet_map_exit_status(host.map) & 0xff;
    }
    if (err || (host.replay && peet_replay_error(host.replay)->code))
        return finish_early(&ending, err, execution, error);
    return finish(&ending, error);
}

PUBLIC int peet_host_main(struct peet_host_hooks *out_hooks)
{
    struct peet_error error = {0, ""};
    int status;

    out_hooks->crashed = crashed;
    out_hooks->failed = peet_host_failed;
    status = run(&error);
    if (status < 0) {
        peet_host_report("%s", error.message);
        status = STATUS_FAILED;
    }
    out_hooks->crashed = NULL;
    out_hooks->failed = NULL;
    return status;
}
