#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What the observer dtrack costs: the programs of examples/dtrack on the machines bus and x86, with it and without it, in
# turns; user time, the least of several.
#
#   bench/dtrack.sh [--prefix DIR] [--reps N]
#
# DIR is a build directory or an installation (default: build/ of this tree).  Prints a table and the geometric means.
set -u -o pipefail
here=$(cd "$(dirname "$0")" && pwd)
prefix=$here/../build reps=3
while [ $# -gt 0 ]; do
    case $1 in
    --prefix | --reps)
        [ $# -ge 2 ] || { sed -n '3,8s/^# \{0,1\}//p' "$0" >&2; exit 2; }
        case $1 in --prefix) prefix=$2 ;; *) reps=$2 ;; esac
        shift
        ;;
    *) sed -n '3,8s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
    esac
    shift
done
prefix=$(cd "$prefix" 2>/dev/null && pwd) || { echo "dtrack: no folder $prefix: build first" >&2; exit 2; }
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
"${BENCH_CC:-clang-22}" -O2 -o "$work/peet-time" "$here/tools/peet-time.c" || exit 2
user() { "$work/peet-time" -o "$work/out" -e "$work/err" "$@" </dev/null | awk '{ print $1 }'; }

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
compile|400|40
LIST
awk '{ log_sum[$2] += log($5); n[$2]++; all += log($5); count++ }
     END { for (m in n) printf "geometric mean, %s: %.2f\n", m, exp(log_sum[m] / n[m]); printf "geometric mean: %.2f\n", exp(all / count) }' "$work/rows"
