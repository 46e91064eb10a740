/* SPDX-License-Identifier: Apache-2.0 */
/*
 * engine.c for one processor with one cache. No cache snoops, no line is lost to another cache, and the bus is a queue.
 * The protocol's table says the rest.  Lines need no lists of copies: a line's record is one word of stackdist.h, and
 * without classification there is none.  Called by fast.c.
 */
#include "bus.h"

static inline uint64_t use_bus_uniprocessor(struct bus *b, struct cache *c, enum bus_op op, uint64_t time,
    uint64_t cycles)
{
    if (b->at_once && op != OP_WRITE_BACK) {
        b->transactions[op]++;
        b->calendar.transactions++;
        return time;
    }
    uint64_t start = peet__bus_calendar_request_uniprocessor(&b->calendar, time, cycles);
    b->transactions[op]++;
    if (op != OP_WRITE_BACK) /* nobody waits for those */
        b->hw[c->hw].wait_cycles += start - time;
    return start + cycles;
}

/* A frame for the line that comes in.  Returns: whether its old line goes to memory. */
static inline int evict_uniprocessor(struct bus *b, struct cache *c, struct frame *f, uint64_t time)
{
    const int dirty = b->dirty[f->state];
    c->stats.evictions++;
    if (b->watched)
        peet__bus_report_removed(b, c, peet__bus_line_in(b, f), c, dirty, time);
    if (dirty) {
        c->stats.write_backs++;
        b->memory_line_writes++;
    }
    return dirty;
}

static inline uint64_t cycles_uniprocessor(const struct bus *b, enum bus_op op, unsigned bytes)
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
static inline uint64_t transact_uniprocessor(struct bus *b, struct cache *c, unsigned *state, int write, unsigned bytes,
    uint64_t time)
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
        time =
            use_bus_uniprocessor(b, c, (enum bus_op)row->op, time, cycles_uniprocessor(b, (enum bus_op)row->op, bytes));
        if (!row->again)
            return time;
    }
}

/* Looks for the line in its set, and for the frame that it goes into if it is not there (LRU only; NO_FRAME otherwise:
 * ask peet__bus_victim()).  One pass without surprises: nearly always, it is not there. */
static inline uint32_t search_uniprocessor(const struct bus *b, const struct cache *c, uint32_t first, uint64_t line,
    uint32_t *out_victim)
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

uint64_t peet__bus_touch_uniprocessor(struct bus *b, struct cache *c, uint64_t line, unsigned bytes, enum touch touch,
    uint64_t time)
{
    const int write = touch == TOUCH_WRITE;
    uint32_t *record = NULL, victim, i;
    struct frame *f = NULL;
    unsigned state = BUS_INVALID;
    uint64_t begin = time;
    int fill = 0, write_back = 0;
    if (b->dead)
        return 0;
    i = search_uniprocessor(b, c, peet__bus_set_of(b, line) * b->ways, line, &victim);
    if (i == NO_FRAME && b->classify && !(record = peet_sim_linemap_get(&b->lines_map, line))) {
        peet__bus_no_memory(b);
        return 0;
    }
    c->stamp++;
    if (i == NO_FRAME) {
        const unsigned op = b->protocol->processor[BUS_INVALID][write].op;
        *(touch == TOUCH_FETCH ? &c->stats.fetch_misses : write ? &c->stats.write_misses : &c->stats.read_misses) += 1;
        if (record) {
            if (c->stamp >= c->stackdist.until)
                peet__bus_stackdist_rebase(b, c, c->stamp - 1);
            c->stats.kinds[peet__bus_kind_uniprocessor(b, c, *record, c->stamp - 1)]++;
        }
        if (op == OP_READ || op == OP_READX) {
            f = victim == NO_FRAME ? peet__bus_victim(b, c, line) : &c->frames[victim];
            fill = 1;
            if (f->state != BUS_INVALID)
                write_back = evict_uniprocessor(b, c, f, time);
        }
    } else {
        f = &c->frames[i];
        state = f->state;
        if (b->classify)
            peet__bus_stackdist_hit(&c->stackdist, c->used[i]);
        c->stats.upgrades += b->protocol->processor[state][write].op != OP_NONE;
    }
    time = transact_uniprocessor(b, c, &state, write, bytes, time);
    if (record)
        peet__bus_stackdist_fill(&c->stackdist, (uint32_t)(f - c->frames), c->used[f - c->frames], record);
    if (f) {
        peet__bus_set(b, f, line, state);
        peet__bus_used(b, c, f, fill);
        c->predictor[line & b->predictor_mask] = (uint32_t)(f - c->frames);
    }
    if (record && c->stackdist.nlogged == c->stackdist.stop)
        peet__bus_stackdist_stop(b, c, c->stamp - 1);
    if (write_back)
        use_bus_uniprocessor(b, c, OP_WRITE_BACK, time, cycles_uniprocessor(b, OP_WRITE_BACK, 0));
    return time - begin;
}
