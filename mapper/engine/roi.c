/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums over the regions of interest.  The mapper calls peet__roi_mark() when a marker is delivered. Whatever other
 * hardware contexts have done by then counts as before the marker.
 */
#include "state/map.h"
#include "base/stats.h"

#include <stdlib.h>

static struct peet_map_roi_sums sums_of(const struct peet_map *map, uint64_t now)
{
    struct peet_map_totals t;

    peet_map_totals(map, &t);
    return (struct peet_map_roi_sums){now, t.counts.instructions, t.blocks, t.counts.reads, t.counts.writes};
}

static void add_difference(struct peet_map_roi_sums *to, struct peet_map_roi_sums end, struct peet_map_roi_sums begin)
{
    to->cycles += end.cycles - begin.cycles;
    to->instructions += end.instructions - begin.instructions;
    to->blocks += end.blocks - begin.blocks;
    to->reads += end.reads - begin.reads;
    to->writes += end.writes - begin.writes;
}

/** At the latest time a hardware context has come to; those that idle have idled up to then. */
static void add_hw(struct peet_map_hw *to, const struct peet_map *map, unsigned hw, uint64_t now,
    const struct peet_map_hw *begin)
{
    struct peet_map_hw end;

    peet_map_hw(map, hw, now, &end);
    to->busy_cycles += end.busy_cycles - begin->busy_cycles;
    to->stalled_cycles += end.stalled_cycles - begin->stalled_cycles;
    to->instructions += end.instructions - begin->instructions;
    to->switches += end.switches - begin->switches;
}

void peet__roi_hide(struct peet_map *map, int hide)
{
    struct peet_map_roi *roi = &map->roi;

    if (roi->hidden == hide)
        return;
    if (hide) {
        roi->machine_block = map->machine_block;
        roi->nblock_observers = map->nblock_observers;
        roi->nshown = map->nshown;
        map->machine_block = NULL;
        map->nblock_observers = map->nshown = 0;
    } else {
        map->machine_block = roi->machine_block;
        map->nblock_observers = roi->nblock_observers;
        map->nshown = roi->nshown;
    }
    map->batched = 0;
    roi->hidden = (uint8_t)hide;
}

int peet__roi_mark(struct peet_map *map, uint64_t now, int begin)
{
    struct peet_map_roi *roi = &map->roi;
    const uint64_t end = peet_map_cycles(map);

    if (begin == roi->is_open)
        return 0;
    peet__map_settle_direct(map);
    if (!roi->hw_open) {
        roi->hw_open = calloc(map->ncores, sizeof *roi->hw_open);
        roi->hw_closed = calloc(map->ncores, sizeof *roi->hw_closed);
        if (!roi->hw_open || !roi->hw_closed)
            return PEET_ENOMEM;
    }
    if (begin) {
        roi->open = sums_of(map, now);
        for (unsigned i = 0; i < map->ncores; i++)
            peet_map_hw(map, i, end, &roi->hw_open[i]);
        roi->regions++;
    } else {
        add_difference(&roi->closed, sums_of(map, now), roi->open);
        for (unsigned i = 0; i < map->ncores; i++)
            add_hw(&roi->hw_closed[i], map, i, end, &roi->hw_open[i]);
    }
    roi->is_open = (uint8_t)begin;
    if (map->config.roi_only)
        peet__roi_hide(map, !begin);
    return 0;
}

uint64_t peet_map_regions(const struct peet_map *map)
{
    return map->roi.regions;
}

json_t *peet__roi_json(const struct peet_map *map)
{
    const struct peet_map_roi *roi = &map->roi;
    const uint64_t end = peet_map_cycles(map);
    struct peet_map_roi_sums s = roi->closed;
    json_t *list = json_array();

    if (roi->is_open) /* to the end of the run */
        add_difference(&s, sums_of(map, end), roi->open);
    for (unsigned i = 0; list && roi->regions && i < map->ncores; i++) {
        struct peet_map_hw hw = roi->hw_closed[i];

        if (roi->is_open)
            add_hw(&hw, map, i, end, &roi->hw_open[i]);
        if (json_array_append_new(list,
                json_pack("{s:o,s:o,s:o}", "busy_cycles", peet_stats_u64(hw.busy_cycles), "stalled_cycles",
                    peet_stats_u64(hw.stalled_cycles), "instructions", peet_stats_u64(hw.instructions)))) {
            json_decref(list);
            return NULL;
        }
    }
    return json_pack("{s:o,s:o,s:o,s:o,s:o,s:o,s:o}", "regions", peet_stats_u64(roi->regions), "cycles",
        peet_stats_u64(s.cycles), "instructions", peet_stats_u64(s.instructions), "blocks", peet_stats_u64(s.blocks),
        "reads", peet_stats_u64(s.reads), "writes", peet_stats_u64(s.writes), "hw", list);
}

void peet__roi_fini(struct peet_map *map)
{
    free(map->roi.hw_open);
    free(map->roi.hw_closed);
}
