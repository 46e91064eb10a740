#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# conformance.sh SOURCE plain|fcfs|rr|affinity|models: the cases of a program hold with real threads (plain), and under a
# policy on 1, 2 and 8 processors with three seeds, each with another rule for who gets a lock; or under each lock model
# (models).  The same run twice gives the same stream of events.
. "$(dirname "$0")/../tools/common.sh"
source=$1 policy=$2
compilers_for "$source"
flags=(-D_GNU_SOURCE -w -O1 -g -I"$(dirname "$source")")
case $source in *.cpp) flags+=(-std=c++20) ;; esac
"$peet_cc" "${flags[@]}" -o "$work/subject" "$source" -pthread || fail "peetcc refused $source"
cd "$work" || exit 99

bad=0
judge() { # WHAT STATUS
    grep -v '^pass' said >about
    if [ "$2" != 0 ] || ! grep -q '^[1-9][0-9]* passed, 0 failed$' said; then
        echo "FAILED: $1: status $2"
        head -40 about
        bad=1
    fi
}

if [ "$policy" = plain ]; then
    "$plain_cc" "${flags[@]}" -o plain "$source" -pthread || fail "the plain compiler refused $source"
    timeout -k 1 60 ./plain >said 2>&1
    judge "real threads" $?
    timeout -k 1 60 ./subject >said 2>&1
    judge "real threads, recorded" $?
    tail -1 said
    exit $bad
fi

run() { # CORES SEED WINNER OUT
    timeout -k 1 60 "$PEET" run --quiet --policy="$policy" --quantum=500 --cores="$1" --seed="$2" --winner="$3" \
        --observe=hash -d "$4" -- ./subject >said 2>complaints
    judge "policy $policy, $1 processors, seed $2, winner $3" $?
    [ "$bad" = 0 ] || head -20 complaints
}

if [ "$policy" = models ]; then
    policy=fcfs
    for model in tas ttas ticket mcs; do
        for cores in 1 4; do
            timeout -k 1 60 "$PEET" run --quiet --lock-model=$model --cores=$cores --frequency=10M -d out -- ./subject >said 2>complaints
            judge "lock model $model, $cores processors" $?
            [ "$bad" = 0 ] || head -20 complaints
        done
    done
    exit $bad
fi

hash_of() {
    echo "$("$PEET_PREFIX/tests/json-get" "$1/stats.json" hash.hash), $("$PEET_PREFIX/tests/json-get" "$1/stats.json" time.cycles) cycles"
}

for cores in 1 2 8; do
    run $cores 1 fcfs out
    run $cores 2 random out
    run $cores 3 lifo out
done
run 2 2 random once
run 2 2 random twice
[[ $(hash_of once) == [0-9a-f]*", "[0-9]*" cycles" ]] || fail "no hash: $(hash_of once)"
[ "$(hash_of once)" = "$(hash_of twice)" ] || fail "the same run gave two streams of events: $(hash_of once) and $(hash_of twice)"
tail -1 said
exit $bad
