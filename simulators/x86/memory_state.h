/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memory system of the x86 machine: what its files share.  memory.c is construction and what a core asks;
 * memory_private.c a core's own caches; memory_home.c directory, third level and DRAM; memory_prefetch.c
 * prefetches; memory_report.c what observers are told, and why lines were missed; memory_check.c the invariants;
 * memory_stats.c counters; memory_fast.h the hit that most accesses are.
 *
 * Invariants (memory_check.c):
 *   - The *outer* cache of a core (L2, or L1D where there is none) holds the coherence state of a line.  With an
 *     L2, what L1I and L1D hold is in it, and L1D has only S (may be read) and M (may be written, is newer).
 *   - A line that L1I holds is not M in L1D of the same core.
 *   - The directory's set holds every core that has the line; owner is the core that has it E, O or M.
 *   - M and E exclude all other copies.
 *   - Inclusive L3: it holds what any core holds.  Exclusive: what a core holds, it does not.
 *   - If no core has it O or M, then L3 has the latest data; if L3 does not have the line, or has it clean, DRAM does.
 */
#ifndef PEET_X86_MEMORY_STATE_H
#define PEET_X86_MEMORY_STATE_H

#include "../common/ahead.h"
#include "../common/directory.h"
#include "../common/dram.h"
#include "../common/linemap.h"
#include "../common/network.h"
#include "../common/prefetch.h"
#include "../common/server.h"
#include "../common/shadow.h"
#include "../common/slots.h"
#include "../common/tags.h"
#include "../common/tlb.h"
#include "../common/windows.h"
#include "memory.h"
#include "memory_config.h"

/** Of a slot; S up to M may be read. */
enum x86_state {
    X86_I,
    X86_S,
    X86_F,
    X86_E,
    X86_O,
    X86_M,
    X86_STATE = 7,
    X86_PREFETCHED = 8 /* nobody has asked for it yet */
};
/** Of a slot of L3. */
enum { X86_L3_CLEAN = 1, X86_L3_DIRTY = 2 };

struct x86_level_stats {
    uint64_t reads, writes; /* lines asked for; of L1I, reads are fetches */
    uint64_t read_misses, write_misses, upgrades;
    uint64_t evictions, write_backs; /* write_backs: evictions and losses of newer data */
    uint64_t invalidations;          /* by another core's write */
    uint64_t recalls;                /* lost because another cache could not keep its entry */
    /* late: not there yet; dropped: no register free */
    uint64_t prefetches, prefetches_used, prefetches_late, prefetches_dropped;
    uint64_t walk_reads, walk_misses;
    uint64_t causes[PEET_MISS_CAUSES]; /* classified: of read_misses and write_misses */
};

/** When what a slot holds is there: as small as can be, since there are many. */
struct x86_arrival {
    uint64_t ready;               /* the line is there */
    uint32_t span : 29, from : 3; /* so long before it was asked for; enum x86_served: where it comes from */
    int32_t owned;                /* outer and L1D: the right to write comes so much later */
};

enum { X86_SPAN_MOST = (1 << 29) - 1 };
_Static_assert(X86_SERVED <= 8, "struct x86_arrival has three bits for it");

/** peet__x86_owned() - when the right to write comes */
static inline uint64_t peet__x86_owned(const struct x86_arrival *a)
{
    return a->ready + (uint64_t)(int64_t)a->owned;
}

static inline void peet__x86_own(struct x86_arrival *a, uint64_t when)
{
    int64_t later = (int64_t)(when - a->ready);

    a->owned = later > INT32_MAX ? INT32_MAX : later < INT32_MIN ? INT32_MIN : (int32_t)later;
}

static inline void peet__x86_arrives(struct x86_arrival *a, uint64_t asked, uint64_t ready, uint8_t from)
{
    uint64_t span = ready > asked ? ready - asked : 0;

    *a = (struct x86_arrival){
        .ready = ready, .span = span < X86_SPAN_MOST ? (uint32_t)span : X86_SPAN_MOST, .from = from};
}

/** One cache: tags, and by slot when what it holds is there. */
struct x86_level {
    struct peet_sim_tags tags;
    struct x86_arrival *lines;
    /* L1D, if peet looks lines up in it (sampling_far.c): by slot, as in ../common/ahead.h; else NULL */
    uint64_t *keys;
    uint64_t *written;  /* L1D, when causes are told: sectors written since others lost the line */
    uint64_t *versions; /* checked: of its data */
    struct peet_sim_server port;
    struct peet_sim_slots mshrs;
    struct peet_sim_prefetcher prefetcher;
    struct peet_sim_shadow shadow; /* classified: shown what the cache is asked for */
    uint32_t cycles;
    uint8_t number; /* in reports, from 1 */
    struct x86_level_stats stats;
};

enum { X86_PAGE_HINTS = 64, X86_PREFETCH_PAGE_BITS = 12, X86_KEPT = 16 };

/**
 * A line that a core has lost to another's request, or the right to write it: it goes on using it until the request has
 * come to it and is answered (docs/X86-MEMORY.md, "Requests on their way").  Loads of what the other one writes do not:
 * they see the new value, which has to come here.
 */
struct x86_kept {
    uint64_t line;
    uint64_t from, until; /* the line is there; the request is answered */
    uint64_t theirs;      /* sectors that the other one writes */
    uint64_t stores;      /* so many more of the store queue may be written */
    uint8_t write;        /* it may be written */
};

struct x86_core {
    struct x86_level l1i, l1d, l2;
    struct x86_level *outer; /* l2, or l1d */
    struct peet_sim_tlb dtlb, itlb;
    struct peet_sim_slots walkers, writebacks;
    uint32_t *hints, *page_hints; /* slots of L1D by line, of the DTLB by page: to be verified */
    /* what the stride prefetcher found last when it looked ahead, by number of its entry: lines that L1D has, and hints tell so */
    struct x86_near {
        uint64_t from, end; /* of one page of the prefetcher's */
        uint64_t lost;      /* x86_core.lost of it then: it is so as long as that stands */
    } nears[PEET_SIM_PREFETCH_PCS];
    struct x86_kept kept[X86_KEPT]; /* by line */
    uint64_t lost[X86_PAGE_HINTS];  /* by page: lines that L1D has lost, and hints that are no longer theirs */
    uint32_t number, node;
    uint64_t served[X86_SERVED]; /* data accesses of the program that missed in L1, and hits */
    uint64_t served_cycles[X86_SERVED];
    uint64_t tlb_cycles, coherence_cycles;
};

struct x86_slice {
    struct x86_level l3; /* levels without a third: only its port and counters */
    uint32_t node;
};

/** Per line, ever missed: as small as can be, since there are many. */
struct x86_line {
    uint32_t owner;     /* core + 1 that has it E, O or M */
    uint32_t forwarder; /* core + 1 that has it F */
    /* as long as need be; then, if causes are told, a cell for each core; then, checked, versions */
    union peet_sim_sharers sharers;
};

/** Of a line's data, when they are checked. */
struct x86_versions {
    uint64_t latest, memory;
};

/** Why a core does not have a line: 0 it never had. */
enum {
    X86_CELL_HAD = 1,
    X86_CELL_LOST = 2,
    X86_CELL_SECTORS = 2 /* shift: sectors that others wrote since it was lost */
};

/** What is counted over time: demand misses by level, and lines that DRAM reads and writes. */
enum x86_series { X86_OVER_TIME_L1D, X86_OVER_TIME_L2, X86_OVER_TIME_L3, X86_OVER_TIME_DRAM, X86_OVER_TIME };

struct x86_memory {
    struct x86_core *cores;
    struct peet_sim_ahead *ahead; /* cores that are far from a window of sampled timing run ahead; NULL: none does */
    struct x86_slice *slices;
    uint32_t ncores, nslices;
    uint32_t nchips, places, nchannels; /* places: cores that there are, used or not */
    uint32_t line_shift, page_shift;
    uint32_t l1d_cycles, hint_mask;
    uint8_t fast;    /* memory_fast.h may answer */
    uint8_t strides; /* L1D's prefetcher wants to see hits, too */
    uint8_t lru, has_l2, has_l3, check, causes, classify, perfect, translation;
    uint8_t timeless; /* nothing takes time: always, or while a reference to perfect data moves its lines */
    uint8_t nlevels;
    uint8_t reports;                          /* mask of 1 << enum peet_memory_type */
    uint8_t dead;                             /* failed: the run is ending */
    uint32_t home_in_cycles, home_out_cycles; /* l3_cycles in halves */
    uint32_t sector_shift;
    size_t cells_offset, versions_offset; /* in struct x86_line */
    const struct peet_env *env;
    struct x86_memory_config config;
    struct peet_sim_directory directory;
    struct peet_sim_linemap lines;
    struct peet_sim_shadow l3_shadow; /* classified */
    struct peet_sim_network network;
    struct peet_sim_dram dram;
    struct peet_sim_windows over_time[X86_OVER_TIME];
    uint64_t version; /* checked: the latest */
    uint64_t checks;
    uint64_t cache_to_cache, directory_requests, memory_reads, memory_writes, invalidations_sent, broadcasts;
};

enum { X86_SECOND_HIT = 1, X86_SECOND_MISS };

/** An access on its way, for whoever is told of it. */
struct x86_request {
    const struct x86_access *access;
    uint64_t line;
    uint64_t now; /* when the access began */
    uint32_t core;
    uint8_t write, fetch, walk;
    uint8_t prefetch;     /* into this level; 0: none */
    uint8_t upgrades;     /* out: those of them that had the line, but not the right to write it */
    uint8_t second_level; /* out: L2 was asked */
    uint64_t second_level_at;
    uint8_t served;            /* out */
    uint8_t missed;            /* out: levels, 1 << number */
    uint8_t shadowed;          /* out, classified: those that fully associative caches would have had */
    uint64_t coherence_cycles; /* out */
    uint64_t version;          /* out: of what was read */
    uint32_t other;            /* out: hardware context whose cache gave the line */
};

/** What the home of a line grants. */
struct x86_grant {
    uint64_t done; /* data, or the right to write, has arrived */
    uint8_t state; /* enum x86_state */
};

static inline uint64_t x86_later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static inline struct x86_versions *peet__x86_versions(const struct x86_memory *m, const struct x86_line *record)
{
    return (struct x86_versions *)((char *)record + m->versions_offset);
}

/** How many lines L1D has lost of this one's page. */
static inline uint64_t *peet__x86_lost(const struct x86_memory *m, struct x86_core *c, uint64_t line)
{
    return &c->lost[(line >> (X86_PREFETCH_PAGE_BITS - m->line_shift)) % X86_PAGE_HINTS];
}

/** A line is in this slot of L1D. */
static inline void peet__x86_hint(const struct x86_memory *m, struct x86_core *c, uint64_t line, uint64_t slot)
{
    uint32_t *hint = &c->hints[line & m->hint_mask];

    if (*hint == slot)
        return;
    ++*peet__x86_lost(m, c, c->l1d.tags.numbers[*hint]);
    *hint = (uint32_t)slot;
}

/** The state of a slot has changed: what peet may do with the line without asking. */
static inline void peet__x86_show(struct x86_level *level, uint64_t slot)
{
    const uint8_t state = level->tags.states[slot];

    if (__builtin_expect(level->keys != NULL, 0))
        level->keys[slot] = !state || state & X86_PREFETCHED
            ? 0
            : level->tags.numbers[slot] << PEET_SIM_KEY_SHIFT | (state == X86_M ? PEET_SIM_MAY : PEET_SIM_MAY_READ);
}

/** A slot of a core's own cache is emptied. */
static inline void peet__x86_empty(const struct x86_memory *m, struct x86_core *c, struct x86_level *level,
    uint64_t slot)
{
    if (level == &c->l1d)
        ++*peet__x86_lost(m, c, level->tags.numbers[slot]);
    peet_sim_tags_drop(&level->tags, slot);
    peet__x86_show(level, slot);
}

/** A place among so many, which takes time only where anything does. */
static inline void peet__x86_take(const struct x86_memory *m, struct peet_sim_slots *slots, uint64_t now,
    uint64_t *out_start)
{
    *out_start = now;
    if (!m->timeless)
        peet_sim_slots_take(slots, now, out_start);
}

static inline void peet__x86_until(const struct x86_memory *m, struct peet_sim_slots *slots, uint64_t end)
{
    if (!m->timeless)
        peet_sim_slots_until(slots, end);
}

static inline void peet__x86_over_time(struct x86_memory *m, enum x86_series what, uint64_t now)
{
    peet_sim_windows_add(&m->over_time[what], now, now + 1);
}

static inline uint32_t peet__x86_hw(const struct x86_memory *m, uint32_t core)
{
    return core * m->config.threads;
}

/* memory_private.c */

/** peet__x86_data() - load or store one line of L1D.  Returns: when it is there */
uint64_t peet__x86_data(struct x86_memory *m, struct x86_request *r, uint64_t now);
/** peet__x86_fetch() - fetch one line of code */
uint64_t peet__x86_fetch(struct x86_memory *m, struct x86_request *r, uint64_t now);
/** peet__x86_outer() - what a first-level cache misses, or may not write, @have: it has the line.  Returns: when it is
 * there */
uint64_t peet__x86_outer(struct x86_memory *m, struct x86_request *r, uint64_t now, int have, uint8_t *out_state);
/** peet__x86_arrived() - when a line that is in a slot is there for a request at this time */
static inline uint64_t peet__x86_arrived(struct x86_level *level, uint64_t slot, uint64_t now)
{
    struct x86_arrival *a = &level->lines[slot];

    if (a->ready <= now)
        return now;
    if (now + a->span < a->ready) {
        /* Whoever brought it came later in time than this access, which is told later: it would have brought the line
         * itself. */
        uint64_t owned = peet__x86_owned(a);

        a->ready = now + a->span;
        peet__x86_own(a, owned);
    }
    return a->ready;
}
/** peet__x86_first_use() - a line is asked for, other than by a prefetcher.  Returns: whether one had brought it, and
 * nobody asked since */
static inline int peet__x86_first_use(struct x86_level *level, uint64_t slot, uint64_t now)
{
    if (!(level->tags.states[slot] & X86_PREFETCHED))
        return 0;
    level->tags.states[slot] &= X86_STATE;
    peet__x86_show(level, slot);
    level->stats.prefetches_used++;
    level->stats.prefetches_late += level->lines[slot].ready > now + level->cycles;
    return 1;
}
/** peet__x86_state() - a core's coherence state of a line; S if only L1I has it */
uint8_t peet__x86_state(struct x86_memory *m, uint32_t core, uint64_t line);
/** peet__x86_drop() - a core loses all copies.  @out_version: of its data.  Returns: the state that it had */
enum x86_why { X86_BY_WRITE, X86_BY_RECALL };
uint8_t peet__x86_drop(struct x86_memory *m, uint32_t core, uint64_t line, const struct x86_request *by,
    enum x86_why why, uint64_t *out_version);
/** peet__x86_share() - a core keeps a line but may not write it any more, as @by wants to read it */
void peet__x86_share(struct x86_memory *m, uint32_t core, uint64_t line, const struct x86_request *by, uint8_t state,
    uint64_t *out_version);

/* memory_home.c */

/** peet__x86_home() - ask the home of r->line for it at @now, @have: only the right to write */
void peet__x86_home(struct x86_memory *m, struct x86_request *r, int have, uint64_t now, struct x86_grant *out);
/** peet__x86_evicted() - a core's outer cache has let a line go to make room; @still: L1I still has it */
void peet__x86_evicted(struct x86_memory *m, struct x86_request *r, uint32_t core, uint64_t line, uint8_t state,
    int still, uint64_t version, uint64_t now);
struct x86_line *peet__x86_line(struct x86_memory *m, uint64_t line);
static inline uint32_t peet__x86_slice(const struct x86_memory *m, uint64_t line)
{
    return m->nslices == 1 ? 0 : (uint32_t)((unsigned __int128)(line * 0x9e3779b97f4a7c15u) * m->nslices >> 64);
}

/** The home of a line will be asked: what it keeps of it is fetched into the host's caches meanwhile. */
static inline void peet__x86_soon(const struct x86_memory *m, uint64_t line)
{
    const struct x86_level *l3 = &m->slices[peet__x86_slice(m, line)].l3;

    peet_sim_linemap_prefetch(&m->lines, line);
    if (m->has_l3) {
        peet_sim_tags_prefetch(&l3->tags, line);
        __builtin_prefetch(&l3->lines[peet_sim_tags_set(&l3->tags, line) * l3->tags.ways]);
    }
}

/* memory_prefetch.c */

/** peet__x86_prefetch() - a level was asked for a line; it fetches what its prefetcher makes of that */
void peet__x86_prefetch(struct x86_memory *m, struct x86_level *level, const struct x86_request *r, int miss,
    uint64_t now);

/* memory_report.c */

/** peet__x86_shown() - classified: a cache of a core's own is asked for a line; what a fully associative one would have
 * said */
static inline void peet__x86_shown(const struct x86_memory *m, struct peet_sim_shadow *shadow, uint8_t number,
    struct x86_request *r)
{
    if (__builtin_expect(m->classify, 0))
        r->shadowed |= (uint8_t)(peet_sim_shadow_use(shadow, r->line) << number);
}

/** peet__x86_report_misses() - of a request that is served at @done: the levels that it missed, nearest first */
void peet__x86_report_misses(struct x86_memory *m, const struct x86_request *r, uint64_t done);
void peet__x86_report_loss(struct x86_memory *m, const struct x86_level *level, uint32_t core, uint64_t line,
    enum peet_memory_type type, int dirty, const struct x86_request *by);
/** peet__x86_wrote() - a core has written these sectors of a line: who has lost it will miss what */
void peet__x86_wrote(struct x86_memory *m, uint32_t core, uint64_t line, uint64_t sectors);
/** peet__x86_lost() - a core loses a line to another's write */
void peet__x86_lost_to(struct x86_memory *m, uint32_t core, uint64_t line);
static inline uint64_t peet__x86_sectors(const struct x86_memory *m, uint64_t address, uint64_t bytes)
{
    uint64_t offset = address & (m->config.line_bytes - 1), last = offset + (bytes ? bytes - 1 : 0);

    last = last < m->config.line_bytes ? last : m->config.line_bytes - 1;
    return (2ull << (last >> m->sector_shift)) - (1ull << (offset >> m->sector_shift));
}

/** peet__x86_keep() - another's request comes to a core at @asked.  @state: of the line before; @from, @until: as in struct
 * x86_kept.  A store is written in each cycle until the request is there, and then hold_stores more */
static inline void peet__x86_keep(struct x86_memory *m, uint32_t core, const struct x86_request *by, uint8_t state,
    uint64_t from, uint64_t asked, uint64_t until)
{
    const struct x86_access *a = by->access;
    const int within = a->address >> m->line_shift == by->line;

    if (m->timeless)
        return;
    m->cores[core].kept[by->line % X86_KEPT] = (struct x86_kept){.line = by->line,
        .from = from,
        .until = until,
        .theirs = !by->write ? 0
            : within         ? peet__x86_sectors(m, a->address, a->size_bytes)
                             : UINT64_MAX,
        .stores = m->config.hold_stores + (asked > from ? asked - from : 0),
        .write = state == X86_E || state == X86_M};
}

/* memory_check.c */
void peet__x86_violated(struct x86_memory *m, uint64_t line, const char *what);

#endif
