/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Results.  Everything is counts, so that others can add them up; the terminal's table has rates.
 *
 * A tally: "references"; "reuse", for each width from 512 bytes down to 4 an array of 19 counts (within 1, 2, 4, …
 * 65536 lines, beyond, never before); "same", for each of the seven halvings an array of 18 counts; "strided", for lines
 * of 64 bytes an array of 19 counts.
 */
#include "sampled.h"

#include <stdio.h>
#include <stdlib.h>

static void numbers(const struct peet_env *env, struct peet_stats *node, const char *key, const uint64_t *values,
    unsigned n)
{
    struct peet_stats *list = env->stats_array(env, node, key);

    for (unsigned i = 0; i < n; i++)
        env->stats_u64(env, list, NULL, values[i]);
}

static void tally(const struct peet_env *env, struct peet_stats *node, const struct peet_sim_tally *t)
{
    struct peet_stats *list;

    env->stats_u64(env, node, "references", t->references);
    list = env->stats_array(env, node, "reuse");
    for (unsigned w = 0; w < PEET_SIM_WIDTHS; w++)
        numbers(env, list, NULL, t->reuse[w], PEET_SIM_BUCKETS);
    list = env->stats_array(env, node, "same");
    for (unsigned h = 0; h < PEET_SIM_HALVINGS; h++)
        numbers(env, list, NULL, t->same[h], PEET_SIM_BUCKETS - 1);
    numbers(env, node, "strided", t->strided, PEET_SIM_BUCKETS);
}

/** The paper's 24 numbers. */
static void signature(const struct peet_env *env, struct peet_stats *node, const struct peet_sim_tally *t)
{
    struct peet_stats *list = env->stats_array(env, node, "reuse_cdf_512_bytes");

    for (unsigned k = 0; k < PEET_SIM_DEPTHS; k++)
        env->stats_f64(env, list, NULL, t->references ? (double)peet_sim_hits(t, 0, k) / (double)t->references : 0);
    list = env->stats_array(env, node, "alphas");
    for (unsigned h = 0; h < PEET_SIM_HALVINGS; h++) {
        uint64_t reused = 0, same = 0;

        for (unsigned k = 0; k < PEET_SIM_COLD; k++) {
            reused += t->reuse[h][k];
            same += t->same[h][k];
        }
        env->stats_f64(env, list, NULL, reused ? (double)same / (double)reused : 1);
    }
}

static void table(const struct peet_env *env, struct peet_stats *tables, const char *title,
    const struct peet_sim_tally *t)
{
    static const unsigned depths[] = {0, 2, 4, 6, 8, 10, 12, 14, 16};
    struct peet_stats *o = env->stats_object(env, tables, NULL), *list, *row;
    char text[40];

    env->stats_string(env, o, "title", title);
    list = env->stats_array(env, o, "columns");
    env->stats_string(env, list, NULL, "line");
    for (unsigned i = 0; i < sizeof depths / sizeof *depths; i++) {
        snprintf(text, sizeof text, "%u", 1u << depths[i]);
        env->stats_string(env, list, NULL, text);
    }
    list = env->stats_array(env, o, "rows");
    for (unsigned w = PEET_SIM_WIDTHS; w-- > 0;) {
        row = env->stats_array(env, list, NULL);
        snprintf(text, sizeof text, "%u B", peet_sim_bytes_of_width(w));
        env->stats_string(env, row, NULL, text);
        for (unsigned i = 0; i < sizeof depths / sizeof *depths; i++) {
            snprintf(text, sizeof text, "%.2f",
                t->references ? 100 * (double)peet_sim_hits(t, w, depths[i]) / (double)t->references : 0);
            env->stats_string(env, row, NULL, text);
        }
    }
}

/* ------------------------------------------------------------------------------------------------- lines */

static void lines(const struct locality *self, const struct peet_env *env, struct peet_stats *node)
{
    const struct locality_lines *l = self->lines;
    struct peet_stats *o = env->stats_object(env, node, "lines"), *list, *one;
    struct locality_sharing s;
    unsigned last = 0;
    uint64_t beyond = l->cold;
    double sum = 0;

    locality__lines_sharing(l, &s);
    env->stats_u64(env, o, "line_bytes", 1ull << self->line_shift);
    env->stats_u64(env, o, "footprint_bytes", s.lines << self->line_shift);
    env->stats_u64(env, o, "first_references", l->cold);
    for (unsigned b = 0; b < LOCALITY_TIMES; b++) {
        beyond += l->count[b];
        last = l->count[b] ? b : last;
    }
    list = env->stats_array(env, o, "reuse_times");
    for (unsigned b = 0; b <= last; b++) {
        beyond -= l->count[b];
        sum += (double)l->sum[b];
        one = env->stats_object(env, list, NULL);
        env->stats_u64(env, one, "up_to_references", 1ull << b);
        env->stats_u64(env, one, "count", l->count[b]);
        /* Denning and Schwartz, CACM 15(3), 1972: the mean of min(reuse time, window) */
        env->stats_f64(env, one, "working_set_lines",
            l->now ? (sum + (double)beyond * (double)(1ull << b)) / (double)l->now : 0);
    }
    o = env->stats_object(env, node, "sharing");
    env->stats_u64(env, o, "private_lines", s.private_lines);
    env->stats_u64(env, o, "read_shared_lines", s.read_shared);
    env->stats_u64(env, o, "one_writer_lines", s.one_writer);
    env->stats_u64(env, o, "several_writers_lines", s.several_writers);
    env->stats_u64(env, o, "references_after_others_write", l->from_others);
}

/* ------------------------------------------------------------------------------- functions and structures */

struct row {
    uint32_t id;
    const struct peet_function *function;
    uint64_t references;
};
struct rows {
    struct row *rows;
    size_t n;
    int by_function;
};

static void collect(void *arg, const struct locality_part *part)
{
    struct rows *r = arg;
    uint32_t id = r->by_function ? part->key.function : part->key.data;
    size_t i = 0;

    while (i < r->n && r->rows[i].id != id)
        i++;
    if (i == r->n)
        r->rows[r->n++] = (struct row){id, part->function, 0};
    r->rows[i].references += part->estimate ? (uint64_t)part->estimate->references : part->tally.references;
}

static int most_first(const void *a, const void *b)
{
    const struct row *x = a, *y = b;

    if (x->references != y->references)
        return x->references < y->references ? 1 : -1;
    return x->id < y->id ? -1 : x->id > y->id;
}

static void by(struct locality *self, const struct peet_env *env, struct peet_stats *node, int by_function)
{
    struct rows rows = {calloc(self->nparts + 1, sizeof *rows.rows), 0, by_function};
    struct peet_stats *list = env->stats_array(env, node, by_function ? "functions" : "structures"), *one;
    struct peet_sim_tally t;

    if (!rows.rows) {
        locality__no_memory(self);
        return;
    }
    locality__each_part(self, collect, &rows);
    qsort(rows.rows, rows.n, sizeof *rows.rows, most_first);
    for (size_t i = 0; i < rows.n && i < self->top; i++) {
        const struct row *r = &rows.rows[i];

        one = env->stats_object(env, list, NULL);
        if (by_function) {
            env->stats_string(env, one, "name", r->function->name);
            env->stats_string(env, one, "file", r->function->file);
            env->stats_u64(env, one, "line", r->function->line);
        } else {
            const struct peet_data *data = env->data(env, r->id);

            env->stats_string(env, one, "name",
                data->kind == PEET_DATA_STACK      ? "(stack)"
                    : data->kind == PEET_DATA_REST ? "(the rest)"
                                                   : data->name);
            env->stats_string(env, one, "type", data->type);
            env->stats_string(env, one, "file", data->file);
            env->stats_u64(env, one, "line", data->line);
        }
        locality__sum(self,
            (struct locality_key){LOCALITY_NOBODY, by_function ? r->id : LOCALITY_NOBODY,
                by_function ? LOCALITY_NOBODY : r->id, LOCALITY_NOBODY},
            &t);
        tally(env, one, &t);
    }
    free(rows.rows);
}

void locality__stats(struct locality *self, const struct peet_env *env, struct peet_stats *node)
{
    struct peet_stats *o, *list, *tables;
    struct peet_sim_tally run, t, shared = self->shared;

    run = (struct peet_sim_tally){0};
    for (uint32_t i = 0; i < self->ncontexts; i++) {
        locality__sum(self, (struct locality_key){i, LOCALITY_NOBODY, LOCALITY_NOBODY, LOCALITY_NOBODY}, &t);
        peet_sim_tally_add(&run, &t, 1);
    }
    env->stats_string(env, node, "mode", self->sampler ? "sampled" : "exact");
    if (self->sampler) {
        uint64_t observed, sparsely, bursts = locality__sampled_bursts(self, &observed, &sparsely);

        env->stats_u64(env, node, "bursts", bursts);
        env->stats_u64(env, node, "observed_references", observed);
        env->stats_u64(env, node, "sparsely_observed_references", sparsely);
    }
    o = env->stats_object(env, node, "signature");
    signature(env, o, &run);
    o = env->stats_object(env, node, "run");
    tally(env, o, &run);
    list = env->stats_array(env, node, "contexts");
    for (uint32_t i = 0; i < self->ncontexts; i++) {
        locality__sum(self, (struct locality_key){i, LOCALITY_NOBODY, LOCALITY_NOBODY, LOCALITY_NOBODY}, &t);
        if (!t.references)
            continue;
        o = env->stats_object(env, list, NULL);
        env->stats_u64(env, o, "context", i);
        tally(env, o, &t);
    }
    if (self->merged && self->sampler)
        locality__sampled_tally(self, self->shared_estimate, 1, &shared);
    if (self->merged) {
        peet_sim_tally_settle(&shared);
        tally(env, env->stats_object(env, node, "merged"), &shared);
    }
    if (self->functions)
        by(self, env, node, 1);
    if (self->structures)
        by(self, env, node, 0);
    if (self->windows) {
        list = env->stats_array(env, node, "windows");
        for (uint32_t i = 0; i < self->nwindows; i++)
            tally(env, env->stats_object(env, list, NULL), &self->windows[i]);
    }
    if (self->window_estimates) {
        list = env->stats_array(env, node, "windows");
        for (uint32_t i = 0; i <= self->nwindows && i < LOCALITY_WINDOWS; i++)
            if (self->window_estimates[i].references > 0) {
                locality__sampled_tally(self, &self->window_estimates[i], 0, &t);
                tally(env, env->stats_object(env, list, NULL), &t);
            }
    }
    if (self->lines)
        lines(self, env, node);
    tables = env->stats_array(env, node, "tables");
    table(env, tables, "hit rates in per cent of LRU caches, by bytes of a line and number of lines", &run);
    if (self->merged)
        table(env, tables, "hit rates in per cent of LRU caches that all contexts share", &shared);
}
