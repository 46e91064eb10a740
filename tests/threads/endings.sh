#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# endings.sh: each way of ending gives the same output and status with real threads and under peet run.
. "$(dirname "$0")/../tools/common.sh"
source=$(cd "$(dirname "$0")" && pwd)/endings.cpp
flags=(-std=c++20 -w -O1 -g)
"$PEET_PLAIN_CXX" "${flags[@]}" -o "$work/plain" "$source" -pthread || fail "the plain compiler refused it"
"$PEETCXX" "${flags[@]}" -o "$work/subject" "$source" -pthread || fail "peetc++ refused it"
cd "$work" || exit 99
bad=0 good=0
for case in $(./plain list); do
    (timeout -k 1 20 ./plain "$case" >expected 2>/dev/null) 2>/dev/null
    expected=$?
    for cores in 1 3; do
        (timeout -k 1 30 "$PEET" run --quiet --cores $cores -d out -- ./subject "$case" >got 2>complaints) 2>/dev/null
        status=$?
        if [ $status = $expected ] && cmp -s expected got; then
            good=$((good + 1))
        else
            echo "FAIL $case on $cores processors: status $status, expected $expected"
            diff expected got
            head -5 complaints
            bad=$((bad + 1))
        fi
    done
done
echo "$good passed, $bad failed"
[ $bad = 0 ]
