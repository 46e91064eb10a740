// SPDX-License-Identifier: Apache-2.0
// Threads that hold a lock when an exception takes them out of a recursion.
#include <cstdio>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

static std::mutex lock;
static long total;

__attribute__((noinline)) static long sum(int n)
{
    if (n == 0)
        throw std::runtime_error("deep");
    return sum(n - 1) + n;
}

static void run(int id)
{
    for (int i = 0; i < 40; i++) {
        try {
            std::lock_guard<std::mutex> held(lock);
            total += id;
            total += sum(5 + i % 9);
        } catch (const std::exception &) {
            std::lock_guard<std::mutex> held(lock);
            total += i;
        }
    }
}

int main()
{
    std::vector<std::thread> threads;

    for (int i = 0; i < 6; i++)
        threads.emplace_back(run, i);
    for (auto &one : threads)
        one.join();
    std::printf("%ld\n", total);
}
