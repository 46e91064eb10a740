/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a state of the decoder is kept in a file, so that decoding can begin in the middle of a stream.
 *
 * A kept state is a sequence of words: {frames, activation, activation...}: how many frames of interrupted functions there are, the
 * present activation, and the frames, the outermost first.  An activation is {function's run-time address, a path's word, or 0; last,
 * tail, turns left of the loop, registers and thread pointer}.
 */
#include "decode/state.h"

#include <stdlib.h>
#include <string.h>

enum { ACTIVATION_WORDS = 4 + PEET__FS + 1, FRAMES_MAX = 4096 };

/** By what a function can be found again. */
static uint64_t place_of(const struct peet__function *f)
{
    return f->path_word ? f->path_word : f->pub.runtime_pc;
}

/** The function whose code begins at a run-time address, or whose path has that word; or NULL. */
static struct peet__function *function_at(struct peet_program *p, uint64_t place)
{
    const struct peet_function *f = peet_program_function_of_pc(p, place);
    struct peet__function *found;
    uint32_t segment;

    if (f && f->runtime_pc == place)
        return p->functions[f->id];
    return peet__program_place(p, place, &found, &segment) && place_of(found) == place ? found : NULL;
}

/** Returns: whether it can be found again */
static int save(struct peet_program *p, uint64_t *out, struct peet__function *function, int32_t last, int32_t tail,
    uint64_t loop_left, const uint64_t *regs, uint64_t fs_base)
{
    if (function && function_at(p, place_of(function)) != function)
        return 0;
    out[0] = function ? place_of(function) : 0;
    out[1] = (uint64_t)(int64_t)last;
    out[2] = (uint64_t)(int64_t)tail;
    out[3] = loop_left;
    memcpy(out + 4, regs, PEET__FS * sizeof *regs);
    out[4 + PEET__FS] = fs_base;
    return 1;
}

size_t peet_decode_state_save(const struct peet_decode_state *s, uint64_t *words, size_t room)
{
    const size_t n = 1 + (size_t)(s->nframes + 1) * ACTIVATION_WORDS;
    const uint64_t fs_base = s->regs[PEET__FS];

    if (n > room || s->nframes > FRAMES_MAX)
        return 0;
    words[0] = s->nframes;
    if (!save(s->program, words + 1, s->function, s->last, s->tail, s->loop_left, s->regs, fs_base))
        return 0;
    for (unsigned i = 0; i < s->nframes; i++) {
        const struct frame *f = &s->frames[i];

        if (!save(s->program, words + 1 + (size_t)(i + 1) * ACTIVATION_WORDS, f->function, f->last, f->tail,
                f->loop_left, f->regs, fs_base))
            return 0;
    }
    return n;
}

/** An activation's function and blocks.  Returns: whether the program has them */
static int known(struct peet_program *p, const uint64_t *in, struct peet__function **out_function)
{
    const int64_t last = (int64_t)in[1], tail = (int64_t)in[2];
    struct peet__function *f = NULL;

    if (in[0] != 0 && !(f = function_at(p, in[0])) &&
        (!p->rescan || p->rescan(p->rescan_arg, p, in[0]) <= 0 || !(f = function_at(p, in[0]))))
        return 0;
    *out_function = f;
    if (!f)
        return last == -1 && tail == -1 && in[3] == 0;
    if (last < -1 || tail < -1 || last >= (int64_t)f->nall || tail >= (int64_t)f->nsegments)
        return 0;
    if (tail >= 0 && last < 0) /* what the next word says is measured by the last block */
        return 0;
    return in[3] == 0 || (last >= 0 && f->code[last].loop);
}

int peet_decode_state_restore(struct peet_decode_state *s, const uint64_t *words, size_t n, struct peet_error *error)
{
    struct peet__function *f;

    if (n < 1 + ACTIVATION_WORDS || words[0] > FRAMES_MAX || n != 1 + (size_t)(words[0] + 1) * ACTIVATION_WORDS)
        return peet_error_set(error, PEET_EFORMAT, "a state of the decoder of an impossible size");
    for (size_t i = 0; i <= words[0]; i++)
        if (!known(s->program, words + 1 + i * ACTIVATION_WORDS, &f))
            return peet_error_set(error, PEET_EFORMAT, "a state of the decoder that the program does not have");
    if (s->cframes < words[0]) {
        struct frame *more = realloc(s->frames, words[0] * sizeof *more);

        if (!more)
            return peet_error_set(error, PEET_ENOMEM, "out of memory");
        s->frames = more;
        s->cframes = (unsigned)words[0];
    }
    s->nframes = (unsigned)words[0];
    s->waiting = NULL;
    for (size_t i = 0; i <= words[0]; i++) {
        const uint64_t *in = words + 1 + i * ACTIVATION_WORDS;

        known(s->program, in, &f);
        if (i == 0) {
            s->function = f, s->last = (int32_t)(int64_t)in[1], s->tail = (int32_t)(int64_t)in[2], s->loop_left = in[3];
            memcpy(s->regs, in + 4, (PEET__FS + 1) * sizeof *s->regs);
        } else {
            struct frame *frame = &s->frames[i - 1];

            frame->function = f, frame->last = (int32_t)(int64_t)in[1], frame->tail = (int32_t)(int64_t)in[2];
            frame->loop_left = in[3];
            memcpy(frame->regs, in + 4, sizeof frame->regs);
        }
    }
    return 0;
}

const uint64_t *peet_decode_but_last(struct peet_decode_state *s, const uint64_t *cursor, const uint64_t *end)
{
    uint64_t words[PEET_DECODE_STATE_WORDS];
    const size_t n = peet_decode_state_save(s, words, PEET_DECODE_STATE_WORDS);
    const uint64_t *last = cursor;
    struct peet_event event;

    if (!n)
        return end;
    while (cursor != end) {
        const uint64_t *const before = cursor;

        if (peet_decode_next(s, &cursor, end, 0, &event, NULL) <= PEET_EVENT_NEED_WORDS) {
            last = before; /* it is cut */
            break;
        }
        last = cursor != before ? before : last;
    }
    peet_decode_state_restore(s, words, n, NULL);
    return last;
}

uint64_t peet_decode_loop_value(const struct peet_decode_state *s)
{
    return s->regs[s->function->code[s->last].loop_reg];
}

void peet_decode_state_until(uint64_t *words, const struct peet_decode_state *later)
{
    words[1 + 3] -= later->loop_left;
}
