#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Of mutexes only the order in which they are taken is explored: not whether somebody else has asked before they were given back.
. "$(dirname "$0")/lib.sh"
cat >mutexes.c <<'END'
#include <pthread.h>
#include <stdio.h>
#ifndef MUTEXES
#define MUTEXES 1
#endif
static pthread_mutex_t mutexes[2] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};
static char order[2][8]; /* in which they were held */
static int held[2];
static void in_turn(int which, char name)
{
    for (int i = 0; i < MUTEXES; i++) {
        pthread_mutex_lock(&mutexes[i]);
        order[i][held[i]++] = name;
        pthread_mutex_unlock(&mutexes[i]);
    }
}
static void nested(int which, char name)
{
    pthread_mutex_lock(&mutexes[which]);
    pthread_mutex_lock(&mutexes[which ^ 1]);
    order[0][held[0]++] = name;
    pthread_mutex_unlock(&mutexes[which ^ 1]);
    pthread_mutex_unlock(&mutexes[which]);
}
static void tries(int which, char name)
{
    if (which && pthread_mutex_trylock(&mutexes[0]))
        return;
    if (!which)
        pthread_mutex_lock(&mutexes[0]);
    order[0][held[0]++] = name;
    pthread_mutex_unlock(&mutexes[0]);
}
static void *run(void *arg)
{
    const char name = *(char *)arg;
    HOW(name == 'b', name);
    return 0;
}
int main(void)
{
    static char names[] = "abc";
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, run, &names[i]);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    printf("%s/%s\n", order[0], order[1]);
    return 0;
}
END
# finds EXECUTIONS OUTCOMES MODEL OPTION...: so many executions, and just these outcomes
finds() {
    local executions=$1 outcomes=$2 model=$3
    shift 3
    compile_for "$model" mutexes mutexes.c -O1 -w "$@"
    explore out 4 "$model" ./mutexes
    equal "outcomes with $* ($model)" "$(outcomes_of out | tr '\n' ' ')" "$outcomes "
    equal "executions with $* ($model)" "$("$PEET_PREFIX/tests/json-get" out/stats.json exploration.executions)" "$executions"
}
for model in plain tso; do
    finds 2 "ab/ ba/" $model -DHOW=in_turn -DTHREADS=2
    finds 4 "ab/ab ab/ba ba/ab ba/ba" $model -DHOW=in_turn -DTHREADS=2 -DMUTEXES=2
    finds 6 "abc/ acb/ bac/ bca/ cab/ cba/" $model -DHOW=in_turn -DTHREADS=3
    finds 3 "ab/ ba/ deadlock" $model -DHOW=nested -DTHREADS=2
    finds 3 "a/ ab/ ba/" $model -DHOW=tries -DTHREADS=2
done
exit 0
