/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The smallest scheduler: the newest thread first, for processors (--policy) and for locks (--winner).  It sees no events at all.
 *
 *   cc -shared -fPIC -O2 -I$PREFIX/include -o newest.so newest.c
 *   peet run --cores 1 --policy ./newest.so -- ./prog
 */
#include <peet/module.h>

static void *create(const struct peet_env *env, const union peet_value *values)
{
    static int one;
    (void)env, (void)values;
    return &one;
}

static void destroy(void *self)
{
    (void)self;
}

/* Contexts are numbered in the order in which they are made. */
static unsigned newest(const uint32_t *numbers, unsigned n)
{
    unsigned best = 0;
    for (unsigned i = 1; i < n; i++)
        if (numbers[i] > numbers[best])
            best = i;
    return best;
}

static unsigned pick_context(void *self, unsigned hw, const uint32_t *ready, unsigned nready, uint64_t now)
{
    (void)self, (void)hw, (void)now;
    return newest(ready, nready);
}

static unsigned pick_winner(void *self, const uint32_t *waiters, unsigned nwaiters, uint64_t now)
{
    (void)self, (void)now;
    return newest(waiters, nwaiters);
}

const struct peet_module peet_module = {
    .abi = PEET_MODULE_ABI, .struct_size = sizeof peet_module, .name = "newest", .kind = PEET_OBSERVER,
    .summary = "the newest thread first", .create = create, .destroy = destroy, .pick_context = pick_context, .pick_winner = pick_winner};
