#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Instructions, reads and writes of every function of every library, against callgrind.  The variants that the C library chooses are
# made the same: Valgrind's processor is not this one.
. "$(dirname "$0")/lib.sh"
command -v valgrind >/dev/null || skip "valgrind is not installed"
export GLIBC_TUNABLES=glibc.cpu.hwcaps=-AVX2,-AVX2_Usable,-AVX512F,-AVX512VL,-ERMS,-FSRM,-SSE4_2,-SSE4_1,-SSSE3,-BMI2,-Fast_Unaligned_Copy,-Fast_Unaligned_Load
# The number: thousandths of all instructions that may differ, where functions go by addresses,
# and for sbrk(), which is peet's.
for pair in mathematics:0 texts:0 allocation:1 containers:2 objects:2; do
    program=${pair%:*}
    build $program
    record $program 20
    must valgrind --tool=callgrind --vex-iropt-level=0 --vex-guest-chase=no --cache-sim=yes --dump-instr=yes --compress-strings=no \
        --compress-pos=no --skip-plt=no --toggle-collect=measured --callgrind-out-file=callgrind.$program ./$program.plain 20 \
        >plain.printed 2>valgrind.printed
    same $program.printed plain.printed
    must "$compare" --tolerate=${pair#*:} $program.out/stats.json --callgrind callgrind.$program
done
