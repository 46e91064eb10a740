#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The kernel's mask follows contexts that have different ones: signals come soon, and the kernel is not called at each switch.
. "$(dirname "$0")/../tools/common.sh"
source=$(dirname "$(readlink -f "$0")")/mask_switches.c
cd "$work" || exit 99
"$PEETCC" -O2 -o prog "$source" -pthread || fail "peetcc refused it"
for cores in 1 3; do
    for how in locks yields sleeps waits spins; do
        timeout 60 "$PEET" run --quiet --cores $cores -d out -- ./prog $how >got 2>said || { cat got said; fail "$how: status $?"; }
        grep -q '^right$' got || { cat got; fail "$how, $cores processors: no signal"; }
    done
done
command -v strace >/dev/null || exit 0
strace -f -o calls -e trace=rt_sigprocmask "$PEET" run --quiet --cores 2 -d out -- ./prog counts >got 2>said ||
    { cat said; strace true 2>/dev/null || exit 0; fail "counts"; }
n=$(grep -c rt_sigprocmask calls)
[ "$n" -lt 4000 ] || fail "$n calls of the kernel for 40000 locks"
exit 0
