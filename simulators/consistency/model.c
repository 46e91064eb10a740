/* SPDX-License-Identifier: Apache-2.0 */
/* See model.h. */
#include "model.h"

#include <stdlib.h>
#include <string.h>

/** A store in a buffer or in a queue. */
struct entry {
    /* stored: when; alive: bytes that are still to be seen, a bit each; due: DRAIN_TIMED */
    uint64_t address, id, stored, alive, due;
    uint32_t size, from, fences; /* from: whose store; fences: store-store barriers before it */
    uint8_t release, timed;
    uint8_t bytes[MODEL_STORE_BYTES];
};

struct line {
    struct entry *entries; /* oldest first */
    uint32_t n, room;
};

struct processor {
    struct line out, in;
    uint64_t stores;       /* the next store's identity */
    uint64_t synchronised; /* interaction at synchronisations: when last */
    uint32_t fences;
};

struct model {
    struct model_config config;
    const struct peet_views *views;
    struct model_statistics statistics;
    uint64_t random;
    uint64_t look; /* when to look for stores that have waited for too long */
    int ordering;  /* what is performed is part of an ordering, which has said itself what it needs */
    struct processor processors[];
};

/* -------------------------------------------------------------------------------------------- what depends on what */

/*
 * For explorations: what, beside the bytes of views, makes the order of two steps matter.  Steps are: a processor's
 * store, a store that leaves its buffer, one that is applied from a queue, an ordering that waits for them (fence).
 *
 *   a store leaves behind its being stored, and behind those that the model wants before it        needs
 *   a store is applied behind its leaving, and behind those of its location (pc: of its sender)     needs
 *   a fence comes behind the leaving and the applications of its processor's own stores             needs
 *   a fence comes behind the applications from its processor's queue                                waits
 *   a store that goes into a queue does not change places with the fence that empties it            read, write
 *   a store that finds its buffer full does not change places with one that leaves the buffer       write, read
 *
 * Two stores that leave may change places where they do not overlap, as the order in a queue is seen only where they
 * overlap; so may an application and the leaving of the same processor's own store, which hides it before and after.
 */
enum thing {
    THING_STORED = 1,  /* one store, by its number: in the buffer */
    THING_LEFT,        /* ... gone from it */
    THING_FENCES,      /* stores behind so many store-store barriers have left */
    THING_LEFT_AT,     /* by address: the last store there has left */
    THING_APPLIED_AT,  /* by address, of a queue */
    THING_SENDER,      /* of a queue, by sender (pc) */
    THING_OWN_APPLIED, /* a processor's stores, in all queues */
    THING_QUEUE,       /* what stands in it: to be added to, or found empty */
    THING_QUEUED,      /* what is applied from it */
    THING_ROOM,        /* of a buffer */
};

static void depends(const struct model *m, enum thing thing, unsigned p, uint64_t first, uint64_t n,
    enum peet_dependence how)
{
    if (m->views->exploring && m->views->depends && n && !(m->ordering && how >= PEET_DEPENDS_NEEDS))
        m->views->depends(m->views, (uint64_t)thing << 54 | (uint64_t)p << 48 | (first & 0xffffffffffff), n, how);
}

/* ------------------------------------------------------------------------------------------------ lines of stores */

static int overlap(const struct entry *a, const struct entry *b)
{
    return a->address < b->address + b->size && b->address < a->address + a->size;
}

static struct entry *append(struct line *line)
{
    if (line->n == line->room) {
        uint32_t room = line->room ? 2 * line->room : 16;
        struct entry *more = realloc(line->entries, room * sizeof *more);

        if (!more)
            return NULL;
        line->entries = more;
        line->room = room;
    }
    return &line->entries[line->n++];
}

static void drop(struct line *line, uint32_t i)
{
    memmove(&line->entries[i], &line->entries[i + 1], (--line->n - i) * sizeof *line->entries);
}

static uint64_t all_bytes(uint32_t size)
{
    return size >= 64 ? UINT64_MAX : (1ull << size) - 1;
}

/** Bytes of e that the stores of a line cover. */
static uint64_t covered(const struct line *line, const struct entry *e)
{
    uint64_t mask = 0;

    for (uint32_t i = 0; i < line->n; i++) {
        const struct entry *o = &line->entries[i];

        if (overlap(o, e))
            for (uint32_t b = 0; b < e->size; b++)
                mask |= (uint64_t)(e->address + b >= o->address && e->address + b < o->address + o->size) << b;
    }
    return mask;
}

static unsigned bits(uint64_t mask)
{
    return (unsigned)__builtin_popcountll(mask);
}

/* ----------------------------------------------------------------------------------------------------- performing */

static int queues(const struct model *m)
{
    return m->config.kind >= MODEL_PC;
}

/** Write bytes of a store to views, run by run of bytes that go to the same ones.  @to: per byte */
static void perform(struct model *m, const struct entry *e, const uint64_t to[MODEL_STORE_BYTES])
{
    for (uint32_t b = 0, n; b < e->size; b += n) {
        for (n = 1; b + n < e->size && to[b + n] == to[b]; n++)
            ;
        if (to[b])
            m->views->perform(m->views, to[b], e->address + b, e->bytes + b, n);
    }
}

/** Bytes that have taken their place in the order: what is older is not to be seen any more. */
static void forget(struct model *m, struct line *line, const struct entry *later)
{
    for (uint32_t i = 0; i < line->n; i++)
        if (overlap(&line->entries[i], later))
            for (uint32_t b = 0; b < line->entries[i].size; b++) {
                uint64_t at = line->entries[i].address + b;

                if (at >= later->address && at < later->address + later->size && (line->entries[i].alive >> b & 1)) {
                    line->entries[i].alive &= ~(1ull << b);
                    m->statistics.hidden_bytes++;
                }
            }
}

/**
 * A store goes to main memory.  @at_once: everybody sees it now (locked operations; models without queues)
 * Its own processor sees it already, or something later of its own.
 */
static int commit(struct model *m, unsigned p, const struct entry *e, int at_once)
{
    uint64_t to[MODEL_STORE_BYTES];

    m->statistics.commits++;
    for (uint32_t b = 0; b < e->size; b++)
        to[b] = 1;
    for (unsigned q = 0; q < m->views->processors; q++) {
        struct processor *other = &m->processors[q];
        uint64_t hidden;

        if (q == p || at_once) {
            forget(m, &other->in, e);
            hidden = covered(&other->out, e);
            for (uint32_t b = 0; b < e->size; b++)
                to[b] |= (uint64_t)!(hidden >> b & 1) << (q + 1);
        } else {
            struct entry *waiting = append(&other->in);

            if (!waiting)
                return -1;
            *waiting = *e;
            waiting->from = p;
            waiting->alive = all_bytes(e->size);
            waiting->due += m->config.delay_cycles;
            if (other->in.n > m->statistics.longest)
                m->statistics.longest = other->in.n;
        }
    }
    perform(m, e, to);
    return 0;
}

static void leave(struct model *m, unsigned p, uint32_t i)
{
    struct line *out = &m->processors[p].out;
    struct entry e = out->entries[i];

    depends(m, THING_STORED, p, e.id, 1, PEET_DEPENDS_NEEDS);
    depends(m, THING_LEFT, p, e.id, 1, PEET_DEPENDS_ENABLES);
    depends(m, THING_ROOM, p, 0, 1, PEET_DEPENDS_READ);
    if (m->config.kind == MODEL_TSO || m->config.kind == MODEL_PC || e.release) {
        depends(m, THING_LEFT, p, 0, e.id, PEET_DEPENDS_NEEDS);
    } else {
        depends(m, THING_LEFT_AT, p, e.address, e.size, PEET_DEPENDS_NEEDS);
        depends(m, THING_FENCES, p, 0, e.fences, PEET_DEPENDS_NEEDS);
    }
    depends(m, THING_LEFT_AT, p, e.address, e.size, PEET_DEPENDS_ENABLES);
    depends(m, THING_FENCES, p, e.fences, 1, PEET_DEPENDS_ENABLES);
    if (queues(m)) {
        depends(m, THING_QUEUE, 0, 0, p, PEET_DEPENDS_READ);
        depends(m, THING_QUEUE, 0, p + 1, m->views->processors - p - 1, PEET_DEPENDS_READ);
    }
    drop(out, i);
    commit(m, p, &e, !queues(m));
}

static void apply(struct model *m, unsigned q, uint32_t i)
{
    struct processor *other = &m->processors[q];
    struct entry e = other->in.entries[i];
    uint64_t to[MODEL_STORE_BYTES], own = covered(&other->out, &e), seen = e.alive & ~own;

    depends(m, THING_LEFT, e.from, e.id, 1, PEET_DEPENDS_NEEDS);
    depends(m, THING_APPLIED_AT, q, e.address, e.size, PEET_DEPENDS_NEEDS);
    depends(m, THING_APPLIED_AT, q, e.address, e.size, PEET_DEPENDS_ENABLES);
    if (m->config.kind == MODEL_PC) {
        depends(m, THING_SENDER, q, e.from, 1, PEET_DEPENDS_NEEDS);
        depends(m, THING_SENDER, q, e.from, 1, PEET_DEPENDS_ENABLES);
    }
    depends(m, THING_OWN_APPLIED, e.from, 0, 1, PEET_DEPENDS_ENABLES);
    depends(m, THING_QUEUED, q, 0, 1, PEET_DEPENDS_ENABLES);
    drop(&other->in, i);
    m->statistics.applications++;
    m->statistics.hidden_bytes += bits(e.alive & own);
    for (uint32_t b = 0; b < e.size; b++)
        to[b] = (seen >> b & 1) << (q + 1);
    perform(m, &e, to);
}

static int may_leave(const struct model *m, unsigned p, uint32_t i)
{
    const struct line *out = &m->processors[p].out;
    const struct entry *e = &out->entries[i];

    if (i && (m->config.kind == MODEL_TSO || m->config.kind == MODEL_PC || e->release))
        return 0;
    for (uint32_t k = 0; k < i; k++)
        if (overlap(&out->entries[k], e) || out->entries[k].fences != e->fences)
            return 0;
    return 1;
}

static int may_apply(const struct model *m, unsigned q, uint32_t i)
{
    const struct line *in = &m->processors[q].in;

    for (uint32_t k = 0; k < i; k++)
        if (overlap(&in->entries[k], &in->entries[i]) ||
            (m->config.kind == MODEL_PC && in->entries[k].from == in->entries[i].from))
            return 0;
    return 1;
}

/** The oldest first: always allowed. */
static void empty_buffer(struct model *m, unsigned p)
{
    while (m->processors[p].out.n)
        leave(m, p, 0);
}

static void empty_queue(struct model *m, unsigned q)
{
    while (m->processors[q].in.n)
        apply(m, q, 0);
}

/** All that others have of this processor's stores in front of them, with what must come before. */
static void reach_all(struct model *m, unsigned p)
{
    for (unsigned q = 0; q < m->views->processors; q++) {
        struct line *in = &m->processors[q].in;

        for (uint32_t last = in->n; last; last--)
            if (in->entries[last - 1].from == p) {
                while (last--)
                    apply(m, q, 0);
                break;
            }
    }
}

static int reached_all(const struct model *m, unsigned p)
{
    for (unsigned q = 0; q < m->views->processors; q++)
        for (uint32_t i = 0; i < m->processors[q].in.n; i++)
            if (m->processors[q].in.entries[i].from == p)
                return 0;
    return 1;
}

/* ------------------------------------------------------------------------------------------------------ operations */

struct model *model_new(const struct model_config *config, const struct peet_views *views)
{
    struct model *m = calloc(1, sizeof *m + views->processors * sizeof *m->processors);

    if (!m)
        return NULL;
    m->config = *config;
    m->views = views;
    m->random = config->seed | 1;
    return m;
}

void model_free(struct model *m)
{
    if (!m)
        return;
    for (unsigned p = 0; p < m->views->processors; p++) {
        free(m->processors[p].out.entries);
        free(m->processors[p].in.entries);
    }
    free(m);
}

int model_store(struct model *m, unsigned p, const struct peet_store *store, uint64_t now)
{
    struct processor *own = &m->processors[p];
    struct entry e = {.address = store->address,
                     .size = store->size_bytes,
                     .from = p,
                     .fences = own->fences,
                     .release = (store->flags & PEET_STORE_RELEASE) != 0,
                     .id = own->stores++},
                 *last;

    m->statistics.stores++;
    m->statistics.locked += store->flags & PEET_STORE_LOCKED;
    memcpy(e.bytes, store->bytes, e.size);
    if (m->config.kind == MODEL_SC || (store->flags & PEET_STORE_LOCKED) || (m->config.kind == MODEL_WO && e.release))
        return commit(m, p, &e, 1);
    depends(m, THING_STORED, p, e.id, 1, PEET_DEPENDS_ENABLES);
    if (own->out.n + 1ull >= m->config.depth) /* full, or it would have been before the last one left */
        depends(m, THING_ROOM, p, 0, 1, PEET_DEPENDS_WRITE);
    while (own->out.n >= m->config.depth) {
        m->statistics.full++;
        leave(m, p, 0);
    }
    last = append(&own->out);
    if (!last)
        return -1;
    *last = e;
    last->due = last->stored = now;
    if (own->out.n > m->statistics.deepest)
        m->statistics.deepest = own->out.n;
    if (m->config.drain == DRAIN_EAGER && !m->views->exploring) {
        empty_buffer(m, p);
        for (unsigned q = 0; q < m->views->processors; q++)
            empty_queue(m, q);
    }
    return 0;
}

/** What this model makes of an ordering. */
static unsigned meaning(const struct model *m, unsigned ordering)
{
    switch (m->config.kind) {
    case MODEL_SC:
        return 0;
    case MODEL_WO: /* everything that orders is a synchronisation */
        if (ordering & PEET_ORDERING_SEEN)
            return ordering;
        return ordering & ~(unsigned)PEET_ORDERING_STORES ? ordering | PEET_ORDERING_FULL : ordering;
    case MODEL_TSO: /* loads are in order, and so are stores */
        return ordering & PEET_ORDERING_LOAD ? 0 : ordering & (PEET_ORDERING_FULL | PEET_ORDERING_SEEN);
    case MODEL_PSO:
        return ordering & PEET_ORDERING_LOAD ? 0 : ordering & ~(unsigned)PEET_ORDERING_ACQUIRE;
    default:
        return ordering;
    }
}

int model_waits(const struct model *m, unsigned p, unsigned ordering)
{
    const unsigned what = meaning(m, ordering);
    const struct processor *own = &m->processors[p];

    if ((what & (PEET_ORDERING_RELEASE | PEET_ORDERING_FULL | PEET_ORDERING_SEEN)) && own->out.n)
        return 1;
    if ((what & (PEET_ORDERING_ACQUIRE | PEET_ORDERING_FULL)) && own->in.n)
        return 1;
    return (what & (PEET_ORDERING_FULL | PEET_ORDERING_SEEN)) && !reached_all(m, p);
}

void model_order(struct model *m, unsigned p, unsigned ordering, uint64_t now)
{
    const unsigned what = meaning(m, ordering);

    (void)now;
    m->statistics.orders++;
    m->statistics.waits += (uint64_t)model_waits(m, p, ordering);
    if (what & (PEET_ORDERING_RELEASE | PEET_ORDERING_FULL | PEET_ORDERING_SEEN))
        depends(m, THING_LEFT, p, 0, m->processors[p].stores, PEET_DEPENDS_NEEDS);
    if (queues(m) && (what & (PEET_ORDERING_FULL | PEET_ORDERING_SEEN)))
        depends(m, THING_OWN_APPLIED, p, 0, 1, PEET_DEPENDS_NEEDS);
    if (queues(m) && (what & (PEET_ORDERING_ACQUIRE | PEET_ORDERING_FULL))) {
        depends(m, THING_QUEUED, p, 0, 1, PEET_DEPENDS_WAITS);
        depends(m, THING_QUEUE, 0, p, 1, PEET_DEPENDS_WRITE);
    }
    if (what & PEET_ORDERING_STORES)
        m->processors[p].fences++;
    m->ordering = 1;
    if (what & (PEET_ORDERING_RELEASE | PEET_ORDERING_FULL | PEET_ORDERING_SEEN))
        empty_buffer(m, p);
    if (what & (PEET_ORDERING_FULL | PEET_ORDERING_SEEN))
        reach_all(m, p);
    if (what & (PEET_ORDERING_ACQUIRE | PEET_ORDERING_FULL))
        empty_queue(m, p);
    m->ordering = 0;
}

unsigned model_moves(const struct model *m, struct peet_move *out, unsigned room)
{
    unsigned n = 0;

    for (unsigned p = 0; p < m->views->processors; p++) {
        const struct processor *own = &m->processors[p];

        for (uint32_t i = 0; i < own->out.n; i++)
            if (may_leave(m, p, i) && n++ < room)
                out[n - 1] = (struct peet_move){p, queues(m) ? PEET_MOVE_MEMORY : PEET_MOVE_PERFORM,
                    own->out.entries[i].id, own->out.entries[i].address, own->out.entries[i].size};
        for (uint32_t i = 0; i < own->in.n; i++)
            if (may_apply(m, p, i) && n++ < room)
                out[n - 1] = (struct peet_move){p, PEET_MOVE_SEE, own->in.entries[i].id << 8 | own->in.entries[i].from,
                    own->in.entries[i].address, own->in.entries[i].size};
    }
    return n;
}

void model_move(struct model *m, const struct peet_move *move)
{
    struct processor *own = &m->processors[move->processor];

    for (uint32_t i = 0; move->kind != PEET_MOVE_SEE && i < own->out.n; i++)
        if (own->out.entries[i].id == move->id) {
            leave(m, move->processor, i);
            return;
        }
    for (uint32_t i = 0; move->kind == PEET_MOVE_SEE && i < own->in.n; i++)
        if (own->in.entries[i].from == (move->id & 0xff) && own->in.entries[i].id == move->id >> 8) {
            apply(m, move->processor, i);
            return;
        }
}

/* --------------------------------------------------------------------------------------------- by themselves, in a run
 */

static uint64_t next_random(struct model *m)
{
    m->random ^= m->random << 13;
    m->random ^= m->random >> 7;
    m->random ^= m->random << 17;
    return m->random * 0x2545f4914f6cdd1du >> 11;
}

/** The machine's in-order processor goes on when its memory system has done the store: its time is now known. */
static void complete(struct model *m, unsigned p, uint64_t now)
{
    struct line *out = &m->processors[p].out;

    for (uint32_t i = out->n; i-- && !out->entries[i].timed;) {
        out->entries[i].timed = 1;
        out->entries[i].due = now + m->config.delay_cycles;
    }
}

static void due(struct model *m, uint64_t now)
{
    for (unsigned p = 0; p < m->views->processors; p++) {
        struct processor *own = &m->processors[p];

        for (uint32_t i = 0; i < own->out.n; i++)
            if (own->out.entries[i].timed && own->out.entries[i].due <= now && may_leave(m, p, i)) {
                leave(m, p, i);
                i = UINT32_MAX; /* what it was in the way of */
            }
    }
    for (unsigned q = 0; q < m->views->processors; q++) {
        struct line *in = &m->processors[q].in;

        for (uint32_t i = 0; i < in->n; i++)
            if (in->entries[i].due <= now && may_apply(m, q, i)) {
                apply(m, q, i);
                i = UINT32_MAX;
            }
    }
}

static void synchronise(struct model *m, unsigned p, uint64_t now)
{
    uint64_t others = 1;

    m->processors[p].synchronised = now;
    for (unsigned q = 0; q < m->views->processors; q++)
        others |= 2ull << q;
    /* Models with queues let others see it at their own next synchronisation. */
    if (m->views->commit(m->views, p, queues(m) ? 1 : others))
        m->statistics.commits++;
    if (queues(m))
        m->views->refresh(m->views, p);
}

/** Stores become visible after a finite time, as in real machines: who waits for one on ordinary memory waits no longer
 * than that. */
static void overdue(struct model *m, uint64_t now)
{
    const uint64_t slack = m->config.visible_cycles / 8, age = m->config.visible_cycles - slack;

    m->look = now + slack;
    for (unsigned p = 0; p < m->views->processors; p++)
        for (struct line *out = &m->processors[p].out; out->n && out->entries[0].stored + age <= now;
            m->statistics.overdue++)
            leave(m, p, 0);
    for (unsigned q = 0; q < m->views->processors; q++)
        for (struct line *in = &m->processors[q].in; in->n && in->entries[0].stored + age <= now;
            m->statistics.overdue++)
            apply(m, q, 0);
}

void model_step(struct model *m, unsigned p, uint64_t now)
{
    enum { MOVES = 64 };
    struct peet_move moves[MOVES];
    unsigned n;

    if (m->views->exploring)
        return;
    if (m->views->sync) {
        if (m->config.visible_cycles && now - m->processors[p].synchronised >= m->config.visible_cycles) {
            m->statistics.overdue++;
            synchronise(m, p, now);
        }
        return;
    }
    if (m->config.visible_cycles && now >= m->look)
        overdue(m, now);
    for (unsigned q = 0; q < m->views->processors; q++) /* a queue is no longer than a buffer */
        while (m->processors[q].in.n > m->config.depth)
            apply(m, q, 0);
    if (m->config.drain == DRAIN_TIMED) {
        complete(m, p, now);
        due(m, now);
    } else if (m->config.drain == DRAIN_RANDOM && next_random(m) % m->config.odds == 0) {
        n = model_moves(m, moves, MOVES);
        if (n)
            model_move(m, &moves[next_random(m) % (n < MOVES ? n : MOVES)]);
    }
}

void model_synchronise(struct model *m, unsigned p, unsigned ordering, uint64_t now)
{
    (void)ordering;
    m->statistics.orders++;
    synchronise(m, p, now);
}

const struct model_statistics *model_statistics(const struct model *m)
{
    return &m->statistics;
}
