/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Heaps of contexts from which any may be taken out: the waiters of an object in the order in which they
 * win, and deadlines.  Pushing in rising order costs O(1); all else O(log n), so that 100,000 waiters are no matter.
 */
#include "sync/sync.h"

#include <stdlib.h>

enum { KEPT = 64 }; /* entries that an empty heap may keep */

static int before(const struct peet_map_entry *a, const struct peet_map_entry *b)
{
    return a->key < b->key || (a->key == b->key && a->order < b->order);
}

static void put(struct peet_map_heap *heap, uint32_t i, struct peet_map_entry one)
{
    heap->entries[i] = one;
    *(heap->timers ? &one.context->timer_place : &one.context->queue_place) = i + 1;
}

/** Find the place of an entry from a hole on, upwards and then downwards. */
static void settle(struct peet_map_heap *heap, uint32_t i, struct peet_map_entry one)
{
    uint32_t child;

    for (; i && before(&one, &heap->entries[(i - 1) / 2]); i = (i - 1) / 2)
        put(heap, i, heap->entries[(i - 1) / 2]);
    while ((child = 2 * i + 1) < heap->n) {
        if (child + 1 < heap->n && before(&heap->entries[child + 1], &heap->entries[child]))
            child++;
        if (!before(&heap->entries[child], &one))
            break;
        put(heap, i, heap->entries[child]);
        i = child;
    }
    put(heap, i, one);
}

int peet__heap_push(struct peet_map *map, struct peet_map_heap *heap, struct peet_map_context *c, uint64_t key,
    uint64_t order)
{
    if (heap->n == heap->room) {
        uint32_t room = heap->room ? 2 * heap->room : 4;
        struct peet_map_entry *more = realloc(heap->entries, room * sizeof *more);

        if (!more)
            return peet__map_fail(map, PEET_ENOMEM, "mapper: out of memory for %u waiting contexts", room);
        heap->entries = more;
        heap->room = room;
    }
    heap->n++;
    settle(heap, heap->n - 1, (struct peet_map_entry){key, order, c});
    if (!heap->timers)
        c->queue = heap;
    return 0;
}

static void take_out(struct peet_map_heap *heap, uint32_t i)
{
    struct peet_map_context *c = heap->entries[i].context;
    struct peet_map_entry last = heap->entries[--heap->n];

    if (heap->timers) {
        c->timer_place = 0;
    } else {
        c->queue_place = 0;
        c->queue = NULL;
    }
    if (i < heap->n)
        settle(heap, i, last);
}

void peet__heap_remove(struct peet_map_heap *heap, struct peet_map_context *c)
{
    uint32_t place = heap->timers ? c->timer_place : c->queue_place;

    if (place)
        take_out(heap, place - 1);
}

struct peet_map_context *peet__heap_pop(struct peet_map_heap *heap)
{
    struct peet_map_context *c;

    if (!heap->n)
        return NULL;
    c = heap->entries[0].context;
    take_out(heap, 0);
    return c;
}

void peet__heap_clear(struct peet_map_heap *heap)
{
    while (heap->n)
        take_out(heap, heap->n - 1);
    if (heap->room > KEPT) {
        free(heap->entries);
        heap->entries = NULL;
        heap->room = 0;
    }
}
