/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading a recording; see recording.h.  Nothing in the file is trusted: every offset is held against what it points
 * into, frames have checksums, and a chunk that does not decode exactly is refused.
 */
#include "trace/codec.h"
#include "trace/recording_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int peet__recording_no_memory(struct peet_error *error)
{
    return peet_error_set(error, PEET_ENOMEM, "out of memory for the trace");
}

int peet__recording_damaged(const struct peet_recording *r, uint64_t offset, const char *what, struct peet_error *error)
{
    return peet_error_set(error, PEET_EFORMAT, "%s: damaged at byte %" PRIu64 ": %s", r->path, offset, what);
}

/* ----------------------------------------------------------------------------------------- frames */

static int read_at(const struct peet_recording *r, uint64_t offset, void *to, size_t n, struct peet_error *error)
{
    uint8_t *at = to;

    while (n) {
        const ssize_t got = pread(r->fd, at, n, (off_t)offset);

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return peet_error_set(error, PEET_EIO, "%s: cannot be read: %s", r->path, strerror(errno));
        if (!got)
            return peet__recording_damaged(r, offset, "the file ends here", error);
        at += got;
        offset += (uint64_t)got;
        n -= (size_t)got;
    }
    return 0;
}

/** Decompress the frame (or index) at an offset.  @out_end: the offset after it */
int peet__recording_frame(struct peet_recording *r, uint64_t offset, uint32_t tag, uint8_t **out_raw, size_t *out_n,
    uint32_t *out_entries, uint64_t *out_end, struct peet_error *error)
{
    uint32_t head[PEET__FRAME_HEAD_BYTES / 4];
    uint8_t *packed, *raw;
    size_t n;
    int err;

    if (offset > r->bytes || r->bytes - offset < sizeof head)
        return peet__recording_damaged(r, offset, "a frame is cut off", error);
    err = read_at(r, offset, head, sizeof head, error);
    if (err)
        return err;
    if (head[0] != tag || head[1] != 16)
        return peet__recording_damaged(r, offset, "no frame begins here", error);
    if (head[2] > r->bytes - offset - sizeof head)
        return peet__recording_damaged(r, offset, "a frame is cut off", error);
    if (head[3] > PEET__RAW_BYTES_MAX)
        return peet__recording_damaged(r, offset, "a frame of an impossible size", error);
    packed = malloc((size_t)head[2] + 1);
    raw = malloc((size_t)head[3] + 8);
    if (!packed || !raw)
        err = peet__recording_no_memory(error);
    if (!err)
        err = read_at(r, offset + sizeof head, packed, head[2], error);
    if (!err) {
        n = ZSTD_decompressDCtx(r->zstd, raw, head[3], packed, head[2]);
        if (ZSTD_isError(n) || n != head[3])
            err = peet__recording_damaged(r, offset,
                ZSTD_isError(n) ? ZSTD_getErrorName(n) : "a frame is shorter than it says", error);
    }
    free(packed);
    if (err) {
        free(raw);
        return err;
    }
    *out_raw = raw;
    *out_n = head[3];
    *out_entries = head[4];
    *out_end = offset + sizeof head + head[2];
    return 0;
}

/** A frame's contents, from the cache if they are there; they live until the next call. */
static const struct frame *cached(struct peet_recording *r, uint64_t offset, struct peet_error *error)
{
    struct frame *oldest = &r->cache[0];
    uint64_t end;
    uint32_t entries;

    for (struct frame *f = r->cache; f < r->cache + CACHED_FRAMES; f++) {
        if (f->raw && f->offset == offset) {
            f->used = ++r->uses;
            return f;
        }
        if (f->used < oldest->used)
            oldest = f;
    }
    free(oldest->raw);
    *oldest = (struct frame){0};
    if (peet__recording_frame(r, offset, PEET__FRAME, &oldest->raw, &oldest->n, &entries, &end, error)) {
        oldest->raw = NULL;
        return NULL;
    }
    oldest->offset = offset;
    oldest->used = ++r->uses;
    return oldest;
}

/** The bytes of an entry. */
const uint8_t *peet__recording_bytes(struct peet_recording *r, uint64_t frame, uint32_t offset, uint32_t bytes,
    struct peet_error *error)
{
    const struct frame *f = cached(r, frame, error);

    if (!f)
        return NULL;
    if (offset > f->n || bytes > f->n - offset) {
        peet__recording_damaged(r, frame, "an entry reaches beyond its frame", error);
        return NULL;
    }
    return f->raw + offset;
}

/* ---------------------------------------------------------------------------------------- entries */

static int add_entries(struct peet_recording *r, const struct peet__indexed *more, size_t n, struct peet_error *error)
{
    struct peet__indexed *all;

    if (r->nentries + n > r->entries_room) {
        size_t room = r->entries_room ? r->entries_room : 256;

        while (room < r->nentries + n)
            room *= 2;
        if (!(all = realloc(r->entries, room * sizeof *all)))
            return peet__recording_no_memory(error);
        r->entries = all;
        r->entries_room = room;
    }
    memcpy(r->entries + r->nentries, more, n * sizeof *more);
    r->nentries += n;
    return 0;
}

/** Index and trailer.  Returns: 0, PEET_ENOTFOUND: there is none that can be used, or another peet_err */
static int read_index(struct peet_recording *r, struct peet_error *error)
{
    uint8_t trailer[PEET__TRAILER_BYTES], *raw;
    struct peet_error ignored = {0};
    uint64_t offset, end;
    uint32_t n, tag;
    size_t bytes;
    int err;

    if (r->bytes < PEET__HEAD_BYTES + PEET__TRAILER_BYTES)
        return PEET_ENOTFOUND;
    err = read_at(r, r->bytes - sizeof trailer, trailer, sizeof trailer, error);
    if (err)
        return err;
    memcpy(&tag, trailer, 4);
    memcpy(&offset, trailer + 8, 8);
    if (tag != PEET__TRAILER || memcmp(trailer + 16, PEET__TRAILER_MAGIC, 8))
        return PEET_ENOTFOUND;
    if (peet__recording_frame(r, offset, PEET__INDEX, &raw, &bytes, &n, &end, &ignored))
        return ignored.code == PEET_ENOMEM ? peet__recording_no_memory(error) : PEET_ENOTFOUND;
    if (bytes != n * sizeof(struct peet__indexed) || end != r->bytes - sizeof trailer) {
        free(raw);
        return PEET_ENOTFOUND;
    }
    err = n ? add_entries(r, (const struct peet__indexed *)(const void *)raw, n, error) : 0;
    free(raw);
    for (size_t i = 0; i < r->nentries; i++)
        r->nframes += !i || r->entries[i].frame != r->entries[i - 1].frame;
    r->complete = 1;
    r->end = offset;
    return err;
}

/** Without an index: frame after frame, until something is no whole frame. */
static int scan(struct peet_recording *r, struct peet_error *error)
{
    uint64_t at = PEET__HEAD_BYTES, end;
    struct peet_error ignored = {0};
    uint8_t *raw;
    uint32_t n;
    size_t bytes;
    int err = 0;

    while (!err && !peet__recording_frame(r, at, PEET__FRAME, &raw, &bytes, &n, &end, &ignored)) {
        const struct peet__entry *entries = (const void *)raw;

        if (n > bytes / sizeof *entries) {
            free(raw);
            break;
        }
        for (uint32_t i = 0; i < n && !err; i++)
            err = add_entries(r, &(struct peet__indexed){at, entries[i]}, 1, error);
        free(raw);
        r->nframes++;
        at = end;
    }
    r->end = at;
    return ignored.code == PEET_ENOMEM ? peet__recording_no_memory(error) : err;
}

/* ---------------------------------------------------------------------------------------- streams */

static int text_of(struct peet_recording *r, const struct peet__indexed *e, char **out_text, struct peet_error *error)
{
    const uint8_t *bytes = peet__recording_bytes(r, e->frame, e->entry.offset, e->entry.bytes, error);

    if (!bytes)
        return error->code;
    free(*out_text);
    *out_text = strndup((const char *)bytes, e->entry.bytes);
    return *out_text ? 0 : peet__recording_no_memory(error);
}

static int image_of(struct peet_recording *r, const struct peet__indexed *e, struct peet_error *error)
{
    const uint8_t *bytes = peet__recording_bytes(r, e->frame, e->entry.offset, e->entry.bytes, error);
    uint64_t numbers[6];
    struct image *image;

    if (!bytes)
        return error->code;
    if (e->entry.stream >= r->nimages || e->entry.bytes < sizeof numbers + 2 || bytes[e->entry.bytes - 1])
        return peet__recording_damaged(r, e->frame, "an image without a name", error);
    image = &r->images[e->entry.stream];
    memcpy(numbers, bytes, sizeof numbers);
    if (image->known || numbers[5] > r->nentries * (uint64_t)PEET__RAW_BYTES_MAX)
        return peet__recording_damaged(r, e->frame, "an image of an impossible size", error);
    *image = (struct image){{strdup((const char *)bytes + sizeof numbers), numbers[0], numbers[1], numbers[2],
                                numbers[3], numbers[4], NULL, (size_t)numbers[5]},
        1};
    return image->public.path ? 0 : peet__recording_no_memory(error);
}

static int stream_of(struct peet_recording *r, const struct peet__indexed *e, struct peet_error *error)
{
    const uint8_t *bytes = peet__recording_bytes(r, e->frame, e->entry.offset, e->entry.bytes, error);
    struct stream *s = &r->streams[e->entry.stream];
    struct child *c;

    if (!bytes)
        return error->code;
    if (e->entry.bytes != sizeof s->storage || s->info)
        return peet__recording_damaged(r, e->frame, "a context that is described in another way", error);
    memcpy(&s->storage, bytes, sizeof s->storage);
    s->info = &s->storage;
    if (s->storage.kind >= PEET_STREAM_KINDS ||
        (s->storage.kind != PEET_STREAM_MAIN && s->storage.parent >= e->entry.stream))
        return peet__recording_damaged(r, e->frame, "a context made by a context that does not exist", error);
    if (s->storage.kind == PEET_STREAM_MAIN)
        return 0;
    c = calloc(1, sizeof *c);
    if (!c)
        return peet__recording_no_memory(error);
    c->origin = (struct origin){s->storage.parent, s->storage.ordinal, s->storage.iteration, s->storage.kind};
    c->stream = e->entry.stream;
    HASH_ADD(hh, r->children, origin, sizeof c->origin, c);
    return 0;
}

static int by_place(const void *a, const void *b)
{
    const struct chunk *x = a, *y = b;

    if (x->public.stream != y->public.stream)
        return x->public.stream < y->public.stream ? -1 : 1;
    return x->public.first_word < y->public.first_word ? -1 : x->public.first_word > y->public.first_word;
}

/** Chunks in order, each stream knowing its own. */
static int sort_chunks(struct peet_recording *r, struct peet_error *error)
{
    qsort(r->chunks, r->nchunks, sizeof *r->chunks, by_place);
    for (size_t i = 0; i < r->nchunks; i++) {
        struct stream *s = &r->streams[r->chunks[i].public.stream];

        if (!s->info)
            return peet__recording_damaged(r, r->chunks[i].frame, "words of a context that has no description", error);
        if (!s->n++)
            s->first = i;
    }
    return 0;
}

/** How many of each kind there are; a number that no file of this size could have is refused. */
static int count(struct peet_recording *r, struct peet_error *error)
{
    for (size_t i = 0; i < r->nentries; i++) {
        const struct peet__entry *e = &r->entries[i].entry;

        r->nchunks += e->kind == PEET__ENTRY_CHUNK;
        r->nstates += e->kind == PEET__ENTRY_STATE;
        if ((e->kind == PEET__ENTRY_CHUNK || e->kind == PEET__ENTRY_STREAM || e->kind == PEET__ENTRY_IMAGE) &&
            e->stream >= r->nentries)
            return peet__recording_damaged(r, r->entries[i].frame, "a context number that is out of range", error);
        if ((e->kind == PEET__ENTRY_CHUNK || e->kind == PEET__ENTRY_STREAM) && e->stream >= r->nstreams)
            r->nstreams = e->stream + 1;
        if (e->kind == PEET__ENTRY_IMAGE && e->stream >= r->nimages)
            r->nimages = e->stream + 1;
    }
    return 0;
}

/** What was cut off may have ended in the middle of an image: the recording is as if it had not begun. */
static void drop_cut_image(struct peet_recording *r)
{
    const size_t last = r->nimages - 1;
    size_t got = 0;

    if (!r->nimages || (r->complete && r->ending) || !r->images[last].known)
        return;
    for (size_t i = 0; i < r->nentries; i++)
        if (r->entries[i].entry.kind == PEET__ENTRY_IMAGE_BYTES && r->entries[i].entry.stream == last)
            got += r->entries[i].entry.bytes;
    if (got < r->images[last].public.nbytes) {
        free(r->images[last].public.path);
        r->nimages--;
    }
}

static int sort_out(struct peet_recording *r, struct peet_error *error)
{
    int err = count(r, error);
    size_t n = 0, nstates = 0;

    if (err)
        return err;
    r->streams = calloc(r->nstreams + 1u, sizeof *r->streams);
    r->chunks = calloc(r->nchunks + 1, sizeof *r->chunks);
    r->images = calloc(r->nimages + 1, sizeof *r->images);
    r->states = calloc(r->nstates + 1, sizeof *r->states);
    if (!r->streams || !r->chunks || !r->images || !r->states)
        return peet__recording_no_memory(error);
    for (size_t i = 0; i < r->nentries && !err; i++) {
        const struct peet__indexed *e = &r->entries[i];

        switch (e->entry.kind) {
        case PEET__ENTRY_DESCRIPTION:
            if (e->entry.first != PEET_RECORDING_VERSION)
                return peet_error_set(error, PEET_EVERSION,
                    "%s: a trace of version %" PRIu64 "; this peet reads version %d", r->path, e->entry.first,
                    PEET_RECORDING_VERSION);
            err = text_of(r, e, &r->description, error);
            break;
        case PEET__ENTRY_ENDING:
            err = text_of(r, e, &r->ending, error);
            break;
        case PEET__ENTRY_IMAGE:
            err = image_of(r, e, error);
            break;
        case PEET__ENTRY_STREAM:
            err = stream_of(r, e, error);
            break;
        case PEET__ENTRY_CHUNK:
            r->chunks[n++] = (struct chunk){
                {e->entry.stream, e->entry.slices, e->entry.first, e->entry.instructions, e->entry.cycle}, e->frame,
                e->entry.offset, e->entry.bytes};
            break;
        case PEET__ENTRY_STATE:
            r->states[nstates++] = (struct state){
                e->entry.stream, e->entry.first, e->entry.instructions, e->frame, e->entry.offset, e->entry.bytes};
            break;
        }
    }
    for (size_t i = 0; i < r->nimages && !err; i++)
        if (!r->images[i].known)
            err = peet__recording_damaged(r, 0, "an image is missing", error);
    if (!err)
        drop_cut_image(r);
    if (!err)
        err = sort_chunks(r, error);
    if (!err)
        peet__recording_sort_states(r);
    return err;
}

/* The magic word stands behind the frame's own head. */
static int is_head(const char head[static PEET__HEAD_BYTES])
{
    return memcmp(head + 8, PEET__HEAD_MAGIC, 8) == 0;
}

int peet_recording_is(const char *path)
{
    char head[PEET__HEAD_BYTES];
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    const int is = fd >= 0 && pread(fd, head, sizeof head, 0) == (ssize_t)sizeof head && is_head(head);

    if (fd >= 0)
        close(fd);
    return is;
}

int peet_recording_open(const char *path, struct peet_recording **out_recording, struct peet_error *error)
{
    struct peet_error mine = {0};
    struct peet_recording *r = calloc(1, sizeof *r);
    char head[PEET__HEAD_BYTES];
    struct stat st;
    int err = 0;

    *out_recording = NULL;
    if (!r || !(r->path = strdup(path))) {
        free(r);
        return peet__recording_no_memory(error);
    }
    r->fd = open(path, O_RDONLY | O_CLOEXEC);
    if (r->fd < 0 || fstat(r->fd, &st)) {
        err = peet_error_set(&mine, errno == ENOENT ? PEET_ENOTFOUND : PEET_EIO, "%s: cannot be opened: %s", path,
            strerror(errno));
    } else if (!S_ISREG(st.st_mode)) {
        err = peet_error_set(&mine, PEET_EFORMAT, "%s: not a file", path);
    } else {
        r->bytes = (uint64_t)st.st_size;
        if (r->bytes < sizeof head || read_at(r, 0, head, sizeof head, &mine) || !is_head(head)) {
            mine.code = 0;
            err = peet_error_set(&mine, PEET_EFORMAT, "%s: not a trace of peet", path);
        }
    }
    if (!err && !(r->zstd = ZSTD_createDCtx()))
        err = peet__recording_no_memory(&mine);
    if (!err)
        err = read_index(r, &mine);
    if (err == PEET_ENOTFOUND && !mine.code)
        err = scan(r, &mine);
    if (!err)
        err = sort_out(r, &mine);
    if (!err && !r->description)
        err = peet_error_set(&mine, PEET_EFORMAT, "%s: the trace was cut off before it said anything", path);
    if (err) {
        peet_recording_free(r);
        return peet_error_set(error, err, "%s", mine.message);
    }
    *out_recording = r;
    return 0;
}

void peet_recording_free(struct peet_recording *r)
{
    struct child *c, *more;

    if (!r)
        return;
    HASH_ITER(hh, r->children, c, more)
    {
        HASH_DEL(r->children, c);
        free(c);
    }
    for (size_t i = 0; r->images && i < r->nimages; i++)
        free(r->images[i].public.path);
    for (struct frame *f = r->cache; f < r->cache + CACHED_FRAMES; f++)
        free(f->raw);
    free(r->images);
    free(r->streams);
    free(r->chunks);
    free(r->states);
    free(r->entries);
    free(r->description);
    free(r->ending);
    free(r->early);
    free(r->answers);
    free(r->code_bytes);
    peet__recorded_code_free(r->code);
    free(r->paths_bytes);
    peet__recorded_paths_free(r->paths);
    ZSTD_freeDCtx(r->zstd);
    if (r->fd >= 0)
        close(r->fd);
    free(r->path);
    free(r);
}

/* ---------------------------------------------------------------------------------------- answers */

const char *peet_recording_description(const struct peet_recording *r)
{
    return r->description;
}

const char *peet_recording_ending(const struct peet_recording *r)
{
    return r->ending;
}

int peet_recording_complete(const struct peet_recording *r)
{
    return r->complete && r->ending;
}

uint64_t peet_recording_bytes(const struct peet_recording *r)
{
    return r->bytes;
}

uint64_t peet_recording_frames(const struct peet_recording *r)
{
    return r->nframes;
}

size_t peet_recording_nimages(const struct peet_recording *r)
{
    return r->nimages;
}

const struct peet_recorded_image *peet_recording_image(const struct peet_recording *r, size_t i)
{
    return &r->images[i].public;
}

int peet_recording_load_image(struct peet_recording *r, size_t i, uint8_t **out_bytes, size_t *out_n,
    struct peet_error *error)
{
    const size_t size = r->images[i].public.nbytes;
    uint8_t *all = malloc(size + 1);
    size_t n = 0;

    if (!all)
        return peet__recording_no_memory(error);
    for (size_t k = 0; k < r->nentries; k++) {
        const struct peet__indexed *e = &r->entries[k];
        const uint8_t *bytes;

        if (e->entry.kind != PEET__ENTRY_IMAGE_BYTES || e->entry.stream != i)
            continue;
        bytes = peet__recording_bytes(r, e->frame, e->entry.offset, e->entry.bytes, error);
        if (bytes && (e->entry.first != n || e->entry.bytes > size - n))
            peet__recording_damaged(r, e->frame, "the pieces of an image do not fit", error);
        if (error->code) {
            free(all);
            return error->code;
        }
        memcpy(all + n, bytes, e->entry.bytes);
        n += e->entry.bytes;
    }
    if (n != size) {
        free(all);
        return peet__recording_damaged(r, r->end, "an image is not whole", error);
    }
    *out_bytes = all;
    *out_n = n;
    return 0;
}

uint32_t peet_recording_nstreams(const struct peet_recording *r)
{
    return r->nstreams;
}

const struct peet_stream_info *peet_recording_stream(const struct peet_recording *r, uint32_t stream)
{
    return stream < r->nstreams ? r->streams[stream].info : NULL;
}

static uint32_t child_of(const struct peet_recording *r, struct origin origin)
{
    struct child *c;

    HASH_FIND(hh, r->children, &origin, sizeof origin, c);
    return c ? c->stream : UINT32_MAX;
}

uint32_t peet_recording_thread(const struct peet_recording *r, uint32_t parent, uint64_t ordinal)
{
    return child_of(r, (struct origin){parent, ordinal, 0, PEET_STREAM_THREAD});
}

uint32_t peet_recording_iteration(const struct peet_recording *r, uint32_t parent, uint64_t ordinal, uint64_t iteration)
{
    return child_of(r, (struct origin){parent, ordinal, iteration, PEET_STREAM_ITERATION});
}

/** All entries of a kind, one after the other.  @out_bytes: malloc()ed */
static int gather(struct peet_recording *r, uint32_t kind, uint8_t **out_bytes, size_t *out_n, struct peet_error *error)
{
    struct peet__bytes all = {0};

    for (size_t i = 0; i < r->nentries; i++) {
        const struct peet__indexed *e = &r->entries[i];
        const uint8_t *bytes;

        if (e->entry.kind != kind)
            continue;
        bytes = peet__recording_bytes(r, e->frame, e->entry.offset, e->entry.bytes, error);
        if (bytes && peet__bytes_add(&all, bytes, e->entry.bytes))
            peet__recording_no_memory(error);
        if (error->code) {
            peet__bytes_fini(&all);
            return error->code;
        }
    }
    *out_bytes = all.at;
    *out_n = all.n;
    return 0;
}

int peet_recording_early(struct peet_recording *r, const uint64_t **out_words, size_t *out_n, struct peet_error *error)
{
    size_t bytes;
    int err = r->early ? 0 : gather(r, PEET__ENTRY_EARLY, (uint8_t **)&r->early, &bytes, error);

    if (!err && r->early && !r->nearly)
        r->nearly = bytes / sizeof *r->early;
    *out_words = r->early;
    *out_n = r->nearly;
    return err;
}

int peet_recording_answers(struct peet_recording *r, const struct peet_recorded_answer **out_answers, size_t *out_n,
    struct peet_error *error)
{
    size_t bytes;
    int err = r->answers ? 0 : gather(r, PEET__ENTRY_ANSWERS, (uint8_t **)&r->answers, &bytes, error);

    if (!err && r->answers && !r->nanswers)
        r->nanswers = bytes / sizeof *r->answers;
    *out_answers = r->answers;
    *out_n = r->nanswers;
    return err;
}

int peet_recording_code_bytes(struct peet_recording *r, const uint8_t **out_bytes, size_t *out_n,
    struct peet_error *error)
{
    const int err = r->code_bytes ? 0 : gather(r, PEET__ENTRY_CODE, &r->code_bytes, &r->ncode_bytes, error);

    *out_bytes = r->code_bytes;
    *out_n = r->ncode_bytes;
    return err;
}

int peet_recording_paths_bytes(struct peet_recording *r, const uint8_t **out_bytes, size_t *out_n,
    struct peet_error *error)
{
    const int err = r->paths_bytes ? 0 : gather(r, PEET__ENTRY_PATHS, &r->paths_bytes, &r->npaths_bytes, error);

    *out_bytes = r->paths_bytes;
    *out_n = r->npaths_bytes;
    return err;
}

size_t peet_recording_nchunks(const struct peet_recording *r, uint32_t stream)
{
    return stream < r->nstreams ? r->streams[stream].n : 0;
}

const struct peet_recorded_chunk *peet_recording_chunk(const struct peet_recording *r, uint32_t stream, size_t i)
{
    return &r->chunks[r->streams[stream].first + i].public;
}
