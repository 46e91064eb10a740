/* SPDX-License-Identifier: Apache-2.0 */
/*
 * empty ITERATIONS: a doall loop whose body does nothing.  What it costs under `peet run` is the cost of a context:
 * fork, start, finish, and the switch between them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <peet/doall.h>

static void nothing(long i, void *unused)
{
    (void)i, (void)unused;
}

int main(int argc, char **argv)
{
    long n = argc > 1 ? atol(argv[1]) : 1000000;
    peet_doall(0, n, PEET_DOALL_DYNAMIC, 1, nothing, NULL);
    printf("%ld iterations\n", n);
    return 0;
}
