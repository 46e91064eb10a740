/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The mapper against a brute-force scheduler on random programs, against closed forms, and its books.
 */
#include "script.h"

#include "share.h"

#include <CUnit/Basic.h>
#include <stdlib.h>
#include <string.h>

static uint64_t state;

static unsigned draw(unsigned n)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)((state >> 33) % n);
}

/* ---- random programs */

static unsigned random_loop(struct script *s, unsigned depth, int may_mark);

static void random_body(struct script *s, struct script_body *body, unsigned depth, int may_mark)
{
    unsigned n = draw(6);

    body->n = 0;
    for (unsigned i = 0; i < n; i++) {
        struct script_op op = {SCRIPT_BLOCK, draw(4) ? draw(12) : draw(SCRIPT_COSTS)};
        unsigned kind = draw(10);

        if (kind < (depth ? 2 : 4) && depth < 3) {
            unsigned loop = random_loop(s, depth + 1, may_mark);

            if (loop != UINT32_MAX)
                op = (struct script_op){SCRIPT_FORK, loop};
        } else if (kind == 9) {
            op.kind = SCRIPT_YIELD;
        }
        body->ops[body->n++] = op;
        while (op.kind == SCRIPT_BLOCK && body->n < 16 && !draw(3))
            body->ops[body->n++] = op;
    }
}

static unsigned random_loop(struct script *s, unsigned depth, int may_mark)
{
    unsigned n = draw(depth > 1 ? 5 : 14), loop = s->nloops, first = s->nbodies;
    struct script_loop *l = &s->loops[loop];

    if (s->nloops == SCRIPT_LOOPS || s->nbodies + n > SCRIPT_BODIES)
        return UINT32_MAX;
    s->nloops++;
    s->nbodies += n;
    l->lo = (int64_t)draw(7) - 3;
    l->hi = l->lo + (n ? (int64_t)n : -(int64_t)draw(3));
    l->schedule = (enum peet_schedule)draw(4);
    l->chunk = draw(2) ? 0 : draw(4);
    l->first_body = first;
    l->marked = may_mark && !draw(3);
    l->missing = l->marked && n && !draw(4) ? draw(n) : 0;
    for (unsigned i = 0; i < n; i++)
        random_body(s, &s->bodies[first + i], depth, 0);
    return loop;
}

static void random_script(struct script *s, uint64_t seed)
{
    state = seed;
    memset(s, 0, sizeof *s);
    s->batches = (int)draw(3);
    while (s->main.n < 2)
        random_body(s, &s->main, 0, 1);
    if (draw(4) == 0)
        s->main.ops[s->main.n - 1] = (struct script_op){SCRIPT_EXIT, 1 + draw(100)};
}

static struct peet_map_config random_config(void)
{
    return (struct peet_map_config){.cores = 1 + draw(draw(2) ? 4 : 20),
        .policy = (enum peet_policy)draw(3),
        .quantum_cycles = 1 + draw(60),
        .switch_cycles = draw(2) ? 0 : draw(9),
        .schedule = (enum peet_schedule)draw(3),
        .chunk = draw(3),
        .seed = 1};
}

/** First difference of two logs, or -1. */
static long difference(const struct script_log *a, const struct script_log *b)
{
    size_t n = a->n < b->n ? a->n : b->n;

    for (size_t i = 0; i < n; i++) {
        const struct script_record *x = &a->records[i], *y = &b->records[i];

        if (x->hw != y->hw || x->context != y->context || x->type != y->type || x->now != y->now)
            return (long)i;
    }
    return a->n == b->n ? -1 : (long)n;
}

static void show(const char *who, const struct script_log *log, long at)
{
    for (long i = at > 4 ? at - 4 : 0; i < at + 3 && i < (long)log->n; i++)
        printf("    %s %ld: t=%llu hw %u context %u type %u\n", who, i, (unsigned long long)log->records[i].now,
            log->records[i].hw, log->records[i].context, log->records[i].type);
}

static int books_balance(const struct script_result *r)
{
    for (unsigned i = 0; i < r->nhw; i++)
        if (r->hw[i].busy_cycles + r->hw[i].stalled_cycles + r->hw[i].idle_cycles != r->end)
            return 0;
    return 1;
}

static void against_brute_force(void)
{
    struct script *script = malloc(sizeof *script);
    struct script_log mapper = {0}, reference = {0}, pull = {0};
    unsigned bad = 0;

    for (uint64_t seed = 1; seed <= 10000 / TEST_SHARE && bad < 3; seed++) {
        struct script_result a, b, c;
        struct peet_map_config config;
        long at;
        int books = 1;

        random_script(script, seed);
        config = random_config();
        script_run(script, &config, 0, &mapper, &a);
        reference_run(script, &config, &reference, &b);
        at = difference(&mapper, &reference);
        for (unsigned i = 0; i < b.nhw; i++)
            books &= a.hw[i].busy_cycles == b.hw[i].busy_cycles && a.hw[i].stalled_cycles == b.hw[i].stalled_cycles &&
                a.hw[i].idle_cycles == b.hw[i].idle_cycles;
        if (a.err || at >= 0 || a.end != b.end || a.status != b.status || !books || !books_balance(&a) ||
            (!a.status && a.live_sources)) {
            printf(
                "\n  seed %llu: cores %u policy %d: err %d (%s), end %llu and %llu, books %d, live %u, first difference %ld\n",
                (unsigned long long)seed, config.cores, config.policy, a.err, a.error.message,
                (unsigned long long)a.end, (unsigned long long)b.end, books, a.live_sources, at);
            show("mapper   ", &mapper, at);
            show("reference", &reference, at);
            bad++;
        }
        if (config.policy == PEET_POLICY_AFFINITY)
            continue;
        script_run(script, &config, 1, &pull, &c);
        at = difference(&mapper, &pull);
        if (c.err || at >= 0 || c.end != a.end || memcmp(c.hw, a.hw, sizeof a.hw) ||
            memcmp(&c.totals.counts, &a.totals.counts, sizeof a.totals.counts)) {
            printf(
                "\n  seed %llu: cores %u policy %d switch %llu: pull form: err %d (%s), end %llu and %llu, first difference %ld\n",
                (unsigned long long)seed, config.cores, config.policy, (unsigned long long)config.switch_cycles, c.err,
                c.error.message, (unsigned long long)a.end, (unsigned long long)c.end, at);
            show("push", &mapper, at);
            show("pull", &pull, at);
            bad++;
        }
    }
    CU_ASSERT_EQUAL(bad, 0);
    script_log_free(&mapper);
    script_log_free(&reference);
    script_log_free(&pull);
    free(script);
}

/* ---- closed forms: one loop of n equal iterations */

static void equal_loop(struct script *s, unsigned n, unsigned cost, enum peet_schedule schedule, uint64_t chunk)
{
    memset(s, 0, sizeof *s);
    s->main = (struct script_body){1, {{SCRIPT_FORK, 0}}};
    s->nloops = 1;
    s->loops[0] = (struct script_loop){.lo = 10, .hi = 10 + (int64_t)n, .schedule = schedule, .chunk = chunk};
    for (unsigned i = 0; i < n; i++)
        s->bodies[i] = (struct script_body){1, {{SCRIPT_BLOCK, cost}}};
}

static uint64_t most(const uint64_t *of, unsigned n)
{
    uint64_t m = 0;

    for (unsigned i = 0; i < n; i++)
        m = of[i] > m ? of[i] : m;
    return m;
}

static void closed_forms(void)
{
    struct script *s = malloc(sizeof *s);
    struct script_log log = {0};
    const unsigned cost = 8; /* + 1 for the start, + 2 for the finish */
    const uint64_t each = 11, fork = 3;

    for (unsigned n = 0; n <= 60; n += 3)
        for (unsigned cores = 1; cores <= 9; cores++)
            for (uint64_t chunk = 0; chunk <= 4; chunk++) {
                struct peet_map_config config = {.cores = cores};
                struct script_result r;
                uint64_t load[16] = {0}, left = n;

                /* static, blocks: the first core has ceil(n / cores) iterations or all of them */
                equal_loop(s, n, cost, PEET_SCHEDULE_STATIC, chunk);
                script_run(s, &config, 0, &log, &r);
                for (uint64_t i = 0; i < n; i++)
                    load[i / (chunk ? chunk : (n + cores - 1) / cores) % cores]++;
                CU_ASSERT_EQUAL(r.err, 0);
                CU_ASSERT_EQUAL(r.end, fork + each * most(load, cores));
                CU_ASSERT_EQUAL(r.totals.iterations, n);
                CU_ASSERT_EQUAL(r.totals.counts.instructions, n * (cost + 1));
                CU_ASSERT_TRUE(books_balance(&r));

                /* dynamic, equal iterations: chunks go round */
                equal_loop(s, n, cost, PEET_SCHEDULE_DYNAMIC, chunk);
                script_run(s, &config, 0, &log, &r);
                memset(load, 0, sizeof load);
                for (uint64_t i = 0; i < n; i++)
                    load[i / (chunk ? chunk : 1) % cores]++;
                CU_ASSERT_EQUAL(r.end, fork + each * most(load, cores));

                /* guided: the core with the least load takes max(chunk, left / cores) */
                equal_loop(s, n, cost, PEET_SCHEDULE_GUIDED, chunk);
                script_run(s, &config, 0, &log, &r);
                memset(load, 0, sizeof load);
                while (left) {
                    unsigned least = 0;
                    uint64_t take = left / cores;

                    for (unsigned i = 1; i < cores; i++)
                        least = load[i] < load[least] ? i : least;
                    take = take < chunk ? chunk : take;
                    take = take < 1 ? 1 : take > left ? left : take;
                    load[least] += take;
                    left -= take;
                }
                CU_ASSERT_EQUAL(r.end, fork + each * most(load, cores));
            }
    script_log_free(&log);
    free(s);
}

/** Preempted contexts take turns: two threads' worth of work on one core. */
static void round_robin(void)
{
    struct script *s = malloc(sizeof *s);
    struct peet_map_config config = {.cores = 1, .policy = PEET_POLICY_RR, .quantum_cycles = 10, .switch_cycles = 4};
    struct script_log log = {0};
    struct script_result r;
    uint64_t since = 0;
    uint32_t last = UINT32_MAX;

    /* two iterations, both begun (the first blocks in a loop of its own); then they compete */
    memset(s, 0, sizeof *s);
    s->main = (struct script_body){1, {{SCRIPT_FORK, 0}}};
    s->loops[0] = (struct script_loop){.lo = 0, .hi = 2, .schedule = PEET_SCHEDULE_DYNAMIC};
    s->loops[1] = (struct script_loop){.lo = 0, .hi = 1, .schedule = PEET_SCHEDULE_DYNAMIC, .first_body = 10};
    s->bodies[0].ops[0] = (struct script_op){SCRIPT_FORK, 1};
    s->bodies[0].n = s->bodies[1].n = 20;
    for (unsigned i = 1; i < 20; i++)
        s->bodies[0].ops[i] = (struct script_op){SCRIPT_BLOCK, 1};
    for (unsigned i = 0; i < 20; i++)
        s->bodies[1].ops[i] = (struct script_op){SCRIPT_BLOCK, 1};
    s->bodies[10] = (struct script_body){1, {{SCRIPT_BLOCK, 5}}};
    script_run(s, &config, 0, &log, &r);
    CU_ASSERT_EQUAL(r.err, 0);
    CU_ASSERT_TRUE(books_balance(&r));
    for (size_t i = 0; i < log.n; i++) {
        if (log.records[i].type < 1000)
            continue;
        if (log.records[i].context != last) {
            last = log.records[i].context;
            since = log.records[i].now;
        }
        CU_ASSERT_TRUE(log.records[i].now - since < 2 * config.quantum_cycles);
    }
    CU_ASSERT_EQUAL(r.hw[0].stalled_cycles, r.hw[0].switches * config.switch_cycles);
    script_log_free(&log);
    free(s);
}

/** Affinity: what waits for its own core again goes back to it. */
static void affinity(void)
{
    struct script *s = malloc(sizeof *s);
    struct peet_map_config config = {.cores = 4, .policy = PEET_POLICY_AFFINITY};
    struct script_log log = {0};
    struct script_result r;
    unsigned home[64], moves = 0;

    /* four carriers, each with inner loops that all run on core 0's share (static, one iteration) */
    memset(home, 0xff, sizeof home);
    memset(s, 0, sizeof *s);
    s->main = (struct script_body){1, {{SCRIPT_FORK, 0}}};
    s->loops[0] = (struct script_loop){.lo = 0, .hi = 4, .schedule = PEET_SCHEDULE_STATIC};
    s->loops[1] = (struct script_loop){.lo = 0, .hi = 1, .schedule = PEET_SCHEDULE_STATIC, .first_body = 10};
    s->bodies[10] = (struct script_body){1, {{SCRIPT_BLOCK, 6}}};
    for (unsigned i = 0; i < 4; i++) {
        s->bodies[i].n = 12;
        for (unsigned k = 0; k < 12; k++)
            s->bodies[i].ops[k] = k % 2 ? (struct script_op){SCRIPT_FORK, 1} : (struct script_op){SCRIPT_BLOCK, 5 + i};
    }
    script_run(s, &config, 0, &log, &r);
    CU_ASSERT_EQUAL(r.err, 0);
    for (size_t i = 0; i < log.n; i++)
        if (log.records[i].context >= 1 && log.records[i].context <= 4) {
            if (home[log.records[i].context] == ~0u)
                home[log.records[i].context] = log.records[i].hw;
            moves += home[log.records[i].context] != log.records[i].hw;
        }
    CU_ASSERT_EQUAL(moves, 0);
    script_log_free(&log);
    free(s);
}

/* ---- ends */

static void endings(void)
{
    struct script *s = malloc(sizeof *s);
    struct peet_map_config config = {.cores = 2};
    struct script_log log = {0};
    struct script_result r;

    memset(s, 0, sizeof *s);
    s->main = (struct script_body){3, {{SCRIPT_BLOCK, 4}, {SCRIPT_EXIT, 5}, {SCRIPT_BLOCK, 9}}};
    script_run(s, &config, 0, &log, &r);
    CU_ASSERT_EQUAL(r.err, 0);
    CU_ASSERT_EQUAL(r.status, 5);
    CU_ASSERT_EQUAL(r.end, 4);
    s->main.ops[1].kind = SCRIPT_HANG; /* the source fails */
    script_run(s, &config, 0, &log, &r);
    CU_ASSERT_EQUAL(r.err, PEET_ESTREAM);
    CU_ASSERT_PTR_NOT_NULL(strstr(r.error.message, "scripted failure"));
    script_run(s, &config, 1, &log, &r);
    CU_ASSERT_EQUAL(r.err, PEET_ESTREAM);
    config.cores = 0;
    script_run(s, &config, 0, &log, &r);
    CU_ASSERT_EQUAL(r.err, PEET_EINVALID);
    script_log_free(&log);
    free(s);
}

/** A loop whose carrier is left behind: nothing can go on. */
static const struct peet_source_ops *real_ops;
static int stuck_next(void *self, uint32_t i, struct peet_event *out, struct peet_error *error)
{
    static const uint64_t args[6] = {0, 3, PEET_SCHEDULE_STATIC, 1, 0, 0};
    static int forked;

    if (i || forked++)
        return 0;
    out->abstract = (struct peet_abstract_event){.type = PEET_ABSTRACT_MARK_FORK, .nargs = 4, .args = args};
    return PEET_EVENT_ABSTRACT;
}
static int stuck_marked(void *self, uint32_t i, uint32_t carrier, uint64_t iteration, struct peet_error *error)
{
    return PEET_ENOMEM;
}
static void no_retire(void *self, uint32_t i) {}
static void failing_source(void)
{
    struct peet_source_ops ops = {.next = stuck_next, .marked = stuck_marked, .retire = no_retire};
    struct peet_map_config config = {.cores = 3};
    struct peet_error error = {0, ""};
    struct script_log log = {0};
    struct script_result r;
    struct script *s = calloc(1, sizeof *s);
    struct peet_map_blocked blocked;
    struct peet_map *map;

    script_run(s, &config, 0, &log, &r); /* the machine's log */
    real_ops = &ops;
    CU_ASSERT_EQUAL(peet_map_new(&config, real_ops, NULL, &map, &error), 0);
    CU_ASSERT_EQUAL(peet_map_set_machine(map, &script_machine, NULL, &error), 0);
    CU_ASSERT_EQUAL(peet_map_run(map, &error), PEET_ENOMEM);
    CU_ASSERT_EQUAL(peet_map_blocked(map, 0, &blocked), 0);
    CU_ASSERT_EQUAL(blocked.context, 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(blocked.waits_for, "0 of 3 iterations"));
    CU_ASSERT_EQUAL(peet_map_blocked(map, 1, &blocked), PEET_ENOTFOUND);
    peet_map_free(map);
    script_log_free(&log);
    free(s);
}

/* ---- what a machine may ask for */

static unsigned twice(void *self, unsigned cores)
{
    return 2 * cores;
}
static unsigned newest(void *self, unsigned hw, const uint32_t *ready, unsigned nready, uint64_t now)
{
    return nready - 1;
}
static unsigned beyond(void *self, unsigned hw, const uint32_t *ready, unsigned nready, uint64_t now)
{
    return nready;
}

static void machine_wishes(void)
{
    struct script *s = malloc(sizeof *s);
    struct peet_map_config config = {.cores = 3, .policy = PEET_POLICY_RR, .quantum_cycles = 5};
    struct peet_module before = script_machine;
    struct script_log log = {0};
    struct script_result r;

    equal_loop(s, 12, 8, PEET_SCHEDULE_DYNAMIC, 0);
    script_machine.hw_contexts = twice;
    script_run(s, &config, 0, &log, &r);
    CU_ASSERT_EQUAL(r.nhw, 6);
    CU_ASSERT_EQUAL(r.end, 3 + 2 * 11);
    script_machine.pick_context = newest;
    script_run(s, &config, 0, &log, &r);
    CU_ASSERT_EQUAL(r.err, 0);
    CU_ASSERT_TRUE(books_balance(&r));
    script_machine.pick_context = beyond;
    script_run(s, &config, 0, &log, &r);
    CU_ASSERT_EQUAL(r.err, PEET_EMODULE);
    CU_ASSERT_PTR_NOT_NULL(strstr(r.error.message, "pick_context"));
    script_machine = before;
    script_log_free(&log);
    free(s);
}

int main(void)
{
    CU_pSuite suite;

    if (CU_initialize_registry())
        return 2;
    suite = CU_add_suite("map", NULL, NULL);
    CU_add_test(suite, "brute force and pull form", against_brute_force);
    CU_add_test(suite, "closed forms", closed_forms);
    CU_add_test(suite, "round robin", round_robin);
    CU_add_test(suite, "affinity", affinity);
    CU_add_test(suite, "endings", endings);
    CU_add_test(suite, "failing source", failing_source);
    CU_add_test(suite, "machine wishes", machine_wishes);
    CU_basic_run_tests();
    return CU_get_number_of_failures() != 0;
}
