/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A host that simulates nothing: it resumes contexts, runs doall loops on workers in turn, and
 * writes what it was given to the file that the setting PEET_TEST_LOG names.  With it the runtime is
 * tested without the rest of the project.
 */
#include "runtime.h"

#include <peet/module.h>
#include <peet/raw.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "worker.h"

#define WORKERS_MAX 20000
#define NONE PEET__NO_ITERATION

static FILE *log_file;
static uint64_t ring[1 << 16];
static uint64_t limit_words = 4096;
static unsigned nworkers = 4;
static int over, status; /* PROGRAM_EXIT has been seen */
static uint64_t plain_words, plain_hash = 1469598103934665603u, turns;

static const char *name_of(unsigned type)
{
    switch (type) {
#define PEET_X(name, value, nargs, text, args) \
    case value: \
        return #name;
        PEET_ABSTRACTS(PEET_X)
#undef PEET_X
    }
    return "?";
}

static void say(const char *format, ...)
{
    va_list args;
    if (!log_file)
        return;
    va_start(args, format);
    vfprintf(log_file, format, args);
    va_end(args);
}

static void summary(void)
{
    say("words %llu hash %016llx\n", (unsigned long long)plain_words, (unsigned long long)plain_hash);
}

/* Notes of allocations, which lie aside. */
static void look_aside(void)
{
    size_t n;
    const uint64_t *w = peet_rt_notes(&n), *notes_end = w + n;
    for (; w < notes_end; w += 2 + PEET_RAW_NARGS(w[1])) {
        say("%s", name_of(PEET_RAW_TYPE(w[1])));
        for (unsigned i = 0; i < PEET_RAW_NARGS(w[1]); i++)
            say(" %lld", (long long)w[2 + i]);
        say("\n");
    }
    peet_rt_notes_clear();
}

/* The last abstract record of a turn; NULL if it had none. */
static uint64_t *look(uint64_t *end)
{
    uint64_t *last = NULL;
    for (uint64_t *w = ring; w < end; w++) {
        if (PEET_RAW_IS_ABSTRACT(*w)) {
            last = w;
            say("%s", name_of(PEET_RAW_TYPE(*w)));
            unsigned n = PEET_RAW_NARGS(*w);
            for (unsigned i = 0; i < n; i++)
                say(" %lld", (long long)w[1 + i]);
            say("\n");
            w += n;
        } else {
            plain_words++;
            plain_hash = (plain_hash ^ *w) * 1099511628211u;
        }
    }
    look_aside();
    return last;
}

/* Until the next event; NULL: done. */
static uint64_t *run(struct peet_ctx *ctx, uint64_t result)
{
    for (;;) {
        uint64_t *end = NULL;
        memset(ring, 0, (limit_words + PEET_RAW_SLACK_WORDS) * sizeof *ring);
        enum peet_yield why = peet_ctx_resume(ctx, ring, ring + limit_words, result, &end);
        turns++;
        if (end < ring || end > ring + limit_words + PEET_RAW_SLACK_WORDS) {
            say("OVERRUN %ld\n", (long)(end - ring));
            abort();
        }
        uint64_t *last = look(end);
        if (why == PEET_YIELD_EVENT) {
            if (PEET_RAW_TYPE(*last) == PEET_ABSTRACT_PROGRAM_EXIT) {
                over = 1;
                status = (int)last[1];
            }
            return last;
        }
        if (why == PEET_YIELD_DONE)
            return NULL;
    }
}

static void doall(uint64_t lo, uint64_t hi, uint64_t fn, uint64_t arg)
{
    static struct peet_ctx *idle[2 * WORKERS_MAX];
    static unsigned nidle;
    struct peet_ctx **workers = calloc(nworkers, sizeof *workers);
    uint64_t *answers = calloc(nworkers, sizeof *answers);
    unsigned alive = nworkers;
    for (unsigned i = 0; i < nworkers; i++) {
        if (nidle) {
            workers[i] = idle[--nidle];
            if (peet_ctx_restart(workers[i], peet__doall_worker, fn, arg) != 0)
                abort();
        } else if (peet_ctx_new(peet__doall_worker, fn, arg, NULL, &workers[i]) != 0) {
            abort();
        }
        peet_ctx_set_number(workers[i], i + 1);
    }
    while (alive && !over)
        for (unsigned i = 0; i < nworkers && !over; i++) {
            if (!workers[i])
                continue;
            uint64_t *event = run(workers[i], answers[i]);
            if (!event) {
                if (nidle < 8)
                    idle[nidle++] = workers[i];
                else
                    peet_ctx_free(workers[i]);
                workers[i] = NULL;
                alive--;
            } else if (PEET_RAW_TYPE(*event) == PEET_ABSTRACT_DOALL_START) {
                answers[i] = (int64_t)lo < (int64_t)hi ? lo++ : NONE;
            } else if (PEET_RAW_TYPE(*event) == PEET_ABSTRACT_DOALL_FORK) {
                uint64_t args[6];
                memcpy(args, event + 1, sizeof args);
                doall(args[0], args[1], args[4], args[5]);
            }
        }
    free(workers);
    free(answers);
}

static void crashed(struct peet_ctx *ctx, int signal, uint64_t pc, uint64_t address, const char *why)
{
    uint64_t lo, hi, regs[8];
    peet_ctx_stack(ctx, &lo, &hi);
    peet_ctx_registers(ctx, regs);
    look(peet_rt_crash_end());
    say("%s\n", regs[0] == pc || pc == 0 ? "pc known" : "PC DIFFERS");
    say("CRASHED signal %d: %s\n", signal, why);
    summary();
    fflush(log_file);
}

int peet_host_main(struct peet_host_hooks *out_hooks)
{
    out_hooks->crashed = crashed;
    if (peet_rt_setting("PEET_TEST_HOST_FAULT"))
        return *(volatile int *)16;
    if (peet_rt_setting("PEET_TEST_LOG"))
        log_file = fopen(peet_rt_setting("PEET_TEST_LOG"), "w");
    if (peet_rt_setting("PEET_TEST_WORKERS"))
        nworkers = (unsigned)atoi(peet_rt_setting("PEET_TEST_WORKERS"));
    if (nworkers > WORKERS_MAX)
        abort();
    if (peet_rt_setting("PEET_TEST_LIMIT"))
        limit_words = strtoull(peet_rt_setting("PEET_TEST_LIMIT"), NULL, 0);
    peet_rt_note_allocations(peet_rt_setting("PEET_TEST_NOTE_ALLOCATIONS") != NULL);
    /* a host's allocations must not show in the subject's heap */
    void *ballast[100];
    unsigned nballast = peet_rt_setting("PEET_TEST_BALLAST") ? 100 : 0;
    for (unsigned i = 0; i < nballast; i++)
        ballast[i] = malloc(1000 * i);
    uint64_t result = 0;
    while (!over) {
        uint64_t *event = run(peet_ctx_main(), result);
        if (!event || over)
            break;
        uint64_t args[6] = { 0 };
        memcpy(args, event + 1, PEET_RAW_NARGS(*event) * sizeof *args);
        result = 0;
        if (PEET_RAW_TYPE(*event) == PEET_ABSTRACT_DOALL_FORK) {
            doall(args[0], args[1], args[4], args[5]);
        } else if (PEET_RAW_TYPE(*event) == PEET_ABSTRACT_YIELD) {
            result = args[0] + 1; /* tests ask this way what an event returns */
        }
    }
    for (unsigned i = 0; i < nballast; i++)
        free(ballast[i]);
    summary();
    if (log_file)
        fclose(log_file);
    return status;
}
