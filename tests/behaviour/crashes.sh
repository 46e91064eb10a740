#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# All threads of a program crash.  The first one that does on the host is seldom the first one in simulated time: others go on until
# then, and crash meanwhile.  The run has its results, and its trace is whole; and both are the same again.
. "$(dirname "$0")/../tools/common.sh"
cd "$work" || exit 99
cat >crashes.c <<'C'
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
static pthread_barrier_t barrier;
static const char *how;
/* not volatile: an access that waits for its turn would put the crashes into their order */
static int *none, zero, result[4];
static unsigned long all;
static int (*nowhere)(void);
static __attribute__((noinline)) void smash(int n)
{
    unsigned long frame[4], *up = frame;
    __asm__("" : "+r"(up));
    for (int i = 0; i < n; i++)
        up[i] = all;
}
static void *act(void *arg)
{
    const long n = (long)arg;
    pthread_barrier_wait(&barrier);
    for (long i = 0; i < 20 * (5 - n); i++)
        result[n] = (int)((result[n] + 7) / (i + 1));
    if (strcmp(how, "store") == 0)
        *none = 1;
    if (strcmp(how, "call") == 0)
        nowhere();
    if (strcmp(how, "smash") == 0)
        smash(20);
    if (strcmp(how, "divide") == 0)
        result[n] = 7 / zero;
    return arg;
}
int main(int argc, char **argv)
{
    pthread_t thread[4];
    how = argv[1];
    zero = atoi(argv[2]);
    all = 0x2d0000002cul + (unsigned long)zero;
    none = (int *)(long)zero;
    nowhere = (int (*)(void))all;
    pthread_barrier_init(&barrier, 0, 4);
    for (long n = 1; n < 4; n++)
        pthread_create(&thread[n], 0, act, (void *)n);
    act(0);
    return 0;
}
C
"$PEETCC" -w -O1 -fno-stack-protector -pthread -o crashes crashes.c || fail "peetcc refused it"
json() { "$PEET_PREFIX/tests/json-get" "$@"; }
for how in store call smash divide; do
    wanted=139
    [ $how = divide ] && wanted=136
    for options in "-n 1" "-n 2" "-n 4" "-n 4 --machine bus" "-n 3 --policy rr --quantum 500"; do
        for run in first second; do
            # shellcheck disable=SC2086
            { timeout 60 "$PEET" run -q $options --observe hash --observe trace -d $run -- ./crashes $how 0 2>said; } 2>about
            status=$?
            [ $status = $wanted ] || fail "$how, $options: status $status: $(cat said)"
            [ "$(json $run/stats.json end.reason)" = signal ] || fail "$how, $options: it ended by $(json $run/stats.json end.reason)"
        done
        "$PEET" trace info first >info
        grep -q complete info || fail "$how, $options: the trace is not whole"
        { timeout 60 "$PEET" run -q --from first --observe hash -d replayed 2>said; } 2>about
        for of in second replayed; do
            for number in time.cycles totals.instructions hash.hash; do
                [ "$(json first/stats.json $number)" = "$(json $of/stats.json $number)" ] ||
                    fail "$how, $options: $of: $number is $(json $of/stats.json $number), not $(json first/stats.json $number)"
            done
        done
    done
done
exit 0
