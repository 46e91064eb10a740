/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See parcel.h.  Invariants:
 *   1. Nothing here allocates by the C library: the stub of a check comes here, from wherever the program is, its own
 *      allocator perhaps.  A crate that is not full has room for whatever the codec makes of a block, so nothing is made
 *      longer.
 *   2. A parcel is whole before its crate counts it; until then the block that it is made of says the same.
 */
#include "plain/parcel.h"
#include "arch/x86_64/syscall.h"
#include "trace/codec.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

enum { MOST_WORDS = PEET__REAL_WORDS + PEET__REAL_SLACK, SPARE = 64, PAGE = 4096, PAGES_AT_ONCE = 4 };

struct peet__parcels {
    size_t bytes; /* of all this */
    struct peet__codec *codec;
    struct peet__bytes codes;
    size_t literals; /* bytes of the last parcel's */
};

static _Atomic(struct peet__parcels *) spare[SPARE];

_Static_assert(PEET__REAL_CRATE + sizeof(struct peet__real_parcel) + 8 +
            PEET__REAL_SLICES * sizeof(struct peet__real_slice) + PEET__CODES_ROOM((size_t)MOST_WORDS) +
            PEET__LITERALS_ROOM((size_t)MOST_WORDS) <=
        PEET__REAL_ROOM,
    "any parcel fits into a crate that is not full");

struct peet__parcels *peet__parcels_take(int fast)
{
    const size_t head = (sizeof(struct peet__parcels) + 63) & ~(size_t)63;
    const size_t codec = (peet__codec_bytes() + 63) & ~(size_t)63, ncodes = PEET__CODES_ROOM((size_t)MOST_WORDS);
    const size_t all = head + codec + ncodes;
    struct peet__parcels *p = NULL;
    long at;

    for (unsigned i = 0; i < SPARE && !p; i++)
        if (atomic_load(&spare[i]))
            p = atomic_exchange(&spare[i], NULL);
    if (!p) {
        at = peet__raw_syscall(SYS_mmap, 0, (long)all, PROT_READ | PROT_WRITE,
            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (at < 0 && at > -PAGE)
            return NULL;
        p = (struct peet__parcels *)at;
        p->bytes = all;
        p->codec = (struct peet__codec *)((char *)p + head);
        p->codes = (struct peet__bytes){(uint8_t *)p + head + codec, 0, ncodes};
    }
    peet__codec_init(p->codec, fast);
    return p;
}

void peet__parcels_give(struct peet__parcels *p)
{
    struct peet__parcels *none = NULL;

    for (unsigned i = 0; i < SPARE && p; i++, none = NULL)
        if (atomic_compare_exchange_strong(&spare[i], &none, p))
            p = NULL;
    if (p)
        peet__raw_syscall(SYS_munmap, (long)p, (long)p->bytes, 0, 0, 0, 0);
}

void peet__parcel_populate(struct peet__real_block *block, size_t bytes)
{
    const long some = PAGES_AT_ONCE * PAGE, from = (long)block & -PAGE;
    const long to = from + (((long)block - from + (long)bytes + some - 1) & -some), there = from + block->populated;

    if (to <= there)
        return;
    peet__raw_syscall(SYS_madvise, there, to - there, MADV_POPULATE_WRITE, 0, 0, 0);
    block->populated = (uint32_t)(to - from);
}

void peet__parcel_fill(struct peet__parcels *p, struct peet__real_block *crate, const struct peet__real_block *from,
    uint32_t words)
{
    const uint32_t n = atomic_load_explicit(&from->nslices, memory_order_relaxed);
    struct peet__real_parcel *const to = peet__real_parcel(crate, crate->used);
    uint8_t *const packed = (uint8_t *)&to->slices[n];
    struct peet__bytes literals = {packed, 0, PEET__LITERALS_ROOM((size_t)words)};

    /* as much as the last parcel took; what it takes more comes page by page */
    peet__parcel_populate(crate, (size_t)(packed - (uint8_t *)crate) + p->literals);
    p->codes.n = 0;
    peet__codec_encode(p->codec, from->words, words, &p->codes, &literals);
    p->literals = literals.n;
    peet__parcel_populate(crate, (size_t)(packed - (uint8_t *)crate) + literals.n + p->codes.n);
    memcpy(packed + literals.n, p->codes.at, p->codes.n); /* behind them: how many there will be is not known before */
    to->number = from->number;
    to->bytes = (uint32_t)((size_t)(packed - (uint8_t *)to) + literals.n + p->codes.n + 7) & ~7u;
    to->words = words;
    to->ncodes = (uint32_t)p->codes.n;
    to->nliterals = (uint32_t)literals.n;
    to->nslices = n;
    to->last = from->last;
    memcpy(to->slices, from->slices, n * sizeof *to->slices);
    crate->used += to->bytes;
    atomic_store(&crate->nparcels, atomic_load_explicit(&crate->nparcels, memory_order_relaxed) + 1);
}
