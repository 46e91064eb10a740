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

#ifdef __cplusplus
extern "C" {
#endif

enum peet_sim_prefetch_kind {
    PEET_SIM_PREFETCH_NONE,
    PEET_SIM_PREFETCH_NEXT,
    PEET_SIM_PREFETCH_STRIDE,
    PEET_SIM_PREFETCH_STREAM
};
#define PEET_SIM_PREFETCHERS "none|next|stride|stream"

enum { PEET_SIM_PREFETCH_MAX = 16, PEET_SIM_PREFETCH_PCS = 256, PEET_SIM_PREFETCH_STREAMS = 32 };

/** STRIDE: what is known of an instruction. */
struct peet_sim_prefetch_pc {
    uint64_t pc, address;
    int64_t stride;
    uint8_t confidence;
};

struct peet_sim_prefetcher {
    enum peet_sim_prefetch_kind kind;
    uint32_t degree;    /* lines for each trigger, 1..PEET_SIM_PREFETCH_MAX */
    uint32_t line_bits; /* log2 of the line's bytes */
    uint32_t page_bits; /* nothing is fetched beyond the page of the reference */
    uint64_t triggers, lines;
    struct peet_sim_prefetch_pc pcs[PEET_SIM_PREFETCH_PCS];
    struct {
        uint64_t page, line, ahead, used;
        int8_t direction;
        uint8_t confidence;
    } streams[PEET_SIM_PREFETCH_STREAMS];
    uint64_t clock;
};

/** Everything as before the first reference.  @degree, @line_bits, @page_bits: as in the structure */
void peet_sim_prefetcher_init(struct peet_sim_prefetcher *p, enum peet_sim_prefetch_kind kind, uint32_t degree,
    uint32_t line_bits, uint32_t page_bits);

/**
 * peet_sim_prefetcher_see() - a reference
 * @miss: it missed, or hit a line for the first time that was prefetched
 * @out_lines: line numbers to fetch, the nearest first
 * Returns: how many
 */
uint32_t peet_sim_prefetcher_see(struct peet_sim_prefetcher *p, uint64_t pc, uint64_t address, int miss,
    uint64_t out_lines[PEET_SIM_PREFETCH_MAX]);

/** STRIDE: the entry of an instruction */
static inline struct peet_sim_prefetch_pc *peet_sim_prefetcher_pc(struct peet_sim_prefetcher *p, uint64_t pc)
{
    return &p->pcs[(pc ^ pc >> 8) % PEET_SIM_PREFETCH_PCS];
}

/** STRIDE: are references so far apart that the next ones lie in the lines next to this one's, without a gap? */
static inline int peet_sim_prefetcher_runs(const struct peet_sim_prefetcher *p, int64_t stride)
{
    return (stride < 0 ? -(uint64_t)stride : (uint64_t)stride) < 1ull << p->line_bits;
}

/** Of such references: how many lines peet_sim_prefetcher_ahead() answers with, those next to that of this one. */
static inline uint32_t peet_sim_prefetcher_run(const struct peet_sim_prefetcher *p, uint64_t address, int64_t stride)
{
    const uint64_t bytes = 1ull << p->line_bits, within = address & (bytes - 1);
    const uint64_t way = stride < 0 ? within + 1 : bytes - within; /* to the first byte of the next line there */
    const uint64_t far = (bytes - 1) * (stride < 0 ? -(uint64_t)stride : (uint64_t)stride);
    const uint64_t last = (1ull << (p->page_bits - p->line_bits)) - 1, in_page = address >> p->line_bits & last;
    const uint64_t room = stride < 0 ? in_page : last - in_page; /* lines of the page */
    uint64_t n = way > far ? 0 : ((far - way) >> p->line_bits) + 1;

    n = n < room ? n : room;
    return (uint32_t)(n < p->degree ? n : p->degree);
}

/**
 * peet_sim_prefetcher_ahead() - STRIDE: the lines of the next references so far apart, if not that of this one
 *
 * As many different ones as p->degree says, the nearest first, no farther than the page, and not beyond as many
 * references as a line has bytes.
 * Returns: how many
 */
static inline uint32_t peet_sim_prefetcher_ahead(const struct peet_sim_prefetcher *p, uint64_t address, int64_t stride,
    uint64_t out_lines[PEET_SIM_PREFETCH_MAX])
{
    const uint64_t bytes = 1ull << p->line_bits, line = address >> p->line_bits, page = address >> p->page_bits;
    uint32_t n = 0;

    if (!peet_sim_prefetcher_runs(p, stride)) {
        for (; n < p->degree && n + 1 < bytes; n++) {
            uint64_t ahead = address + (n + 1) * (uint64_t)stride;

            if (ahead >> p->page_bits != page)
                break;
            out_lines[n] = ahead >> p->line_bits;
        }
        return n;
    }
    for (const uint32_t most = peet_sim_prefetcher_run(p, address, stride); n < most; n++)
        out_lines[n] = stride < 0 ? line - n - 1 : line + n + 1;
    return n;
}

#ifdef __cplusplus
}
#endif
#endif
