#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Repeating blocks from what they did before changes nothing: the same statistics and stacks, for programs with threads,
# system calls, calls of libraries, data-dependent branches, strings and vectors, on several machines.
. "$(dirname "$0")/lib.sh"
cat >mixed.c <<'END'
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static double total;
static _Atomic unsigned long count;
static int compare(const void *a, const void *b) { return *(const int *)a < *(const int *)b ? -1 : *(const int *)a > *(const int *)b; }
static void *work(void *argument)
{
    unsigned seed = 12345 + (unsigned)(long)argument;
    static __thread int numbers[700];
    static __thread double a[40][40], b[40][40];
    static __thread char text[4000], copy[4000];
    double sum = 0;
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 700; i++)
            numbers[i] = (int)((seed = seed * 1103515245 + 12345) >> 8 & 0xffff);
        qsort(numbers, 700, sizeof *numbers, compare);
        for (int i = 0; i < 40; i++)
            for (int j = 0; j < 40; j++)
                a[i][j] = b[j][i] + numbers[i * 17 + j] / (1.0 + j);
        for (int i = 0; i < 40; i++)
            for (int j = 0; j < 40; j++)
                for (int k = 0; k < 40; k++)
                    b[i][j] += a[i][k] * a[k][j] * 1e-9;
        for (int i = 0; i < 3999; i++)
            text[i] = (char)('a' + numbers[i % 700] % 26);
        memcpy(copy, text, sizeof copy);
        sum += (double)strlen(copy) + b[3][5];
        count += (unsigned)round;
        pthread_mutex_lock(&mutex);
        total += sum > 0;
        pthread_mutex_unlock(&mutex);
    }
    return NULL;
}
int main(void)
{
    pthread_t t[3];
    for (long i = 0; i < 3; i++)
        pthread_create(&t[i], NULL, work, (void *)i);
    for (int i = 0; i < 3; i++)
        pthread_join(t[i], NULL);
    printf("%g %lu\n", total, count);
    return 0;
}
END
must "$peetcc" -O2 -g -pthread -o mixed mixed.c

# statistics, without what is said of the replay itself and of the host
plain_stats() {
    grep -v -E '"(replay|blocks_repeated|blocks_learnt|blocks_not_tried|states|states_bytes|times_forgotten|output|[a-z_]*seconds[a-z_]*|[a-z_]*per_second)"|^ *},?$' out/stats.json
}
for options in "-n 1" "-n 2 --policy rr --quantum 500 --switch 20"; do
    for settings in preset=skylake preset=zen4,l1d_bytes=8KiB preset=zen4,scheduler_scale_percent=20 preset=small memory=flat,branch=gshare preset=goldencove,core=inorder; do
        run "$settings,replay=on" ./mixed
        plain_stats >on.stats
        cp out/x86-stacks.csv on.csv
        repeated=$("$json_get" out/stats.json x86.cores.replay.blocks_repeated)
        [ "$(wc -l <on.stats)" -gt 200 ] || fail "no statistics"
        run "$settings,replay=off" ./mixed
        plain_stats >off.stats
        same on.stats off.stats "statistics of $options $settings"
        same on.csv out/x86-stacks.csv "stacks of $options $settings"
        [ "$repeated" -gt 3000 ] || fail "$options $settings: only $repeated blocks were repeated"
    done
done
# observers of misses and stalls hear the same, of the same references; blocks in which nothing stalls are repeated all the same
for settings in preset=skylake,store_queue=4 preset=small; do
    for cores in 1 3; do
        for replay in on off; do
            options="--cores $cores --observe profile --observe dtrack"
            run "$settings,replay=$replay" ./mixed
            must jq -S 'del(.peet, .config, .host, (.. | .replay?))' out/stats.json >$replay.json
            [ $replay = off ] || repeated=$("$json_get" out/stats.json x86.cores.replay.blocks_repeated)
        done
        same on.json off.json "what is observed of $settings on $cores processors"
        [ "$repeated" -gt 3000 ] || fail "$settings, observed, $cores processors: only $repeated blocks were repeated"
        [ "$(jq .profile.totals.stall_cycles on.json)" -gt 1000 ] || fail "$settings: no stalls"
    done
done
echo "replay: all right"
