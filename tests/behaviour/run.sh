#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# run.sh SOURCE MODES LEVELS FLAGS...: compiles a program with and without the pass at every level and
# compares output and exit status: run plainly, and under peet run if MODES is "both".  The program without the pass is compiled at the
# first level; at another one only if what it says there could be what is different.
# LEVELS: comma-separated; an underscore stands for a space; those after a bar only with PEET_THOROUGH.
. "$(dirname "$0")/../tools/common.sh"
source=$1 modes=$2 levels=$3
shift 3
flags=("$@")
compilers_for "$source"
export OF_THE_TEST_1=one OF_THE_TEST_2=$(head -c 100000 /dev/zero | tr '\0' e)
for i in $(seq 100 300); do export "OF_THE_TEST_$i=$i"; done
{ echo "a first line"; seq 1 5000; head -c 3000 "$0"; } >"$work/stdin"
cd "$work" || exit 99

bad=0 reference=
expect() { # LEVEL: what the program says without the pass
    "$plain_cc" -w ${1//_/ } "${flags[@]}" -o plain "$source" -lm || fail "$(basename "$source") $1: the plain compiler refused it"
    (exec -a subject ./plain one two <stdin >expected 2>/dev/null) 2>/dev/null
    expected=$?
    reference=$1
}

check() { # WHAT STATUS OUTPUT
    [ "$2" = "$expected" ] && cmp -s "$work/expected" "$3" && return
    [ "$reference" = "$level" ] || expect "$level"
    [ "$2" = "$expected" ] || { echo "FAIL: $what, $1: status $2, expected $expected"; bad=1; head -5 "$work/stderr"; }
    cmp -s "$work/expected" "$3" || { echo "FAIL: $what, $1: other output:"; diff <(head -c 2000 "$work/expected") <(head -c 2000 "$3") | sed -n 1,10p; bad=1; }
}

[ -n "${PEET_THOROUGH:-}" ] || levels=${levels%%|*}
IFS=, read -ra list <<<"${levels/|/,}"
for level in "${list[@]}"; do
    what="$(basename "$source") ${level//_/ } $*"
    "$peet_cc" -w ${level//_/ } "$@" -o instrumented "$source" -lm || { echo "FAIL: $what: peetcc refused it"; bad=1; continue; }
    [ -n "$reference" ] || expect "$level"
    (exec -a subject timeout 120 ./instrumented one two <stdin >got 2>stderr) 2>/dev/null
    check "plain run" $? got
    if [ "$modes" = both ]; then
        (exec timeout 120 "$PEET" run --quiet -d out -- ./instrumented one two <stdin >got 2>stderr) 2>/dev/null
        check "peet run" $? got
        [ -s out/stats.json ] || { echo "FAIL: $what: no results"; bad=1; }
    fi
done
exit $bad
