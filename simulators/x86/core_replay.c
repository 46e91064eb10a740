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
    MOST_BYTES = 160 << 20, /* of states and successors */
    MOST_ANSWERS = 32,      /* successors of a configuration, block and front end that differ in what references took */
    CREDIT_MOST = 400000,
    CREDIT_FIRST = 200000,
    CREDIT_AGAIN = 1600,
    CREDIT_LEARNT = 6, /* a block that is learnt costs as much as so many that are repeated save, */
    CREDIT_ASKED = 2,  /* a state that is not known as much as so many */
    DEPTH_MOST = 4,
    STRIDE_MOST = 32,
    SEEN = 1 << 16,
    REST_LEAST = 1024,
    REST_MOST = 65536, /* blocks */
};

/* ------------------------------------------------------------------------------------------ life and death */

int x86_replay_init(struct x86 *x)
{
    x->configurations.buckets = calloc(BUCKETS, sizeof *x->configurations.buckets);
    x->configurations.successors = calloc(BUCKETS, sizeof *x->configurations.successors);
    x->configurations.successor_mask = BUCKETS - 1;
    x->configurations.mask = BUCKETS - 1;
    x->configurations.most_bytes = MOST_BYTES;
    x->configurations.seen = calloc(SEEN, sizeof *x->configurations.seen);
    for (unsigned i = 0; i < x->nthreads; i++) {
        x->threads[i].replay = calloc(1, sizeof *x->threads[i].replay);
        if (!x->configurations.buckets || !x->configurations.successors || !x->configurations.seen ||
            !x->threads[i].replay) {
            x->env->fail(x->env, "out of memory for the states of %u cores", x->ncores);
            return -1;
        }
        x->threads[i].replay->listened = x->env->reports >> PEET_MEMORY_STALL & 1;
        x->threads[i].replay->credit = CREDIT_FIRST;
        x->threads[i].replay->rest = REST_LEAST;
        x->threads[i].replay->stride = 1;
    }
    return 0;
}

static void empty(struct x86_configurations *configurations, struct x86_arena *a)
{
    while (a->chunks) {
        struct x86_chunk *chunk = a->chunks;

        a->chunks = chunk->next;
        chunk->next = configurations->spare;
        configurations->spare = chunk;
    }
    a->room_bytes = 0;
}

static void forget(struct x86_configurations *configurations)
{
    empty(configurations, &configurations->of_configurations);
    empty(configurations, &configurations->of_successors);
    configurations->all_bytes = configurations->n = configurations->nsuccessors = 0;
}

void x86_replay_fini(struct x86 *x)
{
    forget(&x->configurations);
    for (struct x86_chunk *chunk = x->configurations.spare, *next; chunk; chunk = next) {
        next = chunk->next;
        free(chunk);
    }
    free(x->configurations.seen);
    free(x->configurations.buckets);
    free(x->configurations.successors);
    for (unsigned i = 0; x->threads && i < x->nthreads; i++)
        free(x->threads[i].replay);
}

/** Memory that lives until all is forgotten; NULL: none */
static void *room(struct x86_configurations *configurations, struct x86_arena *a, size_t bytes)
{
    void *at;

    bytes = (bytes + 15) / 16 * 16;
    if (bytes > a->room_bytes) {
        struct x86_chunk *chunk = configurations->spare;

        if (chunk)
            configurations->spare = chunk->next;
        else if (!(chunk = malloc(CHUNK_BYTES)))
            return NULL;
        chunk->next = a->chunks;
        a->chunks = chunk;
        a->room = (char *)chunk + 16;
        a->room_bytes = CHUNK_BYTES - 16;
        configurations->all_bytes += CHUNK_BYTES;
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
    memset(x->configurations.buckets, 0, (x->configurations.mask + 1) * sizeof *x->configurations.buckets);
    memset(x->configurations.successors, 0,
        (x->configurations.successor_mask + 1) * sizeof *x->configurations.successors);
    forget(&x->configurations);
    x->configurations.forgotten++;
}

/* --------------------------------------------------------------------------------- configurations and successors */

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
static void widen(struct x86_configurations *configurations)
{
    uint64_t n = 2 * (configurations->mask + 1);
    struct x86_configuration **more = calloc(n, sizeof *more);

    if (!more)
        return;
    for (uint64_t i = 0; i <= configurations->mask; i++)
        for (struct x86_configuration *configuration = configurations->buckets[i], *same; configuration;
            configuration = same) {
            same = configuration->same;
            configuration->same = more[configuration->hash & (n - 1)];
            more[configuration->hash & (n - 1)] = configuration;
        }
    free(configurations->buckets);
    configurations->buckets = more;
    configurations->mask = n - 1;
}

/** Has such a state been come to before? */
static int seen_before(struct x86_configurations *configurations, uint64_t hash)
{
    uint32_t *seen = &configurations->seen[hash % SEEN], tag = (uint32_t)(hash >> 32) | 1;

    if (*seen == tag)
        return 1;
    *seen = tag;
    return 0;
}

/** The configuration of the state that the thread's core is in; NULL: such a state is not kept */
static struct x86_configuration *configuration_here(struct x86_thread *t)
{
    struct x86_configurations *configurations = &t->cpu->x->configurations;
    uint64_t *state = t->replay->state, hash;
    uint32_t bytes = x86_state_write(t, state);
    struct x86_configuration *configuration;

    if (!bytes)
        return NULL;
    hash = hash_of(state, bytes / 8);
    for (configuration = configurations->buckets[hash & configurations->mask]; configuration;
        configuration = configuration->same)
        if (configuration->hash == hash && configuration->bytes == bytes &&
            !memcmp(configuration->state, state, bytes)) {
            t->replay->depth = 0;
            return configuration;
        }
    if (t->replay->depth >= DEPTH_MOST && !seen_before(configurations, hash))
        return NULL;
    t->replay->depth++;
    if (configurations->n > configurations->mask)
        widen(configurations);
    configuration = room(configurations, &configurations->of_configurations, sizeof *configuration + bytes);
    if (!configuration)
        return NULL;
    *configuration = (struct x86_configuration){
        .same = configurations->buckets[hash & configurations->mask], .hash = hash, .bytes = bytes};
    memcpy(configuration->state, state, bytes);
    configurations->buckets[hash & configurations->mask] = configuration;
    configurations->n++;
    return configuration;
}

/** What the front end is held up for, as far as it is of importance, and what fetch has lost to the last branch. */
static uint32_t front_of(const struct x86_thread *t)
{
    return (t->front.from >= t->dispatch
                   ? (uint32_t)(t->front.from - t->dispatch) * CPI_CATEGORIES + t->front.category + 1
                   : 0)
        << 4 |
        (uint32_t)t->late << 3 | t->taken;
}

static inline struct x86_successor **bucket_of(const struct x86_configurations *configurations,
    const struct x86_configuration *from, const struct peet_block *block, uint32_t front)
{
    uint64_t key = ((uintptr_t)from >> 4) * 0x9e3779b97f4a7c15u + ((uintptr_t)block >> 4) * 0xbf58476d1ce4e5b9u +
        front * 0x94d049bb133111ebu;

    return &configurations->successors[(key ^ key >> 32) & configurations->successor_mask];
}

static inline int is_successor(const struct x86_successor *e, const struct x86_configuration *from,
    const struct peet_block *block, uint32_t front)
{
    return e->from == from && e->block == block && e->front == front;
}

/** A new successor.  There are not too many of its like: the caller has seen to that. */
static void add_successor(struct x86_configurations *configurations, struct x86_successor *e)
{
    struct x86_successor **bucket;

    if (configurations->nsuccessors++ >
        configurations->successor_mask) { /* twice as many buckets; without memory it stays as it is */
        struct x86_configurations more = {.successor_mask = 2 * configurations->successor_mask + 1};

        more.successors = calloc(more.successor_mask + 1, sizeof *more.successors);
        for (uint64_t i = 0; more.successors && i <= configurations->successor_mask; i++)
            for (struct x86_successor *one = configurations->successors[i], *next; one; one = next) {
                next = one->more;
                bucket = bucket_of(&more, one->from, one->block, one->front);
                one->more = *bucket;
                *bucket = one;
            }
        if (more.successors) {
            free(configurations->successors);
            configurations->successors = more.successors;
            configurations->successor_mask = more.successor_mask;
        }
    }
    bucket = bucket_of(configurations, e->from, e->block, e->front);
    e->more = *bucket;
    *bucket = e;
}

/** How many successors differ from one another in answers alone. */
static unsigned alike(const struct x86_configurations *configurations, const struct x86_configuration *from,
    const struct peet_block *block, uint32_t front)
{
    unsigned n = 0;

    for (const struct x86_successor *e = *bucket_of(configurations, from, block, front); e; e = e->more)
        n += is_successor(e, from, block, front);
    return n;
}

static struct x86_charge *charges_of(const struct x86_successor *e)
{
    return (struct x86_charge *)(e + 1);
}

static struct x86_reference_answer *refs_of(const struct x86_successor *e)
{
    return (struct x86_reference_answer *)(charges_of(e) + e->ncharges);
}

static struct x86_answer *answers_of(const struct x86_successor *e)
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

/** Another successor like this one that agrees with it in all references before this, and in this one with the
 * answer. */
static struct x86_successor *another(const struct x86_configurations *configurations,
    const struct x86_successor *successor, uint32_t ref, const struct x86_answer *got)
{
    for (struct x86_successor *e = *bucket_of(configurations, successor->from, successor->block, successor->front); e;
        e = e->more) {
        uint32_t i = 0;

        if (!is_successor(e, successor->from, successor->block, successor->front) ||
            !same_answer(&answers_of(e)[ref], got))
            continue;
        while (i < ref && same_answer(&answers_of(e)[i], &answers_of(successor)[i]))
            i++;
        if (i == ref)
            return e;
    }
    return NULL;
}

/* ------------------------------------------------------------------------------------------ answers */

static void answer(struct x86_thread *t, const struct peet_block *block, const uint64_t *at /* its values */,
    uint32_t size_bytes, uint64_t base, struct x86_reference_answer *ref, struct x86_answer *out)
{
    struct wait w = {.dispatch = base + ref->dispatch};
    uint64_t now = base + ref->begin;
    struct x86_answer plain = plain_answer(t->cpu->x, ref->kind, t->store_category);

    *out = (struct x86_answer){0};
    switch (ref->kind) {
    case ANSWER_HAPPENS:
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
    case ANSWER_LOCKED:
        out->cycles = (int32_t)(x86_core_locked(t, block, ref->ref, *at, size_bytes, now, &w) - now);
        break;
    case ANSWER_PREFETCH:
        (void)access(t, X86_PREFETCH, block, ref->ref, *at, size_bytes, now, &w);
        return;
    default:
        out->cycles = (int32_t)(x86_core_range(t, ref->kind == ANSWER_RANGE_LOAD ? X86_LOAD : X86_STORE, block,
                                    ref->ref, *at, at[1] * size_bytes, now, &w) -
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
static uint32_t next_answer(struct x86_thread *t, uint8_t kind, const struct peet_block *block, uint32_t ref,
    const uint64_t *at, uint32_t size_bytes, uint64_t now, uint64_t dispatched)
{
    struct x86_replay *r = t->replay;

    if (r->at == r->nrefs) {
        r->refs[r->at] = (struct x86_reference_answer){.begin = (uint32_t)(now - r->base),
            .dispatch = (uint32_t)(dispatched - r->base),
            .ref = (uint16_t)ref,
            .kind = kind};
        answer(t, block, at, size_bytes, r->base, &r->refs[r->at], &r->answers[r->at]);
        if (r->listened)
            r->stores[r->at] = t->store_access;
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
        &t->replay->answers[next_answer(t, X86_LOAD, block, ref, &address, size_bytes, now, w->dispatch)];

    w->hit = one->hit;
    tell(one, w);
    return now + (uint64_t)(int64_t)one->cycles;
}

uint64_t x86_replay_locked(struct x86_thread *t, const struct peet_block *block, uint32_t ref, uint64_t address,
    uint32_t size_bytes, uint64_t now, struct wait *w)
{
    const struct x86_answer *one =
        &t->replay->answers[next_answer(t, ANSWER_LOCKED, block, ref, &address, size_bytes, now, now)];

    tell(one, w);
    return now + (uint64_t)(int64_t)one->cycles;
}

void x86_replay_prefetch(struct x86_thread *t, const struct peet_block *block, uint32_t ref, uint64_t address,
    uint32_t size_bytes, uint64_t now)
{
    (void)next_answer(t, ANSWER_PREFETCH, block, ref, &address, size_bytes, now, now);
}

uint64_t x86_replay_range(struct x86_thread *t, uint8_t kind, const struct peet_block *block, uint32_t ref,
    const uint64_t *values, uint64_t now, struct wait *w)
{
    const struct peet_ref *r = &block->refs[ref];
    const struct x86_answer *one =
        &t->replay->answers[next_answer(t, kind == X86_LOAD ? ANSWER_RANGE_LOAD : ANSWER_RANGE_STORE, block, ref,
            &values[r->value], r->size_bytes ? r->size_bytes : 1, now, now)];

    tell(one, w);
    return now + (uint64_t)(int64_t)one->cycles;
}

int x86_replay_happens(struct x86_thread *t, const struct peet_block *block, uint32_t ref, const uint64_t *values)
{
    return t->replay
               ->answers[next_answer(t, ANSWER_HAPPENS, block, ref, &values[block->refs[ref].value], 0, t->replay->base,
                   t->replay->base)]
               .cycles != 0;
}

uint64_t x86_replay_store(struct x86_thread *t, const struct peet_block *block, uint32_t ref, uint64_t address,
    uint32_t size_bytes, uint64_t now, int *out_same)
{
    const struct x86_answer *one =
        &t->replay->answers[next_answer(t, X86_STORE, block, ref, &address, size_bytes, now, now)];

    t->store_category = one->served;
    if (t->replay->listened)
        t->store_access = t->replay->stores[t->replay->at - 1];
    *out_same = one->same;
    return now + (uint64_t)(int64_t)one->cycles;
}

int x86_replay_stored(struct x86_replay *r, uint64_t data, uint64_t registers, uint64_t written)
{
    struct x86_reference_answer *one = &r->refs[r->at - 1];

    one->data = (uint32_t)(data - r->base);
    one->registers = registers == UINT64_MAX ? UINT32_MAX : registers > r->base ? (uint32_t)(registers - r->base) : 0;
    one->written = (uint32_t)(written - r->base);
    return r->at <= r->entered;
}

void x86_replay_charge(struct x86_replay *r, uint32_t place, enum x86_category category, uint64_t cycles)
{
    if (place >> 24)
        r->ncharges = X86_CHARGES + 1;
    for (uint32_t i = 0; i < r->ncharges && i < X86_CHARGES; i++)
        if (r->charges[i].place == (place & 0xffffff) && r->charges[i].category == category) {
            r->charges[i].cycles += (uint32_t)cycles;
            return;
        }
    if (r->ncharges < X86_CHARGES)
        r->charges[r->ncharges] = (struct x86_charge){(uint32_t)cycles, place & 0xffffff, (uint8_t)category};
    if (r->ncharges <= X86_CHARGES)
        r->ncharges++;
}

/* ------------------------------------------------------------------------------------------ repeating */

/** A store as the successor has it: its line is there, and it goes to the queue. */
static inline void enter(struct x86_thread *t, const struct x86_reference_answer *ref, uint64_t pc, uint64_t address,
    uint32_t size_bytes, uint64_t base)
{
    t->stores_n++;
    x86_store_enter(t, pc, address, size_bytes, base + ref->data,
        ref->registers == UINT32_MAX ? UINT64_MAX : base + ref->registers, base + ref->written);
}

/** The answer that most references give.  Returns: 0 if this is not it, or nobody knows; then nothing has happened */
static inline __attribute__((always_inline)) int plainly(struct x86_thread *t, const struct x86_reference_answer *ref,
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
static inline void advance(struct x86_thread *t, const struct x86_code *code, const struct x86_successor *e)
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
static void recorded(struct x86_replay *r, const struct x86_successor *e, uint32_t n,
    const struct x86_reference_answer *ref, const struct x86_answer *got)
{
    memcpy(r->refs, refs_of(e), n * sizeof *r->refs);
    memcpy(r->answers, answers_of(e), n * sizeof *r->answers);
    r->refs[n] = *ref;
    r->answers[n] = *got;
    r->nrefs = n + 1;
    r->entered = n;
}

/** The successor of a block from the configuration; NULL: there is none */
static inline struct x86_successor *successor_of(const struct x86_thread *t, const struct peet_block *block,
    uint32_t front)
{
    const struct x86_replay *r = t->replay;
    struct x86_successor *e;

    for (unsigned i = 0; r->last && i < 2; i++) {
        e = r->last->likely[i];
        if (e && e->block == block && e->front == front)
            return e;
    }
    for (e = *bucket_of(&t->cpu->x->configurations, r->configuration, block, front);
        e && !is_successor(e, r->configuration, block, front); e = e->more)
        ;
    return e;
}

/** Along a successor. */
static inline void go(struct x86_replay *r, struct x86_successor *e)
{
    if (r->last && r->last->likely[0] != e) {
        r->last->likely[1] = r->last->likely[0];
        r->last->likely[0] = e;
    }
    r->last = e;
    r->configuration = e->next;
    r->fresh = 0;
}

static inline int repeat(struct x86_thread *t, const struct x86_code *code, const uint64_t *values)
{
    struct x86_replay *r = t->replay;
    const struct peet_block *block = code->block;
    const uint64_t base = t->dispatch;
    struct x86_successor *e = successor_of(t, block, front_of(t));
    const struct x86_reference_answer *refs;
    const uint8_t category = t->store_category;

    if (__builtin_expect(!e, 0))
        return 0;
    refs = refs_of(e);
    if (__builtin_expect(r->listened, 0))
        r->store_before = t->store_access;
    for (uint32_t i = 0; i < e->nrefs; i++) {
        const struct x86_code_ref *ref = &code->refs[refs[i].ref];
        const uint64_t address = values[ref->value];

        if (__builtin_expect(!plainly(t, &refs[i], answers_of(e)[i].same, ref->pc, address, ref->size_bytes, base),
                0)) {
            struct x86_reference_answer one = refs[i];
            struct x86_answer got;

            answer(t, block, &values[ref->value], ref->size_bytes, base, &one, &got);
            if (r->listened)
                r->stores[i] = t->store_access;
            if (!same_answer(&got, &answers_of(e)[i])) {
                struct x86_successor *other = another(&t->cpu->x->configurations, e, i, &got);

                if (!other) {
                    recorded(r, e, i, &one, &got);
                    t->store_category = category; /* until the list of answers gives it again */
                    if (r->listened)
                        t->store_access = r->store_before;
                    return 0;
                }
                e = other;
                refs = refs_of(e);
            }
        }
        if (refs[i].kind == X86_STORE)
            enter(t, &refs[i], ref->pc, address, ref->size_bytes, base);
        if (__builtin_expect(r->listened, 0))
            r->stores[i] = t->store_access;
    }
    __builtin_prefetch(e->likely[0]);
    advance(t, code, e);
    go(r, e);
    return 1;
}

/** The front end is held up for so many cycles: a configuration leads to another one without a block. */
static inline void hold(struct x86_thread *t, const struct x86_code *code, uint64_t cycles)
{
    struct x86_replay *r = t->replay;
    struct x86_successor *e = r->configuration && cycles < UINT32_MAX ? successor_of(t, NULL, (uint32_t)cycles) : NULL;

    if (e) {
        x86_core_hold(t, code);
        t->store_category = e->front_category;
        go(r, e);
        return;
    }
    r->from = r->configuration;
    x86_replay_leave(t);
    x86_core_hold(t, code);
    if (!r->from)
        return;
    r->configuration = configuration_here(t);
    r->fresh = 1;
    if (r->configuration && cycles < UINT32_MAX &&
        (e = room(&t->cpu->x->configurations, &t->cpu->x->configurations.of_successors, sizeof *e)) != NULL) {
        *e = (struct x86_successor){
            .from = r->from, .next = r->configuration, .front = (uint32_t)cycles, .front_category = t->store_category};
        add_successor(&t->cpu->x->configurations, e);
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
    if (__builtin_expect(r->configuration && code->replayable && repeat(t, code, values), 1)) {
        r->credit += r->credit < CREDIT_MOST;
        r->replayed++;
        return 1;
    }
    if (r->configuration && !r->fresh) /* it was repeating */
        r->depth = 0;
    r->at = r->ncharges = 0;
    r->entered = r->nrefs ? r->entered : 0;
    r->from = r->configuration;
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

    if (r->configuration && !r->fresh)
        x86_state_read(t, r->configuration->state);
    r->configuration = NULL;
    r->last = NULL;
}

/* ------------------------------------------------------------------------------------------ learning */

/** The block that has just been gone through is a successor from one configuration to the other. */
static void make_successor(struct x86_thread *t, const struct x86_code *code, struct x86_configuration *next)
{
    struct x86_replay *r = t->replay;
    struct x86_configurations *configurations = &t->cpu->x->configurations;
    size_t refs = r->nrefs * sizeof *r->refs, charges = r->ncharges * sizeof *r->charges,
           answers = r->nrefs * sizeof *r->answers;
    struct x86_successor *e;

    if (alike(configurations, r->from, code->block, r->front) >= MOST_ANSWERS || r->ncharges > X86_CHARGES ||
        t->dispatch - r->base > UINT32_MAX / 64 || t->window.n - r->uops > UINT16_MAX)
        return;
    e = room(configurations, &configurations->of_successors, sizeof *e + refs + charges + answers);
    if (!e)
        return;
    *e = (struct x86_successor){.from = r->from,
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
    add_successor(configurations, e);
    r->made = e;
}

void x86_replay_end(struct x86_thread *t, const struct x86_code *code)
{
    struct x86_replay *r = t->replay;
    struct x86_configuration *next;

    if (r->resting)
        return;
    if (r->skip) {
        r->skip--;
        r->rested++;
        return;
    }
    next = configuration_here(t);
    if (!next) {
        r->skip = r->stride;
        r->stride = r->stride < STRIDE_MOST ? 2 * r->stride : STRIDE_MOST;
    } else {
        r->stride = 1;
    }
    if (r->recording && next)
        make_successor(t, code, next);
    r->recording = 0;
    r->configuration = next;
    r->last = r->made; /* what follows is likely to follow again */
    r->made = NULL;
    r->fresh = 1;
    r->learnt += next != NULL;
    r->rested += !next;
    r->credit -= next ? CREDIT_LEARNT : CREDIT_ASKED;
    if (t->cpu->x->configurations.all_bytes > t->cpu->x->configurations.most_bytes)
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
