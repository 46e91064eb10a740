# SPDX-License-Identifier: Apache-2.0
# False sharing: found, named by counter and source line, in the machine's own numbers; gone when the counters are apart, and when
# padding is tried.
. "$(dirname "$0")/lib.sh"
must "$peetcc" -O2 -g -pthread -o counters "$here/counters.c"
machine="--cores 4 --machine bus,cache=8KiB,ways=2,line=64,classify=on"
run $machine --observe dtrack -d near -- ./counters 1000 >out.txt || fail "counters"
run $machine --observe dtrack -d apart -- ./counters 1000 apart >out.txt || fail "counters apart"
total near/stats.json
total apart/stats.json
f() { structure "$1/stats.json" "${@:2}"; }
equal class "$(f near counters sharing class)" false-shared
[ "$(f near counters sharing false_sharing_misses)" -gt 500 ] || fail "false sharing: $(f near counters sharing false_sharing_misses)"
equal "padded: false sharing" "$(f apart apart sharing false_sharing_misses)" 0
# the machine decides by the missing reference, dtrack by all until the line is lost again; here nothing lies between
python3 - near/stats.json <<'PY' || fail "the machine's coherence misses are others"
import json, sys
s = json.load(open(sys.argv[1]))
kinds = s["bus"]["totals"]["misses_by_kind"]
true = sum(x["sharing"]["true_sharing_misses"] for x in s["dtrack"]["structures"])
false = sum(x["sharing"]["false_sharing_misses"] for x in s["dtrack"]["structures"])
print("true", true, "false", false, kinds)
sys.exit(true + false != kinds["true_sharing"] + kinds["false_sharing"] or false > kinds["false_sharing"])
PY
# each processor its own counter, in the line that increments
line=$(grep -n 'mine = \*mine + 1' "$here/counters.c" | cut -d: -f1)
python3 - near/stats.json "$line" <<'PY' || fail "fields and lines of the falsely shared line"
import json, sys
lines = [l for l in json.load(open(sys.argv[1]))["dtrack"]["falsely_shared_lines"] if l["structure"] == "counters"]
writes = [a for a in lines[0]["accesses"] if a["access"] == "write"]
print(writes)
fields = sorted(a["field"] for a in writes)
sys.exit(not (len(lines) == 1 and fields == ["[%d].hits" % i for i in range(4)] and len({a["processor"] for a in writes}) == 4
              and all(a["function"] == "work" and a["line"] == int(sys.argv[2]) for a in writes)))
PY
# what padding would gain: as much as it does in the source
timeout -k 1 60 "$peet" whatif --top 1 --json $machine -d whatif -- ./counters 1000 >whatif.json || fail "whatif"
python3 - whatif.json near/stats.json apart/stats.json <<'PY' || fail "whatif: $(cat whatif.json)"
import json, sys
w, near, apart = (json.load(open(f)) for f in sys.argv[1:])
runs = {"+".join(r["changes"]): r for r in w["runs"]}
print({k: r["cycles"] for k, r in runs.items()}, near["time"]["cycles"], apart["time"]["cycles"])
base, pad = runs[""]["cycles"], runs["pad=counters:64"]["cycles"]
sys.exit(base != near["time"]["cycles"] or abs(pad - apart["time"]["cycles"]) > 0.05 * base or pad > base)
PY
