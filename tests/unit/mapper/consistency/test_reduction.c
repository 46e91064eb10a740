/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Exploration leaves out nothing: for the litmus table and for random small programs (loads, stores, locked operations,
 * fences, C11 orders), under each of the module's models, the executions that the search makes end in the same outcomes
 * as all steps from all states, made without any reduction (litmus_reach()).  Arguments: the first random program and
 * how many, in place of the few of a quick test.
 */
#include "consistency/search.h"
#include "run_suite.h"
#include "walk.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EXECUTIONS_MOST = 4000000, NORMAL_DEPTH = 16 };

static unsigned first_program = 1, programs = 150;
static int verbose;

static void perform(void *arg, uint64_t address, uint64_t n)
{
    peet__footprint_add(arg, address, n, PEET_VIEW_ALL, PEET_DEPENDS_WRITE);
}

static void load(void *arg, unsigned processor, uint64_t address, uint64_t n)
{
    peet__footprint_add(arg, address, n, processor + 1, PEET_DEPENDS_READ);
}

static void depends(void *arg, uint64_t first, uint64_t n, unsigned how)
{
    peet__footprint_add(arg, PEET_TOKEN_MODEL | first, n, PEET_VIEW_ALL, how);
}

/** What can happen next, as the explorer lists it. */
static unsigned list(const struct walk_state *s, struct peet_option *out)
{
    struct peet_move moves[WALK_MOVES];
    unsigned n = 0, nmoves = walk_moves(s, moves);

    for (unsigned p = 0; p < (unsigned)s->test->nthreads; p++)
        if (walk_ready(s, p))
            out[n++] = (struct peet_option){.id = p, .hw = p};
    for (unsigned i = 0; i < nmoves; i++)
        out[n++] = (struct peet_option){
            .id = 1ull << 63 | (uint64_t)moves[i].kind << 60 | (uint64_t)moves[i].processor << 48 | moves[i].id,
            .hw = moves[i].processor,
            .is_move = 1,
            .move = moves[i]};
    return n;
}

static void execute(const struct litmus_test *t, enum litmus_model model, unsigned depth, struct peet_search *search,
    struct litmus_set *set)
{
    const struct peet_map_chooser *chooser = peet_search_chooser(search);
    struct peet_footprint footprint;
    const struct walk_hooks hooks = {perform, load, depends, &footprint};
    struct peet_option options[PEET_OPTIONS_MOST];
    struct walk_state s;
    unsigned n;

    walk_begin(&s, t, model, depth);
    s.hooks = &hooks;
    while ((n = list(&s, options)) != 0) {
        int choice = chooser->choose(chooser->arg, options, n);

        if (choice < 0)
            break;
        footprint.n = footprint.all = 0;
        if (options[choice].is_move) {
            peet__footprint_move(&footprint, &options[choice].move);
            walk_move(&s, &options[choice].move);
        } else {
            walk_step(&s, options[choice].hw);
        }
        CU_ASSERT_FATAL(!footprint.all);
        chooser->done(chooser->arg, &footprint);
    }
    if (!n)
        CU_ASSERT_FATAL(walk_over(&s, set));
    walk_end(&s);
}

/** Returns: executions */
static uint64_t compare(const struct litmus_test *t, enum litmus_model model, unsigned depth)
{
    struct peet_search *search = peet_search_new(PEET_SEARCH_ALL, 1, 1000);
    struct litmus_set got = {0}, want = {0};
    uint64_t runs = 0, blocked = 0;
    int more;

    CU_ASSERT_PTR_NOT_NULL_FATAL(search);
    litmus_reach(t, model, depth, &want);
    do {
        peet_search_begin(search);
        execute(t, model, depth, search, &got);
        CU_ASSERT_FALSE_FATAL(peet_search_mismatch(search));
        blocked += (uint64_t)peet_search_abandoned(search);
        more = peet_search_end(search);
    } while (++runs < EXECUTIONS_MOST && more);
    CU_ASSERT_FALSE(more);
    CU_ASSERT_FALSE(peet_search_crowded(search));
    if (verbose || got.n != want.n)
        printf("%s under %s, depth %u: %zu outcomes of %zu, %llu executions, %llu of them redundant\n", t->name,
            litmus_models[model], depth, got.n, want.n, (unsigned long long)runs, (unsigned long long)blocked);
    CU_ASSERT_EQUAL(got.n, want.n);
    for (size_t i = 0; i < got.n; i++)
        CU_ASSERT(litmus_holds(&want, got.texts[i]));
    litmus_free(&got);
    litmus_free(&want);
    peet_search_free(search);
    return runs;
}

/** Few enough states for a quick test? */
static int small(const struct litmus_test *t)
{
    int ops = 0;

    for (int p = 0; p < t->nthreads; p++)
        ops += t->nops[p];
    return t->nthreads < 4 && ops <= (t->nthreads == 2 ? 6 : 5);
}

static void random_programs(void)
{
    uint64_t runs[LITMUS_MODELS] = {0};
    unsigned made = 0;

    for (unsigned seed = first_program; made < programs; seed++) {
        struct litmus_test t;

        litmus_random(&t, seed);
        if (!small(&t))
            continue;
        made++;
        for (int m = 0; m < LITMUS_MODELS; m++)
            runs[m] += compare(&t, (enum litmus_model)m, seed % 8 ? NORMAL_DEPTH : 1 + seed / 8 % 2);
    }
    for (int m = 0; m < LITMUS_MODELS; m++)
        printf("%s %llu ", litmus_models[m], (unsigned long long)runs[m]);
    printf("executions ");
}

static struct litmus_test tests[TESTS_MOST];

static void literature(void)
{
    const int n = litmus_read(LITMUS_TABLE, tests);

    for (int k = 0; k < n; k++)
        for (int m = 0; m < LITMUS_MODELS; m++)
            if (small(&tests[k]))
                compare(&tests[k], (enum litmus_model)m, NORMAL_DEPTH);
}

int main(int argc, char **argv)
{
    CU_TestInfo tests[] = {{"literature", literature}, {"random_programs", random_programs}, CU_TEST_INFO_NULL};

    if (argc > 2) {
        first_program = (unsigned)atoi(argv[1]);
        programs = (unsigned)atoi(argv[2]);
        verbose = argc > 3;
    }
    return run_suite("reduction", tests);
}
