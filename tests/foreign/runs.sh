#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# runs.sh BUILD-FOLDER RUNS: with libraries recorded, each program of tests/threads, tests/openmp and bench/threads is run so many
# times; all runs of one have the same events.
set -u -o pipefail
export LC_ALL=C OMP_CANCELLATION=true OMP_MAX_TASK_PRIORITY=10 OMP_NUM_THREADS=4 THREADS=4
build=$(cd "${1:?build folder}" && pwd) runs=${2:?number of runs}
source=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/peet-runs.XXXXXX")
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
bad=0

# one NAME CORES PROGRAM ARGUMENT...
one() {
    local name=$1 cores=$2 k
    shift 2
    : >hashes
    for ((k = 0; k < runs; k++)); do
        timeout 300 "$build/bin/peet" run -q --foreign=record --cores "$cores" --observe hash -d out -- "$@" >said 2>errors ||
            { echo "FAILED: $name: status $?: $(tail -n 3 errors)" && bad=1 && return; }
        "$build/tests/json-get" out/stats.json hash.hash >>hashes
    done
    echo "$name: $(sort -u hashes | wc -l) in $(wc -l <hashes) runs"
    [ "$(sort -u hashes | wc -l)" = 1 ] || bad=1
}

for file in "$source"/tests/threads/*.c* "$source"/tests/openmp/cases/*.c*; do
    name=$(basename "$file")
    compiler=$build/bin/peetcc flags=(-O1 -w -D_GNU_SOURCE -pthread) arguments=()
    case $file in
    *.expected | *misuse* | *alone* | *endings*) continue ;; # some end by a signal
    *loops.c) flags=(-O1 -w -fopenmp -fopenmp-version=52) arguments=(4) ;;
    *openmp*) flags=(-O1 -w -fopenmp) arguments=(4) ;;
    esac
    case $file in *.cpp) compiler=$build/bin/peetcc++ && [[ $file == *openmp* ]] || flags+=(-std=c++20) ;; esac
    "$compiler" "${flags[@]}" -I"$(dirname "$file")" -o subject "$file" -lm -latomic || { bad=1 && continue; }
    one "$name" 8 ./subject "${arguments[@]}"
done
while IFS='|' read -r name quick _ libraries; do
    name=${name// /}
    [[ -n $name && $name != [#$]* ]] || continue
    # shellcheck disable=SC2086
    "$build/bin/peetcc" -O2 -w -o subject "$source/bench/threads/$name.c" $libraries || { bad=1 && continue; }
    # shellcheck disable=SC2086
    one "$name" 4 ./subject ${quick//\$THREADS/4}
done <"$source/bench/threads/programs.list"
exit $bad
