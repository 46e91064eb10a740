/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How each figure is measured.
 */
#define _GNU_SOURCE
#include "measure.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

enum { TRIES = 7, PIECES = 16 };

static double now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

static uint64_t random64(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

double measure_ghz(void)
{
    double best = 1e30;

    for (int i = 0; i < 40; i++) {
        uint64_t x = 1;
        double begin = now_ns(), ns;

        for (int n = 0; n < 20000; n++)
            __asm__ volatile(
                "add $1, %0\n add $1, %0\n add $1, %0\n add $1, %0\n add $1, %0\n add $1, %0\n add $1, %0\n add $1, %0\n"
                "add $1, %0\n add $1, %0\n add $1, %0\n add $1, %0\n add $1, %0\n add $1, %0\n add $1, %0\n add $1, %0\n"
                : "+r"(x));
        ns = (now_ns() - begin) / (20000 * 16);
        best = ns < best ? ns : best;
    }
    return 1 / best;
}

static void forget(void *m, size_t bytes)
{
    munmap(m, ((bytes + (2 << 20) - 1) & ~(size_t)((2 << 20) - 1)) + (2 << 20));
}

static char *memory(size_t bytes, int large_pages)
{
    char *m;

    bytes = (bytes + (2 << 20) - 1) & ~(size_t)((2 << 20) - 1); /* whole large pages, wherever they begin */
    m = mmap(NULL, bytes + (2 << 20), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (m == MAP_FAILED)
        return NULL;
    madvise(m, bytes + (2 << 20), large_pages ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
    return m;
}

/** Node i of a cycle through all of them, in random order (Sattolo). */
static void link_nodes(char *base, size_t n, size_t stride, size_t colour)
{
    size_t *order = malloc(n * sizeof *order);
    uint64_t seed = 88172645463325252u;

    if (!order)
        abort();
#define NODE(i) ((void **)(base + (i) * stride + (i) * colour % stride / 16 * 16))
    for (size_t i = 0; i < n; i++)
        order[i] = i;
    for (size_t i = n - 1; i > 0; i--) {
        size_t j = random64(&seed) % i, t = order[i];

        order[i] = order[j];
        order[j] = t;
    }
    for (size_t i = 0; i < n; i++)
        *NODE(order[i]) = NODE(order[(i + 1) % n]);
#undef NODE
    free(order);
}

static void **step(void **p, size_t steps)
{
    for (size_t i = 0; i < steps; i += 8) {
        p = *p, p = *p, p = *p, p = *p;
        p = *p, p = *p, p = *p, p = *p;
    }
    __asm__ volatile("" : "+r"(p));
    return p;
}

double measure_chase_ns(size_t n, size_t stride_bytes, size_t colour_bytes, int large_pages)
{
    size_t bytes = n * stride_bytes, steps = n < 50000 ? 400000 / n * n : n < 1000000 ? n : 1000000;
    char *m = memory(bytes, large_pages), *base;
    double best = 1e30;
    void **p;

    if (!m)
        return 0;
    base = (char *)(((uintptr_t)m + (2 << 20) - 1) & ~(uintptr_t)((2 << 20) - 1));
    link_nodes(base, n, stride_bytes, colour_bytes);
    p = step((void **)base, steps < n ? steps : n);
    /* In pieces: one of them is not disturbed.  Long ones would share the caches with whoever else runs. */
    steps = steps / PIECES < 4000 ? 4000 : steps / PIECES / 8 * 8;
    for (int i = 0; i < TRIES * PIECES; i++) {
        double begin = now_ns(), ns;

        p = step(p, steps);
        ns = (now_ns() - begin) / (double)steps;
        best = ns < best ? ns : best;
    }
    forget(m, bytes);
    return best;
}

double measure_chains_ns(unsigned chains, size_t bytes, size_t stride_bytes)
{
    enum { MOST = 32 };
    size_t n = bytes / stride_bytes, steps = 40000 / chains;
    char *m = memory(bytes, 1), *base;
    void **p[MOST];
    double best = 1e30;

    if (!m || chains > MOST)
        return 0;
    base = (char *)(((uintptr_t)m + (2 << 20) - 1) & ~(uintptr_t)((2 << 20) - 1));
    link_nodes(base, n, stride_bytes, 0);
    for (unsigned c = 0; c < chains; c++)
        p[c] = (void **)(base + n / chains * c * stride_bytes);
    for (int i = 0; i < TRIES * PIECES; i++) {
        double begin = now_ns(), ns;

        for (size_t s = 0; s < steps; s++)
            for (unsigned c = 0; c < chains; c++)
                p[c] = *p[c];
        ns = (now_ns() - begin) / (double)(steps * chains);
        best = ns < best ? ns : best;
    }
    for (unsigned c = 0; c < chains; c++)
        __asm__ volatile("" : : "r"(p[c]));
    forget(m, bytes);
    return best;
}

/* ---------------------------------------------------------------------------------------- bandwidth */

struct reader {
    double begin, end;
    const uint64_t *data;
    size_t words;
    pthread_barrier_t *barrier;
    uint64_t sum;
};

static void *read_all(void *self)
{
    struct reader *r = self;

    pthread_barrier_wait(r->barrier);
    r->begin = now_ns();
    for (size_t i = 0; i < r->words; i += 8)
        for (size_t k = 0; k < 8; k++)
            r->sum += r->data[i + k];
    r->end = now_ns();
    return NULL;
}

double measure_read_gbs(unsigned threads, size_t bytes_each)
{
    struct reader *readers = calloc(threads, sizeof *readers);
    pthread_t *ids = calloc(threads, sizeof *ids);
    pthread_barrier_t barrier;
    double best = 0;

    for (unsigned t = 0; readers && ids && t < threads; t++) {
        uint64_t *m = (uint64_t *)memory(bytes_each, 1);

        if (!m)
            return 0;
        for (size_t i = 0; i < bytes_each / 8; i += 8)
            m[i] = i;
        readers[t] = (struct reader){0, 0, m, bytes_each / 8, &barrier, 0};
    }
    pthread_barrier_init(&barrier, NULL, threads);
    for (int i = 0; i < TRIES; i++) {
        double begin = 1e300, end = 0;

        for (unsigned t = 0; t < threads; t++)
            if (pthread_create(&ids[t], NULL, read_all, &readers[t]))
                abort();
        for (unsigned t = 0; t < threads; t++) {
            pthread_join(ids[t], NULL);
            begin = readers[t].begin < begin ? readers[t].begin : begin;
            end = readers[t].end > end ? readers[t].end : end;
        }
        best = (double)threads * (double)bytes_each / (end - begin) > best
            ? (double)threads * (double)bytes_each / (end - begin)
            : best;
    }
    for (unsigned t = 0; t < threads; t++)
        forget((void *)(uintptr_t)readers[t].data, bytes_each);
    pthread_barrier_destroy(&barrier);
    free(readers);
    free(ids);
    return best;
}

/* ----------------------------------------------------------------------------------------- branches */

/** The same instructions, with a branch on a random bit, or on one that is always 0. */
static double branches_ns(uint64_t mask)
{
    enum { N = 400000 };
    double best = 1e30;

    for (int i = 0; i < TRIES; i++) {
        uint64_t x = 88172645463325252u, count = 0;
        double begin = now_ns(), ns;

        for (int n = 0; n < N; n++) {
            uint64_t bit = random64(&x) >> 20 & mask;

            __asm__ volatile("test %1, %1\n jz 1f\n add $1, %0\n 1:" : "+r"(count) : "r"(bit) : "cc");
        }
        ns = (now_ns() - begin) / N;
        best = ns < best ? ns : best;
    }
    return best;
}

double measure_branch_ns(void)
{
    return 2 * (branches_ns(1) - branches_ns(0));
}

/* --------------------------------------------------------------------------------------------- line */

/** A chase whose every step also reads, depending on the node, a word that stands @distance further on. */
static double pair_ns(char *base, size_t distance)
{
    enum { STEPS = 4000 };
    double best = 1e30;
    void **p = (void **)base;

    for (int i = 0; i < 40; i++) {
        double begin = now_ns(), ns;

        for (int s = 0; s < STEPS; s++) {
            void **next = *p;
            uintptr_t zero = *(volatile uintptr_t *)((char *)next + distance); /* 0, and nobody knows */

            p = (void **)((uintptr_t)next + zero);
        }
        __asm__ volatile("" : "+r"(p));
        ns = (now_ns() - begin) / STEPS;
        best = ns < best ? ns : best;
    }
    return best;
}

size_t measure_line_bytes(size_t far_bytes)
{
    enum { STRIDE = 8192 };
    size_t n = far_bytes / STRIDE, found = 0;
    char *m = memory(far_bytes, 1), *base;
    double near;

    if (!m)
        return 0;
    base = (char *)(((uintptr_t)m + (2 << 20) - 1) & ~(uintptr_t)((2 << 20) - 1));
    link_nodes(base, n, STRIDE, 0);
    near = pair_ns(base, 8);
    for (size_t distance = 16; distance <= 1024 && !found; distance *= 2)
        if (pair_ns(base, distance) > near * 1.25)
            found = distance;
    forget(m, far_bytes);
    return found;
}
