/* SPDX-License-Identifier: Apache-2.0 */
/* Deeply nested loops with aligned heads (padding between them is executed), early exits, several functions in one section. */
#include <stdio.h>


#ifdef SMALL
#define N 20
#define ROUNDS 1
#else
#define N 48
#define ROUNDS 6
#endif

static int distance[N][N], cube[12][12][12][12];
static unsigned char path[N][N];

__attribute__((noinline)) static void shortest(void)
{
    for (int k = 0; k < N; k++)
        for (int i = 0; i < N; i++)
            for (int j = 0; j < N; j++) {
                int d = distance[i][k] + distance[k][j];
                if (d < distance[i][j]) {
                    distance[i][j] = d;
                    path[i][j] = (unsigned char)k;
                }
            }
}

__attribute__((noinline)) static long four_deep(int limit)
{
    long sum = 0;
    for (int a = 0; a < 12; a++)
        for (int b = a; b < 12; b++)
            for (int c = 0; c < 12 - b; c++)
                for (int d = 0; d < 12; d++) {
                    cube[a][b][c][d] += a * b - c * d;
                    if (cube[a][b][c][d] > limit)
                        goto out;
                    if (cube[a][b][c][d] == 17)
                        break;
                    sum += cube[a][b][c][d];
                }
out:
    return sum;
}

__attribute__((noinline)) static int hops(int i, int j)
{
    int n = 0;
    while (path[i][j] && n < 100) {
        i = path[i][j];
        n++;
        do {
            j = (j + 1) % N;
        } while (j == i);
    }
    return n;
}

int main(void)
{
    long sum = 0;
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            distance[i][j] = i == j ? 0 : 1 + (i * 31 + j * 17) % 97;
    for (int round = 0; round < ROUNDS; round++) {
        shortest();
        sum += four_deep(100 + round * 40);
    }
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            sum += hops(i, j) + distance[i][j];
    printf("%ld\n", sum);
    return 0;
}
