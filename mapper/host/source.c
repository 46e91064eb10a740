/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The source of the engine's events for a program that runs or is replayed (struct peet_source_ops in mapper.h): it
 * resumes contexts over peet_ctx_resume(), keeps their words in rings, and decodes them with schema/decode.
 *
 *   1. A context has a ring only while it has words that are not used up.  A context that waits for an answer keeps no
 *      more than its last record.
 *   2. Words of a ring that is given back stay readable until another context runs: events point into them.
 *   3. A replay differs in one place: resume_replayed() takes the slice from a file.
 */
#include "host/source_parts.h"
#include "host/unseen.h"
#include "views/domain.h"
#include "data/datamap.h"
#include "layout.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "worker.h"

static int no_memory(struct peet_error *error)
{
    return peet_error_set(error, PEET_ENOMEM, "out of memory for the subject's contexts");
}

/* ---------------------------------------------------------------------------------------- rings */

/* Registers of the subject may keep a place in a ring that recording code has left there.  The hook of an atomic access,
 * which looks at registers, knows these places by where rings lie (hooks.c). */
static struct peet_source_ring *new_ring(struct peet_source *s)
{
    const size_t bytes = (sizeof(struct peet_source_ring) + PEET__PAGE - 1) & ~(PEET__PAGE - 1);
    void *at = (void *)(PEET__RINGS_BASE + s->nrings++ * bytes); /* if it is free */
    struct peet_source_ring *ring =
        mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return ring != MAP_FAILED ? ring : NULL;
}

int peet__source_ring(struct peet_source *s, struct peet_source_context *c, struct peet_error *error)
{
    if (c->ring)
        return 0;
    c->ring = s->rings;
    if (c->ring)
        s->rings = c->ring->next;
    else if (!(c->ring = new_ring(s)))
        return no_memory(error);
    return 0;
}

/** The words stay readable until somebody else runs. */
void peet__source_drop_ring(struct peet_source *s, struct peet_source_context *c)
{
    if (!c->ring)
        return;
    c->ring->next = s->rings;
    s->rings = c->ring;
    c->ring = NULL;
    c->cursor = c->end = NULL;
}

/** Room for decoded blocks; NULL: out of memory, and the caller does without. */
static struct peet_source_batch *take_batch(struct peet_source *s, struct peet_source_context *c)
{
    size_t n = PEET_SOURCE_BATCH_VALUES, most = peet_program_values(s->program);

    if (c->batch && c->batch->nvalues >= most)
        return c->batch;
    if (c->batch) { /* an image came in whose blocks are larger */
        free(c->batch);
        c->batch = NULL;
    }
    while (s->batches && s->batches->nvalues < most) {
        struct peet_source_batch *small = s->batches;

        s->batches = small->next;
        free(small);
    }
    c->batch = s->batches;
    if (c->batch) {
        s->batches = c->batch->next;
        return c->batch;
    }
    n = n < 2 * most ? 2 * most : n;
    c->batch = malloc(sizeof *c->batch + n * sizeof *c->batch->values);
    if (c->batch)
        c->batch->nvalues = n;
    return c->batch;
}

static void drop_batch(struct peet_source *s, struct peet_source_context *c)
{
    if (!c->batch)
        return;
    c->batch->next = s->batches;
    s->batches = c->batch;
    c->batch = NULL;
}

/** The view in which a context goes on: its processor's; who is alone works in main memory itself. */
static void look_through(struct peet_source *s, struct peet_ctx *ctx)
{
    const unsigned view = s->nalive > 1 ? peet_map_current(s->map) + 1 : 0;

    if (!view && s->apart)
        peet_map_alone(s->views);
    s->apart = view != 0;
    if (peet_ctx_domain(ctx) != view)
        peet_ctx_set_domain(ctx, view);
}

/** Until the context yields; its words, with their notes, are c->cursor .. c->end then. */
static enum peet_yield resume_once(struct peet_source *s, struct peet_source_context *c)
{
    uint64_t *words = c->ring->words, *end = words;
    enum peet_yield why = peet_ctx_resume(c->ctx, words, words + s->limit_words, c->result, &end);

    c->result = 0;
    c->cursor = words;
    c->end = end;
    if (peet__source_notes(s, c))
        s->notes_lost = 1;
    return why;
}

/** The words of a slice behind those that have been put aside.  Returns: whether there was room */
static int put_aside(struct peet_source_ring *ring, const struct peet_source_context *c, size_t *inout_n)
{
    const size_t n = (size_t)(c->end - c->cursor), need = *inout_n + n + PEET_DECODE_ROOM_WORDS;
    uint64_t *more;

    if (ring->grown_room < need) {
        more = realloc(ring->grown, 2 * need * sizeof *more);
        if (!more)
            return 0;
        ring->grown = more;
        ring->grown_room = 2 * need;
    }
    memcpy(ring->grown + *inout_n, c->cursor, n * sizeof *ring->grown);
    *inout_n += n;
    return 1;
}

/** The next slice of a context that ran when it was recorded. */
static enum peet_yield resume_replayed(struct peet_source *s, struct peet_source_context *c, uint32_t context)
{
    const uint32_t before = c->tape->stream;
    const unsigned why = peet__replay_resume(s->replay, c, context, c->result);

    if (s->data && c->tape->worker && c->tape->stream != before && peet_datamap_thread(s->data, c->tape->fs_base))
        s->notes_lost = 1;
    c->result = 0;
    c->done = why == PEET_SLICE_DONE || why == PEET_SLICE_CRASHED;
    if (why == PEET_SLICE_CRASHED) {
        c->crashed = 1;
        c->ends_all = c->tape->expected != 0; /* else its words end here, and it is unknown why */
        s->args[0] = c->ends_all ? c->tape->expected : s->args[0];
        if (!c->ends_all)
            c->end = peet_decode_but_last(c->decode, c->cursor, c->end);
    }
    return why == PEET_SLICE_EVENT ? PEET_YIELD_EVENT : c->done ? PEET_YIELD_DONE : PEET_YIELD_FULL;
}

enum peet_yield peet__source_resume(struct peet_source *s, struct peet_source_context *c, uint32_t context)
{
    const uint64_t result = c->result;
    enum peet_yield why;
    size_t aside = 0;

    if (s->replay)
        return resume_replayed(s, c, context);
    if (s->record)
        peet__record_before(s->record, context, c, result);

    if (s->map) {
        peet_ctx_set_number(c->ctx, peet_map_number(s->map, context));
        peet_rt_set_cpu(peet_map_current(s->map));
    }
    if (__builtin_expect(s->views != NULL, 0))
        look_through(s, c->ctx);
    why = resume_once(s, c);
    while (__builtin_expect(peet_ctx_goes_on(c->ctx), 0) && why == PEET_YIELD_FULL && put_aside(c->ring, c, &aside))
        why = resume_once(s, c);
    if (aside && put_aside(c->ring, c, &aside)) {
        c->cursor = c->ring->grown;
        c->end = c->ring->grown + aside;
    }
    if (s->map)
        peet__source_ran(s, c, why);
    peet_host_unseen_look();
    const int crash_status = peet_ctx_crash_status(c->ctx);
    if (s->record)
        peet__record_slice(s->record, context, c, crash_status ? (unsigned)PEET_SLICE_CRASHED : why,
            crash_status ? (uint64_t)crash_status : result);
    if (crash_status) {
        c->done = c->crashed = c->ends_all = 1;
        s->args[0] = (uint64_t)crash_status;
        return PEET_YIELD_DONE;
    }
    if (why == PEET_YIELD_DONE)
        c->done = 1;
    return why;
}

/* ------------------------------------------------------------------------------------- contexts */

/** Atomic accesses need to wait for their turn only while there is somebody else. */
static void alive(struct peet_source *s, int more)
{
    const uint32_t before = s->nalive;

    s->nalive += (uint32_t)more;
    if ((before > 1) != (s->nalive > 1))
        peet_rt_set_concurrent(s->nalive > 1);
}

static int slot(struct peet_source *s, uint32_t context, struct peet_source_context *c, struct peet_error *error)
{
    struct peet_source_context **more;
    uint32_t n = s->ncontexts ? s->ncontexts : 64;

    if (context >= s->ncontexts) {
        while (n <= context)
            n *= 2;
        more = realloc(s->contexts, n * sizeof *more);
        if (!more)
            return no_memory(error);
        memset(more + s->ncontexts, 0, (n - s->ncontexts) * sizeof *more);
        s->contexts = more;
        s->ncontexts = n;
    }
    s->contexts[context] = c;
    return 0;
}

static void context_free(struct peet_source *s, struct peet_source_context *c)
{
    if (!c)
        return;
    peet__source_drop_ring(s, c);
    drop_batch(s, c);
    peet__source_repeat_free(s, c);
    peet__source_loop_free(c->loop);
    peet__source_segment_free(c->segment);
    peet_decode_state_free(c->decode);
    if (c->ctx && s->data)
        peet_datamap_thread_end(s->data, peet_ctx_fs_base(c->ctx));
    if (s->replay && c->tape && s->data && !c->tape->worker)
        peet_datamap_thread_end(s->data, c->tape->fs_base);
    if (s->replay && c->tape)
        peet__replay_over(c);
    free(c->tape);
    if (c->ctx && c->ctx != peet_ctx_main())
        peet_ctx_free(c->ctx);
    free(c);
}

/** A context that has run already and is done; NULL: none.  0 or a peet_err. */
static int restart(struct peet_source *s, uint32_t context, void (*call)(uint64_t, uint64_t), uint64_t a, uint64_t b,
    struct peet_source_context **out_context)
{
    struct peet_source_context *c = s->idle;
    int err;

    *out_context = c;
    if (!c)
        return 0;
    err = peet_ctx_restart(c->ctx, call, a, b);
    if (err)
        return err;
    s->idle = c->next;
    c->next = NULL;
    peet_decode_state_reset(c->decode, context, peet_ctx_fs_base(c->ctx));
    peet__source_repeat_free(s, c);
    c->done = 0;
    c->result = 0;
    return 0;
}

/** A context that is replayed.  @begun: the one of this number that is there when a piece of a trace begins; SIZE_MAX: it
 * is made now */
static int make_replayed(struct peet_source *s, uint32_t context, struct peet_source_context *creator, int worker,
    size_t begun, struct peet_error *error)
{
    struct peet_source_context *c = calloc(1, sizeof *c);
    int err = c ? 0 : no_memory(error);

    if (!err && begun != SIZE_MAX)
        err = peet__replay_begin(s->replay, c, begun, error);
    else if (!err)
        err = peet__replay_context(s->replay, c, creator, worker, error);
    if (!err)
        err = peet_decode_state_new(s->program, context, c->tape->fs_base, &c->decode);
    if (!err)
        err = peet__replay_place(s->replay, c, error);
    if (!err)
        err = slot(s, context, c, error);
    if (!err && s->data && !worker && peet_datamap_thread(s->data, c->tape->fs_base))
        s->contexts[context] = NULL, err = no_memory(error);
    if (err)
        context_free(s, c);
    else
        s->nalive++;
    return err;
}

/** @options: NULL: a worker, which may be one that is done; @creator: who makes it, or NULL */
static int make(struct peet_source *s, uint32_t context, uint64_t fn, uint64_t a, uint64_t b,
    const struct peet_ctx_options *options, const struct peet_source_context *creator, struct peet_error *error)
{
    struct peet_source_context *c = NULL;
    void (*call)(uint64_t, uint64_t) = (void (*)(uint64_t, uint64_t))fn;
    int err;

    err = options ? 0 : restart(s, context, call, a, b, &c);

    if (!err && !c) {
        c = calloc(1, sizeof *c);
        if (!c)
            return no_memory(error);
        c->thread = options != NULL;
        err = peet_ctx_new(call, a, b, options, &c->ctx);
        if (!err)
            err = peet_decode_state_new(s->program, context, peet_ctx_fs_base(c->ctx), &c->decode);
        if (err)
            context_free(s, c);
    }
    if (err)
        return peet_error_set(error, err, "cannot make another execution context (%s)%s", peet_err_text(err),
            err == PEET_ENOMEM || err == PEET_ELIMIT ? ": too many contexts at once for this machine's memory?" : "");
    if (creator && creator->ctx)
        peet_ctx_inherit(c->ctx, creator->ctx);
    err = slot(s, context, c, error);
    if (!err && s->data && (err = peet_datamap_thread(s->data, peet_ctx_fs_base(c->ctx))) != 0) {
        s->contexts[context] = NULL;
        no_memory(error);
    }
    if (err)
        context_free(s, c);
    else
        alive(s, 1);
    return err;
}

/** The first one is there already. */
static int begin(void *self, uint32_t context, size_t index, struct peet_error *error)
{
    return index ? make_replayed(self, context, NULL, 0, index, error) : 0;
}

static uint64_t goes_on(void *self, uint32_t context)
{
    struct peet_source *s = self;

    return peet__replay_goes_on(s->replay, s->contexts[context]);
}

static int spawn(void *self, uint32_t context, uint64_t fn, uint64_t a, uint64_t b, struct peet_error *error)
{
    return make(self, context, fn, a, b, NULL, NULL, error);
}

static int spawn_thread(void *self, uint32_t context, const struct peet_source_thread *thread, struct peet_error *error)
{
    struct peet_ctx_options options = {
        .stack_address = thread->stack_address, .stack_bytes = thread->stack_bytes, .thread = 1};
    struct peet_source *s = self;
    int err;

    if (s->replay)
        return make_replayed(s, context, s->contexts[thread->creator], 0, SIZE_MAX, error);
    err = make(self, context, thread->fn, thread->arg, 0, &options, s->contexts[thread->creator], error);
    if (!err && s->record &&
        peet__record_context(s->record, context, s->contexts[context], s->contexts[thread->creator], 0, thread->fn,
            thread->arg))
        err = no_memory(error);
    return err;
}

static int spawn_iterations(void *self, uint32_t context, uint32_t carrier, uint64_t fn, uint64_t arg,
    struct peet_error *error)
{
    struct peet_source *s = self;
    int err;

    if (s->replay)
        return make_replayed(s, context, s->contexts[carrier], 1, SIZE_MAX, error);
    err = make(s, context, (uint64_t)(uintptr_t)peet__doall_worker, fn, arg, NULL, s->contexts[carrier], error);
    if (!err && s->record &&
        peet__record_context(s->record, context, s->contexts[context], s->contexts[carrier], 1, fn, arg))
        err = no_memory(error);
    return err;
}

static int marked(void *self, uint32_t context, uint32_t carrier, uint64_t iteration, struct peet_error *error)
{
    struct peet_source *s = self;
    struct peet_source_context *c = s->idle_marked;
    uint64_t fs_base = peet__source_fs_base(s->contexts[carrier]);
    struct peet_source_segment *segment;
    int err = peet__source_iteration(s, carrier, iteration, &segment, error);

    if (err)
        return err;
    if (c) {
        s->idle_marked = c->next;
        c->next = NULL;
        peet_decode_state_reset(c->decode, context, fs_base);
    } else {
        c = calloc(1, sizeof *c);
        err = c ? peet_decode_state_new(s->program, context, fs_base, &c->decode) : PEET_ENOMEM;
    }
    if (!err) {
        c->segment = segment;
        c->cursor = segment->words;
        c->end = segment->words + segment->n;
        c->done = 1;
        err = slot(s, context, c, error);
    }
    if (err) {
        if (c)
            c->segment = NULL;
        context_free(s, c);
        peet__source_segment_free(segment);
        return peet_error_set(error, err, "cannot make another marked iteration: %s", peet_err_text(err));
    }
    return 0;
}

static void retire(void *self, uint32_t context)
{
    struct peet_source *s = self;
    struct peet_source_context *c = s->contexts[context];

    s->contexts[context] = NULL;
    if (!c)
        return;
    if (c->ctx)
        alive(s, -1);
    if (s->record)
        peet__record_over(s->record, c);
    peet__source_drop_ring(s, c);
    drop_batch(s, c);
    if (!c->ctx && c->tape) {
        s->nalive--;
        context_free(s, c);
    } else if (!c->ctx) {
        peet__source_segment_free(c->segment);
        c->segment = NULL;
        c->cursor = c->end = NULL;
        c->next = s->idle_marked;
        s->idle_marked = c;
    } else if (c->ctx == peet_ctx_main() || !c->done || c->thread) {
        context_free(s, c);
    } else {
        c->next = s->idle;
        s->idle = c;
    }
}

/* --------------------------------------------------------------------------------------- events */

static void result(void *self, uint32_t context, uint64_t value)
{
    ((struct peet_source *)self)->contexts[context]->result = value;
}

/** Give up the ring, but for a last record: a worker that has finished an iteration waits with its request for the
 *  next one, and there may be very many. */
static void keep_rest(struct peet_source *s, struct peet_source_context *c)
{
    size_t n = (size_t)(c->end - c->cursor);

    memcpy(c->rest, c->cursor, n * sizeof *c->rest);
    peet__source_drop_ring(s, c);
    drop_batch(s, c);
    c->cursor = c->rest;
    c->end = c->rest + n;
}

static int next(void *self, uint32_t context, struct peet_event *out_event, struct peet_error *error)
{
    struct peet_source *s = self;
    struct peet_source_context *c = s->contexts[context];
    int kind;

    if (s->notes_lost)
        return no_memory(error);
    if (__builtin_expect(s->strayed, 0))
        return peet_error_set(error, PEET_ESTREAM, "internal error: a round that was repeated has been another one");
    for (;;) {
        if (c->cursor != c->end || peet_decode_busy(c->decode)) {
            kind = peet_decode_next(c->decode, &c->cursor, c->end, s->want_addresses, out_event,
                c->crashed ? NULL : error);
            if (__builtin_expect(kind == PEET_EVENT_BLOCK, 1))
                return kind;
            if (kind == PEET_EVENT_ABSTRACT) {
                if (out_event->abstract.type == PEET_ABSTRACT_MARK_FORK && peet__source_runs(c) && !c->loop &&
                    !(c->loop = calloc(1, sizeof *c->loop)))
                    return no_memory(error);
                /* A context that awaits a result needs no ring; the mapper copies the arguments at once. */
                if (c->ring && c->end - c->cursor <= PEET_SOURCE_REST_WORDS)
                    keep_rest(s, c);
                return kind;
            }
            if (c->crashed || (!kind && s->replay && !peet_recording_complete(peet_replay_recording(s->replay)))) {
                c->cursor = c->end;
                continue;
            }
            if (kind < 0)
                return kind;
            return peet_error_set(error, PEET_ESTREAM, "context %u: the last record of its words is cut off", context);
        }
        if (c->crashed && c->ends_all) {
            out_event->abstract =
                (struct peet_abstract_event){.type = PEET_ABSTRACT_PROGRAM_EXIT, .nargs = 1, .args = s->args};
            return PEET_EVENT_ABSTRACT;
        }
        if (c->done)
            return 0;
        if (c->loop)
            return peet__source_join(s, context, out_event, error);
        kind = peet__source_ring(s, c, error);
        if (kind)
            return kind;
        peet__source_resume(s, c, context);
    }
}

/** Notes that nobody wants, if they come next. */
static inline void pass_over(struct peet_source_context *c)
{
    if (c->cursor != c->end && PEET_RAW_IS_ABSTRACT(*c->cursor) && PEET_RAW_TYPE(*c->cursor) == PEET_ABSTRACT_TASK)
        peet_decode_pass_over(c->decode, &c->cursor, c->end);
}

/** Words of the context's, left over or new ones. */
static int words(void *self, uint32_t context)
{
    struct peet_source *s = self;
    struct peet_source_context *c = s->contexts[context];

    pass_over(c);
    if (c->cursor == c->end && !peet_decode_busy(c->decode)) {
        if (c->done || c->loop || peet__source_ring(s, c, NULL))
            return PEET_AHEAD_NOTHING;
        peet__source_resume(s, c, context);
        pass_over(c);
    }
    return peet_decode_ahead(c->decode, c->cursor, c->end);
}

static int dry(void *self, uint32_t context)
{
    const struct peet_source_context *c = ((struct peet_source *)self)->contexts[context];

    return c->cursor == c->end && !peet_decode_busy(c->decode) && !c->done && !c->loop;
}

static void undo(void *self, uint32_t context, peet_decode_undone *fn, void *arg)
{
    struct peet_source_context *c = ((struct peet_source *)self)->contexts[context];

    peet_decode_undo(c->decode, &c->cursor, c->end, fn, arg);
}

static int direct(void *self, uint32_t context, struct peet_direct_run *run, peet_decode_sink *sink,
    peet_decode_shown *shown, void *arg)
{
    struct peet_source_context *c = ((struct peet_source *)self)->contexts[context];

    if (c->crashed) /* its last record may be cut */
        return 0;
    return peet_decode_direct(c->decode, &c->cursor, c->end, run, sink, shown, arg);
}

static void executed(void *self, peet_program_executed *fn, void *arg)
{
    peet_program_direct_executed(((struct peet_source *)self)->program, fn, arg);
}

/** What is left of the words, or of the next slice if nothing is. */
static unsigned blocks(void *self, uint32_t context, unsigned most, struct peet_block_event **out_events)
{
    struct peet_source *s = self;
    struct peet_source_context *c = s->contexts[context];
    struct peet_source_batch *batch;

    if (c->cursor == c->end && !words(self, context))
        return 0;
    batch = take_batch(s, c);
    if (!batch)
        return 0;
    *out_events = batch->events;
    return peet_decode_batch(c->decode, &c->cursor, c->end,
        (s->want_addresses ? PEET_DECODE_ADDRESSES : 0) | (s->want_loops ? PEET_DECODE_LOOPS : 0), batch->events,
        most < PEET_SOURCE_BATCH_BLOCKS ? most : PEET_SOURCE_BATCH_BLOCKS, batch->values, batch->nvalues);
}

static const struct peet_function *function_of_pc(void *self, uint64_t runtime_pc)
{
    return peet_program_function_of_pc(((struct peet_source *)self)->program, runtime_pc);
}

static const struct peet_block *block_of_turn(void *self, uint64_t runtime_pc)
{
    return peet_program_block_of_turn(((struct peet_source *)self)->program, runtime_pc);
}

static const struct peet_block *synthetic(void *self, unsigned what)
{
    return peet_program_synthetic(((struct peet_source *)self)->program, what);
}

/** Functions that call others keep nothing below the stack pointer: what lies there is what those have left. */
static int calls(const struct peet_function *f)
{
    for (uint32_t b = 0; f && b < f->nblocks; b++)
        for (uint32_t i = 0; i < f->blocks[b].ninsns; i++)
            if (f->blocks[b].insns[i].opcode->klass == PEET_INSN_CALL)
                return 1;
    return 0;
}

/** What is on the stack of a suspended context, up to so much. */
static uint64_t state(void *self, uint32_t context)
{
    enum { MOST_BYTES = 1 << 20, RED_ZONE_BYTES = 128 };
    static uint64_t unknown; /* never the same twice */
    struct peet_source *s = self;
    const struct peet_source_context *c = s->contexts[context];
    uint64_t registers[8], lo, hi, hash = 0;

    if (!c->ctx && c->tape)
        return peet__replay_answer(s->replay, PEET_TAPE_STATE, c->tape->stream, 0, ++unknown);
    if (!c->ctx)
        return ++unknown;
    peet_ctx_registers(c->ctx, registers);
    peet_ctx_stack(c->ctx, &lo, &hi);
    registers[1] -= calls(peet_program_function_of_pc(s->program, registers[0])) ? 0 : RED_ZONE_BYTES;
    if (registers[1] < lo || registers[1] >= hi)
        return ++unknown;
    if (hi - registers[1] > MOST_BYTES)
        hi = registers[1] + MOST_BYTES;
    for (uint64_t at = registers[1] & ~(uint64_t)7; at < hi; at += 8)
        hash = (hash ^ *(const uint64_t *)at) * 0x9e3779b97f4a7c15u + (hash >> 29);
    if (s->record && c->tape)
        peet__record_answer(s->record, PEET_TAPE_STATE, c->tape->stream, 0, hash);
    return hash;
}

/* What contexts that run and contexts that are replayed have in common: all but what they learn from outside. */
#define COMMON_OPS \
    .next = next, .result = result, .spawn = spawn, .marked = marked, .retire = retire, \
    .spawn_iterations = spawn_iterations, .spawn_thread = spawn_thread, .blocks = blocks, .words = words, .dry = dry, \
    .direct = direct, .executed = executed, .undo = undo, .synthetic = synthetic, .state = state, \
    .block_of_turn = block_of_turn, .function_of_pc = function_of_pc

const struct peet_source_ops peet_source_ops = {
    COMMON_OPS,
    .io_ready = peet__source_io_ready,
    .io_wait = peet__source_io_wait,
    .outside = peet__source_outside,
    .repeat = peet__source_repeat,
    .cut = peet__source_cut,
};

const struct peet_source_ops peet_replayed_ops = {
    COMMON_OPS,
    .begin = begin,
    .goes_on = goes_on,
    .io_ready = peet__source_io_replayed,
    .io_wait = peet__source_io_waits_replayed,
    .outside = peet__source_outside_replayed,
};

/* --------------------------------------------------------------------------------- life and death */

int peet_source_new(struct peet_program *program, const struct peet_config *config, struct peet_source **out_source,
    struct peet_error *error)
{
    struct peet_source *s = calloc(1, sizeof *s);
    struct peet_source_context *c = calloc(1, sizeof *c);
    int err;

    *out_source = NULL;
    if (!s || !c) {
        free(s);
        free(c);
        return no_memory(error);
    }
    s->program = program;
    s->nalive = 1;
    s->want_addresses = 1;
    s->limit_words =
        config->cores == 1 && config->policy != PEET_POLICY_RR ? PEET_SOURCE_RING_WORDS : PEET_SOURCE_AHEAD_WORDS;
    if (config->granularity == PEET_GRANULARITY_BLOCK || config->granularity == PEET_GRANULARITY_REF)
        s->limit_words = 1;
    else if (config->granularity == PEET_GRANULARITY_BLOCKS && config->granularity_blocks < s->limit_words)
        s->limit_words = (size_t)config->granularity_blocks; /* a block is at least a word */
    c->ctx = peet_ctx_main();
    err = peet_decode_state_new(program, 0, peet_ctx_fs_base(c->ctx), &c->decode);
    if (!err)
        err = slot(s, 0, c, error);
    if (err) {
        context_free(s, c);
        peet_source_free(s);
        return peet_error_set(error, err, "the main context: %s", peet_err_text(err));
    }
    *out_source = s;
    return 0;
}

int peet_source_set_record(struct peet_source *s, struct peet_record *record)
{
    s->record = record;
    return peet__record_context(record, 0, s->contexts[0], NULL, 0, 0, 0);
}

int peet_source_new_replay(struct peet_program *program, struct peet_replay *replay, struct peet_source **out_source,
    struct peet_error *error)
{
    struct peet_source *s = calloc(1, sizeof *s);
    int err;

    *out_source = s;
    if (!s)
        return no_memory(error);
    s->program = program;
    s->replay = replay;
    s->want_addresses = 1;
    err = make_replayed(s, 0, NULL, 0, peet_replay_middle(replay) ? 0 : SIZE_MAX, error);
    if (err) {
        peet_source_free(s);
        *out_source = NULL;
    }
    return err;
}

void peet_source_free(struct peet_source *s)
{
    struct peet_source_context *c;
    struct peet_source_batch *batch;
    struct peet_source_ring *ring;

    if (!s)
        return;
    for (uint32_t i = 0; i < s->ncontexts; i++)
        context_free(s, s->contexts[i]);
    while ((c = s->idle) != NULL) {
        s->idle = c->next;
        context_free(s, c);
    }
    while ((c = s->idle_marked) != NULL) {
        s->idle_marked = c->next;
        context_free(s, c);
    }
    while ((batch = s->batches) != NULL) {
        s->batches = batch->next;
        free(batch);
    }
    while ((ring = s->rings) != NULL) {
        s->rings = ring->next;
        free(ring->merged);
        free(ring->grown);
        munmap(ring, sizeof *ring);
    }
    free(s->contexts);
    free(s);
}

void peet_source_attach(struct peet_source *source, struct peet_map *map, int want_addresses, int want_loops)
{
    source->map = map;
    source->want_addresses = want_addresses;
    source->want_loops = want_loops;
}

int peet_source_set_data(struct peet_source *source, struct peet_datamap *data)
{
    source->data = data;
    return peet_datamap_thread(data, peet__source_fs_base(source->contexts[0]));
}

void peet_source_set_views(struct peet_source *source, struct peet_map *map)
{
    source->views = map;
}

int peet_source_concurrent(const struct peet_source *source)
{
    return source->nalive > 1;
}

struct peet_ctx *peet_source_ctx(const struct peet_source *source, uint32_t context)
{
    return context < source->ncontexts && source->contexts[context] ? source->contexts[context]->ctx : NULL;
}

uint32_t peet_source_of_ctx(const struct peet_source *source, const struct peet_ctx *ctx)
{
    for (uint32_t i = 0; i < source->ncontexts; i++)
        if (source->contexts[i] && source->contexts[i]->ctx == ctx)
            return i;
    return UINT32_MAX;
}

int peet_source_crash(struct peet_source *s, uint32_t context, const uint64_t *end, int status)
{
    struct peet_source_context *c = context < s->ncontexts ? s->contexts[context] : NULL;

    if (!c || !c->ring || c->loop || end < c->ring->words ||
        end > c->ring->words + PEET_SOURCE_RING_WORDS + PEET_RAW_SLACK_WORDS)
        return PEET_EUNSUPPORTED;
    c->cursor = c->ring->words;
    c->end = end;
    if (peet__source_notes(s, c))
        s->notes_lost = 1;
    c->done = c->crashed = c->ends_all = 1;
    if (s->record)
        peet__record_slice(s->record, context, c, PEET_SLICE_CRASHED, (uint64_t)status);
    s->args[0] = (uint64_t)status;
    return 0;
}

uint64_t peet_source_extraneous_blocks(const struct peet_source *source)
{
    return source->extraneous_blocks;
}
