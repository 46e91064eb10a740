#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What recording and simulation cost: CPU time (user and system) as a multiple of the plain program's, for sequential
# programs on one processor and threaded programs on 1, 4 and 16, beside cachegrind, all in one run.
#
#   bench/run.sh [--prefix DIR] [--quick] [--reps N] [--out DIR] [--json] [--programs DIR]... [--processors "N..."]
#                [--variants "VARIANT..."] [--bus PARAMETERS] [--x86 PARAMETERS] [--limit SECONDS]
#                [--no-cachegrind] [--no-extras] [PROGRAM...]
#
# --prefix: a build directory or an installation (default: build/ of this tree).  --quick: sizes of about a tenth.
# --variants: recording (the compiled program, run plainly), cachegrind, and MACHINE[+OBSERVER...]; default "recording
# ideal bus bus+dtrack x86 x86+dtrack cachegrind", with --quick without x86, which takes longest.  --json: all results as JSON
# in place of the tables.  --programs: programs listed in DIR/programs.list, in place of peet's own (bench/README.md says
# how).  A PROGRAM is NAME or SUITE/NAME, SUITE the last part of DIR: programs, threads.  Native and recorded threads
# run on real processors, with OMP_WAIT_POLICY=passive.  A full run takes hours, a quick one a quarter of an hour.
set -u -o pipefail

usage() {
    awk 'NR > 2 && !/^#/ { exit } NR > 2 { sub(/^# ?/, ""); print }' "$0" >&2
    exit 2
}
here=$(cd "$(dirname "$0")" && pwd)
prefix=$here/../build
size=full reps=2 out= extras=yes selected= json=no limit=1800
processors="1 4 16" variants= cachegrind=yes
bus=protocol=illinois,cache=32KiB,line=64,ways=8 x86=preset=zen4
suites=()
while [ $# -gt 0 ]; do
    case $1 in
    --prefix | --reps | --out | --bus | --x86 | --programs | --processors | --variants | --limit)
        [ $# -ge 2 ] || usage
        case $1 in
        --prefix) prefix=$2 ;;
        --reps) reps=$2 ;;
        --out) out=$2 ;;
        --bus) bus=$2 ;;
        --x86) x86=$2 ;;
        --programs) suites+=("$2") ;;
        --processors) processors=${2//,/ } ;;
        --variants) variants=${2//,/ } ;;
        --limit) limit=$2 ;;
        esac
        shift
        ;;
    --quick) size=quick ;;
    --json) json=yes ;;
    --no-cachegrind) cachegrind=no ;;
    --no-extras) extras=no ;;
    -*) usage ;;
    *) selected="$selected $1" ;;
    esac
    shift
done
for number in $reps $limit $processors; do
    case $number in '' | *[!0-9]* | 0*) echo "bench: --reps, --limit and --processors want numbers above 0, not \"$number\"" >&2; exit 2 ;; esac
done
if [ -z "$variants" ]; then
    variants="recording ideal bus bus+dtrack x86 x86+dtrack cachegrind"
    [ $size = full ] || variants="recording ideal bus bus+dtrack cachegrind"
fi
[ $cachegrind = yes ] || variants=${variants/cachegrind/}
[ -n "${processors// /}" ] && [ -n "${variants// /}" ] || { echo "bench: no processors or no variants" >&2; exit 2; }
prefix=$(cd "$prefix" 2>/dev/null && pwd) || { echo "bench: no folder $prefix: build first" >&2; exit 2; }
out=${out:-$prefix/bench-results}
[ ${#suites[@]} -gt 0 ] || suites=("$here/programs" "$here/threads")
for ((i = 0; i < ${#suites[@]}; i++)); do
    [ -r "${suites[i]}/programs.list" ] || { echo "bench: no file ${suites[i]}/programs.list" >&2; exit 2; }
    suites[i]=$(cd "${suites[i]}" && pwd)
done
native_cc=${BENCH_CC:-clang-22}
native_cxx=${BENCH_CXX:-clang++-22}
FLAGS=${BENCH_FLAGS:--O2 -g}
peet=$prefix/bin/peet peetcc=$prefix/bin/peetcc
for tool in "$peet" "$peetcc"; do
    [ -x "$tool" ] || { echo "bench: $tool is missing: build first" >&2; exit 2; }
done
command -v "$native_cc" >/dev/null || { echo "bench: $native_cc is missing" >&2; exit 2; }
case " $variants " in *" cachegrind "*)
    if ! command -v valgrind >/dev/null; then
        echo "bench: valgrind is missing; its column stays empty" >&2
        variants=${variants/cachegrind/}
    fi ;;
esac
mkdir -p "$out" || exit 2
out=$(cd "$out" && pwd)
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
"$native_cc" -O2 -o "$work/peet-time" "$here/tools/peet-time.c" || exit 2
"$native_cc" -O2 -o "$work/tsv-json" "$here/tools/tsv-json.c" -ljansson || exit 2
raw=$out/measurements.tsv
printf 'suite\tprogram\tprocessors\tvariant\trepetition\tuser_s\tsystem_s\telapsed_s\tmax_rss_kib\tverdict\tinstructions\n' >"$raw"
printf 'suite\tprogram\tnative_s\tpeetcc_s\n' >"$out/compile.tsv"
rm -f "$out/problems.txt"
problems=0
export OMP_WAIT_POLICY=passive

# problem WHAT: noted in problems.txt
problem() {
    problems=$((problems + 1))
    { echo "== $1"; [ -s "$work/err" ] && head -c 2000 "$work/err"; } >>"$out/problems.txt"
}

# measure VARIANT REPETITION COMMAND...: one line in $raw; the output is held against native's.  Runs in $folder
measure() {
    local variant=$1 rep=$2 cost verdict=ok instructions= expected=$work/$suite.$name.$cores.expected
    shift 2
    rm -f "$work/run/stats.json"
    cost=$(cd "$folder" && "$work/peet-time" -o "$work/out" -e "$work/err" timeout "$limit" "$@" <"${input:-/dev/null}") || verdict=failed
    if [ "$variant" = native ] && [ "$rep" = 1 ]; then
        cp "$work/out" "$expected"
    elif [ $verdict = ok ] && [ "$compare" = yes ] && ! cmp -s "$work/out" "$expected"; then
        verdict=differs
    fi
    [ $verdict = ok ] || problem "$suite/$name, $cores processors, $variant: $verdict: $*"
    [ -r "$work/run/stats.json" ] &&
        instructions=$(awk -F'[:,]' '/"totals"/ { on = 1 } on && /"instructions"/ { print $2 + 0; exit }' "$work/run/stats.json")
    printf '%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n' "$suite" "$name" "$cores" "$variant" "$rep" "$cost" "$verdict" "$instructions" >>"$raw"
}

# cpu_seconds COMMAND...: sum of user and system seconds, the least of the repetitions; the command must succeed
cpu_seconds() {
    local i
    for ((i = 0; i < reps; i++)); do
        "$work/peet-time" -o "$work/out" -e "$work/said" "$@" </dev/null || { cat "$work/said" >&2; return 1; }
    done | awk '{ t = $1 + $2 } NR == 1 || t < least { least = t } END { print least }'
}

wanted() {
    [ -z "$selected" ] && return 0
    case " $selected " in *" $name "* | *" $suite/$name "*) return 0 ;; esac
    return 1
}

# build WHICH CC CXX: the program as $work/WHICH/..., and the CPU time on the standard output
build() {
    local to=$work/$1 cc=$2 cxx=$3
    rm -rf "$to"
    if [ -n "$command" ]; then
        cp -R "$dir/$sources" "$to" || return 1
        (cd "$to" && THREADS=${processors%% *} CC=$cc CXX=$cxx FLAGS=$FLAGS CFLAGS=$FLAGS CXXFLAGS=$FLAGS reps=1 \
            cpu_seconds sh -c "$command")
    else
        mkdir -p "$to"
        cpu_seconds "$cc" $FLAGS -o "$to/$name" "$dir/$name.c" $libs
    fi
}

# run_all: every variant of one program, on $cores processors; $call: its arguments, without leading NAME=VALUE words
run_all() {
    local rep variant machine parameters
    for ((rep = 1; rep <= reps; rep++)); do
        folder=$work/native measure native $rep "./$program" $call
        for variant in $variants; do
            # what takes long and varies little is measured once
            case $variant in cachegrind | x86* | *+*) [ $rep = 1 ] || continue ;; esac
            [ -t 2 ] && printf '\r%-70s' "bench: $suite/$name, $cores processors, $variant" >&2
            case $variant in
            recording) folder=$work/peet measure recording $rep "./$program" $call ;;
            cachegrind)
                folder=$work/native measure cachegrind $rep valgrind -q --tool=cachegrind --cache-sim=yes \
                    --cachegrind-out-file=/dev/null "./$program" $call ;;
            *)
                machine=${variant%%+*} parameters=
                [ "$machine" = bus ] && parameters=,$bus
                [ "$machine" = x86 ] && parameters=,$x86
                set -- --machine "$machine$parameters"
                for observer in $(printf '%s' "${variant#"$machine"}" | tr + ' '); do
                    set -- "$@" --observe "$observer"
                done
                folder=$work/peet measure "$variant" $rep "$peet" run --quiet --cores "$cores" "$@" -d "$work/run" -- "./$program" $call ;;
            esac
        done
    done
}

# One line of a programs.list; fields as in bench/README.md.
one_program() {
    local words word
    words=$quick
    [ $size = quick ] || words=$full
    for which in "native $native_cc $native_cxx" "peet $peetcc $prefix/bin/peetcc++"; do
        [ -t 2 ] && printf '\r%-70s' "bench: building $suite/$name" >&2
        cost=$(build $which 2>"$work/err") && [ -x "$work/${which%% *}/$program" ] || { problem "$suite/$name: the build failed ($which)"; return; }
        [ "${which%% *}" = native ] && native_build=$cost
    done
    printf '%s\t%s\t%s\t%s\n' "$suite" "$name" "$native_build" "$cost" >>"$out/compile.tsv"
    count=$processors
    case "$words $input_name" in *'$THREADS'*) ;; *) count=1 ;; esac
    for cores in $count; do
        local call= variables=()
        for word in ${words//\$THREADS/$cores}; do
            case $word in
            [A-Z]*=*) [ -z "$call" ] && variables+=("$word") || call="$call $word" ;;
            *) call="$call $word" ;;
            esac
        done
        input=
        [ -z "$input_name" ] || input=$work/native/${input_name//\$THREADS/$cores}
        if [ ${#variables[@]} -gt 0 ]; then
            (export "${variables[@]}"; run_all; exit $problems)
            problems=$?
        else
            run_all
        fi
    done
}

found=no
for dir in "${suites[@]}"; do
    suite=${dir##*/}
    while IFS='|' read -r name quick full libs sources command program input_name compare; do
        name=${name//[[:space:]]/}
        case $name in '' | '#'*) continue ;; esac
        wanted || continue
        found=yes
        sources=${sources//[[:space:]]/} program=${program//[[:space:]]/} input_name=${input_name//[[:space:]]/}
        command=$(printf '%s' "$command" | sed 's/^ *//; s/ *$//')
        program=${program:-$name}
        case $compare in *any*) compare=no ;; *) compare=yes ;; esac
        one_program </dev/null
    done <"$dir/programs.list"
done
[ -t 2 ] && printf '\r%-70s\r' '' >&2
[ $found = yes ] || { echo "bench: no program of these names:$selected" >&2; exit 2; }

# Extras: doall loops, observers that do nothing.
extras() {
    local n=1000000 none some base with source=$here/programs/lu.c args="900 32"
    [ $size = quick ] && n=100000
    "$peetcc" $FLAGS -o "$work/empty.peet" "$here/doall/empty.c" && "$peetcc" $FLAGS -o "$work/lu.peet" "$source" -lm || return 1
    printf 'what\tvalue\n'
    none=$(cpu_seconds "$peet" run --quiet --machine ideal --cores 8 -d "$work/run" -- "$work/empty.peet" 0) &&
        some=$(cpu_seconds "$peet" run --quiet --machine ideal --cores 8 -d "$work/run" -- "$work/empty.peet" $n) || return 1
    awk -v n=$n -v a="$none" -v b="$some" 'BEGIN { d = b - a; if (d <= 0) d = 1e-6
        printf "iterations of an empty doall loop a CPU second, 8 processors of ideal\t%.0f\n", n / d }'
    base=$(cpu_seconds "$peet" run --quiet --machine ideal -d "$work/run" -- "$work/lu.peet" $args) || return 1
    for needs in 0 1 3 7; do # no events, blocks, blocks and addresses, all
        "$native_cc" -shared -fPIC -O2 -DNEEDS=$needs -I"$prefix/include" -o "$work/empty$needs.so" "$here/modules/empty.c" || return 1
        with=$(cpu_seconds "$peet" run --quiet --machine ideal --observe "$work/empty$needs.so" -d "$work/run" -- "$work/lu.peet" $args) || return 1
        awk -v a="$base" -v b="$with" -v k=$needs 'BEGIN { printf "empty observer of needs %d beside ideal (lu), times the run without it\t%.2f\n", k, b / a }'
    done
}
printf 'what\tvalue\n' >"$out/extras.tsv"
if [ $extras = yes ]; then
    extras >"$out/extras.tsv" 2>"$work/err" || problem "the extras failed"
fi

printf 'what\tvalue\n' >"$out/settings.tsv"
{
    printf 'compiler\t%s %s\n' "$native_cc" "$FLAGS"
    printf 'size\t%s\nrepetitions\t%s\nbus\t%s\nx86\t%s\n' $size "$reps" "$bus" "$x86"
    printf 'host_processors\t%s\n' "$(nproc)"
} >>"$out/settings.tsv"
awk -f "$here/report.awk" -v variants="$variants" -v ratios="$out/ratios.tsv" -v geomeans="$out/geomeans.tsv" "$raw" >"$out/tables.txt"
awk -F'\t' 'NR > 1 && $3 > 0 { sum += log($4 / $3); n++ } END { if (n) printf "\ncompile time, peetcc against %s: %.2f times (geometric mean of %d)\n", cc, exp(sum / n), n }' \
    cc="$native_cc" "$out/compile.tsv" >>"$out/tables.txt"
if [ $json = yes ]; then
    "$work/tsv-json" settings="$out/settings.tsv" ratios="$out/ratios.tsv" geomeans="$out/geomeans.tsv" \
        compile="$out/compile.tsv" extras="$out/extras.tsv" measurements="$raw" || exit 1
else
    echo "$native_cc $FLAGS, $size sizes, $reps repetitions; bus,$bus; x86,$x86"
    cat "$out/tables.txt"
    awk -F'\t' 'NR > 1 { print $1 ": " $2 }' "$out/extras.tsv"
    echo "measurements: $raw"
fi
if [ $problems -gt 0 ]; then
    echo "bench: $problems problems, see $out/problems.txt" >&2
    exit 1
fi
