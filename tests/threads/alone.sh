#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# alone.sh: requests for locks, semaphores and barriers of a context that is alone are noted, not asked for.  Their answers are the C
# library's; what the machine and observers see is the same as with an event for each (PEET_LOCKS=events): the observer hash, which
# sees each block, and all that others count, who leave blocks to machine code.
. "$(dirname "$0")/../tools/common.sh"
source=$(cd "$(dirname "$0")" && pwd)/alone.c
"$PEET_PLAIN_CC" -D_GNU_SOURCE -O1 -g -o "$work/plain" "$source" -pthread || fail "the plain compiler refused $source"
"$PEETCC" -D_GNU_SOURCE -O1 -g -o "$work/subject" "$source" -pthread || fail "peetcc refused $source"
cd "$work" || exit 99
digest() { sed -n 's/.*"hash": "\([^"]*\)".*/\1/p' "$1/stats.json"; }
for seed in 1 2 3 4 5 6 7 8; do
    timeout -k 1 60 ./plain $seed 3000 >expected || fail "the plain run: status $?"
    [ "$(wc -l <expected)" -gt 1000 ] || fail "the plain run said only $(wc -l <expected) lines"
    for options in --cores=1 "--cores=2 --lock-model=ttas --machine=bus" "--cores=3 --lock-model=mcs --machine=bus"; do
        timeout -k 1 60 "$PEET" run --quiet $options --observe hash -d noted -- ./subject $seed 3000 >said 2>complaints ||
            fail "$options: status $?: $(head -5 complaints)"
        diff expected said >difference || fail "seed $seed, $options: answers differ from the plain run's (<): $(head -5 difference)"
        PEET_LOCKS=events timeout -k 1 60 "$PEET" run --quiet $options --observe hash -d asked -- ./subject $seed 3000 >said ||
            fail "$options, PEET_LOCKS=events: status $?"
        diff expected said >difference || fail "seed $seed, $options, asked: $(head -5 difference)"
        [ -n "$(digest noted)" ] || fail "stats.json has no digest"
        [ "$(digest noted)" = "$(digest asked)" ] || fail "seed $seed, $options: digests $(digest noted) and $(digest asked)"
    done
done
figures() { sed -e '/"output": /d' "$1/stats.json"; }
timeout -k 1 60 ./plain 9 3000 >expected || fail "the plain run: status $?"
for machine in ideal bus bus,classify=off,cache=4K; do
    for observers in counts profile graph dtrack locality timeline "profile --observe timeline"; do
        for cores in 1 3; do
            options="--cores=$cores --machine=$machine --observe $observers"
            timeout -k 1 60 "$PEET" run --quiet $options -d noted -- ./subject 9 3000 >said || fail "$options: status $?"
            diff expected said >difference || fail "$options: $(head -5 difference)"
            PEET_LOCKS=events timeout -k 1 60 "$PEET" run --quiet $options -d asked -- ./subject 9 3000 >said ||
                fail "$options, PEET_LOCKS=events: status $?"
            diff <(figures noted) <(figures asked) >difference || fail "$options: $(head -5 difference)"
            diff -r -x stats.json -x config.cfg -x unseen.json noted asked >difference || fail "$options: $(head -5 difference)"
        done
    done
done
wc -l <expected
