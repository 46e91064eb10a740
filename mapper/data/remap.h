/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Another layout of the subject's data without recompiling it: references are rewritten before the machine and the
 * observers see them (Grunwald et al. 1991, section 4.3: virtual-to-virtual remapping).  Structures that a rule names
 * move to addresses of their own, object by object, element by element; what is at those addresses is still known by
 * name.
 *
 * data_rules.c says which structures are meant, data.c when objects are born and die, the mapper what to rewrite.
 */
#ifndef PEET_REMAP_H
#define PEET_REMAP_H

#include <peet/error.h>
#include <peet/module.h>

struct peet_datamap;
struct peet_remap;
struct peet_rule;
struct peet__structure;

/** peet_remap_new() - for a table of structures; ranges of addresses among the rules apply at once.  Before any
 * structure is there */
int peet_remap_new(struct peet_datamap *map, const struct peet_rule *rules, size_t n, struct peet_remap **out_remap,
    struct peet_error *error);
void peet_remap_free(struct peet_remap *remap);

/** peet_remap_address() - where a location lies in the other layout
 *  @out_bytes: so many bytes from there on lie side by side in both (at least 1); may be NULL */
uint64_t peet_remap_address(struct peet_remap *remap, uint64_t address, uint64_t *out_bytes);

/** peet_remap_blocks() - rewrite the references of events */
void peet_remap_blocks(struct peet_remap *remap, const struct peet_block_event *events, size_t n);

/** peet_remap_origin() - the other way round.  Returns: 1, 2 if by a rule about a range of addresses, 0: nothing has
 * been moved to this address */
int peet_remap_origin(struct peet_remap *remap, uint64_t address, uint64_t *out_address);

/** peet_remap_error() - what has gone wrong, or NULL */
const char *peet_remap_error(const struct peet_remap *remap);

/* data.c, data_rules.c: a rule is about a structure; objects of structures are born and die */
void peet__remap_rule(struct peet_remap *remap, struct peet__structure *s, const struct peet_rule *rule);
void peet__remap_born(struct peet_remap *remap, uint32_t handle);
void peet__remap_dead(struct peet_remap *remap, uint32_t handle);

#endif
