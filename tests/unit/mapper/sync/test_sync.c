/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads and synchronisation objects: against brute force, against closed forms, and at scale.
 */
#include "threads_script.h"

#include "share.h"

#include <CUnit/Basic.h>
#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define A(name) PEET_ABSTRACT_##name
#define U(x) ((uint64_t)(x))
#define NEVER PEET_NEVER

static const struct peet_map_config four = {.cores = 4, .spin_quantum_cycles = UINT64_C(1) << 40};

static void block(struct threads_script *s, unsigned program, unsigned cost)
{
    threads_add(s, program, THREADS_OP_BLOCK, 1, U(cost));
}

static void create(struct threads_script *s, unsigned program, unsigned other)
{
    threads_add(s, program, A(THREAD_CREATE), 6, U(other), U(0), U(0), U(0), U(0), U(0));
}

/* ---- against brute force */

static uint64_t state;
static unsigned dice(unsigned n)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(state >> 33) % n;
}

/** A deadline: mostly none, else some time in the run. */
static uint64_t deadline(void)
{
    return dice(3) ? NEVER : dice(400);
}

static void random_thread(struct threads_script *s, unsigned p, unsigned nthreads)
{
    unsigned n = 4 + dice(10);

    block(s, p, dice(6));
    for (unsigned i = 0; i < n; i++) {
        const uint64_t o = dice(3), kind = dice(3);

        switch (dice(12)) {
        case 0:
        case 1:
            threads_add(s, p, A(MUTEX_LOCK), 3, o, kind, deadline());
            block(s, p, dice(20));
            threads_add(s, p, A(MUTEX_UNLOCK), 2, o, dice(8) ? kind : U(dice(3)));
            break;
        case 2:
            threads_add(s, p, A(MUTEX_TRYLOCK), 2, o, kind);
            block(s, p, dice(20));
            threads_add(s, p, A(MUTEX_UNLOCK), 2, o, kind);
            break;
        case 3:
            threads_add(s, p, dice(4) ? A(RWLOCK_READ) : A(RWLOCK_TRYREAD), 3, o, U(o & 1), NEVER);
            block(s, p, dice(20));
            threads_add(s, p, A(RWLOCK_UNLOCK), 2, o, U(o & 1));
            break;
        case 4:
            threads_add(s, p, dice(4) ? A(RWLOCK_WRITE) : A(RWLOCK_TRYWRITE), 3, o, U(o & 1),
                dice(4) ? NEVER : U(dice(400)));
            block(s, p, dice(20));
            threads_add(s, p, A(RWLOCK_UNLOCK), 2, o, U(o & 1));
            break;
        case 5:
            threads_add(s, p, A(MUTEX_LOCK), 3, o, U(1), NEVER);
            if (dice(2))
                threads_add(s, p, A(MUTEX_LOCK), 3, o, U(1), NEVER);
            threads_add(s, p, A(COND_WAIT), 4, U(dice(2)), o, U(1), dice(3) ? U(dice(600)) : NEVER);
            block(s, p, dice(10));
            threads_add(s, p, A(MUTEX_UNLOCK), 2, o, U(1));
            threads_add(s, p, A(MUTEX_UNLOCK), 2, o, U(1));
            break;
        case 6:
            threads_add(s, p, dice(3) ? A(COND_SIGNAL) : A(COND_BROADCAST), 1, U(dice(2)));
            break;
        case 7:
            threads_add(s, p, dice(4) ? A(SEM_WAIT) : A(SEM_TRYWAIT), 2, o, dice(2) ? NEVER : U(dice(500)));
            break;
        case 8:
            threads_add(s, p, A(SEM_POST), 2, o, U(1 + dice(2)));
            threads_add(s, p, A(SEM_VALUE), 1, o);
            break;
        case 9:
            threads_add(s, p, A(SLEEP), 1, U(dice(300)));
            threads_add(s, p, A(CLOCK), 0);
            break;
        case 10:
            threads_add(s, p, dice(3) ? A(INTERRUPT) : A(THREAD_DETACH), 1, U(dice(nthreads + 2)));
            break;
        case 11:
            threads_add(s, p, A(THREAD_JOIN), 2, dice(6) ? U(dice(nthreads + 2)) : NEVER,
                dice(2) ? NEVER : U(dice(500)));
            break;
        }
        block(s, p, dice(15));
    }
    for (unsigned i = dice(3); i < 3 && dice(2); i++)
        threads_add(s, p, A(BARRIER_WAIT), 2, U(i), U(2 + dice(2)));
}

static int same(const struct threads_result *a, const struct threads_result *b, size_t *out_at)
{
    size_t n = a->nlog < b->nlog ? a->nlog : b->nlog;

    for (*out_at = 0; *out_at < n; ++*out_at)
        if (memcmp(&a->log[*out_at], &b->log[*out_at], sizeof *a->log))
            return 0;
    if (a->nlog != b->nlog || a->end != b->end || a->err != b->err || a->blocked != b->blocked)
        return 0;
    for (unsigned c = 0; c < a->nanswers || c < b->nanswers; c++) {
        unsigned na = c < a->nanswers ? a->answers[c].n : 0, nb = c < b->nanswers ? b->answers[c].n : 0;

        if (na != nb || (na && memcmp(a->answers[c].values, b->answers[c].values, na * sizeof(uint64_t))))
            return 0;
    }
    return 1;
}

static void show(const char *who, const struct threads_result *r, size_t at)
{
    printf("   %s: err %d (%s) end %llu blocked %u\n", who, r->err, r->error.message, (unsigned long long)r->end,
        r->blocked);
    for (size_t i = at < 3 ? 0 : at - 3; i < r->nlog && i < at + 4; i++)
        printf("     %4zu: now %llu hw %u context %u type %u args %llu %llu %llu %llu\n", i,
            (unsigned long long)r->log[i].now, r->log[i].hw, r->log[i].context, r->log[i].type,
            (unsigned long long)r->log[i].args[0], (unsigned long long)r->log[i].args[1],
            (unsigned long long)r->log[i].args[2], (unsigned long long)r->log[i].args[3]);
}

static void against_brute_force(void)
{
    unsigned bad = 0, stuck = 0;

    for (uint64_t seed = 1; seed <= 3000 / TEST_SHARE && bad < 3; seed++) {
        struct threads_script s = {0};
        struct threads_result mapper, reference, pull;
        struct peet_map_config config = four;
        unsigned nthreads;
        size_t at;

        state = seed;
        nthreads = 1 + dice(7);
        config.cores = 1 + dice(9);
        threads_costly = (int)dice(2);
        for (unsigned i = 1; i <= nthreads; i++) {
            threads_add(&s, 0, A(THREAD_CREATE), 6, U(i), U(0), U(0), U(0), U(!dice(5)), U(0));
            block(&s, 0, dice(5));
        }
        for (unsigned i = 0; i <= nthreads; i++)
            random_thread(&s, i, nthreads);
        if (dice(2))
            threads_add(&s, 0, A(THREAD_JOIN), 2, NEVER, NEVER);
        threads_reference(&s, &config, &reference);
        threads_run(&s, &config, 0, &mapper);
        if (!same(&mapper, &reference, &at)) {
            printf("\n  seed %llu (%u threads, %u cores): first difference %zu\n", (unsigned long long)seed, nthreads,
                config.cores, at);
            show("mapper", &mapper, at);
            show("reference", &reference, at);
            bad++;
        }
        threads_run(&s, &config, 1, &pull);
        if (!same(&mapper, &pull, &at)) {
            printf("\n  seed %llu (%u threads, %u cores): pull form: first difference %zu\n", (unsigned long long)seed,
                nthreads, config.cores, at);
            show("push", &mapper, at);
            show("pull", &pull, at);
            bad++;
        }
        stuck += mapper.err == PEET_EDEADLOCK;
        threads_result_free(&mapper);
        threads_result_free(&reference);
        threads_result_free(&pull);
        threads_clear(&s);
    }
    threads_costly = 0;
    CU_ASSERT_EQUAL(bad, 0);
    CU_ASSERT_TRUE(stuck > 30 && stuck < 2970); /* both kinds of endings were there */
}

/* ---- closed forms */

/** n threads, each k times: lock, work, unlock, rest. */
static void lock_bound(struct threads_script *s, unsigned n, unsigned k, unsigned work, unsigned rest)
{
    for (unsigned t = 1; t <= n; t++) {
        create(s, 0, t);
        for (unsigned i = 0; i < k; i++) {
            threads_add(s, t, A(MUTEX_LOCK), 3, U(0x1000), U(0), NEVER);
            block(s, t, work);
            threads_add(s, t, A(MUTEX_UNLOCK), 2, U(0x1000), U(0));
            block(s, t, rest);
        }
    }
}

static void closed_forms(void)
{
    struct threads_result r;

    /* a lock that is always wanted: its work is done one after the other, and the last one's rest */
    for (unsigned n = 2; n <= 16; n++) {
        struct threads_script s = {0};
        struct peet_map_config config = {.cores = n};

        lock_bound(&s, n, 20, 10, 5);
        threads_run(&s, &config, 0, &r);
        CU_ASSERT_EQUAL(r.err, 0);
        CU_ASSERT_EQUAL(r.end, n * 20 * 10 + 5);
        CU_ASSERT_EQUAL(r.live, 0);
        threads_result_free(&r);
        threads_clear(&s);
    }
    /* phases between barriers: each as long as its slowest thread */
    for (unsigned n = 2; n <= 16; n++) {
        struct threads_script s = {0};
        struct peet_map_config config = {.cores = n};
        uint64_t expected = 0;

        for (unsigned t = 1; t <= n; t++)
            create(&s, 0, t);
        for (unsigned phase = 0; phase < 10; phase++) {
            unsigned slowest = 0;

            for (unsigned t = 1; t <= n; t++) {
                unsigned cost = (t * 7 + phase * 5) % 40;

                slowest = cost > slowest ? cost : slowest;
                block(&s, t, cost);
                threads_add(&s, t, A(BARRIER_WAIT), 2, U(8), U(n));
            }
            expected += slowest;
        }
        threads_run(&s, &config, 0, &r);
        CU_ASSERT_EQUAL(r.err, 0);
        CU_ASSERT_EQUAL(r.end, expected);
        threads_result_free(&r);
        threads_clear(&s);
    }
    /* a pipeline by doacross: iteration i waits for i - 1 at its second stage */
    for (unsigned n = 1; n <= 20; n++) {
        struct threads_script s = {0};
        struct peet_map_config config = {.cores = 32};

        threads_add(&s, 0, A(SYNC_INIT), 3, U(64), U(PEET_SYNC_DOACROSS), U(1));
        for (unsigned t = 1; t <= n; t++) {
            create(&s, 0, t);
            block(&s, t, 30);
            threads_add(&s, t, A(WAIT), 2, U(64), U(t - 1));
            block(&s, t, 7);
            threads_add(&s, t, A(POST), 2, U(64), U(t));
        }
        threads_run(&s, &config, 0, &r);
        CU_ASSERT_EQUAL(r.err, 0);
        CU_ASSERT_EQUAL(r.end, 30 + n * 7);
        threads_result_free(&r);
        threads_clear(&s);
    }
}

/* ---- who wins */

/** Threads 1..n ask for a mutex in this order while main holds it; the order in which they get it. */
static void winners(const struct peet_map_config *config, unsigned n, uint32_t *out_order)
{
    struct threads_script s = {0};
    struct threads_result r;
    unsigned k = 0;

    threads_add(&s, 0, A(MUTEX_LOCK), 3, U(16), U(0), NEVER);
    for (unsigned t = 1; t <= n; t++) {
        create(&s, 0, t);
        block(&s, 0, 10);
        threads_add(&s, t, A(MUTEX_LOCK), 3, U(16), U(0), NEVER);
        block(&s, t, 3);
        threads_add(&s, t, A(MUTEX_UNLOCK), 2, U(16), U(0));
    }
    block(&s, 0, 30);
    threads_add(&s, 0, A(MUTEX_UNLOCK), 2, U(16), U(0));
    threads_run(&s, config, 0, &r);
    CU_ASSERT_EQUAL(r.err, 0);
    for (size_t i = 0; i < r.nlog; i++)
        if (r.log[i].type == A(SYNC_GRANT) && k < n)
            out_order[k++] = r.log[i].context;
    CU_ASSERT_EQUAL(k, n);
    threads_result_free(&r);
    threads_clear(&s);
}

static unsigned second(void *self, const uint32_t *waiters, unsigned n, uint64_t now)
{
    (void)self;
    (void)now;
    for (unsigned i = 1; i < n; i++)
        CU_ASSERT_TRUE(waiters[i] > waiters[i - 1]); /* in the order in which they came */
    return 1;
}

static void winner_policies(void)
{
    struct peet_map_config config = {.cores = 32};
    uint32_t order[3][12], again[12];
    unsigned seen;

    winners(&config, 12, order[0]);
    for (unsigned i = 0; i < 12; i++)
        CU_ASSERT_EQUAL(order[0][i], i + 1);
    config.winner = PEET_WINNER_LIFO;
    winners(&config, 12, order[0]);
    for (unsigned i = 0; i < 12; i++)
        CU_ASSERT_EQUAL(order[0][i], 12 - i);
    config.winner = PEET_WINNER_RANDOM;
    for (unsigned seed = 0; seed < 3; seed++) {
        config.seed = seed;
        winners(&config, 12, order[seed]);
        winners(&config, 12, again);
        CU_ASSERT_EQUAL(memcmp(order[seed], again, sizeof again), 0);
        seen = 0;
        for (unsigned i = 0; i < 12; i++)
            seen |= 1u << order[seed][i];
        CU_ASSERT_EQUAL(seen, 0x1ffe);
    }
    CU_ASSERT_TRUE(memcmp(order[0], order[1], sizeof again) && memcmp(order[1], order[2], sizeof again));
    config.winner = PEET_WINNER_FCFS;
    threads_hooks.winner = second;
    winners(&config, 4, again);
    CU_ASSERT_EQUAL(again[0], 2);
    CU_ASSERT_EQUAL(again[1], 3);
    CU_ASSERT_EQUAL(again[2], 4);
    CU_ASSERT_EQUAL(again[3], 1);
    threads_hooks.winner = NULL;
}

/* ---- the kinds that brute force has not */

static void doacross_out_of_order(void)
{
    enum { N = 20000 / TEST_SHARE };
    struct threads_script s = {0};
    struct threads_result r;
    unsigned *order = malloc(N * sizeof *order), wrong = 0, waits = 0;
    uint64_t *posted = malloc(N * sizeof *posted), now = 0;

    state = 5;
    for (unsigned i = 0; i < N; i++)
        order[i] = i;
    for (unsigned i = N - 1; i; i--) {
        unsigned k = dice(i + 1), x = order[i];

        order[i] = order[k];
        order[k] = x;
    }
    create(&s, 0, 1);
    create(&s, 0, 2);
    for (unsigned i = 0; i < N; i++) { /* posted in any order, waited for in any other one, from negative numbers on */
        block(&s, 1, 2);
        threads_add(&s, 1, A(POST), 2, U(8), (uint64_t)((int64_t)order[i] - N / 2));
        threads_add(&s, 2, A(WAIT), 2, U(8), (uint64_t)((int64_t)order[(i * 7u) % N] - N / 2));
    }
    threads_run(&s, &four, 0, &r);
    CU_ASSERT_EQUAL(r.err, 0);
    for (unsigned i = 0; i < N; i++)
        posted[order[i]] = 2 * (i + 1);
    for (size_t i = 0; i < r.nlog; i++) { /* each wait begins when the one before is over: at its post, or at once */
        if (r.log[i].type != A(WAIT))
            continue;
        wrong += r.log[i].now != now;
        now = posted[order[waits * 7u % N]] > now ? posted[order[waits * 7u % N]] : now;
        waits++;
    }
    CU_ASSERT_EQUAL(waits, N);
    CU_ASSERT_EQUAL(wrong, 0);
    CU_ASSERT_EQUAL(r.end, 2 * N);
    threads_result_free(&r);
    threads_clear(&s);
    free(order);
    free(posted);
}

/** Every iteration once, chunks as the schedule says. */
static void team_loops(void)
{
    static int64_t chunks[8][2];

    for (unsigned schedule = PEET_SCHEDULE_STATIC; schedule <= PEET_SCHEDULE_GUIDED; schedule++)
        for (unsigned chunk = 0; chunk <= 3; chunk++)
            for (unsigned n = 0; n <= 40; n += 5)
                for (unsigned threads = 1; threads <= 4; threads++) {
                    struct threads_script s = {0};
                    struct threads_result r;
                    unsigned left = n, expected = 0, got = 0;

                    for (unsigned t = 1; t <= threads; t++) {
                        create(&s, 0, t);
                        threads_add(&s, t, A(LOOP_INIT), 6, U(32), (uint64_t)-7, (uint64_t)((int64_t)n - 7),
                            U(schedule), U(chunk), U(threads));
                        for (unsigned i = 0; i < n + 1; i++) {
                            threads_add(&s, t, A(LOOP_NEXT), 3, U(32), U(t - 1), U((uintptr_t)chunks[t]));
                            block(&s, t, 1 + i % 3);
                        }
                    }
                    threads_run(&s, &four, 0, &r);
                    CU_ASSERT_EQUAL(r.err, 0);
                    for (unsigned t = 1; t <= threads; t++)
                        for (unsigned i = 1; i < r.answers[t].n; i++)
                            got += r.answers[t].values[i] == 1;
                    for (; left; expected++) { /* how many chunks there are */
                        unsigned size = chunk                  ? chunk
                            : schedule == PEET_SCHEDULE_STATIC ? (n + threads - 1) / threads
                                                               : 1;

                        if (schedule == PEET_SCHEDULE_GUIDED && left / threads > size)
                            size = left / threads;
                        left -= size < left ? size : left;
                    }
                    CU_ASSERT_EQUAL(got, expected);
                    threads_result_free(&r);
                    threads_clear(&s);
                }
    /* one thread gets them all, in order */
    for (unsigned schedule = PEET_SCHEDULE_DYNAMIC; schedule <= PEET_SCHEDULE_GUIDED; schedule++) {
        struct threads_script s = {0};
        struct threads_result r;
        static int64_t seen[12][2];

        threads_add(&s, 0, A(LOOP_INIT), 6, U(32), U(3), U(13), U(schedule), U(2), U(1));
        for (unsigned i = 0; i < 12; i++)
            threads_add(&s, 0, A(LOOP_NEXT), 3, U(32), U(0), U((uintptr_t)seen[i]));
        memset(seen, 0, sizeof seen);
        threads_run(&s, &four, 0, &r);
        CU_ASSERT_EQUAL(seen[0][0], 3);
        for (unsigned i = 1; i < 12 && seen[i][1]; i++)
            CU_ASSERT_EQUAL(seen[i][0], seen[i - 1][1]);
        CU_ASSERT_EQUAL(seen[schedule == PEET_SCHEDULE_DYNAMIC ? 4 : 0][1], 13);
        threads_result_free(&r);
        threads_clear(&s);
    }
}

static void once(void)
{
    struct threads_script s = {0};
    struct threads_result r;
    unsigned ran = 0;

    for (unsigned t = 1; t <= 6; t++) {
        create(&s, 0, t);
        block(&s, t, t);
        threads_add(&s, t, A(ONCE_BEGIN), 1, U(8));
    }
    /* the first one fails, the second one's is the one that counts */
    block(&s, 1, 20);
    threads_add(&s, 1, A(ONCE_END), 2, U(8), U(0));
    block(&s, 2, 10);
    threads_add(&s, 2, A(ONCE_END), 2, U(8), U(1));
    threads_run(&s, (struct peet_map_config[1]){{.cores = 8}}, 0, &r);
    CU_ASSERT_EQUAL(r.err, 0);
    for (unsigned t = 1; t <= 6; t++)
        ran += r.answers[t].values[0] == 1;
    CU_ASSERT_EQUAL(ran, 2);
    CU_ASSERT_EQUAL(r.answers[1].values[0], 1);
    CU_ASSERT_EQUAL(r.answers[2].values[0], 1);
    CU_ASSERT_EQUAL(r.end, 1 + 20 + 10);
    threads_result_free(&r);
    threads_clear(&s);
}

/* ---- input and output */

static unsigned ready_at; /* looks until the descriptor is ready */
static int64_t longest_wait;
static unsigned io_ready(void *self, int descriptor, unsigned events, int64_t wait_ns)
{
    (void)self;
    CU_ASSERT_EQUAL(descriptor, 7);
    if (wait_ns < 0 || wait_ns > longest_wait)
        longest_wait = wait_ns;
    return ready_at && --ready_at ? 0 : events & POLLIN;
}

static void descriptors(void)
{
    struct threads_script s = {0};
    struct threads_result r;
    struct peet_map_config config = {.cores = 2, .poll_cycles = 100};

    threads_hooks.io_ready = io_ready;
    create(&s, 0, 1);
    threads_add(&s, 0, A(IO_WAIT), 3, U(7), U(POLLIN | POLLPRI), NEVER);
    threads_add(&s, 0, A(CLOCK), 0);
    for (unsigned i = 0; i < 30; i++)
        block(&s, 1, 50);
    ready_at = 1; /* at once */
    threads_run(&s, &config, 0, &r);
    CU_ASSERT_EQUAL(r.answers[0].values[1], POLLIN);
    CU_ASSERT_EQUAL(r.answers[0].values[2], 0);
    threads_result_free(&r);
    ready_at = 5; /* at the fourth look after the first one; the other thread runs on */
    threads_run(&s, &config, 0, &r);
    CU_ASSERT_EQUAL(r.err, 0);
    CU_ASSERT_EQUAL(r.answers[0].values[1], POLLIN);
    CU_ASSERT_EQUAL(r.answers[0].values[2], 400);
    CU_ASSERT_EQUAL(r.end, 1500);
    CU_ASSERT_EQUAL(longest_wait, 0);
    threads_result_free(&r);
    ready_at = 18; /* after the other thread's end: the process waits */
    threads_run(&s, &config, 0, &r);
    CU_ASSERT_EQUAL(r.err, 0);
    CU_ASSERT_EQUAL(r.answers[0].values[1], POLLIN);
    CU_ASSERT_EQUAL(longest_wait, -1);
    threads_result_free(&r);
    threads_clear(&s);

    threads_add(&s, 0, A(IO_WAIT), 3, U(7), U(POLLIN), U(250)); /* a deadline */
    threads_add(&s, 0, A(CLOCK), 0);
    ready_at = 1000;
    threads_run(&s, &config, 0, &r);
    CU_ASSERT_EQUAL(r.answers[0].values[0], 0);
    CU_ASSERT_EQUAL(r.answers[0].values[1], 250);
    threads_result_free(&r);
    threads_clear(&s);

    create(&s, 0, 1); /* an interrupt */
    threads_add(&s, 1, A(IO_WAIT), 3, U(7), U(POLLIN), NEVER);
    block(&s, 0, 30);
    threads_add(&s, 0, A(INTERRUPT), 1, U(1));
    ready_at = 1000;
    threads_run(&s, &config, 0, &r);
    CU_ASSERT_EQUAL(r.answers[1].values[0], PEET_FAILED | EINTR);
    threads_result_free(&r);
    threads_clear(&s);
    threads_hooks.io_ready = NULL;
}

/* ---- at scale */

/** 100,000 threads at one barrier and at one mutex, under each policy. */
static void many(void)
{
    enum { N = 100000 / TEST_SHARE };
    struct threads_script s = {0};
    struct threads_result r;

    for (unsigned t = 0; t < N; t++)
        create(&s, 0, 1);
    threads_add(&s, 1, A(BARRIER_WAIT), 2, U(8), U(N));
    threads_add(&s, 1, A(MUTEX_LOCK), 3, U(16), U(0), U(1) << 40);
    block(&s, 1, 1);
    threads_add(&s, 1, A(MUTEX_UNLOCK), 2, U(16), U(0));
    threads_add(&s, 1, A(SEM_WAIT), 2, U(24), NEVER);
    threads_add(&s, 0, A(SLEEP), 1, U(10) * N);
    threads_add(&s, 0, A(SEM_POST), 2, U(24), U(N));
    for (unsigned winner = PEET_WINNER_FCFS; winner <= PEET_WINNER_RANDOM; winner++) {
        struct peet_map_config config = {.cores = 64, .winner = (enum peet_winner)winner};

        threads_run(&s, &config, 0, &r);
        CU_ASSERT_EQUAL(r.err, 0);
        CU_ASSERT_EQUAL(r.live, 0);
        CU_ASSERT_EQUAL(r.end, 10 * N);
        threads_result_free(&r);
    }
    threads_clear(&s);
    /* and all of them in a deadlock */
    for (unsigned t = 0; t < N; t++)
        create(&s, 0, 1);
    threads_add(&s, 1, A(MUTEX_LOCK), 3, U(16), U(0), NEVER);
    threads_run(&s, (struct peet_map_config[1]){{.cores = 4}}, 0, &r);
    CU_ASSERT_EQUAL(r.err, PEET_EDEADLOCK);
    CU_ASSERT_EQUAL(r.blocked, N - 1);
    threads_result_free(&r);
    threads_clear(&s);
}

int main(void)
{
    CU_pSuite suite;

    if (CU_initialize_registry())
        return 2;
    suite = CU_add_suite("sync", NULL, NULL);
    CU_add_test(suite, "brute force and pull form", against_brute_force);
    CU_add_test(suite, "closed forms", closed_forms);
    CU_add_test(suite, "winner policies", winner_policies);
    CU_add_test(suite, "doacross out of order", doacross_out_of_order);
    CU_add_test(suite, "team loops", team_loops);
    CU_add_test(suite, "once", once);
    CU_add_test(suite, "descriptors", descriptors);
    CU_add_test(suite, "many", many);
    CU_basic_run_tests();
    return CU_get_number_of_failures() != 0;
}
