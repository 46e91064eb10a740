#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What code of others costs: the same machine code takes the same time on x86, whether peetcc compiled it or it is recorded as foreign code.
. "$(dirname "$0")/lib.sh"
cat >main.c <<'END'
#include <stdio.h>
#include <stdlib.h>
unsigned long kernel(int which, unsigned long x, int n);
int main(int argc, char **argv)
{
    printf("%lu\n", kernel(atoi(argv[1]), (unsigned long)argc, 20000));
    return 0;
}
END
flags="-O2 -fno-math-errno -fno-unroll-loops"
must "$peetcc" $flags -c main.c
must "$peetcc" $flags -c "$programs/kernels.c" -o ours.o
must "$PEET_PLAIN_CC" $flags -c "$programs/kernels.c" -o theirs.o
must "$peetcc" main.o ours.o -o ours
must "$peetcc" main.o theirs.o -o theirs
for preset in zen4 skylake goldencove; do
    for kernel in 0 1 2 3 4 5; do
        for which in ours theirs; do
            must "$peet" run -q --foreign=record --machine "x86,preset=$preset,memory=flat,branch=perfect" -d $which.out -- ./$which $kernel >$which.printed
        done
        same ours.printed theirs.printed
        a=$(value ours.out/stats.json time.cycles) b=$(value theirs.out/stats.json time.cycles)
        awk -v a="$a" -v b="$b" 'BEGIN { exit !(a > 10000 && b < a * 1.01 + 500 && b > a * 0.99 - 500) }' || fail "$preset, kernel $kernel: $a cycles, as foreign code $b"
    done
done
exit 0
