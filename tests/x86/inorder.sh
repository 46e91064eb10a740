# SPDX-License-Identifier: Apache-2.0
# A pipeline in order that has its loads before its operations (Bonnell): an addition with a load is neither faster nor slower than one
# without, as long as its address is there in time; an address that has just been made or loaded is waited for.
. "$(dirname "$0")/lib.sh"
cycles() { awk -v k="$1" '$1 == k { print $4; exit }' table; }
for load in 3 4; do
    PEET_X86=l1_load_cycles=$load bash "$here/kernels.sh" --mcpu bonnell --only 'addsd_chain@|sum_chain@|chase_index@|fill@' "$PWD/kernels" >table 2>err
    status=$?
    [ $status = 77 ] && skip "llvm-mca is missing"
    [ $status = 0 ] || fail "kernels.sh ended with status $status: $(cat err)"
    equal "a chain of additions, loads of $load cycles" "$(cycles addsd_chain)" 5.00
    equal "a chain of additions with a load" "$(cycles sum_chain)" "$(cycles addsd_chain)"
    near "a chain of loads" "$(cycles chase_index)" "$load" 1
    near "an address made in each turn" "$(cycles fill)" "$load" 1
done
