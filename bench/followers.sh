#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What followers cost: eight cache sizes as eight followers of one run, beside eight runs; and a run with one who looks on, beside it alone.
#
#   bench/followers.sh [--prefix DIR] [--reps N] [--machine MACHINE] [--sizes LIST] [--programs LIST] [--observers LIST]
#
# DIR is a build directory or an installation (default: build/ of this tree).  Programs of bench/threads, four threads on four processors.
# All times in seconds, the least of N runs that take turns.  First table: the run alone, elapsed; the mean of the eight runs; all followers on as many processors of
# the host as there are, elapsed and CPU time, and the elapsed time as a multiple of the mean run; the same on one processor.
# Second table: with one observer, or with the machine again as a follower: elapsed time as a multiple of the run alone.
. "$(dirname "$0")/lib.sh"
reps=3 machine=bus,ways=8,line=64 sizes="4KiB 8KiB 16KiB 32KiB 64KiB 128KiB 256KiB 512KiB" alone=32KiB
programs="lu fft mg water ocean" observers="trace counts profile dtrack hash"
options "prefix reps machine sizes programs observers" "$@"
begin
one=$(taskset -cp $$ | sed 's/.*: *//; s/[-,].*//') # a processor of the host

# arguments of a program, and its libraries
field() {
    awk -F'|' -v name="$1" -v n="$2" '{ key = $1; gsub(/[ \t]/, "", key) } key == name { gsub(/^[ \t]+|[ \t]+$/, "", $n); print $n; exit }' "$here/threads/programs.list"
}

# timed NAME COMMAND...: a line "NAME elapsed CPU"
timed() {
    local name=$1 TIMEFORMAT='%R %U %S'
    shift
    { time "$@" >/dev/null 2>"$work/err"; } 2>&1 | awk -v name="$name" '{ print name, $1, $2 + $3 }'
}

follow=()
for size in $sizes; do follow+=(--follow "$machine,cache=$size"); done
for program in $programs; do
    arguments=$(field "$program" 2)
    # shellcheck disable=SC2046
    "$prefix/bin/peetcc" -O2 -g -o "$work/$program" "$here/threads/$program.c" $(field "$program" 4) || exit 1
    run=("$prefix/bin/peet" run --quiet --cores 4 -d "$work/results" --machine)
    program=("$work/$program" ${arguments//\$THREADS/4})
    for ((rep = 0; rep < reps; rep++)); do
        timed alone "${run[@]}" "$machine,cache=$alone" -- "${program[@]}"
        for size in $sizes; do timed "$size" "${run[@]}" "$machine,cache=$size" -- "${program[@]}"; done
        timed follow "${run[@]}" "$machine,cache=$alone" "${follow[@]}" -- "${program[@]}"
        timed follow1 taskset -c "$one" "${run[@]}" "$machine,cache=$alone" "${follow[@]}" -- "${program[@]}"
        timed again "${run[@]}" "$machine,cache=$alone" --follow "$machine,cache=$alone" -- "${program[@]}"
        for observer in $observers; do timed "$observer" "${run[@]}" "$machine,cache=$alone" --observe "$observer" -- "${program[@]}"; done
    done | awk -v program="${program[0]##*/}" -v sizes="$sizes" -v observers="again $observers" '
        !($1 in elapsed) || $2 < elapsed[$1] { elapsed[$1] = $2 }
        !($1 in cpu) || $3 < cpu[$1] { cpu[$1] = $3 }
        END {
            n = split(sizes, name, " ")
            for (i = 1; i <= n; i++) { sum += elapsed[name[i]]; all += cpu[name[i]] }
            printf "followers %s %.2f %.2f %.2f %.2f %.2f %.2f %.2f %.2f\n", program, elapsed["alone"], sum / n, elapsed["follow"], cpu["follow"],
                elapsed["follow"] * n / sum, cpu["follow"] * n / all, elapsed["follow1"], elapsed["follow1"] * n / sum
            n = split(observers, name, " ")
            printf "observers %s %.2f", program, elapsed["alone"]
            for (i = 1; i <= n; i++) printf " %.2f", elapsed[name[i]] / elapsed["alone"]
            print ""
        }'
done >"$work/rows"
{
    echo "program alone run followers CPU times CPU-times one-processor times"
    sed -n 's/^followers //p' "$work/rows"
    echo
    echo "program alone follower $observers"
    sed -n 's/^observers //p' "$work/rows"
} | awk '{ printf "%-9s", $1; for (i = 2; i <= NF; i++) printf " %13s", $i; print "" }'
