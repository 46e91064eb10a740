/* SPDX-License-Identifier: Apache-2.0 */
/* What replay.c (slices) and replay_middle.c (the beginning of a piece) share. */
#ifndef PEET_REPLAY_PARTS_H
#define PEET_REPLAY_PARTS_H

#include "host/source_parts.h"
#include "host/tape.h"

#include <limits.h>

/** A stream whose beginning is not that of its context. */
struct peet_replay_begun {
    UT_hash_handle hh;
    uint32_t stream;
    uint64_t threads, forks; /* that it has made before */
    uint64_t *held;          /* as struct peet_map_begun has it */
    size_t nheld;
    uint64_t again[1 + 16]; /* the record AGAIN, nagain words; 0: nothing */
    size_t nagain;
    int there; /* its context is there from the piece's beginning */
};

struct peet_replay {
    struct peet_recording *recording;
    json_t *ending; /* how the recorded run ended, as it said then; NULL: it did not say */
    char output[PATH_MAX];
    char **images;
    struct peet_known_answer *known;
    uint64_t words, all_words; /* replayed, and recorded */
    uint64_t slices, answers, other_answers, missing, strays, unknown;
    int cut;
    struct peet_error error;
    int has_middle;
    struct peet_map_middle middle;
    struct peet_map_begun *contexts;
    size_t *of_context; /* each one's in begun */
    struct peet_replay_begun *begun, *by_stream;
    size_t nbegun;
};

/** peet__replay_read_middle() - does the recording begin in the middle of a run?  Returns: 0 or a peet_err */
int peet__replay_read_middle(struct peet_replay *replay, struct peet_error *error);
/** peet__replay_begun() - how a stream begins; NULL: as its context does */
const struct peet_replay_begun *peet__replay_begun(const struct peet_replay *replay, uint32_t stream);

#endif
