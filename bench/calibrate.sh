#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Calibrate the x86 machine to this processor, and see how well it then predicts the run times of programs relative to each
# other.  Measures latencies, bandwidth, translation and branches (bench/calibrate/), writes a preset, times the bench
# programs natively (best of several, interleaved) and simulates them with the preset.
#
#   bench/calibrate.sh [--prefix DIR] [--reps N] [--out DIR] [--base PRESET] [--preset FILE] [PROGRAM...]
#
# DIR is a build directory or an installation (default: build/ of this tree).  --base: the preset of the nearest processor,
# whose numbers stay where nothing is measured; --preset: measure nothing, predict with this one.  Five to ten minutes.
. "$(dirname "$0")/lib.sh"
reps=15 out= base= preset= selected=
options "prefix reps out base preset" "$@"
# name | arguments | libraries: some milliseconds each
programs="fft|12 40|-lm
radix|20000 20|
lu|200 16|-lm
ocean|128 100|-lm
nbody|800 4|-lm
cg|6000 8 2|-lm
hash|20000 6|
matmul|128 32 6|-lm
quicksort|40000 3|
edit|1000 3|
lz|60000 20|
chase|20000 5|
sha|200000 2|
text|8000 12|
vm|10000 6|
queens|12|"
known $(cut -d '|' -f 1 <<<"$programs")

case $reps in '' | *[!0-9]* | 0) echo "calibrate: --reps wants a number above 0" >&2; exit 2 ;; esac
prefix=$(cd "$prefix" 2>/dev/null && pwd) || { echo "calibrate: no folder $prefix: build first" >&2; exit 2; }
out=${out:-$prefix/calibration}
mkdir -p "$out" || exit 2
out=$(cd "$out" && pwd)
peet=$prefix/bin/peet peetcc=$prefix/bin/peetcc
for tool in "$peet" "$peetcc"; do
    [ -x "$tool" ] || { echo "calibrate: $tool is missing: build first" >&2; exit 2; }
done
must() {
    "$@" || { echo "calibrate: failed: $*" >&2; exit 1; }
}

# the nearest preset that there is
if [ -z "$base" ]; then
    vendor=$(awk -F': ' '/^vendor_id/ { print $2; exit }' /proc/cpuinfo)
    model=$(awk -F': ' '/^model\t/ { print $2; exit }' /proc/cpuinfo)
    case $vendor in
    AuthenticAMD) base=zen4 ;;
    *) if [ "${model:-0}" -ge 143 ]; then base=goldencove; else base=skylake; fi ;;
    esac
fi
[ -e "$base" ] || base=$prefix/share/peet/presets/$base.cfg
[ -e "$base" ] || { echo "calibrate: no preset $base" >&2; exit 2; }

must "$CC" -O2 -o "$out/calibrate" "$here/calibrate/calibrate.c" "$here/calibrate/measure.c" -lconfig -lpthread -lm
must "$CC" -O2 -shared -fPIC -o "$out/clock.so" "$here/calibrate/clock.c"
if [ -z "$preset" ]; then
    preset=$out/here.cfg
    "$out/calibrate" "$base" "$preset" | tee "$out/machine.txt" || exit 1
    echo "preset: $preset"
fi
case $preset in */*) ;; *) [ -e "$preset" ] && preset=./$preset ;; esac
ghz=$(awk '$1 == "clock" { print $2 }' "$out/machine.txt" 2>/dev/null)
[ -n "$ghz" ] || ghz=$("$out/calibrate" --clock)

names=
while IFS='|' read -r name arguments libraries; do
    [ -z "$selected" ] || [[ $selected == *" $name "* ]] || continue
    names="$names $name"
    # shellcheck disable=SC2086
    must "$CC" -O2 -o "$out/$name.plain" "$here/programs/$name.c" $libraries
    # shellcheck disable=SC2086
    must "$peetcc" -O2 -o "$out/$name.peet" "$here/programs/$name.c" $libraries
    echo "$arguments" >"$out/$name.arguments"
    : >"$out/$name.times"
done <<<"$programs"

# interleaved, so that a bad moment is not one program's
for ((i = 0; i < reps; i++)); do
    for name in $names; do
        # shellcheck disable=SC2046
        CALIBRATE_CLOCK=$out/clock LD_PRELOAD=$out/clock.so must "$out/$name.plain" $(cat "$out/$name.arguments") >"$out/$name.expected"
        awk -v ghz="$ghz" '{ print $1 == "cycles" ? $2 : $2 * ghz }' "$out/clock" >>"$out/$name.times"
    done
done

table=$out/prediction.tsv
printf 'program\tmeasured\tnoise\tpredicted\tinstructions\n' >"$table"
for name in $names; do
    # shellcheck disable=SC2046
    must "$peet" run -q -n 1 -d "$out/$name.out" --machine "x86,preset=$preset" -- "$out/$name.peet" $(cat "$out/$name.arguments") >"$out/$name.got"
    cmp -s "$out/$name.expected" "$out/$name.got" || { echo "calibrate: $name: the simulated run prints something else" >&2; exit 1; }
    sort -g "$out/$name.times" | awk -v name="$name" -v json="$out/$name.out/stats.json" '
        { t[NR] = $1 }
        END {
            while ((getline line < json) > 0) {
                if (line ~ /"cycles":/ && !cycles) { sub(/.*"cycles": */, "", line); cycles = line + 0 }
                if (line ~ /"instructions":/ && !instructions) { sub(/.*"instructions": */, "", line); instructions = line + 0 }
            }
            printf "%s\t%.0f\t%.4f\t%.0f\t%.0f\n", name, t[1], (t[int((NR + 1) / 2)] - t[1]) / t[1], cycles, instructions
        }' >>"$table"
done
awk -f "$here/calibrate/report.awk" "$table" | tee "$out/report.txt"
