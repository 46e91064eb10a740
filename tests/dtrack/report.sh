# SPDX-License-Identifier: Apache-2.0
# peet report and peet whatif: tables, pictures, refusals.
. "$(dirname "$0")/lib.sh"
must "$peetcc" -O2 -g -o kernels "$here/kernels.c"
for kernel in walk conflict; do
    timeout -k 1 60 "$peet" run --machine $bus --observe dtrack -d $kernel -- ./kernels $kernel >out.txt 2>table.txt || fail "$kernel"
    [ "$(awk 'length > 80' table.txt)" = "" ] || fail "the table at the end is too wide"
done
grep -q '^    right .*array of long, regular, 8.0 KiB$' table.txt || fail "no table at the end: $(cat table.txt)"
must "$peet" report walk >report.txt
grep -q 'array of double, regular; 64 KB in 8-byte objects' report.txt || fail "report: $(cat report.txt)"
must "$peet" report --top 2 --plot both.svg walk conflict >said.txt
must "$peet" report --top 2 walk conflict >report.txt
grep -q 'kernels .*DS1' report.txt && grep -q DS2 report.txt || fail "report of two"
python3 -c 'import xml.dom.minidom as m; m.parse("both.svg")' || fail "both.svg is no picture"
must "$peet" report --plot one.png walk >report.txt
[ "$(head -c 4 one.png | tail -c 3)" = PNG ] || fail "one.png is no picture"
must "$peet" report --json walk conflict >tables.json
python3 - <<'PY' || fail "shares do not add up"
import json
def number(x): return float(x.split()[0])
for t in json.load(open("tables.json")):
    if t["title"].endswith("by data structure"):
        for row in t["rows"]:
            assert abs(sum(number(x) for x in row[1:] if x != "-") - 100) < 0.5, (t["title"], row)
PY
"$peet" report nowhere 2>message && fail "a folder that is not there"
grep -q 'observe dtrack' message || fail "no advice: $(cat message)"
"$peet" report --plot picture.bmp walk >report.txt 2>message && fail "a picture of unknown type"
run --machine $bus -d plain -- ./kernels walk >out.txt || fail "walk"
must "$peet" report plain >report.txt
grep -q 'worst functions' report.txt || fail "a run without dtrack: $(cat report.txt)"

# perfect memory for everything that misses: what is left is what a machine without misses takes
timeout -k 1 60 "$peet" whatif --top 2 --machine $bus -d whatif -- ./kernels conflict >out.txt 2>table.txt || fail "whatif: $(cat table.txt)"
grep -q 'result' out.txt || fail "the first run's output is the program's"
python3 - conflict/stats.json <<'PY' || fail "whatif: $(cat table.txt)"
import json, sys
runs = json.load(open("whatif/whatif.json"))["runs"]
base = json.load(open(sys.argv[1]))
assert runs[0]["cycles"] == base["time"]["cycles"], "the first run is a run as any other"
misses = {s["name"]: s["levels"][0]["misses"] for s in base["dtrack"]["structures"]}
both = [r for r in runs if len(r["changes"]) == 2][0]
single = [r for r in runs if len(r["changes"]) == 1]
assert len(runs) == 4 and all(0 <= r["saved_cycles"] for r in single), runs
# One processor, and lines come and go as ever: of each miss on the structure its transaction is saved (bus_address_cycles, memory_latency_cycles and 64 bytes
# by words of 8), and waits for a bus that is busy with write-backs are other ones.
waits = [json.load(open("whatif/%d/stats.json" % r["run"]))["bus"]["totals"]["bus_wait_cycles"] for r in runs]
for r in runs[1:]:
    fills = sum(misses[change.split("=")[1]] for change in r["changes"])
    assert r["saved_cycles"] == fills * (2 + 10 + 64 // 8) + waits[0] - waits[r["run"]], (r, misses, waits)
assert both["saved_cycles"] >= max(r["saved_cycles"] for r in single)
PY
timeout -k 1 60 "$peet" whatif --try perfect=one+perfect=right --try pad=one:64 --machine $bus -d tried -- ./kernels conflict >out.txt 2>table.txt || fail "--try"
equal "tried" "$(value tried/whatif.json runs.1.changes.1)" perfect=right
timeout -k 1 60 "$peet" whatif --machine $bus --top=1 -d behind --json -- ./kernels conflict >behind.json || fail "--top behind an option of run"
equal "the last run" "$(value behind.json runs.1.run)" 1
grep -q ".run.: 2" behind.json && fail "more runs than --top=1 asks for"
"$peet" whatif --top 0 -- ./kernels walk 2>message && fail "--top 0"
"$peet" whatif --machine nosuch -- ./kernels walk 2>message && fail "no such machine"
exit 0
