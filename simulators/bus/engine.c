/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A reference that needs more than a time stamp: misses, first writes, everything on the bus.  Reads the
 * protocol's table and does what it says, for the processor's own cache and for all others that hold the
 * line.  Called by the fast path in fast.c.
 */
#include "ahead.h"

#define ALWAYS static inline __attribute__((always_inline))

/* What is known of the machine where this is compiled: nothing; that misses are told apart by stackdist.h, or not at
 * all, and nothing is checked, watched or perfect, and sets are narrow. */
enum known { KNOWN_NOTHING, KNOWN_RECENT, KNOWN_PLAIN, KNOWN_TOLD };
#define CHECKED(b) (known == KNOWN_NOTHING && (b)->check)
#define WATCHED(b) (known == KNOWN_TOLD || (known == KNOWN_NOTHING && (b)->watched))
#define WIDE(b) (known == KNOWN_NOTHING && (b)->wide)
#define CLASSIFIED(b) (known == KNOWN_RECENT || known == KNOWN_TOLD || (known == KNOWN_NOTHING && (b)->classify))
#define RECENT(b) (known == KNOWN_RECENT || known == KNOWN_TOLD || (known == KNOWN_NOTHING && (b)->recent))

/* Others had been promised an earlier time. */
static __attribute__((noinline)) void others_lose(struct bus *b, uint64_t time)
{
    for (unsigned i = 0; i < b->calendar.nlosers; i++) {
        unsigned hw = b->calendar.losers[i];
        uint64_t lost = b->calendar.lost_cycles[hw];
        if (b->ahead)
            peet__bus_ahead_lost(b, hw, lost);
        b->calendar.lost_cycles[hw] = 0;
        b->hw[hw].wait_cycles += lost;
        b->hw[hw].stall_cycles += lost;
        b->hw[hw].busy_until += lost;
        if (b->watched)
            peet__bus_report_lost(b, hw, lost, time);
        b->env->not_ready_until(b->env, hw, b->hw[hw].busy_until);
    }
}

/* The bus for one transaction; OP_NONE: one that is refused after its address.  Returns: when it is over. */
ALWAYS uint64_t use_bus(struct bus *b, struct cache *c, enum bus_op op, uint64_t time, uint64_t cycles, int posted,
    enum known known)
{
    if (known == KNOWN_NOTHING && b->at_once && !posted) {
        b->transactions[op]++;
        b->calendar.transactions++;
        return time;
    }
    peet__bus_calendar_settle_some(&b->calendar, b->calendar.began);
    uint64_t start = peet__bus_calendar_request(&b->calendar, c->hw, time, cycles, posted);
    b->transactions[op]++;
    if (!posted)
        b->hw[c->hw].wait_cycles += start - time;
    if (b->calendar.nlosers)
        others_lose(b, time);
    return start + cycles;
}

static uint64_t cycles_of(const struct bus *b, enum bus_op op, unsigned bytes, int from_cache)
{
    switch (op) {
    case OP_READ:
    case OP_READX:
        return b->address_cycles + (from_cache ? b->cache_latency_cycles : b->memory_latency_cycles) + b->line_cycles;
    case OP_WRITE:
    case OP_UPDATE:
        return b->address_cycles + (bytes + b->bus_width_bytes - 1) / b->bus_width_bytes * b->word_cycles;
    case OP_WRITE_BACK:
        return b->address_cycles + b->line_cycles;
    default:
        return b->address_cycles;
    }
}

/* Another cache's copy goes because of a transaction by @by. */
ALWAYS void invalidate(struct bus *b, struct cache *by, struct cache *holder, struct line_record *record,
    struct frame *f, int dirty, uint64_t time, enum known known)
{
    if (WATCHED(b))
        peet__bus_report_removed(b, holder, peet__bus_line_in(b, f), by, dirty, time);
    by->stats.invalidations_sent++;
    holder->stats.invalidations_received++;
    if (CLASSIFIED(b)) {
        const uint32_t i = (uint32_t)(f - holder->frames);
        peet__bus_classify_lost(b, record, holder->number);
        if (RECENT(b))
            peet__bus_stackdist_leave(&holder->stackdist, i, holder->used[i]);
        else
            peet__bus_shadow_leave(b, holder, f);
    }
    peet__bus_drop(b, holder, f);
}

/* A holder that refuses: the request fails, the holder writes back and drops its copy. */
static __attribute__((noinline)) uint64_t refuse(struct bus *b, struct cache *c, struct cache *holder,
    struct line_record *record, struct frame *f, uint64_t line, enum bus_op op, uint64_t time)
{
    b->refused++;
    time = use_bus(b, c, OP_NONE, time, b->address_cycles, 0, KNOWN_NOTHING);
    time = use_bus(b, c, OP_WRITE_BACK, time, cycles_of(b, OP_WRITE_BACK, 0, 0), 0, KNOWN_NOTHING);
    if (b->check)
        peet__bus_check_memory_takes(b, line, f);
    b->memory_line_writes++;
    holder->stats.refused_write_backs++;
    invalidate(b, c, holder, record, f, 1, time, KNOWN_NOTHING);
    return time;
}

struct outcome {
    uint64_t time;
    int shared;
};

/* One transaction by @c on @line; @f: its own frame of the line or NULL; @booked: what its holders wrote is told. */
ALWAYS struct outcome transact(struct bus *b, struct cache *c, struct line_record *record, struct frame *f,
    uint64_t line, enum bus_op op, uint64_t sectors, unsigned bytes, uint64_t time, int booked, enum known known)
{
    struct frame *supplier = NULL, *next;
    struct outcome out = {time, 0};
    int fill = op == OP_READ || op == OP_READX;
    if (CLASSIFIED(b) && !booked && record->invalidations)
        peet__bus_classify_settle(b, record);
    for (struct frame *h = peet__bus_copies(b, record); h; h = next) {
        next = peet__bus_next_copy(b, h);
        if (h == f)
            continue;
        const struct bus_snoop_row *row = &b->protocol->snoop[h->state][op];
        if (b->quiet[h->state] >> op & 1 && !CHECKED(b)) {
            supplier = row->flags & BUS_SUPPLY && (!supplier || h < supplier) ? h : supplier;
            out.shared = 1;
            continue;
        }
        struct cache *holder = peet__bus_cache_of(b, h);
        if (CHECKED(b))
            peet__bus_check_snoop_row(b, holder, line, h->state, op);
        peet__bus_ahead_before(b, c, holder, h, row->flags & BUS_REFUSE ? BUS_INVALID : row->next);
        if (row->flags & BUS_REFUSE) {
            out.time = refuse(b, c, holder, record, h, line, op, out.time);
            continue;
        }
        if (row->flags & BUS_SUPPLY && (!supplier || h < supplier))
            supplier = h;
        if (row->flags & BUS_REFLECT) {
            b->memory_line_writes++;
            if (CHECKED(b))
                peet__bus_check_memory_takes(b, line, h);
        }
        if (row->flags & BUS_TAKE) {
            c->stats.updates_sent++;
            holder->stats.updates_received++;
            if (CHECKED(b))
                peet__bus_check_take(b, h, line, sectors);
        }
        if (row->next == BUS_INVALID) {
            invalidate(b, c, holder, record, h, 0, out.time, known);
        } else {
            peet__bus_set(b, h, line, row->next);
            out.shared = 1;
        }
    }
    if (fill) {
        if (supplier) {
            peet__bus_cache_of(b, supplier)->stats.supplied++;
            b->cache_to_cache++;
            b->supplier = peet__bus_cache_of(b, supplier)->hw;
        } else {
            b->memory_line_reads++;
        }
        if (CHECKED(b)) /* a supplier that dropped its copy still has the data */
            peet__bus_check_fill(b, f, line, supplier);
    }
    if (op == OP_WRITE) {
        b->memory_word_writes++;
        if (CHECKED(b))
            peet__bus_check_memory_takes_sectors(b, line, sectors);
    }
    out.time = use_bus(b, c, op, out.time, cycles_of(b, op, bytes, supplier != NULL), 0, known);
    return out;
}

/* A victim's line leaves its frame, which is not free yet.  Returns: whether the line goes to memory. */
ALWAYS int leaves(struct bus *b, struct cache *c, struct line_record *record, struct frame *f, uint64_t time,
    enum known known)
{
    const int dirty = b->dirty[f->state];
    c->stats.evictions++;
    if (WATCHED(b))
        peet__bus_report_removed(b, c, peet__bus_line_in(b, f), c, dirty, time);
    if (CLASSIFIED(b) && record->invalidations)
        peet__bus_classify_settle(b, record);
    if (dirty) {
        c->stats.write_backs++;
        b->memory_line_writes++;
    }
    return dirty;
}

/* Make a victim's frame free.  Returns: whether the line goes to memory. */
ALWAYS int evict(struct bus *b, struct cache *c, struct frame *f, uint64_t time, enum known known)
{
    const uint64_t line = peet__bus_line_in(b, f);
    struct line_record *const record = b->records[f - b->frames];
    const int dirty = leaves(b, c, record, f, time, known);
    if (CLASSIFIED(b) && !RECENT(b))
        peet__bus_shadow_leave(b, c, f);
    if (dirty && CHECKED(b)) {
        peet__bus_check_memory_takes(b, line, f);
        for (struct frame *h = peet__bus_copies(b, record); h; h = peet__bus_next_copy(b, h))
            if (h != f)
                peet__bus_check_snoop_row(b, peet__bus_cache_of(b, h), line, h->state, OP_WRITE_BACK);
    }
    peet__bus_drop(b, c, f);
    if (WIDE(b)) /* dropping put it on the free list: take it off again */
        (void)peet__bus_victim(b, c, line);
    if (CHECKED(b))
        peet__bus_check_line(b, line);
    return dirty;
}

void peet__bus_no_memory(struct bus *b)
{
    if (!b->dead)
        b->env->fail(b->env, "out of memory for the records of %llu lines; try classify=off",
            (unsigned long long)b->lines_map.nchunks << b->lines_map.chunk_bits);
    b->dead = 1;
}

/* Whether it matters from now on who writes which sectors of the line: as long as somebody has lost it.  A frame that may
 * not be written yet comes here again when it may.  Those that are not asked here may go on noting what nobody wants to
 * know; their next write brings them here. */
static void note(struct bus *b, const struct cache *c, const struct line_record *record, struct frame *f, uint64_t line)
{
    if (record->invalidations) {
        for (struct frame *h = peet__bus_copies(b, record); h; h = peet__bus_next_copy(b, h))
            if (!h->tracked && b->permission[h->state] & PERMISSION_WRITE) {
                if (h != f)
                    peet__bus_ahead_before(b, c, peet__bus_cache_of(b, h), h, h->state);
                h->tracked = 1;
                peet__bus_set(b, h, line, h->state);
            }
    } else if (f && f->tracked) {
        peet__bus_untrack(b, f, line);
    }
}

/* The line has been lost: what is asked of others' frames next is what they have written so far: nothing of it ahead of
 * time. */
static void before_settling(struct bus *b, const struct cache *c, const struct line_record *record)
{
    for (struct frame *h = peet__bus_copies(b, record); h; h = peet__bus_next_copy(b, h))
        if (peet__bus_ahead_is_tracked(b, h) && peet__bus_cache_of(b, h) != c)
            peet__bus_ahead_before(b, c, peet__bus_cache_of(b, h), h, BUS_INVALID);
}

/* The line of this record comes into a frame; @used: the stamp of the one that was there, 0: none */
static inline void fill_recent(struct bus *b, struct cache *c, uint32_t frame, uint64_t used, uint32_t *word)
{
    struct bus_stackdist *const r = &c->stackdist;
    peet__bus_stackdist_fill(r, frame, used ? used : r->base + STACKDIST_OLD, word);
    if (r->nlogged >= r->stop)
        peet__bus_stackdist_stop(b, c, c->stamp - 1);
}

/* The line's record, and its word of stackdist.h, if it has one. */
struct records {
    struct line_record *line;
    uint32_t *word;
};

ALWAYS struct records records_of(struct bus *b, struct cache *c, uint64_t line, enum known known)
{
    struct records r = {NULL, NULL};
    if (b->dead || !(r.line = peet_sim_linemap_get(&b->lines_map, line)) ||
        (CLASSIFIED(b) && peet__bus_classify_reserve(b)) ||
        (RECENT(b) && !(r.word = peet_sim_linemap_word(c->words, line)))) {
        peet__bus_no_memory(b);
        r.line = NULL;
    }
    return r;
}

/* A reference to a line with these records. */
ALWAYS uint64_t touch_known(struct bus *b, struct cache *c, struct records records, uint64_t line, uint64_t sectors,
    unsigned bytes, enum touch touch, uint64_t time, enum known known)
{
    struct line_record *const record = records.line;
    uint32_t *word = records.word;
    int write = touch == TOUCH_WRITE, fresh = 0, write_back = 0, booked = 0;
    struct frame *f, *victim = NULL;
    uint64_t begin = time, left = 0; /* the stamp of the line that makes room */
    if (known != KNOWN_RECENT && known != KNOWN_TOLD) {
        f = peet__bus_find(b, c, line, record);
    } else { /* the record says where it is */
        f = *word & STACKDIST_FRAME ? &c->frames[*word & ~STACKDIST_FRAME] : NULL;
    }
    word = f ? NULL : word;
    c->stamp++;
    if (b->ahead && record->invalidations)
        before_settling(b, c, record);
    if (!f) {
        enum bus_op op = b->protocol->processor[BUS_INVALID][write].op;
        if (op == OP_READ || op == OP_READX)
            victim = peet__bus_victim(b, c, line);
        *(touch == TOUCH_FETCH ? &c->stats.fetch_misses : write ? &c->stats.write_misses : &c->stats.read_misses) += 1;
        if ((known == KNOWN_RECENT || known == KNOWN_TOLD) && !record->invalidations && c->stamp < c->stackdist.until)
            c->stats.kinds[peet__bus_kind_uniprocessor(b, c, *word, c->stamp - 1)]++;
        else if (CLASSIFIED(b))
            peet__bus_classify_miss(b, c, record, word, sectors);
        booked = 1;
    } else if (b->protocol->processor[f->state][write].op != OP_NONE) {
        c->stats.upgrades++;
    }
    if (f && RECENT(b)) {
        peet__bus_stackdist_hit(&c->stackdist, c->used[f - c->frames]);
        f->place = 1;
    }
    for (;;) {
        unsigned state = f ? f->state : BUS_INVALID;
        const struct bus_processor_row *row = &b->protocol->processor[state][write];
        if (CHECKED(b))
            peet__bus_check_processor_row(b, state, write);
        if (row->op == OP_NONE) {
            peet__bus_set(b, f, line, row->alone);
            if (CHECKED(b) && write)
                peet__bus_check_write(b, f, line, sectors);
            break;
        }
        if ((row->op == OP_READ || row->op == OP_READX) && !f) {
            f = victim;
            fresh = 1;
            left = c->used[f - c->frames];
            if (f->state != BUS_INVALID)
                write_back = evict(b, c, f, time, known);
        }
        if (CHECKED(b) && (row->op == OP_WRITE || row->op == OP_UPDATE))
            peet__bus_check_write(b, f, line, sectors);
        struct outcome out = transact(b, c, record, f, line, row->op, sectors, bytes, time, booked, known);
        time = out.time;
        if (fresh) {
            peet__bus_link(b, record, f);
            fresh = 0;
            f->place = RECENT(b);
            peet__bus_used(b, c, f, 1);
        }
        if (f)
            peet__bus_set(b, f, line, out.shared ? row->shared : row->alone);
        if (!row->again) {
            if (CHECKED(b) && write && row->op != OP_WRITE && row->op != OP_UPDATE)
                peet__bus_check_write(b, f, line, sectors);
            break;
        }
    }
    if (f) {
        peet__bus_used(b, c, f, 0);
        c->predictor[peet__bus_hint(b, line)] = (uint32_t)(f - c->frames);
        if (write && CLASSIFIED(b))
            b->written[f - b->frames] |= sectors;
    } else if (CLASSIFIED(b)) {
        peet__bus_classify_wrote(b, record, c->number, sectors);
    }
    if (word)
        fill_recent(b, c, (uint32_t)(f - c->frames), left, word);
    else if (CLASSIFIED(b) && !RECENT(b) && !(f && f->place))
        peet__bus_shadow_use(b, c, line, record, f, !write || b->protocol->processor[BUS_INVALID][1].op != OP_WRITE);
    if (CLASSIFIED(b) && (record->invalidations || (f && f->tracked)))
        note(b, c, record, f, line);
    if (write_back) /* after the fill, from a buffer: the processor does not wait for it */
        use_bus(b, c, OP_WRITE_BACK, time, cycles_of(b, OP_WRITE_BACK, 0, 0), 1, known);
    if (CHECKED(b)) {
        if (!write)
            peet__bus_check_read(b, c, f, line, sectors);
        peet__bus_check_line(b, line);
    }
    return time - begin;
}

static __attribute__((noinline)) uint64_t touch_there(struct bus *b, struct cache *c, struct records records,
    uint64_t line, uint64_t sectors, unsigned bytes, enum touch touch, uint64_t time)
{
    return b->recent ? touch_known(b, c, records, line, sectors, bytes, touch, time, KNOWN_RECENT)
                     : touch_known(b, c, records, line, sectors, bytes, touch, time, KNOWN_PLAIN);
}

static __attribute__((noinline)) uint64_t touch_told_there(struct bus *b, struct cache *c, struct records records,
    uint64_t line, uint64_t sectors, unsigned bytes, enum touch touch, uint64_t time)
{
    return touch_known(b, c, records, line, sectors, bytes, touch, time, KNOWN_TOLD);
}

/* touch_known(), quickly where the line is there and what its reference takes is nothing but an address on the bus, if
 * that. */
static __attribute__((noinline)) uint64_t upgrade(struct bus *b, struct cache *c, struct records records, uint64_t line,
    uint64_t sectors, enum touch touch, uint64_t time)
{
    enum { known = KNOWN_RECENT };
    struct line_record *const record = records.line;
    const uint32_t i = *records.word & ~STACKDIST_FRAME;
    struct frame *const f = &c->frames[i];
    const struct bus_processor_row *const row = &b->protocol->processor[f->state][touch == TOUCH_WRITE];
    unsigned state = row->alone;
    uint64_t end = time;
    c->stamp++;
    peet__bus_stackdist_hit(&c->stackdist, c->used[i]);
    f->place = 1;
    if (row->op != OP_NONE) {
        c->stats.upgrades++;
        if (b->ahead && record->invalidations)
            before_settling(b, c, record);
        const struct outcome out = transact(b, c, record, f, line, OP_INVALIDATE, sectors, 0, time, 0, known);
        state = out.shared ? row->shared : row->alone;
        end = out.time;
    }
    peet__bus_set(b, f, line, state);
    c->used[i] = c->stamp;
    c->predictor[peet__bus_hint(b, line)] = i;
    if (touch == TOUCH_WRITE)
        b->written[f - b->frames] |= sectors;
    if (record->invalidations || f->tracked)
        note(b, c, record, f, line);
    return end - time;
}

/* touch_known(), quickly where the line is not there and is brought in by one transaction. */
ALWAYS uint64_t fill(struct bus *b, struct cache *c, uint64_t line, uint64_t sectors, unsigned bytes, enum touch touch,
    uint64_t time, enum known known)
{
    const int write = touch == TOUCH_WRITE;
    const struct bus_processor_row *const row = &b->protocol->processor[BUS_INVALID][write];
    const struct records records = records_of(b, c, line, known);
    struct line_record *const record = records.line;
    uint32_t *const word = records.word;
    if (!record)
        return 0;
    if (known == KNOWN_RECENT && *word & STACKDIST_FRAME && b->replacement == REPLACE_LRU) {
        const struct bus_processor_row *const there =
            &b->protocol->processor[c->frames[*word & ~STACKDIST_FRAME].state][write];
        if (!there->again && (there->op == OP_NONE || there->op == OP_INVALIDATE))
            return upgrade(b, c, records, line, sectors, touch, time);
    }
    if (!b->filled_at_once[write] ||
        (RECENT(b) ? (*word & STACKDIST_FRAME) != 0 || c->stamp + 1 >= c->stackdist.until
                   : peet__bus_find(b, c, line, record) != NULL))
        return known == KNOWN_TOLD ? touch_told_there(b, c, records, line, sectors, bytes, touch, time)
                                   : touch_there(b, c, records, line, sectors, bytes, touch, time);
    uint64_t left; /* the stamp of the line that makes room */
    const uint32_t i = peet__bus_oldest(b, c, line, &left), self = (uint32_t)(c->frames - b->frames) + i;
    struct frame *const f = &b->frames[self];
    struct outcome out = {time, 0};
    int write_back = 0;
    if (record->invalidations && b->ahead)
        before_settling(b, c, record);
    c->stamp++;
    *(write ? &c->stats.write_misses : &c->stats.read_misses) += 1;
    if (RECENT(b) && record->invalidations)
        peet__bus_classify_miss(b, c, record, word, sectors);
    else if (RECENT(b))
        c->stats.kinds[peet__bus_kind_uniprocessor(b, c, *word, c->stamp - 1)]++;
    if (f->state != BUS_INVALID) {
        write_back = leaves(b, c, b->records[self], f, time, known);
        peet__bus_unlink(b, b->records[self], f);
    }
    if (record->copies) {
        out = transact(b, c, record, f, line, (enum bus_op)row->op, sectors, bytes, time, 1, known);
    } else {
        b->memory_line_reads++;
        out.time = use_bus(b, c, (enum bus_op)row->op, time, cycles_of(b, OP_READ, 0, 0), 0, known);
    }
    const unsigned state = out.shared ? row->shared : row->alone;
    b->records[self] = record;
    *f = (struct frame){
        .next = record->copies, .place = RECENT(b), .cache = (uint16_t)c->number, .state = (uint8_t)state};
    record->copies = self + 1;
    b->keys[self] = KEY_OF(line) | b->permission[state];
    c->used[i] = c->stamp;
    c->predictor[peet__bus_hint(b, line)] = i;
    if (RECENT(b)) {
        b->written[self] = write ? sectors : 0;
        if (b->writable)
            b->writable[self] = 0;
        fill_recent(b, c, i, left, word);
        if (record->invalidations)
            note(b, c, record, f, line);
    }
    if (write_back) /* from a buffer: the processor does not wait for it */
        use_bus(b, c, OP_WRITE_BACK, out.time, cycles_of(b, OP_WRITE_BACK, 0, 0), 1, known);
    return out.time - time;
}

static uint64_t touch_recent(struct bus *b, struct cache *c, uint64_t line, uint64_t sectors, unsigned bytes,
    enum touch touch, uint64_t time)
{
    return fill(b, c, line, sectors, bytes, touch, time, KNOWN_RECENT);
}

static uint64_t touch_plain(struct bus *b, struct cache *c, uint64_t line, uint64_t sectors, unsigned bytes,
    enum touch touch, uint64_t time)
{
    return fill(b, c, line, sectors, bytes, touch, time, KNOWN_PLAIN);
}

/* The same while observers hear of lines that are lost. */
static uint64_t touch_told(struct bus *b, struct cache *c, uint64_t line, uint64_t sectors, unsigned bytes,
    enum touch touch, uint64_t time)
{
    return fill(b, c, line, sectors, bytes, touch, time, KNOWN_TOLD);
}

/* For each state, the transactions by others that change nothing of a copy, and for which nobody has to be rolled back. */
static void find_quiet(struct bus *b)
{
    for (unsigned state = 1; state < b->protocol->nstates; state++)
        for (unsigned op = 0; op < BUS_OPS_COUNT; op++) {
            const struct bus_snoop_row *const row = &b->protocol->snoop[state][op];
            if (row->next == state && b->permission[state] == PERMISSION_READ &&
                !(row->flags & (BUS_REFUSE | BUS_TAKE | BUS_REFLECT)))
                b->quiet[state] |= (uint8_t)(1u << op);
        }
}

/* Does a miss always take one transaction, which nobody refuses? */
static int filled_at_once(const struct bus *b, int write)
{
    const struct bus_processor_row *const row = &b->protocol->processor[BUS_INVALID][write];
    unsigned flags = 0;
    for (unsigned state = 0; state < b->protocol->nstates; state++)
        flags |= b->protocol->snoop[state][row->op].flags;
    return (row->op == OP_READ || row->op == OP_READX) && !row->again && !(flags & (BUS_REFUSE | BUS_TAKE)) &&
        b->replacement == REPLACE_LRU && b->fetch == FETCH_OFF;
}

static uint64_t touch_any(struct bus *b, struct cache *c, uint64_t line, uint64_t sectors, unsigned bytes,
    enum touch touch, uint64_t time)
{
    const struct records records = records_of(b, c, line, KNOWN_NOTHING);
    return records.line ? touch_known(b, c, records, line, sectors, bytes, touch, time, KNOWN_NOTHING) : 0;
}

bus_touch *peet__bus_touch_for(struct bus *b)
{
    find_quiet(b);
    for (int write = 0; write < 2; write++)
        b->filled_at_once[write] = filled_at_once(b, write);
    const unsigned removals = 1u << PEET_MEMORY_EVICT | 1u << PEET_MEMORY_INVALIDATE;
    if (b->check || b->wide || b->perfect || (b->classify && !b->recent))
        return touch_any;
    if (b->env->reports & removals)
        return b->classify ? touch_told : touch_any;
    return b->classify ? touch_recent : touch_plain;
}
