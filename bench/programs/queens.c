/* SPDX-License-Identifier: Apache-2.0 */
/*
 * queens N: all placements of N queens, found by recursive search with bit masks; known numbers of solutions are
 * checked. Integer, deep recursion of small functions: calls, returns and pushes.
 */
#include "common.h"

static uint64_t search(uint32_t all, uint32_t columns, uint32_t left, uint32_t right)
{
    uint64_t found = 0;
    if (columns == all)
        return 1;
    for (uint32_t free_squares = all & ~(columns | left | right); free_squares;) {
        uint32_t square = free_squares & -free_squares;
        free_squares ^= square;
        found += search(all, columns | square, (left | square) << 1, (right | square) >> 1);
    }
    return found;
}

int main(int argc, char **argv)
{
    static const uint64_t known[] = {1, 1, 0, 0, 2, 10, 4, 40, 92, 352, 724, 2680, 14200, 73712, 365596, 2279184};
    long n = bench_arg(argc, argv, 1, 13, 1, 15);
    uint64_t found = search((1u << n) - 1, 0, 0, 0);
    if (found != known[n])
        bench_wrong("number of solutions");
    bench_print("queens", found);
    return 0;
}
