#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What threads cost that wait by looking at memory (bench/spinning/spinning.c), threads = processors: user time of the plain program, of a run on each machine,
# and of the same run while an observer wants to see each event (hash), for which the program goes each round itself; the least of several.
#
#   bench/spinning.sh [--prefix DIR] [--reps N] [--processors "N ..."] [--machines "M ..."]
#
# DIR is a build directory or an installation (default: build/ of this tree).
. "$(dirname "$0")/lib.sh"
reps=2 processors="4 16" machines="ideal bus numa"
options "prefix reps processors machines" "$@"
begin

"$prefix/bin/peetcc" -O2 -pthread -o "$work/spinning" "$here/spinning/spinning.c" -lm || exit 1
"$CC" -O2 -pthread -o "$work/plain" "$here/spinning/spinning.c" -lm || exit 1
# least COMMAND...: of its user times
least() {
    for ((rep = 0; rep < reps; rep++)); do user "$@"; done | sort -n | sed -n 1p
}
printf '%-7s %10s %-8s %9s %9s %14s\n' program processors machine plain run 'seeing rounds'
for n in $processors; do
    while IFS='|' read -r how rounds; do
        plain=$(least "$work/plain" "$n" "$how" "$rounds")
        for machine in $machines; do
            run=("$prefix/bin/peet" run --quiet --machine "$machine" --cores "$n" -d "$work/results")
            printf '%-7s %10s %-8s %9.3f %9.3f %14.3f\n' "$how" "$n" "$machine" "$plain" \
                "$(least "${run[@]}" -- "$work/spinning" "$n" "$how" "$rounds")" \
                "$(least "${run[@]}" --observe hash -- "$work/spinning" "$n" "$how" "$rounds")"
        done
    done <<LIST
none|500
pause|500
yield|500
ticket|$((4000 / n))
mcs|$((4000 / n))
LIST
done
