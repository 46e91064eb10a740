/* SPDX-License-Identifier: Apache-2.0 */
/* Streams of instructions become blocks and words; see code.h.  code_reader.c reads what is written here. */
#include "trace/code.h"
#include "trace/code_parts.h"

#include <peet/raw.h>

#include <stdlib.h>
#include <string.h>
#include <uthash.h>

enum { SLICE_WORDS = 16 * 1024 };

/** A block that has been written.  Equal descriptions are one block. */
struct known {
    UT_hash_handle hh;
    uint64_t word;
    size_t n;
    uint8_t bytes[];
};

/** A stream, and the block that it is in. */
struct stream {
    struct peet_traced_insn pending; /* its length may only be known with the next one */
    struct peet_traced_ref refs[PEET__CODE_REFS_MAX];
    unsigned npending_refs;
    int has_pending;
    struct peet__bytes text; /* the block's instructions */
    uint64_t pc, next;
    unsigned ninsns, nrefs;
    uint64_t values[PEET__CODE_BLOCK_REFS];
    uint64_t *words; /* of the slice */
    size_t n, room;
    uint64_t instructions, before; /* so far; at the slice's beginning */
};

struct peet_code_writer {
    struct peet_recorder *recorder;
    struct known *known;
    uint64_t nblocks;
    struct stream **streams;
    uint32_t nstreams;
    struct peet__bytes key, code; /* code: blocks that go to the file before the next slice */
};

int peet_code_writer_new(struct peet_recorder *recorder, struct peet_code_writer **out_writer)
{
    *out_writer = calloc(1, sizeof **out_writer);
    if (!*out_writer)
        return PEET_ENOMEM;
    (*out_writer)->recorder = recorder;
    return 0;
}

static void stream_free(struct stream *s)
{
    if (!s)
        return;
    peet__bytes_fini(&s->text);
    free(s->words);
    free(s);
}

void peet_code_writer_free(struct peet_code_writer *w)
{
    struct known *k, *more;

    if (!w)
        return;
    HASH_ITER(hh, w->known, k, more)
    {
        HASH_DEL(w->known, k);
        free(k);
    }
    for (uint32_t i = 0; i < w->nstreams; i++)
        stream_free(w->streams[i]);
    free(w->streams);
    peet__bytes_fini(&w->key);
    peet__bytes_fini(&w->code);
    free(w);
}

static int begin(struct peet_code_writer *w, const struct peet_stream_info *info, uint32_t *out_stream)
{
    struct stream **more = realloc(w->streams, (w->nstreams + 1u) * sizeof *more);

    if (!more)
        return PEET_ENOMEM;
    w->streams = more;
    more[w->nstreams] = calloc(1, sizeof **more);
    if (!more[w->nstreams])
        return PEET_ENOMEM;
    w->nstreams++;
    return peet_recorder_stream(w->recorder, info, out_stream);
}

/* ------------------------------------------------------------------------------------------ words */

static int end_slice(struct peet_code_writer *w, uint32_t stream, unsigned why)
{
    struct stream *s = w->streams[stream];
    const struct peet_slice slice = {.why = why, .words = s->words, .n = s->n};
    int err = w->code.n ? peet_recorder_code(w->recorder, w->code.at, w->code.n) : 0;

    w->code.n = 0;
    if (!err)
        err = peet_recorder_slice(w->recorder, stream, &slice, s->before);
    s->n = 0;
    s->before = s->instructions;
    return err;
}

static int add_words(struct stream *s, const uint64_t *words, size_t n)
{
    if (s->room < s->n + n) {
        size_t room = s->room ? 2 * s->room : 256;
        uint64_t *more;

        while (room < s->n + n)
            room *= 2;
        if (!(more = realloc(s->words, room * sizeof *more)))
            return PEET_ENOMEM;
        s->words = more;
        s->room = room;
    }
    if (n)
        memcpy(s->words + s->n, words, n * sizeof *words);
    s->n += n;
    return 0;
}

/* ----------------------------------------------------------------------------------------- blocks */

/** The number of the block with this description, which is written if it is new. */
static int word_of(struct peet_code_writer *w, const struct stream *s, uint64_t *out_word)
{
    struct known *k;

    w->key.n = 0;
    if (peet__bytes_number(&w->key, s->pc) || peet__bytes_number(&w->key, s->ninsns) ||
        peet__bytes_add(&w->key, s->text.at, s->text.n))
        return PEET_ENOMEM;
    HASH_FIND(hh, w->known, w->key.at, w->key.n, k);
    if (!k) {
        if (!(k = malloc(sizeof *k + w->key.n)))
            return PEET_ENOMEM;
        k->word = PEET__CODE_WORD(w->nblocks++);
        k->n = w->key.n;
        memcpy(k->bytes, w->key.at, k->n);
        HASH_ADD_KEYPTR(hh, w->known, k->bytes, k->n, k);
        *out_word = k->word;
        return peet__bytes_add(&w->code, k->bytes, k->n);
    }
    *out_word = k->word;
    return 0;
}

static int end_block(struct peet_code_writer *w, uint32_t stream)
{
    struct stream *s = w->streams[stream];
    uint64_t word;
    int err;

    if (!s->ninsns)
        return 0;
    err = word_of(w, s, &word);
    if (err || (err = add_words(s, &word, 1)) || (err = add_words(s, s->values, s->nrefs)))
        return err;
    s->instructions += s->ninsns;
    s->ninsns = s->nrefs = 0;
    s->text.n = 0;
    return s->n >= SLICE_WORDS ? end_slice(w, stream, PEET_SLICE_FULL) : 0;
}

static int add_registers(struct peet__bytes *to, const uint8_t *regs, unsigned n)
{
    uint8_t few[1 + PEET_TRACED_REGS];

    n = n < PEET_TRACED_REGS ? n : PEET_TRACED_REGS;
    few[0] = (uint8_t)n;
    for (unsigned i = 0; i < n; i++)
        /* other tools number them in other ways; what matters is which are the same */
        few[1 + i] = regs[i] % PEET_REGS;
    return peet__bytes_add(to, few, 1 + n);
}

/** The instruction that waited belongs to the block. */
static int settle(struct peet_code_writer *w, uint32_t stream)
{
    struct stream *s = w->streams[stream];
    const struct peet_traced_insn *i = &s->pending;
    const uint8_t head[] = {i->length, i->branch};
    int err = 0;

    if (!s->has_pending)
        return 0;
    if (s->ninsns &&
        (i->pc != s->next || s->ninsns == PEET__CODE_INSNS_MAX || s->nrefs + s->npending_refs > PEET__CODE_BLOCK_REFS))
        err = end_block(w, stream);
    if (err)
        return err;
    if (!s->ninsns)
        s->pc = i->pc;
    if (peet__bytes_add(&s->text, head, sizeof head) || add_registers(&s->text, i->reads, i->nreads) ||
        add_registers(&s->text, i->writes, i->nwrites) || peet__bytes_number(&s->text, s->npending_refs))
        return PEET_ENOMEM;
    for (unsigned k = 0; k < s->npending_refs; k++) {
        if (peet__bytes_number(&s->text, (uint64_t)s->refs[k].size << 2 | (s->refs[k].kind & 3)))
            return PEET_ENOMEM;
        s->values[s->nrefs++] = s->refs[k].address;
    }
    s->ninsns++;
    s->next = i->pc + i->length;
    s->has_pending = 0;
    s->npending_refs = 0;
    return i->branch ? end_block(w, stream) : 0;
}

static void add_refs(struct stream *s, const struct peet_traced_insn *insn)
{
    for (unsigned i = 0; i < insn->nrefs && s->npending_refs < PEET__CODE_REFS_MAX; i++)
        s->refs[s->npending_refs++] = insn->refs[i];
}

/** An instruction reaches to the next one, which begins so far away.  One that has jumped does not end there, however
 * near. */
static uint8_t length_of(const struct peet_traced_insn *insn, uint64_t distance)
{
    if (insn->branch && insn->taken)
        return distance == PEET__CODE_LENGTH ? PEET__CODE_LENGTH / 2 : PEET__CODE_LENGTH;
    return distance >= 1 && distance <= PEET__CODE_LENGTH_MAX ? (uint8_t)distance : PEET__CODE_LENGTH;
}

int peet_code_insn(struct peet_code_writer *w, uint32_t stream, const struct peet_traced_insn *insn)
{
    struct stream *s = w->streams[stream];
    int err;

    if (insn->again && s->has_pending && s->npending_refs + insn->nrefs <= PEET__CODE_REFS_MAX) {
        add_refs(s, insn);
        return 0;
    }
    if (s->has_pending && !s->pending.length && !insn->again)
        s->pending.length = length_of(&s->pending, insn->pc - s->pending.pc);
    err = settle(w, stream);
    s->pending = *insn;
    s->has_pending = 1;
    add_refs(s, insn);
    return err;
}

static int all_of_block(struct peet_code_writer *w, uint32_t stream)
{
    struct stream *s = w->streams[stream];
    int err;

    if (s->has_pending && !s->pending.length)
        s->pending.length = PEET__CODE_LENGTH;
    err = settle(w, stream);
    return err ? err : end_block(w, stream);
}

int peet_code_event(struct peet_code_writer *w, uint32_t stream, unsigned type, unsigned nargs, const uint64_t *args)
{
    const uint64_t head = PEET_RAW_ABSTRACT(type, nargs);
    int err = all_of_block(w, stream);

    if (err || (err = add_words(w->streams[stream], &head, 1)) || (err = add_words(w->streams[stream], args, nargs)))
        return err;
    return end_slice(w, stream, PEET_SLICE_EVENT);
}

int peet_code_end(struct peet_code_writer *w, uint32_t stream)
{
    static const uint64_t all[] = {PEET_NEVER, PEET_NEVER}, status[] = {0};
    int err = all_of_block(w, stream);

    if (!err && !stream && w->nstreams > 1)
        err = peet_code_event(w, 0, PEET_ABSTRACT_THREAD_JOIN, 2, all);
    if (!err && !stream)
        err = peet_code_event(w, 0, PEET_ABSTRACT_PROGRAM_EXIT, 1, status);
    if (!err)
        err = end_slice(w, stream, PEET_SLICE_DONE);
    if (!err)
        err = peet_recorder_end(w->recorder, stream);
    stream_free(w->streams[stream]);
    w->streams[stream] = NULL;
    return err;
}

/* ------------------------------------------------------------------------------------------- sets */

int peet_code_thread(struct peet_code_writer *w)
{
    static const uint64_t detached[6] = {[4] = 1};
    const struct peet_stream_info info = {
        .kind = PEET_STREAM_THREAD, .ordinal = w->nstreams - 1, .context = w->nstreams};
    uint32_t stream;
    int err = peet_code_event(w, 0, PEET_ABSTRACT_THREAD_CREATE, 6, detached);

    return err ? err : begin(w, &info, &stream);
}

int peet_code_main(struct peet_code_writer *w, uint32_t nstreams)
{
    const struct peet_stream_info info = {.kind = PEET_STREAM_MAIN};
    uint32_t stream;
    int err = begin(w, &info, &stream);

    while (!err && w->nstreams < nstreams)
        err = peet_code_thread(w);
    return err;
}
