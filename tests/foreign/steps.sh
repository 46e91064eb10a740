#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Every instruction of every function of every library that a program calls, against executing the same program one instruction at a time.
. "$(dirname "$0")/lib.sh"
# Both take the same variants: without this the recorded one's are pinned.
export GLIBC_TUNABLES=glibc.cpu.hwcaps=-AVX512F,-AVX512VL
for program in texts ${PEET_THOROUGH:+mathematics}; do # order.sh steps through these two as well, and looks at addresses
    build $program
    record $program 2
    must "$compare" $program.out/stats.json --step measured ./$program 2
done
for program in objects; do # some functions go by addresses, and pthread_once() is peet's
    build $program
    record $program 1
    must "$compare" --tolerate=8 $program.out/stats.json --step measured ./$program 1
done
