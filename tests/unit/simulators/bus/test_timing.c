/* SPDX-License-Identifier: Apache-2.0 */
/* Times against closed forms, the arbiter against orders worked out by hand. */
#include <string.h>
#include "rig.h"
#include "run_suite.h"

/* address 3, word 2, width 4, memory 20, transfer 7; line 16 = 4 words */
#define TIMES \
    "bus_address_cycles", "3", "bus_word_cycles", "2", "bus_width_bytes", "4", "memory_latency_cycles", "20", \
        "cache_latency_cycles", "7", "line", "16", "cache", "1KiB", "ways", "1"
enum { ADDRESS_CYCLES = 3, LINE_CYCLES = 4 * 2, FROM_MEMORY = 3 + 20 + LINE_CYCLES, FROM_CACHE = 3 + 7 + LINE_CYCLES };

static void test_single(void)
{
    struct rig rig;
    CU_ASSERT_FATAL(rig_open(&rig, 2, 1, "protocol", "illinois", "hit_cycles", "1", "cpi", "2", TIMES, NULL) == 0);
    CU_ASSERT_EQUAL(rig_read(&rig, 0, 0x100, 4), 2 + 1 + FROM_MEMORY);
    CU_ASSERT_EQUAL(rig_read(&rig, 0, 0x104, 4), 2 + 1);
    CU_ASSERT_EQUAL(rig_write(&rig, 0, 0x104, 4), 2 + 1); /* exclusive: silent */
    rig.clock[1] = rig.clock[0];
    CU_ASSERT_EQUAL(rig_read(&rig, 1, 0x100, 4), 2 + 1 + FROM_CACHE);
    CU_ASSERT_EQUAL(rig_write(&rig, 1, 0x100, 4), 2 + 1 + ADDRESS_CYCLES); /* invalidation */
    rig.clock[0] = rig.clock[1];
    /* 0x500 maps to the same frame as 0x100, which is absent here: nothing goes to memory */
    CU_ASSERT_EQUAL(rig_write(&rig, 0, 0x500, 4), 2 + 1 + FROM_MEMORY);
    /* it is dirty: the write-back comes behind the next fill, nobody waits for it, but the bus is taken */
    CU_ASSERT_EQUAL(rig_read(&rig, 0, 0x900, 4), 2 + 1 + FROM_MEMORY);
    CU_ASSERT_EQUAL(rig_read(&rig, 0, 0x200, 4), 2 + 1 + (ADDRESS_CYCLES + LINE_CYCLES - 3) + FROM_MEMORY);
    rig_finish(&rig);
    CU_ASSERT_EQUAL(rig_u64(&rig, "bus.busy_cycles"),
        4 * FROM_MEMORY + FROM_CACHE + ADDRESS_CYCLES + ADDRESS_CYCLES + LINE_CYCLES);
    CU_ASSERT_EQUAL(rig_u64(&rig, "hw.0.bus_wait_cycles"), ADDRESS_CYCLES + LINE_CYCLES - 3);
    CU_ASSERT_EQUAL(rig_u64(&rig, "hw.0.stall_cycles"), 4 * FROM_MEMORY + ADDRESS_CYCLES + LINE_CYCLES - 3);
    CU_ASSERT_EQUAL(rig_u64(&rig, "hw.1.stall_cycles"), FROM_CACHE + ADDRESS_CYCLES);
    rig_close(&rig);
}

static void test_transactions(void)
{
    struct rig rig;
    /* write-once: the second step is a word through to memory */
    CU_ASSERT_FATAL(rig_open(&rig, 2, 1, "protocol", "write-once", "hit_cycles", "0", "cpi", "0", TIMES, NULL) == 0);
    CU_ASSERT_EQUAL(rig_read(&rig, 0, 0x100, 4), FROM_MEMORY);
    CU_ASSERT_EQUAL(rig_write(&rig, 0, 0x100, 8), ADDRESS_CYCLES + 2 * 2);
    CU_ASSERT_EQUAL(rig_write(&rig, 0, 0x100, 8), 0);
    rig_close(&rig);
    /* dragon: updates while shared */
    CU_ASSERT_FATAL(rig_open(&rig, 2, 1, "protocol", "dragon", "hit_cycles", "0", "cpi", "0", TIMES, NULL) == 0);
    CU_ASSERT_EQUAL(rig_write(&rig, 0, 0x100, 4), FROM_MEMORY);
    rig.clock[1] = rig.clock[0];
    CU_ASSERT_EQUAL(rig_read(&rig, 1, 0x100, 4), FROM_CACHE);
    CU_ASSERT_EQUAL(rig_write(&rig, 1, 0x100, 4), ADDRESS_CYCLES + 2);
    CU_ASSERT_EQUAL(rig_write(&rig, 1, 0x102, 4), ADDRESS_CYCLES + 2);
    rig_close(&rig);
    /* synapse: refusal, write-back, another try */
    CU_ASSERT_FATAL(rig_open(&rig, 2, 1, "protocol", "synapse", "hit_cycles", "0", "cpi", "0", TIMES, NULL) == 0);
    CU_ASSERT_EQUAL(rig_write(&rig, 0, 0x100, 4), FROM_MEMORY);
    rig.clock[1] = rig.clock[0];
    CU_ASSERT_EQUAL(rig_read(&rig, 1, 0x100, 4), ADDRESS_CYCLES + ADDRESS_CYCLES + LINE_CYCLES + FROM_MEMORY);
    rig_close(&rig);
}

static void test_instructions(void)
{
    struct rig rig;
    struct rig_ref refs[3] = {
        {PEET_REF_LOAD, 0x100, 4, 0, 0}, {PEET_REF_MODIFY, 0x104, 4, 0, 0}, {PEET_REF_LOAD, 0x108, 4, 0, 0}};
    CU_ASSERT_FATAL(rig_open(&rig, 1, 1, "hit_cycles", "2", "cpi", "1.5", TIMES, NULL) == 0);
    /* 4 references (one of them twice), 7 instructions at 1.5: 10 and a half cycle left over, then 11 */
    CU_ASSERT_EQUAL(rig_block(&rig, 0, refs, 3, 4), FROM_MEMORY + 4 * 2 + 10);
    CU_ASSERT_EQUAL(rig_block(&rig, 0, refs, 3, 4), 4 * 2 + 11);
    rig_close(&rig);
}

/* P processors that do nothing but miss: the bus is never idle, everyone gets the same share. */
static void saturate(const char *arbitration, unsigned hws, unsigned rounds, double *share_least, double *share_most)
{
    struct rig rig;
    uint64_t count[RIG_HWS] = {0}, total = 0;
    CU_ASSERT_FATAL(rig_open(&rig, hws, 1, "protocol", "berkeley", "hit_cycles", "1", "cpi", "1", "arbitration",
                        arbitration, "window_cycles", "1000", TIMES, NULL) == 0);
    for (; total < (uint64_t)hws * rounds; total++) {
        unsigned hw = 0;
        for (unsigned h = 1; h < hws; h++)
            hw = rig.clock[h] < rig.clock[hw] ? h : hw;
        rig_read(&rig, hw, 0x100000ull * (hw + 1) + 16 * count[hw]++, 4);
    }
    uint64_t end = 0;
    for (unsigned h = 0; h < hws; h++)
        end = rig.clock[h] > end ? rig.clock[h] : end;
    rig_finish(&rig);
    double utilisation = rig_f64(&rig, "bus.utilisation");
    CU_ASSERT_EQUAL(rig_u64(&rig, "bus.busy_cycles"), total * FROM_MEMORY);
    CU_ASSERT(utilisation <= 1);
    CU_ASSERT_DOUBLE_EQUAL(utilisation, (double)(total * FROM_MEMORY) / (double)end, 1e-9);
    if (hws == 1) { /* each miss: 2 cycles of its own, then the bus */
        CU_ASSERT_EQUAL(end, total * (FROM_MEMORY + 2));
        CU_ASSERT_DOUBLE_EQUAL(utilisation, (double)FROM_MEMORY / (FROM_MEMORY + 2), 1e-9);
    } else {
        CU_ASSERT(utilisation > 0.98);
        CU_ASSERT_DOUBLE_EQUAL((double)end, (double)total * FROM_MEMORY, 0.02 * (double)end);
    }
    size_t windows = json_array_size(rig_node(&rig, "bus.windows"));
    CU_ASSERT_EQUAL(windows, (end + rig_u64(&rig, "bus.window_cycles") - 1) / rig_u64(&rig, "bus.window_cycles"));
    *share_least = 1;
    *share_most = 0;
    for (unsigned h = 0; h < hws; h++) {
        double share = (double)count[h] / (double)total;
        *share_least = share < *share_least ? share : *share_least;
        *share_most = share > *share_most ? share : *share_most;
    }
    rig_close(&rig);
}

static void test_saturation(void)
{
    double least, most;
    saturate("fcfs", 1, 1000, &least, &most);
    saturate("fcfs", 4, 1000, &least, &most);
    CU_ASSERT_DOUBLE_EQUAL(least, 0.25, 0.01);
    CU_ASSERT_DOUBLE_EQUAL(most, 0.25, 0.01);
    saturate("rr", 8, 1000, &least, &most);
    CU_ASSERT_DOUBLE_EQUAL(least, 0.125, 0.01);
    CU_ASSERT_DOUBLE_EQUAL(most, 0.125, 0.01);
    /* Fixed priority: two processors can fill the bus between them (one asks again while the other is served), and
     * the others starve. */
    saturate("fixed", 8, 1000, &least, &most);
    CU_ASSERT(most > 0.3);
    CU_ASSERT(least < 0.01);
}

static struct calendar *calendar(enum bus_arbitration arbitration, unsigned hws)
{
    static struct calendar cal;
    CU_ASSERT_FATAL(peet__bus_calendar_init(&cal, arbitration, hws, 100, 0) == 0);
    return &cal;
}

/* One long transaction, then three requests while it runs, delivered in one order, served in another. */
static void arbitrate(enum bus_arbitration arbitration, const unsigned expected[3])
{
    struct calendar *cal = calendar(arbitration, 4);
    CU_ASSERT_EQUAL(peet__bus_calendar_request(cal, 1, 0, 100, 0), 0);
    peet__bus_calendar_request(cal, 3, 10, 10, 0);
    peet__bus_calendar_request(cal, 0, 20, 10, 0);
    peet__bus_calendar_request(cal, 2, 30, 10, 0);
    for (unsigned i = 0; i < 3; i++) {
        const struct calendar_slot *s = &cal->slots[cal->first + 1 + i];
        CU_ASSERT_EQUAL(s->hw, expected[i]);
        CU_ASSERT_EQUAL(s->start, 100 + 10 * i);
    }
    peet__bus_calendar_finish(cal, 130);
    CU_ASSERT_EQUAL(cal->busy_cycles, 130);
    peet__bus_calendar_fini(cal);
}

static void test_arbiters(void)
{
    arbitrate(ARBITRATION_FCFS, (const unsigned[]){3, 0, 2});
    arbitrate(ARBITRATION_RR, (const unsigned[]){2, 3, 0}); /* after 1 */
    arbitrate(ARBITRATION_FIXED, (const unsigned[]){0, 2, 3});
}

/* Requests that are delivered late but were made early. */
static void test_out_of_order(void)
{
    struct calendar *cal = calendar(ARBITRATION_FCFS, 3);
    CU_ASSERT_EQUAL(peet__bus_calendar_request(cal, 0, 100, 20, 0), 100);
    CU_ASSERT_EQUAL(peet__bus_calendar_request(cal, 0, 130, 20, 0), 130);
    CU_ASSERT_EQUAL(peet__bus_calendar_request(cal, 1, 50, 20, 0), 50); /* fits before */
    CU_ASSERT_EQUAL(peet__bus_calendar_request(cal, 1, 90, 20, 0), 90); /* asked before: the first moves by 10 */
    CU_ASSERT_EQUAL(cal->lost_cycles[0], 10);                           /* and by it the second not at all */
    CU_ASSERT_EQUAL(peet__bus_calendar_request(cal, 2, 95, 5, 0), 110); /* behind 90..110, before the 100 */
    CU_ASSERT_EQUAL(cal->lost_cycles[0], 15);
    CU_ASSERT_EQUAL(cal->lost_cycles[1], 0);
    peet__bus_calendar_finish(cal, 1000);
    CU_ASSERT_EQUAL(cal->busy_cycles, 85);
    CU_ASSERT_EQUAL(cal->windows.busy_cycles[0], 20 + 10);
    CU_ASSERT_EQUAL(cal->windows.busy_cycles[1], 55);
    peet__bus_calendar_fini(cal);
}

/* An independent list scheduler: with everything known beforehand, serve whoever the arbiter says at each moment.
 * Blocks of one reference each make the calendar see the same. */
static void test_list_scheduling(void)
{
    for (int arbitration = ARBITRATION_FCFS; arbitration <= ARBITRATION_FIXED; arbitration++) {
        enum { HWS = 5, REQUESTS = 3000, CYCLES = 7 };
        struct calendar *cal = calendar((enum bus_arbitration)arbitration, HWS);
        uint64_t seed = 3, now = 0, when[HWS], served[HWS], expected_sum = 0, sum = 0, bus = 0;
        unsigned last = HWS - 1;
        /* all five ask once, in random order of time but delivered by time; then the round is over */
        for (unsigned round = 0; round < REQUESTS; round++) {
            int done[HWS] = {0};
            now = bus + rig_random(&seed, 3);
            peet__bus_calendar_settle(cal, now);
            for (unsigned h = 0; h < HWS; h++)
                when[h] = now + rig_random(&seed, 4 * CYCLES);
            for (unsigned n = 0; n < HWS; n++) {
                uint64_t at = UINT64_MAX;
                int best = -1;
                for (unsigned h = 0; h < HWS; h++)
                    if (!done[h] && when[h] < at)
                        at = when[h];
                at = at > bus ? at : bus;
                for (unsigned h = 0; h < HWS; h++) {
                    if (done[h] || when[h] > at)
                        continue;
                    int better = best < 0 ||
                        (arbitration == ARBITRATION_FCFS ? when[h] < when[best]
                                : arbitration == ARBITRATION_RR
                                ? (h + HWS - last - 1) % HWS < ((unsigned)best + HWS - last - 1) % HWS
                                : 0);
                    best = better ? (int)h : best;
                }
                done[best] = 1;
                served[best] = at;
                bus = at + CYCLES;
                last = (unsigned)best;
                expected_sum += at;
            }
            uint64_t told[HWS];
            for (unsigned n = 0; n < HWS; n++) { /* deliver by time */
                unsigned best = HWS;
                for (unsigned h = 0; h < HWS; h++)
                    if (done[h] == 1 && (best == HWS || when[h] < when[best]))
                        best = h;
                done[best] = 2;
                told[best] = peet__bus_calendar_request(cal, best, when[best], CYCLES, 0);
            }
            for (unsigned h = 0; h < HWS; h++) {
                CU_ASSERT_EQUAL(told[h] + cal->lost_cycles[h], served[h]);
                sum += told[h] + cal->lost_cycles[h];
                cal->lost_cycles[h] = 0;
            }
        }
        CU_ASSERT_EQUAL(sum, expected_sum);
        peet__bus_calendar_fini(cal);
    }
}

/* First come, first served by the times of requests alone, against the arbiter that looks at everybody. */
static void test_in_order(void)
{
    enum { HWS = 6, REQUESTS = 200000 / TEST_SHARE };
    struct calendar fast, slow;
    uint64_t seed = 17, now = 0, settled = 0;
    CU_ASSERT_FATAL(peet__bus_calendar_init(&fast, ARBITRATION_FCFS, HWS, 1000, 0) == 0);
    CU_ASSERT_FATAL(peet__bus_calendar_init(&slow, ARBITRATION_FCFS, HWS, 1000, 0) == 0);
    slow.unsorted = 1;
    for (unsigned n = 0; n < REQUESTS; n++) {
        const uint64_t time = now + rig_random(&seed, 150), cycles = 1 + rig_random(&seed, 25);
        const unsigned hw = (unsigned)rig_random(&seed, HWS);
        const int posted = !rig_random(&seed, 3);
        CU_ASSERT_EQUAL_FATAL(peet__bus_calendar_request(&fast, hw, time, cycles, posted),
            peet__bus_calendar_request(&slow, hw, time, cycles, posted));
        for (unsigned h = 0; h < HWS; h++) {
            CU_ASSERT_EQUAL(fast.lost_cycles[h], slow.lost_cycles[h]);
            fast.lost_cycles[h] = slow.lost_cycles[h] = 0;
        }
        now += rig_random(&seed, n / 20000 % 2 ? 40 : 20); /* at times the queue grows beyond what is kept */
        if (!rig_random(&seed, 10)) {
            settled = now;
            peet__bus_calendar_settle(&fast, settled);
            peet__bus_calendar_settle(&slow, settled);
        }
    }
    CU_ASSERT(!fast.unsorted);
    CU_ASSERT_EQUAL(fast.busy_cycles, slow.busy_cycles);
    peet__bus_calendar_fini(&fast);
    peet__bus_calendar_fini(&slow);
}

int main(void)
{
    CU_TestInfo tests[] = {{"single references", test_single}, {"kinds of transactions", test_transactions},
        {"instructions", test_instructions}, {"saturation", test_saturation}, {"arbiters", test_arbiters},
        {"out of order", test_out_of_order}, {"list scheduling", test_list_scheduling}, {"in order", test_in_order},
        CU_TEST_INFO_NULL};
    return run_suite("bus: time", tests);
}
