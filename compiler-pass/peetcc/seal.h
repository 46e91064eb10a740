/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The schema as a file beside the program: an ELF file with the same sections, addresses and section
 * numbers, in which only what a reader of the schema needs still has contents.
 */
#ifndef PEETCC_SEAL_H
#define PEETCC_SEAL_H

#include <peet/error.h>

/**
 * peetcc_seal() - write the schema file of a linked program or shared object
 * @program: what was linked
 * @schema: the file to write; an earlier schema file is replaced in one step
 *
 * Kept: .peet.*, executable sections, symbol and string tables, notes, debug information.
 * Returns: 0; PEET_ENOTFOUND if @program carries no schema (nothing is written, an earlier schema file
 * of that name is removed); PEET_EINVALID if a file that is not peet's stands at @schema (left alone);
 * or another peet_err with nothing left at @schema
 */
int peetcc_seal(const char *program, const char *schema, struct peet_error *error);

#endif
