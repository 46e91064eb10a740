#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A ring that is always full in a library, where no other context may act: they get their turn all the same, and soon.
. "$(dirname "$0")/../tools/common.sh"
source=$(dirname "$(readlink -f "$0")")/full_in_library.c
cd "$work" || exit 99
"$PEETCC" -O2 -pthread -o prog "$source" || fail "peetcc refused it"
for which in 0 1 2 3 4 5 6 7; do
    for time in first second; do
        timeout -k 10 60 "$PEET" run --quiet --cores 2 --observe hash -d $time -- ./prog $which >got 2>said || { cat said; fail "rounds $which: status $?"; }
        [ "$(cat got)" = over ] || fail "rounds $which: $(cat got)"
        sed -n '/"hash": "/p' $time/stats.json >hash.$time
    done
    [ -s hash.first ] && diff hash.first hash.second || fail "rounds $which: another hash"
done
exit 0
