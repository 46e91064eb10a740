// races: shared
/* SPDX-License-Identifier: Apache-2.0 */
/* Tasks that call the C library, whose functions have rbp for anything: what it points to is not the task's stack. */
#include <stdio.h>
#include <stdlib.h>

static int shared, ordered;

int main(void)
{
#pragma omp parallel num_threads(2)
#pragma omp single
    for (int i = 0; i < 8; i++) {
#pragma omp task
        {
            char *text = malloc(100 + (size_t)i);
            snprintf(text, 100, "%d %g", i, (double)i);
            text = realloc(text, 5000);
#pragma omp atomic
            ordered += text[0];
            free(text);
            shared++;
        }
    }
    printf("%d\n", ordered);
}
