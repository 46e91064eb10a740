#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# callgrind.sh FOLDER [all]: instructions, reads and writes of every function of every library, against callgrind, for some programs,
# or for thirty and more (all, or PEET_THOROUGH).  The variants that the C library chooses are made the same: Valgrind's processor is not this one.
. "$(dirname "$0")/lib.sh"
command -v valgrind >/dev/null || skip "valgrind is not installed"
export GLIBC_TUNABLES=glibc.cpu.hwcaps=-AVX2,-AVX2_Usable,-AVX512F,-AVX512VL,-ERMS,-FSRM,-SSE4_2,-SSE4_1,-SSSE3,-BMI2,-Fast_Unaligned_Copy,-Fast_Unaligned_Load
# The number: thousandths of all instructions that may differ: where functions go by addresses (which of two strings lies first), and
# for sbrk(), read() and pthread_once(), in whose place peet's are.
several="mathematics:0 texts:0 allocation:1 objects:2 c-calendars:0 c-streams_in_memory:0 c-handlers:0 cpp-exceptions:5"
[ "${2:-}${PEET_THOROUGH:+all}" = "" ] || several+=" containers:2 c-wide_text:0 c-complex_numbers:0 c-expressions:0 cpp-numbers_to_chars:0 c-powers:0 c-trigonometry:0 c-hyperbolic:0 c-rounding:0 c-long_doubles:0 c-integers_as_text:0
    c-reals_as_text:0 c-text_as_numbers:0 c-searches:0 c-copies:0 c-comparisons:0 c-sorting:0 c-streams_in_files:1 c-characters:0
    c-blocks:1 c-trees:0 c-random_numbers:0 cpp-numbers_out:2 cpp-numbers_in:2 cpp-trees:2 cpp-tables:20 cpp-strings:5
    cpp-expressions:2 cpp-random_numbers:0"
for pair in $several; do
    program=${pair%:*} rounds=20
    [[ $program != c*-* ]] || rounds=5
    build $program
    record $program $rounds
    must valgrind --tool=callgrind --vex-iropt-level=0 --vex-guest-chase=no --cache-sim=yes --dump-instr=yes --compress-strings=no \
        --compress-pos=no --skip-plt=no --toggle-collect=measured --callgrind-out-file=callgrind.$program ./$program.plain $rounds \
        >plain.printed 2>valgrind.printed
    same $program.printed plain.printed
    echo "$program:"
    must "$compare" --tolerate=${pair#*:} $program.out/stats.json --callgrind callgrind.$program
    [ "$(value $program.out/stats.json foreign.translated_anew)" -gt 0 ] || fail "$program: nothing was executed often enough to be translated anew"
done
