/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The last step of linking: the linker has filled in where each function lies, so the checksum of each schema record
 * can be made.  It is written into the program in place; nothing else changes.
 */
#ifndef PEETCC_STAMP_H
#define PEETCC_STAMP_H

#include <peet/error.h>

/**
 * peetcc_stamp() - write the checksums of a linked program or shared object
 * @program: what was linked; a file that is not ELF, is relocatable or carries no schema is left as it is
 *
 * A record that carries neither the checksum that the pass has left nor that of an earlier stamp was damaged before it
 * was linked. Returns: 0, PEET_EFORMAT for a damaged schema, PEET_EIO
 */
int peetcc_stamp(const char *program, struct peet_error *error);

#endif
