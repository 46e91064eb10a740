/* SPDX-License-Identifier: Apache-2.0 */
/* See trace_walk.h.  Words are decoded without addresses; only instructions and events count. */
#include "trace_walk.h"

#include <peet/counting.h>
#include <peet/raw.h>
#include <stdlib.h>
#include <string.h>

static int no_memory(struct peet_error *error)
{
    return peet_error_set(error, PEET_ENOMEM, "out of memory");
}

static const json_t *begun_of(const struct peet_cut *cut, uint32_t stream)
{
    json_t *one;
    size_t i;

    json_array_foreach(json_object_get(cut->before, "contexts"), i,
        one) if (json_integer_value(json_object_get(one, "stream")) == stream) return one;
    return NULL;
}

static int keep(struct peet_walk *w, uint32_t type, uint32_t nargs, const uint64_t *args)
{
    nargs = nargs < EVENT_ARGS ? nargs : EVENT_ARGS;
    if (nargs)
        memcpy(w->args, args, nargs * sizeof *args);
    w->asked = (struct peet_abstract_event){type, w->context, nargs, w->args};
    return 0;
}

int peet_walk_settle(struct peet_cut *cut, struct peet_walk *w, uint64_t result, struct peet_error *error)
{
    const struct peet_abstract_event event = w->asked;

    w->asked.type = 0;
    if (!event.type)
        return 0;
    w->threads += event.type == PEET_ABSTRACT_THREAD_CREATE && !(result & PEET_FAILED);
    w->forks += event.type == PEET_ABSTRACT_DOALL_FORK;
    return cut->fold && peet_fold_event(cut->fold, w->context, &event, result) ? no_memory(error) : 0;
}

int peet_walk_begin(struct peet_cut *cut, struct peet_walk *w, struct peet_error *error)
{
    const json_t *said = begun_of(cut, w->stream), *again = json_object_get(said, "again"), *one, *number;
    struct peet_recorded_state state;
    uint64_t *words, args[EVENT_ARGS];
    size_t n, i, k;
    int err;

    if (peet_recording_nstates(cut->from, w->stream)) {
        err = peet_recording_state(cut->from, w->stream, 0, &state, &words, &n, error);
        if (err)
            return err;
        if (!state.chunk) {
            err = peet_decode_state_restore(w->state, words, n, error);
            w->instructions = state.instructions;
        }
        free(words);
        if (err)
            return err;
    }
    w->threads = (uint64_t)json_integer_value(json_object_get(said, "threads"));
    w->forks = (uint64_t)json_integer_value(json_object_get(said, "forks"));
    json_array_foreach(json_object_get(said, "held"), i, one)
    {
        json_array_foreach(one, k, number) if (k && k <= EVENT_ARGS) args[k - 1] = (uint64_t)json_integer_value(number);
        n = json_array_size(one) ? json_array_size(one) - 1 : 0;
        keep(w, (uint32_t)json_integer_value(json_array_get(one, 0)), n < EVENT_ARGS ? (uint32_t)n : EVENT_ARGS, args);
        if (peet_walk_settle(cut, w, w->asked.type == PEET_ABSTRACT_ONCE_BEGIN, error))
            return error->code;
    }
    json_array_foreach(again, k, number) if (k >= 2 && k < 2 + EVENT_ARGS) args[k - 2] =
        (uint64_t)json_integer_value(number);
    if (json_array_size(again) >= 2)
        keep(w, (uint32_t)json_integer_value(json_array_get(again, 1)), (uint32_t)json_array_size(again) - 2, args);
    return 0;
}

int peet_walk_open(struct peet_cut *cut, struct peet_walk *w, struct peet_error *error)
{
    const struct peet_stream_info *info = peet_recording_stream(cut->from, w->stream);
    int err = peet_slices_open(cut->from, w->stream, &w->slices, error);

    w->context = info ? (uint32_t)info->context : w->stream;
    if (!err && peet_decode_state_new(cut->program, w->stream, info ? info->fs_base : 0, &w->state))
        err = no_memory(error);
    return err;
}

void peet_walk_close(struct peet_walk *w)
{
    peet_slices_close(w->slices);
    peet_decode_state_free(w->state);
    free(w->words);
    free(w->saved);
    w->saved = NULL;
    w->slices = NULL;
    w->state = NULL;
    w->words = NULL;
    w->cursor = w->end = NULL;
    w->room = 0;
}

int peet_walk_take(struct peet_cut *cut, struct peet_walk *w, struct peet_error *error)
{
    const size_t nchunks = peet_recording_nchunks(cut->from, w->stream);
    const int got = peet_slices_next(w->slices, &w->slice, error);
    uint64_t *more;

    w->has_slice = got > 0;
    if (got <= 0)
        return got;
    while (w->chunk < nchunks && w->in_chunk >= peet_recording_chunk(cut->from, w->stream, w->chunk)->slices)
        w->chunk++, w->in_chunk = 0;
    w->in_chunk++;
    if (w->room < w->slice.n + PEET_DECODE_ROOM_WORDS) {
        more = realloc(w->words, (w->slice.n + PEET_DECODE_ROOM_WORDS) * sizeof *more);
        if (!more)
            return no_memory(error);
        w->words = more;
        w->room = w->slice.n + PEET_DECODE_ROOM_WORDS;
    }
    if (w->slice.n)
        memcpy(w->words, w->slice.words, w->slice.n * sizeof *w->words);
    w->cursor = w->words;
    w->end = w->words + w->slice.n;
    if (w->slice.why == PEET_SLICE_CRASHED && !w->slice.result)
        w->end = peet_decode_but_last(w->state, w->cursor, w->end);
    return 1;
}

/** How many instructions an event stands for; the rest of it is remembered. */
static int step(struct peet_cut *cut, struct peet_walk *w, struct peet_error *error)
{
    struct peet_event event;
    struct peet_counts rounds = {0, 0, 0};
    const struct peet_block *block;
    int kind = peet_decode_next(w->state, &w->cursor, w->end, 0, &event, error);

    if (kind < 0 && w->slice.why == PEET_SLICE_CRASHED) /* its last record may be cut */
        kind = PEET_EVENT_NEED_WORDS;
    if (kind == PEET_EVENT_NEED_WORDS)
        w->cursor = w->end;
    if (kind < 0)
        return kind;
    if (kind == PEET_EVENT_BLOCK && !(event.block.block->flags & PEET_BLOCK_SIMPLE))
        peet_count_dynamic(event.block.block, event.block.values, PEET_COUNT_CALLGRIND, &rounds);
    if (kind == PEET_EVENT_BLOCK)
        w->instructions += event.block.block->ninsns + rounds.instructions;
    if (kind != PEET_EVENT_NEED_WORDS && peet_walk_settle(cut, w, 0, error))
        return error->code;
    if (kind != PEET_EVENT_ABSTRACT)
        return 0;
    if (event.abstract.type == PEET_ABSTRACT_RANGE && event.abstract.nargs >= 4 &&
        (block = peet_program_synthetic(cut->program, (unsigned)event.abstract.args[0])) != NULL)
        w->instructions += block->ninsns;
    w->marked += event.abstract.type == PEET_ABSTRACT_MARK_FORK;
    w->marked -= event.abstract.type == PEET_ABSTRACT_MARK_JOIN && w->marked;
    return keep(w, event.abstract.type, event.abstract.nargs, event.abstract.args);
}

int peet_walk_follow(struct peet_cut *cut, struct peet_walk *w, uint64_t until, struct peet_error *error)
{
    while (w->cursor != w->end || peet_decode_busy(w->state)) {
        const uint64_t *const before = w->cursor;
        const int busy = peet_decode_busy(w->state);
        int err;

        if (!cut->by_cycles && w->instructions >= until && !w->over && !w->marked)
            return 1;
        do { /* a block without a record goes with the record that says that it was executed, or that came before it */
            err = step(cut, w, error);
        } while (!err && ((w->cursor == before && !busy && w->cursor != w->end) || peet_decode_in_path(w->state)));
        if (err)
            return err;
    }
    return 0;
}
