/* SPDX-License-Identifier: Apache-2.0 */
/* A list and a tree in an arena: deep linear recursion, and calls in conditions. */
#include <stdio.h>
#define NOINLINE __attribute__((noinline))
struct node { long key; struct node *left, *right; };
static struct node arena[2000];
static long used;
static NOINLINE struct node *fresh(long key) { struct node *n = &arena[used++]; n->key = key; return n; }
static NOINLINE struct node *insert(struct node *n, long key)
{
    if (!n)
        return fresh(key);
    if (key < n->key)
        n->left = insert(n->left, key);
    else if (key > n->key)
        n->right = insert(n->right, key);
    return n;
}
static NOINLINE long depth(const struct node *n)
{
    if (!n)
        return 0;
    long l = depth(n->left), r = depth(n->right);
    return 1 + (l > r ? l : r);
}
static NOINLINE long length(const struct node *n) { return n ? 1 + length(n->right) : 0; }
static NOINLINE long contains(const struct node *n, long key) { return n && (n->key == key || contains(n->left, key) || contains(n->right, key)); }
int main(void)
{
    struct node *tree = NULL, *chain = NULL;
    for (long i = 0; i < 200; i++)
        tree = insert(tree, i * 7919 % 211);
    for (long i = 0; i < 120; i++)
        chain = insert(chain, i);
    printf("%ld %ld %ld %ld\n", depth(tree), depth(chain), length(chain), contains(tree, 500));
    return 0;
}
