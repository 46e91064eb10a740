/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Predictors on branches whose mispredictions can be said in advance: loops, patterns of a known period,
 * correlated branches, coins, call chains, and tables of jumps.
 */
#include "common/branch.h"
#include "common/random.h"
#include "run_suite.h"

static const struct peet_sim_branch_config usual = {
    .table_bits = 12,
    .history_bits = 12,
    .btb_sets = 128,
    .btb_ways = 4,
    .return_entries = 16,
    .indirect_bits = 10,
};

static struct peet_sim_branch make(enum peet_sim_direction direction, uint32_t history)
{
    struct peet_sim_branch_config config = usual;
    struct peet_sim_branch b;

    config.direction = direction;
    config.history_bits = history;
    CU_ASSERT_FATAL(!peet_sim_branch_init(&b, &config));
    return b;
}

/* Mispredictions of the second half of `rounds` times a pattern. */
static uint64_t pattern(struct peet_sim_branch *b, const uint8_t *taken, unsigned period, unsigned rounds)
{
    uint64_t half = 0;

    for (unsigned r = 0; r < rounds; r++) {
        if (r == rounds / 2)
            half = b->stats.conditional_wrong;
        for (unsigned i = 0; i < period; i++)
            peet_sim_branch_conditional(b, 0x400123, taken[i], 0x400200);
    }
    return b->stats.conditional_wrong - half;
}

/* A loop of n turns: two-bit counters are wrong once a loop, at its end, and never at its beginning. */
static void test_bimodal(void)
{
    struct peet_sim_branch b = make(PEET_SIM_BIMODAL, 12);
    uint8_t loop[20];

    for (int i = 0; i < 20; i++)
        loop[i] = i < 19;
    CU_ASSERT_EQUAL(pattern(&b, loop, 20, 100), 50);
    peet_sim_branch_fini(&b);

    /* taken and not in turn: from a weak counter it is always wrong, or always half */
    b = make(PEET_SIM_BIMODAL, 12);
    uint8_t alternate[2] = {1, 0};
    CU_ASSERT_EQUAL(pattern(&b, alternate, 2, 100), 100);
    peet_sim_branch_fini(&b);
}

/* With as much history as the loop has turns, its end is known. */
static void test_gshare(void)
{
    struct peet_sim_branch b = make(PEET_SIM_GSHARE, 12);
    uint8_t loop[24];

    for (int i = 0; i < 24; i++)
        loop[i] = i % 12 < 11;
    CU_ASSERT_EQUAL(pattern(&b, loop, 12, 200), 0);
    peet_sim_branch_fini(&b);

    b = make(PEET_SIM_GSHARE, 8); /* too little history: wrong at every end, as twelve ones look like eight */
    CU_ASSERT_EQUAL(pattern(&b, loop, 12, 200), 100);
    peet_sim_branch_fini(&b);
}

/* A branch that repeats the one of d branches ago, the others being coins: only history of d sees it. */
static uint64_t correlated(enum peet_sim_direction direction, uint32_t history, unsigned d, unsigned rounds)
{
    struct peet_sim_branch b = make(direction, history);
    uint64_t seed = 5, wrong = 0;

    for (unsigned r = 0; r < rounds; r++) {
        int first = (int)(peet_sim_random(&seed) & 1);
        uint64_t before;

        peet_sim_branch_conditional(&b, 0x1034, first, 0x1100);
        for (unsigned i = 0; i < d; i++)
            peet_sim_branch_conditional(&b, 0x1200 + 16 * i, 1, 0x1300);
        before = b.stats.conditional_wrong;
        peet_sim_branch_conditional(&b, 0x25a8, first, 0x2100);
        if (r >= rounds / 2)
            wrong += b.stats.conditional_wrong - before;
    }
    peet_sim_branch_fini(&b);
    return wrong;
}

static void test_correlation(void)
{
    CU_ASSERT_EQUAL(correlated(PEET_SIM_GSHARE, 12, 6, 4000), 0);
    CU_ASSERT(correlated(PEET_SIM_BIMODAL, 12, 6, 4000) > 800); /* a coin: half of 2000 */
    CU_ASSERT(correlated(PEET_SIM_GSHARE, 12, 40, 4000) > 800); /* beyond its history */
    CU_ASSERT(correlated(PEET_SIM_TAGE, 128, 40, 4000) < 40);   /* within TAGE's */
    CU_ASSERT(correlated(PEET_SIM_TAGE, 16, 40, 4000) > 800);
}

/* A random pattern of a period that short history cannot tell apart, learnt by heart. */
static void test_tage(void)
{
    struct peet_sim_branch b = make(PEET_SIM_TAGE, 200);
    uint8_t taken[60];
    uint64_t seed = 3;

    for (int i = 0; i < 60; i++)
        taken[i] = (uint8_t)(peet_sim_random(&seed) & 1);
    CU_ASSERT(pattern(&b, taken, 60, 400) < 60); /* of 12,000 */
    peet_sim_branch_fini(&b);

    /* a coin cannot be learnt: about half, by any of them */
    for (int d = PEET_SIM_BIMODAL; d <= PEET_SIM_TAGE; d++) {
        b = make((enum peet_sim_direction)d, 32);
        for (int i = 0; i < 20000; i++)
            peet_sim_branch_conditional(&b, 0x500, (int)(peet_sim_random(&seed) >> 40 & 1), 0x600);
        CU_ASSERT(b.stats.conditional_wrong > 9000 && b.stats.conditional_wrong < 11000);
        peet_sim_branch_fini(&b);
    }
}

/* Loops that go round for longer than any history are predicted without looking; the same is said and learnt. */
static void test_steady(void)
{
    struct peet_sim_branch quick = make(PEET_SIM_TAGE, 100), slow = make(PEET_SIM_TAGE, 100);
    uint64_t seed = 9, different = 0, steady = 0;

    for (int loop = 0; loop < 400; loop++) {
        uint64_t pc = 0x400 + 16 * (peet_sim_random(&seed) % 5), turns = 1 + peet_sim_random(&seed) % 900;

        for (uint64_t i = 0; i < turns; i++) {
            int taken = i + 1 < turns, other = (loop & 1) && !(peet_sim_random(&seed) % 100);

            steady += quick.steady_pc == pc;
            slow.steady_pc = 0;
            different += peet_sim_branch_conditional(&quick, pc, taken, 0x100) !=
                peet_sim_branch_conditional(&slow, pc, taken, 0x100);
            slow.steady_pc = 0;
            if (other)
                different += peet_sim_branch_conditional(&quick, 0x990, (int)(i & 1), 0x100) !=
                    peet_sim_branch_conditional(&slow, 0x990, (int)(i & 1), 0x100);
        }
    }
    CU_ASSERT_EQUAL(different, 0);
    CU_ASSERT(steady > 10000);
    CU_ASSERT_EQUAL(quick.updates, slow.updates);
    CU_ASSERT_EQUAL(quick.random, slow.random);
    CU_ASSERT_EQUAL(memcmp(&quick.index_folds, &slow.index_folds, sizeof quick.index_folds), 0);
    for (int t = 0; t < PEET_SIM_TAGE_TABLES; t++)
        CU_ASSERT_EQUAL(memcmp(quick.tables[t], slow.tables[t],
                            (1u << (quick.config.table_bits - 2)) * sizeof *quick.tables[t]),
            0);
    peet_sim_branch_fini(&quick);
    peet_sim_branch_fini(&slow);
}

/* Calls nest to `depth` and return: the stack knows the newest 16. */
static void test_returns(void)
{
    for (unsigned depth = 1; depth <= 40; depth += 3) {
        struct peet_sim_branch b = make(PEET_SIM_ALWAYS, 0);
        unsigned right = 0;

        for (unsigned i = 0; i < depth; i++)
            peet_sim_branch_call(&b, 0x1000 + i);
        for (unsigned i = depth; i-- > 0;)
            right += peet_sim_branch_return(&b, 0x1000 + i) == PEET_SIM_BRANCH_RIGHT;
        CU_ASSERT_EQUAL(right, depth < 16 ? depth : 16);
        CU_ASSERT_EQUAL(b.stats.returns_wrong, depth - right);
        peet_sim_branch_fini(&b);
    }
}

/* A function that calls itself deeper than the stack has entries: what stood there before is where it returns to again. */
static void test_around(void)
{
    for (unsigned around = 0; around <= 1; around++)
        for (unsigned depth = 10; depth <= 50; depth += 20) {
            struct peet_sim_branch b = make(PEET_SIM_ALWAYS, 0);
            unsigned right = 0;

            b.config.returns_around = around;
            for (unsigned i = 0; i < depth; i++)
                peet_sim_branch_call(&b, 0x1000);
            for (unsigned i = 0; i < depth; i++)
                right += peet_sim_branch_return(&b, 0x1000) == PEET_SIM_BRANCH_RIGHT;
            CU_ASSERT_EQUAL(right, around || depth < 16 ? depth : 16);
            peet_sim_branch_fini(&b);
        }
}

/* Code that nobody tells of returns for its caller: only the newest open call, and only to where that returns. */
static void test_back(void)
{
    struct peet_sim_branch b = make(PEET_SIM_ALWAYS, 0);

    CU_ASSERT(!peet_sim_branch_back(&b, 0));
    peet_sim_branch_call(&b, 0x1000);
    peet_sim_branch_call(&b, 0x2000);
    CU_ASSERT(!peet_sim_branch_back(&b, 0x1000));
    CU_ASSERT(peet_sim_branch_back(&b, 0x2000));
    CU_ASSERT_EQUAL(peet_sim_branch_return(&b, 0x1000), PEET_SIM_BRANCH_RIGHT);
    CU_ASSERT(!peet_sim_branch_back(&b, 0x1000));
    CU_ASSERT_EQUAL(b.stats.returns, 1);
    peet_sim_branch_fini(&b);
}

/* More branches than the buffer holds, round and round with LRU: never known; as many as it holds: always. */
static void test_targets(void)
{
    for (unsigned n = 512; n <= 640; n += 128) {
        struct peet_sim_branch b = make(PEET_SIM_ALWAYS, 0);

        for (unsigned round = 0; round < 4; round++)
            for (unsigned i = 0; i < n; i++)
                peet_sim_branch_direct(&b, i, 0x9000 + i);
        CU_ASSERT_EQUAL(b.stats.target_missing, n == 512 ? 512u : 4 * n);
        peet_sim_branch_fini(&b);
    }
}

/* An interpreter's jump over a fixed program: known by its path; without one it would be wrong nearly always. */
static void test_indirect(void)
{
    static const uint8_t program[] = {0, 1, 2, 1, 3, 0, 2, 4, 1, 2};
    struct peet_sim_branch b = make(PEET_SIM_ALWAYS, 0);
    uint64_t half = 0;

    for (unsigned r = 0; r < 200; r++) {
        if (r == 100)
            half = b.stats.indirect_wrong;
        for (unsigned i = 0; i < sizeof program; i++)
            peet_sim_branch_indirect(&b, 0x700, 0x800 + 64u * program[i]);
    }
    CU_ASSERT_EQUAL(b.stats.indirect_wrong - half, 0);
    peet_sim_branch_fini(&b);
}

/* A random sequence of outcomes comes again and again; between them a branch that is always taken, which tells nothing
 * in every other bit of the history. */
static void test_sequence(void)
{
    enum { LONGEST = 2048 };
    uint64_t seed = 1;

    for (unsigned n = 256; n <= LONGEST; n *= 2) {
        struct peet_sim_branch b = make(PEET_SIM_TAGE, 128);
        uint8_t coin[LONGEST];
        uint64_t before = 0;

        for (unsigned i = 0; i < n; i++)
            coin[i] = peet_sim_random(&seed) >> 40 & 1;
        for (unsigned round = 0; round < 40; round++) {
            before = round == 30 ? b.stats.conditional_wrong : before;
            for (unsigned i = 0; i < n; i++) {
                peet_sim_branch_conditional(&b, 0x401237, coin[i], 0x401240);
                peet_sim_branch_conditional(&b, 0x401245, 1, 0x401230);
            }
        }
        CU_ASSERT(b.stats.conditional_wrong - before <= 10 * n / 50);
        peet_sim_branch_fini(&b);
    }
}

/* Targets that earlier outcomes tell of, and targets that only earlier targets tell of, by both kinds of history. */
static void test_outcomes(void)
{
    enum { N = 60, ROUNDS = 100 };
    uint8_t which[N];
    uint64_t seed = 5;

    for (unsigned i = 0; i < N; i++)
        which[i] = peet_sim_random(&seed) >> 40 & 1;
    for (unsigned outcomes = 0; outcomes <= 1; outcomes++)
        for (unsigned told = 0; told <= 1; told++) {
            struct peet_sim_branch b = make(PEET_SIM_TAGE, 128);
            uint64_t before = 0, wrong;

            b.config.indirect_outcomes = outcomes;
            for (unsigned round = 0; round < ROUNDS; round++)
                for (unsigned i = 0; i < N; i++) {
                    before = round == ROUNDS / 2 && i == 0 ? b.stats.indirect_wrong : before;
                    peet_sim_branch_conditional(&b, 0x4000, told && which[i], 0x4100);
                    peet_sim_branch_indirect(&b, 0x4200, 0x5000 + 64u * which[i]); /* alike in their low bits */
                    for (unsigned k = 0; k < 8; k++)
                        peet_sim_branch_direct(&b, 0x5000 + 64u * which[i] + 8 * k, 0x6000 + 4 * k);
                }
            wrong = b.stats.indirect_wrong - before;
            if (outcomes && !told)
                CU_ASSERT(wrong > ROUNDS / 2 * N / 3);
            if (outcomes && told)
                CU_ASSERT(wrong < ROUNDS / 2 * N / 8);
            peet_sim_branch_fini(&b);
        }
}

/* By outcomes: a target that the last outcome tells is foreseen though the outcomes before it never come again; what only the
 * last target tells is, if the lines of 64 bytes differ. */
static void test_lengths(void)
{
    enum { N = 20000 };

    for (unsigned apart = 16; apart <= 64; apart *= 4) {
        struct peet_sim_branch b = make(PEET_SIM_TAGE, 128);
        uint64_t seed = 9;

        b.config.indirect_outcomes = 1;
        for (unsigned i = 0; i < N; i++) {
            const unsigned which = (unsigned)(peet_sim_random(&seed) >> 40 & 1);

            peet_sim_branch_conditional(&b, 0x4000, (int)(peet_sim_random(&seed) >> 40 & 1), 0x4100);
            peet_sim_branch_conditional(&b, 0x4010, (int)which, 0x4100);
            peet_sim_branch_indirect(&b, 0x4200, 0x5000 + apart * which);
        }
        CU_ASSERT(b.stats.indirect_wrong < N / 20);
        peet_sim_branch_fini(&b);
        b = make(PEET_SIM_TAGE, 128);
        b.config.indirect_outcomes = 1;
        for (unsigned i = 0; i < N; i++) { /* four in turn, and outcomes that tell nothing */
            peet_sim_branch_conditional(&b, 0x4000, 1, 0x4100);
            peet_sim_branch_indirect(&b, 0x4200, 0x5000 + apart * (i % 4));
        }
        CU_ASSERT(apart == 64 ? b.stats.indirect_wrong < 100 : b.stats.indirect_wrong > N / 2);
        peet_sim_branch_fini(&b);
    }
}

/* The fast part has histories up to 16: a loop of 10 turns it foresees, the end of one of 30 it does not, and a random sequence of
 * more outcomes than it has entries only in half of the cases. A branch counts as late only if it is foreseen in the end. */
static void test_late(void)
{
    enum { LONGEST = 2048, ROUNDS = 200 };
    static const unsigned periods[] = {10, 30, 64, LONGEST};
    uint64_t seed = 3;

    for (unsigned k = 0; k < 4; k++) {
        struct peet_sim_branch_config config = usual;
        struct peet_sim_branch b;
        const unsigned n = periods[k];
        uint8_t taken[LONGEST];
        uint64_t late = 0, wrong = 0;

        for (unsigned i = 0; i < n; i++)
            taken[i] = k < 2 ? i + 1 < n : peet_sim_random(&seed) >> 40 & 1;
        config.direction = PEET_SIM_TAGE;
        config.table_bits = 14;
        config.history_bits = 128;
        config.fast_bits = 16;
        config.fast_entries = 256;
        CU_ASSERT_FATAL(!peet_sim_branch_init(&b, &config));
        for (unsigned round = 0; round < 2 * ROUNDS; round++) {
            if (round == ROUNDS) {
                late = b.stats.late;
                wrong = b.stats.conditional_wrong;
            }
            for (unsigned i = 0; i < n; i++) {
                const uint64_t before = b.stats.late;
                const enum peet_sim_branch_wrong said = peet_sim_branch_conditional(&b, 0x4010, taken[i], 0x4100);

                CU_ASSERT_EQUAL(b.stats.late - before, said == PEET_SIM_BRANCH_LATE);
            }
        }
        late = b.stats.late - late;
        wrong = b.stats.conditional_wrong - wrong;
        CU_ASSERT(wrong <= ROUNDS * n / 50);
        CU_ASSERT(late <= (k == 3 ? ROUNDS * n * 3 / 4 : k == 1 ? ROUNDS : ROUNDS * n / 50));
        CU_ASSERT(late >= (k == 3 ? ROUNDS * n / 4 : k == 1 ? ROUNDS : 0));
        peet_sim_branch_fini(&b);
        config.fast_bits = 0;
        CU_ASSERT_FATAL(!peet_sim_branch_init(&b, &config));
        CU_ASSERT(pattern(&b, taken, n, 2 * ROUNDS) <= ROUNDS * n / 50);
        CU_ASSERT_EQUAL(b.stats.late, 0);
        peet_sim_branch_fini(&b);
    }
}

/* A random outcome that repeats the one before the others: branches between the two that never are taken push it out of the
 * history, unless they leave no trace. Once they have been taken, they leave one. */
static void test_untaken(void)
{
    enum { N = 4000, BETWEEN = 40 };

    for (unsigned untaken_free = 0; untaken_free <= 1; untaken_free++)
        for (unsigned once = 0; once <= 1; once++) {
            struct peet_sim_branch_config config = usual;
            struct peet_sim_branch b;
            uint64_t seed = 5, wrong = 0;

            config.direction = PEET_SIM_TAGE;
            config.history_bits = 16;
            config.untaken_free = untaken_free;
            CU_ASSERT_FATAL(!peet_sim_branch_init(&b, &config));
            for (unsigned i = 0; once && i < BETWEEN; i++)
                CU_ASSERT_EQUAL(peet_sim_branch_conditional(&b, 0x5000 + 16 * i, 1, 0x6000), PEET_SIM_BRANCH_WRONG);
            for (unsigned k = 0; k < N; k++) {
                const int coin = peet_sim_random(&seed) >> 40 & 1;

                peet_sim_branch_conditional(&b, 0x4010, coin, 0x4100);
                for (unsigned i = 0; i < BETWEEN; i++)
                    peet_sim_branch_conditional(&b, 0x5000 + 16 * i, 0, 0x6000);
                wrong += peet_sim_branch_conditional(&b, 0x4510, coin, 0x4600) == PEET_SIM_BRANCH_WRONG;
            }
            CU_ASSERT(untaken_free && !once ? wrong < N / 20 : wrong > N / 4);
            peet_sim_branch_fini(&b);
        }
}

/* Mispredictions in the last of 30 rounds of a random sequence that comes again, with a loop's branch behind each outcome. */
static uint64_t unlearnt(uint32_t table_bits, uint32_t tables, unsigned period)
{
    struct peet_sim_branch_config config = usual;
    struct peet_sim_branch b;
    uint64_t before = 0;

    config.direction = PEET_SIM_TAGE;
    config.history_bits = 200;
    config.table_bits = table_bits;
    config.tables = tables;
    CU_ASSERT_FATAL(!peet_sim_branch_init(&b, &config));
    for (unsigned round = 0; round < 30; round++) {
        uint64_t seed = 77;

        before = b.stats.conditional_wrong;
        for (unsigned i = 0; i < period; i++) {
            peet_sim_branch_conditional(&b, 0x400123, (int)(peet_sim_random(&seed) >> 40 & 1), 0x400200);
            peet_sim_branch_conditional(&b, 0x400180, 1, 0x400100);
        }
    }
    before = b.stats.conditional_wrong - before;
    peet_sim_branch_fini(&b);
    return before;
}

/* Tagged tables of 2^(n-2) entries each: a sequence is learnt that needs three quarters of all entries, whether n is even or odd, and
 * one that needs twice as many is not. */
static void test_capacity(void)
{
    for (uint32_t bits = 10; bits <= 14; bits++)
        for (uint32_t tables = 4; tables <= 8; tables += 2) {
            const unsigned entries = tables << (bits - 2), most = tables < 8 ? 11 : 4; /* per cent */

            CU_ASSERT(unlearnt(bits, tables, entries / 4 * 3) < (uint64_t)entries * most / 100);
            CU_ASSERT(unlearnt(bits, tables, 2 * entries) > 2 * entries / 7);
        }
}

int main(void)
{
    CU_TestInfo tests[] = {{"bimodal", test_bimodal}, {"gshare", test_gshare},
        {"correlation at a distance", test_correlation}, {"TAGE", test_tage}, {"capacity", test_capacity},
        {"steady loops", test_steady}, {"lengths of histories", test_lengths}, {"returns", test_returns},
        {"around", test_around}, {"back", test_back}, {"targets", test_targets}, {"indirect jumps", test_indirect},
        {"sequence", test_sequence}, {"outcomes", test_outcomes}, {"late", test_late}, {"untaken", test_untaken},
        CU_TEST_INFO_NULL};

    return run_suite("toolkit: branch prediction", tests);
}
