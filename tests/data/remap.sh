# SPDX-License-Identifier: Apache-2.0
# Another layout by remapping against the program that was compiled with that layout: the same misses, reads and writes.
. "$(dirname "$0")/lib.sh"
cat >layout.c <<'END'
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#ifdef PADDED
struct __attribute__((aligned(64))) slot { volatile long n; };
#else
struct slot { volatile long n; };
#endif
static struct slot counters[8];
struct slot *volatile heap_counters;
static void *work(void *arg)
{
    struct slot *own = heap_counters;
    for (int i = 0; i < 5000; i++) {
        counters[(long)arg].n = i;
        own[(long)arg].n = i;
    }
    return NULL;
}
int main(void)
{
    pthread_t t[4];
    heap_counters = aligned_alloc(64, 8 * sizeof *heap_counters);
    for (long i = 0; i < 4; i++) pthread_create(&t[i], NULL, work, (void *)i);
    for (int i = 0; i < 4; i++) pthread_join(t[i], NULL);
    return 0;
}
END
must "$peetcc" -O2 -g -pthread -o near layout.c
must "$peetcc" -O2 -g -pthread -DPADDED -o far layout.c
bus() { # bus DIR [OPTION...] -- PROG: reads, writes, misses, and the time
    local dir=$1
    shift
    must "$peet" run -q --cores 4 --machine bus -d "$dir" "$@"
    echo "$(value "$dir/stats.json" bus.totals.reads) $(value "$dir/stats.json" bus.totals.writes) $(value "$dir/stats.json" bus.totals.misses)"
}
bus as_near -- ./near >near.txt
bus as_far -- ./far >far.txt
cmp -s near.txt far.txt && fail "padding makes no difference to the bus: $(cat far.txt)"
bus padded --remap pad=counters:64 --remap pad=heap_counters:64 -- ./near >padded.txt
same padded.txt far.txt "padded by remapping and by the compiler"
bus strided --remap stride=counters:8:64 --remap align=counters:64 --remap stride=work.heap_counters:8:64 --remap align=heap_counters:64 -- ./near >strided.txt 2>log && fail "a name that nothing has was taken"
grep -q "did you mean" log || fail "no help: $(cat log)"
bus strided --remap stride=counters:8:64 --remap align=counters:64 --remap stride=heap_counters:8:64 --remap align=heap_counters:64 -- ./near >strided.txt
same strided.txt far.txt "far apart by remapping and by the compiler"
bus unpadded --remap 'pad=no such*:64' --remap pad=counters:64 -- ./near >log 2>&1 && fail "a pattern that nothing matches was taken"

# what has moved is still known by its name
for option in pad=counters:64 stride=counters:8:72 base=counters:0x512345678900 align=counters:4096; do
    observe moved --remap "$option" -- ./near
    has moved global counters bytes 64 references 20000 members '.n=20000 ' || fail "$option"
    has moved heap heap_counters references 20000
done

# rows of a matrix further apart: as compiled with longer rows
cat >matrix.c <<'END'
#include <string.h>
volatile double m[64][ROW];
static char from[4000], to[4000];
int main(void)
{
    double s = 0;
    for (int r = 0; r < 4; r++)
        for (int k = 0; k < 64; k++)
            for (int i = 0; i < 64; i++) {
                m[i][k] = i;
                s += m[i][k];
            }
    memcpy(to, from, sizeof to);
    return s == 1;
}
END
must "$peetcc" -O1 -g -DROW=64 -o short matrix.c
must "$peetcc" -O1 -g -DROW=72 -o long matrix.c
bus as_short --machine bus,cache=8KiB --cores 1 -- ./short >short.txt
bus as_long --machine bus,cache=8KiB --cores 1 -- ./long >long.txt
bus moved --machine bus,cache=8KiB --cores 1 --remap stride=m:512:576 --remap align=m:64 -- ./short >moved.txt
cmp -s short.txt long.txt && fail "longer rows make no difference"
read -r reads writes misses <moved.txt
read -r reads2 writes2 misses2 <long.txt
equal reads "$reads" "$reads2"
equal writes "$writes" "$writes2"
# the arrays beside it lie elsewhere, which may cost a few lines
[ $((misses > misses2 ? misses - misses2 : misses2 - misses)) -le 8 ] || fail "$misses misses, $misses2 with longer rows"

# operations on ranges in pieces: each byte is copied once
observe plain -- ./short
observe pieces --remap pad=from:64 --remap stride=to:4:16 -- ./short
for name in from to; do
    bytes=$(field plain global $name references)
    [ "$bytes" = 500 ] || fail "$name: $bytes references of 8 bytes, of 4000 in all"
done
has pieces global to references 4000 # pieces of one byte, as from has elements of one byte

# a range of addresses in place of a name
must "$peetcc" -O1 -g -DROW=64 -no-pie -o fixed matrix.c
address=$("$peet" schema --json ./fixed >fixed.json; "$PEET_PREFIX/tests/json-get" -r fixed.json globals name address | awk '$1 == "m" { print $2 }')
bus ranged --machine bus,cache=8KiB --cores 1 --remap "stride=$address+32768:512:576" --remap "align=$address+32768:64" -- ./fixed >ranged.txt
read -r reads writes misses <ranged.txt
[ $((misses > misses2 ? misses - misses2 : misses2 - misses)) -le 8 ] || fail "by address: $misses misses, $misses2 with longer rows"
