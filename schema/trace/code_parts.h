/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What code_writer.c and code_reader.c share: how a recording describes a block.  Numbers are those of codec.h, seven
 * bits a byte:
 *
 *   block       = pc ninsns instruction*
 *   instruction = length branch nreads read* nwrites write* (a byte each)  nrefs (size * 4 + kind)*
 *
 * Blocks are numbered from 0 in the order in which they stand in the file.
 */
#ifndef PEET_TRACE_CODE_PARTS_H
#define PEET_TRACE_CODE_PARTS_H

#include "trace/codec.h"

/* A block's word: codec.c takes words of this form for code. */
#define PEET__CODE_WORD(number) (UINT64_C(0x555500000000) + (uint64_t)(number) * 16)

enum {
    PEET__CODE_INSNS_MAX = 64, /* in a block */
    PEET__CODE_REFS_MAX = 64,  /* of an instruction; more begin another one at the same place */
    PEET__CODE_BLOCK_REFS = 256,
    PEET__CODE_LENGTH = 4, /* of an instruction whose length nobody knows */
    PEET__CODE_LENGTH_MAX = 15,
    PEET__CODE_BLOCKS_MAX = 1 << 24,
};

#endif
