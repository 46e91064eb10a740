/* SPDX-License-Identifier: Apache-2.0 */
/* Sorts arrays of all small numbers of elements of many sizes, most of which compare equal to others; prints a hash of all results. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int by_first(const void *p, const void *q)
{
    const unsigned char *const a = p, *const b = q;
    return a[0] % 16 - b[0] % 16;
}

static int by_argument(const void *p, const void *q, void *sign)
{
    return *(int *)sign * by_first(p, q);
}

int main(void)
{
    static const size_t sizes[] = {1, 2, 3, 4, 7, 8, 12, 16, 28};
    unsigned long hash = 0;
    unsigned random = 1;
    for (unsigned n = 0; n < 150; n++)
        for (unsigned k = 0; k < sizeof sizes / sizeof *sizes; k++) {
            const size_t bytes = n * sizes[k];
            unsigned char *const v = malloc(bytes + 1);
            int sign = n % 2 ? 1 : -1;
            for (size_t i = 0; i < bytes; i++)
                v[i] = (unsigned char)((random = random * 1103515245 + 12345) >> 16);
            if (n % 3)
                qsort(v, n, sizes[k], by_first);
            else
                qsort_r(v, n, sizes[k], by_argument, &sign);
            for (size_t i = 0; i < bytes; i++)
                hash = hash * 31 + v[i];
            free(v);
        }
    printf("%lx\n", hash);
    return 0;
}
