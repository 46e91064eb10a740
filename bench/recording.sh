#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What keeping a trace costs: the sequential programs of bench/programs as they are, recording themselves into nothing, on the machine ideal, with a
# trace kept, replayed from it, and recorded on the computer's own processors by peet record.  CPU time (user and system, all processes) and elapsed
# time, as multiples of the plain program's, each the least of several; bytes of the trace for each reference.
#
#   bench/recording.sh [--prefix DIR] [--reps N] [--level N] [--size quick|full] [PROGRAM...]
#
# --size full: a second natively for each program, where quick, the default, is a tenth.
# DIR is a build directory or an installation (default: build/ of this tree).
. "$(dirname "$0")/lib.sh"
reps=3 level=0 size=quick selected=
options "prefix reps level size" "$@"
[[ $size == quick || $size == full ]] || usage
known $(listed "$here/programs/programs.list")
begin

# least COMMAND...: CPU and elapsed seconds, the least of each
least() {
    for ((rep = 0; rep < reps; rep++)); do
        "$work/peet-time" -o "$work/out" -e "$work/err" "$@" </dev/null || { cat "$work/err" >&2; echo "recording.sh: failed: $*" >&2; exit 1; }
    done | awk '{ c = $1 + $2; if (NR == 1 || c < cpu) cpu = c; if (NR == 1 || $3 < all) all = $3 } END { printf "%.4f %.4f ", cpu, all }'
}
printf '%-10s %7s | %6s %6s %6s %6s %6s | %7s %7s %7s %7s | %9s %9s\n' program "cpu s" plain ideal trace replay record ideal trace replay record words/ns bytes/ref
while IFS='|' read -r name quick full libraries; do
    name=${name// /}
    [[ -n $name && $name != \#* ]] || continue
    [ -z "$selected" ] || case $selected in *" $name "*) ;; *) continue ;; esac
    # shellcheck disable=SC2086
    "$prefix/bin/peetcc" -O2 -o "$work/peet.$name" "$here/programs/$name.c" $libraries && "$CC" -O2 -o "$work/plain.$name" "$here/programs/$name.c" $libraries || exit 1
    read -r -a arguments <<<"${!size}"
    run=("$prefix/bin/peet" run --quiet --machine ideal)
    program=("$work/peet.$name" "${arguments[@]}")
    all="$(least "$work/plain.$name" "${arguments[@]}")$(least "${program[@]}")$(least "${run[@]}" -d "$work/ideal" -- "${program[@]}")"
    all="$all$(least "${run[@]}" --observe "trace,level=$level" -d "$work/trace" -- "${program[@]}")"
    all="$all$(least "$prefix/bin/peet" run --quiet --from "$work/trace" -d "$work/replay")$(least "$prefix/bin/peet" record --quiet --level "$level" -d "$work/record" -- "${program[@]}")"
    # shellcheck disable=SC2046
    echo "$name $all" $(awk '/"totals"/ { on = 1 } on && /"reads":/ { r = $2 } on && /"writes":/ { w = $2; on = 0 } /^ +"trace": \{/ { in_trace = 1 } in_trace && /"words":/ { n = $2 } in_trace && /"bytes":/ { b = $2; in_trace = 0 } END { print n + 0, (b + 0) / (r + w) }' "$work/trace/stats.json")
    rm -rf "$work/trace" "$work/record" "$work/replay" "$work/ideal"
done <"$here/programs/programs.list" | awk '
    function add(k, v) { n[k]++; s[k] += log(v > 0 ? v : 1e-9); if (n[k] == 1 || v < lo[k]) lo[k] = v; if (n[k] == 1 || v > hi[k]) hi[k] = v; return v }
    { printf "%-10s %7.3f | %6.2f %6.2f %6.2f %6.2f %6.2f | %7.2f %7.2f %7.2f %7.2f | %9.2f %9.4f\n", $1, $2, add(1, $4 / $2), add(2, $6 / $2), add(3, $8 / $2), add(4, $10 / $2), add(5, $12 / $2),
          add(6, $7 / $3), add(7, $9 / $3), add(8, $11 / $3), add(9, $13 / $3), $14 / $2 / 1e9, add(10, $15); fflush() }
    END {
        for (i = 1; i <= 10; i++) { m[i] = exp(s[i] / n[i]) }
        printf "%-10s %7s | %6.2f %6.2f %6.2f %6.2f %6.2f | %7.2f %7.2f %7.2f %7.2f | %9s %9.4f\n", "mean", "", m[1], m[2], m[3], m[4], m[5], m[6], m[7], m[8], m[9], "", m[10]
        printf "%-10s %7s | %6.2f %6.2f %6.2f %6.2f %6.2f | %7.2f %7.2f %7.2f %7.2f | %9s %9.4f\n", "least", "", lo[1], lo[2], lo[3], lo[4], lo[5], lo[6], lo[7], lo[8], lo[9], "", lo[10]
        printf "%-10s %7s | %6.2f %6.2f %6.2f %6.2f %6.2f | %7.2f %7.2f %7.2f %7.2f | %9s %9.4f\n", "greatest", "", hi[1], hi[2], hi[3], hi[4], hi[5], hi[6], hi[7], hi[8], hi[9], "", hi[10]
    }'
