/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The array of tags against models that keep, for each set, a list in an order that says everything: LRU and
 * FIFO as queues, PLRU as recursive halves, RRIP as its published loop.
 */
#include "common/random.h"
#include "common/tags.h"
#include "run_suite.h"

#include <string.h>

enum { SETS_MAX = 12, ACCESSES = 40000 };

/* One set of the model: what lies in each way, and what the policy remembers. */
struct model_set {
    int64_t number[64]; /* -1: empty */
    int queue[64];      /* LRU, FIFO: ways, the next victim first */
    int nqueue;
    int points[128]; /* PLRU: by node, 1: right */
    int rrpv[64];
};

static void queue_remove(struct model_set *s, int way)
{
    int n = 0;

    for (int i = 0; i < s->nqueue; i++)
        if (s->queue[i] != way)
            s->queue[n++] = s->queue[i];
    s->nqueue = n;
}

/* The subtree of `node` covers ways [first, first + width). */
static void plru_use(struct model_set *s, int node, int first, int width, int way)
{
    if (width == 1)
        return;
    if (way < first + width / 2) {
        s->points[node] = 1;
        plru_use(s, 2 * node, first, width / 2, way);
    } else {
        s->points[node] = 0;
        plru_use(s, 2 * node + 1, first + width / 2, width / 2, way);
    }
}

static int plru_choose(const struct model_set *s, int node, int first, int width, int ways)
{
    if (width == 1)
        return first;
    if (s->points[node] && first + width / 2 < ways)
        return plru_choose(s, 2 * node + 1, first + width / 2, width / 2, ways);
    return plru_choose(s, 2 * node, first, width / 2, ways);
}

static int model_access(struct model_set *s, enum peet_sim_replacement policy, int ways, int64_t number, int *out_way)
{
    int way = -1, hit, width = 1;

    while (width < ways)
        width *= 2;
    for (int i = 0; i < ways; i++)
        if (s->number[i] == number)
            way = i;
    hit = way >= 0;
    for (int i = 0; way < 0 && i < ways; i++)
        if (s->number[i] < 0)
            way = i;
    if (way < 0) {
        switch (policy) {
        case PEET_SIM_LRU:
        case PEET_SIM_FIFO:
            way = s->queue[0];
            break;
        case PEET_SIM_PLRU:
            way = plru_choose(s, 1, 0, width, ways);
            break;
        case PEET_SIM_RRIP:
            while (way < 0) {
                for (int i = ways - 1; i >= 0; i--)
                    if (s->rrpv[i] == 3)
                        way = i;
                for (int i = 0; way < 0 && i < ways; i++)
                    s->rrpv[i]++;
            }
            break;
        default:
            break;
        }
    }
    s->number[way] = number;
    s->rrpv[way] = hit ? 0 : 2;
    if (!hit || policy == PEET_SIM_LRU) {
        queue_remove(s, way);
        s->queue[s->nqueue++] = way;
    }
    plru_use(s, 1, 0, width, way);
    *out_way = way;
    return hit;
}

static void compare(enum peet_sim_replacement policy, int sets, int ways, uint64_t numbers)
{
    static struct model_set model[SETS_MAX];
    struct peet_sim_tags t;
    uint64_t seed = (uint64_t)(sets * 100 + ways);
    int wrong = 0;

    memset(model, 0, sizeof model);
    for (int s = 0; s < sets; s++)
        for (int w = 0; w < 64; w++)
            model[s].number[w] = -1;
    CU_ASSERT_FATAL(!peet_sim_tags_init(&t, (uint64_t)sets, (uint32_t)ways, policy, 1));
    for (int i = 0; i < ACCESSES; i++) {
        uint64_t number = peet_sim_random_below(&seed, numbers), slot = peet_sim_tags_find(&t, number);
        int way, set = (int)(number % (uint64_t)sets);
        int hit = model_access(&model[set], policy, ways, (int64_t)number, &way);

        wrong += hit != (slot != PEET_SIM_NO_SLOT);
        if (slot == PEET_SIM_NO_SLOT) {
            slot = peet_sim_tags_victim(&t, number);
            peet_sim_tags_fill(&t, slot, number, 1);
        } else {
            peet_sim_tags_touch(&t, slot);
        }
        wrong += slot != (uint64_t)(set * ways + way);
        if (peet_sim_random_below(&seed, 50) == 0) { /* an invalidation: the way is empty, the rest as it was */
            peet_sim_tags_drop(&t, slot);
            model[set].number[way] = -1;
            queue_remove(&model[set], way);
        }
    }
    CU_ASSERT_EQUAL(wrong, 0);
    peet_sim_tags_fini(&t);
}

static void test_policies(void)
{
    static const enum peet_sim_replacement policies[] = {PEET_SIM_LRU, PEET_SIM_FIFO, PEET_SIM_PLRU, PEET_SIM_RRIP};

    for (unsigned p = 0; p < sizeof policies / sizeof *policies; p++)
        for (int sets = 1; sets <= SETS_MAX; sets += sets < 4 ? 1 : 4)
            for (int ways = 1; ways <= 64; ways = ways < 9 ? ways + 1 : 2 * ways - 3)
                compare(policies[p], sets, ways, (uint64_t)(sets * ways * 3 / 2 + 2));
}

/* Random: every way is drawn about equally often, the same ones for the same seed. */
static void test_random(void)
{
    struct peet_sim_tags a, b;
    uint64_t drawn[5] = {0};

    CU_ASSERT_FATAL(!peet_sim_tags_init(&a, 1, 5, PEET_SIM_RANDOM, 7) &&
        !peet_sim_tags_init(&b, 1, 5, PEET_SIM_RANDOM, 7));
    for (uint64_t i = 0; i < 50000; i++) {
        uint64_t slot = peet_sim_tags_victim(&a, i);

        CU_ASSERT_EQUAL_FATAL(slot, peet_sim_tags_victim(&b, i));
        peet_sim_tags_fill(&a, slot, i, 1);
        peet_sim_tags_fill(&b, slot, i, 1);
        drawn[slot]++;
    }
    for (int i = 0; i < 5; i++)
        CU_ASSERT(drawn[i] > 9600 && drawn[i] < 10400); /* four standard deviations */
    peet_sim_tags_fini(&a);
    peet_sim_tags_fini(&b);
}

int main(void)
{
    CU_TestInfo tests[] = {{"LRU, FIFO, PLRU and RRIP are their models", test_policies},
        {"random is fair and repeatable", test_random}, CU_TEST_INFO_NULL};

    return run_suite("toolkit: tags", tests);
}
