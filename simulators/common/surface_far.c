/* SPDX-License-Identifier: Apache-2.0 */
/* References to lines that are not near: zones and their marks, a width at a time. */
#include "surface_parts.h"

/** A mark beyond which too few lines are left.  @lines: after m->to, now */
static void move_mark(struct peet__sim_mark *m, unsigned mark, const uint32_t *live, uint8_t *zone)
{
    const uint32_t to = m->to, lines = m->lines;
    uint32_t g = to, n = lines;

    while (n < lines_of(mark) && g > m->from)
        n += ones(live[--g]);
    if (n >= lines_of(mark)) {
        memset(zone + m->from, (int)(2 * mark + 2), g - m->from);
        m->from = g;
    }
    for (g = to, n = lines; n > lines_of(mark) - slack(mark); g++)
        n -= ones(live[g]);
    memset(zone + to, (int)(2 * mark + 1), g - to);
    m->to = g;
    m->lines = n;
    m->counted += lines - n;
    if (m->slot / GROUP < m->from) {
        m->slot = g * GROUP - 1;
        m->counted = 0;
    }
}

/** A group begins: what came since the last one is summed up, and marks that it brings too near move on. */
static INLINE void sum_up(struct peet_sim_surface *s)
{
    for (unsigned w = 0; w < WIDTHS; w++) {
        uint64_t came = s->came[w];

        for (unsigned mark = 0; came; mark++, came >>= FIELD) {
            struct peet__sim_mark *m = &s->marks[w][mark];

            m->lines += (uint32_t)came & 63;
            if (m->lines > lines_of(mark) - GROUP)
                move_mark(m, mark, live_of(s, w), zone_of(s, w));
        }
        s->came[w] = 0;
    }
}

/** Live slots after this one, up to a later one. */
static INLINE uint32_t span(const uint32_t *live, uint32_t slot, uint32_t last)
{
    return between(live, slot, last / GROUP + 1) - ones(live[last / GROUP] & ~1u << last % GROUP);
}

/** Where slots are counted: live ones after this one, before m->to.  The next count goes on from here. */
static INLINE uint32_t count_on(struct peet__sim_mark *m, const uint32_t *live, uint32_t slot)
{
    if (slot < m->slot)
        m->counted += span(live, slot, m->slot);
    else
        m->counted -= span(live, m->slot, slot);
    m->slot = slot;
    return m->counted;
}

/** What a line that is nowhere counts as. */
static INLINE unsigned nowhere(struct peet_sim_surface *s, unsigned w, uint32_t was)
{
    if (was != NEVER)
        return PEET_SIM_BEYOND;
    s->lines[w]++;
    return s->bursts ? PEET_SIM_UNSEEN + bits(s->lines[w] - 1) : PEET_SIM_COLD;
}

/** Of a line that is beyond the stack its record knows which half was referenced last.  Returns: OTHER or 0 */
static INLINE unsigned half_beyond(const struct peet__sim_batch *b, unsigned i, unsigned w)
{
    const unsigned node = node_of(w, b->leaf[i]), half = b->leaf[i] >> (PEET_SIM_HALVINGS - 1 - w) & 1;

    return (b->record[i]->half[node / 32] >> node % 32 & 1) != half ? OTHER : 0;
}

/**
 * The references of a batch whose line is not near at this width: their slots are not live any more.
 * @far: a bit for each; @newest: live slots in the newest two groups before the batch
 */
static INLINE void pass_far(struct peet_sim_surface *s, struct peet__sim_batch *b, unsigned w, uint32_t far,
    uint32_t newest)
{
    uint32_t *live = live_of(s, w);
    const uint8_t *zones = zone_of(s, w);
    uint64_t came = s->came[w];

    for (; far; far &= far - 1, newest++) {
        const unsigned i = (unsigned)__builtin_ctz(far), was = b->was[i][w], zone = zones[was / GROUP];
        unsigned bucket = NEAREST + zone / 2;

        if (!zone) {
            bucket = bits(between(live, was, b->slot / GROUP - 1) + newest);
        } else if (zone == NOWHERE) {
            bucket = nowhere(s, w, was);
            if (was == BEYOND && w < PEET_SIM_HALVINGS)
                bucket |= half_beyond(b, i, w);
        } else if (zone % 2) {
            struct peet__sim_mark *m = &s->marks[w][zone / 2];

            bucket = bits(count_on(m, live, was) + m->lines + passed(came, zone / 2));
        }
        live[was / GROUP] &= ~(1u << was % GROUP);
        came += passes[zone];
        b->finding[i][w] |= (uint8_t)bucket;
    }
    s->came[w] = came;
}

/** All that is not near.  @far: for each width a bit for each reference */
static INLINE void pass_all_far(struct peet_sim_surface *s, struct peet__sim_batch *b, const uint32_t *far,
    const uint32_t *newest)
{
    for (unsigned w = 0; w < WIDTHS; w++)
        if (far[w])
            pass_far(s, b, w, far[w], newest[w]);
}

void peet__sim_far_begin_plain(struct peet_sim_surface *s)
{
    sum_up(s);
}

void peet__sim_far_plain(struct peet_sim_surface *s, struct peet__sim_batch *b, const uint32_t *newest)
{
    uint32_t far[WIDTHS] = {0};

    for (uint32_t i = 0; i < b->n; i++)
        for (unsigned w = 0; w < WIDTHS; w++)
            far[w] |= (uint32_t)(b->far[i] >> w & 1) << i;
    pass_all_far(s, b, far, newest);
}

#ifdef __x86_64__
V3 void peet__sim_far_begin_v3(struct peet_sim_surface *s)
{
    sum_up(s);
}

V3 void peet__sim_far_v3(struct peet_sim_surface *s, struct peet__sim_batch *b, const uint32_t *newest)
{
    const uint32_t mine = b->n < GROUP ? (1u << b->n) - 1 : ~0u;
    __m256i all = _mm256_load_si256((const __m256i *)(const void *)b->far);
    uint32_t far[WIDTHS];

    for (unsigned w = WIDTHS; w-- > 0; all = _mm256_add_epi8(all, all)) /* the highest bits of bytes */
        far[w] = (uint32_t)_mm256_movemask_epi8(all) & mine;
    pass_all_far(s, b, far, newest);
}
#endif
