/* SPDX-License-Identifier: Apache-2.0 */
/* x86: life and death of cores and threads, sized as configured. */
#include "core.h"

#include <stdlib.h>
#include <string.h>

/** A ring that remembers the last `size` entries, and some more. */
static int queue_init(struct x86_queue *q, uint32_t size, uint32_t more)
{
    uint32_t room = 64;

    while (room < size + more)
        room *= 2;
    q->left = calloc(room, sizeof *q->left);
    q->mask = room - 1;
    q->size = size;
    return q->left ? 0 : -1;
}

static int thread_init(struct x86 *x, struct x86_thread *t)
{
    const struct x86_config *c = &x->config;
    static const enum peet_sim_direction directions[] = {
        [BRANCH_TAGE] = PEET_SIM_TAGE,
        [BRANCH_GSHARE] = PEET_SIM_GSHARE,
        [BRANCH_BIMODAL] = PEET_SIM_BIMODAL,
        [BRANCH_ALWAYS] = PEET_SIM_ALWAYS,
        [BRANCH_PERFECT] = PEET_SIM_ALWAYS,
    };
    struct peet_sim_branch_config branch = {
        .direction = directions[c->branch],
        .table_bits = c->branch_table_bits,
        .history_bits = c->branch == BRANCH_GSHARE && c->branch_history_bits > 63 ? 63 : c->branch_history_bits,
        .tables = c->branch_tables,
        .fast_bits = c->override_cycles ? c->override_history_bits : 0,
        .fast_entries = c->override_entries,
        .untaken_free = c->untaken_branches == UNTAKEN_FREE,
        .btb_sets = c->btb_entries / 4,
        .btb_ways = 4,
        .return_entries = c->return_entries,
        .returns_around = c->return_underflow == UNDERFLOW_AROUND,
        .indirect_bits = c->indirect_bits,
        .indirect_outcomes = c->indirect_history == HISTORY_OUTCOMES,
    };

    t->context = UINT32_MAX;
    t->gap = CPI_IDLE;
    t->gap_most = UINT64_MAX;
    t->front.category = CPI_BASE;
    t->store_category = CPI_L1;
    t->store_line = UINT64_MAX;
    memset(t->fetched, 0xff, sizeof t->fetched);
    t->store = NULL;
    if (queue_init(&t->window, c->window_uops, 1024) || queue_init(&t->loads, c->load_queue, 64) ||
        queue_init(&t->stores, c->store_queue, 64))
        return -1;
    /* as many as were left before time began: core_state.c puts entries there, however few have been entered since */
    t->loads.n = t->loads.mask + 1;
    t->stores.n = t->stores.mask + 1;
    t->fetch_parts = c->fetch_uops * X86_PARTS;
    t->decoded_cycle = UINT64_MAX; /* the one before the first */
    t->window_limit = c->window_uops;
    t->loads_limit = c->load_queue;
    t->stores_limit = c->store_queue;
    t->store = calloc(t->stores.mask + 1, sizeof *t->store);
    t->granule_mask = (uint64_t)X86_STORE_GRANULES * (t->stores.mask + 1) - 1;
    t->granules = calloc(t->granule_mask + 1, sizeof *t->granules);
    t->pairs = calloc(X86_PAIRS, sizeof *t->pairs);
    t->newest = calloc(X86_PAIRS, sizeof *t->newest);
    return !t->store || !t->granules || !t->pairs || !t->newest || peet_sim_branch_init(&t->predictor, &branch) ? -1
                                                                                                                : 0;
}

int x86_cores_init(struct x86 *x)
{
    unsigned threads = x->config.threads;

    x->nthreads = x->ncores * threads;
    x->cores = aligned_alloc(64, (x->ncores * sizeof *x->cores + 63) / 64 * 64);
    x->threads = calloc(x->nthreads, sizeof *x->threads);
    if (!x->cores || !x->threads)
        goto memory;
    memset(x->cores, 0, x->ncores * sizeof *x->cores);
    for (unsigned i = 0; i < x->ncores; i++) {
        struct x86_cpu *c = &x->cores[i];

        c->x = x;
        c->number = i;
        for (unsigned b = 0; b < x->nbuffers; b++)
            c->buffers[b].size = x->buffer_sizes[b];
        if (threads > 1) {
            c->slot_cycles = calloc(X86_BUFFER_CYCLES, sizeof *c->slot_cycles);
            c->slot_counts = calloc(X86_BUFFER_CYCLES, sizeof *c->slot_counts);
            if (!c->slot_cycles || !c->slot_counts)
                goto memory;
        }
    }
    for (unsigned i = 0; i < x->nthreads; i++) {
        x->threads[i].cpu = &x->cores[i / threads];
        x->threads[i].hw = i;
        if (thread_init(x, &x->threads[i]))
            goto memory;
    }
    return 0;
memory:
    x->env->fail(x->env, "out of memory for %u cores", x->ncores);
    return -1;
}

void x86_cores_fini(struct x86 *x)
{
    for (unsigned i = 0; x->cores && i < x->ncores; i++) {
        free(x->cores[i].slot_cycles);
        free(x->cores[i].slot_counts);
    }
    for (unsigned i = 0; x->threads && i < x->nthreads; i++) {
        struct x86_thread *t = &x->threads[i];

        free(t->window.left);
        free(t->loads.left);
        free(t->stores.left);
        free(t->store);
        free(t->granules);
        free(t->pairs);
        free(t->newest);
        peet_sim_branch_fini(&t->predictor);
    }
    free(x->cores);
    free(x->threads);
}
