/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Code that peet does not see, by object and symbol: how often recorded code has called it by name (exact), and which
 * part of the program's own time it has taken (sampled on the host, hence different in each run, and in a file of its
 * own).
 */
#ifndef PEET_HOST_UNSEEN_H
#define PEET_HOST_UNSEEN_H

#include "mapper.h"

#include <jansson.h>

/** peet_host_unseen_begin() - the program is about to run; @sample: find out where its time goes, too */
void peet_host_unseen_begin(struct peet_program *program, int sample);

/** peet_host_unseen_look() - host world: name the places where the timer has found the program, while what it had
 * loaded is there */
void peet_host_unseen_look(void);

/**
 * peet_host_unseen_json() - for stats.json: { calls, list: [ { object, symbol, calls } ] }, what is called most first
 * Only what was called by name: that repeats exactly.  Returns: NULL out of memory
 */
json_t *peet_host_unseen_json(struct peet_map *map);

enum { PEET_UNSEEN_NAME_BYTES = 160 };
/**
 * peet_host_unseen_shares() - does this block's last instruction call code that is not recorded, and may refer to what
 * threads share?  Not the C library's functions that peet stands for, nor those that refer to nothing of the program's
 * @called: something that is not recorded has been called, if only through a pointer
 * Returns: 1: so it is; *out_name says what is called
 */
int peet_host_unseen_shares(struct peet_program *program, const struct peet_block *caller, int called,
    char out_name[PEET_UNSEEN_NAME_BYTES]);

/**
 * peet_host_unseen_write() - the file unseen.json: { version, samples, calls, share, list: [ { object, symbol, calls,
 * share } ] } It says what was so when peet_host_unseen_json() was last called.  The list begins with what takes most
 * time.  calls: null if it was only called by pointer, or by others that are not seen. share: of the program's own
 * time, null if there are too few samples to say.  Returns: 0 or a peet_err
 */
int peet_host_unseen_write(const char *path, struct peet_error *error);

#endif
