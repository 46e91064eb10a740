/* SPDX-License-Identifier: Apache-2.0 */
/*
 * x86: blocks executed by repeating what they did before.  The principle is at the head of core_replay.h; core.c calls
 * this for each block, once its front end has done its part.
 */
#include "core_replay.h"
#include "core_refs.h"

#include <stdlib.h>

enum {
    BUCKETS = 1 << 16,
    CHUNK_BYTES = 1 << 20,
    MOST_BYTES = 160 << 20, /* of states and edges */
    MOST_ANSWERS = 32,      /* edges of a node, block and front end that differ in what references took */
    CREDIT_MOST = 400000,
    CREDIT_FIRST = 200000,
    CREDIT_AGAIN = 1600,
    CREDIT_LEARNT = 16, /* a block that is learnt costs as much as so many that are repeated save */
    REST_LEAST = 1024,
    REST_MOST = 65536, /* blocks */
};

/* ------------------------------------------------------------------------------------------ life and death */

int x86_replay_init(struct x86 *x)
{
    x->nodes.buckets = calloc(BUCKETS, sizeof *x->nodes.buckets);
    x->nodes.edges = calloc(BUCKETS, sizeof *x->nodes.edges);
    x->nodes.edge_mask = BUCKETS - 1;
    x->nodes.mask = BUCKETS - 1;
    x->nodes.most_bytes = MOST_BYTES;
    for (unsigned i = 0; i < x->nthreads; i++) {
        x->threads[i].replay = calloc(1, sizeof *x->threads[i].replay);
        if (!x->nodes.buckets || !x->nodes.edges || !x->threads[i].replay) {
            x->env->fail(x->env, "out of memory for the states of %u cores", x->ncores);
            return -1;
        }
        x->threads[i].replay->credit = CREDIT_FIRST;
        x->threads[i].replay->rest = REST_LEAST;
    }
    return 0;
}

static void empty(struct x86_arena *a)
{
    while (a->chunks) {
        struct x86_chunk *next = a->chunks->next;

        free(a->chunks);
        a->chunks = next;
    }
    a->room_bytes = 0;
}

static void forget(struct x86_nodes *nodes)
{
    empty(&nodes->of_nodes);
    empty(&nodes->of_edges);
    nodes->all_bytes = nodes->n = nodes->nedges = 0;
}

void x86_replay_fini(struct x86 *x)
{
    forget(&x->nodes);
    free(x->nodes.buckets);
    free(x->nodes.edges);
    for (unsigned i = 0; x->threads && i < x->nthreads; i++)
        free(x->threads[i].replay);
}

/** Memory that lives until all is forgotten; NULL: none */
static void *room(struct x86_nodes *nodes, struct x86_arena *a, size_t bytes)
{
    void *at;

    bytes = (bytes + 15) / 16 * 16;
    if (bytes > a->room_bytes) {
        struct x86_chunk *chunk = malloc(CHUNK_BYTES);

        if (!chunk)
            return NULL;
        chunk->next = a->chunks;
        a->chunks = chunk;
        a->room = (char *)chunk + 16;
        a->room_bytes = CHUNK_BYTES - 16;
        nodes->all_bytes += CHUNK_BYTES;
    }
    at = a->room;
    a->room += bytes;
    a->room_bytes -= bytes;
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
    memset(x->nodes.edges, 0, (x->nodes.edge_mask + 1) * sizeof *x->nodes.edges);
    forget(&x->nodes);
    x->nodes.forgotten++;
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
    node = room(nodes, &nodes->of_nodes, sizeof *node + bytes);
    if (!node)
        return NULL;
    *node = (struct x86_node){.same = nodes->buckets[hash & nodes->mask], .hash = hash, .bytes = bytes};
    memcpy(node->state, state, bytes);
    nodes->buckets[hash & nodes->mask] = node;
    nodes->n++;
    return node;
}

/** What the front end is held up for, as far as it is of importance, and whether it has lost the rest of a cycle. */
static uint32_t front_of(const struct x86_thread *t)
{
    return (t->front.from >= t->dispatch
                   ? (uint32_t)(t->front.from - t->dispatch) * CPI_CATEGORIES + t->front.category + 1
                   : 0)
        << 3 |
        t->taken;
}

static inline struct x86_edge **bucket_of(const struct x86_nodes *nodes, const struct x86_node *from,
    const struct peet_block *block, uint32_t front)
{
    uint64_t key = ((uintptr_t)from >> 4) * 0x9e3779b97f4a7c15u + ((uintptr_t)block >> 4) * 0xbf58476d1ce4e5b9u +
        front * 0x94d049bb133111ebu;

    return &nodes->edges[(key ^ key >> 32) & nodes->edge_mask];
}

static inline int is_edge(const struct x86_edge *e, const struct x86_node *from, const struct peet_block *block,
    uint32_t front)
{
    return e->from == from && e->block == block && e->front == front;
}

/** A new edge.  There are not too many of its like: the caller has seen to that. */
static void add_edge(struct x86_nodes *nodes, struct x86_edge *e)
{
    struct x86_edge **bucket;

    if (nodes->nedges++ > nodes->edge_mask) { /* twice as many buckets; without memory it stays as it is */
        struct x86_nodes more = {.edge_mask = 2 * nodes->edge_mask + 1};

        more.edges = calloc(more.edge_mask + 1, sizeof *more.edges);
        for (uint64_t i = 0; more.edges && i <= nodes->edge_mask; i++)
            for (struct x86_edge *one = nodes->edges[i], *next; one; one = next) {
                next = one->more;
                bucket = bucket_of(&more, one->from, one->block, one->front);
                one->more = *bucket;
                *bucket = one;
            }
        if (more.edges) {
            free(nodes->edges);
            nodes->edges = more.edges;
            nodes->edge_mask = more.edge_mask;
        }
    }
    bucket = bucket_of(nodes, e->from, e->block, e->front);
    e->more = *bucket;
    *bucket = e;
}

/** How many edges differ from one another in answers alone. */
static unsigned alike(const struct x86_nodes *nodes, const struct x86_node *from, const struct peet_block *block,
    uint32_t front)
{
    unsigned n = 0;

    for (const struct x86_edge *e = *bucket_of(nodes, from, block, front); e; e = e->more)
        n += is_edge(e, from, block, front);
    return n;
}

static struct x86_charge *charges_of(const struct x86_edge *e)
{
    return (struct x86_charge *)(e + 1);
}

static struct x86_tape_ref *refs_of(const struct x86_edge *e)
{
    return (struct x86_tape_ref *)(charges_of(e) + e->ncharges);
}

static struct x86_answer *answers_of(const struct x86_edge *e)
{
    return (struct x86_answer *)(refs_of(e) + e->nrefs);
}

/** The answer that plain references give. */
static struct x86_answer plain_answer(const struct x86 *x, uint8_t kind, uint8_t category)
{
    return kind == X86_LOAD ? (struct x86_answer){.cycles = (int32_t)x->load_cycles, .hit = (uint8_t)x->load_cycles}
                            : (struct x86_answer){.cycles = x->memory ? 0 : 1, .served = category};
}

static int same_answer(const struct x86_answer *a, const struct x86_answer *b)
{
    return a->cycles == b->cycles && a->hit == b->hit && a->level == b->level && a->tlb == b->tlb &&
        a->coherence == b->coherence && a->served == b->served && a->same == b->same;
}

/** Another edge like this one that agrees with it in all references before this, and in this one with the answer. */
static struct x86_edge *another(const struct x86_nodes *nodes, const struct x86_edge *edge, uint32_t ref,
    const struct x86_answer *got)
{
    for (struct x86_edge *e = *bucket_of(nodes, edge->from, edge->block, edge->front); e; e = e->more) {
        uint32_t i = 0;

        if (!is_edge(e, edge->from, edge->block, edge->front) || !same_answer(&answers_of(e)[ref], got))
            continue;
        while (i < ref && same_answer(&answers_of(e)[i], &answers_of(edge)[i]))
            i++;
        if (i == ref)
            return e;
    }
    return NULL;
}

/* ------------------------------------------------------------------------------------------ answers */

static void answer(struct x86_thread *t, const struct peet_block *block, const uint64_t *at /* its values */,
    uint32_t size_bytes, uint64_t base, struct x86_tape_ref *ref, struct x86_answer *out)
{
    struct wait w = {.dispatch = base + ref->dispatch};
    uint64_t now = base + ref->begin;
    struct x86_answer plain = plain_answer(t->cpu->x, ref->kind, t->store_category);

    *out = (struct x86_answer){0};
    switch (ref->kind) {
    case TAPE_HAPPENS:
        out->cycles = at[1] != 0;
        return;
    case X86_STORE:
        out->cycles = (int32_t)(access(t, X86_STORE, block, ref->ref, *at, size_bytes, now, NULL) - now);
        out->served = t->store_category;
        out->same = (uint8_t)x86_store_joins(t, *at, size_bytes);
        plain.same = out->same;
        ref->plain = (uint8_t)same_answer(out, &plain);
        return;
    case X86_LOAD:
        out->cycles = (int32_t)(load_now(t, block, ref->ref, *at, size_bytes, now, &w) - now);
        break;
    default:
        out->cycles = (int32_t)(x86_core_range(t, ref->kind == TAPE_RANGE_LOAD ? X86_LOAD : X86_STORE, block, ref->ref,
                                    *at, at[1] * size_bytes, now, &w) -
            now);
    }
    out->hit = (uint8_t)w.hit;
    out->level = (uint32_t)w.level;
    out->tlb = (uint32_t)w.tlb;
    out->coherence = (uint32_t)w.coherence;
    out->served = w.level ? w.served : 0;
    ref->plain = ref->kind == X86_LOAD && same_answer(out, &plain);
}

/** The tape's next reference, answered.  Returns: its number */
static uint32_t next_of_tape(struct x86_thread *t, uint8_t kind, const struct peet_block *block, uint32_t ref,
    const uint64_t *at, uint32_t size_bytes, uint64_t now, uint64_t dispatched)
{
    struct x86_replay *r = t->replay;

    if (r->at == r->nrefs) {
        r->refs[r->at] = (struct x86_tape_ref){.begin = (uint32_t)(now - r->base),
            .dispatch = (uint32_t)(dispatched - r->base),
            .ref = (uint16_t)ref,
            .kind = kind};
        answer(t, block, at, size_bytes, r->base, &r->refs[r->at], &r->answers[r->at]);
        r->nrefs++;
    }
    return r->at++;
}

/** What an answer tells besides its end. */
static void tell(const struct x86_answer *one, struct wait *w)
{
    if ((uint64_t)one->level + one->tlb + one->coherence > w->level + w->tlb + w->coherence) {
        w->level = one->level;
        w->tlb = one->tlb;
        w->coherence = one->coherence;
        w->served = one->served;
    }
}

uint64_t x86_replay_load(struct x86_thread *t, const struct peet_block *block, uint32_t ref, uint64_t address,
    uint32_t size_bytes, uint64_t now, struct wait *w)
{
    const struct x86_answer *one =
        &t->replay->answers[next_of_tape(t, X86_LOAD, block, ref, &address, size_bytes, now, w->dispatch)];

    w->hit = one->hit;
    tell(one, w);
    return now + (uint64_t)(int64_t)one->cycles;
}

uint64_t x86_replay_range(struct x86_thread *t, uint8_t kind, const struct peet_block *block, uint32_t ref,
    const uint64_t *values, uint64_t now, struct wait *w)
{
    const struct peet_ref *r = &block->refs[ref];
    const struct x86_answer *one =
        &t->replay->answers[next_of_tape(t, kind == X86_LOAD ? TAPE_RANGE_LOAD : TAPE_RANGE_STORE, block, ref,
            &values[r->value], r->size_bytes ? r->size_bytes : 1, now, now)];

    tell(one, w);
    return now + (uint64_t)(int64_t)one->cycles;
}

int x86_replay_happens(struct x86_thread *t, const struct peet_block *block, uint32_t ref, const uint64_t *values)
{
    return t->replay
               ->answers[next_of_tape(t, TAPE_HAPPENS, block, ref, &values[block->refs[ref].value], 0, t->replay->base,
                   t->replay->base)]
               .cycles != 0;
}

uint64_t x86_replay_store(struct x86_thread *t, const struct peet_block *block, uint32_t ref, uint64_t address,
    uint32_t size_bytes, uint64_t now, int *out_same)
{
    const struct x86_answer *one =
        &t->replay->answers[next_of_tape(t, X86_STORE, block, ref, &address, size_bytes, now, now)];

    t->store_category = one->served;
    *out_same = one->same;
    return now + (uint64_t)(int64_t)one->cycles;
}

int x86_replay_stored(struct x86_replay *r, uint64_t data, uint64_t registers, uint64_t written)
{
    struct x86_tape_ref *one = &r->refs[r->at - 1];

    one->data = (uint32_t)(data - r->base);
    one->registers = registers == UINT64_MAX ? UINT32_MAX : registers > r->base ? (uint32_t)(registers - r->base) : 0;
    one->written = (uint32_t)(written - r->base);
    return r->at <= r->entered;
}

void x86_replay_charge(struct x86_replay *r, uint32_t place, enum x86_category category, uint64_t cycles)
{
    if (place >> 24)
        r->ncharges = X86_TAPE_CHARGES + 1;
    for (uint32_t i = 0; i < r->ncharges && i < X86_TAPE_CHARGES; i++)
        if (r->charges[i].place == (place & 0xffffff) && r->charges[i].category == category) {
            r->charges[i].cycles += (uint32_t)cycles;
            return;
        }
    if (r->ncharges < X86_TAPE_CHARGES)
        r->charges[r->ncharges] = (struct x86_charge){(uint32_t)cycles, place & 0xffffff, (uint8_t)category};
    if (r->ncharges <= X86_TAPE_CHARGES)
        r->ncharges++;
}

/* ------------------------------------------------------------------------------------------ repeating */

/** A store as the edge has it: its line is there, and it goes to the queue. */
static inline void enter(struct x86_thread *t, const struct x86_tape_ref *ref, uint64_t address, uint32_t size_bytes,
    uint64_t base)
{
    t->stores_n++;
    x86_store_enter(t, address, size_bytes, base + ref->data,
        ref->registers == UINT32_MAX ? UINT64_MAX : base + ref->registers, base + ref->written);
}

/** The answer that most references give.  Returns: 0 if this is not it, or nobody knows; then nothing has happened */
static inline __attribute__((always_inline)) int plainly(struct x86_thread *t, const struct x86_tape_ref *ref,
    uint8_t same, uint64_t pc, uint64_t address, uint32_t size_bytes, uint64_t base)
{
    struct x86_memory *memory = t->cpu->x->memory;
    uint64_t within = t->cpu->x->line_bytes - 1, now = base + ref->begin, done;

    if (__builtin_expect(!ref->plain, 0) ||
        (ref->kind == X86_LOAD &&
            x86_store_find(t, address, size_bytes, t->cpu->x->renaming ? base + ref->dispatch : now) != NULL))
        return 0;
    if (ref->kind == X86_STORE && t->cpu->x->config.stores_line > t->cpu->x->config.stores_cycle) {
        const uint64_t line = t->store_line;

        if (x86_store_joins(t, address, size_bytes) != same) {
            t->store_line = line;
            return 0;
        }
        if (memory &&
            ((address | within) != ((address + size_bytes - 1) | within) ||
                !x86_memory_hit_at(memory, t->cpu->number, pc, address, size_bytes, ref->kind, now, &done))) {
            t->store_line = line;
            return 0;
        }
        return 1;
    }
    if (memory &&
        ((address | within) != ((address + size_bytes - 1) | within) ||
            !x86_memory_hit_at(memory, t->cpu->number, pc, address, size_bytes, ref->kind, now, &done)))
        return 0;
    t->loads_n += ref->kind == X86_LOAD;
    return 1;
}

/** What the references do not decide: clock, front end, books. */
static inline void advance(struct x86_thread *t, const struct x86_code *code, const struct x86_edge *e)
{
    struct x86_place *places = t->cpu->x->stacks.places;
    const struct x86_charge *charge = charges_of(e);
    const uint64_t base = t->dispatch;

    for (const struct x86_charge *end = charge + e->ncharges; charge != end; charge++) {
        t->cycles[charge->category] += charge->cycles;
        places[charge->place].cycles[charge->category] += charge->cycles;
    }
    t->dispatch = base + e->dispatch;
    t->frontier = base + (uint64_t)(int64_t)e->frontier;
    t->front = (struct x86_front){e->front_from ? base + e->front_from - 1 : 0, e->front_category};
    if (e->branch)
        t->last = (struct x86_branch){&code->ops[code->nops - 1], code->block, base + e->complete, code->branch_pc};
    t->window.n += e->uops;
    t->instructions += code->nops;
    if (code->nops)
        t->place = code->last_place;
}

/** References before this one have been repeated, and this one has been answered: that is known when the block is gone
 * through. */
static void on_tape(struct x86_replay *r, const struct x86_edge *e, uint32_t n, const struct x86_tape_ref *ref,
    const struct x86_answer *got)
{
    memcpy(r->refs, refs_of(e), n * sizeof *r->refs);
    memcpy(r->answers, answers_of(e), n * sizeof *r->answers);
    r->refs[n] = *ref;
    r->answers[n] = *got;
    r->nrefs = n + 1;
    r->entered = n;
}

/** The edge of a block from the node; NULL: there is none */
static inline struct x86_edge *edge_of(const struct x86_thread *t, const struct peet_block *block, uint32_t front)
{
    const struct x86_replay *r = t->replay;
    struct x86_edge *e;

    for (unsigned i = 0; r->last && i < 2; i++) {
        e = r->last->likely[i];
        if (e && e->block == block && e->front == front)
            return e;
    }
    for (e = *bucket_of(&t->cpu->x->nodes, r->node, block, front); e && !is_edge(e, r->node, block, front); e = e->more)
        ;
    return e;
}

/** Along an edge. */
static inline void go(struct x86_replay *r, struct x86_edge *e)
{
    if (r->last && r->last->likely[0] != e) {
        r->last->likely[1] = r->last->likely[0];
        r->last->likely[0] = e;
    }
    r->last = e;
    r->node = e->next;
    r->fresh = 0;
}

static inline int repeat(struct x86_thread *t, const struct x86_code *code, const uint64_t *values)
{
    struct x86_replay *r = t->replay;
    const struct peet_block *block = code->block;
    const uint64_t base = t->dispatch;
    struct x86_edge *e = edge_of(t, block, front_of(t));
    const struct x86_tape_ref *refs;
    const uint8_t category = t->store_category;

    if (__builtin_expect(!e, 0))
        return 0;
    refs = refs_of(e);
    for (uint32_t i = 0; i < e->nrefs; i++) {
        const struct x86_code_ref *ref = &code->refs[refs[i].ref];
        const uint64_t address = values[ref->value];

        if (__builtin_expect(!plainly(t, &refs[i], answers_of(e)[i].same, ref->pc, address, ref->size_bytes, base),
                0)) {
            struct x86_tape_ref one = refs[i];
            struct x86_answer got;

            answer(t, block, &values[ref->value], ref->size_bytes, base, &one, &got);
            if (!same_answer(&got, &answers_of(e)[i])) {
                struct x86_edge *other = another(&t->cpu->x->nodes, e, i, &got);

                if (!other) {
                    on_tape(r, e, i, &one, &got);
                    t->store_category = category; /* until the tape gives it again */
                    return 0;
                }
                e = other;
                refs = refs_of(e);
            }
        }
        if (refs[i].kind == X86_STORE)
            enter(t, &refs[i], address, ref->size_bytes, base);
    }
    __builtin_prefetch(e->likely[0]);
    advance(t, code, e);
    go(r, e);
    return 1;
}

/** The front end is held up for so many cycles: a node leads to another one without a block. */
static inline void hold(struct x86_thread *t, const struct x86_code *code, uint64_t cycles)
{
    struct x86_replay *r = t->replay;
    struct x86_edge *e = r->node && cycles < UINT32_MAX ? edge_of(t, NULL, (uint32_t)cycles) : NULL;

    if (e) {
        x86_core_hold(t, code);
        t->store_category = e->front_category;
        go(r, e);
        return;
    }
    r->from = r->node;
    x86_replay_leave(t);
    x86_core_hold(t, code);
    if (!r->from)
        return;
    r->node = node_here(t);
    r->fresh = 1;
    if (r->node && cycles < UINT32_MAX &&
        (e = room(&t->cpu->x->nodes, &t->cpu->x->nodes.of_edges, sizeof *e)) != NULL) {
        *e = (struct x86_edge){
            .from = r->from, .next = r->node, .front = (uint32_t)cycles, .front_category = t->store_category};
        add_edge(&t->cpu->x->nodes, e);
        r->last = e;
    }
}

int x86_replay_block(struct x86_thread *t, const struct x86_code *code, const uint64_t *values)
{
    struct x86_replay *r = t->replay;
    uint64_t held = x86_core_held(t, code);

    if (__builtin_expect(r->resting != 0, 0)) {
        if (held)
            x86_core_hold(t, code);
        r->resting--;
        r->rested++;
        return 0;
    }
    if (held)
        hold(t, code, held);
    r->nrefs = 0;
    if (__builtin_expect(r->node && code->replayable && repeat(t, code, values), 1)) {
        r->credit += r->credit < CREDIT_MOST;
        r->replayed++;
        return 1;
    }
    r->at = r->ncharges = 0;
    r->entered = r->nrefs ? r->entered : 0;
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
    r->last = NULL;
}

/* ------------------------------------------------------------------------------------------ learning */

/** The block that has just been gone through is an edge from one node to the other. */
static void make_edge(struct x86_thread *t, const struct x86_code *code, struct x86_node *next)
{
    struct x86_replay *r = t->replay;
    struct x86_nodes *nodes = &t->cpu->x->nodes;
    size_t refs = r->nrefs * sizeof *r->refs, charges = r->ncharges * sizeof *r->charges,
           answers = r->nrefs * sizeof *r->answers;
    struct x86_edge *e;

    if (alike(nodes, r->from, code->block, r->front) >= MOST_ANSWERS || r->ncharges > X86_TAPE_CHARGES ||
        t->dispatch - r->base > UINT32_MAX / 64 || t->window.n - r->uops > UINT16_MAX)
        return;
    e = room(nodes, &nodes->of_edges, sizeof *e + refs + charges + answers);
    if (!e)
        return;
    *e = (struct x86_edge){.from = r->from,
        .block = code->block,
        .front = r->front,
        .nrefs = (uint16_t)r->nrefs,
        .ncharges = (uint16_t)r->ncharges,
        .next = next,
        .dispatch = (uint32_t)(t->dispatch - r->base),
        .frontier = (int32_t)(t->frontier - r->base),
        .uops = (uint16_t)(t->window.n - r->uops)};
    if (t->front.from >= t->dispatch) {
        e->front_from = (uint32_t)(t->front.from - r->base) + 1;
        e->front_category = t->front.category;
    }
    if (t->last.op) {
        e->branch = 1;
        e->complete = (uint32_t)(t->last.complete - r->base);
    }
    memcpy(charges_of(e), r->charges, charges);
    memcpy(refs_of(e), r->refs, refs);
    memcpy(answers_of(e), r->answers, answers);
    add_edge(nodes, e);
    r->made = e;
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
    r->last = r->made; /* what follows is likely to follow again */
    r->made = NULL;
    r->fresh = 1;
    r->learnt++;
    r->credit -= CREDIT_LEARNT;
    if (t->cpu->x->nodes.all_bytes > t->cpu->x->nodes.most_bytes)
        forget_all(t->cpu->x);
    if (r->credit < 0) { /* nothing comes again here */
        x86_replay_leave(t);
        r->resting = r->rest;
        r->rest = r->rest < REST_MOST ? 2 * r->rest : REST_MOST;
        r->credit = CREDIT_AGAIN;
    } else if (r->credit > 4 * CREDIT_AGAIN) {
        r->rest = REST_LEAST;
    }
}
