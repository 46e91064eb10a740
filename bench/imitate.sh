#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# How far the synthetic trace and the Chameleon program of a program are from it: the table of docs/LOCALITY.md, a row for each program.
#
#   bench/imitate.sh [--prefix DIR] [--observe PARAMS] [--trace N] [--bench N] [--run N] [--machines "PRESET..."] PROGRAM...
#
# PROGRAM is a command that peetcc has compiled, with its arguments in one word: "./cg.W" or "./prog 100 2".  PARAMS are the observer's, as
# "mode=sampled,one_of=32"; default: exact.  Traces have N references (default 1000000), seeds of programs N (default auto: the length that peet chooses); programs are recorded for N
# references (4000000).  Mean absolute differences of hit rates in per cent: of 136 caches (trace), and of the 68 with lines of 64 to 512 bytes.
# With --machines: of each preset of the machine x86, with its prefetchers, the hit rates of the program and of its stand-in at each level, those of
# the second and third level as shares of all references.
. "$(dirname "$0")/lib.sh"
observe='' trace=1000000 bench=auto run=4000000 machines='' selected=''
programs=()
while [ $# -gt 0 ]; do
    case $1 in
    --?*) options "prefix observe trace bench run machines" "$1" "${2:-}" && shift 2 ;;
    *) programs+=("$1") && shift ;;
    esac
done
[ ${#programs[@]} -gt 0 ] || usage
begin
peet=$prefix/bin/peet
length=
[ "$bench" = auto ] || length="-n $bench"
watch() { "$peet" run --quiet --observe "locality,lines=off,windows=off${1:+,$1}" -d "$2" "${@:3}" </dev/null >"$work/said" 2>&1 || { cat "$work/said" >&2; exit 1; }; }
# differences FILE FILE: of 136 caches, of 68
differences() { "$peet" locality report "$1" "$2" | sed -n 's/.*136 caches, lines of 4 to 512 B: \([0-9.]*\) .*64 to 512 B: \([0-9.]*\) .*/\1 \2/p'; }

# hits FOLDER: of each level of a machine, in per cent of all references
hits() {
    python3 - "$1" <<'PY'
import json, sys
memory = json.load(open(sys.argv[1] + "/stats.json"))["x86"]["memory"]
references = memory["l1d"]["reads"] + memory["l1d"]["writes"]
print(*("%.2f" % (100 - 100 * (memory[level]["read_misses"] + memory[level]["write_misses"]) / references) for level in ("l1d", "l2", "l3")))
PY
}
simulate() { "$peet" run --quiet --machine "x86,preset=$1" -d "$work/simulated" "${@:2}" </dev/null >"$work/said" 2>&1 || { cat "$work/said" >&2; exit 1; }; hits "$work/simulated"; }

printf '%-24s %16s %10s %18s\n' program references "trace, 136" "program, 68"
for command in "${programs[@]}"; do
    watch "$observe" "$work/seen" -- $command
    "$peet" locality signature "$work/seen" -o "$work/a.json" || exit 1
    of_trace=$("$peet" locality trace "$work/a.json" -n "$trace" -o "$work/a.din" 2>&1 | sed -n 's/.*caches: \([0-9.]*\)% mean.*/\1/p')
    "$peet" locality bench "$work/a.json" $length -o "$work/a.c" >"$work/said" 2>&1 || { cat "$work/said" >&2; exit 1; }
    "$prefix/bin/peetcc" -O2 -pthread -o "$work/a" "$work/a.c" || exit 1
    watch '' "$work/made" --roi=only -- "$work/a" "$run"
    "$peet" locality signature "$work/made" -o "$work/b.json" || exit 1
    read -r _ of_program <<<"$(differences "$work/a.json" "$work/b.json")"
    references=$(python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["counts"]["references"])' "$work/a.json")
    printf '%-24s %16s %10s %18s\n' "$(basename "${command%% *}")" "$references" "${of_trace:-?}" "${of_program:-?}"
    for preset in $machines; do
        read -r a1 a2 a3 <<<"$(simulate "$preset" -- $command)"
        read -r b1 b2 b3 <<<"$(simulate "$preset" --roi=only -- "$work/a" "$run")"
        printf '  %-12s L1 %6s and %6s, L2 %6s and %6s, L3 %6s and %6s\n' "$preset" "$a1" "$b1" "$a2" "$b2" "$a3" "$b3"
    done
done
