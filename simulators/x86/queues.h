/* SPDX-License-Identifier: Apache-2.0 */
/*
 * x86: window, queues and scheduler buffers of a thread, as times.  Inlined into core.c; see core.h.
 */
#ifndef PEET_X86_QUEUES_H
#define PEET_X86_QUEUES_H

#include "core.h"

#include <string.h>

/** When there is room for n more entries, with at most `limit` of them taken. */
static inline uint64_t x86_queue_room(const struct x86_queue *q, uint32_t n, uint32_t limit)
{
    uint64_t last = q->n + n;

    return n && last > limit ? q->left[(last - limit - 1) & q->mask] : 0;
}

/** An entry that is left at this time. */
static inline void x86_queue_enter(struct x86_queue *q, uint64_t left)
{
    q->left[q->n++ & q->mask] = left;
}

/** The micro-ops of an instruction; behind the last entry there is always room for another one. */
static inline void x86_window_enter(struct x86_queue *q, uint32_t n, uint64_t left)
{
    uint64_t at = q->n;

    q->left[at & q->mask] = left;
    q->left[(at + 1) & q->mask] = left;
    for (uint32_t i = 2; __builtin_expect(i < n, 0); i++)
        q->left[(at + i) & q->mask] = left;
    q->n = at + n;
}

/** Give back what was due up to this time, which is later than where that has been done. */
static __attribute__((noinline, unused)) void x86_buffer_drain_on(struct x86_buffer *b, uint64_t now)
{
    if (now >= b->drained + X86_BUFFER_CYCLES) { /* all of it */
        for (unsigned w = 0; w < X86_BUFFER_CYCLES / 64; w++)
            if (b->some[w]) {
                memset(&b->freed[w * 64], 0, 64 * sizeof *b->freed);
                b->some[w] = 0;
            }
        b->used = 0;
        b->drained = now;
        return;
    }
    for (uint64_t at = b->drained + 1; at <= now;) {
        uint64_t *some = &b->some[at % X86_BUFFER_CYCLES / 64], bits = *some >> at % 64;

        if (!bits) {
            at = (at / 64 + 1) * 64;
            continue;
        }
        at += (unsigned)__builtin_ctzll(bits);
        if (at > now)
            break;
        b->used -= b->freed[at % X86_BUFFER_CYCLES];
        b->freed[at % X86_BUFFER_CYCLES] = 0;
        *some &= ~(1ull << at % 64);
        at++;
    }
    b->drained = now;
}

enum { X86_BUFFER_NEAR = 4 };

/** The same, if that is at most X86_BUFFER_NEAR cycles after where it has been done. */
static inline void x86_buffer_drain_near(struct x86_buffer *b, uint64_t now)
{
    for (uint64_t at = b->drained + 1; at <= now; at++) {
        uint16_t *freed = &b->freed[at % X86_BUFFER_CYCLES];

        if (*freed) {
            b->used -= *freed;
            *freed = 0;
            b->some[at % X86_BUFFER_CYCLES / 64] &= ~(1ull << at % 64);
        }
    }
    b->drained = now > b->drained ? now : b->drained;
}

/** Give back what was due up to this time. */
static inline void x86_buffer_drain(struct x86_buffer *b, uint64_t now)
{
    if (now > b->drained)
        x86_buffer_drain_on(b, now);
}

/** When there is room for an entry, at this time or later, in a buffer that has not been drained. */
static __attribute__((noinline, unused)) uint64_t x86_buffer_room_later(struct x86_buffer *b, uint64_t now)
{
    x86_buffer_drain(b, now);
    for (uint64_t at = now; b->used >= b->size; now = at) {
        uint64_t bits = 0;

        for (at = b->drained + 1; !(bits = b->some[at % X86_BUFFER_CYCLES / 64] >> at % 64);)
            at = (at / 64 + 1) * 64; /* it is full, so that something is due */
        at += (unsigned)__builtin_ctzll(bits);
        x86_buffer_drain(b, at);
    }
    return now > b->drained ? now : b->drained;
}

/** When there is room for an entry, at this time or later. */
static inline uint64_t x86_buffer_room(struct x86_buffer *b, uint64_t now)
{
    return __builtin_expect(b->used < b->size, 1) ? now : x86_buffer_room_later(b, now);
}

/** An entry that is taken now and given back at this time. */
static inline void x86_buffer_enter(struct x86_buffer *b, uint64_t now, uint64_t until)
{
    if (until <= b->drained) /* another thread is ahead */
        return;
    if (__builtin_expect(until >= b->drained + X86_BUFFER_CYCLES, 0)) {
        x86_buffer_drain(b, now);
        if (until >= b->drained + X86_BUFFER_CYCLES) /* further than we can see */
            until = b->drained + X86_BUFFER_CYCLES - 1;
    }
    b->used++;
    b->freed[until % X86_BUFFER_CYCLES]++;
    b->some[until % X86_BUFFER_CYCLES / 64] |= 1ull << until % 64;
}

/** The youngest store in the queue at this time that has one of these bytes; NULL: none */
static inline struct x86_store *x86_store_find(struct x86_thread *t, uint64_t address, uint32_t size_bytes,
    uint64_t now)
{
    uint64_t youngest = 0, first = address / 8, last = (address + size_bytes - 1) / 8;
    const uint64_t before = t->store[(t->store_count + 1) & t->stores.mask].granules; /* too long ago */

    if (t->store[t->store_count & t->stores.mask].written_cycles <= now) /* they are written in order */
        return NULL;
    for (uint64_t number = first; number <= last; number++) {
        uint64_t at = t->buckets[number * 0x9e3779b97f4a7c15u >> 54];

        while (at > before) {
            const struct x86_granule *g = &t->granules[at & t->granule_mask];

            if (g->store <= youngest)
                break;
            if (g->number == number) {
                const struct x86_store *s = &t->store[g->store & t->stores.mask];

                if (s->written_cycles <= now) /* and all older ones are, too */
                    break;
                if (s->address < address + size_bytes && address < s->address + s->size_bytes) {
                    youngest = g->store;
                    break;
                }
            }
            at = g->older;
        }
    }
    return youngest ? &t->store[youngest & t->stores.mask] : NULL;
}

/** Do a store and the one before it lie in one line, with 8 bytes each at most? It is the one before now. */
static inline int x86_store_joins(struct x86_thread *t, uint64_t address, uint32_t size_bytes)
{
    const uint64_t bytes = t->cpu->x->line_bytes, line = size_bytes <= 8 ? address / bytes : UINT64_MAX;
    const int same = line == t->store_line && line != UINT64_MAX;

    t->store_line = line == (address + size_bytes - 1) / bytes ? line : UINT64_MAX;
    return same;
}

/** Where memory renaming remembers an instruction. */
static inline uint32_t x86_pair_slot(uint64_t pc)
{
    return (uint32_t)((pc ^ pc >> 10) % X86_PAIRS);
}

/** A store, in program order, with the time at which its data are there and that at which it is written. */
static inline void x86_store_enter(struct x86_thread *t, uint64_t pc, uint64_t address, uint32_t size_bytes,
    uint64_t data, uint64_t registers, uint64_t written)
{
    uint64_t number = ++t->store_count, last = (address + size_bytes - 1) / 8;

    t->store[number & t->stores.mask] =
        (struct x86_store){address, data, written, t->granule_count, pc, registers, size_bytes};
    t->newest[x86_pair_slot(pc)] = (struct x86_newest){pc, number};
    for (uint64_t g = address / 8; g <= last; g++) {
        uint64_t at = ++t->granule_count, *bucket = &t->buckets[g * 0x9e3779b97f4a7c15u >> 54];

        t->granules[at & t->granule_mask] = (struct x86_granule){g, number, *bucket};
        *bucket = at;
    }
}

#endif
