# SPDX-License-Identifier: Apache-2.0
# On the x86 machine: misses, evictions and prefetches by structure add up to the machine's own counters, level by level.
. "$(dirname "$0")/lib.sh"
must "$peetcc" -O2 -g -o compile "$examples/compile.c"
must "$peetcc" -O2 -g -o kernels "$here/kernels.c"
must "$peetcc" -O2 -g -pthread -o counters "$here/counters.c"
check() {
    python3 - "$1" <<'PY' || fail "$1: sums over structures are not the machine's"
import json, sys
stats = json.load(open(sys.argv[1]))
d, m = stats["dtrack"], stats["x86"]["memory"]
parts = d["structures"] + [d["instruction_fetches"], d["page_walks"]]
wrong = 0
def same(what, got, expected):
    global wrong
    if got != expected:
        print(what, got, "the machine:", expected)
        wrong = 1
def level(i, key):
    total = d["totals"]["levels"][i][key]
    same("total of level %d %s" % (i + 1, key), sum(p["levels"][i][key] for p in parts), total)
    return total
def machine(caches, *keys):
    return sum(m[c][k] for c in caches for k in keys)
first = ("l1d", "l1i")
same("L1 misses", level(0, "misses"), machine(first, "read_misses", "write_misses", "walk_misses"))
same("L1 upgrades", level(0, "upgrades"), machine(first, "upgrades"))
same("L1 evictions", level(0, "evicted_lines"), machine(first, "evictions", "recalls"))
same("L1 prefetches", level(0, "prefetched_lines"), machine(first, "prefetches"))
same("L2 misses", level(1, "misses"), machine(("l2",), "read_misses", "write_misses", "walk_misses"))
same("L2 evictions", level(1, "evicted_lines"), machine(("l2",), "evictions", "recalls"))
same("L3 misses", level(2, "misses") + level(2, "prefetched_lines"), machine(("l3",), "read_misses", "write_misses", "walk_misses"))
# what the core's stacks charge to memory beyond a hit; what a full store queue holds up is no single reference's
stacks = sum(stats["x86"]["stack_cycles"].get(k, 0) for k in ("l2", "l3", "dram", "coherence", "tlb"))
if not 0.8 * stacks <= d["totals"]["stall_cycles"] <= stacks:
    print("stall cycles", d["totals"]["stall_cycles"], "the core's stacks:", stacks)
    wrong = 1
same("stalls", sum(p["stall_cycles"] for p in parts), d["totals"]["stall_cycles"])
sys.exit(wrong)
PY
}
x86=x86,preset=skylake,l1d_bytes=8KiB,l1d_ways=2,l2_bytes=64KiB,l2_ways=4
run --machine $x86 --observe dtrack -d compiled -- ./compile 5 >out.txt || fail compile
check compiled/stats.json
for kernel in list conflict hash; do
    run --machine $x86 --observe dtrack -d $kernel -- ./kernels $kernel >out.txt || fail $kernel
    check $kernel/stats.json
done
run --cores 4 --machine $x86 --observe dtrack -d counted -- ./counters 5000 >out.txt || fail counters
check counted/stats.json
equal class "$(structure counted/stats.json counters sharing class)" false-shared
