/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the description of a piece of a trace (`peet trace cut`) says of its beginning, as the mapper and the replay want
 * it.
 *
 *   cut = {from, to, unit, first_cycle, next_context, contexts: [one...]}
 *   one = {stream, context, over, detached, ready, threads, forks, held: [[type, argument...]...], again: [number, type,
 *         argument...]}
 *
 * Contexts without `ready` are iterations of loops: they begin when somebody carries them.
 */
#include "host/replay_parts.h"

#include <peet/raw.h>
#include <stdlib.h>
#include <string.h>

enum { ARGS_MAX = 16 };

static uint64_t number_of(const json_t *node, const char *key)
{
    return (uint64_t)json_integer_value(json_object_get(node, key));
}

/** All words of an array of arrays of numbers, each behind its length.  @out_n: how many */
static uint64_t *words_of(const json_t *list, size_t *out_n)
{
    const json_t *one, *number;
    size_t i, k, n = 0;
    uint64_t *words;

    json_array_foreach(list, i, one) n += json_array_size(one) + 1;
    words = calloc(n + 1, sizeof *words);
    *out_n = 0;
    if (!words)
        return NULL;
    n = 0;
    json_array_foreach(list, i, one)
    {
        if (!json_array_size(one) || json_array_size(one) > ARGS_MAX)
            continue;
        json_array_foreach(one, k, number)
        {
            words[n++] = (uint64_t)json_integer_value(number);
            if (!k)
                words[n++] = json_array_size(one) - 1;
        }
    }
    *out_n = n;
    return words;
}

static int read_one(struct peet_replay *r, const json_t *one, struct peet_error *error)
{
    const json_t *again = json_object_get(one, "again"), *ready = json_object_get(one, "ready"), *number;
    const uint64_t stream = number_of(one, "stream");
    struct peet_replay_begun *b = &r->begun[r->nbegun];
    struct peet_map_begun *c = &r->contexts[r->middle.n];
    size_t i;

    if (stream >= peet_recording_nstreams(r->recording) || json_array_size(again) > ARGS_MAX)
        return peet_error_set(error, PEET_EFORMAT, "the trace is a piece of another one, and does not say what of it");
    *b = (struct peet_replay_begun){
        .stream = (uint32_t)stream, .threads = number_of(one, "threads"), .forks = number_of(one, "forks")};
    b->held = words_of(json_object_get(one, "held"), &b->nheld);
    if (!b->held)
        return peet_error_set(error, PEET_ENOMEM, "out of memory");
    if (json_array_size(again) >= 2) {
        b->again[0] = PEET_RAW_ABSTRACT(PEET_ABSTRACT_AGAIN, json_array_size(again));
        json_array_foreach(again, i, number) b->again[1 + i] = (uint64_t)json_integer_value(number);
        b->nagain = 1 + json_array_size(again);
    }
    b->there = ready != NULL;
    if (ready) {
        *c = (struct peet_map_begun){.number = (uint32_t)number_of(one, "context"),
            .detached = json_is_true(json_object_get(one, "detached")),
            .over = json_is_true(json_object_get(one, "over")),
            .ready_cycles = (uint64_t)json_integer_value(ready),
            .held = b->held,
            .nheld = b->nheld};
        r->of_context[r->middle.n++] = r->nbegun;
    }
    r->nbegun++;
    HASH_ADD(hh, r->by_stream, stream, sizeof b->stream, b);
    return 0;
}

int peet__replay_read_middle(struct peet_replay *r, struct peet_error *error)
{
    json_t *description = json_loads(peet_recording_description(r->recording), 0, NULL), *one;
    const json_t *cut = json_object_get(description, "cut"), *list = json_object_get(cut, "contexts");
    const size_t n = json_array_size(list);
    int err = 0;
    size_t i;

    if (cut) {
        r->begun = calloc(n + 1, sizeof *r->begun);
        r->contexts = calloc(n + 1, sizeof *r->contexts);
        r->of_context = calloc(n + 1, sizeof *r->of_context);
        if (!r->begun || !r->contexts || !r->of_context)
            err = peet_error_set(error, PEET_ENOMEM, "out of memory");
        json_array_foreach(list, i, one) if (!err) err = read_one(r, one, error);
        r->middle.contexts = r->contexts;
        r->middle.next_number = (uint32_t)number_of(cut, "next_context");
        r->middle.shift_cycles = number_of(cut, "first_cycle");
        r->has_middle = 1;
        if (!err && (!r->middle.n || r->contexts[0].over))
            err = peet_error_set(error, PEET_EFORMAT, "no context goes on in this piece of a trace");
    }
    json_decref(description);
    return err;
}

const struct peet_map_middle *peet_replay_middle(const struct peet_replay *r)
{
    return r->has_middle ? &r->middle : NULL;
}

const struct peet_replay_begun *peet__replay_begun(const struct peet_replay *r, uint32_t stream)
{
    struct peet_replay_begun *b;

    HASH_FIND(hh, r->by_stream, &stream, sizeof stream, b);
    return b;
}
