/* SPDX-License-Identifier: Apache-2.0 */
/*
 * peet compare --average: several runs' events in one series for each context, and where the runs are furthest apart.
 * What is averaged are the cycles from one event to the next.
 */
#include "compare.h"

#include "common.h"
#include "trace.h"
#include "trace/compare.h"

#include <jansson.h>
#include <stdlib.h>

enum { WORST = 8 };

struct runs {
    const struct asked *asked;
    struct side sides[COMPARED_MAX];
    size_t *columns[COMPARED_MAX]; /* of each context of the first run: the other's, or SIZE_MAX */
};

/** Which contexts of the run are the first one's. */
static int assign(struct runs *r, int run, struct peet_error *error)
{
    struct side *first = &r->sides[0], *other = &r->sides[run];
    const int more = first->n > other->n;
    size_t *column = calloc((more ? other->n : first->n) + 1, sizeof *column);
    int err = 0;

    r->columns[run] = malloc((first->n + 1) * sizeof *column);
    if (!column || !r->columns[run])
        err = peet_error_set(error, PEET_ENOMEM, "out of memory");
    for (size_t i = 0; !err && i < first->n; i++)
        r->columns[run][i] = run ? SIZE_MAX : i;
    if (!err && run)
        err = peet_cli_side_match(more ? other : first, more ? first : other, column, error);
    for (size_t i = 0; !err && run && i < (more ? other->n : first->n); i++)
        r->columns[run][more ? column[i] : i] = more ? i : column[i];
    free(column);
    return err;
}

static json_t *context_json(struct runs *r, size_t context, struct peet_error *error)
{
    const double *series[COMPARED_MAX];
    size_t lengths[COMPARED_MAX], count = 0;
    int of[COMPARED_MAX], err;
    struct peet_average average;
    json_t *all, *events, *runs;
    double cycles = 0;

    for (int run = 0; run < r->asked->nnames; run++) {
        const size_t column = r->columns[run][context];
        const struct sequence *s = column == SIZE_MAX ? NULL : &r->sides[run].all[column];

        if (s && s->n) {
            series[count] = s->times;
            lengths[count] = s->n;
            of[count++] = run;
        }
    }
    if (!count)
        return json_null();
    err = peet_time_average(series, lengths, count, r->asked->band, &average);
    if (err) {
        peet_error_set(error, err,
            err == PEET_ELIMIT ? "context %llu: too many events for such a band; --band takes a narrower one"
                               : "context %llu: out of memory",
            (unsigned long long)r->sides[0].all[context].context);
        return NULL;
    }
    const struct sequence *medoid = &r->sides[of[average.medoid]].all[r->columns[of[average.medoid]][context]];
    events = json_array();
    runs = json_array();
    for (size_t i = 0; i < average.n; i++) {
        cycles += average.values[i];
        json_array_append_new(events,
            json_pack("{s:s,s:f,s:f}", "event", peet_cli_event_text((unsigned)medoid->symbols[i]), "cycles",
                average.values[i], "deviation_cycles", average.deviation[i]));
    }
    for (size_t i = 0; i < count; i++)
        json_array_append_new(runs,
            json_pack("{s:s,s:I,s:f}", "trace", r->asked->names[of[i]], "events", (json_int_t)lengths[i],
                "time_warp_cycles", average.distances[i]));
    all = json_pack("{s:I,s:s,s:f,s:o,s:o}", "context", (json_int_t)r->sides[0].all[context].context, "medoid",
        r->asked->names[of[average.medoid]], "cycles", cycles, "runs", runs, "events", events);
    peet_average_free(&average);
    return all;
}

/** An event of the average, for the table. */
struct place {
    double deviation, cycles;
    json_int_t context;
    size_t number;
    const char *event;
};

static int by_deviation(const void *x, const void *y)
{
    const struct place *a = x, *b = y;

    if (a->deviation != b->deviation)
        return a->deviation > b->deviation ? -1 : 1;
    if (a->context != b->context)
        return a->context < b->context ? -1 : 1;
    return a->number < b->number ? -1 : 1;
}

static double real(const json_t *node, const char *key)
{
    return json_number_value(json_object_get(node, key));
}

static void show_worst(const json_t *contexts, size_t wanted)
{
    struct place *all = NULL;
    size_t n = 0, i, k;
    json_t *context, *event;

    json_array_foreach(contexts, i, context) n += json_array_size(json_object_get(context, "events"));
    all = malloc((n + 1) * sizeof *all);
    n = 0;
    json_array_foreach(contexts, i, context) json_array_foreach(json_object_get(context, "events"), k, event)
    {
        if (all && real(event, "deviation_cycles") > 0)
            all[n++] = (struct place){real(event, "deviation_cycles"), real(event, "cycles"),
                json_integer_value(json_object_get(context, "context")), k,
                json_string_value(json_object_get(event, "event"))};
    }
    if (n)
        qsort(all, n, sizeof *all, by_deviation);
    if (n && wanted)
        printf("\nthe runs are furthest apart in the time before:\n%8s %10s %14s %14s  %s\n", "context", "event",
            "cycles", "+-", "");
    for (i = 0; i < n && i < wanted; i++)
        printf("%8" JSON_INTEGER_FORMAT " %10zu %14.1f %14.1f  %s\n", all[i].context, all[i].number, all[i].cycles,
            all[i].deviation, all[i].event);
    free(all);
}

static void show(const json_t *contexts, size_t wanted)
{
    size_t i, k;
    json_t *context, *run;

    printf("%8s %10s %16s %16s  %s\n", "context", "events", "cycles", "away from it", "run");
    json_array_foreach(contexts, i, context)
    {
        printf("%8" JSON_INTEGER_FORMAT " %10zu %16.1f %16s  the average\n",
            json_integer_value(json_object_get(context, "context")),
            json_array_size(json_object_get(context, "events")), real(context, "cycles"), "");
        json_array_foreach(json_object_get(context, "runs"), k, run)
            printf("%8s %10" JSON_INTEGER_FORMAT " %16s %16.1f  %s\n", "",
                json_integer_value(json_object_get(run, "events")), "", real(run, "time_warp_cycles"),
                json_string_value(json_object_get(run, "trace")));
    }
    show_worst(contexts, wanted);
}

int peet_cli_average(const struct asked *asked)
{
    struct runs *r = calloc(1, sizeof *r);
    struct asked events = *asked;
    struct peet_error error = {0};
    json_t *contexts = json_array(), *all;
    int err = r ? 0 : peet_error_set(&error, PEET_ENOMEM, "out of memory");

    events.what = EVENTS;
    if (r)
        r->asked = &events;
    for (int i = 0; !err && i < asked->nnames; i++) {
        err = peet_cli_side_open(&r->sides[i], asked->names[i], &error);
        if (!err)
            err = peet_cli_side_read(&r->sides[i], &events, &error);
        if (!err)
            err = assign(r, i, &error);
    }
    for (size_t i = 0; !err && i < r->sides[0].n; i++) {
        json_t *context = context_json(r, i, &error);

        err = error.code;
        if (context && json_is_object(context))
            json_array_append_new(contexts, context);
    }
    all = json_pack("{s:O}", "contexts", contexts);
    if (!err && asked->json)
        json_dumpf(all, stdout, JSON_INDENT(2) | JSON_PRESERVE_ORDER), putchar('\n');
    else if (!err)
        show(contexts, asked->list ? (size_t)asked->list : WORST);
    json_decref(all);
    json_decref(contexts);
    for (int i = 0; r && i < asked->nnames; i++) {
        peet_cli_side_close(&r->sides[i]);
        free(r->columns[i]);
    }
    free(r);
    peet_cli_compare_forget();
    return err ? peet_cli_fail(&error) : peet_cli_finish_stdout(PEET_CLI_OK);
}
