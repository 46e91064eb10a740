#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# same.sh SOURCE CORES FLAGS...: a machine whose blocks are taken without it says the same, to the last number, as one that gets
# every block: while an observer wants to see blocks, nothing is taken.
. "$(dirname "$0")/../tools/common.sh"
source=$1 cores=$2
shift 2
command -v jq >/dev/null || skip "jq is not installed"
compilers_for "$source"
"$peet_cc" "$@" -o "$work/subject" "$source" -lm || fail "peetcc refused $source"

# Small caches and lines, so that groups lie in two lines, sets are full and loops leave their lines; a fraction of a cycle;
# protocols in which a write behind a read needs the bus; a machine that cannot leave its blocks to others.
# The sanitized build takes the last four.
machines=(ideal,cost=instructions bus bus,cache=4KiB,line=16,ways=2 bus,cache=3KiB,line=64,ways=16,hit_cycles=2,protocol=dragon
    bus,cache=8KiB,line=8,ways=8,protocol=write-once bus,cache=4KiB,line=64,ways=4,replacement=fifo
    ideal bus,cache=2KiB,line=32,ways=4,cpi=0.7,protocol=msi bus,cache=1KiB,line=64,ways=0,classify=off,protocol=synapse
    bus,cache=32KiB,line=64,ways=8)
first=0
[ -z "${PEET_SANITIZED:-}" ] || [ "$PEET_SANITIZED" = OFF ] || [ -n "${PEET_THOROUGH:-}" ] || first=6
for machine in "${machines[@]:first}"; do
    for how in alone seen; do
        observe=()
        [ $how = seen ] && observe=(--observe hash)
        "$PEET" run --quiet --machine "$machine" --cores "$cores" "${observe[@]}" -d "$work/$how" -- "$work/subject" 3 >"$work/$how.out" </dev/null ||
            fail "$machine, $how: status $?"
    done
    cmp -s "$work/alone.out" "$work/seen.out" || fail "$machine: another output"
    same_stats 'del(.peet, .config, .hash)' '.totals.blocks > 0' "$work/seen/stats.json" "$work/alone/stats.json" ||
        fail "$machine: other numbers when blocks are taken without it (>)"
done
jq -c .totals "$work/alone/stats.json"
