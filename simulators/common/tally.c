/* SPDX-License-Identifier: Apache-2.0 */
/* What a surface counts: findings, and what they come to.  See surface.h. */
#include "surface.h"

#include <string.h>

static void distribute(struct peet_sim_tally *t, uint64_t finding, uint64_t times)
{
    const unsigned lines = (unsigned)(finding >> 8 * PEET_SIM_STRIDED_WIDTH);

    if (lines >> 7 & 1)
        t->strided[lines & 63] += times;
    for (unsigned w = 0; w < PEET_SIM_WIDTHS; w++, finding >>= 8)
        t->met[w][finding & 63][finding >> 6 & 1] += times;
}

void peet__sim_tally_replace(struct peet_sim_tally *t, struct peet__sim_note *note, uint64_t finding)
{
    distribute(t, note->finding, note->times);
    *note = (struct peet__sim_note){finding, 0};
    t->noted = 1;
}

void peet_sim_tally_collect(struct peet_sim_tally *t)
{
    if (!t->noted)
        return;
    for (unsigned i = 0; i < PEET_SIM_NOTES; i++)
        if (t->notes[i].times)
            distribute(t, t->notes[i].finding, t->notes[i].times);
    memset(t->notes, 0, sizeof t->notes);
    t->noted = 0;
}

void peet_sim_tally_settle(struct peet_sim_tally *t)
{
    peet_sim_tally_collect(t);
    t->references += t->again;
    for (unsigned k = 0; k < PEET_SIM_MEETINGS; k++)
        t->references += t->met[0][k][0] + t->met[0][k][1];
    for (unsigned w = 0; w < PEET_SIM_WIDTHS; w++) {
        t->reuse[w][0] += t->again;
        if (w < PEET_SIM_HALVINGS)
            t->same[w][0] += t->again;
        for (unsigned k = 0; k < PEET_SIM_BUCKETS; k++) {
            t->reuse[w][k] += t->met[w][k][0] + t->met[w][k][1];
            if (w < PEET_SIM_HALVINGS && k < PEET_SIM_COLD)
                t->same[w][k] += t->met[w][k][0];
        }
    }
    for (unsigned k = PEET_SIM_BUCKETS; k < PEET_SIM_MEETINGS; k++)
        t->strided[k] = 0;
    t->again = 0;
    memset(t->met, 0, sizeof t->met);
}

void peet_sim_tally_add(struct peet_sim_tally *to, const struct peet_sim_tally *from, int sign)
{
    uint64_t s = (uint64_t)(int64_t)sign;

    to->references += s * from->references;
    to->again += s * from->again;
    for (unsigned i = 0; from->noted && i < PEET_SIM_NOTES; i++)
        if (from->notes[i].times)
            distribute(to, from->notes[i].finding, s * from->notes[i].times);
    for (unsigned w = 0; w < PEET_SIM_WIDTHS; w++)
        for (unsigned k = 0; k < PEET_SIM_MEETINGS; k++) {
            to->met[w][k][0] += s * from->met[w][k][0];
            to->met[w][k][1] += s * from->met[w][k][1];
        }
    for (unsigned k = 0; k < PEET_SIM_MEETINGS; k++)
        to->strided[k] += s * from->strided[k];
    for (unsigned w = 0; w < PEET_SIM_WIDTHS; w++)
        for (unsigned k = 0; k < PEET_SIM_BUCKETS; k++)
            to->reuse[w][k] += s * from->reuse[w][k];
    for (unsigned h = 0; h < PEET_SIM_HALVINGS; h++)
        for (unsigned k = 0; k < PEET_SIM_BUCKETS - 1; k++)
            to->same[h][k] += s * from->same[h][k];
}
