/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Minimum-cost flow by the primal network simplex: a spanning tree of nodes, priced in blocks of arcs, re-hung at each pivot.
 * Most of its time goes through pointers: up the tree for a cycle, down a subtree for the potentials.  The answer
 * is proved at the end: flow is conserved, within capacities, and no arc has a reduced cost that could be improved.
 *
 *     peetcc -O2 -g -o simplex simplex.c && peet run --observe dtrack -- ./simplex [NODES [ARCS_PER_NODE]]
 */
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum state { UPPER = -1, TREE = 0, LOWER = 1 };

struct arc;
struct node {
    long potential, supply;
    struct node *parent, *child, *next, *previous; /* first child; siblings */
    struct arc *basic;       /* to the parent */
    long depth;
    int direction;           /* of basic: 1 towards the parent, -1 from it */
    int number;
};
struct arc {
    struct node *tail, *head;
    long cost, capacity, flow;
    int state;
};

static struct node *nodes;   /* the last one is the root */
static struct arc *arcs, *dummy_arcs;
static long nnodes, narcs, pivots;

static uint64_t seed = 12345;
static long random_below(long n)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (long)((seed >> 33) % (uint64_t)n);
}

/* ------------------------------------------------------------------------------------------- the tree */

static void hang(struct node *n, struct node *parent)
{
    n->parent = parent;
    n->previous = NULL;
    n->next = parent->child;
    if (n->next)
        n->next->previous = n;
    parent->child = n;
}

static void cut(struct node *n)
{
    if (n->previous)
        n->previous->next = n->next;
    else
        n->parent->child = n->next;
    if (n->next)
        n->next->previous = n->previous;
}

/* All below a node have new potentials and depths. */
static void refresh(struct node *top, long change)
{
    struct node *n = top;
    for (;;) {
        n->potential += change;
        n->depth = n->parent->depth + 1;
        if (n->child) {
            n = n->child;
            continue;
        }
        while (n != top && !n->next)
            n = n->parent;
        if (n == top)
            return;
        n = n->next;
    }
}

static long residual(const struct node *n, int down)
{
    return down == n->direction ? n->basic->flow : n->basic->capacity - n->basic->flow;
}

/* An arc comes into the tree, another one leaves; ties as in strongly feasible trees, so that it cannot cycle. */
static void pivot(struct arc *in)
{
    struct node *first = in->state == LOWER ? in->tail : in->head, *second = in->state == LOWER ? in->head : in->tail;
    struct node *a = first, *b = second, *join, *out = NULL, *below = NULL, *above = NULL;
    long delta = in->capacity;

    while (a != b) {
        struct node **deeper = a->depth >= b->depth ? &a : &b;
        *deeper = (*deeper)->parent;
    }
    join = a;
    for (struct node *n = first; n != join; n = n->parent)
        if (residual(n, 1) < delta) {
            delta = residual(n, 1);
            out = n;
            below = first;
            above = second;
        }
    for (struct node *n = second; n != join; n = n->parent)
        if (residual(n, -1) <= delta) {
            delta = residual(n, -1);
            out = n;
            below = second;
            above = first;
        }
    if (delta > 0) {
        in->flow += in->state * delta;
        for (struct node *n = in->tail; n != join; n = n->parent)
            n->basic->flow -= n->direction * in->state * delta;
        for (struct node *n = in->head; n != join; n = n->parent)
            n->basic->flow += n->direction * in->state * delta;
    }
    pivots++;
    if (!out) {
        in->state = -in->state;
        return;
    }
    out->basic->state = out->basic->flow == 0 ? LOWER : UPPER;
    in->state = TREE;
    /* turn the path from below to out round, and hang it on the other end */
    struct node *n = below, *parent = above;
    struct arc *arc = in;
    int direction = in->tail == below ? 1 : -1;
    for (;;) {
        struct node *old_parent = n->parent;
        struct arc *old_arc = n->basic;
        int old_direction = n->direction;
        cut(n);
        n->basic = arc;
        n->direction = direction;
        hang(n, parent);
        if (n == out)
            break;
        arc = old_arc;
        direction = -old_direction;
        parent = n;
        n = old_parent;
    }
    refresh(below, above->potential - below->potential - below->direction * in->cost);
}

static long reduced_cost(const struct arc *a)
{
    return a->cost + a->tail->potential - a->head->potential;
}

/* The worst arc of the next block that has one. */
static struct arc *price(void)
{
    static long at;
    const long block = narcs / 50 + 10;
    struct arc *best = NULL;
    long worst = 0;

    for (long looked = 0, in_block = 0; looked < narcs; looked++) {
        struct arc *a = &arcs[at];
        long c = a->state * reduced_cost(a);
        at = at + 1 == narcs ? 0 : at + 1;
        if (c < worst) {
            worst = c;
            best = a;
        }
        if (++in_block == block) {
            if (best)
                break;
            in_block = 0;
        }
    }
    return best;
}

/* ---------------------------------------------------------------------------------------- the problem */

static void make(long n, long degree)
{
    nnodes = n;
    narcs = n * degree;
    nodes = calloc((size_t)n + 1, sizeof *nodes);
    arcs = calloc((size_t)narcs, sizeof *arcs);
    dummy_arcs = calloc((size_t)n, sizeof *dummy_arcs);
    if (!nodes || !arcs || !dummy_arcs)
        exit(1);
    for (long i = 0; i < n / 2; i++) {
        long supply = 1 + random_below(20);
        nodes[random_below(n)].supply += supply;
        nodes[random_below(n)].supply -= supply;
    }
    for (long i = 0; i < narcs; i++) {
        long from = i / degree, to = i % degree == 0 ? (from + 1) % n : random_below(n); /* a ring keeps it feasible */
        if (to == from)
            to = (from + 2) % n;
        arcs[i] = (struct arc){&nodes[from], &nodes[to], i % degree == 0 ? 900 + random_below(200) : 1 + random_below(1000),
            i % degree == 0 ? LONG_MAX / 4 : 5 + random_below(60), 0, LOWER};
    }
    struct node *root = &nodes[n];
    for (long i = 0; i < n; i++) {
        struct node *v = &nodes[i];
        long big = 2000 * n;
        v->number = (int)i;
        v->direction = v->supply >= 0 ? 1 : -1;
        dummy_arcs[i] = v->supply >= 0 ? (struct arc){v, root, big, LONG_MAX / 4, v->supply, TREE}
                                       : (struct arc){root, v, big, LONG_MAX / 4, -v->supply, TREE};
        v->basic = &dummy_arcs[i];
        v->potential = -v->direction * big;
        v->depth = 1;
        hang(v, root);
    }
}

static const char *prove(void)
{
    long *balance = calloc((size_t)nnodes + 1, sizeof *balance);
    const char *wrong = NULL;

    for (long i = 0; i < narcs; i++) {
        const struct arc *a = &arcs[i];
        balance[a->tail - nodes] -= a->flow;
        balance[a->head - nodes] += a->flow;
        if (a->flow < 0 || a->flow > a->capacity)
            wrong = "a flow is out of its bounds";
        if ((a->flow < a->capacity && reduced_cost(a) < 0) || (a->flow > 0 && reduced_cost(a) > 0))
            wrong = "an arc could be improved";
    }
    for (long i = 0; i < nnodes; i++) {
        if (balance[i] + nodes[i].supply != 0)
            wrong = "flow is not conserved";
        if (dummy_arcs[i].flow)
            wrong = "a dummy arc is in use";
    }
    free(balance);
    return wrong;
}

int main(int argc, char **argv)
{
    long n = argc > 1 ? atol(argv[1]) : 3000, degree = argc > 2 ? atol(argv[2]) : 8, cost = 0;
    const char *wrong;

    make(n < 4 ? 4 : n, degree < 2 ? 2 : degree);
    for (struct arc *in; (in = price());)
        pivot(in);
    for (long i = 0; i < narcs; i++)
        cost += arcs[i].cost * arcs[i].flow;
    wrong = prove();
    printf("simplex: %ld nodes, %ld arcs, %ld pivots, cost %ld: %s\n", nnodes, narcs, pivots, cost, wrong ? wrong : "optimal");
    free(dummy_arcs);
    free(arcs);
    free(nodes);
    return wrong != NULL;
}
