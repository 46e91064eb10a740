#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# In how many executions explorations find the known bugs of SCTBench (Thomson, Donaldson, Betts, TOPC 2016; a copy that you bring): by all executions in the
# order of the search (dynamic partial order reduction), and by random walks, the mean and the greatest of several seeds.
#
#   bench/bugs.sh --suite DIR [--prefix DIR] [--seeds N] [--limit N] [--seconds N] [PROGRAM...]
#
# DIR is the suite's folder that has benchmarks/. An exploration that finds nothing within the limit of executions, or the seconds, is listed as ">" and the
# executions that it made.
. "$(dirname "$0")/lib.sh"
suite='' seeds=5 limit=10000 seconds=60 selected=
options "suite prefix seeds limit seconds" "$@"
list=$here/bugs.list
[ -d "$suite/benchmarks" ] || usage
known $(listed "$list")
begin
suite=$(cd "$suite/benchmarks" && pwd)

# hunt EXPLORE OPTIONS...: executions to the first that fails, of $work/program with $arguments
hunt() {
    local status=0 made
    rm -rf "$work/results"
    timeout -k 15 "$seconds" "$prefix/bin/peet" run --quiet --cores 128 --until failure -d "$work/results" --explore "$@" -- "$work/program" $arguments \
        >"$work/out" 2>"$work/err" </dev/null || status=$?
    made=$("$prefix/tests/json-get" "$work/results/stats.json" exploration.executions 2>"$work/err2") || made=0
    [ "$status" = 4 ] && echo "$made" || echo ">$made"
}
printf '%-16s %9s %12s %9s\n' program all 'walks: mean' greatest
while IFS='|' read -r name folder sources flags arguments; do
    name=${name// /} folder=${folder// /} arguments=${arguments//$'\n'/}
    [[ -n $name && $name != \#* ]] || continue
    [ -z "$selected" ] || case $selected in *" $name "*) ;; *) continue ;; esac
    case $sources in *.cpp*) compiler=peetc++ ;; *) compiler=peetcc ;; esac
    # shellcheck disable=SC2086
    (cd "$suite/$folder" && "$prefix/bin/$compiler" -w -O1 -g -fpeet-granularity=ref -pthread $flags -o "$work/program" $sources) 2>"$work/err" ||
        { cat "$work/err" >&2; echo "bugs.sh: $name does not compile" >&2; continue; }
    all=$(hunt all --explore-limit "$limit")
    for ((seed = 1; seed <= seeds; seed++)); do hunt "$limit" --seed "$seed"; done |
        awk -v name="$name" -v all="$all" '{ if (sub(/^>/, "")) more = ">"; s += $1; most = $1 + 0 > most ? $1 + 0 : most }
            END { printf "%-16s %9s %12s %9s\n", name, all, more sprintf("%.0f", s / NR), more most }'
done <"$list"
