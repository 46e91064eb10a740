/* SPDX-License-Identifier: Apache-2.0 */
/* The slices of a recording's streams, chunk by chunk; see recording.h. */
#include "trace/codec.h"
#include "trace/recording_parts.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct peet_slices {
    struct peet_recording *recording;
    struct peet__codec *codec;
    uint32_t stream;
    size_t chunk; /* the next one */
    uint64_t *words;
    size_t nwords, room, at;
    uint8_t *lines; /* the slices of the chunk that is decoded */
    const uint8_t *line, *lines_end;
    uint32_t left; /* slices of it */
    uint64_t cycle;
};

int peet_slices_open(struct peet_recording *r, uint32_t stream, struct peet_slices **out_slices,
    struct peet_error *error)
{
    struct peet_slices *t = calloc(1, sizeof *t);

    *out_slices = NULL;
    if (!t)
        return peet__recording_no_memory(error);
    t->recording = r;
    t->stream = stream;
    *out_slices = t;
    return 0;
}

void peet_slices_seek(struct peet_slices *t, size_t chunk)
{
    t->chunk = chunk;
    t->left = 0;
    t->at = t->nwords;
    t->line = t->lines_end;
}

void peet_slices_close(struct peet_slices *t)
{
    if (!t)
        return;
    peet__codec_free(t->codec);
    free(t->words);
    free(t->lines);
    free(t);
}

static int decode(struct peet_slices *t, const struct chunk *c, const uint8_t *bytes, struct peet_error *error)
{
    struct peet_recording *r = t->recording;
    struct peet__chunk_head head;
    uint64_t *words;

    if (c->bytes < sizeof head)
        return peet__recording_damaged(r, c->frame, "a chunk is cut off", error);
    memcpy(&head, bytes, sizeof head);
    if ((uint64_t)head.slices_bytes + head.codes_bytes + head.literals_bytes + sizeof head != c->bytes ||
        head.words > PEET__CHUNK_WORDS_MAX)
        return peet__recording_damaged(r, c->frame, "the parts of a chunk do not fit", error);
    if (!t->codec && peet__codec_new(0, &t->codec))
        return peet__recording_no_memory(error);
    if (t->room < head.words) {
        words = realloc(t->words, ((size_t)head.words + 1) * sizeof *words);
        if (!words)
            return peet__recording_no_memory(error);
        t->words = words;
        t->room = head.words;
    }
    bytes += sizeof head;
    free(t->lines);
    t->lines = malloc(head.slices_bytes + 1u);
    if (!t->lines)
        return peet__recording_no_memory(error);
    memcpy(t->lines, bytes, head.slices_bytes);
    t->line = t->lines;
    t->lines_end = t->lines + head.slices_bytes;
    bytes += head.slices_bytes;
    if (peet__codec_decode(t->codec, bytes, head.codes_bytes, bytes + head.codes_bytes, head.literals_bytes, t->words,
            head.words))
        return peet__recording_damaged(r, c->frame, "the words of a chunk cannot be decoded", error);
    t->nwords = head.words;
    t->at = 0;
    t->left = head.slices;
    t->cycle = c->public.cycle;
    return 0;
}

/** The chunk's words and slices have all been given, and it had as many as it said. */
static int next_chunk(struct peet_slices *t, struct peet_error *error)
{
    struct peet_recording *r = t->recording;
    const struct chunk *c = &r->chunks[r->streams[t->stream].first + t->chunk];
    const uint8_t *bytes;

    if (t->at != t->nwords || t->line != t->lines_end)
        return peet__recording_damaged(r, c->frame, "a chunk has more than its slices", error);
    bytes = peet__recording_bytes(r, c->frame, c->offset, c->bytes, error);
    if (!bytes)
        return error->code;
    t->chunk++;
    return decode(t, c, bytes, error);
}

int peet_slices_next(struct peet_slices *t, struct peet_slice *out_slice, struct peet_error *error)
{
    struct peet_recording *r = t->recording;
    struct peet_error mine = {0};
    uint64_t n, cycles;
    int err;

    while (!t->left) {
        if (t->stream >= r->nstreams || t->chunk >= r->streams[t->stream].n)
            return 0;
        err = next_chunk(t, &mine);
        if (err)
            return peet_error_set(error, err, "%s", mine.message);
    }
    if (peet__take_number(&t->line, t->lines_end, &n) ||
        peet__take_number(&t->line, t->lines_end, &out_slice->result) ||
        peet__take_number(&t->line, t->lines_end, &cycles) || n >> 2 > t->nwords - t->at)
        return peet__recording_damaged(r, r->chunks[r->streams[t->stream].first + t->chunk - 1].frame,
            "a slice reaches beyond its chunk", error);
    t->left--;
    t->cycle += cycles;
    out_slice->why = (uint32_t)(n & 3);
    out_slice->cycle = t->cycle;
    out_slice->n = n >> 2;
    out_slice->words = t->words + t->at;
    t->at += n >> 2;
    return 1;
}

uint64_t peet_slices_cycle(struct peet_slices *t)
{
    struct peet_error ignored = {0};
    const uint8_t *line;
    uint64_t n, result, cycles;

    while (!t->left)
        if (t->stream >= t->recording->nstreams || t->chunk >= t->recording->streams[t->stream].n ||
            next_chunk(t, &ignored))
            return UINT64_MAX;
    line = t->line;
    if (peet__take_number(&line, t->lines_end, &n) || peet__take_number(&line, t->lines_end, &result) ||
        peet__take_number(&line, t->lines_end, &cycles))
        return UINT64_MAX;
    return t->cycle + cycles;
}

/* ----------------------------------------------------------------------------------------- states */

static int by_place(const void *a, const void *b)
{
    const struct state *x = a, *y = b;

    if (x->stream != y->stream)
        return x->stream < y->stream ? -1 : 1;
    return x->first < y->first ? -1 : x->first > y->first;
}

/** The chunk of a stream that begins with this word.  Returns: its place among the stream's, or SIZE_MAX */
static size_t chunk_at(const struct peet_recording *r, uint32_t stream, uint64_t word)
{
    const struct stream *s = &r->streams[stream];
    size_t lo = 0, hi = s->n;

    while (lo < hi) {
        const size_t mid = lo + (hi - lo) / 2;

        if (r->chunks[s->first + mid].public.first_word < word)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < s->n && r->chunks[s->first + lo].public.first_word == word ? lo : SIZE_MAX;
}

void peet__recording_sort_states(struct peet_recording *r)
{
    size_t n = 0;

    if (r->nstates)
        qsort(r->states, r->nstates, sizeof *r->states, by_place);
    for (size_t i = 0; i < r->nstates; i++) {
        const struct state one = r->states[i];

        if (one.stream >= r->nstreams || chunk_at(r, one.stream, one.first) == SIZE_MAX)
            continue;
        if (!r->streams[one.stream].nstates++)
            r->streams[one.stream].first_state = n;
        r->states[n++] = one;
    }
    r->nstates = n;
}

size_t peet_recording_nstates(const struct peet_recording *r, uint32_t stream)
{
    return stream < r->nstreams ? r->streams[stream].nstates : 0;
}

int peet_recording_state(struct peet_recording *r, uint32_t stream, size_t i, struct peet_recorded_state *out_state,
    uint64_t **out_words, size_t *out_n, struct peet_error *error)
{
    const struct state *s = &r->states[r->streams[stream].first_state + i];
    const uint8_t *bytes = peet__recording_bytes(r, s->frame, s->offset, s->bytes, error);

    if (!bytes)
        return error->code;
    *out_state = (struct peet_recorded_state){chunk_at(r, stream, s->first), s->instructions};
    *out_n = s->bytes / sizeof **out_words;
    *out_words = malloc(s->bytes + sizeof **out_words);
    if (!*out_words)
        return peet__recording_no_memory(error);
    memcpy(*out_words, bytes, s->bytes);
    return 0;
}

uint64_t peet_recording_words(const struct peet_recording *r, uint32_t stream)
{
    const struct stream *s = &r->streams[stream];
    const struct chunk *last = s->n ? &r->chunks[s->first + s->n - 1] : NULL;
    struct peet__chunk_head head = {0};
    struct peet_error ignored = {0};
    const uint8_t *bytes = last
        ? peet__recording_bytes((struct peet_recording *)(uintptr_t)r, last->frame, last->offset, last->bytes, &ignored)
        : NULL;

    if (!bytes || last->bytes < sizeof head)
        return last ? last->public.first_word : 0;
    memcpy(&head, bytes, sizeof head);
    return last->public.first_word + head.words;
}

/** Of a trace without an index: does it end with a piece of a frame, as a kill leaves it, or does more follow that is none? */
static int check_end(struct peet_recording *r, struct peet_error *error)
{
    uint32_t head[PEET__FRAME_HEAD_BYTES / 4], entries;
    uint64_t end;
    uint8_t *raw = NULL;
    size_t n;

    if (r->complete || r->bytes - r->end < sizeof head)
        return 0;
    if (pread(r->fd, head, sizeof head, (off_t)r->end) != (ssize_t)sizeof head)
        return peet__recording_damaged(r, r->end, "it cannot be read", error);
    if ((head[0] == PEET__FRAME || head[0] == PEET__INDEX) && head[1] == 16 &&
        head[2] > r->bytes - r->end - sizeof head)
        return 0;
    const int err = peet__recording_frame(r, r->end, head[0] == PEET__INDEX ? PEET__INDEX : PEET__FRAME, &raw, &n,
        &entries, &end, error);
    free(raw);
    if (err || head[0] == PEET__INDEX)
        return err;
    return peet__recording_damaged(r, r->end, "a frame with more entries than it has room for", error);
}

int peet_recording_check(struct peet_recording *r, struct peet_error *error)
{
    const uint64_t *words;
    const struct peet_recorded_answer *answers;
    struct peet_slice slice;
    uint64_t at = PEET__HEAD_BYTES, end, expected;
    size_t n;
    int err = peet_recording_early(r, &words, &n, error);

    if (!err)
        err = peet_recording_answers(r, &answers, &n, error);
    while (!err && at < r->end) {
        uint8_t *raw = NULL;
        uint32_t entries;

        err = peet__recording_frame(r, at, PEET__FRAME, &raw, &n, &entries, &end, error);
        free(raw);
        at = err ? at : end;
    }
    if (!err)
        err = check_end(r, error);
    for (size_t i = 0; i < r->nimages && !err; i++) {
        uint8_t *bytes = NULL;

        err = peet_recording_load_image(r, i, &bytes, &n, error);
        free(bytes);
    }
    for (uint32_t s = 0; s < r->nstreams && !err; s++) {
        struct peet_slices *t;

        expected = 0;
        err = peet_slices_open(r, s, &t, error);
        while (!err && (err = peet_slices_next(t, &slice, error)) > 0) {
            if (t->at == slice.n && peet_recording_chunk(r, s, t->chunk - 1)->first_word != expected)
                err = peet__recording_damaged(r, r->chunks[r->streams[s].first + t->chunk - 1].frame,
                    "words of a context are missing", error);
            else
                err = 0;
            expected += slice.n;
        }
        peet_slices_close(t);
    }
    return err;
}
