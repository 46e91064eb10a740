/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See writer.h.  Invariants of the ring:
 *   1. `said` and `done` count bytes and only grow; said - done <= RING_BYTES.  Only the host writes `said`, only
 *      the writer `done`.
 *   2. A message is whole before `said` passes its end, unless it is longer than half of the ring: then it is passed on
 *      piece by piece.  Messages begin at multiples of 8.
 *   4. The ring is mapped twice, one after the other: what goes beyond its end lies at its beginning.  So the writer
 *      has each message in one piece, and takes words from where the host has put them.
 *   3. Whoever waits has set its flag before it looked at the other's count for the last time; whoever moves a count
 *      looks at the flag after.
 */
#include "views/domain.h"
#include "host/writer.h"

#include <errno.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { RING_BYTES = 1 << 20, WAIT_MS = 100, PACKED_WORDS_MOST = 32 << 10 };

/* Of a slice that is packed in the ring, a message is never longer than what copy_bytes() is for. */
_Static_assert(PACKED_WORDS_MOST * 10 + (128 << 10) < RING_BYTES / 2, "packed words lie in the ring");

enum op {
    OP_IMAGE,
    OP_STREAM,
    OP_SLICE,
    OP_PACKED,
    OP_STATE,
    OP_END,
    OP_ANSWER,
    OP_EARLY,
    OP_PATHS,
    OP_FLUSH,
    OP_CLOSE,
    OP_ABANDON
};

/** A message; so many bytes follow. */
struct message {
    uint32_t op, stream;
    uint64_t a, b, c, d; /* as the operation has it */
    uint64_t bytes;
};

/** One side's count, and whether somebody waits for it. */
struct count {
    _Alignas(64) _Atomic uint64_t n;
    _Atomic uint32_t bell, waited;
};

struct shared {
    struct count said, done;
    _Atomic int opened; /* 1: the file is there */
    _Atomic int err;
    char message[300];
    struct peet_recorder_counts counts;
    _Alignas(4096) uint8_t ring[RING_BYTES]; /* and here it is once more */
};
enum { SHARED_BYTES = sizeof(struct shared) + RING_BYTES };

struct peet_writer {
    struct shared *shared;
    pid_t pid;   /* 0: it has ended */
    uint64_t at; /* said, and not yet published */
    uint32_t nstreams;
    struct peet_packer *packer;
};

/* ---------------------------------------------------------------------------------------- waiting */

static void ring_bell(struct count *c)
{
    atomic_fetch_add(&c->bell, 1);
    if (atomic_load(&c->waited))
        syscall(SYS_futex, &c->bell, FUTEX_WAKE, 1, NULL, NULL, 0);
}

static void publish(struct count *c, uint64_t n)
{
    atomic_store(&c->n, n);
    if (atomic_load(&c->waited))
        ring_bell(c);
}

/** Wait until the count may have moved from @n. */
static void wait_for(struct count *c, uint64_t n)
{
    const struct timespec some = {.tv_nsec = WAIT_MS * 1000000L};
    const uint32_t bell = atomic_load(&c->bell);

    atomic_store(&c->waited, 1);
    if (atomic_load(&c->n) == n)
        syscall(SYS_futex, &c->bell, FUTEX_WAIT, bell, &some, NULL, 0);
    atomic_store(&c->waited, 0);
}

/* ------------------------------------------------------------------------------- the process: reading */

struct reader {
    struct shared *shared;
    struct peet_recorder *recorder;
    pid_t parent;
    uint64_t at, end; /* of the message */
    uint8_t *bytes;   /* of the message: in the ring, or */
    uint8_t *copy;
    size_t room;
};

/** What comes before the reader's place is done with, and will be written over. */
static void done(struct reader *r)
{
    peet_recorder_settle(r->recorder);
    publish(&r->shared->done, r->at);
}

/** Wait until there are so many bytes.  Returns: 0: the other end is dead, and never says them */
static int wait_bytes(struct reader *r, size_t n)
{
    uint64_t said;

    while ((said = atomic_load(&r->shared->said.n)) - r->at < n) {
        done(r);
        if (getppid() != r->parent && atomic_load(&r->shared->said.n) == said)
            return 0;
        wait_for(&r->shared->said, said);
    }
    return 1;
}

/** Bytes of a message that is too long to lie in the ring. */
static int copy_bytes(struct reader *r, size_t n)
{
    uint8_t *out;

    if (r->room < n) {
        free(r->copy);
        r->room = n + n / 2;
        r->copy = malloc(r->room);
        if (!r->copy)
            _exit(1);
    }
    r->bytes = out = r->copy;
    while (n) {
        const size_t piece = n < RING_BYTES / 4 ? n : RING_BYTES / 4;

        if (!wait_bytes(r, piece))
            return 0;
        memcpy(out, r->shared->ring + r->at % RING_BYTES, piece);
        r->at += piece;
        out += piece;
        n -= piece;
        if (n) /* never to a message's end: it is not performed yet */
            done(r);
    }
    r->at = (r->at + 7) & ~UINT64_C(7);
    return 1;
}

/** The next message, its bytes in r->bytes; it is done with when the next one is asked for. */
static int read_message(struct reader *r, struct message *m)
{
    r->at = r->end;
    if (r->at - atomic_load(&r->shared->done.n) > RING_BYTES / 4)
        done(r);
    if (!wait_bytes(r, sizeof *m))
        return 0;
    memcpy(m, r->shared->ring + r->at % RING_BYTES, sizeof *m);
    r->at += sizeof *m;
    if (m->bytes > RING_BYTES / 2) {
        if (!copy_bytes(r, m->bytes))
            return 0;
        r->end = r->at;
        return 1;
    }
    if (!wait_bytes(r, m->bytes))
        return 0;
    r->bytes = r->shared->ring + r->at % RING_BYTES;
    r->end = r->at + ((m->bytes + 7) & ~UINT64_C(7));
    return 1;
}

static void perform(struct reader *r, const struct message *m)
{
    struct peet_recorded_image image;
    struct peet_packed_words packed;
    struct peet_slice slice;
    uint32_t stream;

    switch (m->op) {
    case OP_IMAGE: /* the image, its path, its contents */
        memcpy(&image, r->bytes, sizeof image);
        image.path = (char *)r->bytes + sizeof image;
        image.bytes = r->bytes + sizeof image + m->a;
        peet_recorder_image(r->recorder, &image);
        break;
    case OP_STREAM:
        peet_recorder_stream(r->recorder, (const struct peet_stream_info *)(const void *)r->bytes, &stream);
        break;
    case OP_SLICE:
        slice = (struct peet_slice){(uint32_t)m->a, m->b, m->c, (const uint64_t *)(const void *)r->bytes, m->bytes / 8};
        peet_recorder_slice(r->recorder, m->stream, &slice, m->d);
        break;
    case OP_PACKED:
        packed = *(const struct peet_packed_words *)(const void *)r->bytes;
        packed.codes = r->bytes + (uintptr_t)packed.codes;
        packed.literals = r->bytes + (uintptr_t)packed.literals;
        slice = (struct peet_slice){(uint32_t)m->a, m->b, m->c, NULL, packed.n};
        peet_recorder_packed_slices(r->recorder, m->stream, &slice, 1, m->d, &packed);
        break;
    case OP_STATE:
        peet_recorder_state(r->recorder, m->stream, (const uint64_t *)(const void *)r->bytes, m->bytes / 8, m->a);
        break;
    case OP_END:
        peet_recorder_end(r->recorder, m->stream);
        break;
    case OP_ANSWER:
        peet_recorder_answer(r->recorder, (const struct peet_recorded_answer *)(const void *)r->bytes);
        break;
    case OP_EARLY:
        peet_recorder_early(r->recorder, (const uint64_t *)(const void *)r->bytes, m->bytes / 8);
        break;
    case OP_PATHS:
        peet_recorder_paths(r->recorder, r->bytes, m->bytes);
        break;
    default:
        peet_recorder_flush(r->recorder);
    }
}

static void tell_failure(struct shared *s, int err, const char *message)
{
    if (!err || atomic_load(&s->err))
        return;
    snprintf(s->message, sizeof s->message, "%s", message);
    atomic_store(&s->err, err);
}

/** The life of the process.  The recorded one may be killed at any time: then its end is missing in the file. */
__attribute__((noreturn)) static void serve(struct shared *s, const char *path, const char *description, int level,
    pid_t parent)
{
    struct reader r = {.shared = s, .parent = parent};
    struct message m = {.op = OP_FLUSH};
    struct peet_error error = {0, ""};
    int err;

    prctl(PR_SET_NAME, "peet-trace");
    syscall(SYS_close_range, 0, ~0U, 0);
    err = peet_recorder_open(path, description, level, &r.recorder, &error);
    tell_failure(s, err, error.message);
    atomic_store(&s->opened, 1);
    publish(&s->done, 0);
    ring_bell(&s->done);
    if (err)
        _exit(1);
    while (read_message(&r, &m) && m.op < OP_CLOSE) {
        if (!atomic_load(&s->err)) {
            perform(&r, &m);
            if (peet_recorder_error(r.recorder))
                tell_failure(s, PEET_EIO, peet_recorder_error(r.recorder));
        }
        peet_recorder_counts(r.recorder, &s->counts);
    }
    if (m.op < OP_CLOSE)
        peet_recorder_flush(r.recorder);
    err = peet_recorder_close(r.recorder, m.op == OP_CLOSE ? (const char *)r.bytes : NULL, &error);
    tell_failure(s, err, error.message);
    publish(&s->done, r.end);
    _exit(err ? 1 : 0);
}

/* --------------------------------------------------------------------------------- the host: saying */

/** Has it ended?  Nobody but us can wait for it. */
static int is_gone(struct peet_writer *w, int flags)
{
    siginfo_t info = {0};
    int got;

    if (!w->pid)
        return 1;
    do
        got = waitid(P_PID, (id_t)w->pid, &info, WEXITED | __WCLONE | flags);
    while (got && errno == EINTR);
    if (!got && info.si_pid != w->pid)
        return 0;
    w->pid = 0;
    return 1;
}

static int broken(struct peet_writer *w)
{
    if (!is_gone(w, WNOHANG))
        return 0;
    tell_failure(w->shared, PEET_EIO,
        "the process that writes the trace has been killed; what it had written can be read");
    return 1;
}

/** Wait until there is room for @least bytes.  Returns: how many there is room for; 0: nobody reads any more */
static size_t wait_room(struct peet_writer *w, size_t least)
{
    uint64_t done;

    while (RING_BYTES - (w->at - (done = atomic_load(&w->shared->done.n))) < least) {
        publish(&w->shared->said, w->at);
        wait_for(&w->shared->done, done);
        if (atomic_load(&w->shared->done.n) == done && broken(w))
            return 0;
    }
    return (size_t)(RING_BYTES - (w->at - done));
}

static void say_bytes(struct peet_writer *w, const void *bytes, size_t n)
{
    const uint8_t *from = bytes;

    while (n) {
        size_t piece = wait_room(w, 1);

        if (!piece)
            return;
        piece = piece < n ? piece : n;
        memcpy(w->shared->ring + w->at % RING_BYTES, from, piece);
        w->at += piece;
        from += piece;
        n -= piece;
    }
}

/** The message is whole.  The writer is called when there is much for it; by itself it looks every WAIT_MS. */
static void said(struct peet_writer *w)
{
    w->at = (w->at + 7) & ~UINT64_C(7); /* there is room: what is done is a multiple of 8, too */
    if (w->at - atomic_load_explicit(&w->shared->done.n, memory_order_relaxed) >= RING_BYTES / 4)
        publish(&w->shared->said, w->at);
    else
        atomic_store(&w->shared->said.n, w->at);
}

static void say(struct peet_writer *w, struct message m, const void *bytes)
{
    if (!w->pid || atomic_load(&w->shared->err))
        return;
    say_bytes(w, &m, sizeof m);
    say_bytes(w, bytes, m.bytes);
    said(w);
}

void peet_writer_image(struct peet_writer *w, const struct peet_recorded_image *image)
{
    const size_t path = strlen(image->path) + 1;
    const struct message m = {.op = OP_IMAGE, .a = path, .bytes = sizeof *image + path + image->nbytes};

    if (!w->pid || atomic_load(&w->shared->err))
        return;
    say_bytes(w, &m, sizeof m);
    say_bytes(w, image, sizeof *image);
    say_bytes(w, image->path, path);
    say_bytes(w, image->bytes, image->nbytes);
    said(w);
}

uint32_t peet_writer_stream(struct peet_writer *w, const struct peet_stream_info *info)
{
    say(w, (struct message){.op = OP_STREAM, .bytes = sizeof *info}, info);
    return w->nstreams++;
}

/** Long slices are packed here, while their words are still in this processor's cache, and to where the writer takes
 * them from.  The message: struct peet_packed_words, with distances from its own beginning, and memory for the most
 * that the words may become, most of which nobody touches.  Returns: 0: this one is not */
static int say_packed(struct peet_writer *w, uint32_t stream, const struct peet_slice *slice, uint64_t instructions)
{
    struct message m = {OP_PACKED, stream, slice->why, slice->result, slice->cycle, instructions, 0};
    struct peet_packed_words packed;
    uint8_t *at;

    if (slice->n < PEET_RECORDER_LONG_SLICE || slice->n > PACKED_WORDS_MOST || !w->pid ||
        atomic_load(&w->shared->err) || !wait_room(w, sizeof m + sizeof packed + peet_pack_bytes(slice->n)))
        return 0;
    at = w->shared->ring + w->at % RING_BYTES + sizeof m;
    peet_pack_at(w->packer, slice->words, slice->n, at + sizeof packed, &packed);
    m.bytes = (uint64_t)(packed.literals + packed.nliterals - at);
    packed.codes = (const uint8_t *)(uintptr_t)(packed.codes - at);
    packed.literals = (const uint8_t *)(uintptr_t)(packed.literals - at);
    packed.stays = 1;
    memcpy(at - sizeof m, &m, sizeof m);
    memcpy(at, &packed, sizeof packed);
    w->at += sizeof m + m.bytes;
    said(w);
    return 1;
}

void peet_writer_slice(struct peet_writer *w, uint32_t stream, const struct peet_slice *slice, uint64_t instructions)
{
    if (say_packed(w, stream, slice, instructions))
        return;
    say(w, (struct message){OP_SLICE, stream, slice->why, slice->result, slice->cycle, instructions, slice->n * 8},
        slice->words);
}

void peet_writer_state(struct peet_writer *w, uint32_t stream, const uint64_t *words, size_t n, uint64_t instructions)
{
    say(w, (struct message){.op = OP_STATE, .stream = stream, .a = instructions, .bytes = n * 8}, words);
}

void peet_writer_end(struct peet_writer *w, uint32_t stream)
{
    say(w, (struct message){.op = OP_END, .stream = stream}, NULL);
}

void peet_writer_answer(struct peet_writer *w, const struct peet_recorded_answer *answer)
{
    say(w, (struct message){.op = OP_ANSWER, .bytes = sizeof *answer}, answer);
}

void peet_writer_early(struct peet_writer *w, const uint64_t *words, size_t n)
{
    say(w, (struct message){.op = OP_EARLY, .bytes = n * 8}, words);
}

void peet_writer_paths(struct peet_writer *w, const void *items, size_t n)
{
    say(w, (struct message){.op = OP_PATHS, .bytes = n}, items);
}

void peet_writer_flush(struct peet_writer *w)
{
    say(w, (struct message){.op = OP_FLUSH}, NULL);
}

const char *peet_writer_sync(struct peet_writer *w)
{
    uint64_t done;

    ring_bell(&w->shared->said);
    while (w->pid && (done = atomic_load(&w->shared->done.n)) != w->at) {
        wait_for(&w->shared->done, done);
        if (atomic_load(&w->shared->done.n) == done && broken(w))
            break;
    }
    return atomic_load(&w->shared->err) ? w->shared->message : NULL;
}

void peet_writer_counts(const struct peet_writer *w, struct peet_recorder_counts *out_counts)
{
    *out_counts = w->shared->counts;
}

static void writer_free(struct peet_writer *w)
{
    peet_packer_free(w->packer);
    munmap(w->shared, SHARED_BYTES);
    free(w);
}

int peet_writer_close(struct peet_writer *w, const char *ending, struct peet_error *error)
{
    int err;

    if (!w)
        return 0;
    if (w->pid) {
        const struct message m = {.op = ending ? OP_CLOSE : OP_ABANDON, .bytes = ending ? strlen(ending) + 1 : 0};

        say_bytes(w, &m, sizeof m);
        say_bytes(w, ending, m.bytes);
        said(w);
        ring_bell(&w->shared->said);
        is_gone(w, 0);
    }
    err = atomic_load(&w->shared->err);
    if (err)
        peet_error_set(error, err, "%s", w->shared->message);
    writer_free(w);
    return err;
}

/* Without a signal at its end, and without handlers for forks. */
static int64_t fork_it(void)
{
    return syscall(SYS_clone, 0, NULL, NULL, NULL, 0);
}

int64_t peet_host_fork_apart(void)
{
    return peet_domains_fork(fork_it);
}

/** The process, with all signals blocked: those of the terminal are for the recorded one. */
static pid_t start(struct shared *s, const char *path, const char *description, int level)
{
    const pid_t parent = getpid();
    sigset_t all, before;
    long pid;

    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &before);
    pid = (long)peet_host_fork_apart();
    if (!pid)
        serve(s, path, description, level, parent);
    sigprocmask(SIG_SETMASK, &before, NULL);
    return (pid_t)pid;
}

/** The shared memory.  Returns: NULL: there is none */
static struct shared *map_shared(void)
{
    struct shared *s = mmap(NULL, SHARED_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (s == MAP_FAILED)
        return NULL;
    if (mmap(s, sizeof *s, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED ||
        mremap(s->ring, 0, RING_BYTES, MREMAP_MAYMOVE | MREMAP_FIXED, s->ring + RING_BYTES) == MAP_FAILED) {
        munmap(s, SHARED_BYTES);
        return NULL;
    }
    return s;
}

int peet_writer_open(const char *path, const char *description, int level, struct peet_writer **out_writer,
    struct peet_error *error)
{
    struct shared *s = map_shared();
    struct peet_writer *w = calloc(1, sizeof *w);
    int err;

    *out_writer = NULL;
    if (!w || !s || peet_packer_new(!level, &w->packer)) {
        free(w);
        if (s)
            munmap(s, SHARED_BYTES);
        return peet_error_set(error, PEET_ENOMEM, "out of memory for the trace");
    }
    w->shared = s;
    w->pid = start(s, path, description, level);
    if (w->pid < 0) {
        err = peet_error_set(error, PEET_EIO, "cannot start the process that writes the trace: %s", strerror(errno));
        writer_free(w);
        return err;
    }
    while (!atomic_load(&s->opened) && !broken(w))
        wait_for(&s->done, 0);
    if (!(err = atomic_load(&s->err))) {
        *out_writer = w;
        return 0;
    }
    peet_error_set(error, err, "%s", s->message);
    is_gone(w, 0);
    writer_free(w);
    return err;
}
