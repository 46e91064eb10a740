#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# check_all.sh BUILD [PROCESSORS]: the twelve programs of bench/threads in tiny sizes on the bus, for all protocols, five geometries and 1, 2, 4 and 16
# processors: with processors that run ahead of each other in machine code, and reference by reference with check=on.  Statistics must be equal.  2,400 pairs of runs.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "$1" && pwd)
processors=${2:-1 2 4 16}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
command -v jq >/dev/null || { echo "check_all.sh: jq is not installed" >&2; exit 2; }
programs='lu 48 16|fft 6 1|radix 600 1|ocean 16 3|barnes 24 1|water 12 1|tasks 300|sharing 160 2|pipeline 40|cg 60 4 1|mg 3 1|is 300 1'
protocols='write-once synapse berkeley illinois mesi msi moesi firefly dragon through'
geometries='cache=1KiB,line=16,ways=1 cache=2KiB,line=16,ways=2 cache=4KiB,line=64,ways=4 cache=2KiB,line=8,ways=4 cache=32KiB,line=64,ways=8'

# one NAME ARGUMENTS PROTOCOL GEOMETRY PROCESSORS: a pair of runs; says so if they differ
one() {
    local name=$1 arguments=$2 machine=bus,protocol=$3,$4 n=$5 how out
    out=$(mktemp -d "$work/pair.XXXXXX")
    for how in off on; do
        # shellcheck disable=SC2086
        "$build/bin/peet" run -q -n "$n" --machine "$machine,check=$how" -d "$out/$how" -- "$work/$name" "$n" $arguments >/dev/null 2>"$out/said" ||
            { echo "failed: $machine,check=$how, $n processors, $name $arguments: $(cat "$out/said")"; rm -rf "$out"; return; }
        jq -S 'del(.config)' "$out/$how/stats.json" >"$out/$how.json"
    done
    cmp -s "$out/off.json" "$out/on.json" && echo equal || echo "differs: $machine, $n processors, $name $arguments"
    rm -rf "$out"
}
export -f one
export work build

while read -r -d '|' name arguments; do
    "$build/bin/peetcc" -O2 -w -fopenmp -o "$work/$name" "$here/../../bench/threads/$name.c" -lm
    for protocol in $protocols; do
        for geometry in $geometries; do
            for n in $processors; do
                printf '%s\0' "$name" "$arguments" "$protocol" "$geometry" "$n"
            done
        done
    done
done <<<"$programs|" | xargs -0 -n 5 -P "$(nproc)" bash -c 'one "$@"' one >"$work/results"
grep -v '^equal$' "$work/results" || echo "$(wc -l <"$work/results") pairs of runs are equal"
! grep -q -v '^equal$' "$work/results"
