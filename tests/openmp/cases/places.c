/* SPDX-License-Identifier: Apache-2.0 */
/* The places that OMP_PLACES and OMP_PROC_BIND ask for: "{0,1} {2}", and what is told of them. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

int main(void)
{
    int n = omp_get_num_places(), parts = omp_get_partition_num_places(), bad = 0;
    int *nums = calloc((size_t)parts + 1, sizeof *nums);
    printf("%d:", n);
    for (int i = 0; i < n; i++) {
        int size = omp_get_place_num_procs(i), *ids = calloc((size_t)size + 1, sizeof *ids);
        omp_get_place_proc_ids(i, ids);
        printf(" {");
        for (int k = 0; k < size; k++)
            printf(k ? ",%d" : "%d", ids[k]);
        printf("}");
        free(ids);
    }
    omp_get_partition_place_nums(nums);
    for (int i = 0; i < parts; i++)
        bad |= nums[i] != i;
    bad |= parts != n || omp_get_place_num() < 0 || omp_get_place_num() >= n;
    bad |= omp_get_place_num_procs(-1) != 0 || omp_get_place_num_procs(n) != 0;
    free(nums);
    printf(" bind %d%s\n", omp_get_proc_bind(), bad ? ", and wrong" : "");
    return 0;
}
