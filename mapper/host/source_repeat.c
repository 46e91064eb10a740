/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Contexts that look at memory again and again (peet_source_ops.repeat in mapper.h).  As long as what a context looks at
 * stays as it is, its next round is like its last one, word for word; so the words of many rounds are made from one, and
 * the program does not run for them.
 *
 *   1. A *round* is what a context does from one of its ATOMIC events to the next equal one.  It has one or two events: an
 *      access, and often a pause (ATOMIC) or a YIELD.  Each ends a slice of words.
 *   2. A round that is repeated is *examined* first: it consists of blocks, stores nothing outside its own stack, and all
 *      that it loads from elsewhere it loads before its second event.  So a context that is to see memory anew can go on
 *      from its first event, where it really is, whatever it has done of the round behind it.
 *   3. What lies where it loads and stores is kept, and was the same after two rounds: it changes nothing there itself.
 *      It is compared before rounds are given, and each time that anybody has run: if it has changed, or there is a signal
 *      for the context, the engine hears of it, takes back what comes later, and cuts what is left.
 *   4. The words of rounds that are given have no events among them, but one at the end.  When they are cut, each
 *      slice of the round that has begun has its event again.
 */
#include "host/source_parts.h"

#include <stdlib.h>
#include <string.h>
#include <utlist.h>

enum {
    SLICES = 2,       /* of a round at most */
    KEPT = 4,         /* slices that are remembered: a round, and what comes before */
    UNASKED = 16,     /* slices after which none are, if nobody asks for rounds */
    SLICE_WORDS = 48, /* of a slice at most */
    LOOKS = 16,       /* loads of a round, and stores to the stack, at most */
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
enum verdict {
    UNKNOWN,
    REPEATS, /* from its first event on */
    FAILS,   /* from its first event on; perhaps from its second */
    NEVER,
};

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

/** A block of the round, which comes behind its @slice-th event.  Returns: whether it may be repeated */
static int examine_block(struct peet_source_repeat *r, const struct peet_block_event *event, unsigned slice)
{
    const struct peet_block *const block = event->block;

    if (event->strides || !(block->flags & PEET_BLOCK_SIMPLE) || block->flags & PEET_BLOCK_OPAQUE)
        return 0;
    for (uint32_t i = 0; i < block->nrefs; i++) {
        const struct peet_ref *const ref = &block->refs[i];
        const int own = ref->flags & PEET_REF_STACK;

        if (ref->kind == PEET_REF_PREFETCH)
            continue;
        if (!own && (ref->kind != PEET_REF_LOAD || slice))
            return 0;
        if (r->nlooks == LOOKS || ref->size_bytes > LOOK_BYTES)
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
        int kind;

        while ((kind = peet_decode_next(c->decode, &at, end, 1, &event, NULL)) == PEET_EVENT_BLOCK && fits)
            fits = examine_block(r, &event.block, i);
        fits = fits && kind == PEET_EVENT_ABSTRACT && at == end;
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

/** The round that is over, as the one that was examined: the same, from its other event on, or another one? */
static enum verdict judge(struct peet_source_context *c, unsigned slices)
{
    struct peet_source_repeat *const r = c->repeat;
    const struct slice *const first = ago(r, slices - 1), *const last = ago(r, 0);
    const int known = r->nslices == slices && r->verdict != UNKNOWN;
    const int turned = known && slices == 2 && same(first, &r->round[1]) && same(last, &r->round[0]);

    if (known && same(first, &r->round[0]) && same(last, &r->round[slices - 1]))
        return r->verdict;
    if (turned && r->verdict != FAILS) /* from its first event on, or not at all */
        return r->verdict == NEVER ? NEVER : UNKNOWN;
    r->nslices = slices;
    r->verdict = examine(c, slices) ? REPEATS : turned || slices == 1 ? NEVER : FAILS;
    return UNKNOWN; /* what it finds has not been looked at */
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
    give(s, r, times * slices);
    return times * slices;
}

unsigned peet__source_cut(void *self, uint32_t context)
{
    struct peet_source *const s = self;
    struct peet_source_context *const c = s->contexts[context];
    struct peet_source_repeat *const r = c->repeat;
    const size_t first = r ? r->round[0].n : 0;
    size_t at, rounds, rest;
    uint64_t *to;
    unsigned i;

    if (!r || !r->given || c->cursor == c->end)
        return r ? r->given : 0;
    r->looked = 0;
    at = (size_t)(c->cursor - c->ring->words);
    rounds = at / r->n, rest = at % r->n;
    if (rounds * r->nslices >= r->given)
        return r->given;
    if (at == 0) {
        give(s, r, 0);
        c->end = c->cursor;
        return 0;
    }
    /* What is left of the slice that has begun, and of its round, with their events. */
    if (rest == 0)
        rounds--, rest = r->n;
    i = rest > first;
    to = c->ring->words + rounds * r->n + (i ? r->n : first);
    give(s, r, (unsigned)rounds * r->nslices + i + 1);
    for (to = put_event(to, &r->round[i]); ++i < r->nslices; to = put_event(to, &r->round[i]))
        to = put(to, r->round[i].words, r->round[i].n);
    c->end = to;
    return r->given;
}

void peet__source_repeat_free(struct peet_source *s, struct peet_source_context *c)
{
    if (c->repeat)
        give(s, c->repeat, 0);
    free(c->repeat);
    c->repeat = NULL;
}
