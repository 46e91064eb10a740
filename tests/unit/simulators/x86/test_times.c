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

/** Cycles of one turn of a loop of these */
static double turn_of(const char *settings, void (*fill)(struct rig_code *c))
{
    struct rig_code *c = begin(settings);
    uint64_t cycles;

    fill(c);
    cycles = rig_steady(&rig, 0, c, TIMES);
    end(c);
    return (double)cycles / TIMES;
}

static void back_and_forth(struct rig_code *c)
{
    rig_insn(c, &rig_store, -1, 2, 10, PEET_REF_STORE, 0x2000, 8);
    rig_insn(c, &rig_load, 2, -1, 10, PEET_REF_LOAD, 0x2000, 8);
}

static void product_through_memory(struct rig_code *c)
{
    back_and_forth(c);
    rig_insn(c, &rig_mul, 2, 2, -1, 0, 0, 0);
}

static void by_what_is_loaded(struct rig_code *c) /* the address is what the load before has brought */
{
    rig_insn(c, &rig_store, -1, 2, 10, PEET_REF_STORE, 0x2000, 8);
    rig_insn(c, &rig_load, 2, -1, 2, PEET_REF_LOAD, 0x2000, 8);
}

static void low_half(struct rig_code *c)
{
    rig_insn(c, &rig_store, -1, 2, 10, PEET_REF_STORE, 0x2000, 8);
    rig_insn(c, &rig_load, 2, -1, 10, PEET_REF_LOAD, 0x2000, 4);
}

static void high_half(struct rig_code *c)
{
    rig_insn(c, &rig_store, -1, 2, 10, PEET_REF_STORE, 0x2000, 8);
    rig_insn(c, &rig_load, 2, -1, 10, PEET_REF_LOAD, 0x2004, 4);
}

static void halves(struct rig_code *c)
{
    rig_insn(c, &rig_store, -1, 2, 10, PEET_REF_STORE, 0x2000, 2);
    rig_insn(c, &rig_load, 2, -1, 10, PEET_REF_LOAD, 0x2000, 2);
}

static void vectors(struct rig_code *c)
{
    rig_insn(c, &rig_store, -1, 2, 10, PEET_REF_STORE, 0x2000, 16);
    rig_insn(c, &rig_load, 2, -1, 10, PEET_REF_LOAD, 0x2000, 16);
}

static void sum_in_memory(struct rig_code *c) /* six cycles: a load of four, the addition, its store */
{
    rig_insn(c, &rig_change, -1, 10, 11, PEET_REF_MODIFY, 0x2000, 8);
}

/* A value that goes through memory costs nothing where memory is renamed: integer registers, whole, by whatever
 * address. */
static void renaming(void)
{
    static const char off[] = "forward_cycles=7,memory_renaming=off", on[] = "forward_cycles=7,memory_renaming=on";

    CU_ASSERT_EQUAL(turn_of(off, back_and_forth), 7 + 1);
    CU_ASSERT_EQUAL(turn_of(on, back_and_forth), 0.5); /* four are dispatched in a cycle */
    CU_ASSERT_EQUAL(turn_of(on, product_through_memory), 3);
    CU_ASSERT_EQUAL(turn_of(on, by_what_is_loaded), 0.5);
    CU_ASSERT_EQUAL(turn_of(on, low_half), 0.5);
    CU_ASSERT_EQUAL(turn_of(off, sum_in_memory), 7 + 2);
    CU_ASSERT_EQUAL(turn_of(on, sum_in_memory), 1);
    CU_ASSERT_EQUAL(turn_of(on, high_half), 7 + 1);
    CU_ASSERT_EQUAL(turn_of(on, halves), 7 + 1);
    CU_ASSERT_EQUAL(turn_of(on, vectors), 7 + 1);
}

/* Two stores, and a load of what either of them has written: renamed if it is the same one each time. */
static void pairs(void)
{
    for (unsigned every = 1; every <= 7; every += 2) { /* in so many turns the first store once, else the second */
        struct rig_code *c = begin("forward_cycles=7,memory_renaming=on");
        uint64_t before = 0;
        double turn;

        rig_insn(c, &rig_store, -1, 2, 10, PEET_REF_STORE, 0x2000, 8);
        rig_insn(c, &rig_store, -1, 2, 10, PEET_REF_STORE, 0x2040, 8);
        rig_insn(c, &rig_load, 2, -1, 10, PEET_REF_LOAD, 0x2000, 8);
        for (unsigned k = 0; k < 42 + 42 * TIMES; k++) {
            before = k == 42 ? rig.clock[0] : before;
            c->values[2] = k % every ? 0x2040 : 0x2000;
            rig_run(&rig, 0, c);
        }
        turn = (double)(rig.clock[0] - before) / (42 * TIMES);
        /* a change, and three times the other store until that is sure; two stores are written in two cycles */
        CU_ASSERT(every == 1 ? turn < 2.01 : every == 7 ? turn > 4 && turn < 6 : turn > 6 && turn < 8.01);
        end(c);
    }
}

/* A sum in one of so many places in turn: the store that it comes from is of the same instruction, but not its newest. */
static void places_in_turn(void)
{
    for (unsigned places = 1; places <= 3; places++) {
        struct rig_code *c = begin("forward_cycles=7,memory_renaming=on");
        uint64_t before = 0;

        sum_in_memory(c);
        for (unsigned k = 0; k < 60 + 60 * TIMES; k++) {
            before = k == 60 ? rig.clock[0] : before;
            c->values[0] = 0x2000 + 64 * (k % places);
            rig_run(&rig, 0, c);
        }
        CU_ASSERT_EQUAL((rig.clock[0] - before) / (60 * TIMES), places == 1 ? 1 : (7 + 2) / places);
        end(c);
    }
}

static void chain_register(struct rig_code *c)
{
    rig_insn(c, &rig_mul, 1, 1, -1, 0, 0, 0);
}

static void one_register(struct rig_code *c)
{
    rig_insn(c, &rig_load, 1, -1, 1, PEET_REF_LOAD, 0x1000, 8);
}

static void two_registers(struct rig_code *c)
{
    rig_insn(c, &rig_load, 1, 10, 1, PEET_REF_LOAD, 0x1000, 8);
    c->insns[0].naddresses = 2;
}

static void addresses_of_two(void)
{
    CU_ASSERT_EQUAL(turn_of("index_cycles=3", one_register), 4);
    CU_ASSERT_EQUAL(turn_of("", two_registers), 4);
    CU_ASSERT_EQUAL(turn_of("index_cycles=1", two_registers), 5);
    CU_ASSERT_EQUAL(turn_of("index_cycles=3", two_registers), 7);
}

static void four_stores(struct rig_code *c, uint64_t apart, unsigned size)
{
    for (unsigned i = 0; i < 4; i++)
        rig_insn(c, &rig_store, -1, 2, 10, PEET_REF_STORE, 0x2000 + apart * i, size);
}

static void to_one_line(struct rig_code *c)
{
    four_stores(c, 8, 8);
}

static void to_two_lines_in_turn(struct rig_code *c)
{
    for (unsigned i = 0; i < 4; i++)
        rig_insn(c, &rig_store, -1, 2, 10, PEET_REF_STORE, 0x2000 + 64 * (i & 1), 8);
}

static void of_sixteen_bytes(struct rig_code *c)
{
    four_stores(c, 16, 16);
}

static void across_lines(struct rig_code *c)
{
    for (unsigned i = 0; i < 4; i++)
        rig_insn(c, &rig_store, -1, 2, 10, PEET_REF_STORE, 0x203c, 8);
}

/* Stores of 8 bytes to the line of the store before go together. */
static void stores_to_one_line(void)
{
    CU_ASSERT_EQUAL(turn_of("dispatch_uops=8,stores_cycle=1", to_one_line), 4);
    CU_ASSERT_EQUAL(turn_of("dispatch_uops=8,stores_cycle=1,stores_line=2", to_one_line), 2);
    CU_ASSERT_EQUAL(turn_of("dispatch_uops=8,stores_cycle=1,stores_line=4", to_one_line), 1);
    CU_ASSERT_EQUAL(turn_of("dispatch_uops=8,stores_cycle=2,stores_line=1", to_one_line), 2);
    CU_ASSERT_EQUAL(turn_of("dispatch_uops=8,stores_cycle=1,stores_line=2", to_two_lines_in_turn), 4);
    CU_ASSERT_EQUAL(turn_of("dispatch_uops=8,stores_cycle=1,stores_line=2", of_sixteen_bytes), 4);
    CU_ASSERT_EQUAL(turn_of("dispatch_uops=8,stores_cycle=1,stores_line=2", across_lines), 4);
}

static const struct peet_opcode *before_branch;

static void flags_and_branch(struct rig_code *c)
{
    const int memory = before_branch == &rig_change;

    rig_insn(c, &rig_mul, 1, 10, -1, 0, 0, 0);
    rig_insn(c, before_branch, PEET_REG_FLAGS, 10, memory ? 11 : -1, PEET_REF_MODIFY, 0x2000, memory ? 8 : 0);
    rig_insn(c, &rig_branch, -1, PEET_REG_FLAGS, -1, 0, 0, 0);
}

/* What sets flags is one micro-op with the branch that wants them: two micro-ops of a turn, not three. */
static void fusion(void)
{
    static const struct peet_opcode
        cmp = {.name = "CMP64rr", .mnemonic = "cmp", .latency_cycles = 1, .uops = 1, .klass = PEET_INSN_INT},
        test = {.name = "TEST32rr", .mnemonic = "test", .latency_cycles = 1, .uops = 1, .klass = PEET_INSN_INT},
        dec = {.name = "DEC64r", .mnemonic = "dec", .latency_cycles = 1, .uops = 1, .klass = PEET_INSN_INT},
        shl = {.name = "SHL64ri", .mnemonic = "shl", .latency_cycles = 1, .uops = 1, .klass = PEET_INSN_INT},
        strings = {.name = "CMPSB", .mnemonic = "cmpsb", .latency_cycles = 1, .uops = 1, .klass = PEET_INSN_INT};
    static const struct {
        const struct peet_opcode *opcode;
        unsigned off, compare, arithmetic;
    } all[] = {{&cmp, 3, 2, 2}, {&test, 3, 2, 2}, {&dec, 3, 3, 2}, {&shl, 3, 3, 3}, {&strings, 3, 3, 3},
        {&rig_change, 3, 3, 3}};

    for (unsigned i = 0; i < sizeof all / sizeof *all; i++) {
        before_branch = all[i].opcode;
        CU_ASSERT_EQUAL(turn_of("dispatch_uops=1,memory_renaming=on", flags_and_branch), all[i].off);
        CU_ASSERT_EQUAL(turn_of("dispatch_uops=1,memory_renaming=on,fusion=compare", flags_and_branch), all[i].compare);
        CU_ASSERT_EQUAL(turn_of("dispatch_uops=1,memory_renaming=on,fusion=arithmetic", flags_and_branch),
            all[i].arithmetic);
    }
}

static void products(struct rig_code *c)
{
    for (unsigned i = 0; i < 4; i++)
        rig_insn(c, &rig_mul, (int)i, 10, -1, 0, 0, 0);
}

/* What a preset says of instructions instead of LLVM's model: latency, how long a unit is busy, micro-ops. */
static void corrections(void)
{
    static const struct {
        const char *text;
        unsigned chain, independent, narrow; /* dispatch_uops=1 */
    } all[] = {
        {"", 3, 4, 4},
        {"{ opcodes = \"MUL\"; latency = 9; }", 9, 4, 4},
        {"{ opcodes = \"ADD M?L\"; busy = 5; }", 5, 20, 20},
        {"{ opcodes = \"SLOW *UL\"; uops = 3; }", 3, 4, 12},
        {"{ opcodes = \"MUL\"; latency = 9; }, { opcodes = \"*\"; latency = 2; }", 2, 4, 4}, /* the last one counts */
        {"{ opcodes = \"MU L MULx\"; latency = 9; busy = 7; uops = 2; }", 3, 4, 4},
        {"{ opcodes = \"MUL\"; units = \"P01\"; }", 3, 2, 4},
        {"{ opcodes = \"MUL\"; units = \"P01\"; busy = 3; }", 3, 6, 6},
        {"{ opcodes = \"*\"; parts = 2; latency = 9; }", 3, 4, 4}, /* it computes no address */
    };
    char path[300], settings[400];

    snprintf(path, sizeof path, "%s/corrected.cfg", rig_folder());
    rig_with_processor = RIG_OUT_OF_ORDER;
    for (unsigned i = 0; i < sizeof all / sizeof *all; i++) {
        FILE *f = fopen(path, "w");

        CU_ASSERT_PTR_NOT_NULL_FATAL(f);
        fprintf(f, "mcpu = \"rig\";\ncorrections = ( %s );\n", all[i].text);
        fclose(f);
        snprintf(settings, sizeof settings, "preset=%s", path);
        CU_ASSERT_EQUAL(turn_of(settings, chain_register), all[i].chain);
        CU_ASSERT_EQUAL(turn_of(settings, products), all[i].independent);
        snprintf(settings, sizeof settings, "preset=%s,dispatch_uops=1", path);
        CU_ASSERT_EQUAL(turn_of(settings, products), all[i].narrow);
        snprintf(settings, sizeof settings, "preset=%s,mcpu=other", path); /* of the preset's processor */
        CU_ASSERT_EQUAL(turn_of(settings, chain_register), 3);
    }
    remove(path);
    rig_with_processor = RIG_NONE;
}

/* Addresses are computed of two parts and of three, in turn. */
static void addresses(struct rig_code *c)
{
    enum { TWO = 1 | PEET_VARIANT_INDEX, THREE = TWO | 1 << PEET_VARIANT_DISP_SHIFT };
    static const struct peet_opcode two = {.name = "LEA64r", .variant = TWO},
                                    three = {.name = "LEA64r", .variant = THREE};

    rig_insn(c, &two, 1, 1, -1, 0, 0, 0);
    rig_insn(c, &three, 1, 1, -1, 0, 0, 0);
}

/* Corrections of those of three parts only, and units that the model does not have. */
static void parts_of_addresses(void)
{
    char path[300], settings[400];
    struct rig rig;
    FILE *f;

    snprintf(path, sizeof path, "%s/parts.cfg", rig_folder());
    snprintf(settings, sizeof settings, "preset=%s", path);
    rig_with_processor = RIG_OUT_OF_ORDER;
    f = fopen(path, "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    fprintf(f, "mcpu = \"rig\";\ncorrections = ( { opcodes = \"LEA*\"; parts = 3; latency = 7; } );\n");
    fclose(f);
    CU_ASSERT_EQUAL(turn_of(settings, addresses), 1 + 7);
    f = fopen(path, "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    fprintf(f, "mcpu = \"rig\";\ncorrections = ( { opcodes = \"LEA*\"; units = \"P7\"; } );\n");
    fclose(f);
    CU_ASSERT_NOT_EQUAL(rig_open(&rig, 1, settings), 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(rig.failure, "\"P7\""));
    rig_close(&rig);
    remove(path);
    rig_with_processor = RIG_NONE;
}

/* Two additions, which either of two units can do, and a product, which only the second one can. */
static void sums_and_product(struct rig_code *c)
{
    rig_insn(c, &rig_add, 1, 10, -1, 0, 0, 0);
    rig_insn(c, &rig_add, 2, 10, -1, 0, 0, 0);
    rig_insn(c, &rig_mul, 3, 10, -1, 0, 0, 0);
}

/* The unit that is free first, or that whose turn it is: who would wait long for the one takes another in either case. */
static void choices(void)
{
    rig_with_processor = RIG_OUT_OF_ORDER;
    CU_ASSERT_EQUAL(turn_of("dispatch_uops=6,unit_choice=turn", sums_and_product), 1.5);
    CU_ASSERT_EQUAL(turn_of("dispatch_uops=6,unit_choice=turn", chain_register), 3);
    CU_ASSERT_EQUAL(turn_of("dispatch_uops=6,unit_choice=turn", products), 4);
    rig_with_processor = RIG_NONE;
}

/** A preset for the processor of the rig, with these lines besides.  Returns: settings that name it */
static const char *preset_of(const char *lines)
{
    static char path[300], settings[400];
    FILE *f;

    snprintf(path, sizeof path, "%s/lines.cfg", rig_folder());
    snprintf(settings, sizeof settings, "preset=%s,dispatch_uops=8,window_uops=400", path);
    f = fopen(path, "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    fprintf(f, "mcpu = \"rig\";\n%s\n", lines);
    fclose(f);
    return settings;
}

/* A chain of eight products that begins anew in each turn, so that the next one need not wait for it. */
static void chain_of_products(struct rig_code *c)
{
    for (unsigned i = 0; i < 8; i++)
        rig_insn(c, &rig_mul, 1, i ? 1 : 10, -1, 0, 0, 0);
}

/* The same, and four additions for which nothing waits. */
static void products_and_sums(struct rig_code *c)
{
    chain_of_products(c);
    for (unsigned i = 0; i < 4; i++)
        rig_insn(c, &rig_add, 2, 10, -1, 0, 0, 0);
}

/*
 * Schedulers that belong to units. With one entry each product is dispatched when the one before it has issued: seven wait for
 * a product of three cycles, and the first of the next chain for one cycle. With many entries, only for the unit.
 */
static void schedulers(void)
{
    struct rig rig;

    rig_with_processor = RIG_OUT_OF_ORDER;
    CU_ASSERT_EQUAL(turn_of(preset_of("unit_queues = ( { units = \"P1\"; entries = 1; } );"), chain_of_products),
        7 * 3 + 1);
    CU_ASSERT(turn_of(preset_of("unit_queues = ( { units = \"P1\"; entries = 90; } );"), chain_of_products) < 8.1);
    /* the model's queue, of all units, with another size */
    CU_ASSERT_EQUAL(turn_of(preset_of("unit_queues = ( { units = \"ALL\"; entries = 1; } );"), chain_of_products),
        7 * 3 + 1);
    CU_ASSERT(turn_of(preset_of("unit_queues = ( { units = \"ALL\"; entries = 90; } );"), chain_of_products) < 8.1);
    /* sums go where there is room, and take no cycles from the products: in turn, or by room */
    CU_ASSERT_EQUAL(turn_of(preset_of("unit_choice = \"turn\"; unit_queues = ( { units = \"P0\"; entries = 90; }, "
                                      "{ units = \"P1\"; entries = 1; } );"),
                        products_and_sums),
        7 * 3 + 1);
    CU_ASSERT_EQUAL(turn_of(preset_of("unit_queues = ( { units = \"P0\"; entries = 90; }, "
                                      "{ units = \"P1\"; entries = 1; } );"),
                        products_and_sums),
        7 * 3 + 1);
    /* of one scheduler for both, they wait for the last product, too */
    CU_ASSERT_EQUAL(turn_of(preset_of("unit_queues = ( { units = \"P0 P1\"; entries = 1; } );"), products_and_sums),
        7 * 3 + 1 + 4);
    CU_ASSERT_NOT_EQUAL(rig_open(&rig, 1, preset_of("unit_queues = ( { units = \"P7\"; entries = 1; } );")), 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(rig.failure, "\"P7\""));
    rig_close(&rig);
    rig_with_processor = RIG_NONE;
}

/* A vector's operand from memory, at an address that the result of the turn before has. */
static void vector_operand(struct rig_code *c)
{
    static const struct peet_opcode product = {.name = "MULPDrm", .mnemonic = "mulpd", .klass = PEET_INSN_FP_MUL};

    rig_insn(c, &product, 1, -1, 1, PEET_REF_LOAD, 0x1000, 16);
}

static void vector_loads(void)
{
    rig_with_processor = RIG_OUT_OF_ORDER;
    CU_ASSERT_EQUAL(turn_of("", vector_operand), 8 + 3); /* as the model has it */
    CU_ASSERT_EQUAL(turn_of("vector_load_cycles=7", vector_operand), 7 + 3);
    CU_ASSERT_EQUAL(turn_of("vector_load_cycles=2", vector_operand), 4 + 3); /* no sooner than any load */
    CU_ASSERT_EQUAL(turn_of("vector_load_cycles=7", chain_register), 3);
    rig_with_processor = RIG_NONE;
}

/* They take slots of dispatch, and no unit. */
static void no_operations(struct rig_code *c)
{
    static const struct peet_opcode nop = {.name = "NOOP", .mnemonic = "nop", .klass = PEET_INSN_NOP};

    for (unsigned i = 0; i < 8; i++)
        rig_insn(c, &nop, -1, -1, -1, 0, 0, 0);
}

static void nops(void)
{
    rig_with_processor = RIG_OUT_OF_ORDER;
    CU_ASSERT_EQUAL(turn_of("dispatch_uops=8,retire_uops=8", no_operations), 1);
    rig_with_processor = RIG_NONE;
}

/* Where a call may land: no operation, whatever LLVM's model has. */
static void landing(struct rig_code *c)
{
    static const struct peet_opcode endbr = {
        .name = "ENDBR64", .mnemonic = "endbr64", .latency_cycles = 100, .uops = 100, .klass = PEET_INSN_OTHER};

    for (unsigned i = 0; i < 3; i++)
        rig_insn(c, &rig_add, 1, 10, -1, 0, 0, 0);
    rig_insn(c, &endbr, -1, -1, -1, 0, 0, 0);
}

static void landings(void)
{
    CU_ASSERT_EQUAL(turn_of("dispatch_uops=1", landing), 4);
    rig_with_processor = RIG_OUT_OF_ORDER;
    CU_ASSERT_EQUAL(turn_of("dispatch_uops=4", landing), 1.5); /* two units for the additions */
    rig_with_processor = RIG_NONE;
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

static void chain_folded(struct rig_code *c) /* chain_register() with a load */
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
        {"window", window}, {"loads", loads}, {"forwarding", forwarding}, {"renaming", renaming}, {"pairs", pairs},
        {"places in turn", places_in_turn}, {"addresses of two", addresses_of_two},
        {"stores to one line", stores_to_one_line}, {"fusion", fusion}, {"landings", landings},
        {"corrections", corrections}, {"parts of addresses", parts_of_addresses}, {"choices", choices},
        {"schedulers", schedulers}, {"vector loads", vector_loads}, {"nops", nops}, {"store queue", store_queue},
        {"fences", fences}, {"mispredictions", mispredictions}, {"in order", in_order},
        {"pipeline in order", in_order_pipeline}, {"threads", threads}, CU_TEST_INFO_NULL};

    return run_suite("x86 times", tests);
}
