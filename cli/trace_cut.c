/* SPDX-License-Identifier: Apache-2.0 */
/*
 * peet trace cut: a part of a trace as a trace of its own.
 *
 * The trace is read twice.  First all contexts are followed, in the order of time, up to where the part begins: where
 * each stands then, the decoder's state there, what each holds, what it has asked for.  That goes into the description of the part.
 * Then the words of each context are copied, from its place to the end of the part.
 *
 *   1. A place lies between two records, so that the parts of a trace together are the trace.
 *   2. By cycles, a slice belongs to the part in which it was begun.  Its last request may be answered in the next one.
 *   3. By instructions, a block belongs to the part in which it begins; events before it go with it.
 *   4. A marked loop (peet_mark_fork()) is one piece: what lies inside belongs to the part in which it is begun.
 *   5. A loop that wrote one record is cut by changing the last value of its counter in that record.
 */
#include "trace.h"

#include "arguments.h"
#include "common.h"
#include "trace_walk.h"

#include <argp.h>
#include <inttypes.h>
#include <jansson.h>
#include <peet/raw.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS_BETWEEN_STATES = 64 * 1024 };

static int no_memory(struct peet_error *error)
{
    return peet_error_set(error, PEET_ENOMEM, "out of memory");
}

static int mark(struct peet_walk *w, struct peet_error *error)
{
    uint64_t words[PEET_DECODE_STATE_WORDS];
    const size_t n = peet_decode_state_save(w->state, words, PEET_DECODE_STATE_WORDS);

    w->place.chunk = w->chunk;
    w->place.slice = w->in_chunk - 1;
    w->place.word = (size_t)(w->cursor - w->words);
    w->place.instructions = w->instructions;
    w->place.cycle = w->slice.cycle;
    w->place.threads = w->threads;
    w->place.forks = w->forks;
    if (!n)
        return peet_error_set(error, PEET_ELIMIT, "context %u is in nested signal handlers there: cut at another place",
            w->context);
    w->place.state = malloc(n * sizeof *words);
    if (!w->place.state)
        return no_memory(error);
    memcpy(w->place.state, words, n * sizeof *words);
    w->place.nstate = n;
    w->starts = 1;
    return 0;
}

/** The next slice of a stream whose time has come.  Returns: 1: it stands where the part begins, 0, or a peet_err */
static int advance(struct peet_cut *cut, struct peet_walk *w, struct peet_error *error)
{
    int got;

    if (cut->by_cycles && w->slice.cycle >= cut->first && !w->marked) {
        got = mark(w, error);
        return got ? got : 1;
    }
    if (w->slice.why != PEET_SLICE_CRASHED && peet_walk_settle(cut, w, w->slice.result, error))
        return error->code;
    got = peet_walk_follow(cut, w, cut->first, error);
    if (got > 0) {
        got = mark(w, error);
        return got ? got : 1;
    }
    if (got < 0)
        return got;
    if (w->slice.why != PEET_SLICE_EVENT && peet_walk_settle(cut, w, 0, error))
        return error->code;
    got = peet_walk_take(cut, w, error);
    w->ended = !got;
    return got < 0 ? got : 0;
}

/** Streams that have begun and stand before the part, the one with the earliest slice first. */
static int by_slice(const struct peet_walk *a, const struct peet_walk *b)
{
    return a->slice.cycle < b->slice.cycle || (a->slice.cycle == b->slice.cycle && a->stream < b->stream);
}

static void sift(struct peet_walk **heap, size_t n, size_t i)
{
    for (size_t child; (child = 2 * i + 1) < n; i = child) {
        child += child + 1 < n && by_slice(heap[child + 1], heap[child]);
        if (!by_slice(heap[child], heap[i]))
            return;
        struct peet_walk *const one = heap[i];

        heap[i] = heap[child];
        heap[child] = one;
    }
}

static void push(struct peet_walk **heap, size_t *inout_n, struct peet_walk *w)
{
    size_t i = (*inout_n)++;

    for (heap[i] = w; i && by_slice(heap[i], heap[(i - 1) / 2]); i = (i - 1) / 2) {
        struct peet_walk *const one = heap[i];

        heap[i] = heap[(i - 1) / 2];
        heap[(i - 1) / 2] = one;
    }
}

static uint64_t first_cycle_of(const struct peet_cut *cut, uint32_t stream)
{
    return peet_recording_nchunks(cut->from, stream) ? peet_recording_chunk(cut->from, stream, 0)->cycle : UINT64_MAX;
}

/** An iteration belongs as a whole to the part in which its loop is begun, if parts are counted by instructions. */
static int goes_with_carrier(const struct peet_cut *cut, uint32_t stream)
{
    const struct peet_stream_info *info = peet_recording_stream(cut->from, stream);

    return !cut->by_cycles && info && info->kind == PEET_STREAM_ITERATION;
}

static int by_first(const void *a, const void *b)
{
    struct peet_walk *const *x = a, *const *y = b;

    return by_slice(*x, *y) ? -1 : by_slice(*y, *x);
}

/** All streams to where the part begins. */
static int follow_all(struct peet_cut *cut, struct peet_error *error)
{
    const uint32_t n = peet_recording_nstreams(cut->from);
    struct peet_walk **heap = calloc(n + 1u, sizeof *heap), **order = calloc(n + 1u, sizeof *order);
    size_t nheap = 0;
    uint32_t next = 0;
    int err = heap && order ? 0 : no_memory(error), got;

    for (uint32_t s = 0; !err && s < n; s++) {
        cut->walks[s].stream = s;
        cut->walks[s].slice.cycle = first_cycle_of(cut, s);
        order[s] = &cut->walks[s];
    }
    if (!err)
        qsort(order, n, sizeof *order, by_first);

    while (!err && (next < n || nheap)) {
        struct peet_walk *w;

        while (!err && next < n && (!nheap || order[next]->slice.cycle <= heap[0]->slice.cycle)) {
            w = order[next++];
            w->over = goes_with_carrier(cut, w->stream);
            err = peet_walk_open(cut, w, error);
            if (!err)
                err = peet_walk_begin(cut, w, error);
            if (!err && (got = peet_walk_take(cut, w, error)) <= 0) {
                w->ended = !got;
                err = got;
                peet_walk_close(w);
            } else if (!err) {
                push(heap, &nheap, w);
            }
        }
        if (err || !nheap)
            continue;
        w = heap[0];
        got = advance(cut, w, error);
        err = got < 0 ? got : 0;
        if (got || w->ended) {
            heap[0] = heap[--nheap];
            peet_walk_close(w);
        }
        if (nheap)
            sift(heap, nheap, 0);
    }
    free(order);
    free(heap);
    return err;
}

/* -------------------------------------------------------------------------------------- describing */

/** Is the iteration's loop begun inside the part?  Parts by instructions have it as a whole then. */
static int inside(const struct peet_cut *cut, uint32_t stream)
{
    const struct peet_stream_info *info = peet_recording_stream(cut->from, stream);
    const struct peet_walk *carrier = info ? &cut->walks[info->parent] : NULL;

    if (carrier && goes_with_carrier(cut, carrier->stream))
        return inside(cut, carrier->stream);
    return carrier && carrier->starts && info->ordinal >= carrier->place.forks && info->ordinal < carrier->forks_end;
}

/** Is the thread made inside the part? */
static int made_inside(const struct peet_cut *cut, const struct peet_stream_info *info)
{
    const struct peet_walk *maker = &cut->walks[info->parent];

    if (info->kind != PEET_STREAM_THREAD || info->ordinal >= UINT64_MAX / 2)
        return 0;
    if (goes_with_carrier(cut, maker->stream))
        return inside(cut, maker->stream) && info->ordinal < maker->threads;
    return maker->starts && info->ordinal >= maker->place.threads && info->ordinal < maker->threads_end;
}

/** Something of it has happened before the part. */
static int has_begun(const struct peet_walk *w)
{
    return w->place.chunk || w->place.slice || w->place.word;
}

/** Is the thread there when the part begins?  By instructions, contexts are not cut at one time. */
static int is_there(const struct peet_cut *cut, const struct peet_walk *w, const struct peet_stream_info *info)
{
    const struct peet_walk *maker = &cut->walks[info->parent];

    if (!cut->by_cycles)
        return !made_inside(cut, info);
    if (info->kind == PEET_STREAM_MAIN || has_begun(w) || info->ordinal >= UINT64_MAX / 2)
        return info->kind == PEET_STREAM_MAIN || has_begun(w) || w->place.cycle < cut->first;
    return info->ordinal < (maker->starts ? maker->place.threads : maker->threads);
}

static int waits_again(const struct peet_cut *cut, const struct peet_walk *w)
{
    const uint32_t child = w->asked.type == PEET_ABSTRACT_THREAD_CREATE
        ? peet_recording_thread(cut->from, w->stream, w->threads)
        : UINT32_MAX;

    if (!w->asked.type || w->asked.type == PEET_ABSTRACT_CONTEXT_EXIT || w->asked.type == PEET_ABSTRACT_PROGRAM_EXIT)
        return 0;
    /* the thread that it wants has begun already */
    return child == UINT32_MAX ||
        !(cut->walks[child].ended || (cut->walks[child].starts && has_begun(&cut->walks[child])));
}

/** Number of the context that a request makes first, as it was then. */
static uint64_t made_number(const struct peet_cut *cut, const struct peet_walk *w)
{
    const struct peet_stream_info *info = NULL;
    uint32_t child;

    if (w->asked.type == PEET_ABSTRACT_THREAD_CREATE) {
        child = peet_recording_thread(cut->from, w->stream, w->threads);
        info = peet_recording_stream(cut->from, child);
        return info ? info->context : peet_fold_next(cut->fold);
    }
    if (w->asked.type == PEET_ABSTRACT_DOALL_FORK)
        for (uint64_t i = w->args[0]; (int64_t)i < (int64_t)w->args[1]; i++)
            if ((child = peet_recording_iteration(cut->from, w->stream, w->forks, i)) != UINT32_MAX &&
                (info = peet_recording_stream(cut->from, child)) != NULL)
                return info->context - (i - w->args[0]);
    return peet_fold_next(cut->fold);
}

static json_t *words_json(const struct peet_walk *w, uint64_t number)
{
    json_t *list = json_array();

    json_array_append_new(list, json_integer((json_int_t)number));
    json_array_append_new(list, json_integer(w->asked.type));
    for (uint32_t i = 0; i < w->asked.nargs; i++)
        json_array_append_new(list, json_integer((json_int_t)w->args[i]));
    return list;
}

/** What is said of one stream, or NULL. */
static json_t *describe(struct peet_cut *cut, struct peet_walk *w, int *inout_first)
{
    const struct peet_stream_info *info = peet_recording_stream(cut->from, w->stream);
    const int thread = info && info->kind != PEET_STREAM_ITERATION;
    json_t *one, *shared;
    uint64_t ready, number;

    if (!info || goes_with_carrier(cut, w->stream))
        return NULL;
    if (w->ended && !(w->asked.type && waits_again(cut, w))) {
        if (!thread || w->slice.why == PEET_SLICE_CRASHED || peet_fold_joined(cut->fold, w->context))
            return NULL;
        return json_pack("{s:I,s:I,s:b,s:i}", "stream", (json_int_t)w->stream, "context", (json_int_t)w->context,
            "over", 1, "ready", 0);
    }
    if (w->starts && !has_begun(w) && (!thread || !is_there(cut, w, info)))
        return NULL;
    one = json_pack("{s:I,s:I,s:b,s:I,s:I,s:o}", "stream", (json_int_t)w->stream, "context", (json_int_t)w->context,
        "detached", peet_fold_detached(cut->fold, w->context), "threads", (json_int_t)w->threads, "forks",
        (json_int_t)w->forks, "held", peet_fold_held(cut->fold, w->context));
    if (w->asked.type && waits_again(cut, w)) {
        number = made_number(cut, w);
        json_object_set_new(one, "again", words_json(w, number));
        number += w->asked.type == PEET_ABSTRACT_THREAD_CREATE ? 1
            : w->asked.type == PEET_ABSTRACT_DOALL_FORK && (int64_t)w->args[1] > (int64_t)w->args[0]
            ? w->args[1] - w->args[0]
            : 0;
        if (number > peet_fold_next(cut->fold) && number < UINT32_MAX)
            peet_fold_set_next(cut->fold, (uint32_t)number);
    }
    if (thread && is_there(cut, w, info)) {
        ready = w->starts && w->asked.type != PEET_ABSTRACT_COND_WAIT && w->place.cycle > cut->first_cycle
            ? w->place.cycle - cut->first_cycle
            : 0;
        if (cut->by_cycles && ready > cut->last - cut->first_cycle) /* it goes on after the part: the clock need not */
            ready = cut->last - cut->first_cycle;
        json_object_set_new(one, "ready", json_integer((json_int_t)ready));
        if (*inout_first) {
            shared = peet_fold_shared(cut->fold);
            json_array_extend(json_object_get(one, "held"), shared);
            json_decref(shared);
            *inout_first = 0;
        }
    }
    return one;
}

/** The part's description.  NULL: nothing lies there */
static char *describe_all(struct peet_cut *cut)
{
    json_t *description = json_loads(peet_recording_description(cut->from), 0, NULL), *contexts = json_array(),
           *over = json_array(), *one;
    const uint32_t n = peet_recording_nstreams(cut->from);
    char *text = NULL;
    int first = 1;

    cut->first_cycle = cut->by_cycles ? cut->first : UINT64_MAX;
    for (uint32_t s = 0; s < n && !cut->by_cycles; s++)
        if (cut->walks[s].starts && !goes_with_carrier(cut, s) && cut->walks[s].place.cycle < cut->first_cycle)
            cut->first_cycle = cut->walks[s].place.cycle;
    for (uint32_t s = 0; s < n; s++)
        if ((one = describe(cut, &cut->walks[s], &first)) != NULL)
            json_array_append_new(json_is_true(json_object_get(one, "over")) ? over : contexts, one);
    json_array_extend(contexts, over);
    json_decref(over);
    if (!description)
        description = json_object();
    json_object_set_new(description, "cut",
        json_pack("{s:s,s:I,s:I,s:I,s:I,s:o}", "unit", cut->by_cycles ? "cycles" : "instructions", "from",
            (json_int_t)cut->first, "to", (json_int_t)cut->last, "first_cycle", (json_int_t)cut->first_cycle,
            "next_context", (json_int_t)peet_fold_next(cut->fold), "contexts", contexts));
    if (!first)
        text = json_dumps(description, JSON_COMPACT | JSON_PRESERVE_ORDER);
    json_decref(description);
    return text;
}

/* ---------------------------------------------------------------------------------------- copying */

static int copy_images(struct peet_recording *from, struct peet_recorder *to, struct peet_error *error)
{
    int err = 0;

    for (size_t i = 0; !err && i < peet_recording_nimages(from); i++) {
        struct peet_recorded_image image = *peet_recording_image(from, i);

        err = peet_recording_load_image(from, i, &image.bytes, &image.nbytes, error);
        if (!err)
            peet_recorder_image(to, &image);
        free(image.bytes);
    }
    return err;
}

/** The state is kept before the next slice. */
static int write_state(struct peet_walk *w, struct peet_recorder *to, struct peet_error *error)
{
    const size_t n = w->nstate;

    w->nstate = 0;
    return n && peet_recorder_state(to, w->stream, w->saved, n, w->saved_instructions)
        ? peet_error_set(error, PEET_EIO, "%s", peet_recorder_error(to))
        : 0;
}

static void save_state(struct peet_walk *w)
{
    w->nstate = peet_decode_state_save(w->state, w->saved, PEET_DECODE_STATE_WORDS);
    w->saved_instructions = w->instructions;
}

/** To the stream's place.  Returns: 1: its first slice is the present one, 0: there is none, or a peet_err */
static int go_to_place(struct peet_cut *cut, struct peet_walk *w, struct peet_error *error)
{
    int got = peet_walk_open(cut, w, error);

    if (!got && !(w->saved = malloc(PEET_DECODE_STATE_WORDS * sizeof *w->saved)))
        got = no_memory(error);
    w->has_slice = 0;
    w->chunk = w->in_chunk = 0;
    w->asked.type = 0;
    w->threads = w->place.threads;
    w->forks = w->place.forks;
    w->instructions = w->place.instructions;
    if (!got && w->place.state)
        got = peet_decode_state_restore(w->state, w->place.state, w->place.nstate, error);
    if (got)
        return got;
    w->chunk = w->place.chunk;
    peet_slices_seek(w->slices, w->chunk);
    do
        got = peet_walk_take(cut, w, error);
    while (got > 0 && (w->chunk < w->place.chunk || w->in_chunk <= w->place.slice));
    if (got > 0 && w->place.word <= w->slice.n)
        w->cursor = w->words + w->place.word;
    return got;
}

/** One slice, or what of it belongs to the part.  Returns: 1: the part's end lies in it, 0, or a peet_err */
static int copy_slice(struct peet_cut *cut, struct peet_walk *w, struct peet_recorder *to, struct peet_error *error)
{
    struct peet_slice slice = w->slice;
    const uint64_t *const begin = w->cursor, before = w->instructions;
    int got;

    if (cut->by_cycles && w->slice.cycle >= cut->last && !w->marked)
        return 1;
    if (w->slice.why != PEET_SLICE_CRASHED && peet_walk_settle(cut, w, w->slice.result, error))
        return error->code;
    got = peet_walk_follow(cut, w, cut->last, error);
    if (got < 0)
        return got;
    if (got && w->cursor == begin && !peet_decode_busy(w->state))
        return 1;
    if (got)
        slice.why = PEET_SLICE_FULL;
    if (got && peet_decode_busy(w->state) && w->cursor - begin >= 2)
        w->words[w->cursor - w->words - 1] = peet_decode_loop_value(w->state);
    slice.words = begin;
    slice.n = (size_t)(w->cursor - begin);
    if (got && w->cursor == begin && w->nstate) /* the part lies within one loop */
        peet_decode_state_until(w->saved, w->state);
    if (write_state(w, to, error))
        return error->code;
    if (peet_recorder_slice(to, w->stream, &slice, before))
        return peet_error_set(error, PEET_EIO, "%s", peet_recorder_error(to));
    return got;
}

static int copy_stream(struct peet_cut *cut, struct peet_recorder *to, struct peet_walk *w, struct peet_error *error)
{
    uint64_t since = 0;
    int got;

    if (goes_with_carrier(cut, w->stream) ? !inside(cut, w->stream) : !w->starts)
        return 0;
    got = go_to_place(cut, w, error);
    if (got > 0 && has_begun(w))
        save_state(w);
    while (got > 0) {
        got = copy_slice(cut, w, to, error);
        if (got)
            break;
        since += w->slice.n;
        got = peet_walk_take(cut, w, error);
        if (got > 0 && since >= WORDS_BETWEEN_STATES) {
            since = 0;
            save_state(w);
        }
    }
    if (got >= 0)
        peet_walk_settle(cut, w, 0, error);
    peet_walk_close(w);
    return got < 0 ? got : 0;
}

/** What a context that makes others has made when the part ends, by instructions. */
static int look_ahead(struct peet_cut *cut, struct peet_error *error)
{
    struct peet_fold *const fold = cut->fold;
    const uint32_t n = peet_recording_nstreams(cut->from);
    const struct peet_stream_info *info;
    int err = 0, got;

    cut->fold = NULL;
    for (uint32_t s = 0; !err && s < n; s++)
        if ((info = peet_recording_stream(cut->from, s)) != NULL && info->parent < s)
            cut->walks[info->parent].threads_end = UINT64_MAX; /* it makes some */
    for (uint32_t s = 0; !err && s < n; s++) {
        struct peet_walk *w = &cut->walks[s], before = *w;

        if (!w->starts || goes_with_carrier(cut, s) || w->threads_end != UINT64_MAX)
            continue;
        for (got = go_to_place(cut, w, error); got > 0; got = got < 0 ? got : peet_walk_take(cut, w, error)) {
            if (w->slice.why != PEET_SLICE_CRASHED && peet_walk_settle(cut, w, w->slice.result, error))
                got = -1;
            else if ((got = peet_walk_follow(cut, w, cut->last, error)) != 0)
                break;
        }
        peet_walk_settle(cut, w, 0, error);
        err = got < 0 ? got : 0;
        before.threads_end = w->threads;
        before.forks_end = w->forks;
        peet_walk_close(w);
        *w = before;
        w->asked.args = w->args;
    }
    cut->fold = fold;
    return err;
}

static int copy(struct peet_cut *cut, struct peet_recorder *to, struct peet_error *error)
{
    const struct peet_recorded_answer *answers;
    const uint8_t *code;
    uint32_t number;
    size_t n;
    int err = peet_fold_blocks(cut->fold, to);

    peet_fold_free(cut->fold);
    cut->fold = NULL;
    if (!err)
        err = copy_images(cut->from, to, error);
    if (!err)
        err = peet_recording_code_bytes(cut->from, &code, &n, error);
    if (!err && n)
        err = peet_recorder_code(to, code, n);
    if (!err)
        err = peet_recording_paths_bytes(cut->from, &code, &n, error);
    if (!err && n)
        err = peet_recorder_paths(to, code, n);
    if (!err)
        err = peet_recording_answers(cut->from, &answers, &n, error);
    for (size_t i = 0; !err && i < n; i++)
        err = peet_recorder_answer(to, &answers[i]);
    for (uint32_t s = 0; !err && s < peet_recording_nstreams(cut->from); s++) {
        const struct peet_stream_info *info = peet_recording_stream(cut->from, s),
                                      nothing = {.kind = PEET_STREAM_THREAD, .ordinal = UINT64_MAX};

        err = peet_recorder_stream(to, info ? info : &nothing, &number);
        if (!err)
            err = copy_stream(cut, to, &cut->walks[s], error);
        peet_recorder_end(to, s);
    }
    return err;
}

/* ---------------------------------------------------------------------------------------- the word */

/** What the trace knows before its first slice. */
static int begin(struct peet_cut *cut, struct peet_error *error)
{
    json_t *description = json_loads(peet_recording_description(cut->from), 0, NULL);
    const uint64_t *words;
    size_t n;
    int err = peet_recording_early(cut->from, &words, &n, error);

    cut->before = json_incref(json_object_get(description, "cut"));
    json_decref(description);
    cut->walks = calloc(peet_recording_nstreams(cut->from) + 1u, sizeof *cut->walks);
    if (!err && (!cut->walks || peet_fold_new(&cut->fold)))
        err = no_memory(error);
    for (size_t at = 0; !err && n - at >= 2 && n - at - 2 >= PEET_RAW_NARGS(words[at + 1]);
        at += 2 + PEET_RAW_NARGS(words[at + 1])) {
        const struct peet_abstract_event event = {
            PEET_RAW_TYPE(words[at + 1]), 0, PEET_RAW_NARGS(words[at + 1]), words + at + 2};

        if (peet_fold_event(cut->fold, 0, &event, 0))
            err = no_memory(error);
    }
    if (!err && cut->before)
        peet_fold_set_next(cut->fold, (uint32_t)json_integer_value(json_object_get(cut->before, "next_context")));
    return err;
}

/** Did the run, of which this may be a part already, end because all waited for each other? */
static int is_of_deadlock(struct peet_recording *from)
{
    const char *text = peet_recording_ending(from);
    json_t *ending = text ? json_loads(text, 0, NULL) : NULL;
    const char *reason = json_string_value(json_object_get(ending, "reason")),
               *of = json_string_value(json_object_get(ending, "of"));
    const int is = (reason && !strcmp(reason, "deadlock")) || (of && !strcmp(of, "deadlock"));

    json_decref(ending);
    return is;
}

/** Does any context execute something there?  By cycles they may wait all the while. */
static int is_any_there(const struct peet_cut *cut)
{
    if (cut->by_cycles)
        return 1;
    for (uint32_t s = 0; s < peet_recording_nstreams(cut->from); s++)
        if (cut->walks[s].starts)
            return 1;
    return 0;
}

static int make(struct peet_cut *cut, const char *from, const char *path, struct peet_error *error)
{
    struct peet_recorder *to = NULL;
    struct peet_error closing = {0};
    char *text = NULL;
    int err = peet_cli_trace_open(from, &cut->from, error), closed;

    if (!err)
        err = peet_cli_trace_program(cut->from, &cut->program, error);
    if (!err)
        err = begin(cut, error);
    if (!err)
        err = follow_all(cut, error);
    if (!err && !cut->by_cycles)
        err = look_ahead(cut, error);
    if (!err && !(is_any_there(cut) && (text = describe_all(cut))))
        err = peet_error_set(error, PEET_EINVALID, "%s: nothing lies there: no context has got so far", from);
    if (!err)
        err = peet_recorder_open_whole(path, text, 3, &to, error);
    free(text);
    if (!to)
        return err;
    err = copy(cut, to, error);
    /* in a part of a deadlock contexts wait in vain; else for what others do outside of the part */
    closed = peet_recorder_close(to,
        err ? NULL
            : is_of_deadlock(cut->from) ? "{\"reason\":\"cut\",\"status\":0,\"of\":\"deadlock\"}"
                                        : "{\"reason\":\"cut\",\"status\":0}",
        &closing);
    if (closed && !error->code)
        err = peet_error_set(error, closed, "%s: %s", path, closing.message);
    return err;
}

struct asked {
    const char *names[2]; /* the trace, the output */
    uint64_t first, last;
    int by_cycles, said;
};

enum { KEY_CYCLES = 0x1000, KEY_INSTRUCTIONS };

static const struct argp_option options[] = {
    {"cycles", KEY_CYCLES, "[M-]N", 0, "What contexts began to execute from cycle M on and before cycle N", 0},
    {"instructions", KEY_INSTRUCTIONS, "[M-]N", 0,
        "Of each context, its instructions from number M on and before number N", 0},
    {0},
};

/** "N": up to N; "M-N", "M-": to the end.  Returns: whether it is one of them */
static int read_part(const char *text, struct asked *asked)
{
    char *end;

    if (*text < '0' || *text > '9')
        return 0;
    asked->last = strtoull(text, &end, 10);
    if (*end == '-') {
        asked->first = asked->last;
        asked->last = end[1] ? strtoull(end + 1, &end, 10) : (end++, UINT64_MAX);
    }
    return !*end && asked->first < asked->last;
}

static error_t read_option(int key, char *text, struct argp_state *state)
{
    struct asked *asked = state->input;
    switch (key) {
    case KEY_CYCLES:
    case KEY_INSTRUCTIONS:
        if (asked->said++)
            argp_error(state, "one part at a time");
        asked->by_cycles = key == KEY_CYCLES;
        if (!read_part(text, asked))
            argp_error(state, "--%s: '%s' is not N, M-N or M- with M below N",
                asked->by_cycles ? "cycles" : "instructions", text);
        return 0;
    case ARGP_KEY_SUCCESS:
        if (!asked->said)
            argp_error(state, "--cycles or --instructions says which part");
        return 0;
    }
    return peet_cli_trace_and_output(key, text, state, asked->names);
}

static const struct argp parser = {
    .options = options,
    .parser = read_option,
    .args_doc = "TRACE OUTPUT",
    .doc = "Write a part of TRACE to the file OUTPUT, as a trace of its own." PEET_CLI_TRACE_IS
           "  Without M a part is from the beginning; without N, but with the dash, to the end.",
};

int peet_cli_trace_cut(int argc, char **argv)
{
    struct peet_error error = {0};
    struct asked asked = {.names = {NULL}};

    if (argp_parse(&parser, argc, argv, 0, NULL, &asked) != 0)
        return PEET_CLI_USAGE;
    struct peet_cut cut = {.first = asked.first, .last = asked.last, .by_cycles = asked.by_cycles};
    const int err = make(&cut, asked.names[0], asked.names[1], &error);
    for (uint32_t s = 0; cut.walks && s < peet_recording_nstreams(cut.from); s++) {
        peet_walk_close(&cut.walks[s]);
        free(cut.walks[s].place.state);
    }
    free(cut.walks);
    json_decref(cut.before);
    peet_fold_free(cut.fold);
    peet_program_free(cut.program);
    peet_recording_free(cut.from);
    return err ? peet_cli_fail(&error) : PEET_CLI_OK;
}
