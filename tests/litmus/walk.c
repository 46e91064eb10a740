/* SPDX-License-Identifier: Apache-2.0 */
/* See walk.h. */
#include "model.c" /* states are copied and compared: the walk needs to see them whole */
#include "walk.h"

#include <stdio.h>

enum { STATE_BYTES = 1024 };

/* ------------------------------------------------------------------------------------------------- a world of views */

static void view_read(const struct peet_views *v, unsigned view, uint64_t address, void *bytes, size_t n)
{
    memcpy(bytes, ((struct walk_state *)v->host)->memory[view] + address, n);
}

static void view_perform(const struct peet_views *v, uint64_t to, uint64_t address, const void *bytes, size_t n)
{
    struct walk_state *s = v->host;

    for (unsigned view = 0; view <= v->processors; view++)
        if (to >> view & 1)
            memcpy(s->memory[view] + address, bytes, n);
    if (s->hooks && !s->moving)
        s->hooks->perform(s->hooks->arg, address, n);
}

static void view_depends(const struct peet_views *v, uint64_t first, uint64_t n, unsigned how)
{
    const struct walk_state *s = v->host;

    if (s->hooks)
        s->hooks->depends(s->hooks->arg, first, n, how);
}

/* ------------------------------------------------------------------------------------------------------------ steps */

void walk_begin(struct walk_state *s, const struct litmus_test *t, enum litmus_model kind, unsigned depth)
{
    const struct model_config config = { .kind = (enum model_kind)kind, .depth = depth };

    memset(s, 0, sizeof *s);
    s->test = t;
    s->views = (struct peet_views){ .abi = PEET_CONSISTENCY_ABI, .struct_size = sizeof s->views, .processors = (uint32_t)t->nthreads, .exploring = 1,
        .read = view_read, .perform = view_perform, .depends = view_depends, .host = s };
    s->model = model_new(&config, &s->views);
    if (!s->model)
        abort();
}

void walk_copy(struct walk_state *out, const struct walk_state *from)
{
    const size_t bytes = sizeof *from->model + from->views.processors * sizeof *from->model->processors;

    *out = *from;
    out->views.host = out;
    out->model = malloc(bytes);
    if (!out->model)
        abort();
    memcpy(out->model, from->model, bytes);
    out->model->views = &out->views;
    for (unsigned p = 0; p < from->views.processors; p++)
        for (int side = 0; side < 2; side++) {
            struct line *line = side ? &out->model->processors[p].in : &out->model->processors[p].out;
            struct entry *entries = line->entries;

            if (!line->room)
                continue;
            line->entries = malloc(line->room * sizeof *entries);
            if (!line->entries)
                abort();
            memcpy(line->entries, entries, line->n * sizeof *entries);
        }
}

void walk_end(struct walk_state *s)
{
    model_free(s->model);
    s->model = NULL;
}

static unsigned ordering_of(const struct litmus_op *o)
{
    if (o->kind == OP_MFENCE || litmus_locked(o))
        return PEET_ORDERING_FULL;
    if (o->order == 's')
        return PEET_ORDERING_FULL | PEET_ORDERING_LOAD;
    if (o->kind == OP_SFENCE)
        return PEET_ORDERING_STORES;
    return o->order == 'a' ? PEET_ORDERING_ACQUIRE : o->order == 'r' ? PEET_ORDERING_BEFORE_STORE : 0;
}

int walk_ready(const struct walk_state *s, unsigned p)
{
    unsigned ordering;

    if (s->pc[p] == s->test->nops[p])
        return 0;
    ordering = ordering_of(&s->test->ops[p][s->pc[p]]);
    return !ordering || !model_waits(s->model, p, ordering);
}

void walk_step(struct walk_state *s, unsigned p)
{
    const struct litmus_op *o = &s->test->ops[p][s->pc[p]++];
    const uint64_t address = (uint64_t)o->location * WALK_STRIDE;
    uint8_t *own = s->memory[p + 1] + address, bytes[4] = { 0 };
    const struct peet_store store = { address, sizeof bytes,
        (litmus_locked(o) ? PEET_STORE_LOCKED : 0) | (o->order == 'r' ? PEET_STORE_RELEASE : 0), bytes };

    if (ordering_of(o))
        model_order(s->model, p, ordering_of(o), 0);
    if (o->reg >= 0)
        s->regs[o->reg] = own[0];
    if (s->hooks && (o->reg >= 0 || litmus_locked(o)))
        s->hooks->load(s->hooks->arg, p, address, sizeof bytes);
    if (!litmus_writes(o))
        return;
    bytes[0] = (uint8_t)(o->kind == OP_ADD ? own[0] + o->value : o->value);
    memcpy(own, bytes, sizeof bytes);
    if (model_store(s->model, p, &store, 0))
        abort();
}

unsigned walk_moves(const struct walk_state *s, struct peet_move out_moves[WALK_MOVES])
{
    unsigned n = model_moves(s->model, out_moves, WALK_MOVES);

    if (n > WALK_MOVES)
        abort();
    return n;
}

void walk_move(struct walk_state *s, const struct peet_move *move)
{
    s->moving = 1;
    model_move(s->model, move);
    s->moving = 0;
}

int walk_over(const struct walk_state *s, struct litmus_set *set)
{
    int memory[LOCATIONS];

    for (int p = 0; p < s->test->nthreads; p++)
        if (s->pc[p] < s->test->nops[p] || s->model->processors[p].out.n || s->model->processors[p].in.n)
            return 0;
    for (int l = 0; l < LOCATIONS; l++)
        memory[l] = s->memory[0][l * WALK_STRIDE];
    for (int v = 1; v <= s->test->nthreads; v++) /* in the end all see the same */
        if (memcmp(s->memory[v], s->memory[0], sizeof s->memory[0])) {
            fprintf(stderr, "%s: views differ in the end\n", s->test->name);
            abort();
        }
    litmus_add(set, s->test, s->regs, memory);
    return 1;
}

/* ------------------------------------------------------------------------------------------------------- all of them */

struct walk {
    struct litmus_set *set;
    unsigned char (*seen)[STATE_BYTES];
    size_t nseen, room, *table;
};

static void describe(const struct walk_state *s, unsigned char *out)
{
    const struct litmus_test *t = s->test;
    unsigned char *at = out;

    memset(out, 0, STATE_BYTES);
    for (int p = 0; p < t->nthreads; p++)
        *at++ = (unsigned char)s->pc[p];
    for (int r = 0; r < t->nregs; r++)
        *at++ = (unsigned char)s->regs[r];
    for (int v = 0; v <= t->nthreads; v++)
        for (int l = 0; l < LOCATIONS; l++)
            *at++ = s->memory[v][l * WALK_STRIDE];
    for (int p = 0; p < t->nthreads; p++)
        for (int side = 0; side < 2; side++) {
            const struct line *line = side ? &s->model->processors[p].in : &s->model->processors[p].out;

            *at++ = (unsigned char)line->n;
            for (uint32_t i = 0; i < line->n; i++) {
                const struct entry *e = &line->entries[i];

                if (at + 6 > out + STATE_BYTES)
                    abort();
                *at++ = (unsigned char)(e->address / WALK_STRIDE);
                *at++ = e->bytes[0];
                *at++ = (unsigned char)e->id;
                *at++ = (unsigned char)e->from;
                *at++ = (unsigned char)e->fences;
                *at++ = (unsigned char)e->alive;
            }
        }
}

static size_t hash(const unsigned char *state)
{
    size_t h = 1469598103934665603u;

    for (size_t b = 0; b < STATE_BYTES; b += 8) {
        uint64_t word;

        memcpy(&word, state + b, 8);
        h = (h ^ word) * 1099511628211u;
        h ^= h >> 29;
    }
    return h;
}

/** Returns: 1 if it is new */
static int note(struct walk *w, const unsigned char *state)
{
    size_t at;

    if (2 * (w->nseen + 1) > w->room) {
        w->room = w->room ? 2 * w->room : 4096;
        w->seen = realloc(w->seen, w->room / 2 * sizeof *w->seen);
        free(w->table);
        w->table = calloc(w->room, sizeof *w->table);
        if (!w->seen || !w->table)
            abort();
        for (size_t i = 0; i < w->nseen; i++) {
            for (at = hash(w->seen[i]) % w->room; w->table[at]; at = (at + 1) % w->room)
                ;
            w->table[at] = i + 1;
        }
    }
    for (at = hash(state) % w->room; w->table[at]; at = (at + 1) % w->room)
        if (!memcmp(w->seen[w->table[at] - 1], state, STATE_BYTES))
            return 0;
    memcpy(w->seen[w->nseen], state, STATE_BYTES);
    w->table[at] = ++w->nseen;
    return 1;
}

static void search(struct walk *w, const struct walk_state *s)
{
    const unsigned threads = (unsigned)s->test->nthreads;
    struct peet_move moves[WALK_MOVES];
    unsigned char text[STATE_BYTES];
    unsigned n;

    describe(s, text);
    if (!note(w, text) || walk_over(s, w->set))
        return;
    n = walk_moves(s, moves);
    for (unsigned p = 0; p < threads + n; p++) {
        struct walk_state next;

        if (p < threads && !walk_ready(s, p))
            continue;
        walk_copy(&next, s);
        if (p < threads)
            walk_step(&next, p);
        else
            walk_move(&next, &moves[p - threads]);
        search(w, &next);
        walk_end(&next);
    }
}

void litmus_reach(const struct litmus_test *t, enum litmus_model kind, unsigned depth, struct litmus_set *set)
{
    struct walk w = { .set = set };
    struct walk_state first;

    walk_begin(&first, t, kind, depth);
    search(&w, &first);
    walk_end(&first);
    free(w.seen);
    free(w.table);
}
