#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# ahead.sh SEEDS CORES MACHINES...: processors that run ahead of each other say the same, to the last number, as those that go block by block, which they
# do while the observer `hash` looks on.  OBSERVE: who looks on in both (default: counts).  SEEDS: "1 2 3" or 1-20; CORES: "2 4".  SUBJECT: the program (default: threads.c); FLAGS: how it is compiled (-O2).
. "$(dirname "$0")/../tools/common.sh"
seeds=$1 all_cores=$2
shift 2
command -v jq >/dev/null || skip "jq is not installed"
compilers_for "${SUBJECT:=threads.c}"
"$peet_cc" ${FLAGS:--O2} -pthread "$(dirname "$0")/$SUBJECT" -o "$work/subject" || fail "peetcc refused $SUBJECT"
case $seeds in *-*) seeds=$(seq "${seeds%-*}" "${seeds#*-}") ;; esac
runs=0
for machine in "$@"; do
    for cores in $all_cores; do # `pc`: of a library, which another one may move
        for seed in $seeds; do
            for how in ahead by_block; do
                observe=()
                for observer in ${OBSERVE:-counts}; do observe+=(--observe "$observer"); done
                [ $how = by_block ] && observe+=(--observe hash)
                "$PEET" run --quiet --machine "$machine" --cores "$cores" "${observe[@]}" -d "$work/$how" -- \
                    "$work/subject" "$seed" $((cores > 2 ? cores : 4)) "${ROUNDS:-150}" >"$work/$how.out" </dev/null 2>"$work/$how.err"
                status=$?
                [ $status = 0 ] || [ $status = 3 ] || { cat "$work/$how.err" >&2; fail "$machine, $cores cores, seed $seed, $how: status $status"; }
            done
            cmp -s "$work/ahead.out" "$work/by_block.out" || fail "$machine, $cores cores, seed $seed: another output"
            same_stats 'del(.peet, .config, .hash, (.. | .pc?))' '.totals.blocks > 0' "$work/by_block/stats.json" "$work/ahead/stats.json" ||
                fail "$machine, $cores cores, seed $seed: other numbers ahead (>)"
            runs=$((runs + 1))
        done
    done
done
echo "$runs runs are equal"
