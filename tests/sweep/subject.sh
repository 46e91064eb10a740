# SPDX-License-Identifier: Apache-2.0
# Sourced by tests: ./subject, which aborts when asked for 13 and returns 5 when asked for 14; and plan.cfg, nine runs of
# which one fails.
cat >subject.c <<'C'
#include <stdio.h>
#include <stdlib.h>
#include <peet/doall.h>
static long t[4096];
static void part(long i, void *arg) { (void)arg; for (long k = 0; k < 20; k++) t[i * 16 + k] += i * k; }
int main(int argc, char **argv)
{
    long n = argc > 1 ? atol(argv[1]) : 4;
    if (n == 13)
        abort();
    peet_doall(0, n, PEET_DOALL_DYNAMIC, 1, part, NULL);
    printf("%ld\n", t[17]);
    return n == 14 ? 5 : 0;
}
C
must "$peetcc" -O1 -g -o subject subject.c
cat >plan.cfg <<'END'
grid = { machine = ("ideal", "bus,cache=1KiB"); cores = (2, 4); arguments = ("8", "16"); };
list = ( { cores = 1; arguments = "13"; } );
END
