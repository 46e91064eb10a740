/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A recording as the source's subject; see tape.h.  No context has a stack here and nothing of the program runs: what a
 * context would have written in its next slice comes from its stream.  The mapper performs the abstract events anew.
 * What it answers may differ from what was answered then; the context goes the way that it went then, and the
 * difference is counted.
 */
#include "host/replay_parts.h"
#include "host/report.h"
#include "worker.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/** A recorded answer, waiting to be asked for. */
struct peet_known_answer {
    UT_hash_handle hh;
    struct {
        uint64_t kind, a, b;
    } question;
    const struct peet_recorded_answer **answers;
    size_t n, next, room;
};

/* ------------------------------------------------------------------------------------------ files */

static int same_contents(const char *path, const uint8_t *bytes, size_t n)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    uint8_t piece[16384];
    size_t at = 0;
    struct stat st;
    int same = fd >= 0 && !fstat(fd, &st) && S_ISREG(st.st_mode) && (size_t)st.st_size == n;

    while (same && at < n) {
        const ssize_t got = read(fd, piece, sizeof piece);

        same = got > 0 && (size_t)got <= n - at && !memcmp(piece, bytes + at, (size_t)got);
        at += got > 0 ? (size_t)got : 0;
    }
    if (fd >= 0)
        close(fd);
    return same;
}

/** A copy in the results folder. */
static char *copy_out(struct peet_replay *r, const char *name, const uint8_t *bytes, size_t n, struct peet_error *error)
{
    char folder[PATH_MAX + 16], path[2 * PATH_MAX];
    const char *last = strrchr(name, '/');
    FILE *out;

    snprintf(folder, sizeof folder, "%s/images", r->output);
    snprintf(path, sizeof path, "%s/%s", folder, last ? last + 1 : name);
    if (mkdir(folder, 0777) && errno != EEXIST) {
        peet_error_set(error, PEET_EIO, "%s: cannot be made: %s", folder, strerror(errno));
        return NULL;
    }
    out = fopen(path, "we");
    if (!out || fwrite(bytes, 1, n, out) != n) {
        peet_error_set(error, PEET_EIO, "%s: cannot be written: %s", path, strerror(errno));
        if (out)
            fclose(out);
        return NULL;
    }
    if (fclose(out)) {
        peet_error_set(error, PEET_EIO, "%s: cannot be written: %s", path, strerror(errno));
        return NULL;
    }
    return strdup(path);
}

const char *peet_replay_image(struct peet_replay *r, size_t i, struct peet_error *error)
{
    const struct peet_recorded_image *image = peet_recording_image(r->recording, i);
    struct peet_error ignored = {0};
    uint8_t *bytes;
    size_t n;

    if (r->images[i])
        return r->images[i];
    if (peet_recording_load_image(r->recording, i, &bytes, &n, error ? error : &ignored))
        return NULL;
    r->images[i] =
        same_contents(image->path, bytes, n) ? strdup(image->path) : copy_out(r, image->path, bytes, n, error);
    free(bytes);
    if (!r->images[i])
        peet_error_set(error, PEET_ENOMEM, "out of memory");
    return r->images[i];
}

/* ---------------------------------------------------------------------------------------- answers */

static int keep_answer(struct peet_replay *r, const struct peet_recorded_answer *a)
{
    struct peet_known_answer *k;
    struct {
        uint64_t kind, a, b;
    } question = {a->kind, a->a, a->b};

    HASH_FIND(hh, r->known, &question, sizeof question, k);
    if (!k) {
        k = calloc(1, sizeof *k);
        if (!k)
            return PEET_ENOMEM;
        memcpy(&k->question, &question, sizeof question);
        HASH_ADD(hh, r->known, question, sizeof k->question, k);
    }
    if (k->n == k->room) {
        const size_t room = k->room ? 2 * k->room : 4;
        const struct peet_recorded_answer **more = realloc(k->answers, room * sizeof *more);

        if (!more)
            return PEET_ENOMEM;
        k->answers = more;
        k->room = room;
    }
    k->answers[k->n++] = a;
    return 0;
}

uint64_t peet__replay_answer(struct peet_replay *r, unsigned kind, uint64_t a, uint64_t b, uint64_t otherwise)
{
    struct {
        uint64_t kind, a, b;
    } question = {kind, a, b};
    struct peet_known_answer *k;

    HASH_FIND(hh, r->known, &question, sizeof question, k);
    if (k && k->next < k->n)
        return k->answers[k->next++]->value;
    return otherwise;
}

/* ------------------------------------------------------------------------------------ life and death */

int peet_replay_open(const char *path, const char *output, struct peet_replay **out_replay, struct peet_error *error)
{
    struct peet_replay *r = calloc(1, sizeof *r);
    const struct peet_recorded_answer *answers;
    size_t n;
    int err;

    *out_replay = r;
    if (!r)
        return peet_error_set(error, PEET_ENOMEM, "out of memory");
    snprintf(r->output, sizeof r->output, "%s", output);
    err = peet_recording_open(path, &r->recording, error);
    if (!err)
        err = peet_recording_answers(r->recording, &answers, &n, error);
    for (size_t i = 0; !err && i < n; i++)
        if (keep_answer(r, &answers[i]))
            err = peet_error_set(error, PEET_ENOMEM, "out of memory");
    if (!err && !(r->images = calloc(peet_recording_nimages(r->recording) + 1, sizeof *r->images)))
        err = peet_error_set(error, PEET_ENOMEM, "out of memory");
    if (!err && (!peet_recording_nstreams(r->recording) || !peet_recording_stream(r->recording, 0)))
        err = peet_error_set(error, PEET_EFORMAT,
            "%s: the trace has no contexts: the run ended before anything was kept of it", path);
    if (!err && peet_recording_ending(r->recording))
        r->ending = json_loads(peet_recording_ending(r->recording), 0, NULL);
    for (uint32_t i = 0; !err && i < peet_recording_nstreams(r->recording); i++)
        r->all_words += peet_recording_words(r->recording, i);
    return err ? err : peet__replay_read_middle(r, error);
}

struct peet_recording *peet_replay_recording(const struct peet_replay *r)
{
    return r->recording;
}

json_t *peet_replay_json(const struct peet_replay *r, uint64_t forced)
{
    return json_pack("{s:I,s:I,s:I,s:I,s:b,s:I}", "slices", (json_int_t)r->slices, "answers", (json_int_t)r->answers,
        "other_answers", (json_int_t)r->other_answers, "missing_contexts", (json_int_t)r->missing, "cut", r->cut,
        "forced", (json_int_t)forced);
}

int peet_replay_cut(const struct peet_replay *r)
{
    return r->cut;
}

/** A text that the ending has; NULL: it has none. */
static const char *ending_text(const struct peet_replay *r, const char *key)
{
    return json_string_value(json_object_get(r->ending, key));
}

const char *peet_replay_name(const struct peet_replay *r, const char *key)
{
    return json_string_value(json_object_get(json_object_get(r->ending, "names"), key));
}

int peet_replay_is_part(const struct peet_replay *r)
{
    const char *reason = ending_text(r, "reason");

    return reason && !strcmp(reason, "cut") && !json_object_get(r->ending, "of");
}

int peet_replay_signal(const struct peet_replay *r)
{
    enum { SIGNALS = 128 }; /* a status above it is of one */
    const char *reason = ending_text(r, "reason");
    const json_int_t status = json_integer_value(json_object_get(r->ending, "status"));
    const int is = reason && !strcmp(reason, "signal") && status > SIGNALS && status < 2 * SIGNALS;

    return is ? (int)status - SIGNALS : 0;
}

char *peet_replay_replaced_by(const struct peet_replay *r)
{
    const char *reason = ending_text(r, "reason"), *program = ending_text(r, "program");

    return reason && program && !strcmp(reason, "exec") ? strdup(program) : NULL;
}

const struct peet_error *peet_replay_error(const struct peet_replay *r)
{
    return &r->error;
}

/* --------------------------------------------------------------------------------------- contexts */

static int go_to(struct peet_replay *r, struct peet_source_context *c, uint32_t context, uint32_t stream)
{
    struct peet_tape *tape = c->tape;
    const struct peet_stream_info *info = peet_recording_stream(r->recording, stream);
    const struct peet_replay_begun *begun = peet__replay_begun(r, stream);

    peet_slices_close(tape->slices);
    tape->slices = NULL;
    tape->stream = stream;
    tape->threads = begun ? begun->threads : 0;
    tape->forks = begun ? begun->forks : 0;
    tape->again = begun && begun->nagain ? begun->again : NULL;
    tape->fs_base = info ? info->fs_base : 0;
    if (c->decode) {
        peet_decode_state_reset(c->decode, context, tape->fs_base);
        if (peet__replay_place(r, c, &r->error))
            return r->error.code;
    }
    return peet_slices_open(r->recording, stream, &tape->slices, &r->error);
}

int peet__replay_place(struct peet_replay *r, struct peet_source_context *c, struct peet_error *error)
{
    struct peet_recorded_state state;
    uint64_t *words;
    size_t n;
    int err;

    if (c->tape->stream == PEET_TAPE_NONE || !peet_recording_nstates(r->recording, c->tape->stream))
        return 0;
    err = peet_recording_state(r->recording, c->tape->stream, 0, &state, &words, &n, error);
    if (err)
        return err;
    if (!state.chunk)
        err = peet_decode_state_restore(c->decode, words, n, error);
    free(words);
    return err;
}

int peet__replay_begin(struct peet_replay *r, struct peet_source_context *c, size_t index, struct peet_error *error)
{
    c->tape = calloc(1, sizeof *c->tape);
    if (!c->tape)
        return peet_error_set(error, PEET_ENOMEM, "out of memory");
    c->tape->stream = PEET_TAPE_NONE;
    return go_to(r, c, 0, r->begun[r->of_context[index]].stream);
}

uint64_t peet__replay_goes_on(struct peet_replay *r, const struct peet_source_context *c)
{
    (void)r;
    return c->tape && c->tape->slices ? peet_slices_cycle(c->tape->slices) : UINT64_MAX;
}

int peet__replay_context(struct peet_replay *r, struct peet_source_context *c, struct peet_source_context *creator,
    int worker, struct peet_error *error)
{
    struct peet_tape *tape = calloc(1, sizeof *tape), *made_by = creator ? creator->tape : NULL;
    const struct peet_replay_begun *begun;
    uint32_t stream = 0;

    if (!tape)
        return peet_error_set(error, PEET_ENOMEM, "out of memory");
    *tape = (struct peet_tape){.stream = PEET_TAPE_NONE, .worker = worker};
    c->tape = tape;
    if (worker) {
        tape->carrier = made_by ? made_by->stream : PEET_TAPE_NONE;
        tape->fork = made_by ? made_by->forks - 1 : 0;
        return 0;
    }
    if (made_by)
        stream = peet_recording_thread(r->recording, made_by->stream, made_by->threads++);
    else if (creator)
        stream = peet_recording_thread(r->recording, 0, UINT64_MAX - r->strays++);
    if (stream == PEET_TAPE_NONE) { /* made after the end of what was recorded: it does nothing */
        r->missing++;
        r->cut = 1;
        tape->fs_base = 0;
        return 0;
    }
    begun = peet__replay_begun(r, stream);
    return begun && begun->there ? PEET_ENOTFOUND : go_to(r, c, 0, stream);
}

static int ends_with(const struct peet_source_context *c, unsigned type, unsigned nargs)
{
    return c->end - c->cursor > nargs && c->end[-(ptrdiff_t)nargs - 1] == PEET_RAW_ABSTRACT(type, nargs);
}

/** A slice that the recording does not have. */
static unsigned give(struct peet_source_context *c, unsigned why, const uint64_t *words, size_t n)
{
    if (n)
        memcpy(c->ring->words, words, n * sizeof *words);
    c->cursor = c->ring->words;
    c->end = c->cursor + n;
    return why;
}

/** The worker knows which iteration is next.  Returns: 1: its stream is there */
static int begin_iteration(struct peet_replay *r, struct peet_source_context *c, uint32_t context, uint64_t iteration)
{
    const uint32_t stream = peet_recording_iteration(r->recording, c->tape->carrier, c->tape->fork, iteration);

    if (stream == PEET_TAPE_NONE) {
        r->missing++;
        r->cut = 1;
        return 0;
    }
    c->tape->iteration = iteration;
    return !go_to(r, c, context, stream);
}

static unsigned resume_worker(struct peet_replay *r, struct peet_source_context *c, uint32_t context, uint64_t result,
    int *out_done)
{
    const uint64_t ask[] = {PEET_RAW_ABSTRACT(PEET_ABSTRACT_DOALL_START, 1), PEET__NO_ITERATION};
    const uint64_t nothing[] = {PEET_RAW_ABSTRACT(PEET_ABSTRACT_DOALL_FINISH, 1), result,
        PEET_RAW_ABSTRACT(PEET_ABSTRACT_DOALL_START, 1), result};
    struct peet_tape *tape = c->tape;

    *out_done = 1;
    if (!tape->asking) {
        if (tape->stream != PEET_TAPE_NONE) {
            *out_done = 0;
            return 0;
        }
        tape->asking = 1;
        return give(c, PEET_SLICE_EVENT, ask, 2);
    }
    if (result == PEET__NO_ITERATION)
        return give(c, PEET_SLICE_DONE, NULL, 0);
    if (!begin_iteration(r, c, context, result))
        return give(c, PEET_SLICE_EVENT, nothing, 4);
    tape->asking = 0;
    *out_done = 0;
    return 0;
}

/** The stream has no more slices: the context is over, and an iteration is finished. */
static unsigned give_end(struct peet_replay *r, struct peet_source_context *c)
{
    struct peet_tape *tape = c->tape;
    const uint64_t finish[] = {PEET_RAW_ABSTRACT(PEET_ABSTRACT_DOALL_FINISH, 1), tape->iteration,
        PEET_RAW_ABSTRACT(PEET_ABSTRACT_DOALL_START, 1), tape->iteration};

    r->cut = 1;
    if (!tape->worker || r->error.code)
        return give(c, PEET_SLICE_DONE, NULL, 0);
    tape->asking = 1;
    return give(c, PEET_SLICE_EVENT, finish, 4);
}

/** Room in the ring for a slice with many notes. */
static uint64_t *room_for(struct peet_source_context *c, size_t n)
{
    struct peet_source_ring *ring = c->ring;
    uint64_t *more;

    if (n + PEET_DECODE_ROOM_WORDS <= sizeof ring->words / sizeof *ring->words)
        return ring->words;
    if (ring->merged_room < n + PEET_DECODE_ROOM_WORDS) {
        more = malloc((n + PEET_DECODE_ROOM_WORDS) * sizeof *more);
        if (!more)
            return NULL;
        free(ring->merged);
        ring->merged = more;
        ring->merged_room = n + PEET_DECODE_ROOM_WORDS;
    }
    return ring->merged;
}

unsigned peet__replay_resume(struct peet_replay *r, struct peet_source_context *c, uint32_t context, uint64_t result)
{
    struct peet_tape *tape = c->tape;
    struct peet_slice slice;
    uint64_t *words;
    unsigned why;
    int got = 0, done = 0;

    if (tape->worker) {
        why = resume_worker(r, c, context, result, &done);
        if (done)
            return why;
    }
    if (tape->again && !r->error.code) {
        const uint64_t *again = tape->again;

        tape->again = NULL;
        tape->answered = 1;
        tape->forks += again[2] == PEET_ABSTRACT_DOALL_FORK;
        return give(c, PEET_SLICE_EVENT, again, 1 + PEET_RAW_NARGS(*again));
    }
    if (tape->slices && !r->error.code)
        got = peet_slices_next(tape->slices, &slice, &r->error);
    if (got <= 0)
        return give_end(r, c);
    words = room_for(c, slice.n);
    if (!words) {
        peet_error_set(&r->error, PEET_ENOMEM, "out of memory for a slice of the trace");
        return give(c, PEET_SLICE_DONE, NULL, 0);
    }
    if (tape->answered) {
        r->answers++;
        r->other_answers += slice.why != PEET_SLICE_CRASHED && slice.result != result;
    }
    r->slices++;
    r->words += slice.n;
    peet_host_progress(r->words, r->all_words);
    memcpy(words, slice.words, slice.n * sizeof *words);
    c->cursor = words;
    c->end = words + slice.n;
    if (slice.why == PEET_SLICE_CRASHED) {
        tape->expected = slice.result;
        r->cut |= !slice.result;
    }
    tape->answered = slice.why == PEET_SLICE_EVENT;
    tape->forks += slice.why == PEET_SLICE_EVENT && ends_with(c, PEET_ABSTRACT_DOALL_FORK, 6);
    tape->asking = slice.why == PEET_SLICE_EVENT && tape->worker && ends_with(c, PEET_ABSTRACT_DOALL_START, 1);
    return slice.why;
}

void peet__replay_over(struct peet_source_context *c)
{
    if (c->tape)
        peet_slices_close(c->tape->slices);
}
