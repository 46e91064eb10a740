#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Reductions directly in a teams construct: all teams add to one variable, one after the other, also where they meet at
# each reference.
. "$(dirname "$0")/lib.sh"
cat >leagues.c <<'C'
#include <stdio.h>
int main(void)
{
    long wrong = 0;
    for (int round = 0; round < 40; round++)
        for (int teams = 2; teams <= 10; teams += 4) {
            double sum = 0;
            long count = 0;
            #pragma omp target map(tofrom : sum, count)
            #pragma omp teams num_teams(teams) reduction(+ : sum, count)
            #pragma omp distribute
            for (int i = 0; i < 100; i++) {
                sum += i;
                count++;
            }
            wrong += sum != 4950 || count != 100;
        }
    printf("%ld\n", wrong);
    return 0;
}
C
"$peetcc" -O1 -fopenmp -fpeet-granularity=ref -o leagues leagues.c || fail "peetcc refused it"
for options in "" "--granularity ref" "--granularity ref --machine bus" "--granularity ref --policy rr --seed 3"; do
    # shellcheck disable=SC2086
    timeout 100 "$peet" run -q --cores 4 $options -d run -- ./leagues >got 2>errors || fail "$options: status $?: $(cat errors)"
    [ "$(cat got)" = 0 ] || fail "$options: $(cat got) of 120 sums are wrong"
done
exit 0
