/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every reachable state of each protocol for one line and two or three caches: breadth first, each cache
 * reading, writing and replacing the line in each state.  The machine's checker watches (one owner, no stale
 * copy, memory up to date when nobody is dirty, no row that is marked "never"); here the set of states is held
 * against lists written from the papers: which states may stand side by side, and that each such pair occurs.
 * Every row of the tables must be used or marked.
 */
#include <stdio.h>
#include <string.h>
#include "rig.h"
#include "run_suite.h"

enum { ADDRESS = 0x1000, MOST_NODES = 4096, MOST_PATH = 24 };

/* "ab": the states with these letters may be held by two caches at once; a letter for each state in table order. */
struct expectation {
    const char *protocol, *allocate, *letters, *pairs;
};
static const struct expectation expectations[] = {
    {"write-once", "protocol", "IVRD", "II IV IR ID VV"},
    {"synapse", "protocol", "IVD", "II IV ID VV"},
    {"berkeley", "protocol", "IUNE", "II IU IN IE UU UN"},
    {"illinois", "protocol", "ISEM", "II IS IE IM SS"},
    {"mesi", "protocol", "ISEM", "II IS IE IM SS"},
    {"msi", "protocol", "ISM", "II IS IM SS"},
    {"moesi", "protocol", "ISEOM", "II IS IE IO IM SS SO"},
    {"firefly", "protocol", "ISED", "II IS IE ID SS"},
    {"dragon", "protocol", "ICEOD", "II IC IE IO ID CC CO"},
    {"through", "no", "IV", "II IV VV"},
    {"through", "yes", "IV", "II IV VV"},
};

struct node {
    unsigned char states[3], memory_fresh;
    unsigned char path[MOST_PATH];
    unsigned length;
};

static const char *const ops = "rwx"; /* read, write, replace */

static unsigned state_of(const struct rig *rig, unsigned hw)
{
    const struct frame *f = &rig->bus->frames[hw]; /* one frame each */
    return f->state != BUS_INVALID && KEY_LINE(rig->bus->keys[hw]) == ADDRESS / 16 ? f->state : BUS_INVALID;
}

static void perform(struct rig *rig, unsigned step)
{
    unsigned hw = step / 3;
    switch (ops[step % 3]) {
    case 'r':
        rig_read(rig, hw, ADDRESS, 4);
        break;
    case 'w':
        rig_write(rig, hw, ADDRESS + 4, 8);
        break;
    default: /* a line of its own pushes it out */
        rig_read(rig, hw, ADDRESS * (hw + 2), 4);
    }
}

static void look(struct rig *rig, unsigned n, struct node *node)
{
    const uint64_t *latest = peet_sim_linemap_get(&rig->bus->checker->data, ADDRESS / 16);
    memset(node->states, 0, sizeof node->states);
    for (unsigned hw = 0; hw < n; hw++)
        node->states[hw] = (unsigned char)state_of(rig, hw);
    node->memory_fresh =
        !memcmp(latest, latest + rig->bus->checker->sectors, rig->bus->checker->sectors * sizeof *latest);
}

static void explore(const struct expectation *e, unsigned n, uint8_t pairs[][BUS_STATES_MAX], uint8_t processor[][2],
    uint8_t snoop[][BUS_OPS_COUNT], const struct bus_protocol **out_protocol)
{
    static struct node nodes[MOST_NODES];
    unsigned count = 1;
    memset(&nodes[0], 0, sizeof nodes[0]);
    nodes[0].memory_fresh = 1;
    for (unsigned i = 0; i < count; i++) {
        for (unsigned step = 0; step < 3 * n; step++) {
            struct rig rig;
            struct node next = nodes[i];
            CU_ASSERT_FATAL(rig_open(&rig, n, 1, "protocol", e->protocol, "allocate", e->allocate, "cache", "16",
                                "line", "16", "ways", "1", "check", "on", NULL) == 0);
            for (unsigned k = 0; k < nodes[i].length; k++)
                perform(&rig, nodes[i].path[k]);
            struct node here = next;
            look(&rig, n, &here);
            CU_ASSERT_EQUAL(memcmp(here.states, nodes[i].states, sizeof here.states), 0);
            perform(&rig, step);
            if (rig.failures)
                printf("%s: %s\n", e->protocol, rig.failure);
            CU_ASSERT_EQUAL_FATAL(rig.failures, 0);
            look(&rig, n, &next);
            unsigned j = 0;
            while (j < count &&
                (memcmp(nodes[j].states, next.states, sizeof next.states) ||
                    nodes[j].memory_fresh != next.memory_fresh))
                j++;
            if (j == count) {
                CU_ASSERT_FATAL(count < MOST_NODES && next.length < MOST_PATH);
                next.path[next.length++] = (unsigned char)step;
                nodes[count++] = next;
            }
            const struct checker *k = rig.bus->checker;
            for (unsigned s = 0; s < BUS_STATES_MAX; s++) {
                for (unsigned w = 0; w < 2; w++)
                    processor[s][w] |= k->processor_used[s][w];
                for (unsigned op = 0; op < BUS_OPS_COUNT; op++)
                    snoop[s][op] |= k->snoop_used[s][op];
            }
            *out_protocol = rig.bus->protocol;
            rig_close(&rig);
        }
        for (unsigned a = 0; a < n; a++)
            for (unsigned b = 0; b < n; b++)
                if (a != b)
                    pairs[nodes[i].states[a]][nodes[i].states[b]] = 1;
    }
    printf("%s: %u caches, %u states; ", e->protocol, n, count);
}

static int listed(const struct expectation *e, unsigned a, unsigned b)
{
    for (const char *p = e->pairs; *p; p += 2 + (p[2] != 0))
        if ((p[0] == e->letters[a] && p[1] == e->letters[b]) || (p[1] == e->letters[a] && p[0] == e->letters[b]))
            return 1;
    return 0;
}

static void run(const struct expectation *e)
{
    uint8_t processor[BUS_STATES_MAX][2] = {{0}}, snoop[BUS_STATES_MAX][BUS_OPS_COUNT] = {{0}};
    const struct bus_protocol *p = NULL;
    for (unsigned n = 2; n <= 3; n++) {
        uint8_t pairs[BUS_STATES_MAX][BUS_STATES_MAX] = {{0}};
        explore(e, n, pairs, processor, snoop, &p);
        CU_ASSERT_EQUAL_FATAL(p->nstates, strlen(e->letters));
        for (unsigned a = 0; a < p->nstates; a++)
            for (unsigned b = 0; b < p->nstates; b++) {
                if (pairs[a][b] != listed(e, a, b))
                    printf("%s: pair %c%c %s\n", e->protocol, e->letters[a], e->letters[b],
                        pairs[a][b] ? "occurs" : "does not occur");
                CU_ASSERT_EQUAL(pairs[a][b], listed(e, a, b));
            }
    }
    for (unsigned s = 0; s < p->nstates; s++) {
        CU_ASSERT(processor[s][0] && processor[s][1]);
        for (unsigned op = OP_NONE + 1; op < BUS_OPS_COUNT && s != BUS_INVALID; op++) {
            int never = (p->snoop[s][op].flags & BUS_NEVER) != 0;
            if (snoop[s][op] == never)
                printf("%s: state %c, op %u: %s\n", e->protocol, e->letters[s], op,
                    never ? "never, but used" : "not used");
            CU_ASSERT_NOT_EQUAL(snoop[s][op], never);
        }
    }
}

static void test_states(void)
{
    for (unsigned i = 0; i < sizeof expectations / sizeof *expectations; i++)
        run(&expectations[i]);
}

/* The checker is worth something only if it notices.  In each table, change one snoop row at a time so that the copy
 * stays as it was and sends nothing; that must be noticed, unless the row said just that. */
static int noticed(const struct bus_protocol *mutant, const char *protocol)
{
    struct rig rig;
    uint64_t seed = 99;
    CU_ASSERT_FATAL(rig_open(&rig, 3, 1, "protocol", protocol, "cache", "64", "line", "16", "ways", "1", "check", "on",
                        NULL) == 0);
    rig.bus->protocol = mutant;
    for (unsigned i = 0; i < 5000 && !rig.failures; i++) {
        unsigned hw = (unsigned)rig_random(&seed, 3);
        uint64_t address = ADDRESS + 4 * rig_random(&seed, 40);
        rig_random(&seed, 2) ? rig_read(&rig, hw, address, 4) : rig_write(&rig, hw, address, 4);
    }
    int failed = rig.failures != 0;
    rig_close(&rig);
    return failed;
}

static void test_mutants(void)
{
    unsigned tried = 0;
    for (unsigned i = 0; i < sizeof expectations / sizeof *expectations - 2; i++) {
        const char *name = expectations[i].protocol;
        struct rig rig;
        CU_ASSERT_FATAL(rig_open(&rig, 1, 1, "protocol", name, NULL) == 0);
        const struct bus_protocol *p = rig.bus->protocol;
        rig_close(&rig);
        CU_ASSERT_FALSE(noticed(p, name));
        for (unsigned s = 1; s < p->nstates; s++)
            for (unsigned op = OP_NONE + 1; op < OP_WRITE_BACK; op++) {
                struct bus_protocol mutant = *p;
                struct bus_snoop_row *row = &mutant.snoop[s][op];
                if (row->flags & BUS_NEVER || (row->next == s && !row->flags))
                    continue;
                *row = (struct bus_snoop_row){(uint8_t)s, 0};
                tried++;
                if (!noticed(&mutant, name)) {
                    printf("%s: state %u, op %u: the change was not noticed\n", name, s, op);
                    /* A shared copy that fails to offer itself to a reader is no error if memory is up to date. */
                    CU_ASSERT(p->snoop[s][op].next == s && p->snoop[s][op].flags == BUS_SUPPLY &&
                        !(p->states[s].flags & BUS_DIRTY));
                }
            }
    }
    printf("%u mutants ", tried);
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"reachable states", test_states}, {"the checker notices faults", test_mutants}, CU_TEST_INFO_NULL};
    return run_suite("bus: states of the protocols", tests);
}
