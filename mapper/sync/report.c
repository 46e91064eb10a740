/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What there is to say about synchronisation: who waits for what and who could help him, cycles among them, and the
 * numbers for stats.json.
 */
#include "sync/sync.h"
#include "base/stats.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* -------------------------------------------------------------------------------- who waits for what */

static void say(char *text, size_t bytes, const char *format, ...) __attribute__((format(printf, 3, 4)));
static void say(char *text, size_t bytes, const char *format, ...)
{
    size_t length = strlen(text);
    va_list ap;

    va_start(ap, format);
    vsnprintf(text + length, bytes - length, format, ap);
    va_end(ap);
}

/** The context of a number; NULL: it is over.  By search unless it is a thread: reports only. */
static const struct peet_map_context *context_of(const struct peet_map *map, uint32_t number)
{
    const struct peet_map_thread *t = peet__thread_find((struct peet_map *)map, number);

    if (t)
        return t->context;
    for (uint32_t s = 0; s < map->nsources; s++)
        if (map->contexts[s] && map->contexts[s]->loop && map->contexts[s]->number == number &&
            map->contexts[s]->state != PEET_MAP_PARKED)
            return map->contexts[s];
    return NULL;
}

const char *peet__sync_name(const struct peet_map *map, uint64_t address, char *buffer, size_t bytes)
{
    char name[80];

    if (map->config.name_of && map->config.name_of(map->config.report_arg, address, name, sizeof name))
        snprintf(buffer, bytes, "%s (0x%" PRIx64 ")", name, address);
    else
        snprintf(buffer, bytes, "0x%" PRIx64, address);
    return buffer;
}

/**
 * The futex that an object belongs to: threadlib/futex.c makes each of a lock and a condition, at addresses where no
 * object of the program's begins.  Returns: its word's address; 0: the object is what it is
 */
static uint64_t futex_of(const struct peet_map_key *key)
{
    if (key->type == PEET_SYNC_COND && key->address % 4 == 2)
        return key->address - 2;
    return key->type == PEET_SYNC_MUTEX && key->address % 4 == 1 ? key->address - 1 : 0;
}

static void say_object(const struct peet_map *map, const struct peet_map_object *o, char *text, size_t bytes)
{
    const uint64_t futex = futex_of(&o->key);
    const char *kind = o->key.type == PEET_SYNC_COND ? "condition variable" : peet__sync_kind_names[o->key.type];
    char name[100];

    if (futex)
        kind = o->key.type == PEET_SYNC_COND ? "futex" : "the lock of futex";
    say(text, bytes, "%s %s", kind, peet__sync_name(map, futex ? futex : o->key.address, name, sizeof name));
}

static void say_holder(const struct peet_map *map, const struct peet_map_context *c, uint32_t owner, const char *how,
    char *text, size_t bytes)
{
    if (owner == c->number)
        say(text, bytes, ", which it %s itself", how);
    else
        say(text, bytes, ", which context %u %s%s", owner, how, context_of(map, owner) ? "" : " and which is over");
}

static void say_readers(const struct peet_map *map, const struct peet_map_object *o, char *text, size_t bytes)
{
    const struct peet_map_hold *hold;
    unsigned shown = 0;

    say(text, bytes, ", which %" PRIu64 " reader%s: context", o->count, o->count == 1 ? " holds" : "s hold");
    for (hold = map->sync->holds; hold && shown < 8; hold = hold->hh.next)
        if (hold->key.address == o->key.address && hold->count)
            say(text, bytes, "%s%" PRIu64, shown++ ? ", " : " ", hold->key.context);
}

/** What a context waits for, with the present state of it. */
static void say_wait(const struct peet_map *map, const struct peet_map_context *c, char *text, size_t bytes)
{
    const struct peet_map_object *o = c->waiting;
    const uint64_t *a = c->request.args;

    if (c->state != PEET_MAP_BLOCKED && c->next_step != PEET_STEP_LOCK) {
        say(text, bytes, "a change of the memory that it reads again and again");
        return;
    }
    if (c->next_step == PEET_STEP_LOCK)
        o = peet__sync_find((struct peet_map *)map, c->request.args[c->request.type == PEET_ABSTRACT_COND_WAIT],
            PEET_SYNC_MUTEX);
    if (c->forked) {
        say(text, bytes, "the end of its doall: %llu of %llu iterations are done, %llu begun",
            (unsigned long long)c->forked->finished, (unsigned long long)c->forked->n,
            (unsigned long long)c->forked->started);
        return;
    }
    if (o) {
        say_object(map, o, text, bytes);
        switch (o->key.type) {
        case PEET_SYNC_MUTEX:
            if (o->held)
                say_holder(map, c, o->owner, "holds", text, bytes);
            break;
        case PEET_SYNC_RWLOCK:
            say(text, bytes, c->request.type == PEET_ABSTRACT_RWLOCK_READ ? " (to read)" : " (to write)");
            if (o->held)
                say_holder(map, c, o->owner, "holds", text, bytes);
            else if (o->count)
                say_readers(map, o, text, bytes);
            break;
        case PEET_SYNC_BARRIER:
            say(text, bytes, ", to which %u of %" PRIu64 " have come", o->waiters.n + o->barrier.away, o->count);
            break;
        case PEET_SYNC_ONCE:
            say_holder(map, c, o->owner, "initialises", text, bytes);
            break;
        case PEET_SYNC_DOACROSS:
            say(text, bytes, ": iteration %lld is not posted", (long long)a[1]);
            break;
        }
    } else if (c->request.type == PEET_ABSTRACT_THREAD_JOIN) {
        if (a[0] == PEET_NEVER)
            say(text, bytes, "the end of all other threads");
        else
            say(text, bytes, "the end of context %llu", (unsigned long long)a[0]);
    } else if (c->request.type == PEET_ABSTRACT_IO_WAIT) {
        say(text, bytes, "descriptor %d", (int)a[0]);
    } else if (c->request.type == PEET_ABSTRACT_SLEEP) {
        say(text, bytes, "cycle %llu", (unsigned long long)a[0]);
    } else if (c->queue) {
        say(text, bytes, "its place in the recorded order");
    } else {
        say(text, bytes, "an event that never comes");
        return;
    }
    say(text, bytes, "; since cycle %llu", (unsigned long long)c->wait_since);
}

int peet_map_blocked(const struct peet_map *map, unsigned i, struct peet_map_blocked *out)
{
    struct peet_map_sync *s = map->sync;
    uint32_t at = 0;
    unsigned n = 0;

    if (i && i == s->listed + 1) { /* lists are asked for from front to back */
        n = i;
        at = s->listed_source + 1;
    }
    for (; at < map->nsources; at++) {
        const struct peet_map_context *c = map->contexts[at];

        if (!c || c->state == PEET_MAP_PARKED || (c->state != PEET_MAP_BLOCKED && !map->livelock) || n++ != i)
            continue;
        s->listed = i;
        s->listed_source = at;
        *out = (struct peet_map_blocked){.context = c->number, .source = at};
        say_wait(map, c, out->waits_for, sizeof out->waits_for);
        return 0;
    }
    return PEET_ENOTFOUND;
}

/** The one context that could end a wait, if it is one.  Returns: 1 found */
static int helper(const struct peet_map *map, const struct peet_map_context *c, uint32_t *out_number)
{
    const struct peet_map_object *o = c->waiting;

    if (c->next_step == PEET_STEP_LOCK)
        o = peet__sync_find((struct peet_map *)map, c->request.args[c->request.type == PEET_ABSTRACT_COND_WAIT],
            PEET_SYNC_MUTEX);
    else if (c->state != PEET_MAP_BLOCKED || c->forked)
        return 0;
    if (o && o->held &&
        (o->key.type == PEET_SYNC_MUTEX || o->key.type == PEET_SYNC_RWLOCK || o->key.type == PEET_SYNC_ONCE)) {
        *out_number = o->owner;
        return 1;
    }
    if (!o && c->request.type == PEET_ABSTRACT_THREAD_JOIN && c->request.args[0] != PEET_NEVER) {
        *out_number = (uint32_t)c->request.args[0];
        return 1;
    }
    return 0;
}

int peet_map_livelock(const struct peet_map *map)
{
    return map->livelock == 2;
}

unsigned peet_map_cycle(const struct peet_map *map, uint32_t *out_contexts, unsigned room)
{
    uint32_t *seen = calloc(map->nsources + 1, sizeof *seen); /* from which start we have come there, + 1 */
    unsigned n = 0;

    for (uint32_t s = 0; seen && s < map->nsources && !n; s++) {
        const struct peet_map_context *c = map->contexts[s], *first;
        uint32_t number = 0;

        while (c && !seen[c->source]) {
            seen[c->source] = s + 1;
            c = helper(map, c, &number) ? context_of(map, number) : NULL;
        }
        if (!c || seen[c->source] != s + 1)
            continue;
        first = c;
        do {
            if (n < room)
                out_contexts[n] = c->number;
            n++;
            helper(map, c, &number);
            c = context_of(map, number);
        } while (c != first);
    }
    free(seen);
    return n;
}

unsigned peet_map_left(const struct peet_map *map, unsigned room, struct peet_map_blocked *out_left)
{
    unsigned n = 0;

    for (uint32_t s = 0; s < map->nsources; s++) {
        const struct peet_map_context *c = map->contexts[s];

        if (!c || !c->thread || c->thread->detached || c->source == map->exit_source)
            continue;
        if (n++ >= room)
            continue;
        out_left[n - 1] = (struct peet_map_blocked){.context = c->number, .source = s};
        if (c->state == PEET_MAP_BLOCKED)
            say_wait(map, c, out_left[n - 1].waits_for, sizeof out_left[n - 1].waits_for);
    }
    return n;
}

/* ------------------------------------------------------------------------------------- statistics */

static json_t *kind_json(const struct peet_map_sync *s, unsigned kind)
{
    return json_pack("{s:o,s:o,s:o,s:o,s:o}", "operations", peet_stats_u64(s->operations[kind]), "waits",
        peet_stats_u64(s->waits[kind]), "waited_cycles", peet_stats_u64(s->waited_cycles[kind]), "timeouts",
        peet_stats_u64(s->timeouts[kind]), "interrupts", peet_stats_u64(s->interrupts[kind]));
}

static int by_waits(const void *a, const void *b)
{
    const struct peet_map_contended *x = *(struct peet_map_contended *const *)a,
                                    *y = *(struct peet_map_contended *const *)b;

    if (x->waited_cycles != y->waited_cycles)
        return x->waited_cycles < y->waited_cycles ? 1 : -1;
    if (x->waits != y->waits)
        return x->waits < y->waits ? 1 : -1;
    if (x->key.address != y->key.address)
        return x->key.address < y->key.address ? -1 : 1;
    return (x->key.type > y->key.type) - (x->key.type < y->key.type);
}

enum { TOP = 20 };

/** An object's name where the program has one; a futex always has one, since its objects' addresses are peet's. */
static void name_json(const struct peet_map *map, const struct peet_map_key *key, json_t *entry)
{
    const uint64_t futex = futex_of(key);
    char name[160], lock[180];

    if (!map->config.name_of ||
        !map->config.name_of(map->config.report_arg, futex ? futex : key->address, name, sizeof name)) {
        if (!futex)
            return;
        snprintf(name, sizeof name, "0x%" PRIx64, futex);
    }
    snprintf(lock, sizeof lock, "lock of futex %s", name);
    json_object_set_new(entry, "name", peet_stats_text(futex && key->type == PEET_SYNC_MUTEX ? lock : name));
}

/** The objects for which contexts have waited longest. */
static json_t *objects_json(const struct peet_map *map)
{
    const struct peet_map_sync *s = map->sync;
    unsigned n = HASH_COUNT(s->contended), i = 0;
    struct peet_map_contended **all = calloc(n + 1, sizeof *all), *one, *next;
    json_t *list = json_array();
    char address[24];

    HASH_ITER(hh, s->contended, one, next)
    if (all)
        all[i++] = one;
    if (all)
        qsort(all, i, sizeof *all, by_waits);
    for (unsigned k = 0; all && k < i && k < TOP; k++) {
        const char *kind = peet__sync_kind_names[all[k]->key.type];
        json_t *entry;

        if (all[k]->key.type == PEET_SYNC_COND && futex_of(&all[k]->key))
            kind = "futex";
        snprintf(address, sizeof address, "0x%" PRIx64, all[k]->key.address);
        entry = json_pack("{s:s,s:s,s:o,s:o,s:o}", "address", address, "kind", kind, "waits",
            peet_stats_u64(all[k]->waits), "waited_cycles", peet_stats_u64(all[k]->waited_cycles), "longest_cycles",
            peet_stats_u64(all[k]->longest_cycles));
        if (entry)
            name_json(map, &all[k]->key, entry);
        json_array_append_new(list, entry);
    }
    free(all);
    return list;
}

static json_t *misuses_json(const struct peet_map_sync *s)
{
    json_t *list = json_array();

    for (uint64_t i = 0; s->misuses && i < s->nmisuses && i < PEET_SYNC_MISUSES; i++)
        json_array_append_new(list,
            json_pack("{s:o,s:I,s:o}", "cycle", peet_stats_u64(s->misuses[i].cycles), "context",
                (json_int_t)s->misuses[i].context, "text", peet_stats_text(s->misuses[i].text)));
    return list;
}

int peet__sync_stats(struct peet_map *map, json_t *root)
{
    const struct peet_map_sync *s = map->sync;
    json_t *node = json_object();
    int bad = !node;

    for (unsigned kind = 0; !bad && kind < PEET_SYNC_KINDS; kind++)
        if (s->operations[kind])
            bad = json_object_set_new(node, peet__sync_kind_names[kind], kind_json(s, kind));
    bad = bad ||
        json_object_set_new(node, "threads",
            json_pack("{s:o,s:o}", "created", peet_stats_u64(s->threads_created), "most_alive",
                peet_stats_u64(s->most_threads))) ||
        json_object_set_new(node, "contended", objects_json(map)) ||
        json_object_set_new(node, "contended_objects", json_integer(HASH_COUNT(s->contended))) ||
        json_object_set_new(node, "misuses", misuses_json(s)) ||
        json_object_set_new(node, "misuses_omitted",
            peet_stats_u64(s->nmisuses > PEET_SYNC_MISUSES ? s->nmisuses - PEET_SYNC_MISUSES : 0));
    if (bad) {
        json_decref(node);
        return -1;
    }
    return json_object_set_new(root, "sync", node);
}
