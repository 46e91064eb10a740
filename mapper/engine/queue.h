/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What followers are told, and where: in this process, or in processes of their own (crew.c).
 */
#ifndef PEET_ENGINE_QUEUE_H
#define PEET_ENGINE_QUEUE_H

#include "state/map.h"

enum { QUEUE_WORDS = 256 * 1024, QUEUE_SEGMENTS = 4 };

struct peet_crew;

/** What is told next: n words.  Alone they are the queue's own, with a crew those of the segment that is filled. */
struct peet_queue {
    uint64_t *words;
    size_t n;
    struct peet_crew *crew;     /* NULL: followers are in this process */
    uint32_t known;             /* with a crew: blocks with lower ids were there when it was made */
    uint32_t ndefined;          /* others, by id from `known` on: */
    uint8_t *defined;           /* ... the crew has been told of them */
    struct peet_block **blocks; /* ... in a process of the crew */
};

/** peet__queue_deliver() - so many words of the queue, to one follower */
void peet__queue_deliver(struct peet_map_module *m, const uint64_t *words, size_t n);

/* ---- crew.c */
/** Segments of the queue that are full go to all; waits until there is a free one, which is then the queue's.
 *  @all: until all have been done */
void peet__crew_publish(struct peet_map *map, int all);
/** peet__crew_finish() - the program has ended, and the crew has been told: when it has answered next, it is no more. */
void peet__crew_finish(struct peet_map *map);
/** peet__crew_stats() - what the follower says of itself, as the module's key and object.  NULL: nothing */
json_t *peet__crew_stats(struct peet_map *map, const struct peet_map_module *m);
/** In a process of the crew: the statistics are asked for, now or when the program has ended. */
void peet__crew_answer(struct peet_map_module *m);
void peet__crew_free(struct peet_map *map);

/* ---- shipped.c */
/** A block as words that any process can read.  @out: NULL, or room.  Returns: how many words */
size_t peet__ship_block(const struct peet_block *block, uint64_t *out);
/** peet__unship_block() - the block of such words.  NULL: out of memory */
struct peet_block *peet__unship_block(const uint64_t *words);

#endif
