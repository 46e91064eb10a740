/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Synthetic blocks: the references that their events spell out are, byte for byte, those of the operation,
 * found by marking bytes one by one; what counting makes of them; ids among those of an image's blocks.
 */
#include "program/parts.h"

#include <peet/counting.h>

#include <CUnit/Basic.h>
#include <stdlib.h>
#include <string.h>

enum { MODIFY, LOAD, STORE, READ, WRITE, COPY, COMPARE };

static const int shapes[] = {
#define PEET_X(name, text, shape) shape,
    PEET_SYNTHETICS(PEET_X)
#undef PEET_X
};

enum { SPAN = 512, SOURCE = 1 << 20, DESTINATION = 1 << 21 };

struct marks {
    unsigned char read[SPAN], written[SPAN];
};

static void mark(unsigned char *bytes, uint64_t base, uint64_t address, unsigned size)
{
    for (unsigned k = 0; k < size; k++) {
        uint64_t at = address + k - base;
        CU_ASSERT_FATAL(at < SPAN);
        bytes[at]++;
    }
}

/* Each byte [0, n) of a marked range once, no other. */
static int once(const unsigned char *bytes, unsigned n)
{
    for (unsigned k = 0; k < SPAN; k++)
        if (bytes[k] != (k < n))
            return 0;
    return 1;
}

static void one(struct peet_program *p, unsigned what, unsigned n)
{
    const struct peet_block *b = peet_program_synthetic(p, what);
    static struct marks source, destination;
    uint64_t values[8];
    struct peet_counts counts = {0, 0, 0}, moving = {0, 0, 0};
    uint64_t elements = n / 8 + n % 8;
    int shape = shapes[what & 0xff];

    CU_ASSERT_PTR_NOT_NULL_FATAL(b);
    memset(&source, 0, sizeof source);
    memset(&destination, 0, sizeof destination);
    CU_ASSERT_EQUAL(peet_synthetic_values(what, DESTINATION, SOURCE, n, values), b->nvalues);
    for (uint32_t i = 0; i < b->nrefs; i++) {
        const struct peet_ref *ref = &b->refs[i];
        struct peet_ref_iter it;

        CU_ASSERT(ref->insn < b->ninsns);
        CU_ASSERT(i >= b->insns[ref->insn].first_ref && i < b->insns[ref->insn].first_ref + b->insns[ref->insn].nrefs);
        for (it = peet_ref_begin(ref, values); it.count; it.count--, it.address += (uint64_t)it.step) {
            struct marks *m = it.address >= DESTINATION ? &destination : &source;
            uint64_t base = it.address >= DESTINATION ? DESTINATION : SOURCE;

            if (ref->kind != PEET_REF_STORE)
                mark(m->read, base, it.address, ref->size_bytes);
            if (ref->kind != PEET_REF_LOAD)
                mark(m->written, base, it.address, ref->size_bytes);
        }
    }
    CU_ASSERT(once(source.read, shape == READ || shape == COPY || shape == COMPARE ? n : 0));
    CU_ASSERT(once(source.written, 0));
    CU_ASSERT(once(destination.read, shape == COMPARE ? n : shape == MODIFY || shape == LOAD ? 8 : 0));
    CU_ASSERT(once(destination.written,
        shape == COPY || shape == WRITE         ? n
            : shape == MODIFY || shape == STORE ? 8
                                                : 0));
    peet_count_static(b, PEET_COUNT_CALLGRIND, &counts);
    if (!(b->flags & PEET_BLOCK_SIMPLE))
        peet_count_dynamic(b, values, PEET_COUNT_CALLGRIND, &moving);
    uint64_t reads = shape == READ || shape == COPY ? elements
        : shape == COMPARE                          ? 2 * elements
                                                    : shape == MODIFY || shape == LOAD;
    uint64_t writes = shape == WRITE || shape == COPY ? elements : shape == MODIFY || shape == STORE;
    CU_ASSERT_EQUAL(counts.reads + moving.reads, reads);
    CU_ASSERT_EQUAL(counts.writes + moving.writes, writes);
    CU_ASSERT_EQUAL(counts.instructions + moving.instructions, shape >= READ ? 2 : 1);
}

static void test_references(void)
{
    struct peet_program *p;

    CU_ASSERT_EQUAL_FATAL(peet_program_new(&p), 0);
    for (unsigned what = 0; what < PEET_SYNTHETIC_COUNT; what++)
        for (unsigned n = 0; n < 300; n += n < 40 ? 1 : 37) {
            one(p, what, n);
            if (shapes[what] >= READ)
                one(p, what | PEET_SYNTHETIC_MORE, n);
        }
    peet_program_free(p);
}

static void test_identity(void)
{
    struct peet_program *p;
    uint32_t next = 0;

    CU_ASSERT_EQUAL_FATAL(peet_program_new(&p), 0);
    CU_ASSERT_PTR_NULL(peet_program_synthetic(p, PEET_SYNTHETIC_COUNT));
    CU_ASSERT_PTR_NULL(peet_program_synthetic(p, PEET_SYNTHETIC_LOCK_LOAD | PEET_SYNTHETIC_MORE));
    CU_ASSERT_EQUAL(peet_program_nfunctions(p), 0);
    for (unsigned k = PEET_SYNTHETIC_COUNT; k-- > 0;) {
        const struct peet_block *b = peet_program_synthetic(p, k);
        const struct peet_function *f;

        CU_ASSERT_PTR_NOT_NULL_FATAL(b);
        f = b->function;
        CU_ASSERT_EQUAL(b->id, next);
        CU_ASSERT(b == peet_program_synthetic(p, k)); /* once and for all */
        CU_ASSERT(b == &f->blocks[0]);
        CU_ASSERT(b->flags & PEET_BLOCK_ENTRY);
        if (shapes[k] >= READ) {
            CU_ASSERT(peet_program_synthetic(p, k | PEET_SYNTHETIC_MORE) == &f->blocks[1]);
            CU_ASSERT(!(f->blocks[1].flags & PEET_BLOCK_ENTRY));
        }
        next += f->nblocks;
        CU_ASSERT_EQUAL(f->id, peet_program_nfunctions(p) - 1);
        CU_ASSERT(peet_program_function(p, f->id, NULL) == f);
        CU_ASSERT_STRING_EQUAL(f->image, "peet");
        for (uint32_t i = 0; i < f->nblocks; i++) {
            CU_ASSERT(f->blocks[i].pc >= f->pc && f->blocks[i].pc + f->blocks[i].code_bytes <= f->pc + f->code_bytes);
            CU_ASSERT(f->code_bytes <= 64 && f->pc < 0x10000);
        }
    }
    CU_ASSERT_EQUAL(peet_program_nfunctions(p), PEET_SYNTHETIC_COUNT);
    peet_program_free(p);
}

int main(void)
{
    CU_initialize_registry();
    CU_pSuite suite = CU_add_suite("synthetic blocks", NULL, NULL);
    CU_add_test(suite, "references and counts", test_references);
    CU_add_test(suite, "ids and functions", test_identity);
    CU_basic_set_mode(CU_BRM_VERBOSE);
    CU_basic_run_tests();
    unsigned failed = CU_get_number_of_failures();
    CU_cleanup_registry();
    return failed ? 1 : 0;
}
