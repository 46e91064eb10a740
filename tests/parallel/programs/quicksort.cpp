// SPDX-License-Identifier: Apache-2.0
// quicksort THREADS: quicksort whose halves are sorted by std::async; C++ threads, futures, exceptions, a condition variable.
#include <algorithm>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

namespace {

using iterator = std::vector<int>::iterator;

int threads_left;
std::mutex lock;

bool take_thread()
{
    std::lock_guard<std::mutex> guard(lock);
    return threads_left > 0 ? (threads_left--, true) : false;
}

void sort(iterator first, iterator last)
{
    if (last - first < 32) {
        std::sort(first, last);
        return;
    }
    int pivot = *(first + (last - first) / 2);
    iterator middle = std::partition(first, last, [pivot](int x) { return x < pivot; });
    iterator upper = std::partition(middle, last, [pivot](int x) { return x == pivot; });
    if (take_thread()) {
        auto other = std::async(std::launch::async, sort, first, middle);
        sort(upper, last);
        other.get();
    } else {
        sort(first, middle);
        sort(upper, last);
    }
}

// a failure in a thread arrives where its result is asked for
int failures(int n)
{
    int caught = 0;
    std::vector<std::future<int>> results;
    for (int i = 0; i < n; i++)
        results.push_back(std::async(std::launch::async, [i]() -> int {
            if (i % 2)
                throw std::runtime_error("odd");
            return i;
        }));
    for (auto &result : results) {
        try {
            result.get();
        } catch (const std::runtime_error &) {
            caught++;
        }
    }
    return caught;
}

// threads in a ring hand a token on, n times round
int ring(int n, int rounds)
{
    std::mutex m;
    std::condition_variable turn;
    int token = 0;
    std::vector<std::thread> threads;
    for (int me = 0; me < n; me++)
        threads.emplace_back([&, me] {
            for (int round = 0; round < rounds; round++) {
                std::unique_lock<std::mutex> guard(m);
                turn.wait(guard, [&] { return token % n == me; });
                token++;
                turn.notify_all();
            }
        });
    for (auto &thread : threads)
        thread.join();
    return token;
}

} // namespace

int main(int argc, char **argv)
{
    int n = argc > 1 ? std::atoi(argv[1]) : 4;
    std::vector<int> numbers(3000);
    unsigned random = 1;

    if (n < 1 || n > 64)
        return 2;
    threads_left = n;
    for (int &x : numbers)
        x = static_cast<int>((random = random * 1664525u + 1013904223u) >> 12);
    sort(numbers.begin(), numbers.end());
    long sum = 0;
    for (std::size_t i = 0; i < numbers.size(); i++)
        sum += numbers[i] % 1000 * static_cast<long>(i);
    std::printf("%s %ld, %d caught, token %d\n", std::is_sorted(numbers.begin(), numbers.end()) ? "sorted" : "NOT SORTED", sum, failures(8),
        ring(n, 3));
    return 0;
}
