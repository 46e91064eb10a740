/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blocks of the heap.  A new block has no past.  Allocation does not wait for its turn in simulated time: one context
 * may get, at an early time, memory that another one gives back at a later time only, and has used up to then.  So if
 * a block comes where another one is, nothing that is found there counts until that one's release has come.
 */
#include "races.h"

#include <search.h>
#include <stdlib.h>

struct block {
    uint64_t low, high;
    uint32_t context; /* that has allocated it */
};

/** Blocks whose releases will come later than the next allocation there. */
struct races_late {
    uint64_t address, bytes, cycles, count; /* cycles: since then */
    UT_hash_handle hh;
};

/* Blocks are equal if they overlap: those in the tree never do. */
static int order(const void *a, const void *b)
{
    const struct block *const one = a, *const other = b;
    return one->high <= other->low ? -1 : one->low >= other->high;
}

static void overtake(struct races *r, struct block *old)
{
    struct races_late *late;
    tdelete(old, &r->blocks, order);
    HASH_FIND(hh, r->late, &old->low, sizeof old->low, late);
    if (!late && (late = calloc(1, sizeof *late)) != NULL) {
        *late = (struct races_late){.address = old->low, .bytes = old->high - old->low, .cycles = r->now};
        HASH_ADD(hh, r->late, address, sizeof late->address, late);
    }
    if (late) {
        late->count++;
        late->bytes = late->bytes > old->high - old->low ? late->bytes : old->high - old->low;
    }
    free(old);
}

void races_alloc(struct races *r, const struct peet_abstract_event *event)
{
    const uint64_t address = event->args[0], bytes = event->args[1];
    const int heap = event->nargs < 4 || event->args[3] == 0;
    races_forget(r, address, bytes);
    struct block *const new = heap && bytes ? malloc(sizeof *new) : NULL;
    if (!new)
        return;
    *new = (struct block){address, address + bytes, event->context};
    struct block **found;
    while ((found = tfind(new, &r->blocks, order)) != NULL)
        overtake(r, *found);
    if (!tsearch(new, &r->blocks, order)) {
        free(new);
        races_no_memory(r);
    }
}

void races_free(struct races *r, const struct peet_abstract_event *event)
{
    const uint64_t address = event->args[0];
    const struct block wanted = {address, address + 1, 0};
    struct block **const found = tfind(&wanted, &r->blocks, order), *const block = found ? *found : NULL;
    struct races_late *late;
    HASH_FIND(hh, r->late, &address, sizeof address, late);
    if (late && !(block && block->low == address && block->context == event->context)) {
        races_take_back(r, late->address, late->bytes, late->cycles);
        races_forget(r, late->address, late->bytes);
        if (--late->count)
            return;
        HASH_DEL(r->late, late);
        free(late);
        return;
    }
    if (!block || block->low != address)
        return;
    tdelete(block, &r->blocks, order);
    free(block);
}

void races_blocks_free(struct races *r)
{
    struct races_late *late, *next;
    HASH_ITER(hh, r->late, late, next)
    {
        HASH_DEL(r->late, late);
        free(late);
    }
    tdestroy(r->blocks, free);
}
