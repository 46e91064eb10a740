/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A cache surface by brute force, for tests: an observer with a list for each software context, one for all, and each width, which is searched from
 * its newest line at every reference.  It writes what the observer locality calls a tally: reuse and same.  Deep lists cost
 * time: programs for it are small.
 */
#include <peet/module.h>

#include <stdlib.h>
#include <string.h>

enum { WIDTHS = 8, CONTEXTS = 9, ALL = CONTEXTS - 1, HASH = 1 << 16 };

struct node { struct node *newer, *older, *chain; uint64_t line; int half; };
struct stack { struct node *newest, **hash; };
struct stream {
    struct stack stacks[WIDTHS];
    uint64_t reuse[WIDTHS][19], same[WIDTHS - 1][18], references;
};
struct brute { struct stream streams[CONTEXTS]; };

static void *create(const struct peet_env *env, const union peet_value *values)
{
    (void)env;
    (void)values;
    return calloc(1, sizeof(struct brute));
}

static void one(struct stream *s, uint64_t address)
{
    s->references++;
    for (int w = 0; w < WIDTHS; w++) {
        struct stack *k = &s->stacks[w];
        uint64_t line = address >> (9 - w), depth = 0;
        int bucket = 18, half = (int)(address >> (8 - w) & 1);
        struct node *n, **bin;

        if (!k->hash)
            k->hash = calloc(HASH, sizeof *k->hash);
        bin = &k->hash[line * 0x9e3779b97f4a7c15u >> 48];
        for (n = *bin; n && n->line != line; n = n->chain)
            ;
        if (n) {
            for (struct node *p = k->newest; p != n; p = p->older)
                depth++;
            for (bucket = 0; bucket < 17 && depth >= 1ull << bucket; bucket++)
                ;
            if (n->newer)
                n->newer->older = n->older;
            else
                k->newest = n->older;
            if (n->older)
                n->older->newer = n->newer;
        } else {
            n = calloc(1, sizeof *n);
            n->line = line;
            n->half = -1;
            n->chain = *bin;
            *bin = n;
        }
        s->reuse[w][bucket]++;
        if (w < WIDTHS - 1) {
            if (bucket != 18)
                s->same[w][bucket] += n->half == half;
            n->half = half;
        }
        n->newer = NULL;
        n->older = k->newest;
        if (n->older)
            n->older->newer = n;
        k->newest = n;
    }
}

static uint64_t block(void *arg, unsigned hw, const struct peet_block_event *event, uint64_t now)
{
    struct brute *self = arg;

    (void)hw;
    (void)now;
    for (uint32_t i = 0; i < event->block->nrefs; i++) {
        const struct peet_ref *ref = &event->block->refs[i];

        if (ref->kind == PEET_REF_PREFETCH)
            continue;
        for (struct peet_ref_iter it = peet_ref_begin(ref, event->values); it.count; it.count--, it.address += (uint64_t)it.step)
            for (int times = ref->kind == PEET_REF_MODIFY ? 2 : 1; times--;) {
                one(&self->streams[event->context % ALL], it.address);
                one(&self->streams[ALL], it.address);
            }
    }
    return 0;
}

static void stats(void *arg, const struct peet_env *env, struct peet_stats *node)
{
    struct brute *self = arg;
    struct peet_stats *list = env->stats_array(env, node, "streams");

    for (int c = 0; c < CONTEXTS; c++) {
        struct peet_stats *o = env->stats_object(env, list, NULL), *rows = env->stats_array(env, o, "reuse"), *row;

        env->stats_u64(env, o, "references", self->streams[c].references);
        for (int w = 0; w < WIDTHS; w++) {
            row = env->stats_array(env, rows, NULL);
            for (int k = 0; k < 19; k++)
                env->stats_u64(env, row, NULL, self->streams[c].reuse[w][k]);
        }
        rows = env->stats_array(env, o, "same");
        for (int w = 0; w < WIDTHS - 1; w++) {
            row = env->stats_array(env, rows, NULL);
            for (int k = 0; k < 18; k++)
                env->stats_u64(env, row, NULL, self->streams[c].same[w][k]);
        }
    }
}

const struct peet_module peet_module = {
    .abi = PEET_MODULE_ABI,
    .struct_size = sizeof(struct peet_module),
    .name = "brute",
    .summary = "cache surfaces by brute force",
    .kind = PEET_OBSERVER,
    .needs = PEET_NEEDS_BLOCKS | PEET_NEEDS_ADDRESSES,
    .create = create,
    .destroy = free,
    .block = block,
    .stats = stats,
};
