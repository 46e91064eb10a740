/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The oldest of n slots, exactly, where using a slot costs its user only the storing of a time stamp.
 *
 * Slots are sorted by stamp once in a while.  In that order the first slot whose stamp has not changed
 * since is the oldest of all: those before it in the order were used after the sorting, those after it
 * were used after it, and so were all that came in meanwhile.  When the order is used up, at least n
 * slots were used since the sorting, so that the sorting costs O(1) per use.
 *
 * The caller says what a slot's stamp is, through a function that the compiler can inline.  Stamps are
 * never 0 for a slot in use and grow with every use of any slot.
 */
#ifndef PEET_SIM_OLDEST_H
#define PEET_SIM_OLDEST_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

struct peet_sim_oldest {
    uint32_t n, next;   /* slots; next place in the order to look at (n: used up) */
    uint64_t sorted_at; /* stamp at the last sorting */
    uint32_t *order;    /* and after them n */
};

/** Room for sorting, shared by all queues of a machine. */
struct peet_sim_oldest_scratch {
    uint64_t *stamps; /* [n] to be sorted */
    struct peet_sim_oldest_key {
        uint64_t stamp;
        uint32_t slot;
    } *a, *b;
    uint64_t *is_there, range; /* a bit for each stamp in a range, */
    uint32_t *before;          /* and how many there are before each word of bits */
};

typedef uint64_t peet_sim_stamp_of(const void *owner, uint32_t slot);

/** Returns: 0, or -1 without memory (fini is safe then) */
static inline int peet_sim_oldest_init(struct peet_sim_oldest *q, uint32_t n)
{
    memset(q, 0, sizeof *q);
    q->n = q->next = n;
    q->order = (uint32_t *)malloc((n + 1) * sizeof *q->order);
    if (!q->order)
        return -1;
    q->order[n] = n;
    return 0;
}

static inline void peet_sim_oldest_fini(struct peet_sim_oldest *q)
{
    free(q->order);
    q->order = NULL;
}

/** For queues of at most @n slots.  Returns: 0, or -1 without memory (fini is safe then) */
int peet_sim_oldest_scratch_init(struct peet_sim_oldest_scratch *s, uint32_t n);
void peet_sim_oldest_scratch_fini(struct peet_sim_oldest_scratch *s);

/** The slots in the order of scratch->stamps[0..n), all of which lie in [least, most]. */
void peet__sim_oldest_sort(struct peet_sim_oldest_scratch *scratch, uint32_t n, uint64_t least, uint64_t most,
    uint32_t *out_order);

/**
 * peet_sim_oldest_take() - the slot that was used longest ago
 * @now: the latest stamp given out
 *
 * Every slot must be in use.  The caller uses the slot anew at once (gives it a stamp > now).
 */
static inline uint32_t peet_sim_oldest_take(struct peet_sim_oldest *q, struct peet_sim_oldest_scratch *scratch,
    peet_sim_stamp_of *stamp_of, const void *owner, uint64_t now)
{
    for (;;) {
        while (q->next < q->n) {
            uint32_t slot = q->order[q->next++];
            if (stamp_of(owner, slot) <= q->sorted_at)
                return slot;
        }
        uint64_t least = UINT64_MAX, most = 0;
        for (uint32_t i = 0; i < q->n; i++) {
            const uint64_t stamp = stamp_of(owner, i);
            scratch->stamps[i] = stamp;
            least = stamp < least ? stamp : least;
            most = stamp > most ? stamp : most;
        }
        peet__sim_oldest_sort(scratch, q->n, least, most, q->order);
        q->sorted_at = now;
        q->next = 0;
    }
}

#ifdef __cplusplus
}
#endif
#endif
