#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# conformance.sh SOURCE compile PROGRAM: compiles the program with the pass.
# conformance.sh SOURCE plain|policies|models [POLICY...]: the cases of a program hold with real threads (plain); under each policy on 1, 2 and
# 8 processors with three seeds, each with another rule for who gets a lock (policies), of which nine pairs of processors and rule
# three are tried for each policy, all with PEET_THOROUGH; or under each lock model (models).  The same run twice gives the same
# stream of events.
. "$(dirname "$0")/../tools/common.sh"
source=$1 kind=$2
compilers_for "$source"
flags=(-D_GNU_SOURCE -w -O1 -g -I"$(dirname "$source")")
case $source in *.cpp) flags+=(-std=c++20) ;; esac
if [ "$kind" = compile ]; then
    mkdir -p "$(dirname "$3")" || exit 99
    exec "$peet_cc" "${flags[@]}" -o "$3" "$source" -pthread -lm
fi
if [ -n "${PEET_COMPILED:-}" ]; then
    cp "$PEET_COMPILED" "$work/subject" || fail "$PEET_COMPILED was not compiled"
else
    "$peet_cc" "${flags[@]}" -o "$work/subject" "$source" -pthread -lm || fail "peetcc refused $source"
fi
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

if [ "$kind" = plain ]; then
    "$plain_cc" "${flags[@]}" -O0 -o plain "$source" -pthread -lm || fail "the plain compiler refused $source"
    timeout -k 1 60 ./plain >said 2>&1
    judge "real threads" $?
    timeout -k 1 60 ./subject >said 2>&1
    judge "real threads, recorded" $?
    tail -1 said
    exit $bad
fi

run() { # POLICY CORES SEED WINNER OUT
    timeout -k 1 60 "$PEET" run --quiet --policy="$1" --quantum=500 --cores="$2" --seed="$3" --winner="$4" \
        --observe=hash -d "$5" -- ./subject >said 2>complaints
    judge "policy $1, $2 processors, seed $3, winner $4" $?
    [ "$bad" = 0 ] || head -20 complaints
}

if [ "$kind" = models ]; then
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

[ $# -gt 2 ] || set -- "$@" fcfs rr affinity
tried=0
for policy in "${@:3}"; do
    for cores in 1 2 8; do
        for winner in fcfs random lifo; do
            # a Latin square: each policy has each number of processors and each rule once
            tried=$((tried + 1))
            [ -n "${PEET_THOROUGH:-}" ] || [ $(((tried + (tried - 1) / 3 + (tried - 1) / 9) % 3)) = 0 ] || continue
            run $policy $cores $((tried % 9 + 1)) $winner out
        done
    done
    run $policy 2 2 random once
    run $policy 2 2 random twice
    [[ $(hash_of once) == [0-9a-f]*", "[0-9]*" cycles" ]] || fail "no hash: $(hash_of once)"
    [ "$(hash_of once)" = "$(hash_of twice)" ] || fail "$policy: the same run gave two streams of events: $(hash_of once) and $(hash_of twice)"
done
tail -1 said
exit $bad
