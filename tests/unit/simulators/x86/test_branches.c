/* SPDX-License-Identifier: Apache-2.0 */
/* Where branches of an x86 core go: calls and returns, also by way of code that nobody tells of, and blocks without
 * instructions. */
#include "corerig.h"

enum { TIMES = 200 };

static const struct peet_opcode call = {
    .name = "CALL64pcrel32", .mnemonic = "call", .latency_cycles = 1, .uops = 1, .klass = PEET_INSN_CALL};
static const struct peet_opcode ret = {
    .name = "RET64", .mnemonic = "ret", .latency_cycles = 1, .uops = 1, .klass = PEET_INSN_RETURN};
static const struct peet_opcode jump = {
    .name = "JMP_1", .mnemonic = "jmp", .latency_cycles = 1, .uops = 1, .klass = PEET_INSN_JUMP};
/* a function of compiled code in whose list a block without instructions stands between two others, and others */
static const struct peet_block listed[3] = {{.ninsns = 1}, {.ninsns = 0}, {.ninsns = 1}};
static const struct peet_function compiled = {.name = "compiled", .pc = 0x500000, .nblocks = 3, .blocks = listed},
                                  callee = {.name = "callee", .pc = 0x600000, .nblocks = 1, .blocks = listed},
                                  leaf = {.name = "leaf", .pc = 0x700000, .nblocks = 1, .blocks = listed},
                                  unseen = {.name = "unseen", .pc = 0x1000, .nblocks = 1, .blocks = listed},
                                  foreign = {.name = "foreign", .pc = 0x800000};

static struct rig rig;

/** A block of a function with an instruction that ends it, or none. */
static struct rig_code *make(uint32_t id, const struct peet_function *function, uint32_t index, uint64_t pc,
    const struct peet_opcode *end)
{
    struct rig_code *c = rig_block(id);

    c->block.function = function;
    c->block.index = index;
    c->block.pc = pc;
    if (end)
        rig_insn(c, end, -1, -1, -1, 0, 0, 0);
    return c;
}

/** The blocks one after the other, again and again.  Returns: wrong predictions after the first rounds */
static uint64_t wrong_of(const char *settings, struct rig_code *const *codes, unsigned n)
{
    uint64_t before = 0, wrong;

    CU_ASSERT_EQUAL_FATAL(rig_open(&rig, 1, settings), 0);
    for (unsigned i = 0; i < 2 * TIMES; i++) {
        if (i == TIMES)
            before = rig.x->threads[0].mispredicts;
        for (unsigned k = 0; k < n; k++)
            rig_run(&rig, 0, codes[k]);
    }
    wrong = rig.x->threads[0].mispredicts - before;
    peet_module.finish(rig.x, rig.clock[0]);
    CU_ASSERT_EQUAL(rig.failures, 0);
    rig_close(&rig);
    return wrong;
}

static void free_all(struct rig_code **codes, unsigned n)
{
    for (unsigned k = 0; k < n; k++)
        free(codes[k]);
}

/* Where a call returns to, a block without instructions stands, whose pc says nothing. */
static void empty_blocks(void)
{
    struct rig_code *codes[] = {make(0, &compiled, 0, 0x500000, &call), make(1, &callee, 0, 0x600000, &ret),
        make(2, &compiled, 1, 0x500000, NULL), make(3, &compiled, 2, 0x500004, &jump)};

    CU_ASSERT_EQUAL(wrong_of("", codes, 4), 0);
    CU_ASSERT_EQUAL(wrong_of("replay=off", codes, 4), 0);
    free_all(codes, 4);
}

/* A predictor that always says taken is wrong as often as a branch is not, and only then. */
static void onward(void)
{
    /* over a block without instructions and what aligns the next one */
    struct rig_code *through[] = {make(0, &compiled, 0, 0x500000, &rig_branch), make(1, &compiled, 2, 0x500010, &jump)};
    /* over a block with instructions */
    struct rig_code *taken[] = {make(0, &compiled, 1, 0x500000, &rig_branch), make(1, &compiled, 0, 0x500010, &jump)};
    /* the next one in no list */
    struct rig_code *outside[] = {make(0, &foreign, 0, 0x800000, &rig_branch), make(1, &foreign, 1, 0x800010, &jump)};

    CU_ASSERT_EQUAL(wrong_of("branch=always", through, 2), TIMES);
    CU_ASSERT_EQUAL(wrong_of("branch=always", taken, 2), 0);
    CU_ASSERT_EQUAL(wrong_of("branch=always", outside, 2), 0);
    outside[1]->block.pc = 0x800004;
    CU_ASSERT_EQUAL(wrong_of("branch=always", outside, 2), TIMES);
    free_all(through, 2);
    free_all(taken, 2);
    free_all(outside, 2);
}

/* A function's last jump goes to code that nobody tells of, which returns to the function's caller: the caller's own
 * return is foreseen nevertheless. */
static void returns_unseen(void)
{
    struct rig_code *codes[] = {make(0, &compiled, 0, 0x500000, &call), make(1, &callee, 0, 0x600000, &call),
        make(2, &leaf, 0, 0x700000, &jump), make(3, &callee, 1, 0x600004, &ret),
        make(4, &compiled, 2, 0x500004, &jump)};
    struct rig_code *with[] = {codes[0], codes[1], codes[2], make(5, &unseen, 0, 0x1000, &rig_add), codes[3], codes[4]};

    CU_ASSERT_EQUAL(wrong_of("", codes, 5), 0);
    CU_ASSERT_EQUAL(wrong_of("", with, 6), 0); /* a block stands for it */
    free_all(codes, 5);
    free(with[3]);
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"empty blocks", empty_blocks}, {"onward", onward}, {"returns unseen", returns_unseen}, CU_TEST_INFO_NULL};

    return run_suite("x86 branches", tests);
}
