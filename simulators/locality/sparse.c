/* SPDX-License-Identifier: Apache-2.0 */
/* Stacks of chosen lines.  Like those of common/surface.h: a reference has a slot, which is live as long as its line has
 * not been referenced again, and a distance is the number of live slots after a line's own.  See sparse.h. */
#include "sparse.h"

#include <stdlib.h>
#include <string.h>

enum {
    WORD = 64,
    GROUP = 64 * WORD, /* slots whose live ones are summed up */
    FIRST_SLOTS = 1 << 14,
    FIRST_LINES = 1 << 10,
    FEW = 3, /* binary digits of the fewest chosen lines whose distance is told, less one */
};
/* One line of 2^n is chosen: more of wide lines, of which programs have fewer. */
#define ONE_OF 5, 5, 5, 6, 6, 6, 6, 6
static const uint8_t one_of[PEET_SIM_WIDTHS] = {ONE_OF};

struct line {
    uint64_t number; /* + 1; 0: no line */
    uint32_t slot, half;
};
struct stack {
    struct line *lines;        /* open hash table */
    uint32_t size, used, most; /* most: that were ever used at once */
    uint64_t *live, *line_of;  /* by slot: a bit; the line's number */
    uint32_t *sums;            /* by group */
    uint32_t next, room;
    uint64_t newest; /* the number of the latest reference's line; 0: none */
    struct line *at; /* it */
};
struct locality_sparse {
    struct stack stacks[PEET_SIM_WIDTHS];
};

unsigned locality__sparse_from(unsigned width)
{
    return one_of[width] + FEW;
}

uint64_t locality__sparse_hashes[4][256];

void locality__sparse_init(void)
{
    if (locality__sparse_hashes[0][1])
        return;
    /* x^5 + x^2 + 1 and x^6 + x + 1 are primitive */
    for (unsigned w = 0; w < PEET_SIM_WIDTHS; w++) {
        const unsigned n = one_of[w], polynomial = n == 5 ? 0x25 : 0x43;
        unsigned power = 1;

        for (unsigned bit = PEET_SIM_HALVINGS - w; bit < 32; bit++) {
            for (unsigned value = 0; value < 256; value++)
                if (value >> bit % 8 & 1)
                    locality__sparse_hashes[bit / 8][value] ^= (uint64_t)power << 8 * w;
            power <<= 1;
            power ^= power >> n ? polynomial : 0;
        }
        for (unsigned value = 0; value < 256; value++) /* not the line of address 0 */
            locality__sparse_hashes[0][value] ^= (uint64_t)(5 + w) << 8 * w;
    }
}

/* ------------------------------------------------------------------------------------------------- one stack */

static void stack_fini(struct stack *s)
{
    free(s->lines);
    free(s->live);
    free(s->line_of);
    free(s->sums);
    *s = (struct stack){0};
}

/** Room for so many slots. */
static int more_slots(struct stack *s, uint32_t room)
{
    uint64_t *live = realloc(s->live, room / WORD * sizeof *live), *line_of;
    uint32_t *sums;

    if (!live)
        return -1;
    s->live = live;
    line_of = realloc(s->line_of, room * sizeof *line_of);
    if (!line_of)
        return -1;
    s->line_of = line_of;
    sums = realloc(s->sums, room / GROUP * sizeof *sums);
    if (!sums)
        return -1;
    s->sums = sums;
    memset(live + s->room / WORD, 0, (room - s->room) / WORD * sizeof *live);
    memset(sums + s->room / GROUP, 0, (room - s->room) / GROUP * sizeof *sums);
    s->room = room;
    return 0;
}

static void stack_forget(struct stack *s)
{
    s->most = s->used > s->most ? s->used : s->most;
    s->used = s->next = 0;
    s->newest = 0;
    if (s->lines)
        memset(s->lines, 0, s->size * sizeof *s->lines);
    if (s->live) {
        memset(s->live, 0, s->room / WORD * sizeof *s->live);
        memset(s->sums, 0, s->room / GROUP * sizeof *s->sums);
    }
}

static uint32_t first_place(const struct stack *s, uint64_t number)
{
    return (uint32_t)((number * 0x9e3779b97f4a7c15ull) >> 32) & (s->size - 1);
}

/** Where the line is, or would be. */
static struct line *place_of(const struct stack *s, uint64_t number)
{
    uint32_t i = first_place(s, number);

    while (s->lines[i].number && s->lines[i].number != number)
        i = (i + 1) & (s->size - 1);
    return &s->lines[i];
}

static int more_lines(struct stack *s)
{
    struct stack more = *s;

    more.size = s->size ? 2 * s->size : FIRST_LINES;
    more.lines = calloc(more.size, sizeof *more.lines);
    if (!more.lines)
        return -1;
    for (uint32_t i = 0; i < s->size; i++)
        if (s->lines[i].number)
            *place_of(&more, s->lines[i].number) = s->lines[i];
    free(s->lines);
    *s = more;
    return 0; /* s->at is set by the reference that needs room */
}

/** Live slots move to the beginning; there is room for as many more. */
static int renumber(struct stack *s)
{
    uint32_t to = 0;

    if (!s->room)
        return more_slots(s, FIRST_SLOTS);
    for (uint32_t slot = 0; slot < s->next; slot++)
        if (s->live[slot / WORD] >> slot % WORD & 1) {
            s->line_of[to] = s->line_of[slot];
            place_of(s, s->line_of[to])->slot = to;
            to++;
        }
    memset(s->live, 0, s->room / WORD * sizeof *s->live);
    memset(s->sums, 0, s->room / GROUP * sizeof *s->sums);
    for (uint32_t slot = 0; slot < to; slot++) {
        s->live[slot / WORD] |= 1ull << slot % WORD;
        s->sums[slot / GROUP]++;
    }
    s->next = to;
    return to > s->room / 2 ? more_slots(s, 2 * s->room) : 0;
}

/** Live slots after this one. */
static uint32_t after(const struct stack *s, uint32_t slot)
{
    const uint32_t last = (s->next - 1) / WORD;
    uint32_t word = slot / WORD, n = (uint32_t)__builtin_popcountll(s->live[word] & ~1ull << slot % WORD);

    for (word++; word <= last && word % (GROUP / WORD); word++)
        n += (uint32_t)__builtin_popcountll(s->live[word]);
    for (uint32_t group = word * WORD / GROUP; group <= last * WORD / GROUP && word <= last; group++)
        n += s->sums[group];
    return n;
}

static unsigned digits(uint32_t n)
{
    return n ? 32 - (unsigned)__builtin_clz(n) : 0;
}

/**
 * A reference to another line than the newest one.  *out_others: whether it is to the other half
 * Returns: how far the line is, in chosen lines; -1: it is new, -2: no memory
 */
static int64_t touch(struct stack *s, uint64_t number, uint32_t half, uint32_t *out_other)
{
    struct line *line;
    int64_t distance = -1;

    if ((s->next == s->room && renumber(s)) || (2 * s->used >= s->size && more_lines(s)))
        return -2;
    line = place_of(s, number);
    if (line->number) {
        distance = after(s, line->slot);
        s->live[line->slot / WORD] &= ~(1ull << line->slot % WORD);
        s->sums[line->slot / GROUP]--;
    } else {
        line->number = number;
        s->used++;
    }
    *out_other = line->half != half;
    s->at = line;
    line->slot = s->next++;
    line->half = half;
    s->line_of[line->slot] = number;
    s->live[line->slot / WORD] |= 1ull << line->slot % WORD;
    s->sums[line->slot / GROUP]++;
    return distance;
}

/* ---------------------------------------------------------------------------------------------- all widths */

struct locality_sparse *locality__sparse_new(void)
{
    return calloc(1, sizeof(struct locality_sparse));
}

void locality__sparse_free(struct locality_sparse *s)
{
    for (unsigned w = 0; s && w < PEET_SIM_WIDTHS; w++)
        stack_fini(&s->stacks[w]);
    free(s);
}

void locality__sparse_forget(struct locality_sparse *s)
{
    for (unsigned w = 0; s && w < PEET_SIM_WIDTHS; w++)
        if (s->stacks[w].used)
            stack_forget(&s->stacks[w]);
}

void locality__sparse_lines(const struct locality_sparse *s, double lines[PEET_SIM_WIDTHS])
{
    for (unsigned w = 0; s && w < PEET_SIM_WIDTHS; w++) {
        const struct stack *stack = &s->stacks[w];
        const double n = (double)((uint64_t)(stack->used > stack->most ? stack->used : stack->most) << one_of[w]);

        lines[w] = n > lines[w] ? n : lines[w];
    }
}

void locality__sparse_prefetch(const struct locality_sparse *s, uint64_t chosen, uint64_t address)
{
    for (; chosen; chosen &= chosen - 1) {
        const unsigned w = (unsigned)__builtin_ctzll(chosen) / 8;
        const struct stack *stack = &s->stacks[w];

        if (stack->size)
            __builtin_prefetch(&stack->lines[first_place(stack, (address >> (PEET_SIM_WIDEST_SHIFT - w)) + 1)], 1);
    }
}

int locality__sparse_reference(struct locality_sparse *s, uint64_t chosen, uint64_t address,
    struct locality_sparse_found *out)
{
    out->widths = out->others = 0;
    for (; chosen; chosen &= chosen - 1) {
        const unsigned w = (unsigned)__builtin_ctzll(chosen) / 8, shift = PEET_SIM_WIDEST_SHIFT - w;
        const uint64_t number = (address >> shift) + 1;
        struct stack *stack = &s->stacks[w];
        const uint32_t half = (uint32_t)(address >> (shift - 1)) & 1; /* of the narrowest width nobody asks */
        uint32_t other;
        int64_t distance;

        if (number == stack->newest) {
            stack->at->half = half;
            continue;
        }
        stack->newest = number;
        distance = touch(stack, number, half, &other);
        if (distance == -2)
            return -1;
        if (distance >= 0 && distance < 1 << (FEW - 1))
            continue;
        out->widths |= 1u << w;
        out->others |= other << w;
        if (distance < 0) {
            const unsigned before = digits(stack->used - 1);

            out->meeting[w] = (uint8_t)(PEET_SIM_UNSEEN + (before ? before + one_of[w] : 0));
        } else {
            const unsigned bucket = digits((uint32_t)distance) + one_of[w];

            out->meeting[w] = (uint8_t)(bucket < PEET_SIM_BEYOND ? bucket : PEET_SIM_BEYOND);
        }
    }
    return 0;
}

void locality__sparse_count(struct locality_estimate *e, const struct locality_sparse_found *found, double weight)
{
    for (uint32_t left = found->widths; left; left &= left - 1) {
        const unsigned w = (unsigned)__builtin_ctz(left), k = found->meeting[w];

        if (k >= PEET_SIM_UNSEEN) {
            e->far.unseen[w][k - PEET_SIM_UNSEEN] += weight;
            e->samples[w] += k - PEET_SIM_UNSEEN >= locality__sparse_from(w);
            continue;
        }
        e->samples[w]++;
        e->far.reuse[w][k] += weight;
        if (w < PEET_SIM_HALVINGS && !(found->others >> w & 1))
            e->far.same[w][k] += weight;
    }
}
