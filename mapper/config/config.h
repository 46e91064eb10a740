/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The configuration of a run: the structure, and its way from and to a libconfig file.  The command
 * line fills it, checks it and writes the effective file; the host inside the subject reads that file.
 * What a module's parameters mean is the module host's business (modhost.h): here they are names and
 * texts until peet_config_resolve() has held them against the module's own table.
 */
#ifndef PEET_CONFIG_H
#define PEET_CONFIG_H

#include <stddef.h>
#include <stdint.h>
#include <jansson.h>
#include <peet/error.h>
#include "mapper.h"
#include "modules/given.h"

#define PEET_CONFIG_VERSION 1
#define PEET_EXPLORE_ALL UINT64_MAX

enum peet_granularity { PEET_GRANULARITY_SYNC, PEET_GRANULARITY_BLOCK, PEET_GRANULARITY_REF, PEET_GRANULARITY_BLOCKS };

/** An observer that decides (pick_context(), pick_winner()): given by its path, with parameters; resolving makes it one
 * of the observers. */
struct peet_config_decider {
    char *spec; /* NULL: none */
    char *where;
};

/** Texts that can be given several times. */
struct peet_config_texts {
    char **texts;
    size_t n;
};

/** The main thread's stack: an unlimited one is so large, or less if memory is limited. */
#define PEET_CONFIG_STACK_LEAST (64ull << 10)
#define PEET_CONFIG_STACK_MOST (64ull << 30)

/** Code that peetcc has not compiled: not seen, but for the references of known functions (--ranges says whether), or
 * recorded. */
enum peet_foreign {
    PEET_CONFIG_FOREIGN_RANGES,
    PEET_CONFIG_FOREIGN_OFF,
    PEET_CONFIG_FOREIGN_RECORD,
    PEET_CONFIG_FOREIGN_AUTO /* recorded where that can be had, else ranges; a run settles which */
};

struct peet_config {
    char *program;
    char **arguments; /* narguments of them, without the program's own name */
    size_t narguments;
    uint32_t cores;
    enum peet_granularity granularity;
    uint64_t granularity_blocks; /* PEET_GRANULARITY_BLOCKS: how many */
    uint64_t seed;
    enum peet_policy policy;
    struct peet_config_decider picker; /* a module in place of the policy */
    uint64_t quantum_cycles, switch_cycles;
    enum peet_schedule schedule; /* of loops that leave it to the run */
    uint64_t chunk;
    enum peet_winner winner;
    struct peet_config_decider judge; /* a module in place of the winner's rule */
    enum peet_lock_model lock_model;
    uint64_t slice_cycles; /* 0: none */
    uint64_t spin_quantum_cycles, poll_cycles, syscall_cycles;
    double io_cycles_per_byte;
    uint64_t frequency_hz; /* 0: the machine's own, or 1 GHz */
    uint64_t stack_bytes;  /* of the main thread; 0: what the limit of the shell allows */
    int roi_only;          /* modules see the regions of interest only */
    int foreign;           /* enum peet_foreign: what of code that peetcc has not compiled is seen */
    int foreign_chosen;    /* somebody has said so */
    int ranges;            /* the references of library calls such as memcpy are part of the run */
    struct peet_config_module machine;
    struct peet_config_module *observers;
    size_t nobservers;
    /* machines that watch and do not steer; one module may be there several times */
    struct peet_config_module *followers;
    size_t nfollowers;
    struct peet_config_module consistency; /* the model; module NULL: all see one memory */
    int consistency_sync;                  /* it is only asked at synchronisations, not at each reference */
    uint64_t explore;          /* executions; PEET_EXPLORE_ALL: every one that makes a difference; 0: a plain run */
    uint64_t explore_limit;    /* most executions of PEET_EXPLORE_ALL */
    uint64_t explore_steps;    /* an execution of more steps is given up */
    int explore_until_failure; /* the first execution that fails is the last */
    int explain;               /* of a replayed execution: what it did, step by step */
    char *replay_token;        /* of the execution to repeat, or "A,B": of two to compare; NULL: none */
    struct peet_config_texts perfect;    /* names of data structures with single-cycle memory */
    struct peet_config_texts remap;      /* rules of another layout (data/rules.h) */
    struct peet_config_texts allocators; /* functions that stand for their callers, as malloc() does */
    struct peet_config_texts free_waits; /* locks and barriers for which waits take no time; key "free" */
    struct peet_config_texts scale;      /* FUNCTION:FACTOR: functions that take a part of their time */
    unsigned data_depth;                 /* how many calls an allocation site is told apart by */
    char *from;                          /* a trace that is replayed instead of the program; NULL: none */
    char *output;                        /* results folder; NULL if not given */
};

/** peet_config_init() - defaults: 1 core, machine ideal, no observers, sync, fcfs, static, seed 1 */
int peet_config_init(struct peet_config *config, struct peet_error *error);
void peet_config_fini(struct peet_config *config);

/**
 * peet_config_read() - lay a file's settings over a configuration
 * Only the keys that the file has are changed; a file with `observers` or `followers` replaces that list.
 * Returns: 0 or a peet_err; messages name file:line, and the nearest key for an unknown one
 */
int peet_config_read(struct peet_config *config, const char *path, struct peet_error *error);
/** peet_config_read_as() - the same, of a file that messages call @shown */
int peet_config_read_as(struct peet_config *config, const char *path, const char *shown, struct peet_error *error);

/** peet_config_set_program() - the subject and its arguments; copied */
int peet_config_set_program(struct peet_config *config, const char *program, size_t narguments, char *const *arguments,
    struct peet_error *error);
/** peet_config_set_from() - a trace, or the results folder that holds it */
int peet_config_set_from(struct peet_config *config, const char *where, const char *text, struct peet_error *error);
int peet_config_set_output(struct peet_config *config, const char *path, struct peet_error *error);

/**
 * Settings from text, as on the command line; @where ("--cores") begins the message.
 * cores 1..65536; granularity sync|block|ref|NUMBER; policy fcfs|rr|affinity or PATH,KEY=VALUE; schedule
 * static|dynamic|guided
 */
int peet_config_set_cores(struct peet_config *config, const char *where, const char *text, struct peet_error *error);
int peet_config_set_seed(struct peet_config *config, const char *where, const char *text, struct peet_error *error);
int peet_config_set_granularity(struct peet_config *config, const char *where, const char *text,
    struct peet_error *error);
int peet_config_set_policy(struct peet_config *config, const char *where, const char *text, struct peet_error *error);
int peet_config_set_quantum(struct peet_config *config, const char *where, const char *text, struct peet_error *error);
int peet_config_set_switch(struct peet_config *config, const char *where, const char *text, struct peet_error *error);
int peet_config_set_schedule(struct peet_config *config, const char *where, const char *text, struct peet_error *error);
int peet_config_set_chunk(struct peet_config *config, const char *where, const char *text, struct peet_error *error);
/** winner fcfs|lifo|random or PATH,KEY=VALUE; lock_model none|tas|ttas|ticket|mcs; a frequency may end in k, M or G
 * (powers of 1000) */
int peet_config_set_winner(struct peet_config *config, const char *where, const char *text, struct peet_error *error);
int peet_config_set_lock_model(struct peet_config *config, const char *where, const char *text,
    struct peet_error *error);
int peet_config_set_slice(struct peet_config *config, const char *where, const char *text, struct peet_error *error);
int peet_config_set_spin_quantum(struct peet_config *config, const char *where, const char *text,
    struct peet_error *error);
/** a size, or unlimited: PEET_CONFIG_STACK_MOST */
int peet_config_set_stack(struct peet_config *config, const char *where, const char *text, struct peet_error *error);
int peet_config_set_poll(struct peet_config *config, const char *where, const char *text, struct peet_error *error);
int peet_config_set_syscall(struct peet_config *config, const char *where, const char *text, struct peet_error *error);
int peet_config_set_io(struct peet_config *config, const char *where, const char *text, struct peet_error *error);
/** roi all|only */
int peet_config_set_roi(struct peet_config *config, const char *where, const char *text, struct peet_error *error);
const char *peet_config_foreign_text(int foreign);
/** peet_config_not_recorded() - why foreign code cannot be recorded in a run with this configuration; NULL: it may be */
const char *peet_config_not_recorded(const struct peet_config *config);
int peet_config_set_foreign(struct peet_config *config, const char *where, const char *text, struct peet_error *error);
int peet_config_set_ranges(struct peet_config *config, const char *where, const char *text, struct peet_error *error);
int peet_config_set_frequency(struct peet_config *config, const char *where, const char *text,
    struct peet_error *error);

/**
 * peet_config_set_machine() - "bus,protocol=berkeley,cache=128KiB"
 * The same module again: parameters are laid over those that stand; another one: replaces it.
 */
int peet_config_set_machine(struct peet_config *config, const char *where, const char *spec, struct peet_error *error);
/** peet_config_add_observer() - the same form; a name that is there already is refined, not doubled */
int peet_config_add_observer(struct peet_config *config, const char *where, const char *spec, struct peet_error *error);
/** peet_config_add_follower() - one more machine that watches; the same form, and each call adds one */
int peet_config_add_follower(struct peet_config *config, const char *where, const char *spec, struct peet_error *error);

/**
 * peet_config_set_consistency() - "consistency,model=tso,depth=8"; as set_machine
 * consistency_sync: ref|sync; explore: a number of executions or all
 */
int peet_config_set_consistency(struct peet_config *config, const char *where, const char *spec,
    struct peet_error *error);
int peet_config_set_consistency_sync(struct peet_config *config, const char *where, const char *text,
    struct peet_error *error);
int peet_config_set_explore(struct peet_config *config, const char *where, const char *text, struct peet_error *error);
int peet_config_set_explore_limit(struct peet_config *config, const char *where, const char *text,
    struct peet_error *error);
int peet_config_set_explore_steps(struct peet_config *config, const char *where, const char *text,
    struct peet_error *error);
/* failure|end */
int peet_config_set_until(struct peet_config *config, const char *where, const char *text, struct peet_error *error);
/* on|off; NULL: on */
int peet_config_set_explain(struct peet_config *config, const char *where, const char *text, struct peet_error *error);
int peet_config_set_replay_token(struct peet_config *config, const char *where, const char *text,
    struct peet_error *error);
/** peet_config_explore_text() - @buffer: at least 24 bytes; Returns: @buffer */
const char *peet_config_explore_text(const struct peet_config *config, char *buffer, size_t bytes);

/** What is supposed (engine/suppose.c).  free: names of locks and barriers; scale: FUNCTION:FACTOR */
enum { PEET_CONFIG_SCALE_MOST = 1000 };
int peet_config_add_free(struct peet_config *config, const char *where, const char *name, struct peet_error *error);
int peet_config_add_scale(struct peet_config *config, const char *where, const char *text, struct peet_error *error);
/** peet_config_scale_of() - the parts of FUNCTION:FACTOR; the function's name is the text's first bytes */
int peet_config_scale_of(const char *where, const char *text, size_t *out_name_bytes, double *out_factor,
    struct peet_error *error);

/**
 * Data structures: perfect takes names ("grid", "main.table", "build:40", "list.c:12", with * and ?), remap the rules
 * of data/rules.h, allocators names of functions; data_depth 1..32
 */
int peet_config_add_perfect(struct peet_config *config, const char *where, const char *name, struct peet_error *error);
int peet_config_add_remap(struct peet_config *config, const char *where, const char *text, struct peet_error *error);
int peet_config_add_allocator(struct peet_config *config, const char *where, const char *name,
    struct peet_error *error);
int peet_config_set_data_depth(struct peet_config *config, const char *where, const char *text,
    struct peet_error *error);

/**
 * peet_config_resolve() - hold everything against the modules themselves
 * Loads every module, checks kind, version and parameters, fills paths and the parameters that were
 * left out, turns sizes into bytes.  Afterwards the configuration is the effective one.
 * @modules_dir: where names without '/' are looked up, see peet_modhost_dir()
 */
int peet_config_resolve(struct peet_config *config, const char *modules_dir, struct peet_error *error);

/** peet_config_write() - the whole configuration, to a temporary name and then renamed */
int peet_config_write(const struct peet_config *config, const char *path, struct peet_error *error);

/** peet_config_program_text() - a configuration that says only what runs, and on how many processors; the caller's.
 *  Returns: NULL: out of memory */
char *peet_config_program_text(const char *program, size_t narguments, char *const *arguments, uint64_t cores);

/** peet_config_json() - the whole configuration as an object for stats.json; the caller owns it; NULL: out of memory */
json_t *peet_config_json(const struct peet_config *config);

/** peet_config_decides() - is the i-th observer this one?  After resolving, or in the effective configuration. */
int peet_config_decides(const struct peet_config *config, const struct peet_config_decider *decider, size_t i);

/** Texts of the enumerations, for tables and messages. */
const char *peet_config_policy_text(const struct peet_config *config);
const char *peet_config_schedule_text(enum peet_schedule schedule);
const char *peet_config_winner_text(const struct peet_config *config);
const char *peet_config_lock_model_text(enum peet_lock_model model);
/** peet_config_granularity_text() - @buffer: at least 24 bytes; Returns: @buffer */
const char *peet_config_granularity_text(const struct peet_config *config, char *buffer, size_t bytes);

#endif
