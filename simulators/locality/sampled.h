/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sampled surfaces.  References are observed in *bursts*, none in the *pauses* between them, when peet takes blocks
 * without calling anybody (<peet/direct.h>).  Each burst has LRU stacks of its own and stands for all references since
 * the one before it of its kind.
 *
 *     burst  pause  burst   pause     sparse burst        pause       (pauses grow until one reference of `one_of` is
 *     [----]........[--]............[- -  -   -- -  -]....................                                  observed)
 *
 * A reference to a line that the burst has not referenced before is *censored*: its reuse distance is at least the
 * number of other lines that came before it in the burst, and more is not known.  Kaplan and Meier's estimator (J. Am.
 * Stat. Assoc. 53, 1958) gives the distribution from such data: of the references that are known to be as far as a
 * distance, the share that goes no farther.  The estimator is right if being censored has nothing to do with the
 * distance.  Far from the beginning of a burst that is not so: only bursts with many far references have so many lines.
 *
 * Therefore bursts that see all references are short, and tell what is near.  *Sparse* bursts are long, and tell what is
 * far: they follow the references to a few lines, chosen by a hash (sparse.h).  A width's distribution is that of bursts up
 * to locality__sparse_from(), and from there on, of what goes farther, that of sparse bursts.  What is farther than any
 * burst can tell is taken to be as far as there are lines, as far as bursts have seen.
 *
 * How often each block was executed is known exactly.  So what bursts tell is kept by block, and counts by how many
 * references the block has made: it does not matter that some phase of the program had more bursts than another one.
 * A block that matters and that bursts have hardly met begins a burst itself.  A burst may begin in the middle of a loop.
 */
#ifndef PEET_LOCALITY_SAMPLED_H
#define PEET_LOCALITY_SAMPLED_H

#include "locality.h"

struct peet_direct_watch;

/** @one_of: in a long run one reference of so many is observed; 1: all, which is exact.  Returns: 0, or -1 without
 * memory */
int locality__sampled_init(struct locality *self, uint64_t one_of);
void locality__sampled_fini(struct locality *self);

/** Is there a burst now?  If not, so many executions of the block are counted, and a burst begins if it is time. */
int locality__sampled_sees(struct locality *self, uint64_t references);
/** Of so many turns of the block in a loop some pass in the pause, and are counted.  Returns: how many; 0: a burst
 * sees the first one */
uint64_t locality__sampled_pass(struct locality *self, struct locality_plan *plan, uint64_t turns);
/** So many references were observed.  The burst may be over. */
void locality__sampled_seen(struct locality *self, uint64_t references);
/** The context's stacks are those of this burst. */
void locality__sampled_context(struct locality *self, struct locality_context *c);
/** An execution in a sparse burst. */
void locality__sampled_sparse(struct locality *self, struct locality_context *c, struct locality_plan *plan,
    const struct peet_block_event *event);
/** Of so many turns of a simple block in a loop, all that a sparse burst sees.  @values: of the first one.  Returns: how
 * many; 0: they come one by one */
uint64_t locality__sampled_sparse_turns(struct locality *self, const struct peet_block_event *event,
    const uint64_t *values, uint64_t turns);
/** A second context has come: the merged stream has been the first one's. */
void locality__sampled_shared(struct locality *self);
/** The program is over. */
void locality__sampled_finish(struct locality *self);

void locality__sampled_add(struct locality_estimate *to, const struct locality_estimate *from, double weight,
    double far_weight);
/** Parts that match, together. */
void locality__sampled_sum(struct locality *self, struct locality_key key, struct peet_sim_tally *out_sum);
/** What an estimate says of the run, whose length is known. */
void locality__sampled_tally(const struct locality *self, const struct locality_estimate *e, int shared,
    struct peet_sim_tally *out);
/** Returns: bursts; references that were observed in them, and in sparse ones */
uint64_t locality__sampled_bursts(const struct locality *self, uint64_t *out_observed, uint64_t *out_sparsely);

/** For struct peet_direct_observer; @self: struct locality. */
int locality__sampled_watch(void *self, const struct peet_block *block, const uint64_t *values,
    struct peet_direct_watch **out_watch);
/** Turns of the block in a loop have passed in a pause: more of them may be taken. */
void locality__sampled_turned(struct locality *self, const struct peet_block *block);
/** An execution in a burst, or the one after which another execution of the block is asked for.  Returns: 0: it is observed or passes, or -1 */
int locality__sampled_due(void *self, const struct peet_block_event *event, struct peet_direct_watch *which);
/** A library's operation on ranges.  Returns: 0: in a pause it is counted, or -1: it is to be observed */
int locality__sampled_range(void *self, const struct peet_block *block, uint64_t references);

#endif
