# SPDX-License-Identifier: Apache-2.0
# Two threads take turns at a line: what a turn takes grows as the configured round trip does.  In each turn a thread reads
# what the other has written, which the other's cache sends, and then takes the right to write it.  Threads whose
# words share a line without being shared pay for it; padding them apart makes that vanish.
. "$(dirname "$0")/lib.sh"
cat >turns.c <<'END'
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <x86intrin.h>
enum { TURNS = 400 };
static _Atomic long turn __attribute__((aligned(64)));
static void *play(void *arg)
{
    long me = (long)arg;
    for (int i = 0; i < TURNS; i++) {
        while (atomic_load_explicit(&turn, memory_order_acquire) != me)
            ;
        atomic_store_explicit(&turn, 1 - me, memory_order_release);
    }
    return NULL;
}
int main(void)
{
    pthread_t t;
    pthread_create(&t, NULL, play, (void *)1);
    uint64_t begin = __rdtsc();
    play((void *)0);
    pthread_join(t, NULL);
    printf("%.2f\n", (double)(__rdtsc() - begin) / (2 * TURNS));
    return 0;
}
END
cat >counters.c <<'END'
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
static volatile long counters[64] __attribute__((aligned(64)));
static void *count(void *arg)
{
    for (int i = 0; i < 2000; i++)
        ++*(volatile long *)arg;
    return NULL;
}
int main(int argc, char **argv)
{
    int apart = atoi(argv[1]);
    pthread_t t[4];
    for (int i = 0; i < 4; i++)
        pthread_create(&t[i], NULL, count, (void *)&counters[i * apart]);
    for (int i = 0; i < 4; i++)
        pthread_join(t[i], NULL);
    printf("%ld\n", counters[0]);
    return 0;
}
END
must "$peetcc" -O2 -pthread -o turns turns.c
must "$peetcc" -O2 -pthread -o counters counters.c
machine=x86,preset=none,topology=ideal,translation=off,l1i_prefetch=none,l1d_prefetch=none,l2_prefetch=none,dram_refresh=off

# turn CORE SNOOP L3: cycles
turn() {
    run out -n 2 --machine "$machine,core=$1,snoop_cycles=$2,l3_cycles=$3" -- ./turns
    cat out.out
}
for core in simple ooo; do
    base=$(turn $core 20 50) far=$(turn $core 220 50) slow=$(turn $core 20 250)
    echo "$core: a turn of $base cycles; $far with snoop_cycles + 200, $slow with l3_cycles + 200"
    # read from the other's cache, then write what the other has a copy of: both ask the other
    near "$core: two answers of the other core in a turn" "$(awk -v a="$far" -v b="$base" 'BEGIN { print a - b }')" 400 15
    awk -v a="$slow" -v b="$base" 'BEGIN { exit !(a - b > 200 && a - b < 500) }' || fail "$core: the way to the directory and back counts $slow - $base"
    awk -v b="$base" 'BEGIN { exit !(b >= 2 * 20 + 50 && b < 2 * (20 + 50) + 60) }' || fail "$core: a turn of $base cycles"
done

run together -n 5 --machine "$machine" -- ./counters 1
run apart -n 5 --machine "$machine" -- ./counters 8
[ "$(of together x86.memory.l1d.invalidations)" -gt 2000 ] || fail "no line is fought for"
[ "$(of apart x86.memory.l1d.invalidations)" -lt 200 ] || fail "lines are fought for though they are apart"
[ "$(of together time.cycles)" -gt $((2 * $(of apart time.cycles))) ] || fail "false sharing costs nothing"
