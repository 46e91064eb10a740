/* SPDX-License-Identifier: Apache-2.0 */
/* What the run's configuration supposes, for the mapper: --free and --scale (engine/suppose.c). */
#ifndef PEET_HOST_SUPPOSE_H
#define PEET_HOST_SUPPOSE_H

#include "config/config.h"
#include "mapper.h"

/** peet_host_suppose() - fill in the mapper's configuration; it lives as long as the process.  Returns: 0 or
 * PEET_ENOMEM */
int peet_host_suppose(const struct peet_config *config, struct peet_map_config *map, struct peet_error *error);

/** peet_host_suppose_check() - after the run: a name that nothing had.  Returns: 0 or PEET_EINVALID */
int peet_host_suppose_check(const struct peet_map *map, struct peet_error *error);

#endif
