/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blocks and loops that peet takes in the machine's stead (<peet/direct.h>): what its machine code does with them is
 * done here in C, and must give the same times, statistics and states of the caches as the same executions through
 * block(), one after the other.  Random blocks with groups that move by strides of their own, near, far, backwards or
 * not at all, aligned or not, in sets of few frames and of many.
 */
#include <stdio.h>
#include <string.h>
#include "rig.h"
#include "run_suite.h"

enum { REFS = 10, KINDS = 4, STEPS = 400 / TEST_SHARE };

struct shape {
    const char *cache, *line, *ways, *cpi, *hit, *classify;
};
static const struct shape shapes[] = {
    {"1KiB", "16", "1", "1", "1", "on"},
    {"2KiB", "64", "2", "0.3", "2", "on"},
    {"2KiB", "64", "4", "1", "1", "off"},
    {"4KiB", "64", "8", "0.7", "1", "on"},
    {"8KiB", "128", "16", "1.7", "0", "on"},
    {"512", "64", "8", "1", "1", "on"}, /* one set */
    {"768", "16", "3", "1", "3", "on"}, /* sets that are no power of two */
    {"1KiB", "4", "8", "1", "1", "on"}, /* references of several lines */
    {"32KiB", "1KiB", "8", "1", "1", "on"},
};
static const char *const protocols[][2] = {RIG_WRITE_BACK_PROTOCOLS};
enum { NPROTOCOLS = sizeof protocols / sizeof *protocols };

/* A block that comes again and again. */
struct made {
    struct peet_block block;
    struct peet_ref refs[REFS];
    uint64_t values[REFS], turn[REFS];
    int64_t strides[REFS];
    struct peet_direct_block direct;
    int taken; /* by peet, not as an event */
    unsigned others;
};

static void make(struct made *m, uint64_t *seed, uint32_t id)
{
    static const int64_t steps[] = {
        0, 0, 1, 4, 8, 8, 8, 16, 16, 32, 64, 128, -8, -16, -4, -64, 24, -100, 3, 1000, 2064, -4096, 300};
    const unsigned n = 1 + (unsigned)rig_random(seed, REFS), aligned = !rig_random(seed, 2),
                   same = !rig_random(seed, 2);
    uint64_t bases[KINDS];
    int64_t own[KINDS];
    *m = (struct made){.block = {.id = id,
                           .ninsns = n + 1 + (uint32_t)rig_random(seed, 5),
                           .nrefs = n,
                           .nvalues = n,
                           .flags = PEET_BLOCK_SIMPLE}};
    m->block.refs = m->refs;
    for (unsigned g = 0; g < KINDS; g++) {
        bases[g] = 0x10000000 + 0x4000 * rig_random(seed, 3) + rig_random(seed, 3000);
        own[g] = g && same ? own[0] : steps[rig_random(seed, sizeof steps / sizeof *steps)];
    }
    for (unsigned j = 0; j < n; j++) {
        const unsigned g = (unsigned)rig_random(seed, KINDS), size = aligned ? 8 : 1u << rig_random(seed, 5);
        m->refs[j] = (struct peet_ref){.insn = j,
            .size_bytes = (uint16_t)size,
            .value = (uint16_t)j,
            .kind = (uint8_t)rig_random(seed, 3),
            .group = (uint8_t)g};
        if (m->refs[j].kind == PEET_REF_MODIFY && !rig_random(seed, 3))
            m->refs[j].flags = PEET_REF_ATOMIC;
        m->values[j] = bases[g] + (g ? rig_random(seed, 40) : 0x1000 * rig_random(seed, 3));
        m->values[j] &= aligned ? ~7ull : ~0ull;
        m->strides[j] = own[g];
        m->block.reads += m->refs[j].kind == PEET_REF_LOAD;
        m->block.writes += m->refs[j].kind == PEET_REF_STORE;
        m->block.modifies += m->refs[j].kind == PEET_REF_MODIFY;
    }
}

/* The values of a turn. */
static const struct peet_block_event *turn_of(struct made *m, uint64_t turn, struct peet_block_event *event)
{
    for (uint32_t i = 0; i < m->block.nvalues; i++)
        m->turn[i] = m->values[i] + (uint64_t)m->strides[i] * turn;
    *event = (struct peet_block_event){&m->block, m->turn, 0, 1, NULL};
    return event;
}

static void begins_of(const struct made *m, struct peet_direct_run *run)
{
    for (uint32_t k = 0; k < m->direct.nlooks; k++)
        run->addresses[k] = m->turn[m->direct.looks[k].value] - m->direct.looks[k].before;
}

static int is_there(const struct peet_direct_table *t, const struct peet_direct_run *run,
    const struct peet_direct_look *look, uint64_t line)
{
    return (run->keys[run->hints[peet_direct_hint(t, line)]] | look->either) == (line << 2 | 3);
}

/* Where a look with cuts is cut, if that can be said. */
static const uint8_t *lasts_of(const struct peet_direct_table *t, const struct peet_direct_look *look, uint64_t begin)
{
    return look->cuts[begin & ((1ull << t->line_shift) - 1)];
}

static void use(struct peet_direct_run *run, uint32_t i, uint32_t last)
{
    if (run->used[i] < run->stamp + last)
        run->used[i] = run->stamp + last;
}

static uint32_t missed(const struct peet_direct_table *t, struct peet_direct_run *run, uint32_t site, uint64_t line)
{
    const struct peet_direct_miss miss = t->miss(run, site, line);
    run->time += miss.waited;
    return (uint32_t)miss.where;
}

/* As the machine code does it.  Returns: 0, or -1: it comes as an event */
static int take(struct bus *b, const struct peet_direct_table *t, struct peet_direct_run *run, struct made *m,
    uint64_t *inout_cuts)
{
    const struct peet_direct_block *const d = &m->direct;
    int other = 0;
    begins_of(m, run);
    for (uint32_t k = 0; k < d->nlooks; k++) {
        const struct peet_direct_look *const look = &d->looks[k];
        const uint64_t begin = run->addresses[k], line = begin >> t->line_shift,
                       second = (begin + look->span - 1) >> t->line_shift;
        if (look->cuts != NULL)
            other |= !is_there(t, run, look, line) || !is_there(t, run, look, second) || !lasts_of(t, look, begin)[0];
        else
            other |= second != line || (d->whole && !is_there(t, run, look, line));
    }
    if (other && t->other(run, m->block.id) < 0)
        return -1;
    /* whenever peet likes: the same looks, and more to say of them */
    if (other && m->others++ % 2 && !peet__bus_direct.often(b, &m->block)) {
        const struct peet_direct_block before = m->direct;
        CU_ASSERT_EQUAL(peet__bus_direct.block(b, &m->block, m->values, &m->direct), 0);
        CU_ASSERT(before.nlooks == d->nlooks && before.time == d->time && before.stamps == d->stamps && d->whole);
    }
    for (uint32_t k = 0; !other && k < d->nlooks; k++) {
        const struct peet_direct_look *const look = &d->looks[k];
        const uint64_t line = run->addresses[k] >> t->line_shift,
                       second = (run->addresses[k] + look->span - 1) >> t->line_shift;
        if (look->cuts != NULL) {
            const uint8_t *const lasts = lasts_of(t, look, run->addresses[k]);
            CU_ASSERT(d->whole);
            *inout_cuts += second != line;
            use(run, run->hints[peet_direct_hint(t, line)], lasts[0]);
            use(run, run->hints[peet_direct_hint(t, second)], lasts[1]);
            continue;
        }
        const uint32_t i =
            is_there(t, run, look, line) ? run->hints[peet_direct_hint(t, line)] : missed(t, run, look->site, line);
        if (!look->later || run->used[i] < run->stamp + look->last)
            run->used[i] = run->stamp + look->last;
    }
    run->time += d->time;
    run->stamp += d->stamps;
    peet__bus_direct.executed(b, &m->block, 1);
    return 0;
}

/* The same lines, states and order of use; stamps themselves may be others, if a block with references in two lines
 * went another way. */
static int same_caches(const struct bus *a, const struct bus *b)
{
    const uint64_t *const used[2] = {a->caches[0].used, b->caches[0].used};
    for (uint32_t i = 0; i < a->lines; i++) {
        if (a->keys[i] != b->keys[i] || a->frames[i].state != b->frames[i].state ||
            a->frames[i].place != b->frames[i].place)
            return 0;
        for (uint32_t j = i - i % a->ways; j < i; j++)
            if ((used[0][i] < used[0][j]) != (used[1][i] < used[1][j]))
                return 0;
    }
    return 1;
}

static void compare(const struct shape *s, const char *protocol, const char *allocate, uint64_t seed,
    uint64_t *inout_loops, uint64_t *inout_cuts)
{
    enum { BLOCKS = 24 };
    struct rig direct, blocks, *rigs[] = {&direct, &blocks};
    struct peet_direct_table table = {0};
    struct made *const made = calloc(BLOCKS, sizeof *made);
    struct peet_block_event event;
    uint64_t loops = 0;
    CU_ASSERT_FATAL(made != NULL);
    for (int i = 0; i < 2; i++)
        CU_ASSERT_FATAL(rig_open(rigs[i], 1, 5, "protocol", protocol, "allocate", allocate, "cache", s->cache, "line",
                            s->line, "ways", s->ways, "cpi", s->cpi, "hit_cycles", s->hit, "classify", s->classify,
                            "window_cycles", "100", NULL) == 0);
    CU_ASSERT_EQUAL_FATAL(peet__bus_direct.table(direct.bus, &table), 0);
    for (uint32_t i = 0; i < BLOCKS; i++) {
        make(&made[i], &seed, i + 1);
        made[i].taken = !peet__bus_direct.block(direct.bus, &made[i].block, made[i].values, &made[i].direct);
    }
    for (unsigned step = 0; step < STEPS; step++) {
        struct peet_direct_run *const run = peet__bus_direct.begin(direct.bus, 0, direct.clock[0], UINT64_MAX);
        direct.running = 1;
        direct.not_ready = 0;
        for (unsigned i = 0, n = (unsigned)rig_random(&seed, 4); i <= n; i++) {
            struct made *const m = &made[rig_random(&seed, BLOCKS)];
            const int alone = (int)rig_random(&seed, 2); /* turns come one by one */
            const uint64_t turns = 1 + rig_random(&seed, alone ? 8 : rig_random(&seed, 4) ? 12 : 200);
            const int64_t by = 8 * (int64_t)rig_random(&seed, 20);
            for (uint32_t k = 0; k < m->block.nvalues; k++) /* elsewhere, as far from each other as ever */
                m->values[k] += (uint64_t)(step & 1 ? by : -by);
            turn_of(m, 0, &event);
            begins_of(m, run);
            if (!alone && m->taken && !table.loop(run, m->block.id, turns, m->strides)) {
                loops++;
                peet__bus_direct.executed(direct.bus, &m->block, turns);
            } else {
                for (uint64_t turn = 0; turn < turns; turn++)
                    if (turn_of(m, turn, &event), !m->taken || take(direct.bus, &table, run, m, inout_cuts))
                        peet__bus_direct.event(direct.bus, 0, run, &event);
            }
            for (uint64_t turn = 0; turn < turns; turn++)
                rig_event(&blocks, 0, turn_of(m, turn, &event));
        }
        direct.clock[0] += peet__bus_direct.end(direct.bus, 0);
        direct.clock[0] = direct.not_ready > direct.clock[0] ? direct.not_ready : direct.clock[0];
        direct.running = 0;
        if (direct.clock[0] != blocks.clock[0] || !same_caches(direct.bus, blocks.bus)) {
            printf("%s, cache %s line %s ways %s: different after step %u\n", protocol, s->cache, s->line, s->ways,
                step);
            CU_FAIL("different");
            break;
        }
    }
    *inout_loops += loops;
    rig_finish(&direct);
    rig_finish(&blocks);
    CU_ASSERT(json_equal(direct.stats, blocks.stats));
    CU_ASSERT_EQUAL(direct.failures + blocks.failures, 0);
    rig_close(&direct);
    rig_close(&blocks);
    free(made);
}

static void test_direct(void)
{
    uint64_t cuts = 0;
    for (unsigned i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        uint64_t loops = 0;
        for (unsigned p = 0; p < NPROTOCOLS; p++)
            for (uint64_t seed = 1; seed <= 3; seed++)
                compare(&shapes[i], protocols[p][0], protocols[p][1], 977 * seed + p, &loops, &cuts);
        CU_ASSERT(loops > 100 / TEST_SHARE);
    }
    CU_ASSERT(cuts > 1000 / TEST_SHARE);
    printf("%lu in two lines ", (unsigned long)cuts);
}

int main(void)
{
    CU_TestInfo tests[] = {{"in the machine's stead", test_direct}, CU_TEST_INFO_NULL};
    return run_suite("bus: direct", tests);
}
