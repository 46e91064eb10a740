# SPDX-License-Identifier: Apache-2.0
# Many contexts: a million iterations, a hundred thousand iterations that all wait for loops of their own.
. "$(dirname "$0")/lib.sh"
cat >many.c <<'END'
#include <peet/doall.h>
#include <stdio.h>
static long sums[64];
static void inner(long i, void *arg) { sums[i & 7]++; }
static void outer(long i, void *arg)
{
    if (arg)
        peet_doall(0, 2, PEET_DOALL_STATIC, 0, inner, 0);
    else
        sums[i & 63]++;
}
int main(int argc, char **argv)
{
    long sum = 0;
    peet_doall(0, argc > 1 ? 100000 : 1000000, PEET_DOALL_DYNAMIC, 0, outer, argc > 1 ? argv : 0);
    for (int i = 0; i < 64; i++)
        sum += sums[i];
    printf("%ld\n", sum);
    return 0;
}
END
must "$peetcc" -O2 -o many many.c
equal "sum" "$(must "$peet" run -q --cores 8 -d flat -- ./many)" 1000000
equal "iterations" "$(value flat/stats.json totals.iterations)" 1000000
equal "listed and omitted" $(($("$PEET_PREFIX/tests/json-get" -r flat/stats.json contexts '#' | wc -l) + $(value flat/stats.json contexts_omitted))) 1000001
# Static inner loops of two iterations belong to two of the processors; the others begin ever more outer ones.
equal "sum" "$(must "$peet" run -q --cores 8 -d nested -- ./many nested)" 200000
equal "iterations" "$(value nested/stats.json totals.iterations)" 300000
