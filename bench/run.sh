#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What recording and simulation cost, against the plain program and against cachegrind, side by side in one run.
# Called by `./dev bench`; prints tables and leaves the measurements as tab-separated files.
#
#   bench/run.sh [--prefix DIR] [--quick] [--reps N] [--out DIR] [--bus PARAMETERS] [--no-cachegrind] [--no-extras] [PROGRAM...]
#
# DIR is a build directory or an installation (default: build/ of this tree): DIR/bin/peetcc is used.  The sizes take
# about a second natively each, so that a run lasts half an hour; with --quick a tenth of that.
set -u -o pipefail

usage() {
    sed -n '3,10s/^# \{0,1\}//p' "$0" >&2
    exit 2
}
here=$(cd "$(dirname "$0")" && pwd)
prefix=$here/../build
size=full reps=2 out= cachegrind=yes extras=yes selected=
bus=protocol=illinois,cache=32KiB,line=64,ways=8
while [ $# -gt 0 ]; do
    case $1 in
    --prefix) [ $# -ge 2 ] || usage; prefix=$2; shift ;;
    --quick) size=quick ;;
    --reps) [ $# -ge 2 ] || usage; reps=$2; shift ;;
    --out) [ $# -ge 2 ] || usage; out=$2; shift ;;
    --bus) [ $# -ge 2 ] || usage; bus=$2; shift ;;
    --no-cachegrind) cachegrind=no ;;
    --no-extras) extras=no ;;
    -*) usage ;;
    *) selected="$selected $1" ;;
    esac
    shift
done
case $reps in '' | *[!0-9]* | 0) echo "bench: --reps wants a number above 0" >&2; exit 2 ;; esac

prefix=$(cd "$prefix" 2>/dev/null && pwd) || { echo "bench: no folder $prefix: build first" >&2; exit 2; }
out=${out:-$prefix/bench-results}
CC=${BENCH_CC:-clang-22}
FLAGS=${BENCH_FLAGS:--O2}
peet=$prefix/bin/peet peetcc=$prefix/bin/peetcc
for tool in "$peet" "$peetcc"; do
    [ -x "$tool" ] || { echo "bench: $tool is missing: build first" >&2; exit 2; }
done
command -v "$CC" >/dev/null || { echo "bench: $CC is missing" >&2; exit 2; }
if [ $cachegrind = yes ] && ! command -v valgrind >/dev/null; then
    echo "bench: valgrind is missing; its column stays empty" >&2
    cachegrind=no
fi
mkdir -p "$out" || exit 2
out=$(cd "$out" && pwd)
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
"$CC" -O2 -o "$work/peet-time" "$here/tools/peet-time.c" || exit 2
raw=$out/measurements.tsv
printf '# program\tvariant\trepetition\tuser_s\tsystem_s\telapsed_s\tmax_rss_kib\tverdict\n' >"$raw"
problems=0

# measure PROGRAM VARIANT REPETITION COMMAND...: one line in $raw; the output is held against native's
measure() {
    local program=$1 variant=$2 rep=$3 cost verdict=ok
    shift 3
    cost=$("$work/peet-time" -o "$work/out" -e "$work/err" "$@") || verdict=failed
    if [ "$variant" = native ] && [ "$rep" = 1 ]; then
        cp "$work/out" "$work/$program.expected"
    elif [ $verdict = ok ] && ! cmp -s "$work/out" "$work/$program.expected"; then
        verdict=differs
    fi
    if [ $verdict != ok ]; then
        problems=$((problems + 1))
        { echo "== $program, $variant: $verdict: $*"; head -c 2000 "$work/err"; } >>"$out/problems.txt"
    fi
    printf '%s\t%s\t%s\t%s\t%s\n' "$program" "$variant" "$rep" "$cost" "$verdict" >>"$raw"
}

# least VALUES...: the smallest number
least() { printf '%s\n' "$@" | sort -g | head -n 1; }

# Sum of user and system seconds of a command that must succeed, least of the repetitions.
cpu_seconds() {
    local i all=
    for ((i = 0; i < reps; i++)); do
        cost=$("$work/peet-time" -o /dev/null -e "$work/err" "$@") || { cat "$work/err" >&2; return 1; }
        all="$all $(echo "$cost" | awk '{ print $1 + $2 }')"
    done
    least $all
}

wanted() {
    [ -z "$selected" ] && return 0
    case " $selected " in *" $1 "*) return 0 ;; esac
    return 1
}

rm -f "$out/problems.txt"
programs=
while IFS='|' read -r name quick full libs; do
    case $name in '' | '#'*) continue ;; esac
    name=${name// /}
    wanted "$name" || continue
    programs="$programs $name"
    if [ $size = quick ]; then args=$quick; else args=$full; fi
    source=$here/programs/$name.c
    [ -t 2 ] && printf '\r%-60s' "bench: $name" >&2
    native_build=$(cpu_seconds "$CC" $FLAGS -o "$work/$name" "$source" $libs) || exit 1
    peet_build=$(cpu_seconds "$peetcc" $FLAGS -o "$work/$name.peet" "$source" $libs) || {
        echo "== $name: peetcc failed" >>"$out/problems.txt"
        problems=$((problems + 1))
        continue
    }
    printf '%s\t%s\t%s\n' "$name" "$native_build" "$peet_build" >>"$work/compile"
    for ((rep = 1; rep <= reps; rep++)); do
        measure "$name" native $rep "$work/$name" $args
        measure "$name" recording $rep "$work/$name.peet" $args
        measure "$name" ideal $rep "$peet" run --quiet --machine ideal -d "$work/run" -- "$work/$name.peet" $args
        measure "$name" bus $rep "$peet" run --quiet --machine "bus,$bus" -d "$work/run" -- "$work/$name.peet" $args
        # cachegrind takes longest and varies least: once
        if [ $cachegrind = yes ] && [ $rep = 1 ]; then
            measure "$name" cachegrind $rep valgrind -q --tool=cachegrind --cache-sim=yes --cachegrind-out-file=/dev/null \
                "$work/$name" $args
        fi
    done
done <"$here/programs.list"
[ -t 2 ] && printf '\r%-60s\r' '' >&2
[ -n "$programs" ] || { echo "bench: no program of these names:$selected" >&2; exit 2; }

echo "$CC $FLAGS, $size sizes, $reps repetitions; bus,$bus; cachegrind with --cache-sim=yes"
awk -f "$here/report.awk" -v variants="recording ideal bus cachegrind" -v summary="$out/ratios.tsv" "$raw"
awk '{ sum += log($3 / $2); n++ } END { if (n) printf "compile time, peetcc against %s: %.2f times (geometric mean of %d)\n", cc, exp(sum / n), n }' \
    cc="$CC" "$work/compile" | tee "$out/compile.txt"

if [ $extras = yes ]; then
    echo
    if "$peetcc" $FLAGS -o "$work/empty.peet" "$here/doall/empty.c" 2>"$work/err"; then
        n=1000000
        [ $size = quick ] && n=100000
        none=$(cpu_seconds "$peet" run --quiet --machine ideal --cores 8 -d "$work/run" -- "$work/empty.peet" 0) &&
            some=$(cpu_seconds "$peet" run --quiet --machine ideal --cores 8 -d "$work/run" -- "$work/empty.peet" $n) &&
            awk -v n=$n -v a="$none" -v b="$some" 'BEGIN { d = b - a; if (d <= 0) d = 1e-6
                printf "empty doall, 8 processors, machine ideal: %.2f million iterations per CPU second\n", n / d / 1e6 }' |
            tee "$out/doall.txt"
    else
        cat "$work/err" >&2
        problems=$((problems + 1))
    fi
    set -- $programs
    program=$1
    for p in $programs; do [ $p = lu ] && program=lu; done
    args=$(awk -F'|' -v p="$program" -v f=$([ $size = quick ] && echo 2 || echo 3) '{ gsub(/ /, "", $1) } $1 == p { print $f }' "$here/programs.list")
    base=$(cpu_seconds "$peet" run --quiet --machine ideal -d "$work/run" -- "$work/$program.peet" $args) && {
        printf 'empty observer beside ideal, %s: no events 0, blocks 1, blocks and addresses 3, all 7\n' "$program"
        for needs in 0 1 3 7; do
            "$CC" -shared -fPIC -O2 -DNEEDS=$needs -I"$prefix/include" -o "$work/empty$needs.so" "$here/modules/empty.c" || break
            with=$(cpu_seconds "$peet" run --quiet --machine ideal --observe "$work/empty$needs.so" -d "$work/run" -- "$work/$program.peet" $args) || break
            awk -v a="$base" -v b="$with" -v k=$needs 'BEGIN { printf "  needs %d: %.2f times the run without it\n", k, b / a }'
        done
    } | tee "$out/modules.txt"
fi

echo
echo "measurements: $raw"
if [ $problems -gt 0 ]; then
    echo "bench: $problems problems, see $out/problems.txt" >&2
    exit 1
fi
