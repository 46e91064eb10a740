/* SPDX-License-Identifier: Apache-2.0 */
/* Times of an x86 core in closed form: each limit by itself. */
#include "corerig.h"

enum { TIMES = 200 };

static struct rig rig;

static struct rig_code *begin(const char *settings)
{
    CU_ASSERT_EQUAL_FATAL(rig_open(&rig, 1, settings), 0);
    return rig_block(0);
}

static void end(struct rig_code *c)
{
    peet_module.finish(rig.x, rig.clock[0]);
    CU_ASSERT_EQUAL(rig.failures, 0);
    if (rig.failures)
        fprintf(stderr, "%s\n", rig.failure);
    rig_close(&rig);
    free(c);
}

static void width(void)
{
    for (unsigned w = 1; w <= 8; w++) {
        char settings[60];
        struct rig_code *c;

        snprintf(settings, sizeof settings, "dispatch_uops=%u", w);
        c = begin(settings);
        for (int i = 0; i < 24; i++)
            rig_insn(c, &rig_add, i % 8, -1, -1, 0, 0, 0);
        CU_ASSERT_EQUAL(rig_steady(&rig, 0, c, 7 * TIMES), (24 * 7 * TIMES + w - 1) / w);
        end(c);
    }
}

static void long_instructions(void)
{
    struct rig_code *c = begin("dispatch_uops=4"); /* ten micro-ops begin in a cycle of their own and leave two slots */

    rig_insn(c, &rig_big, 0, -1, -1, 0, 0, 0);
    rig_insn(c, &rig_add, 1, -1, -1, 0, 0, 0);
    rig_insn(c, &rig_add, 2, -1, -1, 0, 0, 0);
    CU_ASSERT_EQUAL(rig_steady(&rig, 0, c, TIMES), 3 * TIMES);
    end(c);
}

static void chain(void)
{
    struct rig_code *c = begin("");

    for (int i = 0; i < 5; i++)
        rig_insn(c, &rig_mul, 3, 3, -1, 0, 0, 0);
    rig_insn(c, &rig_add, 3, 3, -1, 0, 0, 0);
    CU_ASSERT_EQUAL(rig_steady(&rig, 0, c, TIMES), 16 * TIMES);
    end(c);
}

static void window(void)
{
    struct rig_code *c = begin("window_uops=20,dispatch_uops=4"); /* 20 of 100 cycles at a time, and one to go on */

    for (int i = 0; i < 10; i++)
        rig_insn(c, &rig_slow, i, -1, -1, 0, 0, 0);
    CU_ASSERT(labs((long)rig_steady(&rig, 0, c, 2 * TIMES) - 100l * TIMES * 2 / 2) <= 2 * TIMES * 2);
    end(c);
}

static void loads(void)
{
    struct rig_code *c = begin("");

    rig_insn(c, &rig_load, 1, -1, 1, PEET_REF_LOAD, 0x1000, 8); /* the address comes from the load before */
    CU_ASSERT_EQUAL(rig_steady(&rig, 0, c, TIMES), 4 * TIMES);
    end(c);
    c = begin("load_queue=4"); /* four loads at a time; they leave with retirement */
    for (int i = 0; i < 8; i++)
        rig_insn(c, &rig_load, i, -1, 10, PEET_REF_LOAD, 0x1000, 8);
    CU_ASSERT(rig_steady(&rig, 0, c, TIMES) >= 2 * 4 * TIMES);
    end(c);
}

/* A store, and a load of the same bytes, whose result the next store writes. */
static void forwarding(void)
{
    struct rig_code *c = begin("forward_cycles=7");

    rig_insn(c, &rig_store, -1, 2, 10, PEET_REF_STORE, 0x2000, 8);
    rig_insn(c, &rig_load, 2, -1, 10, PEET_REF_LOAD, 0x2000, 8);
    CU_ASSERT_EQUAL(rig_steady(&rig, 0, c, TIMES), (7 + 1) * TIMES);
    CU_ASSERT_EQUAL(rig.x->threads[0].forwards, 2 * TIMES);
    end(c);
    c = begin("forward_cycles=7"); /* four of its bytes, not the first: contained */
    rig_insn(c, &rig_store, -1, 2, 10, PEET_REF_STORE, 0x2000, 8);
    rig_insn(c, &rig_load, 2, -1, 10, PEET_REF_LOAD, 0x2004, 4);
    CU_ASSERT_EQUAL(rig_steady(&rig, 0, c, TIMES), (7 + 1) * TIMES);
    end(c);
    /* more than it has: written first (two cycles after issue), then the penalty, then a hit */
    c = begin("forward_cycles=7,forward_fail_cycles=30");
    rig_insn(c, &rig_store, -1, 2, 10, PEET_REF_STORE, 0x2000, 4);
    rig_insn(c, &rig_load, 2, -1, 10, PEET_REF_LOAD, 0x2000, 8);
    CU_ASSERT_EQUAL(rig_steady(&rig, 0, c, TIMES), (2 + 30 + 4) * TIMES);
    CU_ASSERT_EQUAL(rig.x->threads[0].forward_fails, 2 * TIMES);
    end(c);
}

static void store_queue(void)
{
    struct rig_code *c = begin("stores_cycle=1,dispatch_uops=4");

    for (int i = 0; i < 4; i++)
        rig_insn(c, &rig_store, -1, 2, 10, PEET_REF_STORE, 0x2000 + 8 * (uint64_t)i, 8);
    CU_ASSERT_EQUAL(rig_steady(&rig, 0, c, TIMES), 4 * TIMES);
    end(c);
}

static void fences(void)
{
    static const unsigned cycles[] = {10, 25, 60};

    for (unsigned i = 0; i < 3; i++) {
        char settings[60];
        struct rig_code *c;

        snprintf(settings, sizeof settings, "locked_cycles=%u,fence_cycles=%u", cycles[i], cycles[i]);
        c = begin(settings); /* nothing of memory overlaps with a locked operation */
        rig_insn(c, &rig_locked, -1, -1, 10, PEET_REF_MODIFY, 0x2000, 8);
        CU_ASSERT_EQUAL(rig_steady(&rig, 0, c, TIMES), cycles[i] * TIMES);
        end(c);
        c = begin(settings);
        rig_insn(c, &rig_mfence, -1, -1, -1, 0, 0, 0);
        CU_ASSERT_EQUAL(rig_steady(&rig, 0, c, TIMES), cycles[i] * TIMES);
        end(c);
        c = begin(settings); /* a load waits for the fence before it, the fence for the load */
        rig_insn(c, &rig_mfence, -1, -1, -1, 0, 0, 0);
        rig_insn(c, &rig_load, 1, -1, 10, PEET_REF_LOAD, 0x2000, 8);
        CU_ASSERT_EQUAL(rig_steady(&rig, 0, c, TIMES), (cycles[i] + 4) * TIMES);
        end(c);
    }
}

/* A branch whose outcome nobody can know: each wrong guess costs what is configured. */
static void mispredictions(void)
{
    uint64_t times[2], wrong[2];

    for (unsigned i = 0; i < 2; i++) {
        struct rig_code *c, *taken = rig_block(5), *onward = rig_block(1);
        uint64_t seed = 12345;

        c = begin(i ? "mispredict_cycles=55,branch=gshare" : "mispredict_cycles=20,branch=gshare");
        rig_insn(c, &rig_add, PEET_REG_FLAGS, PEET_REG_FLAGS, -1, 0, 0, 0);
        rig_insn(c, &rig_branch, -1, PEET_REG_FLAGS, -1, 0, 0, 0);
        rig_insn(taken, &rig_add, PEET_REG_FLAGS, PEET_REG_FLAGS, -1, 0, 0, 0);
        rig_insn(onward, &rig_add, PEET_REG_FLAGS, PEET_REG_FLAGS, -1, 0, 0, 0);
        for (unsigned k = 0; k < 4000; k++) {
            rig_run(&rig, 0, c);
            rig_run(&rig, 0, rig_random(&seed, 2) ? taken : onward);
        }
        times[i] = rig.clock[0];
        wrong[i] = rig.x->threads[0].mispredicts;
        CU_ASSERT(wrong[i] > 500);
        end(c);
        free(taken);
        free(onward);
    }
    CU_ASSERT_EQUAL(wrong[0], wrong[1]);
    CU_ASSERT_EQUAL(times[1] - times[0], 35 * wrong[0]);
}

static void in_order(void)
{
    struct rig_code *c = begin("core=inorder,dispatch_uops=2");

    rig_insn(c, &rig_mul, 1, 1, -1, 0, 0, 0); /* the use of a result holds up all that follow */
    rig_insn(c, &rig_add, 2, 1, -1, 0, 0, 0);
    rig_insn(c, &rig_mul, 3, 4, -1, 0, 0, 0);
    rig_insn(c, &rig_add, 5, 3, -1, 0, 0, 0);
    CU_ASSERT_EQUAL(rig_steady(&rig, 0, c, TIMES), 6 * TIMES);
    end(c);
}

/** Cycles of one turn of a loop of these, on the machine in order with a model; ends the block. */
static uint64_t turn(const char *settings, void (*fill)(struct rig_code *c))
{
    struct rig_code *c;
    uint64_t cycles;

    rig_with_processor = RIG_IN_ORDER;
    c = begin(settings);
    fill(c);
    cycles = rig_steady(&rig, 0, c, TIMES);
    CU_ASSERT_EQUAL(cycles % TIMES, 0);
    end(c);
    rig_with_processor = RIG_NONE;
    return cycles / TIMES;
}

static void chain_register(struct rig_code *c) /* the same operation without a load and with one */
{
    rig_insn(c, &rig_mul, 1, 1, -1, 0, 0, 0);
}

static void chain_folded(struct rig_code *c)
{
    rig_insn(c, &rig_fold, 1, 1, 10, PEET_REF_LOAD, 0x1000, 8);
}

static void behind_folded(struct rig_code *c) /* what comes after the folded load is what the next turn waits for */
{
    rig_insn(c, &rig_mul, 1, 3, -1, 0, 0, 0);
    rig_insn(c, &rig_fold, 2, 1, 10, PEET_REF_LOAD, 0x1000, 8);
    rig_insn(c, &rig_add, 3, 4, -1, 0, 0, 0);
}

static void address_of_add(struct rig_code *c)
{
    rig_insn(c, &rig_add, 1, 1, -1, 0, 0, 0);
    rig_insn(c, &rig_load, 2, -1, 1, PEET_REF_LOAD, 0x1000, 8);
}

static void address_of_lea(struct rig_code *c)
{
    rig_insn(c, &rig_lea, 1, 1, -1, 0, 0, 0);
    rig_insn(c, &rig_load, 2, -1, 1, PEET_REF_LOAD, 0x1000, 8);
}

static void add_and_lea(struct rig_code *c)
{
    rig_insn(c, &rig_lea, 2, 1, -1, 0, 0, 0);
    rig_insn(c, &rig_add, 1, 2, -1, 0, 0, 0);
}

static void branch_in_between(struct rig_code *c)
{
    rig_insn(c, &rig_add, PEET_REG_FLAGS, 1, -1, 0, 0, 0);
    rig_insn(c, &rig_branch, -1, PEET_REG_FLAGS, -1, 0, 0, 0);
    rig_insn(c, &rig_load, 1, -1, 10, PEET_REF_LOAD, 0x1000, 8);
}

static void mixed_latencies(struct rig_code *c)
{
    rig_insn(c, &rig_mul, 1, 10, -1, 0, 0, 0);
    rig_insn(c, &rig_add, 2, 10, -1, 0, 0, 0);
}

static void one_for_either(struct rig_code *c) /* additions go to both units, branches to one */
{
    for (unsigned i = 0; i < 3; i++) {
        rig_insn(c, &rig_add, 1, 10, -1, 0, 0, 0);
        rig_insn(c, &rig_branch, -1, 11, -1, 0, 0, 0);
    }
}

/* A pipeline in order with its loads before its operations, as the manuals have it: loads of L cycles are L - 1 before.
 */
static void in_order_pipeline(void)
{
    char settings[100];

    for (unsigned load = 1; load <= 5; load++) {
        const unsigned lead = load - 1;

        snprintf(settings, sizeof settings, "dispatch_uops=4,window_uops=200,l1_load_cycles=%u", load);
        CU_ASSERT_EQUAL(turn(settings, chain_register), 3);
        CU_ASSERT_EQUAL(turn(settings, chain_folded), 3);
        /* the folded load is where it operates when the product is there */
        CU_ASSERT_EQUAL(turn(settings, behind_folded), 3 + 1);
        CU_ASSERT_EQUAL(turn(settings, address_of_add), 1 + lead);
        CU_ASSERT_EQUAL(turn(settings, address_of_lea), 1); /* made where it is wanted */
        /* there and back: there it waits, back it is early */
        CU_ASSERT_EQUAL(turn(settings, add_and_lea), lead ? 1 + lead : 2);
    }
    CU_ASSERT_EQUAL(turn("l1_load_cycles=1", branch_in_between), 4); /* the load's latency in the model */
    CU_ASSERT_EQUAL(turn("l1_load_cycles=1,branch_pairing=off", branch_in_between), 5);
    CU_ASSERT_EQUAL(turn("", mixed_latencies), 1);
    /* the sum is there with the product, not before */
    CU_ASSERT_EQUAL(turn("result_order=program", mixed_latencies), 2);
    CU_ASSERT_EQUAL(turn("", one_for_either), 3);
    /* the product is wanted three cycles after issue */
    CU_ASSERT_EQUAL(turn("l1_load_cycles=1,folded_loads=model", behind_folded), 2);
}

/* Two threads of a core that each fill half of the width do not disturb one another; two that want all of it do. */
static void threads(void)
{
    for (unsigned load = 1; load <= 2; load++) {
        struct rig_code *c;
        uint64_t alone, together;
        unsigned hw;

        c = begin("threads=2,dispatch_uops=4,window_uops=400");
        for (unsigned i = 0; i < 4 * load; i++)
            rig_insn(c, &rig_add, 1, load == 1 && i % 2 ? 1 : load == 1 ? 1 : -1, -1, 0, 0, 0);
        for (unsigned i = 0; i < TIMES; i++)
            rig_run(&rig, 0, c);
        alone = rig.clock[0];
        end(c);
        c = begin("threads=2,dispatch_uops=4,window_uops=400");
        for (unsigned i = 0; i < 4 * load; i++)
            rig_insn(c, &rig_add, 1, load == 1 && i % 2 ? 1 : load == 1 ? 1 : -1, -1, 0, 0, 0);
        for (unsigned i = 0; i < 2 * TIMES; i++) {
            hw = rig.clock[1] < rig.clock[0];
            rig_run(&rig, hw, c);
        }
        together = rig.clock[0] > rig.clock[1] ? rig.clock[0] : rig.clock[1];
        CU_ASSERT(labs((long)together - (long)(alone * load)) <= (long)alone / 20 + 4);
        end(c);
    }
}

int main(void)
{
    CU_TestInfo tests[] = {{"width", width}, {"long instructions", long_instructions}, {"chain", chain},
        {"window", window}, {"loads", loads}, {"forwarding", forwarding}, {"store queue", store_queue},
        {"fences", fences}, {"mispredictions", mispredictions}, {"in order", in_order},
        {"pipeline in order", in_order_pipeline}, {"threads", threads}, CU_TEST_INFO_NULL};

    return run_suite("x86 times", tests);
}
