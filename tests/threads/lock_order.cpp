// SPDX-License-Identifier: Apache-2.0
// Threads that take several locks in orders of their own and let go if one is taken: on equal processors they could come
// round and round for ever, and must not.
#include "harness.h"
#include <atomic>
#include <mutex>
#include <shared_mutex>
#include <thread>
#include <vector>

static void all(int n, void (*fn)(int))
{
    std::vector<std::thread> threads;
    for (int i = 0; i < n; i++)
        threads.emplace_back(fn, i);
    for (auto &t : threads)
        t.join();
}

static std::mutex a, b, table[5];
static std::shared_mutex s, t;
static std::recursive_mutex r;
static long count;
static std::atomic<long> meals;

CASE(two_mutexes)
{
    count = 0;
    all(4, [](int i) {
        for (int k = 0; k < 60; k++) {
            if (i & 1) {
                std::scoped_lock both(a, b);
                count++;
            } else {
                std::scoped_lock both(b, a);
                count++;
            }
        }
    });
    EQUAL(count, 240);
}

CASE(three_of_five)
{
    meals = 0;
    all(5, [](int i) {
        for (int k = 0; k < 40; k++) {
            std::scoped_lock three(table[i], table[(i + 1) % 5], table[(i + 2) % 5]);
            meals++;
        }
    });
    EQUAL(meals, 200);
}

CASE(shared_mutexes)
{
    count = 0;
    all(4, [](int i) {
        for (int k = 0; k < 40; k++) {
            if (i & 1)
                std::lock(s, t);
            else
                std::lock(t, s);
            count++;
            s.unlock();
            t.unlock();
        }
    });
    EQUAL(count, 160);
}

CASE(of_several_kinds)
{
    count = 0;
    all(4, [](int i) {
        for (int k = 0; k < 40; k++) {
            if (i & 1)
                std::lock(r, s, a);
            else
                std::lock(a, s, r);
            count++;
            r.unlock();
            s.unlock();
            a.unlock();
        }
    });
    EQUAL(count, 160);
}

// By hand, and never a lock that is waited for.
CASE(tries_only)
{
    count = 0;
    all(2, [](int i) {
        std::mutex &mine = i ? a : b, &other = i ? b : a;
        for (int k = 0; k < 50; k++) {
            for (;;) {
                mine.lock();
                if (other.try_lock())
                    break;
                mine.unlock();
            }
            count++;
            other.unlock();
            mine.unlock();
        }
    });
    EQUAL(count, 100);
}
