#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Threads that allocate while they try for a lock again and again: who asks for allocations changes nothing.
. "$(dirname "$0")/../tools/common.sh"
command -v jq >/dev/null || skip "jq is not installed"
compilers_for "$(dirname "$0")/allocating.c"
"$peet_cc" -O2 -pthread "$(dirname "$0")/allocating.c" -o "$work/subject" || fail "peetcc refused allocating.c"
for machine in ideal bus numa; do
    for observer in none hash timeline dtrack; do
        options=()
        [ $observer = none ] || options=(--observe $observer)
        "$PEET" run --quiet --machine $machine --cores 2 "${options[@]}" -d "$work/$observer" -- "$work/subject" >"$work/printed" ||
            fail "$machine, $observer"
        [ "$(cat "$work/printed")" = 200 ] || fail "$machine, $observer: $(cat "$work/printed")"
        jq -c '[.time, .hw, .sync, .contexts]' "$work/$observer/stats.json" >"$work/$observer.json" || fail "$machine, $observer"
        cmp -s "$work/none.json" "$work/$observer.json" || fail "$machine: another run with $observer"
    done
done
