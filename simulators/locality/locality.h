/* SPDX-License-Identifier: Apache-2.0 */
/*
 * locality: how a program uses its memory, whatever the machine.  Cache surfaces (common/surface.h) for each software
 * context, for the merged stream, for functions, data structures and windows of time; reuse times, working set and
 * sharing of lines of one width.  module.c takes events, attribute.c finds the tally that a reference belongs to,
 * lines.c keeps what is asked of single lines, sampled.c estimates, report.c writes the results.
 *
 * STREAMS.  Each software context has LRU stacks of its own, as a processor with private caches would.  The merged
 * stream is that of all contexts in the order of simulated time, as a shared cache would see it. REFERENCES.  A
 * reference belongs to the lines of its first byte.  A read-modify-write is two references, a string instruction as
 * many as it has elements, a prefetch none: the same as `counts,convention=plain` has.
 */
#ifndef PEET_LOCALITY_H
#define PEET_LOCALITY_H

#include <peet/module.h>
#include "common/surface.h"

#define LOCALITY_UNLIKELY(x) __builtin_expect(!!(x), 0)

enum {
    LOCALITY_WINDOWS = 64,
    LOCALITY_TIMES = 65,
    LOCALITY_STRIDES = 4,
    LOCALITY_STRIDED_LINE = 64,
    LOCALITY_NOBODY = UINT32_MAX
};

/** What a tally is of. */
struct locality_key {
    uint32_t context, function, data, block;
};

/** Reuse distances, with the first references of bursts by lines before them. */
struct locality_found {
    double reuse[PEET_SIM_WIDTHS][PEET_SIM_BUCKETS], same[PEET_SIM_HALVINGS][PEET_SIM_BUCKETS];
    double unseen[PEET_SIM_WIDTHS][PEET_SIM_MEETINGS - PEET_SIM_UNSEEN];
};
/** What bursts tell of a stream: each reference counts as often as it stands for others (sampled.h). */
struct locality_estimate {
    double references;
    struct locality_found near;      /* of bursts that see all references */
    struct locality_found far;       /* of sparse ones */
    double samples[PEET_SIM_WIDTHS]; /* so many references are in `far`, each counted once */
    double strided[PEET_SIM_BUCKETS], strided_unseen;
};

/** References of one context, function and structure. */
struct locality_part {
    struct locality_key key;
    const struct peet_function *function;
    struct peet_sim_tally tally;
    struct locality_estimate *estimate; /* sampled: of all bursts but the one that `tally` is of */
};

/** Of a reference: its latest address, and how far that was from the one before. */
struct locality_latest {
    uint64_t address, stride;
};
/** A reference of a block. */
struct locality_ref {
    struct locality_latest *latest; /* by context, several of which may be the same one; plan->nrefs apart */
    uint16_t value;
    uint8_t store, modify;
    /* attribute.c: the latest execution's object, and the tally */
    uint32_t context, epoch;
    uint64_t lo, span;
    struct peet_sim_tally *tally;
};
struct peet_direct_watch;
struct locality_plan {
    /* What an execution of a simple block needs, if nothing but the context's surface is asked for */
    struct locality_latest *latest; /* by context and reference */
    uint16_t *value;                /* by reference */
    uint32_t nrefs;
    uint32_t references, modifies; /* of an execution, if they do not vary */
    uint8_t made, armed;
    struct locality_ref *refs;
    /* sampled.c */
    struct peet_direct_watch *watch;
    uint64_t told;    /* so many of those that were taken have been counted */
    uint64_t all;     /* its references */
    uint64_t seen;    /* of them, those that bursts have seen, not sparse ones */
    double sparse;    /* of them, those that sparse bursts have seen or stand for */
    double estimated; /* the sum of what its parts are estimates of */
};

/** lines.c: what is known of a line of one width. */
struct locality_line {
    uint64_t last;            /* number of its latest reference; 0: none */
    uint16_t reader, writer;  /* the first context that references it, the latest that writes it, + 1 */
    uint8_t several, writers; /* several contexts reference it; 0, 1 or 2 (several) contexts write it */
};
struct locality_lines {
    struct peet_sim_linemap map;
    struct locality_line *line;                          /* of the latest reference */
    uint64_t number, now;                                /* its number; references so far */
    uint64_t count[LOCALITY_TIMES], sum[LOCALITY_TIMES]; /* reuse times above 2^(b-1), up to 2^b */
    uint64_t cold, from_others;                          /* references to lines that another context wrote last */
    uint32_t context;
};
/** Lines of each kind. */
struct locality_sharing {
    uint64_t lines, private_lines, read_shared, one_writer, several_writers;
};

struct locality_sampler;
struct locality_sparse;
struct locality_context {
    struct peet_sim_surface *surface;
    struct locality_part *part; /* where all goes if nobody asks for functions or structures */
    uint64_t burst;             /* sampled: surface and sparse stacks know of no other one */
    struct locality_sparse *sparse;
    struct locality_density {
        uint64_t blocks;
        double lines[PEET_SIM_WIDTHS];
    } density;
};

struct locality {
    const struct peet_env *env;
    struct locality_plan *plans; /* by block id */
    uint32_t nplans;
    struct locality_context *contexts;
    uint32_t ncontexts, used;         /* used: of them, those that have referenced anything */
    struct peet_sim_surface *merged;  /* NULL as long as there is one context alone */
    struct peet_sim_tally shared;     /* of the merged stream, once there are several */
    struct locality_sampler *sampler; /* NULL: exact */
    struct locality_estimate *shared_estimate, *window_estimates;
    struct locality_sparse *shared_sparse;
    struct locality_density shared_density;
    struct locality_lines *lines;
    void *parts; /* attribute.c's hash table */
    uint32_t nparts;
    uint32_t epoch;
    /* windows */
    struct peet_sim_tally *windows, seen;
    uint32_t nwindows;
    uint64_t window, due, references; /* references in each, when the next ends, so far */
    /* parameters */
    unsigned line_shift;
    int functions, structures, want_merged, want_windows;
    uint64_t top;
    int failed;
    int sparse_burst; /* sampled: now */
};

/* ---- module.c */
void locality__no_memory(struct locality *self);
/** An execution of a block. */
void locality__execute(struct locality *self, const struct peet_block_event *event);
/** All references that surfaces have are counted in tallies. */
void locality__flush(struct locality *self);
/** The block's plan; NULL: no memory */
struct locality_plan *locality__plan(struct locality *self, const struct peet_block *block);
/** So many references of an execution. */
uint64_t locality__references(const struct locality_plan *plan, const struct peet_block *block, const uint64_t *values);
/** If the window is over, the next one begins. */
void locality__see_window(struct locality *self);

/* ---- attribute.c */
/** The tally of a reference; never NULL (after a failure it is anyone's). */
struct peet_sim_tally *locality__attribute(struct locality *self, struct locality_ref *ref,
    const struct peet_block *block, uint32_t context, uint64_t address);
/** The part of all references of a context; NULL: no memory */
struct locality_part *locality__part(struct locality *self, struct locality_key key,
    const struct peet_function *function);
/** Calls @visit for each part. */
void locality__each_part(const struct locality *self, void (*visit)(void *arg, const struct locality_part *part),
    void *arg);
/** The sum of all that match, LOCALITY_NOBODY matching all; settled, and if it is sampled, an estimate */
void locality__sum(struct locality *self, struct locality_key key, struct peet_sim_tally *out_sum);
void locality__parts_free(struct locality *self);
static inline int locality__matches(struct locality_key wanted, struct locality_key is)
{
    return (wanted.context == LOCALITY_NOBODY || wanted.context == is.context) &&
        (wanted.function == LOCALITY_NOBODY || wanted.function == is.function) &&
        (wanted.data == LOCALITY_NOBODY || wanted.data == is.data);
}

/* ---- lines.c */
struct locality_lines *locality__lines_new(void);
void locality__lines_free(struct locality_lines *l);
/** The rare half of locality__line(). */
int locality__line_changes(struct locality_lines *l, uint64_t number, uint32_t context, int store);
void locality__lines_sharing(const struct locality_lines *l, struct locality_sharing *out_sharing);

/** A reference to a line.  Returns: 0, or -1 without memory */
static inline int locality__line(struct locality_lines *l, uint64_t number, uint32_t context, int store)
{
    if (number == l->number && context == l->context && (!store || l->line->writer == (uint16_t)(context + 1))) {
        l->now++;
        l->count[0]++;
        l->sum[0]++;
        return 0;
    }
    return locality__line_changes(l, number, context, store);
}

/* ---- report.c */
void locality__stats(struct locality *self, const struct peet_env *env, struct peet_stats *node);

#endif
