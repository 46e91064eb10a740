#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A library that peetcc has not compiled waits by asking again and again, and what it executes takes no simulated time: the
# requests themselves must, or nobody else ever acts.
. "$(dirname "$0")/../tools/common.sh"
source=$(dirname "$(readlink -f "$0")")/unseen_waits.c
cd "$work" || exit 99
"$PEET_PLAIN_CC" -O2 -shared -fPIC -DLIBRARY -o libwaits.so "$source" || fail "no library"
"$PEETCC" -O2 -pthread -o prog "$source" -L. -lwaits -Wl,-rpath,"$work" || fail "peetcc refused it"
for machine in ideal bus; do
    for cores in 1 2 3; do
        timeout 60 "$PEET" run --quiet --machine $machine --cores $cores --frequency 1G -d out -- ./prog >got 2>said ||
            { cat got said; fail "$machine, $cores processors: status $?"; }
        # the time waited is read from the clock: at least what was asked for, and little more
        ns=$(sed -n 's/^waited \([0-9]*\) ns, then$/\1/p' got)
        [ "${ns:-0}" -ge 2000000 ] && [ "$ns" -le 2100000 ] || { cat got; fail "$machine, $cores processors: waited '$ns' ns"; }
    done
done

# Nor does a program that blocks and takes all signals get the timer's, or see that it waits.
cat >takes.c <<'END'
#include <signal.h>
#include <stdio.h>
int main(void)
{
    const struct timespec none = {0, 0};
    char text[64];
    volatile double x = 1;
    sigset_t all;
    int taken = 0;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, NULL);
    for (int i = 0; i < 3000; i++) {
        for (int k = 0; k < 20; k++)
            snprintf(text, sizeof text, "%f", x);
        if (i & 1) {
            sigset_t pending;
            taken += sigpending(&pending) == 0 && sigismember(&pending, SIGPROF);
        } else {
            taken += sigtimedwait(&all, NULL, &none) > 0;
        }
    }
    return taken;
}
END
"$PEETCC" -O1 -o takes takes.c || fail "it does not compile"
"$PEET" run --quiet -d out -- ./takes || fail "signals taken: $?"
exit 0
