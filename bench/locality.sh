#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What the observer locality costs, exact and sampled, against the plain program and beside cachegrind, in turns in one run; user
# time, the least of several.
#
#   bench/locality.sh [--prefix DIR] [--reps N] [--size quick|full] [--programs "NAME..."]
#
# DIR is a build directory or an installation (default: build/ of this tree).  Prints a table and the geometric means.
. "$(dirname "$0")/lib.sh"
reps=1 size=quick programs=
options "prefix reps size programs" "$@"
begin

printf '%-10s %9s %9s %9s %11s   %s\n' program "native s" "exact" "sampled" "cachegrind" "times native"
while IFS='|' read -r name quick full libs; do
    case $name in '' | '#'*) continue ;; esac
    name=${name// /}
    [[ -z $programs || " $programs " == *" $name "* ]] || continue
    if [ "$size" = quick ]; then arguments=$quick; else arguments=$full; fi
    "$CC" -O2 -o "$work/$name" "$here/programs/$name.c" $libs || exit 1
    "$prefix/bin/peetcc" -O2 -o "$work/$name.peet" "$here/programs/$name.c" $libs || exit 1
    run=("$prefix/bin/peet" run --quiet -d "$work/results")
    for ((rep = 0; rep < reps; rep++)); do
        echo "$(user "$work/$name" $arguments) $(user "${run[@]}" --observe locality,windows=off,lines=off -- "$work/$name.peet" $arguments)" \
            "$(user "${run[@]}" --observe locality,mode=sampled -- "$work/$name.peet" $arguments)" \
            "$(user valgrind -q --tool=cachegrind --cache-sim=yes --cachegrind-out-file=/dev/null "$work/$name" $arguments)"
    done | awk -v name="$name" '
        { for (i = 1; i <= 4; i++) if (NR == 1 || $i < least[i]) least[i] = $i }
        END { n = least[1] > 0 ? least[1] : 0.001
              printf "%-10s %9.3f %9.1f %9.1f %11.1f\n", name, n, least[2] / n, least[3] / n, least[4] / n }'
done <"$here/programs/programs.list" | tee "$work/rows"
awk '{ for (i = 3; i <= 5; i++) sum[i] += log($i); n++ }
     END { if (n) printf "geometric mean: exact %.1f, sampled %.1f, cachegrind %.1f times native\n", exp(sum[3] / n), exp(sum[4] / n), exp(sum[5] / n) }' "$work/rows"
