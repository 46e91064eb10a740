# SPDX-License-Identifier: Apache-2.0
# Programs whose figures follow from their text: misses, patterns, containers, who drives out whom.
. "$(dirname "$0")/lib.sh"
must "$peetcc" -O2 -g -fno-vectorize -fno-slp-vectorize -o kernels "$here/kernels.c"
for kernel in walk columns list hash conflict allocator reuse; do
    run --machine $bus --observe dtrack -d $kernel -- ./kernels $kernel >out.txt || fail "$kernel"
done
f() { structure "$1/stats.json" "${@:2}"; }

# 64 KiB, 64 bytes a line, through a cache of 8: each pass misses on each line, once
equal "walk: reads" "$(f walk matrix writes)" $((4 * 64 * 128))
equal "walk: misses" "$(f walk matrix levels 0 misses)" $((4 * 64 * 128 * 8 / 64))
equal "walk: pattern" "$(f walk matrix pattern)" regular
equal "walk: container" "$(f walk matrix container)" array
equal "walk: element" "$(f walk matrix element_bytes)" 8
equal "walk: size" "$(f walk matrix bytes)" 65536
# by columns each access is to another line, 64 lines in 4 sets of 2: none is there the next time
equal "columns: misses" "$(f columns matrix levels 0 read_misses)" $((4 * 64 * 128))
equal "columns: pattern" "$(f columns matrix pattern)" regular

# nodes of a cache line and more each, shuffled: the list is walked in no order
equal "list: objects" "$(f list node objects)" 4000
equal "list: peak" "$(f list node bytes_peak)" $((4000 * 64))
equal "list: container" "$(f list node container)" "linked records"
equal "list: pattern" "$(f list node pattern)" irregular
equal "list: type" "$(f list node type)" "struct node"
equal "hash: container" "$(f hash entry container)" "linked records"
equal "hash: pattern" "$(f hash buckets pattern)" irregular
equal "hash: buckets" "$(f hash buckets bytes)" 4096

# chunks of a hundred nodes: an array each, walked from back to front
equal "allocator: objects" "$(f allocator chunk objects)" 40
equal "allocator: size" "$(f allocator chunk bytes)" $((4000 * 64))

# one place, two structures in turn
equal "reuse: numbers" "$(f reuse numbers writes)" $((50 * 512))
equal "reuse: bytes" "$(f reuse bytes writes)" $((50 * 4096))
equal "reuse: live" "$(f reuse numbers bytes_live)" 0
equal "reuse: peak" "$(f reuse numbers bytes_peak)" 4096
equal "reuse: all ever" "$(f reuse bytes bytes)" $((50 * 4096))

# direct-mapped, the same sets: each drives out the other, each time, and only the other
run --machine bus,cache=8KiB,ways=1,line=64 --observe dtrack -d direct -- ./kernels conflict >out.txt || fail "conflict"
equal "conflict: misses" "$(f direct right levels 0 misses)" $((4 * 1024))
equal "conflict: by another" "$(f direct right levels 0 premature_evictions_by_other)" $((4 * 1024 - 1024 / 8))
equal "conflict: by itself" "$(f direct right levels 0 premature_evictions_by_same)" 0
equal "conflict: victims" "$(python3 -c '
import json
for p in json.load(open("direct/stats.json"))["dtrack"]["premature_evictions"]:
    if p["count"] > 1000: print(p["victim"], p["evictor"], end=" ")' | tr ' ' '\n' | sort -u | tr '\n' ' ')" "one right "
exit 0
