/* SPDX-License-Identifier: Apache-2.0 */
/* x86: CPI stacks as results: objects of stats.json, tables for people, and x86-stacks.csv for spreadsheets and
 * gnuplot. */
#include "core.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINES_LISTED = 1000, ROWS = 12 };

static uint64_t total(const uint64_t cycles[CPI_CATEGORIES])
{
    uint64_t sum = 0;

    for (unsigned i = 0; i < CPI_CATEGORIES; i++)
        sum += cycles[i];
    return sum;
}

static void write_stack(const struct peet_env *env, struct peet_stats *node, const uint64_t cycles[CPI_CATEGORIES])
{
    struct peet_stats *o = env->stats_object(env, node, "stack_cycles");

    for (unsigned i = 0; i < CPI_CATEGORIES; i++)
        if (cycles[i])
            env->stats_u64(env, o, x86_category_keys[i], cycles[i]);
}

/** The whole life of a software context, with what is left of it. */
static void life(const struct x86_software *s, uint64_t out[CPI_CATEGORIES])
{
    for (unsigned i = 0; i < CPI_CATEGORIES; i++)
        out[i] = s->run[i] + s->wait[i];
    if (s->end > s->start && s->number < X86_LISTED)
        out[CPI_IDLE] += s->end - s->start - total(out);
}

static int by_function(const void *a, const void *b)
{
    const struct x86_place *p = a, *q = b;
    uint32_t x = p->function ? p->function->id : 0, y = q->function ? q->function->id : 0;

    return x < y ? -1 : x > y;
}

/* The same order in every run: never by where the host has put something. */
static int by_cycles(const void *a, const void *b)
{
    const struct x86_place *p = a, *q = b;
    uint64_t x = total(p->cycles), y = total(q->cycles);
    /* a replay may meet functions in another order, and number them so */
    uint64_t xpc = p->function ? p->function->pc : 0, ypc = q->function ? q->function->pc : 0;
    int order = by_function(a, b);

    if (x != y)
        return x < y ? 1 : -1;
    if (xpc != ypc)
        return xpc < ypc ? -1 : 1;
    if (order)
        return order;
    return p->line < q->line ? -1 : p->line > q->line;
}

/**
 * Places with time, the longest first
 * @functions: lines of a function as one.  Returns: a copy to be freed; NULL: out of memory
 */
static struct x86_place *sorted(const struct x86 *x, int functions, size_t *out_n)
{
    const struct x86_stacks *s = &x->stacks;
    struct x86_place *list = malloc(s->nplaces * sizeof *list);
    size_t n = 0, kept = 0;

    *out_n = 0;
    if (!list)
        return NULL;
    for (uint32_t i = 0; i < s->nplaces; i++)
        if (total(s->places[i].cycles) || s->places[i].instructions)
            list[n++] = s->places[i];
    if (functions && n) {
        qsort(list, n, sizeof *list, by_function);
        for (size_t i = 1; i < n; i++) {
            if (list[i].function != list[kept].function) {
                list[++kept] = list[i];
                continue;
            }
            for (unsigned k = 0; k < CPI_CATEGORIES; k++)
                list[kept].cycles[k] += list[i].cycles[k];
            list[kept].instructions += list[i].instructions;
        }
        n = kept + 1;
    }
    qsort(list, n, sizeof *list, by_cycles);
    *out_n = n;
    return list;
}

static const char *name_of(const struct x86_place *p)
{
    return p->function ? p->function->name : "(before the first instruction)";
}

static void write_places(const struct x86 *x, const struct peet_env *env, struct peet_stats *node, int functions)
{
    struct peet_stats *array = env->stats_array(env, node, functions ? "functions" : "lines");
    size_t n;
    struct x86_place *list = sorted(x, functions, &n);

    for (size_t i = 0; i < n && (functions || i < LINES_LISTED); i++) {
        struct peet_stats *o = env->stats_object(env, array, NULL);

        env->stats_string(env, o, "name", name_of(&list[i]));
        env->stats_string(env, o, "file", list[i].function ? list[i].function->file : "");
        env->stats_u64(env, o, "line", functions && list[i].function ? list[i].function->line : list[i].line);
        env->stats_u64(env, o, "cycles", total(list[i].cycles));
        write_stack(env, o, list[i].cycles);
    }
    free(list);
}

/** A table for people: {title, columns, rows}; categories that nobody has are left out. */
static struct peet_stats *begin_table(const struct peet_env *env, struct peet_stats *tables, const char *title,
    const char *what, const uint64_t all[CPI_CATEGORIES])
{
    struct peet_stats *o = env->stats_object(env, tables, NULL), *columns;

    env->stats_string(env, o, "title", title);
    columns = env->stats_array(env, o, "columns");
    env->stats_string(env, columns, NULL, what);
    env->stats_string(env, columns, NULL, "cycles");
    for (unsigned i = 0; i < CPI_CATEGORIES; i++)
        if (all[i] * 200 >= total(all))
            env->stats_string(env, columns, NULL, x86_category_keys[i]);
    return env->stats_array(env, o, "rows");
}

static void write_row(const struct peet_env *env, struct peet_stats *rows, const char *name,
    const uint64_t cycles[CPI_CATEGORIES], const uint64_t all[CPI_CATEGORIES])
{
    struct peet_stats *row = env->stats_array(env, rows, NULL);
    char share[20];

    env->stats_string(env, row, NULL, name);
    env->stats_u64(env, row, NULL, total(cycles));
    for (unsigned i = 0; i < CPI_CATEGORIES; i++)
        if (all[i] * 200 >= total(all)) {
            snprintf(share, sizeof share, "%.1f%%",
                total(cycles) ? 100.0 * (double)cycles[i] / (double)total(cycles) : 0.0);
            env->stats_string(env, row, NULL, share);
        }
}

static void write_tables(const struct x86 *x, const struct peet_env *env, struct peet_stats *node,
    const uint64_t all[CPI_CATEGORIES])
{
    struct peet_stats *tables = env->stats_array(env, node, "tables"), *rows;
    struct x86_place *list;
    size_t n;
    char name[40];

    if (!total(all))
        return;
    rows = begin_table(env, tables, "where the cycles went, by hardware context", "context", all);
    for (unsigned i = 0; i < x->nthreads && i < ROWS; i++) {
        snprintf(name, sizeof name, "%u", i);
        write_row(env, rows, name, x->threads[i].cycles, all);
    }
    if (x->nthreads > 1)
        write_row(env, rows, "all", all, all);
    list = sorted(x, 1, &n);
    rows = begin_table(env, tables, "where the cycles went, by function", "function", all);
    for (size_t i = 0; i < n && i < ROWS; i++)
        write_row(env, rows, name_of(&list[i]), list[i].cycles, all);
    free(list);
}

static void write_contexts(const struct x86 *x, const struct peet_env *env, struct peet_stats *node)
{
    struct peet_stats *array = env->stats_array(env, node, "contexts");

    for (uint32_t i = 0; i < x->stacks.nsoftware; i++) {
        const struct x86_software *s = &x->stacks.software[i];
        struct peet_stats *o;
        uint64_t all[CPI_CATEGORIES];

        life(s, all);
        if (!total(all))
            continue;
        o = env->stats_object(env, array, NULL);
        if (i < X86_LISTED) {
            env->stats_u64(env, o, "context", i);
            env->stats_u64(env, o, "start_cycles", s->start);
            env->stats_u64(env, o, "end_cycles", s->end);
        } else {
            env->stats_string(env, o, "context", "all the others, while running or waiting");
        }
        env->stats_u64(env, o, "cycles", total(all));
        write_stack(env, o, all);
    }
}

void x86_stack_stats(const struct x86 *x, const struct peet_env *env, struct peet_stats *node)
{
    struct peet_stats *array = env->stats_array(env, node, "hw"), *o;
    uint64_t all[CPI_CATEGORIES] = {0};

    for (unsigned i = 0; i < x->nthreads; i++) {
        const struct x86_thread *t = &x->threads[i];

        o = env->stats_object(env, array, NULL);
        env->stats_u64(env, o, "core", t->cpu->number);
        env->stats_u64(env, o, "cycles", t->frontier);
        env->stats_u64(env, o, "instructions", t->instructions);
        write_stack(env, o, t->cycles);
        for (unsigned k = 0; k < CPI_CATEGORIES; k++)
            all[k] += t->cycles[k];
    }
    write_stack(env, node, all);
    o = env->stats_object(env, node, "stack_categories");
    for (unsigned i = 0; i < CPI_CATEGORIES; i++)
        env->stats_string(env, o, x86_category_keys[i], x86_category_texts[i]);
    write_contexts(x, env, node);
    write_places(x, env, node, 1);
    write_places(x, env, node, 0);
    write_tables(x, env, node, all);
}

static void csv_row(FILE *out, const char *of, const char *name, const char *file, uint32_t line,
    const uint64_t cycles[CPI_CATEGORIES])
{
    fprintf(out, "%s,\"", of);
    for (; *name; name++)
        fprintf(out, *name == '"' ? "\"\"" : "%c", *name);
    fprintf(out, "\",\"%s\",%u,%llu", file, line, (unsigned long long)total(cycles));
    for (unsigned i = 0; i < CPI_CATEGORIES; i++)
        fprintf(out, ",%llu", (unsigned long long)cycles[i]);
    putc('\n', out);
}

static void csv_places(const struct x86 *x, FILE *out, int functions)
{
    size_t n;
    struct x86_place *list = sorted(x, functions, &n);

    for (size_t i = 0; i < n; i++)
        csv_row(out, functions ? "function" : "line", name_of(&list[i]), list[i].function ? list[i].function->file : "",
            functions && list[i].function ? list[i].function->line : list[i].line, list[i].cycles);
    free(list);
}

int x86_stack_files(const struct x86 *x)
{
    char name[40], *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    int err;

    if (!out) {
        x->env->fail(x->env, "out of memory for x86-stacks.csv");
        return -1;
    }
    fprintf(out, "of,name,file,line,cycles");
    for (unsigned i = 0; i < CPI_CATEGORIES; i++)
        fprintf(out, ",%s", x86_category_keys[i]);
    putc('\n', out);
    for (unsigned i = 0; i < x->nthreads; i++) {
        snprintf(name, sizeof name, "%u", i);
        csv_row(out, "hw", name, "", 0, x->threads[i].cycles);
    }
    for (uint32_t i = 0; i < x->stacks.nsoftware && i < X86_LISTED; i++) {
        uint64_t all[CPI_CATEGORIES];

        life(&x->stacks.software[i], all);
        snprintf(name, sizeof name, "%u", i);
        if (total(all))
            csv_row(out, "context", name, "", 0, all);
    }
    csv_places(x, out, 1);
    csv_places(x, out, 0);
    if (fclose(out)) {
        x->env->fail(x->env, "out of memory for x86-stacks.csv");
        err = -1;
    } else {
        err = x->env->write_file(x->env, "x86-stacks.csv", text, bytes) ? -1 : 0;
    }
    free(text);
    return err;
}
