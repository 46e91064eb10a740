#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# run.sh SOURCE FLAGS...: the observer `races` finds the data that the source's comment names ("races: ..."), and no other, whatever
# the processors, the machine, and how libraries are seen; the run does what it does unobserved.
. "$(dirname "$0")/../tools/common.sh"
source=$1
shift
cd "$work" || exit 99
compiler=$PEETCC
[[ $source == *.cpp ]] && compiler=$PEETCXX
want=$(awk 'sub(/^(\/\*|\/\/) races: */, "") { print; exit }' "$source")
[ -n "$want" ] || fail "$source does not say which races it has"
[[ $want == none* ]] && want=
"$compiler" -g -O1 -w -pthread "$@" -o program "$source" || fail "peetcc refused it"
for options in "--cores 1" "--cores 4" "--cores 2 --machine bus" "--cores 4 --foreign=ranges" "--cores 3 --seed 5 --policy rr"; do
    # shellcheck disable=SC2086
    timeout 100 "$PEET" run -q $options --observe hash -d plain -- ./program >expected 2>said || fail "$options: status $?: $(cat said)"
    # shellcheck disable=SC2086
    timeout 100 "$PEET" run -q $options --observe hash --observe races -d out -- ./program >got 2>said || fail "$options: status $?: $(cat said)"
    cmp -s expected got || fail "$options: another output with races"
    numbers="time.cycles hash.events" # with names of data the hash has where memory was allocated, too
    [ "${PEET_SANITIZED:-OFF}" = OFF ] || numbers= # what a sanitizer's library does depends on who looks on
    for number in $numbers; do
        [ "$("$PEET_PREFIX/tests/json-get" plain/stats.json $number)" = "$("$PEET_PREFIX/tests/json-get" out/stats.json $number)" ] ||
            fail "$options: another run with races: $number"
    done
    "$PEET" report out >page || fail "$options: no page"
    [ -z "$want" ] || grep -q "[^ ] (${source##*/}:[0-9]*)" page || fail "$options: the table has no lines"
    grep '^    .*_Z' page && fail "$options: the table has symbols in place of C++ names"
    found=$("$PEET_PREFIX/tests/json-get" -r out/stats.json races.list data | sed 's/\[.*//' | sort -u | tr '\n' ' ')
    [ "${found% }" = "$want" ] || {
        "$PEET" report out | grep -A 60 'data races'
        fail "$options: races of '${found% }', not of '$want'"
    }
done
exit 0
