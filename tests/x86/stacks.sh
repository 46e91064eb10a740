#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Stacks add up: for each hardware context to its clock, for each software context to its life, over functions and lines to
# the same as over contexts, whatever runs and however it is scheduled.  (The machine checks that itself, too, and fails.)
. "$(dirname "$0")/lib.sh"
cat >threads.c <<'END'
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t all = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t barrier;
static pthread_rwlock_t rw = PTHREAD_RWLOCK_INITIALIZER;
static sem_t done;
static long shared, ready;
static _Atomic long count;
static double a[16][256];
static void *work(void *argument)
{
    long id = (long)argument;
    for (int k = 0; k < 20; k++) {
        for (int i = 0; i < 256; i++)
            a[id][i] = a[id][i] * 1.5 + i;
        pthread_mutex_lock(&mutex);
        shared += id;
        for (volatile int z = 0; z < 50; z++)
            continue;
        pthread_mutex_unlock(&mutex);
        count++;
        pthread_rwlock_rdlock(&rw);
        pthread_rwlock_unlock(&rw);
        if (k % 5 == 0)
            pthread_barrier_wait(&barrier);
        if (k == 7)
            usleep(10);
    }
    pthread_mutex_lock(&mutex);
    ready++;
    pthread_cond_broadcast(&all);
    pthread_mutex_unlock(&mutex);
    sem_post(&done);
    return NULL;
}
int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 6;
    pthread_t t[16];
    pthread_barrier_init(&barrier, NULL, n);
    sem_init(&done, 0, 0);
    for (long i = 0; i < n; i++)
        pthread_create(&t[i], NULL, work, (void *)i);
    pthread_mutex_lock(&mutex);
    while (ready < n)
        pthread_cond_wait(&all, &mutex);
    pthread_mutex_unlock(&mutex);
    for (int i = 0; i < n; i++)
        sem_wait(&done);
    for (int i = 0; i < n; i++)
        pthread_join(t[i], NULL);
    printf("%ld %ld\n", shared, (long)count);
    return 0;
}
END
must "$peetcc" -O2 -g -pthread -o threads threads.c

# What the file says, against itself and against what peet counted.
check() {
    awk -F, -v clocks="$("$json_get" -r out/stats.json x86.hw cycles | tr '\n' ' ')" '
        NR == 1 { for (i = 6; i <= NF; i++) if ($i == "idle") idle = i; n = NF; next }
        {
            sum = 0
            for (i = 6; i <= n; i++) { sum += $i; total[$1, i] += $i }
            if (sum != $5) { print "a row does not add up: " $0; bad = 1 }
            if ($1 == "hw") hw[m++] = $5
        }
        END {
            split(clocks, c, " ")
            for (i = 0; i < m; i++) if (c[i + 1] != hw[i]) { print "hardware context " i ": " hw[i] " of " c[i + 1]; bad = 1 }
            for (i = 6; i <= n; i++)
                if (total["function", i] != total["line", i] || (i != idle && total["function", i] != total["hw", i])) {
                    print "column " i ": functions " total["function", i] ", lines " total["line", i] ", contexts " total["hw", i]; bad = 1
                }
            exit bad
        }' out/x86-stacks.csv || fail "the stacks of $1 do not balance"
    [ "$("$json_get" -r out/stats.json x86.hw cycles | sort -n | tail -1)" = "$("$json_get" out/stats.json time.cycles)" ] ||
        fail "$1: the stacks end at another time than the run"
}
for options in "-n 1" "-n 4" "-n 7" "-n 3 --policy rr --quantum 200 --switch 30" "-n 4 --lock-model ttas" "-n 2 --policy affinity"; do
    for settings in preset=skylake preset=zen4,threads=2 preset=small memory=flat,threads=2,smt=shared core=simple; do
        run "$settings" ./threads 6
        equal "output" "$(cat said)" "300 120"
        check "$options $settings"
    done
done
# what is waited for is found: a lock that all want, a barrier for which one is late
options="-n 6"
run "preset=skylake" ./threads 6
"$json_get" out/stats.json x86.stack_cycles.lock_wait >/dev/null || fail "nobody waited for a lock"
"$json_get" out/stats.json x86.stack_cycles.barrier_wait >/dev/null || fail "nobody waited at a barrier"
# the same run twice
cp out/x86-stacks.csv first.csv
run "preset=skylake" ./threads 6
same out/x86-stacks.csv first.csv "two runs"
echo "stacks: all right"
