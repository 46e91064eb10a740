/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Traces of several blocks (Dynamo's NET, PLDI 2000): blocks that often follow each other become one piece of machine
 * code.
 *
 * Samples of what is executed are taken now and then.  From blocks that are met often, the traces that were taken
 * become a tree.  Its code compares the words of the records with those that it knows.  Time, stamps, counts and
 * registers move once, where the tree is left.
 *
 *   1. On a trace nothing happens but stamps of lines that were found.  So a trace can be left before any of its
 *      blocks; that block's own code (direct.c) then executes the block from its beginning.
 *   2. A trace is not entered if the limit could be reached on it.
 *   3. There are no traces while observers compare blocks: they have something to say between two blocks.  What is
 *      counted for observers (counted.c) is added where the tree is left, like the rest.  A block that is always shown,
 *      or after which the next one is, is on no trace, and no trace is entered while a block is to be shown.
 */
#include "jit/direct.h"

#include <peet/raw.h>

#include <stdlib.h>

#ifdef __x86_64__

#include "jit/trace_tree.h"

enum {
    SAMPLES = 1 << 12,
    SAMPLES_AT_ONCE = 256,
    FIRST_REST = 16,
    KINDS = 6,
    HEADS = 8,
    BEGINS = 2,
    ROUND = 12, /* blocks at least, before a trace comes to its beginning again */
    CANDIDATES = 4,
    /* blocks that there must be on a trace each time it is taken; known when that was so often; */
    LEAST = 20,
    SURE = 256,
    MISSES = 16 /* and blocks for each miss */
};

/* What comes after a node's samples: its children, the most frequent first. */
static void expand(struct trace_emitter *p, uint32_t number)
{
    struct node *const n = &p->nodes[number], *const root = &p->nodes[1];
    struct {
        uint32_t count, first, like;
    } kinds[KINDS];
    uint32_t nkinds = 0;
    n->expanded = 1;
    for (uint32_t k = n->first, next; k != 0; k = next) {
        const uint32_t i = k; /* after sample k - 1 */
        uint32_t q = 0;
        next = p->samples[k - 1].next;
        if (i >= p->nsamples || !p->samples[i].function || p->samples[i].on_trace == BEGINS)
            continue;
        for (; q < nkinds; q++)
            if (p->samples[kinds[q].like].word == p->samples[i].word &&
                p->samples[kinds[q].like].function == p->samples[i].function)
                break;
        if (q == KINDS)
            continue;
        if (q == nkinds)
            kinds[nkinds].count = kinds[nkinds].first = 0, kinds[nkinds++].like = i;
        p->samples[i].next = kinds[q].first;
        kinds[q].first = i + 1;
        kinds[q].count++;
    }
    for (uint32_t q = 0; q < nkinds && p->nnodes < NODES; q++) {
        const struct peet__sample *const s = &p->samples[kinds[q].like];
        const uint32_t child = p->nnodes;
        struct node *const c = &p->nodes[child];
        if (kinds[q].count < 4 || kinds[q].count < n->count / 10 || kinds[q].count < root->count / 40)
            continue;
        *c = (struct node){.function = s->function,
            .word = s->word,
            .index = s->index,
            .parent = number,
            .count = kinds[q].count,
            .first = kinds[q].first,
            .depth = n->depth + 1,
            .again = n->depth + 1 >= ROUND && s->function == root->function && s->index == root->index};
        if (peet__trace_step(p, child, 0) != 0) {
            if (n->flushed || n->child != 0)
                continue;
            peet__trace_settle_node(n); /* with less to keep in mind it may go */
            if (peet__trace_step(p, child, 0) != 0)
                continue;
        }
        p->nnodes++;
        uint32_t *at = &n->child;
        while (*at != 0 && p->nodes[*at].count >= c->count)
            at = &p->nodes[*at].sibling;
        c->sibling = *at;
        *at = child;
    }
}

/* The tree from a block.  Returns: what there is to gain */
static int64_t grow_tree(struct trace_emitter *p, const struct peet__sample *head)
{
    struct node *const root = &p->nodes[1];
    int64_t covered = 0;
    memset(p->nodes, 0, 2 * sizeof p->nodes[0]);
    peet__trace_settle_node(&p->nodes[0]);
    *root = (struct node){.function = head->function, .word = head->word, .index = head->index};
    for (uint32_t i = 0, earliest = 0; i < p->nsamples; i++)
        if (i >= earliest && p->samples[i].function == head->function && p->samples[i].index == head->index &&
            !p->samples[i].on_trace) {
            p->samples[i].next = root->first;
            root->first = i + 1;
            root->count++;
            earliest = i + ROUND;
        }
    p->nnodes = 2;
    p->tree->nodes[0].nblocks = 0;
    if (peet__trace_step(p, 1, 0) != 0)
        return 0;
    for (;;) {
        uint32_t best = 0;
        for (uint32_t k = 1; k < p->nnodes; k++)
            if (!p->nodes[k].expanded && !p->nodes[k].again && (best == 0 || p->nodes[k].count > p->nodes[best].count))
                best = k;
        if (best == 0 || p->nnodes == NODES)
            break;
        expand(p, best);
    }
    p->time = 1;
    for (uint32_t k = 2; k < p->nnodes; k++)
        covered += p->nodes[k].again ? 0 : p->nodes[k].count * p->tree->nodes[k].nblocks;
    for (uint32_t k = 1; k < p->nnodes; k++)
        p->time = p->nodes[k].time > p->time ? p->nodes[k].time : p->time;
    return covered >= LEAST * (int64_t)root->count ? covered : 0;
}

/* What is executed with the root's samples, on its way, needs no trace of its own. */
static void mark_trace(struct trace_emitter *p)
{
    for (uint32_t k = 1; k < p->nnodes; k++)
        if (!p->nodes[k].again)
            for (uint32_t i = p->nodes[k].first; i != 0; i = p->samples[i - 1].next)
                p->samples[i - 1].on_trace = 1;
}

static uint32_t id_of(const struct peet__sample *s)
{
    return s->function->blocks[s->index].id;
}

/* Blocks that are executed outside of traces, some of those that are met often: how often that is varies.  @counts: by
 * block id.  Returns: how many */
static uint32_t find_heads(const struct trace_emitter *p, uint32_t *counts, const struct peet__sample *out[CANDIDATES])
{
    const uint32_t least = p->nsamples / 128 + 1;
    uint32_t n = 0, most = UINT32_MAX;
    for (uint32_t i = 0; i < p->nsamples; i++)
        if (p->samples[i].function && !p->samples[i].on_trace)
            counts[id_of(&p->samples[i])]++;
    for (; n < CANDIDATES; n++) { /* the next one is met less than this one by a fifth */
        uint32_t found = 0;
        for (uint32_t i = 0; i < p->nsamples; i++)
            if (p->samples[i].function && counts[id_of(&p->samples[i])] > found &&
                counts[id_of(&p->samples[i])] < most && !p->samples[i].on_trace) {
                found = counts[id_of(&p->samples[i])];
                out[n] = &p->samples[i];
            }
        if (found < least)
            break;
        most = found - found / 5;
    }
    for (uint32_t i = 0; i < p->nsamples; i++)
        if (p->samples[i].function)
            counts[id_of(&p->samples[i])] = 0;
    return n;
}

/* The processor may have read ahead what has been written at another address. */
static void serialize(void)
{
    uint32_t a = 0, b, c = 0, d;
    __asm__ volatile("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d) : : "memory");
}

/* Traces that turn out to be left soon are not worth it: their blocks' own code takes over again, for good. */
static void give_up(struct peet__direct *direct)
{
    peet__direct_trees_settle(direct);
    for (struct peet__trace_tree *tree = direct->trees; tree; tree = tree->next) {
        struct peet__direct_function *const compiled = tree->nodes[1].blocks[0].function->direct;
        const uint32_t index = tree->nodes[1].blocks[0].index;
        if (tree->taken < SURE || tree->given_up ||
            (tree->blocks / LEAST >= tree->taken && tree->blocks / MISSES >= tree->missed))
            continue;
        tree->given_up = 1;
        if (*peet__direct_entry(compiled, index) == tree->begin) {
            peet__trace_take_over(compiled, index, compiled->begin[index], compiled->body[index]);
            serialize();
        }
    }
}

static int was_given_up(const struct peet__direct *direct, const struct peet__sample *head)
{
    for (const struct peet__trace_tree *tree = direct->trees; tree; tree = tree->next)
        if (tree->given_up && tree->nodes[1].blocks[0].function == head->function &&
            tree->nodes[1].blocks[0].index == head->index)
            return 1;
    return 0;
}

/* Returns: whether there are any that go far */
static int make_trees(struct peet__direct *direct, uint32_t nblocks)
{
    int any = 0;
    struct trace_emitter *const p = calloc(1, sizeof *p);
    uint32_t *const counts = calloc(nblocks, sizeof *counts);
    const struct peet__sample *heads[CANDIDATES];
    if (p && counts) {
        p->m.direct = direct;
        p->samples = direct->samples;
        p->nsamples = direct->nsamples;
        for (int k = 0; k < HEADS; k++) {
            const uint32_t n = find_heads(p, counts, heads);
            const struct peet__sample *best = NULL;
            int64_t most = 0;
            if (n == 0 || (!p->tree && !(p->tree = calloc(1, sizeof *p->tree + NODES * sizeof p->tree->nodes[0]))))
                break;
            for (uint32_t j = 0; j < n; j++) {
                const int64_t gain = was_given_up(direct, heads[j]) ? 0 : grow_tree(p, heads[j]);
                if (gain > most) {
                    most = gain;
                    best = heads[j];
                }
            }
            if (best) {
                grow_tree(p, best);
                mark_trace(p);
                peet__trace_emit(p);
                any = 1;
            }
            for (uint32_t i = 0; i < p->nsamples; i++) /* done with, one way or the other */
                for (uint32_t j = 0; p->samples[i].function && j < n; j++)
                    if (best ? id_of(&p->samples[i]) == id_of(best) : id_of(&p->samples[i]) == id_of(heads[j]))
                        p->samples[i].on_trace = best ? BEGINS : 1;
        }
        serialize();
        free(p->tree);
        free(p->unaligned);
        free(p->missing);
    }
    free(p);
    free(counts);
    return any;
}

static void add_sample(struct peet__direct *direct, struct peet__function *f, uint32_t index, uint64_t word)
{
    if (direct->nsamples != SAMPLES)
        direct->samples[direct->nsamples++] = (struct peet__sample){.function = f, .index = index, .word = word};
}

void peet__direct_sample(struct peet_program *program, struct peet__function *f, const uint64_t *at,
    const uint64_t *end)
{
    struct peet__direct *const direct = program->direct;
    uint32_t index;
    if (!peet__trace_can_count(direct) ||
        (direct->pause == 0 && !(direct->samples = malloc(SAMPLES * sizeof *direct->samples)))) {
        direct->rest = UINT32_MAX;
        return;
    }
    if (direct->pause == 0) {
        direct->rest = FIRST_REST;
        direct->pause = 1;
        return;
    }
    const uint32_t most = direct->nsamples + SAMPLES_AT_ONCE < SAMPLES ? direct->nsamples + SAMPLES_AT_ONCE : SAMPLES;
    give_up(direct);
    direct->rest = direct->pause;
    add_sample(direct, NULL, 0, 0);
    while (at != end && direct->nsamples != most) {
        const uint64_t word = *at++;
        if (PEET_RAW_IS_PLAIN(word)) {
            index = PEET_RAW_INDEX(word);
            if (!f || index >= f->nsegments)
                break;
        } else if (PEET_RAW_IS_ABSTRACT(word)) {
            if (PEET_RAW_NARGS(word) > (uint64_t)(end - at))
                break;
            at += PEET_RAW_NARGS(word);
            add_sample(direct, NULL, 0, 0);
            continue;
        } else if (!peet__program_place(program, word, &f, &index)) {
            break;
        }
        if (f->code[index].slot_words > (uint64_t)(end - at))
            break;
        at += f->code[index].slot_words;
        if (f->code[index].loop || !f->direct)
            add_sample(direct, NULL, 0, 0);
        else
            add_sample(direct, f, index, word);
    }
    if (direct->nsamples == SAMPLES) {
        const uint32_t times = make_trees(direct, program->nblocks) ? 4 : 16;
        direct->nsamples = 0;
        direct->pause = direct->pause < UINT32_MAX / times ? direct->pause * times : direct->pause;
    }
}

#else

void peet__direct_sample(struct peet_program *program, struct peet__function *f, const uint64_t *at,
    const uint64_t *end)
{
    (void)f, (void)at, (void)end;
    program->direct->rest = UINT32_MAX;
}

#endif

void peet__direct_trees_settle(struct peet__direct *direct)
{
#ifdef __x86_64__
    for (struct peet__trace_tree *tree = direct->trees; tree; tree = tree->next)
        for (uint32_t k = tree->nnodes; k-- > 1;) {
            struct counted *const n = &tree->nodes[k];
            if (n->left == 0)
                continue;
            for (uint32_t b = 0; b < n->nblocks; b++)
                *peet__direct_taken(n->blocks[b].function->direct, n->blocks[b].index) += n->left;
            tree->blocks += n->left * n->nblocks;
            tree->taken += n->parent == 0 ? n->left : 0;
            tree->nodes[n->parent].left += n->left;
            n->left = 0;
        }
#else
    (void)direct;
#endif
}

void peet__direct_trees_free(struct peet__direct *direct)
{
#ifdef __x86_64__
    for (struct peet__trace_tree *tree = direct->trees, *next; tree; tree = next) {
        next = tree->next;
        free(tree);
    }
    free(direct->samples);
#else
    (void)direct;
#endif
}
