#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# addresses.sh SOURCE FLAGS...: the decoded reference stream, instruction by instruction and reference
# by reference, held against lackey's trace of the same source without the pass.
. "$(dirname "$0")/../tools/common.sh"
source=$1
shift
need_valgrind
build_both "$source" "$@"
# Without ranges the C library's own qsort() calls back, from the same place on the stack.
"$PEET" run --quiet --ranges=off --machine ideal --observe "$PEET_TOOLS/streamdump.so" -d "$work/out" -- "$work/peet/subject" \
    >"$work/peet.out" || fail "peet run ended with status $?"
# The environment shifts the stack, which matters to frames aligned over 16.
for padding in '' 0123456789abcdef 0123456789abcdef0123456789abcdef 0123456789abcdef0123456789abcdef0123456789abcdef; do
    PADDING=$padding valgrind --tool=lackey $VEX --trace-mem=yes --log-file="$work/trace" "$work/plain/subject" >"$work/plain.out"
    "$PEET_TOOLS/lackey_compare" "$work/plain/subject" "$work/trace" "$work/peet/subject" "$work/out/stream.txt"
    status=$?
    [ $status = 3 ] || break
    echo "(with another padding)"
done
cmp "$work/plain.out" "$work/peet.out" || fail "the subject's output differs"
exit $status
