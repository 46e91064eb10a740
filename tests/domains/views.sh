# SPDX-License-Identifier: Apache-2.0
# What views must do, checked by a program from inside: compiled with and without optimisation, as a position-independent program.
. "$(dirname "$0")/lib.sh"
for flags in "-O2" "-O0" "-O3 -march=native"; do
    must "$peetcc" $flags -g -fpeet-domains -I"$here" "$here/subject.c" -o subject
    viewed 4 0 ./subject >out 2>err || fail "$flags: $(head -20 err)"
    equal "$flags" "$(cat out)" "all is as it shall be"
done
# no views without the option, and no more than there is room for: a clear message
must "$peetcc" -O2 -I"$here" "$here/subject.c" -o plain
viewed 2 0 ./plain >out 2>err && fail "views of a program that was not compiled for them"
grep -q 'not compiled with -fpeet-domains' err || fail "no reason is given: $(cat err)"
