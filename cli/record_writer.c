/* SPDX-License-Identifier: Apache-2.0 */
/* See record_writer.h. */
#include "record_writer.h"

#include "base/stats.h"
#include "common.h"
#include "config/config.h"
#include "decode/decode.h"
#include "control.h"
#include "plain/shared.h"
#include "trace/recording.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { BLOCKS_LEAST = 8, HELD_MOST = 4 };

struct peet_cli_record_writer {
    struct peet__real_shared *shared;
    struct peet_recorder *recorder;
    struct peet_program *program; /* says which images carry a schema */
    uint64_t done;                /* blocks of the queue */
    uint32_t held[HELD_MOST];     /* of them: what is in them has not been written yet */
    unsigned nheld;
    uint32_t streams, images;
    uint32_t *stream_of; /* by thread; UINT32_MAX: none yet */
    uint64_t words, lost;
    uint8_t over[PEET__REAL_THREADS];
    uint64_t last[PEET__REAL_THREADS];           /* ticks */
    uint64_t filled[PEET__REAL_THREADS];         /* parcels and blocks that have been written */
    struct peet_slice slices[PEET__REAL_SLICES]; /* of the parcel or block that is written */
    double begun_s, starves_since_s;             /* 0: it does not */
    int wrote;                                   /* the last step did */
    uint64_t begun_tick;
};

/** What is in the shared memory cannot be: the program may write there like anywhere. */
static int damaged(struct peet_error *error)
{
    return peet_error_set(error, PEET_EFORMAT, "the program has written over the memory that records it");
}

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

int peet_cli_record_open(uint64_t bytes, struct peet_cli_record_writer **out_writer, int *out_fd,
    struct peet_error *error)
{
    struct peet_cli_record_writer *w = calloc(1, sizeof(*w));
    uint64_t n = bytes / offsetof(struct peet__real_block, more), all;
    struct peet__real_shared *s = MAP_FAILED;
    const int fd = memfd_create("peet-record", MFD_CLOEXEC);

    n = n < BLOCKS_LEAST ? BLOCKS_LEAST : n > 1u << 24 ? 1u << 24 : n;
    all = peet__real_blocks_offset((uint32_t)n) + n * sizeof(struct peet__real_block);
    if (w && fd >= 0 && ftruncate(fd, (off_t)all) == 0)
        s = mmap(NULL, all, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (s == MAP_FAILED || !(w->stream_of = malloc(PEET__REAL_THREADS * sizeof(*w->stream_of)))) {
        const int err = peet_error_set(error, PEET_ENOMEM, "cannot reserve %llu MiB of memory to record into: %s%s",
            (unsigned long long)(all >> 20), strerror(errno), peet_cli_memory_limit(errno));
        free(w);
        return err;
    }
    memset(w->stream_of, 0xff, PEET__REAL_THREADS * sizeof(*w->stream_of));
    s->magic = PEET__REAL_MAGIC;
    s->bytes = all;
    s->nblocks = (uint32_t)n;
    s->writer = getpid();
    for (uint32_t i = (uint32_t)n; i-- > 0;)
        peet__real_give(s, i);
    w->shared = s;
    *out_writer = w;
    *out_fd = fd;
    return 0;
}

/* ------------------------------------------------------------------------------------------ the file */

static char *describe(char *const *program)
{
    const unsigned processors = (unsigned)sysconf(_SC_NPROCESSORS_ONLN);
    size_t n = 0;
    while (program[n])
        n++;
    char *config = peet_config_program_text(program[0], n - 1, program + 1, processors), *text = NULL, date[40];
    json_t *arguments = json_array(), *all;
    const time_t now = time(NULL);
    struct tm utc;

    strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &utc));
    for (size_t i = 1; i < n; i++)
        json_array_append_new(arguments, peet_stats_text(program[i]));
    all = json_pack("{s:s,s:s,s:s,s:s,s:{s:o,s:o,s:i,s:{s:s}}}", "peet", PEET_VERSION, "date", date, "format", "real",
        "config_text", config ? config : "", "config", "program", peet_stats_text(program[0]), "arguments", arguments,
        "cores", (int)processors, "machine", "module", "the computer's own processors");
    if (all && config)
        text = json_dumps(all, JSON_COMPACT | JSON_PRESERVE_ORDER);
    json_decref(all);
    free(config);
    return text;
}

int peet_cli_record_begin(struct peet_cli_record_writer *w, const char *output, char *const *program, int level,
    struct peet_error *error)
{
    char path[PATH_MAX], *text = describe(program);
    int err;

    snprintf(path, sizeof(path), "%s/trace.peet", output);
    if (!text || peet_program_new(&w->program))
        err = peet_error_set(error, PEET_ENOMEM, "out of memory");
    else
        err = peet_recorder_open(path, text, level, &w->recorder, error);
    w->shared->small = level > 0;
    free(text);
    w->begun_s = now_s();
    w->begun_tick = __builtin_ia32_rdtsc();
    return err;
}

static int image(struct peet_cli_record_writer *w, const struct peet__real_image *one, struct peet_error *error)
{
    struct peet_recorded_image out = {.path = (char *)(uintptr_t)one->path,
        .bias = one->bias,
        .lo = one->lo,
        .hi = one->hi,
        .tls_offset = one->tls_offset,
        .late = one->late};
    struct peet_error none = {0};
    struct stat st;
    int fd, err;

    if (!memchr(one->path, 0, sizeof(one->path)))
        return damaged(error);
    if (peet_program_add_image(w->program, one->path, one->bias, &none) <= 0)
        return 0; /* it carries no schema */
    fd = open(one->path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) ||
        (out.bytes = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0)) == MAP_FAILED) {
        err = peet_error_set(error, PEET_EIO, "%s: cannot be read into the trace: %s", one->path, strerror(errno));
    } else {
        out.nbytes = (size_t)st.st_size;
        err = peet_recorder_image(w->recorder, &out);
        munmap(out.bytes, (size_t)st.st_size);
    }
    if (fd >= 0)
        close(fd);
    return err;
}

static int images(struct peet_cli_record_writer *w, struct peet_error *error)
{
    int err = 0;

    if (!atomic_load(&w->shared->images_told))
        return 0;
    while (!err && w->images < PEET__REAL_IMAGES && w->images < atomic_load(&w->shared->nimages))
        err = image(w, &w->shared->images[w->images++], error);
    return err;
}

/* --------------------------------------------------------------------------------------------- streams */

/** Every thread up to this one has a stream: their numbers are those of the trace. */
static int streams(struct peet_cli_record_writer *w, uint32_t thread, struct peet_error *error)
{
    int err = images(w, error);

    while (!err && w->streams <= thread) {
        const struct peet__real_thread_info *t = &w->shared->threads[w->streams];
        const struct peet_stream_info info = {
            .kind = w->streams ? PEET_STREAM_THREAD : PEET_STREAM_MAIN,
            .parent = t->parent,
            .ordinal = t->ordinal,
            .fs_base = t->fs_base,
            .stack_lo = t->stack_lo,
            .stack_hi = t->stack_hi,
            .context = w->streams,
            .function = t->function,
            .argument = t->argument,
        };

        err = peet_recorder_stream(w->recorder, &info, &w->stream_of[w->streams]);
        w->streams++;
    }
    return err;
}

/** What slices are, into w->slices.  @words: what they are made of, if it is there.  Returns: how many words, or
 * UINT32_MAX: that cannot be */
static uint32_t read_slices(struct peet_cli_record_writer *w, const struct peet__real_slice *slices, uint32_t n,
    const uint64_t *words)
{
    uint32_t begin = 0;

    for (uint32_t i = 0; i < n; i++) {
        const struct peet__real_slice t = slices[i];

        if (t.end < begin || t.end > PEET__REAL_WORDS + PEET__REAL_SLACK || t.why >= PEET_SLICE_WHYS)
            return UINT32_MAX;
        w->slices[i] = (struct peet_slice){.why = t.why,
            .result = t.result,
            .cycle = t.tick > w->shared->first_tick ? t.tick - w->shared->first_tick : 0,
            .words = words ? words + begin : NULL,
            .n = t.end - begin};
        begin = t.end;
    }
    return begin;
}

/** What a thread has written, slices in w->slices.  @packed: their words; NULL: they are where the slices say */
static int put_slices(struct peet_cli_record_writer *w, uint32_t thread, uint32_t n, uint32_t words,
    const struct peet_packed_words *packed, uint32_t last, struct peet_error *error)
{
    int err = streams(w, thread, error);
    const uint32_t stream = w->stream_of[thread];

    if (!err && packed && n)
        err = peet_recorder_packed_slices(w->recorder, stream, w->slices, n, 0, packed);
    for (uint32_t i = 0; i < n && !err && !packed; i++)
        err = peet_recorder_slice(w->recorder, stream, &w->slices[i], 0);
    if (!err && n) {
        w->last[thread] = w->slices[n - 1].cycle;
        w->words += words;
    }
    w->filled[thread]++;
    w->over[thread] = last || (n && w->slices[n - 1].why == PEET_SLICE_CRASHED);
    if (!err && last)
        err = peet_recorder_end(w->recorder, stream);
    if (err && !error->code)
        peet_error_set(error, err, "%s", peet_recorder_error(w->recorder) ? peet_recorder_error(w->recorder) : "");
    return err;
}

/** The parcels of a crate, but for those that have been written. */
static int crate(struct peet_cli_record_writer *w, const struct peet__real_block *b, uint32_t n,
    struct peet_error *error)
{
    const uint32_t thread = b->thread;
    size_t at = 0;
    int err = 0;

    for (uint32_t i = 0; i < n && !err; i++) {
        const struct peet__real_parcel *there = peet__real_parcel(b, at);
        struct peet__real_parcel p;
        struct peet_packed_words packed;
        uint32_t words;
        size_t room = PEET__REAL_ROOM - at;

        if (room < sizeof(p))
            return damaged(error);
        p = *there;
        room -= sizeof(p);
        if (p.nslices > PEET__REAL_SLICES || p.nslices * sizeof(struct peet__real_slice) > room || p.bytes % 8 ||
            p.bytes < sizeof(p) || p.bytes - sizeof(p) > room)
            return damaged(error);
        room -= p.nslices * sizeof(struct peet__real_slice);
        packed = (struct peet_packed_words){.n = p.words,
            .literals = (const uint8_t *)&there->slices[p.nslices],
            .codes = (const uint8_t *)&there->slices[p.nslices] + p.nliterals,
            .nliterals = p.nliterals,
            .ncodes = p.ncodes,
            .stays = 1};
        words = read_slices(w, there->slices, p.nslices, NULL);
        if (words != p.words || p.nliterals > room || p.ncodes > room - p.nliterals)
            return damaged(error);
        if (p.number >= w->filled[thread])
            err = put_slices(w, thread, p.nslices, words, &packed, p.last, error);
        at += p.bytes;
    }
    return err;
}

/** The thread was not asked, but killed: what it has written behind its last slice, of @words so far, becomes one.  Its last record
 * may be cut.  Returns: how many slices there are then */
static uint32_t read_rest(struct peet_cli_record_writer *w, const struct peet__real_block *b, uint32_t n,
    uint32_t *inout_words)
{
    const struct peet__real_thread_info *t = &w->shared->threads[b->thread];
    const volatile struct peet__control *control = peet__real_control(w->shared, b->thread);
    const uint64_t bytes = (t->paused ? t->paused : (uint64_t)control->cursor) - t->words, end = bytes / 8;

    if (end <= *inout_words || end > PEET__REAL_WORDS + PEET__REAL_SLACK || bytes % 8 || n == PEET__REAL_SLICES)
        return n;
    w->slices[n] = (struct peet_slice){.why = PEET_SLICE_CRASHED,
        .cycle = n ? w->slices[n - 1].cycle : w->last[b->thread],
        .words = b->words + *inout_words,
        .n = end - *inout_words};
    *inout_words = (uint32_t)end;
    return n + 1;
}

/** @left: when the program was over */
static int block(struct peet_cli_record_writer *w, const struct peet__real_block *b, int left, struct peet_error *error)
{
    const uint32_t parcels = atomic_load(&b->nparcels), thread = b->thread;
    uint32_t n = atomic_load(&b->nslices), words;

    if (thread >= PEET__REAL_THREADS)
        return damaged(error);
    if (parcels)
        return crate(w, b, parcels, error);
    if (n > PEET__REAL_SLICES || (words = read_slices(w, b->slices, n, b->words)) == UINT32_MAX)
        return damaged(error);
    if (left && !b->last)
        n = read_rest(w, b, n, &words);
    return n || !left ? put_slices(w, thread, n, words, NULL, b->last, error) : 0;
}

/** The blocks that a thread was filling when the program was killed, unless the thread had handed over what is in them. */
static int left_blocks(struct peet_cli_record_writer *w, uint32_t thread, struct peet_error *error)
{
    const uint32_t own[] = {w->shared->threads[thread].crate, w->shared->threads[thread].block};
    int err = 0;

    for (unsigned i = 0; i < 2 && !err; i++) {
        const struct peet__real_block *b =
            own[i] && own[i] <= w->shared->nblocks ? peet__real_block(w->shared, own[i] - 1) : NULL;

        if (b && b->thread == thread && (i ? b->number == w->filled[thread] : atomic_load(&b->nparcels)))
            err = block(w, b, 1, error);
    }
    return err;
}

/** Blocks that are done with are free again. */
static void give_back(struct peet_cli_record_writer *w)
{
    struct peet__real_shared *s = w->shared;

    peet_recorder_settle(w->recorder); /* a failure shows at the next block */
    for (unsigned i = 0; i < w->nheld; i++)
        peet__real_give(s, w->held[i]);
    w->nheld = 0;
    atomic_store(&s->written, w->done);
    atomic_fetch_add(&s->freed, 1);
    /* who waits for a block is called when there are some: else he would wait again for the next one */
    if (atomic_load(&s->starving) && 2 * peet__real_waiting(s) <= peet__real_much(s))
        syscall(SYS_futex, &s->freed, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

int peet_cli_record_step(struct peet_cli_record_writer *w, unsigned wait_ms, struct peet_error *error)
{
    struct peet__real_shared *s = w->shared;
    const struct timespec some = {.tv_nsec = (long)wait_ms * 1000000L};
    const uint32_t bell = atomic_load(&s->filled);
    int n = 0, err;

    for (;; n++) {
        _Atomic uint32_t *place = &peet__real_full(s)[w->done % s->nblocks];
        const uint32_t i = atomic_exchange(place, 0);

        if (!i || i > s->nblocks)
            break;
        w->done++;
        err = block(w, peet__real_block(s, i - 1), 0, error);
        if (err)
            return err;
        w->held[w->nheld++] = i - 1;
        if (w->nheld == HELD_MOST || 2 * w->nheld >= peet__real_much(s))
            give_back(w);
    }
    if (w->nheld)
        give_back(w);
    w->wrote = n != 0;
    if (!n && wait_ms) {
        atomic_store(&s->writer_waits, 1);
        syscall(SYS_futex, &s->filled, FUTEX_WAIT, bell, &some, NULL, 0);
        atomic_store(&s->writer_waits, 0);
    }
    return n;
}

double peet_cli_record_starves(struct peet_cli_record_writer *w)
{
    if (w->wrote || !atomic_load(&w->shared->starving) || peet__real_waiting(w->shared))
        w->starves_since_s = 0;
    else if (w->starves_since_s == 0)
        w->starves_since_s = now_s();
    return w->starves_since_s == 0 ? 0 : now_s() - w->starves_since_s;
}

void peet_cli_record_abandon(struct peet_cli_record_writer *w)
{
    atomic_store(&w->shared->stopped, 1);
    atomic_fetch_add(&w->shared->freed, 1);
    syscall(SYS_futex, &w->shared->freed, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

static double ticks_per_second(const struct peet_cli_record_writer *w)
{
    const double seconds = now_s() - w->begun_s;
    return seconds > 0 ? (double)(__builtin_ia32_rdtsc() - w->begun_tick) / seconds : 1;
}

static char *ending(const struct peet_cli_record_writer *w, int wait_status, const struct peet_cli_recorded *r)
{
    const struct peet__real_shared *s = w->shared;
    char other[PATH_MAX];
    json_t *all;
    char *text;

    snprintf(other, sizeof(other), "%.*s", (int)sizeof(s->replaced_by), s->replaced_by);
    all = json_pack("{s:s,s:i,s:o*,s:{s:f,s:f,s:f,s:f,s:f,s:f,s:f,s:I,s:I}}", "reason",
        other[0]                       ? "exec"
            : WIFSIGNALED(wait_status) ? "signal"
                                       : "exit",
        "status", WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status), "program",
        other[0] ? peet_stats_text(other) : NULL, "real", "ticks_per_second", ticks_per_second(w), "ticks_per_word",
        (double)s->word_millicycles * 1e-3, "ticks_per_event", (double)s->event_millicycles * 1e-3, "ran_seconds",
        r->ran_s, "cpu_seconds", r->cpu_s, "overhead_seconds", r->overhead_s, "waited_seconds", r->waited_s,
        "unrecorded_threads", (json_int_t)r->unrecorded_threads, "signal_handlers", (json_int_t)r->handlers);
    text = all ? json_dumps(all, JSON_COMPACT | JSON_PRESERVE_ORDER) : NULL;
    json_decref(all);
    return text;
}

int peet_cli_record_end(struct peet_cli_record_writer *w, int wait_status, const struct rusage *usage,
    struct peet_cli_recorded *out, struct peet_error *error)
{
    struct peet__real_shared *s = w->shared;
    const double hz = ticks_per_second(w);
    const uint64_t over = s->last_tick ? s->last_tick : __builtin_ia32_rdtsc(); /* it was killed: just now */
    struct peet_recorder_counts counts;
    uint64_t waited = 0, overhead = 0;
    char *text;
    int err;

    err = peet_cli_record_step(w, 0, error);
    err = err < 0 ? err : 0;
    /* what threads had not handed over: as far as it is whole */
    for (uint32_t i = 0; i < atomic_load(&s->nthreads) && i < PEET__REAL_THREADS && !err; i++) {
        err = left_blocks(w, i, error);
        waited += s->threads[i].waited_ticks;
        overhead += s->threads[i].overhead_ticks;
    }
    for (uint32_t i = 0; WIFEXITED(wait_status) && !s->stopped && i < w->streams && !err; i++)
        if (!w->over[i]) /* its end is the program's */
            err = peet_recorder_slice(w->recorder, w->stream_of[i],
                &(struct peet_slice){.why = PEET_SLICE_DONE, .cycle = w->last[i]}, 0);
    if (!err)
        err = images(w, error);
    *out = (struct peet_cli_recorded){.threads = atomic_load(&s->nthreads),
        .words = w->words,
        .unrecorded_threads = atomic_load(&s->unrecorded_threads),
        .handlers = atomic_load(&s->handlers),
        .ran_s = s->first_tick && over > s->first_tick ? (double)(over - s->first_tick) / hz : 0,
        .cpu_s = (double)(usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) +
            (double)(usage->ru_utime.tv_usec + usage->ru_stime.tv_usec) * 1e-6,
        .waited_s = (double)waited / hz,
        .overhead_s = (double)overhead / hz,
        .attached = (int)atomic_load(&s->attached),
        .stopped = (int)atomic_load(&s->stopped)};
    text = ending(w, wait_status, out);
    if (!err) {
        peet_recorder_counts(w->recorder, &counts);
        err = peet_recorder_close(w->recorder, text, error);
        out->bytes = counts.bytes;
    } else {
        struct peet_error ignored = {0};
        peet_recorder_close(w->recorder, text, &ignored);
    }
    free(text);
    peet_program_free(w->program);
    munmap(s, s->bytes);
    free(w->stream_of);
    free(w);
    return err;
}
