/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Doacross: iterations are posted, and waited for, in any order.  What has been posted is a low-water mark,
 * below which all is, and pages of a bit per iteration above it; a page that the mark has passed goes.
 */
#include "sync/sync.h"

#include <stdlib.h>

enum { PAGE_BITS = 4096 };

/** Iterations number * PAGE_BITS on, biased so that numbers sort as iterations do. */
struct peet_map_pages {
    uint64_t number;
    UT_hash_handle hh;
    uint64_t bits[PAGE_BITS / 64];
};

/** Those that wait for one iteration. */
struct peet_map_turn {
    int64_t iteration;
    UT_hash_handle hh;
    struct peet_map_heap waiters;
};

static uint64_t biased(int64_t iteration)
{
    return (uint64_t)iteration ^ (uint64_t)1 << 63;
}

static struct peet_map_pages *page_of(const struct peet_map_object *o, int64_t iteration)
{
    uint64_t number = biased(iteration) / PAGE_BITS;
    struct peet_map_pages *page;

    HASH_FIND(hh, o->doacross.pages, &number, sizeof number, page);
    return page;
}

static int posted(const struct peet_map_object *o, int64_t iteration)
{
    const struct peet_map_pages *page;
    uint64_t bit = biased(iteration) % PAGE_BITS;

    if (iteration < o->doacross.low)
        return 1;
    page = page_of(o, iteration);
    return page && (page->bits[bit / 64] >> bit % 64 & 1);
}

static void drop_page(struct peet_map_object *o, struct peet_map_pages *page)
{
    HASH_DEL(o->doacross.pages, page);
    free(page);
}

/** The mark goes over what has been posted, page by page where it can. */
static void raise(struct peet_map_object *o)
{
    struct peet_map_pages *page;

    while ((page = page_of(o, o->doacross.low)) != NULL) {
        uint64_t bit = biased(o->doacross.low) % PAGE_BITS;

        while (bit < PAGE_BITS && (page->bits[bit / 64] >> bit % 64 & 1)) {
            bit++;
            o->doacross.low++;
        }
        if (bit < PAGE_BITS)
            return;
        drop_page(o, page);
    }
}

static int mark(struct peet_map *map, struct peet_map_object *o, int64_t iteration)
{
    struct peet_map_pages *page = page_of(o, iteration);
    uint64_t bit = biased(iteration) % PAGE_BITS;

    if (!page) {
        page = calloc(1, sizeof *page);
        if (page) {
            page->number = biased(iteration) / PAGE_BITS;
            HASH_ADD(hh, o->doacross.pages, number, sizeof page->number, page);
        }
        if (!page || !page->hh.tbl) {
            free(page);
            return peet__map_fail(map, PEET_ENOMEM, "mapper: out of memory for the posts of a doacross loop");
        }
    }
    page->bits[bit / 64] |= (uint64_t)1 << bit % 64;
    return 0;
}

void peet__doacross_init(struct peet_map *map, struct peet_map_object *o, int64_t low)
{
    (void)map;
    o->valued = 1;
    o->doacross.low = low;
}

static void drop_turn(struct peet_map_object *o, struct peet_map_turn *turn)
{
    HASH_DEL(o->doacross.turns, turn);
    free(turn->waiters.entries);
    free(turn);
}

void peet__doacross_clear(struct peet_map_object *o)
{
    struct peet_map_pages *page, *next;
    struct peet_map_turn *turn, *next_turn;

    HASH_ITER(hh, o->doacross.pages, page, next)
    drop_page(o, page);
    HASH_ITER(hh, o->doacross.turns, turn, next_turn)
    {
        peet__heap_clear(&turn->waiters);
        drop_turn(o, turn);
    }
}

/** The record; without SYNC_INIT nothing counts as posted at first. */
static struct peet_map_object *get(struct peet_map *map, uint64_t address)
{
    struct peet_map_object *o = peet__sync_find(map, address, PEET_SYNC_DOACROSS);

    if (!o && (o = peet__sync_get(map, address, PEET_SYNC_DOACROSS)) != NULL)
        peet__doacross_init(map, o, INT64_MIN);
    return o;
}

void peet__post(struct peet_map *map, struct peet_map_core *core, struct peet_map_context *c, const uint64_t *args)
{
    struct peet_map_object *o = get(map, args[0]);
    struct peet_map_turn *turn;
    struct peet_map_context *one;
    int64_t iteration = (int64_t)args[1];

    peet__sync_answer(map, c, 0);
    if (!o || posted(o, iteration))
        return;
    if (iteration == o->doacross.low && !page_of(o, iteration))
        o->doacross.low++; /* the common case: in order */
    else if (mark(map, o, iteration))
        return;
    raise(o);
    HASH_FIND(hh, o->doacross.turns, &iteration, sizeof iteration, turn);
    if (!turn)
        return;
    while ((one = peet__heap_pop(&turn->waiters)) != NULL)
        peet__sync_grant(map, one, core->clock, 0);
    drop_turn(o, turn);
}

void peet__wait(struct peet_map *map, struct peet_map_core *core, struct peet_map_context *c, const uint64_t *args)
{
    struct peet_map_object *o = get(map, args[0]);
    int64_t iteration = (int64_t)args[1];
    struct peet_map_turn *turn;

    if (!o)
        return;
    if (posted(o, iteration)) {
        peet__sync_answer(map, c, 0);
        return;
    }
    HASH_FIND(hh, o->doacross.turns, &iteration, sizeof iteration, turn);
    if (!turn && (turn = calloc(1, sizeof *turn)) != NULL) {
        turn->iteration = iteration;
        HASH_ADD(hh, o->doacross.turns, iteration, sizeof turn->iteration, turn);
    }
    if (!turn || !turn->hh.tbl) {
        free(turn);
        peet__map_fail(map, PEET_ENOMEM, "mapper: out of memory for the waits of a doacross loop");
        return;
    }
    peet__sync_wait(map, core, o, NULL, PEET_NEVER);
    peet__heap_push(map, &turn->waiters, c, 0, map->sync->orders++);
}
