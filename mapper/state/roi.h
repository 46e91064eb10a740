/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The region of interest: what the run did between a program's marks ROI_BEGIN and ROI_END.
 */
#ifndef PEET_MAP_ROI_H
#define PEET_MAP_ROI_H

#include <jansson.h>
#include <stdint.h>
#include <peet/module.h>

struct peet_map;

/** What is measured in a region, or stood on the books when the open one began. */
struct peet_map_roi_sums {
    uint64_t cycles, instructions, blocks, reads, writes;
};

/** Regions do not nest: a begin inside one and an end outside say nothing.  What stands on the books while one is
 *  open is taken off when it is asked for. */
struct peet_map_roi {
    struct peet_map_roi_sums closed, open;
    struct peet_map_hw *hw_closed, *hw_open; /* per hardware context; NULL before the first region */
    uint64_t regions;
    uint8_t is_open;
    uint8_t hidden; /* modules do not see blocks now: outside, with roi_only */
    /* meanwhile; see struct peet_map */
    uint64_t (*machine_block)(void *, unsigned, const struct peet_block_event *, uint64_t);
    unsigned nblock_observers, nshown;
};

/** With roi_only: hide blocks from the modules, or show them again.  Outside, time passes at the blocks' static costs.
 */
void peet__roi_hide(struct peet_map *map, int hide);
/** A context at the clock of hardware context hw begins (or ends) the region.  Returns 0 or PEET_ENOMEM */
int peet__roi_mark(struct peet_map *map, uint64_t now, int begin);
/** Object "roi" of the statistics; NULL: out of memory */
json_t *peet__roi_json(const struct peet_map *map);
void peet__roi_fini(struct peet_map *map);

#endif
