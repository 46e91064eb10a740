/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What each prefetcher makes of a reference.
 */
#include "prefetch.h"

#include <string.h>

void peet_sim_prefetcher_init(struct peet_sim_prefetcher *p, enum peet_sim_prefetch_kind kind, uint32_t degree,
    uint32_t line_bits, uint32_t page_bits)
{
    memset(p, 0, sizeof *p);
    p->kind = kind;
    p->degree = degree;
    p->line_bits = line_bits;
    p->page_bits = page_bits;
    for (int i = 0; i < PEET_SIM_PREFETCH_PCS; i++)
        p->pcs[i].pc = UINT64_MAX;
    for (int i = 0; i < PEET_SIM_PREFETCH_STREAMS; i++)
        p->streams[i].page = UINT64_MAX;
}

static int same_page(const struct peet_sim_prefetcher *p, uint64_t a, uint64_t b)
{
    return a >> p->page_bits == b >> p->page_bits;
}

static uint32_t next_lines(const struct peet_sim_prefetcher *p, uint64_t address, uint64_t *out)
{
    uint64_t line = address >> p->line_bits;
    uint32_t n = 0;

    while (n < p->degree && same_page(p, address, (line + n + 1) << p->line_bits)) {
        out[n] = line + n + 1;
        n++;
    }
    return n;
}

static uint32_t strides(struct peet_sim_prefetcher *p, uint64_t pc, uint64_t address, uint64_t *out)
{
    struct peet_sim_prefetch_pc *of = peet_sim_prefetcher_pc(p, pc);
    int64_t stride;

    if (of->pc != pc) {
        *of = (struct peet_sim_prefetch_pc){.pc = pc, .address = address};
        return 0;
    }
    stride = (int64_t)(address - of->address);
    of->address = address;
    if (stride != of->stride) {
        of->stride = stride;
        of->confidence = 1;
        return 0;
    }
    if (of->confidence < 2)
        of->confidence++;
    return stride && of->confidence == 2 ? peet_sim_prefetcher_ahead(p, address, stride, out) : 0;
}

static uint32_t streams(struct peet_sim_prefetcher *p, uint64_t address, uint64_t *out)
{
    uint64_t page = address >> p->page_bits, line = address >> p->line_bits;
    uint32_t i, oldest = 0, n = 0;
    int direction;

    p->clock++;
    for (i = 0; i < PEET_SIM_PREFETCH_STREAMS && p->streams[i].page != page; i++)
        if (p->streams[i].used < p->streams[oldest].used)
            oldest = i;
    if (i == PEET_SIM_PREFETCH_STREAMS) {
        i = oldest;
        memset(&p->streams[i], 0, sizeof p->streams[i]);
        p->streams[i].page = page;
        p->streams[i].line = p->streams[i].ahead = line;
        p->streams[i].used = p->clock;
        return 0;
    }
    p->streams[i].used = p->clock;
    direction = line > p->streams[i].line ? 1 : line < p->streams[i].line ? -1 : 0;
    if (!direction)
        return 0;
    if (direction != p->streams[i].direction) {
        p->streams[i].direction = (int8_t)direction;
        p->streams[i].confidence = 0;
        p->streams[i].ahead = line;
    }
    if (p->streams[i].confidence < 2)
        p->streams[i].confidence++;
    p->streams[i].line = line;
    if (p->streams[i].confidence < 2)
        return 0;
    /* what has been fetched already is not fetched again */
    if ((direction > 0 && p->streams[i].ahead < line) || (direction < 0 && p->streams[i].ahead > line))
        p->streams[i].ahead = line;
    while (n < p->degree) {
        uint64_t next = p->streams[i].ahead + (uint64_t)(int64_t)direction,
                 far = direction > 0 ? next - line : line - next;

        if (far > p->degree || !same_page(p, address, next << p->line_bits))
            break;
        out[n++] = p->streams[i].ahead = next;
    }
    return n;
}

uint32_t peet_sim_prefetcher_see(struct peet_sim_prefetcher *p, uint64_t pc, uint64_t address, int miss,
    uint64_t out_lines[PEET_SIM_PREFETCH_MAX])
{
    uint32_t n = 0;

    switch (p->kind) {
    case PEET_SIM_PREFETCH_NONE:
        break;
    case PEET_SIM_PREFETCH_NEXT:
        n = miss ? next_lines(p, address, out_lines) : 0;
        break;
    case PEET_SIM_PREFETCH_STRIDE:
        n = strides(p, pc, address, out_lines);
        break;
    case PEET_SIM_PREFETCH_STREAM:
        n = miss ? streams(p, address, out_lines) : 0;
        break;
    }
    p->triggers += n != 0;
    p->lines += n;
    return n;
}
