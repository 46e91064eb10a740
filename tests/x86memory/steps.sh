# SPDX-License-Identifier: Apache-2.0
# A pointer chase, timed by the program itself with rdtsc, shows the configured latency of each level, and the reach and
# price of translation: each size is in one level or in none (true LRU, the same cycle twice).
. "$(dirname "$0")/lib.sh"
cat >chase.c <<'END'
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <x86intrin.h>
int main(int argc, char **argv)
{
    size_t n = strtoul(argv[1], NULL, 10), stride = strtoul(argv[2], NULL, 10);
    char *base = aligned_alloc(4096, (n * stride + 4095) / 4096 * 4096);
    size_t *order = malloc(n * sizeof *order);
    uint64_t seed = 7;
    for (size_t i = 0; i < n; i++)
        order[i] = i;
    for (size_t i = n - 1; i > 0; i--) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        size_t j = (seed >> 33) % (i + 1), t = order[i];
        order[i] = order[j];
        order[j] = t;
    }
    for (size_t i = 0; i < n; i++)
        *(void **)(base + order[i] * stride) = base + order[(i + 1) % n] * stride;
    void **p = (void **)base;
    for (size_t i = 0; i < n; i++)
        p = *p;
    uint64_t begin = __rdtsc();
    size_t steps = n < 20000 ? 20000 / n * n : n;
    for (size_t i = 0; i < steps; i++)
        p = *p;
    uint64_t end = __rdtsc();
    printf("%.2f\n", (double)(end - begin) / (double)steps + (p == (void **)base ? 0 : 1e9));
    return 0;
}
END
must "$peetcc" -O2 -o chase chase.c
quiet=preset=none,l1i_prefetch=none,l1d_prefetch=none,l2_prefetch=none,dram_refresh=off,topology=ideal
caches=l1d_bytes=8KiB,l1d_ways=8,l2_bytes=64KiB,l2_ways=8,l3_slice_bytes=512KiB,l3_ways=16,l3_policy=inclusive
times=l1d_cycles=6,l2_cycles=17,l3_cycles=53,dram_channels=1,dram_overhead_cycles=40,dram_cas_cycles=31,dram_activate_cycles=32
times=$times,dram_precharge_cycles=33,dram_row_active_cycles=34,dram_burst_cycles=7

# step NODES STRIDE SETTINGS: cycles of a step
step() {
    run out -n 1 --machine "x86,$quiet,$3" -- ./chase "$1" "$2"
    cat out.out
}
for core in ooo inorder simple; do
    all=$caches,$times,translation=off,core=$core
    first=
    for size in 64:6 512:17 4096:53; do
        got=$(step "${size%:*}" 64 "$all")
        first=${first:-$got}
        if [ $core = simple ]; then # a hit is part of the instruction's cycle
            near "$core: $((${size%:*} / 16)) KiB" "$got" "$(awk -v f="$first" -v e="${size#*:}" 'BEGIN { print f + e - 6 }')" 3
        else
            near "$core: $((${size%:*} / 16)) KiB" "$got" "${size#*:}" 6
        fi
    done
done
# DRAM: rows are seldom open still
near "DRAM" "$(step 32768 64 "$caches,$times,translation=off")" $((53 + 40 + 31 + 32 + 33 + 7)) 5
# pages: within the first buffer, within the second, in none (one read of the last level, in L1D)
pages=translation=on,levels=l1l2,l1d_bytes=1MiB,l1d_ways=16,l2_bytes=4MiB,dtlb_entries=32,dtlb_ways=4,stlb_entries=256,stlb_ways=8,stlb_cycles=9
near "32 pages" "$(step 32 4160 "$pages,l1d_cycles=5")" 5 10
near "200 pages" "$(step 200 4160 "$pages,l1d_cycles=5")" $((5 + 9)) 5
near "2000 pages" "$(step 2000 4160 "$pages,l1d_cycles=5")" $((5 + 9 + 5)) 5
near "2000 places in large pages" "$(step 2000 4160 "$pages,l1d_cycles=5,page_bytes=2MiB")" 5 5
