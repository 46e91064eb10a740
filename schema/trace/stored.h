/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frames whose contents are stored as they are: for zstd's readers a frame of blocks that could not be compressed
 * (RFC 8878, 3.1.1).  Contents may stand in several places of memory and are not copied: what is packed by context
 * becomes hardly smaller by zstd, which reads and copies each byte all the same.
 */
#ifndef PEET_TRACE_STORED_H
#define PEET_TRACE_STORED_H

#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

/** A piece that stands elsewhere, before the byte @at of the contents that stand together. */
struct peet__lent {
    size_t at;
    const uint8_t *bytes;
    size_t n;
};

enum { PEET__STORED_PARTS = 512, PEET__STORED_HEADS = 64 };

/** A frame ready to be written. */
struct peet__stored {
    struct iovec parts[PEET__STORED_PARTS];
    int nparts;
    uint8_t heads[PEET__STORED_HEADS][3]; /* of its blocks */
    uint8_t first[64];                    /* what comes before them, and behind them the checksum */
    uint8_t last[4];
};

/**
 * peet__stored_frame() - make one
 * @raw: the nraw bytes that stand together
 * @lent: nlent pieces that belong among them, in their order; at most PEET__STORED_PARTS / 4, and so few bytes that
 * PEET__STORED_HEADS blocks of 128 KiB hold all
 */
void peet__stored_frame(struct peet__stored *stored, uint32_t nentries, const uint8_t *raw, size_t nraw,
    const struct peet__lent *lent, size_t nlent);

#endif
