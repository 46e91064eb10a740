/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a run has ended, for the user and for `end` in stats.json: a deadlock with the contexts that wait, and for what; an exit
 * with the threads that it has cut off.  Reports name at most BLOCKED_SHOWN contexts, stats.json at most BLOCKED_LISTED.
 */
#include "host/ends.h"

#include "base/stats.h"
#include "host/report.h"

#include <stdio.h>
#include <string.h>

enum { BLOCKED_SHOWN = 20, BLOCKED_LISTED = 1000, CIRCLE_SHOWN = 32 };

/** One context of a report: what it does, and where it is.  Takes no more than a line and a backtrace. */
static json_t *context_json(const struct peet_host_run *run, const struct peet_map_blocked *one, int shown,
    const char *format)
{
    const struct peet_ctx *ctx = peet_source_ctx(run->source, one->source);
    json_t *frames = json_array();

    if (shown) {
        peet_host_report(format, one->context, one->waits_for);
        if (ctx)
            peet_host_backtrace(run->program, ctx, frames);
    }
    return json_pack("{s:I,s:o,s:o}", "context", (json_int_t)one->context, "waits_for", peet_stats_text(one->waits_for),
        "backtrace", frames);
}

/** Contexts that wait for each other, in a circle. */
static json_t *circle(const struct peet_host_run *run)
{
    uint32_t numbers[CIRCLE_SHOWN];
    unsigned n = peet_map_cycle(run->map, numbers, CIRCLE_SHOWN);
    json_t *list = json_array();
    char text[CIRCLE_SHOWN * 12 + 40] = "";

    for (unsigned i = 0; i < n && i < CIRCLE_SHOWN; i++) {
        snprintf(text + strlen(text), sizeof text - strlen(text), "%u, ", numbers[i]);
        json_array_append_new(list, json_integer(numbers[i]));
    }
    if (n > 1)
        peet_host_report("  in a circle, each waits for the next: contexts %s%sand so on", text,
            n > CIRCLE_SHOWN ? "... " : "");
    return list;
}

json_t *peet_host_deadlock(const struct peet_host_run *run, const struct peet_error *error)
{
    json_t *list = json_array(), *cycle;
    struct peet_map_blocked one;
    unsigned i;

    peet_host_report("%s", error->message);
    cycle = circle(run);
    for (i = 0; !peet_map_blocked(run->map, i, &one); i++)
        if (i < BLOCKED_LISTED)
            json_array_append_new(list, context_json(run, &one, i < BLOCKED_SHOWN, "  context %u waits for %s"));
    if (i > BLOCKED_SHOWN)
        peet_host_report("  and %u more", i - BLOCKED_SHOWN);
    return json_pack("{s:s,s:o,s:o,s:i,s:o,s:o}", "reason", peet_map_livelock(run->map) ? "livelock" : "deadlock",
        "message", peet_stats_text(error->message), "cycle", peet_stats_u64(peet_map_cycles(run->map)),
        "blocked_contexts", (int)i, "circle", cycle, "blocked", list);
}

json_t *peet_host_exited(const struct peet_host_run *run, int status, const char *other)
{
    struct peet_map_blocked left[BLOCKED_SHOWN];
    unsigned n = peet_map_left(run->map, BLOCKED_SHOWN, left);
    const char *quiet = peet_rt_setting("PEET_QUIET");
    const int said = !quiet || strcmp(quiet, "1");
    json_t *list = json_array();

    if (n && said)
        peet_host_report("the program ended at cycle %llu while %u other thread%s not over:",
            (unsigned long long)peet_map_cycles(run->map), n, n == 1 ? " was" : "s were");
    for (unsigned i = 0; i < n && i < BLOCKED_SHOWN; i++)
        json_array_append_new(list,
            context_json(run, &left[i], said,
                left[i].waits_for[0] ? "  context %u waited for %s" : "  context %u%s ran"));
    if (n > BLOCKED_SHOWN && said)
        peet_host_report("  and %u more", n - BLOCKED_SHOWN);
    if (other)
        return json_pack("{s:s,s:o,s:o,s:o}", "reason", "exec", "program", peet_stats_text(other), "threads_left",
            json_integer(n), "left", list);
    return json_pack("{s:s,s:i,s:o,s:o}", "reason", "exit", "status", status, "threads_left", json_integer(n), "left",
        list);
}
