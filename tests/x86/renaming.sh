#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Values that go through memory cost what they cost on the processors of the presets: the program that measures it on a real
# one (bench/tools/store_forwarding.c), a plain object, recorded.
. "$(dirname "$0")/lib.sh"
must "${PEET_PLAIN_CC:-clang-22}" -O1 -Dmain=measure -c -o measure.o "$PEET_SOURCE/bench/tools/store_forwarding.c"
echo 'int measure(int, char **); int main(int argc, char **argv) { return measure(argc, argv); }' >main.c
must "$peetcc" -O1 -o measure main.c measure.o

# rounds PRESET LEAST MOST: cycles of every kind of round are between these; push and pop have two more of their own
rounds() {
    options=--foreign=record
    run "preset=$1" ./measure 4000 2
    awk -v preset="$1" -v least="$2" -v most="$3" '
        $NF == "cycles" { kinds++; if ($(NF - 1) < least || $(NF - 1) > most + 2 * ($1 == "push,")) { print preset ": " $0; wrong = 1 } }
        END { exit wrong || kinds != 4 }' said >strange || fail "not between $2 and $3 cycles: $(cat strange said)"
}
for preset in zen4 goldencove; do
    rounds $preset 0.9 1.3
done
rounds skylake 4.5 8.5
rounds zen4,memory_renaming=off 4.5 8.5
echo "memory renaming: all right"
