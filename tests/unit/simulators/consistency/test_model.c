/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Store buffers and queues, walked through all their states over the litmus table: under sc, tso and pso they reach
 * exactly what the abstract machines reach, under pc, wo and rc nothing that the axioms forbid and everything that the
 * literature says is seen.  Then parts of words, buffers that are full, and the policies of a run.
 */
#include "model.h"
#include "run_suite.h"
#include "walk.h"

#include <stdio.h>
#include <string.h>

/* ------------------------------------------------------------------------------------------------- a world of views */

struct world {
    struct peet_views views;
    uint8_t memory[4][64]; /* view 0 is main memory */
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
    w->views = (struct peet_views){.abi = PEET_CONSISTENCY_ABI,
        .struct_size = sizeof w->views,
        .processors = processors,
        .exploring = (uint32_t)exploring,
        .read = view_read,
        .perform = view_perform,
        .commit = view_commit,
        .refresh = view_refresh,
        .host = w};
}

static void put(struct world *w, struct model *m, unsigned p, uint64_t address, const void *bytes, uint32_t n,
    uint32_t flags)
{
    struct peet_store store = {address, n, flags, bytes};

    memcpy(w->memory[p + 1] + address, bytes, n);
    CU_ASSERT_EQUAL(model_store(m, p, &store, 0), 0);
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
        struct litmus_set got = {0}, want = {0};
        char verdict[8];
        int found = 0;

        if (!small(&tests[k], kind))
            continue;
        litmus_reach(&tests[k], (enum litmus_model)kind, 16, &got);
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

static void sc(void)
{
    compare(LITMUS_SC);
}
static void tso(void)
{
    compare(LITMUS_TSO);
}
static void pso(void)
{
    compare(LITMUS_PSO);
}
static void pc(void)
{
    compare(LITMUS_PC);
}
static void wo(void)
{
    compare(LITMUS_WO);
}
static void rc(void)
{
    compare(LITMUS_RC);
}

/* ------------------------------------------------------------------------------------------------- smaller matters */

/** Stores of 8 bytes over others of 2: each view is at any time what the bytes' own orders make of it. */
static void parts_of_words(void)
{
    const struct model_config config = {.kind = MODEL_TSO, .depth = 8};
    struct world w;
    struct model *m;
    struct peet_move moves[4];
    uint8_t word[8] = {1, 2, 3, 4, 5, 6, 7, 8}, half[2] = {21, 22}, want[8] = {1, 2, 21, 22, 5, 6, 7, 8};

    world_init(&w, 2, 1);
    m = model_new(&config, &w.views);
    put(&w, m, 0, 10, half, 2, 0); /* pending in the buffer of 0 ... */
    put(&w, m, 1, 8, word, 8, 0);
    CU_ASSERT_EQUAL(model_moves(m, moves, 4), 2);
    model_move(m, &moves[1]); /* ... hides these two bytes of 1's word from 0 */
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
    const struct model_config config = {.kind = MODEL_RC, .depth = 8};
    struct world w;
    struct model *m;
    struct peet_move moves[8];
    uint8_t one[4] = {1}, two[4] = {2};

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
    const struct model_config config = {.kind = MODEL_TSO, .depth = 2};
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
    struct model_config config = {
        .kind = MODEL_PC, .depth = 100, .drain = DRAIN_TIMED, .delay_cycles = 10, .odds = 2, .seed = 7};
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

    /* lazy, but not for ever: everybody sees the store of 0 at 1000, however far its clock is */
    config.visible_cycles = 1000;
    world_init(&w, 2, 0);
    m = model_new(&config, &w.views);
    put(&w, m, 0, 0, &one, 1, 0);
    for (uint64_t now = 0; now < 800; now += 20)
        model_step(m, 1, now);
    CU_ASSERT_EQUAL(w.memory[0][0], 0);
    for (uint64_t now = 800; now <= 1000; now += 20)
        model_step(m, 1, now);
    CU_ASSERT_EQUAL(w.memory[0][0], 1);
    CU_ASSERT_EQUAL(w.memory[2][0], 1);
    CU_ASSERT_EQUAL(model_statistics(m)->overdue, 2);
    config.visible_cycles = 0;
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
    CU_TestInfo own[] = {{"sc", sc}, {"tso", tso}, {"pso", pso}, {"pc", pc}, {"wo", wo}, {"rc", rc},
        {"parts_of_words", parts_of_words}, {"never_backwards", never_backwards}, {"full_buffer", full_buffer},
        {"policies", policies}, CU_TEST_INFO_NULL};

    ntests = litmus_read(LITMUS_TABLE, tests);
    return run_suite("consistency model", own);
}
