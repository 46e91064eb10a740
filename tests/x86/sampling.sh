#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Sampled timing: time is close to that of a run in detail (within the error that it gives and 6 % more); what does not depend on time is
# the same; windows without gaps are a run in detail.
. "$(dirname "$0")/lib.sh"
cat >kernels.c <<'END'
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
enum { LINES = 1 << 15, WORDS = 8 };
static struct { unsigned long next, word[WORDS - 1]; } line[LINES];
static unsigned long table[1 << 18], sum;
static unsigned random_state = 12345;
static unsigned random_next(void) { return random_state = random_state * 1103515245 + 12345; }
static void stream(int n) { for (int i = 0; i < n; i++) for (int k = 0; k < 1 << 16; k++) sum += table[k] + (unsigned)k; }
static void chase(int n)
{
    static unsigned order[LINES];
    for (unsigned i = 0; i < LINES; i++)
        order[i] = i;
    for (unsigned i = LINES - 1; i; i--) {
        unsigned k = (random_next() >> 8) % i, swap = order[i];
        order[i] = order[k];
        order[k] = swap;
    }
    for (unsigned i = 0; i < LINES; i++)
        line[order[i]].next = order[(i + 1) % LINES];
    for (unsigned long i = 0, at = 0; i < (unsigned long)n * 40000; i++)
        sum += at = line[at].next;
}
static void counts(int n) { for (int i = 0; i < n * 60000; i++) table[random_next() >> 14] += (unsigned)i; }
static int compare(const void *a, const void *b) { return *(const unsigned *)a < *(const unsigned *)b ? -1 : 1; }
static void sort(int n)
{
    static unsigned number[20000];
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < 20000; k++)
            number[k] = random_next();
        qsort(number, 20000, sizeof *number, compare);
        sum += number[77];
    }
}
static void strings(int n)
{
    static char text[1 << 16], copy[1 << 16];
    for (int i = 0; i < n * 20; i++) {
        size_t bytes = random_next() >> 16;
        memset(text, i, bytes);
        memcpy(copy, text, bytes);
        for (size_t k = 0; k < bytes; k += 8)
            sum += (unsigned char)copy[k];
    }
}
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t barrier;
static double cell[4][4096];
static int rounds;
static void *work(void *arg)
{
    double *mine = cell[(long)arg], *next = cell[((long)arg + 1) % 4];
    for (int i = 0; i < rounds; i++) {
        for (int k = 1; k < 4095; k++)
            mine[k] = (mine[k - 1] + mine[k + 1] + next[k]) * 0.3;
        pthread_mutex_lock(&mutex);
        sum++;
        pthread_mutex_unlock(&mutex);
        pthread_barrier_wait(&barrier);
    }
    return NULL;
}
static void threads(int n)
{
    pthread_t thread[4];
    rounds = n * 6;
    pthread_barrier_init(&barrier, NULL, 4);
    for (long i = 0; i < 4; i++)
        pthread_create(&thread[i], NULL, work, (void *)i);
    for (int i = 0; i < 4; i++)
        pthread_join(thread[i], NULL);
}
int main(int argc, char **argv)
{
    static const struct { const char *name; void (*run)(int); } kernels[] = {{"stream", stream}, {"chase", chase}, {"counts", counts},
        {"sort", sort}, {"strings", strings}, {"threads", threads}};
    for (unsigned i = 0; argc > 2 && i < sizeof kernels / sizeof *kernels; i++)
        if (!strcmp(argv[1], kernels[i].name))
            kernels[i].run(atoi(argv[2]));
    printf("%lu\n", sum);
    return 0;
}
END
must "$peetcc" -O2 -pthread -o kernels kernels.c

figures() { "$json_get" out/stats.json "$@"; }
# what does not depend on time, with one core
timeless() {
    figures totals.instructions x86.cores.loads x86.cores.stores x86.cores.branches.conditional x86.cores.branches.conditional_wrong \
        x86.cores.branches.returns_wrong
}
# is_close WHAT MORE: the run before has the time $whole, within the error that it gives and MORE per cent; all instructions are either
# detailed or estimated, and these are set
is_close() {
    detailed=$(figures x86.sampling.detailed_instructions)
    estimated=$(figures x86.sampling.estimated_instructions)
    [ "$((detailed + estimated))" = "$(figures x86.cores.instructions)" ] || fail "$1: some instructions are neither"
    awk -v k="$1" -v a="$whole" -v b="$(figures time.cycles)" -v e="$(figures x86.sampling.error_percent)" -v more="$2" 'BEGIN {
        off = 100 * (b / a - 1)
        printf "%-12s %10d cycles in detail, sampled %10d: %+.2f %%, said to be within %.2f %%\n", k, a, b, off, e
        exit !(e > 0 && e < 25 && (off < 0 ? -off : off) < e + more)
    }' || fail "$1: too far off"
}
while read -r kernel n cores; do
    options="--cores $cores"
    run preset=zen4 ./kernels "$kernel" "$n"
    whole=$(figures time.cycles)
    timeless >expected
    cp said expected.said
    run preset=zen4,sample_period=20000 ./kernels "$kernel" "$n"
    cmp -s said expected.said || fail "$kernel: the program said something else"
    if [ "$cores" = 1 ]; then
        timeless | cmp -s - expected || { timeless | diff - expected; fail "$kernel: differs in what does not depend on time"; }
    fi
    is_close "$kernel" 6
    [ $((detailed * 2)) -lt $((detailed + estimated)) ] || fail "$kernel: $detailed of $((detailed + estimated)) in detail"
done <<'LIST'
stream 60 1
chase 40 1
counts 6 1
counts 12 1
sort 4 1
strings 8 1
threads 15 4
LIST

# far from windows: time is close as well; predictors have foreseen the same, one by one, and caches have had the same misses where no prefetcher
# waits for hits
plain=preset=zen4,l1d_prefetch=none,l2_prefetch=none,l1i_prefetch=none,translation=off
caches() {
    figures totals.instructions x86.cores.instructions x86.cores.micro_ops x86.cores.loads x86.cores.stores x86.memory.l1d.evictions \
        x86.memory.l1d.write_backs x86.memory.l1d.read_misses x86.memory.l1d.write_misses x86.cores.branches.conditional \
        x86.cores.branches.conditional_wrong x86.cores.branches.indirect x86.cores.branches.indirect_wrong \
        x86.cores.branches.returns_wrong x86.cores.branches.target_unknown x86.cores.branches_mispredicted
}
# ... of several cores, which are rolled back
executed() {
    figures totals.instructions x86.cores.instructions x86.cores.micro_ops x86.cores.loads x86.cores.stores x86.cores.branches.conditional \
        x86.cores.branches.indirect x86.cores.branches.returns
}
while read -r kernel n cores; do
    options="--cores $cores"
    same=caches
    [ "$cores" = 1 ] || same=executed
    run "$plain" ./kernels "$kernel" "$n"
    whole=$(figures time.cycles)
    $same >expected
    cp said expected.said
    run "$plain,sample_period=40000,sample_near=5000" ./kernels "$kernel" "$n"
    cmp -s said expected.said || fail "$kernel, far: the program said something else"
    $same | cmp -s - expected || { $same | diff - expected; fail "$kernel, far: something else happened"; }
    [ "$(figures x86.sampling.far_instructions)" -gt 0 ] || fail "$kernel, far: nothing was"
    is_close "$kernel, far" 8 # so much work that a window in the program's end, which is unlike all else, does not decide
done <<'LIST'
stream 60 1
chase 40 1
counts 96 1
sort 4 1
threads 15 4
LIST

# the same in each run; another seed has other windows
options="--cores 4"
run preset=zen4,sample_period=10000 ./kernels threads 4
figures time.cycles x86.sampling.windows x86.sampling.measured_cycles >first
case $(figures x86.summary.not_in_that_error) in
"another order of threads (they share: "*" %)") ;;
*) fail "no word of another order of threads that share" ;;
esac
run preset=zen4,sample_period=10000 ./kernels threads 4
figures time.cycles x86.sampling.windows x86.sampling.measured_cycles | cmp -s - first || fail "two runs differ"
run preset=zen4,sample_period=40000,sample_near=1000 ./kernels threads 4
figures time.cycles x86.sampling.windows x86.sampling.far_instructions >near
run preset=zen4,sample_period=40000,sample_near=1000 ./kernels threads 4
figures time.cycles x86.sampling.windows x86.sampling.far_instructions | cmp -s - near || fail "two runs with sample_near differ"
[ "$(figures x86.sampling.far_instructions)" -gt 0 ] || fail "nothing was far from windows"
run preset=zen4,sample_period=40000,sample_near=1000,sample_branches=near ./kernels threads 4
figures time.cycles x86.sampling.windows x86.sampling.far_instructions | cmp -s - near && fail "sample_branches is of no account"
options="--cores 4 --seed 7"
run preset=zen4,sample_period=10000 ./kernels threads 4
figures time.cycles x86.sampling.windows x86.sampling.measured_cycles | cmp -s - first && fail "the seed is of no account"

# without gaps, windows are a run in detail
options="--cores 4"
for preset in zen4 skylake goldencove small; do
    run preset=$preset ./kernels threads 1
    whole=$(figures time.cycles)
    run preset=$preset,sample_period=3000 ./kernels threads 1
    [ "$(figures time.cycles)" = "$whole" ] || fail "$preset: windows without gaps take other times"
    [ "$(figures x86.sampling.estimated_instructions)" = 0 ] || fail "$preset: something was estimated"
done

# windows all of which count; and nobody shares
options="--cores 1"
run preset=zen4,sample_period=20000,sample_warm=0 ./kernels sort 2
figures x86.summary.not_in_that_error 2>/dev/null && fail "one thread shares with nobody"
[ "$(figures x86.config.sample_warm)" = 0 ] || fail "sample_warm=0 is $(figures x86.config.sample_warm)"
unmeasured=$(($(figures x86.sampling.detailed_instructions) - $(figures x86.sampling.measured_instructions)))
[ $unmeasured -ge 0 ] && [ $unmeasured -lt 1200 ] || fail "sample_warm=0: $unmeasured instructions in detail do not count" # of the last window

refused() {
    "$peet" run -q -d refused --machine "x86,$1" -- ./kernels sort 1 >said 2>errors && fail "x86,$1: was not refused"
    grep -q "$2" errors || { cat errors; fail "x86,$1: another message"; }
}
refused sample_period=20000,threads=2 "sample_period: only for"
refused sample_period=20000,core=simple "sample_period: only for"
refused sample_period=2000 "less than a window"
refused sample_near=2000 "before which windows"
echo "sampled timing: close, and what does not depend on time is the same"
