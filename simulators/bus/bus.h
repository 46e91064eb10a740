/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The machine "bus": what its files share.  From the outside to the inside:
 *
 *     module.c       what peet calls: parameters, operations
 *     direct.c       what machine code calls, with one processor; ahead.c and hits.c with several
 *     blocks.c       blocks by the batch, as long as they only hit
 *     loops.c        loops; uniform.c those with uniform strides, schedule.c those with others
 *     template.c     what is the same each time that a block comes
 *     fast.c         a block reference by reference
 *     groups.c       a block group by group, for one processor; straddle.c: a group in two lines; miss.c: a probe that
 *                    fails
 *     engine.c       a reference that needs more than a stamp: protocol, bus, other caches; uniprocessor.c for one
 *                    processor
 *     cache.c        frames and their replacement
 *     protocols.c    the coherence protocols, as tables (protocol.h)
 *     calendar.c     the bus in time
 *     classify.c     kinds of misses, with the help of stackdist.c
 *     check.c, report.c, stats.c    invariants; what observers hear; results
 */
#ifndef PEET_BUS_H
#define PEET_BUS_H

#include <peet/direct.h>
#include <peet/module.h>
#include "../common/linemap.h"
#include "../common/oldest.h"
#include "../common/ways.h"
#include "calendar.h"
#include "protocol.h"
#include "stackdist.h"

enum bus_replacement { REPLACE_LRU, REPLACE_PLRU, REPLACE_RANDOM, REPLACE_FIFO };
enum bus_fetch { FETCH_OFF, FETCH_UNIFIED, FETCH_SPLIT };
enum bus_miss { MISS_COLD, MISS_CAPACITY, MISS_CONFLICT, MISS_TRUE_SHARING, MISS_FALSE_SHARING, MISS_KINDS };

/* Indices that may be absent are stored + 1; 0 is none, so that zeroed memory is empty. */

/* A frame's key: line number, and PERMISSION bits: such a reference changes nothing but the frame's stamp. No bit is
 * set while the frame is invalid (its key is 0 then). */
enum { PERMISSION_WRITE = 1, PERMISSION_READ = 2, PERMISSION = 3, KEY_SHIFT = 2 };
#define KEY_LINE(key) ((key) >> KEY_SHIFT)
#define KEY_OF(line) ((line) << KEY_SHIFT)

/**
 * One line frame of a cache.  The frames of all caches are one array; a frame's index in it is its name.  What a hit
 * needs is kept apart, in arrays with the same index: bus.keys, and a cache's used (the stamp of the last reference; 0
 * while invalid). So a set takes few lines of the host's cache.
 */
struct frame {
    uint32_t next; /* next copy of the same line, + 1; while invalid: free list */
    /* of the line in the fully associative shadow; 0: none (not in uniprocessor.c; bus.recent: 1, or 0: perhaps
     * none) */
    uint32_t place;
    uint16_t cache;  /* whose frame this is; never changes */
    uint8_t state;   /* of the protocol */
    uint8_t tracked; /* others have lost the line: written sectors are recorded, so no write has permission */
};
_Static_assert(sizeof(struct frame) == 12, "a set of eight is two lines of the host's cache");

/** Per line, ever referenced: the heads of its three lists, + 1.  (Not in uniprocessor.c, which has a word.) */
struct line_record {
    uint32_t copies;        /* frames that hold it */
    uint32_t shadows;       /* places in shadows that hold it, as b->shadows counts them */
    uint32_t invalidations; /* caches that lost it to another's write */
    uint32_t touched[];     /* a bit per cache: it has referenced the line before */
};

struct cache_stats {
    uint64_t reads, writes, fetches; /* references, once for each line touched */
    uint64_t read_misses, write_misses, fetch_misses;
    uint64_t kinds[MISS_KINDS];
    uint64_t upgrades;                                   /* write hits that needed the bus */
    uint64_t invalidations_sent, invalidations_received; /* copies */
    uint64_t updates_sent, updates_received;             /* copies */
    uint64_t evictions, write_backs, refused_write_backs, supplied;
};

struct cache {
    uint64_t stamp; /* latest given out */
    struct frame *frames;
    /* of its frames; after them used has a stamp for each place of the shadow (not in uniprocessor.c) */
    uint64_t *keys, *used;
    uint32_t *predictor;            /* [predictor_mask + 1] where a line was last: to be verified */
    struct bus_stackdist stackdist; /* the shadow, if bus.recent; */
    struct peet_sim_linemap *words; /* and its records of lines */
    struct peet_sim_oldest shadow_oldest;
    uint32_t shadow_used;
    uint64_t *plru; /* a tree per set */
    uint32_t number, hw;
    const char *kind;
    struct cache_stats stats;
    /* wide caches only: */
    struct peet_sim_oldest *oldest; /* a queue per set */
    uint32_t *free;                 /* + 1: a list of invalid frames per set */
    uint64_t *filled;               /* a stamp per frame: FIFO (any cache) */
    /* classification only: */
    struct shadow_node *shadow; /* lines + 1 of them, in the bus's shadows (not in uniprocessor.c) */
};

/**
 * A place in a cache's fully associative shadow.  Its stamp is used[where] of the cache: that of the frame that has the
 * line, or one of its own, used[lines + place].  Places count from 1.  Place 0 has no line, and used[lines] is a dummy
 * entry: so frames and lines without a place need no branch.
 */
struct shadow_node {
    uint64_t line;
    uint32_t where;
    uint32_t next; /* next place of the same line, in any cache, as b->shadows counts them; 0: none */
};
_Static_assert(sizeof(struct shadow_node) == 16, "four to a line of the host's cache");

/** A copy that was invalidated by another's write, until its cache misses on it. */
struct invalidation {
    uint64_t written; /* sectors that others wrote since */
    uint32_t cache;
    uint32_t next; /* + 1: next invalidation of the same line; of a free record: next free */
};

/** The reference that is under way, if the bus is watched (report.c). */
struct site {
    const struct peet_block *block;
    uint64_t address; /* of its part in the line */
    uint32_t ref, bytes;
    uint8_t touch, served; /* enum touch; level that served it: 1 another cache, 2 memory, 0 nobody */
};

enum { BUS_EVENT_BUFFER = 32 };

struct hw {
    uint64_t cpi_rest;   /* fraction of a cycle, in CPI_ONE */
    uint64_t busy_until; /* as the mapper was told: end of its latest block, and what it lost since */
    uint64_t stall_cycles, wait_cycles;
    struct site latest; /* watched: the latest reference that waited */
};
enum { CPI_SHIFT = 20, CPI_ONE = 1 << CPI_SHIFT };

struct walk;
struct line_access;
struct execution;
struct straddle;

/** The time of a fill, and the state that it leaves (groups.c). */
struct fill {
    uint64_t cycles;
    uint8_t op, state, permission;
};
/** FILL_SILENTLY: a read, and a write that needs no transaction then */
enum fill_kind { FILL_READ, FILL_WRITE, FILL_SILENTLY, FILL_KINDS };
/** Counts of fills by miss.c; all that follows from them is counted by peet__bus_groups_count(). */
struct filled {
    uint64_t fills[FILL_KINDS][8] /* by the state that was there */, kinds[MISS_KINDS] /* but for capacity */, waited;
};
_Static_assert(BUS_STATES_MAX <= 8, "a state's number has three bits");

/** What a reference does. */
enum touch { TOUCH_READ, TOUCH_WRITE, TOUCH_FETCH };

struct bus {
    const struct peet_env *env;
    const struct bus_protocol *protocol;
    uint8_t permission[BUS_STATES_MAX]; /* PERMISSION bits of each state */
    uint8_t quiet[BUS_STATES_MAX];      /* by state: a bit for each transaction by others that changes nothing */
    /* geometry */
    uint64_t cache_bytes;
    uint32_t line_bytes, line_shift, sector_shift;
    uint32_t ways, sets, lines; /* lines = ways * sets */
    uint32_t set_mask;          /* sets - 1 if that is a mask, else 0 */
    int wide;                   /* more ways than are searched one after the other */
    int recent;                 /* misses are told apart by stackdist.h */
    int uniprocessor;           /* one cache, narrow, unchecked: uniprocessor.c, and no lists of copies */
    enum bus_replacement replacement;
    enum bus_fetch fetch;
    int classify, check;
    /* timing */
    uint64_t cpi, hit_cycles; /* cpi in CPI_ONE */
    uint64_t address_cycles, word_cycles, memory_latency_cycles, cache_latency_cycles;
    uint64_t line_cycles; /* to transfer a line */
    uint32_t bus_width_bytes;

    unsigned nhw, ncaches;
    struct hw *hw;
    struct cache *caches;
    struct frame *frames;
    uint64_t *keys;               /* of all frames */
    struct line_record **records; /* of the lines in frames, by frame (not in uniprocessor.c) */
    void *frames_raw;             /* what was allocated for them, and for stamps */
    uint32_t predictor_mask;
    /* high bits of a line join the low ones, so that arrays whose distance is a power of two keep out of each other's way;
     * not with one processor: line & predictor_mask then */
    uint32_t hint_factor, hint_shift;
    struct block_template *templates; /* by block id (template.c) */
    uint32_t ntemplates;
    struct group *groups; /* of block templates with many */
    uint32_t ngroups, groups_size;
    struct line_access *line_accesses; /* in the order of first references, for each template that has them */
    uint32_t nline_accesses, line_accesses_size;
    struct straddles **straddles; /* of blocks with groups in two lines (straddle.c) */
    uint32_t nstraddles, straddles_size;
    struct group_member *group_members;
    uint32_t ngroup_members, group_members_size;
    struct bus_direct *direct; /* blocks that peet takes by itself (direct.c); NULL: none */
    struct bus_ahead *ahead;   /* the same for several processors (ahead.c) */
    int groupwise;             /* groups.c has its conditions */
    int filled_at_once[2];     /* a miss of a read, of a write: one transaction, which nobody refuses */
    /* miss.c */
    uint32_t (*go_slowly)(struct bus *, struct execution *, uint64_t begin, uint64_t line, const struct line_access *);
    int silent_write;             /* a write to a line that a read has brought in needs no transaction */
    struct fill fill[FILL_KINDS]; /* groupwise */
    /* groupwise: the state after references to a line that is there, BUS_INVALID: they need the bus */
    uint8_t silent[FILL_KINDS][BUS_STATES_MAX];
    uint64_t write_back_cycles[BUS_STATES_MAX]; /* groupwise: of a replaced line, by its state */
    struct filled filled;
    uint8_t dirty[BUS_STATES_MAX]; /* by state: whether it has to be written back */
    struct peet_sim_linemap lines_map;
    struct peet_sim_oldest_scratch scratch;
    uint64_t plru_keep[64], plru_set[64];
    uint64_t random;
    /* by frame: sectors written and not yet told to the lost records of its line, if there are any */
    uint64_t *written;
    /* by frame, if processors run ahead: sectors that are in `written` of a frame that is tracked and may be written;
     * such a write changes nothing but the stamp.  May lack some.  NULL: not needed */
    uint64_t *writable;
    struct shadow_node *shadows;
    struct invalidation *invalidations;
    uint32_t invalidations_size, invalidations_used, invalidations_free; /* free list, + 1, below invalidations_used */
    struct calendar calendar;
    struct checker *checker;
    int dead; /* failed: the run is ending, nothing more is simulated */
    /* report.c: */
    int watched;               /* somebody wants to know which reference it is */
    int perfect, perfect_hits; /* some structures' references take one cycle; even hits otherwise take more */
    int at_once;               /* the transactions under way take no time */
    uint32_t supplier;         /* whose cache gave the line */
    struct site site;
    struct peet_memory_event event_buffer[BUS_EVENT_BUFFER]; /* what observers do not know yet */
    uint32_t nbuffered;

    uint64_t transactions[BUS_OPS_COUNT];
    uint64_t refused, memory_line_reads, memory_line_writes, memory_word_writes, cache_to_cache;
    uint64_t end_cycles;
    void (*run)(struct bus *, struct cache *, const struct peet_block_event *, struct walk *);
    uint64_t (*touch)(struct bus *, struct cache *, uint64_t, uint64_t, unsigned, enum touch, uint64_t);
    uint64_t (*walk)(struct bus *, unsigned, const struct peet_block_event *, size_t, uint64_t, uint64_t, size_t *);
};

/** The state of a block while its references are simulated one by one. */
struct walk {
    uint64_t start; /* when its first instruction begins */
    uint64_t cpi_rest;
    uint64_t touches; /* so far: references, once for each line */
    uint64_t stall_cycles;
    uint64_t saved_cycles; /* of the hits in perfect memory */
};

/* template.c */

/** References of a block that go to one line together, or the only one of its line. */
struct group {
    uint16_t value;          /* whose address says where they are, */
    uint16_t before;         /* so many bytes after the first of them; */
    uint16_t span;           /* all lie in so many bytes */
    uint8_t stamp;           /* the last of them is this reference of the block, + 1 */
    uint8_t permission_mask; /* PERMISSION_WRITE: they only read */
};

enum { TEMPLATE_GROUPS = 4, TEMPLATE_REFS = 255 };
/* Below TEMPLATE_MANY: the number of groups, which are in the template. */
enum template_kind { TEMPLATE_MANY = TEMPLATE_GROUPS + 1, TEMPLATE_GENERAL, TEMPLATE_NONE_YET };

/** Block template: what one execution of a block costs if everything hits, and which lines to probe. */
struct block_template {
    uint64_t cost;   /* instructions and hits, in CPI_ONE */
    uint64_t counts; /* reads, and writes << 32 */
    uint8_t known;   /* enum template_kind + 1; zeroed memory has none */
    uint8_t ngroups; /* TEMPLATE_MANY */
    uint16_t nrefs;
    uint32_t more; /* TEMPLATE_MANY: its first group in bus.groups */
    struct group first[TEMPLATE_GROUPS];
    uint32_t accesses;  /* + 1: its first in bus.line_accesses; 0: not to be taken by groups (groups.c) */
    uint32_t straddles; /* + 1: its entry in bus.straddles; 0: no group of it was in two lines so far (straddle.c) */
};
_Static_assert(sizeof(struct block_template) == 64, "a template is one line of the host's cache");
/** Its groups. */
static inline const struct group *peet__bus_groups_of(const struct bus *b, const struct block_template *p)
{
    return p->known - 1 == TEMPLATE_MANY ? b->groups + p->more : p->first;
}

/** What happens to a line that some of a block's references go to, if it is not a hit with permission. */
struct line_access {
    uint64_t at;             /* when the first of them asks, since the block's beginning, in CPI_ONE: without stalls */
    uint16_t bytes;          /* of that reference */
    uint8_t first, last;     /* that reference of the block; the last one, + 1: as stamps count them */
    uint8_t ref;             /* that reference */
    uint8_t group;           /* of the template */
    uint8_t permission_mask; /* as in the group */
    uint8_t writes, writes_after; /* the first does; one after it does (or the first, after its read) */
    uint8_t fill;                 /* enum fill_kind */
    uint8_t nmembers;
    uint16_t offset;            /* of the first of them, after the group's beginning */
    uint32_t members;           /* those references, in bus.group_members */
    struct group_split *splits; /* by where the group is split; NULL: it never was */
    struct loop_access *loop;   /* what loops.c knows of it; NULL: it was in no loop */
};
/** A reference of a group: how far it is after the group's beginning. */
struct group_member {
    uint16_t offset;
    uint8_t ref;
};
enum { SPLIT_STRADDLING = 6 };
/** A group in two lines: what happens to each of them.  References that lie in both lines go to one and then to the
 * other. */
struct group_split {
    struct line_access lines[2];
    uint8_t known;                                     /* 1; 2: not to be had, too many lie in both */
    uint8_t nstraddling, straddling[SPLIT_STRADDLING]; /* references of the block that lie in both */
};
enum { ACCESSES_MAX = 64 };

/** peet__bus_template() - make the template of a block that is executed now.  Returns: 0, or -1 without memory */
int peet__bus_template(struct bus *b, const struct peet_block *block, const uint64_t *values);
void peet__bus_templates_fini(struct bus *b);
/** Room for @more after the @used ones of an array of so many.  Returns: 0, or -1 without memory */
int peet__bus_room_for(void **array, uint32_t *size, uint32_t used, uint32_t more, size_t bytes);

/* fast.c */
typedef void bus_run(struct bus *b, struct cache *c, const struct peet_block_event *event, struct walk *w);
/** The fastest function that takes a block's references through a cache of this geometry. */
bus_run *peet__bus_run_for(const struct bus *b);
/** When a reference of this instruction comes to its cache. */
static inline uint64_t peet__bus_time_in(const struct bus *b, const struct walk *w, uint32_t insn)
{
    return w->start + ((w->cpi_rest + b->cpi * insn) / CPI_ONE) + w->touches * b->hit_cycles + w->stall_cycles -
        w->saved_cycles;
}
/** A reference of one location that is no hit with permission.  @w: touches before it.  Returns: in how many lines it
 * lies */
uint64_t peet__bus_slow_reference(struct bus *b, struct cache *c, const struct peet_ref *ref, uint64_t address,
    struct walk *w);
/** Ranges of loads and of stores, of elements whose size is a power of two, where nobody checks or has perfect memory.
 */
void peet__bus_ranges(struct bus *b, struct cache *c, const struct peet_block *block, const uint64_t *values,
    struct walk *w);
/** The lines of a block's code. */
void peet__bus_run_fetches(struct bus *b, struct cache *c, const struct peet_block *block, struct walk *w);

/* blocks.c */
typedef uint64_t bus_walk(struct bus *b, unsigned hw, const struct peet_block_event *events, size_t n, uint64_t now,
    uint64_t until, size_t *out_done);
/** blocks() of the module, for this geometry */
bus_walk *peet__bus_walk_for(const struct bus *b);
/** One execution of a block, counted.  @time: since @now, in CPI_ONE.  Returns: its time, in CPI_ONE, with what is
 * added to @inout_stalled */
uint64_t peet__bus_one(struct bus *b, unsigned hw, const struct peet_block_event *event, uint64_t now, uint64_t time,
    uint64_t *inout_stalled);
/** One execution of a block, reference by reference; not counted.  Returns: its time, in CPI_ONE */
uint64_t peet__bus_exactly(struct bus *b, unsigned hw, const struct peet_block_event *event, uint64_t now,
    uint64_t time, uint64_t *inout_stalled);
/** Blocks are over: their time since @now, in CPI_ONE, their counts, and for how long they waited. */
void peet__bus_account(struct bus *b, unsigned hw, uint64_t now, uint64_t time, uint64_t reads, uint64_t writes,
    uint64_t stalled);
/** @until as a time since @now, in CPI_ONE: what is so far away is never reached in one call.  0: past it already. */
uint64_t peet__bus_limit_of(uint64_t now, uint64_t until);

/* loops.c */
/** loop() of the module */
uint64_t peet__bus_loop(struct bus *b, unsigned hw, const struct peet_block_event *event, uint64_t now, uint64_t until,
    uint64_t *out_turns);
/** peet__bus_iterations() - the same without event, account and limit: all iterations of a block that has line
 * accesses, no more than PEET_DIRECT_LOOKS
 *  @begins: where its groups are in the first iteration, in the order of the line accesses; @strides: by value */
void peet__bus_iterations(struct bus *b, unsigned hw, const struct block_template *p, const struct peet_block *block,
    const uint64_t *begins, const int64_t *strides, uint64_t iterations, uint64_t now, uint64_t *inout_time,
    uint64_t *inout_stalled);

/* direct.c */
/** What the module offers peet: most blocks of a single processor in its stead. */
extern const struct peet_direct peet__bus_direct;
void peet__bus_direct_fini(struct bus *b);

/* groups.c */
/** One execution of a block, line access by line access; what is the same for all its lines. */
struct execution {
    struct cache *c;
    uint64_t start, rest; /* when it begins, and the fraction of a cycle, in CPI_ONE */
    uint64_t stamp;       /* before it */
    uint64_t stalled;     /* so far */
    const struct peet_block *block;
    /* peet__bus_take_straddling(): what references in two lines take beyond the template, in CPI_ONE, and in stamps */
    uint64_t more_time;
    uint32_t more_stamps;
};
/** When the first reference of the way asks for its line. */
static inline uint64_t peet__bus_request_time(const struct execution *t, const struct line_access *w)
{
    return t->start + (t->rest + w->at) / CPI_ONE + t->stalled;
}
void peet__bus_groups_init(struct bus *b);
/** What groups.c has counted so far joins the statistics. */
void peet__bus_groups_count(struct bus *b);
/** peet__bus_line_accesses() - make the line accesses of a template's groups, if the block can be executed by groups.
 * @group_of: each reference's. Returns: 0, or -1 without memory */
int peet__bus_line_accesses(struct bus *b, struct block_template *p, const struct peet_block *block,
    const struct group *groups, const uint64_t *values, const uint8_t *group_of);
/** peet__bus_groups_exactly() - one execution of a block that may miss.  @addresses: of its groups.  @out_stalled: for
 * how long; @out_more_time: beyond that and the template, in CPI_ONE. Returns: 0, or -1: the block cannot be executed
 * by groups, and nothing has happened */
int peet__bus_groups_exactly(struct bus *b, unsigned hw, const struct block_template *p, const struct peet_block *block,
    const uint64_t *addresses, uint64_t now, uint64_t time, uint64_t *out_stalled, uint64_t *out_more_time);

/** May a set be the place of more of these lines than it has frames? */
int peet__bus_crowded(const struct bus *b, const uint64_t *lines, uint32_t n);

/* engine.c */
/** Memory ran out: end the run. */
void peet__bus_no_memory(struct bus *b);
/**
 * bus.touch - one reference to one line, whatever it takes
 * @sectors: the sectors of the line that it touches, a bit each
 * @bytes: how many bytes of the line (what a write-through sends)
 * @time: when it reaches the cache
 * Returns: cycles that it has to wait
 */
typedef uint64_t bus_touch(struct bus *b, struct cache *c, uint64_t line, uint64_t sectors, unsigned bytes,
    enum touch touch, uint64_t time);
/** The fastest one for this machine. */
bus_touch *peet__bus_touch_for(struct bus *b);

/* uniprocessor.c */
/** What kind of miss it is that happens now, unless others have taken the line, of one with this record, which is in no
 * frame.  @stamp: as in stackdist.h */
static inline __attribute__((always_inline)) enum bus_miss peet__bus_kind_uniprocessor(struct bus *b, struct cache *c,
    uint32_t at, uint64_t stamp)
{
    if (__builtin_expect(at < c->stackdist.cutoff, 1))
        return __builtin_expect(at != 0, 1) ? MISS_CAPACITY : MISS_COLD;
    return peet__bus_stackdist_shadowed(b, c, &c->stackdist, at, stamp) ? MISS_CONFLICT : MISS_CAPACITY;
}
/** bus.touch for a single processor's single cache: nobody else has anything to say. */
uint64_t peet__bus_touch_uniprocessor(struct bus *b, struct cache *c, uint64_t line, unsigned bytes, enum touch touch,
    uint64_t time);

/* cache.c */
/** A line's place in the predictor, as <peet/direct.h> has it. */
static inline __attribute__((always_inline)) uint32_t peet__bus_hint(const struct bus *b, uint64_t line)
{
    return (uint32_t)line * b->hint_factor >> b->hint_shift;
}
int peet__bus_caches_init(struct bus *b);
void peet__bus_caches_fini(struct bus *b);
struct frame *peet__bus_find(struct bus *b, struct cache *c, uint64_t line, const struct line_record *record);
/** The frame of the line's set that the next line goes into; may hold a valid line. */
struct frame *peet__bus_victim(struct bus *b, struct cache *c, uint64_t line);
/** Note a use (hits) or a filling (fill != 0). */
void peet__bus_used(struct bus *b, struct cache *c, struct frame *f, int fill);
void peet__bus_link(struct bus *b, struct line_record *record, struct frame *f);
/** Take a copy out of its line's list. */
static inline void peet__bus_unlink(struct bus *b, struct line_record *record, const struct frame *f)
{
    const uint32_t self = (uint32_t)(f - b->frames) + 1;
    uint32_t *link = &record->copies;
    while (__builtin_expect(*link != self, 0))
        link = &b->frames[*link - 1].next;
    *link = f->next;
}
/** The same, and make the frame invalid. */
void peet__bus_drop(struct bus *b, struct cache *c, struct frame *f);
static inline struct cache *peet__bus_cache_of(struct bus *b, const struct frame *f)
{
    return &b->caches[f->cache];
}
static inline struct frame *peet__bus_copies(struct bus *b, const struct line_record *record)
{
    return record->copies ? &b->frames[record->copies - 1] : NULL;
}
static inline struct frame *peet__bus_next_copy(struct bus *b, const struct frame *f)
{
    return f->next ? &b->frames[f->next - 1] : NULL;
}
/** What has been written to the frame is forgotten. */
static inline void peet__bus_unwrite(struct bus *b, uint32_t frame)
{
    b->written[frame] = 0;
    if (b->writable)
        b->writable[frame] = 0;
}
/** Set state and PERMISSION bits of a frame that holds @line. */
static inline void peet__bus_set(struct bus *b, struct frame *f, uint64_t line, unsigned state)
{
    f->state = (uint8_t)state;
    if (f->tracked && b->writable)
        b->writable[f - b->frames] = b->permission[state] & PERMISSION_WRITE ? b->written[f - b->frames] : 0;
    b->keys[f - b->frames] = KEY_OF(line) |
        (!b->classify || b->uniprocessor || f->place
                ? b->permission[state] & (f->tracked ? ~PERMISSION_WRITE : PERMISSION)
                : 0);
}
/** Nobody has lost the line of a frame any more: its writes have permission if its state has. */
static inline void peet__bus_untrack(struct bus *b, struct frame *f, uint64_t line)
{
    f->tracked = 0;
    if (b->writable)
        b->writable[f - b->frames] = 0;
    peet__bus_set(b, f, line, f->state);
}
static inline uint64_t peet__bus_line_in(const struct bus *b, const struct frame *f)
{
    return KEY_LINE(b->keys[f - b->frames]);
}
static inline uint32_t peet__bus_set_of(const struct bus *b, uint64_t line)
{
    return (uint32_t)(b->set_mask || b->sets == 1 ? line & b->set_mask : line % b->sets);
}

enum { NO_FRAME = UINT32_MAX };
/** The slow half of peet__bus_hit(). */
uint32_t peet__bus_hit_in_set(const struct bus *b, struct cache *c, uint64_t line, uint64_t permission_mask);
/**
 * peet__bus_hit() - is a reference to the line a hit without consequences?
 * @permission_mask: PERMISSION_WRITE for a read, 0 for a write
 * Returns: the frame, as an index in the cache; NO_FRAME
 */
static inline __attribute__((always_inline)) uint32_t peet__bus_hit(const struct bus *b, struct cache *c, uint64_t line,
    uint64_t permission_mask)
{
    uint32_t i = c->predictor[peet__bus_hint(b, line)];
    return __builtin_expect((c->keys[i] | permission_mask) == (KEY_OF(line) | PERMISSION), 1)
        ? i
        : peet__bus_hit_in_set(b, c, line, permission_mask);
}
/** The frame of the line's set that was used longest ago, as an index in the cache; invalid ones never were.  @out_used: when */
static inline __attribute__((always_inline)) uint32_t peet__bus_oldest(const struct bus *b, const struct cache *c,
    uint64_t line, uint64_t *out_used)
{
    enum { USUAL = 8, FEW = 2 };
    const uint32_t first = peet__bus_set_of(b, line) * b->ways;
    return first +
        (b->ways == USUAL        ? peet_sim_oldest_way(c->used + first, USUAL, out_used)
                : b->ways == FEW ? peet_sim_oldest_way(c->used + first, FEW, out_used)
                                 : peet_sim_oldest_way(c->used + first, b->ways, out_used));
}
static inline void peet__bus_plru_used(const struct bus *b, struct cache *c, uint32_t i)
{
    uint64_t *tree = &c->plru[i / b->ways];
    *tree = (*tree & b->plru_keep[i % b->ways]) | b->plru_set[i % b->ways];
}
/** The sectors of a line that @bytes from @offset on touch. */
static inline uint64_t peet__bus_sectors(const struct bus *b, uint64_t offset, uint64_t bytes)
{
    return (2ull << ((offset + bytes - 1) >> b->sector_shift)) - (1ull << (offset >> b->sector_shift));
}

/* classify.c */
int peet__bus_classify_init(struct bus *b);
void peet__bus_classify_fini(struct bus *b);
/** Room for one invalidation record per cache, so that a transaction cannot fail half-way.  Returns: 0 or -1 */
int peet__bus_classify_reserve(struct bus *b);
/** Tell the line's invalidation records what the holders wrote since the last time. */
void peet__bus_classify_settle(struct bus *b, struct line_record *record);
void peet__bus_classify_wrote(struct bus *b, struct line_record *record, uint32_t cache, uint64_t sectors);
void peet__bus_classify_lost(struct bus *b, struct line_record *record, uint32_t cache);
/** Count the kind of a miss that happens now.  @word: its record in stackdist.h, or NULL */
void peet__bus_classify_miss(struct bus *b, struct cache *c, struct line_record *record, const uint32_t *word,
    uint64_t sectors);
/** The shadow sees a reference; @f: the cache's own frame or NULL; @insert: bring it in if it is not there */
void peet__bus_shadow_use(struct bus *b, struct cache *c, uint64_t line, struct line_record *record, struct frame *f,
    int insert);
/** The cache's own frame of this line is about to go. */
void peet__bus_shadow_leave(struct bus *b, struct cache *c, struct frame *f);

/* check.c: data as version numbers */
int peet__bus_check_init(struct bus *b);
void peet__bus_check_fini(struct bus *b);
void peet__bus_check_fill(struct bus *b, struct frame *to, uint64_t line, const struct frame *from); /* NULL: memory */
void peet__bus_check_memory_takes(struct bus *b, uint64_t line, const struct frame *from);
void peet__bus_check_memory_takes_sectors(struct bus *b, uint64_t line, uint64_t sectors);
void peet__bus_check_take(struct bus *b, struct frame *f, uint64_t line, uint64_t sectors);
/* new versions; NULL: no copy */
void peet__bus_check_write(struct bus *b, struct frame *f, uint64_t line, uint64_t sectors);
void peet__bus_check_read(struct bus *b, struct cache *c, struct frame *f, uint64_t line, uint64_t sectors);
void peet__bus_check_processor_row(struct bus *b, unsigned state, int write);
void peet__bus_check_snoop_row(struct bus *b, struct cache *c, uint64_t line, unsigned state, enum bus_op op);
/** The invariants of one line, after everything about it is done. */
void peet__bus_check_line(struct bus *b, uint64_t line);

/* report.c */
/** The slow half of peet__bus_report(). */
void peet__bus_report_now(struct bus *b);
/** Describes the caches to observers; sees whether anybody watches. */
void peet__bus_watch_init(struct bus *b);
/** A part of a reference, before it is taken through peet__bus_touch_watched(); b->site.block is there. */
static inline void peet__bus_at(struct bus *b, uint32_t ref, uint64_t address, uint32_t bytes)
{
    b->site.ref = ref;
    b->site.address = address;
    b->site.bytes = bytes;
}
/** Does it lie in a structure with perfect memory? */
int peet__bus_at_perfect(const struct bus *b);
/** bus.touch or peet__bus_touch_uniprocessor() for b->site, and the reports */
uint64_t peet__bus_touch_watched(struct bus *b, struct cache *c, uint64_t line, uint64_t sectors, unsigned bytes,
    enum touch touch, uint64_t time);
/** A line leaves a cache: to make room (@by: the same cache) or because another one wants it */
void peet__bus_report_removed(struct bus *b, const struct cache *c, uint64_t line, const struct cache *by, int dirty,
    uint64_t now);
/** Observers get the buffered events: before anything changes what the events mean, and before observers see the
 * blocks. */
static inline void peet__bus_report(struct bus *b)
{
    if (__builtin_expect(b->nbuffered != 0, 0))
        peet__bus_report_now(b);
}
/** miss.c for a watched bus where the line is there (but this is no hit with permission), or its memory may be
 * perfect. */
uint32_t peet__bus_go_watched(struct bus *b, struct execution *t, uint64_t begin, uint64_t line,
    const struct line_access *w);
/** Where the next report is to be written, which is there then. */
static inline struct peet_memory_event *peet__bus_next_report(struct bus *b)
{
    if (__builtin_expect(b->nbuffered == BUS_EVENT_BUFFER, 0))
        peet__bus_report_now(b);
    return &b->event_buffer[b->nbuffered++];
}
/** By enum bus_miss, and MISS_KINDS: enum peet_memory_cause. */
extern const uint8_t peet__bus_causes[];
/** A transaction that a processor waits for ends later than the mapper was told. */
void peet__bus_report_lost(struct bus *b, unsigned hw, uint64_t cycles, uint64_t now);

/* stats.c */
void peet__bus_stats(struct bus *b, const struct peet_env *env, struct peet_stats *node);

#endif
