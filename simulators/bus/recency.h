/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which lines a fully associative LRU cache of the same size would hold (the *shadow*): from the moments of their last
 * uses, and nothing else.  A hit costs its time stamp, which replacement wants anyway; a miss compares one number.
 *
 * A line's record says when it was used last if it is in no frame, and else in which; that frame's stamp says when.
 * The shadow holds the `lines` that were used last.  Its oldest moment only ever rises, so whatever was used before the
 * *floor*, a moment that was not later than it once, is not in the shadow.  Two things raise the floor:
 *
 *   Lines that come in.  As soon as as many as the shadow holds came in after a mark, a moment that was noted now and
 *   then, the floor is that moment.  Misses of lines older than the floor are such lines, all different: to count them
 *   is to count what left the frames.
 *
 *   Questions.  A line is missed that was used since the floor: then those used since are counted.  Where that is asked
 *   often, the lines of the shadow are sorted instead.  For each line that comes in, the first of this order goes that
 *   was not used since, but only when the next question comes; so long as the order is not used up, the floor is exact
 *   then, as it is known how many lines came in: frames that are not in the shadow are not quick, so that their next
 *   use is seen (peet__bus_recency_hit()).
 *
 * Called by miss.c, sole.c, engine.c and classify.c.
 */
#ifndef PEET_BUS_RECENCY_H
#define PEET_BUS_RECENCY_H

#include <stdint.h>

struct bus;
struct cache;

/* A line's record: 0 if it was never referenced; RECENCY_OLD or more: the moment of its last use (RECENCY_OLD: long
 * ago); or RECENCY_FRAME and the frame that has it. */
enum { RECENCY_OLD = 1, RECENCY_FIRST = 2 };
#define RECENCY_FRAME 0x80000000u

/** A stamp that no line was given that came in later; what had come in and come again by then, and how many in
 * bus_recency.gone left before. */
struct recency_mark {
    uint64_t stamp;
    int64_t came;
    uint64_t again;
    uint32_t ngone;
};
enum { RECENCY_MARKS = 12 };

/** Lines, and a moment of each: nothing has happened to one if that still is its last use. */
struct recency_lines {
    uint32_t *at, **records;
};

struct bus_recency {
    uint32_t floor;
    uint32_t ngone, stop;      /* lines that left their frames; at how many peet__bus_recency_stop() is due */
    struct recency_lines gone; /* in that order; those that may still be in the shadow are among them */
    uint32_t **records;        /* by frame, of its line; &nobodys: it has none */
    uint64_t base, until;      /* moments are stamps since base; from the stamp `until` on another one is due */
    int64_t offset;            /* how many came in since the beginning is ngone less this */
    int64_t settled;           /* the order stands as of so many that had come in; NOT_SETTLED: there is no order */
    struct recency_lines some; /* the order: those at sorted[next], sorted[next + 1] ... sorted[nsorted - 1] */
    uint32_t *sorted, next, nsorted;
    uint32_t room;                /* lines that may come in before one has to go */
    uint32_t asks;                /* of late */
    uint64_t again, again_before; /* lines missed that were in the shadow; those before anything that is in gone */
    /* empty: at the last change of base, whose frames say nonsense when they are filled */
    uint32_t gone_size, nmarks, nobodys, empty;
    struct recency_mark marks[RECENCY_MARKS]; /* the first is not later than the floor, or the only one */
    uint32_t (*count)(const uint64_t *, uint32_t, uint64_t, const uint32_t *, uint32_t, uint32_t);
    uint64_t span; /* stamps between two bases; shorter in tests */
};

static inline uint32_t peet__bus_recency_moment(const struct bus_recency *r, uint64_t stamp)
{
    return (uint32_t)(stamp - r->base);
}

/** Returns: 0, or -1 without memory (fini is safe then) */
int peet__bus_recency_init(struct bus *b, struct cache *c);
void peet__bus_recency_fini(struct cache *c);

/** The slow halves of the functions below.  @stamp: not after any reference to come */
int peet__bus_recency_ask(struct bus *b, struct cache *c, uint32_t at, uint64_t stamp);
void peet__bus_recency_stop(struct bus *b, struct cache *c, uint64_t stamp);
/** Another base.  The stamps of frames change, not their order. */
void peet__bus_recency_rebase(struct bus *b, struct cache *c, uint64_t stamp);

/**
 * peet__bus_recency_shadowed() - a line is missed whose record is not below the floor, nor a frame: is it in the
 * shadow?
 * @at: its record
 * Returns: 1 or 0; it is brought in then
 */
static inline __attribute__((always_inline)) int peet__bus_recency_shadowed(struct bus *b, struct cache *c,
    struct bus_recency *r, uint32_t at, uint64_t stamp)
{
    if (r->settled != r->ngone - r->offset && !peet__bus_recency_ask(b, c, at, stamp))
        return 0;
    r->again++;
    r->offset++; /* a line leaves, and none comes in */
    return 1;
}

/** A hit in a frame that was used last with this stamp, before it is used; may be left out where the frame is quick. */
static inline void peet__bus_recency_hit(struct bus_recency *r, uint64_t used)
{
    r->offset -= used < r->base + r->floor; /* it comes in, and none leaves */
}

/** A line comes into a frame, and the one that is there (used last with that stamp) leaves it.  To be followed by
 * peet__bus_recency_stop() if r->stop is reached. */
static inline __attribute__((always_inline)) void peet__bus_recency_fill(struct bus_recency *r, uint32_t frame,
    uint64_t used, uint32_t *record)
{
    const uint32_t n = r->ngone++, at = peet__bus_recency_moment(r, used);
    uint32_t *const old = r->records[frame];
    r->gone.records[n] = old;
    r->gone.at[n] = *old = at;
    r->records[frame] = record;
    *record = RECENCY_FRAME | frame;
}

/** Another processor takes the line from the frame, used last with that stamp: it stays in the shadow, and nobody's is
 * there. To be followed by peet__bus_recency_stop(), if r->stop is reached, at the next fill. */
static inline void peet__bus_recency_leave(struct bus_recency *r, uint32_t frame, uint64_t used)
{
    peet__bus_recency_fill(r, frame, used, &r->nobodys);
    r->offset++; /* none comes in */
}

#endif
