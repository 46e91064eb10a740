#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# twenty.sh SOURCE CORES MACHINE [LEVEL]: 20 runs of one program, one hash of the event stream, whatever the
# environment's size, the working directory, the output folder, the standard streams, the stack limit,
# the load of the computer, the way in which contexts are switched and the other observers.
. "$(dirname "$0")/../tools/common.sh"
source=$1 cores=$2 machine=$3 level=${4:--O2}
compilers_for "$source"
"$peet_cc" $level -pthread -o "$work/subject" "$source" || fail "peetcc refused $source"
value() { "$PEET_TOOLS/json_value" "$1" "$2"; }

deep=$work
first='' output=''
for run in $(seq 1 20); do
    deep=$deep/$(printf 'd%.0s' $(seq 1 $((run * 5))))
    mkdir -p "$deep" || exit 99
    extra=() limit=unlimited in=/dev/null
    case $((run % 5)) in
    1) extra=(--observe counts) ;;
    2) extra=(--observe "$PEET_TOOLS/tally.so" --observe counts,blocks=on) limit=2000 ;;
    3) in=$0 limit=16384 ;;
    4) (for ((i = 0; i < 60000; i++)); do :; done) & ;; # company on the processor
    esac
    how=on # how the thread pointer is set, as far as this computer has it
    [ $((run % 3)) = 0 ] && how=off
    [ $((run % 3)) = 1 ] && how=set
    out=$deep/out
    [ $((run % 2)) = 0 ] && out=$work/o$run
    (
        cd "$deep" || exit 99
        echo $((run == 1)) >first_run
        [ $run -gt 10 ] && ulimit -S -s $limit 2>/dev/null
        filler=$(head -c $((run * run * 50)) /dev/zero | tr '\0' x)
        env PEET_FSGSBASE=$how FILLER="$filler" "NAME_$run=$run" "$PEET" run --quiet --machine "$machine" --cores "$cores" --observe hash "${extra[@]}" \
            -d "$out" -- "$work/subject" 5 <"$in" >"$work/stdout"
    ) || fail "run $run ended with status $?"
    hash=$(value "$out/stats.json" hash.hash) || fail "run $run: no hash"
    cycles=$(value "$out/stats.json" time.cycles)
    this="$hash, $cycles cycles, printed $(cat "$work/stdout")"
    [ -z "$first" ] && first=$this
    [ "$this" = "$first" ] || fail "run $run gives $this; the first gave $first"
done
wait
echo "20 runs: $first"
