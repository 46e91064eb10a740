#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Threads, whatever libraries they are in: the output is the native one, and every run is the same run.
. "$(dirname "$0")/lib.sh"
must "$peetcxx" -O1 -pthread -o crew "$programs/crew.cpp"
must ./crew >plain.printed
for cores in 1 4; do
    for run in 1 2; do
        must "$peet" run -q --foreign=record --cores $cores --observe hash -d crew.$run -- ./crew >crew.printed
        same crew.printed plain.printed "with $cores processors the program printed something else"
        must "$PEET_PREFIX/tests/tools/json_value" crew.$run/stats.json hash.hash >hash.$run
    done
    same hash.1 hash.2 "two runs with $cores processors are not the same"
done
must "$peet" run -q --foreign=ranges --cores 4 -d crew.ranges -- ./crew >crew.printed
seen() { "$PEET_PREFIX/tests/tools/json_value" "$1/stats.json" totals.instructions; }
[ "$(seen crew.1)" -gt "$((10 * $(seen crew.ranges)))" ] || fail "hardly anything of the libraries was recorded: $(seen crew.1) instructions"
