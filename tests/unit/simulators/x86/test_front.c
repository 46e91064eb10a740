/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The front end of an x86 core with a width of its own: closed forms, a machine that ticks, and a width that is no
 * limit against none.
 */
#include "corerig.h"

enum { TIMES = 200 };

static struct rig rig;

static void open_front(const char *format, ...)
{
    char settings[200];
    va_list args;

    va_start(args, format);
    vsnprintf(settings, sizeof settings, format, args);
    va_end(args);
    CU_ASSERT_EQUAL_FATAL(rig_open(&rig, 1, settings), 0);
}

static void close_front(void)
{
    uint64_t end = 0;

    for (unsigned i = 0; i < rig.x->nthreads; i++)
        end = rig.clock[i] > end ? rig.clock[i] : end;
    peet_module.finish(rig.x, end);
    CU_ASSERT_EQUAL(rig.failures, 0);
    if (rig.failures)
        fprintf(stderr, "%s\n", rig.failure);
    rig_close(&rig);
}

/* Independent instructions of one micro-op are bound by the narrower of front end and dispatch; what binds is charged.
 */
static void narrower(void)
{
    for (unsigned fetch = 1; fetch <= 8; fetch++)
        for (unsigned dispatch = 1; dispatch <= 8; dispatch++) {
            unsigned width = fetch < dispatch ? fetch : dispatch;
            struct rig_code *c = rig_block(0);
            const struct x86_thread *t;

            for (int i = 0; i < 24; i++)
                rig_insn(c, &rig_add, i % 8, -1, -1, 0, 0, 0);
            open_front("fetch_uops=%u,dispatch_uops=%u", fetch, dispatch);
            CU_ASSERT_EQUAL(rig_steady(&rig, 0, c, 35 * TIMES), 24 * 35 * TIMES / width); /* 35: all widths divide it */
            t = &rig.x->threads[0];
            CU_ASSERT(t->cycles[fetch < dispatch ? CPI_FETCH : CPI_BASE] + 4 >= rig.clock[0]);
            close_front();
            free(c);
        }
}

/* A loop whose branch ends the cycle in which it is fetched takes whole cycles of fetch. */
static void taken_branches(void)
{
    for (unsigned n = 1; n <= 20; n++)
        for (unsigned fetch = 1; fetch <= 8; fetch++)
            for (unsigned dispatch = 2; dispatch <= 8; dispatch += 2) {
                unsigned whole = (n + fetch - 1) / fetch, narrow = fetch < dispatch ? fetch : dispatch;
                uint64_t most =
                    n * TIMES > whole * dispatch * TIMES ? (n * TIMES + dispatch - 1) / dispatch : whole * TIMES;
                struct rig_code *c = rig_block(0);

                for (unsigned i = 0; i + 1 < n; i++)
                    rig_insn(c, &rig_add, (int)i % 8, -1, -1, 0, 0, 0);
                rig_insn(c, &rig_branch, -1, 10, -1, 0, 0, 0);
                open_front("branch=perfect,fetch_past_taken=off,fetch_uops=%u,dispatch_uops=%u", fetch, dispatch);
                CU_ASSERT(labs((long)rig_steady(&rig, 0, c, TIMES) - (long)most) <= 2);
                close_front();
                open_front("branch=perfect,fetch_uops=%u,dispatch_uops=%u", fetch, dispatch);
                CU_ASSERT(labs((long)rig_steady(&rig, 0, c, TIMES) - (long)((n * TIMES + narrow - 1) / narrow)) <= 2);
                close_front();
                free(c);
            }
}

/* A loop of n instructions of four bytes takes as many cycles as it has parts of eight that lie in one line of 64 bytes; one whose
 * first instruction begins in the line before takes a cycle for that. */
static void lines(void)
{
    for (unsigned n = 2; n <= 20; n++)
        for (unsigned at = 0; at < 64; at += 2) {
            struct rig_code *c = rig_block(0);
            unsigned cycles = 0, in = 0, pc = at, line = 0;

            c->block.pc += at;
            for (unsigned i = 0; i + 1 < n; i++)
                rig_insn(c, &rig_add, (int)i % 8, -1, -1, 0, 0, 0);
            rig_insn(c, &rig_branch, -1, 10, -1, 0, 0, 0);
            for (unsigned i = 0; i < n; i++, pc += 4) { /* each part: a cycle */
                if ((pc + 3) / 64 != line || in == 8) {
                    cycles++;
                    line = (pc + 3) / 64;
                    in = 0;
                }
                in++;
            }
            cycles++;
            open_front("branch=perfect,fetch_past_taken=off,fetch_past_line=off,fetch_uops=8,dispatch_uops=16");
            CU_ASSERT(labs((long)rig_steady(&rig, 0, c, TIMES) - (long)cycles * TIMES) <= 2);
            close_front();
            free(c);
        }
}

/* A loop of 100 turns of two instructions, whose end needs a longer history than the fast part has: so many cycles of fetch
 * are lost, but for those by which the predictor is ahead, which here are at most one a turn. */
static void late(void)
{
    enum { LOOP = 100, ROUNDS = 300 };
    uint64_t ends[3];

    for (unsigned k = 0; k < 3; k++) {
        struct rig_code *turn = rig_block(0), *outside = rig_block(1);
        uint64_t before = 0;

        for (unsigned i = 0; i < 3;
            i++) /* two cycles of fetch in a front end of two, of which the predictor needs one */
            rig_insn(turn, &rig_add, (int)i, -1, -1, 0, 0, 0);
        rig_insn(turn, &rig_branch, -1, 10, -1, 0, 0, 0);
        outside->block.pc = turn->block.pc + 16;
        rig_insn(outside, &rig_add, 3, -1, -1, 0, 0, 0);
        rig_insn(outside, &rig_branch, -1, 10, -1, 0, 0, 0);
        open_front("fetch_past_taken=off,fetch_uops=2,dispatch_uops=4,branch_history_bits=200%s",
            k == 0       ? ""
                : k == 1 ? ",override_cycles=30,predict_ahead_cycles=4"
                         : ",override_cycles=30,predict_ahead_cycles=64");
        for (unsigned round = 0; round < 2 * ROUNDS; round++) {
            before = round == ROUNDS ? rig.clock[0] : before;
            for (unsigned i = 0; i < LOOP; i++)
                rig_run(&rig, 0, turn);
            rig_run(&rig, 0, outside);
        }
        ends[k] = rig.clock[0] - before;
        close_front();
        free(turn);
        free(outside);
    }
    CU_ASSERT(labs((long)(ends[1] - ends[0]) - 26 * ROUNDS) <= ROUNDS);
    CU_ASSERT(labs((long)(ends[2] - ends[0])) <= ROUNDS);
}

/* A call and a return end so many cycles of fetch each. */
static void calls(void)
{
    static const struct peet_opcode call = {
        .name = "CALL64pcrel32", .mnemonic = "call", .latency_cycles = 1, .uops = 1, .klass = PEET_INSN_CALL};
    static const struct peet_opcode ret = {
        .name = "RET64", .mnemonic = "ret", .latency_cycles = 1, .uops = 1, .klass = PEET_INSN_RETURN};

    for (unsigned each = 1; each <= 7; each++)
        for (unsigned n = 1; n <= 9; n += 4) { /* instructions of each block: one, two or three cycles of fetch */
            struct rig_code *caller = rig_block(0), *callee = rig_block(7);
            uint64_t before = 0;

            for (unsigned i = 0; i + 1 < n; i++) {
                rig_insn(caller, &rig_add, (int)i, -1, -1, 0, 0, 0);
                rig_insn(callee, &rig_add, (int)i, -1, -1, 0, 0, 0);
            }
            rig_insn(caller, &call, -1, -1, -1, 0, 0, 0);
            rig_insn(callee, &ret, -1, -1, -1, 0, 0, 0);
            open_front("branch=perfect,fetch_past_taken=off,call_fetch_cycles=%u,fetch_uops=4,dispatch_uops=8", each);
            for (unsigned i = 0; i < 2 * TIMES; i++) {
                before = i == TIMES ? rig.clock[0] : before;
                rig_run(&rig, 0, caller);
                rig_run(&rig, 0, callee);
            }
            CU_ASSERT_EQUAL(rig.clock[0] - before, (uint64_t)TIMES * 2 * ((n + 3) / 4 + each - 1));
            close_front();
            free(caller);
            free(callee);
        }
}

/* While dispatch waits for room, the queue fills: what it holds need not come later, so that each two save a cycle of a
 * front end of two. */
static void queue(void)
{
    uint64_t ends[4];

    for (unsigned k = 0; k < 4; k++) {
        struct rig_code *c = rig_block(0);

        for (int i = 0; i < 4; i++) /* 400 cycles, in which the rest of the window is filled */
            rig_insn(c, &rig_slow, 1, 1, -1, 0, 0, 0);
        for (int i = 0; i < 196 + 200; i++)
            rig_insn(c, &rig_add, i % 8 + 2, -1, -1, 0, 0, 0);
        open_front("fetch_uops=2,fetch_queue_uops=%u,dispatch_uops=4,window_uops=200", 4 + 20 * k);
        rig_run(&rig, 0, c);
        ends[k] = rig.clock[0];
        CU_ASSERT(ends[k] > 400 + (200 - 4 - 20 * k - 8) / 2 && ends[k] < 400 + 200 / 2 + 10);
        close_front();
        free(c);
    }
    for (unsigned k = 0; k < 3; k++)
        CU_ASSERT_EQUAL(ends[k] - ends[k + 1], 20 / 2);
}

/* ---- a machine that ticks */

static uint64_t ticks(const struct rig_code *const *codes, unsigned n, unsigned fetch, unsigned room, unsigned width,
    unsigned window)
{
    static uint64_t retired[1 << 16]; /* of each micro-op */
    uint64_t ready[16] = {0}, frontier = 0, total = 0, cycle = 0;
    int64_t decoded = 0;
    unsigned slots = width, busy = 0;

    decoded = fetch < room ? fetch : room;
    for (unsigned b = 0; b < n; b++)
        for (uint32_t i = 0; i < codes[b]->block.ninsns; i++) {
            const struct peet_insn *insn = &codes[b]->insns[i];
            unsigned uops = insn->opcode->uops, need = uops < width ? uops : width,
                     latency = insn->opcode->latency_cycles;
            uint64_t issue, done;

            need = need < room ? need : room;
            while (decoded < need || (uops <= width ? slots < uops : slots < width) ||
                (total + uops > window && retired[total + uops - window - 1] > cycle)) {
                cycle++;
                slots = busy > width ? 0 : width - busy;
                busy -= busy < width ? busy : width;
                decoded = decoded + fetch < room ? decoded + fetch : room;
            }
            if (uops <= width) {
                slots -= uops;
            } else {
                slots = 0;
                busy = uops - width;
            }
            decoded -= uops;
            issue = cycle + 1;
            for (unsigned r = 0; r < insn->nreads; r++)
                issue = ready[insn->regs[r]] > issue ? ready[insn->regs[r]] : issue;
            done = issue + latency;
            for (unsigned r = 0; r < insn->nwrites; r++)
                ready[insn->regs[insn->nreads + r]] = done;
            frontier = done > frontier ? done : frontier;
            for (unsigned k = 0; k < uops; k++)
                retired[total++] = frontier;
        }
    return frontier;
}

static struct rig_code *random_code(uint32_t id, uint64_t *seed)
{
    static const struct peet_opcode *const kinds[] = {
        &rig_add, &rig_add, &rig_add, &rig_add, &rig_mul, &rig_slow, &rig_big};
    struct rig_code *c = rig_block(id);

    for (unsigned n = 1 + (unsigned)rig_random(seed, 30); n; n--)
        rig_insn(c, kinds[rig_random(seed, rig_random(seed, 3) ? 5 : 7)], (int)rig_random(seed, 16),
            rig_random(seed, 2) ? (int)rig_random(seed, 16) : -1, -1, 0, 0, 0);
    return c;
}

static void against_ticks(void)
{
    uint64_t seed = 987654321;

    for (unsigned round = 0; round < 400; round++) {
        unsigned fetch = 1 + (unsigned)rig_random(&seed, 6), room = fetch + (unsigned)rig_random(&seed, 40),
                 width = 1 + (unsigned)rig_random(&seed, 6);
        unsigned window = 12 + (unsigned)rig_random(&seed, 100), n = 1 + (unsigned)rig_random(&seed, 60);
        struct rig_code *codes[4];
        const struct rig_code *run[60];

        for (uint32_t i = 0; i < 4; i++)
            codes[i] = random_code(i, &seed);
        open_front("fetch_uops=%u,fetch_queue_uops=%u,dispatch_uops=%u,window_uops=%u", fetch, room, width, window);
        for (unsigned i = 0; i < n; i++) {
            run[i] = codes[rig_random(&seed, 4)];
            rig_run(&rig, 0, run[i]);
        }
        CU_ASSERT_EQUAL(rig.clock[0], ticks(run, n, fetch, room, width, window));
        close_front();
        for (uint32_t i = 0; i < 4; i++)
            free(codes[i]);
    }
}

/* As wide as dispatch or wider: as without it, time and books. */
static void wide_enough(void)
{
    static const char *const machines[] = {"dispatch_uops=4", "dispatch_uops=4,core=inorder",
        "dispatch_uops=3,window_uops=20,replay=off", "dispatch_uops=6,threads=2"};
    uint64_t seed = 424242;

    for (unsigned m = 0; m < 4 * 20; m++) {
        uint64_t clock[2], cycles[2][CPI_CATEGORIES], again = seed;

        for (unsigned k = 0; k < 2; k++) {
            struct rig_code *codes[4];

            seed = again;
            for (uint32_t i = 0; i < 4; i++)
                codes[i] = random_code(i, &seed);
            open_front("%s%s", machines[m % 4],
                !k ? ""
                    : m % 4 == 3 ? ",fetch_uops=16"
                                 : ",fetch_uops=6,fetch_queue_uops=10");
            for (unsigned i = 0; i < 100; i++)
                rig_run(&rig, 0, codes[rig_random(&seed, 4)]);
            clock[k] = rig.clock[0];
            memcpy(cycles[k], rig.x->threads[0].cycles, sizeof cycles[k]);
            close_front();
            for (uint32_t i = 0; i < 4; i++)
                free(codes[i]);
        }
        CU_ASSERT_EQUAL(clock[0], clock[1]);
        CU_ASSERT(!memcmp(cycles[0], cycles[1], sizeof cycles[0]));
    }
}

/* Two threads that both want all of the front end share it; one alone has it for itself. */
static void threads(void)
{
    struct rig_code *c = rig_block(0);

    for (int i = 0; i < 24; i++)
        rig_insn(c, &rig_add, i % 8, -1, -1, 0, 0, 0);
    for (unsigned active = 1; active <= 2; active++) {
        uint64_t end;

        open_front("threads=2,fetch_uops=2,dispatch_uops=4,window_uops=400");
        for (unsigned i = 0; i < active * TIMES; i++)
            rig_run(&rig, active > 1 && rig.clock[1] < rig.clock[0], c);
        end = rig.clock[1] > rig.clock[0] ? rig.clock[1] : rig.clock[0];
        CU_ASSERT(labs((long)end - (long)(active * TIMES * 24 / 2)) <= 12 + 24);
        close_front();
    }
    free(c);
}

int main(void)
{
    CU_TestInfo tests[] = {{"narrower", narrower}, {"taken branches", taken_branches}, {"lines", lines}, {"late", late},
        {"calls", calls}, {"queue", queue}, {"against ticks", against_ticks}, {"wide enough", wide_enough},
        {"threads", threads}, CU_TEST_INFO_NULL};

    return run_suite("x86 front end", tests);
}
