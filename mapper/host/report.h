/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the host says to the user while the subject runs, and where the subject's contexts stand: lines
 * for the pipe to the command line, which prints them, and backtraces for them and for stats.json.
 */
#ifndef PEET_HOST_REPORT_H
#define PEET_HOST_REPORT_H

#include "debuginfo/data.h"
#include "decode/decode.h"
#include "runtime.h"
#include <jansson.h>

/** peet_host_report() - one line to the user */
void peet_host_report(const char *format, ...) __attribute__((format(printf, 1, 2)));

/** peet_host_progress() - so much of all that there is to do is done: for the progress line */
void peet_host_progress(uint64_t done, uint64_t all);
/** Its page; NULL: nobody shows it. */
extern volatile uint64_t *peet_host_progress_page;

/**
 * peet_host_backtrace() - report where a suspended context stands, innermost frame first, as far as main()
 * Functions that are inlined have frames of their own.  What the context does in peet's runtime is not shown, but for the
 * function of the C library that the runtime stands in for.
 * @list: a json array that gets the same frames as objects; may be NULL
 */
void peet_host_backtrace(struct peet_program *program, const struct peet_ctx *ctx, json_t *list);

/**
 * peet_host_stands() - the innermost place in code that peetcc has compiled at which a suspended context stands
 * Returns: 1, or 0: none.  What is named in @out lives on
 */
int peet_host_stands(struct peet_program *program, const struct peet_ctx *ctx, struct peet_frame *out);

/** peet_host_place() - the function that holds a code address; NULL if unknown */
const char *peet_host_place(struct peet_program *program, uint64_t pc, const char **out_file, unsigned *out_line);

/** peet_host_return() - out of a function that has pushed nothing yet: a call to where no code is.  Returns: 1; 0: there is no
 * stack, and nothing is changed */
int peet_host_return(uint64_t *inout_pc, uint64_t *inout_sp);

/** peet_host_frames() - peet_debuginfo_frames() of an address of code in this process; what is returned lives on */
size_t peet_host_frames(uint64_t pc, struct peet_frame *out, size_t room);
/**
 * peet_host_share_frames() - what peet_host_frames() finds from now on is kept in this memory, and looked for there first
 * @memory: zero, and shared by the processes that are forked from this one, of which one at a time may look
 */
void peet_host_share_frames(void *memory, size_t bytes);

/** What the subject calls an address of its data: "table+8".  Returns: 1, or 0 if it has no name */
int peet_host_name_of(uint64_t address, char *out_name, size_t bytes);
/** peet_host_symbol_of() - the symbol alone, without what lies inside of it */
int peet_host_symbol_of(uint64_t address, char *out_name, size_t bytes);
/** peet_host_cut_name() - a synchronisation object's name without what the C or C++ library has in it: "q.lock.__data.__lock" */
void peet_host_cut_name(char *inout_name);
/** peet_host_name_in() - the same in one file, of an address without the file's load bias */
int peet_host_name_in(const char *path, uint64_t address, char *out_name, size_t bytes);

/** The function of a file's symbol table that holds an address of code.  Returns: 1, or 0 if there is none */
int peet_host_function_of(uint64_t address, char *out_name, size_t bytes);

/**
 * peet_host_functions() - the functions of the object round an address of code, from its symbol table; local ones are
 * those that files have for themselves, and hidden ones, which linkers may make local
 * Returns: 1, or 0 if it has none (stripped)
 */
int peet_host_functions(uint64_t address, void (*each)(void *arg, const char *name, uint64_t address, int local),
    void *arg);

#endif
