#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The outcomes that exploration finds for litmus tests, against what the enumerators allow.
# outcomes.sh FOLDER MODEL OPTIMISATION quick|pairs|all
#   plain, sc, tso, pso: the sets are equal.  pc, wo, rc: nothing forbidden, and all that the literature says is seen ("rc+" in the table).
# quick: every fourth test of at most three threads (pc, wo, rc: two); pairs: all of two threads.  Queues in front of each processor make very many
# executions.
. "$(dirname "$0")/lib.sh"
model=$2 level=$3 which=$4
allowed=$model
[ "$model" = plain ] && allowed=sc
must "$litmus" generate "$table" >program.c
compile_for "$model" program program.c "-$level"
must "$litmus" allowed "$allowed" "$table" >allowed.txt
count=0 bad=0 index=0
while read -r name threads; do
    index=$((index + 1))
    most=3
    case $model in pc | wo | rc) most=2 ;; esac
    case $which in
    quick) [ $((index % 4)) = 1 ] && [ "$threads" -le "$most" ] || continue ;;
    pairs) [ "$threads" -le 2 ] || continue ;;
    esac
    explore out $((threads + 1)) "$model" ./program "$name"
    outcomes_of out >got.txt
    awk -F'\t' -v name="$name" '$1 == name { print $2 }' allowed.txt | sort -u >want.txt
    count=$((count + 1))
    extra=$(comm -23 got.txt want.txt) missing=$(comm -13 got.txt want.txt)
    if [ -n "$extra" ]; then
        echo "$name: found, but forbidden under $allowed: $extra"
        bad=$((bad + 1))
    fi
    case $allowed in
    sc | tso | pso)
        if [ -n "$missing" ]; then
            echo "$name: allowed under $allowed, but not found: $missing"
            bad=$((bad + 1))
        fi
        ;;
    *)
        if "$litmus" seen "$allowed" "$table" "$name" && ! "$litmus" meets "$table" "$name" <got.txt; then
            echo "$name: the outcome of the literature was not found under $allowed"
            bad=$((bad + 1))
        fi
        ;;
    esac
done < <("$litmus" list "$table")
echo "$count tests under $model at -$level: $bad differences"
[ "$count" -ge 10 ] && [ "$bad" -eq 0 ]
