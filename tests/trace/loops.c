/* SPDX-License-Identifier: Apache-2.0 */
/* Doall loops, one inside the other, in the function form and in the marker form. */
#include <peet/doall.h>
#include <stdio.h>

enum { ROWS = 12, COLUMNS = 40 };
static double grid[ROWS][COLUMNS];

static void cell(long i, void *row)
{
    ((double *)row)[i] += i;
}

static void row(long i, void *arg)
{
    (void)arg;
    peet_doall(0, COLUMNS, PEET_DOALL_DYNAMIC, 8, cell, grid[i]);
    for (int k = 1; k < COLUMNS; k++)
        grid[i][k] += grid[i][k - 1];
}

int main(void)
{
    double s = 0;

    for (int round = 0; round < 3; round++)
        peet_doall(0, ROWS, PEET_DOALL_STATIC, 0, row, NULL);
    peet_mark_fork(0, ROWS, PEET_DOALL_DYNAMIC, 1);
    for (long i = 0; i < ROWS; i++) {
        peet_mark_start(i);
        for (int k = 0; k < COLUMNS; k++)
            grid[i][k] *= 2;
        peet_mark_finish(i);
    }
    peet_mark_join();
    for (int i = 0; i < ROWS; i++)
        s += grid[i][COLUMNS - 1];
    printf("%g\n", s);
    return 0;
}
