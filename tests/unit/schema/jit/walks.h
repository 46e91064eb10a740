/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What tests of blocks that are taken without events share: random walks over the blocks of real programs' functions,
 * with random words, and range operations of libraries among them; and a machine that wants up to three looks of each
 * block.
 */
#ifndef PEET_TEST_WALKS_H
#define PEET_TEST_WALKS_H

#include "decode/decode.h"
#include "program/parts.h"
#include "run_suite.h"

#include <peet/counting.h>
#include <peet/direct.h>
#include <peet/raw.h>

#include <stdlib.h>
#include <string.h>

enum { WORDS = 4000, ROUNDS = 40, LOG = 1 << 16, BLOCKS = 1 << 14, SHIFT = 6 };

static char **paths;
static int npaths;
static uint64_t seed = 88172645463325252u;
static uint64_t reach = 1 << 20; /* of most addresses */
static int gentle;               /* the machine refuses nothing, and no block takes long */
static int with_notes;           /* there are notes among the records */

static inline uint64_t number(uint64_t n)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (seed >> 11) % n;
}

static inline uint32_t nlooks(const struct peet_block *block)
{
    return block->nvalues < 3 ? block->nvalues : 3;
}

static inline int refused(const struct peet_block *block)
{
    return (!gentle && block->id % 5 == 0) || !(block->flags & PEET_BLOCK_SIMPLE);
}

/* What a line that is looked for takes. */
static inline uint64_t wait_of(uint64_t line)
{
    return line % 8 == 0 ? line % 512 : 0;
}

static inline uint64_t time_of(const struct peet_block *block)
{
    return !gentle && block->id % 3 == 0 ? (uint64_t)block->ninsns << 33 : block->id % 13 == 4 ? 0 : block->ninsns;
}

static const struct peet_block *known[BLOCKS];

/* What the machine wants of a block. */
static inline int ask(void *self, const struct peet_block *block, const uint64_t *values, struct peet_direct_block *out)
{
    (void)self, (void)values;
    CU_ASSERT_FATAL(block->id < BLOCKS);
    known[block->id] = block;
    if (refused(block))
        return -1;
    *out = (struct peet_direct_block){
        .time = time_of(block), .stamps = block->nrefs, .nlooks = (uint16_t)nlooks(block), .whole = block->id % 4 == 1};
    for (uint32_t k = 0; k < out->nlooks; k++)
        out->looks[k] = (struct peet_direct_look){.value = (uint16_t)k,
            .before = (uint16_t)(8 * k),
            .span = block->id % 2 ? 40 : 1,
            .last = (uint16_t)(k + 1),
            .later = k & 1,
            .either = block->id % 7 == 0,
            .site = block->id * 4 + k};
    return 0;
}

static inline uint64_t *range_record(uint64_t *at)
{
    static const unsigned what[] = {PEET_SYNTHETIC_MEMCPY, PEET_SYNTHETIC_MEMSET, PEET_SYNTHETIC_STRCMP,
        PEET_SYNTHETIC_STRLEN, PEET_SYNTHETIC_QSORT};
    at[0] = PEET_RAW_ABSTRACT(PEET_ABSTRACT_RANGE, 4);
    at[1] = what[number(5)] | (number(2) ? PEET_SYNTHETIC_MORE : 0);
    at[2] = 0x10000 + number(reach), at[3] = 0x10000 + number(reach);
    at[4] = number(4) ? number(40) : number(5000);
    return at + 5;
}

static inline uint64_t *note_record(uint64_t *at)
{
    const unsigned nargs = (unsigned)number(4);
    *at++ = PEET_RAW_ABSTRACT(PEET_ABSTRACT_MUTEX_LOCK + number(3), nargs);
    for (unsigned k = 0; k < nargs; k++)
        *at++ = number(2) ? number(UINT64_MAX) : (uint64_t)PEET_RAW_ABSTRACT(PEET_ABSTRACT_RANGE, 4);
    return at;
}

/* Records of one function, then of others: each begins with one that says where it is.  Returns: the end */
static inline uint64_t *walk(const struct peet_program *p, uint64_t *at, uint64_t *end)
{
    const struct peet__function *f = NULL;
    for (unsigned tries = 0; at < end - 300 && tries < 100000; tries++) {
        const int plain = f != NULL && number(12) != 0;
        while (number(8) == 0)
            at = with_notes && number(2) ? note_record(at) : range_record(at);
        if (!plain && number(3) == 0)
            f = NULL;
        if (f == NULL)
            f = p->functions[number(p->nfunctions)];
        if (f->nsegments == 0) { /* of library operations */
            f = NULL;
            continue;
        }
        const uint32_t k = (uint32_t)number(f->nsegments);
        const struct peet__block *const c = &f->code[k];
        if (c->loop || c->slot_words > 100 || !(plain ? c->recorded : c->sync)) {
            if (!plain)
                f = NULL;
            continue;
        }
        *at++ = plain ? 0xffffffff00000000u | (uint32_t)~k : f->start + f->sync_offset[k];
        for (uint32_t s = 0; s < c->slot_words; s++)
            *at++ = reach < 1 << 20 || number(4) ? 0x10000 + number(reach) : number(UINT64_MAX);
    }
    return at;
}

#endif
