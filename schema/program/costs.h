/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What instructions cost on a processor: lookups in the table that was made with peet (costs_format.h).  The module
 * host uses it for env->processor() and env->cost(), `peet costs` to print, tests of machines directly.
 */
#ifndef PEET_COSTS_H
#define PEET_COSTS_H

#include <peet/error.h>
#include <peet/module.h>
#include <stddef.h>

struct peet_costs;

/**
 * peet_costs_open() - open a table
 * The file is mapped; processors are read when they are asked for.  PEET_EIO, PEET_EVERSION (naming both versions),
 * PEET_EFORMAT for what is no table or damaged, PEET_ENOMEM.  Free with peet_costs_close().
 */
int peet_costs_open(const char *path, struct peet_costs **out_costs, struct peet_error *error);
/** peet_costs_read() - the same from memory, which must live as long; @path is for messages */
int peet_costs_read(const void *bytes, size_t size, const char *path, struct peet_costs **out_costs,
    struct peet_error *error);
void peet_costs_close(struct peet_costs *costs);

/** peet_costs_llvm() - the version of LLVM whose models these are */
const char *peet_costs_llvm(const struct peet_costs *costs);
/** peet_costs_knows() - whether LLVM has an instruction of this name */
int peet_costs_knows(const struct peet_costs *costs, const char *opcode);
/** peet_costs_name() - the name of the i-th processor, in alphabetical order; NULL beyond the last */
const char *peet_costs_name(const struct peet_costs *costs, size_t i);

/**
 * peet_costs_processor() - a processor by its -mcpu name
 * Lives until peet_costs_close().  PEET_ENOTFOUND, PEET_EFORMAT, PEET_ENOMEM.
 */
int peet_costs_processor(struct peet_costs *costs, const char *mcpu, const struct peet_processor **out_processor,
    struct peet_error *error);

/**
 * peet_costs_of() - the cost of an opcode on a processor of this table
 * Never NULL; lives until peet_costs_close().  An opcode that the model does not know (known is 0) costs what the
 * schema says of it.  The second time the same `opcode` pointer is asked for costs a hash lookup.
 */
const struct peet_cost *peet_costs_of(struct peet_costs *costs, const struct peet_processor *processor,
    const struct peet_opcode *opcode);

#endif
