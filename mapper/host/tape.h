/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Slices of the subject's contexts, kept in a recording (record.c) or taken from one (replay.c).  The live source
 * (source.c) calls these functions at the few places where words come from the subject: nothing else knows that there
 * are recordings.
 *
 * An iteration of a doall loop is a stream of its own, whichever worker carries it, so that a replay can give it to
 * another one.  Threads are known by who made them: the n-th thread of stream s.  Both are the same in every run of a
 * program whose contexts do the same.
 */
#ifndef PEET_TAPE_H
#define PEET_TAPE_H

#include "host/source.h"
#include "mapper.h"
#include "trace/recording.h"
#include <jansson.h>

struct peet_source_context;

enum { PEET_TAPE_NONE = 0xffffffff };

/** What a context of the source has to do with a recording. */
struct peet_tape {
    uint32_t stream;         /* its present one, or PEET_TAPE_NONE */
    uint64_t threads, forks; /* that the stream has made so far */
    int worker;              /* it carries iterations, */
    uint32_t carrier;        /* of this stream's */
    uint64_t fork;           /* ... doall of this number */
    int asking;              /* its last record asks for an iteration */
    uint64_t fs_base;
    struct peet_slices *slices; /* replay: the place in the stream */
    uint64_t since;             /* recording: words since the decoder's state was kept */
    int answered;               /* replay: its last record is an event that has a result */
    const uint64_t *again;      /* replay: an AGAIN that comes before the next slice, or NULL */
    uint64_t iteration;         /* replay: that a worker carries */
    uint64_t expected;          /* replay: recorded result of that event, known with the next slice */
};

/* ---- record.c */
struct peet_record;

/** peet_record_open() - begin DIR/trace.peet.  @description: JSON; taken.  Returns: 0 or a peet_err */
int peet_record_open(const char *dir, json_t *description, int level, struct peet_record **out_record,
    struct peet_error *error);
/** peet_record_image() - an image with its file's contents */
int peet_record_image(struct peet_record *record, const char *path, uint64_t bias, uint64_t lo, uint64_t hi,
    uint64_t tls_offset, int late, struct peet_error *error);
/** peet_record_attach() - whom to ask for the time */
void peet_record_attach(struct peet_record *record, const struct peet_map *map);
void peet_record_early(struct peet_record *record, const uint64_t *notes, size_t n);
/** peet_record_path() - foreign code that the decoder meets for the first time */
struct peet_foreign_block;
void peet_record_path(struct peet_record *record, uint64_t word, const struct peet_foreign_block *path, uint32_t n);
/** peet_record_json() - what a results file says of it */
json_t *peet_record_json(const struct peet_record *record);
/** peet_record_flush() - now, because the run may not come to its end.  peet_record_close(): @ending: JSON; taken */
void peet_record_flush(struct peet_record *record);
int peet_record_close(struct peet_record *record, json_t *ending, struct peet_error *error);

/** A context is there; @creator: NULL: main.  Returns: 0 or PEET_ENOMEM */
int peet__record_context(struct peet_record *record, uint32_t context, struct peet_source_context *c,
    struct peet_source_context *creator, int worker, uint64_t fn, uint64_t arg);
/** Before it runs: @result is what its pending event returns.  After it has run. */
void peet__record_before(struct peet_record *record, uint32_t context, struct peet_source_context *c, uint64_t result);
void peet__record_slice(struct peet_record *record, uint32_t context, struct peet_source_context *c, unsigned why,
    uint64_t result);
void peet__record_over(struct peet_record *record, struct peet_source_context *c);
/** Something from outside.  @kind: enum peet_tape_answer */
enum peet_tape_answer { PEET_TAPE_STATE, PEET_TAPE_IO, PEET_TAPE_OUTSIDE };
void peet__record_answer(struct peet_record *record, unsigned kind, uint64_t a, uint64_t b, uint64_t value);
/** peet_record_failed() - why recording has stopped, or NULL */
const char *peet_record_failed(const struct peet_record *record);

/* ---- replay.c */
struct peet_replay;

/** peet_replay_open() - @path: the recording.  Returns: 0 or a peet_err */
int peet_replay_open(const char *path, const char *output, struct peet_replay **out_replay, struct peet_error *error);
struct peet_recording *peet_replay_recording(const struct peet_replay *replay);
/** peet_replay_image() - a file with the contents of the i-th image: the one that was recorded, if it is still the
 * same, else a copy */
const char *peet_replay_image(struct peet_replay *replay, size_t i, struct peet_error *error);
/** @forced: as of peet_map_forced() */
json_t *peet_replay_json(const struct peet_replay *replay, uint64_t forced);
/** peet_replay_cut() - has a context come to where the recording was cut off? */
int peet_replay_cut(const struct peet_replay *replay);
/** peet_replay_is_part() - is it a part of a run that did not end in a deadlock?  Who waits for ever waits for what others
 * did outside of it, as for the end of the program */
int peet_replay_is_part(const struct peet_replay *replay);
/** peet_replay_signal() - Returns: the number of the signal that ended the recorded run; 0: none did */
int peet_replay_signal(const struct peet_replay *replay);
/** peet_replay_replaced_by() - Returns: what the recorded program executed in its own place, the caller's; NULL: nothing */
char *peet_replay_replaced_by(const struct peet_replay *replay);
/** peet_replay_name() - what the recorded run called an address, by its key among the names of the ending; NULL: it did
 * not say.  Lives as long as the replay */
const char *peet_replay_name(const struct peet_replay *replay, const char *key);
/** peet_replay_error() - the recording is damaged: what it said */
const struct peet_error *peet_replay_error(const struct peet_replay *replay);

/** peet_replay_middle() - where the replay begins; NULL: at the beginning of a program.  Lives as long as the replay */
const struct peet_map_middle *peet_replay_middle(const struct peet_replay *replay);
/** The @index-th context of the middle */
int peet__replay_begin(struct peet_replay *replay, struct peet_source_context *c, size_t index,
    struct peet_error *error);
/** peet__replay_place() - the decoder comes to be where the context's stream begins.  Returns: 0 or a peet_err */
int peet__replay_place(struct peet_replay *replay, struct peet_source_context *c, struct peet_error *error);
/** peet__replay_goes_on() - the recorded time of its next slice, or UINT64_MAX */
uint64_t peet__replay_goes_on(struct peet_replay *replay, const struct peet_source_context *c);

int peet__replay_context(struct peet_replay *replay, struct peet_source_context *c, struct peet_source_context *creator,
    int worker, struct peet_error *error);
/** As peet__source_resume(); @result: what the pending event returns now.  Returns: enum peet_slice_why */
unsigned peet__replay_resume(struct peet_replay *replay, struct peet_source_context *c, uint32_t context,
    uint64_t result);
void peet__replay_over(struct peet_source_context *c);
/** peet__replay_answer() - what was learnt then; @otherwise: if nothing like that was asked */
uint64_t peet__replay_answer(struct peet_replay *replay, unsigned kind, uint64_t a, uint64_t b, uint64_t otherwise);

#endif
