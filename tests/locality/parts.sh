#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What can be said in advance: references of functions and structures, footprint, reuse times, working set, sharing.
. "$(dirname "$0")/lib.sh"
cat >arrays.c <<'END'
#include <pthread.h>
static double a[8192], b[1024];
static long shared[512], mine[2][512] __attribute__((aligned(4096)));
__attribute__((noinline)) static void scan(void)
{
    for (int round = 0; round < 10; round++)
        for (int i = 0; i < 8192; i++)
            ((volatile double *)a)[i];
}
__attribute__((noinline)) static void hop(void)
{
    for (int round = 0; round < 10; round++)
        for (int i = 0; i < 1024; i += 8)
            ((volatile double *)b)[i] = 1;
}
static void *both(void *arg)
{
    long self = (long)arg;
    for (int i = 0; i < 512; i++)
        ((volatile long *)mine[self])[i] = ((volatile long *)shared)[i];
    return 0;
}
int main(void)
{
    pthread_t t;
    scan();
    hop();
    pthread_create(&t, 0, both, (void *)1);
    both(0);
    pthread_join(t, 0);
}
END
must "$peetcc" -O1 -g -pthread -o arrays arrays.c
run --cores 2 --observe locality,functions=on,structures=on --observe counts,convention=plain -d out -- ./arrays || fail "run"
python3 - <<'PY' || fail "not what the program does"
import json, sys
stats = json.load(open("out/stats.json"))
l = stats["locality"]
def one(key, name):
    found = [x for x in l[key] if x["name"] == name]
    assert len(found) == 1, (key, name, len(found))
    return found[0]
a, b = one("structures", "a"), one("structures", "b")
assert a["references"] == 81920, a["references"]
# 64 KiB in rows: 1024 lines of 64 bytes, each referenced 8 times, then again after 1023 others
assert a["reuse"][3][0] == 71680 and a["reuse"][3][18] == 1024 and a["reuse"][3][10] == 9 * 1024, a["reuse"][3]
assert b["references"] == 1280 and b["reuse"][3][18] == 128 and b["reuse"][3][7] == 9 * 128, b["reuse"][3]
# two of three references of a block of 8 words stay in the half: 7 of 8 do not change the half of 32 bytes but once, and once when they come back
assert a["same"][3][0] == 1024 * 10 * 6, a["same"][3]
assert one("functions", "scan")["reuse"][3] [0] >= 71680
assert stats["counts"]["reads"] + stats["counts"]["writes"] == l["run"]["references"]
s = l["sharing"]
assert s["read_shared_lines"] >= 64, s   # shared[]: read by both
assert s["private_lines"] >= 1024 + 128 + 2 * 64, s
assert l["lines"]["footprint_bytes"] == l["lines"]["first_references"] * 64
times = l["lines"]["reuse_times"]
assert sum(t["count"] for t in times) + l["lines"]["first_references"] == l["run"]["references"]
sets = [t["working_set_lines"] for t in times]
assert abs(sets[0] - 1) < 1e-9 and all(x <= y for x, y in zip(sets, sets[1:])), sets
PY
run --observe locality,line=48 -d bad -- ./arrays 2>err && fail "line=48 is taken"
grep -q "power of two" err || fail "line=48: $(cat err)"
