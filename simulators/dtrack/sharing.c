/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines that several processors' caches have.  Each line that was ever missed has a short record: touched by one cache
 * or by several. From the first time that another's write takes it away it is *watched*: for each cache the words that
 * it has touched since it got the line, and those that others have written since it lost it.  A miss on a line that was
 * taken away is true sharing if the cache touches, before it loses the line again, a word that others had written while
 * it was away; else nothing new was read, and it is false sharing (M. Dubois et al., ISCA 1993).  Words are 4 bytes, or
 * a 64th of a line over 256 bytes.  So that all other lines cost nothing, hints (plan.c) look at marks, a byte for each
 * line of a region.
 */
#include "dtrack.h"

#include <stdlib.h>
#include <string.h>

/** Every line that was missed; all zero: not yet. */
struct line {
    uint16_t first; /* cache + 1 */
    uint8_t several, wide;
    uint32_t data;
    struct dtrack_watched *watched; /* NULL: it is not */
};

enum { CLIP_LINES = 64, NO_WRITER = 0xffffffff, DENSE_MOST = 16, HOST_LINE = 64, RECENT = 1024 };
_Static_assert(sizeof(struct dtrack_side) == HOST_LINE, "a side is one line of the host's memory");

/** What looking at words for a cache needs. */
struct sight {
    struct dtrack *self;
    struct glance *glances;
    uint64_t line_mask, word_mask;
    size_t known; /* where in a line's record is what the cache knows */
    unsigned line_shift, word_shift, line_words;
    uint32_t cache;
};

/** A region of memory. */
struct region {
    uint8_t *marks;
};

/** Where a line's record is, if it is watched: once a line is watched, it remains so. */
struct recent {
    uint64_t line; /* its number */
    struct dtrack_watched *watched;
};

/** Words of a line that a cache may read, or write, again without changing anything: it has referenced them in this way
 * before, the last time since it got the line, it has been noted as one that touched the line since the last change of writer, and nobody
 * needs to be told of what it writes.  Perhaps not all of them. */
struct known {
    uint64_t reads, writes;
};

/** Where a line's record is, for a cache. */
struct glance {
    uint64_t line;                  /* its number */
    struct dtrack_watched *watched; /* not watched: dtrack_sharing.unwatched */
};

struct dtrack_sharing {
    struct peet_sim_linemap lines, regions;
    struct recent recent[RECENT]; /* by the lowest bits of their numbers */
    struct glance *glances;       /* as many for each of the `dense` caches */
    struct sight sights[DENSE_MOST];
    struct dtrack_watched *unwatched; /* all is known of it */
    uint64_t last_region;             /* the number of the region that was asked for last, and its marks */
    const uint8_t *last_marks;        /* NULL: it has none yet, or none was asked for */
    struct dtrack_watched **watched;
    uint32_t nwatched, room;
    uint32_t caches_by; /* hardware contexts for each nearest cache */
    uint32_t dense;     /* so many sides stand behind each watched line, by cache; 0: there would be too many */
    unsigned word_shift;
};

const char *const dtrack__class_names[DTRACK_CLASSES] = {
    "private", "read-shared", "producer-consumer", "migratory", "false-shared", "mixed"};

unsigned dtrack__word_bytes(const struct dtrack *self)
{
    return self->line_bytes > 256 ? self->line_bytes / 64 : 4;
}

static struct dtrack_watched *new_watched(const struct dtrack_sharing *s);
static struct known *dense_known(const struct dtrack_sharing *s, struct dtrack_watched *w);

struct dtrack_sharing *dtrack__sharing_new(struct dtrack *self)
{
    struct dtrack_sharing *s = calloc(1, sizeof *s);

    if (!s) {
        dtrack__no_memory(self);
        return NULL;
    }
    peet_sim_linemap_init(&s->lines, sizeof(struct line));
    peet_sim_linemap_init(&s->regions, sizeof(struct region));
    s->caches_by = self->levels[0].shared_by ? self->levels[0].shared_by : 1;
    s->word_shift = (unsigned)__builtin_ctz(dtrack__word_bytes(self));
    s->dense = (self->env->hw_contexts + s->caches_by - 1) / s->caches_by;
    if (s->dense > DENSE_MOST)
        s->dense = 0;
    s->glances = malloc((s->dense * RECENT + 1) * sizeof *s->glances);
    s->unwatched = new_watched(s);
    if (s->unwatched)
        for (uint32_t i = 0; i < s->dense; i++)
            dense_known(s, s->unwatched)[i] = (struct known){~0ull, ~0ull};
    for (uint32_t i = 0; i < s->dense; i++)
        s->sights[i] = (struct sight){.self = self,
            .glances = s->glances + (size_t)i * RECENT,
            .line_mask = self->line_bytes - 1,
            .word_mask = (1ull << s->word_shift) - 1,
            .known = 2 * HOST_LINE + s->dense * sizeof(struct dtrack_side) + i * sizeof(struct known),
            .line_shift = self->line_shift,
            .word_shift = s->word_shift,
            .line_words = self->line_bytes >> s->word_shift,
            .cache = i};
    if (!s->glances || !s->unwatched) {
        dtrack__no_memory(self);
        dtrack__sharing_free(s);
        return NULL;
    }
    for (uint32_t i = 0; i < s->dense * RECENT; i++)
        s->glances[i] = (struct glance){UINT64_MAX, NULL};
    return s;
}

static int free_marks(void *self, uint64_t number, void *record)
{
    (void)self;
    (void)number;
    free(((struct region *)record)->marks);
    return 0;
}

void dtrack__sharing_free(struct dtrack_sharing *s)
{
    if (!s)
        return;
    peet_sim_linemap_each(&s->regions, free_marks, NULL);
    for (uint32_t i = 0; i < s->nwatched; i++) {
        for (uint32_t k = 0; k < s->watched[i]->nsides; k++)
            free(s->watched[i]->sides[k].sites);
        if (!s->dense)
            free(s->watched[i]->sides);
        free(s->watched[i]);
    }
    free(s->watched);
    free(s->glances);
    free(s->unwatched);
    peet_sim_linemap_fini(&s->lines);
    peet_sim_linemap_fini(&s->regions);
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
static inline uint64_t words_of(const struct dtrack *self, uint64_t address, uint32_t bytes)
{
    const unsigned shift = self->sharing->word_shift;
    const uint64_t mask = self->line_bytes - 1, offset = address & mask, last = offset + (bytes ? bytes : 1) - 1;

    return (2ull << ((last < mask ? last : mask) >> shift)) - (1ull << (offset >> shift));
}

/* --------------------------------------------------------------------------------------- watched lines */

static uint64_t lines_of_region(const struct dtrack *self)
{
    return 1ull << (DTRACK_REGION_BITS - self->line_shift);
}

/** The region's marks; NULL: no memory.  What is never marked stays untouched; a reference may begin in the last line and end
 * further on. */
static uint8_t *make_marks(struct dtrack *self, struct region *region)
{
    if (region && !region->marks)
        region->marks = calloc(lines_of_region(self) + 1, 1);
    if (region && region->marks)
        return region->marks;
    dtrack__no_memory(self);
    return NULL;
}

/** The line and those before it that a cell may reach it from.  Returns: 0, or -1 without memory */
static int mark(struct dtrack *self, uint64_t address)
{
    struct region *region = peet_sim_linemap_get(&self->sharing->regions, address >> DTRACK_REGION_BITS);
    const uint64_t at = address >> self->line_shift & (lines_of_region(self) - 1);

    if (!make_marks(self, region))
        return -1;
    region->marks[at] |= DTRACK_MARK_WATCHED;
    for (uint64_t k = 0; k <= DTRACK_REACH && k <= at; k++)
        region->marks[at - k] |= DTRACK_MARK_NEAR;
    return 0;
}

static inline uint64_t bit_of(const struct dtrack_side *side)
{
    return 1ull << (side->cache & 63);
}

static inline struct dtrack_side *dense_sides(struct dtrack_watched *w)
{
    return (struct dtrack_side *)(void *)((char *)w + 2 * HOST_LINE);
}
_Static_assert(sizeof(struct dtrack_watched) <= 2 * HOST_LINE, "sides come after it");

static struct known *dense_known(const struct dtrack_sharing *s, struct dtrack_watched *w)
{
    return (struct known *)(void *)(dense_sides(w) + s->dense);
}

/** Nothing is known any more of what a cache reads or writes. */
static inline void forget_known(const struct dtrack_sharing *s, struct dtrack_watched *w, uint32_t cache)
{
    if (s->dense)
        dense_known(s, w)[cache] = (struct known){0, 0};
}

static struct dtrack_watched *new_watched(const struct dtrack_sharing *s)
{
    const size_t used = 2 * HOST_LINE + s->dense * (sizeof(struct dtrack_side) + sizeof(struct known)),
                 bytes = (used + HOST_LINE - 1) / HOST_LINE * HOST_LINE;
    struct dtrack_watched *w = aligned_alloc(HOST_LINE, bytes);

    if (!w)
        return NULL;
    memset(w, 0, bytes);
    if (s->dense) {
        w->sides = dense_sides(w);
        w->nsides = s->dense;
    }
    for (uint32_t i = 0; i < s->dense; i++)
        w->sides[i].cache = (uint16_t)i;
    return w;
}

static inline struct glance *glance_of(const struct dtrack_sharing *s, uint32_t cache, uint64_t line)
{
    return &s->glances[cache * RECENT + (line ^ line / RECENT) % RECENT];
}

static struct dtrack_watched *watch(struct dtrack *self, struct line *line, uint64_t address, uint64_t by,
    uint32_t data)
{
    struct dtrack_sharing *s = self->sharing;
    struct dtrack_watched *w = new_watched(s);

    if (w && s->nwatched == s->room) {
        uint32_t room = s->room ? 2 * s->room : 256;
        struct dtrack_watched **more = realloc(s->watched, room * sizeof *more);

        if (more) {
            s->watched = more;
            s->room = room;
        }
    }
    if (!w || s->nwatched == s->room || mark(self, address)) {
        free(w);
        dtrack__no_memory(self);
        return NULL;
    }
    w->line = address >> self->line_shift << self->line_shift;
    w->address = by;
    w->data = data;
    w->last_writer = NO_WRITER;
    for (uint32_t i = 0; i < s->dense; i++) {
        struct glance *const g = glance_of(s, i, address >> self->line_shift);

        g->line = g->line == address >> self->line_shift ? UINT64_MAX : g->line;
    }
    s->watched[s->nwatched++] = w;
    if (line->first) { /* it has a class of its own now */
        struct dtrack_tally *t = dtrack__tally(self, line->data);

        t->private_lines -= !line->several;
        t->shared_lines -= line->several;
    }
    line->watched = w;
    return w;
}

static inline struct dtrack_side *side_of(struct dtrack *self, struct dtrack_watched *w, uint32_t cache)
{
    struct dtrack_side *more;

    if (self->sharing->dense)
        return &dense_sides(w)[cache];
    for (uint32_t i = 0; i < w->nsides; i++)
        if (w->sides[i].cache == cache)
            return &w->sides[i];
    more = realloc(w->sides, (w->nsides + 1) * sizeof *more);
    if (!more) {
        dtrack__no_memory(self);
        return NULL;
    }
    w->sides = more;
    w->sides[w->nsides] = (struct dtrack_side){.cache = (uint16_t)cache};
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
    w = line->watched ? line->watched : watch(self, line, address, by, data);
    side = w ? side_of(self, w, hw / self->sharing->caches_by) : NULL;
    if (!side)
        return;
    decide(self, w, side);
    if (!side->lost) /* the same line may leave several levels */
        side->foreign = w->told = 0;
    side->lost = 1;
    w->lost |= bit_of(side);
    side->touched = side->written = 0;
    forget_known(self->sharing, w, side->cache);
    if (w->last_writer != NO_WRITER) /* of others' writes nothing is known */
        forget_known(self->sharing, w, w->last_writer);
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
        struct dtrack_watched *w = line->watched;

        side = side_of(self, w, cache);
        if (!side || !side->lost)
            return;
        side->lost = 0;
        side->pending = 1;
        side->news = side->foreign;
        side->essential = 0;
        side->touched = side->written = 0;
        side->miss_data = data;
        forget_known(self->sharing, w, cache);
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

const uint8_t *dtrack__region(struct dtrack *self, uint64_t address, uint64_t *lo, uint64_t *hi)
{
    struct region *region = peet_sim_linemap_get(&self->sharing->regions, address >> DTRACK_REGION_BITS);
    const uint64_t begin = address >> DTRACK_REGION_BITS << DTRACK_REGION_BITS;

    if (begin > *lo)
        *lo = begin;
    if (begin + (1ull << DTRACK_REGION_BITS) - 1 < *hi - 1)
        *hi = begin + (1ull << DTRACK_REGION_BITS);
    return make_marks(self, region);
}

int dtrack__sharing_clip(struct dtrack *self, uint64_t address, uint64_t *lo, uint64_t *hi)
{
    const uint8_t *marks = dtrack__region(self, address, lo, hi);
    const uint64_t first = address >> DTRACK_REGION_BITS << DTRACK_REGION_BITS,
                   at = (address - first) >> self->line_shift;
    uint64_t from = at, to = at + 1;
    int watched;

    if (!marks)
        return 0;
    watched = (marks[at] & DTRACK_MARK_WATCHED) != 0;
    while (!watched && from > 0 && at - from < CLIP_LINES && !(marks[from - 1] & DTRACK_MARK_WATCHED))
        from--;
    while (!watched && to < lines_of_region(self) && to - at < CLIP_LINES && !(marks[to] & DTRACK_MARK_WATCHED))
        to++;
    if (first + (from << self->line_shift) > *lo)
        *lo = first + (from << self->line_shift);
    if (first + (to << self->line_shift) - 1 < *hi - 1)
        *hi = first + (to << self->line_shift);
    return watched;
}

/** Room for one more, if there may be; most have one or two.  Returns: 0, or -1: no memory */
static int more_sites(struct dtrack_side *side)
{
    enum { FIRST = 2 };
    const uint32_t n = side->nsites;
    struct dtrack_site *more;

    if (n == DTRACK_SITES || n & (n - 1) || n == FIRST - 1) /* it grows to a power of two */
        return 0;
    more = realloc(side->sites, (n ? 2 * n : FIRST) * sizeof *more);
    if (more)
        side->sites = more;
    return more ? 0 : -1;
}

/** Where in the source was it?  The first places of each cache are kept. */
static __attribute__((noinline)) void note_site(struct dtrack *self, const struct dtrack_watched *w,
    struct dtrack_side *side, const struct peet_block *block, uint32_t ref, uint64_t words, int write)
{
    const uint16_t first = (uint16_t)__builtin_ctzll(words), last = (uint16_t)(63 - __builtin_clzll(words));
    const struct peet_insn *insn = block->insns ? &block->insns[block->refs[ref].insn] : NULL;
    const uint32_t source = insn && insn->line ? insn->line : block->line;

    for (uint32_t i = 0; i < side->nsites; i++) {
        struct dtrack_site *s = &side->sites[i];

        if (s->line != source || s->function != block->function || s->write != write || first > s->last_word + 1 ||
            last + 1 < s->first_word)
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
    if (more_sites(side)) {
        dtrack__no_memory(self);
        return;
    }
    if (side->nsites < DTRACK_SITES) {
        const uint64_t address = w->line + ((uint64_t)first << self->sharing->word_shift);
        struct peet_data_object object = {address, 0, 0};
        const struct peet_data *data = self->env->data_of(self->env, address, &object);

        if (data->kind == PEET_DATA_REST) /* no objects are known there */
            object.address = address;
        side->sites[side->nsites++] = (struct dtrack_site){.function = block->function,
            .count = 1,
            .line = source,
            .first_word = first,
            .last_word = last,
            .cache = side->cache,
            .write = write != 0,
            .data = data->id,
            .offset = address - object.address,
            .object = object.number};
    }
}

/** Caches that have lost the line do not know of these words. */
static void write_foreign(struct dtrack_watched *w, const struct dtrack_side *side, uint64_t words)
{
    w->lost = 0;
    w->told |= words;
    for (uint32_t i = 0; i < w->nsides; i++) {
        if (!w->sides[i].lost)
            continue;
        w->lost |= bit_of(&w->sides[i]);
        if (&w->sides[i] != side)
            w->sides[i].foreign |= words;
    }
}

static void wrote(const struct dtrack_sharing *s, struct dtrack_watched *w, struct dtrack_side *side, uint64_t words)
{
    const uint64_t bit = bit_of(side);

    if (w->lost)
        write_foreign(w, side, words);
    if (w->last_writer != side->cache) {
        if (w->last_writer != NO_WRITER) {
            w->transfers++;
            /* since the last writer's turn nobody else has looked at it: it moved as a whole */
            w->migrations += !(w->since & ~(bit | 1ull << (w->last_writer & 63)));
        }
        w->last_writer = side->cache;
        w->since = 0;
        for (uint32_t i = 0; i < s->dense; i++)
            forget_known(s, w, i);
    }
    w->since |= bit;
}

static inline void touch_line(struct dtrack *self, struct dtrack_watched *w, uint32_t cache,
    const struct peet_block *block, uint32_t ref, uint64_t words, int reads, int writes)
{
    struct dtrack_side *const side = side_of(self, w, cache);

    if (!side)
        return;
    if (reads && words & ~side->touched)
        note_site(self, w, side, block, ref, words, 0);
    if (writes && words & ~side->written)
        note_site(self, w, side, block, ref, words, 1);
    side->touched |= words;
    side->written |= writes ? words : 0;
    if (words & side->news)
        side->essential = 1;
    side->reads |= reads ? words : 0;
    side->writes |= writes ? words : 0;
    w->since |= bit_of(side);
    if (writes)
        wrote(self->sharing, w, side, words);
    if (self->sharing->dense) {
        struct known *const known = &dense_known(self->sharing, w)[cache];

        known->reads |= reads ? words : 0;
        known->writes |= writes ? words : 0;
    }
}

/** The marks of the region that the address is in, or NULL: it has none. */
static inline const uint8_t *marks_at(struct dtrack *self, uint64_t address)
{
    struct dtrack_sharing *const s = self->sharing;
    const uint64_t number = address >> DTRACK_REGION_BITS;

    if (s->last_region != number || !s->last_marks) {
        const struct region *const region = peet_sim_linemap_get(&s->regions, number);

        s->last_region = number;
        s->last_marks = region ? region->marks : NULL;
    }
    return s->last_marks;
}

/** Is one of the lines watched, of which these are the marks of the region? */
static inline int watches(const struct dtrack *self, const uint8_t *marks, uint64_t address, uint32_t bytes)
{
    const uint64_t at = address & ((1ull << DTRACK_REGION_BITS) - 1);

    if (!marks)
        return 0;
    return bytes > self->line_bytes ||
        (marks[at >> self->line_shift] | marks[(at + bytes - 1) >> self->line_shift]) & DTRACK_MARK_WATCHED;
}

/** The line's record, or NULL: it is not watched. */
static inline struct dtrack_watched *watched_at(struct dtrack *self, uint64_t address)
{
    const uint64_t number = address >> self->line_shift;
    struct recent *const r = &self->sharing->recent[number % RECENT];
    const struct line *line;

    if (r->line == number && r->watched)
        return r->watched;
    if (!watches(self, marks_at(self, address), address, 1))
        return NULL;
    line = line_at(self, address);
    if (!line || !line->watched)
        return NULL;
    *r = (struct recent){number, line->watched};
    return line->watched;
}

static inline uint32_t cache_of(const struct dtrack *self, unsigned hw)
{
    return self->sharing->caches_by == 1 ? hw : hw / self->sharing->caches_by;
}

void dtrack__sharing_touch(struct dtrack *self, unsigned hw, const struct peet_block *block, uint32_t ref,
    uint64_t address, uint32_t bytes, int reads, int writes)
{
    if ((address & (self->line_bytes - 1)) + bytes <= self->line_bytes) {
        struct dtrack_watched *const w = watched_at(self, address);

        if (w)
            touch_line(self, w, cache_of(self, hw), block, ref, words_of(self, address, bytes), reads, writes);
        return;
    }
    for (uint32_t done = 0; done < bytes && !self->failed;) {
        const uint64_t at = address + done;
        const uint32_t room = self->line_bytes - (uint32_t)(at & (self->line_bytes - 1)),
                       part = bytes - done < room ? bytes - done : room;
        struct dtrack_watched *const w = watched_at(self, at);

        if (w)
            touch_line(self, w, cache_of(self, hw), block, ref, words_of(self, at, part), reads, writes);
        done += part;
    }
}

/** The record of a line for which the cache was not asked lately. */
static __attribute__((noinline)) struct dtrack_watched *glance_at(struct dtrack *self, struct glance *g,
    uint64_t address)
{
    struct dtrack_watched *const w = watched_at(self, address);

    *g = (struct glance){address >> self->line_shift, w ? w : self->sharing->unwatched};
    return g->watched;
}

static inline struct dtrack_watched *look(const struct sight *s, uint64_t address)
{
    const uint64_t number = address >> s->line_shift;
    struct glance *const g = &s->glances[(number ^ number / RECENT) % RECENT];

    return DTRACK_UNLIKELY(g->line != number) ? glance_at(s->self, g, address) : g->watched;
}

static inline const struct known *known_of(const struct sight *s, const struct dtrack_watched *w)
{
    return (const struct known *)(const void *)((const char *)w + s->known);
}

/** Are all of these words known, which are in several lines and begin at this word of the first one? */
static __attribute__((noinline)) int knows_lines(const struct sight *s, uint64_t address, unsigned at, uint64_t reads,
    uint64_t writes)
{
    for (;; at = 0) {
        const struct known *const known = known_of(s, look(s, address));
        const unsigned room = s->line_words - at;
        const uint64_t here = room < 64 ? (1ull << room) - 1 : ~0ull;

        if ((reads & here) << at & ~known->reads || (writes & here) << at & ~known->writes)
            return 0;
        if (room >= 64 || !((reads | writes) >> room))
            return 1;
        reads >>= room;
        writes >>= room;
        address += (uint64_t)room << s->word_shift;
    }
}

/** Does the cache know all of these words?  If not, @out_watched: the record of their line, or NULL: they may be in several */
static inline int knows(const struct sight *s, const struct dtrack_words *w, const uint64_t *values,
    struct dtrack_watched **out_watched)
{
    const uint64_t address = values[w->value] + w->offset;
    const unsigned at = (unsigned)(address & s->line_mask) >> s->word_shift;
    const struct known *known;

    *out_watched = NULL;
    if (DTRACK_UNLIKELY(address & s->word_mask || at + w->n > s->line_words))
        return !(address & s->word_mask) && w->n <= 64 && knows_lines(s, address, at, w->reads, w->writes);
    *out_watched = look(s, address);
    known = known_of(s, *out_watched);
    return !((w->reads << at & ~known->reads) | (w->writes << at & ~known->writes));
}

int dtrack__sharing_knows(struct dtrack *self, unsigned hw, const struct dtrack_plan *plan, const uint64_t *values)
{
    struct dtrack_watched *watched;
    const struct sight *s;

    if (!self->sharing->dense)
        return 0;
    s = &self->sharing->sights[cache_of(self, hw)];
    for (const struct dtrack_words *w = plan->words, *end = w + plan->ncells; w != end; w++)
        if (!knows(s, w, values, &watched))
            return 0;
    return 1;
}

void dtrack__sharing_touch_block(struct dtrack *self, unsigned hw, const struct dtrack_plan *plan,
    const uint64_t *values)
{
    const struct dtrack_words *const of_ref = plan->words + plan->block->nrefs;
    const int dense = self->sharing->dense != 0;
    const struct sight *const s = &self->sharing->sights[dense ? cache_of(self, hw) : 0];
    uint64_t unknown = 0; /* cells, modulo 64 */
    struct dtrack_watched *watched = NULL;

    if (!dense || plan->nmembers == plan->ncells)
        unknown = ~0ull;
    else
        for (uint32_t c = 0; c < plan->ncells; c++)
            unknown |= (uint64_t)!knows(s, &plan->words[c], values, &watched) << (c & 63);
    for (uint32_t i = 0; unknown && i < plan->nmembers; i++) {
        const struct dtrack_words *const w = &of_ref[i];

        if (!(unknown >> (w->cell & 63) & 1) || (dense && knows(s, w, values, &watched)))
            continue;
        if (watched) {
            const unsigned at = (unsigned)((values[w->value] + w->offset) & s->line_mask) >> s->word_shift;

            touch_line(self, watched, s->cache, plan->block, w->ref, (w->reads | w->writes) << at, w->reads != 0,
                w->writes != 0);
        } else {
            dtrack__sharing_touch(self, hw, plan->block, w->ref, values[w->value] + w->offset, w->size_bytes,
                w->reads != 0, w->writes != 0);
        }
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
