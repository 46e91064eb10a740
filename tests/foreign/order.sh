#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# order.sh FOLDER [all]: every instruction of every library that a program calls, and what it references, address by address in their order, against executing
# the same program one instruction at a time; a few programs or (all, or PEET_THOROUGH) all that do not allocate, which is done otherwise when nothing is recorded.
. "$(dirname "$0")/lib.sh"
# Both take the same variants: without this the recorded one's are pinned.
export GLIBC_TUNABLES=glibc.cpu.hwcaps=-AVX512F,-AVX512VL
must "$PEET_PLAIN_CC" -shared -fPIC -O2 -Wall -Werror -I"$PEET_PREFIX/include" -o order.so "$programs/order.c"
several="mathematics texts c-copies"
[ "${2:-}${PEET_THOROUGH:+all}" = "" ] || several+=" c-calendars c-powers c-trigonometry c-hyperbolic c-rounding c-complex_numbers c-long_doubles c-integers_as_text
    c-reals_as_text c-text_as_numbers c-searches c-comparisons c-wide_text c-random_numbers cpp-numbers_to_chars"
for program in $several; do
    build $program
    must "$peet" run -q --foreign=record --roi=only --observe ./order.so,to=$program.order -d out -- ./$program 1 >$program.printed
    echo "$program:"
    must "$compare" --order $program.order --step measured ./$program 1
    [ "$(value out/stats.json foreign.translated_anew)" -gt 0 ] || fail "$program: nothing was executed often enough to be translated anew"
done
# It finds what is wrong: an instruction that is missing.
sed 1000d $program.order >wrong.order
"$compare" --order wrong.order --step measured ./$program 1 >printed && fail "an instruction that is not recorded is not missed"
grep -q '^instruction 999: recorded is' printed || fail "the missing instruction is not named: $(cat printed)"
# And an address.
awk 'NR > 1000 && $3 != "-" && !done { $3 = "1"; done = 1 } { print }' $program.order >wrong.order
"$compare" --order wrong.order --step measured ./$program 1 >printed && fail "a wrong address is not found"
grep -q 'recorded addresses 0x1, referenced' printed || fail "the wrong address is not named: $(cat printed)"
