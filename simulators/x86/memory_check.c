/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Do the caches and the directory agree?  The invariants of memory_state.h, for every line that was ever missed and
 * every slot that holds something; with memory_check=on also the versions of all data, which travel as the protocol
 * says, and every load as it happens (memory_private.c).
 */
#include "memory_state.h"

void peet__x86_violated(struct x86_memory *m, uint64_t line, const char *what)
{
    if (!m->dead)
        m->env->fail(m->env, "x86's memory system violates an invariant at address 0x%llx: %s (please report this)",
            (unsigned long long)line << m->line_shift, what);
    m->dead = 1;
}

/** What a check of one line says; NULL: nothing wrong. */
struct verdict {
    const struct x86_memory *m;
    const char *wrong;
    uint64_t line;
};

static int wrong(struct verdict *v, uint64_t line, const char *what)
{
    v->wrong = what;
    v->line = line;
    return 1;
}

static uint8_t state_in(const struct x86_level *level, uint64_t line, uint64_t *out_slot)
{
    *out_slot = peet_sim_tags_find(&level->tags, line);
    return *out_slot == PEET_SIM_NO_SLOT ? X86_I : level->tags.states[*out_slot] & X86_STATE;
}

/** One core's copies of a line.  @out_state: its coherence state */
static int check_core(struct verdict *v, const struct x86_core *c, uint64_t line, const struct x86_line *record,
    uint8_t *out_state)
{
    const struct x86_memory *m = v->m;
    uint64_t code, data, second, latest;
    uint8_t l1i = state_in(&c->l1i, line, &code), l1d = state_in(&c->l1d, line, &data),
            l2 = m->has_l2 ? state_in(&c->l2, line, &second) : X86_I;

    *out_state = m->has_l2 ? l2 : l1d ? l1d : l1i;
    if (l1i && l1d == X86_M)
        return wrong(v, line, "a core may write what its instruction cache holds");
    if (l1i && l1i != X86_S)
        return wrong(v, line, "an instruction cache holds more than a shared copy");
    if (m->has_l2) {
        if ((l1i || l1d) && !l2)
            return wrong(v, line, "L2 does not hold what the first level holds");
        if (l1d && l1d != X86_S && l1d != X86_M)
            return wrong(v, line, "L1D holds a state that is L2's");
        if (l1d == X86_M && l2 != X86_M)
            return wrong(v, line, "L1D may write what L2 may not");
    }
    if (!m->check || !*out_state)
        return 0;
    latest = peet__x86_versions(m, record)->latest;
    if ((l1d && c->l1d.versions[data] != latest) || (l1i && c->l1i.versions[code] != latest) ||
        (l2 && l1d != X86_M && c->l2.versions[second] != latest))
        return wrong(v, line, "a copy is stale");
    return 0;
}

static int check_below(struct verdict *v, uint64_t line, const struct x86_line *record, unsigned holders, int dirty)
{
    const struct x86_memory *m = v->m;
    const struct x86_level *l3 = &m->slices[peet__x86_slice(m, line)].l3;
    uint64_t slot = m->has_l3 ? peet_sim_tags_find(&l3->tags, line) : PEET_SIM_NO_SLOT;
    const struct x86_versions *versions;

    if (m->has_l3 && m->config.l3_policy == X86_L3_INCLUSIVE && holders && slot == PEET_SIM_NO_SLOT)
        return wrong(v, line, "the inclusive third level does not hold what a core holds");
    if (m->has_l3 && m->config.l3_policy == X86_L3_EXCLUSIVE && holders && slot != PEET_SIM_NO_SLOT)
        return wrong(v, line, "the exclusive third level holds what a core holds");
    if (!m->check || dirty)
        return 0;
    versions = peet__x86_versions(m, record);
    if (slot != PEET_SIM_NO_SLOT && l3->versions[slot] != versions->latest)
        return wrong(v, line, "the third level is stale, and no core owns the line");
    if ((slot == PEET_SIM_NO_SLOT || l3->tags.states[slot] == X86_L3_CLEAN) && versions->memory != versions->latest)
        return wrong(v, line, "memory is stale, and nobody answers for the line");
    return 0;
}

static int check_line(void *self, uint64_t line, void *of)
{
    struct verdict *v = self;
    const struct x86_memory *m = v->m;
    const struct x86_line *record = of;
    unsigned holders = 0, alone = 0, dirty = 0, owners = 0, forwarders = 0;

    /* Most lines are in no core's caches any more; what those hold was held against the directory before. */
    int nobody = peet_sim_sharers_next(&m->directory, &record->sharers, 0) == PEET_SIM_NOBODY;

    for (uint32_t i = 0; i < m->ncores && !nobody; i++) {
        uint8_t state;
        int has = peet_sim_sharers_has(&m->directory, &record->sharers, i);

        if (check_core(v, &m->cores[i], line, record, &state))
            return 1;
        if (state && !has)
            return wrong(v, line, "a core has a copy that the directory does not know of");
        if (!state && has && !(m->directory.kind == PEET_SIM_DIRECTORY_BROADCAST && record->sharers.limited.all))
            return wrong(v, line, "the directory knows of a copy that is not there");
        holders += state != X86_I;
        alone += state == X86_M || state == X86_E;
        dirty += state == X86_M || state == X86_O;
        if (state == X86_M || state == X86_E || state == X86_O) {
            owners++;
            if (record->owner != i + 1)
                return wrong(v, line, "an owner that the directory does not know of");
        }
        if (state == X86_F) {
            forwarders++;
            if (record->forwarder != i + 1)
                return wrong(v, line, "a forwarder that the directory does not know of");
        }
    }
    if (alone && holders > 1)
        return wrong(v, line, "an exclusive copy is not the only one");
    if (owners > 1 || (record->owner && !owners))
        return wrong(v, line, "not one owner");
    if (forwarders > 1 || (record->forwarder && !forwarders))
        return wrong(v, line, "not one forwarder");
    return check_below(v, line, record, holders, dirty != 0);
}

/** What a cache holds stands in its own set once; @core: the directory knows that this one has it; -1: L3. */
static int check_level(struct verdict *v, const struct x86_level *level, int core)
{
    const struct x86_memory *m = v->m;
    const struct peet_sim_tags *t = &level->tags;

    for (uint64_t slot = 0; slot < t->sets * t->ways; slot++) {
        const struct x86_line *record;

        if (!t->states[slot])
            continue;
        if (peet_sim_tags_find(t, t->numbers[slot]) != slot)
            return wrong(v, t->numbers[slot], "a cache holds a line twice, or in the wrong set");
        if (core < 0)
            continue;
        /* is there: it was asked for */
        record = peet_sim_linemap_get((struct peet_sim_linemap *)&m->lines, t->numbers[slot]);
        if (!record || !peet_sim_sharers_has(&m->directory, &record->sharers, (uint32_t)core))
            return wrong(v, t->numbers[slot], "a core has a copy that the directory does not know of");
    }
    return 0;
}

int x86_memory_check(const struct x86_memory *m)
{
    struct verdict v = {.m = m};
    int bad = m->dead;

    for (uint32_t i = 0; i < m->ncores && !bad; i++)
        bad = check_level(&v, &m->cores[i].l1i, (int)i) || check_level(&v, &m->cores[i].l1d, (int)i) ||
            (m->has_l2 && check_level(&v, &m->cores[i].l2, (int)i));
    for (uint32_t i = 0; m->has_l3 && i < m->nslices && !bad; i++)
        bad = check_level(&v, &m->slices[i].l3, -1);
    if (!bad)
        bad = peet_sim_linemap_each(&m->lines, check_line, &v);
    if (bad && v.wrong)
        m->env->fail(m->env, "x86's memory system violates an invariant at address 0x%llx: %s (please report this)",
            (unsigned long long)v.line << m->line_shift, v.wrong);
    return !bad;
}
