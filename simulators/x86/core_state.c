/* SPDX-License-Identifier: Apache-2.0 */
/*
 * x86: the state of a thread and its core as bytes, for core_replay.c: equal bytes are equal futures.  Times are
 * relative to the cycle of the last dispatch; what is not later than that is of no importance, whatever it is, since
 * nothing issues before the cycle that follows.
 *
 * Not in it, since they are kept up to date: clock, front end, last branch, store queue's addresses, predictor, caches.
 */
#include "core_replay.h"
#include "queues.h"

/** The beginning of a state; masks of units, their cycles, registers, window, loads, stores, scheduler queues follow.
 */
struct head {
    uint64_t recent;
    int32_t frontier;
    uint32_t retired, slots, base, barrier, last_issue, loads_done, stores_written, writes;
    uint16_t window, loads, stores, units;               /* entries */
    uint16_t buffers[X86_BUFFERS], drained[X86_BUFFERS]; /* drained: so far ahead, as bind_later() does */
    uint32_t store_category;
    int32_t decoded; /* after that cycle */
    uint32_t starved;
    uint16_t fetch_at;
    uint8_t ahead, entered;
    uint32_t unused;
};

static uint32_t after(uint64_t time, uint64_t now)
{
    return time > now ? (uint32_t)(time - now) : 0;
}

/** Entries of a queue that are left after `now`, oldest first.  Times do not fall from one to the next.  Returns: how
 * many */
static uint32_t write_queue(const struct x86_queue *q, uint64_t now, uint16_t *out)
{
    uint64_t low = q->n < q->size ? 0 : q->n - q->size, high = q->n;
    uint32_t n;

    while (low < high) {
        uint64_t middle = (low + high) / 2;

        if (q->left[middle & q->mask] > now)
            high = middle;
        else
            low = middle + 1;
    }
    n = (uint32_t)(q->n - low);
    for (uint32_t done = 0; done < n;) { /* the ring in one piece or two */
        const uint64_t *from = &q->left[(low + done) & q->mask];
        uint32_t piece = q->mask + 1 - (uint32_t)((low + done) & q->mask);

        piece = piece < n - done ? piece : n - done;
        for (uint32_t i = 0; i < piece; i++)
            out[done + i] = (uint16_t)(from[i] - now);
        done += piece;
    }
    return n;
}

static const uint16_t *read_queue(struct x86_queue *q, uint64_t now, const uint16_t *in, uint32_t n)
{
    for (uint32_t i = 0; i < q->size - n; i++)
        q->left[(q->n - n - 1 - i) & q->mask] = 0;
    for (uint32_t i = 0; i < n; i++)
        q->left[(q->n - n + i) & q->mask] = now + in[i];
    return in + n;
}

/** What the front end has decoded and not dispatched at the end of a cycle. */
static int32_t decoded(const struct x86_thread *t, uint64_t now)
{
    int64_t most = (int64_t)t->cpu->x->config.fetch_queue_uops * X86_PARTS,
            have = t->decoded + (int64_t)(now - t->decoded_cycle) * t->fetch_parts;

    return (int32_t)(have < most ? have : most);
}

uint32_t x86_state_write(struct x86_thread *t, uint64_t out[X86_STATE_BYTES / 8])
{
    struct x86_cpu *c = t->cpu;
    struct x86_units *u = &c->units;
    struct head *head = (struct head *)out;
    const uint64_t now = t->dispatch;
    uint64_t *masks = out + sizeof *head / 8, most = 0;
    uint16_t cycles[X86_STATE_CYCLES], *to;
    uint32_t bytes;

    _Static_assert(sizeof(struct head) % 8 == 0, "a state is made of words");
    if (u->horizon >= now + X86_STATE_CYCLES || (int64_t)(t->frontier - now) > UINT16_MAX ||
        (int64_t)(t->frontier - now) < -UINT16_MAX || t->stores_written > now + UINT16_MAX ||
        2 * (t->window.size + t->loads.size + t->stores.size) > X86_STATE_BYTES / 2)
        return 0;
    memset(head, 0, sizeof *head);
    head->recent = u->recent;
    head->frontier = (int32_t)(t->frontier - now);
    head->retired = t->retired;
    head->slots = t->slots;
    head->base = (uint32_t)t->base;
    if (t->fetch_parts) {
        head->decoded = decoded(t, now);
        head->starved = (uint32_t)t->starved;
        if (t->cpu->x->config.fetch_past_taken == X86_OFF || t->cpu->x->config.override_cycles)
            head->fetch_at = (uint16_t)t->fetch_at;
        head->ahead = t->ahead;
        head->entered = t->entered;
    }
    head->barrier = after(t->barrier, now);
    head->last_issue = c->x->config.core == CORE_INORDER ? after(t->last_issue, now) : 0;
    head->loads_done = after(t->loads_done, now);
    head->stores_written = after(t->stores_written, now);
    head->writes = head->stores_written ? t->writes : 0;
    head->store_category = t->store_category;

    for (uint64_t at = now + 1; at < u->horizon; at++)
        if (u->calendar[at % X86_CALENDAR].cycle == at && u->calendar[at % X86_CALENDAR].busy) {
            if (head->units == X86_STATE_BYTES / 64)
                return 0;
            masks[head->units] = u->calendar[at % X86_CALENDAR].busy;
            cycles[head->units++] = (uint16_t)(at - now);
        }
    to = (uint16_t *)(masks + head->units);
    memcpy(to, cycles, head->units * sizeof *to);
    to += head->units;
    for (unsigned r = 0; r < X86_READY; r++) {
        uint64_t wait = t->ready[r] > now ? t->ready[r] - now : 0;

        most |= wait;
        to[r] = (uint16_t)wait;
    }
    if (most > UINT16_MAX)
        return 0;
    to += X86_READY;
    to += head->window = (uint16_t)write_queue(&t->window, now, to);
    to += head->loads = (uint16_t)write_queue(&t->loads, now, to);
    to += head->stores = (uint16_t)write_queue(&t->stores, now, to);
    for (unsigned b = 0; b < c->x->nbuffers; b++) {
        struct x86_buffer *buffer = &c->buffers[b];

        x86_buffer_drain(buffer, now);
        if (buffer->drained > now + UINT16_MAX)
            return 0;
        head->drained[b] = (uint16_t)(buffer->drained - now);
        for (uint64_t at = now + 1; at < u->horizon;) {
            uint64_t bits = buffer->some[at % X86_BUFFER_CYCLES / 64] >> at % 64;

            if (!bits) {
                at = (at / 64 + 1) * 64;
                continue;
            }
            at += (unsigned)__builtin_ctzll(bits);
            if (at >= u->horizon)
                break;
            if ((char *)(to + 8) > (char *)out + X86_STATE_BYTES)
                return 0;
            *to++ = (uint16_t)(at - now);
            *to++ = buffer->freed[at % X86_BUFFER_CYCLES];
            head->buffers[b]++;
            at++;
        }
    }
    bytes = (uint32_t)((char *)to - (char *)out);
    for (; bytes % 8; bytes += 2)
        *to++ = 0;
    return bytes;
}

/** Nothing is in it. */
static void empty(struct x86_buffer *b, uint64_t now)
{
    x86_buffer_drain(b, b->drained + X86_BUFFER_CYCLES);
    b->drained = now;
}

void x86_state_read(struct x86_thread *t, const uint64_t *state)
{
    struct x86_cpu *c = t->cpu;
    struct x86_units *u = &c->units;
    const struct head *head = (const struct head *)state;
    const uint64_t *masks = state + sizeof *head / 8, now = t->dispatch;
    const uint16_t *in = (const uint16_t *)(masks + head->units);

    t->retired = head->retired;
    t->slots = head->slots;
    t->base = head->base;
    t->starved = head->starved;
    t->fetch_at = head->fetch_at;
    t->ahead = head->ahead;
    t->entered = head->entered;
    t->decoded = head->decoded;
    t->decoded_cycle = now;
    t->barrier = now + head->barrier;
    t->last_issue = now + head->last_issue;
    t->loads_done = now + head->loads_done;
    t->stores_written = now + head->stores_written;
    t->writes = head->writes;
    t->store_category = (uint8_t)head->store_category;

    for (uint64_t at = now + 1; at < u->horizon; at++)
        if (u->calendar[at % X86_CALENDAR].cycle == at)
            u->calendar[at % X86_CALENDAR].busy = 0;
    for (unsigned i = 0; i < head->units; i++) {
        u->calendar[(now + in[i]) % X86_CALENDAR].cycle = now + in[i];
        u->calendar[(now + in[i]) % X86_CALENDAR].busy = masks[i];
    }
    memset(u->stretches, 0, sizeof u->stretches);
    u->recent = head->recent;
    u->horizon = now;
    in += head->units;
    if (head->units)
        u->horizon += in[-1] + 1u;
    for (unsigned r = 0; r < X86_READY; r++)
        t->ready[r] = now + in[r];
    in += X86_READY;
    in = read_queue(&t->window, now, in, head->window);
    in = read_queue(&t->loads, now, in, head->loads);
    in = read_queue(&t->stores, now, in, head->stores);
    for (unsigned b = 0; b < c->x->nbuffers; b++) {
        struct x86_buffer *buffer = &c->buffers[b];

        empty(buffer, now + head->drained[b]);
        for (unsigned i = 0; i < head->buffers[b]; i++, in += 2) {
            uint64_t at = now + in[0];

            buffer->freed[at % X86_BUFFER_CYCLES] = in[1];
            buffer->some[at % X86_BUFFER_CYCLES / 64] |= 1ull << at % 64;
            buffer->used += in[1];
            u->horizon = at + 1 > u->horizon ? at + 1 : u->horizon;
        }
    }
}
