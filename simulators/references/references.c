/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The observer `references`: memory references in space and time, as densities: how many reads and writes fell into
 * each row of addresses in each window of time.
 *
 *     address ^   . . . # # .       a row: `granule_bytes` of addresses that were touched;
 *             |   . # # . . .       what nobody touches has no row
 *             |   # . . . . #       a window: `window_cycles`
 *             +--------------> time
 *
 * Invariants
 *   1. There are never more than `rows` rows and `windows` windows: when there would be, both granules or windows
 *      that are neighbours become one, so that each is a power of two times as large as at first.  All counts stay.
 *   2. Rows are in the order of their addresses.
 *
 * Each reference comes in its own time: the observer wants no loops in one event.
 */
#include <peet/module.h>

#include <stdlib.h>
#include <string.h>

enum { HINTS = 1024, NAMES = 4 };

struct cell {
    uint64_t reads, writes;
};

struct row {
    uint64_t granule;              /* address >> shift */
    uint32_t names[NAMES], nnames; /* ids of data structures in it, the first ones met */
    struct cell *cells;            /* of each window */
};

struct references {
    const struct peet_env *env;
    struct row *rows;
    struct {
        uint64_t granule;
        struct cell *cells;
    } hints[HINTS]; /* cells NULL: none */
    uint32_t nrows, rows_limit, windows_limit, nwindows, shift;
    uint64_t window_cycles, window_begin, window_end, window; /* the window of the last reference */
    struct cell total;
};

static const struct peet_param params[] = {
    {"rows", PEET_PARAM_U64, "", "256", "2..4096",
        "rows of addresses, at most; granules double where there would be more"},
    {"windows", PEET_PARAM_U64, "", "256", "2..4096",
        "windows of time, at most; they double where there would be more"},
    {"granule", PEET_PARAM_SIZE, "bytes", "64", "1..1073741824", "a row's addresses at first: a power of two"},
    {"window_cycles", PEET_PARAM_U64, "cycles", "256", "1..1000000000000", "a window at first"},
    {0},
};

static void destroy(void *arg)
{
    struct references *r = arg;

    for (uint32_t i = 0; i < r->nrows; i++)
        free(r->rows[i].cells);
    free(r->rows);
    free(r);
}

static void *create(const struct peet_env *env, const union peet_value *values)
{
    struct references *r = calloc(1, sizeof *r);

    if (!r) {
        env->fail(env, "out of memory");
        return NULL;
    }
    r->env = env;
    r->rows_limit = (uint32_t)values[0].u64;
    r->windows_limit = (uint32_t)values[1].u64;
    r->window_cycles = r->window_end = values[3].u64;
    r->shift = (uint32_t)__builtin_ctzll(values[2].u64);
    r->rows = calloc(r->rows_limit + 1, sizeof *r->rows);
    if (values[2].u64 & (values[2].u64 - 1)) {
        env->fail(env, "granule=%llu is not a power of two", (unsigned long long)values[2].u64);
        destroy(r);
        return NULL;
    }
    if (!r->rows) {
        env->fail(env, "out of memory for %u rows", r->rows_limit);
        destroy(r);
        return NULL;
    }
    return r;
}

/* ------------------------------------------------------------------------------------------- time and space */

static void add_name(struct row *row, uint32_t id)
{
    for (uint32_t i = 0; i < row->nnames; i++)
        if (row->names[i] == id)
            return;
    if (row->nnames < NAMES)
        row->names[row->nnames++] = id;
}

/** Each two windows become one. */
static void double_windows(struct references *r)
{
    const uint32_t n = r->windows_limit;

    for (uint32_t i = 0; i < r->nrows; i++) {
        struct cell *c = r->rows[i].cells;

        for (uint32_t k = 0; k < n; k++) {
            struct cell a = c[k];

            c[k] = (struct cell){0, 0};
            c[k / 2].reads += a.reads;
            c[k / 2].writes += a.writes;
        }
    }
    r->window_cycles *= 2;
    r->nwindows = (r->nwindows + 1) / 2;
}

static __attribute__((noinline)) void find_window(struct references *r, uint64_t now)
{
    while (now / r->window_cycles >= r->windows_limit)
        double_windows(r);
    r->window = now / r->window_cycles;
    r->window_begin = r->window * r->window_cycles;
    r->window_end = r->window_begin + r->window_cycles;
    if (r->window >= r->nwindows)
        r->nwindows = (uint32_t)r->window + 1;
    memset(r->hints, 0, sizeof r->hints); /* so that names are asked for once in each window */
}

/** Each two granules become one, until there is room for another row. */
static void merge_rows(struct references *r)
{
    while (r->nrows >= r->rows_limit && r->shift < 63) {
        uint32_t n = 0;

        r->shift++;
        for (uint32_t i = 0; i < r->nrows; i++) {
            struct row *row = &r->rows[i];

            row->granule >>= 1;
            if (!n || r->rows[n - 1].granule != row->granule) {
                r->rows[n++] = *row;
                continue;
            }
            for (uint32_t k = 0; k < r->windows_limit; k++) {
                r->rows[n - 1].cells[k].reads += row->cells[k].reads;
                r->rows[n - 1].cells[k].writes += row->cells[k].writes;
            }
            for (uint32_t k = 0; k < row->nnames; k++)
                add_name(&r->rows[n - 1], row->names[k]);
            free(row->cells);
        }
        r->nrows = n;
        memset(r->hints, 0, sizeof r->hints);
    }
}

/** The first row whose granule is not below this one. */
static uint32_t place_of(const struct references *r, uint64_t granule)
{
    uint32_t low = 0, high = r->nrows;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (r->rows[middle].granule < granule)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static __attribute__((noinline)) struct cell *find_cells(struct references *r, uint64_t address)
{
    uint64_t granule = address >> r->shift;
    uint32_t at = place_of(r, granule);
    struct row *row = &r->rows[at];

    if (at == r->nrows || row->granule != granule) {
        struct cell *cells;

        if (r->nrows == r->rows_limit) {
            merge_rows(r);
            return find_cells(r, address);
        }
        cells = calloc(r->windows_limit, sizeof *cells);
        if (!cells) {
            r->env->fail(r->env, "out of memory for a row of %u windows", r->windows_limit);
            return NULL;
        }
        memmove(row + 1, row, (r->nrows++ - at) * sizeof *row);
        *row = (struct row){.granule = granule, .cells = cells};
    }
    if (r->env->data_of)
        add_name(row, r->env->data_of(r->env, address, NULL)->id);
    r->hints[granule % HINTS].granule = granule;
    r->hints[granule % HINTS].cells = row->cells;
    return row->cells;
}

static inline void reference(struct references *r, const struct peet_ref *ref, uint64_t address)
{
    uint64_t granule = address >> r->shift;
    struct cell *cells;

    if (ref->kind == PEET_REF_PREFETCH)
        return;
    cells = r->hints[granule % HINTS].cells;

    if (__builtin_expect(!cells || r->hints[granule % HINTS].granule != granule, 0) &&
        !(cells = find_cells(r, address)))
        return;
    cells += r->window;
    cells->reads += ref->kind != PEET_REF_STORE;
    cells->writes += ref->kind != PEET_REF_LOAD;
    r->total.reads += ref->kind != PEET_REF_STORE;
    r->total.writes += ref->kind != PEET_REF_LOAD;
}

static uint64_t block(void *arg, unsigned hw, const struct peet_block_event *event, uint64_t now)
{
    struct references *r = arg;
    const struct peet_block *b = event->block;

    (void)hw;
    if (__builtin_expect(now >= r->window_end || now < r->window_begin || !r->nwindows, 0))
        find_window(r, now);
    if (b->flags & PEET_BLOCK_SIMPLE) {
        for (uint32_t i = 0; i < b->nrefs; i++)
            reference(r, &b->refs[i], event->values[i]);
        return 0;
    }
    for (uint32_t i = 0; i < b->nrefs; i++) {
        struct peet_ref_iter it = peet_ref_begin(&b->refs[i], event->values);

        for (uint64_t k = 0; k < it.count; k++)
            reference(r, &b->refs[i], it.address + k * (uint64_t)it.step);
    }
    return 0;
}

/* -------------------------------------------------------------------------------------------------- results */

static void put_cells(const struct peet_env *env, const struct references *r, struct peet_stats *o,
    const struct row *row, const char *key, int writes)
{
    struct peet_stats *list = env->stats_array(env, o, key);

    for (uint32_t k = 0; k < r->nwindows; k++)
        env->stats_u64(env, list, NULL, writes ? row->cells[k].writes : row->cells[k].reads);
}

static void stats(void *arg, const struct peet_env *env, struct peet_stats *node)
{
    const struct references *r = arg;
    struct peet_stats *list;

    env->stats_u64(env, node, "reads", r->total.reads);
    env->stats_u64(env, node, "writes", r->total.writes);
    env->stats_u64(env, node, "granule_bytes", 1ull << r->shift);
    env->stats_u64(env, node, "window_cycles", r->window_cycles);
    env->stats_u64(env, node, "windows", r->nwindows);
    list = env->stats_array(env, node, "rows");
    for (uint32_t i = 0; i < r->nrows; i++) {
        const struct row *row = &r->rows[i];
        struct peet_stats *o = env->stats_object(env, list, NULL), *names;

        env->stats_u64(env, o, "address", row->granule << r->shift);
        names = env->stats_array(env, o, "structures");
        for (uint32_t k = 0; k < row->nnames; k++) {
            const struct peet_data *d = env->data ? env->data(env, row->names[k]) : NULL;

            env->stats_string(env, names, NULL, d ? d->name : "");
        }
        put_cells(env, r, o, row, "reads", 0);
        put_cells(env, r, o, row, "writes", 1);
    }
}

__attribute__((visibility("default"))) const struct peet_module peet_module = {
    .abi = PEET_MODULE_ABI,
    .struct_size = sizeof(struct peet_module),
    .name = "references",
    .summary = "memory references in space and time: address against time, density",
    .kind = PEET_OBSERVER,
    .needs = PEET_NEEDS_BLOCKS | PEET_NEEDS_ADDRESSES | PEET_NEEDS_DATA,
    .params = params,
    .create = create,
    .destroy = destroy,
    .block = block,
    .stats = stats,
};
