/* SPDX-License-Identifier: Apache-2.0 */
/* See outcomes.h. */
#include "host/outcomes.h"
#include "base/stats.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <uthash.h>

enum { OUTPUT_SHOWN = 4096, OUTCOMES_LISTED = 1000, REPORT_MOST = 16384 };

struct outcome {
    UT_hash_handle hh;
    uint64_t times, first, choices;
    struct peet_outcome_end how;
    char *token, *report;
    size_t bytes, head; /* head: where what it wrote begins */
    char key[];         /* how it ended, then what it wrote */
};

static struct outcome *outcomes;
static uint64_t failures;

static const char *end_text(const struct peet_outcome_end *how)
{
    static const char *const texts[] = {"exit", "abandoned" /* nobody notes one */, "steps", "livelock"};

    if (how->end != PEET_EXPLORE_ENDED)
        return texts[how->end];
    if (WIFSIGNALED(how->status))
        return "signal";
    return how->deadlock ? "deadlock" : "exit";
}

static int status_of(const struct peet_outcome_end *how)
{
    return WIFSIGNALED(how->status) ? 128 + WTERMSIG(how->status) : WEXITSTATUS(how->status);
}

static int failed(const struct peet_outcome_end *how)
{
    return how->end == PEET_EXPLORE_SPINNING || (how->end == PEET_EXPLORE_ENDED && (how->deadlock || how->status));
}

int peet_outcomes_note(const struct peet_outcome_note *note)
{
    char head[64];
    const size_t length = (size_t)snprintf(head, sizeof head, "%s %d\n", end_text(&note->how), status_of(&note->how));
    const size_t bytes = length + note->before_bytes + note->output_bytes;
    struct outcome *o = calloc(1, sizeof *o + bytes + 1), *found = NULL;

    if (!o || !note->token) {
        free(note->token);
        free(o);
        return -1;
    }
    memcpy(o->key, head, length);
    memcpy(o->key + length, note->before, note->before_bytes);
    memcpy(o->key + length + note->before_bytes, note->output, note->output_bytes);
    o->bytes = bytes;
    HASH_FIND(hh, outcomes, o->key, o->bytes, found);
    if (found) {
        free(note->token);
        free(o);
    } else {
        o->how = note->how;
        o->head = length;
        o->first = note->execution;
        o->choices = note->choices;
        o->token = note->token;
        o->report = strndup(note->report, REPORT_MOST);
        HASH_ADD(hh, outcomes, key, o->bytes, o);
        found = o;
    }
    found->times++;
    failures += (uint64_t)failed(&note->how);
    return failed(&note->how);
}

json_t *peet_outcomes_end_json(const struct peet_outcome_note *note)
{
    char shown[OUTPUT_SHOWN + 1], report[REPORT_MOST + 1];
    const size_t before = note->before_bytes < OUTPUT_SHOWN ? note->before_bytes : OUTPUT_SHOWN;

    snprintf(shown, sizeof shown, "%.*s%s", (int)before, note->before, note->output);
    snprintf(report, sizeof report, "%s", note->report);
    return json_pack("{s:o,s:s,s:i,s:o,s:o}", "token", peet_stats_text(note->token), "end", end_text(&note->how),
        "status", status_of(&note->how), "output", peet_stats_text(shown), "report", peet_stats_text(report));
}

uint64_t peet_outcomes_failures(void)
{
    return failures;
}

static int by_times(struct outcome *a, struct outcome *b)
{
    return a->times < b->times ? 1 : a->times > b->times ? -1 : (a->first > b->first) - (a->first < b->first);
}

static json_t *outcome_json(const struct outcome *o)
{
    const char *text = o->key + o->head;
    char shown[OUTPUT_SHOWN + 1];

    snprintf(shown, sizeof shown, "%s", text);
    return json_pack("{s:o,s:s,s:i,s:o,s:o,s:o,s:o,s:o,s:b}", "times", peet_stats_u64(o->times), "end",
        end_text(&o->how), "status", status_of(&o->how), "token", peet_stats_text(o->token), "output",
        peet_stats_text(shown), "output_bytes", peet_stats_u64(o->bytes - o->head), "report",
        peet_stats_text(o->report ? o->report : ""), "first_execution", peet_stats_u64(o->first), "failure",
        failed(&o->how));
}

json_t *peet_outcomes_json(uint64_t *out_n)
{
    json_t *list = json_array();
    struct outcome *o, *next;

    *out_n = 0;
    HASH_SORT(outcomes, by_times);
    HASH_ITER(hh, outcomes, o, next)
    {
        if ((*out_n)++ < OUTCOMES_LISTED)
            json_array_append_new(list, outcome_json(o));
        HASH_DEL(outcomes, o);
        free(o->token);
        free(o->report);
        free(o);
    }
    return list;
}

void peet_outcomes_gap(json_t *list, const char *what, const char *format, ...)
{
    char text[400];
    va_list ap;

    va_start(ap, format);
    vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    json_array_append_new(list, json_pack("{s:s,s:s}", "what", what, "text", text));
}
