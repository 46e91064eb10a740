/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A recording: what the contexts of a run have written, kept in one file (docs/TRACES.md has the format byte by byte).
 * The host writes one while a program runs (mapper/host/record.c); replay, `peet trace` and `peet compare` read it.
 *
 * A recording consists of *streams*, one for each software context (each thread, each iteration of a doall loop).  A
 * stream is a sequence of *slices*: what the context wrote between two moments at which the simulator looked at it, and
 * what the abstract event before it had returned.  Slices gather in *chunks* that can be decoded by themselves; chunks
 * go to the file in zstd frames.  An index at the end says which frame holds which chunk; without it, after a kill, the
 * reader finds the frames one by one.
 *
 * Nothing here knows the simulator: streams are numbers, words are words.
 */
#ifndef PEET_TRACE_RECORDING_H
#define PEET_TRACE_RECORDING_H

#include <stddef.h>
#include <stdint.h>
#include <peet/error.h>

enum { PEET_RECORDING_VERSION = 4 };

enum peet_stream_kind {
    PEET_STREAM_MAIN,
    PEET_STREAM_THREAD,    /* made by the `ordinal`-th THREAD_CREATE of its parent that made one */
    PEET_STREAM_ITERATION, /* iteration `iteration` of the `ordinal`-th doall of its parent */
    PEET_STREAM_KINDS
};

/** What a stream is, from its first moment on. */
struct peet_stream_info {
    uint64_t kind;            /* enum peet_stream_kind */
    uint64_t parent, ordinal; /* the stream that made it, and which of those it made: from 0 */
    uint64_t iteration;
    uint64_t fs_base;            /* thread pointer */
    uint64_t stack_lo, stack_hi; /* [lo, hi) */
    uint64_t context;            /* number of the software context, as observers saw it */
    uint64_t function, argument; /* what it was called with */
};

/** Why a slice ended; the values are those of enum peet_yield, and CRASHED. */
enum peet_slice_why { PEET_SLICE_FULL, PEET_SLICE_EVENT, PEET_SLICE_DONE, PEET_SLICE_CRASHED, PEET_SLICE_WHYS };

struct peet_slice {
    uint32_t why;    /* enum peet_slice_why */
    uint64_t result; /* what the event before it returned; CRASHED: the exit status, 0: unknown (peet record), and
                      * the last record need not be whole */
    uint64_t cycle;  /* simulated time at which it was asked for */
    const uint64_t *words;
    size_t n;
};

/** An executable or a library that carries a schema. */
struct peet_recorded_image {
    char *path; /* where it was */
    uint64_t bias, lo, hi, tls_offset;
    uint64_t late;  /* not there from the start: loaded by the program */
    uint8_t *bytes; /* the whole file */
    size_t nbytes;
};

/** What the simulator learnt from outside the streams: kinds are the writer's business. */
struct peet_recorded_answer {
    uint64_t kind, a, b, value;
};

/* ---------------------------------------------------------------------------------------- writing */

struct peet_recorder;

/**
 * peet_recorder_open() - begin a file
 * @description: JSON text: what program, options and seed
 * @level: how hard zstd tries, 1 to 19; 0: hardly at all
 * Returns: 0, PEET_EIO (message), PEET_ENOMEM
 */
int peet_recorder_open(const char *path, const char *description, int level, struct peet_recorder **out_recorder,
    struct peet_error *error);
/** peet_recorder_open_whole() - the same; the file appears, or takes the place of another one, when peet_recorder_close() has
 * written an ending and all went well, or not at all */
int peet_recorder_open_whole(const char *path, const char *description, int level, struct peet_recorder **out_recorder,
    struct peet_error *error);

/** All of these return 0, or PEET_EIO or PEET_ENOMEM; after the first failure they do nothing and return it again. What
 * was written before stays readable.  Everything is copied, but for packed words that stay. */
int peet_recorder_image(struct peet_recorder *recorder, const struct peet_recorded_image *image);
int peet_recorder_stream(struct peet_recorder *recorder, const struct peet_stream_info *info, uint32_t *out_stream);
/** @instructions: executed by the stream before this slice, as far as it is known */
int peet_recorder_slice(struct peet_recorder *recorder, uint32_t stream, const struct peet_slice *slice,
    uint64_t instructions);
/** Words as they stand in the file, but for zstd. */
struct peet_packed_words {
    size_t n; /* words */
    const uint8_t *codes, *literals;
    size_t ncodes, nliterals; /* bytes */
    int stays;                /* codes and literals stay where they are until peet_recorder_settle() */
};
/** peet_recorder_packed_slices() - as peet_recorder_slice(), n times, of words that somebody else has packed
 * @slices: which these words are, one after the other; their own words are not looked at
 * @instructions: executed before the first */
int peet_recorder_packed_slices(struct peet_recorder *recorder, uint32_t stream, const struct peet_slice *slices,
    size_t n, uint64_t instructions, const struct peet_packed_words *packed);
/** peet_recorder_settle() - nothing that stays where it is for the recorder is needed any more */
int peet_recorder_settle(struct peet_recorder *recorder);
/** peet_recorder_state() - the decoder's state before the next slice of this stream, so that reading can begin there
 * @instructions: as of peet_recorder_slice() */
int peet_recorder_state(struct peet_recorder *recorder, uint32_t stream, const uint64_t *words, size_t n,
    uint64_t instructions);
/** peet_recorder_end() - no slice of this stream follows */
int peet_recorder_end(struct peet_recorder *recorder, uint32_t stream);
int peet_recorder_answer(struct peet_recorder *recorder, const struct peet_recorded_answer *answer);
/** peet_recorder_early() - words that belong before the first slice (notes of constructors) */
int peet_recorder_early(struct peet_recorder *recorder, const uint64_t *words, size_t n);
/** peet_recorder_code() - blocks of code that no image describes (trace/code_parts.h) */
int peet_recorder_code(struct peet_recorder *recorder, const void *block, size_t n);
/** peet_recorder_paths() - foreign code (trace/paths.h); the words that it is about may have been told before */
int peet_recorder_paths(struct peet_recorder *recorder, const void *items, size_t n);
/** peet_recorder_flush() - all that is known so far goes to the file */
int peet_recorder_flush(struct peet_recorder *recorder);

struct peet_recorder_counts {
    uint64_t streams, slices, words, bytes; /* bytes: of the file so far */
};
void peet_recorder_counts(const struct peet_recorder *recorder, struct peet_recorder_counts *out_counts);
const char *peet_recorder_error(const struct peet_recorder *recorder);

/**
 * peet_recorder_close() - write what is left and the index
 * @ending: JSON text: how the run ended; NULL: leave the file without an end, as a kill would
 * Returns: 0, or the first failure, with its message
 */
int peet_recorder_close(struct peet_recorder *recorder, const char *ending, struct peet_error *error);

/* Slices of so many words are packed by themselves: a program's loops are learnt from a few thousand words. */
#define PEET_RECORDER_LONG_SLICE 8192

struct peet_packer;
/** peet_packer_new() - @fast: rather fast than small, as a trace of level 0 has it.  Returns: 0 or PEET_ENOMEM */
int peet_packer_new(int fast, struct peet_packer **out_packer);
void peet_packer_free(struct peet_packer *packer);
/** peet_pack() - @out_packed: lives until the next call.  Returns: 0; PEET_ENOMEM; PEET_ELIMIT: more words than a trace
 * can hold at once */
int peet_pack(struct peet_packer *packer, const uint64_t *words, size_t n, struct peet_packed_words *out_packed);
/** peet_pack_bytes() - how much memory packing n words may take.  */
size_t peet_pack_bytes(size_t n);
/** peet_pack_at() - as peet_pack(), into peet_pack_bytes() of memory of the caller's
 * Nothing can fail. */
void peet_pack_at(struct peet_packer *packer, const uint64_t *words, size_t n, uint8_t *to,
    struct peet_packed_words *out_packed);
/** peet_unpack() - the other way round.  @out_words: room for packed->n.  Returns: 0 or PEET_EFORMAT */
int peet_unpack(struct peet_packer *packer, const struct peet_packed_words *packed, uint64_t *out_words);

/* ---------------------------------------------------------------------------------------- reading */

struct peet_recording;

/** peet_recording_is() - whether the file at `path` begins as a trace of peet; 0 as well if it cannot be read */
int peet_recording_is(const char *path);

/**
 * peet_recording_open() - read the index, or the whole file if it has none
 * Returns: 0; PEET_EIO; PEET_EFORMAT, PEET_EVERSION: with a message; PEET_ENOMEM
 */
int peet_recording_open(const char *path, struct peet_recording **out_recording, struct peet_error *error);
void peet_recording_free(struct peet_recording *recording);

/** peet_recording_description(), _ending() - JSON texts; ending: NULL if the run did not come to its end */
const char *peet_recording_description(const struct peet_recording *recording);
const char *peet_recording_ending(const struct peet_recording *recording);
/** peet_recording_complete() - 1: with index and end; 0: cut off by a kill or a full disk */
int peet_recording_complete(const struct peet_recording *recording);
uint64_t peet_recording_bytes(const struct peet_recording *recording);
uint64_t peet_recording_frames(const struct peet_recording *recording);

size_t peet_recording_nimages(const struct peet_recording *recording);
/** peet_recording_image() - the i-th, without its bytes; peet_recording_load_image(): with them; bytes are the caller's
 * to free */
const struct peet_recorded_image *peet_recording_image(const struct peet_recording *recording, size_t i);
int peet_recording_load_image(struct peet_recording *recording, size_t i, uint8_t **out_bytes, size_t *out_n,
    struct peet_error *error);

uint32_t peet_recording_nstreams(const struct peet_recording *recording);
/** peet_recording_stream() - NULL: the file was cut off before it said what this stream is */
const struct peet_stream_info *peet_recording_stream(const struct peet_recording *recording, uint32_t stream);
uint64_t peet_recording_words(const struct peet_recording *recording, uint32_t stream);
/** peet_recording_thread(), _iteration() - find a stream by who made it.  Returns: its number, or UINT32_MAX */
uint32_t peet_recording_thread(const struct peet_recording *recording, uint32_t parent, uint64_t ordinal);
uint32_t peet_recording_iteration(const struct peet_recording *recording, uint32_t parent, uint64_t ordinal,
    uint64_t iteration);

/** peet_recording_early(), _answers() - all of them; live as long as the recording.  Returns: 0, PEET_EFORMAT,
 * PEET_ENOMEM, PEET_EIO */
int peet_recording_early(struct peet_recording *recording, const uint64_t **out_words, size_t *out_n,
    struct peet_error *error);
int peet_recording_answers(struct peet_recording *recording, const struct peet_recorded_answer **out_answers,
    size_t *out_n, struct peet_error *error);

/** peet_recording_code_bytes() - the blocks of peet_recorder_code(), one behind the other.  As _early() */
int peet_recording_code_bytes(struct peet_recording *recording, const uint8_t **out_bytes, size_t *out_n,
    struct peet_error *error);
/** peet_recording_paths_bytes() - the items of peet_recorder_paths(), one behind the other.  As _early() */
int peet_recording_paths_bytes(struct peet_recording *recording, const uint8_t **out_bytes, size_t *out_n,
    struct peet_error *error);

/** One chunk, as the index has it. */
struct peet_recorded_chunk {
    uint32_t stream, slices;
    uint64_t first_word, instructions, cycle; /* at its beginning */
};
size_t peet_recording_nchunks(const struct peet_recording *recording, uint32_t stream);
const struct peet_recorded_chunk *peet_recording_chunk(const struct peet_recording *recording, uint32_t stream,
    size_t i);

/** A state of the decoder that was kept: reading can begin at its chunk. */
struct peet_recorded_state {
    size_t chunk;
    uint64_t instructions; /* executed by the stream before it */
};
size_t peet_recording_nstates(const struct peet_recording *recording, uint32_t stream);
/** peet_recording_state() - the i-th of a stream, in their order
 * @out_words: malloc()ed, for peet_decode_state_restore().  Returns: 0, PEET_EFORMAT, PEET_EIO, PEET_ENOMEM */
int peet_recording_state(struct peet_recording *recording, uint32_t stream, size_t i,
    struct peet_recorded_state *out_state, uint64_t **out_words, size_t *out_n, struct peet_error *error);

/** A place in a stream. */
struct peet_slices;
int peet_slices_open(struct peet_recording *recording, uint32_t stream, struct peet_slices **out_slices,
    struct peet_error *error);
/** peet_slices_seek() - go on with the first slice of a chunk */
void peet_slices_seek(struct peet_slices *slices, size_t chunk);
/** peet_slices_next() - Returns: 1 and the slice, whose words live until the next call; 0: there is no more;
 * PEET_EFORMAT, PEET_EIO, PEET_ENOMEM */
int peet_slices_next(struct peet_slices *slices, struct peet_slice *out_slice, struct peet_error *error);
/** peet_slices_cycle() - of the slice that comes next, or UINT64_MAX if there is none that can be read */
uint64_t peet_slices_cycle(struct peet_slices *slices);
void peet_slices_close(struct peet_slices *slices);

/** peet_recording_check() - read every frame and decode every chunk.  Returns: 0, or the first damage, with a message
 * that says where */
int peet_recording_check(struct peet_recording *recording, struct peet_error *error);

#endif
