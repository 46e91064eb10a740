#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The machine x86 against the processor that this runs on: cycles measured and cycles simulated on its preset, for the
# programs of bench/hardware/programs.list, libraries recorded.  A preset says in its key `processors` which it stands for.
#
#   bench/hardware.sh [--prefix DIR] [--preset NAME] [--reps N] [--shorter N] [--set PARAMETERS] [--measured FILE] [--out DIR]
#                     [--flags FLAGS] [PROGRAM...]
#
# DIR is a build directory or an installation (default: build/ of this tree).  --preset: simulate this one, whatever
# processor this is.  --set: parameters of the machine over the preset's (window_uops=200,...).  --shorter: the kernels of
# bench/hardware run an Nth as often.  --measured: simulate only, beside the cycles of a former run's hardware.tsv (with the
# same --shorter).  Results are DIR/hardware.tsv, .json and .svg of --out (default: hardware/ below DIR); the table goes to
# standard output.  Cycles measured are time from main() to the end, less the same of a program that does nothing, by the
# clock that a chain of dependent multiplications shows around each run.  Another thread of the core, a stranger's on a
# virtual computer, nearly doubles the time of what is not waiting, for some milliseconds here and there; so programs are timed
# in parts of 30 us and more (bench_lap()) that begin when the core is theirs alone, until each has once been undisturbed to its
# end, or N runs (default 40) are done; of each, the least cycles undisturbed count.  The column noise is the share of parts that
# never were.  Of two threads, the least of all runs counts.  Half an hour.
. "$(dirname "$0")/lib.sh"
preset= reps=40 shorter=1 set= measured= out= flags=-O2 selected=
options "prefix preset reps shorter set measured out flags" "$@"
begin
for option in reps shorter; do
    case ${!option} in '' | *[!0-9]* | 0*) echo "hardware: --$option wants a number above 0, not \"${!option}\"" >&2; exit 2 ;; esac
done
known $(listed "$here/hardware/programs.list")
[ -z "$measured" ] || [ -r "$measured" ] || { echo "hardware: cannot read $measured" >&2; exit 2; }
if [ -z "$preset" ]; then
    preset=$(host_preset) || { echo "hardware: this is $(host_processor), and no preset stands for it; --preset simulates another one" >&2; exit 2; }
fi
out=${out:-$prefix/hardware}
mkdir -p "$out" || exit 2
out=$(cd "$out" && pwd)
must() {
    "$@" || { echo "hardware: failed: $*" >&2; exit 1; }
}

# native NAME ARGUMENTS...: one run; its cycles are added to NAME.times, and NAME.laps has the least of each part
native() {
    local name=$1
    shift
    [ -n "${CALIBRATE_WALL-}" ] || export CALIBRATE_LAPS=$work/$name.laps
    BENCH_PIN=1 CALIBRATE_CLOCK=$work/clock LD_PRELOAD=$work/clock.so must "$work/$name.plain" "$@" >"$work/$name.expected"
    unset CALIBRATE_LAPS
    awk '{ print $1 == "cycles" ? $2 : $2 / (($3 < $4 ? $3 : $4)) }' "$work/clock" >>"$work/$name.times"
}

# each FUNCTION: with name, kind, source and arguments of every program that is asked for
each() {
    local name kind source arguments
    while IFS='|' read -r name kind source arguments; do
        name=${name// /} kind=${kind// /} source=${source// /}
        case $name in '' | '#'*) continue ;; esac
        [ -z "$selected" ] || [[ $selected == *" $name "* ]] || continue
        if [[ $source == hardware/* ]]; then
            local often=${arguments##* }
            arguments="${arguments% *} $((often > shorter ? often / shorter : 1))"
        fi
        # shellcheck disable=SC2086
        "$1" "$name" "$kind" "$source" $arguments </dev/null
    done <"$here/hardware/programs.list"
}

compile() {
    local name=$1 source=$here/$3 cc=$CC peetcc=$prefix/bin/peetcc libraries=-lm
    case $3 in *.cc) cc=${CC/clang/clang++} peetcc=$prefix/bin/peetcc++ ;; esac
    [ "$2" != threads ] || libraries=-lpthread
    # shellcheck disable=SC2086
    must "$cc" $flags -w -o "$work/$name.plain" "$source" $libraries
    # shellcheck disable=SC2086
    must "$peetcc" $flags -w -o "$work/$name.peet" "$source" $libraries
}

# recalled NAME...: its measured cycles are those of the former run
recalled() {
    "$work/$1.plain" "${@:4}" >"$work/$1.expected"
    awk -F '\t' -v name="$1" '$1 == name { print $3 }' "$measured" >"$work/$1.times"
}

measure() {
    [ "$(disturbed "$1")" != 0 ] || [ "$(wc -l <"$work/$1.times")" -lt 4 ] || return 0
    if [ "$2" = threads ]; then
        [ "$(nproc)" -gt 1 ] || return 0
        export CALIBRATE_WALL=1
    fi
    native "$1" "${@:4}"
    unset CALIBRATE_WALL
}

# least NAME: the cycles of its parts, each the least of all runs; nothing if it was not timed in parts
least() {
    [ ! -s "$work/$1.laps" ] || awk '{ print $2; exit }' "$work/$1.laps"
}

# disturbed NAME: the share of its parts that never were undisturbed
disturbed() {
    [ ! -s "$work/$1.laps" ] || awk '{ print 1 - $3; exit }' "$work/$1.laps"
}

# of the last run, from stats.json: the first number under a key
number() {
    awk -v key="\"$1\":" '$1 == key { sub(/,$/, "", $2); print $2; exit }' "$work/out/stats.json"
}

simulate() {
    local name=$1 kind=$2 processors=1
    [ "$kind" != threads ] || processors=2
    [ -s "$work/$name.times" ] || return 0
    must "$prefix/bin/peet" run -q -n $processors --foreign=record -d "$work/out" --machine "x86,preset=$preset${set:+,$set}" \
        -- "$work/$name.peet" "${@:4}" >"$work/$name.got" 2>"$work/$name.said"
    cmp -s "$work/$name.expected" "$work/$name.got" || { echo "hardware: $name: the simulated run prints something else" >&2; exit 1; }
    sort -g "$work/$name.times" | awk -v name="$name" -v kind="$kind" -v start="$start" -v cycles="$(number cycles)" \
        -v instructions="$(number instructions)" -v least="$(least "$name")" -v noise="$(disturbed "$name")" '
        { t[NR] = $1 - start }
        END {
            least = least == "" ? t[1] : least - start
            noise = noise == "" ? (t[int((NR + 1) / 2)] - t[1]) / t[1] : noise
            printf "%s\t%s\t%.0f\t%.4f\t%.0f\t%.0f\t%.4f\n", name, kind, least, noise, cycles, instructions, cycles / least - 1
        }' >>"$out/hardware.tsv"
}

must "$CC" -O2 -shared -fPIC -o "$work/clock.so" "$here/calibrate/clock.c"
must "$CC" -O2 -o "$work/tsv-json" "$here/tools/tsv-json.c" -ljansson -lm
echo 'int main(void) { return 0; }' >"$work/nothing.c"
must "$CC" -O2 -o "$work/nothing.plain" "$work/nothing.c"
each compile
start=0
[ -z "$measured" ] || { each recalled; reps=0; }
for ((i = 0; i < reps + (reps > 0); i++)); do # the first finds out how long parts are; in turns, so that a bad moment is not one program's
    native nothing
    each measure
done
[ "$reps" = 0 ] || start=$(least nothing)
printf 'program\tkind\tmeasured_cycles\tnoise\tsimulated_cycles\tinstructions\terror\n' >"$out/hardware.tsv"
each simulate
"$work/tsv-json" programs="$out/hardware.tsv" >"$out/hardware.json" || exit 1
awk -v preset="$preset${set:+,$set}" -f "$here/hardware/report.awk" "$out/hardware.tsv"
if command -v gnuplot >/dev/null; then
    gnuplot -e "table='$out/hardware.tsv'; picture='$out/hardware.svg'; machine='$preset'" "$here/hardware/errors.gp" || exit 1
    echo "picture: $out/hardware.svg"
fi
