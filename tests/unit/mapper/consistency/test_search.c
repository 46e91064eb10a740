/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which executions the search makes: for random programs of reads, writes and read-modify-writes, with delayed stores
 * and with steps that wait for others, its executions end in every state that a plain enumeration of all interleavings
 * reaches, in no more executions than there are interleavings.  Tokens repeat executions.
 */
#include "consistency/search.h"
#include "run_suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 3, OPS = 4, VARIABLES = 3, STATES = 100000, PROGRAMS = 400 };

/** READ: a register; WRITE: at once; DELAY: into a buffer of one, which a move empties; ADD: read and write; AWAIT:
 * until a variable is not 0. */
enum kind { READ, WRITE, DELAY, ADD, AWAIT };

struct program {
    int threads, ops[THREADS];
    struct {
        enum kind kind;
        int variable;
    } op[THREADS][OPS];
};

struct state {
    int pc[THREADS], variable[VARIABLES], reg[THREADS][OPS], pending[THREADS], value[THREADS];
};

static uint64_t seed;

static unsigned pick(unsigned n)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(seed >> 33) % n;
}

static void make(struct program *p)
{
    memset(p, 0, sizeof *p);
    p->threads = 2 + (int)pick(2);
    for (int t = 0; t < p->threads; t++) {
        p->ops[t] = 1 + (int)pick(p->threads == 2 ? OPS : 3);
        for (int i = 0; i < p->ops[t]; i++) {
            p->op[t][i].kind = (enum kind)pick(20);
            p->op[t][i].kind = p->op[t][i].kind < 7 ? READ
                : p->op[t][i].kind < 12             ? WRITE
                : p->op[t][i].kind < 16             ? DELAY
                : p->op[t][i].kind < 19             ? ADD
                                                    : AWAIT;
            p->op[t][i].variable = (int)pick(VARIABLES);
        }
    }
}

/** What can happen; option k < threads: that thread, else the move of thread k - threads. */
static unsigned list(const struct program *p, const struct state *s, struct peet_option *out)
{
    unsigned n = 0;

    for (int t = 0; t < p->threads; t++) {
        int i = s->pc[t];

        if (i == p->ops[t] || (p->op[t][i].kind == AWAIT && !s->variable[p->op[t][i].variable]) ||
            ((p->op[t][i].kind == DELAY || p->op[t][i].kind == ADD) && s->pending[t]))
            continue;
        out[n++] = (struct peet_option){.id = (uint64_t)t, .hw = (uint32_t)t};
    }
    for (int t = 0; t < p->threads; t++)
        if (s->pending[t])
            out[n++] =
                (struct peet_option){.id = 1000 + (uint64_t)t * 100 + (uint64_t)(s->pending[t] * 10 + s->value[t]),
                    .hw = (uint32_t)t,
                    .is_move = 1};
    return n;
}

static void take(const struct program *p, struct state *s, const struct peet_option *o, struct peet_footprint *f)
{
    int t = (int)o->hw, i = s->pc[t], v;

    f->n = f->all = 0;
    if (o->is_move) {
        v = s->pending[t] - 1;
        s->variable[v] = s->value[t];
        s->pending[t] = 0;
        peet__footprint_add(f, (uint64_t)v * 8, 4, 0, 1);
        return;
    }
    s->pc[t]++;
    v = p->op[t][i].variable;
    switch (p->op[t][i].kind) {
    case READ:
        s->reg[t][i] = s->variable[v];
        peet__footprint_add(f, (uint64_t)v * 8, 4, 0, 0);
        break;
    case WRITE:
    case ADD:
        s->reg[t][i] = p->op[t][i].kind == ADD ? s->variable[v] : 0;
        s->variable[v] = p->op[t][i].kind == ADD ? s->variable[v] + 1 : 1 + t;
        peet__footprint_add(f, (uint64_t)v * 8, 4, 0, 1);
        break;
    case DELAY:
        s->pending[t] = v + 1;
        s->value[t] = 5 + t;
        break;
    case AWAIT:
        peet__footprint_add(f, (uint64_t)v * 8, 4, 0, 0);
        break;
    }
}

struct states {
    struct state *all;
    size_t n, runs;
};

static void add(struct states *set, const struct state *s)
{
    for (size_t i = 0; i < set->n; i++)
        if (!memcmp(&set->all[i], s, sizeof *s))
            return;
    set->all[set->n++] = *s;
}

static void everything(const struct program *p, const struct state *s, struct states *set)
{
    struct peet_option options[PEET_OPTIONS_MOST];
    struct peet_footprint f;
    unsigned n = list(p, s, options);

    if (!n) {
        set->runs++;
        add(set, s);
        return;
    }
    for (unsigned i = 0; i < n; i++) {
        struct state next = *s;

        take(p, &next, &options[i], &f);
        everything(p, &next, set);
    }
}

/** One execution.  Returns: 1 if it came to its end */
static int execute(const struct program *p, struct peet_search *search, struct state *s)
{
    const struct peet_map_chooser *chooser = peet_search_chooser(search);
    struct peet_option options[PEET_OPTIONS_MOST];
    struct peet_footprint f;
    unsigned n;

    memset(s, 0, sizeof *s);
    while ((n = list(p, s, options)) != 0) {
        int choice = chooser->choose(chooser->arg, options, n);

        if (choice < 0)
            return 0;
        CU_ASSERT_FATAL((unsigned)choice < n);
        take(p, s, &options[choice], &f);
        chooser->done(chooser->arg, &f);
    }
    return 1;
}

static void all_states(void)
{
    struct states want = {calloc(STATES, sizeof(struct state)), 0, 0},
                  got = {calloc(STATES, sizeof(struct state)), 0, 0};
    uint64_t interleavings = 0, executions = 0;

    for (seed = 1; seed <= PROGRAMS; seed++) {
        uint64_t kept = seed;
        struct program p;
        struct state s;
        struct peet_search *search = peet_search_new(PEET_SEARCH_ALL, 1, 1000);
        int more;

        seed *= 7919;
        make(&p);
        seed = kept;
        want.n = want.runs = got.n = got.runs = 0;
        memset(&s, 0, sizeof s);
        everything(&p, &s, &want);
        CU_ASSERT_PTR_NOT_NULL_FATAL(search);
        do {
            peet_search_begin(search);
            if (execute(&p, search, &s))
                add(&got, &s);
            CU_ASSERT_FALSE_FATAL(peet_search_mismatch(search));
            got.runs++;
            more = peet_search_end(search);
        } while (more && got.runs < 1000000);
        for (size_t i = 0; i < got.n; i++) {
            size_t k = 0;

            while (k < want.n && memcmp(&got.all[i], &want.all[k], sizeof s))
                k++;
            CU_ASSERT(k < want.n);
        }
        if (got.n != want.n)
            printf("program %llu: %zu states of %zu\n", (unsigned long long)seed, got.n, want.n);
        CU_ASSERT_EQUAL(got.n, want.n);
        CU_ASSERT(got.runs <= want.runs);
        interleavings += want.runs;
        executions += got.runs;
        peet_search_free(search);
    }
    printf("%llu executions in place of %llu ", (unsigned long long)executions, (unsigned long long)interleavings);
    free(want.all);
    free(got.all);
}

static void tokens(void)
{
    struct peet_error error = {0, ""};

    for (seed = 1; seed <= 40; seed++) {
        uint64_t kept = seed;
        struct program p;
        struct state first, again;

        seed *= 104729;
        make(&p);
        seed = kept;
        for (int kind = 0; kind < 2; kind++) {
            struct peet_search *search = peet_search_new(kind ? PEET_SEARCH_RANDOM : PEET_SEARCH_ALL, seed, 1000);
            int runs = 0, more;

            do {
                peet_search_begin(search);
                if (execute(&p, search, &first)) {
                    struct peet_search *repeat = peet_search_new(PEET_SEARCH_TOKEN, 0, 1000);
                    char *token = peet_search_get_token(search);

                    CU_ASSERT_EQUAL_FATAL(peet_search_set_token(repeat, token, &error), 0);
                    CU_ASSERT(execute(&p, repeat, &again));
                    CU_ASSERT(!memcmp(&first, &again, sizeof first));
                    free(token);
                    peet_search_free(repeat);
                }
                more = peet_search_end(search);
            } while (more && ++runs < 20);
            peet_search_free(search);
        }
    }
}

static void bad_tokens(void)
{
    static const char *const bad[] = {"", "x", "c-", "c!", "r", "r1", "r1.", "r1.2", "r1.2.", "r1.2.3x", "1.2.3"};
    struct peet_search *search = peet_search_new(PEET_SEARCH_TOKEN, 0, 1000);

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct peet_error error = {0, ""};

        CU_ASSERT_EQUAL(peet_search_set_token(search, bad[i], &error), PEET_EINVALID);
    }
    peet_search_free(search);
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"all_states", all_states}, {"tokens", tokens}, {"bad_tokens", bad_tokens}, CU_TEST_INFO_NULL};

    return run_suite("search", tests);
}
