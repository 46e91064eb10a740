/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What peet whatif tries.  The first run says what costs most: data structures (the observer dtrack), locks and
 * barriers that were waited for, functions; and what its machine and settings are.
 */
#include "whatif.h"

#include "common.h"
#include "figures.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NAME = 256, CHANGE = NAME + 64 };

/** A structure of the first run. */
struct candidate {
    char name[NAME], label[NAME]; /* for the options, for people */
    double stalls, misses, false_misses;
    unsigned long line_bytes;
    int movable;
};

/** Trials that are being planned. */
struct plan {
    struct peet_cli_whatif_trial *trials;
    size_t n, room;
    int failed; /* memory has run out */
};

static double number(const json_t *node, const char *key)
{
    return peet_cli_number_of(json_object_get(node, key));
}

static const char *text(const json_t *node, const char *key)
{
    const char *value = json_string_value(json_object_get(node, key));
    return value ? value : "";
}

/* One more trial; what add() says then belongs to it. */
static void begin(struct plan *p)
{
    if (p->n == p->room) {
        size_t room = 2 * p->room + 16;
        struct peet_cli_whatif_trial *more = realloc(p->trials, room * sizeof(*more));
        if (!more) {
            p->failed = 1;
            return;
        }
        p->trials = more;
        p->room = room;
    }
    p->trials[p->n] = (struct peet_cli_whatif_trial){.run.number = (unsigned)p->n};
    p->n++;
}

/* A change at the end of the trial's list, and of its label for people. */
static void add(struct plan *p, const char *change, const char *label)
{
    struct peet_cli_whatif_trial *t = &p->trials[p->n - 1];
    char *all = NULL, **more;
    if (p->failed)
        return;
    more = realloc(t->run.changes, (t->run.nchanges + 1) * sizeof(*more));
    p->failed = !more;
    if (!more)
        return;
    t->run.changes = more;
    more[t->run.nchanges] = strdup(change);
    if (asprintf(&all, "%s%s%s", t->label ? t->label : "", t->label && *t->label && *label ? " + " : "", label) < 0)
        all = NULL;
    free(t->label);
    t->label = all;
    p->failed = !all || !more[t->run.nchanges++];
}

/* A trial with one change. */
static void one(struct plan *p, const char *change, const char *label)
{
    begin(p);
    if (!p->failed)
        add(p, change, label);
}

/* ----------------------------------------------------------------------------------------- data structures */

/* How --perfect and --remap know it: by its name if no other one is called so, else by its place. */
static void name_of(const json_t *list, const json_t *one, char out_name[NAME])
{
    const char *name = text(one, "name"), *file = text(one, "file"), *base = strrchr(file, '/');
    const json_t *other;
    size_t i;
    int same = 0;
    json_array_foreach((json_t *)list, i, other) same += strcmp(text(other, "name"), name) == 0;
    if (same > 1 && *file && number(one, "line") > 0)
        snprintf(out_name, NAME, "%s:%.0f", base ? base + 1 : file, number(one, "line"));
    else if (same > 1 && *text(one, "function"))
        snprintf(out_name, NAME, "%s.%s", text(one, "function"), name);
    else
        snprintf(out_name, NAME, "%s", name);
}

static int by_cost(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;
    if (x->stalls != y->stalls)
        return x->stalls > y->stalls ? -1 : 1;
    if (x->misses != y->misses)
        return x->misses > y->misses ? -1 : 1;
    return strcmp(x->name, y->name);
}

/* What one place has allocated in several ways has one name, and is tried at once.  Returns: how many there are then */
static size_t with(struct candidate *list, size_t n, const struct candidate *one)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(list[i].name, one->name) == 0) {
            list[i].stalls += one->stalls;
            list[i].misses += one->misses;
            list[i].false_misses += one->false_misses;
            return n;
        }
    list[n] = *one;
    return n + 1;
}

/* Returns: how many, the most expensive first; the caller frees them */
static size_t candidates(const json_t *stats, struct candidate **out_list)
{
    const json_t *dtrack = json_object_get(stats, "dtrack"), *list = json_object_get(dtrack, "structures"), *entry;
    unsigned long line = (unsigned long)number(json_array_get(json_object_get(dtrack, "levels"), 0), "line_bytes");
    struct candidate *c = calloc(json_array_size(list) + 1, sizeof(*c));
    size_t i, n = 0;
    *out_list = c;
    if (!c)
        return 0;
    json_array_foreach((json_t *)list, i, entry)
    {
        if (strcmp(text(entry, "kind"), "rest") == 0)
            continue;
        struct candidate one = {.line_bytes = line, .movable = strcmp(text(entry, "kind"), "stack") != 0};
        name_of(list, entry, one.name);
        snprintf(one.label, NAME, "%s", text(entry, "name"));
        one.stalls = number(entry, "stall_cycles");
        one.misses = number(json_array_get(json_object_get(entry, "levels"), 0), "misses");
        one.false_misses = number(json_object_get(entry, "sharing"), "false_sharing_misses");
        if (one.misses > 0 || one.stalls > 0)
            n = with(c, n, &one);
    }
    qsort(c, n, sizeof(*c), by_cost);
    return n;
}

static void put_structure(struct plan *p, const char *how, const struct candidate *c, const char *label,
    unsigned long bytes)
{
    char change[CHANGE], said[CHANGE], size[24] = "";
    if (bytes)
        snprintf(size, sizeof(size), ":%lu", bytes);
    snprintf(change, sizeof(change), "%s=%s%s", how, c->name, size);
    snprintf(said, sizeof(said), "%s%s%s", label, c->label, size);
    add(p, change, said);
}

/* Each of the most expensive ones, the first few together, padding for what is falsely shared. */
static void structures(struct plan *p, const json_t *stats, size_t top)
{
    struct candidate *c;
    size_t n = candidates(stats, &c);
    p->failed |= !c;
    top = n < top ? n : top;
    for (size_t i = 0; i < top && !p->failed; i++) {
        begin(p);
        put_structure(p, "perfect", &c[i], "perfect ", 0);
    }
    for (size_t k = 2; k <= top && !p->failed; k++) {
        begin(p);
        for (size_t i = 0; i < k && !p->failed; i++) /* the second perfect one need not say so again */
            put_structure(p, "perfect", &c[i], i ? "" : "perfect ", 0);
    }
    for (size_t i = 0; i < top && !p->failed; i++)
        if (c[i].false_misses > 0 && c[i].movable && c[i].line_bytes) {
            begin(p);
            put_structure(p, "pad", &c[i], "pad ", c[i].line_bytes);
        }
    free(c);
}

/* --------------------------------------------------------------------------------- machine, locks, functions */

/* Half of each latency that the machine calls its memory's: as it is in effect, or as it was set. */
static void faster_memory(struct plan *p, const json_t *stats)
{
    static const char *const keys[] = {"memory_latency_cycles", "memory_cycles", "memory_cas_cycles",
        "memory_overhead_cycles", "dram_cas_cycles", "dram_activate_cycles", "dram_precharge_cycles",
        "dram_overhead_cycles"};
    const json_t *machine = json_object_get(json_object_get(stats, "config"), "machine"),
                 *set = json_object_get(machine, "parameters");
    const json_t *memory = json_object_get(json_object_get(stats, text(machine, "module")), "memory"),
                 *effective = json_object_get(memory, "dram");
    char change[CHANGE];
    int any = 0;
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        double value = number(json_object_get(effective, keys[i]) ? effective : set, keys[i]);
        if (value < 2)
            continue;
        if (!any++)
            begin(p);
        snprintf(change, sizeof(change), "machine.%s=%.0f", keys[i], floor(value / 2));
        if (!p->failed)
            add(p, change, any > 1 ? "" : "half the memory's latency");
    }
}

static void other_locks(struct plan *p, const char *model)
{
    static const char *const locks[] = {"none", "tas", "ttas", "ticket", "mcs"};
    char change[CHANGE];
    for (size_t i = 0; i < sizeof(locks) / sizeof(locks[0]); i++) {
        snprintf(change, sizeof(change), "lock-model=%s", locks[i]);
        if (strcmp(model, locks[i]) != 0)
            one(p, change, change);
    }
}

static double waited(const json_t *stats, const char *kind)
{
    return number(json_object_get(json_object_get(stats, "sync"), kind), "waited_cycles");
}

/* Waits that take no time.  Under a lock model waiting has traffic, and no lock can be free. */
static void free_wait(struct plan *p, const char *name, const char *label, const char *model)
{
    char change[CHANGE], said[CHANGE];
    snprintf(change, sizeof(change), "free=%s", name);
    snprintf(said, sizeof(said), "free %s", label);
    one(p, change, said);
    if (!p->failed && strcmp(model, "none") != 0)
        add(p, "lock-model=none", "lock-model=none");
}

static void free_waits(struct plan *p, const json_t *stats, size_t top, const char *model)
{
    const json_t *list = json_object_get(json_object_get(stats, "sync"), "contended"), *entry;
    size_t i, n = 0;
    if (waited(stats, "mutex") + waited(stats, "rwlock") > 0)
        free_wait(p, "locks", "locks", model);
    if (waited(stats, "barrier") > 0)
        free_wait(p, "barriers", "barriers", model);
    json_array_foreach((json_t *)list, i, entry)
    {
        const char *kind = text(entry, "kind"), *name = text(entry, "name");
        if (n < top && number(entry, "waited_cycles") > 0 &&
            (strcmp(kind, "mutex") == 0 || strcmp(kind, "rwlock") == 0 || strcmp(kind, "barrier") == 0)) {
            free_wait(p, text(entry, "address"), *name ? name : text(entry, "address"), model);
            n++;
        }
    }
}

static void faster_functions(struct plan *p, const json_t *stats, size_t top)
{
    const json_t *list = json_object_get(json_object_get(stats, "hot"), "functions"), *entry;
    char change[CHANGE], said[CHANGE];
    size_t i;
    json_array_foreach((json_t *)list, i, entry)
    {
        const char *name = text(entry, "function");
        if (i >= top || !*name || (size_t)snprintf(change, sizeof(change), "scale=%s:0.5", name) >= sizeof(change))
            continue;
        snprintf(said, sizeof(said), "%s in half the time", name);
        one(p, change, said);
    }
}

static void wide(struct plan *p, const json_t *stats, size_t top)
{
    const json_t *config = json_object_get(stats, "config");
    const char *model = text(config, "lock_model");
    char change[CHANGE];
    snprintf(change, sizeof(change), "cores=%.0f", 2 * number(config, "cores"));
    one(p, change, change);
    faster_memory(p, stats);
    if (number(json_object_get(json_object_get(stats, "sync"), "mutex"), "waits") > 0)
        other_locks(p, model);
    free_waits(p, stats, top, model);
    faster_functions(p, stats, top);
}

/* ---------------------------------------------------------------------------------------------------- plan */

static void own(struct plan *p, char *const *tries, size_t ntries)
{
    for (size_t i = 0; i < ntries && !p->failed; i++) {
        char *copy = strdup(tries[i]), *rest = copy, *word;
        p->failed = !copy;
        if (copy)
            begin(p);
        while (!p->failed && (word = strsep(&rest, "+")))
            add(p, word, word);
        free(copy);
    }
}

int peet_cli_whatif_plan(const json_t *stats, const struct peet_cli_whatif_wanted *wanted,
    struct peet_cli_whatif_trial **inout_trials, size_t *inout_n)
{
    struct plan p = {.trials = *inout_trials, .n = *inout_n, .room = *inout_n};
    if (wanted->ntries)
        own(&p, wanted->tries, wanted->ntries);
    else
        structures(&p, stats, wanted->top);
    if (wanted->wide && !p.failed)
        wide(&p, stats, wanted->top);
    *inout_trials = p.trials;
    *inout_n = p.n;
    return p.failed ? PEET_ENOMEM : 0;
}
