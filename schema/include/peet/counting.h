/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counting instructions, reads and writes of executed blocks: as Valgrind's callgrind counts them (its
 * conventions were found by experiment, see docs/COUNTING.md), or plainly.  Used by the mapper for
 * the totals and by observers; both add up static counts times executions, and what varies.
 */
#ifndef PEET_COUNTING_H
#define PEET_COUNTING_H

#include <peet/module.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

enum peet_convention {
    PEET_COUNT_CALLGRIND,
    PEET_COUNT_PLAIN, /* one instruction is one; a modify is a read and a write; lanes count if they happen */
};

struct peet_counts {
    uint64_t instructions, reads, writes;
};

static inline int peet__count_is(const struct peet_block *block, const struct peet_ref *ref, const char *word)
{
    return strstr(block->insns[ref->insn].opcode->name, word) != NULL;
}

/** callgrind loads every lane of a gather, from elsewhere if it is masked off; of sixteen bytes under a mask it always
 *  sees one store, of what was there where the mask is off. */
static inline int peet__count_always(const struct peet_block *block, const struct peet_ref *ref,
    enum peet_convention how)
{
    return how == PEET_COUNT_CALLGRIND &&
        (peet__count_is(block, ref, "GATHER") || peet__count_is(block, ref, "MASKMOVDQU"));
}

/** How many loads callgrind sees in one: Valgrind splits some vector loads into their elements or halves. */
static inline uint64_t peet__count_split(const struct peet_block *block, const struct peet_ref *ref)
{
    const char *name = block->insns[ref->insn].opcode->name;

    if (name[0] != 'V' && name[0] != 'C') /* soon said of what comes most: string instructions */
        return 1;
    if (strncmp(name, "VFM", 3) == 0 || strncmp(name, "VFNM", 4) == 0)
        return strstr(name, "PS") ? ref->size_bytes / 4u : strstr(name, "PD") ? ref->size_bytes / 8u : 1;
    if (strstr(name, "CVTPS2PD"))
        return ref->size_bytes / 4u;
    return strncmp(name, "VMOVDDUPY", 9) == 0 || strncmp(name, "VPERM2F128", 10) == 0 ||
            strncmp(name, "VPERM2I128", 10) == 0
        ? 2
        : 1;
}

/** One happening of a reference. */
static inline void peet__count_ref(const struct peet_block *block, const struct peet_ref *ref, enum peet_convention how,
    uint64_t times, struct peet_counts *counts)
{
    switch (ref->kind) {
    case PEET_REF_LOAD:
        counts->reads += how == PEET_COUNT_CALLGRIND ? times * peet__count_split(block, ref) : times;
        break;
    case PEET_REF_STORE:
        counts->writes += times;
        break;
    case PEET_REF_MODIFY:
        /* callgrind folds a load and the store to the same address into one write; a locked one is a
         * load followed by a compare-and-swap, which is a write again; cmpxchg is the latter alone.
         * (C's relaxed atomics may be compiled to unlocked instructions: the reference's flag does not say.) */
        counts->writes += times;
        if (how == PEET_COUNT_PLAIN ||
            (block->insns[ref->insn].opcode->klass == PEET_INSN_ATOMIC && !peet__count_is(block, ref, "CMPXCHG")))
            counts->reads += times;
        break;
    default:
        break;
    }
}

/** Valgrind tests a bit of a register, by the number in another, in memory: it writes the register below the
 *  stack and reads a byte of it, or modifies that and reads the register back. */
static inline void peet__count_bit_tests(const struct peet_block *block, struct peet_counts *counts)
{
    for (uint32_t i = 0; block->insns && i < block->ninsns; i++) {
        const char *name = block->insns[i].opcode->name;

        if (name[0] != 'B' || name[1] != 'T' || !strstr(name, "rr"))
            continue;
        counts->writes += name[2] >= '0' && name[2] <= '9' ? 1 : 2; /* BT64rr; BTS, BTR, BTC */
        counts->reads++;
    }
}

/** peet_count_static() - what every execution of a block counts, added to @counts */
static inline void peet_count_static(const struct peet_block *block, enum peet_convention how,
    struct peet_counts *counts)
{
    counts->instructions += block->ninsns;
    if (how == PEET_COUNT_CALLGRIND)
        peet__count_bit_tests(block, counts);
    for (uint32_t i = 0; i < block->nrefs; i++) {
        const struct peet_ref *ref = &block->refs[i];

        if (ref->flags & PEET_REF_RANGE)
            continue;
        if ((ref->flags & PEET_REF_CONDITIONAL) && !peet__count_always(block, ref, how))
            continue;
        peet__count_ref(block, ref, how, 1, counts);
    }
}

/**
 * peet_count_dynamic() - what this execution of a block counts beyond the static part, added to @counts
 * Needed for blocks without PEET_BLOCK_SIMPLE only.
 */
static inline void peet_count_dynamic(const struct peet_block *block, const uint64_t *values, enum peet_convention how,
    struct peet_counts *counts)
{
    uint32_t repeated = UINT32_MAX;

    for (uint32_t i = 0; i < block->nrefs; i++) {
        const struct peet_ref *ref = &block->refs[i];
        uint64_t times;

        if (!(ref->flags & (PEET_REF_RANGE | PEET_REF_CONDITIONAL)))
            continue;
        times = values[ref->value + 1];
        if (ref->flags & PEET_REF_RANGE) {
            peet__count_ref(block, ref, how, times, counts);
            /* each round of a rep is an instruction, and so is the look that finds no more to do; ranges of libraries
             * (image "peet") are one instruction each, whatever their length */
            if (how == PEET_COUNT_CALLGRIND && ref->insn != repeated && block->insns[ref->insn].flags & PEET_INSN_REP)
                counts->instructions += times;
            repeated = ref->insn;
        } else if (how == PEET_COUNT_PLAIN) {
            peet__count_ref(block, ref, how, times != 0, counts);
        } else if (!peet__count_always(block, ref, how)) {
            /* callgrind 3.19 books a guarded access as an instruction instead of a read or write */
            counts->instructions += times != 0;
        }
    }
}

#ifdef __cplusplus
}
#endif
#endif
