/* SPDX-License-Identifier: Apache-2.0 */
/* See stored.h. */
#include "trace/stored.h"
#include "trace/frames.h"

#define XXH_INLINE_ALL
#include <string.h>
#include <xxhash.h>

enum {
    BLOCK_BYTES = 128 << 10, /* zstd's most */
    HEAD_BYTES = 9,          /* of zstd's frame: */
    DESCRIPTOR = 0xa4        /* its size follows in four bytes, there is a checksum, and no dictionary */
};
#define MAGIC 0xfd2fb528u

/** What is being made. */
struct maker {
    struct peet__stored *stored;
    XXH64_state_t sum;
    size_t left;  /* bytes of the contents that have no part yet, */
    size_t block; /* and of the block that is being made */
    int nblocks;
};

static void add_part(struct peet__stored *s, const void *bytes, size_t n)
{
    s->parts[s->nparts++] = (struct iovec){(void *)(uintptr_t)bytes, n};
}

static void begin_block(struct maker *m)
{
    uint8_t *head = m->stored->heads[m->nblocks++];
    uint32_t number;

    m->block = m->left < BLOCK_BYTES ? m->left : BLOCK_BYTES;
    number = (uint32_t)m->block << 3 | (m->block == m->left); /* of type 0: stored; the lowest bit: it is the last */
    memcpy(head, &number, 3);
    add_part(m->stored, head, 3);
}

static void add_bytes(struct maker *m, const uint8_t *bytes, size_t n)
{
    XXH64_update(&m->sum, bytes, n);
    while (n) {
        size_t some;

        if (!m->block)
            begin_block(m);
        some = n < m->block ? n : m->block;
        add_part(m->stored, bytes, some);
        bytes += some;
        n -= some;
        m->block -= some;
        m->left -= some;
    }
}

void peet__stored_frame(struct peet__stored *s, uint32_t nentries, const uint8_t *raw, size_t nraw,
    const struct peet__lent *lent, size_t nlent)
{
    struct maker m = {.stored = s, .left = nraw};
    uint32_t *head = (uint32_t *)(void *)s->first, zstd[] = {MAGIC, 0};
    size_t at = 0;

    for (size_t i = 0; i < nlent; i++)
        m.left += lent[i].n;
    zstd[1] = (uint32_t)m.left;
    s->nparts = 0;
    head[0] = PEET__FRAME;
    head[1] = 16;
    head[2] = (uint32_t)(HEAD_BYTES + m.left + 3 * ((m.left + BLOCK_BYTES - 1) / BLOCK_BYTES) + sizeof s->last);
    head[3] = zstd[1];
    head[4] = nentries;
    head[5] = 0;
    memcpy(s->first + PEET__FRAME_HEAD_BYTES, &zstd[0], 4);
    s->first[PEET__FRAME_HEAD_BYTES + 4] = DESCRIPTOR;
    memcpy(s->first + PEET__FRAME_HEAD_BYTES + 5, &zstd[1], 4);
    add_part(s, s->first, PEET__FRAME_HEAD_BYTES + HEAD_BYTES);
    XXH64_reset(&m.sum, 0);
    for (size_t i = 0; i < nlent; i++) {
        add_bytes(&m, raw + at, lent[i].at - at);
        add_bytes(&m, lent[i].bytes, lent[i].n);
        at = lent[i].at;
    }
    add_bytes(&m, raw + at, nraw - at);
    zstd[0] = (uint32_t)XXH64_digest(&m.sum);
    memcpy(s->last, zstd, sizeof s->last);
    add_part(s, s->last, sizeof s->last);
}
