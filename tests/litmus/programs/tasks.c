/* SPDX-License-Identifier: Apache-2.0 */
/* OpenMP's tasks, loops, reductions and critical sections, without data races: what they compute lies on the heap beside
 * what OpenMP's runtime keeps for itself. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct node {
    struct node *left, *right;
    long value, sum;
    char room[]; /* of many sizes, so that nodes lie in pages with all that OpenMP's runtime has */
};
static int drawn, counted;
#pragma omp threadprivate(drawn)

static struct node *grow(int depth, long value)
{
    const size_t room = (size_t)(value * 97 % 2000);
    struct node *n = calloc(1, sizeof *n + room);
    n->value = value;
    memset(n->room, 1, room);
#pragma omp critical
    counted++;
    if (depth > 0) {
#pragma omp task shared(n)
        n->left = grow(depth - 1, 2 * value);
#pragma omp task shared(n)
        n->right = grow(depth - 1, 2 * value + 1);
#pragma omp taskwait
    }
    drawn++;
    return n;
}

static long add(struct node *n)
{
    long left = 0, right = 0;
    if (!n)
        return 0;
#pragma omp task shared(left)
    left = add(n->left);
#pragma omp task shared(right)
    right = add(n->right);
#pragma omp taskwait
    free(n->left);
    free(n->right);
    return n->sum = n->value + left + right;
}

/* One task makes others, in rounds, and waits for those of each; they fill rows of a table on the heap. */
static long fill(void)
{
    enum { ROUNDS = 10, ROWS = 12, WORDS = 256 };
    long *rows[ROWS] = {NULL}, sum = 0;
#pragma omp parallel num_threads(4)
#pragma omp single nowait
#pragma omp task untied shared(rows)
    for (int round = 0; round < ROUNDS; round++) {
        for (int row = 0; row < ROWS; row++)
            if ((row + round) % 3) {
#pragma omp task untied firstprivate(row, round) shared(rows)
                {
                    if (!rows[row])
                        rows[row] = calloc(WORDS, sizeof **rows);
                    for (int i = 0; i < WORDS; i++)
                        rows[row][i] = rows[row][i] * 3 % 1009 + row + round + i;
                }
            }
#pragma omp taskwait
        for (int row = 0; row < ROWS; row++)
            if (rows[row] && row != round) {
#pragma omp task untied firstprivate(row, round) shared(rows)
                for (int i = 0; i < WORDS; i++)
                    rows[row][i] += rows[round] ? rows[round][i] % 7 : 1;
            }
#pragma omp taskwait
    }
    for (int row = 0; row < ROWS; row++) {
        for (int i = 0; i < WORDS; i++)
            sum += rows[row][i];
        free(rows[row]);
    }
    return sum;
}

int main(void)
{
    enum { N = 200 };
    long *chain = calloc(N, sizeof *chain), total = 0, seen = 0;
    struct node *root = NULL;
#pragma omp parallel num_threads(4)
    {
#pragma omp single
        root = grow(6, 1);
#pragma omp critical
        seen += drawn;
    }
    printf("%ld nodes, %d\n", seen, counted);
#pragma omp parallel num_threads(4)
#pragma omp single
    printf("sum %ld\n", add(root));
    free(root);
#pragma omp parallel num_threads(4)
#pragma omp single
    for (int i = 0; i < N; i++) {
#pragma omp task depend(in : chain[i ? i - 1 : 0]) depend(out : chain[i])
        chain[i] = i ? chain[i - 1] * 3 % 1009 + i : 1;
    }
#pragma omp parallel for schedule(dynamic, 7) reduction(+ : total) num_threads(4)
    for (int i = 0; i < N; i++)
        total += chain[i];
    printf("total %ld\n", total);
    free(chain);
    printf("rows %ld\n", fill());
    return 0;
}
