#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# suite.sh FOLDER [PATTERN]: runs a public OpenMP test suite, which is not part of this project, under `peet run`.  FOLDER
# holds C and C++ programs that exit with 0 when they pass: those of OpenMP_VV (its folder tests), and those of LLVM's
# openmp/runtime/test, whose RUN lines say how they are built and run.  A program counts only if the plain compiler builds it and
# it passes with the ordinary library.  Skipped, with a message, if there is no folder.
# PEET_SUITE_JOBS: programs at once.
set -u -o pipefail
export LC_ALL=C
: "${PEET_PREFIX:?}"
folder=${1:-${PEET_OPENMP_SUITE:-}} pattern=${2:-}
if [ -z "$folder" ] || [ ! -d "$folder" ]; then
    echo "SKIPPED: no OpenMP test suite: name the folder of one in PEET_OPENMP_SUITE"
    exit 77
fi
folder=$(cd "$folder" && pwd)
export clang=${PEET_PLAIN_CC:-clang-22} clangxx=${PEET_PLAIN_CXX:-clang++-22} peetcc=$PEET_PREFIX/bin/peetcc peet=$PEET_PREFIX/bin/peet
work=$(mktemp -d "${TMPDIR:-/tmp}/peet-suite.XXXXXX")
trap 'rm -rf "$work"' EXIT
export folder work
ulimit -c 0

# The part of a RUN line before its command: VARIABLE=value words.
environment_of() {
    tr ' ' '\n' <<<"$1" | grep -E '^[A-Z_]+=' | tr '\n' ' '
}

one() {
    local source=$1 name compiler runner=$peetcc flags="" runs line status
    name=${source#"$folder"/}
    local dir=$work/${name//\//_}
    mkdir -p "$dir" && cd "$dir" || return
    compiler=$clang
    case $source in *.cpp | *.cc) compiler=$clangxx runner=$PEET_PREFIX/bin/peetcc++ ;; esac
    flags="-O1 -w -fopenmp -I$(dirname "$source")"
    for include in "$folder" "$folder/../ompvv" "$folder/../../ompvv" "$folder/ompvv" "$folder/.." "$folder/../../include"; do
        [ -d "$include" ] && flags="$flags -I$include"
    done
    if grep -q 'RUN:' "$source"; then
        line=$(grep -m1 -E 'RUN:.*%libomp(-cxx)?-compile' "$source")
        flags="$flags $(grep -oE -e '(^| )-(D|f|std=)[^ ]+' <<<"$line" | tr '\n' ' ')"
        runs=$(grep -E 'RUN:.*%(libomp-(run|compile-and-run)|t)( |$)' "$source" | grep -v -E '%libomp(-cxx)?-compile( |$)')
        [ -n "$runs" ] || runs="RUN:"
    else
        runs="RUN:"
    fi
    local libraries="-lm -lpthread"
    grep -q -E '_Complex|long double' "$source" && libraries="$libraries -latomic"
    timeout 120 $compiler $flags -o plain "$source" $libraries >plain.log 2>&1 || {
        echo "other $name: the plain compiler refuses it"
        return
    }
    timeout 240 $runner $flags -fno-peet-schema-file -o recorded "$source" $libraries >recorded.log 2>&1 || {
        echo "FAIL $name: peetcc: $(tail -n 1 recorded.log)"
        return
    }
    while read -r line; do
        local variables arguments
        variables=$(environment_of "$line")
        arguments=$(sed -nE 's/.*%libomp-(compile-and-)?run +([^|&>]*).*/\2/p' <<<"$line")
        env $variables timeout 60 ./plain $arguments >plain.out 2>&1 </dev/null
        status=$?
        if [ $status -ne 0 ]; then
            echo "other $name $variables$arguments: status $status with the ordinary library"
            continue
        fi
        env $variables timeout 120 "$peet" run --quiet --cores 4 -d out -- ./recorded $arguments >recorded.out 2>&1 </dev/null
        status=$?
        if [ $status -ne 0 ]; then
            echo "FAIL $name $variables$arguments: status $status: $(grep -v '^$' recorded.out | tail -n 1 | cut -c1-150)"
        else
            echo "pass $name $variables$arguments"
        fi
    done <<<"$runs"
    rm -rf "$dir"
}
export -f one environment_of

find "$folder" \( -name '*.c' -o -name '*.cpp' -o -name '*.cc' \) -print | sort | grep -E -e "$pattern" |
    xargs -d '\n' -n 1 -P "${PEET_SUITE_JOBS:-2}" bash -c 'one "$1"' one | tee "$work/results"
passed=$(grep -c '^pass' "$work/results")
failed=$(grep -c '^FAIL' "$work/results")
other=$(grep -c '^other' "$work/results")
echo "$passed passed, $failed failed, $other do not apply (the plain compiler or the ordinary library does not pass them)"
[ "$failed" -eq 0 ]
