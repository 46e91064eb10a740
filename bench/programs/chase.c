/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chase NODES ROUNDS: a binary search tree of allocated nodes, filled in random order, searched, and threaded into a
 * list that is walked.  Dependent loads; many small allocations.
 */
#include "common.h"

struct node {
    struct node *left, *right, *next;
    uint64_t key, sum;
};

static struct node *insert(struct node **link, uint64_t key)
{
    while (*link) {
        if ((*link)->key == key)
            return *link;
        link = key < (*link)->key ? &(*link)->left : &(*link)->right;
    }
    *link = bench_alloc(1, sizeof **link);
    (*link)->key = key;
    return *link;
}

/* In order; *tail is where the next node is hung. */
static struct node **thread(struct node *node, struct node **tail)
{
    if (!node)
        return tail;
    tail = thread(node->left, tail);
    *tail = node;
    return thread(node->right, &node->next);
}

int main(int argc, char **argv)
{
    long n = bench_arg(argc, argv, 1, 100000, 1, 20000000), rounds = bench_arg(argc, argv, 2, 20, 1, 100000);
    struct node *root = NULL, *head = NULL;
    uint64_t random = 11, hash = 0;
    for (long i = 0; i < n; i++)
        insert(&root, bench_random(&random) >> 1);
    *thread(root, &head) = NULL;
    for (long r = 0; r < rounds; r++) {
        bench_lap();
        uint64_t again = 11, previous = 0;
        for (long i = 0; i < n / 4; i++)
            insert(&root, bench_random(&again) >> 1)->sum += (uint64_t)i;
        for (int walk = 0; walk < 4; walk++)
            for (struct node *node = head; node; node = node->next) {
                if (node->key < previous && node != head)
                    bench_wrong("the list is not in order");
                previous = node->key;
                hash += node->sum ^ node->key;
            }
    }
    bench_print("chase", bench_mix(0, hash));
    while (head) {
        struct node *next = head->next;
        free(head);
        head = next;
    }
    return 0;
}
