/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Contexts that look at memory again and again (peet_source_ops.repeat in mapper.h).  As long as what a context looks at
 * stays as it is, its next round is like its last one, word for word; so the words of many rounds are made from one, and
 * the program does not run for them.
 *
 *   1. A *round* is what a context does from one of its ATOMIC events to the next equal one.  It has up to SLICES events,
 *      ATOMIC or YIELD: looks, and often a pause.  Each ends a slice of words.
 *   2. A round that is repeated is *examined* first: it consists of blocks, stores nothing outside its own stack, and calls
 *      nothing but what yields: what is called may be code that is not seen, which may count.
 *   3. What lies where it loads and stores is kept, and was the same after two rounds: it changes nothing there itself.
 *      It is compared before rounds are given, and each time that anybody has run: if it has changed, or there is a signal
 *      for the context, the engine hears of it, takes back what comes later, and cuts what is left.
 *   4. The words of rounds that are given have no events among them, but one at the end.  When they are cut, the slice
 *      that has begun has its event again.
 *   5. The program stands at the event with which the round begins.  If it is cut in its middle, the program goes as far as
 *      the slice that has begun: with memory as it was, and without the signals that have come since.
 */
#include "host/source_parts.h"

#include <stdlib.h>
#include <string.h>
#include <utlist.h>

enum {
    SLICES = PEET_REPEATS_SLICES,
    KEPT = 16,        /* slices that are remembered: a round, and what comes before */
    UNASKED = 64,     /* slices after which none are, if nobody asks for rounds */
    SLICE_WORDS = 32, /* of a slice at most */
    LOOKS = 24,       /* loads of a round, and stores to the stack, at most */
    LOOK_BYTES = 16,
    STEADY = 2, /* rounds in a row that have found the same */
};

struct look {
    const void *address;
    unsigned bytes;
    uint8_t found[LOOK_BYTES];
};

struct slice {
    unsigned n;     /* words before its event */
    unsigned event; /* words of that; 0: it was too long, ended otherwise, or has not come yet */
    uint64_t words[SLICE_WORDS];
};

/** What is known of the round that was looked at last. */
enum verdict { UNKNOWN, REPEATS, NEVER };

struct peet_source_repeat {
    struct peet_source_repeat *prev, *next_given; /* in the source's list of those that have been given some */
    struct peet_source_context *context;
    uint32_t number;         /* of the context */
    struct slice last[KEPT]; /* the last slices; the next one is written to last[next] */
    unsigned next;
    unsigned unasked;           /* slices since rounds were asked for */
    struct slice round[SLICES]; /* the round that was examined, from its first event on */
    unsigned nslices;           /* of it */
    enum verdict verdict;
    unsigned nlooks;
    struct look looks[LOOKS];
    unsigned looked; /* rounds in a row, up to STEADY, that have left there what is in `found`; 0: it is out of date */
    unsigned given;  /* so many slices have been given, and the context has not run since */
    unsigned gone;   /* slices of the round that has been cut through which the program has gone */
    size_t n;        /* words of a round without its events */
};

/** The slice of so many slices ago; 0: the last one. */
static struct slice *ago(struct peet_source_repeat *r, unsigned slices)
{
    return &r->last[(r->next + KEPT - 1 - slices) % KEPT];
}

static int same(const struct slice *a, const struct slice *b)
{
    return a->event && a->n == b->n && a->event == b->event &&
        memcmp(a->words, b->words, (a->n + a->event) * sizeof *a->words) == 0;
}

/** Would the context's next round be like the last one? */
static int unchanged(const struct peet_source_repeat *r)
{
    if (peet_ctx_is_called(r->context->ctx))
        return 0;
    for (unsigned i = 0; i < r->nlooks; i++)
        if (!peet_rt_same(r->looks[i].address, r->looks[i].found, r->looks[i].bytes))
            return 0;
    return 1;
}

static int calls(const struct peet_block *block)
{
    return block->ninsns && block->insns[block->ninsns - 1].opcode->klass == PEET_INSN_CALL;
}

/** A block of the round.  Returns: whether it may be repeated */
static int examine_block(struct peet_source_repeat *r, const struct peet_block_event *event)
{
    const struct peet_block *const block = event->block;

    if (event->strides || !(block->flags & PEET_BLOCK_SIMPLE) || block->flags & PEET_BLOCK_OPAQUE)
        return 0;
    for (uint32_t i = 0; i < block->ninsns; i++)
        if (strstr(block->insns[i].opcode->name, "SYSCALL"))
            return 0;
    for (uint32_t i = 0; i < block->nrefs; i++) {
        const struct peet_ref *const ref = &block->refs[i];

        if (ref->kind == PEET_REF_PREFETCH)
            continue;
        if ((ref->kind != PEET_REF_LOAD && !(ref->flags & PEET_REF_STACK)) || r->nlooks == LOOKS ||
            ref->size_bytes > LOOK_BYTES)
            return 0;
        r->looks[r->nlooks++] =
            (struct look){.address = (const void *)(uintptr_t)event->values[ref->value], .bytes = ref->size_bytes};
    }
    return 1;
}

/** The words of the last slices, decoded once more.  Returns: whether they may be repeated */
static int examine(struct peet_source_context *c, unsigned nslices)
{
    struct peet_source_repeat *const r = c->repeat;
    uint64_t state[PEET_DECODE_STATE_WORDS];
    const size_t n = peet_decode_state_save(c->decode, state, PEET_DECODE_STATE_WORDS);
    int fits = n != 0;

    r->nlooks = 0;
    r->looked = 0;
    for (unsigned i = 0; i < nslices; i++)
        r->round[i] = *ago(r, nslices - 1 - i);
    for (unsigned i = 0; fits && i < nslices; i++) {
        const struct slice *const slice = &r->round[i];
        const uint64_t *at = slice->words, *const end = at + slice->n + slice->event;
        struct peet_event event;
        int kind, called = 0;

        while ((kind = peet_decode_next(c->decode, &at, end, 1, &event, NULL)) == PEET_EVENT_BLOCK && fits) {
            fits = !called && examine_block(r, &event.block);
            called = calls(event.block.block);
        }
        fits =
            fits && kind == PEET_EVENT_ABSTRACT && at == end && (!called || event.abstract.type == PEET_ABSTRACT_YIELD);
    }
    if (n && peet_decode_state_restore(c->decode, state, n, NULL))
        fits = 0;
    return fits;
}

static uint64_t *put(uint64_t *to, const uint64_t *words, size_t n)
{
    memcpy(to, words, n * sizeof *to);
    return to + n;
}

static uint64_t *put_event(uint64_t *to, const struct slice *slice)
{
    return put(to, slice->words + slice->n, slice->event);
}

static void give(struct peet_source *s, struct peet_source_repeat *r, unsigned slices)
{
    if (slices && !r->given)
        DL_APPEND2(s->repeating, r, prev, next_given);
    else if (!slices && r->given)
        DL_DELETE2(s->repeating, r, prev, next_given);
    r->given = slices;
}

/** A slice of @n words; if it ends otherwise than with an ATOMIC or YIELD event, it is not kept. */
static void keep(struct slice *slice, const uint64_t *words, size_t n)
{
    enum { ATOMIC_WORDS = 3, YIELD_WORDS = 1 };

    slice->n = slice->event = 0;
    if (n > SLICE_WORDS)
        return;
    if (n >= ATOMIC_WORDS && words[n - ATOMIC_WORDS] == PEET_RAW_ABSTRACT(PEET_ABSTRACT_ATOMIC, ATOMIC_WORDS - 1))
        slice->event = ATOMIC_WORDS;
    else if (n >= YIELD_WORDS && words[n - YIELD_WORDS] == PEET_RAW_ABSTRACT(PEET_ABSTRACT_YIELD, YIELD_WORDS - 1))
        slice->event = YIELD_WORDS;
    else
        return;
    slice->n = (unsigned)n - slice->event;
    memcpy(slice->words, words, n * sizeof *words);
}

void peet__source_ran(struct peet_source *s, struct peet_source_context *c, enum peet_yield why)
{
    struct peet_source_repeat *const r = c->repeat;
    struct peet_source_repeat *other, *after;
    struct slice *last;

    for (other = s->repeating; other; other = after) {
        after = other->next_given;
        if (other != r && other->looked && !unchanged(other))
            peet_map_looks_again(s->map, other->number);
    }
    if (!r)
        return;
    give(s, r, 0);
    if (++r->unasked > UNASKED)
        return;
    last = &r->last[r->next++ % KEPT];
    keep(last, c->cursor, why == PEET_YIELD_EVENT ? (size_t)(c->end - c->cursor) : 0);
    if (r->verdict != REPEATS || !same(last, &r->round[0]))
        return;
    r->looked = r->looked && unchanged(r) ? STEADY : 1;
    for (unsigned i = 0; r->looked == 1 && i < r->nlooks; i++)
        memcpy(r->looks[i].found, r->looks[i].address, r->looks[i].bytes);
}

/** Have the last so many slices led from an event to an equal one, and to no other event but such? */
static int comes_round(struct peet_source_repeat *r, unsigned slices)
{
    const struct slice *const last = ago(r, 0), *const before = ago(r, slices);

    for (unsigned i = 0; i <= slices; i++)
        if (!ago(r, i)->event)
            return 0;
    return before->event == last->event &&
        memcmp(before->words + before->n, last->words + last->n, last->event * sizeof *last->words) == 0;
}

/** The round that is over: as the one that was examined, or another one? */
static enum verdict judge(struct peet_source_context *c, unsigned slices)
{
    struct peet_source_repeat *const r = c->repeat;
    int known = r->nslices == slices && r->verdict != UNKNOWN;

    for (unsigned i = 0; known && i < slices; i++)
        known = same(ago(r, slices - 1 - i), &r->round[i]);
    if (known)
        return r->verdict;
    r->nslices = slices;
    r->verdict = examine(c, slices) ? REPEATS : NEVER;
    return UNKNOWN; /* what it finds has not been looked at */
}

/** What lies there becomes what was found there, if it is something else now.  Returns: 1: so it is, and @out has what was there;
 * 0: it was that; -1: it cannot be done */
static int put_back(const struct look *look, uint8_t *out)
{
    void *const there = (void *)(uintptr_t)look->address;

    if (peet_rt_same(there, look->found, look->bytes))
        return 0;
    return peet_rt_copy(out, there, look->bytes) && peet_rt_copy(there, look->found, look->bytes) ? 1 : -1;
}

/** The program goes through so many slices of its round, of which the words are known, as it would have done before
 * anything changed. */
static void go_through(struct peet_source *s, struct peet_source_context *c, unsigned slices)
{
    struct peet_source_repeat *const r = c->repeat;
    struct peet_source_ring *const given = c->ring;
    const uint64_t *const cursor = c->cursor, *const end_of_given = c->end;
    uint8_t values[LOOKS][LOOK_BYTES];
    int is_put[LOOKS], all = 1;
    unsigned n = 0;

    for (; n < r->nlooks && all; n++) {
        is_put[n] = put_back(&r->looks[n], values[n]);
        all = is_put[n] >= 0;
    }
    c->ring = NULL;
    /* If some memory is not there any more, it will find that out itself. */
    if (all && !peet__source_ring(s, c, NULL)) {
        peet_rt_aside(1);
        for (unsigned i = 0; i < slices; i++) {
            uint64_t *const words = c->ring->words, *end = words;

            peet_ctx_resume(c->ctx, words, words + s->limit_words, 0, &end);
            s->strayed |= (size_t)(end - words) != r->round[i].n + r->round[i].event ||
                memcmp(words, r->round[i].words, (size_t)(end - words) * sizeof *words) != 0;
        }
        peet_rt_aside(0);
        peet__source_drop_ring(s, c);
    }
    c->ring = given;
    c->cursor = cursor;
    c->end = end_of_given;
    /* Backwards, since they may overlap.  In the others stands what the context itself has just stored. */
    while (n--)
        if (is_put[n] > 0)
            peet_rt_copy((void *)(uintptr_t)r->looks[n].address, values[n], r->looks[n].bytes);
}

unsigned peet__source_repeat(void *self, uint32_t context, unsigned slices, unsigned times)
{
    struct peet_source *const s = self;
    struct peet_source_context *const c = s->contexts[context];
    struct peet_source_repeat *r = c->repeat;
    enum verdict verdict;
    uint64_t *to;

    if (c->cursor != c->end || c->done || c->loop || s->record || s->replay || s->views || !c->ctx || slices > SLICES)
        return 0;
    if (!r) {
        c->repeat = r = calloc(1, sizeof *r);
        if (r)
            r->context = c, r->number = context;
        return 0;
    }
    if (r->unasked > UNASKED) /* it has not been remembered what came before */
        for (unsigned i = 0; i < KEPT; i++)
            r->last[i].event = 0;
    r->unasked = 0;
    verdict = comes_round(r, slices) ? judge(c, slices) : UNKNOWN;
    if (verdict == NEVER)
        return PEET_REPEATS_NEVER;
    if (verdict != REPEATS || r->looked < STEADY || !unchanged(r) || peet__source_ring(s, c, NULL))
        return 0;
    r->n = 0;
    for (unsigned i = 0; i < slices; i++)
        r->n += r->round[i].n;
    if (!r->n)
        return 0;
    if (times > PEET_SOURCE_AHEAD_WORDS / r->n)
        times = (unsigned)(PEET_SOURCE_AHEAD_WORDS / r->n);
    to = c->ring->words;
    for (unsigned i = 0; i < times * slices; i++)
        to = put(to, r->round[i % slices].words, r->round[i % slices].n);
    c->cursor = c->ring->words;
    c->end = put_event(to, &r->round[slices - 1]);
    r->gone = 0;
    give(s, r, times * slices);
    return times * slices;
}

unsigned peet__source_cut(void *self, uint32_t context)
{
    struct peet_source *const s = self;
    struct peet_source_context *const c = s->contexts[context];
    struct peet_source_repeat *const r = c->repeat;
    size_t at, rounds, end;
    unsigned i = 0;

    if (!r || !r->given || c->cursor == c->end)
        return r ? r->given : 0;
    r->looked = 0;
    at = (size_t)(c->cursor - c->ring->words);
    rounds = at / r->n;
    if (rounds * r->nslices >= r->given)
        return r->given;
    if (at == 0) {
        give(s, r, 0);
        c->end = c->cursor;
        return 0;
    }
    /* The slice that has begun, or has just ended. */
    rounds -= at % r->n == 0;
    for (end = rounds * r->n + r->round[0].n; end < at; end += r->round[++i].n)
        ;
    give(s, r, (unsigned)rounds * r->nslices + i + 1);
    if (i + 1 < r->nslices && !r->gone) {
        go_through(s, c, i + 1);
        r->gone = i + 1;
    }
    c->end = put_event(c->ring->words + end, &r->round[i]);
    return r->given;
}

void peet__source_repeat_free(struct peet_source *s, struct peet_source_context *c)
{
    if (c->repeat)
        give(s, c->repeat, 0);
    free(c->repeat);
    c->repeat = NULL;
}
