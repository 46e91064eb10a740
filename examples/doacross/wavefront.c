/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Longest common subsequence of two texts as a doacross loop: a wavefront.  Iteration i fills row i of the
 * table, in blocks of columns; a block needs the block above it, in row i - 1.  So each iteration WAITs
 * for its predecessor's block and POSTs its own, and on enough processors the rows run one behind the other like the
 * stages of a pipeline.  The blocks are numbered through: block b of row i is number i * B + b, and those of the row
 * before the first count as posted.
 *
 *   peetcc -O2 -o wavefront wavefront.c
 *   ./wavefront                                    plainly: 256 rows and columns, blocks of 16, function form
 *   peet run --cores 8 -- ./wavefront 256 256 16  a processor takes row after row
 *   peet run --cores 8 --schedule static --chunk 1 -- ./wavefront 256 256 16 marker
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <peet/doall.h>

static long rows, columns, block, blocks;
static char *down, *across; /* the texts: one letter each row, each column */
static int *table;          /* rows + 1 rows of columns + 1; row 0 and column 0 are zero */

static void fill_block(long i, long b)
{
    const int *above = table + i * (columns + 1);
    int *here = table + (i + 1) * (columns + 1);
    long end = (b + 1) * block < columns ? (b + 1) * block : columns;

    for (long j = b * block; j < end; j++)
        here[j + 1] = down[i] == across[j] ? above[j] + 1 : above[j + 1] > here[j] ? above[j + 1] : here[j];
}

static void row(long i, void *unused)
{
    (void)unused;
    for (long b = 0; b < blocks; b++) {
        PEET_WAIT((i - 1) * blocks + b);
        fill_block(i, b);
        PEET_POST(i * blocks + b);
    }
}

static void function_form(void)
{
    peet_doacross_loop(0, rows, PEET_DOALL_DYNAMIC, 1, row, NULL);
}

static void statement_form(void)
{
    PEET_DOACROSS_WITH(i, 0, rows, PEET_DOALL_DYNAMIC, 1)
        row(i, NULL);
}

static void marker_form(void)
{
    PEET_FORK_DOACROSS(rows);
    for (long i = 0; i < rows; i++) {
        PEET_START_DOACROSS_ITER(i);
        row(i, NULL);
        PEET_FINISH_DOACROSS_ITER(i);
    }
    PEET_JOIN_DOACROSS();
}

static char *text(long n, uint64_t random)
{
    char *letters = malloc((size_t)n);

    for (long i = 0; letters && i < n; i++) {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        letters[i] = "ACGT"[random >> 32 & 3];
    }
    return letters;
}

int main(int argc, char **argv)
{
    const char *form = argc > 4 ? argv[4] : "function";

    rows = argc > 1 ? atol(argv[1]) : 256;
    columns = argc > 2 ? atol(argv[2]) : 256;
    block = argc > 3 ? atol(argv[3]) : 16;
    if (argc > 5 || rows < 1 || columns < 1 || block < 1 || rows > 100000 || columns > 100000 ||
        (strcmp(form, "function") != 0 && strcmp(form, "statement") != 0 && strcmp(form, "marker") != 0)) {
        fprintf(stderr, "usage: wavefront [ROWS [COLUMNS [BLOCK [function|statement|marker]]]]\n");
        return 2;
    }
    blocks = (columns + block - 1) / block;
    down = text(rows, 88172645463325252u);
    across = text(columns, 362436069362436069u);
    table = calloc((size_t)(rows + 1) * (size_t)(columns + 1), sizeof *table);
    if (!down || !across || !table) {
        fprintf(stderr, "wavefront: out of memory\n");
        return 1;
    }
    if (form[0] == 'f')
        function_form();
    else if (form[0] == 's')
        statement_form();
    else
        marker_form();
    printf("%ld and %ld letters have a common subsequence of %d\n", rows, columns, table[rows * (columns + 1) + columns]);
    free(down);
    free(across);
    free(table);
    return 0;
}
