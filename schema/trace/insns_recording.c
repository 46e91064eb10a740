/* SPDX-License-Identifier: Apache-2.0 */
/* A stream of a recording as instructions; see insns.h. */
#include "decode/decode.h"
#include "trace/insns.h"
#include "trace/recording.h"

#include <peet/counting.h>
#include <peet/raw.h>

#include <stdlib.h>
#include <string.h>

struct peet_stream_insns {
    struct peet_recording *recording;
    uint32_t stream;
    struct peet_program *program;
    struct peet_slices *slices;
    struct peet_decode_state *state;
    uint64_t *words; /* of the slice, with the room that the decoder wants */
    size_t room;
    const uint64_t *cursor, *end;
    /* the block that is given, instruction by instruction */
    const struct peet_block *block;
    uint64_t *values;
    size_t nvalues_room;
    uint32_t insn, ref;
    struct peet_ref_iter it;
    int inside; /* of a reference: it has more */
    int again;
    struct peet_traced_insn held; /* a branch: where it went is known with the next block */
    int has_held;
    uint64_t held_end;
    const struct peet_function *function, *held_function;
    struct peet_abstract_event event;
    uint64_t args[64];
    uint64_t cycle;             /* of the present slice, */
    uint64_t began, held_began; /* of what was given last, of what is held */
    int looked_ahead;           /* a peet_err that it met */
    uint64_t position, rounds;  /* what the last instruction counts beyond one: rounds of a rep */
};

/** Go on from the i-th state of the stream.  Without it nothing has changed. */
static int go_to_state(struct peet_stream_insns *s, size_t i, struct peet_error *error)
{
    struct peet_recorded_state state;
    uint64_t *words;
    size_t n;
    int err = peet_recording_state(s->recording, s->stream, i, &state, &words, &n, error);

    if (err)
        return err;
    err = peet_decode_state_restore(s->state, words, n, error);
    free(words);
    if (err)
        return err;
    peet_slices_seek(s->slices, state.chunk);
    s->position = state.instructions;
    return 0;
}

/** A piece of a trace begins with a state. */
static int begin(struct peet_stream_insns *s, struct peet_error *error)
{
    struct peet_recorded_state state;
    uint64_t *words;
    size_t n;
    int err = 0;

    if (peet_recording_nstates(s->recording, s->stream)) {
        err = peet_recording_state(s->recording, s->stream, 0, &state, &words, &n, error);
        if (!err) {
            free(words);
            err = state.chunk ? 0 : go_to_state(s, 0, error);
        }
    }
    return err;
}

int peet_stream_insns_open(struct peet_recording *recording, struct peet_program *program, uint32_t stream,
    struct peet_stream_insns **out_insns, struct peet_error *error)
{
    const struct peet_stream_info *info = peet_recording_stream(recording, stream);
    struct peet_stream_insns *s = calloc(1, sizeof *s);
    int err;

    *out_insns = NULL;
    if (!s)
        return peet_error_set(error, PEET_ENOMEM, "out of memory");
    s->recording = recording;
    s->stream = stream;
    s->program = program;
    err = peet_slices_open(recording, stream, &s->slices, error);
    if (!err && peet_decode_state_new(program, stream, info ? info->fs_base : 0, &s->state))
        err = peet_error_set(error, PEET_ENOMEM, "out of memory");
    if (!err)
        err = begin(s, error);
    if (err) {
        peet_stream_insns_close(s);
        return err;
    }
    *out_insns = s;
    return 0;
}

void peet_stream_insns_close(struct peet_stream_insns *s)
{
    if (!s)
        return;
    peet_slices_close(s->slices);
    peet_decode_state_free(s->state);
    free(s->words);
    free(s->values);
    free(s);
}

/** Goes to the last kept state that is not after @place: in instructions, or, by the beginning of its chunk, in cycles. */
static int go_before(struct peet_stream_insns *s, int in_cycles, uint64_t place, struct peet_error *error)
{
    size_t n = peet_recording_nstates(s->recording, s->stream), lo = 0;

    while (lo < n) {
        const size_t mid = lo + (n - lo) / 2;
        struct peet_recorded_state state;
        uint64_t *words;
        size_t nwords;
        const int err = peet_recording_state(s->recording, s->stream, mid, &state, &words, &nwords, error);

        if (err)
            return err;
        free(words);
        if ((in_cycles ? peet_recording_chunk(s->recording, s->stream, state.chunk)->cycle : state.instructions) <=
            place)
            lo = mid + 1;
        else
            n = mid;
    }
    return lo ? go_to_state(s, lo - 1, error) : 0;
}

int peet_stream_insns_skip(struct peet_stream_insns *s, uint64_t instructions, struct peet_error *error)
{
    return go_before(s, 0, instructions, error);
}

int peet_stream_insns_skip_cycles(struct peet_stream_insns *s, uint64_t cycle, struct peet_error *error)
{
    return go_before(s, 1, cycle, error);
}

uint64_t peet_stream_insns_began(const struct peet_stream_insns *s)
{
    return s->began;
}

uint64_t peet_stream_insns_position(const struct peet_stream_insns *s)
{
    return s->position;
}

const struct peet_abstract_event *peet_stream_insns_event(const struct peet_stream_insns *s)
{
    return &s->event;
}

const struct peet_function *peet_stream_insns_function(const struct peet_stream_insns *s)
{
    return s->function;
}

static int next_slice(struct peet_stream_insns *s, struct peet_error *error);

uint64_t peet_stream_insns_cycle(struct peet_stream_insns *s)
{
    struct peet_error ignored = {0};

    if (s->cursor == s->end) /* what follows stays for the next call */
        s->looked_ahead = next_slice(s, &ignored);
    return s->cycle;
}

/** The next slice with words.  Returns: 1, 0 at the end, or a peet_err */
static int next_slice(struct peet_stream_insns *s, struct peet_error *error)
{
    struct peet_slice slice;
    uint64_t *more;
    int got;

    do {
        got = peet_slices_next(s->slices, &slice, error);
    } while (got > 0 && !slice.n);
    if (got <= 0)
        return got;
    if (s->room < slice.n + PEET_DECODE_ROOM_WORDS) {
        more = realloc(s->words, (slice.n + PEET_DECODE_ROOM_WORDS) * sizeof *more);
        if (!more)
            return peet_error_set(error, PEET_ENOMEM, "out of memory");
        s->words = more;
        s->room = slice.n + PEET_DECODE_ROOM_WORDS;
    }
    memcpy(s->words, slice.words, slice.n * sizeof *s->words);
    s->cycle = slice.cycle;
    s->cursor = s->words;
    s->end = s->words + slice.n;
    if (slice.why == PEET_SLICE_CRASHED && !slice.result)
        s->end = peet_decode_but_last(s->state, s->cursor, s->end);
    return 1;
}

static int take_block(struct peet_stream_insns *s, const struct peet_block *block, const uint64_t *values,
    struct peet_error *error)
{
    if (s->nvalues_room < block->nvalues) {
        uint64_t *more = realloc(s->values, block->nvalues * sizeof *more);

        if (!more)
            return peet_error_set(error, PEET_ENOMEM, "out of memory");
        s->values = more;
        s->nvalues_room = block->nvalues;
    }
    if (block->nvalues)
        memcpy(s->values, values, block->nvalues * sizeof *values);
    s->block = block;
    s->insn = s->ref = 0;
    s->inside = s->again = 0;
    return 0;
}

/** Returns: enum peet_event_kind, 0 at the end, or a peet_err */
static int next_event(struct peet_stream_insns *s, struct peet_error *error)
{
    struct peet_event event;
    int kind;

    if (s->looked_ahead < 0)
        return peet_error_set(error, s->looked_ahead, "the trace is damaged: peet trace check says where");
    while (s->cursor == s->end && !peet_decode_busy(s->state)) {
        kind = next_slice(s, error);
        if (kind <= 0)
            return kind;
    }
    kind = peet_decode_next(s->state, &s->cursor, s->end, 1, &event, error);
    if (kind == PEET_EVENT_NEED_WORDS) { /* only a crash cuts a record */
        s->cursor = s->end;
        return next_event(s, error);
    }
    if (kind == PEET_EVENT_BLOCK)
        return take_block(s, event.block.block, event.block.values, error) ? error->code : kind;
    if (kind != PEET_EVENT_ABSTRACT)
        return kind;
    s->event = event.abstract;
    if (s->event.nargs > sizeof s->args / sizeof *s->args)
        s->event.nargs = sizeof s->args / sizeof *s->args;
    if (s->event.nargs)
        memcpy(s->args, event.abstract.args, s->event.nargs * sizeof *s->args);
    s->event.args = s->args;
    if (s->event.type == PEET_ABSTRACT_RANGE && s->event.nargs >= 4) {
        const struct peet_block *block = peet_program_synthetic(s->program, (unsigned)s->args[0]);
        uint64_t values[8];

        if (!block)
            return peet_error_set(error, PEET_ESTREAM, "a library operation of an unknown kind");
        peet_synthetic_values((unsigned)s->args[0], s->args[1], s->args[2], s->args[3], values);
        return take_block(s, block, values, error) ? error->code : PEET_EVENT_BLOCK;
    }
    return kind;
}

static unsigned branch_of(const struct peet_insn *insn)
{
    const int indirect = (insn->flags & PEET_INSN_INDIRECT) != 0;

    switch (insn->opcode->klass) {
    case PEET_INSN_BRANCH:
        return PEET_TRACED_CONDITIONAL;
    case PEET_INSN_JUMP:
        return indirect ? PEET_TRACED_INDIRECT_JUMP : PEET_TRACED_JUMP;
    case PEET_INSN_CALL:
        return indirect ? PEET_TRACED_INDIRECT_CALL : PEET_TRACED_CALL;
    case PEET_INSN_RETURN:
        return PEET_TRACED_RETURN;
    }
    return PEET_TRACED_NONE;
}

/** References of the instruction, as many as there is room for.  Returns: whether there are more */
static int add_refs(struct peet_stream_insns *s, const struct peet_insn *insn, struct peet_traced_insn *out)
{
    static const uint8_t kinds[] = {PEET_TRACED_LOAD, PEET_TRACED_STORE, PEET_TRACED_MODIFY, PEET_TRACED_PREFETCH};

    for (; s->ref < insn->nrefs; s->ref++) {
        const struct peet_ref *ref = &s->block->refs[insn->first_ref + s->ref];

        if (!s->inside)
            s->it = peet_ref_begin(ref, s->values);
        for (s->inside = 1; s->it.count; s->it.count--, s->it.address += (uint64_t)s->it.step) {
            if (out->nrefs == PEET_TRACED_REFS)
                return 1;
            out->refs[out->nrefs++] = (struct peet_traced_ref){s->it.address, ref->size_bytes, kinds[ref->kind & 3]};
        }
        s->inside = 0;
    }
    s->ref = 0;
    return 0;
}

/** What an instruction counts beyond one, as the run counted: its number in the stream goes on by that, too. */
static uint64_t rounds_of(const struct peet_block *block, const struct peet_insn *insn, const uint64_t *values)
{
    struct peet_block alone = *block;
    struct peet_counts counts = {0, 0, 0};

    alone.refs += insn->first_ref;
    alone.nrefs = insn->nrefs;
    peet_count_dynamic(&alone, values, PEET_COUNT_CALLGRIND, &counts);
    return counts.instructions;
}

/** The next instruction of the block. */
static void give(struct peet_stream_insns *s, struct peet_traced_insn *out)
{
    const struct peet_insn *insn = &s->block->insns[s->insn];
    const unsigned nreads = insn->nreads < PEET_TRACED_REGS ? insn->nreads : PEET_TRACED_REGS;
    const unsigned nwrites = insn->nwrites < PEET_TRACED_REGS ? insn->nwrites : PEET_TRACED_REGS;

    *out = (struct peet_traced_insn){.pc = insn->pc,
        .length = insn->length_bytes,
        .branch = (uint8_t)branch_of(insn),
        .again = (uint8_t)s->again,
        .nreads = (uint8_t)nreads,
        .nwrites = (uint8_t)nwrites};
    if (nreads)
        memcpy(out->reads, insn->regs, nreads);
    if (nwrites)
        memcpy(out->writes, insn->regs + insn->nreads, nwrites);
    out->taken = out->branch && out->branch != PEET_TRACED_CONDITIONAL;
    s->rounds = s->block->flags & PEET_BLOCK_SIMPLE ? 0 : rounds_of(s->block, insn, s->values);
    s->again = add_refs(s, insn, out);
    s->insn += !s->again;
    s->function = s->block->function;
}

static int next(struct peet_stream_insns *s, struct peet_traced_insn *out, struct peet_error *error)
{
    for (;;) {
        int kind;

        while (s->block && s->insn < s->block->ninsns) {
            const int last = s->insn + 1 == s->block->ninsns;

            if (s->has_held && !s->insn && !s->again && !s->ref && !s->inside) {
                *out = s->held;
                out->target = s->block->pc;
                if (out->branch == PEET_TRACED_CONDITIONAL)
                    out->taken = s->block->pc != s->held_end;
                if (!out->taken)
                    out->target = 0;
                s->has_held = 0;
                s->began = s->held_began;
                s->function = s->held_function;
                return 1;
            }
            give(s, out);
            s->began = s->cycle;
            if (!last || s->again || !out->branch || out->again)
                return 1;
            s->held = *out;
            s->has_held = 1;
            s->held_began = s->cycle;
            s->held_end = s->block->pc + s->block->code_bytes;
            s->held_function = s->function;
        }
        kind = next_event(s, error);
        if (kind == PEET_EVENT_ABSTRACT) {
            s->began = s->cycle;
            return 2;
        }
        if (kind == PEET_EVENT_BLOCK)
            continue;
        if (kind || !s->has_held)
            return kind;
        *out = s->held;
        out->last = 1;
        s->has_held = 0;
        s->began = s->held_began;
        return 1;
    }
}

int peet_stream_insns_next(struct peet_stream_insns *s, struct peet_traced_insn *out, struct peet_error *error)
{
    const int got = next(s, out, error);

    if (got == 1 && !out->again) /* a branch, which is held back, has no rounds */
        s->position += 1 + s->rounds;
    return got;
}
