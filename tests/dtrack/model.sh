# SPDX-License-Identifier: Apache-2.0
# Accesses, misses and premature evictions of each structure are those that a cache model of its own counts from a trace of every
# reference, with the objects that the program itself prints.
. "$(dirname "$0")/lib.sh"
must cc -O2 -Wall -o model "$here/model.c"
must cc -shared -fPIC -O2 -Wall -I"$PEET_PREFIX/include" -o trace.so "$here/trace.c"
must "$peetcc" -O2 -g -o kernels "$here/kernels.c"
for kernel in walk columns list hash conflict allocator reuse; do
    must ./kernels $kernel >plain
    run --machine $bus --observe dtrack --observe ./trace.so,file="$work/trace.txt" -d $kernel -- ./kernels $kernel >objects || fail "$kernel"
    equal "$kernel: result" "$(tail -1 plain)" "$(tail -1 objects)"
    total $kernel/stats.json
    [ $kernel = reuse ] && continue # its objects come and go: the model knows one owner for an address
    must ./model 8192 2 64 objects trace.txt >expected
    python3 - $kernel/stats.json expected <<'PY' || fail "$kernel: not what the model has counted"
import json, sys
stats = json.load(open(sys.argv[1]))["dtrack"]["structures"]
expected = {l.split()[0]: [int(x) for x in l.split()[1:]] for l in open(sys.argv[2])}
got = {}
for s in stats:
    name = s["name"] if s["name"] in expected else "(other)"
    one = s["levels"][0]
    sums = got.setdefault(name, [0] * 5)
    for i, x in enumerate((s["reads"], s["writes"], one["misses"], one["premature_evictions_by_same"], one["premature_evictions_by_other"])):
        sums[i] += x
wrong = 0
for name in expected:
    a, b = expected[name], got.get(name, [0] * 5)
    if name == "(other)": # several structures of dtrack's: who drove out whom among them is another question
        a, b = a[:3] + [a[3] + a[4]], b[:3] + [b[3] + b[4]]
    if a != b:
        print(sys.argv[1], name, "expected", a, "got", b)
        wrong = 1
sys.exit(wrong)
PY
done
