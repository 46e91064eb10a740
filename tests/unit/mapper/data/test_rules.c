/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of data structures against the plainest model, a list of blocks: random allocations, releases and moves at
 * several sites, then the same with another layout.  Sites have names from a hook, as code without debug information
 * has.
 */
#include "data/rules.h"
#include "data/datamap.h"
#include "data/remap.h"

#include <CUnit/Basic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCKS = 300, SITES = 6, HEAP_BYTES = 1 << 20 };
#define HEAP 0x200000000000u

struct block {
    uint64_t address, bytes, number;
    unsigned site;
};
struct sums {
    uint64_t objects, live, bytes, bytes_live, peak;
};

static struct block blocks[BLOCKS];
static size_t n;
static struct sums sums[SITES];
static uint64_t state = 1234567;

static uint64_t rnd(uint64_t below)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state % below;
}

/** Site k is the code round 0x1000 * (k + 1), called "site<k>". */
static int place(void *arg, uint64_t pc, const char **function, const char **file, unsigned *line, uint64_t *start)
{
    static char name[40];

    (void)arg;
    if (pc < 0x1000 || pc >= 0x1000 * (SITES + 1))
        return 0;
    snprintf(name, sizeof name, "site%llu", (unsigned long long)(pc / 0x1000 - 1));
    *function = name;
    *file = "";
    *line = 0;
    *start = pc & ~(uint64_t)0xfff;
    return 1;
}

static const struct peet_datamap_hooks hooks = {place, NULL};

static void name_of(unsigned site, char *out)
{
    sprintf(out, "site%u+0x10", site);
}

static int overlaps(uint64_t address, uint64_t bytes)
{
    for (size_t i = 0; i < n; i++)
        if (address < blocks[i].address + ((blocks[i].bytes + 15) & ~15ull) && blocks[i].address < address + bytes)
            return 1;
    return 0;
}

static const struct block *model_find(uint64_t address)
{
    for (size_t i = 0; i < n; i++)
        if (address - blocks[i].address < ((blocks[i].bytes + 15) & ~15ull))
            return &blocks[i];
    return NULL;
}

static void add(unsigned site, uint64_t bytes, uint64_t total, int first)
{
    struct sums *s = &sums[site];

    s->objects += (uint64_t)first;
    s->live++;
    s->bytes += total;
    s->bytes_live += bytes;
    if (s->bytes_live > s->peak)
        s->peak = s->bytes_live;
}

static void take(unsigned site, uint64_t bytes)
{
    sums[site].live--;
    sums[site].bytes_live -= bytes;
}

static uint64_t free_place(uint64_t bytes)
{
    for (;;) {
        uint64_t at = HEAP + 16 * rnd((HEAP_BYTES - bytes) / 16);

        if (!overlaps(at, (bytes + 15) & ~15ull))
            return at;
    }
}

static uint64_t some_bytes(void)
{
    return rnd(4) ? 1 + rnd(100) : 1 + rnd(9000);
}

/** One random step, in the table and in the model. */
static void step(struct peet_datamap *m)
{
    size_t i = n ? rnd(n) : 0;
    uint64_t bytes = some_bytes();

    if (n < BLOCKS && (!n || rnd(5) < 2)) {
        struct block b = {free_place(bytes), bytes, 0, (unsigned)rnd(SITES)};
        uint64_t args[] = {b.address, b.bytes, 0x1000u * (b.site + 1) + 0x10};

        b.number = sums[b.site].objects;
        add(b.site, bytes, bytes, 1);
        blocks[n++] = b;
        CU_ASSERT_EQUAL(peet_datamap_note(m, PEET_ABSTRACT_ALLOC, args, 3), 0);
    } else if (n && rnd(3)) {
        uint64_t args[] = {blocks[i].address, 0};

        take(blocks[i].site, blocks[i].bytes);
        CU_ASSERT_EQUAL(peet_datamap_note(m, PEET_ABSTRACT_FREE, args, 2), 0);
        peet_datamap_settle(m);
        blocks[i] = blocks[--n];
    } else if (n) { /* realloc, at another site than the block's own: it stays what it is */
        struct block old = blocks[i];
        uint64_t released[] = {old.address, 0, 0, UINT64_MAX}, args[7];

        blocks[i].bytes = 0;
        blocks[i].address = 0;
        blocks[i].address = rnd(2) && !overlaps(old.address, (bytes + 15) & ~15ull) ? old.address : free_place(bytes);
        blocks[i].bytes = bytes;
        take(old.site, old.bytes);
        add(old.site, bytes, bytes > old.bytes ? bytes - old.bytes : 0, 0);
        args[0] = blocks[i].address;
        args[1] = bytes;
        args[2] = 0;
        args[3] = 0;
        args[4] = old.address;
        args[5] = 0;
        args[6] = 0x1000u * (uint64_t)(1 + rnd(SITES)) + 0x10;
        CU_ASSERT_EQUAL(peet_datamap_note(m, PEET_ABSTRACT_FREE, released, 4), 0);
        CU_ASSERT_EQUAL(peet_datamap_note(m, PEET_ABSTRACT_ALLOC, args, 7), 0);
    }
}

static unsigned check_numbers(struct peet_datamap *m)
{
    unsigned wrong = 0;

    for (uint32_t id = 2; id < peet_datamap_count(m); id++) {
        const struct peet_data *d = peet_datamap_get(m, id);
        const struct sums *s = NULL;
        char name[40];

        for (unsigned site = 0; site < SITES; site++) {
            name_of(site, name);
            if (!strcmp(name, d->name))
                s = &sums[site];
        }
        wrong += !s || d->kind != PEET_DATA_HEAP || d->objects != s->objects || d->objects_live != s->live ||
            d->bytes != s->bytes || d->bytes_live != s->bytes_live || d->bytes_peak != s->peak;
    }
    return wrong;
}

/** @moved: modules see the address at which remap has it. */
static unsigned check_address(struct peet_datamap *m, struct peet_remap *remap, uint64_t address)
{
    const struct block *b = model_find(address);
    uint64_t shown = remap ? peet_remap_address(remap, address, NULL) : address, origin;
    struct peet_data_object o;
    const struct peet_data *d = peet_datamap_of(m, shown, &o);
    char name[40];

    if (!b)
        return d->kind != PEET_DATA_REST || shown != address || peet_datamap_of(m, shown, NULL) != d;
    name_of(b->site, name);
    if (remap && address - b->address < b->bytes && peet_remap_origin(remap, shown, &origin) && origin != address)
        return 1;
    if (address - b->address >= b->bytes) /* the rest of 16 bytes */
        return strcmp(d->name, name) != 0;
    return strcmp(d->name, name) || o.number != b->number || o.bytes != b->bytes ||
        shown - o.address != address - b->address;
}

static void reset(void)
{
    n = 0;
    memset(sums, 0, sizeof sums);
}

static void test_random(void)
{
    struct peet_datamap *m;
    unsigned wrong = 0;

    reset();
    CU_ASSERT_EQUAL_FATAL(peet_datamap_new(&hooks, &m, NULL), 0);
    for (unsigned i = 0; i < 20000; i++) {
        step(m);
        wrong += check_numbers(m);
        for (unsigned k = 0; k < 4; k++)
            wrong += check_address(m, NULL, n && k ? blocks[rnd(n)].address + rnd(200) : HEAP + rnd(HEAP_BYTES));
    }
    CU_ASSERT_EQUAL(wrong, 0);
    CU_ASSERT(peet_datamap_count(m) == 2 + SITES);
    peet_datamap_free(m);
}

/** A block is given again before its release has been delivered. */
static void test_late_release(void)
{
    struct peet_datamap *m;
    uint64_t first[] = {HEAP, 100, 0x1010}, second[] = {HEAP, 64, 0x2010}, released[] = {HEAP, 0};
    struct peet_data_object o;

    CU_ASSERT_EQUAL_FATAL(peet_datamap_new(&hooks, &m, NULL), 0);
    peet_datamap_note(m, PEET_ABSTRACT_ALLOC, first, 3);
    peet_datamap_note(m, PEET_ABSTRACT_ALLOC, second, 3);
    CU_ASSERT_STRING_EQUAL(peet_datamap_of(m, HEAP + 5, &o)->name, "site1+0x10");
    CU_ASSERT_EQUAL(peet_datamap_of(m, HEAP + 70, NULL)->kind, PEET_DATA_REST);
    peet_datamap_note(m, PEET_ABSTRACT_FREE, released, 2); /* the first's */
    CU_ASSERT_STRING_EQUAL(peet_datamap_of(m, HEAP + 5, &o)->name, "site1+0x10");
    peet_datamap_settle(m);
    CU_ASSERT_STRING_EQUAL(peet_datamap_of(m, HEAP + 5, &o)->name, "site1+0x10");
    peet_datamap_note(m, PEET_ABSTRACT_FREE, released, 2);
    CU_ASSERT_STRING_EQUAL(peet_datamap_of(m, HEAP + 5, &o)->name, "site1+0x10"); /* who is told may still ask */
    peet_datamap_settle(m);
    CU_ASSERT_EQUAL(peet_datamap_of(m, HEAP + 5, NULL)->kind, PEET_DATA_REST);
    CU_ASSERT_EQUAL(peet_datamap_get(m, 2)->objects_live, 0);
    CU_ASSERT_EQUAL(peet_datamap_get(m, 3)->objects_live, 0);
    peet_datamap_free(m);
}

/** Mappings lose what is unmapped, piece by piece. */
static void test_mappings(void)
{
    struct peet_datamap *m;
    const uint64_t at = 0x300000000000u;
    uint64_t map[] = {at, 5 * 4096, 0, 1, 0, 0, 0x1010}, part[] = {at + 4096, 0, 1, 4096}, all[] = {at, 0, 1, 5 * 4096};
    const struct peet_data *d;

    CU_ASSERT_EQUAL_FATAL(peet_datamap_new(&hooks, &m, NULL), 0);
    peet_datamap_note(m, PEET_ABSTRACT_ALLOC, map, 7);
    d = peet_datamap_of(m, at + 3 * 4096, NULL);
    CU_ASSERT_EQUAL(d->kind, PEET_DATA_MAPPED);
    peet_datamap_note(m, PEET_ABSTRACT_FREE, part, 4);
    peet_datamap_settle(m);
    CU_ASSERT_EQUAL(d->bytes_live, 4 * 4096);
    CU_ASSERT_EQUAL(peet_datamap_of(m, at + 4096, NULL)->kind, PEET_DATA_REST);
    CU_ASSERT_PTR_EQUAL(peet_datamap_of(m, at + 4095, NULL), d);
    CU_ASSERT_PTR_EQUAL(peet_datamap_of(m, at + 8192, NULL), d);
    peet_datamap_note(m, PEET_ABSTRACT_FREE, all, 4);
    peet_datamap_settle(m);
    CU_ASSERT_EQUAL(d->bytes_live, 0);
    CU_ASSERT_EQUAL(d->objects_live, 0);
    CU_ASSERT_EQUAL(d->bytes_peak, 5 * 4096);
    CU_ASSERT_EQUAL(peet_datamap_of(m, at, NULL)->kind, PEET_DATA_REST);
    peet_datamap_free(m);
}

/** Stacks are ranges; what lies in them is not theirs. */
static void test_stacks(void)
{
    struct peet_datamap *m;
    uint64_t inside[] = {0x120000001000u, 32, 0x1010};
    struct peet_data_object o;

    CU_ASSERT_EQUAL_FATAL(peet_datamap_new(&hooks, &m, NULL), 0);
    CU_ASSERT_EQUAL(peet_datamap_add_stack(m, 0x120000000000u, 0x120000010000u), 0);
    CU_ASSERT_EQUAL(peet_datamap_add_stack(m, 0x110000000000u, 0x110000010000u), 0);
    CU_ASSERT_EQUAL(peet_datamap_of(m, 0x120000000500u, &o)->kind, PEET_DATA_STACK);
    CU_ASSERT(o.address == 0x120000000000u && o.bytes == 0x10000);
    peet_datamap_note(m, PEET_ABSTRACT_ALLOC, inside, 3);
    CU_ASSERT_EQUAL(peet_datamap_of(m, 0x120000000500u, &o)->kind, PEET_DATA_STACK);
    CU_ASSERT(o.address == 0x120000000000u && o.bytes == 0x1000);
    CU_ASSERT_EQUAL(peet_datamap_of(m, 0x120000001008u, &o)->kind, PEET_DATA_HEAP);
    CU_ASSERT_EQUAL(peet_datamap_of(m, 0x11000000ffffu, NULL)->kind, PEET_DATA_STACK);
    CU_ASSERT_EQUAL(peet_datamap_of(m, 0x110000010000u, &o)->kind, PEET_DATA_REST);
    CU_ASSERT(o.address == 0x110000010000u && o.bytes == 4096); /* of the rest: as far as the page is */
    CU_ASSERT_EQUAL(peet_datamap_of(m, 0x11fffffff123u, &o)->kind, PEET_DATA_REST);
    CU_ASSERT(o.address == 0x11fffffff000u && o.bytes == 4096);
    peet_datamap_free(m);
}

/* ----------------------------------------------------------------------------------------------- layouts */

/** Under each rule: back is where it came from, no two locations meet, and the rule is kept. */
static void with_rules(const char *const *texts, size_t nrules)
{
    struct peet_rule rules[8];
    struct peet_datamap *m;
    struct peet_remap *remap;
    struct peet_rules *held;
    unsigned wrong = 0;

    reset();
    for (size_t i = 0; i < nrules; i++)
        CU_ASSERT_EQUAL_FATAL(peet_rule_parse("test", texts[i], &rules[i], NULL), 0);
    CU_ASSERT_EQUAL_FATAL(peet_datamap_new(&hooks, &m, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(peet_remap_new(m, rules, nrules, &remap, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(peet_rules_new(m, rules, nrules, &held, NULL), 0);
    for (unsigned i = 0; i < 3000; i++) {
        step(m);
        for (unsigned k = 0; k < 4; k++)
            wrong += check_address(m, remap, n && k ? blocks[rnd(n)].address + rnd(200) : HEAP + rnd(HEAP_BYTES));
    }
    wrong += check_numbers(m);
    for (size_t i = 0; i < n; i++) { /* pairs of blocks do not meet */
        uint64_t lo = peet_remap_address(remap, blocks[i].address, NULL),
                 hi = peet_remap_address(remap, blocks[i].address + blocks[i].bytes - 1, NULL);

        for (size_t k = 0; k < i; k++) {
            uint64_t other = peet_remap_address(remap, blocks[k].address, NULL),
                     end = peet_remap_address(remap, blocks[k].address + blocks[k].bytes - 1, NULL);

            wrong += lo <= end && other <= hi;
        }
        if (blocks[i].site == 0) /* pad=site0*:64 */
            wrong += lo % 64 != 0;
        if (blocks[i].site == 1) /* align=site1*:4096 */
            wrong += lo % 4096 != 0 || hi - lo != blocks[i].bytes - 1;
        if (blocks[i].site == 2) /* stride=site2*:4:24 */
            for (uint64_t a = 0; a < blocks[i].bytes; a++)
                wrong += peet_remap_address(remap, blocks[i].address + a, NULL) != lo + a / 4 * 24 + a % 4;
        if (blocks[i].site == 3) /* base=site3*:0x500000000000 */
            wrong += lo < 0x500000000000u || lo >= 0x500000000000u + (1u << 30);
        if (blocks[i].site >= 4)
            wrong += lo != blocks[i].address;
    }
    CU_ASSERT_EQUAL(wrong, 0);
    CU_ASSERT_PTR_NULL(peet_remap_error(remap));
    CU_ASSERT_EQUAL(peet_rules_unused(held, NULL), 0);
    peet_rules_free(held);
    peet_remap_free(remap);
    peet_datamap_free(m);
}

static void test_layouts(void)
{
    static const char *const texts[] = {
        "pad=site0+*:64", "align=site1+0x10:4KiB", "stride=site2*:4:24", "base=site3+0x1?:0x500000000000"};

    with_rules(texts, 4);
}

/** A range of addresses, whatever lies there. */
static void test_ranges(void)
{
    struct peet_rule rules[2];
    struct peet_datamap *m;
    struct peet_remap *remap;
    struct peet_error error = {0, ""};
    uint64_t bytes, origin;

    CU_ASSERT_EQUAL(peet_rule_parse("t", "stride=0x1000-0x1100:8:64", &rules[0], NULL), 0);
    CU_ASSERT_EQUAL(peet_rule_parse("t", "base=0x2000+256:0x7000000", &rules[1], NULL), 0);
    CU_ASSERT_EQUAL_FATAL(peet_datamap_new(&hooks, &m, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(peet_remap_new(m, rules, 2, &remap, NULL), 0);
    CU_ASSERT_EQUAL(peet_remap_address(remap, 0xfff, NULL), 0xfff);
    CU_ASSERT_EQUAL(peet_remap_address(remap, 0x1009, &bytes) - peet_remap_address(remap, 0x1000, NULL), 65);
    CU_ASSERT_EQUAL(bytes, 7);
    CU_ASSERT_EQUAL(peet_remap_address(remap, 0x1100, NULL), 0x1100);
    CU_ASSERT_EQUAL(peet_remap_address(remap, 0x20ff, NULL), 0x70000ff);
    CU_ASSERT(peet_remap_origin(remap, 0x70000ff, &origin) && origin == 0x20ff);
    CU_ASSERT(!peet_remap_origin(remap, 0x7000100, &origin));
    peet_remap_free(remap);
    CU_ASSERT_EQUAL(peet_rule_parse("t", "base=0x10f0+256:0x7000000", &rules[1], NULL), 0);
    CU_ASSERT_EQUAL(peet_remap_new(m, rules, 2, &remap, &error), PEET_EINVALID);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "overlaps"));
    peet_datamap_free(m);
}

static void test_texts(void)
{
    static const char *const bad[] = {"", "pad", "pad=", "pad=x", "pad=x:", "pad=x:0", "pad=x:48", "pad=:64",
        "pda=x:64", "align=x:3", "base=x:y", "base=x:0xffffffffffff", "stride=x:8", "stride=x:8:4", "stride=x:0:4",
        "pad=0x10:64", "pad=0x20-0x10:64", "pad=5x:64"};
    struct peet_rule rule;

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct peet_error error = {0, ""};

        CU_ASSERT_EQUAL(peet_rule_parse("--remap", bad[i], &rule, &error), PEET_EINVALID);
        CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "--remap"));
    }
    CU_ASSERT_EQUAL(peet_rule_parse("t", "stride=ns::x:8:1KiB", &rule, NULL), 0);
    CU_ASSERT_STRING_EQUAL(rule.name, "ns::x");
    CU_ASSERT(rule.element_bytes == 8 && rule.value == 1024);
}

static void test_unused(void)
{
    struct peet_rule rule;
    struct peet_datamap *m;
    struct peet_rules *held;
    struct peet_error error = {0, ""};
    uint64_t args[] = {HEAP, 16, 0x1010};

    CU_ASSERT_EQUAL_FATAL(peet_datamap_new(&hooks, &m, NULL), 0);
    peet_rule_perfect("t", "site0+0x1", &rule, NULL);
    CU_ASSERT_EQUAL_FATAL(peet_rules_new(m, &rule, 1, &held, NULL), 0);
    peet_datamap_note(m, PEET_ABSTRACT_ALLOC, args, 3);
    CU_ASSERT_EQUAL(peet_rules_unused(held, &error), PEET_ENOTFOUND);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "did you mean 'site0+0x10'"));
    CU_ASSERT_EQUAL(peet_datamap_get(m, 2)->flags, 0);
    peet_rules_free(held);
    peet_rule_perfect("t", "site0*", &rule, NULL);
    CU_ASSERT_EQUAL_FATAL(peet_rules_new(m, &rule, 1, &held, NULL), 0); /* those that are there already */
    CU_ASSERT_EQUAL(peet_rules_unused(held, NULL), 0);
    CU_ASSERT_EQUAL(peet_datamap_get(m, 2)->flags, PEET_DATA_PERFECT);
    CU_ASSERT_EQUAL(peet_rules_moves(held), 0);
    peet_rules_free(held);
    peet_datamap_free(m);
}

int main(void)
{
    CU_TestInfo tests[] = {{"random blocks", test_random}, {"late releases", test_late_release},
        {"mappings", test_mappings}, {"stacks", test_stacks}, {"layouts", test_layouts}, {"ranges", test_ranges},
        {"texts", test_texts}, {"names that nothing has", test_unused}, CU_TEST_INFO_NULL};
    CU_SuiteInfo suites[] = {{"data", NULL, NULL, NULL, NULL, tests}, CU_SUITE_INFO_NULL};
    unsigned failures;

    if (CU_initialize_registry() || CU_register_suites(suites))
        return 1;
    CU_basic_run_tests();
    failures = CU_get_number_of_failures();
    CU_cleanup_registry();
    return failures != 0;
}
