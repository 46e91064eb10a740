/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The machine numa against a model that knows no tables: an array of lines, who has read and written each, and what the
 * words modified, owned, exclusive and shared mean.  Misses by kind, who answered, replacements, memory's reads and
 * writes, pages and messages must be the same; times of single transactions are sums of their parts; loops and batches
 * are the same as one block after another.
 */
#include "numarig.h"

enum { HWS = 6, NODES = 3, LINES = 40, SETS = 4, WAYS = 2, LINE = 64, PAGE_LINES = 4 };

/* ------------------------------------------------------------------------------------------ the model */

struct model_line {
    int holders[HWS];          /* has a copy */
    int writer;                /* its copy is newer than memory, or -1 */
    int alone;                 /* who may write without asking (and has it alone), or -1 */
    int ever[HWS], taken[HWS]; /* had it; lost it to another's write */
    unsigned long used[HWS];
};
struct model {
    struct model_line lines[LINES];
    int moesi, exclusive; /* protocol has O; has E */
    int node_of_page[LINES / PAGE_LINES];
    unsigned long clock;
    struct numa_processor_stats stats[HWS];
    uint64_t memory_reads[NODES], memory_writes[NODES], messages;
};

static int node_of(unsigned hw)
{
    return (int)(hw * NODES / HWS);
}

static int home_of(struct model *m, unsigned line, unsigned hw)
{
    int *node = &m->node_of_page[line / PAGE_LINES];
    if (*node < 0)
        *node = node_of(hw);
    return *node;
}

static void leave(struct model *m, unsigned hw, unsigned line)
{
    struct model_line *l = &m->lines[line];
    const int home = home_of(m, line, hw);
    l->holders[hw] = 0;
    m->messages++;
    if (l->alone == (int)hw)
        l->alone = -1;
    if (l->writer == (int)hw) {
        l->writer = -1;
        m->memory_writes[home]++;
        m->stats[hw].replaced_dirty++;
    } else {
        m->stats[hw].replaced_clean++;
    }
}

/* The least recently used line of a full set goes. */
static void make_room(struct model *m, unsigned hw, unsigned line)
{
    unsigned held = 0, oldest = LINES;
    for (unsigned other = line % SETS; other < LINES; other += SETS)
        if (m->lines[other].holders[hw]) {
            held++;
            if (oldest == LINES || m->lines[other].used[hw] < m->lines[oldest].used[hw])
                oldest = other;
        }
    if (held == WAYS)
        leave(m, hw, oldest);
}

static void count_supplier(struct model *m, unsigned hw, int supplier, int home)
{
    struct numa_processor_stats *s = &m->stats[hw];
    if (supplier >= 0) {
        *(node_of((unsigned)supplier) == node_of(hw) ? &s->local_owner : &s->remote_owner) += 1;
        m->messages += 3; /* request, forward, data */
    } else {
        m->memory_reads[home]++;
        *(home == node_of(hw) ? &s->local_memory : &s->remote_memory) += 1;
        m->messages += 2;
    }
}

static void model_refer(struct model *m, unsigned hw, unsigned line, int write)
{
    struct model_line *l = &m->lines[line];
    struct numa_processor_stats *s = &m->stats[hw];
    const int had = l->holders[hw], hit = had && (!write || l->alone == (int)hw);
    *(write ? &s->writes : &s->reads) += 1;
    if (!hit) {
        const int home = home_of(m, line, hw);
        int supplier = l->writer >= 0 ? l->writer : l->alone; /* who answers in memory's place */
        *(write ? &s->write_misses : &s->read_misses) += 1;
        s->kinds[had ? KIND_UPGRADE : !l->ever[hw] ? KIND_COLD : l->taken[hw] ? KIND_INVALIDATED : KIND_REPLACED]++;
        if (!had)
            make_room(m, hw, line);
        if (had) {
            *(home == node_of(hw) ? &s->upgrades_local : &s->upgrades_remote) += 1;
            m->messages += 2;
        } else {
            count_supplier(m, hw, supplier, home);
        }
        for (unsigned other = 0; other < HWS; other++)
            if (write && other != hw && l->holders[other]) {
                m->stats[other].invalidated++;
                l->holders[other] = 0;
                l->taken[other] = 1;
                m->messages += had || (int)other != supplier ? 2 : 0; /* told, and tells; an owner's data say it */
            }
        if (!write) {
            int others = 0;
            for (unsigned other = 0; other < HWS; other++)
                others += other != hw && l->holders[other];
            if (l->writer >= 0 && !m->moesi) { /* memory learns it on the way */
                m->memory_writes[home]++;
                m->messages++;
                l->writer = -1;
            }
            l->alone = !others && m->exclusive ? (int)hw : -1;
        }
        l->holders[hw] = l->ever[hw] = 1;
        l->taken[hw] = 0;
    }
    if (write)
        l->writer = l->alone = (int)hw;
    l->used[hw] = ++m->clock;
}

/* ------------------------------------------------------------------------------------------ the tests */

static void compare(const char *protocol)
{
    static struct model m;
    struct numarig rig;
    char settings[300];
    uint64_t random = 12345, pages[NODES] = {0};
    memset(&m, 0, sizeof m);
    m.moesi = !strcmp(protocol, "moesi");
    m.exclusive = strcmp(protocol, "msi") != 0;
    for (unsigned line = 0; line < LINES; line++)
        m.lines[line].writer = m.lines[line].alone = -1;
    for (unsigned page = 0; page < LINES / PAGE_LINES; page++)
        m.node_of_page[page] = -1;
    snprintf(settings, sizeof settings, "protocol=%s nodes=%d cache=%d line=%d ways=%d page=%d memory=flat check=on",
        protocol, NODES, SETS * WAYS * LINE, LINE, WAYS, PAGE_LINES * LINE);
    CU_ASSERT_FATAL(numarig_open(&rig, HWS, settings) == 0);
    for (int i = 0; i < 30000; i++) {
        const unsigned hw = (unsigned)numarig_random(&random, HWS), write = numarig_random(&random, 3) == 0;
        /* half of all references go to a few lines, so that they are shared */
        const unsigned line = (unsigned)numarig_random(&random, numarig_random(&random, 2) ? 6 : LINES);
        model_refer(&m, hw, line, (int)write);
        numarig_refer(&rig, hw, (uint64_t)line * LINE + 8, 8, write ? PEET_REF_STORE : PEET_REF_LOAD);
    }
    if (*rig.failure)
        printf("%s\n", rig.failure);
    CU_ASSERT(!*rig.failure);
    for (unsigned hw = 0; hw < HWS; hw++) {
        struct numa_processor_stats got = rig.numa->processors[hw].stats;
        got.stall_cycles = got.latency_local_cycles = got.latency_remote_cycles = 0;
        CU_ASSERT(got.kinds[KIND_COLD] > 0 && got.kinds[KIND_REPLACED] > 0 && got.kinds[KIND_INVALIDATED] > 0 &&
            got.kinds[KIND_UPGRADE] > 0);
        CU_ASSERT(!memcmp(&got, &m.stats[hw], sizeof got));
        for (size_t f = 0; f < sizeof got / sizeof(uint64_t); f++)
            if (((uint64_t *)(void *)&got)[f] != ((uint64_t *)(void *)&m.stats[hw])[f])
                printf("%s, processor %u, counter %zu: %llu, not %llu\n", protocol, hw, f,
                    (unsigned long long)((uint64_t *)(void *)&got)[f],
                    (unsigned long long)((uint64_t *)(void *)&m.stats[hw])[f]);
    }
    for (unsigned page = 0; page < LINES / PAGE_LINES; page++)
        pages[m.node_of_page[page]]++;
    for (unsigned node = 0; node < NODES; node++) {
        CU_ASSERT_EQUAL(rig.numa->nodes[node].dram.stats.reads, m.memory_reads[node]);
        CU_ASSERT_EQUAL(rig.numa->nodes[node].dram.stats.writes, m.memory_writes[node]);
        CU_ASSERT_EQUAL(rig.numa->nodes[node].pages, pages[node]);
    }
    CU_ASSERT_EQUAL(rig.numa->messages[NUMA_CONTROL] + rig.numa->messages[NUMA_DATA], m.messages);
    numarig_close(&rig);
}

static void msi(void)
{
    compare("msi");
}

static void mesi(void)
{
    compare("mesi");
}

static void moesi(void)
{
    compare("moesi");
}

/* Times: local 5, remote 40 or 80 one way and a cycle a flit of 16 bytes (a message of 8 bytes: 1, with a line: 5);
 * home 10, probe 20, memory 100. */
static void times(void)
{
    struct numarig rig;
    enum { A = 0x100000, CONTROL = 1, DATA = 5, NEAR = 40, FAR = 80, LOCAL = 5, HOME = 10, PROBE = 20, MEMORY = 100 };
    CU_ASSERT_FATAL(
        numarig_open(&rig, 3,
            "nodes=3 memory=flat memory_cycles=100 local_cycles=5 home_cycles=10 probe_cycles=20 hop_cycles=40 "
            "link_bytes=16 distances=10,20,30;20,10,20;30,20,10") == 0);
    /* its own memory; then hits; E to M */
    CU_ASSERT_EQUAL(numarig_refer(&rig, 0, A, 8, PEET_REF_LOAD), LOCAL + HOME + MEMORY + LOCAL);
    CU_ASSERT_EQUAL(numarig_refer(&rig, 0, A + 56, 8, PEET_REF_LOAD), 0);
    CU_ASSERT_EQUAL(numarig_refer(&rig, 0, A, 8, PEET_REF_STORE), 0);
    rig.clock[0] = rig.clock[1] = rig.clock[2] = 1000;
    /* a line of node 0 that 0 has: forwarded within node 0, and its data go to node 2 */
    CU_ASSERT_EQUAL(numarig_refer(&rig, 2, A, 8, PEET_REF_LOAD), CONTROL + FAR + HOME + LOCAL + PROBE + DATA + FAR);
    rig.clock[0] = rig.clock[1] = rig.clock[2] = 2000;
    /* memory of node 0 for node 1 */
    CU_ASSERT_EQUAL(numarig_refer(&rig, 1, A, 8, PEET_REF_LOAD), CONTROL + NEAR + HOME + MEMORY + DATA + NEAR);
    rig.clock[0] = rig.clock[1] = rig.clock[2] = 3000;
    /* 1 writes: the home answers it first, by the same port tells 2 from afar, and 2's answer comes last, over 20 */
    CU_ASSERT_EQUAL(numarig_refer(&rig, 1, A, 8, PEET_REF_STORE),
        CONTROL + NEAR + HOME + 2 * CONTROL + FAR + PROBE + CONTROL + NEAR);
    rig.clock[0] = rig.clock[1] = rig.clock[2] = 4000;
    /* three nodes: 2 asks 0, which asks 1, which answers 2 */
    CU_ASSERT_EQUAL(numarig_refer(&rig, 2, A, 8, PEET_REF_STORE),
        CONTROL + FAR + HOME + CONTROL + NEAR + PROBE + DATA + NEAR);
    rig.clock[0] = rig.clock[1] = rig.clock[2] = 5000;
    /* over the end of a line: both */
    CU_ASSERT_EQUAL(numarig_refer(&rig, 2, 0x200000 + 60, 8, PEET_REF_LOAD), 2 * (LOCAL + HOME + MEMORY + LOCAL));
    CU_ASSERT_EQUAL(rig.numa->nodes[2].pages, 1);
    numarig_close(&rig);
}

static void placement(void)
{
    struct numarig rig;
    CU_ASSERT_FATAL(numarig_open(&rig, 2, "nodes=4 placement=interleaved") == 0);
    for (uint64_t page = 0; page < 10; page++)
        numarig_refer(&rig, 1, page * 4096, 8, PEET_REF_LOAD);
    for (unsigned node = 0; node < 4; node++)
        CU_ASSERT_EQUAL(rig.numa->nodes[node].pages, node < 2 ? 3 : 2);
    numarig_close(&rig);
    CU_ASSERT_FATAL(numarig_open(&rig, 2, "nodes=4 placement=one") == 0);
    numarig_refer(&rig, 1, 4096, 8, PEET_REF_LOAD);
    CU_ASSERT_EQUAL(rig.numa->nodes[0].pages, 1);
    numarig_close(&rig);
}

/* Blocks of a few references with strides, through loop(), blocks() and block(). */
static void loops(void)
{
    static const char *const replacements[] = {"lru", "fifo", "random", "plru", "rrip"};
    uint64_t random = 77;
    for (unsigned round = 0; round < 300; round++) {
        struct numarig a, b;
        struct peet_ref refs[4];
        struct peet_block block = {
            .flags = PEET_BLOCK_SIMPLE, .ninsns = 5, .cost_cycles = (uint32_t)numarig_random(&random, 4), .refs = refs};
        uint64_t values[4], at[4];
        int64_t strides[4];
        char settings[200];
        snprintf(settings, sizeof settings, "cache=1KiB ways=%d nodes=2 hit_cycles=%d replacement=%s",
            round % 2 ? 2 : 4, (int)(round % 3), replacements[round % 5]);
        CU_ASSERT_FATAL(numarig_open(&a, 2, settings) == 0 && numarig_open(&b, 2, settings) == 0);
        for (unsigned again = 0; again < 4; again++) {
            const unsigned hw = again % 2;
            uint64_t turns = 1 + numarig_random(&random, 200), left = turns, until;
            block.nrefs = block.nvalues = 1 + (uint32_t)numarig_random(&random, 4);
            for (unsigned r = 0; r < block.nrefs; r++) {
                refs[r] = (struct peet_ref){.size_bytes = (uint16_t)(1u << numarig_random(&random, 4)),
                    .value = (uint16_t)r,
                    .kind = (uint8_t)numarig_random(&random, 3)};
                at[r] = values[r] = 0x10000 + numarig_random(&random, 4096);
                strides[r] = (int64_t)numarig_random(&random, 41) - 20;
                if (numarig_random(&random, 3) == 0)
                    strides[r] = 0;
            }
            while (left) {
                uint64_t done = 0, cycles;
                struct peet_block_event event = {&block, at, hw, left, strides};
                until = a.clock[hw] + numarig_random(&random, 400);
                a.not_ready = 0;
                cycles = peet_module.loop(a.numa, hw, &event, a.clock[hw], until, &done);
                a.clock[hw] = a.not_ready > a.clock[hw] + cycles ? a.not_ready : a.clock[hw] + cycles;
                CU_ASSERT_FATAL(done >= 1 && done <= left);
                /* one by one it ends with the same iteration */
                for (uint64_t i = 0; i < done; i++) {
                    struct peet_block_event one = {&block, at, hw, 1, NULL};
                    size_t ndone = 0;
                    CU_ASSERT(i == 0 || b.clock[hw] < until);
                    b.not_ready = 0;
                    cycles = round % 2 ? peet_module.block(b.numa, hw, &one, b.clock[hw])
                                       : peet_module.blocks(b.numa, hw, &one, 1, b.clock[hw], until, &ndone);
                    b.clock[hw] = b.not_ready > b.clock[hw] + cycles ? b.not_ready : b.clock[hw] + cycles;
                    for (unsigned r = 0; r < block.nrefs; r++)
                        at[r] += (uint64_t)strides[r];
                }
                left -= done;
                CU_ASSERT(!left || b.clock[hw] >= until);
                CU_ASSERT_EQUAL(a.clock[hw], b.clock[hw]);
            }
            CU_ASSERT(!memcmp(&a.numa->processors[hw].stats, &b.numa->processors[hw].stats,
                sizeof a.numa->processors[hw].stats));
        }
        numarig_close(&a);
        numarig_close(&b);
    }
}

static void refusals(void)
{
    static const char *const wrong[] = {"line=48", "page=3000", "cache=1000", "page=256 line=512", "memory_banks=3",
        "memory_channels=6", "nodes=2 distances=10,20", "nodes=2 distances=10,20;20,11", "nodes=2 distances=10,5;20,10",
        "nodes=2 distances=10,20;20,10,", "nodes=2 distances=10,x;20,10", "nodes=2 network=ring distances=10,20;20,10"};
    for (unsigned i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct numarig rig;
        CU_ASSERT(numarig_open(&rig, 4, wrong[i]) == -1);
        CU_ASSERT(strlen(rig.failure) > 10);
        numarig_close(&rig);
    }
}

int main(void)
{
    CU_TestInfo tests[] = {{"msi", msi}, {"mesi", mesi}, {"moesi", moesi}, {"times", times}, {"placement", placement},
        {"loops", loops}, {"refusals", refusals}, CU_TEST_INFO_NULL};
    return run_suite("numa against a model", tests);
}
