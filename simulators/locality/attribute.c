/* SPDX-License-Identifier: Apache-2.0 */
/* Whose a reference is: a tally for each context, and if it is asked for, for each function and data structure of it.
 */
#include "sampled.h"

#include <stdlib.h>

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

struct entry {
    struct locality_part part;
    UT_hash_handle hh;
};

struct locality_part *locality__part(struct locality *self, struct locality_key key,
    const struct peet_function *function)
{
    struct entry *head = self->parts, *e;
    unsigned before;

    HASH_FIND(hh, head, &key, sizeof key, e);
    if (e)
        return &e->part;
    e = calloc(1, sizeof *e);
    if (!e) {
        locality__no_memory(self);
        return NULL;
    }
    e->part.estimate = self->sampler ? calloc(1, sizeof *e->part.estimate) : NULL;
    if (self->sampler && !e->part.estimate) {
        free(e);
        locality__no_memory(self);
        return NULL;
    }
    e->part.key = key;
    e->part.function = function;
    before = HASH_COUNT(head);
    HASH_ADD(hh, head, part.key, sizeof key, e);
    if (HASH_COUNT(head) == before) {
        free(e->part.estimate);
        free(e);
        locality__no_memory(self);
        return NULL;
    }
    self->parts = head;
    self->nparts++;
    return &e->part;
}

struct peet_sim_tally *locality__attribute(struct locality *self, struct locality_ref *ref,
    const struct peet_block *block, uint32_t context, uint64_t address)
{
    struct locality_key key = {context, LOCALITY_NOBODY, LOCALITY_NOBODY, self->sampler ? block->id : LOCALITY_NOBODY};
    struct peet_data_object object = {address, 0, 0};
    struct locality_part *part;

    ref->lo = 0;
    ref->span = UINT64_MAX;
    if (self->functions)
        key.function = block->function->id;
    if (self->structures) {
        key.data = self->env->data_of(self->env, address, &object)->id;
        ref->lo = object.bytes ? object.address : address;
        ref->span = object.bytes ? object.bytes : 1;
    }
    part = locality__part(self, key, self->functions ? block->function : NULL);
    ref->context = context;
    ref->epoch = self->epoch;
    ref->tally = part ? &part->tally : &self->seen;
    return ref->tally;
}

void locality__each_part(const struct locality *self, void (*visit)(void *arg, const struct locality_part *part),
    void *arg)
{
    struct entry *head = self->parts;

    for (struct entry *e = head; e; e = e->hh.next)
        visit(arg, &e->part);
}

void locality__sum(struct locality *self, struct locality_key key, struct peet_sim_tally *out_sum)
{
    struct entry *head = self->parts;

    if (self->sampler) {
        locality__sampled_sum(self, key, out_sum);
        return;
    }
    *out_sum = (struct peet_sim_tally){0};
    for (struct entry *e = head; e; e = e->hh.next) {
        if (!locality__matches(key, e->part.key))
            continue;
        peet_sim_tally_settle(&e->part.tally);
        peet_sim_tally_add(out_sum, &e->part.tally, 1);
    }
}

void locality__parts_free(struct locality *self)
{
    struct entry *head = self->parts, *e, *next;

    HASH_ITER(hh, head, e, next)
    {
        HASH_DEL(head, e);
        free(e->part.estimate);
        free(e);
    }
    self->parts = NULL;
}
