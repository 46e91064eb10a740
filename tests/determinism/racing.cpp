// SPDX-License-Identifier: Apache-2.0
// Threads that race: who wins which compare-and-exchange, how often each one spins, in which order they come
// through a lock made of atomics, and what unsynchronised volatile counters come to.  All of it is printed.
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <thread>
#include <vector>

namespace {

enum { Threads = 7 };
std::atomic<int> ticket{0}, serving{0}, place{0};
std::atomic<unsigned long> winner{0};
volatile unsigned lossy;
int order[Threads * 20];
unsigned long spins[Threads], lost[Threads];
std::mutex mutex;
unsigned long chain;

void run(int id, int rounds)
{
    for (int i = 0; i < rounds; i++) {
        unsigned long seen = winner.load(std::memory_order_relaxed);
        while (!winner.compare_exchange_weak(seen, seen * 31 + id, std::memory_order_acq_rel))
            lost[id]++;
        int mine = ticket.fetch_add(1);
        while (serving.load(std::memory_order_acquire) != mine)
            spins[id]++;
        order[place++ % (Threads * 20)] = id;
        serving.store(mine + 1, std::memory_order_release);
        for (int k = 0; k < id; k++)
            lossy = lossy + 1;
        std::lock_guard<std::mutex> guard(mutex);
        chain = chain * 33 + id;
    }
}

} // namespace

int main(int argc, char **argv)
{
    std::vector<std::thread> threads;
    int rounds = argc > 1 ? 4 * std::atoi(argv[1]) : 20;
    for (int id = 0; id < Threads; id++)
        threads.emplace_back(run, id, rounds);
    for (auto &t : threads)
        t.join();
    std::printf("%lx %lx %u:", winner.load(), chain, lossy);
    for (int i = 0; i < Threads; i++)
        std::printf(" %lu/%lu", spins[i], lost[i]);
    for (int id : order)
        std::printf(" %d", id);
    std::printf("\n");
    return 0;
}
