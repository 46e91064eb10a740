/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory reports: their sums against the machine's own totals, and what they say of each line against a model that
 * knows nothing but them (a line that goes must have come).  References of every shape, through block(), blocks() and
 * loop(); the same run without reports has the same times and statistics, and that with fills in one report says the
 * same.  And structures with perfect memory.
 */
#include <stdio.h>
#include <string.h>
#include "rig.h"
#include "run_suite.h"

enum { REFS = 6, BLOCKS = 30, BATCH = 12, ROUNDS = 900, LINES = 1 << 16 };

struct shape {
    unsigned hws;
    const char *cache, *line, *ways, *replacement, *fetch, *arbitration, *classify;
};
static const struct shape shapes[] = {
    {1, "2KiB", "64", "8", "lru", "off", "fcfs", "on"},
    {1, "1KiB", "16", "1", "lru", "off", "fcfs", "off"},
    {1, "1KiB", "32", "2", "lru", "off", "fcfs", "on"},
    {1, "4KiB", "64", "4", "lru", "off", "fcfs", "off"},
    {1, "768", "16", "6", "lru", "off", "fcfs", "on"},
    {1, "2KiB", "64", "0", "lru", "unified", "fcfs", "on"},
    {1, "1KiB", "32", "4", "plru", "split", "fcfs", "on"},
    {2, "2KiB", "64", "8", "lru", "off", "fcfs", "on"},
    {4, "640", "16", "0", "fifo", "unified", "rr", "on"},
    {5, "768", "16", "3", "lru", "split", "fixed", "off"},
    {16, "1KiB", "32", "2", "random", "off", "fcfs", "on"},
};
static const char *const protocols[][2] = {RIG_PROTOCOLS};
enum { NPROTOCOLS = sizeof protocols / sizeof *protocols };

/* What an observer could add up. */
static struct seen {
    uint64_t misses[2 * RIG_HWS], causes[PEET_MISS_CAUSES], write_misses, fetch_misses, evictions, invalidations,
        dirty_evictions;
    /* of all that was told, in its order */
    uint64_t dirty_invalidations, stalls[RIG_HWS], from_caches, wrong, fills, hash;
    uint32_t line_bytes, ncaches;
    int allocates, split;
    unsigned hws;
    uint8_t there[2 * RIG_HWS][LINES]; /* 1 data, 2 instructions */
} seen;

static uint8_t *place(const struct peet_memory_event *e, int instruction)
{
    const uint64_t line = e->address / seen.line_bytes;
    return &seen.there[e->hw + (seen.split && instruction ? seen.hws : 0)][line % LINES];
}

static void look(const struct peet_env *env, const struct peet_memory_event *events, size_t n);

/* What it stands for, one by one. */
static void look_at_fill(const struct peet_env *env, struct peet_memory_event e)
{
    struct peet_memory_event gone = e;
    seen.fills++;
    gone.type = PEET_MEMORY_EVICT;
    gone.flags &= ~PEET_MEMORY_FILL_GONE;
    gone.cause = 0;
    gone.cycles = 0;
    gone.address = e.by;
    gone.by = e.address;
    gone.size_bytes = seen.line_bytes;
    if (e.flags & PEET_MEMORY_FILL_GONE)
        look(env, &gone, 1);
    e.flags &= PEET_MEMORY_STORE;
    e.type = PEET_MEMORY_MISS;
    e.by = 0;
    look(env, &e, 1);
    e.type = PEET_MEMORY_STALL;
    e.cause = 0;
    e.level = 2;
    if (e.cycles)
        look(env, &e, 1);
}

static void look(const struct peet_env *env, const struct peet_memory_event *events, size_t n)
{
    for (const struct peet_memory_event *e = events; n; e++, n--) {
        if (e->type == PEET_MEMORY_FILL) {
            look_at_fill(env, *e);
            continue;
        }
        uint8_t *line = place(e, e->flags & PEET_MEMORY_INSTRUCTION);
        const uint64_t told[] = {e->type, e->level, e->cause, e->flags, e->hw, e->other, e->size_bytes, e->address,
            e->by, e->cycles, e->now, e->block ? e->block->id : 0, e->ref};
        for (size_t i = 0; i < sizeof told / sizeof *told; i++)
            seen.hash = (seen.hash ^ told[i]) * 0x100000001b3;
        seen.wrong += e->level != 1 && e->type != PEET_MEMORY_STALL;
        seen.wrong += !e->block || e->hw >= seen.hws || (e->block->nrefs ? e->ref >= e->block->nrefs : e->ref != 0);
        switch (e->type) {
        case PEET_MEMORY_MISS:
            seen.causes[e->cause]++;
            seen.from_caches += e->other != PEET_MEMORY_NOBODY;
            if (e->cause == PEET_MISS_UPGRADE)
                break;
            seen.misses[e->hw]++;
            seen.write_misses += (e->flags & PEET_MEMORY_STORE) != 0;
            seen.fetch_misses += (e->flags & PEET_MEMORY_INSTRUCTION) != 0;
            seen.wrong += *line;
            *line = seen.allocates || !(e->flags & PEET_MEMORY_STORE);
            break;
        case PEET_MEMORY_EVICT:
            seen.evictions++;
            seen.dirty_evictions += (e->flags & PEET_MEMORY_DIRTY) != 0;
            seen.wrong +=
                e->other != PEET_MEMORY_NOBODY || !*line || e->address / seen.line_bytes == e->by / seen.line_bytes;
            *line = 0;
            break;
        case PEET_MEMORY_INVALIDATE:
            seen.invalidations++;
            seen.dirty_invalidations += (e->flags & PEET_MEMORY_DIRTY) != 0;
            if (seen.split && !*line) /* its other cache has it */
                line = place(e, !(e->flags & PEET_MEMORY_INSTRUCTION));
            seen.wrong +=
                (e->other == e->hw && !seen.split) || !*line || e->address / seen.line_bytes != e->by / seen.line_bytes;
            *line = 0;
            break;
        case PEET_MEMORY_STALL:
            seen.stalls[e->hw] += e->cycles;
            seen.wrong += !e->cycles || e->level > 2;
            break;
        default:
            seen.wrong++;
        }
    }
}

static struct peet_memory_level described;
static size_t ndescribed;

static void describe(const struct peet_env *env, const struct peet_memory_level *levels, size_t n)
{
    (void)env;
    described = levels[0];
    ndescribed = n;
}

static void with_reports(struct rig *rig)
{
    rig->env.reports = (1u << PEET_MEMORY_TYPES) - 1;
    rig->env.report = look;
    rig->env.describe_memory = describe;
}

static void with_fills(struct rig *rig)
{
    with_reports(rig);
    rig->env.reports |= 1u << PEET_MEMORY_FILL;
}

struct template {
    struct peet_block block;
    struct peet_ref refs[REFS];
};

static void make_templates(struct template *t, uint64_t *seed)
{
    for (unsigned i = 0; i < BLOCKS; i++, t++) {
        unsigned n = (unsigned)rig_random(seed, REFS + 1);
        *t = (struct template){.block = {.id = i + 1,
                                   .ninsns = n + 1,
                                   .nrefs = n,
                                   .nvalues = n,
                                   .refs = t->refs,
                                   .flags = PEET_BLOCK_SIMPLE,
                                   .pc = 0x300000 + i * 40,
                                   .code_bytes = 1 + (uint32_t)rig_random(seed, 40)}};
        for (unsigned j = 0; j < n; j++) {
            t->refs[j] = (struct peet_ref){.insn = j,
                .size_bytes = (uint16_t)(1u << rig_random(seed, 5)),
                .value = (uint16_t)j,
                .kind = (uint8_t)rig_random(seed, 3)};
            t->block.reads += t->refs[j].kind == PEET_REF_LOAD;
            t->block.writes += t->refs[j].kind == PEET_REF_STORE;
            t->block.modifies += t->refs[j].kind == PEET_REF_MODIFY;
        }
    }
}

static uint64_t some_address(uint64_t *seed, unsigned hw)
{
    return rig_random(seed, 3) ? 0x4000 * (hw + 1) + rig_random(seed, 3000) : 0x1000 + rig_random(seed, 600);
}

static unsigned earliest(const struct rig *rig, unsigned hws)
{
    unsigned hw = 0;
    for (unsigned h = 1; h < hws; h++)
        hw = rig->clock[h] < rig->clock[hw] ? h : hw;
    return hw;
}

static void odd_block(struct rig *rig, uint64_t *seed, unsigned hw)
{
    struct rig_ref refs[REFS];
    unsigned n = 1 + (unsigned)rig_random(seed, REFS);
    for (unsigned j = 0; j < n; j++) {
        refs[j] = (struct rig_ref){rig_random(seed, 4), some_address(seed, hw), 1u << rig_random(seed, 7), 0, 0};
        if (!rig_random(seed, 3)) {
            refs[j].flags = rig_random(seed, 2) ? PEET_REF_RANGE : PEET_REF_CONDITIONAL;
            refs[j].count = rig_random(seed, 9);
        } else if (refs[j].kind == PEET_REF_MODIFY && rig_random(seed, 2)) {
            refs[j].flags = PEET_REF_ATOMIC;
        }
    }
    rig_block(rig, hw, refs, n, 0);
}

/* Reports live as long as the call that makes them, but a processor's latest reference is told when others delay it. */
static struct template templates[BLOCKS];

static void play(struct rig *rig, unsigned hws)
{
    uint64_t seed = 99;
    make_templates(templates, &seed);
    for (unsigned i = 0; i < ROUNDS; i++) {
        struct peet_block_event events[BATCH];
        uint64_t values[BATCH][REFS];
        int64_t strides[REFS];
        const unsigned hw = earliest(rig, hws);
        uint64_t until = rig->clock[hw] + 1 + rig_random(&seed, 200);
        for (unsigned h = 0; h < hws; h++) /* least clock first, ties by number */
            if (h != hw && rig->clock[h] + (hw < h) < until)
                until = rig->clock[h] + (hw < h);
        size_t n = 1 + rig_random(&seed, BATCH);
        for (size_t k = 0; k < n; k++) {
            const struct template *t = &templates[rig_random(&seed, BLOCKS)];
            for (unsigned j = 0; j < REFS; j++)
                values[k][j] = some_address(&seed, hw);
            events[k] = (struct peet_block_event){&t->block, values[k], hw, 1, NULL};
        }
        for (unsigned j = 0; j < REFS; j++)
            strides[j] = (int64_t)rig_random(&seed, 40) - 20;
        switch (rig_random(&seed, 3)) {
        case 0:
            rig_blocks(rig, hw, events, n, until);
            break;
        case 1:
            events[0].turns = 1 + rig_random(&seed, 60);
            events[0].strides = strides;
            rig_loop(rig, hw, events, until);
            break;
        default:
            if (hws == 1) /* their block does not outlive them */
                odd_block(rig, &seed, hw);
            else
                rig_event(rig, hw, events);
        }
    }
    rig_finish(rig);
}

static uint64_t total(struct rig *rig, const char *key)
{
    char path[100];
    snprintf(path, sizeof path, "totals.%s", key);
    return rig_u64(rig, path);
}

static int open_shape(struct rig *rig, const struct shape *s, unsigned p, const char *hit, const char *check)
{
    return rig_open(rig, s->hws, 5, "protocol", protocols[p][0], "allocate", protocols[p][1], "cache", s->cache, "line",
        s->line, "ways", s->ways, "replacement", s->replacement, "fetch", s->fetch, "arbitration", s->arbitration,
        "classify", s->classify, "hit_cycles", hit, "check", check, NULL);
}

static void see_anew(const struct shape *s, unsigned p)
{
    memset(&seen, 0, sizeof seen);
    seen.hws = s->hws;
    seen.line_bytes = (uint32_t)atoi(s->line);
    seen.split = !strcmp(s->fetch, "split");
    seen.allocates = strcmp(protocols[p][1], "no") != 0;
}

static uint64_t all_fills;
static struct seen singly; /* too large for a stack */

static void sums(const struct shape *s, unsigned p)
{
    struct rig told, untold, checked, filled;
    uint64_t hash;
    see_anew(s, p);
    rig_prepare = with_reports;
    CU_ASSERT_FATAL(open_shape(&checked, s, p, "1", "on") == 0); /* each reference by itself */
    play(&checked, s->hws);
    hash = seen.hash;
    see_anew(s, p);
    CU_ASSERT_FATAL(open_shape(&told, s, p, "1", "off") == 0);
    rig_prepare = NULL;
    CU_ASSERT_FATAL(open_shape(&untold, s, p, "1", "off") == 0);
    CU_ASSERT(ndescribed == 1 && described.line_bytes == seen.line_bytes && described.shared_by == 1 &&
        described.name[0] == 'L');
    play(&told, s->hws);
    play(&untold, s->hws);
    CU_ASSERT_EQUAL(seen.hash, hash);
    rig_close(&checked);
    CU_ASSERT_EQUAL(seen.fills, 0);
    singly = seen;
    see_anew(s, p);
    rig_prepare = with_fills;
    CU_ASSERT_FATAL(open_shape(&filled, s, p, "1", "off") == 0);
    rig_prepare = NULL;
    play(&filled, s->hws);
    CU_ASSERT_EQUAL(seen.hash, hash);
    all_fills += seen.fills;
    seen = singly;
    CU_ASSERT(json_equal(told.stats, filled.stats));
    rig_close(&filled);
    CU_ASSERT(json_equal(told.stats, untold.stats));
    CU_ASSERT_EQUAL(memcmp(told.clock, untold.clock, sizeof told.clock), 0);

    uint64_t misses = 0, stalls = 0;
    for (unsigned h = 0; h < s->hws; h++) {
        char path[100];
        snprintf(path, sizeof path, "hw.%u.stall_cycles", h);
        CU_ASSERT_EQUAL(seen.stalls[h], rig_u64(&told, path));
        misses += seen.misses[h];
        stalls += seen.stalls[h];
        snprintf(path, sizeof path, "caches.%u.misses", h);
        if (!seen.split)
            CU_ASSERT_EQUAL(seen.misses[h], rig_u64(&told, path));
    }
    CU_ASSERT(misses > 100 && stalls > misses);
    CU_ASSERT_EQUAL(seen.wrong, 0);
    CU_ASSERT_EQUAL(misses, total(&told, "misses"));
    CU_ASSERT_EQUAL(stalls, total(&told, "stall_cycles"));
    CU_ASSERT_EQUAL(seen.write_misses, total(&told, "write_misses"));
    CU_ASSERT_EQUAL(seen.causes[PEET_MISS_UPGRADE], total(&told, "write_hits_on_bus"));
    CU_ASSERT_EQUAL(seen.evictions, total(&told, "evictions_lines"));
    CU_ASSERT_EQUAL(seen.dirty_evictions, total(&told, "write_backs_lines"));
    CU_ASSERT_EQUAL(seen.invalidations, total(&told, "invalidations_received_lines"));
    CU_ASSERT_EQUAL(seen.dirty_invalidations, total(&told, "refused_write_backs_lines"));
    CU_ASSERT_EQUAL(seen.from_caches, total(&told, "supplied_lines"));
    if (strcmp(s->fetch, "off"))
        CU_ASSERT_EQUAL(seen.fetch_misses, total(&told, "fetch_misses"));
    if (!strcmp(s->classify, "on")) {
        CU_ASSERT_EQUAL(seen.causes[PEET_MISS_COLD], total(&told, "misses_by_kind.cold"));
        CU_ASSERT_EQUAL(seen.causes[PEET_MISS_CAPACITY], total(&told, "misses_by_kind.capacity"));
        CU_ASSERT_EQUAL(seen.causes[PEET_MISS_CONFLICT], total(&told, "misses_by_kind.conflict"));
        CU_ASSERT_EQUAL(seen.causes[PEET_MISS_TRUE_SHARING], total(&told, "misses_by_kind.true_sharing"));
        CU_ASSERT_EQUAL(seen.causes[PEET_MISS_FALSE_SHARING], total(&told, "misses_by_kind.false_sharing"));
    } else {
        CU_ASSERT_EQUAL(seen.causes[PEET_MISS_UNKNOWN], misses);
    }
    rig_close(&told);
    rig_close(&untold);
}

static void test_sums(void)
{
    for (unsigned i = 0; i < sizeof shapes / sizeof *shapes; i++)
        for (unsigned p = 0; p < NPROTOCOLS; p++)
            sums(&shapes[i], p);
    CU_ASSERT(all_fills > 1000);
}

/* ---------------------------------------------------------------------------------- perfect structures */

static const struct peet_data plain = {.id = 0}, perfect = {.id = 2, .flags = PEET_DATA_PERFECT};

static const struct peet_data *data_of(const struct peet_env *env, uint64_t address,
    struct peet_data_object *out_object)
{
    (void)env, (void)out_object;
    return address >= 0x8000 ? &perfect : &plain;
}

static void with_perfect(struct rig *rig)
{
    rig->env.perfect = 1;
    rig->env.data_of = data_of;
}

/* By hand: a miss is 2 + 10 + 8 cycles; a hit 1 or 3. */
static void test_perfect(void)
{
    for (unsigned hws = 1; hws <= 2; hws++)
        for (int hit = 1; hit <= 3; hit += 2) {
            struct rig rig;
            rig_prepare = with_perfect;
            CU_ASSERT_FATAL(rig_open(&rig, hws, 1, "cache", "1KiB", "line", "64", "hit_cycles", hit == 1 ? "1" : "3",
                                NULL) == 0);
            rig_prepare = NULL;
            CU_ASSERT_EQUAL(rig_read(&rig, 0, 0x1000, 8), 1 + (uint64_t)hit + 20);
            CU_ASSERT_EQUAL(rig_read(&rig, 0, 0x1000, 8), 1 + (uint64_t)hit);
            CU_ASSERT_EQUAL(rig_read(&rig, 0, 0x8000, 8), 2); /* cold */
            CU_ASSERT_EQUAL(rig_read(&rig, 0, 0x8008, 8), 2);
            CU_ASSERT_EQUAL(rig_write(&rig, 0, 0x8000, 8), 2);
            CU_ASSERT_EQUAL(rig_write(&rig, 0, 0x9000, 8), 2);
            CU_ASSERT_EQUAL(rig_write(&rig, 0, 0x9400, 8), 2); /* 0x8000 goes back to memory, for which nobody waits */
            rig.clock[0] += 100;
            CU_ASSERT_EQUAL(rig_read(&rig, 0, 0x1000, 8), 1 + (uint64_t)hit + 20); /* its line has moved, as ever */
            if (hws == 2) {
                rig.clock[1] = rig.clock[0] + 100;
                CU_ASSERT_EQUAL(rig_read(&rig, 1, 0x9400, 8), 2);
                CU_ASSERT_EQUAL(rig_read(&rig, 1, 0x1000, 8), 1 + (uint64_t)hit + 14); /* from the other cache */
            }
            rig_finish(&rig);
            CU_ASSERT_EQUAL(total(&rig, "misses"), hws == 2 ? 7 : 5);
            CU_ASSERT_EQUAL(total(&rig, "evictions_lines"), 3);
            CU_ASSERT_EQUAL(total(&rig, "stall_cycles"), hws == 2 ? 54 : 40);
            CU_ASSERT_EQUAL(rig_u64(&rig, "bus.transactions.total"),
                (hws == 2 ? 7u : 5u) + total(&rig, "write_backs_lines"));
            rig_close(&rig);
        }
}

/* Whatever is perfect: the caches do the same, in less time. */
static void test_lines_move(void)
{
    for (unsigned i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        if (shapes[i].hws != 1)
            continue; /* several go on at other times, and so do other things */
        for (unsigned p = 0; p < NPROTOCOLS; p++) {
            struct rig with, without;
            rig_prepare = with_perfect;
            CU_ASSERT_FATAL(open_shape(&with, &shapes[i], p, "2", "off") == 0);
            rig_prepare = NULL;
            CU_ASSERT_FATAL(open_shape(&without, &shapes[i], p, "2", "off") == 0);
            uint64_t seed = 7;
            for (unsigned k = 0; k < 2000; k++) {
                uint64_t address =
                    rig_random(&seed, 3) ? 0x1000 + rig_random(&seed, 3000) : 0x8000 + rig_random(&seed, 2000);
                unsigned write = rig_random(&seed, 3) == 0;
                uint64_t a = write ? rig_write(&with, 0, address, 4) : rig_read(&with, 0, address, 4);
                (void)(write ? rig_write(&without, 0, address, 4) : rig_read(&without, 0, address, 4));
                if (address >= 0x8000 && !strcmp(shapes[i].fetch, "off") && (address & 15) < 12)
                    CU_ASSERT_EQUAL(a, 2);
            }
            rig_finish(&with);
            rig_finish(&without);
            CU_ASSERT(json_equal(rig_node(&with, "memory"), rig_node(&without, "memory")));
            CU_ASSERT(json_equal(rig_node(&with, "caches"), rig_node(&without, "caches")));
            CU_ASSERT(json_equal(rig_node(&with, "bus.transactions"), rig_node(&without, "bus.transactions")));
            CU_ASSERT(total(&with, "stall_cycles") < total(&without, "stall_cycles"));
            rig_close(&with);
            rig_close(&without);
        }
    }
}

int main(void)
{
    CU_TestInfo tests[] = {{"sums of reports", test_sums}, {"perfect structures", test_perfect},
        {"perfect structures' lines move", test_lines_move}, CU_TEST_INFO_NULL};
    return run_suite("bus: memory reports", tests);
}
