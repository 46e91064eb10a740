// SPDX-License-Identifier: Apache-2.0
// The C++ library's threads, and what of the language goes with them.
#include "harness.h"
#include <atomic>
#include <barrier>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <future>
#include <latch>
#include <memory>
#include <mutex>
#include <numeric>
#include <queue>
#include <semaphore>
#include <shared_mutex>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

using namespace std::chrono_literals;

CASE(thread_runs_and_joins)
{
    int seen = 0;
    std::thread t([&] { seen = 5; });
    CHECK(t.joinable());
    t.join();
    CHECK(!t.joinable());
    EQUAL(seen, 5);
}

static void add(int &sum, std::unique_ptr<int> what)
{
    sum += *what;
}

CASE(thread_arguments)
{
    int sum = 1;
    std::thread t(add, std::ref(sum), std::make_unique<int>(41));
    t.join();
    EQUAL(sum, 42);
}

CASE(thread_ids)
{
    std::thread::id inside;
    std::thread t([&] { inside = std::this_thread::get_id(); });
    auto outside = t.get_id();
    t.join();
    CHECK(inside == outside);
    CHECK(inside != std::this_thread::get_id());
    CHECK(t.get_id() == std::thread::id());
}

CASE(thread_moves)
{
    int n = 0;
    std::vector<std::thread> all;
    std::mutex m;
    for (int i = 0; i < 10; i++)
        all.emplace_back([&, i] {
            std::lock_guard<std::mutex> hold(m);
            n += i;
        });
    std::vector<std::thread> moved(std::move(all));
    for (auto &t : moved)
        t.join();
    EQUAL(n, 45);
}

CASE(thread_detached)
{
    auto done = std::make_shared<std::promise<int>>();
    auto future = done->get_future();
    std::thread([done] { done->set_value_at_thread_exit(6); }).detach();
    EQUAL(future.get(), 6);
}

CASE(thread_join_errors)
{
    std::thread t([] {});
    t.join();
    bool thrown = false;
    try {
        t.join();
    } catch (const std::system_error &e) {
        thrown = e.code() == std::errc::invalid_argument;
    }
    CHECK(thrown);
}

CASE(thread_hardware_concurrency)
{
    EQUAL(std::thread::hardware_concurrency(), sysconf(_SC_NPROCESSORS_ONLN));
}

CASE(thread_sleeps)
{
    auto a = std::chrono::steady_clock::now();
    std::this_thread::sleep_for(10ms);
    auto b = std::chrono::steady_clock::now();
    CHECK(b - a >= 10ms);
    std::this_thread::sleep_until(b + 5ms);
    CHECK(std::chrono::steady_clock::now() >= b + 5ms);
    std::this_thread::yield();
}

// --------------------------------------------------------------------------------------------- mutexes

template <class Mutex> static void exclude()
{
    Mutex m;
    int counter = 0;
    std::vector<std::thread> all;
    for (int i = 0; i < 6; i++)
        all.emplace_back([&] {
            for (int j = 0; j < 50; j++) {
                std::lock_guard<Mutex> hold(m);
                int seen = counter;
                if (j % 8 == 0)
                    std::this_thread::yield();
                counter = seen + 1;
            }
        });
    for (auto &t : all)
        t.join();
    EQUAL(counter, 300);
}

CASE(mutex_excludes)
{
    exclude<std::mutex>();
}

CASE(recursive_mutex_excludes)
{
    exclude<std::recursive_mutex>();
}

CASE(timed_mutex_excludes)
{
    exclude<std::timed_mutex>();
}

CASE(shared_mutex_excludes)
{
    exclude<std::shared_mutex>();
}

CASE(recursive_mutex_recurses)
{
    std::recursive_mutex m;
    m.lock();
    CHECK(m.try_lock());
    bool other = true;
    std::thread([&] { other = m.try_lock(); }).join();
    CHECK(!other);
    m.unlock();
    m.unlock();
}

CASE(timed_mutex_times_out)
{
    std::timed_mutex m;
    m.lock();
    bool got = true, got_until = true;
    std::thread([&] {
        got = m.try_lock_for(10ms);
        got_until = m.try_lock_until(std::chrono::system_clock::now() + 10ms);
    }).join();
    CHECK(!got && !got_until);
    m.unlock();
    CHECK(m.try_lock_for(10ms));
    m.unlock();
}

CASE(lock_of_several)
{
    std::mutex a, b, c;
    int n = 0;
    auto forwards = [&] {
        for (int i = 0; i < 20; i++) {
            std::scoped_lock hold(a, b, c);
            n++;
        }
    };
    auto backwards = [&] {
        for (int i = 0; i < 20; i++) {
            std::unique_lock<std::mutex> x(c, std::defer_lock), y(b, std::defer_lock), z(a, std::defer_lock);
            std::lock(x, y, z);
            n++;
        }
    };
    std::thread t(forwards), u(backwards);
    t.join();
    u.join();
    EQUAL(n, 40);
}

CASE(unique_lock_errors)
{
    std::mutex m;
    std::unique_lock<std::mutex> hold(m);
    bool thrown = false;
    try {
        hold.lock();
    } catch (const std::system_error &e) {
        thrown = e.code() == std::errc::resource_deadlock_would_occur;
    }
    CHECK(thrown);
}

CASE(shared_mutex_shares)
{
    std::shared_mutex m;
    std::shared_lock<std::shared_mutex> reading(m);
    bool reader = false, writer = true;
    std::thread([&] {
        reader = m.try_lock_shared();
        if (reader)
            m.unlock_shared();
        writer = m.try_lock();
    }).join();
    CHECK(reader && !writer);
}

CASE(shared_timed_mutex_times_out)
{
    std::shared_timed_mutex m;
    std::unique_lock<std::shared_timed_mutex> writing(m);
    bool reader = true;
    std::thread([&] { reader = m.try_lock_shared_for(10ms); }).join();
    CHECK(!reader);
}

// ------------------------------------------------------------------------------------ condition variables

CASE(condition_variable_queue)
{
    std::mutex m;
    std::condition_variable filled;
    std::queue<int> queue;
    long sum = 0;
    std::thread consumer([&] {
        for (int i = 0; i < 100; i++) {
            std::unique_lock<std::mutex> hold(m);
            filled.wait(hold, [&] { return !queue.empty(); });
            sum += queue.front();
            queue.pop();
        }
    });
    for (int i = 1; i <= 100; i++) {
        std::lock_guard<std::mutex> hold(m);
        queue.push(i);
        filled.notify_one();
    }
    consumer.join();
    EQUAL(sum, 5050);
}

CASE(condition_variable_times_out)
{
    std::mutex m;
    std::condition_variable c;
    std::unique_lock<std::mutex> hold(m);
    auto a = std::chrono::steady_clock::now();
    CHECK(c.wait_for(hold, 10ms) == std::cv_status::timeout);
    CHECK(std::chrono::steady_clock::now() - a >= 10ms);
    CHECK(!c.wait_until(hold, std::chrono::system_clock::now() + 10ms, [] { return false; }));
    CHECK(hold.owns_lock());
}

CASE(condition_variable_any)
{
    std::shared_mutex m;
    std::condition_variable_any c;
    bool ready = false;
    int woken = 0;
    std::vector<std::thread> all;
    for (int i = 0; i < 4; i++)
        all.emplace_back([&] {
            std::unique_lock<std::shared_mutex> hold(m);
            c.wait(hold, [&] { return ready; });
            woken++;
        });
    {
        std::lock_guard<std::shared_mutex> hold(m);
        ready = true;
    }
    c.notify_all();
    for (auto &t : all)
        t.join();
    EQUAL(woken, 4);
}

CASE(notify_all_at_thread_exit)
{
    std::mutex m;
    std::condition_variable c;
    bool ready = false;
    std::thread t([&] {
        std::unique_lock<std::mutex> hold(m);
        ready = true;
        std::notify_all_at_thread_exit(c, std::move(hold));
    });
    std::unique_lock<std::mutex> hold(m);
    c.wait(hold, [&] { return ready; });
    hold.unlock();
    t.join();
}

// ------------------------------------------------------------------------------------------------ futures

CASE(async_gives_results)
{
    std::vector<std::future<int>> all;
    for (int i = 0; i < 8; i++)
        all.push_back(std::async(std::launch::async, [i] { return i * i; }));
    int sum = 0;
    for (auto &f : all)
        sum += f.get();
    EQUAL(sum, 140);
}

CASE(async_deferred)
{
    auto id = std::this_thread::get_id();
    auto f = std::async(std::launch::deferred, [] { return std::this_thread::get_id(); });
    CHECK(f.wait_for(0s) == std::future_status::deferred);
    CHECK(f.get() == id);
}

CASE(exception_across_threads)
{
    auto f = std::async(std::launch::async, []() -> int { throw std::runtime_error("from afar"); });
    std::string what;
    try {
        f.get();
    } catch (const std::runtime_error &e) {
        what = e.what();
    }
    CHECK(what == "from afar");
}

CASE(promise_and_future)
{
    std::promise<std::string> p;
    auto f = p.get_future();
    CHECK(f.wait_for(5ms) == std::future_status::timeout);
    std::thread t([&] { p.set_value("value"); });
    CHECK(f.get() == "value");
    t.join();
}

CASE(broken_promise)
{
    std::future<int> f;
    {
        std::promise<int> p;
        f = p.get_future();
    }
    bool broken = false;
    try {
        f.get();
    } catch (const std::future_error &e) {
        broken = e.code() == std::future_errc::broken_promise;
    }
    CHECK(broken);
}

CASE(shared_future_for_many)
{
    std::promise<int> p;
    std::shared_future<int> f = p.get_future().share();
    std::atomic<int> sum{0};
    std::vector<std::thread> all;
    for (int i = 0; i < 5; i++)
        all.emplace_back([&, f] { sum += f.get(); });
    p.set_value(3);
    for (auto &t : all)
        t.join();
    EQUAL(sum, 15);
}

CASE(packaged_task)
{
    std::packaged_task<int(int)> task([](int x) { return x + 1; });
    auto f = task.get_future();
    std::thread t(std::move(task), 6);
    EQUAL(f.get(), 7);
    t.join();
}

// --------------------------------------------------------------------------------------------------- once

CASE(call_once_by_many)
{
    std::once_flag flag;
    std::atomic<int> calls{0};
    std::vector<std::thread> all;
    for (int i = 0; i < 6; i++)
        all.emplace_back([&] {
            std::call_once(flag, [&] {
                std::this_thread::sleep_for(2ms);
                calls++;
            });
            CHECK(calls == 1);
        });
    for (auto &t : all)
        t.join();
    EQUAL(calls, 1);
}

CASE(call_once_that_throws)
{
    std::once_flag flag;
    int tries = 0, caught = 0;
    for (int i = 0; i < 4; i++) {
        try {
            std::call_once(flag, [&] {
                if (++tries < 3)
                    throw tries;
            });
        } catch (int) {
            caught++;
        }
    }
    EQUAL(tries, 3);
    EQUAL(caught, 2);
}

struct slow {
    static inline std::atomic<int> made{0};
    int value;
    slow()
    {
        std::this_thread::sleep_for(5ms);
        value = ++made;
    }
};

static slow &the_slow_one()
{
    static slow one;
    return one;
}

CASE(static_local_is_made_once)
{
    std::vector<std::thread> all;
    std::atomic<int> sum{0};
    for (int i = 0; i < 6; i++)
        all.emplace_back([&] { sum += the_slow_one().value; });
    for (auto &t : all)
        t.join();
    EQUAL(slow::made, 1);
    EQUAL(sum, 6);
}

// ------------------------------------------------------------------------------------------- what C++20 adds

CASE(jthread_joins_and_stops)
{
    std::atomic<int> turns = 0;
    {
        std::jthread t([&](std::stop_token stop) {
            while (!stop.stop_requested()) {
                turns++;
                std::this_thread::sleep_for(1ms);
            }
        });
        while (turns == 0) // a busy machine may take long to begin it
            std::this_thread::sleep_for(10ms);
    }
    CHECK(turns > 0);
}

CASE(stop_token_wakes_a_wait)
{
    std::mutex m;
    std::condition_variable_any c;
    bool stopped = false;
    {
        std::jthread t([&](std::stop_token stop) {
            std::unique_lock<std::mutex> hold(m);
            stopped = !c.wait(hold, stop, [] { return false; });
        });
        std::this_thread::sleep_for(2ms);
    }
    CHECK(stopped);
}

CASE(latch)
{
    std::latch done(5), go(1);
    std::atomic<int> n{0};
    std::vector<std::jthread> all;
    for (int i = 0; i < 5; i++)
        all.emplace_back([&] {
            go.wait();
            n++;
            done.count_down();
        });
    EQUAL(n, 0);
    go.count_down();
    done.wait();
    EQUAL(n, 5);
}

CASE(barrier_with_completion)
{
    int completions = 0;
    std::atomic<int> arrived{0}, bad{0};
    std::barrier sync(4, [&]() noexcept { completions++; });
    {
        std::vector<std::jthread> all;
        for (int i = 0; i < 4; i++)
            all.emplace_back([&] {
                for (int round = 1; round <= 5; round++) {
                    arrived++;
                    sync.arrive_and_wait();
                    if (arrived < 4 * round)
                        bad++;
                    sync.arrive_and_wait();
                }
            });
    }
    EQUAL(completions, 10);
    EQUAL(bad, 0);
}

CASE(counting_semaphore)
{
    std::counting_semaphore<10> slots(3);
    std::atomic<int> inside{0}, worst{0};
    {
        std::vector<std::jthread> all;
        for (int i = 0; i < 8; i++)
            all.emplace_back([&] {
                slots.acquire();
                int now = ++inside;
                for (int w = worst; now > w && !worst.compare_exchange_weak(w, now);) {
                }
                std::this_thread::sleep_for(1ms);
                inside--;
                slots.release();
            });
    }
    CHECK(worst <= 3 && worst >= 1);
    EQUAL(inside, 0);
}

CASE(binary_semaphore_times_out)
{
    std::binary_semaphore s(0);
    CHECK(!s.try_acquire());
    CHECK(!s.try_acquire_for(10ms));
    s.release();
    CHECK(s.try_acquire_for(10ms));
}

CASE(atomic_wait_and_notify)
{
    std::atomic<int> state{0};
    int seen = 0;
    std::jthread t([&] {
        state.wait(0);
        seen = state;
        state = 2;
        state.notify_all();
    });
    std::this_thread::sleep_for(2ms);
    state = 1;
    state.notify_one();
    for (int now = state; now != 2; now = state)
        state.wait(now);
    EQUAL(seen, 1);
}

CASE(atomic_flag_spin_lock)
{
    std::atomic_flag flag = ATOMIC_FLAG_INIT;
    int n = 0;
    {
        std::vector<std::jthread> all;
        for (int i = 0; i < 4; i++)
            all.emplace_back([&] {
                for (int j = 0; j < 25; j++) {
                    while (flag.test_and_set(std::memory_order_acquire)) {
                    }
                    n++;
                    flag.clear(std::memory_order_release);
                }
            });
    }
    EQUAL(n, 100);
}

// ------------------------------------------------------------------------------------------ put together

CASE(pool_of_workers)
{
    std::mutex m;
    std::condition_variable c;
    std::queue<std::function<void()>> jobs;
    bool closed = false;
    std::atomic<long> sum{0};
    std::vector<std::thread> workers;
    for (int i = 0; i < 4; i++)
        workers.emplace_back([&] {
            for (;;) {
                std::function<void()> job;
                {
                    std::unique_lock<std::mutex> hold(m);
                    c.wait(hold, [&] { return closed || !jobs.empty(); });
                    if (jobs.empty())
                        return;
                    job = std::move(jobs.front());
                    jobs.pop();
                }
                job();
            }
        });
    for (int i = 1; i <= 60; i++) {
        std::lock_guard<std::mutex> hold(m);
        jobs.push([&sum, i] { sum += i; });
        c.notify_one();
    }
    {
        std::lock_guard<std::mutex> hold(m);
        closed = true;
    }
    c.notify_all();
    for (auto &w : workers)
        w.join();
    EQUAL(sum, 1830);
}

static long parallel_sum(const std::vector<int> &v, size_t lo, size_t hi)
{
    if (hi - lo < 100)
        return std::accumulate(v.begin() + (long)lo, v.begin() + (long)hi, 0l);
    size_t mid = (lo + hi) / 2;
    auto left = std::async(std::launch::async, parallel_sum, std::cref(v), lo, mid);
    long right = parallel_sum(v, mid, hi);
    return left.get() + right;
}

CASE(divide_and_conquer)
{
    std::vector<int> v(1500);
    std::iota(v.begin(), v.end(), 0);
    EQUAL(parallel_sum(v, 0, v.size()), 1500 * 1499 / 2);
}

CASE(shared_pointers_in_threads)
{
    struct node {
        std::atomic<int> *alive;
        ~node()
        {
            --*alive;
        }
    };
    std::atomic<int> alive{1};
    auto p = std::shared_ptr<node>(new node{&alive});
    {
        std::vector<std::jthread> all;
        for (int i = 0; i < 5; i++)
            all.emplace_back([p] {
                for (int j = 0; j < 10; j++) {
                    auto copy = p;
                    std::this_thread::yield();
                }
            });
        p.reset();
    }
    EQUAL(alive, 0);
}
