/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What each prefetcher makes of a reference.
 */
#include "prefetch.h"

#include <string.h>

void peet_sim_prefetcher_init(struct peet_sim_prefetcher *p, enum peet_sim_prefetch_kind kind, uint32_t degree, uint32_t line_bits, uint32_t page_bits)
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
    uint32_t i = (uint32_t)((pc ^ pc >> 8) % PEET_SIM_PREFETCH_PCS), n = 0;
    int64_t stride;
    uint64_t last = address >> p->line_bits;

    if (p->pcs[i].pc != pc) {
        p->pcs[i].pc = pc;
        p->pcs[i].address = address;
        p->pcs[i].stride = 0;
        p->pcs[i].confidence = 0;
        return 0;
    }
    stride = (int64_t)(address - p->pcs[i].address);
    p->pcs[i].address = address;
    if (stride != p->pcs[i].stride) {
        p->pcs[i].stride = stride;
        p->pcs[i].confidence = 1;
        return 0;
    }
    if (p->pcs[i].confidence < 2)
        p->pcs[i].confidence++;
    if (!stride || p->pcs[i].confidence < 2)
        return 0;
    for (uint64_t k = 1; n < p->degree && k < 1u << p->line_bits; k++) { /* short strides: the next different lines */
        uint64_t ahead = address + k * (uint64_t)stride;

        if (!same_page(p, address, ahead))
            break;
        if (ahead >> p->line_bits != last) {
            last = ahead >> p->line_bits;
            out[n++] = last;
        }
    }
    return n;
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
        uint64_t next = p->streams[i].ahead + (uint64_t)(int64_t)direction, far = direction > 0 ? next - line : line - next;

        if (far > p->degree || !same_page(p, address, next << p->line_bits))
            break;
        out[n++] = p->streams[i].ahead = next;
    }
    return n;
}

uint32_t peet_sim_prefetcher_see(struct peet_sim_prefetcher *p, uint64_t pc, uint64_t address, int miss, uint64_t out_lines[PEET_SIM_PREFETCH_MAX])
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
