/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blocks that are repeated from what they did before take the same times, and the same is charged to the same places,
 * as when all instructions are gone through: two machines, one with replay=on and one with replay=off, execute the same
 * random programs with loops, misses, mispredictions, forwarding from stores, locked operations, fences, prefetches,
 * waits and changes of contexts.
 */
#include "corerig.h"
#include "x86/core_replay.h"

enum { BLOCKS = 14, PROGRAMS = TEST_SHARE > 1 ? 1 : 3 };

static struct rig_code *random_block(uint32_t id, uint64_t *seed)
{
    static const struct peet_opcode *const plain[] = {
        &rig_add, &rig_mul, &rig_add, &rig_slow, &rig_big, &rig_add, &rig_mul, &rig_lea};
    static const struct peet_opcode fences[] = {{.name = "MFENCE", .klass = PEET_INSN_FENCE},
        {.name = "LFENCE", .klass = PEET_INSN_FENCE}, {.name = "SFENCE", .klass = PEET_INSN_FENCE}, {.name = "PAUSE"},
        {.name = "CPUID"}};
    static const struct peet_opcode prefetch = {.name = "PREFETCHT0", .uops = 1, .klass = PEET_INSN_MOVE};
    struct rig_code *c = rig_block(id);
    unsigned n = 1 + (unsigned)rig_random(seed, 10), often = id % 2 ? 12 : 3;

    for (unsigned i = 0; i < n; i++) {
        int to = (int)rig_random(seed, 12), from = (int)rig_random(seed, 12), by = (int)rig_random(seed, 12);
        uint64_t address = 0x10000 + 8 * rig_random(seed, 900);

        switch (rig_random(seed, 8)) {
        case 0:
        case 1:
        case 2:
            rig_insn(c, &rig_load, to, -1, by, PEET_REF_LOAD, address, 1u << rig_random(seed, 5));
            break;
        case 3:
            rig_insn(c,
                rig_random(seed, 3)       ? &rig_store
                    : rig_random(seed, 2) ? &rig_change
                                          : &rig_add,
                -1, from, by, rig_random(seed, 3) ? PEET_REF_STORE : PEET_REF_MODIFY, address,
                1u << rig_random(seed, 5));
            break;
        case 4:
            if (!rig_random(seed, often)) /* some lie in two lines */
                rig_insn(c, &rig_locked, -1, from, by, PEET_REF_MODIFY, address + 4 * !rig_random(seed, 4), 8);
            else if (!rig_random(seed, often))
                rig_insn(c, &fences[rig_random(seed, sizeof fences / sizeof *fences)], -1, -1, -1, 0, 0, 0);
            else if (!rig_random(seed, often))
                rig_insn(c, &prefetch, -1, -1, by, PEET_REF_PREFETCH, address, 1);
            break;
        default:
            rig_insn(c, plain[rig_random(seed, 8)], to, from, by, 0, 0, 0);
        }
    }
    if (!rig_random(seed, 4)) { /* one instruction with two references */
        uint32_t first = c->block.nrefs;

        rig_insn(c, &rig_load, 3, -1, 2, PEET_REF_LOAD, 0x10000 + 8 * rig_random(seed, 900), 8);
        c->refs[c->block.nrefs] = (struct peet_ref){
            .insn = c->block.ninsns - 1, .size_bytes = 8, .value = (uint16_t)c->block.nvalues, .kind = PEET_REF_STORE};
        c->values[c->block.nvalues++] = 0x10000 + 8 * rig_random(seed, 900);
        c->block.nrefs++;
        c->insns[c->block.ninsns - 1].nrefs = (uint16_t)(c->block.nrefs - first);
    }
    if (!rig_random(seed, 4)) { /* a range, or a reference that may not happen */
        struct peet_ref *ref = &c->refs[c->block.nrefs];

        rig_insn(c, &rig_load, 4, -1, 2, rig_random(seed, 2) ? PEET_REF_LOAD : PEET_REF_STORE,
            0x10000 + 8 * rig_random(seed, 900), 8);
        ref->flags = rig_random(seed, 2) ? PEET_REF_RANGE : PEET_REF_CONDITIONAL;
        c->values[c->block.nvalues++] = rig_random(seed, 2) ? 20 : 0;
        c->insns[c->block.ninsns - 1].flags = ref->flags == PEET_REF_RANGE ? PEET_INSN_REP : 0;
        c->block.flags &= ~(uint32_t)PEET_BLOCK_SIMPLE;
    }
    if (rig_random(seed, 5))
        rig_insn(c, &rig_branch, -1, PEET_REG_FLAGS, -1, 0, 0, 0);
    return c;
}

#define OVERRIDING "fetch_uops=8,override_cycles=2,predict_ahead_cycles=3,memory=hierarchy,l1d_bytes=8KiB"
static char with_schedulers[400]; /* a preset that main() writes */
static const char *const machines[] = {"", "branch=perfect,retire_uops=2", "core=inorder,window_uops=32",
    "store_queue=3,load_queue=4,stores_cycle=1", "memory=hierarchy,l1d_bytes=4KiB,l2_bytes=16KiB",
    "memory=hierarchy,l1d_bytes=8KiB,l2_bytes=64KiB,l1d_prefetch=stride,l2_prefetch=stream,store_queue=6",
    "memory=hierarchy,l1d_bytes=16KiB,page_bytes=4096,dtlb_entries=4,dtlb_ways=4",
    "window_uops=12,forward_fail_cycles=40", "core=inorder,result_order=program,retire_uops=2",
    "fetch_uops=2,fetch_queue_uops=7", "fetch_uops=4,fetch_past_taken=off",
    "fetch_uops=3,memory=hierarchy,l1d_bytes=8KiB,window_uops=24", "memory_renaming=on",
    "memory_renaming=on,stores_line=3,store_queue=5,forward_cycles=6",
    "memory_renaming=on,memory=hierarchy,l1d_bytes=4KiB,l2_bytes=16KiB,stores_line=2,window_uops=60",
    "stores_line=2,index_cycles=2,fusion=arithmetic,memory=hierarchy,l1d_bytes=8KiB",
    "fetch_uops=4,fetch_past_taken=off,call_fetch_cycles=3,return_underflow=around", "unit_choice=turn",
    "fetch_uops=4,fetch_past_taken=off,fetch_past_line=off,untaken_branches=free",
    "fetch_uops=3,fetch_past_taken=off,fetch_past_line=off,override_cycles=4,override_history_bits=5,override_entries=8",
    OVERRIDING, "unit_choice=turn,memory_renaming=on,fetch_uops=3,memory=hierarchy,l1d_bytes=8KiB,window_uops=24",
    "vector_load_cycles=6", with_schedulers};

static void both(struct rig *on, struct rig *off, const char *settings)
{
    char text[400];

    snprintf(text, sizeof text, "%s%sreplay=on", settings, *settings ? "," : "");
    CU_ASSERT_EQUAL_FATAL(rig_open(on, 2, text), 0);
    snprintf(text, sizeof text, "%s%sreplay=off", settings, *settings ? "," : "");
    CU_ASSERT_EQUAL_FATAL(rig_open(off, 2, text), 0);
    CU_ASSERT_PTR_NOT_NULL_FATAL(on->x->threads[0].replay);
    CU_ASSERT_PTR_NULL(off->x->threads[0].replay);
}

static void same_books(const struct rig *on, const struct rig *off, const char *settings)
{
    unsigned differ = 0;

    for (unsigned h = 0; h < 2; h++) {
        const struct x86_thread *a = &on->x->threads[h], *b = &off->x->threads[h];

        for (unsigned k = 0; k < CPI_CATEGORIES; k++)
            differ += a->cycles[k] != b->cycles[k];
        differ += a->instructions != b->instructions || a->window.n != b->window.n || a->loads_n != b->loads_n ||
            a->stores_n != b->stores_n || a->forwards != b->forwards || a->forward_fails != b->forward_fails ||
            a->mispredicts != b->mispredicts;
    }
    differ += on->x->stacks.nplaces != off->x->stacks.nplaces;
    for (uint32_t i = 0; i < on->x->stacks.nplaces && i < off->x->stacks.nplaces; i++)
        differ += memcmp(on->x->stacks.places[i].cycles, off->x->stacks.places[i].cycles,
                      sizeof on->x->stacks.places[i].cycles) != 0;
    CU_ASSERT_EQUAL(differ, 0);
    if (differ)
        fprintf(stderr, "%s: %u numbers differ\n", settings, differ);
}

/** The same blocks on both: in a batch, or as turns of a loop.  Returns: whether the clocks agree */
static int step(struct rig *on, struct rig *off, unsigned hw, uint32_t context, struct rig_code **codes,
    const uint8_t *which, size_t n, uint64_t turns, const int64_t *strides)
{
    struct rig *rigs[] = {on, off};

    for (unsigned r = 0; r < 2; r++) {
        struct peet_block_event events[BLOCKS];

        for (size_t i = 0; i < n; i++)
            events[i] = rig_event(codes[which[i]], context);
        if (strides) {
            uint64_t taken;

            events[0].turns = turns;
            events[0].strides = strides;
            rigs[r]->clock[hw] += peet_module.loop(rigs[r]->x, hw, events, rigs[r]->clock[hw], UINT64_MAX, &taken);
        }
        for (uint64_t k = 0; !strides && k < turns; k++)
            for (size_t done = 0, some; done < n; done += some)
                rigs[r]->clock[hw] +=
                    peet_module.blocks(rigs[r]->x, hw, events + done, n - done, rigs[r]->clock[hw], UINT64_MAX, &some);
    }
    return on->clock[hw] == off->clock[hw];
}

/* @most_bytes: room for states and successors, 0: as always.  Returns: how often all was forgotten */
static uint64_t equal(const char *settings, uint64_t seed, size_t most_bytes, uint64_t *out_replayed)
{
    enum { EVENTS = 700 };
    struct rig_code *codes[BLOCKS];
    struct rig on, off;
    uint64_t forgotten;

    for (uint32_t i = 0; i < BLOCKS; i++)
        codes[i] = random_block(i, &seed);
    both(&on, &off, settings);
    if (most_bytes)
        on.x->configurations.most_bytes = most_bytes;
    for (unsigned e = 0; e < EVENTS; e++) {
        unsigned hw = on.clock[1] < on.clock[0];
        uint8_t which[BLOCKS];
        int64_t strides[RIG_INSNS];
        size_t n = 1 + rig_random(&seed, 4);
        int agrees;

        for (size_t i = 0; i < n; i++)
            which[i] = (uint8_t)rig_random(&seed, BLOCKS);
        for (unsigned i = 0; i < RIG_INSNS; i++)
            strides[i] =
                rig_random(&seed, 2) || codes[which[0]]->values[i] < 0x10000 ? 0 : (int64_t)(8 * rig_random(&seed, 3));
        agrees = step(&on, &off, hw, rig_random(&seed, 60) ? hw : 7 + hw, codes, which, n, 1 + rig_random(&seed, 60),
            rig_random(&seed, 3) ? NULL : strides);
        CU_ASSERT_FATAL(agrees);
        if (!rig_random(&seed, 15)) { /* something else took time */
            uint64_t gap = rig_random(&seed, 80);

            on.clock[hw] += gap;
            off.clock[hw] += gap;
        }
        if (!rig_random(&seed, 15)) {
            struct peet_abstract_event unlock = {PEET_ABSTRACT_MUTEX_UNLOCK, hw, 0, NULL};

            on.clock[hw] += peet_module.abstract(on.x, hw, &unlock, on.clock[hw]);
            off.clock[hw] += peet_module.abstract(off.x, hw, &unlock, off.clock[hw]);
        }
        if (!rig_random(&seed, 8)) /* data move */
            for (uint32_t i = 0; i < BLOCKS; i++)
                for (uint32_t k = 0; k < codes[i]->block.nvalues; k++)
                    if (!rig_random(&seed, 4))
                        codes[i]->values[k] = codes[i]->values[k] < 0x10000
                            ? rig_random(&seed, 3) * rig_random(&seed, 40)
                            : 0x10000 + 4 * rig_random(&seed, 4000);
    }
    for (struct rig *r = &on; r; r = r == &on ? &off : NULL) {
        peet_module.finish(r->x, on.clock[0] > on.clock[1] ? on.clock[0] : on.clock[1]);
        CU_ASSERT_EQUAL(r->failures, 0);
        if (r->failures)
            fprintf(stderr, "%s: %s\n", settings, r->failure);
    }
    same_books(&on, &off, settings);
    forgotten = on.x->configurations.forgotten;
    *out_replayed += on.x->threads[0].replay->replayed;
    rig_close(&on);
    rig_close(&off);
    for (uint32_t i = 0; i < BLOCKS; i++)
        free(codes[i]);
    return forgotten;
}

static void equal_machines(void)
{
    for (unsigned m = 0; m < sizeof machines / sizeof *machines; m++) {
        uint64_t replayed = 0;

        for (rig_with_processor = RIG_NONE; rig_with_processor < RIG_PROCESSORS; rig_with_processor++)
            for (unsigned k = 0; k < PROGRAMS; k++)
                equal(machines[m], 17 + 100 * m + k, 0, &replayed);
        CU_ASSERT(replayed > 1600 * PROGRAMS); /* else nothing has been compared */
    }
}

/* Where in its cycle fetch is matters here only for how far the predictor is ahead. */
static void overriding(void)
{
    uint64_t replayed = 0;

    rig_with_processor = RIG_PROCESSORS - 1;
    equal(OVERRIDING, 2025, 0, &replayed);
    CU_ASSERT(replayed > 0);
}

/* With little room everything is forgotten time and again. */
static void forgetting(void)
{
    uint64_t replayed = 0, forgotten = 0;

    rig_with_processor = RIG_OUT_OF_ORDER;
    for (unsigned k = 0; k < 4; k++)
        forgotten += equal(machines[k % 2 ? 4 : 0], 5 + k, 2 << 20, &replayed);
    CU_ASSERT(replayed > 0);
    CU_ASSERT(forgotten > 1);
}

/* A loop whose data are there: after some turns, all turns are repeated. */
static void steady(void)
{
    struct rig_code *code = rig_block(0), *atomic = rig_block(0);
    const uint8_t which[] = {0};
    struct rig on, off;

    rig_with_processor = RIG_OUT_OF_ORDER;
    rig_insn(atomic, &rig_locked, -1, 1, 2, PEET_REF_MODIFY, 0x10000, 8);
    rig_insn(atomic, &rig_mfence, -1, -1, -1, 0, 0, 0);
    rig_insn(atomic, &rig_branch, -1, PEET_REG_FLAGS, -1, 0, 0, 0);
    both(&on, &off, "memory=hierarchy");
    CU_ASSERT(step(&on, &off, 0, 0, &atomic, which, 1, 10000, NULL));
    CU_ASSERT(on.x->threads[0].replay->replayed > 9900);
    same_books(&on, &off, "steady, atomic");
    rig_close(&on);
    rig_close(&off);
    free(atomic);
    rig_insn(code, &rig_load, 1, -1, 2, PEET_REF_LOAD, 0x10000, 8);
    rig_insn(code, &rig_mul, 3, 1, 3, 0, 0, 0);
    rig_insn(code, &rig_store, -1, 3, 2, PEET_REF_STORE, 0x10040, 8);
    rig_insn(code, &rig_add, 2, 2, -1, 0, 0, 0);
    rig_insn(code, &rig_branch, -1, PEET_REG_FLAGS, -1, 0, 0, 0);
    both(&on, &off, "");
    CU_ASSERT(step(&on, &off, 0, 0, &code, which, 1, 100000, NULL));
    CU_ASSERT(on.x->threads[0].replay->replayed > 99000);
    same_books(&on, &off, "steady");
    rig_close(&on);
    rig_close(&off);
    free(code);
}

int main(void)
{
    CU_TestInfo tests[] = {{"equal machines", equal_machines}, {"overriding", overriding}, {"forgetting", forgetting},
        {"steady", steady}, CU_TEST_INFO_NULL};

    char path[300];
    FILE *f;

    snprintf(path, sizeof path, "%s/schedulers.cfg", rig_folder());
    snprintf(with_schedulers, sizeof with_schedulers, "preset=%s", path);
    f = fopen(path, "w");
    if (!f)
        return 1;
    fprintf(f,
        "mcpu = \"rig\"; unit_choice = \"turn\"; turn_units = \"P01\"; fetch_uops = 4; fetch_past_taken = \"off\";\n"
        "unit_queues = ( { units = \"P0\"; entries = 2; }, { units = \"P1 P2\"; entries = 3; }, "
        "{ units = \"P3\"; entries = 1; } );\n");
    fclose(f);
    return run_suite("x86 replay", tests);
}
