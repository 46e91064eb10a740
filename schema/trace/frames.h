/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The layout of a recording's file, for its writer (recorder.c) and its reader (recording.c).  All numbers are
 * little-endian.
 *
 *   file    = head frame* [index trailer]
 *   head    = {HEAD, 8, "PEETTRC1"}                            a skippable frame of zstd's
 *   frame   = {FRAME, 16, compressed, raw, nentries, 0} zstd   a skippable frame, then a frame of zstd's with a
 *                                                              checksum
 *   index   = as a frame, with INDEX: its entries are all entries of the file, each behind the offset of its frame
 *   trailer = {TRAILER, 16, offset of the index, "PEETEND1"}
 *
 * Thus the file is a valid zstd stream.  What a frame decompresses to begins with its entries; entry.offset counts from
 * there.
 */
#ifndef PEET_TRACE_FRAMES_H
#define PEET_TRACE_FRAMES_H

#include <stdint.h>

#define PEET__HEAD_MAGIC "PEETTRC1"
#define PEET__TRAILER_MAGIC "PEETEND1"
enum { PEET__HEAD = 0x184D2A50, PEET__FRAME, PEET__INDEX, PEET__TRAILER };
enum { PEET__HEAD_BYTES = 16, PEET__FRAME_HEAD_BYTES = 24, PEET__TRAILER_BYTES = 24 };

enum peet__entry_kind {
    PEET__ENTRY_DESCRIPTION = 1, /* JSON text */
    PEET__ENTRY_ENDING,          /* JSON text */
    PEET__ENTRY_IMAGE,           /* bias lo hi tls_offset late size (words), path */
    PEET__ENTRY_IMAGE_BYTES,     /* of image `stream`, from byte `first` */
    PEET__ENTRY_STREAM,          /* struct peet_stream_info */
    PEET__ENTRY_CHUNK,           /* of `stream`, from word `first` */
    PEET__ENTRY_EARLY,           /* words */
    PEET__ENTRY_ANSWERS,         /* struct peet_recorded_answer, each */
    PEET__ENTRY_CODE,            /* blocks as code_parts.h has them */
    PEET__ENTRY_STATE,           /* of the decoder (decode/state.c), of `stream`, before word `first`: words */
    PEET__ENTRY_PATHS,           /* of foreign code, as paths.h has them */
};

struct peet__entry {
    uint32_t kind, stream; /* enum peet__entry_kind; of an image: its number */
    uint64_t first, instructions, cycle;
    uint32_t offset, bytes;
    uint32_t slices, reserved;
};
_Static_assert(sizeof(struct peet__entry) == 48, "entries are written as they are");

/** An entry of the index. */
struct peet__indexed {
    uint64_t frame; /* its frame's offset in the file */
    struct peet__entry entry;
};
_Static_assert(sizeof(struct peet__indexed) == 56, "entries are written as they are");

/** A chunk: its head, then slices, codes and literals (codec.h).  Each slice is {number of words * 4 + why, result,
 * cycles since the slice before}. */
struct peet__chunk_head {
    uint32_t slices, words, slices_bytes, codes_bytes, literals_bytes;
};

/* A chunk has one slice at least.  A slice is as a rule what a context writes between two checks, but the words of a
 * context that must not be left come together. */
#define PEET__CHUNK_WORDS_MAX (64u << 20)

/* No frame decompresses to more.  A slice is at most what a context writes between two checks, with its notes. */
#define PEET__RAW_BYTES_MAX (256u << 20)

#endif
