/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The live source: the subject's contexts as a source of events for the mapper.  A context runs only
 * when its events are asked for and none is left, into a ring of words that it holds only while there
 * are undelivered words in it.
 */
#ifndef PEET_SOURCE_H
#define PEET_SOURCE_H

#include "config/config.h"
#include "mapper.h"
#include "runtime.h"

struct peet_source;

extern const struct peet_source_ops peet_source_ops;

/** peet_source_new() - @program: borrowed; the limit of a run comes from @config's granularity */
int peet_source_new(struct peet_program *program, const struct peet_config *config, struct peet_source **out_source,
    struct peet_error *error);
void peet_source_free(struct peet_source *source);

/** peet_source_attach() - tell it the mapper, whose numbers contexts shall go by in messages, and
 *  whether anybody needs addresses; before the first event */
void peet_source_attach(struct peet_source *source, struct peet_map *map, int want_addresses, int want_loops);

/** peet_source_set_data() - contexts and their thread-local variables are to be known there; borrowed.  Returns: 0 or
 * PEET_ENOMEM */
struct peet_datamap;
int peet_source_set_data(struct peet_source *source, struct peet_datamap *data);

/** peet_source_set_views() - contexts see the view of their processor (runtime/domain.h), unless they are alone
 *  peet_source_concurrent() - is more than one alive? */
void peet_source_set_views(struct peet_source *source, struct peet_map *map);
int peet_source_concurrent(const struct peet_source *source);

/** peet_source_set_record() - keep its turns; before the first event.  peet_source_new_replay(): take them from there
 * instead of running anything, with peet_replayed_ops.  Both borrowed.  Returns: 0 or PEET_ENOMEM */
struct peet_record;
struct peet_replay;
int peet_source_set_record(struct peet_source *source, struct peet_record *record);
int peet_source_new_replay(struct peet_program *program, struct peet_replay *replay, struct peet_source **out_source,
    struct peet_error *error);
extern const struct peet_source_ops peet_replayed_ops;

/** peet_source_ctx() - the execution context behind a source number; NULL: a marked iteration */
struct peet_ctx *peet_source_ctx(const struct peet_source *source, uint32_t context);
/** peet_source_of_ctx() - the other way round.  Returns: the source number, or UINT32_MAX */
uint32_t peet_source_of_ctx(const struct peet_source *source, const struct peet_ctx *ctx);

/**
 * peet_source_crash() - the context that was running has crashed
 * @end: one past its last word.  From now on it gives what it had recorded, and then PROGRAM_EXIT.
 * Returns: 0, or PEET_EUNSUPPORTED if its words cannot be told apart (inside a marked loop)
 */
int peet_source_crash(struct peet_source *source, uint32_t context, const uint64_t *end, int status);

/** Blocks of marked loops that belong to no iteration: recorded, but not simulated. */
uint64_t peet_source_extraneous_blocks(const struct peet_source *source);

#endif
