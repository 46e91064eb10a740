# SPDX-License-Identifier: Apache-2.0
# References in space and time against what the program does: a walk over an array is a diagonal, a table that is used all the time a line; sums are exact,
# however often rows and windows were doubled; the same in CSV.
export PEET_FOREIGN=ranges # rows and windows are those of the program's walk alone
. "$(dirname "$0")/../lib.sh"
cat >subject.c <<'C'
#include <stdlib.h>
enum { N = 1 << 16, TABLE = 8 };
static volatile long walked[N];
static volatile long table[TABLE];
__attribute__((noinline)) static void walk(void) { for (long i = 0; i < N; i++) { walked[i] = i; table[i % TABLE]; } }
int main(void) { walk(); return 0; }
C
must "$peetcc" -O1 -g -fno-unroll-loops -o subject subject.c
for rows in 16 256; do
    must timeout -k 1 60 "$peet" run -q --machine bus,line=64 --observe references,rows=$rows,windows=64 -d r$rows -- ./subject
done
must timeout -k 1 60 "$peet" run -q --observe references --observe counts,convention=plain -d counted -- ./subject
must "$peet" report --csv cells.csv r256 >said.txt
python3 - <<'PY' || fail "references in space and time"
import csv, json
N, TABLE = 1 << 16, 8
def load(name): return json.load(open(name + "/stats.json"))
for name, most in (("r16", 16), ("r256", 256), ("counted", 256)):
    s = load(name)
    r = s["references"]
    rows, windows, granule = r["rows"], r["windows"], r["granule_bytes"]
    assert len(rows) <= most and s["time"]["cycles"] > (windows - 1) * r["window_cycles"]
    assert windows * r["window_cycles"] > 0.95 * s["time"]["cycles"] and windows > 32, (name, windows)
    assert granule & (granule - 1) == 0 and all(x["address"] % granule == 0 for x in rows)
    assert [x["address"] for x in rows] == sorted({x["address"] for x in rows})
    for what in ("reads", "writes"):
        assert all(len(x[what]) == windows for x in rows)
        assert sum(sum(x[what]) for x in rows) == r[what], (name, what)
    walk = [x for x in rows if x["structures"] == ["walked"]]
    assert len(walk) >= most // 4, (name, len(walk))
    size = granule // 8
    assert all(sum(x["writes"]) == size and not sum(x["reads"]) for x in walk[1:-1]), name
    # the diagonal: each row is written in a short time, one row after the other
    times = [[k for k, v in enumerate(x["writes"]) if v] for x in walk]
    assert all(a[-1] <= b[0] for a, b in zip(times, times[1:])) and times[0][0] <= 1, times
    last = [k for x in rows if "walked" in x["structures"] for k, v in enumerate(x["writes"]) if v][-1]
    assert last >= windows - 3, (last, windows)
    table = [x for x in rows if "table" in x["structures"]]
    assert sum(sum(x["reads"]) for x in table) >= N
    busy = [sum(x["reads"][k] for x in table) for k in range(windows)]
    assert sum(b > 0 for b in busy) >= windows - 2
s = load("counted")
assert s["references"]["reads"] == s["counts"]["reads"] and s["references"]["writes"] == s["counts"]["writes"], s["counts"]["instructions"]
r = load("r256")["references"]
cells = {(c["name"], c["category"]): int(c["value"]) for c in csv.DictReader(open("cells.csv")) if c["kind"] == "references"}
want = {("0x%x" % x["address"], "%s %d" % (what, k * r["window_cycles"])): v for x in r["rows"] for what in ("reads", "writes") for k, v in enumerate(x[what]) if v}
assert cells == want
PY
"$peet" run -q --observe references,granule=48 -d wrong -- ./subject 2>message && fail "a granule that is no power of two"
grep -q 'power of two' message || fail "no reason: $(cat message)"
exit 0
