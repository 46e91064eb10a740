/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of a profile: blocks, functions, contexts; see profile.h. */
#include "profile.h"

#include <stdlib.h>
#include <string.h>

int profile_grow_to(struct profile *p, void *list, uint32_t *room, size_t wanted, size_t bytes)
{
    void **at = list, *more;
    size_t n = *room ? *room : 64;

    while (n < wanted)
        n *= 2;
    more = p->failed || n > UINT32_MAX / 2 ? NULL : realloc(*at, n * bytes);
    if (!more) {
        if (!p->failed)
            p->env->fail(p->env, "out of memory for %zu entries of a profile", n);
        p->failed = 1;
        return -1;
    }
    memset((char *)more + *room * bytes, 0, (n - *room) * bytes);
    *at = more;
    *room = (uint32_t)n;
    return 0;
}

static void *fresh(struct profile *p, size_t bytes)
{
    void *one = p->failed ? NULL : calloc(1, bytes);

    if (!one && !p->failed) {
        p->env->fail(p->env, "out of memory for a profile");
        p->failed = 1;
    }
    return one;
}

struct place *profile_place_new(struct profile *p, const struct peet_block *block)
{
    struct place *place;
    const char *image = block->function->image;

    if (profile_grow(p, &p->places, &p->nplaces, (size_t)block->id + 1, sizeof(*p->places)))
        return NULL;
    place = p->places[block->id] = fresh(p, sizeof *place);
    if (!place)
        return NULL;
    place->block = block;
    place->routine = block->function->id;
    peet_count_static(block, p->convention, &place->each);
    if (block->insns && block->ninsns) {
        uint8_t last = block->insns[block->ninsns - 1].opcode->klass;

        place->returns = last == PEET_INSN_RETURN;
        place->jumps = last == PEET_INSN_JUMP || last == PEET_INSN_BRANCH;
        place->tails = strncmp(block->insns[block->ninsns - 1].opcode->name, "TAILJMP", 7) == 0;
    }
    /* a block of its own, from which control returns */
    place->library = image && strcmp(image, "peet") == 0;
    place->returns |= place->library;
    place->first = (uint8_t)(peet_block_is_first(block) && !(block->flags & PEET_BLOCK_ENTRY) && !place->library);
    place->leaves = place->returns || place->tails;
    place->entry = (uint8_t)((block->flags & PEET_BLOCK_ENTRY) && !place->library);
    place->calls = (uint8_t)(!place->leaves && !place->jumps);
    place->ways =
        (uint8_t)((place->calls ? CALLS : 0) | (place->returns && !place->jumps && !place->tails ? RETURNS : 0) |
            (place->first            ? 0
                    : place->library ? LIBRARY
                    : place->entry   ? ENTERS
                                     : CONTINUES));
    return place;
}

void profile_cost_copy_rare(const struct profile *p, struct cost *to, const struct cost *sum)
{
    for (uint32_t i = RARE; i < p->measures; i++)
        to->of[i] = sum->of[i];
    to->version = sum->version;
}

/** Where the call paths of a group's contexts begin.  Returns: a node, or NOTHING after env->fail() */
static uint32_t root_of(struct profile *p, uint32_t group)
{
    struct group *g = &p->groups[group];

    if (g->root != NOTHING)
        return g->root;
    if (profile_grow(p, &p->nodes, &p->nodes_room, (size_t)p->nnodes + 1, sizeof(*p->nodes)))
        return NOTHING;
    p->nodes[p->nnodes] =
        (struct node){.parent = NOTHING, .routine = NOTHING, .arc = NOTHING, .edges = NOTHING, .group = group};
    return g->root = p->nnodes++;
}

struct thread *profile_thread(struct profile *p, uint32_t number)
{
    struct thread *c;

    if (number < p->nthreads && p->threads[number])
        return p->threads[number];
    if (profile_grow(p, &p->threads, &p->nthreads, (size_t)number + 1, sizeof(*p->threads)))
        return NULL;
    c = fresh(p, sizeof *c);
    if (!c)
        return NULL;
    c->number = number;
    c->group = number < p->ngroups - 1 ? number : p->ngroups - 1;
    c->node = root_of(p, c->group);
    if (c->node == NOTHING) {
        free(c);
        return NULL;
    }
    return p->threads[number] = c;
}

void profile_thread_over(struct profile *p, struct thread *c)
{
    profile_unwind(p, c);
    for (unsigned i = 0; i < p->env->hw_contexts; i++)
        if (p->hw[i].thread == c) {
            p->hw[i].thread = NULL;
            p->hw[i].open = 0;
        }
    p->threads[c->number] = NULL;
    free(c->frames);
    free(c->on);
    free(c);
}

int profile_routine(struct profile *p, const struct peet_function *function)
{
    if (profile_grow(p, &p->routines, &p->nroutines, (size_t)function->id + 1, sizeof(*p->routines)))
        return -1;
    p->routines[function->id].function = function;
    return 0;
}

struct cost *profile_insn(struct profile *p, struct place *place, uint32_t insn)
{
    if (!place->insns)
        place->insns = fresh(p, (place->block->ninsns + 1) * sizeof *place->insns);
    return place->insns ? &place->insns[insn < place->block->ninsns ? insn : 0] : NULL;
}

void profile_free(struct profile *p)
{
    for (uint32_t i = 0; i < p->nplaces; i++)
        if (p->places[i]) {
            free(p->places[i]->insns);
            free(p->places[i]);
        }
    for (uint32_t i = 0; i < p->nthreads; i++)
        if (p->threads[i]) {
            free(p->threads[i]->frames);
            free(p->threads[i]->on);
            free(p->threads[i]);
        }
    for (uint32_t i = 0; i < p->nedges; i++) {
        free(p->edges[i].rare[0]);
        free(p->edges[i].rare[1]);
    }
    free(p->places);
    free(p->routines);
    free(p->arcs);
    free(p->nodes);
    free(p->edges);
    free(p->threads);
    free(p->groups);
    free(p->hw);
    free(p->transfers);
    free(p->chains);
    free(p);
}
