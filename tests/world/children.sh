# SPDX-License-Identifier: Apache-2.0
# Children, and System V objects: as in the plain run, with other threads alive.
. "$(dirname "$0")/lib.sh"
build children -w
timeout 60 ./plain.children >want 2>&1 || { echo "the plain program does not run here: $(tail -1 want)"; exit 77; }
both children
grep "ended from outside" got.err && fail "a child speaks for the run"
# A wait for a child takes no simulated time if nobody else can go on, however long the child takes.
build late_child
for ms in 0010 0600; do
    echo $ms >milliseconds
    timeout 60 "$peet" run --quiet --observe hash --cores 2 -d late.$ms -- ./late_child >got || fail "a child of $ms ms: status $?"
    "$PEET_PREFIX/tests/json-get" late.$ms/stats.json hash.hash >hash.$ms || fail "no hash"
    grep -q '^byte x, status 0$' got || fail "a child of $ms ms: $(cat got)"
done
cmp -s hash.0010 hash.0600 || fail "the events depend on how long the child takes"
exit 0
