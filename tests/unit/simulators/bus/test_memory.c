/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory runs out: the n-th allocation fails, for every n.  Creating the machine must be refused, a run must end with
 * one message; neither may crash or leak (the sanitizer builds look).  The linker sends the module's allocations here.
 */
#include <malloc.h>
#include <string.h>
#include "rig.h"
#include "run_suite.h"

static unsigned long until_failure; /* 0: never */

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t n, size_t bytes);
void *__real_realloc(void *old, size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t n, size_t bytes);
void *__wrap_realloc(void *old, size_t bytes);

static int fails(void)
{
    return until_failure && --until_failure == 0;
}

void *__wrap_malloc(size_t bytes)
{
    return fails() ? NULL : __real_malloc(bytes);
}

void *__wrap_calloc(size_t n, size_t bytes)
{
    return fails() ? NULL : __real_calloc(n, bytes);
}

void *__wrap_realloc(void *old, size_t bytes)
{
    return fails() ? NULL : __real_realloc(old, bytes);
}

static void stream(struct rig *rig)
{
    uint64_t seed = 42;
    for (unsigned i = 0; i < 1500 / (TEST_SHARE > 4 ? 4 : TEST_SHARE); i++) {
        unsigned hw = (unsigned)rig_random(&seed, 3);
        uint64_t address = rig_random(&seed, 50) << rig_random(&seed, 20);
        rig_random(&seed, 3) ? rig_read(rig, hw, address, 8) : rig_write(rig, hw, address, 8);
    }
}

static void run(const char *check, const char *ways)
{
    unsigned refused = 0, ended = 0, done_without = 0;
    for (unsigned long n = 1;; n++) {
        struct rig rig;
        until_failure = n;
        int opened = rig_open(&rig, 3, 1, "cache", "1KiB", "line", "16", "ways", ways, "check", check, NULL);
        if (opened == 0)
            stream(&rig);
        int reached = until_failure == 0;
        until_failure = 0;
        if (reached && !opened && !rig.failures) {
            done_without++;
        } else if (reached) {
            CU_ASSERT_EQUAL(rig.failures, 1);
            CU_ASSERT_PTR_NOT_NULL(strstr(rig.failure, "out of memory"));
            *(opened ? &refused : &ended) += 1;
        } else {
            CU_ASSERT_EQUAL(rig.failures, 0);
        }
        rig_close(&rig);
        if (!reached)
            break;
    }
    CU_ASSERT(refused > 5);
    CU_ASSERT(ended > 5);
    CU_ASSERT(done_without <= 3); /* machine code, its table and its heat */
}

static void test_memory(void)
{
    run("off", "2");
    run("off", "0");
    run("on", "2");
}

int main(void)
{
    /* thousands of machines one after the other: their memory need not go back to the system in between */
    mallopt(M_MMAP_THRESHOLD, 1 << 30);
    mallopt(M_TRIM_THRESHOLD, 1 << 30);
    CU_TestInfo tests[] = {{"every allocation fails once", test_memory}, CU_TEST_INFO_NULL};
    return run_suite("bus: out of memory", tests);
}
