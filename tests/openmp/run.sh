#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# run.sh FOLDER SOURCE FLAGS...: every case of a file gives what it gives with the ordinary library (or what its .expected says),
# for 1 to 8 threads under each policy and three seeds, and plainly; and the same run twice has the same events, whoever looks on.
. "$(dirname "$0")/lib.sh"
source=$2
shift 2
both "$source" "$@"
if [[ $source == */cancel.c ]]; then
    export OMP_CANCELLATION=true
fi
export OMP_MAX_TASK_PRIORITY=10

check() { # FILE WHAT
    cmp -s expected "$1" || {
        diff expected "$1" | sed -n '1,10p'
        fail "$2: other results than the ordinary library"
    }
}

# natively PROGRAM OUTPUT: without simulation
natively() {
    timeout 120 ./$1 $threads >"$2" 2>errors || fail "$1 by itself, $threads threads: status $?: $(tail -n 1 "$2") $(head -n 20 errors)"
}

for threads in 1 2 4 8; do
    if [ -f "${source%.c}.expected" ]; then
        cp "${source%.c}.expected" expected
    else
        natively plain expected
        natively recorded got
        check got "plain run, $threads threads"
    fi
    for policy in fcfs rr; do
        for seed in 1 2 3; do
            what="$threads threads, policy $policy, seed $seed"
            timeout 120 "$peet" run --quiet --cores 4 --policy $policy --seed $seed --observe hash -d run -- ./recorded $threads >got 2>errors ||
                fail "$what: status $?: $(tail -n 1 got) $(head -n 20 errors)"
            check got "$what"
        done
        hash=$(value run/stats.json hash.hash)
        timeout 120 "$peet" run --quiet --cores 4 --policy $policy --seed 3 --observe hash --observe counts -d run -- ./recorded $threads >got 2>errors ||
            fail "$what, two observers: status $?: $(tail -n 1 got) $(head -n 20 errors)"
        [ "$hash" = "$(value run/stats.json hash.hash)" ] || fail "$what: another hash the second time, with another observer"
    done
done
echo "$(grep -c . expected) lines of results, 4 numbers of threads"
