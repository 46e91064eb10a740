/* SPDX-License-Identifier: Apache-2.0 */
/* Foreign code (code that peetcc has not compiled) is recorded: between the translator and the decoder. */
#ifndef PEET_HOST_FOREIGN_H
#define PEET_HOST_FOREIGN_H

#include "config/config.h"
#include "decode/decode.h"
#include "base/stats.h"

/** What refusals begin with. */
#define PEET_HOST_FOREIGN_REFUSED "foreign=record: "

/** peet_host_foreign_load() - load what the subject allocates from; before anything that differs from run to run with
 * the same program (modules), so that it lies at the same place.  Returns: 0 or a peet_err */
int peet_host_foreign_load(const struct peet_config *config, struct peet_error *error);
/** peet_host_foreign_start() - from the next resume on, contexts record foreign code.  Returns: 0 or a peet_err */
int peet_host_foreign_start(struct peet_program *program, struct peet_error *error);
/** peet_host_foreign_block() - of a word that the decoder does not know.  Returns: 1 added, 0 it is no block of foreign
 * code, or a peet_err */
int peet_host_foreign_block(struct peet_program *program, uint64_t word, struct peet_error *error);
/** What was done: blocks, places that could not be entered; NULL if foreign code is not recorded. */
json_t *peet_host_foreign_json(void);

#endif
