/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Marked loops: the subject runs a sequential loop whose iterations are set off by marks, and the
 * mapper wants the iterations in an order of its own.  The carrier runs ahead, its words are cut at the
 * marks and kept per iteration until they are asked for.  A mark suspends the carrier, so each of its
 * slices lies wholly inside or wholly outside an iteration; what follows a mark begins with a block
 * that says all, so an iteration can be decoded by itself.
 */
#include "host/source_parts.h"
#include "data/datamap.h"

#include <stdlib.h>
#include <string.h>

void peet__source_segment_free(struct peet_source_segment *segment)
{
    if (segment)
        free(segment->words);
    free(segment);
}

void peet__source_loop_free(struct peet_source_loop *loop)
{
    struct peet_source_segment *one, *more;

    if (!loop)
        return;
    HASH_ITER(hh, loop->segments, one, more)
    {
        HASH_DEL(loop->segments, one);
        peet__source_segment_free(one);
    }
    free(loop);
}

static int no_memory(struct peet_error *error)
{
    return peet_error_set(error, PEET_ENOMEM,
        "out of memory for the words of a marked loop: the function form of doall (peet_doall) needs none");
}

static int append(struct peet_source_segment *segment, const uint64_t *from, const uint64_t *end,
    struct peet_error *error)
{
    size_t n = (size_t)(end - from);
    uint64_t *more = realloc(segment->words, (segment->n + n + PEET_DECODE_ROOM_WORDS) * sizeof *more);

    if (!more)
        return no_memory(error);
    memcpy(more + segment->n, from, n * sizeof *more);
    segment->words = more;
    segment->n += n;
    return 0;
}

/** Does this slice's last record have this type and one argument? */
static int ends_with(const struct peet_source_context *c, unsigned type)
{
    return c->end - c->cursor >= 2 && c->end[-2] == PEET_RAW_ABSTRACT(type, 1);
}

/** The carrier has begun an iteration: run it to the end of that and keep its words. */
static int record_iteration(struct peet_source *s, uint32_t carrier, uint64_t iteration, struct peet_error *error)
{
    struct peet_source_context *c = s->contexts[carrier];
    struct peet_source_segment *segment = calloc(1, sizeof *segment), *twice;
    int err = segment ? 0 : no_memory(error), over = 0;

    while (!err && !over) {
        enum peet_yield why = peet__source_resume(s, c, carrier);

        over = why == PEET_YIELD_DONE;
        if (why == PEET_YIELD_EVENT && ends_with(c, PEET_ABSTRACT_MARK_FINISH) && c->end[-1] == iteration) {
            over = 1;
            c->end -= 2;
        } else if (why == PEET_YIELD_EVENT && ends_with(c, PEET_ABSTRACT_PROGRAM_EXIT)) {
            over = c->loop->stopped = 1;
        }
        err = append(segment, c->cursor, c->end, error);
        c->cursor = c->end;
    }
    if (err) {
        peet__source_segment_free(segment);
        return err;
    }
    segment->iteration = iteration;
    HASH_FIND(hh, c->loop->segments, &iteration, sizeof iteration, twice);
    if (twice) {
        peet__source_segment_free(segment);
        return peet_error_set(error, PEET_ESTREAM, "context %u: iteration %lld of a marked loop is begun twice",
            s->map ? peet_map_number(s->map, carrier) : carrier, (long long)iteration);
    }
    HASH_ADD(hh, c->loop->segments, iteration, sizeof segment->iteration, segment);
    return 0;
}

/** One slice of the carrier outside iterations, and the iteration that it begins.  Sets loop->joined at the end. */
static int advance(struct peet_source *s, uint32_t carrier, struct peet_error *error)
{
    struct peet_source_context *c = s->contexts[carrier];
    struct peet_event event;
    int kind = peet__source_ring(s, c, error);

    if (kind)
        return kind;
    peet__source_resume(s, c, carrier);
    while (c->cursor != c->end || peet_decode_busy(c->decode)) {
        kind = peet_decode_next(c->decode, &c->cursor, c->end, 0, &event, error);
        if (kind < 0)
            return kind;
        if (kind == PEET_EVENT_NEED_WORDS) /* the trace was cut off */
            c->cursor = c->end;
        if (kind == PEET_EVENT_BLOCK)
            s->extraneous_blocks++;
        if (kind != PEET_EVENT_ABSTRACT)
            continue;
        if (s->data && (event.abstract.type == PEET_ABSTRACT_ALLOC || event.abstract.type == PEET_ABSTRACT_FREE) &&
            peet_datamap_note(s->data, event.abstract.type, event.abstract.args, event.abstract.nargs))
            return no_memory(error); /* between iterations: not simulated, but it has happened */
        if (event.abstract.type == PEET_ABSTRACT_MARK_START)
            return record_iteration(s, carrier, event.abstract.args[0], error);
        if (event.abstract.type == PEET_ABSTRACT_MARK_JOIN)
            c->loop->joined = 1;
        if (event.abstract.type == PEET_ABSTRACT_PROGRAM_EXIT) {
            c->loop->stopped = c->loop->joined = 1;
            s->args[1] = event.abstract.args[0];
        }
    }
    if (c->done)
        c->loop->joined = 1;
    return 0;
}

int peet__source_iteration(struct peet_source *s, uint32_t carrier, uint64_t iteration,
    struct peet_source_segment **out_segment, struct peet_error *error)
{
    struct peet_source_context *c = s->contexts[carrier];
    int err;

    if (!c->loop)
        return peet_error_set(error, PEET_ESTREAM, "context %u carries no marked loop", carrier);
    for (;;) {
        HASH_FIND(hh, c->loop->segments, &iteration, sizeof iteration, *out_segment);
        if (*out_segment) {
            HASH_DEL(c->loop->segments, *out_segment);
            return 0;
        }
        if (c->loop->joined || c->loop->stopped)
            return PEET_ENOTFOUND;
        err = advance(s, carrier, error);
        if (err)
            return err;
    }
}

int peet__source_join(struct peet_source *s, uint32_t context, struct peet_event *out_event, struct peet_error *error)
{
    struct peet_source_context *c = s->contexts[context];
    int err, stopped;

    while (!c->loop->joined && !c->loop->stopped) {
        err = advance(s, context, error);
        if (err)
            return err;
    }
    stopped = c->loop->stopped;
    peet__source_loop_free(c->loop);
    c->loop = NULL;
    peet__source_drop_ring(s, c);
    if (c->done)
        return 0;
    /* exit() between two iterations: the program's end takes the place of the join */
    s->args[0] = s->args[1];
    out_event->abstract =
        (struct peet_abstract_event){.type = stopped ? PEET_ABSTRACT_PROGRAM_EXIT : PEET_ABSTRACT_MARK_JOIN,
            .context = context,
            .nargs = stopped,
            .args = s->args};
    return PEET_EVENT_ABSTRACT;
}
