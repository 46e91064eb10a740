#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Random walks meet bugs that need particular orders of many threads, in so many executions, whatever the seed; and
# their tokens repeat them.  More contexts than an exhaustive search lists can be the next one.
. "$(dirname "$0")/lib.sh"
compile_for plain hunted "$here/programs/hunted.c" -O1

# hunt KIND THREADS MOST [SEEDS]
hunt() {
    local seed status token
    for seed in ${4:-1 2 3}; do
        status=0
        timeout -k 1 100 "$peet" run -q -d out --cores "$(($2 + 2))" --explore "$3" --seed "$seed" --until failure -- ./hunted "$1" "$2" >out.txt 2>&1 || status=$?
        equal "$1, $2 threads, seed $seed: status within $3 walks" "$status" 4
        token=$(token_of out met)
        status=0
        "$peet" run -q -d again --cores "$(($2 + 2))" --seed "$seed" --replay-token "$token" -- ./hunted "$1" "$2" >again.txt || status=$?
        equal "$1, $2 threads, seed $seed: repeated by its token" "$status $(cat again.txt)" "1 met"
    done
}
hunt early 3 100
hunt early 12 300
hunt early 30 300
hunt between 1 100
hunt between 12 600
hunt last 12 200
hunt last 98 1200 1
hunt lost 4 1500
