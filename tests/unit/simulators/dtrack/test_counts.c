/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dtrack's accesses: random blocks, loops, ranges and conditional references over objects that come and go, against a
 * model that books every access by itself, line by line; the same with executions that are taken in its stead. Patterns
 * of strides.
 */
#include "dtrack_rig.h"
#include "run_suite.h"

#include <peet/direct.h>

enum { BLOCKS = 40, REFS = 8, STEPS = 4000 };

struct model {
    uint64_t reads[DRIG_DATA], writes[DRIG_DATA];
};

static void model_touch(struct model *m, struct drig *rig, uint64_t address, uint32_t size, int kind, uint32_t line)
{
    uint32_t data = drig_data_of(&rig->env, address, NULL)->id;
    uint64_t n = line ? (address + size - 1) / line - address / line + 1 : 1;

    m->reads[data] += kind != PEET_REF_STORE ? n : 0;
    m->writes[data] += kind != PEET_REF_LOAD ? n : 0;
}

static void model_turn(struct model *m, struct drig *rig, const struct peet_block *block, const uint64_t *values,
    uint32_t line)
{
    for (uint32_t i = 0; i < block->nrefs; i++) {
        const struct peet_ref *ref = &block->refs[i];

        if (ref->kind == PEET_REF_PREFETCH)
            continue;
        for (struct peet_ref_iter it = peet_ref_begin(ref, values); it.count;
            it.count--, it.address += (uint64_t)it.step)
            model_touch(m, rig, it.address, ref->size_bytes ? ref->size_bytes : 1, ref->kind, line);
    }
}

static void model_event(struct model *m, struct drig *rig, const struct peet_block_event *event, uint32_t line)
{
    uint64_t values[2 * REFS];

    memcpy(values, event->values, event->block->nvalues * sizeof *values);
    for (uint64_t t = 0; t < event->turns; t++) {
        model_turn(m, rig, event->block, values, line);
        for (uint32_t i = 0; event->strides && i < event->block->nvalues; i++)
            values[i] += (uint64_t)event->strides[i];
    }
}

struct made {
    struct peet_block block;
    struct peet_ref refs[REFS];
    int64_t offset[REFS]; /* from the first of its group */
    uint32_t leader[REFS];
};

static void make_block(uint64_t *seed, uint32_t id, struct made *b)
{
    static const uint16_t sizes[] = {1, 2, 4, 8, 8, 8, 16, 32, 10, 64};
    uint32_t n = (uint32_t)drig_random(seed, REFS + 1), leaders[4] = {0}, odd = drig_random(seed, 4) == 0;

    *b = (struct made){.block = {.id = id, .ninsns = n + 1, .nrefs = n, .refs = b->refs, .flags = PEET_BLOCK_SIMPLE}};
    for (uint32_t i = 0; i < n; i++) {
        unsigned what = (unsigned)drig_random(seed, 16);

        b->refs[i] = (struct peet_ref){.insn = i,
            .size_bytes = sizes[drig_random(seed, 10)],
            .value = (uint16_t)b->block.nvalues++,
            .kind = (uint8_t)(what == 15 ? PEET_REF_PREFETCH : drig_random(seed, 3))};
        b->leader[i] = i;
        if (odd && drig_random(seed, 3) == 0) {
            b->refs[i].flags = drig_random(seed, 2) ? PEET_REF_RANGE : PEET_REF_CONDITIONAL;
            b->block.nvalues++;
            b->block.flags = 0;
        } else if (drig_random(seed, 3)) {
            uint32_t g = 1 + (uint32_t)drig_random(seed, 3);

            b->refs[i].group = (uint8_t)g;
            if (leaders[g])
                b->leader[i] = leaders[g] - 1;
            else
                leaders[g] = i + 1;
            b->offset[i] = (int64_t)drig_random(seed, 30) * (drig_random(seed, 2) ? 8 : 1) - 60;
            if (b->leader[i] == i)
                b->offset[i] = 0;
        }
    }
}

/** Addresses near objects, of which some are near each other. */
static uint64_t random_address(struct drig *rig, uint64_t *seed)
{
    const struct drig_object *o = &rig->objects[drig_random(seed, rig->nobjects)];
    uint64_t at = o->address + drig_random(seed, o->bytes + 16);

    return drig_random(seed, 3) ? at & ~7ull : at;
}

static void make_values(struct drig *rig, uint64_t *seed, const struct made *b, uint64_t *values, int64_t *strides)
{
    static const int64_t steps[] = {0, 8, 8, 8, 16, 4, 1, -8, -24, 64, 3, 128, 1000, -5};

    for (uint32_t i = 0; i < b->block.nrefs; i++) {
        const struct peet_ref *ref = &b->refs[i], *leader = &b->refs[b->leader[i]];

        values[ref->value] =
            b->leader[i] == i ? random_address(rig, seed) : values[leader->value] + (uint64_t)b->offset[i];
        strides[ref->value] = b->leader[i] == i ? steps[drig_random(seed, 14)] : strides[leader->value];
        if (ref->flags & (PEET_REF_RANGE | PEET_REF_CONDITIONAL)) {
            values[ref->value + 1] = drig_random(seed, drig_random(seed, 2) ? 2 : 100);
            strides[ref->value + 1] = 0;
        }
    }
}

static void set_up(struct drig *rig, unsigned hws, uint32_t line)
{
    uint64_t at = 0x10000;

    drig_init(rig, hws, line, 4096, line, 65536);
    for (unsigned i = 2; i < 10; i++)
        drig_structure(rig, i < 5 ? PEET_DATA_GLOBAL : PEET_DATA_HEAP, "x");
    drig_object(rig, 1, 0x7fff0000, 0x8000);
    for (unsigned i = 2; i < 60; i++) {
        uint64_t bytes = i % 7 == 0 ? 4000 : 8 * (1 + i % 9);

        drig_object(rig, i < 10 ? i : 5 + i % 5, at, bytes);
        at += (bytes + 15) / 16 * 16 + (i % 5 == 0 ? 100 : 0);
    }
}

static void check(struct drig *rig, const struct model *m)
{
    uint64_t reads = 0, writes = 0;

    drig_finish(rig);
    for (uint32_t d = 0; d < rig->ndata; d++) {
        json_t *o = drig_of(rig, d);

        CU_ASSERT_EQUAL(drig_u64(o, "reads"), m->reads[d]);
        CU_ASSERT_EQUAL(drig_u64(o, "writes"), m->writes[d]);
        reads += m->reads[d];
        writes += m->writes[d];
    }
    CU_ASSERT_EQUAL(drig_u64(json_object_get(rig->stats, "totals"), "reads"), reads);
    CU_ASSERT_EQUAL(drig_u64(json_object_get(rig->stats, "totals"), "writes"), writes);
    CU_ASSERT_EQUAL(rig->failures, 0);
}

/** What peet's machine code would know of a block. */
struct code {
    uint64_t taken;
    struct peet_direct_watch *watch;
};

static int holds(const struct peet_direct_guard *g, const uint64_t *values)
{
    const uint64_t x = values[g->value] - g->base;

    return (x >> g->shift | x << (-g->shift & 63)) < g->span;
}

/** Returns: whether the execution is taken without block(), as code would do it */
static int take(struct drig *rig, struct code *code, const struct peet_block_event *event, uint64_t *seed)
{
    const struct peet_direct_observer *o = peet_module.observed;
    struct peet_direct_watch *w = code->watch;

    if (!w || w->over) { /* made, or made anew, now and then */
        if (drig_random(seed, 4) || o->watch(rig->self, event->block, event->values, &code->watch) || !code->watch)
            return 0;
        w = code->watch;
        w->taken = &code->taken;
    }
    for (uint32_t g = 0; g < w->nguards; g++)
        if (!holds(&w->guards[g], event->values) &&
            (drig_random(seed, 5) == 0 || o->moved(rig->self, event->block, w, g, event->values[w->guards[g].value])))
            return 0;
    if (code->taken >= w->until && (drig_random(seed, 5) == 0 || o->due(rig->self, event, w)))
        return 0;
    if (drig_random(seed, 20) == 0) /* the machine wants the whole block after all */
        return 0;
    for (uint32_t g = 0; g < w->nguards; g++) {
        CU_ASSERT(holds(&w->guards[g], event->values));
        if (w->guards[g].tally)
            w->guards[g].tally[event->values[w->guards[g].value] & w->guards[g].tally_mask]++;
    }
    code->taken++;
    return 1;
}

/** @direct: executions are taken in the module's stead where it lets them be.  Returns: the results */
static json_t *run_random(unsigned hws, uint32_t line, int churn, int direct)
{
    static struct made blocks[BLOCKS];
    static struct code codes[BLOCKS];
    uint64_t whim = 5, all_taken = 0;
    json_t *results;
    struct drig rig;
    struct model model = {0};
    uint64_t seed = 17 + line + hws, done;
    uint32_t released = 0;

    memset(codes, 0, sizeof codes);
    set_up(&rig, hws, line);
    CU_ASSERT_FATAL(drig_open(&rig, NULL) == 0);
    for (uint32_t i = 0; i < BLOCKS; i++)
        make_block(&seed, i * 3, &blocks[i]);
    for (unsigned step = 0; step < STEPS; step++) {
        const struct made *b = &blocks[drig_random(&seed, BLOCKS)];
        uint64_t values[2 * REFS];
        int64_t strides[2 * REFS];
        unsigned hw = (unsigned)drig_random(&seed, hws);
        struct peet_block_event event = {&b->block, values, hw, 1, NULL};

        make_values(&rig, &seed, b, values, strides);
        if (drig_random(&seed, 3) == 0 && b->block.flags & PEET_BLOCK_SIMPLE) {
            event.turns = 1 + drig_random(&seed, drig_random(&seed, 2) ? 4 : 600);
            event.strides = strides;
        }
        model_event(&model, &rig, &event, line);
        if (event.turns > 1)
            peet_module.loop(rig.self, hw, &event, 0, UINT64_MAX, &done);
        else if (direct && take(&rig, &codes[b - blocks], &event, &whim))
            all_taken++;
        else if (step & 1)
            peet_module.block(rig.self, hw, &event, 0);
        else
            peet_module.blocks(rig.self, hw, &event, 1, 0, UINT64_MAX, &(size_t){0});
        if (hws > 1 && drig_random(&seed, 50) == 0) { /* watched lines must not change what is counted */
            uint64_t at = random_address(&rig, &seed);
            struct peet_memory_event gone = {.type = PEET_MEMORY_INVALIDATE,
                .level = 1,
                .hw = 0,
                .other = 1,
                .address = at & -(uint64_t)line,
                .by = at};

            peet_module.memory(rig.self, &gone, 1);
        }
        if (churn && drig_random(&seed, 20) == 0) { /* a heap object becomes another structure's */
            struct drig_object *o = &rig.objects[10 + drig_random(&seed, rig.nobjects - 10)];

            o->data = 5 + (o->data + 1) % 5;
            drig_alloc(&rig, released++ & 1);
        }
    }
    check(&rig, &model);
    CU_ASSERT(!direct || all_taken > 10);
    results = json_incref(rig.stats);
    drig_close(&rig);
    return results;
}

static void compare(unsigned hws, uint32_t line, int churn)
{
    json_t *seen = run_random(hws, line, churn, 0),
           *taken = hws == 1 ? run_random(hws, line, churn, 1) : json_incref(seen);

    CU_ASSERT(json_equal(seen, taken));
    json_decref(seen);
    json_decref(taken);
}

static void test_counts(void)
{
    compare(1, 64, 0);
    compare(1, 64, 1);
    compare(1, 32, 1);
    compare(1, 16, 0);
    compare(1, 512, 0);
    compare(1, 0, 1);
    compare(4, 64, 0);
    compare(4, 16, 1);
    compare(3, 512, 1);
}

/** What comes again at the same place, or in the same object, is not looked up again. */
static void test_hints(void)
{
    struct drig rig;
    struct peet_ref refs[2] = {
        {.size_bytes = 8, .value = 0, .group = 1}, {.size_bytes = 8, .value = 1, .kind = PEET_REF_STORE, .group = 1}};
    struct peet_block block = {.id = 0, .nrefs = 2, .nvalues = 2, .refs = refs, .flags = PEET_BLOCK_SIMPLE};
    uint64_t values[2], before;
    struct peet_block_event event = {&block, values, 0, 1, NULL};
    json_t *o;

    drig_init(&rig, 1, 64, 4096, 0, 0);
    drig_structure(&rig, PEET_DATA_GLOBAL, "array");
    drig_object(&rig, 2, 0x10000, 8 * 10001);
    CU_ASSERT_FATAL(drig_open(&rig, NULL) == 0);
    values[0] = 0x10000;
    values[1] = 0x10008;
    peet_module.block(rig.self, 0, &event, 0);
    before = rig.lookups;
    for (unsigned i = 1; i < 10000; i++) {
        values[0] += 8;
        values[1] += 8;
        peet_module.block(rig.self, 0, &event, 0);
    }
    CU_ASSERT_EQUAL(rig.lookups, before);
    drig_finish(&rig);
    o = drig_of(&rig, 2);
    CU_ASSERT_EQUAL(drig_u64(o, "reads"), 10000);
    CU_ASSERT_EQUAL(drig_u64(o, "writes"), 10000);
    CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(o, "pattern")), "regular");
    CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(o, "container")), "array");
    CU_ASSERT(json_real_value(json_object_get(o, "stride_entropy_bits")) < 0.001);
    drig_close(&rig);
}

/** A reference to a watched line that comes to lie in two lines only later. */
static void test_watched(void)
{
    struct drig rig;
    struct peet_ref ref = {.size_bytes = 8, .value = 0, .kind = PEET_REF_MODIFY};
    struct peet_block block = {.id = 0, .nrefs = 1, .nvalues = 1, .refs = &ref, .flags = PEET_BLOCK_SIMPLE};
    const uint64_t line = 0x10020;
    uint64_t value;
    struct peet_block_event event = {&block, &value, 0, 1, NULL};
    const struct peet_memory_event gone = {
        .type = PEET_MEMORY_INVALIDATE, .level = 1, .hw = 0, .other = 1, .address = line, .by = line};

    drig_init(&rig, 2, 32, 4096, 0, 0);
    drig_structure(&rig, PEET_DATA_GLOBAL, "packed");
    drig_object(&rig, 2, 0x10000, 4096);
    CU_ASSERT_FATAL(drig_open(&rig, NULL) == 0);
    peet_module.memory(rig.self, &gone, 1);
    for (value = line; value < line + 64; value += 7) /* 28 and 63 lie across the ends of lines */
        peet_module.block(rig.self, 0, &event, 0);
    drig_finish(&rig);
    CU_ASSERT_EQUAL(drig_u64(drig_of(&rig, 2), "reads"), 10 + 2);
    CU_ASSERT_EQUAL(drig_u64(drig_of(&rig, 2), "writes"), 10 + 2);
    CU_ASSERT_EQUAL(drig_u64(json_object_get(rig.stats, "totals"), "second_line_accesses"), 4);
    drig_close(&rig);
}

/** One reference with the strides of a pattern; the expected entropy in bits, roughly. */
static void pattern(unsigned how, double low, double high, const char *name)
{
    struct drig rig;
    struct peet_ref ref = {.size_bytes = 8};
    struct peet_block block = {.id = 5, .nrefs = 1, .nvalues = 1, .refs = &ref, .flags = PEET_BLOCK_SIMPLE};
    uint64_t value = 0x10000, seed = 5;
    struct peet_block_event event = {&block, &value, 0, 1, NULL};
    double bits;

    drig_init(&rig, 1, 64, 4096, 0, 0);
    drig_structure(&rig, PEET_DATA_GLOBAL, "array");
    drig_object(&rig, 2, 0x10000, 8 << 16);
    CU_ASSERT_FATAL(drig_open(&rig, NULL) == 0);
    for (unsigned i = 0; i < 100000; i++) {
        switch (how) {
        case 0: /* a row of 100, then the next */
            value = 0x10000 + 8 * (i % 100 + i / 100 % 500 * 128);
            break;
        case 1: /* anywhere */
            value = 0x10000 + 8 * drig_random(&seed, 1 << 16);
            break;
        case 2: /* one of eight steps, each as likely: three bits */
            value = 0x10000 + (value - 0x10000 + 8 * (1 + drig_random(&seed, 8))) % (8 << 16);
            break;
        default: /* one of two: one bit */
            value = 0x10000 + (value - 0x10000 + 8 * (1 + drig_random(&seed, 2))) % (8 << 16);
            break;
        }
        peet_module.block(rig.self, 0, &event, 0);
    }
    drig_finish(&rig);
    bits = json_real_value(json_object_get(drig_of(&rig, 2), "stride_entropy_bits"));
    if (bits < low || bits > high)
        printf("pattern %u: %f bits\n", how, bits);
    CU_ASSERT(bits >= low && bits <= high);
    CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(drig_of(&rig, 2), "pattern")), name);
    drig_close(&rig);
}

static void test_patterns(void)
{
    pattern(0, 0.01, 0.3, "regular");
    pattern(1, 6, 20, "irregular");
    pattern(2, 2.5, 3.2, "irregular");
    pattern(3, 0.8, 1.1, "regular");
}

int main(void)
{
    CU_TestInfo tests[] = {{"accesses, random", test_counts}, {"hints", test_hints}, {"watched", test_watched},
        {"patterns", test_patterns}, CU_TEST_INFO_NULL};
    return run_suite("dtrack", tests);
}
