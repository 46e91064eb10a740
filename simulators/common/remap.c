/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rules in order of their addresses, and the search among them.
 */
#include "remap.h"

#include <stdlib.h>
#include <string.h>

void peet_sim_remap_init(struct peet_sim_remap *r)
{
    memset(r, 0, sizeof *r);
    r->memo_bytes = UINT64_MAX;
}

void peet_sim_remap_fini(struct peet_sim_remap *r)
{
    free(r->rules);
    peet_sim_remap_init(r);
}

/** The first rule that begins beyond an address. */
static size_t upper(const struct peet_sim_remap *r, uint64_t address)
{
    size_t low = 0, high = r->n;

    while (low < high) {
        size_t middle = (low + high) / 2;

        if (r->rules[middle].from <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

enum peet_sim_remap_result peet_sim_remap_add(struct peet_sim_remap *r, const struct peet_sim_rule *rule)
{
    struct peet_sim_rule one = *rule;
    size_t i = upper(r, one.from);

    if (!one.bytes)
        return PEET_SIM_REMAP_OK;
    if (!one.stride_bytes)
        one.stride_bytes = one.element_bytes;
    if (one.stride_bytes < one.element_bytes)
        return PEET_SIM_REMAP_STRIDE;
    if (one.from + one.bytes < one.from || (i && r->rules[i - 1].from + r->rules[i - 1].bytes > one.from) ||
        (i < r->n && one.from + one.bytes > r->rules[i].from))
        return PEET_SIM_REMAP_OVERLAP;
    if (r->n == r->room) {
        size_t room = r->room ? 2 * r->room : 16;
        struct peet_sim_rule *rules = realloc(r->rules, room * sizeof *rules);

        if (!rules)
            return PEET_SIM_REMAP_MEMORY;
        r->rules = rules;
        r->room = room;
    }
    memmove(&r->rules[i + 1], &r->rules[i], (r->n++ - i) * sizeof *r->rules);
    r->rules[i] = one;
    r->memo_bytes = 0;
    r->last = i;
    return PEET_SIM_REMAP_OK;
}

int peet_sim_remap_remove(struct peet_sim_remap *r, uint64_t from)
{
    size_t i = upper(r, from);

    if (!i || r->rules[i - 1].from != from)
        return 0;
    memmove(&r->rules[i - 1], &r->rules[i], (r->n-- - i) * sizeof *r->rules);
    r->last = 0;
    r->memo_from = 0;
    r->memo_bytes = r->n ? 0 : UINT64_MAX;
    return 1;
}

uint64_t peet__sim_remap_look(struct peet_sim_remap *r, uint64_t address)
{
    const struct peet_sim_rule *rule;
    uint64_t offset;

    if (!r->n)
        return address;
    rule = &r->rules[r->last];
    if (address - rule->from >= rule->bytes) {
        size_t i = upper(r, address);

        if (!i || address - r->rules[i - 1].from >= r->rules[i - 1].bytes) {
            /* between two rules: remember the gap */
            r->memo_from = i ? r->rules[i - 1].from + r->rules[i - 1].bytes : 0;
            r->memo_bytes = (i < r->n ? r->rules[i].from : UINT64_MAX) - r->memo_from;
            return address;
        }
        r->last = i - 1;
        rule = &r->rules[r->last];
    }
    offset = address - rule->from;
    if (!rule->element_bytes)
        return rule->to + offset;
    return rule->to + offset / rule->element_bytes * rule->stride_bytes + offset % rule->element_bytes;
}
