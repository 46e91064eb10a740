/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kinds of misses of a processor alone against a fully associative LRU list, reference by reference: mixes of hits,
 * misses of conflict and of capacity, and lines that stay in a frame while the list loses them.
 */
#include <stdio.h>
#include <string.h>
#include "rig.h"
#include "run_suite.h"

enum { LINES = 4096, MOST = 512, LINE_BYTES = 16 };

/* The last @n of those that were used, the latest last; and the last @ways of each set. */
struct model {
    uint32_t n, list[MOST], sets, ways, in[MOST][MOST], held[MOST];
    uint8_t seen[LINES];
    uint64_t kinds[MISS_KINDS];
};

/* @insert: also if it is not there.  Returns: whether it was */
static int use(uint32_t *list, uint32_t *n, uint32_t most, uint32_t line, int insert)
{
    uint32_t i = 0;
    while (i < *n && list[i] != line)
        i++;
    const int there = i < *n;
    if (!there && !insert)
        return 0;
    if (!there && *n < most) {
        list[(*n)++] = line;
        return 0;
    }
    i = there ? i : 0;
    memmove(list + i, list + i + 1, (*n - i - 1) * sizeof *list);
    list[*n - 1] = line;
    return there;
}

/* @insert: the reference brings the line in */
static void model_use(struct model *m, uint32_t lines, uint32_t line, int insert)
{
    const uint32_t set = line % m->sets;
    const int shadowed = use(m->list, &m->n, lines, line, insert);
    if (!use(m->in[set], &m->held[set], m->ways, line, insert))
        m->kinds[!m->seen[line] ? MISS_COLD : shadowed ? MISS_CONFLICT : MISS_CAPACITY]++;
    m->seen[line] = 1;
}

/* The next line of a stream that changes its ways now and then. */
static uint32_t next_line(uint64_t *seed, uint32_t *mode, uint32_t *at, const struct bus *b)
{
    if (!rig_random(seed, 200))
        *mode = (uint32_t)rig_random(seed, 7);
    switch (*mode) {
    case 0: /* a little more than the cache, round and round */
        return ++*at % (b->lines + 1 + b->lines / 16);
    case 1: /* more than all that may be in the shadow */
        return ++*at % (2 * b->lines + 3);
    case 2: /* one set */
        return (uint32_t)rig_random(seed, b->ways + 3) * b->sets % LINES;
    case 3: /* a few, often */
        return (uint32_t)rig_random(seed, b->lines / 2 + 1);
    case 4: /* new ones, and always the same between them */
        return ++*at & 1 ? (uint32_t)rig_random(seed, 3) : *at / 2 % LINES;
    case 5: /* sets that are asked for more than others */
        return (uint32_t)(rig_random(seed, 3 * b->lines) * (rig_random(seed, 3) ? 1 : b->sets)) % LINES;
    default:
        return (uint32_t)rig_random(seed, 2 * b->lines);
    }
}

/* @bases: moments get another base often */
static void run(const char *protocol, const char *allocate, const char *cache, const char *ways, unsigned references,
    int bases)
{
    static struct model m;
    struct rig rig;
    uint64_t seed = 4711 + references;
    uint32_t mode = 0, at = 0, wrong = 0;
    uint64_t fills = 0;
    memset(&m, 0, sizeof m);
    if (rig_open(&rig, 1, 1, "protocol", protocol, "allocate", allocate, "cache", cache, "line", "16", "ways", ways,
            NULL)) {
        CU_FAIL(rig.failure);
        printf("%s\n", rig.failure);
        return;
    }
    struct bus *const b = rig.bus;
    CU_ASSERT_FATAL(b->uniprocessor == (strcmp(allocate, "no") != 0) && b->classify);
    if (bases)
        b->caches[0].stackdist.span = b->caches[0].stackdist.until = 16 * b->lines + 100;
    m.sets = b->sets;
    m.ways = b->ways;
    for (unsigned i = 0; i < references && !wrong; i++) {
        const uint32_t line = next_line(&seed, &mode, &at, b);
        const int write = !rig_random(&seed, 3);
        if (write)
            rig_write(&rig, 0, (uint64_t)line * LINE_BYTES, 8);
        else
            rig_read(&rig, 0, (uint64_t)line * LINE_BYTES + rig_random(&seed, 9), 8);
        model_use(&m, b->lines, line, !write || strcmp(allocate, "no"));
        for (unsigned k = 0; k < FILL_KINDS; k++)
            for (unsigned state = 0; state < BUS_STATES_MAX; state++)
                fills += b->filled.fills[k][state];
        peet__bus_groups_count(b);
        wrong = memcmp(m.kinds, b->caches[0].stats.kinds, sizeof m.kinds) != 0;
        if (wrong)
            printf("%s %s ways=%s: reference %u, line %u\n", protocol, cache, ways, i, line);
    }
    CU_ASSERT_EQUAL(wrong, 0);
    CU_ASSERT_EQUAL(fills != 0, b->groupwise); /* both ways of a miss are seen here */
    rig_finish(&rig);
    CU_ASSERT_EQUAL(rig.failures, 0);
    rig_close(&rig);
}

static void test_kinds(void)
{
    static const struct {
        const char *cache, *ways;
    } shapes[] = {{"16", "1"}, {"32", "1"}, {"32", "2"}, {"48", "3"}, {"64", "4"}, {"112", "7"}, {"128", "2"},
        {"240", "5"}, {"256", "16"}, {"368", "1"}, {"512", "8"}, {"1KiB", "1"}, {"1KiB", "4"}, {"2KiB", "8"},
        {"1536", "12"}, {"8KiB", "16"}};
    for (unsigned i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        run("illinois", "yes", shapes[i].cache, shapes[i].ways, 12000, 0);
        run("illinois", "yes", shapes[i].cache, shapes[i].ways, 12000, 1);
        run("msi", "yes", shapes[i].cache, shapes[i].ways, 4000, 0);
        run("msi", "yes", shapes[i].cache, shapes[i].ways, 4000, 1);
        run("through", "yes", shapes[i].cache, shapes[i].ways, 4000, 0);
        run("through", "no", shapes[i].cache, shapes[i].ways, 4000, 0);
    }
}

/* A block with references to a few lines, which go by groups: lines are used again after others have come in, so that
 * stamps are known in advance. */
static unsigned block_of_groups(struct rig *rig, struct model *m, uint64_t *seed, uint32_t *mode, uint32_t *at,
    uint64_t *out_last)
{
    enum { REFS = 12, GROUPS = 5 };
    struct bus *const b = rig->bus;
    struct peet_ref refs[REFS];
    uint64_t values[REFS];
    uint32_t lines[GROUPS];
    const unsigned n = 1 + (unsigned)rig_random(seed, REFS), groups = 1 + (unsigned)rig_random(seed, GROUPS);
    struct peet_block block = {.ninsns = n, .nrefs = n, .nvalues = n, .refs = refs, .flags = PEET_BLOCK_SIMPLE};
    for (unsigned g = 0; g < groups; g++)
        lines[g] = next_line(seed, mode, at, b);
    for (unsigned k = 0; k < n; k++) {
        const unsigned g = (unsigned)rig_random(seed, groups), write = !rig_random(seed, 3);
        refs[k] = (struct peet_ref){.insn = k,
            .size_bytes = 8,
            .value = (uint16_t)k,
            .kind = write ? PEET_REF_STORE : PEET_REF_LOAD,
            .group = (uint8_t)(g + 1)};
        values[k] = *out_last = (uint64_t)lines[g] * LINE_BYTES + 8 * rig_random(seed, 2);
        *(write ? &block.writes : &block.reads) += 1;
        model_use(m, b->lines, lines[g], 1);
    }
    rig_event(rig, 0, &(struct peet_block_event){&block, values, 0, 1, NULL});
    return n;
}

/* @hits: now and then one line is used so often, without a miss, that stamps run far ahead */
static void run_blocks(const char *cache, const char *ways, int hits)
{
    enum { BLOCKS = 6000 / TEST_SHARE };
    static struct model m;
    struct rig rig;
    uint64_t seed = 815, last, references = 0;
    uint32_t mode = 0, at = 0, wrong = 0;
    memset(&m, 0, sizeof m);
    CU_ASSERT_FATAL(rig_open(&rig, 1, 1, "cache", cache, "line", "16", "ways", ways, NULL) == 0);
    struct bus *const b = rig.bus;
    m.sets = b->sets;
    m.ways = b->ways;
    for (unsigned i = 0; i < BLOCKS && !wrong; i++) {
        references += block_of_groups(&rig, &m, &seed, &mode, &at, &last);
        if (hits && !rig_random(&seed, 200)) {
            b->caches[0].stamp += rig_random(&seed, 4) << rig_random(&seed, 33);
            rig_read(&rig, 0, last, 8); /* the latest line of all */
            references++;
        }
        peet__bus_groups_count(b);
        wrong = memcmp(m.kinds, b->caches[0].stats.kinds, sizeof m.kinds) != 0;
        if (wrong)
            printf("%s ways=%s: block %u\n", cache, ways, i);
    }
    CU_ASSERT_EQUAL(wrong, 0);
    CU_ASSERT(b->groupwise);
    CU_ASSERT_EQUAL(b->caches[0].stats.reads + b->caches[0].stats.writes, references);
    rig_finish(&rig);
    CU_ASSERT_EQUAL(rig.failures, 0);
    rig_close(&rig);
}

static void test_blocks(void)
{
    static const struct {
        const char *cache, *ways;
    } shapes[] = {{"64", "1"}, {"64", "4"}, {"128", "1"}, {"128", "2"}, {"240", "5"}, {"256", "4"}, {"256", "16"},
        {"368", "1"}, {"512", "8"}, {"1KiB", "1"}, {"1KiB", "4"}, {"2KiB", "8"}, {"1536", "12"}};
    for (unsigned i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        run_blocks(shapes[i].cache, shapes[i].ways, 0);
        run_blocks(shapes[i].cache, shapes[i].ways, 1);
    }
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"against a list", test_kinds}, {"blocks of many references against a list", test_blocks}, CU_TEST_INFO_NULL};
    return run_suite("bus: kinds of misses of a processor alone", tests);
}
