/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a function answers is left open on one way: a register is live there that was set on other ways only, and holds what a
 * call has left in it, the runtime's perhaps.  An atomic access that tells what its live registers hold must not tell that.
 */
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

static std::atomic<intptr_t> mutex;
static std::atomic<int> spins{200};
static std::atomic<unsigned> word;
static long slowly, count;

__attribute__((noinline)) static void wake()
{
    syscall(SYS_futex, &word, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, 1, nullptr);
}

__attribute__((noinline)) static void slow(std::atomic<intptr_t> *m)
{
    for (;;) {
        intptr_t v = m->load();
        if (!(v & 8) && m->compare_exchange_strong(v, v | 8))
            break;
        sched_yield();
    }
    slowly++;
}

static inline bool spin(std::atomic<intptr_t> *m)
{
    int left = spins.load(std::memory_order_relaxed);
    do {
        intptr_t v = m->load(std::memory_order_relaxed);
        if (v & 0x11)
            return false;
        if (!(v & 8) && m->compare_exchange_strong(v, v | 8, std::memory_order_acquire))
            return true;
    } while (--left > 0);
    return false;
}

__attribute__((noinline)) static void lock(std::atomic<intptr_t> *m)
{
    wake();
    intptr_t v = m->load(std::memory_order_relaxed);
    if (v & 0x19 || !m->compare_exchange_strong(v, v | 8))
        if (!spin(m))
            slow(m);
}

static void *run(void *)
{
    for (int i = 0; i < 50; i++) {
        lock(&mutex);
        for (volatile int k = 0; k < 100; k = k + 1)
            ;
        count++;
        mutex.fetch_and(~intptr_t{8});
        usleep(1);
    }
    return nullptr;
}

int main()
{
    pthread_t threads[4];
    for (auto &t : threads)
        pthread_create(&t, nullptr, run, nullptr);
    for (auto t : threads)
        pthread_join(t, nullptr);
    std::printf("%ld\n", count);
    return 0;
}
