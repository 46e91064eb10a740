/* SPDX-License-Identifier: Apache-2.0 */
/*
 * engine.c for one processor with one cache: nobody snoops, nothing is ever lost to others, and the bus is a
 * queue.  The protocol's table says the rest, as there.  Lines then need no lists: a line's record says
 * in which place of the shadow it was last, and the place says whether it still is; a frame knows its place.
 * Without classification no record is needed.  Called by the fast path in fast.c.
 */
#include "bus.h"

static inline uint64_t use_bus_sole(struct bus *b, struct cache *c, enum bus_op op, uint64_t time, uint64_t cycles)
{
    if (b->at_once && op != OP_WRITE_BACK) {
        b->transactions[op]++;
        b->calendar.transactions++;
        return time;
    }
    uint64_t start = peet__bus_calendar_request_sole(&b->calendar, time, cycles);
    b->transactions[op]++;
    if (op != OP_WRITE_BACK) /* nobody waits for those */
        b->hw[c->hw].wait_cycles += start - time;
    return start + cycles;
}

static uint64_t place_used(const void *owner, uint32_t slot)
{
    return *peet__bus_place_stamp(owner, slot + 1);
}

void peet__bus_places_prefetch(const struct cache *c)
{
    const struct peet_sim_oldest *const q = &c->shadow_oldest;
    if (q->next + 4 >= q->n)
        return;
    __builtin_prefetch(&c->places[q->order[q->next + 4] + 1], 1);
    __builtin_prefetch(peet__bus_place_stamp(c, q->order[q->next + 1] + 1), 1);
}

__attribute__((noinline)) uint32_t peet__bus_place_search(struct bus *b, struct cache *c, uint64_t now)
{
    struct peet_sim_oldest *const q = &c->shadow_oldest;
    if (c->shadow_used < b->lines) { /* nothing is sorted yet */
        q->next = q->n;
        return ++c->shadow_used;
    }
    return peet_sim_oldest_take(q, &b->scratch, place_used, c, now - 1) + 1;
}

/* The shadow sees a reference to a line, which is not both in a frame and in the shadow. */
static void shadow_use_sole(struct bus *b, struct cache *c, uint64_t line, void *record, struct frame *f, int insert)
{
    uint32_t place = peet__bus_record_place(b, peet__bus_record(b, record));
    if (c->places[place].line != line) {
        if (!insert)
            return;
        place = peet__bus_place_new(b, c, line, c->stamp);
        peet__bus_record_set(b, record, place);
    }
    c->places[place].at = f ? PLACE_FRAME | (uint64_t)(f - c->frames) : c->stamp;
    if (f)
        f->place = place;
}

/* A frame for the line that comes in.  Returns: whether its old line goes to memory. */
static inline int evict_sole(struct bus *b, struct cache *c, struct frame *f, uint64_t time)
{
    const int dirty = b->dirty[f->state];
    c->stats.evictions++;
    if (b->watched)
        peet__bus_report_gone(b, c, peet__bus_line_in(b, f), c, dirty, time);
    if (b->classify) {
        c->places[f->place].at = c->used[f - c->frames];
        f->place = 0;
    }
    if (dirty) {
        c->stats.write_backs++;
        b->memory_line_writes++;
    }
    return dirty;
}

static inline uint64_t cycles_sole(const struct bus *b, enum bus_op op, unsigned bytes)
{
    uint64_t cycles = b->address_cycles;
    if (op == OP_READ || op == OP_READX)
        cycles += b->memory_latency_cycles + b->line_cycles;
    else if (op == OP_WRITE || op == OP_UPDATE)
        cycles += (bytes + b->bus_width_bytes - 1) / b->bus_width_bytes * b->word_cycles;
    else if (op == OP_WRITE_BACK)
        cycles += b->line_cycles;
    return cycles;
}

/* The transactions that the reference needs, until it is done.  Returns: the time then */
static inline uint64_t transact_sole(struct bus *b, struct cache *c, unsigned *state, int write, unsigned bytes, uint64_t time)
{
    for (;;) {
        const struct bus_processor_row *row = &b->protocol->processor[*state][write];
        *state = row->alone;
        if (row->op == OP_NONE)
            return time;
        if (row->op == OP_READ || row->op == OP_READX)
            b->memory_line_reads++;
        if (row->op == OP_WRITE)
            b->memory_word_writes++;
        time = use_bus_sole(b, c, (enum bus_op)row->op, time, cycles_sole(b, (enum bus_op)row->op, bytes));
        if (!row->again)
            return time;
    }
}

/* Looks for the line in its set, and for the frame that it goes into if it is not there (LRU only; NO_FRAME otherwise: ask
 * peet__bus_victim()).  One pass without surprises: nearly always, it is not there. */
static inline uint32_t search_sole(const struct bus *b, const struct cache *c, uint32_t first, uint64_t line, uint32_t *out_victim)
{
    const uint64_t want = KEY_OF(line);
    uint32_t found = NO_FRAME, victim = first;
    uint64_t least = UINT64_MAX;
    for (uint32_t i = first, end = first + b->ways; i < end; i++) {
        const uint64_t used = c->used[i];
        found = (c->keys[i] ^ want) < 1u << KEY_SHIFT && used ? i : found; /* invalid ones were never used */
        victim = used < least ? i : victim;
        least = used < least ? used : least;
    }
    *out_victim = b->replacement == REPLACE_LRU ? victim : NO_FRAME;
    return found;
}

uint64_t peet__bus_touch_sole(struct bus *b, struct cache *c, uint64_t line, unsigned bytes, enum touch touch, uint64_t time)
{
    const int write = touch == TOUCH_WRITE;
    void *record = NULL;
    uint32_t victim, i;
    struct frame *f = NULL;
    unsigned state = BUS_INVALID;
    uint64_t begin = time;
    int fill = 0, write_back = 0;
    if (b->dead)
        return 0;
    if (b->classify && !(record = peet_sim_linemap_get(&b->lines_map, line))) {
        peet__bus_no_memory(b);
        return 0;
    }
    i = search_sole(b, c, peet__bus_set_of(b, line) * b->ways, line, &victim);
    c->stamp++;
    if (i == NO_FRAME) {
        const unsigned op = b->protocol->processor[BUS_INVALID][write].op;
        *(touch == TOUCH_FETCH ? &c->stats.fetch_misses : write ? &c->stats.write_misses : &c->stats.read_misses) += 1;
        if (record) {
            const uint32_t was = peet__bus_record(b, record), place = peet__bus_record_place(b, was);
            const unsigned old = c->places[place].line == line ? MISS_CONFLICT : MISS_CAPACITY;
            c->stats.kinds[was ? old : MISS_COLD]++;
            peet__bus_record_set(b, record, place);
        }
        if (op == OP_READ || op == OP_READX) {
            f = victim == NO_FRAME ? peet__bus_victim(b, c, line) : &c->frames[victim];
            fill = 1;
            if (f->state != BUS_INVALID)
                write_back = evict_sole(b, c, f, time);
        }
    } else {
        f = &c->frames[i];
        state = f->state;
        if (f->place)
            record = NULL;
        c->stats.upgrades += b->protocol->processor[state][write].op != OP_NONE;
    }
    time = transact_sole(b, c, &state, write, bytes, time);
    if (record)
        shadow_use_sole(b, c, line, record, f, !write || b->protocol->processor[BUS_INVALID][1].op != OP_WRITE);
    if (f) {
        peet__bus_set(b, f, line, state);
        peet__bus_used(b, c, f, fill);
        c->hints[line & b->hint_mask] = (uint32_t)(f - c->frames);
    }
    if (write_back)
        use_bus_sole(b, c, OP_WRITE_BACK, time, cycles_sole(b, OP_WRITE_BACK, 0));
    return time - begin;
}
