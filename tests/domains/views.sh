# SPDX-License-Identifier: Apache-2.0
# What views must do, checked by a program from inside: compiled with and without optimisation, position-independent and not.
. "$(dirname "$0")/lib.sh"
# PEET_FSGSBASE=off: the base of gs by a system call, as where programs may not use wrgsbase
for flags in "-O2" "-O0" "-O3 -march=native" "-O2 -fno-pie -no-pie"; do
    must "$peetcc" $flags -g -fpeet-domains -I"$here" "$here/subject.c" -o subject
    for fsgsbase in on off; do
        PEET_FSGSBASE=$fsgsbase viewed 4 0 ./subject >out 2>err || fail "$flags, FSGSBASE $fsgsbase: $(head -20 err)"
        equal "$flags, FSGSBASE $fsgsbase" "$(cat out)" "all is as it shall be"
    done
done
# libraries just below the end of the address space have no room above them
env PEET_CONFIG=none PEET_LIB="$PEET_HOSTS" PEET_TEST_VIEWS=2 PEET_TEST_VIEW=0 setarch -R ./subject >out 2>err &&
    fail "views above the end of the address space"
grep -q 'no room' err || fail "no reason is given: $(cat err)"
# no views without the option, and no more than there is room for: a clear message
must "$peetcc" -O2 -I"$here" "$here/subject.c" -o plain
viewed 2 0 ./plain >out 2>err && fail "views of a program that was not compiled for them"
grep -q 'not compiled with -fpeet-domains' err || fail "no reason is given: $(cat err)"
