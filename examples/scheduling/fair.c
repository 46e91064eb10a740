/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A scheduler of one's own, for any machine: of the contexts that wait for a processor, the one that has executed least runs
 * next; of those that wait for a lock, the one that has got one least often.  An observer that sees blocks and also decides.
 *
 *   cc -shared -fPIC -O2 -I$PREFIX/include -o fair.so fair.c
 *   peet run --machine bus --cores 2 --policy ./fair.so --winner ./fair.so -- ./prog
 */
#include <stdlib.h>
#include <string.h>
#include <peet/module.h>

struct account { uint64_t instructions, grants; };

struct fair {
    const struct peet_env *env;
    struct account *accounts; /* by software context */
    size_t naccounts;
    uint64_t picks, picks_out_of_turn, winners;
};

static void *create(const struct peet_env *env, const union peet_value *values)
{
    struct fair *f = calloc(1, sizeof *f);
    (void)values;
    if (f)
        f->env = env;
    else
        env->fail(env, "out of memory");
    return f;
}

static void destroy(void *self)
{
    free(((struct fair *)self)->accounts);
    free(self);
}

static struct account *account(struct fair *f, uint32_t context)
{
    static struct account nobody;
    if (context >= f->naccounts) {
        size_t n = 2 * (size_t)context + 8;
        struct account *more = realloc(f->accounts, n * sizeof *more);
        if (!more) {
            f->env->fail(f->env, "out of memory for %zu contexts", n);
            return &nobody;
        }
        memset(more + f->naccounts, 0, (n - f->naccounts) * sizeof *more);
        f->accounts = more;
        f->naccounts = n;
    }
    return &f->accounts[context];
}

static uint64_t block(void *self, unsigned hw, const struct peet_block_event *event, uint64_t now)
{
    (void)hw, (void)now;
    account(self, event->context)->instructions += event->block->ninsns;
    return 0;
}

/* At equal accounts the first, which has waited longest. */
static unsigned pick_context(void *self, unsigned hw, const uint32_t *ready, unsigned nready, uint64_t now)
{
    struct fair *f = self;
    unsigned best = 0;
    (void)hw, (void)now;
    for (unsigned i = 1; i < nready; i++)
        if (account(f, ready[i])->instructions < account(f, ready[best])->instructions)
            best = i;
    f->picks++;
    f->picks_out_of_turn += best != 0;
    return best;
}

static unsigned pick_winner(void *self, const uint32_t *waiters, unsigned nwaiters, uint64_t now)
{
    struct fair *f = self;
    unsigned best = 0;
    (void)now;
    for (unsigned i = 1; i < nwaiters; i++)
        if (account(f, waiters[i])->grants < account(f, waiters[best])->grants)
            best = i;
    account(f, waiters[best])->grants++;
    f->winners++;
    return best;
}

static void stats(void *self, const struct peet_env *env, struct peet_stats *node)
{
    const struct fair *f = self;
    env->stats_u64(env, node, "picks", f->picks);
    env->stats_u64(env, node, "picks_out_of_turn", f->picks_out_of_turn);
    env->stats_u64(env, node, "winners", f->winners);
}

const struct peet_module peet_module = {
    .abi = PEET_MODULE_ABI, .struct_size = sizeof peet_module, .name = "fair", .kind = PEET_OBSERVER,
    .summary = "who has executed least runs next, who has got a lock least often gets it", .needs = PEET_NEEDS_BLOCKS,
    .create = create, .destroy = destroy, .block = block, .pick_context = pick_context, .pick_winner = pick_winner, .stats = stats};
