// SPDX-License-Identifier: Apache-2.0
// What belongs to a thread stays with it over suspensions: thread-local objects, errno, locale, exceptions being handled.
#include <atomic>
#include <cerrno>
#include <clocale>
#include <cstdio>
#include <cstring>
#include <exception>
#include <locale.h>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>
#include <pthread.h>

static std::mutex order;
static std::atomic<long> failures, destroyed, sum;
static pthread_barrier_t barrier;

static void check(bool ok) { failures += !ok; }
static void others() { pthread_barrier_wait(&barrier); std::lock_guard<std::mutex> guard(order); }

struct Counter {
    long value = 100;
    ~Counter() { destroyed++; sum += value; }
};
static thread_local Counter counter;
static thread_local int initialised = 42, zero;
static __thread char text[300] = "a text of each thread's own";

// Thrown and caught by all threads in turns, so that many are in their handlers at once.
static void exceptions(int self)
{
    try {
        others();
        throw std::runtime_error(std::to_string(self));
    } catch (const std::exception &outer) {
        others();
        check(std::uncaught_exceptions() == 0);
        try {
            throw self;
        } catch (int inner) {
            others();
            check(inner == self);
            try {
                others();
                throw;
            } catch (int again) {
                check(again == self);
            }
        }
        check(outer.what() == std::to_string(self));
        auto current = std::current_exception();
        others();
        try {
            std::rethrow_exception(current);
        } catch (const std::runtime_error &last) {
            check(last.what() == std::to_string(self));
        }
    }
    struct Unwound {
        int self;
        ~Unwound() { check(std::uncaught_exceptions() == 1); others(); check(std::uncaught_exceptions() == 1); }
    };
    try {
        Unwound here{self};
        throw std::string("unwinding");
    } catch (const std::string &what) {
        check(what == "unwinding");
    }
}

static void run(int self)
{
    check(initialised == 42 && zero == 0 && counter.value == 100 && std::strlen(text) == 27);
    initialised = zero = self;
    counter.value += self;
    std::snprintf(text, sizeof text, "thread %d", self);
    errno = self;
    locale_t c = newlocale(LC_ALL_MASK, "C", nullptr), before = uselocale(c);
    check(before == LC_GLOBAL_LOCALE);
    others();
    check(errno == self && initialised == self && zero == self && counter.value == 100 + self);
    check(uselocale(nullptr) == c && std::string(text) == "thread " + std::to_string(self));
    exceptions(self);
    uselocale(LC_GLOBAL_LOCALE);
    freelocale(c);
    check(isalpha('a') && !isalpha('1') && toupper('b') == 'B');
}

int main()
{
    const int n = 12;
    pthread_barrier_init(&barrier, nullptr, n);
    for (int round = 1; round <= 2; round++) {
        std::vector<std::thread> threads;
        for (int i = 0; i < n; i++)
            threads.emplace_back(run, i);
        for (auto &t : threads)
            t.join();
        std::printf("%ld failures, %ld destroyed, sum %ld\n", failures.load(), destroyed.load(), sum.load());
    }
    std::printf("%d %d %s\n", initialised, zero, text);
    return failures != 0;
}
