/* SPDX-License-Identifier: Apache-2.0 */
/* x86: the configuration in effect and the counters of the cores, in stats.json. */
#include "core_replay.h"

#include <stdio.h>
#include <string.h>

/** The n-th of "a|b|c". */
static void choice(const char *choices, uint32_t n, char *out, size_t room)
{
    while (n--)
        choices += strcspn(choices, "|") + 1;
    snprintf(out, room, "%.*s", (int)strcspn(choices, "|"), choices);
}

static void write_config(const struct x86 *x, const struct peet_env *env, struct peet_stats *node)
{
    struct peet_stats *o = env->stats_object(env, node, "config");
    char text[40];

    env->stats_string(env, o, "mcpu", x->processor ? x->processor->name : "none: as the schema says");
#define X(name, unit, least, most, def, help) env->stats_u64(env, o, #name, x->config.name);
    X86_CORE_NUMBERS(X)
#undef X
#define X(name, choices, def, help) \
    choice(choices, x->config.name, text, sizeof text); \
    env->stats_string(env, o, #name, text);
    X86_CORE_CHOICES(X)
#undef X
    env->stats_u64(env, o, "load_to_use_cycles", x->load_cycles);
}

/** How the blocks were executed: of no importance for the results. */
static void write_replay(const struct x86 *x, const struct peet_env *env, struct peet_stats *node)
{
    struct peet_stats *o;
    uint64_t replayed = 0, learnt = 0, rested = 0;

    if (!x->configurations.buckets)
        return;
    for (unsigned i = 0; i < x->nthreads; i++) {
        replayed += x->threads[i].replay->replayed;
        learnt += x->threads[i].replay->learnt;
        rested += x->threads[i].replay->rested;
    }
    o = env->stats_object(env, node, "replay");
    env->stats_u64(env, o, "blocks_repeated", replayed);
    env->stats_u64(env, o, "blocks_learnt", learnt);
    env->stats_u64(env, o, "blocks_not_tried", rested);
    env->stats_u64(env, o, "states", x->configurations.n);
    env->stats_u64(env, o, "states_bytes", x->configurations.all_bytes);
    env->stats_u64(env, o, "times_forgotten", x->configurations.forgotten);
}

void x86_core_stats(const struct x86 *x, const struct peet_env *env, struct peet_stats *node)
{
    struct x86_thread sum = {0};
    struct peet_sim_branch_stats b = {0};
    struct peet_stats *o;
    uint64_t busy = 0;

    for (unsigned i = 0; i < x->nthreads; i++) {
        const struct x86_thread *t = &x->threads[i];
        const struct peet_sim_branch_stats *s = &t->predictor.stats;

        sum.instructions += t->instructions;
        sum.uops += t->window.n + t->uops;
        sum.loads_n += t->loads_n;
        sum.stores_n += t->stores_n;
        sum.forwards += t->forwards;
        sum.forward_fails += t->forward_fails;
        sum.mispredicts += t->mispredicts;
        b.conditional += s->conditional;
        b.conditional_wrong += s->conditional_wrong;
        b.indirect += s->indirect;
        b.indirect_wrong += s->indirect_wrong;
        b.returns += s->returns;
        b.returns_wrong += s->returns_wrong;
        b.late += s->late;
        b.target_missing += s->target_missing;
        for (unsigned k = 0; k < CPI_LOCK; k++)
            busy += t->cycles[k];
    }
    sum.uops += x->far_uops;
    write_config(x, env, node);
    o = env->stats_object(env, node, "cores");
    env->stats_u64(env, o, "instructions", sum.instructions);
    env->stats_u64(env, o, "micro_ops", sum.uops);
    env->stats_u64(env, o, "busy_cycles", busy);
    env->stats_f64(env, o, "instructions_per_busy_cycle", busy ? (double)sum.instructions / (double)busy : 0);
    env->stats_u64(env, o, "loads", sum.loads_n);
    env->stats_u64(env, o, "stores", sum.stores_n);
    env->stats_u64(env, o, "loads_forwarded", sum.forwards);
    env->stats_u64(env, o, "loads_forwarding_failed", sum.forward_fails);
    env->stats_u64(env, o, "branches_mispredicted", sum.mispredicts);
    write_replay(x, env, o);
    o = env->stats_object(env, o, "branches");
    env->stats_u64(env, o, "conditional", b.conditional);
    env->stats_u64(env, o, "conditional_wrong", b.conditional_wrong);
    env->stats_u64(env, o, "conditional_late", b.late);
    env->stats_u64(env, o, "indirect", b.indirect);
    env->stats_u64(env, o, "indirect_wrong", b.indirect_wrong);
    env->stats_u64(env, o, "returns", b.returns);
    env->stats_u64(env, o, "returns_wrong", b.returns_wrong);
    env->stats_u64(env, o, "target_unknown", b.target_missing);
}
