/* SPDX-License-Identifier: Apache-2.0 */
/* All caches of a surface at once.  See surface.h for how. */
#include "surface.h"

#include <stdlib.h>
#include <string.h>

enum { FEWEST_SLOTS = 4096, NEVER = 0, BEYOND = 1, FIRST = 2, KEPT = 1 << (PEET_SIM_DEPTHS - 1) };

/* ------------------------------------------------------------------------------------------------ tallies */

void peet_sim_tally_settle(struct peet_sim_tally *t)
{
    for (unsigned n = 0; n <= PEET_SIM_WIDTHS; n++) {
        uint64_t times = t->top[n];

        t->references += times;
        for (unsigned w = 0; w < n; w++) {
            t->reuse[w][0] += times;
            if (w + 1 < n)
                t->same[w][0] += times;
        }
        t->top[n] = 0;
    }
}

void peet_sim_tally_add(struct peet_sim_tally *to, const struct peet_sim_tally *from, int sign)
{
    uint64_t s = (uint64_t)(int64_t)sign;

    to->references += s * from->references;
    for (unsigned w = 0; w < PEET_SIM_WIDTHS; w++)
        for (unsigned k = 0; k < PEET_SIM_BUCKETS; k++)
            to->reuse[w][k] += s * from->reuse[w][k];
    for (unsigned h = 0; h < PEET_SIM_HALVINGS; h++)
        for (unsigned k = 0; k < PEET_SIM_BUCKETS - 1; k++)
            to->same[h][k] += s * from->same[h][k];
}

/* -------------------------------------------------------------------------------------------- one LRU stack */

static int stack_init(struct peet__sim_stack *s)
{
    memset(s, 0, sizeof *s);
    s->words = calloc(PEET_SIM_SLOTS / 64, sizeof *s->words);
    s->groups = calloc(PEET_SIM_SLOTS / PEET_SIM_GROUP, sizeof *s->groups);
    s->cell = malloc(PEET_SIM_SLOTS * sizeof *s->cell);
    s->end = FEWEST_SLOTS;
    return s->words && s->groups && s->cell ? 0 : -1;
}

static void stack_fini(struct peet__sim_stack *s)
{
    free(s->words);
    free(s->groups);
    free(s->cell);
}

static void add(struct peet__sim_stack *s, uint32_t slot)
{
    s->words[slot / 64] |= 1ull << slot % 64;
    s->groups[slot / PEET_SIM_GROUP]++;
    s->supers[slot / PEET_SIM_SUPER]++;
}

/** Slots are used up: invariant 4.  There is room for three times as many as are left, so that a slot is moved for a third of a
 *  reference at most; a short clock of a small working set stays in the processor's cache. */
static __attribute__((noinline)) void renumber(struct peet__sim_stack *s)
{
    uint32_t live = 0, drop, used = s->next, to = 0;

    for (uint32_t i = 0; i < PEET_SIM_SLOTS / PEET_SIM_SUPER; i++)
        live += s->supers[i];
    drop = live > KEPT ? live - KEPT : 0;
    for (uint32_t i = 0; i <= (used - 1) / 64; i++) {
        for (uint64_t word = s->words[i]; word; word &= word - 1) {
            uint32_t *cell = s->cell[i * 64 + (uint32_t)__builtin_ctzll(word)];

            if (drop) {
                *cell = BEYOND;
                drop--;
                continue;
            }
            *cell = to + FIRST;
            s->cell[to++] = cell;
        }
    }
    memset(s->words, 0, (used / 64 + 1 < PEET_SIM_SLOTS / 64 ? used / 64 + 1 : PEET_SIM_SLOTS / 64) * sizeof *s->words);
    memset(s->groups, 0, PEET_SIM_SLOTS / PEET_SIM_GROUP * sizeof *s->groups);
    memset(s->supers, 0, sizeof s->supers);
    for (uint32_t slot = 0; slot < to; slot++)
        add(s, slot);
    s->next = to;
    s->end = 4 * to < FEWEST_SLOTS ? FEWEST_SLOTS : 4 * to > PEET_SIM_SLOTS ? PEET_SIM_SLOTS : 4 * to;
}

static const uint64_t later[2 * PEET_SIM_GROUP / 64 - 1] = { [PEET_SIM_GROUP / 64] = ~0ull, ~0ull, ~0ull, ~0ull, ~0ull, ~0ull, ~0ull };

/** Live slots after this one.  Nothing is live beyond the latest, so that whole groups can be counted: no branch depends on the slot. */
static inline __attribute__((always_inline)) uint32_t newer(const struct peet__sim_stack *s, uint32_t slot)
{
    enum { WORDS = PEET_SIM_GROUP / 64, GROUPS = PEET_SIM_SUPER / PEET_SIM_GROUP, SUPERS = PEET_SIM_SLOTS / PEET_SIM_SUPER };
    uint32_t group = slot / PEET_SIM_GROUP, super = slot / PEET_SIM_SUPER, word = slot / 64 % WORDS, n;
    const uint64_t *words = &s->words[group * WORDS];
    const uint16_t *groups = &s->groups[super * GROUPS];
    const uint64_t *mask = &later[WORDS - 1 - word];
    uint16_t sum = 0;

    n = (uint32_t)__builtin_popcountll(words[word] & ~1ull << slot % 64);
    for (uint32_t i = 0; i < WORDS; i++)
        n += (uint32_t)__builtin_popcountll(words[i] & mask[i]);
    if (s->next / PEET_SIM_GROUP == group)
        return n;
    for (uint16_t i = 0; i < GROUPS; i++)
        sum = (uint16_t)(sum + (i > (uint16_t)(group % GROUPS) ? groups[i] : 0));
    n += sum;
    for (uint32_t i = 0; i < SUPERS; i++)
        n += i > super ? s->supers[i] : 0;
    return n;
}

/** 0 only for what came on top because newer lines were dropped. */
static inline __attribute__((always_inline)) unsigned bucket_of(uint32_t distance)
{
    return distance >= KEPT ? PEET_SIM_BEYOND : distance ? 32 - (unsigned)__builtin_clz(distance) : 0;
}

/** A reference to a line that is not on top.  Returns: its bucket */
static inline __attribute__((always_inline)) unsigned reference(struct peet__sim_stack *s, uint32_t *cell)
{
    uint32_t last = *cell, slot, next, distance;
    unsigned bucket;

    if (__builtin_expect(s->next == s->end, 0)) {
        renumber(s);
        last = *cell;
    }
    next = s->next++;
    s->cell[next] = cell;
    *cell = next + FIRST;
    slot = last - FIRST;
    if (slot / 64 == next / 64) { /* most references: no count changes */
        uint64_t word = s->words[next / 64];

        bucket = bucket_of((uint32_t)__builtin_popcountll(word & ~1ull << slot % 64));
        s->words[next / 64] = (word & ~(1ull << slot % 64)) | 1ull << next % 64;
        return bucket;
    }
    if (last >= FIRST) {
        distance = newer(s, slot);
        bucket = bucket_of(distance);
        s->words[slot / 64] &= ~(1ull << slot % 64);
        s->groups[slot / PEET_SIM_GROUP]--;
        s->supers[slot / PEET_SIM_SUPER]--;
    } else {
        bucket = last == BEYOND ? PEET_SIM_BEYOND : PEET_SIM_COLD;
    }
    add(s, next);
    return bucket;
}

/* ------------------------------------------------------------------------------------------------- surfaces */

/** Halves of nodes on the way to each word of a line, and the nodes themselves. */
static uint64_t way[128][2], nodes[128][2];

static void __attribute__((constructor)) prepare(void)
{
    for (unsigned leaf = 0; leaf < 128; leaf++)
        for (unsigned h = 0; h < PEET_SIM_HALVINGS; h++) {
            unsigned node = 1u << h | leaf >> (7 - h);

            nodes[leaf][node / 64] |= 1ull << node % 64;
            way[leaf][node / 64] |= (uint64_t)(leaf >> (6 - h) & 1) << node % 64;
        }
}

/** Widths of which a reference finds its line on top: the highest bit in which addresses differ says it. */
static inline int on_top(const struct peet_sim_surface *s, uint64_t address)
{
    uint64_t x = address ^ s->last;
    int width;

    if (!s->begun || x >> PEET_SIM_WIDEST_SHIFT)
        return 0;
    width = 63 - __builtin_clzll(x | 2); /* 1: the same word */
    return PEET_SIM_WIDEST_SHIFT - width > PEET_SIM_WIDTHS ? PEET_SIM_WIDTHS : PEET_SIM_WIDEST_SHIFT - width;
}

static inline __attribute__((always_inline)) int body(struct peet_sim_surface *s, uint64_t address, struct peet_sim_tally *tally,
    struct peet_sim_found *found)
{
    struct peet__sim_record *r = s->record;
    unsigned leaf = address >> 2 & 127;
    int top = on_top(s, address), w;
    uint64_t moved[2];

    if (!top) {
        r = peet_sim_linemap_get(&s->records, address >> PEET_SIM_WIDEST_SHIFT);
        if (!r) {
            s->failed = 1;
            return -1;
        }
        s->record = r;
    }
    s->last = address;
    s->begun = 1;
    moved[0] = (r->half[0] ^ way[leaf][0]) & nodes[leaf][0];
    moved[1] = (r->half[1] ^ way[leaf][1]) & nodes[leaf][1];
    r->half[0] ^= moved[0];
    r->half[1] ^= moved[1];
    tally->top[top]++;
    for (w = 0; found && w < top; w++)
        found->bucket[w] = 0;
    for (w = 0; found && w < PEET_SIM_HALVINGS; w++) {
        unsigned node = 1u << w | leaf >> (7 - w);

        found->same[w] = !(moved[node / 64] >> node % 64 & 1);
    }
    for (w = top; w < PEET_SIM_WIDTHS; w++) {
        unsigned node = 1u << w | leaf >> (7 - w), bucket = reference(&s->stacks[w], &r->last[node]);

        tally->reuse[w][bucket]++;
        if (w < PEET_SIM_HALVINGS && bucket != PEET_SIM_COLD)
            tally->same[w][bucket] += !(moved[node / 64] >> node % 64 & 1);
        if (found)
            found->bucket[w] = (uint8_t)bucket;
    }
    return top;
}

static int touch_plain(struct peet_sim_surface *s, uint64_t address, struct peet_sim_tally *tally)
{
    return body(s, address, tally, NULL);
}

/** Population counts are one instruction here: two thirds of the time. */
__attribute__((target("popcnt,bmi,bmi2,lzcnt,avx2"))) static int touch_v3(struct peet_sim_surface *s, uint64_t address, struct peet_sim_tally *tally)
{
    return body(s, address, tally, NULL);
}

int peet_sim_surface_find(struct peet_sim_surface *s, uint64_t address, struct peet_sim_tally *tally, struct peet_sim_found *out_found)
{
    return body(s, address, tally, out_found) < 0 ? -1 : 0;
}

void peet_sim_surface_where(struct peet_sim_surface *s, uint64_t address, unsigned last_width, uint8_t out[PEET_SIM_NODES])
{
    const struct peet__sim_record *r = peet_sim_linemap_get(&s->records, address >> PEET_SIM_WIDEST_SHIFT);

    for (unsigned node = 1; node < 2u << last_width; node++) {
        uint32_t last = r ? r->last[node] : NEVER, distance;

        out[node] = PEET_SIM_COLD;
        if (last == BEYOND)
            out[node] = PEET_SIM_BEYOND;
        if (last < FIRST)
            continue;
        distance = newer(&s->stacks[31 - __builtin_clz(node)], last - FIRST);
        out[node] = (uint8_t)bucket_of(distance);
    }
}

struct dropping { struct peet_sim_surface *surface; int (*which)(void *arg, uint64_t line); void *arg; uint64_t left; };

static int drop_record(void *arg, uint64_t line, void *record)
{
    struct dropping *d = arg;
    struct peet__sim_record *r = record;

    if (r->last[1] == NEVER)
        return 0;
    if (!d->which(d->arg, line)) {
        d->left++;
        return 0;
    }
    for (unsigned node = 1; node < PEET_SIM_NODES; node++) {
        struct peet__sim_stack *s = &d->surface->stacks[31 - __builtin_clz(node)];

        if (r->last[node] >= FIRST) {
            uint32_t slot = r->last[node] - FIRST;

            s->words[slot / 64] &= ~(1ull << slot % 64);
            s->groups[slot / PEET_SIM_GROUP]--;
            s->supers[slot / PEET_SIM_SUPER]--;
        }
    }
    memset(r, 0, sizeof *r);
    return 0;
}

uint64_t peet_sim_surface_drop(struct peet_sim_surface *s, int (*which)(void *arg, uint64_t line), void *arg)
{
    struct dropping d = { s, which, arg, 0 };

    peet_sim_linemap_each(&s->records, drop_record, &d);
    if (s->record && s->record->last[1] == NEVER) /* the newest is gone: nothing is on top */
        s->begun = 0;
    return d.left;
}

int peet_sim_surface_half(struct peet_sim_surface *s, uint64_t address, unsigned node)
{
    const struct peet__sim_record *r = peet_sim_linemap_get(&s->records, address >> PEET_SIM_WIDEST_SHIFT);

    return !r || r->last[node] == NEVER ? -1 : (int)(r->half[node / 64] >> node % 64 & 1);
}

struct peet_sim_surface *peet_sim_surface_new(void)
{
    struct peet_sim_surface *s = calloc(1, sizeof *s);
    int status = 0;

    if (!s)
        return NULL;
    peet_sim_linemap_init(&s->records, sizeof(struct peet__sim_record));
    __builtin_cpu_init();
    s->touch = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2") ? touch_v3 : touch_plain;
    for (unsigned w = 0; w < PEET_SIM_WIDTHS; w++)
        status |= stack_init(&s->stacks[w]);
    if (status) {
        peet_sim_surface_free(s);
        return NULL;
    }
    return s;
}

void peet_sim_surface_free(struct peet_sim_surface *s)
{
    if (!s)
        return;
    for (unsigned w = 0; w < PEET_SIM_WIDTHS; w++)
        stack_fini(&s->stacks[w]);
    peet_sim_linemap_fini(&s->records);
    free(s);
}

/** A record of the copy; cells of the copy's stacks follow from what its nodes say (invariant 2). */
static int copy_record(void *arg, uint64_t line, void *record)
{
    struct peet_sim_surface *to = arg;
    const struct peet__sim_record *r = record;
    struct peet__sim_record *mine;

    if (r->last[1] == NEVER)
        return 0;
    mine = peet_sim_linemap_get(&to->records, line);
    if (!mine)
        return -1;
    *mine = *r;
    for (unsigned node = 1; node < 1u << PEET_SIM_WIDTHS; node++)
        if (mine->last[node] >= FIRST)
            to->stacks[31 - __builtin_clz(node)].cell[mine->last[node] - FIRST] = &mine->last[node];
    return 0;
}

struct peet_sim_surface *peet_sim_surface_copy(const struct peet_sim_surface *s)
{
    struct peet_sim_surface *to = peet_sim_surface_new();

    if (!to || peet_sim_linemap_each(&s->records, copy_record, to)) {
        peet_sim_surface_free(to);
        return NULL;
    }
    for (unsigned w = 0; w < PEET_SIM_WIDTHS; w++) {
        const struct peet__sim_stack *a = &s->stacks[w];
        struct peet__sim_stack *b = &to->stacks[w];

        memcpy(b->words, a->words, PEET_SIM_SLOTS / 64 * sizeof *a->words);
        memcpy(b->groups, a->groups, PEET_SIM_SLOTS / PEET_SIM_GROUP * sizeof *a->groups);
        memcpy(b->supers, a->supers, sizeof a->supers);
        b->next = a->next;
        b->end = a->end;
    }
    to->last = s->last;
    to->begun = s->begun;
    to->failed = s->failed;
    to->record = s->begun ? peet_sim_linemap_get(&to->records, s->last >> PEET_SIM_WIDEST_SHIFT) : NULL;
    return to;
}
