# SPDX-License-Identifier: Apache-2.0
# Each example of the toolkit builds outside the tree with one compiler call, and says of a simple program what can be
# worked out: 64 Ki longs are 8192 lines, 128 pages, walked through twice.
. "$(dirname "$0")/lib.sh"
write_walk
lines=8192 pages=128 few=400
for source in "$PEET_SOURCE"/examples/toolkit/*.c; do
    module "$(basename "$source" .c)"
done

# Twice 512 KiB through 32 KiB: LRU and FIFO miss each line both times; 1 MiB: only once.
run small --observe ./cache.so,size=32KiB -- ./walk
run large --observe ./cache.so,size=1MiB,ways=16 -- ./walk
for policy in lru fifo; do
    within "$policy, small" "$(of small cache ${policy}_misses)" $((2 * lines)) $((2 * lines + few))
done
for policy in lru fifo random plru rrip; do
    within "$policy, large" "$(of large cache ${policy}_misses)" $lines $((lines + few))
done
# What keeps some of a cycle that does not fit does better.
run middle --observe ./cache.so,size=384KiB -- ./walk
within "lru, middle" "$(of middle cache lru_misses)" $((2 * lines)) $((2 * lines + few))
within "random, middle" "$(of middle cache random_misses)" $lines $((2 * lines * 9 / 10))

run tlb --observe ./tlb.so -- ./walk
within "walks, small pages" "$(of tlb tlb walks_4k)" $pages $((pages + 40))
within "walks, large pages" "$(of tlb tlb walks_2m)" 1 20

run none --observe ./prefetch.so,kind=none -- ./walk
run ahead --observe ./prefetch.so,kind=stream,lines=4 -- ./walk
within "misses without prefetch" "$(of none prefetch misses)" $((2 * lines)) $((2 * lines + few))
within "misses with a stream" "$(of ahead prefetch misses)" $((2 * 2 * pages)) $((2 * 4 * pages + few))
within "lines fetched and used" "$(of ahead prefetch used_lines)" $((2 * lines - 2 * 4 * pages)) "$(of ahead prefetch fetched_lines)"

# A loop branch of 64 Ki turns is foreseen but for its end.
run branch --observe ./branch.so -- ./walk
within "branches" "$(of branch branch branches)" 131072 200000
within "mispredicted" "$(of branch branch mispredicted)" 1 2000

# Four threads take turns at one line; each store of another costs a copy.
run directory -n 4 --observe ./directory.so,pointers=1 -- ./walk 4
within "full" "$(of directory directory full_invalidations)" 1000 20000
[ "$(of directory directory broadcast_invalidations)" -ge "$(of directory directory full_invalidations)" ] ||
    fail "broadcast sends less than what is needed"

run dram --machine ./dram.so,channels=2 -- ./walk
sum=$(($(of dram dram row_hits) + $(of dram dram row_empty) + $(of dram dram row_conflicts)))
equal "DRAM accesses" "$sum" $(($(of dram dram reads) + $(of dram dram writes)))
within "open rows" "$(of dram dram row_hits)" $((131072 * 8 / 10)) "$sum"

run network -n 4 --machine ./network.so,topology=ring -- ./walk
within "messages" "$(of network network messages)" $((2 * 131072)) $((2 * 131072 + 60000))
run snoop -n 4 --machine ./snoop.so -- ./walk 4
within "invalidations" "$(of snoop snoop invalidations)" 1000 20000
equal "the bus is busy for its transactions" "$(of snoop snoop busy_cycles)" $((6 * $(of snoop snoop transactions)))

# Hits that peet takes, and processors that run ahead: as one by one, where an observer wants to see each block.
for threads in 1 4; do
    run taken -n $threads --machine ./ahead.so -- ./walk $threads
    run one_by_one -n $threads --machine ./ahead.so --observe hash -- ./walk $threads
    for key in reads writes misses stall_cycles; do
        equal "$key with $threads" "$(of taken ahead $key)" "$(of one_by_one ahead $key)"
    done
    equal "time with $threads" "$(value taken/stats.json time.cycles)" "$(value one_by_one/stats.json time.cycles)"
done
run taken --machine ./ahead.so -- ./walk
within "misses of a processor alone" "$(of taken ahead misses)" $((2 * lines)) $((2 * lines + few))

# One register: every miss waits for the one before; with many, hardly any.
run one --machine ./buffers.so,registers=1 -- ./walk
run many --machine ./buffers.so,registers=32 -- ./walk
within "waits with one register" "$(of one buffers register_wait_cycles)" $((2 * lines * 50)) $((2 * lines * 100 + few * 100))
[ "$(of many buffers register_wait_cycles)" -lt $(($(of one buffers register_wait_cycles) / 10)) ] || fail "more registers do not help"

# The array with a line for each element: eight times the lines.
address=$(nm walk | awk '$3 == "a" { print "0x" $1 }')
run plain --observe ./remap.so,from=1,bytes=1,element=1,stride=1 -- ./walk
within "misses as it is" "$(of plain remap plain_misses)" $((2 * lines)) $((2 * lines + few))
moved=$(of plain remap moved)
within "nothing moves" "$moved" 0 0
if grep -q EXEC < <(readelf -h walk); then
    run padded --observe ./remap.so,from="$address",bytes=512KiB,element=8,stride=64 -- ./walk
    within "misses, padded" "$(of padded remap other_misses)" $((16 * lines)) $((16 * lines + few))
fi

# Libraries have string instructions, of which each turn counts as an instruction, but a block has them once.
run histogram --foreign=ranges --observe ./histogram.so --observe counts -- ./walk
equal "instructions" "$(of histogram histogram instructions)" "$(value histogram/stats.json totals.instructions)"
