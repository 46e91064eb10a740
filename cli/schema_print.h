/* SPDX-License-Identifier: Apache-2.0 */
/* The two forms in which `peet schema` prints: for people and as JSON.  Both go to standard output. */
#ifndef PEET_CLI_SCHEMA_PRINT_H
#define PEET_CLI_SCHEMA_PRINT_H

#include "debuginfo/data.h"
#include "decode/decode.h"

struct peet_cli_schema_totals {
    uint64_t functions, blocks, instructions, references, code_bytes;
    uint64_t by_class[PEET_INSN_CLASSES];
    uint64_t loads, stores, modifies, prefetches;
    struct peet_program_gaps gaps;
    int granularity; /* 0 iteration, 1 block, 2 ref */
};

/** Texts of enumerations, the same in both forms; never NULL. */
const char *peet_cli_class_text(unsigned klass);
const char *peet_cli_ref_kind_text(unsigned kind);
/** Memory order of an atomic reference; NULL: it is not atomic */
const char *peet_cli_ref_order_text(unsigned order);
const char *peet_cli_granularity_text(int granularity);

/** peet_cli_insn_flag_texts() and those after it - the names of a mask's bits, in order; NULL at the end.
 *  Returns: their number, at most 16 */
int peet_cli_insn_flag_texts(unsigned flags, const char *out_texts[static 17]);
int peet_cli_ref_flag_texts(unsigned flags, const char *out_texts[static 17]);
int peet_cli_block_flag_texts(unsigned flags, const char *out_texts[static 17]);
/** peet_cli_reg_text() - "rax", "vec3", "flags".  Returns: @buffer or a constant */
const char *peet_cli_reg_text(unsigned reg, char buffer[static 8]);

/**
 * peet_cli_schema_open() - read the schema of a file of that name here, or of a program on PATH
 * @out_info: its debug information; NULL if not wanted
 * The caller frees both, also after a failure.  Returns: 0, PEET_ENOTFOUND, PEET_EFORMAT, PEET_EVERSION, PEET_ENOMEM,
 * PEET_EIO
 */
int peet_cli_schema_open(const char *name, struct peet_program **out_program, struct peet_debuginfo **out_info,
    struct peet_error *error);

void peet_cli_schema_text_head(const char *path, const struct peet_cli_schema_totals *totals);
void peet_cli_schema_text_function(const struct peet_function *function);

/** The JSON form is written function by function: a program's schema may be large.
 *  Each returns 0 or PEET_ENOMEM */
int peet_cli_schema_json_head(const char *path, const struct peet_cli_schema_totals *totals, int with_functions);
int peet_cli_schema_json_function(const struct peet_function *function, int first);
void peet_cli_schema_json_functions_end(void);
/** The globals, after the functions. */
int peet_cli_schema_json_globals(const struct peet_debuginfo *info);
void peet_cli_schema_text_globals(const struct peet_debuginfo *info);
void peet_cli_schema_json_tail(void);

#endif
