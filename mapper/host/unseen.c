/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See unseen.h.  The schema names what each block's last instruction calls; how often a block was executed is known
 * anyway, so counting costs nothing while the program runs.  Calls through pointers have no name: they appear by the
 * time that they take.
 */
#include "host/unseen.h"
#include "foreign/translate.h"
#include "host/report.h"
#include "base/stats.h"
#include "runtime.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

enum { ENOUGH = 8, NAME_BYTES = 512 };

/** What is not seen; the key: object, newline, symbol. */
struct unseen {
    UT_hash_handle hh;
    uint64_t calls, samples;
    size_t object_bytes;
    char key[];
};

/** A place whose function was not known when the timer found it: its library may not have been looked at yet. */
struct doubt {
    uint64_t pc;
    struct unseen *entry;
};

struct known {
    UT_hash_handle hh;
    char name[];
};

static struct {
    struct peet_program *program;
    struct unseen *all;
    struct known *recorded; /* names of functions with a schema */
    uint64_t samples, unseen_samples, calls;
    struct peet_map *map;
    struct doubt *doubts;
    size_t ndoubts, room;
    int bad;
} here;

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

static struct unseen *entry(const char *object, const char *symbol)
{
    char key[2 * NAME_BYTES];
    struct unseen *u;
    int length = snprintf(key, sizeof key, "%.*s\n%.*s", NAME_BYTES - 1, object, NAME_BYTES - 1, symbol);

    HASH_FIND(hh, here.all, key, (size_t)length, u);
    if (u)
        return u;
    u = calloc(1, sizeof *u + (size_t)length + 1);
    if (!u) {
        here.bad = 1;
        return NULL;
    }
    memcpy(u->key, key, (size_t)length + 1);
    u->object_bytes = (size_t)(strchr(u->key, '\n') - u->key);
    HASH_ADD(hh, here.all, key, (size_t)length, u);
    return u;
}

/** peet's own libraries stand for those whose functions they carry out as events: they are no unseen code. */
static int is_ours(const Dl_info *info)
{
    static const void *runtime;
    Dl_info self;

    if (!runtime && dladdr((void *)(uintptr_t)peet_rt_samples_take, &self))
        runtime = self.dli_fbase;
    return info->dli_fbase == runtime || !strncmp(base_name(info->dli_fname), "libpeet-", 8);
}

static void name_place(uint64_t pc)
{
    Dl_info info;
    char name[NAME_BYTES];
    struct unseen *u;

    here.samples++;
    if (peet_program_function_of_pc(here.program, pc) || peet_foreign_is_translated(pc))
        return;
    if (!dladdr((void *)(uintptr_t)pc, &info) || !info.dli_fname) {
        u = entry("?", "?");
    } else {
        if (is_ours(&info))
            return;
        if (info.dli_sname)
            snprintf(name, sizeof name, "%s", info.dli_sname);
        else if (!peet_host_function_of(pc, name, sizeof name))
            strcpy(name, "?");
        u = entry(base_name(info.dli_fname), name);
    }
    if (here.ndoubts == here.room) {
        size_t room = here.room ? 2 * here.room : 256;
        struct doubt *more = realloc(here.doubts, room * sizeof *more);

        if (!more) {
            here.bad = 1;
            return;
        }
        here.doubts = more;
        here.room = room;
    }
    here.doubts[here.ndoubts++] = (struct doubt){pc, u};
}

/** Of the places that are in doubt, those whose function is still not known are not seen. */
static void settle_doubts(void)
{
    for (size_t i = 0; i < here.ndoubts; i++) {
        if (peet_program_function_of_pc(here.program, here.doubts[i].pc))
            continue;
        here.unseen_samples++;
        if (here.doubts[i].entry)
            here.doubts[i].entry->samples++;
    }
    here.ndoubts = 0;
}

void peet_host_unseen_begin(struct peet_program *program, int sample)
{
    here.program = program;
    if (sample)
        peet_rt_samples_begin();
}

void peet_host_unseen_look(void)
{
    uint64_t places[256];
    unsigned n = peet_rt_samples_take(places, sizeof places / sizeof *places);

    for (unsigned i = 0; i < n; i++)
        name_place(places[i]);
}

static int is_recorded(const char *name)
{
    struct known *k;

    HASH_FIND_STR(here.recorded, name, k);
    return k != NULL;
}

static void note_recorded(void)
{
    for (unsigned i = 0; i < peet_program_nfunctions(here.program); i++) {
        struct peet_error error = {0, ""};
        const struct peet_function *f = peet_program_function(here.program, i, &error);
        struct known *k;

        if (!f || is_recorded(f->name))
            continue;
        k = malloc(sizeof *k + strlen(f->name) + 1);
        if (!k) {
            here.bad = 1;
            return;
        }
        strcpy(k->name, f->name);
        HASH_ADD_STR(here.recorded, name, k);
    }
}

static void note_call(void *arg, const struct peet_block *block, const char *callee)
{
    uint64_t times = peet_map_executed(here.map, block);
    struct unseen *u;
    void *address;
    Dl_info info;

    (void)arg;
    if (!times || is_recorded(callee))
        return;
    address = dlsym(RTLD_DEFAULT, callee);
    if (address && dladdr(address, &info) && info.dli_fname) {
        if (is_ours(&info))
            return;
        u = entry(base_name(info.dli_fname), callee);
    } else {
        u = entry(base_name(block->function->image), callee); /* linked into it */
    }
    here.calls += times;
    if (u)
        u->calls += times;
}

static int by_weight(struct unseen *a, struct unseen *b)
{
    if (a->samples != b->samples)
        return a->samples < b->samples ? 1 : -1;
    if (a->calls != b->calls)
        return a->calls < b->calls ? 1 : -1;
    return strcmp(a->key, b->key);
}

static json_t *share(uint64_t samples)
{
    return here.unseen_samples < ENOUGH ? json_null() : json_real((double)samples / (double)here.samples);
}

static int by_calls(struct unseen *a, struct unseen *b)
{
    if (a->calls != b->calls)
        return a->calls < b->calls ? 1 : -1;
    return strcmp(a->key, b->key);
}

/** Calls by name and places in doubt, up to now. */
static void bring_up_to_date(struct peet_map *map)
{
    struct unseen *u, *next;

    here.map = map;
    here.calls = 0;
    HASH_ITER(hh, here.all, u, next)
    u->calls = 0;
    peet_host_unseen_look();
    settle_doubts();
    note_recorded();
    peet_program_calls(here.program, note_call, NULL);
}

/** The list of an object or a file; @measured: those that have samples, and their shares, too. */
static json_t *list_of(int measured)
{
    struct unseen *u, *next;
    json_t *list = json_array(), *one;

    if (measured)
        HASH_SORT(here.all, by_weight);
    else
        HASH_SORT(here.all, by_calls);
    HASH_ITER(hh, here.all, u, next)
    {
        char object[NAME_BYTES];

        snprintf(object, sizeof object, "%.*s", (int)u->object_bytes, u->key);
        if (!u->calls && !(measured && u->samples && here.unseen_samples >= ENOUGH))
            continue;
        one = json_pack("{s:o,s:o,s:o}", "object", peet_stats_text(object), "symbol",
            peet_stats_text(u->key + u->object_bytes + 1), "calls", u->calls ? peet_stats_u64(u->calls) : json_null());
        if (!one || (measured && json_object_set_new(one, "share", share(u->samples))) ||
            json_array_append_new(list, one))
            here.bad = 1;
    }
    if (here.bad) {
        json_decref(list);
        return NULL;
    }
    return list;
}

json_t *peet_host_unseen_json(struct peet_map *map)
{
    json_t *list;

    if (!here.program)
        return json_null();
    bring_up_to_date(map);
    list = list_of(0);
    return list ? json_pack("{s:o,s:o}", "calls", peet_stats_u64(here.calls), "list", list) : NULL;
}

int peet_host_unseen_write(const char *path, struct peet_error *error)
{
    json_t *root, *list;
    int err;

    if (!here.program)
        return 0;
    list = list_of(1);
    root = list ? json_pack("{s:i,s:o,s:o,s:o,s:o}", "version", 1, "samples", peet_stats_u64(here.samples), "calls",
                      peet_stats_u64(here.calls), "share", share(here.unseen_samples), "list", list)
                : NULL;
    if (!root)
        return peet_error_set(error, PEET_ENOMEM, "%s: out of memory", path);
    err = peet_stats_write(root, path, error);
    json_decref(root);
    return err;
}
