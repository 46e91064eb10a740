/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Transactions.  A request goes to the line's home; the home looks the line up in its directory and does what the
 * tables say: it sends the line from memory, or forwards the request to the owner, which sends the line to who asked;
 * it tells the other holders to give up their copies, and these tell who asked that they have.  The request is served
 * when the line, or the leave to write it, and all these have arrived.  A line that is replaced goes home without
 * anybody waiting for it.
 */
#include "numa.h"

static uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

struct numa_line *peet__numa_line(struct numa *n, uint64_t line)
{
    struct numa_line *l = peet_sim_linemap_get(&n->lines, line);
    if (!l) {
        if (!n->dead)
            n->env->fail(n->env, "out of memory for the directory of lines");
        n->dead = 1;
        return NULL;
    }
    if (!l->touched) {
        l->touched = 1;
        l->owner = NUMA_NO_OWNER;
    }
    return l;
}

static uint64_t *ever(const struct numa *n, struct numa_line *l)
{
    return &l->sets[n->sharer_words];
}

static uint64_t *lost(const struct numa *n, struct numa_line *l)
{
    return &l->sets[n->sharer_words + n->set_words];
}

static int has(const uint64_t *set, uint32_t number)
{
    return set[number / 64] >> number % 64 & 1;
}

/* A copy goes. */
static void drop(struct numa *n, struct numa_line *l, uint64_t line, struct numa_processor *holder,
    const struct numa_processor *by, int by_write, uint64_t now)
{
    const uint64_t slot = peet_sim_tags_find(&holder->cache, line);
    if (slot == PEET_SIM_NO_SLOT) /* the directory did not know better */
        return;
    if (n->watched)
        peet__numa_report_removed(n, holder, line, by,
            holder->cache.states[slot] == PEET_SIM_COPY_M || holder->cache.states[slot] == PEET_SIM_COPY_O, now);
    peet_sim_ahead_before(n->ahead, by->number, holder->number, slot, 0);
    peet__numa_set(n, holder, slot, PEET_SIM_COPY_I);
    holder->stats.invalidated++;
    if (by_write)
        lost(n, l)[holder->number / 64] |= 1ull << holder->number % 64;
}

/* A holder is told to give its copy up.  Returns: when who asked knows that it has */
static uint64_t invalidate(struct numa *n, struct numa_line *l, uint64_t line, uint32_t home, uint32_t number,
    const struct numa_processor *by, int by_write, uint64_t now)
{
    struct numa_processor *holder = &n->processors[number];
    const uint64_t told = peet__numa_send(n, home, holder->node, NUMA_CONTROL, now) + n->probe_cycles;
    n->nodes[home].invalidations++;
    drop(n, l, line, holder, by, by_write, told);
    return peet__numa_send(n, holder->node, by->node, NUMA_CONTROL, told);
}

static uint64_t invalidate_all(struct numa *n, struct numa_line *l, uint64_t line, uint32_t home,
    const struct numa_processor *by, uint32_t not_this, uint64_t now)
{
    union peet_sim_sharers *sharers = peet__numa_sharers(l);
    uint64_t done = now;
    for (int s = peet_sim_sharers_next(&n->directory, sharers, 0); s >= 0;
        s = peet_sim_sharers_next(&n->directory, sharers, (uint32_t)s + 1))
        if ((uint32_t)s != by->number && (uint32_t)s != not_this)
            done = later(done, invalidate(n, l, line, home, (uint32_t)s, by, 1, now));
    if (l->owner != NUMA_NO_OWNER && l->owner != by->number && l->owner != not_this &&
        !peet_sim_sharers_has(&n->directory, sharers, l->owner))
        done = later(done, invalidate(n, l, line, home, l->owner, by, 1, now));
    return done;
}

/* A sharer more; a directory of few pointers may have to send another one's copy away. */
static uint64_t add_sharer(struct numa *n, struct numa_line *l, uint64_t line, uint32_t home, uint32_t number,
    const struct numa_processor *by, uint64_t now)
{
    const int out = peet_sim_sharers_add(&n->directory, peet__numa_sharers(l), number);
    return out == PEET_SIM_NOBODY ? now : invalidate(n, l, line, home, (uint32_t)out, by, 0, now);
}

/* The owner answers in the home's place.  Returns: when the line has arrived at who asked; *state: the home's next */
static uint64_t forward(struct numa *n, struct numa_line *l, uint64_t line, uint32_t home, enum peet_sim_forward what,
    const struct numa_processor *p, uint64_t slot, uint64_t now, uint8_t *state)
{
    struct numa_processor *owner = &n->processors[l->owner];
    const uint64_t at = peet_sim_tags_find(&owner->cache, line);
    uint64_t told, data;
    if (at == PEET_SIM_NO_SLOT) {
        peet__numa_violated(n, line, "the owner has no copy");
        return now;
    }
    const struct peet_sim_owner_row *row = &n->protocol->owner[owner->cache.states[at]][what];
    n->used.owner[owner->cache.states[at]][what]++;
    if (!row->can_be)
        peet__numa_violated(n, line, "a request was forwarded to a cache that cannot be the owner");
    n->nodes[home].forwards++;
    told = peet__numa_send(n, home, owner->node, NUMA_CONTROL, now) + n->probe_cycles;
    data = peet__numa_send(n, owner->node, p->node, NUMA_DATA, told);
    if (n->check) {
        peet__numa_check_fill(n, p, slot, line, owner, at);
        if (row->to_memory)
            peet__numa_check_memory_takes(n, owner, at, line);
    }
    if (row->to_memory)
        peet__numa_memory(n, home, line, 1, peet__numa_send(n, owner->node, home, NUMA_DATA, told));
    *state = row->home;
    if (row->next == PEET_SIM_COPY_I) {
        drop(n, l, line, owner, p, 1, told);
    } else {
        peet_sim_ahead_before(n->ahead, p->number, owner->number, at, n->rights[row->next]);
        peet__numa_set(n, owner, at, row->next);
        if (row->next == PEET_SIM_COPY_S) {
            l->owner = NUMA_NO_OWNER;
            data = later(data, add_sharer(n, l, line, home, owner->number, p, now));
        }
    }
    return data;
}

/* The home's note of who asked, and its state. */
static uint64_t note(struct numa *n, struct numa_line *l, uint64_t line, uint32_t home,
    const struct peet_sim_home_row *row, uint8_t state, const struct numa_processor *p, uint64_t now)
{
    union peet_sim_sharers *sharers = peet__numa_sharers(l);
    uint64_t done = now;
    l->state = state;
    switch (row->note) {
    case PEET_SIM_NOTE_SHARER:
        done = add_sharer(n, l, line, home, p->number, p, now);
        break;
    case PEET_SIM_NOTE_OWNER:
        peet_sim_sharers_clear(&n->directory, sharers);
        l->owner = (uint16_t)p->number;
        break;
    case PEET_SIM_NOTE_GONE:
        if (l->owner == p->number)
            l->owner = NUMA_NO_OWNER;
        else
            peet_sim_sharers_remove(&n->directory, sharers, p->number);
        if (l->owner == NUMA_NO_OWNER && peet_sim_sharers_next(&n->directory, sharers, 0) == PEET_SIM_NOBODY)
            l->state = row->next_empty;
        break;
    }
    return done;
}

/* Who has answered. */
static void count_answer(struct numa *n, struct numa_processor *p, uint32_t home, uint32_t supplier,
    const struct peet_sim_home_row *row, uint64_t cycles)
{
    const int forwarded = row->forward != PEET_SIM_NO_FORWARD, near = supplier == p->node;
    if (forwarded)
        near ? p->stats.local_owner++ : p->stats.remote_owner++;
    else if (row->from_memory)
        near ? p->stats.local_memory++ : p->stats.remote_memory++;
    else
        near ? p->stats.upgrades_local++ : p->stats.upgrades_remote++;
    *(near && home == p->node ? &p->stats.latency_local_cycles : &p->stats.latency_remote_cycles) += cycles;
}

/* A request for a line that stands, or will stand, in a slot.  Returns: when it is served; a replacement's: now */
static uint64_t request(struct numa *n, struct numa_processor *p, struct numa_line *l, uint64_t line,
    enum peet_sim_dir_request what, uint64_t slot, uint64_t now, uint32_t *out_supplier)
{
    if (!l->home)
        l->home = peet__numa_node_of(n, line, p->node) + 1;
    const uint32_t home = l->home - 1;
    if (n->dead)
        return now;
    const struct peet_sim_home_row *row = &n->protocol->home[l->state][what];
    const uint32_t owner = l->owner;
    uint32_t supplier = home;
    uint8_t state = row->next;
    n->used.home[l->state][what]++;
    n->transactions[what]++;
    *(home == p->node ? &n->nodes[home].local_requests : &n->nodes[home].remote_requests) += 1;
    if (!row->can_be) {
        peet__numa_violated(n, line, "the home cannot get this request in its state");
        return now;
    }
    uint64_t at_home = peet__numa_send(n, p->node, home, row->to_memory ? NUMA_DATA : NUMA_CONTROL, now);
    at_home = peet_sim_server_request(&n->nodes[home].controller, at_home, n->home_cycles) + n->home_cycles;
    if (row->note == PEET_SIM_NOTE_GONE) {
        if (row->to_memory) {
            peet__numa_memory(n, home, line, 1, at_home);
            if (n->check)
                peet__numa_check_memory_takes(n, p, slot, line);
        }
        note(n, l, line, home, row, state, p, at_home);
        return now;
    }
    uint64_t done;
    if (row->forward != PEET_SIM_NO_FORWARD) {
        supplier = n->processors[owner].node;
        *out_supplier = owner;
        done = forward(n, l, line, home, (enum peet_sim_forward)row->forward, p, slot, at_home, &state);
    } else if (row->from_memory) {
        if (n->check)
            peet__numa_check_fill(n, p, slot, line, NULL, 0);
        done = peet__numa_send(n, home, p->node, NUMA_DATA, peet__numa_memory(n, home, line, 0, at_home));
    } else {
        done = peet__numa_send(n, home, p->node, NUMA_CONTROL, at_home);
    }
    if (row->invalidate)
        done = later(done,
            invalidate_all(n, l, line, home, p, row->forward != PEET_SIM_NO_FORWARD ? owner : p->number, at_home));
    done = later(done, note(n, l, line, home, row, state, p, at_home));
    count_answer(n, p, home, supplier, row, done - now);
    return done;
}

/* Room for a line.  Returns: its slot, empty */
static uint64_t make_room(struct numa *n, struct numa_processor *p, uint64_t line, uint64_t now)
{
    const uint64_t slot = peet_sim_tags_victim(&p->cache, line);
    const uint8_t state = p->cache.states[slot];
    const uint64_t replaced = p->cache.numbers[slot];
    uint32_t nobody;
    if (state == PEET_SIM_COPY_I)
        return slot;
    const struct peet_sim_cache_row *row = &n->protocol->cache[state][PEET_SIM_REPLACE];
    const int dirty = row->request == PEET_SIM_PUTM || row->request == PEET_SIM_PUTO;
    n->used.cache[state][PEET_SIM_REPLACE]++;
    *(dirty ? &p->stats.replaced_dirty : &p->stats.replaced_clean) += 1;
    if (n->watched)
        peet__numa_report_removed(n, p, replaced, p, dirty, now);
    request(n, p, peet__numa_line(n, replaced), replaced, (enum peet_sim_dir_request)row->request, slot, now, &nobody);
    peet__numa_set(n, p, slot, PEET_SIM_COPY_I);
    return slot;
}

static enum numa_kind kind_of(const struct numa *n, struct numa_line *l, const struct numa_processor *p, uint8_t state)
{
    if (state != PEET_SIM_COPY_I)
        return KIND_UPGRADE;
    if (!has(ever(n, l), p->number))
        return KIND_COLD;
    return has(lost(n, l), p->number) ? KIND_INVALIDATED : KIND_REPLACED;
}

uint64_t peet__numa_miss(struct numa *n, struct numa_processor *p, uint64_t line, enum peet_sim_dir_op op,
    uint64_t slot, uint64_t now)
{
    uint64_t done;
    const uint8_t state = slot == PEET_SIM_NO_SLOT ? PEET_SIM_COPY_I : p->cache.states[slot];
    const struct peet_sim_cache_row *row = &n->protocol->cache[state][op];
    struct numa_line *l = peet__numa_line(n, line);
    uint32_t supplier = PEET_MEMORY_NOBODY;
    if (n->dead)
        return now;
    if (!row->can_be || row->request == PEET_SIM_NO_REQUEST) {
        peet__numa_violated(n, line, "a cache cannot ask for this in its state");
        return now;
    }
    n->used.cache[state][op]++;
    const enum numa_kind kind = kind_of(n, l, p, state);
    p->stats.kinds[kind]++;
    *(op == PEET_SIM_STORE ? &p->stats.write_misses : &p->stats.read_misses) += 1;
    if (state == PEET_SIM_COPY_I)
        slot = make_room(n, p, line, now);
    const enum peet_sim_dir_request what = (enum peet_sim_dir_request)row->request;
    const uint8_t home_state = l->state;
    done = request(n, p, l, line, what, slot, now, &supplier);
    if (n->dead)
        return now;
    const uint8_t copy = n->protocol->home[home_state][what].copy;
    if (state == PEET_SIM_COPY_I) {
        peet_sim_tags_fill(&p->cache, slot, line, copy);
        peet__numa_set(n, p, slot, copy);
        p->hints[line & n->hints_mask] = (uint32_t)slot;
        ever(n, l)[p->number / 64] |= 1ull << p->number % 64;
        lost(n, l)[p->number / 64] &= ~(1ull << p->number % 64);
    } else {
        peet__numa_set(n, p, slot, copy);
        peet_sim_tags_touch(&p->cache, slot);
    }
    if (n->watched) {
        if (n->perfect && n->env->data_of(n->env, n->site.address, NULL)->flags & PEET_DATA_PERFECT)
            done = now;
        peet__numa_report_miss(n, p, kind, op == PEET_SIM_STORE, supplier, done - now, now);
    }
    return done;
}
