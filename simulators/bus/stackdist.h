/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which lines a fully associative LRU cache of the same size would hold (the *shadow*): the stack-distance test
 * (Mattson et al., IBM Systems Journal 9(2), 1970), from the stamps of their last uses alone.  A hit costs its time
 * stamp, which replacement wants anyway; a miss compares one number.
 *
 * A line's record says when it was used last if it is in no frame, and else in which; that frame's stamp says when. The
 * shadow holds the `lines` that were used last.  Its oldest stamp only ever rises, so whatever was used before the
 * *cutoff*, a stamp that once was not later than the oldest, is not in the shadow.  Two things raise the cutoff:
 *
 *   Lines that come in.  As soon as as many as the shadow holds came in after a checkpoint, a stamp that was noted now
 *   and then, the cutoff is that stamp.  Misses of lines older than the cutoff are such lines, all different: to count
 *   them is to count what left the frames.
 *
 *   Questions.  A line is missed that was used since the cutoff: then those used since are counted.  Where that is
 *   asked often, the lines of the shadow are sorted instead.  For each line that comes in, the first of this order goes
 *   that was not used since, but only when the next question comes; so long as the order is not used up, the cutoff is
 *   exact then, as it is known how many lines came in: frames whose lines are not in the shadow get no permission, so
 *   that their next use comes here (peet__bus_stackdist_hit()).
 *
 * Called by miss.c, uniprocessor.c, engine.c and classify.c.
 */
#ifndef PEET_BUS_STACKDIST_H
#define PEET_BUS_STACKDIST_H

#include <stdint.h>

struct bus;
struct cache;

/* A line's record: 0 if it was never referenced; STACKDIST_OLD or more: the stamp of its last use (STACKDIST_OLD: long
 * ago); or STACKDIST_FRAME and the frame that has it. */
enum { STACKDIST_OLD = 1, STACKDIST_FIRST = 2 };
#define STACKDIST_FRAME 0x80000000u

/** A stamp that no line was given that came in later; what had come in and come again by then, and how many in the
 * eviction log left before. */
struct stackdist_checkpoint {
    uint64_t stamp;
    int64_t came;
    uint64_t again;
    uint32_t nlogged;
};
enum { STACKDIST_CHECKPOINTS = 12 };

/** Lines, and a stamp of each: nothing has happened to one if that still is its last use. */
struct stackdist_lines {
    uint32_t *at, **records;
};

struct bus_stackdist {
    uint32_t cutoff;
    uint32_t nlogged, stop; /* lines that left their frames; at how many peet__bus_stackdist_stop() is due */
    struct stackdist_lines eviction_log; /* in that order; those that may still be in the shadow are among them */
    uint32_t **records;                  /* by frame, of its line; &nobodys: it has none */
    uint64_t base, until; /* records count stamps from `base` on; from the stamp `until` on another base is due */
    int64_t offset;       /* how many came in since the beginning is nlogged less this */
    int64_t ordered_at;   /* the order stands as of so many that had come in; NO_ORDER: there is no order */
    struct stackdist_lines some; /* the order: those at sorted[next], sorted[next + 1] ... sorted[nsorted - 1] */
    uint32_t *sorted, next, nsorted;
    uint32_t room; /* lines that may come in before one has to go */
    uint32_t asks; /* of late */
    uint64_t again,
        again_before; /* lines missed that were in the shadow; those before anything that is in the eviction log */
    /* empty: at the last change of base, whose frames say nonsense when they are filled */
    uint32_t log_size, ncheckpoints, nobodys, empty;
    struct stackdist_checkpoint
        checkpoints[STACKDIST_CHECKPOINTS]; /* the first is not later than the cutoff, or the only one */
    uint32_t (*count)(const uint64_t *, uint32_t, uint64_t, const uint32_t *, uint32_t, uint32_t);
    uint64_t span; /* stamps between two bases; shorter in tests */
};

static inline uint32_t peet__bus_stackdist_stamp(const struct bus_stackdist *r, uint64_t stamp)
{
    return (uint32_t)(stamp - r->base);
}

/** Returns: 0, or -1 without memory (fini is safe then) */
int peet__bus_stackdist_init(struct bus *b, struct cache *c);
void peet__bus_stackdist_fini(struct cache *c);

/** The slow parts of the functions below.  @stamp: not after any reference to come */
int peet__bus_stackdist_ask(struct bus *b, struct cache *c, uint32_t at, uint64_t stamp);
void peet__bus_stackdist_stop(struct bus *b, struct cache *c, uint64_t stamp);
/** Another base.  The stamps of frames change, not their order. */
void peet__bus_stackdist_rebase(struct bus *b, struct cache *c, uint64_t stamp);

/**
 * peet__bus_stackdist_shadowed() - a line is missed whose record is not below the cutoff, nor a frame: is it in the
 * shadow?
 * @at: its record
 * Returns: 1 or 0; it is brought in then
 */
static inline __attribute__((always_inline)) int peet__bus_stackdist_shadowed(struct bus *b, struct cache *c,
    struct bus_stackdist *r, uint32_t at, uint64_t stamp)
{
    if (r->ordered_at != r->nlogged - r->offset && !peet__bus_stackdist_ask(b, c, at, stamp))
        return 0;
    r->again++;
    r->offset++; /* a line leaves, and none comes in */
    return 1;
}

/** A hit in a frame that was used last with this stamp, before it is used; may be left out if the frame has
 * permission. */
static inline void peet__bus_stackdist_hit(struct bus_stackdist *r, uint64_t used)
{
    r->offset -= used < r->base + r->cutoff; /* it comes in, and none leaves */
}

/** A line comes into a frame, and the one that is there (used last with that stamp) leaves it.  To be followed by
 * peet__bus_stackdist_stop() if r->stop is reached. */
static inline __attribute__((always_inline)) void peet__bus_stackdist_fill(struct bus_stackdist *r, uint32_t frame,
    uint64_t used, uint32_t *record)
{
    const uint32_t n = r->nlogged++, at = peet__bus_stackdist_stamp(r, used);
    uint32_t *const old = r->records[frame];
    r->eviction_log.records[n] = old;
    r->eviction_log.at[n] = *old = at;
    r->records[frame] = record;
    *record = STACKDIST_FRAME | frame;
}

/** Another processor takes the line from the frame, used last with that stamp: the line stays in the shadow, and the
 * frame has no record. To be followed by peet__bus_stackdist_stop(), if r->stop is reached, at the next fill. */
static inline void peet__bus_stackdist_leave(struct bus_stackdist *r, uint32_t frame, uint64_t used)
{
    peet__bus_stackdist_fill(r, frame, used, &r->nobodys);
    r->offset++; /* none comes in */
}

#endif
