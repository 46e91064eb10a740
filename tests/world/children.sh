# SPDX-License-Identifier: Apache-2.0
# Children, and System V objects: as in the plain run, with other threads alive.
. "$(dirname "$0")/lib.sh"
build children -w
timeout 60 ./plain.children >want 2>&1 || { echo "the plain program does not run here: $(tail -1 want)"; exit 77; }
both children
grep "ended from outside" got.err && fail "a child speaks for the run"
# A wait for a child takes no simulated time if nobody else can go on, however long the child takes.
build late_child
for ms in 0010 0600; do
    echo $ms >milliseconds
    timeout 60 "$peet" run --quiet --observe hash --cores 2 -d late.$ms -- ./late_child >got || fail "a child of $ms ms: status $?"
    "$PEET_PREFIX/tests/json-get" late.$ms/stats.json hash.hash >hash.$ms || fail "no hash"
    grep -q '^byte x, status 0$' got || fail "a child of $ms ms: $(cat got)"
done
cmp -s hash.0010 hash.0600 || fail "the events depend on how long the child takes"
# A program that goes on in the background ends its run, with results; what it does then it does as natively.
cat >background.c <<'END'
#include <stdio.h>
#include <unistd.h>
int main(void)
{
    printf("before\n");
    fflush(stdout);
    if (daemon(1, 1) != 0)
        return 1;
    printf("after, %s a leader\n", getpid() == getsid(0) ? "as" : "not as");
    fflush(stdout);
    return daemon(0, 0) != 0;
}
END
must "$peetcc" -O1 -o background background.c
for how in "run --quiet --observe counts -d background.out" "run --quiet --cores 2 --machine bus -d background.out" "record --quiet -d background.rec"; do
    timeout 60 "$peet" $how -- ./background >got 2>got.err || fail "$how of a daemon: status $?: $(cat got.err)"
    for _ in $(seq 100); do grep -q after got && break; sleep 0.05; done
    [ "$(cat got)" = "before"$'\n'"after, as a leader" ] || fail "$how of a daemon: $(cat got)"
    [ ! -s got.err ] || fail "$how of a daemon: $(cat got.err)"
done
[ "$("$PEET_PREFIX/tests/json-get" background.out/stats.json end.reason)" = exit ] || fail "the end of a daemon's run"
exit 0
