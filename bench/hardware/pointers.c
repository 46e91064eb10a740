/* SPDX-License-Identifier: Apache-2.0 */
/* Pointers: lists, trees, graphs, tries, chained tables, in memory of their own or the C library's. */
#include "kernels.h"

enum { NODES = 2000 };

static struct node {
    struct node *left, *right;
    uint64_t key;
} nodes[NODES];

static uint64_t lists(void)
{
    struct node *head = NULL;
    uint64_t sum = 0;
    for (int i = 0; i < NODES; i++) {
        nodes[i * 7 % NODES].left = head;
        nodes[i * 7 % NODES].key = (uint64_t)i;
        head = &nodes[i * 7 % NODES];
    }
    for (int round = 0; round < 10; round++) {
        struct node *reversed = NULL;
        while (head) {
            struct node *next = head->left;
            sum += head->key;
            head->left = reversed;
            reversed = head;
            head = next;
        }
        head = reversed;
    }
    return sum;
}

static __attribute__((noinline)) uint64_t walk(const struct node *n, uint64_t depth)
{
    return n ? walk(n->left, depth + 1) + n->key * depth + walk(n->right, depth + 1) : 0;
}

/** A search tree of random keys. */
static uint64_t grow(struct node *(*get)(int), uint64_t seed)
{
    struct node *root = NULL;
    for (int i = 0; i < NODES; i++) {
        struct node **at = &root, *n = get(i);
        *n = (struct node){NULL, NULL, bench_random(&seed) >> 40};
        while (*at)
            at = n->key < (*at)->key ? &(*at)->left : &(*at)->right;
        *at = n;
    }
    return walk(root, 1);
}

static struct node *own(int i)
{
    return &nodes[i];
}

static struct node *taken[NODES];

static struct node *library(int i)
{
    return taken[i] = malloc(sizeof(struct node));
}

static uint64_t tree(void)
{
    return grow(own, 1);
}

static uint64_t treesort(void)
{
    const uint64_t sum = grow(library, 2);
    for (int i = 0; i < NODES; i++)
        free(taken[i]);
    return sum;
}

static uint64_t graph(void)
{
    static int edges[NODES][4], queue[NODES], distance[NODES];
    uint64_t seed = 3, sum = 0;
    int head = 0, tail = 0;
    for (int i = 0; i < NODES; i++) {
        distance[i] = -1;
        for (int k = 0; k < 4; k++)
            edges[i][k] = (int)(bench_random(&seed) % NODES);
    }
    distance[0] = 0;
    queue[tail++] = 0;
    while (head < tail) {
        int n = queue[head++];
        sum += (uint64_t)distance[n];
        for (int k = 0; k < 4; k++)
            if (distance[edges[n][k]] < 0) {
                distance[edges[n][k]] = distance[n] + 1;
                queue[tail++] = edges[n][k];
            }
    }
    return sum;
}

static uint64_t trie(void)
{
    static unsigned next[NODES * 4][4];
    uint64_t seed = 4, found = 0;
    unsigned used = 1;
    memset(next, 0, sizeof next);
    for (int i = 0; i < 800; i++) {
        uint64_t word = bench_random(&seed);
        unsigned at = 0;
        for (int k = 0; k < 8; k++, word >>= 2) {
            if (!next[at][word & 3])
                next[at][word & 3] = used++;
            at = next[at][word & 3];
        }
    }
    for (int i = 0; i < 3000; i++) {
        uint64_t word = bench_random(&seed);
        unsigned at = 0;
        for (int k = 0; k < 8 && (k == 0 || at); k++, word >>= 2)
            at = next[at][word & 3];
        found += at != 0;
    }
    return found;
}

static uint64_t chained(void)
{
    static struct node *buckets[512];
    uint64_t seed = 6, found = 0;
    memset(buckets, 0, sizeof buckets);
    for (int i = 0; i < 1000; i++) {
        nodes[i].key = bench_random(&seed) % 3000;
        nodes[i].left = buckets[nodes[i].key * 2654435761u >> 8 & 511];
        buckets[nodes[i].key * 2654435761u >> 8 & 511] = &nodes[i];
    }
    for (uint64_t key = 0; key < 3000; key++)
        for (const struct node *n = buckets[key * 2654435761u >> 8 & 511]; n; n = n->left)
            if (n->key == key) {
                found++;
                break;
            }
    return found;
}

/* steps through a permutation that L2 or L3 holds */
static uint64_t hop_through(size_t words, int steps)
{
    static uint32_t *next;
    static size_t made;
    uint32_t at = 0;
    if (made != words) {
        uint64_t seed = 8;
        free(next);
        next = bench_alloc(words, sizeof *next);
        for (size_t i = 0; i < words; i++)
            next[i] = (uint32_t)i;
        for (size_t i = words - 1; i > 0; i--) {
            size_t j = bench_random(&seed) % i;
            uint32_t t = next[i];
            next[i] = next[j];
            next[j] = t;
        }
        made = words;
    }
    for (int i = 0; i < steps; i++)
        at = next[at];
    return at;
}

static uint64_t hops_l2(void)
{
    return hop_through(60000, 20000);
}

static uint64_t hops_l3(void)
{
    return hop_through(400000, 20000);
}

KERNELS({"lists", lists}, {"tree", tree}, {"treesort", treesort}, {"graph", graph}, {"trie", trie},
    {"chained", chained}, {"hops_l2", hops_l2}, {"hops_l3", hops_l3})
