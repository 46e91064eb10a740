/* SPDX-License-Identifier: Apache-2.0 */
/* The results of dtrack, as they stand in stats.json below "dtrack"; the keys are described in docs/DTRACK.md. */
#include "dtrack.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const cause_keys[PEET_MISS_CAUSES] = {
    "unknown", "cold", "capacity", "conflict", "upgrade", "true_sharing", "false_sharing"};

/** @data: what of it the program's references are: shares are of these */
static void put_level(const struct dtrack *self, const struct peet_env *env, struct peet_stats *list,
    const struct dtrack_tally *t, const struct dtrack_tally *data, unsigned level)
{
    const struct dtrack_level *l = &t->levels[level];
    const uint64_t accesses = dtrack__accesses(t, level), misses = dtrack__misses(t, level),
                   of = dtrack__accesses(data, level);
    struct peet_stats *o = env->stats_object(env, list, NULL), *causes;

    env->stats_string(env, o, "name", self->levels[level].name);
    env->stats_u64(env, o, "accesses", accesses);
    env->stats_u64(env, o, "misses", misses);
    env->stats_f64(env, o, level ? "misses_per_miss_before" : "misses_per_access",
        of ? (double)dtrack__misses(data, level) / (double)of : 0);
    env->stats_u64(env, o, "read_misses", l->read_misses);
    env->stats_u64(env, o, "write_misses", l->write_misses);
    env->stats_u64(env, o, "upgrades", l->upgrades);
    env->stats_u64(env, o, "prefetched_lines", l->prefetches);
    env->stats_u64(env, o, "miss_cycles", l->miss_cycles);
    causes = env->stats_object(env, o, "misses_by_cause");
    for (unsigned c = 0; c < PEET_MISS_CAUSES; c++)
        if (l->causes[c] && c != PEET_MISS_UPGRADE)
            env->stats_u64(env, causes, cause_keys[c], l->causes[c]);
    env->stats_u64(env, o, "evicted_lines", l->evictions);
    env->stats_u64(env, o, "invalidated_lines", l->invalidations);
    env->stats_u64(env, o, "premature_evictions_by_same", l->premature_same);
    env->stats_u64(env, o, "premature_evictions_by_other", l->premature_other);
}

static void put_tally(const struct dtrack *self, const struct peet_env *env, struct peet_stats *o,
    const struct dtrack_tally *t, const struct dtrack_tally *data)
{
    struct peet_stats *list;

    env->stats_u64(env, o, "reads", t->reads);
    env->stats_u64(env, o, "writes", t->writes);
    env->stats_u64(env, o, "second_line_accesses", t->misaligned);
    list = env->stats_array(env, o, "levels");
    for (unsigned l = 0; l < self->nlevels; l++)
        put_level(self, env, list, t, data, l);
    env->stats_u64(env, o, "stalls", t->stalls);
    env->stats_u64(env, o, "stall_cycles", t->stall_cycles);
    list = env->stats_array(env, o, "stall_cycles_by_serving_level");
    for (unsigned l = 0; l < self->nlevels + 2; l++)
        env->stats_u64(env, list, NULL, t->stall_served_cycles[l]);
}

static void put_data(const struct peet_env *env, struct peet_stats *o, const struct dtrack_row *row)
{
    const struct peet_data *d = row->data;

    env->stats_u64(env, o, "id", d->id);
    env->stats_string(env, o, "kind", dtrack__kind_name(d->kind));
    env->stats_string(env, o, "type", d->type ? d->type : "");
    env->stats_string(env, o, "file", d->file ? d->file : "");
    env->stats_string(env, o, "function", d->function ? d->function : "");
    env->stats_u64(env, o, "line", d->line);
    env->stats_string(env, o, "path", d->path ? d->path : "");
    env->stats_u64(env, o, "element_bytes", d->element_bytes);
    env->stats_u64(env, o, "objects", d->objects);
    env->stats_u64(env, o, "objects_live", d->objects_live);
    env->stats_u64(env, o, "bytes", d->bytes);
    env->stats_u64(env, o, "bytes_live", d->bytes_live);
    env->stats_u64(env, o, "bytes_peak", d->bytes_peak);
    env->stats_string(env, o, "container", dtrack__container(d));
    env->stats_string(env, o, "pattern", dtrack__pattern_name(&row->pattern));
    env->stats_f64(env, o, "regular_share",
        row->pattern.accesses > 0 ? row->pattern.regular_accesses / row->pattern.accesses : 0);
    env->stats_f64(env, o, "stride_entropy_bits", row->pattern.bits);
}

/** Its lines by class.  Returns: the class with most coherence misses, or lines if there are none */
static enum dtrack_class put_sharing(const struct dtrack *self, const struct peet_env *env, struct peet_stats *o,
    const struct dtrack_row *row)
{
    struct dtrack_watched *const *lines;
    const size_t n = dtrack__watched(self->sharing, &lines);
    uint64_t count[DTRACK_CLASSES] = {row->tally->private_lines, row->tally->shared_lines},
             misses[DTRACK_CLASSES] = {0};
    unsigned most = 0;
    struct peet_stats *list;

    for (size_t i = 0; i < n; i++)
        if (lines[i]->data == row->id) {
            enum dtrack_class c = dtrack__class(lines[i]);

            count[c]++;
            misses[c] += lines[i]->true_misses + lines[i]->false_misses;
        }
    for (unsigned c = 1; c < DTRACK_CLASSES; c++)
        if (misses[c] > misses[most] || (misses[c] == misses[most] && count[c] > count[most]))
            most = c;
    o = env->stats_object(env, o, "sharing");
    env->stats_string(env, o, "class", dtrack__class_names[most]);
    list = env->stats_object(env, o, "lines");
    for (unsigned c = 0; c < DTRACK_CLASSES; c++)
        env->stats_u64(env, list, dtrack__class_names[c], count[c]);
    env->stats_u64(env, o, "true_sharing_misses", row->tally->true_misses);
    env->stats_u64(env, o, "false_sharing_misses", row->tally->false_misses);
    return most;
}

/* ----------------------------------------------------------------------------------------- false sharing */

static int by_false_misses(const void *a, const void *b)
{
    const struct dtrack_watched *x = *(struct dtrack_watched *const *)a, *y = *(struct dtrack_watched *const *)b;

    if (x->false_misses != y->false_misses)
        return x->false_misses > y->false_misses ? -1 : 1;
    return x->line < y->line ? -1 : x->line > y->line;
}

static void put_site(const struct dtrack *self, const struct peet_env *env, struct peet_stats *list,
    const struct dtrack_site *s)
{
    struct peet_stats *o = env->stats_object(env, list, NULL);
    const struct peet_data *data = env->data(env, s->data);
    char name[200], text[200] = "";

    env->stats_u64(env, o, "processor",
        (uint64_t)s->cache * (self->levels[0].shared_by ? self->levels[0].shared_by : 1));
    env->stats_string(env, o, "access", s->write ? "write" : "read");
    env->stats_string(env, o, "structure", dtrack__name(self, s->data, name, sizeof name));
    env->stats_u64(env, o, "object", s->object);
    env->stats_u64(env, o, "offset_bytes", s->offset);
    env->stats_u64(env, o, "bytes", (uint64_t)(s->last_word - s->first_word + 1) * dtrack__word_bytes(self));
    if (env->data_member && data)
        env->data_member(env, data, s->offset, text, sizeof text);
    env->stats_string(env, o, "field", text);
    env->stats_string(env, o, "function", s->function ? s->function->name : "");
    env->stats_string(env, o, "file", s->function && s->function->file ? s->function->file : "");
    env->stats_u64(env, o, "line", s->line);
    env->stats_u64(env, o, "times", s->count);
}

/** By cache, each one's in the order in which it came to them. */
static void put_sites(const struct dtrack *self, const struct peet_env *env, struct peet_stats *list,
    const struct dtrack_watched *w)
{
    for (uint64_t next = 0;;) {
        const struct dtrack_side *side = NULL;

        for (uint32_t i = 0; i < w->nsides; i++)
            if (w->sides[i].cache >= next && (!side || w->sides[i].cache < side->cache))
                side = &w->sides[i];
        if (!side)
            return;
        for (uint32_t k = 0; k < side->nsites; k++)
            put_site(self, env, list, &side->sites[k]);
        next = (uint64_t)side->cache + 1;
    }
}

static void put_false_sharing(const struct dtrack *self, const struct peet_env *env, struct peet_stats *node)
{
    struct dtrack_watched *const *lines, **sorted;
    const size_t n = dtrack__watched(self->sharing, &lines);
    struct peet_stats *list = env->stats_array(env, node, "falsely_shared_lines");

    sorted = malloc((n + 1) * sizeof *sorted);
    if (!sorted)
        return;
    if (n)
        memcpy(sorted, lines, n * sizeof *sorted);
    qsort(sorted, n, sizeof *sorted, by_false_misses);
    for (size_t i = 0; i < n && i < self->lines && sorted[i]->false_misses; i++) {
        const struct dtrack_watched *w = sorted[i];
        struct peet_stats *o = env->stats_object(env, list, NULL), *sites;
        char name[200];

        snprintf(name, sizeof name, "0x%llx", (unsigned long long)w->line);
        env->stats_string(env, o, "address", name);
        env->stats_string(env, o, "structure", dtrack__name(self, w->data, name, sizeof name));
        env->stats_u64(env, o, "structure_id", w->data);
        env->stats_string(env, o, "class", dtrack__class_names[dtrack__class(w)]);
        env->stats_u64(env, o, "false_sharing_misses", w->false_misses);
        env->stats_u64(env, o, "true_sharing_misses", w->true_misses);
        sites = env->stats_array(env, o, "accesses");
        put_sites(self, env, sites, w);
    }
    free(sorted);
}

/* --------------------------------------------------------------------------------------------- the rest */

static void put_pairs(const struct dtrack *self, const struct peet_env *env, struct peet_stats *node)
{
    struct dtrack_pair *pairs;
    const size_t n = dtrack__pairs(self->evict, &pairs);
    struct peet_stats *list = env->stats_array(env, node, "premature_evictions");

    for (size_t i = 0; i < n; i++) {
        struct peet_stats *o = env->stats_object(env, list, NULL);
        char name[200];

        env->stats_string(env, o, "level", self->levels[pairs[i].level].name);
        env->stats_string(env, o, "victim", dtrack__name(self, pairs[i].victim, name, sizeof name));
        env->stats_u64(env, o, "victim_id", pairs[i].victim);
        env->stats_string(env, o, "evictor", dtrack__name(self, pairs[i].evictor, name, sizeof name));
        env->stats_u64(env, o, "evictor_id", pairs[i].evictor);
        env->stats_u64(env, o, "count", pairs[i].count);
    }
    free(pairs);
}

static int touched(const struct dtrack_tally *t)
{
    uint64_t any = t->reads | t->writes | t->stalls | t->private_lines | t->shared_lines;

    for (unsigned l = 0; l < DTRACK_LEVELS; l++)
        any |= dtrack__misses(t, l) | t->levels[l].upgrades | t->levels[l].prefetches | t->levels[l].evictions |
            t->levels[l].invalidations;
    return any != 0;
}

static void add(struct dtrack_tally *sum, const struct dtrack_tally *t)
{
    sum->reads += t->reads;
    sum->writes += t->writes;
    sum->misaligned += t->misaligned;
    sum->stalls += t->stalls;
    sum->stall_cycles += t->stall_cycles;
    for (unsigned l = 0; l < DTRACK_SERVED; l++)
        sum->stall_served_cycles[l] += t->stall_served_cycles[l];
    for (unsigned l = 0; l < DTRACK_LEVELS; l++) {
        const uint64_t *from = (const uint64_t *)&t->levels[l];
        uint64_t *to = (uint64_t *)&sum->levels[l];

        _Static_assert(sizeof t->levels[l] % sizeof *from == 0, "counters only");
        for (size_t i = 0; i < sizeof t->levels[l] / sizeof *from; i++)
            to[i] += from[i];
    }
}

/** Most misses first, as far out as there are levels; then accesses. */
static int by_misses(const void *a, const void *b)
{
    const struct dtrack_row *x = a, *y = b;
    const uint64_t mx = dtrack__misses(x->tally, 0), my = dtrack__misses(y->tally, 0);
    const uint64_t ax = x->tally->reads + x->tally->writes, ay = y->tally->reads + y->tally->writes;

    if (mx != my)
        return mx > my ? -1 : 1;
    if (ax != ay)
        return ax > ay ? -1 : 1;
    return x->id < y->id ? -1 : x->id > y->id;
}

static void put_levels(const struct dtrack *self, const struct peet_env *env, struct peet_stats *node)
{
    struct peet_stats *list = env->stats_array(env, node, "levels");

    for (unsigned l = 0; l < self->nlevels; l++) {
        struct peet_stats *o = env->stats_object(env, list, NULL);

        env->stats_string(env, o, "name", self->levels[l].name);
        env->stats_u64(env, o, "size_bytes", self->levels[l].size_bytes);
        env->stats_u64(env, o, "line_bytes", self->levels[l].line_bytes);
        env->stats_u64(env, o, "shared_by_hw", self->levels[l].shared_by);
    }
}

void dtrack__stats(struct dtrack *self, const struct peet_env *env, struct peet_stats *node)
{
    struct dtrack_row *rows = calloc(self->ntallies + 1, sizeof *rows);
    struct dtrack_pattern *patterns = dtrack__patterns(self);
    struct dtrack_tally sum = {0}, references;
    struct peet_stats *list, *o;
    size_t n = 0;
    char name[200];

    if (!rows || !patterns) {
        free(rows);
        free(patterns);
        dtrack__no_memory(self);
        return;
    }
    for (uint32_t id = 0; id < self->ntallies; id++) {
        const struct peet_data *data = touched(&self->tallies[id]) ? env->data(env, id) : NULL;

        if (!data)
            continue;
        rows[n++] = (struct dtrack_row){id, data, &self->tallies[id], patterns[id]};
        add(&sum, &self->tallies[id]);
    }
    references = sum;
    add(&sum, &self->code);
    add(&sum, &self->walks);
    qsort(rows, n, sizeof *rows, by_misses);

    put_levels(self, env, node);
    o = env->stats_object(env, node, "totals");
    put_tally(self, env, o, &sum, &references);
    list = env->stats_array(env, node, "structures");
    for (size_t i = 0; i < n; i++) {
        o = env->stats_object(env, list, NULL);
        env->stats_string(env, o, "name", dtrack__name(self, rows[i].id, name, sizeof name));
        put_data(env, o, &rows[i]);
        put_tally(self, env, o, rows[i].tally, rows[i].tally);
        if (self->sharing)
            put_sharing(self, env, o, &rows[i]);
    }
    put_tally(self, env, env->stats_object(env, node, "instruction_fetches"), &self->code, &self->code);
    put_tally(self, env, env->stats_object(env, node, "page_walks"), &self->walks, &self->walks);
    put_pairs(self, env, node);
    if (self->sharing)
        put_false_sharing(self, env, node);
    dtrack__tables(self, env, node, rows, n);
    free(rows);
    free(patterns);
}
