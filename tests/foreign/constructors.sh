#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Constructors of libraries that peetcc has not compiled: they see the user's environment and the machine's processors, and the threads that they
# make are simulated, or, where the constructor waits for one, run as the C library's.  A library with code in two segments, recorded.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
hash() { "$PEET_PREFIX/tests/json-get" "$1/stats.json" hash.hash; }
contexts() { "$PEET_PREFIX/tests/json-get" -r "$1/stats.json" contexts number | wc -l; }
cat >pool.c <<'END'
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
enum { MOST = 16 };
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t work = PTHREAD_COND_INITIALIZER, done = PTHREAD_COND_INITIALIZER;
static pthread_t threads[MOST];
static int nthreads, round_, left, over;
static const long *data;
static long n, sums[MOST];
__asm__(".text\n.balign 32768\n"); /* a linker of GNU's leaves the code in two segments */
static void *worker(void *arg)
{
    const long k = (long)arg;
    for (int seen = 0;;) {
        pthread_mutex_lock(&mutex);
        while (round_ == seen && !over)
            pthread_cond_wait(&work, &mutex);
        seen = round_;
        pthread_mutex_unlock(&mutex);
        if (over)
            return (void *)(k + 1);
        sums[k] = 0;
        for (long i = k; i < n; i += nthreads)
            sums[k] += data[i];
        pthread_mutex_lock(&mutex);
        if (--left == 0)
            pthread_cond_signal(&done);
        pthread_mutex_unlock(&mutex);
    }
}
__attribute__((constructor)) static void begin(void)
{
    const char *text = getenv("POOL_THREADS");
    nthreads = text ? atoi(text) : (int)sysconf(_SC_NPROCESSORS_ONLN);
    for (long k = 0; k < nthreads; k++)
        pthread_create(&threads[k], NULL, worker, (void *)k);
}
int pool_threads(void) { return nthreads; }
long pool_sum(const long *of, long count)
{
    long sum = 0;
    pthread_mutex_lock(&mutex);
    data = of;
    n = count;
    left = nthreads;
    round_++;
    pthread_cond_broadcast(&work);
    while (left)
        pthread_cond_wait(&done, &mutex);
    pthread_mutex_unlock(&mutex);
    for (int k = 0; k < nthreads; k++)
        sum += sums[k];
    return sum;
}
long pool_end(void)
{
    long results = 0;
    void *result;
    pthread_mutex_lock(&mutex);
    over = 1;
    pthread_cond_broadcast(&work);
    pthread_mutex_unlock(&mutex);
    for (int k = 0; k < nthreads; k++)
        if (pthread_join(threads[k], &result) == 0)
            results += (long)result;
    return results;
}
END
cat >main.c <<'END'
#include <stdio.h>
int pool_threads(void);
long pool_sum(const long *of, long count), pool_end(void);
static long numbers[10000];
int main(void)
{
    for (long i = 0; i < 10000; i++)
        numbers[i] = i * i % 1009;
    printf("%d", pool_threads());
    for (int round = 0; round < 3; round++)
        printf(" %ld", pool_sum(numbers, 10000 - round));
    printf(" %ld\n", pool_end());
    return 0;
}
END
must "$PEET_PLAIN_CC" -O2 -shared -fPIC -fuse-ld=bfd -o libpool.so pool.c -pthread
[ "$(readelf -lW libpool.so | grep -c 'LOAD.*R E')" = 2 ] || fail "the library's code is not in two segments"
must "$peetcc" -O2 -o pool main.c ./libpool.so -Wl,-rpath,"$PWD"
for foreign in record ranges; do
    must "$peet" run -q --foreign=$foreign --machine bus --cores 3 -o hash -d processors -- ./pool >said.txt
    POOL_THREADS=3 ./pool >native.txt
    same native.txt said.txt "$foreign: as many threads as processors"
    equal "$foreign: contexts" "$(contexts processors)" 4
    for threads in 1 5; do
        export POOL_THREADS=$threads
        ./pool >native.txt
        must "$peet" run -q --foreign=$foreign --machine bus --cores 3 -o hash -d first -- ./pool >said.txt
        same native.txt said.txt "$foreign: $threads threads by the environment"
        must "$peet" run -q --foreign=$foreign --machine bus --cores 3 -o hash -d again -- ./pool >said.txt
        equal "$foreign: events of two runs" "$(hash again)" "$(hash first)"
        unset POOL_THREADS
    done
done
POOL_THREADS=5 must "$peet" run -q --foreign=record --cores 3 -o profile -d recorded -- ./pool >said.txt
"$PEET_PREFIX/tests/json-get" -r recorded/stats.json hot.images image >images.txt
grep -q libpool.so images.txt || fail "the library with two segments is not recorded: $(cat images.txt)"

# A library that peetcc has compiled.
must "$peetcc" -O2 -shared -fPIC -o libpool.so pool.c -pthread
POOL_THREADS=4 ./pool >native.txt
POOL_THREADS=4 must "$peet" run -q --machine bus --cores 3 -d ours -- ./pool >said.txt
same native.txt said.txt "a library of peetcc's"
equal "a library of peetcc's: contexts" "$(contexts ours)" 5

# With views of memory, which stacks of such threads belong to.
must "$PEET_PLAIN_CC" -O2 -shared -fPIC -o libpool.so pool.c -pthread
must "$peetcc" -O2 -fpeet-domains -fpeet-granularity=ref -o pool main.c ./libpool.so -Wl,-rpath,"$PWD"
POOL_THREADS=3 ./pool >native.txt
POOL_THREADS=3 must timeout 100 "$peet" run -q --consistency consistency,model=tso --cores 3 -d views -- ./pool >said.txt
same native.txt said.txt "threads of constructors with a model of consistency"

# Constructors that wait for what they have made.
cat >waits.c <<'END'
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static pthread_t thread;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t barrier;
static sem_t sem;
static const char *how;
static volatile int there;
static void *result;
static void *run(void *arg)
{
    pthread_mutex_lock(&mutex);
    there = 1;
    pthread_cond_signal(&cond);
    pthread_mutex_unlock(&mutex);
    sem_post(&sem);
    if (!strcmp(how, "barrier"))
        pthread_barrier_wait(&barrier);
    return arg;
}
__attribute__((constructor)) static void begin(void)
{
    if (!(how = getenv("WAIT_FOR")))
        return;
    sem_init(&sem, 0, 0);
    pthread_barrier_init(&barrier, NULL, 2);
    pthread_create(&thread, NULL, run, &thread);
    if (!strcmp(how, "join"))
        pthread_join(thread, &result);
    if (!strcmp(how, "sem"))
        sem_wait(&sem);
    if (!strcmp(how, "barrier"))
        pthread_barrier_wait(&barrier);
    pthread_mutex_lock(&mutex);
    while (!strcmp(how, "cond") && !there)
        pthread_cond_wait(&cond, &mutex);
    pthread_mutex_unlock(&mutex);
    while (!strcmp(how, "sleep") && !there)
        usleep(100);
    while (!strcmp(how, "loop") && !there)
        ;
    while (!strcmp(how, "yield") && !there)
        sched_yield();
    if (!strcmp(how, "detach"))
        pthread_detach(thread);
}
int waits_end(void)
{
    const int err = !strcmp(how, "join") || !strcmp(how, "detach") ? 0 : pthread_join(thread, &result);
    return err == 0 && (result == &thread || !strcmp(how, "detach"));
}
END
cat >uses.c <<'END'
#include <stdio.h>
int waits_end(void);
int main(void) { printf("%d\n", waits_end()); return 0; }
END
must "$PEET_PLAIN_CC" -O2 -shared -fPIC -o libwaits.so waits.c -pthread
must "$peetcc" -O2 -o uses uses.c ./libwaits.so -Wl,-rpath,"$PWD"
for how in join sem barrier cond sleep yield loop detach nothing; do
    for foreign in record ranges; do
        export WAIT_FOR=$how
        must timeout 60 "$peet" run -q --foreign=$foreign --cores 2 -d waits -- ./uses >said.txt
        equal "$foreign: a constructor and $how" "$(cat said.txt)" 1
        unset WAIT_FOR
    done
done
exit 0
