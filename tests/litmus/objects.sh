#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Synchronisation does under every model, in both modes of interaction, what it does in main memory; and it is no fence for other accesses.
. "$(dirname "$0")/lib.sh"
program=$here/programs/objects.c
printf 'in vain after 1 s\nin vain after 1 s\n1 1 181\n' >want.txt
must "$PEET_PLAIN_CC" -O2 -pthread -o native "$program"
./native >got.txt
same want.txt got.txt "natively"
must "$peetcc" -O2 -pthread -fpeet-domains -o coarse "$program"
must "$peetcc" -O2 -pthread -fpeet-domains -fpeet-granularity=ref -o fine "$program"
for model in sc tso pso pc wo rc; do
    must timeout -k 1 100 "$peet" run -q -d out --cores 4 --consistency "consistency,model=$model" --consistency-sync sync -- ./coarse >got.txt
    same want.txt got.txt "$model, synchronisations only"
    must timeout -k 1 100 "$peet" run -q -d out --cores 4 --consistency "consistency,model=$model" -- ./fine >got.txt
    same want.txt got.txt "$model, each reference"
done

# Locks of their own order nothing between two threads: what a store and a load may show, they may show around a lock, too.
cat >around.c <<'END'
#include <pthread.h>
#include <stdio.h>
static volatile int x, y;
static int a, b;
static pthread_mutex_t mine = PTHREAD_MUTEX_INITIALIZER, yours = PTHREAD_MUTEX_INITIALIZER;
static void *first(void *arg)
{
    x = 1;
    LOCK(&mine);
    a = y;
    return arg;
}
static void *second(void *arg)
{
    y = 1;
    LOCK(&yours);
    b = x;
    return arg;
}
int main(void)
{
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, first, NULL);
    pthread_create(&threads[1], NULL, second, NULL);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    printf("%d %d\n", a, b);
    return 0;
}
END
for lock in pthread_mutex_lock pthread_mutex_trylock; do
    compile_for views around around.c -O1 -DLOCK=$lock
    explore out 3 rc ./around
    outcomes_of out >$lock.txt
done
same pthread_mutex_trylock.txt pthread_mutex_lock.txt "a lock orders as a try for it does"
exit 0
