/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Code that peet does not see, by object and symbol: how often recorded code has called it by name (exact), and which part of the
 * program's own time it has taken (sampled; the one thing in stats.json that is measured on the host and does not repeat).
 */
#ifndef PEET_HOST_UNSEEN_H
#define PEET_HOST_UNSEEN_H

#include "mapper.h"

#include <jansson.h>

/** peet_host_unseen_begin() - the program is about to run; @sample: find out where its time goes, too */
void peet_host_unseen_begin(struct peet_program *program, int sample);

/** peet_host_unseen_look() - host world: name the places where the timer has found the program, while what it had loaded is there */
void peet_host_unseen_look(void);

/**
 * peet_host_unseen_json() - { calls, share, list: [ { object, symbol, calls, share } ] }
 * The list begins with what takes most time, then what is called most.  calls: null if it was only called
 * by pointer, or by others that are not seen.  share: of the program's own time, null if there are too few samples to say.  Returns: NULL out of memory
 */
json_t *peet_host_unseen_json(struct peet_map *map);

#endif
