# SPDX-License-Identifier: Apache-2.0
# A machine of a hundred lines, made of the toolkit's parts, with one compiler call outside the tree: it runs programs, and
# its counters are what can be worked out.
. "$(dirname "$0")/lib.sh"
write_walk
module third
must "$peet" sims ./third.so >listed
grep -q '^  l2_cycles ' listed || fail "parameters of the machine"
lines=8192 few=600

run once --machine ./third.so -- ./walk
equal "the program's output" "$(cat once.out)" "$(./walk)"
within "L1 misses" "$(of once third cores.0.l1_misses)" $((2 * lines)) $((2 * lines + few))
within "L2 misses" "$(of once third l2_misses)" $lines $((lines + few))
equal "DRAM reads" "$(of once third dram_reads)" "$(of once third l2_misses)"
within "page walks" "$(of once third cores.0.page_walks)" 128 170
# a smaller second level holds none of it when it comes round again (RRIP: some)
run small --machine ./third.so,l2=64KiB -- ./walk
within "L2 misses, small" "$(of small third l2_misses)" $((lines * 3 / 2)) $((2 * lines + few))
# time: what the misses cost is in it
within "cycles" "$(value once/stats.json time.cycles)" $((131072 * 4 + lines * 100)) $((131072 * 12 + 2 * lines * 400))

run four -n 4 --machine ./third.so -- ./walk 4
for core in 1 2 3; do
    within "lines lost by core $core" "$(of four third cores.$core.lost_lines)" 100 20000
done
must mv four first
run four -n 4 --machine ./third.so -- ./walk 4
for run in four first; do # but for the time of the host
    jq . $run/stats.json >$run.json || fail "$run"
done
same four.json first.json "two runs"
