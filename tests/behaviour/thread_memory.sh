#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# thread_memory.sh [THREADS]: so many threads that all live at once need, beyond what they need plainly, at most 64 MiB
# and two pages each.
. "$(dirname "$0")/../tools/common.sh"
n=${1:-10000}
cd "$work" || exit 99
cat >many.c <<'C'
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
static pthread_barrier_t barrier;
static __thread long mine;
static long sum;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static void *wait_for_all(void *arg)
{
    mine = (long)arg;
    pthread_barrier_wait(&barrier);
    pthread_mutex_lock(&mutex);
    sum += mine;
    pthread_mutex_unlock(&mutex);
    return 0;
}
static long peak_kib(void)
{
    FILE *f = fopen("/proc/self/status", "r");
    char line[200];
    long kib = 0;
    while (fgets(line, sizeof line, f))
        sscanf(line, "VmHWM: %ld", &kib);
    return kib;
}
int main(int argc, char **argv)
{
    long n = atol(argv[1]);
    pthread_t *t = malloc((size_t)n * sizeof *t);
    pthread_barrier_init(&barrier, 0, (unsigned)n + 1);
    for (long i = 0; i < n; i++)
        if (pthread_create(&t[i], 0, wait_for_all, (void *)i))
            return 77;
    pthread_barrier_wait(&barrier);
    for (long i = 0; i < n; i++)
        pthread_join(t[i], 0);
    printf("%d %ld\n", sum == n * (n - 1) / 2, peak_kib());
    return 0;
}
C
"$PEET_PLAIN_CC" -O1 -o plain many.c -pthread && "$PEETCC" -O1 -o prog many.c -pthread || fail "the program does not compile"
few=1000 # the kernel may not let us have more
read -r right at_few < <(./plain $few) && read -r _ at_one < <(./plain 1) || skip "the system has no room for $few threads"
plain=$((at_one + (at_few - at_one) * n / few))
read -r right peet < <(timeout 300 "$PEET" run --quiet --cores 8 -d out -- ./prog $n)
[ "$right" = 1 ] || fail "$n threads: wrong sum"
bound=$((plain + 64 * 1024 + n * 8))
echo "$n threads: $peet KiB, plainly $plain KiB, bound $bound KiB"
[ "$peet" -le $bound ] || fail "$n threads need too much memory"
exit 0
