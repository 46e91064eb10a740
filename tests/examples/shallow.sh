# SPDX-License-Identifier: Apache-2.0
# shallow: one checksum whatever the build and the machine, mass conserved, and the results that the guide promises.
. "$(dirname "$0")/lib.sh"
plain shallow.O0 -O0 "$examples/shallow/shallow.c"
plain shallow.plain -O2 "$examples/shallow/shallow.c"
must "$peetcc" -O2 -o shallow "$examples/shallow/shallow.c" -lm

for arguments in "64 64 10" "24 40 7 2" "2 2 3"; do
    must ./shallow.plain $arguments >expected
    must ./shallow.O0 $arguments >got
    # -O0 and -O2 round alike: no fused multiply-add, no reassociation
    same expected got "-O0 against -O2, $arguments"
    must ./shallow $arguments >got
    same expected got "peetcc's program, run plainly, $arguments"
done
drift=$(./shallow.plain 32 32 500 | awk '/mass drift/ { print $3 }')
awk -v d="$drift" 'BEGIN { exit !(d >= 0 && d < 1e-12) }' || fail "mass drifts by $drift"

must ./shallow.plain 64 64 10 >expected
must "$peet" run --machine bus,protocol=berkeley,cache=128KiB,line=8 --cores 8 -d out -- ./shallow 64 64 10 >got 2>table
same expected got "simulated on 8 processors"
[ -s table ] || fail "no result table"
for key in peet.version time.cycles totals.instructions totals.blocks totals.reads totals.writes hw.7.instructions \
    hw.7.busy_cycles hw.7.stalled_cycles hw.7.idle_cycles bus.bus.utilisation; do
    value out/stats.json $key >/dev/null
done
[ -s out/config.cfg ] || fail "no out/config.cfg"
sum=$(value -r out/stats.json hw instructions | awk '{ s += $1 } END { printf "%.0f", s }')
[ "$sum" = "$(value out/stats.json totals.instructions)" ] || fail "hardware contexts execute $sum instructions, not the total"

# every processor takes part, and the work is the same on one
must "$peet" run --quiet --machine bus,protocol=berkeley,cache=128KiB,line=8 --cores 1 -d one -- ./shallow 64 64 10 >got
same expected got "simulated on 1 processor"
for key in instructions reads writes; do
    [ "$(value one/stats.json totals.$key)" = "$(value out/stats.json totals.$key)" ] || fail "totals.$key differs with the processors"
done
one=$(value one/stats.json time.cycles) eight=$(value out/stats.json time.cycles)
[ "$eight" -lt "$one" ] || fail "8 processors ($eight cycles) are no faster than one ($one)"
