#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The cases of conventions.c, as the installed Valgrind counts them.
. "$(dirname "$0")/../tools/common.sh"
need_valgrind
grep -q avx2 /proc/cpuinfo || skip "this processor has no AVX2"
"$PEET_PLAIN_CC" -O1 -o "$work/conventions" "$(dirname "$0")/conventions.c" || fail "conventions.c does not compile"
$CALLGRIND --callgrind-out-file="$work/callgrind" "$work/conventions" 2>"$work/log" || { cat "$work/log"; fail "callgrind"; }
"$work/conventions" conventions >"$work/table"
"$PEET_TOOLS/exact_compare" --table "$work/table" "$work/callgrind"
