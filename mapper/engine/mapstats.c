/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the mapper knows, as numbers and as a part of stats.json.  The numbers may be asked for before the run has
 * ended, when the subject crashes. Then every hardware context is accounted for up to the latest clock.
 */
#include "engine/queue.h"
#include "state/map.h"
#include "sync/sync.h"
#include "base/stats.h"

#include <stdio.h>
#include <string.h>

int peet_map_exit_status(const struct peet_map *map)
{
    return map->exit_status;
}

uint32_t peet_map_exit_source(const struct peet_map *map)
{
    return map->exit_source;
}

uint64_t peet_map_cycles(const struct peet_map *map)
{
    uint64_t cycles = 0;

    for (unsigned i = 0; i < map->ncores; i++)
        if (map->cores[i].clock > cycles)
            cycles = map->cores[i].clock;
    return cycles;
}

uint64_t peet_map_executed(struct peet_map *map, const struct peet_block *block)
{
    return block->id < map->nexecutions ? map->executions[block->id].times : 0;
}

uint64_t peet_map_frequency_hz(const struct peet_map *map)
{
    return map->config.frequency_hz;
}

unsigned peet_map_nhw(const struct peet_map *map)
{
    return map->ncores;
}

void peet_map_hw(const struct peet_map *map, unsigned hw, uint64_t end_cycles, struct peet_map_hw *out)
{
    const struct peet_map_core *core = &map->cores[hw];

    *out = (struct peet_map_hw){core->clock - core->stalled - core->idle, core->stalled,
        core->idle + end_cycles - core->clock, core->instructions, core->switches};
}

void peet_map_totals(const struct peet_map *map, struct peet_map_totals *out)
{
    *out = map->totals;
    out->events = map->nevents;
    out->contexts = map->next_number;
    out->counts = map->varying;
    for (uint32_t i = 0; i < map->nexecutions; i++) {
        struct peet_counts one = {0, 0, 0};

        if (!map->executions[i].times)
            continue;
        peet_count_static(map->executions[i].block, PEET_COUNT_CALLGRIND, &one);
        out->blocks += map->executions[i].times;
        out->counts.reads += one.reads * map->executions[i].times;
        out->counts.writes += one.writes * map->executions[i].times;
    }
    out->counts.instructions = 0;
    for (unsigned i = 0; i < map->ncores; i++)
        out->counts.instructions += map->cores[i].instructions;
}

unsigned peet_map_current(const struct peet_map *map)
{
    return map->current;
}

void peet_map_progress(const struct peet_map *map, uint32_t source, uint64_t *out_cycle, uint64_t *out_instructions)
{
    const struct peet_map_core *core = &map->cores[map->current];
    const struct peet_map_context *c = source < map->nsources ? map->contexts[source] : NULL;

    *out_cycle = core->clock;
    *out_instructions = c ? c->instructions : 0;
    if (c && core->context == c)
        *out_instructions += core->instructions - core->settled;
}

int peet_map_counts_own(const struct peet_map *map)
{
    return map->config.lock_model == PEET_LOCK_NONE;
}

uint32_t peet_map_number(const struct peet_map *map, uint32_t source)
{
    return source < map->nsources && map->contexts[source] ? map->contexts[source]->number : source;
}

static json_t *hw_json(const struct peet_map *map)
{
    const uint64_t end_cycles = peet_map_cycles(map);
    json_t *list = json_array();

    for (unsigned i = 0; list && i < map->ncores; i++) {
        struct peet_map_hw hw;

        peet_map_hw(map, i, end_cycles, &hw);
        if (json_array_append_new(list,
                json_pack("{s:o,s:o,s:o,s:o,s:o}", "busy_cycles", peet_stats_u64(hw.busy_cycles), "stalled_cycles",
                    peet_stats_u64(hw.stalled_cycles), "idle_cycles", peet_stats_u64(hw.idle_cycles), "instructions",
                    peet_stats_u64(hw.instructions), "switches", peet_stats_u64(hw.switches)))) {
            json_decref(list);
            return NULL;
        }
    }
    return list;
}

/** Those that are over have a record; those that are not are looked up. */
static json_t *contexts_json(struct peet_map *map)
{
    const uint64_t now = peet_map_cycles(map);
    json_t *list = json_array();
    uint32_t n = map->next_number < PEET_MAP_LISTED ? map->next_number : PEET_MAP_LISTED;

    for (uint32_t s = 0; s < map->nsources; s++) {
        const struct peet_map_context *c = map->contexts[s];

        if (c && c->state != PEET_MAP_PARKED) {
            uint64_t instructions = c->instructions;

            if (c->state == PEET_MAP_RUNNING && map->cores[c->last_hw].context == c)
                instructions += map->cores[c->last_hw].instructions - map->cores[c->last_hw].settled;
            if (c->number < PEET_MAP_LISTED)
                map->records[c->number] = (struct peet_map_record){c->first_cycle, now, instructions,
                    c->loop         ? "iteration"
                        : c->number ? "thread"
                                    : "main"};
        }
    }
    for (uint32_t i = 0; list && i < n; i++) {
        const struct peet_map_record *r = &map->records[i];

        if (r->kind &&
            json_array_append_new(list,
                json_pack("{s:I,s:s,s:o,s:o,s:o}", "number", (json_int_t)i, "kind", r->kind, "first_cycle",
                    peet_stats_u64(r->first_cycle), "last_cycle", peet_stats_u64(r->last_cycle), "instructions",
                    peet_stats_u64(r->instructions)))) {
            json_decref(list);
            return NULL;
        }
    }
    return list;
}

int peet__map_module_json(struct peet_map *map, struct peet_map_module *m, json_t *root)
{
    char key[256];
    json_t *node = json_object();

    if (!node)
        return -1;
    /* a second instance of a module, or a module that is called like one of our own keys */
    snprintf(key, sizeof key, "%s", m->module->name);
    for (unsigned i = 2; json_object_get(root, key) && i < 1000; i++)
        snprintf(key, sizeof key, "%.200s_%u", m->module->name, i);
    if (json_object_set_new(root, key, node))
        return -1;
    map->ending = m;
    map->ending_stats = 1;
    if (m->module->stats && !m->failed)
        m->module->stats(m->self, &m->env, peet_stats_node(node));
    map->ending = NULL;
    return m->failed && json_object_set_new(node, "failed", peet_stats_text(m->failed));
}

/** The same of a follower in a process of its own. */
static int away_json(struct peet_map *map, struct peet_map_module *m, json_t *root)
{
    json_t *said = m->failed ? NULL : peet__crew_stats(map, m);
    const int bad = said ? json_object_update(root, said) : peet__map_module_json(map, m, root);

    json_decref(said);
    return bad;
}

/** One object for each follower: {"number": 1, "module": "bus", "bus": {...}} */
static int followers_json(struct peet_map *map, json_t *root)
{
    json_t *list = map->nfollowers ? json_array() : NULL;
    int bad = map->nfollowers && (!list || json_object_set_new(root, "followers", list));

    for (unsigned i = 0; !bad && i < map->nobservers; i++) {
        struct peet_map_module *m = map->observers[i];
        json_t *one;

        if (!m->follower)
            continue;
        one = json_pack("{s:i,s:s}", "number", (int)m->follower, "module", m->module->name);
        bad = !one || json_array_append_new(list, one) ||
            (m->away ? away_json(map, m, one) : peet__map_module_json(map, m, one));
    }
    return bad;
}

int peet_map_stats(struct peet_map *map, json_t *root, struct peet_error *error)
{
    uint32_t omitted = map->next_number > PEET_MAP_LISTED ? map->next_number - PEET_MAP_LISTED : 0;
    struct peet_error before = map->error;
    struct peet_map_totals t;
    int bad;

    peet__map_settle_direct(map);
    peet__map_settle_followers(map);
    peet_map_totals(map, &t);
    bad = json_object_set_new(root, "time",
              json_pack("{s:o,s:f,s:o}", "cycles", peet_stats_u64(peet_map_cycles(map)), "seconds",
                  (double)peet_map_cycles(map) / (double)map->config.frequency_hz, "frequency_hz",
                  peet_stats_u64(map->config.frequency_hz))) ||
        json_object_set_new(root, "totals",
            json_pack("{s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:b}", "instructions", peet_stats_u64(t.counts.instructions),
                "blocks", peet_stats_u64(t.blocks), "reads", peet_stats_u64(t.counts.reads), "writes",
                peet_stats_u64(t.counts.writes), "contexts", peet_stats_u64(t.contexts), "loops",
                peet_stats_u64(t.loops), "iterations", peet_stats_u64(t.iterations), "skipped_iterations",
                peet_stats_u64(t.skipped_iterations), "exact", !map->inexact)) ||
        json_object_set_new(root, "roi", peet__roi_json(map)) || json_object_set_new(root, "hw", hw_json(map)) ||
        json_object_set_new(root, "contexts", contexts_json(map)) ||
        json_object_set_new(root, "contexts_omitted", json_integer(omitted)) ||
        json_object_set_new(root, "hot", peet__hot_json(map)) || peet__sync_stats(map, root);
    if (!bad && map->machine)
        bad = peet__map_module_json(map, map->machine, root);
    for (unsigned i = 0; !bad && i < map->nobservers; i++)
        bad = map->observers[i]->follower ? 0 : peet__map_module_json(map, map->observers[i], root);
    if (!bad)
        bad = followers_json(map, root);
    map->error = before; /* what a module says here is in its place in the tree */
    return bad ? peet_error_set(error, PEET_ENOMEM, "statistics: out of memory") : 0;
}
