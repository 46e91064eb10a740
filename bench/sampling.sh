#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Sampled timing of the machine x86 (sample_period) beside simulation in detail: millions of instructions for a second of
# user time, and how far the simulated time is off, with the error that the run itself gives (95 %).
#
#   bench/sampling.sh [--prefix DIR] [--preset NAME] [--period N] [--near N] [--cores N] [PROGRAM...]
#
# --near: sample_near; without it predictors see all instructions.
# DIR is a build directory or an installation (default: build/ of this tree).  One core: the programs of bench/programs;
# more (4): those of bench/threads.  Programs get their quick arguments.
. "$(dirname "$0")/lib.sh"
preset=zen4 period=100000 near= cores=1 selected=
options "prefix preset period near cores" "$@"
suite=programs
[ "$cores" = 1 ] || suite=threads
known $(listed "$here/$suite/programs.list")
begin
cd "$work" || exit 2
export OMP_WAIT_POLICY=passive

printf '%-10s %8s %12s %12s %10s %10s\n' program Minsn 'in detail' sampled 'off by' 'said'
while IFS='|' read -r name quick full libs; do
    name=${name// /}
    [ -z "$selected" ] || case " $selected " in *" $name "*) ;; *) continue ;; esac
    "$prefix/bin/peetcc" -O2 -w -o "$name" "$here/$suite/$name.c" $libs || exit 1
    quick=${quick//\$THREADS/$cores}
    for kind in detail sampled; do
        machine=x86,preset=$preset
        [ $kind = detail ] || machine+=,sample_period=$period${near:+,sample_near=$near}
        seconds=$(user "$prefix/bin/peet" run -q --machine "$machine" --cores "$cores" -d $kind -- "./$name" $quick) || exit 1
        printf '%s %s ' "$seconds" "$(jq -r '"\(.time.cycles) \(.totals.instructions) \(.x86.sampling.error_percent // 0)"' $kind/stats.json)"
    done | awk -v name="$name" '{
        printf "%-10s %8.1f %12.1f %12.1f %+9.2f%% %9.2f%%\n", name, $3 / 1e6, $3 / 1e6 / $1, $7 / 1e6 / $5, 100 * ($6 / $2 - 1), $8
    }'
done < <(grep -v '^#' "$here/$suite/programs.list") | tee rows
awk '{ off = $5 + 0; sum += off < 0 ? -off : off; a += log($3); b += log($4); n++ }
     END { if (n) printf "geometric means: in detail %.1f, sampled %.1f; mean difference %.2f %%\n", exp(a / n), exp(b / n), sum / n }' rows
