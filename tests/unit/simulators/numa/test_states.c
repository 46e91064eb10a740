/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every reachable state of each directory protocol for one line and two or three caches of one line each: breadth
 * first, each cache reading, writing and replacing the line in each state.  The machine's checker watches (one owner,
 * no stale copy, the home's state and sharers).  Which states stand side by side is held against the definitions of the
 * states in Sorin, Hill and Wood's primer (chapter 6.3), and each such pair must occur.  Every row of the tables must
 * be used, and no other.
 */
#include "numarig.h"

enum { ADDRESS = 0x10000, LINE = 64, MOST_NODES = 1024, MOST_PATH = 24 };

struct expectation {
    const char *protocol, *pairs;
};
static const struct expectation expectations[] = {
    {"msi", "II IS IM SS"},
    {"mesi", "II IS IE IM SS"},
    {"moesi", "II IS IO IE IM SS SO"},
};
static const char letters[] = "ISOEM";

struct node {
    uint8_t states[3], home;
    uint8_t path[MOST_PATH];
    unsigned length;
};

static void perform(struct numarig *rig, unsigned step)
{
    const unsigned hw = step / 3, op = step % 3;
    if (op == 2) /* a line of its own pushes it out */
        numarig_refer(rig, hw, ADDRESS * (hw + 2), 4, PEET_REF_LOAD);
    else
        numarig_refer(rig, hw, ADDRESS + 4, 8, op ? PEET_REF_STORE : PEET_REF_LOAD);
}

static void look(const struct numarig *rig, unsigned n, struct node *node)
{
    struct numa *numa = rig->numa;
    memset(node->states, 0, sizeof node->states);
    for (unsigned hw = 0; hw < n; hw++) {
        const uint64_t slot = peet_sim_tags_find(&numa->processors[hw].cache, ADDRESS / LINE);
        node->states[hw] = slot == PEET_SIM_NO_SLOT ? PEET_SIM_COPY_I : numa->processors[hw].cache.states[slot];
    }
    node->home = peet__numa_line(numa, ADDRESS / LINE)->state;
}

/* Adds what was used of the tables. */
static void add(uint64_t *to, const uint64_t *from, size_t bytes)
{
    for (size_t i = 0; i < bytes / sizeof *to; i++)
        to[i] += from[i];
}

static void explore(const struct expectation *e, const char *directory, unsigned n,
    uint8_t pairs[PEET_SIM_COPIES][PEET_SIM_COPIES], struct numa *sums)
{
    static struct node nodes[MOST_NODES];
    unsigned count = 1;
    memset(&nodes[0], 0, sizeof nodes[0]);
    for (unsigned i = 0; i < count; i++)
        for (unsigned step = 0; step < 3 * n; step++) {
            struct node next = nodes[i];
            struct numarig rig;
            char settings[200];
            unsigned known;
            snprintf(settings, sizeof settings,
                "protocol=%s cache=64 line=64 ways=1 nodes=2 check=on directory=%s pointers=2", e->protocol, directory);
            CU_ASSERT_FATAL(numarig_open(&rig, n, settings) == 0 && next.length < MOST_PATH);
            next.path[next.length++] = (uint8_t)step;
            for (unsigned k = 0; k < next.length; k++)
                perform(&rig, next.path[k]);
            if (*rig.failure)
                printf("%s\n", rig.failure);
            CU_ASSERT_FATAL(!*rig.failure);
            look(&rig, n, &next);
            add(&sums->used.cache[0][0], &rig.numa->used.cache[0][0], sizeof sums->used.cache);
            add(&sums->used.home[0][0], &rig.numa->used.home[0][0], sizeof sums->used.home);
            add(&sums->used.owner[0][0], &rig.numa->used.owner[0][0], sizeof sums->used.owner);
            numarig_close(&rig);
            for (unsigned a = 0; a < n; a++)
                for (unsigned b = 0; b < n; b++)
                    if (a != b)
                        pairs[next.states[a]][next.states[b]] = 1;
            for (known = 0; known < count; known++)
                if (!memcmp(nodes[known].states, next.states, sizeof next.states) && nodes[known].home == next.home)
                    break;
            if (known == count) {
                CU_ASSERT_FATAL(count < MOST_NODES);
                nodes[count++] = next;
            }
        }
    CU_ASSERT(count > n);
}

static int expected(const char *pairs, unsigned a, unsigned b)
{
    const char one[] = {letters[a], letters[b], 0}, other[] = {letters[b], letters[a], 0};
    return strstr(pairs, one) || strstr(pairs, other);
}

static void all_states(const char *directory)
{
    for (unsigned e = 0; e < sizeof expectations / sizeof *expectations; e++) {
        const struct peet_sim_dirproto *p = peet_sim_dirproto((enum peet_sim_dirproto_id)e);
        uint8_t pairs[PEET_SIM_COPIES][PEET_SIM_COPIES] = {{0}};
        struct numa sums = {0};
        CU_ASSERT_STRING_EQUAL(p->name, expectations[e].protocol);
        for (unsigned n = 2; n <= 3; n++)
            explore(&expectations[e], directory, n, pairs, &sums);
        for (unsigned a = 0; a < PEET_SIM_COPIES; a++)
            for (unsigned b = 0; b < PEET_SIM_COPIES; b++) {
                if (pairs[a][b] != expected(expectations[e].pairs, a, b))
                    printf("%s: %c beside %c: %s\n", p->name, letters[a], letters[b],
                        pairs[a][b] ? "seen" : "never seen");
                CU_ASSERT(pairs[a][b] == expected(expectations[e].pairs, a, b));
            }
        for (unsigned s = 0; s < PEET_SIM_COPIES; s++) {
            for (unsigned op = 0; op < PEET_SIM_DIR_OPS; op++)
                CU_ASSERT(!sums.used.cache[s][op] == !p->cache[s][op].can_be);
            for (unsigned f = 0; f < PEET_SIM_FORWARDS; f++)
                CU_ASSERT(!sums.used.owner[s][f] == !p->owner[s][f].can_be);
        }
        for (unsigned h = 0; h < PEET_SIM_HOMES; h++)
            for (unsigned r = 0; r < PEET_SIM_DIR_REQUESTS; r++) {
                if (!sums.used.home[h][r] != !p->home[h][r].can_be)
                    printf("%s: home state %u, request %u\n", p->name, h, r);
                CU_ASSERT(!sums.used.home[h][r] == !p->home[h][r].can_be);
            }
    }
}

static void full_map(void)
{
    all_states("full");
}

static void few_pointers(void)
{
    all_states("evict");
}

static void broadcast(void)
{
    all_states("broadcast");
}

int main(void)
{
    CU_TestInfo tests[] = {{"full map", full_map}, {"pointers, eviction", few_pointers},
        {"pointers, broadcast", broadcast}, CU_TEST_INFO_NULL};
    return run_suite("numa states", tests);
}
