#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# misuse.sh: what thread functions answer to misuse is what the C library answers: the plain program's lines are those of
# peet run, on one processor and several, under each policy, lock model and kind of machine.
. "$(dirname "$0")/../tools/common.sh"
source=$(cd "$(dirname "$0")" && pwd)/misuse.c
flags=(-D_GNU_SOURCE -w -O1 -g)
"$PEET_PLAIN_CC" "${flags[@]}" -o "$work/plain" "$source" -pthread || fail "the plain compiler refused $source"
"$PEETCC" "${flags[@]}" -o "$work/subject" "$source" -pthread || fail "peetcc refused $source"
cd "$work" || exit 99
timeout -k 1 60 ./plain >expected || fail "the plain run: status $?"
[ "$(wc -l <expected)" -gt 400 ] || fail "the plain run said only $(wc -l <expected) lines"
for options in --cores=1 --cores=4 "--cores=2 --policy=rr --quantum=300" "--cores=2 --lock-model=ttas --machine=bus --frequency=50M" \
    "--cores=3 --lock-model=mcs --machine=x86 --frequency=50M"; do # who spins until a deadline spins for fewer cycles
    timeout -k 1 60 "$PEET" run --quiet $options -d out -- ./subject >said 2>complaints || fail "$options: status $?: $(head -5 complaints)"
    diff expected said || fail "$options: answers differ from those of the plain run (<)"
done
wc -l <expected
