# SPDX-License-Identifier: Apache-2.0
# Another layout by remapping against the program that was compiled with that layout: the same misses, reads and writes.
export PEET_FOREIGN=ranges # what the allocator does depends on the sizes of blocks, which the two layouts differ in
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
(bus strided --remap stride=counters:8:64 --remap align=counter:64 -- ./near) >log 2>&1 && fail "a name that nothing has was taken"
grep -q "did you mean 'counters'" log || fail "no help: $(cat log)"
bus strided --remap stride=counters:8:64 --remap align=counters:64 --remap stride=heap_counters:8:64 --remap align=heap_counters:64 -- ./near >strided.txt
same strided.txt far.txt "far apart by remapping and by the compiler"
(bus unpadded --remap 'pad=no such*:64' --remap pad=counters:64 -- ./near) >log 2>&1 && fail "a pattern that nothing matches was taken"

# what has moved is still known by its name
for option in pad=counters:64 stride=counters:8:72 base=counters:0x512345678900 align=counters:4096; do
    observe moved --remap "$option" -- ./near
    has moved global counters bytes 64 references 20000 members '.n=20000 '
    has moved heap heap_counters references 20000
done

# rows of a matrix further apart: as compiled with longer rows
cat >matrix.c <<'END'
volatile double m[64][ROW];
int main(void)
{
    double s = 0;
    for (int r = 0; r < 4; r++)
        for (int k = 0; k < 64; k++)
            for (int i = 0; i < 64; i++) {
                m[i][k] = i;
                s += m[i][k];
            }
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
cat >copy.c <<'END'
#include <string.h>
char from[4000];
int to[1000];
__attribute__((noinline)) static void copy(void *d, const void *s, size_t n) { memcpy(d, s, n); __asm__ volatile("" ::: "memory"); }
int main(int argc, char **argv) { copy(to, from, 3999 + argc); return 0; }
END
must "$peetcc" -O1 -g -o copy copy.c
observe plain -- ./copy
observe pieces --remap pad=from:64 --remap stride=to:4:16 -- ./copy
for name in from to; do
    has plain global $name references 500  # of 8 bytes
    has pieces global $name references 4000 # one by one, since elements of from have one byte
done
observe words --remap stride=to:4:16 -- ./copy
has words global from references 4000 # tails of pieces of 4 bytes are referenced byte by byte
observe shifted --remap base=to:0x500000000000 -- ./copy
has shifted global to references 500

# a range of addresses in place of a name
must "$peetcc" -O1 -g -DROW=64 -no-pie -o fixed matrix.c
address=$("$peet" schema --json ./fixed >fixed.json; "$PEET_PREFIX/tests/json-get" -r fixed.json globals name address | awk '$1 == "m" { print $2 }')
bus ranged --machine bus,cache=8KiB --cores 1 --remap "stride=$address+32768:512:576" --remap "align=$address+32768:64" -- ./fixed >ranged.txt
read -r reads writes misses <ranged.txt
[ $((misses > misses2 ? misses - misses2 : misses2 - misses)) -le 8 ] || fail "by address: $misses misses, $misses2 with longer rows"
