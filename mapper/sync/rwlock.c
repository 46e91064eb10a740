/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Read-write locks.  o->count readers hold it, or its owner writes.  Preference for readers: they come in
 * whenever no writer holds it.  Preference for writers: readers also wait while a writer waits.  When the
 * lock falls free, the preferred side goes first: one writer, or all readers that wait.
 */
#include "sync/sync.h"

#include <errno.h>
#include <stdlib.h>

/** The record of a reader; made if @make.  NULL: none, or out of memory (recorded) */
static struct peet_map_hold *hold_of(struct peet_map *map, uint64_t address, uint64_t context, int make)
{
    struct peet_map_sync *s = map->sync;
    struct peet_map_hold *hold = s->idle_hold, like = {.key = {address, context}};

    if (hold && hold->key.address == address && hold->key.context == context)
        return make ? hold : NULL;
    HASH_FIND(hh, s->holds, &like.key, sizeof like.key, hold);
    if (hold || !make)
        return hold;
    hold = calloc(1, sizeof *hold);
    if (hold) {
        hold->key = like.key;
        HASH_ADD(hh, s->holds, key, sizeof hold->key, hold);
        if (hold->hh.tbl)
            return hold;
        free(hold);
    }
    peet__map_fail(map, PEET_ENOMEM, "mapper: out of memory for the readers of a lock");
    return NULL;
}

static void free_hold(struct peet_map_sync *s, struct peet_map_hold *hold)
{
    if (s->idle_hold == hold)
        s->idle_hold = NULL;
    HASH_DEL(s->holds, hold);
    free(hold);
}

/** One of its holds is over.  Its record stays until another one's falls idle. */
static void drop_hold(struct peet_map *map, struct peet_map_hold *hold)
{
    struct peet_map_sync *s = map->sync;

    if (--hold->count)
        return;
    if (s->idle_hold)
        free_hold(s, s->idle_hold);
    s->idle_hold = hold;
}

static void take_read(struct peet_map *map, struct peet_map_object *o, const struct peet_map_context *c)
{
    struct peet_map_hold *hold = hold_of(map, o->key.address, c->number, 1);

    if (hold) {
        hold->count++;
        if (hold == map->sync->idle_hold)
            map->sync->idle_hold = NULL;
    }
    o->count++;
}

static void take_write(struct peet_map_object *o, struct peet_map_context *c)
{
    c->holding++;
    o->held = 1;
    o->owner = c->number;
}

void peet__rwlock_forget(struct peet_map *map, const struct peet_map_object *o, struct peet_map_context *c)
{
    struct peet_map_hold *hold, *next;

    if (o->held && o->owner == c->number)
        peet__lock_left(c);
    HASH_ITER(hh, map->sync->holds, hold, next)
    if (hold->key.address == o->key.address)
        free_hold(map->sync, hold);
}

static int may_read(const struct peet_map_object *o, uint64_t kind)
{
    return !o->held && !(kind == PEET_RWLOCK_PREFER_WRITER && o->waiters.n);
}

void peet__rwlock_admit(struct peet_map *map, struct peet_map_object *o, uint64_t cycles)
{
    struct peet_map_context *c;
    const int writers_first = o->kind == PEET_RWLOCK_PREFER_WRITER;

    if (!o->held && !(writers_first && o->waiters.n))
        while ((c = peet__heap_pop(&o->readers)) != NULL) {
            take_read(map, o, c);
            peet__sync_grant(map, c, cycles, 0);
        }
    if (!o->held && !o->count && (c = peet__sync_winner(map, &o->waiters)) != NULL) {
        take_write(o, c);
        peet__sync_grant(map, c, cycles, 0);
    }
    peet__sync_drop_idle(map, o);
}

static void lock(struct peet_map *map, struct peet_map_core *core, struct peet_map_context *c, const uint64_t *args,
    int writing, int trying)
{
    struct peet_map_object *o = peet__sync_get(map, args[0], PEET_SYNC_RWLOCK);

    if (!o)
        return;
    o->kind = (uint8_t)args[1];
    if (o->held && o->owner == c->number && !trying) {
        peet__sync_answer(map, c, EDEADLK);
    } else if ((writing ? !o->held && !o->count : may_read(o, args[1])) && !trying && o->left_cycles &&
        peet__suppose_after(map, core, o, o->left_cycles)) {
        if (writing)
            take_write(o, c);
        else
            take_read(map, o, c);
        peet__sync_grant(map, c, o->left_cycles, 0);
    } else if (writing ? !o->held && !o->count : may_read(o, args[1])) {
        if (trying)
            peet__try_succeeds(c);
        if (writing)
            take_write(o, c);
        else
            take_read(map, o, c);
        peet__sync_answer(map, c, 0);
    } else if (trying) {
        if (!peet__try_put_off(map, core, c))
            peet__sync_answer(map, c, EBUSY);
    } else {
        peet__sync_wait(map, core, o, writing ? &o->waiters : &o->readers, args[2]);
    }
}

void peet__rwlock_read(struct peet_map *map, struct peet_map_core *core, struct peet_map_context *c,
    const uint64_t *args)
{
    lock(map, core, c, args, 0, 0);
}

void peet__rwlock_write(struct peet_map *map, struct peet_map_core *core, struct peet_map_context *c,
    const uint64_t *args)
{
    lock(map, core, c, args, 1, 0);
}

void peet__rwlock_tryread(struct peet_map *map, struct peet_map_core *core, struct peet_map_context *c,
    const uint64_t *args)
{
    lock(map, core, c, args, 0, 1);
}

void peet__rwlock_trywrite(struct peet_map *map, struct peet_map_core *core, struct peet_map_context *c,
    const uint64_t *args)
{
    lock(map, core, c, args, 1, 1);
}

/** Some reader's record, for one who unlocks what others have locked; with luck the first. */
static struct peet_map_hold *any_hold(const struct peet_map *map, uint64_t address)
{
    struct peet_map_hold *hold;

    for (hold = map->sync->holds; hold && (hold->key.address != address || !hold->count); hold = hold->hh.next)
        ;
    return hold;
}

void peet__rwlock_unlock(struct peet_map *map, struct peet_map_core *core, struct peet_map_context *c,
    const uint64_t *args)
{
    struct peet_map_object *o = peet__sync_find(map, args[0], PEET_SYNC_RWLOCK);
    struct peet_map_hold *hold;

    peet__sync_answer(map, c, 0);
    if (!o || (!o->held && !o->count)) {
        peet__sync_misuse(map, c, core->clock, "unlocks rwlock %s, which is not locked", PEET_SYNC_NAME(map, args[0]));
        return;
    }
    o->kind = (uint8_t)args[1];
    if (o->held) {
        if (o->owner != c->number) /* undefined, and done as the C library does it; so below */
            peet__sync_misuse(map, c, core->clock, "unlocks rwlock %s, which context %u has locked for writing",
                PEET_SYNC_NAME(map, args[0]), o->owner);
        else
            peet__lock_left(c);
        o->held = 0;
        if (map->supposed && core->clock > o->left_cycles)
            o->left_cycles = core->clock;
    } else {
        hold = hold_of(map, args[0], c->number, 0);
        if (!hold) {
            hold = any_hold(map, args[0]);
            peet__sync_misuse(map, c, core->clock, "unlocks rwlock %s, which others have locked for reading",
                PEET_SYNC_NAME(map, args[0]));
        }
        if (hold)
            drop_hold(map, hold);
        o->count--;
    }
    peet__rwlock_admit(map, o, core->clock);
}
