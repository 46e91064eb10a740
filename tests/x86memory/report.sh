# SPDX-License-Identifier: Apache-2.0
# peet report of runs on x86: tables that fit, pictures, and data that are stats.json's, category by category; refusals.
. "$(dirname "$0")/lib.sh"
cat >walk.c <<'END'
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
static long data[1 << 16], sums[3];
static __attribute__((noinline)) long forward(void) { long s = 0; for (int i = 0; i < 1 << 16; i++) s += data[i]; return s; }
static __attribute__((noinline)) long jump(void) { long s = 0; for (unsigned i = 0, k = 1; i < 20000; i++, k = k * 1664525 + 1013904223) s += data[k >> 16]; return s; }
static void *work(void *a) { sums[(long)a] = forward() + jump(); return NULL; }
int main(void)
{
    pthread_t t[3];
    for (long i = 0; i < 1 << 16; i++) data[i] = i;
    for (long i = 0; i < 3; i++) pthread_create(&t[i], NULL, work, (void *)i);
    for (int i = 0; i < 3; i++) pthread_join(t[i], NULL);
    printf("%ld\n", sums[0] + sums[1] + sums[2]);
    return 0;
}
END
must "$peetcc" -O2 -g -pthread -o walk walk.c
must timeout -k 1 100 "$peet" run -d first -n 4 --machine x86,preset=skylake -- ./walk >said 2>table.txt
grep -q 'peet report --plot FILE.svg first' table.txt || fail "the run's table does not name the report: $(tail -2 table.txt)"
run second -n 2 --machine x86,preset=zen4,threads=2,classify=on -- ./walk
must "$peet" report second >report.txt
grep -q conflict report.txt || fail "misses by cause are not shown"
must "$peet" report first >report.txt
[ "$(awk 'length > 100' report.txt)" = "" ] || fail "wider than a terminal: $(awk 'length > 100' report.txt)"
grep -q '^ *forward ' report.txt && grep -q '^ *jump ' report.txt || fail "no functions: $(cat report.txt)"
must "$peet" report --plot one.svg --csv one.csv first >said.txt
grep -q '^one.svg: ' said.txt && grep -q '^one.csv: ' said.txt || fail "it does not say what it has written: $(cat said.txt)"
[ "$(wc -l <said.txt)" -eq 2 ] || fail "more than the files that were asked for: $(cat said.txt)"
python3 -c 'import xml.dom.minidom as m; m.parse("one.svg")' || fail "one.svg is no picture"
grep -q '>dependence<' one.svg && grep -q '>DRAM lines<' one.svg && grep -q '>jump<' one.svg || fail "one.svg lacks bars or curves"
must "$peet" report --plot two.png --csv two.csv first second >said.txt
must "$peet" report first second >report.txt
[ "$(head -c 4 two.png | tail -c 3)" = PNG ] || fail "two.png is no picture"
[ "$(awk 'length > 100' report.txt)" = "" ] || fail "two: wider than a terminal"
must "$peet" report --json first >tables.json
python3 - <<'PY' || fail "the data are not those of stats.json"
import collections, csv, json
for name, folders in (("one.csv", ["first"]), ("two.csv", ["first", "second"])):
    sums = collections.defaultdict(float)
    for row in csv.DictReader(open(name)):
        sums[int(row["run"]), row["kind"], row["category"]] += float(row["value"])
    for run, folder in enumerate(folders):
        stats = json.load(open(folder + "/stats.json"))
        x86, memory = stats["x86"], stats["x86"]["memory"]
        assert sum(v for (r, k, c), v in sums.items() if r == run and k == "run") == sum(h["cycles"] for h in x86["hw"])
        for category in x86["stack_categories"]:
            want = x86["stack_cycles"].get(category, 0)
            assert sums[run, "run", category] == want and sums[run, "context", category] == want, (folder, category)
            if category != "idle":
                assert sums[run, "function", category] == want, (folder, category)
        for level in ("l1d", "l2", "l3"):
            if folder == "second":
                causes = memory[level]["misses_by_cause"]
                assert sum(causes.values()) == memory[level]["read_misses"] + memory[level]["write_misses"] and causes["cold"], (level, causes)
            assert sums[run, "window", level + "_misses"] == memory[level]["read_misses"] + memory[level]["write_misses"], (folder, level)
        assert sums[run, "window", "dram_lines"] == memory["dram"]["line_reads"] + memory["dram"]["line_writes"], folder
        last = memory["windows"][-1]["cycle"]
        assert [w["cycle"] for w in memory["windows"]] == list(range(0, last + 1, memory["window_cycles"])) and len(memory["windows"]) <= 512
for t in json.load(open("tables.json")):
    if t["title"].startswith("where the cycles went"):
        for row in t["rows"]:
            assert abs(sum(float(x.rstrip("%")) for x in row[2:]) - 100) < 1, row
    if t["title"].startswith("cycles for each"):
        for row in t["rows"]:
            assert abs(sum(map(float, row[2:])) - float(row[1])) < 0.02, row
PY

# runs on other machines: the page, and side by side with what they have in common
run plain -n 1 --machine bus -- ./walk
must "$peet" report plain >report.txt
grep -q '^    cache ' report.txt && grep -q 'worst functions' report.txt || fail "a run on bus: $(cat report.txt)"
run observed -n 1 --machine bus --observe dtrack -- ./walk
must "$peet" report observed first >report.txt
grep -q '^    cycles ' report.txt || fail "two machines side by side: $(cat report.txt)"
"$peet" report --plot none.svg plain >report.txt 2>message && fail "a picture of nothing"
grep -q 'dtrack' message && grep -q 'x86' message || fail "no advice: $(cat message)"
"$peet" report --plot picture.bmp first >report.txt 2>message && fail "a picture of unknown type"
"$peet" report --csv /nowhere/at.csv first >report.txt 2>message && fail "a file that cannot be written"
mkdir odd && echo '{"time": {}, "x86": {"stack_categories": {"base": 1}, "hw": [1, {"stack_cycles": 7}], "functions": 3}}' >odd/stats.json
"$peet" report --plot odd.svg odd >report.txt 2>message || fail "odd figures: $(cat message)"
# both at once
run both -n 2 --machine x86,preset=skylake --observe dtrack -- ./walk
must "$peet" report --plot both.svg both >said.txt
must "$peet" report both >report.txt
grep -q 'misses by data structure' report.txt && grep -q 'by hardware context' report.txt || fail "both: $(cat report.txt)"
echo "report: all right"
