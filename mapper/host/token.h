/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a token is good for: the search's choices (search.h) mean something only with the program, the arguments, the
 * number of processors, the model and the rules (who gets a lock, the lock model, the seed) that they were made with.
 * A token carries a mark of these, 16 hexadecimal digits after its last point.
 */
#ifndef PEET_HOST_TOKEN_H
#define PEET_HOST_TOKEN_H

#include "config/config.h"

enum { PEET_TOKEN_MARK_BYTES = 20 };

/** peet_token_mark() - ".MMMMCCCCPPPPRRRR": model, processors, program, rules */
void peet_token_mark(const struct peet_config *config, char out_mark[PEET_TOKEN_MARK_BYTES]);

/**
 * peet_token_check() - the choices of a token, if it was made with what this configuration says
 * @out_choices: without the mark; the caller frees it
 * Returns: 0, PEET_EINVALID (it was made with something else, which the message names), or PEET_ENOMEM
 */
int peet_token_check(const struct peet_config *config, const char *token, char **out_choices, struct peet_error *error);

#endif
