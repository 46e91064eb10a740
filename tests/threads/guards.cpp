// SPDX-License-Identifier: Apache-2.0
// Static local variables that several threads come to at once: one initialises, the others wait for it in simulated time;
// after an exception the next one tries again; an initialiser may start threads, and initialise others.
#include <atomic>
#include <chrono>
#include <cstdio>
#include <thread>
#include <vector>

using clock_type = std::chrono::steady_clock;
static std::atomic<int> tries{0}, wrong{0};

static long work(int n)
{
    volatile long sum = 0;
    for (int i = 0; i < n; i++)
        sum = sum + i;
    return sum;
}

static clock_type::duration takes; // at least

struct slow {
    clock_type::time_point began;
    long value;
    slow() : began(clock_type::now()), value(work(20000)) {}
};

struct failing {
    int value;
    failing()
    {
        work(2000);
        if (++tries < 4)
            throw 1;
        value = tries;
    }
};

struct nested {
    long value;
    nested()
    {
        static slow inner;
        long other = 0;
        std::thread thread([&other] { other = work(100); });
        thread.join();
        value = inner.value + other;
    }
};

static void run()
{
    static slow one;
    wrong += clock_type::now() < one.began + takes; // it was there before it was made
    for (int k = 0; k < 4; k++)
        try {
            static failing f;
            wrong += f.value != 4;
        } catch (int) {
        }
    static nested two;
    wrong += two.value != one.value + work(100);
}

int main()
{
    const auto began = clock_type::now();
    work(18000);
    takes = clock_type::now() - began;
    for (int n = 1; n <= 4; n += 3) {
        std::vector<std::thread> threads;
        for (int i = 0; i < n; i++)
            threads.emplace_back(run);
        for (auto &t : threads)
            t.join();
    }
    run();
    std::printf("%d %d\n", wrong.load(), tries.load());
}
