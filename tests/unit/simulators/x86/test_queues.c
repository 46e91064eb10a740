/* SPDX-License-Identifier: Apache-2.0 */
/* Calendar of units, scheduler queues and store queue of an x86 core, against models that look at everything. */
#include "corerig.h"
#include "x86/queues.h"

enum { UNITS = 6, HORIZON = 60000 }; /* sets of them are numbered by themselves: below X86_STRETCHES */

static unsigned char busy[UNITS][HORIZON];

/* So many cycles of a unit from this one on, those passed over that are taken. */
static void take(unsigned unit, uint64_t at, unsigned cycles)
{
    for (; cycles; at++)
        if (!busy[unit][at]) {
            busy[unit][at] = 1;
            cycles--;
        }
}

/* The one of these units, free in this cycle before, that is not any more. */
static unsigned taken_in(const struct x86_units *u, uint64_t units, uint64_t cycle)
{
    unsigned k = 0;

    while (k < UNITS && !((units >> k & 1) && !busy[k][cycle] && !(x86_units_free(u, cycle) >> k & 1)))
        k++;
    return k;
}

/* As core.c chooses. */
static uint64_t issue(struct x86_units *u, const struct x86_use *uses, unsigned n, uint64_t ready)
{
    for (unsigned i = 0; i < n; i++)
        if (uses[i].first || uses[i].cycles != 1)
            return x86_units_issue_all(u, uses, n, ready);
    return x86_units_issue_short(u, uses, n, ready);
}

/* One use: it begins in the very first cycle in which one of the units is free. */
static void single_uses(void)
{
    struct x86_units *u = calloc(1, sizeof *u);
    uint64_t seed = 88172645463325252u, base = 100, wrong = 0;

    memset(busy, 0, sizeof busy);
    for (unsigned i = 0; i < 20000; i++) {
        struct x86_use use = {1 + rig_random(&seed, (1 << UNITS) - 1), (uint16_t)rig_random(&seed, 3),
            (uint16_t)(rig_random(&seed, 4) ? 1 : 1 + rig_random(&seed, 90)), 0, 0};
        use.stretch = (uint8_t)use.units;
        uint64_t ready = base + rig_random(&seed, 600), got = issue(u, &use, 1, ready), at = ready;
        unsigned taken;

        for (int found = 0; !found; at += !found)
            for (unsigned k = 0; k < UNITS && !found; k++)
                found = (use.units >> k & 1) && !busy[k][at + use.first];
        taken = taken_in(u, use.units, at + use.first); /* which of them it took, only it knows */
        wrong += taken == UNITS || got != at;
        take(taken % UNITS, at + use.first, use.cycles);
        base += rig_random(&seed, 7);
        if (base > HORIZON - 9000)
            break;
    }
    CU_ASSERT_EQUAL(wrong, 0);
    free(u);
}

/* A divider: what is ready before an older instruction's turn begins at once, and has the rest of its cycles behind that. */
static void passed_over(void)
{
    struct x86_units *u = calloc(1, sizeof *u);
    const struct x86_use nine = {1, 0, 9, X86_STRETCHES, 0}, five = {1, 0, 5, X86_STRETCHES, 0};

    CU_ASSERT_EQUAL(issue(u, &five, 1, 100), 100); /* taken: 100 to 104 */
    CU_ASSERT_EQUAL(issue(u, &nine, 1, 95), 95);   /* 95 to 99, 105 to 108 */
    CU_ASSERT_EQUAL(u->horizon, 109);
    CU_ASSERT_EQUAL(issue(u, &five, 1, 95), 109);
    CU_ASSERT_EQUAL(u->horizon, 114);
    free(u);
}

/* A unit that is to be spared is taken if no other is free in the first cycle, and else it is not. */
static void spared_units(void)
{
    struct x86_units *u = calloc(1, sizeof *u);
    uint64_t seed = 2463534242u, base = 100, wrong = 0;

    memset(busy, 0, sizeof busy);
    for (unsigned i = 0; i < 5000; i++) {
        struct x86_use use = {1 + rig_random(&seed, (1 << UNITS) - 1), 0, 1, 0, 0};
        unsigned spared = (unsigned)rig_random(&seed, UNITS), free_units = 0, taken;
        uint64_t ready = base + rig_random(&seed, 40), at = ready, before, got;

        use.stretch = (uint8_t)use.units;
        for (; !free_units; at += !free_units)
            for (unsigned k = 0; k < UNITS; k++)
                free_units |= (use.units >> k & 1) && !busy[k][at] ? 1u << k : 0;
        before = x86_units_free(u, at);
        got = x86_units_issue_sparing(u, &use, ready, 1ull << spared);
        wrong += got != at;
        taken = (unsigned)__builtin_ctzll(before & ~x86_units_free(u, at));
        wrong += !(free_units >> taken & 1) || (taken == spared && free_units != 1u << spared);
        busy[taken][at] = 1;
        base += rig_random(&seed, 3);
    }
    CU_ASSERT_EQUAL(wrong, 0);
    free(u);
}

/*
 * In turn: the next unit of the set behind the last one of all, from the first cycle on in which that is free; any of the set if that one is not free within four cycles.
 */
static void units_in_turn(void)
{
    struct x86_units *u = calloc(1, sizeof *u);
    uint64_t seed = 521288629u, groups[UNITS], base = 100, wrong = 0;
    unsigned last = UNITS - 1;

    for (unsigned k = 0; k < UNITS; k++)
        groups[k] = (1 << UNITS) - 1;
    memset(busy, 0, sizeof busy);
    for (unsigned i = 0; i < 20000 && base < HORIZON - 9000; i++) {
        const struct x86_use use = {1 + rig_random(&seed, (1 << UNITS) - 1), (uint16_t)rig_random(&seed, 3),
            (uint16_t)(rig_random(&seed, 4) ? 1 : 1 + rig_random(&seed, 90)), X86_STRETCHES, 0};
        uint64_t ready = base + rig_random(&seed, 600), at = ready, got;
        unsigned taken;
        int soon = 0;

        do
            last = (last + 1) % UNITS;
        while (!(use.units >> last & 1));
        for (unsigned k = 0; k < 4; k++)
            soon |= !busy[last][at + use.first + k];
        for (int found = 0; !found; at += !found)
            for (unsigned k = 0; k < UNITS && !found; k++)
                found = (soon ? k == last : use.units >> k & 1) && !busy[k][at + use.first];
        got = x86_units_issue_turn(u, ~0ull, groups, &use, 1, ready, 0, 0);
        taken = taken_in(u, soon ? 1u << last : use.units, at + use.first);
        wrong += taken == UNITS || got != at;
        take(taken % UNITS, at + use.first, use.cycles);
        base += rig_random(&seed, 30);
    }
    CU_ASSERT_EQUAL(wrong, 0);
    free(u);
}

/* Several uses: no unit is given twice for a cycle, and none is issued before it is ready. */
static void several_uses(void)
{
    struct x86_units *u = calloc(1, sizeof *u);
    uint64_t seed = 4321, base = 100, cycles = 0, bits = 0;

    for (unsigned i = 0; i < 1500; i++) {
        struct x86_use uses[3];
        unsigned n = 1 + (unsigned)rig_random(&seed, 3);
        uint64_t ready = base + rig_random(&seed, 50);

        for (unsigned k = 0; k < n; k++) {
            uses[k] = (struct x86_use){(1 + rig_random(&seed, 3)) << 2 * k, (uint16_t)rig_random(&seed, 2),
                (uint16_t)(1 + rig_random(&seed, 3)), 0, 0};
            uses[k].stretch = (uint8_t)uses[k].units;
            cycles += uses[k].cycles;
        }
        CU_ASSERT(issue(u, uses, n, ready) >= ready);
        base += rig_random(&seed, 4);
    }
    for (unsigned i = 0; i < X86_CALENDAR; i++)
        bits += (unsigned)__builtin_popcountll(u->calendar[i].busy);
    CU_ASSERT_EQUAL(bits, cycles);
    free(u);
}

/* A queue of so many entries, each given back at its time: the next one enters when fewer are inside. */
static void buffers(void)
{
    enum { SIZE = 13 };
    struct x86_buffer *b = calloc(1, sizeof *b);
    uint64_t seed = 99, now = 1, left[SIZE] = {0}, wrong = 0;

    b->size = SIZE;
    for (unsigned i = 0; i < 50000; i++) {
        uint64_t at = x86_buffer_room(b, now), least = UINT64_MAX, until;
        unsigned slot = 0;

        for (unsigned k = 0; k < SIZE; k++)
            if (left[k] < least) {
                least = left[k];
                slot = k;
            }
        wrong += at != (least > now ? least : now);
        now = at;
        until = now + 1 + (rig_random(&seed, 20) ? rig_random(&seed, 40) : rig_random(&seed, 3000));
        x86_buffer_enter(b, now, until);
        left[slot] = until;
        now += rig_random(&seed, 3);
        if (!rig_random(&seed, 500))
            now += rig_random(&seed, 9000);
    }
    CU_ASSERT_EQUAL(wrong, 0);
    free(b);
}

/* The youngest store with one of the bytes, if it is not written yet. */
static void stores(void)
{
    enum { MOST = 128 };
    struct rig rig;
    struct x86_thread *t;
    struct {
        uint64_t address, written;
        uint32_t size;
    } all[MOST];
    uint64_t seed = 7, now = 10, written = 10, wrong = 0, found = 0;

    CU_ASSERT_EQUAL_FATAL(rig_open(&rig, 1, "store_queue=56"), 0);
    t = rig.x->threads;
    for (unsigned i = 0; i < 60000; i++) {
        static const uint32_t sizes[] = {1, 2, 4, 8, 8, 8, 16, 32, 64};
        uint32_t size = sizes[rig_random(&seed, 9)];
        uint64_t address = 0x1000 + rig_random(&seed, 700);
        const struct x86_store *s = x86_store_find(t, address, size, now);
        unsigned n = i < MOST - 1 ? i : MOST - 1, k;

        for (k = 1; k <= n; k++)
            if (all[(i - k) % MOST].address < address + size &&
                address < all[(i - k) % MOST].address + all[(i - k) % MOST].size)
                break;
        if (k > n || all[(i - k) % MOST].written <= now)
            wrong += s != NULL;
        else
            wrong +=
                !s || s->address != all[(i - k) % MOST].address || s->written_cycles != all[(i - k) % MOST].written;
        found += s != NULL;
        size = sizes[rig_random(&seed, 9)];
        address = 0x1000 + rig_random(&seed, 700);
        written += rig_random(&seed, 4);
        all[i % MOST].address = address;
        all[i % MOST].size = size;
        all[i % MOST].written = written;
        x86_store_enter(t, 0x4000, address, size, written, UINT64_MAX, written);
        if (written > now + 50 || !rig_random(&seed, 3))
            now += 1 + rig_random(&seed, 3);
    }
    CU_ASSERT_EQUAL(wrong, 0);
    CU_ASSERT(found > 1000);
    rig_close(&rig);
}

int main(void)
{
    CU_TestInfo tests[] = {{"single uses", single_uses}, {"passed over", passed_over}, {"units in turn", units_in_turn},
        {"spared units", spared_units}, {"several uses", several_uses}, {"buffers", buffers}, {"stores", stores},
        CU_TEST_INFO_NULL};

    return run_suite("x86 queues", tests);
}
