#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Sanitizers on top of the pass, in plain runs: same verdicts as without it.  Simulated, those that cannot live there are
# refused by name.
. "$(dirname "$0")/../tools/common.sh"
cd "$work" || exit 99
cat >prog.c <<'C'
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
    int *p = malloc(40), limit = 10 + (argc > 1 && argv[1][0] == 'a'), sum = 0, big = 0x7ffffff0;
    for (int i = 0; i < limit; i++)
        p[i] = i;
    for (int i = 0; i < 10; i++)
        sum += p[i];
    if (argc > 1 && argv[1][0] == 'u')
        big += sum;
    printf("%d %d\n", sum, big > 0);
    free(p);
    return 0;
}
C
for option in address undefined "address,undefined"; do
    "$PEET_PLAIN_CC" -g -O1 -fsanitize=$option -fno-sanitize-recover=undefined -o plain prog.c 2>said ||
        { cat said; skip "the plain compiler has no -fsanitize=$option here"; }
    "$PEETCC" -g -O1 -fsanitize=$option -fno-sanitize-recover=undefined -o peet prog.c || fail "peetcc -fsanitize=$option"
    for argument in none address-fault undefined-behaviour; do
        case $argument-$option in address-fault-undefined | undefined-behaviour-address) continue ;; esac # nobody watches
        ./plain $argument >want 2>want.err
        expected=$?
        ./peet $argument >got 2>got.err
        [ $? = $expected ] || { cat got.err; fail "-fsanitize=$option, $argument: status differs from $expected"; }
        cmp want got || fail "-fsanitize=$option, $argument: output differs"
        for word in heap-buffer-overflow "signed integer overflow"; do
            [ "$(grep -c "$word" want.err)" = "$(grep -c "$word" got.err)" ] || fail "-fsanitize=$option, $argument: '$word' in one only"
        done
    done
done

[ "${PEET_SANITIZED:-OFF}" = OFF ] || exit 0 # its host brings a sanitizer into each process
for option in undefined address thread memory leak numerical type; do
    "$PEETCC" -O1 -fsanitize=$option -o simulated prog.c 2>said || { cat said; continue; } # not here
    timeout 60 "$PEET" run --machine ideal -d out -- ./simulated none >got 2>got.err
    status=$?
    case $option in
    undefined) [ $status = 0 ] || { cat got.err; fail "-fsanitize=undefined, simulated: status $status"; } ;;
    *)
        [ $status = 1 ] && grep -q -- "-fsanitize=$option, which works in a plain run only" got.err ||
            { cat got.err; fail "-fsanitize=$option, simulated: status $status"; }
        ;;
    esac
done
exit 0
