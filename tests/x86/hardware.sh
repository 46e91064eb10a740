#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# bench/hardware.sh: three programs simulated beside cycles that are given, the table's form, its errors and means; which preset
# stands for which processor.
. "$(dirname "$0")/lib.sh"
bench=$PEET_SOURCE/bench/hardware.sh

# Cycles given: nobody's, so that the errors must be computed from what is simulated.
printf 'program\tkind\tmeasured_cycles\tnoise\tsimulated_cycles\tinstructions\terror\n' >given.tsv
printf 'bubble\tinteger\t1000000\t0\t0\t0\t0\nlists\tpointers\t50000000\t0\t0\t0\t0\nvirtual\tC++\t300000\t0\t0\t0\t0\n' >>given.tsv
must bash "$bench" --prefix "$PEET_PREFIX" --preset zen3 --shorter 100 --measured given.tsv --out table bubble lists virtual >said 2>errors
awk -F '\t' '
    NF != 7 { print "fields: " $0; wrong = 1 }
    NR == 1 { next }
    { names = names $1 " "; error = $5 / $3 - 1; sum += error < 0 ? -error : error }
    $6 < 10000 || $5 < $6 / 8 || $5 > 8 * $6 { print "no count: " $0; wrong = 1 }
    $7 - error > 1e-4 || error - $7 > 1e-4 { print "error: " $0; wrong = 1 }
    END {
        if (names != "bubble lists virtual ") { print "programs: " names; wrong = 1 }
        printf "mean %.1f%%", 100 * sum / 3 >"mean"
        exit wrong
    }' table/hardware.tsv >strange || fail "$(cat strange table/hardware.tsv errors)"
grep -q "^one thread, 3 programs: $(cat mean), worst .* beyond 30%: [0-3]$" said || fail "not said: $(cat mean): $(cat said)"
for name in bubble lists virtual; do
    grep -q "^$name  *[a-zA-Z+]*  *[0-9.]*  *[0-9.]*%  *[0-9.]*  *[+-][0-9.]*%  *[0-9.]*  *[0-9.]*$" said || fail "no line of $name: $(cat said)"
done
equal "programs of the JSON" "$("$json_get" table/hardware.json programs.2.program)" virtual

refuses() {
    local status=0
    bash "$bench" --prefix "$PEET_PREFIX" "${@:2}" >said 2>errors || status=$?
    [ $status -eq 2 ] || fail "status $status, not 2, of $*"
    grep -q "$1" errors || fail "not said: $1: $(cat errors)"
}
refuses 'reps wants a number above 0, not "x"' --reps x
refuses "no program 'nosuch'" --preset zen3 nosuch
refuses "cannot read nosuch.tsv" --preset zen3 --measured nosuch.tsv

# stands PRESET PROCESSOR
stands() {
    equal "preset of $2" "$(set +u; . "$PEET_SOURCE/bench/lib.sh"; prefix=$PEET_PREFIX; host_preset "$2")" "$1"
}
stands zen3 "AuthenticAMD 25 1"
stands zen3 "AuthenticAMD 25 33"
stands zen4 "AuthenticAMD 25 17"
stands zen4 "AuthenticAMD 25 97"
stands skylake "GenuineIntel 6 85"
stands goldencove "GenuineIntel 6 143"
stands small "GenuineIntel 6 28"
stands "" "AuthenticAMD 23 1"
stands "" "GenuineIntel 6 8"
# Programs timed in parts: how many calls make one, what they add up to, the least cycles of each and how good they are. The first
# run of two finds out how many.
cc=${PEET_CC:-clang-22}
must "$cc" -O2 -shared -fPIC -o clock.so "$PEET_SOURCE/bench/calibrate/clock.c"
must "$cc" -O2 -w -o sieve "$PEET_SOURCE/bench/hardware/integer.c"
for run in 1 2 3; do
    CALIBRATE_LAPS=laps CALIBRATE_CLOCK=clock LD_PRELOAD=$PWD/clock.so must ./sieve sieve 40 >printed
    must awk -v run=$run '
        NR == 1 { every = $1; told = $2; good = $3; next }
        $1 < 0 || $2 != 0 && $2 != 1 && $2 != 2 { print "part: " $0; exit 1 }
        { sum += $1; best += $2 == 2; parts++ }
        END {
            wrong = every < 1 || (run == 1 ? parts || told : parts != int(40 / every) + 1) || told - sum > parts || sum - told > parts
            if (wrong || parts && (good - best / parts)^2 > 1e-6) { print "run " run ": " every, told, good, "and " parts, sum, best; exit 1 }
        }' laps
    [ "$run" = 1 ] || [ "$(awk 'NR == 1 { print $1 }' laps)" = "$every" ] || fail "the parts are others"
    every=$(awk 'NR == 1 { print $1 }' laps)
done
equal "what it prints" "$(cat printed)" "$(./sieve sieve 40)"
echo "bench/hardware.sh: all right"
