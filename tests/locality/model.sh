#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Each count of each surface, of contexts and of the merged stream, is that of a model that searches lists: the benches' programs and others,
# compiled with and without optimisation by turns (with PEET_THOROUGH: each in three ways), small.
. "$(dirname "$0")/lib.sh"
must "$PEET_PLAIN_CC" -shared -fPIC -O2 -Wall -I"$PEET_PREFIX/include" -o brute.so "$here/brute.c"

compare() {
    python3 - "$1/stats.json" <<'PY' || fail "$1: not what the model has counted"
import json, sys
stats = json.load(open(sys.argv[1]))
got, model = stats["locality"], stats["brute"]["streams"]
def same(what, a, b):
    for key in "references", "reuse", "same":
        if a[key] != b[key]:
            sys.exit("%s: %s differ" % (what, key))
for c in got["contexts"]:
    same("context %d" % c["context"], c, model[c["context"]])
if sum(1 for m in model[:-1] if m["references"]) != len(got["contexts"]):
    sys.exit("contexts are missing")
same("merged", got.get("merged", got["run"]), model[-1])
def add(a, b):
    return [add(x, y) for x, y in zip(a, b)] if isinstance(a, list) else a + b
for key in "references", "reuse", "same":
    for parts in "contexts", "windows", "functions", "structures":
        if parts not in got:
            continue
        total = None
        for one in got[parts]:
            total = one[key] if total is None else add(total, one[key])
        if total != got["run"][key]:
            sys.exit("the sum over %s is not the run's: %s" % (parts, key))
print("%s: %d references" % (sys.argv[1], got["run"]["references"]))
PY
}

programs=0
while IFS='|' read -r name arguments libs; do
    levels=(-O0 "-O3 -march=x86-64-v3" -O1)
    [ -n "${PEET_THOROUGH:-}" ] || levels=("${levels[programs % 2]}")
    for level in "${levels[@]}"; do
        must "$peetcc" $level -g -o program "$PEET_SOURCE/bench/programs/$name.c" $libs
        run --observe locality,functions=on,structures=on,top=100000 --observe ./brute.so -d $name -- ./program $arguments >out || fail "$name $level"
        compare $name
        programs=$((programs + 1))
    done
done <<'LIST'
fft|6 1|-lm
radix|300 1|
lu|12 4|-lm
ocean|10 2|-lm
nbody|20 1|-lm
cg|40 4 1|-lm
hash|60 1|
matmul|12 4 1|-lm
quicksort|200 1|
edit|30 1|
lz|400 1|
chase|60 1|
sha|200 1|
text|60 1|
vm|60 1|
queens|4|
LIST
cat >threads.c <<'END'
#include <pthread.h>
static long table[4096], total;
static void *work(void *arg)
{
    long self = (long)arg, sum = 0;
    for (long i = 0; i < 3000; i++)
        sum += table[(i * (7 + self)) & 4095]++;
    __atomic_add_fetch(&total, sum, __ATOMIC_RELAXED);
    return 0;
}
int main(void)
{
    pthread_t t[3];
    for (long i = 0; i < 3; i++)
        pthread_create(&t[i], 0, work, (void *)i);
    for (int i = 0; i < 3; i++)
        pthread_join(t[i], 0);
    return total < 0;
}
END
for cores in 1 4; do
    must "$peetcc" -O2 -g -pthread -o program threads.c
    run --cores $cores --machine bus --observe locality,functions=on --observe ./brute.so -d threads -- ./program || fail "threads on $cores"
    compare threads
    programs=$((programs + 1))
done
equal "programs" $programs $((${PEET_THOROUGH:+32} + 18))
