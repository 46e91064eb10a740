/* SPDX-License-Identifier: Apache-2.0 */
/* Strands: their beginning and end, and what one learns from another.  See races.h. */
#include "races.h"

#include <stdlib.h>

/* A slot is used again when so many are free: what a later strand in it has done says nothing of the earlier one. */
enum { FREE_SLOTS = 64 };

static uint32_t slot_for(struct races *r)
{
    if (r->nfree > FREE_SLOTS) {
        const uint32_t slot = r->free_slots[r->first_free];
        r->first_free = (r->first_free + 1) % r->free_room;
        r->nfree--;
        return slot;
    }
    if (races_grow(r, &r->slot_clocks, &r->slots_room, (uint64_t)r->nslots + 1, sizeof *r->slot_clocks))
        return RACES_NONE;
    return r->nslots++;
}

static void free_slot(struct races *r, uint32_t slot)
{
    if (r->nfree == r->free_room) {
        uint32_t *more = NULL, room = 0;
        if (races_grow(r, &more, &room, 2ull * r->nfree + FREE_SLOTS, sizeof *more))
            return;
        for (uint32_t i = 0; i < r->nfree; i++)
            more[i] = r->free_slots[(r->first_free + i) % r->free_room];
        free(r->free_slots);
        r->free_slots = more;
        r->free_room = room;
        r->first_free = 0;
    }
    r->free_slots[(r->first_free + r->nfree++) % r->free_room] = slot;
}

/* What it does from now on has not been released yet. */
static void tick(struct races *r, struct races_strand *s)
{
    if (s->clocks.v[s->slot] == UINT32_MAX) {
        if (!r->failed)
            r->env->fail(r->env, "races: more synchronisations than can be counted");
        r->failed = 1;
        return;
    }
    r->slot_clocks[s->slot] = ++s->clocks.v[s->slot];
}

struct races_strand *races_strand_new(struct races *r, uint8_t kind, uint64_t number, struct races_strand *parent,
    const struct races_clocks *begin)
{
    struct races_strand *const s = calloc(1, sizeof *s);
    if (!s || races_grow(r, &r->names, &r->names_room, (uint64_t)r->nnames + 1, sizeof *r->names) ||
        (s->slot = slot_for(r)) == RACES_NONE) {
        free(s);
        races_no_memory(r);
        return NULL;
    }
    if (begin)
        races_copy(r, &s->clocks, begin);
    else if (parent)
        races_release(r, parent, &s->clocks);
    if (races_lengthen(r, &s->clocks, s->slot + 1)) {
        races_clocks_free(&s->clocks);
        free(s);
        return NULL;
    }
    s->own = s->clocks.v[s->slot];
    s->clocks.v[s->slot] = ++r->slot_clocks[s->slot];
    s->kind = kind;
    s->references = 1;
    s->id = r->nnames++;
    r->names[s->id] = (struct races_name){number, s->slot, s->clocks.v[s->slot], kind};
    if (parent) {
        s->parent = parent;
        races_strand_hold(parent);
    }
    s->stack = (struct races_range){UINT64_MAX, 0};
    return s;
}

void races_strand_hold(struct races_strand *s)
{
    s->references++;
}

void races_strand_drop(struct races *r, struct races_strand *s)
{
    while (s && --s->references == 0) {
        struct races_strand *const parent = s->parent;
        for (uint32_t i = 0; i < s->nafter; i++)
            races_strand_drop(r, s->after[i]);
        free(s->after);
        races_strand_drop(r, s->below);
        races_clocks_free(&s->clocks);
        races_clocks_free(&s->children);
        races_clocks_free(&s->ended);
        races_clocks_free(&s->fence);
        races_clocks_free(&s->looked);
        free(s);
        s = parent;
    }
}

void races_strand_over(struct races *r, struct races_strand *s)
{
    if (!s->over)
        free_slot(r, s->slot);
    s->over = 1;
}

void races_release(struct races *r, struct races_strand *s, struct races_clocks *into)
{
    races_join(r, into, &s->clocks);
    tick(r, s);
}

void races_acquire(struct races *r, struct races_strand *s, const struct races_clocks *from)
{
    const uint32_t own = s->clocks.v[s->slot], past = races_clock(from, s->slot);
    races_join(r, &s->clocks, from);
    /* an earlier strand of the slot may have been seen; its own clock is ahead of all of these */
    if (past > s->own && past < r->names[s->id].begin)
        s->own = past;
    s->clocks.v[s->slot] = own;
}
