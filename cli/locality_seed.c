/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Streams of references that have a signature: the paper's generator (Weinberg and Snavely, "Chameleon", sections 4 and
 * 5), with all widths watched.
 *
 * A reference is made in two steps.  First the block of 512 bytes: a reuse distance is drawn, and the block that stands
 * so deep in the LRU stack is taken.  Then the word in it: at each of the seven halvings, the half that was referenced
 * last or the other one, by the signature's alpha for this reuse distance.
 *
 * The stream made so far is observed by the same surface that observes programs.  Whatever is drawn, a reuse distance
 * or a half, is drawn by its share in the signature and by what the stream still lacks of it within the next WINDOW
 * references.  That is what compensates for cold misses, for depths that are not there yet, and for elements that are
 * used up.
 */
#include "locality.h"

#include <stdlib.h>
#include <string.h>

enum {
    WINDOW = 2000,
    SLOTS = 1 << 20,
    WORDS = 128,
    NONE = 0,
    ONCE_WIDTHS = 4 /* widths of 512 to 64 bytes */,
    MOST_AGAIN = 31,
    CANDIDATES = 8
};

static const double NOTHING = -1e300;

struct block {
    uint64_t used[2]; /* its words that steps have taken */
};

struct maker {
    const struct peet_cli_seed_options *options;
    struct peet_sim_surface *surface;
    struct peet_cli_seed *seed;
    double aim[PEET_SIM_WIDTHS][PEET_SIM_BUCKETS]; /* shares */
    double alpha[PEET_SIM_HALVINGS][PEET_SIM_BUCKETS];
    int known[PEET_SIM_WIDTHS];
    double made[PEET_SIM_WIDTHS][PEET_SIM_BUCKETS], n, gain[PEET_SIM_WIDTHS][PEET_SIM_BUCKETS];
    uint64_t random, last; /* last: address */
    /* LRU stack of blocks: slots in order of time, counted by a tree of sums (Fenwick, 1994) */
    uint32_t *tree, *at, next, live;
    struct block *blocks;
    uint64_t nblocks, room, limit;
};

static uint64_t below(struct maker *m, uint64_t n)
{
    m->random ^= m->random << 13;
    m->random ^= m->random >> 7;
    m->random ^= m->random << 17;
    return (uint64_t)(((unsigned __int128)m->random * n) >> 64);
}

static double uniform(struct maker *m)
{
    return (double)(below(m, 1ull << 53)) / (double)(1ull << 53);
}

/* --------------------------------------------------------------------------------------- the stack of blocks */

static void count(struct maker *m, uint32_t slot, uint32_t by)
{
    for (uint32_t i = slot + 1; i <= SLOTS; i += i & -i)
        m->tree[i] += by;
}

static void push(struct maker *m, uint32_t block)
{
    m->at[m->next] = block;
    count(m, m->next++, 1);
    m->live++;
}

static uint32_t find(const struct maker *m, uint32_t rank)
{
    uint32_t slot = 0;
    for (uint32_t step = SLOTS; step; step /= 2)
        if (slot + step <= SLOTS && m->tree[slot + step] < rank) {
            slot += step;
            rank -= m->tree[slot];
        }
    return slot;
}

/* Slots are used up: those that are in use move to the beginning. */
static void compact(struct maker *m)
{
    uint32_t live = m->live, *order = m->at;
    for (uint32_t i = 0; i < live; i++)
        order[i] = m->at[find(m, i + 1)];
    memset(m->tree, 0, (SLOTS + 1) * sizeof(*m->tree));
    m->next = m->live = 0;
    for (uint32_t i = 0; i < live; i++)
        push(m, order[i]);
}

/* The block at a depth is on top now.  Returns: it */
static uint32_t take(struct maker *m, uint32_t depth)
{
    uint32_t slot = find(m, m->live - depth), block = m->at[slot];
    count(m, slot, (uint32_t)-1);
    m->live--;
    if (m->next == SLOTS)
        compact(m);
    push(m, block);
    return block;
}

static int new_block(struct maker *m, uint32_t *out_block)
{
    if (m->nblocks == m->room) {
        uint64_t room = m->room ? 2 * m->room : 1024;
        struct block *more = realloc(m->blocks, room * sizeof(*more));
        if (!more)
            return -1;
        m->blocks = more;
        m->room = room;
    }
    m->blocks[m->nblocks] = (struct block){{0, 0}};
    *out_block = (uint32_t)m->nblocks++;
    if (m->next == SLOTS)
        compact(m);
    push(m, *out_block);
    return 0;
}

/* ------------------------------------------------------------------------------------------------- drawing */

/* What the stream lacks of a bucket, if it is to be right WINDOW references from now. */
static double lack(const struct maker *m, unsigned width, unsigned bucket)
{
    double missing = m->aim[width][bucket] * (m->n + WINDOW) - m->made[width][bucket];
    return missing > 0 ? missing : 0;
}

static int possible(const struct maker *m, unsigned bucket)
{
    if (bucket == PEET_SIM_COLD)
        return m->live < m->limit;
    if (bucket == PEET_SIM_BEYOND)
        return m->live > 1u << 16;
    return m->live > (bucket ? 1u << (bucket - 1) : 0);
}

static unsigned draw_bucket(struct maker *m)
{
    double weight[PEET_SIM_BUCKETS], sum = 0, x;
    unsigned deepest = 0, k;
    for (k = 0; k < PEET_SIM_BUCKETS; k++)
        weight[k] = lack(m, 0, k);
    for (k = 0; k < PEET_SIM_COLD; k++) {
        if (possible(m, k)) {
            deepest = k;
        } else { /* the stack has to grow */
            weight[PEET_SIM_COLD] += weight[k];
            weight[k] = 0;
        }
    }
    if (!possible(m, PEET_SIM_COLD)) {
        weight[deepest] += weight[PEET_SIM_COLD];
        weight[PEET_SIM_COLD] = 0;
    }
    for (k = 0; k < PEET_SIM_BUCKETS; k++)
        sum += weight[k];
    x = uniform(m) * sum;
    for (k = 0; k < PEET_SIM_BUCKETS - 1 && (x -= weight[k]) >= 0; k++)
        ;
    while (!possible(m, k))
        k = k == PEET_SIM_COLD ? deepest : k ? k - 1 : PEET_SIM_COLD;
    return k;
}

/* Words of the block under a node, that steps may take. */
static int has_free(const struct maker *m, uint32_t block, unsigned node, unsigned level)
{
    unsigned first = (node << (7 - level)) & (WORDS - 1), n = WORDS >> level;
    for (unsigned i = first; i < first + n; i++)
        if (!(m->blocks[block].used[i / 64] >> i % 64 & 1))
            return 1;
    return 0;
}

/* How much nearer to the aim the stream comes if the next reference finds its line of this width in this bucket: it
 * adds one to the hits of all caches of at least that depth. */
static void gains(struct maker *m)
{
    for (unsigned w = 0; w < PEET_SIM_WIDTHS; w++) {
        double excess[PEET_SIM_DEPTHS], sum = 0, hits = 0, aim = 0;
        for (unsigned k = 0; k < PEET_SIM_DEPTHS; k++) {
            hits += m->made[w][k];
            aim += m->aim[w][k];
            excess[k] = hits - aim * (m->n + 1);
        }
        m->gain[w][PEET_SIM_BEYOND] = m->gain[w][PEET_SIM_COLD] = 0;
        for (unsigned k = PEET_SIM_DEPTHS; k-- > 0;)
            m->gain[w][k] = m->known[w] ? sum -= excess[k] : 0;
    }
}

/* The best that words under a node can gain, from its own width on; less than NOTHING: there is none. */
static double best(struct maker *m, uint32_t block, const uint8_t *bucket, unsigned node, unsigned width, unsigned last,
    double *value)
{
    double gain = m->gain[width][bucket[node]];
    if (width == last) {
        value[node] = m->options->once && !has_free(m, block, node, width) ? 2 * NOTHING : gain;
        return value[node];
    }
    if (bucket[node] == PEET_SIM_COLD) { /* and so is all below, and free */
        value[node] = 0;
        return 0;
    }
    double a = best(m, block, bucket, 2 * node, width + 1, last, value),
           b = best(m, block, bucket, 2 * node + 1, width + 1, last, value);
    value[node] = gain + (a > b ? a : b);
    return value[node];
}

/* A half of a node, by the signature's alpha.  Returns: the node */
static unsigned by_alpha(struct maker *m, uint32_t block, unsigned node, unsigned width, unsigned bucket)
{
    int half = peet_sim_surface_half(m->surface, (uint64_t)block * 512, node),
        same = half >= 0 && bucket != PEET_SIM_COLD;
    unsigned next =
        2 * node + (same ? (unsigned)half ^ (uniform(m) >= m->alpha[width][bucket]) : (unsigned)below(m, 2));
    return m->options->once && !has_free(m, block, next, width + 1) ? next ^ 1 : next;
}

/* The narrowest width that is watched. */
static unsigned last_known(const struct maker *m)
{
    unsigned last = 0;
    while (last < PEET_SIM_HALVINGS && m->known[last + 1])
        last++;
    return last;
}

/* What all words under a node can gain, those that can: a block stays near for many references, and they need words, too.
 * @gain: by the nodes above */
static double supply(const struct maker *m, uint32_t block, const uint8_t *bucket, unsigned node, unsigned width,
    unsigned last, double gain)
{
    gain += width ? m->gain[width][bucket[node]] : 0; /* blocks are drawn by the widest width already */
    if (m->options->once && !has_free(m, block, node, width))
        return 0;
    if (width == last)
        return gain > 0 ? gain : 0;
    if (bucket[node] == PEET_SIM_COLD) /* and so is all below */
        return gain > 0 ? gain * (1u << (last - width)) : 0;
    return supply(m, block, bucket, 2 * node, width + 1, last, gain) +
        supply(m, block, bucket, 2 * node + 1, width + 1, last, gain);
}

/* A depth of this bucket: of a few drawn by chance the one whose block has most words to offer. */
static uint32_t draw_depth(struct maker *m, unsigned bucket)
{
    uint8_t buckets[PEET_SIM_NODES];
    double most = -1;
    uint64_t from = bucket ? 1u << (bucket - 1) : 0, to = bucket > 16 ? m->live : 1ull << bucket;
    unsigned last = last_known(m);
    uint32_t chosen = 0;
    if (to > m->live)
        to = m->live;
    if (!last || to - from == 1)
        return (uint32_t)(from + below(m, to - from));
    for (unsigned i = 0; i < CANDIDATES && i < to - from; i++) {
        uint32_t depth = (uint32_t)(from + below(m, to - from)), block = m->at[find(m, m->live - depth)];
        double value;
        peet_sim_surface_where(m->surface, (uint64_t)block * 512, last, buckets);
        value = supply(m, block, buckets, 1, 0, last, 0);
        if (value > most) {
            chosen = depth;
            most = value;
        }
    }
    return chosen;
}

/* Goes down the tree of a block.  Returns: the word */
static unsigned draw_word(struct maker *m, uint32_t block)
{
    uint8_t bucket[PEET_SIM_NODES];
    double value[PEET_SIM_NODES];
    unsigned node = 1, last = last_known(m);
    peet_sim_surface_where(m->surface, (uint64_t)block * 512, PEET_SIM_HALVINGS, bucket);
    if (last)
        best(m, block, bucket, 1, 0, last, value);
    for (unsigned w = 0; w < PEET_SIM_HALVINGS; w++) {
        double a = value[2 * node], b = value[2 * node + 1];
        if (w < last && bucket[node] != PEET_SIM_COLD && a != b)
            node = 2 * node + (b > a);
        else
            node = by_alpha(m, block, node, w, bucket[node]);
    }
    return node & (WORDS - 1);
}

/* ------------------------------------------------------------------------------------------------- the stream */

static int observe(struct maker *m, uint64_t address)
{
    struct peet_sim_found found;
    if (peet_sim_surface_find(m->surface, address, &m->seed->tally, &found) < 0)
        return -1;
    for (unsigned w = 0; w < PEET_SIM_WIDTHS; w++)
        m->made[w][found.bucket[w]]++;
    m->n++;
    m->last = address;
    m->seed->references++;
    return 0;
}

/* The latest step is referenced once more, if what it lacks says so: references within the newest line of the narrowest
 * width that counts. */
static int again(struct maker *m)
{
    unsigned width = m->options->once ? ONCE_WIDTHS - 1 : PEET_SIM_WIDTHS - 1;
    struct peet_cli_step *step = m->seed->n ? &m->seed->steps[m->seed->n - 1] : NULL;
    return step && step->again < MOST_AGAIN && m->known[width] && lack(m, width, 0) > m->aim[width][0] * WINDOW;
}

static int step(struct maker *m)
{
    struct peet_cli_step *last = m->seed->n ? &m->seed->steps[m->seed->n - 1] : NULL;
    if (m->options->once && again(m)) {
        last->again++;
        return observe(m, m->last);
    }
    unsigned bucket = draw_bucket(m), word;
    gains(m);
    uint32_t block;
    if (bucket == PEET_SIM_COLD) {
        if (new_block(m, &block))
            return -1;
    } else {
        block = take(m, draw_depth(m, bucket));
        if (m->options->once && !has_free(m, block, 1, 0)) { /* used up: another one takes its place in the stack */
            m->live--;
            count(m, --m->next, (uint32_t)-1);
            if (new_block(m, &block))
                return -1;
        }
    }
    word = draw_word(m, block);
    m->blocks[block].used[word / 64] |= 1ull << word % 64;
    m->seed->steps[m->seed->n++] = (struct peet_cli_step){block * (uint32_t)WORDS + word, 0};
    return observe(m, (uint64_t)block * 512 + word * 4ull);
}

static void aims(struct maker *m, const struct peet_cli_signature *s)
{
    int counts = s->has_counts && !m->options->plain;
    for (unsigned w = 0; w < PEET_SIM_WIDTHS; w++) {
        m->known[w] = w == 0 || (counts && (!m->options->once || w < ONCE_WIDTHS));
        for (unsigned k = 0; k < PEET_SIM_BUCKETS; k++)
            m->aim[w][k] = (double)s->tally.reuse[w][k] / (double)s->tally.references;
    }
    for (unsigned h = 0; h < PEET_SIM_HALVINGS; h++)
        for (unsigned k = 0; k < PEET_SIM_BUCKETS; k++)
            m->alpha[h][k] = counts && k < PEET_SIM_COLD && s->tally.reuse[h][k]
                ? (double)s->tally.same[h][k] / (double)s->tally.reuse[h][k]
                : s->alphas[h];
}

int peet_cli_seed_make(const struct peet_cli_signature *signature, const struct peet_cli_seed_options *options,
    struct peet_cli_seed *out, struct peet_error *error)
{
    struct maker m = {.options = options,
        .seed = out,
        .random = options->random * 0x9e3779b97f4a7c15u | 1,
        .limit = options->blocks ? options->blocks : 1u << 19};
    int status = 0;
    memset(out, 0, sizeof(*out));
    if (options->length < 1 || options->length > 1ull << 32)
        return peet_error_set(error, PEET_ELIMIT, "a stream has 1 to 2^32 references, not %llu",
            (unsigned long long)options->length);
    if (m.limit > 1u << 19)
        return peet_error_set(error, PEET_ELIMIT, "a stream has at most %u blocks of 512 bytes", 1u << 19);
    m.surface = peet_sim_surface_new();
    m.tree = calloc(SLOTS + 1, sizeof(*m.tree));
    m.at = malloc(SLOTS * sizeof(*m.at));
    out->steps = malloc(options->length * sizeof(*out->steps));
    if (!m.surface || !m.tree || !m.at || !out->steps)
        status = peet_error_set(error, PEET_ENOMEM, "out of memory");
    aims(&m, signature);
    while (!status && out->references < options->length)
        if (step(&m))
            status = peet_error_set(error, PEET_ENOMEM, "out of memory");
    out->blocks = m.nblocks;
    peet_sim_tally_settle(&out->tally);
    peet_sim_surface_free(m.surface);
    free(m.tree);
    free(m.at);
    free(m.blocks);
    if (status)
        peet_cli_seed_fini(out);
    return status;
}

void peet_cli_seed_fini(struct peet_cli_seed *seed)
{
    free(seed->steps);
    memset(seed, 0, sizeof(*seed));
}
