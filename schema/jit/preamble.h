/* SPDX-License-Identifier: Apache-2.0 */
/* The code at the beginning of a chunk, which all functions in the chunk share; see preamble.c. */
#ifndef PEET_PREAMBLE_H
#define PEET_PREAMBLE_H

#include "jit/emitter.h"

/** Where its parts begin, in bytes from the beginning of the chunk. */
struct preamble {
    size_t enter, leave, sync, strange, miss, other, loop, ask, mark, show, report, learn;
};
_Static_assert(sizeof(struct preamble) <= sizeof((struct peet__chunk *)NULL)->common, "it is kept there");

/** Writes the preamble at @e, the beginning of an empty chunk. */
struct preamble peet__direct_write_preamble(struct peet__emit *e, struct peet__direct *direct);

/** Code that calls a function which changes nothing of the run, but for its limit (if @may_end), which may be 0; its
 * other arguments are in their registers.  Returns: where it begins, in bytes from the beginning of the chunk */
size_t peet__direct_write_observed(struct peet__emit *e, const void *function, int may_end);

/** links.c: code that is called by sites that learn.  Returns: the same */
size_t peet__direct_write_learn(struct peet__emit *e);

/** Code that sets rcx to the table entry of the block whose word, in rax, says where it is.  Returns: the place after
 * the jump that is taken if the entry is another block's */
uint8_t *peet__direct_look_up(struct peet__emit *e);

#endif
