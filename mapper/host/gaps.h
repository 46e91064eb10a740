/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the results cannot hold, so that it is said: inline assembly, functions without a schema, blocks between marked
 * iterations, and functions of libatomic, whose references nobody sees where foreign code is not recorded (operations
 * that have no instruction of their own are calls of them).
 */
#ifndef PEET_HOST_GAPS_H
#define PEET_HOST_GAPS_H

#include <jansson.h>
#include "mapper.h"

/** peet_host_gaps_image() - an image with a schema: note which functions of libatomic it calls.  What cannot be read is
 * left out */
void peet_host_gaps_image(const char *path);
/** peet_host_gaps_json() - for stats.json; NULL: out of memory.  @recorded: foreign code is, or was when the trace was
 * made */
json_t *peet_host_gaps_json(struct peet_program *program, struct peet_map *map, uint64_t extraneous_blocks,
    int recorded);

#endif
