#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Linker garbage collection drops a function's schema with the function; stripped programs still run.
. "$(dirname "$0")/../tools/common.sh"
cd "$work" || exit 99
cat >prog.c <<'C'
#include <stdio.h>
int unused_table[100] = {1};
int unused_one(int x);
int unused_one(int x) { int s = 0; for (int i = 0; i < x; i++) s += unused_table[i]; return s; }
int unused_two(int x);
int unused_two(int x) { return unused_one(x) + 1; }
__attribute__((noinline)) static int used(int x) { int s = 0; for (int i = 0; i < x; i++) s += i ^ x; return s; }
int main(void) { printf("%d\n", used(100)); return 0; }
C
"$PEET_PLAIN_CC" -O2 -o plain prog.c && ./plain >want || fail "plain program"
sections="-ffunction-sections -fdata-sections"
"$PEETCC" -O2 $sections -o all prog.c || fail "peetcc $sections"
"$PEETCC" -O2 $sections -Wl,--gc-sections -o collected prog.c || fail "peetcc --gc-sections"
grep -q unused_one < <(nm collected) && fail "--gc-sections kept an unused function"
"$PEET" schema all >listed || fail "peet schema"
grep -q 'function unused_one' listed || fail "the schema lacks a function: $(grep '^function' listed)"
"$PEET" schema collected >listed || fail "peet schema of the collected program"
grep -q 'function unused' listed && fail "the schema keeps a function that the linker dropped"
grep -q 'function used' listed || fail "the schema lacks a function that is used"
for program in all collected; do
    timeout -k 5 60 "$PEET" run --quiet -d out --observe counts -- ./$program >got || fail "peet run of $program"
    cmp want got || fail "$program: other output"
done
for option in --strip-debug --strip-all; do
    cp collected stripped && strip $option stripped || skip "no strip"
    timeout -k 5 60 "$PEET" run --quiet -d out --observe counts -- ./stripped >got || fail "peet run after strip $option"
    cmp want got || fail "strip $option: other output"
    grep -q '"name": "used"' out/stats.json || fail "strip $option: function names are gone"
done
exit 0
