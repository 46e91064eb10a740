// SPDX-License-Identifier: Apache-2.0
// races: none.
// What C++'s library has to order threads, and static variables that are initialised by whoever comes first.
#include <atomic>
#include <barrier>
#include <condition_variable>
#include <functional>
#include <future>
#include <iostream>
#include <latch>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <queue>
#include <semaphore>
#include <shared_mutex>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

struct big {
    std::vector<int> v;
    std::string s;
    big() : v(100, 7), s("a text that needs memory of its own") {}
};
static std::once_flag once;
static int once_value;
static std::mutex mutex;
static std::condition_variable condition;
static std::queue<std::function<int()>> work;
static bool done;
static std::shared_mutex shared;
static std::map<int, std::string> table;
thread_local std::vector<int> own;
static std::atomic<long> total{0};

static big &single()
{
    static big b;
    return b;
}

static int sum_own(int n)
{
    for (int i = 0; i < n; i++)
        own.push_back(i);
    return std::accumulate(own.begin(), own.end(), 0);
}

static void consume(std::shared_ptr<big> given, int me)
{
    std::call_once(once, [] { once_value = 42; });
    total += once_value + single().v[(size_t)me] + (int)given->s.size() + sum_own(50);
    std::ostringstream text;
    text << me << " " << 3.5 * me;
    total += (long)text.str().size();
    std::unique_lock<std::mutex> lock(mutex);
    while (!done || !work.empty()) {
        if (work.empty()) {
            condition.wait(lock);
            continue;
        }
        auto job = std::move(work.front());
        work.pop();
        lock.unlock();
        total += job();
        lock.lock();
    }
}

static void produce()
{
    std::vector<std::thread> threads;
    auto given = std::make_shared<big>();
    for (int t = 0; t < 4; t++)
        threads.emplace_back([given, t] { consume(given, t); });
    for (int i = 0; i < 40; i++) {
        std::string text(30 + (size_t)i, 'x');
        std::lock_guard<std::mutex> lock(mutex);
        work.push([text] { return (int)text.size(); });
        condition.notify_one();
    }
    {
        std::lock_guard<std::mutex> lock(mutex);
        done = true;
        condition.notify_all();
    }
    for (auto &t : threads)
        t.join();
}

static void futures()
{
    std::promise<std::string> promise;
    auto future = promise.get_future();
    std::thread thread([&promise] { promise.set_value("a result that is longer than fifteen"); });
    total += (long)future.get().size();
    thread.join();
    auto later = std::async(std::launch::async, [] { return std::vector<int>(1000, 3); });
    total += later.get()[10];
}

static void look_up(int me)
{
    for (int i = 0; i < 20; i++)
        if (i % 5 == me) {
            std::unique_lock<std::shared_mutex> lock(shared);
            table[i] = std::to_string(i * 1000000007L);
        } else {
            std::shared_lock<std::shared_mutex> lock(shared);
            auto found = table.find(i);
            total += found != table.end() ? (long)found->second.size() : 0;
        }
}

static void meet()
{
    std::counting_semaphore<8> semaphore{0};
    std::latch latch{2};
    std::barrier barrier{2};
    std::atomic<big *> published{nullptr};
    int plain = 0, cells[2] = {0, 0};
    std::thread thread([&] {
        plain = 5;
        semaphore.release();
        cells[0] = 1;
        barrier.arrive_and_wait();
        total += cells[1];
        latch.count_down();
        big *b;
        while (!(b = published.load(std::memory_order_acquire)))
            ;
        total += b->v[3];
        delete b;
    });
    semaphore.acquire();
    total += plain;
    cells[1] = 2;
    barrier.arrive_and_wait();
    total += cells[0];
    latch.count_down();
    latch.wait();
    published.store(new big, std::memory_order_release);
    thread.join();
}

int main()
{
    std::vector<std::thread> threads;
    produce();
    futures();
    for (int t = 0; t < 3; t++)
        threads.emplace_back(look_up, t);
    for (auto &t : threads)
        t.join();
    meet();
    std::cout << (total > 0) << std::endl;
}
