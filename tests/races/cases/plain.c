/* SPDX-License-Identifier: Apache-2.0 */
/* races: bytes.middle copied counted early handed late looked torn
 * What is not ordered, beside what is: a counter, a flag that is only volatile, a relaxed one, a lock that the other
 * one does not take, a read lock, a value that is read before the thread is joined, copies by memcpy(), and bytes of a
 * word. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int counted, handed, late, torn, ordered;
static volatile int looked;
static int early;
static atomic_int relaxed, right;
static char copied[64];
struct parts {
    char first, middle, last[6];
} bytes;
static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER, other = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_barrier_t barrier;

static void *run(void *arg)
{
    const long me = (long)arg;
    char mine[64];
    pthread_mutex_t *const mutex = me ? &one : &other;
    counted++;
    pthread_mutex_lock(mutex); /* not the same one */
    late++;
    pthread_mutex_unlock(mutex);
    pthread_rwlock_rdlock(&rwlock);
    torn++;
    pthread_rwlock_unlock(&rwlock);
    if (me) {
        handed = 5;
        atomic_store_explicit(&relaxed, 1, memory_order_relaxed);
        memset(copied, 1, sizeof copied);
        bytes.first = bytes.middle = 1;
        ordered = 7;
        atomic_store_explicit(&right, 1, memory_order_release);
    } else {
        looked = 1;
        counted += atomic_load_explicit(&relaxed, memory_order_relaxed) + handed;
        memcpy(mine, copied, sizeof mine);
        counted += mine[3];
        bytes.middle = bytes.last[0] = 2;
        while (!atomic_load_explicit(&right, memory_order_acquire))
            ;
        counted += ordered;
    }
    pthread_barrier_wait(&barrier);
    early = (int)me;
    return NULL;
}

int main(void)
{
    pthread_t threads[2];
    pthread_barrier_init(&barrier, NULL, 2);
    for (long i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, run, (void *)i);
    while (!looked)
        ;
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    return early + counted + late + torn + bytes.first + bytes.middle + bytes.last[0] < 0;
}
