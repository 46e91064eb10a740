#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What belongs to a thread stays with it, however the thread pointer is switched: by an instruction (where the kernel
# lets), left out until it is used, set at each switch, by the C library.  A real fault is told apart from one for that.
. "$(dirname "$0")/../tools/common.sh"
source=$(dirname "$(readlink -f "$0")")/thread_pointer.c
cd "$work" || exit 99
"$PEETCC" -w -O2 -fstack-protector-all -o prog "$source" -pthread || fail "peetcc refused it"
for how in PEET_FSGSBASE=on PEET_FSGSBASE=off PEET_FSGSBASE=set PEET_SWITCH=ucontext; do
    for cores in 1 4; do
        env "$how" timeout 100 "$PEET" run --quiet --machine bus --cores $cores -d out -- ./prog >got 2>said ||
            { cat got said; fail "$how, $cores processors: status $?"; }
        grep -q '^everything stayed with its thread$' got || { cat got; fail "$how, $cores processors: no proper end"; }
    done
    env "$how" timeout 100 "$PEET" run --quiet --machine bus --cores 3 -d out -- ./prog 0x123450 >got 2>said
    [ $? = 139 ] || { cat got said; fail "$how: a fault at the end gives another status"; }
    grep -q 'Segmentation fault at address 0x123450 in context 0' said || { cat said; fail "$how: the fault is told otherwise"; }
done
exit 0
