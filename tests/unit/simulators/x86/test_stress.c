/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Many cores at random, in times that are out of order: every protocol, every directory, every policy of the third
 * level, 2 to 16 cores, caches small enough that everything is evicted all the time.  Data carries versions, every
 * load has to see the latest, and the invariants are checked over everything again and again.  Then the checker
 * itself: broken states are found.
 */
#include "memrig.h"
#include "run_suite.h"

static const char *const protocols[] = {"mesi", "mesif", "moesi"};
static const char *const policies[] = {"inclusive", "noninclusive", "exclusive"};
static const char *const levels[] = {"l1", "l1l2", "l1l3", "l1l2l3"};
static const char *const directories[] = {"directory=full", "directory=broadcast directory_pointers=1",
    "directory=broadcast directory_pointers=3", "directory=evict directory_pointers=1",
    "directory=evict directory_pointers=2"};
static const char *const replacements[] = {"lru", "plru", "rrip", "random", "fifo"};
static const char *const prefetches[] = {"none", "next", "stride", "stream"};

static uint64_t some_address(uint64_t *seed, unsigned core)
{
    switch (memrig_random(seed, 5)) {
    case 0:
        return 0x100000 * (core + 1) + memrig_random(seed, 64) * 64 + memrig_random(seed, 57); /* its own */
    case 1:
        return 0x10000 + memrig_random(seed, 4) * 64 + memrig_random(seed, 57); /* hot */
    default:
        return 0x20000 + memrig_random(seed, 48) * 64 + memrig_random(seed, 57);
    }
}

static void play(struct memrig *rig, unsigned cores, unsigned steps, uint64_t seed)
{
    static const enum x86_access_kind kinds[] = {
        X86_LOAD, X86_LOAD, X86_LOAD, X86_STORE, X86_STORE, X86_MODIFY, X86_FETCH, X86_PREFETCH};
    uint64_t clock[16] = {0};

    for (unsigned i = 0; i < steps && !rig->failures; i++) {
        unsigned core = (unsigned)memrig_random(&seed, cores);
        uint64_t now = clock[core] + memrig_random(&seed, 200);
        enum x86_access_kind kind = kinds[memrig_random(&seed, 8)];
        struct x86_outcome out = memrig_access(rig, core, some_address(&seed, core), 8, kind, now);

        CU_ASSERT_FATAL(out.done_cycles >= now);
        CU_ASSERT_FATAL(out.served < X86_SERVED);
        clock[core] += memrig_random(&seed, 60);
        if (i % 97 == 0)
            x86_memory_check(rig->memory);
    }
    x86_memory_check(rig->memory);
}

static void test_protocols(void)
{
    uint64_t combination = 0, loads = 0;

    for (unsigned p = 0; p < 3; p++)
        for (unsigned l = 0; l < 4; l++)
            for (unsigned policy = 0; policy < (l < 2 ? 1 : 3); policy++)
                for (unsigned d = 0; d < 5; d++) {
                    struct memrig rig;
                    unsigned cores = 2 + (unsigned)(combination * 5 % 15);
                    char text[600];

                    snprintf(text, sizeof text,
                        "protocol=%s levels=%s l3_policy=%s %s l1_replacement=%s l2_replacement=%s l3_replacement=%s l1d_prefetch=%s l2_prefetch=%s "
                        "memory_check=on l1i_bytes=256 l1i_ways=2 l1d_bytes=512 l1d_ways=2 l2_bytes=1536 l2_ways=3 l3_slice_bytes=1024 l3_ways=4 "
                        "l1d_mshrs=3 l2_mshrs=4 topology=%s translation=%s dtlb_entries=4 dtlb_ways=2 itlb_entries=2 itlb_ways=2 stlb_entries=8 "
                        "stlb_ways=4 walk_cache_entries=2",
                        protocols[p], levels[l], policies[policy], directories[d], replacements[combination % 5],
                        replacements[combination / 2 % 5], replacements[combination / 3 % 5],
                        prefetches[combination % 4], prefetches[combination / 4 % 4],
                        combination % 3 == 0       ? "mesh"
                            : combination % 3 == 1 ? "ring"
                                                   : "ideal",
                        combination % 2 ? "on" : "off");
                    memrig_init(&rig);
                    memrig_set(&rig, text);
                    rig.env.reports = combination % 4 ? 0 : ~0u;
                    CU_ASSERT_FATAL(!memrig_open(&rig, cores));
                    play(&rig, cores, 3000, 88172645463325252u + combination);
                    if (rig.failures)
                        printf("\n%u cores, %s:\n  %s\n", cores, text, rig.failure);
                    CU_ASSERT_FATAL(!rig.failures);
                    loads += rig.memory->checks;
                    memrig_close(&rig);
                    combination++;
                }
    CU_ASSERT(loads > 100000);
}

/* ---------------------------------------------------------------------- the checker finds what is wrong */

static struct x86_level *l1d_of(struct memrig *rig, unsigned core)
{
    return &rig->memory->cores[core].l1d;
}

static void broken(const char *settings, unsigned what, const char *expected)
{
    struct memrig rig;
    struct x86_line *line;
    uint64_t number = 0x40000 >> 6;

    memrig_init(&rig);
    memrig_set(&rig, "memory_check=on translation=off l1d_prefetch=none l2_prefetch=none");
    memrig_set(&rig, settings);
    CU_ASSERT_FATAL(!memrig_open(&rig, 3));
    memrig_access(&rig, 0, 0x40000, 8, X86_STORE, 0);
    memrig_access(&rig, 1, 0x40000, 8, X86_LOAD, 1000);
    if (what == 4)
        memrig_access(&rig, 1, 0x40000, 8, X86_STORE, 2000);
    CU_ASSERT(x86_memory_check(rig.memory));
    line = peet__x86_line(rig.memory, number);
    switch (what) {
    case 0: /* two writers */
        rig.memory->cores[0].outer->tags.states[peet_sim_tags_find(&rig.memory->cores[0].outer->tags, number)] = X86_M;
        line->owner = 1;
        break;
    case 1: /* a copy that nobody knows of */
        peet_sim_sharers_remove(&rig.memory->directory, &line->sharers, 1);
        break;
    case 2: /* a copy that is not there */
        peet_sim_sharers_add(&rig.memory->directory, &line->sharers, 2);
        break;
    case 3: /* a stale copy */
        l1d_of(&rig, 1)->versions[peet_sim_tags_find(&l1d_of(&rig, 1)->tags, number)]--;
        break;
    case 4: /* an owner that is not one */
        line->owner = 3;
        break;
    case 5: /* inclusion */
        peet_sim_tags_drop(&rig.memory->cores[1].l2.tags, peet_sim_tags_find(&rig.memory->cores[1].l2.tags, number));
        break;
    case 6: /* inclusion of the third level */
        for (unsigned s = 0; s < 3; s++) {
            uint64_t slot = peet_sim_tags_find(&rig.memory->slices[s].l3.tags, number);

            if (slot != PEET_SIM_NO_SLOT)
                peet_sim_tags_drop(&rig.memory->slices[s].l3.tags, slot);
        }
        break;
    }
    CU_ASSERT(!x86_memory_check(rig.memory));
    if (!strstr(rig.failure, expected))
        printf("\nbroken %u: '%s', not '%s'\n", what, rig.failure, expected);
    CU_ASSERT_PTR_NOT_NULL(strstr(rig.failure, expected));
    memrig_close(&rig);
}

static void test_checker(void)
{
    broken("l3_policy=inclusive", 0, "an exclusive copy is not the only one");
    broken("l3_policy=inclusive", 1, "does not know of");
    broken("l3_policy=noninclusive", 2, "that is not there");
    broken("protocol=moesi", 3, "a copy is stale");
    broken("levels=l1", 4, "an owner that the directory does not know of");
    broken("levels=l1l2", 5, "L2 does not hold what the first level holds");
    broken("l3_policy=inclusive", 6, "the inclusive third level");
}

int main(void)
{
    CU_TestInfo tests[] = {{"protocols", test_protocols}, {"checker", test_checker}, CU_TEST_INFO_NULL};

    return run_suite("x86: memory under stress", tests);
}
