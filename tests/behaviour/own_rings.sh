#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# own_rings.sh: the threads of a recorded program that runs plainly do not share a ring; rings of threads that are over serve
# new ones; programs with views of memory need gs themselves.
. "$(dirname "$0")/../tools/common.sh"
source=$(cd "$(dirname "$0")" && pwd)/own_rings.c
"$PEETCC" -D_GNU_SOURCE -O1 -o "$work/subject" "$source" -pthread || fail "peetcc refused $source"
"$PEETCC" -D_GNU_SOURCE -O1 -fpeet-domains -o "$work/viewed" "$source" -pthread || fail "peetcc -fpeet-domains refused $source"
cd "$work" || exit 99
said=$(./subject 8 1) || fail "status $?"
[ "$said" = "own 8 equal 0 main 0 more 0" ] || fail "8 threads: $said"
said=$(./subject 6 50) || fail "status $?"
[ "$said" = "own 300 equal 0 main 0 more 0" ] || fail "50 times 6 threads: $said"
said=$(./viewed 4 1) || fail "-fpeet-domains: status $?"
[ "$said" = "own 0 equal 0 main 0 more 0" ] || fail "-fpeet-domains: $said"
said=$("$PEET" run --quiet --cores 4 -d out -- ./subject 4 1) || fail "peet run: status $?"
[ "$said" = "own 0 equal 0 main 0 more 0" ] || fail "peet run: $said"
echo "$said"
