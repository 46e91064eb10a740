# SPDX-License-Identifier: Apache-2.0
# Runs that differ in their machine only are recorded once: those of a program with one context that asks no clock; others run by themselves. The table is the
# same as without.
. "$(dirname "$0")/../lib.sh"
cat >shares.c <<'C'
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
static volatile long t[4096];
static void *walk(void *arg) { for (long i = 0; i < 20000; i++) t[i * 7 % 4096] += i; return arg; }
int main(int argc, char **argv)
{
    struct timespec now = {0};
    pthread_t other;
    if (argc > 1 && !strcmp(argv[1], "clock"))
        clock_gettime(CLOCK_MONOTONIC, &now);
    if (argc > 1 && !strcmp(argv[1], "threads") && !pthread_create(&other, NULL, walk, NULL))
        pthread_join(other, NULL);
    walk(NULL);
    for (long i = 0; i < now.tv_nsec % 1000; i++)
        t[0]++;
    return 0;
}
C
must "$peetcc" -O1 -g -pthread -o shares shares.c
cat >shares.cfg <<'END'
grid = { machine = ("ideal", "bus,cache=1KiB", "bus,cache=4KiB", "numa"); cores = 2; arguments = ("alone", "threads", "clock"); };
END
"$peet" sweep -d apart shares.cfg -- ./shares >apart.txt 2>message || fail "shares: $(cat message)"
"$peet" sweep -d once --share shares.cfg -- ./shares >once.txt 2>message || fail "--share: $(cat message)"
same apart/table.csv once/table.csv "recorded once"
[ ! -e once/recorded ] || fail "traces are left"
python3 - <<'PY' || fail "what was replayed is not what could be"
import json
plan = json.load(open("once/plan.json"))["runs"]
replayed = {}
for run in plan:
    s = json.load(open("once/runs/%s/stats.json" % run["key"]))
    replayed.setdefault(run["settings"]["arguments"], []).append("replay" in s)
assert sum(replayed["alone"]) == 3 and not any(replayed["threads"]) and len(replayed["clock"]) == 4, replayed
PY
exit 0
