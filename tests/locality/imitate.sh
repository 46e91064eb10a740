#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Traces and programs made from a signature have its hit rates: traces by a model that searches lists, programs as recorded.
. "$(dirname "$0")/lib.sh"
while IFS='|' read -r name arguments limit_trace limit_program libs; do
    [ -n "$name" ] || continue
    must "$peetcc" -O2 -o $name "$PEET_SOURCE/bench/programs/$name.c" $libs
    run --observe locality,windows=off,lines=off -d $name.out -- ./$name $arguments >/dev/null || fail "$name"
    must "$peet" locality signature $name.out -o $name.json
    must "$peet" locality trace $name.json -n 150000 -o $name.din
    must "$peet" locality bench $name.json -n 60000 -o $name.bench.c
    must "$PEET_PLAIN_CC" -O2 -Wall -Wextra -Werror -pthread -o $name.plain $name.bench.c
    must "$peetcc" -O2 -pthread -o $name.bench $name.bench.c
    must ./$name.plain 100000 2
    run --roi=only --observe locality,windows=off,lines=off -d $name.bench.out -- ./$name.bench 1200000 || fail "$name.bench"
    loads=$(value $name.bench.out/stats.json locality.run.references)
    [ "$loads" -ge 1200000 ] && [ "$loads" -lt 1200100 ] || fail "$name.bench: $loads references in its region of interest"
    must "$peet" locality signature $name.bench.out -o $name.bench.json
    python3 - $name $limit_trace $limit_program <<'PY' || fail "$name"
import collections, json, sys
name, limit_trace, limit_program = sys.argv[1], float(sys.argv[2]), float(sys.argv[3])
def rates(path):
    c = json.load(open(path))["counts"]
    return [[sum(row[:k + 1]) / c["references"] for k in range(17)] for row in c["reuse"]]
want = rates(name + ".json")
# an LRU cache of so many lines, by the book
def cache(addresses, width, lines):
    held, hits = collections.OrderedDict(), 0
    for a in addresses:
        line = a // width
        if line in held:
            hits += 1
            held.move_to_end(line)
        else:
            held[line] = 1
            if len(held) > lines:
                held.popitem(last=False)
    return hits / len(addresses)
addresses = [int(line.split()[1], 16) for line in open(name + ".din")]
assert len(addresses) == 150000
picked = [(w, k) for w in (0, 3, 5) for k in (0, 3, 6, 9, 12)]
error = sum(abs(cache(addresses, 512 >> w, 1 << k) - want[w][k]) for w, k in picked) / len(picked) * 100
got = rates(name + ".bench.json")
other = sum(abs(got[w][k] - want[w][k]) for w in range(4) for k in range(17)) / 68 * 100
print("%s: trace %.2f, program %.2f per cent" % (name, error, other))
sys.exit(error > limit_trace or other > limit_program)
PY
done <<LIST
cg|400 6 2|2.5|4|-lm
ocean|40 8|2.5|4|-lm
${PEET_THOROUGH:+quicksort|3000 2|2.5|4|}
LIST
# Blocks whose words are referenced again after very different times: which block is drawn decides what its words can be for long.
must "$peetcc" -O1 -o columns "$here/columns.c"
run --observe locality,windows=off,lines=off -d columns.out -- ./columns 2 || fail "columns"
must "$peet" locality signature columns.out -o columns.json
"$peet" locality trace columns.json -n 150000 -o columns.din >out 2>&1 || fail "$(cat out)"
error=$(sed -n 's/.*caches: \([0-9.]*\)% mean.*/\1/p' out)
awk -v error="$error" 'BEGIN { exit !(error != "" && error < 3.4) }' || fail "columns: $(cat out)"
# Most far references are strided: the walks of the program take the place of these, and of no more than that.
cat >stencil.c <<'END'
#include <stdlib.h>
enum { N = 28 };
static volatile double from[N][N][N], to[N][N][N];
int main(int argc, char **argv)
{
    for (int t = argc > 1 ? atoi(argv[1]) : 1; t; t--)
        for (int i = 1; i < N - 1; i++)
            for (int j = 1; j < N - 1; j++)
                for (int k = 1; k < N - 1; k++)
                    to[i][j][k] = from[i - 1][j][k] + from[i + 1][j][k] + from[i][j - 1][k] + from[i][j + 1][k] + from[i][j][k - 1] + from[i][j][k + 1];
    return 0;
}
END
must "$peetcc" -O2 -o stencil stencil.c
run --observe locality,windows=off,lines=off -d stencil.out -- ./stencil 12 || fail "stencil"
must "$peet" locality signature stencil.out -o stencil.json
"$peet" locality bench stencil.json -n 150000 -o stencil.made.c >out 2>&1 || fail "$(cat out)"
error=$(sed -n 's/.*bytes: \([0-9.]*\)% mean.*/\1/p' out)
awk -v error="$error" 'BEGIN { exit !(error != "" && error < 2.8) }' || fail "stencil: $(cat out)"
# The same trace in each format, on a machine: as many references, in the same lines.
must "$peet" locality trace cg.json -n 30000 --writes 0.3 -o t.din
for format in din lackey champsim drmemtrace; do
    must "$peet" locality trace cg.json -n 30000 --writes 0.3 -f $format -o t.$format
    run --from t.$format --observe locality,windows=off,lines=off --machine bus -d t.$format.out || fail "$format does not run"
    must "$peet" locality signature t.$format.out -o t.$format.json
    same t.din.json t.$format.json "$format"
done
equal "references" "30000 " "$(python3 -c 'import json; print(json.load(open("t.din.json"))["counts"]["references"], "")')"
"$peet" locality trace cg.json -f other -o t.other 2>err && fail "a format that is not there is taken"
grep -q "no 'other'" err || fail "$(cat err)"
# Stores are the share that was asked for, and take the place of loads while they can.
for share in 0 0.05 0.4; do
    must "$peet" locality bench cg.json -n 20000 --writes $share -o stores.c >said 2>&1
    must "$peetcc" -O2 -pthread -o stores stores.c
    run --machine ideal --roi=only --observe locality -d stores.$share -- ./stores 200000 >/dev/null || fail "a program that stores"
    grep -q 'can store in place of loads' said && [ $share != 0.4 ] && fail "$(cat said)"
done
python3 - <<'END' || fail "stores"
import json
def roi(share):
    return json.load(open("stores.%s/stats.json" % share))
def rates(t):
    return [sum(r[:k + 1]) / t["references"] for r in t["reuse"] for k in range(17)]
for share in ("0.05", "0.4"):
    r = roi(share)["roi"]
    assert abs(r["writes"] / (r["reads"] + r["writes"]) - float(share)) < 0.01, (share, r["reads"], r["writes"])
a, b = rates(roi("0")["locality"]["run"]), rates(roi("0.05")["locality"]["run"])
assert max(abs(x - y) for x, y in zip(a, b)) < 0.002
END
must "$peet" locality bench cg.json ocean.json -n 20000 --threads 3 --sharing 0.5 --writes 0.2 -o phases.c
must "$peetcc" -O2 -pthread -o phases phases.c
run --cores 3 --machine bus --observe locality -d phases.out -- ./phases 100000 || fail "phases"
[ "$(value phases.out/stats.json locality.sharing.several_writers_lines)" -gt 10 ] || fail "nothing is shared"
equal "contexts" 3 "$(python3 -c 'import json; print(len(json.load(open("phases.out/stats.json"))["locality"]["contexts"]))')"
# what is said of a thread that shares is what it does
must "$peet" locality bench ocean.json -n 20000 --sharing 0.3 -o shares.c >said
must "$peetcc" -O2 -pthread -o shares shares.c
run --roi=only --observe locality -d shares.out -- ./shares 1000000 || fail "shares"
must "$peet" locality report ocean.json shares.out >report.txt
claimed=$(sed -n 's/.*of a thread that shares so much: \([0-9.]*\)%.*/\1/p' said)
measured=$(sed -n 's/.* 68 caches, 64 to 512 B: \([0-9.]*\) .*/\1/p' report.txt)
awk -v a="$claimed" -v b="$measured" 'BEGIN { exit !(a > 0 && b > 0 && a - b < 0.4 && b - a < 0.4) }' || fail "said to be off by $claimed, measured $measured"
run --observe locality -d ocean2.out -- ./ocean 60 40 >/dev/null || fail "ocean"
must "$peet" locality phases ocean2.out -n 20000 -o windows.c
must "$PEET_PLAIN_CC" -O2 -pthread -o windows windows.c
must ./windows 100000
