#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What runs in processes of its own beside a run whose processors have views of memory: the writer of a trace, and followers, whose machine
# with the leading one's parameters has its results.
. "$(dirname "$0")/lib.sh"
cat >count.c <<'END'
#include <pthread.h>
#include <stdio.h>
static int words[4096], total;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static void *work(void *argument)
{
    for (long i = 0; i < 200; i++) {
        words[(long)argument * 64 + i] += words[i * 8];
        pthread_mutex_lock(&mutex);
        total++;
        pthread_mutex_unlock(&mutex);
    }
    return NULL;
}
int main(void)
{
    pthread_t threads[2];
    for (long i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, work, (void *)i);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    printf("%d\n", total);
    return 0;
}
END
must "$peetcc" -O1 -fpeet-domains -fpeet-granularity=ref -pthread -o count count.c
for model in sc tso; do
    must timeout -k 1 100 "$peet" run -q -n 3 -m bus --consistency "consistency,model=$model" --follow bus -o trace -d out -- ./count >out.txt
    equal "output under $model" "$(cat out.txt)" 400
    must "$peet" trace check out
    must jq -S .bus out/stats.json >leader.json
    must jq -S '.followers[0].bus' out/stats.json >follower.json
    [ "$(jq .totals.misses leader.json)" -gt 10 ] || fail "$model: no misses"
    cmp leader.json follower.json || fail "under $model the follower has other results"
done
