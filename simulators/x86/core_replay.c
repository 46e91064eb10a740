/* SPDX-License-Identifier: Apache-2.0 */
/*
 * x86: blocks executed by repeating what they did before.  The principle is at the head of core_replay.h; core.c calls this
 * for each block, once its front end has done its part.
 */
#include "core_replay.h"
#include "core_refs.h"

#include <stdlib.h>

enum {
    BUCKETS = 1 << 16,
    CHUNK_BYTES = 1 << 20,
    MOST_BYTES = 160 << 20,  /* of states and edges; beyond, all is forgotten */
    MOST_EDGES = 64,         /* of a node */
    CREDIT_MOST = 4000, CREDIT_LEARNT = 8, /* a block that is learnt costs as much as so many that are repeated save */
    REST_LEAST = 256, REST_MOST = 1 << 16,
};

/* ------------------------------------------------------------------------------------------ life and death */

int x86_replay_init(struct x86 *x)
{
    x->nodes.buckets = calloc(BUCKETS, sizeof *x->nodes.buckets);
    x->nodes.mask = BUCKETS - 1;
    for (unsigned i = 0; i < x->nthreads; i++) {
        x->threads[i].replay = calloc(1, sizeof *x->threads[i].replay);
        if (!x->nodes.buckets || !x->threads[i].replay) {
            x->env->fail(x->env, "out of memory for the states of %u cores", x->ncores);
            return -1;
        }
        x->threads[i].replay->credit = CREDIT_MOST;
        x->threads[i].replay->rest = REST_LEAST;
    }
    return 0;
}

static void forget(struct x86_nodes *nodes)
{
    while (nodes->chunks) {
        struct x86_chunk *next = nodes->chunks->next;

        free(nodes->chunks);
        nodes->chunks = next;
    }
    nodes->room_bytes = nodes->all_bytes = nodes->n = 0;
}

void x86_replay_fini(struct x86 *x)
{
    forget(&x->nodes);
    free(x->nodes.buckets);
    for (unsigned i = 0; x->threads && i < x->nthreads; i++)
        free(x->threads[i].replay);
}

/** Memory that lives until all is forgotten; NULL: none */
static void *room(struct x86_nodes *nodes, size_t bytes)
{
    void *at;

    bytes = (bytes + 15) / 16 * 16;
    if (bytes > nodes->room_bytes) {
        struct x86_chunk *chunk = malloc(CHUNK_BYTES);

        if (!chunk)
            return NULL;
        chunk->next = nodes->chunks;
        nodes->chunks = chunk;
        nodes->room = (char *)chunk + 16;
        nodes->room_bytes = CHUNK_BYTES - 16;
        nodes->all_bytes += CHUNK_BYTES;
    }
    at = nodes->room;
    nodes->room += bytes;
    nodes->room_bytes -= bytes;
    return at;
}

/** Too much is known: everybody goes on from where he is, and learns anew. */
static void forget_all(struct x86 *x)
{
    for (unsigned i = 0; i < x->nthreads; i++) {
        x86_replay_leave(&x->threads[i]);
        x->threads[i].replay->from = NULL;
    }
    memset(x->nodes.buckets, 0, (x->nodes.mask + 1) * sizeof *x->nodes.buckets);
    forget(&x->nodes);
}

/* ------------------------------------------------------------------------------------------ nodes and edges */

static uint64_t hash_of(const uint64_t *state, uint32_t words)
{
    uint64_t a = words, b = 0x9e3779b97f4a7c15u;
    uint32_t i = 0;

    for (; i + 1 < words; i += 2) {
        a = (a ^ state[i]) * 0xbf58476d1ce4e5b9u;
        b = (b ^ state[i + 1]) * 0x94d049bb133111ebu;
        a ^= a >> 32;
        b ^= b >> 29;
    }
    if (i < words)
        a = (a ^ state[i]) * 0xbf58476d1ce4e5b9u;
    a ^= b * 0x9e3779b97f4a7c15u;
    return a ^ a >> 31;
}

/** Twice as many buckets.  Without memory it stays as it is. */
static void widen(struct x86_nodes *nodes)
{
    uint64_t n = 2 * (nodes->mask + 1);
    struct x86_node **more = calloc(n, sizeof *more);

    if (!more)
        return;
    for (uint64_t i = 0; i <= nodes->mask; i++)
        for (struct x86_node *node = nodes->buckets[i], *same; node; node = same) {
            same = node->same;
            node->same = more[node->hash & (n - 1)];
            more[node->hash & (n - 1)] = node;
        }
    free(nodes->buckets);
    nodes->buckets = more;
    nodes->mask = n - 1;
}

/** The node of the state that the thread's core is in; NULL: such a state is not kept */
static struct x86_node *node_here(struct x86_thread *t)
{
    struct x86_nodes *nodes = &t->cpu->x->nodes;
    uint64_t *state = t->replay->state, hash;
    uint32_t bytes = x86_state_write(t, state);
    struct x86_node *node;

    if (!bytes)
        return NULL;
    hash = hash_of(state, bytes / 8);
    for (node = nodes->buckets[hash & nodes->mask]; node; node = node->same)
        if (node->hash == hash && node->bytes == bytes && !memcmp(node->state, state, bytes))
            return node;
    if (nodes->n > nodes->mask)
        widen(nodes);
    node = room(nodes, sizeof *node + bytes);
    if (!node)
        return NULL;
    *node = (struct x86_node){ .same = nodes->buckets[hash & nodes->mask], .hash = hash, .bytes = bytes };
    memcpy(node->state, state, bytes);
    nodes->buckets[hash & nodes->mask] = node;
    nodes->n++;
    return node;
}

/** What the front end is held up for, as far as it is of importance. */
static uint32_t front_of(const struct x86_thread *t)
{
    return t->front.from >= t->dispatch ? (uint32_t)(t->front.from - t->dispatch) * CPI_CATEGORIES + t->front.category + 1 : 0;
}

static int same_answer(const struct x86_tape_ref *a, const struct x86_tape_ref *b)
{
    return a->cycles == b->cycles && a->hit == b->hit && a->level == b->level && a->tlb == b->tlb && a->coherence == b->coherence &&
        a->served == b->served;
}

/** Another edge of the node that agrees with this one in all references before this, and in this one with the answer. */
static const struct x86_edge *another(const struct x86_node *node, const struct x86_edge *edge, uint32_t ref, const struct x86_tape_ref *got)
{
    for (const struct x86_edge *e = node->edges; e; e = e->more) {
        uint32_t i = 0;

        if (e->block != edge->block || e->front != edge->front || !same_answer(&e->refs[ref], got))
            continue;
        while (i < ref && same_answer(&e->refs[i], &edge->refs[i]))
            i++;
        if (i == ref)
            return e;
    }
    return NULL;
}

/* ------------------------------------------------------------------------------------------ answers */

static void answer_load(struct x86_thread *t, const struct peet_block *block, uint64_t address, uint64_t base, struct x86_tape_ref *r)
{
    struct wait w = { 0 };
    uint64_t now = base + r->begin;

    r->cycles = (uint32_t)(load_now(t, block, r->ref, address, r->size_bytes, now, &w) - now);
    r->hit = (uint8_t)w.hit;
    r->level = (uint32_t)w.level;
    r->tlb = (uint32_t)w.tlb;
    r->coherence = (uint32_t)w.coherence;
    r->served = w.level ? w.served : 0;
    r->plain = r->cycles == t->cpu->x->load_cycles && r->hit == t->cpu->x->load_cycles && !(r->level | r->tlb | r->coherence);
}

static void answer_store(struct x86_thread *t, const struct peet_block *block, uint64_t address, uint64_t base, struct x86_tape_ref *r)
{
    uint64_t now = base + r->begin;

    r->cycles = (uint32_t)(access(t, X86_STORE, block, r->ref, address, r->size_bytes, now, NULL) - now);
    r->served = t->store_category;
    r->plain = r->cycles == (t->cpu->x->memory ? 0 : 1);
}

static struct x86_tape_ref *next_of_tape(struct x86_thread *t, enum x86_access_kind kind, const struct peet_block *block, uint32_t ref, uint32_t size_bytes,
    uint64_t now)
{
    struct x86_replay *r = t->replay;
    struct x86_tape_ref *one = &r->refs[r->at];

    *one = (struct x86_tape_ref){ .pc = x86_memory_pc(block, ref), .begin = (uint32_t)(now - r->base), .value = block->refs[ref].value,
        .size_bytes = (uint16_t)size_bytes, .ref = (uint16_t)ref, .kind = (uint8_t)kind };
    r->nrefs++;
    return one;
}

uint64_t x86_replay_load(struct x86_thread *t, const struct peet_block *block, uint32_t ref, uint64_t address, uint32_t size_bytes, uint64_t now,
    struct wait *w)
{
    struct x86_replay *r = t->replay;
    const struct x86_tape_ref *one;

    if (r->at == r->nrefs)
        answer_load(t, block, address, r->base, next_of_tape(t, X86_LOAD, block, ref, size_bytes, now));
    one = &r->refs[r->at++];
    w->hit = one->hit;
    if ((uint64_t)one->level + one->tlb + one->coherence > w->level + w->tlb + w->coherence) {
        w->level = one->level;
        w->tlb = one->tlb;
        w->coherence = one->coherence;
        w->served = one->served;
    }
    return now + one->cycles;
}

struct x86_tape_ref *x86_replay_store(struct x86_thread *t, const struct peet_block *block, uint32_t ref, uint64_t address, uint32_t size_bytes, uint64_t now)
{
    struct x86_replay *r = t->replay;

    if (r->at == r->nrefs)
        answer_store(t, block, address, r->base, next_of_tape(t, X86_STORE, block, ref, size_bytes, now));
    return &r->refs[r->at++];
}

void x86_replay_charge(struct x86_replay *r, uint32_t place, enum x86_category category, uint64_t cycles)
{
    for (uint32_t i = 0; i < r->ncharges && i < X86_TAPE_CHARGES; i++)
        if (r->charges[i].place == place && r->charges[i].category == category) {
            r->charges[i].cycles += (uint32_t)cycles;
            return;
        }
    if (r->ncharges < X86_TAPE_CHARGES)
        r->charges[r->ncharges] = (struct x86_charge){ place, (uint16_t)category, (uint32_t)cycles };
    if (r->ncharges <= X86_TAPE_CHARGES)
        r->ncharges++;
}

/* ------------------------------------------------------------------------------------------ repeating */

/** A store as the edge has it: its line is there, and it goes to the queue. */
static inline void enter(struct x86_thread *t, const struct x86_tape_ref *ref, uint64_t address, uint64_t base)
{
    t->stores_n++;
    x86_store_enter(t, address, ref->size_bytes, base + ref->data, base + ref->written);
}

/** The answer that most references give.  Returns: 0 if this is not it, or nobody knows; then nothing has happened */
static inline int plainly(struct x86_thread *t, const struct x86_tape_ref *ref, uint64_t address, uint64_t base)
{
    struct x86_memory *memory = t->cpu->x->memory;
    uint64_t within = t->cpu->x->line_bytes - 1, now = base + ref->begin, done;

    if (__builtin_expect(!ref->plain, 0) || (ref->kind == X86_LOAD ? x86_store_find(t, address, ref->size_bytes, now) != NULL :
            t->store_category != ref->served))
        return 0;
    if (memory && ((address | within) != ((address + ref->size_bytes - 1) | within) ||
            !x86_memory_hit_at(memory, t->cpu->number, ref->pc, address, ref->size_bytes, ref->kind, now, &done)))
        return 0;
    t->loads_n += ref->kind == X86_LOAD;
    return 1;
}

/** What the references do not decide: clock, front end, books. */
static inline void advance(struct x86_thread *t, const struct x86_code *code, const struct x86_edge *e)
{
    struct x86_place *places = t->cpu->x->stacks.places;
    const uint64_t base = t->dispatch;

    for (uint32_t i = 0; i < e->ncharges; i++) {
        t->cycles[e->charges[i].category] += e->charges[i].cycles;
        places[e->charges[i].place].cycles[e->charges[i].category] += e->charges[i].cycles;
    }
    t->dispatch = base + e->dispatch;
    t->frontier = base + (uint64_t)(int64_t)e->frontier;
    t->front = (struct x86_front){ e->front_from ? base + e->front_from - 1 : 0, (uint8_t)e->front_category };
    t->last = (struct x86_branch){ e->last, code->block, base + e->complete, e->last_pc };
    t->window.n += e->uops;
}

/** References before this one have been repeated, and this one has been answered: that is known when the block is gone through. */
static void on_tape(struct x86_replay *r, const struct x86_edge *e, uint32_t n, const struct x86_tape_ref *got)
{
    memcpy(r->refs, e->refs, n * sizeof *r->refs);
    for (uint32_t i = 0; i < n; i++)
        r->refs[i].entered = 1;
    r->refs[n] = *got;
    r->nrefs = n + 1;
}

static int repeat(struct x86_thread *t, const struct x86_code *code, const uint64_t *values)
{
    struct x86_replay *r = t->replay;
    const uint64_t base = t->dispatch;
    const uint32_t front = front_of(t);
    const struct x86_edge *e = r->node->edges;

    while (e && (e->block != code->block || e->front != front))
        e = e->more;
    if (!e)
        return 0;
    for (uint32_t i = 0; i < e->nrefs; i++) {
        const struct x86_tape_ref *ref = &e->refs[i];
        const uint64_t address = values[ref->value];

        if (__builtin_expect(!plainly(t, ref, address, base), 0)) {
            struct x86_tape_ref got = *ref;
            const struct x86_edge *other = e;

            if (ref->kind == X86_LOAD)
                answer_load(t, code->block, address, base, &got);
            else
                answer_store(t, code->block, address, base, &got);
            if (!same_answer(&got, ref))
                other = another(r->node, e, i, &got);
            if (!other) {
                on_tape(r, e, i, &got);
                return 0;
            }
            e = other;
        }
        if (ref->kind == X86_STORE)
            enter(t, &e->refs[i], address, base);
    }
    advance(t, code, e);
    r->node = e->next;
    r->fresh = 0;
    return 1;
}

int x86_replay_block(struct x86_thread *t, const struct x86_code *code, const uint64_t *values)
{
    struct x86_replay *r = t->replay;

    if (__builtin_expect(r->resting != 0, 0)) {
        r->resting--;
        return 0;
    }
    r->nrefs = r->at = r->ncharges = 0;
    if (__builtin_expect(r->node && code->replayable && repeat(t, code, values), 1)) {
        t->instructions += code->nops;
        if (code->nops)
            t->place = code->ops[code->nops - 1].place;
        r->credit += r->credit < CREDIT_MOST;
        r->replayed++;
        return 1;
    }
    r->from = r->node;
    x86_replay_leave(t);
    r->base = t->dispatch;
    r->uops = t->window.n;
    r->front = front_of(t);
    r->recording = r->from && code->replayable;
    return 0;
}

void x86_replay_leave(struct x86_thread *t)
{
    struct x86_replay *r = t->replay;

    if (r->node && !r->fresh)
        x86_state_read(t, r->node->state);
    r->node = NULL;
}

/* ------------------------------------------------------------------------------------------ learning */

/** The block that has just been gone through is an edge from one node to the other. */
static void make_edge(struct x86_thread *t, const struct x86_code *code, struct x86_node *next)
{
    struct x86_replay *r = t->replay;
    struct x86_nodes *nodes = &t->cpu->x->nodes;
    size_t refs = r->nrefs * sizeof *r->refs, charges = r->ncharges * sizeof *r->charges;
    struct x86_edge *e;

    if (r->from->nedges == MOST_EDGES || r->ncharges > X86_TAPE_CHARGES || t->dispatch - r->base > UINT32_MAX / 64)
        return;
    e = room(nodes, sizeof *e + refs + charges);
    if (!e)
        return;
    *e = (struct x86_edge){ .block = code->block, .front = r->front, .nrefs = (uint16_t)r->nrefs, .ncharges = (uint16_t)r->ncharges,
        .more = r->from->edges, .next = next, .dispatch = (uint32_t)(t->dispatch - r->base), .frontier = (int32_t)(t->frontier - r->base),
        .uops = (uint32_t)(t->window.n - r->uops) };
    if (t->front.from >= t->dispatch) {
        e->front_from = (uint32_t)(t->front.from - r->base) + 1;
        e->front_category = t->front.category;
    }
    if (t->last.op) {
        e->last = t->last.op;
        e->complete = (uint32_t)(t->last.complete - r->base);
        e->last_pc = t->last.pc;
    }
    memcpy(e->refs, r->refs, refs);
    e->charges = memcpy((char *)e->refs + refs, r->charges, charges);
    r->from->edges = e;
    r->from->nedges++;
}

void x86_replay_end(struct x86_thread *t, const struct x86_code *code)
{
    struct x86_replay *r = t->replay;
    struct x86_node *next;

    if (r->resting)
        return;
    next = node_here(t);
    if (r->recording && next)
        make_edge(t, code, next);
    r->recording = 0;
    r->node = next;
    r->fresh = 1;
    r->learnt++;
    r->credit -= CREDIT_LEARNT;
    if (t->cpu->x->nodes.all_bytes > MOST_BYTES)
        forget_all(t->cpu->x);
    if (r->credit < 0) { /* nothing comes again here */
        x86_replay_leave(t);
        r->resting = r->rest;
        r->rest = r->rest < REST_MOST ? 2 * r->rest : REST_MOST;
        r->credit = CREDIT_MOST / 8;
    } else if (r->credit > CREDIT_MOST / 2) {
        r->rest = REST_LEAST;
    }
}
