/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Virtual-to-virtual remapping: another layout of the subject's data without recompiling it (Grunwald et al.,
 * 1991, section 4.3).  A rule moves a range of addresses somewhere else, element by element: element i of
 * element_bytes goes to `to` + i * stride_bytes.  With a stride larger than the element that is padding; with
 * element_bytes 0 the range moves as one.  Rules do not overlap.  For machines and observers of one's own that want
 * fixed ranges elsewhere; `peet run --remap` is another thing, which follows objects as they are born and die, by
 * structure.
 */
#ifndef PEET_SIM_REMAP_H
#define PEET_SIM_REMAP_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct peet_sim_rule {
    uint64_t from, bytes; /* [from, from + bytes) */
    uint64_t to;
    uint64_t element_bytes, stride_bytes; /* stride 0: as the element */
};

struct peet_sim_remap {
    struct peet_sim_rule *rules; /* by from */
    size_t n, room;
    uint64_t memo_from, memo_bytes; /* a range in which nothing moves */
    size_t last;                    /* the rule that applied last */
};

void peet_sim_remap_init(struct peet_sim_remap *r);
void peet_sim_remap_fini(struct peet_sim_remap *r);

enum peet_sim_remap_result { PEET_SIM_REMAP_OK, PEET_SIM_REMAP_OVERLAP, PEET_SIM_REMAP_STRIDE, PEET_SIM_REMAP_MEMORY };

/** peet_sim_remap_add() - STRIDE: the stride is smaller than the element, so that elements would lie on one another */
enum peet_sim_remap_result peet_sim_remap_add(struct peet_sim_remap *r, const struct peet_sim_rule *rule);

/** peet_sim_remap_remove() - the rule that begins at `from` goes (a block was freed).  Returns: whether there was one
 */
int peet_sim_remap_remove(struct peet_sim_remap *r, uint64_t from);

/** The slow half of peet_sim_remap_address(). */
uint64_t peet__sim_remap_look(struct peet_sim_remap *r, uint64_t address);

/** peet_sim_remap_address() - where a location lies in the other layout */
static inline uint64_t peet_sim_remap_address(struct peet_sim_remap *r, uint64_t address)
{
    return address - r->memo_from < r->memo_bytes ? address : peet__sim_remap_look(r, address);
}

#ifdef __cplusplus
}
#endif
#endif
