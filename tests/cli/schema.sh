# SPDX-License-Identifier: Apache-2.0
# peet schema against the disassembly of the same source compiled without the pass: the same functions, and in
# each the same instructions in the same order.
. "$(dirname "$0")/lib.sh"
write_sum
must "$peetcc" -O2 -g -o sum sum.c
must "$peet" schema sum >text
must "$peet" schema --json sum >schema.json
[ "$(value schema.json program)" = sum ] || fail "program"
value schema.json peet.schema_version summary.instructions >/dev/null

# Totals equal what is listed.
functions=$("$json_get" -r schema.json functions name | wc -l)
[ "$functions" = "$(value schema.json summary.functions)" ] || fail "number of functions"
[ "$functions" = "$(grep -c '^function ' text)" ] || fail "functions in the text"
[ "$(grep -c '^  block ' text)" = "$(value schema.json summary.blocks)" ] || fail "number of blocks"
[ "$(grep -c '^    0x' text)" = "$(value schema.json summary.instructions)" ] || fail "number of instructions"
[ "$(grep -c '^      [a-z]* [0-9]* bytes' text)" = "$(value schema.json summary.references)" ] || fail "number of references"

# The same instructions as the plain compiler's, one by one: lengths and, but for AT&T suffixes, mnemonics.
must "$PEET_PLAIN_CC" -O2 -g -c -o plain.o sum.c
for function in main sum; do
    objdump -d --no-show-raw-insn --disassemble=$function plain.o | sed -n 's/^ *[0-9a-f]*:\t\([a-z0-9]*\).*/\1/p' |
        grep -v '^nop\|^cs$\|^data16$\|^xchg$' >plain.$function
    must "$peet" schema --function $function sum | awk '/^    0x/ { print $3 }' | grep -v '^nop\|^NOOP' >schema.$function
    [ "$(wc -l <plain.$function)" = "$(wc -l <schema.$function)" ] ||
        fail "$function has $(wc -l <schema.$function) instructions, plain $(wc -l <plain.$function)"
done
[ "$("$peet" schema --function sum --json sum >one.json; value one.json functions.0.name)" = sum ] || fail "--function"
[ "$(value one.json functions.0.file | sed 's|.*/||')" = sum.c ] || fail "file"
[ "$(value one.json functions.0.line)" = "$(grep -n 'long sum(' sum.c | cut -d: -f1)" ] || fail "line"
"$peet" schema --function 'ma*' --summary sum >matching
grep -q '^sum: 1 functions' matching || fail "pattern"
"$peet" schema --summary --json sum >summary.json && value summary.json summary.blocks >/dev/null
must "$peet" schema sum.schema | sed 's/^sum\.schema:/sum:/' >beside
same text beside "program and schema file"
must "$peetcc" -O2 -shared -fPIC -o libsum.so sum.c
must "$peet" schema libsum.so >shared
grep -q '^function sum ' shared || fail "shared object"
must "$peetcc" -O2 -fpeet-granularity=block -o block sum.c
"$peet" schema --summary block >granularity
grep -q 'granularity block' granularity || fail "granularity"
must "$peetcc" -O2 -fpeet-granularity=ref -o ref sum.c
"$peet" schema --summary ref >granularity
grep -q 'granularity ref' granularity || fail "granularity"

# Not observable: said.
cat >asm.c <<'END'
int main(void)
{
    int x = 0;
    __asm__ volatile("fnop; movl $0, %0" : "+m"(x)); /* the x87 */
    return x;
}
END
must "$peetcc" -O1 -o asm asm.c
[ "$("$peet" schema --json --summary asm >asm.json; value asm.json summary.asm_statements)" -ge 1 ] || fail "inline assembly is not counted"

# Wrong input.
refuses 2 'the program is missing' "$peet" schema
refuses 2 'one program' "$peet" schema sum sum
refuses 2 '^peet: .*nowhere' "$peet" schema ./nowhere
refuses 2 'no function is named, or matches, summ' "$peet" schema --function summ sum
must "$PEET_PLAIN_CC" -o plain sum.c
refuses 2 'plain.*schema' "$peet" schema plain
refuses 2 'sum.c' "$peet" schema sum.c
# A reader that goes away early is no crash.
"$peet" schema sum | sed -n 1p >first
[ "$(head -n 1 text)" = "$(cat first)" ] || fail "first line"
