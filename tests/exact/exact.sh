#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# exact.sh SOURCE FLAGS...: instructions, reads and writes of every function under peet, held against
# callgrind's figures for the same source compiled with the same flags and no pass.
. "$(dirname "$0")/../tools/common.sh"
source=$1
shift
need_valgrind
build_both "$source" "$@"

"$work/plain/subject" >"$work/plain.out" || fail "the plain program ended with status $?"
$CALLGRIND --callgrind-out-file="$work/callgrind" "$work/plain/subject" >"$work/callgrind.out" 2>"$work/callgrind.err" ||
    { cat "$work/callgrind.err"; fail "callgrind ended with status $?"; }
"$PEET" run --quiet --machine ideal --observe counts --observe "$PEET_TOOLS/tally.so" -d "$work/out" -- "$work/peet/subject" \
    >"$work/peet.out" || fail "peet run ended with status $?"
cmp "$work/plain.out" "$work/peet.out" || fail "the subject's output differs"
cmp "$work/plain.out" "$work/callgrind.out" || fail "the program's output under Valgrind differs"
"$PEET_TOOLS/exact_compare" "$work/plain/subject" "$work/callgrind" "$work/out/stats.json"
