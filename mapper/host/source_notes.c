/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Notes of allocations lie aside while a context runs (runtime/notes.c); here they come to their places among its
 * words.
 */
#include "host/source_parts.h"

#include <stdlib.h>
#include <string.h>

int peet__source_notes(struct peet_source *s, struct peet_source_context *c)
{
    size_t nnotes, nwords = (size_t)(c->end - c->cursor), need;
    const uint64_t *note = peet_rt_notes(&nnotes), *notes_end = note + nnotes, *from = c->cursor;
    struct peet_source_ring *ring = c->ring;
    uint64_t *to;

    (void)s;
    if (!nnotes)
        return 0;
    need = nwords + nnotes + PEET_DECODE_ROOM_WORDS;
    if (ring->merged_room < need) {
        uint64_t *more = malloc(need * sizeof *more);

        if (!more)
            return PEET_ENOMEM; /* they stay where they are, for the next slice's */
        free(ring->merged);
        ring->merged = more;
        ring->merged_room = need;
    }
    to = ring->merged;
    while (note != notes_end) {
        const uint64_t *place = (const uint64_t *)(uintptr_t)note[0];
        size_t n = PEET_RAW_NARGS(note[1]) + 1;

        if (place > from && place <= c->end) { /* words that a crash has cut off have their notes at the end */
            memcpy(to, from, (size_t)(place - from) * sizeof *to);
            to += place - from;
            from = place;
        }
        memcpy(to, note + 1, n * sizeof *to);
        to += n;
        note += 1 + n;
    }
    memcpy(to, from, (size_t)(c->end - from) * sizeof *to);
    to += c->end - from;
    c->cursor = ring->merged;
    c->end = to;
    peet_rt_notes_clear();
    return 0;
}
