#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What -fpeet-domains costs where there is one view of memory for all contexts: the bench programs compiled with it and
# without it, plain (recording into nothing) and under the machine ideal, in turns; user time and instructions, each the
# least of several.  Instructions need perf; without it their columns stay empty.
#
#   bench/domains.sh [--prefix DIR] [--full] [--reps N] [PROGRAM...]
#
# DIR is a build directory or an installation (default: build/ of this tree).  Prints a table and the geometric means.
. "$(dirname "$0")/lib.sh"
size=quick reps=5 selected=
while [ $# -gt 0 ]; do
    case $1 in
    --prefix | --reps)
        [ $# -ge 2 ] || usage
        case $1 in --prefix) prefix=$2 ;; *) reps=$2 ;; esac
        shift
        ;;
    --full) size=full ;;
    -*) usage ;;
    *) selected="$selected $1 " ;;
    esac
    shift
done
known $(listed "$here/programs/programs.list")
begin
grep -q '^[0-9]' < <(perf stat -x, -e instructions:u true 2>&1) && counts=yes || counts=no

# user seconds and instructions of a command, as two words
cost() {
    local user n=0
    user=$(user "$@")
    [ $counts = yes ] && n=$(perf stat -x, -e instructions:u -o "$work/perf" "$@" >/dev/null 2>&1; awk -F, '/instructions/ { print $1 }' "$work/perf")
    echo "$user ${n:-0}"
}

printf '%-10s %9s %9s %6s %6s   %9s %9s %6s\n' program "plain s" "domains s" ratio insns "ideal s" "domains s" ratio
while IFS='|' read -r name quick full libs; do
    case $name in '' | '#'*) continue ;; esac
    name=${name// /}
    [ -z "$selected" ] || case $selected in *" $name "*) ;; *) continue ;; esac
    if [ $size = quick ]; then args=$quick; else args=$full; fi
    "$prefix/bin/peetcc" -O2 -o "$work/without" "$here/programs/$name.c" $libs || exit 1
    "$prefix/bin/peetcc" -O2 -fpeet-domains -o "$work/with" "$here/programs/$name.c" $libs || exit 1
    : >"$work/rows"
    for ((rep = 0; rep < reps; rep++)); do
        for which in without with; do
            echo "$which plain $(cost "$work/$which" $args)" >>"$work/rows"
            [ $which = without ] && cp "$work/out" "$work/expected"
            cmp -s "$work/out" "$work/expected" || { echo "domains: $name, $which: other output" >&2; exit 1; }
            counts_were=$counts counts=no
            echo "$which ideal $(cost "$prefix/bin/peet" run --quiet --machine ideal -d "$work/run" -- "$work/$which" $args)" >>"$work/rows"
            counts=$counts_were
        done
    done
    awk -v name="$name" '{ k = $1 " " $2; if (!(k in t) || $3 < t[k]) t[k] = $3; if (!(k in n) || $4 < n[k]) n[k] = $4 }
        END { p = t["without plain"]; q = t["with plain"]; i = t["without ideal"]; j = t["with ideal"]
              printf "%-10s %9.3f %9.3f %6.2f %6.3f   %9.3f %9.3f %6.2f\n", name, p, q, q / p,
                  n["without plain"] ? n["with plain"] / n["without plain"] : 0, i, j, j / i }' "$work/rows" | tee -a "$work/table"
done <"$here/programs/programs.list"
awk '{ a += log($4); b += $5 > 0 ? log($5) : 0; c += log($8); n++ }
    END { if (n) printf "%-10s %9s %9s %6.2f %6.3f   %9s %9s %6.2f\n", "geo. mean", "", "", exp(a / n), exp(b / n), "", "", exp(c / n) }' "$work/table"
