/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The checksum of a function's schema record (format.h): made twice, and read in schema/reader.c.
 *
 * The compiler pass knows the payload, not yet the lengths and places that assembler and linker fill in; it leaves the
 * checksum of the payload.  peetcc replaces it after linking by the checksum of the whole record.  A reader accepts
 * either, so that a program that something other than peetcc has linked can still be read, with what the pass could
 * vouch for.
 *
 * The function is XXH64 (Yann Collet), which LLVM has, too.
 */
#ifndef PEET_CHECKSUM_H
#define PEET_CHECKSUM_H

#include "format.h"

#include <peet/raw.h>

#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

/** A record as its header describes it.  Borrowed from the section's bytes. */
struct peet__record {
    uint32_t version;
    size_t bytes;           /* of the record, its header included */
    const uint8_t *lengths; /* nlengths, then noffsets offsets of 4 bytes, then the payload until the record's end */
    uint32_t nlengths, noffsets;
    const uint8_t *payload;
};

/**
 * peet__record_at() - the record that begins at these bytes
 * @left: bytes from `p` to the end of the section
 * @out: set if the result is NULL, or if only the version is unknown: then nothing but version and bytes
 *
 * Returns: NULL, or what is wrong with it.
 */
static inline const char *peet__record_at(const uint8_t *p, size_t left, struct peet__record *out)
{
    uint32_t head[3], tables[2];
    if (left < PEET_FORMAT_HEADER_BYTES_3)
        return "no function record";
    memcpy(head, p, sizeof head);
    if (head[0] != PEET_FORMAT_MAGIC)
        return "no function record";
    size_t header = head[2] >= 4 ? PEET_FORMAT_HEADER_BYTES : PEET_FORMAT_HEADER_BYTES_3;
    out->bytes = 8 + (size_t)head[1];
    out->version = head[2];
    if (out->bytes > left || out->bytes < header)
        return "record that is longer than its section";
    memcpy(tables, p + PEET_FORMAT_TABLES_AT, sizeof tables);
    out->nlengths = tables[0];
    out->noffsets = tables[1];
    if (header + (uint64_t)out->nlengths + 4 * (uint64_t)out->noffsets > out->bytes)
        return "tables that are longer than their record";
    out->lengths = p + header;
    out->payload = out->lengths + out->nlengths + 4 * (size_t)out->noffsets;
    return NULL;
}

/** What the pass leaves: the checksum of the payload. */
static inline uint64_t peet__record_payload_sum(const uint8_t *p, const struct peet__record *r)
{
    return XXH64(r->payload, (size_t)(p + r->bytes - r->payload), 0);
}

/** What peetcc leaves: the checksum of all but the checksum. */
static inline uint64_t peet__record_sum(const uint8_t *p, const struct peet__record *r)
{
    return XXH64(p + PEET_FORMAT_HEADER_BYTES, r->bytes - PEET_FORMAT_HEADER_BYTES, XXH64(p, PEET_FORMAT_SUM_AT, 0));
}

/** The checksum that the record carries.  Versions before 4 carry none. */
static inline uint64_t peet__record_carried_sum(const uint8_t *p)
{
    uint64_t sum;
    memcpy(&sum, p + PEET_FORMAT_SUM_AT, sizeof sum);
    return sum;
}

#endif
