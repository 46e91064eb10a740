/* SPDX-License-Identifier: Apache-2.0 */
/* Columns of a matrix, 16 at a time, through a buffer, as transforms of several dimensions do. */
#include <stdlib.h>
enum { N = 192, COLUMNS = 16 };
static double matrix[N][2 * N], buffer[N][2 * COLUMNS];
int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 2;
    double sum = 0;
    for (int round = 0; round < rounds; round++)
        for (int from = 0; from < N; from += COLUMNS) {
            for (int j = 0; j < N; j++)
                for (int i = 0; i < 2 * COLUMNS; i++)
                    buffer[j][i] = matrix[j][2 * from + i] + 1;
            for (int step = 1; step < N; step *= 4)
                for (int j = 0; j + step < N; j++)
                    for (int i = 0; i < 2 * COLUMNS; i += 2)
                        buffer[j][i] += 0.5 * buffer[j + step][i + 1];
            for (int j = 0; j < N; j++)
                for (int i = 0; i < 2 * COLUMNS; i++)
                    matrix[j][2 * from + i] = buffer[j][i];
            sum += buffer[from][1];
        }
    return sum == 0.25;
}
