/* SPDX-License-Identifier: Apache-2.0 */
/* What recording.c (the file and what it says) and slices.c (the streams' slices) share. */
#ifndef PEET_TRACE_RECORDING_PARTS_H
#define PEET_TRACE_RECORDING_PARTS_H

#include "trace/frames.h"
#include "trace/recording.h"

#include <uthash.h>
#include <zstd.h>

enum { CACHED_FRAMES = 8, CACHED_BYTES = 1 << 20 };

/** A frame's contents; the bytes of a large one go when another is read. */
struct frame {
    uint64_t offset, used;
    uint8_t *raw;
    size_t n;
};

/** Who made a stream. */
struct origin {
    uint64_t parent, ordinal, iteration, kind;
};
struct child {
    UT_hash_handle hh;
    struct origin origin;
    uint32_t stream;
};

/** A state of the decoder that was kept. */
struct state {
    uint32_t stream;
    uint64_t first, instructions;
    uint64_t frame;
    uint32_t offset, bytes;
};

struct stream {
    const struct peet_stream_info *info; /* or NULL */
    struct peet_stream_info storage;
    size_t first, n; /* in chunks */
    size_t first_state, nstates;
    uint64_t words;
};

struct chunk {
    struct peet_recorded_chunk public;
    uint64_t frame;
    uint32_t offset, bytes;
};

struct image {
    struct peet_recorded_image public;
    int known;
};

struct peet_recording {
    int fd, complete;
    char *path;
    uint64_t bytes, end; /* of the file; of the frames that are whole */
    uint64_t nframes;
    struct peet__indexed *entries;
    size_t nentries, entries_room;
    char *description, *ending;
    struct image *images;
    size_t nimages;
    struct stream *streams;
    uint32_t nstreams;
    struct chunk *chunks; /* by stream and first word */
    size_t nchunks;
    struct state *states; /* by stream and first word; each before a chunk that is there */
    size_t nstates;
    struct child *children;
    uint64_t *early;
    size_t nearly;
    struct peet_recorded_answer *answers;
    size_t nanswers;
    uint8_t *code_bytes;
    size_t ncode_bytes;
    struct peet__recorded_code *code;
    uint8_t *paths_bytes;
    size_t npaths_bytes;
    struct peet__recorded_paths *paths;
    struct frame cache[CACHED_FRAMES];
    uint64_t uses;
    ZSTD_DCtx *zstd;
};

int peet__recording_no_memory(struct peet_error *error);
int peet__recording_damaged(const struct peet_recording *recording, uint64_t offset, const char *what,
    struct peet_error *error);
/** Decompress the frame (or index) at an offset.  @out_raw: the caller's; @out_end: the offset after it */
int peet__recording_frame(struct peet_recording *recording, uint64_t offset, uint32_t tag, uint8_t **out_raw,
    size_t *out_n, uint32_t *out_entries, uint64_t *out_end, struct peet_error *error);
/** The bytes of an entry; they live until the next call.  NULL: an error */
const uint8_t *peet__recording_bytes(struct peet_recording *recording, uint64_t frame, uint32_t offset, uint32_t bytes,
    struct peet_error *error);

/** slices.c: states in order, each stream knowing its own; those that have no chunk behind them are left out */
void peet__recording_sort_states(struct peet_recording *recording);

/** code_reader.c: what peet_recording_add_code() has made */
void peet__recorded_code_free(struct peet__recorded_code *code);

/** path_reader.c: all paths of foreign code.  @out_paths: the caller's, also after an error.  Returns: 0, PEET_EFORMAT, PEET_EIO,
 * PEET_ENOMEM */
int peet__recorded_paths_read(struct peet_recording *recording, struct peet__recorded_paths **out_paths,
    struct peet_error *error);
void peet__recorded_paths_free(struct peet__recorded_paths *paths);

/** Allocations that are freed together; starts as all zeros. */
struct peet__owned {
    void **all;
    size_t n, room;
};
/** Memory of zeros, one byte at least.  NULL: there is none */
void *peet__owned_new(struct peet__owned *owned, size_t n, size_t each);
void peet__owned_fini(struct peet__owned *owned);

#endif
