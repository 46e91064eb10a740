/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is remembered of each word of memory: accesses that later ones may race with, as a list of cells for each 8
 * bytes.  An access leaves the list if a later one takes its place (races.h, 3).
 */
#include "races.h"

enum { WORD_SHIFT = 3, WORD_BYTES = 8 };

/* Would whatever races with an access like @a race with one like @b? */
static int stands_for(uint8_t b, uint8_t a)
{
    return (b & RACES_WRITE) >= (a & RACES_WRITE) && (b & RACES_ATOMIC) <= (a & RACES_ATOMIC);
}

static int conflict(uint8_t a, uint8_t b)
{
    return (a | b) & RACES_WRITE && !(a & b & RACES_ATOMIC);
}

/* Did the access happen before what the strand does now? */
static int is_before(const struct races *r, const struct races_cell *c, const struct races_strand *s)
{
    const uint32_t slot = r->names[c->strand].slot;
    return c->clock <= (slot == s->slot ? s->own : races_clock(&s->clocks, slot));
}

/* The access is remembered no more. */
static void unlink_cell(struct races *r, uint32_t *at)
{
    const uint32_t index = *at;
    *at = r->cells[index].next;
    r->cells[index].next = r->free_cell;
    r->free_cell = index;
}

static uint32_t cell_for(struct races *r)
{
    const uint32_t at = r->free_cell;
    if (at) {
        r->free_cell = r->cells[at].next;
        return at;
    }
    if (races_grow(r, &r->cells, &r->cells_room, (uint64_t)r->ncells + 2, sizeof *r->cells))
        return 0;
    return ++r->ncells;
}

/* @mask: of the word's bytes.  noinline: the quick way out is in races_access() */
static __attribute__((noinline)) void access_word(struct races *r, uint32_t *head, struct races_strand *s,
    uint64_t word, uint8_t mask, uint8_t how, uint32_t site)
{
    uint32_t *at = head;
    while (*at) {
        struct races_cell *const c = &r->cells[*at];
        if (!(c->mask & mask)) {
            at = &c->next;
            continue;
        }
        const int is_ordered = c->strand == s->id || is_before(r, c, s);
        if (!is_ordered && conflict(c->how, how)) {
            const uint8_t both = c->mask & mask;
            const unsigned first = (unsigned)__builtin_ctz(both);
            races_found(r, c, s, (word << WORD_SHIFT) + first, (uint32_t)__builtin_popcount(both), site);
            c->mask &= (uint8_t)~mask; /* the first one is enough */
        } else if (is_ordered && stands_for(how, c->how)) {
            c->mask &= (uint8_t)~mask;
        }
        if (c->mask)
            at = &c->next;
        else
            unlink_cell(r, at);
    }
    const uint32_t index = cell_for(r);
    if (!index)
        return;
    r->cells[index] = (struct races_cell){*head, s->clocks.v[s->slot], s->id, site, mask, how};
    *head = index;
}

void races_access(struct races *r, struct races_strand *s, uint64_t address, uint64_t bytes, uint8_t how, uint32_t site)
{
    const uint32_t clock = s->clocks.v[s->slot];
    r->accesses++;
    while (bytes && !r->failed) {
        const uint64_t word = address >> WORD_SHIFT;
        const unsigned from = (unsigned)(address & (WORD_BYTES - 1));
        const unsigned n = bytes < WORD_BYTES - from ? (unsigned)bytes : WORD_BYTES - from;
        const uint8_t mask = (uint8_t)(((1u << n) - 1) << from);
        uint32_t *const head = peet_sim_linemap_get(&r->words, word);
        if (!head) {
            races_no_memory(r);
            return;
        }
        const struct races_cell *const c = &r->cells[*head];
        /* what it did since its last synchronisation: nothing has become known meanwhile */
        if (!(*head && c->strand == s->id && c->clock == clock && (c->mask & mask) == mask && stands_for(c->how, how)))
            access_word(r, head, s, word, mask, how, site);
        address += n;
        bytes -= n;
    }
}

/* Bytes of a word are others' from now on. */
static void forget_word(struct races *r, uint32_t *at, uint8_t mask)
{
    while (*at) {
        struct races_cell *const c = &r->cells[*at];
        c->mask &= (uint8_t)~mask;
        if (c->mask)
            at = &c->next;
        else
            unlink_cell(r, at);
    }
}

void races_forget_range(struct races *r, const struct races_range *range)
{
    if (range->low < range->high)
        races_forget(r, range->low, range->high - range->low);
}

void races_forget(struct races *r, uint64_t address, uint64_t bytes)
{
    const uint64_t end = address + bytes < address ? UINT64_MAX : address + bytes;
    while (address < end) {
        const uint64_t word = address >> WORD_SHIFT, next = peet_sim_linemap_next(&r->words, word);
        if (next != word) { /* nothing has been referenced before that */
            if (next > (end - 1) >> WORD_SHIFT)
                return;
            address = next << WORD_SHIFT;
            continue;
        }
        const unsigned from = (unsigned)(address & (WORD_BYTES - 1));
        const uint64_t n = end - address < WORD_BYTES - from ? end - address : WORD_BYTES - from;
        forget_word(r, peet_sim_linemap_get(&r->words, word), (uint8_t)(((1u << n) - 1) << from));
        address += n;
    }
}
