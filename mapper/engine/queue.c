/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What followers are told: blocks and loops in the leader's order, kept until there are many.  Then each follower gets all
 * of them, one follower after the other, so that one follower's caches and tables are in the host's caches meanwhile.
 *
 * A message in the queue is three words, struct message, and then for each block its address and its values; for a loop
 * its iterations and strides come after the values.  Called by batch.c and loops.c, and wherever results are asked for.
 */
#include "engine/queue.h"
#include "engine/follow.h"

#include <stdlib.h>
#include <string.h>

enum { SCRATCH = 64 };

/** What a message says.  The last three are for processes of the crew: a block that they do not know, the end of the
 * program, statistics are asked for. */
enum form { ONE_BLOCK, BLOCKS, LOOP, DEFINE, FINISH, STATS };

struct message {
    uint32_t form, hw;   /* enum form */
    uint32_t n, context; /* blocks; DEFINE: words, and id */
    uint64_t now;        /* the leader's clock, or 0: peet__map_tells() */
};
enum { MESSAGE_WORDS = sizeof(struct message) / sizeof(uint64_t) };

/** Room for a message.  Returns: where, or NULL */
static uint64_t *begin(struct peet_map *map, size_t nwords)
{
    struct peet_queue *q = map->queue;

    if (q->n + nwords > QUEUE_WORDS)
        peet__map_tell_followers(map);
    if (nwords > QUEUE_WORDS || (!q->words && !(q->words = malloc(QUEUE_WORDS * sizeof *q->words)))) {
        peet__map_fail(map, PEET_ENOMEM, "no room for what followers are told");
        return NULL;
    }
    return q->words + q->n;
}

static void queue_word(struct peet_map *map, enum form form, uint64_t now)
{
    uint64_t *at = begin(map, MESSAGE_WORDS);

    if (at) {
        *(struct message *)at = (struct message){.form = form, .now = now};
        map->queue->n += MESSAGE_WORDS;
    }
}

/** The crew is told of a block that was not there when it was made. */
static __attribute__((noinline)) void define(struct peet_map *map, const struct peet_block *block)
{
    struct peet_queue *q = map->queue;
    const uint32_t i = block->id - q->known;
    const size_t nwords = peet__ship_block(block, NULL);
    uint64_t *at;

    if (i >= q->ndefined) {
        const uint32_t n = 2 * i + 64;
        uint8_t *more = realloc(q->defined, n);

        if (!more) {
            peet__map_fail(map, PEET_ENOMEM, "out of memory for blocks that followers are told of");
            return;
        }
        memset(more + q->ndefined, 0, n - q->ndefined);
        q->defined = more;
        q->ndefined = n;
    }
    if (q->defined[i] || !(at = begin(map, MESSAGE_WORDS + nwords)))
        return;
    q->defined[i] = 1;
    *(struct message *)at = (struct message){.form = DEFINE, .n = (uint32_t)nwords, .context = i};
    peet__ship_block(block, at + MESSAGE_WORDS);
    q->n += MESSAGE_WORDS + nwords;
}

static inline void make_known(struct peet_map *map, const struct peet_block *block)
{
    if (__builtin_expect(map->queue->crew && block->id >= map->queue->known, 0))
        define(map, block);
}

/** Blocks of a process of the crew. */
static void defined(struct peet_map_module *m, const struct message *message, const uint64_t *words)
{
    struct peet_queue *q = m->map->queue;

    if (!q->blocks || message->context >= q->ndefined) {
        const uint32_t n = 2 * message->context + 64;
        struct peet_block **more = realloc(q->blocks, n * sizeof *more);

        if (!more) {
            peet__map_module_fail(m, "out of memory");
            return;
        }
        q->blocks = more;
        q->ndefined = n;
    }
    if (!(q->blocks[message->context] = peet__unship_block(words)))
        peet__map_module_fail(m, "out of memory");
}

/** A block's name in a message: its address, or if the crew has a copy 1 and twice its number there. */
static inline uint64_t name_of(const struct peet_queue *q, const struct peet_block *block)
{
    return q->crew && block->id >= q->known ? 2ull * (block->id - q->known) + 1 : (uintptr_t)block;
}

static inline const struct peet_block *block_named(const struct peet_queue *q, uint64_t name)
{
    return name & 1 ? q->blocks[name / 2] : (const struct peet_block *)(uintptr_t)name;
}

static uint64_t *put_block(const struct peet_queue *q, uint64_t *at, const struct peet_block_event *event)
{
    const uint32_t n = event->values ? event->block->nvalues : 0;

    *at++ = name_of(q, event->block);
    for (uint32_t i = 0; i < n; i++)
        *at++ = event->values[i];
    for (uint32_t i = n; i < event->block->nvalues; i++) /* nobody has asked for them */
        *at++ = 0;
    return at;
}

void peet__map_queue_blocks(struct peet_map *map, unsigned hw, const struct peet_block_event *events, size_t n,
    uint64_t now, int batch)
{
    size_t nwords = MESSAGE_WORDS;
    uint64_t *at;

    for (size_t i = 0; i < n; i++) {
        make_known(map, events[i].block);
        nwords += 1 + events[i].block->nvalues;
    }
    if (!(at = begin(map, nwords)))
        return;
    *(struct message *)at = (struct message){batch ? BLOCKS : ONE_BLOCK, hw, (uint32_t)n, events->context, now};
    at += MESSAGE_WORDS;
    for (size_t i = 0; i < n; i++)
        at = put_block(map->queue, at, &events[i]);
    map->queue->n += nwords;
}

void peet__map_queue_loop(struct peet_map *map, unsigned hw, const struct peet_block_event *event, uint64_t now)
{
    const size_t nvalues = event->block->nvalues, nwords = MESSAGE_WORDS + 2 + 2 * nvalues;
    uint64_t *at;

    make_known(map, event->block);
    if (!(at = begin(map, nwords)))
        return;
    *(struct message *)at = (struct message){LOOP, hw, 1, event->context, now};
    at = put_block(map->queue, at + MESSAGE_WORDS, event);
    *at++ = event->turns;
    if (event->strides)
        memcpy(at, event->strides, nvalues * sizeof *at);
    map->queue->n += nwords;
}

/** The next block of a message. */
static inline const uint64_t *get_block(const struct peet_map_module *module, const uint64_t *at,
    const struct message *m, struct peet_block_event *out)
{
    *out = (struct peet_block_event){
        .block = block_named(module->map->queue, *at), .values = at + 1, .context = m->context, .turns = 1};
    return at + 1 + out->block->nvalues;
}

static const uint64_t *get_loop(const struct peet_map_module *module, const uint64_t *at, const struct message *m,
    struct peet_block_event *out)
{
    at = get_block(module, at, m, out);
    out->turns = *at++;
    out->strides = (const int64_t *)at;
    return at + out->block->nvalues;
}

/** A loop, for a machine that gets it as an event. */
static void loop_event(struct peet_map_module *m, unsigned hw, const struct peet_block_event *event, uint64_t now)
{
    const uint64_t begin = peet__map_begin(m, hw, now);
    uint64_t all = event->turns;

    peet__map_done(m, hw, begin, m->module->loop(m->self, hw, event, begin, UINT64_MAX, &all), "loop");
    peet__map_took(m, all, event->turns, "loop", "turns");
}

/** Blocks, for a machine that gets them as events. */
static const uint64_t *block_events(struct peet_map_module *m, const struct message *message, const uint64_t *at)
{
    struct peet_block_event room[SCRATCH], *events = message->n > SCRATCH ? malloc(message->n * sizeof *events) : room;
    const uint64_t begin = peet__map_begin(m, message->hw, message->now);
    size_t all = message->n;

    if (!events) {
        peet__map_module_fail(m, "out of memory");
        return NULL;
    }
    for (uint32_t i = 0; i < message->n; i++)
        at = get_block(m, at, message, &events[i]);
    if (message->form == ONE_BLOCK) {
        peet__map_done(m, message->hw, begin, m->module->block(m->self, message->hw, events, begin), "block");
    } else {
        peet__map_done(m, message->hw, begin,
            m->module->blocks(m->self, message->hw, events, message->n, begin, UINT64_MAX, &all), "blocks");
        peet__map_took(m, all, message->n, "blocks", "blocks");
    }
    if (events != room)
        free(events);
    return at;
}

/** A message, as events. */
static const uint64_t *as_events(struct peet_map_module *m, const struct message *message, const uint64_t *at)
{
    struct peet_block_event event;

    if (message->form != LOOP)
        return block_events(m, message, at);
    at = get_loop(m, at, message, &event);
    loop_event(m, message->hw, &event, message->now);
    return at;
}

/** A message, to a machine that shows its tags. */
static const uint64_t *by_tags(struct peet_map_module *m, const struct message *message, const uint64_t *at)
{
    struct peet_direct_run *run = peet__follow_go_on(m, message->hw, message->now);
    struct peet_block_event event;

    if (message->form != LOOP) {
        for (uint32_t i = 0; i < message->n; i++) {
            at = get_block(m, at, message, &event);
            peet__follow_block(m, run, &event);
        }
        return at;
    }
    at = get_loop(m, at, message, &event);
    if (!peet__follow_loop(m, run, &event) && run->limit) {
        peet__follow_close(m);
        m->map->current = message->hw;
        loop_event(m, message->hw, &event, message->now);
    }
    return at;
}

/** What is no block.  Returns: what comes after it */
static const uint64_t *perform(struct peet_map_module *m, const struct message *message, const uint64_t *at)
{
    switch (message->form) {
    case DEFINE:
        defined(m, message, at);
        return at + message->n;
    case FINISH:
        if (m->follow)
            peet__follow_close(m);
        m->map->end_cycles = message->now;
        peet__map_module_finish(m);
        return at;
    default:
        peet__crew_answer(m);
        return at;
    }
}

void peet__queue_deliver(struct peet_map_module *m, const uint64_t *words, size_t n)
{
    const uint64_t *at = words, *const end = words + n;
    const unsigned current = m->map->current;

    while (at && at < end && (!m->failed || m->map->queue->crew)) {
        const struct message *message = (const struct message *)at;

        at += MESSAGE_WORDS;
        if (__builtin_expect(message->form > LOOP, 0)) {
            at = perform(m, message, at);
        } else if (m->follow) {
            at = by_tags(m, message, at);
        } else {
            m->map->current = message->hw;
            at = as_events(m, message, at);
        }
    }
    m->map->current = current;
}

void peet__map_tell_followers(struct peet_map *map)
{
    struct peet_queue *q = map->queue;

    if (!q || !q->n)
        return;
    if (q->crew) {
        peet__crew_publish(map, 0);
        return;
    }
    for (unsigned i = 0; i < map->nobservers; i++)
        if (map->observers[i]->queued && !map->observers[i]->failed)
            peet__queue_deliver(map->observers[i], q->words, q->n);
    q->n = 0;
}

void peet__map_settle_followers(struct peet_map *map)
{
    const unsigned current = map->current;

    if (map->queue && map->queue->crew) {
        queue_word(map, STATS, 0);
        peet__crew_publish(map, 1);
        return;
    }
    peet__map_tell_followers(map);
    for (unsigned i = 0; i < map->nobservers; i++)
        if (map->observers[i]->queued && map->observers[i]->follow && !map->observers[i]->failed)
            peet__follow_close(map->observers[i]);
    map->current = current;
}

void peet__map_finish_followers(struct peet_map *map)
{
    if (map->queue && map->queue->crew) {
        queue_word(map, FINISH, map->end_cycles);
        peet__crew_finish(map);
    }
    for (unsigned i = 0; i < map->nobservers; i++)
        map->observers[i]->finished |= map->observers[i]->away;
}

int peet__map_queue_new(struct peet_map *map)
{
    return map->queue || (map->queue = calloc(1, sizeof *map->queue)) ? 0 : -1;
}

void peet__map_queue_free(struct peet_map *map)
{
    if (!map->queue)
        return;
    if (map->queue->crew)
        peet__crew_free(map);
    free(map->queue->words);
    free(map->queue->defined);
    free(map->queue);
}
