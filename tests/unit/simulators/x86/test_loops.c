/* SPDX-License-Identifier: Apache-2.0 */
/*
 * However blocks come, one by one, in batches or as turns of a loop, times are the same; and wherever the time goes,
 * the books balance (finish() fails if they do not).
 */
#include "corerig.h"

static struct rig_code *random_block(uint32_t id, uint64_t *seed)
{
    static const struct peet_opcode *const plain[] = {&rig_add, &rig_mul, &rig_add, &rig_slow, &rig_big};
    struct rig_code *c = rig_block(id);
    unsigned n = 1 + (unsigned)rig_random(seed, 12);

    for (unsigned i = 0; i < n; i++) {
        int to = (int)rig_random(seed, 12), from = (int)rig_random(seed, 12), by = (int)rig_random(seed, 12);
        uint64_t address = 0x10000 + 4 * rig_random(seed, 300);

        switch (rig_random(seed, 8)) {
        case 0:
        case 1:
            rig_insn(c, &rig_load, to, -1, by, PEET_REF_LOAD, address, 1u << rig_random(seed, 6));
            break;
        case 2:
            rig_insn(c, &rig_store, -1, from, by, PEET_REF_STORE, address, 1u << rig_random(seed, 6));
            break;
        case 3:
            if (!rig_random(seed, 6))
                rig_insn(c, &rig_locked, -1, from, by, PEET_REF_MODIFY, address & ~7ull, 8);
            else if (!rig_random(seed, 6))
                rig_insn(c, &rig_mfence, -1, -1, -1, 0, 0, 0);
            break;
        default:
            rig_insn(c, plain[rig_random(seed, 5)], to, from, by, 0, 0, 0);
        }
    }
    rig_insn(c, &rig_branch, -1, PEET_REG_FLAGS, -1, 0, 0, 0);
    return c;
}

static const char *const machines[] = {"", "threads=2", "threads=2,smt=shared", "core=inorder,window_uops=32",
    "core=simple", "memory=hierarchy,l1d_bytes=4KiB,l2_bytes=16KiB",
    "memory=hierarchy,threads=2,store_queue=8,window_uops=32", "branch=perfect,retire_uops=2",
    "fetch_uops=2,fetch_queue_uops=5,fetch_past_taken=off,threads=2", "fetch_uops=1,core=inorder"};

static void equal_ways(void)
{
    enum { BLOCKS = 12, EVENTS = 400 };

    for (unsigned m = 0; m < sizeof machines / sizeof *machines; m++) {
        struct rig_code *codes[BLOCKS];
        struct rig a, b;
        uint64_t seed = 1000 + m;

        for (uint32_t i = 0; i < BLOCKS; i++)
            codes[i] = random_block(i, &seed);
        CU_ASSERT_EQUAL_FATAL(rig_open(&a, 1, machines[m]), 0);
        CU_ASSERT_EQUAL_FATAL(rig_open(&b, 1, machines[m]), 0);
        for (unsigned e = 0; e < EVENTS; e++) {
            struct rig_code *c = codes[rig_random(&seed, BLOCKS)];
            struct peet_block_event events[8];
            int64_t strides[RIG_INSNS];
            uint64_t turns = 1 + rig_random(&seed, 30),
                     until = rig_random(&seed, 2) ? UINT64_MAX : a.clock[0] + rig_random(&seed, 400), taken = 0;
            size_t done = 0, n = 1 + rig_random(&seed, 8);

            if (rig_random(&seed, 2)) { /* turns of a loop */
                uint64_t before[RIG_INSNS];

                for (uint32_t i = 0; i < c->block.nvalues; i++)
                    strides[i] = (int64_t)rig_random(&seed, 40) - 20;
                memcpy(before, c->values, sizeof before);
                events[0] = rig_event(c, 0);
                events[0].turns = turns;
                events[0].strides = strides;
                a.clock[0] += peet_module.loop(a.x, 0, events, a.clock[0], until, &taken);
                for (uint64_t i = 0; i < taken; i++) {
                    CU_ASSERT(i == 0 || b.clock[0] < until);
                    rig_run(&b, 0, c);
                    for (uint32_t k = 0; k < c->block.nvalues; k++)
                        c->values[k] += (uint64_t)strides[k];
                }
                CU_ASSERT(taken == turns || b.clock[0] >= until);
                memcpy(c->values, before, sizeof before);
            } else { /* a batch */
                for (size_t i = 0; i < n; i++)
                    events[i] = rig_event(codes[rig_random(&seed, BLOCKS)], 0);
                a.clock[0] += peet_module.blocks(a.x, 0, events, n, a.clock[0], until, &done);
                for (size_t i = 0; i < done; i++)
                    b.clock[0] += peet_module.block(b.x, 0, &events[i], b.clock[0]);
                CU_ASSERT(done == n || b.clock[0] >= until);
            }
            CU_ASSERT_EQUAL(a.clock[0], b.clock[0]);
            if (!rig_random(&seed, 20)) { /* something else took time */
                a.clock[0] += 77;
                b.clock[0] += 77;
            }
        }
        peet_module.finish(a.x, a.clock[0]);
        peet_module.finish(b.x, b.clock[0]);
        CU_ASSERT_EQUAL(a.failures, 0);
        if (a.failures)
            fprintf(stderr, "%s: %s\n", machines[m], a.failure);
        for (unsigned k = 0; k < CPI_CATEGORIES; k++)
            CU_ASSERT_EQUAL(a.x->threads[0].cycles[k], b.x->threads[0].cycles[k]);
        rig_close(&a);
        rig_close(&b);
        for (uint32_t i = 0; i < BLOCKS; i++)
            free(codes[i]);
    }
}

/* Several hardware contexts, least clock first, with waits and changing software contexts: finish() checks the books.
 */
static void balanced(void)
{
    enum { BLOCKS = 30, EVENTS = 6000 };

    for (unsigned m = 0; m < sizeof machines / sizeof *machines; m++) {
        struct rig_code *codes[BLOCKS];
        struct rig rig;
        uint64_t seed = 77 + m, end = 0, sum;
        unsigned nhw;

        for (uint32_t i = 0; i < BLOCKS; i++)
            codes[i] = random_block(i, &seed);
        CU_ASSERT_EQUAL_FATAL(rig_open(&rig, 4, machines[m]), 0);
        nhw = peet_module.hw_contexts(rig.x, 4);
        for (unsigned e = 0; e < EVENTS; e++) {
            unsigned hw = 0;
            struct peet_block_event event;

            for (unsigned i = 1; i < nhw; i++)
                if (rig.clock[i] < rig.clock[hw])
                    hw = i;
            event = rig_event(codes[rig_random(&seed, BLOCKS)],
                rig_random(&seed, 40) ? hw : hw + 100 * (uint32_t)rig_random(&seed, 30));
            rig.clock[hw] += peet_module.block(rig.x, hw, &event, rig.clock[hw]);
            if (!rig_random(&seed, 30)) {
                uint64_t waited = rig_random(&seed, 300),
                         args[] = {0, rig_random(&seed, 2) ? PEET_ABSTRACT_MUTEX_LOCK : PEET_ABSTRACT_BARRIER_WAIT,
                             waited, 0};
                struct peet_abstract_event grant = {PEET_ABSTRACT_SYNC_GRANT, event.context, 4, args};

                rig.clock[hw] += waited;
                rig.clock[hw] += peet_module.abstract(rig.x, hw, &grant, rig.clock[hw]);
            }
            if (!rig_random(&seed, 60))
                rig.clock[hw] += rig_random(&seed, 500);
        }
        for (unsigned i = 0; i < nhw; i++)
            end = rig.clock[i] > end ? rig.clock[i] : end;
        peet_module.finish(rig.x, end);
        CU_ASSERT_EQUAL(rig.failures, 0);
        if (rig.failures)
            fprintf(stderr, "%s: %s\n", machines[m], rig.failure);
        for (unsigned i = 0; i < nhw; i++) {
            sum = 0;
            for (unsigned k = 0; k < CPI_CATEGORIES; k++)
                sum += rig.x->threads[i].cycles[k];
            CU_ASSERT_EQUAL(sum, end);
        }
        rig_close(&rig);
        for (uint32_t i = 0; i < BLOCKS; i++)
            free(codes[i]);
    }
}

int main(void)
{
    CU_TestInfo tests[] = {{"equal ways", equal_ways}, {"balanced", balanced}, CU_TEST_INFO_NULL};

    return run_suite("x86 loops", tests);
}
