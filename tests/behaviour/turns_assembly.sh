#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What is live across an access by inline assembly is kept, though processors change threads at each.
. "$(dirname "$0")/../tools/common.sh"
source=$(dirname "$(readlink -f "$0")")/turns_assembly.c
cd "$work" || exit 99
for level in -O1 -O2 "-O3 -march=native"; do
    # shellcheck disable=SC2086 # several options
    "$PEET_PLAIN_CC" -w $level -o plain "$source" -pthread && ./plain >expected || fail "the plain program at $level"
    # shellcheck disable=SC2086
    "$PEETCC" -w $level -o prog "$source" -pthread || fail "peetcc refused it at $level"
    for cores in 1 2; do
        timeout 60 "$PEET" run --quiet --cores $cores -d out -- ./prog >got 2>said || { cat got said; fail "$level: status $?"; }
        cmp expected got || fail "$level, $cores processors: another output"
    done
done
exit 0
