/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reader of the table of costs: a small table written by hand, field by field; every way to cut it short and many
 * to damage it; and the real table, whose every processor must be readable.  What its numbers are worth is tested in
 * tests/costs.
 */
#include "program/costs.h"
#include "small_costs.h"

#include <CUnit/Basic.h>
#include <stdlib.h>

static const struct peet_opcode add = {.name = "ADD", .latency_cycles = 9, .uops = 3}, addx = {.name = "ADDX"},
                                xor = {.name = "XOR"}, xor_same = {.name = "XOR", .variant = 256},
                                xor_other = {.name = "XOR", .variant = 3},
                                strange = {
                                    .name = "STRANGE", .latency_cycles = 9, .uops = 3, .rthroughput_millicycles = 2500};

static struct peet_costs *read_small(void)
{
    static uint8_t bytes[SMALL_COSTS_ROOM];
    struct peet_error error = {0, ""};
    struct peet_costs *costs = NULL;
    int err = peet_costs_read(bytes, small_costs(bytes), "small", &costs, &error);

    if (err)
        puts(error.message);
    CU_ASSERT_EQUAL_FATAL(err, 0);
    return costs;
}

static const struct peet_processor *processor(struct peet_costs *costs, const char *name)
{
    struct peet_error error = {0, ""};
    const struct peet_processor *found = NULL;
    int err = peet_costs_processor(costs, name, &found, &error);

    if (err)
        puts(error.message);
    CU_ASSERT_EQUAL_FATAL(err, 0);
    return found;
}

static void test_fields(void)
{
    struct peet_costs *costs = read_small();
    const struct peet_processor *big = processor(costs, "big");
    const struct peet_cost *c;

    CU_ASSERT_STRING_EQUAL(peet_costs_llvm(costs), "22.1");
    CU_ASSERT_STRING_EQUAL(peet_costs_name(costs, 0), "big");
    CU_ASSERT_STRING_EQUAL(peet_costs_name(costs, 1), "small");
    CU_ASSERT_PTR_NULL(peet_costs_name(costs, 2));
    CU_ASSERT_STRING_EQUAL(big->name, "big");
    CU_ASSERT(big->dispatch_uops == 6 && big->window_uops == 200 && big->load_cycles == 5 &&
        big->mispredict_cycles == 14 && big->retire_uops == 8 && big->load_queue == 72 && big->store_queue == 64 &&
        big->moves_eliminated == 0 && !big->in_order);
    CU_ASSERT_EQUAL_FATAL(big->nresources, 3);
    CU_ASSERT(big->resources[0].units == 1 && big->resources[0].buffer == -1 && big->resources[0].nparts == 0);
    CU_ASSERT(big->resources[1].buffer == 0);
    CU_ASSERT_STRING_EQUAL(big->resources[2].name, "P01");
    CU_ASSERT(big->resources[2].units == 2 && big->resources[2].buffer == 60 && big->resources[2].nparts == 2 &&
        big->resources[2].parts[0] == 0 && big->resources[2].parts[1] == 1);
    c = peet_costs_of(costs, big, &add);
    CU_ASSERT(c->known && c->uops == 1 && c->latency_cycles == 1 && c->rthroughput_millicycles == 500 &&
        c->nuses == 1 && !c->zero_idiom);
    CU_ASSERT(c->uses[0].resource == 2 && c->uses[0].first_cycle == 0 && c->uses[0].end_cycle == 1 &&
        c->uses[0].units == 1 && !c->uses[0].reserved);
    CU_ASSERT(c->buffers == 4 && c->nwrites == 0 && c->nadvances == 0);
    c = peet_costs_of(costs, big, &addx);
    CU_ASSERT(c->uops == 2 && c->latency_cycles == 6 && c->begins_group && !c->ends_group && c->nuses == 2);
    CU_ASSERT(c->uses[0].resource == 0 && c->uses[0].first_cycle == 1 && c->uses[0].end_cycle == 3 &&
        c->uses[1].units == 2 && c->uses[1].reserved);
    CU_ASSERT(c->nwrites == 2 && c->writes[0] == 4 && c->writes[1] == 1);
    CU_ASSERT(c->nadvances == 2 && c->advances[0] == 5 && c->advances[1] == -1 && c->address_advance_cycles == 5);
    CU_ASSERT_PTR_EQUAL(c, peet_costs_of(costs, big, &addx));
    CU_ASSERT_PTR_EQUAL(big, processor(costs, "big"));
    peet_costs_close(costs);
}

static void test_variants(void)
{
    struct peet_costs *costs = read_small();
    const struct peet_processor *big = processor(costs, "big"), *small = processor(costs, "small");
    const struct peet_cost *c;

    CU_ASSERT_PTR_EQUAL(peet_costs_of(costs, big, &xor), peet_costs_of(costs, big, &add));
    CU_ASSERT_PTR_EQUAL(peet_costs_of(costs, big, &xor_other), peet_costs_of(costs, big, &add));
    c = peet_costs_of(costs, big, &xor_same);
    CU_ASSERT(c->zero_idiom && c->latency_cycles == 0 && c->nuses == 0);
    CU_ASSERT(small->in_order && small->window_uops == 0);
    CU_ASSERT(peet_costs_of(costs, small, &add)->uses[0].end_cycle == 1);
    /* what a model does not know costs what the schema says */
    c = peet_costs_of(costs, small, &strange);
    CU_ASSERT(!c->known && c->latency_cycles == 9 && c->uops == 3 && c->rthroughput_millicycles == 2500);
    CU_ASSERT(!peet_costs_of(costs, small, &xor)->known);
    CU_ASSERT(!peet_costs_of(costs, big, &strange)->known);
    peet_costs_close(costs);
}

/** Many opcodes of one name, as a program's functions have them: each finds its cost, also when the table of pointers
 * grows. */
static void test_many(void)
{
    enum { N = 5000 };
    struct peet_costs *costs = read_small();
    const struct peet_processor *big = processor(costs, "big");
    struct peet_opcode *opcodes = calloc(N, sizeof *opcodes);
    const struct peet_cost *one = peet_costs_of(costs, big, &add), *same = peet_costs_of(costs, big, &xor_same);
    unsigned wrong = 0;

    for (unsigned round = 0; round < 2; round++)
        for (unsigned i = 0; i < N; i++) {
            opcodes[i] = i % 3 ? add : xor_same;
            wrong += peet_costs_of(costs, big, &opcodes[i]) != (i % 3 ? one : same);
        }
    CU_ASSERT_EQUAL(wrong, 0);
    peet_costs_close(costs);
    free(opcodes);
}

static void refused(const uint8_t *bytes, size_t n, int code, const char *text)
{
    struct peet_error error = {0, ""};
    struct peet_costs *costs = NULL;
    int err = peet_costs_read(bytes, n, "small", &costs, &error);

    CU_ASSERT_EQUAL(err, code);
    CU_ASSERT_PTR_NULL(costs);
    CU_ASSERT(strstr(error.message, text) != NULL);
}

/** Whatever the bytes are, an answer or a message. */
static unsigned try(const uint8_t *bytes, size_t n)
{
    static const char *const names[] = {"big", "small", "none"};
    struct peet_error error = {0, ""};
    struct peet_costs *costs = NULL;
    unsigned read = 0;

    if (peet_costs_read(bytes, n, "small", &costs, &error)) {
        CU_ASSERT(error.message[0] != 0);
        return 0;
    }
    for (unsigned i = 0; i < 3; i++) {
        const struct peet_processor *p = NULL;

        error = (struct peet_error){0, ""};
        if (peet_costs_processor(costs, names[i], &p, &error)) {
            CU_ASSERT(error.message[0] != 0);
            continue;
        }
        read++;
        CU_ASSERT_PTR_NOT_NULL(peet_costs_of(costs, p, &add));
        CU_ASSERT_PTR_NOT_NULL(peet_costs_of(costs, p, &xor_same));
    }
    peet_costs_close(costs);
    return read;
}

static void test_damage(void)
{
    uint8_t bytes[SMALL_COSTS_ROOM], other[SMALL_COSTS_ROOM];
    size_t n = small_costs(bytes);
    unsigned whole = 0;

    memcpy(other, bytes, n);
    other[0] = 'X';
    refused(other, n, PEET_EFORMAT, "not a table");
    refused(bytes, 11, PEET_EFORMAT, "not a table");
    memcpy(other, bytes, n);
    other[8] = 7;
    refused(other, n, PEET_EVERSION, "version 7; this peet reads version 1");
    refused(bytes, n - 1, PEET_EFORMAT, "damaged");
    for (size_t cut = 16; cut < n; cut++) {
        memcpy(other, bytes, n);
        other[12] = (uint8_t)(cut - 16);
        CU_ASSERT_EQUAL(try(other, cut), 0); /* the last part is missing bytes: its processor's, or all */
    }
    for (size_t at = 16; at < n; at++)
        for (unsigned value = 0; value < 256; value += value < 140 ? 1 : 23) {
            memcpy(other, bytes, n);
            other[at] = (uint8_t)value;
            whole += try(other, n) == 2;
        }
    CU_ASSERT(whole > 0); /* some numbers may be others */
}

static void test_real(void)
{
    static const char *const requested[] = {
        "skylake-avx512", "sapphirerapids", "znver4", "haswell", "icelake-server", "atom", "silvermont", "x86-64"};
    struct peet_error error = {0, ""};
    struct peet_costs *costs = NULL;
    const struct peet_opcode mov = {.name = "MOV64rm"};
    size_t n = 0;

    CU_ASSERT_EQUAL_FATAL(peet_costs_open(getenv("PEET_COSTS_FILE"), &costs, &error), 0);
    for (const char *name; (name = peet_costs_name(costs, n)) != NULL; n++) {
        const struct peet_processor *p = processor(costs, name);
        const struct peet_cost *c = peet_costs_of(costs, p, &mov);

        CU_ASSERT(p->nresources > 0 && p->load_cycles > 0 && p->mispredict_cycles > 0 && c->known && c->nuses > 0 &&
            c->latency_cycles > 0);
    }
    for (unsigned i = 0; i < sizeof requested / sizeof *requested; i++)
        processor(costs, requested[i]);
    printf("%zu processors ", n);
    peet_costs_close(costs);
    CU_ASSERT_EQUAL(peet_costs_open("/nonexistent/costs.bin", &costs, &error), PEET_EIO);
}

int main(void)
{
    CU_initialize_registry();
    CU_pSuite suite = CU_add_suite("costs", NULL, NULL);
    CU_add_test(suite, "fields", test_fields);
    CU_add_test(suite, "variants and guesses", test_variants);
    CU_add_test(suite, "many opcodes", test_many);
    CU_add_test(suite, "damage", test_damage);
    if (getenv("PEET_COSTS_FILE"))
        CU_add_test(suite, "every processor", test_real);
    CU_basic_set_mode(CU_BRM_VERBOSE);
    CU_basic_run_tests();
    unsigned failed = CU_get_number_of_failures();
    CU_cleanup_registry();
    return failed != 0;
}
