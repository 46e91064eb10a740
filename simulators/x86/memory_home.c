/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The home of a line: the slice that its address hashes to, with its part of the directory and of the shared
 * third level, and DRAM behind it.  Requests are answered one after the other, each completely.
 */
#include "memory_state.h"

enum { CONTROL_BYTES = 8, DATA_HEAD_BYTES = 8 };

/** A request at its home. */
struct home {
    struct x86_line *record;
    struct x86_slice *slice;
    uint64_t at;   /* looked up */
    uint32_t node; /* of the core that asks */
};

static uint64_t port(const struct x86_memory *m, struct x86_slice *slice, uint64_t now)
{
    return m->timeless ? now : peet_sim_server_request(&slice->l3.port, now, m->config.l3_busy_cycles);
}

static uint64_t message(struct x86_memory *m, uint32_t from, uint32_t to, int data, uint64_t now)
{
    if (m->config.topology == X86_IDEAL || m->timeless)
        return now;
    return peet_sim_network_send(&m->network, from, to,
        data ? DATA_HEAD_BYTES + (uint32_t)m->config.line_bytes : CONTROL_BYTES, now);
}

struct x86_line *peet__x86_line(struct x86_memory *m, uint64_t line)
{
    struct x86_line *record = peet_sim_linemap_get(&m->lines, line);

    if (!record && !m->dead) {
        m->dead = 1;
        m->env->fail(m->env, "out of memory for the directory of x86's caches");
    }
    return record;
}

static int others(const struct x86_memory *m, const struct x86_line *record, uint32_t core)
{
    int next = peet_sim_sharers_next(&m->directory, &record->sharers, 0);

    if (next == (int)core)
        next = peet_sim_sharers_next(&m->directory, &record->sharers, core + 1);
    return next != PEET_SIM_NOBODY;
}

static uint64_t memory_access(struct x86_memory *m, uint64_t line, int write, uint64_t now)
{
    *(write ? &m->memory_writes : &m->memory_reads) += 1;
    peet__x86_over_time(m, X86_OVER_TIME_DRAM, now);
    return m->timeless ? now : peet_sim_dram_access(&m->dram, line << m->line_shift, write, now);
}

static void memory_write(struct x86_memory *m, uint64_t line, struct x86_line *record, uint64_t version, uint64_t now)
{
    if (m->check)
        peet__x86_versions(m, record)->memory = version;
    memory_access(m, line, 1, now);
}

/** A core loses a line because somebody's table is too small.  @version: of the data, if that was newer.  Returns:
 * whether it was */
static int recall(struct x86_memory *m, struct x86_line *record, uint64_t line, uint32_t core,
    const struct x86_request *by, uint64_t *version)
{
    uint64_t had = 0;
    uint8_t state = peet__x86_drop(m, core, line, by, X86_BY_RECALL, &had);

    peet_sim_sharers_remove(&m->directory, &record->sharers, core);
    if (record->owner == core + 1)
        record->owner = 0;
    if (record->forwarder == core + 1)
        record->forwarder = 0;
    if (state != X86_M && state != X86_O)
        return 0;
    *version = had;
    return 1;
}

/* ------------------------------------------------------------------------------------- third level */

static uint64_t l3_find(const struct x86_memory *m, const struct home *h, uint64_t line)
{
    return m->has_l3 ? peet_sim_tags_find(&h->slice->l3.tags, line) : PEET_SIM_NO_SLOT;
}

/** What is in a slot goes; inclusive: the cores' copies too. */
static void l3_evict(struct x86_memory *m, struct x86_slice *slice, uint64_t slot, struct x86_request *r, uint64_t now)
{
    struct x86_level *l3 = &slice->l3;
    uint64_t line = l3->tags.numbers[slot], version = m->check ? l3->versions[slot] : 0;
    int dirty = l3->tags.states[slot] == X86_L3_DIRTY;
    struct x86_line *record = peet__x86_line(m, line);

    if (!record)
        return;
    if (m->config.l3_policy == X86_L3_INCLUSIVE) {
        for (int core = 0; (core = peet_sim_sharers_next(&m->directory, &record->sharers, (uint32_t)core)) >= 0;
            core++) {
            message(m, slice->node, m->cores[core].node, 0, now);
            if (recall(m, record, line, (uint32_t)core, r, &version)) {
                message(m, m->cores[core].node, slice->node, 1, now + m->config.snoop_cycles);
                dirty = 1;
            }
        }
        peet_sim_sharers_clear(&m->directory, &record->sharers);
    }
    l3->stats.evictions++;
    l3->stats.write_backs += (uint64_t)dirty;
    if (m->reports)
        peet__x86_report_loss(m, l3, r->core, line, PEET_MEMORY_EVICT, dirty, r);
    peet_sim_tags_drop(&l3->tags, slot);
    if (dirty)
        memory_write(m, line, record, version, now);
}

static void l3_fill(struct x86_memory *m, struct x86_slice *slice, struct x86_request *r, uint64_t line, uint8_t state,
    uint64_t version, uint8_t from, uint64_t asked, uint64_t ready)
{
    struct x86_level *l3 = &slice->l3;
    uint64_t slot = peet_sim_tags_victim(&l3->tags, line);

    if (l3->tags.states[slot])
        l3_evict(m, slice, slot, r, ready);
    peet_sim_tags_fill(&l3->tags, slot, line, state);
    if (m->classify)
        peet_sim_shadow_use(&m->l3_shadow, line);
    peet__x86_arrives(&l3->lines[slot], asked, m->timeless ? 0 : ready, from);
    if (m->check)
        l3->versions[slot] = version;
}

/** Newer data than L3 and DRAM have comes from a core. */
static void put_back(struct x86_memory *m, struct x86_request *r, uint32_t from, uint64_t line, struct x86_line *record,
    uint64_t version, int alone, uint64_t now)
{
    struct x86_slice *slice = &m->slices[peet__x86_slice(m, line)];
    uint64_t at = message(m, m->cores[from].node, slice->node, 1, now), slot;

    at = port(m, slice, at);
    slot = m->has_l3 ? peet_sim_tags_find(&slice->l3.tags, line) : PEET_SIM_NO_SLOT;
    if (slot != PEET_SIM_NO_SLOT) {
        slice->l3.tags.states[slot] = X86_L3_DIRTY;
        if (m->check)
            slice->l3.versions[slot] = version;
    } else if (m->has_l3 &&
        (m->config.l3_policy == X86_L3_NONINCLUSIVE || (m->config.l3_policy == X86_L3_EXCLUSIVE && alone))) {
        l3_fill(m, slice, r, line, X86_L3_DIRTY, version, X86_L3, at, at);
    } else {
        if (m->has_l3 && m->config.l3_policy == X86_L3_INCLUSIVE)
            peet__x86_violated(m, line, "the inclusive third level does not hold what a core holds");
        memory_write(m, line, record, version, at);
    }
}

void peet__x86_evicted(struct x86_memory *m, struct x86_request *r, uint32_t core, uint64_t line, uint8_t state,
    int still, uint64_t version, uint64_t now)
{
    struct x86_line *record = peet__x86_line(m, line);
    struct x86_slice *slice = &m->slices[peet__x86_slice(m, line)];
    int alone;

    if (!record)
        return;
    if (!still)
        peet_sim_sharers_remove(&m->directory, &record->sharers, core);
    if (record->owner == core + 1)
        record->owner = 0;
    if (record->forwarder == core + 1)
        record->forwarder = 0;
    alone = peet_sim_sharers_next(&m->directory, &record->sharers, 0) == PEET_SIM_NOBODY;
    if (state == X86_M || state == X86_O) {
        put_back(m, r, core, line, record, version, alone, now);
    } else if (m->has_l3 && m->config.l3_policy == X86_L3_EXCLUSIVE && alone &&
        peet_sim_tags_find(&slice->l3.tags, line) == PEET_SIM_NO_SLOT) {
        now = message(m, m->cores[core].node, slice->node, 1, now);
        now = port(m, slice, now);
        l3_fill(m, slice, r, line, X86_L3_CLEAN, version, X86_L3, now, now);
    } else {
        message(m, m->cores[core].node, slice->node, 0, now);
    }
}

/* ---------------------------------------------------------------------------------------- requests */

/** Another core gives the line.  If it has just asked for it itself, the home waits until it says that it has got it.  Returns:
 * when the line has arrived; that core keeps what @keep says, X86_I: nothing */
static uint64_t supplied(struct x86_memory *m, struct x86_request *r, const struct home *h, uint32_t from,
    uint64_t *out_answer)
{
    struct x86_core *c = &m->cores[from];
    uint64_t slot = peet_sim_tags_find(&c->outer->tags, r->line), there = 0, free = h->at, asked, answer;

    if (slot != PEET_SIM_NO_SLOT)
        there = x86_later(peet__x86_arrived(c->outer, slot, h->at), peet__x86_owned(&c->outer->lines[slot]));
    if (there > h->at)
        free = message(m, c->node, h->slice->node, 0, there);
    asked = message(m, h->slice->node, c->node, 0, free);
    answer = x86_later(asked, there) + m->config.snoop_cycles;
    if (slot != PEET_SIM_NO_SLOT)
        peet__x86_keep(m, from, r, c->outer->tags.states[slot] & X86_STATE, there, asked, answer);
    m->cache_to_cache++;
    r->served = X86_REMOTE;
    r->other = peet__x86_hw(m, from);
    *out_answer = answer;
    return message(m, c->node, h->node, 1, answer);
}

/** L3 or DRAM gives the line. */
static uint64_t from_below(struct x86_memory *m, struct x86_request *r, const struct home *h, int *out_dirty)
{
    uint64_t slot = l3_find(m, h, r->line), ready;
    struct x86_level *l3 = &h->slice->l3;

    *out_dirty = 0;
    if (m->classify && m->has_l3) {
        r->shadowed |= (uint8_t)(peet_sim_shadow_has(&m->l3_shadow, r->line) << l3->number);
        if (m->config.l3_policy == X86_L3_EXCLUSIVE)
            peet_sim_shadow_drop(&m->l3_shadow, r->line);
        else
            peet_sim_shadow_use(&m->l3_shadow, r->line);
    }
    if (slot != PEET_SIM_NO_SLOT) {
        ready = peet__x86_arrived(l3, slot, h->at);
        r->served = ready > h->at ? l3->lines[slot].from : X86_L3;
        peet_sim_tags_touch(&l3->tags, slot);
        if (m->check)
            r->version = l3->versions[slot];
        if (m->config.l3_policy == X86_L3_EXCLUSIVE) {
            *out_dirty = l3->tags.states[slot] == X86_L3_DIRTY;
            peet_sim_tags_drop(&l3->tags, slot);
        }
        return message(m, h->slice->node, h->node, 1, ready);
    }
    if (m->has_l3) {
        if (r->walk)
            l3->stats.walk_misses++;
        else
            *(r->write ? &l3->stats.write_misses : &l3->stats.read_misses) += 1;
        if (!r->walk)
            peet__x86_over_time(m, X86_OVER_TIME_L3, r->now);
        r->missed |= (uint8_t)(1u << l3->number);
    }
    r->served = X86_DRAM;
    if (m->check)
        r->version = peet__x86_versions(m, h->record)->memory;
    ready = memory_access(m, r->line, 0, h->at);
    if (m->has_l3 && m->config.l3_policy != X86_L3_EXCLUSIVE)
        l3_fill(m, h->slice, r, r->line, X86_L3_CLEAN, r->version, X86_DRAM, h->at, ready);
    return message(m, h->slice->node, h->node, 1, ready);
}

static void get_to_write(struct x86_memory *m, struct x86_request *r, const struct home *h, int have,
    struct x86_grant *out)
{
    struct x86_line *record = h->record;
    uint64_t data = 0, answers = h->at;
    int in_l3 = l3_find(m, h, r->line) != PEET_SIM_NO_SLOT, with_data = 0, any = 0, dirty;
    uint32_t giver = have ? 0 : record->owner ? record->owner : in_l3 ? 0 : record->forwarder; /* + 1 */

    if (m->directory.kind == PEET_SIM_DIRECTORY_BROADCAST && record->sharers.limited.all)
        m->broadcasts++;
    for (int core = 0; (core = peet_sim_sharers_next(&m->directory, &record->sharers, (uint32_t)core)) >= 0; core++) {
        uint64_t answer, version = 0, arrives;

        if ((uint32_t)core == r->core)
            continue;
        any = 1;
        m->invalidations_sent++;
        if (giver == (uint32_t)core + 1) {
            data = arrives = supplied(m, r, h, (uint32_t)core, &answer);
            with_data = 1;
        } else {
            answer = message(m, h->slice->node, m->cores[core].node, 0, h->at);
            peet__x86_keep(m, (uint32_t)core, r, X86_S, 0, answer, answer);
            answer += m->config.snoop_cycles;
            arrives = message(m, m->cores[core].node, h->node, 0, answer);
        }
        peet__x86_drop(m, (uint32_t)core, r->line, r, X86_BY_WRITE, &version);
        if (giver == (uint32_t)core + 1)
            r->version = version;
        answers = x86_later(answers, arrives);
    }
    if (have)
        data = message(m, h->slice->node, h->node, 0, h->at);
    else if (!with_data)
        data = from_below(m, r, h, &dirty);
    out->done = x86_later(data, answers) + m->home_out_cycles;
    out->state = X86_M;
    if (any)
        r->coherence_cycles += with_data || have ? x86_later(data, answers) - h->at : x86_later(data, answers) - data;
    if (have)
        r->served = any ? X86_REMOTE : X86_L3;
    peet_sim_sharers_clear(&m->directory, &record->sharers);
    peet_sim_sharers_add(&m->directory, &record->sharers, r->core);
    record->owner = r->core + 1;
    record->forwarder = 0;
}

/** The core's copy is one of several from now on; the earliest may have to give way. */
static void note_sharer(struct x86_memory *m, struct x86_request *r, const struct home *h)
{
    int out = peet_sim_sharers_add(&m->directory, &h->record->sharers, r->core);
    uint64_t version = 0;

    if (out == PEET_SIM_NOBODY)
        return;
    message(m, h->slice->node, m->cores[out].node, 0, h->at);
    if (recall(m, h->record, r->line, (uint32_t)out, r, &version))
        put_back(m, r, (uint32_t)out, r->line, h->record, version, 0, h->at);
}

static void get_from_owner(struct x86_memory *m, struct x86_request *r, const struct home *h, uint64_t *data)
{
    struct x86_line *record = h->record;
    uint32_t owner = record->owner - 1;
    uint64_t answer, version = 0;
    uint8_t state = peet__x86_state(m, owner, r->line);
    int dirty = state == X86_M || state == X86_O;

    *data = supplied(m, r, h, owner, &answer);
    r->coherence_cycles += *data - h->at;
    if (m->config.protocol == X86_MOESI && dirty) {
        peet__x86_share(m, owner, r->line, r, X86_O, &version);
        r->version = version;
        return;
    }
    peet__x86_share(m, owner, r->line, r, X86_S, &version);
    r->version = version;
    record->owner = 0;
    if (dirty)
        put_back(m, r, owner, r->line, record, version, 0, answer);
}

static void get_to_read(struct x86_memory *m, struct x86_request *r, const struct home *h, struct x86_grant *out)
{
    struct x86_line *record = h->record;
    uint32_t forwarder = record->forwarder;
    int code = r->fetch && !m->has_l2, dirty = 0, shared;
    uint64_t data, answer, version = 0;

    if (record->owner && record->owner != r->core + 1) {
        get_from_owner(m, r, h, &data);
    } else if (forwarder && forwarder != r->core + 1 && l3_find(m, h, r->line) == PEET_SIM_NO_SLOT) {
        data = supplied(m, r, h, forwarder - 1, &answer);
        r->coherence_cycles += data - h->at;
        peet__x86_share(m, forwarder - 1, r->line, r, code ? X86_F : X86_S, &version);
        r->version = version;
    } else {
        data = from_below(m, r, h, &dirty);
        if (forwarder && forwarder != r->core + 1 && !code)
            peet__x86_share(m, forwarder - 1, r->line, r, X86_S, &version);
    }
    shared = others(m, record, r->core);
    out->done = data + m->home_out_cycles;
    note_sharer(m, r, h);
    if (code) { /* an instruction cache is no owner */
        out->state = X86_S;
        if (dirty)
            memory_write(m, r->line, record, r->version, h->at);
        return;
    }
    out->state = dirty ? X86_M : !shared ? X86_E : m->config.protocol == X86_MESIF ? X86_F : X86_S;
    if (out->state == X86_M || out->state == X86_E)
        record->owner = r->core + 1;
    record->forwarder = out->state == X86_F ? r->core + 1 : 0;
}

void peet__x86_home(struct x86_memory *m, struct x86_request *r, int have, uint64_t now, struct x86_grant *out)
{
    struct x86_core *c = &m->cores[r->core];
    struct home h = {
        .record = peet__x86_line(m, r->line), .slice = &m->slices[peet__x86_slice(m, r->line)], .node = c->node};

    *out = (struct x86_grant){.done = now, .state = r->write ? X86_M : X86_S};
    if (!h.record)
        return;
    m->directory_requests++;
    if (r->walk)
        h.slice->l3.stats.walk_reads++;
    else
        *(r->write ? &h.slice->l3.stats.writes : &h.slice->l3.stats.reads) += 1;
    h.at = message(m, c->node, h.slice->node, 0, now);
    h.at = port(m, h.slice, h.at) + m->home_in_cycles;
    if (r->write)
        get_to_write(m, r, &h, have, out);
    else
        get_to_read(m, r, &h, out);
}
