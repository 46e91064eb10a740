/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Predictors of directions and targets.
 */
#include "branch.h"
#include "random.h"

#include <stdlib.h>
#include <string.h>

enum { TAG_BITS = 11, USEFUL_PERIOD = 1 << 18, SHORTEST_HISTORY = 4 };

/* ---------------------------------------------------------------------------------- two-bit counters */

/** Returns: what the counter said, having learnt what is so. */
static int counter(uint8_t *c, int taken)
{
    int said = *c >= 2;

    if (taken && *c < 3)
        ++*c;
    else if (!taken && *c > 0)
        --*c;
    return said;
}

static uint32_t masked(uint64_t value, uint32_t bits)
{
    return (uint32_t)(value & ((1ull << bits) - 1));
}

/* ------------------------------------------------------------------------------------------------ TAGE */

/** Lengths grow geometrically from SHORTEST_HISTORY to the longest, that of the last table. */
static uint32_t history_length(uint32_t longest, uint32_t table, uint32_t tables)
{
    /* ratio^(tables - 1) = longest / shortest, without libm: a root by bisection */
    double low = 1, high = longest, length = SHORTEST_HISTORY;

    for (int i = 0; i < 60; i++) {
        double ratio = (low + high) / 2, power = SHORTEST_HISTORY;

        for (uint32_t k = 1; k < tables; k++)
            power *= ratio;
        *(power < longest ? &low : &high) = ratio;
    }
    for (uint32_t k = 0; k < table; k++)
        length *= (low + high) / 2;
    return (uint32_t)(length + .5);
}

static void folds_init(struct peet_sim_folds *f, const uint32_t *lengths, uint32_t width)
{
    *f = (struct peet_sim_folds){.width = width, .mask = masked(~0ull, width)};
    for (int t = 0; t < PEET_SIM_TAGE_TABLES; t++)
        f->leaves[t] = 1u << lengths[t] % width;
}

/** @leaving: all bits set for tables whose oldest outcome was taken.  All tables are done the same way, for compilers
 * that use vectors. */
static inline void folds_push(struct peet_sim_folds *f, uint32_t newest, const uint32_t *leaving)
{
    for (int t = 0; t < PEET_SIM_TAGE_TABLES; t++) {
        uint32_t value = (f->values[t] << 1 | newest) ^ (leaving[t] & f->leaves[t]);

        f->values[t] = (value ^ value >> f->width) & f->mask;
    }
}

static inline void tage_history(struct peet_sim_branch *b, uint32_t taken)
{
    uint32_t leaving[PEET_SIM_TAGE_TABLES];

    for (int t = 0; t < PEET_SIM_TAGE_TABLES; t++)
        leaving[t] = -(uint32_t)b->ring[(b->ring_at + PEET_SIM_HISTORY_MAX - b->lengths[t]) % PEET_SIM_HISTORY_MAX];
    folds_push(&b->index_folds, taken, leaving);
    folds_push(&b->tag_folds[0], taken, leaving);
    folds_push(&b->tag_folds[1], taken, leaving);
    b->ring[b->ring_at] = (uint8_t)taken;
    b->ring_at = (b->ring_at + 1) % PEET_SIM_HISTORY_MAX;
}

static void step(int8_t *c, int up, int8_t least, int8_t most)
{
    if (up && *c < most)
        ++*c;
    else if (!up && *c > least)
        --*c;
}

static int is_new(const struct peet_sim_tage_entry *e)
{
    return !e->useful && (e->counter == 0 || e->counter == -1);
}

/** Does the fast part know this entry? Now it does. */
static int fast_knows(struct peet_sim_branch *b, uint32_t table, uint32_t index)
{
    const uint32_t key = (index << 3 | table) * 0x9e3779b1u, sets = b->config.fast_entries / 2;
    uint16_t *pair = &b->fast[2 * (key >> 16 & (sets - 1))], tag = (uint16_t)((index << 3 | table) + 1);

    if (pair[0] == tag)
        return 1;
    const int knows = pair[1] == tag;

    pair[1] = pair[0];
    pair[0] = tag;
    return knows;
}

/** A loop that has gone round for longer than any history: what is said stays the same, and nothing is learnt. */
static inline int tage_steady(struct peet_sim_branch *b, uint64_t pc, int taken)
{
    if (pc != b->steady_pc || !taken || !pc || (b->updates + 1) % USEFUL_PERIOD == 0)
        return 0;
    b->updates++;
    b->late = 0;
    b->ring_at = (b->ring_at + 1) % PEET_SIM_HISTORY_MAX;
    return 1;
}

/** Where the tables have a branch after this history, and by which tags. */
static inline void tage_find(struct peet_sim_branch *b, uint64_t pc)
{
    const uint32_t bits = b->config.table_bits - 2, mask = masked(~0ull, bits);
    uint32_t shift = bits; /* bits - t % bits */

    for (int t = 0; t < (int)b->config.tables; t++) {
        uint32_t index =
            ((uint32_t)pc ^ (uint32_t)(pc >> shift) ^ b->index_folds.values[t] ^ b->tag_folds[0].values[t] << 1) & mask;

        b->soon_entries[t] = &b->tables[t][index];
        shift = shift > 1 ? shift - 1 : bits;
        b->soon_tags[t] = (uint16_t)masked(pc ^ b->tag_folds[0].values[t] ^ b->tag_folds[1].values[t] << 1, TAG_BITS);
    }
    b->soon_pc = pc;
}

static int tage(struct peet_sim_branch *b, uint64_t pc, int taken)
{
    const uint32_t bits = b->config.table_bits - 2;
    const int tables = (int)b->config.tables;
    struct peet_sim_tage_entry *const *entries = b->soon_entries, *provider = NULL;
    const uint16_t *tags = b->soon_tags;
    uint8_t *base = &b->counters[masked(pc ^ pc >> 2, b->config.table_bits)];
    struct peet_sim_tage_entry before = {0};
    unsigned steady;
    int provider_table = -1, alternate_table = -1, fast_table = -1, said, provider_said, alternate_said;
    const int base_said = *base >= 2;

    if (b->soon_pc != pc)
        tage_find(b, pc);
    b->soon_pc = UINT64_MAX;
    for (int t = 0; t < tables; t++)
        if (entries[t]->tag == tags[t]) {
            alternate_table = provider_table;
            provider_table = t;
            fast_table = t < (int)b->fast_tables ? t : fast_table;
        }
    alternate_said = alternate_table >= 0 ? entries[alternate_table]->counter >= 0 : *base >= 2;
    provider_said = alternate_said;
    said = alternate_said;
    steady = *base + 4u * (uint8_t)b->use_alternate;
    if (provider_table >= 0) {
        provider = entries[provider_table];
        before = *provider;
        provider_said = provider->counter >= 0;
        said = is_new(provider) && b->use_alternate >= 0 ? alternate_said : provider_said;
        if (is_new(provider) && provider_said != alternate_said)
            step(&b->use_alternate, alternate_said == taken, -8, 7);
    }

    b->late = (uint8_t)(said != base_said);
    if (fast_table >= 0 && (entries[fast_table]->counter >= 0) != base_said &&
        fast_knows(b, (uint32_t)fast_table, (uint32_t)(entries[fast_table] - b->tables[fast_table])))
        b->late ^= 1;
    if (b->late && b->fast && said == taken) { /* it learns, too */
        uint32_t t = (uint32_t)(fast_table + 1);

        if (fast_table >= 0 && fast_table != provider_table)
            step(&entries[fast_table]->counter, taken, -4, 3);
        while (t < b->fast_tables && entries[t]->useful)
            t++;
        if (t < b->fast_tables)
            *entries[t] = (struct peet_sim_tage_entry){tags[t], taken ? 0 : -1, 0};
    }

    /* learn */
    if (provider) {
        if (provider_said != alternate_said) {
            if (provider_said == taken && provider->useful < 3)
                provider->useful++;
            else if (provider_said != taken && provider->useful)
                provider->useful--;
        }
        step(&provider->counter, taken, -4, 3);
        if (b->fast || (!provider->useful && alternate_table < 0)) /* what the fast part says of most branches */
            counter(base, taken);
    } else {
        counter(base, taken);
    }
    if (said != taken && provider_table + 1 < tables) {
        int t = provider_table + 1, found = -1;

        /* the shortest longer history with a useless entry, now and then the next one */
        for (; t < tables; t++)
            if (!entries[t]->useful) {
                found = t;
                if (peet_sim_random(&b->random) & 1)
                    break;
            }
        if (found >= 0)
            *entries[found] = (struct peet_sim_tage_entry){tags[found], taken ? 0 : -1, 0};
        else
            for (t = provider_table + 1; t < tables; t++)
                entries[t]->useful--;
    }
    if (++b->updates % USEFUL_PERIOD == 0)
        for (int t = 0; t < tables; t++)
            for (uint32_t i = 0; i < 1u << bits; i++)
                b->tables[t][i].useful >>= 1;
    tage_history(b, (uint32_t)taken);
    b->taken_run = taken ? b->taken_run + 1 : 0;
    b->steady_pc = b->taken_run > PEET_SIM_HISTORY_MAX && said && !(b->late && b->fast) &&
            steady == *base + 4u * (uint8_t)b->use_alternate &&
            (!provider || (before.counter == provider->counter && before.useful == provider->useful))
        ? pc
        : 0;
    return said;
}

/* ------------------------------------------------------------------------------------- life and death */

int peet_sim_branch_init(struct peet_sim_branch *b, const struct peet_sim_branch_config *config)
{
    const uint32_t bits = config->table_bits;
    int failed;

    memset(b, 0, sizeof *b);
    b->config = *config;
    b->config.tables = config->tables ? config->tables : PEET_SIM_TAGE_TABLES;
    b->random = 1;
    b->soon_pc = UINT64_MAX;
    b->counters = calloc(1u << bits, 1);
    failed = !b->counters;
    if (b->counters)
        memset(b->counters, 1, 1u << bits); /* weakly not taken */
    for (int t = 0; config->direction == PEET_SIM_TAGE && t < (int)b->config.tables; t++) {
        b->lengths[t] = history_length(config->history_bits, (uint32_t)t, b->config.tables);
        failed |= !(b->tables[t] = calloc(1u << (bits - 2), sizeof *b->tables[t]));
        for (uint32_t i = 0; b->tables[t] && i < 1u << (bits - 2); i++)
            b->tables[t][i].tag = UINT16_MAX; /* no tag has so many bits */
    }
    while (config->direction == PEET_SIM_TAGE && b->fast_tables < b->config.tables &&
        b->lengths[b->fast_tables] <= config->fast_bits)
        b->fast_tables++;
    if (b->fast_tables)
        failed |= !(b->fast = calloc(config->fast_entries, sizeof *b->fast));
    /* odd: of branches that come in turns, all outcomes of one would be folded onto half of an even number of bits */
    folds_init(&b->index_folds, b->lengths, (bits - 2) | 1);
    folds_init(&b->tag_folds[0], b->lengths, TAG_BITS);
    folds_init(&b->tag_folds[1], b->lengths, TAG_BITS - 1);
    failed |= peet_sim_tags_init(&b->btb, config->btb_sets, config->btb_ways, PEET_SIM_LRU, 0) != 0;
    failed |= !(b->btb_targets = calloc((uint64_t)config->btb_sets * config->btb_ways, sizeof *b->btb_targets));
    failed |= !(b->indirect_targets = calloc(1u << config->indirect_bits, sizeof *b->indirect_targets));
    failed |= !(b->indirect_pcs = calloc(1u << config->indirect_bits, sizeof *b->indirect_pcs));
    failed |= !(b->indirect_sure = calloc(1u << config->indirect_bits, sizeof *b->indirect_sure));
    return failed ? -1 : 0;
}

void peet_sim_branch_fini(struct peet_sim_branch *b)
{
    free(b->counters);
    for (int t = 0; t < PEET_SIM_TAGE_TABLES; t++)
        free(b->tables[t]);
    peet_sim_tags_fini(&b->btb);
    free(b->btb_targets);
    free(b->indirect_targets);
    free(b->indirect_pcs);
    free(b->indirect_sure);
    free(b->fast);
    memset(b, 0, sizeof *b);
}

/* -------------------------------------------------------------------------------------------- targets */

/** Returns: whether the buffer knew this target, which it does now. */
static int btb(struct peet_sim_branch *b, uint64_t pc, uint64_t target)
{
    uint64_t slot = peet_sim_tags_find(&b->btb, pc);
    int known = slot != PEET_SIM_NO_SLOT && b->btb_targets[slot] == target;

    if (slot == PEET_SIM_NO_SLOT) {
        slot = peet_sim_tags_victim(&b->btb, pc);
        peet_sim_tags_fill(&b->btb, slot, pc, 1);
    } else {
        peet_sim_tags_touch(&b->btb, slot);
    }
    b->btb_targets[slot] = target;
    return known;
}

static void went(struct peet_sim_branch *b, uint64_t target)
{
    b->path = b->path << 3 ^ target >> 1;
}

/* --------------------------------------------------------------------------------------------- queries */

void peet_sim_branch_soon(struct peet_sim_branch *b, uint64_t pc)
{
    peet_sim_tags_prefetch(&b->btb, pc);
    if (b->config.direction != PEET_SIM_TAGE || pc == b->steady_pc)
        return;
    tage_find(b, pc);
    for (int t = 0; t < (int)b->config.tables; t++)
        __builtin_prefetch(b->soon_entries[t]);
    __builtin_prefetch(&b->counters[masked(pc ^ pc >> 2, b->config.table_bits)]);
}

enum peet_sim_branch_wrong peet_sim_branch_conditional(struct peet_sim_branch *b, uint64_t pc, int taken,
    uint64_t target)
{
    const struct peet_sim_branch_config *c = &b->config;
    int said = 1, unknown = 0;

    taken = !!taken;
    if (c->untaken_free && peet_sim_tags_find(&b->btb, pc) == PEET_SIM_NO_SLOT) {
        if (!taken) {
            b->stats.conditional++;
            return PEET_SIM_BRANCH_RIGHT;
        }
        unknown = 1;
    }
    switch (c->direction) {
    case PEET_SIM_ALWAYS:
        break;
    case PEET_SIM_BIMODAL:
        said = counter(&b->counters[masked(pc, c->table_bits)], taken);
        break;
    case PEET_SIM_GSHARE:
        said = counter(&b->counters[masked(pc ^ masked(b->history, c->history_bits), c->table_bits)], taken);
        break;
    case PEET_SIM_TAGE:
        said = tage_steady(b, pc, taken) || tage(b, pc, taken);
        break;
    }
    b->history = b->history << 1 | (uint64_t)taken;
    b->stats.conditional++;
    if (taken)
        went(b, target);
    if (said != taken || unknown) {
        b->stats.conditional_wrong++;
        if (taken)
            btb(b, pc, target);
        return PEET_SIM_BRANCH_WRONG;
    }
    if (taken && !btb(b, pc, target)) {
        b->stats.target_missing++;
        return PEET_SIM_BRANCH_NO_TARGET;
    }
    if (b->fast && b->late) {
        b->stats.late++;
        return PEET_SIM_BRANCH_LATE;
    }
    return PEET_SIM_BRANCH_RIGHT;
}

enum peet_sim_branch_wrong peet_sim_branch_direct(struct peet_sim_branch *b, uint64_t pc, uint64_t target)
{
    went(b, target);
    if (btb(b, pc, target))
        return PEET_SIM_BRANCH_RIGHT;
    b->stats.target_missing++;
    return PEET_SIM_BRANCH_NO_TARGET;
}

/** What histories have of where the last three indirect branches went: the low four bits of each, and the line of the last. */
static void remember_target(struct peet_sim_branch *b, uint64_t target)
{
    b->targets = (b->targets << 4 | (target & 15)) & 0xfff;
    b->last_line = target >> 6 & 63;
}

/**
 * An indirect branch by tables of longer and longer histories of outcomes (Seznec's ITTAGE), all but the first with the last few
 * targets: the longest that knows the branch in this history says where to, or a shorter one as long as the entry is new;
 * @p by_pc: where it went last is right.
 * Returns: whether it was foreseen
 */
static int by_outcomes(struct peet_sim_branch *b, uint64_t pc, uint64_t target, int by_pc)
{
    static const uint8_t lengths[PEET_SIM_INDIRECT_TABLES] = {4, 4, 16, 64};
    const uint32_t bits = b->config.indirect_bits - 2; /* of each table */
    uint32_t at[PEET_SIM_INDIRECT_TABLES];
    uint64_t keys[PEET_SIM_INDIRECT_TABLES];
    int provider = -1, alternate = -1, right;

    for (int t = 0; t < PEET_SIM_INDIRECT_TABLES; t++) {
        const uint64_t history = lengths[t] < 64 ? b->history & ((1ull << lengths[t]) - 1) : b->history;
        const uint64_t targets = t ? b->targets << 6 | b->last_line : 0;

        keys[t] = (pc ^ (history ^ targets * 0x2545f4914f6cdd1du) * 0xd1342543de82ef95u) * 0x9e3779b97f4a7c15u;
        at[t] = ((uint32_t)t << bits) + (bits ? (uint32_t)(keys[t] >> (64 - bits)) : 0);
        if (b->indirect_pcs[at[t]] == keys[t]) {
            alternate = provider;
            provider = t;
        }
    }
    right = provider < 0                 ? by_pc
        : b->indirect_sure[at[provider]] ? b->indirect_targets[at[provider]] == target
        : alternate >= 0                 ? b->indirect_targets[at[alternate]] == target
                                         : by_pc;
    if (provider >= 0) {
        uint8_t *sure = &b->indirect_sure[at[provider]];

        if (b->indirect_targets[at[provider]] == target)
            *sure += *sure < 3;
        else if (*sure)
            --*sure;
        else
            b->indirect_targets[at[provider]] = target;
    }
    for (int t = provider + 1; !right && t < PEET_SIM_INDIRECT_TABLES; t++) {
        if (!b->indirect_sure[at[t]]) {
            b->indirect_pcs[at[t]] = keys[t];
            b->indirect_targets[at[t]] = target;
            break;
        }
        b->indirect_sure[at[t]]--;
    }
    remember_target(b, target);
    return right;
}

enum peet_sim_branch_wrong peet_sim_branch_indirect(struct peet_sim_branch *b, uint64_t pc, uint64_t target)
{
    uint64_t key = (pc ^ b->path) * 0x9e3779b97f4a7c15u;
    uint32_t i = (uint32_t)(key >> (64 - b->config.indirect_bits));
    int by_path = b->indirect_pcs[i] == pc, right;
    int by_pc = btb(b, pc, target);

    if (b->config.indirect_outcomes) {
        right = by_outcomes(b, pc, target, by_pc);
    } else { /* the path's table if it knows the branch on this path, else where it went last */
        right = by_path ? b->indirect_targets[i] == target : by_pc;
        b->indirect_pcs[i] = pc;
        b->indirect_targets[i] = target;
    }
    b->stats.indirect++;
    b->stats.indirect_wrong += !right;
    went(b, target);
    return right ? PEET_SIM_BRANCH_RIGHT : PEET_SIM_BRANCH_WRONG;
}

void peet_sim_branch_call(struct peet_sim_branch *b, uint64_t return_pc)
{
    if (!b->config.return_entries)
        return;
    b->returns_top = (b->returns_top + 1) % b->config.return_entries;
    b->returns[b->returns_top] = return_pc;
    if (b->returns_live < b->config.return_entries)
        b->returns_live++;
}

int peet_sim_branch_back(struct peet_sim_branch *b, uint64_t pc)
{
    if (!b->returns_live || b->returns[b->returns_top] != pc)
        return 0;
    b->returns_top = (b->returns_top + b->config.return_entries - 1) % b->config.return_entries;
    b->returns_live--;
    return 1;
}

enum peet_sim_branch_wrong peet_sim_branch_return(struct peet_sim_branch *b, uint64_t target)
{
    int right = 0;

    if (b->returns_live || (b->config.returns_around && b->config.return_entries)) {
        right = b->returns[b->returns_top] == target;
        b->returns_top = (b->returns_top + b->config.return_entries - 1) % b->config.return_entries;
        b->returns_live -= b->returns_live != 0;
    }
    went(b, target);
    b->stats.returns++;
    b->stats.returns_wrong += !right;
    return right ? PEET_SIM_BRANCH_RIGHT : PEET_SIM_BRANCH_WRONG;
}
