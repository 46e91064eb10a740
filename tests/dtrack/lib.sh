# SPDX-License-Identifier: Apache-2.0
# Sourced by the cases.
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
examples=$PEET_SOURCE/examples/dtrack
bus=bus,cache=8KiB,ways=2,line=64,replacement=lru

run() { timeout -k 1 60 "$peet" run --quiet "$@"; }

# structure FILE NAME KEY...: a figure of the structure of this name
structure() {
    python3 - "$@" <<'PY'
import json, sys
found = [s for s in json.load(open(sys.argv[1]))["dtrack"]["structures"] if s["name"] == sys.argv[2]]
if len(found) != 1:
    sys.exit("%s: %d structures called %s" % (sys.argv[1], len(found), sys.argv[2]))
value = found[0]
for key in sys.argv[3:]:
    value = value[int(key) if key.isdigit() else key]
print(value)
PY
}

# total FILE: every sum over structures is what the machine has counted; bus only
total() {
    python3 - "$1" <<'PY' || fail "$1: sums over structures are not the machine's totals"
import json, sys
stats = json.load(open(sys.argv[1]))
d, bus = stats["dtrack"], stats["bus"]["totals"]
parts = d["structures"] + [d["instruction_fetches"], d["page_walks"]]
wrong = 0
def same(what, a, b):
    global wrong
    if a != b:
        print("%s: %d, the machine %d" % (what, a, b))
        wrong = 1
def level(key):
    return sum(p["levels"][0][key] for p in parts)
for key in "reads", "writes", "stall_cycles":
    same(key, sum(p[key] for p in parts), bus[key])
    same(key + " (total)", d["totals"][key], bus[key])
for key, other in ("misses", "misses"), ("read_misses", "read_misses"), ("upgrades", "write_hits_on_bus"), ("evicted_lines", "evictions_lines"), \
        ("invalidated_lines", "invalidations_received_lines"):
    expected = bus[other] + (bus.get("fetch_misses", 0) if key == "read_misses" else 0)
    same(key, level(key), expected)
    same(key + " (total)", d["totals"]["levels"][0][key], expected)
kinds = bus.get("misses_by_kind", {})
for kind in kinds:
    same(kind, sum(p["levels"][0]["misses_by_cause"].get(kind, 0) for p in parts), kinds[kind])
pairs = sum(p["count"] for p in d["premature_evictions"])
same("pairs", pairs, level("premature_evictions_by_same") + level("premature_evictions_by_other"))
sys.exit(wrong)
PY
}
