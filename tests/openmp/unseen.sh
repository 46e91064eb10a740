#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What the OpenMP library itself calls of the C library is not the program's: only the program's own calls are counted, and environment
# variables that change nothing change no event.
. "$(dirname "$0")/lib.sh"
# What the library is said to reference: ranges.
export PEET_FOREIGN=ranges
must "$peetcc" -O1 -fopenmp -fnoopenmp-use-tls -fno-peet-schema-file -o recorded "$here/unseen.c"

# run VARIABLE=value...: sets hash
run() {
    must env "$@" "$peet" run --quiet --cores 4 --observe hash -d run -- ./recorded
    hash=$(value run/stats.json hash.hash)
}
# library FILE: what is counted of the C library's functions, as name:calls:reads:writes in the order of names
library() {
    value -r "$1" counts.functions name image calls reads writes | awk -F'\t' '$2 == "peet" { print $1 ":" $3 ":" $4 ":" $5 }' | sort | tr '\n' ' '
}

for threads in 1 2 4; do
    must env OMP_NUM_THREADS=$threads OMP_SCHEDULE=guided "$peet" run --quiet --cores 4 --observe counts -d run -- ./recorded
    # By docs/COUNTING.md: memset() of 5000 bytes, strlen() of "./recorded" and its end; and compiled code copies 1200 bytes for copyin
    # in all threads but one.
    copies=$((threads - 1)) expected="memset:1:0:625 strlen:1:4:0 "
    [ $copies = 0 ] || expected="memcpy:$copies:$((150 * copies)):$((150 * copies)) $expected"
    equal "library functions, $threads threads" "$(library run/stats.json)" "$expected"
done

run OMP_NUM_THREADS=4
with=$hash
for same in OMP_NUM_THREADS=4,2,1 OMP_PROC_BIND=close,spread OMP_THREAD_LIMIT=100 OMP_MAX_TASK_PRIORITY=3 OMP_CANCELLATION=true \
    OMP_DYNAMIC=false OMP_SCHEDULE=static OMP_MAX_ACTIVE_LEVELS=1; do
    run "$same"
    equal "events with $same" "$hash" "$with"
done
