#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# SPLASH-3 under every consistency model, in both modes of interaction: the programs' own tests pass, or their output and files are those of the
# native build (times left out, floating point to within rounding).  The suite is the user's:
#
#   PEET_SPLASH3=.../Splash-3/codes PEET_PREFIX=build PEET_SOURCE=. PEET_PLAIN_CC=clang PEET_PLAIN_CXX=clang++ bash tests/litmus/splash.sh FOLDER
#
# PROGRAMS, MODELS, MODES, PROCESSORS: lists in place of all programs, all models, "sync ref" and 2; SECONDS_MOST for one run (600); BUILT=1:
# FOLDER has been built before.  volrend is compiled with its variables initialised: it reads one that it has not written.
[ -n "${BUILT:-}" ] && kept=$1 && set -- "$1.run"
. "$(dirname "$0")/lib.sh"
[ -d "${PEET_SPLASH3:-}/kernels/fft" ] || skip "SPLASH-3 is not here: PEET_SPLASH3 says where"
: "${PROGRAMS:=fft lu lu-nc radix cholesky ocean ocean-nc barnes fmm raytrace radiosity volrend water-nsquared water-spatial}"
: "${MODELS:=sc tso pso pc wo rc}" "${MODES:=sync ref}" "${PROCESSORS:=2}" "${SECONDS_MOST:=600}"

place() {
    case $1 in
    fft | radix | cholesky) echo "kernels/$1" ;;
    lu) echo kernels/lu/contiguous_blocks ;;
    lu-nc) echo kernels/lu/non_contiguous_blocks ;;
    ocean) echo apps/ocean/contiguous_partitions ;;
    ocean-nc) echo apps/ocean/non_contiguous_partitions ;;
    *) echo "apps/$1" ;;
    esac
}
binary() {
    local name=${1%-nc}
    echo "${name^^}"
}
arguments() { # PROGRAM PROCESSORS
    case $1 in
    fft) echo "-m10 -p$2 -t" ;;
    lu | lu-nc) echo "-n64 -b8 -p$2 -t" ;;
    radix) echo "-n8192 -r256 -m65536 -p$2 -t" ;;
    cholesky) echo "-p$2 -t inputs/lshp.O" ;;
    ocean | ocean-nc) echo "-n34 -p$2 -o" ;;
    fmm) echo "-o" ;;
    raytrace) echo "-p$2 -m64 inputs/teapot.env" ;;
    radiosity) echo "-p $2 -batch -bf 0.5 -en 0.5 -ae 20000" ;;
    volrend) echo "$2 inputs/head-scaleddown4 2" ;;
    esac
}
input() { # PROGRAM PROCESSORS
    case $1 in
    barnes) sed -e 's/^16384/256/' -e "s/^1\$/$2/" inputs/n16384-p1 ;;
    fmm) sed -e "s/^4\$/$2/" inputs/input.4.256 ;;
    water-nsquared) printf '  1.5e-16   64  2   6\n -1      3000     3  0\n%s 6.212752\n' "$2" ;;
    water-spatial) printf '  1.5e-16   64  1   6\n -1      3000     3  0\n%s 6.212752\n' "$2" ;;
    esac
}
results() { # files that it writes
    case $1 in
    raytrace) echo "inputs/teapot.rl" ;;
    volrend) ls inputs/head-scaleddown4_* 2>/dev/null ;;
    esac
}
build() { # VARIANT COMPILER OPTIONS: make once for each program
    local name extra
    mkdir -p "$1" && cp -r "$PEET_SPLASH3"/. "$1" || fail "copying"
    for name in $PROGRAMS; do
        extra=
        [ "$name" = volrend ] && extra=-ftrivial-auto-var-init=zero
        [ "$name" = raytrace ] && sed -i 's/^resolution.*/resolution 32 32/' "$1/apps/raytrace/inputs/teapot.env"
        (cd "$1/$(place "$name")" && make clean && make CC="$2 $extra") >"build.$1.$name" 2>&1 || fail "building $name, $1: see $work/build.$1.$name"
    done
}
# What is left of an output: no times, no lines of counts only
keep() {
    grep -v -i -E 'time|start|end|elapsed|process|visible|garbage|^[[:space:]]*[0-9]+([[:space:]]+[0-9.na-]+)*[[:space:]]*$' "$1" | sed '/^[[:space:]]*$/d'
}
# near_files A B: the same words, numbers within 2e-4
near_files() {
    paste -d $'\001' <(keep "$1") <(keep "$2") | awk -F '\001' '
        function abs(x) { return x < 0 ? -x : x }
        { n = split($1, a, /[[:space:]=,:]+/); m = split($2, b, /[[:space:]=,:]+/)
          if (n != m) exit bad = 1
          for (i = 1; i <= n; i++) if (a[i] != b[i] && !(a[i] ~ /[0-9]\.[0-9]/ && b[i] ~ /[0-9]\.[0-9]/ && abs(a[i] - b[i]) <= 2e-4 * (abs(a[i]) > 1 ? abs(a[i]) : 1))) exit bad = 1 }
        END { exit bad }'
}

if [ -n "${BUILT:-}" ]; then
    cd "$kept" || exit 1
else
    build native "$PEET_PLAIN_CC"
    build sync "$peetcc -fpeet-domains"
    build ref "$peetcc -fpeet-domains -fpeet-granularity=ref"
fi
bad=0 runs=0
for name in $PROGRAMS; do
    for processors in $PROCESSORS; do
        where=$(place "$name") program=./$(binary "$name")
        (cd "native/$where" && rm -f $(results "$name") && input "$name" "$processors" | timeout -k 1 100 "$program" $(arguments "$name" "$processors")) >want.txt 2>&1 ||
            fail "$name, native, $processors processors"
        for mode in $MODES; do
            for model in $MODELS; do
                began=$SECONDS status=0 verdict=right
                (cd "$mode/$where" && rm -f $(results "$name") && input "$name" "$processors" | timeout -k 1 "$SECONDS_MOST" "$peet" run -q --cores "$processors" \
                    --consistency "consistency,model=$model" --consistency-sync "$mode" -d "$work/out" -- "$program" $(arguments "$name" "$processors")) >got.txt 2>&1 || status=$?
                case $name in
                fft | lu | lu-nc) grep -q 'TEST PASSED' got.txt || verdict=wrong ;;
                radix) grep -q 'PASSED: All keys in place' got.txt || verdict=wrong ;;
                cholesky) grep -q PASSED got.txt || verdict=wrong ;;
                raytrace | volrend)
                    for file in $(cd "native/$where" && results "$name"); do
                        different=$(cmp -l "native/$where/$file" "$mode/$where/$file" 2>&1 | wc -l) # volrend: a digit of a time
                        [ -s "$mode/$where/$file" ] && [ "$different" -le $([ "$name" = volrend ] && echo 1 || echo 0) ] || verdict=wrong
                    done
                    ;;
                *) near_files want.txt got.txt || verdict=different ;;
                esac
                [ "$status" = 0 ] || verdict="status $status"
                [ "$verdict" = right ] || bad=$((bad + 1))
                runs=$((runs + 1))
                echo "$name $processors processors $mode $model: $verdict, $((SECONDS - began)) s"
            done
        done
    done
done
echo "$runs runs, $bad not right"
[ "$bad" -eq 0 ]
