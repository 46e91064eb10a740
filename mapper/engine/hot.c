/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions, source lines and objects (images) that executed most instructions, as a part of stats.json ("hot").
 * The mapper counts how often each block was executed in any case, so these lists cost nothing while the program runs.
 * Called by mapstats.c.
 *
 * Each execution of an instruction counts once; the repetitions of string instructions, which the totals count, are not
 * here.
 */
#include "state/map.h"
#include "base/stats.h"

#include <stdlib.h>
#include <string.h>

enum { HOT_LISTED = 20 };

/** A function, or (line not 0) a line of it. */
struct hot {
    const struct peet_function *function;
    uint32_t line;
    uint64_t instructions;
};

static int by_place(const void *a, const void *b)
{
    const struct hot *x = a, *y = b;

    if (x->function->id != y->function->id)
        return peet_function_order(x->function, y->function);
    return (x->line > y->line) - (x->line < y->line);
}

static int by_instructions(const void *a, const void *b)
{
    const struct hot *x = a, *y = b;

    if (x->instructions != y->instructions)
        return x->instructions > y->instructions ? -1 : 1;
    return by_place(a, b);
}

/** One entry for each place, the one with most instructions first.  Returns: how many are left */
static size_t merge(struct hot *list, size_t n)
{
    size_t kept = 0;

    if (!n)
        return 0;
    qsort(list, n, sizeof *list, by_place);
    for (size_t i = 1; i < n; i++)
        if (by_place(&list[kept], &list[i]) == 0)
            list[kept].instructions += list[i].instructions;
        else
            list[++kept] = list[i];
    qsort(list, kept + 1, sizeof *list, by_instructions);
    return kept + 1;
}

/** Executed blocks (@out NULL: only counted), as functions or as lines.  Returns: how many entries */
static size_t gather(const struct peet_map *map, int lines, struct hot *out)
{
    size_t n = 0;

    for (uint32_t i = 0; i < map->nexecutions; i++) {
        const struct peet_block *block = map->executions[i].block;
        uint64_t times = map->executions[i].times;

        if (!times)
            continue;
        if (!lines) {
            if (out)
                out[n] = (struct hot){block->function, 0, block->ninsns * times};
            n++;
            continue;
        }
        for (uint32_t k = 0, next; block->insns && k < block->ninsns; k = next) {
            for (next = k + 1; next < block->ninsns && block->insns[next].line == block->insns[k].line; next++)
                ;
            if (!block->insns[k].line)
                continue;
            if (out)
                out[n] = (struct hot){block->function, block->insns[k].line, (next - k) * times};
            n++;
        }
    }
    return n;
}

static json_t *list_json(const struct peet_map *map, int lines)
{
    size_t n = gather(map, lines, NULL);
    struct hot *all = malloc((n + 1) * sizeof *all);
    json_t *list = json_array();

    if (!all || !list) {
        free(all);
        json_decref(list);
        return NULL;
    }
    n = merge(all, gather(map, lines, all));
    for (size_t i = 0; i < n && i < HOT_LISTED; i++)
        json_array_append_new(list,
            json_pack("{s:o,s:o,s:I,s:o}", "function", peet_stats_text(all[i].function->name), "file",
                peet_stats_text(all[i].function->file), "line",
                (json_int_t)(lines ? all[i].line : all[i].function->line), "instructions",
                peet_stats_u64(all[i].instructions)));
    free(all);
    return list;
}

/** Of one object of the program's: itself, a library.  What the program has from other compilers is foreign code, under its name
 * without folders. */
struct image {
    const char *name; /* without folders */
    uint64_t instructions;
};

static int by_share(const void *a, const void *b)
{
    const struct image *x = a, *y = b;

    if (x->instructions != y->instructions)
        return x->instructions > y->instructions ? -1 : 1;
    return strcmp(x->name, y->name);
}

/** The image of this name, which may be a new one.  NULL: no memory */
static struct image *image_named(struct image **list, size_t *n, const char *name)
{
    struct image *more;

    for (size_t i = 0; i < *n; i++)
        if ((*list)[i].name == name || !strcmp((*list)[i].name, name))
            return &(*list)[i];
    more = realloc(*list, (*n + 1) * sizeof *more);
    if (!more)
        return NULL;
    *list = more;
    more[*n] = (struct image){name, 0};
    return &more[(*n)++];
}

static json_t *images_json(const struct peet_map *map)
{
    struct image *all = NULL, *one = NULL;
    const char *path = NULL, *slash;
    size_t n = 0;
    json_t *list = json_array();

    for (uint32_t i = 0; i < map->nexecutions; i++) {
        const struct peet_block *block = map->executions[i].block;

        if (!map->executions[i].times)
            continue;
        if (!one || block->function->image != path) {
            path = block->function->image;
            slash = path ? strrchr(path, '/') : NULL;
            one = image_named(&all, &n, slash ? slash + 1 : path ? path : "");
        }
        if (!one) {
            json_decref(list);
            list = NULL;
            break;
        }
        one->instructions += block->ninsns * map->executions[i].times;
    }
    if (n)
        qsort(all, n, sizeof *all, by_share);
    for (size_t i = 0; list && i < n && i < HOT_LISTED; i++)
        json_array_append_new(list,
            json_pack("{s:o,s:o}", "image", peet_stats_text(all[i].name), "instructions",
                peet_stats_u64(all[i].instructions)));
    free(all);
    return list;
}

json_t *peet__hot_json(const struct peet_map *map)
{
    return json_pack("{s:o,s:o,s:o}", "functions", list_json(map, 0), "lines", list_json(map, 1), "images",
        images_json(map));
}
