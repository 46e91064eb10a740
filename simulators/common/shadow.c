/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Places by number, and in order of use; see shadow.h.
 */
#include "shadow.h"

#include <stdlib.h>
#include <string.h>

int peet_sim_shadow_init(struct peet_sim_shadow *s, uint32_t lines)
{
    memset(s, 0, sizeof *s);
    s->lines = lines;
    for (s->mask = 1; s->mask < 2 * (uint64_t)lines; s->mask = 2 * s->mask + 1)
        continue;
    s->buckets = calloc((size_t)s->mask + 1, sizeof *s->buckets);
    s->places = calloc((size_t)lines + 1, sizeof *s->places);
    return s->buckets && s->places ? 0 : -1;
}

void peet_sim_shadow_fini(struct peet_sim_shadow *s)
{
    free(s->buckets);
    free(s->places);
    memset(s, 0, sizeof *s);
}

static uint32_t *bucket(const struct peet_sim_shadow *s, uint64_t number)
{
    return &s->buckets[number * 0x9e3779b97f4a7c15u >> 32 & s->mask];
}

static uint32_t find(const struct peet_sim_shadow *s, uint64_t number)
{
    uint32_t place = *bucket(s, number);

    while (place && s->places[place].number != number)
        place = s->places[place].next;
    return place;
}

/** Out of the order of use. */
static void leave_order(struct peet_sim_shadow *s, uint32_t place)
{
    struct peet_sim_shadow_place *p = &s->places[place];

    *(p->newer ? &s->places[p->newer].older : &s->newest) = p->older;
    *(p->older ? &s->places[p->older].newer : &s->oldest) = p->newer;
}

static void newest(struct peet_sim_shadow *s, uint32_t place)
{
    struct peet_sim_shadow_place *p = &s->places[place];

    p->newer = 0;
    p->older = s->newest;
    *(s->newest ? &s->places[s->newest].newer : &s->oldest) = place;
    s->newest = place;
}

static void leave_bucket(struct peet_sim_shadow *s, uint32_t place)
{
    uint32_t *link = bucket(s, s->places[place].number);

    while (*link != place)
        link = &s->places[*link].next;
    *link = s->places[place].next;
}

int peet_sim_shadow_use(struct peet_sim_shadow *s, uint64_t number)
{
    uint32_t place;

    if (s->newest && s->places[s->newest].number == number)
        return 1;
    place = find(s, number);
    if (place) {
        leave_order(s, place);
        newest(s, place);
        return 1;
    }
    if (s->spare) {
        place = s->spare;
        s->spare = s->places[place].next;
    } else if (s->used < s->lines) {
        place = ++s->used;
    } else {
        place = s->oldest;
        leave_order(s, place);
        leave_bucket(s, place);
    }
    s->places[place].number = number;
    s->places[place].next = *bucket(s, number);
    *bucket(s, number) = place;
    newest(s, place);
    return 0;
}

int peet_sim_shadow_has(const struct peet_sim_shadow *s, uint64_t number)
{
    return find(s, number) != 0;
}

void peet_sim_shadow_drop(struct peet_sim_shadow *s, uint64_t number)
{
    uint32_t place = find(s, number);

    if (!place)
        return;
    leave_order(s, place);
    leave_bucket(s, place);
    s->places[place].next = s->spare;
    s->spare = place;
}
