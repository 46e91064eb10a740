/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What dtrack shows on the terminal when a run is over: the structures with most misses, the stack and the rest, and
 * falsely shared lines if there are any.  The table itself is set by the command.
 */
#include "dtrack.h"

#include <stdio.h>
#include <string.h>

enum { CELL = 64 };

static void row_begin(const struct peet_env *env, struct peet_stats *rows, struct peet_stats **row)
{
    *row = env->stats_array(env, rows, NULL);
}

static void percent(const struct peet_env *env, struct peet_stats *row, double part, double whole)
{
    char text[CELL];

    snprintf(text, sizeof text, whole > 0 ? "%.1f %%" : "-", whole > 0 ? part * 100 / whole : 0.0);
    env->stats_string(env, row, NULL, text);
}

struct sums {
    double accesses, misses[DTRACK_LEVELS], stalls;
};

static void add(struct sums *s, const struct dtrack *self, const struct dtrack_tally *t)
{
    s->accesses += (double)(t->reads + t->writes);
    for (unsigned l = 0; l < self->nlevels; l++)
        s->misses[l] += (double)dtrack__misses(t, l);
    s->stalls += (double)t->stall_cycles;
}

/** @data: what of @s the program's references are */
static void line(const struct dtrack *self, const struct peet_env *env, struct peet_stats *rows, const char *name,
    const struct sums *s, const struct sums *data, const struct sums *all)
{
    struct peet_stats *row;

    row_begin(env, rows, &row);
    env->stats_string(env, row, NULL, name);
    percent(env, row, s->accesses, all->accesses);
    for (unsigned l = 0; l < self->nlevels; l++) {
        percent(env, row, s->misses[l], all->misses[l]);
        percent(env, row, data->misses[l], l ? data->misses[l - 1] : data->accesses);
    }
    if (all->stalls > 0)
        percent(env, row, s->stalls, all->stalls);
}

static void bytes_text(char *out, size_t room, uint64_t bytes)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB"};
    double x = (double)bytes;
    unsigned u = 0;

    for (; x >= 1024 && u < 3; u++)
        x /= 1024;
    snprintf(out, room, u && x < 10 ? "%.1f %s" : "%.0f %s", x, units[u]);
}

/** "array of double, regular, 800 KiB" */
static void describe(char *out, size_t room, const struct dtrack_row *r)
{
    const struct peet_data *d = r->data;
    const char *pattern = dtrack__pattern_name(&r->pattern);
    char bytes[CELL];

    bytes_text(bytes, sizeof bytes, d->bytes_peak ? d->bytes_peak : d->bytes);
    snprintf(out, room, "%s%s%.40s, %s%s%s", dtrack__container(d), d->type && *d->type ? " of " : "",
        d->type ? d->type : "", pattern, *pattern ? ", " : "", bytes);
}

/** Is it one of those that have a line of their own?  @named: how many had before */
static int is_named(const struct dtrack *self, const struct dtrack_row *r, uint64_t *named)
{
    return r->data->kind != PEET_DATA_STACK && r->data->kind != PEET_DATA_REST && (*named)++ < self->top;
}

static void profile(const struct dtrack *self, const struct peet_env *env, struct peet_stats *tables,
    const struct dtrack_row *rows, size_t n)
{
    struct peet_stats *o = env->stats_object(env, tables, NULL), *list;
    struct sums all = {0}, data, stack = {0}, rest = {0}, code = {0};
    char name[200];
    uint64_t named = 0;

    for (size_t i = 0; i < n; i++)
        add(&all, self, rows[i].tally);
    data = all;
    add(&code, self, &self->code);
    add(&code, self, &self->walks);
    add(&all, self, &self->code);
    add(&all, self, &self->walks);
    env->stats_string(env, o, "title",
        self->nlevels ? "data structures: shares of accesses and misses, misses of the level before"
                      : "data structures: shares of accesses");
    list = env->stats_array(env, o, "columns");
    env->stats_string(env, list, NULL, "structure");
    env->stats_string(env, list, NULL, "access");
    for (unsigned l = 0; l < self->nlevels; l++) {
        char text[CELL];

        snprintf(text, sizeof text, "%.7s", self->levels[l].name);
        env->stats_string(env, list, NULL, text);
        snprintf(text, sizeof text, "of %.7s", l ? self->levels[l - 1].name : "acc.");
        env->stats_string(env, list, NULL, text);
    }
    if (all.stalls > 0)
        env->stats_string(env, list, NULL, "stalls");
    list = env->stats_array(env, o, "rows");
    for (size_t i = 0; i < n; i++) {
        struct sums one = {0};

        if (rows[i].data->kind == PEET_DATA_STACK) {
            add(&stack, self, rows[i].tally);
        } else if (!is_named(self, &rows[i], &named)) {
            add(&rest, self, rows[i].tally);
        } else {
            add(&one, self, rows[i].tally);
            line(self, env, list, dtrack__name(self, rows[i].id, name, sizeof name), &one, &one, &all);
        }
    }
    line(self, env, list, "(stack)", &stack, &stack, &all);
    line(self, env, list, "(the rest)", &rest, &rest, &all);
    if (code.misses[0] > 0 || code.stalls > 0)
        line(self, env, list, "(instructions, page tables)", &code, &code, &all);
    line(self, env, list, "all", &all, &data, &all);
}

static void descriptions(const struct dtrack *self, const struct peet_env *env, struct peet_stats *tables,
    const struct dtrack_row *rows, size_t n)
{
    struct peet_stats *o = env->stats_object(env, tables, NULL), *list, *row;
    static const char *const columns[] = {"structure", "objects", "what it is"};
    char name[200], text[200];
    uint64_t named = 0;

    env->stats_string(env, o, "title", "what they are");
    list = env->stats_array(env, o, "columns");
    for (unsigned c = 0; c < 3; c++)
        env->stats_string(env, list, NULL, columns[c]);
    list = env->stats_array(env, o, "rows");
    for (size_t i = 0; i < n; i++)
        if (is_named(self, &rows[i], &named)) {
            row_begin(env, list, &row);
            env->stats_string(env, row, NULL, dtrack__name(self, rows[i].id, name, sizeof name));
            env->stats_u64(env, row, NULL, rows[i].data->objects);
            describe(text, sizeof text, &rows[i]);
            env->stats_string(env, row, NULL, text);
        }
}

static void sharing(const struct dtrack *self, const struct peet_env *env, struct peet_stats *tables,
    const struct dtrack_row *rows, size_t n)
{
    struct peet_stats *o = NULL, *list = NULL, *row;
    static const char *const columns[] = {"structure", "false-sharing misses", "true-sharing misses"};
    char name[200];
    uint64_t shown = 0;

    for (size_t i = 0; i < n && shown < self->top; i++) {
        const struct dtrack_tally *t = rows[i].tally;

        if (!t->false_misses)
            continue;
        if (!o) {
            o = env->stats_object(env, tables, NULL);
            env->stats_string(env, o, "title", "false sharing (lines, fields and source lines: \"peet report\")");
            list = env->stats_array(env, o, "columns");
            for (unsigned c = 0; c < 3; c++)
                env->stats_string(env, list, NULL, columns[c]);
            list = env->stats_array(env, o, "rows");
        }
        row_begin(env, list, &row);
        env->stats_string(env, row, NULL, dtrack__name(self, rows[i].id, name, sizeof name));
        env->stats_u64(env, row, NULL, t->false_misses);
        env->stats_u64(env, row, NULL, t->true_misses);
        shown++;
    }
}

void dtrack__tables(struct dtrack *self, const struct peet_env *env, struct peet_stats *node,
    const struct dtrack_row *rows, size_t n)
{
    struct peet_stats *tables = env->stats_array(env, node, "tables");

    profile(self, env, tables, rows, n);
    descriptions(self, env, tables, rows, n);
    if (self->sharing)
        sharing(self, env, tables, rows, n);
}
