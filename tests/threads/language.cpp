// SPDX-License-Identifier: Apache-2.0
// What of the C++ language goes with threads: thread_local objects, exceptions, unwinding.
#include "harness.h"
#include <atomic>
#include <exception>
#include <semaphore>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

// ------------------------------------------------------------------------------------------ thread_local

struct counted {
    static inline std::atomic<int> made{0}, destroyed{0};
    int value = 7;
    counted()
    {
        made++;
    }
    ~counted()
    {
        destroyed++;
    }
};
static thread_local counted own_counted;

CASE(thread_local_objects)
{
    counted::made = counted::destroyed = 0;
    for (int i = 0; i < 4; i++)
        std::thread([] { own_counted.value++; }).join();
    std::thread([] {}).join(); // does not use it
    EQUAL(counted::made, 4);
    EQUAL(counted::destroyed, 4);
}

static std::string trail;
struct named {
    std::string name;
    ~named()
    {
        trail += name;
    }
};
static thread_local named first{"a"};
static thread_local named second{"b"};
static pthread_key_t trail_key;

CASE(thread_local_destructors_in_order)
{
    trail.clear();
    pthread_key_create(&trail_key, [](void *) { trail += "k"; });
    std::thread([] {
        pthread_setspecific(trail_key, &trail_key);
        first.name += "1";
        second.name += "2";
    }).join();
    CHECK(trail == "b2a1k"); // last made first, and before the keys'
    pthread_key_delete(trail_key);
}

// ------------------------------------------------------------------------------- exceptions and unwinding

static int depth(int n)
{
    if (n == 0)
        throw std::logic_error("deep");
    std::string room(100, 'x');
    return depth(n - 1) + (int)room.size();
}

CASE(exceptions_within_threads)
{
    std::atomic<int> caught{0};
    {
        std::vector<std::jthread> all;
        for (int i = 0; i < 6; i++)
            all.emplace_back([&, i] {
                for (int j = 0; j < 5; j++) {
                    try {
                        depth(i + 1);
                    } catch (const std::logic_error &) {
                        std::this_thread::yield();
                        caught++;
                    }
                }
            });
    }
    EQUAL(caught, 30);
}

CASE(exception_in_flight_is_the_threads_own)
{
    std::atomic<int> bad{0};
    auto run = [&](int value) {
        try {
            throw value;
        } catch (int) {
            for (int i = 0; i < 5; i++) {
                std::this_thread::yield();
                try {
                    std::rethrow_exception(std::current_exception());
                } catch (int seen) {
                    bad += seen != value;
                }
            }
        }
    };
    std::jthread a(run, 1), b(run, 2), c(run, 3);
    a.join();
    b.join();
    c.join();
    EQUAL(bad, 0);
}

struct marks_trail {
    const char *what;
    ~marks_trail()
    {
        trail += what;
    }
};

static void *leaves(void *)
{
    marks_trail a{"a"};
    {
        marks_trail b{"b"};
        pthread_exit((void *)4);
    }
}

CASE(pthread_exit_runs_destructors)
{
    trail.clear();
    EQUAL(finish(start(leaves, nullptr)), 4);
    CHECK(trail == "ba");
}

static std::binary_semaphore running(0);
static void *waits_for_ever(void *)
{
    marks_trail a{"a"};
    try {
        marks_trail b{"b"};
        running.release();
        for (;;)
            pause();
    } catch (...) {
        trail += "c";
        throw;
    }
    return nullptr;
}

CASE(cancellation_runs_destructors)
{
    trail.clear();
    pthread_t t = start(waits_for_ever, nullptr);
    running.acquire();
    OK(pthread_cancel(t));
    CHECK(finish(t) == PTHREAD_CANCELED);
    CHECK(trail == "bca");
}

static void push_trail(void *what)
{
    trail += (const char *)what;
}

static void *pushes(void *)
{
    marks_trail a{"a"};
    pthread_cleanup_push(push_trail, (void *)"h");
    marks_trail b{"b"};
    pthread_exit(nullptr);
    pthread_cleanup_pop(0);
    return nullptr;
}

CASE(cleanup_handlers_in_cpp)
{
    trail.clear();
    finish(start(pushes, nullptr));
    CHECK(trail == "bha");
}
