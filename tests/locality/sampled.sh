#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Sampled surfaces: exact as long as all blocks are followed; else within one per cent, mean absolute difference of hit rates.
. "$(dirname "$0")/lib.sh"
while IFS='|' read -r name arguments libs; do
    must "$peetcc" -O2 -o $name "$PEET_SOURCE/bench/programs/$name.c" $libs
    run --observe locality,windows=off,lines=off -d exact -- ./$name $arguments >/dev/null || fail "$name"
    run --observe locality,mode=sampled,blocks=1048576 -d all -- ./$name $arguments >/dev/null || fail "$name"
    run --observe locality,mode=sampled -d some -- ./$name $arguments >/dev/null || fail "$name"
    must "$peet" locality signature exact -o exact.json
    must "$peet" locality signature all -o all.json
    must "$peet" locality signature some -o some.json
    same exact.json all.json "$name: all blocks are followed"
    python3 - $name <<'PY' || fail "$name"
import json, sys
def rates(path):
    c = json.load(open(path))["counts"]
    return [sum(row[:k + 1]) / c["references"] for row in c["reuse"] for k in range(17)]
a, b = rates("exact.json"), rates("some.json")
error = sum(abs(x - y) for x, y in zip(a, b)) / len(a) * 100
followed = json.load(open("some/stats.json"))["locality"]["contexts"][0]["followed_one_of"]
print("%s: %.3f per cent, one of %d" % (sys.argv[1], error, followed))
sys.exit(error > 1 or followed < 2)
PY
done <<'LIST'
cg|10000 8 1|-lm
hash|20000 4|
radix|200000 1|
LIST
"$peet" run --observe locality,mode=sampled,functions=on -d bad -- ./cg 20 4 1 2>err && fail "functions of samples"
grep -q sampled err || fail "$(cat err)"
