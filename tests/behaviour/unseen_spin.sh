#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Code that peetcc has not compiled spins for what another thread will do: with ranges no simulated time passes and the run cannot go on,
# which is said, with the place; where the code is recorded, the run ends.
. "$(dirname "$0")/../tools/common.sh"
source=$(dirname "$(readlink -f "$0")")/unseen_spin.c
cd "$work" || exit 99
"$PEET_PLAIN_CC" -O2 -shared -fPIC -DLIBRARY -o libspin.so "$source" || fail "no library"
"$PEETCC" -O2 -pthread -o prog "$source" -L. -lspin -Wl,-rpath,"$work" || fail "peetcc refused it"
timeout -k 10 30 "$PEET" run --quiet --foreign=ranges --cores 2 -d out -- ./prog >got 2>said &
run=$!
for ((i = 0; i < 250; i++)); do
    grep -qs 'is not recorded' said && break
    kill -0 $run 2>/dev/null || break
    sleep 0.1
done
kill $run 2>/dev/null
wait $run
grep -qE 'code that is not recorded \(.*libspin\.so, function spin_until' said || { cat said; fail "a run that cannot go on does not say where"; }
[ ! -s got ] || fail "it went on"
# recorded PROCESSORS EXPECTED ARGUMENT...: the same twice, and replayed
recorded() {
    local cores=$1 expected=$2 status
    shift 2
    for time in first second; do
        timeout -k 10 60 "$PEET" run --quiet --foreign=record --cores $cores --observe hash --observe trace -d $time -- ./prog "$@" >got 2>said
        status=$?
        grep -q AddressSanitizer said && exit 0
        [ $status = 0 ] && [ "$(cat got)" = "$expected" ] || { cat got said; fail "recorded, $cores processors: status $status"; }
        sed -n '/"hash": "/p' $time/stats.json >hash.$time
    done
    [ -s hash.first ] && diff hash.first hash.second || fail "$cores processors: another hash"
    timeout -k 10 60 "$PEET" run --quiet --from first -d again >got 2>said || { cat said; fail "$cores processors: it does not replay"; }
}
for cores in 1 2 3; do
    recorded $cores "seen 0"
    recorded $cores "seen 200" threads
done
exit 0
