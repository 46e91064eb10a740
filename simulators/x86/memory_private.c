/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A core's own caches: L1I and L1D, and behind them an L2 that holds what they hold, if there is one.
 */
#include "memory_state.h"

/** A line has come into a slot whose former contents are gone. */
static void fill(struct x86_memory *m, struct x86_level *level, uint64_t slot, const struct x86_request *r,
    uint8_t state, uint64_t asked, uint64_t ready)
{
    peet_sim_tags_fill(&level->tags, slot, r->line, state);
    peet__x86_arrives(&level->lines[slot], asked, m->timeless ? 0 : ready, r->served);
    if (level->written)
        level->written[slot] = 0;
    if (level->versions)
        level->versions[slot] = r->version;
    peet__x86_show(level, slot);
}

/** What a core has written into a line of L1D is made known. */
static void settle(struct x86_memory *m, uint32_t core, struct x86_level *l1d, uint64_t slot)
{
    if (m->causes && l1d->written[slot]) {
        peet__x86_wrote(m, core, l1d->tags.numbers[slot], l1d->written[slot]);
        l1d->written[slot] = 0;
    }
}

/** L1D's newer data goes to L2, in which the line is. */
static void data_to_l2(struct x86_memory *m, struct x86_core *c, uint64_t slot)
{
    uint64_t at;

    if (!m->check)
        return;
    at = peet_sim_tags_find(&c->l2.tags, c->l1d.tags.numbers[slot]);
    if (at == PEET_SIM_NO_SLOT)
        peet__x86_violated(m, c->l1d.tags.numbers[slot], "L2 does not hold what L1D holds");
    else
        c->l2.versions[at] = c->l1d.versions[slot];
}

/* -------------------------------------------------------------------------- what others do to a core */

uint8_t peet__x86_state(struct x86_memory *m, uint32_t core, uint64_t line)
{
    struct x86_core *c = &m->cores[core];
    uint64_t slot = peet_sim_tags_find(&c->outer->tags, line);

    if (slot != PEET_SIM_NO_SLOT)
        return c->outer->tags.states[slot] & X86_STATE;
    return !m->has_l2 && peet_sim_tags_find(&c->l1i.tags, line) != PEET_SIM_NO_SLOT ? X86_S : X86_I;
}

static void lose(struct x86_memory *m, struct x86_level *level, uint32_t core, uint64_t slot,
    const struct x86_request *by, enum x86_why why, int dirty)
{
    uint64_t line = level->tags.numbers[slot];

    if (level == &m->cores[core].l1d)
        peet_sim_ahead_before(m->ahead, by->core, core, slot, 0);
    *(why == X86_BY_WRITE ? &level->stats.invalidations : &level->stats.recalls) += 1;
    level->stats.write_backs += (uint64_t)dirty;
    if (m->reports)
        peet__x86_report_loss(m, level, core, line, why == X86_BY_WRITE ? PEET_MEMORY_INVALIDATE : PEET_MEMORY_EVICT,
            dirty, by);
    peet__x86_empty(m, &m->cores[core], level, slot);
}

uint8_t peet__x86_drop(struct x86_memory *m, uint32_t core, uint64_t line, const struct x86_request *by,
    enum x86_why why, uint64_t *out_version)
{
    struct x86_core *c = &m->cores[core];
    uint64_t code = peet_sim_tags_find(&c->l1i.tags, line), data = peet_sim_tags_find(&c->l1d.tags, line);
    uint64_t second = m->has_l2 ? peet_sim_tags_find(&c->l2.tags, line) : PEET_SIM_NO_SLOT;
    uint8_t state = peet__x86_state(m, core, line);
    int newer = data != PEET_SIM_NO_SLOT && (c->l1d.tags.states[data] & X86_STATE) == X86_M;

    if (m->check)
        *out_version = newer || (!m->has_l2 && data != PEET_SIM_NO_SLOT) ? c->l1d.versions[data]
            : second != PEET_SIM_NO_SLOT                                 ? c->l2.versions[second]
            : code != PEET_SIM_NO_SLOT                                   ? c->l1i.versions[code]
                                                                         : 0;
    if (code != PEET_SIM_NO_SLOT)
        lose(m, &c->l1i, core, code, by, why, 0);
    if (data != PEET_SIM_NO_SLOT) {
        settle(m, core, &c->l1d, data);
        lose(m, &c->l1d, core, data, by, why, newer || (!m->has_l2 && state == X86_O));
    }
    if (second != PEET_SIM_NO_SLOT)
        lose(m, &c->l2, core, second, by, why, state == X86_M || state == X86_O);
    if (state && why == X86_BY_WRITE && m->causes)
        peet__x86_lost_to(m, core, line);
    return state;
}

void peet__x86_share(struct x86_memory *m, uint32_t core, uint64_t line, const struct x86_request *by, uint8_t state,
    uint64_t *out_version)
{
    struct x86_core *c = &m->cores[core];
    uint64_t data = peet_sim_tags_find(&c->l1d.tags, line), slot = peet_sim_tags_find(&c->outer->tags, line);

    if (data != PEET_SIM_NO_SLOT && (c->l1d.tags.states[data] & X86_STATE) == X86_M) {
        settle(m, core, &c->l1d, data);
        if (m->has_l2) {
            peet_sim_ahead_before(m->ahead, by->core, core, data, PEET_SIM_MAY_READ);
            data_to_l2(m, c, data);
            c->l1d.tags.states[data] = X86_S;
            peet__x86_show(&c->l1d, data);
        }
    }
    if (slot == PEET_SIM_NO_SLOT)
        return;
    c->outer->tags.states[slot] = (uint8_t)(state | (c->outer->tags.states[slot] & X86_PREFETCHED));
    if (m->check)
        *out_version = c->outer->versions[slot];
}

/* -------------------------------------------------------------------------------------- making room */

/** What is in a slot of the outer cache goes.  Returns: when there was room for it on its way */
static uint64_t evict_outer(struct x86_memory *m, struct x86_core *c, struct x86_request *r, uint64_t slot,
    uint64_t now)
{
    struct x86_level *outer = c->outer;
    uint64_t line = outer->tags.numbers[slot], version = m->check ? outer->versions[slot] : 0, start = now;
    uint64_t code = peet_sim_tags_find(&c->l1i.tags, line);
    uint8_t state = outer->tags.states[slot] & X86_STATE;
    int dirty = state == X86_M || state == X86_O, still = 0;

    if (m->has_l2) {
        uint64_t data = peet_sim_tags_find(&c->l1d.tags, line);

        if (data != PEET_SIM_NO_SLOT) {
            int newer = c->l1d.tags.states[data] == X86_M;

            if (newer && m->check)
                version = c->l1d.versions[data];
            settle(m, c->number, &c->l1d, data);
            lose(m, &c->l1d, c->number, data, r, X86_BY_RECALL, newer);
        }
        if (code != PEET_SIM_NO_SLOT)
            lose(m, &c->l1i, c->number, code, r, X86_BY_RECALL, 0);
    } else {
        settle(m, c->number, outer, slot);
        still = code != PEET_SIM_NO_SLOT;
    }
    outer->stats.evictions++;
    outer->stats.write_backs += (uint64_t)dirty;
    if (m->reports)
        peet__x86_report_loss(m, outer, c->number, line, PEET_MEMORY_EVICT, dirty, r);
    peet__x86_empty(m, c, outer, slot);
    if (dirty) {
        peet__x86_take(m, &c->writebacks, now, &start);

        peet__x86_evicted(m, r, c->number, line, state, still, version, start);
        peet__x86_until(m, &c->writebacks, start + m->home_in_cycles);
    } else {
        peet__x86_evicted(m, r, c->number, line, state, still, version, start);
    }
    return start;
}

/** What is in a slot of a first-level cache that has an L2 behind it goes. */
static void evict_first(struct x86_memory *m, struct x86_core *c, struct x86_level *level, struct x86_request *r,
    uint64_t slot, uint64_t now)
{
    int newer = (level->tags.states[slot] & X86_STATE) == X86_M;

    level->stats.evictions++;
    level->stats.write_backs += (uint64_t)newer;
    if (m->reports)
        peet__x86_report_loss(m, level, c->number, level->tags.numbers[slot], PEET_MEMORY_EVICT, newer, r);
    if (newer) {
        settle(m, c->number, level, slot);
        data_to_l2(m, c, slot);
        if (!m->timeless && m->config.l2_fills == X86_L2_FILLS_PORT)
            peet_sim_server_request(&c->l2.port, now, m->config.l2_busy_cycles);
    }
    peet__x86_empty(m, c, level, slot);
}

/** L1I without an L2: what is in the slot goes; the directory is told if L1D does not have it either. */
static void evict_code(struct x86_memory *m, struct x86_core *c, struct x86_request *r, uint64_t slot, uint64_t now)
{
    uint64_t line = c->l1i.tags.numbers[slot], version = m->check ? c->l1i.versions[slot] : 0;

    c->l1i.stats.evictions++;
    if (m->reports)
        peet__x86_report_loss(m, &c->l1i, c->number, line, PEET_MEMORY_EVICT, 0, r);
    peet_sim_tags_drop(&c->l1i.tags, slot);
    if (peet_sim_tags_find(&c->l1d.tags, line) == PEET_SIM_NO_SLOT)
        peet__x86_evicted(m, r, c->number, line, X86_S, 0, version, now);
}

/** Room for a line, and the line in it.  Returns: when it is there, which can be later for want of room on the way out
 */
static uint64_t bring(struct x86_memory *m, struct x86_core *c, struct x86_level *level, struct x86_request *r,
    uint8_t state, uint64_t asked, uint64_t ready, uint64_t *out_slot)
{
    uint64_t slot = *out_slot = peet_sim_tags_victim(&level->tags, r->line);

    if (level->tags.states[slot]) {
        if (level == c->outer)
            ready = evict_outer(m, c, r, slot, ready);
        else if (m->has_l2)
            evict_first(m, c, level, r, slot, ready);
        else
            evict_code(m, c, r, slot, ready);
    }
    fill(m, level, slot, r, state, asked, ready);
    return ready;
}

/* ------------------------------------------------------------------------------------ what it asks */

static void missed(struct x86_memory *m, struct x86_level *level, struct x86_request *r, int upgrade)
{
    if (r->walk)
        level->stats.walk_misses++;
    else if (upgrade)
        level->stats.upgrades++;
    else if (!r->prefetch) {
        *(r->write ? &level->stats.write_misses : &level->stats.read_misses) += 1;
        if (level->number == 2 || !r->fetch)
            peet__x86_over_time(m, level->number == 2 ? X86_OVER_TIME_L2 : X86_OVER_TIME_L1D, r->now);
    }
    r->missed |= (uint8_t)(1u << level->number);
    r->upgrades |= (uint8_t)(upgrade << level->number);
}

static void asked_for(struct x86_level *level, const struct x86_request *r)
{
    if (r->walk)
        level->stats.walk_reads++;
    else if (!r->prefetch)
        *(r->write ? &level->stats.writes : &level->stats.reads) += 1;
}

/** A hit: when the data is there, and whom to thank. */
static uint64_t hit_done(struct x86_level *level, struct x86_request *r, uint64_t slot, uint64_t now, uint8_t served)
{
    uint64_t done = now + level->cycles, arrived = peet__x86_arrived(level, slot, now);

    r->served = arrived > done ? level->lines[slot].from : served;
    if (level->versions)
        r->version = level->versions[slot];
    return x86_later(done, arrived);
}

static int may_write(uint8_t state)
{
    return (state & X86_STATE) == X86_E || (state & X86_STATE) == X86_M;
}

/** L2 is asked. */
static uint64_t second_level(struct x86_memory *m, struct x86_request *r, uint64_t now)
{
    struct x86_core *c = &m->cores[r->core];
    struct x86_level *l2 = &c->l2;
    uint64_t slot = peet_sim_tags_find(&l2->tags, r->line), done;
    struct x86_grant grant;
    int miss = slot == PEET_SIM_NO_SLOT;

    asked_for(l2, r);
    peet__x86_shown(m, &l2->shadow, l2->number, r);
    if (!m->timeless && (r->prefetch < 2 || m->config.l2_fills == X86_L2_FILLS_PORT))
        now = peet_sim_server_request(&l2->port, now, m->config.l2_busy_cycles);
    if (!miss) {
        int first = !r->prefetch && peet__x86_first_use(l2, slot, now);

        peet_sim_tags_touch(&l2->tags, slot);
        done = hit_done(l2, r, slot, now, X86_L2);
        if (r->write && may_write(l2->tags.states[slot])) {
            l2->tags.states[slot] = X86_M;
            done = x86_later(done, peet__x86_owned(&l2->lines[slot]));
        } else if (r->write) {
            missed(m, l2, r, 1);
            peet__x86_take(m, &l2->mshrs, now, &now);
            peet__x86_home(m, r, 1, now, &grant);
            peet__x86_until(m, &l2->mshrs, grant.done);
            l2->tags.states[slot] = X86_M;
            done = x86_later(done, grant.done);
            peet__x86_own(&l2->lines[slot], m->timeless ? 0 : done);
        }
        r->second_level = first ? X86_SECOND_MISS : X86_SECOND_HIT;
        r->second_level_at = now;
        return done;
    }
    missed(m, l2, r, 0);
    peet__x86_soon(m, r->line);
    peet__x86_take(m, &l2->mshrs, now, &now);
    peet__x86_home(m, r, 0, now, &grant);
    done = bring(m, c, l2, r, (uint8_t)(grant.state | (r->prefetch == 2 ? X86_PREFETCHED : 0)), now, grant.done, &slot);
    peet__x86_until(m, &l2->mshrs, done);
    r->second_level = X86_SECOND_MISS;
    r->second_level_at = now;
    return done;
}

uint64_t peet__x86_outer(struct x86_memory *m, struct x86_request *r, uint64_t now, int have, uint8_t *out_state)
{
    struct x86_grant grant;

    if (m->has_l2) {
        *out_state = r->write ? X86_M : X86_S;
        return second_level(m, r, now);
    }
    peet__x86_home(m, r, have, now, &grant);
    *out_state = grant.state;
    return grant.done;
}

/** Before L1D writes: L1I has no copy of that. */
static void drop_code(struct x86_memory *m, struct x86_core *c, const struct x86_request *r)
{
    uint64_t slot = peet_sim_tags_find(&c->l1i.tags, r->line);

    if (slot != PEET_SIM_NO_SLOT)
        lose(m, &c->l1i, c->number, slot, r, X86_BY_WRITE, 0);
}

/** The line is in L1D, but not to be written.  Returns: when it may be */
static uint64_t upgrade(struct x86_memory *m, struct x86_core *c, struct x86_request *r, uint64_t slot, uint64_t now)
{
    uint64_t outer = m->has_l2 ? peet_sim_tags_find(&c->l2.tags, r->line) : slot, done = now, start = now;
    uint8_t state = X86_M;

    if (outer == PEET_SIM_NO_SLOT) {
        peet__x86_violated(m, r->line, "L2 does not hold what L1D holds");
        return now;
    }
    if (may_write(c->outer->tags.states[outer])) {
        c->outer->tags.states[outer] = X86_M;
        done = x86_later(now, peet__x86_owned(&c->outer->lines[outer]));
    } else {
        missed(m, &c->l1d, r, 1);
        peet__x86_take(m, &c->l1d.mshrs, now, &start);
        done = peet__x86_outer(m, r, start, 1, &state);
        peet__x86_until(m, &c->l1d.mshrs, done);
    }
    c->l1d.tags.states[slot] = X86_M;
    peet__x86_show(&c->l1d, slot);
    peet__x86_own(&c->l1d.lines[slot], m->timeless ? 0 : done);
    return done;
}

static void written(struct x86_memory *m, struct x86_core *c, const struct x86_request *r, uint64_t slot)
{
    if (m->causes)
        c->l1d.written[slot] |= peet__x86_sectors(m, r->access->address, r->access->size_bytes);
    if (m->check) {
        struct x86_line *line = peet__x86_line(m, r->line);

        if (line)
            peet__x86_versions(m, line)->latest = c->l1d.versions[slot] = ++m->version;
    }
}

static void seen(struct x86_memory *m, const struct x86_request *r, const struct x86_level *level, uint64_t slot)
{
    struct x86_line *line = peet__x86_line(m, r->line);

    m->checks++;
    if (line && level->versions[slot] != peet__x86_versions(m, line)->latest)
        peet__x86_violated(m, r->line, "a load sees a stale version");
}

/** Prefetches come last: what they push out is no longer in anybody's hands. */
static void prefetch(struct x86_memory *m, struct x86_core *c, struct x86_level *first, struct x86_request *r, int miss,
    uint64_t now)
{
    if (r->prefetch || r->walk)
        return;
    if (r->second_level)
        peet__x86_prefetch(m, &c->l2, r, r->second_level == X86_SECOND_MISS, r->second_level_at);
    peet__x86_prefetch(m, first, r, miss, now);
}

/** The core has lost the line, or the right to write it, to a request that has not come to it yet.  Returns: whether it
 * still has it for this access, and when that is done; nothing else happens */
static int still_kept(struct x86_memory *m, struct x86_core *c, const struct x86_request *r, uint64_t now,
    uint64_t *out_done)
{
    struct x86_kept *k = &c->kept[r->line % X86_KEPT];
    const int store = r->access->kind == X86_STORE;
    uint64_t sectors;

    if (k->line != r->line || k->until <= now || r->prefetch || r->walk)
        return 0;
    sectors = peet__x86_sectors(m, r->access->address, r->access->size_bytes);
    if ((r->write ? !k->write : (k->theirs & sectors) != 0) || (store && !k->stores)) {
        k->until = 0; /* it asks for the line anew */
        return 0;
    }
    k->stores -= (uint64_t)store;
    if (r->write && m->causes)
        peet__x86_wrote(m, c->number, r->line, sectors);
    *out_done = x86_later(now, k->from) + (store ? 0 : c->l1d.cycles);
    return 1;
}

uint64_t peet__x86_data(struct x86_memory *m, struct x86_request *r, uint64_t now)
{
    struct x86_core *c = &m->cores[r->core];
    struct x86_level *l1d = &c->l1d;
    uint64_t slot = peet_sim_tags_find(&l1d->tags, r->line), start, done;
    int miss = slot == PEET_SIM_NO_SLOT, first = 0;
    uint8_t state;

    asked_for(l1d, r);
    if ((miss || (r->write && (l1d->tags.states[slot] & X86_STATE) != X86_M)) && still_kept(m, c, r, now, &done)) {
        r->served = X86_L1;
        return done;
    }
    peet__x86_shown(m, &l1d->shadow, l1d->number, r);
    if (!miss) {
        first = !r->prefetch && peet__x86_first_use(l1d, slot, now);
        peet_sim_tags_touch(&l1d->tags, slot);
        if (r->write && (l1d->tags.states[slot] & X86_STATE) != X86_M) {
            drop_code(m, c, r);
            done = upgrade(m, c, r, slot, now);
            if (r->access->kind == X86_MODIFY)
                done = x86_later(done, now + l1d->cycles);
            done = x86_later(done, peet__x86_arrived(l1d, slot, now));
        } else if (r->write && r->access->kind == X86_STORE) {
            done = x86_later(x86_later(now, peet__x86_owned(&l1d->lines[slot])), peet__x86_arrived(l1d, slot, now));
            r->served = done > now ? l1d->lines[slot].from : X86_L1;
        } else {
            done = hit_done(l1d, r, slot, now, X86_L1);
            if (r->write)
                done = x86_later(done, peet__x86_owned(&l1d->lines[slot]));
        }
    } else {
        missed(m, l1d, r, 0);
        if (r->write)
            drop_code(m, c, r);
        peet__x86_take(m, &l1d->mshrs, now, &start);
        done = peet__x86_outer(m, r, start, 0, &state);
        done = bring(m, c, l1d, r, (uint8_t)(state | (r->prefetch == 1 ? X86_PREFETCHED : 0)), now, done, &slot);
        peet__x86_until(m, &l1d->mshrs, done);
    }
    if (m->check && !r->write)
        seen(m, r, l1d, slot);
    if (r->write)
        written(m, c, r, slot);
    peet__x86_hint(m, c, r->line, slot);
    prefetch(m, c, l1d, r, miss || first, now);
    return done;
}

/** Code is fetched that L1D has.  Returns: 1 if L1I gets it from there, @now + what that takes being its time */
static int code_in_data(struct x86_memory *m, struct x86_core *c, struct x86_request *r, uint64_t now)
{
    uint64_t slot = peet_sim_tags_find(&c->l1d.tags, r->line);

    if (slot == PEET_SIM_NO_SLOT)
        return 0;
    if (m->has_l2) {
        if ((c->l1d.tags.states[slot] & X86_STATE) == X86_M) {
            settle(m, c->number, &c->l1d, slot);
            data_to_l2(m, c, slot);
            c->l1d.tags.states[slot] = X86_S;
            peet__x86_show(&c->l1d, slot);
        }
        return 0;
    }
    if ((c->l1d.tags.states[slot] & X86_STATE) == X86_M) {
        evict_outer(m, c, r, slot, now);
        return 0;
    }
    r->served = X86_L2; /* not L1I, but this core */
    if (m->check)
        r->version = c->l1d.versions[slot];
    return 1;
}

uint64_t peet__x86_fetch(struct x86_memory *m, struct x86_request *r, uint64_t now)
{
    struct x86_core *c = &m->cores[r->core];
    struct x86_level *l1i = &c->l1i;
    uint64_t slot = peet_sim_tags_find(&l1i->tags, r->line), done;
    int miss = slot == PEET_SIM_NO_SLOT, first = 0;
    uint8_t state = X86_S;

    asked_for(l1i, r);
    peet__x86_shown(m, &l1i->shadow, l1i->number, r);
    if (!miss) {
        first = !r->prefetch && peet__x86_first_use(l1i, slot, now);
        peet_sim_tags_touch(&l1i->tags, slot);
        done = hit_done(l1i, r, slot, now, X86_L1);
    } else {
        uint64_t start = now;
        peet__x86_take(m, &l1i->mshrs, now, &start);

        missed(m, l1i, r, 0);
        if (code_in_data(m, c, r, start))
            done = start + l1i->cycles + c->l1d.cycles;
        else
            done = peet__x86_outer(m, r, start, 0, &state);
        done = bring(m, c, l1i, r, (uint8_t)(X86_S | (r->prefetch == 1 ? X86_PREFETCHED : 0)), now, done, &slot);
        peet__x86_until(m, &l1i->mshrs, done);
    }
    if (m->check)
        seen(m, r, l1i, slot);
    prefetch(m, c, l1i, r, miss || first, now);
    return done;
}
