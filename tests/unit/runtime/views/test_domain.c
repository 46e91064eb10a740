/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Views of memory (runtime/domain_pages.c, domain_diff.c) by themselves: random stores, performances, commits and
 * refreshes against plain arrays, one for each view.  The pages are real ones: a memory file, shared by main memory and
 * mapped privately by the views; once with the machine noting which pages are stored to, once with the kernel asked for
 * it.
 */
#include "views/domain_internal.h"
#include "run_suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { VIEWS = 5, PAGES = 6, BYTES = PAGES * 4096, STEPS = 6000 };

struct peet__domains peet__domains = {.fd = -1};
static struct peet__region region;
static uint8_t *memory;                                 /* view 0 */
static uint8_t want[VIEWS][BYTES], given[VIEWS][BYTES]; /* given: what the view had before its own stores */
static uint64_t seed;

/* ---------------------------------------------------------------------------- of domain.c and the rest of the runtime
 */

PUBLIC unsigned peet_domains_count(void)
{
    return peet__domains.count;
}

const struct peet__region *peet__region_of(uint64_t address)
{
    return address >= region.lo && address < region.hi ? &region : NULL;
}

void *peet__domain_memory(size_t bytes)
{
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    CU_ASSERT_FATAL(at != MAP_FAILED);
    return at;
}

void peet__domain_memory_free(void *at, size_t bytes)
{
    munmap(at, bytes);
}

_Noreturn void peet__die(int status, const char *format, ...)
{
    printf("peet__die: %s\n", format);
    exit(status);
}

/* ------------------------------------------------------------------------------------------------------------------ */

static unsigned pick(unsigned n)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(seed >> 33) % n;
}

/** Main memory and its views, all zeros: each view lies an equal distance further. */
static void begin(unsigned flags)
{
    const size_t room = (size_t)VIEWS * BYTES;
    uint8_t *all = mmap(NULL, room, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    CU_ASSERT_FATAL(all != MAP_FAILED);
    peet__domains = (struct peet__domains){
        .count = VIEWS, .flags = flags, .all = (1u << VIEWS) - 2, .fd = memfd_create("views", MFD_CLOEXEC)};
    memory = all;
    CU_ASSERT_FATAL(peet__domains.fd >= 0);
    /* the place of a page in the file is its address: the file is sparse */
    CU_ASSERT_EQUAL_FATAL(ftruncate(peet__domains.fd, (off_t)(uint64_t)all + BYTES), 0);
    for (unsigned d = 0; d < VIEWS; d++) {
        peet__domains.offset[d] = (int64_t)d * BYTES;
        CU_ASSERT_FATAL(mmap(all + d * BYTES, BYTES, PROT_READ | PROT_WRITE, MAP_FIXED | (d ? MAP_PRIVATE : MAP_SHARED),
                            peet__domains.fd, (off_t)(uint64_t)all) == all + d * BYTES);
    }
    region = (struct peet__region){(uint64_t)all, (uint64_t)all + BYTES, PEET_DOMAIN_SHARED, PROT_READ | PROT_WRITE, 0};
    peet__domains.regions = &region;
    peet__domains.nregions = 1;
    memset(want, 0, sizeof want);
    memset(given, 0, sizeof given);
}

static void end(void)
{
    peet__pages_forget(region.lo, region.hi);
    munmap(memory, (size_t)VIEWS * BYTES);
    close(peet__domains.fd);
}

/** All views hold what they should. */
static int right(void)
{
    for (unsigned d = 0; d < VIEWS; d++) {
        if (memcmp(peet__view(d, (uint64_t)memory), want[d], BYTES))
            return 0;
        for (unsigned n = 0; n < 3; n++) {
            uint8_t some[24];
            unsigned at = pick(BYTES - sizeof some);

            if (peet_domain_read(d, (uint64_t)memory + at, some, sizeof some) ||
                memcmp(some, want[d] + at, sizeof some))
                return 0;
        }
    }
    return 1;
}

static void own(unsigned d, unsigned at, const uint8_t *bytes, unsigned n)
{
    memcpy(peet__view(d, (uint64_t)memory + at), bytes, n); /* as a context of this view does */
    peet__domains.ran |= 1ul << d;
    if (peet__domains.flags & PEET_DOMAINS_NOTED)
        peet_domain_stored(d, (uint64_t)memory + at, n);
    memcpy(want[d] + at, bytes, n);
}

static void performed(uint64_t to, unsigned at, const uint8_t *bytes, unsigned n)
{
    for (unsigned d = 0; d < VIEWS; d++)
        if (to >> d & 1) {
            memcpy(want[d] + at, bytes, n);
            memcpy(given[d] + at, bytes, n);
        }
}

static uint8_t changed[BYTES];
static int strange;

static void difference(void *self, unsigned d, uint64_t address, const void *bytes, size_t n)
{
    const unsigned at = (unsigned)(address - (uint64_t)memory);

    (void)self;
    strange |= at + n > BYTES || memcmp(bytes, want[d] + at, n) != 0 || at / 4096 != (at + n - 1) / 4096;
    memset(changed + at, 1, n);
}

static void step(int noted)
{
    const unsigned d = 1 + pick(VIEWS - 1), n = 1 + pick(pick(8) ? 8 : 40),
                   at = pick(4) ? pick(64) * 8 : pick(BYTES - 64);
    uint8_t bytes[64];
    uint64_t to;

    for (unsigned i = 0; i < n; i++)
        bytes[i] = (uint8_t)(1 + pick(250));
    switch (pick(noted ? 8 : 10)) {
    case 0:
    case 1:
    case 2: /* a store of a context's */
        own(d, at, bytes, n);
        break;
    case 3:
    case 4: /* to main memory and some views, or to some views only */
        to = pick(1 << VIEWS) | (uint64_t)(pick(4) != 0);
        CU_ASSERT_EQUAL(peet_domain_perform(to, (uint64_t)memory + at, bytes, n), 0);
        performed(to, at, bytes, n);
        break;
    case 5: /* a view sees main memory again */
        if (pick(3))
            break;
        peet_domain_refresh(d, 0, SIZE_MAX);
        memcpy(want[d], want[0], BYTES);
        memcpy(given[d], want[0], BYTES);
        break;
    case 6:
        peet_domain_tidy(d);
        break;
    case 7:
        CU_ASSERT_EQUAL(peet_domain_perform(1, (uint64_t)memory + BYTES, bytes, n), PEET_EINVALID);
        break;
    default: /* stores of a view's own go to main memory, to all others */
        peet_domain_commit(d, UINT64_MAX, 0);
        for (unsigned b = 0; b < BYTES; b++)
            if (want[d][b] != given[d][b])
                performed(UINT64_MAX, b, &want[d][b], 1);
        break;
    }
}

static void views(unsigned flags)
{
    for (unsigned round = 1; round <= 4; round++) {
        seed = round * 0x9e3779b97f4a7c15u;
        begin(flags);
        for (unsigned i = 0; i < STEPS / 4; i++) {
            step(flags != 0);
            if (i % 8 == 0)
                CU_ASSERT_FATAL(right());
        }
        CU_ASSERT(right());
        end();
    }
}

static void noted(void)
{
    views(PEET_DOMAINS_NOTED);
}

static void asked(void)
{
    views(0);
}

/** What a view has stored is told byte by byte, and nothing else is. */
static void differences(void)
{
    for (unsigned round = 1; round <= 200; round++) {
        size_t told, n = 0;

        seed = round * 7919;
        begin(0);
        for (unsigned i = 0; i < 20; i++) {
            uint8_t bytes[8] = {(uint8_t)(1 + i), 2, 3, 4, 5, 6, 7, (uint8_t)round};
            unsigned at = pick(BYTES - 8);

            if (pick(2)) {
                own(2, at, bytes, 8);
            } else {
                CU_ASSERT_EQUAL(peet_domain_perform(1 | 1 << 2, (uint64_t)memory + at, bytes, 8), 0);
                performed(1 | 1 << 2, at, bytes, 8);
            }
        }
        memset(changed, 0, sizeof changed);
        strange = 0;
        told = peet_domain_diff(2, difference, NULL);
        CU_ASSERT_EQUAL(strange, 0);
        for (unsigned b = 0; b < BYTES; b++) {
            n += changed[b];
            CU_ASSERT_EQUAL_FATAL(changed[b], want[2][b] != given[2][b]);
        }
        CU_ASSERT_EQUAL(told, n);
        end();
    }
}

int main(void)
{
    CU_TestInfo tests[] = {{"noted", noted}, {"asked", asked}, {"differences", differences}, CU_TEST_INFO_NULL};

    return run_suite("domains", tests);
}
