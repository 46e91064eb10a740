/* SPDX-License-Identifier: Apache-2.0 */
/* The allocator: small and large blocks, in and out of order; blocks that grow; zeroed and aligned ones; trees of nodes; blocks that are mappings. */
#include "regions.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SLOTS = 200 };
struct node { struct node *left, *right; int key; };

static unsigned long sum;
static unsigned state = 1;

static unsigned draw(unsigned below)
{
    state = state * 1103515245u + 12345u;
    return (state >> 16) % below;
}

static void any_order(int rounds)
{
    static char *slots[SLOTS];
    for (int k = 0; k < 100 * rounds; k++) {
        char **slot = &slots[draw(SLOTS)];
        const size_t bytes = draw(10) ? draw(300) : draw(60000);
        if (*slot) {
            sum += (unsigned char)**slot;
            free(*slot);
            *slot = NULL;
        } else if ((*slot = draw(5) ? malloc(bytes + 1) : calloc(bytes + 1, 1)) != NULL) {
            **slot = (char)k;
        }
    }
    for (int k = 0; k < SLOTS; k++) {
        free(slots[k]);
        slots[k] = NULL;
    }
}

static struct node *insert(struct node *root, int key)
{
    struct node **link = &root;
    while (*link)
        link = key < (*link)->key ? &(*link)->left : &(*link)->right;
    if ((*link = malloc(sizeof **link)) != NULL)
        **link = (struct node){NULL, NULL, key};
    return root;
}

static void drop(struct node *n)
{
    if (!n)
        return;
    drop(n->left);
    drop(n->right);
    sum += (unsigned)n->key;
    free(n);
}

static void other_ways(int rounds)
{
    for (int k = 0; k < rounds; k++) {
        char *text = NULL;
        size_t n = 1;
        for (; n < 100000; n = n * 3 / 2 + 1)
            if ((text = realloc(text, n)) != NULL)
                text[n - 1] = 'x';
        sum += malloc_usable_size(text) >= n / 2;
        free(text);
        void *aligned = NULL;
        if (posix_memalign(&aligned, 256, 1000 + draw(1000)) == 0)
            free(aligned);
        free(memalign(64, draw(500) + 1));
        free(aligned_alloc(32, 320));
        free(calloc(1, 300000)); /* a mapping, until the threshold has moved */
        text = strdup("a word of some length");
        free(text);
        free(NULL);
    }
}

static void work(int rounds)
{
    struct node *root = NULL;
    any_order(rounds);
    for (int k = 0; k < 40 * rounds; k++)
        root = insert(root, (int)draw(100000));
    drop(root);
    other_ways(rounds);
}

void measured(int rounds)
{
    work(rounds);
}

int main(int argc, char **argv)
{
    MEASURE(argc, argv);
    printf("%lu\n", sum);
    return 0;
}
