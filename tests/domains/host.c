/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A host that simulates nothing but views of memory: it resumes contexts in turn, each in the view that the settings or the
 * subject say, and does what the subject asks of the interface runtime/domain.h by YIELD events.  Settings:
 *
 *     PEET_TEST_VIEWS    how many views there are, main memory included
 *     PEET_TEST_VIEW     the view of all contexts at the beginning
 *     PEET_TEST_NOTED    not empty: the host does not ask the kernel which pages are copies
 *     PEET_TEST_LEAVES   a file for the events VIEW_LEAVE
 *
 * A doall's iterations run on workers that take turns at each event.
 */
#include "ask.h"
#include "views/domain.h"
#include "runtime.h"

#include <peet/module.h>
#include <peet/raw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "worker.h"

#define WORKERS 4
#define NONE PEET__NO_ITERATION

static uint64_t ring[1 << 15];
static const uint64_t limit_words = 512;
static int over, status;
static unsigned view;
static FILE *leaves;

static uint64_t *last_event(uint64_t *end)
{
    uint64_t *last = NULL;
    for (uint64_t *w = ring; w < end; w++)
        if (PEET_RAW_IS_ABSTRACT(*w)) {
            last = w;
            w += PEET_RAW_NARGS(*w);
        }
    return last;
}

static void count(void *self, unsigned domain, uint64_t address, const void *bytes, size_t n)
{
    (void)domain, (void)address, (void)bytes;
    *(uint64_t *)self += n;
}

static int64_t fork_it(void)
{
    return fork();
}

/* The child changes a word of main memory and of the view; the parent must not see it, nor the child what the parent does then. */
static uint64_t fork_once(unsigned domain, uint64_t address)
{
    uint64_t word = 0, main_word = 0, changed = 4711;
    int end = 0;
    int64_t child = peet_domains_fork(fork_it);
    if (child == 0) {
        peet_domain_read(domain, address, &word, 8);
        peet_domain_read(0, address, &main_word, 8);
        int ok = word == 2 && main_word == 1;
        peet_domain_write(0, address, &changed, 8);
        peet_domain_write(domain, address, &changed, 8);
        *(volatile uint64_t *)(address + 8) = changed;
        peet_domain_read(domain, address, &word, 8);
        _exit(ok && word == 4711 ? 7 : 8);
    }
    waitpid((pid_t)child, &end, 0);
    peet_domain_read(domain, address, &word, 8);
    peet_domain_read(0, address, &main_word, 8);
    return WIFEXITED(end) && WEXITSTATUS(end) == 7 && word == 2 && main_word == 1;
}

static uint64_t answer(struct peet_ctx *ctx, const uint64_t *args)
{
    struct peet_domain_statistics s;
    uint64_t word = 0;
    switch (args[0]) {
    case ASK_GO:
        peet_ctx_set_domain(ctx, (unsigned)args[1]);
        return peet_ctx_domain(ctx);
    case ASK_READ:
        return peet_domain_read((unsigned)args[1], args[2], &word, 8) ? ~0ul : word;
    case ASK_WRITE:
        return (uint64_t)peet_domain_write((unsigned)args[1], args[2], &args[3], 8);
    case ASK_PERFORM:
        return (uint64_t)peet_domain_perform(args[1], args[2], &args[3], 8);
    case ASK_COPIED:
        return peet_domain_copied(args[1]);
    case ASK_REFRESH:
        peet_domain_refresh((unsigned)args[1], args[2], args[3]);
        return 0;
    case ASK_TIDY:
        return peet_domain_tidy((unsigned)args[1]);
    case ASK_COMMIT:
        return peet_domain_commit((unsigned)args[1], args[2], args[3]);
    case ASK_DIFF:
        peet_domain_diff((unsigned)args[1], count, &word);
        return word;
    case ASK_PAGES:
        peet_domain_statistics((unsigned)args[1], &s);
        return s.copied_pages;
    case ASK_OUTSIDE:
        peet_domain_statistics((unsigned)args[1], &s);
        return s.outside;
    case ASK_CLASS:
        return peet_domain_class(args[1]);
    case ASK_STORED:
        peet_domain_stored((unsigned)args[1], args[2], args[3]);
        return 0;
    case ASK_FORK:
        return fork_once((unsigned)args[1], args[2]);
    case ASK_VIEWS:
        return peet_domains_count();
    }
    return 0;
}

/* Until the next event that is not answered at once; NULL: done. */
static uint64_t *run(struct peet_ctx *ctx, uint64_t result)
{
    for (;;) {
        uint64_t *end = NULL;
        enum peet_yield why = peet_ctx_resume(ctx, ring, ring + limit_words, result, &end);
        if (why == PEET_YIELD_DONE)
            return NULL;
        if (why != PEET_YIELD_EVENT)
            continue;
        uint64_t *event = last_event(end);
        result = 0;
        switch (PEET_RAW_TYPE(*event)) {
        case PEET_ABSTRACT_PROGRAM_EXIT:
            over = 1;
            status = (int)event[1];
            return event;
        case PEET_ABSTRACT_YIELD:
            if (PEET_RAW_NARGS(*event) == 4)
                result = answer(ctx, event + 1);
            return event[1] == ASK_TURN || PEET_RAW_NARGS(*event) != 4 ? event : run(ctx, result);
        case PEET_ABSTRACT_VIEW_LEAVE:
            if (leaves)
                fprintf(leaves, "%llu\n", (unsigned long long)event[1]);
            break;
        case PEET_ABSTRACT_CLOCK:
        case PEET_ABSTRACT_ONCE_END:
            break;
        case PEET_ABSTRACT_ONCE_BEGIN:
            result = 1;
            break;
        default:
            return event;
        }
    }
}

static void doall(uint64_t lo, uint64_t hi, uint64_t fn, uint64_t arg)
{
    struct peet_ctx *workers[WORKERS];
    uint64_t answers[WORKERS] = {0};
    unsigned alive = WORKERS;
    for (unsigned i = 0; i < WORKERS; i++) {
        if (peet_ctx_new(peet__doall_worker, fn, arg, NULL, &workers[i]) != 0)
            abort();
        peet_ctx_set_domain(workers[i], view);
    }
    while (alive && !over)
        for (unsigned i = 0; i < WORKERS && !over; i++) {
            uint64_t *event = workers[i] ? run(workers[i], answers[i]) : NULL;
            answers[i] = 0;
            if (workers[i] && !event) {
                peet_ctx_free(workers[i]);
                workers[i] = NULL;
                alive--;
            } else if (event && PEET_RAW_TYPE(*event) == PEET_ABSTRACT_DOALL_START) {
                answers[i] = (int64_t)lo < (int64_t)hi ? lo++ : NONE;
            }
        }
}

static void crashed(struct peet_ctx *ctx, int signal, uint64_t pc, uint64_t address, const char *why)
{
    fprintf(stderr, "crashed: signal %d, pc 0x%lx, address 0x%lx, view %u: %s\n", signal, pc, address, peet_ctx_domain(ctx), why);
}

static unsigned number(const char *name, unsigned otherwise)
{
    const char *text = peet_rt_setting(name);
    return text ? (unsigned)atoi(text) : otherwise;
}

int peet_host_main(struct peet_host_hooks *out_hooks)
{
    const char *why = NULL;
    uint64_t result = 0;
    out_hooks->crashed = crashed;
    if (peet_domains_begin(number("PEET_TEST_VIEWS", 1), peet_rt_setting("PEET_TEST_NOTED") ? PEET_DOMAINS_NOTED : 0, &why) != 0) {
        fprintf(stderr, "no views: %s\n", why);
        return 99;
    }
    if (peet_rt_setting("PEET_TEST_LEAVES"))
        leaves = fopen(peet_rt_setting("PEET_TEST_LEAVES"), "w");
    view = number("PEET_TEST_VIEW", 0);
    peet_ctx_set_domain(peet_ctx_main(), view);
    while (!over) {
        uint64_t *event = run(peet_ctx_main(), result);
        result = 0;
        if (!event || over)
            break;
        if (PEET_RAW_TYPE(*event) == PEET_ABSTRACT_DOALL_FORK) {
            uint64_t args[6];
            memcpy(args, event + 1, sizeof args);
            doall(args[0], args[1], args[4], args[5]);
        }
    }
    if (leaves)
        fclose(leaves);
    return status;
}
