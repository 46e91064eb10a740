/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Store buffers and queues, walked through all their states over the litmus table: under sc, tso and pso they reach exactly what the
 * abstract machines reach, under pc, wo and rc nothing that the axioms forbid and everything that the literature says is seen.  Then
 * parts of words, buffers that are full, and the policies of a run.
 */
#include "model.c" /* states are copied and compared: the test needs to see them whole */
#include "table.h"

#include <CUnit/Basic.h>
#include <stdio.h>

enum { STRIDE = 64, STATE_BYTES = 4096 };

/* ------------------------------------------------------------------------------------------------- a world of views */

struct world {
    struct peet_views views;
    uint8_t memory[THREADS_MOST + 1][LOCATIONS * STRIDE]; /* view 0 is main memory */
};

static void view_read(const struct peet_views *v, unsigned view, uint64_t address, void *bytes, size_t n)
{
    memcpy(bytes, ((struct world *)v->host)->memory[view] + address, n);
}

static void view_perform(const struct peet_views *v, uint64_t to, uint64_t address, const void *bytes, size_t n)
{
    for (unsigned view = 0; view <= v->processors; view++)
        if (to >> view & 1)
            memcpy(((struct world *)v->host)->memory[view] + address, bytes, n);
}

static size_t view_commit(const struct peet_views *v, unsigned p, uint64_t to)
{
    (void)v;
    (void)p;
    (void)to;
    return 0;
}

static void view_refresh(const struct peet_views *v, unsigned p)
{
    (void)v;
    (void)p;
}

static void world_init(struct world *w, unsigned processors, int exploring)
{
    memset(w, 0, sizeof *w);
    w->views = (struct peet_views){ PEET_CONSISTENCY_ABI, sizeof w->views, processors, (uint32_t)exploring, view_read, view_perform,
        view_commit, view_refresh, w };
}

static void put(struct world *w, struct model *m, unsigned p, uint64_t address, const void *bytes, uint32_t n, uint32_t flags)
{
    struct peet_store store = { address, n, flags, bytes };

    memcpy(w->memory[p + 1] + address, bytes, n);
    CU_ASSERT_EQUAL(model_store(m, p, &store, 0), 0);
}

/* ------------------------------------------------------------------------------------------------------- the walk */

struct state {
    struct world world;
    struct model *model;
    int pc[THREADS_MOST], regs[REGISTERS_MOST];
};

struct walk {
    const struct litmus_test *t;
    struct litmus_set *set;
    unsigned char (*seen)[STATE_BYTES];
    size_t nseen, room, *table;
};

static struct model *copy(const struct model *from, const struct peet_views *views)
{
    size_t bytes = sizeof *from + views->processors * sizeof *from->processors;
    struct model *m = malloc(bytes);

    memcpy(m, from, bytes);
    m->views = views;
    for (unsigned p = 0; p < views->processors; p++)
        for (int side = 0; side < 2; side++) {
            struct line *line = side ? &m->processors[p].in : &m->processors[p].out;
            struct entry *entries = line->entries;

            if (!line->room)
                continue;
            line->entries = malloc(line->room * sizeof *entries);
            memcpy(line->entries, entries, line->n * sizeof *entries);
        }
    return m;
}

static void describe(const struct walk *w, const struct state *s, unsigned char *out)
{
    unsigned char *at = out;

    memset(out, 0, STATE_BYTES);
    for (int p = 0; p < w->t->nthreads; p++)
        *at++ = (unsigned char)s->pc[p];
    for (int r = 0; r < w->t->nregs; r++)
        *at++ = (unsigned char)s->regs[r];
    for (int v = 0; v <= w->t->nthreads; v++)
        for (int l = 0; l < LOCATIONS; l++)
            *at++ = s->world.memory[v][l * STRIDE];
    for (int p = 0; p < w->t->nthreads; p++)
        for (int side = 0; side < 2; side++) {
            const struct line *line = side ? &s->model->processors[p].in : &s->model->processors[p].out;

            *at++ = (unsigned char)line->n;
            for (uint32_t i = 0; i < line->n; i++) {
                const struct entry *e = &line->entries[i];

                *at++ = (unsigned char)(e->address / STRIDE);
                *at++ = e->bytes[0];
                *at++ = (unsigned char)e->id;
                *at++ = (unsigned char)e->from;
                *at++ = (unsigned char)e->fences;
                *at++ = (unsigned char)e->alive;
            }
        }
    CU_ASSERT_FATAL(at - out <= STATE_BYTES);
}

static int note(struct walk *w, const unsigned char *state)
{
    size_t at, h = 1469598103934665603u;

    if (2 * (w->nseen + 1) > w->room) {
        w->room = w->room ? 2 * w->room : 4096;
        w->seen = realloc(w->seen, w->room / 2 * sizeof *w->seen);
        free(w->table);
        w->table = calloc(w->room, sizeof *w->table);
        for (size_t i = 0; i < w->nseen; i++) {
            size_t k = 1469598103934665603u;

            for (size_t b = 0; b < 256; b++)
                k = (k ^ w->seen[i][b]) * 1099511628211u;
            for (at = k % w->room; w->table[at]; at = (at + 1) % w->room)
                ;
            w->table[at] = i + 1;
        }
    }
    for (size_t b = 0; b < 256; b++)
        h = (h ^ state[b]) * 1099511628211u;
    for (at = h % w->room; w->table[at]; at = (at + 1) % w->room)
        if (!memcmp(w->seen[w->table[at] - 1], state, STATE_BYTES))
            return 0;
    memcpy(w->seen[w->nseen], state, STATE_BYTES);
    w->table[at] = ++w->nseen;
    return 1;
}

static unsigned ordering_of(const struct litmus_op *o)
{
    if (o->kind == OP_MFENCE || litmus_locked(o) || o->order == 's')
        return PEET_ORDERING_FULL;
    if (o->kind == OP_SFENCE)
        return PEET_ORDERING_STORES;
    return o->order == 'a' ? PEET_ORDERING_ACQUIRE : o->order == 'r' ? PEET_ORDERING_BEFORE_STORE : 0;
}

static void execute(struct state *s, const struct litmus_op *o, unsigned p)
{
    uint8_t *own = s->world.memory[p + 1] + o->location * STRIDE, bytes[4] = { 0 };
    unsigned ordering = ordering_of(o);

    s->pc[p]++;
    if (ordering)
        model_order(s->model, p, ordering, 0);
    if (o->reg >= 0)
        s->regs[o->reg] = own[0];
    if (!litmus_writes(o))
        return;
    bytes[0] = (uint8_t)(o->kind == OP_ADD ? own[0] + o->value : o->value);
    put(&s->world, s->model, p, (uint64_t)o->location * STRIDE, bytes, 4,
        (litmus_locked(o) ? PEET_STORE_LOCKED : 0) | (o->order == 'r' ? PEET_STORE_RELEASE : 0));
}

static void search(struct walk *w, const struct state *s)
{
    struct peet_move moves[64];
    unsigned char text[STATE_BYTES];
    unsigned n = model_moves(s->model, moves, 64);
    int more = n != 0;

    describe(w, s, text);
    if (!note(w, text))
        return;
    CU_ASSERT_FATAL(n <= 64);
    for (int p = 0; p < w->t->nthreads + (int)n; p++) {
        struct state next = *s;
        const struct litmus_op *o = p < w->t->nthreads ? &w->t->ops[p][s->pc[p]] : NULL;

        if (o && s->pc[p] == w->t->nops[p])
            continue;
        more = 1;
        if (o && ordering_of(o) && model_waits(s->model, (unsigned)p, ordering_of(o)))
            continue;
        next.world.views.host = &next.world;
        next.model = copy(s->model, &next.world.views);
        if (o)
            execute(&next, o, (unsigned)p);
        else
            model_move(next.model, &moves[p - w->t->nthreads]);
        search(w, &next);
        model_free(next.model);
    }
    if (!more) {
        int memory[LOCATIONS];

        for (int l = 0; l < LOCATIONS; l++)
            memory[l] = s->world.memory[0][l * STRIDE];
        for (int v = 1; v <= w->t->nthreads; v++) /* in the end all see the same */
            CU_ASSERT_FATAL(!memcmp(s->world.memory[v], s->world.memory[0], sizeof s->world.memory[0]));
        litmus_add(w->set, w->t, s->regs, memory);
    }
}

static void reach(const struct litmus_test *t, unsigned kind, struct litmus_set *set)
{
    const struct model_config config = { .kind = (enum model_kind)kind, .depth = 16 };
    struct walk w = { .t = t, .set = set };
    struct state first = { .model = NULL };

    world_init(&first.world, (unsigned)t->nthreads, 1);
    first.model = model_new(&config, &first.world.views);
    search(&w, &first);
    model_free(first.model);
    free(w.seen);
    free(w.table);
}

static struct litmus_test tests[TESTS_MOST];
static int ntests;

/** Is the walk of this one small enough for a quick test?  Queues in front of four processors make very many states. */
static int small(const struct litmus_test *t, unsigned kind)
{
    int ops = 0;

    for (int p = 0; p < t->nthreads; p++)
        ops += t->nops[p];
    return kind <= LITMUS_PSO || t->nthreads < 4 || ops <= 6;
}

static void compare(unsigned kind)
{
    for (int k = 0; k < ntests; k++) {
        struct litmus_set got = { 0 }, want = { 0 };
        char verdict[8];
        int found = 0;

        if (!small(&tests[k], kind))
            continue;
        reach(&tests[k], kind, &got);
        (kind <= LITMUS_PSO ? litmus_machine : litmus_axioms)(&tests[k], kind, &want);
        for (size_t i = 0; i < got.n; i++) {
            if (!litmus_holds(&want, got.texts[i])) {
                printf("%s: %s reaches '%s', which is forbidden\n", tests[k].name, litmus_models[kind], got.texts[i]);
                CU_FAIL("forbidden");
            }
            found |= litmus_meets(&tests[k], got.texts[i]);
        }
        if (kind <= LITMUS_PSO && got.n != want.n) {
            printf("%s: %s reaches %zu outcomes of %zu\n", tests[k].name, litmus_models[kind], got.n, want.n);
            CU_FAIL("missing");
        }
        sprintf(verdict, "%s+", litmus_models[kind]);
        if (!found && strstr(tests[k].verdicts, verdict)) {
            printf("%s: %s does not reach '%s'\n", tests[k].name, litmus_models[kind], tests[k].condition);
            CU_FAIL("not reached");
        }
        litmus_free(&got);
        litmus_free(&want);
    }
}

static void sc(void) { compare(LITMUS_SC); }
static void tso(void) { compare(LITMUS_TSO); }
static void pso(void) { compare(LITMUS_PSO); }
static void pc(void) { compare(LITMUS_PC); }
static void wo(void) { compare(LITMUS_WO); }
static void rc(void) { compare(LITMUS_RC); }

/* ------------------------------------------------------------------------------------------------- smaller matters */

/** Stores of 8 bytes over others of 2: each view is at any time what the bytes' own orders make of it. */
static void parts_of_words(void)
{
    const struct model_config config = { .kind = MODEL_TSO, .depth = 8 };
    struct world w;
    struct model *m;
    struct peet_move moves[4];
    uint8_t word[8] = { 1, 2, 3, 4, 5, 6, 7, 8 }, half[2] = { 21, 22 }, want[8] = { 1, 2, 21, 22, 5, 6, 7, 8 };

    world_init(&w, 2, 1);
    m = model_new(&config, &w.views);
    put(&w, m, 0, 10, half, 2, 0);  /* pending in the buffer of 0 ... */
    put(&w, m, 1, 8, word, 8, 0);
    CU_ASSERT_EQUAL(model_moves(m, moves, 4), 2);
    model_move(m, &moves[1]);       /* ... hides these two bytes of 1's word from 0 */
    CU_ASSERT(!memcmp(w.memory[1] + 8, want, 8));
    CU_ASSERT(!memcmp(w.memory[2] + 8, word, 8));
    CU_ASSERT(!memcmp(w.memory[0] + 8, word, 8));
    model_move(m, &moves[0]);
    for (int v = 0; v < 3; v++)
        CU_ASSERT(!memcmp(w.memory[v] + 8, want, 8));
    CU_ASSERT_EQUAL(model_moves(m, moves, 4), 0);
    model_free(m);
}

/** A processor that has seen a later store does not see an earlier one to the same bytes afterwards. */
static void never_backwards(void)
{
    const struct model_config config = { .kind = MODEL_RC, .depth = 8 };
    struct world w;
    struct model *m;
    struct peet_move moves[8];
    uint8_t one[4] = { 1 }, two[4] = { 2 };

    world_init(&w, 2, 1);
    m = model_new(&config, &w.views);
    put(&w, m, 0, 0, one, 4, 0);
    CU_ASSERT_EQUAL(model_moves(m, moves, 8), 1);
    model_move(m, &moves[0]); /* in main memory; 1 has not seen it */
    CU_ASSERT_EQUAL(w.memory[2][0], 0);
    put(&w, m, 1, 0, two, 4, PEET_STORE_LOCKED);
    while (model_moves(m, moves, 8))
        model_move(m, &moves[0]);
    for (int v = 0; v < 3; v++)
        CU_ASSERT_EQUAL(w.memory[v][0], 2);
    CU_ASSERT(model_statistics(m)->hidden_bytes >= 4);
    model_free(m);
}

static void full_buffer(void)
{
    const struct model_config config = { .kind = MODEL_TSO, .depth = 2 };
    struct world w;
    struct model *m;

    world_init(&w, 1, 1);
    m = model_new(&config, &w.views);
    for (uint8_t i = 1; i <= 5; i++)
        put(&w, m, 0, i, &i, 1, 0);
    CU_ASSERT_EQUAL(model_statistics(m)->full, 3);
    CU_ASSERT_EQUAL(model_statistics(m)->deepest, 2);
    CU_ASSERT_EQUAL(w.memory[0][3], 3);
    CU_ASSERT_EQUAL(w.memory[0][4], 0);
    CU_ASSERT(model_waits(m, 0, PEET_ORDERING_FULL));
    model_order(m, 0, PEET_ORDERING_FULL, 0);
    CU_ASSERT_EQUAL(w.memory[0][5], 5);
    CU_ASSERT(!model_waits(m, 0, PEET_ORDERING_FULL));
    model_free(m);
}

static void policies(void)
{
    struct model_config config = { .kind = MODEL_PC, .depth = 100, .drain = DRAIN_TIMED, .delay_cycles = 10, .odds = 2, .seed = 7 };
    struct world w;
    struct model *m;
    uint8_t one = 1;
    int steps = 0;

    world_init(&w, 2, 0);
    m = model_new(&config, &w.views);
    put(&w, m, 0, 0, &one, 1, 0);
    model_step(m, 0, 100); /* the memory system has done it at 100: committed at 110, seen at 120 */
    model_step(m, 1, 109);
    CU_ASSERT_EQUAL(w.memory[0][0], 0);
    model_step(m, 1, 110);
    CU_ASSERT_EQUAL(w.memory[0][0], 1);
    CU_ASSERT_EQUAL(w.memory[2][0], 0);
    model_step(m, 1, 120);
    CU_ASSERT_EQUAL(w.memory[2][0], 1);
    model_free(m);

    config.drain = DRAIN_LAZY;
    world_init(&w, 2, 0);
    m = model_new(&config, &w.views);
    put(&w, m, 0, 0, &one, 1, 0);
    for (int i = 0; i < 1000; i++)
        model_step(m, 1, (uint64_t)i);
    CU_ASSERT_EQUAL(w.memory[0][0], 0);
    model_free(m);

    config.drain = DRAIN_EAGER;
    world_init(&w, 2, 0);
    m = model_new(&config, &w.views);
    put(&w, m, 0, 0, &one, 1, 0);
    CU_ASSERT_EQUAL(w.memory[0][0], 1);
    CU_ASSERT_EQUAL(w.memory[2][0], 1);
    model_free(m);

    config.drain = DRAIN_RANDOM;
    world_init(&w, 2, 0);
    m = model_new(&config, &w.views);
    put(&w, m, 0, 0, &one, 1, 0);
    while (!w.memory[2][0] && steps++ < 1000)
        model_step(m, 1, 0);
    CU_ASSERT(steps > 0 && steps < 1000);
    model_free(m);
}

int main(void)
{
    CU_pSuite suite;
    unsigned failures;

    ntests = litmus_read(LITMUS_TABLE, tests);
    if (CU_initialize_registry() != CUE_SUCCESS)
        return CU_get_error();
    suite = CU_add_suite("consistency model", NULL, NULL);
    CU_ADD_TEST(suite, sc);
    CU_ADD_TEST(suite, tso);
    CU_ADD_TEST(suite, pso);
    CU_ADD_TEST(suite, pc);
    CU_ADD_TEST(suite, wo);
    CU_ADD_TEST(suite, rc);
    CU_ADD_TEST(suite, parts_of_words);
    CU_ADD_TEST(suite, never_backwards);
    CU_ADD_TEST(suite, full_buffer);
    CU_ADD_TEST(suite, policies);
    CU_basic_set_mode(CU_BRM_VERBOSE);
    CU_basic_run_tests();
    failures = CU_get_number_of_failures();
    CU_cleanup_registry();
    return failures != 0;
}
