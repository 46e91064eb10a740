# SPDX-License-Identifier: Apache-2.0
# Threads that read memory of their own: one is bounded by its miss registers (Little's law), more of them by the
# channels of DRAM, which they do not exceed.
. "$(dirname "$0")/lib.sh"
cat >stream.c <<'END'
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <x86intrin.h>
enum { WORDS = 1 << 16 };
static uint64_t begin[16], end[16];
uint64_t last_seen[16][64] __attribute__((aligned(64)));
uint64_t data[16][WORDS + 512] __attribute__((aligned(4096)));
static pthread_barrier_t barrier;
static void *work(void *arg)
{
    long me = (long)arg;
    uint64_t *few = last_seen[me];
    pthread_barrier_wait(&barrier);
    begin[me] = __rdtsc();
    __asm__ volatile("" : : : "memory");
    for (size_t i = 0; i < WORDS; i += 8)
        few[i / 8 % 64] = data[me][i];
    __asm__ volatile("" : : : "memory"); /* not before the loop is over */
    end[me] = __rdtsc();
    return NULL;
}
int main(int argc, char **argv)
{
    int n = atoi(argv[1]);
    uint64_t first = UINT64_MAX, last = 0;
    pthread_t t[16];
    pthread_barrier_init(&barrier, NULL, (unsigned)n);
    for (long i = 0; i < n; i++)
        pthread_create(&t[i], NULL, work, (void *)i);
    for (int i = 0; i < n; i++) {
        pthread_join(t[i], NULL);
        first = begin[i] < first ? begin[i] : first;
        last = end[i] > last ? end[i] : last;
    }
    printf("%.3f\n", (double)n * WORDS * 8 / (double)(last - first));
    return 0;
}
END
must "$peetcc" -O2 -pthread -o stream stream.c
machine=x86,preset=none,translation=off,l1i_prefetch=none,l1d_prefetch=none,l2_prefetch=none,topology=ideal,dram_refresh=off
machine=$machine,l2_bytes=64KiB,l2_ways=8,l3_slice_bytes=64KiB,l3_busy_cycles=1,l1d_mshrs=10,l3_cycles=50,dram_overhead_cycles=100
machine=$machine,dram_cas_cycles=40,dram_activate_cycles=40,dram_precharge_cycles=40,dram_channels=2,dram_burst_cycles=16,window_uops=400,mcpu=skylake-avx512

most=8 # two channels, 64 bytes in 16 cycles each
for cores in 1 2 4 8; do
    run "out$cores" -n $((cores + 1)) --machine "$machine" -- ./stream $cores
    got[cores]=$(cat "out$cores.out")
    echo "$cores cores: ${got[cores]} bytes a cycle"
    awk -v g="${got[cores]}" -v m=$most 'BEGIN { exit !(g <= m * 1.01) }' || fail "$cores cores: ${got[cores]} bytes a cycle of $most"
done
# ten lines under way; each takes 50 + 100 + 40 + 16 cycles if its row is open
near "one core" "${got[1]}" "$(awk 'BEGIN { print 10 * 64 / (50 + 100 + 40 + 16) }')" 12
near "two cores" "${got[2]}" "$(awk -v g="${got[1]}" 'BEGIN { print 2 * g }')" 12
near "eight cores" "${got[8]}" $most 6
# with a stream prefetcher more is under way than there are L1D registers
run ahead -n 2 --machine "${machine/l2_prefetch=none/l2_prefetch=stream},l2_prefetch_lines=16" -- ./stream 1
awk -v g="$(cat ahead.out)" -v o="${got[1]}" 'BEGIN { exit !(g > 1.25 * o) }' || fail "the prefetcher does not help: $(cat ahead.out), ${got[1]} without"
