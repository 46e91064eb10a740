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
 *
 * A prefetcher sees more than that: lines that follow each other.  Where a signature says that references to far lines
 * are strided, a pointer chase *walks*: some steps, which one instruction of their own makes, go from a line of 64
 * bytes to the next one.  Their share of each reuse distance of such lines is watched like all others.
 */
#include "locality.h"
#include "progress.h"

#include <stdlib.h>
#include <string.h>

enum {
    WINDOW = 2000,
    SLOTS = 1 << 20,
    WORDS = 128,
    NONE = 0,
    ONCE_WIDTHS = 4 /* widths of 512 to 64 bytes */,
    CANDIDATES = 8,
    LINES = 8, /* of 64 bytes in a block */
    LEAST_WALK = 32,
    RUN = 8,         /* blocks that are kept for a walk through new memory: a page */
    HELD_LINES = 10, /* beyond 2^9 lines, which first-level caches hold */
    FAR_LINES = 12   /* beyond 2^11 lines; what is nearer is on the stack, and new lines cannot stand for it */
};

static const double NOTHING = -1e300;
/* So many times what the signature says is strided: a walk that takes all far lines leaves none to the blocks on the stack. */
static const double MOST_WALKED = 1.2;

struct block {
    uint64_t used[2]; /* its words that steps have taken */
    uint8_t strided;  /* lines of 64 bytes to which a walk went as the program's goes; a bit each */
    uint32_t slot;    /* in the LRU stack; UNBORN: it is kept for a walk that has not come to it, GONE: used up */
};
enum { UNBORN = SLOTS, GONE = SLOTS + 1 };

struct maker {
    const struct peet_cli_seed_options *options;
    struct peet_sim_surface *surface;
    struct peet_cli_seed *seed;
    double aim[PEET_SIM_WIDTHS][PEET_SIM_BUCKETS]; /* shares */
    double alpha[PEET_SIM_HALVINGS][PEET_SIM_BUCKETS];
    int known[PEET_SIM_WIDTHS];
    double made[PEET_SIM_WIDTHS][PEET_SIM_BUCKETS], n, gain[PEET_SIM_WIDTHS][PEET_SIM_BUCKETS];
    uint64_t random;
    /* Of each reuse distance of 64-byte lines what is strided, as aim (shares) and so far; the line to which the walk
     * goes next, UINT64_MAX: there is no walk */
    double strided_aim[PEET_SIM_BUCKETS], strided[PEET_SIM_BUCKETS], strided_all;
    double walked, replaced; /* steps of the program's own walks; those that stand for what is too much */
    double strided_share;    /* of all references to far lines */
    double used_up;          /* lines of 64 bytes without free words, but for those of the program's own walks */
    uint64_t walk;
    unsigned walk_word; /* of the line */
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
    m->blocks[block].slot = m->next;
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

/* A block is on top now, wherever it was. */
static void lift(struct maker *m, uint32_t block)
{
    if (m->blocks[block].slot < SLOTS) {
        count(m, m->blocks[block].slot, (uint32_t)-1);
        m->live--;
    }
    if (m->next == SLOTS)
        compact(m);
    push(m, block);
}

/* The block on top is used up. */
static void drop(struct maker *m, uint32_t block)
{
    m->live--;
    count(m, --m->next, (uint32_t)-1);
    m->blocks[block].slot = GONE;
}

/* Blocks with numbers one after the other, the first at a multiple of @n, a power of two; none is on the stack. */
static int keep_blocks(struct maker *m, uint32_t n, uint32_t *out_first)
{
    uint64_t first = (m->nblocks + n - 1) & -(uint64_t)n;
    if (first + n > m->room) {
        uint64_t room = m->room ? 2 * m->room : 1024;
        struct block *more = realloc(m->blocks, room * sizeof(*more));
        if (!more)
            return -1;
        m->blocks = more;
        m->room = room;
    }
    for (uint64_t i = m->nblocks; i < first + n; i++)
        m->blocks[i] = (struct block){{0, 0}, 0, i < first ? GONE : UNBORN};
    m->nblocks = first + n;
    *out_first = (uint32_t)first;
    return 0;
}

static int new_block(struct maker *m, uint32_t *out_block)
{
    if (keep_blocks(m, 1, out_block))
        return -1;
    lift(m, *out_block);
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
    m->seed->references++;
    return 0;
}

/* --------------------------------------------------------------------------------------------------- walks */

/* In which bucket a line of 64 bytes would be found; -1: no step can go there. */
static int line_bucket(const struct maker *m, uint64_t line)
{
    uint8_t bucket[PEET_SIM_NODES];
    const uint64_t block = line / LINES;
    if (block >= m->nblocks || m->blocks[block].slot == GONE ||
        (m->blocks[block].slot == UNBORN && !possible(m, PEET_SIM_COLD)) ||
        !has_free(m, (uint32_t)block, LINES + (unsigned)(line % LINES), PEET_SIM_STRIDED_WIDTH))
        return -1;
    peet_sim_surface_where(m->surface, line * 64, PEET_SIM_STRIDED_WIDTH, bucket);
    return bucket[LINES + line % LINES];
}

/* What is missing of strided references to lines of a bucket; less than 0: there are too many */
static double strided_lack(const struct maker *m, unsigned bucket)
{
    return m->strided_aim[bucket] * (m->n + 1) - m->strided[bucket];
}

/* The same of all far lines.  New lines stand for all that is missing: elements are used up, and when the stream begins again,
 * lines that were new are far. */
static double strided_lack_far(const struct maker *m)
{
    double missing = 0;
    for (unsigned k = FAR_LINES; k < PEET_SIM_BUCKETS; k++)
        missing += strided_lack(m, k);
    return missing;
}

/* A walk can take so many lines from here on, up to the end of the page. */
static unsigned walk_length(const struct maker *m, uint64_t line)
{
    unsigned n = 0;
    do {
        const uint64_t block = line / LINES;
        if (block >= m->nblocks || m->blocks[block].slot == GONE ||
            !has_free(m, (uint32_t)block, LINES + (unsigned)(line % LINES), PEET_SIM_STRIDED_WIDTH))
            break;
        n++;
    } while (++line % (RUN * LINES));
    return n;
}

/* A walk begins where it finds the lines of which most strided references are missing.  Returns: 0, or -1 without memory */
static int begin_walk(struct maker *m)
{
    unsigned wanted = FAR_LINES, from, to;
    uint32_t first;
    for (unsigned k = FAR_LINES; k < PEET_SIM_COLD; k++)
        if (strided_lack(m, k) > strided_lack(m, wanted))
            wanted = k;
    to = wanted; /* blocks are fewer than lines */
    from = wanted > PEET_SIM_STRIDED_WIDTH ? wanted - PEET_SIM_STRIDED_WIDTH - 1 : 0;
    for (unsigned i = 0; i < CANDIDATES; i++) {
        const uint64_t low = 1ull << from, high = 1ull << to < m->live ? 1ull << to : m->live;
        uint64_t line;
        const uint64_t block = low < high ? m->at[find(m, m->live - (uint32_t)(low + below(m, high - low)))] : 0;
        if (low >= high)
            continue;
        line = (block & -(uint64_t)RUN) * LINES; /* preferably the whole page */
        if (line_bucket(m, line) != (int)wanted)
            line = block * LINES;
        if (line_bucket(m, line) == (int)wanted && walk_length(m, line) >= LEAST_WALK) {
            m->walk = line;
            return 0;
        }
    }
    m->walk = UINT64_MAX;
    if (!possible(m, PEET_SIM_COLD))
        return 0;
    if (keep_blocks(m, RUN, &first))
        return -1;
    m->walk = (uint64_t)first * LINES;
    return 0;
}

/* Where the walk goes next, there is a far line that a step can go to.  Returns: its bucket, or -1 */
static int walk_bucket(const struct maker *m)
{
    int bucket = m->walk == UINT64_MAX ? -1 : line_bucket(m, m->walk);
    return bucket >= FAR_LINES ? bucket : -1;
}

/* The word of a line that a walk takes: the same one as in the line before, if it is free. */
static unsigned walk_word(const struct maker *m, uint64_t line)
{
    const unsigned first = (unsigned)(line % LINES) * (WORDS / LINES);
    const uint64_t *used = m->blocks[line / LINES].used;
    for (unsigned i = 0; i < WORDS / LINES; i++) {
        const unsigned word = first + (m->walk_word + i) % (WORDS / LINES);
        if (!(used[word / 64] >> word % 64 & 1))
            return word;
    }
    return first;
}

/* What the stream gains if the elements of the latest steps are referenced again by turns; 0: nothing, or their lines of 64
 * bytes are not different ones. */
static double turns_gain(const struct maker *m, unsigned among)
{
    const struct peet_cli_step *step = m->seed->steps + m->seed->n - among;
    double gain = 0;
    for (unsigned w = 0; w < ONCE_WIDTHS; w++) {
        unsigned lines = among;
        for (unsigned i = 0; i < among; i++)
            for (unsigned j = 0; j < i; j++)
                if (!((step[i].element ^ step[j].element) >> (PEET_SIM_HALVINGS - w))) {
                    lines--;
                    break;
                }
        gain += m->gain[w][lines / 2]; /* of 1, 2 and 4: a distance of 0, 1 and 3; 3 are between */
        if (w == PEET_SIM_STRIDED_WIDTH && lines < among)
            return 0;
    }
    return gain;
}

/* So many references more come again after the latest step, if what the stream lacks says so: to its element, if it lacks
 * references to the newest line of the narrowest width that counts; or by turns to the latest two or four, if it lacks
 * references that are as far.  No element is used up by them. */
static unsigned again(struct maker *m)
{
    const unsigned width = m->options->once ? ONCE_WIDTHS - 1 : PEET_SIM_WIDTHS - 1;
    struct peet_cli_step *step = m->seed->n ? &m->seed->steps[m->seed->n - 1] : NULL;
    double most = 0;
    unsigned chosen = 0;
    if (!step || !m->known[width])
        return 0;
    if (step->among == 1 && lack(m, width, 0) > m->aim[width][0] * WINDOW)
        return step->again + 3 > PEET_CLI_MOST_AGAIN ? 0 : step->again < PEET_CLI_FEW_AGAIN ? 1 : 3;
    for (unsigned among = 2; among <= 4 && among <= m->seed->n; among *= 2) {
        double gain;
        if ((step->again && step->among != among) || step->again >= PEET_CLI_MOST_TURNS * among ||
            lack(m, width, among / 2) <= m->aim[width][among / 2] * WINDOW)
            continue;
        gains(m);
        gain = turns_gain(m, among);
        if (gain > most) {
            most = gain;
            chosen = among;
        }
    }
    if (chosen)
        step->among = chosen;
    return chosen;
}

/* Block and word are a step. */
static int make_step(struct maker *m, uint32_t block, unsigned word, int strided)
{
    const unsigned line = word / (WORDS / LINES);

    m->blocks[block].used[word / 64] |= 1ull << word % 64;
    if (!has_free(m, block, LINES + line, PEET_SIM_STRIDED_WIDTH) && !(m->blocks[block].strided >> line & 1))
        m->used_up++;
    m->seed->steps[m->seed->n++] = (struct peet_cli_step){block * (uint32_t)WORDS + word, 0, 1, strided};
    return observe(m, (uint64_t)block * 512 + word * 4ull);
}

/* A step of the walk, to the line that is next.  @own: the program makes such steps, and this one does not stand for what is too much */
static int step_on(struct maker *m, unsigned bucket, int own)
{
    const uint32_t block = (uint32_t)(m->walk / LINES);
    m->blocks[block].strided |= (uint8_t)(own << m->walk % LINES);
    const unsigned word = walk_word(m, m->walk);
    lift(m, block);
    m->walk++;
    m->walk_word = word % (WORDS / LINES);
    m->strided[bucket]++;
    own ? m->walked++ : m->replaced++;
    return make_step(m, block, word, 1);
}

/* A step of the walk whenever their share says so: regularly, so that a line's other elements are referenced before the
 * next line comes.  Returns: 1: it is made, 0: it is not, -1: no memory */
static int step_in_turn(struct maker *m)
{
    int bucket = walk_bucket(m);
    if (strided_lack_far(m) <= 0)
        return 0;
    if (bucket < 0 || (m->walk % (RUN * LINES) == 0 && strided_lack(m, (unsigned)bucket) <= 0)) {
        if (begin_walk(m))
            return -1;
        bucket = walk_bucket(m);
    }
    return bucket < 0 ? 0 : step_on(m, (unsigned)bucket, 1) ? -1 : 1;
}

/* So many references to lines that first-level caches do not hold are too many because elements are used up: for each line
 * without free words another one has to come, unless a walk that the program makes has brought it, and goes on to the next one
 * anyway.  Lines that a walk brings are too many as well, but if more walks stood for these, nothing would end them. */
static double too_many(const struct maker *m)
{
    double n = 0;
    for (unsigned k = HELD_LINES; k < PEET_SIM_BUCKETS && m->known[PEET_SIM_STRIDED_WIDTH]; k++)
        n += m->made[PEET_SIM_STRIDED_WIDTH][k] - m->aim[PEET_SIM_STRIDED_WIDTH][k] * (m->n + 1);
    return n > m->used_up ? m->used_up : n > 0 ? n : 0;
}

/* A step to a far line that is none of the walk was drawn; @isnew: to one that was never referenced.  As many of them belong to
 * the walk as the signature says, and of the new ones all that are too many: a prefetcher foresees them, and the program has
 * none.  Returns: as above */
static int step_instead(struct maker *m, int isnew)
{
    const int replaces = isnew && m->replaced < too_many(m);
    if (!m->options->once ||
        (!replaces && (m->walked >= MOST_WALKED * m->strided_all * m->n || uniform(m) >= m->strided_share)))
        return 0;
    if (walk_bucket(m) < 0 && begin_walk(m))
        return -1;
    return walk_bucket(m) < 0 ? 0 : step_on(m, (unsigned)walk_bucket(m), !replaces) ? -1 : 1;
}

/* A step to a block that is new to the stack. */
static int step_to_new(struct maker *m)
{
    uint32_t block;
    int made = step_instead(m, 1);
    if (made)
        return made < 0 ? -1 : 0;
    return new_block(m, &block) ? -1 : make_step(m, block, draw_word(m, block), 0);
}

static int step(struct maker *m)
{
    struct peet_cli_step *last = m->seed->n ? &m->seed->steps[m->seed->n - 1] : NULL;
    unsigned bucket, word;
    uint32_t block;
    int made;
    for (unsigned more = m->options->once ? again(m) : 0; more; more--) {
        last->again++;
        if (observe(m, peet_cli_step_again(last, last->again - 1) * 4ull))
            return -1;
        if (more == 1)
            return 0;
    }
    made = m->options->once ? step_in_turn(m) : 0;
    if (made)
        return made < 0 ? -1 : 0;
    bucket = draw_bucket(m);
    gains(m);
    if (bucket == PEET_SIM_COLD)
        return step_to_new(m);
    block = m->at[find(m, m->live - draw_depth(m, bucket))];
    if (m->options->once && !has_free(m, block, 1, 0)) { /* used up: another one takes its place in the stack */
        lift(m, block);
        drop(m, block);
        return step_to_new(m);
    }
    word = draw_word(m, block);
    if (m->options->once) {
        const int found = line_bucket(m, block * (uint64_t)LINES + word / (WORDS / LINES));
        if (found >= FAR_LINES && (made = step_instead(m, found == PEET_SIM_COLD)))
            return made < 0 ? -1 : 0;
    }
    lift(m, block);
    return make_step(m, block, word, 0);
}

static void aims(struct maker *m, const struct peet_cli_signature *s)
{
    int counts = s->has_counts && !m->options->plain;
    for (unsigned w = 0; w < PEET_SIM_WIDTHS; w++) {
        m->known[w] = w == 0 || (counts && (!m->options->once || w < ONCE_WIDTHS));
        for (unsigned k = 0; k < PEET_SIM_BUCKETS; k++)
            m->aim[w][k] = (double)s->tally.reuse[w][k] / (double)s->tally.references;
    }
    double far = 0, strided = 0;
    for (unsigned k = FAR_LINES; counts && k < PEET_SIM_BUCKETS; k++) {
        m->strided_aim[k] = (double)s->tally.strided[k] / (double)s->tally.references;
        strided += m->strided_aim[k];
        far += m->aim[PEET_SIM_STRIDED_WIDTH][k];
    }
    m->strided_all = strided;
    m->strided_share = strided > 0 ? strided / far : 0;
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
        .walk = UINT64_MAX,
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
    while (!status && out->references < options->length) {
        if (out->n % 1024 == 0)
            peet_cli_work(options->what, (double)out->references / (double)options->length);
        if (step(&m))
            status = peet_error_set(error, PEET_ENOMEM, "out of memory");
    }
    peet_cli_work_clear();
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
