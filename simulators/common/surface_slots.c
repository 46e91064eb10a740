/* SPDX-License-Identifier: Apache-2.0 */
/* Slots of a surface: where all begins, and renumbering when they are used up. */
#include "surface_parts.h"

/** Of one width, all zones and marks, from the bitmap. */
static INLINE void set_marks(struct peet_sim_surface *s, unsigned w)
{
    struct peet__sim_mark *marks = s->marks[w];
    uint32_t lines_after = 0, g = s->next / GROUP + 1;
    unsigned zone = 0;

    s->came[w] = 0;
    memset(marks, 0, sizeof s->marks[w]);
    for (unsigned mark = 0; mark < MARKS; mark++)
        marks[mark].from = marks[mark].to = FIRST_GROUP;
    while (g-- > FIRST_GROUP) {
        const uint32_t lines = lines_after + ones(s->live[g][w]);

        for (; zone < 2 * MARKS; zone++) {
            const unsigned mark = zone / 2;

            if (zone % 2 ? lines_after < lines_of(mark) : lines <= lines_of(mark) - slack(mark))
                break;
            if (zone % 2) {
                marks[mark].from = g + 1;
            } else {
                marks[mark].to = g + 1;
                s->after[mark][w] = lines_after;
            }
        }
        *zone_of(s, w, g) = code_of(zone);
        lines_after = lines;
    }
    for (unsigned mark = 0; mark < MARKS; mark++) {
        if (mark >= (zone + 1) / 2)
            s->after[mark][w] = lines_after;
        marks[mark].slot = marks[mark].to * GROUP - 1;
    }
}

void peet__sim_slots_begin(struct peet_sim_surface *s)
{
    memset(s->live, 0, (s->next / GROUP + 1) * sizeof *s->live);
    s->next = FIRST;
    s->summed = 0;
    s->most = GROUP;
    s->end = FEWEST_SLOTS;
    memset(s->lines, 0, sizeof s->lines);
    for (uint32_t g = 0; g < FIRST_GROUP; g++)
        s->zone[g] = bytes * NOWHERE;
    for (unsigned w = 0; w < WIDTHS; w++)
        set_marks(s, w);
}

/* ---------------------------------------------------------------------------------------------- renumbering */

/** The oldest slot that may be of one of the newest 2^16 lines. */
static INLINE uint32_t oldest_kept(const struct peet_sim_surface *s, unsigned w)
{
    uint32_t left = DEEPEST, g = (s->next - 1) / GROUP;

    for (; g >= FIRST_GROUP; g--) {
        uint32_t word = s->live[g][w], n = ones(word);

        if (n >= left) {
            while (n-- > left)
                word &= word - 1;
            return g * GROUP + (uint32_t)__builtin_ctz(word);
        }
        left -= n;
    }
    return 0;
}

/** The lines of a slot, a bit for each width, are nowhere. */
static void drop(struct peet_sim_surface *s, uint32_t word, unsigned widths)
{
    struct peet__sim_record *r = record_of(s, word >> PEET_SIM_HALVINGS);
    const unsigned leaf = word & 127;

    for (; widths; widths &= widths - 1) {
        const unsigned w = (unsigned)__builtin_ctz(widths);

        *last_of(r, w, leaf) = BEYOND;
        if (w < PEET_SIM_HALVINGS) {
            unsigned bit;
            uint32_t *half = half_of(r, node_of(w, leaf), &bit);

            *half &= ~(1u << bit);
            *half |= (leaf >> (PEET_SIM_HALVINGS - 1 - w) & 1) << bit;
        }
    }
}

/** Slots of a group, a bit for each, that are among the newest 2^16 lines of some width.  *out_any: all that are live */
static INLINE uint32_t kept_of(const struct peet_sim_surface *s, uint32_t group, const uint32_t *oldest,
    uint32_t *out_any)
{
    uint32_t kept = 0, any = 0;

    for (unsigned w = 0; w < WIDTHS; w++) {
        const uint32_t live = s->live[group][w];
        const uint32_t older = oldest[w] > group * GROUP ? oldest[w] - group * GROUP : 0;

        any |= live;
        kept |= older < GROUP ? live & ~0u << older : 0;
    }
    *out_any = any;
    return kept;
}

/** Of a group, lines of slots that are not kept. */
static void drop_slots(struct peet_sim_surface *s, uint32_t group, uint32_t slots)
{
    for (; slots; slots &= slots - 1) {
        const unsigned bit = (unsigned)__builtin_ctz(slots);
        unsigned widths = 0;

        for (unsigned w = 0; w < WIDTHS; w++)
            widths |= (s->live[group][w] >> bit & 1) << w;
        drop(s, s->word_of[group * GROUP + bit], widths);
    }
}

/** Slots of a group move to earlier ones, from @to on. */
static INLINE void move_slots(struct peet_sim_surface *s, uint32_t group, uint32_t slots, uint32_t to)
{
    struct {
        uint32_t to, leaf;
        struct peet__sim_record *record;
    } moved[GROUP];

    for (uint32_t left = slots; left; left &= left - 1, to++) {
        const unsigned bit = (unsigned)__builtin_ctz(left);
        const uint32_t word = s->word_of[group * GROUP + bit];

        moved[bit].to = to;
        moved[bit].leaf = word & 127;
        moved[bit].record = record_of(s, word >> PEET_SIM_HALVINGS);
        s->word_of[to] = word;
    }
    for (unsigned w = 0; w < WIDTHS; w++) {
        uint32_t left = s->live[group][w] & slots;

        s->live[group][w] = 0;
        for (; left; left &= left - 1) {
            const unsigned bit = (unsigned)__builtin_ctz(left);
            const uint32_t slot = moved[bit].to;

            s->live[slot / GROUP][w] |= 1u << slot % GROUP;
            *last_of(moved[bit].record, w, moved[bit].leaf) = slot;
        }
    }
}

/* There is room for several times as many as are left, so that few are moved for a
 * reference; slots of a small working set stay in the processor's cache. */
static INLINE void renumber(struct peet_sim_surface *s)
{
    const uint32_t groups = s->next / GROUP;
    uint32_t oldest[WIDTHS], to = FIRST;
    uint64_t end;

    for (unsigned w = 0; w < WIDTHS; w++)
        oldest[w] = oldest_kept(s, w);
    for (uint32_t g = FIRST_GROUP; g < groups; g++) {
        uint32_t any, kept = kept_of(s, g, oldest, &any);

        if (any & ~kept)
            drop_slots(s, g, any & ~kept);
        if (any)
            move_slots(s, g, kept, to);
        to += ones(kept);
    }
    end = (uint64_t)SPARE * to;
    s->next = to;
    s->end = end < FEWEST_SLOTS ? FEWEST_SLOTS
        : end > PEET_SIM_SLOTS  ? PEET_SIM_SLOTS
                                : (uint32_t)end & -(uint32_t)GROUP;
    for (unsigned w = 0; w < WIDTHS; w++)
        set_marks(s, w);
    s->summed = 0;
    sum_groups(s, to / GROUP);
}

void peet__sim_slots_renumber_plain(struct peet_sim_surface *s)
{
    renumber(s);
}

#ifdef __x86_64__
V3 void peet__sim_slots_renumber_v3(struct peet_sim_surface *s)
{
    renumber(s);
}
#endif
