# SPDX-License-Identifier: Apache-2.0
# One number, one name: what the page, dtrack's table, peet report and stats.json say of one run is the same where it has the same name,
# and where it is not the same thing it has another.
. "$(dirname "$0")/lib.sh"
cat >mixed.c <<'END'
#include <stdio.h>
#include <string.h>
static struct { char head; long value; } __attribute__((packed)) odd[4000]; /* many lie in two lines */
static volatile long last;
static double grid[40000];
int main(void)
{
    for (int pass = 0; pass < 3; pass++)
        for (int i = 0; i < 4000; i++) {
            odd[i].value += i;
            last = last + odd[i].value; /* loads that a store in the queue serves */
            grid[(i * 37) % 40000] += last;
        }
    printf("%ld %f\n", last, grid[37]);
    return 0;
}
END
must "$peetcc" -O1 -g -o mixed mixed.c
cat >check.py <<'END'
import json, re, sys
stats, page, report = json.load(open(sys.argv[1] + "/stats.json")), open(sys.argv[2]).read(), open(sys.argv[3]).read()
first = lambda text: next(line.split() for line in text if line)
def table(text, title):
    lines = text.split(title, 1)[1].split("\n")[1:]
    rows = []
    for line in lines[1:]:
        if not line.startswith("    "):
            break
        rows.append(re.split(r"  +", line.strip()))
    return re.split(r"  +", lines[0].strip()), rows
dtrack = stats["dtrack"]
level = dtrack["totals"]["levels"][0]
heads, rows = table(page, "misses of lines")
nearest = next(row for row in rows if row[0] in ("l1d", "cache"))
assert heads[:4] == ["level", "lookups", "misses", "of lookups"], heads
lookups, misses, share = int(nearest[1].replace(",", "")), int(nearest[2].replace(",", "")), float(nearest[3].rstrip(" %"))
assert abs(share - 100 * misses / lookups) < 0.06, nearest
references = sum(s["levels"][0]["misses"] for s in dtrack["structures"])
assert misses == references, ("misses of the level", misses, references)
accesses = dtrack["totals"]["reads"] + dtrack["totals"]["writes"]
assert abs(level["misses_per_access"] - references / accesses) < 1e-9, level
heads, rows = table(page, "data structures: shares")
whole = next(row for row in rows if row[0] == "all")
assert heads[3] == "of acc.", heads
assert abs(float(whole[3].rstrip(" %")) - 100 * level["misses_per_access"]) < 0.06, whole
name = dtrack["levels"][0]["name"]
heads, rows = table(report, name + " misses of accesses")
assert abs(float(rows[0][-1].rstrip(" %")) - 100 * level["misses_per_access"]) < 0.06, rows
if "demand lookups" in report: # the same level, once more
    heads, rows = table(report, "demand lookups and misses by level")
    again = next(row for row in rows if row[1] == "L1D")
    assert heads[2:5] == ["lookups", "misses", "of lookups"] and again[2:5] == nearest[1:4], (again, nearest)
if sys.argv[4] == "bus": # whose own counts they are
    assert lookups == accesses, (lookups, accesses)
    assert abs(stats["bus"]["totals"]["miss_ratio"] - level["misses_per_access"]) < 1e-9
for words in ("miss rate", "  ratio", "  rate "):
    assert words not in page and words not in report, words
for name in ("reads", "writes", "instructions"): # once in each page, and as in stats.json
    found = re.findall(r"^  " + name + r" +([0-9,]+)", page, re.M)
    assert len(found) == 1 and int(found[0].replace(",", "")) == stats["totals"][name], (name, found)
figures = open(sys.argv[5]).read()
assert "misses_per_lookup" in figures, "--csv"
assert "miss_ratio" not in figures and "line_accesses" not in figures, "names of before"
END
for machine in bus numa x86 x86,preset=zen4; do
    must "$peet" run --machine $machine --observe dtrack -d out -- ./mixed >/dev/null 2>page
    must "$peet" report out >report
    must "$peet" report --csv figures.csv out >/dev/null
    must python3 check.py out page report ${machine%%,*} figures.csv || fail "$machine"
done
