/* SPDX-License-Identifier: Apache-2.0 */
/* Keeping a run's slices; see tape.h.  The file's format is schema/trace/'s business. */
#include "host/source_parts.h"
#include "host/tape.h"
#include "host/writer.h"
#include "trace/paths.h"
#include "worker.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct peet_record {
    struct peet_writer *writer;
    struct peet_path_writer *paths;
    const char *failed; /* here, not in the writer */
    const struct peet_map *map;
    uint64_t strays; /* threads made inside a marked iteration, which have no maker's number */
    pid_t process;
};

int peet_record_open(const char *dir, json_t *description, int level, struct peet_record **out_record,
    struct peet_error *error)
{
    struct peet_record *r = calloc(1, sizeof *r);
    char path[PATH_MAX], *text = description ? json_dumps(description, JSON_COMPACT | JSON_PRESERVE_ORDER) : NULL;
    int err = 0;

    json_decref(description);
    snprintf(path, sizeof path, "%s/trace.peet", dir);
    if (!r || !text || peet_path_writer_new(&r->paths))
        err = peet_error_set(error, PEET_ENOMEM, "out of memory for the trace");
    if (!err)
        err = peet_writer_open(path, text, level, &r->writer, error);
    free(text);
    if (err) {
        if (r)
            peet_path_writer_free(r->paths);
        free(r);
        r = NULL;
    } else {
        r->process = getpid();
    }
    *out_record = r;
    return err;
}

int peet_record_image(struct peet_record *r, const char *path, uint64_t bias, uint64_t lo, uint64_t hi,
    uint64_t tls_offset, int late, struct peet_error *error)
{
    struct peet_recorded_image image = {
        .bias = bias, .lo = lo, .hi = hi, .tls_offset = tls_offset, .late = (uint64_t)late};
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat st;
    void *bytes;

    if (fd < 0 || fstat(fd, &st) || st.st_size <= 0 ||
        (bytes = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0)) == MAP_FAILED) {
        const int err = peet_error_set(error, PEET_EIO, "%s: cannot be read into the trace: %s", path, strerror(errno));

        if (fd >= 0)
            close(fd);
        return err;
    }
    image.path = (char *)(uintptr_t)path;
    image.bytes = bytes;
    image.nbytes = (size_t)st.st_size;
    peet_writer_image(r->writer, &image);
    munmap(bytes, (size_t)st.st_size);
    close(fd);
    return 0;
}

void peet_record_attach(struct peet_record *r, const struct peet_map *map)
{
    r->map = map;
}

/** Notes as the runtime has them: each behind its place, which means nothing here. */
void peet_record_early(struct peet_record *r, const uint64_t *note, size_t n)
{
    for (const uint64_t *end = note + n; note != end; note += 2 + PEET_RAW_NARGS(note[1]))
        peet_writer_early(r->writer, note, 2 + PEET_RAW_NARGS(note[1]));
}

void peet_record_path(struct peet_record *r, uint64_t word, const struct peet_foreign_block *path, uint32_t n)
{
    struct peet__bytes items = {0};

    if (!r->failed && peet_path_describe(r->paths, word, path, n, &items))
        r->failed = "out of memory for the foreign code in the trace";
    if (!r->failed)
        peet_writer_paths(r->writer, items.at, items.n);
    peet__bytes_fini(&items);
}

const char *peet_record_failed(const struct peet_record *r)
{
    return r->failed ? r->failed : peet_writer_sync(r->writer);
}

json_t *peet_record_json(const struct peet_record *r)
{
    struct peet_recorder_counts n;

    peet_writer_sync(r->writer);
    peet_writer_counts(r->writer, &n);
    return json_pack("{s:s,s:I,s:I,s:I,s:I}", "file", "trace.peet", "streams", (json_int_t)n.streams, "slices",
        (json_int_t)n.slices, "words", (json_int_t)n.words, "bytes", (json_int_t)n.bytes);
}

void peet_record_flush(struct peet_record *r)
{
    if (r->process == getpid()) /* children of the subject have copies of all this */
        peet_writer_flush(r->writer);
}

int peet_record_close(struct peet_record *r, json_t *ending, struct peet_error *error)
{
    char *text = ending ? json_dumps(ending, JSON_COMPACT | JSON_PRESERVE_ORDER) : NULL;
    int err = 0;

    json_decref(ending);
    if (r && r->process == getpid())
        err = peet_writer_close(r->writer, text, error);
    free(text);
    if (r)
        peet_path_writer_free(r->paths);
    free(r);
    return err;
}

/* --------------------------------------------------------------------------------------- contexts */

/** A stream for a context, from now on. */
static void begin_stream(struct peet_record *r, uint32_t context, struct peet_source_context *c,
    struct peet_stream_info *info)
{
    info->fs_base = peet_ctx_fs_base(c->ctx);
    peet_ctx_stack(c->ctx, &info->stack_lo, &info->stack_hi);
    info->context = r->map ? peet_map_number(r->map, context) : 0;
    c->tape->threads = c->tape->forks = c->tape->since = 0;
    c->tape->stream = peet_writer_stream(r->writer, info);
}

int peet__record_context(struct peet_record *r, uint32_t context, struct peet_source_context *c,
    struct peet_source_context *creator, int worker, uint64_t fn, uint64_t arg)
{
    struct peet_tape *tape = c->tape ? c->tape : calloc(1, sizeof *tape), *made_by = creator ? creator->tape : NULL;
    struct peet_stream_info info = {
        .kind = creator ? PEET_STREAM_THREAD : PEET_STREAM_MAIN, .function = fn, .argument = arg};

    if (!tape)
        return PEET_ENOMEM;
    *tape = (struct peet_tape){.stream = PEET_TAPE_NONE, .worker = worker};
    c->tape = tape;
    if (worker && made_by) {
        tape->carrier = made_by->stream;
        tape->fork = made_by->forks - 1;
    }
    if (worker) /* its streams are its iterations */
        return 0;
    if (made_by && made_by->stream != PEET_TAPE_NONE) {
        info.parent = made_by->stream;
        info.ordinal = made_by->threads++;
    } else if (creator) {
        info.ordinal = UINT64_MAX - r->strays++;
    }
    begin_stream(r, context, c, &info);
    return 0;
}

static void end_stream(struct peet_record *r, struct peet_tape *tape)
{
    if (tape->stream != PEET_TAPE_NONE)
        peet_writer_end(r->writer, tape->stream);
    tape->stream = PEET_TAPE_NONE;
}

void peet__record_before(struct peet_record *r, uint32_t context, struct peet_source_context *c, uint64_t result)
{
    struct peet_tape *tape = c->tape;
    struct peet_stream_info info = {.kind = PEET_STREAM_ITERATION, .iteration = result};

    if (!tape || !tape->asking)
        return;
    tape->asking = 0;
    end_stream(r, tape);
    if (result == PEET__NO_ITERATION || tape->carrier == PEET_TAPE_NONE)
        return;
    info.parent = tape->carrier;
    info.ordinal = tape->fork;
    begin_stream(r, context, c, &info);
}

/** Is the slice's last record an abstract event of this type? */
static int ends_with(const struct peet_source_context *c, unsigned type, unsigned nargs)
{
    return c->end - c->cursor > nargs && c->end[-(ptrdiff_t)nargs - 1] == PEET_RAW_ABSTRACT(type, nargs);
}

/** Now and then the decoder's state goes into the trace: it has used up all words before this slice. */
static void keep_state(struct peet_record *r, struct peet_tape *tape, const struct peet_source_context *c,
    uint64_t instructions, size_t nwords)
{
    enum { WORDS_BETWEEN = 64 * 1024 };
    uint64_t words[PEET_DECODE_STATE_WORDS];
    size_t n;

    if (tape->since >= WORDS_BETWEEN && !c->loop && !c->crashed && r->map && peet_map_counts_own(r->map) &&
        (n = peet_decode_state_save(c->decode, words, PEET_DECODE_STATE_WORDS)) != 0) {
        peet_writer_state(r->writer, tape->stream, words, n, instructions);
        tape->since = 0;
    }
    tape->since += nwords;
}

void peet__record_slice(struct peet_record *r, uint32_t context, struct peet_source_context *c, unsigned why,
    uint64_t result)
{
    struct peet_tape *tape = c->tape;
    struct peet_slice slice = {.why = why, .result = result, .words = c->cursor, .n = (size_t)(c->end - c->cursor)};
    uint64_t instructions = 0;

    if (!tape)
        return;
    if (tape->stream != PEET_TAPE_NONE) {
        if (r->map)
            peet_map_progress(r->map, context, &slice.cycle, &instructions);
        keep_state(r, tape, c, instructions, slice.n);
        peet_writer_slice(r->writer, tape->stream, &slice, instructions);
    }
    if (why != PEET_YIELD_EVENT)
        return;
    tape->forks += ends_with(c, PEET_ABSTRACT_DOALL_FORK, 6);
    tape->asking = tape->worker && ends_with(c, PEET_ABSTRACT_DOALL_START, 1);
}

void peet__record_over(struct peet_record *r, struct peet_source_context *c)
{
    if (c->tape)
        end_stream(r, c->tape);
}

void peet__record_answer(struct peet_record *r, unsigned kind, uint64_t a, uint64_t b, uint64_t value)
{
    peet_writer_answer(r->writer, &(struct peet_recorded_answer){kind, a, b, value});
}
