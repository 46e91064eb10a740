/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quicksort KEYS ROUNDS: recursive quicksort (median of three, insertion sort below 12), then the C library's qsort on
 * a copy as the check.  Branches that cannot be predicted, recursion; a comparison function called from uninstrumented
 * code.
 */
#include "common.h"

static void sort(int64_t *a, long n)
{
    while (n > 12) {
        int64_t x = a[0], y = a[n / 2], z = a[n - 1];
        int64_t pivot = x < y ? (y < z ? y : x < z ? z : x) : (x < z ? x : y < z ? z : y);
        long i = 0, j = n - 1;
        for (;;) {
            while (a[i] < pivot)
                i++;
            while (a[j] > pivot)
                j--;
            if (i >= j)
                break;
            int64_t t = a[i];
            a[i++] = a[j];
            a[j--] = t;
        }
        long left = j + 1;
        if (left < n - left) {
            sort(a, left);
            a += left;
            n -= left;
        } else {
            sort(a + left, n - left);
            n = left;
        }
    }
    for (long i = 1; i < n; i++) {
        int64_t key = a[i];
        long j = i;
        for (; j > 0 && a[j - 1] > key; j--)
            a[j] = a[j - 1];
        a[j] = key;
    }
}

static int compare(const void *left, const void *right)
{
    int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
    return (a > b) - (a < b);
}

int main(int argc, char **argv)
{
    long n = bench_arg(argc, argv, 1, 1000000, 1, 100000000), rounds = bench_arg(argc, argv, 2, 10, 1, 100000);
    int64_t *a = bench_alloc((size_t)n, sizeof *a), *b = bench_alloc((size_t)n, sizeof *b);
    uint64_t random = 8, hash = 0;
    for (long r = 0; r < rounds; r++) {
        bench_lap();
        for (long i = 0; i < n; i++)
            a[i] = b[i] = (int64_t)bench_random(&random) >> (r % 3 == 2 ? 56 : 0);
        sort(a, n);
        if (r == 0) {
            qsort(b, (size_t)n, sizeof *b, compare);
            if (memcmp(a, b, (size_t)n * sizeof *a) != 0)
                bench_wrong("keys are not in order");
        }
        hash = bench_mix(bench_mix(hash, (uint64_t)a[0]), (uint64_t)a[n / 3]);
    }
    bench_print("quicksort", hash);
    free(a), free(b);
    return 0;
}
