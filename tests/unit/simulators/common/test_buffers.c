/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Miss registers and write buffers in closed form, and the buffer against a model that keeps every store for ever.
 */
#include "common/mshr.h"
#include "common/random.h"
#include "common/slots.h"
#include "common/writebuffer.h"
#include "run_suite.h"
#include <stdlib.h>
#include <string.h>

/* n registers, misses of 100 cycles each, asked for all at once: n at a time. */
static void test_parallelism(void)
{
    for (uint32_t n = 1; n <= 64; n *= 4) {
        struct peet_sim_mshrs m = {.n = n};
        uint64_t end = 0;

        for (uint64_t i = 0; i < 128; i++) {
            uint64_t start;
            uint32_t r = peet_sim_mshrs_take(&m, i, 10, &start);

            CU_ASSERT_EQUAL(start, 10 + i / n * 100);
            peet_sim_mshrs_set(&m, r, end = start + 100);
            CU_ASSERT(peet_sim_mshrs_busy(&m, start) <= n);
        }
        CU_ASSERT_EQUAL(end, 10 + 128 / n * 100);
    }
}

/* In order of time: a queue with n servers.  Out of order: nobody waits for what was promised for later. */
static void test_places(void)
{
    uint64_t seed = 5, start;

    for (uint32_t n = 1; n <= 64; n = 2 * n + 1) {
        struct peet_sim_slots s;
        uint64_t free_from[64] = {0}, now = 0, waited = 0;

        peet_sim_slots_init(&s, n);
        for (int i = 0; i < 3000; i++) {
            uint64_t cost = 1 + peet_sim_random_below(&seed, 200), expected;
            uint32_t first = 0;

            now += peet_sim_random_below(&seed, 250 / n + 1);
            for (uint32_t k = 1; k < n; k++)
                first = free_from[k] < free_from[first] ? k : first;
            expected = free_from[first] > now ? free_from[first] : now;
            peet_sim_slots_take(&s, now, &start);
            CU_ASSERT_EQUAL_FATAL(start, expected);
            free_from[first] = start + cost;
            peet_sim_slots_until(&s, start + cost);
            waited += start - now;
            CU_ASSERT(peet_sim_slots_busy(&s, start) <= n);
        }
        CU_ASSERT_EQUAL(s.waited_cycles, waited);
        CU_ASSERT(waited > 1000);
    }
    for (uint32_t n = 1; n <= 16; n *= 4) { /* all at once, many more than are remembered */
        struct peet_sim_slots s;

        peet_sim_slots_init(&s, n);
        for (uint64_t i = 0; i < 1000; i++) {
            peet_sim_slots_take(&s, 7, &start);
            CU_ASSERT_EQUAL(start, 7 + i / n * 50);
            peet_sim_slots_until(&s, start + 50);
        }
    }
    for (uint32_t n = 1; n <= 8; n *= 2) { /* a chain promised for later, and one that comes now */
        struct peet_sim_slots s;

        peet_sim_slots_init(&s, n);
        for (uint64_t i = 0; i < 3 * n; i++) {
            peet_sim_slots_take(&s, 1000 + 100 * i, &start);
            peet_sim_slots_until(&s, 1100 + 100 * i);
        }
        peet_sim_slots_take(&s, 10, &start);
        peet_sim_slots_until(&s, 110);
        CU_ASSERT_EQUAL(start, 10);
    }
}

/* What is free when, looked for from the beginning among all that is remembered: lists as slots.h describes them. */
struct plain {
    uint32_t n, kept, nfrom, nto;
    uint64_t full_until, from[PEET_SIM_SLOTS_KEPT], to[PEET_SIM_SLOTS_KEPT];
};

static uint32_t until(const uint64_t *times, uint32_t n, uint64_t now)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < n; i++)
        count += times[i] <= now;
    return count;
}

static int plain_full(const struct plain *p, uint64_t now)
{
    return until(p->from, p->nfrom, now) >= until(p->to, p->nto, now) + p->n;
}

static int compare(const void *a, const void *b)
{
    return *(const uint64_t *)a < *(const uint64_t *)b ? -1 : *(const uint64_t *)a > *(const uint64_t *)b;
}

static uint64_t plain_take(struct plain *p, uint64_t now)
{
    uint64_t start;

    if (p->nfrom == p->kept) {
        uint32_t over = until(p->to, p->nto, now);

        if (over < p->kept / 8) {
            over = p->kept / 4 < p->nto ? p->kept / 4 : p->nto;
            if (over && p->to[over - 1] > now && p->to[over - 1] > p->full_until && plain_full(p, p->to[over - 1] - 1))
                p->full_until = p->to[over - 1];
        }
        memmove(p->from, p->from + over, (p->nfrom -= over) * sizeof *p->from);
        memmove(p->to, p->to + over, (p->nto -= over) * sizeof *p->to);
    }
    start = now > p->full_until ? now : p->full_until;
    for (uint32_t i = 0; i < p->nto && plain_full(p, start); i++)
        start = p->to[i] > start ? p->to[i] : start;
    if (p->nfrom < p->kept)
        p->from[p->nfrom++] = start;
    qsort(p->from, p->nfrom, sizeof *p->from, compare);
    return start;
}

static void plain_until(struct plain *p, uint64_t end)
{
    if (p->nto < p->nfrom)
        p->to[p->nto++] = end;
    qsort(p->to, p->nto, sizeof *p->to, compare);
}

/* In any order, several without an end at a time, long and short, hardly any and far too many. */
static void test_places_plainly(void)
{
    uint64_t seed = 77;
    unsigned wrong = 0, waited = 0;

    for (uint32_t n = 1; n <= 16; n += 5)
        for (uint64_t gap = 4; gap <= 400; gap *= 10) {
            static struct plain p;
            struct peet_sim_slots s;
            uint64_t now = 0;

            p = (struct plain){.n = n, .kept = 4 * n < 32 ? 32 : 4 * n};
            peet_sim_slots_init(&s, n);
            for (int i = 0; i < 3000; i++) {
                unsigned nested = 1 + (unsigned)peet_sim_random_below(&seed, n < 3 ? n : 3);
                uint64_t starts[3], start;

                now += peet_sim_random_below(&seed, gap);
                for (unsigned k = 0; k < nested; k++) {
                    uint64_t at = now + peet_sim_random_below(&seed, 300);

                    wrong += !plain_full(&p, at) != !peet_sim_slots_full(&s, at);
                    peet_sim_slots_take(&s, at, &start);
                    wrong += start != plain_take(&p, at);
                    waited += start > at;
                    starts[k] = start;
                }
                while (nested--) {
                    uint64_t end = starts[nested] + 1 + peet_sim_random_below(&seed, i % 7 ? 60 : 600);

                    peet_sim_slots_until(&s, end);
                    plain_until(&p, end);
                }
            }
        }
    CU_ASSERT_EQUAL(wrong, 0);
    CU_ASSERT(waited > 1000);
}

static void test_merge(void)
{
    struct peet_sim_mshrs m = {.n = 4};
    uint64_t start;

    peet_sim_mshrs_set(&m, peet_sim_mshrs_take(&m, 7, 0, &start), 100);
    CU_ASSERT_EQUAL(peet_sim_mshrs_find(&m, 7, 50), 100);
    CU_ASSERT_EQUAL(peet_sim_mshrs_find(&m, 7, 100), 0);
    CU_ASSERT_EQUAL(peet_sim_mshrs_find(&m, 8, 50), 0);
    CU_ASSERT_EQUAL(m.merged, 1);
}

enum { STORES = 3000 };
static struct {
    uint64_t line, enter, start, end;
} all[STORES];

static void test_write_buffer(void)
{
    uint64_t seed = 9;

    for (uint32_t n = 1; n <= 16; n += 5) {
        struct peet_sim_writebuffer w = {.n = n};
        uint64_t now = 0;
        uint32_t made = 0;
        int wrong = 0;

        for (int i = 0; i < STORES; i++) {
            uint64_t line = peet_sim_random_below(&seed, 3), cost = 1 + peet_sim_random_below(&seed, 20), start, left,
                     expect = now;
            uint32_t waiting = 0;
            int joined, join = made && all[made - 1].line == line && all[made - 1].start > now;

            left = peet_sim_writebuffer_begin(&w, line, now, &joined, &start);
            wrong += joined != join;
            if (!join) {
                for (uint32_t k = 0; k < made; k++)
                    waiting += all[k].end > now;
                if (waiting == n) /* until the oldest of them has drained */
                    expect = all[made - n].end;
                all[made].line = line;
                all[made].start = made && all[made - 1].end > expect ? all[made - 1].end : expect;
                all[made].end = all[made].start + cost;
                wrong += start != all[made].start || waiting > n;
                peet_sim_writebuffer_end(&w, start + cost);
                made++;
            }
            wrong += left != expect;
            now = left + peet_sim_random_below(&seed, 12);
            for (uint64_t l = 0; l < 3; l++) {
                int holds = 0;

                for (uint32_t k = 0; k < made; k++)
                    holds |= all[k].line == l && all[k].end > now;
                wrong += holds != peet_sim_writebuffer_holds(&w, l, now);
            }
            wrong += peet_sim_writebuffer_empty_at(&w, now) != (all[made - 1].end > now ? all[made - 1].end : now);
        }
        CU_ASSERT_EQUAL(wrong, 0);
        CU_ASSERT_EQUAL(w.stores, STORES);
        CU_ASSERT_EQUAL(w.joined, STORES - made);
    }
}

int main(void)
{
    CU_TestInfo tests[] = {{"parallel misses", test_parallelism}, {"places", test_places},
        {"places, plainly", test_places_plainly}, {"a second miss joins", test_merge},
        {"write buffer", test_write_buffer}, CU_TEST_INFO_NULL};

    return run_suite("toolkit: buffers", tests);
}
