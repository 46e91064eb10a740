#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# callgrind.sh SOURCE FLAGS...: calls and inclusive costs of the profile, held against callgrind's for the same source without the pass.
export PEET_FOREIGN=ranges # calls and costs are those of the program alone
. "$(dirname "$0")/../tools/common.sh"
source=$1
here=$(cd "$(dirname "$0")" && pwd)
shift
need_valgrind
build_both "$source" -g "$@"
$CALLGRIND --callgrind-out-file="$work/callgrind" "$work/plain/subject" >"$work/callgrind.out" 2>"$work/callgrind.err" ||
    { cat "$work/callgrind.err"; fail "callgrind ended with status $?"; }
for machine in ideal bus,cache=1KiB,line=16; do
    "$PEET" run --quiet --machine $machine --observe profile -d "$work/out" -- "$work/peet/subject" >"$work/peet.out" || fail "peet run ended with status $?"
    cmp "$work/callgrind.out" "$work/peet.out" || fail "the program's output differs"
    python3 "$here/compare.py" "$work/out/stats.json" "$work/callgrind" || fail "$machine"
done
