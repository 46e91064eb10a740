/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hardware prefetchers.  Each is shown the references of one cache and answers with the lines that it would
 * fetch.  NEXT: the lines after one that missed.  STRIDE: for each instruction the distance between its
 * addresses; after it was the same twice, as many strides ahead as asked (Baer, Chen: SC 1991).  STREAM: for
 * each page the direction of its misses; after two in one direction, lines ahead of it, within the page.
 */
#ifndef PEET_SIM_PREFETCH_H
#define PEET_SIM_PREFETCH_H

#include <stdint.h>

enum peet_sim_prefetch_kind { PEET_SIM_PREFETCH_NONE, PEET_SIM_PREFETCH_NEXT, PEET_SIM_PREFETCH_STRIDE, PEET_SIM_PREFETCH_STREAM };
#define PEET_SIM_PREFETCHERS "none|next|stride|stream"

enum { PEET_SIM_PREFETCH_MAX = 16, PEET_SIM_PREFETCH_PCS = 256, PEET_SIM_PREFETCH_STREAMS = 32 };

struct peet_sim_prefetcher {
    enum peet_sim_prefetch_kind kind;
    uint32_t degree;        /* lines for each trigger, 1..PEET_SIM_PREFETCH_MAX */
    uint32_t line_bits;     /* log2 of the line's bytes */
    uint32_t page_bits;     /* nothing is fetched beyond the page of the reference */
    uint64_t triggers, lines;
    struct { uint64_t pc, address; int64_t stride; uint8_t confidence; } pcs[PEET_SIM_PREFETCH_PCS];
    struct { uint64_t page, line, ahead, used; int8_t direction; uint8_t confidence; } streams[PEET_SIM_PREFETCH_STREAMS];
    uint64_t clock;
};

/** Everything as before the first reference.  @degree, @line_bits, @page_bits: as in the structure */
void peet_sim_prefetcher_init(struct peet_sim_prefetcher *p, enum peet_sim_prefetch_kind kind, uint32_t degree, uint32_t line_bits, uint32_t page_bits);

/**
 * peet_sim_prefetcher_see() - a reference
 * @miss: it missed, or hit a line for the first time that was prefetched
 * @out_lines: line numbers to fetch, the nearest first
 * Returns: how many
 */
uint32_t peet_sim_prefetcher_see(struct peet_sim_prefetcher *p, uint64_t pc, uint64_t address, int miss, uint64_t out_lines[PEET_SIM_PREFETCH_MAX]);

#endif
