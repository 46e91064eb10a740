/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writing a recording.  Slices wait in memory, stream by stream, until a stream has a chunk's worth, or all of them
 * together have too many, or a second has passed, or the file has grown by an eighth (a disk may fill at any time, and
 * a thread's words are worth nothing without those of who made it); then they are predicted (codec.c) into the payload
 * of the frame that is being made.  A payload that is large enough becomes a frame.  A frame is written by one call; if that fails, the
 * file is cut back to the frame before.
 */
#include "trace/codec_parts.h"
#include "trace/frames.h"
#include "trace/stored.h"
#include "trace/recording.h"
#include "whole.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <zstd.h>

enum {
    CHUNK_WORDS = 64 * 1024,      /* 512 KiB */
    LONG_SLICE = CHUNK_WORDS / 8, /* a chunk of its own: codec.c learns a program's loops from a few thousand words */
    PENDING_WORDS = 2 * 1024 * 1024, /* of all streams: 16 MiB */
    PAYLOAD_BYTES = 256 * 1024,      /* predicted: as a rule some megabytes of words */
    /* zstd's levels for a trace of level 0, from small to fast.  Of words that were foreseen, FASTEST takes a third of
     * the time of SMALL and leaves twice the bytes; of others, HURRIED half of the time of FASTEST, and 3 % more. */
    SMALL_LEVEL = -50,
    FASTEST_LEVEL = -1000,
    HURRIED_LEVEL = -10000,
    ENTRIES_BYTES = PAYLOAD_BYTES + sizeof(struct peet__entry), /* at most, of a frame */
    LENT_BYTES = 4096, /* of packed words are worth being written from where they are, */
    LENT_BYTES_MOST = 1 << 20,
    LENT_MOST = 128, /* pieces in a frame */
    IMAGE_PIECE_BYTES = 1 << 20,
    AHEAD_BYTES = 32 << 20,
    FLUSH_SHARE = 8, /* that part of the file, at most, is without what others had done in the meantime */
    FLUSH_LEAST_BYTES = 64 * 1024,
    FIRST_FD = 900, /* the subject's own files keep their numbers */
};

struct waiting {
    struct waiting *next; /* in the pool */
    uint64_t *words;
    size_t n, room, slices;
    struct peet__bytes lines; /* the slices' numbers */
    uint64_t first, instructions, cycle, last_cycle;
};

struct peet_recorder {
    char *path;
    struct peet_whole *whole; /* of a file that appears when it is whole; else NULL */
    int fd, level, err;
    char message[300];
    uint64_t bytes, nstreams, nimages, pending, slices, words;
    uint64_t ahead; /* the disk has blocks up to there */
    struct waiting **streams, *pool;
    uint32_t streams_room;
    struct peet__codec *codec;
    struct peet__bytes codes, literals;
    struct peet__bytes data;           /* of the frame under way, behind ENTRIES_BYTES for its entries, */
    size_t by_context, by_distance;    /* bytes of words in it that are encoded so, */
    struct peet__lent lent[LENT_MOST]; /* pieces that stand elsewhere, */
    size_t nlent, lent_bytes;
    struct peet__entry *entries; /* and its entries */
    size_t nentries, entries_room;
    struct peet__bytes index;
    struct peet__bytes out; /* of the frame that is written */
    ZSTD_CCtx *zstd;
    struct timespec flushed;
    uint64_t flush_at; /* a file that long is flushed, so that what waits is young by the file's length, too */
};

static int fail(struct peet_recorder *r, int err, const char *what)
{
    if (!r->err) {
        r->err = err;
        snprintf(r->message, sizeof r->message, "%s", what);
    }
    return r->err;
}

static int no_memory(struct peet_recorder *r)
{
    return fail(r, PEET_ENOMEM, "out of memory for the trace");
}

/* ----------------------------------------------------------------------------------------- frames */

/** Blocks of the disk for what comes, many at once: each page of a large file then costs the kernel less.  Where that
 * cannot be, writing itself will say so. */
static void make_room_ahead(struct peet_recorder *r)
{
    if (r->bytes < AHEAD_BYTES || r->bytes + AHEAD_BYTES / 2 < r->ahead)
        return;
    r->ahead = r->bytes + AHEAD_BYTES;
    fallocate(r->fd, FALLOC_FL_KEEP_SIZE, (off_t)r->bytes, AHEAD_BYTES);
}

/** Writes pieces one behind the other, all of them or none.  Changes @parts. */
static int write_parts(struct peet_recorder *r, struct iovec *parts, int n)
{
    const uint64_t before = r->bytes;

    make_room_ahead(r);
    while (n) {
        const ssize_t done = writev(r->fd, parts, n);
        const int why = errno;
        size_t left = done > 0 ? (size_t)done : 0;
        char text[200];

        if (done < 0 && why == EINTR)
            continue;
        if (done <= 0) {
            snprintf(text, sizeof text, "cannot write the trace: %s%s", strerror(done ? why : ENOSPC),
                r->whole ? "" : "; what was written until then can be read");
            if (ftruncate(r->fd, (off_t)before) == 0)
                r->bytes = before;
            return fail(r, PEET_EIO, text);
        }
        r->bytes += left;
        for (; n && left >= parts->iov_len; n--)
            left -= parts++->iov_len;
        if (n) {
            parts->iov_base = (uint8_t *)parts->iov_base + left;
            parts->iov_len -= left;
        }
    }
    return 0;
}

static int write_all(struct peet_recorder *r, const void *from, size_t n)
{
    return write_parts(r, &(struct iovec){(void *)(uintptr_t)from, n}, 1);
}

/** A frame, or the index, from its decompressed contents. */
static int put_frame(struct peet_recorder *r, uint32_t tag, size_t nentries, const uint8_t *raw, size_t nraw)
{
    const size_t bound = ZSTD_compressBound(nraw);
    uint32_t head[PEET__FRAME_HEAD_BYTES / 4] = {tag, 16, 0, (uint32_t)nraw, (uint32_t)nentries, 0};
    size_t n;

    r->out.n = 0;
    if (peet__bytes_reserve(&r->out, sizeof head + bound))
        return no_memory(r);
    if (!r->level)
        ZSTD_CCtx_setParameter(r->zstd, ZSTD_c_compressionLevel,
            2 * r->by_context > nraw        ? HURRIED_LEVEL
                : 2 * r->by_distance > nraw ? FASTEST_LEVEL
                                            : SMALL_LEVEL);
    n = ZSTD_compress2(r->zstd, r->out.at + sizeof head, bound, raw, nraw);
    if (ZSTD_isError(n))
        return fail(r, PEET_ENOMEM, ZSTD_getErrorName(n));
    head[2] = (uint32_t)n;
    memcpy(r->out.at, head, sizeof head);
    return write_all(r, r->out.at, sizeof head + n);
}

/** A frame with pieces that stand elsewhere.  zstd would hardly make it smaller. */
static int put_stored(struct peet_recorder *r, const uint8_t *raw, size_t nraw)
{
    struct peet__stored stored;

    peet__stored_frame(&stored, (uint32_t)r->nentries, raw, nraw, r->lent, r->nlent);
    return write_parts(r, stored.parts, stored.nparts);
}

static size_t data_bytes(const struct peet_recorder *r)
{
    return r->data.n - ENTRIES_BYTES + r->lent_bytes;
}

static int end_frame(struct peet_recorder *r)
{
    const uint64_t offset = r->bytes;
    const size_t bytes = r->nentries * sizeof *r->entries;
    uint8_t *const raw = r->data.at + ENTRIES_BYTES - bytes;
    const size_t nraw = bytes + r->data.n - ENTRIES_BYTES;

    if (r->err || !r->nentries)
        return r->err;
    for (size_t i = 0; i < r->nentries; i++) {
        r->entries[i].offset += (uint32_t)bytes;
        if (peet__bytes_add(&r->index, &(struct peet__indexed){offset, r->entries[i]}, sizeof(struct peet__indexed)))
            return no_memory(r);
    }
    for (size_t i = 0; i < r->nlent; i++)
        r->lent[i].at -= ENTRIES_BYTES - bytes;
    memcpy(raw, r->entries, bytes); /* the data itself is not copied: there is much */
    if (r->nlent ? put_stored(r, raw, nraw) : put_frame(r, PEET__FRAME, r->nentries, raw, nraw)) {
        r->index.n -= r->nentries * sizeof(struct peet__indexed);
        return r->err;
    }
    r->nentries = r->nlent = r->lent_bytes = 0;
    r->data.n = ENTRIES_BYTES;
    r->by_context = r->by_distance = 0;
    return 0;
}

/** What has been appended to the data since it had @from bytes is an entry. */
static int add_entry(struct peet_recorder *r, struct peet__entry entry, size_t from)
{
    struct peet__entry *more;

    if (r->nentries == r->entries_room) {
        const size_t room = r->entries_room ? 2 * r->entries_room : 64;

        if (!(more = realloc(r->entries, room * sizeof *more)))
            return no_memory(r);
        r->entries = more;
        r->entries_room = room;
    }
    entry.offset = (uint32_t)from;
    entry.bytes = (uint32_t)(data_bytes(r) - from);
    r->entries[r->nentries++] = entry;
    return data_bytes(r) + r->nentries * sizeof entry >= PAYLOAD_BYTES ? end_frame(r) : 0;
}

/** So many bytes are to be copied to the data: many are for zstd, and do not go among pieces that are only stored. */
static int make_way(struct peet_recorder *r, size_t n)
{
    return r->nlent && n > LENT_BYTES ? end_frame(r) : r->err;
}

static int add_data(struct peet_recorder *r, struct peet__entry entry, const void *bytes, size_t n)
{
    size_t from;

    if (make_way(r, n))
        return r->err;
    from = data_bytes(r);
    if (peet__bytes_add(&r->data, bytes, n))
        return no_memory(r);
    return add_entry(r, entry, from);
}

/* ---------------------------------------------------------------------------------------- streams */

/** Append a piece to the data: a copy, or only where it stands. */
static int add_piece(struct peet_recorder *r, const uint8_t *bytes, size_t n, int lent)
{
    if (!lent)
        return peet__bytes_add(&r->data, bytes, n);
    r->lent[r->nlent++] = (struct peet__lent){r->data.n, bytes, n};
    r->lent_bytes += n;
    return 0;
}

/** Are packed words to be written from where they stand?  What zstd may make smaller goes into a frame of its own before. */
static int is_lent(struct peet_recorder *r, const struct peet_packed_words *packed)
{
    const size_t n = packed->ncodes + packed->nliterals;

    if (r->level || !packed->stays || n < LENT_BYTES || n > LENT_BYTES_MOST) {
        make_way(r, n);
        return 0;
    }
    if ((!r->nlent && data_bytes(r) > LENT_BYTES) || r->nlent + 2 > LENT_MOST)
        end_frame(r);
    return !r->err;
}

/** The slices of a stream that are not in a chunk yet become one.  @packed: their words */
static int put_chunk(struct peet_recorder *r, uint32_t stream, const struct peet_packed_words *packed)
{
    const int lent = is_lent(r, packed);
    struct waiting *w = r->streams[stream];
    const struct peet__chunk_head head = {.slices = (uint32_t)w->slices,
        .words = (uint32_t)packed->n,
        .slices_bytes = (uint32_t)w->lines.n,
        .codes_bytes = (uint32_t)packed->ncodes,
        .literals_bytes = (uint32_t)packed->nliterals};
    const struct peet__entry entry = {.kind = PEET__ENTRY_CHUNK,
        .stream = stream,
        .first = w->first,
        .instructions = w->instructions,
        .cycle = w->cycle,
        .slices = head.slices};
    const size_t from = data_bytes(r);

    if (r->err)
        return r->err;
    if (peet__bytes_add(&r->data, &head, sizeof head) || peet__bytes_add(&r->data, w->lines.at, w->lines.n) ||
        add_piece(r, packed->codes, packed->ncodes, lent) || add_piece(r, packed->literals, packed->nliterals, lent))
        return no_memory(r);
    if (packed->ncodes)
        *(*packed->codes == PEET__BY_CONTEXT ? &r->by_context : &r->by_distance) += packed->ncodes + packed->nliterals;
    w->first += packed->n;
    w->slices = w->lines.n = 0;
    return add_entry(r, entry, from);
}

static int put_words(struct peet_recorder *r, uint32_t stream, const uint64_t *words, size_t n)
{
    r->codes.n = r->literals.n = 0;
    if (peet__codec_encode(r->codec, words, n, &r->codes, &r->literals))
        return no_memory(r);
    return put_chunk(r, stream,
        &(struct peet_packed_words){.n = n,
            .codes = r->codes.at,
            .literals = r->literals.at,
            .ncodes = r->codes.n,
            .nliterals = r->literals.n});
}

static int end_chunk(struct peet_recorder *r, uint32_t stream)
{
    struct waiting *w = r->streams[stream];
    const size_t n = w->n;

    if (r->err || !w->slices)
        return r->err;
    r->pending -= n;
    w->n = 0;
    return put_words(r, stream, w->words, n);
}

int peet_recorder_flush(struct peet_recorder *r)
{
    clock_gettime(CLOCK_MONOTONIC_COARSE, &r->flushed);
    for (uint64_t i = 0; i < r->nstreams && !r->err; i++)
        if (r->streams[i])
            end_chunk(r, (uint32_t)i);
    end_frame(r);
    r->flush_at = r->bytes + r->bytes / FLUSH_SHARE + FLUSH_LEAST_BYTES;
    return r->err;
}

int peet_recorder_stream(struct peet_recorder *r, const struct peet_stream_info *info, uint32_t *out_stream)
{
    struct waiting *w = r->pool;

    *out_stream = (uint32_t)r->nstreams;
    if (r->err)
        return r->err;
    if (r->nstreams == UINT32_MAX)
        return fail(r, PEET_ELIMIT, "more than 4294967295 contexts in one trace");
    if (r->nstreams == r->streams_room) {
        const uint32_t room = r->streams_room ? 2 * r->streams_room : 64;
        struct waiting **more = realloc(r->streams, room * sizeof *more);

        if (!more)
            return no_memory(r);
        r->streams = more;
        r->streams_room = room;
    }
    if (w)
        r->pool = w->next;
    else if (!(w = calloc(1, sizeof *w)))
        return no_memory(r);
    w->n = w->slices = w->lines.n = 0;
    w->first = w->instructions = w->cycle = w->last_cycle = 0;
    r->streams[r->nstreams++] = w;
    return add_data(r, (struct peet__entry){.kind = PEET__ENTRY_STREAM, .stream = *out_stream}, info, sizeof *info);
}

/** The time that a kill may cost. */
static int is_late(struct peet_recorder *r)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return now.tv_sec > r->flushed.tv_sec + 1;
}

/** Room for the words of another slice among those that wait. */
static int make_room(struct peet_recorder *r, struct waiting *w, size_t n)
{
    size_t room = w->room ? w->room : 64;
    uint64_t *more;

    if (w->room >= w->n + n)
        return 0;
    while (room < w->n + n)
        room *= 2;
    if (!(more = realloc(w->words, room * sizeof *more)))
        return no_memory(r);
    w->words = more;
    w->room = room;
    return 0;
}

/** What a slice is, but for its words. */
static int add_line(struct peet_recorder *r, struct waiting *w, const struct peet_slice *slice, uint64_t instructions)
{
    if (!w->slices) {
        w->instructions = instructions;
        w->cycle = w->last_cycle = slice->cycle;
    }
    if (peet__bytes_number(&w->lines, (uint64_t)slice->n << 2 | slice->why) ||
        peet__bytes_number(&w->lines, slice->result) || peet__bytes_number(&w->lines, slice->cycle - w->last_cycle))
        return no_memory(r);
    w->last_cycle = slice->cycle;
    w->slices++;
    r->words += slice->n;
    r->slices++;
    return 0;
}

static int flush_now_and_then(struct peet_recorder *r, int long_slice)
{
    if (r->pending >= PENDING_WORDS || r->bytes >= r->flush_at || ((long_slice || r->slices % 64 == 0) && is_late(r)))
        peet_recorder_flush(r);
    return r->err;
}

int peet_recorder_slice(struct peet_recorder *r, uint32_t stream, const struct peet_slice *slice, uint64_t instructions)
{
    struct waiting *w = r->streams[stream];

    if (r->err || !w)
        return r->err;
    if (slice->n > PEET__CHUNK_WORDS_MAX)
        return fail(r, PEET_ELIMIT, "a context has written more words at once than a trace can hold");
    if ((w->n + slice->n > PEET__CHUNK_WORDS_MAX && end_chunk(r, stream)) || add_line(r, w, slice, instructions))
        return r->err;
    if (!w->n && slice->n >= PEET_RECORDER_LONG_SLICE) { /* it need not wait, and is not copied */
        put_words(r, stream, slice->words, slice->n);
    } else if (make_room(r, w, slice->n) == 0) {
        if (slice->n)
            memcpy(w->words + w->n, slice->words, slice->n * sizeof *slice->words);
        w->n += slice->n;
        r->pending += slice->n;
        if (w->n >= CHUNK_WORDS || w->slices >= CHUNK_WORDS)
            end_chunk(r, stream);
    }
    return flush_now_and_then(r, slice->n >= PEET_RECORDER_LONG_SLICE);
}

int peet_recorder_packed_slices(struct peet_recorder *r, uint32_t stream, const struct peet_slice *slices, size_t n,
    uint64_t instructions, const struct peet_packed_words *packed)
{
    struct waiting *w = r->streams[stream];

    if (r->err || !w || (w->n && end_chunk(r, stream)))
        return r->err;
    for (size_t i = 0; i < n; i++)
        if (add_line(r, w, &slices[i], instructions))
            return r->err;
    put_chunk(r, stream, packed);
    return flush_now_and_then(r, 1);
}

int peet_recorder_settle(struct peet_recorder *r)
{
    return r->nlent ? end_frame(r) : r->err;
}

/* -------------------------------------------------------------------------------- packing elsewhere */

struct peet_packer {
    struct peet__codec *codec;
    struct peet__bytes codes, literals;
};

int peet_packer_new(int fast, struct peet_packer **out_packer)
{
    struct peet_packer *p = *out_packer = calloc(1, sizeof *p);

    if (p && peet__codec_new(fast, &p->codec) == 0)
        return 0;
    free(p);
    *out_packer = NULL;
    return PEET_ENOMEM;
}

void peet_packer_free(struct peet_packer *p)
{
    if (!p)
        return;
    peet__codec_free(p->codec);
    peet__bytes_fini(&p->codes);
    peet__bytes_fini(&p->literals);
    free(p);
}

int peet_pack(struct peet_packer *p, const uint64_t *words, size_t n, struct peet_packed_words *out_packed)
{
    p->codes.n = p->literals.n = 0;
    if (n > PEET__CHUNK_WORDS_MAX)
        return PEET_ELIMIT;
    if (peet__codec_encode(p->codec, words, n, &p->codes, &p->literals))
        return PEET_ENOMEM;
    *out_packed = (struct peet_packed_words){
        .n = n, .codes = p->codes.at, .literals = p->literals.at, .ncodes = p->codes.n, .nliterals = p->literals.n};
    return 0;
}

size_t peet_pack_bytes(size_t n)
{
    return PEET__CODES_ROOM(n) + PEET__LITERALS_ROOM(n);
}

void peet_pack_at(struct peet_packer *p, const uint64_t *words, size_t n, uint8_t *to,
    struct peet_packed_words *out_packed)
{
    struct peet__bytes codes = {to, 0, PEET__CODES_ROOM(n)};
    struct peet__bytes literals = {to + codes.room, 0, PEET__LITERALS_ROOM(n)};

    peet__codec_encode(p->codec, words, n, &codes, &literals);
    *out_packed = (struct peet_packed_words){
        .n = n, .codes = codes.at, .literals = literals.at, .ncodes = codes.n, .nliterals = literals.n};
}

int peet_unpack(struct peet_packer *p, const struct peet_packed_words *packed, uint64_t *out_words)
{
    return peet__codec_decode(p->codec, packed->codes, packed->ncodes, packed->literals, packed->nliterals, out_words,
        packed->n);
}

int peet_recorder_state(struct peet_recorder *r, uint32_t stream, const uint64_t *words, size_t n,
    uint64_t instructions)
{
    const struct waiting *w = r->streams[stream];

    if (r->err || !w || end_chunk(r, stream))
        return r->err;
    return add_data(r,
        (struct peet__entry){
            .kind = PEET__ENTRY_STATE, .stream = stream, .first = w->first, .instructions = instructions},
        words, n * sizeof *words);
}

int peet_recorder_end(struct peet_recorder *r, uint32_t stream)
{
    struct waiting *w = r->streams[stream];

    if (!w)
        return r->err;
    end_chunk(r, stream);
    if (w->room > CHUNK_WORDS / 16) { /* few are large: the memory goes to whoever needs it */
        free(w->words);
        w->words = NULL;
        w->room = 0;
    }
    r->streams[stream] = NULL;
    w->next = r->pool;
    r->pool = w;
    return r->err;
}

/* --------------------------------------------------------------------------------- everything else */

int peet_recorder_image(struct peet_recorder *r, const struct peet_recorded_image *image)
{
    const uint64_t numbers[] = {image->bias, image->lo, image->hi, image->tls_offset, image->late, image->nbytes};
    const uint32_t number = (uint32_t)r->nimages++;
    const size_t from = data_bytes(r);

    if (r->err)
        return r->err;
    if (peet__bytes_add(&r->data, numbers, sizeof numbers) ||
        peet__bytes_add(&r->data, image->path, strlen(image->path) + 1))
        return no_memory(r);
    add_entry(r, (struct peet__entry){.kind = PEET__ENTRY_IMAGE, .stream = number}, from);
    for (size_t at = 0; at < image->nbytes && !r->err; at += IMAGE_PIECE_BYTES)
        add_data(r, (struct peet__entry){.kind = PEET__ENTRY_IMAGE_BYTES, .stream = number, .first = at},
            image->bytes + at, image->nbytes - at < IMAGE_PIECE_BYTES ? image->nbytes - at : IMAGE_PIECE_BYTES);
    return r->err;
}

int peet_recorder_answer(struct peet_recorder *r, const struct peet_recorded_answer *answer)
{
    return add_data(r, (struct peet__entry){.kind = PEET__ENTRY_ANSWERS}, answer, sizeof *answer);
}

int peet_recorder_early(struct peet_recorder *r, const uint64_t *words, size_t n)
{
    return n ? add_data(r, (struct peet__entry){.kind = PEET__ENTRY_EARLY}, words, n * sizeof *words) : r->err;
}

int peet_recorder_code(struct peet_recorder *r, const void *block, size_t n)
{
    return add_data(r, (struct peet__entry){.kind = PEET__ENTRY_CODE}, block, n);
}

int peet_recorder_paths(struct peet_recorder *r, const void *items, size_t n)
{
    return add_data(r, (struct peet__entry){.kind = PEET__ENTRY_PATHS}, items, n);
}

void peet_recorder_counts(const struct peet_recorder *r, struct peet_recorder_counts *out_counts)
{
    *out_counts = (struct peet_recorder_counts){r->nstreams, r->slices, r->words, r->bytes};
}

const char *peet_recorder_error(const struct peet_recorder *r)
{
    return r->err ? r->message : NULL;
}

static void recorder_free(struct peet_recorder *r)
{
    struct waiting *w;

    for (uint64_t i = 0; i < r->nstreams; i++)
        if ((w = r->streams[i]) != NULL) {
            w->next = r->pool;
            r->pool = w;
        }
    while ((w = r->pool) != NULL) {
        r->pool = w->next;
        free(w->words);
        peet__bytes_fini(&w->lines);
        free(w);
    }
    free(r->streams);
    free(r->entries);
    peet__codec_free(r->codec);
    peet__bytes_fini(&r->codes);
    peet__bytes_fini(&r->literals);
    peet__bytes_fini(&r->data);
    peet__bytes_fini(&r->index);
    peet__bytes_fini(&r->out);
    ZSTD_freeCCtx(r->zstd);
    if (r->fd >= 0)
        close(r->fd);
    peet_whole_drop(r->whole);
    free(r->path);
    free(r);
}

/** A number out of the way of the subject's own files. */
static int raise_fd(int fd)
{
    const int copy = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, FIRST_FD);

    if (copy < 0)
        return fd;
    close(fd);
    return copy;
}

static int open_recorder(const char *path, const char *description, int level, int whole,
    struct peet_recorder **out_recorder, struct peet_error *error)
{
    struct peet_recorder *r = calloc(1, sizeof *r);
    const uint32_t head[] = {PEET__HEAD, 8};
    int err;

    *out_recorder = NULL;
    if (!r)
        return peet_error_set(error, PEET_ENOMEM, "out of memory for the trace");
    r->level = level;
    r->fd = -1;
    if (!(r->path = strdup(path)) || (whole && !(r->whole = peet_whole_new(path)))) {
        recorder_free(r);
        return peet_error_set(error, PEET_ENOMEM, "out of memory for the trace");
    }
    r->fd = raise_fd(open(whole ? peet_whole_name(r->whole) : path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
    if (r->fd < 0) {
        err = peet_error_set(error, PEET_EIO, "%s: cannot be written: %s", path, strerror(errno));
        recorder_free(r);
        return err;
    }
    r->zstd = ZSTD_createCCtx();
    if (!r->zstd || peet__codec_new(!level, &r->codec) || peet__bytes_reserve(&r->data, ENTRIES_BYTES)) {
        recorder_free(r);
        return peet_error_set(error, PEET_ENOMEM, "out of memory for the trace");
    }
    ZSTD_CCtx_setParameter(r->zstd, ZSTD_c_compressionLevel, level ? level : SMALL_LEVEL);
    ZSTD_CCtx_setParameter(r->zstd, ZSTD_c_checksumFlag, 1);
    r->data.n = ENTRIES_BYTES;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &r->flushed);
    write_all(r, head, sizeof head);
    write_all(r, PEET__HEAD_MAGIC, 8);
    add_data(r, (struct peet__entry){.kind = PEET__ENTRY_DESCRIPTION, .first = PEET_RECORDING_VERSION}, description,
        strlen(description) + 1);
    end_frame(r);
    if (r->err) {
        err = peet_error_set(error, r->err, "%s: %s", path, r->message);
        recorder_free(r);
        return err;
    }
    *out_recorder = r;
    return 0;
}

int peet_recorder_open(const char *path, const char *description, int level, struct peet_recorder **out_recorder,
    struct peet_error *error)
{
    return open_recorder(path, description, level, 0, out_recorder, error);
}

int peet_recorder_open_whole(const char *path, const char *description, int level, struct peet_recorder **out_recorder,
    struct peet_error *error)
{
    return open_recorder(path, description, level, 1, out_recorder, error);
}

/** Index and trailer. */
static void put_index(struct peet_recorder *r)
{
    const uint32_t head[] = {PEET__TRAILER, 16};
    const uint64_t offset = r->bytes;
    const size_t n = r->index.n / sizeof(struct peet__indexed);

    if (r->index.n > PEET__RAW_BYTES_MAX) /* a reader finds the frames by themselves */
        return;
    if (!put_frame(r, PEET__INDEX, n, r->index.at, r->index.n) && !write_all(r, head, sizeof head) &&
        !write_all(r, &offset, sizeof offset))
        write_all(r, PEET__TRAILER_MAGIC, 8);
}

int peet_recorder_close(struct peet_recorder *r, const char *ending, struct peet_error *error)
{
    int err, why;

    if (!r)
        return 0;
    if (ending) {
        peet_recorder_flush(r);
        add_data(r, (struct peet__entry){.kind = PEET__ENTRY_ENDING}, ending, strlen(ending) + 1);
        end_frame(r);
        if (!r->err)
            put_index(r);
    }
    if (r->ahead > r->bytes)
        (void)!ftruncate(r->fd, (off_t)r->bytes);
    if (close(r->fd))
        fail(r, PEET_EIO, strerror(errno));
    r->fd = -1;
    if (!r->err && ending && r->whole) {
        why = peet_whole_place(r->whole);
        r->whole = NULL;
        if (why)
            fail(r, PEET_EIO, strerror(why));
    }
    err = r->err ? peet_error_set(error, r->err, "%s", r->message) : 0;
    recorder_free(r);
    return err;
}
