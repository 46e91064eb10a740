# SPDX-License-Identifier: Apache-2.0
# Modules built outside the tree with one compiler call are listed, run, and compute what they say.
. "$(dirname "$0")/lib.sh"
# The totals count each round of a string instruction, the module does not; the library has such.
export PEET_FOREIGN=ranges
lines=$(wc -l <"$examples/module/minimal.c")
[ "$lines" -lt 40 ] || fail "the smallest module has $lines lines"
for module in minimal pull; do
    must cc -shared -fPIC -O2 -Wall -Werror -I"$PEET_PREFIX/include" -o $module.so "$examples/module/$module.c"
    must "$peet" sims ./$module.so >listed
done
grep -q latency listed || fail "peet sims does not list pull's parameter: $(cat listed)"
grep -q cpi < <(must "$peet" sims ./minimal.so) || fail "peet sims does not list minimal's parameter"
must "$peetcc" -O2 -o maximum "$examples/maximum/maximum.c"
must ./maximum 8 2000 >expected

# minimal: on one processor, time is cpi times the instructions
for cpi in 1 3; do
    must "$peet" run --quiet --machine ./minimal.so,cpi=$cpi -d out -- ./maximum 8 2000 >got
    same expected got "minimal, cpi=$cpi"
    instructions=$(value out/stats.json totals.instructions)
    [ "$(value out/stats.json minimal.instructions)" = "$instructions" ] || fail "minimal and the totals count differently"
    [ "$(value out/stats.json time.cycles)" = $((cpi * instructions)) ] || fail "cpi=$cpi: time is not cpi * instructions"
done

# pull: one context issues an instruction every `latency` cycles; eight of them fill the slots, and never overfill
for cores in 1 8; do
    must "$peet" run --quiet --machine ./pull.so,latency=4 --cores $cores -d pull.$cores -- ./maximum 8 2000 >got
    same expected got "pull, $cores contexts"
    [ "$(value pull.$cores/stats.json pull.issued_instructions)" = "$(value pull.$cores/stats.json totals.instructions)" ] ||
        fail "pull, $cores contexts: issued instructions are not the total"
done
instructions=$(value pull.1/stats.json totals.instructions) cycles=$(value pull.1/stats.json time.cycles)
[ "$cycles" = $((4 * instructions)) ] || fail "pull, one context: $cycles cycles for $instructions instructions at latency 4"
cycles=$(value pull.8/stats.json time.cycles)
[ "$cycles" -ge "$instructions" ] && [ "$cycles" -lt $((4 * instructions)) ] || fail "pull, 8 contexts: $cycles cycles"

# the nearest name is suggested
"$peet" run --quiet --machine ./minimal.so,cip=2 -d bad -- ./maximum >/dev/null 2>message && fail "an unknown parameter is accepted"
grep -q cpi message || fail "no suggestion for cip: $(cat message)"
