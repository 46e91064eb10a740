/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the table of instruction costs is, and names that were meant.  Used by the module host (env->processor()) and
 * by `peet costs`; the table itself is read by schema/costs.c.
 */
#ifndef PEET_PROCESSORS_H
#define PEET_PROCESSORS_H

#include <program/costs.h>
#include <stddef.h>

/**
 * peet_costs_path() - the table that came with this peet: peet/costs.bin in the folder of the library that holds this
 * function, or in ../lib of the program that does
 * Returns: 0, or PEET_ELIMIT, PEET_EIO
 */
int peet_costs_path(char *out_path, size_t bytes, struct peet_error *error);

/** peet_costs_named() - peet_costs_processor(), with the nearest name in the message if there is none of that name */
int peet_costs_named(struct peet_costs *costs, const char *mcpu, const struct peet_processor **out_processor,
    struct peet_error *error);

#endif
