#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What a program does is what it does natively: callbacks out of libraries, jumps and exceptions through them, children, signals.
. "$(dirname "$0")/lib.sh"
must "$peetcxx" -O1 -o ways "$programs/ways.cpp"
must ./ways >plain.printed
for run in 1 2; do
    must "$peet" run -q --foreign=record -d ways.$run -- ./ways >ways.printed
    same ways.printed plain.printed "the run with foreign code recorded printed something else"
done
"$peet" run -q --foreign=record -d crash -- ./ways crash >crash.printed 2>crash.report
equal "the status of a program that crashes in strlen()" $? 139
grep -q 'in _*strlen\|in 0x\|in ?' crash.report || fail "the report does not say where it crashed"
