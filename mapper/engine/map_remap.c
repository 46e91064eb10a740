/* SPDX-License-Identifier: Apache-2.0 */
/*
 * References get the addresses of another layout before modules see them (remap.h): references of blocks, and
 * operations on ranges. Where the other layout divides the data of a range, the operation is divided, too.
 */
#include "state/map.h"
#include "data/remap.h"

#include <string.h>

enum { OPERATION, DESTINATION, SOURCE, BYTES };

void peet__map_remap(struct peet_map *map, struct peet_block_event *events, unsigned n)
{
    peet_remap_blocks(map->config.remap, events, n);
    if (peet_remap_error(map->config.remap))
        peet__map_fail(map, PEET_EINVALID, "%s", peet_remap_error(map->config.remap));
}

/** How many bytes lie side by side from here on, and where. */
static uint64_t run_of(struct peet_remap *remap, uint64_t address, uint64_t bytes, uint64_t *out_to)
{
    uint64_t run, more;

    *out_to = peet_remap_address(remap, address, &run);
    while (run < bytes && peet_remap_address(remap, address + run, &more) == *out_to + run)
        run += more;
    return run < bytes ? run : bytes;
}

void peet__map_remap_range(struct peet_map *map, struct peet_map_context *c, uint64_t args[4])
{
    uint64_t destination, source, bytes = args[BYTES], run;

    /* an operation that has no source, or no destination, has 0 there: it does not end the piece early */
    run = run_of(map->config.remap, args[DESTINATION], bytes, &destination);
    if (args[DESTINATION] && run < bytes)
        bytes = run;
    run = run_of(map->config.remap, args[SOURCE], bytes, &source);
    if (args[SOURCE] && run < bytes)
        bytes = run;
    if (bytes < args[BYTES]) {
        c->next_step = PEET_STEP_PIECES;
        memcpy(c->range, args, sizeof c->range);
        c->range[OPERATION] |= PEET_SYNTHETIC_MORE;
        c->range[DESTINATION] += args[DESTINATION] ? bytes : 0;
        c->range[SOURCE] += args[SOURCE] ? bytes : 0;
        c->range[BYTES] -= bytes;
    }
    args[DESTINATION] = destination;
    args[SOURCE] = source;
    args[BYTES] = bytes;
}
