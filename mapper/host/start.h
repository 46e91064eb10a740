/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The modules of a run: loaded, and made.  One that crashes, aborts or hangs while it is made is named, as later
 * (guard.h).  Number 0 is the machine, then come the observers, then the followers.
 */
#ifndef PEET_HOST_START_H
#define PEET_HOST_START_H

#include "config/config.h"
#include "mapper.h"
#include "modules/modhost.h"

/**
 * peet_host_load_module() - module number @i of the configuration, and the values of its parameters
 * @out_values: the caller's to free
 * Returns: 0 or a peet_err
 */
int peet_host_load_module(const struct peet_config *config, size_t i, struct peet_modhost_module *out_module,
    union peet_value **out_values, struct peet_error *error);

/**
 * peet_host_start_module() - make it, and tell the mapper
 * Returns: 0 or a peet_err; the mapper is of no use then
 */
int peet_host_start_module(struct peet_map *map, const struct peet_config *config, size_t i,
    const struct peet_module *module, const union peet_value *values, struct peet_error *error);

/** peet_host_start_failed() - has a module failed when it was made, rather than refused what was asked of it? */
int peet_host_start_failed(void);

#endif
