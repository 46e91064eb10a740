# SPDX-License-Identifier: Apache-2.0
# Structures that are perfect cost no more than memory without caches would, whatever their lines go through: threads fight for
# a line of counters; with the counters perfect the run takes about as long as on flat memory, and the line moves as ever.
. "$(dirname "$0")/lib.sh"
cat >fight.c <<'END'
#include <pthread.h>
#include <stdio.h>
struct counter { long hits, misses; } counters[4];
static void *count(void *arg)
{
    struct counter *c = arg;
    for (int i = 0; i < 80000; i++) {
        c->hits++;
        if (i % 3 == 0)
            c->misses++;
        __asm__ volatile("" : : : "memory");
    }
    return NULL;
}
int main(void)
{
    pthread_t t[4];
    for (int i = 0; i < 4; i++)
        pthread_create(&t[i], NULL, count, &counters[i]);
    for (int i = 0; i < 4; i++)
        pthread_join(t[i], NULL);
    printf("%ld\n", counters[2].misses);
    return 0;
}
END
must "$peetcc" -O2 -g -pthread -o fight fight.c
for preset in skylake zen4; do
    run plain -n 4 --foreign=ranges --machine x86,preset=$preset -- ./fight
    run perfect -n 4 --foreign=ranges --perfect counters --machine x86,preset=$preset -- ./fight
    run flat -n 4 --foreign=ranges --machine x86,preset=$preset,memory=flat -- ./fight
    same plain.out perfect.out "the program's output"
    plain=$(of plain time.cycles) perfect=$(of perfect time.cycles) flat=$(of flat time.cycles)
    [ "$plain" -gt $((flat * 5 / 4)) ] || fail "$preset: false sharing costs nothing: $plain, $flat on flat memory"
    near "$preset: perfect against flat" "$perfect" "$flat" 10
    [ "$(of perfect x86.memory.l1d.invalidations)" -gt 1000 ] || fail "$preset: the lines of perfect data do not move"
done
