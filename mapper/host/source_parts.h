/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What source.c (contexts) and source_marks.c (marked loops) share.
 */
#ifndef PEET_SOURCE_PARTS_H
#define PEET_SOURCE_PARTS_H

#include "host/source.h"
#include "host/tape.h"
#include <peet/raw.h>
#include <uthash.h>

#define PEET_SOURCE_RING_WORDS (128 * 1024 / 8)
/* So far a context runs ahead where others may be due before it: what programs with data races do depends on it. */
#define PEET_SOURCE_AHEAD_WORDS (64 * 1024 / 8)

struct peet_source_ring {
    struct peet_source_ring *next; /* in the pool */
    uint64_t *merged;              /* the words with notes among them, or NULL */
    size_t merged_room;
    uint64_t *grown; /* the words of several slices at which no other context could run, or NULL */
    size_t grown_room;
    uint64_t words[PEET_SOURCE_RING_WORDS + PEET_RAW_SLACK_WORDS + PEET_DECODE_ROOM_WORDS];
};

/* Words that a context may have undelivered without a ring. */
#define PEET_SOURCE_REST_WORDS 2

#define PEET_SOURCE_BATCH_BLOCKS 128
#define PEET_SOURCE_BATCH_VALUES 1024

/** Decoded blocks of a context. */
struct peet_source_batch {
    struct peet_source_batch *next; /* in the pool */
    size_t nvalues;
    struct peet_block_event events[PEET_SOURCE_BATCH_BLOCKS];
    uint64_t values[];
};

/** The words of one marked iteration. */
struct peet_source_segment {
    UT_hash_handle hh;
    uint64_t iteration;
    uint64_t *words;
    size_t n;
};

/** A marked loop between its MARK_FORK and its MARK_JOIN. */
struct peet_source_loop {
    struct peet_source_segment *segments; /* recorded and not asked for yet */
    int joined;                           /* the carrier has come to its MARK_JOIN, which is to be delivered */
    int stopped; /* the carrier has ended the program inside an iteration: it must not run again */
};

struct peet_source_context {
    struct peet_ctx *ctx;   /* NULL: a marked iteration, or replayed */
    struct peet_tape *tape; /* its place in a recording, or NULL */
    struct peet_decode_state *decode;
    struct peet_source_ring *ring;   /* or NULL */
    struct peet_source_batch *batch; /* or NULL */
    const uint64_t *cursor, *end;
    uint64_t rest[PEET_SOURCE_REST_WORDS + PEET_DECODE_ROOM_WORDS];
    uint64_t result;
    int done;
    int thread;                          /* its stack and thread pointer are a thread's of the subject */
    int crashed;                         /* done by a crash: its last record may be cut */
    int ends_all;                        /* and the program with it */
    struct peet_source_segment *segment; /* of a marked iteration */
    struct peet_source_loop *loop;       /* the marked loop that it carries */
    struct peet_source_repeat *repeat;   /* what it looks at again and again, or NULL */
    struct peet_source_context *next;    /* in the pool */
};

struct peet_source {
    struct peet_program *program;
    struct peet_map *map;
    struct peet_datamap *data;
    int notes_lost;         /* memory has run out for them */
    int strayed;            /* a round that was repeated has been another one */
    struct peet_map *views; /* contexts see their processor's view; NULL: all see main memory */
    int apart;              /* they have done so since one was alone last */
    int want_addresses, want_loops;
    size_t limit_words;
    struct peet_source_context **contexts; /* by source number */
    uint32_t ncontexts;
    struct peet_source_repeat *repeating; /* contexts that have been given rounds */
    uint32_t nalive;                      /* contexts with a stack of their own that are not over */
    struct peet_source_ring *rings;
    size_t nrings; /* that there are, in use or not */
    struct peet_source_batch *batches;
    struct peet_source_context *idle; /* contexts that are done, with their stacks */
    struct peet_source_context *idle_marked;
    uint64_t extraneous_blocks;
    uint64_t args[2];
    struct peet_record *record; /* NULL: nothing is kept */
    struct peet_replay *replay; /* NULL: contexts run */
};

int peet__source_ring(struct peet_source *s, struct peet_source_context *c, struct peet_error *error);
void peet__source_drop_ring(struct peet_source *s, struct peet_source_context *c);
/** Is it one that runs, or ran when it was recorded?  Else it is a marked iteration. */
static inline int peet__source_runs(const struct peet_source_context *c)
{
    return c->ctx || c->tape;
}
/** Its thread pointer. */
static inline uint64_t peet__source_fs_base(const struct peet_source_context *c)
{
    return c->ctx ? peet_ctx_fs_base(c->ctx) : c->tape ? c->tape->fs_base : 0;
}

/** Let a context run on; its words are c->cursor .. c->end afterwards. */
enum peet_yield peet__source_resume(struct peet_source *s, struct peet_source_context *c, uint32_t context);

/** source_repeat.c: a context has just run, and its words are there. */
void peet__source_ran(struct peet_source *s, struct peet_source_context *c, enum peet_yield why);
unsigned peet__source_repeat(void *self, uint32_t context, unsigned slices, unsigned times);
unsigned peet__source_cut(void *self, uint32_t context);
void peet__source_repeat_free(struct peet_source *s, struct peet_source_context *c);

/** source_notes.c: the notes of the slice that has just been come among its words.  Returns: 0 or PEET_ENOMEM */
int peet__source_notes(struct peet_source *s, struct peet_source_context *c);

/** next() for a context that has forked a marked loop: the loop's MARK_JOIN. */
int peet__source_join(struct peet_source *s, uint32_t context, struct peet_event *out_event, struct peet_error *error);
/** The words of an iteration of a marked loop.  Returns: 0 or PEET_ENOTFOUND, or another peet_err */
int peet__source_iteration(struct peet_source *s, uint32_t carrier, uint64_t iteration,
    struct peet_source_segment **out_segment, struct peet_error *error);
void peet__source_segment_free(struct peet_source_segment *segment);
void peet__source_loop_free(struct peet_source_loop *loop);

/** source_io.c: io_ready() of the live source.  A descriptor below 0 has nothing ready: the process just sleeps. */
unsigned peet__source_io_ready(void *self, int descriptor, unsigned events, int64_t wait_ns);
int peet__source_outside(void *self);
/** The same of a replay, where nothing is waited for. */
unsigned peet__source_io_replayed(void *self, int descriptor, unsigned events, int64_t wait_ns);
int peet__source_io_waits_replayed(void *self, unsigned n, const int *descriptors, unsigned *events, int64_t wait_ns);
int peet__source_outside_replayed(void *self);
int peet__source_io_wait(void *self, unsigned n, const int *descriptors, unsigned *events, int64_t wait_ns);

#endif
