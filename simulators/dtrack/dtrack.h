/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dtrack: which data structure each access, miss and stall belongs to.  Shared by its parts: module.c takes events,
 * plan.c knows for each block where its references have been and counts them by the block, loop.c does turns of loops
 * by arithmetic, pattern.c looks at strides, memory.c books what the machine reports, evict.c finds lines that left
 * too early, sharing.c lines that several processors use, names.c tells structures in words, report.c and tables.c
 * write the results.  The structures themselves come from the host (env->data_of()).
 *
 * COUNTING.  An access is one read or write of one line of the nearest cache: a reference that lies in two lines is
 * two, a read-modify-write a read and a write.  Every access and every report is booked to exactly one structure, that
 * of its address (an access: of the reference's first byte), so that sums over structures are the machine's totals.
 */
#ifndef PEET_DTRACK_H
#define PEET_DTRACK_H

#include <peet/direct.h>
#include <peet/module.h>
#include "common/linemap.h"

#define DTRACK_UNLIKELY(x) __builtin_expect(!!(x), 0)

enum {
    DTRACK_LEVELS = 8,
    DTRACK_SERVED = DTRACK_LEVELS + 2, /* levels that can serve: 0, the caches, memory */
    /* objects asked for lately, as many of each of these sizes: of few lines, of many, of a page, of many */
    DTRACK_FOUND_BITS = 13,
    DTRACK_FOUND_SIZES = 4,
    DTRACK_PAIR_BITS = 8, /* pairs of structures counted lately */
    DTRACK_STRIDES = 8,   /* different strides remembered for a reference */
    DTRACK_ALWAYS = 64,   /* so many first executions of a block are looked at for strides, then ... */
    DTRACK_WINDOW = 16,   /* ... so many in a row */
    DTRACK_CONTEXTS = 4,  /* software contexts that take turns in a block */
    DTRACK_PAUSE = 1024,  /* ... after a pause of about so many */
};

/** What is not a data structure, in place of an id. */
enum { DTRACK_CODE = 0xfffffffe /* instruction fetches */, DTRACK_WALKS = 0xfffffffd /* page tables */ };

/* ------------------------------------------------------------------------------------------------ counts */

struct dtrack_level {
    uint64_t read_misses, write_misses, upgrades, prefetches;
    uint64_t miss_cycles;
    uint64_t causes[PEET_MISS_CAUSES];
    uint64_t evictions, invalidations;        /* lines that left because a reference to the structure came or wrote */
    uint64_t premature_same, premature_other; /* misses on lines that had left too early, by who had driven them out */
};

/** What a structure has been booked. */
struct dtrack_tally {
    uint64_t reads, writes;
    struct dtrack_level levels[DTRACK_LEVELS];
    uint64_t stalls, stall_cycles, stall_served_cycles[DTRACK_SERVED];
    uint64_t misaligned; /* accesses that are second halves of references in two lines */
    /* sharing.c: */
    /* touched by one processor's cache, by several; lines that were invalidated are not among them */
    uint64_t private_lines, shared_lines;
    uint64_t true_misses, false_misses; /* coherence misses */
};

/* ------------------------------------------------------------------------------------------------- plans */

/** Strides of a reference (or of several that move together) within one structure. */
struct dtrack_strides {
    struct dtrack_strides *next; /* of the same cell, another structure */
    uint32_t data;
    uint32_t others; /* samples whose strides did not stay in the table */
    uint64_t other_weight, weight;
    uint64_t accesses; /* by this cell to this structure: exact */
    int64_t strides[DTRACK_STRIDES];
    uint64_t weights[DTRACK_STRIDES];
    uint32_t samples, used;
};

struct dtrack_member {
    int64_t offset; /* from the cell's value */
    uint16_t ref, size_bytes;
    uint8_t reads, writes; /* of one execution */
};

/** The latest value of a software context that was looked at for strides; execution + 1. */
struct dtrack_last {
    uint64_t value, execution;
    uint32_t data, context;
};

/** The rest of a cell, beside its guard: only looked at when that fails. */
struct dtrack_cold {
    uint64_t lo, hi; /* values for which all members are in one object of structure `data`; lo == hi: unknown */
    uint64_t hint_lo, hint_hi; /* ... are in that structure: what is in none that is known, is not one object */
    uint64_t since;            /* executions of the block that have been booked */
    uint32_t data;
    uint16_t first, n;      /* members, by offset */
    uint16_t reads, writes; /* of one execution */
    uint8_t crossing;       /* members may lie in two lines: executions are counted by where in a line they are */
    uint64_t *tally;        /* ... here, by offset, since the last booking; NULL: not possible, no hint */
    /* in dtrack.movable: it was in the heap or the like, which is forgotten when something is allocated or released */
    uint8_t listed;
    struct dtrack_last last[DTRACK_CONTEXTS];
    struct dtrack_strides *strides;
};

/** The words of a cell, or of one reference, as sharing.c looks at them: bits from the word on in which it begins. */
struct dtrack_words {
    uint64_t offset; /* it begins so far from its value */
    uint64_t reads, writes;
    uint16_t value, ref;
    uint8_t cell, n;     /* 255: more than 64 */
    uint16_t size_bytes; /* of a reference; of others 0 */
};

/**
 * What dtrack knows of a block.  Its references that are always as far apart are a *cell*, as is any other.  The cell
 * has a guard, its hint: while that holds, all its references are in the structure that they were in last, and none
 * lies in two lines, or where in a line they are is counted; values for which one may be in a line that sharing.c
 * watches have a mark.  Executions for which all guards hold bring nothing new but their number, and may be taken by peet (peet/direct.h): then the watch's `taken` is where they are counted.
 */
struct dtrack_plan {
    struct peet_direct_watch *watch; /* the cells' guards */
    uint64_t taken;                  /* of the watch's executions, so many are in `executions` */
    uint64_t executions, next;       /* next: this execution is looked at for strides */
    uint64_t unbroken;               /* from this execution on all were looked at */
    uint32_t epoch;                  /* fixed_epoch of the hints; never the present one if there are odd references */
    uint8_t tallied;                 /* some cell has a tally */
    uint16_t ncells, nodd;           /* odd: ranges and conditional references */
    uint32_t made;                   /* fixed_epoch of the cells; 0: no plan yet */
    struct dtrack_cold *cold;
    struct dtrack_member *members;
    struct dtrack_words *words; /* with sharing.c: of the cells, and then of all members by ref */
    uint16_t nmembers;
    uint8_t luck; /* whether marked executions brought nothing new, the last few times */
    const struct peet_block *block;
};

/** An old watch, for which code may still ask; a new one when there is one. */
struct dtrack_old_watch {
    struct dtrack_old_watch *next;
    struct peet_direct_watch *watch;
};

/* --------------------------------------------------------------------------------------------- evictions */

struct dtrack_evict;
struct dtrack_sharing;

/** An object that was asked for lately. */
struct dtrack_found {
    uint64_t lo, hi;
    uint32_t data, epoch;
    uint8_t movable, rest; /* rest: no object, whatever lies between those that are known */
};

struct dtrack {
    const struct peet_env *env;
    struct dtrack_plan *plans; /* by block id */
    uint32_t nplans;
    struct peet_direct_watch **armed; /* with an `until`, since fixed_epoch began */
    size_t narmed, armed_room;
    struct dtrack_movable {
        uint32_t plan, cell;
    } *movable; /* cells that know where they are, since epoch began */
    size_t nmovable, movable_room;
    struct dtrack_old_watch *old_watches;
    uint32_t epoch, fixed_epoch;  /* of what can move, by allocation; of what hardly ever does */
    struct dtrack_tally *tallies; /* by structure's id */
    uint32_t ntallies;
    struct dtrack_tally code, walks, nowhere; /* nowhere: memory ran out, the run ends */
    struct dtrack_found found[DTRACK_FOUND_SIZES][1 << DTRACK_FOUND_BITS];
    uint32_t found_size;    /* of the latest */
    uint64_t known_address; /* the latest that was reported, and its structure */
    uint32_t known_epoch, known_data;
    uint64_t seed;
    uint32_t nlevels, line_bytes, line_shift; /* line_bytes 0: the machine has no caches */
    struct peet_memory_level levels[DTRACK_LEVELS];
    uint8_t split[DTRACK_LEVELS]; /* a cache for data alone: instructions have theirs */
    struct dtrack_evict *evict;
    struct dtrack_sharing *sharing; /* NULL: nobody to share with */
    /* parameters */
    uint64_t window_evictions, top, lines;
    double regular_bits;
    int failed;
    uint64_t end_cycles;
};

/* ---- plan.c */
/** Out of memory: the run ends. */
void dtrack__no_memory(struct dtrack *self);
/** The counts of a structure; never NULL. */
struct dtrack_tally *dtrack__tally(struct dtrack *self, uint32_t data);
/** The structure at this address, and the range round it that is known to be of it too (or just the byte). */
const struct dtrack_found *dtrack__find(struct dtrack *self, uint64_t address);
/** Room for the plan of this block.  Returns: it, or NULL (the run ends) */
struct dtrack_plan *dtrack__plan(struct dtrack *self, uint32_t id);
/** One execution of a block for which some hint failed. */
void dtrack__slow(struct dtrack *self, struct dtrack_plan *plan, unsigned hw, const struct peet_block_event *event);
/** Book all that the plans have counted. */
void dtrack__settle(struct dtrack *self);
void dtrack__plans_fini(struct dtrack *self);

/** Allocation: what hints say may be wrong.  @fixed: even of what hardly ever moves */
void dtrack__new_epoch(struct dtrack *self, int fixed);
/** For peet/direct.h.  Returns: 0, or -1: this block comes as an event */
int dtrack__watch(struct dtrack *self, const struct peet_block *block, const uint64_t *values,
    struct peet_direct_watch **out_watch);
int dtrack__moved(struct dtrack *self, const struct peet_block *block, const struct peet_direct_watch *watch,
    uint32_t c, uint64_t value);
void dtrack__marked(struct dtrack *self, unsigned hw, const struct peet_block *block, const uint64_t *values);
int dtrack__known(struct dtrack *self, unsigned hw, const struct peet_block *block, const uint64_t *values);
void dtrack__undone(struct dtrack *self, const struct peet_block *block, const uint64_t *values, uint64_t times);
int dtrack__due(struct dtrack *self, const struct peet_block_event *event, const struct peet_direct_watch *watch);
/** Executions that others have taken belong to the plan's. */
static inline void dtrack__catch_up(struct dtrack_plan *plan)
{
    if (plan->watch && plan->watch->taken) {
        plan->executions += *plan->watch->taken - plan->taken;
        plan->taken = *plan->watch->taken;
    }
}
/** Others may take executions, up to the next that is looked at. */
void dtrack__arm(struct dtrack *self, struct dtrack_plan *plan);

/** An execution is taken, or looked at. */
static inline void dtrack__tally_values(const struct dtrack_plan *plan, const uint64_t *values)
{
    for (uint32_t c = 0; c < plan->ncells; c++) {
        const struct peet_direct_guard *g = &plan->watch->guards[c];

        if (g->tally)
            g->tally[values[g->value] & g->tally_mask]++;
    }
}

static inline int dtrack__hit(const struct peet_direct_guard *c, const uint64_t *values)
{
    uint64_t x = values[c->value] - c->base;

    return (x >> c->shift | x << (-c->shift & 63)) < c->span;
}

/** The cell is where locate() says: may one of its references be in a watched line? */
static inline int dtrack__is_marked(const struct peet_direct_guard *c, const uint64_t *values)
{
    return c->marks && c->marks[(values[c->value] - c->marks_base) >> c->marks_shift];
}

/** A range, or a reference that may not happen. */
static inline int dtrack__is_irregular(const struct peet_ref *ref)
{
    return (ref->flags & (PEET_REF_RANGE | PEET_REF_CONDITIONAL)) != 0;
}

/* ---- loop.c */
/** Of @n locations, the first at @address, each @stride further: how many lie in two lines? */
uint64_t dtrack__crossings(const struct dtrack *self, uint64_t address, int64_t stride, uint64_t n,
    uint32_t size_bytes);
void dtrack__loop(struct dtrack *self, unsigned hw, const struct peet_block_event *event);

/* ---- pattern.c */
/** This execution (plan->executions, not yet counted) is looked at. */
void dtrack__sample(struct dtrack *self, struct dtrack_plan *plan, const struct peet_block_event *event);
/** As many executions in a row at equal distances. */
void dtrack__sample_turns(struct dtrack *self, struct dtrack_plan *plan, const struct peet_block_event *event,
    const uint64_t *values, uint64_t turns);
/** The strides of a cell in the structure where it is; NULL: no memory */
struct dtrack_strides *dtrack__strides(struct dtrack *self, struct dtrack_cold *cold);
/** Entropy of the strides, in bits. */
double dtrack__entropy(const struct dtrack_strides *s);

struct dtrack_pattern {
    double accesses, regular_accesses, bits;
    uint64_t references;
};
/** The pattern of each structure: an array by id, dtrack->ntallies long; NULL: no memory.  The caller frees it */
struct dtrack_pattern *dtrack__patterns(const struct dtrack *self);

/* ---- memory.c */
void dtrack__memory(struct dtrack *self, const struct peet_memory_event *events, size_t n);

/* ---- evict.c */
struct dtrack_cache;
/** What is known of a line that may have left a cache.  All zero: the cache is none that is watched, or there is no
 * memory */
struct dtrack_gone {
    struct dtrack_cache *cache;
    uint64_t *word;
};
struct dtrack_pair {
    uint32_t level, victim, evictor;
    uint64_t count;
};
struct dtrack_evict *dtrack__evict_new(struct dtrack *self);
void dtrack__evict_free(struct dtrack_evict *evict);
/** The cache of hw at a level (from 0); NULL: there is none. */
struct dtrack_cache *dtrack__cache(struct dtrack *self, unsigned level, unsigned hw);
/** An address's line there. */
struct dtrack_gone dtrack__gone(struct dtrack *self, struct dtrack_cache *cache, uint64_t address);
/** The line left it, driven out by a reference to @evictor. */
void dtrack__evicted(struct dtrack_gone line, uint32_t evictor);
/** A miss there.  Returns: 1 and who had driven the line out, if it had been not long ago */
int dtrack__came_back(struct dtrack *self, unsigned level, struct dtrack_gone line, uint32_t victim,
    uint32_t *out_evictor);
/** The line is in the cache again, without a miss. */
void dtrack__back_again(struct dtrack_gone line);
/** All pairs with a count, the greatest first.  The caller frees them.  Returns: how many */
size_t dtrack__pairs(const struct dtrack_evict *evict, struct dtrack_pair **out_pairs);

/* ---- sharing.c */
enum dtrack_class {
    DTRACK_PRIVATE,
    DTRACK_READ_SHARED,
    DTRACK_PRODUCER_CONSUMER,
    DTRACK_MIGRATORY,
    DTRACK_FALSE_SHARED,
    DTRACK_MIXED,
    DTRACK_CLASSES
};

/** Who touched which words of a line, from where. */
struct dtrack_site {
    const struct peet_function *function; /* may be NULL */
    uint64_t count; /* times that it was the first to touch a word of it since the cache had got the line */
    uint32_t line;
    uint16_t first_word, last_word, cache, write;
    uint32_t data;           /* what lay there then, */
    uint64_t offset, object; /* where in which object of it */
};
enum { DTRACK_SITES = 24 };

/** What is known of one cache: one line of the host's memory.  All that depends on the order of different caches'
 * references is the line's, and only writes change it: caches that only read a line may be told in any order
 * (peet/direct.h, marked()). */
struct dtrack_side {
    uint64_t touched, written; /* words, since it got the line */
    uint64_t foreign, news;    /* words written by others since it lost it; those when it came back */
    uint64_t reads, writes;    /* words ever read, ever written */
    struct dtrack_site *sites;
    uint32_t miss_data;
    uint16_t cache;
    uint8_t nsites;
    uint8_t lost : 1, pending : 1, essential : 1; /* pending: it has the line again after a coherence miss */
};

/** What a reference needs comes first. */
struct dtrack_watched {
    uint64_t line;
    uint64_t since; /* caches (bits, modulo 64) that touched it since the last change of writer */
    struct dtrack_side *sides;
    uint64_t lost; /* caches (bits, modulo 64) whose sides may be `lost` */
    uint64_t told; /* words that all sides which are `lost` have as foreign */
    uint32_t nsides, last_writer;
    uint64_t transfers, migrations;
    uint64_t true_misses, false_misses;
    uint64_t address; /* that was written when it was first taken away */
    uint32_t data;
};

struct dtrack_sharing *dtrack__sharing_new(struct dtrack *self);
void dtrack__sharing_free(struct dtrack_sharing *sharing);
void dtrack__sharing_missed(struct dtrack *self, unsigned hw, uint64_t address, uint32_t data);
void dtrack__sharing_invalidated(struct dtrack *self, unsigned hw, unsigned writer, uint64_t line, uint64_t by,
    uint32_t data);
/** Memory is divided into regions that have a byte for each line: bits of enum dtrack_mark.  A cell's references are
 * within DTRACK_REACH lines after its first one's. */
enum { DTRACK_REGION_BITS = 28, DTRACK_REACH = 4 };
enum dtrack_mark {
    DTRACK_MARK_NEAR = 1 /* of it, or of one of the next DTRACK_REACH lines */,
    DTRACK_MARK_WATCHED = 2
};
/** The part of [*lo, *hi) round an address that is in its region.  Returns: the region's marks, from its first line on;
 * NULL: no memory */
const uint8_t *dtrack__region(struct dtrack *self, uint64_t address, uint64_t *lo, uint64_t *hi);
/** The part of [*lo, *hi) round an address that has no watched line, as far as a few dozen lines, or just its line.
 * Returns: 1 if that line is watched */
int dtrack__sharing_clip(struct dtrack *self, uint64_t address, uint64_t *lo, uint64_t *hi);
/** A reference to a line that may be watched. */
void dtrack__sharing_touch(struct dtrack *self, unsigned hw, const struct peet_block *block, uint32_t ref,
    uint64_t address, uint32_t bytes, int reads, int writes);
/** A block some of whose references may be in watched lines: they are noted, in their order, however they are divided
 * into cells. */
void dtrack__sharing_touch_block(struct dtrack *self, unsigned hw, const struct dtrack_plan *plan,
    const uint64_t *values);
/** Would that change nothing? */
int dtrack__sharing_knows(struct dtrack *self, unsigned hw, const struct dtrack_plan *plan, const uint64_t *values);
/** Coherence misses that are still open are decided. */
void dtrack__sharing_finish(struct dtrack *self);
enum dtrack_class dtrack__class(const struct dtrack_watched *w);
/** All lines ever invalidated, in the order in which that happened first. */
size_t dtrack__watched(const struct dtrack_sharing *sharing, struct dtrack_watched *const **out_lines);
unsigned dtrack__word_bytes(const struct dtrack *self);
extern const char *const dtrack__class_names[DTRACK_CLASSES];

/* ---- names.c */
const char *dtrack__kind_name(unsigned kind);
/** A structure in a few words: "grid", "main:12 (node)"; @id may be DTRACK_CODE or DTRACK_WALKS. */
const char *dtrack__name(const struct dtrack *self, uint32_t id, char *out_text, size_t room);
/** What kind of container it is: "array", "records", … */
const char *dtrack__container(const struct peet_data *data);
const char *dtrack__pattern_name(const struct dtrack_pattern *pattern);
uint64_t dtrack__misses(const struct dtrack_tally *t, unsigned level);
/** Accesses at a level: at the first one all, at others what the level before missed. */
uint64_t dtrack__accesses(const struct dtrack_tally *t, unsigned level);

/* ---- report.c */
void dtrack__stats(struct dtrack *self, const struct peet_env *env, struct peet_stats *node);

/* ---- tables.c */
/** One structure that was touched. */
struct dtrack_row {
    uint32_t id;
    const struct peet_data *data;
    const struct dtrack_tally *tally;
    struct dtrack_pattern pattern;
};
void dtrack__tables(struct dtrack *self, const struct peet_env *env, struct peet_stats *node,
    const struct dtrack_row *rows, size_t n);

#endif
