/* SPDX-License-Identifier: Apache-2.0 */
/* Litmus tests by chance, and as text; see table.h. */
#include "table.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

static const char names[] = "wxyz";

static unsigned pick(uint64_t *state, unsigned n)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(*state >> 33) % n;
}

/* Loads and stores of the first two locations are the most likely; registers are numbered in the order of the text. */
static void random_op(uint64_t *state, struct litmus_test *t, struct litmus_op *o, unsigned locations)
{
    const unsigned what = pick(state, 20);

    *o = (struct litmus_op){ .reg = -1, .order = ' ', .location = 1 + (int)pick(state, locations), .value = 1 + (int)pick(state, 3) };
    if (what >= 18) {
        *o = (struct litmus_op){ .kind = what == 18 ? OP_MFENCE : OP_SFENCE, .reg = -1, .order = ' ' };
        return;
    }
    o->kind = what < 8 ? OP_LOAD : what < 16 ? OP_STORE : what == 16 ? OP_XCHG : OP_ADD;
    if (o->kind == OP_LOAD)
        o->order = "  as"[pick(state, 4)];
    if (o->kind == OP_STORE)
        o->order = "  r"[pick(state, 3)];
    if (o->kind == OP_ADD)
        o->value = 1;
    if (o->kind == OP_LOAD || (o->kind != OP_STORE && pick(state, 2)))
        o->reg = t->nregs++;
    t->used |= 1u << o->location;
}

void litmus_random(struct litmus_test *t, unsigned seed)
{
    uint64_t state = (seed + 1) * 0x9e3779b97f4a7c15u;
    unsigned locations;

    memset(t, 0, sizeof *t);
    snprintf(t->name, sizeof t->name, "random-%u", seed);
    for (int i = 0; i < 4; i++)
        pick(&state, 2);
    t->nthreads = 2 + (int)pick(&state, 2);
    locations = 2 + pick(&state, 2);
    for (int p = 0; p < t->nthreads; p++) {
        t->nops[p] = t->nthreads == 2 ? 2 + (int)pick(&state, 3) : 1 + (int)pick(&state, 3);
        for (int i = 0; i < t->nops[p]; i++)
            random_op(&state, t, &t->ops[p][i], locations);
    }
}

/* A store, then perhaps what empties the buffer, then what the thread ends with: mostly a load of something else. */
static void random_end(uint64_t *state, struct litmus_test *t, int p, unsigned locations)
{
    static const enum litmus_kind between[] = { OP_MFENCE, OP_XCHG, OP_ADD, OP_MFENCE, OP_SFENCE, OP_STORE };
    const int own = 1 + (int)pick(state, locations), other = 1 + (own + (int)pick(state, locations - 1)) % (int)locations;
    struct litmus_op *o = t->ops[p];

    *o++ = (struct litmus_op){ .kind = OP_STORE, .reg = -1, .order = " r"[!pick(state, 4)], .location = own, .value = 1 + p };
    if (pick(state, 3)) {
        *o = (struct litmus_op){ .kind = between[pick(state, 6)], .reg = -1, .order = ' ' };
        if (o->kind != OP_MFENCE && o->kind != OP_SFENCE) {
            o->location = pick(state, 2) ? own : other;
            o->value = o->kind == OP_ADD ? 1 : 4 + p;
        }
        t->used |= 1u << o->location;
        o++;
    }
    *o = (struct litmus_op){ .kind = pick(state, 5) ? OP_LOAD : pick(state, 2) ? OP_ADD : OP_MFENCE, .reg = -1, .order = ' ' };
    if (o->kind != OP_MFENCE) {
        o->location = other;
        o->value = 1;
        o->reg = t->nregs++;
    }
    t->used |= 1u << own | 1u << other;
    t->nops[p] = (int)(o + 1 - t->ops[p]);
}

void litmus_random_ends(struct litmus_test *t, unsigned seed)
{
    uint64_t state = (seed + 1) * 0x9e3779b97f4a7c15u;

    memset(t, 0, sizeof *t);
    snprintf(t->name, sizeof t->name, "ends-%u", seed);
    for (int i = 0; i < 4; i++)
        pick(&state, 2);
    t->nthreads = 2 + !pick(&state, 3);
    for (int p = 0; p < t->nthreads; p++)
        random_end(&state, t, p, (unsigned)t->nthreads);
    t->used &= ~1u;
}

static void print_op(const struct litmus_op *o)
{
    if (o->kind == OP_MFENCE || o->kind == OP_SFENCE) {
        printf(o->kind == OP_MFENCE ? " F" : " S");
        return;
    }
    printf(" %s%c", o->reg >= 0 ? "?" : "", names[o->location]);
    if (o->kind == OP_ADD)
        printf("+");
    else if (o->kind != OP_LOAD)
        printf("%d", o->value);
    if (litmus_locked(o))
        printf("!");
    else if (o->order != ' ')
        printf("%c", o->order);
}

void litmus_print(const struct litmus_test *t)
{
    printf("%s ;", t->name);
    for (int p = 0; p < t->nthreads; p++) {
        printf(p ? " |" : "");
        for (int i = 0; i < t->nops[p]; i++)
            print_op(&t->ops[p][i]);
    }
    printf(" ; %s ; %s\n", t->condition, t->verdicts);
}
