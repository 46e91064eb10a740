/* SPDX-License-Identifier: Apache-2.0 */
/* Structures in words: names, container kinds, patterns; and the figures that several reports show. */
#include "dtrack.h"

#include <stdio.h>
#include <string.h>

const char *dtrack__kind_name(unsigned kind)
{
    static const char *const names[PEET_DATA_KINDS] = {"rest", "stack", "global", "thread-local", "heap", "mapped"};

    return kind < PEET_DATA_KINDS ? names[kind] : "unknown";
}

const char *dtrack__name(const struct dtrack *self, uint32_t id, char *out_text, size_t room)
{
    const struct peet_data *data = id == DTRACK_CODE || id == DTRACK_WALKS ? NULL : self->env->data(self->env, id);

    if (id == DTRACK_CODE)
        return "(instructions)";
    if (id == DTRACK_WALKS)
        return "(page tables)";
    if (!data)
        return "(unknown)";
    if (data->kind == PEET_DATA_STACK)
        return "(stack)";
    if (data->kind == PEET_DATA_REST)
        return "(rest)";
    snprintf(out_text, room, "%s", data->name && *data->name ? data->name : dtrack__kind_name(data->kind));
    return out_text;
}

/**
 * One object with one element is a variable, with several an array.  Many objects are records if they have an element
 * each (without a type: if they are small), linked ones if debug info says that they point to their like; else they are
 * arrays.
 */
const char *dtrack__container(const struct peet_data *data)
{
    const uint64_t mean = data->objects ? data->bytes / data->objects : 0;
    const uint64_t elements = data->element_bytes ? mean / data->element_bytes : 0;
    enum { SMALL_BYTES = 256 };

    /* sections */
    if (data->kind == PEET_DATA_STACK || data->kind == PEET_DATA_REST || (data->name && data->name[0] == '('))
        return "various";
    if (data->objects <= 1)
        return elements == 1 ? "variable" : "array";
    if (elements ? elements == 1 : mean <= SMALL_BYTES)
        return data->flags & PEET_DATA_LINKED ? "linked records" : "records";
    return "arrays";
}

const char *dtrack__pattern_name(const struct dtrack_pattern *p)
{
    const double share = p->accesses > 0 ? p->regular_accesses / p->accesses : -1;

    return share < 0 ? "" : share >= 0.75 ? "regular" : share <= 0.25 ? "irregular" : "regular & irregular";
}

uint64_t dtrack__misses(const struct dtrack_tally *t, unsigned level)
{
    return t->levels[level].read_misses + t->levels[level].write_misses;
}

uint64_t dtrack__accesses(const struct dtrack_tally *t, unsigned level)
{
    return level ? dtrack__misses(t, level - 1) : t->reads + t->writes;
}
