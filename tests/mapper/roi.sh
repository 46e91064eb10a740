# SPDX-License-Identifier: Apache-2.0
# --roi=only: modules see what lies in regions of interest, as they would have seen it in a whole run; nothing else.
. "$(dirname "$0")/lib.sh"
cat >regions.c <<'END'
#include <peet/roi.h>
#include <pthread.h>
#include <stdio.h>
static long table[4096];
#define WORK(name)                                      \
    __attribute__((noinline)) static long name(long n)  \
    {                                                   \
        long s = 0;                                     \
        for (long i = 0; i < n; i++) {                  \
            table[i & 4095] += i;                       \
            s ^= table[(i * 7) & 4095];                 \
        }                                               \
        return s;                                       \
    }
WORK(before) WORK(inside) WORK(between) WORK(behind) WORK(thread)
__attribute__((noinline)) static long sum(void)
{
    long s = 0;
    for (int i = 0; i < 4096; i++)
        s += table[i];
    return s;
}
static void *run(void *arg)
{
    return (void *)thread((long)arg);
}
int main(void)
{
    pthread_t id;
    void *got;
    long s = before(3000) + sum();
    peet_roi_begin();
    s += inside(1000);
    peet_roi_end();
    s += between(2000) + sum();
    peet_roi_begin();
    pthread_create(&id, 0, run, (void *)500);
    pthread_join(id, &got);
    s += inside(1500);
    peet_roi_end();
    s += behind(4000) + sum() + (long)got;
    printf("%ld\n", s);
    return 0;
}
END
must "$peetcc" -O2 -pthread -o regions regions.c
must ./regions >want
for machine in ideal bus; do
    for cores in 1 3; do
        for roi in all only; do
            must "$peet" run -q --machine $machine --cores $cores --roi=$roi --observe counts -d $roi -- ./regions >got
            cmp want got || fail "output"
            for what in instructions reads writes; do
                value -r $roi/stats.json counts.functions name $what >$roi.$what
            done
        done
        for what in instructions reads writes; do
            equal "$machine $cores: total $what" "$(value only/stats.json totals.$what)" "$(value all/stats.json totals.$what)"
            equal "$machine $cores: $what of the regions" "$(value only/stats.json roi.$what)" "$(value all/stats.json roi.$what)"
            equal "$machine $cores: what the observer saw, $what" "$(awk '{ s += $NF } END { printf "%d", s }' only.$what)" "$(value only/stats.json roi.$what)"
            for name in inside thread; do
                equal "$name, $what" "$(grep "^$name	" only.$what)" "$(grep "^$name	" all.$what)"
            done
            ! grep -E '^(before|between|behind|sum)	' only.$what || fail "$machine: seen outside"
        done
        [ $machine = ideal ] || [ "$(value only/stats.json bus.totals.reads)" -lt "$(value all/stats.json bus.totals.reads)" ] ||
            fail "the bus machine has seen what lies outside"
        [ $machine = bus ] || equal "time on ideal" "$(value only/stats.json time.cycles)" "$(value all/stats.json time.cycles)"
    done
done
# A loop that is not seen right at the beginning, before time has gone by.
cat >early.c <<'END'
#include <peet/roi.h>
static float a[4096];
static long b[4096];
int main(void)
{
    for (int i = 0; i < 4096; i++)
        a[i] += (float)b[i];
    peet_roi_begin();
    peet_roi_end();
    return 0;
}
END
must "$peetcc" -O2 -o early early.c
must "$peet" run --roi=only -q --machine bus -d only -- ./early
must "$peet" run --roi=all -q --machine bus -d all -- ./early
equal "early: instructions" "$(value only/stats.json totals.instructions)" "$(value all/stats.json totals.instructions)"
echo 'int table[9]; int main(void) { return table[3]; }' >none.c
must "$peetcc" -g -o none none.c
must "$peet" run --roi=only -q -d out -- ./none 2>said
grep -q 'marked no region' said || fail "a program without regions"
must "$peet" run --roi=only --machine bus --perfect table -q -d out -- ./none 2>said
grep -q 'marked no region' said || fail "a program without regions, with perfect memory: $(cat said)"
if "$peet" run --roi=some -q -d out -- ./none 2>said; then fail "--roi=some"; fi
grep -q 'all|only' said || fail "--roi=some: $(cat said)"
