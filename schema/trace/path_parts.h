/* SPDX-License-Identifier: Apache-2.0 */
/* What path_writer.c and path_reader.c share. */
#ifndef PEET_TRACE_PATH_PARTS_H
#define PEET_TRACE_PATH_PARTS_H

#include "trace/paths.h"

enum peet__path_item { PEET__PATH_FUNCTION, PEET__PATH_OPCODE, PEET__PATH_BODY, PEET__PATH_PATH, PEET__PATH_ITEMS };

/* What one block has at most; the translator's have fewer. */
enum { PEET__PATH_INSNS_MAX = 256, PEET__PATH_REFS_MAX = 1024, PEET__PATH_SLOTS_MAX = 256 };

#endif
