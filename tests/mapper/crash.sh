# SPDX-License-Identifier: Apache-2.0
# A crash of the subject: what ran before it is counted, who crashed is named, the signal is passed on.
. "$(dirname "$0")/lib.sh"
cat >crash.c <<'END'
#include <peet/doall.h>
#include <stdlib.h>
static int *volatile nowhere;
static volatile long done[64];
__attribute__((noinline)) static void step(long i) { done[i & 63] = i; }
__attribute__((noinline)) static void fall(void) { *nowhere = 1; }
static void body(long i, void *arg)
{
    for (long k = 0; k < 100; k++)
        step(i);
    if (i == (long)arg)
        fall();
}
int main(int argc, char **argv)
{
    if (argc > 1) {
        peet_doall(0, 8, PEET_DOALL_STATIC, 0, body, (void *)5);
        return 0;
    }
    for (long i = 0; i < 1000; i++)
        step(i);
    fall();
    return 0;
}
END
must "$peetcc" -O1 -g -o crash crash.c
calls() {
    "$PEET_PREFIX/tests/json-get" -r "$1" counts.functions name calls | awk -v f="$2" '$1 == f { print $2 }'
}

status=0
"$peet" run -q --observe counts -d one -- ./crash 2>one.err || status=$?
equal "status" $status 139
equal "reason" "$(value one/stats.json end.reason)" signal
equal "signal" "$(value one/stats.json end.signal)" 11
equal "function" "$(value one/stats.json end.function)" fall
equal "frame 1" "$(value one/stats.json end.backtrace.1.function)" main
equal "calls before it" "$(calls one/stats.json step)" 1000
grep -q '^peet: .*#0 .* in fall' one.err || fail "no backtrace: $(cat one.err)"

status=0
"$peet" run -q --cores 4 --observe counts -d loop -- ./crash loop 2>loop.err || status=$?
equal "status" $status 139
equal "context" "$(value loop/stats.json end.context)" 6 # main is 0, iteration i is i + 1
equal "function" "$(value loop/stats.json end.function)" fall
# Four processors have two iterations each: when the third one's second crashes, nobody has more than two done.
n=$(calls loop/stats.json step)
[ "$n" -ge 200 ] && [ "$n" -le 800 ] || fail "$n calls of step()"
