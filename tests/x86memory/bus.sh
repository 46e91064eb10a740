# SPDX-License-Identifier: Apache-2.0
# Directory and bus agree: without time, on real multi-threaded programs, x86 with one level of caches and bus (Illinois is
# MESI) see the same misses, upgrades and invalidations, cache by cache, and so does MOESI.  The machines have
# nothing in common but the order of events, which both get since both count an instruction as a cycle.
. "$(dirname "$0")/lib.sh"

cat >queue.c <<'END'
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
enum { ITEMS = 600, SLOTS = 16 };
static int slots[SLOTS], head, tail;
static long done[4];
static atomic_long total;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t some = PTHREAD_COND_INITIALIZER, room = PTHREAD_COND_INITIALIZER;
static void *consume(void *arg)
{
    long me = (long)arg;
    for (;;) {
        pthread_mutex_lock(&lock);
        while (head == tail)
            pthread_cond_wait(&some, &lock);
        int item = slots[head++ % SLOTS];
        pthread_cond_signal(&room);
        pthread_mutex_unlock(&lock);
        if (item < 0)
            return NULL;
        for (int i = 0; i < item % 37; i++)
            done[me] += i; /* false sharing */
        atomic_fetch_add(&total, item);
    }
}
int main(void)
{
    pthread_t t[4];
    for (long i = 0; i < 4; i++)
        pthread_create(&t[i], NULL, consume, (void *)i);
    for (int i = 0; i < ITEMS + 4; i++) {
        pthread_mutex_lock(&lock);
        while (tail - head == SLOTS)
            pthread_cond_wait(&room, &lock);
        slots[tail++ % SLOTS] = i < ITEMS ? i : -1;
        pthread_cond_signal(&some);
        pthread_mutex_unlock(&lock);
    }
    for (int i = 0; i < 4; i++)
        pthread_join(t[i], NULL);
    printf("%ld %ld\n", atomic_load(&total), done[0] + done[1] + done[2] + done[3]);
    return 0;
}
END
must "$peetcc" -O2 -g -pthread -o queue queue.c
must "$peetcc" -O2 -g -o shallow "$PEET_SOURCE/examples/shallow/shallow.c" -lm
must "$peetcc" -O2 -g -o wavefront "$PEET_SOURCE/examples/doacross/wavefront.c" -lm

x86=x86,preset=none,core=simple,latency=off,levels=l1,translation=off,l1i_prefetch=none
bus=bus,hit_cycles=0,cpi=1,bus_address_cycles=0,bus_word_cycles=0,memory_latency_cycles=0,cache_latency_cycles=0
seen=0

# agree CORES SIZE LINE WAYS PROTOCOL(x86) PROTOCOL(bus) PROGRAM...
agree() {
    local cores=$1 size=$2 line=$3 ways=$4 of_x86=$5 of_bus=$6
    shift 6
    run one -n "$cores" --machine "$x86,l1d_bytes=$size,line_bytes=$line,l1d_ways=$ways,l1i_bytes=32KiB,protocol=$of_x86" -- "$@"
    run two -n "$cores" --machine "$bus,cache=$size,line=$line,ways=$ways,protocol=$of_bus" -- "$@"
    same one.out two.out "the program's output"
    equal "cycles of $*" "$(of one time.cycles)" "$(of two time.cycles)"
    local keys_one='l1d.read_misses l1d.write_misses l1d.upgrades l1d.invalidations l1d.evictions'
    local keys_two='read_misses write_misses write_hits_on_bus invalidations_received_lines evictions_lines'
    value -r one/stats.json x86.memory.cores $keys_one >one.tsv
    value -r two/stats.json bus.caches $keys_two >two.tsv
    same one.tsv two.tsv "caches of $* on $cores cores, $size, $of_x86"
    [ "$(awk '{ s += $1 + $2 } END { print (s > 100) }' one.tsv)" = 1 ] || fail "hardly a miss: $*"
    [ "$(awk '{ s += $4 } END { print (s > 30) }' one.tsv)" = 1 ] || fail "hardly an invalidation: $*"
    seen=$((seen + 1))
    echo "agreed: $* on $cores cores, $size, $of_x86: $(tr '\n' ';' <one.tsv)"
}
agree 5 32KiB 64 8 mesi illinois ./queue
agree 5 1KiB 32 2 mesi illinois ./queue
agree 4 4KiB 64 4 mesi illinois ./shallow 32 32 3
agree 8 3KiB 64 3 mesi illinois ./shallow 32 32 3
agree 8 4KiB 32 4 moesi moesi ./shallow 32 32 3
agree 4 2KiB 64 4 mesi illinois ./wavefront
agree 3 2KiB 16 1 moesi moesi ./queue
equal "runs compared" "$seen" 7
