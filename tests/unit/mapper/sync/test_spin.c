/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What goes wrong and is told: misuse, deadlock, livelock; and lock models, under which waiters spin.
 */
#include "threads_script.h"

#include <CUnit/Basic.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define A(name) PEET_ABSTRACT_##name
#define U(x) ((uint64_t)(x))
#define NEVER PEET_NEVER

static const struct peet_map_config four = {.cores = 4, .spin_quantum_cycles = UINT64_C(1) << 40};

static void block(struct threads_script *s, unsigned program, unsigned cost)
{
    threads_add(s, program, THREADS_OP_BLOCK, 1, U(cost));
}

static void create(struct threads_script *s, unsigned program, unsigned other)
{
    threads_add(s, program, A(THREAD_CREATE), 6, U(other), U(0), U(0), U(0), U(0), U(0));
}

/* ---- misuse, deadlock, livelock */

static void diagnosis(void)
{
    struct threads_script s = {0};
    struct threads_result r;

    /* three threads in a circle */
    for (unsigned t = 1; t <= 3; t++) {
        create(&s, 0, t);
        threads_add(&s, t, A(MUTEX_LOCK), 3, U(t), U(0), NEVER);
        block(&s, t, 10);
        threads_add(&s, t, A(MUTEX_LOCK), 3, U(t % 3 + 1), U(0), NEVER);
    }
    threads_add(&s, 0, A(THREAD_JOIN), 2, U(2), NEVER);
    threads_run(&s, &four, 0, &r);
    CU_ASSERT_EQUAL(r.err, PEET_EDEADLOCK);
    CU_ASSERT_EQUAL(r.blocked, 4);
    CU_ASSERT_EQUAL(r.ncircle, 3);
    for (unsigned i = 0; i < 3; i++)
        CU_ASSERT_EQUAL(r.circle[(i + 1) % 3], r.circle[i] % 3 + 1);
    CU_ASSERT_PTR_NOT_NULL(strstr(r.first_wait, "the end of context 2"));
    CU_ASSERT_FALSE(r.livelock);
    threads_result_free(&r);
    threads_clear(&s);

    /* a mutex locked twice by its owner */
    threads_add(&s, 0, A(MUTEX_LOCK), 3, U(16), U(0), NEVER);
    threads_add(&s, 0, A(MUTEX_LOCK), 3, U(16), U(0), NEVER);
    threads_run(&s, &four, 0, &r);
    CU_ASSERT_EQUAL(r.err, PEET_EDEADLOCK);
    CU_ASSERT_PTR_NOT_NULL(strstr(r.first_wait, "which it holds itself"));
    CU_ASSERT_EQUAL(r.ncircle, 1);
    threads_result_free(&r);
    threads_clear(&s);

    /* what is not allowed: told, and answered as the C library answers */
    create(&s, 0, 1);
    block(&s, 0, 10);
    threads_add(&s, 0, A(MUTEX_UNLOCK), 2, U(16), U(PEET_MUTEX_NORMAL));
    threads_add(&s, 0, A(MUTEX_UNLOCK), 2, U(16), U(PEET_MUTEX_ERRORCHECK));
    threads_add(&s, 0, A(MUTEX_LOCK), 3, U(24), U(0), NEVER);
    threads_add(&s, 0, A(SYNC_DESTROY), 2, U(24), U(PEET_SYNC_MUTEX));
    threads_add(&s, 0, A(SYNC_DESTROY), 2, U(32), U(PEET_SYNC_COND));
    threads_add(&s, 0, A(COND_WAIT), 4, U(40), U(48), U(0), NEVER);
    threads_add(&s, 0, A(BARRIER_WAIT), 2, U(56), U(0));
    threads_add(&s, 1, A(MUTEX_LOCK), 3, U(16), U(0), NEVER);
    threads_add(&s, 1, A(MUTEX_LOCK), 3, U(64), U(0), NEVER);
    threads_add(&s, 1, A(COND_WAIT), 4, U(32), U(64), U(0), U(20));
    threads_run(&s, &four, 0, &r);
    CU_ASSERT_EQUAL(r.err, 0);
    CU_ASSERT_EQUAL(r.answers[0].values[1], 0);
    CU_ASSERT_EQUAL(r.answers[0].values[2], EPERM);
    CU_ASSERT_EQUAL(r.answers[0].values[4], EBUSY);
    CU_ASSERT_EQUAL(r.answers[0].values[5], EBUSY);
    CU_ASSERT_EQUAL(r.answers[0].values[6], EPERM);
    CU_ASSERT_EQUAL(r.answers[0].values[7], EINVAL);
    CU_ASSERT_EQUAL(r.answers[1].values[2], ETIMEDOUT);
    CU_ASSERT_EQUAL(r.reports, 5);
    CU_ASSERT_PTR_NOT_NULL(strstr(r.first_report,
        "cycle 10: context 0 unlocks mutex 0x10, which context 1 has locked"));
    threads_result_free(&r);
    threads_clear(&s);

    /* a thread that cannot be made */
    create(&s, 0, 17);
    threads_run(&s, &four, 0, &r);
    CU_ASSERT_EQUAL(r.err, 0);
    CU_ASSERT_EQUAL(r.answers[0].values[0], PEET_FAILED | EAGAIN);
    CU_ASSERT_EQUAL(r.reports, 1);
    threads_result_free(&r);
    threads_clear(&s);
}

static uint64_t stack_state;
static uint64_t context_state(void *self, uint32_t context)
{
    (void)self;
    (void)context;
    return stack_state++ ? stack_state : 0;
}

static void spinning(void)
{
    struct threads_script s = {0};
    struct threads_result r;
    struct peet_map_config config = {.cores = 1, .spin_quantum_cycles = 100};
    uint64_t first = 0;

    /* one spins, in rounds of two accesses, the other waits for it: for ever */
    create(&s, 0, 1);
    for (unsigned i = 0; i < 20000; i++) {
        threads_add(&s, 0, A(ATOMIC), 2, U(0x100 + i % 2 * 8), U(5));
        block(&s, 0, 2);
    }
    threads_add(&s, 1, A(THREAD_JOIN), 2, U(0), NEVER);
    threads_run(&s, &config, 0, &r);
    CU_ASSERT_EQUAL(r.err, PEET_EDEADLOCK);
    CU_ASSERT_TRUE(r.livelock);
    CU_ASSERT_EQUAL(r.blocked, 2);
    CU_ASSERT_TRUE(r.end < 60000); /* 2000 rounds, of which each 16th is disturbed */
    threads_result_free(&r);
    /* its stack changes: it counts */
    threads_hooks.state = context_state;
    threads_run(&s, &config, 0, &r);
    CU_ASSERT_EQUAL(r.err, 0);
    threads_result_free(&r);
    threads_hooks.state = NULL;
    threads_clear(&s);
    /* another one works: it is waited for, and gets the only processor, though first come is first served */
    create(&s, 0, 1);
    for (unsigned i = 0; i < 20000; i++) {
        threads_add(&s, 0, A(ATOMIC), 2, U(0x100), U(5));
        block(&s, 0, 2);
    }
    for (unsigned i = 0; i < 2000; i++)
        block(&s, 1, 20);
    threads_run(&s, &config, 0, &r);
    for (size_t i = 0; i < r.nlog && !first; i++)
        if (r.log[i].type == A(CONTEXT_START) && r.log[i].context == 1)
            first = r.log[i].now;
    CU_ASSERT_EQUAL(first, 100);
    threads_result_free(&r);
    threads_clear(&s);
}

/* ---- lock models */

static void lock_models(void)
{
    static const struct { /* references of one lock and unlock that nobody contests: modify, load, store */
        enum peet_lock_model model;
        unsigned modify, load, store;
    } alone[] = {
        {PEET_LOCK_TAS, 1, 0, 1}, {PEET_LOCK_TTAS, 1, 1, 1}, {PEET_LOCK_TICKET, 1, 0, 1}, {PEET_LOCK_MCS, 2, 1, 1}};
    struct threads_script s = {0};
    struct threads_result r;

    threads_hooks.modify_cycles = 11;
    threads_hooks.load_cycles = 3;
    threads_hooks.store_cycles = 5;
    for (unsigned m = 0; m < 4; m++) {
        struct peet_map_config config = {.cores = 8, .lock_model = alone[m].model};

        for (unsigned i = 0; i < 10; i++) {
            threads_add(&s, 0, A(MUTEX_LOCK), 3, U(8), U(0), NEVER);
            block(&s, 0, 10);
            threads_add(&s, 0, A(MUTEX_UNLOCK), 2, U(8), U(0));
        }
        threads_run(&s, &config, 0, &r);
        CU_ASSERT_EQUAL(r.err, 0);
        CU_ASSERT_EQUAL(threads_hooks.references[0], 10 * alone[m].modify);
        CU_ASSERT_EQUAL(threads_hooks.references[1], 10 * alone[m].load);
        CU_ASSERT_EQUAL(threads_hooks.references[2], 10 * alone[m].store);
        CU_ASSERT_EQUAL(r.end, 10 * (10 + 11 * alone[m].modify + 3 * alone[m].load + 5 * alone[m].store));
        threads_result_free(&r);
        threads_clear(&s);

        /* eight that contend, on eight processors and on three: one at a time, everybody in the end, and queues in
         * order */
        for (unsigned cores = 3; cores <= 8; cores += 5) {
            uint32_t owner = 0, wanted[8], nwanted = 0, inorder = 1;
            unsigned sections = 0, wrong = 0;

            config.cores = cores;
            config.spin_quantum_cycles = 200;
            for (unsigned t = 1; t <= 8; t++) {
                create(&s, 0, t);
                block(&s, t, t * 7);
                for (unsigned i = 0; i < 5; i++) {
                    threads_add(&s, t, A(MUTEX_LOCK), 3, U(8), U(0), NEVER);
                    threads_add(&s, t, A(PHASE), 1, U(1));
                    block(&s, t, 40);
                    threads_add(&s, t, A(PHASE), 1, U(2));
                    threads_add(&s, t, A(MUTEX_UNLOCK), 2, U(8), U(0));
                    block(&s, t, 1);
                }
                threads_add(&s, 0, A(THREAD_JOIN), 2, U(t), NEVER);
            }
            threads_run(&s, &config, 0, &r);
            CU_ASSERT_EQUAL(r.err, 0);
            for (size_t i = 0; i < r.nlog; i++) {
                const struct threads_record *e = &r.log[i];

                if (e->type == A(MUTEX_LOCK)) {
                    wanted[nwanted++ % 8] = e->context;
                } else if (e->type == A(PHASE) && e->args[0] == 1) {
                    wrong += owner != 0;
                    owner = e->context;
                    inorder &= wanted[sections++ % 8] == e->context;
                } else if (e->type == A(PHASE)) {
                    wrong += owner != e->context;
                    owner = 0;
                }
            }
            CU_ASSERT_EQUAL(wrong, 0);
            CU_ASSERT_EQUAL(sections, 40);
            if (cores == 8 && alone[m].model >= PEET_LOCK_TICKET)
                CU_ASSERT_TRUE(inorder);
            threads_result_free(&r);
            threads_clear(&s);
        }

        /* who spins for a lock that never comes is told from one who spins for one that comes */
        threads_add(&s, 0, A(MUTEX_LOCK), 3, U(8), U(0), NEVER);
        create(&s, 0, 1);
        threads_add(&s, 1, A(MUTEX_LOCK), 3, U(8), U(0), U(700));
        threads_add(&s, 1, A(CLOCK), 0);
        threads_add(&s, 1, A(MUTEX_TRYLOCK), 2, U(8), U(0));
        threads_add(&s, 1, A(MUTEX_LOCK), 3, U(8), U(0), NEVER);
        threads_add(&s, 0, A(THREAD_JOIN), 2, U(1), NEVER);
        threads_run(&s, &config, 0, &r);
        CU_ASSERT_EQUAL(r.err, PEET_EDEADLOCK);
        CU_ASSERT_FALSE(r.livelock);
        CU_ASSERT_EQUAL(r.blocked, 2);
        CU_ASSERT_EQUAL(r.answers[1].values[0], ETIMEDOUT);
        CU_ASSERT_TRUE(r.answers[1].values[1] >= 700 && r.answers[1].values[1] < 720);
        CU_ASSERT_EQUAL(r.answers[1].values[2], EBUSY);
        CU_ASSERT_EQUAL(r.ncircle, 2);
        threads_result_free(&r);
        threads_clear(&s);

        /* a condition's mutex is given back and taken with traffic */
        create(&s, 0, 1);
        threads_add(&s, 0, A(MUTEX_LOCK), 3, U(8), U(0), NEVER);
        threads_add(&s, 0, A(COND_WAIT), 4, U(16), U(8), U(0), NEVER);
        threads_add(&s, 0, A(MUTEX_UNLOCK), 2, U(8), U(0));
        block(&s, 1, 60);
        block(&s, 1, 60);
        threads_add(&s, 1, A(MUTEX_LOCK), 3, U(8), U(0), NEVER);
        threads_add(&s, 1, A(COND_SIGNAL), 1, U(16));
        block(&s, 1, 60);
        threads_add(&s, 1, A(MUTEX_UNLOCK), 2, U(8), U(0));
        threads_run(&s, &config, 0, &r);
        CU_ASSERT_EQUAL(r.err, 0);
        CU_ASSERT_EQUAL(r.reports, 0);
        CU_ASSERT_TRUE(r.end > 180);
        CU_ASSERT_TRUE(threads_hooks.references[0] >= 3 && threads_hooks.references[2] >= 3);
        threads_result_free(&r);
        threads_clear(&s);
    }
    memset(&threads_hooks, 0, sizeof threads_hooks);
}

int main(void)
{
    CU_pSuite suite;

    if (CU_initialize_registry())
        return 2;
    suite = CU_add_suite("spin", NULL, NULL);
    CU_add_test(suite, "diagnosis", diagnosis);
    CU_add_test(suite, "spinning", spinning);
    CU_add_test(suite, "lock models", lock_models);
    CU_basic_run_tests();
    return CU_get_number_of_failures() != 0;
}
