# SPDX-License-Identifier: Apache-2.0
# What others read: callgrind's file, collapsed stacks, trace events, CSV and stats.json say the same, whatever the names are.
. "$(dirname "$0")/../lib.sh"
cat >subject.c <<'C'
#include <pthread.h>
#include <stdio.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t barrier;
static long count, cells[4][64];
__attribute__((noinline)) static long inner(long n) { return n < 2 ? n : inner(n - 1) + inner(n - 2); }
__attribute__((noinline)) static void add(long v) { pthread_mutex_lock(&lock); count += v; pthread_mutex_unlock(&lock); }
static void *work(void *arg)
{
    long *mine = arg;
    for (int i = 0; i < 40; i++) {
        mine[i & 7] += inner(i & 7);
        add(mine[i & 7]);
        if (i % 10 == 9)
            pthread_barrier_wait(&barrier);
    }
    return 0;
}
int main(void)
{
    pthread_t t[4];
    pthread_barrier_init(&barrier, 0, 4);
    for (int i = 0; i < 4; i++)
        pthread_create(&t[i], 0, work, cells[i]);
    for (int i = 0; i < 4; i++)
        pthread_join(t[i], 0);
    printf("%d\n", count > 0);
    return 0;
}
C
must "$peetcc" -O2 -g -pthread -o subject subject.c
for machine in ideal bus,cache=1KiB x86,preset=small; do
    for cores in 1 3; do
        out=${machine%%,*}$cores
        must timeout -k 1 100 "$peet" run -q --machine $machine --cores $cores --observe profile --observe timeline -d $out -- ./subject >said.txt
        must "$peet" report --callgrind $out.callgrind --collapsed $out.collapsed --measure instructions --trace $out.trace --csv $out.csv $out >report.txt
        [ "$(wc -l <report.txt)" -eq 4 ] || fail "more than a line for each file: $(cat report.txt)"
        must "$peet" report $out >report.txt
        [ "$(awk 'length > 80' report.txt)" = "" ] || fail "wider than a terminal: $(awk 'length > 80' report.txt)"
    done
done
cp -r bus3 evil
python3 - <<'PY' || fail "hostile names cannot be made"
import json
s = json.load(open("evil/stats.json"))
names = ["a\x1b[31m;b\nfn=(1) c", "<script>alert(1)</script>\u202e", "std::map<" * 1200, "=cmd|' /C calc'!A0", "\"),(\\"]
for part in ("functions", "lines", "calls", "paths"):
    for i, one in enumerate(s["profile"][part]):
        for key in ("name", "function", "caller", "callee", "file"):
            if key in one and one[key]:
                one[key] = names[(i + len(key)) % len(names)] + str(one.get("id", ""))
for i, one in enumerate(s["sync"]["contended"]):
    one["name"] = names[i % len(names)]
s["config"]["program"] = names[0]
json.dump(s, open("evil/stats.json", "w"))
PY
must "$peet" report --callgrind evil.callgrind --collapsed evil.collapsed --measure instructions --trace evil.trace --csv evil.csv evil >said.txt
must "$peet" report evil >evil.txt
must "$peet" report bus3 evil >both.txt
LC_ALL=C grep -qP '[\x00-\x08\x0b-\x1f\x7f]' evil.txt said.txt both.txt evil.callgrind evil.collapsed evil.csv && fail "control characters got through"
for text in evil.txt both.txt; do
    [ "$(python3 -c 'import sys; print(max(len(l.rstrip("\n")) for l in open(sys.argv[1], encoding="utf-8")))' $text)" -le 80 ] || fail "$text is too wide"
done
python3 - "$PEET_SOURCE" <<'PY' || fail "the formats disagree"
import csv, json, re, subprocess, sys
source = sys.argv[1]
for out in ("ideal1", "ideal3", "bus1", "bus3", "x861", "x863", "evil"):
    s = json.load(open(out + "/stats.json"))
    profile, want = s["profile"], s["profile"]["totals"]
    cycles = sum(h["busy_cycles"] + h["stalled_cycles"] for h in s["hw"])
    assert want["cycles"] == cycles and want["instructions"] == s["totals"]["instructions"], (out, want, cycles)
    for key in want:
        for part in ("functions", "lines", "paths", "contexts"):
            assert sum(x.get(key, 0) for x in profile[part]) == want[key], (out, key, part, sum(x.get(key, 0) for x in profile[part]), want[key])
    waits = sum(v["waited_cycles"] for v in s["sync"].values() if isinstance(v, dict) and "waited_cycles" in v)
    assert want.get("waited_cycles", 0) == waits, (out, want, waits)
    misses = s.get("bus", {}).get("totals", {})
    if misses:
        found = sum(v for k, v in want.items() if re.fullmatch(r"l1d_(cold|capacity|conflict|true_sharing|false_sharing)_misses", k))
        assert found == misses["misses"], (out, found, misses["misses"])
        for kind, n in misses["misses_by_kind"].items():
            assert want.get("l1d_" + kind + "_misses", 0) == n, (out, kind)
    # callgrind's file: own costs add up to the summary, which callgrind_annotate prints
    events, own, calls = [], 0, False
    for line in open(out + ".callgrind", encoding="utf-8", errors="replace"):
        if line.startswith("events:"):
            events = line.split()[1:]
        elif line.startswith("calls="):
            calls = True
        elif re.match(r"[0-9]", line):
            if not calls:
                own += int(line.split()[1 + events.index("Ir")])
            calls = False
    assert own == want["instructions"], (out, own)
    said = subprocess.run(["callgrind_annotate", out + ".callgrind"], capture_output=True, text=True, errors="replace").stdout
    total = [l for l in said.splitlines() if "PROGRAM TOTALS" in l][0].split()[0]
    assert int(total.replace(",", "")) == want["instructions"], (out, total)
    # collapsed stacks
    stacks = [l.rsplit(" ", 1) for l in open(out + ".collapsed", encoding="utf-8")]
    assert sum(int(n) for _, n in stacks) == want["instructions"], out
    # trace events: what ran is what processors were busy, what waited is what the locks say
    t = json.load(open(out + ".trace"))["traceEvents"]
    ran = sum(e["args"]["cycles"] for e in t if e["ph"] == "X" and e["pid"] == 1)
    waited = sum(e["args"]["cycles"] for e in t if e["ph"] == "X" and e["pid"] == 2 and e["cat"] != "runs")
    assert ran == cycles == s["timeline"]["running_cycles"] and waited == waits, (out, ran, cycles, waited, waits)
    by = {}
    for e in t:
        if e["ph"] == "X":
            by.setdefault((e["pid"], e["tid"]), []).append((e["ts"], e["ts"] + e["dur"]))
    for key, slices in by.items():
        slices.sort()
        assert all(a[1] <= b[0] + 1e-9 for a, b in zip(slices, slices[1:])), (out, key, "overlap")
    rows = list(csv.DictReader(open(out + ".csv", encoding="utf-8")))
    if out != "evil":
        assert sum(float(r["value"]) for r in rows if r["kind"] == "figure function" and r["category"] == "instructions") == want["instructions"], out
    assert not any(r["name"][:1] in "=+-@" and r["name"] for r in rows)
try:
    import jsonschema
except ImportError:
    print("python3-jsonschema is not installed: the schema of stats.json is not checked")
    sys.exit(0)
check = jsonschema.Draft202012Validator(json.load(open(source + "/docs/stats.schema.json")))
jsonschema.Draft202012Validator.check_schema(check.schema)
for out in ("ideal1", "bus3", "x863"):
    stats = json.load(open(out + "/stats.json"))
    for error in check.iter_errors(stats):
        raise AssertionError((out, list(error.absolute_path), error.message[:300]))
    for wrong in (lambda s: s.pop("time"), lambda s: s["hw"][0].update(busy_cycles=-1), lambda s: s["hot"]["lines"].append({"line": 1}),
                  lambda s: s["profile"]["functions"][0].pop("cycles")):
        damaged = json.loads(json.dumps(stats))
        wrong(damaged)
        assert not check.is_valid(damaged)
PY
# what is not there, and what is damaged
must timeout -k 1 60 "$peet" run -q -d plain -- ./subject >said.txt
for option in --callgrind --collapsed --trace; do
    "$peet" report $option nothing plain >said.txt 2>message && fail "$option of a plain run"
    grep -q -- '--observe' message || fail "no advice: $(cat message)"
    [ ! -e nothing ] || fail "$option left a file"
done
head -c 1000 bus3/timeline.bin >evil/timeline.bin
"$peet" report --trace nothing evil >said.txt 2>message && fail "a time line that is cut off"
grep -q 'cut off' message || fail "no reason: $(cat message)"
exit 0
