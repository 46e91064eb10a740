/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blocks that peet takes in machine code (<peet/direct.h>): it counts their instructions and cycles, and shows where
 * functions are entered and left.  What was counted since the last one shown is of one function and one node.
 */
#include "graph.h"

#include <stdlib.h>
#include <string.h>

enum { INSTRUCTIONS, CYCLES };

struct block {
    struct peet_direct_counted counted;
    struct peet_direct_watch watch; /* with its guards, of which there are none */
};

/* What code counts on a hardware context. */
struct hardware {
    const struct peet_function *function; /* of what is counted; NULL: nothing was shown since code began */
    uint32_t context;                     /* and whose */
    uint64_t booked[PEET_DIRECT_SUMS];    /* so much of the sums is known */
};

struct graph_counted {
    struct peet_direct_sums sums;
    struct hardware *hw;
    uint32_t nhw, nblocks;
    struct block **blocks; /* by block id */
};

struct graph_counted *graph_counted_new(void)
{
    return calloc(1, sizeof(struct graph_counted));
}

void graph_counted_free(struct graph_counted *counted)
{
    if (!counted)
        return;
    for (uint32_t i = 0; i < counted->nblocks; i++)
        free(counted->blocks[i]);
    free(counted->blocks);
    free(counted->hw);
    free(counted);
}

static int watch(void *self, const struct peet_block *block, const uint64_t *values,
    struct peet_direct_watch **out_watch)
{
    struct graph *g = self;
    struct graph_counted *n = g->counted;
    struct block *b;

    (void)values;
    if (block->cost_cycles > INT32_MAX ||
        graph_grow(g, &n->blocks, &n->nblocks, (size_t)block->id + 1, sizeof(*n->blocks)))
        return -1;
    if (!(b = n->blocks[block->id]) && !(b = n->blocks[block->id] = calloc(1, sizeof *b)))
        return -1;
    b->counted.sums = &n->sums;
    b->counted.adds[INSTRUCTIONS] = block->ninsns;
    b->counted.adds[CYCLES] = (uint32_t)block->cost_cycles;
    b->watch.counted = &b->counted;
    *out_watch = &b->watch;
    return 0;
}

static struct hardware *hardware_of(struct graph *g, unsigned hw)
{
    struct graph_counted *n = g->counted;

    return g->failed || graph_grow(g, &n->hw, &n->nhw, (size_t)hw + 1, sizeof(*n->hw)) ? NULL : &n->hw[hw];
}

/** What was counted is the node's that runs there. */
static void drain(struct graph *g, struct hardware *h, const uint64_t *sums)
{
    struct graph_context *c = h->function ? graph_context(g, h->context) : NULL;

    if (c)
        graph_add_code(g, c->node, h->function, sums[INSTRUCTIONS] - h->booked[INSTRUCTIONS],
            sums[CYCLES] - h->booked[CYCLES]);
    memcpy(h->booked, sums, sizeof h->booked);
}

static void begins(void *self, unsigned hw)
{
    struct hardware *h = hardware_of(self, hw);

    if (h)
        *h = (struct hardware){0};
}

static void shown(void *self, unsigned hw, const struct peet_block_event *event, const struct peet_block *previous,
    uint64_t now, const uint64_t sums[PEET_DIRECT_SUMS])
{
    struct graph *g = self;
    struct hardware *h = hardware_of(g, hw);
    struct graph_context *c;

    (void)previous, (void)now;
    if (!h)
        return;
    drain(g, h, sums);
    if (g->failed || !(c = graph_context(g, event->context)))
        return;
    if (c->wait != PEET_ABSTRACT_NONE)
        graph_resume(g, c, NULL);
    graph_enter(g, c->node, event->block);
    h->context = event->context;
    h->function = event->block->function;
}

static void ends(void *self, unsigned hw, const struct peet_block *previous, uint64_t now,
    const uint64_t sums[PEET_DIRECT_SUMS])
{
    struct hardware *h = hardware_of(self, hw);

    (void)previous, (void)now;
    if (h)
        drain(self, h, sums);
}

static void undone(void *self, const struct peet_block *block, const uint64_t *values, uint64_t times)
{
    (void)self, (void)block, (void)values, (void)times; /* it goes by the sums */
}

/** What is data's needs to see each reference. */
static int configured(void *self)
{
    return ((struct graph *)self)->flow ? -1 : 0;
}

const struct peet_direct_observer graph_observed = {
    .abi = PEET_DIRECT_ABI,
    .struct_size = sizeof graph_observed,
    .watch = watch,
    .begins = begins,
    .shown = shown,
    .ends = ends,
    .undone = undone,
    .at_commit = 1,
    .configured = configured,
};
