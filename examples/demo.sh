#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The main job, whole: compile the shallow-water program with peetcc, run it on simulated bus multiprocessors of 1 to 16
# processors with two cache sizes and two line sizes, check that its output never changes, and draw what the PEET
# report of 1991 shows in its Figure 2.  `./dev demo` builds peet and calls this.
#
#   examples/demo.sh [PREFIX [FOLDER]]
#
# PREFIX: a build directory or an installation (default: build/ of this tree).  FOLDER: results (default: PREFIX/demo).
# PEET_DEMO_PROCESSORS: other numbers of processors, 8 among them ("1 8 16").
# PEET_JOBS: how many simulations at once (default: one for each processor of this computer).
set -u -o pipefail

here=$(cd "$(dirname "$0")" && pwd)
die() { echo "demo: $*" >&2; exit 1; }
case ${1:-} in -*) sed -n '3,11s/^# \{0,1\}//p' "$0"; exit 2 ;; esac
prefix=$(cd "${1:-$here/../build}" 2>/dev/null && pwd) || die "no folder ${1:-$here/../build}: build first (./dev build)"
[ -x "$prefix/bin/peet" ] && [ -x "$prefix/bin/peetcc" ] || die "$prefix/bin holds no peet and peetcc: build first (./dev build)"
out=${2:-$prefix/demo}
mkdir -p "$out" || die "cannot make $out"
out=$(cd "$out" && pwd)
jobs=${PEET_JOBS:-$(nproc)}
CC=${CC:-clang-22}
for tool in "$CC" gnuplot; do
    command -v "$tool" >/dev/null || die "$tool is missing: ./dev setup installs it"
done

# The experiment.  Grid and steps are near those of the report: seven million instructions, two to three million
# references.
M=64 N=64 STEPS=10 CHECK_EVERY=10
processors=${PEET_DEMO_PROCESSORS:-$(seq 1 16)}
configurations="16KiB:8 16KiB:32 128KiB:8 128KiB:32"   # cache:line
machine=protocol=berkeley,window_cycles=4000
over_time=8:128KiB:8                                   # the run of chart (c)

# ------------------------------------------------------------------------------------------------- programs
echo "compiling shallow with peetcc, and without" >&2
cd "$out" || exit 1
rm -rf runs expected ./*.tsv ./*.png ./*.svg
"$prefix/bin/peetcc" -O2 -o shallow "$here/shallow/shallow.c" -lm || die "peetcc failed"
"$CC" -O2 -I"$prefix/include" -o shallow.plain "$here/shallow/shallow.c" -L"$prefix/lib" -lpeet-rt \
    -Wl,-rpath,"$prefix/lib" -lm || die "$CC failed"
"$CC" -O2 -o peet-stat "$here/tools/peet-stat.c" -ljansson || die "cannot build peet-stat: is libjansson-dev installed?"
./shallow.plain $M $N $STEPS $CHECK_EVERY >expected || die "the plain program failed"

# ----------------------------------------------------------------------------------------------------- runs
mkdir runs
total=0
for p in $processors; do
    for c in $configurations; do
        echo "$p:$c"
        total=$((total + 1))
    done
done >runs/list
export prefix machine M N STEPS CHECK_EVERY
one_run() {
    IFS=: read -r p cache line <<<"$1"
    dir=runs/$p-$cache-$line
    if ! "$prefix/bin/peet" run --quiet --machine "bus,$machine,cache=$cache,line=$line" --cores "$p" -d "$dir" \
        -- ./shallow "$M" "$N" "$STEPS" "$CHECK_EVERY" >"$dir.out" 2>"$dir.err"; then
        { echo "demo: $p processors, cache $cache, line $line: the run failed"; cat "$dir.err"; } >&2
        exit 255
    fi
    cmp -s expected "$dir.out" || { echo "demo: $p processors, cache $cache, line $line: the output differs" >&2; exit 255; }
    echo "$1"
}
export -f one_run
total=$(wc -l <runs/list)
started=$SECONDS
# shellcheck disable=SC2016
xargs -P "$jobs" -I{} bash -c 'one_run {}' <runs/list | {
    done=0
    while read -r _; do
        done=$((done + 1))
        [ -t 2 ] && printf '\rsimulating: %d of %d runs' "$done" "$total" >&2
    done
    [ -t 2 ] && printf '\r%40s\r' '' >&2
    [ "$done" = "$total" ]
} || die "not all runs succeeded"
seconds=$((SECONDS - started))

# -------------------------------------------------------------------------------------------------- results
value() { ./peet-stat "runs/$1/stats.json" "$2" || die "no $2 in runs/$1/stats.json"; }
for p in $processors; do
    row=$p
    for key in time.cycles bus.bus.utilisation; do
        for c in $configurations; do
            number=$(value "$p-${c/:/-}" $key) || exit 1
            row="$row	$number"
        done
    done
    echo "$row"
done >points.tsv
./peet-stat -r "runs/${over_time//:/-}/stats.json" bus.bus.windows cycle utilisation >windows.tsv || die "no windows in the results"

titles= number=0 config_c=1
for c in $configurations; do
    number=$((number + 1))
    titles="$titles ${c%%KiB*}_KiB,_line_${c#*:}_bytes"
    [ "$c" = "${over_time#*:}" ] && config_c=$number
done
for type in png svg; do
    gnuplot -e "data='.'; type='$type'; configs='$titles'; cores_c='${over_time%%:*}'; config_c='$config_c'" \
        "$here/figure2.gnuplot" || die "gnuplot failed"
done

# ---------------------------------------------------------------------------------------------------- table
instructions=$(value "1-128KiB-8" totals.instructions) reads=$(value "1-128KiB-8" totals.reads)
writes=$(value "1-128KiB-8" totals.writes)
cat expected
echo
awk -v i="$instructions" -v r="$reads" -v w="$writes" 'BEGIN {
    printf "one run: %.1f million instructions, %.1f million reads, %.1f million writes\n\n", i / 1e6, r / 1e6, w / 1e6 }'
awk -F'\t' -v titles="$titles" '
BEGIN {
    n = split(titles, t, " ")
    printf "%-11s", ""
    for (i = 1; i <= n; i++) { gsub("_", " ", t[i]); sub(", line", ",", t[i]); printf "%21s", t[i] }
    printf "\n%-11s", "processors"
    for (i = 1; i <= n; i++) printf "%21s", "Mcycles  speed  bus%"
    print ""
}
{
    printf "%-11d", $1
    for (i = 1; i <= n; i++) {
        if (NR == 1) first[i] = $(1 + i)
        printf "%10.2f %6.2f %3.0f", $(1 + i) / 1e6, first[i] / $(1 + i), 100 * $(1 + n + i)
    }
    print ""
}
END { print "\nMcycles: execution time, million cycles; speed: against one processor; bus%: average bus utilisation" }' points.tsv
echo
echo "$total runs in $seconds seconds; the output of every run is the plain program's, byte for byte"
echo "pictures (png and svg):"
for picture in execution-time bus-utilisation bus-over-time; do
    echo "  $out/$picture.png"
done
