/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The deterministic heap against a shadow model: every live block is a list entry with a fill pattern of
 * its own; no two may overlap, none may lose its content, and the order of requests alone decides the
 * addresses (checked by a second process).
 */
#include <CUnit/Basic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "heap/heap.h"

static uint64_t random_state;

static uint64_t next_random(void)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return random_state >> 33;
}

struct shadow {
    unsigned char *p;
    size_t bytes;
    unsigned char fill;
};
#define SHADOWS 3000

static int content_ok(const struct shadow *s)
{
    for (size_t i = 0; i < s->bytes; i++)
        if (s->p[i] != s->fill)
            return 0;
    return 1;
}

static int compare_shadows(const void *a, const void *b)
{
    const struct shadow *x = a, *y = b;
    return x->p < y->p ? -1 : x->p > y->p;
}

static size_t random_size(void)
{
    switch (next_random() % 10) {
    case 0:
        return next_random() % 300000;
    case 1:
    case 2:
        return next_random() % 40000;
    default:
        return next_random() % 700;
    }
}

/* Returns a hash of all addresses. */
static uint64_t stress(uint64_t seed, unsigned steps, int *out_ok)
{
    static struct shadow live[SHADOWS];
    unsigned nlive = 0;
    uint64_t hash = 0;
    random_state = seed;
    *out_ok = 1;
    for (unsigned step = 0; step < steps; step++) {
        unsigned what = (unsigned)(next_random() % 100);
        if (nlive < SHADOWS && (what < 48 || nlive == 0)) {
            struct shadow s = {.bytes = random_size(), .fill = (unsigned char)next_random()};
            size_t align = what % 8 ? 16 : (size_t)1 << (4 + next_random() % 11);
            int zero = what % 3 == 0;
            s.p = peet__heap_alloc(s.bytes, align, zero);
            *out_ok &=
                s.p != NULL && (uint64_t)s.p % align == 0 && peet__heap_usable(s.p) >= s.bytes && peet__heap_owns(s.p);
            for (size_t i = 0; zero && i < s.bytes; i++)
                *out_ok &= s.p[i] == 0;
            memset(s.p, s.fill, s.bytes);
            live[nlive++] = s;
            hash = hash * 31 + (uint64_t)s.p;
        } else {
            struct shadow *s = &live[next_random() % nlive];
            *out_ok &= content_ok(s);
            if (what < 60) {
                size_t bytes = random_size() + 1, keep = bytes < s->bytes ? bytes : s->bytes;
                s->p = peet__heap_realloc(s->p, bytes);
                s->bytes = keep;
                *out_ok &= content_ok(s);
                s->bytes = bytes;
                memset(s->p, s->fill, bytes);
                hash = hash * 31 + (uint64_t)s->p;
            } else {
                *out_ok &= peet__heap_free(s->p) == PEET__HEAP_OK;
                *s = live[--nlive];
            }
        }
        if (step % 5000 == 0) {
            qsort(live, nlive, sizeof *live, compare_shadows);
            for (unsigned i = 0; i + 1 < nlive; i++)
                *out_ok &= live[i].p + live[i].bytes <= live[i + 1].p && live[i].p != live[i + 1].p;
        }
    }
    while (nlive) {
        struct shadow *s = &live[--nlive];
        *out_ok &= content_ok(s) && peet__heap_free(s->p) == PEET__HEAP_OK;
    }
    return hash;
}

static void test_stress(void)
{
    for (uint64_t seed = 1; seed <= 3; seed++) {
        int ok;
        stress(seed, 40000, &ok);
        CU_ASSERT(ok);
    }
}

static uint64_t stress_in_child(uint64_t seed)
{
    int fd[2], status;
    uint64_t hash = 0;
    if (pipe(fd) != 0)
        return 0;
    pid_t child = fork();
    if (child == 0) {
        int ok;
        hash = stress(seed, 20000, &ok);
        _exit(!ok || write(fd[1], &hash, sizeof hash) != sizeof hash);
    }
    CU_ASSERT(read(fd[0], &hash, sizeof hash) == sizeof hash);
    waitpid(child, &status, 0);
    CU_ASSERT(status == 0);
    close(fd[0]);
    close(fd[1]);
    return hash;
}

/* First in the suite: the children must find a heap that nobody has used. */
static void test_deterministic(void)
{
    uint64_t first = stress_in_child(7);
    CU_ASSERT(first != 0 && first == stress_in_child(7));
    CU_ASSERT(first != stress_in_child(8));
}

/* Allocating and freeing the same again and again needs no more memory. */
static void test_returns_memory(void)
{
    void *p[2000];
    uint64_t after_first = 0;
    for (int round = 0; round < 20; round++) {
        for (int i = 0; i < 2000; i++)
            p[i] = peet__heap_alloc((size_t)(i * 37 % 9000), 16, 0);
        for (int i = 0; i < 2000; i++)
            CU_ASSERT(peet__heap_free(p[i * 7 % 2000]) == PEET__HEAP_OK);
        void *big = peet__heap_alloc(100 << 20, 16, 0);
        CU_ASSERT(peet__heap_free(big) == PEET__HEAP_OK);
        if (round == 0)
            after_first = peet__heap_footprint_bytes();
    }
    CU_ASSERT(peet__heap_footprint_bytes() <= after_first);
}

static void test_faults(void)
{
    char *small = peet__heap_alloc(100, 16, 0), *other = peet__heap_alloc(100, 16, 0);
    char *large = peet__heap_alloc(1000000, 16, 0);
    CU_ASSERT(peet__heap_free(small + 16) == PEET__HEAP_FOREIGN);
    CU_ASSERT(peet__heap_free(small + 3) == PEET__HEAP_FOREIGN);
    CU_ASSERT(peet__heap_free(large + 4096) == PEET__HEAP_FOREIGN);
    CU_ASSERT(peet__heap_free((char *)PEET__HEAP_BASE + (1ul << 38)) == PEET__HEAP_FOREIGN);
    CU_ASSERT(peet__heap_free(small) == PEET__HEAP_OK);
    CU_ASSERT(peet__heap_free(small) == PEET__HEAP_FREED);
    CU_ASSERT(peet__heap_free(large) == PEET__HEAP_OK);
    CU_ASSERT(peet__heap_free(large) != PEET__HEAP_OK);
    CU_ASSERT(peet__heap_free(other) == PEET__HEAP_OK);
}

static void test_limits(void)
{
    CU_ASSERT_PTR_NULL(peet__heap_alloc(SIZE_MAX, 16, 0));
    CU_ASSERT_PTR_NULL(peet__heap_alloc(SIZE_MAX / 2, 16, 1));
    CU_ASSERT_PTR_NULL(peet__heap_alloc(100, (size_t)1 << 60, 0));
    char *p = peet__heap_alloc(0, 16, 0), *q = peet__heap_alloc(0, 16, 0);
    CU_ASSERT(p && q && p != q);
    CU_ASSERT(peet__heap_free(p) == PEET__HEAP_OK && peet__heap_free(q) == PEET__HEAP_OK);
    char *big = peet__heap_alloc((size_t)1 << 36, 16, 1); /* reserved, not committed */
    CU_ASSERT_PTR_NOT_NULL_FATAL(big);
    big[(size_t)1 << 35] = 1;
    CU_ASSERT(peet__heap_free(big) == PEET__HEAP_OK);
    big = peet__heap_alloc((size_t)1 << 36, 16, 1);
    CU_ASSERT(big[(size_t)1 << 35] == 0);
    CU_ASSERT(peet__heap_free(big) == PEET__HEAP_OK);
}

int main(void)
{
    CU_initialize_registry();
    CU_pSuite suite = CU_add_suite("heap", NULL, NULL);
    CU_add_test(suite, "the same requests give the same addresses", test_deterministic);
    CU_add_test(suite, "stress against a shadow model", test_stress);
    CU_add_test(suite, "memory is reused", test_returns_memory);
    CU_add_test(suite, "bad pointers are told apart", test_faults);
    CU_add_test(suite, "sizes at the edge", test_limits);
    CU_basic_run_tests();
    unsigned failures = CU_get_number_of_failures();
    CU_cleanup_registry();
    return failures != 0;
}
