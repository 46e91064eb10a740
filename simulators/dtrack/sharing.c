/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines that several processors' caches have.  Each line that was ever missed has a short record: touched by one cache
 * or by several. From the first time that another's write takes it away it is *watched*: for each cache the words that
 * it has touched since it got the line, and those that others have written since it lost it.  A miss on a line that was
 * taken away is true sharing if the cache touches, before it loses the line again, a word that others had written while
 * it was away; else nothing new was read, and it is false sharing (M. Dubois et al., ISCA 1993).  Words are 4 bytes, or
 * a 64th of a line over 256 bytes.
 */
#include "dtrack.h"

#include <stdlib.h>
#include <string.h>

/** Every line that was missed; all zero: not yet. */
struct line {
    uint16_t first; /* cache + 1 */
    uint8_t several, wide;
    uint32_t data, watched; /* index + 1 */
};

enum { GROUP_LINES = 64, NO_WRITER = 0xffffffff };

struct dtrack_sharing {
    struct peet_sim_linemap lines, groups; /* groups: which of 64 neighbouring lines are watched, a bit each */
    struct dtrack_watched **watched;
    uint32_t nwatched, room;
    uint32_t caches_by; /* hardware contexts for each nearest cache */
    unsigned word_shift;
};

const char *const dtrack__class_names[DTRACK_CLASSES] = {
    "private", "read-shared", "producer-consumer", "migratory", "false-shared", "mixed"};

unsigned dtrack__word_bytes(const struct dtrack *self)
{
    return self->line_bytes > 256 ? self->line_bytes / 64 : 4;
}

struct dtrack_sharing *dtrack__sharing_new(struct dtrack *self)
{
    struct dtrack_sharing *s = calloc(1, sizeof *s);

    if (!s) {
        dtrack__no_memory(self);
        return NULL;
    }
    peet_sim_linemap_init(&s->lines, sizeof(struct line));
    peet_sim_linemap_init(&s->groups, sizeof(uint64_t));
    s->caches_by = self->levels[0].shared_by ? self->levels[0].shared_by : 1;
    s->word_shift = (unsigned)__builtin_ctz(dtrack__word_bytes(self));
    return s;
}

void dtrack__sharing_free(struct dtrack_sharing *s)
{
    if (!s)
        return;
    for (uint32_t i = 0; i < s->nwatched; i++) {
        free(s->watched[i]->sides);
        free(s->watched[i]->sites);
        free(s->watched[i]);
    }
    free(s->watched);
    peet_sim_linemap_fini(&s->lines);
    peet_sim_linemap_fini(&s->groups);
    free(s);
}

size_t dtrack__watched(const struct dtrack_sharing *s, struct dtrack_watched *const **out_lines)
{
    *out_lines = s ? s->watched : NULL;
    return s ? s->nwatched : 0;
}

static struct line *line_at(struct dtrack *self, uint64_t address)
{
    struct line *line = peet_sim_linemap_get(&self->sharing->lines, address >> self->line_shift);

    if (!line)
        dtrack__no_memory(self);
    return line;
}

/** The words of a line that a reference touches. */
static uint64_t words_of(const struct dtrack *self, uint64_t address, uint32_t bytes)
{
    const uint64_t offset = address & (self->line_bytes - 1);
    const uint64_t last = offset + (bytes ? bytes : 1) - 1;
    const unsigned from = (unsigned)(offset >> self->sharing->word_shift);
    const unsigned to =
        (unsigned)((last < self->line_bytes ? last : self->line_bytes - 1) >> self->sharing->word_shift);

    return (to - from == 63 ? ~0ull : (1ull << (to - from + 1)) - 1) << from;
}

/* --------------------------------------------------------------------------------------- watched lines */

static struct dtrack_watched *watch(struct dtrack *self, struct line *line, uint64_t address, uint64_t by,
    uint32_t data)
{
    struct dtrack_sharing *s = self->sharing;
    struct dtrack_watched *w = calloc(1, sizeof *w);
    uint64_t *group = peet_sim_linemap_get(&s->groups, address >> self->line_shift >> 6);

    if (w && s->nwatched == s->room) {
        uint32_t room = s->room ? 2 * s->room : 256;
        struct dtrack_watched **more = realloc(s->watched, room * sizeof *more);

        if (more) {
            s->watched = more;
            s->room = room;
        }
    }
    if (!w || !group || s->nwatched == s->room) {
        free(w);
        dtrack__no_memory(self);
        return NULL;
    }
    w->line = address >> self->line_shift << self->line_shift;
    w->address = by;
    w->data = data;
    w->last_writer = NO_WRITER;
    s->watched[s->nwatched++] = w;
    *group |= 1ull << (address >> self->line_shift & 63);
    if (line->first) { /* it has a class of its own now */
        struct dtrack_tally *t = dtrack__tally(self, line->data);

        t->private_lines -= !line->several;
        t->shared_lines -= line->several;
    }
    line->watched = s->nwatched;
    dtrack__tally(self, data)->contended = 1;
    if (line->first && line->data != data)
        dtrack__tally(self, line->data)->contended = 1;
    dtrack__new_epoch(self, 1); /* no hint may span it any more */
    return w;
}

static struct dtrack_side *side_of(struct dtrack *self, struct dtrack_watched *w, uint32_t cache)
{
    struct dtrack_side *more;

    for (uint32_t i = 0; i < w->nsides; i++)
        if (w->sides[i].cache == cache)
            return &w->sides[i];
    more = realloc(w->sides, (w->nsides + 1) * sizeof *more);
    if (!more) {
        dtrack__no_memory(self);
        return NULL;
    }
    w->sides = more;
    w->sides[w->nsides] = (struct dtrack_side){.cache = cache};
    return &w->sides[w->nsides++];
}

/** The residence that a coherence miss began is over: had anything new been touched? */
static void decide(struct dtrack *self, struct dtrack_watched *w, struct dtrack_side *side)
{
    struct dtrack_tally *t;

    if (!side->pending)
        return;
    side->pending = 0;
    t = dtrack__tally(self, side->miss_data);
    if (side->essential) {
        t->true_misses++;
        w->true_misses++;
    } else {
        t->false_misses++;
        w->false_misses++;
    }
}

void dtrack__sharing_invalidated(struct dtrack *self, unsigned hw, unsigned writer, uint64_t address, uint64_t by,
    uint32_t data)
{
    struct line *line = line_at(self, address);
    struct dtrack_watched *w;
    struct dtrack_side *side;

    if (!line)
        return;
    w = line->watched ? self->sharing->watched[line->watched - 1] : watch(self, line, address, by, data);
    side = w ? side_of(self, w, hw / self->sharing->caches_by) : NULL;
    if (!side)
        return;
    decide(self, w, side);
    if (!side->lost) /* the same line may leave several levels */
        side->foreign = 0;
    side->lost = 1;
    side->touched = side->written = 0;
    if (by >> self->line_shift == w->line >> self->line_shift && writer != PEET_MEMORY_NOBODY)
        side->foreign |= words_of(self, by, 1);
}

void dtrack__sharing_missed(struct dtrack *self, unsigned hw, uint64_t address, uint32_t data)
{
    const uint32_t cache = hw / self->sharing->caches_by;
    struct line *line = line_at(self, address);
    struct dtrack_side *side;

    if (!line)
        return;
    if (line->watched) {
        struct dtrack_watched *w = self->sharing->watched[line->watched - 1];

        side = side_of(self, w, cache);
        if (!side || !side->lost)
            return;
        side->lost = 0;
        side->pending = 1;
        side->news = side->foreign;
        side->essential = 0;
        side->touched = side->written = 0;
        side->miss_data = data;
        return;
    }
    if (!line->first) {
        line->first = (uint16_t)(cache + 1);
        line->data = data;
        dtrack__tally(self, data)->private_lines++;
        return;
    }
    if (line->data != data) { /* another structure has its place now, or shares the line */
        struct dtrack_tally *old = dtrack__tally(self, line->data), *t;

        old->private_lines -= !line->several;
        old->shared_lines -= line->several;
        line->data = data;
        t = dtrack__tally(self, data);
        t->private_lines += !line->several;
        t->shared_lines += line->several;
    }
    if (line->several || line->first == cache + 1)
        return;
    line->several = 1;
    dtrack__tally(self, data)->private_lines--;
    dtrack__tally(self, data)->shared_lines++;
}

/* ------------------------------------------------------------------------------------------ references */

int dtrack__sharing_clip(struct dtrack *self, uint64_t address, uint64_t *lo, uint64_t *hi)
{
    const uint64_t line = address >> self->line_shift, group_bytes = (uint64_t)self->line_bytes * GROUP_LINES;
    const uint64_t *mask = peet_sim_linemap_get(&self->sharing->groups, line >> 6);
    const uint64_t base = address & -group_bytes;
    unsigned at = (unsigned)(line & 63), from = 0, to = GROUP_LINES;
    int watched;

    if (!mask) {
        dtrack__no_memory(self);
        return 0;
    }
    watched = (int)(*mask >> at & 1);
    if (watched) {
        from = at;
        to = at + 1;
    } else {
        uint64_t below = *mask & ((1ull << at) - 1), above = *mask >> at;

        if (below)
            from = 64 - (unsigned)__builtin_clzll(below);
        if (above)
            to = at + (unsigned)__builtin_ctzll(above);
    }
    if (base + (uint64_t)from * self->line_bytes > *lo)
        *lo = base + (uint64_t)from * self->line_bytes;
    if (base + (uint64_t)to * self->line_bytes < *hi)
        *hi = base + (uint64_t)to * self->line_bytes;
    return watched;
}

/** Where in the source was it?  The first places of each line are kept. */
static void note_site(struct dtrack *self, struct dtrack_watched *w, uint32_t cache, const struct peet_block *block,
    uint32_t ref, uint64_t words, int write)
{
    const uint16_t first = (uint16_t)__builtin_ctzll(words), last = (uint16_t)(63 - __builtin_clzll(words));
    const struct peet_insn *insn = block->insns ? &block->insns[block->refs[ref].insn] : NULL;
    const uint32_t source = insn && insn->line ? insn->line : block->line;

    for (uint32_t i = 0; i < w->nsites; i++) {
        struct dtrack_site *s = &w->sites[i];

        if (s->line != source || s->function != block->function || s->cache != cache || s->write != write ||
            first > s->last_word + 1 || last + 1 < s->first_word)
            continue;
        s->count++;
        s->last_word = last > s->last_word ? last : s->last_word;
        if (first < s->first_word) {
            uint64_t back = (uint64_t)(s->first_word - first) << self->sharing->word_shift;

            s->first_word = first;
            s->offset -= back < s->offset ? back : s->offset;
        }
        return;
    }
    if (!w->sites)
        w->sites = malloc(DTRACK_SITES * sizeof *w->sites);
    if (!w->sites) {
        dtrack__no_memory(self);
        return;
    }
    if (w->nsites < DTRACK_SITES) {
        const uint64_t address = w->line + ((uint64_t)first << self->sharing->word_shift);
        struct peet_data_object object = {address, 0, 0};
        const struct peet_data *data = self->env->data_of(self->env, address, &object);

        if (data->kind == PEET_DATA_REST) /* no objects are known there */
            object.address = address;
        w->sites[w->nsites++] = (struct dtrack_site){block->function, source, cache, data->id, address - object.address,
            object.number, first, last, (uint8_t)write, 1};
    }
}

static void wrote(struct dtrack_watched *w, struct dtrack_side *side, uint64_t words)
{
    const uint64_t bit = 1ull << (side->cache & 63);

    for (uint32_t i = 0; i < w->nsides; i++)
        if (&w->sides[i] != side && w->sides[i].lost)
            w->sides[i].foreign |= words;
    if (w->last_writer != side->cache) {
        if (w->last_writer != NO_WRITER) {
            w->transfers++;
            /* since the last writer's turn nobody else has looked at it: it moved as a whole */
            w->migrations += !(w->since & ~(bit | 1ull << (w->last_writer & 63)));
        }
        w->last_writer = side->cache;
        w->since = 0;
    }
    w->since |= bit;
}

static void touch_line(struct dtrack *self, struct dtrack_watched *w, uint32_t cache, const struct peet_block *block,
    uint32_t ref, uint64_t words, int reads, int writes)
{
    struct dtrack_side *side = side_of(self, w, cache);

    if (!side)
        return;
    if (reads && words & ~side->touched)
        note_site(self, w, cache, block, ref, words, 0);
    if (writes && words & ~side->written)
        note_site(self, w, cache, block, ref, words, 1);
    side->touched |= words;
    side->written |= writes ? words : 0;
    if (words & side->news)
        side->essential = 1;
    side->reads |= reads ? words : 0;
    side->writes |= writes ? words : 0;
    w->since |= 1ull << (cache & 63);
    if (writes)
        wrote(w, side, words);
}

void dtrack__sharing_touch(struct dtrack *self, unsigned hw, const struct peet_block *block, uint32_t ref,
    uint64_t address, uint32_t bytes, int reads, int writes)
{
    for (uint32_t done = 0; done < bytes && !self->failed;) {
        const uint64_t at = address + done;
        const uint32_t room = self->line_bytes - (uint32_t)(at & (self->line_bytes - 1)),
                       part = bytes - done < room ? bytes - done : room;
        const struct line *line = line_at(self, at);

        if (line && line->watched)
            touch_line(self, self->sharing->watched[line->watched - 1], hw / self->sharing->caches_by, block, ref,
                words_of(self, at, part), reads, writes);
        done += part;
    }
}

/* ------------------------------------------------------------------------------------------ at the end */

void dtrack__sharing_finish(struct dtrack *self)
{
    for (uint32_t i = 0; self->sharing && i < self->sharing->nwatched; i++)
        for (uint32_t k = 0; k < self->sharing->watched[i]->nsides; k++)
            decide(self, self->sharing->watched[i], &self->sharing->watched[i]->sides[k]);
}

enum dtrack_class dtrack__class(const struct dtrack_watched *w)
{
    unsigned writers = 0;

    for (uint32_t i = 0; i < w->nsides; i++)
        writers += w->sides[i].writes != 0;
    if (w->false_misses && w->false_misses >= w->true_misses)
        return DTRACK_FALSE_SHARED;
    if (writers <= 1)
        return DTRACK_PRODUCER_CONSUMER;
    if (w->transfers && 2 * w->migrations >= w->transfers)
        return DTRACK_MIGRATORY;
    return DTRACK_MIXED;
}
