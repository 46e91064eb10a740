#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What the observer dtrack costs: the programs of examples/dtrack on the machines bus and x86, with it and without it, in
# turns; user time, the least of several.
#
#   bench/dtrack.sh [--prefix DIR] [--reps N]
#
# DIR is a build directory or an installation (default: build/ of this tree).  Prints a table and the geometric means.
. "$(dirname "$0")/lib.sh"
reps=3
options "prefix reps" "$@"
begin

printf '%-10s %-8s %10s %10s %6s\n' program machine "without s" "with s" ratio
while IFS='|' read -r name for_bus for_x86; do
    "$prefix/bin/peetcc" -O2 -g -o "$work/$name" "$here/../examples/dtrack/$name.c" -lm || exit 1
    for machine in bus x86; do
        if [ $machine = bus ]; then arguments=$for_bus; else arguments=$for_x86; fi
        run=("$prefix/bin/peet" run --quiet --machine $machine -d "$work/results")
        for ((rep = 0; rep < reps; rep++)); do
            echo "$(user "${run[@]}" -- "$work/$name" $arguments) $(user "${run[@]}" --observe dtrack -- "$work/$name" $arguments)"
        done | awk -v name="$name" -v machine=$machine '
            NR == 1 || $1 < a { a = $1 }
            NR == 1 || $2 < b { b = $2 }
            END { printf "%-10s %-8s %10.2f %10.2f %6.2f\n", name, machine, a, b, (a > 0 ? b / a : 0) }'
    done
done <<'LIST' | tee "$work/rows"
simplex|2000 10|600 6
resonance|1500|160
quake|24 20|14 6
compile|1500|40
LIST
awk '{ log_sum[$2] += log($5); n[$2]++; all += log($5); count++ }
     END { for (m in n) printf "geometric mean, %s: %.2f\n", m, exp(log_sum[m] / n[m]); printf "geometric mean: %.2f\n", exp(all / count) }' "$work/rows"
