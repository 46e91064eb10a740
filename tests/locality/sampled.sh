#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Sampled surfaces: exact if all references are observed; else within one per cent, mean absolute difference of hit rates, and of exactly as
# many references.  With parts: functions, structures, windows, contexts and their merged stream.
. "$(dirname "$0")/lib.sh"
# compare NAME LIMIT COMMAND...: LIMIT is in per cent
compare() {
    local name=$1 limit=$2
    shift 2
    run --observe locality,windows=off,lines=off -d exact -- "$@" >/dev/null || fail "$name"
    run --observe locality,mode=sampled -d some -- "$@" >/dev/null || fail "$name"
    must "$peet" locality signature exact -o exact.json
    must "$peet" locality signature some -o some.json
    python3 - "$name" "$limit" <<'PY' || fail "$name"
import json, sys
def counts(path):
    return json.load(open(path))["counts"]
def rates(c):
    return [sum(row[:k + 1]) / c["references"] for row in c["reuse"] for k in range(17)]
a, b = counts("exact.json"), counts("some.json")
error = sum(abs(x - y) for x, y in zip(rates(a), rates(b))) / 136 * 100
l = json.load(open("some/stats.json"))["locality"]
print("%s: %.3f per cent, %d and %d of %d references" %
      (sys.argv[1], error, l["observed_references"], l["sparsely_observed_references"], b["references"]))
assert a["references"] == b["references"]
sys.exit(error > float(sys.argv[2]) or l["observed_references"] > 0.1 * b["references"]
         or l["sparsely_observed_references"] > 0.4 * b["references"] or l["bursts"] < 10)
PY
}
while IFS='|' read -r name arguments libs; do
    [ -n "$name" ] || continue
    must "$peetcc" -O2 -o $name "$PEET_SOURCE/bench/programs/$name.c" $libs
    compare "$name" 1 ./$name $arguments
done <<LIST
cg|10000 8 2|-lm
quicksort|200000 4|
${PEET_THOROUGH:+cg|20000 10 3|-lm}
${PEET_THOROUGH:+fft|16 20|-lm}
${PEET_THOROUGH:+hash|100000 20|}
${PEET_THOROUGH:+lz|500000 20|}
${PEET_THOROUGH:+nbody|4000 3|-lm}
${PEET_THOROUGH:+chase|30000 20|}
${PEET_THOROUGH:+text|50000 20|}
${PEET_THOROUGH:+radix|200000 20|}
LIST
# All columns have 1,000 lines, hardly fewer than the next power of two: that is the worst case for an estimate of distances.
must "$peetcc" -O2 -o streams "$PEET_SOURCE/tests/locality/streams.c"
for kind in ${PEET_THOROUGH:+0 2 4 7} 1 3 5 6; do
    compare "streams $kind" $((kind == 5 ? 2 : 1)) ./streams $kind 20
done
run --observe locality,windows=off,lines=off -d exact -- ./cg 2000 4 2 >/dev/null || fail "cg"
run --observe locality,mode=sampled,one_of=1,windows=off -d all -- ./cg 2000 4 2 >/dev/null || fail "cg, all"
must "$peet" locality signature exact -o exact.json
must "$peet" locality signature all -o all.json
same exact.json all.json "all references are observed"
cat >parts.c <<'END'
#include <pthread.h>
static double a[8192] __attribute__((aligned(4096))), b[64] __attribute__((aligned(4096)));
static long shared[512] __attribute__((aligned(4096)));
__attribute__((noinline)) static void scan(void)
{
    for (int round = 0; round < 300; round++)
        for (int i = 0; i < 8192; i++)
            ((volatile double *)a)[i];
}
__attribute__((noinline)) static void stay(void)
{
    for (int i = 0; i < 2400000; i++)
        ((volatile double *)b)[i & 7] = 1;
}
static void *both(void *arg)
{
    for (int round = 0; round < 3000; round++)
        for (int i = 0; i < 512; i++)
            ((volatile long *)shared)[i];
    return arg;
}
int main(void)
{
    pthread_t t;
    scan();
    stay();
    pthread_create(&t, 0, both, 0);
    both(0);
    pthread_join(t, 0);
}
END
must "$peetcc" -O1 -g -pthread -o parts parts.c
run --cores 2 --observe counts,convention=plain --observe locality,mode=sampled,functions=on,structures=on -d parts.out -- ./parts || fail "parts"
python3 - <<'PY' || fail "not what the program does"
import json
stats = json.load(open("parts.out/stats.json"))
l = stats["locality"]
def hits(t, width, depth):
    return sum(t["reuse"][width][:depth + 1]) / t["references"]
def one(key, name):
    return [x for x in l[key] if x["name"] == name][0]
def near(x, y, by):
    assert abs(x - y) <= by, (x, y)
assert stats["counts"]["reads"] + stats["counts"]["writes"] == l["run"]["references"]
near(one("functions", "scan")["references"], 2457600, 2457600 * 0.01)
near(one("structures", "b")["references"], 2400000, 2400000 * 0.01)
a = one("structures", "a")  # 64 KiB in rows: seven of eight in the newest line of 64 bytes, all others 1024 lines apart
near(hits(a, 3, 9), 0.875, 0.01)
near(hits(a, 3, 10), 1, 0.01)
near(hits(one("structures", "b"), 3, 0), 1, 0.01)
c = one("structures", "shared")
near(hits(c, 3, 5), 0.875, 0.01)
near(hits(c, 3, 6), 1, 0.01)
assert len(l["contexts"]) == 2 and len(l["windows"]) > 4
assert sum(x["references"] for x in l["contexts"]) == l["run"]["references"]
near(l["merged"]["references"], l["run"]["references"], 1)
near(hits(l["merged"], 3, 10), 1, 0.02)
PY
