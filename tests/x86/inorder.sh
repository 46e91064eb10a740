#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The core in order.  With what llvm-mca's pipeline in order assumes, it agrees with that: who issues together with whom, and when.
# As documented, it has its loads before its operations (Bonnell): an addition with a load is neither faster nor slower than one
# without, as long as its address is there in time; an address that has just been made or loaded is waited for.
. "$(dirname "$0")/lib.sh"
kernels() {
    bash "$here/kernels.sh" --mcpu bonnell "$@" "$PWD/kernels" >table 2>err
    local status=$?
    [ $status = 77 ] && skip "llvm-mca is missing"
    [ $status = 0 ] || fail "kernels.sh $* ended with status $status: $(tail -1 table) $(cat err)"
}
cycles() { awk -v k="$1" '$1 == k { print $4; exit }' table; }

kernels --limits
awk '/kernels, median/ { exit !($2 > 50 && $7 + 0 <= 1 && $NF + 0 <= 5) }' table || fail "not as llvm-mca has it: $(tail -2 table)"
for load in 3 4; do
    PEET_X86=l1_load_cycles=$load kernels --documented --only 'addsd_chain@|sum_chain@|chase_index@|fill@'
    equal "a chain of additions, loads of $load cycles" "$(cycles addsd_chain)" 5.00
    equal "a chain of additions with a load" "$(cycles sum_chain)" "$(cycles addsd_chain)"
    near "a chain of loads" "$(cycles chase_index)" "$load" 1
    equal "an address that lea makes in each turn" "$(cycles fill)" 2.00 # four instructions, two at a time
done
