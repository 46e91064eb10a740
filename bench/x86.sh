#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Simulated instructions for each second of the host's processor time: the machine x86 against the observer counts, the
# machine bus, and cachegrind, side by side in one run.
#
#   bench/x86.sh [--prefix DIR] [--reps N] [PROGRAM...]
#
# DIR is a build directory or an installation (default: build/ of this tree).  The least time of N repetitions counts.
. "$(dirname "$0")/lib.sh"
reps=2 selected=
options "prefix reps" "$@"
programs='nbody 1000 2
matmul 128 32 10
sha 200000 3
radix 100000 10
quicksort 100000 2
lz 100000 5
vm 5000 10
queens 11
edit 1000 2
ocean 128 60
cg 10000 12 1'
known $(cut -d ' ' -f 1 <<<"$programs")
begin
cd "$work" || exit 2

# seconds COMMAND...: user time, the least of the repetitions
seconds() {
    local best= i t
    for ((i = 0; i < reps; i++)); do
        t=$(user "$@") || { cat err >&2; return 1; }
        [ -z "$best" ] || awk -v a="$t" -v b="$best" 'BEGIN { exit !(a < b) }' && best=$t
    done
    echo "$best"
}
# rate SECONDS: millions of instructions in each; a run that is hardly longer than the clock's tick says nothing
rate() { awk -v n="$instructions" -v s="$1" 'BEGIN { if (s > 0.02) printf " %10.1f", n / s / 1e6; else printf " %10s", "short" }'; }

printf '%-12s %12s %10s %10s %10s %10s %10s   %s\n' program instructions counts bus x86-flat x86 cachegrind 'Minsn/s'
while read -r name quick; do
    [ -z "$selected" ] || case " $selected " in *" $name "*) ;; *) continue ;; esac
    libs=-lm
    "$prefix/bin/peetcc" -O2 -w -o "$name" "$here/programs/$name.c" $libs || exit 1
    "$CC" -O2 -w -o "$name.plain" "$here/programs/$name.c" $libs || exit 1
    "$prefix/bin/peet" run -q -d results --machine ideal --observe counts -- "./$name" $quick >/dev/null || exit 1
    instructions=$(awk -F'[:,]' '/"totals"/ { on = 1 } on && /"instructions"/ { print $2 + 0; exit }' results/stats.json)
    printf '%-12s %12.0f' "$name" "$instructions"
    rate "$(seconds "$prefix/bin/peet" run -q -d results --machine ideal --observe counts -- "./$name" $quick)"
    for machine in bus x86,memory=flat x86; do
        rate "$(seconds "$prefix/bin/peet" run -q -d results --machine $machine -- "./$name" $quick)"
    done
    if command -v valgrind >/dev/null; then
        rate "$(seconds valgrind -q --tool=cachegrind --cache-sim=yes --cachegrind-out-file=/dev/null "./$name.plain" $quick)"
    fi
    echo
done <<<"$programs"
